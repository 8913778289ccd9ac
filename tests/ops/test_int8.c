/* Products of 8-bit integers against sums in 64 bits, on every tier with and without the CPU's own instructions for
 * them; results that are quantised again against the formula; and the pass that makes them of float ops. */
#include "base/cpu.h"
#include "graph/graphs.h"
#include "wick/wick.h"

/* Bytes of u8 or i8, extremes often. */
static wick_tensor *bytes(wick_context *ctx, wick_dtype d, int rank, const int64_t *dims, int *values) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    uint8_t *raw = calloc((size_t)n + 1, 1);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = test_rand();
        raw[i] = r % 3 == 0 ? (r >> 8 & 1 ? 0x80 : 0x7f) : r % 3 == 1 ? (r >> 8 & 1 ? 0xff : 0) : (uint8_t)(r >> 8);
        values[i] = d == WICK_I8 ? (int8_t)raw[i] : raw[i];
    }
    wick_tensor *t = wick_from(ctx, d, rank, dims, raw);
    free(raw);
    return t;
}
static const void *contents(wick_tensor *x) {
    const void *data;
    return wick_data(x, &data) == WICK_OK ? data : NULL;
}
static wick_tensor *byte(wick_context *ctx, wick_dtype d, int value) { return wick_constant(ctx, d, value); }

typedef struct way {
    wick_tier tier;
    unsigned extensions;
} way;
/* Every tier, with and without the CPU's own instructions for these products: next_way takes one after the other, and
 * in the end what there was before. */
typedef struct ways {
    wick_tier before;
    int at; /* twice the tier, and 1 for the instructions */
    way now;
} ways;
static ways all_ways(void) { return (ways){.before = wick_tier_current()}; }
static bool next_way(ways *w) {
    while (w->at <= 2 * (int)wick_tier_best() + 1) {
        const bool with = w->at % 2;
        w->now = (way){(wick_tier)(w->at++ / 2), with ? ~0u : 0};
        if (with && w->now.tier < WICK_TIER_AVX2) continue;
        wick_tier_force(w->now.tier);
        wick_extensions_mask(w->now.extensions);
        return true;
    }
    wick_tier_force(w->before);
    wick_extensions_mask(~0u);
    return false;
}

TEST(extensions_are_read_from_their_bits) {
    CHECK_INT(wick_extensions_of_cpuid(0, 0), 0);
    CHECK_INT(wick_extensions_of_cpuid(1u << 11, 0), WICK_AVX512_VNNI);
    CHECK_INT(wick_extensions_of_cpuid(~(1u << 11), 1u << 4), WICK_AVX_VNNI);
    CHECK_INT(wick_extensions_of_cpuid(~0u, ~(1u << 4)), WICK_AVX512_VNNI | WICK_AVX512_BF16);
    CHECK_INT(wick_extensions_of_cpuid(0, 1u << 5), WICK_AVX512_BF16);
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (wick_tier_best() == WICK_TIER_AVX512)
        CHECK_INT(wick_extensions() & WICK_AVX512_VNNI, __builtin_cpu_supports("avx512vnni") ? WICK_AVX512_VNNI : 0);
#endif
    wick_extensions_mask(0);
    CHECK_INT(wick_extensions(), 0);
    wick_extensions_mask(~0u);
}

enum { MOST = 160000 };
static int a_values[MOST], b_values[MOST];
static const wick_dtype both[] = {WICK_U8, WICK_I8};

TEST(sums_of_matrix_products_are_exact_for_every_sign_zero_point_and_tier) {
    static const int64_t sizes[][3] = {{1, 1, 1},     {1, 33, 7},    {2, 16, 4}, {13, 32, 12}, {12, 40, 31},
                                       {30, 17, 100}, {5, 100, 515}, {3, 5, 0},  {0, 4, 4},    {40, 70, 64}};
    for (ways w = all_ways(); next_way(&w);) {
        wick_context *ctx = context();
        for (size_t s = 0; s < WICK_COUNTOF(sizes); s++)
            for (int kind = 0; kind < 32; kind++) {
                const int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
                const wick_dtype da = both[kind & 1], db = both[kind >> 1 & 1];
                const bool transposed = kind & 16;
                wick_scope *scope = wick_scope_open(ctx);
                wick_tensor *a = bytes(ctx, da, 2, (int64_t[]){m, k}, a_values),
                            *b = bytes(ctx, db, 2, transposed ? (int64_t[]){n, k} : (int64_t[]){k, n}, b_values);
                int zb[128];
                const int za = kind & 4 ? da == WICK_I8 ? -128 : 255 : 0;
                wick_int8_options o = {.a_zero = kind & 4 ? byte(ctx, da, za) : NULL};
                if (kind & 8) o.b_zero = bytes(ctx, db, 1, &n, zb);
                wick_tensor *c = wick_int8_matmul(a, transposed ? wick_transpose(b, 0, 1) : b, &o);
                const int32_t *got = contents(c);
                CHECK_MSG(got || m * n == 0, "%s", wick_context_error(ctx));
                for (int64_t i = 0; got && i < m; i++)
                    for (int64_t j = 0; j < n; j++) {
                        int64_t sum = 0;
                        for (int64_t p = 0; p < k; p++)
                            sum += (int64_t)(a_values[i * k + p] - za) *
                                   (b_values[transposed ? j * k + p : p * n + j] - (kind & 8 ? zb[j] : 0));
                        CHECK_MSG(got[i * n + j] == sum, "%s %x, %d x %d x %d, kind %d: [%d, %d] is %d, not %lld",
                                  wick_tier_name(w.now.tier), w.now.extensions, (int)m, (int)n, (int)k, kind, (int)i,
                                  (int)j, got[i * n + j], (long long)sum);
                    }
                wick_scope_close(&scope);
            }
        wick_context_free(&ctx);
    }
}

