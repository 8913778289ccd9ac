/* index.c: gather, scatter-add, one-hot, concat. */
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"

static void print_axis(wick_str *s, const wick_node *node) {
    wick_str_add(s, "axis=%d", (int)((const axis_attr *)node->attr)->axis);
}

/* [outer, n, inner] around one axis. */
static void split_at(const wick_type *t, int64_t axis, int64_t *outer, int64_t *n, int64_t *inner) {
    *outer = *inner = 1;
    for (int i = 0; i < t->rank; i++) {
        if (i < axis) *outer *= t->dims[i];
        if (i > axis) *inner *= t->dims[i];
    }
    *n = t->dims[axis];
}

static bool take_type(const wick_type *x, int64_t axis, const wick_type *index, wick_type *out) {
    int64_t dims[2 * WICK_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < axis; i++) dims[n++] = x->dims[i];
    for (int i = 0; i < index->rank; i++) dims[n++] = index->dims[i];
    for (int i = (int)axis + 1; i < x->rank; i++) dims[n++] = x->dims[i];
    uint16_t device = out->device;
    bool good = n <= WICK_MAX_DIMS && wick_type_set(out, (wick_dtype)x->dtype, n, dims);
    out->device = device;
    return good;
}

/* ---- gather ------------------------------------------------------------------------------------------------------ */

static wick_status infer_gather(wick_infer *i) {
    const axis_attr *attr = i->attr;
    if (i->in[1]->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the index must be of integers");
    if (!take_type(i->in[0], attr->axis, i->in[1], i->out))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result has too many dims");
    return WICK_OK;
}
static int64_t run_gather(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_gather *a = args;
    if (a->blocks == 1)
        return wick_gather_rows(a->elem, begin * a->per_task, WICK_MIN(end * a->per_task, a->outer), a->n, a->inner,
                                a->count, ptr[0], ptr[1], ptr[2], a->nontemporal);
    const size_t slice = a->elem * (size_t)a->inner;
    int64_t first = -1;
    for (int64_t task = begin; task < end; task++) {
        const int64_t o = task / a->blocks, at = task % a->blocks * a->block;
        const int64_t bad =
            wick_gather_rows(a->elem, 0, 1, a->n, a->inner, WICK_MIN(a->block, a->count - at),
                             (const char *)ptr[0] + (size_t)(o * a->n) * slice, (const int64_t *)ptr[1] + at,
                             (char *)ptr[2] + (size_t)(o * a->count + at) * slice, a->nontemporal);
        if (bad >= 0 && (first < 0 || at + bad < first)) first = at + bad;
    }
    return first;
}
static int64_t bad_gather(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    *extent = ((const wick_step_gather *)args)->n;
    return ((const int64_t *)ptr[1])[at];
}
static wick_status lower_gather(wick_lower *l, wick_node *node) {
    const axis_attr *attr = node->attr;
    wick_operand x, index, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &x));
    WICK_TRY(wick_lower_in_contiguous(l, node, 1, &index));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    wick_step_gather a = {.elem = wick_dtype_size((wick_dtype)x.type->dtype), .count = wick_type_count(index.type)};
    split_at(x.type, attr->axis, &a.outer, &a.n, &a.inner);
    a.nontemporal = (int64_t)wick_type_bytes(out.type) >= l->ctx->tuning.stream_bytes;
    const int64_t slice = (int64_t)a.elem * a.inner; /* tasks of about 128 KiB */
    a.block = WICK_MAX(1, WICK_MIN(a.count, (1 << 17) / WICK_MAX(slice, 8)));
    a.blocks = WICK_MAX(1, (a.count + a.block - 1) / a.block);
    /* of an empty result the index is checked, once */
    if (wick_type_count(out.type) == 0) a.outer = WICK_MIN(a.outer, 1);
    a.per_task = a.blocks == 1 ? WICK_MAX(1, (1 << 16) / WICK_MAX(slice * a.count, 1)) : 1;
    wick_step step = {.name = "gather",
                      .kind = WICK_STEP_GATHER,
                      .run = run_gather,
                      .tasks = (a.outer + a.per_task - 1) / a.per_task * a.blocks,
                      .bytes = 2.0 * (double)wick_type_bytes(out.type) + (double)wick_type_bytes(index.type),
                      .fault = WICK_ERR_INDEX,
                      .fault_text = "index number %lld is %lld, outside the axis of %lld",
                      .fault_at = bad_gather};
    return wick_lower_step(
        l, &step, &a, sizeof a,
        (wick_ref[]){wick_lower_ref(&x, false), wick_lower_ref(&index, false), wick_lower_ref(&out, true)}, 3);
}
static void grad_gather(wick_gradient *g) {
    const axis_attr *attr = g->node->attr;
    const wick_type *t = &g->node->in[0]->type;
    /* half types add up in f32; autodiff casts back */
    wick_tensor *gy = t->dtype == WICK_F64 ? g->gout[0] : wick_as(g->gout[0], WICK_F32);
    g->gin[0] = wick_scatter_add(wick_expand(wick_like(gy, 0), t->rank, t->dims), (int)attr->axis, g->in[1], gy);
}
static void sample_index(wick_sample *s) {
    s->n_in = 2;
    s->in[0] = (wick_type){
        .dtype = s->random() % 3 ? WICK_F64 : WICK_I32, .rank = 3, .dims = {2, 4, wick_sample_int(s, 0, 3)}};
    s->in[1] = (wick_type){.dtype = WICK_I64, .rank = 2, .dims = {wick_sample_int(s, 0, 3), 2}};
    s->lo[0] = -2, s->hi[0] = 2;
    s->lo[1] = -4, s->hi[1] = 3;
    axis_attr attr = {1};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = s->in[0].dtype == WICK_F64;
}
const wick_op wick_op_gather = {.name = "gather",
                                .doc = "slices of one axis by index, as NumPy's take",
                                .onnx = "Gather",
                                .torch = "index_select",
                                .cost = "0",
                                .min_in = 2,
                                .max_in = 2,
                                .n_out = 1,
                                .flags = WICK_OP_FAULTS | WICK_OP_MOVES,
                                .infer = infer_gather,
                                .grad = grad_gather,
                                .flops = wick_no_flops,
                                .lower = lower_gather,
                                .print = print_axis,
                                .sample = sample_index};

