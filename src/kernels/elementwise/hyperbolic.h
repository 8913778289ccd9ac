/* hyperbolic.h: hyperbolic sine and cosine, the inverses of these and of the tangent, and activations of one
 * exponential. As math.h and powers.h, whose rules hold here. */
#ifndef WICK_KERNELS_HYPERBOLIC_H
#define WICK_KERNELS_HYPERBOLIC_H

#include "kernels/elementwise/powers.h"

/* (e^x - e^-x) / 2; near 0, where that cancels, x + x^3 / 6 */
WICK_MATH float wick_sinh_f32(float x) {
    double t = __builtin_fabs((double)x), e = wick_exp_wide(t), y = 0.5 * e - 0.5 / e;
    y = t < 0.02 ? WICK_FMA(t * t * t, 0x1.5555555555555p-3, t) : y;
    return __builtin_copysignf((float)y, x);
}
WICK_MATH float wick_cosh_f32(float x) {
    double e = wick_exp_wide(__builtin_fabs((double)x));
    return (float)(0.5 * e + 0.5 / e);
}
/* With E = e^|x| - 1: sinh = (E + E / (E + 1)) / 2. E / 4 is computed, which does not overflow before the result does.
 */
WICK_MATH double wick_sinh_f64(double x) {
    uint64_t n;
    double t = __builtin_fabs(x);
    t = t > 710.6 ? 710.6 : t; /* overflows from 710.48 on; the power of two from 710.8 */
    double e = wick_exp_reduce_f64(t, 0.0, &n), s = wick_from_bits_f64((n + 1021) << 52), q = WICK_FMA(s, e, s - 0.25);
    double y = WICK_FMA(2.0, q, 0.5 * q / (q + 0.25));
    return __builtin_copysign(__builtin_fabs(x) < 0x1p-30 ? __builtin_fabs(x) : y, x);
}
WICK_MATH double wick_cosh_f64(double x) {
    uint64_t n;
    double t = __builtin_fabs(x);
    t = t > 710.6 ? 710.6 : t; /* overflows from 710.48 on; the power of two from 710.8 */
    double e = wick_exp_reduce_f64(t, 0.0, &n), s = wick_from_bits_f64((n + 1021) << 52), q = WICK_FMA(s, e, s);
    return WICK_FMA(2.0, q, 0.125 / q);
}

/* log(x + sqrt(x^2 + 1)) */
WICK_MATH float wick_asinh_f32(float x) {
    double t = __builtin_fabs((double)x), y = wick_log_wide(t + __builtin_sqrt(t * t + 1.0));
    y = t < 0x1p-10 ? WICK_FMA(t * t * t, -0x1.5555555555555p-3, t) : y;
    return __builtin_copysignf(t < (double)INFINITY ? (float)y : (float)t, x);
}
WICK_MATH float wick_acosh_f32(float x) {
    double t = (double)x, y = wick_log_wide(t + __builtin_sqrt((t - 1.0) * (t + 1.0)));
    return x >= 1.0f ? (x < INFINITY ? (float)y : x) : NAN;
}
WICK_MATH float wick_atanh_f32(float x) {
    double t = __builtin_fabs((double)x), y = 0.5 * wick_log_wide((1.0 + t) / (1.0 - t));
    y = t < 0x1p-10 ? WICK_FMA(t * t * t, 0x1.5555555555555p-2, t) : y;
    float r = t < 1.0 ? (float)y : t == 1.0 ? INFINITY : NAN;
    return __builtin_copysignf(r, x);
}

/* (asinh(x) / x - 1) / x^2 over z = x^2 in [0, 0.3601] */
static const double wick_asinh_c_f64[] = {/* 2^-62.1 */ -0x1.555555555555p-3, 0x1.3333333332796p-4,
    -0x1.6db6db6d33ee4p-5, 0x1.f1c71c43113adp-6, -0x1.6e8b9df4d485fp-6, 0x1.1c4e6d988763fp-6, -0x1.c99159e643023p-7,
    0x1.7a40c67412d89p-7, -0x1.3e26ccd172c83p-7, 0x1.0b209d214a632p-7, -0x1.ab19b6a7552d3p-8, 0x1.270ee8815f608p-8,
    -0x1.298f874d72ff4p-9, 0x1.382c0bf6b30d4p-11};

/* Beyond 2^28: log(2 x), as log1p(x - 1) + log 2 */
WICK_MATH double wick_asinh_f64(double x) {
    double t = __builtin_fabs(x), z = t * t, p, far = t > 0x1p28 ? 0x1.62e42fefa39efp-1 : 0.0;
    WICK_POLY(WICK_FMA, z, wick_asinh_c_f64, p);
    double y = wick_log1p_f64(t > 0x1p28 ? t - 1.0 : t + z / (1.0 + __builtin_sqrt(z + 1.0))) + far;
    return __builtin_copysign(t <= 0.6 ? WICK_FMA(t * z, p, t) : y, x);
}
WICK_MATH double wick_acosh_f64(double x) {
    double t = x - 1.0, far = x > 0x1p28 ? 0x1.62e42fefa39efp-1 : 0.0;
    double y = wick_log1p_f64(x > 0x1p28 ? t : t + __builtin_sqrt(WICK_FMA(t, t, 2.0 * t))) + far;
    return x >= 1.0 ? y : (double)NAN;
}
WICK_MATH double wick_atanh_f64(double x) {
    double t = __builtin_fabs(x), u = 2.0 * t, y = 0.5 * wick_log1p_f64(u + u * t / (1.0 - t));
    y = t == 1.0 ? (double)INFINITY : t > 1.0 ? (double)NAN : y;
    return __builtin_copysign(y, x);
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* x tanh(log(1 + e^x)) = x w / (w + 2), w = e^x (e^x + 2) (Misra 2019); from 20 (40) on the factor rounds to 1 */
WICK_MATH float wick_mish_f32(float x) {
    float e = wick_exp_f32(x > 20.0f ? 20.0f : x), w = WICK_FMAF(e, e, 2.0f * e);
    return x * (w / (w + 2.0f));
}
WICK_MATH double wick_mish_f64(double x) {
    double e = wick_exp_f64(x > 40.0 ? 40.0 : x), w = WICK_FMA(e, e, 2.0 * e);
    return x * (w / (w + 2.0));
}
/* x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks, Gimpel 2016) */
WICK_MATH float wick_gelu_tanh_f32(float x) {
    return x * wick_sigmoid_f32(x * WICK_FMAF(x * x, 0.071354816272600280f, 1.5957691216057308f));
}
WICK_MATH double wick_gelu_tanh_f64(double x) {
    return x * wick_sigmoid_f64(x * WICK_FMA(x * x, 0.071354816272600280, 1.5957691216057308));
}

#endif
