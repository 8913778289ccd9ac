/* Training steps as C files: some steps of the emitted code leave the bits that the plan's steps on the base tier
 * leave, of losses, weights and moments. */
#include "base/base.h"
#include "codegen/compiled.h"
#include "tensor/tensors.h"
#include "wick/onnx.h"
#include "wick/wick.h"

typedef struct net {
    const char *name;
    int rank;
    int64_t dims[5]; /* of images, the batch first */
    wick_tensor *(*body)(wick_model *model, wick_tensor *x);
    bool mse;
    wick_optim_options optim;
    wick_precision precision;
} net;

#define NET(id) static wick_tensor *id(wick_model *m, wick_tensor *x)
#define CONV(name, x, out, kernel, ...)                                                                                \
    wick_nn_conv(m, name, x, out, kernel, &(wick_nn_conv_options){.no_bias = false, __VA_ARGS__})
#define MAX_POOL(x, ...) wick_max_pool(x, &(wick_pool_options){__VA_ARGS__})
static wick_tensor *flat(wick_tensor *x) { return wick_reshape(x, 2, (const int64_t[]){wick_tensor_dim(x, 0), -1}); }
NET(mlp) { return wick_nn_linear(m, "fc2", wick_relu(wick_nn_linear(m, "fc1", x, 70)), 5); }
/* more than a block of k, and classes beyond a short row */
NET(wide) { return wick_nn_linear(m, "fc2", wick_tanh(wick_nn_linear(m, "fc1", x, 540)), 41); }
NET(lenet) {
    x = MAX_POOL(wick_relu(CONV("conv1", x, 6, 5, .pad = 2)), .kernel = {2, 2});
    x = MAX_POOL(wick_relu(CONV("conv2", x, 16, 5)), .kernel = {2, 2});
    return wick_nn_linear(m, "fc2", wick_relu(wick_nn_linear(m, "fc1", flat(x), 20)), 10);
}
NET(strided) { /* gradients of the input by strides: of neighbouring taps, and of those that aren't */
    x = wick_relu(CONV("conv1", x, 7, 3, .stride = 2, .pad = 1));
    x = wick_relu(CONV("conv2", x, 12, 5, .stride = 2, .pad = 2));
    x = CONV("conv3", x, 9, 2, .strides = {2, 3}, .dilations = {1, 2}, .pad = 2);
    return wick_nn_linear(m, "fc", flat(x), 10);
}
NET(strided_deep) { /* chains of more than a block, and runs of more than one */
    x = wick_relu(CONV("conv1", x, 20, 3, .pad = 1));
    x = wick_relu(CONV("conv2", x, 150, 3, .stride = 2, .pad = 1));
    x = wick_relu(CONV("conv3", x, 260, 3, .stride = 2, .pad = 1));
    x = CONV("conv4", x, 10, 3, .strides = {1, 2}, .pad = 1);
    return wick_mean(x, WICK_AXES(2, 3), false);
}
NET(grouped) {
    x = wick_relu(CONV("conv1", x, 12, 3, .pad = 1));
    x = wick_relu(CONV("conv2", x, 18, 3, .groups = 3, .pad = 1));
    x = CONV("conv3", x, 6, 3, .groups = 2, .stride = 2);
    return wick_mean(x, WICK_AXES(2, 3), false);
}
NET(winograd) { /* and its gradient, by unequal padding */
    x = wick_relu(CONV("conv1", x, 8, 1));
    x = wick_relu(CONV("conv2", x, 12, 3, .pads = {1, 2}));
    x = CONV("conv3", x, 4, 3, .pads = {0, 1});
    return wick_mean(x, WICK_AXES(2, 3), false);
}
NET(separable) { /* depthwise of row-major images and of others, batch norm, averages */
    x = wick_relu(wick_nn_batch_norm(m, "bn1", CONV("dw1", x, 3, 3, .groups = 3, .pad = 1)));
    x = wick_relu(wick_nn_batch_norm(m, "bn2", CONV("pw1", x, 20, 1)));
    x = wick_relu(wick_nn_batch_norm(m, "bn3", CONV("dw2", x, 20, 3, .groups = 20, .stride = 2, .pad = 1)));
    x = CONV("pw2", x, 10, 1);
    return flat(wick_avg_pool(x, &(wick_pool_options){.kernel = {3, 2}, .stride = {3, 3}}));
}
NET(residual) {
    wick_tensor *h = wick_relu(wick_nn_batch_norm(m, "bn1", CONV("conv1", x, 16, 3, .pad = 1)));
    wick_tensor *g = wick_nn_batch_norm(m, "bn2", CONV("conv2", h, 16, 3, .pad = 1));
    h = wick_relu(wick_add(h, g));
    h = MAX_POOL(h, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1});
    h = wick_adaptive_avg_pool(h, (const int64_t[]){2, 2});
    return wick_nn_linear(m, "fc", flat(h), 10);
}
NET(pooled_planes) {
    return wick_nn_linear(m, "fc",
                          flat(MAX_POOL(wick_mul(x, wick_model_state(m, "scale", WICK_ROLE_PARAM, WICK_F32, 2,
                                                                     (const int64_t[]){8, 8}, wick_init_constant(0.5))),
                                        .kernel = {2, 2})),
                          4);
}
NET(line) {
    return wick_mean(CONV("conv2", wick_relu(CONV("conv1", x, 6, 5, .pad = 2, .stride = 2)), 4, 3), WICK_AXES(2),
                     false);
}
NET(solid) {
    return wick_mean(CONV("conv2", wick_relu(CONV("conv1", x, 3, 3, .pad = 1)), 4, 2, .stride = 2), WICK_AXES(2, 3, 4),
                     false);
}
NET(normed) {
    return wick_nn_linear(m, "fc2", wick_gelu(wick_nn_layer_norm(m, "norm", wick_nn_linear(m, "fc1", x, 33))), 6);
}
NET(autoencoder) { return wick_nn_linear(m, "fc2", wick_sigmoid(wick_nn_linear(m, "fc1", x, 8)), 30); }