wick_tensor *wick_as_index(wick_tensor *index) {
    if (!index || index->error || !wick_dtype_is_integer(wick_tensor_dtype(index))) return index;
    /* huge stays out of range */
    if (wick_tensor_dtype(index) == WICK_U64) index = wick_minimum(index, wick_like(index, 0x1p62));
    return wick_as(index, WICK_I64);
}

wick_tensor *wick_gather(wick_tensor *x, int axis, wick_tensor *index) {
    axis_attr attr = {0};
    if (x && !x->error && (attr.axis = wick_axis(axis, wick_tensor_rank(x))) < 0)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "gather: axis %d of a %d-d tensor", axis, wick_tensor_rank(x));
    return wick_record(NULL, &wick_op_gather, 2, (wick_tensor *[]){x, wick_as_index(index)}, &attr, sizeof attr);
}

/* ---- scatter-add ------------------------------------------------------------------------------------------------- */

static wick_status infer_scatter_add(wick_infer *i) {
    const axis_attr *attr = i->attr;
    *i->out = *i->in[0];
    wick_type part = *i->in[0];
    if (i->in[1]->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the index must be of integers");
    if (i->in[0]->dtype != i->in[2]->dtype)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "base and src have different dtypes");
    if (wick_ctype_of((wick_dtype)i->in[0]->dtype) == WICK_CBOOL ||
        wick_ctype_size(wick_ctype_of((wick_dtype)i->in[0]->dtype)) != wick_dtype_size((wick_dtype)i->in[0]->dtype))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "not defined for %s; cast",
                               wick_dtype_name((wick_dtype)i->in[0]->dtype));
    if (!take_type(i->in[0], attr->axis, i->in[1], &part) || !wick_same_dims(&part, i->in[2]))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "src must have the shape that gather would read");
    return WICK_OK;
}
static wick_status lower_scatter_add(wick_lower *l, wick_node *node) {
    const axis_attr *attr = node->attr;
    wick_operand base = wick_lower_in(l, node, 0), index, src, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 1, &index));
    WICK_TRY(wick_lower_in_contiguous(l, node, 2, &src));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    WICK_TRY(wick_lower_copy(l, &base, &out));
    int64_t outer, n, inner;
    const int64_t count = wick_type_count(index.type);
    split_at(out.type, attr->axis, &outer, &n, &inner);
    wick_along a = {.rank = 3,
                    .axis = 1,
                    .n = n,
                    .how = WICK_ALONG_ADD,
                    .dim = {{.n = outer, .data = n * inner, .other = count * inner},
                            {.n = count, .data = inner, .index = 1, .other = inner},
                            {.n = inner, .data = 1, .other = 1}}};
    return wick_lower_along(l, &a, "scatter_add", (double)wick_type_count(src.type), &out, &index, &src);
}
static void grad_scatter_add(wick_gradient *g) {
    const axis_attr *attr = g->node->attr;
    if (g->need[0]) g->gin[0] = g->gout[0];
    if (g->need[2]) g->gin[2] = wick_gather(g->gout[0], (int)attr->axis, g->in[1]);
}
static void sample_scatter_add(wick_sample *s) {
    sample_index(s);
    s->n_in = 3;
    s->in[2] = (wick_type){.dtype = s->in[0].dtype, .rank = 4, .dims = {2, s->in[1].dims[0], 2, s->in[0].dims[2]}};
    s->lo[2] = -2, s->hi[2] = 2;
}
const wick_op wick_op_scatter_add = {.name = "scatter_add",
                                     .doc = "adds slices into one axis by index; repeats add up, in order",
                                     .torch = "index_add",
                                     .cost = "n",
                                     .min_in = 3,
                                     .max_in = 3,
                                     .n_out = 1,
                                     .flags = WICK_OP_FAULTS,
                                     .infer = infer_scatter_add,
                                     .grad = grad_scatter_add,
                                     .lower = lower_scatter_add,
                                     .print = print_axis,
                                     .sample = sample_scatter_add};

