/* attention_math.h: the exponential of weights in attention, and the numbers of its dropout. */
#ifndef WICK_KERNELS_ATTENTION_MATH_H
#define WICK_KERNELS_ATTENTION_MATH_H

#include "base/philox.h"
#include "kernels/elementwise/powers.h"

/* wick_weight_exp_f32 by way of 2^(x log2 e): a third fewer operations. The product is taken less its whole part before
 * it is rounded, where multiply-adds are fused, and log2 e has a second part. */
WICK_MATH float wick_attention_exp_f32(float x) {
    const float log2e = (float)WICK_LOG2E, rest = (float)(WICK_LOG2E - (double)(float)WICK_LOG2E);
    const float high = WICK_FMAF(x, log2e, WICK_ROUNDER_F32),
                r = WICK_FMAF(x, rest, WICK_FMAF(x, log2e, WICK_ROUNDER_F32 - high));
    float p;
    WICK_POLY(WICK_FMAF, r, wick_exp2_c_f32, p);
    const float e = WICK_FMAF(r, p, 1.0f);
    return x < -87.0f ? 0.0f : e * wick_from_bits_f32((wick_bits_f32(high) << 23) + 0x3f800000u);
}

/* Places at to at + 3, a multiple of four, of dropout's stream: uniform numbers of 24 bits, as wick_attention_draw
 * makes them. */
WICK_MATH void wick_attention_uniforms(int64_t seed, int64_t at, float four[4]) {
    const uint64_t block = (uint64_t)at / 4;
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)((uint64_t)seed >> 32)},
                   counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    uint32_t w[4];
    wick_philox_words(counter, key, w);
    for (int k = 0; k < 4; k++) four[k] = (float)(int32_t)(w[k] >> 8) * 0x1p-24f;
}

#endif
