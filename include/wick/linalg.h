/* wick/linalg.h: linear algebra: sums of products by notation, products by their usual names, factorizations and what
 * is solved with them. Leading dims are a batch throughout; they broadcast where two matrices meet. f16 and bf16 are
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

/* ---- sums of products -------------------------------------------------------------------------------------------- */
/* NumPy's einsum: a term of letters for each operand, "->" and the result's. A label in several places runs over all of
 * them together, one that the result lacks is summed; a label twice in a term is a diagonal. "..." stands for the
 * remaining axes, which broadcast; where the result lacks it, they are summed. Without "->" the result has the ellipsis
 * and then, in alphabetical order, what appears once. Extents of 1 broadcast. Spaces mean nothing. Up to 32 operands,
 * of any dtypes but bool: they are promoted; the result has the promoted dtype, integers wrap. The pairs are contracted
 * in the order with the fewest multiplications whose intermediates have at most 2^26 elements, or as many as the
 * largest operand or result (exact up to 8 operands, greedy beyond); if there is none, in that with the smallest
 * intermediates. Errors name the character of the text. */
WICK_API wick_tensor *wick_einsum(const char *text, int n, wick_tensor *const *xs);
/* The same under another bound for intermediates, in elements. */
WICK_API wick_tensor *wick_einsum_within(const char *text, int n, wick_tensor *const *xs, int64_t max_elements);

/* ---- products; wick_matmul and wick_linear are in wick/ops.h ----------------------------------------------------- */
/* beta c + alpha (a b); c broadcasts. beta 0: c only gives its shape and dtype a say. */
WICK_API wick_tensor *wick_addmm(wick_tensor *c, wick_tensor *a, wick_tensor *b, double beta, double alpha);
WICK_API wick_tensor *wick_outer(wick_tensor *a, wick_tensor *b); /* [n], [m] -> [n, m]; other shapes are flattened */
WICK_API wick_tensor *wick_dot(wick_tensor *a, wick_tensor *b);   /* [n], [n] -> 0-d */
WICK_API wick_tensor *wick_vdot(wick_tensor *a, wick_tensor *b);  /* the dot product of both, flattened */
/* Sums over axes_a[i] of a with axes_b[i] of b, for i < n; the result has the other axes of a, then those of b. NULL
 * lists: the last n axes of a with the first n of b. */
WICK_API wick_tensor *wick_tensordot(wick_tensor *a, wick_tensor *b, int n, const int *axes_a, const int *axes_b);
/* Every element of a times all of b, block by block: extents multiply; missing leading dims are 1. */
WICK_API wick_tensor *wick_kron(wick_tensor *a, wick_tensor *b);
WICK_API wick_tensor *wick_matrix_power(wick_tensor *a, int64_t n); /* [..., m, m], n >= 0: by repeated squaring */
WICK_API wick_tensor *wick_trace(wick_tensor *a);                   /* [..., m, n] -> [...] */

/* ---- factorizations: of the last two dims, for every index of those before. Gradients, of any order, are
 * PyTorch's ---- */
typedef struct wick_triangular_options {
    bool upper;      /* the upper triangle of a is read, otherwise the lower one */
    bool transposed; /* a' in place of a */
    bool unit;       /* ones on the diagonal, which is not read */
    bool right;      /* x a = b, otherwise a x = b */
} wick_triangular_options;
/* x of a x = b: a [..., n, n], b [..., n, m] (right: [..., m, n]); leading dims broadcast. A zero on the diagonal gives
 * Inf or NaN. options NULL: lower. */
WICK_API wick_tensor *wick_solve_triangular(wick_tensor *a, wick_tensor *b, const wick_triangular_options *options);
/* l with l l' = a, lower triangular (upper: u = l' with u' u = a). Of a, symmetric, the lower triangle is read; the
 * gradient is symmetric. A matrix that is not positive definite is a run-time error (WICK_ERR_INVALID) that names
 * which. */
WICK_API wick_tensor *wick_cholesky(wick_tensor *a, bool upper);
/* x of a x = b, by a's factor from wick_cholesky. */
WICK_API wick_tensor *wick_cholesky_solve(wick_tensor *b, wick_tensor *factor, bool upper);
/* x of a x = b, by LU with partial pivoting: a [..., n, n], b [..., n, m] or [..., n] (if it is 1-d or has the dims of
 * a but the last). A singular matrix (a pivot of exactly 0) is a run-time error (WICK_ERR_INVALID) that names which. */
