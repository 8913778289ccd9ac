/* special.h: the complement and the inverse of the error function; the logarithm of the gamma function and its
 * derivatives. As math.h and powers.h, whose rules hold here. The gamma functions of f32 are those of f64, rounded. */
#ifndef WICK_KERNELS_SPECIAL_H
#define WICK_KERNELS_SPECIAL_H

#include "kernels/elementwise/powers.h"

/* ---- erfc(x) = e^(-x^2) erfcx(x), with erfcx(x) (1 + 2 x) smooth in (x - 4) / (x + 4) over all of x >= 0 --------- */

static const double wick_erfcx_c_f32[] = {/* 2^-32.7 */ 0x1.3ba5916f41828p+0, -0x1.1df1ad555a24ep-3,
    0x1.f7f5a41b8de71p-7, 0x1.16ed0abddcc9fp-4, -0x1.9dda3231b13bbp-4, 0x1.7fece410ffe6bp-4, -0x1.0fbbdece12e54p-4,
    0x1.307664988c3bbp-5, -0x1.087d01dc9710ap-6, 0x1.4d7b67991c107p-8, -0x1.b8a7e70acee3bp-11, -0x1.8378390b796f3p-12,
    0x1.536a20caf1d58p-14};
static const double wick_erfcx_c_f64[] = {/* 2^-61.2 */ 0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28fp-3,
    0x1.f7f5df66fd7c3p-7, 0x1.16ecefcfa5419p-4, -0x1.9ddb23c3e9124p-4, 0x1.7fee004e11034p-4, -0x1.0fb06dfe48badp-4,
    0x1.3079edf6b4b72p-5, -0x1.096238852fd2cp-6, 0x1.49c672758b548p-8, -0x1.8d4a99cc695acp-11, -0x1.a1df17ce3aa9bp-13,
    0x1.3be03b6e7abap-13, -0x1.995b1492452cap-16, -0x1.78846735607c7p-17, 0x1.7f3d4287c9c7fp-18,
    0x1.398d783cbfa15p-22, -0x1.bc4748d4a8db5p-21, 0x1.48ec3c4b4f812p-24, 0x1.e4cb356e055bdp-24,
    -0x1.43a4fea9a66e4p-26, -0x1.17003ec517b09p-26, 0x1.cbe8be107df7dp-30, 0x1.0e3ca2d8d75aap-29,
    0x1.10eef364434aap-32};

WICK_MATH float wick_erfc_f32(float x) {
    double a = __builtin_fabs((double)x), p;
    a = a > 10.5 ? 10.5 : a; /* 0 in f32 from 10.06 on */
    WICK_POLY(WICK_FMA, (a - 4.0) / (a + 4.0), wick_erfcx_c_f32, p);
    double y = wick_exp_wide(-a * a) * (p / (1.0 + 2.0 * a));
    return (float)(x < 0 ? 2.0 - y : y);
}
/* The square, which the exponential magnifies, is taken in two parts. Near 0: 1 - erf(x). */
WICK_MATH double wick_erfc_f64(double x) {
    uint64_t n;
    double a = __builtin_fabs(x), p, q, hi, lo;
    WICK_POLY(WICK_FMA, x * x, wick_erf_p_f64, q);
    double near = 1.0 - WICK_FMA(x, q, x);
    a = a > 28.0 ? 28.0 : a; /* 0 in f64 from 27.23 on */
    WICK_POLY(WICK_FMA, (a - 4.0) / (a + 4.0), wick_erfcx_c_f64, p);
    wick_two_prod(a, a, &hi, &lo);
    double e = wick_exp_reduce_f64(-hi, -lo, &n), r = p / (1.0 + 2.0 * a), y = wick_scale_f64(WICK_FMA(r, e, r), n);
    y = x < 0 ? 2.0 - y : y;
    return __builtin_fabs(x) < 0.5 ? near : y;
}

/* ---- erfinv(x) = x P(w), w = -log(1 - x^2), by its square root from 5 on (Giles 2010): to 2^-27, enough for f32; in
 * f64 a step of Halley's method follows ---- */