/* The largest tile of any tier is 12 x 32; groups of k are of 2 or 4. */
TEST(sums_of_every_size_up_to_a_tile_and_one_are_exact) {
    for (ways w = all_ways(); next_way(&w);) {
        wick_context *ctx = context();
        for (int64_t m = 1; m <= 13; m++)
            for (int64_t n = 1; n <= 33; n += TEST_SANITIZED ? 3 : 1) {
                const int64_t k = 1 + (m + n) % 9;
                wick_scope *scope = wick_scope_open(ctx);
                wick_tensor *a = bytes(ctx, both[m % 2], 2, (int64_t[]){m, k}, a_values),
                            *b = bytes(ctx, both[n % 2], 2, (int64_t[]){k, n}, b_values);
                const int32_t *got = contents(wick_int8_matmul(a, b, NULL));
                CHECK_MSG(got != NULL, "%s", wick_context_error(ctx));
                for (int64_t i = 0; got && i < m * n; i++) {
                    int64_t sum = 0;
                    for (int64_t p = 0; p < k; p++) sum += (int64_t)a_values[i / n * k + p] * b_values[p * n + i % n];
                    CHECK_MSG(got[i] == sum, "%s %x, %d x %d x %d: [%d, %d] is %d, not %lld",
                              wick_tier_name(w.now.tier), w.now.extensions, (int)m, (int)n, (int)k, (int)(i / n),
                              (int)(i % n), got[i], (long long)sum);
                }
                wick_scope_close(&scope);
            }
        wick_context_free(&ctx);
    }
}

/* Tasks of a few columns that each packs for itself, of products that follow each other. */
TEST(sums_of_batches_are_exact_for_any_number_of_threads) {
    enum { COUNT = 2, M = 61, K = 96, N = 130 };
    const wick_tuning small = {.int8_task_work = 50000, .parallel_flops = 1000};
    for (ways w = all_ways(); next_way(&w);) {
        for (int threads = 1; threads <= 3; threads += 2) {
            wick_context *ctx;
            REQUIRE(wick_context_new(&(wick_context_options){.threads = threads, .tuning = &small}, &ctx) == WICK_OK);
            for (int kind = 0; kind < 8; kind++) {
                const bool one = kind & 4; /* B for all */
                wick_tensor *a = bytes(ctx, both[kind & 1], 3, (int64_t[]){COUNT, M, K}, a_values),
                            *b = bytes(ctx, both[kind >> 1 & 1], one ? 2 : 3,
                                       one ? (int64_t[]){K, N} : (int64_t[]){COUNT, K, N}, b_values);
                const int32_t *got = contents(wick_int8_matmul(a, b, NULL));
                CHECK_MSG(got != NULL, "%s", wick_context_error(ctx));
                for (int64_t i = 0; got && i < COUNT * M * N; i++) {
                    const int *from = b_values + (one ? 0 : i / (M * N) * K * N) + i % N;
                    int64_t sum = 0;
                    for (int64_t p = 0; p < K; p++) sum += (int64_t)a_values[i / N * K + p] * from[p * N];
                    CHECK_MSG(got[i] == sum, "%s %x, %d threads, kind %d: %d is %d, not %lld",
                              wick_tier_name(w.now.tier), w.now.extensions, threads, kind, (int)i, got[i],
                              (long long)sum);
                }
            }
            wick_context_free(&ctx);
        }
    }
}

typedef struct conv_case {
    int64_t x[5], w[5]; /* of rank 4 where the last is 0 */
    wick_conv_options o;
} conv_case;
static wick_tensor *conv_input(wick_context *ctx, wick_dtype d, const int64_t *dims, int *values) {
    return bytes(ctx, d, dims[4] ? 5 : 4, dims, values);
}

