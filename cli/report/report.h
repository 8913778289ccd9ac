/* report.h: what `wick report` draws of a run. cmd_report.c gathers it; each report_*.c writes sections of the page. */
#ifndef WICK_CLI_REPORT_H
#define WICK_CLI_REPORT_H

#include "../train/evaluate.h"
#include "../train/runlog.h"
#include "../train/trainer.h"

#include <stdio.h>

enum { REPORT_STEPS = 20 /* timed, at most */ };

typedef struct report {
    const cli_options *o;
    wick_context *ctx;
    const char *data; /* as --data takes it */
    classifier c;     /* of the best epoch, until the training step is timed */
    int64_t epoch;    /* that one; 0: the file doesn't say */
    wick_dataset *train, *test; /* NULL: there is none */
    const wick_dataset *measured; /* test, or else train */
    evaluator e;
    evaluation result;
    wick_summary *layers; /* of one image, forward, as wick info shows them */
    int64_t *predicted; /* of each image of `measured` */
    float *probability; /* of that */
    float *scores;      /* [images, classes], probabilities; NULL: there are too many */
    cli_options kept;   /* what the run was given; without them, has_options is false */
    bool has_options;
    param_groups groups; /* that optim points to */
    wick_optim_options optim; /* that makes; the numbers of steps are right where there are training images */
    char *log_path;
    runlog log;
    bool has_log;
    trainer t; /* compiled when there are options and training images */
    bool has_trainer;
    int64_t timed;       /* steps */
    double *kernel_ns;   /* [kernels, REPORT_STEPS] of them; NULL: none is timed */
    const char *untimed; /* why there are none; NULL: they are */
} report;

/* "Ankle boot"; of a class that the data have no name for its number. Valid until the fourth call after it. */
const char *report_class(const report *r, int64_t k);

const char *report_noun(const report *r);
void report_head(FILE *out, const report *r);
bool report_is_text(const report *r); /* the network has no name, only layers */
void report_curves(FILE *out, const report *r);
bool report_mistakes(FILE *out, const report *r); /* false: out of memory */
bool report_ranking(FILE *out, const report *r);  /* the same */
bool report_sounds(FILE *out, const report *r);   /* the same; nothing where samples are no recordings */
bool report_task(FILE *out, const report *r); /* the same of other tasks than classes */
bool report_filters(FILE *out, const report *r);
void report_layers(FILE *out, const report *r);
void report_recipe(FILE *out, const report *r);
bool report_plan(FILE *out, const report *r); /* memory over time, and time per kernel */

/* Image i of the data as an <img>; nothing where its dims are no picture's. false: out of memory. */
bool report_picture(FILE *out, const wick_dataset *dataset, int64_t i, const char *text);

#endif
