/* sample.c: fields sampled anywhere: taps, which are weighted sums of rows by index, and grid_sample made of them.
 *
 * The three ops of taps are the derivatives of one sum of triple products, sum of weight[t, r] x[index[t, r], c] y[r,
 * c], by y, x and weight: each has the others as gradients, of any order. */
#include "ops/ops.h"
#include "wick/image.h"

typedef struct taps_attr {
    int64_t places; /* put: of the result */
} taps_attr;
typedef enum which { SUM, PUT, DOT } which;
static which which_of(const wick_op *op) { return op == &wick_op_taps ? SUM : op == &wick_op_taps_put ? PUT : DOT; }

/* taps (x, index, weight) -> y; taps_put (y, index, weight) -> x; taps_dot (x, index, y) -> weight. */
static wick_status infer_taps(wick_infer *i) {
    const taps_attr *attr = i->attr;
    const wick_type *first = i->in[0], *index = i->in[1], *last = i->in[2];
    const which w = which_of(i->op);
    if ((first->dtype != WICK_F32 && first->dtype != WICK_F64) || last->dtype != first->dtype)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs f32 or f64, one of them; cast");
    if (index->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the index must be i64");
    if (first->rank != 3 || index->rank != 3 || last->rank != 3 || first->dims[0] != index->dims[0] ||
        last->dims[0] != index->dims[0])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs [images, ., .] thrice");
    if (w != DOT && !wick_same_dims(index, last))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "index and weight have different shapes");
    if (w == PUT ? first->dims[1] != index->dims[2]
                 : w == DOT && (last->dims[1] != index->dims[2] || last->dims[2] != first->dims[2]))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "rows or channels differ");
    *i->out = *first;
    i->out->dims[1] = w == PUT ? attr->places : index->dims[w == DOT ? 1 : 2];
    if (w == DOT) i->out->dims[2] = index->dims[2];
    wick_type checked;
    if (!wick_type_make(&checked, (wick_dtype)i->out->dtype, 3, i->out->dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    return WICK_OK;
}

typedef struct taps_args {
    wick_taps t;
    int64_t units, per_task;
} taps_args;
#define TAPS_RUN(name)                                                                                                 \
    static int64_t run_##name(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {         \
        const taps_args *a = args;                                                                                     \
        (void)scratch;                                                                                                 \
        wick_taps_##name(&a->t, begin * a->per_task, WICK_MIN(end * a->per_task, a->units), ptr[0], ptr[1], ptr[2],    \
                         ptr[3]);                                                                                      \
        return -1;                                                                                                     \
    }
