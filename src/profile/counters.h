/* counters.h: what CPUs count of this process, by perf_event_open. */
#ifndef WICK_PROFILE_COUNTERS_H
#define WICK_PROFILE_COUNTERS_H

#include "wick/monitor.h"

enum { COUNTER_KINDS = 5, COUNTER_THREADS = 256 };
typedef struct counters {
    int fd[COUNTER_THREADS][COUNTER_KINDS]; /* -1: none */
    int threads;
    char why[200]; /* "": they count */
} counters;

/* Of the threads that there are, and those that they start from now on. */
void counters_open(counters *c);
void counters_close(counters *c);
/* Sums since they were opened, scaled where counters took turns; NaN where a kind is not counted. */
void counters_read(const counters *c, double out[COUNTER_KINDS]);

#endif
