/* dense.h: the loops that factorizations are made of, by tier; the factorizations themselves are in dense.c.
 * Multiplications and additions are not fused: these loops have the same bits in every tier. */
#ifndef WICK_KERNELS_DENSE_DENSE_H
#define WICK_KERNELS_DENSE_DENSE_H

#include "kernels/factor.h"

typedef struct wick_dense_loops {
    /* c[i][j] -= a[i] b[j] for i < rows, j < cols; a_row, c_row: distances. */
    void (*rank_one)(int64_t rows, int64_t cols, const void *a, int64_t a_row, const void *b, void *c, int64_t c_row);
    /* w[j] += sum over i < rows of a[i] c[i][j], in order. */
    void (*combine)(int64_t rows, int64_t cols, const void *a, int64_t a_row, const void *c, int64_t c_row, void *w);
    /* (x, y) = (c x - s y, s x + c y) */
    void (*rotate)(int64_t n, double c, double s, void *x, void *y);
    /* Sums of x x, y y and x y, in eight lanes. */
    void (*dots)(int64_t n, const void *x, const void *y, double sums[3]);
} wick_dense_loops;

typedef struct wick_dense_table {
    wick_dense_loops type[2]; /* f32, f64 */
} wick_dense_table;

extern const wick_dense_table wick_dense_table_ref, wick_dense_table_base, wick_dense_table_avx2,
    wick_dense_table_avx512;

#endif
