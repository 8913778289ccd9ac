/* runner.h: an ONNX model that wick run has opened, and what its parts share: a step, the states that go from one to the next, checking, timing. */
#ifndef WICK_CLI_RUNNER_H
#define WICK_CLI_RUNNER_H

#include "cli.h"
#include "feed.h"

typedef struct runner {
    const cli_options *o;
    wick_context *ctx;
    wick_onnx *onnx;
    int n_in, n_out, n_states;
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

int runner_check(runner *r); /* run_check.c: --check */
int runner_bench(runner *r); /* run_bench.c: --bench and --repeat, of what is in `in` */

#endif
