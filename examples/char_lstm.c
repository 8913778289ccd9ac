/* char_lstm.c: an LSTM that reads a text byte by byte, learns to guess the next one, and then writes.
 * Usage: char_lstm TEXT [STEPS] [UNITS], e.g. char_lstm tinyshakespeare.txt 3000 256 */
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>
enum { T = 64, BATCH = 32 };
static wick_model *model;
static wick_optimizer *adam;
static int64_t units = 256, symbols; /* bytes that the text has */

/* ids [steps, samples] -> logits [steps, samples, symbols]. state: h and c, [1, samples, units], replaced; or NULL:
 * zeros. */
static wick_tensor *network(wick_tensor *ids, wick_tensor **state) {
    const wick_nn_rnn_options o = {.h0 = state ? state[0] : NULL, .c0 = state ? state[1] : NULL};
    wick_tensor *x = wick_nn_embedding(model, "embed", ids, symbols, units, WICK_F32);
    x = wick_nn_lstm(model, "lstm", x, units, &o, state ? &state[0] : NULL, state ? &state[1] : NULL);
    return wick_nn_linear(model, "head", x, symbols);
}
static wick_tensor *loss_of(wick_tensor *text) { /* [T + 1, BATCH]: each byte is guessed from those before it */
    wick_tensor *logits = network(wick_slice(text, 0, 0, T, 1), NULL), *next = wick_slice(text, 0, 1, T + 1, 1);
    return wick_cross_entropy(wick_reshape(logits, 2, (int64_t[]){T * BATCH, symbols}),
                              wick_reshape(next, 1, (int64_t[]){T * BATCH}));
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = loss_of(in[0]);
    return wick_optimizer_step(adam, out[0]);
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = loss_of(in[0]);
    return WICK_OK;
}
/* One byte of one sample; the state goes in and out. */
static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *state[2] = {in[1], in[2]};
    out[0] = wick_softmax(wick_div(network(in[0], state), wick_like(in[1], 0.8)), -1); /* temperature 0.8 */
    out[1] = state[0], out[2] = state[1];
    return WICK_OK;
}
#define STOP_IF(failed, why) if (failed) return fprintf(stderr, "%s\n", why), 1
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))
#define RUN(plan, in, out) STOP_IF(wick_run(work[plan], in, out) != WICK_OK, wick_workspace_error(work[plan]))

static uint64_t dice = 1;
static double uniform(void) { /* [0, 1): Knuth's MMIX generator */
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(dice >> 11) * 0x1p-53;
}
int main(int argc, char **argv) {
    STOP_IF(argc < 2, "usage: char_lstm TEXT [STEPS] [UNITS]");
    const long steps = argc > 2 ? atol(argv[2]) : 3000;
    if (argc > 3) units = atol(argv[3]);
    FILE *file = fopen(argv[1], "rb");
    STOP_IF(!file, argv[1]);
    static unsigned char text[1 << 24], byte_of[256];
    static int64_t id_of[256], ids[T + 1][BATCH];
    const size_t size = fread(text, 1, sizeof text, file), cut = size / 10 * 9; /* the last tenth is kept for tests */
    fclose(file);
    STOP_IF(size < 20 * (T + 1) || steps < 1, "needs a longer text, and STEPS of 1 or more");
    for (size_t i = 0; i < size; i++) id_of[text[i]] = 1;
    for (int i = 0; i < 256; i++)
        if (id_of[i]) byte_of[symbols] = (unsigned char)i, id_of[i] = symbols++;

    static wick_context *ctx;
    static wick_plan *plan[3];
    static wick_workspace *work[3];
    const wick_function functions[] = {train, test, step};
    const wick_spec chunk = {"text", WICK_I64, 2, {T + 1, BATCH}};
    const wick_spec one[] = {
        {"id", WICK_I64, 2, {1, 1}}, {"h", WICK_F32, 3, {1, 1, units}}, {"c", WICK_F32, 3, {1, 1, units}}};
    STOP_IF(wick_context_new(&(wick_context_options){.seed = 1}, &ctx) != WICK_OK, "could not start");
    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.002, .clip_norm = 1}, &adam));
    for (int i = 0; i < 3; i++) {
        CHECK(
            wick_compile(ctx, functions[i], NULL, i < 2 ? 1 : 3, i < 2 ? &chunk : one, i < 2 ? 1 : 3, NULL, &plan[i]));
        CHECK(wick_workspace_new(plan[i], &work[i]));
    }
    for (long s = 1; s <= steps; s++) {
        float loss, sum = 0;
        for (int b = 0; b < BATCH; b++) {
            const size_t at = (size_t)(uniform() * (double)(cut - T - 1));
            for (int t = 0; t <= T; t++) ids[t][b] = id_of[text[at + (size_t)t]];
        }
        RUN(0, (const void *[]){ids}, (void *[]){&loss});
        if (s % 500 && s != steps) continue;
        int batches = 0;
        for (size_t at = cut; at + BATCH * (T + 1) <= size || !batches; at += BATCH * T, batches++) {
            for (int b = 0; b < BATCH; b++)
                for (int t = 0; t <= T; t++)
                    ids[t][b] = id_of[text[cut + (at - cut + (size_t)(b * T + t)) % (size - cut)]];
            float value;
            RUN(1, (const void *[]){ids}, (void *[]){&value});
            sum += value;
        }
        printf("step %ld: loss %.4f, on the last tenth of the text %.4f\n", s, loss, sum / (float)batches);
        fflush(stdout);
    }
    float *both = calloc(4 * (size_t)units, sizeof *both), p[256]; /* h and c, old and new in turns */
    STOP_IF(!both, "out of memory");
    int64_t id = id_of[text[0]];
    for (int i = 0; i < 500; i++) {
        float *from = both + i % 2 * 2 * units, *to = both + (i + 1) % 2 * 2 * units;
        RUN(2, ((const void *[]){&id, from, from + units}), ((void *[]){p, to, to + units}));
        double rest = uniform();
        for (id = 0; id < symbols - 1 && (rest -= (double)p[id]) >= 0;) id++;
        putchar(byte_of[id]);
    }
    putchar('\n');
    return free(both), 0;
}
