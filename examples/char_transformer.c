/* char_transformer.c: a small GPT that learns a text letter by letter, and writes some.
 *   char_transformer TEXT [STEPS [WIDTH [LAYERS [CONTEXT [LETTERS]]]]], e.g. char_transformer tinyshakespeare.txt 2000
 *   128 4 64 500 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/wick.h>
enum { BATCH = 12, MOST_LAYERS = 24, CHECKS = 20 };
static wick_model *model;
static wick_optimizer *adamw;
static int64_t width = 128, layers = 4, context = 64, letters = 500, steps = 2000;
static int64_t vocabulary; /* how many different bytes the text has */

/* tokens [B, L] -> logits [B, L, vocabulary]. With caches L is 1, and the letter stands where the caches say. */
static wick_tensor *network(wick_tensor *tokens, const wick_kv_cache *caches) {
    wick_tensor *x = wick_nn_embedding(model, "wte", tokens, vocabulary, width, WICK_F32);
    x = caches ? wick_add(x, wick_nn_embedding(model, "wpe", caches->position, context, width, WICK_F32))
               : wick_nn_positions(model, "wpe", x, context);
    for (int64_t i = 0; i < layers; i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d", (int)i);
        wick_nn_transformer_options o = {.feedforward = 4 * width,
                                         .pre_norm = true,
                                         .gelu = true,
                                         .attention = {.heads = width < 32 ? 1 : width / 32}};
        o.attention.causal = !caches;
        o.attention.cache = caches ? &caches[i] : NULL;
        x = wick_nn_decoder_layer(model, name, x, NULL, &o);
    }
    return wick_nn_linear(model, "head", wick_nn_layer_norm(model, "norm", x), vocabulary);
}
static wick_tensor *loss_of(wick_tensor *const *in) { /* of the letters that follow */
    wick_tensor *logits = wick_reshape(network(in[0], NULL), 2, (int64_t[]){BATCH * context, vocabulary});
    return wick_cross_entropy(logits, wick_reshape(in[1], 1, (int64_t[]){BATCH * context}));
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = loss_of(in);
    return wick_optimizer_step(adamw, out[0]);
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = loss_of(in);
    return WICK_OK;
}
/* One letter: the plan is the same at every position, since the position is a state. */
static wick_status next(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const wick_kv_cache *caches = user;
    out[0] = network(in[0], caches);
    return wick_assign(caches->position, wick_add(caches->position, wick_like(caches->position, 1)));
}

static uint64_t random_bits(void) { /* xorshift: where batches start, and which letter is drawn */
    static uint64_t s = 88172645463325252u;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return s >> 11;
}
/* A letter by its chance, at a temperature of 0.8. */
static int64_t draw(const float *logits) {
    double top = -1e30, sum = 0, at = (double)random_bits() * 0x1p-53;
    for (int64_t i = 0; i < vocabulary; i++) top = fmax(top, (double)logits[i]);
    for (int64_t i = 0; i < vocabulary; i++) sum += exp(((double)logits[i] - top) / 0.8);
    for (int64_t i = 0; i < vocabulary; i++)
        if ((at -= exp(((double)logits[i] - top) / 0.8) / sum) < 0) return i;
    return vocabulary - 1;
}
static void take(const int64_t *tokens, int64_t from, int64_t *x, int64_t *y) {
    memcpy(x, tokens + from, (size_t)context * sizeof *x);
    memcpy(y, tokens + from + 1, (size_t)context * sizeof *y);
}
#define STOP_IF(failed, why) if (failed) return fprintf(stderr, "%s\n", why), 1
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))

