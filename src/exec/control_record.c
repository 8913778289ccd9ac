/* control_record.c: a body is recorded, and what it made becomes a region; what it used from outside is captured. */
#include "exec/control.h"
#include "wick/control.h"

/* A body's recording turned into a region. */
typedef struct collector {
    wick_context *ctx;
    wick_arena *arena; /* of the region */
    wick_graph *region;
    wick_value **captured; /* by a list in the context's memory */
    size_t n_captured, cap_captured, n_params;
    uint32_t start; /* what was recorded since is the body's */
    /* all of it: an if's body runs or does not. Else what depends on the parameters: the rest is the same each round */
    bool whole;
    wick_node **found; /* depend on the parameters, inputs first */
    size_t n_found, cap_found;
    struct visit {
        wick_node *node;
        uint32_t next;
    } *stack;
    size_t cap_stack;
} collector;

static bool is_ours(const collector *c, const wick_value *v) {
    return !v->array && v->node->op != &wick_op_input && v->node->n_in && !(v->node->flags & WICK_NODE_EVALUATED) &&
           (int32_t)(v->node->position - c->start) >= 0;
}

/* Finds the nodes of the region that v stands on; their results are marked. */
static bool collect(collector *c, wick_value *root) {
    const uint32_t walk = c->ctx->walk;
    if (!is_ours(c, root) || root->node->mark == walk) return true;
    size_t depth = 0;
    wick_node *node = root->node;
    uint32_t next = 0;
    node->mark = walk;
    for (;;) {
        if (next < node->n_in) {
            wick_value *v = node->in[next++];
            if (!is_ours(c, v) || v->node->mark == walk) continue;
            if (depth == c->cap_stack &&
                !wick_grow(&c->ctx->alloc, (void **)&c->stack, &c->cap_stack, depth + 1, sizeof *c->stack))
                return false;
            c->stack[depth++] = (struct visit){node, next};
            node = v->node;
            node->mark = walk;
            next = 0;
            continue;
        }
        bool depends = c->whole;
        for (int k = 0; k < node->n_in; k++) depends |= node->in[k]->mark == walk;
        for (int k = 0; k < node->n_out && depends; k++) node->out[k].mark = walk;
        if (depends) {
            if (c->n_found == c->cap_found &&
                !wick_grow(&c->ctx->alloc, (void **)&c->found, &c->cap_found, c->n_found + 1, sizeof *c->found))
                return false;
            c->found[c->n_found++] = node;
        }
        if (!depth) return true;
        depth--;
        node = c->stack[depth].node;
        next = c->stack[depth].next;
    }
}

/* What v is in the region: made there, or captured. Constants are copied. NULL: out of memory. */
static wick_value *inside(collector *c, wick_value *v) {
    if (v->forward) return v->forward;
    wick_context *ctx = c->ctx;
    ctx->target = c->region;
    if (v->node->op == &wick_op_constant) {
        wick_node *copy = wick_graph_copy_node(c->region, v->node, NULL);
        ctx->target = NULL;
        return v->forward = copy ? &copy->out[0] : NULL;
    }
    bool good = wick_grow(&ctx->alloc, (void **)&c->captured, &c->cap_captured, c->n_captured + 1, sizeof *c->captured);
    if (good) c->captured[c->n_captured++] = v;
    wick_tensor *t = good ? wick_control_param(ctx, &v->type, (int64_t)(c->n_params + c->n_captured - 1)) : NULL;
    ctx->target = NULL;
    return v->forward = t && !t->error ? t->value : NULL;
}

/* Records body(in) -> out and makes a region of it; captured values are added to c's. poison: why not. forward of
 * recorded values is used here alone, and cleared. */