/* Against the convolution in f64, whose sums of such numbers are exact, over x whose padding is the zero point. */
static void check_sums(const conv_case *c, int kind, wick_context *ctx, const way *w, int number) {
    const wick_dtype dx = both[kind & 1], dw = both[kind >> 1 & 1];
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *x = conv_input(ctx, dx, c->x, a_values), *k = conv_input(ctx, dw, c->w, b_values);
    int zeros[512];
    wick_int8_options o = {.a_zero = kind & 4 ? byte(ctx, dx, 77) : NULL,
                           .b_zero = kind & 8 ? bytes(ctx, dw, 1, c->w, zeros) : NULL};
    wick_tensor *fx = wick_cast(x, WICK_F64), *fk = wick_cast(k, WICK_F64);
    if (o.a_zero) fx = wick_sub(fx, wick_constant(ctx, WICK_F64, 77));
    if (o.b_zero)
        fk = wick_sub(fk,
                      wick_reshape(wick_cast(o.b_zero, WICK_F64), c->w[4] ? 5 : 4, (int64_t[]){c->w[0], 1, 1, 1, 1}));
    wick_tensor *want = wick_cast(wick_conv(fx, fk, NULL, &c->o), WICK_I32), *got = wick_int8_conv(x, k, &c->o, &o);
    double differ = -1;
    const wick_status status = wick_item(wick_count_nonzero(wick_ne(got, want), WICK_ALL_AXES, false), &differ);
    CHECK_MSG(status == WICK_OK && differ == 0, "%s %x, case %d, kind %d: %g differ (%s)", wick_tier_name(w->tier),
              w->extensions, number, kind, differ, status ? wick_context_error(ctx) : "");
    wick_scope_close(&scope);
}
TEST(sums_of_convolutions_are_exact_for_every_sign_zero_point_and_tier) {
    static const conv_case cases[] = {
        {{1, 3, 7, 9}, {5, 3, 3, 3}, {.pad = {1, 1}}},
        {{2, 16, 8, 8}, {40, 16, 3, 3}, {.pad = {1, 1}, .stride = {2, 1}}},
        {{1, 8, 6, 5}, {33, 8, 1, 1}, {.groups = 1}},
        {{1, 8, 6, 5}, {6, 4, 1, 1}, {.groups = 2}},
        {{2, 6, 9, 9}, {6, 3, 3, 2}, {.groups = 2, .dilation = {2, 3}, .pad = {2, 3}, .pad_end = {-1, 0}}},
        {{1, 4, 4, 4}, {4, 4, 4, 4}, {.groups = 1}},
        {{1, 64, 4, 4}, {64, 64, 3, 3}, {.pad = {1, 1}}},
        /* no padding, runs that are no whole steps */
        {{1, 5, 9, 20}, {7, 5, 2, 3}, {.stride = {1, 2}}},
        /* more padding than a task has outputs */
        {{1, 6, 8, 30}, {40, 6, 3, 5}, {.dilation = {1, 2}, .pad = {1, 9}}},
        {{1, 3, 4, 5, 6}, {9, 3, 2, 3, 2}, {.pad = {1, 0, 1}, .stride = {2, 1, 1}}}, /* planes */
        {{1, 2, 5, 6, 7}, {2, 1, 3, 2, 3}, {.groups = 2, .pad = {1, 1, 1}}},
        /* lines of taps that lie apart */
        {{1, 4, 6, 12, 6}, {6, 4, 2, 3, 2}, {.dilation = {2, 3, 2}, .pad = {1, 3, 0}, .stride = {1, 2, 1}}},
        {{1, 4, 3, 12, 6},
         {4, 1, 2, 3, 3},
         {.groups = 4, .dilation = {1, 4, 1}, .pad = {1, 4, 1}, .stride = {1, 2, 1}}},
        /* each channel on its own: fewer than a vector has and a part of it, or not; more; lines of taps, and one */
        {{1, 70, 8, 9}, {70, 1, 3, 3}, {.groups = 70, .pad = {1, 1}, .stride = {1, 2}}},
        {{1, 4, 5, 6}, {12, 1, 2, 3}, {.groups = 4}},
        {{2, 8, 6, 13}, {8, 1, 3, 3}, {.groups = 8, .pad = {1, 1}}},
        {{1, 4, 6, 11}, {4, 1, 5, 5}, {.groups = 4, .pad = {2, 2}}},
        {{1, 2, 3, 21}, {2, 1, 3, 2}, {.groups = 2, .pad = {1, 1}}},
        {{1, 3, 6, 7}, {3, 1, 3, 3}, {.groups = 3, .dilation = {2, 2}, .pad = {2, 2}}},
        {{1, 24, 9, 10}, {24, 1, 6, 3}, {.groups = 24, .pad = {3, 1}, .stride = {2, 2}}},
        {{1, 20, 1, 40}, {20, 1, 1, 7}, {.groups = 20, .pad = {0, 3}}},
        {{1, 16, 2, 40}, {16, 1, 1, 9}, {.groups = 16, .dilation = {1, 3}, .stride = {1, 2}, .pad = {0, 4}}},
    };
    for (ways w = all_ways(); next_way(&w);) {
        wick_context *ctx = context();
        for (size_t s = 0; s < WICK_COUNTOF(cases); s++)
            for (int kind = 0; kind < 16; kind++) check_sums(&cases[s], kind, ctx, &w.now, (int)s);
        wick_context_free(&ctx);
    }
}

