/* whole.h: whole numbers: parts of a float, division with either rounding and its remainders, bits and shifts, bounds.
 * All exact, for every type that has them. */
#ifndef WICK_KERNELS_WHOLE_H
#define WICK_KERNELS_WHOLE_H

#include "kernels/elementwise/math.h"

#if defined(__SSE4_1__) || defined(WICK_NEON) /* has instructions that round */
WICK_MATH float wick_trunc_f32(float x) { return __builtin_truncf(x); }
WICK_MATH double wick_trunc_f64(double x) { return __builtin_trunc(x); }
#else
WICK_MATH float wick_trunc_f32(float x) {
    float t = __builtin_fabsf(x), r = (t + 0x1p23f) - 0x1p23f;
    r -= r > t ? 1.0f : 0.0f;
    return __builtin_copysignf(t < 0x1p23f ? r : t, x);
}
WICK_MATH double wick_trunc_f64(double x) {
    double t = __builtin_fabs(x), r = (t + 0x1p52) - 0x1p52;
    r -= r > t ? 1.0 : 0.0;
    return __builtin_copysign(t < 0x1p52 ? r : t, x);
}
#endif
WICK_MATH float wick_frac_f32(float x) { return x - wick_trunc_f32(x); }
WICK_MATH double wick_frac_f64(double x) { return x - wick_trunc_f64(x); }
WICK_MATH float wick_copysign_f32(float x, float s) { return __builtin_copysignf(x, s); }
WICK_MATH double wick_copysign_f64(double x, double s) { return __builtin_copysign(x, s); }
WICK_MATH uint8_t wick_signbit_f32(float x) { return (uint8_t)(wick_bits_f32(x) >> 31); }
WICK_MATH uint8_t wick_signbit_f64(double x) { return (uint8_t)(wick_bits_f64(x) >> 63); }

/* ---- remainders of floats ---------------------------------------------------------------------------------------- */

/* a - b trunc(a / b) without any rounding, by long division: s = |b| 2^(49 k) near |a|, then digits of 49 bits. Of a
 * digit the rounded quotient is right or one off, and what is left is a multiple of the last place of s, so the
 * multiply-add is exact; where there is no such instruction the C library's does the same. The loops run once unless |a
 * / b| passes 2^50. */
WICK_MATH double wick_fmod_f64(double a, double b) {
    double x = __builtin_fabs(a), y = __builtin_fabs(b), s = y;
    if (!((x < (double)INFINITY) & (y > 0))) return (double)NAN;
    if (y == (double)INFINITY) return a;
    while (s < x * 0x1p-50) s *= 0x1p49;
    for (;; s *= 0x1p-49) {
        double r = __builtin_fma(-wick_trunc_f64(x / s), s, x);
        r = r < 0 ? r + s : r;
        x = r >= s ? r - s : r;
        if (s == y) return __builtin_copysign(x, a);
    }
}
WICK_MATH float wick_fmod_f32(float a, float b) { return (float)wick_fmod_f64((double)a, (double)b); }

/* The same without a loop, where the quotient is below 2^24 (2^53): else *far is set, and the result is of no use.
 * Whole numbers up to there are floats, so the rounded quotient, cut, is right or one too large, and what is left a
 * multiple of y's last place below y: exact. */
WICK_MATH float wick_fmod_near_f32(float a, float b, uint32_t *far) {
    float x = __builtin_fabsf(a), y = __builtin_fabsf(b), q = x / y, t = wick_trunc_f32(q);
#ifdef __FMA__
    float r = __builtin_fmaf(-t, y, x);
#else
    float r = (float)((double)x - (double)t * (double)y);
#endif
    r = r < 0 ? r + y : r;
    *far |= (uint32_t)((q >= 0x1p24f) & (x < INFINITY) & (y > 0));
    return __builtin_copysignf(x < y ? x : r, a);
}
WICK_MATH double wick_fmod_near_f64(double a, double b, uint64_t *far) {
    double x = __builtin_fabs(a), y = __builtin_fabs(b), q = x / y, t = wick_trunc_f64(q);
#ifdef __FMA__
    double r = __builtin_fma(-t, y, x), most = (double)INFINITY;
#else
    double hi, lo, most = 0x1p990; /* beyond, Dekker's split overflows */
    wick_two_prod(t, y, &hi, &lo);
    double r = (x - hi) - lo;
#endif
    r = r < 0 ? r + y : r;
    *far |= (uint64_t)(((q >= 0x1p53) | (x >= most)) & (x < (double)INFINITY) & (y > 0));
    return __builtin_copysign(x < y ? x : r, a);
}

