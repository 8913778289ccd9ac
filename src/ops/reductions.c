/* reductions.c: reductions that are expressions of sums and extremes. */
#include <math.h>

#include "ops/ops.h"
#include "wick/index.h"
#include "wick/ops.h"
#include "wick/reduce.h"

static wick_tensor *not_float(wick_tensor *x, const char *op) {
    return wick_poison(x->ctx, WICK_ERR_DTYPE, "%s(%s): of a dtype that is not float; cast it", op,
                       wick_shown_of(x).text);
}

wick_tensor *wick_logsumexp(wick_tensor *x, int n, const int *axes, bool keepdims) {
    if (wick_is_bad(x)) return x;
    if (!wick_dtype_is_float(wick_tensor_dtype(x))) return not_float(x, "logsumexp");
    if (wick_tensor_count(x) == 0) return wick_log(wick_sum(wick_exp(x), n, axes, keepdims));
    wick_tensor *most = wick_stop_gradient(wick_max(x, n, axes, true));
    if (wick_is_bad(most)) return most;
    most = wick_where(wick_isfinite(most), most, wick_like(most, 0));
    wick_tensor *sum = wick_log(wick_sum(wick_exp(wick_sub(x, most)), n, axes, keepdims));
    if (wick_is_bad(sum)) return sum;
    return wick_add(sum, keepdims ? most : wick_reshape(most, wick_tensor_rank(sum), wick_tensor_dims(sum)));
}

/* The root, with a gradient of 0 where x is 0. */
static wick_tensor *root(wick_tensor *x) {
    if (wick_is_bad(x)) return x;
    wick_tensor *zero = wick_like(x, 0), *is_zero = wick_eq(x, zero);
    return wick_where(is_zero, zero, wick_sqrt(wick_where(is_zero, wick_like(x, 1), x)));
}
static wick_tensor *power(wick_tensor *x, double p) {
    wick_tensor *zero = wick_like(x, 0), *is_zero = wick_eq(x, zero), *one = wick_like(x, 1);
    return wick_where(is_zero, p < 0 ? wick_like(x, INFINITY) : zero,
                      wick_pow(wick_where(is_zero, one, x), wick_like(x, p)));
}

wick_tensor *wick_std(wick_tensor *x, int n, const int *axes, double correction, bool keepdims) {
    return root(wick_var(x, n, axes, correction, keepdims));
}

wick_tensor *wick_norm(wick_tensor *x, double p, int n, const int *axes, bool keepdims) {
    if (wick_is_bad(x)) return x;
    const wick_dtype d = wick_tensor_dtype(x);
    if (!wick_dtype_is_float(d)) return not_float(x, "norm");
    if (p != p) return wick_poison(x->ctx, WICK_ERR_INVALID, "norm(%s): p is NaN", wick_shown_of(x).text);
    /* squares overflow f16 */
    if (d == WICK_F16 || d == WICK_BF16) return wick_as(wick_norm(wick_as(x, WICK_F32), p, n, axes, keepdims), d);
    if (p == 2) return root(wick_sum(wick_square(x), n, axes, keepdims));
    if (p == 0) return wick_cast(wick_count_nonzero(x, n, axes, keepdims), d);
    x = wick_abs(x);
    if (p == 1) return wick_sum(x, n, axes, keepdims);
    if (isinf(p))
        return wick_tensor_count(x) == 0 && p > 0 ? wick_sum(x, n, axes, keepdims)
               : p > 0                            ? wick_max(x, n, axes, keepdims)
                                                  : wick_min(x, n, axes, keepdims);
    wick_tensor *sum = wick_sum(power(x, p), n, axes, keepdims);
    return wick_is_bad(sum) ? sum : power(sum, 1 / p);
}

wick_tensor *wick_count_nonzero(wick_tensor *x, int n, const int *axes, bool keepdims) {
    if (wick_is_bad(x)) return x;
    return wick_sum(wick_as(wick_as(x, WICK_BOOL), WICK_I64), n, axes, keepdims);
}
wick_tensor *wick_any(wick_tensor *x, int n, const int *axes, bool keepdims) {
    wick_tensor *count = wick_count_nonzero(x, n, axes, keepdims);
    return wick_is_bad(count) ? count : wick_gt(count, wick_like(count, 0));
}
wick_tensor *wick_all(wick_tensor *x, int n, const int *axes, bool keepdims) {
    wick_tensor *count =
        wick_is_bad(x) ? x : wick_count_nonzero(wick_logical_not(wick_as(x, WICK_BOOL)), n, axes, keepdims);
    return wick_is_bad(count) ? count : wick_eq(count, wick_like(count, 0));
}

wick_tensor *wick_nansum(wick_tensor *x, int n, const int *axes, bool keepdims) {
    if (wick_is_bad(x) || !wick_dtype_is_float(wick_tensor_dtype(x))) return wick_sum(x, n, axes, keepdims);
    return wick_sum(wick_replace_nan(x, wick_like(x, 0)), n, axes, keepdims);
}
wick_tensor *wick_nanmean(wick_tensor *x, int n, const int *axes, bool keepdims) {
    if (wick_is_bad(x) || !wick_dtype_is_float(wick_tensor_dtype(x))) return wick_mean(x, n, axes, keepdims);
    wick_tensor *count = wick_count_nonzero(wick_eq(x, x), n, axes, keepdims);
    return wick_div(wick_nansum(x, n, axes, keepdims), wick_cast(count, wick_tensor_dtype(x)));
}

static wick_tensor *with_index(wick_tensor *x, wick_tensor *at, int axis, bool keepdims, wick_tensor **index) {
    wick_tensor *y = wick_is_bad(at) ? at : wick_take_along_axis(x, axis, at);
    if (!keepdims && !wick_is_bad(y)) {
        y = wick_squeeze(y, axis);
        if (index) at = wick_squeeze(at, axis);
    }
    if (index) *index = at;
    return y;
}
wick_tensor *wick_max_with_index(wick_tensor *x, int axis, bool keepdims, wick_tensor **index) {
    return with_index(x, wick_argmax(x, axis, true), axis, keepdims, index);
}
wick_tensor *wick_min_with_index(wick_tensor *x, int axis, bool keepdims, wick_tensor **index) {
    return with_index(x, wick_argmin(x, axis, true), axis, keepdims, index);
}
