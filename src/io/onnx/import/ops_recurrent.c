/* ops_recurrent.c: RNN, LSTM and GRU. What Wick's ops of these names have becomes one of them; other activations, and
 * other numbers of theirs, become a loop of plain ops (wick_scan_loop). */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/import/contrib.h"
#include "wick/control.h"
#include "wick/pointwise.h"
#include "wick/sequence.h"
#include "wick/shape.h"

/* Gates of axis 1 in Wick's order: w [D, gates * H, ...]. */
static wick_tensor *reorder(wick_tensor *w, int gates, const int *order) {
    wick_tensor *parts[4];
    const int64_t each = wick_tensor_dim(w, 1) / gates;
    for (int g = 0; g < gates; g++) parts[g] = wick_slice(w, 1, order[g] * each, (order[g] + 1) * each, 1);
    return wick_concat(gates, parts, 1);
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* f(x) of ONNX's activations; alpha and beta: NAN where a file that has none is refused. */
typedef struct kind {
    const char *name;
    wick_rnn_act act; /* that of Wick's ops, for the numbers here; DEFAULT: they have none */
    bool has_alpha, has_beta;
    double alpha, beta;
} kind;
enum { SIGMOID, TANH, RELU, HARD_SIGMOID, SOFTSIGN, AFFINE, LEAKY_RELU, THRESHOLDED_RELU, SCALED_TANH, ELU, SOFTPLUS };
static const kind kinds[] = {
    [SIGMOID] = {"sigmoid", WICK_RNN_SIGMOID, false, false, 0, 0},
    [TANH] = {"tanh", WICK_RNN_TANH, false, false, 0, 0},
    [RELU] = {"relu", WICK_RNN_RELU, false, false, 0, 0},
    [HARD_SIGMOID] = {"hardsigmoid", WICK_RNN_HARD_SIGMOID, true, true, 0.2f, 0.5f},
    [SOFTSIGN] = {"softsign", WICK_RNN_SOFTSIGN, false, false, 0, 0},
    [AFFINE] = {"affine", WICK_RNN_IDENTITY, true, true, 1, 0},
    [LEAKY_RELU] = {"leakyrelu", WICK_RNN_DEFAULT, true, false, 0.01f, 0},
    [THRESHOLDED_RELU] = {"thresholdedrelu", WICK_RNN_DEFAULT, true, false, 1, 0},
    [SCALED_TANH] = {"scaledtanh", WICK_RNN_DEFAULT, true, true, (double)NAN, (double)NAN},
    [ELU] = {"elu", WICK_RNN_DEFAULT, true, false, 1, 0},
    [SOFTPLUS] = {"softplus", WICK_RNN_DEFAULT, false, false, 0, 0},
};

typedef struct activation {
    int kind;
    double alpha, beta;
} activation;
typedef struct activations { /* by direction, as wick_rnn_options.acts */
    activation at[2][3];
    bool plain; /* Wick's ops don't have one of them */
} activations;

static wick_tensor *apply(const activation *a, wick_tensor *x) {
    wick_tensor *zero = wick_like(x, 0);
    switch (a->kind) {
    case SIGMOID: return wick_sigmoid(x);
    case TANH: return wick_tanh(x);
    case RELU: return wick_relu(x);
    case HARD_SIGMOID: return wick_clip(wick_add(wick_mul(x, wick_like(x, a->alpha)), wick_like(x, a->beta)), 0, 1);
    case SOFTSIGN: return wick_softsign(x);
    case AFFINE: return wick_add(wick_mul(x, wick_like(x, a->alpha)), wick_like(x, a->beta));
    case LEAKY_RELU: return wick_leaky_relu(x, a->alpha);
    case THRESHOLDED_RELU:
        return wick_where(wick_lt(x, wick_like(x, a->alpha)), zero,
                          x); /* x >= alpha stays, other than in the op of that name */
    case SCALED_TANH: return wick_mul(wick_tanh(wick_mul(x, wick_like(x, a->beta))), wick_like(x, a->alpha));
    case ELU: return wick_elu(x, a->alpha);
    default: return wick_softplus(x);
    }
}

static int kind_of(wick_bytes s) {
    char lower[16] = {0};
    if (s.size >= sizeof lower) return -1;
    for (size_t k = 0; k < s.size; k++) lower[k] = (char)(s.at[k] | 32);
    for (size_t k = 0; k < WICK_COUNTOF(kinds); k++)
        if (!strcmp(lower, kinds[k].name)) return (int)k;
    return -1;
}

/* What the file says, one for each gate function of each direction. alpha and beta are lists of those functions that
 * have one, in order. */
static bool read_activations(onnx_call *c, int gates, int directions, activations *out, wick_rnn_options *o) {
    const onnx_attr *names = wick_onnx_attr(c, "activations"), *alpha = wick_onnx_attr(c, "activation_alpha"),
                    *beta = wick_onnx_attr(c, "activation_beta");
    const int each = gates == 4 ? 3 : gates == 3 ? 2 : 1;
    size_t n_alpha = 0, n_beta = 0;
    if (!names || !names->strings.n) {
        for (int i = 0; i < each * directions; i++)
            out->at[i / each][i % each].kind = gates > 1 && i % each == 0 ? SIGMOID : TANH;
        return true;
    }
    if (names->strings.n != (size_t)(each * directions))
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "%zu activations, not %d", names->strings.n, each * directions);
    for (int i = 0; i < each * directions; i++) {
        const wick_bytes name = names->strings.at[i];
        const int k = kind_of(name);
        if (k < 0)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "activation \"%.*s\" does not exist",
                                  (int)WICK_MIN(name.size, (size_t)40), name.at);
        activation *a = &out->at[i / each][i % each];
        *a = (activation){k, kinds[k].alpha, kinds[k].beta};
        if (kinds[k].has_alpha && alpha && n_alpha < alpha->floats.n) a->alpha = (double)alpha->floats.at[n_alpha++];
        if (kinds[k].has_beta && beta && n_beta < beta->floats.n) a->beta = (double)beta->floats.at[n_beta++];
        if (isnan(kinds[k].alpha) && (isnan(a->alpha) || isnan(a->beta)))
            return wick_onnx_fail(
                c, WICK_ERR_FORMAT,
                "activation \"%.*s\" has no activation_alpha or activation_beta, and ONNX no default for them",
                (int)name.size, name.at);
        o->acts[i / each][i % each] = kinds[k].act;
        out->plain |= kinds[k].act == WICK_RNN_DEFAULT || a->alpha != kinds[k].alpha || a->beta != kinds[k].beta;
    }
    return true;
}

