/* ops_math.c: elementwise ops. */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/shape.h"

static void unary(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, c->step->op->arg.unary(x));
}

/* ---- two inputs and more ----------------------------------------------------------------------------------------- */

/* Before opset 7 b lies along a's dims from `axis` on, where `broadcast` says so. */
static wick_tensor *old_broadcast(onnx_call *c, wick_tensor *a, wick_tensor *b) {
    const int ra = wick_tensor_rank(a), rb = wick_tensor_rank(b);
    int axis;
    if (c->opset >= 7 || !wick_onnx_int(c, "broadcast", 0) || !wick_onnx_attr(c, "axis")) return b;
    if (!wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), ra, &axis)) return NULL;
    if (axis + rb > ra) return wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %d leaves no room for %d dims", axis, rb), NULL;
    int64_t dims[WICK_MAX_DIMS];
    int rank = 0;
    for (; rank < rb; rank++) dims[rank] = wick_tensor_dim(b, rank);
    for (; rank < ra - axis; rank++) dims[rank] = 1;
    return wick_reshape(b, rank, dims);
}

static bool pair(onnx_call *c, wick_tensor **a, wick_tensor **b) {
    *a = wick_onnx_tensor(c, 0);
    *b = *a ? wick_onnx_tensor(c, 1) : NULL;
    return *b && (*b = old_broadcast(c, *a, *b)) != NULL;
}

static void binary(onnx_call *c) {
    wick_tensor *a, *b;
    if (pair(c, &a, &b)) wick_onnx_set(c, 0, c->step->op->arg.binary(a, b));
}

static void equal(onnx_call *c) {
    const onnx_value *a = wick_onnx_in(c, 0), *b = a ? wick_onnx_in(c, 1) : NULL;
    if (!b) return;
    if (a->v.kind != WICK_VALUE_STRINGS && b->v.kind != WICK_VALUE_STRINGS) {
        binary(c);
        return;
    }
    if (a->v.kind != b->v.kind) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "one input is strings, the other is not");
        return;
    }
    const wick_onnx_value *v[2] = {&a->v, &b->v};
    wick_tensor *t[2];
    if (wick_onnx_number_texts(c, 2, v, t)) wick_onnx_set(c, 0, wick_eq(t[0], t[1]));
}

static void divide(onnx_call *c) {
    wick_tensor *a, *b;
    if (pair(c, &a, &b)) wick_onnx_set(c, 0, wick_onnx_is_float(a) ? wick_div(a, b) : wick_trunc_divide(a, b));
}

static void power(onnx_call *c) {
    wick_tensor *a, *b;
    if (pair(c, &a, &b)) wick_onnx_set(c, 0, wick_cast(wick_pow(a, b), wick_tensor_dtype(a)));
}

static void modulo(onnx_call *c) {
    wick_tensor *a, *b;
    if (!pair(c, &a, &b)) return;
    wick_onnx_set(c, 0, wick_onnx_int(c, "fmod", 0) ? wick_fmod(a, b) : wick_remainder(a, b));
}

static void bit_shift(onnx_call *c) {
    wick_tensor *a, *b;
    if (!pair(c, &a, &b)) return;
    wick_onnx_set(c, 0, wick_onnx_text_is(c, "direction", "", "LEFT") ? wick_left_shift(a, b) : wick_right_shift(a, b));
}

/* Any number of inputs, folded from the left. */
static void fold(onnx_call *c) {
    wick_tensor *y = wick_onnx_tensor(c, 0);
    for (int i = 1; i < c->n_in && y; i++) {
        wick_tensor *x = wick_onnx_tensor(c, i);
        y = x ? c->step->op->arg.binary(y, x) : NULL;
    }
    wick_onnx_set(c, 0, y);
}

static void mean(onnx_call *c) {
    wick_tensor *y = wick_onnx_tensor(c, 0);
    for (int i = 1; i < c->n_in && y; i++) {
        wick_tensor *x = wick_onnx_tensor(c, i);
        y = x ? wick_add(y, x) : NULL;
    }
    if (y) wick_onnx_set(c, 0, wick_div(y, wick_like(y, c->n_in)));
}

static void where(onnx_call *c) {
    wick_tensor *m = wick_onnx_tensor(c, 0), *a = m ? wick_onnx_tensor(c, 1) : NULL,
                *b = a ? wick_onnx_tensor(c, 2) : NULL;
    if (b) wick_onnx_set(c, 0, wick_where(m, a, b));
}

/* ---- with numbers ------------------------------------------------------------------------------------------------ */

