/* inspect.h: the kinds of files that wick inspect knows. Each shows the file o->model, and returns an exit code. */
#ifndef WICK_CLI_INSPECT_H
#define WICK_CLI_INSPECT_H

#include "../cli.h"
#include "../file_types.h"

#include "wick/context.h"

int inspect_onnx(const cli_options *o, wick_context *ctx);
int inspect_tensors(const cli_options *o, wick_context *ctx, const file_kind *kind); /* what wick/weights.h reads */

#endif
