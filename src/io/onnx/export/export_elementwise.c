/* export_elementwise.c: elementwise ops, a row each: from which opset on ONNX has it, how it is said then, and how
 * before. A text is in postfix order: a, b and c are the inputs, numbers have the dtype of the last input, an op's
 * inputs are counted by /2 or /3 behind its name (none: 1), its attributes stand in braces: "a 3 Add/2 0 6 Clip/3
 * Gelu{approximate=tanh}". Names of ops in here are those of ONNX. ">u" takes what was made last as u (v, w). */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

#include <math.h>
#include <stdlib.h>

typedef struct row {
    const char *text;   /* "": nothing in ONNX says it */
    int since;          /* text is for this opset and later ones, and ... */
    const char *before; /* ... this for older ones */
    const char *ints;   /* this for integers; NULL: text */
    const char *bools;  /* this for bools; NULL: text */
    bool single;        /* as exact as f32 is: not for f64 */
} row;

#define SIGN_BIT(x) x " 0 Less/2 " x " Reciprocal 0 Less/2 Or/2" /* 1 / -0 is -Inf */
/* Near 0 by the hyperbolic functions, which keep their digits there. */
#define EXPM1(x)                                                                                                       \
    x " Abs 1 Less/2 " x " 0.5 Mul/2 Tanh 2 Mul/2 1 " x " 0.5 Mul/2 Tanh Sub/2 Div/2 " x " Exp 1 Sub/2 Where/3"
#define LOG1P(x) x " Abs 0.5 Less/2 " x " " x " 2 Add/2 Div/2 Atanh 2 Mul/2 " x " 1 Add/2 Log Where/3"
#define SAFE_B   "b 0 Equal/2 1 b Where/3" /* whole numbers by 0 give 0 here, and stop others */
/* Giles 2010, "Approximating the erfinv function": polynomials in w = -log(1 - a^2). */
#define POLY(w, c0, c1, c2, c3, c4, c5, c6, c7, c8)                                                                    \
    c8 " " w " Mul/2 " c7 " Add/2 " w " Mul/2 " c6 " Add/2 " w " Mul/2 " c5 " Add/2 " w " Mul/2 " c4 " Add/2 " w       \
       " Mul/2 " c3 " Add/2 " w " Mul/2 " c2 " Add/2 " w " Mul/2 " c1 " Add/2 " w " Mul/2 " c0 " Add/2"
#define ERFINV                                                                                                         \
    "1 a Sub/2 1 a Add/2 Mul/2 Log Neg >u u 2.5 Sub/2 >v u Sqrt 3 Sub/2 >w u 5 Less/2 " POLY(                          \
        "v", "1.50140941", "0.246640727", "-0.00417768164", "-0.00125372503", "0.000218580870", "-4.39150654e-06",     \
        "-3.5233877e-06", "3.43273939e-07",                                                                            \
        "2.81022636e-08") " " POLY("w", "2.83297682", "1.00167406", "0.00943887047", "-0.0076224613", "0.00573950773", \
                                   "-0.00367342844", "0.00134934322", "0.000100950558",                                \
                                   "-0.000200214257") " Where/3 a Mul/2 >v a Abs 1 Equal/2 a 1e999 Mul/2 v Where/3"
/* Stirling's series at u = v or v + 7, and the recurrence down from there, where v = a, or 1 - a of small ones
 * (Abramowitz, Stegun 1964, 6.1.17, 6.1.41, 6.3.7, 6.3.18). */
#define PI        " 3.14159265358979 "
#define SHIFTED   "a 0.5 Less/2 1 a Sub/2 a Where/3 >v v 7 Less/2 v 7 Add/2 v Where/3 >u u Reciprocal >w "
#define STEPS(op)                                                                                                      \
    "v 1 Add/2 " op " v 2 Add/2 " op " v 3 Add/2 " op " v 4 Add/2 " op " v 5 Add/2 " op " v 6 Add/2 " op " "
