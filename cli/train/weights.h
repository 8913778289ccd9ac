/* weights.h: first weights from a file, by name. */
#ifndef WICK_CLI_WEIGHTS_H
#define WICK_CLI_WEIGHTS_H

#include "../cli.h"

#include "wick/weights.h"

/* What --weights, --rename and --fit say. Exit codes; what went wrong has been said. */
int weights_load(wick_model *model, const cli_options *o);

#endif
