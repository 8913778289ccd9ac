/* test_elementwise.c: every row of the table, in every type and tier, against long double libm (integers: against plain
 * C), over its domain, over all magnitudes and at special values. Prints the largest error per row in units of the last
 * place. */
#include "test.h"

#include "kernels/elementwise/ew.h"

enum { N = 4099 }; /* not a multiple of any vector */

/* The row's value from its definition, in long double; a and b exactly as the kernel gets them. */
static bool no_case; /* the row last asked for has no case in its oracle */

static long double oracle(wick_ew op, long double a, long double b) {
    switch (op) {
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
    float ulp[2], huge; /* huge: arguments up to this magnitude are held to it, 0: all */
} limits[] = {
    {WICK_EW_pow, {1, 4}, 0},    {WICK_EW_rsqrt, {1.5f, 1.5f}, 0}, {WICK_EW_exp, {2, 2}, 0},
    {WICK_EW_expm1, {2, 3}, 0},  {WICK_EW_log, {2, 2}, 0},         {WICK_EW_log1p, {2, 2}, 0},
    {WICK_EW_sin, {2, 3}, 1e5f}, {WICK_EW_cos, {2, 3}, 1e5f},      {WICK_EW_tanh, {3, 4}, 0},
    {WICK_EW_erf, {2, 4}, 0},    {WICK_EW_sigmoid, {3, 3}, 0},     {WICK_EW_softplus, {2, 3}, 0},
    {WICK_EW_gelu, {4, 4}, 0},   {WICK_EW_silu, {3, 3}, 0},        {WICK_EW_sign, {0, 0}, 0},
};
static const char *const row_names[] = {
#define NAME(name, ...) #name,
    WICK_EW_TABLE(NAME)};
#define ARITY(name, arity, ...) arity,
static const int arities[] = {WICK_EW_TABLE(ARITY)};
#define LO(name, arity, types, result, expression, gradients, lo, hi, ...) {lo, hi},
static const double domains[][2] = {WICK_EW_TABLE(LO)};
enum { RESULT_SAME, RESULT_BOOL };
#define RESULT(name, arity, types, result, ...) RESULT_##result,
static const uint8_t results[] = {WICK_EW_TABLE(RESULT)};

static long double ulp_of(long double x, bool f64) {
    int e = ilogbl(x), p = f64 ? 52 : 23, low = f64 ? -1022 : -126;
    return ldexpl(1, (x == 0 || e < low ? low : e) - p);
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

static double check_row(wick_ew op, bool f64, wick_tier tier) {
    static double da[N], db[N];
    static float fa[N + 1], fb[N + 1];
    static double d64[N + 1];
    static float d32[N + 1];
    static uint8_t bools[N + 1];
    double worst = 0, limit = 0.5, huge = 0;
    wick_ew_fn fn = (*wick_ew_kernels(tier))[op][f64 ? WICK_CF64 : WICK_CF32];
    for (size_t k = 0; k < WICK_COUNTOF(limits); k++)
        if (limits[k].op == op)
            limit = limits[k].ulp[f64], huge = f64 ? (double)limits[k].huge * 1e4 : (double)limits[k].huge;
    for (int kind = 0; kind < 5; kind++) {
        make_inputs(op, kind, 7, da, db);
        for (int i = 0; i < N; i++) fa[i] = (float)da[i], fb[i] = (float)db[i];
        d64[N] = 123, d32[N] = 123, bools[N] = 123;
        void *dst = results[op] == RESULT_BOOL ? (void *)bools : f64 ? (void *)d64 : (void *)d32;
        fn(dst, f64 ? (void *)da : (void *)fa, f64 ? (void *)db : (void *)fb, NULL, N);
        CHECK(d64[N] == 123 && d32[N] == 123 && bools[N] == 123);
        for (int i = 0; i < N; i++) {
            long double a = f64 ? (long double)da[i] : (long double)fa[i],
                        b = f64 ? (long double)db[i] : (long double)fb[i];
            if (huge != 0 && fabsl(a) > (long double)huge && isfinite(a)) continue;
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
                CHECK_MSG(signbit(want) == signbit(got) || op == WICK_EW_relu || op == WICK_EW_maximum ||
                              op == WICK_EW_minimum || op == WICK_EW_sign,
                          "%s(%Lg, %Lg): sign of zero", row_names[op], a, b);
            /* by their formulas: 1 + erf cancels for negative gelu, and the sigmoid in silu may be denormal */
            long double unit = ulp_of(op == WICK_EW_gelu ? a : want, f64);
            if (op == WICK_EW_silu && a != 0) unit = fmaxl(unit, fabsl(a) * ulp_of(want / a, f64));
            double err = (double)(fabsl(got - want) / unit);
            if (err > worst) worst = err;
            CHECK_MSG(err <= limit * 1.001, "%s %s %s(%.17Lg, %.17Lg) = %.17Lg, want %.17Lg: %.2f ulp",
                      wick_tier_name(tier), f64 ? "f64" : "f32", row_names[op], a, b, got, want, err);
        }
    }
    return worst;
}

TEST(float_rows_keep_their_accuracy_in_every_tier) {
    printf("  %-12s", "largest ulp");
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) printf("%8s f32 f64 ", wick_tier_name((wick_tier)tier));
    printf("\n");
    for (int op = 0; op < WICK_EW_COUNT; op++) {
        if (!wick_ew_has((wick_ew)op, WICK_CF32) || op == WICK_EW_where) continue;
        printf("  %-12s", row_names[op]);
        for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
            double e32 = check_row((wick_ew)op, false, (wick_tier)tier);
            printf("%10.2f %5.2f ", e32, check_row((wick_ew)op, true, (wick_tier)tier));
        }
        printf("\n");
    }
}

