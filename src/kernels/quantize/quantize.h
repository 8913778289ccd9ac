/* quantize.h: what each tier offers to quantize.c; the meaning is that of quantize_api.h. */
#ifndef WICK_KERNELS_QUANTIZE_H
#define WICK_KERNELS_QUANTIZE_H

#include "kernels/quantize/quantize_api.h"

typedef struct wick_quantize_table {
    /* Widens range[2], low and high, to x; NaN is passed over. */
    void (*range)(int64_t n, const float *x, float range[2]);
    /* point: the zero point, or NaN */
    void (*bytes)(int64_t n, const float *x, float scale, float point, uint8_t *q);
} wick_quantize_table;

extern const wick_quantize_table wick_quantize_table_ref, wick_quantize_table_base, wick_quantize_table_avx2,
    wick_quantize_table_avx512;

#endif
