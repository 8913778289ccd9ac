/* Weights of 4 bits in blocks: products with them against sums in f64 on every tier, and what quantising to them
 * promises. */
#include "base/cpu.h"
#include "tensor/tensors.h"
#include "wick/wick.h"

static const float *floats(wick_tensor *x) {
    const void *data;
    return wick_data(x, &data) == WICK_OK ? data : NULL;
}
static const uint8_t *raw(wick_tensor *x) {
    const void *data;
    return wick_data(x, &data) == WICK_OK ? data : NULL;
}
static int number(const uint8_t *bytes, int64_t i) { return bytes[i / 2] >> (i % 2 * 4) & 15; }

typedef struct weights {
    int64_t n, k, block, blocks;
    uint8_t *q, *zeros;
    float *scales, *bias;
} weights;
static weights make_weights(int64_t n, int64_t k, int64_t block) {
    weights w = {.n = n, .k = k, .block = block, .blocks = (k + block - 1) / block};
    const int64_t bytes = n * w.blocks * block / 2, zero_bytes = n * ((w.blocks + 1) / 2);
    w.q = malloc((size_t)bytes + 1), w.zeros = malloc((size_t)zero_bytes + 1);
    w.scales = malloc((size_t)(n * w.blocks + 1) * sizeof(float)), w.bias = malloc((size_t)(n + 1) * sizeof(float));
    for (int64_t i = 0; i < bytes; i++) w.q[i] = (uint8_t)test_rand(); /* beyond k too */
    for (int64_t i = 0; i < zero_bytes; i++) w.zeros[i] = (uint8_t)test_rand();
    for (int64_t i = 0; i < n * w.blocks; i++)
        w.scales[i] = (float)test_rand_real(-1, 1) * ldexpf(1, test_rand_int(-8, 2));
    for (int64_t i = 0; i < n; i++) w.bias[i] = (float)test_rand_real(-1, 1);
    return w;
}
static void free_weights(weights *w) { free(w->q), free(w->zeros), free(w->scales), free(w->bias); }
static wick_tensor *q_of(wick_context *ctx, const weights *w) {
    return wick_from(ctx, WICK_U8, WICK_DIMS(w->n, w->blocks, w->block / 2), w->q);
}
static wick_tensor *scales_of(wick_context *ctx, const weights *w) {
    return wick_from(ctx, WICK_F32, WICK_DIMS(w->n, w->blocks), w->scales);
}
static wick_tensor *zeros_of(wick_context *ctx, const weights *w) {
    return wick_from(ctx, WICK_U8, WICK_DIMS(w->n, (w->blocks + 1) / 2), w->zeros);
}
static double weight(const weights *w, bool zeros, int64_t j, int64_t p) {
    const int64_t g = p / w->block;
    const int zero = zeros ? number(w->zeros + j * ((w->blocks + 1) / 2), g) : 8;
    return (double)(number(w->q + j * w->blocks * w->block / 2, p) - zero) * (double)w->scales[j * w->blocks + g];
}

