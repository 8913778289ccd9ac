/* conv.c: control flow of convolutions. Channels are the last dim in memory, so that a row of the kernel meets taps * channels
 * neighbours of the source: all three kinds are matrix products that read their operands where they lie, piece by piece:
 *
 *   FORWARD   y[p, o] = x[p, (k, c)] w[(k, c), o]            rows: pixels of an output row; pieces of (k, c): rows of the kernel
 *   DATA      x[i, c] = y[i, (k, o)] w'[(k, o), c]           the same, over y, for each phase of the stride
 *   WEIGHT    w[(k, c), o] = sum over images of x'[(k, c), p] y[p, o]   pieces of p: rows of the output
 *
 * Only where padding is in reach is the source copied first, a box of some rows with the zeros around it. One channel to one
 * channel is in depthwise.c.
 *
 * With stride s, inputs i of one phase r = (i + pad) mod s meet only the taps with k * dilation mod s = r: each phase is a
 * convolution of stride 1 over y. FORWARD and WEIGHT have one phase. Where inputs have few channels, all phases are one convolution ("whole"), so that a
 * vector's lanes are (phase, channel): its taps are those of any phase, with weights of 0 for the others; y must be finite then. */
#include "kernels/conv/conv.h"
#include "kernels/convert/convert.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/packing.h"

/* Bytes of the source that a slab reads, where the batch makes tasks enough: slabs share rows; the most
 * partial sums of weights; and weights that stay in L2 beside what goes by, in bytes. */
enum { CONV_WEIGHTS = 2, CONV_MIN_PIXELS = 32, CONV_SLAB = 256 << 10, CONV_CHUNKS = 16, CONV_PARTIALS = 16 << 20, CONV_NEAR = 128 << 10 };

static const wick_conv_kernels *const conv_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_conv_kernels)};

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t product(const int64_t *x) { return x[0] * x[1] * x[2]; }

/* ---- geometry --------------------------------------------------------------------------------------------------------------- */

wick_conv_axis wick_conv_axis_of(const wick_convolution *c, int d, int64_t phase) {
    const int64_t s = c->stride[d], dil = c->dilation[d], pad = c->pad[d];
    if (c->what != WICK_CONV_DATA)
        return (wick_conv_axis){.lo = -pad, .step = s, .count = c->out[d], .taps = c->kernel[d], .tap_step = 1, .tap_at = dil, .dst_step = 1};
    wick_conv_axis x = {.step = 1, .dst0 = ((phase - pad) % s + s) % s, .dst_step = s};
    x.count = x.dst0 < c->in[d] ? ceil_div(c->in[d] - x.dst0, s) : 0;
    int64_t first = 0, every = 1; /* taps of the phase, as they lie in the kernel; they are read from the last */
    while (every * dil % s) every++;
    while (first < c->kernel[d] && first * dil % s != phase) first = first + 1 < every ? first + 1 : c->kernel[d];
    if (first >= c->kernel[d]) return x; /* no tap: zeros */
    x.taps = ceil_div(c->kernel[d] - first, every);
    x.tap0 = first + (x.taps - 1) * every;
    x.tap_step = -every;
    x.tap_at = every * dil / s;
    x.lo = (x.dst0 + pad - phase) / s - (x.tap0 * dil - phase) / s;
    return x;
}