static const double wick_erfinv_c[] = {/* 2^-28.7 */ 0x1.c5bf892c784cdp-1, 0x1.db29ec59dfac6p-3, 0x1.7a7b3cbe6a2b1p-7,
    -0x1.328466bb76b08p-9, -0x1.ffb75f1d54616p-14, 0x1.53a0c1faae875p-15, 0x1.879f8d5606552p-18,
    -0x1.4f42f77522b33p-19, 0x1.4ca55907b3f25p-22, -0x1.26d68951828dcp-26, 0x1.70f50c4566d14p-32};
static const double wick_erfinv_tail_c[] = {/* 2^-27.4 */ -0x1.6b4f00bcd9b45p+2, 0x1.5ab1559835685p+4,
    -0x1.f0c2370c442b3p+4, 0x1.9a8117a870227p+4, -0x1.9bcb74d092199p+3, 0x1.e93728e6a14fep+1, -0x1.c9e5c22f00e5fp-2,
    -0x1.1f7fb9d608c47p-3, 0x1.58a19cc39fa9fp-4, -0x1.658da631241c7p-6, 0x1.d12f63e700801p-9, -0x1.91670a6658a08p-12,
    0x1.c1826457cd383p-16, -0x1.2978bedc2ee32p-20, 0x1.62979b902bc9bp-26};

WICK_MATH double wick_erfinv_start(double a) { /* 0 <= a < 1 */
    double w = -wick_log_wide((1.0 - a) * (1.0 + a)), s = __builtin_sqrt(w), p, q;
    s = s > 6.07 ? 6.07 : s;
    WICK_POLY(WICK_FMA, w, wick_erfinv_c, p);
    WICK_POLY(WICK_FMA, s, wick_erfinv_tail_c, q);
    return a * (w < 5.0 ? p : q);
}
WICK_MATH float wick_erfinv_f32(float x) {
    double a = __builtin_fabs((double)x);
    float r = (float)wick_erfinv_start(a);
    r = a < 1.0 ? r : a == 1.0 ? INFINITY : NAN;
    return __builtin_copysignf(r, x);
}
WICK_MATH double wick_erfinv_f64(double x) {
    double a = __builtin_fabs(x), y = wick_erfinv_start(a), z = y * y, p;
    WICK_POLY(WICK_FMA, z, wick_erf_p_f64, p);
    double off = a < 0.5 ? WICK_FMA(y, p, y) - a : (1.0 - a) - wick_erfc_f64(y); /* erf(y) - a */
    double step = off / (0x1.20dd750429b6dp+0 * wick_exp_f64(-z));
    y -= step / WICK_FMA(y, step, 1.0);
    y = a < 1.0 ? y : a == 1.0 ? (double)INFINITY : (double)NAN;
    return __builtin_copysign(y, x);
}

/* ---- gamma functions: from 8 on by Stirling's series, below by steps of one to [3/2, 5/2]; negative ones by
 * reflection ---- */

/* log(gamma(2 + t)) / t over |t| <= 1/2 */
static const double wick_lgamma_c[] = {/* 2^-62.5 */ 0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2,
    -0x1.13e001a55760ap-4, 0x1.51322ac7d84fp-6, -0x1.e404fc218dccp-8, 0x1.7add6eada718cp-9, -0x1.38ac5c2d3d25cp-10,
    0x1.0b36af8e86a03p-11, -0x1.d3fd4b6eaa549p-13, 0x1.a127ac1c72e7cp-14, -0x1.78de9971357e2p-15,
    0x1.580ea695ef427p-16, -0x1.3cb3e0cdca41p-17, 0x1.2580393bd9274p-18, -0x1.1274c86d757b9p-19,
    0x1.01fb07d8af7ddp-20, -0x1.ce3bd1773eaa3p-22, 0x1.a65b086ecf291p-23, -0x1.1fc8df93fcbb7p-23,
    0x1.29084512e432cp-24};
/* over u = 1 / x^2 in [0, 1/64]: what Stirling's series is after its logarithm, times x; (log x - 1 / 2x - psi(x)) / u
 * (Abramowitz, Stegun 1964, 6.1.41, 6.3.18) */