#define LGAMMA                                                                                                         \
    SHIFTED "w w Mul/2 0.00079365079365079 Mul/2 -0.0027777777777778 Add/2 w Mul/2 w Mul/2 0.083333333333333 Add/2 w " \
            "Mul/2 0.91893853320467 Add/2 "                                                                            \
            "u 0.5 Sub/2 u Log 1 Sub/2 Mul/2 Add/2 0.5 Sub/2 >w v 7 Less/2 w v " STEPS(                                \
                "Mul/2") "Log Sub/2 w Where/3 >w "                                                                     \
                         "a 0.5 Less/2 a a Round Sub/2" PI "Mul/2 Sin Abs" PI                                          \
                         "Div/2 Log Neg w Sub/2 w Where/3 >w a IsInf a Abs w Where/3"
#define DIGAMMA                                                                                                        \
    SHIFTED "u Log w 0.5 Mul/2 Sub/2 w w Mul/2 >w w 0.003968253968254 Mul/2 -0.0083333333333333 Add/2 w Mul/2 "        \
            "0.083333333333333 Add/2 w Mul/2 Sub/2 >w "                                                                \
            "v 7 Less/2 w v Reciprocal " STEPS(                                                                        \
                "Reciprocal Add/2") "Sub/2 w Where/3 >w a 0.5 Less/2 w a a Round Sub/2" PI "Mul/2 Tan Reciprocal" PI   \
                                    "Mul/2 Sub/2 w Where/3 >w a 0 Less/2 a a Round Equal/2 And/2 0 0 Div/2 w Where/3"
#define OR_ZERO(y) "b 0 Equal/2 0 " y " Where/3"

