/* Ops whose products go through tiles (Intel AMX), over the emulation of the instructions. */
#include "kernels/amx_emulated.h"
#include "test.h"
#include "wick/wick.h"

static wick_tensor *bytes(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    uint8_t *data = malloc((size_t)n + 1);
    for (int64_t i = 0; data && i < n; i++) data[i] = (uint8_t)test_rand();
    wick_tensor *t = wick_from(ctx, dtype, rank, dims, data);
    free(data);
    return t;
}
static wick_tensor *floats(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    float *data = malloc((size_t)n * 4 + 1);
    for (int64_t i = 0; data && i < n; i++) data[i] = (float)test_rand_real(-1, 1);
    wick_tensor *t = wick_from(ctx, WICK_F32, rank, dims, data);
    free(data);
    return wick_cast(t, dtype);
}

/* What a function of a case and a kind makes, in a context of its own; the same numbers go in whenever it is called. */
typedef wick_tensor *make_fn(wick_context *ctx, int which, int kind);
typedef struct made {
    void *data;
    size_t size;
    char numerics[96];
} made;
static made make(make_fn *fn, int which, int kind, bool tiles, wick_f32_precision precision, int threads) {
    made m = {0};
    wick_context *ctx = NULL;
    wick_amx_use(tiles ? &amx_emulated : NULL);
    if (wick_context_new(&(wick_context_options){.threads = threads, .f32_precision = precision}, &ctx)) abort();
    test_seed = 12345 + (uint64_t)(100 * which + kind);
    wick_tensor *t = fn(ctx, which, kind);
    const void *data = NULL;
    const wick_status status = wick_data(t, &data);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    m.size = status ? 0 : (size_t)wick_tensor_count(t) * wick_dtype_size(wick_tensor_dtype(t));
    m.data = malloc(m.size + 1);
    if (m.size && m.data) memcpy(m.data, data, m.size);
    snprintf(m.numerics, sizeof m.numerics, "%s", wick_context_numerics(ctx));
    wick_context_free(&ctx);
    wick_amx_use(NULL);
    return m;
}

/* Tiers that can take tiles: all but the reference. */
#define FOR_TIERS(t)                                                                         \
    for (int t = WICK_TIER_BASE, was_ = (int)wick_tier_current(); t <= WICK_TIER_COUNT; t++) \
        if (t == WICK_TIER_COUNT ? wick_tier_force((wick_tier)was_) && false : wick_tier_force((wick_tier)t))

static const wick_dtype both[] = {WICK_U8, WICK_I8};
static const int64_t sizes[][3] = {{8, 1, 1},     {15, 16, 63},   {16, 17, 64},   {17, 33, 65}, {31, 32, 128},
                                   {33, 64, 192}, {40, 100, 129}, {100, 48, 256}, {65, 31, 7}};
static wick_tensor *matmul_bytes(wick_context *ctx, int which, int kind) {
    const int64_t m = sizes[which][0], n = sizes[which][1], k = sizes[which][2];
    wick_tensor *a = bytes(ctx, both[kind & 1], 2, (int64_t[]){m, k}),
                *b = bytes(ctx, both[kind >> 1 & 1], 2, kind & 16 ? (int64_t[]){n, k} : (int64_t[]){k, n});
    return wick_int8_matmul(a, kind & 16 ? wick_transpose(b, 0, 1) : b,
                            &(wick_int8_options){.a_zero = kind & 4 ? bytes(ctx, both[kind & 1], 0, NULL) : NULL,
                                                 .b_zero = kind & 8 ? bytes(ctx, both[kind >> 1 & 1], 1, &n) : NULL});
}
static const struct {
    int64_t x[4], w[4];
    wick_conv_options o;
} convs[] = {
    {{1, 3, 7, 9}, {5, 3, 3, 3}, {.pad = {1, 1}}},
    {{2, 16, 8, 8}, {40, 16, 3, 3}, {.pad = {1, 1}, .stride = {2, 1}}},
    {{1, 64, 6, 5}, {33, 64, 1, 1}, {.groups = 1}},
    {{1, 128, 6, 5}, {6, 64, 1, 1}, {.groups = 2}},
    {{2, 6, 9, 9}, {6, 3, 3, 2}, {.groups = 2, .dilation = {2, 3}, .pad = {2, 3}}},
    {{1, 64, 5, 5}, {64, 64, 3, 3}, {.pad = {1, 1}}},
};
static wick_tensor *conv_bytes(wick_context *ctx, int which, int kind) {
    wick_tensor *x = bytes(ctx, both[kind & 1], 4, convs[which].x),
                *w = bytes(ctx, both[kind >> 1 & 1], 4, convs[which].w);
    return wick_int8_conv(
        x, w, &convs[which].o,
        &(wick_int8_options){.a_zero = kind & 4 ? bytes(ctx, both[kind & 1], 0, NULL) : NULL,
                             .b_zero = kind & 8 ? bytes(ctx, both[kind >> 1 & 1], 1, convs[which].w) : NULL});
}

