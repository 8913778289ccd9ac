/* verify.c: what every graph must satisfy after every pass, as a table of rules. */
#include "graph/graph.h"

/* A rule looks at one node; NULL when it holds, else what is wrong. seen(v): v is defined before the node. */
typedef struct state {
    wick_graph *graph;
    const wick_node *node;
} state;

static bool defined(const state *s, const wick_value *v) {
    for (int i = 0; i < s->graph->n_inputs; i++)
        if (s->graph->inputs[i] == v) return true;
    const wick_node *n = v->node;
    return n && n->position < s->node->position && n->position < s->graph->n && s->graph->nodes[n->position] == n &&
           v->index < n->n_out && &n->out[v->index] == v;
}

static const char *inputs_are_defined_before(const state *s) {
    for (int i = 0; i < s->node->n_in; i++)
        if (!s->node->in[i] || s->node->in[i]->forward || !defined(s, s->node->in[i]))
            return "an input is not defined before the node";
    return NULL;
}
static const char *number_of_inputs_fits(const state *s) {
    const wick_op *op = s->node->op;
    return s->node->n_in < op->min_in || (op->max_in != 255 && s->node->n_in > op->max_in)
               ? "the number of inputs does not fit the op"
               : NULL;
}
static const char *number_of_results_fits(const state *s) {
    return s->node->op->n_out && s->node->n_out != s->node->op->n_out ? "the number of results does not fit the op"
                                                                      : NULL;
}
static const char *types_follow_from_the_rule(const state *s) {
    const wick_node *n = s->node;
    if (n->op->flags & WICK_OP_LEAF || n->op == &wick_op_fused || n->n_out > 8 || n->n_in > 64) return NULL;
    const wick_type *in[64];
    wick_type out[8];
    for (int i = 0; i < n->n_in; i++) in[i] = &n->in[i]->type;
    memset(out, 0, sizeof out);
    wick_infer infer;
    infer.op = n->op, infer.n_in = n->n_in, infer.n_out = n->n_out, infer.in = in, infer.attr = n->attr,
    infer.out = out;
    if (n->op->infer(&infer) != WICK_OK) return "its own shape rule refuses the inputs";
    for (int i = 0; i < n->n_out; i++)
        if (out[i].dtype != n->out[i].type.dtype || !wick_same_dims(&out[i], &n->out[i].type))
            return "a result's type is not the one its rule gives";
    return NULL;
}
static const char *devices_agree(const state *s) { /* copies between devices will be nodes of their own */
    const wick_node *n = s->node;
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i]->type.device != n->in[0]->type.device) return "inputs live on different devices";
    for (int k = 0; k < n->n_out; k++)
        if (n->n_in && n->out[k].type.device != n->in[0]->type.device)
            return "a result lives on another device than the inputs";
    return NULL;
}
static const char *symbols_exist(const state *s) {
    for (int k = 0; k < s->node->n_out; k++)
        for (int i = 0; i < s->node->out[k].type.rank; i++)
            if (WICK_IS_SYMBOL(s->node->out[k].type.dims[i]) &&
                WICK_SYMBOL_OF(s->node->out[k].type.dims[i]) >= s->graph->n_symbols)
                return "a dim names a symbol that the graph does not have";
    return NULL;
}
static const char *commits_cannot_fail(const state *s) {
    return s->node->phase && s->node->op->flags & (WICK_OP_FAULTS | WICK_OP_EFFECT)
               ? "a node that can fail is in the commit phase"
               : NULL;
}
static const char *commits_come_last(const state *s) {
    if (s->node->phase) return NULL;
    for (int i = 0; i < s->node->n_in; i++)
        if (s->node->in[i]->node && s->node->in[i]->node->phase) return "a node reads a result of the commit phase";
    return NULL;
}
static const char *fused_programs_fit(const state *s) {
    if (s->node->op != &wick_op_fused) return NULL;
    if (s->node->n_regions != 1) return "a fused node has one region";
    const wick_graph *body = s->node->regions[0];
    if (body->n > WICK_FUSED_MAX_OPS || body->n_inputs != s->node->n_in || body->n_outputs != s->node->n_out ||
        s->node->n_in > WICK_FUSED_MAX_IO || s->node->n_out > WICK_FUSED_MAX_IO)
        return "a fused region's inputs, outputs or size do not fit";
    for (size_t i = 0; i < body->n; i++)
        if (!(body->nodes[i]->op->flags & (WICK_OP_ELEMENTWISE | WICK_OP_REDUCE)) ||
            (body->nodes[i]->op->flags & WICK_OP_REDUCE && i + 1 != body->n))
            return "a fused region holds something that is neither elementwise nor a final reduction";
    return NULL;
}

