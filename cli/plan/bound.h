/* bound.h: a plan with what it runs on: inputs of its own, numbers drawn at random. */
#ifndef WICK_CLI_BOUND_H
#define WICK_CLI_BOUND_H

#include "planned.h"

typedef struct bound {
    const planned *p;
    wick_plan_info info;
    wick_workspace *space;
    void **in, **out;
} bound;

/* An exit code; what went wrong has been said. */
int bound_open(bound *b, const planned *p);
void bound_close(bound *b);
/* Seconds of a run; below 0: it failed, which has been said. */
double bound_run(const bound *b);

#endif
