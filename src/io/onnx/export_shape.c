/* export_shape.c: views, reductions, what joins and cuts. */
#define WICK_NO_SITES
#include "io/onnx/export.h"

static void same(onnx_export *e, const wick_node *node) { wick_export_set(e, node, 0, wick_export_in(e, node, 0)); }

static void reshape(onnx_export *e, const wick_node *node) {
    const wick_type *from = &node->in[0]->type, *to = &node->out[0].type;
    onnx_name *x = wick_export_in(e, node, 0);
    int64_t axes[WICK_MAX_DIMS];
    int n = 0, k = 0;
    const wick_type *small = from->rank < to->rank ? from : to, *large = small == from ? to : from;
    for (int d = 0; d < large->rank; d++) { /* is it only extents of 1 that come or go? */
        if (k < small->rank && large->dims[d] == small->dims[k]) k++;
        else if (large->dims[d] == 1) axes[n++] = d;
        else break;
    }
    if (wick_same_dims(from, to)) same(e, node);
    else if (k == small->rank && n == large->rank - small->rank)
        wick_export_set(e, node, 0, large == to ? wick_export_unsqueeze(e, x, n, axes) : wick_export_squeeze(e, x, n, axes));
    else wick_export_set(e, node, 0, wick_export_reshape(e, node, x, &node->out[0]));
}

static void expand(onnx_export *e, const wick_node *node) {
    onnx_name *shape = wick_export_shape(e, node, &node->out[0], false);
    if (shape) wick_export_set(e, node, 0, ONNX(e, "Expand", wick_export_in(e, node, 0), shape));
}

static void permute(onnx_export *e, const wick_node *node) {
    wick_export_set(e, node, 0, wick_export_transpose(e, wick_export_in(e, node, 0), node->out[0].type.rank, ((const permute_attr *)node->attr)->axes));
}

/* Ends of a slice as ONNX counts them, from the front or, where that follows a symbol, from the back. */
static bool slice_ends(const onnx_export *e, const wick_node *node, const slice_attr *(*attr_of)(const wick_node *), int64_t *start, int64_t *end) {
    bool front[2] = {true, true}, back[2] = {true, true};
    int64_t at[2] = {0}, from_back[2] = {0};
    const slice_attr *first = attr_of(node);
    for (int r = 0; r < e->n_recordings; r++) {
        const wick_node *other = e->at[r]->nodes[node->position];
        const slice_attr *a = attr_of(other);
        const int64_t n = other->in[0]->type.dims[a->axis], ends[2] = {a->start, a->start + a->step * a->count};
        if (a->axis != first->axis || a->step != first->step) return false;
        for (int k = 0; k < 2; k++) {
            if (!r) at[k] = ends[k], from_back[k] = ends[k] - n;
            front[k] &= ends[k] == at[k];
            back[k] &= ends[k] - n == from_back[k];
        }
    }
    if (!(front[0] || back[0]) || !(front[1] || back[1])) return false;
    const bool down = first->step < 0;
    *start = front[0] ? at[0] : from_back[0] < 0 ? from_back[0] : INT64_MAX;
    *end = front[1] ? at[1] : from_back[1] < 0 ? from_back[1] : INT64_MAX;
    if (down && front[1] && at[1] < 0) *end = INT64_MIN;
    return true;
}
static const slice_attr *own_slice(const wick_node *node) { return node->attr; }
static void slice(onnx_export *e, const wick_node *node) {
    const slice_attr *a = node->attr;
    int64_t start, end;
    if (!slice_ends(e, node, own_slice, &start, &end)) wick_export_lacks(e, node, "where it cuts follows a symbolic extent");
    else wick_export_set(e, node, 0, wick_export_slice(e, wick_export_in(e, node, 0), a->axis, start, end, a->step));
}

