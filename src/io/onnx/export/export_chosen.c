/* export_chosen.c: results that values decide: which boxes stay, where a mask is true, runs of equals, bins. Here they
 * have a fixed size and what is left over is filled; ONNX's ops give as many as there are, so that each is followed by
 * what fills and cuts. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

static onnx_name *zero_of(onnx_export *e, wick_dtype d) { return wick_export_scalar(e, d, 0); }
static onnx_name *one_row(onnx_export *e, int64_t n) { return wick_export_list(e, 1, &n); }
static onnx_name *whole(onnx_export *e, int64_t n) { return wick_export_scalar(e, WICK_I64, (double)n); }
static onnx_name *flat(onnx_export *e, onnx_name *x) { return ONNX(e, "Reshape", x, one_row(e, -1)); }

/* base [n, ...] with values added at (or put to) places [k] of axis 0; NULL: too old an opset. */
static onnx_name *put(onnx_export *e, const wick_node *node, onnx_name *base, onnx_name *places, onnx_name *values,
                      bool adds) {
    if (adds && e->opset < 16) return wick_export_unsupported(e, node, "from opset 16 on it has"), NULL;
    if (adds) wick_export_text(e, "reduction", "add");
    return ONNX(e, "ScatterElements", base, places, values);
}

/* (mask) -> places [size, rank], filled, and how many there are. */
static void nonzero(onnx_export *e, const wick_node *node) {
    const nonzero_attr *a = node->attr;
    const int rank = node->in[0]->type.rank;
    const int64_t dims[2] = {a->size, rank}, axes[2] = {1, 0};
    int64_t all[WICK_MAX_DIMS];
    for (int d = 0; d < rank; d++) all[d] = d;
    onnx_name *mask = wick_export_in(e, node, 0),
              *fill = ONNX(e, "Expand", whole(e, a->fill), wick_export_list(e, 2, dims)),
              *hits = wick_export_cast(e, mask, WICK_I64);
    wick_export_set(e, node, 1, rank ? wick_export_reduce(e, "ReduceSum", hits, rank, all, false) : hits);
    if (rank) {
        onnx_name *parts[2] = {wick_export_transpose(e, ONNX(e, "NonZero", mask), 2, axes), fill};
        wick_export_int(e, "axis", 0);
        fill = wick_export_slice(e, wick_export_node(e, "Concat", 2, parts), 0, 0, a->size, 1);
    }
    wick_export_set(e, node, 0, fill);
}

/* (x, weights) -> how many are 0, 1 ..., or their weights; what is outside goes to bin 0 with weight 0. */
static void bincount(onnx_export *e, const wick_node *node) {
    const int64_t bins = *(const int64_t *)node->attr;
    const wick_dtype d = (wick_dtype)node->out[0].type.dtype;
    onnx_name *x = flat(e, wick_export_in(e, node, 0)),
              *weight = node->n_in > 1 ? flat(e, wick_export_in(e, node, 1)) : wick_export_scalar(e, d, 1),
              *zero = zero_of(e, WICK_I64);
    onnx_name *empty = ONNX(e, "Expand", zero_of(e, d), one_row(e, bins));
    if (!bins) {
        wick_export_set(e, node, 0, empty);
        return;
    }
    onnx_name *inside = ONNX(e, "And", ONNX(e, "GreaterOrEqual", x, zero), ONNX(e, "Less", x, whole(e, bins)));
    onnx_name *y =
        put(e, node, empty, ONNX(e, "Where", inside, x, zero), ONNX(e, "Where", inside, weight, zero_of(e, d)), true);
    if (y) wick_export_set(e, node, 0, y);
}

/* (x [n], order [n]) -> one of each run of equals, the run of x[i] at place order[i], lengths, how many; zeros behind.
 */
