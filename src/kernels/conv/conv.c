/* conv.c: control flow of convolutions: how one is cut into tasks; conv_parts.h names the other files. Channels are the
 * last dim in memory, so that a row of the kernel meets taps * channels neighbours of the source. All three kinds are
 * matrix products that read their operands where they lie, piece by piece:
 *
 *   FORWARD   y[p, o] = x[p, (k, c)] w[(k, c), o]      rows: pixels of a row of outputs; pieces: rows of the kernel
 *   DATA      x[i, c] = y[i, (k, o)] w'[(k, o), c]     the same, over y, for each phase of the stride
 *   WEIGHT    w[(k, c), o] = sum over images of x'[(k, c), p] y[p, o]   pieces of p: rows of the output
 *
 * Only where padding is in reach is the source copied first, a box of some rows with the zeros around it. One channel
 * to one channel is in depthwise.c.
 *
 * With stride s, inputs i of one phase r = (i + pad) mod s meet only the taps with k * dilation mod s = r: each phase
 * is a convolution of stride 1 over y. FORWARD and WEIGHT have one phase. Where inputs have few channels, all phases
 * are one convolution ("whole"), so that a vector's lanes are (phase, channel): its taps are those of any phase, with
 * weights of 0 for the others; y must be finite then. */
#include "kernels/conv/conv_parts.h"

/* Bytes of the source that a slab reads, where the batch makes tasks enough: slabs share rows; and the most partial
 * sums of weights, in bytes. */
enum { CONV_WEIGHTS = 2, CONV_MIN_PIXELS = 32, CONV_SLAB = 256 << 10, CONV_CHUNKS = 16, CONV_PARTIALS = 16 << 20 };

static const wick_conv_kernels *const conv_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_conv_kernels)};

/* Cuts dim c->cut into slabs of at most so many rows, equally. */
static void cut_rows(wick_convolution *c, int64_t count, int64_t most) {
    c->slabs = WICK_MAX(1, wick_ceil_div(count, WICK_MAX(most, 1)));
    c->rows = WICK_MAX(1, wick_ceil_div(count, c->slabs));
    c->slabs = WICK_MAX(1, wick_ceil_div(count, c->rows));
}

static void lay_out_scratch(wick_convolution *c) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->out : c->in;
    int64_t copy = 0, rows = 0, pixels = 0;
    for (int64_t f = 0; f < conv_phases_of(c) + c->whole; f++) { /* no slab is larger than the first */
        const conv_box b = wick_conv_box_of(c, f, 0);
        bool inside = true; /* all slabs are */
        for (int d = 0; d < 3; d++) {
            const wick_conv_axis *x = &b.axis[d];
            const int64_t end = x->lo + (x->count - 1) * x->step + (x->taps - 1) * x->tap_at + 1;
            inside &= x->lo >= 0 && end <= dims[d];
        }
        if (!inside && b.pixels && b.taps) copy = WICK_MAX(copy, conv_product(b.extent));
        rows = WICK_MAX(rows, b.n[0] * b.n[1]);
        pixels = b.pixels;
    }
    c->at_taps = WICK_ALIGN_UP((size_t)(copy * conv_source_channels(c) * c->code->elem), WICK_ALIGN);
    if (c->winograd) c->at_taps = WICK_MAX(c->at_taps, wick_winograd_scratch(c)); /* the copy is for what it can't do */
    if (c->few)
        c->at_taps =
            /* there is no copy */
            WICK_ALIGN_UP(wick_few_channels_scratch(c, wick_conv_box_of(c, 0, 0).n[2]), WICK_ALIGN);
    c->at_rows = c->at_taps + (size_t)conv_product(c->kernel) * sizeof(int64_t);
    c->at_panel = WICK_ALIGN_UP(c->at_rows + (size_t)rows * sizeof(int64_t), WICK_ALIGN);
    c->scratch = c->at_panel;
    if (c->whole) c->scratch += (size_t)(pixels * wick_conv_whole_width(c) * c->code->elem);
    if (c->what == WICK_CONV_WEIGHT && c->co % c->gemm->lanes)
        c->scratch += (size_t)(WICK_GEMM_KC * c->gemm->nr * c->code->elem);
}

