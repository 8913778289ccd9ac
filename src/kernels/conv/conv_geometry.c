/* conv_geometry.c: which outputs a slab or phase has, which part of the source they read, and where taps and rows lie
 * in it. */
#include "kernels/conv/conv_parts.h"

wick_conv_axis wick_conv_axis_of(const wick_convolution *c, int d, int64_t phase) {
    const int64_t s = c->stride[d], dil = c->dilation[d], pad = c->pad[d];
    if (c->what != WICK_CONV_DATA)
        return (wick_conv_axis){.lo = -pad,
                                .step = s,
                                .count = c->out[d],
                                .taps = c->kernel[d],
                                .tap_step = 1,
                                .tap_at = dil,
                                .dst_step = 1};
    wick_conv_axis x = {.step = 1, .dst0 = ((phase - pad) % s + s) % s, .dst_step = s};
    x.count = x.dst0 < c->in[d] ? wick_ceil_div(c->in[d] - x.dst0, s) : 0;
    int64_t first = 0, every = 1; /* taps of the phase, as they lie in the kernel; they are read from the last */
    while (every * dil % s) every++;
    while (first < c->kernel[d] && first * dil % s != phase) first = first + 1 < every ? first + 1 : c->kernel[d];
    if (first >= c->kernel[d]) return x; /* no tap: zeros */
    x.taps = wick_ceil_div(c->kernel[d] - first, every);
    x.tap0 = first + (x.taps - 1) * every;
    x.tap_step = -every;
    x.tap_at = every * dil / s;
    x.lo = (x.dst0 + pad - phase) / s - (x.tap0 * dil - phase) / s;
    return x;
}

/* Of all phases of a dim together, without dilation: outputs are the first input of every stride. */
wick_conv_axis wick_conv_whole_axis_of(const wick_convolution *c, int d) {
    wick_conv_axis all = {
        .step = 1, .count = wick_ceil_div(c->in[d], c->stride[d]), .tap_at = 1, .dst_step = c->stride[d]};
    int64_t end = INT64_MIN;
    all.lo = INT64_MAX;
    for (int64_t phase = 0; phase < c->stride[d]; phase++) {
        const wick_conv_axis x = wick_conv_axis_of(c, d, phase);
        if (!x.taps) continue;
        all.lo = WICK_MIN(all.lo, x.lo);
        end = WICK_MAX(end, x.lo + x.taps);
    }
    all.taps = end - all.lo;
    return all;
}

/* Slab number `slab` of a phase, of all if it is conv_phases_of(c); pixels is 0 when there is nothing. */
conv_box wick_conv_box_of(const wick_convolution *c, int64_t phase, int64_t slab) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->out : c->in;
    const bool whole = phase == conv_phases_of(c);
    conv_box b;
    b.pixels = b.taps = 1;
    b.inside = true;
    for (int d = 2; d >= 0; d--) {
        const int64_t phases = c->what == WICK_CONV_DATA ? c->stride[d] : 1;
        const wick_conv_axis *x = &b.axis[d];
        b.axis[d] = whole ? wick_conv_whole_axis_of(c, d) : wick_conv_axis_of(c, d, phase % phases);
        phase /= phases;
        b.first[d] = d == c->cut ? slab * c->rows : 0;
        b.n[d] = d == c->cut ? WICK_MIN(c->rows, x->count - b.first[d]) : x->count;
        b.n[d] = WICK_MAX(b.n[d], 0);
        b.lo[d] = x->lo + b.first[d] * x->step;
        b.extent[d] = WICK_MAX((b.n[d] - 1) * x->step + (x->taps - 1) * x->tap_at + 1, 0);
        b.inside &= b.lo[d] >= 0 && b.lo[d] + b.extent[d] <= dims[d];
        b.pixels *= b.n[d];
        b.taps *= x->taps;
    }
    b.inside |= !b.taps;
    return b;
}

/* All channels of the box, from an image. */
static void box_copy(const wick_convolution *c, const conv_box *b, const char *image, char *dst) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->out : c->in, pixel = conv_source_channels(c) * c->code->elem;
    const int64_t from = WICK_MIN(WICK_MAX(0, -b->lo[2]), b->extent[2]),
                  to = WICK_MAX(from, WICK_MIN(b->extent[2], dims[2] - b->lo[2]));
    for (int64_t z = b->lo[0]; z < b->lo[0] + b->extent[0]; z++)
        for (int64_t y = b->lo[1]; y < b->lo[1] + b->extent[1]; y++, dst += b->extent[2] * pixel) {
            if (z < 0 || z >= dims[0] || y < 0 || y >= dims[1] || from == to) {
                memset(dst, 0, (size_t)(b->extent[2] * pixel));
                continue;
            }
            memset(dst, 0, (size_t)(from * pixel));
            memcpy(dst + from * pixel, image + ((z * dims[1] + y) * dims[2] + b->lo[2] + from) * pixel,
                   (size_t)((to - from) * pixel));
            memset(dst + to * pixel, 0, (size_t)((b->extent[2] - to) * pixel));
        }
}

