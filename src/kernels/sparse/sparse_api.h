/* sparse_api.h: products whose B is mostly zeros and stays the same: stage 0 packs what is not zero, and stage 1 goes
 * over that alone. A way of wick_gemm (kernels/gemm/gemm_api.h), like tiles or one pass over B: each element of C is
 * the chain of multiply-adds over k, in the same blocks, with the zeros left out. A zero adds nothing to a sum, so the
 * bits are those of the dense product, but for the sign of a zero that underflow made; where A holds Inf or NaN, which
 * zeros turn into NaN, the chain is gone through as a whole. Form and costs: sparse.h, sparse_tuning.h. */
#ifndef WICK_KERNELS_SPARSE_API_H
#define WICK_KERNELS_SPARSE_API_H

#include "kernels/tuning.h"
#include "kernels/types.h"

struct wick_gemm;

/* A part of wick_gemm. All zeros: B is dense. */
typedef struct wick_sparse {
    /* what wick_sparse_choose found: numbers of B that are not zero, and what packed B has room for. Contents that
     * would take more are multiplied from B as it lies: slower, with the same bits */
    int64_t nonzeros, room;
    int64_t block; /* of k, that sums go by; 0: wick_gemm's own */
    /* filled by wick_gemm_prepare */
    int64_t few; /* 1: up to a few rows of C; as wide as the others, since steps are compared as bytes */
    const struct wick_sparse_kernel *kernel; /* NULL: the product is dense */
} wick_sparse;

/* The block of k in which a convolution sums the channels of one tap (docs/numerics.md). */
enum { WICK_SPARSE_CONV_BLOCK = 512 };

/* Before wick_gemm_prepare, of f32 whose B stays the same: looks at B, in at most one pass, and sets nonzeros and room
 * where going over what is not zero is predicted to be faster in the current tier. block: as above. Returns why not, or
 * NULL. */
const char *wick_sparse_choose(struct wick_gemm *g, const void *b, int64_t block);

/* How many numbers of B are not zero, from 0 to 1; -1: k or n is 0. */
double wick_sparse_density(const struct wick_gemm *g, const void *b);

/* wick_gemm's functions, of a product with g->sparse.room: it has f32, no accumulation, a bias by columns or none. */
bool wick_sparse_prepare(struct wick_gemm *g, const wick_tuning *tuning); /* false: dense */
void wick_sparse_pack(const struct wick_gemm *g, const void *b, void *packed);
void wick_sparse_run(const struct wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b,
                     const void *bias, void *c, const void *packed, void *scratch);
bool wick_sparse_task_block(const struct wick_gemm *g, int64_t task, int64_t rows[2], int64_t cols[2]);
const char *wick_sparse_name(const struct wick_gemm *g);

#endif
