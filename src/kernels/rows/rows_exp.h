/* rows_exp.h: the exponential of weights, e^(x - max): for x <= 0 (and a little above), and 0 instead of a denormal:
 * masks of -Inf are common, and denormal products are slow on many CPUs. Tier files only. */
#ifndef WICK_KERNELS_ROWS_EXP_H
#define WICK_KERNELS_ROWS_EXP_H

#include "kernels/elementwise/powers.h"

#if WICK_TIER_ID >= 2
#include <immintrin.h>
#endif

/* e^x = 2^n 2^r, n = round(x log2 e), |r| <= 1/2, as 2^(x log2 e): a third fewer operations than by ln 2. The product
 * is taken less its whole part before it is rounded, where multiply-adds are fused, and log2 e has a second part.
 * x < 88: where the result is not 0, 2^n is a normal number, and one product scales by it. NaN passes through. */
static inline __attribute__((always_inline)) float wick_weight_exp_f32(float x) {
    const float log2e = (float)WICK_LOG2E, rest = (float)(WICK_LOG2E - (double)(float)WICK_LOG2E);
    const float high = WICK_FMAF(x, log2e, WICK_ROUNDER_F32),
                r = WICK_FMAF(x, rest, WICK_FMAF(x, log2e, WICK_ROUNDER_F32 - high));
    float p;
    WICK_POLY(WICK_FMAF, r, wick_exp2_c_f32, p);
    const float e = WICK_FMAF(r, p, 1.0f);
    return x < -87.0f ? 0.0f : e * wick_from_bits_f32((wick_bits_f32(high) << 23) + 0x3f800000u);
}
/* x < 708 */
static inline __attribute__((always_inline)) double wick_weight_exp_f64(double x) {
    uint64_t n;
    const double e = 1.0 + wick_exp_reduce_f64(x, 0.0, &n);
    return x < -708.0 ? 0.0 : e * wick_from_bits_f64((n + 1023) << 52);
}

/* The same bits of n <= 4 vectors, n a constant. All go through each step together: a step waits for the one before it,
 * and a CPU looks only some dozens of instructions ahead for others. */
#if WICK_TIER_ID >= 2
#if WICK_TIER_ID == 3
#define WICK_WEIGHT_MM(op) _mm512_##op
typedef __m512 wick_weight_vec;
static inline __attribute__((always_inline)) __m512 wick_weight_scale(__m512 e, __m512 high, __m512 x) {
    const __m512i n = _mm512_slli_epi32(_mm512_castps_si512(high), 23);
    const __m512 power = _mm512_castsi512_ps(_mm512_add_epi32(n, _mm512_set1_epi32(0x3f800000)));
    return _mm512_maskz_mul_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(-87), _CMP_NLT_UQ), e, power);
}
#else
#define WICK_WEIGHT_MM(op) _mm256_##op
typedef __m256 wick_weight_vec;
static inline __attribute__((always_inline)) __m256 wick_weight_scale(__m256 e, __m256 high, __m256 x) {
    const __m256i n = _mm256_slli_epi32(_mm256_castps_si256(high), 23);
    const __m256 power = _mm256_castsi256_ps(_mm256_add_epi32(n, _mm256_set1_epi32(0x3f800000)));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(-87), _CMP_LT_OQ), _mm256_mul_ps(e, power));
}
#endif
#define WICK_WEIGHT_EACH _Pragma("GCC unroll 4") for (int k = 0; k < n; k++)
static inline __attribute__((always_inline)) void wick_weight_exp_vectors(wick_weight_vec *x, const int n) {
    const wick_weight_vec log2e = WICK_WEIGHT_MM(set1_ps)((float)WICK_LOG2E),
                          rest = WICK_WEIGHT_MM(set1_ps)((float)(WICK_LOG2E - (double)(float)WICK_LOG2E)),
                          rounder = WICK_WEIGHT_MM(set1_ps)(WICK_ROUNDER_F32), one = WICK_WEIGHT_MM(set1_ps)(1);
    wick_weight_vec high[4], r[4], p[4];
    WICK_WEIGHT_EACH high[k] = WICK_WEIGHT_MM(fmadd_ps)(x[k], log2e, rounder);
    WICK_WEIGHT_EACH r[k] = WICK_WEIGHT_MM(sub_ps)(rounder, high[k]);
    WICK_WEIGHT_EACH r[k] = WICK_WEIGHT_MM(fmadd_ps)(x[k], log2e, r[k]);
    WICK_WEIGHT_EACH r[k] = WICK_WEIGHT_MM(fmadd_ps)(x[k], rest, r[k]);
    WICK_WEIGHT_EACH p[k] = WICK_WEIGHT_MM(set1_ps)(wick_exp2_c_f32[5]);
    _Pragma("GCC unroll 5") for (int c = 4; c >= 0; c--)
        WICK_WEIGHT_EACH p[k] = WICK_WEIGHT_MM(fmadd_ps)(p[k], r[k], WICK_WEIGHT_MM(set1_ps)(wick_exp2_c_f32[c]));
    WICK_WEIGHT_EACH p[k] = WICK_WEIGHT_MM(fmadd_ps)(r[k], p[k], one);
    WICK_WEIGHT_EACH x[k] = wick_weight_scale(p[k], high[k], x[k]);
}
#undef WICK_WEIGHT_EACH
#undef WICK_WEIGHT_MM
#endif

#endif
