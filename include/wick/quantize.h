/* wick/quantize.h: numbers in 8 bits, and weights in 4. q stands for (q - zero) scale. Quantisation is explicit:
 * wick_quantize and wick_dequantize around float ops, which a pass turns into the integer ops below where it can, as
 * wick_int8_matmul and wick_int8_conv can also be called. With passes off everything is computed in floats.
 * docs/numerics.md says what may differ. Formulas: Jacob et al. 2018, "Quantization and Training of Neural Networks for
 * Efficient Integer-Arithmetic-Only Inference"; ONNX: QuantizeLinear. */
#ifndef WICK_QUANTIZE_H
#define WICK_QUANTIZE_H

#include "wick/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* q = saturate(round(x / scale) + zero), to nearest even, of dtype u8, i8 or i16. x f32 (f16 and bf16 are widened);
 * scale f32, 0-d or [extent of axis]; zero of dtype and scale's shape, or NULL for 0. No gradient. */
WICK_API wick_tensor *wick_quantize(wick_tensor *x, wick_tensor *scale, wick_tensor *zero, int axis, wick_dtype dtype);
/* (q - zero) scale in f32, for q of u8, i8, i16 or i32; as above. */
WICK_API wick_tensor *wick_dequantize(wick_tensor *q, wick_tensor *scale, wick_tensor *zero, int axis);

/* To u8 by the range of x itself, as ONNX's DynamicQuantizeLinear: with low = min(x, 0) and high = max(x, 0), NaN
 * passed over, scale = (high - low) / 255, or 1 where they are equal, zero = saturate(round(-low / scale)), q =
 * saturate(round(x / scale) + zero), to nearest even in f32; of NaN q is 0. x f32 (f16 and bf16 are widened); *scale
 * f32 and *zero u8, 0-d; either may be NULL. All three are poisoned by an error. No gradient. */
WICK_API wick_tensor *wick_quantize_dynamic(wick_tensor *x, wick_tensor **scale, wick_tensor **zero);

typedef struct wick_int8_options {
    wick_tensor *a_zero, *b_zero;   /* of the dtypes of a and b; NULL: 0 */
    wick_tensor *a_scale, *b_scale; /* f32; NULL: the result is the sums, i32 */
    wick_tensor *scale, *zero;      /* of the result; scale NULL: it is f32. zero NULL: 0, and dtype is used */
    wick_tensor *bias;              /* [n] i32, in units of a_scale b_scale, or f32 */
    wick_dtype dtype;               /* of a quantised result: WICK_U8 or WICK_I8, where zero is NULL */
    /* bounds of a quantised result as real numbers (ReLU: 0 and INFINITY); low = high: none */
    double low, high;
} wick_int8_options;
/* Sums over p of (a[.., i, p] - a_zero) (b[.., p, j] - b_zero), a and b u8 or i8 each, in i32 that wrap; leading dims
 * broadcast as wick_matmul's. Zero points and scales have one element, those of b also [n]. With scales: sum a_scale
 * b_scale + bias; of a quantised result rounded as zero + round((sum + bias) (a_scale b_scale / scale)), where an f32
 * bias was rounded to whole a_scale b_scale first. options NULL: the sums. No gradient. */
WICK_API wick_tensor *wick_int8_matmul(wick_tensor *a, wick_tensor *b, const wick_int8_options *options);
/* The same for wick_conv's sums; what is outside of x counts as a_zero. b is the weights, and [n] the output channels.
 */
WICK_API wick_tensor *wick_int8_conv(wick_tensor *x, wick_tensor *w, const wick_conv_options *conv,
                                     const wick_int8_options *options);

/* Weights of 4 bits in blocks along rows, as ONNX Runtime's MatMulNBits and most files of language models have them. A
 * matrix w [n, k] is, with blocks = ceil(k / block) and block a power of 2 from 16 on,
 *
 *   q       u8 [n, blocks, block / 2]: two numbers of 0..15 a byte, the first in the low bits
 *   scales  f32 [n, blocks]
 *   zeros   u8 [n, ceil(blocks / 2)], packed likewise; NULL: 8 for all
 *
 * and stands for w[i, p] = (q[i, p] - zero) scale, zero and scale being those of p's block. */