TEST(products_are_within_their_bound_of_sums_in_f64_on_every_tier) {
    static const int64_t rows[] = {1, 2, 3, 4, 5, 15, 64}, blocks[] = {16, 32, 64, 128, 256, 1024};
    static const int64_t sizes[][2] = {{1, 1},   {7, 5},    {33, 16},  {5, 31},   {65, 100}, {16, 128},
                                       {3, 255}, {17, 257}, {40, 515}, {3, 1100}, {34, 1600}};
    const wick_tier before = wick_tier_current();
    double worst = 0;
    long cases = 0;
    for (int t = 0; t <= (int)wick_tier_best(); t++) {
        wick_tier_force((wick_tier)t);
        wick_context *ctx = context();
        for (size_t r = 0; r < WICK_COUNTOF(rows); r++)
            for (size_t s = 0; s < WICK_COUNTOF(sizes); s++)
                for (size_t b = 0; b < WICK_COUNTOF(blocks); b++) {
                    if (TEST_SANITIZED && (r + s + b) % 3) continue;
                    const int64_t m = rows[r], n = sizes[s][0], k = sizes[s][1];
                    const bool zeros = (r + s + b) % 2, biased = (r + s) % 2;
                    weights w = make_weights(n, k, blocks[b]);
                    float *x = malloc((size_t)(m * k) * sizeof *x);
                    for (int64_t i = 0; i < m * k; i++) x[i] = (float)test_rand_real(-2, 2);
                    wick_scope *scope = wick_scope_open(ctx);
                    const float *got =
                        floats(wick_int4_linear(wick_from(ctx, WICK_F32, WICK_DIMS(m, k), x), q_of(ctx, &w),
                                                scales_of(ctx, &w), zeros ? zeros_of(ctx, &w) : NULL,
                                                biased ? wick_from(ctx, WICK_F32, WICK_DIMS(n), w.bias) : NULL));
                    CHECK_MSG(got != NULL, "%s", wick_context_error(ctx));
                    for (int64_t i = 0; got && i < m; i++)
                        for (int64_t j = 0; j < n; j++) {
                            double sum = biased ? (double)w.bias[j] : 0, size = fabs(sum);
                            for (int64_t p = 0; p < k; p++) {
                                const double v = (double)x[i * k + p] * weight(&w, zeros, j, p);
                                sum += v, size += fabs(v);
                            }
                            const double off = fabs((double)got[i * n + j] - sum),
                                         bound = (double)(k + 4) * 0x1p-24 * size;
                            if (bound > 0) worst = fmax(worst, off / bound);
                            CHECK_MSG(off <= bound,
                                      "%s, %d x %d x %d in blocks of %d, zeros %d: [%d, %d] is %g, not %g",
                                      wick_tier_name((wick_tier)t), (int)m, (int)n, (int)k, (int)blocks[b], zeros,
                                      (int)i, (int)j, (double)got[i * n + j], sum);
                        }
                    cases++;
                    wick_scope_close(&scope);
                    free(x), free_weights(&w);
                }
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
    CHECK(worst > 0 && cases > 0);
    test_count("products of weights of 4 bits against f64", cases);
}

TEST(what_is_dequantised_is_exact_and_many_rows_have_the_bits_of_its_products) {
    static const int64_t blocks[] = {16, 32, 128};
    const wick_tier before = wick_tier_current();
    for (int t = WICK_TIER_BASE; t <= (int)wick_tier_best(); t++) {
        wick_tier_force((wick_tier)t);
        wick_context *ctx = context();
        for (int kind = 0; kind < 12; kind++) {
            weights w = make_weights(70, kind & 1 ? 1333 : 300, blocks[kind / 2 % 3]);
            wick_tensor *q = q_of(ctx, &w), *scales = scales_of(ctx, &w), *zeros = kind >= 6 ? zeros_of(ctx, &w) : NULL,
                        *whole = wick_dequantize_blocks(q, scales, zeros, w.k);
            const float *have = floats(whole);
            REQUIRE(have != NULL);
            for (int64_t i = 0; i < w.n * w.k; i++) CHECK(have[i] == (float)weight(&w, kind >= 6, i / w.k, i % w.k));
            wick_tensor *x = wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 9, w.k));
            double differ = -1;
            CHECK_OK(ctx, wick_item(wick_count_nonzero(wick_ne(wick_int4_linear(x, q, scales, zeros, NULL),
                                                               wick_linear(x, whole, NULL)),
                                                       WICK_ALL_AXES, false),
                                    &differ));
            CHECK_MSG(differ == 0, "%s, kind %d: %g differ", wick_tier_name((wick_tier)t), kind, differ);
            free_weights(&w);
        }
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
}