/* Of all phases of a dim together, without dilation: outputs are the first input of every stride. */
static wick_conv_axis whole_axis_of(const wick_convolution *c, int d) {
    wick_conv_axis all = {.step = 1, .count = ceil_div(c->in[d], c->stride[d]), .tap_at = 1, .dst_step = c->stride[d]};
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

/* A box of outputs of one phase, or of all, and the box of the source that they read. */
typedef struct conv_box {
    wick_conv_axis axis[3];
    int64_t first[3], n[3];   /* outputs */
    int64_t lo[3], extent[3]; /* of the source */
    int64_t pixels, taps;
    bool inside; /* of the source: nothing to pad */
} conv_box;

static int64_t phases_of(const wick_convolution *c) { return c->what == WICK_CONV_DATA ? product(c->stride) : 1; }
static int64_t source_channels(const wick_convolution *c) { return c->groups * (c->what == WICK_CONV_DATA ? c->co : c->ci); }

/* Slab number `slab` of a phase, of all if it is phases_of(c); pixels is 0 when there is nothing. */
static conv_box box_of(const wick_convolution *c, int64_t phase, int64_t slab) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->out : c->in;
    const bool whole = phase == phases_of(c);
    conv_box b;
    b.pixels = b.taps = 1;
    b.inside = true;
    for (int d = 2; d >= 0; d--) {
        const int64_t phases = c->what == WICK_CONV_DATA ? c->stride[d] : 1;
        const wick_conv_axis *x = &b.axis[d];
        b.axis[d] = whole ? whole_axis_of(c, d) : wick_conv_axis_of(c, d, phase % phases);
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
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->out : c->in, pixel = source_channels(c) * c->code->elem;
    const int64_t from = WICK_MIN(WICK_MAX(0, -b->lo[2]), b->extent[2]), to = WICK_MAX(from, WICK_MIN(b->extent[2], dims[2] - b->lo[2]));
    for (int64_t z = b->lo[0]; z < b->lo[0] + b->extent[0]; z++)
        for (int64_t y = b->lo[1]; y < b->lo[1] + b->extent[1]; y++, dst += b->extent[2] * pixel) {
            if (z < 0 || z >= dims[0] || y < 0 || y >= dims[1] || from == to) {
                memset(dst, 0, (size_t)(b->extent[2] * pixel));
                continue;
            }
            memset(dst, 0, (size_t)(from * pixel));
            memcpy(dst + from * pixel, image + ((z * dims[1] + y) * dims[2] + b->lo[2] + from) * pixel, (size_t)((to - from) * pixel));
            memset(dst + to * pixel, 0, (size_t)((b->extent[2] - to) * pixel));
        }
}

/* Consecutive pieces of a list of equally long ones, together a block of a product's inner dim; or a part of a piece too long for one. */
typedef struct conv_block {
    int64_t first, n, from, k;
} conv_block;

static int64_t pieces_of_block(int64_t length) { return length > WICK_GEMM_KC ? 1 : WICK_GEMM_KC / WICK_MAX(length, 1); }

/* From {0}: the next block, of `most` pieces (1, of those that are too long); false: there is none. */
static bool next_block(conv_block *b, int64_t pieces, int64_t length, int64_t most) {
    if (b->n && b->from + b->k < length) {
        b->from += b->k;
        b->k = WICK_MIN(length - b->from, WICK_GEMM_KC);
        return true;
    }
    b->first += b->n;
    b->from = 0;
    if (b->first >= pieces) return false;
    b->k = WICK_MIN(length, WICK_GEMM_KC);
    b->n = WICK_MIN(most, pieces - b->first);
    return true;
}

/* What a unit works on, kept while phase and slab stay. Offsets are in elements from the first pixel that an output reads. */
typedef struct conv_state {
    int64_t phase, slab;
    conv_box box;
    int64_t pixel, line, plane;  /* of the source: elements from one to the next */
    int64_t n_taps, *taps, run;  /* where taps are read; neighbours in a row are one, of `run` elements */
    int64_t n_rows, *rows;       /* rows of outputs */
    char *copy, *panel;          /* scratch: the box, and y in panels where it can't be read in place */
    const char *next;            /* what the next box reads, of next_bytes; NULL: it need not be asked for */
    int64_t next_bytes;
} conv_state;

static conv_state state_in(const wick_convolution *c, char *scratch) {
    return (conv_state){.phase = -1, .slab = -1, .pixel = source_channels(c), .copy = scratch, .taps = (int64_t *)(void *)(scratch + c->at_taps),
                        .rows = (int64_t *)(void *)(scratch + c->at_rows), .panel = scratch + c->at_panel};
}

static void state_move(const wick_convolution *c, conv_state *s, int64_t phase, int64_t slab) {
    if (s->phase == phase && s->slab == slab) return;
    s->phase = phase;
    s->slab = slab;
    s->box = box_of(c, phase, slab);
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
                s->taps[s->n_taps++] = z * x[0].tap_at * s->plane + y * x[1].tap_at * s->line + k * x[2].tap_at * s->pixel;
    for (int64_t z = 0; z < s->box.n[0]; z++)
        for (int64_t y = 0; y < s->box.n[1]; y++) s->rows[s->n_rows++] = z * x[0].step * s->plane + y * x[1].step * s->line;
}

/* The first pixel that the outputs of the box read, in an image or in the copy that this makes. */
static const char *state_source(const wick_convolution *c, conv_state *s, const char *image) {
    const conv_box *b = &s->box;
    if (!b->taps) return image;
    if (b->inside) return image + (b->lo[0] * s->plane + b->lo[1] * s->line + b->lo[2] * s->pixel) * c->code->elem;
    box_copy(c, b, image, s->copy);
    return s->copy;
}

/* ---- all phases at once ------------------------------------------------------------------------------------------------------------ */

/* Columns: a panel of whole vectors. */
static int64_t whole_width(const wick_convolution *c) { return (int64_t)WICK_ALIGN_UP(product(c->stride) * c->ci, c->gemm->lanes); }

/* Rows of taps that make a block, so that each phase's sums have the blocks that it has by itself: all, where no phase has more than one; 0: there is no such number. */
static int64_t whole_block(const wick_convolution *c) {
    const conv_box whole = box_of(c, phases_of(c), 0);
    int64_t most = whole.axis[0].taps * whole.axis[1].taps;
    for (int64_t f = 0; f < phases_of(c); f++) {
        const conv_box b = box_of(c, f, 0);
        const int64_t length = b.axis[2].taps * c->co;
        if (b.taps && length > WICK_GEMM_KC) return 0;
        if (b.taps && b.axis[0].taps * b.axis[1].taps > pieces_of_block(length)) most = WICK_MIN(most, pieces_of_block(length));
    }
    if (most == whole.axis[0].taps * whole.axis[1].taps) return most;
    for (int64_t f = 0; f < phases_of(c); f++) {
        const conv_box b = box_of(c, f, 0);
        if (!b.taps) continue;
        if (whole.axis[0].taps != 1 || b.axis[1].lo != whole.axis[1].lo) return 0;
        if (b.axis[1].taps > most && pieces_of_block(b.axis[2].taps * c->co) != most) return 0;
    }
    return most;
}

/* Why they are not computed so; NULL: they are, in fewer multiply-adds of vectors. */
static const char *whole_refused(const wick_convolution *c) {
    const int64_t lanes = c->gemm->lanes;
    if (c->what != WICK_CONV_DATA) return "it is for gradients of inputs";
    if (product(c->stride) == 1) return "there is no stride";
    if (c->groups != 1) return "there are groups";
    if (product(c->dilation) != 1) return "there is a dilation";
    if (c->ci > c->gemm->nr || product(c->stride) > c->gemm->nr || whole_width(c) > c->gemm->nr) return "there are too many channels";
    const int64_t taps = whole_axis_of(c, 0).taps * whole_axis_of(c, 1).taps * whole_axis_of(c, 2).taps;
    if (4 * taps * whole_width(c) > 3 * product(c->kernel) * (int64_t)WICK_ALIGN_UP(c->ci, lanes)) return "phases one by one take no more work";
    return whole_block(c) ? NULL : "the blocks of sums would be others";
}

/* ---- plan --------------------------------------------------------------------------------------------------------------------- */

/* Cuts dim c->cut into slabs of at most so many rows, equally. */
static void cut_rows(wick_convolution *c, int64_t count, int64_t most) {
    c->slabs = WICK_MAX(1, ceil_div(count, WICK_MAX(most, 1)));
    c->rows = WICK_MAX(1, ceil_div(count, c->slabs));
    c->slabs = WICK_MAX(1, ceil_div(count, c->rows));
}

static void lay_out_scratch(wick_convolution *c) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->out : c->in;
    int64_t copy = 0, rows = 0, pixels = 0;
    for (int64_t f = 0; f < phases_of(c) + c->whole; f++) { /* no slab is larger than the first */
        const conv_box b = box_of(c, f, 0);
        bool inside = true; /* all slabs are */
        for (int d = 0; d < 3; d++) {
            const wick_conv_axis *x = &b.axis[d];
            const int64_t end = x->lo + (x->count - 1) * x->step + (x->taps - 1) * x->tap_at + 1;
            inside &= x->lo >= 0 && end <= dims[d];
        }
        if (!inside && b.pixels && b.taps) copy = WICK_MAX(copy, product(b.extent));
        rows = WICK_MAX(rows, b.n[0] * b.n[1]);
        pixels = b.pixels;
    }
    c->at_taps = WICK_ALIGN_UP((size_t)(copy * source_channels(c) * c->code->elem), WICK_ALIGN);
    if (c->winograd) c->at_taps = WICK_MAX(c->at_taps, wick_winograd_scratch(c)); /* the copy is for what it can't do */
    if (c->few) c->at_taps = WICK_ALIGN_UP(wick_few_scratch(c, box_of(c, 0, 0).n[2]), WICK_ALIGN); /* there is no copy */
    c->at_rows = c->at_taps + (size_t)product(c->kernel) * sizeof(int64_t);
    c->at_panel = WICK_ALIGN_UP(c->at_rows + (size_t)rows * sizeof(int64_t), WICK_ALIGN);
    c->scratch = c->at_panel;
    if (c->whole) c->scratch += (size_t)(pixels * whole_width(c) * c->code->elem);
    if (c->what == WICK_CONV_WEIGHT && c->co % c->gemm->lanes) c->scratch += (size_t)(WICK_GEMM_KC * c->gemm->nr * c->code->elem);
}

/* Output channels of a group in panels of nr, the last one of whole vectors: elements of the panels before `panel`, for k = 1. */
static int64_t panels_of(const wick_convolution *c) { return ceil_div(c->what == WICK_CONV_DATA ? c->ci : c->co, c->gemm->nr); }
static int64_t panel_width(const wick_convolution *c, int64_t panel) {
    const int64_t outputs = c->what == WICK_CONV_DATA ? c->ci : c->co;
    return (int64_t)WICK_ALIGN_UP(WICK_MIN(c->gemm->nr, outputs - panel * c->gemm->nr), c->gemm->lanes);
}
static int64_t panels_width(const wick_convolution *c) { return (panels_of(c) - 1) * c->gemm->nr + panel_width(c, panels_of(c) - 1); }

static const char *depthwise_refused(const wick_convolution *c) { return c->ci == 1 && c->co == 1 ? NULL : "groups have more than one channel"; }

/* Why pixels are no one row; NULL: a kernel of one tap reads every pixel once, in order. */
static const char *one_row_refused(const wick_convolution *c) {
    for (int d = 0; d < 3; d++) {
        if (c->kernel[d] != 1) return "the kernel has more than one tap";
        if (c->stride[d] != 1) return "there is a stride";
        if (c->pad[d] || c->in[d] != c->out[d]) return "there is padding";
    }
    return NULL;
}
static void make_one_row(wick_convolution *c) {
    if (one_row_refused(c)) return;
    c->in[2] = c->out[2] = product(c->in);
    c->in[0] = c->in[1] = c->out[0] = c->out[1] = 1;
}

