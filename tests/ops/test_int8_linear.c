/* Products with weights of 8 bits that stay such: against sums in f64 on every tier, against products of f32 weights,
 * and what plans hold of them. */
#include "base/cpu.h"
#include "tensor/tensors.h"
#include "wick/wick.h"

static const float *floats(wick_tensor *x) {
    const void *data;
    return wick_data(x, &data) == WICK_OK ? data : NULL;
}

typedef struct weights {
    int64_t n, k, block, blocks;
    bool natural; /* u8 */
    uint8_t *q, *zeros;
    float *scales, *bias;
} weights;
static weights make_weights(int64_t n, int64_t k, int64_t block, bool natural) {
    weights w = {.n = n, .k = k, .block = block, .blocks = (k + block - 1) / block, .natural = natural};
    const int64_t bytes = n * w.blocks * block;
    w.q = malloc((size_t)bytes + 1), w.zeros = malloc((size_t)(n * w.blocks) + 1);
    w.scales = malloc((size_t)(n * w.blocks + 1) * sizeof(float)), w.bias = malloc((size_t)(n + 1) * sizeof(float));
    for (int64_t i = 0; i < bytes; i++) w.q[i] = (uint8_t)test_rand(); /* beyond k too */
    for (int64_t i = 0; i < n * w.blocks; i++) {
        w.zeros[i] = (uint8_t)test_rand();
        w.scales[i] = (float)test_rand_real(-1, 1) * ldexpf(1, test_rand_int(-8, 2));
    }
    for (int64_t i = 0; i < n; i++) w.bias[i] = (float)test_rand_real(-1, 1);
    return w;
}
static void free_weights(weights *w) { free(w->q), free(w->zeros), free(w->scales), free(w->bias); }
static wick_dtype dtype_of(const weights *w) { return w->natural ? WICK_U8 : WICK_I8; }
static wick_tensor *q_of(wick_context *ctx, const weights *w) {
    return wick_from(ctx, dtype_of(w), WICK_DIMS(w->n, w->blocks, w->block), w->q);
}
static wick_tensor *scales_of(wick_context *ctx, const weights *w) {
    return wick_from(ctx, WICK_F32, WICK_DIMS(w->n, w->blocks), w->scales);
}
static wick_tensor *zeros_of(wick_context *ctx, const weights *w) {
    return wick_from(ctx, dtype_of(w), WICK_DIMS(w->n, w->blocks), w->zeros);
}
static int number(const weights *w, const uint8_t *at) { return w->natural ? *at : (int8_t)*at; }
static int steps(const weights *w, bool zeros, int64_t j, int64_t p) {
    const int zero = zeros ? number(w, w->zeros + j * w->blocks + p / w->block) : w->natural ? 128 : 0;
    return number(w, w->q + j * w->blocks * w->block + p) - zero;
}
static double weight(const weights *w, bool zeros, int64_t j, int64_t p) {
    return (double)steps(w, zeros, j, p) * (double)w->scales[j * w->blocks + p / w->block];
}
/* w in f32, [n, k], as dequantising rounds it. */
static wick_tensor *whole_of(wick_context *ctx, const weights *w, bool zeros) {
    float *whole = malloc((size_t)(w->n * w->k + 1) * sizeof *whole);
    for (int64_t i = 0; i < w->n * w->k; i++)
        whole[i] = (float)steps(w, zeros, i / w->k, i % w->k) * w->scales[i / w->k * w->blocks + i % w->k / w->block];
    wick_tensor *t = wick_from(ctx, WICK_F32, WICK_DIMS(w->n, w->k), whole);
    free(whole);
    return t;
}

static const int64_t sizes[][3] = {/* n, k, block */
                                   {1, 1, 1},     {7, 5, 5},      {33, 16, 16},   {5, 31, 16},     {65, 100, 32},
                                   {16, 128, 20}, {3, 255, 255},  {17, 257, 7},   {40, 515, 515},  {3, 1100, 1100},
                                   {34, 1600, 3}, {150, 90, 128}, {64, 600, 600}, {129, 1030, 530}};

