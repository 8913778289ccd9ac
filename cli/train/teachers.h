/* teachers.h: networks that a training learns from besides the labels (Hinton, Vinyals and Dean 2015, "Distilling the
 * Knowledge in a Neural Network"). */
#ifndef WICK_CLI_TEACHERS_H
#define WICK_CLI_TEACHERS_H

#include "classifier.h"

enum { MOST_TEACHERS = 16 };
typedef struct teachers {
    classifier c[MOST_TEACHERS];
    int n; /* 0: the labels are all */
    double temperature, alpha;
} teachers;

/* Those of --teacher, which must take the samples of the dataset as the student does. Exit codes; what went wrong has
 * been said. To be freed whatever it returns. */
int teachers_open(teachers *t, const cli_options *o, const classifier *student, const wick_dataset *dataset);
void teachers_free(teachers *t);
/* Before a plan for batches of n is recorded. */
wick_status teachers_prepare(teachers *t, int64_t n);
/* alpha T^2 KL(p || q) + (1 - alpha) loss for the student's logits of x, as it gets it: p is the mean of the teachers'
 * softmax(logits / T), q the student's; the divergence is a mean over the batch. */
wick_tensor *teachers_loss(teachers *t, const classifier *student, wick_tensor *x, wick_tensor *logits,
                           wick_tensor *loss);

#endif