/* As Python divides (and PyTorch): the remainder has the divisor's sign, the quotient is the whole number that goes
 * with it. NAME_of has r, which fmod gives. */
#define WICK_FLOOR_DIVISION(T, t, copysign_)                                              \
    WICK_MATH T wick_fmod_of_##t(T a, T b, T r) { return (void)a, (void)b, r; }            \
    WICK_MATH T wick_remainder_of_##t(T a, T b, T r) {                                    \
        (void)a;                                                                          \
        return ((r != 0) & ((r < 0) != (b < 0))) ? r + b : r;                              \
    }                                                                                     \
    WICK_MATH T wick_floor_divide_of_##t(T a, T b, T r) {                                 \
        T q = (a - r) / b;                                                                \
        q -= ((r != 0) & ((r < 0) != (b < 0))) ? (T)1 : (T)0;                              \
        T w = wick_floor_##t(q);                                                          \
        w += q - w > (T)0.5 ? (T)1 : (T)0;                                                \
        w = q != 0 ? w : copysign_((T)0, a / b);                                          \
        return b == 0 ? a / b : w;                                                        \
    }                                                                                     \
    WICK_MATH T wick_remainder_##t(T a, T b) { return wick_remainder_of_##t(a, b, wick_fmod_##t(a, b)); } \
    WICK_MATH T wick_floor_divide_##t(T a, T b) { return wick_floor_divide_of_##t(a, b, wick_fmod_##t(a, b)); } \
    WICK_MATH T wick_trunc_divide_##t(T a, T b) { return wick_trunc_##t(a / b); }
WICK_FLOOR_DIVISION(float, f32, __builtin_copysignf)
WICK_FLOOR_DIVISION(double, f64, __builtin_copysign)

/* ---- neighbours: floats in order are whole numbers in order, by their bits less the sign ------------------------- */

/* Only bits are compared, so that a thread which takes denormals for 0 gets the same. A zero takes the sign of a. */
#define WICK_NEXTAFTER(T, I, U, t, top)                                                                    \
    WICK_MATH T wick_nextafter_##t(T a, T b) {                                                             \
        U ua = wick_bits_##t(a), ub = wick_bits_##t(b);                                                    \
        I ka = (I)(ua & ~(top)), kb = (I)(ub & ~(top));                                                    \
        ka = ua & (top) ? -ka : ka;                                                                        \
        kb = ub & (top) ? -kb : kb;                                                                        \
        I k = ka + (kb > ka ? 1 : kb < ka ? -1 : 0);                                                       \
        U sign = k < 0 ? (top) : k == 0 ? ua & (top) : 0, u = (U)(k < 0 ? -k : k) | sign;                   \
        u = kb == ka ? ub : u;                                                                             \
        return ((a != a) | (b != b)) ? a + b : wick_from_bits_##t(u);                                      \
    }
WICK_NEXTAFTER(float, int32_t, uint32_t, f32, UINT32_C(0x80000000))
WICK_NEXTAFTER(double, int64_t, uint64_t, f64, UINT64_C(0x8000000000000000))

/* ---- integers: x / 0 and x % 0 are 0, the least number over -1 wraps --------------------------------------------- */

/* Quotients of 32 bits are exact in f64: the nearest fraction to a whole number is 1 / b away, far more than the
 * rounding. */
WICK_MATH int32_t wick_trunc_divide_i32(int32_t a, int32_t b) {
    int32_t d = ((b == 0) | (b == -1)) ? 1 : b, q = (int32_t)((double)a / (double)d);
    q = b == -1 ? -a : q;
    return b == 0 ? 0 : q;
}
WICK_MATH int64_t wick_trunc_divide_i64(int64_t a, int64_t b) {
    int64_t d = ((b == 0) | (b == -1)) ? 1 : b, q = a / d;
    q = b == -1 ? -a : q;
    return b == 0 ? 0 : q;
}
WICK_MATH uint64_t wick_trunc_divide_u64(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / (b == 0 ? 1 : b); }

