/* window.c: what was handed over lately. */
#include "data/loader/window.h"

void wick_window_add(wick_rate_window *w, uint64_t at, uint64_t waited, int64_t samples, int64_t full) {
    const size_t i = (size_t)(w->count++ % (WICK_WINDOW + 1));
    w->rows[i].at = at;
    w->rows[i].waited = waited;
    w->rows[i].samples = samples;
    w->rows[i].full = full;
}

/* From one hand-over to another: the first one's samples are of the time before. */
wick_rates wick_window_rates(const wick_rate_window *w) {
    wick_rates r = {0};
    const uint64_t n = WICK_MIN(w->count, WICK_WINDOW + 1);
    if (n < 2) return r;
    uint64_t waited = 0;
    int64_t samples = 0, full = 0;
    for (uint64_t i = w->count - n + 1; i < w->count; i++) {
        waited += w->rows[i % (WICK_WINDOW + 1)].waited;
        samples += w->rows[i % (WICK_WINDOW + 1)].samples;
        full += w->rows[i % (WICK_WINDOW + 1)].full;
    }
    const uint64_t from = w->rows[(w->count - n) % (WICK_WINDOW + 1)].at,
                   to = w->rows[(w->count - 1) % (WICK_WINDOW + 1)].at;
    const double seconds = (double)WICK_MAX(to - from, 1) * 1e-9;
    r.samples = (double)samples / seconds;
    r.batches = (double)(n - 1) / seconds;
    r.waiting = WICK_MIN(1, (double)waited * 1e-9 / seconds);
    r.full = (double)full / (double)(n - 1);
    return r;
}
