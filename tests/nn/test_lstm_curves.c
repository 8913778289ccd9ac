/* A small language model (embedding, two LSTM layers, linear) trained beside PyTorch (golden/lstm_curves.txt, made by golden/make_lstm_curves.py)
 * with Adam: in f64 the same losses, validation losses and weights, on every tier and any number of threads; in f32 as near to the f64 curve as PyTorch's
 * own runs. */
#include "base/base.h"
#include "golden/golden.h"
#include "wick/wick.h"

enum { SYMBOLS = 11, UNITS = 16, T = 12, BATCH = 5, STEPS = 20, EVERY = 5 };
#define CHECK_OK(ctx, call) CHECK_MSG((call) == WICK_OK, "%s", wick_context_error(ctx))

typedef struct trainer {
    wick_model *model;
    wick_optimizer *adam;
    wick_dtype dtype;
} trainer;
static wick_tensor *loss_of(trainer *t, wick_tensor *text) {
    wick_tensor *ids = wick_slice(text, 0, 0, T, 1), *next = wick_reshape(wick_slice(text, 0, 1, T + 1, 1), 1, (int64_t[]){T * BATCH});
    wick_tensor *x = wick_nn_embedding(t->model, "embed", ids, SYMBOLS, UNITS, t->dtype);
    x = wick_nn_lstm(t->model, "lstm", x, UNITS, &(wick_nn_rnn_options){.layers = 2}, NULL, NULL);
    return wick_cross_entropy(wick_reshape(wick_nn_linear(t->model, "head", x, SYMBOLS), 2, (int64_t[]){T * BATCH, SYMBOLS}), next);
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    trainer *t = user;
    (void)ctx;
    out[0] = wick_cast(loss_of(t, in[0]), WICK_F64);
    return wick_optimizer_step(t->adam, out[0]);
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_cast(loss_of(user, in[0]), WICK_F64);
    return WICK_OK;
}

static void set_parameters(wick_context *ctx, const wick_model *model) {
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        const int64_t count = wick_tensor_count(state.tensor);
        double *v = malloc((size_t)count * sizeof *v);
        float *f = (float *)v;
        const bool wide = wick_tensor_dtype(state.tensor) == WICK_F64;
        for (int64_t k = 0; k < count; k++) {
            const double value = 0.25 * ((double)golden_number(golden_hash(state.name), (uint32_t)k) * 0x1p-31 - 1);
            if (wide)
                v[k] = value;
            else
                f[k] = (float)value;
        }
        CHECK_OK(ctx, wick_write(state.tensor, v, (size_t)count * (wide ? sizeof *v : sizeof *f)));
        free(v);
    }
}

static double far_from(const golden *expected, const char *name, const double *values, int n) {
    const golden *g = golden_find(expected, name);
    CHECK_MSG(g && g->count == n, "no golden %s", name);
    double worst = g ? 0 : INFINITY;
    for (int i = 0; g && i < n; i++) worst = fmax(worst, fabs(values[i] - g->values[i]));
    return worst;
}

/* The largest distance of the weights at the end, relative to PyTorch's; *bits of them are taken into the hash. */
static double far_weights(wick_context *ctx, const golden *expected, const wick_model *model, uint64_t *bits) {
    int compared = 0;
    double worst = 0;
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        const int64_t count = wick_tensor_count(state.tensor);
        double *v = malloc((size_t)count * sizeof *v), got[5] = {0};
        CHECK_OK(ctx, wick_read(state.tensor, v, (size_t)count * sizeof *v));
        *bits = wick_hash(v, (size_t)count * sizeof *v, *bits);
        for (int64_t k = 0; k < count; k++) got[0] += v[k], got[1] += fabs(v[k]);
        got[2] = v[0], got[3] = v[count / 2], got[4] = v[count - 1];
        const golden *s = golden_find(expected, state.name);
        CHECK_MSG(s && s->count == 5, "no golden %s", state.name);
        worst = fmax(worst, s ? golden_distance(s, got) : 1);
        compared++;
        free(v);
    }
    CHECK_INT(compared, 11);
    return worst;
}

