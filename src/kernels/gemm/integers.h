/* integers.h: what each tier offers of products of integers. */
#ifndef WICK_KERNELS_GEMM_INTEGERS_H
#define WICK_KERNELS_GEMM_INTEGERS_H

#include "kernels/gemm/gemm_api.h"

typedef void wick_matmul_integers_fn(int64_t begin, int64_t end, int64_t n, int64_t k, int64_t a_row, int64_t a_col,
                                     const void *a, const void *b, void *c);
typedef struct wick_integers_table {
    wick_matmul_integers_fn *of32, *of64; /* by bits: signed products wrap to the same */
} wick_integers_table;

extern const wick_integers_table wick_integers_table_ref, wick_integers_table_base, wick_integers_table_avx2,
    wick_integers_table_avx512;

#endif
