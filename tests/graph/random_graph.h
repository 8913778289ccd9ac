/* random_graph.h: graphs by number: the same seed records the same one. Ops are drawn from the registry with the
 * samples of their definitions, elementwise ones also over any values of the graph, of any dtype; between them lie
 * casts, views of all kinds, extents of 0 and 1, and the patterns that passes look for. A failure is shrunk by leaving
 * steps out: each draws from a stream of its own. */
#ifndef WICK_TESTS_RANDOM_GRAPH_H
#define WICK_TESTS_RANDOM_GRAPH_H

#include "ops/driver.h"
#include "wick/quantize.h"
#include "wick/registry.h"
#include "wick/wick.h"

enum { STEPS = 40, POOL = 2 * STEPS + 8, INPUTS = 3, OUTPUTS = 5, MOST = 600, WIDE = 6000 };

/* ---- graphs by number -------------------------------------------------------------------------------------------- */

typedef struct design {
    uint64_t seed;
    bool smooth, gradient;
    /* steps that read and write by index, and what goes along sequences: they may be faults elsewhere, and are within
     * their axis here */
    bool places;
    bool wide; /* values of some thousands of elements: what elementwise programs are compiled for */
    bool skip[STEPS]; /* steps that shrinking took out */
    int nodes;        /* recorded last time */
} design;

typedef struct pool {
    wick_context *ctx;
    const design *d;
    wick_tensor *v[POOL];
    int n;
} pool;

static inline bool chance(int percent) { return test_rand_int(0, 99) < percent; }
#define PICK(list) (list)[test_rand() % WICK_COUNTOF(list)]

static inline bool is_bad(const wick_tensor *t) { return !t || t->error; }
/* What is recorded stays, where it is sound and small. */
static inline void keep(pool *p, wick_tensor *t) {
    if (is_bad(t) || wick_tensor_count(t) > (p->d->wide ? WIDE : MOST) || p->n == POOL ||
        (p->d->smooth && !wick_dtype_is_float(wick_tensor_dtype(t))))
        return;
    p->v[p->n++] = t;
}
/* The later ones more often: graphs grow deep. */
static inline wick_tensor *pick(pool *p) {
    return p->v[chance(50) ? test_rand_int(WICK_MAX(0, p->n - 4), p->n - 1) : test_rand_int(0, p->n - 1)];
}

static inline wick_tensor *leaf(pool *p, wick_dtype dtype, int rank, const int64_t *dims, double lo, double hi) {
    double data[MOST];
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    if (n > MOST) return NULL;
    const bool whole = !wick_dtype_is_float(dtype);
    for (int64_t i = 0; i < n; i++) data[i] = whole ? (double)test_rand_int((int)lo, (int)hi) : test_rand_real(lo, hi);
    wick_tensor *t = wick_from(p->ctx, WICK_F64, rank, dims, data);
    return dtype == WICK_F64 ? t : wick_cast(t, dtype);
}

