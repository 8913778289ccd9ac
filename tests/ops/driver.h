/* driver.h: random uses of an op, made from its own definition, and ways to run one: eager or planned, on any number of
 * threads and any kernel tier, over inputs that lie in memory in several ways. Nothing here knows any op by name. */
#ifndef WICK_TESTS_OPS_DRIVER_H
#define WICK_TESTS_OPS_DRIVER_H

#include "ops/ops.h"
#include "context.h"
#include "test.h"
#include "wick/ops.h"

#define MAX_IN 8
#define MAX_OUT 8
#define MAX_RESULTS (MAX_OUT + 1 + MAX_IN)

/* A sample with values for its inputs. */
typedef struct use {
    const wick_op *op;
    wick_sample sample;
    int64_t count[MAX_IN];
    char *data[MAX_IN];      /* row-major */
    int constant[MAX_IN];    /* an axis along which the values are all the same, or -1 */
    wick_type base[MAX_IN];  /* the same values in the middle of more memory: */
    char *spread[MAX_IN];    /* ... all of it */
    int64_t start[MAX_IN];   /* ... its first element's place */
    int64_t strides[MAX_IN][WICK_MAX_DIMS], begin[MAX_IN][WICK_MAX_DIMS], step[MAX_IN][WICK_MAX_DIMS];
    int order[MAX_IN][WICK_MAX_DIMS]; /* axis k of the input is axis order[k] of base */
} use;

static inline bool is_float(const wick_type *t) { return wick_dtype_is_float(t->dtype); }

static inline void put(const wick_type *t, char *data, int64_t at, double value) {
    size_t elem = wick_dtype_size((wick_dtype)t->dtype);
    float single = (float)value;
    uint64_t bits = 0;
    if (t->dtype == WICK_F64 || t->dtype == WICK_F32) /* the common ones fast */
        memcpy(&bits, t->dtype == WICK_F64 ? (void *)&value : &single, elem);
    else
        bits = wick_number_bits((wick_dtype)t->dtype, value);
    memcpy(data + (size_t)at * elem, &bits, elem);
}
static inline double get(const wick_type *t, const char *data, int64_t at) {
    wick_copy one = {.rank = 0, .src = (wick_dtype)t->dtype, .dst = WICK_F64};
    double value;
    float single;
    if (t->dtype == WICK_F64) return memcpy(&value, data + at * 8, 8), value;
    if (t->dtype == WICK_F32) return memcpy(&single, data + at * 4, 4), single;
    wick_copy_run(&one, 0, 1, data + (size_t)at * wick_dtype_size((wick_dtype)t->dtype), &value);
    return value;
}

static inline double draw(const use *u, int i) {
    double lo = u->sample.lo[i], hi = u->sample.hi[i];
    return is_float(&u->sample.in[i]) ? test_rand_real(lo, hi) : (double)test_rand_int((int)lo, (int)hi);
}

/* The offset of element number n, row-major, under strides. */
static inline int64_t offset_of(const wick_type *t, const int64_t *strides, int64_t n) {
    int64_t at = 0;
    for (int k = t->rank - 1; k >= 0; k--) {
        at += n % t->dims[k] * strides[k];
        n /= t->dims[k];
    }
    return at;
}

