/* factor.h: factorizations of f32 and f64 matrices, one contiguous row-major matrix a call, as kernels.h has the other
 * kernels. Each returns the bytes of memory it needs; with memory NULL it does no more than that (other pointers have
 * no say then). */
#ifndef WICK_KERNELS_FACTOR_H
#define WICK_KERNELS_FACTOR_H

#include "kernels/types.h"

typedef struct wick_triangle {
    /* which triangle is read; ones on the diagonal, which is not read; the transpose of it */
    bool upper, unit, transposed;
} wick_triangle;
/* The lower triangle of A + shift I = L L'. *info: 0, or minus the order of the first leading minor
 * that is not positive; L is then NaN. */
size_t wick_cholesky_matrix(wick_ctype type, int64_t n, double shift, const void *a, void *l, int64_t *info,
                            void *memory);
/* A + shift I = P L U in one matrix, L with ones; row k was exchanged with row pivot[k], step by step; *sign (of the
 * type) is the permutation's. *info: 0, or minus the number, from 1, of the first pivot that is 0. */
size_t wick_lu_matrix(wick_ctype type, int64_t n, double shift, const void *a, void *lu, int64_t *pivot, void *sign,
                      int64_t *info, void *memory);
/* The same of one matrix that several threads share, block by block: after the panel of each, which is one task, the
 * strips beside it. With memory NULL they return what a worker needs. shared: wick_factor_shared bytes. both_sides: of
 * LU, whose rows are exchanged before the panel too. */
int64_t wick_factor_blocks(int64_t n);
int64_t wick_factor_strips(int64_t n, int64_t block, bool both_sides);
size_t wick_factor_shared(wick_ctype type, int64_t n);
size_t wick_cholesky_panel(wick_ctype type, int64_t n, double shift, int64_t block, const void *a, void *l,
                           int64_t *info, void *shared, void *memory);
size_t wick_cholesky_update(wick_ctype type, int64_t n, int64_t block, int64_t begin, int64_t end, void *l,
                            const int64_t *info, const void *shared, void *memory);
size_t wick_lu_panel(wick_ctype type, int64_t n, double shift, int64_t block, const void *a, void *lu, int64_t *pivot,
                     void *sign, int64_t *info, void *shared, void *memory);
size_t wick_lu_update(wick_ctype type, int64_t n, int64_t block, int64_t begin, int64_t end, void *lu,
                      const int64_t *pivot, const void *shared, void *memory);
/* B [n, m] becomes X of T X = B; of A X = B or A' X = B. */
size_t wick_triangular_matrix(wick_ctype type, int64_t n, int64_t m, const wick_triangle *how, const void *a, void *b,
                              void *memory);
size_t wick_lu_solve_matrix(wick_ctype type, int64_t n, int64_t m, bool transposed, const void *lu,
                            const int64_t *pivot, void *b, void *memory);
/* A + shift I [m, n] = Q R: Q [m, columns], R [columns, n]; columns is min(m, n) or m. */
size_t wick_qr_matrix(wick_ctype type, int64_t m, int64_t n, int64_t columns, double shift, const void *a, void *q,
                      void *r, void *memory);
/* A symmetric, its lower triangle is read: values [n] rise, vectors [n, n] in columns. */
size_t wick_eigh_matrix(wick_ctype type, int64_t n, const void *a, void *values, void *vectors, void *memory);
/* A [m, n], m >= n: U [m, m], s [n] falling, V' [n, n]; A = U[:, :n] diag(s) V'. */
size_t wick_svd_matrix(wick_ctype type, int64_t m, int64_t n, const void *a, void *u, void *s, void *vt, void *memory);

#endif
