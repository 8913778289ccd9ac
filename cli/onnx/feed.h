/* feed.h: what --input gives to a model's input: one value, or one for each step of a sequence, from files, numbers or
 * chance. */
#ifndef WICK_CLI_FEED_H
#define WICK_CLI_FEED_H

#include "../cli.h"

#include "wick/onnx.h"
#include "wick/tensor.h"

typedef struct feed {
    /* 0: nothing given. 1: the same at every step. Else one value each, of files or along the first axis of value */
    int64_t steps;
    wick_onnx_value value; /* of every step, or what the steps are slices of: */
    bool stacked;
    char **files;          /* NULL, or one for each step */
} feed;

/* Reads what `what` names as the input p: an array, TensorProto, recording, picture, number, or random[:DIMS]. Files
 * are known by their bytes. In the innermost scope. */
wick_status feed_read(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p,
                      const char *what, wick_onnx_value *out);
/* The --input options, feeds[inputs of the model]: which are for which. An exit code; what went wrong has been said.
 * *has: what they are. */
enum {
    FEED_PICTURE = 1,
    FEED_RECORDING = 2,
    FEED_CHANCE = 4,
    FEED_OTHERS = 8 /* random for all that are not named */,
    FEED_NEXT = 16
};
int feeds_list(const cli_options *o, wick_onnx *onnx, feed *feeds, unsigned *has);
/* Before feeds_list, and before inputs are counted: what --input and --state name of the model's defaults becomes an
 * input. */
int feeds_open_defaults(const cli_options *o, wick_context *ctx, wick_onnx *onnx);
/* Reads what feeds_list found. An exit code. First the feeds that have shapes, then, shapeless, those that take any:
 * NAME=random and NAME=NUMBER. */
int feeds_open(const cli_options *o, wick_context *ctx, wick_onnx *onnx, feed *feeds, bool shapeless);
bool feed_is_shapeless(const feed *f);
/* One file as a feed: a .npy with one axis more than p has is a step for each extent of it. */
wick_status feed_open(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p,
                      const char *what, feed *out);
/* The value at a step; steps beyond those of the feed are no business of it. */
wick_status feed_at(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p, const feed *f,
                    int64_t step, wick_onnx_value *out);
/* Says what went wrong with an input, with an exit code: the command line's fault, or the file's. */
int feed_failed(const wick_context *ctx, wick_status status);
void feed_free(feed *f);

/* A picture or a recording as --transform makes it, without chance. */
wick_status feed_transformed(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *path,
                             bool recording, wick_tensor **out);
/* Its parts. A picture (feed_picture.c), and a recording (feed_audio.c; stacked: in steps, along one more axis). */
wick_status feed_picture(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *path,
                         wick_tensor **out);
wick_status feed_recording(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *path,
                           wick_tensor **out, bool *stacked);
wick_dtype feed_dtype(const wick_onnx_port *p); /* of its elements as tensors; f32 where they are none */
bool feed_is_float(wick_dtype dtype);

/* Slice i of x along its first axis, as data. */
wick_status feed_slice(wick_tensor *x, int64_t i, wick_tensor **out);

#endif