static void leaky_relu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, wick_leaky_relu(x, wick_onnx_float(c, "alpha", (float)0.01)));
}
static void elu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, wick_elu(x, wick_onnx_float(c, "alpha", 1)));
}
static void celu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, wick_celu(x, wick_onnx_float(c, "alpha", 1)));
}
static void selu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const double alpha = wick_onnx_float(c, "alpha", c->opset < 6 ? (float)1.6732 : (float)1.67326319217681884765625);
    const double gamma = wick_onnx_float(c, "gamma", c->opset < 6 ? (float)1.0507 : (float)1.05070102214813232421875);
    wick_onnx_set(c, 0, wick_mul(wick_elu(x, alpha), wick_like(x, gamma)));
}
static void thresholded_relu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    wick_tensor *above =
        wick_gt(x, wick_like(x, wick_onnx_float(c, "alpha", 1))); /* of NaN false, as in ONNX's function */
    wick_onnx_set(c, 0, wick_where(above, x, wick_like(x, 0)));
}
static void hard_sigmoid(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const double alpha = wick_onnx_float(c, "alpha", (float)0.2), beta = wick_onnx_float(c, "beta", 0.5);
    wick_onnx_set(c, 0, wick_clip(wick_add(wick_mul(x, wick_like(x, alpha)), wick_like(x, beta)), 0, 1));
}
static void gelu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, wick_onnx_text_is(c, "approximate", "none", "tanh") ? wick_gelu_tanh(x) : wick_gelu(x));
}
static void swish(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const double alpha = wick_onnx_float(c, "alpha", 1);
    wick_onnx_set(c, 0, alpha == 1 ? wick_silu(x) : wick_mul(x, wick_sigmoid(wick_mul(x, wick_like(x, alpha)))));
}
static void shrink(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const double lambda = wick_onnx_float(c, "lambd", 0.5), bias = wick_onnx_float(c, "bias", 0);
    wick_tensor *f = wick_onnx_is_float(x) ? x : wick_cast(x, WICK_F32);
    wick_tensor *low = wick_add(f, wick_like(f, bias)), *high = wick_sub(f, wick_like(f, bias)),
                *zero = wick_like(f, 0);
    wick_tensor *y =
        wick_where(wick_lt(f, wick_like(f, -lambda)), low, wick_where(wick_gt(f, wick_like(f, lambda)), high, zero));
    wick_onnx_set(c, 0, wick_cast(y, wick_tensor_dtype(x)));
}
static void clip(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    if (c->opset < 11) {
        wick_onnx_set(c, 0, wick_clip(x, wick_onnx_float(c, "min", -INFINITY), wick_onnx_float(c, "max", INFINITY)));
        return;
    }
    wick_tensor *lo = wick_onnx_has(c, 1) ? wick_onnx_number(c, 1) : NULL,
                *hi = wick_onnx_has(c, 2) ? wick_onnx_number(c, 2) : NULL;
    if (lo) x = wick_maximum(x, lo);
    if (hi) x = wick_minimum(x, hi);
    wick_onnx_set(c, 0, x);
}
static void prelu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *slope = x ? wick_onnx_tensor(c, 1) : NULL;
    if (!slope) return;
    /* by channel */
    if (c->opset < 7 && wick_tensor_rank(slope) == 1 && wick_tensor_rank(x) > 1 && wick_tensor_count(slope) > 1) {
        int64_t dims[WICK_MAX_DIMS];
        for (int i = 0; i < wick_tensor_rank(x); i++) dims[i] = 1;
        dims[1] = wick_tensor_count(slope);
        slope = wick_reshape(slope, wick_tensor_rank(x), dims);
    }
    if (wick_onnx_is_float(x)) wick_onnx_set(c, 0, wick_prelu(x, slope));
    else wick_onnx_set(c, 0, wick_where(wick_lt(x, wick_like(x, 0)), wick_mul(x, slope), x));
}
static void is_inf(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    wick_tensor *y = wick_isinf(x), *zero = wick_like(x, 0);
    if (!wick_onnx_int(c, "detect_negative", 1)) y = wick_logical_and(y, wick_gt(x, zero));
    if (!wick_onnx_int(c, "detect_positive", 1)) y = wick_logical_and(y, wick_lt(x, zero));
    wick_onnx_set(c, 0, y);
}
static void cumulate(onnx_call *c, bool product) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    int axis;
    if (!x || !wick_onnx_host(c, 1, &h)) return;
    if (h.n != 1) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "axis has %lld values", (long long)h.n);
        return;
    }
    if (!wick_onnx_axis(c, h.ints[0], wick_tensor_rank(x), &axis)) return;
    const bool exclusive = wick_onnx_int(c, "exclusive", 0), reverse = wick_onnx_int(c, "reverse", 0);
    const wick_dtype dtype = wick_tensor_dtype(x);
    wick_tensor *y;
    if (product) {
        y = reverse ? wick_flip(x, 1, &axis) : x;
        if (exclusive && wick_tensor_dim(x, axis)) {
            const int64_t n = wick_tensor_dim(x, axis);
            wick_tensor *first = wick_slice(y, axis, 0, 1, 1), *rest = wick_slice(y, axis, 0, n - 1, 1);
            wick_tensor *parts[2] = {wick_full(c->ctx, dtype, wick_tensor_rank(first), wick_tensor_dims(first), 1),
                                     rest};
            y = wick_concat(2, parts, axis);
        }
        y = wick_cumprod(y, axis);
        if (reverse) y = wick_flip(y, 1, &axis);
    } else y = wick_cumsum_with(x, axis, exclusive, reverse);
    wick_onnx_set(c, 0, wick_cast(y, dtype));
}
static void cumsum(onnx_call *c) { cumulate(c, false); }
static void cumprod(onnx_call *c) { cumulate(c, true); }

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define UNARY(name, since, f)                                                                                          \
    { name, since, 0, unary, .arg.unary = f }
