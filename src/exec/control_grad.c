/* control_grad.c: gradients of loops and branches: nodes like theirs, whose regions are the bodies recorded again with
 * their gradients. */
#include "exec/control.h"
#include "wick/ops.h"

static wick_tensor *handle(wick_context *ctx, wick_value *v) { return wick_tensor_new(ctx, v); }

/* With the context's target the new graph: copies region; given[i] stands for its parameter i. */
static bool replay(wick_graph *into, wick_graph *region, wick_tensor *const *given, wick_tensor **results) {
    wick_context *ctx = into->ctx;
    const uint32_t n = wick_graph_number(region);
    wick_value **map = wick_arena_zalloc(into->arena, (n + 1) * sizeof *map);
    if (!map) return false;
    for (size_t i = 0; i < region->n; i++) {
        const wick_node *node = region->nodes[i];
        if (node->op == &wick_op_input) {
            map[node->out[0].id] = given[node->slot[0]]->value;
            continue;
        }
        wick_value **in = wick_arena_alloc(into->arena, (node->n_in + 1u) * sizeof *in);
        if (!in) return false;
        for (int k = 0; k < node->n_in; k++) in[k] = map[node->in[k]->id];
        wick_node *copy = wick_graph_copy_node(into, node, in);
        if (!copy || (node->n_regions && !wick_graph_clone_regions(into, copy))) return false;
        for (int k = 0; k < node->n_out; k++) map[node->out[k].id] = &copy->out[k];
    }
    for (int k = 0; k < region->n_outputs; k++) results[k] = handle(ctx, map[region->outputs[k]->id]);
    return true;
}

/* grads[i] of sum over k of sum(results[k] g[k]) with respect to wrt[i]; zeros where nothing depends on it. */
static void pull(int n, wick_tensor *const *results, wick_tensor *const *g, int n_wrt, wick_tensor *const *wrt,
                 wick_tensor **grads) {
    wick_tensor *loss = NULL;
    for (int k = 0; k < n; k++) {
        if (!g[k]) continue;
        wick_tensor *part = wick_as(wick_sum(wick_mul(results[k], g[k]), WICK_ALL_AXES, false), WICK_F64);
        loss = loss ? wick_add(loss, part) : part;
    }
    if (loss && n_wrt)
        wick_grad(loss, n_wrt, wrt, grads);
    else
        for (int k = 0; k < n_wrt; k++)
            grads[k] = wick_expand(wick_like(wrt[k], 0), wick_tensor_rank(wrt[k]), wick_tensor_dims(wrt[k]));
}

/* Expands the gradients in a graph of its own, inside the expansion of another's. Walks are numbered on: no mark of
 * either is taken for the other's. */
static bool finish(wick_graph *graph, wick_graph *outer, wick_msg *msg) {
    wick_context *ctx = graph->ctx;
    const uint32_t walk = ctx->walk;
    const wick_status status = wick_pass_expand_grad(graph, msg);
    for (size_t i = 0; i < graph->n; i++) {
        graph->nodes[i]->mark = 0;
        for (int k = 0; k < graph->nodes[i]->n_out; k++)
            graph->nodes[i]->out[k].mark = 0, graph->nodes[i]->out[k].grad = NULL;
    }
    ctx->walk = walk;
    ctx->target = outer;
    return status == WICK_OK && !graph->failed;
}

/* Makes the tensors what the graph gives. False: out of memory, or one is poisoned, as the message then says. */
static bool give(wick_graph *graph, int n, wick_tensor *const *tensors, wick_msg *msg) {
    graph->outputs = wick_arena_alloc(graph->arena, (size_t)(n + 1) * sizeof *graph->outputs);
    if (!graph->outputs) return false;
    for (int k = 0; k < n; k++) {
        if (tensors[k]->error) {
            wick_msg_set(msg, tensors[k]->error->status, "%s", tensors[k]->error->text);
            return false;
        }
        graph->outputs[k] = tensors[k]->value;
    }
    graph->n_outputs = n;
    return true;
}

static bool is_real(const wick_value *v) { return wick_dtype_is_float(v->type.dtype); }

static void grad_failed(wick_gradient *g, wick_context *ctx, const wick_msg *msg) {
    wick_tensor *poison = wick_poison(ctx, msg->status ? msg->status : WICK_ERR_NOMEM, "%s",
                                      msg->status ? msg->text : "out of memory taking gradients of a body");
    for (int i = 0; i < g->n_in; i++)
        if (g->need[i]) g->gin[i] = poison;
}

