/* select.c: indexing that is an expression of gather, take_along_axis, put_along_axis and ravel_index; masks;
 * embeddings; nonzero. */
#include <math.h>

#include "ops/ops.h"
#include "wick/index.h"
#include "wick/ops.h"
#include "wick/reduce.h"
#include "wick/sort.h"

wick_tensor *wick_mean_of(wick_tensor *sum, wick_tensor *count) {
    if (wick_is_bad(sum)) return sum;
    const wick_dtype d = wick_tensor_dtype(sum);
    if (wick_dtype_is_float(d)) return wick_div(sum, count);
    return wick_cast(wick_floor(wick_div(wick_cast(sum, WICK_F64), wick_cast(count, WICK_F64))), d);
}

wick_tensor *wick_needs_value(wick_tensor *x, const char *op, const char *instead) {
    wick_context *ctx = x->ctx;
    if (!ctx->frame->trace && !ctx->target) return NULL;
    return wick_poison(ctx, WICK_ERR_INVALID,
                       "%s(%s): the size of the result depends on values, which a function that is being compiled does "
                       "not have; use %s",
                       op, wick_shown_of(x).text, instead);
}

/* ---- slices and tuples ------------------------------------------------------------------------------------------- */

wick_tensor *wick_scatter_reduce(wick_tensor *base, int axis, wick_tensor *index, wick_tensor *src, wick_put how,
                                 bool include_self) {
    if (include_self || how == WICK_PUT_SET || wick_is_bad(base) || wick_is_bad(index) || wick_is_bad(src))
        return wick_put_along_axis(base, axis, index, src, how);
    if ((unsigned)how > WICK_PUT_MEAN)
        return wick_poison(base->ctx, WICK_ERR_INVALID, "scatter_reduce: there is no reduction %d", (int)how);
    /* what converts to the ends of an integer type */
    const double most = wick_dtype_is_float(wick_tensor_dtype(base)) ? INFINITY : 1e300;
    const double nothing[] = {
        [WICK_PUT_ADD] = 0, [WICK_PUT_MEAN] = 0, [WICK_PUT_MUL] = 1, [WICK_PUT_MAX] = -most, [WICK_PUT_MIN] = most};
    const int rank = wick_tensor_rank(index);
    const int64_t *dims = wick_tensor_dims(index);
    wick_tensor *clear =
        wick_put_along_axis(base, axis, index, wick_expand(wick_like(base, nothing[how]), rank, dims), WICK_PUT_SET);
    if (how != WICK_PUT_MEAN) return wick_put_along_axis(clear, axis, index, src, how);
    wick_tensor *one = wick_like(base, 1),
                *zeros = wick_expand(wick_like(base, 0), wick_tensor_rank(base), wick_tensor_dims(base));
    wick_tensor *count = wick_put_along_axis(zeros, axis, index, wick_expand(one, rank, dims), WICK_PUT_ADD);
    return wick_mean_of(wick_put_along_axis(clear, axis, index, src, WICK_PUT_ADD), wick_maximum(count, one));
}

wick_tensor *wick_scatter(wick_tensor *base, int axis, wick_tensor *index, wick_tensor *src, wick_put how) {
    if (wick_is_bad(base) || wick_is_bad(index) || wick_is_bad(src))
        return wick_put_along_axis(base, axis, index, src, how);
    const wick_type *t = &base->value->type, *of = &index->value->type, *s = &src->value->type;
    const int a = wick_axis(axis, t->rank);
    bool good = a >= 0 && s->rank == t->rank - 1 + of->rank;
    for (int i = 0; good && i < s->rank; i++)
        good = s->dims[i] == (i < a ? t->dims[i] : i < a + of->rank ? of->dims[i - a] : t->dims[i - of->rank + 1]);
    if (!good)
        return wick_poison(base->ctx, WICK_ERR_SHAPE,
                           "scatter(%s, %s, %s): src must have the shape that gather along axis %d would read",
                           wick_shown_of(base).text, wick_shown_of(index).text, wick_shown_of(src).text, axis);
    /* The index stands along the axis, and is the same in all others. */
    int64_t dims[WICK_MAX_DIMS], along[WICK_MAX_DIMS];
    const int rank = t->rank;
    for (int i = 0; i < rank; i++)
        dims[i] = i == a ? wick_tensor_count(index) : t->dims[i], along[i] = i == a ? dims[i] : 1;
    index = wick_expand(wick_reshape(index, rank, along), rank, dims);
    return wick_put_along_axis(base, a, index, wick_reshape(src, rank, dims), how);
}

