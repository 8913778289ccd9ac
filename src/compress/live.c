/* live.c: the scales and integers of integers.c as expressions of the parameters that are trained. Both make the same
 * bits: each operation here is one rounding there. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/shape.h"

wick_tensor *wick_quantizer_live_scale(wick_context *ctx, const site *s) {
    if (!s->step) return wick_constant(ctx, WICK_F32, s->scale);
    wick_tensor *step = wick_abs(wick_stop_gradient(s->step));
    return wick_maximum(step, wick_like(step, 0x1p-120));
}

/* [channels], by the weights or by the steps that are learned. */
static wick_tensor *weight_scales(const wick_quantizer *q, const layer *l, wick_tensor *w) {
    if (l->step) {
        wick_tensor *step = wick_abs(wick_stop_gradient(l->step));
        return wick_maximum(step, wick_like(step, 0x1p-120));
    }
    int axes[WICK_MAX_DIMS], n = 0;
    for (int d = 0; d < l->type.rank; d++)
        if (d != l->axis) axes[n++] = d;
    wick_tensor *largest = wick_max(wick_abs(w), n, axes, false),
                *scale = wick_div(largest, wick_like(largest, most_weight(l))),
                *most = wick_max(scale, WICK_ALL_AXES, false);
    most = wick_where(wick_gt(most, wick_like(most, 0)), most, wick_like(most, 1));
    most = wick_expand(most, 1, &l->type.dims[l->axis]);
    return q->options.per_tensor ? most : wick_where(wick_gt(scale, wick_like(scale, 0)), scale, most);
}

live_layer wick_quantizer_live_layer(const wick_quantizer *q, const layer *l, wick_tensor *input_scale) {
    wick_tensor *w = wick_stop_gradient(l->trained), *scale = weight_scales(q, l, w), *bias = NULL;
    int64_t dims[WICK_MAX_DIMS];
    if (l->bias) { /* one of more than 2^30 units has wider ones */
        bias = wick_cast(wick_stop_gradient(l->bias_trained), WICK_F64);
        wick_tensor *unit = wick_cast(input_scale, WICK_F64),
                    *least = wick_div(wick_abs(bias), wick_mul(unit, wick_like(unit, 0x1p30)));
        scale = wick_where(wick_lt(wick_cast(scale, WICK_F64), least), wick_cast(least, WICK_F32), scale);
    }
    for (int d = 0; d < l->type.rank; d++) dims[d] = d == l->axis ? l->type.dims[d] : 1;
    const double most = most_weight(l);
    wick_tensor *steps = wick_round(wick_div(w, wick_reshape(scale, l->type.rank, dims)));
    live_layer made = {.q = wick_cast(wick_clip(steps, -most, most), WICK_I8), .scale = scale};
    if (!bias) return made;
    made.bias_scale = wick_mul(input_scale, scale);
    wick_tensor *units = wick_round(wick_div(bias, wick_cast(made.bias_scale, WICK_F64))),
                *some = wick_gt(made.bias_scale, wick_like(made.bias_scale, 0));
    made.bias_q = wick_cast(wick_where(some, units, wick_like(units, 0)), WICK_I32);
    return made;
}
