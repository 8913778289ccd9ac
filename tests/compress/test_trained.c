/* Training with rounded numbers: what a training step computes is what the integers compute, to the bit, in every
 * result and at every step, of networks of several kinds. */
#include "base/base.h"
#include "test.h"
#include "wick/wick.h"

enum { SIDE = 12, BATCH = 8, MOST_OUT = BATCH * 16 * 12 * 12, STEPS = 3 };

static wick_context *ctx;
static wick_model *model;

static wick_tensor *conv(const char *name, wick_tensor *x, int64_t out, int64_t kernel, int64_t groups) {
    return wick_nn_conv(model, name, x, out, kernel, &(wick_nn_conv_options){.pad = kernel / 2, .groups = groups});
}
static wick_tensor *norm_relu(const char *name, wick_tensor *x) {
    return wick_relu(wick_nn_batch_norm(model, name, x));
}

/* Results of all kinds: integers in the middle too, seen as floats. */
static void plain(wick_tensor *x, wick_tensor **out) {
    x = norm_relu("bn1", conv("conv1", x, 8, 3, 1));
    x = wick_max_pool(x, &(wick_pool_options){.kernel = {2, 2}});
    x = wick_relu6(conv("conv2", x, 8, 3, 1));
    out[1] = x;
    x = wick_relu(wick_nn_linear(model, "fc1", wick_reshape(x, WICK_DIMS(BATCH, 8 * 36)), 16));
    out[0] = wick_nn_linear(model, "fc2", x, 5);
}
static void residual(wick_tensor *x, wick_tensor **out) {
    x = norm_relu("bn1", conv("conv1", x, 8, 3, 1));
    wick_tensor *y = norm_relu("bn2", conv("conv2", x, 8, 3, 1));
    y = wick_nn_batch_norm(model, "bn3", conv("conv3", y, 8, 3, 1));
    out[1] = x = wick_relu(wick_add(x, y));
    y = wick_avg_pool(x, &(wick_pool_options){.kernel = {3, 3}, .stride = {2, 2}});
    out[2] = y = wick_nn_conv(model, "down", y, 8, 1, &(wick_nn_conv_options){.stride = 2});
    out[0] = wick_nn_linear(model, "fc", wick_mean(y, WICK_AXES(2, 3), false), 5);
}
static void depthwise(wick_tensor *x, wick_tensor **out) {
    x = norm_relu("bn1", conv("conv1", x, 8, 3, 1));
    x = wick_relu6(wick_nn_batch_norm(model, "bn2", conv("dw", x, 8, 3, 8)));
    out[1] = x = norm_relu("bn3", conv("pw", x, 16, 1, 1));
    out[2] = x = wick_hardswish(conv("grouped", x, 16, 3, 4));
    out[0] = wick_nn_linear(model, "fc", wick_mean(x, WICK_AXES(2, 3), false), 5);
}
static void mlp(wick_tensor *x, wick_tensor **out) {
    x = wick_reshape(x, WICK_DIMS(BATCH, 3 * SIDE * SIDE));
    out[1] = x = wick_relu(wick_nn_linear(model, "fc1", x, 32));
    out[2] = x = wick_gelu(wick_nn_linear(model, "fc2", x, 32));
    out[0] = wick_softmax(wick_nn_linear(model, "fc3", x, 5), 1);
}
static void branches(wick_tensor *x, wick_tensor **out) {
    x = wick_relu(conv("stem", x, 8, 3, 1));
    wick_tensor *a = wick_relu(conv("a", x, 4, 3, 1)), *b = conv("b", x, 4, 1, 1),
                *c = wick_max_pool(x, &(wick_pool_options){.kernel = {3, 3}, .stride = {1, 1}, .pad = {1, 1}});
    out[1] = x = wick_concat(3, (wick_tensor *[]){a, b, c}, 1);
    /* squeeze and excite */
    wick_tensor *s = wick_relu(conv("squeeze", wick_mean(x, WICK_AXES(2, 3), true), 4, 1, 1));
    x = wick_mul(x, wick_sigmoid(conv("excite", s, 16, 1, 1)));
    out[2] = x = wick_nn_layer_norm(model, "ln", x);
    out[0] = wick_nn_linear(model, "fc", wick_reshape(x, WICK_DIMS(BATCH, 16 * SIDE * SIDE)), 5);
}

typedef struct net {
    const char *name;
    void (*record)(wick_tensor *x, wick_tensor **out);
    int n_out;
} net;
static const net nets[] = {{"plain", plain, 2},
                           {"residual", residual, 3},
                           {"depthwise", depthwise, 3},
                           {"mlp", mlp, 3},
                           {"branches", branches, 3}};

static wick_status network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    ((const net *)user)->record(in[0], out);
    return WICK_OK;
}

typedef struct lesson {
    wick_quantizer *q;
    wick_optimizer *optimizer;
    int n_out;
} lesson;
/* A step, and what it computed. */
static wick_status learn(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    const lesson *l = user;
    WICK_TRY(wick_quantizer_apply_trained(ctx, in, out, l->q));
    wick_tensor *loss = wick_mean(wick_square(wick_sub(out[0], in[1])), WICK_ALL_AXES, false);
    for (int i = 1; i < l->n_out; i++) loss = wick_add(loss, wick_mean(wick_square(out[i]), WICK_ALL_AXES, false));
    return wick_optimizer_step(l->optimizer, loss);
}

static float x[BATCH * 3 * SIDE * SIDE], wanted[BATCH * 5], got[3][MOST_OUT], want[3][MOST_OUT];
static void draw(void) {
    for (int i = 0; i < BATCH * 3 * SIDE * SIDE; i++) x[i] = (float)(test_rand_real(-2, 2) * test_rand_real(0, 1));
}