static const row rows[WICK_EW_COUNT] = {
    [WICK_EW_add] = {.text = "a b Add/2"},
    [WICK_EW_sub] = {.text = "a b Sub/2"},
    [WICK_EW_mul] = {.text = "a b Mul/2"},
    [WICK_EW_div] = {.text = "a b Div/2"},
    [WICK_EW_pow] = {.text = "a b Pow/2"},
    [WICK_EW_floor_divide] = {.text = "a b Div/2 Floor",
                              .ints = OR_ZERO("a a " SAFE_B " Mod/2 Sub/2 " SAFE_B " Div/2")},
    [WICK_EW_trunc_divide] = {.text = "a b Div/2 Sign a b Div/2 Abs Floor Mul/2",
                              .ints = OR_ZERO("a " SAFE_B " Div/2")},
    [WICK_EW_remainder] = {.text = "a b a b Div/2 Floor Mul/2 Sub/2", .ints = OR_ZERO("a " SAFE_B " Mod/2")},
    [WICK_EW_fmod] = {.text = "a b Mod{fmod=1}/2", .ints = OR_ZERO("a " SAFE_B " Mod{fmod=1}/2")},
    [WICK_EW_maximum] = {.text = "a b Max/2"},
    [WICK_EW_minimum] = {.text = "a b Min/2"},
    [WICK_EW_fmax] = {.text = "b IsNaN a a IsNaN b a b Max/2 Where/3 Where/3", .ints = "a b Max/2"},
    [WICK_EW_fmin] = {.text = "b IsNaN a a IsNaN b a b Min/2 Where/3 Where/3", .ints = "a b Min/2"},
    [WICK_EW_hypot] = {.text = "a a Mul/2 b b Mul/2 Add/2 Sqrt"},
    [WICK_EW_atan2] = {.text = "a 0 Equal/2 b 0 Equal/2 And/2 0 a b Div/2 Atan b 0 Less/2 a 0 Less/2 -3.14159265358979 "
                               "3.14159265358979 Where/3 0 Where/3 Add/2 Where/3"},
    [WICK_EW_copysign] = {.text = SIGN_BIT("b") " a Abs Neg a Abs Where/3"},
    [WICK_EW_xlogy] = {.text = "a 0 Equal/2 b IsNaN Not And/2 0 a b Log Mul/2 Where/3"},
    [WICK_EW_logaddexp] = {.text = "a b Max/2 a b Sub/2 Abs Neg Exp 1 Add/2 Log Add/2"},
    [WICK_EW_neg] = {.text = "a Neg"},
    [WICK_EW_abs] = {.text = "a Abs"},
    [WICK_EW_sign] = {.text = "a Sign"},
    [WICK_EW_square] = {.text = "a a Mul/2"},
    [WICK_EW_sqrt] = {.text = "a Sqrt"},
    [WICK_EW_rsqrt] = {.text = "a Sqrt Reciprocal"},
    [WICK_EW_reciprocal] = {.text = "a Reciprocal"},
    [WICK_EW_exp] = {.text = "a Exp"},
    [WICK_EW_expm1] = {.text = EXPM1("a")},
    [WICK_EW_exp2] = {.text = "2 a Pow/2"},
    [WICK_EW_log] = {.text = "a Log"},
    [WICK_EW_log1p] = {.text = LOG1P("a")},
    [WICK_EW_log2] = {.text = "a Log 1.4426950408889634 Mul/2"},
    [WICK_EW_log10] = {.text = "a Log 0.43429448190325182 Mul/2"},
    [WICK_EW_cbrt] = {.text = "a Sign a Abs 0.33333333333333333 Pow/2 Mul/2"},
    [WICK_EW_sin] = {.text = "a Sin"},
    [WICK_EW_cos] = {.text = "a Cos"},
    [WICK_EW_tan] = {.text = "a Tan"},
    [WICK_EW_asin] = {.text = "a Asin"},
    [WICK_EW_acos] = {.text = "a Acos"},
    [WICK_EW_atan] = {.text = "a Atan"},
    [WICK_EW_sinh] = {.text = "a Sinh"},
    [WICK_EW_cosh] = {.text = "a Cosh"},
    [WICK_EW_tanh] = {.text = "a Tanh"},
    [WICK_EW_asinh] = {.text = "a Asinh"},
    [WICK_EW_acosh] = {.text = "a Acosh"},
    [WICK_EW_atanh] = {.text = "a Atanh"},
    [WICK_EW_erf] = {.text = "a Erf"},
    [WICK_EW_erfc] = {.text = "1 a Erf Sub/2"},
    [WICK_EW_erfinv] = {.text = ERFINV, .single = true},
    [WICK_EW_lgamma] = {.text = LGAMMA, .single = true},
    [WICK_EW_digamma] = {.text = DIGAMMA, .single = true},
    [WICK_EW_sigmoid] = {.text = "a Sigmoid"},
    [WICK_EW_logsigmoid] = {.text = "a Neg Softplus Neg"},
    [WICK_EW_hardsigmoid] = {.text = "a HardSigmoid{alpha=0.16666667,beta=0.5}"},
    [WICK_EW_softplus] = {.text = "a Softplus"},
    [WICK_EW_relu] = {.text = "a Relu", .ints = "a 0 Max/2"},
    [WICK_EW_relu6] = {.text = "a 0 6 Clip/3"},
    [WICK_EW_prelu] = {.text = "a 0 Greater/2 a a b Mul/2 Where/3"},
    [WICK_EW_scaled_elu] = {.text = "a 0 Greater/2 a b a c Mul/2 Exp 1 Sub/2 Mul/2 Where/3"},
    [WICK_EW_selu] = {.text = "a Selu"},
    [WICK_EW_gelu] = {.text = "a Gelu",
                      .since = 20,
                      .before = "a 0.5 Mul/2 a 0.70710678118654752 Mul/2 Erf 1 Add/2 Mul/2"},
    [WICK_EW_gelu_tanh] =
        {.text = "a Gelu{approximate=tanh}",
         .since = 20,
         .before = "a 0.5 Mul/2 a a a Mul/2 0.044715 Mul/2 1 Add/2 Mul/2 0.79788456080286536 Mul/2 Tanh 1 Add/2 Mul/2"},
    [WICK_EW_silu] = {.text = "a a Sigmoid Mul/2"},
    [WICK_EW_mish] = {.text = "a Mish", .since = 18, .before = "a a Softplus Tanh Mul/2"},
    [WICK_EW_hardswish] = {.text = "a HardSwish",
                           .since = 14,
                           .before = "a a HardSigmoid{alpha=0.16666667,beta=0.5} Mul/2"},
    [WICK_EW_softsign] = {.text = "a Softsign"},
    [WICK_EW_soft_threshold] = {.text = "a a b Min/2 b Neg Max/2 Sub/2"},
    [WICK_EW_hard_threshold] = {.text = "a Abs b Greater/2 a 0 Where/3"},
    [WICK_EW_replace_nan] = {.text = "a IsNaN b a Where/3"},
    [WICK_EW_replace_inf] = {.text = "a IsInf{detect_negative=0} b a IsInf{detect_positive=0} c a Where/3 Where/3"},
    [WICK_EW_floor] = {.text = "a Floor"},
    [WICK_EW_ceil] = {.text = "a Ceil"},
    [WICK_EW_round] = {.text = "a Round"},
    [WICK_EW_trunc] = {.text = "a Sign a Abs Floor Mul/2"},
    [WICK_EW_frac] = {.text = "a a Sign a Abs Floor Mul/2 Sub/2"},
    [WICK_EW_eq] = {.text = "a b Equal/2"},
    [WICK_EW_ne] = {.text = "a b Equal/2 Not", .bools = "a b Xor/2"},
    [WICK_EW_lt] = {.text = "a b Less/2", .bools = "a Not b And/2"},
    [WICK_EW_le] = {.text = "a b LessOrEqual/2", .bools = "a Not b Or/2"},
    [WICK_EW_gt] = {.text = "a b Greater/2", .bools = "a b Not And/2"},
    [WICK_EW_ge] = {.text = "a b GreaterOrEqual/2", .bools = "a b Not Or/2"},
    [WICK_EW_isfinite] = {.text = "a IsNaN a IsInf Or/2 Not"},
    [WICK_EW_isnan] = {.text = "a IsNaN"},
    [WICK_EW_isinf] = {.text = "a IsInf"},
    [WICK_EW_signbit] = {.text = SIGN_BIT("a")},
    [WICK_EW_logical_and] = {.text = "a b And/2"},
    [WICK_EW_logical_or] = {.text = "a b Or/2"},
    [WICK_EW_logical_xor] = {.text = "a b Xor/2"},
    [WICK_EW_logical_not] = {.text = "a Not"},
    [WICK_EW_bitwise_and] = {.text = "a b BitwiseAnd/2", .since = 18, .before = "", .bools = "a b And/2"},
    [WICK_EW_bitwise_or] = {.text = "a b BitwiseOr/2", .since = 18, .before = "", .bools = "a b Or/2"},
    [WICK_EW_bitwise_xor] = {.text = "a b BitwiseXor/2", .since = 18, .before = "", .bools = "a b Xor/2"},
    [WICK_EW_bitwise_not] = {.text = "a BitwiseNot", .since = 18, .before = "", .bools = "a Not"},
    [WICK_EW_clamp] = {.text = "a b Max/2 c Min/2"},
    [WICK_EW_lerp] = {.text = "a b a Sub/2 c Mul/2 Add/2"},
    [WICK_EW_where] = {.text = "a b c Where/3", .bools = "a b And/2 a Not c And/2 Or/2"},
};