TEST(bits_do_not_depend_on_threads) {
    static const int64_t rows[] = {1, 3, 40};
    for (size_t r = 0; r < WICK_COUNTOF(rows); r++) {
        float *first = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            wick_context *ctx;
            REQUIRE(wick_context_new(&(wick_context_options){.threads = threads, .seed = 7}, &ctx) == WICK_OK);
            test_seed = 99;
            weights w = make_weights(1000, 1056, 32);
            float *x = malloc((size_t)(rows[r] * w.k) * sizeof *x);
            for (int64_t i = 0; i < rows[r] * w.k; i++) x[i] = (float)test_rand_real(-1, 1);
            const float *got = floats(wick_int4_linear(wick_from(ctx, WICK_F32, WICK_DIMS(rows[r], w.k), x),
                                                       q_of(ctx, &w), scales_of(ctx, &w), zeros_of(ctx, &w), NULL));
            REQUIRE(got != NULL);
            const size_t bytes = (size_t)(rows[r] * w.n) * sizeof *got;
            if (!first) first = memcpy(malloc(bytes), got, bytes);
            CHECK_MSG(memcmp(first, got, bytes) == 0, "%d threads, %d rows", threads, (int)rows[r]);
            free(x), free_weights(&w);
            wick_context_free(&ctx);
        }
        free(first);
    }
}

TEST(nan_and_inf_go_where_they_go_in_f32) {
    const wick_tier before = wick_tier_current();
    for (int t = 0; t <= (int)wick_tier_best(); t++) {
        wick_tier_force((wick_tier)t);
        wick_context *ctx = context();
        weights w = make_weights(20, 77, 16);
        for (int m = 1; m <= 9; m += 4)
            for (int kind = 0; kind < 3; kind++) {
                float *x = calloc((size_t)(m * w.k), sizeof *x);
                x[(m - 1) * w.k + 76] = kind == 0 ? NAN : kind == 1 ? INFINITY : -INFINITY;
                x[(m - 1) * w.k + 3] = 1;
                const float *got = floats(wick_int4_linear(wick_from(ctx, WICK_F32, WICK_DIMS(m, w.k), x),
                                                           q_of(ctx, &w), scales_of(ctx, &w), zeros_of(ctx, &w), NULL));
                REQUIRE(got != NULL);
                for (int64_t i = 0; i < m * w.n; i++) {
                    double sum = 0;
                    for (int64_t p = 0; p < w.k; p++)
                        sum += (double)x[i / w.n * w.k + p] * weight(&w, true, i % w.n, p);
                    CHECK_MSG(isnan(sum)   ? isnan(got[i])
                              : isinf(sum) ? (double)got[i] == sum
                                           : isfinite(got[i]),
                              "%s: [%d] is %g, not %g", wick_tier_name((wick_tier)t), (int)i, (double)got[i], sum);
                }
                free(x);
            }
        free_weights(&w);
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
}

TEST(nothing_of_nothing_is_nothing) {
    wick_context *ctx = context();
    wick_tensor *none = wick_zeros(ctx, WICK_U8, WICK_DIMS(3, 0, 16)),
                *scales = wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 0)), *bias = wick_full(ctx, WICK_F32, WICK_DIMS(3), 2);
    for (int m = 0; m < 7; m += 2) {
        wick_tensor *y = wick_int4_linear(wick_zeros(ctx, WICK_F32, WICK_DIMS(m, 0)), none, scales, NULL, bias);
        const float *got = floats(y);
        CHECK_MSG(got || m == 0, "%s", wick_context_error(ctx));
        for (int i = 0; i < 3 * m; i++) CHECK(got[i] == 2);
    }
    wick_tensor *y =
        wick_int4_linear(wick_zeros(ctx, WICK_F32, WICK_DIMS(5, 20)), wick_zeros(ctx, WICK_U8, WICK_DIMS(0, 2, 8)),
                         wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 2)), NULL, NULL);
    CHECK_OK(ctx, wick_eval(ctx, 1, &y, NULL));
    CHECK_INT(wick_tensor_dim(y, 1), 0);
    wick_context_free(&ctx);
}

