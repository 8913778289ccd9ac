/* compare_models.h: wick compare of a classifier and what was made of it: accuracy, bytes, time, and the error of each
 * layer. */
#ifndef WICK_CLI_COMPARE_MODELS_H
#define WICK_CLI_COMPARE_MODELS_H

#include "../cli.h"

#include "wick/context.h"

#include <stdio.h>

/* Whether A and B are compared as models: one of them is an ONNX file. */
bool compare_is_of_models(const cli_options *o);
int compare_models(const cli_options *o);
/* The same of a run, o->model, and a file of it, as a section of a page. Exit codes; what went wrong has been said. */
int compare_section(FILE *out, wick_context *ctx, const cli_options *o, const char *file);
#endif
