/* linear8.h: the seam between the control flow of products with weights of 8 bits (linear8.c) and the kernels of a tier
 * (linear8_tier.c). Lanes are columns: a panel's 16 bytes at one k are loaded, become f32 in registers, and meet one
 * number of A, so that no sum has to go across lanes and all tiers sum in the same order. */
#ifndef WICK_KERNELS_LINEAR8_LINEAR8_H
#define WICK_KERNELS_LINEAR8_LINEAR8_H

#include "kernels/linear8/linear8_api.h"

typedef struct wick_linear8_data {
    const void *a, *bias; /* bias NULL: none */
    const float *scales;
    const int8_t *q, *zeros; /* zeros NULL: 0 */
    void *c;
} wick_linear8_data;

/* C [rows][columns c0 to c1], c0 the first of a panel, c1 too or n. */
typedef void wick_linear8_few_fn(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t c1);

typedef struct wick_linear8_kernel {
    const char *names[2];            /* few, panel */
    wick_linear8_few_fn *const *few; /* [rows - 1]; the reference: one of all rows */
    void (*panel)(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t cols, int64_t p0, int64_t k,
                  float *dst, int64_t dst_row); /* as wick_gemm_panel_fn; NULL: the reference */
} wick_linear8_kernel;

extern const wick_linear8_kernel wick_linear8_kernel_ref, wick_linear8_kernel_base, wick_linear8_kernel_avx2,
    wick_linear8_kernel_avx512;

/* The bytes of column c, and how far apart they are along k. */
static inline const int8_t *wick_linear8_column(const wick_linear8 *p, const int8_t *q, int64_t c, int64_t *step) {
    const int64_t first = c / WICK_LINEAR8_PANEL * WICK_LINEAR8_PANEL;
    *step = WICK_MIN(WICK_LINEAR8_PANEL, p->n - first);
    return q + first * p->k + (c - first);
}

#endif
