/* bench.h: what the programs that answer the Python scripts share. */
#ifndef WICK_BENCH_H
#define WICK_BENCH_H

#include <stdlib.h>
#include <time.h>

#include "base/base.h"

/* Microseconds: of one thread the time that the process computed, which others on the machine do not lengthen; of more the clock's. race.py
 * does the same. */
static inline double bench_us(bool one_thread) {
    struct timespec t;
    if (!one_thread) return (double)wick_now_ns() * 1e-3;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

#endif
