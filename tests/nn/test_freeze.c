/* What is frozen stays, bit for bit, and costs no gradient; what is not is trained as ever. */
#include "test.h"
#include "wick/wick.h"

#define SETUP                                                                                                          \
    wick_context *ctx = NULL;                                                                                          \
    wick_model *model = NULL;                                                                                          \
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .seed = 3}, &ctx) == WICK_OK);                      \
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK)
#define TEARDOWN                                                                                                   \
    wick_model_free(&model);                                                                                       \
    wick_context_free(&ctx)

static wick_tensor *network(wick_model *model, wick_tensor *x) { /* [N, 3, 5] -> [N, 2] */
    wick_tensor *h = wick_relu(wick_nn_batch_norm(model, "bn", wick_nn_conv(model, "conv", x, 4, 3, NULL)));
    return wick_nn_linear(model, "head", wick_flatten(h, 1), 2);
}
static wick_tensor *images(wick_context *ctx) {
    return wick_sin(wick_reshape(wick_arange(ctx, WICK_F32, 0, 0.7, 6 * 3 * 5), WICK_DIMS(6, 3, 5)));
}

typedef struct training {
    wick_model *model;
    wick_optimizer *optimizer;
} training;
static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const training *t = user;
    (void)in;
    out[0] = wick_mse(network(t->model, images(ctx)), wick_ones(ctx, WICK_F32, WICK_DIMS(6, 2)));
    return wick_optimizer_step(t->optimizer, out[0]);
}

enum { STATES = 8 }; /* conv 2, bn 4, head 2 */
static void read_all(wick_model *model, float values[STATES][64]) {
    for (int i = 0; i < STATES; i++) {
        wick_tensor *t = wick_model_at(model, i).tensor;
        CHECK(wick_read(t, values[i], (size_t)wick_tensor_count(t) * sizeof(float)) == WICK_OK);
    }
}

/* Trains three steps; returns the FLOPs of one. changed: bit i says that state i did. */
static double train(wick_model *model, const wick_optim_options *options, unsigned *changed) {
    static float before[STATES][64], after[STATES][64];
    wick_context *ctx = wick_model_context(model);
    training t = {.model = model};
    wick_plan *plan = NULL;
    wick_workspace *work = NULL;
    float loss[3] = {0};
    read_all(model, before);
    CHECK(wick_optimizer_new(model, options, &t.optimizer) == WICK_OK);
    CHECK_MSG(wick_compile(ctx, step, &t, 0, NULL, 1, NULL, &plan) == WICK_OK, "%s", wick_context_error(ctx));
    double flops = plan ? wick_plan_get_info(plan).flops : 0;
    CHECK(plan && wick_workspace_new(plan, &work) == WICK_OK);
    for (int i = 0; i < 3 && work; i++) CHECK(wick_run(work, NULL, (void *[]){&loss[i]}) == WICK_OK);
    CHECK_MSG(loss[2] < loss[0], "%g %g", (double)loss[0], (double)loss[2]);
    read_all(model, after);
    *changed = 0;
    for (int i = 0; i < STATES; i++) *changed |= (unsigned)(memcmp(before[i], after[i], sizeof before[i]) != 0) << i;
    wick_workspace_free(&work);
    wick_plan_free(&plan);
    wick_optimizer_free(&t.optimizer);
    return flops;
}

