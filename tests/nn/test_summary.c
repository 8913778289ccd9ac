/* The summary of a network: rows as its layers, FLOPs and sizes counted by hand here. */
#include "base/counting_alloc.h"
#include "test.h"
#include "wick/wick.h"
#include "wick/zoo.h"

typedef struct text_net {
    wick_model *model;
    const char *text;
} text_net;
static wick_status build_text(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const text_net *n = user;
    (void)ctx;
    out[0] = wick_net(n->model, n->text, in[0], 10);
    return WICK_OK;
}

static wick_summary *summary_of(wick_context *ctx, wick_model *model, const char *text, int rank, const int64_t *dims) {
    wick_summary *s = NULL;
    wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = rank};
    memcpy(spec.dims, dims, (size_t)rank * sizeof *dims);
    text_net n = {model, text};
    wick_status status = wick_model_summary(model, build_text, &n, 1, &spec, &s);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    return s;
}
#define SETUP                                                                                                          \
    wick_context *ctx = NULL;                                                                                          \
    wick_model *model = NULL;                                                                                          \
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);                                 \
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK)
#define TEARDOWN                                                                                     \
    wick_model_free(&model);                                                                         \
    wick_context_free(&ctx)

typedef struct row {
    const char *kind, *name;
    int rank;
    int64_t dims[4], parameters;
    double flops;
} row;
static void check_rows(const wick_summary *s, const row *rows, int n) {
    double flops = 0, bytes = 0;
    int64_t parameters = 0;
    CHECK_INT(wick_summary_count(s), n);
    for (int i = 0; i < n; i++) {
        const wick_layer_info r = wick_summary_at(s, i);
        if (!r.kind) continue;
        int64_t count = 1;
        CHECK_MSG(!strcmp(r.kind, rows[i].kind) && !strcmp(r.output.name, rows[i].name), "row %d: %s \"%s\"", i, r.kind,
                  r.output.name);
        CHECK_INT(r.output.rank, rows[i].rank);
        for (int d = 0; d < rows[i].rank; d++) {
            CHECK_MSG(r.output.dims[d] == rows[i].dims[d], "row %d, dim %d: %lld", i, d, (long long)r.output.dims[d]);
            count *= rows[i].dims[d];
        }
        CHECK_MSG(r.parameters == rows[i].parameters, "row %d: %lld parameters", i, (long long)r.parameters);
        CHECK_MSG(r.flops == rows[i].flops, "row %d, %s: %.0f FLOPs, not %.0f", i, r.kind, r.flops, rows[i].flops);
        CHECK_INT(r.bytes, count * 4);
        flops += rows[i].flops;
        bytes += (double)count * 4;
        parameters += rows[i].parameters;
    }
    const wick_summary_totals t = wick_summary_total(s);
    CHECK(t.flops == flops && t.bytes == bytes && t.parameters == parameters);
    CHECK(t.arena_bytes > 0 && (double)t.arena_bytes <= 2 * bytes);
    CHECK(wick_summary_at(s, n).kind == NULL && wick_summary_at(s, -1).kind == NULL);
}
/* Batch norm in evaluation: subtract, scale, shift for each number; eps, root and weight for each channel. */
#define BN(n, c) (3. * (n) + 3. * (c))

TEST(rows_are_the_layers_and_what_is_between) {
    SETUP;
    wick_summary *s = summary_of(
        ctx, model, "conv 8 3 same, bn, relu, maxpool 2, dropout 0.5, flatten, linear 20, relu, linear classes",
        WICK_DIMS(2, 3, 6, 8));
    REQUIRE(s);
    const int n = 2 * 8 * 48;
    const row rows[] = {
        {"conv", "conv1", 4, {2, 8, 6, 8}, 8 * 27 + 8, 2. * 27 * n + n},
        {"batch_norm", "bn1", 4, {2, 8, 6, 8}, 16, BN(n, 8)},
        {"relu", "", 4, {2, 8, 6, 8}, 0, n},
        {"max_pool", "", 4, {2, 8, 3, 4}, 0, n},
        {"linear", "fc1", 2, {2, 20}, 96 * 20 + 20, 2. * 2 * 96 * 20 + 2 * 20},
        {"relu", "", 2, {2, 20}, 0, 40},
        {"linear", "fc2", 2, {2, 10}, 210, 2. * 2 * 20 * 10 + 20},
    };
    check_rows(s, rows, sizeof rows / sizeof *rows);
    CHECK(wick_model_training(model)); /* as it was */
    wick_summary_free(&s);
    wick_summary_free(&s);
    TEARDOWN;
}

