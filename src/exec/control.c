/* control.c: scan, loop and if. The region of a node is a graph whose inputs are wick_op_input leaves by number: states, rows, captured values.
 * Lowering puts the region's steps between steps that jump: no step knows that it runs more than once.
 *
 *     start: go on? else jump to end          counter { jump?, round, rounds }
 *     next:  x[t] -> rows, states -> history[t]
 *            the region's own steps
 *            rows -> y[t], new states -> states
 *            round + 1 < rounds, and the condition? then jump to next
 *     end:
 *
 * The gradient of a scan is a scan the other way: its states are the gradients of the states and, adding up, of the captured values; its rows
 * are the history, x and the gradients of y. */
#include "exec/exec.h"
#include "wick/control.h"

typedef struct control_attr {
    int32_t n_state, n_x, n_y, n_captured;
    int64_t rounds;
    uint32_t reverse;
    uint8_t conditional; /* the first input is the condition, the region's first result the next one, the last result the count */
    uint8_t counted;     /* the first input is the number of rounds */
    uint8_t zero[2];
    wick_type out[]; /* of all results */
} control_attr;

static size_t attr_bytes(int n_out) { return sizeof(control_attr) + (size_t)n_out * sizeof(wick_type); }
static int lead(const control_attr *a) { return a->conditional || a->counted; }

/* ---- shapes ---------------------------------------------------------------------------------------------------------------- */

static bool is_flag(const wick_type *t, wick_dtype dtype) { return t->rank == 0 && t->dtype == dtype; }

static wick_status infer_scan(wick_infer *i) {
    const control_attr *a = i->attr;
    if (i->n_in != lead(a) + a->n_state + a->n_x + a->n_captured || i->n_out != 2 * a->n_state + a->n_y + a->conditional)
        return wick_infer_fail(i, WICK_ERR_INVALID, "the numbers of inputs and results are not those of its region");
    if (a->conditional && !is_flag(i->in[0], WICK_BOOL)) return wick_infer_fail(i, WICK_ERR_DTYPE, "the condition must be one bool, of 0 dims");
    if (a->counted && !is_flag(i->in[0], WICK_I64)) return wick_infer_fail(i, WICK_ERR_DTYPE, "the count must be one i64, of 0 dims");
    for (int k = 0; k < a->n_state; k++)
        if (i->in[lead(a) + k]->dtype != a->out[k].dtype || !wick_same_dims(i->in[lead(a) + k], &a->out[k]))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "state %d is not of the region's type", k);
    for (int k = 0; k < a->n_x; k++) {
        const wick_type *x = i->in[lead(a) + a->n_state + k];
        if (x->rank < 1 || x->dims[0] != a->rounds) return wick_infer_fail(i, WICK_ERR_SHAPE, "x %d does not have %lld rows", k, (long long)a->rounds);
    }
    for (int k = 0; k < i->n_out; k++) {
        const uint16_t device = i->out[k].device;
        i->out[k] = a->out[k];
        i->out[k].device = device;
    }
    return WICK_OK;
}
static wick_status infer_if(wick_infer *i) {
    const control_attr *a = i->attr;
    if (i->n_in != 1 + a->n_captured || i->n_out != a->n_y) return wick_infer_fail(i, WICK_ERR_INVALID, "the numbers of inputs and results are not those of its regions");
    if (!is_flag(i->in[0], WICK_BOOL)) return wick_infer_fail(i, WICK_ERR_DTYPE, "the condition must be one bool, of 0 dims");
    for (int k = 0; k < i->n_out; k++) {
        const uint16_t device = i->out[k].device;
        i->out[k] = a->out[k];
        i->out[k].device = device;
    }
    return WICK_OK;
}

/* ---- lowering -------------------------------------------------------------------------------------------------------------- */

/* What jumping steps look at first; COUNTER bytes. */
typedef struct counter {
    int64_t jump, round, rounds;
} counter;

typedef struct start_args {
    int64_t most;
    bool conditional, counted;
} start_args;
static int64_t run_start(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    const start_args *a = args;
    counter *c = ptr[0];
    c->round = 0;
    c->rounds = a->most;
    if (a->counted) c->rounds = WICK_MAX(0, WICK_MIN(a->most, *(const int64_t *)ptr[1]));
    c->jump = c->rounds == 0 || (a->conditional && !*(const uint8_t *)ptr[1]);
    return -1;
}
static int64_t run_next(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    counter *c = ptr[0];
    c->round++;
    c->jump = c->round < c->rounds && (!((const start_args *)args)->conditional || *(const uint8_t *)ptr[1]);
    return -1;
}
static int64_t run_count(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)args, (void)begin, (void)end, (void)scratch;
    *(int64_t *)ptr[1] = ((const counter *)ptr[0])->round;
    return -1;
}
static int64_t run_branch(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    ((counter *)ptr[0])->jump = *(const bool *)args || !*(const uint8_t *)ptr[1];
    return -1;
}

