/* shared.h: what the ranks of a group (wick/dist.h) do together with data and models: look whether they have the same
 * ones, and measure a model, each on its part, with the bits of one process. */
#ifndef WICK_CLI_SHARED_H
#define WICK_CLI_SHARED_H

#include "evaluate.h"

#include "wick/dist.h"

/* Joins the group that the process was started for, a group of one by default. Followers, ranks other than 0, become
 * quiet, and print no JSON when something goes wrong. An exit code; what went wrong has been said. */
int shared_open(wick_context *ctx, const cli_options *o, wick_group **group);
static inline bool shared_is_alone(const wick_group *g) { return !g || wick_group_size(g) == 1; }
static inline bool shared_follows(const wick_group *g) { return g && wick_group_rank(g) > 0; }
/* The exit code of a group's failure: ranks that differ are a wrong command line, and one that is lost or late is not.
 */
int shared_code(wick_status status);
/* What the group's error says; its exit code. */
int shared_failed(const wick_group *g, wick_status status);

/* That ranks have the same, to the bit. Statuses; the group has the error. field: of samples, what they are called. */
wick_status shared_agree_samples(wick_group *g, const wick_dataset *set, const char *field);
wick_status shared_agree_states(wick_group *g, const wick_model *model);
/* That they have the same model, samples and options of a measurement. An exit code. */
int shared_agree(wick_group *g, const cli_options *o, const classifier *c, const wick_dataset *set);

/* e measures the part of this rank from now on, and evaluator_run gives every rank the figures of all. Of tasks that
 * count by themselves (task.h: begin) every rank measures all samples. */
void shared_measure(evaluator *e, wick_group *g);
/* A row of `bytes` for each sample, of which each rank has made those that it measured, becomes whole on all ranks. */
wick_status shared_rows(wick_group *g, const evaluator *e, void *rows, size_t bytes);

#endif
