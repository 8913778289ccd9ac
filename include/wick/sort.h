/* wick/sort.h: sorting, order statistics, searching, counting. NaN counts as the largest, as in PyTorch: last when
 * rising, first when falling. Everything is stable: equal elements (0 and -0 are) keep their order, also when falling.
 * Gradients flow to the elements that were taken. Indices are i64. */
#ifndef WICK_SORT_H
#define WICK_SORT_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- order ------------------------------------------------------------------------------------------------------- */
/* The elements along an axis in order, and (index may be NULL) the places they had. */
WICK_API wick_tensor *wick_sort(wick_tensor *x, int axis, bool descending, wick_tensor **index);
WICK_API wick_tensor *wick_argsort(wick_tensor *x, int axis, bool descending);
/* The k largest (smallest) along an axis, in order, and (index may be NULL) the places they had. */
WICK_API wick_tensor *wick_topk(wick_tensor *x, int64_t k, int axis, bool largest, wick_tensor **index);
/* The k-th smallest along an axis, k from 1, and (index may be NULL) its place. */
WICK_API wick_tensor *wick_kthvalue(wick_tensor *x, int64_t k, int axis, bool keepdims, wick_tensor **index);
/* The lower of the two in the middle, as PyTorch's; NaN if any is. nanmedian: of the numbers. */
WICK_API wick_tensor *wick_median(wick_tensor *x, int axis, bool keepdims, wick_tensor **index);
WICK_API wick_tensor *wick_nanmedian(wick_tensor *x, int axis, bool keepdims, wick_tensor **index);
/* What is made of the two elements that q (n - 1) lies between. */
typedef enum wick_quantile_mode {
    WICK_QUANTILE_LINEAR, /* in proportion */
    WICK_QUANTILE_LOWER,
    WICK_QUANTILE_HIGHER,
    WICK_QUANTILE_NEAREST, /* half to even */
    WICK_QUANTILE_MIDPOINT
} wick_quantile_mode;
/* The q-quantile along an axis, q in [0, 1]; NaN if any is. Float types. Several of one x share the sort. */
WICK_API wick_tensor *wick_quantile(wick_tensor *x, double q, int axis, bool keepdims, wick_quantile_mode mode);

/* ---- searching and counting -------------------------------------------------------------------------------------- */
/* Where each value would go into the rising last axis of sorted, before equal ones, or (right) behind them: i64, of the
 * values' shape. sorted [n] for any values, or [..., n] for values [..., m] with the same leading dims. */
WICK_API wick_tensor *wick_searchsorted(wick_tensor *sorted, wick_tensor *values, bool right);
/* How many of the integers x are b, for b in [0, bins): i64 [bins]. With float weights (of x's shape, or NULL) the sum
 * of theirs, in their dtype. Others than [0, bins) are not counted. */
WICK_API wick_tensor *wick_bincount_fixed(wick_tensor *x, wick_tensor *weights, int64_t bins);
/* How many x are in bin b of equal width between low and high: i64 [bins], or with weights their sum. A bin has its
 * lower edge, the last one both; what is outside is not counted. edges (or NULL) gets the [bins + 1] edges, of x's
 * dtype (integers: f64). */
WICK_API wick_tensor *wick_histogram(wick_tensor *x, int64_t bins, double low, double high, wick_tensor *weights,
                                     wick_tensor **edges);
/* The same between rising edges [bins + 1] of x's dtype. */
WICK_API wick_tensor *wick_histogram_edges(wick_tensor *x, wick_tensor *edges, wick_tensor *weights);

/* ---- sizes that depend on values: as in wick/index.h ------------------------------------------------------------- */
/* The distinct elements of x, rising; inverse (or NULL) says which each of x is, in its shape, counts (or NULL) how
 * many of each there are. Each NaN is distinct. */
WICK_API wick_tensor *wick_unique(wick_tensor *x, wick_tensor **inverse, wick_tensor **counts);
/* One of each run of equal neighbours in the flattened x. */
WICK_API wick_tensor *wick_unique_consecutive(wick_tensor *x, wick_tensor **inverse, wick_tensor **counts);
/* wick_unique for compiled functions: as many as x has elements, of which the first *number (i64, 0-d) count; the
 * others are 0. */
WICK_API wick_tensor *wick_unique_padded(wick_tensor *x, wick_tensor **inverse, wick_tensor **counts,
                                         wick_tensor **number);
/* The distinct slices of x along an axis, in the order of their elements: x without those that repeat one; inverse (or
 * NULL) [n] says which each of the n slices is, counts (or NULL) how many of each there are. A slice with NaN is
 * distinct. x must have elements. */
WICK_API wick_tensor *wick_unique_axis(wick_tensor *x, int axis, wick_tensor **inverse, wick_tensor **counts);
/* The same for compiled functions: of x's shape, counts [n], of which the first *number (i64, 0-d) count; the others
 * are 0. */
WICK_API wick_tensor *wick_unique_axis_padded(wick_tensor *x, int axis, wick_tensor **inverse, wick_tensor **counts,
                                              wick_tensor **number);
/* As wick_bincount_fixed, with as many bins as the largest x needs, at least `least`. A negative x is an error. */
WICK_API wick_tensor *wick_bincount(wick_tensor *x, wick_tensor *weights, int64_t least);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_sort(...) WICK_TENSOR_HERE(wick_sort(__VA_ARGS__))
#define wick_argsort(...) WICK_TENSOR_HERE(wick_argsort(__VA_ARGS__))
#define wick_topk(...) WICK_TENSOR_HERE(wick_topk(__VA_ARGS__))
#define wick_kthvalue(...) WICK_TENSOR_HERE(wick_kthvalue(__VA_ARGS__))
#define wick_median(...) WICK_TENSOR_HERE(wick_median(__VA_ARGS__))
#define wick_nanmedian(...) WICK_TENSOR_HERE(wick_nanmedian(__VA_ARGS__))
#define wick_quantile(...) WICK_TENSOR_HERE(wick_quantile(__VA_ARGS__))
#define wick_searchsorted(...) WICK_TENSOR_HERE(wick_searchsorted(__VA_ARGS__))
#define wick_bincount_fixed(...) WICK_TENSOR_HERE(wick_bincount_fixed(__VA_ARGS__))
#define wick_histogram(...) WICK_TENSOR_HERE(wick_histogram(__VA_ARGS__))
#define wick_histogram_edges(...) WICK_TENSOR_HERE(wick_histogram_edges(__VA_ARGS__))
#define wick_unique(...) WICK_TENSOR_HERE(wick_unique(__VA_ARGS__))
#define wick_unique_consecutive(...) WICK_TENSOR_HERE(wick_unique_consecutive(__VA_ARGS__))
#define wick_unique_padded(...) WICK_TENSOR_HERE(wick_unique_padded(__VA_ARGS__))
#define wick_unique_axis(...) WICK_TENSOR_HERE(wick_unique_axis(__VA_ARGS__))
#define wick_unique_axis_padded(...) WICK_TENSOR_HERE(wick_unique_axis_padded(__VA_ARGS__))
#define wick_bincount(...) WICK_TENSOR_HERE(wick_bincount(__VA_ARGS__))
/* clang-format on */
#endif
#endif
