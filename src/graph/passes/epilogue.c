/* epilogue.c: a bias and a ReLU after a product are applied to its tiles while they are in cache. Only when nobody else
 * reads what lies between; the arithmetic is the same. */
#include "graph/passes/rewrite.h"

/* The product that `add` adds a row vector to, its only reader; *bias is the vector. */
static wick_node *biased_product(const wick_node *add, wick_value **bias) {
    if (!(add->op->flags & WICK_OP_ELEMENTWISE) || add->op->ew != WICK_EW_add) return NULL;
    for (int k = 0; k < 2; k++) {
        wick_node *product = add->in[k]->node;
        wick_value *b = add->in[1 - k];
        if (product->op != &wick_op_matmul || product->n_in != 2 || add->in[k]->id != 1) continue;
        if (((const wick_matmul_attr *)product->attr)->relu) continue; /* that comes before the sum */
        const wick_type *t = &product->out[0].type;
        if (b->type.rank != 1 || b->type.dims[0] != t->dims[t->rank - 1] || !wick_type_equal(&add->out[0].type, t))
            continue;
        *bias = b;
        return product;
    }
    return NULL;
}

/* The convolution in front of a ReLU, with that ReLU. */
static wick_node *rectified_conv(wick_graph *graph, const wick_node *relu, const wick_node *conv) {
    wick_node *fused = wick_graph_copy_node(graph, conv, conv->in);
    if (!fused) return NULL;
    ((wick_conv_attr *)fused->attr)->relu = 1;
    fused->out[0].id = relu->out[0].id;
    return fused;
}

/* Of a bias or a ReLU behind a product: says why it stays a pass of its own. */
static void remark_left(wick_graph *graph, const wick_node *node) {
    if (!wick_remarks(graph->planning) || !(node->op->flags & WICK_OP_ELEMENTWISE) ||
        (node->op->ew != WICK_EW_add && node->op->ew != WICK_EW_relu))
        return;
    for (int k = 0; k < node->n_in; k++) {
        const wick_node *product = node->in[k]->node;
        const wick_op *op = product->op;
        if (op != &wick_op_matmul && op != &wick_op_conv) continue;
        const char *why = "only a row vector of its width is added in the product";
        if (node->in[k]->id != 1) why = "what lies between is read by others too";
        else if (node->op->ew == WICK_EW_add && op == &wick_op_conv) why = "convolutions take a bias as an input";
        else if (!wick_dtype_is_float(product->out[0].type.dtype)) why = "products of integers have no epilogue";
        wick_remark(graph->planning, "epilogue", product, "%s not taken along: %s", node->op->name, why);
    }
}

/* A product with an epilogue that computes what node does, or NULL. */
static wick_node *with_epilogue(wick_graph *graph, wick_node *node) {
    if (node->n_out != 1 || node->out[0].type.rank < 2) return NULL;
    bool relu = node->op->flags & WICK_OP_ELEMENTWISE && node->op->ew == WICK_EW_relu;
    wick_value *bias = NULL;
    const wick_node *product = NULL;
    if (relu && node->in[0]->id == 1 && node->in[0]->node->op == &wick_op_conv)
        return rectified_conv(graph, node, node->in[0]->node);
    if (!relu)
        product = biased_product(node, &bias);
    else if (node->in[0]->id == 1 && node->in[0]->node->op == &wick_op_matmul) {
        /* plain, or with the bias it was given just now */
        product = node->in[0]->node;
        bias = product->n_in == 3 ? product->in[2] : NULL;
    }
    /* products of integers have no epilogue */
    if (!product || !wick_dtype_is_float(product->out[0].type.dtype)) return NULL;
    wick_value *in[3] = {product->in[0], product->in[1], bias};
    wick_matmul_attr attr = {.relu = relu};
    wick_node *fused =
        wick_node_new(graph->ctx, &wick_op_matmul, 2 + (bias != NULL), in, 1, &node->out[0].type, &attr, sizeof attr);
    if (!fused) return NULL;
    fused->site = product->site;
    fused->out[0].id = node->out[0].id;
    return fused;
}

static wick_node *taken_or_left(wick_graph *graph, wick_node *node) {
    wick_node *made = with_epilogue(graph, node);
    if (made) wick_remark(graph->planning, "epilogue", made, "%s taken along", node->op->name);
    else remark_left(graph, node);
    return made;
}

wick_status wick_pass_epilogue(wick_graph *graph, wick_msg *msg) {
    wick_count_readers(graph);
    return wick_rewrite(graph, taken_or_left, msg);
}
