/* Layers: values and gradients against PyTorch's (golden/layers.txt), gradients against differences, dropout's
 * statistics. */
#include "golden/golden.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

static const double tolerance = 1e-9;
static golden *goldens;

static wick_context *golden_context(void) {
    if (!goldens) goldens = golden_load("layers.txt");
    return goldens ? new_context(.threads = 1, .seed = 3) : NULL;
}

#define SETUP                                                                                                          \
    wick_context *ctx = golden_context();                                                                              \
    wick_model *model = NULL;                                                                                          \
    REQUIRE(ctx != NULL);                                                                                              \
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK)
#define TEARDOWN                                                                                                       \
    wick_model_free(&model);                                                                                           \
    wick_context_free(&ctx)

static const golden *get(const char *a, const char *b) {
    char name[160];
    snprintf(name, sizeof name, "%s.%s", a, b);
    const golden *g = golden_find(goldens, name);
    CHECK_MSG(g != NULL, "no golden %s", name);
    return g;
}

static wick_tensor *tensor(wick_context *ctx, const golden *g) {
    return g ? wick_from(ctx, WICK_F64, g->rank, g->dims, g->values) : NULL;
}

static void check_values(const golden *g, wick_tensor *t) {
    if (!g) return;
    const char *text;
    CHECK_MSG(wick_tensor_error(t, &text) == WICK_OK, "%s: %s", g->name, text);
    CHECK_MSG(wick_tensor_count(t) == g->count && wick_tensor_rank(t) == g->rank, "%s: shape", g->name);
    double *values = calloc((size_t)g->count + 1, sizeof *values);
    if (values && wick_tensor_count(t) == g->count) {
        CHECK_MSG(wick_read(t, values, (size_t)g->count * sizeof *values) == WICK_OK, "%s: %s", g->name,
                  wick_context_error(wick_tensor_context(t)));
        CHECK_MSG(golden_distance(g, values) < tolerance, "%s: off by %g", g->name, golden_distance(g, values));
    }
    free(values);
}

/* Puts golden values into a state of the model. */
static void set_state(wick_model *model, const char *name, const golden *g) {
    wick_tensor *t = wick_model_find(model, name);
    CHECK_MSG(t != NULL && g != NULL, "no state %s", name);
    if (t && g) CHECK(wick_write(t, g->values, (size_t)g->count * sizeof(double)) == WICK_OK);
}

static wick_tensor *projected(wick_context *ctx, wick_tensor *y, const golden *r) {
    return r ? wick_sum(wick_mul(y, tensor(ctx, r)), WICK_ALL_AXES, false) : y;
}

/* ---- against PyTorch --------------------------------------------------------------------------------------------- */

/* Values are the op's (tests/ops): the layer makes parameters of the right names and shapes and passes the options on.
 */