/* ---- a loop of plain ops ----------------------------------------------------------------------------------------- */

/* Weights b [in, 4 H] of one direction that stand for (b - zero) scale. scale and zero: one number, or one for each of
 * 4 H; zero may be NULL. sums: wick_onnx_column_sums of b. */
typedef struct byte_weights {
    wick_tensor *b, *scale, *zero, *sums;
} byte_weights;

/* x, rounded to bytes by the range of all of it, times the weights. */
static wick_tensor *byte_product(wick_tensor *x, const byte_weights *w) {
    wick_tensor *scale, *point, *q = wick_onnx_quantise_range(x, &scale, &point);
    wick_tensor *sum = wick_cast(wick_onnx_byte_product(q, point, w->b, w->zero, w->sums), WICK_F32);
    return wick_mul(sum, wick_mul(scale, w->scale));
}

typedef struct step {
    int gates;
    bool masked, reset_first, input_forget;
    double clip;
    const activation *acts;
    int64_t units;
    wick_tensor *w, *bias, *peephole; /* of one direction; bias: a GRU's, of n, where r multiplies it. NULL: none */
    const int *order;                 /* where each gate is; NULL: in its place */
    byte_weights bytes;               /* instead of w, if there is a b */
} step;

static wick_tensor *gate(wick_tensor *x, const step *s, int k) {
    const int64_t at = s->order ? s->order[k] : k;
    return wick_slice(x, -1, at * s->units, (at + 1) * s->units, 1);
}
static wick_tensor *clipped(wick_tensor *x, const step *s) { return s->clip > 0 ? wick_clip(x, -s->clip, s->clip) : x; }

