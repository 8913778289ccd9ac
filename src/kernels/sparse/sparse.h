/* sparse.h: the seam between the control flow of products with sparse weights (sparse.c) and the kernels of a tier
 * (sparse_tier.c). B [k, n] is packed in one of two forms, each cut along k in the blocks that sums go by:
 *
 *   few    a few rows of A, up to WICK_SPARSE_FEW at once. Lanes are columns, `columns` of them side by side, each with
 * its own chain. A step is an offset in k, and for each column the next number of it that is not zero, if it lies
 * within `window` behind the offset: a byte says where, and the factor of A is looked up in registers. The others of
 *          the step have weight 0.
 *   panel  more rows. Lanes are rows of A, laid out as [k][lanes]; each number of B that is not zero is a broadcast
 *          weight times one such line (Elsen et al., Fast Sparse ConvNets, 2020, arXiv:1911.09723).
 *
 * Packed: a head of 64 bytes, whose first int64 is 1 where the contents fit the room; starts of the parts, int32: [part
 * of n][block of k], and the end; then of the form few offsets, u16; bytes [step][columns]; weights f32
 * [step][columns]; of the form panel places in k, u16; weights f32. Each begins at a multiple of 64. */
#ifndef WICK_KERNELS_SPARSE_SPARSE_H
#define WICK_KERNELS_SPARSE_SPARSE_H

#include "kernels/gemm/gemm.h"
#include "kernels/sparse/sparse_api.h"

enum {
    WICK_SPARSE_FEW = 4,      /* rows of A at once */
    WICK_SPARSE_VECTORS = 8,  /* of a panel, at most */
    WICK_SPARSE_OUTPUTS = 64, /* columns of C that a panel makes before they are turned */
    WICK_SPARSE_K = 65000     /* the largest k: places are 16 bits */
};

/* `there` columns of C by the form few: `starts` are those of their part, and the end; bias NULL: none. */
typedef struct wick_sparse_few {
    const float *x; /* rows of k numbers, and `window` readable ones behind, x_row apart */
    int64_t x_row, blocks, there;
    const int32_t *starts;
    const uint16_t *offsets;
    const uint8_t *places;
    const float *weights, *bias;
    bool relu;
    float *c;
    int64_t c_row;
} wick_sparse_few;
typedef void wick_sparse_few_fn(const wick_sparse_few *t);

/* Columns [begin, end) of C by the form panel, to sums [column - begin][lanes of the panel]; bias NULL: none. */
typedef struct wick_sparse_panel {
    const float *x; /* [k][lanes of the panel] */
    int64_t blocks, begin, end;
    const int32_t *starts;
    const uint16_t *places;
    const float *weights, *bias;
    bool relu;
    float *sums;
    /* instead of what is packed: B as it lies, and a block of k */
    const float *b;
    int64_t b_row, b_col, k, block;
} wick_sparse_panel;
typedef void wick_sparse_panel_fn(const wick_sparse_panel *t);

typedef struct wick_sparse_kernel {
    const char *names[2];                      /* panel, few */
    int lanes, vectors;                        /* of a panel: the most */
    int columns, window;                       /* of the form few */
    wick_sparse_few_fn *const *few;            /* [rows - 1] */
    wick_sparse_panel_fn *const *panel;        /* [vectors - 1]: of what is packed */
    wick_sparse_panel_fn *const *whole;        /* [vectors - 1]: of B as it lies */
    bool (*finite)(const float *x, int64_t n); /* n: whole vectors */
} wick_sparse_kernel;

extern const wick_sparse_kernel wick_sparse_kernel_ref, wick_sparse_kernel_base, wick_sparse_kernel_avx2,
    wick_sparse_kernel_avx512;

#endif
