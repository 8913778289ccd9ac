/* ops_contrib_quant.c: quantised ops of ONNX Runtime (com.microsoft). Products are summed in integers; what is no sum
 * of products is made of the numbers that the quantised ones stand for, and rounded again. */
#define WICK_NO_SITES
#include "io/onnx/import/contrib.h"

#include "wick/pointwise.h"
#include "wick/quantize.h"
#include "wick/reduce.h"
#include "wick/shape.h"

/* ---- numbers that stand for numbers ------------------------------------------------------------------------------ */

/* A scale or zero point, one or one for each place of the axis, laid out for x. */
static wick_tensor *along(onnx_call *c, wick_tensor *p, wick_tensor *x, int axis) {
    if (wick_tensor_count(p) == 1) return wick_reshape(p, WICK_SCALAR);
    int64_t dims[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(x);
    if (axis < 0 || axis >= rank || wick_tensor_count(p) != wick_tensor_dim(x, axis))
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld scales or zero points do not fit an axis",
                              (long long)wick_tensor_count(p)),
               NULL;
    for (int i = 0; i < rank; i++) dims[i] = i == axis ? wick_tensor_count(p) : 1;
    return wick_reshape(p, rank, dims);
}
/* Inputs i, i + 1 and i + 2: x, its scale, its zero point or nothing. */
static wick_tensor *real(onnx_call *c, int i) {
    wick_tensor *x = wick_onnx_tensor(c, i), *scale = x ? wick_onnx_tensor(c, i + 1) : NULL,
                *zero = wick_onnx_optional(c, i + 2);
    if (!scale) return NULL;
    wick_tensor *y = wick_cast(x, WICK_F32);
    if (zero) {
        if (!(zero = along(c, wick_cast(zero, WICK_F32), x, -1))) return NULL;
        y = wick_sub(y, zero);
    }
    scale = along(c, wick_cast(scale, WICK_F32), x, -1);
    return scale ? wick_mul(y, scale) : NULL;
}
/* Rounded half to even by the scale and zero point of inputs i and i + 1; without a zero point as `otherwise`. */
static wick_tensor *rounded(onnx_call *c, wick_tensor *y, int i, wick_dtype otherwise) {
    wick_tensor *scale = y ? wick_onnx_tensor(c, i) : NULL, *zero = wick_onnx_optional(c, i + 1);
    if (!scale) return NULL;
    y = wick_round(wick_div(y, wick_reshape(wick_cast(scale, WICK_F32), WICK_SCALAR)));
    if (zero) y = wick_add(y, wick_reshape(wick_cast(zero, WICK_F32), WICK_SCALAR));
    return wick_cast_saturate(y, zero ? wick_tensor_dtype(zero) : otherwise);
}
static wick_dtype kind_of(onnx_call *c, int i) { return wick_tensor_dtype(c->in[i]->v.tensor); }

static void q_binary(onnx_call *c) {
    wick_tensor *a = real(c, 0), *b = a ? real(c, 3) : NULL,
                *y = b ? rounded(c, c->step->op->arg.binary(a, b), 6, kind_of(c, 0)) : NULL;
    if (y) wick_onnx_set(c, 0, y);
}
static void q_unary(onnx_call *c) {
    wick_tensor *x = real(c, 0), *y = x ? rounded(c, c->step->op->arg.unary(x), 3, kind_of(c, 0)) : NULL;
    if (y) wick_onnx_set(c, 0, y);
}
static void q_leaky_relu(onnx_call *c) {
    wick_tensor *x = real(c, 0),
                *y = x ? rounded(c, wick_leaky_relu(x, wick_onnx_float(c, "alpha", 0.01f)), 3, kind_of(c, 0)) : NULL;
    if (y) wick_onnx_set(c, 0, y);
}
static void q_where(onnx_call *c) {
    wick_tensor *if_true = real(c, 1), *if_false = if_true ? real(c, 4) : NULL,
                *when = if_false ? wick_onnx_tensor(c, 0) : NULL;
    wick_tensor *y = when ? rounded(c, wick_where(when, if_true, if_false), 7, kind_of(c, 1)) : NULL;
    if (y) wick_onnx_set(c, 0, y);
}
static void q_concat(onnx_call *c) {
    const int n = (c->n_in - 2) / 3;
    int axis;
    wick_tensor **xs = wick_onnx_alloc(c, (size_t)WICK_MAX(n, 1), sizeof(wick_tensor *));
    if (!xs) return;
    for (int i = 0; i < n; i++)
        if (!(xs[i] = real(c, 2 + 3 * i))) return;
    if (n < 1)
        wick_onnx_fail(c, WICK_ERR_FORMAT, "has no inputs");
    else if (wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(xs[0]), &axis)) {
        wick_tensor *y = rounded(c, wick_concat(n, xs, axis), 0, kind_of(c, 2));
        if (y) wick_onnx_set(c, 0, y);
    }
}