TEST(nested_layers_have_their_paths_and_nothing_is_counted_twice) {
    SETUP;
    wick_summary *s =
        summary_of(ctx, model, "residual(conv 4 3 same nobias stride 2, bn), se 2, invres 4 3 expand 2, globalpool",
                   WICK_DIMS(1, 2, 4, 4));
    REQUIRE(s);
    const row rows[] = {
        {"conv", "res1.conv1", 4, {1, 4, 2, 2}, 72, 2. * 18 * 16},
        {"batch_norm", "res1.bn1", 4, {1, 4, 2, 2}, 8, BN(16, 4)},
        {"conv", "res1.shortcut", 4, {1, 4, 2, 2}, 8, 2. * 2 * 16},
        {"batch_norm", "res1.shortcut_bn", 4, {1, 4, 2, 2}, 8, BN(16, 4)},
        {"add", "", 4, {1, 4, 2, 2}, 0, 16},
        {"avg_pool", "", 4, {1, 4, 1, 1}, 0, 16},
        {"conv", "se1.down", 4, {1, 2, 1, 1}, 10, 2. * 4 * 2 + 2},
        {"relu", "", 4, {1, 2, 1, 1}, 0, 2},
        {"conv", "se1.up", 4, {1, 4, 1, 1}, 12, 2. * 2 * 4 + 4},
        {"sigmoid", "", 4, {1, 4, 1, 1}, 0, 4},
        {"mul", "", 4, {1, 4, 2, 2}, 0, 16},
        {"conv", "block1.up", 4, {1, 8, 2, 2}, 32, 2. * 4 * 32},
        {"batch_norm", "block1.bn1", 4, {1, 8, 2, 2}, 16, BN(32, 8)},
        {"relu", "", 4, {1, 8, 2, 2}, 0, 32},
        {"conv", "block1.depthwise", 4, {1, 8, 2, 2}, 72, 2. * 9 * 32},
        {"batch_norm", "block1.bn2", 4, {1, 8, 2, 2}, 16, BN(32, 8)},
        {"relu", "", 4, {1, 8, 2, 2}, 0, 32},
        {"conv", "block1.down", 4, {1, 4, 2, 2}, 32, 2. * 8 * 16},
        {"batch_norm", "block1.bn3", 4, {1, 4, 2, 2}, 8, BN(16, 4)},
        {"add", "", 4, {1, 4, 2, 2}, 0, 16},
        {"avg_pool", "", 4, {1, 4, 1, 1}, 0, 16},
    };
    check_rows(s, rows, sizeof rows / sizeof *rows);
    wick_summary_free(&s);
    TEARDOWN;
}

/* A layer of one's own, whose weight is used twice through a view, and whose scope closes before it returns. */
static wick_status build_own(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_model *model = user;
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *w =
        wick_model_state(model, "own.q.weight", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(4, 4), wick_init_constant(1));
    (void)wick_nn_linear(model, "unused", in[0], 9);
    wick_tensor *y = wick_matmul(in[0], wick_transpose(w, 0, 1));
    y = wick_retain(wick_nn_layer_norm(model, "ln", wick_matmul(y, w)));
    wick_scope_close(&scope);
    out[0] = wick_stop_gradient(y);
    wick_tensor_free(&y);
    return WICK_OK;
}
TEST(layers_of_ones_own_are_rows_of_ops_with_their_states) {
    SETUP;
    wick_summary *s = NULL;
    const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {3, 4}};
    REQUIRE(wick_model_summary(model, build_own, model, 1, &spec, &s) == WICK_OK);
    const row rows[] = {{"matmul", "own.q", 2, {3, 4}, 16, 2. * 48},
                        {"matmul", "own.q", 2, {3, 4}, 0, 2. * 48},
                        {"layer_norm", "ln", 2, {3, 4}, 8, 8. * 12}};
    check_rows(s, rows, 3);
    wick_summary_free(&s);
    TEARDOWN;
}

TEST(a_network_that_cannot_be_built_says_why) {
    SETUP;
    wick_summary *s = (wick_summary *)model;
    text_net n = {model, "conv 8 9"};
    const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {1, 1, 5, 5}};
    CHECK_INT(wick_model_summary(model, build_text, &n, 1, &spec, &s), WICK_ERR_SHAPE);
    CHECK(s == NULL);
    CHECK_STR_HAS(wick_context_error(ctx), "a kernel of 9");
    CHECK_INT(wick_model_summary(model, NULL, NULL, 1, &spec, &s), WICK_ERR_INVALID);
    TEARDOWN;
}

static wick_status summary_with(const wick_allocator *alloc, bool *made) {
    wick_context *ctx = NULL;
    wick_model *model = NULL;
    wick_summary *s = NULL;
    wick_status status = wick_context_new(&(wick_context_options){.threads = 1, .allocator = alloc}, &ctx);
    if (status == WICK_OK) status = wick_model_new(ctx, &model);
    text_net n = {model, "conv 8 3, bn, relu, residual(conv 8 1), globalpool, linear classes"};
    const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {1, 2, 5, 5}};
    if (status == WICK_OK) status = wick_model_summary(model, build_text, &n, 1, &spec, &s);
    *made = s != NULL;
    wick_summary_free(&s);
    wick_model_free(&model);
    wick_context_free(&ctx);
    return status;
}
TEST(running_out_of_memory_is_an_error_and_leaks_nothing) {
    counting c = {.fail_at = -1};
    const wick_allocator alloc = counting_allocator(&c);
    bool made;
    CHECK(summary_with(&alloc, &made) == WICK_OK && made);
    const int64_t calls = c.calls;
    CHECK(calls > 20 && c.live == 0);
    for (int64_t at = 0; at < calls; at += 1 + (at > 60) * 3) {
        c = (counting){.fail_at = at};
        CHECK_MSG(summary_with(&alloc, &made) == WICK_ERR_NOMEM && !made, "allocation %lld", (long long)at);
        CHECK_INT(c.live, 0);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
