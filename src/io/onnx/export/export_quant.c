/* export_quant.c: quantisation. Products in integers are said as ONNX's tools say them: floats between DequantizeLinear
 * and QuantizeLinear; sums alone as MatMulInteger and ConvInteger. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"
#include "wick/quantize.h"

#include <math.h>

/* Scale and zero point of one shape: a number is repeated where the other is a vector. */
static onnx_name *linear(onnx_export *e, const char *op, onnx_name *x, wick_value *scale, wick_value *zero,
                         int64_t axis) {
    onnx_name *s = wick_export_value(e, scale), *z = zero ? wick_export_value(e, zero) : &wick_export_absent;
    const wick_value *wide = scale->type.rank || !zero || !zero->type.rank ? scale : zero;
    if (wide->type.rank && !scale->type.rank) s = ONNX(e, "Expand", s, wick_export_list(e, 1, wide->type.dims));
    if (wide->type.rank && zero && !zero->type.rank) z = ONNX(e, "Expand", z, wick_export_list(e, 1, wide->type.dims));
    if (wide->type.rank) wick_export_int(e, "axis", axis);
    onnx_name *in[3] = {x, s, z};
    return wick_export_node(e, op, 3, in);
}

static void quantize(onnx_export *e, const wick_node *node) {
    const wick_quantize_attr *a = node->attr;
    if (a->dtype == WICK_I16 && e->opset < 21) {
        wick_export_unsupported(e, node, "of 16 bits before opset 21");
        return;
    }
    onnx_name *x = wick_export_in(e, node, 0);
    if (node->n_in > 2 || a->dtype == WICK_U8) {
        wick_export_set(e, node, 0,
                        linear(e, "QuantizeLinear", x, node->in[1], node->n_in > 2 ? node->in[2] : NULL, a->axis));
        return;
    }
    void *zeros = wick_export_alloc(e, 2 * (size_t)wick_type_count(&node->in[1]->type) + 1, 8); /* says the dtype */
    if (!zeros) return;
    onnx_name *in[3] = {
        x, wick_export_in(e, node, 1),
        wick_export_array(e, (wick_dtype)a->dtype, node->in[1]->type.rank, node->in[1]->type.dims, zeros)};
    if (node->in[1]->type.rank) wick_export_int(e, "axis", a->axis);
    wick_export_set(e, node, 0, wick_export_node(e, "QuantizeLinear", 3, in));
}
static void quantize_dynamic(onnx_export *e, const wick_node *node) {
    onnx_name *out[3];
    wick_export_nodes(e, "DynamicQuantizeLinear", 1, (onnx_name *[]){wick_export_in(e, node, 0)}, 3, out);
    for (int i = 0; i < 3; i++) wick_export_set(e, node, i, out[i]);
}
static void dequantize(onnx_export *e, const wick_node *node) {
    const wick_quantize_attr *a = node->attr;
    if (node->in[0]->type.dtype == WICK_I16 && e->opset < 21) {
        wick_export_unsupported(e, node, "of 16 bits before opset 21");
        return;
    }
    if (node->in[0]->type.dtype == WICK_I32 && node->n_in > 2) { /* which ONNX wants without a zero point */
        onnx_name *in[2] = {wick_export_in(e, node, 0), wick_export_in(e, node, 2)};
        const int64_t rank = node->in[0]->type.rank;
        int64_t around[WICK_MAX_DIMS];
        int n = 0;
        for (int64_t d = a->axis + 1; d < rank && node->in[2]->type.rank; d++) around[n] = n + 1, n++;
        if (n) in[1] = wick_export_unsqueeze(e, in[1], n, around);
        wick_export_set(e, node, 0,
                        linear(e, "DequantizeLinear", ONNX(e, "Sub", in[0], in[1]), node->in[1], NULL, a->axis));
        return;
    }
    /* weights of 4 bits, which opset 21 dequantises as they are */
    const wick_node *from = node->in[0]->node;
    const bool packed = node->n_in == 2 && from->op == &wick_op_cast &&
                        from->in[0]->type.dtype == WICK_I4 && node->in[0]->type.dtype == WICK_I8;
    wick_export_set(e, node, 0,
                    linear(e, "DequantizeLinear", packed ? wick_export_in(e, from, 0) : wick_export_in(e, node, 0),
                           node->in[1], node->n_in > 2 ? node->in[2] : NULL, a->axis));
}

static void queue_window(onnx_export *e, const wick_node *node, const wick_conv_attr *a) {
    const int rank = (int)a->rank;
    int64_t pads[6];
    for (int d = 0; d < rank; d++) pads[d] = a->pad[d], pads[rank + d] = a->pad_end[d];
    wick_export_ints(e, "kernel_shape", rank, node->in[1]->type.dims + 2);
    wick_export_ints(e, "strides", rank, a->stride);
    wick_export_ints(e, "dilations", rank, a->dilation);
    wick_export_ints(e, "pads", 2 * rank, pads);
    wick_export_int(e, "group", a->groups);
}