/* Tasks of a few lines, of parts of a line, of some of the columns. */
TEST(sums_of_convolutions_are_exact_however_they_are_cut) {
    static const conv_case cases[] = {
        {{1, 20, 24, 24}, {70, 20, 3, 3}, {.pad = {1, 1}}},
        {{1, 16, 3, 400}, {20, 16, 3, 3}, {.pad = {1, 1}, .stride = {1, 2}}},
        {{2, 40, 10, 30}, {64, 40, 1, 1}, {.groups = 1}},
        {{1, 36, 20, 20}, {36, 1, 3, 3}, {.groups = 36, .pad = {1, 1}}},
        {{1, 8, 4, 700}, {8, 1, 3, 3}, {.groups = 8, .pad = {1, 1}}},
        {{1, 24, 9, 9}, {48, 12, 3, 3}, {.groups = 2, .pad = {1, 1}}},
        {{1, 16, 30, 20}, {32, 16, 3, 3}, {.dilation = {9, 9}, .pad = {9, 9}}},
        {{1, 512, 1, 300}, {512, 1, 1, 3}, {.groups = 512, .pad = {0, 1}}}, /* lines that are too long for a task */
    };
    const wick_tuning small = {.int8_task_work = 50000, .parallel_flops = 1000};
    for (ways w = all_ways(); next_way(&w);) {
        wick_context *ctx;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 3, .tuning = &small}, &ctx) == WICK_OK);
        for (size_t s = 0; s < WICK_COUNTOF(cases); s++)
            for (int kind = 0; kind < 16; kind += TEST_SANITIZED || w.now.tier == WICK_TIER_REF ? 5 : 1)
                check_sums(&cases[s], kind, ctx, &w.now, (int)s);
        wick_context_free(&ctx);
    }
}

/* A compiled product or convolution, whose weights are captured, and whose a comes with its zero point. */
typedef struct kept {
    wick_tensor *w, *zero;
    const wick_conv_options *conv; /* NULL: a product */
    int bytes;                     /* remarks of kernels that go by fours of bytes without VNNI */
} kept;
static wick_status record_kept(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const kept *k = user;
    const wick_int8_options o = {.a_zero = in[1], .b_zero = k->zero};
    (void)ctx;
    out[0] = k->conv ? wick_int8_conv(in[0], k->w, k->conv, &o) : wick_int8_matmul(in[0], k->w, &o);
    return WICK_OK;
}
static void count_bytes(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)pass, (void)node, (void)place;
    ((kept *)user)->bytes += strstr(text, "_avx2_bytes") != NULL;
}

/* Of weights: small ones, whose pairs all fit 16 bits; small ones and at times a pair that is too large, up to twice
 * -128; any. */
enum { SMALL, MIXED, ANY, SIZES };
static void weights_of_size(int size, bool is_signed, int64_t n, uint8_t *to) {
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = test_rand();
        const int value = size == ANY || (size == MIXED && r % 211 == 0)
                              ? (r >> 8 & 3 ? (int)(r >> 16 & 255) - 128 : -128)
                              : (int)(r >> 16 & 127) - 64;
        to[i] = (uint8_t)(is_signed ? value : value + 128);
    }
}