/* To such weights: returns q, and sets *scales and, unless zeros is NULL, *zeros; all three are poisoned by an error. w
 * f32 (f16 and bf16 are widened) [n, k], block as above. zeros NULL, symmetric: scale = -x / 8, x the number of largest
 * magnitude, which becomes 0, and q = round(w / scale) + 8, to nearest even and held to 0..15. Otherwise from low =
 * min(w, 0) to high = max(w, 0): scale = (high - low) / 15, zero = round(-low / scale), q = round(w / scale) + zero,
 * held likewise. A block of zeros has scale 0. So |w - dequantized| <= scale / 2 asymmetrically, to rounding in f32;
 * symmetrically too but near the end opposite of x, which is cut off: up to |scale| there. No gradient. */
WICK_API wick_tensor *wick_quantize_blocks(wick_tensor *w, int64_t block, wick_tensor **scales, wick_tensor **zeros);
/* Back, to f32 [n, k]. No gradient. */
WICK_API wick_tensor *wick_dequantize_blocks(wick_tensor *q, wick_tensor *scales, wick_tensor *zeros, int64_t k);
/* x w^T + bias: x f32 or f64 [..., k] (f16 and bf16 are widened to f32), bias of its dtype [n] or NULL; of its dtype
 * [..., n]. w never is in memory as f32: of up to 4 rows of x it is read once, in 4 bits, of more a panel at a time
 * becomes f32 in a cache. What is computed is exact but for the rounding of f32: with u = 2^-24 and the m numbers of a
 * row |error| <= (m + 4) u sum |x w|. More than 4 rows have the bits of wick_linear of wick_dequantize_blocks. Scales
 * are finite. In f64 w is what wick_dequantize_blocks gives, and plain loops sum. Gradients reach x (by w in f32) and
 * bias. */
WICK_API wick_tensor *wick_int4_linear(wick_tensor *x, wick_tensor *q, wick_tensor *scales, wick_tensor *zeros,
                                       wick_tensor *bias);

/* x w^T + bias of weights of 8 bits in blocks: q i8 or u8 [n, blocks, block] of any block, blocks = ceil(k / block); a
 * scale for each row of w is one block of k. scales f32 [n, blocks]; zeros of q's dtype, likewise, or NULL: 0 of i8,
 * 128 of u8. x f32 or f64 (f16 and bf16 are widened to f32) [..., k], bias f32, or f64 with such x, [n] or NULL; of x's
 * dtype as widened [..., n]. Plans keep a packed copy of the weights of a byte each, and no f32. What is computed: of
 * up to 4 rows of x, in this order, the sum over blocks of scale (sum over p of x (q - zero)), with multiply-adds that
 * round once where the CPU has them; of more rows the bits of wick_linear of w in f32, which rounds (q - zero) scale
 * first. Either way, with u = 2^-24 and the k numbers of a row, |error| <= (k + 4) u sum |x w|, as long as sums of x (q
 * - zero) over a block are finite in f32. The bits of few rows are the same on AVX2, AVX-512 and NEON. In f64 w is
 * rounded to f32, and plain loops sum. Gradients reach x (by w in f32) and bias. */
WICK_API wick_tensor *wick_int8_linear(wick_tensor *x, wick_tensor *q, wick_tensor *scales, wick_tensor *zeros,
                                       wick_tensor *bias);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES /* errors name the caller's line */
#define wick_quantize(...) WICK_TENSOR_HERE(wick_quantize(__VA_ARGS__))
#define wick_dequantize(...) WICK_TENSOR_HERE(wick_dequantize(__VA_ARGS__))
#define wick_quantize_dynamic(...) WICK_TENSOR_HERE(wick_quantize_dynamic(__VA_ARGS__))
#define wick_int8_matmul(...) WICK_TENSOR_HERE(wick_int8_matmul(__VA_ARGS__))
#define wick_quantize_blocks(...) WICK_TENSOR_HERE(wick_quantize_blocks(__VA_ARGS__))
#define wick_dequantize_blocks(...) WICK_TENSOR_HERE(wick_dequantize_blocks(__VA_ARGS__))
#define wick_int4_linear(...) WICK_TENSOR_HERE(wick_int4_linear(__VA_ARGS__))
#define wick_int8_linear(...) WICK_TENSOR_HERE(wick_int8_linear(__VA_ARGS__))
#define wick_int8_conv(...) WICK_TENSOR_HERE(wick_int8_conv(__VA_ARGS__))
#endif
#endif
