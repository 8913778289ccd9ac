/* plan_range.h: what wick plan shows of ranges of --dim: their memory, and shapes as expressions. */
#ifndef WICK_CLI_PLAN_RANGE_H
#define WICK_CLI_PLAN_RANGE_H

#include "../json.h"
#include "planned.h"

void plan_range_print(const planned *p);
void plan_range_json(json *j, const planned *p); /* a member "range" of the open object */

#endif