/* ---- with channels last, perhaps --------------------------------------------------------------------------------- */

static wick_tensor *channels_first(wick_tensor *x) {
    return wick_tensor_rank(x) > 2 ? wick_move_axis(x, wick_tensor_rank(x) - 1, 1) : x;
}
static wick_tensor *channels_last(wick_tensor *x) {
    return wick_tensor_rank(x) > 2 ? wick_move_axis(x, 1, wick_tensor_rank(x) - 1) : x;
}

/* Another op on the numbers, rounded by inputs 3 and 4. */
static void q_as(onnx_call *c, const char *name, int opset) {
    const bool last = wick_onnx_int(c, "channels_last", 0);
    wick_tensor *x = real(c, 0);
    if (!x) return;
    if (last) x = channels_first(x);
    if (!wick_onnx_call_as(c, name, opset, 1, &x) || c->out[0].v.kind != WICK_VALUE_TENSOR) return;
    wick_tensor *y = rounded(c, c->out[0].v.tensor, 3, kind_of(c, 0));
    if (y) wick_onnx_set(c, 0, last ? channels_last(y) : y);
}
static void q_average_pool(onnx_call *c) { q_as(c, "AveragePool", 11); }
static void q_global_average_pool(onnx_call *c) { q_as(c, "GlobalAveragePool", 1); }
static void q_reduce_mean(onnx_call *c) { q_as(c, "ReduceMean", 13); }
static void q_softmax(onnx_call *c) { q_as(c, "Softmax", wick_onnx_int(c, "opset", 13) < 13 ? 11 : 13); }

static void nhwc_max_pool(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    x = channels_first(x);
    if (wick_onnx_call_as(c, "MaxPool", 12, 1, &x) && c->out[0].v.kind == WICK_VALUE_TENSOR)
        wick_onnx_set(c, 0, channels_last(c->out[0].v.tensor));
}
static void q_conv(onnx_call *c) {
    const bool last = wick_onnx_int(c, "channels_last", 0);
    wick_tensor *in[9];
    for (int i = 0; i < 9; i++) in[i] = wick_onnx_optional(c, i);
    if (!in[0] || c->status != WICK_OK) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "has no input");
        return;
    }
    if (last) in[0] = channels_first(in[0]);
    if (wick_onnx_call_as(c, "QLinearConv", 10, 9, in) && last && c->out[0].v.kind == WICK_VALUE_TENSOR)
        wick_onnx_set(c, 0, channels_last(c->out[0].v.tensor));
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* x - zero in 32 bits. */
static wick_tensor *centred(onnx_call *c, wick_tensor *x, wick_tensor *zero, int axis) {
    wick_tensor *i = wick_cast(x, WICK_I32);
    if (!zero) return i;
    zero = along(c, wick_cast(zero, WICK_I32), x, axis);
    return zero ? wick_sub(i, zero) : NULL;
}
static bool is_point_of(const wick_tensor *zero, const wick_tensor *x, int64_t columns) {
    return !zero || (wick_tensor_dtype(zero) == wick_tensor_dtype(x) &&
                     (wick_tensor_count(zero) == 1 || wick_tensor_count(zero) == columns));
}
static wick_tensor *as_point(wick_tensor *zero) {
    const int64_t n = zero ? wick_tensor_count(zero) : 1;
    return zero ? wick_reshape(zero, n > 1, &n) : NULL;
}
static bool is_byte(const wick_tensor *x) { return wick_tensor_dtype(x) == WICK_U8 || wick_tensor_dtype(x) == WICK_I8; }
/* (a - a_zero) (b - b_zero) in 32 bits, as products of bytes where they are bytes with a zero point for all of a, and
 * of b for all or for each column. */
