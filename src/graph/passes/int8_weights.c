/* int8_weights.c: products of real numbers with dequantised weights of 8 bits, which stay such in memory:
 *
 *   matmul(x, dequantize(w)), w [k, n] with one scale, or one a column     int8_linear(x, w)
 *   matmul(x, permute(reshape(dequantize(w)))), w [n blocks, block]        likewise, with a scale for each block
 *   either + bias                                                          likewise, with the bias
 *
 * In compiled functions, where w is the same in each run: plans then keep the bytes as kernels read them, and no f32.
 * Sums of up to 4 rows round otherwise than those of f32 weights (wick_int8_linear). */
#include "graph/passes/rewrite.h"
#include "ops/attrs.h"
#include "wick/quantize.h"
#include "wick/shape.h"

/* w [n, k] of a product's second operand. */
typedef struct weights {
    wick_value *q, *scale, *zero; /* zero NULL: 0 */
    bool by_row;                  /* q is [n blocks, block]; else [k, n] or, turned, [n, k] */
    bool turned;
    int64_t n, k, block;
} weights;

static bool is_byte(const wick_type *t) { return t->dtype == WICK_I8 || t->dtype == WICK_U8; }

/* A swap of the dims of a matrix. */
static bool is_turn(const wick_node *n) {
    return n->op == &wick_op_permute && n->out[0].type.rank == 2 && ((const permute_attr *)n->attr)->axes[0] == 1;
}

/* reshape(q [n blocks, block]), perhaps without what is beyond k: what a scale for each row of q is a block's of. */
static const wick_node *blocks_of(const wick_node *v, weights *w) {
    int64_t k = v->out[0].type.rank == 2 ? v->out[0].type.dims[1] : -1;
    if (v->op == &wick_op_slice) {
        const slice_attr *a = v->attr;
        if (a->axis != 1 || a->start || a->step != 1) return NULL;
        v = v->in[0]->node;
    }
    const wick_type *t = &v->out[0].type, *q = v->n_in ? &v->in[0]->type : NULL;
    if (v->op != &wick_op_reshape || t->rank != 2 || q->rank != 2 || !q->dims[1] || t->dims[1] % q->dims[1] ||
        k <= t->dims[1] - q->dims[1])
        return NULL;
    w->by_row = true, w->block = q->dims[1], w->k = k, w->n = t->dims[0];
    return v->in[0]->node;
}

static bool find_weights(const wick_graph *graph, const wick_node *product, weights *w) {
    *w = (weights){.turned = false};
    if (product->op != &wick_op_matmul || product->n_in != 2 || ((const wick_matmul_attr *)product->attr)->relu ||
        product->in[0]->type.dtype != WICK_F32 || product->in[0]->node->op == &wick_op_dequantize ||
        product->in[1]->type.rank != 2)
        return false;
    const wick_node *v = product->in[1]->node;
    if (is_turn(v)) w->turned = true, v = v->in[0]->node;
    if (w->turned && v->op != &wick_op_dequantize) v = blocks_of(v, w);
    if (!v || v->op != &wick_op_dequantize || !is_byte(&v->in[0]->type) || v->in[0]->type.rank != 2 ||
        !wick_is_fixed(graph, v->in[0]) || !wick_is_fixed(graph, v->in[1]))
        return false;
    const wick_quantize_attr *a = v->attr;
    w->q = v->in[0], w->scale = v->in[1];
    w->zero = v->n_in > 2 && !wick_is_constant(v->in[2], 0) ? v->in[2] : NULL;
    if (w->zero && !wick_is_fixed(graph, w->zero)) return false;
    const bool each = w->scale->type.rank || (w->zero && w->zero->type.rank);
    if (w->by_row) return !each || a->axis == 0;
    w->n = product->in[1]->type.dims[1], w->k = w->block = product->in[1]->type.dims[0];
    return w->k > 0 && (!each || a->axis == !w->turned);
}

/* A scale or zero point for each block. */
static wick_tensor *by_block(wick_graph *graph, wick_value *v, const weights *w, int64_t blocks) {
    wick_tensor *t = wick_tensor_new(graph->ctx, v);
    const int64_t dims[] = {w->n, blocks}, one[] = {1, 1};
    return v->type.rank ? wick_reshape(t, 2, dims) : wick_expand(wick_reshape(t, 2, one), 2, dims);
}

static wick_node *product_of(wick_graph *graph, const wick_node *product, const weights *w, wick_value *bias) {
    const int64_t blocks = (w->k + w->block - 1) / w->block, dims[] = {w->n, blocks, w->block};
    wick_here(product->site);
    wick_tensor *q = wick_tensor_new(graph->ctx, w->q);
    if (!w->turned) q = wick_transpose(q, 0, 1);
    q = w->by_row ? wick_reshape(q, 3, dims) : wick_unsqueeze(q, 1);
    wick_tensor *zeros = w->zero ? by_block(graph, w->zero, w, blocks) : NULL;
    if (!zeros && w->q->type.dtype == WICK_U8) /* whose 0 is no weight of 0 */
        zeros = wick_expand(wick_reshape(wick_constant(graph->ctx, WICK_U8, 0), 2, (int64_t[]){1, 1}), 2, dims);
    const wick_tensor *made =
        wick_int8_linear(wick_tensor_new(graph->ctx, product->in[0]), q, by_block(graph, w->scale, w, blocks), zeros,
                         bias ? wick_tensor_new(graph->ctx, bias) : NULL);
    if (made->error) return graph->failed = true, NULL;
    wick_remark(graph->planning, "int8_weights", product, "its weights stay in 8 bits%s",
                w->block < w->k ? ", with a scale for each block" : "");
    return made->value->node;
}

/* A product and a bias, which nobody else reads. */
static wick_node *with_bias(wick_graph *graph, wick_node *add) {
    weights w;
    if (!(add->op->flags & WICK_OP_ELEMENTWISE) || add->op->ew != WICK_EW_add) return NULL;
    for (int k = 0; k < 2; k++) {
        const wick_value *v = add->in[k];
        wick_value *bias = add->in[1 - k];
        if (v->id != 1 || !wick_type_equal(&v->type, &add->out[0].type) || bias->type.rank != 1 ||
            bias->type.dtype != WICK_F32 || bias->type.dims[0] != v->type.dims[v->type.rank - 1] ||
            !find_weights(graph, v->node, &w))
            continue;
        return product_of(graph, v->node, &w, bias);
    }
    return NULL;
}
static wick_node *without_bias(wick_graph *graph, wick_node *node) {
    weights w;
    return find_weights(graph, node, &w) ? product_of(graph, node, &w, NULL) : NULL;
}

wick_status wick_pass_int8_weights(wick_graph *graph, wick_msg *msg) {
    bool any = false;
    for (size_t i = 0; i < graph->n; i++) any |= graph->nodes[i]->op == &wick_op_dequantize;
    if (!any || !graph->compiled || graph->differentiated) return WICK_OK;
    return wick_rewrite_in_turn(graph, 2, (wick_rule *const[]){with_bias, without_bias},
                                "looking for weights of 8 bits", msg);
}