/* Rows of one pixel are columns instead: dims that are 1 throughout come first, in memory they are nowhere. */
static void turn_columns(wick_convolution *c) {
    for (int turn = 0; turn < 2 && c->in[2] == 1 && c->out[2] == 1 && c->kernel[2] == 1 && c->pad[2] == 0; turn++) {
        int64_t *const all[] = {c->in, c->out, c->kernel, c->stride, c->dilation, c->pad};
        for (size_t i = 0; i < WICK_COUNTOF(all); i++) {
            const int64_t last = all[i][2];
            all[i][2] = all[i][1], all[i][1] = all[i][0], all[i][0] = last;
        }
    }
}

/* Multiply-adds of a task, where all are `work`: none is cut that would be shorter than handing its parts to threads is worth. */
static double task_work(double work, double elements, bool by_panels) {
    if (!by_panels) return WICK_MIN(WICK_CONV_TASK_WORK, work / (double)wick_conv_parts(work, elements));
    if (work < 2 * WICK_CONV_LEAST_WORK) return WICK_CONV_TASK_WORK;
    return WICK_MIN(WICK_CONV_TASK_WORK, WICK_MAX(WICK_CONV_LEAST_WORK, work / WICK_CONV_TASKS));
}

static void plan_weight(wick_convolution *c, int64_t row, double work) {
    const int64_t taps = product(c->kernel), m = c->ci * taps, elem = c->code->elem, groups = c->depthwise ? 1 : c->groups;
    cut_rows(c, c->out[c->cut], WICK_GEMM_KC / row);
    /* Parts of the batch first: they share nothing but the sum at the end. */
    const double want = 1 + work * (double)c->groups * (double)c->batch / WICK_CONV_TASK_WORK;
    const double most = WICK_MAX(1.0, (double)CONV_PARTIALS / ((double)(c->groups * m) * (double)(c->co * elem)));
    c->chunks = WICK_MIN(c->batch, WICK_MIN((int64_t)WICK_MIN(want, most), CONV_CHUNKS));
    c->chunks = ceil_div(c->batch, ceil_div(c->batch, c->chunks));
    c->splits = c->depthwise ? 1 : WICK_MIN((int64_t)WICK_MIN(want / (double)(c->chunks * c->groups) + 1, 64.0), ceil_div(m, 8 * c->gemm->mr));
    c->units = c->chunks * groups * c->splits;
    c->per_task = (int64_t)WICK_MAX(1.0, WICK_CONV_TASK_WORK / (work * (double)ceil_div(c->batch, c->chunks)));
    c->shared = (size_t)(c->chunks * c->groups * m * c->co * elem);
    c->tasks[2] = c->depthwise ? 1 : ceil_div(c->groups * c->ci, (int64_t)WICK_ALIGN_UP(1 + 50000 / (c->chunks * taps * c->co), c->ci < 64 ? 4 : 16));
}

/* Fewer tasks than there is work for: fewer units each, then panels of output channels for themselves. */
static void share_units(wick_convolution *c, double work) {
    const int64_t want = (int64_t)WICK_MIN(work / WICK_CONV_LEAST_PART, WICK_CONV_TASKS), tasks = ceil_div(c->units, c->per_task);
    if (c->units == 0 || tasks >= want) return;
    c->per_task = WICK_MAX(1, c->units / want);
    if (c->winograd || c->whole) return;
    c->splits = WICK_MIN(panels_of(c), ceil_div(want, ceil_div(c->units, c->per_task)));
    c->units *= c->splits;
}

/* No fewer tasks than make 16 threads busy, where there are units for it. */
static void cut_tasks(wick_convolution *c) {
    c->per_task = WICK_MIN(c->per_task, WICK_MAX(1, c->units / WICK_GEMM_MAX_TASKS));
    c->tasks[1] = ceil_div(c->units, c->per_task);
}

void wick_conv_prepare(wick_convolution *c) {
    c->code = &conv_tiers[wick_tier_current()]->type[c->type == WICK_CF64];
    c->gemm = wick_gemm_kernel_of(c->type);
    memset(c->tasks, 0, sizeof c->tasks);
    c->shared = c->scratch = 0;
    c->cut = c->slabs = c->units = c->per_task = c->chunks = c->splits = 1;
    c->depthwise = !depthwise_refused(c);
    c->blocks = 1;
    c->winograd = c->whole = c->few = c->runs = false;
    const bool data = c->what == WICK_CONV_DATA;
    bool shared = false;
    for (int d = 0; d < 3; d++)
        if (c->out[d] == 1) c->stride[d] = 1; /* there is no second window */
    if (c->code->direct) {
        c->tasks[1] = data ? c->groups * c->ci : c->groups * c->co;
        return;
    }
    if (c->batch == 0 || (data && product(c->in) == 0)) { /* no images, or pixels, make no outputs; the gradient of weights is zero */
        c->tasks[2] = c->what == WICK_CONV_WEIGHT;
        c->chunks = 0;
        return;
    }
    turn_columns(c);
    if (!c->depthwise) make_one_row(c);
    c->winograd = wick_winograd_fits(c);
    c->few = !c->depthwise && (c->planes[0] || c->ci == 1) && !wick_few_refused(c);
    c->whole = !c->depthwise && !whole_refused(c);
    if (c->what != WICK_CONV_WEIGHT && !c->whole) c->gemm = wick_gemm_tiles_of(c->type, data ? c->ci : c->co); /* few outputs: shorter vectors */
    const int64_t taps = product(c->kernel), elem = c->code->elem, *dims = data ? c->in : c->out, phases = c->whole ? 1 : phases_of(c);
    c->cut = 2;
    for (int d = 1; d >= 0; d--)
        if (dims[d] > (data ? c->stride[d] : 1)) c->cut = d;
    int64_t counts[3], row = 1; /* outputs of the largest phase; of one row of a slab */
    for (int d = 0; d < 3; d++) counts[d] = data ? ceil_div(c->in[d], c->stride[d]) : c->out[d];
    for (int64_t d = c->cut + 1; d < 3; d++) row *= counts[d];
    const double work = (double)c->ci * (double)c->co * (double)taps * (double)product(c->out); /* of a group of an image */
    if (c->what == WICK_CONV_WEIGHT) {
        plan_weight(c, row, work);
    } else {
        const double per_row = work * (double)c->groups / (double)phases / (double)counts[c->cut];
        const double row_bytes = (double)(source_channels(c) * elem) * (double)product(data ? c->out : c->in) / (double)(data ? c->out : c->in)[c->cut];
        /* Panels for each thread where weights are much more than the images: all of them would be read for every part of an image. */
        const double images = (double)(c->groups * c->batch), elements = images * (double)(c->ci * product(c->in) + c->co * product(c->out));
        const bool by_panels = (double)(c->groups * c->ci * c->co * taps) > CONV_WEIGHTS * elements;
        const double of_task = task_work(work * images, elements, by_panels);
        const double by_work = 0.999 + of_task / WICK_MAX(per_row, 1.0), by_cache = CONV_SLAB / row_bytes;
        const double by_tasks = (double)counts[c->cut] * (double)(phases * c->batch) / WICK_GEMM_MAX_TASKS;
        const int64_t least = by_panels ? CONV_MIN_PIXELS : WICK_MIN(CONV_MIN_PIXELS, ceil_div(counts[c->cut] * row, 2));
        cut_rows(c, counts[c->cut], (int64_t)WICK_MAX(WICK_MAX(by_work, WICK_MIN(by_cache, by_tasks)), (double)ceil_div(least, row)));
        if (c->winograd) { /* slabs of whole tiles, so that tiles are the same however the image is cut */
            c->rows += c->rows % 2;
            c->slabs = ceil_div(counts[c->cut], c->rows);
        }
        c->units = phases * c->slabs * c->batch;
        shared = by_panels || c->winograd;
        c->per_task = (int64_t)WICK_MAX(1.0, of_task / WICK_MAX(per_row * (double)c->rows, 1.0));
        c->tasks[0] = c->depthwise ? phases : c->groups * phases_of(c) * panels_of(c) + c->whole;
        c->at_finite = (size_t)(taps * source_channels(c) * (c->depthwise ? 1 : panels_width(c)) * elem);
        c->shared = c->at_more = WICK_ALIGN_UP(c->at_finite + (size_t)c->tasks[0], WICK_ALIGN);
        if (c->winograd) c->shared += wick_winograd_packed(c);
        if (c->whole) c->shared += (size_t)(box_of(c, phases_of(c), 0).taps * c->co * whole_width(c) * elem);
    }
    if (c->depthwise)
        wick_depthwise_prepare(c);
    else
        lay_out_scratch(c);
    if (!c->depthwise && shared) share_units(c, work * (double)c->groups * (double)c->batch);
    cut_tasks(c);
}

