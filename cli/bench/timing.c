#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define TIGHT          0.01

double bench_now(bool one_thread) {
    struct timespec t;
    clock_gettime(one_thread ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool run(timing *t, subject *s, bool one_thread, double *seconds) {
    one_thread = one_thread && s->row->form != ROW_PROCESS;
    const double start = bench_now(one_thread);
    const bool ok = subject_run(s, t->batch);
    *seconds = bench_now(one_thread) - start;
    return ok;
}

bool timing_start(timing *t, subject *s, bool one_thread) {
    *t = (timing){.batch = 1};
    for (double seconds = 0; run(t, s, one_thread, &seconds);) {
        t->about = seconds / (double)t->batch;
        if (seconds >= TIMING_SAMPLE || t->batch > INT64_MAX / 4) return true;
        t->batch *= 2;
    }
    return false;
}

int64_t timing_warm_runs(const timing *t) {
    return t->about > 2 * TIMING_WARM ? 0 : (int64_t)(TIMING_WARM / fmax(t->about, 1e-9)) + 1;
}

bool timing_sample(timing *t, subject *s, bool one_thread, bool after_others) {
    double seconds;
    if (after_others && !subject_run(s, timing_warm_runs(t))) return false;
    if (!run(t, s, one_thread, &seconds)) return false;
    if (samples_add(&t->seconds, seconds / (double)t->batch)) return true;
    snprintf(s->why, sizeof s->why, "out of memory");
    return false;
}

bool timing_tight(timing *t) {
    double low, high;
    samples_sort(&t->seconds);
    stats_median_interval(&t->seconds, &low, &high);
    return high - low < 2 * TIGHT * stats_quantile(&t->seconds, 0.5);
}
