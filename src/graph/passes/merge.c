/* merge.c: matrix products of one input with several matrices become one product with the matrices side by side, and
 * slices of it: q, k and v of a small attention, the heads of a network. With their biases and ReLU, which the epilogue
 * pass has given them. The matrices follow from constants and from states that the plan doesn't assign, so that they
 * are laid side by side once in a workspace. Each element is the same sum in the same order: the bits stay.
 *
 * Taken where the model of kernels/cost.h says that it is faster: steps are saved, and columns that fill fewer vectors
 * together; what reads the parts does so row by row. (Measured, f32, AVX-512, k = 64, 128 and 256, one thread: 2.5
 * times as fast for three of one row and 8 columns, 1.1 for one row of 128 with k = 128; 1.3 times for 4 columns each,
 * whatever the rows, 1.1 for 8; 0.6 for 16, which fill one vector.) */
#include "graph/passes/rewrite.h"
#include "ops/lowering/cost.h"
#include "wick/ops.h"

enum { FEW_ROWS = 6, VECTOR = 16, MOST = 8, PART_BLOCKS = 10 };

/* A product that may be one of several. */
static bool is_candidate(const wick_graph *graph, const wick_node *n) {
    return n->op == &wick_op_matmul && n->in[0]->id > 1 && n->out[0].mark != graph->ctx->walk &&
           (n->out[0].type.dtype == WICK_F32 || n->out[0].type.dtype == WICK_F64) && n->in[1]->type.rank == 2 &&
           n->in[1]->type.dims[1] > 0 && wick_is_fixed(graph, n->in[1]) &&
           (n->n_in < 3 || wick_is_fixed(graph, n->in[2]));
}
static bool go_together(const wick_node *a, const wick_node *b) {
    return a->in[0] == b->in[0] && a->n_in == b->n_in &&
           ((const wick_matmul_attr *)a->attr)->relu == ((const wick_matmul_attr *)b->attr)->relu;
}

/* The time of a product of `columns`: the rows of few lie one after the other, of more they fill vectors. */
static double product_ns(const wick_tuning *t, double rows, double k, int64_t columns, double size) {
    const double filled = rows > FEW_ROWS ? (double)WICK_ALIGN_UP(columns, VECTOR) : (double)columns;
    const wick_work w = {.ops = {[WICK_RATE_GEMM] = 2 * rows * k * filled},
                         .bytes = size * (rows * k + k * (double)columns + rows * (double)columns)};
    return wick_work_ns(t, &w, 0, 1);
}

/* Is one product faster than n? By how much, in ns, of what n take. */
static bool wins(const wick_graph *graph, wick_node *const *nodes, int n, double *saved, double *apart) {
    const wick_tuning *t = &graph->ctx->tuning;
    const wick_type *y = &nodes[0]->out[0].type;
    const double k = (double)nodes[0]->in[1]->type.dims[0], size = (double)wick_dtype_size((wick_dtype)y->dtype);
    double rows = 1;
    int64_t columns = 0;
    for (int d = 0; d < y->rank - 1; d++) rows *= (double)y->dims[d];
    *apart = 0;
    for (int i = 0; i < n; i++) {
        const int64_t width = nodes[i]->in[1]->type.dims[1];
        columns += width;
        *apart += product_ns(t, rows, k, width, size);
    }
    /* row by row, instead of as one array */
    const double parts = rows > 1 ? n * (PART_BLOCKS * (double)t->cost_block_ns + rows * (double)t->cost_row_ns) : 0;
    *saved = *apart - product_ns(t, rows, k, columns, size) - parts;
    return *saved > 0;
}

/* The product of them all, and a slice for each. */
static bool merged(wick_graph *graph, wick_node *const *nodes, int n) {
    wick_tensor *parts[2][MOST], *in[3] = {wick_tensor_new(graph->ctx, nodes[0]->in[0])};
    wick_here(nodes[0]->site);
    for (int k = 1; k < nodes[0]->n_in; k++) {
        for (int i = 0; i < n; i++) parts[k - 1][i] = wick_tensor_new(graph->ctx, nodes[i]->in[k]);
        in[k] = wick_concat(n, parts[k - 1], -1);
    }
    wick_tensor *y = wick_record(NULL, &wick_op_matmul, nodes[0]->n_in, in, nodes[0]->attr, nodes[0]->attr_size);
    if (y->error) return false;
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        const int64_t width = nodes[i]->in[1]->type.dims[1];
        wick_here(nodes[i]->site);
        const wick_tensor *part = wick_slice(y, -1, at, at + width, 1);
        if (part->error) return false;
        nodes[i]->out[0].forward = part->value;
        at += width;
    }
    return true;
}

