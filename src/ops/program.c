/* program.c: elementwise nodes and reductions become one fused program each. */
#include "kernels/fused/native.h"
#include "ops/lowering/lower.h"
#include "ops/lowering/native.h"
#include "ops/ops.h"
#include "ops/lowering/steps.h"

/* Strides of an operand over an iteration space it broadcasts to. */
static void broadcast_strides(const wick_operand *at, const wick_type *space, int64_t *strides) {
    int lead = space->rank - at->type->rank;
    for (int i = 0; i < space->rank; i++) {
        int k = i - lead;
        strides[i] = k < 0 || at->type->dims[k] == 1 ? 0 : at->layout.strides[k];
    }
}

static bool is_laid_out(const wick_operand *at, const wick_type *space, const wick_layout *layout) {
    return wick_same_dims(at->type, space) && wick_layout_equal(&at->layout, layout, space);
}

/* May the program write result v over operand k? Only if both are walked alike, this is the last look at that memory,
 * and no other operand of the program sees it differently. */
static bool can_overwrite(wick_lower *l, const wick_node *node, int k, const wick_operand *ins, const wick_type *space,
                          const wick_layout *layout) {
    for (int i = 0; i < node->n_in; i++)
        if (ins[i].buffer == ins[k].buffer &&
            (!is_laid_out(&ins[i], space, layout) || ins[i].layout.offset != ins[k].layout.offset))
            return false;
    uint32_t root = l->root[node->in[k]->id];
    return l->last_use[root] <= node->position && is_laid_out(&ins[k], space, layout);
}

/* Elements of a result from which on channels stay last, and a copy that goes by tiles makes it row-major afterwards:
 * a program reads what lies across its result element by element. */
enum { COPIED_AFTER = 2048 };

/* Memory for result r of the program: the state it becomes, an input that dies here, or a new buffer. */
static wick_status place_result(wick_lower *l, wick_node *node, int r, const wick_operand *ins, bool *taken,
                                const wick_type *space, bool reduces, wick_operand *out) {
    wick_value *v = &node->out[r];
    int32_t result = l->result[v->id];
    bool last = false; /* channels last where an input is */
    for (int k = 0; k < node->n_in && !reduces; k++)
        last |= wick_same_dims(ins[k].type, space) && wick_lower_is_channels_last(&ins[k]);
    if (result >= 0) last &= l->results[result].leaf < 0 && wick_type_count(&v->type) >= COPIED_AFTER;
    wick_layout layout;
    (last ? wick_layout_channels_last : wick_layout_contiguous)(&layout, &v->type);
    if (!reduces && result >= 0 && l->results[result].leaf >= 0 && node->phase == 1) {
        for (int k = 0; k < node->n_in; k++) {
            const wick_buffer *b = &l->buffers[ins[k].buffer];
            if (taken[k] || b->kind != WICK_BUFFER_LEAF || b->index != (uint32_t)l->results[result].leaf) continue;
            if (ins[k].type->dtype != v->type.dtype || !can_overwrite(l, node, k, ins, space, &layout)) continue;
            taken[k] = true;
            *out = ins[k];
            out->type = &v->type;
            l->operands[v->id] = *out;
            return WICK_OK;
        }
    }
    if (!reduces && result < 0) {
        /* what may become an epilogue writes over the product rather than another input, which that may read too */
        for (int i = 0; i < 2 * node->n_in; i++) {
            const int k = i % node->n_in;
            const bool product = node->in[k]->node &&
                                 (node->in[k]->node->op == &wick_op_matmul || node->in[k]->node->op == &wick_op_conv);
            if (i < node->n_in && !(product && node->flags & WICK_NODE_RIDES)) continue;
            const wick_buffer *b = &l->buffers[ins[k].buffer];
            bool same = false; /* another result was put there already */
            for (int j = 0; j < node->n_in; j++) same |= taken[j] && ins[j].buffer == ins[k].buffer;
            if (same || b->kind != WICK_BUFFER_TEMP || ins[k].type->dtype != v->type.dtype) continue;
            if (!can_overwrite(l, node, k, ins, space, &layout)) continue;
            taken[k] = true;
            *out = ins[k];
            out->type = &v->type;
            l->operands[v->id] = *out;
            return WICK_OK;
        }
    }
    return (last ? wick_lower_out_channels_last : wick_lower_out)(l, node, r, out);
}

static int64_t run_stage0(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_fused *f = args;
    wick_fused_run_native(f, ((const wick_step_program *)args)->native, 0, begin, end, ptr,
                          f->partials ? ptr[f->n_in + f->n_out] : NULL, scratch);
    return -1;
}
static int64_t run_stage1(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_fused *f = args;
    wick_fused_run_native(f, ((const wick_step_program *)args)->native, 1, begin, end, ptr, ptr[f->n_in + f->n_out],
                          scratch);
    return -1;
}