static const double wick_stirling_c[] = {/* 2^-60.6 */ 0x1.5555555555555p-4, -0x1.6c16c16c14af6p-9,
    0x1.a01a017e8a7p-11, -0x1.38134e161be6dp-11, 0x1.b92c937e19732p-11, -0x1.ef980ce40e4a4p-10, 0x1.4c38388548cc5p-8};
static const double wick_digamma_c[] = {/* 2^-56.7 */ 0x1.5555555555555p-4, -0x1.11111111099f6p-7,
    0x1.041040c7a16bbp-8, -0x1.1110b4cf8766bp-8, 0x1.f0389f89c3dp-8, -0x1.53284fa812cd2p-6, 0x1.04d0c0fe335f6p-4};

/* x > 0. Near 1 and 2, where the result has zeros, t is exact. */
WICK_MATH double wick_lgamma_right(double x) {
    double y = x, product = 1.0, q, s;
    _Pragma("GCC unroll 6") for (int i = 0; i < 6; i++) {
        int above = y > 2.5;
        product = above ? product * (y - 1.0) : product;
        y = above ? y - 1.0 : y;
    }
    double t = x < 0.5 ? x : x < 1.5 ? x - 1.0 : y - 2.0;
    double below = x < 0.5 ? x * (x + 1.0) : x, u = 1.0 / (x * x);
    double l = wick_log_f64(x >= 8.0 ? x : x < 1.5 ? below : product);
    t = x >= 8.0 ? 0.0 : t;
    u = x < 8.0 ? 0.0 : u;
    WICK_POLY(WICK_FMA, t, wick_lgamma_c, q);
    WICK_POLY(WICK_FMA, u, wick_stirling_c, s);
    double far = WICK_FMA(x - 0.5, l - 1.0, 0x1.acfe390c97d69p-2 + s / x);
    return x >= 8.0 ? (x < (double)INFINITY ? far : x) : WICK_FMA(t, q, x < 1.5 ? -l : l);
}
/* gamma(x) gamma(1 - x) = pi / sin(pi x); Inf at 0 and at the negative whole numbers */
WICK_MATH double wick_lgamma_f64(double x) {
    double a = __builtin_fabs(x), f = a - wick_round_f64(a);
    double r = wick_lgamma_right(x < 0 ? 1.0 + a : x);
    /* log(pi / s), for tiny ones log(1 / near) */
    double near = __builtin_fabs(f), s = wick_sincos_f64(0x1.921fb54442d18p+1 * near, 0);
    double left = (near < 0x1p-40 ? 0.0 : 0x1.250d048e7a1bdp+0) - wick_log_f64(near < 0x1p-40 ? near : s) - r;
    left = f == 0 ? (double)INFINITY : left;
    return x < 0 ? (a < (double)INFINITY ? left : a) : r;
}
WICK_MATH float wick_lgamma_f32(float x) { return (float)wick_lgamma_f64((double)x); }

/* psi(x) = psi(x + 8) - sum of 1 / (x + i), as one fraction; psi(x) = psi(1 - x) - pi / tan(pi x). NaN at the negative
 * whole numbers. */
WICK_MATH double wick_digamma_f64(double x) {
    double a = __builtin_fabs(x), f = a - wick_round_f64(a), w = x < 0 ? 1.0 + a : x, y = w, over = 0.0, under = 1.0, s;
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) {
        int below = y < 8.0;
        over = below ? WICK_FMA(over, y, under) : over;
        under = below ? under * y : under;
        y = below ? y + 1.0 : y;
    }
    double u = 1.0 / (y * y);
    WICK_POLY(WICK_FMA, u, wick_digamma_c, s);
    double r = wick_log_f64(y) - 0.5 / y - u * s - over / under;
    double angle = 0x1.921fb54442d18p+1 * f; /* of |x|: the tangent turns its sign */
    double left = r + 0x1.921fb54442d18p+1 * wick_sincos_f64(angle, 1) / wick_sincos_f64(angle, 0);
    left = f == 0 ? (double)NAN : left;
    r = w < (double)INFINITY ? r : w;
    return x < 0 ? left : r;
}
WICK_MATH float wick_digamma_f32(float x) { return (float)wick_digamma_f64((double)x); }