/* Gates i f g o of p [B, 4 H]. */
static void lstm_step(const step *s, wick_tensor *p, wick_tensor *was, wick_tensor *next[2]) {
    wick_tensor *in[4], *see[3] = {NULL};
    for (int k = 0; k < 4; k++) in[k] = gate(p, s, k);
    for (int k = 0; k < 3 && s->peephole; k++) see[k] = wick_slice(s->peephole, 0, k * s->units, (k + 1) * s->units, 1);
    if (see[0]) in[0] = wick_add(in[0], wick_mul(see[0], was)), in[1] = wick_add(in[1], wick_mul(see[1], was));
    wick_tensor *i = apply(&s->acts[0], clipped(in[0], s)), *g = apply(&s->acts[1], clipped(in[2], s));
    wick_tensor *f = s->input_forget ? wick_sub(wick_like(i, 1), i) : apply(&s->acts[0], clipped(in[1], s));
    next[1] = wick_add(wick_mul(f, was), wick_mul(i, g));
    wick_tensor *o = apply(&s->acts[0], clipped(see[2] ? wick_add(in[3], wick_mul(see[2], next[1])) : in[3], s));
    next[0] = wick_mul(o, apply(&s->acts[2], next[1]));
}

/* Gates r z n of x and w. */
static wick_tensor *gru_step(const step *s, wick_tensor *x, wick_tensor *h) {
    wick_tensor *w_rz = wick_slice(s->w, 0, 0, 2 * s->units, 1),
                *w_n = wick_slice(s->w, 0, 2 * s->units, 3 * s->units, 1);
    wick_tensor *p = wick_linear(h, w_rz, NULL);
    wick_tensor *r = apply(&s->acts[0], clipped(wick_add(gate(x, s, 0), gate(p, s, 0)), s)),
                *z = apply(&s->acts[0], clipped(wick_add(gate(x, s, 1), gate(p, s, 1)), s));
    wick_tensor *side =
        s->reset_first ? wick_linear(wick_mul(r, h), w_n, s->bias) : wick_mul(r, wick_linear(h, w_n, s->bias));
    wick_tensor *n = apply(&s->acts[1], clipped(wick_add(gate(x, s, 2), side), s));
    return wick_add(wick_mul(wick_sub(wick_like(z, 1), z), n), wick_mul(z, h));
}

/* in: h [B, H], c of an LSTM, x [B, G H], whether the step counts [B, 1]. out: h, c, y. */
static wick_status one_step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const step *s = user;
    const int n_state = s->gates == 4 ? 2 : 1;
    wick_tensor *x = in[n_state], *counts = s->masked ? in[n_state + 1] : NULL, *next[2] = {NULL};
    wick_tensor *p = s->bytes.b      ? byte_product(in[0], &s->bytes)
                     : s->gates != 3 ? wick_linear(in[0], s->w, NULL)
                                     : NULL;
    if (s->gates == 4) lstm_step(s, wick_add(x, p), in[1], next);
    else if (s->gates == 3) next[0] = gru_step(s, x, in[0]);
    else next[0] = apply(&s->acts[0], clipped(wick_add(x, p), s));
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

/* Weights [D, in, 4 H] of bytes with what they stand for: scales and zero points [D] or [D, 4 H]. */
typedef struct quantised {
    const int *order;
    wick_tensor *scale[2], *zero[2]; /* of W, of R */
} quantised;

static byte_weights bytes_of(const quantised *q, int which, wick_tensor *w, int64_t d) {
    byte_weights of = {.b = direction_of(w, d),
                       .scale = direction_of(wick_cast(q->scale[which], WICK_F32), d),
                       .zero = direction_of(q->zero[which], d)};
    of.sums = wick_onnx_column_sums(of.b, of.zero);
    return of;
}