bool wick_conv_takes_planes(const wick_convolution *c, int which) {
    wick_convolution of = *c;
    of.code = &conv_tiers[wick_tier_current()]->type[c->type == WICK_CF64];
    if (of.code->direct) return false;
    return !depthwise_refused(&of) || (which == 0 && !wick_few_refused(&of));
}

int wick_conv_rejected(const wick_convolution *c, wick_rejected *out) {
    int n = 0;
    if (c->code->direct || !c->units || !c->chunks) return 0; /* the reference, or nothing to compute */
    if (c->depthwise) return wick_depthwise_rejected(c, out);
    out[n++] = (wick_rejected){"channel by channel (depthwise)", depthwise_refused(c)};
    if (one_row_refused(c)) out[n++] = (wick_rejected){"a product of all pixels (1 x 1)", one_row_refused(c)};
    if (!c->winograd) out[n++] = (wick_rejected){"Winograd's, of 3 x 3", wick_winograd_refused(c)};
    if (!c->few) out[n++] = (wick_rejected){"outputs side by side, from planes", wick_few_refused(c) ? wick_few_refused(c) : "the image has channels last"};
    if (!c->whole && phases_of(c) > 1) out[n++] = (wick_rejected){"all phases of the stride at once", whole_refused(c)};
    return n;
}

bool wick_conv_makes_pixels(const wick_convolution *c) {
    return c->what == WICK_CONV_FORWARD && !c->code->direct && c->units > 0 && c->tasks[1] > 0 && !c->planes[1] && !(c->depthwise && c->blocks > 1);
}

void wick_conv_make_pixels(wick_convolution *c) {
    c->units /= c->splits;
    c->splits = 1;
    if (c->depthwise && !c->runs) {
        c->runs = true;
        wick_depthwise_prepare(c);
    }
    cut_tasks(c);
}

void wick_conv_unit_pixels(const wick_convolution *c, int64_t unit, int64_t *first, int64_t *count) {
    const int64_t image = c->depthwise ? unit / c->slabs : unit % c->batch, slab = c->depthwise ? unit % c->slabs : unit / c->batch;
    int64_t row = 1;
    for (int64_t d = c->cut + 1; d < 3; d++) row *= c->out[d];
    *first = image * product(c->out) + slab * c->rows * row;
    *count = WICK_MAX(0, WICK_MIN(c->rows, c->out[c->cut] - slab * c->rows)) * row;
}

const char *wick_conv_name(const wick_convolution *c) { return c->code->names[c->what + (c->winograd ? 3 : 0)]; }

/* ---- weights, packed in the order they are read ------------------------------------------------------------------------------- */

/* Taps of all phases before this one. */
static int64_t taps_before(const wick_convolution *c, int64_t phase) {
    int64_t n = 0;
    for (int64_t f = 0; f < phase; f++) n += box_of(c, f, 0).taps;
    return n;
}

/* Where panel 0 of a group and phase starts, in elements: [group][phase][panel][tap][source channel][output channel]. Depthwise:
 * [phase][tap][channel]. */
static int64_t panels_at(const wick_convolution *c, int64_t group, int64_t phase) {
    if (c->depthwise) return taps_before(c, phase) * c->groups;
    return (group * product(c->kernel) + taps_before(c, phase)) * (source_channels(c) / c->groups) * panels_width(c);
}

/* Elements of weights that are transposed at once, on the stack. */
enum { PACK_TURN = 4096 };

/* Returns whether all are finite. Panels are transposed some source channels at a time, with all their taps; element by element what that does not suit. */
#define CONV_PACK(name, T)                                                                                                                   \
    static bool name(const wick_convolution *c, const conv_box *b, int64_t group, int64_t panel, const T *w, T *to) {                        \
        typedef T vec __attribute__((vector_size(16)));                                                                                      \
        typedef T vecu __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));                                                      \
        enum { L = 16 / sizeof(T) };                                                                                                         \
        const bool data = c->what == WICK_CONV_DATA;                                                                                         \
        const wick_conv_axis *x = b->axis;                                                                                                   \
        const int64_t taps = product(c->kernel), source = data ? c->co : c->ci, width = c->depthwise ? c->groups : panel_width(c, panel);    \
        const int64_t first = c->depthwise ? 0 : panel * c->gemm->nr, outputs = (c->depthwise ? c->groups : data ? c->ci : c->co) - first;   \
        const int64_t of_out = data && !c->depthwise ? taps : c->ci * taps, of_source = data ? c->ci * taps : taps;                          \
        const int64_t at_once = c->depthwise ? 0 : data ? taps * width <= PACK_TURN : PACK_TURN / (taps * width);                            \
        w += group * c->co * c->ci * taps + first * of_out;                                                                                  \
        vec zeros = {0}; /* NaN once there was NaN or Inf */                                                                                 \
        T zero = 0, turned[PACK_TURN];                                                                                                       \
        if (at_once && outputs < width) memset(turned, 0, sizeof turned);                                                                    \
        for (int64_t s = 0, n; at_once && s < source; s += n) {                                                                              \
            n = WICK_MIN(at_once, source - s);                                                                                               \
            wick_convert_kernels(wick_tier_current())->transpose((int)sizeof(T), w + s * of_source, of_out, turned, width, n * taps, WICK_MIN(outputs, width), false); \
            T *out = to + s * width;                                                                                                         \
            for (int64_t z = 0; z < x[0].taps; z++)                                                                                          \
                for (int64_t y = 0; y < x[1].taps; y++)                                                                                      \
                    for (int64_t k = 0; k < x[2].taps; k++, out += source * width) {                                                         \
                        const int64_t at[3] = {x[0].tap0 + z * x[0].tap_step, x[1].tap0 + y * x[1].tap_step, x[2].tap0 + k * x[2].tap_step}; \
                        const T *from = turned + ((at[0] * c->kernel[1] + at[1]) * c->kernel[2] + at[2]) * width;                            \
                        for (int64_t i = 0; i < n; i++)                                                                                      \
                            for (int64_t o = 0; o < width; o += L) {                                                                         \
                                const vec v = *(const vecu *)(from + i * taps * width + o);                                                  \
                                *(vecu *)(out + i * width + o) = v;                                                                          \
                                zeros += v * (vec){0};                                                                                       \
                            }                                                                                                                \
                    }                                                                                                                        \
        }                                                                                                                                    \
        for (int64_t z = 0; !at_once && z < x[0].taps; z++)                                                                                  \
            for (int64_t y = 0; y < x[1].taps; y++)                                                                                          \
                for (int64_t k = 0; k < x[2].taps; k++) {                                                                                    \
                    const int64_t at[3] = {x[0].tap0 + z * x[0].tap_step, x[1].tap0 + y * x[1].tap_step, x[2].tap0 + k * x[2].tap_step};     \
                    const T *from = w + (at[0] * c->kernel[1] + at[1]) * c->kernel[2] + at[2];                                               \
                    for (int64_t s = 0; s < source; s++, from += of_source, to += width)                                                     \
                        for (int64_t o = 0; o < width; o++) {                                                                                \
                            to[o] = o < outputs ? from[o * of_out] : 0;                                                                      \
                            zero += to[o] * 0;                                                                                               \
                        }                                                                                                                    \
                }                                                                                                                            \
        for (int i = 0; i < L; i++) zero += zeros[i];                                                                                        \
        return zero == 0;                                                                                                                    \
    }
