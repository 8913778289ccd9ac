/* math.h: the math functions of every kernel, for f32 and f64: branch-free inline C that compilers vectorise, the same
 * source in every tier. Bits depend on the tier alone: the only difference is whether a fused multiply-add is one
 * rounding (tiers with FMA) or two.
 *
 * Where the numbers come from: every polynomial is a minimax fit (Remez exchange in 60-digit arithmetic, relative to
 * the result that it enters) made for this file; the comment beside it gives the interval and the largest error before
 * its coefficients were rounded. Constants split in parts (ln 2, pi/2) are the leading bits of the number, rounded to
 * as many bits as keep the products with small whole numbers exact (Cody and Waite, 1980). Accuracy per function and
 * tier is printed by tests/kernels/test_elementwise.c.
 *
 * Special values follow C99 Annex F, except: the sign of a NaN is not kept, and no floating-point flag is promised.
 * Denormals are exact unless the thread flushes them. */
#ifndef WICK_KERNELS_MATH_H
#define WICK_KERNELS_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/neon.h"

#define WICK_MATH static inline __attribute__((always_inline, unused))

/* a * b + c: one rounding where the tier has FMA, else two (contraction is off in every file). */
#if defined(__FMA__) || defined(WICK_NEON)
#define WICK_FMAF(a, b, c) __builtin_fmaf((a), (b), (c))
#define WICK_FMA(a, b, c)  __builtin_fma((a), (b), (c))
#else
#define WICK_FMAF(a, b, c) ((a) * (b) + (c))
#define WICK_FMA(a, b, c)  ((a) * (b) + (c))
#endif