TEST(products_are_within_their_bound_of_sums_in_f64_on_every_tier) {
    static const int64_t rows[] = {1, 2, 3, 4, 5, 15, 64};
    const wick_tier before = wick_tier_current();
    double worst = 0;
    long cases = 0;
    for (int t = 0; t <= (int)wick_tier_best(); t++) {
        wick_tier_force((wick_tier)t);
        wick_context *ctx = context();
        for (size_t r = 0; r < WICK_COUNTOF(rows); r++)
            for (size_t s = 0; s < WICK_COUNTOF(sizes); s++)
                for (int kind = 0; kind < 8; kind++) {
                    if ((r + s + (size_t)kind) % 3) continue;
                    const int64_t m = rows[r], n = sizes[s][0], k = sizes[s][1];
                    const bool zeros = kind & 1, biased = kind & 2;
                    weights w = make_weights(n, k, sizes[s][2], kind & 4);
                    float *x = malloc((size_t)(m * k) * sizeof *x);
                    for (int64_t i = 0; i < m * k; i++) x[i] = (float)test_rand_real(-2, 2);
                    wick_scope *scope = wick_scope_open(ctx);
                    const float *got =
                        floats(wick_int8_linear(wick_from(ctx, WICK_F32, WICK_DIMS(m, k), x), q_of(ctx, &w),
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
                            CHECK_MSG(off <= bound, "%s, %d x %d x %d in blocks of %d: [%d, %d] is %g, not %g",
                                      wick_tier_name((wick_tier)t), (int)m, (int)n, (int)k, (int)w.block, (int)i,
                                      (int)j, (double)got[i * n + j], sum);
                        }
                    cases++;
                    wick_scope_close(&scope);
                    free(x), free_weights(&w);
                }
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
    CHECK(worst > 0 && cases > 0);
    test_count("products of weights of 8 bits against f64", cases);
}

TEST(many_rows_have_the_bits_of_products_of_f32_weights) {
    const wick_tier before = wick_tier_current();
    for (int t = WICK_TIER_BASE; t <= (int)wick_tier_best(); t++) {
        wick_tier_force((wick_tier)t);
        wick_context *ctx = context();
        for (size_t s = 0; s < WICK_COUNTOF(sizes); s++)
            for (int kind = 0; kind < 4; kind++) {
                weights w = make_weights(sizes[s][0], sizes[s][1], sizes[s][2], kind & 2);
                const bool zeros = kind & 1;
                wick_tensor *x = wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 9, w.k)),
                            *bias = wick_from(ctx, WICK_F32, WICK_DIMS(w.n), w.bias),
                            *have = wick_int8_linear(x, q_of(ctx, &w), scales_of(ctx, &w),
                                                     zeros ? zeros_of(ctx, &w) : NULL, bias);
                double differ = -1;
                CHECK_OK(ctx,
                         wick_item(wick_count_nonzero(wick_ne(have, wick_linear(x, whole_of(ctx, &w, zeros), bias)),
                                                      WICK_ALL_AXES, false),
                                   &differ));
                CHECK_MSG(differ == 0, "%s, %d x %d: %g differ", wick_tier_name((wick_tier)t), (int)w.n, (int)w.k,
                          differ);
                free_weights(&w);
            }
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
}

/* The order of sums of wick/quantize.h in plain C, one rounding a multiply-add or two. */
static float in_order(const weights *w, bool zeros, const float *x, int64_t j, bool fused) {
    float total = 0;
    for (int64_t g = 0; g < w->blocks; g++) {
        const int64_t end = WICK_MIN(w->k, (g + 1) * w->block);
        for (int64_t k0 = g * w->block; k0 < end; k0 += 512) {
            float sum = 0;
            for (int64_t p = k0; p < WICK_MIN(end, k0 + 512); p++) {
                const float u = (float)steps(w, zeros, j, p);
                sum = fused ? fmaf(x[p], u, sum) : x[p] * u + sum;
            }
            const float scale = w->scales[j * w->blocks + g];
            total = fused ? fmaf(sum, scale, total) : sum * scale + total;
        }
    }
    return total;
}
TEST(a_few_rows_are_summed_in_one_order_on_every_tier) {
    const wick_tier before = wick_tier_current();
    for (int t = 0; t <= (int)wick_tier_best(); t++) {
        wick_tier_force((wick_tier)t);
        wick_context *ctx = context();
#if defined(__aarch64__)
        const bool fused = t >= WICK_TIER_BASE;
#else
        const bool fused = t >= WICK_TIER_AVX2;
#endif
        for (size_t s = 0; s < WICK_COUNTOF(sizes); s++)
            for (int m = 1; m <= 4; m++) {
                weights w = make_weights(sizes[s][0], sizes[s][1], sizes[s][2], s % 2);
                const bool zeros = m % 2;
                float *x = malloc((size_t)(m * w.k) * sizeof *x);
                for (int64_t i = 0; i < m * w.k; i++) x[i] = (float)test_rand_real(-2, 2);
                const float *got =
                    floats(wick_int8_linear(wick_from(ctx, WICK_F32, WICK_DIMS(m, w.k), x), q_of(ctx, &w),
                                            scales_of(ctx, &w), zeros ? zeros_of(ctx, &w) : NULL, NULL));
                REQUIRE(got != NULL);
                for (int64_t i = 0; i < m * w.n; i++) {
                    const float want = in_order(&w, zeros, x + i / w.n * w.k, i % w.n, fused);
                    CHECK_MSG(got[i] == want, "%s, %d rows of %d x %d: [%d] is %a, not %a",
                              wick_tier_name((wick_tier)t), m, (int)w.n, (int)w.k, (int)i, (double)got[i],
                              (double)want);
                }
                free(x), free_weights(&w);
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
            weights w = make_weights(1003, 1056, r == 1 ? 32 : 1056, false);
            float *x = malloc((size_t)(rows[r] * w.k) * sizeof *x);
            for (int64_t i = 0; i < rows[r] * w.k; i++) x[i] = (float)test_rand_real(-1, 1);
            const float *got = floats(wick_int8_linear(wick_from(ctx, WICK_F32, WICK_DIMS(rows[r], w.k), x),
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
        weights w = make_weights(20, 77, 16, true);
        for (int m = 1; m <= 9; m += 4)
            for (int kind = 0; kind < 3; kind++) {
                float *x = calloc((size_t)(m * w.k), sizeof *x);
                x[(m - 1) * w.k + 76] = kind == 0 ? NAN : kind == 1 ? INFINITY : -INFINITY;
                x[(m - 1) * w.k + 3] = 1;
                const float *got = floats(wick_int8_linear(wick_from(ctx, WICK_F32, WICK_DIMS(m, w.k), x),
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
    wick_tensor *bias = wick_full(ctx, WICK_F32, WICK_DIMS(3), 2);
    for (int m = 0; m < 7; m += 2) {
        const float *got = floats(wick_int8_linear(wick_zeros(ctx, WICK_F32, WICK_DIMS(m, 0)),
                                                   wick_zeros(ctx, WICK_I8, WICK_DIMS(3, 0, 16)),
                                                   wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 0)), NULL, bias));
        CHECK_MSG(got || m == 0, "%s", wick_context_error(ctx));
        for (int i = 0; i < 3 * m; i++) CHECK(got[i] == 2);
    }
    wick_tensor *y =
        wick_int8_linear(wick_zeros(ctx, WICK_F32, WICK_DIMS(5, 20)), wick_zeros(ctx, WICK_U8, WICK_DIMS(0, 2, 10)),
                         wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 2)), NULL, NULL);
    CHECK_OK(ctx, wick_eval(ctx, 1, &y, NULL));
    CHECK_INT(wick_tensor_dim(y, 1), 0);
    wick_context_free(&ctx);
}

TEST(gradients_are_those_of_the_product_in_f32) {
    wick_context *ctx = context();
    for (int kind = 0; kind < 4; kind++) {
        weights w = make_weights(24, 90, kind & 1 ? 32 : 90, kind & 2);
        wick_tensor *x = wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 5, 90)),
                    *bias = wick_random_normal(ctx, WICK_F32, WICK_DIMS(24)),
                    *g = wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 5, 24));
        wick_tensor *wrt[] = {x, bias}, *have[2], *want[2], *zeros = kind ? zeros_of(ctx, &w) : NULL;
        wick_grad(wick_sum(wick_mul(wick_int8_linear(x, q_of(ctx, &w), scales_of(ctx, &w), zeros, bias), g),
                           WICK_ALL_AXES, false),
                  2, wrt, have);
        wick_grad(wick_sum(wick_mul(wick_linear(x, whole_of(ctx, &w, zeros), bias), g), WICK_ALL_AXES, false), 2, wrt,
                  want);
        for (int i = 0; i < 2; i++) {
            double off = -1, size = 0;
            CHECK_OK(ctx, wick_item(wick_max(wick_abs(wick_sub(have[i], want[i])), WICK_ALL_AXES, false), &off));
            CHECK_OK(ctx, wick_item(wick_max(wick_abs(want[i]), WICK_ALL_AXES, false), &size));
            CHECK_MSG(off <= 1e-6 * size && size > 0, "gradient %d is off by %g", i, off);
        }
        free_weights(&w);
    }
    wick_context_free(&ctx);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    wick_tensor **w = user;
    out[0] = wick_int8_linear(in[0], w[0], w[1], NULL, NULL);
    return WICK_OK;
}
TEST(plans_hold_a_byte_for_each_weight) {
    static const int64_t rows[] = {1, 4, 512}, blocks[] = {1024, 32};
    for (size_t r = 0; r < 2 * WICK_COUNTOF(rows); r++) {
        wick_context *ctx = context();
        const int64_t block = blocks[r % 2], m = rows[r / 2];
        weights w = make_weights(1000, 1024, block, false);
        wick_tensor *user[] = {q_of(ctx, &w), scales_of(ctx, &w)};
        wick_plan *plan = NULL;
        CHECK_OK(ctx, wick_compile(ctx, record, user, 1, &(wick_spec){.dtype = WICK_F32, .rank = 2, .dims = {m, 1024}},
                                   1, NULL, &plan));
        REQUIRE(plan != NULL);
        wick_plan_info info = wick_plan_get_info(plan);
        const double file = 1000 * 1024 + 4.0 * (double)(1000 * w.blocks);
        CHECK_MSG((double)info.packed_bytes <= 1.1 * file && info.packed_bytes >= 1000 * 1024,
                  "%d rows: %zu bytes packed, %g in the file", (int)m, info.packed_bytes, file);
        wick_plan_free(&plan);
        free_weights(&w);
        wick_context_free(&ctx);
    }
}

