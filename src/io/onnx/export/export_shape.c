/* export_shape.c: views, reductions, what joins and cuts. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

static void same(onnx_export *e, const wick_node *node) { wick_export_set(e, node, 0, wick_export_in(e, node, 0)); }

static void reshape(onnx_export *e, const wick_node *node) {
    const wick_type *from = &node->in[0]->type, *to = &node->out[0].type;
    onnx_name *x = wick_export_in(e, node, 0);
    int64_t axes[WICK_MAX_DIMS];
    int n = 0, k = 0;
    const wick_type *small = from->rank < to->rank ? from : to, *large = small == from ? to : from;
    const wick_value *of = large == to ? &node->out[0] : node->in[0],
                     *other = of == node->in[0] ? &node->out[0] : node->in[0];
    for (int d = 0; d < large->rank; d++) { /* is it only extents of 1 that come or go? */
        if (k < small->rank && wick_export_same_extent(e, of, d, other, k)) k++;
        else if (wick_export_is_one(e, of, d)) axes[n++] = d;
        else break;
    }
    if (k == small->rank && !n && from->rank == to->rank) same(e, node);
    else if (k == small->rank && n == large->rank - small->rank)
        wick_export_set(e, node, 0,
                        large == to ? wick_export_unsqueeze(e, x, n, axes) : wick_export_squeeze(e, x, n, axes));
    else wick_export_set(e, node, 0, wick_export_reshape(e, node, x, &node->out[0]));
}

static void expand(onnx_export *e, const wick_node *node) {
    onnx_name *shape = wick_export_shape(e, node, &node->out[0], false);
    if (shape) wick_export_set(e, node, 0, ONNX(e, "Expand", wick_export_in(e, node, 0), shape));
}

static void permute(onnx_export *e, const wick_node *node) {
    wick_export_set(e, node, 0,
                    wick_export_transpose(e, wick_export_in(e, node, 0), node->out[0].type.rank,
                                          ((const permute_attr *)node->attr)->axes));
}

/* An end of a slice, as ONNX counts it: from the front, from the back, "all of it", or where an expression says. */
typedef struct slice_end {
    bool front, back, whole; /* the same number from there in all recordings; at or past the end of the way */
    int64_t *at, from_back;
} slice_end;

static const slice_attr *slice_of(const onnx_export *e, const wick_node *node, int r, int64_t *extent) {
    const wick_node *other = e->at[r]->nodes[node->position];
    const slice_attr *a = other->attr;
    *extent = other->in[0]->type.dims[a->axis];
    return a;
}

/* The step, which a slice of one place or none may have lost; 0: it is not the same in all recordings. */
static int64_t step_of(const onnx_export *e, const wick_node *node) {
    int64_t step = 0, n;
    for (int r = 0; r < e->n_recordings; r++) {
        const slice_attr *a = slice_of(e, node, r, &n);
        if (a->axis != ((const slice_attr *)node->attr)->axis || (a->count > 1 && step && a->step != step)) return 0;
        if (a->count > 1) step = a->step;
    }
    return step ? step : 1;
}

/* start (which 0), the place behind the last that is taken (1), or start + step * count (2). */
static slice_end look_at(onnx_export *e, const wick_node *node, int64_t step, int which) {
    slice_end x = {true, true, true, wick_export_alloc(e, (size_t)e->n_recordings, sizeof *x.at), 0};
    for (int r = 0; r < e->n_recordings && x.at; r++) {
        int64_t n;
        const slice_attr *a = slice_of(e, node, r, &n);
        const bool down = step < 0;
        const int64_t at = which == 0                ? a->start
                           : which == 2 || !a->count ? a->start + step * a->count
                                                     : a->start + step * (a->count - 1) + (down ? -1 : 1);
        x.at[r] = at;
        if (!r) x.from_back = at - n;
        x.front &= at == x.at[0];
        x.back &= at - n == x.from_back;
        x.whole &= which && (down ? at < 0 : at >= n);
    }
    return x;
}

/* As i64 [1]; NULL: it can't be said. */
static onnx_name *say_end(onnx_export *e, const wick_node *node, const slice_end *x, bool down) {
    bool positive = true;
    if (!x->at) return NULL;
    for (int r = 0; r < e->n_recordings; r++) positive &= x->at[r] >= 0; /* below 0 counts from the back */
    if (x->whole) return wick_export_list(e, 1, &(int64_t){down ? INT64_MIN : INT64_MAX});
    if (x->front && positive) return wick_export_list(e, 1, x->at);
    if (x->back && x->from_back < 0 && positive) return wick_export_list(e, 1, &x->from_back);
    const onnx_extent extent =
        positive ? wick_export_follow(e, node, x->at) : (onnx_extent){.kind = ONNX_EXTENT_UNKNOWN};
    return extent.kind == ONNX_EXTENT_UNKNOWN ? NULL : wick_export_extent_value(e, &extent);
}