NET(dropped) { /* of elements and of channels, whose masks the gradient reads again */
    x = wick_dropout_channels(wick_relu(CONV("conv1", x, 6, 3)), 0.25);
    x = wick_nn_dropout(m, wick_relu(wick_nn_linear(m, "fc1", flat(x), 37)), 0.4);
    return wick_nn_linear(m, "fc2", x, 5);
}
NET(noisy) { /* all that is drawn, where it may end within a block */
    wick_tensor *h = wick_nn_linear(m, "fc1", x, 7);
    h = wick_add(h,
                 wick_cast(wick_random_normal(wick_tensor_context(x), WICK_F64, 2, (const int64_t[]){5, 7}), WICK_F32));
    h = wick_mul(h, wick_random_normal(wick_tensor_context(x), WICK_F32, 2, (const int64_t[]){1, 7}));
    h = wick_sub(h,
                 wick_cast(wick_random_uniform(wick_tensor_context(x), WICK_F64, 1, (const int64_t[]){7}), WICK_F32));
    return wick_nn_linear(m, "fc2", wick_alpha_dropout(h, 0.3), 4);
}
NET(shuffled) { /* by random bits: whole numbers, and orders */
    wick_context *ctx = wick_tensor_context(x);
    wick_tensor *h = wick_nn_linear(m, "fc1", wick_random_shuffle(x, 1), 7);
    h = wick_mul(h, wick_cast(wick_random_integers(ctx, WICK_I64, 2, (const int64_t[]){5, 7}, -3, 9), WICK_F32));
    return wick_nn_linear(m, "fc2", wick_gather(h, 1, wick_random_permutation(ctx, 7)), 4);
}

/* ---- sequences: what a label belongs to is a step of a sample ---------------------------------------------------- */

enum { LETTERS = 9, SAMPLES = 3 };
/* Letters [T, SAMPLES], and what guesses the next ones from states [T, SAMPLES, n], as rows. */
static wick_tensor *letters(wick_tensor *x) {
    const int64_t steps = wick_tensor_dim(x, 0) / SAMPLES;
    return wick_reshape(wick_cast(wick_mul(wick_add(x, wick_like(x, 1)), wick_like(x, LETTERS / 2.0 - 0.01)), WICK_I64),
                        2, (const int64_t[]){steps, SAMPLES});
}
static wick_tensor *guessed(wick_model *m, wick_tensor *y) {
    return wick_nn_linear(m, "head", wick_reshape(y, 2, (const int64_t[]){-1, wick_tensor_dim(y, -1)}), LETTERS);
}
#define EMBED(x, width) wick_nn_embedding(m, "embed", letters(x), LETTERS, width, WICK_F32)
NET(lstm_letters) {
    return guessed(
        m, wick_nn_lstm(m, "lstm", EMBED(x, 12), 21, &(wick_nn_rnn_options){.layers = 2, .dropout = 0.2}, NULL, NULL));
}
NET(gru_letters) {
    return guessed(m, wick_nn_gru(m, "gru", EMBED(x, 5), 13, &(wick_nn_rnn_options){.bidirectional = true}, NULL));
}
/* sums of several blocks */
NET(rnn_letters) {
    return guessed(m, wick_nn_rnn(m, "rnn", EMBED(x, 7), 270, &(wick_nn_rnn_options){.relu = true}, NULL));
}

