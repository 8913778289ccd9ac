/* simplify.c: ops that change nothing go. Only rewrites that keep every bit: x + 0 is not one of them (-0 + 0 is +0).
 */
#include "graph/passes/rewrite.h"

/* Is v such that x * 1 has the bits of x? Arithmetic flushes denormals to zero, so floats must have come out of
 * arithmetic themselves. */
static bool is_flushed(const wick_value *v) {
    if (!wick_dtype_is_float(v->type.dtype)) return true;
    while (v->node->op->flags & WICK_OP_VIEW && v->node->n_in) v = v->node->in[0];
    /* stores to narrower floats may make new denormals */
    if (v->type.dtype != WICK_F32 && v->type.dtype != WICK_F64) return false;
    if (!(v->node->op->flags & WICK_OP_ELEMENTWISE)) return false;
    switch (v->node->op->ew) {
    case WICK_EW_add:
    case WICK_EW_sub:
    case WICK_EW_mul:
    case WICK_EW_div:
    case WICK_EW_square: return true;
    default: return false;
    }
}

/* The value that node's only result equals, or NULL. */
static wick_value *same_as(const wick_node *node) {
    const wick_op *op = node->op;
    if (node->n_out != 1 || !node->n_in) return NULL;
    wick_value *a = node->in[0], *b = node->n_in > 1 ? node->in[1] : NULL;
    const wick_type *t = &node->out[0].type;
    if (op == &wick_op_cast || op == &wick_op_reshape || op == &wick_op_expand || op == &wick_op_stop_gradient ||
        op == &wick_op_custom_gradient)
        return wick_type_equal(&a->type, t) ? a : NULL;
    if (op == &wick_op_permute) {
        const int64_t *axes = node->attr;
        for (int i = 0; i < t->rank; i++)
            if (axes[i] != i) return NULL;
        return a;
    }
    if (!(op->flags & WICK_OP_ELEMENTWISE)) return NULL;
    if (op->ew == WICK_EW_mul && wick_is_constant(a, 1) && wick_type_equal(&b->type, t) && is_flushed(b)) return b;
    if (!b || !wick_type_equal(&a->type, t) || !is_flushed(a)) return NULL;
    if ((op->ew == WICK_EW_mul || op->ew == WICK_EW_div) && wick_is_constant(b, 1)) return a;
    if (op->ew == WICK_EW_sub && wick_is_constant(b, 0)) return a;
    return NULL;
}

/* An elementwise op broadcasts by itself: an expand before it adds nothing when the other inputs have the full shape. A
 * reshape of a permutation and the like stay: they say where data lies. */
static void skip_expands(wick_node *node) {
    if (!(node->op->flags & WICK_OP_ELEMENTWISE)) return;
    for (int k = 0; k < node->n_in; k++) {
        wick_node *producer = node->in[k]->node;
        if (producer->op != &wick_op_expand) continue;
        wick_type t = producer->in[0]->type;
        bool same = true;
        for (int i = 0; i < node->n_in; i++) same &= i == k || wick_broadcast(&t, &node->in[i]->type);
        if (same && wick_same_dims(&t, &node->out[0].type)) node->in[k] = producer->in[0];
    }
}

wick_status wick_pass_simplify(wick_graph *graph, wick_msg *msg) {
    (void)msg;
    size_t n = 0;
    for (size_t i = 0; i < graph->n; i++) {
        wick_node *node = graph->nodes[i];
        wick_resolve_inputs(node);
        skip_expands(node);
        if (node->op == &wick_op_reshape && node->in[0]->node->op == &wick_op_reshape)
            node->in[0] = node->in[0]->node->in[0];
        wick_value *same = same_as(node);
        if (same)
            node->out[0].forward = same;
        else
            graph->nodes[n++] = node;
    }
    graph->n = n;
    wick_resolve_outputs(graph);
    return WICK_OK;
}
