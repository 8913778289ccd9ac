/* ops_quant.c: quantised numbers: q stands for (q - zero) scale. Products of matrices are summed in
 * integers; convolutions, which Wick has for floats only, in f64, where every sum that they make is exact. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"
#include "wick/ops.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/shape.h"

/* A scale or zero point laid out to go with x: one number, one for each place of the axis, or one for each block of places. */
static wick_tensor *spread(onnx_call *c, wick_tensor *p, wick_tensor *x, int axis, int64_t block) {
    const int rank = wick_tensor_rank(x);
    if (wick_tensor_count(p) == 1 && wick_tensor_rank(p) <= 1) return wick_reshape(p, WICK_SCALAR);
    if (wick_tensor_rank(p) == 1) {
        int64_t dims[WICK_MAX_DIMS];
        for (int i = 0; i < rank; i++) dims[i] = i == axis ? wick_tensor_count(p) : 1;
        return wick_reshape(p, rank, dims);
    }
    if (wick_tensor_rank(p) != rank) return wick_onnx_fail(c, WICK_ERR_SHAPE, "a scale of %d dims for x of %d", wick_tensor_rank(p), rank), NULL;
    const int64_t extent = wick_tensor_dim(x, axis), n = wick_tensor_dim(p, axis);
    if (n == extent || n <= 0) return p;
    const int64_t each = block > 0 ? block : (extent + n - 1) / n;
    return wick_slice(wick_repeat_interleave(p, WICK_MIN(each, extent), axis), axis, 0, extent, 1);
}

/* Rounded half to even and held to the range of the type. zero is an f32, or NULL. */
static wick_tensor *to_quantised(wick_tensor *x, wick_tensor *scale, wick_tensor *zero, wick_dtype dtype) {
    wick_tensor *q = wick_div(x, scale);
    if (wick_onnx_is_f8(dtype)) return wick_cast_saturate(q, dtype); /* its zero point is 0 */
    q = wick_round(q);
    if (zero) q = wick_add(q, zero);
    return wick_cast_saturate(q, dtype);
}

/* What both ways share: the scale and the zero point (or NULL) laid out for x, in f32, and the dtype that output_dtype asks for. */
typedef struct scaling {
    wick_tensor *x, *scale, *zero;
    wick_dtype dtype;
} scaling;

static bool read_scaling(onnx_call *c, scaling *s) {
    s->x = wick_onnx_tensor(c, 0);
    s->scale = s->x ? wick_onnx_tensor(c, 1) : NULL;
    s->zero = wick_onnx_optional(c, 2);
    if (!s->scale || c->status != WICK_OK) return false;
    const int64_t asked = wick_onnx_int(c, "output_dtype", 0), block = wick_onnx_int(c, "block_size", 0);
    int axis = 0;
    if (asked && !wick_onnx_dtype(asked, &s->dtype))
        return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "to %s, which Wick does not have", wick_onnx_type_name(asked));
    if (wick_tensor_count(s->scale) > 1 && !wick_onnx_axis(c, wick_onnx_int(c, "axis", 1), wick_tensor_rank(s->x), &axis)) return false;
    s->scale = spread(c, wick_cast(s->scale, WICK_F32), s->x, axis, block);
    if (s->zero && s->scale) s->zero = spread(c, wick_cast(s->zero, WICK_F32), s->x, axis, block);
    return c->status == WICK_OK;
}

static void quantize(onnx_call *c) {
    scaling s = {.dtype = WICK_U8};
    if (!read_scaling(c, &s)) return;
    if (s.zero) s.dtype = wick_tensor_dtype(c->in[2]->v.tensor);
    wick_onnx_set(c, 0, to_quantised(wick_tensor_dtype(s.x) == WICK_F64 ? s.x : wick_cast(s.x, WICK_F32), s.scale, s.zero, s.dtype));
}

static void dequantize(onnx_call *c) {
    scaling s = {.dtype = WICK_F32};
    if (wick_onnx_tensor(c, 1)) s.dtype = wick_tensor_dtype(wick_onnx_tensor(c, 1));
    if (!read_scaling(c, &s)) return;
    wick_tensor *f = wick_cast(s.x, WICK_F32);
    if (s.zero) f = wick_sub(f, s.zero);
    wick_onnx_set(c, 0, wick_cast(wick_mul(f, s.scale), s.dtype));
}

static void dynamic_quantize(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    wick_tensor *zero = wick_constant(c->ctx, WICK_F32, 0), *top = wick_constant(c->ctx, WICK_F32, 255);
    wick_tensor *high = wick_maximum(wick_max(x, WICK_ALL_AXES, false), zero), *low = wick_minimum(wick_min(x, WICK_ALL_AXES, false), zero);
    wick_tensor *scale = wick_div(wick_sub(high, low), top);
    wick_tensor *point = wick_cast(wick_clip(wick_round(wick_div(wick_sub(zero, low), scale)), 0, 255), WICK_U8);
    wick_onnx_set(c, 0, to_quantised(x, scale, wick_cast(point, WICK_F32), WICK_U8));
    wick_onnx_set(c, 1, scale);
    wick_onnx_set(c, 2, point);
}

