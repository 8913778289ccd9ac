/* Named state: made once, found again, refused when it is something else; first values; paths. */
#include "base/counting_alloc.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

#define SETUP                                                                                                          \
    wick_context *ctx = new_context(.threads = 1, .seed = 1);                                                          \
    wick_model *model = NULL;                                                                                          \
    REQUIRE(ctx != NULL);                                                                                              \
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK)
#define TEARDOWN                                                                                                       \
    wick_model_free(&model);                                                                                           \
    wick_context_free(&ctx)

static const char *text_of(wick_tensor *t) {
    const char *text;
    (void)wick_tensor_error(t, &text);
    return text;
}

TEST(state_is_made_once_and_found_again) {
    SETUP;
    wick_tensor *a = wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(2, 3), wick_init_constant(1.5));
    wick_tensor *b = wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(2, 3), wick_init_constant(9));
    CHECK(a == b);
    CHECK(wick_tensor_ready(a));
    CHECK_INT(wick_model_count(model), 1);
    CHECK(wick_model_find(model, "w") == a);
    CHECK(wick_model_find(model, "v") == NULL);
    CHECK(wick_model_find(model, NULL) == NULL);
    wick_named named = wick_model_at(model, 0);
    CHECK(strcmp(named.name, "w") == 0 && named.role == WICK_ROLE_PARAM && named.tensor == a);
    CHECK(wick_model_at(model, 1).tensor == NULL && wick_model_at(model, -1).tensor == NULL);
    float x[6];
    CHECK(wick_read(a, x, sizeof x) == WICK_OK);
    for (int i = 0; i < 6; i++) CHECK(x[i] == 1.5f);
    TEARDOWN;
}

TEST(state_of_another_shape_dtype_or_role_is_refused_by_name) {
    SETUP;
    wick_tensor *a =
        wick_model_state(model, "fc.weight", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(2, 3), wick_init_constant(0));
    CHECK(wick_tensor_error(a, NULL) == WICK_OK);
    wick_tensor *t =
        wick_model_state(model, "fc.weight", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(3, 2), wick_init_constant(0));
    CHECK_INT(wick_tensor_error(t, NULL), WICK_ERR_SHAPE);
    CHECK_STR_HAS(text_of(t), "fc.weight");
    CHECK_STR_HAS(text_of(t), "f32[3,2]");
    t = wick_model_state(model, "fc.weight", WICK_ROLE_PARAM, WICK_F64, WICK_DIMS(2, 3), wick_init_constant(0));
    CHECK_INT(wick_tensor_error(t, NULL), WICK_ERR_DTYPE);
    t = wick_model_state(model, "fc.weight", WICK_ROLE_BUFFER, WICK_F32, WICK_DIMS(2, 3), wick_init_constant(0));
    CHECK_INT(wick_tensor_error(t, NULL), WICK_ERR_INVALID);
    CHECK_STR_HAS(text_of(t), "parameter");
    CHECK_INT(wick_model_count(model), 1);
    TEARDOWN;
}

TEST(bad_states_are_refused) {
    SETUP;
    char longer[400];
    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    const char *const names[] = {"", "a\nb", "__metadata__", longer};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wick_tensor *t =
            wick_model_state(model, names[i], WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(2), wick_init_constant(0));
        CHECK_INT(wick_tensor_error(t, NULL), WICK_ERR_INVALID);
    }
    CHECK_INT(wick_tensor_error(
                  wick_model_state(model, NULL, WICK_ROLE_PARAM, WICK_F32, WICK_SCALAR, wick_init_constant(0)), NULL),
              WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(
                  wick_model_state(model, "d", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(-2), wick_init_constant(0)), NULL),
              WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(
                  wick_model_state(model, "r", WICK_ROLE_PARAM, WICK_I32, WICK_DIMS(2), wick_init_linear(4)), NULL),
              WICK_ERR_DTYPE);
    CHECK_INT(wick_tensor_error(wick_model_state(model, "o", (wick_role)7, WICK_F32, WICK_DIMS(2), wick_init_linear(4)),
                                NULL),
              WICK_ERR_INVALID);
    CHECK_INT(wick_model_count(model), 0);
    TEARDOWN;
}