/* Products of dequantised weights, as networks are quantised; of w [n, k] of 8 bits with `block` numbers a scale. */
typedef struct shape {
    const char *name;
    bool kept;      /* in 8 bits by plans */
    bool by_column; /* w [k, n], whose scales are those of axis 1 */
    bool one, natural, zeros, bias, along_k;
    int64_t block; /* 0: a scale for each row, or one */
} shape;
static const shape shapes[] = {{"rows", .kept = true},
                               {"rows, bias", .kept = true, .bias = true},
                               {"columns, zeros", .kept = true, .by_column = true, .zeros = true},
                               {"one scale", .kept = true, .one = true, .bias = true},
                               {"u8 without zeros", .kept = true, .natural = true, .by_column = true},
                               {"u8, one zero", .kept = true, .natural = true, .one = true, .zeros = true},
                               {"blocks", .kept = true, .block = 25, .bias = true},
                               {"blocks, the last one short", .kept = true, .block = 32, .zeros = true},
                               {"scales along k", .kept = false, .by_column = true, .along_k = true}};
typedef struct recorded {
    const shape *s;
    wick_tensor *q, *scale, *zero, *bias;
} recorded;
enum { SHAPE_N = 37, SHAPE_K = 100 };
static wick_status record_shape(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const recorded *r = user;
    const shape *s = r->s;
    (void)ctx;
    wick_tensor *w = wick_dequantize(r->q, r->scale, r->zero, s->by_column && !s->along_k && !s->one);
    if (s->block) {
        const int64_t blocks = (SHAPE_K + s->block - 1) / s->block;
        w = wick_reshape(w, WICK_DIMS(SHAPE_N, blocks * s->block));
        if (SHAPE_K % s->block) w = wick_slice(w, 1, 0, SHAPE_K, 1);
    }
    wick_tensor *y = wick_matmul(in[0], s->by_column ? w : wick_transpose(w, 0, 1));
    out[0] = r->bias ? wick_add(y, r->bias) : y;
    return WICK_OK;
}
static recorded make_shape(wick_context *ctx, const shape *s) {
    const int64_t blocks = s->block ? (SHAPE_K + s->block - 1) / s->block : 1,
                  rows = s->by_column ? SHAPE_K : SHAPE_N * blocks,
                  columns = s->by_column ? SHAPE_N
                            : s->block   ? s->block
                                         : SHAPE_K,
                  scales = s->one                        ? 1
                           : s->by_column && !s->along_k ? SHAPE_N
                                                         : rows;
    float *scale = malloc((size_t)scales * sizeof *scale);
    uint8_t *q = malloc((size_t)(rows * columns)), *zero = malloc((size_t)scales);
    for (int64_t i = 0; i < rows * columns; i++) q[i] = (uint8_t)test_rand();
    for (int64_t i = 0; i < scales; i++)
        scale[i] = (float)test_rand_real(0.001, 0.1), zero[i] = (uint8_t)test_rand_int(1, 100);
    const wick_dtype dtype = s->natural ? WICK_U8 : WICK_I8;
    const int rank = !s->one;
    const recorded r = {s, wick_from(ctx, dtype, WICK_DIMS(rows, columns), q),
                        wick_from(ctx, WICK_F32, rank, &scales, scale),
                        s->zeros ? wick_from(ctx, dtype, rank, &scales, zero) : NULL,
                        s->bias ? wick_random_normal(ctx, WICK_F32, WICK_DIMS(SHAPE_N)) : NULL};
    free(scale), free(q), free(zero);
    return r;
}
/* What the plan gives for x [m, SHAPE_K], and its text. */
static void run_shape(wick_context *ctx, const recorded *r, int64_t m, const float *x, bool passes, float *y,
                      char text[8192]) {
    wick_plan *plan = NULL;
    wick_workspace *run = NULL;
    const wick_compile_options options = {.no_passes = !passes};
    const wick_spec in = {.dtype = WICK_F32, .rank = 2, .dims = {m, SHAPE_K}};
    CHECK_OK(ctx, wick_compile(ctx, record_shape, (void *)(uintptr_t)r, 1, &in, 1, &options, &plan));
    REQUIRE(plan != NULL);
    REQUIRE(wick_workspace_new(plan, &run) == WICK_OK);
    for (int i = 0; i < 2; i++) CHECK(wick_run(run, (const void *[]){x}, (void *[]){y}) == WICK_OK);
    wick_plan_format(plan, text, 8192);
    wick_workspace_free(&run);
    wick_plan_free(&plan);
}
TEST(dequantised_weights_of_products_stay_in_8_bits) {
    static const int64_t rows[] = {1, 3, 9};
    float x[9 * SHAPE_K], have[9 * SHAPE_N], want[9 * SHAPE_N];
    char text[8192];
    for (size_t s = 0; s < WICK_COUNTOF(shapes); s++)
        for (size_t r = 0; r < WICK_COUNTOF(rows); r++) {
            wick_context *ctx = context();
            const recorded made = make_shape(ctx, &shapes[s]);
            for (int64_t i = 0; i < rows[r] * SHAPE_K; i++) x[i] = (float)test_rand_real(-1, 1);
            run_shape(ctx, &made, rows[r], x, false, want, text);
            CHECK_MSG(!strstr(text, "linear8"), "%s without passes:\n%s", shapes[s].name, text);
            run_shape(ctx, &made, rows[r], x, true, have, text);
            CHECK_MSG((strstr(text, "linear8") != NULL) == shapes[s].kept, "%s:\n%s", shapes[s].name, text);
            CHECK_MSG(!shapes[s].kept || !strstr(text, "elementwise"), "%s leaves arithmetic:\n%s", shapes[s].name,
                      text);
            for (int64_t i = 0; i < rows[r] * SHAPE_N; i++) /* sums of SHAPE_K numbers up to 25.5 */
                CHECK_MSG(fabsf(have[i] - want[i]) <= 1e-5f * SHAPE_K, "%s: [%d] is %g, not %g", shapes[s].name, (int)i,
                          (double)have[i], (double)want[i]);
            wick_context_free(&ctx);
        }
}

