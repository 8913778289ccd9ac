/* rewrite.h: what small rewriting passes share. */
#ifndef WICK_GRAPH_REWRITE_H
#define WICK_GRAPH_REWRITE_H

#include "graph/graph.h"

/* Inputs name what replaced them. */
static inline void wick_resolve_inputs(wick_node *node) {
    for (int k = 0; k < node->n_in; k++) node->in[k] = wick_resolve(node->in[k]);
}
static inline void wick_resolve_outputs(wick_graph *graph) {
    for (int i = 0; i < graph->n_outputs; i++) graph->outputs[i] = wick_resolve(graph->outputs[i]);
}
/* Sets the id of every value to how many times it is read, outputs included. */
static inline void wick_count_readers(wick_graph *graph) {
    for (size_t i = 0; i < graph->n; i++)
        for (int k = 0; k < graph->nodes[i]->n_out; k++) graph->nodes[i]->out[k].id = 0;
    for (size_t i = 0; i < graph->n; i++)
        for (int k = 0; k < graph->nodes[i]->n_in; k++) graph->nodes[i]->in[k]->id++;
    for (int i = 0; i < graph->n_outputs; i++) graph->outputs[i]->id++;
}
/* Walks the graph in order and puts what rule makes, if it makes something, in the place of each node. */
typedef wick_node *wick_rule(wick_graph *graph, wick_node *node);
wick_status wick_rewrite(wick_graph *graph, wick_rule *rule, wick_msg *msg);
/* A pass of n rules, each over the whole graph, with readers counted and fixed values noted; what one left unused goes
 * before the next. doing: "scaling sums", of what there was no memory for. */
wick_status wick_rewrite_in_turn(wick_graph *graph, int n, wick_rule *const *rules, const char *doing, wick_msg *msg);
/* Does v follow from constants and from states that the plan doesn't assign alone? Of nodes that were noted, in order,
 * since the pass took ctx->walk as its own. */
static inline bool wick_is_fixed(const wick_graph *graph, const wick_value *v) {
    return v->node->mark == graph->ctx->walk;
}
void wick_note_fixed(wick_graph *graph, wick_node *node);
/* Is v the number x, in every element? */
static inline bool wick_is_constant(const wick_value *v, double x) {
    if (v->node->op != &wick_op_constant) return false;
    const wick_constant_attr *attr = v->node->attr;
    return attr->bits == wick_number_bits((wick_dtype)attr->type.dtype, x);
}

#endif
