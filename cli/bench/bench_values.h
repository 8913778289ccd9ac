/* bench_values.h: the values of options that one of these commands has: doctor, bench, tune. */
#ifndef WICK_CLI_BENCH_VALUES_H
#define WICK_CLI_BENCH_VALUES_H

#include "../shared_values.h"

/* Of wick doctor. */
typedef struct doctor_values {
    bool no_measure;
    const char *root;
} doctor_values;

/* Of wick bench. */
typedef struct bench_values {
    const char *sizes, *thread_counts, *markdown, *against, *peers, *regress;
    bool list, memory, instructions;
} bench_values;

/* Of wick tune. */
typedef struct tune_values {
    bool show, reset;
    int64_t most;
    double latency, memory_part;
} tune_values;

#endif
