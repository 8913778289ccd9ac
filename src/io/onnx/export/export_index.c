/* export_index.c: what reads and writes by index, sorts and counts. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"
#include "wick/index.h"

static void gather(onnx_export *e, const wick_node *node) {
    wick_export_int(e, "axis", ((const axis_attr *)node->attr)->axis);
    wick_export_set(e, node, 0, ONNX(e, "Gather", wick_export_in(e, node, 0), wick_export_in(e, node, 1)));
}
static void take_along_axis(onnx_export *e, const wick_node *node) {
    wick_export_int(e, "axis", ((const along_attr *)node->attr)->axis);
    wick_export_set(e, node, 0, ONNX(e, "GatherElements", wick_export_in(e, node, 0), wick_export_in(e, node, 1)));
}

/* The attribute "reduction" of scatter ops; false: too new for the opset. */
static bool queue_reduction(onnx_export *e, const wick_node *node, int64_t how) {
    static const char *const names[] = {[WICK_PUT_SET] = "none",
                                        [WICK_PUT_ADD] = "add",
                                        [WICK_PUT_MUL] = "mul",
                                        [WICK_PUT_MAX] = "max",
                                        [WICK_PUT_MIN] = "min"};
    const int since = how == WICK_PUT_SET ? 0 : how == WICK_PUT_ADD || how == WICK_PUT_MUL ? 16 : 18;
    if (e->opset < since)
        return wick_export_unsupported(e, node, since == 16 ? "from opset 16 on it has" : "from opset 18 on it has"),
               false;
    if (how != WICK_PUT_SET) wick_export_text(e, "reduction", names[how]);
    return true;
}
static void put_along_axis(onnx_export *e, const wick_node *node) {
    const along_attr *a = node->attr;
    if (!queue_reduction(e, node, a->how)) return;
    wick_export_int(e, "axis", a->axis);
    wick_export_set(
        e, node, 0,
        ONNX(e, "ScatterElements", wick_export_in(e, node, 0), wick_export_in(e, node, 1), wick_export_in(e, node, 2)));
}

/* Slices of axis 0 are what ScatterND adds to; other axes are brought there. */
static void scatter_add(onnx_export *e, const wick_node *node) {
    const int64_t axis = ((const axis_attr *)node->attr)->axis;
    const int rank = node->in[0]->type.rank, index_rank = node->in[1]->type.rank, src_rank = node->in[2]->type.rank;
    int64_t there[WICK_MAX_DIMS], back[WICK_MAX_DIMS], src[WICK_MAX_DIMS];
    int n = 0;
    there[n++] = axis;
    for (int d = 0; d < rank; d++)
        if (d != axis) there[n++] = d;
    for (int d = 0; d < rank; d++) back[there[d]] = d;
    n = 0;
    for (int d = 0; d < index_rank; d++) src[n++] = axis + d;
    for (int d = 0; d < src_rank; d++)
        if (d < axis || d >= axis + index_rank) src[n++] = d;
    onnx_name *base = wick_export_transpose(e, wick_export_in(e, node, 0), rank, there);
    onnx_name *values = wick_export_transpose(e, wick_export_in(e, node, 2), src_rank, src);
    onnx_name *index = wick_export_unsqueeze(e, wick_export_in(e, node, 1), 1, &(int64_t){index_rank});
    if (!queue_reduction(e, node, WICK_PUT_ADD)) return;
    wick_export_set(e, node, 0, wick_export_transpose(e, ONNX(e, "ScatterND", base, index, values), rank, back));
}

/* 0 ... n - 1 of i64, where n may be symbolic. */
static onnx_name *count_up(onnx_export *e, const wick_node *node, const wick_value *v, int dim) {
    const onnx_extent extent = wick_export_extent(e, v, dim);
    if (extent.kind == ONNX_EXTENT_FIXED) {
        int64_t *list = wick_export_alloc(e, (size_t)extent.number + 1, sizeof *list);
        for (int64_t i = 0; i < extent.number && list; i++) list[i] = i;
        return list ? wick_export_array(e, WICK_I64, 1, &extent.number, list) : &wick_export_absent;
    }
    onnx_name *n = wick_export_extents(e, node, 1, &extent);
    if (!n) return &wick_export_absent;
    return ONNX(e, "Range", wick_export_scalar(e, WICK_I64, 0), wick_export_squeeze(e, n, 1, &(int64_t){0}),
                wick_export_scalar(e, WICK_I64, 1));
}
static void iota(onnx_export *e, const wick_node *node) {
    onnx_name *list = count_up(e, node, &node->out[0], 0);
    wick_export_set(
        e, node, 0,
        node->out[0].type.dtype == WICK_I64 ? list : wick_export_cast(e, list, (wick_dtype)node->out[0].type.dtype));
}

/* An index that is no class gives zeros: ONNX's OneHot counts those below 0 from the end. */
static void one_hot(onnx_export *e, const wick_node *node) {
    const int rank = node->out[0].type.rank;
    onnx_name *index = wick_export_unsqueeze(e, wick_export_in(e, node, 0), 1, &(int64_t){rank - 1});
    onnx_name *hit = ONNX(e, "Equal", index, count_up(e, node, &node->out[0], rank - 1));
    wick_export_set(
        e, node, 0,
        node->out[0].type.dtype == WICK_BOOL ? hit : wick_export_cast(e, hit, (wick_dtype)node->out[0].type.dtype));
}