CONV_PACK(pack_f32, float)
CONV_PACK(pack_f64, double)

/* The same of all phases at once: [tap][source channel][phase, channel], where a phase is called by the place of its first output. */
#define CONV_PACK_WHOLE(name, T)                                                                                                             \
    static bool name(const wick_convolution *c, const conv_box *b, const T *w, T *to) {                                                      \
        const int64_t width = whole_width(c), taps = product(c->kernel), *kernel = c->kernel, *s = c->stride;                                \
        T zero = 0;                                                                                                                          \
        memset(to, 0, (size_t)(b->taps * c->co * width) * sizeof(T));                                                                        \
        for (int64_t k = 0; k < taps; k++) {                                                                                                 \
            const int64_t at[3] = {k / kernel[2] / kernel[1], k / kernel[2] % kernel[1], k % kernel[2]};                                     \
            int64_t tap = 0, phase = 0;                                                                                                      \
            for (int d = 0; d < 3; d++) {                                                                                                    \
                const int64_t reach = at[d] - c->pad[d], first = ((reach % s[d]) + s[d]) % s[d]; /* output o meets input o stride + reach */ \
                tap = tap * b->axis[d].taps + (first - reach) / s[d] - b->axis[d].lo;                                                        \
                phase = phase * s[d] + first;                                                                                                \
            }                                                                                                                                \
            for (int64_t o = 0; o < c->co; o++)                                                                                              \
                for (int64_t i = 0; i < c->ci; i++) {                                                                                        \
                    const T v = w[(o * c->ci + i) * taps + k];                                                                               \
                    to[(tap * c->co + o) * width + phase * c->ci + i] = v;                                                                   \
                    zero += v * 0;                                                                                                           \
                }                                                                                                                            \
        }                                                                                                                                    \
        return zero == 0;                                                                                                                    \
    }
CONV_PACK_WHOLE(pack_whole_f32, float)
CONV_PACK_WHOLE(pack_whole_f64, double)

void wick_conv_keep_packing(wick_convolution *c) {
    const wick_convolution was = *c;
    memset(c, 0, sizeof *c);
    c->type = was.type, c->what = was.what, c->groups = was.groups, c->ci = was.ci, c->co = was.co;
    memcpy(c->kernel, was.kernel, sizeof c->kernel);
    memcpy(c->stride, was.stride, sizeof c->stride);
    memcpy(c->dilation, was.dilation, sizeof c->dilation);
    memcpy(c->pad, was.pad, sizeof c->pad);
    c->at_finite = was.at_finite, c->at_more = was.at_more;
    c->depthwise = was.depthwise, c->winograd = was.winograd, c->whole = was.whole;
    c->code = was.code, c->gemm = was.gemm;
}

static void run_pack(const wick_convolution *c, int64_t begin, int64_t end, const char *w, char *packed) {
    const int64_t phases = phases_of(c), panels = c->depthwise ? 1 : panels_of(c);
    for (int64_t t = begin; t < end; t++) {
        const bool whole = c->whole && t == phases * panels;
        const int64_t panel = t % panels, phase = whole ? phases : t / panels % phases, group = t / panels / phases;
        const conv_box b = box_of(c, phase, 0);
        if (whole) {
            ((bool *)packed)[c->at_finite + (size_t)t] = c->type == WICK_CF32 ? pack_whole_f32(c, &b, (const float *)(const void *)w, (float *)(void *)(packed + c->at_more))
                                                                             : pack_whole_f64(c, &b, (const double *)(const void *)w, (double *)(void *)(packed + c->at_more));
            continue;
        }
        const int64_t at = panels_at(c, group, phase) + panel * c->gemm->nr * b.taps * source_channels(c) / c->groups;
        const bool finite = c->type == WICK_CF32 ? pack_f32(c, &b, group, panel, (const float *)(const void *)w, (float *)(void *)packed + at)
                                                 : pack_f64(c, &b, group, panel, (const double *)(const void *)w, (double *)(void *)packed + at);
        ((bool *)packed)[c->at_finite + (size_t)t] = finite;
        if (c->winograd) wick_winograd_pack(c, t, (const float *)(const void *)packed + at, (float *)(void *)(packed + c->at_more));
    }
}

/* ---- forward and data --------------------------------------------------------------------------------------------------------- */

/* Where the outputs of row (z, y) of the box start, in pixels of the destination. */
static int64_t row_pixel(const wick_convolution *c, const conv_box *b, int64_t row) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->in : c->out, j[3] = {row / b->n[1], row % b->n[1], 0};
    int64_t at = 0;
    for (int d = 0; d < 3; d++) at = at * dims[d] + b->axis[d].dst0 + (b->first[d] + j[d]) * b->axis[d].dst_step;
    return at;
}

/* Of two dims: the pieces of taps that a row of outputs finds inside the source. Rows of padding need no products, with finite weights. */
static void clip_taps(const wick_convolution *c, const conv_state *s, int64_t row, int64_t *begin, int64_t *end) {
    const wick_conv_axis *x = &s->box.axis[1];
    const int64_t rows = (c->what == WICK_CONV_DATA ? c->out : c->in)[1], lo = s->box.lo[1] + row * x->step, pieces = s->n_taps / x->taps;
    const int64_t first = WICK_MIN(x->taps, lo < 0 ? ceil_div(-lo, x->tap_at) : 0);
    *begin = first * pieces;
    *end = WICK_MAX(first, lo < rows ? WICK_MIN(x->taps, (rows - 1 - lo) / x->tap_at + 1) : 0) * pieces;
}

/* Of a block that is of one column of taps: the outputs of a row that find it inside the source. */
static void clip_columns(const wick_convolution *c, const conv_state *s, const conv_block *k, int64_t *begin, int64_t *end) {
    const wick_conv_axis *x = &s->box.axis[2];
    const int64_t tap = k->from / s->pixel, columns = (c->what == WICK_CONV_DATA ? c->out : c->in)[2], lo = s->box.lo[2] + tap * x->tap_at;
    if (k->n != 1 || s->run < s->pixel || (k->from + k->k - 1) / s->pixel != tap) return;
    if (lo < 0) *begin = WICK_MIN(ceil_div(-lo, x->step), *end);
    *end = WICK_MAX(*begin, lo < columns ? WICK_MIN(*end, (columns - 1 - lo) / x->step + 1) : 0);
}

/* Of all images that FORWARD or DATA make. */
static int64_t result_bytes(const wick_convolution *c) {
    return c->batch * c->groups * (c->what == WICK_CONV_DATA ? c->ci * product(c->in) : c->co * product(c->out)) * c->code->elem;
}

/* Outputs of the box in one panel of columns, width of them. t: columns, and where they go: pixels that are c_row apart, to where they are in the image from dst on; `whole`: side by side; and
 * what to ask for meanwhile, ahead_step bytes in all, or else the weights that follow. */
