/* integers.c: scales and integers of what was observed. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "wick/quantize.h"
#include "wick/shape.h"

#include <math.h>
#include <stdio.h>

/* The sum of squares of what rounding and clipping change in channel c. */
static double squares(const layer *l, int64_t c, int64_t each, float scale) {
    const float most = (float)most_weight(l);
    double sum = 0;
    for (int64_t j = 0; j < each; j++) {
        const float w = l->weights[wick_quantizer_place(l, c, j)], held = fminf(fmaxf(rintf(w / scale), -most), most);
        const double error = (double)w - (double)held * (double)scale;
        sum += error * error;
    }
    return sum;
}
/* Of few bits the scale of least square error, of 40 to 100 % of the largest weight's. */
static float best_scale(const layer *l, int64_t c, int64_t each, float largest) {
    float best = largest;
    double least = INFINITY;
    for (int percent = 100; percent >= 40 && largest > 0; percent -= 2) {
        const float scale = largest * ((float)percent / 100);
        const double error = scale > 0 ? squares(l, c, each, scale) : (double)INFINITY;
        if (error < least) least = error, best = scale;
    }
    return best;
}

/* The largest magnitude of each channel over that of the integers; one that is nothing but zeros has the largest scale
 * of all. */
static wick_status weight_scales(const wick_quantizer *q, const layer *l, float *scale) {
    const int64_t channels = l->type.dims[l->axis], each = wick_type_count(&l->type) / WICK_MAX(channels, 1);
    float most = 0;
    for (int64_t c = 0; c < channels; c++) {
        float largest = 0;
        for (int64_t j = 0; j < each; j++) {
            const float w = l->weights[wick_quantizer_place(l, c, j)];
            if (!isfinite(w) || (l->bias && !isfinite(l->bias[c])))
                return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: weights %s have NaN or Inf", l->name);
            largest = fmaxf(largest, fabsf(w));
        }
        scale[c] = largest / (float)most_weight(l);
        if (l->bits <= FEW_BITS && !l->step) scale[c] = best_scale(l, c, each, scale[c]);
        most = fmaxf(most, scale[c]);
    }
    if (!(most > 0)) most = 1;
    const void *learned = NULL;
    if (l->step) WICK_TRY(wick_data(l->step, &learned));
    for (int64_t c = 0; c < channels; c++) {
        if (!(scale[c] > 0) || q->options.per_tensor) scale[c] = most;
        if (learned) scale[c] = fmaxf(fabsf(((const float *)learned)[c]), 0x1p-120f);
        if (!isfinite(scale[c]))
            return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: a learned step of %s is NaN or Inf",
                                     l->name);
        const double least = wick_quantizer_least_scale(q, l, c);
        if ((double)scale[c] < least) scale[c] = (float)least;
    }
    return WICK_OK;
}

/* The mean of what element j of channel c is multiplied with; by gram of all that is taken, padding too. */
static double mean_taken(const wick_quantizer *q, const layer *l, int64_t c, int64_t j, bool by_gram) {
    if (by_gram) {
        const gram_extents e = wick_quantizer_gram_extents(l);
        const int64_t part = c / (l->type.dims[l->axis] / e.parts);
        const double *sums = l->gram + (part * (e.k + 1) + e.k) * (e.k + 1);
        return sums[j] / sums[e.k];
    }
    const int64_t in = l->type.dims[1], taps = wick_type_count(&l->type) / WICK_MAX(l->type.dims[0] * in, 1),
                  part = c / (l->type.dims[0] / (l->channels / in));
    return l->mean[part * in + j / taps] / (double)WICK_MAX(q->observations, 1);
}

/* To two a byte, the first in the low bits. */
static void pack(int8_t *bytes, int64_t n) {
    for (int64_t i = 0; i < n; i += 2) {
        const int low = bytes[i] & 15, high = i + 1 < n ? bytes[i + 1] & 15 : 0;
        bytes[i / 2] = (int8_t)(uint8_t)(low | high << 4);
    }
}

