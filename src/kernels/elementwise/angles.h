/* angles.h: tangent and the inverses of sine, cosine and tangent. As math.h and powers.h, whose rules hold here. */
#ifndef WICK_KERNELS_ANGLES_H
#define WICK_KERNELS_ANGLES_H

#include "kernels/elementwise/math.h"

#define WICK_PI       0x1.921fb54442d18p+1
#define WICK_PI_LO    0x1.1a62633145c07p-53
#define WICK_PIO2     0x1.921fb54442d18p+0
#define WICK_PIO2_LO  0x1.1a62633145c07p-54

/* ---- tangent: sine over cosine of the reduced argument, or minus the inverse. In f32 the reduction, as good as for
 * sine, leaves an r that is kept in f64. ---- */

WICK_MATH double wick_tan_of_f32(double r, int odd) {
    double z = r * r, s, c;
    WICK_POLY(WICK_FMA, z, wick_sin_c_f32, s);
    WICK_POLY(WICK_FMA, z, wick_cos_c_f32, c);
    s = WICK_FMA(r * z, s, r);
    c = WICK_FMA(z * z, c, WICK_FMA(z, -0.5, 1.0));
    return (odd ? -c : s) / (odd ? s : c);
}
WICK_MATH float wick_tan_f32(float x) {
    double t = WICK_FMA((double)x, 0x1.45f306dc9c883p-1, WICK_ROUNDER_F64), n = t - WICK_ROUNDER_F64;
    double r = WICK_FMA(n, -0x1.921fb544p+0, (double)x);
    r = WICK_FMA(n, -0x1.0b4611a626331p-34, r);
    double y = wick_tan_of_f32(r, (int)(wick_bits_f64(t) & 1));
    return __builtin_fabsf(x) < 0x1p-20f ? x : (float)y;
}
WICK_MATH double wick_tan_f64(double x) {
    double s = wick_sincos_f64(x, 0), c = wick_sincos_f64(x, 1);
    return __builtin_fabs(x) < 0x1p-40 ? x : s / c;
}

/* ---- arc sine and cosine: asin(x) = x + x^3 P(x^2) to 1/2, beyond by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)) ----
 */

/* (asin(x) / x - 1) / x^2 over z = x^2 in [0, 1/4] */
static const double wick_asin_c_f32[] = {/* 2^-35.8 */ 0x1.55555608f9068p-3, 0x1.3332a81b96fc2p-4,
    0x1.6ddb22c9717f4p-5, 0x1.ed53eadcce132p-6, 0x1.9356c2c3312bep-6, 0x1.e997879db6a24p-8, 0x1.1c310e230b614p-5};
static const double wick_asin_c_f64[] = {/* 2^-59.8 */ 0x1.5555555555578p-3, 0x1.333333332df8bp-4,
    0x1.6db6db722591p-5, 0x1.f1c71a8dea342p-6, 0x1.6e8bdfa2a52b8p-6, 0x1.1c49e2f955df2p-6, 0x1.ca20c8ac5197fp-7,
    0x1.757ba39eb53d7p-7, 0x1.6173156cd30eap-7, 0x1.e2cb2ce0def45p-9, 0x1.648ef876b6404p-6, -0x1.594f6890acbd9p-6,
    0x1.0baed5bad956bp-5};

/* asin(t), t = |x|, or what it is pi/2 minus twice of */
WICK_MATH double wick_asin_part(double t) {
    double z = t <= 0.5 ? t * t : (1.0 - t) * 0.5, s = t <= 0.5 ? t : __builtin_sqrt(z), p;
    WICK_POLY(WICK_FMA, z, wick_asin_c_f32, p);
    return WICK_FMA(s * z, p, s);
}
WICK_MATH float wick_asin_f32(float x) {
    double t = __builtin_fabs((double)x), y = wick_asin_part(t);
    return __builtin_copysignf((float)(t <= 0.5 ? y : WICK_PIO2 - 2.0 * y), x);
}
WICK_MATH float wick_acos_f32(float x) {
    double t = __builtin_fabs((double)x), y = wick_asin_part(t);
    double far = x < 0 ? WICK_PI - 2.0 * y : 2.0 * y;
    return (float)(t <= 0.5 ? WICK_PIO2 - __builtin_copysign(y, (double)x) : far);
}
/* The square root is taken as f + c, f of 21 bits so that f^2 is exact. */
WICK_MATH double wick_asin_f64(double x) {
    double t = __builtin_fabs(x), z = t <= 0.5 ? t * t : (1.0 - t) * 0.5, s = t <= 0.5 ? t : __builtin_sqrt(z), p;
    WICK_POLY(WICK_FMA, z, wick_asin_c_f64, p);
    p *= z;
    double f = wick_from_bits_f64(wick_bits_f64(s) & ~UINT64_C(0xffffffff)), c = s > 0 ? (z - f * f) / (s + f) : 0.0;
    double far = 2.0 * s * p - (WICK_PIO2_LO - 2.0 * c), half = 0.5 * WICK_PIO2;
    far = half - (far - (half - 2.0 * f));
    return __builtin_copysign(t <= 0.5 ? WICK_FMA(s, p, s) : far, x);
}
WICK_MATH double wick_acos_f64(double x) {
    double t = __builtin_fabs(x), z = t <= 0.5 ? t * t : (1.0 - t) * 0.5, s = t <= 0.5 ? x : __builtin_sqrt(z), p;
    WICK_POLY(WICK_FMA, z, wick_asin_c_f64, p);
    p *= z;
    double near = WICK_PIO2 - (x - (WICK_PIO2_LO - x * p));
    double f = wick_from_bits_f64(wick_bits_f64(s) & ~UINT64_C(0xffffffff)), c = s > 0 ? (z - f * f) / (s + f) : 0.0;
    double right = 2.0 * (f + WICK_FMA(s, p, c)), left = WICK_PI - 2.0 * (s + (s * p - WICK_PIO2_LO));
    return t <= 0.5 ? near : x < 0 ? left : right;
}