/* x - zero in 32 bits, where the zero point lies along `axis` if it is a vector. */
static wick_tensor *centred(onnx_call *c, wick_tensor *x, wick_tensor *zero, int axis) {
    wick_tensor *i = wick_cast(x, WICK_I32);
    if (!zero) return i;
    zero = spread(c, wick_cast(zero, WICK_I32), x, axis, 0);
    return zero ? wick_sub(i, zero) : NULL;
}

static void matmul_integer(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = a ? wick_onnx_tensor(c, 1) : NULL;
    if (!b) return;
    a = centred(c, a, wick_onnx_optional(c, 2), WICK_MAX(wick_tensor_rank(a) - 2, 0));
    b = a ? centred(c, b, wick_onnx_optional(c, 3), wick_tensor_rank(b) - 1) : NULL;
    if (b) wick_onnx_set(c, 0, wick_matmul(a, b));
}

static void qlinear_matmul(onnx_call *c) {
    wick_tensor *t[8];
    for (int i = 0; i < 8; i++)
        if (!(t[i] = wick_onnx_tensor(c, i))) return;
    const int row = WICK_MAX(wick_tensor_rank(t[0]) - 2, 0), column = wick_tensor_rank(t[3]) - 1;
    wick_tensor *a = centred(c, t[0], t[2], row), *b = a ? centred(c, t[3], t[5], column) : NULL, *sa = b ? spread(c, t[1], t[0], row, 0) : NULL,
                *sb = sa ? spread(c, t[4], t[3], column, 0) : NULL;
    if (!sb) return;
    wick_tensor *y = wick_mul(wick_cast(wick_matmul(a, b), WICK_F32), wick_mul(wick_cast(sa, WICK_F32), wick_cast(sb, WICK_F32)));
    wick_onnx_set(c, 0,
                  to_quantised(y, wick_reshape(wick_cast(t[6], WICK_F32), WICK_SCALAR), wick_reshape(wick_cast(t[7], WICK_F32), WICK_SCALAR),
                               wick_tensor_dtype(t[7])));
}

/* Sums of products of whole numbers are exact in f64 up to 2^53: more than any kernel of 8-bit numbers reaches. */
static wick_tensor *integer_conv(onnx_call *c, wick_tensor *x, wick_tensor *w, wick_tensor *zx, wick_tensor *zw) {
    wick_conv_options o;
    if (!wick_onnx_conv_options(c, x, w, &o)) return NULL;
    x = centred(c, x, zx, 0);
    w = x ? centred(c, w, zw, 0) : NULL;
    return w ? wick_conv(wick_cast(x, WICK_F64), wick_cast(w, WICK_F64), NULL, &o) : NULL;
}

static void conv_integer(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL;
    wick_tensor *y = w ? integer_conv(c, x, w, wick_onnx_optional(c, 2), wick_onnx_optional(c, 3)) : NULL;
    if (y) wick_onnx_set(c, 0, wick_cast(y, WICK_I32));
}

static void qlinear_conv(onnx_call *c) {
    wick_tensor *t[8];
    for (int i = 0; i < 8; i++)
        if (!(t[i] = wick_onnx_tensor(c, i))) return;
    wick_tensor *y = integer_conv(c, t[0], t[3], t[2], t[5]), *bias = wick_onnx_optional(c, 8);
    if (!y) return;
    int64_t dims[WICK_MAX_DIMS] = {-1, 1, 1, 1, 1};
    const int places = wick_tensor_rank(y) - 1;
    if (bias) y = wick_add(y, wick_reshape(wick_cast(bias, WICK_F64), places, dims));
    wick_tensor *scale = wick_mul(wick_reshape(wick_cast(t[1], WICK_F32), WICK_SCALAR), wick_cast(t[4], WICK_F32));
    if (wick_tensor_count(scale) > 1) scale = wick_reshape(scale, places, dims);
    y = wick_mul(wick_cast(y, WICK_F32), wick_tensor_count(scale) > 1 ? scale : wick_reshape(scale, WICK_SCALAR));
    wick_onnx_set(c, 0,
                  to_quantised(y, wick_reshape(wick_cast(t[6], WICK_F32), WICK_SCALAR), wick_reshape(wick_cast(t[7], WICK_F32), WICK_SCALAR),
                               wick_tensor_dtype(t[7])));
}

static const onnx_op ops[] = {
    {"QuantizeLinear", 10, 0, quantize, {0}},
    {"DequantizeLinear", 10, 0, dequantize, {0}},
    {"DynamicQuantizeLinear", 11, 0, dynamic_quantize, {0}},
    {"MatMulInteger", 10, 0, matmul_integer, {0}},
    {"QLinearMatMul", 10, 0, qlinear_matmul, {0}},
    {"ConvInteger", 10, 0, conv_integer, {0}},
    {"QLinearConv", 10, 0, qlinear_conv, {0}},
};
const onnx_family wick_onnx_quant = {"", ops, WICK_COUNTOF(ops)};
