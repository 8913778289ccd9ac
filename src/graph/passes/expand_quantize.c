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

wick_status wick_pass_expand_quantize(wick_graph *graph, wick_msg *msg) {
    bool any = false;
    for (size_t i = 0; i < graph->n; i++)
        any |= graph->nodes[i]->op == &wick_op_quantize || graph->nodes[i]->op == &wick_op_dequantize;
    if (!any) return WICK_OK;
    const char *site = wick_site();
    wick_scope *scope = wick_scope_open(graph->ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory writing out quantisation");
    const wick_status status = wick_rewrite(graph, written_out, msg);
    wick_scope_close(&scope);
    wick_here(site);
    return status;
}
