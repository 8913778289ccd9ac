/* Distances, cosines, covariances, and small functions beside them, against PyTorch's (golden/distance.safetensors,
 * made by golden/make_distance.py); the random functions against what they promise. */
#define GOLDEN_FILE  "distance.safetensors"
#define GOLDEN_FLOOR 4
#include "ops/goldens.h"
#include "wick/wick.h"

BUILD(cosine_last, wick_cosine_similarity(in[0], in[1], -1, 1e-8))
BUILD(cosine_1, wick_cosine_similarity(in[0], in[1], 1, 1e-8))
BUILD(cosine_zero, wick_cosine_similarity(in[0], in[1], 1, 0.5))
BUILD(pairwise, wick_pairwise_distance(in[0], in[1], 2, 1e-6, false))
BUILD(pairwise_1, wick_pairwise_distance(in[0], in[1], 1, 0, true))
BUILD(pairwise_inf, wick_pairwise_distance(in[0], in[1], INFINITY, 1e-6, false))
BUILD(cdist_1, wick_cdist(in[0], in[1], 1))
BUILD(cdist, wick_cdist(in[0], in[1], 2))
BUILD(cdist_3, wick_cdist(in[0], in[1], 3))
BUILD(cdist_inf, wick_cdist(in[0], in[1], INFINITY))
BUILD(cross, wick_cross(in[0], in[1], -1))
BUILD(cross_0, wick_cross(in[0], in[1], 0))
BUILD(cov, wick_cov(in[0], 1))
BUILD(cov_0, wick_cov(in[0], 0))
BUILD(corrcoef, wick_corrcoef(in[0]))
BUILD(diff, wick_diff(in[0], 1, -1))
BUILD(diff_0, wick_diff(in[0], 1, 0))
BUILD(diff_2, wick_diff(in[0], 2, 0))
BUILD(diff_none, wick_diff(in[0], 9, 1))
BUILD(sinc, wick_sinc(in[0]))
BUILD(heaviside, wick_heaviside(in[0], 0.5))
BUILD(softmin, wick_softmin(in[0], 0))

static const named_case cases[] = {
    {"cosine.last", cosine_last},
    {"cosine.1", cosine_1},
    {"cosine.zero", cosine_zero},
    {"cosine.empty", cosine_1},
    {"pairwise", pairwise},
    {"pairwise.1", pairwise_1},
    {"pairwise.inf", pairwise_inf},
    {"cdist.1.0", cdist_1},
    {"cdist.2.0", cdist},
    {"cdist.3.0", cdist_3},
    {"cdist.inf", cdist_inf},
    {"cdist.batch", cdist},
    {"cdist.self", cdist},
    {"cdist.empty", cdist},
    {"cross", cross},
    {"cross.0", cross_0},
    {"cov", cov},
    {"cov.vector", cov},
    {"cov.0", cov_0},
    {"corrcoef", corrcoef},
    {"diff", diff},
    {"diff.2", diff_2},
    {"diff.none", diff_none},
    {"diff.bool", diff},
    {"diff.integers", diff_0},
    {"sinc", sinc},
    {"heaviside", heaviside},
    {"softmin", softmin},
};

TEST(values_and_gradients_are_pytorchs) { check_all(cases, WICK_COUNTOF(cases)); }
TEST(every_golden_was_compared) { check_all_compared(); }

TEST(half_types_are_rounded_once) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *a = wick_cast(wick_random_normal(ctx, WICK_F32, WICK_DIMS(6, 100)), WICK_BF16),
                *b = wick_cast(wick_random_normal(ctx, WICK_F32, WICK_DIMS(6, 100)), WICK_BF16);
    wick_tensor *wide_a = wick_cast(a, WICK_F32), *wide_b = wick_cast(b, WICK_F32);
    wick_tensor *pairs[][2] = {
        {wick_cosine_similarity(a, b, 1, 1e-8), wick_cosine_similarity(wide_a, wide_b, 1, 1e-8)},
        {wick_pairwise_distance(a, b, 2, 1e-6, false), wick_pairwise_distance(wide_a, wide_b, 2, 1e-6, false)},
        {wick_cdist(a, b, 2), wick_cdist(wide_a, wide_b, 2)},
        {wick_cov(a, 1), wick_cov(wide_a, 1)},
        {wick_corrcoef(a), wick_corrcoef(wide_a)},
    };
    for (size_t i = 0; i < WICK_COUNTOF(pairs); i++) {
        double differ = 1;
        CHECK(wick_tensor_dtype(pairs[i][0]) == WICK_BF16);
        CHECK_MSG(
            wick_item(wick_count_nonzero(wick_ne(pairs[i][0], wick_cast(pairs[i][1], WICK_BF16)), WICK_ALL_AXES, false),
                      &differ) == WICK_OK &&
                differ == 0,
            "pair %d", (int)i);
    }
    wick_context_free(&ctx);
}

TEST(what_is_no_dtype_is_of_no_kind) {
    static const int none[] = {-1, WICK_DTYPE_COUNT, 99, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < WICK_COUNTOF(none); i++)
        CHECK(!wick_dtype_is_float(none[i]) && !wick_dtype_is_integer(none[i]));
}