TEST(sums_of_constant_weights_are_exact_whatever_their_size_and_after_they_are_written) {
    static const conv_case cases[] = {
        {{1, 70}, {70, 37}, {.groups = 1}},
        {{6, 64}, {64, 16}, {.groups = 1}},
        {{40, 131}, {131, 40}, {.groups = 1}},
        {{1, 12, 7, 9}, {20, 12, 3, 3}, {.pad = {1, 1}}},
        {{2, 6, 5, 8}, {34, 3, 2, 3}, {.groups = 2, .pad = {1, 2}}},
        {{1, 16, 6, 7}, {16, 1, 3, 3}, {.groups = 16, .pad = {1, 1}}},
    };
    enum { CASES = WICK_COUNTOF(cases), BYTES = 1 << 14 };
    static uint8_t a[BYTES], w[2][BYTES];
    static int32_t got[1 << 14];
    const wick_tuning small = {.int8_task_work = 50000, .parallel_flops = 1000};
    int by_bytes = 0;
    for (ways v = all_ways(); next_way(&v);) {
        wick_context *ctx;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 2, .tuning = &small}, &ctx) == WICK_OK);
        for (int at = 0; at < CASES * SIZES * 2; at += TEST_SANITIZED ? 5 : 1) {
            const conv_case *c = &cases[at % CASES];
            const int size = at / CASES % SIZES;
            const bool conv = c->x[2] > 0;
            const int rank = conv ? 4 : 2;
            const wick_dtype dw = both[at / CASES / SIZES];
            wick_scope *scope = wick_scope_open(ctx);
            int64_t n_a = 1, n_w = 1;
            for (int d = 0; d < rank; d++) n_a *= c->x[d], n_w *= c->w[d];
            for (int64_t i = 0; i < n_a; i++) a[i] = test_rand() % 3 ? 255 : (uint8_t)test_rand();
            weights_of_size(size, dw == WICK_I8, n_w, w[0]);
            weights_of_size(ANY, dw == WICK_I8, n_w, w[1]);
            kept k = {.w = wick_from(ctx, dw, rank, c->w, w[0]),
                      .zero = dw == WICK_U8 ? byte(ctx, dw, 128) : NULL,
                      .conv = conv ? &c->o : NULL};
            wick_spec in[2] = {{.dtype = WICK_U8, .rank = rank}, {.dtype = WICK_U8}};
            memcpy(in[0].dims, c->x, (size_t)rank * sizeof c->x[0]);
            wick_plan *plan = NULL;
            wick_workspace *space = NULL;
            CHECK_OK(ctx, wick_compile(ctx, record_kept, &k, 2, in, 1,
                                       &(wick_compile_options){.on_remark = count_bytes, .user = &k}, &plan));
            REQUIRE(plan && wick_workspace_new(plan, &space) == WICK_OK);
            if (v.now.tier == WICK_TIER_AVX2 && !v.now.extensions && size == SMALL && c->o.groups != 16)
                by_bytes += k.bytes > 0;
            for (int run = 0; run < 4; run++) { /* another zero point in each, and other weights for the last two */
                const uint8_t zero = (uint8_t)(run * 85);
                if (run == 2) CHECK_OK(ctx, wick_write(k.w, w[1], (size_t)n_w));
                CHECK_OK(ctx, wick_run(space, (const void *[]){a, &zero}, (void *[]){got}));
                wick_tensor *x = wick_sub(wick_cast(wick_from(ctx, WICK_U8, rank, c->x, a), WICK_F64),
                                          wick_constant(ctx, WICK_F64, zero)),
                            *by = wick_sub(wick_cast(wick_from(ctx, dw, rank, c->w, w[run / 2]), WICK_F64),
                                           wick_constant(ctx, WICK_F64, dw == WICK_U8 ? 128 : 0)),
                            *want = wick_cast(conv ? wick_conv(x, by, NULL, &c->o) : wick_matmul(x, by), WICK_I32);
                const int32_t *sums = contents(want);
                int64_t wrong = -1, n = wick_tensor_count(want);
                for (int64_t i = 0; sums && i < n && wrong < 0; i++) wrong = sums[i] != got[i] ? i : -1;
                CHECK_MSG(sums && wrong < 0, "%s %x, case %d, size %d, %s, run %d: %lld is %d, not %d",
                          wick_tier_name(v.now.tier), v.now.extensions, at % CASES, size, wick_dtype_name(dw), run,
                          (long long)wrong, sums && wrong >= 0 ? got[wrong] : 0, sums && wrong >= 0 ? sums[wrong] : 0);
            }
            wick_workspace_free(&space);
            wick_plan_free(&plan);
            wick_scope_close(&scope);
        }
        wick_context_free(&ctx);
    }
    if (wick_tier_best() >= WICK_TIER_AVX2 && !TEST_SANITIZED) CHECK_INT(by_bytes, 2 * (CASES - 1));
}

typedef struct dynamic_case {
    int64_t rows, k, n, each; /* each: scales by column */
    bool bias, conv, zeros;   /* zeros: of the weights */
} dynamic_case;
typedef struct dynamic {
    const dynamic_case *c;
    wick_tensor *w, *zero, *scale, *bias;
    int scaled; /* remarks of products that scale their sums */
} dynamic;
/* What exporters write: DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast, Mul, Add. */
static wick_status record_dynamic(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const dynamic *d = user;
    wick_tensor *scale, *point, *q = wick_quantize_dynamic(in[0], &scale, &point);
    const wick_int8_options o = {.a_zero = point, .b_zero = d->zero};
    wick_tensor *sums = d->c->conv ? wick_int8_conv(q, d->w, &(wick_conv_options){.pad = {1, 1}}, &o)
                                   : wick_int8_matmul(q, d->w, &o);
    (void)ctx;
    out[0] = wick_mul(wick_cast(sums, WICK_F32), wick_mul(scale, d->scale));
    if (d->bias) out[0] = wick_add(out[0], d->bias);
    return WICK_OK;
}
static void count_scaled(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)node, (void)place, (void)text;
    ((dynamic *)user)->scaled += !strcmp(pass, "int8_result");
}

/* The bits of each op on its own, of a range that is another one in each run, and of weights that are written between
 * runs. */
