/* Three small networks, the examples char_lstm, keyword and ctc_digits made smaller, trained beside PyTorch
 * (golden/sequence_curves.txt, made by golden/make_sequence_curves.py): in f64 the same losses, validation losses and
 * weights, on every tier and any number of threads; in f32 as near to the f64 curve as PyTorch's own runs. tests/zoo
 * has the same of ResNet-8 and of a transformer. */
#include "base/base.h"
#include "golden/golden.h"
#include "wick/wick.h"

enum { STEPS = 20, EVERY = 5, RUNS = 24, IN_MAX = 4, NUMBERS = 6 * 400 };
enum { SYMBOLS = 11, UNITS = 16, T = 12, TEXTS = 5 };                                       /* lstm */
enum { RATE = 8000, SOUND = 400, N_FFT = 64, HOP = 20, MELS = 12, FRAMES = 21, CLASSES = 5 }; /* keyword and ctc */
enum { WORDS = 6, CHANNELS = 6, STRINGS = 5, LONGEST = 3, GRU_UNITS = 8 };
#define CHECK_OK(ctx, call) CHECK_MSG((call) == WICK_OK, "%s", wick_context_error(ctx))

typedef struct network {
    const char *name;
    int n_in;
    wick_spec in[IN_MAX]; /* f64 stands for the dtype of the run */
    wick_optim_options optim;
    int parameters;
    wick_tensor *(*loss)(wick_model *model, wick_dtype dtype, wick_tensor *const *in);
    /* sound is input 0 where that is floats; the others, or all */
    void (*draw)(const char *name, double *sound, int64_t (*integers)[NUMBERS]);
} network;

/* ---- lstm -------------------------------------------------------------------------------------------------------- */

static void draw_integers(const char *name, const char *suffix, int n, int below, int first, int64_t *out) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", name, suffix);
    for (int k = 0; k < n; k++) out[k] = first + golden_number(golden_hash(whole), (uint32_t)k) % (uint32_t)below;
}
static void draw_text(const char *name, double *sound, int64_t (*integers)[NUMBERS]) {
    (void)sound;
    draw_integers(name, "", (T + 1) * TEXTS, SYMBOLS, 0, integers[0]);
}
static wick_tensor *lstm_loss(wick_model *model, wick_dtype dtype, wick_tensor *const *in) {
    wick_tensor *ids = wick_slice(in[0], 0, 0, T, 1),
                *next = wick_reshape(wick_slice(in[0], 0, 1, T + 1, 1), 1, (int64_t[]){T * TEXTS});
    wick_tensor *x = wick_nn_embedding(model, "embed", ids, SYMBOLS, UNITS, dtype);
    x = wick_nn_lstm(model, "lstm", x, UNITS, &(wick_nn_rnn_options){.layers = 2}, NULL, NULL);
    return wick_cross_entropy(
        wick_reshape(wick_nn_linear(model, "head", x, SYMBOLS), 2, (int64_t[]){T * TEXTS, SYMBOLS}), next);
}

/* ---- keyword ----------------------------------------------------------------------------------------------------- */

static wick_tensor *log_mel(wick_tensor *sound) {
    const wick_mel_options options = {
        .sample_rate = RATE, .stft = {.n_fft = N_FFT, .hop = HOP}, .n_mels = MELS, .log = WICK_LOG_NATURAL};
    return wick_log_mel(sound, &options);
}
static void draw_sound(const char *name, int n, double *sound) {
    for (int k = 0; k < n * SOUND; k++)
        sound[k] = 0.5 * ((double)golden_number(golden_hash(name), (uint32_t)k) * 0x1p-31 - 1);
}
static void draw_words(const char *name, double *sound, int64_t (*integers)[NUMBERS]) {
    draw_sound(name, WORDS, sound);
    draw_integers(name, ".labels", WORDS, CLASSES, 0, integers[1]);
}
static wick_tensor *conv(wick_model *model, const char *name, wick_tensor *x, int64_t kernel, int64_t stride,
                         int64_t groups) {
    const wick_nn_conv_options options = {.same = true, .stride = stride, .groups = groups, .no_bias = true};
    if (wick_model_push(model, name) != WICK_OK) return NULL;
    x = wick_relu(wick_nn_batch_norm(model, "norm", wick_nn_conv(model, "conv", x, CHANNELS, kernel, &options)));
    wick_model_pop(model);
    return x;
}
static wick_tensor *keyword_loss(wick_model *model, wick_dtype dtype, wick_tensor *const *in) {
    (void)dtype;
    wick_tensor *x = wick_nn_batch_norm(model, "norm", wick_unsqueeze(log_mel(in[0]), 1));
    x = conv(model, "in", x, 3, 2, 1);
    x = conv(model, "point1", conv(model, "depth1", x, 3, 2, CHANNELS), 1, 1, 1);
    x = conv(model, "point2", conv(model, "depth2", x, 3, 1, CHANNELS), 1, 1, 1);
    x = wick_nn_linear(model, "fc", wick_flatten(wick_adaptive_avg_pool(x, NULL), 1), CLASSES);
    return wick_cross_entropy_with(x, in[1], &(wick_cross_entropy_options){.smoothing = 0.1});
}

