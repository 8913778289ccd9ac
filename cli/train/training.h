/* training.h: a run of wick train, for the files that it is in: train_checks.c (what its options say together),
 * train_data.c (its samples, what is held out, its task), train_report.c (what is said of it), ranks.c (that it is one
 * of several processes) and cmd_train.c (the run). What returns int gives exit codes, and has said what went wrong. */
#ifndef WICK_CLI_TRAINING_H
#define WICK_CLI_TRAINING_H

#include "../profiling.h"
#include "boxes/point_pairs.h"
#include "curves.h"
#include "dashboard.h"
#include "evaluate.h"
#include "gate.h"
#include "progress.h"
#include "run.h"
#include "steplog.h"
#include "trainer.h"

#include "wick/dist.h"

typedef struct training {
    cli_options *o;
    const char *folder;
    wick_context *ctx;
    wick_group *group; /* of all processes that train together; of one, where it is alone */
    wick_dataset *whole;                /* of which train and valid are parts; NULL: valid is elsewhere, or not there */
    wick_dataset *train, *valid, *test; /* valid, test: may be NULL */
    bool by_test;                       /* the test set chooses the best epoch */
    float *class_weights;               /* [classes]; NULL: all count the same */
    char *coding;                       /* what was learned of a table or tensors; NULL: nothing */
    void *own_weights;                  /* the model's, while the best ones are in their place; NULL: they are not */
    wick_transform *transform;          /* NULL: --augment says it */
    point_pairs pairs;                  /* points that are each other in a mirror */
    classifier c;
    teachers teachers;
    wick_loader_options loading; /* of the training's samples */
    trainer t;
    evaluator e; /* of what chooses the best epoch, if anything does */
    profiling profile;
    curves curves;
    run r;
    steplog log;
    progress p;
    dashboard board;
    wick_optim_options optim;
    param_groups groups; /* that optim points to */
    int64_t steps;       /* of the whole run */
    int64_t samples;     /* this process has trained on */
    double seconds;      /* that took */
    quantized quantized; /* with --quantize, when the run is done; metric.key NULL: not made */
} training;

/* ---- train_checks.c ---------------------------------------------------------------------------------------------- */

/* whose: options are the command line's, "", or those that the resumed checkpoint keeps: */
extern const char training_of_file[];
/* The text of the network: --net, or --arch alone when it says all, else with --hidden and --dropout. */
int training_arch(wick_context *ctx, const cli_options *o, const char *whose, char *text, size_t size);
/* "embed tokens" becomes "embed 4096", by the data. */
int training_fill_tokens(const training *t, char *text, size_t size);
bool training_is_plateau(const cli_options *o);
/* What the options say together; the library would name its own fields, or nothing at all. */
int training_check_optim(const cli_options *o, const char *whose, int64_t steps);
/* The columns of --wire powersgd:RANK; 0: another wire, -1: none that there is. */
int training_powersgd(const cli_options *o);
/* That --leaves can cut a batch of so many samples. */
int training_check_leaves(const cli_options *o, const char *whose, int64_t batch);
/* What --augment says, and whether the images can be changed so. */
int training_read_augment(const training *t, const cli_options *o, const char *whose, wick_loader_options *loading);
/* What --transform says. */
int training_read_transform(training *t, wick_loader_options *loading);
/* Paths are kept from the root: a run may be resumed in another folder. */
int training_fix_paths(cli_options *o);

/* ---- train_data.c ------------------------------------------------------------------------------------------------ */

/* The training samples, what of them or beside them chooses the best epoch, and the test. */
int training_open_data(training *t);
/* What is learned, and what follows from it. */
int training_settle_task(training *t);
/* What --class-weights says of the training samples. */
int training_weigh_classes(training *t);
/* What the best epoch is chosen by; NULL: the training. */
const wick_dataset *training_chooser(const training *t);

/* ---- train_report.c ---------------------------------------------------------------------------------------------- */

bool training_of_classes(const training *t);
/* Whether the best epoch is that of the lowest loss; and of what it is the best, "accuracy". */
bool training_by_loss(const training *t);
const char *training_best_of(const training *t);
const char *training_score_text(const training *t, double score, char text[32]); /* "61.30 %", or "0.4213" */
bool training_at_end(const training *t);
const char *training_log_path(const training *t);
void training_report(const training *t);
/* A resumed run that has come to its end: says so and how to go on, and touches no file. */
int training_nothing_left(training *t);
int training_tell_plan(const training *t); /* --dry-run: what would be done */

#endif
