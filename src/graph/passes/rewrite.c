/* rewrite.c: the loop that passes share which replace single nodes. */
#include "graph/passes/rewrite.h"

wick_status wick_rewrite(wick_graph *graph, wick_rule *rule, wick_msg *msg) {
    wick_node **old = graph->nodes;
    size_t n = graph->n;
    graph->nodes = NULL;
    graph->n = graph->cap = 0;
    for (size_t i = 0; i < n && !graph->failed; i++) {
        wick_node *node = old[i];
        wick_resolve_inputs(node);
        const size_t before = graph->n;
        graph->ctx->target = graph; /* what the rule makes comes before what reads it */
        wick_node *made = rule(graph, node);
        graph->ctx->target = NULL;
        for (size_t k = before; k < graph->n; k++) {
            if (!graph->nodes[k]->segment) graph->nodes[k]->segment = node->segment; /* unless the rule set it */
            graph->nodes[k]->flags |= node->flags & (WICK_NODE_BACKWARD | WICK_NODE_RECOMPUTED);
        }
        if (made)
            node->out[0].forward = &made->out[0];
        else
            wick_graph_push(graph, node);
    }
    wick_resolve_outputs(graph);
    return graph->failed ? wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory rewriting the graph") : WICK_OK;
}

void wick_note_fixed(wick_graph *graph, wick_node *node) {
    const uint32_t no = WICK_OP_EFFECT | WICK_OP_RANDOM | WICK_OP_FAULTS;
    bool fixed = !(node->op->flags & no) && !node->n_regions &&
                 (node->n_in || node->op == &wick_op_constant || node->op == &wick_op_data);
    for (int k = 0; k < node->n_in; k++) fixed &= wick_is_fixed(graph, node->in[k]);
    for (int i = 0; i < graph->n_outputs && node->op == &wick_op_data; i++)
        fixed &= !graph->output_leaf || graph->output_leaf[i] != (int32_t)node->slot[0];
    if (fixed) node->mark = graph->ctx->walk;
}

wick_status wick_rewrite_in_turn(wick_graph *graph, int n, wick_rule *const *rules, const char *doing, wick_msg *msg) {
    const char *site = wick_site();
    wick_scope *scope = wick_scope_open(graph->ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory %s", doing);
    wick_status status = WICK_OK;
    for (int i = 0; i < n && status == WICK_OK; i++) {
        ++graph->ctx->walk; /* whose marks dce takes over */
        for (size_t k = 0; k < graph->n; k++) wick_note_fixed(graph, graph->nodes[k]);
        wick_count_readers(graph);
        status = wick_rewrite(graph, rules[i], msg);
        if (status == WICK_OK) status = wick_pass_dce(graph, msg);
    }
    wick_scope_close(&scope);
    wick_here(site);
    return status;
}