TEST(dynamic_products_that_scale_their_sums_have_the_bits_of_the_ops_they_are) {
    static const dynamic_case cases[] = {
        {1, 70, 37, true, true, false, false},  {3, 64, 64, false, true, false, true},
        {5, 33, 16, true, false, false, true},  {40, 128, 65, true, true, false, false},
        {7, 0, 9, true, true, false, false},    {19, 260, 130, false, false, false, false},
        {6, 12, 20, true, true, true, false},   {6, 5, 33, false, true, true, true},
        {5, 7, 3, true, false, true, false},
    };
    enum { BYTES = 1 << 16 };
    static float x[BYTES], got[2][BYTES];
    static uint8_t w[2][BYTES];
    const wick_tuning small = {.int8_task_work = 30000, .parallel_flops = 1000};
    for (ways v = all_ways(); next_way(&v);)
        for (size_t at = 0; at < WICK_COUNTOF(cases); at++) {
            const dynamic_case *c = &cases[at];
            wick_context *ctx;
            REQUIRE(wick_context_new(&(wick_context_options){.threads = 2, .tuning = &small}, &ctx) == WICK_OK);
            const int64_t dw[] = {c->conv ? c->n : c->k, c->conv ? c->k : c->n, 3, 3},
                          n_w = c->k * c->n * (c->conv ? 9 : 1), by_channel[] = {c->n, 1, 1};
            for (int64_t i = 0; i < 2 * n_w; i++) w[i / WICK_MAX(n_w, 1)][i % WICK_MAX(n_w, 1)] = (uint8_t)test_rand();
            float numbers[2][160];
            int8_t zeros[160];
            for (int i = 0; i < 160; i++)
                numbers[0][i] = (float)test_rand_real(-0.1, 0.2), numbers[1][i] = (float)test_rand_real(-3, 3),
                zeros[i] = (int8_t)(test_rand() % 21 - 10);
            dynamic d = {.c = c,
                         .w = wick_from(ctx, WICK_I8, c->conv ? 4 : 2, dw, w[0]),
                         .zero = c->zeros ? wick_from(ctx, WICK_I8, 1, &c->n, zeros) : NULL,
                         .scale = c->each ? wick_from(ctx, WICK_F32, c->conv ? 3 : 1, by_channel, numbers[0])
                                          : wick_scalar(ctx, WICK_F32, -0.03),
                         .bias = c->bias ? wick_from(ctx, WICK_F32, c->conv ? 3 : 1, by_channel, numbers[1]) : NULL};
            wick_spec in = {.dtype = WICK_F32, .rank = c->conv ? 4 : 2, .dims = {c->rows, c->k}};
            if (c->conv) memcpy(in.dims, (int64_t[]){2, c->k, c->rows, 5}, 4 * sizeof(int64_t));
            const int64_t n_x = c->conv ? 2 * c->k * c->rows * 5 : c->rows * c->k,
                          n_y = c->conv ? 2 * c->n * c->rows * 5 : c->rows * c->n;
            wick_plan *plan[2] = {NULL};
            wick_workspace *space[2] = {NULL};
            for (int k = 0; k < 2; k++) {
                const wick_compile_options o = {
                    .on_remark = count_scaled, .user = &d, .without = k ? "int8_result" : NULL};
                CHECK_OK(ctx, wick_compile(ctx, record_dynamic, &d, 1, &in, 1, &o, &plan[k]));
                REQUIRE(plan[k] && wick_workspace_new(plan[k], &space[k]) == WICK_OK);
                CHECK_INT(d.scaled, 1);
            }
            const wick_plan_info with = wick_plan_get_info(plan[0]), apart = wick_plan_get_info(plan[1]);
            CHECK_INT(with.packed_bytes > 0, apart.packed_bytes > 0); /* weights stay packed between runs */
            for (int run = 0; run < 4; run++) {
                if (run == 2) CHECK_OK(ctx, wick_write(d.w, w[1], (size_t)n_w));
                for (int64_t i = 0; i < n_x; i++)
                    x[i] = run == 3 ? 0 : (float)test_rand_real(run == 1 ? 0.5 : -2, 3 + run);
                for (int k = 0; k < 2; k++)
                    CHECK_OK(ctx, wick_run(space[k], (const void *[]){x}, (void *[]){got[k]}));
                CHECK_MSG(!memcmp(got[0], got[1], (size_t)n_y * sizeof(float)), "%s %x, case %d, run %d: other bits",
                          wick_tier_name(v.now.tier), v.now.extensions, (int)at, run);
            }
            for (int k = 0; k < 2; k++) wick_workspace_free(&space[k]), wick_plan_free(&plan[k]);
            wick_context_free(&ctx);
            test_count("dynamic products", 1);
        }
}

/* Results of every kind, of as many channels as fill vectors and as do not, of the sums, which the tests above check.
 */