/* Row-major places of the tuples in index in axes from.. of x, and how many of those axes they name; NULL: k is what
 * does not fit. */
static wick_tensor *tuples(wick_tensor *x, int from, wick_tensor *index, int *k) {
    const int rank = wick_tensor_rank(x), of = wick_tensor_rank(index);
    const int64_t n = of ? wick_tensor_dims(index)[of - 1] : 0;
    *k = (int)WICK_MIN(n, 99);
    return n < 1 || n > rank - from ? NULL : wick_ravel(index, *k, wick_tensor_dims(x) + from);
}

wick_tensor *wick_gather_nd(wick_tensor *x, int batch_dims, wick_tensor *index) {
    if (wick_is_bad(x) || wick_is_bad(index)) return wick_gather(x, 0, index);
    const int rank = wick_tensor_rank(x), of = wick_tensor_rank(index), b = batch_dims;
    int k = 0;
    bool good = b >= 0 && b < of && b < rank;
    for (int i = 0; good && i < b; i++) good = wick_tensor_dims(x)[i] == wick_tensor_dims(index)[i];
    wick_tensor *at = good ? tuples(x, b, index, &k) : NULL;
    if (!at)
        return wick_poison(
            x->ctx, WICK_ERR_SHAPE,
            "gather_nd(%s, %s): the last axis of the index must name 1 to %d axes, and the first %d axes must be equal",
            wick_shown_of(x).text, wick_shown_of(index).text, rank - b, b);
    int64_t dims[WICK_MAX_DIMS] = {1}, batches = 1, places = 1;
    for (int i = 0; i < b + k; i++) *(i < b ? &batches : &places) *= wick_tensor_dims(x)[i];
    if (b) { /* each batch has its own places */
        for (int i = 0; i < of - 1; i++) dims[i] = i < b ? wick_tensor_dims(x)[i] : 1;
        wick_tensor *batch = wick_reshape(wick_positions(x->ctx, WICK_I64, batches), of - 1, dims);
        at = wick_add(at, wick_mul(batch, wick_is_bad(batch) ? batch : wick_like(batch, (double)places)));
    }
    dims[0] = batches * places;
    for (int i = b + k; i < rank; i++) dims[1 + i - b - k] = wick_tensor_dims(x)[i];
    return wick_gather(wick_reshape(x, 1 + rank - b - k, dims), 0, at);
}

wick_tensor *wick_scatter_nd(wick_tensor *base, wick_tensor *index, wick_tensor *src, wick_put how) {
    if (wick_is_bad(base) || wick_is_bad(index) || wick_is_bad(src))
        return wick_put_along_axis(base, 0, index, src, how);
    const int rank = wick_tensor_rank(base);
    int k;
    wick_tensor *at = tuples(base, 0, index, &k);
    if (!at)
        return wick_poison(base->ctx, WICK_ERR_SHAPE,
                           "scatter_nd(%s, %s): the last axis of the index must name 1 to %d axes",
                           wick_shown_of(base).text, wick_shown_of(index).text, rank);
    int64_t dims[WICK_MAX_DIMS] = {1};
    for (int i = 0; i < k; i++) dims[0] *= wick_tensor_dims(base)[i];
    for (int i = k; i < rank; i++) dims[1 + i - k] = wick_tensor_dims(base)[i];
    return wick_reshape(wick_scatter(wick_reshape(base, 1 + rank - k, dims), 0, at, src, how), rank,
                        wick_tensor_dims(base));
}

