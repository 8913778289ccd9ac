/* recorded.h: whether the graph of an ONNX model can be recorded, as wick run records it: ops, attributes, dtypes and
 * shapes of every node on the way, for inputs that nobody gave. */
#ifndef WICK_CLI_RECORDED_H
#define WICK_CLI_RECORDED_H

#include "../cli.h"

#include "wick/onnx.h"

typedef struct recorded {
    bool good;       /* no fault was found */
    bool whole;      /* and all of it was recorded */
    char fault[1536]; /* else: in the words of wick run */
    char note[1536];  /* what was assumed of inputs, or why nothing could be; "": all of it is as the file says */
} recorded;

/* An exit code that is no verdict: CLI_OK, or it has been said that memory or time did not suffice. Open dims are as
 * --dim says; others are 1, and larger where the graph can't be recorded with that. */
int recorded_find(const cli_options *o, wick_context *ctx, wick_onnx *onnx, recorded *out);

#endif
