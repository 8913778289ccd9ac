/* convert_tier.c: converters of this tier. The half formats go through integer arithmetic (or the CPU's own converters,
 * which ignore the denormal modes), so that no tier and no control word changes a bit. */
#include "kernels/convert/convert.h"
#include "kernels/convert/halves.h"
#include "kernels/elementwise/ew.h"
#include "kernels/elementwise/math.h"

#if defined(__x86_64__) && WICK_TIER_ID > 0
#include <immintrin.h>
#endif
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* the scalar tier vectorises nothing */
#endif

#define CONVERT_LOOP(name, S, D, expression)                                                                           \
    static void name(void *dst, const void *src, size_t n) {                                                           \
        const S *s = src;                                                                                              \
        D *d = dst;                                                                                                    \
        WICK_IVDEP for (size_t i = 0; i < n; i++) {                                                                    \
            const S x = s[i];                                                                                          \
            d[i] = (D)(expression);                                                                                    \
        }                                                                                                              \
    }

/* ---- half precision ---------------------------------------------------------------------------------------------- */

#ifdef WICK_NEON
static void load_f16(void *dst, const void *src, size_t n) {
    const uint16_t *s = src;
    float *d = dst;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const float16x8_t x = (float16x8_t)vld1q_u16(s + i);
        vst1q_f32(d + i, vcvt_f32_f16(vget_low_f16(x)));
        vst1q_f32(d + i + 4, vcvt_high_f32_f16(x));
    }
    for (; i < n; i++) d[i] = wick_f16_to_f32(s[i]);
}
static void store_f16(void *dst, const void *src, size_t n) {
    const float *s = src;
    uint16_t *d = dst;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        vst1q_u16(d + i, (uint16x8_t)vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(s + i)), vld1q_f32(s + i + 4)));
    for (; i < n; i++) d[i] = wick_f16_from_f32(s[i]);
}
#elif !defined(__F16C__)
CONVERT_LOOP(load_f16, uint16_t, float, wick_f16_to_f32(x))
CONVERT_LOOP(store_f16, float, uint16_t, wick_f16_from_f32(x))
#else
static void load_f16(void *dst, const void *src, size_t n) {
    const uint16_t *s = src;
    float *d = dst;
    size_t i = 0;
#ifdef __AVX512F__
    for (; i + 16 <= n; i += 16) _mm512_storeu_ps(d + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(s + i))));
