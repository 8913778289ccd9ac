/* ctc_digits.c: reads strings of spoken digits without being told where a digit is: a GRU in both directions on log-mel
 * spectrograms, trained with CTC (Graves et al. 2006). The strings are recordings of one set joined, in any mix of
 * speakers. Usage: ctc_digits FOLDER [STEPS] [UNITS] [TAKES], e.g. ctc_digits fsdd/recordings 4000 96 50: takes 10 to
 * TAKES - 1 of every speaker train */
#include "digits.h"
enum {
    SAMPLES = 3 * RATE,
    HOP = 240,
    MELS = 32,
    T = SAMPLES / HOP + 1,
    BATCH = 8,
    MOST = 6,
    CLASSES = DIGITS + 1,
    BLANK = DIGITS,
    TESTS = 40
};
static wick_model *model;
static wick_optimizer *adam;
static int64_t units = 96;

/* One batch of strings, as the plans take it. */
static float sound[BATCH][SAMPLES];
static int64_t digits[BATCH][MOST], n_digits[BATCH], n_frames[BATCH];

/* sound [BATCH, SAMPLES], frames [BATCH] -> log-probabilities [T, BATCH, CLASSES] */
static wick_tensor *network(wick_tensor *x, wick_tensor *frames) {
    const wick_mel_options mel = {
        .sample_rate = RATE, .stft = {.n_fft = 256, .hop = HOP}, .n_mels = MELS, .log = WICK_LOG_NATURAL};
    x = wick_nn_batch_norm(model, "norm", wick_log_mel(x, &mel)); /* [BATCH, MELS, T], each mel normalised */
    x = wick_permute(x, 3, (int[]){2, 0, 1});                     /* [T, BATCH, MELS] */
    x = wick_nn_gru(model, "gru", x, units,
                    &(wick_nn_rnn_options){.layers = 2, .bidirectional = true, .dropout = 0.1, .lengths = frames},
                    NULL);
    return wick_log_softmax(wick_nn_linear(model, "head", x, CLASSES), -1);
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_model_set_training(model, true);
    out[0] = wick_ctc_loss(network(in[0], in[1]), in[2], in[1], in[3], &(wick_ctc_options){.blank = BLANK});
    return wick_optimizer_step(adam, out[0]);
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_model_set_training(model, false);
    out[0] = wick_transpose(network(in[0], in[1]), 0, 1); /* [BATCH, T, CLASSES], as the decoders want it */
    return WICK_OK;
}

/* 1 to MOST recordings of the set with pauses of up to 0.15 s between them, over a soft noise, so that pauses are not
 * silent. */
static void draw(int set) {
    memset(digits, 0, sizeof digits);
    for (int b = 0; b < BATCH; b++) {
        int64_t at = (int64_t)(0.15 * RATE * uniform());
        const int n = 1 + (int)(MOST * uniform());
        for (int64_t t = 0; t < SAMPLES; t++) sound[b][t] = (float)(0.004 * (uniform() - 0.5));
        for (n_digits[b] = 0; n_digits[b] < n;) {
            const recording *r = &recordings[set][(int)(uniform() * counts[set])];
            const int64_t length = wick_audio_length(r->audio);
            if (at + length > SAMPLES) break; /* the string ends here */
            for (int64_t t = 0; t < length; t++) sound[b][at + t] += wick_audio_samples(r->audio, 0)[t];
            digits[b][n_digits[b]++] = r->digit;
            at += length + (int64_t)(0.15 * RATE * uniform());
        }
        n_frames[b] = 1 + (at < SAMPLES ? at : SAMPLES) / HOP;
    }
}

int main(int argc, char **argv) {
    const long steps = argc > 2 ? atol(argv[2]) : 4000, takes = argc > 4 ? atol(argv[4]) : ALL_TAKES;
    if (argc > 3) units = atol(argv[3]);
    STOP_IF(argc < 2 || steps < 1 || units < 1, "usage: ctc_digits FOLDER [STEPS] [UNITS] [TAKES]");
    static float log_probs[BATCH][T][CLASSES], loss;
    static int64_t read[T];
    static wick_context *ctx;
    static wick_plan *plan[2];
    static wick_workspace *work[2];
    const wick_spec specs[] = {{"sound", WICK_F32, 2, {BATCH, SAMPLES}},
                               {"frames", WICK_I64, 1, {BATCH}},
                               {"digits", WICK_I64, 2, {BATCH, MOST}},
                               {"lengths", WICK_I64, 1, {BATCH}}};
    STOP_IF(wick_context_new(&(wick_context_options){.seed = 1}, &ctx) != WICK_OK, "could not start");
    CHECK(load_digits(ctx, argv[1], (int)takes));
    const wick_optim_options options = {
        .kind = WICK_ADAM,
        .lr = 0.4 / (double)units,
        .clip_norm = 1,
        .schedule = {.kind = WICK_SCHEDULE_COSINE, .warmup = steps / 20, .total = steps}};
    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &options, &adam));
    for (int i = 0; i < 2; i++) {
        CHECK(wick_compile(ctx, i == TRAIN ? train : test, NULL, i == TRAIN ? 4 : 2, specs, 1, NULL, &plan[i]));
        CHECK(wick_workspace_new(plan[i], &work[i]));
    }
    double sum = 0;
    for (long s = 1, since = 0; s <= steps; s++) {
        draw(TRAIN);
        RUN(TRAIN, ((const void *[]){sound, n_frames, digits, n_digits}), (void *[]){&loss});
        sum += (double)loss, since++;
        if (s % 100 && s != steps) continue;
        printf("step %ld: loss %.4f\n", s, sum / (double)since);
        fflush(stdout);
        sum = 0, since = 0;
    }
    int64_t strings = 0, all = 0, wrong[2] = {0}, right[2] = {0}; /* by the best path, by beams */
    for (int i = 0; i < TESTS; i++) {
        draw(TEST);
        RUN(TEST, ((const void *[]){sound, n_frames}), (void *[]){log_probs});
        for (int b = 0; b < BATCH; b++, strings++) {
            all += n_digits[b];
            for (int beams = 0; beams < 2; beams++) {
                int64_t n = 0, edits;
                if (beams)
                    CHECK(wick_ctc_beam(ctx, n_frames[b], CLASSES, log_probs[b][0], BLANK, 0, read, &n, NULL));
                else
                    n = wick_ctc_greedy(n_frames[b], CLASSES, log_probs[b][0], BLANK, read);
                CHECK(wick_edit_distance(ctx, n, read, n_digits[b], digits[b], &edits));
                wrong[beams] += edits, right[beams] += edits == 0;
            }
        }
    }
    const char *const names[] = {"the best path", "prefix beams"};
    for (int i = 0; i < 2; i++)
        printf("by %s: digit error rate %.2f %%, %d of %d strings right\n", names[i],
               100.0 * (double)wrong[i] / (double)all, (int)right[i], (int)strings);
    return 0;
}
