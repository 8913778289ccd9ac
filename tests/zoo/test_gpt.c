/* A small GPT trained beside PyTorch (golden/gpt.txt, made by golden/make_gpt.py): in f64 the same losses, validation
 * losses and weights, on every tier and any number of threads; in f32 as near to the f64 curve as PyTorch's own runs.
 */
#include "base/base.h"
#include "golden/golden.h"
#include "test.h"
#include "wick/wick.h"

enum { BATCH = 4, LENGTH = 16, VOCABULARY = 19, WIDTH = 24, HEADS = 3, LAYERS = 2, STEPS = 20 };

static void tokens(const char *name, int64_t x[BATCH][LENGTH], int64_t y[BATCH][LENGTH]) {
    const uint32_t seed = golden_hash(name);
    for (uint32_t b = 0; b < BATCH; b++) {
        int64_t at = golden_number(seed, b * (LENGTH + 1)) % VOCABULARY;
        for (uint32_t i = 0; i < LENGTH; i++) {
            x[b][i] = at;
            y[b][i] = at = (at * 2 + 1 + (golden_number(seed, b * (LENGTH + 1) + i + 1) % 3 == 0)) % VOCABULARY;
        }
    }
}

typedef struct gpt {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    wick_dtype dtype;
} gpt;

static wick_tensor *loss_of(gpt *g, wick_tensor *const *in) {
    wick_tensor *x = wick_nn_positions(g->model, "wpe",
                                       wick_nn_embedding(g->model, "wte", in[0], VOCABULARY, WIDTH, g->dtype), LENGTH);
    for (int i = 0; i < LAYERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d", i);
        x = wick_nn_encoder_layer(g->model, name, x,
                                  &(wick_nn_transformer_options){.feedforward = 4 * WIDTH,
                                                                 .pre_norm = true,
                                                                 .gelu = true,
                                                                 .attention = {.heads = HEADS, .causal = true}});
    }
    x = wick_nn_linear(g->model, "head", wick_nn_layer_norm(g->model, "norm", x), VOCABULARY);
    return wick_cross_entropy(wick_reshape(x, 2, (int64_t[]){BATCH * LENGTH, VOCABULARY}),
                              wick_reshape(in[1], 1, (int64_t[]){BATCH * LENGTH}));
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    gpt *g = user;
    out[0] = wick_cast(loss_of(g, in), WICK_F64);
    return wick_optimizer_step(g->optimizer, out[0]);
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_cast(loss_of(user, in), WICK_F64);
    return WICK_OK;
}