/* As wick_rnn, wick_gru and wick_lstm; q: NULL, or what weights of an LSTM stand for. */
static wick_tensor *looped(wick_context *ctx, int gates, wick_tensor *x, const wick_rnn_inputs *given,
                           const wick_rnn_options *o, const activations *acts, const quantised *q, wick_tensor **h_n,
                           wick_tensor **c_n) {
    const wick_dtype dtype = wick_tensor_dtype(x), computed = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    const bool lstm = gates == 4, both = o->direction == WICK_RNN_BIDIRECTIONAL;
    x = wick_cast(o->batch_first ? wick_transpose(x, 0, 1) : x, computed);
    wick_tensor *const all[] = {given->w_ih,     given->w_hh, given->b_ih, given->b_hh,
                                given->peephole, given->h0,   given->c0};
    wick_tensor *t[WICK_COUNTOF(all)], *y[2], *h[2], *cell[2];
    for (size_t i = 0; i < WICK_COUNTOF(all); i++)
        t[i] = !all[i] || (q && i < 2) ? all[i] : wick_cast(all[i], computed);
    const int64_t steps = wick_tensor_dim(x, 0), units = q ? wick_tensor_dim(t[1], 1) : wick_tensor_dim(t[1], 2);
    wick_tensor *counts = NULL; /* [T, B, 1] */
    if (given->lengths)
        counts = wick_lt(wick_reshape(wick_arange(ctx, WICK_I64, 0, 1, steps), 3, (const int64_t[]){steps, 1, 1}),
                         wick_unsqueeze(wick_cast(given->lengths, WICK_I64), 1));
    for (int64_t d = 0; d < 1 + both; d++) {
        step s = {.gates = gates,
                  .masked = counts != NULL,
                  .reset_first = o->reset_first,
                  .input_forget = o->input_forget,
                  .clip = o->clip,
                  .acts = acts->at[d],
                  .units = units,
                  .w = q ? NULL : direction_of(t[1], d),
                  .order = q ? q->order : NULL,
                  .peephole = direction_of(t[4], d)};
        wick_tensor *bias = direction_of(t[2], d), *b_hh = direction_of(t[3], d);
        if (b_hh && gates == 3) { /* that of n goes where r is known */
            s.bias = wick_slice(b_hh, 0, 2 * units, 3 * units, 1);
            b_hh = wick_concat(
                2, (wick_tensor *[]){wick_slice(b_hh, 0, 0, 2 * units, 1), wick_expand(wick_like(b_hh, 0), 1, &units)},
                0);
        }
        if (b_hh) bias = wick_add(bias, b_hh);
        wick_tensor *rows[2] = {NULL, counts}, *out[3];
        if (q) {
            const byte_weights w = bytes_of(q, 0, t[0], d);
            s.bytes = bytes_of(q, 1, t[1], d);
            rows[0] = byte_product(x, &w);
            if (bias) rows[0] = wick_add(rows[0], bias);
        } else {
            rows[0] = wick_linear(x, direction_of(t[0], d), bias);
        }
        wick_tensor *states[2] = {start(t[5], d, x, units), lstm ? start(t[6], d, x, units) : NULL};
        const wick_scan_options how = {.n_state = 1 + lstm,
                                       .n_x = 1 + (counts != NULL),
                                       .n_y = 1,
                                       .state = states,
                                       .x = rows,
                                       .rounds = steps,
                                       .reverse = d == 1 || o->direction == WICK_RNN_REVERSE};
        wick_scan_loop(ctx, one_step, &s, &how, out);
        h[d] = wick_unsqueeze(out[0], 0), cell[d] = lstm ? wick_unsqueeze(out[1], 0) : NULL, y[d] = out[1 + lstm];
    }
    *h_n = wick_cast(both ? wick_concat(2, h, 0) : h[0], dtype);
    if (lstm) *c_n = wick_cast(both ? wick_concat(2, cell, 0) : cell[0], dtype);
    wick_tensor *joined = both ? wick_concat(2, y, 2) : y[0];
    return wick_cast(o->batch_first ? wick_transpose(joined, 0, 1) : joined, dtype);
}

/* ---- the ops ----------------------------------------------------------------------------------------------------- */