static void equal_runs(onnx_export *e, const wick_node *node) {
    const wick_dtype d = (wick_dtype)node->in[0]->type.dtype;
    onnx_name *x = wick_export_in(e, node, 0), *order = wick_export_in(e, node, 1),
              *shape = wick_export_shape(e, node, node->in[0], false), *zero = zero_of(e, WICK_I64);
    if (!shape) return;
    onnx_name *none = ONNX(e, "Expand", zero, shape);
    onnx_name *after = wick_export_slice(e, x, 0, 1, INT64_MAX, 1), *before = wick_export_slice(e, x, 0, 0, -1, 1);
    /* none of an empty x */
    onnx_name *begins[2] = {wick_export_slice(e, none, 0, 0, 1, 1),
                            wick_export_cast(e, ONNX(e, "Not", ONNX(e, "Equal", after, before)), WICK_I64)};
    wick_export_int(e, "axis", 0);
    onnx_name *run = ONNX(e, "CumSum", wick_export_node(e, "Concat", 2, begins), zero);
    onnx_name *lengths = put(e, node, none, run, ONNX(e, "Expand", whole(e, 1), shape), true);
    if (!lengths) return;
    wick_export_set(e, node, 0, put(e, node, ONNX(e, "Expand", zero_of(e, d), shape), run, x, false));
    wick_export_set(e, node, 1, put(e, node, none, order, run, false));
    wick_export_set(e, node, 2, lengths);
    wick_export_set(e, node, 3,
                    wick_export_reduce(e, "ReduceSum", wick_export_cast(e, ONNX(e, "Greater", lengths, zero), WICK_I64),
                                       1, &(int64_t){0}, false));
}

/* (boxes [N, B, 4], scores [N, C, B]) -> kept [N, C, most], filled with -1, and count [N, C]. ONNX lists (n, c, box) in
 * that order: the place within its class is the number in the list less that of the first of the class. */
static void nms(onnx_export *e, const wick_node *node) {
    const nms_attr *a = node->attr;
    const wick_type *kept = &node->out[0].type;
    if (!wick_export_is_fixed(e, &node->out[0]) || node->in[0]->type.dtype != WICK_F32) {
        wick_export_unsupported(e, node, "of a symbolic extent, or of f64");
        return;
    }
    const int64_t classes = kept->dims[1], groups = kept->dims[0] * classes, last = 1;
    onnx_name *in[5] = {wick_export_in(e, node, 0), wick_export_in(e, node, 1), one_row(e, a->most),
                        &wick_export_absent, &wick_export_absent};
    float *bounds = wick_export_alloc(e, 2, sizeof *bounds);
    bounds[0] = (float)a->overlap, bounds[1] = (float)a->least;
    in[3] = wick_export_array(e, WICK_F32, 1, &last, &bounds[0]);
    if (a->by_score) in[4] = wick_export_array(e, WICK_F32, 1, &last, &bounds[1]);
    if (a->center) wick_export_int(e, "center_point_box", 1);
    onnx_name *list = wick_export_node(e, "NonMaxSuppression", 5, in);
    /* [K] */
    onnx_name *group = wick_export_reduce(
        e, "ReduceSum", ONNX(e, "Mul", list, wick_export_list(e, 3, (const int64_t[]){classes, 1, 0})), 1, &last,
        false);
    int64_t *numbers = wick_export_alloc(e, (size_t)groups + 1, sizeof *numbers);
    for (int64_t g = 0; g < groups && numbers; g++) numbers[g] = g;
    if (!numbers) return;
    /* [K, groups] */
    onnx_name *hit = ONNX(e, "Equal", wick_export_unsqueeze(e, group, 1, &last),
                          wick_export_array(e, WICK_I64, 1, &groups, numbers));
    onnx_name *count = wick_export_reduce(e, "ReduceSum", wick_export_cast(e, hit, WICK_I64), 1, &(int64_t){0}, false);
    wick_export_int(e, "exclusive", 1);
    onnx_name *first = ONNX(e, "CumSum", count, zero_of(e, WICK_I64));
    onnx_name *size = wick_export_squeeze(e, ONNX(e, "Shape", group), 1, &(int64_t){0}),
              *row = ONNX(e, "Range", zero_of(e, WICK_I64), size, whole(e, 1));
    onnx_name *place =
        ONNX(e, "Add", ONNX(e, "Mul", group, whole(e, a->most)), ONNX(e, "Sub", row, ONNX(e, "Gather", first, group)));
    onnx_name *box = wick_export_squeeze(e, wick_export_slice(e, list, 1, 2, 3, 1), 1, &last),
              *none = ONNX(e, "Expand", whole(e, -1), one_row(e, groups * a->most));
    wick_export_set(e, node, 0,
                    ONNX(e, "Reshape", put(e, node, none, place, box, false), wick_export_list(e, 3, kept->dims)));
    wick_export_set(e, node, 1, ONNX(e, "Reshape", count, wick_export_list(e, 2, kept->dims)));
}

