/* export_nn.c: products, convolutions, pooling, normalisation, attention; and groups of plain ops that ONNX has a name
 * for. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

#include <math.h>

#include "wick/image.h"

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* The matrix that v is the transpose of, or NULL. */
static wick_value *transposed(const wick_value *v) {
    const permute_attr *a = v->node->attr;
    return v->node->op == &wick_op_permute && v->type.rank == 2 && a->axes[0] == 1 ? v->node->in[0] : NULL;
}
/* that Gemm is of, elsewhere */
static bool is_float(const wick_value *v) { return wick_dtype_is_float(v->type.dtype) && v->type.dtype != WICK_BF16; }

/* x W' + b as one node. */
static onnx_name *gemm(onnx_export *e, wick_value *x, wick_value *w, wick_value *b) {
    wick_value *straight = transposed(w);
    if (straight) wick_export_int(e, "transB", 1);
    onnx_name *in[3] = {wick_export_value(e, x), wick_export_value(e, straight ? straight : w),
                        b ? wick_export_value(e, b) : &wick_export_absent};
    return wick_export_node(e, "Gemm", 3, in);
}
static void matmul(onnx_export *e, const wick_node *node) {
    const bool flat = node->in[0]->type.rank == 2 && node->in[1]->type.rank == 2;
    if (node->out[0].type.dtype == WICK_BF16) { /* in f32: few have products of bf16 */
        onnx_name *y = ONNX(e, "MatMul", wick_export_cast(e, wick_export_in(e, node, 0), WICK_F32),
                            wick_export_cast(e, wick_export_in(e, node, 1), WICK_F32));
        wick_export_set(e, node, 0, wick_export_cast(e, y, WICK_BF16));
        return;
    }
    if (flat && transposed(node->in[1]) && is_float(node->in[0]))
        wick_export_set(e, node, 0, gemm(e, node->in[0], node->in[1], NULL));
    else wick_export_set(e, node, 0, ONNX(e, "MatMul", wick_export_in(e, node, 0), wick_export_in(e, node, 1)));
}

/* ---- recognised groups ------------------------------------------------------------------------------------------- */

static bool is_ew(const wick_value *v, wick_ew op) { return v->node->op == &wick_ew_ops[op]; }

/* [C] as [1, C, 1 ...] beside x: the vector, or NULL. */
static wick_value *channels(const wick_value *v, const wick_type *x) {
    if (v->node->op != &wick_op_reshape || v->type.rank != x->rank) return NULL;
    wick_value *from = v->node->in[0];
    for (int d = 0; d < x->rank; d++)
        if (v->type.dims[d] != (d == 1 ? x->dims[1] : 1)) return NULL;
    return from->type.rank == 1 ? from : NULL;
}
/* As wick_batch_norm records it: (x - mean) * (rsqrt(var + eps) [* weight]) [+ bias]. */
static onnx_name *batch_norm(onnx_export *e, const wick_node *node) {
    wick_value *bias = NULL, *weight = NULL;
    const wick_node *m = node;
    const wick_type *y = &node->out[0].type;
    if (y->rank < 2) return NULL;
    if (node->op == &wick_ew_ops[WICK_EW_add]) {
        bias = channels(node->in[1], y);
        m = node->in[0]->node;
        if (!bias || m->op != &wick_ew_ops[WICK_EW_mul]) return NULL;
    }
    if (m->op != &wick_ew_ops[WICK_EW_mul] || !is_ew(m->in[0], WICK_EW_sub)) return NULL;
    const wick_node *centred = m->in[0]->node;
    wick_value *mean = channels(centred->in[1], y), *scale = m->in[1];
    if (!mean || !wick_same_dims(&centred->in[0]->type, y)) return NULL;
    if (is_ew(scale, WICK_EW_mul)) {
        weight = channels(scale->node->in[1], y);
        scale = scale->node->in[0];
        if (!weight) return NULL;
    }
    if (!is_ew(scale, WICK_EW_rsqrt) || !is_ew(scale->node->in[0], WICK_EW_add)) return NULL;
    const wick_node *added = scale->node->in[0]->node;
    wick_value *var = channels(added->in[0], y);
    double eps;
    if (!var || !wick_export_number(e, added->in[1], &eps)) return NULL;
    onnx_name *ends[2] = {weight ? wick_export_value(e, weight) : NULL, bias ? wick_export_value(e, bias) : NULL};
    for (int k = 0; k < 2; k++) {
        if (ends[k]) continue;
        void *data = wick_export_alloc(e, (size_t)y->dims[1] + 1, 8);
        const uint64_t bits = wick_number_bits((wick_dtype)y->dtype, k ? 0 : 1);
        const size_t elem = wick_dtype_size((wick_dtype)y->dtype);
        for (int64_t i = 0; i < y->dims[1] && data; i++) memcpy((char *)data + (size_t)i * elem, &bits, elem);
        if (data) ends[k] = wick_export_array(e, (wick_dtype)y->dtype, 1, &y->dims[1], data);
        else return NULL;
    }
    onnx_name *in[5] = {wick_export_value(e, centred->in[0]), ends[0], ends[1], wick_export_value(e, mean),
                        wick_export_value(e, var)};
    wick_export_float(e, "epsilon", eps);
    return wick_export_node(e, "BatchNormalization", 5, in);
}

