/* What plans say of the choice of kernels (remarks of "kernel"): the one that was taken, and why it is none of the
 * others. */
#include "base/base.h"
#include "test.h"

#include "wick/wick.h"

#include <stdlib.h>
#include <string.h>

typedef struct told {
    char text[8192];
    size_t n;
} told;
static void hear(void *user, const char *pass, const char *node, const char *place, const char *text) {
    told *t = user;
    (void)place;
    if (!strcmp(pass, "kernel") && t->n < sizeof t->text)
        t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n, "%s: %s\n", node, text);
}

typedef struct use {
    wick_tensor *(*fn)(wick_tensor *const *in, int how);
    int how;
} use;
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const use *u = user;
    (void)ctx;
    out[0] = u->fn(in, u->how);
    return WICK_OK;
}

/* One op of the inputs: what was said has `wanted`; and not `unwanted`, if there is one. */
static void says(wick_context *ctx, const char *what, use u, int n, const wick_spec *in, const char *wanted,
                 const char *unwanted) {
    told *t = calloc(1, sizeof *t);
    wick_plan *plan = NULL;
    REQUIRE(t != NULL);
    const wick_status status =
        wick_compile(ctx, record, &u, n, in, 1, &(wick_compile_options){.on_remark = hear, .user = t}, &plan);
    CHECK_MSG(status == WICK_OK, "%s: %s", what, wick_context_error(ctx));
    CHECK_MSG(strstr(t->text, wanted) != NULL, "%s: no \"%s\" in:\n%s", what, wanted, t->text);
    CHECK_MSG(!unwanted || !strstr(t->text, unwanted), "%s: \"%s\" in:\n%s", what, unwanted, t->text);
    wick_plan_free(&plan);
    free(t);
}
#define F32(...)                                                                                                       \
    ((wick_spec){.name = "",                                                                                           \
                 .dtype = WICK_F32,                                                                                    \
                 .rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                                    \
                 .dims = {__VA_ARGS__}})
#define OF(type, ...)                                                                                                  \
    ((wick_spec){.name = "",                                                                                           \
                 .dtype = type,                                                                                        \
                 .rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                                    \
                 .dims = {__VA_ARGS__}})

static wick_tensor *product(wick_tensor *const *in, int how) { return (void)how, wick_matmul(in[0], in[1]); }
static wick_tensor *convolution(wick_tensor *const *in, int how) {
    return wick_conv(
        in[0], in[1], NULL,
        &(wick_conv_options){.stride = {how / 10, how / 10},
                             .pad = {how % 10, how % 10},
                             .groups = in[0] && wick_tensor_dim(in[1], 1) == 1 ? wick_tensor_dim(in[0], 1) : 1});
}
static wick_tensor *pooled(wick_tensor *const *in, int how) {
    return how < 0 ? wick_avg_pool(in[0], &(wick_pool_options){.kernel = {-how, -how}})
                   : wick_max_pool(
                         in[0], &(wick_pool_options){.kernel = {how / 10, how / 10}, .stride = {how % 10, how % 10}});
}
static wick_tensor *sorted(wick_tensor *const *in, int how) {
    wick_tensor *index;
    return how ? wick_topk(in[0], how, -1, true, &index) : wick_sort(in[0], -1, false, &index);
}
static wick_tensor *summed(wick_tensor *const *in, int how) { return wick_sum(in[0], 1, &how, false); }
static wick_tensor *elementwise(wick_tensor *const *in, int how) {
    return how == 1 ? wick_exp(in[0]) : how == 2 ? wick_tanh(wick_exp(wick_sin(in[0]))) : wick_add(in[0], in[1]);
}
static wick_tensor *turned(wick_tensor *const *in, int how) {
    return how ? wick_cast(wick_transpose(in[0], 0, 1), WICK_F64) : wick_transpose(in[0], 0, 1);
}
static wick_tensor *bytes_product(wick_tensor *const *in, int how) {
    return how ? wick_int8_conv(in[0], in[1], NULL, NULL) : wick_int8_matmul(in[0], in[1], NULL);
}
static wick_tensor *of_four_bits(wick_tensor *const *in, int how) {
    return (void)how, wick_int4_linear(in[0], in[1], in[2], NULL, NULL);
}
static wick_tensor *of_eight_bits(wick_tensor *const *in, int how) {
    return (void)how, wick_int8_linear(in[0], in[1], in[2], NULL, NULL);
}
static wick_tensor *attended(wick_tensor *const *in, int how) {
    return (void)how, wick_attention(in[0], in[1], in[2], NULL);
}
static wick_tensor *recurrent(wick_tensor *const *in, int how) {
    wick_tensor *h, *c;
    return wick_lstm(in[0], &(wick_rnn_inputs){.w_ih = in[1], .w_hh = in[2]}, &(wick_rnn_options){.clip = how}, &h, &c);
}

