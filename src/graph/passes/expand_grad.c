/* expand_grad.c: autodiff. Each grad node is replaced by the nodes that compute it: reverse mode over the graph so far,
 * by the ops' own rules. Inner gradients come first in the graph, so gradients of gradients need nothing more. */
#include "graph/graph.h"
#include "wick/ops.h"

/* A handle on a value of the graph, in the pass's scope. */
static wick_tensor *handle(wick_context *ctx, wick_value *v) { return wick_tensor_new(ctx, v); }

static void add_gradient(wick_value *v, wick_tensor *g) {
    g = wick_sum_to(wick_as(g, (wick_dtype)v->type.dtype), &v->type);
    v->grad = v->grad ? wick_add(v->grad, g) : g;
}

typedef struct visit {
    wick_node *node;
    int next; /* of its inputs */
} visit;

/* Puts what a rule recorded, the nodes from `begin` on, into an order that follows from what it computes: the arguments
 * of a call are evaluated in an order of the compiler's own, and a plan must not depend on that. Inputs first, the last
 * of them before the others; what no gradient needs goes to the end. */
static bool order_rule(wick_graph *graph, size_t begin, const wick_gradient *q) {
    const size_t end = graph->n;
    if (end - begin < 2) return true;
    visit *stack = wick_arena_alloc(graph->arena, (end - begin) * (sizeof *stack + sizeof(wick_node *)));
    if (!stack) return false;
    const uint32_t walk = graph->ctx->walk;
    wick_node **order = (wick_node **)(stack + (end - begin));
    size_t n = 0;
    for (size_t i = begin; i < end; i++) graph->nodes[i]->position = (uint32_t)i;
    for (size_t root = 0; root < (size_t)q->n_in + end - begin; root++) {
        const wick_tensor *g = root < (size_t)q->n_in ? q->gin[root] : NULL;
        wick_node *at = root >= (size_t)q->n_in ? graph->nodes[begin + root - (size_t)q->n_in]
                        : g && !g->error        ? g->value->node
                                                : NULL;
        for (size_t depth = 0; at;) {
            const bool made = at->position >= begin && at->position < end && graph->nodes[at->position] == at;
            if (made && at->mark != walk) {
                at->mark = walk;
                stack[depth++] = (visit){at, at->n_in};
            }
            while (depth && !stack[depth - 1].next) order[n++] = stack[--depth].node;
            at = depth ? stack[depth - 1].node->in[--stack[depth - 1].next]->node : NULL;
        }
    }
    memcpy(graph->nodes + begin, order, n * sizeof *order);
    return true;
}

/* Backward through one node whose results have gradients. */
static wick_status backward(wick_graph *graph, wick_node *node, wick_msg *msg) {
    wick_context *ctx = graph->ctx;
    size_t n_in = node->n_in, n_out = node->n_out;
    wick_tensor **lists = wick_arena_zalloc(graph->arena, (2 * n_in + 2 * n_out) * sizeof *lists);
    bool *need = wick_arena_alloc(graph->arena, n_in + 1);
    if (!lists || !need) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory taking gradients");
    wick_gradient q = {.node = node,
                       .n_in = (int)n_in,
                       .n_out = (int)n_out,
                       .in = lists,
                       .gin = lists + n_in,
                       .out = lists + 2 * n_in,
                       .gout = lists + 2 * n_in + n_out,
                       .need = need};
    for (size_t i = 0; i < n_in; i++) {
        q.in[i] = handle(ctx, node->in[i]);
        need[i] = node->in[i]->mark == ctx->walk && wick_dtype_is_float(node->in[i]->type.dtype);
    }
    for (size_t i = 0; i < n_out; i++) {
        q.out[i] = handle(ctx, &node->out[i]);
        q.gout[i] = node->out[i].grad;
    }
    wick_here(node->site); /* what the rule makes goes wrong where the op was written */
    const size_t begin = graph->n;
    node->op->grad(&q);
    if (!order_rule(graph, begin, &q)) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory taking gradients");
    for (size_t i = 0; i < n_in; i++) {
        if (!need[i] || !q.gin[i]) continue;
        add_gradient(node->in[i], q.gin[i]);
        if (node->in[i]->grad->error) {
            const wick_error *e = node->in[i]->grad->error;
            return wick_msg_set(msg, e->status, "gradient of %s: %s", node->op->name, e->text);
        }
    }
    return WICK_OK;
}

/* What root depends on, and root, inputs first. The order follows from that part of the graph alone: gradients that
 * meet are added in the same order whatever else is computed with them. stack and order have room for all. */
