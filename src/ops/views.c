/* views.c: ops that move no data: they only say where the elements of the result lie in the input's memory. */
#include "ops/ops.h"
#include "wick/ops.h"

static wick_tensor *poisoned(wick_tensor *x, const wick_op *op) { return wick_record(NULL, op, 1, &x, NULL, 0); }

/* ---- reshape ----------------------------------------------------------------------------------------------------- */

static wick_status infer_reshape(wick_infer *i) {
    const shape_attr *attr = i->attr;
    *i->out = attr->type;
    i->out->dtype = i->in[0]->dtype;
    i->out->device = i->in[0]->device;
    int64_t dim_count = 1;
    int unknown = -1;
    for (int k = 0; k < i->out->rank; k++) {
        if (i->out->dims[k] == -1) {
            if (unknown >= 0) return wick_infer_fail(i, WICK_ERR_SHAPE, "only one extent may be -1");
            unknown = k;
        } else if (i->out->dims[k] < 0)
            return wick_infer_fail(i, WICK_ERR_SHAPE, "extent %lld is negative", (long long)i->out->dims[k]);
        else if (wick_mul_overflows(dim_count, i->out->dims[k], &dim_count))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "the new shape is too large");
    }
    int64_t have = wick_type_count(i->in[0]);
    if (unknown >= 0) {
        if (dim_count == 0 || have % dim_count)
            return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld elements do not divide by %lld", (long long)have,
                                   (long long)dim_count);
        i->out->dims[unknown] = have / dim_count;
        dim_count *= i->out->dims[unknown];
    }
    if (dim_count != have)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld elements do not fill the new shape's %lld", (long long)have,
                               (long long)dim_count);
    return WICK_OK;
}

/* Groups of input dims that merge into groups of result dims keep the data in place if each group is walked with one
 * stride. */
static bool view_reshape(const wick_node *node, const wick_layout *in, wick_layout *out) {
    const wick_type *from = &node->in[0]->type, *to = &node->out[0].type;
    wick_layout_contiguous(out, to);
    out->offset = in->offset;
    if (wick_type_count(to) == 0 || wick_layout_is_contiguous(in, from)) return true;
    int64_t dims[WICK_MAX_DIMS], strides[WICK_MAX_DIMS];
    int rank = 0;
    for (int i = 0; i < from->rank; i++)
        if (from->dims[i] != 1) dims[rank] = from->dims[i], strides[rank++] = in->strides[i];
    int i = 0, k = 0;
    while (i < rank && k < to->rank) {
        int i0 = i, k0 = k;
        int64_t ni = dims[i++], nk = to->dims[k++];
        while (ni != nk) {
            if (ni < nk)
                ni *= dims[i++];
            else
                nk *= to->dims[k++];
        }
        for (int a = i0; a + 1 < i; a++)
            if (strides[a] != dims[a + 1] * strides[a + 1]) return false;
        int64_t stride = strides[i - 1];
        for (int a = k - 1; a >= k0; a--) {
            out->strides[a] = stride;
            stride *= to->dims[a];
        }
    }
    return true; /* what remains are dims of 1, whose strides have no say */
}
static void grad_reshape(wick_gradient *g) {
    const wick_type *t = &g->node->in[0]->type;
    g->gin[0] = wick_reshape(g->gout[0], t->rank, t->dims);
}
static void print_shape(wick_str *s, const wick_node *node) {
    wick_str_add(s, "to=");
    wick_type_print(s, &node->out[0].type);
}
static void sample_reshape(wick_sample *s) {
    s->n_in = 1;
    s->in[0] = (wick_type){.dtype = WICK_F64, .rank = 3, .dims = {2, 3, wick_sample_int(s, 0, 4)}};
    s->lo[0] = -2, s->hi[0] = 2;
    shape_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type.rank = 2;
    attr.type.dims[0] = s->in[0].dims[2] ? -1 : 0;
    attr.type.dims[1] = 3;
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = true;
}
const wick_op wick_op_reshape = {.name = "reshape",
                                 .doc = "the same elements in another shape",
                                 .onnx = "Reshape",
                                 .torch = "reshape",
                                 .cost = "0",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .n_out = 1,
                                 .flags = WICK_OP_VIEW | WICK_OP_MOVES | WICK_OP_WHOLE,
                                 .infer = infer_reshape,
                                 .grad = grad_reshape,
                                 .flops = wick_no_flops,
                                 .view = view_reshape,
                                 .print = print_shape,
                                 .sample = sample_reshape};

