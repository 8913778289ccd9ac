/* linear8_api.h: products of f32 and weights of 8 bits. */
#ifndef WICK_KERNELS_LINEAR8_API_H
#define WICK_KERNELS_LINEAR8_API_H

#include "kernels/gemm/panels.h"
#include "kernels/tuning.h"
#include "kernels/types.h"

/* C = A W^T + bias in f32, of weights of 8 bits in blocks along k, each with a scale and a zero point:
 *
 *   W[n][p] = (q[n][p] - zero[n][p / block]) scale[n][p / block]
 *
 * q i8 or u8 of any strides [n][blocks][block], what lies beyond k whatever it is; scales [n][blocks]; zeros likewise,
 * of q's dtype, or NULL: 0 of i8, 128 of u8. A [m][k] and C [m][n] are row-major. Stage 0 packs W, a byte each; stage 1
 * is the product. Order of sums, in every tier: of up to 4 rows q - zero, which is exact, is summed as a chain of
 * multiply-adds from 0 in the order of k, over a block or 512 of it, and that sum times the scale is added to the sum
 * of those before by another. Of more rows the order is that of wick_gemm over W in f32, and so are the bits. With f64,
 * A, C and bias are such, and W is rounded to f32 nevertheless: plain loops. */
enum { WICK_LINEAR8_FEW = 4, WICK_LINEAR8_SPAN = 512 };

typedef struct wick_linear8 {
    int64_t m, n, k, block;
    int64_t q_row, q_block, q_col; /* strides of q */
    bool is_unsigned, has_zeros, f64;

    /* filled by wick_linear8_prepare */
    int64_t tasks_pack, tasks;
    size_t packed, scratch; /* bytes */
    int64_t cols;           /* of a task of few rows */
    const struct wick_linear8_kernel *kernel;
    wick_gemm_panels panels; /* of more rows */
} wick_linear8;
/* Uses the current tier. tuning: kernels/tuning.h. */
void wick_linear8_prepare(wick_linear8 *p, const wick_tuning *tuning);
void wick_linear8_pack(const wick_linear8 *p, int64_t begin, int64_t end, const void *q, const float *scales,
                       const void *zeros, void *packed);
/* bias [n], or NULL. */
void wick_linear8_run(const wick_linear8 *p, int64_t begin, int64_t end, const void *a, const void *packed,
                      const void *bias, void *c, void *scratch);
const char *wick_linear8_name(const wick_linear8 *p);
int wick_linear8_rejected(const wick_linear8 *p, wick_rejected *out);

/* Where what is packed lies: bytes of W as panels of 16 columns, [k][16] each, the last as wide as it is; 16 bytes that
 * may be read; scales [blocks][columns, to whole panels] from a multiple of 64 on; zeros as i8 likewise. Numbers of u8
 * are held less 128. */
enum { WICK_LINEAR8_PANEL = 16 };
static inline int64_t wick_linear8_blocks(const wick_linear8 *p) { return p->k ? (p->k + p->block - 1) / p->block : 0; }
static inline size_t wick_linear8_scales_at(const wick_linear8 *p) {
    return WICK_ALIGN_UP((size_t)(p->n * p->k) + WICK_LINEAR8_PANEL, WICK_ALIGN);
}
static inline int64_t wick_linear8_padded(const wick_linear8 *p) {
    return (int64_t)WICK_ALIGN_UP((size_t)p->n, WICK_LINEAR8_PANEL);
}

#endif