#define PARAM(name, type, ...)                                                                                         \
    wick_model_state(m, name, WICK_ROLE_PARAM, type, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),               \
                     (const int64_t[]){__VA_ARGS__}, wick_init_linear(3))
/* x as [T, SAMPLES, 4]; weights of a layer whose first states, biases and lengths are there too. */
static wick_tensor *sequence(wick_tensor *x, wick_dtype dtype) {
    return wick_cast(wick_reshape(x, 3, (const int64_t[]){-1, SAMPLES, 4}), dtype);
}
static wick_rnn_inputs cell_of(wick_model *m, wick_tensor *x, wick_dtype t, int64_t gates, int64_t units,
                               int64_t directions) {
    const int64_t lengths[SAMPLES] = {3, 0, wick_tensor_dim(x, 0) / SAMPLES};
    return (wick_rnn_inputs){.w_ih = PARAM("w_ih", t, directions, gates * units, 4),
                             .w_hh = PARAM("w_hh", t, directions, gates * units, units),
                             .b_ih = PARAM("b_ih", t, directions, gates * units),
                             .b_hh = PARAM("b_hh", t, directions, gates * units),
                             .h0 = PARAM("h0", t, directions, SAMPLES, units),
                             .lengths =
                                 wick_from(wick_tensor_context(x), WICK_I64, 1, (const int64_t[]){SAMPLES}, lengths)};
}
/* Of all results: states of steps, and last ones. */
static wick_tensor *all_states(wick_model *m, wick_tensor *y, wick_tensor *h, wick_tensor *c) {
    wick_tensor *last = wick_mean(h, WICK_ALL_AXES, false);
    if (c) last = wick_sub(last, wick_mean(wick_sin(c), WICK_ALL_AXES, false));
    return guessed(m, wick_cast(wick_add(y, last), WICK_F32));
}
NET(lstm_with_all) {
    wick_rnn_inputs in = cell_of(m, x, WICK_F32, 4, 7, 2);
    in.peephole = PARAM("peephole", WICK_F32, 2, 21);
    in.c0 = PARAM("c0", WICK_F32, 2, SAMPLES, 7);
    const wick_rnn_options o = {
        .direction = WICK_RNN_BIDIRECTIONAL,
        .clip = 0.4,
        .acts = {{WICK_RNN_HARD_SIGMOID, WICK_RNN_SOFTSIGN, WICK_RNN_IDENTITY}, {0, WICK_RNN_RELU, 0}}};
    wick_tensor *h, *c, *y = wick_lstm(sequence(x, WICK_F32), &in, &o, &h, &c);
    return all_states(m, y, h, c);
}
NET(lstm_coupled) {
    wick_rnn_inputs in = cell_of(m, x, WICK_F64, 4, 6, 1);
    in.lengths = NULL;
    wick_tensor *h, *c,
        *y = wick_lstm(sequence(x, WICK_F64), &in,
                       &(wick_rnn_options){.direction = WICK_RNN_REVERSE, .input_forget = true}, &h, &c);
    return all_states(m, y, h, c);
}
NET(gru_with_all) {
    const wick_rnn_inputs in = cell_of(m, x, WICK_F32, 3, 9, 2);
    wick_tensor *h,
        *y = wick_gru(
            sequence(x, WICK_F32), &in,
            &(wick_rnn_options){.direction = WICK_RNN_BIDIRECTIONAL, .clip = 0.5, .acts = {{0, WICK_RNN_SOFTSIGN}}},
            &h);
    return all_states(m, y, h, NULL);
}
NET(gru_reset_first) {
    const wick_rnn_inputs in = cell_of(m, x, WICK_F32, 3, 10, 2);
    wick_tensor *h, *y = wick_gru(sequence(x, WICK_F32), &in,
                                  &(wick_rnn_options){.direction = WICK_RNN_BIDIRECTIONAL, .reset_first = true}, &h);
    return all_states(m, y, h, NULL);
}
NET(rnn_of_doubles) {
    const wick_rnn_inputs in = cell_of(m, x, WICK_F64, 1, 5, 1);
    wick_tensor *h, *y = wick_rnn(sequence(x, WICK_F64), &in, &(wick_rnn_options){.acts = {{WICK_RNN_SIGMOID}}}, &h);
    return all_states(m, y, h, NULL);
}