TEST(many_states_are_all_found) {
    SETUP;
    char name[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "layer%d.weight", i);
        wick_tensor *t = wick_model_state(model, name, WICK_ROLE_PARAM, WICK_F64, WICK_SCALAR, wick_init_constant(i));
        REQUIRE(wick_tensor_error(t, NULL) == WICK_OK);
    }
    CHECK_INT(wick_model_count(model), 1000);
    for (int i = 0; i < 1000; i += 7) {
        double value;
        snprintf(name, sizeof name, "layer%d.weight", i);
        wick_tensor *t = wick_model_find(model, name);
        REQUIRE(t != NULL && wick_item(t, &value) == WICK_OK);
        CHECK(value == i);
        CHECK(strcmp(wick_model_at(model, i).name, name) == 0);
    }
    TEARDOWN;
}

TEST(states_outlive_the_scope_they_were_made_in) {
    SETUP;
    wick_scope *scope = wick_scope_open(ctx);
    (void)wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(3), wick_init_constant(2));
    wick_scope_close(&scope);
    float x[3];
    wick_tensor *w = wick_model_find(model, "w");
    REQUIRE(w != NULL && wick_read(w, x, sizeof x) == WICK_OK);
    CHECK(x[0] == 2 && x[1] == 2 && x[2] == 2);
    TEARDOWN;
}

static void moments(wick_tensor *t, double *mean, double *variance, double *low, double *high) {
    static float x[200000];
    const int64_t n = wick_tensor_count(t);
    *mean = *variance = NAN;
    *low = INFINITY, *high = -INFINITY;
    if (wick_read(wick_cast(t, WICK_F32), x, (size_t)n * sizeof *x) != WICK_OK) return;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)x[i];
        *low = fmin(*low, (double)x[i]);
        *high = fmax(*high, (double)x[i]);
    }
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *variance = squares / (double)n;
}

TEST(first_values_have_the_documented_distribution) {
    SETUP;
    const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_BF16, WICK_F16};
    const struct {
        wick_init init;
        double deviation, bound; /* bound INFINITY: not bounded */
    } cases[] = {
        {wick_init_linear(25), 0.2 / sqrt(3), 0.2},
        {wick_init_xavier(100, 50), 0.2 / sqrt(3), 0.2},
        {wick_init_kaiming(50), 0.2, INFINITY},
        {wick_init_truncated(0, 0.1), 0.1 * 0.87962566103423978, 0.2}, /* sqrt(1 - 4 phi(2) / (2 Phi(2) - 1)) */
    };
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 4; i++) {
            char name[32];
            snprintf(name, sizeof name, "s%d.%d", d, i);
            double mean, variance, low, high;
            moments(wick_model_state(model, name, WICK_ROLE_PARAM, dtypes[d], WICK_DIMS(401, 251), cases[i].init),
                    &mean, &variance, &low, &high);
            CHECK_MSG(fabs(mean) < 0.003, "%s: mean %g", name, mean);
            CHECK_MSG(fabs(sqrt(variance) / cases[i].deviation - 1) < 0.01, "%s: deviation %g", name, sqrt(variance));
            if (isfinite(cases[i].bound)) {
                CHECK_MSG(low >= -cases[i].bound * 1.004 && high <= cases[i].bound * 1.004, "%s: %g %g", name, low,
                          high);
                CHECK_MSG(low < -0.99 * cases[i].bound && high > 0.99 * cases[i].bound, "%s: %g %g", name, low, high);
            }
        }
    TEARDOWN;
}

TEST(first_values_depend_on_seed_and_name_only) {
    float x[3][64];
    for (int run = 0; run < 3; run++) {
        wick_context *ctx = new_context(.threads = 1, .seed = run == 2 ? 6 : 5);
        wick_model *model;
        REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK);
        /* what else was made or drawn before makes no difference */
        (void)wick_model_state(model, run ? "zz" : "y", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(7 + run),
                               wick_init_linear(3));
        for (int i = 0; i < run; i++) (void)wick_random_normal(ctx, WICK_F32, WICK_DIMS(5));
        wick_tensor *t = wick_model_state(model, "a", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(64), wick_init_kaiming(2));
        CHECK(wick_read(t, x[run], sizeof x[run]) == WICK_OK);
        wick_tensor *other =
            wick_model_state(model, "b", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(64), wick_init_kaiming(2));
        float y[64];
        CHECK(wick_read(other, y, sizeof y) == WICK_OK);
        CHECK(memcmp(x[run], y, sizeof y) != 0);
        wick_model_free(&model);
        wick_context_free(&ctx);
    }
    CHECK(memcmp(x[0], x[1], sizeof x[0]) == 0);
    CHECK(memcmp(x[0], x[2], sizeof x[0]) != 0);
}