TAPS_RUN(sum)
TAPS_RUN(put)
TAPS_RUN(dot)
static double flops_taps(const wick_node *node) {
    const wick_type *field = &node->in[0]->type, *index = &node->in[1]->type;
    return 2 * (double)wick_type_count(index) * (double)field->dims[2];
}
static wick_status lower_taps(wick_lower *l, wick_node *node) {
    const which w = which_of(node->op);
    wick_operand at[4];
    wick_ref refs[4];
    double bytes = 0;
    for (int i = 0; i < 3; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    WICK_TRY(wick_lower_out(l, node, 0, &at[3]));
    for (int i = 0; i < 4; i++) {
        refs[i] = wick_lower_ref(&at[i], i == 3);
        bytes += (double)wick_type_bytes(at[i].type);
    }
    const int64_t *index = at[1].type->dims, places = (w == PUT ? at[3] : at[0]).type->dims[1],
                  channels = at[0].type->dims[2];
    taps_args a;
    memset(&a, 0, sizeof a);
    a.t = (wick_taps){wick_ctype_of((wick_dtype)at[0].type->dtype), index[0], places, channels, index[2], index[1],
                      WICK_MAX(1, WICK_MIN(16, channels / 8))};
    a.units = w == PUT ? a.t.images * a.t.parts : a.t.images * a.t.rows;
    a.per_task = w == PUT ? 1 : 1 + 16384 / WICK_MAX(a.t.taps * channels, 1);
    if (!channels && w != DOT) a.units = 0;
    wick_step step = {.name = node->op->name,
                      .run = w == SUM   ? run_sum
                             : w == PUT ? run_put
                                        : run_dot,
                      .tasks = (a.units + a.per_task - 1) / a.per_task,
                      .flops = flops_taps(node),
                      .bytes = bytes};
    return wick_lower_step(l, &step, &a, sizeof a, refs, 4);
}
static wick_tensor *of(const wick_op *op, wick_tensor *a, wick_tensor *index, wick_tensor *b, int64_t places) {
    taps_attr attr = {op == &wick_op_taps_put ? places : 0};
    return wick_record(NULL, op, 3, (wick_tensor *[]){a, index, b}, &attr, sizeof attr);
}
static void grad_taps(wick_gradient *g) {
    const which w = which_of(g->node->op);
    wick_tensor *index = g->in[1], *out = g->gout[0], *first = g->in[0], *last = g->in[2];
    const int64_t places = w == PUT ? wick_tensor_dim(out, 1) : wick_tensor_dim(first, 1);
    if (g->need[0])
        g->gin[0] = w == SUM   ? of(&wick_op_taps_put, out, index, last, places)
                    : w == PUT ? of(&wick_op_taps, out, index, last, 0)
                               : of(&wick_op_taps_put, last, index, out, places);
    if (g->need[2])
        g->gin[2] = w == SUM   ? of(&wick_op_taps_dot, first, index, out, 0)
                    : w == PUT ? of(&wick_op_taps_dot, out, index, first, 0)
                               : of(&wick_op_taps, first, index, out, 0);
}
static void sample_types(wick_sample *s, wick_type *x, wick_type *index, wick_type *y) {
    const uint8_t dtype = s->random() % 3 ? WICK_F64 : WICK_F32;
    const int64_t images = wick_sample_int(s, 0, 2), rows = wick_sample_int(s, 1, 4),
                  channels = wick_sample_int(s, 1, 5);
    *x = (wick_type){.dtype = dtype, .rank = 3, .dims = {images, wick_sample_int(s, 3, 5), channels}};
    *index = (wick_type){.dtype = dtype, .rank = 3, .dims = {images, wick_sample_int(s, 1, 3), rows}};
    *y = (wick_type){.dtype = dtype, .rank = 3, .dims = {images, rows, channels}};
    taps_attr a = {x->dims[1]};
    s->n_in = 3;
    for (int i = 0; i < 3; i++) s->lo[i] = -2, s->hi[i] = 2;
    s->lo[1] = -1, s->hi[1] = (double)x->dims[1];
    s->differentiable = dtype == WICK_F64;
    memcpy(s->attr, &a, s->attr_size = sizeof a);
    s->in[1] = *index;
    s->in[1].dtype = WICK_I64;
}
static void sample_taps(wick_sample *s) {
    wick_type index, y;
    sample_types(s, &s->in[0], &index, &y);
    s->in[2] = index;
}
static void sample_put(wick_sample *s) {
    wick_type x, index;
    sample_types(s, &x, &index, &s->in[0]);
    s->in[2] = index;
}
static void sample_dot(wick_sample *s) {
    wick_type index;
    sample_types(s, &s->in[0], &index, &s->in[2]);
}
#define TAPS_OP(name_, text, sample_)                                                                                  \
    const wick_op wick_op_##name_ = {.name = #name_,                                                                   \
                                     .doc = text,                                                                      \
                                     .cost = "2 channels taps",                                                        \
                                     .min_in = 3,                                                                      \
                                     .max_in = 3,                                                                      \
                                     .n_out = 1,                                                                       \
                                     .infer = infer_taps,                                                              \
                                     .grad = grad_taps,                                                                \
                                     .flops = flops_taps,                                                              \
                                     .lower = lower_taps,                                                              \
                                     .sample = sample_};
TAPS_OP(taps, "sums of rows by index and weight; an index outside counts for nothing", sample_taps)
TAPS_OP(taps_put, "rows added by weight to the places of an index", sample_put)
TAPS_OP(taps_dot, "products of rows with those of an index", sample_dot)

/* ---- grid_sample ------------------------------------------------------------------------------------------------- */

/* A number of x's dtype. */
#define NUM(v) wick_like(x, v)