NET(transformer) { /* a block of a small GPT; dropout is within attention, too */
    const int64_t steps = wick_tensor_dim(x, 0) / SAMPLES;
    wick_tensor *h = wick_nn_positions(
        m, "positions", wick_nn_embedding(m, "embed", wick_transpose(letters(x), 0, 1), LETTERS, 16, WICK_F32), steps);
    h = wick_nn_decoder_layer(m, "block", h, NULL,
                              &(wick_nn_transformer_options){.feedforward = 24,
                                                             .dropout = 0.1,
                                                             .pre_norm = true,
                                                             .attention = {.heads = 4, .kv_heads = 2, .causal = true}});
    return guessed(m, wick_transpose(wick_nn_layer_norm(m, "norm", h), 0, 1));
}
/* x [n, d] as heads [2, h, n / 2, d] of what a layer makes of it; rows of what attention makes of those. */
static wick_tensor *heads_of(wick_model *m, const char *name, wick_tensor *x, int64_t heads, int64_t dim) {
    const int64_t rows = wick_tensor_dim(x, 0) / 2;
    return wick_permute(
        wick_reshape(wick_nn_linear(m, name, x, heads * dim), 4, (const int64_t[]){2, rows, heads, dim}), 4,
        (const int[]){0, 2, 1, 3});
}
static wick_tensor *rows_of(wick_model *m, wick_tensor *y) {
    return wick_nn_linear(m, "head",
                          wick_reshape(wick_permute(y, 4, (const int[]){0, 2, 1, 3}), 2,
                                       (const int64_t[]){-1, wick_tensor_dim(y, 1) * wick_tensor_dim(y, 3)}),
                          5);
}
NET(many_keys) { /* several blocks of keys and queries, which tasks of the plan cut; heads that share keys; a mask */
    const int64_t rows = wick_tensor_dim(x, 0) / 2;
    wick_tensor *mask = wick_reshape(wick_mul(wick_slice(x, 1, 0, 1, 1), wick_slice(x, 1, 1, 2, 1)), 4,
                                     (const int64_t[]){2, 1, 1, rows});
    return rows_of(m, wick_attention(heads_of(m, "q", x, 4, 6), heads_of(m, "k", x, 2, 6), heads_of(m, "v", x, 2, 3),
                                     &(wick_attention_options){.grouped = true, .mask = mask, .scale = 0.7}));
}
NET(dropped_keys) { /* blocks whose queries see none of their keys, and a last one of few */
    wick_tensor *k = heads_of(m, "k", wick_concat(2, (wick_tensor *[]){x, wick_neg(x)}, 0), 1, 5), *v = wick_sin(k);
    return rows_of(m, wick_attention(heads_of(m, "q", x, 1, 5), k, v,
                                     &(wick_attention_options){.causal_end = true, .dropout = 0.3}));
}
NET(causal_keys) {
    return rows_of(m, wick_attention(heads_of(m, "q", x, 2, 4), heads_of(m, "k", x, 2, 4), heads_of(m, "v", x, 2, 4),
                                     &(wick_attention_options){.causal = true, .dropout = 0.2}));
}
NET(attention_of_doubles) {
    wick_tensor *q = wick_cast(heads_of(m, "q", x, 2, 4), WICK_F64),
                *k = wick_cast(heads_of(m, "k", x, 2, 4), WICK_F64);
    return rows_of(m,
                   wick_cast(wick_attention(q, k, wick_cos(k), &(wick_attention_options){.causal = true}), WICK_F32));
}

