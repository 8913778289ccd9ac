/* roof.h: the least time that this machine's ceilings allow for an amount of work. */
#ifndef WICK_CLI_BENCH_ROOF_H
#define WICK_CLI_BENCH_ROOF_H

#include "ceilings.h"

enum { ROOF_LEVELS = 4 };

typedef struct roof {
    int threads;
    const char *tier;
    double compute[CEILING_COMPUTES]; /* a second; 0: nothing of its own */
    int n_levels;                     /* of memory: caches, and what is behind them */
    struct {
        char name[8];
        size_t size;     /* that fits into it, of all threads together; of the last SIZE_MAX */
        size_t measured; /* bytes that were gone through */
        double rate[CEILING_ACCESSES]; /* bytes a second */
    } level[ROOF_LEVELS];
} roof;

/* Memory is gone through in `most` bytes at once where a level would take more (caches of 256 MB want a gigabyte, and
 * seconds): ROOF_BRIEF takes a few tenths of a second, and a larger last cache passes for memory. */
#define ROOF_BRIEF ((size_t)64 << 20)
void roof_measure(roof *r, int threads, size_t most);

typedef struct floor_time {
    double seconds;
    char bound[24]; /* "f32 arithmetic", "L2", "memory" */
} floor_time;
/* Work of one run, its bytes each read or written once, in the nearest level that holds them all: as many as are both
 * read and written at the rate of a copy, the rest at that of reading or writing. kind: of the arithmetic; bf16 and
 * int8 without instructions of their own, or with slower ones, are computed as f32. exps: exponentials, whose time
 * comes on top of that of the flops. */
floor_time roof_floor(const roof *r, ceiling_compute kind, double flops, double exps, double read, double written);

#endif