/* "Name{key=value,key=value}/2": queues the attributes; the name, kept. */
static const char *read_op(onnx_export *e, const char *token, size_t size, int *n_in) {
    size_t name = strcspn(token, "{/ ");
    name = WICK_MIN(name, size);
    *n_in = token[size - 1] >= '2' && token[size - 2] == '/' ? token[size - 1] - '0' : 1;
    const char *at = token + name, *end = token + size;
    while (at < end && (*at == '{' || *at == ',')) {
        char key[32] = {0}, value[32] = {0};
        const size_t k = strcspn(++at, "="), v = strcspn(at + k + 1, ",}");
        memcpy(key, at, WICK_MIN(k, sizeof key - 1));
        memcpy(value, at + k + 1, WICK_MIN(v, sizeof value - 1));
        if ((value[0] >= '0' && value[0] <= '9') || value[0] == '-') {
            if (strchr(value, '.')) wick_export_float(e, key, strtod(value, NULL));
            else wick_export_int(e, key, strtoll(value, NULL, 10));
        } else wick_export_text(e, key, value);
        at += k + 1 + v;
    }
    char *text = wick_export_alloc(e, name + 1, 1);
    if (text) memcpy(text, token, name);
    return text ? text : "";
}

static onnx_name *run_text(onnx_export *e, const char *text, onnx_name *const *in, wick_dtype dtype) {
    onnx_name *stack[16], *kept[3] = {0}; /* u, v, w */
    int depth = 0;
    while (*text) {
        const size_t size = strcspn(text, " ");
        if (size == 1 && *text >= 'a' && *text <= 'c') stack[depth++] = in[*text - 'a'];
        else if (size == 1 && *text >= 'u' && *text <= 'w') stack[depth++] = kept[*text - 'u'];
        else if (*text == '>') kept[text[1] - 'u'] = stack[--depth];
        else if ((*text >= '0' && *text <= '9') || *text == '-')
            stack[depth++] = wick_export_scalar(e, dtype, strtod(text, NULL));
        else {
            int n;
            const char *op = read_op(e, text, size, &n);
            depth -= n;
            /* which ONNX Runtime has no kernel for */
            const bool wide = dtype == WICK_U64 && n == 3 && strcmp(op, "Where") == 0;
            for (int k = 1; k < 3 && wide; k++) stack[depth + k] = wick_export_cast(e, stack[depth + k], WICK_I64);
            onnx_name *y = wick_export_node(e, op, n, stack + depth);
            stack[depth++] = wide ? wick_export_cast(e, y, WICK_U64) : y;
        }
        text += size;
        while (*text == ' ') text++;
    }
    return stack[0];
}