/* A last state [directions, B, H] where samples had a step; 0 where they had none, as ONNX Runtime has it. lengths
 * NULL: of all, none. */
static wick_tensor *of_some_steps(wick_tensor *state, wick_tensor *lengths) {
    wick_tensor *zero = wick_like(state, 0);
    if (!lengths) return wick_expand(zero, wick_tensor_rank(state), wick_tensor_dims(state));
    const int64_t dims[] = {1, wick_tensor_count(lengths), 1};
    return wick_where(wick_reshape(wick_gt(lengths, wick_like(lengths, 0)), 3, dims), state, zero);
}

/* q: NULL, or the weights are of bytes and lie the other way round. */
static void recurrent(onnx_call *c, int gates, const int *order, const quantised *q) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL,
                *r = w ? wick_onnx_tensor(c, 2) : NULL, *const as_stored[2] = {w, r};
    if (!r) return;
    if (q && wick_tensor_rank(w) == 3 && wick_tensor_rank(r) == 3)
        w = wick_transpose(w, 1, 2), r = wick_transpose(r, 1, 2);
    wick_tensor *b = wick_onnx_optional(c, 3), *h0 = wick_onnx_optional(c, 5),
                *c0 = gates == 4 ? wick_onnx_optional(c, 6) : NULL, *p = gates == 4 ? wick_onnx_optional(c, 7) : NULL;
    const bool batch_first = wick_onnx_int(c, "layout", 0);
    wick_rnn_options o = {.batch_first = batch_first,
                          .clip = wick_onnx_float(c, "clip", 0),
                          .input_forget = gates == 4 && wick_onnx_int(c, "input_forget", 0),
                          .reset_first = gates == 3 && !wick_onnx_int(c, "linear_before_reset", 0)};
    const wick_bytes direction = wick_onnx_text(c, "direction", "forward");
    o.direction = wick_bytes_are(direction, "reverse")         ? WICK_RNN_REVERSE
                  : wick_bytes_are(direction, "bidirectional") ? WICK_RNN_BIDIRECTIONAL
                                                               : WICK_RNN_FORWARD;
    const int directions = o.direction == WICK_RNN_BIDIRECTIONAL ? 2 : 1;
    activations acts = {0};
    if (!read_activations(c, gates, directions, &acts, &o)) return;
    if (wick_tensor_rank(x) != 3 || wick_tensor_rank(w) != 3 || wick_tensor_rank(r) != 3 ||
        wick_tensor_dim(w, 1) % gates || wick_tensor_dim(r, 1) != wick_tensor_dim(w, 1) ||
        wick_tensor_dim(w, 0) != directions || wick_tensor_dim(r, 0) != directions ||
        (b && (wick_tensor_rank(b) != 2 || wick_tensor_dim(b, 1) != 2 * wick_tensor_dim(w, 1)))) {
        wick_onnx_fail(c, WICK_ERR_SHAPE,
                       "X, W and R must have 3 dims, W and R [directions, %d H, ...], B [directions, %d H]", gates,
                       2 * gates);
        return;
    }
    const int64_t hidden = wick_tensor_dim(r, 2), says = wick_onnx_int(c, "hidden_size", hidden);
    if (says != hidden) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "hidden_size is %lld, but R has %lld", (long long)says, (long long)hidden);
        return;
    }
    const bool other_order = gates > 1 && !q;
    wick_rnn_inputs in = {.w_ih = q             ? as_stored[0]
                                  : other_order ? reorder(w, gates, order)
                                                : w,
                          .w_hh = q             ? as_stored[1]
                                  : other_order ? reorder(r, gates, order)
                                                : r,
                          .lengths = wick_onnx_optional(c, 4)};
    if (b) {
        const int64_t half = wick_tensor_dim(b, 1) / 2;
        in.b_ih = wick_slice(b, 1, 0, half, 1), in.b_hh = wick_slice(b, 1, half, 2 * half, 1);
        if (other_order) in.b_ih = reorder(in.b_ih, gates, order), in.b_hh = reorder(in.b_hh, gates, order);
    }
    if (p) in.peephole = reorder(p, 3, (int[]){0, 2, 1}); /* i o f */
    in.h0 = h0 && batch_first ? wick_transpose(h0, 0, 1) : h0;
    in.c0 = c0 && batch_first ? wick_transpose(c0, 0, 1) : c0;
    wick_tensor *h_n = NULL, *c_n = NULL, *y = NULL;
    if (acts.plain || q) y = looped(c->ctx, gates, x, &in, &o, &acts, q, &h_n, &c_n);
    else if (gates == 4) y = wick_lstm(x, &in, &o, &h_n, &c_n);
    else if (gates == 3) y = wick_gru(x, &in, &o, &h_n);
    else y = wick_rnn(x, &in, &o, &h_n);
    const bool no_steps = wick_tensor_dim(x, batch_first) == 0;
    if (no_steps || in.lengths) {
        if (h0) h_n = of_some_steps(h_n, no_steps ? NULL : in.lengths);
        if (c0) c_n = of_some_steps(c_n, no_steps ? NULL : in.lengths);
    }
    /* [T, B, D H] -> [T, D, B, H], or [B, T, D, H] */
    const int64_t dims[4] = {wick_tensor_dim(x, 0), wick_tensor_dim(x, 1), directions, hidden};
    y = wick_reshape(y, 4, dims);
    wick_onnx_set(c, 0, batch_first ? y : wick_transpose(y, 1, 2));
    wick_onnx_set(c, 1, batch_first ? wick_transpose(h_n, 0, 1) : h_n);
    if (c_n) wick_onnx_set(c, 2, batch_first ? wick_transpose(c_n, 0, 1) : c_n);
}
static const int lstm_order[] = {0, 2, 3, 1}; /* i o f c -> i f g o */
static void lstm(onnx_call *c) { recurrent(c, 4, lstm_order, NULL); }
static void gru(onnx_call *c) { recurrent(c, 3, (int[]){1, 0, 2}, NULL); } /* z r h -> r z n */
static void rnn(onnx_call *c) { recurrent(c, 1, NULL, NULL); }