/* Values at places of planes of zeros. */
static void plane_put(onnx_export *e, const wick_node *node) {
    const wick_type *values = &node->in[0]->type, *planes = &node->out[0].type;
    if (!wick_export_is_fixed(e, &node->out[0]) || !wick_export_is_fixed(e, node->in[0])) {
        wick_export_unsupported(e, node, "of a symbolic extent");
        return;
    }
    const int64_t rank = ((const plane_attr *)node->attr)->rank;
    int64_t rows = 1, n = 1, extent = 1;
    for (int d = 0; d < values->rank; d++) *(d < values->rank - rank ? &rows : &n) *= values->dims[d];
    for (int d = planes->rank - (int)rank; d < planes->rank; d++) extent *= planes->dims[d];
    onnx_name *shape = wick_export_list(e, 2, (const int64_t[]){rows, n}),
              *base = ONNX(e, "Expand", zero_of(e, (wick_dtype)values->dtype),
                           wick_export_list(e, 2, (const int64_t[]){rows, extent}));
    onnx_name *x = ONNX(e, "Reshape", wick_export_in(e, node, 0), shape),
              *places = ONNX(e, "Reshape", wick_export_in(e, node, 1), shape);
    wick_export_int(e, "axis", 1);
    wick_export_set(e, node, 0,
                    wick_export_reshape(e, node, ONNX(e, "ScatterElements", base, places, x), &node->out[0]));
}

/* [..., count, ..., size] -> [..., extent, ...]: windows added up where they came from. */
static void window_sum(onnx_export *e, const wick_node *node) {
    const window_attr *a = node->attr;
    const wick_type *x = &node->in[0]->type, *y = &node->out[0].type;
    int64_t there[WICK_MAX_DIMS], back[WICK_MAX_DIMS], dims[WICK_MAX_DIMS], n = 0;
    if (e->opset < 16 || !wick_export_is_fixed(e, node->in[0])) {
        wick_export_unsupported(e, node, e->opset < 16 ? "from opset 16 on it has" : "of a symbolic extent");
        return;
    }
    there[n++] = a->axis, there[n++] = x->rank - 1;
    for (int d = 0; d < x->rank - 1; d++)
        if (d != a->axis) there[n++] = d;
    dims[0] = a->extent; /* of the result, with its axis in front */
    for (int d = 2; d < x->rank; d++) dims[d - 1] = x->dims[there[d]];
    for (int d = 0; d < y->rank; d++) back[d] = d == a->axis ? 0 : d < a->axis ? d + 1 : d;
    int64_t *places = wick_export_alloc(e, (size_t)(a->count * a->size) + 1, sizeof *places);
    for (int64_t i = 0; i < a->count && places; i++)
        for (int64_t j = 0; j < a->size; j++) places[i * a->size + j] = i * a->step + j * a->dilation;
    if (!places) return;
    onnx_name *index = wick_export_array(e, WICK_I64, 3, (const int64_t[]){a->count, a->size, 1}, places);
    onnx_name *zeros = ONNX(e, "Expand", zero_of(e, (wick_dtype)x->dtype), wick_export_list(e, y->rank, dims)),
              *rows = wick_export_transpose(e, wick_export_in(e, node, 0), x->rank, there);
    wick_export_text(e, "reduction", "add");
    wick_export_set(e, node, 0, wick_export_transpose(e, ONNX(e, "ScatterND", zeros, index, rows), y->rank, back));
}

static void bit_cast(onnx_export *e, const wick_node *node) {
    if (e->opset < 26) {
        wick_export_unsupported(e, node, "from opset 26 on it has");
        return;
    }
    wick_export_int(e, "to", wick_onnx_type((wick_dtype)node->out[0].type.dtype));
    wick_export_set(e, node, 0, ONNX(e, "BitCast", wick_export_in(e, node, 0)));
}

static const onnx_export_row rows[] = {
    {&wick_op_nonzero, nonzero, false},       {&wick_op_bincount, bincount, false},
    {&wick_op_equal_runs, equal_runs, false}, {&wick_op_nms, nms, false},
    {&wick_op_plane_put, plane_put, false},   {&wick_op_window_sum, window_sum, false},
    {&wick_op_bit_cast, bit_cast, false},
};
const onnx_export_rows wick_export_chosen_rows = {rows, WICK_COUNTOF(rows)};