wick_tensor *wick_scatter_add(wick_tensor *base, int axis, wick_tensor *index, wick_tensor *src) {
    axis_attr attr = {0};
    if (base && !base->error && (attr.axis = wick_axis(axis, wick_tensor_rank(base))) < 0)
        return wick_poison(base->ctx, WICK_ERR_SHAPE, "scatter_add: axis %d of a %d-d tensor", axis,
                           wick_tensor_rank(base));
    /* small types add up in one that computes */
    if (base && src && !base->error && !src->error && wick_tensor_dtype(base) == wick_tensor_dtype(src)) {
        static const wick_dtype in[WICK_CTYPE_COUNT] = {WICK_F32, WICK_F64, WICK_I32, WICK_I64, WICK_U64, WICK_I32};
        const wick_dtype d = wick_tensor_dtype(base), c = in[wick_ctype_of(d)];
        if (c != d) return wick_as(wick_scatter_add(wick_as(base, c), axis, index, wick_as(src, c)), d);
    }
    return wick_record(NULL, &wick_op_scatter_add, 3, (wick_tensor *[]){base, wick_as_index(index), src}, &attr,
                       sizeof attr);
}

/* ---- one-hot ----------------------------------------------------------------------------------------------------- */

static wick_status infer_one_hot(wick_infer *i) {
    const one_hot_attr *attr = i->attr;
    int64_t dims[WICK_MAX_DIMS + 1];
    memcpy(dims, i->in[0]->dims, sizeof i->in[0]->dims);
    dims[i->in[0]->rank] = attr->classes;
    uint16_t device = i->out->device;
    if (i->in[0]->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the index must be of integers");
    if (attr->classes < 0 || !wick_type_set(i->out, (wick_dtype)attr->dtype, i->in[0]->rank + 1, dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld classes of this dtype make no tensor",
                               (long long)attr->classes);
    i->out->device = device;
    return WICK_OK;
}
static int64_t run_one_hot(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    const wick_step_one_hot *a = args;
    const int64_t *index = ptr[0];
    char *out = ptr[1];
    memset(out, 0, (size_t)(a->count * a->classes) * a->elem);
    for (int64_t i = 0; i < a->count; i++)
        if (index[i] >= 0 && index[i] < a->classes)
            memcpy(out + (size_t)(i * a->classes + index[i]) * a->elem, &a->one, a->elem);
    return -1;
}
static wick_status lower_one_hot(wick_lower *l, wick_node *node) {
    const one_hot_attr *attr = node->attr;
    wick_operand in, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    wick_step_one_hot a = {wick_type_count(in.type), attr->classes, wick_dtype_size((wick_dtype)attr->dtype),
                           wick_number_bits((wick_dtype)attr->dtype, 1)};
    wick_step step = {.name = "one_hot",
                      .kind = WICK_STEP_ONE_HOT,
                      .run = run_one_hot,
                      .tasks = 1,
                      .bytes = (double)wick_type_bytes(out.type)};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&in, false), wick_lower_ref(&out, true)},
                           2);
}
static void print_classes(wick_str *s, const wick_node *node) {
    wick_str_add(s, "classes=%lld", (long long)((const one_hot_attr *)node->attr)->classes);
}
static void sample_one_hot(wick_sample *s) {
    s->n_in = 1;
    s->in[0].dtype = WICK_I64;
    wick_sample_dims(s, &s->in[0], 0, 3);
    s->lo[0] = -1, s->hi[0] = 4;
    one_hot_attr attr = {4, (int64_t)(s->random() % (WICK_BOOL + 1))};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
}
const wick_op wick_op_one_hot = {.name = "one_hot",
                                 .doc = "1 at the index along a new last axis, else 0",
                                 .onnx = "OneHot",
                                 .torch = "nn.functional.one_hot",
                                 .cost = "0",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .n_out = 1,
                                 .infer = infer_one_hot,
                                 .flops = wick_no_flops,
                                 .lower = lower_one_hot,
                                 .print = print_classes,
                                 .sample = sample_one_hot};
