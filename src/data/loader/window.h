/* window.h: how much a loader hands over a second. Its caller alone writes it. */
#ifndef WICK_DATA_WINDOW_H
#define WICK_DATA_WINDOW_H

#include "base/base.h"

/* What was handed over lately. */
enum { WICK_WINDOW = 64 };
typedef struct wick_rate_window {
    struct {
        uint64_t at, waited;
        int64_t samples, full;
    } rows[WICK_WINDOW + 1]; /* at: ns, when it was handed over */
    uint64_t count;
} wick_rate_window;
void wick_window_add(wick_rate_window *w, uint64_t at, uint64_t waited, int64_t samples, int64_t full);
typedef struct wick_rates {
    double samples, batches; /* a second */
    double waiting;          /* part of the time, 0 to 1 */
    double full;             /* batches that were ready, on average */
} wick_rates;
wick_rates wick_window_rates(const wick_rate_window *w);

#endif
