/* recurrent_scan.c: the time loop of a recurrent layer in plain ops, one round of wick_scan_loop for each step: what
 * the ops rnn, lstm and gru have in one node. Slower, but its gradients have gradients, and an LSTM's states may be
 * projected. */
#include "nn/nn.h"
#include "wick/control.h"

typedef struct step {
    wick_cell kind;
    bool relu, masked;
    int64_t units;
    wick_tensor *w_hh, *b_hh, *w_hr; /* of one direction; b_hh: a GRU's, of n. NULL: none */
} step;

static wick_tensor *gate(wick_tensor *x, const step *s, int k) {
    return wick_slice(x, -1, k * s->units, (k + 1) * s->units, 1);
}

/* in: h [B, P], c [B, H] of an LSTM, x [B, G H], whether the step counts [B, 1]. out: h, c, y. */
static wick_status one_step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const step *s = user;
    const int n_state = s->kind == WICK_CELL_LSTM ? 2 : 1;
    wick_tensor *h = in[0], *x = in[n_state], *counts = s->masked ? in[n_state + 1] : NULL,
                *p = wick_linear(h, s->w_hh, NULL), *next[2] = {NULL};
    if (s->kind == WICK_CELL_RNN) {
        next[0] = s->relu ? wick_relu(wick_add(x, p)) : wick_tanh(wick_add(x, p));
    } else if (s->kind == WICK_CELL_LSTM) {
        p = wick_add(x, p);
        wick_tensor *i = wick_sigmoid(gate(p, s, 0)), *f = wick_sigmoid(gate(p, s, 1)), *g = wick_tanh(gate(p, s, 2)),
                    *o = wick_sigmoid(gate(p, s, 3));
        next[1] = wick_add(wick_mul(f, in[1]), wick_mul(i, g));
        next[0] = wick_mul(o, wick_tanh(next[1]));
        if (s->w_hr) next[0] = wick_linear(next[0], s->w_hr, NULL);
    } else {
        wick_tensor *r = wick_sigmoid(wick_add(gate(x, s, 0), gate(p, s, 0))),
                    *z = wick_sigmoid(wick_add(gate(x, s, 1), gate(p, s, 1))), *side = gate(p, s, 2);
        if (s->b_hh) side = wick_add(side, s->b_hh);
        wick_tensor *n = wick_tanh(wick_add(gate(x, s, 2), wick_mul(r, side)));
        next[0] = wick_add(n, wick_mul(z, wick_sub(h, n)));
    }
    out[n_state] = counts ? wick_where(counts, next[0], wick_like(next[0], 0)) : next[0];
    for (int k = 0; k < n_state; k++) out[k] = counts ? wick_where(counts, next[k], in[k]) : next[k];
    return WICK_OK;
}

/* Direction d of a tensor [D, ...], or NULL. */
static wick_tensor *direction_of(wick_tensor *t, int64_t d) {
    return t ? wick_squeeze(wick_slice(t, 0, d, d + 1, 1), 0) : NULL;
}
static wick_tensor *start(wick_tensor *given, int64_t d, wick_tensor *x, int64_t units) {
    return given ? direction_of(given, d)
                 : wick_expand(wick_like(x, 0), 2, (const int64_t[]){wick_tensor_dim(x, 1), units});
}

wick_tensor *wick_nn_recurrent_scan(wick_cell kind, wick_tensor *x, const wick_rnn_inputs *in, wick_tensor *w_hr,
                                    const wick_rnn_options *o, wick_tensor **h_n, wick_tensor **c_n) {
    if (!x || x->error) return x;
    wick_context *ctx = x->ctx;
    const wick_dtype dtype = wick_tensor_dtype(x), computed = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    const int64_t directions = o->direction == WICK_RNN_BIDIRECTIONAL ? 2 : 1, gates = kind == WICK_CELL_LSTM  ? 4
                                                                                       : kind == WICK_CELL_GRU ? 3
                                                                                                               : 1;
    const int64_t units = wick_tensor_dim(in->w_hh, 1) / gates, shown = wick_tensor_dim(in->w_hh, 2);
    const bool lstm = kind == WICK_CELL_LSTM;
    x = wick_cast(x, computed);
    if (o->batch_first) x = wick_transpose(x, 0, 1);
    const int64_t steps = wick_tensor_dim(x, 0);
    wick_tensor *const given[] = {in->w_ih, in->w_hh, in->b_ih, in->b_hh, w_hr, in->h0, in->c0};
    wick_tensor *t[WICK_COUNTOF(given)], *y[2], *h[2], *c[2];
    for (size_t i = 0; i < WICK_COUNTOF(given); i++) t[i] = given[i] ? wick_cast(given[i], computed) : NULL;
    wick_tensor *counts = NULL; /* [T, B, 1] */
    if (in->lengths)
        counts = wick_lt(wick_reshape(wick_arange(ctx, WICK_I64, 0, 1, steps), 3, (const int64_t[]){steps, 1, 1}),
                         wick_unsqueeze(wick_cast(in->lengths, WICK_I64), 1));
    for (int64_t d = 0; d < directions; d++) {
        step s = {.kind = kind,
                  .relu = o->acts[d][0] == WICK_RNN_RELU,
                  .masked = counts != NULL,
                  .units = units,
                  .w_hh = direction_of(t[1], d),
                  .w_hr = direction_of(t[4], d)};
        wick_tensor *bias = direction_of(t[2], d), *b_hh = direction_of(t[3], d);
        if (b_hh && kind == WICK_CELL_GRU) { /* of n, it is multiplied by r */
            s.b_hh = wick_slice(b_hh, 0, 2 * units, 3 * units, 1);
            b_hh = wick_concat(
                2, (wick_tensor *[]){wick_slice(b_hh, 0, 0, 2 * units, 1), wick_mul(s.b_hh, wick_like(s.b_hh, 0))}, 0);
        }
        if (b_hh) bias = bias ? wick_add(bias, b_hh) : b_hh;
        wick_tensor *rows[2] = {wick_linear(x, direction_of(t[0], d), bias), counts}, *out[3];
        wick_tensor *states[2] = {start(t[5], d, x, shown), lstm ? start(t[6], d, x, units) : NULL};
        const wick_scan_options how = {.n_state = 1 + lstm,
                                       .n_x = 1 + (counts != NULL),
                                       .n_y = 1,
                                       .state = states,
                                       .x = rows,
                                       .rounds = steps,
                                       .reverse = d == 1 || o->direction == WICK_RNN_REVERSE};
        wick_scan_loop(ctx, one_step, &s, &how, out);
        h[d] = wick_unsqueeze(out[0], 0), c[d] = lstm ? wick_unsqueeze(out[1], 0) : NULL, y[d] = out[1 + lstm];
    }
    *h_n = wick_cast(directions == 2 ? wick_concat(2, h, 0) : h[0], dtype);
    if (lstm) *c_n = wick_cast(directions == 2 ? wick_concat(2, c, 0) : c[0], dtype);
    wick_tensor *all = directions == 2 ? wick_concat(2, y, 2) : y[0];
    return wick_cast(o->batch_first ? wick_transpose(all, 0, 1) : all, dtype);
}
