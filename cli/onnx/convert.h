/* convert.h: the functions behind the rows of wick convert's table (cmd_convert.c). */
#ifndef WICK_CLI_CONVERT_H
#define WICK_CLI_CONVERT_H

#include "../cli.h"

#include "wick/context.h"
#include "wick/nn.h"

/* Makes o->files[0] of o->model. An exit code; what went wrong has been said. */
typedef int (*convert_function)(wick_context *ctx, const cli_options *o);

/* What becomes what; the last has no function. */
enum { MOST_ENDS = 4 };
typedef struct conversion {
    unsigned as;               /* kinds of A, of file_types.h ... */
    const char *from;          /* ... in words */
    const char *to[MOST_ENDS]; /* ends of B's name, NULLs behind them; of two that fit the longer one first */
    convert_function fn;
    unsigned cases; /* for options */
} conversion;
extern const conversion conversions[];

struct classifier;
/* A classifier as its samples' pixels from 0 to 1, or numbers, to logits; model: the states of what classifier_logits
 * records. weights: as of wick_onnx_save_options. An exit code; what went wrong has been said. */
int convert_classifier_to_onnx(struct classifier *c, wick_model *model, int64_t opset, const char *weights,
                               const char *path);
int convert_run_to_onnx(wick_context *ctx, const cli_options *o);
int convert_onnx_to_onnx(wick_context *ctx, const cli_options *o);
/* whatever wick_weights_open reads and wick_weights_write writes */
int convert_weights(wick_context *ctx, const cli_options *o);

#endif