static void product(onnx_export *e, const wick_node *node) {
    const wick_int8_attr *a = node->attr;
    const bool conv = node->op == &wick_op_int8_conv,
               quantised = a->result == WICK_INT8_U8 || a->result == WICK_INT8_I8;
    wick_value *v[WICK_INT8_OPTIONAL] = {0};
    for (int k = 0, at = 2; k < WICK_INT8_OPTIONAL; k++)
        if (a->has >> k & 1) v[k] = node->in[at++];
    for (int d = 0; d < a->conv.rank && conv; d++)
        if (a->conv.pad_end[d] < 0) {
            wick_export_unsupported(e, node, "with negative padding");
            return;
        }
    onnx_name *in[4] = {wick_export_in(e, node, 0), wick_export_in(e, node, 1), &wick_export_absent,
                        &wick_export_absent};
    if (a->result == WICK_INT8_I32) {
        for (int k = 0; k < 2; k++)
            if (v[k]) in[2 + k] = wick_export_value(e, v[k]);
        if (conv) queue_window(e, node, &a->conv);
        wick_export_set(e, node, 0, wick_export_node(e, conv ? "ConvInteger" : "MatMulInteger", 4, in));
        return;
    }
    const int64_t axis = conv ? 0 : node->in[1]->type.rank - 1;
    in[0] = linear(e, "DequantizeLinear", in[0], v[WICK_INT8_A_SCALE], v[WICK_INT8_A_ZERO], 0);
    in[1] = linear(e, "DequantizeLinear", in[1], v[WICK_INT8_B_SCALE], v[WICK_INT8_B_ZERO], axis);
    onnx_name *bias = NULL;
    if (v[WICK_INT8_BIAS]) { /* a whole number of units */
        onnx_name *unit =
            ONNX(e, "Mul", wick_export_value(e, v[WICK_INT8_A_SCALE]), wick_export_value(e, v[WICK_INT8_B_SCALE]));
        bias = wick_export_value(e, v[WICK_INT8_BIAS]);
        if (v[WICK_INT8_BIAS]->type.dtype == WICK_I32) bias = ONNX(e, "Mul", wick_export_cast(e, bias, WICK_F32), unit);
        else if (quantised) bias = ONNX(e, "Mul", ONNX(e, "Round", ONNX(e, "Div", bias, unit)), unit);
        if (conv) in[2] = bias;
    }
    if (conv) queue_window(e, node, &a->conv);
    onnx_name *y = wick_export_node(e, conv ? "Conv" : "MatMul", 4, in);
    if (bias && !conv) y = ONNX(e, "Add", y, bias);
    if (a->low < a->high) {
        if (isfinite(a->low)) y = ONNX(e, "Max", y, wick_export_scalar(e, WICK_F32, a->low));
        if (isfinite(a->high)) y = ONNX(e, "Min", y, wick_export_scalar(e, WICK_F32, a->high));
    }
    if (quantised) {
        onnx_name *last[3] = {y, wick_export_value(e, v[WICK_INT8_SCALE]),
                              v[WICK_INT8_ZERO] ? wick_export_value(e, v[WICK_INT8_ZERO])
                                                : wick_export_scalar(e, (wick_dtype)node->out[0].type.dtype, 0)};
        y = wick_export_node(e, "QuantizeLinear", 3, last);
    }
    wick_export_set(e, node, 0, y);
}