wick_tensor *wick_one_hot(wick_tensor *index, int64_t classes, wick_dtype dtype) {
    one_hot_attr attr = {classes, dtype};
    index = wick_as_index(index);
    return wick_record(NULL, &wick_op_one_hot, 1, &index, &attr, sizeof attr);
}

/* ---- concat ------------------------------------------------------------------------------------------------------ */

static wick_status infer_concat(wick_infer *i) {
    const axis_attr *attr = i->attr;
    wick_type out = *i->in[0];
    int64_t total = 0;
    for (int k = 0; k < i->n_in; k++) {
        wick_type t = *i->in[k];
        if (t.dtype != out.dtype) return wick_infer_fail(i, WICK_ERR_DTYPE, "input %d has another dtype; cast it", k);
        if (t.rank != out.rank) return wick_infer_fail(i, WICK_ERR_SHAPE, "input %d has another number of dims", k);
        if (wick_add_overflows(total, t.dims[attr->axis], &total))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
        t.dims[attr->axis] = out.dims[attr->axis];
        if (!wick_same_dims(&t, &out))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "input %d differs in another axis than %d", k, (int)attr->axis);
    }
    out.dims[attr->axis] = total;
    *i->out = out;
    return WICK_OK;
}
/* Rows as [outer dims, the axis and what follows]: true if those lie together, rows at one distance, *step elements. */
static bool lies_in_rows(const wick_operand *at, int axis, int64_t *step) {
    int64_t inside = 1, outside = 0; /* what strides should be */
    /* outside: the first of them fixes the others; it may be 0, of a dim that was expanded */
    bool any = true;
    for (int d = at->type->rank - 1; d >= 0; d--) {
        const int64_t n = at->type->dims[d], stride = at->layout.strides[d];
        if (n == 1) continue;
        if (d >= axis) {
            if (stride != inside) return false;
            inside *= n;
        } else {
            if (!any && stride != outside) return false;
            if (any) *step = stride;
            outside = stride * n;
            any = false;
        }
    }
    return !any;
}
enum { JOIN_TASK = 131072, JOIN_LEAST = 32 }; /* bytes of a task, at least; of a row of the result */
static int64_t run_join(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_join *a = args;
    wick_join_rows(&a->join, begin * a->per_task, WICK_MIN(a->join.rows, end * a->per_task), (const void *const *)ptr,
                   ptr[a->join.n]);
    return -1;
}
/* A part of a concat that is most of its result, and that the step before, a join, made for this concat alone. The join
 * may write it into the concat's result, a block of rows at a time, so that padding two axes is one pass over memory.
 */