/* Is the group to become one product? */
static bool decide(wick_graph *graph, wick_node *const *group, int members) {
    double saved, apart;
    uint32_t number;
    if (!wins(graph, group, members, &saved, &apart)) {
        wick_remark(graph->planning, "merge", group[0],
                    "not with %d more of the same input: predicted to take %.3g us more than %.3g", members - 1,
                    -saved * 1e-3, apart * 1e-3);
        return false;
    }
    const bool out = wick_left_out(graph->planning, WICK_CHOOSES_MERGE, &number);
    wick_remark(graph->planning, "merge", group[0],
                "%s merge:%u: one product for it and %d more of the same input; predicted to save %.3g us of %.3g",
                out ? "left out, as asked for:" : "taken as", number, members - 1, saved * 1e-3, apart * 1e-3);
    return !out;
}

/* Lists the graph anew: what is fixed first, since a product may stand before the matrices of those that it is merged
 * with. */
static bool rebuild(wick_graph *graph, wick_node *const *old, size_t n, uint32_t *next) {
    const uint32_t fixed = graph->ctx->walk;
    graph->nodes = NULL;
    graph->n = graph->cap = 0;
    for (size_t i = 0; i < n; i++)
        if (old[i]->mark == fixed && !wick_graph_push(graph, old[i])) return false;
    for (size_t i = 0; i < n; i++) {
        wick_node *group[MOST];
        int members = 0;
        if (old[i]->mark == fixed || old[i]->out[0].forward) continue;
        for (uint32_t at = (uint32_t)i + 1; at && members < MOST; at = next[at - 1]) group[members++] = old[at - 1];
        wick_resolve_inputs(old[i]);
        for (int k = 1; k < members; k++) wick_resolve_inputs(group[k]);
        graph->ctx->target = graph;
        const bool good = members > 1 ? merged(graph, group, members) : wick_graph_push(graph, old[i]);
        graph->ctx->target = NULL;
        if (!good) return false;
    }
    wick_resolve_outputs(graph);
    return true;
}

wick_status wick_pass_merge(wick_graph *graph, wick_msg *msg) {
    const size_t n = graph->n;
    if (!graph->compiled || graph->differentiated || !n) return WICK_OK;
    /* of a product: the next that goes with it, + 1 */
    uint32_t *next = wick_calloc(&graph->ctx->alloc, 2 * n * sizeof *next), *last = next ? next + n : NULL;
    if (!next) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory merging products");
    bool any = false;
    ++graph->ctx->walk;
    wick_count_readers(graph);
    for (size_t i = 0; i < n; i++) wick_note_fixed(graph, graph->nodes[i]);
    /* a result of the plan is written where it belongs: no candidate */
    for (int i = 0; i < graph->n_outputs; i++) graph->outputs[i]->mark = graph->ctx->walk;
    for (size_t i = 0; i < n; i++) graph->nodes[i]->position = (uint32_t)i;
    /* by what they read: the number of the first product stands with that, in `last` */
    for (size_t i = 0; i < n; i++) {
        const wick_node *node = graph->nodes[i];
        if (node->mark == graph->ctx->walk || !is_candidate(graph, node)) continue;
        uint32_t *first = &last[node->in[0]->node->position];
        uint32_t at = *first;
        int seen = 0;
        while (at && next[at - 1] && seen++ < MOST) at = next[at - 1];
        if (!at) *first = (uint32_t)i + 1;
        else if (seen < MOST - 1 && go_together(graph->nodes[at - 1], node)) next[at - 1] = (uint32_t)i + 1, any = true;
    }
    bool good = true;
    if (any) {
        const char *site = wick_site();
        wick_scope *scope = wick_scope_open(graph->ctx);
        wick_node **old = graph->nodes;
        memset(last, 0, n * sizeof *last); /* of a product now: it goes with one before */
        for (size_t i = 0; i < n; i++) {
            wick_node *group[MOST];
            int members = 0;
            if (!next[i] || last[i]) continue;
            for (uint32_t at = (uint32_t)i + 1; at && members < MOST; at = next[at - 1])
                group[members++] = old[at - 1], last[at - 1] = 1;
            const bool merge = decide(graph, group, members);
            for (uint32_t at = (uint32_t)i + 1, then; !merge && at; at = then) then = next[at - 1], next[at - 1] = 0;
        }
        good = scope && rebuild(graph, old, n, next);
        wick_scope_close(&scope);
        wick_here(site);
    }
    wick_release(&graph->ctx->alloc, next, 2 * n * sizeof *next);
    return good ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory merging products");
}