/* ONNX Runtime's MatMulNBits, as ONNX's own has no product of such weights. */
static void int4_linear(onnx_export *e, const wick_node *node) {
    const wick_blocks_attr *a = node->attr;
    const wick_type *x = &node->in[0]->type, *q = &node->in[1]->type;
    const int zeros = a->has & WICK_BLOCKS_ZEROS ? 3 : 0, bias = a->has & WICK_BLOCKS_BIAS ? node->n_in - 1 : 0;
    if (x->dtype != WICK_F32 || !q->dims[0] || !q->dims[1]) {
        wick_export_unsupported(e, node, "of f64 or of no weights");
        return;
    }
    onnx_name *in[6] = {wick_export_in(e, node, 0), wick_export_in(e, node, 1),
                        wick_export_in(e, node, 2), zeros ? wick_export_in(e, node, zeros) : &wick_export_absent,
                        &wick_export_absent,        bias ? wick_export_in(e, node, bias) : &wick_export_absent};
    static const int64_t first[] = {0};
    if (x->rank == 1) in[0] = wick_export_unsqueeze(e, in[0], 1, first);
    wick_export_int(e, "K", x->dims[x->rank - 1]);
    wick_export_int(e, "N", q->dims[0]);
    wick_export_int(e, "bits", 4);
    wick_export_int(e, "block_size", 2 * q->dims[2]);
    onnx_name *y = wick_export_node(e, WICK_ONNX_CONTRIB "MatMulNBits", 6, in);
    wick_export_set(e, node, 0, x->rank == 1 ? wick_export_squeeze(e, y, 1, first) : y);
}
/* Dequantised by rows [n blocks, block], as wick_quantizer's are: passes find such again. */
static void int8_linear(onnx_export *e, const wick_node *node) {
    const wick_blocks_attr *a = node->attr;
    const wick_type *x = &node->in[0]->type, *q = &node->in[1]->type;
    const int64_t n = q->dims[0], blocks = q->dims[1], rows = n * blocks;
    if (!rows || x->dtype != WICK_F32) {
        wick_export_unsupported(e, node, "of f64 or of no weights");
        return;
    }
    onnx_name *one = wick_export_list(e, 1, &rows), *zeros = &wick_export_absent;
    if (a->has & WICK_BLOCKS_ZEROS) {
        zeros = ONNX(e, "Reshape", wick_export_in(e, node, 3), one);
    } else if (q->dtype == WICK_U8) {
        uint8_t *middle = wick_export_alloc(e, (size_t)rows, 1);
        if (!middle) return;
        memset(middle, 128, (size_t)rows);
        zeros = wick_export_array(e, WICK_U8, 1, &rows, middle);
    }
    onnx_name *in[3] = {
        ONNX(e, "Reshape", wick_export_in(e, node, 1), wick_export_list(e, 2, (int64_t[]){rows, q->dims[2]})),
        ONNX(e, "Reshape", wick_export_in(e, node, 2), one), zeros};
    wick_export_int(e, "axis", 0);
    onnx_name *w = wick_export_node(e, "DequantizeLinear", 3, in);
    w = ONNX(e, "Reshape", w, wick_export_list(e, 2, (int64_t[]){n, blocks * q->dims[2]}));
    if (blocks * q->dims[2] > x->dims[x->rank - 1]) w = wick_export_slice(e, w, 1, 0, x->dims[x->rank - 1], 1);
    onnx_name *y = ONNX(e, "MatMul", wick_export_in(e, node, 0), ONNX(e, "Transpose", w));
    if (a->has & WICK_BLOCKS_BIAS) y = ONNX(e, "Add", y, wick_export_in(e, node, node->n_in - 1));
    wick_export_set(e, node, 0, y);
}
/* [rows, numbers] as f32, of bytes [rows, ...] with two of them each. */
static onnx_name *halves(onnx_export *e, onnx_name *x, int64_t rows, int64_t bytes) {
    static const int64_t last[] = {2};
    x = wick_export_cast(e, ONNX(e, "Reshape", x, wick_export_list(e, 2, (int64_t[]){rows, bytes})), WICK_F32);
    onnx_name *high = ONNX(e, "Floor", ONNX(e, "Mul", x, wick_export_scalar(e, WICK_F32, 0.0625))),
              *low = ONNX(e, "Sub", x, ONNX(e, "Mul", high, wick_export_scalar(e, WICK_F32, 16)));
    onnx_name *pair[2] = {wick_export_unsqueeze(e, low, 1, last), wick_export_unsqueeze(e, high, 1, last)};
    wick_export_int(e, "axis", 2);
    return ONNX(e, "Reshape", wick_export_node(e, "Concat", 2, pair),
                wick_export_list(e, 2, (int64_t[]){rows, 2 * bytes}));
}
static void dequantize_blocks(onnx_export *e, const wick_node *node) {
    const wick_blocks_attr *a = node->attr;
    const int64_t *q = node->in[0]->type.dims, n = q[0], blocks = q[1], block = 2 * q[2];
    if (!n || !blocks) {
        wick_export_unsupported(e, node, "of no weights");
        return;
    }
    const int64_t each[] = {n, blocks, block}, one[] = {n, blocks, 1};
    onnx_name *w = ONNX(e, "Reshape", halves(e, wick_export_in(e, node, 0), n, blocks * block / 2),
                        wick_export_list(e, 3, each)),
              *zero = wick_export_scalar(e, WICK_F32, 8);
    if (a->has & WICK_BLOCKS_ZEROS) {
        zero = wick_export_slice(e, halves(e, wick_export_in(e, node, 2), n, (blocks + 1) / 2), 1, 0, blocks, 1);
        zero = ONNX(e, "Reshape", zero, wick_export_list(e, 3, one));
    }
    w = ONNX(e, "Mul", ONNX(e, "Sub", w, zero),
             ONNX(e, "Reshape", wick_export_in(e, node, 1), wick_export_list(e, 3, one)));
    w = ONNX(e, "Reshape", w, wick_export_list(e, 2, (int64_t[]){n, blocks * block}));
    wick_export_set(e, node, 0, wick_export_slice(e, w, 1, 0, a->k, 1));
}

static const onnx_export_row rows[] = {
    {&wick_op_int4_linear, int4_linear, false},
    {&wick_op_int8_linear, int8_linear, false},
    {&wick_op_dequantize_blocks, dequantize_blocks, false},
    {&wick_op_quantize, quantize, false},
    {&wick_op_quantize_dynamic, quantize_dynamic, false},
    {&wick_op_dequantize, dequantize, false},
    {&wick_op_int8_matmul, product, false},
    {&wick_op_int8_conv, product, false},
};
const onnx_export_rows wick_export_quant_rows = {rows, WICK_COUNTOF(rows)};