/* Places of the diagonal in rows of the two axes laid out as one: [places]. */
static onnx_name *diagonal_places(onnx_export *e, const diagonal_attr *a, const wick_type *x, int64_t n) {
    const int64_t cols = x->dims[a->b], row = a->offset < 0 ? -a->offset : 0, col = a->offset > 0 ? a->offset : 0;
    int64_t *places = wick_export_alloc(e, (size_t)n + 1, sizeof *places);
    for (int64_t i = 0; i < n && places; i++) places[i] = (row + i) * cols + col + i;
    return places ? wick_export_array(e, WICK_I64, 1, &n, places) : &wick_export_absent;
}
/* x with axes a and b last. */
static onnx_name *last_two(onnx_export *e, onnx_name *x, const diagonal_attr *a, int rank, int64_t *order) {
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (d != a->a && d != a->b) order[n++] = d;
    order[n++] = a->a;
    order[n] = a->b;
    return wick_export_transpose(e, x, rank, order);
}
static void diagonal(onnx_export *e, const wick_node *node) {
    const diagonal_attr *a = node->attr;
    const wick_type *x = &node->in[0]->type, *y = &node->out[0].type;
    int64_t order[WICK_MAX_DIMS];
    onnx_extent extents[WICK_MAX_DIMS];
    for (int d = 0; d < y->rank - 1; d++) extents[d] = wick_export_extent(e, &node->out[0], d);
    extents[y->rank - 1] = (onnx_extent){.kind = ONNX_EXTENT_FIXED, .number = x->dims[a->a] * x->dims[a->b]};
    const int64_t n = y->dims[y->rank - 1];
    if (wick_export_extent(e, node->in[0], (int)a->a).kind != ONNX_EXTENT_FIXED || wick_export_extent(e, node->in[0], (int)a->b).kind != ONNX_EXTENT_FIXED) {
        wick_export_lacks(e, node, "of a matrix with a symbolic extent");
        return;
    }
    onnx_name *shape = wick_export_extents(e, node, y->rank, extents);
    if (!shape) return;
    onnx_name *moved = last_two(e, wick_export_in(e, node, 0), a, x->rank, order);
    if (e->opset >= 14) wick_export_int(e, "allowzero", 1);
    onnx_name *flat = ONNX(e, "Reshape", moved, shape);
    wick_export_int(e, "axis", y->rank - 1);
    wick_export_set(e, node, 0, ONNX(e, "Gather", flat, diagonal_places(e, a, x, n)));
}

/* base with a slice or diagonal of it replaced: by the places of the view among those of the base. */
static void view_scatter(onnx_export *e, const wick_node *node) {
    const scatter_attr *a = node->attr;
    const wick_type *base = &node->in[0]->type, *part = &node->in[1]->type;
    if (!wick_export_is_fixed(e, node->in[0]) || !wick_export_is_fixed(e, node->in[1])) {
        wick_export_lacks(e, node, "into symbolic extents");
        return;
    }
    wick_layout whole, view;
    wick_layout_contiguous(&whole, base);
    wick_node like = {.op = a->op, .attr = (void *)&a->view, .in = node->in, .n_in = 1};
    wick_node *with_out = wick_export_alloc(e, 1, sizeof *with_out + sizeof *with_out->out);
    *with_out = like;
    with_out->out[0] = (wick_value){.node = with_out, .type = *part};
    if (!a->op->view(with_out, &whole, &view)) {
        wick_export_lacks(e, node, NULL);
        return;
    }
    const int64_t count = wick_type_count(part), all = wick_type_count(base);
    int64_t *places = wick_export_alloc(e, (size_t)count + 1, sizeof *places);
    for (int64_t i = 0; i < count && places; i++) {
        int64_t rest = i, at = view.offset;
        for (int d = part->rank - 1; d >= 0; d--) {
            at += rest % part->dims[d] * view.strides[d];
            rest /= part->dims[d];
        }
        places[i] = at;
    }
    if (!places) return;
    onnx_name *minus_one = wick_export_list(e, 1, &(int64_t){-1});
    onnx_name *index = wick_export_array(e, WICK_I64, 1, &count, places);
    onnx_name *flat = ONNX(e, "Reshape", wick_export_in(e, node, 0), all ? minus_one : wick_export_list(e, 1, &all));
    onnx_name *values = ONNX(e, "Reshape", wick_export_in(e, node, 1), count ? minus_one : wick_export_list(e, 1, &count));
    wick_export_int(e, "axis", 0);
    wick_export_set(e, node, 0, wick_export_reshape(e, node, ONNX(e, "ScatterElements", flat, index, values), &node->out[0]));
}