TEST(a_truncated_value_depends_on_its_place_not_on_how_many_there_are) {
    for (int d = 0; d < 2; d++) {
        SETUP;
        char a[2][8 * 1001] = {{0}};
        const wick_dtype dtype = d ? WICK_F64 : WICK_F32;
        for (int i = 0; i < 2; i++) {
            wick_model *other = NULL;
            const int64_t n = i ? 1001 : 999;
            REQUIRE(wick_model_new(ctx, &other) == WICK_OK);
            wick_tensor *t =
                wick_model_state(other, "w", WICK_ROLE_PARAM, dtype, WICK_DIMS(n), wick_init_truncated(0.5, 2));
            CHECK_INT(wick_read(t, a[i], (size_t)n * wick_dtype_size(dtype)), WICK_OK);
            wick_model_free(&other);
        }
        CHECK(memcmp(a[0], a[1], 999 * wick_dtype_size(dtype)) == 0);
        TEARDOWN;
    }
}

static wick_init seen_fans[2];
static wick_init rule_of_fans(int64_t fan_in, int64_t fan_out) {
    return seen_fans[0] = wick_init_constant((double)fan_in), seen_fans[1] = wick_init_constant((double)fan_out),
           wick_init_truncated(0, 1);
}

TEST(a_rule_makes_the_weights_of_layers_from_their_fans_and_biases_zero) {
    SETUP;
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 6, 9, 7));
    double most = 0, bias = 1, norm = 0;
    (void)wick_nn_conv(model, "before", x, 4, 3, NULL);
    wick_model_set_init(model, rule_of_fans);
    (void)wick_nn_conv(model, "conv", x, 4, 3, &(wick_nn_conv_options){.groups = 2});
    CHECK(seen_fans[0].a == 3 * 9 && seen_fans[1].a == 4 * 9); /* as PyTorch counts, whatever the groups */
    (void)wick_nn_linear(model, "fc", x, 500);
    CHECK(seen_fans[0].a == 7 && seen_fans[1].a == 500);
    (void)wick_nn_batch_norm(model, "bn", x); /* keeps its constants */
    CHECK_INT(wick_item(wick_max(wick_abs(wick_model_find(model, "fc.weight")), WICK_ALL_AXES, false), &most), WICK_OK);
    CHECK(most > 1.9 && most <= 2);
    CHECK(wick_item(wick_max(wick_abs(wick_model_find(model, "conv.bias")), WICK_ALL_AXES, false), &bias) == WICK_OK &&
          bias == 0);
    CHECK(wick_item(wick_min(wick_model_find(model, "bn.weight"), WICK_ALL_AXES, false), &norm) == WICK_OK &&
          norm == 1);
    CHECK(wick_item(wick_max(wick_abs(wick_model_find(model, "before.bias")), WICK_ALL_AXES, false), &bias) ==
              WICK_OK &&
          bias > 0);
    wick_model_set_init(model, wick_init_xavier);
    (void)wick_nn_linear(model, "fc2", x, 5);
    CHECK(wick_item(wick_max(wick_abs(wick_model_find(model, "fc2.weight")), WICK_ALL_AXES, false), &most) == WICK_OK &&
          most <= sqrt(0.5) && most > 0.5);
    wick_model_set_init(model, NULL);
    (void)wick_nn_linear(model, "fc3", x, 5);
    CHECK(wick_item(wick_max(wick_abs(wick_model_find(model, "fc3.bias")), WICK_ALL_AXES, false), &bias) == WICK_OK &&
          bias > 0);
    TEARDOWN;
}

TEST(zero_sized_states_and_fans_are_fine) {
    SETUP;
    wick_tensor *t = wick_model_state(model, "e", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(0, 4), wick_init_linear(0));
    CHECK(wick_tensor_error(t, NULL) == WICK_OK && wick_tensor_count(t) == 0);
    t = wick_model_state(model, "b", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(3), wick_init_linear(0));
    float x[3] = {1, 1, 1};
    CHECK(wick_read(t, x, sizeof x) == WICK_OK && x[0] == 0 && x[1] == 0 && x[2] == 0);
    TEARDOWN;
}