wick_tensor *wick_reshape(wick_tensor *x, int rank, const int64_t *dims) {
    shape_attr attr;
    memset(&attr, 0, sizeof attr);
    if (!wick_is_bad(x) && (rank < 0 || rank > WICK_MAX_DIMS || (rank && !dims)))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "reshape: %d dims; at most %d", rank, WICK_MAX_DIMS);
    attr.type.rank = (uint8_t)rank;
    for (int i = 0; i < rank && rank <= WICK_MAX_DIMS; i++) attr.type.dims[i] = dims[i];
    return wick_record(NULL, &wick_op_reshape, 1, &x, &attr, sizeof attr);
}

wick_tensor *wick_flatten(wick_tensor *x, int first_axis) {
    if (wick_is_bad(x)) return poisoned(x, &wick_op_reshape);
    const wick_type *t = &x->value->type;
    int axis = first_axis == t->rank ? t->rank : wick_axis(first_axis, t->rank);
    if (axis < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "flatten: axis %d of a %d-d tensor", first_axis, t->rank);
    int64_t dims[WICK_MAX_DIMS], rest = 1;
    for (int i = 0; i < axis; i++) dims[i] = t->dims[i];
    for (int i = axis; i < t->rank; i++) rest *= t->dims[i];
    if (axis == WICK_MAX_DIMS) return x;
    dims[axis] = rest;
    return wick_reshape(x, axis + 1, dims);
}

wick_tensor *wick_squeeze(wick_tensor *x, int axis) {
    if (wick_is_bad(x)) return poisoned(x, &wick_op_reshape);
    const wick_type *t = &x->value->type;
    int a = wick_axis(axis, t->rank);
    if (a < 0 || t->dims[a] != 1)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "squeeze: axis %d of a %d-d tensor is not an axis of extent 1", axis,
                           t->rank);
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < t->rank; i++)
        if (i != a) dims[i - (i > a)] = t->dims[i];
    return wick_reshape(x, t->rank - 1, dims);
}

wick_tensor *wick_unsqueeze(wick_tensor *x, int axis) {
    if (wick_is_bad(x)) return poisoned(x, &wick_op_reshape);
    const wick_type *t = &x->value->type;
    int a = wick_axis(axis, t->rank + 1);
    if (a < 0 || t->rank == WICK_MAX_DIMS)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "unsqueeze: no axis %d can be added to a %d-d tensor", axis,
                           t->rank);
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i <= t->rank; i++) dims[i] = i == a ? 1 : t->dims[i - (i > a)];
    return wick_reshape(x, t->rank + 1, dims);
}

/* ---- permute ----------------------------------------------------------------------------------------------------- */