#define BINARY(name, since, f)                                                                                         \
    { name, since, 0, binary, .arg.binary = f }
static const onnx_op ops[] = {
    UNARY("Abs", 1, wick_abs),
    UNARY("Acos", 7, wick_acos),
    UNARY("Acosh", 9, wick_acosh),
    UNARY("Asin", 7, wick_asin),
    UNARY("Asinh", 9, wick_asinh),
    UNARY("Atan", 7, wick_atan),
    UNARY("Atanh", 9, wick_atanh),
    UNARY("Ceil", 1, wick_ceil),
    UNARY("Cos", 7, wick_cos),
    UNARY("Cosh", 9, wick_cosh),
    UNARY("Erf", 9, wick_erf),
    UNARY("Exp", 1, wick_exp),
    UNARY("Floor", 1, wick_floor),
    UNARY("HardSwish", 14, wick_hardswish),
    UNARY("IsNaN", 9, wick_isnan),
    UNARY("Log", 1, wick_log),
    UNARY("Mish", 18, wick_mish),
    UNARY("Neg", 1, wick_neg),
    UNARY("Not", 1, wick_logical_not),
    UNARY("Reciprocal", 1, wick_reciprocal),
    UNARY("Relu", 1, wick_relu),
    UNARY("Round", 11, wick_round),
    UNARY("Sigmoid", 1, wick_sigmoid),
    UNARY("Sign", 9, wick_sign),
    UNARY("Sin", 7, wick_sin),
    UNARY("Sinh", 9, wick_sinh),
    UNARY("Softsign", 1, wick_softsign),
    UNARY("Sqrt", 1, wick_sqrt),
    UNARY("Tan", 7, wick_tan),
    UNARY("Tanh", 1, wick_tanh),
    UNARY("BitwiseNot", 18, wick_bitwise_not),
    BINARY("Add", 1, wick_add),
    BINARY("Sub", 1, wick_sub),
    BINARY("Mul", 1, wick_mul),
    BINARY("And", 1, wick_logical_and),
    BINARY("Or", 1, wick_logical_or),
    BINARY("Xor", 1, wick_logical_xor),
    BINARY("Greater", 1, wick_gt),
    BINARY("GreaterOrEqual", 12, wick_ge),
    BINARY("Less", 1, wick_lt),
    BINARY("LessOrEqual", 12, wick_le),
    BINARY("BitwiseAnd", 18, wick_bitwise_and),
    BINARY("BitwiseOr", 18, wick_bitwise_or),
    BINARY("BitwiseXor", 18, wick_bitwise_xor),
    {"Div", 1, 0, divide, {0}},
    {"Pow", 1, 0, power, {0}},
    {"Mod", 10, 0, modulo, {0}},
    {"BitShift", 11, 0, bit_shift, {0}},
    {"Equal", 1, 0, equal, .arg.binary = wick_eq},
    {"Max", 1, 0, fold, .arg.binary = wick_maximum},
    {"Min", 1, 0, fold, .arg.binary = wick_minimum},
    {"Sum", 1, 0, fold, .arg.binary = wick_add},
    {"Mean", 1, 0, mean, {0}},
    {"Where", 9, 0, where, {0}},
    {"LeakyRelu", 1, 0, leaky_relu, {0}},
    {"Elu", 1, 0, elu, {0}},
    {"Celu", 12, 0, celu, {0}},
    {"Selu", 1, 0, selu, {0}},
    {"ThresholdedRelu", 1, 0, thresholded_relu, {0}},
    {"HardSigmoid", 1, 0, hard_sigmoid, {0}},
    {"Gelu", 20, 0, gelu, {0}},
    {"Swish", 24, 0, swish, {0}},
    {"Shrink", 9, 0, shrink, {0}},
    {"Clip", 1, 0, clip, {0}},
    {"PRelu", 1, 0, prelu, {0}},
    {"IsInf", 10, 0, is_inf, {0}},
    UNARY("Softplus", 1, wick_softplus),
    {"CumSum", 11, 0, cumsum, {0}},
    {"CumProd", 26, 0, cumprod, {0}},
};
const onnx_family wick_onnx_math = {"", ops, WICK_COUNTOF(ops)};
