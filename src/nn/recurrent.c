/* recurrent.c: RNN, LSTM and GRU layers with PyTorch's states; one op for both directions of a layer. */
#include <stdio.h>

#include "nn/nn.h"
#include "wick/sequence.h"

enum { MOST_LAYERS = 64 };

typedef struct kind {
    const char *name;
    int64_t gates;
    wick_cell cell;
} kind;
static const kind rnn = {"rnn", 1, WICK_CELL_RNN}, lstm = {"lstm", 4, WICK_CELL_LSTM}, gru = {"gru", 3, WICK_CELL_GRU};

/* One state of both directions, as [D, ...]. */
static wick_tensor *both(wick_model *model, const char *name, const char *part, int64_t layer, int64_t directions,
                         wick_dtype dtype, int64_t rows, int64_t cols, int64_t hidden) {
    wick_tensor *t[2] = {NULL};
    for (int64_t d = 0; d < directions; d++) {
        char full[64];
        snprintf(full, sizeof full, "%s_l%d%s", part, (int)layer, d ? "_reverse" : "");
        const int64_t dims[2] = {rows, cols};
        t[d] = wick_unsqueeze(
            wick_layer_state(model, name, full, WICK_ROLE_PARAM, dtype, cols ? 2 : 1, dims, wick_init_linear(hidden)),
            0);
    }
    return directions == 2 ? wick_concat(2, t, 0) : t[0];
}

static wick_tensor *poison_all(wick_tensor *t, wick_tensor **h_n, wick_tensor **c_n) {
    if (h_n) *h_n = t;
    if (c_n) *c_n = t;
    return t;
}

static wick_tensor *stack_states(int64_t n, wick_tensor *const *states) {
    return n == 1 ? states[0] : wick_concat((int)n, states, 0);
}