static wick_status infer_permute(wick_infer *i) {
    const permute_attr *attr = i->attr;
    *i->out = *i->in[0];
    for (int k = 0; k < i->out->rank; k++) i->out->dims[k] = i->in[0]->dims[attr->axes[k]];
    return WICK_OK;
}
static bool view_permute(const wick_node *node, const wick_layout *in, wick_layout *out) {
    const permute_attr *attr = node->attr;
    *out = *in;
    for (int k = 0; k < node->out[0].type.rank; k++) out->strides[k] = in->strides[attr->axes[k]];
    return true;
}
static void grad_permute(wick_gradient *g) {
    const permute_attr *attr = g->node->attr;
    int rank = g->node->out[0].type.rank, inverse[WICK_MAX_DIMS];
    for (int k = 0; k < rank; k++) inverse[attr->axes[k]] = k;
    g->gin[0] = wick_permute(g->gout[0], rank, inverse);
}
static void print_permute(wick_str *s, const wick_node *node) {
    const permute_attr *attr = node->attr;
    for (int k = 0; k < node->out[0].type.rank; k++) wick_str_add(s, "%s%d", k ? "," : "axes=", (int)attr->axes[k]);
}
static void sample_permute(wick_sample *s) {
    s->n_in = 1;
    s->in[0].dtype = WICK_F64;
    wick_sample_dims(s, &s->in[0], 2, 2);
    s->lo[0] = -2, s->hi[0] = 2;
    permute_attr attr = {{1, 0}};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = true;
}
const wick_op wick_op_permute = {.name = "permute",
                                 .doc = "axes in another order",
                                 .onnx = "Transpose",
                                 .torch = "permute",
                                 .cost = "0",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .n_out = 1,
                                 .flags = WICK_OP_VIEW | WICK_OP_MOVES,
                                 .infer = infer_permute,
                                 .grad = grad_permute,
                                 .flops = wick_no_flops,
                                 .view = view_permute,
                                 .print = print_permute,
                                 .sample = sample_permute};

wick_tensor *wick_permute(wick_tensor *x, int rank, const int *axes) {
    permute_attr attr;
    memset(&attr, 0, sizeof attr);
    if (!wick_is_bad(x)) {
        uint32_t seen = 0;
        bool good = rank == wick_tensor_rank(x) && (axes || rank == 0);
        for (int i = 0; good && i < rank; i++) {
            int a = wick_axis(axes[i], rank);
            good = a >= 0 && !(seen >> a & 1);
            seen |= good ? 1u << a : 0;
            attr.axes[i] = a;
        }
        if (!good)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "permute: the axes must name each of the %d dims once",
                               wick_tensor_rank(x));
    }
    return wick_record(NULL, &wick_op_permute, 1, &x, &attr, sizeof attr);
}

wick_tensor *wick_transpose(wick_tensor *x, int a, int b) {
    if (wick_is_bad(x)) return poisoned(x, &wick_op_permute);
    int rank = wick_tensor_rank(x), axes[WICK_MAX_DIMS], ka = wick_axis(a, rank), kb = wick_axis(b, rank);
    if (ka < 0 || kb < 0)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "transpose: axes %d and %d of a %d-d tensor", a, b, rank);
    for (int i = 0; i < rank; i++) axes[i] = i == ka ? kb : i == kb ? ka : i;
    return wick_permute(x, rank, axes);
}

/* ---- expand ------------------------------------------------------------------------------------------------------ */

