/* data_values.h: the values of options that one of these commands has: data. */
#ifndef WICK_CLI_DATA_VALUES_H
#define WICK_CLI_DATA_VALUES_H

#include "../shared_values.h"

/* Of wick data. */
typedef struct data_values {
    const char *box_form, *worker_counts;
    int64_t level, dictionary, count, from, prefetch, cache;
    int compression;
    bool append, all, salvage, skip;
    cli_list parts;
} data_values;

#endif
