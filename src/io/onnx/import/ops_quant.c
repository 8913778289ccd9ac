/* ops_quant.c: quantised numbers: q stands for (q - zero) scale. 8-bit and 16-bit ones, and of 2 and 4 bits those that
 * are dequantised, become nodes of wick/quantize.h, which passes take together with what is around them; other types,
 * and scales by block, are written out. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"
#include "ops/ops.h"
#include "wick/ops.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"
#include "wick/reduce.h"
#include "wick/shape.h"

/* A scale or zero point laid out to go with x: one number, one for each place of the axis, or one for each block of
 * places. */
static wick_tensor *spread(onnx_call *c, wick_tensor *p, wick_tensor *x, int axis, int64_t block) {
    const int rank = wick_tensor_rank(x);
    if (wick_tensor_count(p) == 1 && wick_tensor_rank(p) <= 1) return wick_reshape(p, WICK_SCALAR);
    if (wick_tensor_rank(p) == 1 && !(block && rank == 1)) {
        int64_t dims[WICK_MAX_DIMS];
        for (int i = 0; i < rank; i++) dims[i] = i == axis ? wick_tensor_count(p) : 1;
        return wick_reshape(p, rank, dims);
    }
    if (wick_tensor_rank(p) != rank)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "a scale of %d dims for x of %d", wick_tensor_rank(p), rank), NULL;
    const int64_t extent = wick_tensor_dim(x, axis), n = wick_tensor_dim(p, axis);
    if (n == extent || n <= 0) return p;
    const int64_t each = block > 0 ? block : (extent + n - 1) / n;
    return wick_slice(wick_repeat_interleave(p, WICK_MIN(each, extent), axis), axis, 0, extent, 1);
}

wick_tensor *wick_onnx_to_integer(wick_tensor *x, wick_dtype dtype) {
    const int bits = (int)wick_dtype_bits(dtype);
    const bool natural = dtype == WICK_U8 || dtype == WICK_U16 || dtype == WICK_U4 || dtype == WICK_U2;
    if (bits > 16) return wick_cast(x, dtype); /* floats don't have their ends */
    if (bits == 8) /* whose cast saturates */
        return wick_cast(wick_tensor_dtype(x) == WICK_F64 ? x : wick_cast(x, WICK_F32), dtype);
    const double most = (double)((1 << (natural ? bits : bits - 1)) - 1);
    return wick_cast(
        wick_clip(wick_tensor_dtype(x) == WICK_F64 ? x : wick_cast(x, WICK_F32), natural ? 0 : -most - 1, most), dtype);
}

/* Rounded half to even and held to the range of the type. zero is an f32, or NULL. */
static wick_tensor *to_quantised(wick_tensor *x, wick_tensor *scale, wick_tensor *zero, wick_dtype dtype) {
    wick_tensor *q = wick_div(x, scale);
    if (!wick_dtype_is_integer(dtype)) return wick_cast_saturate(q, dtype); /* its zero point is 0 */
    q = wick_round(q);
    if (zero) q = wick_add(q, zero);
    return wick_onnx_to_integer(q, dtype);
}

/* Whether a scale says what is divided among its blocks of the axis: [..., blocks, ...], its other dims those of x. */
static bool blocks_fit(onnx_call *c, wick_tensor *p, wick_tensor *x, int axis, int64_t block) {
    const int rank = wick_tensor_rank(x);
    if (!block && wick_tensor_rank(p) < 2) return true;
    if (!block)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "a scale or zero point has %d dims, but block_size is not given",
                              wick_tensor_rank(p));
    bool fits = wick_tensor_rank(p) == rank;
    for (int i = 0; i < rank && fits; i++) {
        const int64_t extent = wick_tensor_dim(x, i);
        fits = wick_tensor_dim(p, i) == (i == axis ? extent / block + (extent % block != 0) : extent);
    }
    return fits || wick_onnx_fail(c, WICK_ERR_SHAPE,
                                  "a scale or zero point does not have a number for each %lld places of axis %d",
                                  (long long)block, axis);
}