static const wick_spec specs[2] = {{.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {BATCH, 3, SIDE, SIDE}},
                                   {.name = "y", .dtype = WICK_F32, .rank = 2, .dims = {BATCH, 5}}};

/* What fn gives of x; how many bytes each result has. */
static bool run(wick_function fn, void *user, int n_out, float to[3][MOST_OUT], size_t *bytes) {
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    bool good = wick_compile(ctx, fn, user, 1, specs, n_out, NULL, &plan) == WICK_OK &&
                wick_workspace_new(plan, &ws) == WICK_OK &&
                wick_run(ws, (const void *[]){x}, (void *[]){to[0], to[1], to[2]}) == WICK_OK;
    if (!good) printf("  %s\n", wick_context_error(ctx));
    for (int i = 0; i < n_out && good; i++) {
        const wick_spec spec = wick_plan_output(plan, i);
        bytes[i] = wick_spec_bytes(&spec);
        good = bytes[i] <= sizeof to[i];
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return good;
}

static bool set_up(const net *n, int threads) {
    if (wick_context_new(&(wick_context_options){.threads = threads, .seed = 5}, &ctx) != WICK_OK ||
        wick_model_new(ctx, &model) != WICK_OK)
        return false;
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y[3], *from = wick_random_normal(ctx, WICK_F32, WICK_DIMS(BATCH, 3, SIDE, SIDE));
    wick_model_set_training(model, true); /* so that batch norms have statistics */
    n->record(from, y);
    const bool good = wick_eval(ctx, n->n_out, y, NULL) == WICK_OK;
    if (!good) printf("  %s\n", wick_context_error(ctx));
    wick_scope_close(&scope);
    wick_model_set_training(model, false);
    return good;
}

static void compare(const net *n, const char *when, const size_t *bytes) {
    for (int i = 0; i < n->n_out; i++) {
        size_t other = 0;
        double most = 0;
        for (size_t k = 0; k < bytes[i] / sizeof(float); k++) {
            other += memcmp(&got[i][k], &want[i][k], sizeof(float)) != 0;
            most = fmax(most, fabs((double)got[i][k] - (double)want[i][k]));
        }
        CHECK_MSG(!other, "%s, %s: %zu of %zu numbers of result %d differ, by up to %g", n->name, when, other,
                  bytes[i] / sizeof(float), i, most);
    }
}

static void train(const net *n, const wick_quantizer_options *options, int threads) {
    REQUIRE(set_up(n, threads));
    wick_quantizer *q = NULL;
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    size_t bytes[3];
    lesson l = {.n_out = n->n_out};
    bool good = wick_quantizer_new(ctx, model, network, (void *)n, 1, specs, n->n_out, options, &q) == WICK_OK;
    for (int i = 0; i < 4 && good; i++) {
        draw();
        good = wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK;
    }
    good = good && wick_quantizer_finish(q) == WICK_OK && wick_quantizer_start_training(q) == WICK_OK;
    good = good && wick_optimizer_new(wick_quantizer_trained(q), &(wick_optim_options){.kind = WICK_ADAM, .lr = 1e-3},
                                      &l.optimizer) == WICK_OK;
    l.q = q;
    good = good && wick_compile(ctx, learn, &l, 2, specs, n->n_out, NULL, &plan) == WICK_OK &&
           wick_workspace_new(plan, &ws) == WICK_OK;
    CHECK_MSG(good, "%s: %s", n->name, wick_context_error(ctx));
    for (int i = 0; i < STEPS && good; i++) {
        draw();
        for (int k = 0; k < BATCH * 5; k++) wanted[k] = (float)test_rand_real(-1, 1);
        CHECK(wick_quantizer_finish(q) == WICK_OK && run(wick_quantizer_apply, q, n->n_out, want, bytes));
        CHECK(run(wick_quantizer_apply_trained, q, n->n_out, got, bytes));
        compare(n, "without a step", bytes);
        CHECK(wick_run(ws, (const void *[]){x, wanted}, (void *[]){got[0], got[1], got[2]}) == WICK_OK);
        compare(n, "in a step", bytes);
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_optimizer_free(&l.optimizer);
    wick_quantizer_free(&q);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

TEST(a_step_computes_what_the_integers_compute_to_the_bit) {
    for (size_t k = 0; k < WICK_COUNTOF(nets); k++) train(&nets[k], NULL, 1 + (int)k % 2);
}
TEST(with_learned_steps_too) {
    for (size_t k = 0; k < WICK_COUNTOF(nets); k++)
        train(&nets[k], &(wick_quantizer_options){.learn_steps = true, .reduce_range = k % 2}, 1);
}
TEST(with_weights_of_few_bits_too) {
    for (size_t k = 0; k < WICK_COUNTOF(nets); k++)
        train(&nets[k], &(wick_quantizer_options){.weight_bits = 2 + (int)k, .wide = k % 2 ? NULL : ""}, 1);
}
TEST(with_activations_of_16_bits_too) {
    for (size_t k = 0; k < WICK_COUNTOF(nets); k++)
        train(&nets[k], &(wick_quantizer_options){.activation_bits = 16, .learn_steps = k % 2}, 1);
}
TEST(with_one_scale_for_a_weight_or_layers_in_floats_too) {
    for (size_t k = 0; k < WICK_COUNTOF(nets); k++) {
        train(&nets[k], &(wick_quantizer_options){.per_tensor = true, .reduce_range = true}, 2);
        train(&nets[k], &(wick_quantizer_options){.keep = "conv1*|fc1*|a.weight"}, 1);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
