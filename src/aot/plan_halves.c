/* plan_halves.c: halves in the memory of plans that become C. Plans of mixed precision make f32 of halves before what
 * computes in f32, and halves of what comes out; printed code converts as it loads and stores. f32 that holds nothing
 * but halves (copies, maxima and relu of them) is kept as halves, too. No bit of a value changes. */
#include "codegen/expr_c.h"
#include "aot/plan.h"

static bool is_left(const wick_c_writing *w, size_t i) {
    return !w->folded[i] && wick_c_is_printed(wick_c_step_at(w, i));
}

/* Whether a step in [begin, end) has the buffer; or writes it, where reads don't matter. */
static bool is_touched(const wick_c_writing *w, uint32_t buffer, size_t begin, size_t end, bool reads) {
    for (size_t i = begin; i < end; i++) {
        const wick_step *s = wick_c_step_at(w, i);
        for (int k = 0; k < s->n_refs && is_left(w, i); k++)
            if (s->refs[k].buffer == buffer && (reads || s->refs[k].write)) return true;
    }
    return false;
}

/* The dtype of ref k in a copy or a program; -1: it is none of theirs. */
static int dtype_at(const wick_step *s, int k) {
    const wick_copy *c = s->kind == WICK_STEP_COPY ? s->args : NULL;
    const wick_fused *f = s->kind == WICK_STEP_PROGRAM ? s->args : NULL;
    if (c) return (int)(k ? c->dst : c->src);
    return f && k < f->n_in + f->n_out ? k < f->n_in ? f->in[k].dtype : f->out[k - f->n_in].dtype : -1;
}
/* The same where it is of halves, else 0. */
static wick_dtype halves_at(const wick_step *s, int k) {
    return dtype_at(s, k) >= 0 && *wick_c_load((wick_dtype)dtype_at(s, k)) ? (wick_dtype)dtype_at(s, k) : (wick_dtype)0;
}
static bool is_pool(const wick_step *s) { return s->kind == WICK_STEP_MAX_POOL || s->kind == WICK_STEP_MEAN_POOL; }

/* Whether ref k of the step is f32 that may as well be halves. */
static bool converts(const wick_step *s, int k) {
    const int *at = wick_c_converts(s) ? ((const wick_step_conv *)s->args)->at : NULL;
    if (at) return k + 1 == at[WICK_STEP_CONV_A] || k + 1 == at[WICK_STEP_CONV_DST];
    if (is_pool(s)) return k < 2 && ((const wick_step_pool *)s->args)->windows.type == WICK_CF32;
    return dtype_at(s, k) == (int)WICK_F32;
}

/* The step, to be changed; NULL: out of memory. */
static wick_step *changed(wick_c_writing *w, size_t i) {
    const wick_step *s = wick_c_step_at(w, i);
    const int n = s->n_refs;
    wick_step *copy = wick_arena_alloc(&w->arena, sizeof *copy);
    wick_ref *refs = wick_arena_alloc(&w->arena, (size_t)n * sizeof *refs);
    if (!copy || !refs) return NULL;
    memcpy(refs, s->refs, (size_t)n * sizeof *refs);
    *copy = *s;
    copy->refs = refs;
    copy->n_refs = n;
    return w->changed[i] = copy;
}

/* The step with halves at ref k. */
static wick_status redirect(wick_c_writing *w, size_t i, int k, uint32_t buffer, int64_t offset, wick_dtype halves) {
    wick_step *s = changed(w, i);
    const size_t size = !s                             ? 0
                        : s->kind == WICK_STEP_COPY    ? sizeof(wick_copy)
                        : s->kind == WICK_STEP_PROGRAM ? sizeof(wick_step_program)
                                                       : 0;
    void *args = wick_arena_alloc(&w->arena, size + 1);
    if (!s || !args) return wick_c_no_memory(w);
    wick_copy *c = args;
    wick_fused *f = args; /* of a program */
    s->refs[k].buffer = buffer;
    s->refs[k].offset = offset;
    if (!size) {
        w->buffers[buffer].halves = halves;
        return WICK_OK;
    }
    memcpy(args, s->args, size);
    s->args = args;
    if (s->kind == WICK_STEP_COPY)
        *(k ? &c->dst : &c->src) = halves;
    else
        (k < f->n_in ? &f->in[k] : &f->out[k - f->n_in])->dtype = (uint8_t)halves;
    return WICK_OK;
}