/* What both ways share: the scale and the zero point (or NULL) laid out for x, in f32, and the dtype that output_dtype
 * asks for. */
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
    if ((block || wick_tensor_count(s->scale) > 1) &&
        !wick_onnx_axis(c, wick_onnx_int(c, "axis", 1), wick_tensor_rank(s->x), &axis))
        return false;
    if (!blocks_fit(c, s->scale, s->x, axis, block) || (s->zero && !blocks_fit(c, s->zero, s->x, axis, block)))
        return false;
    s->scale = spread(c, wick_cast(s->scale, WICK_F32), s->x, axis, block);
    if (s->zero && s->scale) s->zero = spread(c, wick_cast(s->zero, WICK_F32), s->x, axis, block);
    return c->status == WICK_OK;
}

/* Of numbers of 2 and 4 bits those of 8, which nodes of wick_dequantize take; other dtypes stay. */
static wick_dtype as_byte(wick_dtype dtype) {
    if (dtype == WICK_I4 || dtype == WICK_I2) return WICK_I8;
    return dtype == WICK_U4 || dtype == WICK_U2 ? WICK_U8 : dtype;
}

/* May nodes of wick_quantize and wick_dequantize say it, which passes find? */
static bool is_plain(onnx_call *c, wick_dtype quantised) {
    const wick_tensor *scale = c->in[1]->v.tensor;
    wick_tensor *zero = wick_onnx_optional(c, 2);
    return (wick_tensor_count(scale) == 1 || wick_tensor_rank(scale) == 1) && !wick_onnx_int(c, "block_size", 0) &&
           (as_byte(quantised) == WICK_U8 || as_byte(quantised) == WICK_I8 || quantised == WICK_I16 ||
            quantised == WICK_I32) &&
           (!zero || (wick_tensor_dtype(zero) == quantised && wick_tensor_count(zero) == wick_tensor_count(scale) &&
                      wick_tensor_rank(zero) <= 1));
}

static void quantize(onnx_call *c) {
    scaling s = {.dtype = WICK_U8};
    wick_tensor *x = wick_onnx_tensor(c, 0), *zero = wick_onnx_optional(c, 2);
    if (!x || !wick_onnx_tensor(c, 1)) return;
    const wick_dtype dtype = zero ? wick_tensor_dtype(zero) : WICK_U8;
    if (wick_tensor_dtype(x) != WICK_F64 && dtype != WICK_I32 && dtype == as_byte(dtype) &&
        !wick_onnx_int(c, "output_dtype", 0) && is_plain(c, dtype)) {
        /* Scales that are f32 are not cast to it: passes compare them as they are. */
        wick_onnx_set(c, 0,
                      wick_quantize(wick_as(x, WICK_F32), wick_as(wick_onnx_number(c, 1), WICK_F32),
                                    wick_onnx_zero_point(c, 2), (int)wick_onnx_int(c, "axis", 1), dtype));
        return;
    }
    if (!read_scaling(c, &s)) return;
    if (s.zero && wick_onnx_int(c, "output_dtype", 0) && s.dtype != wick_tensor_dtype(zero)) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "output_dtype is %s, the zero point %s",
                       wick_onnx_type_name(wick_onnx_type(s.dtype)), wick_onnx_type_name(wick_onnx_type(dtype)));
        return;
    }
    if (s.zero) s.dtype = wick_tensor_dtype(zero);
    wick_onnx_set(
        c, 0,
        to_quantised(wick_tensor_dtype(s.x) == WICK_F64 ? s.x : wick_cast(s.x, WICK_F32), s.scale, s.zero, s.dtype));
}

