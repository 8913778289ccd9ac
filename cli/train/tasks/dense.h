/* dense.h: what --task dense shares with the rest. */
#ifndef WICK_CLI_DENSE_H
#define WICK_CLI_DENSE_H

#include "task.h"

/* Of pixels of which something is known: sums over them. */
typedef struct dense_sums {
    double n, abs, square;
    double positive, relative, close[3]; /* those above 0: |p - t| / t, and p within 1.25, 1.25^2, 1.25^3 times t */
} dense_sums;
void dense_add(dense_sums *s, double predicted, double truth); /* NaN: not known */

/* Measures the maps that are learned from, and keeps the mean and deviation of their numbers (of --loss silog of their
 * logarithms) in the model. An exit code; what went wrong has been said. */
int dense_standardise(struct classifier *c, const wick_dataset *dataset);

#endif