TEST(conv_layers_make_their_parameters_and_shapes) {
    wick_context *ctx = NULL;
    wick_model *model = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK && wick_model_new(ctx, &model) == WICK_OK);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 6, 9, 7));
    const struct {
        const char *name;
        int64_t out, kernel, dims[4];
        wick_nn_conv_options options;
    } cases[] = {
        {"plain", 4, 3, {2, 4, 7, 5}, {0}},
        {"padded", 4, 3, {2, 4, 9, 7}, {.pad = 1}},
        {"same", 4, 4, {2, 4, 9, 7}, {.same = true}},
        {"same2", 4, 4, {2, 4, 5, 4}, {.same = true, .stride = 2}},
        {"strided", 8, 3, {2, 8, 4, 3}, {.stride = 2, .groups = 2, .no_bias = true}},
        {"dilated", 6, 3, {2, 6, 5, 3}, {.dilation = 2, .groups = 6}},
        {"wide", 4, 3, {2, 4, 7, 3}, {.kernels = {0, 5}}},
        {"uneven", 4, 3, {2, 4, 5, 7}, {.strides = {2}, .pads = {1, 2}, .dilations = {0, 2}, .pad = 7}},
        {"same3", 4, 0, {2, 4, 5, 3}, {.same = true, .kernels = {10, 4}, .stride = 2, .strides = {0, 3}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[64];
        wick_tensor *y = wick_nn_conv(model, cases[i].name, x, cases[i].out, cases[i].kernel, &cases[i].options);
        REQUIRE(wick_tensor_error(y, NULL) == WICK_OK);
        for (int d = 0; d < 4; d++) CHECK_INT(wick_tensor_dim(y, d), cases[i].dims[d]);
        const int64_t groups = cases[i].options.groups ? cases[i].options.groups : 1;
        snprintf(name, sizeof name, "%s.weight", cases[i].name);
        wick_tensor *w = wick_model_find(model, name);
        const int64_t *own = cases[i].options.kernels;
        const int64_t dims[4] = {cases[i].out, 6 / groups, own[0] ? own[0] : cases[i].kernel,
                                 own[1] ? own[1] : cases[i].kernel};
        for (int d = 0; d < 4; d++) CHECK_INT(wick_tensor_dim(w, d), dims[d]);
        double most = 0;
        CHECK_INT(wick_item(wick_max(wick_abs(w), WICK_ALL_AXES, false), &most), WICK_OK);
        const double bound = 1 / sqrt((double)(dims[1] * dims[2] * dims[3]));
        CHECK(most <= bound && most > 0.8 * bound);
        snprintf(name, sizeof name, "%s.bias", cases[i].name);
        CHECK((wick_model_find(model, name) == NULL) == cases[i].options.no_bias);
    }
    wick_tensor *line = wick_nn_conv(model, "line", wick_ones(ctx, WICK_F64, WICK_DIMS(1, 2, 5)), 3, 2, NULL);
    CHECK_INT(wick_tensor_rank(line), 3);
    CHECK_INT(wick_tensor_error(wick_nn_conv(model, "bad", x, 4, 3, &(wick_nn_conv_options){.groups = 4}), NULL),
              WICK_ERR_SHAPE);
    CHECK_INT(wick_tensor_error(wick_nn_conv(model, "bad", x, 4, 10, NULL), NULL), WICK_ERR_SHAPE);
    CHECK_INT(
        wick_tensor_error(wick_nn_conv(model, "bad", wick_ones(ctx, WICK_F32, WICK_DIMS(3, 3)), 4, 1, NULL), NULL),
        WICK_ERR_SHAPE);
    CHECK_INT(wick_tensor_error(wick_nn_conv(model, "bad", x, 4, 3, &(wick_nn_conv_options){.stride = -1}), NULL),
              WICK_ERR_INVALID);
    const char *text = "";
    CHECK_INT(wick_tensor_error(wick_nn_conv(model, "bad", x, 4, 3, &(wick_nn_conv_options){.pads = {0, -1}}), &text),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(text, "conv \"bad\", dim 1: kernel 3, stride 1, dilation 1, pad -1");
    CHECK_INT(wick_tensor_error(wick_nn_conv(model, "bad", x, 4, 0, &(wick_nn_conv_options){.kernels = {3}}), &text),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(text, "dim 1: kernel 0");
    wick_model_free(&model);
    wick_context_free(&ctx);
}

TEST(linear_agrees_with_pytorch) {
    SETUP;
    wick_tensor *x = tensor(ctx, get("linear.in", "x"));
    REQUIRE(wick_tensor_error(wick_nn_linear(model, "fc", x, 5), NULL) == WICK_OK);
    set_state(model, "fc.weight", get("linear.in", "weight"));
    set_state(model, "fc.bias", get("linear.in", "bias"));
    wick_tensor *y = wick_nn_linear(model, "fc", x, 5), *grad[3];
    check_values(get("linear", "y"), y);
    y = wick_nn_linear(model, "fc", x, 5);
    wick_grad(projected(ctx, y, get("linear", "r")), 3,
              (wick_tensor *[]){x, wick_model_find(model, "fc.weight"), wick_model_find(model, "fc.bias")}, grad);
    check_values(get("linear.grad", "x"), grad[0]);
    check_values(get("linear.grad", "weight"), grad[1]);
    check_values(get("linear.grad", "bias"), grad[2]);
    TEARDOWN;
}

TEST(layer_norm_agrees_with_pytorch) {
    SETUP;
    wick_tensor *x = tensor(ctx, get("layer_norm.in", "x")), *grad[3];
    REQUIRE(wick_tensor_error(wick_nn_layer_norm(model, "ln", x), NULL) == WICK_OK);
    set_state(model, "ln.weight", get("layer_norm.in", "weight"));
    set_state(model, "ln.bias", get("layer_norm.in", "bias"));
    wick_tensor *y = wick_nn_layer_norm(model, "ln", x);
    wick_grad(projected(ctx, y, get("layer_norm", "r")), 3,
              (wick_tensor *[]){x, wick_model_find(model, "ln.weight"), wick_model_find(model, "ln.bias")}, grad);
    check_values(get("layer_norm.grad", "x"), grad[0]);
    check_values(get("layer_norm.grad", "weight"), grad[1]);
    check_values(get("layer_norm.grad", "bias"), grad[2]);
    check_values(get("layer_norm", "y"), y);
    TEARDOWN;
}

static wick_tensor *layer_group(wick_model *model, wick_tensor *x) { return wick_nn_group_norm(model, "group", x, 3); }
static wick_tensor *layer_instance(wick_model *model, wick_tensor *x) {
    return wick_nn_instance_norm(model, "instance", x, true);
}
static wick_tensor *layer_bare(wick_model *model, wick_tensor *x) {
    return wick_nn_instance_norm(model, "bare", x, false);
}
static wick_tensor *layer_rms(wick_model *model, wick_tensor *x) { return wick_nn_rms_norm(model, "rms", x); }
/* Values are the ops' (tests/ops/test_norms.c): the layers make vectors of the right names and extents, and pass x on.
 */
TEST(norm_layers_make_their_vectors_and_mean_the_ops) {
    SETUP;
    wick_tensor *x = wick_reshape(wick_sin(wick_arange(ctx, WICK_F64, 0, 1, 2 * 6 * 5)), WICK_DIMS(2, 6, 5));
    REQUIRE(wick_eval(ctx, 1, &x, NULL) == WICK_OK);
    wick_tensor *w = wick_add(wick_arange(ctx, WICK_F64, 0, 1, 6), wick_constant(ctx, WICK_F64, 1)), *b = wick_neg(w),
                *v = wick_slice(w, 0, 0, 5, 1);
    const struct {
        const char *name;
        wick_tensor *(*layer)(wick_model *model, wick_tensor *x);
        wick_tensor *plain, *scaled;
        int64_t weight, bias;
    } cases[] = {
        {"group", layer_group, wick_group_norm(x, 3, NULL, NULL, 1e-5), wick_group_norm(x, 3, w, b, 1e-5), 6, 6},
        {"instance", layer_instance, wick_instance_norm(x, NULL, NULL, 1e-5), wick_instance_norm(x, w, b, 1e-5), 6, 6},
        {"bare", layer_bare, wick_instance_norm(x, NULL, NULL, 1e-5), wick_instance_norm(x, NULL, NULL, 1e-5), 0, 0},
        {"rms", layer_rms, wick_rms_norm(x, NULL, 1e-5), wick_rms_norm(x, v, 1e-5), 5, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double first = 1, second = 1;
        char name[32];
        CHECK(wick_item(wick_max(wick_abs(wick_sub(cases[i].layer(model, x), cases[i].plain)), WICK_ALL_AXES, false),
                        &first) == WICK_OK);
        snprintf(name, sizeof name, "%s.weight", cases[i].name);
        wick_tensor *weight = wick_model_find(model, name);
        snprintf(name, sizeof name, "%s.bias", cases[i].name);
        wick_tensor *bias = wick_model_find(model, name);
        CHECK_MSG((weight ? wick_tensor_count(weight) : 0) == cases[i].weight &&
                      (bias ? wick_tensor_count(bias) : 0) == cases[i].bias,
                  "%s", cases[i].name);
        if (weight) CHECK(wick_assign(weight, wick_slice(w, 0, 0, cases[i].weight, 1)) == WICK_OK);
        if (bias) CHECK(wick_assign(bias, b) == WICK_OK);
        CHECK(wick_item(wick_max(wick_abs(wick_sub(cases[i].layer(model, x), cases[i].scaled)), WICK_ALL_AXES, false),
                        &second) == WICK_OK);
        CHECK_MSG(first <= 1e-15 && second <= 1e-15, "%s: off by %g and %g", cases[i].name, first, second);
    }
    const char *text = "";
    CHECK(wick_tensor_error(wick_nn_group_norm(model, "g", wick_ones(ctx, WICK_F32, WICK_DIMS(3)), 1), &text) ==
          WICK_ERR_SHAPE);
    CHECK_STR_HAS(text, "group_norm \"g\": x has 1 dims; it needs [N, C, ...]");
    TEARDOWN;
}

static void batch_norm_case(const char *name) {
    SETUP;
    const char *const steps[] = {"train1", "train2", "eval"};
    for (int i = 0; i < 3; i++) {
        char at[64];
        snprintf(at, sizeof at, "%s.%s", name, steps[i]);
        wick_model_set_training(model, strcmp(steps[i], "eval") != 0);
        wick_tensor *x = tensor(ctx, get(at, "x")), *grad[3];
        if (i == 0) { /* make the states without a training step */
            wick_model_set_training(model, false);
            REQUIRE(wick_tensor_error(wick_nn_batch_norm(model, "bn", x), NULL) == WICK_OK);
            set_state(model, "bn.weight", get(name, "weight"));
            set_state(model, "bn.bias", get(name, "bias"));
            wick_model_set_training(model, true);
        }
        wick_tensor *y = wick_nn_batch_norm(model, "bn", x);
        wick_grad(projected(ctx, y, get(at, "r")), 3,
                  (wick_tensor *[]){x, wick_model_find(model, "bn.weight"), wick_model_find(model, "bn.bias")}, grad);
        wick_eval_info info = {0};
        CHECK(wick_eval(ctx, 4, (wick_tensor *[]){y, grad[0], grad[1], grad[2]}, &info) == WICK_OK);
        CHECK_INT(info.effects, i < 2 ? 2 : 0);
        check_values(get(at, "y"), y);
        check_values(get(at, "grad.x"), grad[0]);
        check_values(get(at, "grad.weight"), grad[1]);
        check_values(get(at, "grad.bias"), grad[2]);
        check_values(get(at, "mean"), wick_model_find(model, "bn.running_mean"));
        check_values(get(at, "var"), wick_model_find(model, "bn.running_var"));
    }
    CHECK(wick_model_at(model, 2).role == WICK_ROLE_BUFFER && wick_model_at(model, 3).role == WICK_ROLE_BUFFER);
    TEARDOWN;
}
TEST(batch_norm_of_rows_agrees_with_pytorch) { batch_norm_case("bn2"); }
TEST(batch_norm_of_images_agrees_with_pytorch) { batch_norm_case("bn4"); }
TEST(batch_norm_of_lines_and_volumes_agrees_with_pytorch) {
    batch_norm_case("bn3");
    batch_norm_case("bn5");
}
TEST(batch_norm_of_one_sample_agrees_with_pytorch) { batch_norm_case("bn_one"); }

TEST(batch_norm_of_nothing_is_nothing_in_evaluation_and_refused_in_training) {
    SETUP;
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 3, 4)), *grad;
    CHECK_INT(wick_tensor_error(wick_nn_batch_norm(model, "bn", x), NULL), WICK_ERR_SHAPE);
    wick_model_set_training(model, false);
    wick_tensor *y = wick_nn_batch_norm(model, "bn", x), *weight = wick_model_find(model, "bn.weight");
    wick_grad(wick_sum(y, WICK_ALL_AXES, false), 1, &weight, &grad);
    float g[3] = {1, 1, 1};
    CHECK(wick_eval(ctx, 2, (wick_tensor *[]){y, grad}, NULL) == WICK_OK && wick_tensor_dim(y, 0) == 0);
    CHECK(wick_read(grad, g, sizeof g) == WICK_OK && g[0] == 0 && g[1] == 0 && g[2] == 0);
    TEARDOWN;
}

static wick_tensor *last_log_softmax(wick_tensor *x) { return wick_log_softmax(x, -1); }
static wick_tensor *do_gelu(wick_tensor *x) { return wick_gelu(x); }
static wick_tensor *do_silu(wick_tensor *x) { return wick_silu(x); }
static wick_tensor *do_softplus(wick_tensor *x) { return wick_softplus(x); }

TEST(activations_agree_with_pytorch) {
    SETUP;
    const struct {
        const char *name;
        wick_tensor *(*fn)(wick_tensor *);
    } cases[] = {{"gelu", do_gelu}, {"silu", do_silu}, {"softplus", do_softplus}, {"log_softmax", last_log_softmax}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char at[64];
        snprintf(at, sizeof at, "%s.in", cases[i].name);
        wick_tensor *x = tensor(ctx, get(at, "x")), *y = cases[i].fn(x), *grad;
        wick_grad(projected(ctx, y, get(cases[i].name, "r")), 1, &x, &grad);
        snprintf(at, sizeof at, "%s.grad", cases[i].name);
        check_values(get(at, "x"), grad);
        check_values(get(cases[i].name, "y"), y);
    }
    TEARDOWN;
}

TEST(losses_agree_with_pytorch) {
    SETUP;
    wick_tensor *x = tensor(ctx, get("cross_entropy.in", "x")), *grad[2];
    const int64_t labels[] = {3, 0, 1, 1, 2};
    wick_tensor *loss = wick_cross_entropy(x, wick_from(ctx, WICK_I64, WICK_DIMS(5), labels));
    wick_grad(loss, 1, &x, grad);
    check_values(get("cross_entropy.grad", "x"), grad[0]);
    check_values(get("cross_entropy", "y"), loss);
    wick_tensor *p[2] = {tensor(ctx, get("mse.in", "x")), tensor(ctx, get("mse.in", "t"))};
    loss = wick_mse(p[0], p[1]);
    wick_grad(loss, 2, p, grad);
    check_values(get("mse.grad", "x"), grad[0]);
    check_values(get("mse.grad", "t"), grad[1]);
    check_values(get("mse", "y"), loss);
    TEARDOWN;
}

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

TEST(dropout_keeps_the_mean_and_drops_the_share) {
    SETUP;
    enum { N = 100000 };
    static float y[N];
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(N));
    const double ps[] = {0, 0.1, 0.5, 0.9};
    for (int k = 0; k < 4; k++) {
        REQUIRE(wick_read(wick_nn_dropout(model, x, ps[k]), y, sizeof y) == WICK_OK);
        int zeros = 0;
        double sum = 0;
        for (int i = 0; i < N; i++) {
            zeros += y[i] == 0;
            sum += (double)y[i];
            CHECK(y[i] == 0 || fabs((double)y[i] - 1 / (1 - ps[k])) < 1e-5);
        }
        /* 5 standard deviations of a binomial count */
        CHECK_MSG(fabs(zeros - N * ps[k]) <= 5 * sqrt(N * ps[k] * (1 - ps[k])), "p %g: %d zeros", ps[k], zeros);
        CHECK_MSG(fabs(sum / N - 1) < 0.06, "p %g: mean %g", ps[k], sum / N);
    }
    TEARDOWN;
}

TEST(dropout_draws_anew_each_time_and_rests_in_evaluation) {
    SETUP;
    float a[64], b[64];
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(64));
    CHECK(wick_read(wick_nn_dropout(model, x, 0.5), a, sizeof a) == WICK_OK);
    CHECK(wick_read(wick_nn_dropout(model, x, 0.5), b, sizeof b) == WICK_OK);
    CHECK(memcmp(a, b, sizeof a) != 0);
    wick_model_set_training(model, false);
    CHECK(wick_nn_dropout(model, x, 0.5) == x);
    CHECK_INT(wick_tensor_error(wick_nn_dropout(model, x, 1.5), NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_nn_dropout(model, x, NAN), NULL), WICK_ERR_INVALID);
    wick_model_set_training(model, true);
    CHECK_INT(wick_tensor_error(wick_nn_dropout(model, x, -0.1), NULL), WICK_ERR_INVALID);
    TEARDOWN;
}

