/* pipeline.c: the passes in order. A new pass is one file and one line here. */
#include <stdlib.h>

#include "graph/graph.h"

const wick_pass wick_passes[] = {
    {"expand_grad", wick_pass_expand_grad, true},
    {"dce", wick_pass_dce, true},
    {"quantize", wick_pass_quantize, false},
    {"expand_quantize", wick_pass_expand_quantize, true},
    {"simplify", wick_pass_simplify, false},
    {"transpose", wick_pass_transpose, false},
    {"fold", wick_pass_fold, false},
    {"simplify", wick_pass_simplify, false},
    {"cse", wick_pass_cse, false},
    {"dce", wick_pass_dce, false},
    {"epilogue", wick_pass_epilogue, false},
    {"dce", wick_pass_dce, false},
    {"rematerialise", wick_pass_rematerialise, false},
    {"fuse", wick_pass_fuse, false},
    {"schedule", wick_pass_schedule, true},
};
const int wick_passes_count = (int)WICK_COUNTOF(wick_passes);

enum { PASS_WORK = 64 }; /* of a pass for each node, as a watch counts */

wick_status wick_run_passes(wick_graph *graph, bool optimise, wick_msg *msg) {
#ifdef NDEBUG
    bool verify = getenv("WICK_VERIFY") != NULL;
#else
    bool verify = true;
#endif
    for (int i = 0; i < wick_passes_count; i++) {
        if (!optimise && !wick_passes[i].required) continue;
        wick_status status = wick_context_spend(graph->ctx, PASS_WORK * graph->n, msg);
        if (status == WICK_OK) status = wick_passes[i].run(graph, msg);
        if (status == WICK_OK) status = wick_context_spend(graph->ctx, 0, msg); /* a pass that the watch ended leaves half of its work */
        if (status == WICK_OK && graph->failed) status = wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory rewriting the graph");
        if (status == WICK_OK && verify) {
            status = wick_graph_verify(graph, msg);
            if (status != WICK_OK) wick_msg_prefix(msg, "after %s: ", wick_passes[i].name);
        }
        WICK_TRY(status);
    }
    for (size_t i = 0; i < graph->n; i++) { /* bodies of loops and branches are graphs like any other */
        const wick_node *node = graph->nodes[i];
        for (int r = 0; r < node->n_regions && node->op != &wick_op_fused; r++) WICK_TRY(wick_run_passes(node->regions[r], optimise, msg));
    }
    return WICK_OK;
}
