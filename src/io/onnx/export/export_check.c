/* export_check.c: what was written, run where the function records other ops than elsewhere: at extents of 1, which
 * broadcast, or where a branch of its code changes. There no graph tells whether the written one holds, but its numbers
 * do. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

#include <stdio.h>

static const double MOST_ELEMENTS = 0x1p20; /* of the inputs at a point that is run */

static bool draws(const wick_graph *g) {
    for (size_t i = 0; i < g->n; i++) {
        if (g->nodes[i]->op->flags & WICK_OP_RANDOM) return true;
        for (int k = 0; k < g->nodes[i]->n_regions; k++)
            if (draws(g->nodes[i]->regions[k])) return true;
    }
    return false;
}

/* Numbers for an input: different ones of floats, 0 and 1 of others. */
static wick_tensor *some(wick_context *ctx, const wick_spec *in) {
    wick_tensor *places =
        wick_arange(ctx, WICK_F64, 1, 1, wick_tensor_count(wick_zeros(ctx, WICK_BOOL, in->rank, in->dims)));
    wick_tensor *x = wick_sin(wick_mul(places, wick_like(places, 0.7)));
    if (!wick_dtype_is_float(in->dtype)) x = wick_gt(x, wick_like(x, 0.3));
    return wick_reshape(wick_cast(x, in->dtype), in->rank, in->dims);
}

/* The first difference of the outputs; of random ones only shapes count. */
static wick_status compare(onnx_export *e, const wick_onnx_value *want, const wick_onnx_value *got, bool random) {
    for (int i = 0; i < e->n_out; i++) {
        wick_onnx_value a = want[i], b = got[i];
        if (random)
            a.tensor =
                wick_zeros(e->ctx, wick_tensor_dtype(a.tensor), wick_tensor_rank(a.tensor), wick_tensor_dims(a.tensor));
        if (random)
            b.tensor =
                wick_zeros(e->ctx, wick_tensor_dtype(b.tensor), wick_tensor_rank(b.tensor), wick_tensor_dims(b.tensor));
        if (wick_onnx_value_compare(e->ctx, &b, &a, 1e-3, 1e-4) == WICK_OK) continue;
        char text[WICK_MSG_MAX / 2];
        wick_str s = wick_str_on(text, sizeof text);
        wick_str_add(&s, "output %s %s", e->ports[e->n_in + i]->text, wick_context_error(e->ctx));
        wick_context_clear_error(e->ctx);
        return wick_context_fail(e->ctx, WICK_ERR_MISMATCH, "%s", text);
    }
    return WICK_OK;
}

/* Both at one point; nothing to compare where the function itself fails. */
static wick_status run_both(onnx_export *e, const onnx_source *source, wick_onnx *written, const wick_spec *in,
                            bool random, wick_onnx_value *values) {
    wick_onnx_value *want = values + e->n_in, *got = want + e->n_out;
    wick_tensor **x = wick_export_alloc(e, (size_t)(e->n_in + e->n_out) + 1, sizeof(wick_tensor *)), **y = x + e->n_in;
    if (!x) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    for (int i = 0; i < e->n_in; i++)
        x[i] = some(e->ctx, &in[i]), values[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = x[i]};
    wick_status status = source->before ? source->before(source->user, in) : WICK_OK;
    if (status == WICK_OK) status = source->fn(e->ctx, x, y, source->user);
    if (status == WICK_OK) status = wick_eval(e->ctx, e->n_out, y, NULL);
    if (status != WICK_OK) return wick_context_clear_error(e->ctx), WICK_OK;
    for (int i = 0; i < e->n_out; i++) want[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = y[i]};
    status = wick_onnx_apply(written, values, got);
    for (int i = 0; i < e->n_out && status == WICK_OK; i++) status = wick_eval(e->ctx, 1, &got[i].tensor, NULL);
    return status == WICK_OK ? compare(e, want, got, random) : status;
}

static wick_status differs(onnx_export *e, const onnx_odd *odd, int most, const char *why) {
    char point[512], text[WICK_MSG_MAX];
    wick_str s = wick_str_on(point, sizeof point);
    wick_export_say_point(e, &s, odd->extents[most]);
    snprintf(text, sizeof text, "%s", why);
    return wick_context_fail(e->ctx, WICK_ERR_UNSUPPORTED,
                             "export: one graph can't be it for all extents: for %s the function records other ops "
                             "than elsewhere, first %s (%s); give the extent a number, or a range without it",
                             point, odd->why, text);
}

/* Each graph at its two points. Those too large to be run are where an export ends. */
static wick_status check_points(onnx_export *e, const onnx_source *source, wick_onnx *written) {
    wick_spec *in = wick_export_alloc(e, (size_t)e->n_in + 1, sizeof *in);
    wick_onnx_value *values = wick_export_alloc(e, (size_t)(e->n_in + 2 * e->n_out) + 1, sizeof *values);
    if (!in || !values) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    const bool random = draws(e->at[0]);
    for (int i = 0; i < e->n_odd; i++)
        if (e->odd[i].elements[1] > MOST_ELEMENTS)
            return differs(e, &e->odd[i], 1, "too many elements to be tried");
    wick_status status = WICK_OK;
    for (int i = 0; i < 2 * e->n_odd && status == WICK_OK; i++) {
        const onnx_odd *odd = &e->odd[i / 2];
        if (i % 2 && !memcmp(odd->extents[0], odd->extents[1], sizeof odd->extents[0])) continue;
        wick_export_specs(e, odd->extents[i % 2], in);
        wick_scope *scope = wick_scope_open(e->ctx);
        status = scope ? run_both(e, source, written, in, random, values) : WICK_ERR_NOMEM;
        wick_scope_close(&scope);
        if (status == WICK_OK || status == WICK_ERR_NOMEM || status == WICK_ERR_CANCELLED ||
            status == WICK_ERR_DEADLINE)
            continue;
        char why[WICK_MSG_MAX];
        snprintf(why, sizeof why, "%s", wick_context_error(e->ctx));
        wick_context_clear_error(e->ctx);
        status = differs(e, odd, i % 2, why);
    }
    return status;
}

wick_status wick_export_check(onnx_export *e, const onnx_source *source) {
    if (!e->n_odd) return WICK_OK;
    uint8_t *bytes;
    size_t n;
    WICK_TRY(wick_export_bytes(e, &bytes, &n));
    wick_onnx *written = NULL;
    wick_map map = {.data = bytes, .size = n, .copied = true};
    wick_status status = wick_onnx_open_map(e->ctx, "the written model", &map, NULL, &written);
    if (status == WICK_OK) status = check_points(e, source, written);
    wick_onnx_free(&written);
    return status;
}
