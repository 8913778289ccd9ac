/* lower.c: the pieces of a plan that ops emit: buffers, steps, copies. */
#include "ops/lowering/lower.h"
#include "ops/ops.h"

wick_status wick_lower_fail(wick_lower *l, wick_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    wick_msg_setv(l->msg, status, fmt, args);
    va_end(args);
    return wick_msg_prefix(l->msg, "%s%s%s: ", l->node ? l->node->op->name : "plan",
                           l->node && l->node->site ? " at " : "", l->node && l->node->site ? l->node->site : "");
}

void wick_lower_remark(const wick_lower *l, const wick_node *node, const char *kernel, int n,
                       const wick_rejected *others) {
    char text[1000];
    wick_str s = wick_str_on(text, sizeof text);
    wick_str_add(&s, "%s", kernel);
    for (int i = 0; i < n; i++) wick_str_add(&s, "; not %s: %s", others[i].kernel, others[i].why);
    wick_remark(l->planning, "kernel", node, "%s", text);
}

static wick_status out_of_memory(wick_lower *l) {
    return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
}

/* Arrays that grow in an arena; the old ones stay there as long as it does, at most as much again. */
static bool arena_grow(wick_arena *arena, void **array, size_t *cap, size_t n, size_t elem) {
    if (n < *cap) return true;
    size_t cap_new = *cap ? *cap * 2 : 32;
    void *p = wick_arena_alloc(arena, cap_new * elem);
    if (!p) return false;
    if (n) memcpy(p, *array, n * elem);
    *array = p;
    *cap = cap_new;
    return true;
}

static wick_status buffer_new(wick_lower *l, const wick_buffer *buffer, uint32_t *id) {
    if (!arena_grow(l->arena, (void **)&l->buffers, &l->cap_buffers, l->n_buffers, sizeof *l->buffers))
        return out_of_memory(l);
    l->buffers[l->n_buffers] = *buffer;
    l->buffers[l->n_buffers].first = l->buffers[l->n_buffers].last = -1;
    *id = (uint32_t)l->n_buffers++;
    return WICK_OK;
}

/* A cast of integers of less than a byte to bytes: weights that lie in 4 bits are packed as those of 8. */
static bool is_widening(const wick_node *node) {
    if (node->op != &wick_op_cast || wick_dtype_bits((wick_dtype)node->in[0]->type.dtype) >= 8) return false;
    const uint8_t to = node->out[0].type.dtype;
    return wick_dtype_is_integer((wick_dtype)node->in[0]->type.dtype) && (to == WICK_I8 || to == WICK_U8);
}

int wick_lower_bits(const wick_value *v) {
    while ((v->node->op->flags & WICK_OP_VIEW && v->node->op != &wick_op_bit_cast) || is_widening(v->node)) {
        if (!v->node->n_in) break;
        v = v->node->in[0];
    }
    return (int)wick_dtype_bits((wick_dtype)v->type.dtype);
}

bool wick_lower_is_kept(const wick_lower *l, const wick_value *v) {
    while ((v->node->op->flags & WICK_OP_VIEW || is_widening(v->node)) && v->node->n_in) v = v->node->in[0];
    if (!l->keeps || (v->node->op != &wick_op_data && v->node->op != &wick_op_constant)) return false;
    for (int r = 0; r < l->n_results && v->node->op == &wick_op_data; r++)
        if (l->results[r].leaf == (int32_t)v->node->slot[0]) return false;
    return true;
}

wick_status wick_lower_temp(wick_lower *l, size_t bytes, uint32_t *buffer) {
    return buffer_new(l, &(wick_buffer){.kind = WICK_BUFFER_TEMP, .size = bytes}, buffer);
}

wick_operand wick_lower_in(wick_lower *l, const wick_node *node, int i) { return l->operands[node->in[i]->id]; }

void wick_lower_set(wick_lower *l, const wick_node *node, int i, wick_operand at) {
    at.type = &node->out[i].type;
    l->operands[node->out[i].id] = at;
}

wick_ref wick_lower_ref(const wick_operand *at, bool write) {
    return (wick_ref){at->buffer, write, at->layout.offset * (int64_t)wick_dtype_size((wick_dtype)at->type->dtype)};
}

wick_status wick_lower_out(wick_lower *l, const wick_node *node, int i, wick_operand *out) {
    const wick_value *v = &node->out[i];
    wick_buffer b = {.kind = WICK_BUFFER_TEMP, .size = wick_type_bytes(&v->type)};
    int32_t r = l->result[v->id];
    if (r >= 0 && l->results[r].leaf < 0) {
        b.kind = WICK_BUFFER_OUTPUT;
        b.index = (uint32_t)r;
    }
    *out = (wick_operand){.type = &v->type};
    WICK_TRY(buffer_new(l, &b, &out->buffer));
    wick_layout_contiguous(&out->layout, &v->type);
    l->operands[v->id] = *out;
    return WICK_OK;
}

bool wick_lower_is_channels_last(const wick_operand *at) {
    wick_layout last;
    wick_layout_channels_last(&last, at->type);
    return wick_layout_equal(&at->layout, &last, at->type) && !wick_layout_is_contiguous(&at->layout, at->type);
}