/* x bounded to [low, high]; no gradient beyond, nor at the bounds, as PyTorch has it. */
static wick_tensor *bounded(wick_tensor *x, double low, double high) {
    return wick_where(wick_le(x, NUM(low)), NUM(low), wick_where(wick_ge(x, NUM(high)), NUM(high), x));
}
/* x mirrored at low and high until it is between. */
static wick_tensor *reflected(wick_tensor *x, double low, double high) {
    if (high <= low) return wick_mul(x, NUM(0));
    const double span = high - low;
    wick_tensor *from = wick_abs(wick_sub(x, NUM(low))), *flips = wick_floor(wick_mul(from, NUM(1 / span))),
                *extra = wick_sub(from, wick_mul(flips, NUM(span)));
    wick_tensor *odd = wick_ne(wick_mul(wick_floor(wick_mul(flips, NUM(0.5))), NUM(2)), flips);
    return wick_where(odd, wick_sub(NUM(span + low), extra), wick_add(extra, NUM(low)));
}
static wick_tensor *padded(wick_tensor *x, wick_grid_padding padding, int64_t n, bool corners) {
    if (padding == WICK_GRID_REFLECTION)
        x = corners ? reflected(x, 0, (double)n - 1) : reflected(x, -0.5, (double)n - 0.5);
    return padding == WICK_GRID_ZEROS ? x : bounded(x, 0, (double)n - 1);
}
/* A column of x's dtype. */
static wick_tensor *vector(wick_tensor *x, int n, const double *values) {
    wick_tensor *v = wick_from(x->ctx, WICK_F64, 2, (const int64_t[]){n, 1}, values);
    return wick_as(v, wick_tensor_dtype(x));
}

/* The taps along one dim of `n` elements, of places x [N, 1, P] in [-1, 1]: where, -1 outside, and their weights: [N,
 * taps, P]. */
static int taps_along(wick_tensor *x, int64_t n, const wick_grid_options *o, wick_tensor **at, wick_tensor **weight) {
    /* Weights are polynomials of the part t behind the lower neighbour, of one degree less than there are taps; Keys'
     * with a = -0.75. */
    static const double steps[4] = {-1, 0, 1, 2}, linear[2][2] = {{1, 0}, {-1, 1}},
                        cubic[4][4] = {
                            {0, 1, 0, 0}, {-0.75, 0, 0.75, 0}, {1.5, -2.25, 1.5, -0.75}, {-0.75, 1.25, -1.25, 0.75}};
    const int taps = o->mode == WICK_NEAREST ? 1 : o->mode == WICK_LINEAR ? 2 : 4;
    const double size = (double)n;
    x = o->align_corners ? wick_mul(wick_add(x, NUM(1)), NUM((size - 1) / 2))
                         : wick_mul(wick_sub(wick_mul(wick_add(x, NUM(1)), NUM(size)), NUM(1)), NUM(0.5));
    if (taps < 4) x = padded(x, o->padding, n, o->align_corners);
    wick_tensor *low = wick_stop_gradient(taps == 1 ? wick_round(x) : wick_floor(x)), *t = wick_sub(x, low),
                *place = low;
    if (taps > 1) place = wick_add(low, vector(x, taps, taps == 2 ? steps + 1 : steps));
    *weight = NUM(1);
    for (int k = taps - 1; k >= 0 && taps > 1; k--) {
        wick_tensor *c = vector(x, taps, taps == 2 ? linear[k] : cubic[k]);
        *weight = k == taps - 1 ? c : wick_add(wick_mul(*weight, t), c);
    }
    if (taps == 4) place = padded(place, o->padding, n, o->align_corners);
    wick_tensor *inside = wick_logical_and(wick_ge(place, NUM(0)), wick_le(place, NUM(size - 1)));
    *at = wick_cast(wick_where(inside, place, NUM(-1)), WICK_I64);
    return taps;
}