/* The bits are those of the same element alone: vector bodies and scalar tails agree; dst may be the input. */
TEST(bits_do_not_depend_on_the_position_in_a_block) {
    static float a[N], b[N], whole[N], single[N];
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int op = 0; op < WICK_EW_COUNT; op++) {
            wick_ew_fn fn = (*wick_ew_kernels((wick_tier)tier))[op][WICK_CF32];
            if (!fn || op == WICK_EW_where || results[op] == RESULT_BOOL) continue;
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

/* ---- integers and bool ----------------------------------------------------------------------------------------------
 */

/* Two's complement of 64 bits; the result is cut to the type by the caller. */
static uint64_t integer_oracle(wick_ew op, bool is_signed, uint64_t a, uint64_t b) {
    const bool less = is_signed ? (int64_t)a < (int64_t)b : a < b, more = is_signed ? (int64_t)a > (int64_t)b : a > b;
    const bool negative = is_signed && (int64_t)a < 0;
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
        if (i % 50 == 0) a64[i] = 1ull << 63;
        a32[i] = i % 60 == 0 ? INT32_MIN : (int32_t)a64[i], b32[i] = (int32_t)b64[i];
        a8[i] = a64[i] >> 20 & 1, b8[i] = b64[i] >> 20 & 1;
    }
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int op = 0; op < WICK_EW_COUNT; op++)
            for (int t = WICK_CI32; t < WICK_CTYPE_COUNT; t++) {
                wick_ew_fn fn = (*wick_ew_kernels((wick_tier)tier))[op][t];
                CHECK((fn != NULL) == wick_ew_has((wick_ew)op, (wick_ctype)t));
                if (!fn || op == WICK_EW_where) continue;
                void *a = t == WICK_CI32 ? (void *)a32 : t == WICK_CBOOL ? (void *)a8 : (void *)a64;
                void *b = t == WICK_CI32 ? (void *)b32 : t == WICK_CBOOL ? (void *)b8 : (void *)b64;
                const bool to_bool = results[op] == RESULT_BOOL || t == WICK_CBOOL;
                fn(to_bool ? (void *)got8 : t == WICK_CI32 ? (void *)got32 : (void *)got64, a, b, NULL, N);
                for (int i = 0; i < N; i++) {
                    uint64_t x = t == WICK_CI32 ? (uint64_t)a32[i] : t == WICK_CBOOL ? a8[i] : a64[i];
                    uint64_t y = t == WICK_CI32 ? (uint64_t)b32[i] : t == WICK_CBOOL ? b8[i] : b64[i];
                    uint64_t want = integer_oracle((wick_ew)op, t == WICK_CI32 || t == WICK_CI64, x, y);
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

TEST(every_row_has_its_types_and_an_arity) {
    for (int op = 0; op < WICK_EW_COUNT; op++) {
        CHECK(arities[op] >= 1 && arities[op] <= 3);
        CHECK(wick_ew_has((wick_ew)op, WICK_CF32) == wick_ew_has((wick_ew)op, WICK_CF64));
    }
    CHECK(!wick_ew_has(WICK_EW_COUNT, WICK_CF32) && !wick_ew_has(WICK_EW_add, WICK_CBOOL) &&
          wick_ew_has(WICK_EW_logical_or, WICK_CBOOL));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