static wick_status infer_expand(wick_infer *i) {
    const shape_attr *attr = i->attr;
    *i->out = attr->type;
    i->out->dtype = i->in[0]->dtype;
    i->out->device = i->in[0]->device;
    int lead = i->out->rank - i->in[0]->rank;
    for (int k = 0; k < i->out->rank; k++) {
        int64_t have = k < lead ? 1 : i->in[0]->dims[k - lead];
        if (lead < 0 || i->out->dims[k] < 0 || (have != 1 && have != i->out->dims[k])) {
            lead = -1;
            break;
        }
    }
    wick_type checked;
    if (lead < 0 || !wick_type_make(&checked, (wick_dtype)i->out->dtype, i->out->rank, i->out->dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "does not broadcast to the shape asked for");
    return WICK_OK;
}
static bool view_expand(const wick_node *node, const wick_layout *in, wick_layout *out) {
    const wick_type *from = &node->in[0]->type, *to = &node->out[0].type;
    int lead = to->rank - from->rank;
    memset(out, 0, sizeof *out);
    out->offset = in->offset;
    for (int k = lead; k < to->rank; k++) out->strides[k] = from->dims[k - lead] == 1 ? 0 : in->strides[k - lead];
    return true;
}
static void grad_expand(wick_gradient *g) { g->gin[0] = g->gout[0]; } /* autodiff sums it to the input's shape */
static void sample_expand(wick_sample *s) {
    s->n_in = 1;
    s->in[0] = (wick_type){.dtype = WICK_F64, .rank = 2, .dims = {1, wick_sample_int(s, 0, 4)}};
    s->lo[0] = -2, s->hi[0] = 2;
    shape_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = (wick_type){.rank = 3, .dims = {2, wick_sample_int(s, 0, 3), s->in[0].dims[1]}};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = true;
}
const wick_op wick_op_expand = {.name = "expand",
                                .doc = "broadcast to a larger shape",
                                .onnx = "Expand",
                                .torch = "broadcast_to",
                                .cost = "0",
                                .min_in = 1,
                                .max_in = 1,
                                .n_out = 1,
                                .flags = WICK_OP_VIEW | WICK_OP_MOVES,
                                .infer = infer_expand,
                                .grad = grad_expand,
                                .flops = wick_no_flops,
                                .view = view_expand,
                                .print = print_shape,
                                .sample = sample_expand};

wick_tensor *wick_expand(wick_tensor *x, int rank, const int64_t *dims) {
    shape_attr attr;
    memset(&attr, 0, sizeof attr);
    if (!wick_is_bad(x) && (rank < 0 || rank > WICK_MAX_DIMS || (rank && !dims)))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "expand: %d dims; at most %d", rank, WICK_MAX_DIMS);
    attr.type.rank = (uint8_t)rank;
    for (int i = 0; i < rank && rank <= WICK_MAX_DIMS; i++) attr.type.dims[i] = dims[i];
    return wick_record(NULL, &wick_op_expand, 1, &x, &attr, sizeof attr);
}

/* ---- slice ------------------------------------------------------------------------------------------------------- */

static wick_tensor *record_scatter(wick_tensor *base, const wick_op *op, const void *attr, size_t size,
                                   wick_tensor *part) {
    scatter_attr a;
    memset(&a, 0, sizeof a);
    a.op = op;
    memcpy(&a.view, attr, size);
    return wick_record(NULL, &wick_op_view_scatter, 2, (wick_tensor *[]){base, part}, &a, sizeof a);
}
/* The gradient of a view that drops elements: zeros with g written through the same view. */
static void grad_by_scatter(wick_gradient *g) {
    const wick_type *t = &g->node->in[0]->type;
    wick_tensor *zeros = wick_expand(wick_like(g->gout[0], 0), t->rank, t->dims);
    g->gin[0] = record_scatter(zeros, g->node->op, g->node->attr, g->node->attr_size, g->gout[0]);
}

static void slice_type(const slice_attr *attr, const wick_type *in, wick_type *out) {
    *out = *in;
    out->dims[attr->axis] = attr->count;
}
static wick_status infer_slice(wick_infer *i) {
    slice_type(i->attr, i->in[0], i->out);
    return WICK_OK;
}
static void slice_layout(const slice_attr *attr, const wick_layout *in, wick_layout *out) {
    *out = *in;
    out->offset += attr->start * in->strides[attr->axis];
    out->strides[attr->axis] *= attr->step;
}
static bool view_slice(const wick_node *node, const wick_layout *in, wick_layout *out) {
    slice_layout(node->attr, in, out);
    return true;
}
static void print_slice(wick_str *s, const wick_node *node) {
    const slice_attr *a = node->attr;
    wick_str_add(s, "axis=%d start=%lld step=%lld count=%lld", (int)a->axis, (long long)a->start, (long long)a->step,
                 (long long)a->count);
}
static void sample_slice(wick_sample *s) {
    s->n_in = 1;
    bool back = s->random() % 2;
    s->in[0] = (wick_type){.dtype = WICK_F64, .rank = 2, .dims = {back ? wick_sample_int(s, 0, 3) : 3, 5}};
    s->lo[0] = -2, s->hi[0] = 2;
    slice_attr attr =
        back ? (slice_attr){1, 4, -2, wick_sample_int(s, 0, 2)} : (slice_attr){0, 1, 1, wick_sample_int(s, 0, 2)};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = true;
}
const wick_op wick_op_slice = {.name = "slice",
                               .doc = "start:stop:step along one axis",
                               .onnx = "Slice",
                               .torch = "Tensor.__getitem__",
                               .cost = "0",
                               .min_in = 1,
                               .max_in = 1,
                               .n_out = 1,
                               .flags = WICK_OP_VIEW | WICK_OP_MOVES,
                               .infer = infer_slice,
                               .grad = grad_by_scatter,
                               .flops = wick_no_flops,
                               .view = view_slice,
                               .print = print_slice,
                               .sample = sample_slice};