TEST(pushed_names_prefix_layers_but_not_optimizer_states) {
    SETUP;
    REQUIRE(wick_model_push(model, "block1") == WICK_OK);
    REQUIRE(wick_model_push(model, "inner") == WICK_OK);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3));
    CHECK(wick_tensor_error(wick_nn_linear(model, "fc", x, 4), NULL) == WICK_OK);
    (void)wick_model_state(model, "optim.step", WICK_ROLE_OPTIM, WICK_I64, WICK_SCALAR, wick_init_constant(0));
    wick_model_pop(model);
    (void)wick_nn_layer_norm(model, "norm", x);
    wick_model_pop(model);
    wick_model_pop(model); /* one too many does nothing */
    (void)wick_nn_linear(model, "fc", x, 4);
    CHECK(wick_model_find(model, "block1.inner.fc.weight") != NULL);
    CHECK(wick_model_find(model, "block1.inner.fc.bias") != NULL);
    CHECK(wick_model_find(model, "block1.norm.weight") != NULL);
    CHECK(wick_model_find(model, "optim.step") != NULL);
    CHECK(wick_model_find(model, "fc.weight") != NULL);
    CHECK_INT(wick_model_count(model), 7);
    CHECK_INT(wick_model_push(model, ""), WICK_ERR_INVALID);
    int depth = 0;
    while (depth < 1000 && wick_model_push(model, "deeper") == WICK_OK) depth++;
    CHECK(depth > 8 && depth < 1000);
    TEARDOWN;
}

TEST(training_is_the_default_and_can_be_left) {
    SETUP;
    CHECK(wick_model_training(model));
    wick_model_set_training(model, false);
    CHECK(!wick_model_training(model));
    CHECK(wick_model_context(model) == ctx);
    TEARDOWN;
    wick_model_free(&model);
    wick_model_free(NULL);
}

/* ---- making state inside a function that is being compiled ------------------------------------------------------- */

static wick_status layer_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_nn_linear(user, "fc", in[0], 3);
    return WICK_OK;
}

TEST(parameters_made_while_compiling_are_plain_state) {
    SETUP;
    wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {2, 4}};
    wick_plan *plan;
    wick_workspace *workspace;
    REQUIRE(wick_compile(ctx, layer_body, model, 1, &spec, 1, NULL, &plan) == WICK_OK);
    wick_tensor *w = wick_model_find(model, "fc.weight"), *b = wick_model_find(model, "fc.bias");
    REQUIRE(w != NULL && b != NULL && wick_tensor_ready(w) && wick_tensor_ready(b));
    float weights[12], bias[3], x[8], y[6];
    REQUIRE(wick_read(w, weights, sizeof weights) == WICK_OK && wick_read(b, bias, sizeof bias) == WICK_OK);
    for (int i = 0; i < 8; i++) x[i] = (float)i - 3;
    REQUIRE(wick_workspace_new(plan, &workspace) == WICK_OK);
    REQUIRE(wick_run(workspace, (const void *[]){x}, (void *[]){y}) == WICK_OK);
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 3; c++) {
            double sum = (double)bias[c];
            for (int k = 0; k < 4; k++) sum += (double)x[4 * r + k] * (double)weights[4 * c + k];
            CHECK_MSG(fabs((double)y[3 * r + c] - sum) < 1e-5, "%g %g", (double)y[3 * r + c], sum);
        }
    /* a new value is seen by the next run */
    memset(weights, 0, sizeof weights);
    CHECK(wick_write(w, weights, sizeof weights) == WICK_OK);
    REQUIRE(wick_run(workspace, (const void *[]){x}, (void *[]){y}) == WICK_OK);
    CHECK(y[0] == bias[0] && y[5] == bias[2]);
    wick_workspace_free(&workspace);
    wick_plan_free(&plan);
    TEARDOWN;
}

/* ---- running out of memory --------------------------------------------------------------------------------------- */

TEST(each_failing_allocation_is_an_error_and_leaves_the_model_usable) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK);
    int failures = 0;
    for (int limit = 0; limit < 200; limit++) {
        wick_model *model;
        memory.fail_at = memory.calls + limit;
        wick_status status = wick_model_new(ctx, &model);
        wick_tensor *t = NULL;
        if (status == WICK_OK)
            t = wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_BF16, WICK_DIMS(300), wick_init_kaiming(3));
        memory.fail_at = -1;
        if (status != WICK_OK) {
            CHECK_INT(status, WICK_ERR_NOMEM);
            CHECK(model == NULL);
            failures++;
            continue;
        }
        const bool failed = wick_tensor_error(t, NULL) != WICK_OK;
        if (failed) CHECK_INT(wick_tensor_error(t, NULL), WICK_ERR_NOMEM);
        failures += failed;
        t = wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_BF16, WICK_DIMS(300), wick_init_kaiming(3));
        CHECK(wick_tensor_error(t, NULL) == WICK_OK);
        wick_model_free(&model);
        if (!failed) break;
    }
    CHECK(failures > 2 && failures < 100);
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

