/* test_elementwise.c: every row of the table, in every type and tier, against long double libm (integers: against plain
 * C), over its domain, over all magnitudes and at special values. --write puts the largest error per row, in units of
 * the last place, into docs/accuracy.md. */
#include "test.h"

#include "kernels/convert/convert.h"
#include "kernels/elementwise/ew.h"

enum { N = 4099 }; /* not a multiple of any vector */

/* The row's value from its definition, in long double; a and b exactly as the kernel gets them. */
static bool no_case; /* the row last asked for has no case in its oracle */

static bool in_f64; /* the type that the row is asked in: where its formula rounds before it cuts */

/* erfinv by Newton's method on erf or erfc, the gamma functions by their asymptotic series from 40 on (Abramowitz,
 * Stegun 6.3.18). */
static long double inverse_erf(long double x) {
    long double a = fabsl(x), y = a < 0.9L ? a : sqrtl(-logl((1 - a) * (1 + a)));
    if (!(a < 1)) return a == 1 ? x * INFINITY : NAN;
    for (int i = 0; i < 60; i++) {
        long double off = a < 0.5L ? erfl(y) - a : (1 - a) - erfcl(y),
                    step = off * expl(y * y) * 0.886226925452758013649L;
        y -= step / (1 + y * step);
    }
    return copysignl(y, x);
}
static long double psi(long double x) {
    long double sum = 0;
    if (x <= 0)
        return x == 0           ? copysignl(INFINITY, -x)
               : x == floorl(x) ? NAN
                                : psi(1 - x) - 3.14159265358979323846L / tanl(3.14159265358979323846L * (x - rintl(x)));
    if (x == INFINITY) return x;
    for (; x < 40; x++) sum -= 1 / x;
    long double u = 1 / (x * x);
    return sum + logl(x) - 0.5L / x -
           u * (1.0L / 12 -
                u * (1.0L / 120 - u * (1.0L / 252 - u * (1.0L / 240 - u * (1.0L / 132 - u * (691.0L / 32760))))));
}
static long double floored(long double a, long double b, long double *rest) {
    long double r = fmodl(a, b), q = (a - r) / b;
    bool turn = r != 0 && (r < 0) != (b < 0);
    *rest = turn ? r + b : r;
    return b == 0 ? a / b : q - turn == 0 ? copysignl(0, a / b) : rintl(q - turn);
}

static long double oracle(wick_ew op, long double a, long double b) {
    long double rest;
    switch (op) {
    case WICK_EW_floor_divide:
        return floored(a, b, &rest);
    case WICK_EW_trunc_divide:
        return in_f64 ? truncl((double)a / (double)b) : truncl((float)a / (float)b);
    case WICK_EW_remainder:
        return floored(a, b, &rest), rest;
    case WICK_EW_fmod:
        return fmodl(a, b);
    case WICK_EW_fmax:
        return fmaxl(a, b);
    case WICK_EW_fmin:
        return fminl(a, b);
    case WICK_EW_hypot:
        return hypotl(a, b);
    case WICK_EW_atan2:
        return atan2l(a, b);
    case WICK_EW_copysign:
        return copysignl(a, b);
    case WICK_EW_nextafter:
        return in_f64 ? (long double)nextafter((double)a, (double)b) : (long double)nextafterf((float)a, (float)b);
    case WICK_EW_soft_threshold: {
        long double low = a < -b || b != b ? -b : a;
        return a - (low > b || b != b ? b : low);
    }
    case WICK_EW_hard_threshold:
        return fabsl(a) <= b ? 0 : a;
    case WICK_EW_replace_nan:
        return a != a ? b : a;
    case WICK_EW_xlogy:
        return a == 0 && b == b ? 0 : a * logl(b);
    case WICK_EW_logaddexp:
        return a != a || b != b ? NAN
               : a == b         ? a + 0.693147180559945309417L
                                : fmaxl(a, b) + log1pl(expl(-fabsl(a - b)));
    case WICK_EW_exp2:
        return exp2l(a);
    case WICK_EW_log2:
        return log2l(a);
    case WICK_EW_log10:
        return log10l(a);
    case WICK_EW_cbrt:
        return cbrtl(a);
    case WICK_EW_tan:
        return tanl(a);
    case WICK_EW_asin:
        return asinl(a);
    case WICK_EW_acos:
        return acosl(a);
    case WICK_EW_atan:
        return atanl(a);
    case WICK_EW_sinh:
        return sinhl(a);
    case WICK_EW_cosh:
        return coshl(a);
    case WICK_EW_asinh:
        return asinhl(a);
    case WICK_EW_acosh:
        return acoshl(a);
    case WICK_EW_atanh:
        return atanhl(a);
    case WICK_EW_erfc:
        return erfcl(a);
    case WICK_EW_erfinv:
        return inverse_erf(a);
    case WICK_EW_lgamma:
        return lgammal(a);
    case WICK_EW_digamma:
        return psi(a);
    case WICK_EW_logsigmoid:
        return -((a < 0 ? -a : a > 0 ? 0 : a) + log1pl(expl(-fabsl(a))));
    case WICK_EW_hardsigmoid:
        return a != a ? a : fminl(fmaxl(a + 3, 0), 6) / 6;
    case WICK_EW_relu6:
        return a != a ? a : fminl(fmaxl(a, 0), 6);
    case WICK_EW_prelu:
        return a > 0 ? a : a * b;
    case WICK_EW_selu:
        return 1.0507009873554804934193L * (a > 0 ? a : 1.6732632423543772848170L * expm1l(a));
    case WICK_EW_gelu_tanh:
        return a / (1 + expl(-2 * 0.797884560802865355880L * (a + 0.044715L * a * a * a)));
    case WICK_EW_mish: {
        long double e = expl(fminl(a, 50)), w = e * (e + 2);
        return a != a ? a : a * (w / (w + 2));
    }
    case WICK_EW_hardswish:
        return a != a ? a : a * fminl(fmaxl(a + 3, 0), 6) / 6;
    case WICK_EW_softsign:
        return a / (1 + fabsl(a));
    case WICK_EW_trunc:
        return truncl(a);
    case WICK_EW_frac:
        return a - truncl(a);
    case WICK_EW_isnan:
        return a != a;
    case WICK_EW_isinf:
        return isinf(a) != 0;
    case WICK_EW_signbit:
        return signbit(a) != 0;
    case WICK_EW_add:
        return a + b;
    case WICK_EW_sub:
        return a - b;
    case WICK_EW_mul:
        return a * b;
    case WICK_EW_div:
        return a / b;
    case WICK_EW_pow:
        return powl(a, b);
    case WICK_EW_maximum:
        return a != a || b != b ? NAN : a > b ? a : b;
    case WICK_EW_minimum:
        return a != a || b != b ? NAN : a < b ? a : b;
    case WICK_EW_neg:
        return -a;
    case WICK_EW_abs:
        return fabsl(a);
    case WICK_EW_sign:
        return a > 0 ? 1 : a < 0 ? -1 : a;
    case WICK_EW_square:
        return a * a;
    case WICK_EW_sqrt:
        return sqrtl(a);
    case WICK_EW_rsqrt:
        return 1 / sqrtl(a);
    case WICK_EW_reciprocal:
        return 1 / a;
    case WICK_EW_exp:
        return expl(a);
    case WICK_EW_expm1:
        return expm1l(a);
    case WICK_EW_log:
        return logl(a);
    case WICK_EW_log1p:
        return log1pl(a);
    case WICK_EW_sin:
        return sinl(a);
    case WICK_EW_cos:
        return cosl(a);
    case WICK_EW_tanh:
        return tanhl(a);
    case WICK_EW_erf:
        return erfl(a);
    case WICK_EW_sigmoid:
        return a < 0 ? expl(a) / (1 + expl(a)) : 1 / (1 + expl(-a));
    case WICK_EW_softplus:
        return (a > 0 ? a : a < 0 ? 0 : a) + log1pl(expl(-fabsl(a)));
    case WICK_EW_relu:
        return a < 0 ? 0 : a;
    case WICK_EW_gelu:
        return a * erfcl(a * -0.70710678118654752440L) / 2;
    case WICK_EW_silu:
        return a * (a < 0 ? expl(a) / (1 + expl(a)) : 1 / (1 + expl(-a)));
    case WICK_EW_floor:
        return floorl(a);
    case WICK_EW_ceil:
        return ceill(a);
    case WICK_EW_round:
        return rintl(a);
    case WICK_EW_eq:
        return a == b;
    case WICK_EW_ne:
        return a != b;
    case WICK_EW_lt:
        return a < b;
    case WICK_EW_le:
        return a <= b;
    case WICK_EW_gt:
        return a > b;
    case WICK_EW_ge:
        return a >= b;
    case WICK_EW_isfinite:
        return isfinite(a) != 0;
    default:
        no_case = true;
        return NAN;
    }
}