wick_tensor *wick_grid_sample(wick_tensor *x, wick_tensor *grid, const wick_grid_options *options) {
    static const wick_grid_options plain = {.mode = WICK_LINEAR};
    const wick_grid_options *o = options ? options : &plain;
    if (!wick_promote_pair(&x, &grid, "grid_sample")) return x;
    wick_context *ctx = x->ctx;
    const int rank = wick_tensor_rank(x) - 2;
    const wick_dtype dtype = wick_tensor_dtype(x), wide = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    const int64_t *dims = wick_tensor_dims(x), *out = wick_tensor_dims(grid);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "grid_sample: x is %s; it needs floats: cast", wick_dtype_name(dtype));
    if ((unsigned)o->mode > WICK_CUBIC || (unsigned)o->padding > WICK_GRID_REFLECTION)
        return wick_poison(ctx, WICK_ERR_INVALID, "grid_sample: there is no mode %d, padding %d", (int)o->mode,
                           (int)o->padding);
    if (rank != 2 && rank != 3)
        return wick_poison(ctx, WICK_ERR_SHAPE, "grid_sample: x has %d dims; it needs [N, C, H, W] or [N, C, D, H, W]",
                           rank + 2);
    if (wick_tensor_rank(grid) != rank + 2 || out[0] != dims[0] || out[rank + 1] != rank)
        return wick_poison(ctx, WICK_ERR_SHAPE, "grid_sample: the grid must be [%lld, %d dims, %d]", (long long)dims[0],
                           rank, rank);
    if (rank == 3 && o->mode == WICK_CUBIC)
        return wick_poison(ctx, WICK_ERR_INVALID, "grid_sample: cubic is for [N, C, H, W]");
    int64_t places = 1, points = 1;
    for (int d = 0; d < rank; d++) {
        if (dims[2 + d] < 1) return wick_poison(ctx, WICK_ERR_SHAPE, "grid_sample: x has no elements along dim %d", d);
        places *= dims[2 + d];
        points *= out[1 + d];
    }
    /* [N, places, C]: nothing moves where images lie with their channels last. */
    int axes[5] = {0}, back[5] = {0, rank + 1};
    for (int d = 0; d < rank; d++) axes[1 + d] = 2 + d, back[2 + d] = 1 + d;
    axes[rank + 1] = 1;
    wick_tensor *rows =
        wick_reshape(wick_permute(wick_as(x, wide), rank + 2, axes), WICK_DIMS(dims[0], places, dims[1]));
    wick_tensor *from = wick_reshape(wick_as(grid, wide), WICK_DIMS(dims[0], points, rank)), *index = NULL,
                *weight = NULL;
    int64_t stride = 1, taps = 1;
    for (int d = rank - 1, k = 0; d >= 0; d--, k++) { /* the grid names the innermost dim first */
        wick_tensor *at, *w;
        const int64_t n = taps_along(wick_transpose(wick_slice(from, 2, k, k + 1, 1), 1, 2), dims[2 + d], o, &at, &w);
        wick_tensor *outside = wick_lt(at, wick_like(at, 0)), *step = wick_mul(at, wick_like(at, (double)stride));
        step = wick_where(outside, wick_like(step, -0x1p60), step); /* what is outside of one dim stays outside */
        if (k) { /* this dim's taps around those of the inner ones */
            const int64_t all = n * taps;
            index = wick_reshape(wick_add(wick_unsqueeze(step, 2), wick_unsqueeze(index, 1)),
                                 WICK_DIMS(dims[0], all, points));
            if (o->mode != WICK_NEAREST)
                weight = wick_reshape(wick_mul(wick_unsqueeze(w, 2), wick_unsqueeze(weight, 1)),
                                      WICK_DIMS(dims[0], all, points));
            taps = all;
        } else
            index = step, weight = w, taps = n;
        stride *= dims[2 + d];
    }
    if (o->mode == WICK_NEAREST) weight = wick_expand(wick_like(rows, 1), WICK_DIMS(dims[0], 1, points));
    wick_tensor *y = of(&wick_op_taps, rows, index, weight, 0);
    int64_t shape[5] = {dims[0]};
    for (int d = 0; d < rank; d++) shape[1 + d] = out[1 + d];
    shape[rank + 1] = dims[1];
    return wick_as(wick_permute(wick_reshape(y, rank + 2, shape), rank + 2, back), dtype);
}