static wick_tensor *integer_product(onnx_call *c, wick_tensor *a, wick_tensor *a_zero, wick_tensor *b,
                                    wick_tensor *b_zero) {
    const int rank = wick_tensor_rank(b);
    if (is_byte(a) && is_byte(b) && wick_tensor_rank(a) > 1 && rank > 1 && is_point_of(a_zero, a, 1) &&
        is_point_of(b_zero, b, wick_tensor_dim(b, -1)))
        return wick_int8_matmul(a, b, &(wick_int8_options){.a_zero = as_point(a_zero), .b_zero = as_point(b_zero)});
    a = centred(c, a, a_zero, -1);
    b = a ? centred(c, b, b_zero, rank - 1) : NULL;
    return b ? wick_matmul(a, b) : NULL;
}
/* Sums scaled, with b's scales for columns. */
static wick_tensor *scaled(onnx_call *c, wick_tensor *sums, wick_tensor *a_scale, wick_tensor *b_scale,
                           wick_tensor *bias) {
    if (!sums) return NULL;
    wick_tensor *y = wick_cast(sums, WICK_F32);
    wick_tensor *by = along(c, wick_cast(b_scale, WICK_F32), y, wick_tensor_rank(y) - 1);
    if (!by) return NULL;
    y = wick_mul(y, wick_mul(wick_reshape(wick_cast(a_scale, WICK_F32), WICK_SCALAR), by));
    return bias ? wick_add(y, bias) : y;
}

static void matmul_integer_to_float(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = wick_onnx_tensor(c, 1), *as = wick_onnx_tensor(c, 2),
                *bs = wick_onnx_tensor(c, 3), *az = wick_onnx_optional(c, 4), *bz = wick_onnx_zero_point(c, 5),
                *bias = wick_onnx_optional(c, 6);
    if (c->status != WICK_OK) return;
    wick_tensor *y = scaled(c, integer_product(c, a, az, b, bz), as, bs, bias);
    if (y) wick_onnx_set(c, 0, y);
}

static void dynamic_quantize_matmul(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = wick_onnx_tensor(c, 1), *bs = wick_onnx_tensor(c, 2), *as, *point,
                *bz = wick_onnx_zero_point(c, 3), *bias = wick_onnx_optional(c, 4);
    if (c->status != WICK_OK) return;
    a = wick_onnx_quantise_range(a, &as, &point);
    wick_tensor *y = scaled(c, integer_product(c, a, point, b, bz), as, bs, bias);
    if (y) wick_onnx_set(c, 0, y);
}

static void q_gemm(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *as = wick_onnx_tensor(c, 1), *az = wick_onnx_tensor(c, 2),
                *b = wick_onnx_tensor(c, 3), *bs = wick_onnx_tensor(c, 4), *bz = wick_onnx_zero_point(c, 5),
                *bias = wick_onnx_optional(c, 6);
    if (c->status != WICK_OK) return;
    if (wick_tensor_rank(a) != 2 || wick_tensor_rank(b) != 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "A and B must have 2 dims");
        return;
    }
    const double alpha = wick_onnx_float(c, "alpha", 1);
    if (wick_onnx_int(c, "transA", 0)) a = wick_transpose(a, 0, 1);
    if (wick_onnx_int(c, "transB", 0)) b = wick_transpose(b, 0, 1);
    wick_tensor *sum = integer_product(c, a, az, b, bz), *by;
    if (!sum) return;
    if (bias) sum = wick_add(sum, wick_cast(bias, WICK_I32));
    if (!(by = along(c, wick_cast(bs, WICK_F32), sum, 1))) return;
    wick_tensor *scale = wick_mul(wick_reshape(wick_cast(as, WICK_F32), WICK_SCALAR), by),
                *y = wick_mul(wick_cast(sum, WICK_F32), scale);
    if (alpha != 1) y = wick_mul(y, wick_like(y, alpha));
    if (wick_onnx_has(c, 7) && !(y = rounded(c, y, 7, kind_of(c, 0)))) return;
    wick_onnx_set(c, 0, y);
}

/* Numbers of so many bits in bytes, the first in low bits, as i32 along the last axis. */
static wick_tensor *spread_bits(wick_tensor *x, int64_t bits) {
    if (bits == 8) return wick_cast(x, WICK_I32);
    wick_tensor *parts[4], *i = wick_cast(x, WICK_I32);
    const int n = (int)(8 / bits), rank = wick_tensor_rank(x);
    for (int k = 0; k < n; k++)
        parts[k] = wick_bitwise_and(wick_right_shift(i, wick_like(i, (double)(k * bits))),
                                    wick_like(i, (double)((1 << bits) - 1)));
    int64_t dims[WICK_MAX_DIMS];
    for (int d = 0; d < rank; d++) dims[d] = wick_tensor_dim(x, d) * (d + 1 == rank ? n : 1);
    return wick_reshape(wick_stack(n, parts, rank), rank, dims);
}
/* [N, blocks] as what goes with weights [N, K], by the group that each k is said to be of; without groups with weights
 * [N, blocks, K of a block]. */