WICK_API wick_tensor *wick_solve(wick_tensor *a, wick_tensor *b);
WICK_API wick_tensor *wick_inverse(wick_tensor *a); /* singular: as wick_solve */
WICK_API wick_tensor *wick_det(wick_tensor *a);     /* [...]; the gradient exists where a is regular */
/* det a = sign exp(log_abs); of a singular matrix 0 and -Inf. */
WICK_API void wick_slogdet(wick_tensor *a, wick_tensor **sign, wick_tensor **log_abs);
/* a [..., m, n] = q r: q [..., m, k] with orthonormal columns, r [..., k, n] upper triangular; k = min(m, n), or m if
 * complete, which has no gradient for m > n. Signs are LAPACK's. */
WICK_API void wick_qr(wick_tensor *a, bool complete, wick_tensor **q, wick_tensor **r);
/* a v = v diag(values) of a symmetric a [..., n, n], whose lower triangle is read: values [..., n] rise, vectors are
 * columns, whose signs are arbitrary. By Householder's reflections and QL steps; NaN or Inf in a matrix gives NaN.
 * Where eigenvalues are equal, their share of the vectors' gradient is taken as 0. */
WICK_API void wick_eigh(wick_tensor *a, wick_tensor **values, wick_tensor **vectors);
/* a v = v diag(values) of any square a: values [..., n, 2] and vectors [..., n, n, 2] are complex (wick/signal.h),
 * vectors are columns of norm 1 whose phase is arbitrary. By LAPACK, if this machine has it (WICK_ERR_UNSUPPORTED),
 * outside of plans: a is evaluated now (gradients pass on through it all the same), and compiled functions cannot use
 * it. Gradients, of any order, are PyTorch's; where eigenvalues are equal, their share is taken as 0, and without n
 * vectors (a Jordan block) there is none: an error when it runs, or large numbers. A loss that depends on phases has no
 * gradient; what comes is that of the part which doesn't. */
WICK_API void wick_eig(wick_tensor *a, wick_tensor **values, wick_tensor **vectors);
/* a [..., m, n] = u diag(s) vt, s [..., k] falling, k = min(m, n): u [..., m, k], vt [..., k, n], or if full [..., m,
 * m] and [..., n, n], whose further columns (rows) get no gradient. Singular values are good to a few units in the last
 * place of the largest, as LAPACK's. Otherwise as wick_eigh. */
WICK_API void wick_svd(wick_tensor *a, bool full, wick_tensor **u, wick_tensor **s, wick_tensor **vt);
/* The pseudo-inverse, and the rank: singular values up to tolerance times the largest count as 0; tolerance 0: max(m,
 * n) times the rounding unit. */
WICK_API wick_tensor *wick_pinv(wick_tensor *a, double tolerance);
WICK_API wick_tensor *wick_matrix_rank(wick_tensor *a, double tolerance); /* [...], i64 */
/* x with the least |a x - b|, and of several the shortest, for a [..., m, n] of full rank, b [..., m, k]: by QR. */
WICK_API wick_tensor *wick_lstsq(wick_tensor *a, wick_tensor *b);

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
#define wick_solve_triangular(...) WICK_TENSOR_HERE(wick_solve_triangular(__VA_ARGS__))
#define wick_cholesky(...) WICK_TENSOR_HERE(wick_cholesky(__VA_ARGS__))
#define wick_cholesky_solve(...) WICK_TENSOR_HERE(wick_cholesky_solve(__VA_ARGS__))
#define wick_solve(...) WICK_TENSOR_HERE(wick_solve(__VA_ARGS__))
#define wick_inverse(...) WICK_TENSOR_HERE(wick_inverse(__VA_ARGS__))
#define wick_det(...) WICK_TENSOR_HERE(wick_det(__VA_ARGS__))
#define wick_slogdet(...) WICK_VOID_HERE(wick_slogdet(__VA_ARGS__))
#define wick_qr(...) WICK_VOID_HERE(wick_qr(__VA_ARGS__))
#define wick_eigh(...) WICK_VOID_HERE(wick_eigh(__VA_ARGS__))
#define wick_eig(...) WICK_VOID_HERE(wick_eig(__VA_ARGS__))
#define wick_svd(...) WICK_VOID_HERE(wick_svd(__VA_ARGS__))
#define wick_pinv(...) WICK_TENSOR_HERE(wick_pinv(__VA_ARGS__))
#define wick_matrix_rank(...) WICK_TENSOR_HERE(wick_matrix_rank(__VA_ARGS__))
#define wick_lstsq(...) WICK_TENSOR_HERE(wick_lstsq(__VA_ARGS__))
/* clang-format on */
#endif
#endif