/* Inputs as small as what they are allows: numbers have no dims, and broadcasting needs no expansion, as long as the
 * result keeps its shape. */
static void read_inputs(onnx_export *e, const wick_node *node, onnx_name **in) {
    wick_type all = {0}, thin[3];
    bool fits = true;
    for (int k = 0; k < node->n_in; k++) {
        in[k] = wick_export_thin(e, node->in[k], &thin[k]);
        fits &= wick_broadcast(&all, &thin[k]);
    }
    const wick_type *out = &node->out[0].type;
    fits &= all.rank == out->rank;
    for (int d = 0; d < out->rank && fits; d++) fits = all.dims[d] == out->dims[d];
    for (int k = 0; k < node->n_in && !fits; k++) in[k] = wick_export_in(e, node, k);
}

static void export_shift(onnx_export *e, const wick_node *node, onnx_name *const *in, wick_dtype d, bool left) {
    const double bits = d == WICK_I32 ? 32 : 64;
    onnx_name *a = in[0], *b = in[1], *zero = wick_export_scalar(e, d, 0), *most = wick_export_scalar(e, d, bits - 1),
              *negative = NULL;
    onnx_name *outside = ONNX(e, "Or", ONNX(e, "Less", b, zero), ONNX(e, "Greater", b, most));
    b = ONNX(e, "Where", outside, left ? zero : most, b);
    if (!left && d != WICK_U64) { /* -1 - a has a's bits turned: floor(a / 2^b) = -1 - floor((-1 - a) / 2^b) */
        negative = ONNX(e, "Less", a, zero);
        a = ONNX(e, "Where", negative, ONNX(e, "Sub", wick_export_scalar(e, d, -1), a), a);
    }
    onnx_name *wide_a = wick_export_cast(e, a, WICK_U64), *wide_b = wick_export_cast(e, b, WICK_U64);
    wick_export_text(e, "direction", left ? "LEFT" : "RIGHT");
    onnx_name *y = wick_export_cast(e, ONNX(e, "BitShift", wide_a, wide_b), d);
    if (negative) y = ONNX(e, "Where", negative, ONNX(e, "Sub", wick_export_scalar(e, d, -1), y), y);
    if (left) y = ONNX(e, "Mul", y, wick_export_cast(e, ONNX(e, "Not", outside), d));
    const wick_dtype own = (wick_dtype)node->out[0].type.dtype;
    wick_export_set(e, node, 0, own == d ? y : wick_export_cast(e, y, own));
}

/* Integers of 8 and 16 bits are computed in i32, as here, since few of ONNX's ops take them; u32 in i64. Bits are what
 * they are. */
static wick_dtype computed_in(wick_dtype d) {
    return d == WICK_I8 || d == WICK_U8 || d == WICK_I16 || d == WICK_U16 ? WICK_I32 : d == WICK_U32 ? WICK_I64 : d;
}

/* Activations whose parameters are numbers here have names in ONNX: LeakyRelu, PRelu, Elu, Celu. NULL: it is none. */
static onnx_name *with_number(onnx_export *e, const wick_node *node, onnx_name *const *in) {
    double alpha = 0, rate = 0;
    if (node->op->ew == WICK_EW_prelu) {
        if (wick_export_number(e, node->in[1], &alpha)) {
            wick_export_float(e, "alpha", alpha);
            return ONNX(e, "LeakyRelu", in[0]);
        }
        return wick_same_dims(&node->in[0]->type, &node->out[0].type) ? ONNX(e, "PRelu", in[0], in[1]) : NULL;
    }
    if (node->op->ew != WICK_EW_scaled_elu || !wick_export_number(e, node->in[1], &alpha) ||
        !wick_export_number(e, node->in[2], &rate))
        return NULL;
    const bool celu = alpha > 0 && (float)rate == (float)(1 / alpha) && rate != 1;
    if (rate != 1 && !celu) return NULL;
    wick_export_float(e, "alpha", alpha);
    return ONNX(e, celu ? "Celu" : "Elu", in[0]);
}

