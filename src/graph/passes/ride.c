/* ride.c: marks elementwise kernels that read the whole result of a product or a convolution. They may become its
 * epilogue: run on each part of the result as soon as that is made and while it is in cache, instead of in a pass of
 * their own. It does not matter what they compute, or who else reads the result; the arithmetic stays the same.
 * exec/rewrite/epilogue.c decides where it is done. */
#include "graph/passes/rewrite.h"

/* A program without a reduction? */
static bool is_elementwise(const wick_node *node) {
    if (node->op == &wick_op_fused)
        return !(node->regions[0]->nodes[node->regions[0]->n - 1]->op->flags & WICK_OP_REDUCE);
    return wick_node_fuses(node);
}

/* By tasks that know which part of the result they make. */
static bool is_product(const wick_value *v) {
    const uint8_t dtype = v->type.dtype;
    return v->node && (v->node->op == &wick_op_matmul || v->node->op == &wick_op_conv) &&
           (dtype == WICK_F32 || dtype == WICK_F64);
}

wick_status wick_pass_ride(wick_graph *graph, wick_msg *msg) {
    (void)msg;
    /* both results are alive at once: where memory is short, one after the other */
    if (wick_live_target(graph->planning)) return WICK_OK;
    for (size_t i = 0; i < graph->n; i++) {
        wick_node *node = graph->nodes[i];
        if (!is_elementwise(node)) continue;
        for (int k = 0; k < node->n_in; k++)
            if (is_product(node->in[k]) && wick_same_dims(&node->in[k]->type, &node->out[0].type))
                node->flags |= WICK_NODE_RIDES;
    }
    return WICK_OK;
}