static wick_status make_layer(wick_quantizer *q, layer *l, float *scale, int8_t *bytes, int32_t *bias) {
    const int64_t channels = l->type.dims[l->axis], each = wick_type_count(&l->type) / WICK_MAX(channels, 1);
    const double input_scale = q->sites[l->site].scale;
    WICK_TRY(weight_scales(q, l, scale));
    bool rounded = false; /* by what it took */
    if (l->gram && l->bits <= FEW_BITS && q->observations && !q->trained)
        WICK_TRY(wick_quantizer_round_channels(q, l, scale, bytes, &rounded));
    double signal = 0, noise = 0, weighed = 0;
    const float most = (float)most_weight(l);
    const bool corrects = wick_quantizer_corrects(q, l);
    for (int64_t c = 0; c < channels; c++) {
        double lost = 0;
        for (int64_t j = 0; j < each; j++) {
            const size_t at = wick_quantizer_place(l, c, j);
            const float w = l->weights[at], nearest = fminf(fmaxf(rintf(w / scale[c]), -most), most);
            if (!rounded) bytes[at] = (int8_t)nearest;
            const double error = (double)w - (double)bytes[at] * (double)scale[c];
            signal += (double)w * (double)w, noise += error * error;
            /* what several errors make up for together the diagonal of the Fisher information can't tell */
            weighed += weighed_error(l, at, (double)w - (double)nearest * (double)scale[c]);
            if (corrects) lost += error * mean_taken(q, l, c, j, rounded);
        }
        if (!l->bias) continue;
        const float unit = (float)input_scale * scale[c];
        const double value = (double)l->bias[c] + lost;
        bias[c] = unit > 0 ? (int32_t)rint(value / (double)unit) : 0; /* both are next to 0 */
    }
    l->sqnr = noise > 0 ? 10 * log10(signal / noise) : INFINITY;
    wick_quantizer_note_cost(q, l, weighed);
    if (l->bits <= 4) pack(bytes, wick_type_count(&l->type));
    WICK_TRY(wick_quantizer_state(q, l->name, "", l->bits > 4 ? WICK_I8 : WICK_I4, l->type.rank, l->type.dims, bytes,
                                  &l->q));
    WICK_TRY(wick_quantizer_state(q, l->name, "_scale", WICK_F32, 1, &channels, scale, &l->scale));
    if (!l->bias) return WICK_OK;
    for (int64_t c = 0; c < channels; c++) scale[c] = (float)input_scale * scale[c];
    WICK_TRY(wick_quantizer_state(q, l->bias_name, "", WICK_I32, 1, &channels, bias, &l->bias_q));
    return wick_quantizer_state(q, l->bias_name, "_scale", WICK_F32, 1, &channels, scale, &l->bias_scale);
}

/* What is joined has one scale, so that bytes are joined; but not where one part would lose more than half of its
 * levels by that. */
static void join_ranges(wick_quantizer *q, int joined) {
    double low = 0, high = 0, least = INFINITY;
    for (int i = 0; i < q->n_sites; i++) {
        const site *s = &q->sites[i];
        if (s->joined != joined || !s->calibrator) continue;
        low = fmin(low, s->low), high = fmax(high, s->high);
        least = fmin(least, s->high - s->low);
    }
    for (int i = 0; i < q->n_sites && least >= (high - low) / 2; i++)
        if (q->sites[i].joined == joined) q->sites[i].low = low, q->sites[i].high = high;
}
static void make_scales(wick_quantizer *q) {
    for (int i = 0; i < q->n_sites; i++) {
        site *s = &q->sites[i];
        const wick_calibration asked = q->options.calibration;
        /* of 65,535 levels clipping wins nothing */
        const wick_calibration how =
            is_wide(q) && (asked == WICK_CALIBRATE_MSE || asked == WICK_CALIBRATE_ENTROPY) ? WICK_CALIBRATE_MINMAX
                                                                                           : asked;
        if (s->calibrator && s->calibrator->n)
            wick_calibrator_range(s->calibrator, how, q->options.percentile, &s->low, &s->high);
    }
    for (int i = 0; i < q->n_sites; i++) join_ranges(q, i);
    for (int i = 0; i < q->n_sites; i++) {
        site *s = &q->sites[i];
        if (s->step) continue;
        if (is_wide(q)) s->high = fmax(-s->low, s->high), s->low = -s->high;
        s->scale = (double)(float)((s->high - s->low) / (highest(q) - lowest(q)));
        if (!(s->scale >= 0x1p-120)) s->scale = 1; /* nothing but zeros, or next to it */
        s->zero = is_wide(q) ? 0 : (int)rint(-s->low / s->scale);
    }
}

/* Scales of activations that were learned, with the ranges that they make. */
static wick_status take_steps(wick_quantizer *q) {
    for (int i = 0; i < q->n_sites; i++) {
        site *s = &q->sites[i];
        const void *data;
        if (!s->step) continue;
        WICK_TRY(wick_data(s->step, &data));
        const double scale = fabs((double)*(const float *)data);
        if (!isfinite(scale))
            return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: a learned step is NaN or Inf");
        s->scale = fmax(scale, 0x1p-120);
        s->low = (lowest(q) - s->zero) * s->scale, s->high = (highest(q) - s->zero) * s->scale;
    }
    return WICK_OK;
}