conv_state wick_conv_state_in(const wick_convolution *c, char *scratch) {
    return (conv_state){.phase = -1,
                        .slab = -1,
                        .pixel = conv_source_channels(c),
                        .copy = scratch,
                        .taps = (int64_t *)(void *)(scratch + c->at_taps),
                        .rows = (int64_t *)(void *)(scratch + c->at_rows),
                        .panel = scratch + c->at_panel};
}

void wick_conv_state_move(const wick_convolution *c, conv_state *s, int64_t phase, int64_t slab) {
    if (s->phase == phase && s->slab == slab) return;
    s->phase = phase;
    s->slab = slab;
    s->box = wick_conv_box_of(c, phase, slab);
    const wick_conv_axis *x = s->box.axis;
    const int64_t *dims = s->box.inside ? c->what == WICK_CONV_DATA ? c->out : c->in : s->box.extent;
    s->line = dims[2] * s->pixel;
    s->plane = dims[1] * s->line;
    const bool merge = c->groups == 1 && x[2].tap_at == 1;
    s->run = (merge ? x[2].taps : 1) * s->pixel / c->groups;
    s->n_taps = s->n_rows = 0;
    for (int64_t z = 0; z < x[0].taps; z++)
        for (int64_t y = 0; y < x[1].taps; y++)
            for (int64_t k = 0; k < (merge ? x[2].taps > 0 : x[2].taps); k++)
                s->taps[s->n_taps++] =
                    z * x[0].tap_at * s->plane + y * x[1].tap_at * s->line + k * x[2].tap_at * s->pixel;
    for (int64_t z = 0; z < s->box.n[0]; z++)
        for (int64_t y = 0; y < s->box.n[1]; y++)
            s->rows[s->n_rows++] = z * x[0].step * s->plane + y * x[1].step * s->line;
}

/* The first pixel that the outputs of the box read, in an image or in the copy that this makes. */
const char *wick_conv_state_source(const wick_convolution *c, conv_state *s, const char *image) {
    const conv_box *b = &s->box;
    if (!b->taps) return image;
    if (b->inside) return image + (b->lo[0] * s->plane + b->lo[1] * s->line + b->lo[2] * s->pixel) * c->code->elem;
    box_copy(c, b, image, s->copy);
    return s->copy;
}

/* ---- all phases at once ------------------------------------------------------------------------------------------ */

/* Columns: a panel of whole vectors. */
int64_t wick_conv_whole_width(const wick_convolution *c) {
    return (int64_t)WICK_ALIGN_UP(conv_product(c->stride) * c->ci, c->gemm->lanes);
}

/* How many rows of taps make a block, such that the sums of each phase are cut as they are where the phase is computed
 * alone. All rows, where no phase has more than one block; 0: no number does this. */
int64_t wick_conv_whole_block(const wick_convolution *c) {
    const conv_box whole = wick_conv_box_of(c, conv_phases_of(c), 0);
    int64_t most = whole.axis[0].taps * whole.axis[1].taps;
    for (int64_t f = 0; f < conv_phases_of(c); f++) {
        const conv_box b = wick_conv_box_of(c, f, 0);
        const int64_t length = b.axis[2].taps * c->co;
        if (b.taps && length > WICK_GEMM_KC) return 0;
        if (b.taps && b.axis[0].taps * b.axis[1].taps > conv_pieces_of_block(length))
            most = WICK_MIN(most, conv_pieces_of_block(length));
    }
    if (most == whole.axis[0].taps * whole.axis[1].taps) return most;
    for (int64_t f = 0; f < conv_phases_of(c); f++) {
        const conv_box b = wick_conv_box_of(c, f, 0);
        if (!b.taps) continue;
        if (whole.axis[0].taps != 1 || b.axis[1].lo != whole.axis[1].lo) return 0;
        if (b.axis[1].taps > most && conv_pieces_of_block(b.axis[2].taps * c->co) != most) return 0;
    }
    return most;
}

/* Why they are not computed so; NULL: they are, in fewer multiply-adds of vectors. */
const char *wick_conv_whole_refused(const wick_convolution *c) {
    const int64_t lanes = c->gemm->lanes;
    if (c->what != WICK_CONV_DATA) return "it is for gradients of inputs";
    if (conv_product(c->stride) == 1) return "there is no stride";
    if (c->groups != 1) return "there are groups";
    if (conv_product(c->dilation) != 1) return "there is a dilation";
    if (c->ci > c->gemm->nr || conv_product(c->stride) > c->gemm->nr || wick_conv_whole_width(c) > c->gemm->nr)
        return "there are too many channels";
    const int64_t taps =
        wick_conv_whole_axis_of(c, 0).taps * wick_conv_whole_axis_of(c, 1).taps * wick_conv_whole_axis_of(c, 2).taps;
    if (4 * taps * wick_conv_whole_width(c) > 3 * conv_product(c->kernel) * (int64_t)WICK_ALIGN_UP(c->ci, lanes))
        return "phases one by one take no more work";
    return wick_conv_whole_block(c) ? NULL : "the blocks of sums would be others";
}