/* x seen so that it has this shape: cut, repeated, turned. */
static inline wick_tensor *shaped(wick_tensor *x, int rank, const int64_t *dims) {
    int64_t want = 1;
    for (int i = 0; i < rank; i++) want *= dims[i];
    const int64_t have = wick_tensor_count(x);
    if (have == 0 && want) return NULL;
    x = wick_reshape(x, 1, &have);
    if (have > want)
        x = chance(50) ? wick_slice(x, 0, have - want, have, 1)
                       : wick_slice(x, 0, want - 1, want ? INT64_MIN : want - 1, -1);
    if (have < want) x = wick_expand(wick_slice(x, 0, 0, 1, 1), 1, &want);
    if (rank == 2 && chance(40)) return wick_transpose(wick_reshape(x, 2, (int64_t[]){dims[1], dims[0]}), 0, 1);
    return wick_reshape(x, rank, dims);
}
/* x within [lo, hi]; NaN stays. */
static inline wick_tensor *within(wick_tensor *x, double lo, double hi, bool smooth) {
    if (is_bad(x) || wick_tensor_dtype(x) == WICK_BOOL) return x;
    if (!smooth) return wick_minimum(wick_maximum(x, wick_like(x, lo)), wick_like(x, hi));
    return wick_add(wick_mul(wick_sin(x), wick_like(x, (hi - lo) / 2)), wick_like(x, (hi + lo) / 2));
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* An op with a sample of its definition: on values of the graph where these can be made to fit. */
static inline void step_op(pool *p) {
    const wick_op *op;
    use u;
    for (int tries = 0;; tries++) {
        op = wick_ops_at(test_rand_int(0, wick_ops_count() - 1));
        /* faults are tested elsewhere: they end a run */
        if (is_exempt(op) || !op->sample || op->flags & WICK_OP_FAULTS) continue;
        use_draw(&u, op);
        if (!p->d->smooth || u.sample.differentiable || tries > 200) break;
    }
    wick_tensor *in[MAX_IN], *out[MAX_OUT];
    for (int i = 0; i < u.sample.n_in; i++) {
        const wick_type *t = &u.sample.in[i];
        wick_tensor *x = p->n && chance(60) ? pick(p) : NULL;
        const bool floats = wick_dtype_is_float(t->dtype);
        if (x && (floats ||
                  (!p->d->smooth && wick_dtype_is_integer(t->dtype) && !wick_dtype_is_stored(wick_tensor_dtype(x))))) {
            x = wick_dtype_is_stored(wick_tensor_dtype(x)) ? NULL : wick_cast(x, (wick_dtype)t->dtype);
            if (x) x = within(shaped(x, t->rank, t->dims), u.sample.lo[i], u.sample.hi[i], p->d->smooth);
        } else
            x = NULL;
        in[i] = is_bad(x) ? leaf(p, (wick_dtype)t->dtype, t->rank, t->dims, u.sample.lo[i], u.sample.hi[i]) : x;
        if (is_bad(in[i])) return;
    }
    const int n = record_use(p->ctx, &u, in, out);
    for (int i = 0; i < n; i++) keep(p, out[i]);
}

static const wick_dtype computed[] = {WICK_F32, WICK_F32, WICK_F32, WICK_F64, WICK_F16, WICK_BF16, WICK_I8,  WICK_I16,
                                      WICK_I32, WICK_I64, WICK_U8,  WICK_U16, WICK_U32, WICK_U64,  WICK_BOOL};
static const wick_dtype stored[] = {WICK_F8_E4M3FN, WICK_F8_E4M3FNUZ, WICK_F8_E5M2, WICK_F8_E5M2FNUZ, WICK_F8_E8M0,
                                    WICK_I4,        WICK_U4,          WICK_I2,      WICK_U2,          WICK_F4_E2M1};

/* An elementwise op of any values, in their dtypes or another. */
static inline void step_row(pool *p) {
    static const wick_ew smooth[] = {WICK_EW_add, WICK_EW_sub,  WICK_EW_mul,     WICK_EW_neg,  WICK_EW_square,
                                     WICK_EW_sin, WICK_EW_tanh, WICK_EW_sigmoid, WICK_EW_silu, WICK_EW_relu};
    const wick_op *op = &wick_ew_ops[p->d->smooth ? PICK(smooth) : (wick_ew)test_rand_int(0, WICK_EW_COUNT - 1)];
    wick_tensor *in[3], *x = pick(p);
    if (wick_dtype_is_stored(wick_tensor_dtype(x))) x = wick_cast(x, WICK_F32);
    if (!p->d->smooth && chance(30)) x = wick_cast(x, PICK(computed));
    if (is_bad(x)) return;
    if (chance(10)) keep(p, wick_mul(x, wick_add(wick_like(x, 1), wick_like(x, 2)))); /* of constants */
    in[op->min_in - 1] = x;
    for (int i = 0; i < op->min_in - 1; i++) {
        int64_t dims[WICK_MAX_DIMS];
        const int rank = wick_tensor_rank(x), from = test_rand_int(0, rank);
        for (int k = 0; k < rank; k++) dims[k] = chance(75) ? wick_tensor_dim(x, k) : 1;
        wick_tensor *y = pick(p);
        if (wick_dtype_is_stored(wick_tensor_dtype(y))) return;
        /* lower rank broadcasts */
        y = shaped(wick_cast(y, op->ew == WICK_EW_where && i == 0 ? WICK_BOOL : wick_tensor_dtype(x)), rank - from,
                   dims + from);
        in[i] = is_bad(y) ? wick_like(x, 2) : y;
    }
    wick_here(WICK_PLACE);
    keep(p, wick_record(NULL, op, op->min_in, in, NULL, 0));
}

static inline void step_view(pool *p) {
    wick_tensor *x = pick(p);
    const int rank = wick_tensor_rank(x), axis = rank ? test_rand_int(0, rank - 1) : 0;
    const int64_t n = rank ? wick_tensor_dim(x, axis) : 1;
    int64_t dims[WICK_MAX_DIMS];
    switch (test_rand_int(0, p->d->smooth ? 5 : 7)) {
    case 0: x = rank > 1 ? wick_transpose(x, axis, test_rand_int(0, rank - 1)) : x; break;
    case 1:
        x = rank ? wick_slice(x, axis, test_rand_int(0, 1), chance(90) ? INT64_MAX : 1, test_rand_int(1, 2)) : x;
        break;
    case 2: x = rank ? wick_slice(x, axis, n - 1, INT64_MIN, -test_rand_int(1, 2)) : x; break;
    case 3: x = rank < 5 ? wick_unsqueeze(x, axis) : x; break;
    case 4:
        for (int i = 0; i < rank; i++)
            dims[i] = wick_tensor_dim(x, i) == 1 ? test_rand_int(1, 3) : wick_tensor_dim(x, i);
        x = wick_expand(x, rank, dims);
        break;
    case 5: x = wick_reshape(x, 1, (int64_t[]){wick_tensor_count(x)}); break;
    case 6: x = wick_cast(x, PICK(computed)); break;
    default: x = chance(50) ? wick_cast(x, PICK(stored)) : wick_cast(wick_cast(x, PICK(stored)), WICK_F32); break;
    }
    keep(p, x);
}

static inline int64_t extent(void) { return chance(6) ? 0 : chance(15) ? 1 : test_rand_int(2, 6); }
static inline wick_dtype real(const pool *p) {
    return chance(75) ? WICK_F32 : p->d->smooth || chance(60) ? WICK_F64 : chance(50) ? WICK_F16 : WICK_BF16;
}
/* A value of the graph made to fit, or weights. */
static inline wick_tensor *operand(pool *p, wick_dtype dtype, int rank, const int64_t *dims) {
    wick_tensor *x = pick(p);
    if (wick_dtype_is_stored(wick_tensor_dtype(x))) return leaf(p, dtype, rank, dims, -1, 1);
    x = shaped(within(wick_cast(x, dtype), -2, 2, p->d->smooth), rank, dims);
    return is_bad(x) ? leaf(p, dtype, rank, dims, -1, 1) : x;
}
static inline wick_tensor *weights(pool *p, wick_dtype dtype, int rank, const int64_t *dims) {
    return leaf(p, dtype, rank, dims, -1, 1);
}

/* What may stand behind a product. */
static inline wick_tensor *followed(pool *p, wick_tensor *y, int64_t channels, int axis) {
    for (int k = test_rand_int(0, 3); k > 0 && !is_bad(y); k--) {
        const int rank = wick_tensor_rank(y);
        const wick_dtype dtype = wick_tensor_dtype(y);
        int64_t dims[WICK_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
        dims[axis] = channels;
        wick_tensor *v = chance(70) ? leaf(p, dtype, rank, dims, 0.5, 2) : operand(p, dtype, rank, dims);
        if (axis == rank - 1 && chance(50)) v = wick_reshape(v, 1, &channels);
        wick_tensor *one = wick_reshape(leaf(p, dtype, 1, &channels, 0.5, 2), 1, &channels), *whole;
        switch (test_rand_int(0, 9)) {
        case 0: y = wick_mul(y, v); break;
        case 1: y = wick_add(v, y); break;
        case 2: y = wick_sub(y, v); break;
        case 3: y = wick_div(y, chance(50) ? wick_like(y, 1.5) : leaf(p, dtype, 1, (int64_t[]){1}, 0.5, 2)); break;
        case 4: y = wick_relu(y); break;
        case 5: y = chance(50) ? wick_silu(y) : chance(50) ? wick_gelu(y) : wick_sigmoid(y); break;
        case 6: y = p->d->smooth ? wick_tanh(y) : wick_clip(y, 0, 1); break;
        case 7:
            whole = operand(p, dtype, rank, wick_tensor_dims(y));
            y = chance(50) ? wick_add(y, whole) : wick_add(whole, y);
            break;
        case 8:
            y = axis == 1 ? wick_batch_norm(y, one, one, chance(50) ? one : NULL, NULL, 1e-3) : wick_add(y, one);
            break;
        default: keep(p, y); break; /* read by others too */
        }
    }
    return y;
}

static inline void step_linear(pool *p) {
    const int64_t m = extent(), k = extent(), n = extent(), batch = test_rand_int(1, 2);
    const wick_dtype dtype = real(p);
    const bool many = chance(30);
    wick_tensor *x = many ? operand(p, dtype, 3, (int64_t[]){batch, m, k}) : operand(p, dtype, 2, (int64_t[]){m, k});
    for (int i = chance(30) ? test_rand_int(2, 4) : 1; i > 0 && !is_bad(x); i--) { /* of one input */
        wick_tensor *w = chance(50)   ? weights(p, dtype, 2, (int64_t[]){k, n})
                         : chance(70) ? wick_transpose(weights(p, dtype, 2, (int64_t[]){n, k}), 0, 1)
                                      : operand(p, dtype, 2, (int64_t[]){k, n});
        wick_tensor *y = chance(50) ? wick_matmul(x, w) : wick_add(wick_matmul(x, w), weights(p, dtype, 1, &n));
        y = is_bad(y) ? y : followed(p, y, n, wick_tensor_rank(y) - 1);
        if (!is_bad(y) && wick_tensor_rank(y) == 2 && chance(20)) y = wick_transpose(y, 0, 1);
        keep(p, y);
    }
}

static inline void step_conv(pool *p) {
    const int64_t groups = chance(70) ? 1 : 2, ci = test_rand_int(1, 3) * groups, co = test_rand_int(1, 4) * groups,
                  batch = chance(5) ? 0 : test_rand_int(1, 2);
    const int64_t kernel = test_rand_int(1, 3);
    const bool back = chance(25);
    const wick_dtype dtype = real(p);
    const wick_conv_options o = {
        .groups = groups, .stride = {test_rand_int(1, 2), 1}, .pad = {test_rand_int(0, 1), kernel > 1}};
    wick_tensor *x = operand(p, dtype, 4, (int64_t[]){batch, ci, test_rand_int(3, 5), test_rand_int(3, 5)}),
                *bias = chance(50) ? weights(p, dtype, 1, &co) : NULL;
    wick_tensor *w = weights(p, dtype, 4, (int64_t[]){back ? ci : co, (back ? co : ci) / groups, kernel, kernel});
    if (is_bad(x)) return;
    wick_tensor *y = back ? wick_conv_transpose(x, w, bias, &o) : wick_conv(x, w, bias, &o);
    if (!is_bad(y)) keep(p, followed(p, y, co, 1));
}

/* Attention written by hand. */
static inline void step_attention(pool *p) {
    const int64_t b = test_rand_int(1, 2), h = test_rand_int(1, 2), lq = test_rand_int(1, 9),
                  lk = chance(50) ? lq : test_rand_int(1, 9), d = test_rand_int(1, 4), dv = test_rand_int(1, 4);
    const wick_dtype dtype = chance(70) ? WICK_F32 : WICK_F64;
    wick_tensor *q = operand(p, dtype, 4, (int64_t[]){b, h, lq, d}),
                *k = operand(p, dtype, 4, (int64_t[]){b, h, lk, d}),
                *v = operand(p, dtype, 4, (int64_t[]){b, h, lk, dv});
    if (is_bad(q) || is_bad(k) || is_bad(v)) return;
    if (chance(30)) q = wick_mul(q, wick_like(q, 0.5));
    wick_tensor *s = wick_matmul(q, wick_transpose(k, -1, -2));
    if (chance(60)) s = chance(50) ? wick_div(s, wick_like(s, 2)) : wick_mul(s, wick_like(s, 0.25));
    if (chance(40)) s = wick_add(s, operand(p, dtype, 4, (int64_t[]){chance(50) ? b : 1, 1, chance(50) ? lq : 1, lk}));
    if (chance(10)) keep(p, s);
    s = wick_softmax(s, -1);
    if (chance(10)) keep(p, s);
    keep(p, wick_matmul(s, v));
}

/* Large values that several read, as x - mean is. */
static inline void step_large(pool *p) {
    const wick_dtype dtype = chance(70) ? WICK_F32 : WICK_F64;
    wick_tensor *row = operand(p, dtype, 1, (int64_t[]){80}), *column = leaf(p, dtype, 2, (int64_t[]){64, 1}, -1, 1);
    if (is_bad(row)) return;
    wick_tensor *d = chance(50) ? wick_sub(row, column) : wick_mul(column, row);
    keep(p, p->d->wide ? d : NULL);
    keep(p, wick_sum(d, WICK_AXES(chance(50)), false));
    keep(p, wick_mean(wick_sin(d), WICK_AXES(0), chance(50)));
    if (chance(50)) keep(p, wick_sum(wick_square(wick_add(d, row)), WICK_ALL_AXES, false));
}

static inline void step_reduce(pool *p) {
    wick_tensor *x = pick(p);
    if (wick_dtype_is_stored(wick_tensor_dtype(x)) || !wick_tensor_rank(x)) return;
    const int axis = test_rand_int(-1, 0);
    const bool keepdims = chance(50);
    switch (test_rand_int(0, p->d->smooth ? 2 : 4)) {
    case 0: keep(p, wick_sum(x, WICK_AXES(axis), keepdims)); break;
    case 1: keep(p, wick_mean(x, WICK_ALL_AXES, keepdims)); break;
    case 2: keep(p, wick_dtype_is_float(wick_tensor_dtype(x)) ? wick_softmax(x, axis) : NULL); break;
    case 3: keep(p, wick_max(x, WICK_AXES(axis), keepdims)); break;
    default: keep(p, wick_argmax(x, axis, keepdims)); break;
    }
}

/* Quantised products, as QDQ models have them. */
static inline void step_quantised(pool *p) {
    const int64_t m = test_rand_int(1, 4), k = test_rand_int(1, 6), n = test_rand_int(1, 4);
    wick_tensor *s = leaf(p, WICK_F32, 0, NULL, 0.01, 0.1), *x = operand(p, WICK_F32, 2, (int64_t[]){m, k});
    if (is_bad(x)) return;
    wick_tensor *fx = wick_dequantize(wick_quantize(x, s, NULL, 0, WICK_I8), s, NULL, 0),
                *w = wick_dequantize(leaf(p, WICK_I8, 2, (int64_t[]){k, n}, -9, 9), s, NULL, 0),
                *y = wick_matmul(fx, w);
    if (chance(50)) y = wick_relu(y);
    keep(p, chance(50) ? wick_dequantize(wick_quantize(y, s, NULL, 0, WICK_I8), s, NULL, 0) : y);
}

/* An index of the axis, from either end, of a value of the graph or known. */
static inline wick_tensor *index_of(pool *p, int64_t n, int rank, const int64_t *dims) {
    wick_tensor *x = pick(p);
    if (chance(30) || wick_dtype_is_stored(wick_tensor_dtype(x)) || wick_tensor_dtype(x) == WICK_U64)
        return leaf(p, WICK_I64, rank, dims, -(double)n, (double)n - 1);
    x = shaped(wick_cast(x, WICK_I64), rank, dims);
    return is_bad(x) ? leaf(p, WICK_I64, rank, dims, -(double)n, (double)n - 1)
                     : wick_minimum(wick_maximum(x, wick_like(x, -(double)n)), wick_like(x, (double)n - 1));
}

static inline void step_place(pool *p) {
    wick_tensor *x = pick(p), *index;
    const int rank = wick_tensor_rank(x), axis = rank ? test_rand_int(0, rank - 1) : 0;
    const int64_t n = rank ? wick_tensor_dim(x, axis) : 0, count = test_rand_int(1, 4);
    if (!n || wick_dtype_is_stored(wick_tensor_dtype(x))) return;
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < rank; i++) dims[i] = i == axis ? count : wick_tensor_dim(x, i);
    switch (test_rand_int(0, 3)) {
    case 0: keep(p, wick_gather(x, axis, index_of(p, n, 1, &count))); break;
    case 1: keep(p, wick_take_along_axis(x, axis, index_of(p, n, rank, dims))); break;
    case 2: keep(p, wick_take_along_axis(x, axis, wick_argsort(x, axis, chance(50)))); break;
    default: {
        const wick_dtype dtype = wick_tensor_dtype(x);
        const bool computes = dtype == WICK_F32 || dtype == WICK_F64 || dtype == WICK_I32 || dtype == WICK_I64;
        index = index_of(p, n, rank, dims);
        wick_tensor *src = shaped(x, rank, dims);
        if (!is_bad(index) && !is_bad(src))
            keep(p, wick_put_along_axis(x, axis, index, src,
                                        computes ? (wick_put)test_rand_int(WICK_PUT_SET, WICK_PUT_MIN) : WICK_PUT_SET));
    }
    }
}

static inline void step_sequence(pool *p) {
    const int64_t steps = test_rand_int(1, 4), batch = test_rand_int(1, 3), features = test_rand_int(1, 4),
                  units = test_rand_int(1, 9);
    const int64_t directions = chance(30) ? 2 : 1, gates[] = {1, 4, 3};
    const int cell = test_rand_int(0, 2);
    const wick_dtype dtype = chance(75) ? WICK_F32 : WICK_F64;
    const int64_t rows = gates[cell] * units;
    wick_rnn_inputs in = {.w_ih = weights(p, dtype, 3, (int64_t[]){directions, rows, features}),
                          .w_hh = weights(p, dtype, 3, (int64_t[]){directions, rows, units})};
    if (chance(60)) in.b_ih = weights(p, dtype, 2, (int64_t[]){directions, rows});
    if (chance(30)) in.b_hh = weights(p, dtype, 2, (int64_t[]){directions, rows});
    if (chance(30))
        in.lengths =
            chance(50) ? leaf(p, WICK_I64, 1, &batch, 0, (double)steps) : wick_abs(index_of(p, steps, 1, &batch));
    if (chance(40)) in.h0 = operand(p, dtype, 3, (int64_t[]){directions, batch, units});
    if (cell == 1 && chance(30)) in.peephole = weights(p, dtype, 2, (int64_t[]){directions, 3 * units});
    if (cell == 1 && chance(40)) in.c0 = operand(p, dtype, 3, (int64_t[]){directions, batch, units});
    wick_tensor *x = operand(p, dtype, 3, (int64_t[]){steps, batch, features}), *h = NULL, *c = NULL, *y;
    wick_rnn_options o = {.direction = directions == 2 ? WICK_RNN_BIDIRECTIONAL
                                       : chance(30)    ? WICK_RNN_REVERSE
                                                       : WICK_RNN_FORWARD,
                          .clip = chance(20) ? 0.5 : 0,
                          .reset_first = chance(30),
                          .input_forget = chance(20)};
    for (int k = 0; k < 3 && chance(30); k++)
        o.acts[0][k] = (wick_rnn_act)test_rand_int(WICK_RNN_DEFAULT, WICK_RNN_IDENTITY);
    if (is_bad(x)) return;
    y = cell == 0 ? wick_rnn(x, &in, &o, &h) : cell == 1 ? wick_lstm(x, &in, &o, &h, &c) : wick_gru(x, &in, &o, &h);
    keep(p, y);
    keep(p, chance(50) ? h : c);
}

/* The op itself, in heads that may share keys. */
static inline void step_heads(pool *p) {
    const int64_t b = test_rand_int(1, 2), shared = test_rand_int(1, 2), h = shared * test_rand_int(1, 2),
                  lq = test_rand_int(1, 6), lk = test_rand_int(1, 6), d = test_rand_int(1, 4), dv = test_rand_int(1, 4);
    const wick_dtype dtype = chance(75) ? WICK_F32 : WICK_F64;
    wick_tensor *q = operand(p, dtype, 4, (int64_t[]){b, h, lq, d}),
                *k = operand(p, dtype, 4, (int64_t[]){b, shared, lk, d}),
                *v = operand(p, dtype, 4, (int64_t[]){b, shared, lk, dv});
    if (is_bad(q) || is_bad(k) || is_bad(v)) return;
    wick_attention_options o = {.grouped = true, .causal = chance(30), .scale = chance(30) ? 0.7 : 0};
    if (chance(30)) o.mask = operand(p, dtype, 4, (int64_t[]){1, chance(50) ? h : 1, chance(50) ? lq : 1, lk});
    o.causal_end = !o.causal && chance(30);
    keep(p, wick_attention(q, k, v, &o));
}

static inline void step(pool *p) {
    const int what = test_rand_int(0, 99);
    if (p->d->places && what % 5 == 0) what % 3 == 0 ? step_place(p) : what % 3 == 1 ? step_sequence(p) : step_heads(p);
    else if (p->d->wide && what < 66) what % 11 ? step_row(p) : step_large(p);
    else if (what < 34) step_op(p);
    else if (what < 56) step_row(p);
    else if (what < 70) step_view(p);
    else if (what < 80) step_linear(p);
    else if (what < 88) step_conv(p);
    else if (what < 92) step_attention(p);
    else if (what < 94) step_large(p);
    else if (what < 98 || p->d->smooth) step_reduce(p);
    else step_quantised(p);
}

/* ---- as a function ----------------------------------------------------------------------------------------------- */

static inline int input_specs(const design *d, wick_spec in[INPUTS]) {
    test_seed = d->seed | 1;
    for (int i = 0; i < 3; i++) test_rand();
    for (int i = 0; i < INPUTS; i++) {
        in[i] = (wick_spec){.name = "x",
                            .dtype = i == 0 || chance(60) ? WICK_F32
                                     : d->smooth          ? WICK_F64
                                                          : PICK(computed),
                            .rank = test_rand_int(0, 4)};
        for (int k = 0; k < in[i].rank; k++) in[i].dims[k] = extent();
    }
    return INPUTS;
}

static inline wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    design *d = user;
    pool p = {.ctx = ctx, .d = d, .n = INPUTS};
    memcpy(p.v, in, INPUTS * sizeof *in);
    const uint64_t before = ctx->nodes_recorded;
    for (int i = 0; i < STEPS; i++) {
        test_seed = wick_hash(&i, sizeof i, d->seed) | 1; /* whatever the steps before drew */
        for (int k = 0; k < 3; k++) test_rand();
        if (!d->skip[i]) step(&p);
    }
    test_seed = d->seed | 1;
    for (int i = 0; i < OUTPUTS - 1; i++) {
        out[i] = i < 3 ? p.v[WICK_MAX(0, p.n - 1 - i)] : p.v[test_rand_int(0, p.n - 1)];
        if (wick_tensor_dtype(out[i]) == WICK_F4_E2M1) out[i] = wick_cast(out[i], WICK_F32);
    }
    wick_tensor *gradient = NULL, *loss = d->gradient ? weighted_sum(OUTPUTS - 1, out) : NULL;
    if (loss) wick_grad(loss, 1, &p.v[0], &gradient);
    out[OUTPUTS - 1] = is_bad(gradient) ? in[0] : gradient;
    d->nodes = (int)(ctx->nodes_recorded - before);
    return WICK_OK;
}

