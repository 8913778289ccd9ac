/* rewrite.c: the stage as a whole, and what its rewriters share. */
#include "exec/rewrite/rewrite.h"

wick_status wick_rewriting_no_memory(wick_rewriting *r) {
    return wick_lower_fail(r->l, WICK_ERR_NOMEM, "out of memory while planning");
}

wick_step *wick_rewriting_step(wick_rewriting *r, size_t i) {
    wick_lower *l = r->l;
    if (r->copies && !r->plain) {
        wick_step *steps = wick_arena_alloc(l->arena, l->n_steps * sizeof *steps);
        if (!steps) return NULL;
        memcpy(steps, l->steps, l->n_steps * sizeof *steps);
        r->plain = l->steps;
        l->steps = steps;
        l->cap_steps = l->n_steps;
    }
    return &l->steps[i];
}

void *wick_rewriting_args(wick_rewriting *r, wick_step *s) {
    void *args = wick_arena_alloc(r->l->arena, s->args_size);
    if (args) s->args = memcpy(args, s->args, s->args_size);
    return args;
}

bool wick_rewriting_join_refs(wick_rewriting *r, wick_step *s, const wick_step *other) {
    wick_ref *refs = wick_arena_alloc(r->l->arena, (size_t)(s->n_refs + other->n_refs) * sizeof *refs);
    if (!refs) return false;
    memcpy(refs, s->refs, (size_t)s->n_refs * sizeof *refs);
    memcpy(refs + s->n_refs, other->refs, (size_t)other->n_refs * sizeof *refs);
    s->refs = refs;
    s->n_refs += other->n_refs;
    return true;
}

void wick_rewriting_lives(wick_rewriting *r, size_t from, const wick_ref *refs, int n_refs) {
    for (int k = 0; k < n_refs; k++) {
        wick_buffer *b = &r->l->buffers[refs[k].buffer];
        b->first = WICK_MIN(b->first, (int32_t)from);
    }
}

static wick_status rewrite_program(wick_rewriting *r, const wick_lowered_program *p) {
    const wick_fused *f = r->l->steps[p->step].args;
    if (!f->reduces && r->l->node->flags & WICK_NODE_RIDES) return wick_rewrite_epilogue(r, p);
    if (f->reduces && !f->tasks2) WICK_TRY(wick_rewrite_gather_reduce(r, p));
    return wick_rewrite_channel_loop(r, p);
}

wick_status wick_rewrite_steps(wick_lower *l, bool channel_loops, const wick_step **plain) {
    wick_rewriting r = {.l = l, .copies = plain != NULL, .channel_loops = channel_loops};
    for (size_t i = 0; i < l->n_lowered; i++) {
        l->node = l->steps[l->lowered[i].step].node;
        WICK_TRY(rewrite_program(&r, &l->lowered[i]));
    }
    if (plain) *plain = r.plain ? r.plain : l->steps;
    return WICK_OK;
}
