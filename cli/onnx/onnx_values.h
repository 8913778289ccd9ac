/* onnx_values.h: the values of options that one of these commands has: compare, run, convert, verify. */
#ifndef WICK_CLI_ONNX_VALUES_H
#define WICK_CLI_ONNX_VALUES_H

#include "../shared_values.h"

/* Of wick compare. */
typedef struct compare_values {
    const char *only;
    double tolerance;
    bool layers;
} compare_values;

/* Of wick run. */
typedef struct run_values {
    const char *output, *check, *labels, *scale, *mean, *std;
    int64_t topk, values, hop;
    bool bench, bgr;
    cli_list states;
} run_values;

/* Of wick convert. */
typedef struct convert_values {
    bool external, fix_open, compress;
    const char *dtype;
    int64_t max_shard;
} convert_values;

/* Of wick verify. */
typedef struct verify_values {
    bool shallow;
} verify_values;

#endif
