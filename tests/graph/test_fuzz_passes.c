/* Random graphs: whatever passes make of them, results stay. Ops are drawn from the registry with the samples of their definitions, elementwise ones also over any
 * values of the graph, of any dtype; between them lie casts, views of all kinds, extents of 0 and 1, and the patterns that passes look for. Each graph is
 * compiled without passes, with all, with each one left out, with each one alone, and with three threads that share even little work.
 *
 * Where only passes ran that keep bits, results are equal to the bit. fold_scale, attention and quantize don't (docs/numerics.md): with what they change, results of graphs of
 * smooth ops are compared within a bound, others without these passes.
 *
 * WICK_FUZZ_GRAPHS=N in the environment: so many graphs. A failure is shrunk, and prints the seed, which WICK_FUZZ_SEED=... repeats, and the graph. */
#include "ops/driver.h"
#include "wick/quantize.h"
#include "wick/registry.h"
#include "wick/wick.h"

/* Passes that may change bits. */
#define CHANGES_BITS "quantize,fold_scale,attention"

enum { STEPS = 40, POOL = 2 * STEPS + 8, INPUTS = 3, OUTPUTS = 5, MOST = 600, WAYS = 64 };

/* ---- graphs by number -------------------------------------------------------------------------------------------------------------- */

typedef struct design {
    uint64_t seed;
    bool smooth, gradient;
    bool skip[STEPS]; /* steps that shrinking took out */
    int nodes;        /* recorded last time */
} design;

typedef struct pool {
    wick_context *ctx;
    const design *d;
    wick_tensor *v[POOL];
    int n;
} pool;

static bool chance(int percent) { return test_rand_int(0, 99) < percent; }
#define PICK(list) (list)[test_rand() % WICK_COUNTOF(list)]

static bool is_bad(const wick_tensor *t) { return !t || t->error; }
/* What is recorded stays, where it is sound and small. */
static void keep(pool *p, wick_tensor *t) {
    if (is_bad(t) || wick_tensor_count(t) > MOST || p->n == POOL || (p->d->smooth && !wick_dtype_is_float(wick_tensor_dtype(t)))) return;
    p->v[p->n++] = t;
}
/* The later ones more often: graphs grow deep. */
static wick_tensor *pick(pool *p) { return p->v[chance(50) ? test_rand_int(WICK_MAX(0, p->n - 4), p->n - 1) : test_rand_int(0, p->n - 1)]; }