void wick_epilogue_run(const wick_epilogue *e, int64_t at, int64_t rows, int64_t row_step, int64_t n, void *const *ptr,
                       void *scratch) {
    wick_fused_run_rows(&e->program->fused, e->program->native, at, rows, row_step, n, ptr + e->refs,
                        (char *)scratch + e->scratch);
}

/* Reduced dims go to the middle: [kept ones before the last reduced][reduced][kept ones after]. Of images, [N, C, dims]
 * of which only the channels are kept, these count as the last: that is how images lie in plans, and the order of a sum
 * is a matter of shapes alone. */
static void order_for_reduction(wick_fused *f, const wick_reduce_attr *attr, const wick_operand *out) {
    int order[WICK_MAX_DIMS], n = 0, last = -1;
    for (int i = 0; i < f->rank; i++)
        if (attr->axes >> i & 1) last = i;
    const bool channels = f->rank > 2 && attr->axes == (((1u << f->rank) - 1) & ~2u);
    if (channels) last = -1;
    for (int i = 0; i < last; i++)
        if (!(attr->axes >> i & 1)) order[n++] = i;
    f->n_keep = n;
    for (int i = 0; i < f->rank; i++)
        if (attr->axes >> i & 1) order[n++] = i;
    f->n_red = n - f->n_keep;
    for (int i = last + 1; i < f->rank; i++)
        if (!(attr->axes >> i & 1)) order[n++] = i;

    int64_t out_strides[WICK_MAX_DIMS];
    for (int i = 0, k = 0; i < f->rank; i++) {
        bool reduced = attr->axes >> i & 1;
        out_strides[i] = reduced ? 0 : out->layout.strides[k];
        k += !reduced || attr->keepdims;
    }
    wick_fused g = *f;
    for (int i = 0; i < f->rank; i++) {
        f->dims[i] = g.dims[order[i]];
        for (int k = 0; k < f->n_in; k++) f->in[k].strides[i] = g.in[k].strides[order[i]];
        f->out[0].strides[i] = out_strides[order[i]];
    }
}

/* Programs are large, and layers repeat them: equal ones of a plan are one. */
static wick_status lower_program_step(wick_lower *l, const wick_step *step, const wick_step_program *a,
                                      const wick_ref *refs, int n_refs) {
    const wick_fused *f = &a->fused;
    uint64_t hash =
        wick_hash(f->instr, (size_t)f->n_instr * sizeof *f->instr, (uint64_t)f->n_in << 8 | (uint64_t)f->rank);
    hash = wick_hash(f->dims, sizeof f->dims, hash);
    const wick_step_program **seen = (const wick_step_program **)&l->programs[hash % WICK_COUNTOF(l->programs)];
    const bool same = *seen && memcmp(*seen, a, sizeof *a) == 0;
    WICK_TRY(wick_lower_step(l, step, a, same ? 0 : sizeof *a, refs, n_refs));
    wick_step *s = &l->steps[l->n_steps - 1];
    s->args_size = sizeof *a;
    if (same) s->args = *seen;
    else *seen = s->args;
    return WICK_OK;
}

/* An instruction for each of n nodes. Registers are the inputs, and then a result for each. */
static void add_instructions(wick_fused *f, wick_node *const *body, size_t n, bool lone) {
    f->n_reg = f->n_in;
    for (size_t i = 0; i < n; i++) {
        wick_node *b = body[i];
        wick_fused_instr *instr = &f->instr[f->n_instr++];
        instr->op = b->op->ew;
        /* the last input: of where, c */
        instr->type = (uint8_t)wick_ctype_of((wick_dtype)b->in[b->n_in - 1]->type.dtype);
        instr->to = (uint8_t)wick_ctype_of((wick_dtype)b->out[0].type.dtype);
        for (int k = 0; k < b->n_in; k++) instr->src[k] = (uint8_t)(lone ? k : (int)b->in[k]->id);
        instr->dst = (uint8_t)f->n_reg;
        if (!lone) b->out[0].id = (uint32_t)f->n_reg;
        f->n_reg++;
    }
}