/* Largest error allowed, in units of the last place, f32 and f64; the rest are exact operations: 0.5. */
static const struct {
    wick_ew op;
    float ulp[2];
} limits[] = {
    {WICK_EW_pow, {1, 4}},    {WICK_EW_rsqrt, {1.5f, 1.5f}}, {WICK_EW_exp, {2, 2}},
    {WICK_EW_expm1, {2, 3}},  {WICK_EW_log, {2, 2}},         {WICK_EW_log1p, {2, 2}},
    {WICK_EW_sin, {2, 3}}, {WICK_EW_cos, {2, 3}},      {WICK_EW_tanh, {3, 4}},
    {WICK_EW_erf, {2, 4}},    {WICK_EW_sigmoid, {3, 3}},     {WICK_EW_softplus, {2, 3}},
    {WICK_EW_gelu, {4, 4}},   {WICK_EW_silu, {3, 3}},        {WICK_EW_sign, {0, 0}},
    {WICK_EW_tan, {0.7f, 3}}, {WICK_EW_floor_divide, {2, 2}}, {WICK_EW_hypot, {0.6f, 1.2f}},
    {WICK_EW_atan2, {0.6f, 1.5f}}, {WICK_EW_xlogy, {2, 2}}, {WICK_EW_logaddexp, {2.5f, 2.5f}},
    {WICK_EW_exp2, {1.3f, 1.3f}}, {WICK_EW_log2, {0.6f, 2}}, {WICK_EW_log10, {0.6f, 2}},
    {WICK_EW_cbrt, {0.6f, 1}}, {WICK_EW_asin, {0.6f, 1}}, {WICK_EW_acos, {0.6f, 1}},
    {WICK_EW_atan, {0.6f, 1}}, {WICK_EW_sinh, {0.6f, 2.5f}}, {WICK_EW_cosh, {0.6f, 1.5f}},
    {WICK_EW_asinh, {0.6f, 2}}, {WICK_EW_acosh, {0.6f, 2.5f}}, {WICK_EW_atanh, {0.6f, 2}},
    {WICK_EW_erfc, {0.6f, 4.5f}}, {WICK_EW_erfinv, {0.7f, 4}}, {WICK_EW_lgamma, {0.6f, 8}},
    {WICK_EW_digamma, {0.6f, 15}}, {WICK_EW_logsigmoid, {2, 2}},
    {WICK_EW_hardsigmoid, {1.5f, 1.5f}}, {WICK_EW_selu, {2.5f, 3}}, {WICK_EW_gelu_tanh, {2.5f, 2.5f}},
    {WICK_EW_mish, {3.2f, 4}}, {WICK_EW_hardswish, {2.5f, 2.5f}}, {WICK_EW_softsign, {2, 2}},
};
static const char *const row_names[] = {
#define NAME(name, ...) #name,
    WICK_EW_TABLE(NAME)};
#define ARITY(name, arity, ...) arity,
static const int arities[] = {WICK_EW_TABLE(ARITY)};
#define LO(name, arity, types, result, expression, gradients, lo, hi, ...) {lo, hi},
static const double domains[][2] = {WICK_EW_TABLE(LO)};
enum { RESULT_SAME, RESULT_PLAIN = RESULT_SAME, RESULT_BOOL };
#define RESULT(name, arity, types, result, ...) RESULT_##result,
static const uint8_t results[] = {WICK_EW_TABLE(RESULT)};

static long double ulp_of(long double x, bool f64) {
    int e = ilogbl(x), p = f64 ? 52 : 23, low = f64 ? -1022 : -126;
    return ldexpl(1, (x == 0 || e < low ? low : e) - p);
}

/* Rows whose inputs mean different things: they have tests of their own. */
static bool is_by_itself(wick_ew op) {
    return arities[op] == 3 || op == WICK_EW_polygamma || op == WICK_EW_gamma_slope;
}

static const double special[] = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 1.5,
                                 -1.5,
                                 2,
                                 -2,
                                 2.5,
                                 3,
                                 -3,
                                 4.5,
                                 1e-3,
                                 -1e-3,
                                 1e-30,
                                 -1e-30,
                                 1e30,
                                 -1e30,
                                 1e5,
                                 -1e5,
                                 88.7,
                                 88.8,
                                 -87.5,
                                 -103.9,
                                 -104.1,
                                 709.7,
                                 709.9,
                                 -745.0,
                                 -746.0,
                                 0x1p-126,
                                 0x1p-149,
                                 -0x1p-149,
                                 0x1p-1022,
                                 0x1p-1074,
                                 0x1p23,
                                 0x1.000002p23,
                                 0x1p24,
                                 0x1p52,
                                 0x1.0000000000001p52,
                                 0x1p53,
                                 -0x1p53,
                                 0x1.fffffep127,
                                 -0x1.fffffep127,
                                 0x1.fffffffffffffp1023,
                                 8388607.5,
                                 -8388607.5,
                                 4194303.5,
                                 0.99999994,
                                 -0.99999994,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 1e-310,
                                 33,
                                 -33,
                                 0.92,
                                 0.93,
                                 4,
                                 5.9,
                                 6.1};