/* Derivative number n = floor(order) of psi: (-1)^(n+1) n! times the sum of 1 / (x + k)^(n+1), of which the terms from
 * y > n + 12 on are by Euler and Maclaurin's formula (Abramowitz, Stegun 23.1.30). Loops: meant for small n, and x not
 * far below 0 (from -1000 on). */
WICK_MATH double wick_polygamma_f64(double order, double x) {
    /* B_2k / (2 k)! */
    static const double bernoulli[] = {0x1.5555555555555p-4,   -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15,
                                       -0x1.bbd779334ef0bp-21, 0x1.66a8f2bf70ebep-26,  -0x1.22805d644267fp-31,
                                       0x1.d6db2c4e09162p-37,  -0x1.7da4e1f79955cp-42};
    double n = wick_floor_f64(order), s = n + 1.0, y = x, sum = 0.0, factorial = 1.0;
    if (n == 0) return wick_digamma_f64(x);
    if (!((n > 0) & (n <= 1000.0) & (x >= -1000.0))) return (double)NAN;
    if ((x <= 0) & (x == wick_floor_f64(x))) return (double)INFINITY;
    if (x == (double)INFINITY) return 0.0;
    for (; y < n + 12.0; y += 1.0) sum += wick_pow_f64(y, -s);
    double power = wick_pow_f64(y, -s), rising = s, u = 1.0 / (y * y), t = power / y;
    sum += y * power / n + 0.5 * power;
    for (int k = 0; k < 8; k++, t *= u) {
        sum += bernoulli[k] * rising * t;
        rising *= (s + 2.0 * k + 1.0) * (s + 2.0 * k + 2.0);
    }
    for (double k = 2.0; k <= n; k += 1.0) factorial *= k;
    return n - 2.0 * wick_floor_f64(0.5 * n) != 0 ? factorial * sum : -factorial * sum;
}
WICK_MATH float wick_polygamma_f32(float order, float x) { return (float)wick_polygamma_f64((double)order, (double)x); }

/* ---- how a gamma number of shape a moves with a, at a fixed place of the distribution: -(dP(a, x) / da) / p(x), the
 * implicit gradient of Figurnov, Mohamed, Mnih 2018. By the power series of P(a, x) = x^a e^-x / gamma(a + 1) sum of
 * t_k, t_k = x^k / ((a + 1) .. (a + k)), whose derivative by a weighs t_k with log x - psi(a + k + 1); far in the upper
 * tail, which no sample reaches, by what that tends to; for large a by Temme's uniform expansion (1979) of P: with m =
 * x / a - 1, to terms of 1 / a, relative errors below 2e-8. ------------------------- */

WICK_MATH double wick_gamma_slope_f64(double a, double x) {
    if (!((a > 0) & (x >= 0))) return (double)NAN;
    if (x == 0) return 0;
    if (a > 1000) {
        double l = x / a, m = (x - a) / a, first = m == 0 ? 1.0 : wick_log1p_f64(m) / m, second = 0;
        if (__builtin_fabs(m) < 0.5)
            for (int k = 30; k >= 1; k--) second = 1.0 / ((k + 1) * (k + 2)) - m * second;
        else
            second = (2.0 * l * (m - wick_log1p_f64(m)) / (m * m) - 1.0) / (2.0 * m);
        return l * (first + second / a);
    }
    double log_x = wick_log_f64(x), psi = wick_digamma_f64(a + 1.0), t = 1, sum = log_x - psi;
    if (x > a + 60 + 12 * wick_sqrt_f64(a)) return log_x - psi + 1.0 / a;
    for (double k = a + 1.0;; k += 1.0) {
        t *= x / k;
        psi += 1.0 / k;
        double term = t * (log_x - psi);
        sum += term;
        if ((k > x) & (__builtin_fabs(term) <= 0x1p-55 * __builtin_fabs(sum))) break;
        if (t == 0) break;
    }
    return -(x / a) * sum;
}
WICK_MATH float wick_gamma_slope_f32(float a, float x) { return (float)wick_gamma_slope_f64((double)a, (double)x); }

#endif