wick_status wick_lower_out_channels_last(wick_lower *l, const wick_node *node, int i, wick_operand *out) {
    const wick_value *v = &node->out[i];
    *out = (wick_operand){.type = &v->type};
    wick_layout_channels_last(&out->layout, &v->type);
    if (wick_layout_is_contiguous(&out->layout, &v->type)) return wick_lower_out(l, node, i, out);
    /* results are copied from here: they are row-major */
    WICK_TRY(wick_lower_temp(l, wick_type_bytes(&v->type), &out->buffer));
    l->operands[v->id] = *out;
    return WICK_OK;
}

wick_status wick_lower_step(wick_lower *l, const wick_step *step, const void *args, size_t args_size,
                            const wick_ref *refs, int n_refs) {
    if (!arena_grow(l->arena, (void **)&l->steps, &l->cap_steps, l->n_steps, sizeof *l->steps)) return out_of_memory(l);
    wick_step *s = &l->steps[l->n_steps];
    *s = *step;
    void *args_copy = wick_arena_alloc(l->arena, args_size);
    s->refs = wick_arena_alloc(l->arena, (size_t)n_refs * sizeof *refs);
    if (!args_copy || !s->refs) return out_of_memory(l);
    if (args_size) memcpy(args_copy, args, args_size);
    memcpy(s->refs, refs, (size_t)n_refs * sizeof *refs);
    s->args = args_copy;
    s->args_size = args_size;
    s->n_refs = n_refs;
    s->node = l->node;
    bool writes = false, empty = true;
    for (int i = 0; i < n_refs; i++) {
        wick_buffer *b = &l->buffers[refs[i].buffer];
        if (b->first < 0) b->first = (int32_t)l->n_steps;
        b->last = (int32_t)l->n_steps;
        if (refs[i].write && b->kind == WICK_BUFFER_LEAF) s->commits = true;
        writes |= refs[i].write;
        empty &= !refs[i].write || b->size == 0;
    }
    /* nothing, however often: 2^40 matrices of no rows */
    if (writes && empty && !s->fault && !s->tap && !s->jump) s->tasks = 0;
    l->n_steps++;
    return WICK_OK;
}

wick_status wick_lower_note_program(wick_lower *l, const wick_fused *fused) {
    wick_fused *kept = wick_arena_alloc(l->temp, sizeof *kept);
    if (!kept ||
        !arena_grow(l->temp, (void **)&l->lowered, &l->cap_lowered, l->n_lowered, sizeof *l->lowered))
        return out_of_memory(l);
    *kept = *fused;
    l->lowered[l->n_lowered++] = (wick_lowered_program){l->n_steps, kept};
    return WICK_OK;
}

static int64_t run_copy(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    wick_copy_run(args, begin, end, ptr[0], ptr[1]);
    return -1;
}

wick_status wick_lower_copy(wick_lower *l, const wick_operand *from, const wick_operand *to) {
    const bool packed = wick_dtype_is_packed(from->type->dtype) || wick_dtype_is_packed(to->type->dtype);
    if (packed &&
        !(wick_layout_is_contiguous(&from->layout, from->type) && wick_layout_is_contiguous(&to->layout, to->type)))
        return wick_lower_fail(l, WICK_ERR_INTERNAL, "a copy of packed elements has strides");
    wick_copy c;
    memset(&c, 0, sizeof c);
    c.rank = to->type->rank;
    c.src = (wick_dtype)from->type->dtype;
    c.dst = (wick_dtype)to->type->dtype;
    for (int i = 0; i < c.rank; i++) {
        c.dims[i] = to->type->dims[i];
        c.src_strides[i] = from->layout.strides[i];
        c.dst_strides[i] = to->layout.strides[i];
    }
    if (l->node && wick_remarks(l->planning)) {
        wick_rejected rejected[WICK_REJECTED];
        wick_lower_remark(l, l->node, wick_copy_name(&c), wick_copy_rejected(&c, rejected), rejected);
    }
    wick_ref refs[2] = {wick_lower_ref(from, false), wick_lower_ref(to, true)};
    double bytes = (double)wick_type_bytes(from->type) + (double)wick_type_bytes(to->type);
    const bool converts = c.src == c.dst && wick_lower_is_channels_last(from) != wick_lower_is_channels_last(to) &&
                          wick_layout_is_contiguous(&(wick_lower_is_channels_last(from) ? to : from)->layout, to->type);
    return wick_lower_step(l,
                           &(wick_step){.name = "copy",
                                        .converts = converts,
                                        .kind = WICK_STEP_COPY,
                                        .run = run_copy,
                                        .tasks = wick_copy_tasks(&c),
                                        .bytes = bytes},
                           &c, sizeof c, refs, 2);
}

/* Input i as `layout` has it. */
static wick_status in_layout(wick_lower *l, const wick_node *node, int i, const wick_layout *layout,
                             wick_operand *out) {
    wick_operand in = wick_lower_in(l, node, i);
    *out = in;
    if (wick_layout_equal(&in.layout, layout, in.type)) return WICK_OK;
    out->layout = *layout;
    WICK_TRY(wick_lower_temp(l, wick_type_bytes(in.type), &out->buffer));
    return wick_lower_copy(l, &in, out);
}
wick_status wick_lower_in_contiguous(wick_lower *l, const wick_node *node, int i, wick_operand *out) {
    wick_layout layout;
    wick_layout_contiguous(&layout, &node->in[i]->type);
    return in_layout(l, node, i, &layout, out);
}
wick_status wick_lower_in_channels_last(wick_lower *l, const wick_node *node, int i, wick_operand *out) {
    wick_layout layout;
    wick_layout_channels_last(&layout, &node->in[i]->type);
    return in_layout(l, node, i, &layout, out);
}