int main(int argc, char **argv) {
    int64_t *const numbers[5] = {&steps, &width, &layers, &context, &letters};
    for (int i = 0; i < 5 && i + 2 < argc; i++) *numbers[i] = atoll(argv[i + 2]);
    STOP_IF(argc < 2 || steps < 1 || width < 1 || layers < 1 || layers > MOST_LAYERS || context < 2 || letters < 0,
            "usage: char_transformer TEXT [STEPS [WIDTH [LAYERS [CONTEXT [LETTERS]]]]]");
    FILE *file = fopen(argv[1], "rb");
    STOP_IF(!file || fseek(file, 0, SEEK_END), "cannot read the text");
    const long size = ftell(file);
    static unsigned char *text, bytes[256];
    static int64_t *tokens, *x, *y, *written, number[256];
    static float *logits;
    text = malloc((size_t)size + 1);
    tokens = malloc((size_t)(size + 1) * sizeof *tokens);
    rewind(file);
    STOP_IF(!text || !tokens || size < 0 || fread(text, 1, (size_t)size, file) != (size_t)size, "cannot read the text");
    fclose(file);
    for (long i = 0; i < size; i++) number[text[i]] = 1;
    for (int i = 0; i < 256; i++)
        if (number[i]) bytes[vocabulary] = (unsigned char)i, number[i] = vocabulary++;
    for (long i = 0; i < size; i++) tokens[i] = number[text[i]];
    const int64_t split = size / 10 * 9; /* the last tenth is for measuring */
    STOP_IF(size - split < context + 2, "the text is too short");

    static wick_context *ctx;
    static wick_plan *plan[3];
    static wick_workspace *work[3];
    STOP_IF(wick_context_new(&(wick_context_options){.seed = 1}, &ctx) != WICK_OK, "could not start");
    CHECK(wick_model_new(ctx, &model));
    /* Embeddings start small; the layers find these states by their names. */
    const wick_init small = {WICK_INIT_NORMAL, 0, 0.02};
    wick_model_state(model, "wte.weight", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(vocabulary, width), small);
    wick_model_state(model, "wpe.weight", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(context, width), small);
    const wick_schedule cosine = {
        .kind = WICK_SCHEDULE_COSINE, .warmup = steps < 1000 ? steps / 10 : 100, .total = steps, .lr_min = 1e-4};
    CHECK(wick_optimizer_new(
        model,
        &(wick_optim_options){
            .kind = WICK_ADAMW, .lr = 1e-3, .beta2 = 0.99, .weight_decay = 0.1, .clip_norm = 1, .schedule = cosine},
        &adamw));
    const wick_spec specs[2] = {{"x", WICK_I64, 2, {BATCH, context}}, {"y", WICK_I64, 2, {BATCH, context}}},
                    one = {"x", WICK_I64, 2, {1, 1}};
    wick_kv_cache caches[MOST_LAYERS];
    CHECK(wick_compile(ctx, train, NULL, 2, specs, 1, NULL, &plan[0]));
    wick_model_set_training(model, false);
    CHECK(wick_compile(ctx, test, NULL, 2, specs, 1, NULL, &plan[1]));
    wick_tensor *position = wick_zeros(ctx, WICK_I64, WICK_DIMS(1));
    const int64_t heads = width < 32 ? 1 : width / 32;
    for (int64_t i = 0; i < layers; i++)
        for (int k = 0; k < 2; k++) {
            wick_tensor *state = wick_zeros(ctx, WICK_F32, WICK_DIMS(1, heads, context, width / heads));
            caches[i] = k ? (wick_kv_cache){caches[i].k, state, position} : (wick_kv_cache){state, NULL, NULL};
        }
    CHECK(wick_compile(ctx, next, caches, 1, &one, 1, NULL, &plan[2]));
    for (int i = 0; i < 3; i++) CHECK(wick_workspace_new(plan[i], &work[i]));

    float loss = 0, sum = 0;
    x = malloc((size_t)(2 * BATCH * context) * sizeof *x);
    STOP_IF(!x, "out of memory");
    y = x + BATCH * context;
    for (int64_t step = 0; step < steps; step++) {
        for (int b = 0; b < BATCH; b++)
            take(tokens, (int64_t)(random_bits() % (uint64_t)(split - context - 1)), x + b * context, y + b * context);
        STOP_IF(wick_run(work[0], (const void *[]){x, y}, (void *[]){&loss}), wick_workspace_error(work[0]));
        if ((step + 1) % 100 && step && step + 1 < steps) continue;
        double total = 0;
        for (int64_t k = 0; k < CHECKS; k++) {
            for (int64_t b = 0; b < BATCH; b++)
                take(tokens, split + (k * BATCH + b) * (size - split - context - 1) / (CHECKS * BATCH), x + b * context,
                     y + b * context);
            STOP_IF(wick_run(work[1], (const void *[]){x, y}, (void *[]){&sum}), wick_workspace_error(work[1]));
            total += (double)sum / CHECKS;
        }
        printf("step %lld: loss %.4f validation %.4f\n", (long long)step + 1, (double)loss, total);
        fflush(stdout);
    }
    /* Letter by letter. When the cache is full, the last half is read anew from its beginning. */
    logits = malloc((size_t)vocabulary * sizeof *logits);
    written = malloc((size_t)(letters + 1) * sizeof *written);
    int64_t at = 0;
    STOP_IF(!logits || !written, "out of memory");
    written[0] = number['\n'];
    for (int64_t i = 0; i < letters; i++, at++) {
        const int64_t again = at == context ? context / 2 : 0;
        if (again) {
            CHECK(wick_write(position, &(int64_t){0}, sizeof(int64_t)));
            for (int64_t k = i - again; k < i; k++)
                STOP_IF(wick_run(work[2], (const void *[]){&written[k]}, (void *[]){logits}),
                        wick_workspace_error(work[2]));
            at = again;
        }
        STOP_IF(wick_run(work[2], (const void *[]){&written[i]}, (void *[]){logits}), wick_workspace_error(work[2]));
        putchar(bytes[written[i + 1] = draw(logits)]);
    }
    putchar('\n');
    return 0;
}