enum { SPECIALS = sizeof special / sizeof special[0] };

/* Inputs of one kind: 0 special values in all pairs, 1 the row's domain, 2 all magnitudes, 3 around 1, 4 moderate */
static void make_inputs(wick_ew op, int kind, int round, double *a, double *b) {
    for (int i = 0; i < N; i++) {
        double sign = test_rand_int(0, 1) ? -1 : 1;
        switch (kind) {
        case 0:
            a[i] = special[i % SPECIALS], b[i] = special[(i / SPECIALS + i + round) % SPECIALS];
            break;
        case 1:
            a[i] = test_rand_real(domains[op][0], domains[op][1]),
            b[i] = test_rand_real(domains[op][0], domains[op][1]);
            break;
        case 2:
            a[i] = sign * exp2(test_rand_real(-1070, 1020)),
            b[i] = exp2(test_rand_real(-60, 12)) * (test_rand_int(0, 1) ? -1 : 1);
            if (i % 2) a[i] = sign * exp2(test_rand_real(-150, 127));
            break;
        case 3:
            a[i] = 1 + sign * exp2(test_rand_real(-53, -2)), b[i] = test_rand_real(-1, 1) * exp2(test_rand_real(0, 20));
            break;
        default:
            a[i] = test_rand_real(-1, 1) * exp2(test_rand_real(0, 20)), b[i] = test_rand_real(-10, 10);
            break;
        }
    }
}

/* What counts as a unit: the result's last place, but for rows that by their formulas lose digits. */
static long double unit_of(wick_ew op, long double a, long double b, long double want, bool f64) {
    long double unit = ulp_of(want, f64);
    switch (op) {
    case WICK_EW_gelu: /* 1 + erf cancels */
    case WICK_EW_gelu_tanh:
        return ulp_of(a, f64);
    case WICK_EW_silu: /* the sigmoid may be denormal; so may what stands for tanh(softplus) */
    case WICK_EW_mish:
        return a != 0 ? fmaxl(unit, fabsl(a) * ulp_of(want / a, f64)) : unit;
    case WICK_EW_logaddexp: /* the two terms may cancel */
        /* and the difference rounds before the exponential magnifies that */
        unit = fmaxl(unit, ulp_of(fmaxl(a, b), f64));
        return a - b == a - b ? fmaxl(unit, fabsl(a - b) * ulp_of(expl(-fabsl(a - b)), f64)) : unit;
    case WICK_EW_lgamma: /* the reflection: two terms that may cancel */
        return a < 0 ? fmaxl(unit, ulp_of(lgammal(1 - a), f64)) : unit;
    case WICK_EW_digamma: /* has a root at 1.46, and many below 0 */
        return fmaxl(unit, ulp_of(a < 0 ? fmaxl(1, fabsl(psi(1 - a))) : 1, f64));
    default:
        return unit;
    }
}

static double check_row(wick_ew op, bool f64, wick_tier tier) {
    static double da[N], db[N];
    static float fa[N + 1], fb[N + 1];
    static double d64[N + 1];
    static float d32[N + 1];
    static uint8_t bools[N + 1];
    double worst = 0, limit = 0.5;
    wick_ew_fn fn = (*wick_ew_kernels(tier))[op][f64 ? WICK_CF64 : WICK_CF32];
    for (size_t k = 0; k < WICK_COUNTOF(limits); k++)
        if (limits[k].op == op) limit = limits[k].ulp[f64];
    in_f64 = f64;
    for (int kind = 0; kind < 5; kind++) {
        make_inputs(op, kind, 7, da, db);
        for (int i = 0; i < N; i++) fa[i] = (float)da[i], fb[i] = (float)db[i];
        d64[N] = 123, d32[N] = 123, bools[N] = 123;
        void *dst = results[op] == RESULT_BOOL ? (void *)bools : f64 ? (void *)d64 : (void *)d32;
        fn(dst, f64 ? (void *)da : (void *)fa, f64 ? (void *)db : (void *)fb, NULL, N);
        CHECK(d64[N] == 123 && d32[N] == 123 && bools[N] == 123);
        test_count("values of elementwise functions against long double, by ULP", N);
        for (int i = 0; i < N; i++) {
            long double a = f64 ? (long double)da[i] : (long double)fa[i],
                        b = f64 ? (long double)db[i] : (long double)fb[i];
            long double want = oracle(op, a, b);
            if (no_case) {
                CHECK_MSG(false, "%s has no case in oracle()", row_names[op]);
                no_case = false;
                return 0;
            }
            if (results[op] == RESULT_BOOL) {
                CHECK_MSG(bools[i] == (uint8_t)want, "%s(%Lg, %Lg) = %d", row_names[op], a, b, bools[i]);
                continue;
            }
            long double got = f64 ? (long double)d64[i] : (long double)d32[i];
            double to_type = f64 ? (double)want : (double)(float)want;
            if (want != want || got != got || isinf(to_type) || isinf(got)) {
                /* near overflow either side may round to Inf */
                long double top = f64 ? 0x1.fffffffffffff8p1023L : 0x1.ffffffp127L;
                bool near = fabsl(fabsl(want) / top - 1) < 1e-6L && got * want > 0;
                if (op == WICK_EW_gelu && a < 0) continue; /* -Inf * 0 is NaN by its formula */
                CHECK_MSG((want != want && got != got) || near || got == (long double)to_type,
                          "%s %s %s(%.17Lg, %.17Lg) = %Lg, want %Lg", wick_tier_name(tier), f64 ? "f64" : "f32",
                          row_names[op], a, b, got, want);
                continue;
            }
            if (want == 0 && got == 0)
                CHECK_MSG(signbit(want) == signbit(got) || op == WICK_EW_relu || op == WICK_EW_relu6 ||
                              op == WICK_EW_fmax || op == WICK_EW_fmin || op == WICK_EW_maximum ||
                              op == WICK_EW_minimum || op == WICK_EW_sign,
                          "%s(%Lg, %Lg): sign of zero", row_names[op], a, b);
            double err = (double)(fabsl(got - want) / unit_of(op, a, b, want, f64));
            if (err > worst) worst = err;
            CHECK_MSG(err <= limit * 1.001, "%s %s %s(%.17Lg, %.17Lg) = %.17Lg, want %.17Lg: %.2f ulp",
                      wick_tier_name(tier), f64 ? "f64" : "f32", row_names[op], a, b, got, want, err);
        }
    }
    return worst;
}

