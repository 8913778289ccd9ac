/* wick/linalg.h: linear algebra: sums of products by notation, products by their usual names, factorizations and what is
 * solved with them. Leading dims are a batch throughout; they broadcast where two matrices meet. f16 and bf16 are
 * computed in f32 and rounded once. */
#ifndef WICK_LINALG_H
#define WICK_LINALG_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "n, tensors": wick_einsum("bij,bjk->bik", WICK_TENSORS(a, b)). C only. */
#define WICK_TENSORS(...) \
    (int)(sizeof((wick_tensor *const[]){__VA_ARGS__}) / sizeof(wick_tensor *)), (wick_tensor *const[]) { __VA_ARGS__ }

/* ---- sums of products ------------------------------------------------------------------------------------------------------ */
/* NumPy's einsum: a term of letters for each operand, "->" and the result's. A label in several places runs over all of them
 * together, one that the result lacks is summed; a label twice in a term is a diagonal. "..." stands for the remaining
 * axes, which broadcast; where the result lacks it, they are summed. Without "->" the result has the ellipsis and then, in
 * alphabetical order, what appears once. Extents of 1 broadcast. Spaces mean nothing. Up to 32 operands, of any dtypes but
 * bool: they are promoted; the result has the promoted dtype, integers wrap.
 * The pairs are contracted in the order with the fewest multiplications whose intermediates have at most 2^26 elements, or as many
 * as the largest operand or result (exact up to 8 operands, greedy beyond); if there is none, in that with the smallest
 * intermediates. Errors name the character of the text. */
WICK_API wick_tensor *wick_einsum(const char *text, int n, wick_tensor *const *xs);
/* The same under another bound for intermediates, in elements. */
WICK_API wick_tensor *wick_einsum_within(const char *text, int n, wick_tensor *const *xs, int64_t max_elements);

/* ---- products; wick_matmul and wick_linear are in wick/ops.h ------------------------------------------------------------------- */
/* beta c + alpha (a b); c broadcasts. beta 0: c only gives its shape and dtype a say. */
WICK_API wick_tensor *wick_addmm(wick_tensor *c, wick_tensor *a, wick_tensor *b, double beta, double alpha);
WICK_API wick_tensor *wick_outer(wick_tensor *a, wick_tensor *b); /* [n], [m] -> [n, m]; other shapes are flattened */
WICK_API wick_tensor *wick_dot(wick_tensor *a, wick_tensor *b);   /* [n], [n] -> 0-d */
WICK_API wick_tensor *wick_vdot(wick_tensor *a, wick_tensor *b);  /* the dot product of both, flattened */
/* Sums over axes_a[i] of a with axes_b[i] of b, for i < n; the result has the other axes of a, then those of b. NULL lists: the last n
 * axes of a with the first n of b. */
WICK_API wick_tensor *wick_tensordot(wick_tensor *a, wick_tensor *b, int n, const int *axes_a, const int *axes_b);
/* Every element of a times all of b, block by block: extents multiply; missing leading dims are 1. */
WICK_API wick_tensor *wick_kron(wick_tensor *a, wick_tensor *b);
WICK_API wick_tensor *wick_matrix_power(wick_tensor *a, int64_t n); /* [..., m, m], n >= 0: by repeated squaring */
WICK_API wick_tensor *wick_trace(wick_tensor *a);                   /* [..., m, n] -> [...] */

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_einsum(...) WICK_TENSOR_HERE(wick_einsum(__VA_ARGS__))
#define wick_einsum_within(...) WICK_TENSOR_HERE(wick_einsum_within(__VA_ARGS__))
#define wick_addmm(...) WICK_TENSOR_HERE(wick_addmm(__VA_ARGS__))
#define wick_outer(...) WICK_TENSOR_HERE(wick_outer(__VA_ARGS__))
#define wick_dot(...) WICK_TENSOR_HERE(wick_dot(__VA_ARGS__))
#define wick_vdot(...) WICK_TENSOR_HERE(wick_vdot(__VA_ARGS__))
#define wick_tensordot(...) WICK_TENSOR_HERE(wick_tensordot(__VA_ARGS__))
#define wick_kron(...) WICK_TENSOR_HERE(wick_kron(__VA_ARGS__))
#define wick_matrix_power(...) WICK_TENSOR_HERE(wick_matrix_power(__VA_ARGS__))
#define wick_trace(...) WICK_TENSOR_HERE(wick_trace(__VA_ARGS__))
/* clang-format on */
#endif
#endif
