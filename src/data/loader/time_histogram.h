/* time_histogram.h: how long things take, and how many there are a second. A span is written by one thread and read by
 * any; a window by the loader's caller alone. */
#ifndef WICK_DATA_TIME_HISTOGRAM_H
#define WICK_DATA_TIME_HISTOGRAM_H

#include <stdatomic.h>

#include "base/base.h"
#include "wick/loader.h"

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
/* All of n meters together. */
wick_timing wick_time_histogram_timing(wick_time_histogram *const *meters, int n);

/* What was handed over lately. */
enum { WICK_WINDOW = 64 };
typedef struct wick_window {
    struct { uint64_t at, waited; int64_t samples, full; } rows[WICK_WINDOW + 1]; /* at: ns, when it was handed over */
    uint64_t count;
} wick_window;
void wick_window_add(wick_window *w, uint64_t at, uint64_t waited, int64_t samples, int64_t full);
typedef struct wick_rates {
    double samples, batches; /* a second */
    double waiting;          /* part of the time, 0 to 1 */
    double full;             /* batches that were ready, on average */
} wick_rates;
wick_rates wick_window_rates(const wick_window *w);

#endif
