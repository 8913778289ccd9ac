/* timing.h: how long a row takes, measured until that is known well enough. */
#ifndef WICK_CLI_BENCH_TIMING_H
#define WICK_CLI_BENCH_TIMING_H

#include "rows.h"
#include "stats.h"

/* Seconds: on one thread what the process computed, which other programs don't lengthen (though they take caches and memory); else, and of rows
 * that start processes, the clock's. */
double bench_now(bool one_thread);

#define TIMING_SAMPLE 1e-3 /* seconds of a sample at least */

typedef struct timing {
    samples seconds; /* of one run */
    int64_t batch;   /* runs in each sample: as many as make the clock's steps small */
} timing;

/* Warms up, and finds how many runs make a sample. False: subject.why. */
bool timing_start(timing *t, subject *s, bool one_thread);
bool timing_sample(timing *t, subject *s, bool one_thread);
/* Whether the interval of the median is narrow enough: 1 % to each side. Sorts. */
bool timing_tight(timing *t);

#endif