/* The gradient of a scan while it is recorded. Tensors of the body that goes back are made with its graph as target. */
typedef struct scan_gradient {
    wick_gradient *g;
    const control_attr *a;
    wick_context *ctx;
    wick_graph *back;
    int first; /* of the scan's inputs: state 0 */
    /* of the scan's body, by its parameters and results: what stands for them, and gradients of the results */
    wick_tensor **given, **results, **gs;
    /* by state and captured value: gradients of a state's history, where one comes; sums for those that ask for one */
    wick_tensor **ghist, **sums;
    wick_tensor **wrt, **grads, **outs; /* what the body that goes back derives by, and gives */
    wick_tensor **in, **all;            /* of the new node: inputs, results */
    int n_in, n_state, n_x, n_y;        /* of the new node */
} scan_gradient;

static bool scan_lists(scan_gradient *s, size_t room) {
    wick_arena *arena = s->ctx->target->arena;
    wick_tensor **lists = wick_arena_zalloc(arena, 10 * room * sizeof *lists);
    if (!lists) return false;
    wick_tensor ***const list[10] = {&s->in,    &s->given, &s->results, &s->gs,   &s->wrt,
                                     &s->grads, &s->outs,  &s->all,     &s->sums, &s->ghist};
    for (size_t i = 0; i < WICK_COUNTOF(list); i++) *list[i] = lists + i * room;
    return true;
}

static wick_type scan_row(const wick_type *rows) {
    wick_type row = *rows;
    memmove(row.dims, row.dims + 1, sizeof row.dims - sizeof row.dims[0]);
    row.dims[WICK_MAX_DIMS - 1] = 0;
    row.rank--;
    return row;
}

/* Parameters of the body that goes back: states, rows, captured values. */
static void scan_params(scan_gradient *s) {
    const control_attr *a = s->a;
    wick_gradient *g = s->g;
    const wick_node *node = g->node;
    wick_context *ctx = s->ctx;
    /* states: gradients of states, sums for captured values */
    for (int k = 0; k < a->n_state; k++) {
        if (!is_real(node->in[s->first + k])) continue;
        s->gs[a->conditional + k] = wick_control_param(ctx, &node->out[k].type, s->n_state++);
    }
    for (int k = 0; k < a->n_captured; k++) {
        const int i = s->first + a->n_state + a->n_x + k;
        if (g->need[i]) s->sums[k] = wick_control_param(ctx, &node->in[i]->type, s->n_state++);
    }
    /* rows: states before the round, x, gradients of y */
    for (int k = 0; k < a->n_state; k++)
        s->given[k] = wick_control_param(ctx, &node->out[k].type, s->n_state + s->n_x++);
    for (int k = 0; k < a->n_x; k++) {
        const wick_type row = scan_row(&node->in[s->first + a->n_state + k]->type);
        s->given[a->n_state + k] = wick_control_param(ctx, &row, s->n_state + s->n_x++);
    }
    for (int k = 0; k < a->n_y; k++) {
        if (!g->gout[a->n_state + k]) continue;
        const wick_type row = scan_row(&node->out[a->n_state + k].type);
        s->gs[a->conditional + a->n_state + k] = wick_control_param(ctx, &row, s->n_state + s->n_x++);
    }
    for (int k = 0; k < a->n_state; k++) /* of the history, where a gradient of a gradient comes through it */
        if (g->gout[a->n_state + a->n_y + k])
            s->ghist[k] = wick_control_param(ctx, &node->out[k].type, s->n_state + s->n_x++);
    for (int k = 0; k < a->n_captured; k++)
        s->given[a->n_state + a->n_x + k] =
            wick_control_param(ctx, &node->in[s->first + a->n_state + a->n_x + k]->type, s->n_state + s->n_x + k);
}

/* The scan's body again, then its gradients: what a round back gives. */
static bool scan_body(scan_gradient *s, wick_msg *msg) {
    const control_attr *a = s->a;
    wick_graph *region = s->g->node->regions[0];
    if (s->back->failed || !replay(s->back, region, s->given, s->results)) return false;
    int n_wrt = 0;
    for (int k = 0; k < a->n_state; k++)
        if (s->gs[a->conditional + k]) s->wrt[n_wrt++] = s->given[k];
    for (int k = 0; k < a->n_captured; k++)
        if (s->sums[k]) s->wrt[n_wrt++] = s->given[a->n_state + a->n_x + k];
    for (int k = 0; k < a->n_x; k++)
        if (s->g->need[s->first + a->n_state + k]) s->wrt[n_wrt++] = s->given[a->n_state + k];
    pull(region->n_outputs, s->results, s->gs, n_wrt, s->wrt, s->grads);
    wick_tensor **grads = s->grads;
    int at = 0, m = 0;
    for (int k = 0; k < a->n_state; k++)
        if (s->gs[a->conditional + k]) s->outs[m++] = s->ghist[k] ? wick_add(grads[at], s->ghist[k]) : grads[at], at++;
    for (int k = 0; k < a->n_captured; k++)
        if (s->sums[k]) s->outs[m++] = wick_add(s->sums[k], grads[at++]);
    for (; at < n_wrt; at++) s->outs[m++] = grads[at], s->n_y++;
    return give(s->back, m, s->outs, msg);
}

