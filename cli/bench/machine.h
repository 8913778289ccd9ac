/* machine.h: what Linux tells about the machine in /proc and /sys. A file that is missing or odd leaves its fact empty.
 */
#ifndef WICK_CLI_MACHINE_H
#define WICK_CLI_MACHINE_H

#include <stdint.h>

enum { MACHINE_CACHES = 8 };

typedef struct machine_cache {
    int level;
    char type[16]; /* "Data", "Instruction", "Unified" */
    uint64_t bytes;
    char shared[64]; /* by these CPUs: "0-3,8" */
} machine_cache;

typedef struct machine {
    char cpu[128];                  /* its model */
    char governor[32], driver[32];  /* of CPU 0's frequency */
    char smt[16];                   /* threads that share a core: "on", "off", "notsupported", ... */
    char huge[16];                  /* transparent huge pages: "always", "madvise" or "never" */
    double load;                    /* processes that want a CPU, mean over the last minute; -1: unknown */
    uint64_t total, available;      /* memory in bytes; 0: unknown */
    int n_caches;                   /* of CPU 0 */
    machine_cache caches[MACHINE_CACHES];
} machine;

/* root goes before /proc and /sys: "", or a made-up machine's folder. */
void machine_read(machine *m, const char *root);

#endif