static wick_tensor *record_region(collector *c, const char *op, wick_function body, void *user, int n_in,
                                  wick_tensor **in, int n_out, wick_tensor **out) {
    wick_context *ctx = c->ctx;
    wick_tensor *poison = NULL;
    wick_frame frame = {.parent = ctx->frame, .trace = true, .next_stream = 1};
    ctx->frame = &frame;
    wick_context_clear_error(ctx);
    c->start = (uint32_t)ctx->nodes_recorded;
    const wick_status status = body(ctx, in, out, user);
    ctx->frame = frame.parent;
    if (status != WICK_OK) {
        poison = wick_poison(ctx, status, "%s: the body failed: %s", op,
                             ctx->msg.status ? ctx->msg.text : wick_status_name(status));
    } else if (frame.n_effects)
        poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: the body assigns, taps or checks; it may only compute", op);
    else if (frame.next_stream != 1)
        poison =
            wick_poison(ctx, WICK_ERR_INVALID,
                        "%s: the body draws random numbers, which would be the same each time; draw them before", op);
    wick_frame_revert(ctx, &frame);
    wick_release(&ctx->alloc, frame.effects, frame.cap_effects * sizeof *frame.effects);
    for (int k = 0; k < n_out && !poison; k++) {
        if (!out[k])
            poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: the body did not set result %d", op, k);
        else if (out[k]->error)
            poison = out[k];
    }
    if (poison) return poison;

    c->region = wick_graph_new(ctx, c->arena);
    bool good = c->region != NULL;
    ctx->walk++;
    c->n_found = 0;
    for (int k = 0; k < n_in; k++) in[k]->value->mark = ctx->walk;
    for (int k = 0; k < n_out && good; k++) good = collect(c, out[k]->value);
    /* Parameters come first, then what was captured: in another region of the node too. */
    ctx->target = c->region;
    for (int k = 0; k < n_in && good; k++) {
        wick_tensor *t = wick_control_param(ctx, &in[k]->value->type, k);
        good = !t->error;
        if (good) in[k]->value->forward = t->value;
    }
    for (size_t k = 0; k < c->n_captured && good; k++) {
        wick_tensor *t = wick_control_param(ctx, &c->captured[k]->type, (int64_t)(c->n_params + k));
        good = !t->error;
        if (good) c->captured[k]->forward = t->value;
    }
    ctx->target = NULL;
    wick_value **constants = NULL;
    size_t n_constants = 0, cap_constants = 0;
    for (size_t i = 0; i < c->n_found && good; i++) {
        wick_node *node = c->found[i];
        wick_value *small[64],
            **values = node->n_in <= 64 ? small : wick_arena_alloc(c->arena, node->n_in * sizeof *values);
        good = values != NULL;
        for (int k = 0; k < node->n_in && good; k++) {
            wick_value *v = node->in[k];
            if (v->node->op == &wick_op_constant && !v->forward &&
                (good =
                     wick_grow(&ctx->alloc, (void **)&constants, &cap_constants, n_constants + 1, sizeof *constants)))
                constants[n_constants++] = v;
            good = good && (values[k] = inside(c, v)) != NULL;
        }
        wick_node *copy = good ? wick_graph_copy_node(c->region, node, values) : NULL;
        good = copy != NULL;
        if (good) copy->slot[0] = copy->slot[1] = 0;
        if (good && node->n_regions) good = wick_graph_clone_regions(c->region, copy);
        for (int k = 0; k < node->n_out && good; k++) node->out[k].forward = &copy->out[k];
    }
    if (good) c->region->outputs = wick_arena_alloc(c->arena, (size_t)(n_out + 1) * sizeof *c->region->outputs);
    good = good && c->region->outputs;
    for (int k = 0; k < n_out && good; k++) {
        if (out[k]->value->node->op == &wick_op_constant && !out[k]->value->forward &&
            (good = wick_grow(&ctx->alloc, (void **)&constants, &cap_constants, n_constants + 1, sizeof *constants)))
            constants[n_constants++] = out[k]->value;
        good = good && (c->region->outputs[k] = inside(c, out[k]->value)) != NULL;
    }
    if (good) c->region->n_outputs = n_out;
    for (int k = 0; k < n_in; k++) in[k]->value->forward = NULL;
    for (size_t k = 0; k < c->n_captured; k++) c->captured[k]->forward = NULL;
    for (size_t k = 0; k < n_constants; k++) constants[k]->forward = NULL;
    for (size_t i = 0; i < c->n_found; i++)
        for (int k = 0; k < c->found[i]->n_out; k++) c->found[i]->out[k].forward = NULL;
    wick_release(&ctx->alloc, constants, cap_constants * sizeof *constants);
    if (good) wick_graph_number(c->region);
    return good && !c->region->failed ? NULL
                                      : wick_poison(ctx, WICK_ERR_NOMEM, "%s: out of memory recording its body", op);
}

static void collector_free(collector *c) {
    const wick_allocator *alloc = &c->ctx->alloc;
    wick_release(alloc, c->captured, c->cap_captured * sizeof *c->captured);
    wick_release(alloc, c->found, c->cap_found * sizeof *c->found);
    wick_release(alloc, c->stack, c->cap_stack * sizeof *c->stack);
}

