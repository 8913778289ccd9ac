/* inspect.h: the kinds of files that wick inspect knows. */
#ifndef WICK_CLI_INSPECT_H
#define WICK_CLI_INSPECT_H

#include "cli.h"

#include "wick/context.h"

/* Shows the file o->model; an exit code. */
typedef int inspector(const cli_options *o, wick_context *ctx);
inspector inspect_onnx, inspect_safetensors, inspect_npy;

#endif