/* ---- mistakes ---------------------------------------------------------------------------------------------------- */

TEST(mistakes_poison_and_name_the_layer) {
    SETUP;
    const char *text;
    wick_tensor *ints = wick_zeros(ctx, WICK_I32, WICK_DIMS(2, 3)), *number = wick_zeros(ctx, WICK_F32, WICK_SCALAR);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(1, 3));
    CHECK_INT(wick_tensor_error(wick_nn_linear(model, "fc7", ints, 2), &text), WICK_ERR_DTYPE);
    CHECK_STR_HAS(text, "fc7");
    CHECK_STR_HAS(text, "test_layers.c"); /* the caller's line */
    CHECK_INT(wick_tensor_error(wick_nn_linear(model, "fc7", number, 2), &text), WICK_ERR_SHAPE);
    CHECK_INT(wick_tensor_error(wick_nn_linear(model, "fc7", x, 0), &text), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_nn_linear(model, NULL, x, 2), &text), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_nn_linear(model, "", x, 2), &text), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_nn_layer_norm(model, "ln", ints), &text), WICK_ERR_DTYPE);
    CHECK_INT(wick_tensor_error(wick_nn_batch_norm(model, "bn", ints), &text), WICK_ERR_DTYPE);
    CHECK_INT(wick_tensor_error(wick_nn_batch_norm(model, "bn", number), &text), WICK_ERR_SHAPE);
    CHECK_INT(wick_tensor_error(wick_nn_batch_norm(model, "bn", x), &text), WICK_ERR_SHAPE); /* one value per channel */
    CHECK_STR_HAS(text, "more than one");
    /* poison comes through as it is, NULL counts as out of memory */
    wick_tensor *bad = wick_nn_linear(model, "fc7", ints, 2);
    CHECK_INT(wick_tensor_error(wick_nn_batch_norm(model, "bn", wick_relu(bad)), &text), WICK_ERR_DTYPE);
    CHECK_STR_HAS(text, "fc7");
    CHECK_INT(wick_tensor_error(wick_nn_linear(model, "fc7", NULL, 2), NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_nn_batch_norm(model, "bn", NULL), NULL), WICK_ERR_INVALID);
    wick_eval_info info = {0};
    CHECK(wick_eval(ctx, 0, NULL, &info) == WICK_OK);
    CHECK_INT(info.effects, 0); /* a layer that failed moved no statistics */
    TEARDOWN;
}

