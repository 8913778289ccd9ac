/* max_batch.h: the largest batch of a step, beside what else takes memory by the batch. */
#ifndef WICK_EXEC_MAX_BATCH_H
#define WICK_EXEC_MAX_BATCH_H

#include "exec/exec.h"

/* What holds the inputs: `first` bytes with one sample, `each` more for each other one; at most `most` samples. */
typedef struct wick_beside {
    size_t first, each;
    int64_t most;
} wick_beside;
/* wick_plan_max_batch of both together. beside NULL: the inputs lie anywhere, and count as they are. fit->next_bytes is
 * 0 where `most` is what ends it. */
WICK_MUST_CHECK wick_status wick_max_batch_beside(wick_context *ctx, wick_function fn, void *user, int n_in,
                                                  const wick_spec *in, int n_out, const wick_compile_options *options,
                                                  const wick_beside *beside, size_t bytes, wick_batch_fit *fit);

#endif