wick_tensor *wick_slice(wick_tensor *x, int axis, int64_t start, int64_t stop, int64_t step) {
    if (wick_is_bad(x)) return poisoned(x, &wick_op_slice);
    int rank = wick_tensor_rank(x), a = wick_axis(axis, rank);
    if (a < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "slice: axis %d of a %d-d tensor", axis, rank);
    if (step == 0) return wick_poison(x->ctx, WICK_ERR_INVALID, "slice: there is no step 0");
    int64_t n = wick_tensor_dims(x)[a];
    /* Python's rule: negative counts from the end, then both are clamped to what step can walk. */
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    bool to_end = step < 0 && stop == INT64_MIN;
    if (start < 0) start = start < -n ? low : start + n;
    if (stop < 0 && !to_end) stop = stop < -n ? low : stop + n;
    start = WICK_MIN(WICK_MAX(start, low), high);
    stop = to_end ? -1 : WICK_MIN(WICK_MAX(stop, low), high);
    int64_t distance = step > 0 ? stop - start : start - stop, size = step > 0            ? step
                                                                      : step == INT64_MIN ? INT64_MAX
                                                                                          : -step;
    if (size > n) step = step > 0 ? 1 : -1; /* which is never made: there is one element at most */
    slice_attr attr = {a, start, step, distance > 0 ? (distance - 1) / size + 1 : 0};
    if (!attr.count) attr.start = 0;
    return wick_record(NULL, &wick_op_slice, 1, &x, &attr, sizeof attr);
}

/* ---- diagonal ---------------------------------------------------------------------------------------------------- */

static void diagonal_type(const diagonal_attr *attr, const wick_type *in, wick_type *out) {
    *out = *in;
    memset(out->dims, 0, sizeof out->dims);
    int n = 0;
    for (int k = 0; k < in->rank; k++)
        if (k != attr->a && k != attr->b) out->dims[n++] = in->dims[k];
    int64_t rows = in->dims[attr->a] - WICK_MAX(-attr->offset, 0), cols = in->dims[attr->b] - WICK_MAX(attr->offset, 0);
    out->dims[n++] = WICK_MAX(WICK_MIN(rows, cols), 0);
    out->rank = (uint8_t)n;
}
static wick_status infer_diagonal(wick_infer *i) {
    diagonal_type(i->attr, i->in[0], i->out);
    return WICK_OK;
}
static void diagonal_layout(const diagonal_attr *attr, const wick_type *in, const wick_layout *from, wick_layout *out) {
    memset(out, 0, sizeof *out);
    int n = 0;
    for (int k = 0; k < in->rank; k++)
        if (k != attr->a && k != attr->b) out->strides[n++] = from->strides[k];
    out->strides[n] = from->strides[attr->a] + from->strides[attr->b];
    out->offset = from->offset + WICK_MAX(-attr->offset, 0) * from->strides[attr->a] +
                  WICK_MAX(attr->offset, 0) * from->strides[attr->b];
}
static bool view_diagonal(const wick_node *node, const wick_layout *in, wick_layout *out) {
    diagonal_layout(node->attr, &node->in[0]->type, in, out);
    if (wick_type_count(&node->out[0].type) == 0) out->offset = in->offset;
    return true;
}
static void print_diagonal(wick_str *s, const wick_node *node) {
    const diagonal_attr *a = node->attr;
    wick_str_add(s, "axes=%d,%d offset=%lld", (int)a->a, (int)a->b, (long long)a->offset);
}
static void sample_diagonal(wick_sample *s) {
    s->n_in = 1;
    s->in[0] = (wick_type){.dtype = WICK_F64, .rank = 3, .dims = {3, wick_sample_int(s, 0, 2), 4}};
    s->lo[0] = -2, s->hi[0] = 2;
    diagonal_attr attr = {0, 2, wick_sample_int(s, -4, 4)};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = true;
}
const wick_op wick_op_diagonal = {.name = "diagonal",
                                  .doc = "a diagonal of two axes, as a last axis",
                                  .torch = "diagonal",
                                  .cost = "0",
                                  .min_in = 1,
                                  .max_in = 1,
                                  .n_out = 1,
                                  .flags = WICK_OP_VIEW | WICK_OP_MOVES,
                                  .infer = infer_diagonal,
                                  .grad = grad_by_scatter,
                                  .flops = wick_no_flops,
                                  .view = view_diagonal,
                                  .print = print_diagonal,
                                  .sample = sample_diagonal};

