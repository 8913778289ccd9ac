/* context.h: the context of a command that computes: its threads and memory as --threads, --pin, --numa and
 * --memory-pool say. */
#ifndef WICK_CLI_CONTEXT_H
#define WICK_CLI_CONTEXT_H

#include "cli.h"

#include "wick/context.h"

/* options has what the command sets itself. An exit code; what went wrong has been said, and what was refused of a
 * placement too, which is no failure. */
int cli_context(wick_context **ctx, const cli_options *o, wick_context_options options);

#endif
