/* Distributions: moments, chi-square, exact promises; with seeds that are fixed, so that a failure is one. */
#include "ops/refusals.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

#define COUNTOF(a) (sizeof(a) / sizeof *(a))
enum { N = 200000 };

static double *values_of(wick_tensor *x) { /* as f64; freed by the caller */
    const int64_t n = wick_tensor_count(x);
    double *v = calloc((size_t)n + 1, sizeof *v);
    wick_status status = wick_read(wick_cast(x, WICK_F64), v, (size_t)n * sizeof *v);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(wick_tensor_context(x)));
    return v;
}
static void sort(double *v, int64_t n) {
    for (int64_t gap = n / 2; gap > 0; gap /= 2) /* Shell's */
        for (int64_t i = gap; i < n; i++) {
            const double x = v[i];
            int64_t k = i;
            for (; k >= gap && v[k - gap] > x; k -= gap) v[k] = v[k - gap];
            v[k] = x;
        }
}
/* Kolmogorov and Smirnov: the largest distance of N sorted values from a distribution, times sqrt(N): above 1.95 once
 * in 1000. */
static double distance(const double *v, int64_t n, double (*cdf)(double x, double a), double a) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        const double f = cdf(v[i], a);
        most = fmax(most, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
    }
    return most * sqrt((double)n);
}
static void check_distribution(wick_tensor *x, double mean, double variance, double (*cdf)(double x, double a),
                               double a, const char *name) {
    double *v = values_of(x), sum = 0, squares = 0;
    const int64_t n = wick_tensor_count(x);
    for (int64_t i = 0; i < n; i++) sum += v[i];
    for (int64_t i = 0; i < n; i++) squares += (v[i] - mean) * (v[i] - mean);
    const double off = fabs(sum / (double)n - mean) / sqrt(variance / (double)n);
    CHECK_MSG(off < 4, "%s: the mean is %g, %g deviations from %g", name, sum / (double)n, off, mean);
    CHECK_MSG(fabs(squares / (double)n / variance - 1) < 0.03, "%s: the variance is %g, not %g", name,
              squares / (double)n, variance);
    if (cdf) {
        sort(v, n);
        const double far = distance(v, n, cdf, a);
        CHECK_MSG(far < 1.95, "%s: %g from its distribution", name, far);
    }
    free(v);
}

static double normal_part(double x) { return 0.5 * erfc(-x / sqrt(2)); }
static double exponential_cdf(double x, double rate) { return 1 - exp(-rate * x); }
/* Regularised lower incomplete gamma function, by its series (x < a + 40 or so). */
static double gamma_cdf(double x, double a) {
    if (x <= 0) return 0;
    double term = 1 / a, sum = term;
    for (int n = 1; n < 2000 && term > sum * 1e-17; n++) sum += term *= x / (a + n);
    return sum * exp(a * log(x) - x - lgamma(a));
}
static double low_, high_; /* of truncated_cdf */
static double truncated_cdf(double x, double unused) {
    (void)unused;
    /* exact in a tail */
    if (low_ > 0) return (normal_part(-low_) - normal_part(-x)) / (normal_part(-low_) - normal_part(-high_));
    return (normal_part(x) - normal_part(low_)) / (normal_part(high_) - normal_part(low_));
}

TEST(exponential_and_gamma_numbers_are_so_distributed) {
    wick_context *ctx = new_context(.threads = 2, .seed = 5);
    REQUIRE(ctx != NULL);
    for (int k = 0; k < 2; k++) {
        const wick_dtype dtype = k ? WICK_F64 : WICK_F32;
        check_distribution(wick_random_exponential(ctx, dtype, WICK_DIMS(N), 2.5), 0.4, 0.16, exponential_cdf, 2.5,
                           "exponential");
        static const double shapes[] = {0.1, 0.5, 0.99, 1, 1.7, 4, 30};
        for (size_t i = 0; i < COUNTOF(shapes); i++) {
            char name[32];
            snprintf(name, sizeof name, "gamma of %g", shapes[i]);
            check_distribution(wick_random_gamma(wick_full(ctx, dtype, WICK_DIMS(N), shapes[i])), shapes[i], shapes[i],
                               gamma_cdf, shapes[i], name);
        }
    }
    double *v = values_of(
        wick_random_gamma(wick_mul(wick_arange(ctx, WICK_F64, -1, 1, 3), wick_constant(ctx, WICK_F64, 1e301))));
    CHECK(isnan(v[0]) && v[1] == 0 && v[2] == 1e301);
    free(v);
    wick_context_free(&ctx);
}