typedef struct placed_part {
    int part; /* -1: there is none */
    uint32_t buffer; /* where it would have been */
    /* elements: of the result before it; of it that lie together; from block to block of the result */
    int64_t at, block, step;
} placed_part;
/* A view of the part, as it lies in the result; false: it crosses blocks. */
static bool shows_placed(const placed_part *p, wick_operand *view, uint32_t to) {
    int64_t *s = view->layout.strides, first = view->layout.offset % p->block, last = first;
    for (int d = 0; d < view->type->rank; d++) {
        const int64_t reach = (view->type->dims[d] - 1) * s[d];
        if (s[d] % p->block == 0) s[d] = s[d] / p->block * p->step;
        else if (reach < 0) first += reach;
        else last += reach;
    }
    view->layout.offset = p->at + view->layout.offset / p->block * p->step + view->layout.offset % p->block;
    view->buffer = to;
    return first >= 0 && last < p->block;
}
static placed_part place_join(wick_lower *l, const wick_node *node, int axis, const wick_operand *out) {
    enum { LEAST = 2048 }; /* bytes of a block: shorter rows are joined in one pass anyhow */
    placed_part p = {.part = -1};
    wick_step *s = l->n_steps ? &l->steps[l->n_steps - 1] : NULL;
    if (!s || s->kind != WICK_STEP_JOIN) return p;
    const wick_join *join = &((const wick_step_join *)s->args)->join;
    wick_ref *to = &s->refs[join->n];
    wick_buffer *was = &l->buffers[to->buffer], *is = &l->buffers[out->buffer];
    const int64_t elem = (int64_t)wick_dtype_size((wick_dtype)out->type->dtype);
    int64_t at = 0;
    for (int i = 0; i < node->n_in; at += node->in[i++]->type.dims[axis] * out->layout.strides[axis]) {
        const wick_operand in = wick_lower_in(l, node, i);
        const size_t bytes = wick_type_bytes(in.type);
        if (p.part >= 0 || in.buffer != to->buffer || in.layout.offset ||
            !wick_layout_is_contiguous(&in.layout, in.type) || bytes != was->size || bytes < is->size / 4 * 3)
            continue;
        p = (placed_part){i, to->buffer, at, in.type->dims[axis] * out->layout.strides[axis],
                          out->type->dims[axis] * out->layout.strides[axis]};
    }
    if (p.part < 0 || was->kind != WICK_BUFFER_TEMP || l->last_use[l->root[node->in[p.part]->id]] != node->position ||
        join->block || p.block * elem < LEAST || p.block * elem % join->width)
        return (placed_part){.part = -1};
    for (int i = 0; i < node->n_in; i++) {
        wick_operand in = wick_lower_in(l, node, i);
        if (in.buffer == p.buffer && !shows_placed(&p, &in, out->buffer)) return (placed_part){.part = -1};
    }
    wick_step_join *placed = wick_arena_alloc(l->arena, sizeof *placed);
    if (!placed) return (placed_part){.part = -1};
    *placed = *(const wick_step_join *)s->args;
    placed->join.block = p.block * elem / join->width;
    placed->join.block_step = p.step * elem;
    s->args = placed;
    *to = (wick_ref){out->buffer, true, p.at * elem};
    is->first = is->last = (int32_t)l->n_steps - 1;
    was->first = was->last = -1;
    wick_remark(l->planning, "ride", node, "taken: %s (%s) writes its rows where they belong in this result", s->name,
                s->node->site ? s->node->site : "?");
    return p;
}

