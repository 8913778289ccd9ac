/* gather_reduce.c: slices of a table that are reduced by groups, as bags of embeddings are: gathered some groups at a
 * time into L1 and reduced there, instead of being written to memory as a whole and read again. Bits are the same: what
 * a reduction gives for a unit does not depend on how many there are.
 *
 * The gather's step does it; the reduction's stays a step of the plan too, marked, so that who prints plans as code
 * prints the two. */
#include "ops/ops.h"
#include "ops/steps.h"

enum { ROOM = 16 << 10, LEAST = 128 << 10 }; /* bytes that are gathered at a time; of all that are gathered */

int64_t wick_gather_reduce_run(const wick_step_gather *g, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_gather_reduce *b = g->gather_reduce;
    const wick_fused *f = &b->fused;
    const int64_t *index = ptr[1], tasks = WICK_MAX(1, b->all / b->per_task);
    const size_t slice = g->elem * (size_t)g->inner;
    const int64_t last = end == tasks ? b->all : end * b->per_task; /* what is left over is the last one's */
    for (int64_t u = begin * b->per_task; u < last; u += b->units) {
        u = WICK_MIN(u, last - b->units);
        const int64_t at = u * b->each, count = b->units * b->each;
        const int64_t bad = wick_gather_some(slice, g->n, count, g->count - at - count, ptr[0], index + at, scratch);
        if (bad >= 0) return at + bad;
        void *here[2 * WICK_FUSED_MAX_IO];
        for (int k = 0; k < f->n_in + f->n_out; k++)
            here[k] = k == b->gathered ? scratch : (char *)ptr[3 + k] + u * b->step[k];
        wick_fused_run(f, 0, 0, f->tasks, here, NULL, (char *)scratch + b->room);
    }
    return -1;
}

wick_status wick_lower_gather_reduce(wick_lower *l, const wick_fused *fused) {
    if (l->n_steps < 2 || fused->n_keep < 1) return WICK_OK;
    wick_step *program = &l->steps[l->n_steps - 1], *s = program - 1;
    if (s->kind != WICK_STEP_GATHER || program->kind != WICK_STEP_PROGRAM || s->commits || program->commits ||
        s->n_refs + program->n_refs > WICK_STEP_BUFFERS)
        return WICK_OK;
    wick_step_gather *g = (wick_step_gather *)(uintptr_t)s->args; /* the plan's own, which is being made */
    const wick_node *gather = s->node;
    const int64_t slice = (int64_t)g->elem * g->inner;
    wick_gather_reduce b = {.fused = *fused, .gathered = -1, .all = fused->dims[0]};
    for (int k = 0; k < program->n_refs; k++) {
        const bool same = program->refs[k].buffer == s->refs[2].buffer;
        if (same && (b.gathered >= 0 || k >= fused->n_in || program->refs[k].offset)) return WICK_OK;
        if (same) b.gathered = k;
        const wick_fused_io *io = k < fused->n_in ? &fused->in[k] : &fused->out[k - fused->n_in];
        b.step[k] = io->strides[0] * (int64_t)wick_dtype_size((wick_dtype)io->dtype);
        for (int i = 0; k >= fused->n_in && i < s->n_refs + fused->n_in; i++) /* a result over what is still read */
            if (program->refs[k].buffer == (i < s->n_refs ? s->refs[i].buffer : program->refs[i - s->n_refs].buffer))
                return WICK_OK;
    }
    if (b.gathered < 0 || g->outer != 1 || !slice || b.step[b.gathered] <= 0 || b.step[b.gathered] % slice ||
        b.all * b.step[b.gathered] != g->count * slice || g->count * slice < LEAST)
        return WICK_OK;
    if (l->buffers[s->refs[2].buffer].kind != WICK_BUFFER_TEMP ||
        l->last_use[l->root[gather->out[0].id]] != l->node->position)
        return WICK_OK;
    b.each = b.step[b.gathered] / slice;
    b.units = WICK_MIN(b.all, WICK_MAX(1, ROOM / b.step[b.gathered]));
    b.per_task = WICK_MIN(b.all, WICK_MAX(1, (1 << 17) / (b.units * b.step[b.gathered])) * b.units);
    b.room = WICK_ALIGN_UP((size_t)(b.units * b.step[b.gathered]), WICK_ALIGN);
    b.fused.dims[0] = b.units;
    wick_fused_prepare(&b.fused);
    if (b.fused.tasks2 || b.fused.partials || b.room > LEAST) return WICK_OK;
    wick_ref *refs = wick_arena_alloc(l->arena, (size_t)(s->n_refs + program->n_refs) * sizeof *refs);
    wick_gather_reduce *kept = wick_arena_alloc(l->arena, sizeof *kept);
    if (!refs || !kept) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    memcpy(refs, s->refs, (size_t)s->n_refs * sizeof *refs);
    memcpy(refs + s->n_refs, program->refs, (size_t)program->n_refs * sizeof *refs);
    *kept = b;
    g->gather_reduce = kept;
    s->tasks = WICK_MAX(1, b.all / b.per_task);
    s->scratch = b.room + b.fused.scratch;
    s->refs = refs;
    s->n_refs += program->n_refs;
    program->rides = true;
    for (int k = 0; k < program->n_refs; k++) {
        wick_buffer *at = &l->buffers[program->refs[k].buffer];
        at->first = WICK_MIN(at->first, (int32_t)l->n_steps - 2);
    }
    wick_remark(l->ctx, "ride", l->node, "taken: within gather (%s), some groups of slices at a time",
                gather->site ? gather->site : "?");
    return WICK_OK;
}
