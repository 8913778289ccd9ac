/* timing.h: how long a row takes, measured until that is known well enough. */
#ifndef WICK_CLI_BENCH_TIMING_H
#define WICK_CLI_BENCH_TIMING_H

#include "rows.h"
#include "stats.h"

/* Seconds: on one thread what the process computed, which other programs don't lengthen (though they take caches and
 * memory); else, and of rows that start processes, the clock's. */
double bench_now(bool one_thread);

#define TIMING_SAMPLE 1e-3 /* seconds of a sample at least */
#define TIMING_WARM   5e-3 /* and of the runs before it that aren't counted, where others ran meanwhile */

typedef struct timing {
    samples seconds; /* of one run */
    int64_t batch;   /* runs in each sample: as many as make the clock's steps small */
    double about;    /* what one takes, roughly */
} timing;

/* Warms up, and finds how many runs make a sample. False: subject.why. */
bool timing_start(timing *t, subject *s, bool one_thread);
/* One more. after_others: first come runs that aren't counted, as at each of the others' turns. They find caches full
 * of what another program read, and wait while what it wrote goes to memory: alternating is how sides are compared, not
 * how any of them is used, and the ceilings know nothing of it. */
bool timing_sample(timing *t, subject *s, bool one_thread, bool after_others);
/* How many such runs: 0 of those that take long. */
int64_t timing_warm_runs(const timing *t);
/* Whether the interval of the median is narrow enough: 1 % to each side. Sorts. */
bool timing_tight(timing *t);

#endif