static bool is_dense(int rank, const int64_t *dims, const int64_t *strides) {
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; step *= dims[d--])
        if (dims[d] != 1 && strides[d] != step) return false;
    return true;
}
/* Whether ref k of a copy, or of a program without a reduction, is walked from its first byte to its last. */
static bool walks(const wick_step *s, int k) {
    const wick_copy *c = s->kind == WICK_STEP_COPY ? s->args : NULL;
    const wick_fused *f = s->kind == WICK_STEP_PROGRAM ? s->args : NULL;
    if (s->refs[k].offset || dtype_at(s, k) < 0 || (f && f->reduces)) return false;
    return c ? is_dense(c->rank, c->dims, k ? c->dst_strides : c->src_strides)
             : is_dense(f->rank, f->dims, k < f->n_in ? f->in[k].strides : f->out[k - f->n_in].strides);
}
/* Whether a step copies one array to another, perhaps of another dtype. From f32 to f32: casts are in memory. */
static bool is_cast(const wick_step *s) {
    const wick_fused *f = s->kind == WICK_STEP_PROGRAM ? s->args : NULL;
    for (int k = 0; f && k < f->n_instr; k++)
        if (f->instr[k].op != WICK_FUSED_CAST || f->instr[k].type != WICK_CF32 || f->instr[k].to != WICK_CF32)
            return false;
    return (s->kind == WICK_STEP_COPY || (f && f->n_in == 1 && f->n_out == 1)) && walks(s, 0) && walks(s, 1);
}
static wick_dtype cast_between(const wick_step *s, int wide, int narrow) {
    return is_cast(s) && dtype_at(s, wide) == (int)WICK_F32 ? halves_at(s, narrow) : (wick_dtype)0;
}

/* f32 made of halves, which steps read that convert: they read the halves. */
static wick_status read_halves(wick_c_writing *w, size_t i) {
    const wick_step *s = wick_c_step_at(w, i);
    const wick_dtype halves = cast_between(s, 1, 0);
    if (!halves || w->buffers[s->refs[1].buffer].place != WICK_C_ARENA || is_touched(w, s->refs[1].buffer, 0, i, true))
        return WICK_OK;
    const uint32_t wide = s->refs[1].buffer, from = s->refs[0].buffer;
    size_t last = i;
    for (size_t j = i + 1; j < w->plan->n_lowered; j++) {
        const wick_step *r = wick_c_step_at(w, j);
        for (int k = 0; k < r->n_refs && is_left(w, j); k++) {
            if (r->refs[k].buffer != wide) continue;
            if (r->refs[k].write || r->refs[k].offset || !converts(r, k)) return WICK_OK;
            last = j;
        }
    }
    if (last == i || is_touched(w, from, i + 1, last + 1, false)) return WICK_OK;
    for (size_t j = i + 1; j <= last; j++)
        for (int k = 0; k < wick_c_step_at(w, j)->n_refs && is_left(w, j); k++)
            if (wick_c_step_at(w, j)->refs[k].buffer == wide) WICK_TRY(redirect(w, j, k, from, 0, halves));
    w->folded[i] = true;
    return WICK_OK;
}

/* f32 of which nothing but halves are made: they are what is written. */
static wick_status write_halves(wick_c_writing *w, size_t j) {
    const wick_step *s = wick_c_step_at(w, j);
    const wick_dtype halves = cast_between(s, 0, 1);
    if (!halves || s->commits || w->buffers[s->refs[0].buffer].place != WICK_C_ARENA) return WICK_OK;
    const uint32_t wide = s->refs[0].buffer, to = s->refs[1].buffer;
    size_t i = 0;
    int k = 0;
    while (i < j && !is_touched(w, wide, i, i + 1, true)) i++;
    if (i == j) return WICK_OK;
    const wick_step *made = wick_c_step_at(w, i);
    while (made->refs[k].buffer != wide) k++;
    if (!made->refs[k].write || made->refs[k].offset || !converts(made, k) || is_touched(w, wide, i + 1, j, true) ||
        is_touched(w, wide, j + 1, w->plan->n_lowered, true) || is_touched(w, to, i, j, true))
        return WICK_OK;
    WICK_TRY(redirect(w, i, k, to, 0, halves));
    w->folded[j] = true;
    return WICK_OK;
}

