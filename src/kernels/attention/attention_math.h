/* attention_math.h: the exponential of weights in attention. */
#ifndef WICK_KERNELS_ATTENTION_MATH_H
#define WICK_KERNELS_ATTENTION_MATH_H

#include "kernels/elementwise/powers.h"

/* wick_weight_exp_f32 by way of 2^(x log2 e): a third fewer operations. The product is taken less its whole part before it is rounded, where multiply-adds
 * are fused, and log2 e has a second part. */
WICK_MATH float wick_attention_exp_f32(float x) {
    const float log2e = (float)WICK_LOG2E, rest = (float)(WICK_LOG2E - (double)(float)WICK_LOG2E);
    const float high = WICK_FMAF(x, log2e, WICK_ROUNDER_F32), r = WICK_FMAF(x, rest, WICK_FMAF(x, log2e, WICK_ROUNDER_F32 - high));
    float p;
    WICK_POLY(WICK_FMAF, r, wick_exp2_c_f32, p);
    const float e = WICK_FMAF(r, p, 1.0f);
    return x < -87.0f ? 0.0f : e * wick_from_bits_f32((wick_bits_f32(high) << 23) + 0x3f800000u);
}

#endif
