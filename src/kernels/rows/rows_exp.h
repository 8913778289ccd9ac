/* rows_exp.h: the exponential of weights, e^(x - max): for x <= 0 (and a little above), and 0 instead of a denormal:
 * masks of -Inf are common, and denormal products are slow on many CPUs. Tier files only. */
#ifndef WICK_KERNELS_ROWS_EXP_H
#define WICK_KERNELS_ROWS_EXP_H

#include "kernels/elementwise/math.h"

#if WICK_TIER_ID >= 2
#include <immintrin.h>
#endif

/* x < 88 (708): where the result is not 0, 2^n is a normal number, and one product scales by it. NaN passes through. */
static inline __attribute__((always_inline)) float wick_weight_exp_f32(float x) {
    uint32_t high;
    const float e = 1.0f + wick_exp_reduce_high_f32(x, &high);
    return x < -87.0f ? 0.0f : e * wick_from_bits_f32((high << 23) + 0x3f800000u);
}
static inline __attribute__((always_inline)) double wick_weight_exp_f64(double x) {
    uint64_t n;
    const double e = 1.0 + wick_exp_reduce_f64(x, 0.0, &n);
    return x < -708.0 ? 0.0 : e * wick_from_bits_f64((n + 1023) << 52);
}

/* The same bits, a vector at a time: compilers keep more of a loop in registers so. */
#if WICK_TIER_ID == 3
static inline __attribute__((always_inline)) __m512 wick_weight_exp_f32x16(__m512 x) {
    const __m512 rounder = _mm512_set1_ps(WICK_ROUNDER_F32),
                 t = _mm512_fmadd_ps(x, _mm512_set1_ps((float)WICK_LOG2E), rounder), k = _mm512_sub_ps(t, rounder);
    const __m512 r =
        _mm512_fmadd_ps(k, _mm512_set1_ps(-WICK_LN2_LO_F32), _mm512_fmadd_ps(k, _mm512_set1_ps(-WICK_LN2_HI_F32), x));
    __m512 p = _mm512_set1_ps(wick_exp_c_f32[5]);
    for (int i = 4; i >= 0; i--) p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(wick_exp_c_f32[i]));
    const __m512 e = _mm512_add_ps(_mm512_set1_ps(1), _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r));
    const __m512i power =
        _mm512_add_epi32(_mm512_slli_epi32(_mm512_castps_si512(t), 23), _mm512_set1_epi32(0x3f800000));
    return _mm512_maskz_mul_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(-87), _CMP_NLT_UQ), e, _mm512_castsi512_ps(power));
}
#elif WICK_TIER_ID == 2
static inline __attribute__((always_inline)) __m256 wick_weight_exp_f32x8(__m256 x) {
    const __m256 rounder = _mm256_set1_ps(WICK_ROUNDER_F32),
                 t = _mm256_fmadd_ps(x, _mm256_set1_ps((float)WICK_LOG2E), rounder), k = _mm256_sub_ps(t, rounder);
    const __m256 r =
        _mm256_fmadd_ps(k, _mm256_set1_ps(-WICK_LN2_LO_F32), _mm256_fmadd_ps(k, _mm256_set1_ps(-WICK_LN2_HI_F32), x));
    __m256 p = _mm256_set1_ps(wick_exp_c_f32[5]);
    for (int i = 4; i >= 0; i--) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(wick_exp_c_f32[i]));
    const __m256 e = _mm256_add_ps(_mm256_set1_ps(1), _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, r));
    const __m256i power =
        _mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(t), 23), _mm256_set1_epi32(0x3f800000));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(-87), _CMP_LT_OQ),
                            _mm256_mul_ps(e, _mm256_castsi256_ps(power)));
}
#endif

#endif