/* What its inputs begin with: other numbers in each graph, the same for each use of one. Call after input_specs. */
static inline void draw_inputs(int n, const wick_spec *in, char **data) {
    for (int i = 0; i < n; i++) {
        wick_type t;
        (void)wick_type_make(&t, in[i].dtype, in[i].rank, in[i].dims);
        const int64_t count = wick_type_count(&t);
        data[i] = calloc((size_t)count + 1, 8);
        for (int64_t k = 0; k < count; k++)
            put(&t, data[i], k,
                in[i].dtype == WICK_BOOL           ? test_rand() % 2
                : wick_dtype_is_float(in[i].dtype) ? test_rand_real(-2, 2)
                                                   : test_rand_int(0, 5));
    }
}

/* The first element of two results that differs in a bit, or -1. NaN is NaN. */
static inline int64_t first_other(const wick_spec *spec, const char *a, const char *b) {
    wick_type t;
    const size_t elem = wick_dtype_size(spec->dtype);
    if (!wick_type_make(&t, spec->dtype, spec->rank, spec->dims)) return 0;
    for (int64_t i = 0; memcmp(a, b, wick_type_bytes(&t)) && i < wick_type_count(&t); i++)
        if (!elem || (memcmp(a + (size_t)i * elem, b + (size_t)i * elem, elem) &&
                      !(is_float(&t) && isnan(get(&t, a, i)) && isnan(get(&t, b, i)))))
            return i;
    return -1;
}

/* Takes out steps as long as it goes wrong. */
static inline void shrink(design *d, bool (*wrong)(void *user, design *d), void *user) {
    for (int size = STEPS / 2; size >= 1; size /= 2)
        for (int at = 0; at < STEPS; at += size) {
            design less = *d;
            for (int i = at; i < WICK_MIN(STEPS, at + size); i++) less.skip[i] = true;
            if (wrong(user, &less)) *d = less;
        }
    design less = *d;
    less.gradient = false;
    if (wrong(user, &less)) *d = less;
}

#endif
