/* export_more.c: what is rarer in networks that evaluate: losses, running products and extremes, sampling at points,
 * regions of images. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"
#include "kernels/kernels.h"

/* (logits [N, C], labels [N], weights [C] or nothing) -> losses [N], softmax [N, C]: (1 - s) w[y] nll + s / C sum over
 * c of w[c] nll[c]. */
static void cross_entropy(onnx_export *e, const wick_node *node) {
    const target_attr *a = node->attr;
    const wick_dtype d = (wick_dtype)node->in[0]->type.dtype;
    const int64_t one = 1, classes = node->in[0]->type.dims[1];
    onnx_name *x = wick_export_in(e, node, 0), *y = wick_export_in(e, node, 1),
              *weights = node->n_in > 2 ? wick_export_in(e, node, 2) : NULL;
    onnx_name *ignored = a->ignores ? ONNX(e, "Equal", y, wick_export_scalar(e, WICK_I64, (double)a->ignored)) : NULL,
              *zero = wick_export_scalar(e, d, 0);
    if (ignored) y = ONNX(e, "Where", ignored, wick_export_scalar(e, WICK_I64, 0), y);
    wick_export_int(e, "axis", 1);
    onnx_name *nll = ONNX(e, "Neg", ONNX(e, "LogSoftmax", x));
    wick_export_int(e, "axis", 1);
    onnx_name *probabilities = ONNX(e, "Softmax", x);
    if (weights) nll = ONNX(e, "Mul", nll, weights);
    onnx_name *at = wick_export_unsqueeze(e, y, 1, &one);
    wick_export_int(e, "axis", 1);
    onnx_name *loss = wick_export_squeeze(e, ONNX(e, "GatherElements", nll, at), 1, &one);
    if (a->smoothing != 0) {
        onnx_name *spread = ONNX(e, "Mul", wick_export_reduce(e, "ReduceSum", nll, 1, &one, false),
                                 wick_export_scalar(e, d, a->smoothing / (double)classes));
        loss = ONNX(e, "Add", ONNX(e, "Mul", loss, wick_export_scalar(e, d, 1 - a->smoothing)), spread);
    }
    wick_export_set(e, node, 0, ignored ? ONNX(e, "Where", ignored, zero, loss) : loss);
    const bool plain = !ignored && a->smoothing == 0 && !weights; /* else it is what the gradient needs */
    wick_export_set(e, node, 1, plain ? probabilities : &wick_export_absent);
}

/* x one or more places further along the axis, with ones (of products) or its own first elements (of extremes, where
 * they change nothing) before. */
static onnx_name *moved(onnx_export *e, onnx_name *x, const wick_type *t, const scan_attr *a, int64_t by, bool ones) {
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, t->dims, sizeof dims);
    dims[a->axis] = by;
    onnx_name *rest = a->reverse ? wick_export_slice(e, x, a->axis, by, INT64_MAX, 1)
                                 : wick_export_slice(e, x, a->axis, 0, -by, 1),
              *edge;
    if (ones)
        edge = ONNX(e, "Expand", wick_export_scalar(e, (wick_dtype)t->dtype, 1), wick_export_list(e, t->rank, dims));
    else
        edge = a->reverse ? wick_export_slice(e, x, a->axis, -by, INT64_MAX, 1)
                          : wick_export_slice(e, x, a->axis, 0, by, 1);
    onnx_name *parts[2] = {a->reverse ? rest : edge, a->reverse ? edge : rest};
    wick_export_int(e, "axis", a->axis);
    return wick_export_node(e, "Concat", 2, parts);
}
/* Running products and extremes: 1, 2, 4 ... places further each time (Hillis, Steele 1986). */
static void running(onnx_export *e, const wick_node *node) {
    const scan_attr *a = node->attr;
    const wick_type *t = &node->in[0]->type;
    const bool product = node->op == &wick_op_cumprod;
    onnx_name *y = wick_export_in(e, node, 0);
    if (product && e->opset >= 26) {
        if (a->exclusive) wick_export_int(e, "exclusive", 1);
        if (a->reverse) wick_export_int(e, "reverse", 1);
        wick_export_set(e, node, 0, ONNX(e, "CumProd", y, wick_export_scalar(e, WICK_I64, (double)a->axis)));
        return;
    }
    if (!wick_export_is_fixed(e, node->in[0])) {
        wick_export_unsupported(e, node, "along symbolic extents");
        return;
    }
    if (a->exclusive && t->dims[a->axis]) y = moved(e, y, t, a, 1, product);
    for (int64_t by = 1; by < t->dims[a->axis]; by *= 2)
        y = ONNX(e, product ? "Mul" : node->op == &wick_op_cummax ? "Max" : "Min", y, moved(e, y, t, a, by, product));
    wick_export_set(e, node, 0, y);
    for (int k = 1; k < node->n_out; k++) wick_export_set(e, node, k, &wick_export_absent); /* places */
}