static void dequantize(onnx_call *c) {
    scaling s = {.dtype = WICK_F32};
    wick_tensor *x = wick_onnx_tensor(c, 0), *scale = x ? wick_onnx_tensor(c, 1) : NULL;
    if (!scale) return;
    s.dtype = wick_tensor_dtype(scale);
    const wick_dtype byte = as_byte(wick_tensor_dtype(x));
    if (byte != wick_tensor_dtype(x) && s.dtype == WICK_F32 && !wick_onnx_int(c, "output_dtype", 0) &&
        is_plain(c, wick_tensor_dtype(x))) {
        wick_tensor *zero = wick_onnx_zero_point(c, 2);
        scale = wick_onnx_number(c, 1);
        /* as many zero points as scales; either may be [1] */
        const int64_t n = wick_tensor_count(scale);
        if (n == 1 && wick_tensor_rank(scale)) scale = wick_reshape(scale, WICK_SCALAR);
        if (zero) zero = wick_reshape(wick_cast(zero, byte), wick_tensor_rank(scale), &n);
        wick_onnx_set(c, 0, wick_dequantize(wick_cast(x, byte), scale, zero, (int)wick_onnx_int(c, "axis", 1)));
        return;
    }
    if (s.dtype == WICK_F32 && !wick_onnx_int(c, "output_dtype", 0) && is_plain(c, wick_tensor_dtype(x))) {
        wick_onnx_set(
            c, 0,
            wick_dequantize(x, wick_onnx_number(c, 1), wick_onnx_zero_point(c, 2), (int)wick_onnx_int(c, "axis", 1)));
        return;
    }
    if (!read_scaling(c, &s)) return;
    if (!wick_dtype_is_float(s.dtype)) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "output_dtype is %s, which is no float",
                       wick_onnx_type_name(wick_onnx_type(s.dtype)));
        return;
    }
    wick_tensor *f = wick_cast(s.x, WICK_F32);
    if (s.zero) f = wick_sub(f, s.zero);
    wick_onnx_set(c, 0, wick_cast(wick_mul(f, s.scale), s.dtype));
}

/* The range has 0 in it, so that NaN, which it passes over, is 0 there; of a range of nothing the scale is 1. NaN
 * itself becomes 0. All of it as ONNX Runtime. */