/* A recorded node owns its regions' arena: wick_node_unref frees it with the node. */
static wick_arena *arena_new(wick_context *ctx) {
    wick_arena *arena = wick_alloc(&ctx->alloc, sizeof *arena);
    if (arena) wick_arena_init(arena, &ctx->alloc, 4096);
    return arena;
}
static void arena_release(wick_context *ctx, wick_arena *arena) {
    if (!arena) return;
    wick_arena_free(arena);
    wick_release(&ctx->alloc, arena, sizeof *arena);
}

static void poison_all(wick_tensor *poison, int n, wick_tensor **out) {
    for (int k = 0; k < n; k++) out[k] = k ? wick_poison_like(poison->ctx, poison->error) : poison;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

enum { MOST = 64 }; /* states, rows or results of one node */

static void record_scan(wick_context *ctx, const char *name, wick_tensor *condition, bool conditional,
                        wick_function body, void *user, const wick_scan_options *o, wick_tensor **out,
                        wick_tensor **count) {
    const int n_out = o ? o->n_state + o->n_y : 0;
    wick_tensor *poison = NULL;
    if (!o || !body || o->n_state < 0 || o->n_x < 0 || o->n_y < 0 || o->n_state > MOST || o->n_x > MOST ||
        o->n_y > MOST || (o->n_state && !o->state) || (o->n_x && !o->x)) {
        poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: needs a body, and up to %d each of states, rows and results",
                             name, MOST);
        if (count) *count = poison;
        poison_all(poison, o && o->n_state >= 0 && o->n_y >= 0 ? n_out : 0, out);
        return;
    }
    int64_t rounds = o->rounds;
    for (int k = 0; k < o->n_state && !poison; k++)
        poison = !o->state[k]         ? wick_poison(ctx, WICK_ERR_INVALID, "%s: state %d is NULL", name, k)
                 : o->state[k]->error ? o->state[k]
                                      : NULL;
    for (int k = 0; k < o->n_x && !poison; k++) {
        wick_tensor *x = o->x[k];
        poison = !x ? wick_poison(ctx, WICK_ERR_INVALID, "%s: x %d is NULL", name, k) : x->error ? x : NULL;
        if (poison) break;
        if (wick_tensor_rank(x) < 1) poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: x %d has no rows", name, k);
        else if (k == 0 && !o->rounds) rounds = wick_tensor_dim(x, 0);
        else if (wick_tensor_dim(x, 0) != rounds)
            poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: x %d has %lld rows, not %lld", name, k,
                                 (long long)wick_tensor_dim(x, 0), (long long)rounds);
    }
    if (!poison && ctx->target) poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: not inside a gradient rule", name);
    if (!poison && rounds < 0) poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: %lld rounds", name, (long long)rounds);
    if (!poison && conditional && !condition) condition = wick_constant(ctx, WICK_BOOL, 1);
    if (!poison && conditional && condition->error) poison = condition;
    if (!poison && conditional && !wick_is_flag(&condition->value->type, WICK_BOOL))
        poison = wick_poison(ctx, WICK_ERR_DTYPE, "%s: the condition must be one bool, of 0 dims", name);
    if (!poison && conditional && o->reverse)
        poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: in reverse nobody knows where to start", name);

    if (!poison && !conditional && !o->n_state && !o->n_y)
        poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: has neither states nor results", name);

    collector c = {.ctx = ctx, .arena = poison ? NULL : arena_new(ctx), .n_params = (size_t)(o->n_state + o->n_x)};
    if (!poison && !c.arena) poison = wick_poison(ctx, WICK_ERR_NOMEM, "%s: out of memory", name);
    wick_scope *scope = poison ? NULL : wick_scope_open(ctx);
    wick_tensor *in[2 * MOST] = {NULL}, *made[2 * MOST + 1] = {NULL}; /* a body that reads too many finds NULL */
    wick_tensor *all[3 * MOST + 1], **results = made + conditional;
    control_attr *attr = NULL;
    const int n_all = 2 * o->n_state + o->n_y + conditional;
    if (!poison) {
        for (int k = 0; k < o->n_state; k++) in[k] = wick_control_param(ctx, &o->state[k]->value->type, k);
        for (int k = 0; k < o->n_x; k++) {
            wick_type row = o->x[k]->value->type;
            memmove(row.dims, row.dims + 1, sizeof row.dims - sizeof row.dims[0]);
            row.dims[WICK_MAX_DIMS - 1] = 0;
            row.rank--;
            in[o->n_state + k] = wick_control_param(ctx, &row, o->n_state + k);
        }
        for (size_t k = 0; k < c.n_params && !poison; k++)
            if (in[k]->error) poison = in[k];
        if (!poison) poison = record_region(&c, name, body, user, (int)c.n_params, in, conditional + n_out, made);
        if (!poison && conditional && !wick_is_flag(&made[0]->value->type, WICK_BOOL))
            poison = wick_poison(ctx, WICK_ERR_DTYPE, "%s: the body's first result must be one bool, of 0 dims", name);
        for (int k = 0; k < o->n_state && !poison; k++) {
            const wick_type *is = &results[k]->value->type, *was = &o->state[k]->value->type;
            if (is->dtype == was->dtype && wick_same_dims(is, was)) continue;
            char text[2][128];
            wick_str s[2] = {wick_str_on(text[0], sizeof text[0]), wick_str_on(text[1], sizeof text[1])};
            wick_type_print(&s[0], was);
            wick_type_print(&s[1], is);
            poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: state %d is %s and becomes %s", name, k, text[0], text[1]);
        }
        if (!poison && !(attr = wick_arena_zalloc(c.arena, wick_control_attr_bytes(n_all))))
            poison = wick_poison(ctx, WICK_ERR_NOMEM, "%s: out of memory", name);
    }
    if (!poison) {
        *attr = (control_attr){.n_state = o->n_state,
                               .n_x = o->n_x,
                               .n_y = o->n_y,
                               .n_captured = (int32_t)c.n_captured,
                               .rounds = rounds,
                               .reverse = o->reverse,
                               .conditional = conditional};
        wick_type *t = attr->out;
        for (int k = 0; k < n_out; k++) *t++ = results[k]->value->type;
        for (int k = 0; k < o->n_state; k++) *t++ = results[k]->value->type;
        for (int k = o->n_state; k < 2 * o->n_state + o->n_y && !poison; k++) { /* by row */
            wick_type *q = &attr->out[k];
            int64_t dims[WICK_MAX_DIMS + 1] = {rounds};
            memcpy(dims + 1, q->dims, q->rank * sizeof *dims);
            if (q->rank == WICK_MAX_DIMS && k >= n_out) { /* nobody may ask for the history of this one */
                poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: a state has %d dims; at most %d", name, q->rank,
                                     WICK_MAX_DIMS - 1);
            } else if (!wick_type_set(q, (wick_dtype)q->dtype, q->rank + 1, dims))
                poison =
                    wick_poison(ctx, WICK_ERR_SHAPE, "%s: result %d of all rounds is too large", name, k - o->n_state);
        }
        if (conditional) wick_type_set(t, WICK_I64, 0, NULL);
    }
    if (!poison) {
        const int n_in = (int)(conditional + c.n_params + c.n_captured);
        wick_tensor **inputs = wick_arena_alloc(c.arena, (size_t)(n_in + 1) * sizeof *inputs);
        wick_graph **regions = wick_arena_alloc(c.arena, sizeof *regions);
        int n = 0;
        if (inputs && conditional) inputs[n++] = condition;
        for (int k = 0; k < o->n_state && inputs; k++) inputs[n++] = o->state[k];
        for (int k = 0; k < o->n_x && inputs; k++) inputs[n++] = o->x[k];
        for (size_t k = 0; k < c.n_captured && inputs; k++) {
            wick_node_ref(c.captured[k]->node);
            inputs[n++] = wick_tensor_new(ctx, c.captured[k]);
        }
        if (!inputs || !regions)
            poison = wick_poison(ctx, WICK_ERR_NOMEM, "%s: out of memory", name);
        else {
            wick_record_n(ctx, &wick_op_scan, n_in, inputs, attr, wick_control_attr_bytes(n_all), n_all, all);
            if (all[0]->error)
                poison = all[0];
            else {
                wick_node *node = all[0]->value->node;
                regions[0] = c.region;
                node->regions = regions;
                node->n_regions = 1;
                c.arena = NULL; /* the node's */
            }
        }
    }
    if (poison) {
        for (int k = 0; k < n_out; k++) all[k] = wick_poison_like(ctx, poison->error);
        if (count) *count = wick_poison_like(ctx, poison->error);
    }
    for (int k = 0; k < n_out; k++) out[k] = scope ? wick_keep(all[k]) : all[k];
    if (count && !poison) *count = wick_keep(all[n_all - 1]);
    if (count && poison && scope) *count = wick_keep(*count);
    wick_scope_close(&scope); /* its handles name values of the region */
    arena_release(ctx, c.arena);
    collector_free(&c);
}