static void correlate_panel(const wick_convolution *c, const conv_state *s, wick_gemm_tile t, int64_t width, bool whole, bool finite, bool relu, const char *src, const char *packed, char *dst) {
    const wick_gemm_kernel *q = c->gemm;
    const conv_box *b = &s->box;
    const bool clip = finite && b->n[0] == 1 && b->axis[0].taps == 1 && b->taps && !b->inside, bias = t.bias_mode;
    const int64_t elem = q->elem, to_pixel = c->groups * (c->what == WICK_CONV_DATA ? c->ci : c->co);
    const char *next = t.ahead;
    const int64_t next_bytes = t.ahead_step;
    t.a_row = b->axis[2].step * s->pixel;
    t.a_col = t.c_col = 1;
    t.far = wick_gemm_c_is_far(result_bytes(c));
    t.b_row = width;
    wick_gemm_tile_fn *const *code = q->tiles + (width / q->lanes - 1) * q->mr;
    const int64_t most = whole ? whole_block(c) : pieces_of_block(s->run);
    conv_block k = {0};
    next_block(&k, s->n_taps, s->run, most);
    do { /* once without taps too */
        const bool last = k.first + k.n >= s->n_taps && k.from + k.k >= s->run * (k.n > 0);
        t.k = k.k;
        t.add = k.first + k.from > 0;
        t.bias_mode = last && bias;
        t.relu = last && relu;
        int64_t from_x = 0, to_x = b->n[2]; /* columns of padding need no products either, but where sums begin or end */
        if (clip && t.add && !last) clip_columns(c, s, &k, &from_x, &to_x);
        if (from_x == to_x) continue;
        const int64_t tiles = ceil_div(to_x - from_x, wick_gemm_tile_rows(q, t.a_row)), height = (to_x - from_x) / tiles, taller = (to_x - from_x) % tiles;
        const int64_t block = (k.n > 1 ? k.n * s->run : k.k) * width * elem, part = (next ? next_bytes * k.n / WICK_MAX(s->n_taps, 1) : block) / (s->n_rows * tiles); /* with each tile */
        t.ahead = next ? next : packed + (k.first * s->run + k.from) * width * elem + block;
        t.ahead_step = ceil_div(part, WICK_MAX(t.k * k.n, 1));
        if (next) next += part * s->n_rows * tiles;
        for (int64_t row = 0; row < s->n_rows; row++) {
            const char *from = src + (s->rows[row] + k.from + from_x * t.a_row) * elem;
            char *to = dst + ((whole ? row * b->n[2] * t.c_row : row_pixel(c, b, row) * to_pixel) + from_x * t.c_row) * elem;
            int64_t begin = 0, end = s->n_taps;
            if (clip) clip_taps(c, s, row, &begin, &end);
            begin = WICK_MAX(begin, k.first);
            t.pieces = WICK_MAX(WICK_MIN(end, k.first + k.n) - begin, 0);
            t.piece_at = s->taps + begin;
            t.b = packed + (begin * s->run + k.from) * width * elem;
            for (int64_t i = 0; i < tiles; i++) {
                const int64_t n = height + (i < taller);
                t.a = from;
                t.c = to;
                code[n - 1](&t);
                from += n * t.a_row * elem;
                to += n * t.c_row * elem;
                t.ahead = (const char *)t.ahead + part;
            }
        }
    } while (next_block(&k, s->n_taps, s->run, most));
}

/* One tap, and weights that stay in L2: tile after tile goes through all panels, so that what pixels are made of and their results are each met once, in the order they lie. */
static void correlate_pixels(const wick_convolution *c, const conv_state *s, int64_t group, int64_t first_panel, int64_t end_panel, const char *src, const char *packed, const char *bias, char *dst) {
    const wick_gemm_kernel *q = c->gemm;
    const conv_box *b = &s->box;
    const int64_t elem = q->elem, outputs = c->what == WICK_CONV_DATA ? c->ci : c->co, panels = end_panel - first_panel;
    wick_gemm_tile t = {.k = s->run, .a_row = b->axis[2].step * s->pixel, .a_col = 1, .c_row = b->axis[2].dst_step * c->groups * outputs, .c_col = 1, .bias_mode = bias ? 1 : 0, .relu = c->relu, .far = wick_gemm_c_is_far(result_bytes(c))};
    const int64_t tiles = ceil_div(b->n[2], wick_gemm_tile_rows(q, t.a_row)), height = b->n[2] / tiles, taller = b->n[2] % tiles;
    for (int64_t row = 0; row < s->n_rows; row++) {
        char *to = dst + row_pixel(c, b, row) * c->groups * outputs * elem;
        t.a = src + (s->rows[row] + s->taps[0]) * elem;
        for (int64_t i = 0, n; i < tiles; i++) {
            n = height + (i < taller);
            const int64_t bytes = n * t.a_row * elem; /* to what the next tile reads: a part of it is asked for with each panel */
            const char *next = i + 1 < tiles ? (const char *)t.a + bytes : row + 1 < s->n_rows ? src + (s->rows[row + 1] + s->taps[0]) * elem : NULL;
            t.ahead_step = next ? ceil_div(bytes, panels * t.k) : 0;
            t.b = packed;
            for (int64_t panel = first_panel; panel < end_panel; panel++) {
                const int64_t first = group * outputs + panel * q->nr, width = panel_width(c, panel);
                t.cols = WICK_MIN(q->nr, outputs - panel * q->nr);
                t.b_row = width;
                t.c = to + first * elem;
                t.bias = bias ? bias + first * elem : NULL;
                t.ahead = next ? next + (panel - first_panel) * bytes / panels : NULL;
                q->tiles[(width / q->lanes - 1) * q->mr + n - 1](&t);
                t.b = (const char *)t.b + t.k * q->nr * elem;
            }
            t.a = (const char *)t.a + bytes;
            to += n * t.c_row * elem;
        }
    }
}

/* One group of the box, from src to the destination's image: panels [first_panel, end_panel) of its output channels. */
static void correlate(const wick_convolution *c, const conv_state *s, int64_t group, int64_t first_panel, int64_t end_panel, const char *src, const char *packed, const char *bias, char *dst) {
    const wick_gemm_kernel *q = c->gemm;
    const int64_t elem = q->elem, outputs = c->what == WICK_CONV_DATA ? c->ci : c->co;
    const bool *finite = (const bool *)packed + c->at_finite + panels_of(c) * (group * phases_of(c) + s->phase);
    packed += (panels_at(c, group, s->phase) + first_panel * s->n_taps * s->run * q->nr) * elem;
    src += group * (s->pixel / c->groups) * elem;
    if (s->n_taps == 1 && s->run <= WICK_GEMM_KC && end_panel - first_panel > 1 && (end_panel - first_panel) * s->run * q->nr * elem <= CONV_NEAR) {
        correlate_pixels(c, s, group, first_panel, end_panel, src, packed, bias, dst);
        return;
    }
    for (int64_t panel = first_panel; panel < end_panel; panel++) {
        const int64_t first = group * outputs + panel * q->nr;
        const int64_t asked = s->next_bytes / (end_panel - first_panel);
        const wick_gemm_tile t = {.c_row = s->box.axis[2].dst_step * c->groups * outputs, .cols = WICK_MIN(q->nr, outputs - panel * q->nr), .bias_mode = bias ? 1 : 0, .bias = bias ? bias + first * elem : NULL,
                                  .ahead = s->next ? s->next + (panel - first_panel) * asked : NULL, .ahead_step = asked};
        correlate_panel(c, s, t, panel_width(c, panel), false, finite[panel], c->relu, src, packed, dst + first * elem);
        packed += s->n_taps * s->run * q->nr * elem;
    }
}

/* Are all numbers that the box reads? Of an image, or of the copy of it. */
#define CONV_FINITE(name, T)                                                                                                           \
    static bool name(const conv_state *s, const T *src) {                                                                              \
        typedef T vec __attribute__((vector_size(16)));                                                                                \
        typedef T vecu __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));                                                \
        enum { L = 16 / sizeof(T) };                                                                                                   \
        const int64_t n = s->box.extent[2] * s->pixel;                                                                                 \
        vec zeros[4] = {{0}};                                                                                                          \
        T zero = 0;                                                                                                                    \
        for (int64_t z = 0; z < s->box.extent[0]; z++)                                                                                 \
            for (int64_t y = 0; y < s->box.extent[1]; y++) {                                                                           \
                const T *p = src + z * s->plane + y * s->line;                                                                         \
                int64_t i = 0;                                                                                                         \
                for (; i + 4 * L <= n; i += 4 * L)                                                                                     \
                    for (int k = 0; k < 4; k++) zeros[k] += *(const vecu *)(p + i + k * L) * (vec){0};                                 \
                for (; i < n; i++) zero += p[i] * 0;                                                                                   \
            }                                                                                                                          \
        zeros[0] += zeros[1] + zeros[2] + zeros[3];                                                                                    \
        for (int i = 0; i < L; i++) zero += zeros[0][i];                                                                               \
        return zero == 0;                                                                                                              \
    }