/* Largest errors over so many rounds of new inputs, by row, type and tier. */
static float errors[WICK_EW_COUNT][2][WICK_TIER_COUNT];
static void measure(int rounds) {
    for (int op = 0; op < WICK_EW_COUNT; op++) {
        if (!wick_ew_has((wick_ew)op, WICK_CF32) || is_by_itself((wick_ew)op)) continue;
        for (int round = 0; round < rounds; round++)
            for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
                for (int f64 = 0; f64 < 2; f64++)
                    errors[op][f64][tier] =
                        fmaxf(errors[op][f64][tier], (float)check_row((wick_ew)op, f64, (wick_tier)tier));
    }
}
TEST(float_rows_keep_their_accuracy_in_every_tier) { measure(1); }

/* ---- what a half type makes of it: computed in f32, rounded once ------------------------------------------------- */

/* Over all finite halves (of bf16: every third), unary rows. Allowed is one rounding on top of what f32 is allowed,
 * whose unit is the 2^13th or 2^16th part of theirs. */
static double check_half(wick_ew op, wick_dtype dtype) {
    static uint16_t in[65536], out[65536];
    static float x[65536], y[65536];
    const bool is_bf16 = dtype == WICK_BF16;
    const int digits = is_bf16 ? 7 : 10, low = is_bf16 ? -126 : -14;
    double worst = 0;
    float limit = 0.5f;
    in_f64 = false;
    for (size_t k = 0; k < WICK_COUNTOF(limits); k++)
        if (limits[k].op == op) limit = limits[k].ulp[0];
    for (int i = 0; i < 65536; i++) in[i] = (uint16_t)i;
    const wick_convert_table *convert = wick_convert_kernels(wick_tier_best());
    convert->load[dtype](x, in, 65536);
    (*wick_ew_kernels(wick_tier_best()))[op][WICK_CF32](y, x, x, NULL, 65536);
    convert->store[dtype](out, y, 65536);
    convert->load[dtype](y, out, 65536);
    test_count("values of elementwise functions against long double, by ULP", is_bf16 ? 65536 / 3 : 65536);
    for (int i = 0; i < 65536; i += is_bf16 ? 3 : 1) {
        if (!isfinite(x[i])) continue;
        long double a = (long double)x[i], want = oracle(op, a, a);
        if (!isfinite(want) || !isfinite(y[i]) || fabsl(want) > (is_bf16 ? 3.3e38L : 65000)) continue;
        const int e = want == 0 ? low : ilogbl(want);
        long double unit = ldexpl(1, (e < low ? low : e) - digits);
        double err = (double)(fabsl((long double)y[i] - want) / unit);
        worst = fmax(worst, err);
        CHECK_MSG(err <= 0.5001 + (double)(limit * unit_of(op, a, a, want, false) / unit),
                  "%s %s(%Lg) = %g, want %Lg: %.3f ulp", wick_dtype_name(dtype), row_names[op], a, (double)y[i], want,
                  err);
    }
    return worst;
}
static bool has_half(int op) {
    return wick_ew_has((wick_ew)op, WICK_CF32) && arities[op] == 1 && results[op] != RESULT_BOOL;
}
TEST(half_types_add_one_rounding) {
    for (int op = 0; op < WICK_EW_COUNT; op++)
        if (has_half(op)) check_half((wick_ew)op, WICK_F16), check_half((wick_ew)op, WICK_BF16);
}

/* docs/accuracy.md: --write */
static int write_page(const char *path) {
    FILE *f = fopen(path, "wb");
    if (!f) return perror(path), 1;
    measure(6);
    fprintf(
        f, "# Accuracy\n\n"
           "The largest error found per elementwise op, in units of the last place (ulp) of the type: 0.5 is a result "
           "rounded right. Against the\n"
           "C library's `long double`, or sums and iterations in it where it has no such function, over the row's "
           "domain, all magnitudes, numbers\n"
           "around 1, moderate ones and special values, 6 times 4,099 of each. Half types compute in f32 and round "
           "once: over all numbers of\n"
           "f16 and every third of bf16. `bound` is what `tests/kernels/test_elementwise.c` holds every tier to (f32, "
           "f64; half types: one\n"
           "rounding more). Ops that are one operation, or exact, are not listed. Sine, cosine and tangent are of "
           "arguments of any size. What counts as\n"
           "the unit where a formula loses digits by cancellation (`gelu`, `silu`, `mish`, `logaddexp`, the gamma "
           "functions beside their roots) is\n"
           "said in that file, `unit_of`.\n\n"
           "Written by `test_kernels_elementwise --write` on a machine with the tiers of the table.\n\n| op | bound |");
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        fprintf(f, " f32 %s | f64 %s |", wick_tier_name((wick_tier)tier), wick_tier_name((wick_tier)tier));
    fprintf(f, " f16 | bf16 |\n|---|---|");
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) fprintf(f, "---|---|");
    fprintf(f, "---|---|\n");
    for (int op = 0; op < WICK_EW_COUNT; op++)
        for (size_t k = 0; k < WICK_COUNTOF(limits); k++) {
            if (limits[k].op != (wick_ew)op || op == WICK_EW_sign) continue;
            fprintf(f, "| `%s` | %g, %g |", row_names[op], (double)limits[k].ulp[0], (double)limits[k].ulp[1]);
            for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
                fprintf(f, " %.2f | %.2f |", (double)errors[op][0][tier], (double)errors[op][1][tier]);
            if (has_half(op))
                fprintf(f, " %.3f | %.3f |\n", check_half((wick_ew)op, WICK_F16), check_half((wick_ew)op, WICK_BF16));
            else
                fprintf(f, " | |\n");
        }
    return fclose(f) != 0 || test_fails;
}

/* The bits are those of the same element alone: vector bodies and scalar tails agree; dst may be the input. */
TEST(bits_do_not_depend_on_the_position_in_a_block) {
    static float a[N], b[N], whole[N], single[N];
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int op = 0; op < WICK_EW_COUNT; op++) {
            wick_ew_fn fn = (*wick_ew_kernels((wick_tier)tier))[op][WICK_CF32];
            if (!fn || arities[op] == 3 || results[op] == RESULT_BOOL) continue;
            for (int i = 0; i < N; i++) {
                a[i] = (float)test_rand_real(domains[op][0], domains[op][1]);
                b[i] = (float)test_rand_real(domains[op][0], domains[op][1]);
            }
            fn(whole, a, b, NULL, N);
            for (int i = 0; i < N; i++) fn(&single[i], &a[i], &b[i], NULL, 1);
            CHECK_MSG(memcmp(whole, single, sizeof whole) == 0, "%s %s", wick_tier_name((wick_tier)tier),
                      row_names[op]);
            for (int n = 0; n < 70; n++) {
                memcpy(whole, a, sizeof whole);
                fn(whole + 1, whole + 1, b + 1, NULL, (size_t)n);
                CHECK(memcmp(whole + 1, single + 1, sizeof(float) * (size_t)n) == 0);
                CHECK(memcmp(whole + 1 + n, a + 1 + n, sizeof(float) * 8) == 0 && whole[0] == a[0]);
            }
        }
}

