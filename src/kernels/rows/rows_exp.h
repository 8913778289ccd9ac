/* rows_exp.h: the exponential of weights, e^(x - max): for x <= 0 (and a little above), and 0 instead of a denormal: masks of -Inf are
 * common, and denormal products are slow on many CPUs. Tier files only. */
#ifndef WICK_KERNELS_ROWS_EXP_H
#define WICK_KERNELS_ROWS_EXP_H

#include "kernels/elementwise/math.h"

/* x < 88 (708): 2^n is a normal number, and one product scales by it. NaN passes through. */
static inline __attribute__((always_inline)) float wick_weight_exp_f32(float x) {
    int32_t n;
    const float e = wick_exp_reduce_f32(x < -87.0f ? -87.0f : x, &n);
    const float y = (1.0f + e) * wick_from_bits_f32((uint32_t)(n + 127) << 23);
    return x < -87.0f ? 0.0f : y;
}
static inline __attribute__((always_inline)) double wick_weight_exp_f64(double x) {
    uint64_t n;
    const double e = wick_exp_reduce_f64(x < -708.0 ? -708.0 : x, 0.0, &n);
    const double y = (1.0 + e) * wick_from_bits_f64((n + 1023) << 52);
    return x < -708.0 ? 0.0 : y;
}

#endif