/* The mean is alpha, so the gradient's is 1; each is that of kernels' own test at its number. */
TEST(gamma_numbers_move_with_alpha) {
    wick_context *ctx = new_context(.threads = 2, .seed = 5);
    REQUIRE(ctx != NULL);
    static const double shapes[] = {0.3, 1, 2.5, 30, 2000};
    for (size_t i = 0; i < COUNTOF(shapes); i++)
        for (int k = 0; k < 2; k++) {
            wick_tensor *alpha = wick_full(ctx, k ? WICK_F64 : WICK_F32, WICK_DIMS(20000), shapes[i]),
                        *y = wick_random_gamma(alpha), *grad;
            wick_grad(wick_sum(wick_mul(y, wick_like(y, 3)), WICK_ALL_AXES, false), 1, &alpha, &grad);
            wick_tensor *off = wick_max(wick_abs(wick_sub(grad, wick_mul(wick_gamma_slope(alpha, y), wick_like(y, 3)))),
                                        WICK_ALL_AXES, false);
            wick_tensor *mean = wick_mean(grad, WICK_ALL_AXES, false),
                        *spread = wick_std(grad, WICK_ALL_AXES, 1, false);
            double value[3];
            CHECK(wick_eval(ctx, 3, (wick_tensor *[]){off, mean, spread}, NULL) == WICK_OK &&
                  wick_item(off, &value[0]) == WICK_OK && wick_item(mean, &value[1]) == WICK_OK &&
                  wick_item(spread, &value[2]) == WICK_OK);
            CHECK_MSG(value[0] == 0, "gamma of %g: the gradient is off by %g", shapes[i], value[0]);
            CHECK_MSG(fabs(value[1] - 3) < 4 * value[2] / sqrt(20000),
                      "gamma of %g: the gradient's mean is %g, not 3, its deviation %g", shapes[i], value[1], value[2]);
        }
    wick_context_free(&ctx);
}

TEST(truncated_normal_numbers_are_so_distributed_also_in_a_tail) {
    wick_context *ctx = new_context(.threads = 2, .seed = 5);
    REQUIRE(ctx != NULL);
    static const double bounds[][2] = {{-2, 2}, {-0.3, 0.2}, {-1, 9},    {0.5, 0.7}, {2, 40},
                                       {6, 7},  {-40, -5},   {-7, -6.9}, {0, 1},     {-0.1, 30}};
    for (size_t i = 0; i < COUNTOF(bounds); i++) {
        const double mean = 3, deviation = 0.5, a = bounds[i][0], b = bounds[i][1];
        wick_tensor *x = wick_random_truncated_normal(ctx, WICK_F64, WICK_DIMS(N), mean, deviation,
                                                      mean + deviation * a, mean + deviation * b);
        double *v = values_of(x);
        low_ = a, high_ = b;
        for (int64_t k = 0; k < N; k++) {
            CHECK_MSG(v[k] >= mean + deviation * a && v[k] <= mean + deviation * b, "%g is outside of %g, %g", v[k], a,
                      b);
            v[k] = (v[k] - mean) / deviation;
            if (b < 0) v[k] = -v[k];
        }
        if (b < 0) low_ = -b, high_ = -a;
        sort(v, N);
        const double far = distance(v, N, truncated_cdf, 0);
        CHECK_MSG(far < 1.95, "from %g to %g: %g from its distribution", a, b, far);
        free(v);
    }
    double *v = values_of(wick_random_truncated_normal(ctx, WICK_F32, WICK_DIMS(1000), 0, 1, -INFINITY, INFINITY)),
           most = 0;
    for (int k = 0; k < 1000; k++) most = fmax(most, fabs(v[k]));
    CHECK(most > 2 && most < 6);
    free(v);
    v = values_of(wick_random_truncated_normal(ctx, WICK_F32, WICK_DIMS(2), 0, 1, 0.25, 0.25));
    CHECK(v[0] == 0.25 && v[1] == 0.25);
    free(v);
    wick_context_free(&ctx);
}

