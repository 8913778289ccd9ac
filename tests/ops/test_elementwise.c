/* Values and gradients of the elementwise table, and of the functions in wick/pointwise.h, against PyTorch's
 * (golden/elementwise.safetensors, made by golden/make_elementwise.py). A row of the table without a golden is a
 * failure. */
#define GOLDEN_FILE  "elementwise.safetensors"
#define GOLDEN_FLOOR 0.2
#include "ops/goldens.h"
#include "wick/pointwise.h"

#define ARGS1 in[0]
#define ARGS2 in[0], in[1]
#define ARGS3 in[0], in[1], in[2]
#define ROW_BUILD(name, arity, ...) BUILD(build_##name, wick_##name(ARGS##arity))
WICK_EW_TABLE(ROW_BUILD)
#define ROW_CASE(name, ...) {#name, build_##name},
static const named_case rows[] = {WICK_EW_TABLE(ROW_CASE)};

TEST(elementwise_rows_agree) { check_all(rows, WICK_COUNTOF(rows)); }

static void check_variants(const char *ending) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    int n = 0;
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", rows[i].name, ending);
        if (find(name, "in0")) check(ctx, name, rows[i].build), n++;
    }
    CHECK_MSG(n > 0, "no golden ends in %s", ending);
    wick_context_free(&ctx);
}
TEST(nan_infinities_and_huge_numbers_agree) { check_variants("odd"); }
TEST(ties_and_zeros_have_pytorchs_gradient) { check_variants("ties"), check_variants("zero"); }
TEST(integers_of_all_widths_and_bools_agree) {
    check_variants("int"), check_variants("i32"), check_variants("u8"), check_variants("i8"), check_variants("bool");
}
TEST(gamma_functions_left_of_zero_and_higher_orders_agree) { check_variants("left"), check_variants("1"); }

BUILD(build_clip, wick_clip(in[0], -1, 1.5))
BUILD(build_clip_low, wick_clip(in[0], -1, INFINITY))
BUILD(build_clip_int, wick_clip(in[0], -2, 3))
BUILD(build_threshold, wick_threshold(in[0], 0.1, 20))
BUILD(build_leaky_relu, wick_leaky_relu(in[0], 0.1))
BUILD(build_elu, wick_elu(in[0], 1.5))
BUILD(build_celu, wick_celu(in[0], 1.5))
BUILD(build_softplus_beta, wick_softplus_beta(in[0], 2))
BUILD(build_softshrink, wick_softshrink(in[0], 0.5))
BUILD(build_hardshrink, wick_hardshrink(in[0], 0.5))
BUILD(build_tanhshrink, wick_tanhshrink(in[0]))
BUILD(build_nan_to_num, wick_nan_to_num(in[0], 1, 2, -3))
BUILD(build_glu, wick_glu(in[0], -1))
BUILD(build_logit, wick_logit(in[0], 0.1))
BUILD(build_addcmul, wick_addcmul(in[0], in[1], in[2], 0.5))
BUILD(build_addcdiv, wick_addcdiv(in[0], in[1], in[2], 0.5))
BUILD(build_isclose, wick_isclose(in[0], in[1], 1e-2, 1e-3))

TEST(functions_with_numbers_agree) {
    static const named_case cases[] = {
        {"clip", build_clip},
        {"clip.odd", build_clip},
        {"clip.low", build_clip_low},
        {"clip.low.odd", build_clip_low},
        {"threshold", build_threshold},
        {"threshold.odd", build_threshold},
        {"leaky_relu", build_leaky_relu},
        {"leaky_relu.odd", build_leaky_relu},
        {"elu", build_elu},
        {"elu.odd", build_elu},
        {"celu", build_celu},
        {"celu.odd", build_celu},
        {"softplus_beta", build_softplus_beta},
        {"softplus_beta.odd", build_softplus_beta},
        {"softshrink", build_softshrink},
        {"softshrink.odd", build_softshrink},
        {"hardshrink", build_hardshrink},
        {"hardshrink.odd", build_hardshrink},
        {"tanhshrink", build_tanhshrink},
        {"tanhshrink.odd", build_tanhshrink},
        {"nan_to_num", build_nan_to_num},
        {"nan_to_num.odd", build_nan_to_num},
        {"glu", build_glu},
        {"logit", build_logit},
        {"addcmul", build_addcmul},
        {"addcdiv", build_addcdiv},
        {"isclose", build_isclose},
        {"clip.int", build_clip_int},
    };
    check_all(cases, WICK_COUNTOF(cases));
}

/* Bounds that are no whole numbers make floats of integers; what a narrow dtype cannot hold is no bound. */
TEST(clip_of_integers_keeps_them_where_it_can) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_arange(ctx, WICK_I8, -4, 1, 9), *y = wick_clip(x, -2.5, 3.5), *z = wick_clip(x, -1000, 2),
                *w = wick_clip(x, -INFINITY, INFINITY);
    CHECK_INT(wick_tensor_dtype(y), WICK_F32);
    CHECK_INT(wick_tensor_dtype(z), WICK_I8);
    float fy[9];
    int8_t iz[9], iw[9];
    REQUIRE(wick_read(y, fy, sizeof fy) == WICK_OK && wick_read(z, iz, sizeof iz) == WICK_OK &&
            wick_read(w, iw, sizeof iw) == WICK_OK);
    for (int i = 0; i < 9; i++) {
        CHECK_MSG((double)fy[i] == fmin(fmax(i - 4, -2.5), 3.5), "%d: %g", i, (double)fy[i]);
        CHECK_INT(iz[i], WICK_MIN(i - 4, 2));
        CHECK_INT(iw[i], i - 4);
    }
    wick_context_free(&ctx);
}

