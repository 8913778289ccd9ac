/* recurrent_tier.c: the elementwise part of a step, for one tier and both types. */
#include "kernels/elementwise/math.h"
#include "kernels/recurrent/recurrent.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* the scalar tier vectorises nothing */
#define CELL_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define CELL_LOOP _Pragma("GCC ivdep")
#endif
#define CELL_INLINE static inline __attribute__((always_inline))
#define CELL_CAT_(a, b) a##b
#define CELL_CAT(a, b)  CELL_CAT_(a, b)

/* The usual activations in f32, shorter than those of math.h, which keep denormal results and one rounding: of x beyond 86 the result is that of 86 (a
 * sigmoid of 4.5e-38 instead of less), so that 2^n is a normal number. */
CELL_INLINE float cell_sigmoid_f32(float x) {
    float z = -x;
    z = z > 86.0f ? 86.0f : z;
    z = z < -86.0f ? -86.0f : z;
    uint32_t high;
    const float e = 1.0f + wick_exp_reduce_high_f32(z, &high);
    return 1.0f / (1.0f + e * wick_from_bits_f32((high << 23) + 0x3f800000u));
}
CELL_INLINE float cell_tanh_f32(float x) { /* E / (E + 2), E = e^2x - 1 = 2^n (e^r - 1) + (2^n - 1); from 10 on the result rounds to 1 */
    float t = wick_abs_f32(x);
    t = t > 10.0f ? 10.0f : t;
    uint32_t high;
    const float e = wick_exp_reduce_high_f32(t + t, &high), s = wick_from_bits_f32(0x3f800000u + (high << 23)), y = WICK_FMAF(s, e, s - 1.0f);
    return __builtin_copysignf(y / (y + 2.0f), x);
}
CELL_INLINE double cell_sigmoid_f64(double x) { return wick_sigmoid_f64(x); }
CELL_INLINE double cell_tanh_f64(double x) { return wick_tanh_f64(x); }

#define CELL_T       float
#define CELL_NAME(x) x##_f32
#include "kernels/recurrent/cell_body.h"
#undef CELL_T
#undef CELL_NAME
#define CELL_T       double
#define CELL_NAME(x) x##_f64
#include "kernels/recurrent/cell_body.h"

#define CELL_BOTH(what)                                                                                                                       \
    {{what##rnn_f32, what##lstm_f32, what##gru_f32, what##gru_first_f32}, {what##rnn_f64, what##lstm_f64, what##gru_f64, what##gru_first_f64}}
const wick_recurrent_table CELL_CAT(wick_recurrent_table_, WICK_TIER_NAME) = {
    .forward = CELL_BOTH(forward_),
    .backward = CELL_BOTH(backward_),
    .forward_after = {forward_gru_after_f32, forward_gru_after_f64},
    .backward_after = {backward_gru_after_f32, backward_gru_after_f64},
};
