/* target.h: what a network takes on another machine than this one, as the C that wick compile writes: a Cortex-M4, or
 * an aarch64 with Linux. */
#ifndef WICK_CLI_TARGET_H
#define WICK_CLI_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct target_costs {
    int64_t flash, ram;  /* bytes: constants and code; the static arena */
    double instructions; /* of one run, counted by qemu, of a Cortex-M4 to the next 40; 0: it could not be */
    char why[160];       /* it can't be written as C; "": it was */
    bool code;           /* flash has the code in it */
    const char *lacks;   /* why code or instructions are missing, or NULL */
} target_costs;

/* Writes the ONNX file as C in a folder of its own, which is removed again; compiles it and runs it where the compiler
 * and the emulator are installed. false: out of memory, or no folder could be made. */
bool target_cortex_m4(const char *onnx, target_costs *out);
bool target_aarch64(const char *onnx, target_costs *out); /* likewise; plain C, in aarch64-linux-gnu-gcc's code */

#endif