TEST(results_of_convolutions_are_made_of_their_sums) {
    static const conv_case cases[] = {
        {{1, 8, 6, 7}, {8, 1, 3, 3}, {.groups = 8, .pad = {1, 1}}},
        {{1, 21, 6, 7}, {21, 1, 3, 3}, {.groups = 21, .pad = {1, 1}}},
        {{1, 3, 9, 10}, {8, 3, 3, 3}, {.pad = {1, 1}, .stride = {2, 2}}},
        {{1, 16, 5, 6}, {37, 16, 3, 3}, {.pad = {1, 1}}},
        {{2, 16, 5, 6}, {64, 16, 1, 1}, {.groups = 1}},
        {{1, 12, 5, 6}, {10, 6, 3, 3}, {.groups = 2, .pad = {1, 1}}},
    };
    for (ways w = all_ways(); next_way(&w);) {
        wick_context *ctx = context();
        for (size_t s = 0; s < WICK_COUNTOF(cases); s++)
            for (int kind = 0; kind < 24; kind++) {
                const conv_case *c = &cases[s];
                const wick_dtype dx = both[kind & 1], dw = both[kind >> 1 & 1], dy = both[kind % 3 % 2];
                const int zero = dy == WICK_I8 ? -7 : 111, least = dy == WICK_I8 ? -128 : 0, channels = (int)c->w[0];
                const float sx = 0.013f, sy = 2.1f;
                float sw[64], real[64];
                int32_t bias[64];
                for (int j = 0; j < channels; j++) {
                    sw[j] = 0.002f + 0.001f * (float)j;
                    bias[j] = (int32_t)test_rand_int(-2000, 2000);
                    real[j] = (float)bias[j] * (sx * sw[j]);
                }
                wick_scope *scope = wick_scope_open(ctx);
                wick_tensor *x = conv_input(ctx, dx, c->x, a_values), *k = conv_input(ctx, dw, c->w, b_values);
                wick_int8_options o = {.a_zero = byte(ctx, dx, 77)};
                const int32_t *sums = contents(wick_int8_conv(x, k, &c->o, &o));
                o.a_scale = wick_constant(ctx, WICK_F32, (double)sx);
                o.b_scale = wick_from(ctx, WICK_F32, WICK_DIMS(channels), sw);
                const bool floats = kind % 3 == 2;
                if (!floats) o.scale = wick_constant(ctx, WICK_F32, (double)sy), o.zero = byte(ctx, dy, zero);
                o.bias = floats ? wick_from(ctx, WICK_F32, WICK_DIMS(channels), real)
                                : wick_from(ctx, WICK_I32, WICK_DIMS(channels), bias);
                if (kind & 4 && !floats) o.high = INFINITY;
                wick_tensor *y = wick_int8_conv(x, k, &c->o, &o);
                const void *got = contents(y);
                CHECK_MSG(sums && got, "%s", wick_context_error(ctx));
                const int64_t pixels = wick_tensor_count(y) / c->x[0] / channels;
                for (int64_t i = 0; sums && got && i < wick_tensor_count(y); i++) {
                    const int64_t j = i / pixels % channels;
                    float want, have;
                    if (floats) {
                        want = (float)sums[i] * (sx * sw[j]) + real[j];
                        have = ((const float *)got)[i];
                    } else {
                        want = (float)(sums[i] + bias[j]) * (sx * sw[j] / sy);
                        want = nearbyintf(fmaxf(fminf(want, (float)(least + 255 - zero)), (float)(least - zero)));
                        want = (kind & 4 ? fmaxf(want, 0) : want) + (float)zero;
                        have = dy == WICK_I8 ? (float)((const int8_t *)got)[i] : (float)((const uint8_t *)got)[i];
                    }
                    CHECK_MSG(have == want, "%s %x, case %d, kind %d: number %d is %g, not %g",
                              wick_tier_name(w.now.tier), w.now.extensions, (int)s, kind, (int)i, (double)have,
                              (double)want);
                }
                wick_scope_close(&scope);
            }
        wick_context_free(&ctx);
    }
}