static const net nets[] = {
    {"mlp", 2, {6, 40}, mlp, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"mlp_alone", 2, {1, 40}, mlp, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"mlp_momentum",
     2,
     {6, 40},
     mlp,
     false,
     {.kind = WICK_SGD, .momentum = 0.9, .nesterov = true, .weight_decay = 1e-3},
     WICK_PRECISION_F32},
    {"mlp_adamw", 2, {6, 40}, mlp, false, {.kind = WICK_ADAMW, .clip_norm = 0.5}, WICK_PRECISION_F32},
    {"mlp_rmsprop", 2, {6, 40}, mlp, false, {.kind = WICK_RMSPROP, .centered = true}, WICK_PRECISION_F32},
    {"mlp_lion", 2, {6, 40}, mlp, false, {.kind = WICK_LION}, WICK_PRECISION_F32},
    {"mlp_cosine",
     2,
     {6, 40},
     mlp,
     false,
     {.kind = WICK_ADAM, .schedule = {.kind = WICK_SCHEDULE_COSINE, .warmup = 2, .total = 6}},
     WICK_PRECISION_F32},
    {"wide", 2, {3, 600}, wide, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"lenet", 4, {3, 1, 28, 28}, lenet, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"strided", 4, {2, 3, 21, 18}, strided, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"strided_deep", 4, {2, 3, 9, 8}, strided_deep, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"grouped", 4, {2, 3, 9, 10}, grouped, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"winograd", 4, {2, 3, 9, 12}, winograd, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"separable", 4, {4, 3, 9, 10}, separable, false, {.kind = WICK_SGD, .momentum = 0.9}, WICK_PRECISION_F32},
    {"residual", 4, {2, 3, 12, 12}, residual, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"pooled_planes", 4, {2, 3, 8, 8}, pooled_planes, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"line", 3, {2, 3, 30}, line, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"solid", 5, {2, 2, 5, 6, 7}, solid, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"normed", 2, {5, 20}, normed, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"dropped", 4, {3, 2, 7, 6}, dropped, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"noisy", 2, {5, 20}, noisy, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"shuffled", 2, {5, 20}, shuffled, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"lstm_letters", 2, {15, 1}, lstm_letters, false, {.kind = WICK_ADAM, .clip_norm = 1}, WICK_PRECISION_F32},
    {"gru_letters", 2, {12, 1}, gru_letters, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"rnn_letters", 2, {9, 1}, rnn_letters, false, {.kind = WICK_SGD, .momentum = 0.9}, WICK_PRECISION_F32},
    {"lstm_with_all", 2, {15, 4}, lstm_with_all, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"lstm_coupled", 2, {12, 4}, lstm_coupled, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"gru_with_all", 2, {15, 4}, gru_with_all, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"gru_reset_first", 2, {15, 4}, gru_reset_first, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"rnn_of_doubles", 2, {12, 4}, rnn_of_doubles, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"transformer", 2, {24, 1}, transformer, false, {.kind = WICK_ADAMW}, WICK_PRECISION_F32},
    {"many_keys", 2, {300, 4}, many_keys, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"dropped_keys", 2, {280, 3}, dropped_keys, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"causal_keys", 2, {150, 3}, causal_keys, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"attention_of_doubles", 2, {60, 3}, attention_of_doubles, false, {.kind = WICK_SGD}, WICK_PRECISION_F32},
    {"autoencoder", 2, {4, 30}, autoencoder, true, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
};
/* In halves: products and convolutions narrow, the rest and the states f32. A loss scaled so that the first steps
 * overflow is backed off. */
static const net narrow_nets[] = {
    {"mlp_bf16", 2, {6, 40}, mlp, false, {.kind = WICK_ADAM}, WICK_PRECISION_BF16},
    {"mlp_f16",
     2,
     {6, 40},
     mlp,
     false,
     {.kind = WICK_SGD, .momentum = 0.9, .loss_scale = {.initial = 0x1p21}},
     WICK_PRECISION_F16},
    {"wide_bf16", 2, {3, 1101}, wide, false, {.kind = WICK_ADAM}, WICK_PRECISION_BF16},
    {"wide_f16", 2, {3, 601}, wide, false, {.kind = WICK_ADAM, .loss_scale = {.initial = 256}}, WICK_PRECISION_F16},
    {"lenet_bf16", 4, {3, 1, 28, 28}, lenet, false, {.kind = WICK_ADAM}, WICK_PRECISION_BF16},
    {"lenet_f16",
     4,
     {3, 1, 28, 28},
     lenet,
     false,
     {.kind = WICK_ADAM, .loss_scale = {.initial = 65536}},
     WICK_PRECISION_F16},
    {"strided_bf16", 4, {2, 3, 21, 18}, strided, false, {.kind = WICK_SGD}, WICK_PRECISION_BF16},
    {"winograd_f16", 4, {2, 3, 9, 12}, winograd, false, {.kind = WICK_SGD}, WICK_PRECISION_F16},
    {"separable_bf16", 4, {4, 3, 9, 10}, separable, false, {.kind = WICK_SGD, .momentum = 0.9}, WICK_PRECISION_BF16},
    {"autoencoder_f16", 2, {4, 30}, autoencoder, true, {.kind = WICK_ADAM}, WICK_PRECISION_F16},
};
/* Of ONNX files, as wick train --model has them. */
static const net imported[] = {
    {"onnx_lenet", 4, {3, 1, 28, 28}, NULL, false, {.kind = WICK_SGD, .momentum = 0.9}, WICK_PRECISION_F32},
    {"onnx_mnist_cnn", 4, {2, 1, 28, 28}, NULL, false, {.kind = WICK_SGD, .momentum = WICK_ZERO}, WICK_PRECISION_F32},
    {"onnx_dscnn", 4, {2, 1, 49, 10}, NULL, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"onnx_resnet8", 4, {2, 3, 32, 32}, NULL, false, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
    {"onnx_resnet8", 4, {2, 3, 32, 32}, NULL, false, {.kind = WICK_SGD, .momentum = 0.9}, WICK_PRECISION_BF16},
    {"onnx_autoencoder", 2, {2, 640}, NULL, true, {.kind = WICK_ADAM}, WICK_PRECISION_F32},
};

typedef struct training {
    const net *n;
    wick_onnx *onnx; /* of an imported one, whose model it is */
    wick_model *model;
    wick_optimizer *optimizer;
} training;

static wick_tensor *body(const training *t, wick_tensor *x) {
    return t->onnx ? wick_onnx_forward(t->onnx, x) : t->n->body(t->model, x);
}
static wick_status open_imported(training *t, wick_context *ctx) {
    char path[1024];
    const wick_spec one = {
        .dtype = WICK_F32, .rank = t->n->rank, .dims = {1, t->n->dims[1], t->n->dims[2], t->n->dims[3]}};
    snprintf(path, sizeof path, "%s/bench/%s/model.onnx", getenv("WICK_MODELS"), t->n->name + strlen("onnx_"));
    WICK_TRY(wick_onnx_open(ctx, path, NULL, &t->onnx));
    t->model = wick_onnx_model(t->onnx);
    wick_onnx_drop_softmax(t->onnx);
    return wick_onnx_rebatch(t->onnx, &one);
}

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    training *t = user;
    wick_tensor *y = body(t, in[0]);
    out[0] = t->n->mse ? wick_mse(y, in[1]) : wick_cross_entropy(y, in[1]);
    return wick_optimizer_step(t->optimizer, out[0]);
}
static wick_status record_run(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    training *t = user;
    out[0] = body(t, in[0]);
    return WICK_OK;
}

enum { STEPS = 4, MOST = 20000, STATES = 200 };

/* An image's numbers and the labels (or targets) of a batch. */
static void fill(float *x, int64_t n, void *y, int64_t rows, int classes, bool mse) {
    for (int64_t i = 0; i < n; i++) x[i] = (float)test_rand_real(-1, 1);
    for (int64_t i = 0; i < rows; i++)
        if (mse) ((float *)y)[i] = (float)test_rand_real(-1, 1);
        else ((int64_t *)y)[i] = (int64_t)(test_rand() % (uint64_t)classes);
}

typedef struct emitted_state {
    const char *name;
    void *data;
    uint32_t bytes;
} emitted_state;

static void check_net(const char *folder, const net *n, int lanes, const char *isa, const char *flags) {
    static float x[MOST], want[MOST], got[MOST];
    static char y[8 * MOST];
    wick_context *ctx = NULL;
    training t = {.n = n};
    wick_plan *plan = NULL, *run_plan = NULL;
    wick_workspace *space = NULL, *run_space = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 2, .seed = 7}, &ctx) == WICK_OK);
    const wick_compile_options options = {.precision = n->precision};
    if (n->body) CHECK_OK(ctx, wick_model_new(ctx, &t.model));
    else CHECK_OK(ctx, open_imported(&t, ctx));
    CHECK_OK(ctx, wick_optimizer_new(t.model, &n->optim, &t.optimizer));
    wick_spec in[2] = {{.dtype = WICK_F32, .rank = n->rank}, {.dtype = WICK_I64, .rank = 1, .dims = {n->dims[0]}}}, out;
    memcpy(in[0].dims, n->dims, sizeof n->dims);
    wick_model_set_training(t.model, false);
    if (t.onnx) CHECK_OK(ctx, wick_onnx_prepare(t.onnx, in));
    CHECK_OK(ctx, wick_compile(ctx, record_run, &t, 1, in, 1, &options, &run_plan));
    REQUIRE(run_plan);
    out = wick_plan_output(run_plan, 0);
    if (n->mse) in[1] = out;
    wick_model_set_training(t.model, true);
    CHECK_OK(ctx, wick_compile(ctx, record, &t, 2, in, 1, &options, &plan));
    REQUIRE(plan);

    wick_c_state states[STATES];
    int n_states = 0;
    for (int params = 1; params >= 0; params--)
        for (int i = 0; i < wick_model_count(t.model); i++) {
            const wick_named s = wick_model_at(t.model, i);
            if ((s.role != WICK_ROLE_OPTIM) == params) states[n_states++] = (wick_c_state){s.name, s.tensor, params};
        }
    const wick_c_entry entries[2] = {{.plan = plan, .verb = "train"}, {.plan = run_plan, .verb = "run"}};
    wick_c_info info;
    const wick_status status = wick_plans_write_c(
        2, entries, folder,
        &(wick_c_options){.name = n->name, .lanes = lanes, .isa = isa, .states = states, .n_states = n_states}, &info);
    CHECK_MSG(status == WICK_OK, "%s: %s", n->name, wick_context_error(ctx));
    const bool wanted = compiled_wanted();
    void *library = status == WICK_OK && wanted ? compiled_load(folder, n->name, flags) : NULL;
    CHECK_MSG(library || !wanted, "%s", n->name);
    if (library && wick_workspace_new(plan, &space) == WICK_OK && wick_workspace_new(run_plan, &run_space) == WICK_OK) {
        char name[80];
        snprintf(name, sizeof name, "%s_train", n->name);
        int (*train)(const float *, const void *, float *) =
            (int (*)(const float *, const void *, float *))(uintptr_t)dlsym(library, name);
        snprintf(name, sizeof name, "%s_run", n->name);
        int (*run)(const float *, float *) = (int (*)(const float *, float *))(uintptr_t)dlsym(library, name);
        snprintf(name, sizeof name, "%s_states", n->name);
        const emitted_state *table = dlsym(library, name);
        const int64_t count = (int64_t)wick_spec_bytes(&in[0]) / 4,
                      rows = (int64_t)wick_spec_bytes(&in[1]) / (n->mse ? 4 : 8);
        const int classes = (int)out.dims[out.rank - 1];
        REQUIRE(count <= MOST && rows <= MOST);
        float first = 0;
        for (int step = 0; step < STEPS; step++) {
            float loss[2] = {0};
            fill(x, count, y, rows, classes, n->mse);
            CHECK_MSG(wick_run(space, (const void *[]){x, y}, (void *[]){&loss[0]}) == WICK_OK, "%s: %s", n->name,
                      wick_workspace_error(space));
            CHECK_INT(train(x, y, &loss[1]), 0);
            CHECK_MSG(memcmp(&loss[0], &loss[1], sizeof *loss) == 0, "%s: the loss of step %d is %a, not %a", n->name,
                      step, (double)loss[1], (double)loss[0]);
            if (step == 0) first = loss[0];
        }
        CHECK(first == first && first != 0);
        if (t.onnx) { /* the same images again are learned */
            float loss[2] = {0};
            for (int step = 0; step < 3 * STEPS; step++) {
                CHECK(wick_run(space, (const void *[]){x, y}, (void *[]){&loss[0]}) == WICK_OK);
                CHECK_INT(train(x, y, &loss[1]), 0);
                CHECK(memcmp(&loss[0], &loss[1], sizeof *loss) == 0);
                if (step == 0) first = loss[1];
            }
            CHECK_MSG(loss[1] < first, "%s: the loss went from %g to %g", n->name, (double)first, (double)loss[1]);
            test_count("steps of imported models", 4 * STEPS);
        }
        int k = 0;
        for (int i = 0; i < n_states; i++) {
            const void *data;
            if (strcmp(table[k].name, states[i].name) != 0) continue; /* nothing assigns it */
            CHECK(wick_data((wick_tensor *)(uintptr_t)states[i].tensor, &data) == WICK_OK);
            CHECK_MSG(memcmp(data, table[k].data, table[k].bytes) == 0, "%s: other bits of %s", n->name,
                      states[i].name);
            test_count("states of training", 1);
            k++;
        }
        /* the seed, and how many steps there were: a step that fails is none */
        if (n->body == dropped || n->body == noisy || n->body == shuffled) {
            const uint64_t *random = table[k].data;
            CHECK(strcmp(table[k].name, "train.random") == 0);
            if (!n->mse) ((int64_t *)(void *)y)[0] = classes;
            CHECK_INT(train(x, y, &first), 2);
            CHECK(table[k].bytes == 2 * sizeof *random && random[0] == 7 && random[1] == STEPS);
        }
        CHECK(wick_run(run_space, (const void *[]){x}, (void *[]){want}) == WICK_OK);
        CHECK_INT(run(x, got), 0);
        CHECK_MSG(memcmp(want, got, wick_spec_bytes(&out)) == 0, "%s: other bits after the training", n->name);
        test_count("printed training steps", 1);
        dlclose(library);
    }
    wick_workspace_free(&space);
    wick_workspace_free(&run_space);
    wick_plan_free(&plan);
    wick_plan_free(&run_plan);
    wick_optimizer_free(&t.optimizer);
    if (!t.onnx) wick_model_free(&t.model);
    wick_onnx_free(&t.onnx);
    wick_context_free(&ctx);
}