wick_tensor *wick_diagonal(wick_tensor *x, int64_t offset, int a, int b) {
    if (wick_is_bad(x)) return poisoned(x, &wick_op_diagonal);
    int rank = wick_tensor_rank(x), ka = wick_axis(a, rank), kb = wick_axis(b, rank);
    if (ka < 0 || kb < 0 || ka == kb)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "diagonal: axes %d and %d of a %d-d tensor", a, b, rank);
    int64_t limit = INT64_MAX / 2;
    diagonal_attr attr = {ka, kb, WICK_MAX(WICK_MIN(offset, limit), -limit)};
    return wick_record(NULL, &wick_op_diagonal, 1, &x, &attr, sizeof attr);
}

/* ---- view_scatter: base with a view of it overwritten ------------------------------------------------------------ */

static wick_status infer_scatter(wick_infer *i) {
    const scatter_attr *attr = i->attr;
    wick_type part;
    if (attr->op == &wick_op_slice)
        slice_type(&attr->view.slice, i->in[0], &part);
    else
        diagonal_type(&attr->view.diagonal, i->in[0], &part);
    *i->out = *i->in[0];
    if (!wick_type_equal(&part, i->in[1]))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the part is not of the view's type");
    return WICK_OK;
}
static wick_tensor *same_view(const scatter_attr *attr, wick_tensor *x) {
    size_t size = attr->op == &wick_op_slice ? sizeof(slice_attr) : sizeof(diagonal_attr);
    return wick_record(NULL, attr->op, 1, &x, &attr->view, size);
}
static void grad_scatter(wick_gradient *g) {
    const scatter_attr *attr = g->node->attr;
    if (g->need[1]) g->gin[1] = same_view(attr, g->gout[0]);
    if (g->need[0]) {
        const wick_type *t = &g->node->in[1]->type;
        wick_tensor *zeros = wick_expand(wick_like(g->gout[0], 0), t->rank, t->dims);
        g->gin[0] =
            wick_record(NULL, &wick_op_view_scatter, 2, (wick_tensor *[]){g->gout[0], zeros}, attr, sizeof *attr);
    }
}
static wick_status lower_scatter(wick_lower *l, wick_node *node) {
    const scatter_attr *attr = node->attr;
    wick_operand base = wick_lower_in(l, node, 0), part = wick_lower_in(l, node, 1), out, view;
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    WICK_TRY(wick_lower_copy(l, &base, &out));
    view = out;
    view.type = part.type;
    if (attr->op == &wick_op_slice)
        slice_layout(&attr->view.slice, &out.layout, &view.layout);
    else
        diagonal_layout(&attr->view.diagonal, out.type, &out.layout, &view.layout);
    if (wick_type_count(part.type) == 0) return WICK_OK;
    return wick_lower_copy(l, &part, &view);
}
static void sample_scatter(wick_sample *s) {
    s->n_in = 2;
    int64_t rows = wick_sample_int(s, 0, 3);
    s->in[0] = (wick_type){.dtype = WICK_F64, .rank = 2, .dims = {rows, 5}};
    s->in[1] = (wick_type){.dtype = WICK_F64, .rank = 2, .dims = {rows, 2}};
    s->lo[0] = s->lo[1] = -2, s->hi[0] = s->hi[1] = 2;
    scatter_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.op = &wick_op_slice;
    attr.view.slice = (slice_attr){1, 4, -2, 2};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = true;
}
const wick_op wick_op_view_scatter = {.name = "view_scatter",
                                      .doc = "a tensor with a slice or diagonal of it replaced",
                                      .torch = "slice_scatter",
                                      .cost = "0",
                                      .min_in = 2,
                                      .max_in = 2,
                                      .n_out = 1,
                                      .flags = WICK_OP_POINTERS | WICK_OP_MOVES,
                                      .infer = infer_scatter,
                                      .grad = grad_scatter,
                                      .flops = wick_no_flops,
                                      .lower = lower_scatter,
                                      .sample = sample_scatter};

