/* gather_first.c: where less is gathered than there is, elementwise ops before a gather are done behind it, on what was
 * gathered alone:
 *
 *   gather(cast(table) * scale)        cast(gather(table)) * gather(scale)
 *
 * Exporters leave embeddings of 8 bits so. Every bit stays, but ops that may fault are not moved. */
#include "graph/passes/rewrite.h"
#include "wick/ops.h"
#include "wick/shape.h"

enum { DEPTH = 32, EW_MOST = 8 }; /* elementwise ops one behind the other; inputs of one */

/* The axis of a gather, first in its attribute. */
static int axis_of(const wick_node *gather) {
    int64_t axis;
    memcpy(&axis, gather->attr, sizeof axis);
    return (int)axis;
}

/* Is v made by an op that may go behind a gather along this axis, and read by nobody else? */
static bool may_go(const wick_value *v, int axis) {
    const wick_node *node = v->node;
    return node->op->flags & WICK_OP_ELEMENTWISE && !(node->op->flags & WICK_OP_FAULTS) && node->n_out == 1 &&
           node->n_in > 0 && node->n_in <= EW_MOST && v->id == 1 && v->type.dims[axis] > 1;
}

/* What the gather takes of v along axis; v may be broadcast there. NULL: out of memory. */
static wick_value *gathered(wick_graph *graph, wick_value *v, int axis, const wick_node *gather, int depth) {
    const wick_type *t = &v->type, *index = &gather->in[1]->type;
    if (axis < 0) return v;
    wick_type type = {.dtype = t->dtype, .rank = (uint8_t)(t->rank - 1 + index->rank)};
    for (int d = 0; d < type.rank; d++)
        type.dims[d] = d < axis                 ? t->dims[d]
                       : d < axis + index->rank ? t->dims[axis] == 1 ? 1 : index->dims[d - axis]
                                                : t->dims[d - index->rank + 1];
    if (t->dims[axis] == 1) {
        wick_tensor *same = wick_reshape(wick_tensor_new(graph->ctx, v), type.rank, type.dims);
        return !same || same->error ? NULL : same->value;
    }
    if (depth == DEPTH || !may_go(v, axis)) {
        wick_value *in[2] = {v, gather->in[1]};
        wick_node *made = wick_node_new(graph->ctx, gather->op, 2, in, 1, &type, gather->attr, gather->attr_size);
        if (!made) return NULL;
        const int64_t along = axis;
        memcpy(made->attr, &along, sizeof along);
        made->site = gather->site;
        return &made->out[0];
    }
    const wick_node *node = v->node;
    wick_value *in[EW_MOST];
    for (int k = 0; k < node->n_in; k++)
        if (!(in[k] = gathered(graph, node->in[k], axis - (t->rank - node->in[k]->type.rank), gather, depth + 1)))
            return NULL;
    wick_node *made = wick_node_new(graph->ctx, node->op, node->n_in, in, 1, &type, node->attr, node->attr_size);
    if (!made) return NULL;
    made->site = node->site;
    return &made->out[0];
}

static wick_node *rule(wick_graph *graph, wick_node *node) {
    if (node->op != &wick_op_gather) return NULL;
    const int axis = axis_of(node);
    if (!may_go(node->in[0], axis) || wick_type_count(&node->out[0].type) >= wick_type_count(&node->in[0]->type))
        return NULL;
    wick_here(node->site);
    wick_value *made = gathered(graph, node->in[0], axis, node, 0);
    if (!made) {
        graph->failed = true;
        return NULL;
    }
    made->id = node->out[0].id;
    wick_remark(graph->planning, "gather_first", node, "rows are gathered before the elementwise ops on them");
    return made->node;
}

wick_status wick_pass_gather_first(wick_graph *graph, wick_msg *msg) {
    if (!graph->compiled || graph->differentiated) return WICK_OK;
    const char *site = wick_site();
    wick_scope *scope = wick_scope_open(graph->ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory moving gathers");
    wick_count_readers(graph);
    const wick_status status = wick_rewrite(graph, rule, msg);
    wick_scope_close(&scope);
    wick_here(site);
    return status;
}