/* By cc, or by a compiler and level of compiled.h those that it takes. */
static void check_by(int way, const net *list, size_t n, int lanes, wick_tier tier, const char *flags) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    char folder[512];
    const wick_tier before = wick_tier_current();
    if (!wick_tier_force(tier)) SKIP("the CPU has no such tier");
    REQUIRE(compiled_folder(folder, sizeof folder));
    for (size_t i = 0; i < n; i++)
        /* its gelu is by another polynomial there */
        if (compiled_goes(i, way) && compiled_in_turn(i, tier) &&
            (tier != WICK_TIER_AVX512 || !list[i].body || list[i].body != normed))
            check_net(folder, &list[i], lanes, tier == WICK_TIER_BASE ? NULL : wick_tier_name(tier), flags);
    compiled_remove(folder);
    wick_tier_force(before);
}
static void check_list(const net *list, size_t n, int lanes, wick_tier tier, const char *flags) {
    check_by(COMPILED_BY_CC, list, n, lanes, tier, flags);
}
static void check_all(int lanes, wick_tier tier, const char *flags) {
    check_list(nets, WICK_COUNTOF(nets), lanes, tier, flags);
}

TEST(printed_training_steps_have_the_bits_of_the_base_tier_by_every_compiler) {
    for (int way = 0; way < COMPILED_WAYS; way++)
        if (compiled_with(way))
            check_by(way, nets, WICK_COUNTOF(nets), way % 2 ? 32 : 0, WICK_TIER_BASE, "");
    compiled_with_cc();
}
TEST(steps_in_halves_have_the_bits_of_the_base_tier) {
    check_list(narrow_nets, WICK_COUNTOF(narrow_nets), 0, WICK_TIER_BASE, "");
}
TEST(variants_train_in_halves_with_the_bits_of_their_tier) {
    check_list(narrow_nets, WICK_COUNTOF(narrow_nets), 16, WICK_TIER_AVX512, "-mavx512f -mavx512vl -mavx512dq -mfma");
}
TEST(imported_models_train_with_the_bits_of_the_base_tier) {
    if (!getenv("WICK_MODELS")) SKIP("WICK_MODELS is not set");
    check_list(imported, WICK_COUNTOF(imported), 16, WICK_TIER_BASE, "");
}
TEST(variants_train_with_the_bits_of_avx2) { check_all(0, WICK_TIER_AVX2, "-mavx2 -mfma"); }
TEST(variants_train_with_the_bits_of_avx512) {
    check_all(32, WICK_TIER_AVX512, "-mavx512f -mavx512vl -mavx512dq -mfma");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