TEST(products_say_why_they_are_none_of_the_others) {
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    if (wick_tier_current() == WICK_TIER_REF) { /* it has one way for each */
        wick_context_free(&ctx);
        return;
    }
    says(ctx, "many rows", (use){product, 0}, 2, (wick_spec[]){F32(64, 48), F32(48, 96)},
         "not one pass over B for few rows: there are more rows", NULL);
    says(ctx, "one row", (use){product, 0}, 2, (wick_spec[]){F32(1, 48), F32(48, 96)},
         "not tiles of AMX: f32_precision asks for f32", "few rows");
    says(ctx, "outer", (use){product, 0}, 2, (wick_spec[]){F32(64, 48), F32(48, 96)},
         "not rows of C one after the other: k is not 1", NULL);
    says(ctx, "f16", (use){product, 0}, 2, (wick_spec[]){OF(WICK_F16, 64, 48), OF(WICK_F16, 48, 96)},
         "not dot products of pairs: there are none of this dtype; not one pass over B for few rows: there are more "
         "rows",
         NULL);
    wick_context_free(&ctx);
}

TEST(products_of_integers_attention_and_loops_over_time_say_so_too) {
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    if (wick_tier_current() == WICK_TIER_REF) { /* it has one way for each */
        wick_context_free(&ctx);
        return;
    }
    says(ctx, "8 bits", (use){bytes_product, 0}, 2, (wick_spec[]){OF(WICK_U8, 64, 48), OF(WICK_I8, 48, 96)},
         "not one pass over B for few rows: there are more rows", "depthwise");
    says(ctx, "8 bits, one row", (use){bytes_product, 0}, 2, (wick_spec[]){OF(WICK_U8, 1, 48), OF(WICK_I8, 48, 96)},
         "not tiles of AMX: there are too few rows", "there are more rows");
    says(ctx, "8 bits, convolution", (use){bytes_product, 1}, 2,
         (wick_spec[]){OF(WICK_U8, 2, 8, 9, 9), OF(WICK_I8, 8, 8, 3, 3)},
         "not channel by channel (depthwise): there is one group", NULL);
    says(ctx, "8 bits, convolution", (use){bytes_product, 1}, 2,
         (wick_spec[]){OF(WICK_U8, 2, 8, 9, 9), OF(WICK_I8, 8, 8, 3, 3)},
         "not one pass over B for few rows: it is for products of matrices", NULL);
    says(ctx, "4 bits", (use){of_four_bits, 0}, 3, (wick_spec[]){F32(9, 64), OF(WICK_U8, 16, 2, 16), F32(16, 2)},
         "not one pass over the weights for few rows: there are more rows", NULL);
    says(ctx, "4 bits, one row", (use){of_four_bits, 0}, 3,
         (wick_spec[]){F32(1, 64), OF(WICK_U8, 16, 2, 16), F32(16, 2)}, "int4_linear f32[1,16]: ", "not one pass");
    says(ctx, "weights of 8 bits", (use){of_eight_bits, 0}, 3,
         (wick_spec[]){F32(9, 64), OF(WICK_I8, 16, 2, 32), F32(16, 2)},
         "not one pass over the weights for few rows: there are more rows", NULL);
    says(ctx, "attention", (use){attended, 0}, 3, (wick_spec[]){F32(1, 2, 9, 19), F32(1, 2, 9, 19), F32(1, 2, 9, 19)},
         "not values where they lie: rows are no whole vectors", "not keys");
    says(ctx, "attention", (use){attended, 0}, 3, (wick_spec[]){F32(1, 2, 9, 64), F32(1, 2, 9, 64), F32(1, 2, 9, 64)},
         "attention f32[1,2,9,64]: ", "not values");
    says(ctx, "attention", (use){attended, 0}, 3,
         (wick_spec[]){F32(1, 2, 9, 512), F32(1, 2, 9, 512), F32(1, 2, 9, 512)},
         "not values where they lie: rows are 2 KiB and more apart", NULL);
    const wick_spec lstm[] = {F32(3, 2, 5), F32(1, 32, 5), F32(1, 32, 8)};
    says(ctx, "lstm", (use){recurrent, 0}, 3, lstm, "not one pass over B for few rows: B is kept packed",
         "not rows of gates");
    says(ctx, "lstm that clips", (use){recurrent, 1}, 3, lstm,
         "not rows of gates in one loop: what goes into activations is clipped", NULL);
    wick_context_free(&ctx);
}

