/* band.c: programs that follow each other and treat each channel of images by itself, as norms by the batch's statistics do, run channel by channel: what all of them read of one is
 * in a cache after the first. Only where images lie by planes and come from memory; channels that are neighbours share lines.
 *
 * A band is the first one's step; the others stay steps of the plan too, marked, so that who prints plans as code prints them one by one. What a program makes of a channel is what it
 * makes of all: the order of its sums counts the other channels (wick_fused.columns), so bits are the same. */
#include "ops/ops.h"
#include "ops/steps.h"

enum { CHANNELS = 16, FULL = 2 }; /* the fewest, a task each; programs over whole images that are worth it */

static int64_t run_band(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_band *band = ((const wick_step_program *)args)->band;
    for (int64_t channel = begin; channel < end; channel++)
        for (int i = 0; i < band->runs; i++) {
            const wick_band_part *p = &band->part[i];
            void *at[2 * WICK_FUSED_MAX_IO];
            for (int k = 0; k < p->n_refs; k++) at[k] = (char *)ptr[p->ref[k]] + channel * p->step[k];
            wick_fused_run(&p->fused, 0, 0, p->fused.tasks, at, NULL, scratch);
        }
    return -1;
}

/* The dim of a program's space that channels are, or -1: of whole images the second, or of a reduction the last one; of numbers by channel the only one. */
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
    return !f->tasks2 && !f->partials && f->tasks > 0 && (!f->reduces || f->layout.planes) && (!full || f->layout.program || !f->n_instr);
}

static int find_ref(wick_ref *refs, int *n, const wick_ref *ref) {
    for (int i = 0; i < *n; i++)
        if (refs[i].buffer == ref->buffer && refs[i].offset == ref->offset && refs[i].write == ref->write) return i;
    refs[*n] = *ref;
    return (*n)++;
}

/* Does the part, whose refs are these, meet an earlier one in memory other than channel by channel, number by number? */
static bool crosses(const wick_band *band, const wick_band_part *p, const wick_ref *refs) {
    for (int k = 0; k < p->n_refs; k++)
        for (int i = 0; i < band->n; i++)
            for (int j = 0; j < band->part[i].n_refs; j++) {
                const wick_band_part *q = &band->part[i];
                const wick_ref *a = &refs[k], *b = &band->refs[q->ref[j]];
                if (a->buffer != b->buffer || (!a->write && !b->write)) continue;
                const bool numbers = !p->full[k] && !q->full[j] && p->step[k] == q->step[j] && p->step[k] && a->offset == b->offset;
                if (!numbers) return true;
            }
    return false;
}

/* Makes the step at the head the band's, with all parts so far. */
static wick_status settle(wick_lower *l) {
    wick_band *band = l->band;
    wick_step *head = &l->steps[band->head];
    wick_step_program *args = wick_arena_alloc(l->arena, sizeof *args);
    if (!args) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    memcpy(args, head->args, sizeof *args);
    args->band = band;
    band->runs = band->n;
    head->args = args;
    head->run = run_band;
    head->tasks = band->channels;
    head->refs = band->refs;
    head->n_refs = band->n_refs;
    for (int i = 0; i < band->n; i++) head->scratch = WICK_MAX(head->scratch, band->part[i].fused.scratch);
    for (size_t i = band->head + 1; i < l->n_steps; i++) l->steps[i].rides = true;
    for (int k = 0; k < band->n_refs; k++) {
        wick_buffer *b = &l->buffers[band->refs[k].buffer];
        b->first = WICK_MIN(b->first, (int32_t)band->head);
    }
    wick_remark(l->ctx, "ride", l->node, "taken: runs channel by channel with %s (%s)", head->name, head->node->site ? head->node->site : "?");
    return WICK_OK;
}

wick_status wick_lower_band(wick_lower *l, const wick_fused *f, const wick_fused *prepared, size_t first, const wick_ref *refs) {
    wick_band *band = l->band && l->band_next == first ? l->band : NULL;
    l->band = NULL;
    if (!l->bands || l->node->phase || l->ctx->live_target) return WICK_OK; /* where memory is short, one after the other */
    if (!band) { /* sums of images by channel begin one */
        const int64_t bytes = prepared->layout.total * (int64_t)wick_dtype_size((wick_dtype)f->in[0].dtype);
        if (!prepared->layout.planes || f->dims[f->rank - 1] < CHANNELS || bytes < l->ctx->tuning.stream_bytes / 4) return WICK_OK;
        band = wick_arena_zalloc(l->arena, sizeof *band);
        if (!band) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
        band->channels = f->dims[f->rank - 1];
        band->head = first;
        band->own = band->n_refs = l->steps[first].n_refs;
        memcpy(band->refs, l->steps[first].refs, (size_t)band->own * sizeof *band->refs);
    }
    const int channel = channel_dim(f, band->channels);
    const int n_refs = f->n_in + f->n_out;
    if (channel < 0 || band->n == WICK_BAND_PARTS || band->n_refs + n_refs > WICK_STEP_BUFFERS) return WICK_OK;
    wick_band_part *p = &band->part[band->n];
    int64_t count = 1;
    for (int d = 0; d < f->rank; d++) count *= f->dims[d];
    const bool full = count != band->channels;
    for (int k = 0; k < n_refs; k++) {
        const wick_fused_io *io = k < f->n_in ? &f->in[k] : &f->out[k - f->n_in];
        p->step[k] = io->strides[channel] * (int64_t)wick_dtype_size((wick_dtype)io->dtype);
        p->full[k] = false;
        for (int d = 0; d < f->rank; d++) p->full[k] |= d != channel && f->dims[d] > 1 && io->strides[d];
    }
    p->n_refs = n_refs;
    p->fused = *f;
    if (!of_a_channel(&p->fused, channel, band->channels, full) || crosses(band, p, refs)) return WICK_OK;
    for (int k = 0; k < n_refs; k++) p->ref[k] = band->n ? find_ref(band->refs, &band->n_refs, &refs[k]) : k;
    band->n++;
    band->full += full;
    l->band = band;
    l->band_next = l->n_steps;
    return full && band->full >= FULL ? settle(l) : WICK_OK;
}