TEST(empty_batches_pass) {
    SETUP;
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 3)), *y = wick_nn_linear(model, "fc", x, 2);
    CHECK(wick_eval(ctx, 1, &y, NULL) == WICK_OK);
    CHECK_INT(wick_tensor_dim(y, 0), 0);
    CHECK_INT(wick_tensor_dim(y, 1), 2);
    TEARDOWN;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static wick_tensor *list_linear(wick_model *model, const char *name, wick_tensor *x, const void *arg) {
    return wick_nn_linear(model, name, x, *(const int64_t *)arg);
}
static wick_tensor *list_relu(wick_model *model, const char *name, wick_tensor *x, const void *arg) {
    (void)model, (void)name, (void)arg;
    return wick_relu(x);
}

TEST(sequential_runs_layers_in_order) {
    SETUP;
    const int64_t hidden = 5, out = 2;
    const wick_layer layers[] = {{"fc1", list_linear, &hidden}, {"act", list_relu, NULL}, {"fc2", list_linear, &out}};
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(3, 4)), *y = wick_nn_sequential(model, 3, layers, x);
    wick_tensor *same = wick_nn_linear(model, "fc2", wick_relu(wick_nn_linear(model, "fc1", x, 5)), 2);
    float a[6], b[6];
    CHECK(wick_read(y, a, sizeof a) == WICK_OK && wick_read(same, b, sizeof b) == WICK_OK);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK_INT(wick_model_count(model), 4);
    CHECK(wick_nn_sequential(model, 0, NULL, x) == x);
    const wick_layer broken = {"none", NULL, NULL};
    CHECK_INT(wick_tensor_error(wick_nn_sequential(model, 1, &broken, x), NULL), WICK_ERR_INVALID);
    TEARDOWN;
}