/* ---- integers and bool ------------------------------------------------------------------------------------------- */

/* Two's complement of 64 bits; the result is cut to the type by the caller. */
static uint64_t integer_oracle(wick_ew op, bool is_signed, bool is_bool, uint64_t bits, uint64_t a, uint64_t b) {
    const bool less = is_signed ? (int64_t)a < (int64_t)b : a < b, more = is_signed ? (int64_t)a > (int64_t)b : a > b;
    const bool negative = is_signed && (int64_t)a < 0;
    const uint64_t quotient = b == 0             ? 0
                              : !is_signed       ? a / b
                              : (int64_t)b == -1 ? 0 - a
                                                 : (uint64_t)((int64_t)a / (int64_t)b);
    const bool turn = is_signed && b != 0 && a != quotient * b && ((int64_t)a < 0) != ((int64_t)b < 0);
    switch (op) {
    case WICK_EW_add:
        return a + b;
    case WICK_EW_sub:
        return a - b;
    case WICK_EW_mul:
        return a * b;
    case WICK_EW_maximum:
        return more ? a : b;
    case WICK_EW_minimum:
        return less ? a : b;
    case WICK_EW_neg:
        return 0 - a;
    case WICK_EW_abs:
        return negative ? 0 - a : a;
    case WICK_EW_sign:
        return negative ? UINT64_MAX : a != 0;
    case WICK_EW_square:
        return a * a;
    case WICK_EW_relu:
        return negative ? 0 : a;
    case WICK_EW_eq:
        return a == b;
    case WICK_EW_ne:
        return a != b;
    case WICK_EW_lt:
        return less;
    case WICK_EW_le:
        return !more;
    case WICK_EW_gt:
        return more;
    case WICK_EW_ge:
        return !less;
    case WICK_EW_logical_and:
        return a & b;
    case WICK_EW_logical_or:
        return a | b;
    case WICK_EW_logical_not:
        return !a;
    case WICK_EW_logical_xor:
        return a != b;
    case WICK_EW_bitwise_and:
        return a & b;
    case WICK_EW_bitwise_or:
        return a | b;
    case WICK_EW_bitwise_xor:
        return a ^ b;
    case WICK_EW_bitwise_not:
        return is_bool ? !a : ~a;
    case WICK_EW_left_shift:
        return b < bits ? a << b : 0;
    case WICK_EW_right_shift:
        return is_signed ? (uint64_t)((int64_t)a >> (b < bits ? b : 63)) : b < bits ? a >> b : 0;
    case WICK_EW_fmax:
        return more ? a : b;
    case WICK_EW_fmin:
        return less ? a : b;
    case WICK_EW_trunc_divide:
        return quotient;
    case WICK_EW_fmod:
        return b ? a - quotient * b : 0;
    case WICK_EW_floor_divide:
        return quotient - turn;
    case WICK_EW_remainder:
        return b ? a - (quotient - turn) * b : 0;
    case WICK_EW_pow: {
        uint64_t y = 1;
        if (is_signed && (int64_t)b < 0) return a == 1 ? 1 : a != UINT64_MAX ? 0 : b % 2 ? a : 1;
        for (int bit = 63; bit >= 0; bit--) y = y * y * (b >> bit & 1 ? a : 1);
        return y;
    }
    default:
        no_case = true;
        return 0;
    }
}

TEST(integer_and_bool_rows_equal_plain_c) {
    static uint64_t a64[N], b64[N], got64[N];
    static int32_t a32[N], b32[N], got32[N];
    static uint8_t a8[N], b8[N], got8[N];
    for (int i = 0; i < N; i++) {
        a64[i] = test_rand_int(0, 1) ? test_rand() : (uint64_t)(int64_t)test_rand_int(-2, 2);
        b64[i] = test_rand_int(0, 1) ? test_rand() : (uint64_t)(int64_t)test_rand_int(-2, 2);
        if (i % 3 == 0) b64[i] = (uint64_t)(int64_t)test_rand_int(-70, 70); /* counts of bits */
        if (i % 50 == 0) a64[i] = 1ull << 63;
        a32[i] = i % 60 == 0 ? INT32_MIN : (int32_t)a64[i], b32[i] = (int32_t)b64[i];
        a8[i] = a64[i] >> 20 & 1, b8[i] = b64[i] >> 20 & 1;
    }
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int op = 0; op < WICK_EW_COUNT; op++)
            for (int t = WICK_CI32; t < WICK_CTYPE_COUNT; t++) {
                wick_ew_fn fn = (*wick_ew_kernels((wick_tier)tier))[op][t];
                CHECK((fn != NULL) == wick_ew_has((wick_ew)op, (wick_ctype)t));
                if (!fn || arities[op] == 3) continue;
                void *a = t == WICK_CI32 ? (void *)a32 : t == WICK_CBOOL ? (void *)a8 : (void *)a64;
                void *b = t == WICK_CI32 ? (void *)b32 : t == WICK_CBOOL ? (void *)b8 : (void *)b64;
                const bool to_bool = results[op] == RESULT_BOOL || t == WICK_CBOOL;
                fn(to_bool ? (void *)got8 : t == WICK_CI32 ? (void *)got32 : (void *)got64, a, b, NULL, N);
                for (int i = 0; i < N; i++) {
                    uint64_t x = t == WICK_CI32 ? (uint64_t)a32[i] : t == WICK_CBOOL ? a8[i] : a64[i];
                    uint64_t y = t == WICK_CI32 ? (uint64_t)b32[i] : t == WICK_CBOOL ? b8[i] : b64[i];
                    uint64_t want = integer_oracle((wick_ew)op, t == WICK_CI32 || t == WICK_CI64, t == WICK_CBOOL,
                                                   t == WICK_CI32 ? 32 : 64, x, y);
                    if (no_case) {
                        CHECK_MSG(false, "%s has no case in integer_oracle()", row_names[op]);
                        no_case = false;
                        break;
                    }
                    bool same = to_bool          ? got8[i] == want
                                : t == WICK_CI32 ? got32[i] == (int32_t)want
                                                 : got64[i] == want;
                    CHECK_MSG(same, "%s %s type %d of %llx, %llx", wick_tier_name((wick_tier)tier), row_names[op], t,
                              (unsigned long long)x, (unsigned long long)y);
                }
            }
}