/* x with values put at start along the axis. */
static void update_slice(onnx_export *e, const wick_node *node) {
    const update_attr *a = node->attr;
    const int rank = node->in[0]->type.rank;
    int64_t around[WICK_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (d != a->axis) around[n++] = d;
    onnx_name *start = ONNX(e, "Reshape", wick_export_in(e, node, 2), wick_export_list(e, 1, &(int64_t){1}));
    onnx_name *places = ONNX(e, "Add", count_up(e, node, node->in[1], (int)a->axis), start),
              *shape = wick_export_shape(e, node, node->in[1], false);
    if (!shape) return;
    if (n) places = wick_export_unsqueeze(e, places, n, around);
    places = ONNX(e, "Expand", places, shape);
    wick_export_int(e, "axis", a->axis);
    wick_export_set(e, node, 0,
                    ONNX(e, "ScatterElements", wick_export_in(e, node, 0), places, wick_export_in(e, node, 1)));
}

static void ravel_index(onnx_export *e, const wick_node *node) {
    const ravel_attr *a = node->attr;
    int64_t weight[WICK_MAX_DIMS], last = node->in[0]->type.rank - 1;
    for (int64_t k = a->n - 1, w = 1; k >= 0; w *= a->dims[k--]) weight[k] = w;
    onnx_name *index = wick_export_in(e, node, 0), *dims = wick_export_list(e, (int)a->n, a->dims);
    onnx_name *positive = ONNX(e, "Where", ONNX(e, "Less", index, wick_export_scalar(e, WICK_I64, 0)),
                               ONNX(e, "Add", index, dims), index);
    wick_export_set(e, node, 0,
                    wick_export_reduce(e, "ReduceSum", ONNX(e, "Mul", positive, wick_export_list(e, (int)a->n, weight)),
                                       1, &last, false));
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static void top(onnx_export *e, const wick_node *node, onnx_name *x, onnx_name *k, bool largest, onnx_name **out) {
    wick_export_int(e, "axis", -1);
    if (!largest) wick_export_int(e, "largest", 0);
    wick_export_nodes(e, "TopK", 2, (onnx_name *[]){x, k}, 2, out);
    (void)node;
}
static void sort(onnx_export *e, const wick_node *node) {
    const sort_attr *a = node->attr;
    onnx_name *out[2];
    const onnx_extent extent = wick_export_extent(e, &node->out[0], node->out[0].type.rank - 1);
    onnx_name *k = wick_export_extents(e, node, 1, &extent);
    if (!k) return;
    top(e, node, wick_export_in(e, node, 0), k, a->descending, out);
    for (int i = 0; i < 2; i++) wick_export_set(e, node, i, out[i]);
}

/* How many of the sorted row come before each value. */
static void searchsorted(onnx_export *e, const wick_node *node) {
    const int64_t right = *(const int64_t *)node->attr;
    const int row_rank = node->in[0]->type.rank, rank = node->in[1]->type.rank;
    /* [..., 1, n] */
    onnx_name *row = wick_export_unsqueeze(e, wick_export_in(e, node, 0), 1, &(int64_t){row_rank - 1});
    /* [..., m, 1] */
    onnx_name *value = wick_export_unsqueeze(e, wick_export_in(e, node, 1), 1, &(int64_t){rank});
    onnx_name *before = ONNX(e, right ? "LessOrEqual" : "Less", row, value);
    wick_export_set(e, node, 0,
                    wick_export_reduce(e, "ReduceSum", wick_export_cast(e, before, WICK_I64), 1,
                                       &(int64_t){WICK_MAX(row_rank, rank + 1) - 1}, false));
}

static void triangle(onnx_export *e, const wick_node *node) {
    const triangle_attr *a = node->attr;
    if (e->opset < 14) {
        wick_export_unsupported(e, node, "from opset 14 on it has");
        return;
    }
    onnx_name *x = wick_export_in(e, node, 0), *k = wick_export_scalar(e, WICK_I64, (double)a->k);
    wick_export_int(e, "upper", a->upper != 0);
    onnx_name *y = ONNX(e, "Trilu", x, k);
    if (a->diagonal != 1) { /* the edge is what the other triangle has of this one */
        wick_export_int(e, "upper", !a->upper);
        onnx_name *edge = ONNX(e, "Trilu", y, k),
                  *times = wick_export_scalar(e, (wick_dtype)node->out[0].type.dtype, a->diagonal - 1);
        y = ONNX(e, "Add", y, ONNX(e, "Mul", edge, times));
    }
    wick_export_set(e, node, 0, y);
}

static const onnx_export_row rows[] = {
    {&wick_op_gather, gather, false},
    {&wick_op_take_along_axis, take_along_axis, false},
    {&wick_op_put_along_axis, put_along_axis, false},
    {&wick_op_scatter_add, scatter_add, false},
    {&wick_op_iota, iota, true},
    {&wick_op_one_hot, one_hot, true},
    {&wick_op_update_slice, update_slice, false},
    {&wick_op_ravel_index, ravel_index, false},
    {&wick_op_sort, sort, false},
    {&wick_op_topk, sort, false},
    {&wick_op_searchsorted, searchsorted, false},
    {&wick_op_triangle, triangle, false},
};
const onnx_export_rows wick_export_index_rows = {rows, WICK_COUNTOF(rows)};
