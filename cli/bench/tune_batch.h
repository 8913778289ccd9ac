/* tune_batch.h: wick tune batch MODEL. */
#ifndef WICK_CLI_BENCH_TUNE_BATCH_H
#define WICK_CLI_BENCH_TUNE_BATCH_H

#include "../cli.h"

int tune_batch(cli_options *o); /* an exit code */

#endif
