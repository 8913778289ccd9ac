/* launch_values.h: the values of options that one of these commands has: launch. */
#ifndef WICK_CLI_LAUNCH_VALUES_H
#define WICK_CLI_LAUNCH_VALUES_H

#include "../shared_values.h"

/* Of wick launch. */
typedef struct launch_values {
    const char *ranks;
    int64_t restarts;
    double timeout, grace;
} launch_values;

#endif