/* What the new node takes behind the conditions: first states, then rows, then captured values. */
static void scan_inputs(scan_gradient *s) {
    const control_attr *a = s->a;
    wick_gradient *g = s->g;
    wick_tensor **in = s->in + s->n_in;
    for (int k = 0; k < a->n_state; k++)
        if (s->gs[a->conditional + k])
            *in++ = g->gout[k] ? g->gout[k]
                               : wick_expand(wick_like(g->out[k], 0), wick_tensor_rank(g->out[k]),
                                             wick_tensor_dims(g->out[k]));
    for (int k = 0; k < a->n_captured; k++)
        if (s->sums[k]) {
            wick_tensor *v = g->in[s->first + a->n_state + a->n_x + k];
            *in++ = wick_expand(wick_like(v, 0), wick_tensor_rank(v), wick_tensor_dims(v));
        }
    for (int k = 0; k < a->n_state; k++) *in++ = g->out[a->n_state + a->n_y + k];
    for (int k = 0; k < a->n_x; k++) *in++ = g->in[s->first + a->n_state + k];
    for (int k = 0; k < a->n_y; k++)
        if (g->gout[a->n_state + k]) *in++ = g->gout[a->n_state + k];
    for (int k = 0; k < a->n_state; k++)
        if (s->ghist[k]) *in++ = g->gout[a->n_state + a->n_y + k];
    for (int k = 0; k < a->n_captured; k++) *in++ = g->in[s->first + a->n_state + a->n_x + k];
    s->n_in = (int)(in - s->in);
}

/* Types of the new node's results: states, rows of y, histories of states. */
static bool scan_types(const scan_gradient *s, int counted, control_attr *attr, wick_msg *msg) {
    const int n_state = s->n_state, n_out = 2 * n_state + s->n_y;
    for (int k = 0; k < n_state; k++) attr->out[k] = s->in[counted + k]->value->type;
    for (int k = n_state; k < n_out; k++) {
        const wick_type *row = k < n_state + s->n_y ? &s->back->outputs[k]->type : &attr->out[k - n_state - s->n_y];
        int64_t dims[WICK_MAX_DIMS + 1] = {s->a->rounds};
        memcpy(dims + 1, row->dims, row->rank * sizeof *dims);
        if (row->rank == WICK_MAX_DIMS || !wick_type_set(&attr->out[k], (wick_dtype)row->dtype, row->rank + 1, dims)) {
            wick_msg_set(msg, WICK_ERR_SHAPE,
                         "the gradient of a scan needs its sums for each round: captured values have at most %d dims",
                         WICK_MAX_DIMS - 1);
            return false;
        }
    }
    return true;
}

