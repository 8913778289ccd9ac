/* compare_runs.h: wick compare RUN RUN --html FILE: the curves of runs in one page. */
#ifndef WICK_CLI_COMPARE_RUNS_H
#define WICK_CLI_COMPARE_RUNS_H

#include "../cli.h"

/* An exit code; what went wrong has been said. */
int compare_runs(const cli_options *o);

#endif