TEST(integers_stay_exact_as_powers_and_where_they_are_rounded) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const int64_t a[] = {3, -3, 7, 2, 10, 0, 0, 1, -1, -1, 5, 1000003},
                  b[] = {39, 3, 0, 62, 18, 0, 5, -4, -3, -4, -1, 3};
    const int64_t want[] = {4052555153018976267, -27, 1, (int64_t)1 << 62, 1000000000000000000, 1, 0, 1, -1, 1, 0,
                            1000009000027000027};
    const int64_t dims[] = {WICK_COUNTOF(a)}, large = ((int64_t)1 << 62) + 1;
    int64_t got[WICK_COUNTOF(a)];
    wick_tensor *y = wick_pow(wick_from(ctx, WICK_I64, 1, dims, a), wick_from(ctx, WICK_I64, 1, dims, b));
    REQUIRE(wick_tensor_dtype(y) == WICK_I64 && wick_read(y, got, sizeof got) == WICK_OK);
    for (size_t i = 0; i < WICK_COUNTOF(a); i++) CHECK_INT(got[i], want[i]);
    wick_tensor *whole = wick_from(ctx, WICK_I64, WICK_SCALAR, &large),
                *rounded[] = {wick_floor(whole), wick_ceil(whole), wick_round(whole), wick_trunc(whole)};
    for (int i = 0; i < 4; i++) {
        REQUIRE(wick_tensor_dtype(rounded[i]) == WICK_I64 && wick_read(rounded[i], got, sizeof *got) == WICK_OK);
        CHECK_INT(got[0], large);
    }
    wick_context_free(&ctx);
}

/* Gradients at the edges of a domain: what PyTorch 2.13 gives. */
TEST(gradients_at_zero_and_of_large_halves_are_numbers) {
    static const struct {
        wick_tensor *(*op)(wick_tensor *a, wick_tensor *b);
        double a, b, da, db;
    } cases[] = {{wick_pow, 0, 0, 0, 0},
                 {wick_pow, 0, 2, 0, 0},
                 {wick_pow, 0, 1, 1, 0},
                 {wick_pow, -2, 3, 12, NAN},
                 {wick_atan2, 0, 0, 0, 0},
                 {wick_atan2, 3e-200, 4e-200, 1.6e199, -1.2e199},
                 {wick_xlogy, 0, 2, 0.69314718055994531, 0},
                 {wick_xlogy, 0, 0, 0, NAN},
                 {wick_xlogy, 0, -1, 0, 0}};
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        wick_tensor *in[2] = {wick_from(ctx, WICK_F64, WICK_SCALAR, &cases[i].a),
                              wick_from(ctx, WICK_F64, WICK_SCALAR, &cases[i].b)},
                    *g[2];
        double got[2];
        wick_grad(cases[i].op(in[0], in[1]), 2, in, g);
        REQUIRE(wick_eval(ctx, 2, g, NULL) == WICK_OK && wick_item(g[0], &got[0]) == WICK_OK &&
                wick_item(g[1], &got[1]) == WICK_OK);
        for (int k = 0; k < 2; k++) {
            const double want = k ? cases[i].db : cases[i].da;
            CHECK_MSG(want != want ? got[k] != got[k] : fabs(got[k] - want) <= 1e-14 * fabs(want),
                      "case %zu, input %d: %g, not %g", i, k, got[k], want);
        }
    }
    wick_tensor *x = wick_full(ctx, WICK_F16, WICK_DIMS(1), 300), *g;
    double slope = 0;
    wick_grad(wick_sum(wick_gelu_tanh(x), WICK_ALL_AXES, false), 1, &x, &g);
    CHECK(wick_item(g, &slope) == WICK_OK && slope == 1);
    wick_context_free(&ctx);
}

TEST(wrong_numbers_poison_with_their_op_and_value) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const char *text = "";
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 5));
    const struct {
        wick_tensor *bad;
        const char *has;
    } rows_[] = {{wick_celu(x, 0), "celu: alpha is 0"},
                 {wick_softplus_beta(x, 0), "beta is 0"},
                 {wick_softshrink(x, -1), "lambda is -1"},
                 {wick_glu(x, 1), "glu: axis 1 has 5 elements"},
                 {wick_glu(x, 2), "glu: axis 2"},
                 {wick_clip(x, NAN, 1), "clip: a bound is NaN"},
                 {wick_bitwise_and(x, x), "bitwise_and"},
                 {wick_left_shift(x, wick_cast(x, WICK_I32)), "not defined for f32"},
                 {wick_clamp(x, wick_zeros(ctx, WICK_F32, WICK_DIMS(4)), x), "shapes do not broadcast"},
                 {wick_nextafter(wick_cast(x, WICK_BF16), wick_cast(x, WICK_BF16)), "not defined for bf16"}};
    for (size_t i = 0; i < WICK_COUNTOF(rows_); i++) {
        CHECK_MSG(wick_tensor_error(rows_[i].bad, &text) != WICK_OK, "row %zu is taken", i);
        CHECK_STR_HAS(text, rows_[i].has);
        if (i < 6) CHECK_STR_HAS(text, "test_elementwise.c:");
    }
    CHECK(wick_clip(NULL, 0, 1) == NULL && wick_leaky_relu(NULL, 0.1) == NULL && wick_glu(NULL, 0) == NULL);
    CHECK(wick_tensor_error(wick_clamp(x, NULL, x), &text) == WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
