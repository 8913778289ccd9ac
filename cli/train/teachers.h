/* teachers.h: networks that a training learns from besides the labels (Hinton, Vinyals and Dean 2015, "Distilling the
 * Knowledge in a Neural Network"). */
#ifndef WICK_CLI_TEACHERS_H
#define WICK_CLI_TEACHERS_H

#include "classifier.h"
#include "layer_hints.h"

enum { MOST_TEACHERS = 16 };
typedef struct teachers {
    classifier c[MOST_TEACHERS];
    int n; /* 0: the labels are all */
    double temperature, alpha;
    layer_hints hints; /* of layers within them */
} teachers;

/* Those of --teacher, which must take the samples of the dataset as the student does. Exit codes; what went wrong has
 * been said. To be freed whatever it returns. */
int teachers_open(teachers *t, const cli_options *o, classifier *student, const wick_dataset *dataset);
void teachers_free(teachers *t);
/* Before a plan for batches of n is recorded. */
wick_status teachers_prepare(teachers *t, int64_t n);
/* Before the student's logits are recorded, and after. */
void teachers_watch(teachers *t, classifier *student);
void teachers_rest(classifier *student);
/* alpha T^2 KL(p || q) + (1 - alpha) loss for the student's logits of x, as it gets it: p is the mean of the teachers'
 * softmax(logits / T), q the student's; the divergence is a mean over the batch. Then what --hint adds. */
wick_tensor *teachers_loss(teachers *t, classifier *student, wick_tensor *x, wick_tensor *logits,
                           wick_tensor *loss);

#endif