static wick_tensor *by_group(wick_tensor *p, wick_tensor *groups, int64_t k) {
    return groups ? wick_gather(p, 1, wick_slice(wick_reshape(groups, 1, (int64_t[]){-1}), 0, 0, k, 1))
                  : wick_unsqueeze(p, 2);
}
/* Weights of 2, 4 or 8 bits in blocks along K: B [N, blocks, bytes]. A scale and a zero point go with each block; with
 * g_idx (GPTQ's order of activations) with each group of k. Those of 4 and 8 bits in order stay as they are, others
 * become floats. */
static void matmul_n_bits(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = wick_onnx_tensor(c, 1), *scales = wick_onnx_tensor(c, 2),
                *zeros = wick_onnx_optional(c, 3), *bias = wick_onnx_optional(c, 5);
    const int64_t k = wick_onnx_int(c, "K", 0), n = wick_onnx_int(c, "N", 0), bits = wick_onnx_int(c, "bits", 4),
                  block = wick_onnx_int(c, "block_size", 0);
    if (c->status != WICK_OK) return;
    wick_tensor *groups = wick_onnx_optional(c, 4);
    if (wick_onnx_int(c, "weight_prepacked", 0)) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED,
                       "B is laid out for one kind of GPU (weight_prepacked): write the model without that");
        return;
    }
    if ((bits != 2 && bits != 4 && bits != 8) || block < 16 || block > 1 << 20 || k < 1 || n < 1 || k > INT32_MAX ||
        n > INT32_MAX) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "%lld bits in blocks of %lld, K %lld, N %lld", (long long)bits,
                       (long long)block, (long long)k, (long long)n);
        return;
    }
    const int64_t blocks = (k + block - 1) / block, bytes = block * bits / 8, packed = (blocks * bits + 7) / 8;
    if (wick_tensor_count(b) != n * blocks * bytes || wick_tensor_count(scales) != n * blocks ||
        wick_tensor_dtype(b) != WICK_U8) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "B is not [%lld, %lld, %lld] of uint8, or there are not %lld scales",
                       (long long)n, (long long)blocks, (long long)bytes, (long long)(n * blocks));
        return;
    }
    if (groups && (wick_tensor_count(groups) < k || !wick_dtype_is_integer(wick_tensor_dtype(groups)))) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "g_idx does not have a group for each of %lld rows", (long long)k);
        return;
    }
    const wick_dtype dtype = wick_tensor_dtype(a), precise = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    const bool packed_zeros = zeros && wick_tensor_dtype(zeros) == WICK_U8 && wick_tensor_count(zeros) == n * packed;
    if (bits == 4 && !groups && !(block & (block - 1)) && precise == WICK_F32 && (!zeros || packed_zeros)) {
        if (zeros) zeros = wick_reshape(zeros, 2, (int64_t[]){n, packed});
        wick_tensor *y = wick_int4_linear(a, wick_reshape(b, 3, (int64_t[]){n, blocks, bytes}),
                                          wick_reshape(wick_cast(scales, WICK_F32), 2, (int64_t[]){n, blocks}), zeros,
                                          bias ? wick_cast(bias, WICK_F32) : NULL);
        wick_onnx_set(c, 0, wick_cast(y, dtype));
        return;
    }
    if (bits == 8 && !groups && precise == WICK_F32 && (!zeros || packed_zeros)) {
        const int64_t each[2] = {n, blocks};
        wick_tensor *y = wick_int8_linear(a, wick_reshape(b, 3, (int64_t[]){n, blocks, bytes}),
                                          wick_reshape(wick_cast(scales, WICK_F32), 2, each),
                                          zeros ? wick_reshape(zeros, 2, each) : NULL,
                                          bias ? wick_cast(bias, WICK_F32) : NULL);
        wick_onnx_set(c, 0, wick_cast(y, dtype));
        return;
    }
    const int64_t flat[2] = {n, blocks * block};
    wick_tensor *q = wick_cast(spread_bits(wick_reshape(b, 3, (int64_t[]){n, blocks, bytes}), bits), precise), *zero;
    if (!zeros)
        zero = wick_constant(c->ctx, precise, (double)(1 << (bits - 1)));
    else if (wick_onnx_is_float(zeros) && wick_tensor_count(zeros) == n * blocks)
        zero = wick_reshape(wick_cast(zeros, precise), 2, (int64_t[]){n, blocks});
    else if (packed_zeros)
        zero = wick_slice(wick_cast(spread_bits(wick_reshape(zeros, 2, (int64_t[]){n, packed}), bits), precise), 1, 0,
                          blocks, 1);
    else {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld zero points of %s for %lld blocks", (long long)wick_tensor_count(zeros),
                       wick_dtype_name(wick_tensor_dtype(zeros)), (long long)(n * blocks));
        return;
    }
    if (zeros) zero = by_group(zero, groups, k);
    if (groups) q = wick_slice(wick_reshape(q, 2, flat), 1, 0, k, 1);
    wick_tensor *scale = by_group(wick_reshape(wick_cast(scales, precise), 2, (int64_t[]){n, blocks}), groups, k);
    wick_tensor *w = wick_mul(wick_sub(q, zero), scale);
    if (!groups) w = wick_slice(wick_reshape(w, 2, flat), 1, 0, k, 1);
    wick_onnx_set(c, 0,
                  wick_cast(wick_linear(wick_cast(a, precise), w, bias ? wick_cast(bias, precise) : NULL), dtype));
}

