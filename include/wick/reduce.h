/* wick/reduce.h: more reductions over axes than the sums and extremes of wick/ops.h, and running ones along an axis.
 * "n, axes" as there: WICK_AXES(0, 2), or WICK_ALL_AXES. */
#ifndef WICK_REDUCE_H
#define WICK_REDUCE_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- over axes --------------------------------------------------------------------------------------------------- */
/* log(sum(exp(x))), without overflow; -Inf of nothing. Float types. */
WICK_API wick_tensor *wick_logsumexp(wick_tensor *x, int n, const int *axes, bool keepdims);
/* The root of wick_var; its gradient is 0 where the deviation is. */
WICK_API wick_tensor *wick_std(wick_tensor *x, int n, const int *axes, double correction, bool keepdims);
/* sum(|x|^p)^(1/p) of floats; p = 2 is the Frobenius norm, INFINITY the largest |x|, -INFINITY the smallest, 0 how many
 * are not 0. The gradient is 0 where the norm is. */
WICK_API wick_tensor *wick_norm(wick_tensor *x, double p, int n, const int *axes, bool keepdims);
/* bool; of nothing false and true. Numbers other than 0, also NaN, are true. */
WICK_API wick_tensor *wick_any(wick_tensor *x, int n, const int *axes, bool keepdims);
WICK_API wick_tensor *wick_all(wick_tensor *x, int n, const int *axes, bool keepdims);
WICK_API wick_tensor *wick_count_nonzero(wick_tensor *x, int n, const int *axes, bool keepdims); /* i64 */
/* Without the NaN among x; the mean of nothing is NaN. */
WICK_API wick_tensor *wick_nansum(wick_tensor *x, int n, const int *axes, bool keepdims);
WICK_API wick_tensor *wick_nanmean(wick_tensor *x, int n, const int *axes, bool keepdims);
/* The extreme along one axis and (index may be NULL) where it is: i64, the first of equals, which alone has the
 * gradient; NaN counts as the largest (smallest). PyTorch's max and min with dim. */
WICK_API wick_tensor *wick_max_with_index(wick_tensor *x, int axis, bool keepdims, wick_tensor **index);
WICK_API wick_tensor *wick_min_with_index(wick_tensor *x, int axis, bool keepdims, wick_tensor **index);

/* ---- running, along an axis: the result has x's shape ------------------------------------------------------------ */
/* Of what stands up to each place; bool and integers add up in 64 bits. f32 and narrower accumulate in f64. Over rows
 * longer than 16,384 an order that their length fixes. */
WICK_API wick_tensor *wick_cumsum(wick_tensor *x, int axis);
WICK_API wick_tensor *wick_cumprod(wick_tensor *x, int axis);
/* exclusive: of what stands before each place; reverse: from the end. ONNX CumSum. */
WICK_API wick_tensor *wick_cumsum_with(wick_tensor *x, int axis, bool exclusive, bool reverse);
/* The logarithm of the running sum of exponentials. Float types. */
WICK_API wick_tensor *wick_logcumsumexp(wick_tensor *x, int axis);
/* The extreme so far and (index may be NULL) where it was seen: i64, the last of equals. NaN stays. */
WICK_API wick_tensor *wick_cummax(wick_tensor *x, int axis, wick_tensor **index);
WICK_API wick_tensor *wick_cummin(wick_tensor *x, int axis, wick_tensor **index);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_logsumexp(...) WICK_TENSOR_HERE(wick_logsumexp(__VA_ARGS__))
#define wick_std(...) WICK_TENSOR_HERE(wick_std(__VA_ARGS__))
#define wick_norm(...) WICK_TENSOR_HERE(wick_norm(__VA_ARGS__))
#define wick_any(...) WICK_TENSOR_HERE(wick_any(__VA_ARGS__))
#define wick_all(...) WICK_TENSOR_HERE(wick_all(__VA_ARGS__))
#define wick_count_nonzero(...) WICK_TENSOR_HERE(wick_count_nonzero(__VA_ARGS__))
#define wick_nansum(...) WICK_TENSOR_HERE(wick_nansum(__VA_ARGS__))
#define wick_nanmean(...) WICK_TENSOR_HERE(wick_nanmean(__VA_ARGS__))
#define wick_max_with_index(...) WICK_TENSOR_HERE(wick_max_with_index(__VA_ARGS__))
#define wick_min_with_index(...) WICK_TENSOR_HERE(wick_min_with_index(__VA_ARGS__))
#define wick_cumsum(...) WICK_TENSOR_HERE(wick_cumsum(__VA_ARGS__))
#define wick_cumprod(...) WICK_TENSOR_HERE(wick_cumprod(__VA_ARGS__))
#define wick_cumsum_with(...) WICK_TENSOR_HERE(wick_cumsum_with(__VA_ARGS__))
#define wick_logcumsumexp(...) WICK_TENSOR_HERE(wick_logcumsumexp(__VA_ARGS__))
#define wick_cummax(...) WICK_TENSOR_HERE(wick_cummax(__VA_ARGS__))
#define wick_cummin(...) WICK_TENSOR_HERE(wick_cummin(__VA_ARGS__))
/* clang-format on */
#endif
#endif