/* A copy to or from row t of a tensor. */
typedef struct row_args {
    wick_copy copy;
    int64_t bytes; /* from one row to the next */
    bool put, reverse;
} row_args;
static int64_t run_row(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const row_args *a = args;
    const counter *c = ptr[2];
    const int64_t at = (a->reverse ? c->rounds - 1 - c->round : c->round) * a->bytes;
    wick_copy_run(&a->copy, begin, end, (const char *)ptr[0] + (a->put ? 0 : at), (char *)ptr[1] + (a->put ? at : 0));
    return -1;
}
static wick_status lower_row(wick_lower *l, const wick_operand *all, const wick_operand *row, uint32_t count, bool put, bool reverse) {
    row_args a;
    memset(&a, 0, sizeof a);
    const wick_operand *src = put ? row : all, *dst = put ? all : row;
    a.copy.rank = row->type->rank;
    a.copy.src = a.copy.dst = (wick_dtype)row->type->dtype;
    for (int i = 0; i < a.copy.rank; i++) {
        a.copy.dims[i] = row->type->dims[i];
        a.copy.src_strides[i] = src->layout.strides[i + !put];
        a.copy.dst_strides[i] = dst->layout.strides[i + put];
    }
    a.bytes = all->layout.strides[0] * (int64_t)wick_dtype_size((wick_dtype)row->type->dtype);
    a.put = put;
    a.reverse = reverse;
    const wick_ref refs[3] = {wick_lower_ref(src, false), wick_lower_ref(dst, true), {count, false, 0}};
    return wick_lower_step(l, &(wick_step){.name = put ? "scan_put" : "scan_take", .run = run_row, .tasks = wick_copy_tasks(&a.copy), .bytes = 2.0 * (double)wick_type_bytes(row->type)},
                           &a, sizeof a, refs, 3);
}
static int64_t run_clear(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    memset(ptr[0], 0, *(const size_t *)args);
    return -1;
}

static wick_status lower_contiguous(wick_lower *l, const wick_type *type, wick_operand *at) {
    *at = (wick_operand){.type = type};
    wick_layout_contiguous(&at->layout, type);
    return wick_lower_temp(l, wick_type_bytes(type), &at->buffer);
}

/* Steps [first, last] run again and again: what lives there and before or after lives through all of it. */
static void extend_lives(wick_lower *l, int32_t first, int32_t last) {
    for (size_t i = 0; i < l->n_buffers; i++) {
        wick_buffer *b = &l->buffers[i];
        if (b->first >= 0 && b->first < first && b->last >= first) b->last = WICK_MAX(b->last, last);
    }
}

static bool is_read(const wick_lower *l, const wick_value *v) { return l->last_use[v->id] || l->result[v->id] >= 0; }

static wick_status lower_scan(wick_lower *l, wick_node *node) {
    const control_attr *a = node->attr;
    wick_graph *region = node->regions[0];
    const int n_params = a->n_state + a->n_x + a->n_captured, n_results = a->conditional + a->n_state + a->n_y;
    wick_operand *params = wick_arena_zalloc(l->arena, (size_t)(n_params + 1) * sizeof *params), *results = wick_arena_zalloc(l->arena, (size_t)(n_results + 1) * sizeof *results);
    wick_operand *outs = wick_arena_zalloc(l->arena, (size_t)(node->n_out + 1) * sizeof *outs);
    wick_type *rows = wick_arena_zalloc(l->arena, (size_t)(a->n_x + 1) * sizeof *rows);
    if (!params || !results || !outs || !rows) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    uint32_t count;
    WICK_TRY(wick_lower_temp(l, sizeof(counter), &count));
    for (int k = 0; k < a->n_state; k++) {
        const wick_operand in = wick_lower_in(l, node, lead(a) + k);
        WICK_TRY(lower_contiguous(l, &node->out[k].type, &params[k]));
        WICK_TRY(wick_lower_copy(l, &in, &params[k]));
    }
    for (int k = 0; k < a->n_x; k++) {
        rows[k] = node->in[lead(a) + a->n_state + k]->type;
        memmove(rows[k].dims, rows[k].dims + 1, sizeof rows[k].dims - sizeof rows[k].dims[0]);
        rows[k].dims[--rows[k].rank] = 0;
        WICK_TRY(lower_contiguous(l, &rows[k], &params[a->n_state + k]));
    }
    for (int k = 0; k < a->n_captured; k++) params[a->n_state + a->n_x + k] = wick_lower_in(l, node, lead(a) + a->n_state + a->n_x + k);
    for (int k = a->n_state; k < 2 * a->n_state + a->n_y; k++) { /* results by row, and the history where somebody reads it */
        if (k >= a->n_state + a->n_y && !is_read(l, &node->out[k])) continue;
        WICK_TRY(wick_lower_out(l, node, k, &outs[k]));
        const size_t bytes = wick_type_bytes(&node->out[k].type);
        const wick_ref ref = wick_lower_ref(&outs[k], true);
        WICK_TRY(wick_lower_step(l, &(wick_step){.name = "scan_clear", .run = run_clear, .tasks = 1, .bytes = a->conditional || a->counted ? (double)bytes : 0},
                                 &(size_t){a->conditional || a->counted ? bytes : 0}, sizeof(size_t), &ref, 1));
    }
    wick_ref refs[2] = {{count, true, 0}};
    if (lead(a)) {
        wick_operand flag = wick_lower_in(l, node, 0);
        refs[1] = wick_lower_ref(&flag, false);
    }
    const start_args args = {a->rounds, a->conditional, a->counted};
    const size_t start = l->n_steps;
    WICK_TRY(wick_lower_step(l, &(wick_step){.name = "scan_start", .run = run_start, .tasks = 1}, &args, sizeof args, refs, 1 + lead(a)));
    const size_t body = l->n_steps;
    for (int k = 0; k < a->n_x; k++) {
        const wick_operand in = wick_lower_in(l, node, lead(a) + a->n_state + k);
        WICK_TRY(lower_row(l, &in, &params[a->n_state + k], count, false, a->reverse));
    }
    for (int k = 0; k < a->n_state; k++)
        if (outs[a->n_state + a->n_y + k].type) WICK_TRY(lower_row(l, &outs[a->n_state + a->n_y + k], &params[k], count, true, a->reverse));
    WICK_TRY(wick_lower_region(l, region, params, results));
    l->node = node;
    for (int k = 0; k < a->n_y; k++) WICK_TRY(lower_row(l, &outs[a->n_state + k], &results[a->conditional + a->n_state + k], count, true, a->reverse));
    if (a->conditional) { /* it may be a captured value, or a state */
        wick_operand flag;
        WICK_TRY(lower_contiguous(l, results[0].type, &flag));
        WICK_TRY(wick_lower_copy(l, &results[0], &flag));
        refs[1] = wick_lower_ref(&flag, false);
    }
    for (int k = 0; k < a->n_state; k++) { /* states that exchange places: the old ones are read before any is written */
        wick_operand *r = &results[a->conditional + k];
        for (int j = 0; j < a->n_state; j++) {
            if (j == k || r->buffer != params[j].buffer) continue;
            wick_operand kept;
            WICK_TRY(lower_contiguous(l, r->type, &kept));
            WICK_TRY(wick_lower_copy(l, r, &kept));
            *r = kept;
            break;
        }
    }
    for (int k = 0; k < a->n_state; k++) {
        wick_operand *r = &results[a->conditional + k];
        if (r->buffer == params[k].buffer) { /* itself, or its elements in another order */
            if (wick_layout_equal(&r->layout, &params[k].layout, r->type) && r->layout.offset == 0) continue;
            wick_operand kept;
            WICK_TRY(lower_contiguous(l, r->type, &kept));
            WICK_TRY(wick_lower_copy(l, r, &kept));
            *r = kept;
        }
        WICK_TRY(wick_lower_copy(l, r, &params[k]));
    }
    const size_t last = l->n_steps;
    WICK_TRY(wick_lower_step(l, &(wick_step){.name = "scan_next", .run = run_next, .tasks = 1}, &args, sizeof args, refs, 1 + a->conditional));
    l->steps[last].jump = (int32_t)body - (int32_t)last;
    l->steps[start].jump = (int32_t)(l->n_steps - start);
    for (size_t s = body; s <= last; s++) l->steps[s].repeat = WICK_MAX(1, l->steps[s].repeat) * (double)WICK_MAX(a->rounds, 1);
    extend_lives(l, (int32_t)body, (int32_t)last);
    for (int k = 0; k < a->n_state; k++) {
        WICK_TRY(wick_lower_out(l, node, k, &outs[k]));
        WICK_TRY(wick_lower_copy(l, &params[k], &outs[k]));
    }
    if (a->conditional && is_read(l, &node->out[node->n_out - 1])) {
        wick_operand *out = &outs[node->n_out - 1];
        WICK_TRY(wick_lower_out(l, node, node->n_out - 1, out));
        WICK_TRY(wick_lower_step(l, &(wick_step){.name = "scan_count", .run = run_count, .tasks = 1}, "", 1, (wick_ref[]){{count, false, 0}, wick_lower_ref(out, true)}, 2));
    }
    return WICK_OK;
}

