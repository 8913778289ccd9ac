/* channel_loop.c: programs that follow each other and treat each channel of images by itself, as norms by the batch's
 * statistics do, run channel by channel: what all of them read of one is in a cache after the first. Only where images
 * lie by planes and come from memory; channels that are neighbours share lines.
 *
 * A band is the first one's step; the others stay steps of the plan too, marked, so that who prints plans as code
 * prints them one by one. What a program makes of a channel is what it makes of all: the order of its sums counts the
 * other channels (wick_fused.columns), so bits are the same. */
#include "ops/ops.h"
#include "ops/steps.h"

enum { CHANNELS = 16, FULL = 2 }; /* the fewest, a task each; programs over whole images that are worth it */

static int64_t run_channel_loop(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_channel_loop *channel_loop = ((const wick_step_program *)args)->channel_loop;
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
static bool of_a_channel(wick_fused *f, int channel, int64_t channels, bool full) {
    f->dims[channel] = 1;
    f->columns = channels;
    wick_fused_prepare(f);
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

/* Makes the step at the head the band's, with all parts so far. */
static wick_status settle(wick_lower *l) {
    wick_channel_loop *channel_loop = l->channel_loop;
    wick_step *head = &l->steps[channel_loop->head];
    wick_step_program *args = wick_arena_alloc(l->arena, sizeof *args);
    if (!args) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    memcpy(args, head->args, sizeof *args);
    args->channel_loop = channel_loop;
    channel_loop->runs = channel_loop->n;
    head->args = args;
    head->run = run_channel_loop;
    head->tasks = channel_loop->channels;
    head->refs = channel_loop->refs;
    head->n_refs = channel_loop->n_refs;
    for (int i = 0; i < channel_loop->n; i++)
        head->scratch = WICK_MAX(head->scratch, channel_loop->part[i].fused.scratch);
    for (size_t i = channel_loop->head + 1; i < l->n_steps; i++) l->steps[i].rides = true;
    for (int k = 0; k < channel_loop->n_refs; k++) {
        wick_buffer *b = &l->buffers[channel_loop->refs[k].buffer];
        b->first = WICK_MIN(b->first, (int32_t)channel_loop->head);
    }
    wick_remark(l->ctx, "ride", l->node, "taken: runs channel by channel with %s (%s)", head->name,
                head->node->site ? head->node->site : "?");
    return WICK_OK;
}

wick_status wick_lower_channel_loop(wick_lower *l, const wick_fused *f, const wick_fused *prepared, size_t first,
                                    const wick_ref *refs) {
    wick_channel_loop *channel_loop = l->channel_loop && l->channel_loop_next == first ? l->channel_loop : NULL;
    l->channel_loop = NULL;
    /* where memory is short, one after the other */
    if (!l->bands || l->node->phase || l->ctx->live_target) return WICK_OK;
    if (!channel_loop) { /* sums of images by channel begin one */
        const int64_t bytes = prepared->layout.total * (int64_t)wick_dtype_size((wick_dtype)f->in[0].dtype);
        if (!prepared->layout.planes || f->dims[f->rank - 1] < CHANNELS || bytes < l->ctx->tuning.stream_bytes / 4)
            return WICK_OK;
        channel_loop = wick_arena_zalloc(l->arena, sizeof *channel_loop);
        if (!channel_loop) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
        channel_loop->channels = f->dims[f->rank - 1];
        channel_loop->head = first;
        channel_loop->own = channel_loop->n_refs = l->steps[first].n_refs;
        memcpy(channel_loop->refs, l->steps[first].refs, (size_t)channel_loop->own * sizeof *channel_loop->refs);
    }
    const int channel = channel_dim(f, channel_loop->channels);
    const int n_refs = f->n_in + f->n_out;
    if (channel < 0 || channel_loop->n == WICK_CHANNEL_LOOP_PARTS || channel_loop->n_refs + n_refs > WICK_STEP_BUFFERS)
        return WICK_OK;
    wick_channel_loop_part *p = &channel_loop->part[channel_loop->n];
    int64_t count = 1;
    for (int d = 0; d < f->rank; d++) count *= f->dims[d];
    const bool full = count != channel_loop->channels;
    for (int k = 0; k < n_refs; k++) {
        const wick_fused_io *io = k < f->n_in ? &f->in[k] : &f->out[k - f->n_in];
        p->step[k] = io->strides[channel] * (int64_t)wick_dtype_size((wick_dtype)io->dtype);
        p->full[k] = false;
        for (int d = 0; d < f->rank; d++) p->full[k] |= d != channel && f->dims[d] > 1 && io->strides[d];
    }
    p->n_refs = n_refs;
    p->fused = *f;
    if (!of_a_channel(&p->fused, channel, channel_loop->channels, full) || crosses(channel_loop, p, refs))
        return WICK_OK;
    for (int k = 0; k < n_refs; k++)
        p->ref[k] = channel_loop->n ? find_ref(channel_loop->refs, &channel_loop->n_refs, &refs[k]) : k;
    channel_loop->n++;
    channel_loop->full += full;
    l->channel_loop = channel_loop;
    l->channel_loop_next = l->n_steps;
    return full && channel_loop->full >= FULL ? settle(l) : WICK_OK;
}