/* ---- gradients against differences ------------------------------------------------------------------------------- */

typedef struct layer_case {
    wick_model *model;
    int kind; /* of what is checked */
} layer_case;

static wick_tensor *layer_function(wick_context *ctx, wick_tensor *const *x, void *user) {
    const layer_case *c = user;
    wick_tensor *y = NULL, *r = NULL;
    const int64_t labels[] = {1, 0, 2, 2};
    switch (c->kind) {
    case 0:
        y = wick_nn_linear(c->model, "fc", x[0], 5);
        break;
    case 1:
        y = wick_nn_layer_norm(c->model, "ln", x[0]);
        break;
    case 2:
    case 3:
        y = wick_nn_batch_norm(c->model, "bn", x[0]);
        break;
    case 4:
        y = wick_nn_dropout(c->model, x[0], 0.3);
        break;
    case 5:
        return wick_cross_entropy(wick_nn_linear(c->model, "fc", x[0], 3),
                                  wick_from(ctx, WICK_I64, WICK_DIMS(4), labels));
    default:
        return wick_mse(wick_gelu(wick_nn_linear(c->model, "fc", x[0], 3)), wick_zeros(ctx, WICK_F64, WICK_DIMS(4, 3)));
    }
    /* weights that differ, so that no symmetry hides a mistake */
    r = wick_reshape(wick_arange(ctx, WICK_F64, -1, 0.37, wick_tensor_count(y)), wick_tensor_rank(y),
                     wick_tensor_dims(y));
    return wick_sum(wick_mul(y, wick_sin(r)), WICK_ALL_AXES, false);
}