static wick_status lower_if(wick_lower *l, wick_node *node) {
    const control_attr *a = node->attr;
    wick_operand *params = wick_arena_zalloc(l->arena, (size_t)(a->n_captured + 1) * sizeof *params), *results = wick_arena_zalloc(l->arena, (size_t)(a->n_y + 1) * sizeof *results);
    wick_operand *outs = wick_arena_zalloc(l->arena, (size_t)(a->n_y + 1) * sizeof *outs), flag = wick_lower_in(l, node, 0);
    uint32_t count;
    if (!params || !results || !outs) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    WICK_TRY(wick_lower_temp(l, sizeof(counter), &count));
    for (int k = 0; k < a->n_captured; k++) params[k] = wick_lower_in(l, node, 1 + k);
    for (int k = 0; k < a->n_y; k++) WICK_TRY(wick_lower_out(l, node, k, &outs[k]));
    size_t jump = l->n_steps;
    const wick_ref refs[2] = {{count, true, 0}, wick_lower_ref(&flag, false)};
    WICK_TRY(wick_lower_step(l, &(wick_step){.name = "if", .run = run_branch, .tasks = 1}, &(bool){false}, sizeof(bool), refs, 2));
    for (int side = 0; side < 2; side++) {
        WICK_TRY(wick_lower_region(l, node->regions[side], params, results));
        l->node = node;
        for (int k = 0; k < a->n_y; k++) WICK_TRY(wick_lower_copy(l, &results[k], &outs[k]));
        if (side == 0) { /* over the other one */
            const size_t over = l->n_steps;
            WICK_TRY(wick_lower_step(l, &(wick_step){.name = "else", .run = run_branch, .tasks = 1}, &(bool){true}, sizeof(bool), refs, 2));
            l->steps[jump].jump = (int32_t)(l->n_steps - jump);
            jump = over;
        }
    }
    l->steps[jump].jump = (int32_t)(l->n_steps - jump);
    return WICK_OK;
}

/* ---- regions --------------------------------------------------------------------------------------------------------------- */

static wick_tensor *param(wick_context *ctx, const wick_type *type, int64_t index) {
    wick_input_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = *type;
    attr.index = index;
    wick_tensor *t = wick_record(ctx, &wick_op_input, 0, NULL, &attr, sizeof attr);
    if (ctx->target && !t->error) t->value->node->slot[0] = (uint64_t)index;
    return t;
}

