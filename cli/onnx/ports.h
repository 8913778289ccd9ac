/* ports.h: the inputs and outputs that an ONNX model declares, as text and as JSON, and the extents that --dim gives to
 * dims without one. */
#ifndef WICK_CLI_PORTS_H
#define WICK_CLI_PORTS_H

#include "../cli.h"
#include "../json.h"

#include "wick/onnx.h"

/* "float [1, 3, height, width]", "sequence of int64 of any shape". Returns text. */
const char *port_type(const wick_onnx_port *p, char *text, size_t size);
/* Members of the open object: name, type, dims (numbers, names or null), optional. */
void port_json(json *j, const wick_onnx_port *p);

/* "f32 [1, 10]" */
const char *spec_text(wick_dtype dtype, int rank, const int64_t *dims, char *text, size_t size);
void dims_json(json *j, const char *key, int rank, const int64_t *dims);

/* The extent of dim d: as declared, or as --dim NAME=N or --dim INPUT.d=N says, or `open`. */
int64_t port_extent(const cli_options *o, const wick_onnx_port *p, int d, int64_t open);
/* Of NAME=N, NAME=A..B or NAME=A..B/M: the name's length, and the range, whose name is left alone. false: it is no such
 * thing. */
bool port_range(const char *item, size_t *length, wick_dim *range);
/* Whether a --dim gives a range of more than one number. */
bool ports_have_range(const cli_options *o);
/* Whether the extent suits dim d: the declared one, or what --dim says, a number or a range; where that says nothing,
 * any does. *said: the --dim that is against it, or NULL. */
bool port_suits(const cli_options *o, const wick_onnx_port *p, int d, int64_t extent, const char **said);
/* What --dim calls dim d: its name, or INPUT.d in place. */
const char *port_dim_name(const wick_onnx_port *p, int d, char *place, size_t size);
/* An exit code: whether every --dim names a dim of an input, with what the names are where one does not. */
int ports_check_dims(const cli_options *o, const wick_onnx *onnx);
/* The open dims of the inputs, each name once, in their order, with the range that --dim gives it, or 1..1. */
typedef struct port_dim {
    char name[300];
    wick_dim range; /* its name is that one */
    bool given;     /* by --dim */
    bool formula;   /* "past + seq": it follows others */
} port_dim;
/* An exit code. *out: to be freed. */
int ports_dims(const cli_options *o, const wick_onnx *onnx, port_dim **out, int *n);
/* What all inputs look like with those extents, for wick_onnx_compile (open 1) and wick_onnx_resave (open -1); false:
 * they are not all tensors of known rank. */
bool ports_specs(const cli_options *o, const wick_onnx *onnx, int64_t open, wick_spec *specs);
/* An exit code. Inputs become constants, as --input NAME=N says: N everywhere. */
int ports_fix_inputs(const cli_options *o, wick_onnx *onnx);
/* "x.0, N": extents of -1 in specs, each name once, in the file's words or as INPUT.axis. Returns text. */
const char *ports_open(const wick_onnx *onnx, const wick_spec *specs, char *text, size_t size);

#endif
