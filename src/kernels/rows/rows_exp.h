/* rows_exp.h: the exponential of weights, e^(x - max): for x <= 0 (and a little above), and 0 instead of a denormal: masks of -Inf are
 * common, and denormal products are slow on many CPUs. Tier files only. */
#ifndef WICK_KERNELS_ROWS_EXP_H
#define WICK_KERNELS_ROWS_EXP_H

#include "kernels/elementwise/math.h"

/* x < 88 (708): where the result is not 0, 2^n is a normal number, and one product scales by it. NaN passes through. */
static inline __attribute__((always_inline)) float wick_weight_exp_f32(float x) {
    uint32_t high;
    const float e = 1.0f + wick_exp_reduce_high_f32(x, &high);
    return x < -87.0f ? 0.0f : e * wick_from_bits_f32((high << 23) + 0x3f800000u);
}
static inline __attribute__((always_inline)) double wick_weight_exp_f64(double x) {
    uint64_t n;
    const double e = 1.0 + wick_exp_reduce_f64(x, 0.0, &n);
    return x < -708.0 ? 0.0 : e * wick_from_bits_f64((n + 1023) << 52);
}

#endif