/* matmul(x, w) + b of matrices. */
static onnx_name *with_bias(onnx_export *e, const wick_node *node) {
    const wick_value *product = node->in[0];
    wick_value *b = node->in[1];
    if (node->op != &wick_ew_ops[WICK_EW_add] || product->node->op != &wick_op_matmul || product->type.rank != 2 ||
        !is_float(product))
        return NULL;
    const wick_node *m = product->node;
    if (m->in[0]->type.rank != 2 || m->in[1]->type.rank != 2 || b->type.rank != 1 ||
        b->type.dims[0] != product->type.dims[1])
        return NULL;
    return gemm(e, m->in[0], m->in[1], b);
}

bool wick_export_recognised(onnx_export *e, const wick_node *node) {
    if (node->op != &wick_ew_ops[WICK_EW_add] && node->op != &wick_ew_ops[WICK_EW_mul]) return false;
    onnx_name *y = with_bias(e, node);
    if (!y) y = batch_norm(e, node);
    if (y) wick_export_set(e, node, 0, y);
    return y != NULL;
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

static void window(onnx_export *e, const char *name, int rank, const int64_t *before, const int64_t *after,
                   int64_t usual) {
    int64_t list[6];
    bool same = true;
    for (int d = 0; d < rank; d++) {
        list[d] = before[d];
        if (after) list[rank + d] = after[d];
        same &= before[d] == usual && (!after || after[d] == usual);
    }
    if (!same) wick_export_ints(e, name, after ? 2 * rank : rank, list);
}

static void conv(onnx_export *e, const wick_node *node) {
    const wick_conv_attr *a = node->attr;
    const int rank = (int)a->rank;
    onnx_name *x = wick_export_in(e, node, 0);
    int64_t end[3] = {0};
    for (int d = 0; d < rank; d++) {
        end[d] = a->pad_end[d];
        if (end[d] < 0) x = wick_export_slice(e, x, d + 2, 0, end[d], 1), end[d] = 0; /* ONNX pads only */
    }
    window(e, "kernel_shape", rank, node->in[1]->type.dims + 2, NULL, 0);
    window(e, "strides", rank, a->stride, NULL, 1);
    window(e, "dilations", rank, a->dilation, NULL, 1);
    window(e, "pads", rank, a->pad, end, 0);
    if (a->groups != 1) wick_export_int(e, "group", a->groups);
    onnx_name *in[3] = {x, wick_export_in(e, node, 1),
                        node->n_in > 2 ? wick_export_in(e, node, 2) : &wick_export_absent};
    wick_export_set(e, node, 0, wick_export_node(e, "Conv", 3, in));
}
/* How much longer dim d of the result is than it has to be. */
static int64_t output_padding(const wick_node *node, int d) {
    const wick_conv_attr *a = node->attr;
    const int64_t in = node->in[0]->type.dims[d + 2], kernel = node->in[1]->type.dims[d + 2];
    return node->out[0].type.dims[d + 2] -
           ((in - 1) * a->stride[d] - a->pad[d] - a->pad_end[d] + a->dilation[d] * (kernel - 1) + 1);
}
/* Of (y, w): a transposed convolution. */
static void conv_data(onnx_export *e, const wick_node *node) {
    const wick_conv_attr *a = node->attr;
    const int rank = (int)a->rank;
    int64_t more[3] = {0}, end[3] = {0};
    bool alike = true;
    for (int r = 1; r < e->n_recordings; r++) {
        const wick_node *other = e->at[r]->nodes[node->position];
        wick_conv_attr b = *(const wick_conv_attr *)other->attr;
        for (int d = 0; d < rank; d++) alike &= output_padding(other, d) == output_padding(node, d);
        memcpy(b.extent, a->extent, sizeof b.extent); /* follows from them */
        alike &= !memcmp(a, &b, sizeof b);
    }
    if (!alike) {
        wick_export_unsupported(e, node, wick_export_why_varies(e, node));
        return;
    }
    for (int d = 0; d < rank; d++) {
        more[d] = output_padding(node, d);
        end[d] = a->pad_end[d];
        /* ONNX allows no more: what is past the end as less cut off, if there is so much */
        if (more[d] >= WICK_MAX(a->stride[d], a->dilation[d])) {
            end[d] -= more[d], more[d] = 0;
        }
        if (more[d] < 0 || end[d] < 0 || a->pad[d] < 0) {
            wick_export_unsupported(e, node, "with such padding");
            return;
        }
    }
    window(e, "kernel_shape", rank, node->in[1]->type.dims + 2, NULL, 0);
    window(e, "strides", rank, a->stride, NULL, 1);
    window(e, "dilations", rank, a->dilation, NULL, 1);
    window(e, "pads", rank, a->pad, end, 0);
    window(e, "output_padding", rank, more, NULL, 0);
    if (a->groups != 1) wick_export_int(e, "group", a->groups);
    wick_export_set(e, node, 0, ONNX(e, "ConvTranspose", wick_export_in(e, node, 0), wick_export_in(e, node, 1)));
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

/* Adaptive pooling of equal windows is plain pooling; of one output, global. */
static bool plain_windows(const wick_node *node, pool_attr *a) {
    for (int d = 0; d < a->rank && a->adaptive; d++) {
        const int64_t in = node->in[0]->type.dims[d + 2];
        if (in % a->extent[d]) return false;
        a->kernel[d] = a->stride[d] = in / a->extent[d];
        a->dilation[d] = 1;
        a->pad[d] = a->pad_end[d] = 0;
    }
    return true;
}
/* Mean or largest over windows of any extents, a dim after the other. */
static void adaptive(onnx_export *e, const wick_node *node, const pool_attr *a, bool max) {
    onnx_name *y = wick_export_in(e, node, 0);
    for (int64_t d = 0; d < a->rank; d++) {
        const int64_t in = node->in[0]->type.dims[d + 2], out = a->extent[d], axis = d + 2;
        onnx_name **parts = wick_export_alloc(e, (size_t)out, sizeof *parts);
        for (int64_t o = 0; o < out && parts; o++)
            parts[o] = wick_export_reduce(
                e, max ? "ReduceMax" : "ReduceMean",
                wick_export_slice(e, y, axis, o * in / out, ((o + 1) * in + out - 1) / out, 1), 1, &axis, true);
        if (!parts) return;
        wick_export_int(e, "axis", axis);
        y = wick_export_node(e, "Concat", (int)out, parts);
    }
    wick_export_set(e, node, 0, y);
}
/* Makes pooling whose last windows may hang over the end (ceil_mode, of which there are readings) one whose padding
 * says so. What is beyond the padding counts nowhere. */
static onnx_name *close_windows(onnx_export *e, const wick_node *node, pool_attr *a, onnx_name *x, bool max) {
    const int rank = (int)a->rank, all = rank + 2;
    int64_t pads[2 * WICK_MAX_DIMS] = {0}, over[3];
    bool hangs = false, allowed = true;
    a->ceil = 0;
    for (int d = 0; d < rank; d++) {
        const int64_t in = node->in[0]->type.dims[d + 2], out = node->out[0].type.dims[d + 2];
        over[d] = WICK_MAX(0, (out - 1) * a->stride[d] + a->dilation[d] * (a->kernel[d] - 1) + 1 - in - a->pad[d] -
                                  a->pad_end[d]);
        hangs |= over[d] > 0;
        allowed &= a->pad_end[d] + over[d] < a->kernel[d];
    }
    if (!hangs) return x;
    const bool padded = max ? !allowed : !a->inside; /* by a node: a mean counts that padding, but not what is over */
    for (int d = 0; d < rank; d++) {
        if (padded) {
            pads[d + 2] = a->pad[d];
            pads[all + d + 2] = a->pad_end[d] + (max ? over[d] : 0);
            a->pad[d] = 0;
            a->pad_end[d] = max ? 0 : over[d];
        } else a->pad_end[d] += over[d];
    }
    a->inside = 1;
    if (!padded) return x;
    return ONNX(e, "Pad", x, wick_export_list(e, 2 * all, pads),
                wick_export_scalar(e, (wick_dtype)node->in[0]->type.dtype, max ? -INFINITY : 0));
}
static void pool(onnx_export *e, const wick_node *node) {
    /* index: in its plane; ONNX counts through all of them */
    const bool index = node->op == &wick_op_max_pool_index, max = index || node->op == &wick_op_max_pool;
    pool_attr a = *(const pool_attr *)node->attr;
    const int rank = (int)a.rank;
    bool global = true, fixed = true;
    for (int d = 0; d < rank; d++) {
        const int64_t in = node->in[0]->type.dims[d + 2];
        global &= a.adaptive ? a.extent[d] == 1
                             : a.kernel[d] == in && !a.pad[d] && !a.pad_end[d] && node->out[0].type.dims[d + 2] == 1;
        fixed &= wick_export_extent(e, node->in[0], d + 2).kind == ONNX_EXTENT_FIXED;
    }
    onnx_name *x = wick_export_in(e, node, 0);
    if (global && (a.adaptive || fixed) && !index) {
        wick_export_set(e, node, 0, ONNX(e, max ? "GlobalMaxPool" : "GlobalAveragePool", x));
        return;
    }
    if ((a.adaptive || index) && !fixed) {
        wick_export_unsupported(e, node, index ? "over symbolic extents" : "adaptive, over symbolic extents");
        return;
    }
    const bool plain = plain_windows(node, &a);
    if (!plain && !index) {
        adaptive(e, node, &a, max);
        return;
    }
    onnx_name *unpadded = x;
    if (plain && a.ceil && fixed) x = close_windows(e, node, &a, x, max);
    if (!plain || (index && x != unpadded)) {
        wick_export_unsupported(e, node, "of windows of several sizes");
        return;
    }
    window(e, "kernel_shape", rank, a.kernel, NULL, 0);
    window(e, "strides", rank, a.stride, NULL, 1);
    window(e, "pads", rank, a.pad, a.pad_end, 0);
    if (max) window(e, "dilations", rank, a.dilation, NULL, 1);
    if (a.ceil) wick_export_int(e, "ceil_mode", 1);
    if (!max && !a.inside) wick_export_int(e, "count_include_pad", 1);
    if (!index) {
        wick_export_set(e, node, 0, ONNX(e, max ? "MaxPool" : "AveragePool", x));
        return;
    }
    onnx_name *out[2];
    double plane = 1;
    for (int d = 0; d < rank; d++) plane *= (double)node->in[0]->type.dims[d + 2];
    wick_export_nodes(e, "MaxPool", 1, &x, 2, out);
    wick_export_set(e, node, 0, ONNX(e, "Mod", out[1], wick_export_scalar(e, WICK_I64, plane)));
}

/* ---- normalisation ----------------------------------------------------------------------------------------------- */

static void softmax(onnx_export *e, const wick_node *node) {
    wick_export_int(e, "axis", -1);
    wick_export_set(e, node, 0,
                    ONNX(e, node->op == &wick_op_softmax ? "Softmax" : "LogSoftmax", wick_export_in(e, node, 0)));
}

/* Moments beside the result are for gradients; they have a dim less. */
static void set_moment(onnx_export *e, const wick_node *node, int k, onnx_name *moment) {
    const int64_t last = node->in[0]->type.rank - 1;
    wick_export_set(e, node, k, node->out[k].type.rank == last ? wick_export_squeeze(e, moment, 1, &last) : moment);
}
static void layer_norm(onnx_export *e, const wick_node *node) {
    const double eps = *(const double *)node->attr;
    const wick_dtype d = (wick_dtype)node->out[0].type.dtype;
    const int64_t last = node->in[0]->type.rank - 1;
    onnx_name *x = wick_export_in(e, node, 0), *weight = node->n_in > 1 ? wick_export_in(e, node, 1) : NULL,
              *bias = node->n_in > 2 ? wick_export_in(e, node, 2) : NULL, *out[3];
    if (e->opset >= 17 && weight) {
        onnx_name *in[3] = {x, weight, bias ? bias : &wick_export_absent};
        wick_export_int(e, "axis", -1);
        wick_export_float(e, "epsilon", eps);
        wick_export_nodes(e, "LayerNormalization", 3, in, 3, out);
    } else {
        out[1] = wick_export_reduce(e, "ReduceMean", x, 1, &last, true);
        onnx_name *centred = ONNX(e, "Sub", x, out[1]),
                  *var = wick_export_reduce(e, "ReduceMean", ONNX(e, "Mul", centred, centred), 1, &last, true);
        out[2] = ONNX(e, "Reciprocal", ONNX(e, "Sqrt", ONNX(e, "Add", var, wick_export_scalar(e, d, eps))));
        out[0] = ONNX(e, "Mul", centred, out[2]);
        if (weight) out[0] = ONNX(e, "Mul", out[0], weight);
        if (bias) out[0] = ONNX(e, "Add", out[0], bias);
    }
    wick_export_set(e, node, 0, out[0]);
    for (int k = 1; k < 3; k++) set_moment(e, node, k, out[k]);
}
static void rms_norm(onnx_export *e, const wick_node *node) {
    const double eps = *(const double *)node->attr;
    const wick_dtype d = (wick_dtype)node->out[0].type.dtype;
    const int64_t last = node->in[0]->type.rank - 1;
    onnx_name *x = wick_export_in(e, node, 0), *weight = node->n_in > 1 ? wick_export_in(e, node, 1) : NULL;
    onnx_name *mean = wick_export_reduce(e, "ReduceMean", ONNX(e, "Mul", x, x), 1, &last, true);
    onnx_name *rstd = ONNX(e, "Reciprocal", ONNX(e, "Sqrt", ONNX(e, "Add", mean, wick_export_scalar(e, d, eps)))), *y;
    if (e->opset >= 23 && weight) {
        wick_export_int(e, "axis", -1);
        wick_export_float(e, "epsilon", eps);
        y = ONNX(e, "RMSNormalization", x, weight);
    } else {
        y = ONNX(e, "Mul", x, rstd);
        if (weight) y = ONNX(e, "Mul", y, weight);
    }
    wick_export_set(e, node, 0, y);
    set_moment(e, node, 1, rstd);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* 0 where query i sees key j <= i + shift, -Inf elsewhere: [Lq, Lk]. */
static onnx_name *causal_mask(onnx_export *e, const wick_node *node, const attention_attr *a) {
    const wick_dtype d = (wick_dtype)node->in[0]->type.dtype;
    const int64_t rows = node->in[0]->type.dims[2], cols = node->in[1]->type.dims[2], dims[2] = {rows, cols};
    const size_t elem = wick_dtype_size(d);
    if (wick_export_extent(e, node->in[0], 2).kind != ONNX_EXTENT_FIXED ||
        wick_export_extent(e, node->in[1], 2).kind != ONNX_EXTENT_FIXED) {
        wick_export_unsupported(e, node, "causal, with a symbolic length");
        return &wick_export_absent;
    }
    char *mask = wick_export_alloc(e, (size_t)(rows * cols) + 1, elem);
    const uint64_t never = wick_number_bits(d, -INFINITY);
    for (int64_t i = 0; i < rows && mask; i++)
        for (int64_t j = 0; j < cols; j++)
            if (j > i + a->shift) memcpy(mask + (size_t)(i * cols + j) * elem, &never, elem);
    return mask ? wick_export_array(e, d, 2, dims, mask) : &wick_export_absent;
}
/* [B, Hkv, L, D] as [B, H, L, D]: heads that are shared, once for each. */
static onnx_name *all_heads(onnx_export *e, const wick_node *node, int k) {
    const int64_t heads = node->in[0]->type.dims[1], shared = node->in[k]->type.dims[1];
    onnx_name *x = wick_export_in(e, node, k);
    if (heads == shared || !shared) return x;
    int64_t *index = wick_export_alloc(e, (size_t)heads, sizeof *index);
    for (int64_t h = 0; h < heads && index; h++) index[h] = h / (heads / shared);
    if (!index) return x;
    wick_export_int(e, "axis", 1);
    return ONNX(e, "Gather", x, wick_export_array(e, WICK_I64, 1, &heads, index));
}
static void attention(onnx_export *e, const wick_node *node) {
    const attention_attr *a = node->attr;
    const wick_dtype d = (wick_dtype)node->in[0]->type.dtype;
    if (a->dropout > 0) {
        wick_export_unsupported(e, node, "with dropout");
        return;
    }
    onnx_name *q = wick_export_in(e, node, 0), *k = all_heads(e, node, 1), *v = all_heads(e, node, 2);
    onnx_name *scores = ONNX(e, "MatMul", ONNX(e, "Mul", q, wick_export_scalar(e, d, a->scale)),
                             wick_export_transpose(e, k, 4, (const int64_t[]){0, 1, 3, 2}));
    if (a->masked) scores = ONNX(e, "Add", scores, wick_export_in(e, node, 3));
    if (a->causal) scores = ONNX(e, "Add", scores, causal_mask(e, node, a));
    wick_export_int(e, "axis", -1);
    wick_export_set(e, node, 0, ONNX(e, "MatMul", ONNX(e, "Softmax", scores), v));
    wick_export_set(e, node, 1, wick_export_reduce(e, "ReduceLogSumExp", scores, 1, &(int64_t){3}, false));
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* As a product with the weights along the axis, which comes last for it; places outside a crop are added. */
static void by_weights(onnx_export *e, const wick_node *node) {
    const resample_attr *a = node->attr;
    const wick_dtype d = (wick_dtype)node->in[0]->type.dtype;
    const int rank = node->in[0]->type.rank;
    const int64_t dims[2] = {a->in, a->out};
    resample_attr flat = *a;
    flat.axis = 1;
    wick_scope *scope = wick_scope_open(e->ctx);
    wick_tensor *units = wick_one_hot(wick_arange(e->ctx, WICK_I64, 0, 1, a->in), a->in, d),
                *nothing = wick_mul(wick_slice(units, 0, 0, 1, 1), wick_like(units, 0));
    wick_tensor *outside = wick_record(NULL, node->op, 1, &nothing, &flat, sizeof flat),
                *out = wick_sub(wick_record(NULL, node->op, 1, &units, &flat, sizeof flat), outside);
    const size_t row = (size_t)a->out * wick_dtype_size(d);
    void *weights = wick_export_alloc(e, (size_t)a->in, row), *added = wick_export_alloc(e, 1, row);
    const bool good = weights && added && wick_read(out, weights, (size_t)a->in * row) == WICK_OK &&
                      wick_read(outside, added, row) == WICK_OK;
    wick_scope_close(&scope);
    if (!good) {
        wick_export_unsupported(e, node, "as a matrix");
        return;
    }
    int64_t order[WICK_MAX_DIMS];
    for (int k = 0; k < rank; k++) order[k] = k;
    order[a->axis] = rank - 1;
    order[rank - 1] = a->axis;
    onnx_name *x = wick_export_transpose(e, wick_export_in(e, node, 0), rank, order);
    onnx_name *y = ONNX(e, "MatMul", x, wick_export_array(e, d, 2, dims, weights));
    if (a->coordinates == WICK_CROP_AND_RESIZE) y = ONNX(e, "Add", y, wick_export_array(e, d, 1, &a->out, added));
    wick_export_set(e, node, 0, wick_export_transpose(e, y, rank, order));
}

/* The nearest as the elements of given places, of any dtype. */
static void by_places(onnx_export *e, const wick_node *node) {
    const resample_attr *a = node->attr;
    resample_attr flat = *a;
    flat.axis = 0;
    wick_scope *scope = wick_scope_open(e->ctx);
    wick_tensor *places = wick_arange(e->ctx, WICK_I64, 0, 1, a->in);
    int64_t *at = wick_export_alloc(e, (size_t)a->out, sizeof *at);
    const bool good = at && wick_read(wick_record(NULL, node->op, 1, &places, &flat, sizeof flat), at,
                                      (size_t)a->out * sizeof *at) == WICK_OK;
    wick_scope_close(&scope);
    if (!good) {
        wick_export_unsupported(e, node, "as places");
        return;
    }
    wick_export_int(e, "axis", a->axis);
    onnx_name *from = wick_export_in(e, node, 0);
    wick_export_set(e, node, 0, ONNX(e, "Gather", from, wick_export_array(e, WICK_I64, 1, &a->out, at)));
}

/* Does ONNX Runtime compute something else, or the checker another extent? Where the scale does not give a whole number
 * of places, ONNX Runtime aligns corners by the whole number instead, and onnx rounds down what was not rounded to f32,
 * as Wick and ONNX Runtime do. */
static bool resampled_otherwise(const resample_attr *a) {
    const double exact = (double)(float)a->scale * (double)a->in;
    return a->scaled && (floor(exact) != (double)a->out ||
                         (a->coordinates == WICK_ALIGN_CORNERS && exact != (double)a->out));
}

/* Is it the same in all recordings, but for the extents? */
static bool resamples_alike(const onnx_export *e, const wick_node *node) {
    for (int r = 1; r < e->n_recordings; r++) {
        const resample_attr *a = node->attr;
        resample_attr b = *(const resample_attr *)e->at[r]->nodes[node->position]->attr;
        b.in = a->in, b.out = a->out;
        if (!a->scaled) b.scale = a->scale; /* follows from them */
        if (memcmp(a, &b, sizeof b)) return false;
    }
    return true;
}

static void resample(onnx_export *e, const wick_node *node) {
    static const char *const modes[] = {[WICK_NEAREST] = "nearest", [WICK_LINEAR] = "linear", [WICK_CUBIC] = "cubic"};
    static const char *const coordinates[] = {[WICK_HALF_PIXEL] = "half_pixel",
                                              [WICK_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric",
                                              [WICK_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
                                              [WICK_ALIGN_CORNERS] = "align_corners",
                                              [WICK_ASYMMETRIC] = "asymmetric",
                                              [WICK_CROP_AND_RESIZE] = "tf_crop_and_resize"};
    static const char *const roundings[] = {[WICK_ROUND_PREFER_FLOOR] = "round_prefer_floor",
                                            [WICK_ROUND_PREFER_CEIL] = "round_prefer_ceil",
                                            [WICK_ROUND_FLOOR] = "floor",
                                            [WICK_ROUND_CEIL] = "ceil"};
    const resample_attr *a = node->attr;
    const int rank = node->in[0]->type.rank;
    const bool linear = wick_export_extent(e, node->in[0], (int)a->axis).kind == ONNX_EXTENT_FIXED;
    if (!resamples_alike(e, node)) {
        wick_export_unsupported(e, node, wick_export_why_varies(e, node));
        return;
    }
    const bool up = a->coordinates == WICK_HALF_PIXEL_UP; /* no name in the opsets that are written */
    if (up && !linear) {
        wick_export_unsupported(e, node, "places of TensorFlow's nearest");
        return;
    }
    /* what ONNX Runtime resizes; young attributes, which run-times differ in */
    const bool usual = a->axis >= 2 && rank <= (a->mode == WICK_CUBIC ? 4 : 5) && (a->mode != WICK_CUBIC || rank == 4);
    const bool young = a->antialias || (a->coordinates == WICK_HALF_PIXEL_SYMMETRIC && e->opset < 19);
    if (linear && (up || young || (a->mode != WICK_NEAREST && !usual) || resampled_otherwise(a))) {
        if (a->mode == WICK_NEAREST && a->coordinates != WICK_CROP_AND_RESIZE) by_places(e, node);
        else if (wick_dtype_is_float((wick_dtype)node->in[0]->type.dtype)) by_weights(e, node);
        else wick_export_unsupported(e, node, "of integers, by a matrix");
        return;
    }
    float *scales = wick_export_alloc(e, (size_t)rank, sizeof *scales),
          *roi = wick_export_alloc(e, (size_t)rank * 2, sizeof *roi);
    onnx_name *sizes = &wick_export_absent, *by = &wick_export_absent;
    for (int d = 0; d < rank; d++) scales[d] = d == a->axis ? (float)a->scale : 1, roi[rank + d] = 1;
    roi[a->axis] = (float)a->start, roi[rank + a->axis] = (float)a->end;
    const int64_t n = rank, twice = 2 * rank;
    if (a->scaled) by = wick_export_array(e, WICK_F32, 1, &n, scales);
    else if (!(sizes = wick_export_shape(e, node, &node->out[0], false))) return;
    wick_export_text(e, "mode", modes[a->mode]);
    wick_export_text(e, "coordinate_transformation_mode", coordinates[a->coordinates]);
    if (a->mode == WICK_NEAREST) wick_export_text(e, "nearest_mode", roundings[a->rounding]);
    if (a->mode == WICK_CUBIC) wick_export_float(e, "cubic_coeff_a", a->cubic_a);
    if (a->exclude) wick_export_int(e, "exclude_outside", 1);
    if (a->antialias) wick_export_int(e, "antialias", 1);
    const bool crop = a->coordinates == WICK_CROP_AND_RESIZE;
    if (crop) wick_export_float(e, "extrapolation_value", a->fill);
    wick_export_set(e, node, 0,
                    ONNX(e, "Resize", wick_export_in(e, node, 0),
                         crop ? wick_export_array(e, WICK_F32, 1, &twice, roi) : &wick_export_absent, by, sizes));
}

static const onnx_export_row rows[] = {
    {&wick_op_matmul, matmul, false},
    {&wick_op_conv, conv, false},
    {&wick_op_conv_data, conv_data, true},
    {&wick_op_max_pool, pool, false},
    {&wick_op_max_pool_index, pool, false},
    {&wick_op_avg_pool, pool, false},
    {&wick_op_softmax, softmax, false},
    {&wick_op_log_softmax, softmax, false},
    {&wick_op_layer_norm, layer_norm, false},
    {&wick_op_rms_norm, rms_norm, false},
    {&wick_op_attention, attention, false},
    {&wick_op_resample, resample, true},
};
const onnx_export_rows wick_export_nn_rows = {rows, WICK_COUNTOF(rows)};
