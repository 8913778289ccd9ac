/* int4.h: the seam between the control flow of products with weights of 4 bits (int4.c) and the kernels of a tier
 * (int4_tier.c).
 *
 *   few    up to WICK_INT4_FEW rows of A: a row of weights is read once, where it lies, in words of 8 (32 bits); lanes
 *          are neighbouring words
 *   panel  more rows: weights become the panels that the tiles of gemm/ read, a block of k at a time, in a cache
 *
 * A row of A lies as the lanes take it: [chunk][8][lanes], the number p of k at chunk p / (8 lanes), place p % 8, lane
 * p / 8 % lanes, zeros beyond k. */
#ifndef WICK_KERNELS_INT4_INT4_H
#define WICK_KERNELS_INT4_INT4_H

#include "kernels/int4/int4_api.h"

enum { WICK_INT4_FEW = 4 };

/* C[rows][columns c0 to c1), rows of A in lanes behind one another. */
typedef void wick_int4_few_fn(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1, const float *lanes);

typedef struct wick_int4_kernel {
    const char *names[2]; /* few, panel */
    int lanes;            /* words at once */
    wick_int4_few_fn *const *few; /* [rows - 1] */
    /* dst[i][j] = the weight of column c0 + j at p0 + i of k, for i < k and j < cols, zeros from there to whole
     * vectors; p0 a multiple of 8; rows of dst lie dst_row apart. */
    void (*panel)(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t cols, int64_t p0, int64_t k,
                  float *dst, int64_t dst_row);
    /* The reference only: columns [c0, c1) of all rows. */
    void (*columns)(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1);
} wick_int4_kernel;

extern const wick_int4_kernel wick_int4_kernel_ref, wick_int4_kernel_base, wick_int4_kernel_avx2,
    wick_int4_kernel_avx512;

/* What a row of weights takes, and where one of its numbers lies. */
static inline int64_t wick_int4_blocks(const wick_int4 *p) { return (p->k + p->block - 1) / p->block; }
static inline int wick_int4_at(const uint8_t *from, int64_t i) { return from[i / 2] >> (i % 2 * 4) & 15; }

#endif