WICK_MATH uint32_t wick_bits_f32(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
WICK_MATH float wick_from_bits_f32(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
WICK_MATH uint64_t wick_bits_f64(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
WICK_MATH double wick_from_bits_f64(uint64_t u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Adding 1.5 * 2^23 (2^52) rounds to the nearest whole number, half to even, and leaves it in the low bits. */
#define WICK_ROUNDER_F32 0x1.8p23f
#define WICK_ROUNDER_F64 0x1.8p52

/* Horner's rule; the highest power comes last in the list. */
#define WICK_POLY(FMA_, x, c, y)                                                                                       \
    do {                                                                                                               \
        (y) = (c)[sizeof(c) / sizeof((c)[0]) - 1];                                                                     \
        _Pragma("GCC unroll 32") for (int i_ = (int)(sizeof(c) / sizeof((c)[0])) - 2; i_ >= 0; i_--)(y) =              \
            FMA_((y), (x), (c)[i_]);                                                                                   \
    } while (0)

/* ---- absolute value, sign, square root, rounding to whole numbers ------------------------------------------------ */

WICK_MATH float wick_abs_f32(float x) { return __builtin_fabsf(x); }
WICK_MATH double wick_abs_f64(double x) { return __builtin_fabs(x); }
WICK_MATH int32_t wick_abs_i32(int32_t x) { return x < 0 ? -x : x; }
WICK_MATH int64_t wick_abs_i64(int64_t x) { return x < 0 ? -x : x; }
WICK_MATH uint64_t wick_abs_u64(uint64_t x) { return x; }

WICK_MATH float wick_sign_f32(float x) {
    float s = x > 0 ? 1.0f : 0.0f;
    s = x < 0 ? -1.0f : s;
    return x != x ? x : s;
}
WICK_MATH double wick_sign_f64(double x) {
    double s = x > 0 ? 1.0 : 0.0;
    s = x < 0 ? -1.0 : s;
    return x != x ? x : s;
}
WICK_MATH int32_t wick_sign_i32(int32_t x) { return (x > 0) - (x < 0); }
WICK_MATH int64_t wick_sign_i64(int64_t x) { return (int64_t)(x > 0) - (int64_t)(x < 0); }
WICK_MATH uint64_t wick_sign_u64(uint64_t x) { return x != 0; }

WICK_MATH float wick_sqrt_f32(float x) { return __builtin_sqrtf(x); }
WICK_MATH double wick_sqrt_f64(double x) { return __builtin_sqrt(x); }

#if defined(__SSE4_1__) || defined(WICK_NEON) /* has instructions that round; math.h's functions become them, since no \
                                                 trap and no mode is to be kept */
WICK_MATH float wick_round_f32(float x) { return __builtin_rintf(x); }
WICK_MATH double wick_round_f64(double x) { return __builtin_rint(x); }
WICK_MATH float wick_floor_f32(float x) { return __builtin_floorf(x); }
WICK_MATH double wick_floor_f64(double x) { return __builtin_floor(x); }
WICK_MATH float wick_ceil_f32(float x) { return __builtin_ceilf(x); }
WICK_MATH double wick_ceil_f64(double x) { return __builtin_ceil(x); }
#else
/* Numbers from 2^23 (2^52) on are whole already. The sign is put back so that -0.3 rounds to -0. */
WICK_MATH float wick_round_f32(float x) {
    float t = __builtin_fabsf(x), r = (t + 0x1p23f) - 0x1p23f;
    return __builtin_copysignf(t < 0x1p23f ? r : t, x);
}
WICK_MATH double wick_round_f64(double x) {
    double t = __builtin_fabs(x), r = (t + 0x1p52) - 0x1p52;
    return __builtin_copysign(t < 0x1p52 ? r : t, x);
}
WICK_MATH float wick_floor_f32(float x) {
    float r = wick_round_f32(x);
    return __builtin_copysignf(r - (r > x ? 1.0f : 0.0f), x);
}
WICK_MATH double wick_floor_f64(double x) {
    double r = wick_round_f64(x);
    return __builtin_copysign(r - (r > x ? 1.0 : 0.0), x);
}
WICK_MATH float wick_ceil_f32(float x) {
    float r = wick_round_f32(x);
    return __builtin_copysignf(r + (r < x ? 1.0f : 0.0f), x);
}
WICK_MATH double wick_ceil_f64(double x) {
    double r = wick_round_f64(x);
    return __builtin_copysign(r + (r < x ? 1.0 : 0.0), x);
}
#endif

/* ---- exponentials: e^x = 2^n e^r, n = round(x / ln 2), |r| <= ln 2 / 2 ------------------------------------------- */

#define WICK_LOG2E      0x1.71547652b82fep+0
/* 15 bits + 24: n * hi is exact for |n| < 2^9 in f32; 41 bits + 53: for |n| < 2^12 in f64 */
#define WICK_LN2_HI_F32 0x1.62e4p-1f
#define WICK_LN2_LO_F32 0x1.7f7d1cp-20f
#define WICK_LN2_HI_F64 0x1.62e42fefa4p-1
#define WICK_LN2_LO_F64 (-0x1.8432a1b0e2634p-43)

/* (e^r - 1 - r) / r^2 on |r| <= 0.3469 */
static const float wick_exp_c_f32[] = {/* 2^-31.9 */ 0x1p-1f, 0x1.555556p-3f,  0x1.5554aep-5f,
                                       0x1.11109p-7f,         0x1.6d73dep-10f, 0x1.a1a15p-13f};
static const double wick_exp_c_f64[] = {
    /* 2^-61.7 */ 0x1.0000000000000p-1,
    0x1.5555555555559p-3,
    0x1.555555555555ap-5,
    0x1.111111110f6d8p-7,
    0x1.6c16c16c14495p-10,
    0x1.a01a01afdae4cp-13,
    0x1.a01a01b0aaaf9p-16,
    0x1.71ddf860fe0e3p-19,
    0x1.27e4c5af18dd7p-22,
    0x1.af5eba098b7a4p-26,
    0x1.1f955ab633035p-29};

/* x in [-2^8, 2^8] (f32) or [-2^11, 2^11] (f64): returns e^r - 1 and n. NaN passes through; its n is meaningless. high:
 * bits of which the lowest are n, the others leave by a shift to the exponent. */
WICK_MATH float wick_exp_reduce_high_f32(float x, uint32_t *high) {
    float t = WICK_FMAF(x, (float)WICK_LOG2E, WICK_ROUNDER_F32), k = t - WICK_ROUNDER_F32, p;
    float r = WICK_FMAF(k, -WICK_LN2_HI_F32, x);
    r = WICK_FMAF(k, -WICK_LN2_LO_F32, r);
    WICK_POLY(WICK_FMAF, r, wick_exp_c_f32, p);
    *high = wick_bits_f32(t);
    return WICK_FMAF(r * r, p, r);
}
WICK_MATH float wick_exp_reduce_f32(float x, int32_t *n) {
    uint32_t high;
    const float e = wick_exp_reduce_high_f32(x, &high);
    *n = (int32_t)(high - wick_bits_f32(WICK_ROUNDER_F32));
    return e;
}
/* tail is added to x, |tail| << 1: what a caller's x lost in rounding. n comes as a two's complement in a u64. */
WICK_MATH double wick_exp_reduce_f64(double x, double tail, uint64_t *n) {
    double t = WICK_FMA(x, WICK_LOG2E, WICK_ROUNDER_F64), k = t - WICK_ROUNDER_F64, p;
    double r = WICK_FMA(k, -WICK_LN2_HI_F64, x);
    r += WICK_FMA(k, -WICK_LN2_LO_F64, tail);
    WICK_POLY(WICK_FMA, r, wick_exp_c_f64, p);
    *n = wick_bits_f64(t) - wick_bits_f64(WICK_ROUNDER_F64);
    return WICK_FMA(r * r, p, r);
}

/* y * 2^n in two steps, so that results which overflow or are denormal come out right, rounded once. The f64 form
 * halves n with a logical shift of a biased value: AVX2 has no 64-bit arithmetic shift. */
WICK_MATH float wick_scale_f32(float y, int32_t n) {
    int32_t h = n >> 1;
    return y * wick_from_bits_f32((uint32_t)(h + 127) << 23) * wick_from_bits_f32((uint32_t)(n - h + 127) << 23);
}
WICK_MATH double wick_scale_f64(double y, uint64_t n) {
    uint64_t h = ((n + 4096) >> 1) - 2048;
    return y * wick_from_bits_f64((h + 1023) << 52) * wick_from_bits_f64((n - h + 1023) << 52);
}

WICK_MATH float wick_exp_f32(float x) {
    int32_t n;
    x = x > 89.0f ? 89.0f : x; /* overflows from 88.73 on, is 0 below -103.98 */
    x = x < -104.0f ? -104.0f : x;
    float e = wick_exp_reduce_f32(x, &n);
    return wick_scale_f32(1.0f + e, n);
}
/* For x <= 0: the same bits, with fewer steps, since nothing overflows: by 2^64 too large, then divided by that. */
WICK_MATH float wick_exp_below_f32(float x) {
    int32_t n;
    x = x < -104.0f ? -104.0f : x;
    float e = wick_exp_reduce_f32(x, &n);
    return (1.0f + e) * wick_from_bits_f32((uint32_t)(n + 191) << 23) * 0x1p-64f;
}
WICK_MATH double wick_exp_f64(double x) {
    uint64_t n;
    x = x > 710.0 ? 710.0 : x; /* overflows from 709.79 on, is 0 below -745.14 */
    x = x < -746.0 ? -746.0 : x;
    double e = wick_exp_reduce_f64(x, 0.0, &n);
    return wick_scale_f64(1.0 + e, n);
}

/* 2^n (e^r - 1) + (2^n - 1), with 2^(n-1) doubled at the end because 2^n may overflow where the result does not. */
WICK_MATH float wick_expm1_f32(float x) {
    int32_t n;
    float y = x > 89.0f ? 89.0f : x;
    y = y < -18.0f ? -18.0f : y;
    float e = wick_exp_reduce_f32(y, &n), s = wick_from_bits_f32((uint32_t)(n + 126) << 23);
    float r = WICK_FMAF(s, e, s - 0.5f) * 2.0f;
    return __builtin_fabsf(x) < 0x1p-60f ? x : r; /* halving would round denormals */
}
WICK_MATH double wick_expm1_f64(double x) {
    uint64_t n;
    double y = x > 710.0 ? 710.0 : x;
    y = y < -38.0 ? -38.0 : y;
    double e = wick_exp_reduce_f64(y, 0.0, &n), s = wick_from_bits_f64((n + 1022) << 52);
    double r = WICK_FMA(s, e, s - 0.5) * 2.0;
    return __builtin_fabs(x) < 0x1p-200 ? x : r;
}

/* ---- functions of one exponential -------------------------------------------------------------------------------- */

/* 1 / (1 + e^-x), by the exponential that cannot overflow: of -|x| */
WICK_MATH float wick_sigmoid_f32(float x) {
    float e = wick_exp_below_f32(-__builtin_fabsf(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}
WICK_MATH double wick_sigmoid_f64(double x) {
    double e = wick_exp_f64(-__builtin_fabs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e);
}

/* (e^2x - 1) / (e^2x + 1) = E / (E + 2) with E = expm1(2x); from 10 (20) on the result rounds to 1 */
WICK_MATH float wick_tanh_f32(float x) {
    float t = __builtin_fabsf(x);
    t = t > 10.0f ? 10.0f : t;
    float e = wick_expm1_f32(2.0f * t);
    return __builtin_copysignf(e / (e + 2.0f), x);
}
WICK_MATH double wick_tanh_f64(double x) {
    double t = __builtin_fabs(x);
    t = t > 20.0 ? 20.0 : t;
    double e = wick_expm1_f64(2.0 * t);
    return __builtin_copysign(e / (e + 2.0), x);
}

/* ---- logarithms: x = 2^k m, sqrt(1/2) <= m < sqrt(2), f = m - 1 -------------------------------------------------- */

/* (log(1 + f) - f + f^2 / 2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1]: 2^-30.2 */
static const float wick_log_c_f32[] = {0x1.555548p-2f,  -0x1.ffffeep-3f, 0x1.99a472p-3f,
                                       -0x1.556284p-3f, 0x1.2340dap-3f,  -0x1.fb5c74p-4f,
                                       0x1.e5ae46p-4f,  -0x1.e22af6p-4f, 0x1.1bb65p-4f};
/* (2 atanh(s) / s - 2) / s^2 over z = s^2 in [0, 0.02944]: 2^-58.4 */
static const double wick_log_c_f64[] = {0x1.555555555558bp-1, 0x1.9999999981c6ep-2, 0x1.24924940840d9p-2,
                                        0x1.c71c530ceb5fcp-3, 0x1.74660f181d6c8p-3, 0x1.39a62269cb423p-3,
                                        0x1.2edc49d147dbcp-3};

/* k ln 2 + log(1 + f) */
WICK_MATH float wick_log_sum_f32(float f, float k) {
    float z = f * f, p;
    WICK_POLY(WICK_FMAF, f, wick_log_c_f32, p);
    float y = WICK_FMAF(f * z, p, k * WICK_LN2_LO_F32);
    y = WICK_FMAF(z, -0.5f, y);
    return WICK_FMAF(k, WICK_LN2_HI_F32, f + y);
}
/* With s = f / (2 + f): log(1 + f) = 2 atanh(s) = 2 s + s R, and 2 s = f - f^2 / 2 + s f^2 / 2, where f is exact. */
WICK_MATH double wick_log_sum_f64(double f, double k) {
    double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f, p;
    WICK_POLY(WICK_FMA, z, wick_log_c_f64, p);
    double y = WICK_FMA(s, WICK_FMA(z, p, h), k * WICK_LN2_LO_F64);
    return WICK_FMA(k, WICK_LN2_HI_F64, f - (h - y));
}

/* Subtracting the bits of sqrt(1/2) makes the exponent field count from the wanted interval. x is normal and positive.
 */
WICK_MATH float wick_log_split_f32(float x, int32_t *k) {
    uint32_t u = wick_bits_f32(x), t = u - 0x3f3504f3u;
    *k = (int32_t)t >> 23;
    return wick_from_bits_f32(u - (t & 0xff800000u));
}
/* k as a double, made from bits: AVX2 cannot convert 64-bit integers. */
WICK_MATH double wick_log_split_f64(double x, double *k) {
    uint64_t u = wick_bits_f64(x), t = u - 0x3fe6a09e667f3bcdu;
    *k = wick_from_bits_f64(((t + (UINT64_C(1024) << 52)) >> 52) | 0x4330000000000000u) - (0x1p52 + 1024.0);
    return wick_from_bits_f64(u - (t & 0xfff0000000000000u));
}

WICK_MATH float wick_log_f32(float x) {
    int32_t k;
    float tiny = x < 0x1p-126f ? 25.0f : 0.0f, m = wick_log_split_f32(x < 0x1p-126f ? x * 0x1p25f : x, &k);
    float r = wick_log_sum_f32(m - 1.0f, (float)k - tiny);
    float special = x == 0 ? -INFINITY : x < 0 ? NAN : x; /* Inf and NaN are their own logarithms */
    return ((x > 0) & (x < INFINITY)) ? r : special;
}
WICK_MATH double wick_log_f64(double x) {
    double k, tiny = x < 0x1p-1022 ? 54.0 : 0.0, m = wick_log_split_f64(x < 0x1p-1022 ? x * 0x1p54 : x, &k);
    double r = wick_log_sum_f64(m - 1.0, k - tiny);
    double special = x == 0 ? (double)-INFINITY : x < 0 ? (double)NAN : x;
    return ((x > 0) & (x < (double)INFINITY)) ? r : special;
}

/* u = 1 + x is rounded; what it lost, c, goes into f: near 0 f is x itself, exactly. */
WICK_MATH float wick_log1p_f32(float x) {
    int32_t k;
    float u = 1.0f + x, c = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x), m = wick_log_split_f32(u, &k);
    float down = wick_from_bits_f32((uint32_t)(127 - (k > 126 ? 126 : k)) << 23); /* 2^-k */
    float r = wick_log_sum_f32(WICK_FMAF(c, down, m - 1.0f), (float)k);
    float special = x == -1.0f ? -INFINITY : x < -1.0f ? NAN : x;
    return ((x > -1.0f) & (x < INFINITY) & (__builtin_fabsf(x) >= 0x1p-60f)) ? r : special;
}
WICK_MATH double wick_log1p_f64(double x) {
    double k, u = 1.0 + x, c = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x), m = wick_log_split_f64(u, &k);
    double kk = k > 1022.0 ? 1022.0 : k; /* 2^-k through the bits of a rounder: 1023 - k is a small whole number */
    double down =
        wick_from_bits_f64((wick_bits_f64(WICK_ROUNDER_F64 + (1023.0 - kk)) - wick_bits_f64(WICK_ROUNDER_F64)) << 52);
    double r = wick_log_sum_f64(WICK_FMA(c, down, m - 1.0), k);
    double special = x == -1.0 ? (double)-INFINITY : x < -1.0 ? (double)NAN : x;
    return ((x > -1.0) & (x < (double)INFINITY) & (__builtin_fabs(x) >= 0x1p-200)) ? r : special;
}

/* log(1 + e^x) = max(x, 0) + log1p(e^-|x|) */
WICK_MATH float wick_softplus_f32(float x) {
    return (x < 0 ? 0.0f : x) + wick_log1p_f32(wick_exp_below_f32(-__builtin_fabsf(x)));
}
WICK_MATH double wick_softplus_f64(double x) {
    return (x < 0 ? 0.0 : x) + wick_log1p_f64(wick_exp_f64(-__builtin_fabs(x)));
}

/* ---- sine and cosine: x = n pi/2 + r, |r| <= pi/4 -------------------------------------------------------------------
 *
 * f32 reduces in f64, for |x| up to 2^20; f64 takes pi/2 in parts of 23 bits, for |x| up to 2^30. Beyond, results are
 * of no use: turns.h. */

/* (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 over z = r^2 in [0, (1.03 pi/4)^2] */
static const float wick_sin_c_f32[] = {/* 2^-37 */ -0x1.555556p-3f, 0x1.111106p-7f, -0x1.a00e54p-13f, 0x1.6c8afcp-19f};
static const float wick_cos_c_f32[] = {/* 2^-33 */ 0x1.555548p-5f, -0x1.6c0b48p-10f, 0x1.99a4e6p-16f};
static const double wick_sin_c_f64[] = {/* 2^-57 */ -0x1.5555555555544p-3,
                                        0x1.111111110f027p-7,
                                        -0x1.a01a019b01d2ap-13,
                                        0x1.71de3488e7e67p-19,
                                        -0x1.ae5da9aaec591p-26,
                                        0x1.5d5c133c3258dp-33};
static const double wick_cos_c_f64[] = {
    /* 2^-63 */ 0x1.5555555555548p-5, -0x1.6c16c16c148e9p-10, 0x1.a01a019bd4efcp-16,
    -0x1.27e4f76712e95p-22,           0x1.1ee97b8d84318p-29,  -0x1.8f73d4d85c6e1p-37};

/* sin(r + q pi/2) */
WICK_MATH float wick_sincos_of_f32(float r, uint32_t q) {
    float s, c, z = r * r;
    WICK_POLY(WICK_FMAF, z, wick_sin_c_f32, s);
    WICK_POLY(WICK_FMAF, z, wick_cos_c_f32, c);
    s = WICK_FMAF(r * z, s, r);
    c = WICK_FMAF(z * z, c, WICK_FMAF(z, -0.5f, 1.0f));
    float y = q & 1 ? c : s;
    return wick_from_bits_f32(wick_bits_f32(y) ^ ((q & 2) << 30));
}
/* sin(r + tail + q pi/2) */
WICK_MATH double wick_sincos_of_f64(double r, double tail, uint64_t q) {
    double z = r * r, h = 0.5 * z, s, c;
    WICK_POLY(WICK_FMA, z, wick_sin_c_f64, s);
    WICK_POLY(WICK_FMA, z, wick_cos_c_f64, c);
    s = r + WICK_FMA(r * z, s, tail);
    double one = 1.0 - h; /* and what that lost: (1 - one) - h */
    c = one + ((((1.0 - one) - h)) + WICK_FMA(z * z, c, -r * tail));
    double y = q & 1 ? c : s;
    return wick_from_bits_f64(wick_bits_f64(y) ^ ((q & 2) << 62));
}
/* sin(x + quarter pi/2), quarter 0 or 1 */
WICK_MATH float wick_sincos_f32(float x, uint32_t quarter) {
    double t = WICK_FMA((double)x, 0x1.45f306dc9c883p-1, WICK_ROUNDER_F64), n = t - WICK_ROUNDER_F64;
    double w = WICK_FMA(n, -0x1.921fb544p+0, (double)x); /* 33 bits of pi/2, then 53 */
    w = WICK_FMA(n, -0x1.0b4611a626331p-34, w);
    return wick_sincos_of_f32((float)w, (uint32_t)wick_bits_f64(t) + quarter);
}
WICK_MATH double wick_sincos_f64(double x, uint64_t quarter) {
    double t = WICK_FMA(x, 0x1.45f306dc9c883p-1, WICK_ROUNDER_F64), n = t - WICK_ROUNDER_F64;
    double r = WICK_FMA(n, -0x1.921fb4p+0, x);
    r = WICK_FMA(n, -0x1.4442dp-24, r);
    r = WICK_FMA(n, -0x1.846988p-48, r);
    double tail = WICK_FMA(n, -0x1.8cc518p-72, n * 0x1.fc8f8cbb5bf6cp-97);
    double whole = r + tail;
    tail += r - whole; /* what the last sum lost */
    return wick_sincos_of_f64(whole, tail, wick_bits_f64(t) + quarter);
}
/* -0 must give -0: x itself is exact to the last bit for arguments this small. */
WICK_MATH float wick_sin_f32(float x) { return __builtin_fabsf(x) < 0x1p-20f ? x : wick_sincos_f32(x, 0); }
WICK_MATH float wick_cos_f32(float x) { return wick_sincos_f32(x, 1); }
WICK_MATH double wick_sin_f64(double x) { return __builtin_fabs(x) < 0x1p-40 ? x : wick_sincos_f64(x, 0); }
WICK_MATH double wick_cos_f64(double x) { return wick_sincos_f64(x, 1); }

/* ---- error function: x + x P(x^2) near 0, else 1 - e^-Q(|x|), Q fitted to -log(erfc) ----------------------------- */

static const float wick_erf_p_f32[] = {/* |x| <= 0.93: 2^-31 */ 0x1.06eba8p-3f,
                                       -0x1.812744p-2f,
                                       0x1.ce2e1cp-4f,
                                       -0x1.b80ff2p-6f,
                                       0x1.54d42ap-8f,
                                       -0x1.aaa2dap-11f,
                                       0x1.5e0634p-14f};
static const float wick_erf_q_f32[] = {/* over |x| - 1.25, 0.92 <= |x| <= 4: 2^-34 */ 0x1.48050ap+1f,
                                       0x1.88ab2ep+1f,
                                       0x1.bddad2p-1f,
                                       0x1.0bc5ecp-5f,
                                       -0x1.fe962ep-8f,
                                       0x1.a4b56ep-10f,
                                       -0x1.0632d2p-12f,
                                       0x1.630958p-16f};
static const double wick_erf_p_f64[] = {/* |x| <= 1: 2^-62.8 */ 0x1.06eba8214db69p-3,
                                        -0x1.812746b0379e6p-2,
                                        0x1.ce2f21a042b34p-4,
                                        -0x1.b82ce31284f37p-6,
                                        0x1.565bcd0dbd8f7p-8,
                                        -0x1.c02db3db4914dp-11,
                                        0x1.f9a321e4afa12p-14,
                                        -0x1.f4d1e4343e112p-17,
                                        0x1.b9df30582cd90p-20,
                                        -0x1.5f1f40e25a62bp-23,
                                        0x1.f7b99cf5acbc5p-27,
                                        -0x1.38ac22534af27p-30,
                                        0x1.06275c7524c6cp-34};
static const double wick_erf_q_f64[] =
    {/* over |x| - 1.25, 1 <= |x| <= 6: 2^-66. The shift is near the end where erfc is large: far
        from it the sum cancels, but there 1 - erfc does not feel it. */
     0x1.48050902770fdp+1,   0x1.88ab2d9950138p+1,   0x1.bddad46f504e7p-1,   0x1.0bc5a02978748p-5,
     -0x1.fea76c4b1fa87p-8,  0x1.a540a74ea5c16p-10,  -0x1.02c592f10c2d2p-12, 0x1.50f17284bbde0p-17,
     0x1.6b6c84ec6dad6p-17,  -0x1.5ab85d617d514p-18, 0x1.8418c7f0ae168p-20,  -0x1.0d5b96e03ab71p-22,
     0x1.be9ebbe622cf2p-30,  0x1.4075deb688bc9p-26,  -0x1.27d7bd6a92caep-27, 0x1.5bfeb3fe13b61p-29,
     -0x1.2c99add231501p-31, 0x1.7f40ed2874423p-34,  -0x1.56ff5b874c9a2p-37, 0x1.808b6562a9accp-41,
     -0x1.9521de8dad79ep-46};

WICK_MATH float wick_erf_f32(float x) {
    float a = __builtin_fabsf(x), t = a > 4.0f ? 4.0f : a, p, q;
    WICK_POLY(WICK_FMAF, x * x, wick_erf_p_f32, p);
    WICK_POLY(WICK_FMAF, t - 1.25f, wick_erf_q_f32, q);
    float big = __builtin_copysignf(1.0f - wick_exp_below_f32(-q), x);
    return a < 0.92f ? WICK_FMAF(x, p, x) : big;
}
WICK_MATH double wick_erf_f64(double x) {
    double a = __builtin_fabs(x), t = a > 6.0 ? 6.0 : a, p, q;
    WICK_POLY(WICK_FMA, x * x, wick_erf_p_f64, p);
    WICK_POLY(WICK_FMA, t - 1.25, wick_erf_q_f64, q);
    double big = __builtin_copysign(1.0 - wick_exp_f64(-q), x);
    return a < 1.0 ? WICK_FMA(x, p, x) : big;
}

/* ---- powers: |a|^b = e^(b log|a|), the logarithm wide enough that b cannot blow its error up --------------------- */

static const double wick_pow_log_c_f32[] = {/* as wick_log_c_f64: 2^-44 */ 0x1.5555555611ebdp-1, 0x1.999996c3beb18p-2,
                                            0x1.249408839b78ap-2, 0x1.c62dd15185818p-3, 0x1.90f1b25e57b07p-3};
static const double wick_pow_exp_c_f32[] = {/* as wick_exp_c_f64: 2^-34 */ 0x1.0000004193d5dp-1,
                                            0x1.55555597aa25fp-3,
                                            0x1.5554821fc561cp-5,
                                            0x1.11107d3d823bap-7,
                                            0x1.6d956e657f4bcp-10,
                                            0x1.a1b7c6b519b60p-13};
/* (atanh(s) / s - 1 - z / 3) / z^2 over z = s^2 in [0, 0.02944]: 2^-64 */
static const double wick_pow_c_f64[] = {0x1.99999999999a4p-3, 0x1.249249248af34p-3, 0x1.c71c71e1bab6bp-4,
                                        0x1.745d04ac8f3e0p-4, 0x1.3b1a026ffde3cp-4, 0x1.0ff344410a568p-4,
                                        0x1.0a12e3852914dp-4};

/* The cases that the formula misses, C99 F.9.4.4: y is |a|^b. */
WICK_MATH float wick_pow_f32(float a, float b) {
    double x = (double)__builtin_fabsf(a), k, p, q;
    double m = wick_log_split_f64(x, &k), s = (m - 1.0) / (m + 1.0), z = s * s;
    WICK_POLY(WICK_FMA, z, wick_pow_log_c_f32, p);
    double l = WICK_FMA(k, 0x1.62e42fefa39efp-1, WICK_FMA(s * z, p, 2.0 * s));
    l = x == 0 ? (double)-INFINITY : x < (double)INFINITY ? l : x;
    double e = (double)b * l;
    e = e > 128.0 ? 128.0 : e; /* far beyond the range of f32 in either direction */
    e = e < -128.0 ? -128.0 : e;
    double t = WICK_FMA(e, WICK_LOG2E, WICK_ROUNDER_F64), n = t - WICK_ROUNDER_F64,
           r = WICK_FMA(n, -0x1.62e42fefa39efp-1, e);
    WICK_POLY(WICK_FMA, r, wick_pow_exp_c_f32, q);
    uint64_t up = (wick_bits_f64(t) - wick_bits_f64(WICK_ROUNDER_F64) + 1023) << 52;
    float y = (float)((1.0 + WICK_FMA(r * r, q, r)) * wick_from_bits_f64(up));
    float w = __builtin_fabsf(b), whole = (w + 0x1p23f) - 0x1p23f; /* is b a whole number, an odd one? */
    uint32_t odd = w < 0x1p23f ? wick_bits_f32(w + 0x1p23f) : w < 0x1p24f ? wick_bits_f32(b) : 0;
    int is_whole = (w >= 0x1p23f) | (whole == w);
    y = wick_from_bits_f32(wick_bits_f32(y) ^ (is_whole ? (odd << 31) & wick_bits_f32(a) : 0));
    y = ((a < 0) & (a > -INFINITY) & !is_whole) ? NAN : y;
    y = ((a != a) | (b != b)) ? a + b : y;
    y = ((a == -1.0f) & (w == INFINITY)) ? 1.0f : y;
    return ((a == 1.0f) | (b == 0)) ? 1.0f : y;
}

/* a * b = *hi + *lo, exactly unless something overflows (Dekker 1971 where there is no FMA). */
WICK_MATH void wick_two_prod(double a, double b, double *hi, double *lo) {
    *hi = a * b;
#ifdef __FMA__
    *lo = __builtin_fma(a, b, -*hi);
#else
    double ta = a * 0x1.0000002p27, tb = b * 0x1.0000002p27;
    double ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;
    *lo = ((ah * bh - *hi) + ah * bl + al * bh) + al * bl;
#endif
}
/* a + b = *hi + *lo (Knuth) */
WICK_MATH void wick_two_sum(double a, double b, double *hi, double *lo) {
    *hi = a + b;
    double v = *hi - a;
    *lo = (a - (*hi - v)) + (b - v);
}

WICK_MATH double wick_pow_f64(double a, double b) {
    double x = __builtin_fabs(a), k, p;
    double tiny = x < 0x1p-1022 ? 54.0 : 0.0, m = wick_log_split_f64(x < 0x1p-1022 ? x * 0x1p54 : x, &k);
    k -= tiny;
    /* s + s_lo = (m - 1) / (m + 1) */
    double f = m - 1.0, g = m + 1.0, g_lo = m - (g - 1.0), inv = 1.0 / g, s = f * inv, sg, sg_lo;
    wick_two_prod(s, g, &sg, &sg_lo);
    double s_lo = (((f - sg) - sg_lo) - s * g_lo) * inv;
    /* q + q_lo = z / 3 + z^2 P(z), z = s^2 */
    double z, z_lo, q, q_lo, u;
    wick_two_prod(s, s, &z, &z_lo);
    z_lo = WICK_FMA(2.0 * s, s_lo, z_lo);
    WICK_POLY(WICK_FMA, z, wick_pow_c_f64, p);
    wick_two_prod(z, 0x1.5555555555555p-2, &q, &q_lo);
    q_lo += z * 0x1.5555555555555p-56 + z_lo * 0x1.5555555555555p-2 + z * z * p;
    u = q + q_lo;
    q_lo = q_lo - (u - q);
    q = u;
    /* l + l_lo = k ln 2 + 2 (s + s_lo) (1 + q + q_lo) */
    double sq, sq_lo, l, l_lo, t, t_lo;
    wick_two_prod(2.0 * s, q, &sq, &sq_lo);
    wick_two_sum(k * WICK_LN2_HI_F64, 2.0 * s, &t, &t_lo);
    wick_two_sum(t, sq, &l, &l_lo);
    l_lo += t_lo + (sq_lo + 2.0 * (s * q_lo + s_lo * (1.0 + q)) + k * WICK_LN2_LO_F64);
    u = l + l_lo;
    l_lo = l_lo - (u - l);
    l = u;
    /* e + e_lo = b (l + l_lo); beyond 2^64 any b does the same to any |a| but 1, and Dekker's split would overflow */
    double bb = b > 0x1p64 ? 0x1p64 : b, e, e_lo;
    bb = bb < -0x1p64 ? -0x1p64 : bb;
    wick_two_prod(bb, l, &e, &e_lo);
    e_lo = WICK_FMA(bb, l_lo, e_lo);
    double big = bb * (x == 0 ? (double)-INFINITY : x); /* the exponent where |a| is 0 or Inf */
    e = ((x == 0) | (x == (double)INFINITY)) ? big : e;
    int out = (e > 710.0) | (e < -746.0);
    e = e > 710.0 ? 710.0 : e;
    e = e < -746.0 ? -746.0 : e;
    e_lo = out ? 0.0 : e_lo;
    uint64_t n;
    double r = wick_exp_reduce_f64(e, e_lo, &n), y = wick_scale_f64(1.0 + r, n);
    double w = __builtin_fabs(b), whole = (w + 0x1p52) - 0x1p52;
    uint64_t odd = w < 0x1p52 ? wick_bits_f64(w + 0x1p52) : w < 0x1p53 ? wick_bits_f64(b) : 0;
    int is_whole = (w >= 0x1p52) | (whole == w);
    y = wick_from_bits_f64(wick_bits_f64(y) ^ (is_whole ? (odd << 63) & wick_bits_f64(a) : 0));
    y = ((a < 0) & (a > (double)-INFINITY) & !is_whole) ? (double)NAN : y;
    y = ((a != a) | (b != b)) ? a + b : y;
    y = ((a == -1.0) & (w == (double)INFINITY)) ? 1.0 : y;
    return ((a == 1.0) | (b == 0)) ? 1.0 : y;
}

#endif