static const char *depthwise_refused(const wick_convolution *c) {
    return c->ci == 1 && c->co == 1 ? NULL : "groups have more than one channel";
}

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
    c->in[2] = c->out[2] = conv_product(c->in);
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

/* Multiply-adds of a task, where all are `work`: none is cut that would be shorter than handing its parts to threads is
 * worth. */
static double task_work(double work, double elements, bool by_panels) {
    if (!by_panels) return WICK_MIN(WICK_CONV_TASK_WORK, work / (double)wick_conv_parts(work, elements));
    if (work < 2 * WICK_CONV_LEAST_WORK) return WICK_CONV_TASK_WORK;
    return WICK_MIN(WICK_CONV_TASK_WORK, WICK_MAX(WICK_CONV_LEAST_WORK, work / WICK_CONV_TASKS));
}

static void plan_weight(wick_convolution *c, int64_t row, double work) {
    const int64_t taps = conv_product(c->kernel), m = c->ci * taps, elem = c->code->elem,
                  groups = c->depthwise ? 1 : c->groups;
    cut_rows(c, c->out[c->cut], WICK_GEMM_KC / row);
    /* Parts of the batch first: they share nothing but the sum at the end. */
    const double want = 1 + work * (double)c->groups * (double)c->batch / WICK_CONV_TASK_WORK;
    const double most = WICK_MAX(1.0, (double)CONV_PARTIALS / ((double)(c->groups * m) * (double)(c->co * elem)));
    c->chunks = WICK_MIN(c->batch, WICK_MIN((int64_t)WICK_MIN(want, most), CONV_CHUNKS));
    c->chunks = wick_ceil_div(c->batch, wick_ceil_div(c->batch, c->chunks));
    c->splits = c->depthwise ? 1
                             : WICK_MIN((int64_t)WICK_MIN(want / (double)(c->chunks * c->groups) + 1, 64.0),
                                        wick_ceil_div(m, 8 * c->gemm->mr));
    c->units = c->chunks * groups * c->splits;
    c->per_task = (int64_t)WICK_MAX(1.0, WICK_CONV_TASK_WORK / (work * (double)wick_ceil_div(c->batch, c->chunks)));
    c->shared = (size_t)(c->chunks * c->groups * m * c->co * elem);
    c->tasks[2] = c->depthwise
                      ? 1
                      : wick_ceil_div(c->groups * c->ci, (int64_t)WICK_ALIGN_UP(1 + 50000 / (c->chunks * taps * c->co),
                                                                                c->ci < 64 ? 4 : 16));
}

/* Fewer tasks than there is work for: fewer units each, then panels of output channels for themselves. */
static void share_units(wick_convolution *c, double work) {
    const int64_t want = (int64_t)WICK_MIN(work / WICK_CONV_LEAST_PART, WICK_CONV_TASKS),
                  tasks = wick_ceil_div(c->units, c->per_task);
    if (c->units == 0 || tasks >= want) return;
    c->per_task = WICK_MAX(1, c->units / want);
    if (c->winograd || c->whole) return;
    c->splits = WICK_MIN(conv_panels_of(c), wick_ceil_div(want, wick_ceil_div(c->units, c->per_task)));
    c->units *= c->splits;
}

/* No fewer tasks than make 16 threads busy, where there are units for it. */
static void cut_tasks(wick_convolution *c) {
    c->per_task = WICK_MIN(c->per_task, WICK_MAX(1, c->units / WICK_GEMM_MAX_TASKS));
    c->tasks[1] = wick_ceil_div(c->units, c->per_task);
}

