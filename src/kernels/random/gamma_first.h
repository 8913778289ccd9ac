/* gamma_first.h: the first try of gamma numbers (draws.c), for many elements at once: loops without branches over what
 * gamma_of does up to its first break. More than nine of ten are taken there; draws.c makes the others one by one. */
#ifndef WICK_KERNELS_GAMMA_FIRST_H
#define WICK_KERNELS_GAMMA_FIRST_H

#include "kernels/elementwise/math.h"
#include "kernels/random/random.h"

/* Two words as inside() and normal() of draws.c read them: their upper 53 bits, a whole number. */
WICK_MATH double wick_upper_bits(uint32_t low, uint32_t high) {
    const double h = wick_from_bits_f64(UINT64_C(0x4330000000000000) | high) - 0x1p52,
                 l = wick_from_bits_f64(UINT64_C(0x4330000000000000) | low >> 11) - 0x1p52;
    return h * 0x1p21 + l;
}
WICK_MATH double wick_within(uint32_t low, uint32_t high) { return (wick_upper_bits(low, high) + 0.5) * 0x1p-53; }

/* w[4 block + j][i]: word j of the first two blocks of the stream of element i. */
static void gamma_words(size_t n, const uint64_t *bits, uint32_t w[8][WICK_GAMMA_GROUP]) {
    for (uint32_t block = 0; block < 2; block++)
        for (size_t i = 0; i < n; i++) {
            uint32_t c0 = block, c1 = 0, c2 = WICK_GAMMA_STREAM, c3 = 0, k0 = (uint32_t)bits[i],
                     k1 = (uint32_t)(bits[i] >> 32);
#pragma GCC unroll 10
            for (int round = 0; round < 10; round++) { /* as base/philox.c */
                const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
                c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
                c1 = (uint32_t)p1;
                c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
                c3 = (uint32_t)p0;
                k0 += 0x9E3779B9u;
                k1 += 0xBB67AE85u;
            }
            w[4 * block][i] = c0, w[4 * block + 1][i] = c1, w[4 * block + 2][i] = c2, w[4 * block + 3][i] = c3;
        }
}

static void gamma_first(size_t n, const double *alpha, const uint64_t *bits, double *out, uint64_t *taken) {
    uint32_t w[8][WICK_GAMMA_GROUP], v[6][WICK_GAMMA_GROUP];
    double boost[WICK_GAMMA_GROUP];
    bool any = false;
    gamma_words(n, bits, w);
    for (size_t i = 0; i < n; i++) any |= alpha[i] < 1;
    for (int j = 0; j < 6; j++) /* below 1, the first two words are the power's */
        for (size_t i = 0; i < n; i++) v[j][i] = alpha[i] < 1 ? w[j + 2][i] : w[j][i];
    for (size_t i = 0; i < n; i++) {
        const double a = alpha[i], d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / wick_sqrt_f64(9 * d);
        const double t = (wick_upper_bits(v[2][i], v[3][i]) - 0x1p52) * (3.14159265358979323846 * 0x1p-52);
        const double x = wick_sqrt_f64(-2.0 * wick_log_f64(wick_within(v[0][i], v[1][i]))) * wick_cos_f64(t),
                     u = wick_within(v[4][i], v[5][i]), root = 1 + c * x;
        const double y = root * root * root, bound = 0.5 * x * x + d - d * y + d * wick_log_f64(y);
        out[i] = d * y;
        taken[i] = (uint64_t)((root > 0) & (a > 0) & (a <= 1e300) &
                              ((u < 1 - 0.0331 * (x * x) * (x * x)) | (wick_log_f64(u) < bound)));
    }
    if (!any) return;
    for (size_t i = 0; i < n; i++)
        boost[i] = wick_exp_f64(wick_log_f64(out[i]) + wick_log_f64(wick_within(w[0][i], w[1][i])) / alpha[i]);
    for (size_t i = 0; i < n; i++) out[i] = alpha[i] < 1 ? boost[i] : out[i];
}

#endif
