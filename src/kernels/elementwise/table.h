/* table.h: the elementwise ops, one row each. From a row follow the SIMD kernel of every tier, the plain C reference,
 * constant folding, the gradient, the gradient check, the docs and `wick ops`.
 *
 *   EW(NAME, arity, types, result, expression, gradients, lo, hi, doc, onnx, torch)
 *
 *   NAME        wick_NAME is the public function, WICK_EW_NAME the code
 *   types       FLOAT f32 f64 | ARITH f32 f64 i32 i64 u64 | ANY those and bool | LOGIC bool | SELECT like ANY, and a is bool
 *   result      SAME as the inputs, or BOOL
 *   expression  C over a, b, c of type T. K(x) is the constant x as a T; M(f)(x) the math function f of math.h for T.
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
 EW(pow, 2, FLOAT, SAME, M(pow)(a, b), G2(wick_mul(g, wick_mul(b, wick_pow(a, wick_sub(b, NUM(1))))), \
    wick_mul(g, wick_mul(y, wick_log(a)))), 0.5, 3, "a to the power b", "Pow", "pow") \
 EW(maximum, 2, ARITH, SAME, ((a > b) | (a != a)) ? a : b, G2(wick_mul(g, wick_ties(a, b)), wick_mul(g, wick_ties(b, a))), -4, 4, \
    "the larger; NaN if either is; ties share the gradient", "Max", "maximum") \
 EW(minimum, 2, ARITH, SAME, ((a < b) | (a != a)) ? a : b, G2(wick_mul(g, wick_ties(b, a)), wick_mul(g, wick_ties(a, b))), -4, 4, \
    "the smaller; NaN if either is; ties share the gradient", "Min", "minimum") \
 EW(neg, 1, ARITH, SAME, -a, G1(wick_neg(g)), -4, 4, "-a", "Neg", "neg") \
 EW(abs, 1, ARITH, SAME, M(abs)(a), G1(wick_mul(g, wick_sign(a))), -4, 4, "absolute value", "Abs", "abs") \
 EW(sign, 1, ARITH, SAME, M(sign)(a), G1(NULL), -4, 4, "-1, 0 or 1; NaN stays", "Sign", "sign") \
 EW(square, 1, ARITH, SAME, a * a, G1(wick_mul(g, wick_mul(a, NUM(2)))), -4, 4, "a * a", "", "square") \
 EW(sqrt, 1, FLOAT, SAME, M(sqrt)(a), G1(wick_div(wick_mul(g, NUM(0.5)), y)), 0.25, 4, "square root", "Sqrt", "sqrt") \
 EW(rsqrt, 1, FLOAT, SAME, K(1) / M(sqrt)(a), G1(wick_mul(wick_mul(g, NUM(-0.5)), wick_div(y, a))), 0.25, 4, "1 / sqrt(a), correctly rounded steps", "", "rsqrt") \
 EW(reciprocal, 1, FLOAT, SAME, K(1) / a, G1(wick_neg(wick_mul(g, wick_square(y)))), 0.5, 4, "1 / a", "Reciprocal", "reciprocal") \
 EW(exp, 1, FLOAT, SAME, M(exp)(a), G1(wick_mul(g, y)), -4, 4, "e to the power a", "Exp", "exp") \
 EW(expm1, 1, FLOAT, SAME, M(expm1)(a), G1(wick_mul(g, wick_add(y, NUM(1)))), -4, 4, "exp(a) - 1, exact near 0", "", "expm1") \
 EW(log, 1, FLOAT, SAME, M(log)(a), G1(wick_div(g, a)), 0.25, 8, "natural logarithm", "Log", "log") \
 EW(log1p, 1, FLOAT, SAME, M(log1p)(a), G1(wick_div(g, wick_add(a, NUM(1)))), -0.5, 8, "log(1 + a), exact near 0", "", "log1p") \
 EW(sin, 1, FLOAT, SAME, M(sin)(a), G1(wick_mul(g, wick_cos(a))), -4, 4, "sine, radians", "Sin", "sin") \
 EW(cos, 1, FLOAT, SAME, M(cos)(a), G1(wick_neg(wick_mul(g, wick_sin(a)))), -4, 4, "cosine, radians", "Cos", "cos") \
 EW(tanh, 1, FLOAT, SAME, M(tanh)(a), G1(wick_mul(g, wick_sub(NUM(1), wick_square(y)))), -4, 4, "hyperbolic tangent", "Tanh", "tanh") \
 EW(erf, 1, FLOAT, SAME, M(erf)(a), G1(wick_mul(g, wick_mul(NUM(1.12837916709551257390), wick_exp(wick_neg(wick_square(a)))))), -3, 3, \
    "error function", "Erf", "erf") \
 EW(sigmoid, 1, FLOAT, SAME, M(sigmoid)(a), G1(wick_mul(g, wick_mul(y, wick_sub(NUM(1), y)))), -4, 4, "1 / (1 + exp(-a))", "Sigmoid", "sigmoid") \
 EW(softplus, 1, FLOAT, SAME, M(softplus)(a), G1(wick_mul(g, wick_sigmoid(a))), -4, 4, "log(1 + exp(a)), no overflow", "Softplus", "nn.functional.softplus") \
 EW(relu, 1, ARITH, SAME, a < K(0) ? K(0) : a, G1(wick_where(wick_gt(y, NUM(0)), g, NUM(0))), -4, 4, "max(a, 0); NaN stays", "Relu", "relu") \
 EW(gelu, 1, FLOAT, SAME, K(0.5) * a * (K(1) + M(erf)(a * K(0.70710678118654752440))), \
    G1(wick_mul(g, wick_add(wick_mul(NUM(0.5), wick_add(NUM(1), wick_erf(wick_mul(a, NUM(0.70710678118654752440))))), \
    wick_mul(wick_mul(a, NUM(0.39894228040143267794)), wick_exp(wick_mul(wick_square(a), NUM(-0.5))))))), -4, 4, \
    "a * Phi(a), the exact form (Hendrycks, Gimpel 2016)", "Gelu", "nn.functional.gelu") \
 EW(silu, 1, FLOAT, SAME, a * M(sigmoid)(a), \
    G1(wick_mul(g, wick_mul(wick_sigmoid(a), wick_add(NUM(1), wick_mul(a, wick_sub(NUM(1), wick_sigmoid(a))))))), -4, 4, \
    "a * sigmoid(a)", "Swish", "nn.functional.silu") \
 EW(floor, 1, FLOAT, SAME, M(floor)(a), G1(NULL), -4, 4, "largest whole number not above a", "Floor", "floor") \
 EW(ceil, 1, FLOAT, SAME, M(ceil)(a), G1(NULL), -4, 4, "smallest whole number not below a", "Ceil", "ceil") \
 EW(round, 1, FLOAT, SAME, M(round)(a), G1(NULL), -4, 4, "nearest whole number, half to even", "Round", "round") \
 EW(eq, 2, ANY, BOOL, a == b, G0, -2, 2, "a == b", "Equal", "eq") \
 EW(ne, 2, ANY, BOOL, a != b, G0, -2, 2, "a != b", "", "ne") \
 EW(lt, 2, ANY, BOOL, a < b, G0, -2, 2, "a < b", "Less", "lt") \
 EW(le, 2, ANY, BOOL, a <= b, G0, -2, 2, "a <= b", "LessOrEqual", "le") \
 EW(gt, 2, ANY, BOOL, a > b, G0, -2, 2, "a > b", "Greater", "gt") \
 EW(ge, 2, ANY, BOOL, a >= b, G0, -2, 2, "a >= b", "GreaterOrEqual", "ge") \
 EW(isfinite, 1, FLOAT, BOOL, (a - a) == K(0), G0, -4, 4, "neither NaN nor Inf", "", "isfinite") \
 EW(logical_and, 2, LOGIC, BOOL, a & b, G0, 0, 1, "both", "And", "logical_and") \
 EW(logical_or, 2, LOGIC, BOOL, a | b, G0, 0, 1, "either", "Or", "logical_or") \
 EW(logical_not, 1, LOGIC, BOOL, a ^ 1, G0, 0, 1, "not", "Not", "logical_not") \
 EW(where, 3, SELECT, SAME, a ? b : c, G3(NULL, wick_where(a, g, NUMG(0)), wick_where(a, NUMG(0), g)), -4, 4, "b where a is true, else c", "Where", "where")
/* clang-format on */
#endif