/* zero + round(clamp((sum + bias) (sa sb / sc))), with f32 steps, and libm's rounding to nearest even. */
TEST(quantised_results_are_rounded_half_to_even_and_saturate) {
    enum { M = 40, K = 24, N = 37 };
    for (ways w = all_ways(); next_way(&w);) {
        wick_context *ctx = context();
        for (int kind = 0; kind < 32; kind++) {
            const wick_dtype dc = both[kind & 1];
            const int zc = dc == WICK_I8 ? -5 : 100, least = dc == WICK_I8 ? -128 : 0;
            /* scales whose quotient is 1/2^k give many ties */
            const float sa = kind & 16 ? 0.25f : 0.013f, sc = kind & 16 ? 32.0f : 1.7f;
            float sb[N];
            int32_t bias[N];
            float real[N];
            for (int j = 0; j < N; j++) {
                sb[j] = kind & 16 ? 1.0f : 0.01f + 0.001f * (float)j;
                bias[j] = (int32_t)test_rand_int(-3000, 3000);
                real[j] = (float)bias[j] * (sa * sb[j]);
            }
            wick_tensor *a = bytes(ctx, WICK_U8, 2, (int64_t[]){M, K}, a_values),
                        *b = bytes(ctx, WICK_I8, 2, (int64_t[]){K, N}, b_values);
            const bool clipped = kind & 2;
            wick_int8_options o = {.a_scale = wick_constant(ctx, WICK_F32, (double)sa),
                                   .b_scale = wick_from(ctx, WICK_F32, WICK_DIMS(N), sb),
                                   .scale = wick_constant(ctx, WICK_F32, (double)sc),
                                   .zero = byte(ctx, dc, zc),
                                   .bias = kind & 4   ? wick_from(ctx, WICK_I32, WICK_DIMS(N), bias)
                                           : kind & 8 ? wick_from(ctx, WICK_F32, WICK_DIMS(N), real)
                                                      : NULL,
                                   .low = clipped ? 0 : -INFINITY,
                                   .high = INFINITY};
            const void *got = contents(wick_int8_matmul(a, b, &o));
            CHECK_MSG(got != NULL, "%s", wick_context_error(ctx));
            int ties = 0;
            for (int i = 0; got && i < M; i++)
                for (int j = 0; j < N; j++) {
                    int32_t sum = kind & 12 ? bias[j] : 0;
                    for (int p = 0; p < K; p++) sum += a_values[i * K + p] * b_values[p * N + j];
                    float x = (float)sum * (sa * sb[j] / sc);
                    ties += x - floorf(x) == 0.5f;
                    x = nearbyintf(fmaxf(fminf(x, (float)(least + 255 - zc)), (float)(least - zc)));
                    if (clipped) x = fmaxf(x, 0);
                    const int have =
                        dc == WICK_I8 ? ((const int8_t *)got)[i * N + j] : ((const uint8_t *)got)[i * N + j];
                    CHECK_MSG(have == (int)x + zc, "%s, kind %d: [%d, %d] is %d, not %d", wick_tier_name(w.now.tier),
                              kind, i, j, have, (int)x + zc);
                }
            if (kind & 16) CHECK(ties > 0);
        }
        wick_context_free(&ctx);
    }
}

TEST(scales_that_are_nan_or_zero_do_no_harm) {
    wick_context *ctx = context();
    wick_tensor *a = wick_full(ctx, WICK_U8, WICK_DIMS(3, 5), 200), *b = wick_full(ctx, WICK_I8, WICK_DIMS(5, 4), -100);
    static const double odd[] = {NAN, 0, INFINITY, -1};
    for (size_t i = 0; i < WICK_COUNTOF(odd); i++)
        for (int k = 0; k < 3; k++) {
            wick_tensor *one = wick_constant(ctx, WICK_F32, 1), *s = wick_constant(ctx, WICK_F32, odd[i]),
                        *bias = wick_full(ctx, WICK_F32, WICK_DIMS(4), 3);
            const wick_int8_options o = {.a_scale = k == 0 ? s : one,
                                         .b_scale = k == 1 ? s : one,
                                         .scale = k == 2 ? s : one,
                                         .bias = bias,
                                         .low = 0,
                                         .high = 6};
            CHECK_MSG(contents(wick_int8_matmul(a, b, &o)) != NULL, "%s", wick_context_error(ctx));
        }
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_is_refused) {
    wick_context *ctx = context();
    wick_tensor *a = wick_full(ctx, WICK_U8, WICK_DIMS(3, 5), 1), *b = wick_full(ctx, WICK_I8, WICK_DIMS(5, 4), 1),
                *one = wick_constant(ctx, WICK_F32, 1);
    const struct {
        wick_tensor *y;
        const char *part;
    } cases[] = {
        {wick_int8_matmul(wick_cast(a, WICK_I32), b, NULL), "takes u8 and i8"},
        {wick_int8_matmul(a, a, NULL), "inner dims 5 and 3 differ"},
        {wick_int8_matmul(a, b, &(wick_int8_options){.a_zero = byte(ctx, WICK_I8, 1)}),
         "the zero point of a must be u8"},
        {wick_int8_matmul(a, b, &(wick_int8_options){.b_zero = wick_full(ctx, WICK_I8, WICK_DIMS(5), 1)}),
         "the zero point of b must be one number"},
        {wick_int8_matmul(a, b, &(wick_int8_options){.a_scale = one}), "both scales"},
        {wick_int8_matmul(a, b, &(wick_int8_options){.bias = wick_full(ctx, WICK_I32, WICK_DIMS(4), 1)}),
         "both scales"},
        {wick_int8_matmul(
             a, b,
             &(wick_int8_options){.a_scale = one, .b_scale = one, .bias = wick_full(ctx, WICK_I32, WICK_DIMS(3), 1)}),
         "the bias must be"},
        {wick_quantize(wick_cast(a, WICK_F32), one, NULL, 0, WICK_I32), "makes u8, i8 or i16"},
        {wick_quantize(a, one, NULL, 0, WICK_U8), "takes f32"},
        {wick_dequantize(a, wick_full(ctx, WICK_F32, WICK_DIMS(3), 1), NULL, 1), "one for each place of axis 1"},
        {wick_dequantize(a, one, byte(ctx, WICK_I8, 1), 0), "the zero point must be u8"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        const char *text = "";
        CHECK_MSG(wick_tensor_error(cases[i].y, &text) != WICK_OK, "case %d is taken", (int)i);
        CHECK_STR_HAS(text, cases[i].part);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