static double number(wick_tensor *x) {
    double value = NAN;
    return wick_item(x, &value) == WICK_OK ? value : NAN;
}
static double mean(wick_tensor *x) { return number(wick_mean(wick_cast(x, WICK_F64), WICK_ALL_AXES, false)); }

TEST(dropouts_keep_what_they_promise) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    /* Whole channels, the others scaled. */
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(200, 50, 3, 2)), *y = wick_dropout_channels(x, 0.3);
    wick_tensor *least = wick_min(y, WICK_AXES(2, 3), false), *most = wick_max(y, WICK_AXES(2, 3), false);
    CHECK(number(wick_count_nonzero(wick_ne(least, most), WICK_ALL_AXES, false)) == 0);
    CHECK(fabs(number(wick_max(y, WICK_ALL_AXES, false)) - 1 / 0.7) < 1e-6 &&
          number(wick_min(y, WICK_ALL_AXES, false)) == 0);
    CHECK(fabs(mean(y) - 1) < 0.03);
    CHECK(wick_dropout_channels(x, 0) == x && wick_alpha_dropout(x, 0) == x);
    /* Mean 0 and variance 1 stay. */
    wick_tensor *n = wick_random_normal(ctx, WICK_F32, WICK_DIMS(400000)), *z = wick_alpha_dropout(n, 0.2);
    CHECK(fabs(mean(z)) < 0.01);
    CHECK(fabs(mean(wick_square(z)) - 1) < 0.02);
    wick_context_free(&ctx);
}

TEST(gumbel_softmax_draws_by_the_logits_and_passes_gradients) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static const double chance[4] = {0.1, 0.2, 0.3, 0.4};
    double logs[4];
    for (int i = 0; i < 4; i++) logs[i] = log(chance[i]);
    wick_tensor *row = wick_from(ctx, WICK_F64, WICK_DIMS(4, 1), logs), *logits = wick_expand(row, WICK_DIMS(4, 50000)),
                *hard = wick_gumbel_softmax(logits, 0.7, true, 0);
    for (int i = 0; i < 4; i++)
        CHECK_MSG(fabs(mean(wick_slice(hard, 0, i, i + 1, 1)) - chance[i]) < 0.01, "class %d", i);
    CHECK(number(wick_count_nonzero(wick_ne(wick_sum(hard, WICK_AXES(0), false), wick_constant(ctx, WICK_F64, 1)),
                                    WICK_ALL_AXES, false)) == 0);
    wick_tensor *soft = wick_gumbel_softmax(row, 2, false, 0);
    CHECK(fabs(number(wick_sum(soft, WICK_ALL_AXES, false)) - 1) < 1e-12);
    /* The hard one has the soft one's gradient: that of a softmax, which sums to 0 and isn't 0. */
    wick_tensor *w = wick_from(ctx, WICK_F64, WICK_DIMS(4, 1), chance), *g;
    wick_grad(wick_sum(wick_mul(wick_gumbel_softmax(row, 1, true, 0), w), WICK_ALL_AXES, false), 1, &row, &g);
    CHECK(fabs(number(wick_sum(g, WICK_ALL_AXES, false))) < 1e-12 &&
          number(wick_max(wick_abs(g), WICK_ALL_AXES, false)) > 1e-6);
    CHECK(wick_tensor_dtype(wick_gumbel_softmax(wick_cast(row, WICK_F16), 1, true, 0)) == WICK_F16);
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_is_refused_by_name) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *a = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 4)), *b = wick_ones(ctx, WICK_F32, WICK_DIMS(3, 5)),
                *i = wick_ones(ctx, WICK_I32, WICK_DIMS(2, 4));
    const refusal refused[] = {
        {wick_cosine_similarity(a, b, 0, 0), "cosine_similarity: f32[2,4] and f32[3,5] do not broadcast"},
        {wick_cosine_similarity(a, a, 2, 0), "cosine_similarity: axis 2 of 2-d"},
        {wick_cosine_similarity(i, i, 0, 0), "cosine_similarity: takes floats, not i32"},
        {wick_cdist(a, b, 2), "cdist: needs [..., n, d] and [..., m, d], not f32[2,4] and f32[3,5]"},
        {wick_cdist(wick_reshape(a, WICK_DIMS(8)), b, 2), "cdist: needs"},
        {wick_cross(a, a, 1), "cross: axis 1 of f32[2,4] has not 3"},
        {wick_cov(i, 1), "cov: takes floats"},
        {wick_corrcoef(wick_ones(ctx, WICK_F32, WICK_DIMS(2, 2, 2))), "cov: needs [variables, observations]"},
        {wick_diff(a, -1, 0), "diff: -1 times"},
        {wick_diff(a, 1, 2), "diff: axis 2 of a 2-d"},
        {wick_dropout_channels(i, 0.5), "dropout_channels: of i32"},
        {wick_dropout_channels(wick_reshape(a, WICK_DIMS(8)), 0.5), "needs [N, C, ...]"},
        {wick_alpha_dropout(a, 1), "alpha_dropout: probability 1"},
        {wick_gumbel_softmax(a, 0, false, 0), "a temperature of 0"},
        {wick_gumbel_softmax(a, 1, false, 3), "gumbel_softmax: axis 3"},
        {wick_gumbel_softmax(i, 1, false, 0), "needs floats"},
    };
    check_refusals(refused, WICK_COUNTOF(refused));
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
