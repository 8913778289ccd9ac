/* keyword.c: which digit was spoken? A depthwise-separable convolutional network (Zhang et al. 2017, "Hello Edge") on
 * log-mel spectrograms. Usage: keyword FOLDER [EPOCHS] [CHANNELS] [TAKES], e.g. keyword fsdd/recordings 20 64 50: takes
 * 10 to TAKES - 1 of every speaker train */
#include "digits.h"
enum { SAMPLES = RATE, BATCH = 20, MELS = 32 }; /* a second of sound */
static wick_model *model;
static wick_optimizer *adam;
static int64_t channels = 64;

static wick_tensor *conv(const char *name, wick_tensor *x, int64_t kernel, int64_t stride, int64_t groups) {
    const wick_nn_conv_options options = {.same = true, .stride = stride, .groups = groups, .no_bias = true};
    if (wick_model_push(model, name) != WICK_OK) return NULL;
    x = wick_relu(wick_nn_batch_norm(model, "norm", wick_nn_conv(model, "conv", x, channels, kernel, &options)));
    wick_model_pop(model);
    return x;
}
static wick_tensor *network(wick_tensor *sound) { /* [BATCH, SAMPLES] */
    const wick_mel_options mel = {
        .sample_rate = RATE, .stft = {.n_fft = 256, .hop = 80}, .n_mels = MELS, .log = WICK_LOG_NATURAL};
    wick_tensor *x = wick_unsqueeze(wick_log_mel(sound, &mel), 1); /* [BATCH, 1, MELS, 101]: a frame every 10 ms */
    x = conv("in", wick_nn_batch_norm(model, "norm", x), 3, 2, 1); /* [BATCH, channels, 16, 51] */
    for (int i = 1; i <= 4; i++) {                                 /* [BATCH, channels, 8, 26] */
        char spatial[16], pointwise[16];
        snprintf(spatial, sizeof spatial, "depth%d", i), snprintf(pointwise, sizeof pointwise, "point%d", i);
        x = conv(pointwise, conv(spatial, x, 3, i == 1 ? 2 : 1, channels), 1, 1, 1);
    }
    x = wick_flatten(wick_adaptive_avg_pool(x, NULL), 1); /* [BATCH, channels] */
    return wick_nn_linear(model, "fc", wick_nn_dropout(model, x, 0.2), DIGITS);
}

/* Records what a batch gives: its loss, and how many of it are recognised. What is of digit -1 counts for neither. */
static void measure(wick_tensor *sound, wick_tensor *digits, wick_tensor **out) {
    wick_tensor *logits = network(sound), *right = wick_eq(wick_argmax(logits, 1, false), digits);
    out[0] = wick_cross_entropy_with(
        logits, digits, &(wick_cross_entropy_options){.smoothing = 0.1, .ignore = true, .ignore_index = -1});
    out[1] = wick_sum(wick_cast(right, WICK_F32), WICK_ALL_AXES, false);
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_model_set_training(model, true);
    measure(in[0], in[1], out);
    return wick_optimizer_step(adam, out[0]);
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_model_set_training(model, false);
    measure(in[0], in[1], out);
    return WICK_OK;
}

/* A second with the recording in its middle, or `late` samples after that place, and `loud` times as loud. */
static void place(const wick_audio *audio, int64_t late, double loud, float second[SAMPLES]) {
    const float *from = wick_audio_samples(audio, 0);
    const int64_t length = wick_audio_length(audio), first = (SAMPLES - length) / 2 + late;
    for (int64_t t = 0; t < SAMPLES; t++)
        second[t] = t >= first && t < first + length ? (float)(loud * (double)from[t - first]) : 0;
}

int main(int argc, char **argv) {
    const long epochs = argc > 2 ? atol(argv[2]) : 20, takes = argc > 4 ? atol(argv[4]) : ALL_TAKES;
    if (argc > 3) channels = atol(argv[3]);
    STOP_IF(argc < 2 || epochs < 1 || channels < 1, "usage: keyword FOLDER [EPOCHS] [CHANNELS] [TAKES]");
    static float sound[BATCH][SAMPLES], loss, right;
    static int64_t digits[BATCH];
    static wick_context *ctx;
    static wick_plan *plan[2];
    static wick_workspace *work[2];
    const wick_spec specs[] = {{"sound", WICK_F32, 2, {BATCH, SAMPLES}}, {"digits", WICK_I64, 1, {BATCH}}};
    STOP_IF(wick_context_new(&(wick_context_options){.seed = 1}, &ctx) != WICK_OK, "could not start");
    CHECK(load_digits(ctx, argv[1], (int)takes));
    const long steps = (counts[TRAIN] + BATCH - 1) / BATCH, all = epochs * steps;
    const wick_optim_options options = {.kind = WICK_ADAMW, .lr = 0.005, .weight_decay = 0.01,
                                        .schedule = {.kind = WICK_SCHEDULE_COSINE, .warmup = all / 20, .total = all}};
    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &options, &adam));
    for (int i = 0; i < 2; i++) {
        CHECK(wick_compile(ctx, i == TRAIN ? train : test, NULL, 2, specs, 2, NULL, &plan[i]));
        CHECK(wick_workspace_new(plan[i], &work[i]));
    }
    for (long epoch = 1; epoch <= epochs; epoch++) {
        double losses = 0, rights = 0;
        for (long s = 0; s < steps; s++, losses += (double)loss) {
            for (int b = 0; b < BATCH; b++) { /* at another place and another loudness every time */
                const recording *r = &recordings[TRAIN][(int)(uniform() * counts[TRAIN])];
                place(r->audio, (int64_t)(SAMPLES / 5 * (uniform() - 0.5)), 0.5 + uniform(), sound[b]);
                digits[b] = r->digit;
            }
            RUN(TRAIN, ((const void *[]){sound, digits}), ((void *[]){&loss, &right}));
        }
        for (int at = 0; at < counts[TEST]; at += BATCH, rights += (double)right) {
            for (int b = 0; b < BATCH; b++) {
                const bool there = at + b < counts[TEST];
                digits[b] = there ? recordings[TEST][at + b].digit : -1;
                if (there) place(recordings[TEST][at + b].audio, 0, 1, sound[b]);
            }
            RUN(TEST, ((const void *[]){sound, digits}), ((void *[]){NULL, &right}));
        }
        printf("epoch %ld: loss %.4f, %.0f of %d test recordings right: %.2f %%\n", epoch, losses / (double)steps,
               rights, counts[TEST], 100 * rights / counts[TEST]);
        fflush(stdout);
    }
    return 0;
}