static size_t inputs_first(wick_node *root, uint32_t walk, visit *stack, wick_node **order) {
    size_t n = 0, depth = 0;
    root->mark = walk;
    stack[depth++] = (visit){root, 0};
    while (depth) {
        visit *at = &stack[depth - 1];
        if (at->next == at->node->n_in) {
            order[n++] = at->node;
            depth--;
            continue;
        }
        wick_node *in = at->node->in[at->next++]->node;
        if (in->mark == walk) continue;
        in->mark = walk;
        stack[depth++] = (visit){in, 0};
    }
    return n;
}

/* order has room for all nodes of the graph, stack too. */
static wick_status expand_in(wick_graph *graph, wick_node *grad, visit *stack, wick_node **order, wick_msg *msg) {
    wick_context *ctx = graph->ctx;
    wick_value *loss = grad->in[0];
    const size_t end = inputs_first(loss->node, ++ctx->walk, stack, order);
    /* mark: depends on a tensor asked for. */
    for (int i = 1; i < grad->n_in; i++) {
        grad->in[i]->mark = ctx->walk;
        grad->in[i]->grad = NULL;
    }
    for (size_t i = 0; i < end; i++) {
        wick_node *n = order[i];
        if (!n->op->grad && !(n->op->flags & WICK_OP_ONCE)) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k]->mark == ctx->walk) {
                for (int r = 0; r < n->n_out; r++) n->out[r].mark = ctx->walk;
                break;
            }
    }
    uint32_t walk = ctx->walk;
    for (size_t i = 0; i < end; i++)
        for (int r = 0; r < order[i]->n_out; r++) order[i]->out[r].grad = NULL;
    wick_tensor *one = wick_constant(ctx, (wick_dtype)loss->type.dtype, 1);
    loss->grad = wick_expand(one, loss->type.rank, loss->type.dims);
    if (loss->grad->error) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory taking gradients");
    for (size_t i = end; i-- > 0;) {
        wick_node *n = order[i];
        bool asked = false, reached = false;
        for (int r = 0; r < n->n_out; r++) reached |= n->out[r].grad != NULL;
        if (!reached || (!n->op->grad && !(n->op->flags & WICK_OP_ONCE))) continue;
        for (int k = 0; k < n->n_in; k++) asked |= n->in[k]->mark == walk;
        if (!asked) continue;
        if (!n->op->grad)
            return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "grad: %s, itself a gradient, has none (%s)", n->op->name,
                                n->op->doc);
        WICK_TRY(backward(graph, n, msg));
        if (graph->failed) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory taking gradients");
    }
    for (int i = 1; i < grad->n_in; i++) {
        wick_value *v = grad->in[i];
        wick_tensor *g = v->grad;
        if (!g) { /* reached through stopped paths only */
            g = wick_expand(wick_constant(ctx, (wick_dtype)v->type.dtype, 0), v->type.rank, v->type.dims);
        }
        if (g->error) return wick_msg_set(msg, g->error->status, "%s", g->error->text);
        grad->out[i - 1].forward = g->value;
    }
    return WICK_OK;
}

static wick_status expand(wick_graph *graph, wick_node *grad, wick_msg *msg) {
    const wick_allocator *alloc = &graph->ctx->alloc;
    /* all that the loss depends on is there already */
    const size_t size = graph->n * (sizeof(visit) + sizeof(wick_node *));
    visit *stack = wick_alloc(alloc, size);
    if (!stack) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory taking gradients");
    const wick_status status = expand_in(graph, grad, stack, (wick_node **)(stack + graph->n), msg);
    wick_release(alloc, stack, size);
    return status;
}

wick_status wick_pass_expand_grad(wick_graph *graph, wick_msg *msg) {
    bool any = false;
    for (size_t i = 0; i < graph->n; i++) any |= graph->nodes[i]->op == &wick_op_grad;
    if (!any) return WICK_OK;
    graph->differentiated = true;

    wick_context *ctx = graph->ctx;
    wick_node **old = graph->nodes;
    size_t n = graph->n;
    graph->nodes = NULL;
    graph->n = graph->cap = 0;
    const char *site = wick_site();
    wick_scope *scope = wick_scope_open(ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory taking gradients");
    ctx->target = graph;
    wick_status status = WICK_OK;
    for (size_t i = 0; i < n && status == WICK_OK; i++) {
        wick_node *node = old[i];
        for (int k = 0; k < node->n_in; k++) node->in[k] = wick_resolve(node->in[k]);
        const size_t before = graph->n;
        if (node->op == &wick_op_grad) {
            status = expand(graph, node, msg);
            for (size_t k = before; k < graph->n; k++) graph->nodes[k]->flags |= WICK_NODE_BACKWARD;
        } else if (!wick_graph_push(graph, node))
            status = wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory taking gradients");
    }
    ctx->target = NULL;
    wick_scope_close(&scope);
    wick_here(site);
    for (int i = 0; i < graph->n_outputs; i++) graph->outputs[i] = wick_resolve(graph->outputs[i]);
    return status;
}