TEST(every_layer_passes_the_gradient_check) {
    for (int kind = 0; kind < 7; kind++) {
        SETUP;
        double data[12];
        for (int i = 0; i < 12; i++) data[i] = test_rand_real(-2, 2);
        wick_tensor *x[8] = {wick_from(ctx, WICK_F64, WICK_DIMS(4, 3), data)};
        layer_case c = {model, kind};
        wick_model_set_training(model, false); /* makes the states */
        (void)layer_function(ctx, x, &c);
        wick_model_set_training(model, kind != 3);
        int n = 1;
        for (int i = 0; i < wick_model_count(model); i++)
            if (wick_model_at(model, i).role == WICK_ROLE_PARAM) x[n++] = wick_model_at(model, i).tensor;
        wick_gradcheck_report report;
        wick_status status = wick_gradcheck(ctx, layer_function, &c, n, x, 0, 1e-7, &report);
        CHECK_MSG(status == WICK_OK, "layer %d: %s", kind, wick_context_error(ctx));
        CHECK_MSG(report.worst < 1e-7, "layer %d: %g", kind, report.worst);
        double after[12];
        CHECK(wick_read(x[0], after, sizeof after) == WICK_OK && memcmp(data, after, sizeof data) == 0);
        TEARDOWN;
    }
}

int main(int argc, char **argv) {
    int rc = test_main(argc, argv);
    golden_free(goldens);
    return rc;
}
