/* Layers beside a file of what they gave elsewhere: what agrees, what differs first, what is missing. */
#include <unistd.h>

#include "io/safetensors.h"
#include "tensor/tensors.h"

static wick_model *model;
static double off;

static wick_status network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = wick_nn_linear(model, "fc1", in[0], 4);
    x = wick_nn_encoder_layer(model, "block", wick_nn_dropout(model, x, 0.5),
                              &(wick_nn_transformer_options){.feedforward = 6, .attention = {.heads = 2}});
    if (off != 0) x = wick_add(x, wick_like(x, off));
    out[0] = wick_nn_layer_norm(model, "last", x);
    return WICK_OK;
}

enum { MOST = 16 };
static wick_safetensors_tensor seen[MOST];
static char names_seen[MOST][64];
static int n_seen;
static void keep(void *user, const char *name, wick_tensor *y) {
    (void)user;
    const int64_t count = wick_tensor_count(y);
    double *data = malloc((size_t)count * 8);
    if (n_seen == MOST || wick_read(y, data, (size_t)count * 8) != WICK_OK) {
        free(data);
        return;
    }
    wick_safetensors_tensor *t = &seen[n_seen];
    snprintf(names_seen[n_seen], sizeof names_seen[0], "%s", name);
    *t = (wick_safetensors_tensor){
        .name = names_seen[n_seen++], .dtype = WICK_F64, .rank = wick_tensor_rank(y), .data = data};
    memcpy(t->dims, wick_tensor_dims(y), (size_t)t->rank * sizeof *t->dims);
}

static char path[64];
static void write_seen(int n) {
    wick_msg msg;
    snprintf(path, sizeof path, "compare-%d.safetensors", (int)getpid());
    CHECK_MSG(wick_safetensors_write(path, seen, (size_t)n, NULL, 0, &msg) == WICK_OK, "%s", msg.text);
}

TEST(layers_are_compared_in_their_order_and_the_first_that_differs_is_named) {
    wick_context *ctx = context();
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK);
    wick_tensor *x = wick_random_normal(ctx, WICK_F64, WICK_DIMS(2, 3, 5)), *y;
    CHECK_OK(ctx, wick_eval(ctx, 1, &x, NULL));
    n_seen = 0, off = 0;
    wick_model_set_training(model, false);
    wick_model_watch(model, keep, NULL);
    CHECK_OK(ctx, network(ctx, &x, &y, NULL));
    wick_model_watch(model, NULL, NULL);
    keep(NULL, "output", y);
    static const char *const names[] = {"fc1",           "block.self_attn", "block.norm1", "block.linear1",
                                        "block.linear2", "block.norm2",     "block",       "last",
                                        "output"};
    CHECK_INT(n_seen, WICK_COUNTOF(names));
    for (int i = 0; i < n_seen && i < (int)WICK_COUNTOF(names); i++)
        CHECK_MSG(!strcmp(seen[i].name, names[i]), "%s, not %s", seen[i].name, names[i]);
    write_seen(n_seen);

    /* The same network agrees, also when asked in training: evaluation is what is compared, and training goes on. */
    wick_comparison *c = NULL;
    wick_model_set_training(model, true);
    CHECK_OK(ctx, wick_compare_layers(model, network, NULL, &x, path, &(wick_compare_options){.tolerance = 1e-14}, &c));
    CHECK(wick_model_training(model));
    REQUIRE(c != NULL);
    CHECK_INT(wick_comparison_count(c), WICK_COUNTOF(names));
    CHECK_INT(wick_comparison_first(c), -1);
    CHECK(wick_comparison_at(c, 3).worst == 0 && wick_comparison_at(c, 99).name == NULL);
    wick_comparison_free(&c);

    /* A change after the block: everything up to it agrees. */
    off = 0.25;
    ((double *)(uintptr_t)seen[3].data)[1] += 1e-9; /* below the tolerance */
    write_seen(n_seen);
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "\"fc1\"",
                (((double *)(uintptr_t)seen[0].data)[2] += 1, write_seen(n_seen),
                 wick_compare_layers(model, network, NULL, &x, path, NULL, &c)));
    REQUIRE(c != NULL);
    CHECK_INT(wick_comparison_first(c), 0);
    CHECK_INT(wick_comparison_at(c, 0).element, 2);
    CHECK(fabs(wick_comparison_at(c, 0).worst - 1) < 1e-12);
    char text[4096];
    const size_t length = wick_comparison_format(c, text, sizeof text);
    CHECK_INT(length, strlen(text));
    char small[20];
    CHECK_INT(wick_comparison_format(c, small, sizeof small), length);
    CHECK(!strncmp(small, text, sizeof small - 1) && strlen(small) == sizeof small - 1);
    CHECK_STR_HAS(text, "! fc1");
    CHECK_STR_HAS(text, "  block.linear1");
    wick_comparison_free(&c);

    /* What the network lacks, and another shape. */
    seen[0].name = "elsewhere";
    seen[8].dims[0] = 3, seen[8].dims[1] = 2;
    write_seen(n_seen);
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "\"output\" has another shape",
                wick_compare_layers(model, network, NULL, &x, path, &(wick_compare_options){.tolerance = 1e9}, &c));
    REQUIRE(c != NULL);
    const wick_difference missing = wick_comparison_at(c, wick_comparison_count(c) - 1);
    CHECK(missing.kind == WICK_ONLY_THEIRS && !strcmp(missing.name, "elsewhere"));
    wick_comparison_free(&c);
    CHECK_FAILS(ctx, WICK_ERR_IO, "nowhere.safetensors",
                wick_compare_layers(model, network, NULL, &x, "nowhere.safetensors", NULL, &c));
    CHECK(c == NULL);
    remove(path);
    for (int i = 0; i < n_seen; i++) free((void *)(uintptr_t)seen[i].data);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