static wick_init he(int64_t fan_in, int64_t fan_out) { return (void)fan_out, wick_init_kaiming(fan_in); }

TEST(a_state_can_be_taken_out) {
    wick_context *ctx;
    wick_model *m;
    char name[32];
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK && wick_model_new(ctx, &m) == WICK_OK);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "w%d", i);
        wick_model_state(m, name, i & 1 ? WICK_ROLE_PARAM : WICK_ROLE_BUFFER, WICK_F32, 1, (const int64_t[]){i},
                         wick_init_constant(0));
    }
    CHECK(wick_model_alias(m, "gone", "w30") == WICK_OK && wick_model_alias(m, "stays", "w31") == WICK_OK);
    for (int i = 0; i < 200; i += 3) {
        snprintf(name, sizeof name, "w%d", i);
        CHECK(wick_model_remove(m, name) && !wick_model_remove(m, name));
    }
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "w%d", i);
        wick_tensor *t = wick_model_find(m, name);
        CHECK((t != NULL) == (i % 3 != 0) && (!t || wick_tensor_dim(t, 0) == i));
    }
    CHECK_INT(wick_model_count(m), 133);
    CHECK(!wick_model_find(m, "gone") && wick_model_find(m, "stays") == wick_model_find(m, "w31"));
    CHECK(!wick_model_remove(m, NULL) && !wick_model_remove(NULL, "w1"));
    wick_model_free(&m);
    wick_context_free(&ctx);
}

TEST(states_are_made_anew_by_name) {
    wick_context *ctx;
    wick_model *model;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .seed = 4}, &ctx) == WICK_OK &&
            wick_model_new(ctx, &model) == WICK_OK);
    CHECK_INT(wick_model_reinit(model, "*", wick_init_constant(1)), WICK_ERR_INVALID);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 100));
    (void)wick_nn_batch_norm(model, "bn", wick_nn_linear(model, "fc", x, 50));
    CHECK(wick_eval(ctx, 0, NULL, NULL) == WICK_OK);
    static float weight[2][5000];
    float bias[50], mean[2][50];
    wick_tensor *w = wick_model_find(model, "fc.weight"), *b = wick_model_find(model, "fc.bias"),
                *running = wick_model_find(model, "bn.running_mean");
    CHECK(wick_read(w, weight[0], sizeof weight[0]) == WICK_OK &&
          wick_read(running, mean[0], sizeof mean[0]) == WICK_OK);
    CHECK(wick_model_reinit(model, "*.bias", wick_init_constant(0.25)) == WICK_OK);
    CHECK(wick_read(b, bias, sizeof bias) == WICK_OK && bias[0] == 0.25f && bias[49] == 0.25f);
    CHECK(wick_read(w, weight[1], sizeof weight[1]) == WICK_OK && memcmp(weight[0], weight[1], sizeof weight[0]) == 0);
    CHECK(wick_model_reinit_by(model, "*", he) == WICK_OK);
    CHECK(wick_read(w, weight[1], sizeof weight[1]) == WICK_OK && wick_read(b, bias, sizeof bias) == WICK_OK &&
          bias[7] == 0.25f);
    double squares = 0;
    for (int i = 0; i < 5000; i++) squares += (double)weight[1][i] * (double)weight[1][i];
    CHECK_MSG(fabs(sqrt(squares / 5000) / sqrt(2.0 / 100) - 1) < 0.05, "deviation %g", sqrt(squares / 5000));
    /* The same seed and name, the same numbers; buffers stay. */
    CHECK(wick_model_reinit(model, "fc.weight", wick_init_linear(100)) == WICK_OK &&
          wick_read(w, weight[1], sizeof weight[1]) == WICK_OK);
    CHECK(memcmp(weight[0], weight[1], sizeof weight[0]) == 0);
    CHECK(wick_model_reinit(model, "*", wick_init_constant(3)) == WICK_OK &&
          wick_read(running, mean[1], sizeof mean[1]) == WICK_OK);
    CHECK(memcmp(mean[0], mean[1], sizeof mean[0]) == 0);
    CHECK_INT(wick_model_reinit_by(model, "*.bias", he), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "\"*.bias\"");
    CHECK_INT(wick_model_reinit(model, "fc9.*", wick_init_constant(0)), WICK_ERR_INVALID);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
