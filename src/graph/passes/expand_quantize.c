/* expand_quantize.c: what no integer op took of quantise and dequantise nodes becomes the elementwise ops that they
 * stand for, which fuse. */
#include "graph/passes/rewrite.h"

static wick_node *written_out(wick_graph *graph, wick_node *node) {
    if (node->op != &wick_op_quantize && node->op != &wick_op_dequantize) return NULL;
    wick_tensor *in[3];
    for (int i = 0; i < node->n_in; i++) in[i] = wick_tensor_new(graph->ctx, node->in[i]);
    wick_here(node->site);
    const wick_tensor *made = wick_quantize_written_out(node, in);
    if (made->error) graph->failed = true; /* of memory: the types are right */
    return made->error ? NULL : made->value->node;
}

/* A value that is the same in each run, or so it looks: weights. */
static bool is_constant(const wick_value *v) {
    const wick_node *n = v->node;
    for (int deep = 0; deep < 4 && n->n_in == 1; deep++) n = n->in[0]->node; /* packed numbers, moves */
    return n->op == &wick_op_data || n->op == &wick_op_constant;
}
static bool is_product(const wick_node *n) {
    return n->op == &wick_op_int8_conv || n->op == &wick_op_int8_matmul || n->op == &wick_op_int8_linear ||
           n->op == &wick_op_int4_linear;
}
/* Counts what is there, and where a quantised value is only dequantised again. */
static void count(wick_graph *graph) {
    struct wick_graph_quantised *q = &graph->quantised;
    wick_count_readers(graph);
    for (size_t i = 0; i < graph->n; i++) {
        const wick_node *node = graph->nodes[i];
        q->products += is_product(node);
        q->quantise += node->op == &wick_op_quantize && !is_constant(node->in[0]);
        if (node->op != &wick_op_dequantize || is_constant(node->in[0])) continue;
        q->dequantise++;
        if (node->in[0]->node->op == &wick_op_quantize && !--node->in[0]->id) {
            q->orphans++;
            wick_remark(graph->planning, "expand_quantize", node,
                        "what it takes was quantised for it alone: the pair only rounds");
        }
    }
}

wick_status wick_pass_expand_quantize(wick_graph *graph, wick_msg *msg) {
    bool any = false, products = false;
    for (size_t i = 0; i < graph->n; i++) {
        any |= graph->nodes[i]->op == &wick_op_quantize || graph->nodes[i]->op == &wick_op_dequantize;
        products |= is_product(graph->nodes[i]);
    }
    graph->quantised = (struct wick_graph_quantised){0};
    if (any || products) count(graph);
    if (!any) return WICK_OK;
    const char *site = wick_site();
    wick_scope *scope = wick_scope_open(graph->ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory writing out quantisation");
    const wick_status status = wick_rewrite(graph, written_out, msg);
    wick_scope_close(&scope);
    wick_here(site);
    return status;
}