/* Chi-square of counts against chances; about n - 1 with a deviation of sqrt(2 (n - 1)). */
static double chi_square(const double *v, int64_t draws, const double *chance, int n, double from) {
    double count[64] = {0}, sum = 0;
    for (int64_t i = 0; i < draws; i++) {
        const int at = (int)(v[i] - from);
        CHECK_MSG(at >= 0 && at < n && v[i] == floor(v[i]), "%g", v[i]);
        if (at >= 0 && at < n) count[at]++;
    }
    for (int i = 0; i < n; i++) {
        if (chance[i] == 0) CHECK_MSG(count[i] == 0, "what has no weight was drawn");
        if (chance[i] > 0)
            sum += (count[i] - chance[i] * (double)draws) * (count[i] - chance[i] * (double)draws) /
                   (chance[i] * (double)draws);
    }
    return sum;
}

TEST(bernoulli_integers_and_choices_have_their_chances) {
    wick_context *ctx = new_context(.threads = 2, .seed = 5);
    REQUIRE(ctx != NULL);
    double even[10], *v = values_of(wick_random_integers(ctx, WICK_I32, WICK_DIMS(N), -3, 7)), far;
    for (int i = 0; i < 10; i++) even[i] = 0.1;
    far = chi_square(v, N, even, 10, -3);
    CHECK_MSG(far < 9 + 4 * sqrt(18), "%g", far);
    free(v);
    static const double p[] = {0.3, 0.7};
    for (int k = 0; k < 3; k++) {
        const wick_dtype dtype = (const wick_dtype[]){WICK_F32, WICK_F64, WICK_BF16}[k];
        wick_tensor *drawn = wick_random_bernoulli(wick_full(ctx, dtype, WICK_DIMS(N), 0.7));
        CHECK(wick_tensor_dtype(drawn) == dtype);
        far = chi_square(v = values_of(drawn), N, p, 2, 0);
        CHECK_MSG(k == 2 || far < 1 + 4 * sqrt(2), "%g", far); /* 0.7 is no bf16 */
        free(v);
    }
    v = values_of(wick_random_bernoulli(wick_from(ctx, WICK_F32, WICK_DIMS(5), (const float[]){0, 1, -1, 2, NAN})));
    CHECK(v[0] == 0 && v[1] == 1 && v[2] == 0 && v[3] == 1 && v[4] == 0);
    free(v);
    static const float weights[] = {0, 2, 0.5f, 0, 4, 1.5f, 0};
    double chance[7];
    for (int i = 0; i < 7; i++) chance[i] = (double)weights[i] / 8;
    wick_tensor *w = wick_from(ctx, WICK_F32, WICK_DIMS(7), weights);
    far = chi_square(v = values_of(wick_multinomial(w, N, true)), N, chance, 7, 0);
    CHECK_MSG(far < 3 + 4 * sqrt(6), "with replacement: %g", far);
    free(v);
    const int64_t dims[] = {N, 7};
    far = chi_square(v = values_of(wick_random_categorical(wick_expand(wick_log(w), 2, dims))), N, chance, 7, 0);
    CHECK_MSG(far < 3 + 4 * sqrt(6), "categorical: %g", far);
    free(v);
    wick_context_free(&ctx);
}