/* The formulas of wick/quantize.h in plain C. */
TEST(quantising_gives_what_its_formulas_say_and_stays_within_its_bound) {
    static const int64_t sizes[][3] = {{3, 64, 16}, {5, 100, 32}, {1, 1, 16}, {4, 1000, 256},
                                       {2, 33, 32}, {0, 40, 16},  {2, 0, 16}};
    wick_context *ctx = context();
    for (size_t s = 0; s < WICK_COUNTOF(sizes); s++)
        for (int asymmetric = 0; asymmetric < 2; asymmetric++) {
            const int64_t n = sizes[s][0], k = sizes[s][1], block = sizes[s][2], blocks = (k + block - 1) / block;
            float *w = calloc((size_t)(n * k + 1), sizeof *w);
            for (int64_t i = 0; i < n * k; i++)
                w[i] = i / block % 5 == 3 ? 0 : (float)test_rand_real(i % 7 ? -1 : -3, i / block % 4 ? 2 : -0.5);
            wick_tensor *scales, *zeros = NULL,
                                 *q = wick_quantize_blocks(wick_from(ctx, WICK_F32, WICK_DIMS(n, k), w), block, &scales,
                                                           asymmetric ? &zeros : NULL);
            const uint8_t *have = raw(q), *points = zeros ? raw(zeros) : NULL;
            const float *have_scales = floats(scales), *back = floats(wick_dequantize_blocks(q, scales, zeros, k));
            CHECK_MSG(n * k == 0 || (have && have_scales && back), "%s", wick_context_error(ctx));
            for (int64_t g = 0; g < n * blocks; g++) {
                const int64_t row = g / blocks, first = g % blocks * block;
                float low = 0, high = 0;
                for (int64_t p = first; p < k && p < first + block; p++)
                    low = fminf(low, w[row * k + p]), high = fmaxf(high, w[row * k + p]);
                const float scale = asymmetric ? (high - low) / 15 : (high >= -low ? high : low) / -8,
                            by = scale == 0 ? 1 : scale;
                const float point = asymmetric ? nearbyintf(-low / by) : 8;
                CHECK(have_scales[g] == scale);
                if (asymmetric) CHECK_INT(number(points + row * ((blocks + 1) / 2), g % blocks), (int)point);
                for (int64_t p = first; p < k && p < first + block; p++) {
                    const int want = (int)fmaxf(fminf(nearbyintf(w[row * k + p] / by) + point, 15), 0);
                    CHECK_INT(number(have + g * block / 2, p - first), want);
                    const float bound = fabsf(scale) * (asymmetric || w[row * k + p] / by < 7.5f ? 0.50001f : 1.0f);
                    CHECK_MSG(fabsf(back[row * k + p] - w[row * k + p]) <= bound, "%g became %g, scale %g",
                              (double)w[row * k + p], (double)back[row * k + p], (double)scale);
                }
            }
            free(w);
        }
    wick_context_free(&ctx);
}

TEST(gradients_are_those_of_the_product_in_f32) {
    wick_context *ctx = context();
    weights w = make_weights(24, 90, 32);
    wick_tensor *x = wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 5, 90)),
                *bias = wick_random_normal(ctx, WICK_F32, WICK_DIMS(24)),
                *g = wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 5, 24));
    wick_tensor *q = q_of(ctx, &w), *scales = scales_of(ctx, &w), *zeros = zeros_of(ctx, &w), *wrt[] = {x, bias},
                *have[2], *want[2];
    wick_grad(wick_sum(wick_mul(wick_int4_linear(x, q, scales, zeros, bias), g), WICK_ALL_AXES, false), 2, wrt, have);
    wick_grad(
        wick_sum(wick_mul(wick_linear(x, wick_dequantize_blocks(q, scales, zeros, 90), bias), g), WICK_ALL_AXES, false),
        2, wrt, want);
    for (int i = 0; i < 2; i++) {
        double off = -1, size = 0;
        CHECK_OK(ctx, wick_item(wick_max(wick_abs(wick_sub(have[i], want[i])), WICK_ALL_AXES, false), &off));
        CHECK_OK(ctx, wick_item(wick_max(wick_abs(want[i]), WICK_ALL_AXES, false), &size));
        CHECK_MSG(off <= 1e-6 * size && size > 0, "gradient %d is off by %g", i, off);
    }
    free_weights(&w);
    wick_context_free(&ctx);
}