/* 4 bits in blocks along what is summed: W is [k, n] to the product, and its blocks lie along rows of [n, k]. */
static wick_status make_blocks(wick_quantizer *q, layer *l) {
    if (!wick_calibrator_fits(l->weights, wick_type_count(&l->type)))
        return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: weights %s have NaN or Inf", l->name);
    wick_tensor *w = wick_transpose(wick_from(q->ctx, WICK_F32, 2, l->type.dims, l->weights), 0, 1), *scales, *back;
    wick_tensor *made = NULL;
    const wick_weight_rounding how = q->options.rounding;
    if (how == WICK_ROUND_GPTQ && l->gram && q->observations) WICK_TRY(wick_quantizer_gptq(q, l, &made, &scales));
    if (how == WICK_ROUND_ADAROUND && l->gram && q->observations)
        WICK_TRY(wick_quantizer_adaround(q, l, &made, &scales));
    if (how == WICK_ROUND_HQQ) WICK_TRY(wick_quantizer_hqq(q, l, &made, &scales));
    if (!made) made = wick_quantize_blocks(w, q->options.block, &scales, NULL);
    const void *data, *as;
    back = wick_dequantize_blocks(made, scales, NULL, l->type.dims[0]);
    WICK_TRY(wick_eval(q->ctx, 3, (wick_tensor *[]){made, scales, back}, NULL));
    WICK_TRY(wick_data(made, &data));
    WICK_TRY(wick_quantizer_state(q, l->name, "", WICK_U8, 3, made->value->type.dims, data, &l->q));
    WICK_TRY(wick_data(scales, &data));
    WICK_TRY(wick_quantizer_state(q, l->name, "_scale", WICK_F32, 2, scales->value->type.dims, data, &l->scale));
    WICK_TRY(wick_data(back, &as));
    double signal = 0, noise = 0, weighed = 0;
    const int64_t k = l->type.dims[0], n = l->type.dims[1];
    for (int64_t i = 0; i < k * n; i++) {
        const double value = (double)l->weights[i], error = value - (double)((const float *)as)[i % n * k + i / n];
        signal += value * value, noise += error * error, weighed += weighed_error(l, (size_t)i, error);
    }
    l->sqnr = noise > 0 ? 10 * log10(signal / noise) : INFINITY;
    wick_quantizer_note_cost(q, l, weighed);
    return WICK_OK;
}

wick_status wick_quantizer_finish(wick_quantizer *q) {
    if (!q) return WICK_ERR_INVALID;
    wick_context *ctx = q->ctx;
    if (!q->observations && !weights_alone(q))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: nothing was observed");
    if (q->options.smooth > 0 && !q->smoothed)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: wick_quantizer_smooth comes before it");
    if (q->options.awq && q->observations && !q->awq_done) {
        WICK_TRY(wick_quantizer_awq(q));
        q->awq_done = true;
    }
    q->finished = false;
    wick_model_free(&q->model);
    WICK_TRY(wick_quantizer_take_trained(q));
    make_scales(q);
    WICK_TRY(take_steps(q));
    size_t largest = 0, channels = 0;
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        l->q = l->scale = l->bias_q = l->bias_scale = NULL;
        l->sqnr = l->cost = NAN;
        largest = WICK_MAX(largest, (size_t)wick_type_count(&l->type));
        channels = WICK_MAX(channels, (size_t)l->type.dims[l->axis]);
    }
    const size_t size = channels * 8 + largest + 1;
    float *scale = wick_alloc(&ctx->alloc, size);
    wick_scope *scope = scale ? wick_scope_open(ctx) : NULL;
    wick_status status = scope ? wick_model_new(ctx, &q->model) : out_of_memory(ctx);
    for (int i = 0; i < q->n_layers && status == WICK_OK; i++)
        if (!q->layers[i].kept)
            status = q->options.weights_only ? wick_quantizer_make_weights(q, &q->layers[i])
                     : q->options.block      ? make_blocks(q, &q->layers[i])
                                             : make_layer(q, &q->layers[i], scale, (int8_t *)(scale + 2 * channels),
                                                          (int32_t *)(scale + channels));
    wick_scope_close(&scope);
    wick_release(&ctx->alloc, scale, size);
    q->finished = status == WICK_OK;
    if (status != WICK_OK) wick_model_free(&q->model);
    return status;
}