TEST(draws_without_replacement_are_distinct_and_follow_one_another) {
    wick_context *ctx = new_context(.threads = 2, .seed = 5);
    REQUIRE(ctx != NULL);
    enum { ROWS = 60000 };
    static const double weights[] = {1, 3, 0, 2, 4};
    wick_tensor *w = wick_from(ctx, WICK_F64, WICK_DIMS(5), weights);
    double *v = values_of(wick_multinomial(wick_expand(w, WICK_DIMS(ROWS, 5)), 3, false)),
           *pairs = calloc(ROWS, sizeof *pairs), chance[25] = {0};
    for (int r = 0; r < ROWS; r++) {
        const double *d = v + 3 * r;
        CHECK_MSG(d[0] != d[1] && d[0] != d[2] && d[1] != d[2], "row %d", r);
        pairs[r] = 5 * d[0] + d[1];
    }
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++)
            if (a != b) chance[5 * a + b] = weights[a] / 10 * weights[b] / (10 - weights[a]);
    const double far = chi_square(pairs, ROWS, chance, 25, 0);
    CHECK_MSG(far < 11 + 4 * sqrt(22), "%g", far);
    free(v), free(pairs);
    v = values_of(wick_multinomial(w, 4, false)); /* all that have a weight */
    sort(v, 4);
    CHECK(v[0] == 0 && v[1] == 1 && v[2] == 3 && v[3] == 4);
    free(v);
    CHECK(wick_eval(ctx, 1, (wick_tensor *[]){wick_multinomial(w, 5, false)}, NULL) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "row 0 has a weight that is negative, NaN or Inf, or too few above 0");
    CHECK(wick_eval(ctx, 1, (wick_tensor *[]){wick_multinomial(wick_neg(w), 1, true)}, NULL) == WICK_ERR_INVALID);
    CHECK(wick_eval(ctx, 1, (wick_tensor *[]){wick_multinomial(wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3)), 1, true)},
                    NULL) == WICK_ERR_INVALID);
    CHECK(wick_eval(ctx, 1, (wick_tensor *[]){wick_multinomial(wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 3)), 1, true)},
                    NULL) == WICK_OK);
    wick_context_free(&ctx);
}

TEST(every_order_is_as_likely_and_a_shuffle_keeps_the_slices) {
    wick_context *ctx = new_context(.threads = 1, .seed = 5);
    REQUIRE(ctx != NULL);
    double orders[24000], even[24];
    for (int i = 0; i < 24; i++) even[i] = 1. / 24;
    for (int k = 0; k < 24000; k++) {
        wick_scope *scope = wick_scope_open(ctx);
        int64_t p[4] = {0}, number = 0;
        CHECK(wick_read(wick_random_permutation(ctx, 4), p, sizeof p) == WICK_OK);
        for (int i = 0; i < 4; i++) { /* Lehmer's code */
            int64_t smaller = 0;
            for (int j = i + 1; j < 4; j++) smaller += p[j] < p[i];
            number = number * (4 - i) + smaller;
        }
        orders[k] = (double)number;
        wick_scope_close(&scope);
    }
    const double far = chi_square(orders, 24000, even, 24, 0);
    CHECK_MSG(far < 23 + 4 * sqrt(46), "%g", far);
    wick_tensor *x = wick_reshape(wick_arange(ctx, WICK_F64, 0, 1, 30), WICK_DIMS(3, 10)),
                *y = wick_random_shuffle(x, 1), *grad;
    wick_grad(wick_sum(wick_square(y), WICK_ALL_AXES, false), 1, &x, &grad);
    double off = 1;
    CHECK(wick_item(wick_max(wick_abs(wick_sub(grad, wick_add(x, x))), WICK_ALL_AXES, false), &off) == WICK_OK);
    CHECK(off == 0);
    double *v = values_of(wick_random_shuffle(x, -1));
    bool moved = false;
    for (int k = 0; k < 10; k++) {
        CHECK(v[10 + k] == v[k] + 10 && v[20 + k] == v[k] + 20);
        moved |= v[k] != k;
    }
    CHECK(moved);
    sort(v, 10);
    for (int k = 0; k < 10; k++) CHECK(v[k] == k);
    free(v);
    CHECK(wick_tensor_count(wick_random_permutation(ctx, 0)) == 0);
    wick_context_free(&ctx);
}