/* Bytes are exact: the bits of other kernels. */
TEST(products_and_convolutions_of_bytes_are_those_of_other_kernels) {
    FOR_TIERS(t) {
        for (int which = 0; which < (int)(WICK_COUNTOF(sizes) + WICK_COUNTOF(convs)); which++) {
            const bool conv = which >= (int)WICK_COUNTOF(sizes);
            for (int kind = 0; kind < (conv ? 16 : 32); kind++) {
                const int64_t dots = amx_dots;
                make_fn *fn = conv ? conv_bytes : matmul_bytes;
                const int at = conv ? which - (int)WICK_COUNTOF(sizes) : which;
                made other = make(fn, at, kind, false, WICK_F32_HIGHEST, 2),
                     tiles = make(fn, at, kind, true, WICK_F32_HIGHEST, 2);
                CHECK_MSG(other.size == tiles.size && !memcmp(other.data, tiles.data, tiles.size), "%s %s %d, kind %d",
                          wick_tier_name((wick_tier)t), conv ? "convolution" : "product", at, kind);
                CHECK(amx_dots > dots);
                free(other.data);
                free(tiles.data);
            }
        }
    }
}

/* y = relu(x w^T + b), of batches, and of what lies otherwise. */
static wick_tensor *layers(wick_context *ctx, int which, int kind) {
    const wick_dtype d = kind ? WICK_BF16 : WICK_F32;
    wick_tensor *x = floats(ctx, d, 3, (int64_t[]){3, 20, 70}), *w = floats(ctx, d, 2, (int64_t[]){50, 70}),
                *v = floats(ctx, d, 3, (int64_t[]){3, 50, 33}), *b = floats(ctx, d, 1, (int64_t[]){50});
    wick_tensor *y = wick_relu(wick_linear(x, w, b));
    if (which == 1) y = wick_matmul(y, v);
    if (which == 2) y = wick_matmul(wick_transpose(v, 1, 2), wick_transpose(y, 1, 2));
    return wick_cast(y, WICK_F32);
}
TEST(layers_are_close_the_same_on_any_threads_and_in_the_key) {
    static const struct {
        wick_f32_precision precision;
        int kind;
        double bound;
        const char *key;
    } ways[] = {{WICK_F32_SPLIT, 0, 1e-6, ";amx;f32=bf16x6"},
                {WICK_F32_HIGH, 0, 1e-4, ";amx;f32=bf16x3"},
                {WICK_F32_MEDIUM, 0, 2e-2, ";amx;f32=bf16x1"},
                {WICK_F32_HIGHEST, 1, 3e-2, ";amx"}};
    FOR_TIERS(t) {
        for (size_t w = 0; w < WICK_COUNTOF(ways); w++)
            for (int which = 0; which < 3; which++) {
                const int64_t dots = amx_dots;
                made other = make(layers, which, ways[w].kind, false, WICK_F32_HIGHEST, 2),
                     tiles = make(layers, which, ways[w].kind, true, ways[w].precision, 1);
                made again = make(layers, which, ways[w].kind, true, ways[w].precision, 3);
                double most = 0, size = 0;
                for (size_t i = 0; i < other.size / 4; i++) {
                    most = fmax(most, fabs((double)((float *)other.data)[i] - (double)((float *)tiles.data)[i]));
                    size = fmax(size, fabs((double)((float *)other.data)[i]));
                }
                CHECK_MSG(most <= size * ways[w].bound, "%s way %d, %d: %g of %g", wick_tier_name((wick_tier)t), (int)w,
                          which, most, size);
                CHECK(!memcmp(tiles.data, again.data, tiles.size));
                CHECK_STR_HAS(tiles.numerics, ways[w].key);
                CHECK(!strstr(other.numerics, "amx") && amx_dots > dots);
                free(other.data), free(tiles.data), free(again.data);
            }
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