void wick_grad_scan(wick_gradient *g) {
    const control_attr *a = g->node->attr;
    wick_context *ctx = g->in[0]->ctx;
    wick_graph *outer = ctx->target;
    const int first = wick_control_lead(a), n_params = a->n_state + a->n_x + a->n_captured;
    wick_msg msg = {0};
    const size_t room = (size_t)(3 * n_params + 2 * a->n_state + a->n_y + 8);
    scan_gradient s = {.g = g, .a = a, .ctx = ctx, .first = first, .back = wick_graph_new(ctx, outer->arena)};
    wick_graph **regions = wick_arena_alloc(outer->arena, sizeof *regions);
    control_attr *attr = wick_arena_zalloc(outer->arena, wick_control_attr_bytes((int)(2 * room)));
    if (!s.back || !regions || !attr || !scan_lists(&s, room)) {
        grad_failed(g, ctx, &msg);
        return;
    }
    if (a->conditional) s.in[s.n_in++] = g->out[g->n_out - 1];
    if (a->counted) s.in[s.n_in++] = g->in[0];
    const int counted = s.n_in;
    ctx->target = s.back;
    scan_params(&s);
    const bool good = scan_body(&s, &msg);
    ctx->target = outer;
    if (!good || !finish(s.back, outer, &msg)) {
        ctx->target = outer;
        grad_failed(g, ctx, &msg);
        return;
    }
    scan_inputs(&s);
    *attr = (control_attr){.n_state = s.n_state,
                           .n_x = s.n_x,
                           .n_y = s.n_y,
                           .n_captured = a->n_captured,
                           .rounds = a->rounds,
                           .reverse = !a->reverse,
                           .counted = counted != 0};
    if (!scan_types(&s, counted, attr, &msg)) {
        grad_failed(g, ctx, &msg);
        return;
    }
    const int n_out = 2 * s.n_state + s.n_y;
    regions[0] = s.back;
    wick_record_n(ctx, &wick_op_scan, s.n_in, s.in, attr, wick_control_attr_bytes(n_out), n_out, s.all);
    if (!s.all[0]->error) {
        s.all[0]->value->node->regions = regions;
        s.all[0]->value->node->n_regions = 1;
    }
    int at = 0, row = s.n_state;
    for (int k = 0; k < a->n_state; k++)
        if (s.gs[a->conditional + k]) g->gin[first + k] = s.all[at++];
    for (int k = 0; k < a->n_captured; k++)
        if (s.sums[k]) g->gin[first + a->n_state + a->n_x + k] = s.all[at++];
    for (int k = 0; k < a->n_x; k++)
        if (g->need[first + a->n_state + k]) g->gin[first + a->n_state + k] = s.all[row++];
}

void wick_grad_if(wick_gradient *g) {
    const control_attr *a = g->node->attr;
    wick_context *ctx = g->in[0]->ctx;
    wick_graph *outer = ctx->target;
    wick_msg msg = {0};
    const size_t room = (size_t)(a->n_captured + a->n_y + 4);
    wick_tensor **lists = wick_arena_zalloc(outer->arena, 7 * room * sizeof *lists);
    wick_graph **regions = wick_arena_alloc(outer->arena, 2 * sizeof *regions);
    control_attr *attr = wick_arena_zalloc(outer->arena, wick_control_attr_bytes((int)room));
    if (!lists || !regions || !attr) {
        grad_failed(g, ctx, &msg);
        return;
    }
    wick_tensor **in = lists, **given = lists + room, **results = lists + 2 * room, **gs = lists + 3 * room,
                **wrt = lists + 4 * room, **grads = lists + 5 * room, **all = lists + 6 * room;
    int n_in = 0, n_wrt = 0, n_g = 0;
    for (int side = 0; side < 2; side++) {
        wick_graph *back = wick_graph_new(ctx, outer->arena);
        bool good = back != NULL;
        if (good) {
            ctx->target = back;
            n_wrt = n_g = 0;
            for (int k = 0; k < a->n_captured; k++) given[k] = wick_control_param(ctx, &g->node->in[1 + k]->type, k);
            for (int k = 0; k < a->n_y; k++)
                gs[k] = g->gout[k] ? wick_control_param(ctx, &g->node->out[k].type, a->n_captured + n_g++) : NULL;
            good = !back->failed && replay(back, g->node->regions[side], given, results);
        }
        if (good) {
            for (int k = 0; k < a->n_captured; k++)
                if (g->need[1 + k]) wrt[n_wrt++] = given[k];
            pull(a->n_y, results, gs, n_wrt, wrt, grads);
            good = give(back, n_wrt, grads, &msg);
        }
        ctx->target = outer;
        if (!good || !finish(back, outer, &msg)) {
            ctx->target = outer;
            grad_failed(g, ctx, &msg);
            return;
        }
        regions[side] = back;
    }
    for (int k = 0; k <= a->n_captured; k++) in[n_in++] = g->in[k];
    for (int k = 0; k < a->n_y; k++)
        if (g->gout[k]) in[n_in++] = g->gout[k];
    *attr = (control_attr){.n_y = n_wrt, .n_captured = a->n_captured + n_g};
    for (int k = 0, m = 0; k < a->n_captured; k++)
        if (g->need[1 + k]) attr->out[m++] = g->node->in[1 + k]->type;
    wick_record_n(ctx, &wick_op_if, n_in, in, attr, wick_control_attr_bytes(n_wrt), n_wrt, all);
    if (!all[0]->error) {
        all[0]->value->node->regions = regions;
        all[0]->value->node->n_regions = 2;
    }
    for (int k = 0, m = 0; k < a->n_captured; k++)
        if (g->need[1 + k]) g->gin[1 + k] = all[m++];
}