typedef struct curve {
    double losses[STEPS], validation[STEPS / EVERY];
    double weights; /* their distance, in f64 */
    uint64_t bits;  /* of all losses and, in f64, weights */
} curve;
static void run(const golden *expected, wick_dtype dtype, int threads, curve *c) {
    wick_context *ctx = NULL;
    wick_plan *plan[2] = {NULL, NULL};
    wick_workspace *work[2] = {NULL, NULL};
    trainer t = {.dtype = dtype};
    const wick_spec spec = {"text", WICK_I64, 2, {T + 1, BATCH}};
    *c = (curve){.weights = 0};
    REQUIRE(wick_context_new(&ctx, &(wick_context_options){.threads = threads}) == WICK_OK);
    CHECK_OK(ctx, wick_model_new(ctx, &t.model));
    CHECK_OK(ctx, wick_optimizer_new(t.model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.01}, &t.adam));
    CHECK_OK(ctx, wick_compile(ctx, train, &t, 1, &spec, 1, NULL, &plan[0]));
    CHECK_OK(ctx, wick_compile(ctx, test, &t, 1, &spec, 1, NULL, &plan[1]));
    for (int i = 0; i < 2; i++) CHECK_OK(ctx, plan[i] ? wick_workspace_new(plan[i], &work[i]) : WICK_ERR_INVALID);
    set_parameters(ctx, t.model);
    for (int step = 0; step < STEPS && work[0] && work[1]; step++)
        for (int i = 0; i < 2; i++) {
            char name[32];
            int64_t text[(T + 1) * BATCH];
            if (i && step % EVERY != EVERY - 1) continue;
            snprintf(name, sizeof name, i ? "validation" : "text%d", step);
            for (uint32_t k = 0; k < (T + 1) * BATCH; k++) text[k] = golden_number(golden_hash(name), k) % SYMBOLS;
            const wick_status status = wick_run(work[i], (const void *[]){text}, (void *[]){i ? &c->validation[step / EVERY] : &c->losses[step]});
            CHECK_MSG(status == WICK_OK, "%s", wick_workspace_error(work[i]));
        }
    c->bits = wick_hash(c->losses, sizeof c->losses, 0);
    if (dtype == WICK_F64) c->weights = far_weights(ctx, expected, t.model, &c->bits);
    for (int i = 0; i < 2; i++) wick_workspace_free(&work[i]), wick_plan_free(&plan[i]);
    wick_optimizer_free(&t.adam);
    wick_model_free(&t.model);
    wick_context_free(&ctx);
}

TEST(in_f64_it_trains_as_in_pytorch) {
    golden *expected = golden_load("lstm_curves.txt");
    REQUIRE(expected != NULL);
    const wick_tier before = wick_tier_current();
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        const char *name = wick_tier_name((wick_tier)tier);
        curve c, again;
        run(expected, WICK_F64, 1, &c);
        run(expected, WICK_F64, 3, &again);
        const double losses = far_from(expected, "losses", c.losses, STEPS);
        const double validation = far_from(expected, "validation", c.validation, STEPS / EVERY);
        const bool same = losses <= 1e-8 && validation <= 1e-8 && c.weights <= 1e-8;
        CHECK_MSG(same, "%s: losses %g, validation %g, weights %g", name, losses, validation, c.weights);
        CHECK_MSG(c.bits == again.bits, "%s: other bits at 3 threads than at 1", name);
        printf("  f64, %s: losses within %.1e of PyTorch's, validation %.1e, weights %.1e\n", name, losses, validation, c.weights);
    }
    wick_tier_force(before);
    golden_free(expected);
}

/* PyTorch's f32 runs, by its own kernels and by oneDNN's, with sums in several orders, are themselves so far from the f64 curve: by the root mean
 * square of the steps' differences, because the largest of them is one or two units in the last place of a loss. */
TEST(in_f32_it_stays_within_the_spread_of_pytorchs_own_runs) {
    golden *expected = golden_load("lstm_curves.txt");
    REQUIRE(expected != NULL);
    const golden *runs = golden_find(expected, "f32"), *exact = golden_find(expected, "losses");
    REQUIRE(runs && runs->count == 24 && exact && exact->count == STEPS);
    double spread = 0;
    for (int i = 0; i < 24; i++) spread = fmax(spread, runs->values[i]);
    const wick_tier before = wick_tier_current();
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        curve c;
        run(expected, WICK_F32, 2, &c);
        double squares = 0;
        for (int i = 0; i < STEPS; i++) squares += (c.losses[i] - exact->values[i]) * (c.losses[i] - exact->values[i]);
        const double off = sqrt(squares / STEPS);
        CHECK_MSG(off <= spread, "%s: %g off the f64 curve, PyTorch %g", wick_tier_name((wick_tier)tier), off, spread);
        printf("  f32, %s: losses %.1e off f64's, PyTorch's runs up to %.1e\n", wick_tier_name((wick_tier)tier), off, spread);
    }
    wick_tier_force(before);
    golden_free(expected);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