/* Lays input i out again, in other memory: axes in another order, steps of +-1 and +-2, constant axes of extent 1. */
static inline void spread(use *u, int i) {
    const wick_type *t = &u->sample.in[i];
    int64_t dims[WICK_MAX_DIMS];
    for (int k = 0; k < t->rank; k++) u->order[i][k] = k;
    for (int k = t->rank - 1; k > 0; k--) {
        int other = test_rand_int(0, k), was = u->order[i][k];
        u->order[i][k] = u->order[i][other];
        u->order[i][other] = was;
    }
    for (int k = 0; k < t->rank; k++) {
        int64_t size = test_rand_int(1, 2), n = k == u->constant[i] ? 1 : t->dims[k];
        bool back = test_rand() % 2;
        u->step[i][k] = back ? -size : size;
        u->begin[i][k] = test_rand_int(0, (int)size - 1) + (back && n ? (n - 1) * size : 0);
        dims[u->order[i][k]] = n * size;
    }
    REQUIRE(wick_type_make(&u->base[i], (wick_dtype)t->dtype, t->rank, dims));
    wick_layout contiguous;
    wick_layout_contiguous(&contiguous, &u->base[i]);
    u->start[i] = 0;
    for (int k = 0; k < t->rank; k++) {
        int64_t stride = contiguous.strides[u->order[i][k]];
        u->strides[i][k] = k == u->constant[i] ? 0 : u->step[i][k] * stride;
        u->start[i] += u->begin[i][k] * stride;
    }
    int64_t all = wick_type_count(&u->base[i]);
    size_t elem = wick_dtype_size((wick_dtype)t->dtype);
    u->spread[i] = calloc((size_t)all + 1, elem);
    for (int64_t n = 0; n < all; n++) put(t, u->spread[i], n, draw(u, i));
    for (int64_t n = 0; n < u->count[i]; n++)
        memcpy(u->spread[i] + (size_t)(u->start[i] + offset_of(t, u->strides[i], n)) * elem,
               u->data[i] + (size_t)n * elem, elem);
}