TEST(where_selects_in_every_type) {
    static uint64_t b[N], c[N], got[N];
    static uint8_t cond[N];
    for (int i = 0; i < N; i++) b[i] = test_rand(), c[i] = test_rand(), cond[i] = test_rand() & 1;
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int t = 0; t < WICK_CTYPE_COUNT; t++) {
            const size_t size = wick_ctype_size((wick_ctype)t);
            (*wick_ew_kernels((wick_tier)tier))[WICK_EW_where][t](got, cond, b, c, N);
            for (size_t i = 0; i < N; i++) {
                const uint8_t *from = (const uint8_t *)(cond[i] ? b : c) + i * size;
                CHECK(memcmp((const uint8_t *)got + i * size, from, size) == 0);
            }
        }
}

TEST(clamp_holds_to_the_lower_bound_first_and_keeps_nan) {
    static const double rows[][4] = {
        {0.5, 0, 1, 0.5},       {-3, 0, 1, 0},        {3, 0, 1, 1},       {3, 2, 1, 1},
        {NAN, 0, 1, NAN},       {0.5, NAN, 1, NAN},   {0.5, 0, NAN, NAN}, {1, -INFINITY, INFINITY, 1},
        {-INFINITY, -2, 2, -2}, {INFINITY, -2, 2, 2}, {-3, 2, 1, 1}};
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
            const double *r = rows[i];
            float f[3] = {(float)r[0], (float)r[1], (float)r[2]}, y;
            double z;
            (*wick_ew_kernels((wick_tier)tier))[WICK_EW_clamp][WICK_CF32](&y, &f[0], &f[1], &f[2], 1);
            (*wick_ew_kernels((wick_tier)tier))[WICK_EW_clamp][WICK_CF64](&z, &r[0], &r[1], &r[2], 1);
            CHECK_MSG((r[3] != r[3] ? z != z : z == r[3]) && (r[3] != r[3] ? y != y : (double)y == r[3]),
                      "clamp(%g, %g, %g) = %g", r[0], r[1], r[2], z);
            int32_t n[3] = {(int32_t)(test_rand() % 9), (int32_t)(test_rand() % 9), (int32_t)(test_rand() % 9)}, k;
            uint64_t u[3] = {(uint64_t)n[0], UINT64_MAX - (uint64_t)n[1], UINT64_MAX}, v;
            (*wick_ew_kernels((wick_tier)tier))[WICK_EW_clamp][WICK_CI32](&k, &n[0], &n[1], &n[2], 1);
            (*wick_ew_kernels((wick_tier)tier))[WICK_EW_clamp][WICK_CU64](&v, &u[0], &u[1], &u[2], 1);
            CHECK_INT(k, WICK_MIN(WICK_MAX(n[0], n[1]), n[2]));
            CHECK(v == u[1]);
        }
}

/* The sum itself, with an integral for what is left: 8 digits and more are enough to tell it from a mistake; then
 * relations to 1e-13. */
TEST(polygamma_is_the_sum_it_stands_for) {
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int n = 1; n < 6; n++)
            for (double x = -2.75; x < 40; x += 0.5) {
                double order = n, next = x + 1, y, z;
                (*wick_ew_kernels((wick_tier)tier))[WICK_EW_polygamma][WICK_CF64](&y, &order, &x, NULL, 1);
                (*wick_ew_kernels((wick_tier)tier))[WICK_EW_polygamma][WICK_CF64](&z, &order, &next, NULL, 1);
                long double sum = 0, factorial = 1, step;
                for (int k = 20000; k-- > 0;) sum += powl(x + k, -(n + 1));
                sum += powl(x + 19999.5L, -n) / n;
                for (int k = 2; k <= n; k++) factorial *= k;
                step = (n % 2 ? factorial : -factorial) * powl(x, -(n + 1));
                sum *= n % 2 ? factorial : -factorial;
                CHECK_MSG(fabsl(y - sum) <= 1e-8L * fabsl(sum), "polygamma(%d, %g) = %.17g, want %.17Lg", n, x, y, sum);
                CHECK_MSG(fabsl(y - z - step) <= 1e-13L * fmaxl(fabsl(sum), fabsl(step)),
                          "polygamma(%d, %g): %Lg off by a step", n, x, y - z - step);
            }
}