#define WICK_INTEGER_DIVISION(T, t)                                                                                    \
    WICK_MATH T wick_fmod_##t(T a, T b) { return b == 0 ? 0 : a - wick_trunc_divide_##t(a, b) * b; }                   \
    WICK_MATH T wick_remainder_##t(T a, T b) {                                                                         \
        T r = wick_fmod_##t(a, b);                                                                                     \
        return ((r != 0) & ((r < 0) != (b < 0))) ? r + b : r;                                                          \
    }                                                                                                                  \
    WICK_MATH T wick_floor_divide_##t(T a, T b) {                                                                      \
        T q = wick_trunc_divide_##t(a, b), r = a - q * b;                                                              \
        return q - (T)((b != 0) & (r != 0) & ((r < 0) != (b < 0)));                                                    \
    }
WICK_INTEGER_DIVISION(int32_t, i32)
WICK_INTEGER_DIVISION(int64_t, i64)
WICK_MATH uint64_t wick_fmod_u64(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % (b == 0 ? 1 : b); }
WICK_MATH uint64_t wick_remainder_u64(uint64_t a, uint64_t b) { return wick_fmod_u64(a, b); }
WICK_MATH uint64_t wick_floor_divide_u64(uint64_t a, uint64_t b) { return wick_trunc_divide_u64(a, b); }

/* a^b, which wraps; of b below 0 what 1 / a^-b is when rounded towards 0, and 0 of a = 0. */
WICK_MATH uint64_t wick_pow_u64(uint64_t a, uint64_t b) {
    uint64_t y = 1;
    for (; b; b >>= 1, a *= a) y = b & 1 ? y * a : y;
    return y;
}
WICK_MATH int64_t wick_pow_i64(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a != -1 ? 0 : b & 1 ? -1 : 1;
    return (int64_t)wick_pow_u64((uint64_t)a, (uint64_t)b);
}
WICK_MATH int32_t wick_pow_i32(int32_t a, int32_t b) { return (int32_t)wick_pow_i64(a, b); }

/* Shifts by as many bits as there are, or more, or fewer than none, push everything out. */
WICK_MATH int32_t wick_shl_i32(int32_t a, int32_t b) {
    return (uint32_t)b < 32 ? (int32_t)((uint32_t)a << (b & 31)) : 0;
}
WICK_MATH int64_t wick_shl_i64(int64_t a, int64_t b) {
    return (uint64_t)b < 64 ? (int64_t)((uint64_t)a << (b & 63)) : 0;
}
WICK_MATH uint64_t wick_shl_u64(uint64_t a, uint64_t b) { return b < 64 ? a << (b & 63) : 0; }
WICK_MATH int32_t wick_shr_i32(int32_t a, int32_t b) { return a >> ((uint32_t)b < 32 ? b : 31); }
WICK_MATH int64_t wick_shr_i64(int64_t a, int64_t b) { return a >> ((uint64_t)b < 64 ? b : 63); }
WICK_MATH uint64_t wick_shr_u64(uint64_t a, uint64_t b) { return b < 64 ? a >> (b & 63) : 0; }

WICK_MATH int32_t wick_not_i32(int32_t a) { return ~a; }
WICK_MATH int64_t wick_not_i64(int64_t a) { return ~a; }
WICK_MATH uint64_t wick_not_u64(uint64_t a) { return ~a; }
WICK_MATH uint8_t wick_not_b8(uint8_t a) { return a ^ 1; }

/* ---- bounds: the lower one first; NaN anywhere is the result ----------------------------------------------------- */

#define WICK_CLAMP(T, t, is_nan)                               \
    WICK_MATH T wick_clamp_##t(T a, T lo, T hi) {              \
        T x = ((a < lo) | is_nan(lo)) ? lo : a;                \
        return ((x > hi) | is_nan(hi)) ? hi : x;               \
    }
#define WICK_IS_NAN(x) ((x) != (x))
#define WICK_NEVER(x)  0
WICK_CLAMP(float, f32, WICK_IS_NAN)
WICK_CLAMP(double, f64, WICK_IS_NAN)
WICK_CLAMP(int32_t, i32, WICK_NEVER)
WICK_CLAMP(int64_t, i64, WICK_NEVER)
WICK_CLAMP(uint64_t, u64, WICK_NEVER)

#endif
