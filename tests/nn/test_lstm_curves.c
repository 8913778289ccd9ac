/* A small language model (embedding, two LSTM layers, linear) trained beside PyTorch (golden/lstm_curves.txt, made by golden/make_lstm_curves.py) in
 * f64 with Adam: the same losses and weights, on every tier and any number of threads. */
#include "base/base.h"
#include "golden/golden.h"
#include "tensor/tensor.h"
#undef WICK_NO_SITES
#include "wick/nn.h"
#include "wick/optim.h"
#include "wick/sequence.h"

enum { SYMBOLS = 11, UNITS = 16, T = 12, BATCH = 5, STEPS = 20 };
#define CHECK_OK(ctx, call) CHECK_MSG((call) == WICK_OK, "%s", wick_context_error(ctx))

typedef struct trainer {
    wick_model *model;
    wick_optimizer *adam;
} trainer;
static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    trainer *t = user;
    wick_tensor *table = wick_model_state(t->model, "embed.weight", WICK_ROLE_PARAM, WICK_F64, 2, (int64_t[]){SYMBOLS, UNITS}, wick_init_constant(0));
    wick_tensor *ids = wick_slice(in[0], 0, 0, T, 1), *next = wick_reshape(wick_slice(in[0], 0, 1, T + 1, 1), 1, (int64_t[]){T * BATCH});
    wick_tensor *y = wick_nn_lstm(t->model, "lstm", wick_gather(table, 0, ids), UNITS, &(wick_nn_rnn_options){.layers = 2}, NULL, NULL);
    out[0] = wick_cross_entropy(wick_reshape(wick_nn_linear(t->model, "head", y, SYMBOLS), 2, (int64_t[]){T * BATCH, SYMBOLS}), next);
    (void)ctx;
    return wick_optimizer_step(t->adam, out[0]);
}

static void set_parameters(wick_context *ctx, const wick_model *model) {
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        const int64_t count = wick_tensor_count(state.tensor);
        double *v = malloc((size_t)count * sizeof *v);
        for (int64_t k = 0; k < count; k++) v[k] = 0.25 * ((double)golden_number(golden_hash(state.name), (uint32_t)k) * 0x1p-31 - 1);
        CHECK_OK(ctx, wick_write(state.tensor, v, (size_t)count * sizeof *v));
        free(v);
    }
}

/* Bits of all losses and weights. */
static uint64_t train(const golden *expected, int threads) {
    wick_context *ctx = NULL;
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    trainer t = {.model = NULL};
    const wick_spec spec = {"text", WICK_I64, 2, {T + 1, BATCH}};
    double losses[STEPS] = {0};
    CHECK(wick_context_new(&ctx, &(wick_context_options){.threads = threads}) == WICK_OK);
    if (!ctx) return 0;
    CHECK_OK(ctx, wick_model_new(ctx, &t.model));
    CHECK_OK(ctx, wick_optimizer_new(t.model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.01}, &t.adam));
    CHECK_OK(ctx, wick_compile(ctx, body, &t, 1, &spec, 1, NULL, &plan));
    CHECK_OK(ctx, plan ? wick_workspace_new(plan, &ws) : WICK_ERR_INVALID);
    set_parameters(ctx, t.model);
    for (int step = 0; step < STEPS && ws; step++) {
        char name[32];
        int64_t text[(T + 1) * BATCH];
        snprintf(name, sizeof name, "text%d", step);
        for (uint32_t i = 0; i < (T + 1) * BATCH; i++) text[i] = golden_number(golden_hash(name), i) % SYMBOLS;
        const wick_status status = wick_run(ws, (const void *[]){text}, (void *[]){&losses[step]});
        CHECK_MSG(status == WICK_OK, "%s", wick_workspace_error(ws));
    }
    uint64_t bits = wick_hash(losses, sizeof losses, 0);
    const golden *g = golden_find(expected, "losses");
    double worst = 0;
    CHECK(g && g->count == STEPS);
    const double distance = g ? golden_distance(g, losses) : 1;
    CHECK_MSG(distance <= 1e-8, "losses: %g", distance);
    int compared = 0;
    for (int i = 0; i < wick_model_count(t.model); i++) {
        const wick_named state = wick_model_at(t.model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        const int64_t count = wick_tensor_count(state.tensor);
        double *v = malloc((size_t)count * sizeof *v), got[5] = {0};
        CHECK_OK(ctx, wick_read(state.tensor, v, (size_t)count * sizeof *v));
        bits = wick_hash(v, (size_t)count * sizeof *v, bits);
        for (int64_t k = 0; k < count; k++) got[0] += v[k], got[1] += fabs(v[k]);
        got[2] = v[0], got[3] = v[count / 2], got[4] = v[count - 1];
        const golden *s = golden_find(expected, state.name);
        CHECK_MSG(s && s->count == 5, "no golden %s", state.name);
        const double far = s ? golden_distance(s, got) : 1;
        CHECK_MSG(far <= 1e-8, "%s: %g", state.name, far);
        worst = fmax(worst, far);
        compared++;
        free(v);
    }
    CHECK_INT(compared, 11);
    printf("  %s, %d threads: losses within %.1e of PyTorch's, weights %.1e\n", wick_tier_name(wick_tier_current()), threads, distance, worst);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_optimizer_free(&t.adam);
    wick_model_free(&t.model);
    wick_context_free(&ctx);
    return bits;
}

TEST(a_language_model_in_f64_trains_as_in_pytorch) {
    golden *expected = golden_load("lstm_curves.txt");
    REQUIRE(expected != NULL);
    const wick_tier before = wick_tier_current();
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        const uint64_t one = train(expected, 1), three = train(expected, 3);
        CHECK_MSG(one == three, "%s: other bits at 3 threads than at 1", wick_tier_name((wick_tier)tier));
    }
    wick_tier_force(before);
    golden_free(expected);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