/* By mpmath: the numerical derivative of the incomplete gamma function at 50 digits. */
TEST(gamma_slope_is_the_implicit_derivative) {
    static const double rows[][3] = {{0.001, 1.0000000000000001e-30, 6.8501980858e-26},
                                     {0.001, 1.0000000000000001e-05, 0.109374727781},
                                     {0.001, 0.10000000000000001, 201.605515954},
                                     {0.001, 3, 787.914885883},
                                     {0.050000000000000003, 5.0000000000000002e-05, 0.00940613581305},
                                     {0.050000000000000003, 0.025000000000000001, 1.64552190582},
                                     {0.050000000000000003, 0.050000000000000003, 2.66684190139},
                                     {0.050000000000000003, 0.16180339887498948, 5.53348427894},
                                     {0.050000000000000003, 2.7208203932499369, 16.9772530728},
                                     {0.29999999999999999, 0.00029999999999999997, 0.00794454787777},
                                     {0.29999999999999999, 0.14999999999999999, 1.01963759968},
                                     {0.29999999999999999, 0.29999999999999999, 1.52599981722},
                                     {0.29999999999999999, 0.57386127875258308, 2.13047086702},
                                     {0.29999999999999999, 3.9431676725154983, 4.40660833},
                                     {1, 0.001, 0.00733445624488},
                                     {1, 0.5, 0.806979116825},
                                     {1, 1, 1.17356302722},
                                     {1, 1.5, 1.4309374423},
                                     {1, 6, 2.51424276336},
                                     {2.5, 0.0025000000000000001, 0.00709989587424},
                                     {2.5, 1.25, 0.739244766263},
                                     {2.5, 2.5, 1.06867301999},
                                     {2.5, 3.290569415042095, 1.2224648826},
                                     {2.5, 9.2434164902525691, 1.91154192013},
                                     {8, 0.0080000000000000002, 0.00697525371714},
                                     {8, 4, 0.707454375075},
                                     {8, 8, 1.02107439415},
                                     {8, 9.4142135623730958, 1.10643611099},
                                     {8, 18.485281374238571, 1.50709834456},
                                     {40, 14.701778718652966, 0.584016130044},
                                     {40, 33.675444679663244, 0.920235185056},
                                     {40, 40, 1.00417693316},
                                     {40, 43.162277660168378, 1.04286355162},
                                     {40, 60.973665961010276, 1.23063860826},
                                     {300, 230.71796769724492, 0.874930991127},
                                     {300, 282.67949192431121, 0.971099626201},
                                     {300, 300, 1.00055574039},
                                     {300, 308.66025403784437, 1.01486051163},
                                     {300, 353.96152422706632, 1.08558418969},
                                     {999, 872.57215496576714, 0.93402626069},
                                     {999, 967.39303874144173, 0.98417535273},
                                     {999, 999, 1.00016685019},
                                     {999, 1014.8034806292791, 1.00803643015},
                                     {999, 1095.8208837756747, 1.04713974611},
                                     {1001, 874.44566384354903, 0.934095103394},
                                     {1001, 969.36141596088726, 0.984191180217},
                                     {1001, 1001, 1.00016651679},
                                     {1001, 1016.8192920195564, 1.00802826949},
                                     {1001, 1097.9157521173383, 1.04709293242},
                                     {5000, 4717.1572875253814, 0.971199147547},
                                     {5000, 4929.2893218813451, 0.992928458079},
                                     {5000, 5000, 1.000033334},
                                     {5000, 5035.355339059327, 1.00356068143},
                                     {5000, 5214.1320343559646, 1.02114793787},
                                     {1000000, 996000, 0.99799749432},
                                     {1000000, 999000, 0.999499999833},
                                     {1000000, 1000000, 1.00000016667},
                                     {1000000, 1000500, 1.00025012505},
                                     {1000000, 1003002, 1.00149966717}};
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        wick_ew_fn f32 = (*wick_ew_kernels((wick_tier)tier))[WICK_EW_gamma_slope][WICK_CF32],
                   f64 = (*wick_ew_kernels((wick_tier)tier))[WICK_EW_gamma_slope][WICK_CF64];
        for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
            const double *r = rows[i];
            double y;
            float a = (float)r[0], x = (float)r[1], z;
            f64(&y, &r[0], &r[1], NULL, 1);
            CHECK_MSG(fabs(y / r[2] - 1) < (r[0] > 1000 ? 2e-8 : 2e-11), "%s gamma_slope(%g, %g) = %.17g, want %.17g",
                      wick_tier_name((wick_tier)tier), r[0], r[1], y, r[2]);
            f32(&z, &a, &x, NULL, 1);
            CHECK_MSG(fabs((double)z / r[2] - 1) < 1e-6 || r[1] < 1e-20, "gamma_slope(%g, %g) = %g in f32, want %g",
                      r[0], r[1], (double)z, r[2]);
        }
        static const double odd[][3] = {{2, 0, 0},     {0, 1, NAN},  {-1, 1, NAN},           {NAN, 1, NAN},
                                        {1, NAN, NAN}, {1, -1, NAN}, {1, INFINITY, INFINITY}};
        for (size_t i = 0; i < WICK_COUNTOF(odd); i++) {
            double y;
            f64(&y, &odd[i][0], &odd[i][1], NULL, 1);
            CHECK_MSG(y == odd[i][2] || (y != y && odd[i][2] != odd[i][2]), "gamma_slope(%g, %g) = %g", odd[i][0],
                      odd[i][1], y);
        }
    }
}

TEST(replace_inf_tells_the_two_apart) {
    static const double in[] = {INFINITY, -INFINITY, NAN, 0, 1e308, -3}, want[] = {5, 6, NAN, 0, 1e308, -3};
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (size_t i = 0; i < WICK_COUNTOF(in); i++) {
            double b = 5, c = 6, y;
            (*wick_ew_kernels((wick_tier)tier))[WICK_EW_replace_inf][WICK_CF64](&y, &in[i], &b, &c, 1);
            CHECK_MSG(y == want[i] || (y != y && want[i] != want[i]), "replace_inf(%g) = %g", in[i], y);
        }
}

/* Quotients on both sides of the bound of the form without a loop, mixed in one chunk, give what the loop gives: the
 * reference has only that. */
/* Arguments beyond what multiples of pi/2 in a few parts reach, some of them as near to one as a number can be; sine,
 * cosine and tangent by mpmath in 3,000 bits. Among small ones, so that a chunk has both; the small ones keep their
 * bits. */