/* A float as an integer: truncated, held to the range, 0 of NaN. Of what is outside ONNX's Cast makes anything. */
static onnx_name *saturated(onnx_export *e, onnx_name *x, wick_dtype from, wick_dtype to) {
    const bool natural = to == WICK_U64 || to == WICK_U32 || to == WICK_U4 || to == WICK_U2;
    const int bits = (int)wick_dtype_bits(to) - !natural;
    const wick_dtype d = from == WICK_F64 ? WICK_F64 : WICK_F32;
    if (d != from) x = wick_export_cast(e, x, d);
    /* The largest float below 2^bits, which is no float's whole range: what is above is chosen afterwards. */
    const double past = ldexp(1, bits),
                 below = bits < 24 ? past - 1 : ldexp(1 - (d == WICK_F32 ? 0x1p-24 : 0x1p-53), bits);
    const uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    onnx_name *held =
        ONNX(e, "Clip", x, wick_export_scalar(e, d, natural ? 0 : -past), wick_export_scalar(e, d, below));
    held = wick_export_cast(e, ONNX(e, "Where", ONNX(e, "IsNaN", x), wick_export_scalar(e, d, 0), held), to);
    return bits < 24 ? held
                     : ONNX(e, "Where", ONNX(e, "GreaterOrEqual", x, wick_export_scalar(e, d, past)),
                            wick_export_bits(e, to, most), held);
}

void wick_export_elementwise(onnx_export *e, const wick_node *node) {
    onnx_name *in[3];
    const wick_dtype own = (wick_dtype)node->in[node->n_in - 1]->type.dtype, d = computed_in(own),
                     result = (wick_dtype)node->out[0].type.dtype;
    if (wick_export_recognised(e, node)) return;
    if (node->op == &wick_op_cast) {
        const wick_dtype from = (wick_dtype)node->in[0]->type.dtype;
        onnx_name *x = wick_export_in(e, node, 0);
        const bool exact = !e->opened && wick_dtype_is_float(from) && wick_dtype_is_integer(result);
        wick_export_set(e, node, 0, exact ? saturated(e, x, from, result) : wick_export_cast(e, x, result));
        return;
    }
    double low, high;
    read_inputs(e, node, in);
    for (int k = 0; k < node->n_in && d != own; k++)
        if (node->in[k]->type.dtype == own) in[k] = wick_export_cast(e, in[k], d);
    if (node->op->ew == WICK_EW_left_shift || node->op->ew == WICK_EW_right_shift) {
        export_shift(e, node, in, d, node->op->ew == WICK_EW_left_shift);
        return;
    }
    onnx_name *activation = with_number(e, node, in);
    if (activation) {
        wick_export_set(e, node, 0, activation);
        return;
    }
    const row *r = &rows[node->op->ew];
    const char *text = r->since > e->opset ? r->before : r->text;
    if (r->bools && d == WICK_BOOL) text = r->bools;
    if (r->ints && !wick_dtype_is_float(d) && d != WICK_BOOL) text = r->ints;
    if (node->op->ew == WICK_EW_clamp && wick_export_number(e, node->in[1], &low) &&
        wick_export_number(e, node->in[2], &high)) {
        in[1] = wick_export_scalar(e, d, low), in[2] = wick_export_scalar(e, d, high);
        text = "a b c Clip/3";
    }
    if (!text || !*text || (r->single && d == WICK_F64))
        wick_export_unsupported(e, node,
                                text && r->since > e->opset ? "from opset 18 on it has"
                                : r->single                 ? "of f64"
                                                            : NULL);
    else {
        onnx_name *y = run_text(e, text, in, d);
        wick_export_set(e, node, 0, d != own && result == own ? wick_export_cast(e, y, own) : y);
    }
}