/* Of com.microsoft: X is rounded to u8 as a whole and h in each step, by its range; products are summed in integers. */
void wick_onnx_dynamic_quantize_lstm(onnx_call *c) {
    quantised q = {.order = lstm_order};
    for (int k = 0; k < 2; k++) {
        wick_tensor *w = wick_onnx_tensor(c, 1 + k),
                    *of[2] = {wick_onnx_tensor(c, 8 + 2 * k), wick_onnx_tensor(c, 9 + 2 * k)};
        if (c->status != WICK_OK) return;
        const wick_dtype dtype = wick_tensor_dtype(w);
        if (wick_tensor_rank(w) != 3 || (dtype != WICK_I8 && dtype != WICK_U8) || wick_tensor_dtype(of[1]) != dtype) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "W and R must be i8 or u8 of 3 dims, with zero points of their dtypes");
            return;
        }
        const int64_t directions = wick_tensor_dim(w, 0), columns = wick_tensor_dim(w, 2);
        for (int i = 0; i < 2; i++) {
            const int64_t n = wick_tensor_count(of[i]);
            if (n == 0 || (n != directions && n != directions * columns)) {
                wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld scales or zero points for %lld directions of %lld columns",
                               (long long)n, (long long)directions, (long long)columns);
                return;
            }
            of[i] = wick_reshape(of[i], n == directions ? 1 : 2, (int64_t[]){directions, columns});
        }
        q.scale[k] = of[0];
        q.zero[k] = wick_onnx_zero_point(c, 9 + 2 * k) ? of[1] : NULL;
    }
    recurrent(c, 4, lstm_order, &q);
}

static const onnx_op ops[] = {
    {"LSTM", 1, 0, lstm, {0}},
    {"GRU", 1, 0, gru, {0}},
    {"RNN", 1, 0, rnn, {0}},
};
const onnx_family wick_onnx_recurrent = {"", ops, WICK_COUNTOF(ops)};