static const struct {
    double x, want[3];
} far_turns[][11] = {{
    {0x1.f37c8a0000000p+95, {0x1.0000000000000p+0, -0x1.bbdd52a58eafbp-30, -0x1.274c1bb79adb7p+29}},
    {0x1.93e5940000000p+99, {-0x1.95135fcc7c53cp-1, -0x1.3924432ee4d87p-1, 0x1.4b28751fb4af0p+0}},
    {0x1.fffffe0000000p+127, {-0x1.0b33665089575p-1, 0x1.b4bf2c79bdfcep-1, -0x1.393d94b4988c2p-1}},
    {0x1.0000020000000p+20, {0x1.c8471008e0f2ep-2, 0x1.ca5cf1333f2f5p-1, 0x1.fdaba58ca8877p-2}},
    {0x1.312d000000000p+23, {0x1.aea414a8a3352p-2, -0x1.d085be7a8f4a1p-1, -0x1.daa7d34937ac4p-2}},
    {0x1.5eb9520000000p+52, {-0x1.3cc66c2d4cc7dp-1, 0x1.923d9b7beb5bdp-1, -0x1.9336a536bebe6p-1}},
    {-0x1.2a05f20000000p+33, {0x1.f334c7896a4e3p-2, 0x1.bf098901c931ap-1, 0x1.1de000f443f50p-1}},
    {0x1.0000000000000p+31, {-0x1.f14f913e9af98p-1, 0x1.e70c2d5131e55p-3, -0x1.0564ff9979ed5p+2}},
    {0x1.954fc40000000p+30, {0x1.ff9bd967c41b1p-1, -0x1.402e10fd1625bp-5, -0x1.990e97b5c0ec8p+4}},
    {0x1.0000000000000p+25, {-0x1.f3fa130939bafp-1, -0x1.b9381aa1f0792p-3, 0x1.221782723da78p+2}},
}, {
    {0x1.6ac5b262ca1ffp+849, {0x1.0000000000000p+0, -0x1.14ae72e6ba22fp-61, -0x1.d9ba9a7975636p+60}},
    {0x1.5eb951243a000p+52, {0x1.f7ec791233806p-1, 0x1.6a52be367596dp-3, 0x1.640c4cc95bd86p+2}},
    {0x1.0f0cf064dd592p+73, {-0x1.b453ab76bf397p-1, 0x1.0be2cef01c8f4p-1, -0x1.a0f79c1b6b257p+0}},
    {0x1.fffffffffffffp+1023, {0x1.452fc98b34e97p-8, -0x1.fffe62ecfab75p-1, -0x1.4530cfe729484p-8}},
    {0x1.0000000400000p+30, {0x1.5054c2710443fp-2, 0x1.e398612c96801p-1, 0x1.641607c204e94p-2}},
    {0x1.0000000000001p+52, {0x1.053c35068e10dp-4, -0x1.fef526a39c993p-1, -0x1.05c4a3507a3f6p-4}},
    {0x1.249ad2594c37dp+332, {-0x1.85c5e5b929359p-2, 0x1.d9757496841f5p-1, -0x1.a5807d6f76f7dp-2}},
    {-0x1.36dcc951d8c00p+58, {0x1.ea9d7e3d28efcp-4, -0x1.fc505b1fd45dbp-1, -0x1.ee2c47ee30a98p-4}},
    {-0x1.7e43c8800759cp+996, {0x1.a2c16b010e385p-1, -0x1.2699022adc4c1p-1, -0x1.6be411f37ac77p+0}},
}};
TEST(turns_are_counted_at_any_size) {
    enum { MANY = 2000 };
    static double da[MANY], dy[2][MANY];
    static float fa[MANY], fy[2][MANY];
    static const wick_ew ops[] = {WICK_EW_sin, WICK_EW_cos, WICK_EW_tan};
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int f64 = 0; f64 < 2; f64++)
            for (int k = 0; k < 3; k++) {
                wick_ew_fn fn = (*wick_ew_kernels((wick_tier)tier))[ops[k]][f64 ? WICK_CF64 : WICK_CF32];
                void *in = f64 ? (void *)da : (void *)fa,
                     *out[2] = {f64 ? (void *)dy[0] : (void *)fy[0], f64 ? (void *)dy[1] : (void *)fy[1]};
                for (int i = 0; i < MANY; i++) da[i] = 0.01 * i - 7, fa[i] = (float)da[i];
                fn(out[0], in, NULL, NULL, MANY);
                for (int i = 0; i < 11 && far_turns[f64][i].x != 0; i++)
                    da[37 * i + 5] = far_turns[f64][i].x, fa[37 * i + 5] = (float)far_turns[f64][i].x;
                da[1990] = fa[1990] = INFINITY, da[1991] = fa[1991] = NAN;
                fn(out[1], in, NULL, NULL, MANY);
                for (int i = 0; i < MANY; i++) {
                    const int at = i / 37;
                    const double before = f64 ? dy[0][i] : (double)fy[0][i], after = f64 ? dy[1][i] : (double)fy[1][i];
                    if (i >= 1990 && i <= 1991) {
                        CHECK(isnan(after));
                    } else if (i % 37 == 5 && at < 11 && far_turns[f64][at].x != 0) {
                        const long double want = (long double)far_turns[f64][at].want[k], unit = ulp_of(want, f64);
                        CHECK_MSG(fabsl((long double)after - want) <= 3 * unit, "%s %s(%.17g) = %.17g, want %.17g",
                                  wick_tier_name((wick_tier)tier), row_names[ops[k]], far_turns[f64][at].x, after,
                                  (double)want);
                    } else
                        CHECK_MSG(before == after, "%s %s(%.17g): %.17g, but %.17g beside large ones",
                                  wick_tier_name((wick_tier)tier), row_names[ops[k]], da[i], before, after);
                }
                if (f64) memcpy(dy[0], da, sizeof da); else memcpy(fy[0], fa, sizeof fa); /* in place */
                fn(out[0], out[0], NULL, NULL, MANY);
                CHECK(!memcmp(out[0], out[1], f64 ? sizeof da : sizeof fa));
            }
}
TEST(remainders_are_those_of_the_reference) {
    static const wick_ew ops[] = {WICK_EW_fmod, WICK_EW_remainder, WICK_EW_floor_divide};
    static double a[N], b[N], y[N], want[N];
    static float fa[N], fb[N], fy[N], fwant[N];
    for (int i = 0; i < N; i++) {
        const double sign = test_rand_int(0, 1) ? -1 : 1, most = i / 600 % 2 ? 0 : test_rand_real(20, 60);
        b[i] = (test_rand_int(0, 1) ? -1 : 1) * exp2(test_rand_real(-20, 20)),
        a[i] = sign * fabs(b[i]) * exp2(test_rand_real(-4, most));
        if (i % 7 == 0) a[i] = b[i] * (double)test_rand_int(-100, 100);
        fa[i] = (float)a[i], fb[i] = (float)b[i];
    }
    for (int tier = 1; tier <= (int)wick_tier_best(); tier++)
        for (size_t k = 0; k < WICK_COUNTOF(ops); k++) {
            (*wick_ew_kernels(WICK_TIER_REF))[ops[k]][WICK_CF64](want, a, b, NULL, N);
            (*wick_ew_kernels((wick_tier)tier))[ops[k]][WICK_CF64](y, a, b, NULL, N);
            (*wick_ew_kernels(WICK_TIER_REF))[ops[k]][WICK_CF32](fwant, fa, fb, NULL, N);
            (*wick_ew_kernels((wick_tier)tier))[ops[k]][WICK_CF32](fy, fa, fb, NULL, N);
            CHECK_MSG(!memcmp(y, want, sizeof y) && !memcmp(fy, fwant, sizeof fy), "%s %s",
                      wick_tier_name((wick_tier)tier), row_names[ops[k]]);
        }
}

/* Both ends exactly, between them within the rounding of b - a. */
TEST(lerp_and_scaled_elu_follow_their_formulas) {
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int i = 0; i < 2000; i++) {
            double a = test_rand_real(-9, 9), b = test_rand_real(-9, 9), c = i % 3 ? test_rand_real(-0.5, 1.5) : i % 2,
                   y;
            (*wick_ew_kernels((wick_tier)tier))[WICK_EW_lerp][WICK_CF64](&y, &a, &b, &c, 1);
            CHECK_MSG(fabs(y - ((1 - c) * a + c * b)) <= 1e-14 && (i % 3 || y == (i % 2 ? b : a)),
                      "lerp(%g, %g, %g) = %g", a, b, c, y);
            (*wick_ew_kernels((wick_tier)tier))[WICK_EW_scaled_elu][WICK_CF64](&y, &a, &b, &c, 1);
            CHECK_MSG(fabs(y - (a > 0 ? a : b * expm1(a * c))) <= 1e-13 * fmax(1, fabs(y)),
                      "scaled_elu(%g, %g, %g) = %g", a, b, c, y);
        }
}

TEST(every_row_has_its_types_and_an_arity) {
    for (int op = 0; op < WICK_EW_COUNT; op++) {
        CHECK(arities[op] >= 1 && arities[op] <= 3);
        CHECK(wick_ew_has((wick_ew)op, WICK_CF32) == wick_ew_has((wick_ew)op, WICK_CF64));
    }
    CHECK(!wick_ew_has(WICK_EW_COUNT, WICK_CF32) && !wick_ew_has(WICK_EW_add, WICK_CBOOL) &&
          wick_ew_has(WICK_EW_logical_or, WICK_CBOOL));
}

int main(int argc, char **argv) {
    return argc > 1 && !strcmp(argv[1], "--write") ? write_page(WICK_SOURCE_DIR "/docs/accuracy.md")
                                                   : test_main(argc, argv);
}
