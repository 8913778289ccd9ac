/* transpose.c: the transpose of a product is the product of the transposes, in the other order: (A B)' = B' A'.
 * Products take their operands in any layout, so the transposes on the right cost nothing, while whoever reads the one
 * on the left would walk memory across its rows. Gradients of weights that are used transposed come out this way. Every
 * element is the same sum in the same order: the bits stay. Also where the product is widened in between. */
#include "graph/passes/rewrite.h"

static bool swaps_last_two(const wick_node *node) {
    if (node->op != &wick_op_permute) return false;
    const int64_t *axes = node->attr;
    int rank = node->out[0].type.rank;
    for (int i = 0; i < rank - 2; i++)
        if (axes[i] != i) return false;
    return rank >= 2 && axes[rank - 1] == rank - 2 && axes[rank - 2] == rank - 1;
}

static wick_value *transposed(wick_graph *graph, wick_value *v) {
    if (swaps_last_two(v->node)) return v->node->in[0];
    int64_t axes[WICK_MAX_DIMS] = {0};
    wick_type t = v->type;
    int rank = t.rank;
    for (int i = 0; i < rank; i++) axes[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    t.dims[rank - 1] = v->type.dims[rank - 2];
    t.dims[rank - 2] = v->type.dims[rank - 1];
    wick_node *node = wick_node_new(graph->ctx, &wick_op_permute, 1, &v, 1, &t, axes, sizeof axes);
    return node ? &node->out[0] : NULL;
}

static wick_node *swapped_product(wick_graph *graph, wick_node *permute) {
    if (!swaps_last_two(permute) || permute->in[0]->id != 1) return NULL;
    /* mixed precision widens what a product gives */
    const wick_node *cast = permute->in[0]->node->op == &wick_op_cast ? permute->in[0]->node : NULL;
    const wick_value *result = cast ? cast->in[0] : permute->in[0];
    if (result->node->op != &wick_op_matmul || result->id != 1) return NULL;
    const wick_node *product = result->node;
    wick_type type = permute->out[0].type;
    type.dtype = result->type.dtype;
    wick_value *in[2] = {transposed(graph, product->in[1]), transposed(graph, product->in[0])};
    wick_node *node = in[0] && in[1] ? wick_node_new(graph->ctx, &wick_op_matmul, 2, in, 1, &type,
                                                     &(wick_matmul_attr){0}, sizeof(wick_matmul_attr))
                                     : NULL;
    if (node) node->site = product->site;
    if (!node || !cast) return node;
    wick_node *wide = wick_node_new(graph->ctx, &wick_op_cast, 1, &(wick_value *){&node->out[0]}, 1,
                                    &permute->out[0].type, cast->attr, cast->attr_size);
    if (wide) wide->site = cast->site, wide->segment = cast->segment;
    return wide;
}

wick_status wick_pass_transpose(wick_graph *graph, wick_msg *msg) {
    wick_count_readers(graph);
    return wick_rewrite(graph, swapped_product, msg);
}
