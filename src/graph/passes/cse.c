/* cse.c: nodes that compute the same from the same become one. Random nodes, effects and leaves are never merged. */
#include "graph/passes/rewrite.h"

static bool mergeable(const wick_node *node) {
    return !(node->op->flags & (WICK_OP_EFFECT | WICK_OP_RANDOM | WICK_OP_VARIES)) && node->op != &wick_op_data &&
           node->op != &wick_op_slot && node->op != &wick_op_input && !node->n_regions;
}

static uint64_t hash(const wick_node *node) {
    uint64_t h = wick_hash(&node->op, sizeof node->op, 0);
    h = wick_hash(node->attr, node->attr_size, h);
    return wick_hash(node->in, node->n_in * sizeof *node->in, h);
}

static bool equal(const wick_node *a, const wick_node *b) {
    return a->op == b->op && a->n_in == b->n_in && a->n_out == b->n_out && a->attr_size == b->attr_size &&
           !memcmp(a->attr, b->attr, a->attr_size) && !memcmp(a->in, b->in, a->n_in * sizeof *a->in) &&
           wick_type_equal(&a->out[0].type, &b->out[0].type);
}

wick_status wick_pass_cse(wick_graph *graph, wick_msg *msg) {
    size_t cap = 16;
    while (cap < 2 * graph->n) cap *= 2;
    wick_node **table = wick_calloc(&graph->ctx->alloc, cap * sizeof *table);
    if (!table) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory merging nodes");
    size_t n = 0;
    for (size_t i = 0; i < graph->n; i++) {
        wick_node *node = graph->nodes[i];
        wick_resolve_inputs(node);
        if (mergeable(node)) {
            size_t at = hash(node) & (cap - 1);
            while (table[at] && !equal(table[at], node)) at = (at + 1) & (cap - 1);
            if (table[at]) {
                for (int k = 0; k < node->n_out; k++) node->out[k].forward = &table[at]->out[k];
                continue;
            }
            table[at] = node;
        }
        graph->nodes[n++] = node;
    }
    graph->n = n;
    wick_release(&graph->ctx->alloc, table, cap * sizeof *table);
    wick_resolve_outputs(graph);
    return WICK_OK;
}
