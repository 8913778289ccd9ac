/* channel_loop.c: successive programs that treat each channel of images by itself, as batch norms do, become one loop
 * over channels: a channel that the first program has read is in a cache for the others. Only where channels are
 * planes, since interleaved ones share cache lines, and only for images that come from memory.
 *
 * The step of the first program becomes the loop. The bits stay: the order of a channel's sums still depends on the
 * number of all channels (wick_fused.columns). */
#include "exec/rewrite/rewrite.h"
#include "ops/ops.h"

enum { CHANNELS = 16, FULL = 2 }; /* the fewest, a task each; programs over whole images that are worth it */

static int64_t run_channel_loop(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_channel_loop *channel_loop = args;
    for (int64_t channel = begin; channel < end; channel++)
        for (int i = 0; i < channel_loop->runs; i++) {
            const wick_channel_loop_part *p = &channel_loop->part[i];
            void *at[2 * WICK_FUSED_MAX_IO];
            for (int k = 0; k < p->n_refs; k++) at[k] = (char *)ptr[p->ref[k]] + channel * p->step[k];
            wick_fused_run(&p->fused, 0, 0, p->fused.tasks, at, NULL, scratch);
        }
    return -1;
}

/* The dim of a program's space that channels are, or -1: of whole images the second, or of a reduction the last one; of
 * numbers by channel the only one. */
static int channel_dim(const wick_fused *f, int64_t channels) {
    int64_t count = 1;
    int only = -1, at = f->reduces ? f->rank - 1 : 1;
    for (int d = 0; d < f->rank; d++) {
        count *= f->dims[d];
        if (f->dims[d] == channels) only = d;
    }
    if (count == channels && !f->reduces) return only;
    return f->rank > 2 && f->dims[at] == channels && (!f->reduces || (f->n_keep == 0 && f->n_red == at)) ? at : -1;
}

/* The program of one channel; false: it takes more than one stage, or goes another way. */
static bool of_a_channel(wick_fused *f, const wick_tuning *tuning, int channel, int64_t channels, bool full) {
    f->dims[channel] = 1;
    f->columns = channels;
    wick_fused_prepare(f, tuning);
    return !f->tasks2 && !f->partials && f->tasks > 0 && (!f->reduces || f->layout.planes) &&
           (!full || f->layout.program || !f->n_instr);
}

static int find_ref(wick_ref *refs, int *n, const wick_ref *ref) {
    for (int i = 0; i < *n; i++)
        if (refs[i].buffer == ref->buffer && refs[i].offset == ref->offset && refs[i].write == ref->write) return i;
    refs[*n] = *ref;
    return (*n)++;
}

/* Does the part, whose refs are these, meet an earlier one in memory other than channel by channel, number by number?
 */
static bool crosses(const wick_channel_loop *channel_loop, const wick_channel_loop_part *p, const wick_ref *refs) {
    for (int k = 0; k < p->n_refs; k++)
        for (int i = 0; i < channel_loop->n; i++)
            for (int j = 0; j < channel_loop->part[i].n_refs; j++) {
                const wick_channel_loop_part *q = &channel_loop->part[i];
                const wick_ref *a = &refs[k], *b = &channel_loop->refs[q->ref[j]];
                if (a->buffer != b->buffer || (!a->write && !b->write)) continue;
                const bool numbers =
                    !p->full[k] && !q->full[j] && p->step[k] == q->step[j] && p->step[k] && a->offset == b->offset;
                if (!numbers) return true;
            }
    return false;
}