/* A body's recording turned into a region. */
typedef struct collector {
    wick_context *ctx;
    wick_arena *arena; /* of the region */
    wick_graph *region;
    wick_value **captured; /* by a list in the context's memory */
    size_t n_captured, cap_captured, n_params;
    uint32_t start; /* what was recorded since is the body's */
    bool whole;     /* all of it: an if's body runs or does not. Else what depends on the parameters: the rest is the same each round */
    wick_node **found; /* depend on the parameters, inputs first */
    size_t n_found, cap_found;
    struct visit {
        wick_node *node;
        uint32_t next;
    } *stack;
    size_t cap_stack;
} collector;

static bool is_ours(const collector *c, const wick_value *v) {
    return !v->array && v->node->op != &wick_op_input && v->node->n_in && !(v->node->flags & WICK_NODE_EVALUATED) && (int32_t)(v->node->position - c->start) >= 0;
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
            if (depth == c->cap_stack && !wick_grow(&c->ctx->alloc, (void **)&c->stack, &c->cap_stack, depth + 1, sizeof *c->stack)) return false;
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
            if (c->n_found == c->cap_found && !wick_grow(&c->ctx->alloc, (void **)&c->found, &c->cap_found, c->n_found + 1, sizeof *c->found)) return false;
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
    wick_tensor *t = good ? param(ctx, &v->type, (int64_t)(c->n_params + c->n_captured - 1)) : NULL;
    ctx->target = NULL;
    return v->forward = t && !t->error ? t->value : NULL;
}

/* Records body(in) -> out and makes a region of it; captured values are added to c's. poison: why not. forward of recorded values is used here alone,
 * and cleared. */
