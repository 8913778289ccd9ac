/* pointwise.c: elementwise functions with numbers, as expressions of rows. */
#include <math.h>

#include "ops/ops.h"
#include "wick/ops.h"
#include "wick/pointwise.h"

/* A number beside x would be cut to x's integers. */
static wick_tensor *as_float(wick_tensor *x) {
    return !x || x->error || wick_dtype_is_float(wick_tensor_dtype(x)) ? x : wick_as(x, WICK_F32);
}
static bool is_whole(double v) { return v == INFINITY || v == -INFINITY || v == floor(v); }
/* x, as a tensor of its own */
static wick_tensor *same(wick_tensor *x) { return wick_cast(x, x ? wick_tensor_dtype(x) : WICK_F32); }
static wick_tensor *scaled(wick_tensor *x, double factor) {
    return factor == 1 ? x : wick_mul(x, wick_like(x, factor));
}

wick_tensor *wick_clip(wick_tensor *x, double lo, double hi) {
    if (x && !x->error) {
        if (lo != lo || hi != hi) return wick_poison(x->ctx, WICK_ERR_INVALID, "clip: a bound is NaN");
        if (!is_whole(lo) || !is_whole(hi)) x = as_float(x);
        wick_dtype d = wick_tensor_dtype(x);
        int64_t least, most;
        if (wick_narrow_range(d, &least, &most)) { /* bounds that the dtype cannot hold: the nearest it can */
            lo = fmin(fmax(lo, (double)least), (double)most);
            hi = fmin(fmax(hi, (double)least), (double)most);
        }
    }
    if (lo == -INFINITY && hi == INFINITY) return same(x);
    if (lo == -INFINITY) return wick_minimum(x, wick_like(x, hi));
    if (hi == INFINITY) return wick_maximum(x, wick_like(x, lo));
    return wick_clamp(x, wick_like(x, lo), wick_like(x, hi));
}
wick_tensor *wick_threshold(wick_tensor *x, double threshold, double value) {
    if (!is_whole(threshold) || !is_whole(value)) x = as_float(x);
    return wick_where(wick_le(x, wick_like(x, threshold)), wick_like(x, value), x);
}

wick_tensor *wick_leaky_relu(wick_tensor *x, double slope) {
    x = as_float(x);
    return wick_prelu(x, wick_like(x, slope));
}
wick_tensor *wick_elu(wick_tensor *x, double alpha) {
    x = as_float(x);
    return wick_scaled_elu(x, wick_like(x, alpha), wick_like(x, 1));
}
wick_tensor *wick_celu(wick_tensor *x, double alpha) {
    x = as_float(x);
    if (alpha == 0 && x && !x->error) return wick_poison(x->ctx, WICK_ERR_INVALID, "celu: alpha is 0");
    return wick_scaled_elu(x, wick_like(x, alpha), wick_like(x, 1 / alpha));
}
wick_tensor *wick_softplus_beta(wick_tensor *x, double beta) {
    x = as_float(x);
    if (beta == 0 && x && !x->error) return wick_poison(x->ctx, WICK_ERR_INVALID, "softplus_beta: beta is 0");
    return scaled(wick_softplus(scaled(x, beta)), 1 / beta);
}
wick_tensor *wick_softshrink(wick_tensor *x, double lambda) {
    x = as_float(x);
    if (!(lambda >= 0) && x && !x->error)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "softshrink: lambda is %g, below 0", lambda);
    return wick_soft_threshold(x, wick_like(x, lambda));
}
wick_tensor *wick_hardshrink(wick_tensor *x, double lambda) {
    x = as_float(x);
    return wick_hard_threshold(x, wick_like(x, lambda));
}
wick_tensor *wick_tanhshrink(wick_tensor *x) {
    x = as_float(x);
    return wick_sub(x, wick_tanh(x));
}
wick_tensor *wick_glu(wick_tensor *x, int axis) {
    x = as_float(x);
    if (!x || x->error) return wick_sigmoid(x);
    int a = wick_axis(axis, wick_tensor_rank(x));
    if (a < 0)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "glu: axis %d of a tensor of rank %d", axis, wick_tensor_rank(x));
    int64_t n = wick_tensor_dim(x, a);
    if (n % 2)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "glu: axis %d has %lld elements, no two halves", a, (long long)n);
    return wick_mul(wick_slice(x, a, 0, n / 2, 1), wick_sigmoid(wick_slice(x, a, n / 2, n, 1)));
}

wick_tensor *wick_logit(wick_tensor *x, double eps) {
    x = as_float(x);
    if (eps >= 0) x = wick_clip(x, eps, 1 - eps);
    return wick_sub(wick_log(x), wick_log1p(wick_neg(x)));
}
wick_tensor *wick_nan_to_num(wick_tensor *x, double nan, double positive, double negative) {
    if (x && !x->error && !wick_dtype_is_float(wick_tensor_dtype(x))) return same(x);
    return wick_replace_nan(wick_replace_inf(x, wick_like(x, positive), wick_like(x, negative)), wick_like(x, nan));
}
wick_tensor *wick_addcmul(wick_tensor *x, wick_tensor *a, wick_tensor *b, double value) {
    if (!is_whole(value)) a = as_float(a);
    return wick_add(x, wick_mul(scaled(a, value), b));
}
wick_tensor *wick_addcdiv(wick_tensor *x, wick_tensor *a, wick_tensor *b, double value) {
    return wick_add(x, wick_div(scaled(as_float(a), value), b));
}
wick_tensor *wick_isclose(wick_tensor *a, wick_tensor *b, double rtol, double atol) {
    a = as_float(a), b = as_float(b);
    wick_tensor *bound = wick_abs(b);
    bound = wick_add(wick_mul(bound, wick_like(bound, rtol)), wick_like(bound, atol));
    wick_tensor *near = wick_logical_and(wick_le(wick_abs(wick_sub(a, b)), bound), wick_isfinite(b));
    return wick_logical_or(near, wick_eq(a, b));
}

wick_tensor *wick_sinc(wick_tensor *x) {
    x = as_float(x);
    wick_tensor *zero = wick_eq(x, wick_like(x, 0)),
                *angle = wick_mul(wick_where(zero, wick_like(x, 1), x), wick_like(x, 3.14159265358979323846));
    return wick_where(zero, wick_like(x, 1), wick_div(wick_sin(angle), angle));
}
wick_tensor *wick_heaviside(wick_tensor *x, double value) {
    if (!is_whole(value)) x = as_float(x);
    wick_tensor *step = wick_where(wick_gt(x, wick_like(x, 0)), wick_like(x, 1),
                                   wick_where(wick_lt(x, wick_like(x, 0)), wick_like(x, 0), wick_like(x, value)));
    return wick_stop_gradient(wick_where(wick_ne(x, x), x, step));
}
wick_tensor *wick_softmin(wick_tensor *x, int axis) { return wick_softmax(wick_neg(x), axis); }
