/* gather_reduce.c: slices of a table that are reduced by groups, as bags of embeddings are: gathered some groups at a
 * time into L1 and reduced there, instead of being written to memory as a whole and read again. Bits are the same: what
 * a reduction gives for a unit does not depend on how many there are. */
#include "exec/rewrite/rewrite.h"
#include "ops/ops.h"

enum { ROOM = 16 << 10, LEAST = 128 << 10 }; /* bytes that are gathered at a time; of all that are gathered */

/* The step of both. A unit is `each` slices, `units` at a time. */
typedef struct gather_reduce {
    wick_step_gather gather; /* first: it says what an index is that doesn't fit */
    wick_fused fused;        /* of so many units */
    int gathered;            /* the number of what is gathered among its inputs */
    int64_t all, units, each, per_task;
    size_t room;                         /* bytes of what is gathered at a time */
    int64_t step[2 * WICK_FUSED_MAX_IO]; /* bytes of each operand from a unit to the next */
} gather_reduce;

static int64_t run_gather_reduce(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const gather_reduce *b = args;
    const wick_step_gather *g = &b->gather;
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

/* The operands of the program, which reads what step s gathers; false: otherwise than unit by unit. */
static bool take_operands(gather_reduce *b, const wick_fused *fused, const wick_step *s, const wick_step *program) {
    b->gathered = -1;
    for (int k = 0; k < program->n_refs; k++) {
        const bool same = program->refs[k].buffer == s->refs[2].buffer;
        if (same && (b->gathered >= 0 || k >= fused->n_in || program->refs[k].offset)) return false;
        if (same) b->gathered = k;
        const wick_fused_io *io = k < fused->n_in ? &fused->in[k] : &fused->out[k - fused->n_in];
        b->step[k] = io->strides[0] * (int64_t)wick_dtype_size((wick_dtype)io->dtype);
        for (int i = 0; k >= fused->n_in && i < s->n_refs + fused->n_in; i++) /* a result over what is still read */
            if (program->refs[k].buffer == (i < s->n_refs ? s->refs[i].buffer : program->refs[i - s->n_refs].buffer))
                return false;
    }
    return b->gathered >= 0;
}

wick_status wick_rewrite_gather_reduce(wick_rewriting *r, const wick_lowered_program *p) {
    wick_lower *l = r->l;
    const wick_fused *fused = p->fused;
    if (p->step < 1 || fused->n_keep < 1) return WICK_OK;
    const wick_step *program = &l->steps[p->step], *before = program - 1;
    if (before->kind != WICK_STEP_GATHER || before->commits || program->commits ||
        before->n_refs + program->n_refs > WICK_STEP_BUFFERS)
        return WICK_OK;
    const wick_step_gather *g = before->args;
    const wick_node *gather = before->node;
    const int64_t slice = (int64_t)g->elem * g->inner;
    gather_reduce b = {.gather = *g, .fused = *fused, .all = fused->dims[0]};
    if (!take_operands(&b, fused, before, program)) return WICK_OK;
    const int64_t unit = b.step[b.gathered];
    if (g->outer != 1 || !slice || unit <= 0 || unit % slice || b.all * unit != g->count * slice ||
        g->count * slice < LEAST)
        return WICK_OK;
    /* what is gathered is for it alone */
    if (l->buffers[before->refs[2].buffer].kind != WICK_BUFFER_TEMP ||
        l->last_use[l->root[gather->out[0].id]] != l->node->position)
        return WICK_OK;
    b.each = unit / slice;
    b.units = WICK_MIN(b.all, WICK_MAX(1, ROOM / unit));
    b.per_task = WICK_MIN(b.all, WICK_MAX(1, (1 << 17) / (b.units * unit)) * b.units);
    b.room = WICK_ALIGN_UP((size_t)(b.units * unit), WICK_ALIGN);
    b.fused.dims[0] = b.units;
    wick_fused_prepare(&b.fused, &l->ctx->tuning);
    if (b.fused.tasks2 || b.fused.partials || b.room > LEAST) return WICK_OK;
    wick_step *s = wick_rewriting_step(r, p->step - 1);
    gather_reduce *kept = wick_arena_alloc(l->arena, sizeof *kept);
    if (!s || !kept || !wick_rewriting_join_refs(r, s, program)) return wick_rewriting_no_memory(r);
    *kept = b;
    s->kind = WICK_STEP_OTHER;
    s->run = run_gather_reduce;
    s->args = kept;
    s->args_size = sizeof *kept;
    s->tasks = WICK_MAX(1, b.all / b.per_task);
    s->scratch = b.room + b.fused.scratch;
    l->steps[p->step].rides = true;
    wick_rewriting_lives(r, p->step - 1, program->refs, program->n_refs);
    wick_remark(l->planning, "ride", l->node, "taken: within gather (%s), some groups of slices at a time",
                gather->site ? gather->site : "?");
    return WICK_OK;
}
