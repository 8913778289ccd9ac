/* weights.c: weights alone in 8 bits, integers or floats of 4 bits of exponent (Micikevicius et al. 2022, "FP8 formats
 * for deep learning", e4m3): w = q scale, the scale of each output channel, or of each block of what it sums, being its
 * largest magnitude over the largest that 8 bits hold. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"
#include "wick/shape.h"

#include <math.h>
#include <stdio.h>

wick_status wick_quantizer_state(wick_quantizer *q, const char *name, const char *end, wick_dtype dtype, int rank,
                                 const int64_t *dims, const void *data, wick_tensor **out) {
    char full[WICK_MSG_MAX];
    snprintf(full, sizeof full, "%s%s", name, end);
    wick_tensor *t = wick_from(q->ctx, dtype, rank, dims, data);
    *out = NULL;
    if (t->error) return wick_fail_poison(q->ctx, t);
    WICK_TRY(wick_model_adopt(q->model, full, WICK_ROLE_BUFFER, t));
    *out = wick_model_find(q->model, full);
    return WICK_OK;
}

/* Rows of what has one scale, behind one another: channels, or blocks of them of which the last is filled up with 0. */
typedef struct rows {
    int64_t channels, each, blocks, n, width;
} rows;
static rows rows_of(const wick_quantizer *q, const layer *l) {
    rows r = {.channels = l->type.dims[l->axis]};
    r.each = wick_type_count(&l->type) / WICK_MAX(r.channels, 1);
    r.width = q->options.block ? q->options.block : WICK_MAX(r.each, 1);
    r.blocks = q->options.block ? (r.each + r.width - 1) / r.width : 1;
    r.n = r.channels * r.blocks;
    return r;
}
/* [channels, each] as the product reads it. */
static wick_tensor *as_read(const layer *l, wick_tensor *w) {
    return l->axis == 0 ? wick_reshape(w, l->type.rank, l->type.dims) : wick_transpose(w, 0, 1);
}
/* Weights over their scales, in rows; scale [n]. */
static wick_status scale_rows(const wick_quantizer *q, const layer *l, const rows *r, float *w, float *scale) {
    const float top = q->options.weights_only == WICK_WEIGHTS_F8 ? 448 : 127;
    float most = 0;
    if (!wick_calibrator_fits(l->weights, wick_type_count(&l->type)))
        return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: weights %s have NaN or Inf", l->name);
    for (int64_t c = 0; c < r->channels; c++)
        for (int64_t j = 0; j < r->each; j++) {
            const float value = l->weights[l->axis == 0 ? c * r->each + j : j * r->channels + c];
            float *s = &scale[c * r->blocks + j / r->width];
            w[c * r->blocks * r->width + j] = value;
            *s = fmaxf(*s, fabsf(value) / top), most = fmaxf(most, *s);
        }
    for (int64_t i = 0; i < r->n; i++) {
        if (q->options.per_tensor && !q->options.block) scale[i] = most;
        if (!(scale[i] > 0x1p-120f)) scale[i] = 1; /* nothing but zeros, or next to it */
        for (int64_t j = 0; j < r->width; j++) w[i * r->width + j] /= scale[i];
    }
    return WICK_OK;
}

wick_status wick_quantizer_make_weights(wick_quantizer *q, layer *l) {
    wick_context *ctx = q->ctx;
    const rows r = rows_of(q, l);
    const bool f8 = q->options.weights_only == WICK_WEIGHTS_F8;
    const size_t size = (size_t)(r.n * r.width + r.n) * sizeof(float) + 1;
    float *w = wick_calloc(&ctx->alloc, size), *scale = w ? w + r.n * r.width : NULL;
    if (!w) return out_of_memory(ctx);
    const void *data = NULL;
    wick_status status = scale_rows(q, l, &r, w, scale);
    wick_tensor *steps = wick_from(ctx, WICK_F32, 2, (const int64_t[]){r.n, r.width}, w);
    wick_tensor *bytes =
        f8 ? wick_cast_saturate(steps, WICK_F8_E4M3FN) : wick_cast_saturate(wick_round(steps), WICK_I8);
    if (l->axis == 1 && !q->options.block) bytes = wick_transpose(bytes, 0, 1);
    if (status == WICK_OK) status = wick_data(bytes, &data);
    const bool native = !q->options.block;
    const int64_t pair[] = {r.n, r.width};
    if (status == WICK_OK)
        status = wick_quantizer_state(q, l->name, "", f8 ? WICK_F8_E4M3FN : WICK_I8, native ? l->type.rank : 2,
                                      native ? l->type.dims : pair, data, &l->q);
    if (status == WICK_OK) status = wick_quantizer_state(q, l->name, "_scale", WICK_F32, 1, &r.n, scale, &l->scale);
    if (status == WICK_OK) status = wick_data(wick_quantizer_weights(q, l), &data);
    double signal = 0, noise = 0, weighed = 0;
    for (int64_t i = 0; i < wick_type_count(&l->type) && status == WICK_OK; i++) {
        const double value = (double)l->weights[i], error = value - (double)((const float *)data)[i];
        signal += value * value, noise += error * error, weighed += weighed_error(l, (size_t)i, error);
    }
    wick_quantizer_note_cost(q, l, weighed);
    l->sqnr = noise > 0 ? 10 * log10(signal / noise) : INFINITY;
    wick_release(&ctx->alloc, w, size);
    return status;
}

wick_tensor *wick_quantizer_weights(const wick_quantizer *q, const layer *l) {
    const rows r = rows_of(q, l);
    const bool blocks = q->options.block;
    const int axis = blocks ? 0 : l->axis, rank = blocks ? 2 : l->type.rank;
    wick_tensor *w;
    if (q->options.weights_only == WICK_WEIGHTS_F8) {
        int64_t dims[WICK_MAX_DIMS];
        for (int d = 0; d < rank; d++) dims[d] = d == axis ? r.n : 1;
        w = wick_mul(wick_cast(l->q, WICK_F32), wick_reshape(l->scale, rank, dims));
    } else {
        w = wick_dequantize(l->q, l->scale, NULL, axis);
    }
    if (!blocks) return w;
    w = wick_reshape(w, 2, (const int64_t[]){r.channels, r.blocks * r.width});
    if (r.each < r.blocks * r.width) w = wick_slice(w, 1, 0, r.each, 1);
    return as_read(l, w);
}