CONV_FINITE(finite_f32, float)
CONV_FINITE(finite_f64, double)

/* All phases of a slab at once, into the scratch, and from there to their places; false: not all of src is finite. */
static bool correlate_whole(const wick_convolution *c, const conv_state *s, const char *src, const char *packed, char *dst) {
    if (!(c->type == WICK_CF32 ? finite_f32(s, (const float *)(const void *)src) : finite_f64(s, (const double *)(const void *)src))) return false;
    const conv_box *b = &s->box;
    const int64_t width = whole_width(c), elem = c->code->elem, columns = product(c->stride) * c->ci, run = c->stride[2] * c->ci, *to = c->in;
    correlate_panel(c, s, (wick_gemm_tile){.c_row = width, .cols = columns, .ahead = s->next, .ahead_step = s->next_bytes}, width, true, ((const bool *)packed)[c->at_finite + (size_t)c->tasks[0] - 1], false, src, packed + c->at_more, s->panel);
    for (int64_t row = 0; row < s->n_rows; row++)
        for (int64_t q = 0; q < c->stride[0] * c->stride[1]; q++) {
            const int64_t z = (b->first[0] + row / b->n[1]) * c->stride[0] + q / c->stride[1], y = (b->first[1] + row % b->n[1]) * c->stride[1] + q % c->stride[1];
            if (z >= to[0] || y >= to[1]) continue;
            const int64_t first = b->first[2] * run, left = to[2] * c->ci - first;
            char *line = dst + ((z * to[1] + y) * to[2] * c->ci + first) * elem;
            const char *from = s->panel + (row * b->n[2] * width + q * run) * elem;
            for (int64_t j = 0; j < b->n[2]; j++, from += width * elem, line += run * elem) memcpy(line, from, (size_t)(WICK_MIN(run, left - j * run) * elem));
        }
    return true;
}

/* By Winograd's algorithm, from an image; false: it can't. */
static bool correlate_tiles(const wick_convolution *c, const conv_state *s, const char *image, const char *packed, const char *bias, char *dst) {
    const conv_box *b = &s->box;
    const bool data = c->what == WICK_CONV_DATA;
    const int64_t to_pixel = data ? c->ci : c->co, to_line = (data ? c->in : c->out)[2] * to_pixel;
    return wick_winograd_run(c, b->n[1], b->n[2], (const float *)(const void *)image, data ? c->out : c->in, b->lo, (const float *)(const void *)(packed + c->at_more),
                             (const float *)(const void *)bias, (float *)(void *)dst + row_pixel(c, b, 0) * to_pixel, to_line, s->copy);
}

/* Of boxes that are copied: the lines of the next image, or NULL, that its box reads, where weights stay near. */
static void state_ask(const wick_convolution *c, conv_state *s, const char *image) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->out : c->in, elem = c->code->elem, d = c->cut;
    int64_t line = s->pixel * elem;
    for (int64_t i = d + 1; i < 3; i++) line *= dims[i];
    const int64_t first = WICK_MAX(s->box.lo[d], 0);
    s->next = !image || s->box.inside || (int64_t)c->at_finite > CONV_NEAR ? NULL : image + first * line;
    s->next_bytes = WICK_MAX(WICK_MIN(s->box.extent[d], dims[d] - first), 0) * line;
}

static void run_correlation(const wick_convolution *c, int64_t begin, int64_t end, const char *src, const char *packed, const char *bias, char *dst, char *scratch) {
    const bool data = c->what == WICK_CONV_DATA;
    const int64_t elem = c->code->elem, from_image = source_channels(c) * product(data ? c->out : c->in) * elem;
    const int64_t to_image = c->groups * (data ? c->ci * product(c->in) : c->co * product(c->out)) * elem;
    conv_state s = state_in(c, scratch);
    bool all_finite = c->winograd;
    for (int64_t t = 0; t < c->tasks[0] && all_finite; t++) all_finite &= ((const bool *)packed)[c->at_finite + (size_t)t];
    const int64_t panels = panels_of(c), last = WICK_MIN(c->units, end * c->per_task);
    for (int64_t u = begin * c->per_task, parts; u < last; u += parts) { /* all parts of a box that are this task's, at once */
        const int64_t box = u / c->splits, part = u % c->splits, n = box % c->batch;
        const char *const next = n + 1 < c->batch ? src + (n + 1) * from_image : NULL;
        parts = WICK_MIN(c->splits - part, last - u);
        if (c->whole) {
            state_move(c, &s, phases_of(c), box / c->batch);
            state_ask(c, &s, next);
            if (correlate_whole(c, &s, state_source(c, &s, src + n * from_image), packed, dst + n * to_image)) continue;
            for (int64_t phase = 0; phase < phases_of(c); phase++) {
                state_move(c, &s, phase, box / c->batch);
                if (s.box.pixels) correlate(c, &s, 0, 0, panels_of(c), state_source(c, &s, src + n * from_image), packed, bias, dst + n * to_image);
            }
            continue;
        }
        state_move(c, &s, box / c->batch / c->slabs, box / c->batch % c->slabs);
        if (!s.box.pixels) continue;
        if (c->winograd && all_finite && correlate_tiles(c, &s, src + n * from_image, packed, bias, dst + n * to_image)) continue;
        if (c->few) {
            const conv_box *b = &s.box;
            wick_few_run(c, b->n[1], b->n[2], b->lo, (const float *)(const void *)(src + n * from_image), (const float *)(const void *)packed, ((const bool *)packed)[c->at_finite],
                         (const float *)(const void *)bias, (float *)(void *)(dst + n * to_image) + row_pixel(c, b, 0) * c->co, s.copy);
            continue;
        }
        const char *from = state_source(c, &s, src + n * from_image);
        state_ask(c, &s, next);
        for (int64_t g = 0; g < c->groups; g++)
            correlate(c, &s, g, part * panels / c->splits, (part + parts) * panels / c->splits, from, packed, bias, dst + n * to_image);
    }
}

/* ---- gradient of weights -------------------------------------------------------------------------------------------------------- */

/* Some tiles of one slab of one image: partial[(k, c)][o] (+)= sum over p of x[p, (k, c)] y[p, o]. y: the slab's first pixel. next: where x and y go on after it, or NULL; tiles in turn ask for
 * a part, since a slab may come from memory, and is copied, or read by tiles that go on by pixels, faster than it comes. */
