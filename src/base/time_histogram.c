/* time_histogram.c: histograms of times. */
#include "base/time_histogram.h"

static int bucket_of(uint64_t ns) {
    const uint64_t one = (uint64_t)1 << WICK_TIME_HISTOGRAM_FINE;
    if (ns < one) return (int)ns;
    const int top = 63 - __builtin_clzll(ns), shift = top - WICK_TIME_HISTOGRAM_FINE;
    const int b = ((shift + 1) << WICK_TIME_HISTOGRAM_FINE) + (int)(ns >> shift & (one - 1));
    return WICK_MIN(b, WICK_TIME_HISTOGRAM_BUCKETS - 1);
}

double wick_time_histogram_middle(int bucket) {
    const int one = 1 << WICK_TIME_HISTOGRAM_FINE;
    if (bucket < one) return bucket;
    const int shift = (bucket >> WICK_TIME_HISTOGRAM_FINE) - 1;
    return ((double)(one + bucket % one) + 0.5) * (double)((uint64_t)1 << shift) - 0.5;
}

/* One writer: no locked instruction. */
static void grow(_Atomic uint64_t *at, uint64_t by) {
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + by, memory_order_relaxed);
}
static uint64_t get(const _Atomic uint64_t *at) { return atomic_load_explicit(at, memory_order_relaxed); }

void wick_time_histogram_add(wick_time_histogram *m, uint64_t ns, uint64_t times) {
    if (!get(&m->count) || ns < get(&m->least)) atomic_store_explicit(&m->least, ns, memory_order_relaxed);
    if (ns > get(&m->most)) atomic_store_explicit(&m->most, ns, memory_order_relaxed);
    grow(&m->count, times);
    grow(&m->total, ns * times);
    grow(&m->buckets[bucket_of(ns)], times);
}

wick_timing wick_time_histogram_timing(wick_time_histogram *const *meters, int n) {
    wick_timing s = {0};
    double *const to[] = {&s.median, &s.p95, &s.p99};
    const double part[] = {0.5, 0.95, 0.99};
    for (int i = 0; i < n; i++) {
        const uint64_t count = get(&meters[i]->count);
        if (!count) continue;
        const double least = (double)get(&meters[i]->least) * 1e-9, most = (double)get(&meters[i]->most) * 1e-9;
        s.min = s.count ? WICK_MIN(s.min, least) : least;
        s.max = WICK_MAX(s.max, most);
        s.count += count;
        s.total += (double)get(&meters[i]->total) * 1e-9;
    }
    if (!s.count) return s;
    s.mean = s.total / (double)s.count;
    uint64_t seen = 0;
    int next = 0;
    for (int b = 0; b < WICK_TIME_HISTOGRAM_BUCKETS && next < 3; b++) {
        for (int i = 0; i < n; i++) seen += get(&meters[i]->buckets[b]);
        for (; next < 3 && (double)seen >= part[next] * (double)s.count; next++)
            *to[next] = WICK_MIN(s.max, WICK_MAX(s.min, wick_time_histogram_middle(b) * 1e-9));
    }
    for (; next < 3; next++) *to[next] = s.max; /* others went on counting meanwhile */
    return s;
}