/* Makes the step at the head the loop, with all parts so far; `next` is the step behind them. */
static wick_status settle(wick_rewriting *r, size_t next) {
    wick_channel_loop *loop = r->channel_loop;
    wick_step *head = wick_rewriting_step(r, loop->head);
    if (!head) return wick_rewriting_no_memory(r);
    loop->runs = loop->n;
    head->kind = WICK_STEP_CHANNEL_LOOP;
    head->args = loop;
    head->args_size = sizeof *loop;
    head->run = run_channel_loop;
    head->tasks = loop->channels;
    head->refs = loop->refs;
    head->n_refs = loop->n_refs;
    for (int i = 0; i < loop->n; i++) head->scratch = WICK_MAX(head->scratch, loop->part[i].fused.scratch);
    for (size_t i = loop->head + 1; i < next; i++) r->l->steps[i].rides = true;
    wick_rewriting_lives(r, loop->head, loop->refs, loop->n_refs);
    wick_remark(r->l->planning, "ride", r->l->node, "taken: runs channel by channel with %s (%s)", head->name,
                head->node->site ? head->node->site : "?");
    return WICK_OK;
}

/* A loop that the program may begin, or NULL in *loop: sums of images by channel begin one. */
static wick_status begin(wick_rewriting *r, const wick_lowered_program *p, wick_channel_loop **loop) {
    const wick_lower *l = r->l;
    const wick_step *s = &l->steps[p->step];
    const wick_fused *f = p->fused, *prepared = s->args;
    const int64_t bytes = prepared->layout.total * (int64_t)wick_dtype_size((wick_dtype)f->in[0].dtype);
    *loop = NULL;
    if (!prepared->layout.planes || f->dims[f->rank - 1] < CHANNELS || bytes < l->ctx->tuning.stream_bytes / 4)
        return WICK_OK;
    if (!(*loop = wick_arena_zalloc(l->arena, sizeof **loop))) return wick_rewriting_no_memory(r);
    (*loop)->channels = f->dims[f->rank - 1];
    (*loop)->head = p->step;
    (*loop)->n_refs = s->n_refs;
    memcpy((*loop)->refs, s->refs, (size_t)s->n_refs * sizeof *s->refs);
    return WICK_OK;
}

wick_status wick_rewrite_channel_loop(wick_rewriting *r, const wick_lowered_program *lowered) {
    const wick_fused *f = lowered->fused;
    const wick_step *s = &r->l->steps[lowered->step];
    wick_channel_loop *loop = r->channel_loop && r->channel_loop_next == lowered->step ? r->channel_loop : NULL;
    r->channel_loop = NULL;
    /* where memory is short, one after the other */
    if (!r->channel_loops || s->node->phase || wick_live_target(r->l->planning)) return WICK_OK;
    if (!loop) WICK_TRY(begin(r, lowered, &loop));
    if (!loop) return WICK_OK;
    const int channel = channel_dim(f, loop->channels);
    const int n_refs = f->n_in + f->n_out;
    if (channel < 0 || loop->n == WICK_CHANNEL_LOOP_PARTS || loop->n_refs + n_refs > WICK_STEP_BUFFERS) return WICK_OK;
    wick_channel_loop_part *p = &loop->part[loop->n];
    int64_t count = 1;
    for (int d = 0; d < f->rank; d++) count *= f->dims[d];
    const bool full = count != loop->channels;
    for (int k = 0; k < n_refs; k++) {
        const wick_fused_io *io = k < f->n_in ? &f->in[k] : &f->out[k - f->n_in];
        p->step[k] = io->strides[channel] * (int64_t)wick_dtype_size((wick_dtype)io->dtype);
        p->full[k] = false;
        for (int d = 0; d < f->rank; d++) p->full[k] |= d != channel && f->dims[d] > 1 && io->strides[d];
    }
    p->n_refs = n_refs;
    p->fused = *f;
    if (!of_a_channel(&p->fused, &r->l->ctx->tuning, channel, loop->channels, full) || crosses(loop, p, s->refs))
        return WICK_OK;
    for (int k = 0; k < n_refs; k++) p->ref[k] = loop->n ? find_ref(loop->refs, &loop->n_refs, &s->refs[k]) : k;
    loop->n++;
    loop->full += full;
    r->channel_loop = loop;
    r->channel_loop_next = lowered->step + 1 + (((const wick_fused *)s->args)->tasks2 > 0);
    return full && loop->full >= FULL ? settle(r, r->channel_loop_next) : WICK_OK;
}