static const char *(*const rules[])(const state *) = {
    inputs_are_defined_before, number_of_inputs_fits, number_of_results_fits, types_follow_from_the_rule, devices_agree,
    symbols_exist,             commits_cannot_fail,   commits_come_last,      fused_programs_fit,
};

wick_status wick_graph_verify(wick_graph *graph, wick_msg *msg) {
    if (graph->failed) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory rewriting the graph");
    wick_graph_number(graph);
    for (size_t i = 0; i < graph->n; i++) {
        state s = {graph, graph->nodes[i]};
        for (size_t r = 0; r < WICK_COUNTOF(rules); r++) {
            const char *wrong = rules[r](&s);
            if (wrong) return wick_msg_set(msg, WICK_ERR_INTERNAL, "node %zu (%s): %s", i, s.node->op->name, wrong);
        }
        for (int k = 0; k < graph->nodes[i]->n_regions; k++)
            WICK_TRY(wick_graph_verify(graph->nodes[i]->regions[k], msg));
    }
    for (int i = 0; i < graph->n_outputs; i++) {
        const wick_value *v = graph->outputs[i];
        bool here = v && !v->forward && v->node->position < graph->n && graph->nodes[v->node->position] == v->node;
        for (int k = 0; !here && k < graph->n_inputs; k++) here = graph->inputs[k] == v;
        if (!here) return wick_msg_set(msg, WICK_ERR_INTERNAL, "output %d is not a value of the graph", i);
    }
    return WICK_OK;
}

/* ---- symbolic dims ----------------------------------------------------------------------------------------------- */

static void bind_type(wick_type *t, const int64_t *extents) {
    for (int i = 0; i < t->rank; i++)
        if (WICK_IS_SYMBOL(t->dims[i])) t->dims[i] = extents[WICK_SYMBOL_OF(t->dims[i])];
}

wick_status wick_graph_bind(wick_graph *graph, const int64_t *extents, wick_msg *msg) {
    for (int i = 0; i < graph->n_symbols; i++)
        if (extents[i] < graph->symbols[i].min || extents[i] > graph->symbols[i].max)
            return wick_msg_set(msg, WICK_ERR_SHAPE, "dim %s is %lld, outside its range %lld..%lld",
                                graph->symbols[i].name, (long long)extents[i], (long long)graph->symbols[i].min,
                                (long long)graph->symbols[i].max);
    for (size_t n = 0; n < graph->n; n++) {
        wick_node *node = graph->nodes[n];
        if (node->op->flags & WICK_OP_LEAF) {
            for (int k = 0; k < node->n_out; k++) bind_type(&node->out[k].type, extents);
            if (node->attr_size >= sizeof(wick_type)) bind_type(node->attr, extents);
            continue;
        }
        const wick_type *in[64];
        wick_type out[8];
        if (node->n_in > 64 || node->n_out > 8)
            return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: too many inputs to bind dims", node->op->name);
        for (int k = 0; k < node->n_in; k++) in[k] = &node->in[k]->type;
        memset(out, 0, sizeof out);
        wick_infer infer;
        infer.op = node->op, infer.n_in = node->n_in, infer.n_out = node->n_out, infer.in = in, infer.attr = node->attr,
        infer.out = out;
        infer.text[0] = 0;
        wick_status status = node->op->infer(&infer);
        if (status != WICK_OK) return wick_msg_set(msg, status, "%s: %s", node->op->name, infer.text);
        for (int k = 0; k < node->n_out; k++) {
            out[k].device = node->out[k].type.device;
            node->out[k].type = out[k];
        }
    }
    graph->n_symbols = 0;
    return WICK_OK;
}
