/* max_batch.c: the largest batch for which a loader and the step that it feeds have memory. */
#include "data/sets/dataset.h"
#include "exec/max_batch.h"
#include "wick/loader.h"

/* What a loader of such batches takes, by making it: nothing of its memory is touched, and no thread starts. */
static wick_status loader_bytes(wick_context *ctx, const wick_dataset *dataset, const wick_loader_options *options,
                                int64_t batch, size_t *bytes) {
    wick_loader_options o = *options;
    wick_loader *loader;
    wick_loader_stats stats;
    o.batch = batch;
    WICK_TRY(wick_loader_new(ctx, dataset, &o, &loader));
    wick_loader_get_stats(loader, &stats);
    wick_loader_free(&loader);
    *bytes = stats.memory;
    return WICK_OK;
}

wick_status wick_loader_max_batch(wick_context *ctx, const wick_dataset *dataset, const wick_loader_options *options,
                                  const wick_loader_step *step, size_t bytes, wick_batch_fit *fit) {
    if (!fit) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader_max_batch: fit is NULL");
    *fit = (wick_batch_fit){0};
    if (!dataset || !options || !step)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: max_batch needs a dataset, options and a step");
    const int64_t count = options->draws ? options->draws : dataset->source.count;
    wick_beside beside = {.most = options->batch > 0 ? WICK_MIN(options->batch, count) : count};
    size_t two;
    WICK_TRY(loader_bytes(ctx, dataset, options, 1, &beside.first));
    if (beside.most > 1) { /* all of it is linear in the batch */
        WICK_TRY(loader_bytes(ctx, dataset, options, 2, &two));
        beside.each = two - beside.first;
    }
    return wick_max_batch_beside(ctx, step->fn, step->user, step->n_in, step->in, step->n_out, step->options, &beside,
                                 bytes, fit);
}
