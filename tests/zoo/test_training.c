/* Training convolutional networks gives the same bits however it is run: on any number of threads, with passes or
 * without, compiled, recorded anew each step, or op by op. */
#include "base/base.h"
#include "zoo/training.h"

enum { STEPS = TEST_SANITIZED ? 2 : 3, BATCH = 6 };

typedef struct result {
    float loss[STEPS];
    uint64_t states; /* of the bytes of every state, the optimizer's too */
} result;

static const struct way {
    const char *name;
    int threads;
    bool compiled, no_passes, eager;
} ways[] = {
    {"compiled, 1 thread", 1, true, false, false},   {"compiled, 3 threads", 3, true, false, false},
    {"no passes, 3 threads", 3, true, true, false},  {"recorded, 1 thread", 1, false, false, false},
    {"recorded, 3 threads", 3, false, false, false}, {"eager, 3 threads", 3, false, false, true},
};
enum { RECORDED = 3 }; /* the first that is */

static bool train(const convnet *c, const struct way *w, const wick_optim_options *optimizer, result *r) {
    static float x[BATCH * SAMPLE_MAX];
    int64_t labels[BATCH];
    training t;
    wick_context *ctx = context_with(&(wick_context_options){.threads = w->threads, .seed = 3, .eager = w->eager});
    bool good = training_open(&t, ctx, c->network, WICK_F32, c->dims, BATCH, optimizer) &&
                (!w->compiled || training_compile(&t, &(wick_compile_options){.no_passes = w->no_passes}));
    for (int step = 0; good && step < STEPS; step++) {
        training_batch(&t, step, x, labels);
        good =
            w->compiled ? training_run(&t, x, labels, &r->loss[step]) : training_record(&t, x, labels, &r->loss[step]);
    }
    r->states = 0;
    for (int i = 0; good && i < wick_model_count(t.model); i++) {
        const wick_named state = wick_model_at(t.model, i);
        const size_t bytes = (size_t)wick_tensor_count(state.tensor) * wick_dtype_size(wick_tensor_dtype(state.tensor));
        void *data = malloc(bytes);
        CHECK_OK(ctx, wick_read(state.tensor, data, bytes));
        r->states = wick_hash(data, bytes, r->states);
        free(data);
    }
    training_close(&t);
    return good;
}

static void compare(const convnet *c, const wick_optim_options *optimizer) {
    result r[WICK_COUNTOF(ways)];
    for (size_t i = 0; i < WICK_COUNTOF(ways); i++) {
        if (!train(c, &ways[i], optimizer, &r[i])) return;
        /* Streams of dropout are numbered when they are recorded: every step, or once. */
        const size_t with = c->dropout && i >= RECORDED ? RECORDED : 0;
        CHECK_MSG(!memcmp(r[i].loss, r[with].loss, sizeof r[i].loss),
                  "%s: losses of \"%s\" and \"%s\" differ: %.9g and %.9g at last", c->network, ways[i].name,
                  ways[with].name, r[i].loss[STEPS - 1], r[with].loss[STEPS - 1]);
        CHECK_MSG(r[i].states == r[with].states, "%s: states of \"%s\" and \"%s\" differ", c->network, ways[i].name,
                  ways[with].name);
    }
    CHECK(isfinite(r[0].loss[STEPS - 1]) && r[0].loss[1] != r[0].loss[0]);
}

TEST(training_gives_the_same_bits_however_it_is_run) {
    for (int tier = WICK_TIER_BASE; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        for (int i = 0; i < CONVNETS; i++)
            compare(&convnets[i],
                    i % 2 ? &(wick_optim_options){.kind = WICK_ADAMW, .lr = 1e-3, .weight_decay = 0.01, .clip_norm = 1}
                          : &(wick_optim_options){.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9});
    }
    wick_tier_force(wick_tier_best());
}

int main(int argc, char **argv) { return test_main(argc, argv); }