/* ---- ctc --------------------------------------------------------------------------------------------------------- */

static void draw_strings(const char *name, double *sound, int64_t (*integers)[NUMBERS]) {
    draw_sound(name, STRINGS, sound);
    draw_integers(name, ".frames", STRINGS, 10, 12, integers[1]);
    draw_integers(name, ".labels", STRINGS * LONGEST, CLASSES, 0, integers[2]);
    draw_integers(name, ".lengths", STRINGS, LONGEST, 1, integers[3]);
}
static wick_tensor *ctc_loss(wick_model *model, wick_dtype dtype, wick_tensor *const *in) {
    (void)dtype;
    wick_tensor *x = wick_permute(wick_nn_batch_norm(model, "norm", log_mel(in[0])), 3, (int[]){2, 0, 1});
    x = wick_nn_gru(model, "gru", x, GRU_UNITS,
                    &(wick_nn_rnn_options){.layers = 2, .bidirectional = true, .lengths = in[1]}, NULL);
    x = wick_log_softmax(wick_nn_linear(model, "head", x, CLASSES + 1), -1);
    return wick_ctc_loss(x, in[2], in[1], in[3], &(wick_ctc_options){.blank = CLASSES});
}

static const network networks[] = {
    {.name = "lstm",
     .n_in = 1,
     .in = {{"text", WICK_I64, 2, {T + 1, TEXTS}}},
     .optim = {.kind = WICK_ADAM, .lr = 0.01},
     .parameters = 11,
     .loss = lstm_loss,
     .draw = draw_text},
    {.name = "keyword",
     .n_in = 2,
     .in = {{"sound", WICK_F64, 2, {WORDS, SOUND}}, {"labels", WICK_I64, 1, {WORDS}}},
     .optim = {.kind = WICK_ADAMW,
               .lr = 0.005,
               .weight_decay = 0.01,
               .schedule = {.kind = WICK_SCHEDULE_COSINE, .warmup = 4, .total = STEPS}},
     .parameters = 2 + 5 * 3 + 2,
     .loss = keyword_loss,
     .draw = draw_words},
    {.name = "ctc",
     .n_in = 4,
     .in = {{"sound", WICK_F64, 2, {STRINGS, SOUND}},
            {"frames", WICK_I64, 1, {STRINGS}},
            {"labels", WICK_I64, 2, {STRINGS, LONGEST}},
            {"lengths", WICK_I64, 1, {STRINGS}}},
     .optim = {.kind = WICK_ADAM, .lr = 0.01, .clip_norm = 1},
     .parameters = 2 + 16 + 2,
     .loss = ctc_loss,
     .draw = draw_strings},
};

/* ---- all --------------------------------------------------------------------------------------------------------- */

typedef struct trainer {
    const network *network;
    wick_model *model;
    wick_optimizer *optimizer;
    wick_dtype dtype;
} trainer;
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    trainer *t = user;
    (void)ctx;
    wick_model_set_training(t->model, true);
    wick_tensor *loss = t->network->loss(t->model, t->dtype, in);
    out[0] = wick_cast(loss, WICK_F64);
    return wick_optimizer_step(t->optimizer, loss);
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    trainer *t = user;
    (void)ctx;
    wick_model_set_training(t->model, false);
    out[0] = wick_cast(t->network->loss(t->model, t->dtype, in), WICK_F64);
    return WICK_OK;
}