static void concat(onnx_export *e, const wick_node *node) {
    onnx_name **in = wick_export_alloc(e, node->n_in, sizeof *in);
    for (int k = 0; k < node->n_in && in; k++) in[k] = wick_export_in(e, node, k);
    wick_export_int(e, "axis", ((const axis_attr *)node->attr)->axis);
    if (in) wick_export_set(e, node, 0, wick_export_node(e, "Concat", node->n_in, in));
}

/* ---- reductions ------------------------------------------------------------------------------------------------------------------------------ */

static void reduce(onnx_export *e, const wick_node *node) {
    static const char *const names[WICK_RED_COUNT] = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"};
    const wick_reduce_attr *a = node->attr;
    int64_t axes[WICK_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < node->in[0]->type.rank; d++)
        if (a->axes >> d & 1) axes[n++] = d;
    onnx_name *x = wick_export_in(e, node, 0);
    wick_export_set(e, node, 0, n ? wick_export_reduce(e, a->mean ? "ReduceMean" : names[a->red], x, n, axes, a->keepdims) : x);
}
static void arg(onnx_export *e, const wick_node *node) {
    const arg_attr *a = node->attr;
    wick_export_int(e, "axis", a->axis);
    wick_export_int(e, "keepdims", a->keepdims != 0);
    wick_export_set(e, node, 0, ONNX(e, node->op == &wick_op_argmax ? "ArgMax" : "ArgMin", wick_export_in(e, node, 0)));
}

static onnx_name *running(onnx_export *e, const char *op, onnx_name *x, const scan_attr *a) {
    if (a->exclusive) wick_export_int(e, "exclusive", 1);
    if (a->reverse) wick_export_int(e, "reverse", 1);
    return ONNX(e, op, x, wick_export_scalar(e, WICK_I64, (double)a->axis));
}
static void cumsum(onnx_export *e, const wick_node *node) { wick_export_set(e, node, 0, running(e, "CumSum", wick_export_in(e, node, 0), node->attr)); }
/* log(sum of exp(x - m)) + m with the largest of all as m. */
static void logcumsumexp(onnx_export *e, const wick_node *node) {
    const scan_attr *a = node->attr;
    onnx_name *x = wick_export_in(e, node, 0), *most = wick_export_reduce(e, "ReduceMax", x, 1, &a->axis, true);
    wick_export_set(e, node, 0, ONNX(e, "Add", ONNX(e, "Log", running(e, "CumSum", ONNX(e, "Exp", ONNX(e, "Sub", x, most)), a)), most));
}

static const onnx_export_row rows[] = {
    {&wick_op_reshape, reshape, true},
    {&wick_op_expand, expand, true},
    {&wick_op_permute, permute, false},
    {&wick_op_slice, slice, true},
    {&wick_op_diagonal, diagonal, false},
    {&wick_op_view_scatter, view_scatter, false},
    {&wick_op_stop_gradient, same, false},
    {&wick_op_custom_gradient, same, false},
    {&wick_op_tap, same, false},
    {&wick_op_check_finite, same, false},
    {&wick_op_concat, concat, false},
    {&wick_op_sum, reduce, false},
    {&wick_op_mean, reduce, false},
    {&wick_op_prod, reduce, false},
    {&wick_op_max, reduce, false},
    {&wick_op_min, reduce, false},
    {&wick_op_argmax, arg, false},
    {&wick_op_argmin, arg, false},
    {&wick_op_cumsum, cumsum, false},
    {&wick_op_logcumsumexp, logcumsumexp, false},
};
const onnx_export_rows wick_export_shape_rows = {rows, WICK_COUNTOF(rows)};