void wick_conv_prepare(wick_convolution *c, const wick_tuning *tuning) {
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
    if (c->batch == 0 || (data && conv_product(c->in) ==
                                      0)) { /* no images, or pixels, make no outputs; the gradient of weights is zero */
        c->tasks[2] = c->what == WICK_CONV_WEIGHT;
        c->chunks = 0;
        return;
    }
    turn_columns(c);
    if (!c->depthwise) make_one_row(c);
    c->winograd = wick_winograd_fits(c);
    c->few = !c->depthwise && (c->planes[0] || c->ci == 1) && !wick_few_channels_refused(c);
    c->whole = !c->depthwise && !wick_conv_whole_refused(c);
    if (c->what != WICK_CONV_WEIGHT && !c->whole)
        c->gemm = wick_gemm_tiles_of(c->type, data ? c->ci : c->co); /* few outputs: shorter vectors */
    const int64_t taps = conv_product(c->kernel), elem = c->code->elem, *dims = data ? c->in : c->out,
                  phases = c->whole ? 1 : conv_phases_of(c);
    c->cut = 2;
    for (int d = 1; d >= 0; d--)
        if (dims[d] > (data ? c->stride[d] : 1)) c->cut = d;
    int64_t counts[3], row = 1; /* outputs of the largest phase; of one row of a slab */
    for (int d = 0; d < 3; d++) counts[d] = data ? wick_ceil_div(c->in[d], c->stride[d]) : c->out[d];
    for (int64_t d = c->cut + 1; d < 3; d++) row *= counts[d];
    const double work =
        (double)c->ci * (double)c->co * (double)taps * (double)conv_product(c->out); /* of a group of an image */
    if (c->what == WICK_CONV_WEIGHT) {
        plan_weight(c, row, work);
    } else {
        const double per_row = work * (double)c->groups / (double)phases / (double)counts[c->cut];
        const double row_bytes = (double)(conv_source_channels(c) * elem) *
                                 (double)conv_product(data ? c->out : c->in) / (double)(data ? c->out : c->in)[c->cut];
        /* Panels for each thread where weights are much more than the images: all of them would be read for every part
         * of an image. */
        const double images = (double)(c->groups * c->batch),
                     elements = images * (double)(c->ci * conv_product(c->in) + c->co * conv_product(c->out));
        const bool by_panels = (double)(c->groups * c->ci * c->co * taps) > CONV_WEIGHTS * elements;
        const double of_task = task_work(work * images, elements, by_panels);
        const double by_work = 0.999 + of_task / WICK_MAX(per_row, 1.0), by_cache = CONV_SLAB / row_bytes;
        const double by_tasks = (double)counts[c->cut] * (double)(phases * c->batch) / WICK_GEMM_MAX_TASKS;
        const int64_t least =
            by_panels ? CONV_MIN_PIXELS : WICK_MIN(CONV_MIN_PIXELS, wick_ceil_div(counts[c->cut] * row, 2));
        cut_rows(c, counts[c->cut],
                 (int64_t)WICK_MAX(WICK_MAX(by_work, WICK_MIN(by_cache, by_tasks)), (double)wick_ceil_div(least, row)));
        if (c->winograd) { /* slabs of whole tiles, so that tiles are the same however the image is cut */
            c->rows += c->rows % 2;
            c->slabs = wick_ceil_div(counts[c->cut], c->rows);
        }
        c->units = phases * c->slabs * c->batch;
        shared = by_panels || c->winograd;
        c->per_task = (int64_t)WICK_MAX(1.0, of_task / WICK_MAX(per_row * (double)c->rows, 1.0));
        c->tasks[0] = c->depthwise ? phases : c->groups * conv_phases_of(c) * conv_panels_of(c) + c->whole;
        c->at_finite = (size_t)(taps * conv_source_channels(c) * (c->depthwise ? 1 : conv_panels_width(c)) * elem);
        c->shared = c->at_more = WICK_ALIGN_UP(c->at_finite + (size_t)c->tasks[0], WICK_ALIGN);
        if (c->winograd) c->shared += wick_winograd_packed(c);
        if (c->whole)
            c->shared +=
                (size_t)(wick_conv_box_of(c, conv_phases_of(c), 0).taps * c->co * wick_conv_whole_width(c) * elem);
    }
    if (c->depthwise)
        wick_depthwise_prepare(c, wick_tuning_or_default(tuning));
    else
        lay_out_scratch(c);
    if (!c->depthwise && shared) share_units(c, work * (double)c->groups * (double)c->batch);
    cut_tasks(c);
}