static void to_f32(void *values, int64_t n) { /* in place */
    for (int64_t k = 0; k < n; k++) {
        double wide;
        memcpy(&wide, (char *)values + k * 8, 8);
        memcpy((char *)values + k * 4, &(float){(float)wide}, 4);
    }
}
static void set_parameters(wick_context *ctx, const trainer *t) {
    for (int i = 0; i < wick_model_count(t->model); i++) {
        const wick_named state = wick_model_at(t->model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        const int64_t count = wick_tensor_count(state.tensor);
        const char *norm = strstr(state.name, "norm.weight");
        double *v = malloc((size_t)count * sizeof *v);
        for (int64_t k = 0; k < count; k++)
            v[k] = !!norm + 0.25 * ((double)golden_number(golden_hash(state.name), (uint32_t)k) * 0x1p-31 - 1);
        if (t->dtype == WICK_F32) to_f32(v, count);
        CHECK_OK(ctx, wick_write(state.tensor, v, (size_t)count * wick_dtype_size(t->dtype)));
        free(v);
    }
}

static const golden *find(const golden *expected, const network *n, const char *what, int64_t count) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", n->name, what);
    const golden *g = golden_find(expected, name);
    CHECK_MSG(g && g->count == count, "no golden %s", name);
    return g && g->count == count ? g : NULL;
}

/* The largest distance of the weights at the end, relative to PyTorch's; *bits of them are taken into the hash. */
static double far_weights(wick_context *ctx, const golden *expected, const trainer *t, uint64_t *bits) {
    int compared = 0;
    double worst = 0;
    for (int i = 0; i < wick_model_count(t->model); i++) {
        const wick_named state = wick_model_at(t->model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        const int64_t count = wick_tensor_count(state.tensor);
        double *v = malloc((size_t)count * sizeof *v), got[5] = {0};
        CHECK_OK(ctx, wick_read(state.tensor, v, (size_t)count * sizeof *v));
        *bits = wick_hash(v, (size_t)count * sizeof *v, *bits);
        for (int64_t k = 0; k < count; k++) got[0] += v[k], got[1] += fabs(v[k]);
        got[2] = v[0], got[3] = v[count / 2], got[4] = v[count - 1];
        const golden *s = find(expected, t->network, state.name, 5);
        worst = fmax(worst, s ? golden_distance(s, got) : 1);
        compared++;
        free(v);
    }
    CHECK_INT(compared, t->network->parameters);
    return worst;
}

typedef struct curve {
    double losses[STEPS], validation[STEPS / EVERY];
    double weights; /* their distance, in f64 */
    uint64_t bits;  /* of all losses and, in f64, weights */
} curve;
static void run(const golden *expected, const network *n, wick_dtype dtype, int threads, curve *c) {
    wick_context *ctx = NULL;
    wick_plan *plan[2] = {NULL, NULL};
    wick_workspace *work[2] = {NULL, NULL};
    trainer t = {.network = n, .dtype = dtype};
    wick_spec in[IN_MAX];
    memcpy(in, n->in, sizeof in);
    const bool has_sound = in[0].dtype == WICK_F64;
    if (has_sound) in[0].dtype = dtype;
    *c = (curve){.weights = 0};
    REQUIRE(wick_context_new(&(wick_context_options){.threads = threads}, &ctx) == WICK_OK);
    CHECK_OK(ctx, wick_model_new(ctx, &t.model));
    CHECK_OK(ctx, wick_optimizer_new(t.model, &n->optim, &t.optimizer));
    CHECK_OK(ctx, wick_compile(ctx, train, &t, n->n_in, in, 1, NULL, &plan[0]));
    CHECK_OK(ctx, wick_compile(ctx, test, &t, n->n_in, in, 1, NULL, &plan[1]));
    for (int i = 0; i < 2; i++) CHECK_OK(ctx, plan[i] ? wick_workspace_new(plan[i], &work[i]) : WICK_ERR_INVALID);
    set_parameters(ctx, &t);
    for (int step = 0; step < STEPS && work[0] && work[1]; step++)
        for (int i = 0; i < 2; i++) {
            static double sound[NUMBERS];
            static int64_t integers[IN_MAX][NUMBERS];
            const void *data[IN_MAX] = {integers[0], integers[1], integers[2], integers[3]};
            char name[32];
            if (i && step % EVERY != EVERY - 1) continue;
            snprintf(name, sizeof name, i ? "validation" : "step%d", step);
            n->draw(name, sound, integers);
            if (has_sound) data[0] = sound;
            if (has_sound && dtype == WICK_F32) to_f32(sound, NUMBERS);
            const wick_status status =
                wick_run(work[i], data, (void *[]){i ? &c->validation[step / EVERY] : &c->losses[step]});
            CHECK_MSG(status == WICK_OK, "%s", wick_workspace_error(work[i]));
        }
    c->bits = wick_hash(c->losses, sizeof c->losses, 0);
    if (dtype == WICK_F64) c->weights = far_weights(ctx, expected, &t, &c->bits);
    for (int i = 0; i < 2; i++) wick_workspace_free(&work[i]), wick_plan_free(&plan[i]);
    wick_optimizer_free(&t.optimizer);
    wick_model_free(&t.model);
    wick_context_free(&ctx);
}

TEST(in_f64_they_train_as_in_pytorch) {
    golden *expected = golden_load("sequence_curves.txt");
    REQUIRE(expected != NULL);
    const wick_tier before = wick_tier_current();
    for (size_t i = 0; i < WICK_COUNTOF(networks); i++)
        for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
            if (!wick_tier_force((wick_tier)tier)) continue;
            const network *n = &networks[i];
            const char *isa = wick_tier_name((wick_tier)tier);
            const golden *g = find(expected, n, "losses", STEPS), *v = find(expected, n, "validation", STEPS / EVERY);
            curve c, again;
            run(expected, n, WICK_F64, 1, &c);
            run(expected, n, WICK_F64, 3, &again);
            const double losses = g ? golden_distance(g, c.losses) : 1,
                         validation = v ? golden_distance(v, c.validation) : 1;
            const bool same = losses <= 1e-8 && validation <= 1e-8 && c.weights <= 1e-8;
            CHECK_MSG(same, "%s, %s: losses %g, validation %g, weights %g", n->name, isa, losses, validation,
                      c.weights);
            CHECK_MSG(c.bits == again.bits, "%s, %s: other bits at 3 threads than at 1", n->name, isa);
            printf("  %s, f64, %s: losses within %.1e of PyTorch's, validation %.1e, weights %.1e\n", n->name, isa,
                   losses, validation, c.weights);
        }
    wick_tier_force(before);
    golden_free(expected);
}

