/* statistics.c: what batch norms know of the smaller network: means and variances of what it gives them. */
#define WICK_NO_SITES
#include "compress/pruner.h"
#include "exec/exec.h"

#include <math.h>

void wick_pruner_drop_observer(wick_pruner *p) {
    wick_workspace_free(&p->observer);
    wick_plan_free(&p->observing);
    p->observed = 0;
}

static wick_status make_observer(wick_pruner *p) {
    WICK_TRY(
        wick_compile(p->ctx, wick_pruner_record_statistics, p, p->n_in, p->in, 2 * p->n_norms, NULL, &p->observing));
    WICK_TRY(wick_workspace_new(p->observing, &p->observer));
    p->seen = wick_arena_zalloc(&p->arena, (2 * (size_t)p->n_norms + 1) * sizeof(void *));
    for (int i = 0; p->seen && i < 2 * p->n_norms; i++) {
        const wick_spec spec = wick_plan_output(p->observing, i);
        const size_t n = wick_spec_bytes(&spec) / sizeof(float);
        p->seen[i] = wick_arena_zalloc(&p->arena, n * sizeof(float) + 1);
        p->norms[i / 2].sums[i % 2] = wick_arena_zalloc(&p->arena, n * sizeof(double) + 1);
        if (!p->seen[i] || !p->norms[i / 2].sums[i % 2]) return pruner_out_of_memory(p->ctx);
    }
    return p->seen ? WICK_OK : pruner_out_of_memory(p->ctx);
}
static int64_t channels_of(const wick_pruner *p, int norm) {
    return wick_type_count(&p->states[p->norms[norm].mean].copy->value->type);
}
wick_status wick_pruner_observe(wick_pruner *p, const void *const *in) {
    if (!p) return WICK_ERR_INVALID;
    if (!in || !p->model)
        return wick_context_fail(p->ctx, WICK_ERR_INVALID, "pruner: %s",
                                 in ? "wick_pruner_cut comes before it" : "in is NULL");
    if (!p->n_norms) return WICK_OK;
    if (!p->observer) {
        const wick_status status = make_observer(p);
        if (status != WICK_OK) wick_pruner_drop_observer(p);
        WICK_TRY(status);
    }
    const wick_status status = wick_run(p->observer, in, p->seen);
    if (status != WICK_OK) return wick_context_fail(p->ctx, status, "pruner: %s", wick_workspace_error(p->observer));
    for (int i = 0; i < 2 * p->n_norms; i++)
        for (int64_t k = 0; k < channels_of(p, i / 2); k++)
            if (!isfinite(((const float *)p->seen[i])[k]))
                return wick_context_fail(p->ctx, WICK_ERR_INVALID,
                                         "pruner: NaN or Inf before a batch norm: nothing of this batch was counted");
    for (int i = 0; i < 2 * p->n_norms; i++)
        for (int64_t k = 0; k < channels_of(p, i / 2); k++)
            p->norms[i / 2].sums[i % 2][k] += (double)((const float *)p->seen[i])[k];
    p->observed++;
    return WICK_OK;
}
wick_status wick_pruner_settle(wick_pruner *p) {
    if (!p) return WICK_ERR_INVALID;
    for (int i = 0; i < 2 * p->n_norms && p->observed; i++) {
        const norm_state *norm = &p->norms[i / 2];
        const int64_t n = channels_of(p, i / 2);
        float *x = p->seen[i];
        for (int64_t k = 0; k < n; k++) x[k] = (float)(norm->sums[i % 2][k] / (double)p->observed);
        WICK_TRY(wick_write(p->states[i % 2 ? norm->var : norm->mean].copy, x, (size_t)n * sizeof *x));
    }
    wick_pruner_drop_observer(p);
    return WICK_OK;
}
