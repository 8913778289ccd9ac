/* ops_reduce.c: reductions over axes. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"

typedef wick_tensor *(*reduction)(wick_tensor *x, int n, const int *axes, bool keep);

/* Axes are an attribute, from opset `as_input` on an input. None: all axes, or with noop_with_empty_axes only f's
 * elementwise part. */
static void reduce(onnx_call *c, int as_input, reduction f) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    int n, axes[WICK_MAX_DIMS];
    if (!x || !wick_onnx_axes(c, c->opset >= as_input ? 1 : -1, "axes", wick_tensor_rank(x), &n, axes)) return;
    const bool keep = wick_onnx_int(c, "keepdims", 1);
    const wick_dtype dtype = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x);
    if (n <= 0 && wick_onnx_int(c, "noop_with_empty_axes", 0)) { /* over an axis of 1 in front */
        wick_onnx_set(c, 0, wick_cast(f(wick_unsqueeze(x, 0), 1, &(int){0}, false), dtype));
        return;
    }
    if (n <= 0)
        for (n = 0; n < rank; n++) axes[n] = n;
    wick_onnx_set(c, 0,
                  rank ? wick_cast(f(x, n, axes, keep), dtype)
                       : wick_cast(f(wick_unsqueeze(x, 0), 1, &(int){0}, false), dtype));
}

/* What a reduction of several steps goes by: halves are rounded once, at its end. */
static wick_tensor *wide(wick_tensor *x) {
    const wick_dtype dtype = wick_tensor_dtype(x);
    return dtype == WICK_F16 || dtype == WICK_BF16 ? wick_cast(x, WICK_F32) : x;
}
static wick_tensor *l1(wick_tensor *x, int n, const int *axes, bool keep) {
    return wick_sum(wick_abs(wide(x)), n, axes, keep);
}
static wick_tensor *l2(wick_tensor *x, int n, const int *axes, bool keep) {
    return wick_sqrt(wick_sum(wick_square(wide(x)), n, axes, keep));
}
static wick_tensor *log_sum(wick_tensor *x, int n, const int *axes, bool keep) {
    return wick_log(wick_sum(wide(x), n, axes, keep));
}
static wick_tensor *sum_square(wick_tensor *x, int n, const int *axes, bool keep) {
    return wick_sum(wick_square(wide(x)), n, axes, keep);
}
static wick_tensor *mean(wick_tensor *x, int n, const int *axes, bool keep) {
    return wick_mean(!wick_onnx_is_float(x) ? wick_cast(x, WICK_F64) : x, n, axes, keep);
}
static wick_tensor *log_sum_exp(wick_tensor *x, int n, const int *axes, bool keep) {
    return wick_logsumexp(!wick_onnx_is_float(x) ? wick_cast(x, WICK_F64) : wide(x), n, axes, keep);
}

/* Of nothing: the lowest (highest) value of the dtype, which Wick leaves undefined. */
static wick_tensor *extreme(wick_tensor *x, int n, const int *axes, bool keep, bool max) {
    bool empty = false;
    for (int i = 0; i < n; i++) empty |= wick_tensor_dim(x, axes[i]) == 0;
    if (wick_tensor_dtype(x) == WICK_BOOL && !empty)
        return max ? wick_any(x, n, axes, keep) : wick_all(x, n, axes, keep);
    if (!empty) return (max ? wick_max : wick_min)(x, n, axes, keep);
    static const double low[WICK_DTYPE_COUNT] = {
        [WICK_I8] = -128, [WICK_I16] = -32768, [WICK_I32] = -2147483648.0, [WICK_I64] = -0x1p63};
    static const double high[WICK_DTYPE_COUNT] = {
        [WICK_I8] = 127,     [WICK_U8] = 255,           [WICK_I16] = 32767,
        [WICK_U16] = 65535,  [WICK_I32] = 2147483647.0, [WICK_U32] = 4294967295.0,
        [WICK_I64] = 0x1p63, [WICK_U64] = 0x1p64,       [WICK_BOOL] = 1};
    const wick_dtype d = wick_tensor_dtype(x);
    const double value = !wick_onnx_is_float(x) ? (max ? low[d] : high[d]) : (max ? -__builtin_inf() : __builtin_inf());
    wick_tensor *shape = wick_sum(x, n, axes, keep);
    return wick_full(wick_tensor_context(x), d, wick_tensor_rank(shape), wick_tensor_dims(shape), value);
}
static wick_tensor *max_of(wick_tensor *x, int n, const int *axes, bool keep) {
    return extreme(x, n, axes, keep, true);
}
static wick_tensor *min_of(wick_tensor *x, int n, const int *axes, bool keep) {
    return extreme(x, n, axes, keep, false);
}

static void reduce_sum(onnx_call *c) { reduce(c, 13, wick_sum); }
static void reduce_mean(onnx_call *c) { reduce(c, 18, mean); }
static void reduce_prod(onnx_call *c) { reduce(c, 18, wick_prod); }
static void reduce_max(onnx_call *c) { reduce(c, 18, max_of); }
static void reduce_min(onnx_call *c) { reduce(c, 18, min_of); }
static void reduce_l1(onnx_call *c) { reduce(c, 18, l1); }
static void reduce_l2(onnx_call *c) { reduce(c, 18, l2); }
static void reduce_log_sum(onnx_call *c) { reduce(c, 18, log_sum); }
static void reduce_log_sum_exp(onnx_call *c) { reduce(c, 18, log_sum_exp); }
static void reduce_sum_square(onnx_call *c) { reduce(c, 18, sum_square); }

static const onnx_op ops[] = {
    {"ReduceSum", 1, 0, reduce_sum, {0}},
    {"ReduceMean", 1, 0, reduce_mean, {0}},
    {"ReduceProd", 1, 0, reduce_prod, {0}},
    {"ReduceMax", 1, 0, reduce_max, {0}},
    {"ReduceMin", 1, 0, reduce_min, {0}},
    {"ReduceL1", 1, 0, reduce_l1, {0}},
    {"ReduceL2", 1, 0, reduce_l2, {0}},
    {"ReduceLogSum", 1, 0, reduce_log_sum, {0}},
    {"ReduceLogSumExp", 1, 0, reduce_log_sum_exp, {0}},
    {"ReduceSumSquare", 1, 0, reduce_sum_square, {0}},
};
const onnx_family wick_onnx_reduce = {"", ops, WICK_COUNTOF(ops)};
