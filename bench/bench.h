/* bench.h: what the programs that answer the Python scripts share. */
#ifndef WICK_BENCH_H
#define WICK_BENCH_H

#include <stdio.h>
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

/* Bytes of the process that no file stands behind. */
static inline size_t bench_rss_anon(void) {
    char line[256];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %zu kB", &kib) == 1) break;
    if (f) fclose(f);
    return kib * 1024;
}

#endif
