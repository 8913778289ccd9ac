/* time_histogram.h: how long things take. A histogram is written by one thread and read by any. */
#ifndef WICK_BASE_TIME_HISTOGRAM_H
#define WICK_BASE_TIME_HISTOGRAM_H

#include <stdatomic.h>

#include "base/base.h"

/* Times in buckets that are 1/16 of a power of two wide, from 1 ns to 18 minutes; quantiles are the middle of a bucket,
 * so within 3.2 %. */
enum {
    WICK_TIME_HISTOGRAM_FINE = 4,
    WICK_TIME_HISTOGRAM_BUCKETS = (40 - WICK_TIME_HISTOGRAM_FINE + 1) << WICK_TIME_HISTOGRAM_FINE
};
typedef struct wick_time_histogram {
    _Atomic uint64_t count, total, least, most; /* ns; least is 0 while count is */
    _Atomic uint64_t buckets[WICK_TIME_HISTOGRAM_BUCKETS];
} wick_time_histogram;

/* `times` things that took ns each. */
void wick_time_histogram_add(wick_time_histogram *m, uint64_t ns, uint64_t times);
/* ns: the middle of a bucket. */
double wick_time_histogram_middle(int bucket);
/* All of n meters together. */
wick_timing wick_time_histogram_timing(wick_time_histogram *const *meters, int n);

#endif
