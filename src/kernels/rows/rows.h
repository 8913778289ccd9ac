/* rows.h: what each tier of the row kernels offers to the dispatch in rows.c; the meaning is that of rows_api.h. */
#ifndef WICK_KERNELS_ROWS_H
#define WICK_KERNELS_ROWS_H

#include "kernels/rows/rows_api.h"

typedef void wick_softmax_rows_fn(bool log, bool nontemporal, int64_t begin, int64_t end, int64_t cols, const void *x,
                                  void *y);
typedef void wick_layer_norm_rows_fn(bool nontemporal, int64_t begin, int64_t end, int64_t cols, double eps,
                                     const void *x, const void *weight, const void *bias, void *y, void *mean,
                                     void *rstd);
typedef int64_t wick_nll_rows_fn(int64_t begin, int64_t end, int64_t cols, const void *x, const int64_t *label,
                                 void *loss, void *probs);
typedef void wick_arg_reduce_fn(bool largest, int64_t n, int64_t inner, int64_t begin, int64_t end, const void *src,
                                int64_t *dst);

/* By wick_ctype: WICK_CF32 is 0, WICK_CF64 is 1. */
typedef struct wick_rows_table {
    wick_softmax_rows_fn *softmax[2];
    wick_layer_norm_rows_fn *layer_norm[2];
    wick_nll_rows_fn *nll[2];
} wick_rows_table;

typedef struct wick_arg_table {
    wick_arg_reduce_fn *reduce[WICK_CTYPE_COUNT];
} wick_arg_table;

extern const wick_rows_table wick_rows_table_ref, wick_rows_table_base, wick_rows_table_avx2, wick_rows_table_avx512;
extern const wick_arg_table wick_arg_table_ref, wick_arg_table_base, wick_arg_table_avx2, wick_arg_table_avx512;

#endif
