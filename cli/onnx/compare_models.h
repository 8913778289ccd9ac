/* compare_models.h: wick compare of a classifier and what was made of it: accuracy, bytes, time, and the error of each
 * layer. */
#ifndef WICK_CLI_COMPARE_MODELS_H
#define WICK_CLI_COMPARE_MODELS_H

#include "../cli.h"

/* Whether A and B are compared as models: one of them is an ONNX file. */
bool compare_is_of_models(const cli_options *o);
int compare_models(const cli_options *o);
#endif
