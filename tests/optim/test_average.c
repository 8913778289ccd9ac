/* Means of weights (wick_average) through a model: what is averaged, what reads the means, what is saved. The numbers
 * against PyTorch's are in test_optimizer.c. */
#include <unistd.h>

#include "test.h"
#include "wick/wick.h"

enum { N = 6, IN = 3, OUT = 4, STEPS = 5 };

typedef struct net {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
} net;

static const float *inputs(void) {
    static float x[N * IN];
    for (int i = 0; i < N * IN; i++) x[i] = (float)((i * 37) % 11) / 5 - 1;
    return x;
}
static wick_tensor *forward(net *n) {
    wick_tensor *x = wick_from(n->ctx, WICK_F32, WICK_DIMS(N, IN), inputs());
    return wick_tanh(wick_nn_batch_norm(n->model, "bn", wick_nn_linear(n->model, "fc", x, OUT)));
}
static wick_tensor *loss_of(net *n) {
    return wick_mse(forward(n), wick_full(n->ctx, WICK_F32, WICK_DIMS(N, OUT), 0.3));
}

static bool net_open(net *n, const wick_average *average) {
    *n = (net){0};
    const wick_optim_options options = {.kind = WICK_ADAMW, .lr = 0.1, .average = *average};
    return wick_context_new(&(wick_context_options){.threads = 1, .seed = 3}, &n->ctx) == WICK_OK &&
           wick_model_new(n->ctx, &n->model) == WICK_OK &&
           wick_optimizer_new(n->model, &options, &n->optimizer) == WICK_OK;
}
static void net_close(net *n) {
    wick_optimizer_free(&n->optimizer);
    wick_model_free(&n->model);
    wick_context_free(&n->ctx);
}
static bool step(net *n) {
    wick_scope *scope = wick_scope_open(n->ctx);
    bool ok = wick_optimizer_step(n->optimizer, loss_of(n)) == WICK_OK && wick_eval(n->ctx, 0, NULL, NULL) == WICK_OK;
    wick_scope_close(&scope);
    return ok;
}
static const char *const names[] = {"fc.weight", "fc.bias",         "bn.weight",
                                    "bn.bias",   "bn.running_mean", "bn.running_var"};
enum { STATES = sizeof names / sizeof *names, MOST = 16 };

static int64_t read_state(net *n, const char *prefix, const char *name, float *values) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    wick_tensor *t = wick_model_find(n->model, full);
    if (!t) return 0;
    return wick_read(t, values, (size_t)wick_tensor_count(t) * sizeof *values) == WICK_OK ? wick_tensor_count(t) : -1;
}
static bool evaluate(net *n, float *y) {
    wick_model_set_training(n->model, false);
    bool ok = wick_read(forward(n), y, N * OUT * sizeof *y) == WICK_OK;
    wick_model_set_training(n->model, true);
    return ok;
}

TEST(means_are_of_parameters_and_if_asked_of_buffers) {
    for (int buffers = 0; buffers < 2; buffers++) {
        net n;
        REQUIRE(net_open(&n, &(wick_average){WICK_AVERAGE_EMA, .decay = 0.75, .buffers = buffers}));
        float want[STATES][MOST], now[MOST], mean[MOST];
        for (int s = 0; s < STEPS; s++) {
            REQUIRE(step(&n));
            for (int i = 0; i < STATES; i++) {
                const int64_t count = read_state(&n, "", names[i], now),
                              means = read_state(&n, WICK_AVERAGE_OF, names[i], mean);
                CHECK_INT(means, i < 4 || buffers ? count : 0);
                for (int k = 0; k < count; k++) want[i][k] = s ? want[i][k] + (now[k] - want[i][k]) * 0.25f : now[k];
                for (int k = 0; k < means; k++)
                    CHECK_MSG(want[i][k] == mean[k], "%s[%d]: %g, not %g", names[i], k, mean[k], want[i][k]);
            }
        }
        double taken;
        CHECK(wick_item(wick_model_find(n.model, "optim.averaged"), &taken) == WICK_OK && taken == STEPS);
        net_close(&n);
    }
}

TEST(a_model_set_to_its_means_computes_and_saves_them) {
    char path[] = "/tmp/wick-average-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    net n, other;
    REQUIRE(net_open(&n, &(wick_average){WICK_AVERAGE_SWA, .start = 1, .buffers = true}) &&
            net_open(&other, &(wick_average){0}));
    for (int s = 0; s < STEPS; s++) REQUIRE(step(&n));
    float plain[N * OUT], averaged[N * OUT], loaded[N * OUT];
    CHECK(evaluate(&n, plain));
    wick_model_set_averaged(n.model, true);
    CHECK(wick_model_averaged(n.model) && evaluate(&n, averaged));
    CHECK(wick_save(n.model, path, &(wick_save_options){.weights_only = true}) == WICK_OK);
    wick_model_set_averaged(n.model, false);
    CHECK(memcmp(plain, averaged, sizeof plain) != 0);
    (void)forward(&other);
    for (int means = 1; means >= 0; means--) {
        wick_checkpoint *file = NULL;
        CHECK(wick_checkpoint_open(other.ctx, path, &file) == WICK_OK &&
              wick_checkpoint_load(file, other.model, false) == WICK_OK);
        CHECK(evaluate(&other, loaded));
        CHECK(memcmp(loaded, means ? averaged : plain, sizeof loaded) == 0);
        wick_checkpoint_free(&file);
        CHECK(wick_save(n.model, path, &(wick_save_options){.weights_only = true}) == WICK_OK);
    }
    unlink(path);
    net_close(&other);
    net_close(&n);
}

TEST(means_of_16_bit_weights_are_f32_and_read_in_the_weights_dtype) {
    wick_context *ctx = NULL;
    wick_model *model = NULL;
    wick_optimizer *optimizer = NULL;
    const wick_optim_options options = {.lr = 0.5, .average = {WICK_AVERAGE_EMA, .decay = 0.5}};
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK &&
            wick_model_new(ctx, &model) == WICK_OK);
    REQUIRE(wick_optimizer_new(model, &options, &optimizer) == WICK_OK);
    wick_tensor *w = wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_BF16, WICK_DIMS(3), wick_init_constant(1));
    for (int s = 0; s < 3; s++)
        REQUIRE(wick_optimizer_step(optimizer, wick_sum(wick_square(w), WICK_ALL_AXES, false)) == WICK_OK &&
                wick_eval(ctx, 0, NULL, NULL) == WICK_OK);
    wick_tensor *mean = wick_model_find(model, WICK_AVERAGE_OF "w");
    REQUIRE(mean != NULL);
    CHECK_INT(wick_tensor_dtype(mean), WICK_F32);
    wick_model_set_averaged(model, true);
    wick_tensor *read = wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_BF16, WICK_DIMS(3), wick_init_constant(1));
    CHECK_INT(wick_tensor_dtype(read), WICK_BF16);
    double a = NAN, b = NAN;
    CHECK(wick_item(wick_sum(mean, WICK_ALL_AXES, false), &a) == WICK_OK &&
          wick_item(wick_sum(read, WICK_ALL_AXES, false), &b) == WICK_OK);
    CHECK_MSG(fabs(a - b) <= 0.01 * fabs(a), "%g, not %g", b, a);
    wick_optimizer_free(&optimizer);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
