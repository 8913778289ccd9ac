/* spread.c: a transposed convolution of one tap whose strides leave most of its result zero is a product, written into
 * zeros:
 *
 *   conv_data(x, w), stride s    zeros with conv_data(x, w), stride 1, at every s-th place of each dim
 *
 * The sums are the same; what lies between is not computed. */
#include "graph/passes/rewrite.h"

enum { SPARSE = 9 }; /* places of the result for each that is not zero, from which on it is worth the copies */

static bool is_sparse(const wick_node *n) {
    if (n->op != &wick_op_conv_data) return false;
    const wick_conv_attr *a = n->attr;
    const wick_type *x = &n->in[0]->type, *w = &n->in[1]->type;
    int64_t places = 1;
    for (int d = 0; d < a->rank; d++) {
        if (w->dims[d + 2] != 1 || a->pad[d] || a->extent[d] < (x->dims[d + 2] - 1) * a->stride[d] + 1) return false;
        places *= a->stride[d];
    }
    return places >= SPARSE && wick_type_count(x) > 0;
}

static wick_node *written_into_zeros(wick_graph *graph, wick_node *node) {
    if (!is_sparse(node)) return NULL;
    wick_conv_attr dense = *(const wick_conv_attr *)node->attr;
    const wick_type *t = &node->out[0].type;
    wick_tensor *in[2];
    wick_here(node->site);
    for (int k = 0; k < 2; k++) in[k] = wick_tensor_new(graph->ctx, node->in[k]);
    for (int d = 0; d < dense.rank; d++) {
        dense.stride[d] = dense.dilation[d] = 1;
        dense.pad_end[d] = 0;
        dense.extent[d] = node->in[0]->type.dims[d + 2];
    }
    wick_tensor *y = wick_record(NULL, node->op, 2, in, &dense, sizeof dense);
    for (int axis = t->rank - 1; axis >= 2 && !y->error; axis--) { /* the last first: the others move whole rows */
        const int64_t step = ((const wick_conv_attr *)node->attr)->stride[axis - 2], count = wick_tensor_dim(y, axis);
        int64_t dims[WICK_MAX_DIMS];
        if (t->dims[axis] == count) continue;
        for (int d = 0; d < t->rank; d++) dims[d] = d == axis ? t->dims[d] : wick_tensor_dim(y, d);
        scatter_attr attr;
        memset(&attr, 0, sizeof attr);
        attr.op = &wick_op_slice;
        attr.view.slice = (slice_attr){.axis = axis, .step = step, .count = count};
        wick_tensor *parts[2] = {wick_expand(wick_like(y, 0), t->rank, dims), y};
        y = wick_record(NULL, &wick_op_view_scatter, 2, parts, &attr, sizeof attr);
    }
    if (y->error) return graph->failed = true, NULL;
    wick_remark(graph->planning, "spread", node, "a product, written into zeros");
    return y->value->node;
}

wick_status wick_pass_spread(wick_graph *graph, wick_msg *msg) {
    bool any = false;
    for (size_t i = 0; i < graph->n; i++) any |= is_sparse(graph->nodes[i]);
    if (!any) return WICK_OK;
    const char *site = wick_site();
    wick_scope *scope = wick_scope_open(graph->ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory spreading transposed convolutions");
    const wick_status status = wick_rewrite(graph, written_into_zeros, msg);
    wick_scope_close(&scope);
    wick_here(site);
    return status;
}
