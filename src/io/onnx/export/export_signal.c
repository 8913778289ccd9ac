/* export_signal.c: Fourier transforms, frames, windows. What is linear and has no op in ONNX is a product with the
 * matrix of it, which the op itself makes: its results for unit vectors. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

enum { MOST_MATRIX = 1 << 24 }; /* elements */

/* The last k_in dims become the last k_out dims by a matrix. */
static void by_matrix(onnx_export *e, const wick_node *node, int k_in, int k_out) {
    wick_context *ctx = e->ctx;
    const wick_type *x = &node->in[0]->type, *y = &node->out[0].type;
    int64_t rows = 1, cols = 1, dims[1 + WICK_MAX_DIMS];
    for (int d = x->rank - k_in; d < x->rank; d++) rows *= x->dims[d];
    for (int d = y->rank - k_out; d < y->rank; d++) cols *= y->dims[d];
    if (rows < 1 || cols < 1 || rows > MOST_MATRIX / cols || rows > MOST_MATRIX / rows || k_in + 1 > WICK_MAX_DIMS) {
        wick_export_unsupported(e, node, "over such an extent");
        return;
    }
    dims[0] = rows;
    for (int d = 0; d < k_in; d++) dims[1 + d] = x->dims[x->rank - k_in + d];
    const wick_dtype dtype = (wick_dtype)x->dtype;
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *index = wick_arange(ctx, WICK_I64, 0, 1, rows);
    wick_tensor *units = wick_reshape(wick_one_hot(index, rows, dtype), k_in + 1, dims),
                *out = wick_record(NULL, node->op, 1, &units, node->attr, node->attr_size);
    void *matrix = wick_export_alloc(e, (size_t)(rows * cols), wick_dtype_size(dtype));
    const bool good =
        scope && matrix && wick_read(out, matrix, (size_t)(rows * cols) * wick_dtype_size(dtype)) == WICK_OK;
    wick_scope_close(&scope);
    if (!good) {
        e->nomem |= !matrix;
        wick_export_unsupported(e, node, "as a matrix");
        return;
    }
    onnx_name *m = wick_export_array(e, dtype, 2, (const int64_t[]){rows, cols}, matrix),
              *from = wick_export_in(e, node, 0);
    onnx_extent extents[WICK_MAX_DIMS];
    const int lead = x->rank - k_in;
    for (int d = 0; d < lead; d++) extents[d] = wick_export_extent(e, node->in[0], d);
    extents[lead] = (onnx_extent){.kind = ONNX_EXTENT_FIXED, .number = rows};
    if (k_in > 1) {
        onnx_name *shape = wick_export_extents(e, node, lead + 1, extents);
        if (!shape) return;
        from = ONNX(e, "Reshape", from, shape);
    }

    onnx_name *product = ONNX(e, "MatMul", from, m);
    wick_export_set(e, node, 0, k_out > 1 ? wick_export_reshape(e, node, product, &node->out[0]) : product);
}

/* DFT over the axis before the pairs of real and imaginary part. */
static bool by_dft(onnx_export *e, const wick_node *node, const fft_attr *a, bool real) {
    if (e->opset < 17 || (real && (a->inverse || a->inner != 1))) return false;
    const wick_type *y = &node->out[0].type;
    const bool alone = y->rank == 3 && a->columns; /* DFT takes the first dim for the batch */
    const int64_t axis = y->rank - 2 - (a->columns && !alone), last = y->rank - 1;
    const wick_dtype d = (wick_dtype)y->dtype;
    onnx_name *x = wick_export_in(e, node, 0);
    if (y->rank < 3) return false; /* DFT needs a batch */
    if (real) x = wick_export_unsqueeze(e, x, 1, &last);
    if (alone) x = wick_export_unsqueeze(e, x, 1, &(int64_t){0});
    if (real) wick_export_int(e, "onesided", 1);
    if (a->inverse) wick_export_int(e, "inverse", 1);
    if (e->opset < 20) wick_export_int(e, "axis", axis);
    onnx_name *in[3] = {x, &wick_export_absent,
                        e->opset < 20 ? &wick_export_absent : wick_export_scalar(e, WICK_I64, (double)axis)};
    onnx_name *out = wick_export_node(e, "DFT", 3, in);
    if (alone) out = wick_export_squeeze(e, out, 1, &(int64_t){0});
    const double scale = a->scale * (a->inverse ? (double)a->n : 1);
    wick_export_set(e, node, 0, scale == 1 ? out : ONNX(e, "Mul", out, wick_export_scalar(e, d, scale)));
    return true;
}
static void rfft(onnx_export *e, const wick_node *node) {
    if (!by_dft(e, node, node->attr, true)) by_matrix(e, node, 1, 2);
}
static void fft(onnx_export *e, const wick_node *node) {
    const fft_attr *a = node->attr;
    const int dims = a->columns ? 3 : 2;
    if (!by_dft(e, node, a, false)) by_matrix(e, node, dims, dims);
}
static void irfft(onnx_export *e, const wick_node *node) { by_matrix(e, node, 2, 1); }
static void overlap_add(onnx_export *e, const wick_node *node) { by_matrix(e, node, 2, 1); }

/* Places start + step * i + dilation * j of an axis. */
static onnx_name *windows(onnx_export *e, onnx_name *x, int64_t axis, int64_t count, int64_t size, int64_t step,
                          int64_t dilation) {
    const int64_t dims[2] = {count, size};
    int64_t *places = wick_export_alloc(e, (size_t)(count * size) + 1, sizeof *places);
    for (int64_t i = 0; i < count && places; i++)
        for (int64_t j = 0; j < size; j++) places[i * size + j] = i * step + j * dilation;
    if (!places) return x;
    wick_export_int(e, "axis", axis);
    return ONNX(e, "Gather", x, wick_export_array(e, WICK_I64, 2, dims, places));
}
static void frames(onnx_export *e, const wick_node *node) {
    const frames_attr *a = node->attr;
    const int last = node->in[0]->type.rank - 1;
    if (wick_export_extent(e, node->in[0], last).kind != ONNX_EXTENT_FIXED)
        wick_export_unsupported(e, node, "of a symbolic extent");
    else
        wick_export_set(e, node, 0,
                        windows(e, wick_export_in(e, node, 0), last, node->out[0].type.dims[last], a->n, a->hop, 1));
}
/* The places within a window are the last axis. */
static void sliding_window(onnx_export *e, const wick_node *node) {
    const window_attr *a = node->attr;
    const int rank = node->out[0].type.rank;
    int64_t order[WICK_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (d != a->axis + 1) order[n++] = d;
    order[n] = a->axis + 1;
    onnx_name *y = windows(e, wick_export_in(e, node, 0), a->axis, a->count, a->size, a->step, a->dilation);
    wick_export_set(e, node, 0, wick_export_transpose(e, y, rank, order));
}

static const onnx_export_row rows[] = {
    {&wick_op_rfft, rfft, false},     {&wick_op_irfft, irfft, false},
    {&wick_op_fft, fft, false},       {&wick_op_overlap_add, overlap_add, false},
    {&wick_op_frames, frames, false}, {&wick_op_sliding_window, sliding_window, false},
};
const onnx_export_rows wick_export_signal_rows = {rows, WICK_COUNTOF(rows)};