/* ---- bit_cast: the same bits as another dtype of that size ------------------------------------------------------- */

static wick_status infer_bit_cast(wick_infer *i) {
    const wick_dtype from = (wick_dtype)i->in[0]->dtype, to = (wick_dtype)((const shape_attr *)i->attr)->type.dtype;
    *i->out = *i->in[0];
    i->out->dtype = (uint8_t)to;
    if ((unsigned)to >= WICK_DTYPE_COUNT || wick_dtype_bits(from) != wick_dtype_bits(to))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "%s has not as many bits as %s", wick_dtype_name(to),
                               wick_dtype_name(from));
    if (to == WICK_BOOL && from != WICK_BOOL)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "not every byte is a bool: compare with 0");
    return WICK_OK;
}
static bool view_bit_cast(const wick_node *node, const wick_layout *in, wick_layout *out) {
    (void)node;
    *out = *in;
    return true;
}
static void print_bit_cast(wick_str *s, const wick_node *node) {
    wick_str_add(s, "to=%s", wick_dtype_name((wick_dtype)node->out[0].type.dtype));
}
static void sample_bit_cast(wick_sample *s) {
    s->n_in = 1;
    s->in[0] = (wick_type){.dtype = WICK_F64, .rank = 2, .dims = {3, wick_sample_int(s, 0, 5)}};
    s->lo[0] = -2, s->hi[0] = 2;
    shape_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type.dtype = WICK_I64;
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
}
const wick_op wick_op_bit_cast = {.name = "bit_cast",
                                  .doc = "the same bits as another dtype of that size",
                                  .onnx = "BitCast",
                                  .torch = "Tensor.view",
                                  .cost = "0",
                                  .min_in = 1,
                                  .max_in = 1,
                                  .n_out = 1,
                                  .flags = WICK_OP_VIEW | WICK_OP_MOVES | WICK_OP_WHOLE,
                                  .infer = infer_bit_cast,
                                  .flops = wick_no_flops,
                                  .view = view_bit_cast,
                                  .print = print_bit_cast,
                                  .sample = sample_bit_cast};

wick_tensor *wick_bit_cast(wick_tensor *x, wick_dtype dtype) {
    shape_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type.dtype = (uint8_t)dtype;
    return !wick_is_bad(x) && x->value->type.dtype == dtype
               ? x
               : wick_record(NULL, &wick_op_bit_cast, 1, &x, &attr, sizeof attr);
}

/* ---- assignment, also through views ------------------------------------------------------------------------------ */

