/* table.h: the elementwise ops, one row each. From a row follow the SIMD kernel of every tier, the plain C reference,
 * constant folding, the gradient, the gradient check, the docs and `wick ops`.
 *
 *   EW(NAME, arity, types, result, expression, gradients, lo, hi, doc, onnx, torch)
 *
 *   NAME        wick_NAME is the public function, WICK_EW_NAME the code
 *   types       FLOAT f32 f64 | WIDE those, but no type that is computed in them | ARITH f32 f64 i32 i64 u64 | ANY
 *               those and bool | INTS i32 i64 u64 | BITS those and bool | LOGIC bool | SELECT like ANY, and a is bool
 *   result      SAME as the inputs, PLAIN: so too, but without a gradient, or BOOL
 *   expression  C over a, b, c of type T. K(x) is the constant x as a T; M(f)(x) the function f of rows.h for T.
 *               Branch-free, so that compilers vectorise it; signed integers wrap.
 *   gradients   G1(da) G2(da, db) G3(da, db, dc), or G0 for none, over the builder: a b c inputs, y result, g its
 *               gradient; NUM(x) and NUMG(x) are numbers of the dtype of a and of g; NULL is a zero gradient
 *   lo, hi      the domain that tests draw inputs from
 *   onnx, torch what ONNX calls the operator and PyTorch, below torch., the function; "" where they have none
 */
#ifndef WICK_KERNELS_TABLE_H
#define WICK_KERNELS_TABLE_H

