/* panels.h: products of f32 whose B is packed in fewer bits: a panel of it becomes f32, a block of k at a time, in a
 * cache, and tiles of the tier go over that. The bits are those of wick_gemm of all of B in f32. */
#ifndef WICK_KERNELS_GEMM_PANELS_H
#define WICK_KERNELS_GEMM_PANELS_H

#include "kernels/gemm/gemm.h"

/* dst[i][j] = B at p0 + i of k, column c0 + j, for i < k and j < cols, anything finite from there to whole vectors;
 * rows of dst lie dst_row apart. p0 is a multiple of 8. */
typedef void wick_gemm_panel_fn(const void *of, int64_t c0, int64_t cols, int64_t p0, int64_t k, float *dst,
                                int64_t dst_row);

typedef struct wick_gemm_panels {
    int64_t m, n, k;
    /* filled by wick_gemm_panels_prepare */
    int64_t rows, cols, kc; /* of a task; a block of k */
    int64_t tasks;
    size_t scratch;
    const wick_gemm_kernel *tiles;
} wick_gemm_panels;

/* The block of k that f32 weights would be summed by. */
int64_t wick_gemm_panels_block(int64_t k);
/* want: tasks that the work is worth. m and n are 1 at least. */
void wick_gemm_panels_prepare(wick_gemm_panels *p, int64_t want);
/* Tasks [begin, end). bias: f32 by columns, or NULL. */
void wick_gemm_panels_run(const wick_gemm_panels *p, int64_t begin, int64_t end, const float *a, const float *bias,
                          float *c, wick_gemm_panel_fn *make, const void *of, float *panel);

#endif
