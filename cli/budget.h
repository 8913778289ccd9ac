/* budget.h: what a file from elsewhere may cost: the options --max-... of the commands that open models. */
#ifndef WICK_CLI_BUDGET_H
#define WICK_CLI_BUDGET_H

#include "cli.h"

#include "wick/onnx.h"

wick_onnx_limits budget_limits(const cli_options *o);
/* For wick_context_options.max_memory: --max-memory, or without it what this machine, or its container, has. */
size_t budget_memory(const cli_options *o);
/* From now on the command ends a second after --max-seconds (inspect and verify: or after 120), whatever it does then:
 * one task of a kernel may be long. */
void budget_watch(const cli_options *o);

#endif
