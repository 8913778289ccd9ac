/* run.h: a training run on disk. DIR/last.safetensors is everything that is needed to go on: weights, optimizer, the
 * place in the data, the options; last.safetensors.prev is the one before. DIR/best.safetensors is the weights of the
 * best epoch. DIR/log.jsonl is the log. DIR/.lock is locked by the process that trains there. */
#ifndef WICK_CLI_RUN_H
#define WICK_CLI_RUN_H

#include "classifier.h"
#include "../cli.h"

#include <stdio.h>

typedef struct run_state {
    int64_t epoch, sample; /* place in the data: epochs done, images of the next one handed out */
    int64_t step;          /* batches done; the random offset of the next one */
    double loss_sum;       /* over the `seen` images of the epoch under way */
    int64_t correct, seen;
    double train_loss, train_accuracy; /* of the last whole epoch; NaN before. Accuracies: of other tasks NaN */
    double valid_loss, valid_score;    /* by what chooses the best epoch; NaN: that is the training */
    double test_loss, test_accuracy;   /* with the best weights, at the end of the run; NaN before, and without a test
                                          set.   accuracy: or another task's score */
    int64_t looks; /* at the test set, at the end of the run: once, and again each time that it was gone on with */
    double best, best_loss;    /* accuracy (of other tasks -loss), and the loss beside it; -infinity and infinity before
                                  the    first whole epoch */
    int64_t best_epoch, stale; /* counted from 1; epochs since the best */
    double seconds;            /* spent in steps */
} run_state;

typedef struct run {
    const cli_options *o;
    classifier *c;
    const char *folder;
    char *last, *previous, *best, *lock; /* paths */
    char *log;                           /* where it is unless --log says another place */
    FILE *locked;                        /* NULL: not yet, or the file system can't */
    bool guest;                          /* another process has the folder: it is only read here */
    wick_checkpoint *file;               /* what is being resumed; NULL otherwise */
    cli_options kept;                    /* its options, without those of this command line */
    run_state state;
} run;

/* All return exit codes; what went wrong has been said. The folder is borrowed. */
int run_open(run *r, const cli_options *o, classifier *c, const char *folder);
/* Makes the folder, and clears it of an earlier run when --force allows. */
int run_start(run *r);
/* Into *kept, which is cleared before and freed by options_free: the options that the run of the checkpoint was given.
 */
int run_options(const wick_checkpoint *file, const char *path, cli_options *kept);
/* Opens the newest checkpoint that is whole and takes its options into *o and its state into r->state. */
int run_find(run *r, wick_context *ctx, cli_options *o);
/* Loads what run_find opened into the model, once that is built. */
int run_load(run *r);
/* whole: as wick_save_options. */
int run_save_last(run *r, const void *(*whole)(void *user, int k), void *whole_user);
int run_save_best(run *r);
void run_close(run *r);

#endif