static void add_products(const wick_convolution *c, const conv_state *s, int64_t begin, int64_t end, const char *x, const char *y, const char *const next[2], const int64_t next_bytes[2], bool add, char *partial) {
    const wick_gemm_kernel *q = c->gemm;
    const conv_box *b = &s->box;
    const int64_t elem = q->elem, y_pixel = c->groups * c->co, a_col = b->axis[2].step * s->pixel;
    const int64_t tiles = ceil_div(s->run, q->mr), height = s->run / tiles, taller = s->run % tiles; /* of a run of taps */
    const int64_t turns = ceil_div((end - begin) * ceil_div(c->co, q->nr) * ceil_div(s->n_rows, pieces_of_block(b->n[2])), 2);
    int64_t turn = 0;
    for (conv_block p = {0}; next_block(&p, s->n_rows, b->n[2], pieces_of_block(b->n[2])); add = true)
        for (int64_t o = 0; o < c->co; o += q->nr) {
            const int64_t cols = WICK_MIN(q->nr, c->co - o), vecs = ceil_div(cols, q->lanes);
            wick_gemm_tile t = {.k = p.k, .pieces = p.n, .piece_at = s->rows + p.first, .a_row = 1, .a_col = a_col, .b = y + ((p.first * b->n[2] + p.from) * y_pixel + o) * elem,
                                .b_row = y_pixel, .c_row = c->co, .c_col = 1, .cols = cols, .add = add, .far = wick_gemm_c_is_far(product(c->kernel) * c->ci * c->co * elem)};
            if (cols % q->lanes) { /* whole vectors of it may not be readable */
                q->pack(p.n * p.k, cols, t.b, y_pixel, 1, s->panel, q->nr);
                t.b = s->panel;
                t.b_row = q->nr;
            }
            for (int64_t tile = begin; tile < end; tile++) {
                const int64_t i = tile % tiles, row = i * height + WICK_MIN(i, taller), n = height + (i < taller);
                const int64_t part = next_bytes[turn % 2] / turns;
                t.ahead = next[turn % 2] ? next[turn % 2] + turn / 2 * part : NULL;
                t.ahead_step = ceil_div(part, WICK_MAX(p.k * p.n, 1));
                turn++;
                t.a = x + (s->taps[tile / tiles] + row + p.from * a_col) * elem;
                t.c = partial + ((tile / tiles * s->run + row) * c->co + o) * elem;
                q->tiles[(vecs - 1) * q->mr + n - 1](&t);
            }
        }
}

static void run_weight(const wick_convolution *c, int64_t begin, int64_t end, const char *x, const char *y, char *partials, char *scratch) {
    const int64_t elem = c->code->elem, taps = product(c->kernel), part = taps * c->ci * c->co * elem;
    const int64_t x_image = c->groups * c->ci * product(c->in) * elem, y_pixel = c->groups * c->co * elem, images = ceil_div(c->batch, c->chunks);
    const int64_t of_slab[2] = {x_image / c->slabs, product(c->out) * y_pixel / c->slabs};
    conv_state s = state_in(c, scratch);
    for (int64_t u = begin * c->per_task; u < WICK_MIN(c->units, end * c->per_task); u++) {
        const int64_t split = u % c->splits, g = u / c->splits % c->groups, chunk = u / c->splits / c->groups;
        char *partial = partials + (chunk * c->groups + g) * part;
        for (int64_t n = chunk * images; n < WICK_MIN(c->batch, (chunk + 1) * images); n++)
            for (int64_t slab = 0; slab < c->slabs; slab++) {
                state_move(c, &s, 0, slab);
                const char *from = state_source(c, &s, x + n * x_image), *to = y + (n * product(c->out) + row_pixel(c, &s.box, 0)) * y_pixel;
                const int64_t tiles = s.n_taps * ceil_div(s.run, c->gemm->mr);
                const bool more = n + 1 < c->batch || slab + 1 < c->slabs;
                const char *const next[2] = {more ? x + n * x_image + (slab + 1) * of_slab[0] : NULL, more ? y + n * product(c->out) * y_pixel + (slab + 1) * of_slab[1] : NULL};
                add_products(c, &s, split * tiles / c->splits, (split + 1) * tiles / c->splits, from + g * c->ci * elem, to + g * c->co * elem, next, of_slab, n > chunk * images || slab > 0, partial);
            }
    }
}

/* Input channels [begin, end) of all groups of the weights, from [chunk][group][tap][ci][co]: sums for some of them, all taps and some outputs, transposed: whole lines of 16 channels or more. */
#define CONV_SUM(name, T)                                                                                                             \
    static void name(const wick_convolution *c, int64_t begin, int64_t end, const T *partials, T *dst) {                              \
        typedef T vec __attribute__((vector_size(16)));                                                                               \
        typedef T vecu __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));                                               \
        enum { SIDE = 16, WIDE = 128, LINE = 16, L = 16 / sizeof(T) };                                                                            \
        const int64_t taps = product(c->kernel), m = c->ci * taps, co = c->depthwise ? c->groups : c->co, all = c->groups * c->ci * taps * c->co; \
        const int64_t side = WICK_MAX(1, WICK_MIN(c->chunks > 1 || c->ci == 1 ? WIDE : SIDE, PACK_TURN / taps)), fit = WICK_MAX(1, PACK_TURN / (taps * side)), at_once = fit > LINE ? fit / LINE * LINE : fit; \
        T turned[PACK_TURN];                                                                                                          \
        for (int64_t channel = begin, count; channel < end; channel += count) {                                                       \
            const int64_t group = channel / c->ci, first = channel % c->ci;                                                           \
            count = WICK_MIN(WICK_MIN(end - channel, c->ci - first), at_once);                                                        \
            for (int64_t row = 0, n; row < co; row += n) {                                                                            \
                n = WICK_MIN(co - row, side);                                                                                         \
                T *to = dst + (group * co + row) * m + first * taps;                                                                  \
                for (int64_t t = 0; t < taps; t++)                                                                                    \
                    for (int64_t i = 0; i < count; i++) {                                                                             \
                        const T *p = partials + (group * m + t * c->ci + first + i) * co + row;                                       \
                        T *restrict sum = taps > PACK_TURN ? to + t : turned + (i * taps + t) * n;                                    \
                        int64_t k = 0;                                                                                                \
                        for (; k + 4 * L <= n; k += 4 * L) {                                                                          \
                            vec v[4] = {{0}};                                                                                         \
                            const T *from = p + k;                                                                                    \
                            for (int64_t chunk = 0; chunk < c->chunks; chunk++, from += all)                                          \
                                for (int x = 0; x < 4; x++) v[x] += *(const vecu *)(from + x * L);                                    \
                            for (int x = 0; x < 4; x++) *(vecu *)(sum + k + x * L) = v[x];                                            \
                            __builtin_prefetch(p + k + side);                                                                \
                        }                                                                                                             \
                        for (; k < n; k++) {                                                                                          \
                            T v = 0;                                                                                                  \
                            for (int64_t chunk = 0; chunk < c->chunks; chunk++) v += p[chunk * all + k];                              \
                            sum[k] = v;                                                                                               \
                        }                                                                                                             \
                    }                                                                                                                 \
                if (taps <= PACK_TURN) wick_convert_kernels(wick_tier_current())->transpose((int)sizeof(T), turned, n, to, m, n, count * taps, false); \
            }                                                                                                                         \
        }                                                                                                                             \
    }
CONV_SUM(sum_f32, float)
CONV_SUM(sum_f64, double)

/* ---- */

void wick_conv_run(const wick_convolution *c, int stage, int64_t begin, int64_t end, const void *a, const void *b, const void *bias, void *dst, void *shared,
                   void *scratch) {
    if (c->code->direct) {
        c->code->direct(c, begin, end, a, b, bias, dst);
    } else if (stage == 0) {
        run_pack(c, begin, end, b, shared);
    } else if (stage == 1 && c->depthwise) {
        const bool weight = c->what == WICK_CONV_WEIGHT;
        wick_depthwise_run(c, begin, end, a, weight ? b : shared, bias, weight ? shared : dst, scratch);
    } else if (stage == 1 && c->what == WICK_CONV_WEIGHT) {
        run_weight(c, begin, end, a, b, shared, scratch);
    } else if (stage == 1) {
        run_correlation(c, begin, end, a, shared, bias, dst, scratch);
    } else {
        const int64_t channels = c->depthwise ? 1 : c->groups * c->ci, per_task = ceil_div(channels, c->tasks[2]);
        begin *= per_task;
        end = WICK_MIN(channels, end * per_task);
        if (c->type == WICK_CF32)
            sum_f32(c, begin, end, shared, dst);
        else
            sum_f64(c, begin, end, shared, dst);
    }
}
