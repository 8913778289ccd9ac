/* wick/quantize.h: numbers in 8 bits: q stands for (q - zero) scale. Quantisation is explicit: wick_quantize and wick_dequantize around float ops, which a
 * pass turns into the integer ops below where it can, as wick_int8_matmul and wick_int8_conv can also be called. With passes off everything is computed
 * in floats. docs/numerics.md says what may differ.
 * Formulas: Jacob et al. 2018, "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"; ONNX: QuantizeLinear. */
#ifndef WICK_QUANTIZE_H
#define WICK_QUANTIZE_H

#include "wick/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* q = saturate(round(x / scale) + zero), to nearest even, of dtype u8 or i8. x f32 (f16 and bf16 are widened); scale f32, 0-d or [extent of axis];
 * zero of dtype and scale's shape, or NULL for 0. No gradient. */
WICK_API wick_tensor *wick_quantize(wick_tensor *x, wick_tensor *scale, wick_tensor *zero, int axis, wick_dtype dtype);
/* (q - zero) scale in f32, for q of u8, i8 or i32; as above. */
WICK_API wick_tensor *wick_dequantize(wick_tensor *q, wick_tensor *scale, wick_tensor *zero, int axis);

typedef struct wick_int8_options {
    wick_tensor *a_zero, *b_zero;   /* of the dtypes of a and b; NULL: 0 */
    wick_tensor *a_scale, *b_scale; /* f32; NULL: the result is the sums, i32 */
    wick_tensor *scale, *zero;      /* of the result; scale NULL: it is f32. zero NULL: 0, and dtype is used */
    wick_tensor *bias;              /* [n] i32, in units of a_scale b_scale, or f32 */
    wick_dtype dtype;               /* of a quantised result: WICK_U8 or WICK_I8, where zero is NULL */
    double low, high;               /* bounds of a quantised result as real numbers (ReLU: 0 and INFINITY); low = high: none */
} wick_int8_options;
/* Sums over p of (a[.., i, p] - a_zero) (b[.., p, j] - b_zero), a and b u8 or i8 each, in i32 that wrap; leading dims broadcast as wick_matmul's. Zero points
 * and scales have one element, those of b also [n]. With scales: sum a_scale b_scale + bias; of a quantised result rounded as
 * zero + round((sum + bias) (a_scale b_scale / scale)), where an f32 bias was rounded to whole a_scale b_scale first. options NULL: the sums. No gradient. */
WICK_API wick_tensor *wick_int8_matmul(wick_tensor *a, wick_tensor *b, const wick_int8_options *options);
/* The same for wick_conv's sums; what is outside of x counts as a_zero. b is the weights, and [n] the output channels. */
WICK_API wick_tensor *wick_int8_conv(wick_tensor *x, wick_tensor *w, const wick_conv_options *conv, const wick_int8_options *options);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES /* errors name the caller's line */
#define wick_quantize(...) WICK_TENSOR_HERE(wick_quantize(__VA_ARGS__))
#define wick_dequantize(...) WICK_TENSOR_HERE(wick_dequantize(__VA_ARGS__))
#define wick_int8_matmul(...) WICK_TENSOR_HERE(wick_int8_matmul(__VA_ARGS__))
#define wick_int8_conv(...) WICK_TENSOR_HERE(wick_int8_conv(__VA_ARGS__))
#endif
#endif