/* clang-format off */
#define WICK_EW_TABLE(EW) \
 EW(add, 2, ARITH, SAME, a + b, G2(g, g), -4, 4, "a + b", "Add", "add") \
 EW(sub, 2, ARITH, SAME, a - b, G2(g, wick_neg(g)), -4, 4, "a - b", "Sub", "sub") \
 EW(mul, 2, ARITH, SAME, a * b, G2(wick_mul(g, b), wick_mul(g, a)), -4, 4, "a * b", "Mul", "mul") \
 EW(div, 2, FLOAT, SAME, a / b, G2(wick_div(g, b), wick_neg(wick_div(wick_mul(g, y), b))), 0.5, 4, "a / b; integers divide as f32", "Div", "div") \
 EW(pow, 2, ARITH, SAME, M(pow)(a, b), G2(wick_mul(g, wick_where(wick_eq(b, NUM(0)), NUM(0), wick_mul(b, wick_pow(a, wick_sub(b, NUM(1)))))), \
    wick_mul(g, wick_where(wick_logical_and(wick_eq(a, NUM(0)), wick_ge(b, NUM(0))), NUM(0), wick_mul(y, wick_log(a))))), 0.5, 3, \
    "a to the power b; of integers 1 / a rounded towards 0", "Pow", "pow") \
 EW(floor_divide, 2, ARITH, SAME, M(floor_divide)(a, b), G2(NULL, NULL), 0.5, 4, "a / b, rounded down; integers by 0 give 0", "", "floor_divide") \
 EW(trunc_divide, 2, ARITH, SAME, M(trunc_divide)(a, b), G2(NULL, NULL), 0.5, 4, \
    "a / b, rounded towards 0; integers by 0 give 0", "", "div(rounding_mode='trunc')") \
 EW(remainder, 2, ARITH, SAME, M(remainder)(a, b), G2(g, wick_neg(wick_mul(g, wick_floor_divide(a, b)))), 0.5, 4, \
    "a - b floor(a / b), exactly: the sign of b; integers by 0 give 0", "Mod", "remainder") \
 EW(fmod, 2, ARITH, SAME, M(fmod)(a, b), G2(g, wick_neg(wick_mul(g, wick_trunc_divide(a, b)))), 0.5, 4, \
    "a - b trunc(a / b), exactly: the sign of a; integers by 0 give 0", "Mod", "fmod") \
 EW(maximum, 2, ARITH, SAME, ((a > b) | (a != a)) ? a : b, G2(wick_mul(g, wick_ties(a, b)), wick_mul(g, wick_ties(b, a))), -4, 4, \
    "the larger; NaN if either is; ties share the gradient", "Max", "maximum") \
 EW(minimum, 2, ARITH, SAME, ((a < b) | (a != a)) ? a : b, G2(wick_mul(g, wick_ties(b, a)), wick_mul(g, wick_ties(a, b))), -4, 4, \
    "the smaller; NaN if either is; ties share the gradient", "Min", "minimum") \
 EW(fmax, 2, ARITH, SAME, ((a >= b) | (b != b)) ? a : b, G2(wick_where(wick_first(a, b, true), g, NUMG(0)), wick_where(wick_first(a, b, true), \
    NUMG(0), g)), -4, 4, "the larger; the other where one is NaN", "", "fmax") \
 EW(fmin, 2, ARITH, SAME, ((a <= b) | (b != b)) ? a : b, G2(wick_where(wick_first(a, b, false), g, NUMG(0)), wick_where(wick_first(a, b, false), \
    NUMG(0), g)), -4, 4, "the smaller; the other where one is NaN", "", "fmin") \
 EW(hypot, 2, FLOAT, SAME, M(hypot)(a, b), G2(wick_mul(g, wick_div(a, y)), wick_mul(g, wick_div(b, y))), 0.5, 4, \
    "sqrt(a^2 + b^2), no overflow between", "", "hypot") \
 EW(atan2, 2, FLOAT, SAME, M(atan2)(a, b), G2(wick_mul(g, wick_angle_slope(b, a, b)), \
    wick_neg(wick_mul(g, wick_angle_slope(a, a, b)))), 0.5, 4, "angle of the point (b, a), from -pi to pi", "", "atan2") \
 EW(copysign, 2, FLOAT, SAME, M(copysign)(a, b), G2(wick_mul(g, wick_mul(wick_sign(a), wick_copysign(NUM(1), b))), NULL), 0.5, 4, \
    "|a| with the sign of b", "", "copysign") \
 EW(nextafter, 2, WIDE, PLAIN, M(nextafter)(a, b), G0, -4, 4, "the number next to a towards b", "", "nextafter") \
 EW(xlogy, 2, FLOAT, SAME, ((a == K(0)) & (b == b)) ? K(0) : a * M(log)(b), G2(wick_mul(g, wick_where(wick_logical_and(wick_eq(a, NUM(0)), wick_le(b, NUM(0))), NUM(0), wick_log(b))), \
    wick_mul(g, wick_div(a, b))), 0.5, 4, "a log(b); 0 where a is 0", "", "xlogy") \
 EW(logaddexp, 2, FLOAT, SAME, M(logaddexp)(a, b), G2(wick_mul(g, wick_sigmoid(wick_sub(a, b))), wick_mul(g, wick_sigmoid(wick_sub(b, a)))), -4, 4, \
    "log(exp(a) + exp(b)), no overflow", "", "logaddexp") \
 EW(neg, 1, ARITH, SAME, -a, G1(wick_neg(g)), -4, 4, "-a", "Neg", "neg") \
 EW(abs, 1, ARITH, SAME, M(abs)(a), G1(wick_mul(g, wick_sign(a))), -4, 4, "absolute value", "Abs", "abs") \
 EW(sign, 1, ARITH, SAME, M(sign)(a), G1(NULL), -4, 4, "-1, 0 or 1; NaN stays", "Sign", "sign") \
 EW(square, 1, ARITH, SAME, a * a, G1(wick_mul(g, wick_mul(a, NUM(2)))), -4, 4, "a * a", "", "square") \
 EW(sqrt, 1, FLOAT, SAME, M(sqrt)(a), G1(wick_div(wick_mul(g, NUM(0.5)), y)), 0.25, 4, "square root", "Sqrt", "sqrt") \
 EW(rsqrt, 1, FLOAT, SAME, K(1) / M(sqrt)(a), G1(wick_mul(wick_mul(g, NUM(-0.5)), wick_div(y, a))), 0.25, 4, "1 / sqrt(a), correctly rounded steps", "", "rsqrt") \
 EW(reciprocal, 1, FLOAT, SAME, K(1) / a, G1(wick_neg(wick_mul(g, wick_square(y)))), 0.5, 4, "1 / a", "Reciprocal", "reciprocal") \
 EW(exp, 1, FLOAT, SAME, M(exp)(a), G1(wick_mul(g, y)), -4, 4, "e to the power a", "Exp", "exp") \
 EW(expm1, 1, FLOAT, SAME, M(expm1)(a), G1(wick_mul(g, wick_add(y, NUM(1)))), -4, 4, "exp(a) - 1, exact near 0", "", "expm1") \
 EW(exp2, 1, FLOAT, SAME, M(exp2)(a), G1(wick_mul(g, wick_mul(y, NUM(0.69314718055994530942)))), -4, 4, "2 to the power a", "", "exp2") \
 EW(log, 1, FLOAT, SAME, M(log)(a), G1(wick_div(g, a)), 0.25, 8, "natural logarithm", "Log", "log") \
 EW(log1p, 1, FLOAT, SAME, M(log1p)(a), G1(wick_div(g, wick_add(a, NUM(1)))), -0.5, 8, "log(1 + a), exact near 0", "", "log1p") \
 EW(log2, 1, FLOAT, SAME, M(log2)(a), G1(wick_div(g, wick_mul(a, NUM(0.69314718055994530942)))), 0.25, 8, "logarithm to base 2", "", "log2") \
 EW(log10, 1, FLOAT, SAME, M(log10)(a), G1(wick_div(g, wick_mul(a, NUM(2.30258509299404568402)))), 0.25, 8, "logarithm to base 10", "", "log10") \
 EW(cbrt, 1, FLOAT, SAME, M(cbrt)(a), G1(wick_div(g, wick_mul(wick_square(y), NUM(3)))), 0.25, 8, "cube root, also of negative numbers", "", "") \
 EW(sin, 1, FLOAT, SAME, M(sin_any)(a), G1(wick_mul(g, wick_cos(a))), -4, 4, "sine, radians", "Sin", "sin") \
 EW(cos, 1, FLOAT, SAME, M(cos_any)(a), G1(wick_neg(wick_mul(g, wick_sin(a)))), -4, 4, "cosine, radians", "Cos", "cos") \
 EW(tan, 1, FLOAT, SAME, M(tan_any)(a), G1(wick_mul(g, wick_add(wick_square(y), NUM(1)))), -1.2, 1.2, "tangent, radians", "Tan", "tan") \
 EW(asin, 1, FLOAT, SAME, M(asin)(a), G1(wick_mul(g, wick_rsqrt(wick_mul(wick_sub(NUM(1), a), wick_add(NUM(1), a))))), -0.9, 0.9, \
    "arc sine", "Asin", "asin") \
 EW(acos, 1, FLOAT, SAME, M(acos)(a), G1(wick_neg(wick_mul(g, wick_rsqrt(wick_mul(wick_sub(NUM(1), a), wick_add(NUM(1), a)))))), -0.9, 0.9, \
    "arc cosine", "Acos", "acos") \
 EW(atan, 1, FLOAT, SAME, M(atan)(a), G1(wick_div(g, wick_add(wick_square(a), NUM(1)))), -4, 4, "arc tangent", "Atan", "atan") \
 EW(sinh, 1, FLOAT, SAME, M(sinh)(a), G1(wick_mul(g, wick_cosh(a))), -4, 4, "hyperbolic sine", "Sinh", "sinh") \
 EW(cosh, 1, FLOAT, SAME, M(cosh)(a), G1(wick_mul(g, wick_sinh(a))), -4, 4, "hyperbolic cosine", "Cosh", "cosh") \
 EW(tanh, 1, FLOAT, SAME, M(tanh)(a), G1(wick_mul(g, wick_sub(NUM(1), wick_square(y)))), -4, 4, "hyperbolic tangent", "Tanh", "tanh") \
 EW(asinh, 1, FLOAT, SAME, M(asinh)(a), G1(wick_mul(g, wick_rsqrt(wick_add(wick_square(a), NUM(1))))), -4, 4, \
    "inverse hyperbolic sine", "Asinh", "asinh") \
 EW(acosh, 1, FLOAT, SAME, M(acosh)(a), G1(wick_mul(g, wick_rsqrt(wick_mul(wick_sub(a, NUM(1)), wick_add(a, NUM(1)))))), 1.2, 4, \
    "inverse hyperbolic cosine", "Acosh", "acosh") \
 EW(atanh, 1, FLOAT, SAME, M(atanh)(a), G1(wick_div(g, wick_mul(wick_sub(NUM(1), a), wick_add(NUM(1), a)))), -0.9, 0.9, \
    "inverse hyperbolic tangent", "Atanh", "atanh") \
 EW(erf, 1, FLOAT, SAME, M(erf)(a), G1(wick_mul(g, wick_mul(NUM(1.12837916709551257390), wick_exp(wick_neg(wick_square(a)))))), -3, 3, \
    "error function", "Erf", "erf") \
 EW(erfc, 1, FLOAT, SAME, M(erfc)(a), G1(wick_mul(g, wick_mul(NUM(-1.12837916709551257390), wick_exp(wick_neg(wick_square(a)))))), -3, 3, \
    "1 - erf(a), exact where that is tiny", "", "erfc") \
 EW(erfinv, 1, FLOAT, SAME, M(erfinv)(a), G1(wick_mul(g, wick_mul(NUM(0.88622692545275801365), wick_exp(wick_square(y))))), -0.9, 0.9, \
    "inverse of the error function", "", "erfinv") \
 EW(lgamma, 1, FLOAT, SAME, M(lgamma)(a), G1(wick_mul(g, wick_digamma(a))), 0.5, 6, "log of |gamma(a)|", "", "lgamma") \
 EW(digamma, 1, FLOAT, SAME, M(digamma)(a), G1(wick_mul(g, wick_polygamma(NUM(1), a))), 0.5, 6, "derivative of lgamma", "", "digamma") \
 EW(polygamma, 2, FLOAT, SAME, M(polygamma)(a, b), G2(NULL, wick_mul(g, wick_polygamma(wick_add(a, NUM(1)), b))), 1, 4, \
    "derivative number floor(a) of digamma, at b", "", "polygamma") \
 EW(gamma_slope, 2, FLOAT, PLAIN, M(gamma_slope)(a, b), G0, 0.3, 4, \
    "how a gamma number b of shape a moves with a (Figurnov and others 2018)", "", "") \
 EW(sigmoid, 1, FLOAT, SAME, M(sigmoid)(a), G1(wick_mul(g, wick_mul(y, wick_sub(NUM(1), y)))), -4, 4, "1 / (1 + exp(-a))", "Sigmoid", "sigmoid") \
 EW(logsigmoid, 1, FLOAT, SAME, -M(softplus)(-a), G1(wick_mul(g, wick_sigmoid(wick_neg(a)))), -4, 4, \
    "log(sigmoid(a)), no overflow", "", "nn.functional.logsigmoid") \
 EW(hardsigmoid, 1, FLOAT, SAME, M(clamp)(a + K(3), K(0), K(6)) / K(6), G1(wick_where(wick_lt(wick_abs(a), NUM(3)), wick_mul(g, NUM(1.0 / 6)), \
    NUMG(0))), -4, 4, "(a + 3) / 6, held between 0 and 1", "HardSigmoid", "nn.functional.hardsigmoid") \
 EW(softplus, 1, FLOAT, SAME, M(softplus)(a), G1(wick_mul(g, wick_sigmoid(a))), -4, 4, "log(1 + exp(a)), no overflow", "Softplus", "nn.functional.softplus") \
 EW(relu, 1, ARITH, SAME, a < K(0) ? K(0) : a, G1(wick_where(wick_gt(y, NUM(0)), g, NUM(0))), -4, 4, "max(a, 0); NaN stays", "Relu", "relu") \
 EW(relu6, 1, FLOAT, SAME, M(clamp)(a, K(0), K(6)), G1(wick_where(wick_logical_and(wick_gt(a, NUM(0)), wick_lt(a, NUM(6))), g, NUMG(0))), -4, 8, \
    "a, held between 0 and 6", "", "nn.functional.relu6") \
 EW(prelu, 2, FLOAT, SAME, a > K(0) ? a : a * b, G2(wick_where(wick_gt(a, NUM(0)), g, wick_mul(g, b)), wick_where(wick_gt(a, NUM(0)), NUMG(0), \
    wick_mul(g, a))), -4, 4, "a where positive, else a times the slope b (He and others 2015)", "PRelu", "prelu") \
 EW(scaled_elu, 3, FLOAT, SAME, a > K(0) ? a : b * M(expm1)(a * c), G3(wick_where(wick_gt(a, NUM(0)), g, wick_mul(g, wick_mul(wick_add(y, b), \
    c))), wick_where(wick_gt(a, NUM(0)), NUMG(0), wick_mul(g, wick_expm1(wick_minimum(wick_mul(a, c), NUM(0))))), wick_where(wick_gt(a, NUM(0)), \
    NUMG(0), wick_mul(g, wick_mul(wick_add(y, b), a)))), 0.5, 3, "a where positive, else b (exp(a c) - 1)", "", "") \
 EW(selu, 1, FLOAT, SAME, a > K(0) ? K(1.0507009873554804934193) * a : K(1.7580993408473768599402) * M(expm1)(a), G1(wick_where(wick_gt(a, \
    NUM(0)), wick_mul(g, NUM(1.0507009873554804934193)), wick_mul(g, wick_add(y, NUM(1.7580993408473768599402))))), -4, 4, \
    "ELU that keeps mean and variance (Klambauer and others 2017)", "Selu", "selu") \
 EW(gelu, 1, FLOAT, SAME, M(gelu)(a), \
    G1(wick_mul(g, wick_add(wick_mul(NUM(0.5), wick_add(NUM(1), wick_erf(wick_mul(a, NUM(0.70710678118654752440))))), \
    wick_mul(wick_mul(a, NUM(0.39894228040143267794)), wick_exp(wick_mul(wick_square(a), NUM(-0.5))))))), -4, 4, \
    "a * Phi(a), the exact form (Hendrycks, Gimpel 2016)", "Gelu", "nn.functional.gelu") \
 EW(gelu_tanh, 1, FLOAT, SAME, M(gelu_tanh)(a), G1(wick_mul(g, wick_gelu_tanh_slope(a))), -4, 4, \
    "gelu by its tanh approximation", "Gelu", "nn.functional.gelu(approximate='tanh')") \
 EW(silu, 1, FLOAT, SAME, a * M(sigmoid)(a), \
    G1(wick_mul(g, wick_mul(wick_sigmoid(a), wick_add(NUM(1), wick_mul(a, wick_sub(NUM(1), wick_sigmoid(a))))))), -4, 4, \
    "a * sigmoid(a)", "Swish", "nn.functional.silu") \
 EW(mish, 1, FLOAT, SAME, M(mish)(a), G1(wick_mul(g, wick_mish_slope(a))), -4, 4, "a tanh(softplus(a)) (Misra 2019)", "Mish", "nn.functional.mish") \
 EW(hardswish, 1, FLOAT, SAME, a * (M(clamp)(a + K(3), K(0), K(6)) / K(6)), G1(wick_where(wick_gt(a, NUM(3)), g, wick_where(wick_lt(a, NUM(-3)), \
    NUMG(0), wick_mul(g, wick_add(wick_mul(a, NUM(1.0 / 3)), NUM(0.5)))))), -4, 4, \
    "a hardsigmoid(a) (Howard and others 2019)", "HardSwish", "nn.functional.hardswish") \
 EW(softsign, 1, FLOAT, SAME, a / (K(1) + M(abs)(a)), G1(wick_mul(g, wick_square(wick_reciprocal(wick_add(wick_abs(a), NUM(1)))))), -4, 4, \
    "a / (1 + |a|)", "Softsign", "nn.functional.softsign") \
 EW(soft_threshold, 2, FLOAT, SAME, a - M(clamp)(a, -b, b), G2(wick_where(wick_le(wick_abs(a), b), NUMG(0), g), wick_where(wick_le(wick_abs(a), \
    b), NUMG(0), wick_neg(wick_mul(g, wick_sign(a))))), 0.1, 4, "a moved towards 0 by b >= 0, 0 within (Donoho, Johnstone 1994)", "", "") \
 EW(hard_threshold, 2, FLOAT, SAME, M(abs)(a) <= b ? K(0) : a, G2(wick_where(wick_le(wick_abs(a), b), NUMG(0), g), NULL), 0.1, 4, \
    "a where |a| is above b, else 0", "", "") \
 EW(replace_nan, 2, FLOAT, SAME, a != a ? b : a, G2(wick_where(wick_isnan(a), NUMG(0), g), wick_where(wick_isnan(a), g, NUMG(0))), -4, 4, \
    "a, but b where that is NaN", "", "") \
 EW(replace_inf, 3, FLOAT, SAME, a == K(INFINITY) ? b : a == -K(INFINITY) ? c : a, G3(wick_where(wick_isinf(a), NUMG(0), g), \
    wick_where(wick_eq(a, NUM(INFINITY)), g, NUMG(0)), wick_where(wick_eq(a, NUM(-INFINITY)), g, NUMG(0))), -4, 4, \
    "a, but b where that is Inf and c where it is -Inf", "", "") \
 EW(floor, 1, FLOAT, SAME, M(floor)(a), G1(NULL), -4, 4, "largest whole number not above a", "Floor", "floor") \
 EW(ceil, 1, FLOAT, SAME, M(ceil)(a), G1(NULL), -4, 4, "smallest whole number not below a", "Ceil", "ceil") \
 EW(round, 1, FLOAT, SAME, M(round)(a), G1(NULL), -4, 4, "nearest whole number, half to even", "Round", "round") \
 EW(trunc, 1, FLOAT, SAME, M(trunc)(a), G1(NULL), -4, 4, "the whole number next to a towards 0", "", "trunc") \
 EW(frac, 1, FLOAT, SAME, M(frac)(a), G1(g), -4, 4, "a - trunc(a)", "", "frac") \
 EW(eq, 2, ANY, BOOL, a == b, G0, -2, 2, "a == b", "Equal", "eq") \
 EW(ne, 2, ANY, BOOL, a != b, G0, -2, 2, "a != b", "", "ne") \
 EW(lt, 2, ANY, BOOL, a < b, G0, -2, 2, "a < b", "Less", "lt") \
 EW(le, 2, ANY, BOOL, a <= b, G0, -2, 2, "a <= b", "LessOrEqual", "le") \
 EW(gt, 2, ANY, BOOL, a > b, G0, -2, 2, "a > b", "Greater", "gt") \
 EW(ge, 2, ANY, BOOL, a >= b, G0, -2, 2, "a >= b", "GreaterOrEqual", "ge") \
 EW(isfinite, 1, FLOAT, BOOL, (a - a) == K(0), G0, -4, 4, "neither NaN nor Inf", "", "isfinite") \
 EW(isnan, 1, FLOAT, BOOL, a != a, G0, -4, 4, "NaN", "IsNaN", "isnan") \
 EW(isinf, 1, FLOAT, BOOL, M(abs)(a) == K(INFINITY), G0, -4, 4, "Inf of either sign", "IsInf", "isinf") \
 EW(signbit, 1, FLOAT, BOOL, M(signbit)(a), G0, -4, 4, "negative, or -0", "", "signbit") \
 EW(logical_and, 2, LOGIC, BOOL, a & b, G0, 0, 1, "both", "And", "logical_and") \
 EW(logical_or, 2, LOGIC, BOOL, a | b, G0, 0, 1, "either", "Or", "logical_or") \
 EW(logical_xor, 2, LOGIC, BOOL, a ^ b, G0, 0, 1, "one of both", "Xor", "logical_xor") \
 EW(logical_not, 1, LOGIC, BOOL, a ^ 1, G0, 0, 1, "not", "Not", "logical_not") \
 EW(bitwise_and, 2, BITS, PLAIN, a & b, G0, -8, 8, "bits that both have", "BitwiseAnd", "bitwise_and") \
 EW(bitwise_or, 2, BITS, PLAIN, a | b, G0, -8, 8, "bits that either has", "BitwiseOr", "bitwise_or") \
 EW(bitwise_xor, 2, BITS, PLAIN, a ^ b, G0, -8, 8, "bits that one of both has", "BitwiseXor", "bitwise_xor") \
 EW(bitwise_not, 1, BITS, PLAIN, M(not)(a), G0, -8, 8, "every bit turned", "BitwiseNot", "bitwise_not") \
 EW(left_shift, 2, INTS, PLAIN, M(shl)(a, b), G0, -8, 8, \
    "a 2^b; 0 where b is negative or no fewer than the bits", "BitShift", "bitwise_left_shift") \
 EW(right_shift, 2, INTS, PLAIN, M(shr)(a, b), G0, -8, 8, \
    "floor(a / 2^b); the sign alone where b is negative or no fewer than the bits", "BitShift", "bitwise_right_shift") \
 EW(clamp, 3, ARITH, SAME, M(clamp)(a, b, c), G3(wick_where(wick_inside(a, b, c), g, NUMG(0)), wick_where(wick_logical_and(wick_lt(a, b), \
    wick_lt(b, c)), g, NUMG(0)), wick_where(wick_logical_or(wick_gt(a, c), wick_lt(c, b)), g, NUMG(0))), -4, 4, \
    "a, held to at least b and then to at most c; NaN if any is", "Clip", "clamp") \
 EW(lerp, 3, FLOAT, SAME, M(abs)(c) < K(0.5) ? a + c * (b - a) : b - (b - a) * (K(1) - c), G3(wick_mul(g, wick_sub(NUM(1), c)), wick_mul(g, c), \
    wick_mul(g, wick_sub(b, a))), -4, 4, "a + c (b - a), exact at both ends", "", "lerp") \
 EW(where, 3, SELECT, SAME, a ? b : c, G3(NULL, wick_where(a, g, NUMG(0)), wick_where(a, NUMG(0), g)), -4, 4, "b where a is true, else c", "Where", "where")
/* clang-format on */
#endif
