/* outputs.h: what a command writes is never what it reads, nor two things in one file. */
#ifndef WICK_CLI_OUTPUTS_H
#define WICK_CLI_OUTPUTS_H

#include "cli.h"

/* Looks at the paths of all options before the command begins. CLI_USAGE, said, where an output is the model, another
 * input, a file that a run keeps in its folder, or another output. */
int outputs_check(const cli_options *options);

#endif
