/* step.h: a compiled function of one batch and the workspace it runs in. */
#ifndef WICK_CLI_STEP_H
#define WICK_CLI_STEP_H

#include "train/classifier.h"

typedef struct step {
    wick_plan *plan;
    wick_workspace *workspace;
} step;

/* Compiles fn for batches of n: images, and labels when n_in is 2, which are probabilities of classes, f32 [n,
 * classes], where `mixed`. Random ops draw from streams of `seed` from `stream` on, so that the same call makes the
 * same plan in every process. On failure log_why has the text. */
wick_status step_compile(step *s, classifier *c, wick_function fn, void *user, int64_t n, int n_in, int n_out,
                         bool mixed, uint64_t seed, uint64_t stream, const wick_compile_options *options);
void step_free(step *s);

/* For the vectors of a batch: whole cache lines. NULL: out of memory. */
void *step_buffer(int64_t count, size_t size);

#endif
