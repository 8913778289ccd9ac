/* control_lower.c: the steps of loops and branches. Steps that jump look at the counter first; the order is drawn in
 * control.c. */
#include "exec/control.h"

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
static wick_status lower_row(wick_lower *l, const wick_operand *all, const wick_operand *row, uint32_t count, bool put,
                             bool reverse) {
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
    return wick_lower_step(l,
                           &(wick_step){.name = put ? "scan_put" : "scan_take",
                                        .run = run_row,
                                        .tasks = wick_copy_tasks(&a.copy),
                                        .bytes = 2.0 * (double)wick_type_bytes(row->type)},
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

/* Parameters of the body: states get their first values, rows of x a place, captured values are where they are. */
static wick_status scan_params(wick_lower *l, wick_node *node, wick_operand *params) {
    const control_attr *a = node->attr;
    wick_type *rows = wick_arena_zalloc(l->arena, (size_t)(a->n_x + 1) * sizeof *rows);
    if (!rows) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    for (int k = 0; k < a->n_state; k++) {
        const wick_operand in = wick_lower_in(l, node, wick_control_lead(a) + k);
        WICK_TRY(lower_contiguous(l, &node->out[k].type, &params[k]));
        WICK_TRY(wick_lower_copy(l, &in, &params[k]));
    }
    for (int k = 0; k < a->n_x; k++) {
        rows[k] = node->in[wick_control_lead(a) + a->n_state + k]->type;
        memmove(rows[k].dims, rows[k].dims + 1, sizeof rows[k].dims - sizeof rows[k].dims[0]);
        rows[k].dims[--rows[k].rank] = 0;
        WICK_TRY(lower_contiguous(l, &rows[k], &params[a->n_state + k]));
    }
    for (int k = 0; k < a->n_captured; k++)
        params[a->n_state + a->n_x + k] = wick_lower_in(l, node, wick_control_lead(a) + a->n_state + a->n_x + k);
    return WICK_OK;
}

/* Places for results by row, and for the history where somebody reads it. Loops that may end early clear them. */
static wick_status scan_results(wick_lower *l, wick_node *node, wick_operand *outs) {
    const control_attr *a = node->attr;
    for (int k = a->n_state; k < 2 * a->n_state + a->n_y; k++) {
        if (k >= a->n_state + a->n_y && !is_read(l, &node->out[k])) continue;
        WICK_TRY(wick_lower_out(l, node, k, &outs[k]));
        const size_t bytes = wick_type_bytes(&node->out[k].type);
        const wick_ref ref = wick_lower_ref(&outs[k], true);
        WICK_TRY(wick_lower_step(l,
                                 &(wick_step){.name = "scan_clear",
                                              .run = run_clear,
                                              .tasks = 1,
                                              .bytes = a->conditional || a->counted ? (double)bytes : 0},
                                 &(size_t){a->conditional || a->counted ? bytes : 0}, sizeof(size_t), &ref, 1));
    }
    return WICK_OK;
}

/* What a round gave becomes the next one's states. */
static wick_status scan_pass_on(wick_lower *l, const control_attr *a, wick_operand *params, wick_operand *results) {
    /* states that exchange places: the old ones are read before any is written */
    for (int k = 0; k < a->n_state; k++) {
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
    return WICK_OK;
}

/* After the last round: states, and how many rounds there were. */
static wick_status scan_leave(wick_lower *l, wick_node *node, const wick_operand *params, wick_operand *outs,
                              uint32_t count) {
    const control_attr *a = node->attr;
    for (int k = 0; k < a->n_state; k++) {
        WICK_TRY(wick_lower_out(l, node, k, &outs[k]));
        WICK_TRY(wick_lower_copy(l, &params[k], &outs[k]));
    }
    if (a->conditional && is_read(l, &node->out[node->n_out - 1])) {
        wick_operand *out = &outs[node->n_out - 1];
        WICK_TRY(wick_lower_out(l, node, node->n_out - 1, out));
        WICK_TRY(wick_lower_step(l, &(wick_step){.name = "scan_count", .run = run_count, .tasks = 1}, "", 1,
                                 (wick_ref[]){{count, false, 0}, wick_lower_ref(out, true)}, 2));
    }
    return WICK_OK;
}

wick_status wick_lower_scan(wick_lower *l, wick_node *node) {
    const control_attr *a = node->attr;
    wick_graph *region = node->regions[0];
    const int n_params = a->n_state + a->n_x + a->n_captured, n_results = a->conditional + a->n_state + a->n_y;
    wick_operand *params = wick_arena_zalloc(l->arena, (size_t)(n_params + 1) * sizeof *params),
                 *results = wick_arena_zalloc(l->arena, (size_t)(n_results + 1) * sizeof *results);
    wick_operand *outs = wick_arena_zalloc(l->arena, (size_t)(node->n_out + 1) * sizeof *outs);
    if (!params || !results || !outs) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    uint32_t count;
    WICK_TRY(wick_lower_temp(l, sizeof(counter), &count));
    WICK_TRY(scan_params(l, node, params));
    WICK_TRY(scan_results(l, node, outs));
    wick_ref refs[2] = {{count, true, 0}};
    if (wick_control_lead(a)) {
        wick_operand flag = wick_lower_in(l, node, 0);
        refs[1] = wick_lower_ref(&flag, false);
    }
    const start_args args = {a->rounds, a->conditional, a->counted};
    const size_t start = l->n_steps;
    WICK_TRY(wick_lower_step(l, &(wick_step){.name = "scan_start", .run = run_start, .tasks = 1}, &args, sizeof args,
                             refs, 1 + wick_control_lead(a)));
    const size_t body = l->n_steps;
    for (int k = 0; k < a->n_x; k++) {
        const wick_operand in = wick_lower_in(l, node, wick_control_lead(a) + a->n_state + k);
        WICK_TRY(lower_row(l, &in, &params[a->n_state + k], count, false, a->reverse));
    }
    for (int k = 0; k < a->n_state; k++)
        if (outs[a->n_state + a->n_y + k].type)
            WICK_TRY(lower_row(l, &outs[a->n_state + a->n_y + k], &params[k], count, true, a->reverse));
    WICK_TRY(wick_lower_region(l, region, params, results));
    l->node = node;
    for (int k = 0; k < a->n_y; k++)
        WICK_TRY(
            lower_row(l, &outs[a->n_state + k], &results[a->conditional + a->n_state + k], count, true, a->reverse));
    if (a->conditional) { /* it may be a captured value, or a state */
        wick_operand flag;
        WICK_TRY(lower_contiguous(l, results[0].type, &flag));
        WICK_TRY(wick_lower_copy(l, &results[0], &flag));
        refs[1] = wick_lower_ref(&flag, false);
    }
    WICK_TRY(scan_pass_on(l, a, params, results));
    const size_t last = l->n_steps;
    WICK_TRY(wick_lower_step(l, &(wick_step){.name = "scan_next", .run = run_next, .tasks = 1}, &args, sizeof args,
                             refs, 1 + a->conditional));
    l->steps[last].jump = (int32_t)body - (int32_t)last;
    l->steps[start].jump = (int32_t)(l->n_steps - start);
    for (size_t s = body; s <= last; s++)
        l->steps[s].repeat = WICK_MAX(1, l->steps[s].repeat) * (double)WICK_MAX(a->rounds, 1);
    extend_lives(l, (int32_t)body, (int32_t)last);
    return scan_leave(l, node, params, outs, count);
}

wick_status wick_lower_if(wick_lower *l, wick_node *node) {
    const control_attr *a = node->attr;
    wick_operand *params = wick_arena_zalloc(l->arena, (size_t)(a->n_captured + 1) * sizeof *params),
                 *results = wick_arena_zalloc(l->arena, (size_t)(a->n_y + 1) * sizeof *results);
    wick_operand *outs = wick_arena_zalloc(l->arena, (size_t)(a->n_y + 1) * sizeof *outs),
                 flag = wick_lower_in(l, node, 0);
    uint32_t count;
    if (!params || !results || !outs) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    WICK_TRY(wick_lower_temp(l, sizeof(counter), &count));
    for (int k = 0; k < a->n_captured; k++) params[k] = wick_lower_in(l, node, 1 + k);
    for (int k = 0; k < a->n_y; k++) WICK_TRY(wick_lower_out(l, node, k, &outs[k]));
    size_t jump = l->n_steps;
    const wick_ref refs[2] = {{count, true, 0}, wick_lower_ref(&flag, false)};
    WICK_TRY(wick_lower_step(l, &(wick_step){.name = "if", .run = run_branch, .tasks = 1}, &(bool){false}, sizeof(bool),
                             refs, 2));
    for (int side = 0; side < 2; side++) {
        WICK_TRY(wick_lower_region(l, node->regions[side], params, results));
        l->node = node;
        for (int k = 0; k < a->n_y; k++) WICK_TRY(wick_lower_copy(l, &results[k], &outs[k]));
        if (side == 0) { /* over the other one */
            const size_t over = l->n_steps;
            WICK_TRY(wick_lower_step(l, &(wick_step){.name = "else", .run = run_branch, .tasks = 1}, &(bool){true},
                                     sizeof(bool), refs, 2));
            l->steps[jump].jump = (int32_t)(l->n_steps - jump);
            jump = over;
        }
    }
    l->steps[jump].jump = (int32_t)(l->n_steps - jump);
    return WICK_OK;
}