static inline void use_fill(use *u, bool constant_axes) {
    for (int i = 0; i < u->sample.n_in; i++) {
        const wick_type *t = &u->sample.in[i];
        size_t elem = wick_dtype_size((wick_dtype)t->dtype);
        u->count[i] = wick_type_count(t);
        u->data[i] = calloc((size_t)u->count[i] + 1, elem);
        u->constant[i] = constant_axes && t->rank && test_rand() % 2 ? test_rand_int(0, t->rank - 1) : -1;
        if (u->count[i] == 0) u->constant[i] = -1;
        for (int64_t n = 0; n < u->count[i]; n++) put(t, u->data[i], n, draw(u, i));
        if (u->constant[i] >= 0) {
            wick_layout flat;
            wick_layout_contiguous(&flat, t);
            flat.strides[u->constant[i]] = 0; /* every element becomes the first one along the axis */
            for (int64_t n = 0; n < u->count[i]; n++)
                memmove(u->data[i] + (size_t)n * elem, u->data[i] + (size_t)offset_of(t, flat.strides, n) * elem, elem);
        }
        spread(u, i);
    }
}
static inline void use_draw(use *u, const wick_op *op) {
    memset(u, 0, sizeof *u);
    u->op = op;
    u->sample.random = test_rand;
    op->sample(&u->sample);
}
static inline void use_free(use *u) {
    for (int i = 0; i < MAX_IN; i++) free(u->data[i]), free(u->spread[i]);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* copied; strided memory of the caller's; recorded views of a larger tensor */
typedef enum lay { PLAIN, WRAPPED, VIEWED } lay;

/* Input i as a tensor. *leaf (or NULL) gets what a gradient can be asked for: the input, or what it is a view of. */
static inline wick_tensor *input(wick_context *ctx, const use *u, int i, lay how, wick_tensor **leaf) {
    const wick_type *t = &u->sample.in[i];
    const wick_type *b = &u->base[i];
    size_t elem = wick_dtype_size((wick_dtype)t->dtype);
    wick_tensor *x;
    if (how == WRAPPED) {
        x = wick_wrap(ctx, (wick_dtype)t->dtype, t->rank, t->dims, u->strides[i],
                      u->spread[i] + (size_t)(u->count[i] ? u->start[i] : 0) * elem, NULL, NULL);
    } else if (how == VIEWED) {
        x = wick_from(ctx, (wick_dtype)b->dtype, b->rank, b->dims, u->spread[i]);
    } else {
        x = wick_from(ctx, (wick_dtype)t->dtype, t->rank, t->dims, u->data[i]);
    }
    if (leaf) *leaf = x;
    if (how != VIEWED) return x;
    if (t->rank > 1) x = wick_permute(x, t->rank, u->order[i]);
    for (int k = 0; k < t->rank; k++)
        x = wick_slice(x, k, u->begin[i][k], u->step[i][k] < 0 ? INT64_MIN : INT64_MAX, u->step[i][k]);
    if (u->constant[i] >= 0) x = wick_expand(x, t->rank, t->dims);
    return x;
}

static inline int record_use(wick_context *ctx, const use *u, wick_tensor *const *in, wick_tensor **out) {
    wick_here(WICK_PLACE);
    wick_record_n(ctx, u->op, u->sample.n_in, in, u->sample.attr, u->sample.attr_size, u->op->n_out, out);
    return u->op->n_out;
}

/* sum over all float results of y times fixed weights, in f64; NULL when no result is a float. */
static inline wick_tensor *weighted_sum(int n, wick_tensor *const *y) {
    wick_tensor *sum = NULL;
    for (int i = 0; i < n; i++) {
        if (!y[i] || wick_tensor_error(y[i], NULL) || !wick_dtype_is_float(wick_tensor_dtype(y[i]))) continue;
        wick_tensor *w = wick_arange(wick_tensor_context(y[i]), WICK_F64, 0.3 + 0.1 * i, 0.7, wick_tensor_count(y[i]));
        w = wick_sin(wick_reshape(w, wick_tensor_rank(y[i]), wick_tensor_dims(y[i])));
        wick_tensor *part = wick_sum(wick_mul(y[i], w), WICK_ALL_AXES, false);
        sum = sum ? wick_add(sum, part) : part;
    }
    return sum;
}

/* What a run gave, as bytes: the op's results, their weighted sum, the gradients of the float inputs. */
typedef struct result {
    int n, n_out;
    wick_type type[MAX_RESULTS];
    char *bytes[MAX_RESULTS];
    wick_status status;
    char text[512];
} result;
static inline void result_free(result *r) {
    for (int i = 0; i < r->n; i++) free(r->bytes[i]);
    r->n = 0;
}

static inline result result_error(const char *text, wick_status status) {
    result r = {.status = status};
    snprintf(r.text, sizeof r.text, "%s", text);
    return r;
}

/* around: elementwise ops before and after, so that plans have something to fuse with, and gradients. */
static inline result run_use(wick_context *ctx, const use *u, lay how, bool around) {
    result r = {0};
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *leaf[MAX_IN], *in[MAX_IN], *all[MAX_RESULTS];
    int n_wrt = 0;
    wick_tensor *wrt[MAX_IN];
    for (int i = 0; i < u->sample.n_in; i++) {
        in[i] = input(ctx, u, i, how, &leaf[i]);
        if (!is_float(&u->sample.in[i]) || !around) continue;
        in[i] = wick_neg(wick_neg(in[i])); /* exact, and nothing simplifies it */
        wrt[n_wrt++] = leaf[i];
    }
    int n = record_use(ctx, u, in, all);
    r.n_out = n;
    wick_tensor *loss = around ? weighted_sum(n, all) : NULL;
    if (loss) {
        all[n++] = loss;
        if (u->op->grad && n_wrt) {
            wick_grad(loss, n_wrt, wrt, all + n);
            n += n_wrt;
        }
    }
    const char *text = "";
    for (int i = 0; i < n && !r.status; i++)
        if ((r.status = wick_tensor_error(all[i], &text))) r = result_error(text, r.status);
    if (!r.status && (r.status = wick_eval(ctx, n, all, NULL))) r = result_error(wick_context_error(ctx), r.status);
    if (!r.status) {
        for (r.n = 0; r.n < n; r.n++) {
            wick_type *t = &r.type[r.n];
            if (!wick_type_make(t, wick_tensor_dtype(all[r.n]), wick_tensor_rank(all[r.n]), wick_tensor_dims(all[r.n])))
                break;
            r.bytes[r.n] = calloc(wick_type_bytes(t) + 1, 1);
            if (wick_read(all[r.n], r.bytes[r.n], wick_type_bytes(t)) != WICK_OK) r.status = WICK_ERR_INTERNAL;
        }
    }
    wick_scope_close(&scope);
    return r;
}

/* Which results differ in any bit: -1, or the first. Gradients (after n_out + 1) may be left out. */
static inline int first_difference(const result *a, const result *b, bool gradients) {
    if (a->n != b->n) return 0;
    for (int i = 0; i < (gradients ? a->n : WICK_MIN(a->n, a->n_out + 1)); i++)
        if (!wick_type_equal(&a->type[i], &b->type[i]) ||
            memcmp(a->bytes[i], b->bytes[i], wick_type_bytes(&a->type[i])))
            return i;
    return -1;
}

/* |a - b| over the largest finite magnitude of the tensor, or 0.1: gradients are sums of numbers near 1 that may
 * cancel. What is not finite must be the same. */
static inline double distance(const wick_type *t, const char *a, const char *b) {
    double scale = 0.1, worst = 0;
    int64_t n = wick_type_count(t);
    for (int64_t i = 0; i < n; i++) {
        double v = get(t, b, i);
        if (isfinite(v)) scale = fmax(scale, fabs(v));
    }
    for (int64_t i = 0; i < n; i++) {
        double va = get(t, a, i), vb = get(t, b, i);
        double d = isfinite(va) && isfinite(vb)           ? fabs(va - vb) / scale
                   : (isnan(va) && isnan(vb)) || va == vb ? 0
                                                          : INFINITY;
        worst = fmax(worst, d);
    }
    return worst;
}
/* How far tiers may be apart: vector math is a few ulp off the reference's, sums of many such terms a little more. */
static inline double tolerance_of(const wick_type *t) {
    if (t->dtype == WICK_F64) return 1e-12;
    if (t->dtype == WICK_F32) return 3e-6;
    if (t->dtype == WICK_F16) return 2e-3;
    if (t->dtype == WICK_BF16) return 2e-2;
    return 0;
}
/* A float result is as exact as the coarsest type on the way to it; an integer is exact. */
static inline double tolerance(const use *u, const result *r, int i) {
    double most = tolerance_of(&r->type[i]);
    for (int k = 0; k < u->sample.n_in && is_float(&r->type[i]); k++) most = fmax(most, tolerance_of(&u->sample.in[k]));
    for (int k = 0; k < r->n_out && is_float(&r->type[i]); k++) most = fmax(most, tolerance_of(&r->type[k]));
    return most;
}

static inline bool has_no_elements(const use *u) {
    for (int i = 0; i < u->sample.n_in; i++)
        if (u->count[i] == 0) return true;
    return false;
}

/* Ops that only mean something with a graph around them, or that passes make. */
static inline bool is_exempt(const wick_op *op) {
    static const wick_op *const list[] = {
        &wick_op_grad,          &wick_op_custom_gradient, &wick_op_tap,  &wick_op_check_finite,
        &wick_op_stop_gradient, &wick_op_fused,           &wick_op_scan, &wick_op_if};
    for (size_t i = 0; i < WICK_COUNTOF(list); i++)
        if (op == list[i]) return true;
    return false;
}
/* Each op draws its own numbers, so that a new one does not change what the others meet. */
static inline const wick_op *next_op(int i) {
    const wick_op *op = wick_ops_at(i);
    test_seed = wick_hash(op->name, strlen(op->name), 7) | 1;
    return op;
}
#define FOR_EACH_OP(op)                                                              \
    for (int op##_i = 0; op##_i < wick_ops_count(); op##_i++)                        \
        for (const wick_op *op = next_op(op##_i); op; op = NULL)                     \
            if (!is_exempt(op) && op->sample)

/* Kinds of cases that are counted. */
typedef enum kind {
    AGAINST_REFERENCE,
    EXTREME,
    GRADIENTS,
    SECOND_GRADIENTS,
    STRIDES,
    THREADS,
    EAGER,
    EMPTY,
    BAD_ARGUMENTS,
    OTHER_DTYPES,
    KINDS
} kind;
static const char *const kind_names[KINDS] = {
    "results of a tier against the plain C reference, ordinary numbers",
    "results of a tier against the plain C reference, NaN, Inf, -0, huge, tiny and denormal numbers",
    "derivatives against differences",
    "second derivatives against differences",
    "the same bits from strided memory or views",
    "the same bits on 2, 3 or 7 threads",
    "the same bits eager, or without ops around",
    "uses with an empty input",
    "wrong uses refused with the right message",
    "other dtypes taken and run",
};
static inline void count(kind k, long n) { test_count(kind_names[k], n); }

static inline wick_context *driver_context(bool eager, int threads) {
    setenv("WICK_VERIFY", "1", 1); /* the verifier runs after every pass, whatever the build */
    return new_context(.threads = threads, .seed = 5, .eager = eager);
}

#endif
