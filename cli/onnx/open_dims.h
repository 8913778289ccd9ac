/* open_dims.h: the extents that an ONNX model leaves open, by name, where they are, and what its outputs are in terms
 * of them. */
#ifndef WICK_CLI_OPEN_DIMS_H
#define WICK_CLI_OPEN_DIMS_H

#include "ports.h"

#include "wick/dynamic.h"

typedef struct open_dims {
    port_dim *dims;
    int n;
    wick_dim *tried; /* the ranges that shapes were found in; of n, NULL: they were not */
    wick_dynamic *dynamic;
    wick_shapes *shapes; /* NULL: why not, or nothing is open */
    char why[512];
} open_dims;

/* An exit code. Records the model for extents of the ranges that --dim gives, or of ranges that many models take. */
int open_dims_find(open_dims *d, const cli_options *o, wick_context *ctx, wick_onnx *onnx);
void open_dims_free(open_dims *d);
void open_dims_print(const open_dims *d, const wick_onnx *onnx);
/* Members "dims", "output_shapes" and, where those are not known, "why_no_shapes", of the open object. */
void open_dims_json(json *j, const open_dims *d, const wick_onnx *onnx);

#endif
