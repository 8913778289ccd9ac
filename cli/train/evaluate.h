/* evaluate.h: measures a model on a data set, by what its task counts. The plans are compiled once, for any number of
 * rounds. */
#ifndef WICK_CLI_EVALUATE_H
#define WICK_CLI_EVALUATE_H

#include "metrics.h"
#include "../step.h"

enum {
    EVALUATOR_SHOWN = 6,
    EVALUATOR_BATCH = 100 /* at most: more takes more memory than a step of training, and no less time for a sample */
};

/* A text that was read wrong. */
typedef struct line_error {
    int64_t index;
    char *is, *read;
} line_error;
/* Of texts: what makes them of what was read. */
typedef struct line_counts {
    int64_t texts, right, letters, letter_edits, words, word_edits;
    int64_t impossible;          /* need more steps than the network gives */
    char *read[EVALUATOR_SHOWN]; /* of the first samples */
    line_error wrong[EVALUATOR_SHOWN];
    int n_wrong;
} line_counts;

enum { MOST_SCORES_OF_TASK = 8 };
typedef struct evaluation {
    int64_t count, correct;
    int64_t top_correct; /* the label is among the `top` likeliest */
    double loss;         /* mean over the images */
    /* what the task counts; the first is the one that is followed over a run. Of classes there is one, the accuracy */
    int n;
    struct {
        const char *key, *title;
        double value;
        bool percent;
    } scores[MOST_SCORES_OF_TASK];
} evaluation;

typedef struct evaluator {
    classifier *c;
    const wick_dataset *dataset;
    wick_loader *loader;
    wick_transform *transform; /* NULL: none */
    step full, rest;           /* batches of `batch`, and the smaller last one */
    int64_t batch, tail;
    const int64_t *y; /* labels of the batch, the loader's */
    float *logits;    /* of the batch; of tasks that keep all predictions NULL */
    int64_t *predicted;
    /* of other tasks all of the last round: [count, width] predictions, [count, target width] targets (NULL: it has
     * none), and labels (-1: none) */
    float *kept, *targets;
    int64_t *labels, count;
    bool plain; /* the weights themselves, not their means */
    bool bare; /* predictions alone are wanted, and no scores */
    /* how many of the likeliest classes count for top_correct; 0, as evaluator_new leaves it: not counted */
    int64_t top;
    /* Called after each batch, of which y, predicted and logits are then; `first` is the number of its first image.
     * NULL: not called. */
    void (*look)(const struct evaluator *e, int64_t first, int64_t n, void *user);
    void *user;
    /* Of several processes each measures its part, batches `first` to `end` - 1, and calls join, which is to make sums
     * and fields those of all: an exit code, and what went wrong has been said. NULL: all are measured here. */
    int (*join)(struct evaluator *e, evaluation *result, void *user);
    void *join_user;
    int64_t first, end;
    float *losses; /* of each batch of the last round, summed over it */
    /* Of the last round. */
    class_counts *classes;
    class_counts spans; /* of tags */
    line_counts lines;  /* of texts */
    void *own;          /* of tasks that have `begin` */
    uint8_t *shown; /* of pixels: the classes of the first EVALUATOR_SHOWN pictures */
    /* [classes, classes]: images labelled with the row and taken for the column; NULL above MOST_CONFUSION */
    int64_t *confusion;
} evaluator;

/* More classes have no confusion matrix: 128 MiB is enough, and what a model file claims is not to decide it. */
enum { MOST_CONFUSION = 4096 };

void evaluation_add(evaluation *r, const char *key, const char *title, double value, bool percent);

/* Exit codes; what went wrong has been said. The data set must outlive the evaluator. */
int evaluator_new(evaluator *e, classifier *c, const wick_dataset *dataset);
/* The same of the model's own weights, where a training keeps means of them, too. */
int evaluator_new_plain(evaluator *e, classifier *c, const wick_dataset *dataset);
int evaluator_run(evaluator *e, evaluation *result);
/* From now on on another one, of as many samples and the same fields. */
int evaluator_turn(evaluator *e, const wick_dataset *dataset);
void evaluator_free(evaluator *e);
/* What an evaluation's batch of n takes of memory, by its plan. A status of the context. */
wick_status evaluator_plan(classifier *c, int64_t n, wick_plan_info *info);
void evaluator_drop_lines(evaluator *e); /* e->lines is as of no text */

#endif
