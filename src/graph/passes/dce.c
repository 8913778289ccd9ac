/* dce.c: nodes go that neither an output nor an effect needs. */
#include "graph/passes/rewrite.h"

wick_status wick_pass_dce(wick_graph *graph, wick_msg *msg) {
    (void)msg;
    uint32_t live = ++graph->ctx->walk;
    for (int i = 0; i < graph->n_outputs; i++) graph->outputs[i]->node->mark = live;
    for (size_t i = graph->n; i-- > 0;) {
        wick_node *node = graph->nodes[i];
        if (node->op->flags & WICK_OP_EFFECT) node->mark = live;
        if (node->mark != live) continue;
        for (int k = 0; k < node->n_in; k++) node->in[k]->node->mark = live;
    }
    size_t n = 0;
    for (size_t i = 0; i < graph->n; i++)
        if (graph->nodes[i]->mark == live) graph->nodes[n++] = graph->nodes[i];
    graph->n = n;
    return WICK_OK;
}
