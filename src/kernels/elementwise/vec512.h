/* vec512.h: the rows of the elementwise table that most time goes to, sixteen f32 at once in AVX-512. The bits are
 * those of the functions in math.h and the other headers, by instructions that compilers do not find in those: the
 * smaller of two with C's rule for NaN, scaling by a power of two in one step, all special cases of a logarithm in one.
 * Only gelu goes another way than the other tiers: its table is in registers. Included by ew_tier.c. */
#ifndef WICK_KERNELS_VEC512_H
#define WICK_KERNELS_VEC512_H

#include <immintrin.h>

#include "kernels/elementwise/rows.h"

#define V16_INLINE static inline __attribute__((always_inline)) __m512
#define V16(x)     _mm512_set1_ps(x)

/* x, at most (at least) limit; NaN stays. */
V16_INLINE v16_most(__m512 x, float limit) { return _mm512_min_ps(V16(limit), x); }
V16_INLINE v16_least(__m512 x, float limit) { return _mm512_max_ps(V16(limit), x); }

/* wick_exp_reduce_f32: n as a float. */
V16_INLINE v16_exp_reduce(__m512 x, __m512 *t, __m512 *n) {
    *t = _mm512_fmadd_ps(x, V16((float)WICK_LOG2E), V16(WICK_ROUNDER_F32));
    *n = _mm512_sub_ps(*t, V16(WICK_ROUNDER_F32));
    const __m512 r = _mm512_fmadd_ps(*n, V16(-WICK_LN2_LO_F32), _mm512_fmadd_ps(*n, V16(-WICK_LN2_HI_F32), x));
    __m512 p = V16(wick_exp_c_f32[5]);
    for (int i = 4; i >= 0; i--) p = _mm512_fmadd_ps(p, r, V16(wick_exp_c_f32[i]));
    return _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r);
}
V16_INLINE v16_exp_within(__m512 x) {
    __m512 t, n, e = v16_exp_reduce(x, &t, &n);
    return _mm512_scalef_ps(_mm512_add_ps(V16(1), e), n);
}
V16_INLINE v16_exp(__m512 x) { return v16_exp_within(v16_least(v16_most(x, 89), -104)); }
V16_INLINE v16_expm1_within(__m512 x, __m512 y) { /* y: x held to [-18, 89] */
    __m512 t, n, e = v16_exp_reduce(y, &t, &n);
    const __m512i shifted = _mm512_add_epi32(_mm512_castps_si512(t), _mm512_set1_epi32((int)(126u - 0x4b400000u)));
    const __m512 s = _mm512_castsi512_ps(_mm512_slli_epi32(shifted, 23));
    const __m512 half = _mm512_fmadd_ps(s, e, _mm512_sub_ps(s, V16(0.5f)));
    return _mm512_mask_mul_ps(x, _mm512_cmp_ps_mask(_mm512_abs_ps(x), V16(0x1p-60f), _CMP_NLT_UQ), half, V16(2));
}
V16_INLINE v16_expm1(__m512 x) { return v16_expm1_within(x, v16_least(v16_most(x, 89), -18)); }

