/* runner.h: an ONNX model that wick run has opened, and what its parts share: a step, the states that go from one to
 * the next, checking, timing. */
#ifndef WICK_CLI_RUNNER_H
#define WICK_CLI_RUNNER_H

#include "../cli.h"
#include "feed.h"

typedef struct runner {
    const cli_options *o;
    wick_context *ctx;
    wick_onnx *onnx;
    int n_in, n_out, n_states;
    /* o, with a --dim more for each open dim that inputs at hand say: chance, zeros and numbers have those extents */
    cli_options filled;
    char **texts;       /* of those */
    struct port_dim *dims; /* the open dims, and the ranges of --dim */
    int n_dims, n_said;
    bool others;   /* --input random: for all that are not named */
    feed *feeds;   /* of --input, by input */
    int *back;     /* by input: the output that --state carries back to it, or -1 */
    int *forward;  /* by output: the input it goes to, or -1 */
    wick_tensor **carried; /* by input: its state, retained; NULL at the start */
    wick_onnx_value *in, *out;
    double said; /* when the last line of progress was, in seconds */
} runner;

/* Says what went wrong, with an exit code. */
int runner_failed(const runner *r, wick_status status);
/* in, at this step, from what --input gave, the states, or chance. An exit code. */
int runner_feed(runner *r, int64_t step);
/* The same for one input. */
int runner_feed_one(runner *r, int i, int64_t step);
/* in -> out, computed. */
wick_status runner_step(runner *r);
/* Takes the states out of out, for the next step. */
wick_status runner_carry(runner *r);
void runner_forget(runner *r); /* the states: zeros again */
/* A line on standard error, at most one in two seconds and none in the first two. */
void runner_progress(runner *r, const char *what, int64_t step, int64_t steps);

/* run_dims.c. Before anything is read; after: whatever became of it. An exit code. */
int runner_open_dims(runner *r);
void runner_close_dims(runner *r);
/* The extents of v, the value of input i (stacked: behind an axis of steps), become those of others of the same names.
 * What was learned for a step goes with runner_unlearn(r, as many as there were). */
wick_status runner_learn(runner *r, int i, const wick_onnx_value *v, bool stacked);
void runner_unlearn(runner *r, int n_said);
/* Whether what is in `in` goes together, by the names of open dims and the ranges of --dim. */
wick_status runner_hold(const runner *r);

int runner_check(runner *r); /* run_check.c: --check */
/* Before inputs are counted: those of the model's defaults that sets have files for, behind its inputs, become inputs.
 */
int runner_check_defaults(runner *r);
int runner_bench(runner *r); /* run_bench.c: --bench and --repeat, of what is in `in` */

#endif
