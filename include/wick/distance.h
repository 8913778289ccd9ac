/* wick/distance.h: how far apart and how alike vectors are. PyTorch's functions of these names. Floats; f16 and bf16
 * are computed in f32 and rounded once; two arguments are promoted and broadcast. */
#ifndef WICK_DISTANCE_H
#define WICK_DISTANCE_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* a b / (max(|a|, eps) max(|b|, eps)) along the axis, which the result lacks. (PyTorch: axis 1, eps 1e-8) */
WICK_API wick_tensor *wick_cosine_similarity(wick_tensor *a, wick_tensor *b, int axis, double eps);
/* |a - b + eps| of order p along the last axis, as wick_norm. (PyTorch: p 2, eps 1e-6) */
WICK_API wick_tensor *wick_pairwise_distance(wick_tensor *a, wick_tensor *b, double p, double eps, bool keepdims);
/* The distance of order p of each row of a [..., n, d] from each of b [..., m, d]: [..., n, m]. The gradient is 0 where
 * it is 0. Needs n m d numbers of memory for the differences. */
WICK_API wick_tensor *wick_cdist(wick_tensor *a, wick_tensor *b, double p);
/* a x b of vectors of 3 numbers along the axis. Integers too. */
WICK_API wick_tensor *wick_cross(wick_tensor *a, wick_tensor *b, int axis);
/* Covariances of the rows of x [variables, observations] -> [variables, variables], or the variance of x [observations]
 * -> 0-d; over observations - correction. */
WICK_API wick_tensor *wick_cov(wick_tensor *x, double correction);
WICK_API wick_tensor *wick_corrcoef(wick_tensor *x); /* Pearson's, held to [-1, 1] */
/* x[1:] - x[:-1] along the axis, n times. Integers too, and bools, where it says what changed. */
WICK_API wick_tensor *wick_diff(wick_tensor *x, int64_t n, int axis);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_cosine_similarity(...) WICK_TENSOR_HERE(wick_cosine_similarity(__VA_ARGS__))
#define wick_pairwise_distance(...) WICK_TENSOR_HERE(wick_pairwise_distance(__VA_ARGS__))
#define wick_cdist(...) WICK_TENSOR_HERE(wick_cdist(__VA_ARGS__))
#define wick_cross(...) WICK_TENSOR_HERE(wick_cross(__VA_ARGS__))
#define wick_cov(...) WICK_TENSOR_HERE(wick_cov(__VA_ARGS__))
#define wick_corrcoef(...) WICK_TENSOR_HERE(wick_corrcoef(__VA_ARGS__))
#define wick_diff(...) WICK_TENSOR_HERE(wick_diff(__VA_ARGS__))
/* clang-format on */
#endif
#endif