/* No farther from the f64 curve than PyTorch's f32 runs, by its own kernels and by oneDNN's, with sums in several
 * orders, are from each other: by the root mean square of the steps' differences, because the largest of them is one or
 * two units in the last place of a loss. */
TEST(in_f32_they_stay_within_the_spread_of_pytorchs_own_runs) {
    golden *expected = golden_load("sequence_curves.txt");
    REQUIRE(expected != NULL);
    const wick_tier before = wick_tier_current();
    for (size_t i = 0; i < WICK_COUNTOF(networks); i++) {
        const golden *runs = find(expected, &networks[i], "f32", RUNS),
                     *exact = find(expected, &networks[i], "losses", STEPS);
        const golden *spread = find(expected, &networks[i], "spread", 1);
        REQUIRE(runs && exact && spread);
        double least = INFINITY, most = 0;
        for (int k = 0; k < RUNS; k++) least = fmin(least, runs->values[k]), most = fmax(most, runs->values[k]);
        for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
            if (!wick_tier_force((wick_tier)tier)) continue;
            const char *isa = wick_tier_name((wick_tier)tier);
            curve c;
            run(expected, &networks[i], WICK_F32, 2, &c);
            double squares = 0;
            for (int k = 0; k < STEPS; k++)
                squares += (c.losses[k] - exact->values[k]) * (c.losses[k] - exact->values[k]);
            const double off = sqrt(squares / STEPS);
            CHECK_MSG(off <= spread->values[0], "%s, %s: %g off the f64 curve, PyTorch's spread %g", networks[i].name,
                      isa, off, spread->values[0]);
            printf("  %s, f32, %s: losses %.2e off f64's, PyTorch's runs %.2e to %.2e, %.2e from each other\n",
                   networks[i].name, isa, off, least, most, spread->values[0]);
        }
    }
    wick_tier_force(before);
    golden_free(expected);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
