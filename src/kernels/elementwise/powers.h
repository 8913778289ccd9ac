/* powers.h: exponentials and logarithms to other bases, cube root, hypotenuse, and the logarithm of a sum. As math.h,
 * whose rules hold here: polynomials are by scripts/minimax.py. Rarer functions of f32 are computed in f64, with
 * polynomials as long as f32 needs: the result is right but for the last rounding. */
#ifndef WICK_KERNELS_POWERS_H
#define WICK_KERNELS_POWERS_H

#include "kernels/elementwise/math.h"

/* log(x) for positive normal x, and e^x for |x| <= 128 (beyond, of 128): to 2^-44 and 2^-34, the parts of wick_pow_f32.
 */
WICK_MATH double wick_log_wide(double x) {
    double k, p, m = wick_log_split_f64(x, &k), s = (m - 1.0) / (m + 1.0), z = s * s;
    WICK_POLY(WICK_FMA, z, wick_pow_log_c_f32, p);
    return WICK_FMA(k, 0x1.62e42fefa39efp-1, WICK_FMA(s * z, p, 2.0 * s));
}
WICK_MATH double wick_exp_wide(double x) {
    double q;
    x = x > 128.0 ? 128.0 : x;
    x = x < -128.0 ? -128.0 : x;
    double t = WICK_FMA(x, WICK_LOG2E, WICK_ROUNDER_F64), n = t - WICK_ROUNDER_F64,
           r = WICK_FMA(n, -0x1.62e42fefa39efp-1, x);
    WICK_POLY(WICK_FMA, r, wick_pow_exp_c_f32, q);
    uint64_t up = (wick_bits_f64(t) - wick_bits_f64(WICK_ROUNDER_F64) + 1023) << 52;
    return (1.0 + WICK_FMA(r * r, q, r)) * wick_from_bits_f64(up);
}

/* ---- 2^x = 2^n 2^r, |r| <= 1/2 ----------------------------------------------------------------------------------- */

/* (2^r - 1) / r */
static const float wick_exp2_c_f32[] = {/* 2^-28.9 */ 0x1.62e43p-1f, 0x1.ebfbdcp-3f, 0x1.c6aee6p-5f, 0x1.3b2d52p-7f,
    0x1.5f400ep-10f, 0x1.41fa94p-13f};
static const double wick_exp2_c_f64[] = {/* 2^-64.3 */ 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3,
    0x1.c6b08d704a0cfp-5, 0x1.3b2ab6fba4e2p-7, 0x1.5d87fe78a25c2p-10, 0x1.430912f8842f5p-13, 0x1.ffcbfc752d04ep-17,
    0x1.62c021e16731bp-20, 0x1.b524dc90b8884p-24, 0x1.e4d06e8c63e2fp-28, 0x1.ea028d1224134p-32,
    0x1.c2cdf0745c89cp-36};

WICK_MATH float wick_exp2_f32(float x) {
    float p;
    x = x > 129.0f ? 129.0f : x;
    x = x < -151.0f ? -151.0f : x;
    float t = x + WICK_ROUNDER_F32, r = x - (t - WICK_ROUNDER_F32);
    WICK_POLY(WICK_FMAF, r, wick_exp2_c_f32, p);
    return wick_scale_f32(WICK_FMAF(r, p, 1.0f), (int32_t)(wick_bits_f32(t) - wick_bits_f32(WICK_ROUNDER_F32)));
}
WICK_MATH double wick_exp2_f64(double x) {
    double p;
    x = x > 1025.0 ? 1025.0 : x;
    x = x < -1076.0 ? -1076.0 : x;
    double t = x + WICK_ROUNDER_F64, r = x - (t - WICK_ROUNDER_F64);
    WICK_POLY(WICK_FMA, r, wick_exp2_c_f64, p);
    return wick_scale_f64(WICK_FMA(r, p, 1.0), wick_bits_f64(t) - wick_bits_f64(WICK_ROUNDER_F64));
}