static wick_tensor *layers(wick_model *model, const kind *k, const char *name, wick_tensor *x, int64_t hidden,
                           const wick_nn_rnn_options *options, wick_tensor **h_n, wick_tensor **c_n) {
    static const wick_nn_rnn_options plain;
    const wick_nn_rnn_options *o = options ? options : &plain;
    wick_context *ctx = wick_model_context(model);
    const char *shown = name ? name : "";
    const int64_t n = o->layers ? o->layers : 1, directions = o->bidirectional ? 2 : 1;
    if (!x) return poison_all(wick_poison(ctx, WICK_ERR_INVALID, "%s \"%s\": x is NULL", k->name, shown), h_n, c_n);
    if (x->error) return poison_all(x, h_n, c_n);
    const wick_dtype dtype = wick_tensor_dtype(x);
    if (!wick_dtype_is_float(dtype))
        return poison_all(wick_poison(ctx, WICK_ERR_DTYPE, "%s \"%s\": x is %s; layers take floats", k->name, shown,
                                      wick_dtype_name(dtype)),
                          h_n, c_n);
    if (wick_tensor_rank(x) != 3)
        return poison_all(wick_poison(ctx, WICK_ERR_SHAPE,
                                      "%s \"%s\": x has %d dims; it needs 3: steps, samples, features", k->name, shown,
                                      wick_tensor_rank(x)),
                          h_n, c_n);
    if (hidden < 1 || hidden > INT32_MAX || n < 1 || n > MOST_LAYERS)
        return poison_all(wick_poison(ctx, WICK_ERR_INVALID, "%s \"%s\": %lld units, %lld layers (at most %d)", k->name,
                                      shown, (long long)hidden, (long long)n, MOST_LAYERS),
                          h_n, c_n);
    wick_tensor *const given[2] = {o->h0, o->c0};
    for (int i = 0; i < 2; i++) {
        if (!given[i]) continue;
        if (given[i]->error) return poison_all(given[i], h_n, c_n);
        if (wick_tensor_rank(given[i]) != 3 || wick_tensor_dim(given[i], 0) != n * directions)
            return poison_all(
                wick_poison(ctx, WICK_ERR_SHAPE,
                            "%s \"%s\": %s must be [layers * directions, samples, units], its first dim %lld", k->name,
                            shown, i ? "c0" : "h0", (long long)(n * directions)),
                h_n, c_n);
    }
    if (o->projection < 0 || o->projection >= hidden || (o->projection && k != &lstm))
        return poison_all(
            wick_poison(ctx, WICK_ERR_INVALID,
                        "%s \"%s\": a projection to %lld; an LSTM's h can be projected to less than its %lld units",
                        k->name, shown, (long long)o->projection, (long long)hidden),
            h_n, c_n);
    const int64_t rows = k->gates * hidden, width = o->projection ? o->projection : hidden; /* of h */
    const wick_rnn_options how = {.batch_first = o->batch_first,
                                  .direction = o->bidirectional ? WICK_RNN_BIDIRECTIONAL : WICK_RNN_FORWARD,
                                  .acts = {{o->relu && k == &rnn ? WICK_RNN_RELU : WICK_RNN_DEFAULT},
                                           {o->relu && k == &rnn ? WICK_RNN_RELU : WICK_RNN_DEFAULT}}};
    wick_tensor *y = x, *h[MOST_LAYERS], *c[MOST_LAYERS];
    for (int64_t l = 0; l < n; l++) {
        if (l && o->dropout > 0) y = wick_nn_dropout(model, y, o->dropout);
        const int64_t in = y && !y->error ? wick_tensor_dim(y, 2) : 1;
        wick_rnn_inputs v = {.lengths = o->lengths};
        v.w_ih = both(model, name, "weight_ih", l, directions, dtype, rows, in, hidden);
        v.w_hh = both(model, name, "weight_hh", l, directions, dtype, rows, width, hidden);
        if (!o->no_bias) {
            v.b_ih = both(model, name, "bias_ih", l, directions, dtype, rows, 0, hidden);
            v.b_hh = both(model, name, "bias_hh", l, directions, dtype, rows, 0, hidden);
        }
        wick_tensor *w_hr =
            o->projection ? both(model, name, "weight_hr", l, directions, dtype, o->projection, hidden, hidden) : NULL;
        if (o->h0) v.h0 = wick_slice(o->h0, 0, l * directions, (l + 1) * directions, 1);
        if (o->c0) v.c0 = wick_slice(o->c0, 0, l * directions, (l + 1) * directions, 1);
        h[l] = c[l] = NULL;
        y = o->plain || w_hr ? wick_nn_recurrent_scan(k->cell, y, &v, w_hr, &how, &h[l], &c[l])
            : k == &rnn      ? wick_rnn(y, &v, &how, &h[l])
            : k == &gru      ? wick_gru(y, &v, &how, &h[l])
                             : wick_lstm(y, &v, &how, &h[l], &c[l]);
    }
    if (h_n) *h_n = stack_states(n, h);
    if (c_n) *c_n = stack_states(n, c);
    return wick_layer_done(model, k->name, name, x, y);
}

wick_tensor *wick_nn_rnn(wick_model *model, const char *name, wick_tensor *x, int64_t hidden,
                         const wick_nn_rnn_options *options, wick_tensor **h_n) {
    return layers(model, &rnn, name, x, hidden, options, h_n, NULL);
}
wick_tensor *wick_nn_lstm(wick_model *model, const char *name, wick_tensor *x, int64_t hidden,
                          const wick_nn_rnn_options *options, wick_tensor **h_n, wick_tensor **c_n) {
    return layers(model, &lstm, name, x, hidden, options, h_n, c_n);
}
wick_tensor *wick_nn_gru(wick_model *model, const char *name, wick_tensor *x, int64_t hidden,
                         const wick_nn_rnn_options *options, wick_tensor **h_n) {
    return layers(model, &gru, name, x, hidden, options, h_n, NULL);
}
