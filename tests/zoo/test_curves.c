/* ResNet-8 trained beside PyTorch (golden/curves.txt, made by golden/make_curves.py) in f64: the same losses, weights
 * and running statistics, on every tier and any number of threads. */
#include "base/base.h"
#include "golden/golden.h"
#include "zoo/training.h"

enum { BATCH = 4, STEPS = 20, X_COUNT = BATCH * 3 * 32 * 32 };

static void reals(const char *name, int64_t count, double scale, double offset, double *out) {
    const uint32_t seed = golden_hash(name);
    for (int64_t i = 0; i < count; i++)
        out[i] = offset + scale * ((double)golden_number(seed, (uint32_t)i) * 0x1p-31 - 1);
}

/* First values by shape: weights of layers by their fan-in, the vectors of batch norm around 1 and 0. */
static void set_parameters(training *t) {
    for (int i = 0; i < wick_model_count(t->model); i++) {
        const wick_named state = wick_model_at(t->model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        CHECK_INT(wick_tensor_dtype(state.tensor), WICK_F64);
        const int rank = wick_tensor_rank(state.tensor);
        const int64_t count = wick_tensor_count(state.tensor), *dims = wick_tensor_dims(state.tensor);
        const bool norm = rank == 1 && strstr(state.name, "weight");
        double *data = malloc((size_t)count * sizeof *data);
        reals(state.name, count, rank == 1 ? 0.25 : 1 / sqrt((double)(count / dims[0])), norm ? 1 : 0, data);
        CHECK_OK(t->ctx, wick_assign(state.tensor, wick_from(t->ctx, WICK_F64, rank, dims, data)));
        CHECK_OK(t->ctx, wick_eval(t->ctx, 0, NULL, NULL));
        free(data);
    }
}

/* As `expected` has it, one line a state: sum, sum of magnitudes, first, middle, last. */
static double check_states(const training *t, const golden *expected, const char *run, uint64_t *bits) {
    double worst = 0;
    int compared = 0;
    for (int i = 0; i < wick_model_count(t->model); i++) {
        const wick_named state = wick_model_at(t->model, i);
        const int64_t count = wick_tensor_count(state.tensor);
        const size_t bytes = (size_t)count * wick_dtype_size(wick_tensor_dtype(state.tensor));
        double *v = malloc(bytes), got[5] = {0};
        CHECK_OK(t->ctx, wick_read(state.tensor, v, bytes));
        *bits = wick_hash(v, bytes, *bits);
        if (state.role != WICK_ROLE_OPTIM) {
            char name[96];
            snprintf(name, sizeof name, "%s.%s", run, state.name);
            const golden *g = golden_find(expected, name);
            CHECK_MSG(g && g->count == 5, "no golden %s", name);
            for (int64_t k = 0; k < count; k++) got[0] += v[k], got[1] += fabs(v[k]);
            got[2] = v[0], got[3] = v[count / 2], got[4] = v[count - 1];
            const double distance = g ? golden_distance(g, got) : 0;
            CHECK_MSG(distance <= 1e-8, "%s: %g", name, distance);
            worst = fmax(worst, distance);
            compared++;
        }
        free(v);
    }
    int listed = 0;
    for (const golden *g = expected; g; g = g->next)
        listed += !strncmp(g->name, run, strlen(run)) && !strstr(g->name, "losses");
    CHECK_INT(compared, listed);
    return worst;
}

/* Bits of all losses and states. After less than all the steps, only the losses are compared. */
static uint64_t train(const golden *expected, const char *run, const wick_optim_options *optimizer, int steps,
                      int threads) {
    static double x[X_COUNT], losses[STEPS];
    uint64_t bits = 0;
    training t;
    if (training_open(&t, context_with(&(wick_context_options){.threads = threads}), "resnet8", WICK_F64,
                      (int64_t[]){3, 32, 32}, BATCH, optimizer) &&
        training_compile(&t, NULL)) {
        set_parameters(&t);
        for (int step = 0; step < steps; step++) {
            char name[32];
            int64_t labels[BATCH];
            snprintf(name, sizeof name, "x%d", step);
            reals(name, X_COUNT, 2, 0, x);
            snprintf(name, sizeof name, "labels%d", step);
            for (uint32_t i = 0; i < BATCH; i++) labels[i] = golden_number(golden_hash(name), i) % CLASSES;
            if (!training_run(&t, x, labels, &losses[step])) break;
        }
        char name[32];
        snprintf(name, sizeof name, "%s.losses", run);
        const golden *g = golden_find(expected, name);
        golden reached = g ? *g : (golden){0};
        CHECK_INT(reached.count, STEPS);
        reached.count = WICK_MIN(reached.count, steps);
        const double distance = golden_distance(&reached, losses),
                     worst = steps == STEPS ? check_states(&t, expected, run, &bits) : 0;
        CHECK_MSG(distance <= 1e-8, "%s: %g", name, distance);
        bits = wick_hash(losses, (size_t)steps * sizeof *losses, bits);
        printf("  %s, %s, %d steps, %d threads: losses within %.1e of PyTorch's, states %.1e\n", run,
               wick_tier_name(wick_tier_current()), steps, threads, distance, worst);
    }
    training_close(&t);
    return bits;
}

static void compare(const char *run, const wick_optim_options *optimizer) {
    golden *expected = golden_load("curves.txt");
    REQUIRE(expected != NULL);
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        const int steps = tier == WICK_TIER_REF || TEST_SANITIZED ? 3 : STEPS; /* plain C takes half a second a step */
        const uint64_t one = train(expected, run, optimizer, steps, 1),
                       three = train(expected, run, optimizer, steps, 3);
        CHECK_MSG(one == three, "%s: other bits at 3 threads than at 1", wick_tier_name((wick_tier)tier));
    }
    wick_tier_force(wick_tier_best());
    golden_free(expected);
}

TEST(resnet8_in_f64_trains_as_in_pytorch_with_momentum) {
    compare("sgd", &(wick_optim_options){.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9});
}
TEST(resnet8_in_f64_trains_as_in_pytorch_with_adam) {
    compare("adam", &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.001});
}

int main(int argc, char **argv) { return test_main(argc, argv); }