/* The halves that all values are which the step writes at ref k, or 0. */
static wick_dtype written(const wick_c_writing *w, const wick_step *s, int k) {
    wick_dtype held[WICK_FUSED_MAX_IO + WICK_FUSED_MAX_OPS] = {0}; /* by registers */
    const wick_fused *f = s->kind == WICK_STEP_PROGRAM ? s->args : NULL;
    if (s->kind == WICK_STEP_MAX_POOL) return w->buffers[s->refs[0].buffer].halves;
    if (s->kind == WICK_STEP_COPY) return halves_at(s, 0);
    if (!f || f->reduces) return 0;
    for (int i = 0; i < f->n_in; i++) held[i] = halves_at(s, i);
    for (int i = 0; i < f->n_instr; i++) {
        const wick_fused_instr *in = &f->instr[i];
        const bool both = in->op == WICK_EW_maximum || in->op == WICK_EW_minimum,
                   one = in->op == WICK_EW_relu || in->op == WICK_EW_abs || in->op == WICK_EW_neg ||
                         (in->op == WICK_FUSED_CAST && in->to == WICK_CF32);
        held[in->dst] = in->type == WICK_CF32 && (one || (both && held[in->src[0]] == held[in->src[1]]))
                            ? held[in->src[0]]
                            : (wick_dtype)0;
    }
    return held[f->out[k - f->n_in].reg];
}

/* f32 that holds halves, and which all steps convert that have it. */
static wick_status narrow(wick_c_writing *w, size_t i) {
    for (int k = 0; k < wick_c_step_at(w, i)->n_refs; k++) {
        const wick_step *s = wick_c_step_at(w, i);
        const uint32_t buffer = s->refs[k].buffer;
        wick_c_buffer *b = &w->buffers[buffer];
        const wick_dtype halves = s->refs[k].write && converts(s, k) && b->place == WICK_C_ARENA && !b->halves
                                      ? written(w, s, k)
                                      : (wick_dtype)0;
        bool all = halves != 0;
        for (int change = 0; change < 2 && all; change++)
            for (size_t j = 0; j < w->plan->n_lowered; j++)
                for (int n = 0; n < wick_c_step_at(w, j)->n_refs && is_left(w, j) && all; n++) {
                    const wick_step *r = wick_c_step_at(w, j);
                    if (r->refs[n].buffer != buffer) continue;
                    if (change)
                        WICK_TRY(redirect(w, j, n, buffer, r->refs[n].offset / 2, halves));
                    else
                        all = converts(r, n) && (!r->refs[n].write || written(w, r, n) == halves);
                }
        if (all) b->size = b->size / 2, b->halves = halves;
    }
    return WICK_OK;
}

/* A result that is walked as an operand is which ends there: it takes its place. */
static wick_status reuse(wick_c_writing *w, size_t i) {
    const wick_step *s = wick_c_step_at(w, i);
    for (int from = 0; from < s->n_refs; from++)
        for (int to = 0; to < s->n_refs; to++) {
            const uint32_t old = s->refs[from].buffer, result = s->refs[to].buffer;
            bool good = !s->refs[from].write && s->refs[to].write && old != result && walks(s, from) && walks(s, to) &&
                        dtype_at(s, from) == dtype_at(s, to) && w->buffers[old].place == WICK_C_ARENA &&
                        w->buffers[result].place == WICK_C_ARENA &&
                        !is_touched(w, old, i + 1, w->plan->n_lowered, true) && !is_touched(w, result, 0, i, true);
            for (int k = 0; k < s->n_refs; k++) good &= k == from || s->refs[k].buffer != old;
            if (!good) continue;
            for (size_t j = i; j < w->plan->n_lowered; j++) {
                if (!is_touched(w, result, j, j + 1, true)) continue;
                wick_step *r = changed(w, j);
                if (!r) return wick_c_no_memory(w);
                for (int k = 0; k < r->n_refs; k++)
                    if (r->refs[k].buffer == result) r->refs[k].buffer = old;
            }
            if (w->buffers[result].halves) w->buffers[old].halves = w->buffers[result].halves;
            w->buffers[old].size = WICK_MAX(w->buffers[old].size, w->buffers[result].size);
            w->folded[i] = is_cast(s);
            return WICK_OK;
        }
    return WICK_OK;
}

wick_status wick_c_convert_in_place(wick_c_writing *w) {
    const size_t n = w->plan->n_lowered;
    for (size_t i = 0; i < n; i++)
        if (w->plan->lowered[i].jump) return WICK_OK;
    for (size_t i = 0; i < n && !w->isa; i++) {
        if (is_left(w, i)) WICK_TRY(read_halves(w, i));
        if (is_left(w, i)) WICK_TRY(narrow(w, i));
    }
    for (size_t i = 0; i < n && !w->isa; i++)
        if (is_left(w, i)) WICK_TRY(write_halves(w, i));
    for (size_t i = 0; i < n && !w->isa; i++)
        if (is_left(w, i)) WICK_TRY(reuse(w, i));
    return WICK_OK;
}
