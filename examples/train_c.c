/* train_c.c: writes the step of training of a small model of letters as C that needs no library, to learn on a device:
 * DIR/letters.c and DIR/letters.h, with int letters_train(const int64_t *text, const int64_t *next, float *loss) and
 * int letters_run(const int64_t *text, float *scores).   Usage: train_c DIR gru|lstm|transformer */
#include <stdio.h>
#include <string.h>
#include <wick/wick.h>
enum { SAMPLES = 2, T = 12, LETTERS = 27, WIDTH = 16, MOST_STATES = 80 };
static wick_model *model;
static wick_optimizer *adam;
static const char *kind;

/* text [B, T] -> scores of the letters behind each, [B T, LETTERS]. */
static wick_tensor *network(wick_tensor *text) {
    const wick_nn_rnn_options rnn = {.batch_first = true};
    const wick_nn_transformer_options block = {
        .feedforward = 2 * WIDTH, .dropout = 0.1, .pre_norm = true, .attention = {.heads = 2, .causal = true}};
    wick_tensor *x = wick_nn_embedding(model, "embed", text, LETTERS, WIDTH, WICK_F32);
    if (strcmp(kind, "transformer") == 0)
        x = wick_nn_decoder_layer(model, "block", wick_nn_positions(model, "positions", x, T), NULL, &block);
    else
        x = strcmp(kind, "lstm") == 0 ? wick_nn_lstm(model, "lstm", x, WIDTH, &rnn, NULL, NULL)
                                      : wick_nn_gru(model, "gru", x, WIDTH, &rnn, NULL);
    return wick_nn_linear(model, "head", wick_reshape(x, 2, (int64_t[]){-1, WIDTH}), LETTERS);
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_cross_entropy(network(in[0]), wick_reshape(in[1], 1, (int64_t[]){-1}));
    return wick_optimizer_step(adam, out[0]);
}
static wick_status run(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = network(in[0]);
    return WICK_OK;
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: train_c DIR gru|lstm|transformer\n"), 2;
    const wick_spec texts[2] = {{"text", WICK_I64, 2, {SAMPLES, T}}, {"next", WICK_I64, 2, {SAMPLES, T}}},
                    one = {"text", WICK_I64, 2, {1, T}};
    wick_context *ctx = NULL;
    wick_plan *step = NULL, *forward = NULL;
    wick_c_state states[MOST_STATES];
    wick_c_options options = {.name = "letters", .states = states};
    wick_c_info info = {0};
    kind = argv[2];
    wick_status status = wick_context_new(&(wick_context_options){.seed = 1}, &ctx);
    if (status) return fprintf(stderr, "could not start: %s\n", wick_status_name(status)), 1;
    status = wick_model_new(ctx, &model);
    if (!status) status = wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.005}, &adam);
    if (!status) status = wick_compile(ctx, train, NULL, 2, texts, 1, NULL, &step);
    wick_model_set_training(model, false);
    if (!status) status = wick_compile(ctx, run, NULL, 1, &one, 1, NULL, &forward);
    /* What stays between calls: first what is trained, then what the optimizer keeps. */
    for (int param = 1; param >= 0 && !status; param--)
        for (int i = 0; i < wick_model_count(model) && options.n_states < MOST_STATES; i++) {
            const wick_named s = wick_model_at(model, i);
            if ((s.role != WICK_ROLE_OPTIM) == param)
                states[options.n_states++] = (wick_c_state){s.name, s.tensor, param};
        }
    const wick_c_entry entries[2] = {
        {.plan = step,
         .verb = "train",
         .inputs = (const char *[]){"text", "next"},
         .outputs = (const char *[]){"loss"}},
        {.plan = forward, .verb = "run", .inputs = (const char *[]){"text"}, .outputs = (const char *[]){"scores"}}};
    if (!status) status = wick_plans_write_c(2, entries, argv[1], &options, &info);
    if (!status)
        printf("%s/letters.c: %d kernels, %zu bytes of RAM for intermediates and %zu for weights and moments\n",
               argv[1], info.kernels, info.arena_bytes, info.state_bytes);
    if (status) fprintf(stderr, "%s\n", wick_context_error(ctx));
    wick_plan_free(&step);
    wick_plan_free(&forward);
    wick_optimizer_free(&adam);
    wick_model_free(&model);
    wick_context_free(&ctx);
    return status != WICK_OK;
}