/* ---- gelu: a Phi(a). erfc(|a| / sqrt 2) = 2^-(|a| Q(|a|)), one polynomial to where it is below half a unit ------- */

/* -log2(erfc(x / sqrt 2)) / x over x in [0, 5.7]; the error in units of Phi: 2^-26.9 */
static const float wick_gelu_c_f32[] = {0x1.26aed4p+0f, 0x1.d63aacp-2f, 0x1.ae0c84p-5f, -0x1.cee93p-8f, 0x1.1f402ap-13f,
    0x1.8669a4p-13f, -0x1.4a4a32p-15f, 0x1.7c71c6p-19f};

WICK_MATH float wick_gelu_f32(float x) {
    float a = __builtin_fabsf(x), q, p;
    a = a > 5.7f ? 5.7f : a;
    WICK_POLY(WICK_FMAF, a, wick_gelu_c_f32, q);
    q *= -a;
    float t = q + WICK_ROUNDER_F32, r = q - (t - WICK_ROUNDER_F32);
    WICK_POLY(WICK_FMAF, r, wick_exp2_c_f32, p);
    float half =
        WICK_FMAF(r, p, 1.0f) * wick_from_bits_f32((wick_bits_f32(t) - wick_bits_f32(WICK_ROUNDER_F32) + 126) << 23);
    half = __builtin_fabsf(x) > 5.7f ? 0.0f : half;
    return x * (x > 0 ? 1.0f - half : half);
}
WICK_MATH double wick_gelu_f64(double x) { return 0.5 * x * (1.0 + wick_erf_f64(x * 0.70710678118654752440)); }

/* ---- log2, log10: the natural logarithm's parts, times 1 / log of the base in two parts -------------------------- */

#define WICK_LOG_F32(name, factor)                                                                     \
    WICK_MATH float wick_##name##_f32(float x) {                                                       \
        float r = (float)(wick_log_wide((double)x) * (factor));                                        \
        float special = x == 0 ? -INFINITY : x < 0 ? NAN : x;                                          \
        return ((x > 0) & (x < INFINITY)) ? r : special;                                               \
    }
WICK_LOG_F32(log2, 0x1.71547652b82fep+0)
WICK_LOG_F32(log10, 0x1.bcb7b1526e50ep-2)

/* per_k: of a factor of two, in two parts of which the first has 41 bits; per_e: of a factor of e */
#define WICK_LOG_F64(name, per_k, per_k_lo, per_e, per_e_lo)                                                     \
    WICK_MATH double wick_##name##_f64(double x) {                                                               \
        double k, tiny = x < 0x1p-1022 ? 54.0 : 0.0, m = wick_log_split_f64(x < 0x1p-1022 ? x * 0x1p54 : x, &k); \
        double l = wick_log_sum_f64(m - 1.0, 0.0);                                                               \
        k -= tiny;                                                                                               \
        double r = WICK_FMA(k, per_k, WICK_FMA(l, per_e, WICK_FMA(l, per_e_lo, k * (per_k_lo))));                \
        double special = x == 0 ? (double)-INFINITY : x < 0 ? (double)NAN : x;                                   \
        return ((x > 0) & (x < (double)INFINITY)) ? r : special;                                                 \
    }
WICK_LOG_F64(log2, 1.0, 0.0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56)
WICK_LOG_F64(log10, 0x1.34413509f8p-2, -0x1.80433b83b532ap-44, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57)

/* log(e^a + e^b) = max(a, b) + log(1 + e^-|a - b|) */
WICK_MATH float wick_logaddexp_f32(float a, float b) {
    float d = a == b ? 0.0f : __builtin_fabsf(a - b);
    return (a > b ? a : b) + wick_log1p_f32(wick_exp_below_f32(-d));
}
WICK_MATH double wick_logaddexp_f64(double a, double b) {
    double d = a == b ? 0.0 : __builtin_fabs(a - b);
    return (a > b ? a : b) + wick_log1p_f64(wick_exp_f64(-d));
}