/* n indices, broadcast, as tuples; or the poison. */
static wick_tensor *together(const char *op, wick_tensor *x, int n, wick_tensor *const *index) {
    if (wick_is_bad(x)) return x;
    if (n < 1 || n > wick_tensor_rank(x) || !index)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s(%s): %d indices", op, wick_shown_of(x).text, n);
    wick_tensor *parts[WICK_MAX_DIMS];
    wick_type t;
    for (int i = 0; i < n; i++) {
        if (wick_is_bad(index[i]))
            return index[i] ? index[i] : wick_poison(x->ctx, WICK_ERR_INVALID, "%s: index %d is NULL", op, i);
        if (!i) t = index[0]->value->type;
        parts[i] = wick_as_index(index[i]);
        if (!wick_dtype_is_integer(wick_tensor_dtype(index[i])) || !wick_broadcast(&t, &index[i]->value->type))
            return wick_poison(x->ctx, WICK_ERR_SHAPE,
                               "%s(%s): index %d, %s, is not of integers that broadcast with the others", op,
                               wick_shown_of(x).text, i, wick_shown_of(index[i]).text);
    }
    for (int i = 0; i < n; i++) {
        if (t.rank == WICK_MAX_DIMS)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s(%s): the indices have too many dims", op,
                               wick_shown_of(x).text);
        parts[i] = wick_unsqueeze(wick_expand(parts[i], t.rank, t.dims), -1);
    }
    return wick_concat(n, parts, -1);
}
wick_tensor *wick_index(wick_tensor *x, int n, wick_tensor *const *index) {
    wick_tensor *at = together("index", x, n, index);
    return wick_is_bad(at) ? at : wick_gather_nd(x, 0, at);
}
wick_tensor *wick_index_put(wick_tensor *x, int n, wick_tensor *const *index, wick_tensor *values, bool accumulate) {
    wick_tensor *at = together("index_put", x, n, index);
    if (wick_is_bad(at) || wick_is_bad(values)) return wick_is_bad(at) ? at : values;
    int64_t dims[2 * WICK_MAX_DIMS];
    int rank = 0;
    for (int i = 0; i + 1 < wick_tensor_rank(at); i++) dims[rank++] = wick_tensor_dims(at)[i];
    for (int i = n; i < wick_tensor_rank(x); i++) dims[rank++] = wick_tensor_dims(x)[i];
    return wick_scatter_nd(x, at, wick_expand(values, rank, dims), accumulate ? WICK_PUT_ADD : WICK_PUT_SET);
}

/* ---- embeddings -------------------------------------------------------------------------------------------------- */

wick_tensor *wick_embedding(wick_tensor *weight, wick_tensor *index, int64_t padding) {
    if (!wick_is_bad(weight) && wick_tensor_rank(weight) != 2)
        return wick_poison(weight->ctx, WICK_ERR_SHAPE, "embedding: the weight is %s, not [rows, d]",
                           wick_shown_of(weight).text);
    wick_tensor *y = wick_gather(weight, 0, index);
    if (padding < 0 || wick_is_bad(y)) return y;
    wick_tensor *pad = wick_eq(wick_as_index(index), wick_like(wick_as_index(index), (double)padding));
    return wick_where(wick_unsqueeze(pad, -1), wick_stop_gradient(y), y);
}