TEST(frozen_states_stay_bit_for_bit_and_need_no_gradients) {
    const wick_optim_options all[] = {{.kind = WICK_SGD, .lr = 0.05, .momentum = 0.9, .weight_decay = 0.1},
                                      {.kind = WICK_ADAMW, .lr = 0.01, .weight_decay = 0.1, .clip_norm = 1},
                                      {.kind = WICK_ADAM, .lr = 0.01, .accumulate = 2}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        SETUP;
        unsigned changed;
        REQUIRE(wick_tensor_error(network(model, images(ctx)), NULL) == WICK_OK &&
                wick_eval(ctx, 0, NULL, NULL) == WICK_OK);
        CHECK_INT(wick_model_count(model), STATES);
        REQUIRE(wick_model_freeze(model, "conv.*", true) == WICK_OK &&
                wick_model_freeze(model, "bn.*", true) == WICK_OK);
        const double head = train(model, &all[k], &changed);
        CHECK_MSG(changed == 0xc0, "optimizer %d: %x", (int)k, changed);
        for (int i = 0; i < wick_model_count(model); i++) {
            const wick_named s = wick_model_at(model, i);
            CHECK(s.frozen == (strncmp(s.name, "conv.", 5) == 0 || strncmp(s.name, "bn.", 3) == 0));
            CHECK_MSG(s.role != WICK_ROLE_OPTIM || !strstr(s.name, "conv"), "%s", s.name);
        }
        REQUIRE(wick_model_freeze(model, "*", false) == WICK_OK);
        const double whole = train(model, &all[k], &changed);
        CHECK_MSG(changed == 0xff, "optimizer %d, thawed: %x", (int)k, changed);
        CHECK_MSG(whole > 1.5 * head, "%g FLOPs, frozen %g", whole, head);
        TEARDOWN;
    }
}

TEST(a_frozen_batch_norm_is_that_of_evaluation) {
    SETUP;
    float y[2][48], mean[2][4];
    wick_tensor *x = images(ctx);
    for (int i = 0; i < 3; i++) { /* statistics that are not the first ones */
        (void)network(model, x);
        REQUIRE(wick_eval(ctx, 0, NULL, NULL) == WICK_OK);
    }
    wick_tensor *running = wick_model_find(model, "bn.running_mean");
    REQUIRE(wick_read(running, mean[0], sizeof mean[0]) == WICK_OK && mean[0][0] != 0);
    REQUIRE(wick_model_freeze(model, "bn.running_*", true) == WICK_OK);
    REQUIRE(wick_read(network(model, x), y[0], sizeof y[0] / 4) == WICK_OK);
    wick_model_set_training(model, false);
    REQUIRE(wick_read(network(model, x), y[1], sizeof y[1] / 4) == WICK_OK);
    CHECK(memcmp(y[0], y[1], sizeof y[0] / 4) == 0);
    CHECK(wick_read(running, mean[1], sizeof mean[1]) == WICK_OK && memcmp(mean[0], mean[1], sizeof mean[0]) == 0);
    wick_model_set_training(model, true);
    REQUIRE(wick_model_freeze(model, "bn.*", false) == WICK_OK);
    (void)network(model, x);
    CHECK(wick_eval(ctx, 0, NULL, NULL) == WICK_OK);
    CHECK(wick_read(running, mean[1], sizeof mean[1]) == WICK_OK && memcmp(mean[0], mean[1], sizeof mean[0]) != 0);
    TEARDOWN;
}

TEST(what_freezes_nothing_and_a_model_without_anything_to_train_are_errors) {
    SETUP;
    CHECK_INT(wick_model_freeze(model, "*", true), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "record its network");
    REQUIRE(wick_tensor_error(network(model, images(ctx)), NULL) == WICK_OK);
    CHECK_INT(wick_model_freeze(model, "fc*", true), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "\"fc*\"");
    CHECK_INT(wick_model_freeze(model, NULL, true), WICK_ERR_INVALID);
    CHECK(!wick_model_at(model, 0).frozen);
    REQUIRE(wick_model_freeze(model, "*", true) == WICK_OK);
    wick_optimizer *optimizer = NULL;
    REQUIRE(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_SGD}, &optimizer) == WICK_OK);
    CHECK_INT(wick_optimizer_step(optimizer, wick_sum(network(model, images(ctx)), WICK_ALL_AXES, false)),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "frozen");
    wick_optimizer_free(&optimizer);
    TEARDOWN;
}

int main(int argc, char **argv) { return test_main(argc, argv); }
