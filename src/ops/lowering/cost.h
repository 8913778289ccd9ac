/* cost.h: the work of steps, for those who say how long plans take. */
#ifndef WICK_OPS_COST_H
#define WICK_OPS_COST_H

#include "kernels/cost.h"
#include "ops/lowering/steps.h"

/* Of a program that runs on `runs` parts of a product's result, in ns; without: of one that reads that from memory, as
 * a step. */
double wick_epilogue_ns(const wick_tuning *t, const wick_step *program, double result_bytes, double runs,
                        double *without);
wick_work wick_step_work(const wick_tuning *t, const wick_step *s, const wick_buffer *buffers);

#endif