wick_tensor *wick_embedding_bag(wick_tensor *weight, wick_tensor *index, wick_tensor *offsets, wick_tensor *scale,
                                wick_bag mode) {
    if (wick_is_bad(weight) || wick_is_bad(index)) return wick_is_bad(weight) ? weight : index;
    wick_context *ctx = weight->ctx;
    const int rank = wick_tensor_rank(index);
    if (wick_tensor_rank(weight) != 2 || rank != (offsets ? 1 : 2) ||
        (offsets && !wick_is_bad(offsets) && wick_tensor_rank(offsets) != 1) || (unsigned)mode > WICK_BAG_MAX)
        return wick_poison(
            ctx, WICK_ERR_SHAPE,
            "embedding_bag(%s, %s): takes weight [rows, d] and index [bags, m], or index [total] and offsets [bags]",
            wick_shown_of(weight).text, wick_shown_of(index).text);
    if (scale && !wick_is_bad(scale) &&
        (mode != WICK_BAG_SUM || !wick_same_dims(&scale->value->type, &index->value->type)))
        return wick_poison(ctx, WICK_ERR_SHAPE, "embedding_bag(%s, %s): scale is for sums, and of the index's shape",
                           wick_shown_of(weight).text, wick_shown_of(index).text);
    wick_tensor *rows = wick_gather(weight, 0, index);
    if (scale) rows = wick_mul(rows, wick_unsqueeze(scale, -1));
    if (wick_is_bad(rows)) return rows;
    wick_tensor *zero = wick_like(rows, 0);
    const int64_t d = wick_tensor_dims(weight)[1], total = wick_tensor_count(index);
    if (!offsets) {
        if (wick_tensor_dims(index)[1] == 0) return wick_expand(zero, WICK_DIMS(wick_tensor_dims(index)[0], d));
        return mode == WICK_BAG_SUM    ? wick_sum(rows, WICK_AXES(1), false)
               : mode == WICK_BAG_MEAN ? wick_mean(rows, WICK_AXES(1), false)
                                       : wick_max(rows, WICK_AXES(1), false);
    }
    if (wick_is_bad(offsets)) return offsets;
    const int64_t gather_reduce = wick_tensor_count(offsets);
    wick_tensor *at = wick_positions(ctx, WICK_I64, total), *bag = wick_searchsorted(wick_as_index(offsets), at, true);
    if (wick_is_bad(bag)) return bag;
    bag = wick_sub(bag, wick_like(bag, 1)); /* of each index */
    wick_tensor *base =
        wick_expand(mode == WICK_BAG_MAX ? wick_like(rows, -INFINITY) : zero, WICK_DIMS(gather_reduce, d));
    wick_tensor *y = wick_scatter(base, 0, bag, rows, mode == WICK_BAG_MAX ? WICK_PUT_MAX : WICK_PUT_ADD);
    if (mode == WICK_BAG_SUM || wick_is_bad(y)) return y;
    wick_tensor *one = wick_like(bag, 1), *none = wick_like(bag, 0);
    wick_tensor *count = wick_unsqueeze(
        wick_scatter(wick_expand(none, 1, &gather_reduce), 0, bag, wick_expand(one, 1, &total), WICK_PUT_ADD), -1);
    if (mode == WICK_BAG_MAX) return wick_where(wick_gt(count, none), y, zero);
    return wick_div(y, wick_cast(wick_maximum(count, one), wick_tensor_dtype(y)));
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

static wick_tensor *as_mask(const char *op, wick_tensor *mask) {
    if (wick_is_bad(mask) || wick_tensor_dtype(mask) == WICK_BOOL) return mask;
    return wick_poison(mask->ctx, WICK_ERR_DTYPE, "%s: the mask is %s, not bool", op, wick_shown_of(mask).text);
}

wick_tensor *wick_masked_fill(wick_tensor *x, wick_tensor *mask, double value) {
    return wick_where(as_mask("masked_fill", mask), wick_like(x, value), x);
}

wick_tensor *wick_masked_scatter(wick_tensor *x, wick_tensor *mask, wick_tensor *src) {
    mask = as_mask("masked_scatter", mask);
    if (wick_is_bad(x) || wick_is_bad(mask) || wick_is_bad(src))
        return wick_is_bad(x) ? x : wick_is_bad(mask) ? mask : src;
    if (!wick_same_dims(&x->value->type, &mask->value->type) || wick_tensor_dtype(src) != wick_tensor_dtype(x))
        return wick_poison(x->ctx, WICK_ERR_SHAPE,
                           "masked_scatter(%s, %s, %s): x and mask must have one shape, x and src one dtype",
                           wick_shown_of(x).text, wick_shown_of(mask).text, wick_shown_of(src).text);
    if (wick_tensor_count(x) == 0) return x;
    /* Where the mask is true: how many were so before. Elsewhere a place of the one element that stands in front. */
    wick_tensor *flat = wick_flatten(mask, 0), *number = wick_cumsum(wick_cast(flat, WICK_I64), 0);
    wick_tensor *at = wick_where(flat, number, wick_like(number, 0));
    wick_tensor *from =
        wick_concat(2, (wick_tensor *[]){wick_reshape(wick_like(x, 0), WICK_DIMS(1)), wick_flatten(src, 0)}, 0);
    wick_tensor *values = wick_reshape(wick_gather(from, 0, at), wick_tensor_rank(x), wick_tensor_dims(x));
    return wick_where(mask, values, x);
}

/* The places of a mask that has a value. limit: NULL, or the poison to return. */
static wick_tensor *true_places(wick_tensor *mask) {
    wick_context *ctx = mask->ctx;
    const wick_type *t = &mask->value->type;
    const void *data;
    const wick_status status = wick_data(mask, &data);
    if (status) return wick_poison(ctx, status, "%s", wick_context_error(ctx));
    wick_type type;
    if (!wick_type_make(&type, WICK_I64, 2, (int64_t[]){wick_count_true(wick_type_count(t), data), t->rank}))
        return wick_poison(ctx, WICK_ERR_NOMEM, "nonzero: too many places");
    wick_array *array = wick_array_contiguous(ctx, &type);
    if (array) wick_nonzero_places(t->rank, t->dims, data, 0, wick_type_count(t), type.dims[0], array->storage->data);
    return wick_leaf(ctx, &type, array);
}

wick_tensor *wick_nonzero(wick_tensor *x) {
    if (wick_is_bad(x)) return x;
    wick_tensor *bad = wick_needs_value(x, "nonzero", "wick_nonzero_padded");
    if (bad) return bad;
    wick_tensor *mask = wick_as(x, WICK_BOOL);
    return wick_is_bad(mask) ? mask : true_places(mask);
}

wick_tensor *wick_masked_select(wick_tensor *x, wick_tensor *mask) {
    mask = as_mask("masked_select", mask);
    if (wick_is_bad(x) || wick_is_bad(mask)) return wick_is_bad(x) ? x : mask;
    wick_tensor *bad = wick_needs_value(mask, "masked_select", "wick_where, or wick_nonzero_padded and wick_gather");
    if (bad) return bad;
    wick_type t = x->value->type;
    if (!wick_broadcast(&t, &mask->value->type))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "masked_select(%s, %s): the shapes do not broadcast",
                           wick_shown_of(x).text, wick_shown_of(mask).text);
    wick_tensor *places = true_places(wick_flatten(wick_expand(mask, t.rank, t.dims), 0));
    return wick_is_bad(places)
               ? places
               : wick_gather(wick_flatten(wick_expand(x, t.rank, t.dims), 0), 0, wick_flatten(places, 0));
}