bool wick_conv_takes_planes(const wick_convolution *c, int which) {
    wick_convolution of = *c;
    of.code = &conv_tiers[wick_tier_current()]->type[c->type == WICK_CF64];
    if (of.code->direct) return false;
    return !depthwise_refused(&of) || (which == 0 && !wick_few_channels_refused(&of));
}

int wick_conv_rejected(const wick_convolution *c, const wick_tuning *tuning, wick_rejected *out) {
    int n = 0;
    if (c->code->direct || !c->units || !c->chunks) return 0; /* the reference, or nothing to compute */
    if (c->depthwise) return wick_depthwise_rejected(c, wick_tuning_or_default(tuning), out);
    out[n++] = (wick_rejected){"channel by channel (depthwise)", depthwise_refused(c)};
    if (one_row_refused(c)) out[n++] = (wick_rejected){"a product of all pixels (1 x 1)", one_row_refused(c)};
    if (!c->winograd) out[n++] = (wick_rejected){"Winograd's, of 3 x 3", wick_winograd_refused(c)};
    if (!c->few)
        out[n++] = (wick_rejected){"outputs side by side, from planes", wick_few_channels_refused(c)
                                                                            ? wick_few_channels_refused(c)
                                                                            : "the image has channels last"};
    if (!c->whole && conv_phases_of(c) > 1)
        out[n++] = (wick_rejected){"all phases of the stride at once", wick_conv_whole_refused(c)};
    return n;
}

bool wick_conv_makes_pixels(const wick_convolution *c) {
    return c->what == WICK_CONV_FORWARD && !c->code->direct && c->units > 0 && c->tasks[1] > 0 && !c->planes[1] &&
           !(c->depthwise && c->blocks > 1);
}

void wick_conv_make_pixels(wick_convolution *c, const wick_tuning *tuning) {
    c->units /= c->splits;
    c->splits = 1;
    if (c->depthwise && !c->runs) {
        c->runs = true;
        wick_depthwise_prepare(c, wick_tuning_or_default(tuning));
    }
    cut_tasks(c);
}

void wick_conv_unit_pixels(const wick_convolution *c, int64_t unit, int64_t *first, int64_t *count) {
    const int64_t image = c->depthwise ? unit / c->slabs : unit % c->batch,
                  slab = c->depthwise ? unit % c->slabs : unit / c->batch;
    int64_t row = 1;
    for (int64_t d = c->cut + 1; d < 3; d++) row *= c->out[d];
    *first = image * conv_product(c->out) + slab * c->rows * row;
    *count = WICK_MAX(0, WICK_MIN(c->rows, c->out[c->cut] - slab * c->rows)) * row;
}

const char *wick_conv_name(const wick_convolution *c) { return c->code->names[c->what + (c->winograd ? 3 : 0)]; }

void wick_conv_run(const wick_convolution *c, int stage, int64_t begin, int64_t end, const void *a, const void *b,
                   const void *bias, void *dst, void *shared, void *scratch) {
    if (c->code->direct) {
        c->code->direct(c, begin, end, a, b, bias, dst);
    } else if (stage == 0) {
        wick_conv_run_pack(c, begin, end, b, shared);
    } else if (stage == 1 && c->depthwise) {
        const bool weight = c->what == WICK_CONV_WEIGHT;
        wick_depthwise_run(c, begin, end, a, weight ? b : shared, bias, weight ? shared : dst, scratch);
    } else if (stage == 1 && c->what == WICK_CONV_WEIGHT) {
        wick_conv_run_weight(c, begin, end, a, b, shared, scratch);
    } else if (stage == 1) {
        wick_conv_run_correlation(c, begin, end, a, shared, bias, dst, scratch);
    } else {
        wick_conv_run_sums(c, begin, end, shared, dst);
    }
}
