/* Hints between layers: values and gradients as PyTorch has them (golden/make_hints.py), and what is refused. */
#include "golden/hints.h"
#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static wick_model *model;
static bool set_up(void) {
    return wick_context_new(&(wick_context_options){.threads = 1, .seed = 2}, &ctx) == WICK_OK &&
           wick_model_new(ctx, &model) == WICK_OK;
}
static void tear_down(void) {
    wick_model_free(&model);
    wick_context_free(&ctx);
}
static wick_tensor *tensor(const float *data, int64_t channels) {
    return wick_from(ctx, WICK_F32, WICK_DIMS(HINT_N, channels, HINT_H, HINT_W), data);
}
static void check_near(wick_tensor *x, const float *want, const char *what) {
    const void *data;
    const bool there = wick_data(x, &data) == WICK_OK;
    CHECK_MSG(there, "%s: %s", what, wick_context_error(ctx));
    if (!there) return;
    for (int64_t i = 0; i < wick_tensor_count(x); i++) {
        const double got = (double)((const float *)data)[i], near = (double)want[i];
        CHECK_MSG(fabs(got - near) < 2e-6 + 2e-6 * fabs(near), "%s %lld: %g, not %g", what, (long long)i, got, near);
    }
}

TEST(features_are_learned_through_a_convolution) {
    REQUIRE(set_up());
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *s = tensor(hint_student, HINT_S), *t = tensor(hint_teacher, HINT_T);
    wick_tensor *loss = wick_hint_features(model, "hint", s, t);
    wick_tensor *w = wick_model_find(model, "hint.weight"), *b = wick_model_find(model, "hint.bias");
    REQUIRE(w && b && wick_write(w, hint_weight, sizeof hint_weight) == WICK_OK &&
            wick_write(b, hint_bias, sizeof hint_bias) == WICK_OK);
    loss = wick_hint_features(model, "hint", s, t); /* of these */
    wick_tensor *grads[4];
    wick_grad(loss, 3, (wick_tensor *[]){s, w, b}, grads);
    check_near(grads[0], hint_features_student, "student");
    check_near(grads[1], hint_features_weight, "weight");
    check_near(grads[2], hint_features_bias, "bias");
    check_near(wick_hint_features(model, "hint", s, t), hint_features, "loss");
    /* none of it goes into the teacher */
    wick_grad(wick_add(wick_hint_features(model, "hint", s, t),
                       wick_mul(wick_sum(t, WICK_ALL_AXES, false), wick_constant(ctx, WICK_F32, 0))),
              1, (wick_tensor *[]){t}, grads);
    static const float none[HINT_N * HINT_T * HINT_H * HINT_W];
    check_near(grads[0], none, "teacher");
    wick_scope_close(&scope);
    tear_down();
}
TEST(attention_maps_are_those_of_pytorch) {
    REQUIRE(set_up());
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *s = tensor(hint_student, HINT_S), *t = tensor(hint_teacher, HINT_T), *grad;
    wick_grad(wick_hint_attention(s, t), 1, &s, &grad);
    check_near(grad, hint_attention_student, "student");
    check_near(wick_hint_attention(s, t), hint_attention, "loss");
    /* of a layer that gives nothing but zeros, as dead ReLUs do, there is no gradient, and no NaN */
    static const float zeros[HINT_N * HINT_S * HINT_H * HINT_W];
    s = tensor(zeros, HINT_S);
    wick_grad(wick_hint_attention(s, t), 1, &s, &grad);
    check_near(grad, zeros, "zeros");
    wick_scope_close(&scope);
    tear_down();
}
TEST(rows_are_learned_through_a_linear_layer) {
    REQUIRE(set_up());
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *s = wick_from(ctx, WICK_F32, WICK_DIMS(6, 2), hint_student),
                *t = wick_zeros(ctx, WICK_F32, 2, (const int64_t[]){6, 3});
    const void *loss;
    CHECK(wick_data(wick_hint_features(model, "rows", s, t), &loss) == WICK_OK && *(const float *)loss > 0);
    CHECK(wick_tensor_dim(wick_model_find(model, "rows.weight"), 0) == 3);
    wick_scope_close(&scope);
    tear_down();
}
TEST(layers_that_do_not_fit_are_refused) {
    REQUIRE(set_up());
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *s = tensor(hint_student, HINT_S), *t = tensor(hint_teacher, HINT_T), *less = wick_slice(t, 3, 0, 2, 1);
    const char *why;
    CHECK(wick_tensor_error(wick_hint_features(model, "h", s, less), &why) == WICK_ERR_SHAPE &&
          strstr(why, "f32[3,4,2,3]") && strstr(why, "f32[3,5,2,2]"));
    CHECK(wick_tensor_error(wick_hint_attention(s, less), NULL) == WICK_ERR_SHAPE);
    CHECK(wick_tensor_error(wick_hint_attention(s, wick_cast(t, WICK_F64)), NULL) == WICK_ERR_SHAPE);
    wick_tensor *flat = wick_reshape(s, 2, (const int64_t[]){3, 24});
    CHECK(wick_tensor_error(wick_hint_attention(flat, flat), &why) == WICK_ERR_SHAPE && strstr(why, "rank 2"));
    CHECK(wick_model_count(model) == 0); /* and makes no states */
    wick_tensor *bad = wick_reshape(s, 1, (const int64_t[]){5});
    CHECK(wick_hint_features(model, "h", s, bad) == bad && wick_hint_attention(bad, t) == bad);
    wick_scope_close(&scope);
    tear_down();
}

static int told;
static void hear(void *user, const char *name, wick_tensor *y) {
    (void)y;
    told += strcmp(name, user) == 0;
}
TEST(blocks_and_skips_are_told_by_name) {
    REQUIRE(set_up());
    wick_scope *scope = wick_scope_open(ctx);
    const char *net = "conv 4 3 pad 1, save a, residual(conv 4 3 pad 1, relu), add a, flatten, linear classes";
    const char *names[] = {"conv1", "a", "res1", "res1.conv1", "fc1"};
    for (int i = 0; i < 5; i++) {
        told = 0;
        wick_model_watch(model, hear, (void *)names[i]);
        wick_tensor *y = wick_net(model, net, wick_zeros(ctx, WICK_F32, 4, (const int64_t[]){2, 1, 4, 4}), 3);
        CHECK_MSG(wick_tensor_error(y, NULL) == WICK_OK && told == 1, "%s: %d times", names[i], told);
    }
    wick_model_watch(model, NULL, NULL);
    wick_scope_close(&scope);
    tear_down();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