/* ---- roots ------------------------------------------------------------------------------------------------------- */

/* cbrt on [0.3535, 2.829] */
static const double wick_cbrt_c[] = {/* 2^-10.5 */ 0x1.a91a6994160c8p-2, 0x1.0d67b6e24b2c1p+0, -0x1.85abb10739bap-1,
    0x1.8c3aac9fa723ep-2, -0x1.abd3ae95d636p-4, 0x1.7188e4fa20863p-7};

/* x > 0 and normal is 8^q t: cbrt(t) to 2^-30, by the polynomial and a step of Halley's method */
WICK_MATH double wick_cbrt_start(double x, double *t, double *q) {
    double k, c, m = wick_log_split_f64(x, &k);
    *q = (k * 0x1.5555555555555p-2 + WICK_ROUNDER_F64) - WICK_ROUNDER_F64;
    double rest = k - 3.0 * *q;
    *t = m * (rest == 0 ? 1.0 : rest < 0 ? 0.5 : 2.0);
    WICK_POLY(WICK_FMA, *t, wick_cbrt_c, c);
    double c3 = c * c * c;
    return c * ((c3 + 2.0 * *t) / (2.0 * c3 + *t));
}
WICK_MATH double wick_power_of_two(double q) { /* q whole, |q| <= 1022 */
    return wick_from_bits_f64((wick_bits_f64(WICK_ROUNDER_F64 + (1023.0 + q)) - wick_bits_f64(WICK_ROUNDER_F64)) << 52);
}
WICK_MATH float wick_cbrt_f32(float x) {
    double t, q, c = wick_cbrt_start(__builtin_fabs((double)x), &t, &q);
    float r = __builtin_copysignf((float)(c * wick_power_of_two(q)), x);
    return ((x == 0) | !(__builtin_fabsf(x) < INFINITY)) ? x : r;
}
/* The last step as in FreeBSD's s_cbrt.c: from a start of 23 bits, whose square is exact, to 0.667 units of the last
 * place. */
WICK_MATH double wick_cbrt_f64(double x) {
    double a = __builtin_fabs(x), t, q, tiny = a < 0x1p-1022 ? 18.0 : 0.0;
    double c = wick_cbrt_start(a < 0x1p-1022 ? a * 0x1p54 : a, &t, &q);
    c = wick_from_bits_f64((wick_bits_f64(c) + 0x20000000u) & ~UINT64_C(0x3fffffff));
    double r = t / (c * c);
    r = (r - c) / (c + c + r);
    r = __builtin_copysign(WICK_FMA(c, r, c) * wick_power_of_two(q - tiny), x);
    return ((x == 0) | !(a < (double)INFINITY)) ? x : r;
}

/* sqrt(a^2 + b^2); Inf even beside NaN. In f64 both are scaled by a power of two so that squares neither overflow nor
 * vanish. */
WICK_MATH float wick_hypot_f32(float a, float b) {
    double x = (double)a, y = (double)b;
    float r = (float)__builtin_sqrt(x * x + y * y);
    return ((__builtin_fabsf(a) == INFINITY) | (__builtin_fabsf(b) == INFINITY)) ? INFINITY : r;
}
WICK_MATH double wick_hypot_f64(double a, double b) {
    double x = __builtin_fabs(a), y = __builtin_fabs(b), big = x > y ? x : y;
    double down = big > 0x1p500    ? 0x1p-600
                  : big < 0x1p-500 ? 0x1p600
                                   : 1.0,
           up = big > 0x1p500    ? 0x1p600
                : big < 0x1p-500 ? 0x1p-600
                                 : 1.0;
    double u = x * down, v = y * down, r = __builtin_sqrt(WICK_FMA(u, u, v * v)) * up;
    return ((x == (double)INFINITY) | (y == (double)INFINITY)) ? (double)INFINITY : r;
}

#endif