static void q_attention(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = wick_onnx_tensor(c, 1), *b = wick_onnx_tensor(c, 2),
                *xs = wick_onnx_tensor(c, 3), *ws = wick_onnx_tensor(c, 4);
    if (c->status != WICK_OK) return;
    if (wick_tensor_rank(x) != 3 || wick_tensor_rank(w) != 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "input must have 3 dims, weight 2");
        return;
    }
    const int64_t each = wick_tensor_dim(w, 1) / 3, sizes[3] = {each, each, each};
    wick_tensor *xz = wick_onnx_optional(c, 6), *wz = wick_onnx_zero_point(c, 7),
                *qkv = scaled(c, integer_product(c, x, xz, w, wz), xs, ws, b);
    if (qkv) wick_onnx_self_attention(c, qkv, sizes, 5, 8, -1);
}

/* Rows of ONNX's own that come with more types here. */
static void quantize(onnx_call *c) {
    wick_tensor *in[3] = {wick_onnx_tensor(c, 0), wick_onnx_tensor(c, 1), wick_onnx_optional(c, 2)};
    if (c->status == WICK_OK) wick_onnx_call_as(c, "QuantizeLinear", 21, 3, in);
}
static void dequantize(onnx_call *c) {
    wick_tensor *in[3] = {wick_onnx_tensor(c, 0), wick_onnx_tensor(c, 1), wick_onnx_optional(c, 2)};
    if (c->status == WICK_OK) wick_onnx_call_as(c, "DequantizeLinear", 21, 3, in);
}

static const onnx_op ops[] = {
    {"QLinearAdd", 1, 0, q_binary, {.binary = wick_add}},
    {"QLinearMul", 1, 0, q_binary, {.binary = wick_mul}},
    {"QLinearSigmoid", 1, 0, q_unary, {.unary = wick_sigmoid}},
    {"QLinearLeakyRelu", 1, 0, q_leaky_relu, {0}},
    {"QLinearWhere", 1, 0, q_where, {0}},
    {"QLinearConcat", 1, 0, q_concat, {0}},
    {"QLinearAveragePool", 1, 0, q_average_pool, {0}},
    {"QLinearGlobalAveragePool", 1, 0, q_global_average_pool, {0}},
    {"QLinearReduceMean", 1, 0, q_reduce_mean, {0}},
    {"QLinearSoftmax", 1, 0, q_softmax, {0}},
    {"QLinearConv", 1, 0, q_conv, {0}},
    {"QGemm", 1, 0, q_gemm, {0}},
    {"NhwcMaxPool", 1, 0, nhwc_max_pool, {0}},
    {"MatMulIntegerToFloat", 1, 0, matmul_integer_to_float, {0}},
    {"DynamicQuantizeMatMul", 1, 0, dynamic_quantize_matmul, {0}},
    {"MatMulNBits", 1, 0, matmul_n_bits, {0}},
    {"QAttention", 1, 0, q_attention, {0}},
    {"DynamicQuantizeLSTM", 1, 0, wick_onnx_dynamic_quantize_lstm, {0}},
    {"QuantizeLinear", 1, 0, quantize, {0}},
    {"DequantizeLinear", 1, 0, dequantize, {0}},
};
const onnx_family wick_onnx_contrib_quant = {"com.microsoft", ops, WICK_COUNTOF(ops)};
