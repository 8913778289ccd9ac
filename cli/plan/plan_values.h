/* plan_values.h: the values of options that one of these commands has: plan, compile, graph, profile. */
#ifndef WICK_CLI_PLAN_VALUES_H
#define WICK_CLI_PLAN_VALUES_H

#include "../shared_values.h"

/* Of wick plan. */
typedef struct plan_values {
    int64_t plans, rank_count;
    const char *link;
} plan_values;

/* Of wick compile. */
typedef struct compile_values {
    int loss;
    const char *name, *cc;
    int64_t lanes;
} compile_values;

/* Of wick graph. */
typedef struct graph_values {
    const char *before, *after, *dot;
    bool as_text;
} graph_values;

/* Of wick profile. */
typedef struct profile_values {
    bool no_race;
} profile_values;

#endif