#endif
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + i))));
    for (; i < n; i++) d[i] = wick_f16_to_f32(s[i]);
}
static void store_f16(void *dst, const void *src, size_t n) {
    const float *s = src;
    uint16_t *d = dst;
    size_t i = 0;
#ifdef __AVX512F__
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(d + i), _mm512_cvtps_ph(_mm512_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(d + i), _mm256_cvtps_ph(_mm256_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) d[i] = wick_f16_from_f32(s[i]);
}
#endif

CONVERT_LOOP(load_bf16, uint16_t, uint32_t, (uint32_t)x << 16)
#ifndef __AVX512BW__
CONVERT_LOOP(store_bf16, uint32_t, uint16_t, wick_bf16_of_bits(x))
#else
/* In the upper halves; the lower ones are left over. */
static inline __attribute__((always_inline)) __m512i bf16_rounded(__m512i u) {
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
    const __mmask16 nan = _mm512_cmpgt_epu32_mask(_mm512_add_epi32(u, u), _mm512_set1_epi32((int)0xff000000u));
    return _mm512_mask_or_epi32(rounded, nan, u, _mm512_set1_epi32(0x400000));
}
static void store_bf16(void *dst, const void *src, size_t n) {
    const uint32_t *s = src;
    uint16_t *d = dst;
    size_t i = 0;
    static const uint16_t odd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                     33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i upper = _mm512_loadu_si512(odd); /* the upper halves of two vectors, one after the other */
    for (; i + 32 <= n; i += 32)
        _mm512_storeu_si512(d + i, _mm512_permutex2var_epi16(bf16_rounded(_mm512_loadu_si512(s + i)), upper,
                                                             bf16_rounded(_mm512_loadu_si512(s + i + 16))));
    for (; i < n; i++) d[i] = wick_bf16_of_bits(s[i]);
}
#endif

/* ---- eight bits: m fraction bits, an exponent bias, and what the codes at the top mean --------------------------- */

/* Finite codes, as in wick_f16_to_f32: all of them are normal numbers of f32. */
WICK_MATH uint32_t f8_finite(uint32_t body, int m, int bias) {
    uint32_t normal = (body << (23 - m)) + ((uint32_t)(127 - bias) << 23);
    uint32_t tiny = wick_bits_f32((float)(int32_t)body * wick_from_bits_f32((uint32_t)(128 - bias - m) << 23));
    return body < 1u << m ? tiny : normal;
}
/* The magnitude a = |x|, in bits, rounded to nearest even, as in wick_f16_from_f32: there is no top to it. NaN comes
 * out above Inf, and both above all finite codes. */
WICK_MATH int32_t f8_rounded(uint32_t a, int m, int bias) {
    uint32_t normal = (a + (1u << (22 - m)) - 1 + ((a >> (23 - m)) & 1u) - ((uint32_t)(127 - bias) << 23)) >> (23 - m);
    uint32_t unit = (uint32_t)(151 - bias - m) << 23; /* the number whose last place is that of the denormals */
    uint32_t small = wick_bits_f32(wick_from_bits_f32(a) + wick_from_bits_f32(unit)) - unit;
    return (int32_t)((int32_t)a < (int32_t)((uint32_t)(128 - bias) << 23) ? small : normal);
}
/* e4m3fn: no Inf, the last code is NaN. */
WICK_MATH float f8_fn_to_f32(uint32_t c, int m, int bias) {
    uint32_t body = c & 0x7fu, r = body == 0x7fu ? 0x7fc00000u : f8_finite(body, m, bias);
    return wick_from_bits_f32(r | (c & 0x80u) << 24);
}
WICK_MATH uint8_t f8_fn_from_f32(float x, int m, int bias) {
    uint32_t u = wick_bits_f32(x);
    int32_t r = f8_rounded(u & 0x7fffffffu, m, bias);
    return (uint8_t)((r > 0x7f ? 0x7f : r) | (int32_t)((u >> 24) & 0x80u));
}
/* e5m2: Inf and NaN as in IEEE 754. NaN keeps its payload and is not made quiet: where and the like move codes as they
 * are. */
WICK_MATH float f8_ieee_to_f32(uint32_t c, int m, int bias) {
    uint32_t body = c & 0x7fu, inf = 0x7fu >> m << m, r = f8_finite(body, m, bias),
             special = body << (23 - m) | 0x7f800000u;
    return wick_from_bits_f32((body >= inf ? special : r) | (c & 0x80u) << 24);
}
WICK_MATH uint8_t f8_ieee_from_f32(float x, int m, int bias) {
    const int32_t inf = 0x7f >> m << m;
    uint32_t u = wick_bits_f32(x), a = u & 0x7fffffffu;
    int32_t r = f8_rounded(a, m, bias), top = (int32_t)(a >> (23 - m)) & 0x7f; /* of NaN: exponent and payload */
    top += top == inf ? 1 << (m - 1) : 0;
    r = r > inf ? inf : r;
    r = (int32_t)a > 0x7f800000 ? top : r;
    return (uint8_t)(r | (int32_t)((u >> 24) & 0x80u));
}
/* The fnuz formats: the code of a negative zero is the only NaN; no Inf. */
WICK_MATH float f8_fnuz_to_f32(uint32_t c, int m, int bias) {
    uint32_t r = f8_finite(c & 0x7fu, m, bias) | (c & 0x80u) << 24;
    return wick_from_bits_f32(c == 0x80u ? 0x7fc00000u : r);
}
WICK_MATH uint8_t f8_fnuz_from_f32(float x, int m, int bias) {
    uint32_t u = wick_bits_f32(x);
    int32_t r = f8_rounded(u & 0x7fffffffu, m, bias), sign = r ? (int32_t)((u >> 24) & 0x80u) : 0;
    return (uint8_t)(r > 0x7f ? 0x80 : r | sign);
}

CONVERT_LOOP(load_e4m3fn, uint8_t, float, f8_fn_to_f32(x, 3, 7))
CONVERT_LOOP(load_e4m3fnuz, uint8_t, float, f8_fnuz_to_f32(x, 3, 8))
CONVERT_LOOP(load_e5m2, uint8_t, float, f8_ieee_to_f32(x, 2, 15))
CONVERT_LOOP(load_e5m2fnuz, uint8_t, float, f8_fnuz_to_f32(x, 2, 16))
CONVERT_LOOP(store_e4m3fn, float, uint8_t, f8_fn_from_f32(x, 3, 7))
CONVERT_LOOP(store_e4m3fnuz, float, uint8_t, f8_fnuz_from_f32(x, 3, 8))
CONVERT_LOOP(store_e5m2, float, uint8_t, f8_ieee_from_f32(x, 2, 15))
CONVERT_LOOP(store_e5m2fnuz, float, uint8_t, f8_fnuz_from_f32(x, 2, 16))

/* e8m0: an exponent and nothing else; the nearest power, a middle up. Denormals of f32 are read by their bits, which
 * flushing doesn't touch. */
WICK_MATH float e8m0_to_f32(uint32_t c) {
    return wick_from_bits_f32(c == 255 ? 0x7fc00000u : c == 0 ? 0x00400000u : c << 23);
}
WICK_MATH uint8_t e8m0_from_f32(float x) {
    const int32_t u = (int32_t)wick_bits_f32(x),
                  r = u < 0x00800000 ? u >= 0x00600000 : (int32_t)(((uint32_t)u + 0x400000u) >> 23);
    return (uint8_t)(u <= 0 || r > 255 ? 255 : r);
}
CONVERT_LOOP(load_e8m0, uint8_t, float, e8m0_to_f32(x))
CONVERT_LOOP(store_e8m0, float, uint8_t, e8m0_from_f32(x))

/* ---- integers in memory ------------------------------------------------------------------------------------------ */

CONVERT_LOOP(load_i8, int8_t, int32_t, x)
CONVERT_LOOP(load_i16, int16_t, int32_t, x)
CONVERT_LOOP(load_u8, uint8_t, int32_t, x)
CONVERT_LOOP(load_u16, uint16_t, int32_t, x)
CONVERT_LOOP(load_u32, uint32_t, uint64_t, x)
CONVERT_LOOP(store_8, int32_t, uint8_t, x)
CONVERT_LOOP(store_16, int32_t, uint16_t, x)
CONVERT_LOOP(store_32, uint64_t, uint32_t, x)

/* ---- packed integers: two or four to a byte, the first in the low bits ------------------------------------------- */

/* Sign-extends the low bits; unsigned ones stay. */
#define PACKED_SIGNED(bits, x)   ((int32_t)((uint32_t)(x) << (32 - (bits))) >> (32 - (bits)))
#define PACKED_UNSIGNED(bits, x) ((int32_t)((x) & ((1u << (bits)) - 1)))
#define PACKED_LOAD(name, bits, extend)                                                                                \
    static void name(void *dst, const void *src, size_t n) {                                                           \
        const uint8_t *s = src;                                                                                        \
        int32_t *d = dst;                                                                                              \
        const size_t per = 8 / (bits), whole = n / per;                                                                \
        WICK_IVDEP for (size_t i = 0; i < whole; i++) {                                                                \
            const uint32_t x = s[i];                                                                                   \
            _Pragma("GCC unroll 4") for (size_t k = 0; k < per; k++) d[i * per + k] = extend(bits, x >> ((bits) * k)); \
        }                                                                                                              \
        for (size_t i = whole * per; i < n; i++) d[i] = extend(bits, s[whole] >> ((bits) * (i % per)));                \
    }
#define PACKED_STORE(name, bits)                                                                                       \
    static void name(void *dst, const void *src, size_t n) {                                                           \
        const uint32_t *s = src, mask = (1u << (bits)) - 1;                                                            \
        uint8_t *d = dst;                                                                                              \
        const size_t per = 8 / (bits), whole = n / per;                                                                \
        WICK_IVDEP for (size_t i = 0; i < whole; i++) {                                                                \
            uint32_t x = 0;                                                                                            \
            _Pragma("GCC unroll 4") for (size_t k = 0; k < per; k++) x |= (s[i * per + k] & mask) << ((bits) * k);     \
            d[i] = (uint8_t)x;                                                                                         \
        }                                                                                                              \
        if (n % per == 0) return;                                                                                      \
        uint32_t x = 0;                                                                                                \
        for (size_t k = 0; k < n % per; k++) x |= (s[whole * per + k] & mask) << ((bits) * k);                         \
        d[whole] = (uint8_t)x;                                                                                         \
    }
PACKED_LOAD(load_i4, 4, PACKED_SIGNED)
PACKED_LOAD(load_u4, 4, PACKED_UNSIGNED)
PACKED_LOAD(load_i2, 2, PACKED_SIGNED)
PACKED_LOAD(load_u2, 2, PACKED_UNSIGNED)
PACKED_STORE(store_4, 4)
PACKED_STORE(store_2, 2)

/* e2m1: a fraction bit, a bias of 1, nothing but numbers. NaN becomes a zero, of the other sign as ml_dtypes has it. */
WICK_MATH float e2m1_to_f32(uint32_t c) { return wick_from_bits_f32(f8_finite(c & 7u, 1, 1) | (c & 8u) << 28); }
WICK_MATH uint32_t e2m1_from_f32(float x) {
    const uint32_t u = wick_bits_f32(x), a = u & 0x7fffffffu, sign = (u >> 28) & 8u;
    const int32_t r = f8_rounded(a, 1, 1);
    return a > 0x7f800000u ? sign ^ 8u : (uint32_t)(r > 7 ? 7 : r) | sign;
}
static void load_e2m1(void *dst, const void *src, size_t n) {
    const uint8_t *s = src;
    float *d = dst;
    WICK_IVDEP for (size_t i = 0; i < n / 2; i++) {
        const uint32_t x = s[i];
        d[2 * i] = e2m1_to_f32(x & 15u), d[2 * i + 1] = e2m1_to_f32(x >> 4);
    }
    if (n % 2) d[n - 1] = e2m1_to_f32(s[n / 2] & 15u);
}
static void store_e2m1(void *dst, const void *src, size_t n) {
    const float *s = src;
    uint8_t *d = dst;
    WICK_IVDEP for (size_t i = 0; i < n / 2; i++) d[i] =
        (uint8_t)(e2m1_from_f32(s[2 * i]) | e2m1_from_f32(s[2 * i + 1]) << 4);
    if (n % 2) d[n / 2] = (uint8_t)e2m1_from_f32(s[n - 1]);
}

/* ---- casts ----------------------------------------------------------------------------------------------------------
 *
 * Float to integer truncates and saturates; NaN gives 0. The conversion itself only sees numbers that fit. low and high
 * are the first float at or below which, and at or above which, the result saturates. */
#define CAST_TO_INT(name, S, D, low, high, min, max)                                                                   \
    WICK_MATH D name##_one(S x) {                                                                                      \
        D r = (D)(((x > (low)) & (x < (high))) ? x : (S)0);                                                            \
        r = x >= (high) ? (max) : r;                                                                                   \
        return x <= (low) ? (min) : r;                                                                                 \
    }                                                                                                                  \
    CONVERT_LOOP(name, S, D, name##_one(x))

CAST_TO_INT(cast_f32_i32, float, int32_t, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX)
CAST_TO_INT(cast_f32_i64, float, int64_t, -0x1p63f, 0x1p63f, INT64_MIN, INT64_MAX)
CAST_TO_INT(cast_f32_u64, float, uint64_t, 0.0f, 0x1p64f, 0, UINT64_MAX)
CAST_TO_INT(cast_f64_i32, double, int32_t, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX)
CAST_TO_INT(cast_f64_i64, double, int64_t, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX)
CAST_TO_INT(cast_f64_u64, double, uint64_t, 0.0, 0x1p64, 0, UINT64_MAX)

CONVERT_LOOP(cast_f32_f64, float, double, x)
CONVERT_LOOP(cast_f64_f32, double, float, x)
CONVERT_LOOP(cast_i32_f32, int32_t, float, x)
CONVERT_LOOP(cast_i32_f64, int32_t, double, x)
CONVERT_LOOP(cast_i32_i64, int32_t, int64_t, x) /* also to u64: sign extended */
CONVERT_LOOP(cast_i64_f32, int64_t, float, x)
CONVERT_LOOP(cast_i64_f64, int64_t, double, x)
CONVERT_LOOP(cast_i64_i32, int64_t, int32_t, x) /* also from u64: wraps */
CONVERT_LOOP(cast_u64_f32, uint64_t, float, x)
CONVERT_LOOP(cast_u64_f64, uint64_t, double, x)
CONVERT_LOOP(cast_64_64, uint64_t, uint64_t, x)
CONVERT_LOOP(cast_bool_f32, uint8_t, float, (int32_t)x)
CONVERT_LOOP(cast_bool_f64, uint8_t, double, (int32_t)x)
CONVERT_LOOP(cast_bool_i32, uint8_t, int32_t, x)
CONVERT_LOOP(cast_bool_i64, uint8_t, int64_t, x)
CONVERT_LOOP(cast_f32_bool, float, uint8_t, x != 0)
CONVERT_LOOP(cast_f64_bool, double, uint8_t, x != 0)
CONVERT_LOOP(cast_i32_bool, int32_t, uint8_t, x != 0)
CONVERT_LOOP(cast_i64_bool, int64_t, uint8_t, x != 0)

/* ---- memory that nobody reads soon ------------------------------------------------------------------------------- */

/* Whole vectors at multiples of their size: partial lines would go out one by one. */
#if defined(__x86_64__) && WICK_TIER_ID > 0
#ifdef __AVX512F__
enum { STREAM = 64 };
#define STREAM_ONE(to, from) _mm512_stream_si512((__m512i *)(void *)(to), _mm512_loadu_si512(from))
#elif defined(__AVX2__)
enum { STREAM = 32 };
#define STREAM_ONE(to, from)                                                                                           \
    _mm256_stream_si256((__m256i *)(void *)(to), _mm256_loadu_si256((const __m256i *)(const void *)(from)))
#else
enum { STREAM = 16 };
#define STREAM_ONE(to, from)                                                                                           \
    _mm_stream_si128((__m128i *)(void *)(to), _mm_loadu_si128((const __m128i *)(const void *)(from)))
#endif
static void stream(void *dst, const void *src, size_t n) {
    uint8_t *to = dst;
    const uint8_t *from = src;
    const size_t head = WICK_MIN((STREAM - (uintptr_t)to % STREAM) % STREAM, n);
    if (head) memcpy(to, from, head);
    size_t i = head;
    for (; i + STREAM <= n; i += STREAM) STREAM_ONE(to + i, from + i);
    if (i < n) memcpy(to + i, from + i, n - i);
}
#else
static void stream(void *dst, const void *src, size_t n) { memcpy(dst, src, n); }
#endif

/* ---- transpositions ---------------------------------------------------------------------------------------------- */

#include "kernels/convert/transpose_vec.h"

#define FILL(T)                                                                                                        \
    do {                                                                                                               \
        T *d = dst;                                                                                                    \
        const T v = *(const T *)value;                                                                                 \
        for (size_t i = 0; i < n; i++) d[i] = v;                                                                       \
    } while (0)
static void fill(int elem, void *dst, const void *value, size_t n) {
    if (elem == 1)
        memset(dst, *(const uint8_t *)value, n);
    else if (elem == 4)
        FILL(uint32_t);
    else
        FILL(uint64_t);
}

const wick_convert_table WICK_TIER_SYMBOL(wick_convert_table_) = {
    .load = {[WICK_F16] = load_f16,
             [WICK_BF16] = load_bf16,
             [WICK_I8] = load_i8,
             [WICK_I16] = load_i16,
             [WICK_U8] = load_u8,
             [WICK_U16] = load_u16,
             [WICK_U32] = load_u32,
             [WICK_F8_E4M3FN] = load_e4m3fn,
             [WICK_F8_E4M3FNUZ] = load_e4m3fnuz,
             [WICK_F8_E5M2] = load_e5m2,
             [WICK_F8_E5M2FNUZ] = load_e5m2fnuz,
             [WICK_F8_E8M0] = load_e8m0,
             [WICK_F4_E2M1] = load_e2m1,
             [WICK_I4] = load_i4,
             [WICK_U4] = load_u4,
             [WICK_I2] = load_i2,
             [WICK_U2] = load_u2},
    .store = {[WICK_F16] = store_f16,
              [WICK_BF16] = store_bf16,
              [WICK_I8] = store_8,
              [WICK_I16] = store_16,
              [WICK_U8] = store_8,
              [WICK_U16] = store_16,
              [WICK_U32] = store_32,
              [WICK_F8_E4M3FN] = store_e4m3fn,
              [WICK_F8_E4M3FNUZ] = store_e4m3fnuz,
              [WICK_F8_E5M2] = store_e5m2,
              [WICK_F8_E5M2FNUZ] = store_e5m2fnuz,
              [WICK_F8_E8M0] = store_e8m0,
              [WICK_F4_E2M1] = store_e2m1,
              [WICK_I4] = store_4,
              [WICK_U4] = store_4,
              [WICK_I2] = store_2,
              [WICK_U2] = store_2},
    .cast =
        {
            [WICK_CF32] = {NULL, cast_f32_f64, cast_f32_i32, cast_f32_i64, cast_f32_u64, cast_f32_bool},
            [WICK_CF64] = {cast_f64_f32, NULL, cast_f64_i32, cast_f64_i64, cast_f64_u64, cast_f64_bool},
            [WICK_CI32] = {cast_i32_f32, cast_i32_f64, NULL, cast_i32_i64, cast_i32_i64, cast_i32_bool},
            [WICK_CI64] = {cast_i64_f32, cast_i64_f64, cast_i64_i32, NULL, cast_64_64, cast_i64_bool},
            [WICK_CU64] = {cast_u64_f32, cast_u64_f64, cast_i64_i32, cast_64_64, NULL, cast_i64_bool},
            [WICK_CBOOL] = {cast_bool_f32, cast_bool_f64, cast_bool_i32, cast_bool_i64, cast_bool_i64, NULL},
        },
    .stream = stream,
    .fill = fill,
    .transpose = transpose,
};