V16_INLINE v16_sigmoid(__m512 x) {
    const __m512 e = v16_exp_within(v16_least(_mm512_or_ps(x, V16(-0.0f)), -104));
    return _mm512_div_ps(_mm512_mask_mov_ps(V16(1), _mm512_cmp_ps_mask(x, V16(0), _CMP_LT_OQ), e),
                         _mm512_add_ps(V16(1), e));
}
V16_INLINE v16_silu(__m512 x) { return _mm512_mul_ps(x, v16_sigmoid(x)); }
V16_INLINE v16_gelu_tanh(__m512 x) {
    const __m512 u =
        _mm512_mul_ps(x, _mm512_fmadd_ps(_mm512_mul_ps(x, x), V16(0.071354816272600280f), V16(1.5957691216057308f)));
    return _mm512_mul_ps(x, v16_sigmoid(u));
}
V16_INLINE v16_tanh(__m512 x) {
    const __m512 half = v16_most(_mm512_abs_ps(x), 10), twice = _mm512_add_ps(half, half),
                 e = v16_expm1_within(twice, twice);
    const __m512 q = _mm512_div_ps(e, _mm512_add_ps(e, V16(2)));
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(V16(-0.0f)), _mm512_castps_si512(x),
                                                         _mm512_castps_si512(q), 0xca));
}
V16_INLINE v16_log(__m512 x) {
    const __mmask16 tiny = _mm512_cmp_ps_mask(x, V16(0x1p-126f), _CMP_LT_OQ);
    const __m512i u = _mm512_castps_si512(_mm512_mask_mul_ps(x, tiny, x, V16(0x1p25f))),
                  d = _mm512_sub_epi32(u, _mm512_set1_epi32(0x3f3504f3));
    const __m512 whole = _mm512_cvtepi32_ps(_mm512_srai_epi32(d, 23)),
                 k = _mm512_mask_sub_ps(whole, tiny, whole, V16(25));
    const __m512 m = _mm512_castsi512_ps(_mm512_sub_epi32(u, _mm512_and_si512(d, _mm512_set1_epi32((int)0xff800000u))));
    const __m512 f = _mm512_sub_ps(m, V16(1)), z = _mm512_mul_ps(f, f);
    __m512 p = V16(wick_log_c_f32[8]);
    for (int i = 7; i >= 0; i--) p = _mm512_fmadd_ps(p, f, V16(wick_log_c_f32[i]));
    const __m512 y =
        _mm512_fmadd_ps(z, V16(-0.5f), _mm512_fmadd_ps(_mm512_mul_ps(f, z), p, _mm512_mul_ps(k, V16(WICK_LN2_LO_F32))));
    const __m512 r = _mm512_fmadd_ps(k, V16(WICK_LN2_HI_F32), _mm512_add_ps(f, y));
    /* by class of x, four bits each: NaN itself, -Inf of a zero, NaN of what is negative, +Inf itself */
    return _mm512_fixupimm_ps(r, x, _mm512_set1_epi32(0x03530411), 0);
}

/* a Phi(a): Phi(|a|) - 1/2 by a polynomial around the nearest of 16 places 3/8 apart; from the last one on it is 1/2.
 */
