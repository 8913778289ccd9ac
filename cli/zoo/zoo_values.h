/* zoo_values.h: the values of options that one of these commands has: zoo. */
#ifndef WICK_CLI_ZOO_VALUES_H
#define WICK_CLI_ZOO_VALUES_H

#include "../shared_values.h"

/* Of wick zoo. */
typedef struct zoo_values {
    bool free_only, shuffle_labels;
} zoo_values;

#endif