wick_tensor *wick_onnx_quantise_range(wick_tensor *x, wick_tensor **scale, wick_tensor **point) {
    if (wick_tensor_dtype(x) == WICK_F32) return wick_quantize_dynamic(x, scale, point);
    wick_tensor *zero = wick_like(x, 0), *high = zero, *low = zero;
    if (wick_tensor_count(x)) {
        high = wick_max(wick_fmax(x, zero), WICK_ALL_AXES, false);
        low = wick_min(wick_fmin(x, zero), WICK_ALL_AXES, false);
    }
    *scale = wick_where(wick_eq(high, low), wick_like(x, 1), wick_div(wick_sub(high, low), wick_like(x, 255)));
    wick_tensor *at = wick_clip(wick_round(wick_div(wick_sub(zero, low), *scale)), 0, 255);
    *point = wick_cast(at, WICK_U8);
    return to_quantised(x, *scale, at, WICK_U8);
}
static void dynamic_quantize(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *scale, *point;
    if (!x) return;
    wick_onnx_set(c, 0, wick_onnx_quantise_range(x, &scale, &point));
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

/* One number, or one for each of n. */
static bool is_row(const wick_tensor *t, int64_t n) {
    return !t || (wick_tensor_rank(t) <= 1 && (wick_tensor_count(t) == 1 || wick_tensor_count(t) == n));
}
static bool is_one(const wick_tensor *t) { return is_row(t, 1); }
static bool is_byte(wick_dtype d) { return d == WICK_U8 || d == WICK_I8; }

wick_tensor *wick_onnx_column_sums(wick_tensor *b, wick_tensor *b_zero) {
    wick_tensor *sums = wick_cast(wick_sum(wick_cast(b, WICK_I32), 1, (const int[]){-2}, true), WICK_I32);
    if (!b_zero) return sums;
    wick_tensor *k = wick_like(sums, (double)wick_tensor_dim(b, -2));
    return wick_sub(sums, wick_mul(k, wick_cast(b_zero, WICK_I32)));
}
wick_tensor *wick_onnx_byte_product(wick_tensor *a, wick_tensor *a_zero, wick_tensor *b, wick_tensor *b_zero,
                                    wick_tensor *sums) {
    const wick_int8_options o = {.a_zero = sums ? NULL : a_zero, .b_zero = b_zero};
    wick_tensor *y = wick_int8_matmul(a, b, &o);
    if (!sums || !a_zero) return y;
    return wick_sub(y, wick_mul(wick_reshape(wick_cast(a_zero, WICK_I32), WICK_SCALAR), sums));
}

static void matmul_integer(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = a ? wick_onnx_tensor(c, 1) : NULL, *za = wick_onnx_optional(c, 2),
                *zb = wick_onnx_optional(c, 3);
    if (!b || c->status != WICK_OK) return;
    if (is_one(za) && is_row(zb, wick_tensor_rank(b) > 1 ? wick_tensor_dim(b, -1) : 1)) {
        const wick_int8_options o = {.a_zero = wick_onnx_zero_point(c, 2), .b_zero = wick_onnx_zero_point(c, 3)};
        wick_onnx_set(c, 0, wick_int8_matmul(a, b, &o));
        return;
    }
    a = centred(c, a, za, WICK_MAX(wick_tensor_rank(a) - 2, 0)); /* zero points of rows */
    b = a ? centred(c, b, zb, wick_tensor_rank(b) - 1) : NULL;
    if (b) wick_onnx_set(c, 0, wick_matmul(a, b));
}

/* Of QLinearMatMul and QLinearConv: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero; false: the call failed. */
static bool qlinear_inputs(onnx_call *c, wick_tensor *t[8], wick_int8_options *o) {
    for (int i = 0; i < 8; i++)
        if (!(t[i] = wick_onnx_tensor(c, i))) return false;
    *o = (wick_int8_options){.a_zero = wick_onnx_zero_point(c, 2),
                             .b_zero = wick_onnx_zero_point(c, 5),
                             .zero = wick_onnx_zero_point(c, 7),
                             .dtype = wick_tensor_dtype(t[7])};
    wick_tensor **const scales[] = {&o->a_scale, &o->b_scale, &o->scale};
    for (int k = 0; k < 3; k++) *scales[k] = wick_as(wick_onnx_number(c, k * 3 + (k < 2)), WICK_F32);
    return c->status == WICK_OK;
}

static void qlinear_matmul(onnx_call *c) {
    wick_tensor *t[8];
    wick_int8_options o;
    if (!qlinear_inputs(c, t, &o)) return;
    const int64_t columns = wick_tensor_rank(t[3]) > 1 ? wick_tensor_dim(t[3], -1) : 1;
    if (is_one(t[1]) && is_one(t[2]) && is_row(t[4], columns) && is_row(t[5], columns) && is_one(t[6]) &&
        is_byte(wick_tensor_dtype(t[7]))) {
        wick_onnx_set(c, 0, wick_int8_matmul(t[0], t[3], &o));
        return;
    }
    /* scales of rows, f8 */
    const int row = WICK_MAX(wick_tensor_rank(t[0]) - 2, 0), column = wick_tensor_rank(t[3]) - 1;
    wick_tensor *a = centred(c, t[0], t[2], row), *b = a ? centred(c, t[3], t[5], column) : NULL,
                *sa = b ? spread(c, t[1], t[0], row, 0) : NULL, *sb = sa ? spread(c, t[4], t[3], column, 0) : NULL;
    if (!sb) return;
    wick_tensor *y =
        wick_mul(wick_cast(wick_matmul(a, b), WICK_F32), wick_mul(wick_cast(sa, WICK_F32), wick_cast(sb, WICK_F32)));
    wick_onnx_set(c, 0,
                  to_quantised(y, wick_reshape(o.scale, WICK_SCALAR),
                               wick_reshape(wick_cast(t[7], WICK_F32), WICK_SCALAR), o.dtype));
}

static void conv_integer(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL;
    wick_conv_options conv;
    const wick_int8_options o = {.a_zero = wick_onnx_zero_point(c, 2), .b_zero = wick_onnx_zero_point(c, 3)};
    if (w && c->status == WICK_OK && wick_onnx_conv_options(c, x, w, &conv, NULL))
        wick_onnx_set(c, 0, wick_int8_conv(x, w, &conv, &o));
}

static void qlinear_conv(onnx_call *c) {
    wick_tensor *t[8];
    wick_int8_options o;
    wick_conv_options conv;
    if (!qlinear_inputs(c, t, &o) || !wick_onnx_conv_options(c, t[0], t[3], &conv, NULL)) return;
    o.bias = wick_onnx_optional(c, 8);
    wick_onnx_set(c, 0, wick_int8_conv(t[0], t[3], &conv, &o));
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