/* The k-th smallest of the last axis, or its lower median. */
static void kthvalue(onnx_export *e, const wick_node *node) {
    const kth_attr *a = node->attr;
    const wick_type *t = &node->in[0]->type;
    const int64_t last = t->rank - 1, k = a->how == WICK_KTH ? a->k : (t->dims[last] + 1) / 2;
    if (a->how == WICK_NAN_MEDIAN ||
        (a->how != WICK_KTH && wick_export_extent(e, node->in[0], (int)last).kind != ONNX_EXTENT_FIXED)) {
        wick_export_unsupported(e, node, "without NaN, or of a symbolic extent");
        return;
    }
    onnx_name *in[2] = {wick_export_in(e, node, 0), wick_export_list(e, 1, &k)}, *out[2];
    wick_export_int(e, "axis", last);
    wick_export_int(e, "largest", 0);
    wick_export_nodes(e, "TopK", 2, in, 2, out);
    for (int i = 0; i < 2; i++)
        wick_export_set(e, node, i, wick_export_squeeze(e, wick_export_slice(e, out[i], last, k - 1, k, 1), 1, &last));
}

/* x [N, P, C], index and weight [N, T, R] -> [N, R, C]: the sum over T of weight * x[index], where an index outside
 * counts nothing. */
static void taps(onnx_export *e, const wick_node *node) {
    const wick_dtype d = (wick_dtype)node->in[0]->type.dtype;
    const onnx_extent extent = wick_export_extent(e, node->in[0], 1);
    onnx_name *index = wick_export_in(e, node, 1), *places = wick_export_extents(e, node, 1, &extent),
              *zero = wick_export_scalar(e, WICK_I64, 0);
    if (!places) return;
    onnx_name *outside = ONNX(e, "Or", ONNX(e, "Less", index, zero), ONNX(e, "GreaterOrEqual", index, places));
    onnx_name *weight = ONNX(e, "Where", outside, wick_export_scalar(e, d, 0), wick_export_in(e, node, 2));
    index = wick_export_unsqueeze(e, ONNX(e, "Where", outside, zero, index), 1, &(int64_t){3});
    wick_export_int(e, "batch_dims", 1);
    onnx_name *rows = ONNX(e, "GatherND", wick_export_in(e, node, 0), index); /* [N, T, R, C] */
    wick_export_set(e, node, 0,
                    wick_export_reduce(e, "ReduceSum",
                                       ONNX(e, "Mul", rows, wick_export_unsqueeze(e, weight, 1, &(int64_t){3})), 1,
                                       &(int64_t){1}, false));
}

static void roi_align(onnx_export *e, const wick_node *node) {
    const roi_attr *a = node->attr;
    if (e->opset < 16 && a->aligned) {
        wick_export_unsupported(e, node, "with aligned boxes, which from opset 16 on it has");
        return;
    }
    onnx_name *boxes = wick_export_in(e, node, 1);
    if (node->in[1]->type.dtype != node->in[0]->type.dtype)
        boxes = wick_export_cast(e, boxes, (wick_dtype)node->in[0]->type.dtype);
    onnx_name *in[3] = {wick_export_in(e, node, 0), boxes, wick_export_in(e, node, 2)};
    if (e->opset >= 16)
        wick_export_text(e, "coordinate_transformation_mode", a->aligned ? "half_pixel" : "output_half_pixel");
    wick_export_text(e, "mode", node->op == &wick_op_roi_align_max ? "max" : "avg");
    wick_export_int(e, "output_height", a->out[0]);
    wick_export_int(e, "output_width", a->out[1]);
    wick_export_int(e, "sampling_ratio", a->samples);
    wick_export_float(e, "spatial_scale", a->scale);
    wick_export_set(e, node, 0, wick_export_node(e, "RoiAlign", 3, in));
}

/* Random numbers are others in each program: their distribution is kept. */
static void random_numbers(onnx_export *e, const wick_node *node) {
    const wick_type *t = &node->out[0].type;
    const bool normal = node->op == &wick_op_random_normal;
    if (!wick_export_is_fixed(e, &node->out[0])) {
        onnx_name *shape = wick_export_shape(e, node, &node->out[0], false);
        if (!shape) return;
        onnx_name *like = ONNX(e, "ConstantOfShape", shape);
        wick_export_int(e, "dtype", wick_onnx_type((wick_dtype)t->dtype));
        wick_export_set(e, node, 0, ONNX(e, normal ? "RandomNormalLike" : "RandomUniformLike", like));
        return;
    }
    wick_export_int(e, "dtype", wick_onnx_type((wick_dtype)t->dtype));
    wick_export_ints(e, "shape", t->rank, t->dims);
    wick_export_set(e, node, 0, wick_export_node(e, normal ? "RandomNormal" : "RandomUniform", 0, NULL));
}

static const onnx_export_row rows[] = {
    {&wick_op_cross_entropy, cross_entropy, false},
    {&wick_op_cumprod, running, false},
    {&wick_op_cummax, running, false},
    {&wick_op_cummin, running, false},
    {&wick_op_kthvalue, kthvalue, false},
    {&wick_op_taps, taps, false},
    {&wick_op_roi_align, roi_align, false},
    {&wick_op_roi_align_max, roi_align, false},
    {&wick_op_random_uniform, random_numbers, true},
    {&wick_op_random_normal, random_numbers, true},
};
const onnx_export_rows wick_export_more_rows = {rows, WICK_COUNTOF(rows)};