static wick_tensor *leaf(pool *p, wick_dtype dtype, int rank, const int64_t *dims, double lo, double hi) {
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
static wick_tensor *shaped(wick_tensor *x, int rank, const int64_t *dims) {
    int64_t want = 1;
    for (int i = 0; i < rank; i++) want *= dims[i];
    const int64_t have = wick_tensor_count(x);
    if (have == 0 && want) return NULL;
    x = wick_reshape(x, 1, &have);
    if (have > want) x = chance(50) ? wick_slice(x, 0, have - want, have, 1) : wick_slice(x, 0, want - 1, want ? INT64_MIN : want - 1, -1);
    if (have < want) x = wick_expand(wick_slice(x, 0, 0, 1, 1), 1, &want);
    if (rank == 2 && chance(40)) return wick_transpose(wick_reshape(x, 2, (int64_t[]){dims[1], dims[0]}), 0, 1);
    return wick_reshape(x, rank, dims);
}
/* x within [lo, hi]; NaN stays. */
static wick_tensor *within(wick_tensor *x, double lo, double hi, bool smooth) {
    if (is_bad(x) || wick_tensor_dtype(x) == WICK_BOOL) return x;
    if (!smooth) return wick_minimum(wick_maximum(x, wick_like(x, lo)), wick_like(x, hi));
    return wick_add(wick_mul(wick_sin(x), wick_like(x, (hi - lo) / 2)), wick_like(x, (hi + lo) / 2));
}

/* ---- steps ------------------------------------------------------------------------------------------------------------------------- */

/* An op with a sample of its definition: on values of the graph where these can be made to fit. */
static void step_op(pool *p) {
    const wick_op *op;
    use u;
    for (int tries = 0;; tries++) {
        op = wick_ops_at(test_rand_int(0, wick_ops_count() - 1));
        if (is_exempt(op) || !op->sample || op->flags & WICK_OP_FAULTS) continue; /* faults are tested elsewhere: they end a run */
        use_draw(&u, op);
        if (!p->d->smooth || u.sample.differentiable || tries > 200) break;
    }
    wick_tensor *in[MAX_IN], *out[MAX_OUT];
    for (int i = 0; i < u.sample.n_in; i++) {
        const wick_type *t = &u.sample.in[i];
        wick_tensor *x = p->n && chance(60) ? pick(p) : NULL;
        const bool floats = wick_dtype_is_float(t->dtype);
        if (x && (floats || (!p->d->smooth && wick_dtype_is_integer(t->dtype) && !wick_dtype_is_stored(wick_tensor_dtype(x))))) {
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

static const wick_dtype computed[] = {WICK_F32, WICK_F32, WICK_F32, WICK_F64, WICK_F16, WICK_BF16, WICK_I8, WICK_I16, WICK_I32, WICK_I64, WICK_U8, WICK_U16, WICK_U32, WICK_U64, WICK_BOOL};
static const wick_dtype stored[] = {WICK_F8_E4M3FN, WICK_F8_E4M3FNUZ, WICK_F8_E5M2, WICK_F8_E5M2FNUZ, WICK_F8_E8M0, WICK_I4, WICK_U4, WICK_I2, WICK_U2, WICK_F4_E2M1};

/* An elementwise op of any values, in their dtypes or another. */
static void step_row(pool *p) {
    static const wick_ew smooth[] = {WICK_EW_add, WICK_EW_sub, WICK_EW_mul, WICK_EW_neg, WICK_EW_square, WICK_EW_sin, WICK_EW_tanh, WICK_EW_sigmoid, WICK_EW_silu, WICK_EW_relu};
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
        y = shaped(wick_cast(y, op->ew == WICK_EW_where && i == 0 ? WICK_BOOL : wick_tensor_dtype(x)), rank - from, dims + from); /* lower rank broadcasts */
        in[i] = is_bad(y) ? wick_like(x, 2) : y;
    }
    wick_here(WICK_PLACE);
    keep(p, wick_record(NULL, op, op->min_in, in, NULL, 0));
}

static void step_view(pool *p) {
    wick_tensor *x = pick(p);
    const int rank = wick_tensor_rank(x), axis = rank ? test_rand_int(0, rank - 1) : 0;
    const int64_t n = rank ? wick_tensor_dim(x, axis) : 1;
    int64_t dims[WICK_MAX_DIMS];
    switch (test_rand_int(0, p->d->smooth ? 5 : 7)) {
    case 0: x = rank > 1 ? wick_transpose(x, axis, test_rand_int(0, rank - 1)) : x; break;
    case 1: x = rank ? wick_slice(x, axis, test_rand_int(0, 1), chance(90) ? INT64_MAX : 1, test_rand_int(1, 2)) : x; break;
    case 2: x = rank ? wick_slice(x, axis, n - 1, INT64_MIN, -test_rand_int(1, 2)) : x; break;
    case 3: x = rank < 5 ? wick_unsqueeze(x, axis) : x; break;
    case 4:
        for (int i = 0; i < rank; i++) dims[i] = wick_tensor_dim(x, i) == 1 ? test_rand_int(1, 3) : wick_tensor_dim(x, i);
        x = wick_expand(x, rank, dims);
        break;
    case 5: x = wick_reshape(x, 1, (int64_t[]){wick_tensor_count(x)}); break;
    case 6: x = wick_cast(x, PICK(computed)); break;
    default: x = chance(50) ? wick_cast(x, PICK(stored)) : wick_cast(wick_cast(x, PICK(stored)), WICK_F32); break;
    }
    keep(p, x);
}

static int64_t extent(void) { return chance(6) ? 0 : chance(15) ? 1 : test_rand_int(2, 6); }
static wick_dtype real(const pool *p) { return chance(75) ? WICK_F32 : p->d->smooth || chance(60) ? WICK_F64 : chance(50) ? WICK_F16 : WICK_BF16; }
/* A value of the graph made to fit, or weights. */
static wick_tensor *operand(pool *p, wick_dtype dtype, int rank, const int64_t *dims) {
    wick_tensor *x = pick(p);
    if (wick_dtype_is_stored(wick_tensor_dtype(x))) return leaf(p, dtype, rank, dims, -1, 1);
    x = shaped(within(wick_cast(x, dtype), -2, 2, p->d->smooth), rank, dims);
    return is_bad(x) ? leaf(p, dtype, rank, dims, -1, 1) : x;
}
static wick_tensor *weights(pool *p, wick_dtype dtype, int rank, const int64_t *dims) { return leaf(p, dtype, rank, dims, -1, 1); }

/* What may stand behind a product. */
static wick_tensor *followed(pool *p, wick_tensor *y, int64_t channels, int axis) {
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
        case 8: y = axis == 1 ? wick_batch_norm(y, one, one, chance(50) ? one : NULL, NULL, 1e-3) : wick_add(y, one); break;
        default: keep(p, y); break; /* read by others too */
        }
    }
    return y;
}

static void step_linear(pool *p) {
    const int64_t m = extent(), k = extent(), n = extent(), batch = test_rand_int(1, 2);
    const wick_dtype dtype = real(p);
    const bool many = chance(30);
    wick_tensor *x = many ? operand(p, dtype, 3, (int64_t[]){batch, m, k}) : operand(p, dtype, 2, (int64_t[]){m, k});
    for (int i = chance(30) ? test_rand_int(2, 4) : 1; i > 0 && !is_bad(x); i--) { /* of one input */
        wick_tensor *w = chance(50) ? weights(p, dtype, 2, (int64_t[]){k, n}) : chance(70) ? wick_transpose(weights(p, dtype, 2, (int64_t[]){n, k}), 0, 1) : operand(p, dtype, 2, (int64_t[]){k, n});
        wick_tensor *y = chance(50) ? wick_matmul(x, w) : wick_add(wick_matmul(x, w), weights(p, dtype, 1, &n));
        y = is_bad(y) ? y : followed(p, y, n, wick_tensor_rank(y) - 1);
        if (!is_bad(y) && wick_tensor_rank(y) == 2 && chance(20)) y = wick_transpose(y, 0, 1);
        keep(p, y);
    }
}

static void step_conv(pool *p) {
    const int64_t groups = chance(70) ? 1 : 2, ci = test_rand_int(1, 3) * groups, co = test_rand_int(1, 4) * groups, batch = chance(5) ? 0 : test_rand_int(1, 2);
    const int64_t kernel = test_rand_int(1, 3);
    const bool back = chance(25);
    const wick_dtype dtype = real(p);
    const wick_conv_options o = {.groups = groups, .stride = {test_rand_int(1, 2), 1}, .pad = {test_rand_int(0, 1), kernel > 1}};
    wick_tensor *x = operand(p, dtype, 4, (int64_t[]){batch, ci, test_rand_int(3, 5), test_rand_int(3, 5)}), *bias = chance(50) ? weights(p, dtype, 1, &co) : NULL;
    wick_tensor *w = weights(p, dtype, 4, (int64_t[]){back ? ci : co, (back ? co : ci) / groups, kernel, kernel});
    if (is_bad(x)) return;
    wick_tensor *y = back ? wick_conv_transpose(x, w, bias, &o) : wick_conv(x, w, bias, &o);
    if (!is_bad(y)) keep(p, followed(p, y, co, 1));
}

/* Attention written by hand. */
static void step_attention(pool *p) {
    const int64_t b = test_rand_int(1, 2), h = test_rand_int(1, 2), lq = test_rand_int(1, 9), lk = chance(50) ? lq : test_rand_int(1, 9), d = test_rand_int(1, 4), dv = test_rand_int(1, 4);
    const wick_dtype dtype = chance(70) ? WICK_F32 : WICK_F64;
    wick_tensor *q = operand(p, dtype, 4, (int64_t[]){b, h, lq, d}), *k = operand(p, dtype, 4, (int64_t[]){b, h, lk, d}), *v = operand(p, dtype, 4, (int64_t[]){b, h, lk, dv});
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
static void step_large(pool *p) {
    const wick_dtype dtype = chance(70) ? WICK_F32 : WICK_F64;
    wick_tensor *row = operand(p, dtype, 1, (int64_t[]){80}), *column = leaf(p, dtype, 2, (int64_t[]){64, 1}, -1, 1);
    if (is_bad(row)) return;
    wick_tensor *d = chance(50) ? wick_sub(row, column) : wick_mul(column, row);
    keep(p, wick_sum(d, WICK_AXES(chance(50)), false));
    keep(p, wick_mean(wick_sin(d), WICK_AXES(0), chance(50)));
    if (chance(50)) keep(p, wick_sum(wick_square(wick_add(d, row)), WICK_ALL_AXES, false));
}

static void step_reduce(pool *p) {
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
static void step_quantised(pool *p) {
    const int64_t m = test_rand_int(1, 4), k = test_rand_int(1, 6), n = test_rand_int(1, 4);
    wick_tensor *s = leaf(p, WICK_F32, 0, NULL, 0.01, 0.1), *x = operand(p, WICK_F32, 2, (int64_t[]){m, k});
    if (is_bad(x)) return;
    wick_tensor *fx = wick_dequantize(wick_quantize(x, s, NULL, 0, WICK_I8), s, NULL, 0), *w = wick_dequantize(leaf(p, WICK_I8, 2, (int64_t[]){k, n}, -9, 9), s, NULL, 0), *y = wick_matmul(fx, w);
    if (chance(50)) y = wick_relu(y);
    keep(p, chance(50) ? wick_dequantize(wick_quantize(y, s, NULL, 0, WICK_I8), s, NULL, 0) : y);
}

static void step(pool *p) {
    const int what = test_rand_int(0, 99);
    if (what < 34) step_op(p);
    else if (what < 56) step_row(p);
    else if (what < 70) step_view(p);
    else if (what < 80) step_linear(p);
    else if (what < 88) step_conv(p);
    else if (what < 92) step_attention(p);
    else if (what < 94) step_large(p);
    else if (what < 98 || p->d->smooth) step_reduce(p);
    else step_quantised(p);
}

/* ---- as a function ------------------------------------------------------------------------------------------------------------------- */

static int input_specs(const design *d, wick_spec in[INPUTS]) {
    test_seed = d->seed | 1;
    for (int i = 0; i < 3; i++) test_rand();
    for (int i = 0; i < INPUTS; i++) {
        in[i] = (wick_spec){.name = "x", .dtype = i == 0 || chance(60) ? WICK_F32 : d->smooth ? WICK_F64 : PICK(computed), .rank = test_rand_int(0, 4)};
        for (int k = 0; k < in[i].rank; k++) in[i].dims[k] = extent();
    }
    return INPUTS;
}

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
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

/* ---- ways -------------------------------------------------------------------------------------------------------------------------------- */

typedef struct outcome {
    wick_status status;
    char text[256];
    wick_spec spec[OUTPUTS];
    char *data[OUTPUTS];
    bool inexact; /* a pass that may change bits has changed the graph */
} outcome;
static void outcome_free(outcome *o) {
    for (int i = 0; i < OUTPUTS; i++) free(o->data[i]), o->data[i] = NULL;
}

static long changed[WAYS]; /* by pass: how many graphs it has changed, in all ways */
typedef struct watching {
    char *last;
    bool inexact;
    char **recorded; /* the graph as it was recorded is wanted */
} watching;
static void watch(void *user, const char *pass, const char *graph) {
    watching *w = user;
    if (!strcmp(pass, "") && w->recorded) *w->recorded = strdup(graph);
    if (*pass && strstr("," CHANGES_BITS ",", pass) && w->last && strcmp(w->last, graph)) w->inexact = true;
    for (int i = 0; *pass && i < WICK_MIN(wick_pass_count(), (int)WAYS) && w->last && strcmp(w->last, graph); i++)
        if (!strcmp(wick_pass_at(i).name, pass)) {
            changed[i]++; /* the first of that name */
            break;
        }
    free(w->last);
    w->last = strdup(graph);
}

/* Inputs begin with other numbers in each graph, the same in each way. tight: in seven eighths of the arena that it takes otherwise, where that can be. */
static outcome run(wick_context *ctx, design *d, const char *without, bool plain, bool tight, char **recorded) {
    outcome o = {0};
    wick_spec in[INPUTS];
    const int n_in = input_specs(d, in);
    char *data[INPUTS];
    for (int i = 0; i < n_in; i++) {
        wick_type t;
        (void)wick_type_make(&t, in[i].dtype, in[i].rank, in[i].dims);
        const int64_t n = wick_type_count(&t);
        data[i] = calloc((size_t)n + 1, 8);
        for (int64_t k = 0; k < n; k++) put(&t, data[i], k, in[i].dtype == WICK_BOOL ? test_rand() % 2 : wick_dtype_is_float(in[i].dtype) ? test_rand_real(-2, 2) : test_rand_int(0, 5));
    }
    watching w = {.recorded = recorded};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_compile_options options = {.no_passes = plain, .without = without, .on_pass = watch, .user = &w};
    o.status = wick_compile(ctx, record, d, n_in, in, OUTPUTS, &options, &plan);
    if (tight && o.status == WICK_OK) {
        wick_plan *less = NULL;
        options.memory_budget = wick_plan_get_info(plan).arena_bytes * 7 / 8 + 1;
        const wick_status status = wick_compile(ctx, record, d, n_in, in, OUTPUTS, &options, &less);
        if (status != WICK_OK && status != WICK_ERR_NOMEM) o.status = status;
        if (less) {
            wick_plan_free(&plan);
            plan = less;
        } else {
            wick_context_clear_error(ctx);
        }
    }
    if (o.status == WICK_OK) o.status = wick_workspace_new(plan, &ws);
    else snprintf(o.text, sizeof o.text, "%s", wick_context_error(ctx));
    for (int i = 0; i < OUTPUTS && ws; i++) {
        o.spec[i] = wick_plan_output(plan, i);
        o.data[i] = calloc(wick_spec_bytes(&o.spec[i]) + 1, 1);
    }
    for (int round = 0; round < 2 && o.status == WICK_OK; round++) { /* the second has kept steps */
        wick_workspace_set_offset(ws, 3);
        o.status = wick_run(ws, (const void *const *)data, (void *const *)o.data);
        if (o.status) snprintf(o.text, sizeof o.text, "%s", wick_workspace_error(ws));
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    for (int i = 0; i < n_in; i++) free(data[i]);
    o.inexact = w.inexact;
    free(w.last);
    return o;
}

/* Do they differ in a bit? NaN is NaN. close: by more than what passes that change bits may do to smooth ops. */
static bool differs(const outcome *a, const outcome *b, bool close, int *output, int64_t *at) {
    for (int i = 0; i < OUTPUTS; i++) {
        wick_type t;
        if (!wick_type_make(&t, a->spec[i].dtype, a->spec[i].rank, a->spec[i].dims)) return true;
        *output = i;
        *at = -1;
        if (close) {
            if (distance(&t, b->data[i], a->data[i]) > (t.dtype == WICK_F64 ? 1e-3 : 1e-2)) return true;
            continue;
        }
        if (!memcmp(a->data[i], b->data[i], wick_type_bytes(&t))) continue;
        if (!wick_dtype_is_float(t.dtype)) return true;
        const size_t elem = wick_dtype_size((wick_dtype)t.dtype);
        for (*at = 0; *at < wick_type_count(&t); ++*at) {
            if (!memcmp(a->data[i] + (size_t)*at * elem, b->data[i] + (size_t)*at * elem, elem)) continue;
            if (!isnan(get(&t, a->data[i], *at)) || !isnan(get(&t, b->data[i], *at))) return true;
        }
    }
    return false;
}

typedef struct way {
    char name[64], without[512];
    bool threads, tight;
} way;

/* All passes; with three threads; all but one; one alone; all that keep bits. */
static int make_ways(way ways[WAYS]) {
    int n = 0, names = 0;
    const char *optional[WAYS];
    for (int i = 0; i < wick_pass_count(); i++) {
        const wick_pass_info info = wick_pass_at(i);
        bool known = false;
        for (int k = 0; k < wick_pass_count(); k++) known |= wick_pass_at(k).required && !strcmp(wick_pass_at(k).name, info.name);
        for (int k = 0; k < names; k++) known |= !strcmp(optional[k], info.name);
        if (!known) optional[names++] = info.name;
    }
    snprintf(ways[n++].name, 64, "all passes");
    snprintf(ways[n].name, 64, "all passes, 3 threads");
    ways[n++].threads = true;
    snprintf(ways[n].name, 64, "in less memory");
    ways[n++].tight = true;
    snprintf(ways[n].name, 64, "all that keep bits");
    snprintf(ways[n++].without, 512, CHANGES_BITS);
    for (int i = 0; i < names && n + 2 <= WAYS; i++) {
        snprintf(ways[n].name, 64, "without %s", optional[i]);
        snprintf(ways[n++].without, 512, "%s", optional[i]);
        snprintf(ways[n].name, 64, "%s alone", optional[i]);
        ways[n].threads = i % 2;
        wick_str s = wick_str_on(ways[n++].without, 512);
        for (int k = 0; k < names; k++)
            if (k != i) wick_str_add(&s, "%s%s", s.len ? "," : "", optional[k]);
    }
    return n;
}

typedef struct verdict {
    const way *way; /* the first that goes wrong, or NULL */
    char text[640];
    bool failed, inexact; /* without passes too; results were compared within a bound */
    int compared;
} verdict;

static verdict judge(wick_context *const ctx[2], design *d, const way *ways, int n_ways) {
    verdict v = {0};
    outcome plain = run(ctx[0], d, NULL, true, false, NULL);
    if (plain.status && d->gradient) { /* some have no gradient of a gradient */
        d->gradient = false;
        outcome_free(&plain);
        plain = run(ctx[0], d, NULL, true, false, NULL);
    }
    v.failed = plain.status != WICK_OK;
    for (int i = 0; i < n_ways && !v.way; i++) {
        outcome o = run(ctx[ways[i].threads], d, ways[i].without, false, ways[i].tight, NULL);
        int output = 0;
        int64_t at = 0;
        v.inexact |= o.inexact;
        if (o.inexact && !d->smooth && !o.status && !plain.status) { /* the others keep bits */
            char without[600];
            snprintf(without, sizeof without, "%s%s" CHANGES_BITS, ways[i].without, ways[i].without[0] ? "," : "");
            outcome_free(&o);
            o = run(ctx[ways[i].threads], d, without, false, ways[i].tight, NULL);
        }
        if (o.status != plain.status) {
            v.way = &ways[i];
            snprintf(v.text, sizeof v.text, "%s (%s), but without passes %s (%s)", wick_status_name(o.status), o.text, wick_status_name(plain.status), plain.text);
        } else if (!o.status && differs(&plain, &o, o.inexact, &output, &at)) {
            v.way = &ways[i];
            wick_type t;
            (void)wick_type_make(&t, o.spec[output].dtype, o.spec[output].rank, o.spec[output].dims);
            if (at >= 0) snprintf(v.text, sizeof v.text, "result %d, %s, element %lld is %.17g, not %.17g", output, wick_dtype_name(o.spec[output].dtype), (long long)at, get(&t, o.data[output], at), get(&t, plain.data[output], at));
            else snprintf(v.text, sizeof v.text, "result %d, %s, is another", output, wick_dtype_name(o.spec[output].dtype));
        }
        v.compared += !o.status;
        outcome_free(&o);
    }
    outcome_free(&plain);
    return v;
}

/* Takes out steps as long as the same way goes wrong. */
static void shrink(wick_context *const ctx[2], design *d, const way *guilty) {
    for (int size = STEPS / 2; size >= 1; size /= 2)
        for (int at = 0; at < STEPS; at += size) {
            design less = *d;
            for (int i = at; i < WICK_MIN(STEPS, at + size); i++) less.skip[i] = true;
            if (judge(ctx, &less, guilty, 1).way) *d = less;
        }
    design less = *d;
    less.gradient = false;
    if (judge(ctx, &less, guilty, 1).way) *d = less;
}

TEST(random_graphs_keep_their_results_through_passes) {
    static way ways[WAYS];
    const int n_ways = make_ways(ways);
    const char *many = getenv("WICK_FUZZ_GRAPHS"), *one = getenv("WICK_FUZZ_SEED");
    const long graphs = one ? 1 : many ? atol(many) : TEST_SANITIZED ? 10 : 100;
    const wick_tuning shared = {.parallel_flops = 1, .parallel_bytes = 1, .gemm_task_work = 1, .fused_task_work = 1};
    wick_context *ctx[2] = {NULL, NULL};
    setenv("WICK_VERIFY", "1", 1);
    CHECK_INT(wick_context_new(&ctx[0], &(wick_context_options){.threads = 1, .seed = 5}), WICK_OK);
    CHECK_INT(wick_context_new(&ctx[1], &(wick_context_options){.threads = 3, .seed = 5, .tuning = &shared}), WICK_OK);
    REQUIRE(ctx[0] && ctx[1]);
    long nodes = 0, compared = 0, failed = 0, inexact = 0;
    for (long g = 0; g < graphs; g++) {
        design d = {.seed = one ? strtoull(one, NULL, 0) : wick_hash(&g, sizeof g, 11)};
        d.smooth = d.seed % 4 == 0;
        d.gradient = d.seed % 3 == 0;
        verdict v = judge(ctx, &d, ways, n_ways);
        nodes += d.nodes;
        compared += v.compared;
        failed += v.failed;
        inexact += v.inexact;
        if (!v.way) continue;
        shrink(ctx, &d, v.way);
        const way *guilty = v.way;
        v = judge(ctx, &d, guilty, 1);
        char *text = NULL;
        outcome o = run(ctx[0], &d, guilty->without, false, guilty->tight, &text);
        outcome_free(&o);
        CHECK_MSG(false, "WICK_FUZZ_SEED=%llu, %s: %s\n%s", (unsigned long long)d.seed, guilty->name, v.text, text ? text : "");
        free(text);
    }
    test_count("random graphs through passes", graphs);
    test_count("nodes of random graphs", nodes);
    test_count("results of random graphs with passes against those without", compared * OUTPUTS);
    CHECK_MSG(one || failed * 4 < graphs, "%ld of %ld graphs can't run at all", failed, graphs);
    CHECK_MSG(one || nodes > 30 * graphs, "%ld nodes in %ld graphs", nodes, graphs);
    CHECK_MSG(one || graphs < 100 || inexact > graphs / 50, "only %ld of %ld graphs met a pass that changes bits", inexact, graphs);
    for (int i = 0; i < wick_pass_count() && graphs >= 100; i++) {
        bool again = false;
        for (int k = 0; k < i; k++) again |= !strcmp(wick_pass_at(k).name, wick_pass_at(i).name);
        again |= !strcmp(wick_pass_at(i).name, "precision"); /* an option asks for it, and other bits: tests/optim/test_precision.c */
        CHECK_MSG(again || changed[i] > 0, "no graph has anything for the pass %s", wick_pass_at(i).name);
    }
    for (int i = 0; i < 2; i++) wick_context_free(&ctx[i]);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