static void set_parameters(gpt *g) {
    for (int i = 0; i < wick_model_count(g->model); i++) {
        const wick_named state = wick_model_at(g->model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        const int rank = wick_tensor_rank(state.tensor);
        const int64_t count = wick_tensor_count(state.tensor), *dims = wick_tensor_dims(state.tensor);
        const bool norm = rank == 1 && strstr(state.name, "norm") && strstr(state.name, "weight");
        const double scale = rank == 1 ? 0.25 : 1 / sqrt((double)dims[1]);
        const uint32_t seed = golden_hash(state.name);
        double *data = malloc((size_t)count * sizeof *data);
        for (int64_t k = 0; k < count; k++)
            data[k] = norm + scale * ((double)golden_number(seed, (uint32_t)k) * 0x1p-31 - 1);
        CHECK(wick_assign(state.tensor, wick_cast(wick_from(g->ctx, WICK_F64, rank, dims, data), g->dtype)) == WICK_OK);
        CHECK(wick_eval(g->ctx, 0, NULL, NULL) == WICK_OK);
        free(data);
    }
}

typedef struct curve {
    double losses[STEPS], validation[STEPS / 5];
} curve;

/* *result: a hash of losses and weights. In f64 the weights are compared with the golden's at the end. */
static void run(const golden *expected, wick_dtype dtype, int steps, int threads, curve *c, uint64_t *result) {
    gpt g = {.dtype = dtype};
    wick_plan *plan[2] = {NULL};
    wick_workspace *work[2] = {NULL};
    uint64_t bits = 0;
    *result = 0;
    const wick_spec in[2] = {{"x", WICK_I64, 2, {BATCH, LENGTH}}, {"y", WICK_I64, 2, {BATCH, LENGTH}}};
    REQUIRE(wick_context_new(&(wick_context_options){.threads = threads}, &g.ctx) == WICK_OK &&
            wick_model_new(g.ctx, &g.model) == WICK_OK);
    CHECK(wick_optimizer_new(g.model, &(wick_optim_options){.kind = WICK_ADAMW, .lr = 0.003, .weight_decay = 0.1},
                             &g.optimizer) == WICK_OK);
    CHECK_MSG(wick_compile(g.ctx, train, &g, 2, in, 1, NULL, &plan[0]) == WICK_OK, "%s", wick_context_error(g.ctx));
    CHECK_MSG(wick_compile(g.ctx, test, &g, 2, in, 1, NULL, &plan[1]) == WICK_OK, "%s", wick_context_error(g.ctx));
    for (int i = 0; i < 2; i++) REQUIRE(plan[i] && wick_workspace_new(plan[i], &work[i]) == WICK_OK);
    set_parameters(&g);
    for (int step = 0; step < steps; step++) {
        int64_t x[BATCH][LENGTH], y[BATCH][LENGTH];
        char name[32];
        snprintf(name, sizeof name, "step%d", step);
        tokens(name, x, y);
        CHECK_MSG(wick_run(work[0], (const void *[]){x, y}, (void *[]){&c->losses[step]}) == WICK_OK, "%s",
                  wick_workspace_error(work[0]));
        if (step % 5 != 4) continue;
        tokens("validation", x, y);
        CHECK(wick_run(work[1], (const void *[]){x, y}, (void *[]){&c->validation[step / 5]}) == WICK_OK);
    }
    bits = wick_hash(c->losses, (size_t)steps * sizeof(double), bits);
    for (int i = 0; i < wick_model_count(g.model); i++) {
        const wick_named state = wick_model_at(g.model, i);
        const size_t bytes = (size_t)wick_tensor_count(state.tensor) * wick_dtype_size(wick_tensor_dtype(state.tensor));
        double *v = malloc(bytes + 8), got[5] = {0};
        CHECK(wick_read(state.tensor, v, bytes) == WICK_OK);
        bits = wick_hash(v, bytes, bits);
        if (dtype == WICK_F64 && steps == STEPS && state.role == WICK_ROLE_PARAM) {
            char name[128];
            snprintf(name, sizeof name, "f64.%s", state.name);
            const golden *w = golden_find(expected, name);
            const int64_t count = wick_tensor_count(state.tensor);
            for (int64_t k = 0; k < count; k++) got[0] += v[k], got[1] += fabs(v[k]);
            got[2] = v[0], got[3] = v[count / 2], got[4] = v[count - 1];
            CHECK_MSG(w && w->count == 5 && golden_distance(w, got) <= 1e-8, "%s: %g", name,
                      w ? golden_distance(w, got) : NAN);
        }
        free(v);
    }
    for (int i = 0; i < 2; i++) wick_workspace_free(&work[i]), wick_plan_free(&plan[i]);
    wick_optimizer_free(&g.optimizer);
    wick_model_free(&g.model);
    wick_context_free(&g.ctx);
    *result = bits;
}

static double far_from(const golden *expected, const char *name, const double *values, int n) {
    const golden *g = golden_find(expected, name);
    CHECK_MSG(g && g->count >= n, "no golden %s", name);
    double worst = g ? 0 : INFINITY;
    for (int i = 0; g && i < n; i++) worst = fmax(worst, fabs(values[i] - g->values[i]));
    return worst;
}

TEST(in_f64_it_trains_as_in_pytorch) {
    golden *expected = golden_load("gpt.txt");
    REQUIRE(expected != NULL);
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        static curve c, again;
        uint64_t one, three;
        run(expected, WICK_F64, STEPS, 1, &c, &one);
        run(expected, WICK_F64, STEPS, 3, &again, &three);
        const double losses = far_from(expected, "f64.losses", c.losses, STEPS),
                     validation = far_from(expected, "f64.validation", c.validation, STEPS / 5);
        CHECK_MSG(losses <= 1e-8 && validation <= 1e-8, "%s: losses %g, validation %g", wick_tier_name((wick_tier)tier),
                  losses, validation);
        CHECK_MSG(one == three, "%s: other bits at 3 threads than at 1", wick_tier_name((wick_tier)tier));
        printf("  f64, %s: losses within %.1e of PyTorch's, validation %.1e\n", wick_tier_name((wick_tier)tier), losses,
               validation);
    }
    wick_tier_force(wick_tier_best());
    golden_free(expected);
}

/* PyTorch's f32 runs, on one thread and on two, are themselves so far from the f64 curve and from each other. */
TEST(in_f32_it_stays_within_the_spread_of_pytorchs_own_runs) {
    golden *expected = golden_load("gpt.txt");
    REQUIRE(expected != NULL);
    const golden *one = golden_find(expected, "f32_1.losses"), *two = golden_find(expected, "f32_2.losses");
    REQUIRE(one && two);
    const double spread = fmax(far_from(expected, "f64.losses", one->values, STEPS),
                               far_from(expected, "f64.losses", two->values, STEPS));
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        static curve c;
        uint64_t bits;
        run(expected, WICK_F32, STEPS, 2, &c, &bits);
        const double off = far_from(expected, "f64.losses", c.losses, STEPS);
        CHECK_MSG(off <= spread, "%s: %g off the f64 curve, PyTorch %g", wick_tier_name((wick_tier)tier), off, spread);
        printf("  f32, %s: losses within %.1e of f64's, PyTorch's runs %.1e (between them %.1e)\n",
               wick_tier_name((wick_tier)tier), off, spread, far_from(expected, "f32_1.losses", two->values, STEPS));
    }
    wick_tier_force(wick_tier_best());
    golden_free(expected);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