/* The new version of v's input that makes v equal to `part`. */
static wick_tensor *write_through(wick_tensor *input, const wick_value *v, wick_tensor *part) {
    const wick_node *n = v->node;
    const wick_type *t = &n->in[0]->type;
    if (n->op == &wick_op_stop_gradient) return part;
    if (n->op == &wick_op_bit_cast) return wick_bit_cast(part, (wick_dtype)t->dtype);
    if (n->op == &wick_op_reshape) return wick_reshape(part, t->rank, t->dims);
    if (n->op == &wick_op_permute) {
        const permute_attr *attr = n->attr;
        int inverse[WICK_MAX_DIMS];
        for (int k = 0; k < t->rank; k++) inverse[attr->axes[k]] = k;
        return wick_permute(part, t->rank, inverse);
    }
    if (n->op == &wick_op_slice || n->op == &wick_op_diagonal)
        return record_scatter(input, n->op, n->attr, n->attr_size, part);
    return NULL;
}

/* The handle whose state v is, now: NULL when v is not the current version of one. */
static wick_tensor *state_of(const wick_value *v) {
    wick_tensor *cell = v->node->cell;
    return cell && cell->value == v ? cell : NULL;
}

static wick_tensor *handle_of(wick_context *ctx, wick_value *v) {
    wick_node_ref(v->node);
    return wick_tensor_new(ctx, v);
}

#define VIEW_DEPTH 32

/* In a scope of its own: a handle that stays behind would be someone who still wants the old version. */
static wick_status assign(wick_context *ctx, wick_tensor *state, wick_tensor *value) {
    /* From the view down to the state it shows. */
    wick_value *chain[VIEW_DEPTH], *v = state->value;
    int depth = 0;
    /* evaluated or not */
    while (!state_of(v) && v->node->n_in == 1 && v->node->op->flags & WICK_OP_VIEW && depth < VIEW_DEPTH) {
        chain[depth++] = v;
        v = v->node->in[0];
    }
    wick_tensor *base = state_of(v);
    if (!base)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "assign: the target is not a state: it must hold data, or be a view of the "
                            "current version of a tensor that does (at %s)",
                            wick_site() ? wick_site() : "?");
    wick_tensor *next = value;
    /* said as for any assignment, with the view's shape */
    if (depth && !wick_type_equal(&state->value->type, &value->value->type))
        return wick_fail_poison(ctx, wick_record(ctx, &wick_op_assign, 2, (wick_tensor *[]){state, value}, NULL, 0));
    for (int i = 0; i < depth; i++) {
        next = write_through(handle_of(ctx, chain[i]->node->in[0]), chain[i], next);
        if (!next) return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "assign: cannot write through an expanded view");
        if (next->error) return wick_fail_poison(ctx, next);
    }
    wick_tensor *assigned = wick_record(ctx, &wick_op_assign, 2, (wick_tensor *[]){handle_of(ctx, v), next}, NULL, 0),
                *again = assigned;
    for (int i = depth - 1; i >= 0; i--) { /* the view's handle reads the new version as well */
        const wick_node *n = chain[i]->node;
        again = wick_record(ctx, n->op, 1, &again, n->attr, n->attr_size);
    }
    if (again->error) return wick_fail_poison(ctx, again);
    wick_node *node = assigned->value->node;
    WICK_TRY(wick_effect_push(ctx, node, base, depth ? state : NULL));
    wick_node_ref(node);
    v->node->cell = NULL;
    node->cell = base;
    wick_tensor_set_value(base, &node->out[0]);
    if (depth) {
        wick_node_ref(again->value->node);
        wick_tensor_set_value(state, again->value);
    }
    return WICK_OK;
}

wick_status wick_assign(wick_tensor *state, wick_tensor *value) {
    if (!state) return WICK_ERR_INVALID;
    wick_context *ctx = state->ctx;
    if (state->error) return wick_fail_poison(ctx, state);
    if (!value || value->error) return wick_fail_poison(ctx, value); /* poison is never assigned */
    wick_scope *scope = wick_scope_open(ctx);
    if (!scope) return WICK_ERR_NOMEM;
    wick_status status = assign(ctx, state, value);
    wick_scope_close(&scope);
    return status;
}
