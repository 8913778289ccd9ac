/* plan_memory.h: the memory of a plan over time: the bytes in use while each kernel runs, and the place and life of
 * each intermediate. */
#ifndef WICK_CLI_PLAN_MEMORY_H
#define WICK_CLI_PLAN_MEMORY_H

#include "wick/plan.h"

#include <stdio.h>

/* "f32[2,3]" */
void plan_type_text(char *text, size_t size, wick_spec spec);
/* The first kernel at which most bytes are in use. */
int plan_peak(const wick_plan *plan);
/* An <svg> of a plan with an arena; alone: a file of its own, which brings its style along. */
void plan_memory_draw(FILE *out, const wick_plan *plan, const char *title, bool alone);

#endif
