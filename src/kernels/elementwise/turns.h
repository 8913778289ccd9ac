/* turns.h: sine, cosine and tangent of any argument: those of math.h and angles.h up to a limit, beyond it by the
 * digits of 2 / pi that the argument's exponent asks for (Payne and Hanek: Radian reduction for trigonometric
 * functions, 1983). As math.h, whose rules hold here, but for a branch: kernels ask first whether any argument of a
 * chunk is that large. */
#ifndef WICK_KERNELS_TURNS_H
#define WICK_KERNELS_TURNS_H

#include "kernels/elementwise/angles.h"

#define WICK_TURN_LIMIT_f32 0x1p20f
#define WICK_TURN_LIMIT_f64 0x1p30

/* 64 zeros, then 1,216 binary digits of 2 / pi. */
static const uint64_t wick_two_over_pi[] = {
    UINT64_C(0x0000000000000000), UINT64_C(0xa2f9836e4e441529), UINT64_C(0xfc2757d1f534ddc0),
    UINT64_C(0xdb6295993c439041), UINT64_C(0xfe5163abdebbc561), UINT64_C(0xb7246e3a424dd2e0),
    UINT64_C(0x06492eea09d1921c), UINT64_C(0xfe1deb1cb129a73e), UINT64_C(0xe88235f52ebb4484),
    UINT64_C(0xe99c7026b45f7e41), UINT64_C(0x3991d639835339f4), UINT64_C(0x9c845f8bbdf9283b),
    UINT64_C(0x1ff897ffde05980f), UINT64_C(0xef2f118b5a0a6d1f), UINT64_C(0x6d367ecf27cb09b7),
    UINT64_C(0x4f463f669e5fea2d), UINT64_C(0x7527bac7ebe5f17b), UINT64_C(0x3d0739f78a5292ea),
    UINT64_C(0x6bfb5fb11f8d5d08), UINT64_C(0x56033046fc7b6bab),
};

/* The upper half of a product. */
WICK_MATH uint64_t wick_mul_high(uint64_t a, uint64_t b) {
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl, mid = ah * bl + (low >> 32), other = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (other >> 32);
}
/* |x| = n pi/2 + r + tail, |r| <= pi/4: returns n modulo 2^64, of which the last two bits are right; those of -|x| are
 * of -n, -r, -tail. x is finite, |x| >= 2^20. A product with 53 bits of x of 192 digits from the place of 2 on: what is
 * dropped before are whole turns, and behind it is below 2^-137, where a double is 2^-62 from a quarter turn at least.
 */
WICK_MATH uint64_t wick_turn(double x, double *r, double *tail) {
    uint64_t u = wick_bits_f64(x), m = (u & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000), w[3], top, mid,
             low, sign, a, b;
    uint64_t at = (u >> 52 & 0x7ff) - 1013, shift = at & 63;
    const uint64_t *digits = wick_two_over_pi + (at >> 6);
    for (int k = 0; k < 3; k++) w[k] = shift ? digits[k] << shift | digits[k + 1] >> (64 - shift) : digits[k];
    low = m * w[2];
    mid = m * w[1] + wick_mul_high(m, w[2]);
    top = m * w[0] + wick_mul_high(m, w[1]) + (mid < m * w[1]);
    /* quarter turns in the two highest bits; the others are a part of one, from -1/2 to 1/2 */
    uint64_t n = top >> 62;
    top = top << 2 | mid >> 62, mid = mid << 2 | low >> 62, low <<= 2;
    sign = top >> 63;
    n += sign;
    if (sign) low = ~low, mid = ~mid, top = ~top; /* short of -part by the last digit */
    double unit = 1.0;
    for (; top >> 63 == 0 && unit > 0x1p-128; unit *= 0.5)
        top = top << 1 | mid >> 63, mid = mid << 1 | low >> 63, low <<= 1;
    a = top >> 11, b = (top & 0x7ff) << 42 | mid >> 22;
    double hi, lo, part = (double)(int64_t)a * 0x1p-53 * unit, rest = (double)(int64_t)b * 0x1p-106 * unit;
    wick_two_prod(part, WICK_PIO2, &hi, &lo);
    lo += part * WICK_PIO2_LO + rest * WICK_PIO2;
    *r = hi + lo;
    *tail = lo - (*r - hi);
    int back = (sign != 0) != (x < 0);
    *r = back ? -*r : *r;
    *tail = back ? -*tail : *tail;
    return x < 0 ? 0 - n : n;
}

/* sin(x + quarter pi/2), x as above; Inf gives NaN */
WICK_MATH float wick_sincos_far_f32(float x, uint32_t quarter) {
    double r, tail;
    if (!(__builtin_fabsf(x) < INFINITY)) return NAN;
    uint32_t n = (uint32_t)wick_turn((double)x, &r, &tail);
    return wick_sincos_of_f32((float)r, n + quarter);
}
WICK_MATH double wick_sincos_far_f64(double x, uint64_t quarter) {
    double r, tail;
    if (!(__builtin_fabs(x) < (double)INFINITY)) return (double)NAN;
    uint64_t n = wick_turn(x, &r, &tail);
    return wick_sincos_of_f64(r, tail, n + quarter);
}
WICK_MATH float wick_tan_far_f32(float x) {
    double r, tail;
    if (!(__builtin_fabsf(x) < INFINITY)) return NAN;
    int odd = (int)(wick_turn((double)x, &r, &tail) & 1);
    return (float)wick_tan_of_f32(r, odd);
}
WICK_MATH double wick_tan_far_f64(double x) { return wick_sincos_far_f64(x, 0) / wick_sincos_far_f64(x, 1); }

WICK_MATH float wick_sin_any_f32(float x) {
    return __builtin_fabsf(x) > WICK_TURN_LIMIT_f32 ? wick_sincos_far_f32(x, 0) : wick_sin_f32(x);
}
WICK_MATH float wick_cos_any_f32(float x) {
    return __builtin_fabsf(x) > WICK_TURN_LIMIT_f32 ? wick_sincos_far_f32(x, 1) : wick_cos_f32(x);
}
WICK_MATH float wick_tan_any_f32(float x) {
    return __builtin_fabsf(x) > WICK_TURN_LIMIT_f32 ? wick_tan_far_f32(x) : wick_tan_f32(x);
}
WICK_MATH double wick_sin_any_f64(double x) {
    return __builtin_fabs(x) > WICK_TURN_LIMIT_f64 ? wick_sincos_far_f64(x, 0) : wick_sin_f64(x);
}
WICK_MATH double wick_cos_any_f64(double x) {
    return __builtin_fabs(x) > WICK_TURN_LIMIT_f64 ? wick_sincos_far_f64(x, 1) : wick_cos_f64(x);
}
WICK_MATH double wick_tan_any_f64(double x) {
    return __builtin_fabs(x) > WICK_TURN_LIMIT_f64 ? wick_tan_far_f64(x) : wick_tan_f64(x);
}

#endif
