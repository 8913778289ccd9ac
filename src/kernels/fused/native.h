/* native.h: programs as one loop of machine code that was made elsewhere (src/codegen/jit.c), in place of a pass over L1 per instruction. */
#ifndef WICK_KERNELS_FUSED_NATIVE_H
#define WICK_KERNELS_FUSED_NATIVE_H

#include <stdatomic.h>

#include "kernels/elementwise/ew.h"

/* in[r]: n >= 1 elements of input r's ctype, or one element for a number; out[i]: n elements of result i's ctype. out[i] may be an input of the same elements.
 * rows: by instruction, the built-in kernel, for those that the loop leaves to it. */
typedef void (*wick_native_fn)(const void *const *in, void *const *out, size_t n, const wick_ew_fn *rows);

/* What such a loop depends on, and nothing else; unused bytes are 0: programs are compared as bytes. */
typedef struct wick_native_program {
    uint8_t tier, n_in, n_out, n_instr;
    uint8_t kind[WICK_FUSED_MAX_IO]; /* of inputs: 'A' an element of its own at each place, 'S' a number, 0: not read */
    uint8_t type[WICK_FUSED_MAX_IO]; /* wick_ctype of inputs */
    uint8_t out[WICK_FUSED_MAX_IO];  /* registers */
    wick_fused_instr instr[WICK_FUSED_MAX_OPS];
} wick_native_program;

/* A loop that may come to be: code is NULL until it is there, and checked. */
typedef struct wick_native {
    _Atomic(wick_native_fn) code;
    wick_native_program program;
} wick_native;

/* The program of a prepared one; false: it is not worth a loop, or can't be one. */
bool wick_native_program_of(const wick_fused *f, wick_native_program *p);
/* The other way: over n contiguous elements, prepared. */
void wick_native_fused(const wick_native_program *p, int64_t n, wick_fused *f);
/* As wick_fused_run, with the loop if it is there; native may be NULL. */
/* One without a reduction, on `rows` rows of n elements, which begin row_step elements apart in the order that the program walks, the first at `at`. */
void wick_fused_run_rows(const wick_fused *f, const wick_native *native, int64_t at, int64_t rows, int64_t row_step, int64_t n, void *const *ptr, void *scratch);
void wick_fused_run_native(const wick_fused *f, const wick_native *native, int stage, int64_t begin, int64_t end, void *const *ptr, void *partials, void *scratch);

#endif