static wick_tensor *record_region(collector *c, const char *op, wick_function body, void *user, int n_in, wick_tensor **in, int n_out, wick_tensor **out) {
    wick_context *ctx = c->ctx;
    wick_tensor *poison = NULL;
    wick_frame frame = {.parent = ctx->frame, .trace = true, .next_stream = 1};
    ctx->frame = &frame;
    wick_context_clear_error(ctx);
    c->start = (uint32_t)ctx->nodes_recorded;
    const wick_status status = body(ctx, in, out, user);
    ctx->frame = frame.parent;
    if (status != WICK_OK) {
        poison = wick_poison(ctx, status, "%s: the body failed: %s", op, ctx->msg.status ? ctx->msg.text : wick_status_name(status));
    } else if (frame.n_effects)
        poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: the body assigns, taps or checks; it may only compute", op);
    else if (frame.next_stream != 1)
        poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: the body draws random numbers, which would be the same each time; draw them before", op);
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
        wick_tensor *t = param(ctx, &in[k]->value->type, k);
        good = !t->error;
        if (good) in[k]->value->forward = t->value;
    }
    for (size_t k = 0; k < c->n_captured && good; k++) {
        wick_tensor *t = param(ctx, &c->captured[k]->type, (int64_t)(c->n_params + k));
        good = !t->error;
        if (good) c->captured[k]->forward = t->value;
    }
    ctx->target = NULL;
    wick_value **constants = NULL;
    size_t n_constants = 0, cap_constants = 0;
    for (size_t i = 0; i < c->n_found && good; i++) {
        wick_node *node = c->found[i];
        wick_value *small[64], **values = node->n_in <= 64 ? small : wick_arena_alloc(c->arena, node->n_in * sizeof *values);
        good = values != NULL;
        for (int k = 0; k < node->n_in && good; k++) {
            wick_value *v = node->in[k];
            if (v->node->op == &wick_op_constant && !v->forward && (good = wick_grow(&ctx->alloc, (void **)&constants, &cap_constants, n_constants + 1, sizeof *constants))) constants[n_constants++] = v;
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
        if (out[k]->value->node->op == &wick_op_constant && !out[k]->value->forward && (good = wick_grow(&ctx->alloc, (void **)&constants, &cap_constants, n_constants + 1, sizeof *constants)))
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
    return good && !c->region->failed ? NULL : wick_poison(ctx, WICK_ERR_NOMEM, "%s: out of memory recording its body", op);
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

/* ---- recording -------------------------------------------------------------------------------------------------------------- */

enum { MOST = 64 }; /* states, rows or results of one node */

static void record_scan(wick_context *ctx, const char *name, wick_tensor *condition, bool conditional, wick_function body, void *user, const wick_scan_options *o,
                        wick_tensor **out, wick_tensor **count) {
    const int n_out = o ? o->n_state + o->n_y : 0;
    wick_tensor *poison = NULL;
    if (!o || !body || o->n_state < 0 || o->n_x < 0 || o->n_y < 0 || o->n_state > MOST || o->n_x > MOST || o->n_y > MOST || (o->n_state && !o->state) || (o->n_x && !o->x)) {
        poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: needs a body, and up to %d each of states, rows and results", name, MOST);
        if (count) *count = poison;
        poison_all(poison, o && o->n_state >= 0 && o->n_y >= 0 ? n_out : 0, out);
        return;
    }
    int64_t rounds = o->rounds;
    for (int k = 0; k < o->n_state && !poison; k++)
        poison = !o->state[k] ? wick_poison(ctx, WICK_ERR_INVALID, "%s: state %d is NULL", name, k) : o->state[k]->error ? o->state[k] : NULL;
    for (int k = 0; k < o->n_x && !poison; k++) {
        wick_tensor *x = o->x[k];
        poison = !x ? wick_poison(ctx, WICK_ERR_INVALID, "%s: x %d is NULL", name, k) : x->error ? x : NULL;
        if (poison) break;
        if (wick_tensor_rank(x) < 1) poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: x %d has no rows", name, k);
        else if (k == 0 && !o->rounds) rounds = wick_tensor_dim(x, 0);
        else if (wick_tensor_dim(x, 0) != rounds) poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: x %d has %lld rows, not %lld", name, k, (long long)wick_tensor_dim(x, 0), (long long)rounds);
    }
    if (!poison && ctx->target) poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: not inside a gradient rule", name);
    if (!poison && rounds < 0) poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: %lld rounds", name, (long long)rounds);
    if (!poison && conditional && !condition) condition = wick_constant(ctx, WICK_BOOL, 1);
    if (!poison && conditional && condition->error) poison = condition;
    if (!poison && conditional && !is_flag(&condition->value->type, WICK_BOOL)) poison = wick_poison(ctx, WICK_ERR_DTYPE, "%s: the condition must be one bool, of 0 dims", name);
    if (!poison && conditional && o->reverse) poison = wick_poison(ctx, WICK_ERR_INVALID, "%s: in reverse nobody knows where to start", name);

    collector c = {.ctx = ctx, .arena = poison ? NULL : arena_new(ctx), .n_params = (size_t)(o->n_state + o->n_x)};
    if (!poison && !c.arena) poison = wick_poison(ctx, WICK_ERR_NOMEM, "%s: out of memory", name);
    wick_scope *scope = poison ? NULL : wick_scope_open(ctx);
    wick_tensor *in[2 * MOST], *made[2 * MOST + 1] = {NULL}, *all[3 * MOST + 1], **results = made + conditional;
    control_attr *attr = NULL;
    const int n_all = 2 * o->n_state + o->n_y + conditional;
    if (!poison) {
        for (int k = 0; k < o->n_state; k++) in[k] = param(ctx, &o->state[k]->value->type, k);
        for (int k = 0; k < o->n_x; k++) {
            wick_type row = o->x[k]->value->type;
            memmove(row.dims, row.dims + 1, sizeof row.dims - sizeof row.dims[0]);
            row.dims[WICK_MAX_DIMS - 1] = 0;
            row.rank--;
            in[o->n_state + k] = param(ctx, &row, o->n_state + k);
        }
        for (size_t k = 0; k < c.n_params && !poison; k++)
            if (in[k]->error) poison = in[k];
        if (!poison) poison = record_region(&c, name, body, user, (int)c.n_params, in, conditional + n_out, made);
        if (!poison && conditional && !is_flag(&made[0]->value->type, WICK_BOOL)) poison = wick_poison(ctx, WICK_ERR_DTYPE, "%s: the body's first result must be one bool, of 0 dims", name);
        for (int k = 0; k < o->n_state && !poison; k++) {
            const wick_type *is = &results[k]->value->type, *was = &o->state[k]->value->type;
            if (is->dtype == was->dtype && wick_same_dims(is, was)) continue;
            char text[2][128];
            wick_str s[2] = {wick_str_on(text[0], sizeof text[0]), wick_str_on(text[1], sizeof text[1])};
            wick_type_print(&s[0], was);
            wick_type_print(&s[1], is);
            poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: state %d is %s and becomes %s", name, k, text[0], text[1]);
        }
        if (!poison && !(attr = wick_arena_zalloc(c.arena, attr_bytes(n_all)))) poison = wick_poison(ctx, WICK_ERR_NOMEM, "%s: out of memory", name);
    }
    if (!poison) {
        *attr = (control_attr){.n_state = o->n_state, .n_x = o->n_x, .n_y = o->n_y, .n_captured = (int32_t)c.n_captured, .rounds = rounds, .reverse = o->reverse, .conditional = conditional};
        wick_type *t = attr->out;
        for (int k = 0; k < n_out; k++) *t++ = results[k]->value->type;
        for (int k = 0; k < o->n_state; k++) *t++ = results[k]->value->type;
        for (int k = o->n_state; k < 2 * o->n_state + o->n_y && !poison; k++) { /* by row */
            wick_type *q = &attr->out[k];
            int64_t dims[WICK_MAX_DIMS + 1] = {rounds};
            memcpy(dims + 1, q->dims, q->rank * sizeof *dims);
            if (q->rank == WICK_MAX_DIMS && k >= n_out) { /* nobody may ask for the history of this one */
                poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: a state has %d dims; at most %d", name, q->rank, WICK_MAX_DIMS - 1);
            } else if (!wick_type_set(q, (wick_dtype)q->dtype, q->rank + 1, dims))
                poison = wick_poison(ctx, WICK_ERR_SHAPE, "%s: result %d of all rounds is too large", name, k - o->n_state);
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
            wick_record_n(ctx, &wick_op_scan, n_in, inputs, attr, attr_bytes(n_all), n_all, all);
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
    arena_release(ctx, c.arena);
    collector_free(&c);
    wick_scope_close(&scope);
}

void wick_scan_loop(wick_context *ctx, wick_function body, void *user, const wick_scan_options *options, wick_tensor **out) {
    record_scan(ctx, "scan", NULL, false, body, user, options, out, NULL);
}
void wick_while_loop(wick_context *ctx, wick_tensor *condition, wick_function body, void *user, const wick_scan_options *options, wick_tensor **out, wick_tensor **count) {
    record_scan(ctx, "loop", condition, true, body, user, options, out, count);
}

void wick_if(wick_context *ctx, wick_tensor *condition, wick_function then_body, wick_function else_body, void *user, int n, wick_tensor **out) {
    wick_tensor *poison = NULL, *made[2][MOST] = {{NULL}}, *all[MOST];
    if (n < 1 || n > MOST || !then_body || !else_body || !condition) {
        poison = wick_poison(ctx, WICK_ERR_INVALID, "if: needs a condition, two bodies, and 1 to %d results", MOST);
        poison_all(poison, WICK_MAX(0, n), out);
        return;
    }
    if (condition->error) poison = condition;
    if (!poison && ctx->target) poison = wick_poison(ctx, WICK_ERR_INVALID, "if: not inside a gradient rule");
    if (!poison && !is_flag(&condition->value->type, WICK_BOOL)) poison = wick_poison(ctx, WICK_ERR_DTYPE, "if: the condition must be one bool, of 0 dims");
    collector c = {.ctx = ctx, .arena = poison ? NULL : arena_new(ctx), .whole = true};
    if (!poison && !c.arena) poison = wick_poison(ctx, WICK_ERR_NOMEM, "if: out of memory");
    wick_scope *scope = poison ? NULL : wick_scope_open(ctx);
    wick_graph **regions = poison ? NULL : wick_arena_alloc(c.arena, 2 * sizeof *regions);
    control_attr *attr = poison ? NULL : wick_arena_zalloc(c.arena, attr_bytes(n));
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
        poison = wick_poison(ctx, WICK_ERR_SHAPE, "if: result %d is %s in one body and %s in the other", k, text[0], text[1]);
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
            wick_record_n(ctx, &wick_op_if, (int)c.n_captured + 1, inputs, attr, attr_bytes(n), n, all);
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
    arena_release(ctx, c.arena);
    collector_free(&c);
    wick_scope_close(&scope);
}

/* ---- gradients --------------------------------------------------------------------------------------------------------------- */

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
static void pull(int n, wick_tensor *const *results, wick_tensor *const *g, int n_wrt, wick_tensor *const *wrt, wick_tensor **grads) {
    wick_tensor *loss = NULL;
    for (int k = 0; k < n; k++) {
        if (!g[k]) continue;
        wick_tensor *part = wick_as(wick_sum(wick_mul(results[k], g[k]), WICK_ALL_AXES, false), WICK_F64);
        loss = loss ? wick_add(loss, part) : part;
    }
    if (loss && n_wrt)
        wick_grad(loss, n_wrt, wrt, grads);
    else
        for (int k = 0; k < n_wrt; k++) grads[k] = wick_expand(wick_like(wrt[k], 0), wick_tensor_rank(wrt[k]), wick_tensor_dims(wrt[k]));
}

/* Expands the gradients in a graph of its own, inside the expansion of another's. Walks are numbered on: no mark of either is taken for the other's. */
static bool finish(wick_graph *graph, wick_graph *outer, wick_msg *msg) {
    wick_context *ctx = graph->ctx;
    const uint32_t walk = ctx->walk;
    const wick_status status = wick_pass_expand_grad(graph, msg);
    for (size_t i = 0; i < graph->n; i++) {
        graph->nodes[i]->mark = 0;
        for (int k = 0; k < graph->nodes[i]->n_out; k++) graph->nodes[i]->out[k].mark = 0, graph->nodes[i]->out[k].grad = NULL;
    }
    ctx->walk = walk;
    ctx->target = outer;
    return status == WICK_OK && !graph->failed;
}

static bool is_real(const wick_value *v) { return wick_dtype_is_float(v->type.dtype); }

static void grad_failed(wick_gradient *g, wick_context *ctx, const wick_msg *msg) {
    wick_tensor *poison = wick_poison(ctx, msg->status ? msg->status : WICK_ERR_NOMEM, "%s", msg->status ? msg->text : "out of memory taking gradients of a body");
    for (int i = 0; i < g->n_in; i++)
        if (g->need[i]) g->gin[i] = poison;
}

static void grad_scan(wick_gradient *g) {
    const control_attr *a = g->node->attr;
    wick_context *ctx = g->in[0]->ctx;
    wick_graph *outer = ctx->target, *region = g->node->regions[0];
    const int first = lead(a), n_params = a->n_state + a->n_x + a->n_captured;
    wick_msg msg = {0};
    /* Which states carry gradients, which captured values ask for one. */
    const size_t room = (size_t)(3 * n_params + 2 * a->n_state + a->n_y + 8);
    wick_tensor **lists = wick_arena_zalloc(outer->arena, 8 * room * sizeof *lists);
    wick_graph *back = wick_graph_new(ctx, outer->arena);
    wick_graph **regions = wick_arena_alloc(outer->arena, sizeof *regions);
    control_attr *attr = wick_arena_zalloc(outer->arena, attr_bytes((int)(2 * room)));
    if (!lists || !back || !regions || !attr) {
        grad_failed(g, ctx, &msg);
        return;
    }
    wick_tensor **in = lists, **given = lists + room, **results = lists + 2 * room, **gs = lists + 3 * room, **wrt = lists + 4 * room, **grads = lists + 5 * room,
                **outs = lists + 6 * room, **all = lists + 7 * room;
    int n_in = 0, n_state = 0, n_x = 0, n_wrt = 0, n_y = 0;
    if (a->conditional) in[n_in++] = g->out[g->n_out - 1];
    if (a->counted) in[n_in++] = g->in[0];
    const int counted = n_in;
    ctx->target = back;
    /* states: gradients of states, sums for captured values */
    for (int k = 0; k < a->n_state; k++) {
        if (!is_real(g->node->in[first + k])) continue;
        gs[a->conditional + k] = param(ctx, &g->node->out[k].type, n_state++);
    }
    wick_tensor **sums = wick_arena_zalloc(outer->arena, (size_t)(a->n_captured + 1) * sizeof *sums);
    for (int k = 0; k < a->n_captured && sums; k++) {
        const int i = first + a->n_state + a->n_x + k;
        if (g->need[i]) sums[k] = param(ctx, &g->node->in[i]->type, n_state++);
    }
    /* rows: states before the round, x, gradients of y */
    for (int k = 0; k < a->n_state; k++) given[k] = param(ctx, &g->node->out[k].type, n_state + n_x++);
    for (int k = 0; k < a->n_x; k++) {
        wick_type row = g->node->in[first + a->n_state + k]->type;
        memmove(row.dims, row.dims + 1, sizeof row.dims - sizeof row.dims[0]);
        row.dims[WICK_MAX_DIMS - 1] = 0;
        row.rank--;
        given[a->n_state + k] = param(ctx, &row, n_state + n_x++);
    }
    for (int k = 0; k < a->n_y; k++) {
        if (!g->gout[a->n_state + k]) continue;
        wick_type row = g->node->out[a->n_state + k].type;
        memmove(row.dims, row.dims + 1, sizeof row.dims - sizeof row.dims[0]);
        row.dims[WICK_MAX_DIMS - 1] = 0;
        row.rank--;
        gs[a->conditional + a->n_state + k] = param(ctx, &row, n_state + n_x++);
    }
    wick_tensor **ghist = wick_arena_zalloc(outer->arena, (size_t)(a->n_state + 1) * sizeof *ghist);
    for (int k = 0; k < a->n_state && ghist; k++) /* of the history, where a gradient of a gradient comes through it */
        if (g->gout[a->n_state + a->n_y + k]) ghist[k] = param(ctx, &g->node->out[k].type, n_state + n_x++);
    for (int k = 0; k < a->n_captured; k++) given[a->n_state + a->n_x + k] = param(ctx, &g->node->in[first + a->n_state + a->n_x + k]->type, n_state + n_x + k);
    bool good = sums && ghist && !back->failed && replay(back, region, given, results);
    if (good) {
        for (int k = 0; k < a->n_state; k++)
            if (gs[a->conditional + k]) wrt[n_wrt++] = given[k];
        for (int k = 0; k < a->n_captured; k++)
            if (sums[k]) wrt[n_wrt++] = given[a->n_state + a->n_x + k];
        for (int k = 0; k < a->n_x; k++)
            if (g->need[first + a->n_state + k]) wrt[n_wrt++] = given[a->n_state + k];
        pull(region->n_outputs, results, gs, n_wrt, wrt, grads);
        int at = 0, m = 0;
        for (int k = 0; k < a->n_state; k++)
            if (gs[a->conditional + k]) outs[m++] = ghist[k] ? wick_add(grads[at], ghist[k]) : grads[at], at++;
        for (int k = 0; k < a->n_captured; k++)
            if (sums[k]) outs[m++] = wick_add(sums[k], grads[at++]);
        for (; at < n_wrt; at++) outs[m++] = grads[at], n_y++;
        back->outputs = wick_arena_alloc(outer->arena, (size_t)(m + 1) * sizeof *back->outputs);
        good = back->outputs != NULL;
        for (int k = 0; k < m && good; k++) {
            if (outs[k]->error) {
                wick_msg_set(&msg, outs[k]->error->status, "%s", outs[k]->error->text);
                good = false;
                break;
            }
            back->outputs[k] = outs[k]->value;
        }
        back->n_outputs = m;
    }
    ctx->target = outer;
    good = good && finish(back, outer, &msg);
    if (!good) {
        ctx->target = outer;
        grad_failed(g, ctx, &msg);
        return;
    }
    /* The node itself. */
    for (int k = 0; k < a->n_state; k++)
        if (gs[a->conditional + k]) in[n_in++] = g->gout[k] ? g->gout[k] : wick_expand(wick_like(g->out[k], 0), wick_tensor_rank(g->out[k]), wick_tensor_dims(g->out[k]));
    for (int k = 0; k < a->n_captured; k++)
        if (sums[k]) {
            wick_tensor *v = g->in[first + a->n_state + a->n_x + k];
            in[n_in++] = wick_expand(wick_like(v, 0), wick_tensor_rank(v), wick_tensor_dims(v));
        }
    for (int k = 0; k < a->n_state; k++) in[n_in++] = g->out[a->n_state + a->n_y + k];
    for (int k = 0; k < a->n_x; k++) in[n_in++] = g->in[first + a->n_state + k];
    for (int k = 0; k < a->n_y; k++)
        if (g->gout[a->n_state + k]) in[n_in++] = g->gout[a->n_state + k];
    for (int k = 0; k < a->n_state; k++)
        if (ghist[k]) in[n_in++] = g->gout[a->n_state + a->n_y + k];
    for (int k = 0; k < a->n_captured; k++) in[n_in++] = g->in[first + a->n_state + a->n_x + k];
    *attr = (control_attr){.n_state = n_state, .n_x = n_x, .n_y = n_y, .n_captured = a->n_captured, .rounds = a->rounds, .reverse = !a->reverse, .counted = counted != 0};
    const int n_out = 2 * n_state + n_y;
    for (int k = 0; k < n_state; k++) attr->out[k] = in[counted + k]->value->type;
    for (int k = n_state; k < n_out; k++) {
        const wick_type *row = k < n_state + n_y ? &back->outputs[k]->type : &attr->out[k - n_state - n_y];
        int64_t dims[WICK_MAX_DIMS + 1] = {a->rounds};
        memcpy(dims + 1, row->dims, row->rank * sizeof *dims);
        if (row->rank == WICK_MAX_DIMS || !wick_type_set(&attr->out[k], (wick_dtype)row->dtype, row->rank + 1, dims)) {
            wick_msg_set(&msg, WICK_ERR_SHAPE, "the gradient of a scan needs its sums for each round: captured values have at most %d dims", WICK_MAX_DIMS - 1);
            grad_failed(g, ctx, &msg);
            return;
        }
    }
    regions[0] = back;
    wick_record_n(ctx, &wick_op_scan, n_in, in, attr, attr_bytes(n_out), n_out, all);
    if (!all[0]->error) {
        all[0]->value->node->regions = regions;
        all[0]->value->node->n_regions = 1;
    }
    int at = 0, row = n_state;
    for (int k = 0; k < a->n_state; k++)
        if (gs[a->conditional + k]) g->gin[first + k] = all[at++];
    for (int k = 0; k < a->n_captured; k++)
        if (sums[k]) g->gin[first + a->n_state + a->n_x + k] = all[at++];
    for (int k = 0; k < a->n_x; k++)
        if (g->need[first + a->n_state + k]) g->gin[first + a->n_state + k] = all[row++];
}

static void grad_if(wick_gradient *g) {
    const control_attr *a = g->node->attr;
    wick_context *ctx = g->in[0]->ctx;
    wick_graph *outer = ctx->target;
    wick_msg msg = {0};
    const size_t room = (size_t)(a->n_captured + a->n_y + 4);
    wick_tensor **lists = wick_arena_zalloc(outer->arena, 7 * room * sizeof *lists);
    wick_graph **regions = wick_arena_alloc(outer->arena, 2 * sizeof *regions);
    control_attr *attr = wick_arena_zalloc(outer->arena, attr_bytes((int)room));
    if (!lists || !regions || !attr) {
        grad_failed(g, ctx, &msg);
        return;
    }
    wick_tensor **in = lists, **given = lists + room, **results = lists + 2 * room, **gs = lists + 3 * room, **wrt = lists + 4 * room, **grads = lists + 5 * room,
                **all = lists + 6 * room;
    int n_in = 0, n_wrt = 0, n_g = 0;
    for (int side = 0; side < 2; side++) {
        wick_graph *back = wick_graph_new(ctx, outer->arena);
        bool good = back != NULL;
        if (good) {
            ctx->target = back;
            n_wrt = n_g = 0;
            for (int k = 0; k < a->n_captured; k++) given[k] = param(ctx, &g->node->in[1 + k]->type, k);
            for (int k = 0; k < a->n_y; k++) gs[k] = g->gout[k] ? param(ctx, &g->node->out[k].type, a->n_captured + n_g++) : NULL;
            good = !back->failed && replay(back, g->node->regions[side], given, results);
        }
        if (good) {
            for (int k = 0; k < a->n_captured; k++)
                if (g->need[1 + k]) wrt[n_wrt++] = given[k];
            pull(a->n_y, results, gs, n_wrt, wrt, grads);
            back->outputs = wick_arena_alloc(outer->arena, (size_t)(n_wrt + 1) * sizeof *back->outputs);
            good = back->outputs != NULL;
            for (int k = 0; k < n_wrt && good; k++) {
                if (grads[k]->error) {
                    wick_msg_set(&msg, grads[k]->error->status, "%s", grads[k]->error->text);
                    good = false;
                    break;
                }
                back->outputs[k] = grads[k]->value;
            }
            back->n_outputs = n_wrt;
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
    wick_record_n(ctx, &wick_op_if, n_in, in, attr, attr_bytes(n_wrt), n_wrt, all);
    if (!all[0]->error) {
        all[0]->value->node->regions = regions;
        all[0]->value->node->n_regions = 2;
    }
    for (int k = 0, m = 0; k < a->n_captured; k++)
        if (g->need[1 + k]) g->gin[1 + k] = all[m++];
}

/* ---- definitions -------------------------------------------------------------------------------------------------------------- */

static double flops_region(const wick_graph *region) {
    double sum = 0;
    for (size_t i = 0; i < region->n; i++)
        if (!(region->nodes[i]->op->flags & WICK_OP_LEAF)) sum += wick_node_flops(region->nodes[i]);
    return sum;
}
static double flops_scan(const wick_node *node) { return node->n_regions ? (double)((const control_attr *)node->attr)->rounds * flops_region(node->regions[0]) : 0; }
static double flops_if(const wick_node *node) { return node->n_regions == 2 ? WICK_MAX(flops_region(node->regions[0]), flops_region(node->regions[1])) : 0; }

static void print_scan(wick_str *s, const wick_node *node) {
    const control_attr *a = node->attr;
    wick_str_add(s, "rounds=%lld states=%d x=%d%s%s%s", (long long)a->rounds, (int)a->n_state, (int)a->n_x, a->reverse ? " reverse" : "", a->conditional ? " while" : "", a->counted ? " counted" : "");
}
const wick_op wick_op_scan = {.name = "scan", .doc = "a region again and again, over rows and states; while a condition holds", .onnx = "Scan, Loop", .torch = "while_loop", .cost = "the region's, each round",
                              .min_in = 0, .max_in = 255, .infer = infer_scan, .grad = grad_scan, .flops = flops_scan, .lower = lower_scan, .print = print_scan};
const wick_op wick_op_if = {.name = "if", .doc = "one of two regions", .onnx = "If", .torch = "cond", .cost = "the dearer region's", .min_in = 1, .max_in = 255,
                            .infer = infer_if, .grad = grad_if, .flops = flops_if, .lower = lower_if};