static wick_status record_of_input(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_linear(in[0], wick_dequantize(in[1], in[2], NULL, 0), NULL);
    return WICK_OK;
}
TEST(weights_that_change_in_each_run_are_dequantised) {
    wick_context *ctx = context();
    wick_plan *plan = NULL;
    char text[8192];
    const wick_spec in[] = {{"x", WICK_F32, 2, {2, 30}}, {"q", WICK_I8, 2, {20, 30}}, {"scale", WICK_F32, 1, {20}}};
    CHECK_OK(ctx, wick_compile(ctx, record_of_input, NULL, 3, in, 1, NULL, &plan));
    REQUIRE(plan != NULL);
    wick_plan_format(plan, text, sizeof text);
    CHECK_MSG(!strstr(text, "linear8"), "%s", text);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

static wick_status record_pairs(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *s = wick_constant(ctx, WICK_F32, 0.5), *bytes = wick_ones(ctx, WICK_I8, WICK_DIMS(3, 2)),
                *alone = wick_quantize(wick_exp(in[0]), s, NULL, 0, WICK_I8),
                *read = wick_quantize(in[0], s, NULL, 0, WICK_I8), /* by a product too */
                    *result = wick_quantize(wick_neg(in[0]), s, NULL, 0, WICK_I8);
    out[0] = wick_tanh(wick_dequantize(alone, s, NULL, 0));
    out[1] = wick_tanh(wick_dequantize(read, s, NULL, 0));
    out[2] = wick_int8_matmul(read, bytes, NULL);
    out[3] = result;
    out[4] = wick_abs(wick_dequantize(result, s, NULL, 0));
    out[5] = wick_matmul(in[0], wick_dequantize(bytes, s, NULL, 0));
    return WICK_OK;
}
TEST(plans_say_what_of_a_quantised_network_is_in_floats) {
    wick_context *ctx = context();
    wick_plan *plan = NULL;
    CHECK_OK(ctx, wick_compile(ctx, record_pairs, NULL, 1, &(wick_spec){.dtype = WICK_F32, .rank = 2, .dims = {4, 3}},
                               6, NULL, &plan));
    REQUIRE(plan != NULL);
    const wick_plan_info info = wick_plan_get_info(plan);
    CHECK_INT(info.integer_products, 2);
    CHECK_INT(info.float_quantise, 3);
    CHECK_INT(info.float_dequantise, 3);
    CHECK_INT(info.orphan_pairs, 1);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

TEST(errors_name_what_is_wrong) {
    wick_context *ctx = context();
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 20)), *q = wick_zeros(ctx, WICK_I8, WICK_DIMS(3, 2, 10)),
                *s = wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 2));
    const struct {
        wick_tensor *made;
        const char *says;
    } bad[] = {
        {wick_int8_linear(wick_zeros(ctx, WICK_I32, WICK_DIMS(2, 20)), q, s, NULL, NULL), "takes f32 and f64"},
        {wick_int8_linear(x, wick_zeros(ctx, WICK_I16, WICK_DIMS(3, 2, 10)), s, NULL, NULL), "i8 or u8"},
        {wick_int8_linear(x, q, s, wick_zeros(ctx, WICK_U8, WICK_DIMS(3, 2)), NULL), "zero points likewise"},
        {wick_int8_linear(x, wick_zeros(ctx, WICK_I8, WICK_DIMS(3, 20)), s, NULL, NULL), "[n, blocks"},
        {wick_int8_linear(x, wick_zeros(ctx, WICK_I8, WICK_DIMS(3, 2, 9)), s, NULL, NULL), "rows of 20 numbers"},
        {wick_int8_linear(x, wick_zeros(ctx, WICK_I8, WICK_DIMS(3, 2, 0)), s, NULL, NULL), "rows of 20 numbers"},
        {wick_int8_linear(x, q, wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 1)), NULL, NULL), "a scale for each block"},
        {wick_int8_linear(x, q, s, wick_zeros(ctx, WICK_I8, WICK_DIMS(2, 2)), NULL), "a zero point for each block"},
        {wick_int8_linear(x, q, s, NULL, wick_zeros(ctx, WICK_F32, WICK_DIMS(2))), "the bias is not f32[3]"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(bad); i++) {
        const char *text = "";
        CHECK_MSG(wick_tensor_error(bad[i].made, &text) != WICK_OK, "case %d is taken", (int)i);
        CHECK_STR_HAS(text, bad[i].says);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