/* One pass over short rows of the result; otherwise part by part. */
static wick_status lower_concat(wick_lower *l, wick_node *node) {
    const int axis = (int)((const axis_attr *)node->attr)->axis;
    wick_operand out;
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    const placed_part placed = place_join(l, node, axis, &out);
    wick_step_join a = {.join = {.rows = 1}};
    wick_ref refs[WICK_JOIN_PARTS + 1];
    const int64_t elem = (int64_t)wick_dtype_size((wick_dtype)out.type->dtype);
    bool joins = placed.part < 0;
    for (int d = 0; d < axis; d++) a.join.rows *= out.type->dims[d];
    for (int i = 0; joins && i < node->n_in; i++) {
        const wick_operand in = wick_lower_in(l, node, i);
        const int64_t count = wick_type_count(in.type);
        int64_t step = 0;
        if (!count) continue;
        joins = a.join.n < WICK_JOIN_PARTS && lies_in_rows(&in, axis, &step) && count / a.join.rows * elem <= JOIN_TASK;
        if (!joins) break;
        a.join.width += a.join.bytes[a.join.n] = count / a.join.rows * elem;
        a.join.step[a.join.n] = step * elem;
        refs[a.join.n++] = wick_lower_ref(&in, false);
    }
    if (joins && a.join.width >= JOIN_LEAST) {
        a.per_task = (JOIN_TASK - 1) / a.join.width + 1;
        refs[a.join.n] = wick_lower_ref(&out, true);
        wick_step step = {.name = "concat",
                          .kind = WICK_STEP_JOIN,
                          .run = run_join,
                          .tasks = (a.join.rows + a.per_task - 1) / a.per_task,
                          .bytes = 2.0 * (double)wick_type_bytes(out.type)};
        return wick_lower_step(l, &step, &a, sizeof a, refs, a.join.n + 1);
    }
    wick_operand part = out;
    for (int i = 0; i < node->n_in; i++) {
        wick_operand in = wick_lower_in(l, node, i);
        part.type = in.type;
        if (placed.part >= 0 && in.buffer == placed.buffer) shows_placed(&placed, &in, out.buffer);
        if (i != placed.part && wick_type_count(in.type)) {
            WICK_TRY(wick_lower_copy(l, &in, &part));
            l->steps[l->n_steps - 1].packs = placed.part < 0; /* a part of the operand is laid out */
        }
        part.layout.offset += in.type->dims[axis] * out.layout.strides[axis];
    }
    return WICK_OK;
}
static void grad_concat(wick_gradient *g) {
    const axis_attr *attr = g->node->attr;
    int64_t at = 0;
    for (int i = 0; i < g->n_in; i++) {
        int64_t n = g->node->in[i]->type.dims[attr->axis];
        if (g->need[i]) g->gin[i] = wick_slice(g->gout[0], (int)attr->axis, at, at + n, 1);
        at += n;
    }
}
static void sample_concat(wick_sample *s) {
    s->n_in = 3;
    int64_t rows = wick_sample_int(s, 0, 3), dtype = s->random() % 2 ? WICK_F64 : WICK_U8;
    for (int i = 0; i < 3; i++) {
        s->in[i] = (wick_type){.dtype = (uint8_t)dtype, .rank = 2, .dims = {rows, wick_sample_int(s, 0, 4)}};
        s->lo[i] = 0, s->hi[i] = 3;
    }
    axis_attr attr = {1};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = dtype == WICK_F64;
}
const wick_op wick_op_concat = {.name = "concat",
                                .doc = "tensors one after the other along an axis",
                                .onnx = "Concat",
                                .torch = "cat",
                                .cost = "0",
                                .min_in = 1,
                                .max_in = 255,
                                .n_out = 1,
                                .flags = WICK_OP_MOVES,
                                .infer = infer_concat,
                                .grad = grad_concat,
                                .flops = wick_no_flops,
                                .lower = lower_concat,
                                .print = print_axis,
                                .sample = sample_concat};

wick_tensor *wick_concat(int n, wick_tensor *const *xs, int axis) {
    if (n <= 0 || !xs) return NULL;
    axis_attr attr = {0};
    if (xs[0] && !xs[0]->error && (attr.axis = wick_axis(axis, wick_tensor_rank(xs[0]))) < 0)
        return wick_poison(xs[0]->ctx, WICK_ERR_SHAPE, "concat: axis %d of a %d-d tensor", axis,
                           wick_tensor_rank(xs[0]));
    return wick_record(NULL, &wick_op_concat, n, xs, &attr, sizeof attr);
}
