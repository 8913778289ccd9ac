/* Layers beside a file of what they gave elsewhere: what agrees, what differs first, what is missing. */
#include <unistd.h>

#include "io/safetensors.h"
#include "tensor/tensors.h"

static wick_model *model;
static double off;

static wick_status network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = wick_nn_linear(model, "fc1", in[0], 4);
    x = wick_nn_encoder_layer(model, "block", wick_nn_dropout(model, x, 0.5), &(wick_nn_transformer_options){.feedforward = 6, .attention = {.heads = 2}});
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
    *t = (wick_safetensors_tensor){.name = names_seen[n_seen++], .dtype = WICK_F64, .rank = wick_tensor_rank(y), .data = data};
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
    static const char *const names[] = {"fc1", "block.self_attn", "block.norm1", "block.linear1", "block.linear2", "block.norm2", "block", "last", "output"};
    CHECK_INT(n_seen, WICK_COUNTOF(names));
    for (int i = 0; i < n_seen && i < (int)WICK_COUNTOF(names); i++) CHECK_MSG(!strcmp(seen[i].name, names[i]), "%s, not %s", seen[i].name, names[i]);
    write_seen(n_seen);

    /* The same network agrees, also when asked in training: evaluation is what is compared, and training goes on. */
    wick_comparison *c = NULL;
    wick_model_set_training(model, true);
    CHECK_OK(ctx, wick_compare_layers(model, network, NULL, &x, path, 1e-14, &c));
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
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "\"fc1\"", (((double *)(uintptr_t)seen[0].data)[2] += 1, write_seen(n_seen), wick_compare_layers(model, network, NULL, &x, path, 0, &c)));
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
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "\"output\" has another shape", wick_compare_layers(model, network, NULL, &x, path, 1e9, &c));
    REQUIRE(c != NULL);
    const wick_layer_difference missing = wick_comparison_at(c, wick_comparison_count(c) - 1);
    CHECK(missing.missing && !strcmp(missing.name, "elsewhere"));
    wick_comparison_free(&c);
    CHECK_FAILS(ctx, WICK_ERR_IO, "nowhere.safetensors", wick_compare_layers(model, network, NULL, &x, "nowhere.safetensors", 0, &c));
    CHECK(c == NULL);
    remove(path);
    for (int i = 0; i < n_seen; i++) free((void *)(uintptr_t)seen[i].data);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
