/* groups.h: what --group and --freeze say: parameters by name pattern, and what is different about them. */
#ifndef WICK_CLI_GROUPS_H
#define WICK_CLI_GROUPS_H

#include "wick/optim.h"

enum { MOST_GROUPS = 32 };
typedef struct param_groups {
    int n;
    wick_param_group list[MOST_GROUPS]; /* patterns are in text */
    char text[4096];
} param_groups;

/* Reads "PATTERN:lr=0.1x,decay=0,freeze;PATTERN:..." and, behind those, the patterns "PATTERN;PATTERN" of what is
 * frozen. lr is the rate that scales are of. False, with a line in `error`: a text is wrong. */
bool groups_read(param_groups *groups, const char *text, const char *freeze, double lr, char *error, size_t size);

#endif