/* ---- arc tangent: atan(t) = atan(c) + atan((t - c) / (1 + c t)), c of 0, 1/2, 1, 3/2 and, as -1 / t, infinity:
 * arguments to 7/16 (the breaks of FreeBSD's s_atan.c) ---- */

/* (atan(x) / x - 1) / x^2 over z = x^2 in [0, 1], and in [0, 0.1915] */
static const double wick_atan_c_f32[] = {/* 2^-33.9 */ -0x1.555554872c81bp-2, 0x1.999937ec6d5f3p-3,
    -0x1.248a2c61df89p-3, 0x1.c66e48ee2bbb8p-4, -0x1.700b16abffefap-4, 0x1.29588f854a433p-4, -0x1.be97c41f6641p-5,
    0x1.1a6ca9c05644p-5, -0x1.0b0c43c5f682ap-6, 0x1.42d9c1ea58821p-8, -0x1.6ded4f6783324p-11};
static const double wick_atan_c_f64[] = {/* 2^-62.4 */ -0x1.5555555555552p-2, 0x1.9999999998fdfp-3,
    -0x1.2492492445d9dp-3, 0x1.c71c71a168a36p-4, -0x1.745d11cff047ep-4, 0x1.3b132fee1bf63p-4, -0x1.11090da091935p-4,
    0x1.e133144ab0babp-5, -0x1.a9fde90dd48e8p-5, 0x1.6b26bd8cb5e37p-5, -0x1.0575aca11052cp-5, 0x1.c0aee6bfb5aaap-7};

/* atan(a / b) for a, b >= 0, of f32: of the smaller over the larger; a longer polynomial instead of those cases. */
WICK_MATH double wick_atan_ratio(float a, float b) {
    float n = a > b ? b : a, d = a > b ? a : b, p_sign = a > b ? -1.0f : 1.0f;
    d = ((n == INFINITY) | (d == 0)) ? 1.0f : d; /* Inf / Inf counts as 1, 0 / 0 as 0 */
    n = n == INFINITY ? 1.0f : n;
    double t = (double)n / (double)d, z = t * t, p;
    WICK_POLY(WICK_FMA, z, wick_atan_c_f32, p);
    return WICK_FMA(t * z, p, t) * (double)p_sign + (a > b ? WICK_PIO2 : 0.0);
}

/* atan(t) for t >= 0 as hi + lo */
WICK_MATH double wick_atan_part(double t, double *lo) {
    double c = t < 0.4375 ? 0.0 : t < 0.6875 ? 0.5 : t < 1.1875 ? 1.0 : 1.5, p;
    double hi = t < 0.4375   ? 0.0
                : t < 0.6875 ? 0x1.dac670561bb4fp-2
                : t < 1.1875 ? WICK_PIO2 * 0.5
                             : 0x1.f730bd281f69bp-1;
    *lo = t < 0.4375   ? 0.0
          : t < 0.6875 ? 0x1.a2b7f222f65e2p-56
          : t < 1.1875 ? WICK_PIO2_LO * 0.5
                       : 0x1.007887af0cbbdp-56;
    int big = t >= 2.4375;
    hi = big ? WICK_PIO2 : hi;
    *lo = big ? WICK_PIO2_LO : *lo;
    double u = (big ? -1.0 : t - c) / (big ? t : 1.0 + c * t), z = u * u;
    WICK_POLY(WICK_FMA, z, wick_atan_c_f64, p);
    *lo = WICK_FMA(u * z, p, *lo);
    /* hi + u + lo, of which u is not the largest: what is lost goes to lo */
    double sum = hi + u;
    *lo += u - (sum - hi);
    return sum;
}
WICK_MATH float wick_atan_f32(float x) {
    double a = __builtin_fabs((double)x), u = (a > 1 ? -1.0 : a) / (a > 1 ? a : 1.0), z = u * u, p;
    WICK_POLY(WICK_FMA, z, wick_atan_c_f32, p);
    return __builtin_copysignf((float)(WICK_FMA(u * z, p, u) + (a > 1 ? WICK_PIO2 : 0.0)), x);
}
WICK_MATH double wick_atan_f64(double x) {
    double lo, hi = wick_atan_part(__builtin_fabs(x), &lo);
    return __builtin_copysign(hi + lo, x);
}
/* The angle of the point (x, y): by quadrant from |y| / |x|. C99 F.9.1.4. */
WICK_MATH float wick_atan2_f32(float y, float x) {
    double near = wick_atan_ratio(__builtin_fabsf(y), __builtin_fabsf(x));
    float r = (float)(wick_bits_f32(x) >> 31 ? WICK_PI - near : near);
    r = ((x != x) | (y != y)) ? x + y : r;
    return __builtin_copysignf(r, y);
}
WICK_MATH double wick_atan2_f64(double y, double x) {
    double a = __builtin_fabs(y), b = __builtin_fabs(x), lo;
    double t = y == 0 ? 0.0 : ((a == (double)INFINITY) & (b == (double)INFINITY)) ? 1.0 : a / b;
    double hi = wick_atan_part(t, &lo);
    double left = WICK_PI - (hi + (lo - WICK_PI_LO));
    double r = wick_bits_f64(x) >> 63 ? left : hi + lo;
    r = ((x != x) | (y != y)) ? x + y : r;
    return __builtin_copysign(r, y);
}

#endif
