/* cell_math.h: the activations of recurrent cells, and what bounds their arguments. */
#ifndef WICK_KERNELS_CELL_MATH_H
#define WICK_KERNELS_CELL_MATH_H

#include "kernels/elementwise/math.h"

/* The usual ones in f32, shorter than those of math.h, which keep denormal results and one rounding: of x beyond 86 the
 * result is that of 86 (a sigmoid of 4.5e-38 instead of less), so that 2^n is a normal number. */
WICK_MATH float wick_cell_sigmoid_f32(float x) {
    float z = -x;
    z = z > 86.0f ? 86.0f : z;
    z = z < -86.0f ? -86.0f : z;
    uint32_t high;
    const float e = 1.0f + wick_exp_reduce_high_f32(z, &high);
    return 1.0f / (1.0f + e * wick_from_bits_f32((high << 23) + 0x3f800000u));
}
/* E / (E + 2), E = e^2x - 1 = 2^n (e^r - 1) + (2^n - 1); from 10 on the result rounds to 1 */
WICK_MATH float wick_cell_tanh_f32(float x) {
    float t = wick_abs_f32(x);
    t = t > 10.0f ? 10.0f : t;
    uint32_t high;
    const float e = wick_exp_reduce_high_f32(t + t, &high), s = wick_from_bits_f32(0x3f800000u + (high << 23)),
                y = WICK_FMAF(s, e, s - 1.0f);
    return __builtin_copysignf(y / (y + 2.0f), x);
}
WICK_MATH double wick_cell_sigmoid_f64(double x) { return wick_sigmoid_f64(x); }
WICK_MATH double wick_cell_tanh_f64(double x) { return wick_tanh_f64(x); }

WICK_MATH float wick_cell_relu_f32(float x) { return x < 0 ? 0 : x; }
WICK_MATH double wick_cell_relu_f64(double x) { return x < 0 ? 0 : x; }
WICK_MATH float wick_cell_hard_sigmoid_f32(float x) {
    const float v = 0.2f * x + 0.5f;
    return v < 0 ? 0 : v > 1 ? 1 : v;
}
WICK_MATH double wick_cell_hard_sigmoid_f64(double x) {
    const double v = 0.2 * x + 0.5;
    return v < 0 ? 0 : v > 1 ? 1 : v;
}
WICK_MATH float wick_cell_softsign_f32(float x) { return x / (1 + wick_abs_f32(x)); }
WICK_MATH double wick_cell_softsign_f64(double x) { return x / (1 + wick_abs_f64(x)); }

/* x within +-clip; clip 0: x. */
WICK_MATH float wick_cell_clipped_f32(float clip, float x) {
    if (clip <= 0) return x;
    return x < -clip ? -clip : x > clip ? clip : x;
}
WICK_MATH double wick_cell_clipped_f64(double clip, double x) {
    if (clip <= 0) return x;
    return x < -clip ? -clip : x > clip ? clip : x;
}

#endif