/* Two files made here: element k of tensor "t" of the second is the first's plus off[k]. */
static void write_file(char to[64], const char *end, const wick_safetensors_tensor *tensors, size_t n) {
    wick_msg msg;
    snprintf(to, 64, "compare-%d-%s.safetensors", (int)getpid(), end);
    CHECK_MSG(wick_safetensors_write(to, tensors, n, NULL, 0, &msg) == WICK_OK, "%s", msg.text);
}

TEST(files_are_compared_tensor_by_tensor) {
    wick_context *ctx = context();
    char a[64], b[64];
    wick_comparison *c = NULL;
    static float f[1200], g[1200];
    static double h[1200];
    static const int64_t big[3] = {INT64_MAX, 7, -3}, near_big[3] = {INT64_MAX - 1, 7, -3};
    for (int i = 0; i < 1200; i++) f[i] = g[i] = (float)(i - 600) / 64, h[i] = f[i];
    f[5] = g[5] = NAN, h[5] = NAN, f[6] = g[6] = -INFINITY, h[6] = -INFINITY; /* equal to themselves */
    wick_safetensors_tensor ours[] = {{.name = "w", .dtype = WICK_F32, .rank = 2, .dims = {40, 30}, .data = f},
                                      {.name = "turned", .dtype = WICK_F32, .rank = 2, .dims = {2, 3}, .data = f},
                                      {.name = "count", .dtype = WICK_I64, .rank = 1, .dims = {3}, .data = big},
                                      {.name = "empty", .dtype = WICK_F32, .rank = 2, .dims = {0, 3}, .data = f},
                                      {.name = "mine", .dtype = WICK_F32, .rank = 0, .data = f}};
    wick_safetensors_tensor theirs[] = {{.name = "w", .dtype = WICK_F64, .rank = 2, .dims = {40, 30}, .data = h},
                                        {.name = "turned", .dtype = WICK_F32, .rank = 2, .dims = {3, 2}, .data = f},
                                        {.name = "count", .dtype = WICK_I64, .rank = 1, .dims = {3}, .data = big},
                                        {.name = "empty", .dtype = WICK_F32, .rank = 2, .dims = {0, 3}, .data = f},
                                        {.name = "yours", .dtype = WICK_F32, .rank = 0, .data = f}};
    write_file(a, "a", ours, 5);
    write_file(b, "b", theirs, 5);
    CHECK_OK(ctx, wick_compare_files(ctx, a, a, &(wick_compare_options){.exact = true}, &c));
    CHECK_INT(wick_comparison_count(c), 5);
    wick_comparison_free(&c);

    /* Another dtype with the same values is no difference; another shape and other names are. */
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "\"turned\" has another shape there: f32[3,2], not f32[2,3]",
                wick_compare_files(ctx, a, b, &(wick_compare_options){.exact = true}, &c));
    REQUIRE(c != NULL);
    static const struct {
        const char *name;
        wick_difference_kind kind;
    } rows[] = {{"w", WICK_SAME},     {"turned", WICK_OTHER_SHAPE}, {"count", WICK_SAME},
                {"empty", WICK_SAME}, {"mine", WICK_ONLY_OURS},     {"yours", WICK_ONLY_THEIRS}};
    CHECK_INT(wick_comparison_count(c), WICK_COUNTOF(rows));
    for (int i = 0; i < (int)WICK_COUNTOF(rows); i++) {
        const wick_difference d = wick_comparison_at(c, i);
        CHECK_MSG(d.name && !strcmp(d.name, rows[i].name) && d.kind == rows[i].kind, "row %d is %s, of kind %d", i,
                  d.name ? d.name : "none", (int)d.kind);
    }
    CHECK(wick_comparison_at(c, 4).theirs.rank == -1 && wick_comparison_at(c, 4).ours.rank == 0 &&
          wick_comparison_at(c, 0).theirs.dtype == WICK_F64);
    char text[2048];
    CHECK(wick_comparison_format(c, text, sizeof text) < sizeof text);
    CHECK_STR_HAS(text, "only here: f32[]");
    CHECK_STR_HAS(text, "f32[2,3] here, f32[3,2] there");
    wick_comparison_free(&c);

    /* What each tolerance lets pass: 1e-3 off where theirs is 2, beside a largest of 9.36. */
    h[728] += 1e-3; /* 2 + 1e-3 */
    h[1100] -= 1e-6;
    write_file(b, "b", theirs, 1);
    write_file(a, "a", ours, 1);
    static const struct {
        wick_compare_options options;
        int differing;
    } of[] = {{{.exact = true}, 2},  {{.tolerance = 0}, 1}, {{.tolerance = 1.1e-4}, 0},
              {{.rtol = 4.9e-4}, 1}, {{.rtol = 5e-4}, 0},   {{.atol = 0.9e-3}, 1},
              {{.atol = 1.1e-3}, 0}, {{.atol = 1e-7}, 2},   {{.rtol = 2e-4, .atol = 7e-4}, 0}};
    for (int i = 0; i < (int)WICK_COUNTOF(of); i++) {
        const wick_status status = wick_compare_files(ctx, a, b, &of[i].options, &c);
        CHECK_MSG(status == (of[i].differing ? WICK_ERR_MISMATCH : WICK_OK), "tolerance %d", i);
        REQUIRE(c != NULL);
        const wick_difference d = wick_comparison_at(c, 0);
        CHECK_INT(d.differing, of[i].differing);
        CHECK_INT(d.element, 728);
        CHECK(fabs(d.worst - 1e-3) < 1e-12 && d.our_value == 2 && d.their_value == h[728]);
        wick_comparison_free(&c);
    }
    wick_context_clear_error(ctx);

    /* NaN against a number, and numbers that f64 cannot tell apart, differ. */
    h[6] = NAN;
    write_file(b, "b", theirs, 1);
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "element 6",
                wick_compare_files(ctx, a, b, &(wick_compare_options){.tolerance = 1e30}, &c));
    CHECK(c && isinf(wick_comparison_at(c, 0).worst));
    wick_comparison_free(&c);
    theirs[2].data = near_big;
    write_file(b, "b", &theirs[2], 1);
    write_file(a, "a", &ours[2], 1);
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "\"count\"",
                wick_compare_files(ctx, a, b, &(wick_compare_options){.exact = true}, &c));
    wick_comparison_free(&c);

    /* Only some names; none of them; bad files and options. */
    write_file(a, "a", ours, 5);
    write_file(b, "b", theirs, 5);
    CHECK_OK(ctx, wick_compare_files(ctx, a, b, &(wick_compare_options){.pattern = "e*y"}, &c));
    CHECK_INT(wick_comparison_count(c), 1);
    wick_comparison_free(&c);
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "nothing to compare of the names \"x*\"",
                wick_compare_files(ctx, a, b, &(wick_compare_options){.pattern = "x*"}, &c));
    CHECK(c && wick_comparison_count(c) == 0);
    wick_comparison_free(&c);
    CHECK_FAILS(ctx, WICK_ERR_IO, "nowhere", wick_compare_files(ctx, a, "nowhere", NULL, &c));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "negative",
                wick_compare_files(ctx, a, b, &(wick_compare_options){.rtol = -1}, &c));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "exact",
                wick_compare_files(ctx, a, b, &(wick_compare_options){.rtol = 1, .exact = true}, &c));
    CHECK(c == NULL);
    remove(a);
    remove(b);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