wick_status wick_lower_program(wick_lower *l, wick_node *node, wick_node *const *body, size_t n_body,
                               wick_value *const *params, wick_value *const *results) {
    if (node->n_in > WICK_FUSED_MAX_IO || node->n_out > WICK_FUSED_MAX_IO || n_body > WICK_FUSED_MAX_OPS)
        return wick_lower_fail(l, WICK_ERR_INTERNAL, "a program of %zu ops with %d inputs is too large", n_body,
                               node->n_in);
    const wick_node *tail = body[n_body - 1];
    bool reduces = tail->op->flags & WICK_OP_REDUCE;
    const wick_reduce_attr *attr = reduces ? tail->attr : NULL;
    const wick_type *space = reduces ? &tail->in[0]->type : &tail->out[0].type;

    wick_step_program a;
    memset(&a, 0, sizeof a);
    wick_fused *const f = &a.fused;
    f->rank = space->rank;
    memcpy(f->dims, space->dims, sizeof f->dims);
    f->n_in = node->n_in;
    f->n_out = node->n_out;
    f->scale = 1;
    wick_operand ins[WICK_FUSED_MAX_IO], outs[WICK_FUSED_MAX_IO];
    bool taken[WICK_FUSED_MAX_IO] = {false};
    double bytes = 0;
    for (int i = 0; i < f->n_in; i++) {
        ins[i] = wick_lower_in(l, node, i);
        if (params) params[i]->id = (uint32_t)i; /* ids of body values are registers while the program is built */
        f->in[i].dtype = ins[i].type->dtype;
        f->in[i].reg = (uint8_t)i;
        broadcast_strides(&ins[i], space, f->in[i].strides);
        bytes += (double)wick_type_bytes(ins[i].type);
    }
    const bool lone = body[0] == node; /* then its inputs are its own, whose ids name operands, not registers */
    add_instructions(f, body, n_body - reduces, lone);

    double elements = (double)wick_type_count(space);
    for (int i = 0; i < f->n_out; i++) {
        WICK_TRY(place_result(l, node, i, ins, taken, space, reduces, &outs[i]));
        f->out[i].dtype = outs[i].type->dtype;
        f->out[i].reg = (uint8_t)(lone ? (reduces ? 0 : f->n_in) : (int)(reduces ? tail->in[0]->id : results[i]->id));
        if (!reduces) broadcast_strides(&outs[i], space, f->out[i].strides);
        bytes += (double)wick_type_bytes(outs[i].type);
    }
    if (reduces) {
        f->reduces = true;
        f->red = (uint8_t)attr->red;
        int64_t results_count = wick_type_count(outs[0].type);
        if (attr->mean && results_count) f->scale = 1.0 / (elements / (double)results_count);
        order_for_reduction(f, attr, &outs[0]);
    }
    const wick_fused plain = *f;
    wick_fused_prepare(f, &l->ctx->tuning);
    if (wick_remarks(l->planning)) {
        wick_rejected rejected[WICK_REJECTED];
        wick_lower_remark(l, node, wick_fused_name(f), wick_fused_rejected(f, &l->ctx->tuning, rejected), rejected);
    }

    wick_ref refs[WICK_STEP_BUFFERS];
    int n_refs = 0;
    for (int i = 0; i < f->n_in; i++) refs[n_refs++] = wick_lower_ref(&ins[i], false);
    for (int i = 0; i < f->n_out; i++) refs[n_refs++] = wick_lower_ref(&outs[i], true);
    if (f->partials) {
        uint32_t partials;
        WICK_TRY(wick_lower_temp(l, f->partials, &partials));
        refs[n_refs++] = (wick_ref){partials, true, 0};
    }
    wick_step step = {.name = reduces          ? (f->n_instr ? "fused_reduce" : "reduce")
                              : f->n_instr > 1 ? "fused"
                                               : "elementwise",
                      .kind = WICK_STEP_PROGRAM,
                      .run = run_stage0,
                      .tasks = f->tasks,
                      .scratch = f->scratch,
                      .flops = elements * (f->n_instr + reduces),
                      .bytes = bytes};
    if (l->ctx->jit) {
        char note[256];
        a.native = wick_jit_find(l->ctx->jit, f, note, sizeof note);
        if (note[0]) wick_remark(l->planning, "jit", l->node, "%s", note);
    }
    WICK_TRY(wick_lower_note_program(l, &plain));
    WICK_TRY(lower_program_step(l, &step, &a, refs, n_refs));
    if (!f->tasks2) return WICK_OK;
    step = (wick_step){.name = "reduce_combine",
                       .kind = WICK_STEP_PROGRAM_END,
                       .run = run_stage1,
                       .tasks = f->tasks2,
                       .scratch = f->scratch,
                       .bytes = 2.0 * (double)f->partials};
    return lower_program_step(l, &step, &a, refs, n_refs);
}

wick_status wick_lower_elementwise(wick_lower *l, wick_node *node) {
    return wick_lower_program(l, node, &node, 1, NULL, NULL);
}
wick_status wick_lower_reduce(wick_lower *l, wick_node *node) {
    return wick_lower_program(l, node, &node, 1, NULL, NULL);
}