static wick_status record_linear(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_int4_linear(in[0], in[1], in[2], NULL, NULL);
    return WICK_OK;
}
TEST(plans_have_no_weights_in_f32) {
    wick_context *ctx = context();
    static const int64_t rows[] = {1, 4, 512};
    for (size_t r = 0; r < WICK_COUNTOF(rows); r++) {
        wick_plan *plan;
        const wick_spec in[] = {{"x", WICK_F32, 2, {rows[r], 2048}},
                                {"q", WICK_U8, 3, {1024, 64, 16}},
                                {"scales", WICK_F32, 2, {1024, 64}}};
        REQUIRE(wick_compile(ctx, record_linear, NULL, 3, in, 1, NULL, &plan) == WICK_OK);
        const wick_plan_info info = wick_plan_get_info(plan);
        CHECK_MSG(info.arena_bytes == 0 && info.scratch_bytes <= 2 * 65536,
                  "%d rows: %zu bytes of intermediates, %zu of scratch", (int)rows[r], info.arena_bytes,
                  info.scratch_bytes);
        wick_plan_free(&plan);
    }
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_is_refused) {
    wick_context *ctx = context();
    weights w = make_weights(6, 90, 32);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 90)), *q = q_of(ctx, &w), *scales = scales_of(ctx, &w),
                *zeros = zeros_of(ctx, &w), *other;
    const struct {
        wick_tensor *y;
        const char *part;
    } cases[] = {
        {wick_int4_linear(wick_cast(x, WICK_I32), q, scales, NULL, NULL), "takes f32 and f64"},
        {wick_int4_linear(x, wick_cast(q, WICK_I8), scales, NULL, NULL), "must be u8, scales f32"},
        {wick_int4_linear(x, q, scales, wick_cast(zeros, WICK_F32), NULL), "must be u8, scales f32"},
        {wick_int4_linear(wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 97)), q, scales, NULL, NULL),
         "3 blocks of 32 are not those of rows of 97"},
        {wick_int4_linear(x, wick_zeros(ctx, WICK_U8, WICK_DIMS(6, 3, 24)), scales, NULL, NULL),
         "a power of 2 from 8 on"},
        {wick_int4_linear(x, q, wick_zeros(ctx, WICK_F32, WICK_DIMS(6, 2)), NULL, NULL), "a scale for each block"},
        {wick_int4_linear(x, q, scales, wick_zeros(ctx, WICK_U8, WICK_DIMS(6, 3)), NULL), "rows of 2 bytes"},
        {wick_int4_linear(x, q, scales, zeros, wick_zeros(ctx, WICK_F32, WICK_DIMS(5))), "the bias is not f32[6]"},
        {wick_int4_linear(wick_zeros(ctx, WICK_F32, WICK_SCALAR), q, scales, NULL, NULL), "needs rows"},
        {wick_dequantize_blocks(q, scales, NULL, 64), "rows of 64 numbers"},
        {wick_dequantize_blocks(q, scales, NULL, -1), "rows of -1 numbers"},
        {wick_quantize_blocks(x, 24, &other, NULL), "blocks of 24"},
        {wick_quantize_blocks(q, 32, &other, NULL), "takes a matrix of f32"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        const char *text = "";
        CHECK_MSG(wick_tensor_error(cases[i].y, &text) != WICK_OK, "case %d is taken", (int)i);
        CHECK_STR_HAS(text, cases[i].part);
    }
    free_weights(&w);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