/* A draw that a gradient needs again is the same one; so it is at any number of threads, and eagerly. */
TEST(draws_are_the_same_at_any_number_of_threads_and_when_made_again) {
    enum { KINDS = 7, COUNT = 30000 };
    static double seen[4][KINDS][COUNT];
    for (int way = 0; way < 4; way++) {
        wick_context *ctx = new_context(.threads = way == 1 ? 3 : way == 2 ? 8 : 1, .seed = 5, .eager = way == 3);
        REQUIRE(ctx != NULL);
        wick_tensor *rows = wick_ones(ctx, WICK_F32, WICK_DIMS(COUNT / 10, 10));
        wick_tensor *x[KINDS] = {wick_random_gamma(wick_full(ctx, WICK_F32, WICK_DIMS(COUNT), 0.7)),
                                 wick_random_exponential(ctx, WICK_F32, WICK_DIMS(COUNT), 1),
                                 wick_random_truncated_normal(ctx, WICK_F32, WICK_DIMS(COUNT), 0, 1, 1, 2),
                                 wick_random_integers(ctx, WICK_I64, WICK_DIMS(COUNT), 0, 1 << 20),
                                 wick_multinomial(rows, 10, false),
                                 wick_multinomial(rows, 10, true),
                                 wick_random_permutation(ctx, COUNT)};
        for (int k = 0; k < KINDS; k++) {
            double *v = values_of(x[k]);
            memcpy(seen[way][k], v, sizeof seen[way][k]);
            free(v);
            CHECK_MSG(!memcmp(seen[way][k], seen[0][k], sizeof seen[0][k]), "way %d, kind %d", way, k);
        }
        wick_context_free(&ctx);
    }
    wick_context *ctx = new_context(.threads = 2, .seed = 5);
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(1000)),
                *mask = wick_random_bernoulli(wick_full(ctx, WICK_F32, WICK_DIMS(1000), 0.5)), *grad;
    wick_tensor *y = wick_mul(wick_mul(x, mask), wick_random_gamma(wick_full(ctx, WICK_F32, WICK_DIMS(1000), 2)));
    wick_grad(wick_sum(y, WICK_ALL_AXES, false), 1, &x, &grad);
    double off = 1, sum = 0;
    wick_tensor *differ = wick_max(wick_abs(wick_sub(grad, y)), WICK_ALL_AXES, false),
                *total = wick_sum(y, WICK_ALL_AXES, false);
    CHECK(wick_eval(ctx, 2, (wick_tensor *[]){differ, total}, NULL) == WICK_OK && wick_item(differ, &off) == WICK_OK &&
          wick_item(total, &sum) == WICK_OK);
    CHECK_MSG(off == 0 && sum > 500, "%g, %g", off, sum);
    wick_context_free(&ctx);
}

TEST(what_no_distribution_has_is_refused_by_name) {
    wick_context *ctx = new_context(.threads = 1, .seed = 5);
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3)), *ints = wick_cast(x, WICK_I32);
    const refusal cases[] = {
        {wick_random_bernoulli(ints), "random_bernoulli: chances are floats, not i32"},
        {wick_random_exponential(ctx, WICK_F32, WICK_DIMS(3), 0), "rate of 0"},
        {wick_random_exponential(ctx, WICK_I8, WICK_DIMS(3), 1), "makes floats, not i8"},
        {wick_random_truncated_normal(ctx, WICK_F32, WICK_DIMS(3), 0, 1, 2, 1), "from 2 to 1"},
        {wick_random_truncated_normal(ctx, WICK_F32, WICK_DIMS(3), NAN, 1, 1, 2), "mean nan"},
        {wick_random_integers(ctx, WICK_I32, WICK_DIMS(3), 4, 4), "nothing is from 4 to below 4"},
        {wick_random_integers(ctx, WICK_I32, WICK_DIMS(-3), 4, 9), "random_integers: no tensor has this shape"},
        {wick_random_gamma(ints), "random_gamma: alpha is i32"},
        {wick_random_permutation(ctx, -1), "random_permutation: of -1"},
        {wick_random_shuffle(x, 2), "random_shuffle: axis 2 of a 2-d tensor"},
        {wick_multinomial(x, 4, false), "4 cannot be drawn of 3 without replacement"},
        {wick_multinomial(ints, 1, true), "multinomial: weights are i32"},
        {wick_multinomial(x, -1, true), "-1 draws"},
        {wick_random_categorical(wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 0))), "last axis that isn't empty"},
        {wick_random_integers(ctx, WICK_I64, WICK_DIMS(3), INT64_MIN, INT64_MAX), ""},
        {wick_multinomial(x, 4, true), ""},
    };
    check_refusals(cases, COUNTOF(cases));
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
