/* vec256.h: rows of one exponential of f32, two vectors of eight at once in AVX2. The bits are those of the functions
 * in math.h and hyperbolic.h. Compilers keep fewer constants of those in 16 registers, and take compares and blends
 * where one instruction finds the smaller of two with C's rule for NaN. Included by ew_tier.c. */
#ifndef WICK_KERNELS_VEC256_H
#define WICK_KERNELS_VEC256_H

#include <immintrin.h>

#include "kernels/elementwise/rows.h"

#define V8_INLINE static inline __attribute__((always_inline)) __m256
#define V8(x)     _mm256_set1_ps(x)

/* x, at most (at least) limit; NaN stays. */
V8_INLINE v8_most(__m256 x, float limit) { return _mm256_min_ps(V8(limit), x); }
V8_INLINE v8_least(__m256 x, float limit) { return _mm256_max_ps(V8(limit), x); }

/* wick_exp_reduce_f32: the lowest bits of t are n. */
V8_INLINE v8_exp_reduce(__m256 x, __m256 *t) {
    *t = _mm256_fmadd_ps(x, V8((float)WICK_LOG2E), V8(WICK_ROUNDER_F32));
    const __m256 n = _mm256_sub_ps(*t, V8(WICK_ROUNDER_F32));
    const __m256 r = _mm256_fmadd_ps(n, V8(-WICK_LN2_LO_F32), _mm256_fmadd_ps(n, V8(-WICK_LN2_HI_F32), x));
    __m256 p = V8(wick_exp_c_f32[5]);
    _Pragma("GCC unroll 8") for (int i = 4; i >= 0; i--) p = _mm256_fmadd_ps(p, r, V8(wick_exp_c_f32[i]));
    return _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, r);
}
/* 2^(n + more) */
V8_INLINE v8_power(__m256i n, uint32_t more) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32((int)(more + 127))), 23));
}
V8_INLINE v8_exp(__m256 x) {
    __m256 t, e = v8_exp_reduce(v8_least(v8_most(x, 89), -104), &t);
    const __m256i n = _mm256_sub_epi32(_mm256_castps_si256(t), _mm256_set1_epi32(0x4b400000)),
                  half = _mm256_srai_epi32(n, 1);
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_add_ps(V8(1), e), v8_power(half, 0)),
                         v8_power(_mm256_sub_epi32(n, half), 0));
}
V8_INLINE v8_expm1_within(__m256 x, __m256 y) { /* y: x held to [-18, 89] */
    __m256 t, e = v8_exp_reduce(y, &t);
    const __m256 s = v8_power(_mm256_castps_si256(t), 0u - 1 - 0x4b400000u),
                 half = _mm256_fmadd_ps(s, e, _mm256_sub_ps(s, V8(0.5f)));
    const __m256 tiny = _mm256_cmp_ps(_mm256_andnot_ps(V8(-0.0f), x), V8(0x1p-60f), _CMP_LT_OQ);
    return _mm256_blendv_ps(_mm256_add_ps(half, half), x, tiny);
}
V8_INLINE v8_expm1(__m256 x) { return v8_expm1_within(x, v8_least(v8_most(x, 89), -18)); }

V8_INLINE v8_sigmoid(__m256 x) {
    __m256 t, e = v8_exp_reduce(v8_least(_mm256_or_ps(x, V8(-0.0f)), -104), &t);
    e = _mm256_mul_ps(_mm256_mul_ps(_mm256_add_ps(V8(1), e), v8_power(_mm256_castps_si256(t), 64u - 0x4b400000u)),
                      V8(0x1p-64f));
    /* by x's sign: of -0 e is 1 */
    return _mm256_div_ps(_mm256_blendv_ps(V8(1), e, x), _mm256_add_ps(V8(1), e));
}
V8_INLINE v8_silu(__m256 x) { return _mm256_mul_ps(x, v8_sigmoid(x)); }
V8_INLINE v8_gelu_tanh(__m256 x) {
    const __m256 u =
        _mm256_mul_ps(x, _mm256_fmadd_ps(_mm256_mul_ps(x, x), V8(0.071354816272600280f), V8(1.5957691216057308f)));
    return _mm256_mul_ps(x, v8_sigmoid(u));
}
V8_INLINE v8_tanh(__m256 x) {
    const __m256 half = v8_most(_mm256_andnot_ps(V8(-0.0f), x), 10), twice = _mm256_add_ps(half, half),
                 e = v8_expm1_within(twice, twice), q = _mm256_div_ps(e, _mm256_add_ps(e, V8(2)));
    return _mm256_or_ps(_mm256_andnot_ps(V8(-0.0f), q), _mm256_and_ps(V8(-0.0f), x));
}

/* A row of one input, by lines. */
#define EW_BY_VECTOR(name, t, ...)                                                                                     \
    static void wick_ew_##name##_##t(void *dst, const void *pa, const void *pb, const void *pc, size_t n) {            \
        const float *a = pa;                                                                                           \
        float *d = dst;                                                                                                \
        size_t i = 0;                                                                                                  \
        (void)pb, (void)pc;                                                                                            \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            const __m256 x = v8_##name(_mm256_loadu_ps(a + i)), y = v8_##name(_mm256_loadu_ps(a + i + 8));             \
            _mm256_storeu_ps(d + i, x);                                                                                \
            _mm256_storeu_ps(d + i + 8, y);                                                                            \
        }                                                                                                              \
        if (i < n) ew_rest(wick_ew_##name##_##t, d + i, a + i, NULL, NULL, n - i, sizeof *a, sizeof *d);               \
    }
#define EW_WAY_exp_f32       ~, EW_BY_VECTOR
#define EW_WAY_expm1_f32     ~, EW_BY_VECTOR
#define EW_WAY_sigmoid_f32   ~, EW_BY_VECTOR
#define EW_WAY_silu_f32      ~, EW_BY_VECTOR
#define EW_WAY_gelu_tanh_f32 ~, EW_BY_VECTOR
#define EW_WAY_tanh_f32      ~, EW_BY_VECTOR

#endif