static const float wick_gelu_steps[6][16] = {
    /* 2^-27.9 */
    {0x0p+0f, 0x1.2b5b0ep-3f, 0x1.17efp-2f, 0x1.7a9412p-2f, 0x1.bb96e4p-2f, 0x1.e0dfc6p-2f, 0x1.f37b6ep-2f,
     0x1.fb9046p-2f, 0x1.fe9e22p-2f, 0x1.ff9f4p-2f, 0x1.ffe8d2p-2f, 0x1.fffb24p-2f, 0x1.ffff1cp-2f, 0x1.ffffdcp-2f,
     0x1.fffffap-2f, 0x1p-1f},
    {0x1.988452p-2f, 0x1.7cc794p-2f, 0x1.345d6p-2f, 0x1.b1ec62p-3f, 0x1.094086p-3f, 0x1.19bfa4p-4f, 0x1.0402dep-5f,
     0x1.a0f228p-7f, 0x1.227212p-8f, 0x1.5f90f8p-10f, 0x1.71b94p-12f, 0x1.51cfd6p-14f, 0x1.0c29fcp-16f, 0x1.71e664p-19f,
     0x1.bb4c8cp-22f, 0x1.cd9226p-25f},
    {0x1.3e361ep-22f, -0x1.1d93c8p-4f, -0x1.ce89dap-4f, -0x1.e828fcp-4f, -0x1.8de14p-4f, -0x1.0824acp-4f,
     -0x1.2484aep-5f, -0x1.119fccp-6f, -0x1.b3a9dcp-8f, -0x1.289ddp-9f, -0x1.5a914p-11f, -0x1.5c46e8p-13f,
     -0x1.2d8d6ap-15f, -0x1.c28292p-18f, -0x1.22a016p-20f, -0x1.4415e6p-23f},
    {-0x1.105f4ap-4f, -0x1.b44d52p-5f, -0x1.67c45cp-6f, 0x1.335288p-7f, 0x1.ba12cap-6f, 0x1.d883f2p-6f, 0x1.601ad8p-6f,
     0x1.995b36p-7f, 0x1.8344dap-8f, 0x1.306a2ap-9f, 0x1.926fa8p-11f, 0x1.c2cap-13f, 0x1.ae0eep-15f, 0x1.5eb57p-17f,
     0x1.ea4528p-20f, 0x1.265326p-22f},
    {0x1.0b5004p-14f, 0x1.0dee68p-6f, 0x1.753422p-6f, 0x1.1917bcp-6f, 0x1.901f8cp-8f, -0x1.619548p-9f, -0x1.8ec86ep-8f,
     -0x1.61d104p-8f, -0x1.b46bbcp-9f, -0x1.a17e78p-10f, -0x1.4332d2p-11f, -0x1.9dc288p-13f, -0x1.bb8f4ep-15f,
     -0x1.9172fp-17f, -0x1.347b46p-19f, -0x1.9427dcp-22f},
    {0x1.3f3d54p-7f, 0x1.b6df44p-8f, -0x1.022c86p-13f, -0x1.565d1ep-8f, -0x1.7e0e1ep-8f, -0x1.aea66p-9f,
     -0x1.f79d12p-12f, 0x1.f3994p-11f, 0x1.20e312p-10f, 0x1.79a306p-11f, 0x1.68c94cp-12f, 0x1.0f319p-13f,
     0x1.4b7f1ep-15f, 0x1.4f7812p-17f, 0x1.1c377cp-19f, 0x1.96383ap-22f},
};
V16_INLINE v16_gelu(__m512 x) {
    const __m512 a = v16_most(_mm512_abs_ps(x), 5.625f), t = _mm512_fmadd_ps(a, V16(8.0f / 3), V16(WICK_ROUNDER_F32));
    const __m512 r = _mm512_fnmadd_ps(_mm512_sub_ps(t, V16(WICK_ROUNDER_F32)), V16(0.375f), a);
    const __m512i i = _mm512_castps_si512(t); /* only four bits of it count */
#define STEP(k) _mm512_permutexvar_ps(i, _mm512_loadu_ps(wick_gelu_steps[k]))
    __m512 p = _mm512_fmadd_ps(STEP(5), r, STEP(4));
    p = _mm512_fmadd_ps(p, r, STEP(3));
    p = _mm512_fmadd_ps(p, r, STEP(2));
    p = _mm512_fmadd_ps(p, r, STEP(1));
    p = _mm512_fmadd_ps(p, r, STEP(0));
#undef STEP
    const __m512i sided = _mm512_ternarylogic_epi32(_mm512_castps_si512(V16(-0.0f)), _mm512_castps_si512(x),
                                                    _mm512_castps_si512(p), 0xca);
    return _mm512_mul_ps(x, _mm512_add_ps(V16(0.5f), _mm512_castsi512_ps(sided)));
}

/* A row of one input. */
#define EW_BY_VECTOR(name, t, ...)                                                                                     \
    static void wick_ew_##name##_##t(void *dst, const void *pa, const void *pb, const void *pc, size_t n) {            \
        const float *a = pa;                                                                                           \
        float *d = dst;                                                                                                \
        size_t i = 0;                                                                                                  \
        (void)pb, (void)pc;                                                                                            \
        for (; i + 16 <= n; i += 16) _mm512_storeu_ps(d + i, v16_##name(_mm512_loadu_ps(a + i)));                      \
        const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);                                                       \
        if (rest) _mm512_mask_storeu_ps(d + i, rest, v16_##name(_mm512_maskz_loadu_ps(rest, a + i)));                  \
    }
#define EW_WAY_exp_f32       ~, EW_BY_VECTOR
#define EW_WAY_expm1_f32     ~, EW_BY_VECTOR
#define EW_WAY_sigmoid_f32   ~, EW_BY_VECTOR
#define EW_WAY_silu_f32      ~, EW_BY_VECTOR
#define EW_WAY_gelu_tanh_f32 ~, EW_BY_VECTOR
#define EW_WAY_tanh_f32      ~, EW_BY_VECTOR
#define EW_WAY_log_f32       ~, EW_BY_VECTOR
#define EW_WAY_gelu_f32      ~, EW_BY_VECTOR

#endif
