/* curves.h: what a training shows to others while it runs: TensorBoard's event files (--tensorboard) and metrics for a
 * collector (--metrics); and how its steps went, for the result. */
#ifndef WICK_CLI_CURVES_H
#define WICK_CLI_CURVES_H

#include "../cli.h"

#include "wick/events.h"
#include "wick/monitor.h"
#include "wick/nn.h"

/* What an epoch came to; NaN is not shown. */
typedef struct curves_scores {
    double train_loss, train_accuracy;
    const char *judge, *score_name; /* "valid" or "test", which chooses the best epoch; "accuracy" or "score" */
    double loss, score;             /* by it */
} curves_scores;

typedef struct curves {
    const cli_options *o;
    wick_context *ctx;
    wick_monitor *monitor;
    wick_events *events; /* NULL: nobody asked for them */
    double written;      /* when the metrics last were, in seconds */
} curves;

/* Before any work: whether --metrics could be. */
int curves_check(const cli_options *o);
/* For a run that goes on after `step` steps. Exit codes; what went wrong has been said. */
int curves_open(curves *c, const cli_options *o, wick_context *ctx, int64_t step);
/* The graph of a step, where curves are written. */
int curves_graph(curves *c, const wick_plan *plan);
/* A step begins; it has ended, as step `step`, counted from 1. */
void curves_begin(curves *c);
int curves_step(curves *c, int64_t step, int64_t samples, double loss, double accuracy, double lr);
/* An epoch has. Histograms of the parameters, too. */
int curves_epoch(curves *c, int64_t step, const wick_model *model, const curves_scores *scores);
/* Before a checkpoint, which is to claim no steps that the curves lack. */
int curves_flush(curves *c);
/* Writes what is left: code is what the run ended with, and is returned unless that was CLI_OK and files failed. */
int curves_close(curves *c, int code);

#endif