TEST(convolutions_say_why_they_are_none_of_the_others) {
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    if (wick_tier_current() == WICK_TIER_REF) { /* it has one way for each */
        wick_context_free(&ctx);
        return;
    }
    says(ctx, "5 x 5", (use){convolution, 12}, 2, (wick_spec[]){F32(2, 16, 20, 20), F32(16, 16, 5, 5)},
         "not channel by channel (depthwise): groups have more than one channel", NULL);
    says(ctx, "5 x 5", (use){convolution, 12}, 2, (wick_spec[]){F32(2, 16, 20, 20), F32(16, 16, 5, 5)},
         "not a product of all pixels (1 x 1): the kernel has more than one tap", NULL);
    says(ctx, "1 x 1", (use){convolution, 10}, 2, (wick_spec[]){F32(2, 16, 20, 20), F32(16, 16, 1, 1)},
         "not Winograd's, of 3 x 3: ", "not a product of all pixels");
    says(ctx, "1 x 1, stride 2", (use){convolution, 20}, 2, (wick_spec[]){F32(2, 16, 20, 20), F32(16, 16, 1, 1)},
         "not a product of all pixels (1 x 1): there is a stride", NULL);
    says(ctx, "depthwise 5 x 5", (use){convolution, 12}, 2, (wick_spec[]){F32(2, 16, 20, 20), F32(16, 1, 5, 5)},
         "not three taps of a row at once: ", "groups have more than one channel");
    says(ctx, "depthwise 3 x 3", (use){convolution, 11}, 2, (wick_spec[]){F32(2, 16, 20, 20), F32(16, 1, 3, 3)},
         "not nontemporal results: ", "not a product");
    wick_context_free(&ctx);
}

TEST(pooling_sorting_and_sums_say_why_they_are_none_of_the_others) {
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    if (wick_tier_current() == WICK_TIER_REF) { /* it has one way for each */
        wick_context_free(&ctx);
        return;
    }
    says(ctx, "2 x 2", (use){pooled, 22}, 1, (wick_spec[]){F32(2, 3, 20, 20)},
         "not channels as vectors: channels are not last", "loops over windows: windows");
    says(ctx, "3 x 3", (use){pooled, 33}, 1, (wick_spec[]){F32(2, 3, 20, 20)},
         "not rows of 2 x 2 without loops over windows: ", NULL);
    says(ctx, "mean", (use){pooled, -2}, 1, (wick_spec[]){F32(2, 3, 20, 20)},
         "not channels as vectors: channels are not last", "2 x 2");
    says(ctx, "short rows", (use){sorted, 0}, 1, (wick_spec[]){F32(4, 100)},
         "rows by rank; not the best alone: more than a quarter of a row is wanted", "not by rank");
    says(ctx, "rows", (use){sorted, 0}, 1, (wick_spec[]){F32(4, 1000)},
         "rows by digits; not the best alone: more than an eighth of a row is wanted; not by rank: rows are longer "
         "than 128",
         NULL);
    says(ctx, "long rows", (use){sorted, 0}, 1, (wick_spec[]){F32(1, 70000)},
         "chunks, merged; not the best alone: more than an eighth of a row is wanted; not whole rows at once: rows are "
         "longer than 65536",
         NULL);
    says(ctx, "f64", (use){sorted, 0}, 1, (wick_spec[]){OF(WICK_F64, 4, 100)},
         "not keys and places of 32 bits: numbers have 64 bits", NULL);
    says(ctx, "top 5", (use){sorted, 5}, 1, (wick_spec[]){F32(4, 1000)}, "what is not behind the last wanted one",
         "not the best alone");
    says(ctx, "few columns", (use){summed, 1}, 1, (wick_spec[]){F32(1000, 4)}, "several results in a block",
         "not several");
    says(ctx, "one result", (use){summed, 1}, 1, (wick_spec[]){F32(1, 4000)},
         "a result at a time; not several results in a block: there is one row of results; not parts of a result by "
         "several threads: there is little to each result",
         NULL);
    says(ctx, "one large result", (use){summed, 1}, 1, (wick_spec[]){F32(1, 40000000)},
         "parts of a result, then their sum; not several results in a block: there is one row of results", "not parts");
    wick_context_free(&ctx);
}

TEST(elementwise_ops_and_copies_say_why_they_are_none_of_the_others) {
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    says(ctx, "one op", (use){elementwise, 1}, 1, (wick_spec[]){F32(64, 48)},
         "not nontemporal results: it computes for longer than memory takes", "not one op");
    says(ctx, "a chain", (use){elementwise, 2}, 1, (wick_spec[]){F32(64, 48)},
         "not one op on whole arrays: it is more than one op, or a conversion", NULL);
    says(ctx, "a row to all", (use){elementwise, 0}, 2, (wick_spec[]){F32(64, 48), F32(48)},
         "not one op on whole arrays: ", NULL);
    says(ctx, "a small sum", (use){elementwise, 0}, 2, (wick_spec[]){F32(64, 48), F32(64, 48)},
         "not nontemporal results: a result may stay in caches", NULL);
    says(ctx, "a large sum", (use){elementwise, 0}, 2, (wick_spec[]){F32(40000000), F32(40000000)},
         "add f32[40000000]: ", "not nontemporal results");
    says(ctx, "transposed", (use){turned, 0}, 1, (wick_spec[]){F32(64, 48)}, "copied by tiles, transposed", NULL);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