static void slice(onnx_export *e, const wick_node *node) {
    const slice_attr *a = node->attr;
    const int64_t step = step_of(e, node);
    const slice_end start = look_at(e, node, step, 0), tight = look_at(e, node, step, 1),
                    loose = look_at(e, node, step, 2);
    onnx_name *from = step ? say_end(e, node, &start, step < 0) : NULL, *to = NULL;
    if (from && loose.whole) to = say_end(e, node, &loose, step < 0);
    if (from && !to) to = say_end(e, node, &tight, step < 0);
    if (from && !to) to = say_end(e, node, &loose, step < 0);
    if (!to)
        wick_export_unsupported(e, node,
                          wick_export_why(e, "where it cuts follows in no simple way", from ? tight.at : start.at));
    else
        wick_export_set(e, node, 0,
                        ONNX(e, "Slice", wick_export_in(e, node, 0), from, to, wick_export_list(e, 1, &a->axis),
                             wick_export_list(e, 1, &step)));
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
    if (wick_export_extent(e, node->in[0], (int)a->a).kind != ONNX_EXTENT_FIXED ||
        wick_export_extent(e, node->in[0], (int)a->b).kind != ONNX_EXTENT_FIXED) {
        wick_export_unsupported(e, node, "of a matrix with a symbolic extent");
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
        wick_export_unsupported(e, node, "into symbolic extents");
        return;
    }
    wick_layout whole, view;
    wick_layout_contiguous(&whole, base);
    wick_node like = {.op = a->op, .attr = (void *)&a->view, .in = node->in, .n_in = 1};
    wick_node *with_out = wick_export_alloc(e, 1, sizeof *with_out + sizeof *with_out->out);
    *with_out = like;
    with_out->out[0] = (wick_value){.node = with_out, .type = *part};
    if (!a->op->view(with_out, &whole, &view)) {
        wick_export_unsupported(e, node, NULL);
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
    onnx_name *values =
        ONNX(e, "Reshape", wick_export_in(e, node, 1), count ? minus_one : wick_export_list(e, 1, &count));
    wick_export_int(e, "axis", 0);
    wick_export_set(e, node, 0,
                    wick_export_reshape(e, node, ONNX(e, "ScatterElements", flat, index, values), &node->out[0]));
}

static void concat(onnx_export *e, const wick_node *node) {
    onnx_name **in = wick_export_alloc(e, node->n_in, sizeof *in);
    for (int k = 0; k < node->n_in && in; k++) in[k] = wick_export_in(e, node, k);
    wick_export_int(e, "axis", ((const axis_attr *)node->attr)->axis);
    if (in) wick_export_set(e, node, 0, wick_export_node(e, "Concat", node->n_in, in));
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

static void reduce(onnx_export *e, const wick_node *node) {
    static const char *const names[WICK_RED_COUNT] = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"};
    const wick_reduce_attr *a = node->attr;
    int64_t axes[WICK_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < node->in[0]->type.rank; d++)
        if (a->axes >> d & 1) axes[n++] = d;
    onnx_name *x = wick_export_in(e, node, 0);
    wick_export_set(e, node, 0,
                    n ? wick_export_reduce(e, a->mean ? "ReduceMean" : names[a->red], x, n, axes, a->keepdims) : x);
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
static void cumsum(onnx_export *e, const wick_node *node) {
    wick_export_set(e, node, 0, running(e, "CumSum", wick_export_in(e, node, 0), node->attr));
}
/* log(sum of exp(x - m)) + m with the largest of all as m. */
static void logcumsumexp(onnx_export *e, const wick_node *node) {
    const scan_attr *a = node->attr;
    onnx_name *x = wick_export_in(e, node, 0), *most = wick_export_reduce(e, "ReduceMax", x, 1, &a->axis, true);
    wick_export_set(
        e, node, 0,
        ONNX(e, "Add", ONNX(e, "Log", running(e, "CumSum", ONNX(e, "Exp", ONNX(e, "Sub", x, most)), a)), most));
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
