/* evaluate.h: measures a classifier on a data set. The plans are compiled once, for any number of rounds. */
#ifndef WICK_CLI_EVALUATE_H
#define WICK_CLI_EVALUATE_H

#include "step.h"

typedef struct evaluator {
    classifier *c;
    const wick_dataset *dataset;
    wick_loader *loader;
    step full, rest; /* batches of `batch`, and the smaller last one */
    int64_t batch, tail;
    float *x;
    int64_t *y, *predicted;
    int64_t *count, *correct; /* of each class, of the last round */
} evaluator;

typedef struct evaluation {
    int64_t count, correct;
    double loss; /* mean over the images */
} evaluation;

/* Exit codes; what went wrong has been said. The data set must outlive the evaluator. */
int evaluator_new(evaluator *e, classifier *c, const wick_dataset *dataset);
int evaluator_run(evaluator *e, evaluation *result);
void evaluator_free(evaluator *e);

#endif
