/* ctc_digits.c: reads strings of digits from noisy strips of pixels, column by column, without being told where a digit is: an LSTM in both
 * directions, trained with CTC. Usage: ctc_digits [STEPS] [UNITS], e.g. ctc_digits 600 64 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/wick.h>
enum { T = 40, ROWS = 8, BATCH = 16, MOST = 5, CLASSES = 11, BLANK = 10, TESTS = 12 };
static wick_model *model;
static wick_optimizer *adam;
static int64_t units = 64;

/* Strips [T, BATCH, ROWS] -> log-probabilities [T, BATCH, CLASSES]. */
static wick_tensor *network(wick_tensor *x) {
    wick_tensor *y = wick_nn_lstm(model, "lstm", x, units, &(wick_nn_rnn_options){.bidirectional = true}, NULL, NULL);
    return wick_log_softmax(wick_nn_linear(model, "head", y, CLASSES), -1);
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *steps = wick_full(ctx, WICK_I64, 1, (int64_t[]){BATCH}, T);
    out[0] = wick_ctc_loss(network(in[0]), in[1], steps, in[2], &(wick_ctc_options){.blank = BLANK});
    return wick_optimizer_step(adam, out[0]);
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = network(in[0]);
    return WICK_OK;
}

static uint64_t dice = 7;
static double uniform(void) { /* [0, 1): Knuth's MMIX generator */
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(dice >> 11) * 0x1p-53;
}
/* Rows of 5 pixels. */
static const unsigned char font[10][7] = {
    {14, 17, 19, 21, 25, 17, 14}, {4, 12, 4, 4, 4, 4, 14},   {14, 17, 1, 2, 4, 8, 31},    {31, 2, 4, 2, 1, 17, 14},  {2, 6, 10, 18, 31, 2, 2},
    {31, 16, 30, 1, 1, 17, 14},   {6, 8, 16, 30, 17, 17, 14}, {31, 1, 2, 4, 8, 8, 8},      {14, 17, 17, 14, 17, 17, 14}, {14, 17, 17, 15, 1, 2, 12}};

/* 1 to MOST digits with gaps, up or down by a pixel, and noise. */
static void draw(float x[T][BATCH][ROWS], int64_t digits[BATCH][MOST], int64_t counts[BATCH]) {
    memset(digits, 0, BATCH * sizeof *digits);
    for (int b = 0; b < BATCH; b++) {
        int at = (int)(3 * uniform()), n = 1 + (int)(MOST * uniform());
        for (int t = 0; t < T; t++)
            for (int r = 0; r < ROWS; r++) x[t][b][r] = (float)(0.8 * uniform() - 0.4);
        for (counts[b] = 0; counts[b] < n && at + 5 <= T; counts[b]++) {
            const int digit = (int)(10 * uniform()), down = uniform() < 0.5;
            digits[b][counts[b]] = digit;
            for (int r = 0; r < 7; r++)
                for (int c = 0; c < 5; c++) x[at + c][b][r + down] += (float)(font[digit][r] >> (4 - c) & 1);
            at += 6 + (int)(3 * uniform());
        }
    }
}
#define STOP_IF(failed, why) if (failed) return fprintf(stderr, "%s\n", why), 1
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))
#define RUN(plan, in, out) STOP_IF(wick_run(work[plan], in, out) != WICK_OK, wick_workspace_error(work[plan]))

int main(int argc, char **argv) {
    const long steps = argc > 1 ? atol(argv[1]) : 600;
    if (argc > 2) units = atol(argv[2]);
    STOP_IF(steps < 1, "usage: ctc_digits [STEPS] [UNITS]");
    static float x[T][BATCH][ROWS], y[T][BATCH][CLASSES], one[T][CLASSES], loss;
    static int64_t digits[BATCH][MOST], counts[BATCH], read[T], n;
    static wick_context *ctx;
    static wick_plan *plan[2];
    static wick_workspace *work[2];
    const wick_spec specs[] = {{"x", WICK_F32, 3, {T, BATCH, ROWS}}, {"digits", WICK_I64, 2, {BATCH, MOST}}, {"counts", WICK_I64, 1, {BATCH}}};
    STOP_IF(wick_context_new(&ctx, &(wick_context_options){.seed = 1}) != WICK_OK, "could not start");
    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.005, .clip_norm = 1}, &adam));
    for (int i = 0; i < 2; i++) {
        CHECK(wick_compile(ctx, i ? test : train, NULL, i ? 1 : 3, specs, 1, NULL, &plan[i]));
        CHECK(wick_workspace_new(plan[i], &work[i]));
    }
    for (long s = 1; s <= steps; s++) {
        draw(x, digits, counts);
        RUN(0, ((const void *[]){x, digits, counts}), (void *[]){&loss});
        if (s % 100 == 0 || s == steps) printf("step %ld: loss %.4f\n", s, (double)loss);
    }
    int right[2] = {0}, all = 0; /* by the best path, by beams */
    for (int i = 0; i < TESTS; i++) {
        draw(x, digits, counts);
        RUN(1, (const void *[]){x}, (void *[]){y});
        for (int b = 0; b < BATCH; b++, all++) {
            for (int t = 0; t < T; t++) memcpy(one[t], y[t][b], sizeof one[t]);
            n = wick_ctc_greedy(T, CLASSES, one[0], BLANK, read);
            right[0] += n == counts[b] && !memcmp(read, digits[b], (size_t)n * sizeof *read);
            CHECK(wick_ctc_beam(ctx, T, CLASSES, one[0], BLANK, 0, read, &n, NULL));
            right[1] += n == counts[b] && !memcmp(read, digits[b], (size_t)n * sizeof *read);
        }
    }
    printf("whole strings right: %d of %d by the best path, %d by beams\n", right[0], all, right[1]);
    return 0;
}