void wick_scan_loop(wick_context *ctx, wick_function body, void *user, const wick_scan_options *options,
                    wick_tensor **out) {
    if (!out) return;
    record_scan(ctx, "scan", NULL, false, body, user, options, out, NULL);
}
void wick_while_loop(wick_context *ctx, wick_tensor *condition, wick_function body, void *user,
                     const wick_scan_options *options, wick_tensor **out, wick_tensor **count) {
    if (!out) return;
    record_scan(ctx, "loop", condition, true, body, user, options, out, count);
}

void wick_if(wick_context *ctx, wick_tensor *condition, wick_function then_body, wick_function else_body, void *user,
             int n, wick_tensor **out) {
    if (!out) return;
    wick_tensor *poison = NULL, *made[2][MOST] = {{NULL}}, *all[MOST];
    if (n < 1 || n > MOST || !then_body || !else_body || !condition) {
        poison = wick_poison(ctx, WICK_ERR_INVALID, "if: needs a condition, two bodies, and 1 to %d results", MOST);
        poison_all(poison, WICK_MAX(0, n), out);
        return;
    }
    if (condition->error) poison = condition;
    if (!poison && ctx->target) poison = wick_poison(ctx, WICK_ERR_INVALID, "if: not inside a gradient rule");
    if (!poison && !wick_is_flag(&condition->value->type, WICK_BOOL))
        poison = wick_poison(ctx, WICK_ERR_DTYPE, "if: the condition must be one bool, of 0 dims");
    collector c = {.ctx = ctx, .arena = poison ? NULL : arena_new(ctx), .whole = true};
    if (!poison && !c.arena) poison = wick_poison(ctx, WICK_ERR_NOMEM, "if: out of memory");
    wick_scope *scope = poison ? NULL : wick_scope_open(ctx);
    wick_graph **regions = poison ? NULL : wick_arena_alloc(c.arena, 2 * sizeof *regions);
    control_attr *attr = poison ? NULL : wick_arena_zalloc(c.arena, wick_control_attr_bytes(n));
    if (!poison && (!regions || !attr)) poison = wick_poison(ctx, WICK_ERR_NOMEM, "if: out of memory");
    for (int side = 0; side < 2 && !poison; side++) {
        poison = record_region(&c, "if", side ? else_body : then_body, user, 0, NULL, n, made[side]);
        if (regions) regions[side] = c.region;
    }
    for (int k = 0; k < n && !poison; k++) {
        attr->out[k] = made[0][k]->value->type;
        const wick_type *other = &made[1][k]->value->type;
        if (attr->out[k].dtype == other->dtype && wick_same_dims(&attr->out[k], other)) continue;
        char text[2][128];
        wick_str s[2] = {wick_str_on(text[0], sizeof text[0]), wick_str_on(text[1], sizeof text[1])};
        wick_type_print(&s[0], &attr->out[k]);
        wick_type_print(&s[1], other);
        poison = wick_poison(ctx, WICK_ERR_SHAPE, "if: result %d is %s in one body and %s in the other", k, text[0],
                             text[1]);
    }
    if (!poison) {
        attr->n_y = n;
        attr->n_captured = (int32_t)c.n_captured;
        wick_tensor **inputs = wick_arena_alloc(c.arena, (c.n_captured + 1) * sizeof *inputs);
        if (!inputs) poison = wick_poison(ctx, WICK_ERR_NOMEM, "if: out of memory");
        for (size_t k = 0; k < c.n_captured && inputs; k++) {
            wick_node_ref(c.captured[k]->node);
            inputs[k + 1] = wick_tensor_new(ctx, c.captured[k]);
        }
        if (inputs) {
            inputs[0] = condition;
            wick_record_n(ctx, &wick_op_if, (int)c.n_captured + 1, inputs, attr, wick_control_attr_bytes(n), n, all);
            poison = all[0]->error ? all[0] : NULL;
        }
        if (!poison) {
            wick_node *node = all[0]->value->node;
            node->regions = regions;
            node->n_regions = 2;
            c.arena = NULL;
        }
    }
    for (int k = 0; k < n; k++) {
        if (poison) all[k] = wick_poison_like(ctx, poison->error);
        out[k] = scope ? wick_keep(all[k]) : all[k];
    }
    wick_scope_close(&scope); /* its handles name values of the region */
    arena_release(ctx, c.arena);
    collector_free(&c);
}