/* ---- nonzero, padded --------------------------------------------------------------------------------------------- */

static wick_status infer_nonzero(wick_infer *i) {
    const nonzero_attr *attr = i->attr;
    const wick_type *x = i->in[0];
    if (x->dtype != WICK_BOOL) return wick_infer_fail(i, WICK_ERR_DTYPE, "the mask must be bool");
    wick_type *out = &i->out[0];
    out->dtype = WICK_I64;
    out->rank = 2;
    out->dims[0] = attr->size;
    out->dims[1] = x->rank;
    i->out[1] = (wick_type){.dtype = WICK_I64, .device = x->device};
    return attr->size < 0 ? wick_infer_fail(i, WICK_ERR_SHAPE, "a size of %lld", (long long)attr->size) : WICK_OK;
}
enum { NONZERO_TASK = 65536 }; /* elements of the mask */
typedef struct nonzero_args {
    int rank;
    int64_t dims[WICK_MAX_DIMS], count, tasks, size, fill;
} nonzero_args;
static int64_t run_count_true(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const nonzero_args *a = args;
    for (int64_t t = begin; t < end; t++)
        ((int64_t *)ptr[1])[t] = wick_count_true(WICK_MIN(NONZERO_TASK, a->count - t * NONZERO_TASK),
                                                 (const uint8_t *)ptr[0] + t * NONZERO_TASK);
    return -1;
}
/* A task's places come behind those of the tasks before it, and it writes no others; the last one fills the rest. */
static int64_t run_nonzero(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const nonzero_args *a = args;
    const int64_t *counts = ptr[1];
    int64_t before = 0, *places = ptr[2];
    for (int64_t t = 0; t < begin; t++) before += counts[t];
    for (int64_t t = begin; t < end; before += counts[t++]) {
        const int64_t first = WICK_MIN(before, a->size);
        wick_nonzero_places(a->rank, a->dims, ptr[0], t * NONZERO_TASK, WICK_MIN(a->count, (t + 1) * NONZERO_TASK),
                            WICK_MIN(counts[t], a->size - first), places + first * a->rank);
    }
    if (end < a->tasks) return -1;
    *(int64_t *)ptr[3] = before;
    for (int64_t i = WICK_MIN(before, a->size) * a->rank; i < a->size * a->rank; i++) places[i] = a->fill;
    return -1;
}
static wick_status lower_nonzero(wick_lower *l, wick_node *node) {
    const nonzero_attr *attr = node->attr;
    wick_operand in, out, count;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    WICK_TRY(wick_lower_out(l, node, 1, &count));
    nonzero_args a = {.rank = in.type->rank, .count = wick_type_count(in.type), .size = attr->size, .fill = attr->fill};
    a.tasks = WICK_MAX(1, (a.count + NONZERO_TASK - 1) / NONZERO_TASK);
    memcpy(a.dims, in.type->dims, sizeof a.dims);
    wick_ref refs[4] = {
        wick_lower_ref(&in, false), {.write = true}, wick_lower_ref(&out, true), wick_lower_ref(&count, true)};
    WICK_TRY(wick_lower_temp(l, (size_t)a.tasks * sizeof(int64_t), &refs[1].buffer));
    wick_step step = {
        .name = "count_true", .run = run_count_true, .tasks = a.tasks, .bytes = (double)wick_type_bytes(in.type)};
    WICK_TRY(wick_lower_step(l, &step, &a, sizeof a, refs, 2));
    refs[1].write = false;
    step = (wick_step){.name = "nonzero",
                       .run = run_nonzero,
                       .tasks = a.tasks,
                       .bytes = (double)(wick_type_bytes(in.type) + wick_type_bytes(out.type))};
    return wick_lower_step(l, &step, &a, sizeof a, refs, 4);
}
static void print_nonzero(wick_str *s, const wick_node *node) {
    wick_str_add(s, "size=%lld", (long long)((const nonzero_attr *)node->attr)->size);
}
static void sample_nonzero(wick_sample *s) {
    s->n_in = 1;
    s->in[0].dtype = WICK_BOOL;
    wick_sample_dims(s, &s->in[0], 0, 3);
    s->lo[0] = 0, s->hi[0] = 1;
    nonzero_attr attr = {wick_sample_int(s, 0, 9), -1};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
}
const wick_op wick_op_nonzero = {.name = "nonzero",
                                 .doc = "places of a mask that are true, up to a size, and how many there are",
                                 .onnx = "NonZero",
                                 .torch = "nonzero_static",
                                 .cost = "0",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .n_out = 2,
                                 .infer = infer_nonzero,
                                 .flops = wick_no_flops,
                                 .lower = lower_nonzero,
                                 .print = print_nonzero,
                                 .sample = sample_nonzero};

wick_tensor *wick_nonzero_padded(wick_tensor *x, int64_t size, int64_t fill, wick_tensor **count) {
    nonzero_attr attr = {size, fill};
    wick_tensor *in = wick_is_bad(x) ? x : wick_as(x, WICK_BOOL), *out[2];
    wick_record_n(NULL, &wick_op_nonzero, 1, &in, &attr, sizeof attr, 2, out);
    if (count) *count = out[1];
    return out[0];
}
