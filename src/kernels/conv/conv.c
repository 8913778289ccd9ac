/* conv.c: control flow of convolutions. All three kinds are matrix products whose operands are gathered as they are needed:
 *
 *   FORWARD   y[o, p] = w[o, (c, k)] x[(c, k), p]                   a panel of neighbouring outputs p at a time
 *   DATA      x[c, i] = w'[c, (o, k)] y[(o, k), i]                  the same, over y, for each phase of the stride
 *   WEIGHT    w[(c, k), o] = sum over images of x[(c, k), p] y[p, o]
 *
 * A task first copies what it reads into a padded box (rows split by the phase of the stride), after which output p reads tap k of
 * channel c at  offset[c, k] + base[p]: no bounds to check, whole vectors of neighbours. One channel to one channel (depthwise) skips
 * the products and adds up the taps directly.
 *
 * With stride s, inputs i of one phase r = (i + pad) mod s meet only the taps with k * dilation mod s = r: each phase is a
 * convolution of stride 1 over y. FORWARD and WEIGHT have one phase. */
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tuning.h"

/* Multiply-adds of a task, about; and the most partial sums of weights, in bytes. */
enum { CONV_TASK_WORK = 4 * WICK_GEMM_TASK_WORK, CONV_MIN_PIXELS = 64, CONV_CHUNKS = 16, CONV_PARTIALS = 16 << 20 };

static const wick_conv_kernels *const conv_tiers[WICK_TIER_COUNT] = {
    [WICK_TIER_REF] = &wick_conv_kernels_ref,
    [WICK_TIER_BASE] = &wick_conv_kernels_base,
#if defined(__x86_64__)
    [WICK_TIER_AVX2] = &wick_conv_kernels_avx2,
    [WICK_TIER_AVX512] = &wick_conv_kernels_avx512,
#endif
};

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t product(const int64_t *x) { return x[0] * x[1] * x[2]; }

/* ---- geometry --------------------------------------------------------------------------------------------------------------- */

/* One dim: output j reads tap number t at source coordinate lo + j * step + off0 + t * off_step, and lies at dst0 + j * dst_step. */
typedef struct conv_axis {
    int64_t lo, step, count;
    int64_t taps, tap0, tap_step; /* the taps' places in the kernel, ascending */
    int64_t off0, off_step;
    int64_t dst0, dst_step;
} conv_axis;

static conv_axis axis_of(const wick_convolution *c, int d, int64_t phase) {
    const int64_t s = c->stride[d], dil = c->dilation[d], pad = c->pad[d];
    if (c->what != WICK_CONV_DATA)
        return (conv_axis){.lo = -pad, .step = s, .count = c->out[d], .taps = c->kernel[d], .tap_step = 1, .off_step = dil, .dst_step = 1};
    conv_axis x = {.step = 1, .tap_step = 1, .dst0 = ((phase - pad) % s + s) % s, .dst_step = s};
    x.count = x.dst0 < c->in[d] ? ceil_div(c->in[d] - x.dst0, s) : 0;
    while (x.tap_step * dil % s) x.tap_step++;
    while (x.tap0 < c->kernel[d] && x.tap0 * dil % s != phase) x.tap0 = x.tap0 + 1 < x.tap_step ? x.tap0 + 1 : c->kernel[d];
    if (x.tap0 >= c->kernel[d]) return x; /* no tap: zeros */
    x.taps = ceil_div(c->kernel[d] - x.tap0, x.tap_step);
    const int64_t e0 = (x.tap0 * dil - phase) / s, e_step = x.tap_step * dil / s, e_most = e0 + (x.taps - 1) * e_step;
    x.lo = (x.dst0 + pad - phase) / s - e_most;
    x.off0 = (x.taps - 1) * e_step;
    x.off_step = -e_step;
    return x;
}

/* A box of outputs of one phase, and the padded box of the source that they read. */
typedef struct conv_box {
    conv_axis axis[3];
    int64_t first[3], n[3]; /* outputs */
    int64_t extent[3];      /* of the source, padded */
    int64_t line;           /* elements of a padded row: extent[2] rounded up to whole strides, phase by phase */
    int64_t plane, pixels, taps;
} conv_box;

/* Slab number `slab` of a phase; pixels is 0 when there is nothing. */
static conv_box box_of(const wick_convolution *c, int64_t phase, int64_t slab) {
    conv_box b;
    b.pixels = b.taps = 1;
    for (int d = 2; d >= 0; d--) {
        const int64_t phases = c->what == WICK_CONV_DATA ? c->stride[d] : 1;
        const conv_axis *x = &b.axis[d];
        b.axis[d] = axis_of(c, d, phase % phases);
        phase /= phases;
        b.first[d] = d == c->cut ? slab * c->rows : 0;
        b.n[d] = d == c->cut ? WICK_MIN(c->rows, x->count - b.first[d]) : x->count;
        b.n[d] = WICK_MAX(b.n[d], 0);
        b.extent[d] = (b.n[d] - 1) * x->step + (x->taps - 1) * (x->off_step < 0 ? -x->off_step : x->off_step) + 1;
        b.extent[d] = WICK_MAX(b.extent[d], 0);
        b.pixels *= b.n[d];
        b.taps *= x->taps;
    }
    b.line = ceil_div(b.extent[2], b.axis[2].step) * b.axis[2].step;
    b.plane = b.taps && b.pixels ? b.extent[0] * b.extent[1] * b.line : 0;
    return b;
}
static int64_t phases_of(const wick_convolution *c) { return c->what == WICK_CONV_DATA ? product(c->stride) : 1; }

/* The outputs of the box are neighbours in memory, from this element of a channel on; -1: they are not. */
static int64_t box_start(const wick_convolution *c, const conv_box *b) {
    if (b->axis[0].dst_step * b->axis[1].dst_step * b->axis[2].dst_step != 1) return -1;
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->in : c->out;
    return (b->first[0] * dims[1] + b->first[1]) * dims[2] + b->first[2];
}

static void box_offsets(const conv_box *b, int64_t channels, int64_t *offset) {
    const conv_axis *x = b->axis;
    const int64_t quotient = b->line / x[2].step;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t k0 = 0; k0 < x[0].taps; k0++)
            for (int64_t k1 = 0; k1 < x[1].taps; k1++)
                for (int64_t k2 = 0; k2 < x[2].taps; k2++) {
                    const int64_t z = x[0].off0 + k0 * x[0].off_step, y = x[1].off0 + k1 * x[1].off_step, w = x[2].off0 + k2 * x[2].off_step;
                    *offset++ = c * b->plane + (z * b->extent[1] + y) * b->line + w % x[2].step * quotient + w / x[2].step;
                }
}

/* Where outputs [p, p + count) read, in vectors. */
static void box_vectors(const conv_box *b, int lanes, int64_t p, int64_t count, wick_conv_vec *vecs) {
    int64_t x = p % b->n[2], y = p / b->n[2] % b->n[1], z = p / b->n[2] / b->n[1];
    for (int64_t done = 0; done < count; done += lanes, vecs++) {
        const int64_t width = WICK_MIN(lanes, count - done);
        vecs->n = 0;
        for (int64_t lane = 0; lane < width;) {
            const int64_t at = (z * b->axis[0].step * b->extent[1] + y * b->axis[1].step) * b->line + x - lane;
            if (!vecs->n || vecs->at[vecs->n - 1] != at) {
                vecs->begin[vecs->n] = (int)lane;
                vecs->at[vecs->n++] = at;
            }
            const int64_t run = WICK_MIN(b->n[2] - x, width - lane);
            lane += run;
            x += run;
            if (x < b->n[2]) continue;
            x = 0;
            if (++y == b->n[1]) y = 0, z++;
        }
    }
}

/* ---- the padded box --------------------------------------------------------------------------------------------------------- */

#define CONV_LINE(name, T)                                                                                                            \
    static void name(const T *src, int64_t lo, int64_t extent, int64_t size, int64_t step, int64_t line, T *dst) {                    \
        const int64_t from = WICK_MIN(WICK_MAX(0, -lo), extent), to = WICK_MAX(from, WICK_MIN(extent, size - lo));                    \
        if (!src || from == to) {                                                                                                     \
            memset(dst, 0, (size_t)line * sizeof(T));                                                                                 \
        } else if (step == 1) {                                                                                                       \
            memset(dst, 0, (size_t)from * sizeof(T));                                                                                 \
            memcpy(dst + from, src + lo + from, (size_t)(to - from) * sizeof(T));                                                     \
            memset(dst + to, 0, (size_t)(line - to) * sizeof(T));                                                                     \
        } else {                                                                                                                      \
            for (int64_t phase = 0; phase < step; phase++)                                                                            \
                for (int64_t x = phase; x < line; x += step) *dst++ = x >= from && x < to ? src[lo + x] : 0;                          \
        }                                                                                                                             \
    }
CONV_LINE(line_32, uint32_t)
CONV_LINE(line_64, uint64_t)

/* Channels of the source, one after the other at src, into the box. */
static void box_fill(const wick_convolution *c, const conv_box *b, int64_t channels, const char *src, char *dst) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->out : c->in, elem = c->code->elem;
    int64_t lo[3];
    for (int d = 0; d < 3; d++) lo[d] = b->axis[d].lo + b->first[d] * b->axis[d].step;
    for (int64_t ch = 0; ch < channels; ch++)
        for (int64_t z = 0; z < b->extent[0]; z++)
            for (int64_t y = 0; y < b->extent[1]; y++) {
                const bool inside = lo[0] + z >= 0 && lo[0] + z < dims[0] && lo[1] + y >= 0 && lo[1] + y < dims[1];
                const char *row = inside ? src + ((ch * dims[0] + lo[0] + z) * dims[1] + lo[1] + y) * dims[2] * elem : NULL;
                if (elem == 4)
                    line_32((const uint32_t *)(const void *)row, lo[2], b->extent[2], dims[2], b->axis[2].step, b->line, (uint32_t *)(void *)dst);
                else
                    line_64((const uint64_t *)(const void *)row, lo[2], b->extent[2], dims[2], b->axis[2].step, b->line, (uint64_t *)(void *)dst);
                dst += b->line * elem;
            }
}

#define CONV_SPREAD(name, T)                                                       \
    static void name(const T *src, int64_t n, int64_t step, T *dst) {              \
        for (int64_t i = 0; i < n; i++) dst[i * step] = src[i];                    \
    }
CONV_SPREAD(spread_32, uint32_t)
CONV_SPREAD(spread_64, uint64_t)

/* Outputs [p, p + count) of a box whose outputs are not neighbours, from a row of them to their channel. */
static void box_scatter(const wick_convolution *c, const conv_box *b, int64_t p, int64_t count, const char *src, char *channel) {
    const int64_t elem = c->code->elem;
    int64_t j[3] = {p / b->n[2] / b->n[1], p / b->n[2] % b->n[1], p % b->n[2]};
    while (count > 0) {
        const int64_t run = WICK_MIN(count, b->n[2] - j[2]);
        int64_t at = 0;
        for (int d = 0; d < 3; d++) at = at * c->in[d] + b->axis[d].dst0 + (b->first[d] + j[d]) * b->axis[d].dst_step;
        if (elem == 4)
            spread_32((const uint32_t *)(const void *)src, run, b->axis[2].dst_step, (uint32_t *)(void *)channel + at);
        else
            spread_64((const uint64_t *)(const void *)src, run, b->axis[2].dst_step, (uint64_t *)(void *)channel + at);
        src += run * elem;
        count -= run;
        j[2] = 0;
        if (++j[1] == b->n[1]) j[1] = 0, j[0]++;
    }
}

/* ---- plan --------------------------------------------------------------------------------------------------------------------- */

/* Cuts dim c->cut into slabs of at most so many rows, equally. */
static void cut_rows(wick_convolution *c, int64_t count, int64_t most) {
    c->slabs = WICK_MAX(1, ceil_div(count, WICK_MAX(most, 1)));
    c->rows = WICK_MAX(1, ceil_div(count, c->slabs));
    c->slabs = WICK_MAX(1, ceil_div(count, c->rows));
}

static void lay_out_scratch(wick_convolution *c, int64_t channels) {
    const wick_gemm_kernel *q = c->gemm;
    const size_t elem = (size_t)c->code->elem, lanes = (size_t)c->code->lanes;
    const bool weight = c->what == WICK_CONV_WEIGHT;
    int64_t plane = 0, pixels = 0;
    for (int64_t f = 0; f < phases_of(c); f++)
        for (int64_t s = 0; s < c->slabs; s++) {
            const conv_box b = box_of(c, f, s);
            plane = WICK_MAX(plane, b.plane);
            pixels = WICK_MAX(pixels, b.pixels);
        }
    size_t at = WICK_ALIGN_UP((size_t)(channels * plane + 2 * WICK_CONV_LANES) * elem, WICK_ALIGN);
    c->at_offset = at;
    at += WICK_ALIGN_UP((size_t)(channels * product(c->kernel)) * sizeof(int64_t), WICK_ALIGN);
    c->at_vecs = c->at_a = c->at_b = c->at_c = at;
    if (c->depthwise) {
        if (!weight) at += WICK_ALIGN_UP((size_t)pixels * elem, WICK_ALIGN); /* c */
    } else {
        at += WICK_ALIGN_UP((size_t)(weight ? c->kc / (int64_t)lanes + 1 : q->nr / q->lanes) * sizeof(wick_conv_vec), WICK_ALIGN);
        c->at_b = at;
        at += (size_t)(c->kc * q->nr * (weight ? ceil_div(c->co, q->nr) : 1)) * elem;
        at = WICK_ALIGN_UP(at, WICK_ALIGN);
        c->at_a = c->at_c = at;
        at += weight ? (size_t)(q->mr * (c->kc + (int64_t)lanes)) * elem : c->what == WICK_CONV_DATA ? (size_t)(c->ci * q->nr) * elem : 0;
    }
    c->scratch = WICK_ALIGN_UP(at, WICK_ALIGN);
}

void wick_conv_prepare(wick_convolution *c) {
    c->code = &conv_tiers[wick_tier_current()]->type[c->type == WICK_CF64];
    c->gemm = wick_gemm_kernel_of(c->type);
    memset(c->tasks, 0, sizeof c->tasks);
    c->shared = c->scratch = 0;
    c->cut = c->slabs = c->units = c->per_task = c->chunks = 1;
    c->depthwise = c->ci == 1 && c->co == 1;
    const int64_t taps = product(c->kernel), elem = c->code->elem;
    const int64_t outputs = c->what == WICK_CONV_DATA ? c->groups * c->ci : c->groups * c->co;
    if (c->code->direct) {
        c->tasks[1] = outputs;
        return;
    }
    if (c->batch == 0) { /* no images make no outputs; the gradient of weights is zero */
        c->tasks[2] = c->what == WICK_CONV_WEIGHT;
        c->chunks = 0;
        return;
    }
    const bool data = c->what == WICK_CONV_DATA;
    const int64_t *dims = data ? c->in : c->out, phases = phases_of(c);
    c->cut = 2;
    for (int d = 1; d >= 0; d--)
        if (dims[d] > (data ? c->stride[d] : 1)) c->cut = d;
    int64_t counts[3], row = 1; /* outputs of the largest phase; of one row of a slab */
    for (int d = 0; d < 3; d++) counts[d] = data ? ceil_div(c->in[d], c->stride[d]) : c->out[d];
    const int64_t count = counts[c->cut];
    for (int64_t d = c->cut + 1; d < 3; d++) row *= counts[d];
    const double work = (double)c->ci * (double)c->co * (double)taps * (double)product(c->out);
    if (c->what == WICK_CONV_WEIGHT) {
        const int64_t kc = WICK_GEMM_KC, m = c->ci * taps;
        cut_rows(c, count, kc / row);
        const int64_t pixels = c->rows * row;
        c->kc = (int64_t)WICK_ALIGN_UP(ceil_div(pixels, ceil_div(pixels, kc)), 16);
        /* Parts of the batch first: they share nothing but the sum at the end. */
        const double want = 1 + work * (double)c->groups * (double)c->batch / CONV_TASK_WORK;
        const double most = WICK_MAX(1.0, (double)CONV_PARTIALS / ((double)(c->groups * m) * (double)(c->co * elem)));
        c->chunks = WICK_MIN(c->batch, WICK_MIN((int64_t)WICK_MIN(want, most), CONV_CHUNKS));
        c->chunks = ceil_div(c->batch, ceil_div(c->batch, c->chunks));
        const int64_t splits = WICK_MIN((int64_t)WICK_MIN(want / (double)(c->chunks * c->groups) + 1, 64.0), ceil_div(m, 104));
        c->chans = c->depthwise ? 1 : ceil_div(c->ci, splits);
        c->units = c->chunks * c->groups * ceil_div(c->ci, c->chans);
        c->per_task = (int64_t)WICK_MAX(1.0, CONV_TASK_WORK / (work * (double)ceil_div(c->batch, c->chunks)));
        c->shared = (size_t)(c->chunks * c->groups * m * c->co * elem);
        c->tasks[2] = ceil_div(c->groups * c->co, (int64_t)WICK_ALIGN_UP(1 + 50000 / (c->chunks * m), 16));
        lay_out_scratch(c, c->chans);
    } else {
        const double per_row = work / (double)phases / (double)count;
        cut_rows(c, count, (int64_t)WICK_MAX(CONV_TASK_WORK / WICK_MAX(per_row, 1.0), (double)ceil_div(CONV_MIN_PIXELS, row)));
        const int64_t k = (data ? c->co : c->ci) * taps;
        c->kc = (int64_t)WICK_ALIGN_UP(ceil_div(k, ceil_div(k, WICK_GEMM_KC)), 8);
        c->units = phases * c->slabs * c->batch * c->groups;
        c->per_task = (int64_t)WICK_MAX(1.0, CONV_TASK_WORK / WICK_MAX(per_row * (double)c->rows, 1.0));
        if (data) {
            c->shared = (size_t)(c->groups * c->ci * c->co * taps * elem);
            c->tasks[0] = ceil_div(outputs, 1 + 100000 / (c->co * taps));
        }
        lay_out_scratch(c, data ? c->co : c->ci);
    }
    /* No fewer tasks than make 16 threads busy, where there are units for it. */
    c->per_task = WICK_MIN(c->per_task, WICK_MAX(1, c->units / WICK_GEMM_MAX_TASKS));
    c->tasks[1] = ceil_div(c->units, c->per_task);
}

const char *wick_conv_name(const wick_convolution *c) { return c->code->names[c->what]; }

/* ---- forward and data --------------------------------------------------------------------------------------------------------- */

/* What a unit works on, kept while phase and slab stay. */
typedef struct conv_state {
    int64_t phase, slab;
    conv_box box;
    char *src, *b, *a, *c; /* scratch; src past the slack before the box */
    int64_t *offset;
    wick_conv_vec *vecs;
} conv_state;

static conv_state state_in(const wick_convolution *c, char *scratch) {
    const size_t slack = WICK_CONV_LANES * (size_t)c->code->elem;
    conv_state s = {.phase = -1, .slab = -1, .src = scratch + slack, .offset = (int64_t *)(void *)(scratch + c->at_offset),
                    .vecs = (wick_conv_vec *)(void *)(scratch + c->at_vecs), .b = scratch + c->at_b, .a = scratch + c->at_a, .c = scratch + c->at_c};
    memset(scratch, 0, slack);
    return s;
}
static void state_move(const wick_convolution *c, conv_state *s, int64_t phase, int64_t slab, int64_t channels) {
    if (s->phase == phase && s->slab == slab) return;
    s->phase = phase;
    s->slab = slab;
    s->box = box_of(c, phase, slab);
    if (s->box.taps) box_offsets(&s->box, channels, s->offset);
    memset(s->src + channels * s->box.plane * c->code->elem, 0, WICK_CONV_LANES * (size_t)c->code->elem);
}

/* Taps of all phases before this one: their packed weights come first. */
static int64_t taps_before(const wick_convolution *c, int64_t phase) {
    int64_t n = 0;
    for (int64_t f = 0; f < phase; f++) n += box_of(c, f, 0).taps;
    return n;
}

static void correlate(const wick_convolution *c, const conv_state *s, const char *w, const char *bias, char *dst, int64_t channel) {
    const wick_gemm_kernel *q = c->gemm;
    const bool data = c->what == WICK_CONV_DATA;
    const conv_box *b = &s->box;
    const int64_t elem = q->elem, rows = data ? c->ci : c->co, k = (data ? c->co : c->ci) * b->taps, start = box_start(c, b);
    const int64_t tiles = ceil_div(rows, wick_gemm_tile_rows(q, k)), height = rows / tiles, taller = rows % tiles;
    for (int64_t p = 0; p < b->pixels; p += q->nr) {
        const int64_t cols = WICK_MIN(q->nr, b->pixels - p), vecs = ceil_div(cols, q->lanes);
        box_vectors(b, q->lanes, p, cols, s->vecs);
        int64_t k0 = 0;
        do { /* once for k = 0 */
            const int64_t kb = WICK_MIN(c->kc, k - k0);
            const bool last = k0 + kb >= k;
            c->code->gather(vecs, s->vecs, kb, s->offset + k0, s->src, s->b, q->nr);
            wick_gemm_tile t = {.k = kb, .a_row = k, .a_col = 1, .b = s->b, .b_row = q->nr, .c_row = start < 0 ? q->nr : channel, .c_col = 1, .cols = cols,
                                .bias_mode = last && bias ? 2 : 0, .add = k0 > 0, .relu = last && c->relu};
            for (int64_t i = 0, row = 0; i < tiles; i++) {
                const int64_t n = height + (i < taller);
                t.a = w + (row * k + k0) * elem;
                t.bias = bias ? bias + row * elem : NULL;
                t.c = start < 0 ? s->c + row * q->nr * elem : dst + (row * channel + start + p) * elem;
                q->tiles[(vecs - 1) * q->mr + n - 1](&t);
                row += n;
            }
            k0 += kb;
        } while (k0 < k);
        for (int64_t row = 0; start < 0 && row < rows; row++) box_scatter(c, b, p, cols, s->c + row * q->nr * elem, dst + row * channel * elem);
    }
}

static void correlate_plane(const wick_convolution *c, const conv_state *s, const char *w, const char *bias, char *dst) {
    const conv_box *b = &s->box;
    const int64_t elem = c->code->elem, start = box_start(c, b), area = b->n[1] * b->n[2];
    char *to = start < 0 ? s->c : dst + start * elem;
    for (int64_t z = 0; z < b->n[0]; z++)
        c->code->plane((int)b->taps, s->offset, w, s->src + z * b->axis[0].step * b->extent[1] * b->line * elem, b->axis[1].step * b->line, b->n[1], b->n[2],
                       bias, c->relu, to + z * area * elem);
    if (start < 0) box_scatter(c, b, 0, b->pixels, s->c, dst);
}

static void run_correlation(const wick_convolution *c, int64_t begin, int64_t end, const char *src, const char *w, const char *bias, char *dst, const char *packed,
                            char *scratch) {
    const bool data = c->what == WICK_CONV_DATA;
    const int64_t elem = c->code->elem, from = data ? c->co : c->ci, to = data ? c->ci : c->co;
    const int64_t from_size = product(data ? c->out : c->in), to_size = product(data ? c->in : c->out);
    conv_state s = state_in(c, scratch);
    for (int64_t u = begin * c->per_task; u < WICK_MIN(c->units, end * c->per_task); u++) {
        const int64_t g = u % c->groups, n = u / c->groups % c->batch, slab = u / c->groups / c->batch % c->slabs, phase = u / c->groups / c->batch / c->slabs;
        state_move(c, &s, phase, slab, from);
        if (!s.box.pixels) continue;
        box_fill(c, &s.box, s.box.taps ? from : 0, src + (n * c->groups + g) * from * from_size * elem, s.src);
        const char *weights = w + g * c->ci * c->co * product(c->kernel) * elem;
        if (data) weights = packed + c->ci * c->co * (g * product(c->kernel) + taps_before(c, phase)) * elem;
        const char *b = bias ? bias + g * to * elem : NULL;
        char *out = dst + (n * c->groups + g) * to * to_size * elem;
        if (c->depthwise)
            correlate_plane(c, &s, weights, b, out);
        else
            correlate(c, &s, weights, b, out, to_size);
    }
}

/* DATA reads weights as [group][phase][ci][co][tap]. */
static void pack_weights(const wick_convolution *c, int64_t begin, int64_t end, const char *w, char *packed) {
    const int64_t elem = c->code->elem, taps = product(c->kernel), rows = c->groups * c->ci, per_task = ceil_div(rows, c->tasks[0]);
    int64_t before = 0;
    for (int64_t f = 0; f < phases_of(c); f++) {
        const conv_box b = box_of(c, f, 0);
        const conv_axis *x = b.axis;
        for (int64_t row = begin * per_task; row < WICK_MIN(rows, end * per_task); row++) {
            const int64_t g = row / c->ci, i = row % c->ci;
            char *to = packed + (c->ci * c->co * (g * taps + before) + i * c->co * b.taps) * elem;
            for (int64_t o = 0; o < c->co; o++) {
                const char *from = w + ((g * c->co + o) * c->ci + i) * taps * elem;
                for (int64_t k0 = 0; k0 < x[0].taps; k0++)
                    for (int64_t k1 = 0; k1 < x[1].taps; k1++)
                        for (int64_t k2 = 0; k2 < x[2].taps; k2++, to += elem) {
                            const int64_t z = x[0].tap0 + k0 * x[0].tap_step, y = x[1].tap0 + k1 * x[1].tap_step, v = x[2].tap0 + k2 * x[2].tap_step;
                            memcpy(to, from + ((z * c->kernel[1] + y) * c->kernel[2] + v) * elem, (size_t)elem);
                        }
            }
        }
        before += b.taps;
    }
}

/* ---- weights -------------------------------------------------------------------------------------------------------------------- */

/* One slab of one image: partial[(c, k)][o] (+)= sum of x[(c, k), p] y[p, o]. */
static void add_products(const wick_convolution *c, const conv_state *s, int64_t channels, const char *y, bool add, char *partial) {
    const wick_gemm_kernel *q = c->gemm;
    const conv_box *b = &s->box;
    const int64_t elem = q->elem, m = channels * b->taps, size = product(c->out), start = box_start(c, b), a_row = c->kc + q->lanes;
    const int64_t tiles = ceil_div(m, q->mr), height = m / tiles, taller = m % tiles;
    for (int64_t p = 0; p < b->pixels; p += c->kc, add = true) {
        const int64_t k = WICK_MIN(c->kc, b->pixels - p), vecs = ceil_div(k, q->lanes);
        box_vectors(b, q->lanes, p, k, s->vecs);
        for (int64_t o = 0; o < c->co; o += q->nr)
            q->pack(k, WICK_MIN(q->nr, c->co - o), y + (o * size + start + p) * elem, 1, size, s->b + o * c->kc * elem, q->nr);
        for (int64_t i = 0, row = 0; i < tiles; i++) {
            const int64_t n = height + (i < taller);
            c->code->gather(vecs, s->vecs, n, s->offset + row, s->src, s->a, a_row);
            for (int64_t o = 0; o < c->co; o += q->nr) {
                const int64_t cols = WICK_MIN(q->nr, c->co - o);
                const wick_gemm_tile t = {.k = k, .a = s->a, .a_row = a_row, .a_col = 1, .b = s->b + o * c->kc * elem, .b_row = q->nr,
                                          .c = partial + (row * c->co + o) * elem, .c_row = c->co, .c_col = 1, .cols = cols, .add = add};
                q->tiles[(ceil_div(cols, q->lanes) - 1) * q->mr + n - 1](&t);
            }
            row += n;
        }
    }
}

static void run_weight(const wick_convolution *c, int64_t begin, int64_t end, const char *x, const char *y, char *partials, char *scratch) {
    const int64_t elem = c->code->elem, splits = ceil_div(c->ci, c->chans), taps = product(c->kernel), in = product(c->in), out = product(c->out);
    const int64_t images = ceil_div(c->batch, c->chunks);
    conv_state s = state_in(c, scratch);
    for (int64_t u = begin * c->per_task; u < WICK_MIN(c->units, end * c->per_task); u++) {
        const int64_t split = u % splits, g = u / splits % c->groups, chunk = u / splits / c->groups;
        const int64_t first = split * c->chans, channels = WICK_MIN(c->chans, c->ci - first);
        char *partial = partials + ((chunk * c->groups + g) * c->ci + first) * taps * c->co * elem;
        if (c->depthwise) memset(partial, 0, (size_t)(taps * elem));
        for (int64_t n = chunk * images; n < WICK_MIN(c->batch, (chunk + 1) * images); n++)
            for (int64_t slab = 0; slab < c->slabs; slab++) {
                state_move(c, &s, 0, slab, c->chans);
                const conv_box *b = &s.box;
                box_fill(c, b, channels, x + ((n * c->groups + g) * c->ci + first) * in * elem, s.src);
                const char *image = y + (n * c->groups + g) * c->co * out * elem;
                if (!c->depthwise) {
                    add_products(c, &s, channels, image, n > chunk * images || slab > 0, partial);
                    continue;
                }
                for (int64_t z = 0; z < b->n[0]; z++)
                    c->code->dots((int)taps, s.offset, image + (box_start(c, b) + z * b->n[1] * b->n[2]) * elem,
                                  s.src + z * b->axis[0].step * b->extent[1] * b->line * elem, b->axis[1].step * b->line, b->n[1], b->n[2], partial);
            }
    }
}

/* Output channels [begin, end) of the weights, some neighbours at a time: they lie side by side in the parts. */
#define CONV_SUM(name, T)                                                                                                             \
    static void name(const wick_convolution *c, int64_t begin, int64_t end, const T *partials, T *dst) {                              \
        enum { SIDE = 16 };                                                                                                           \
        const int64_t m = c->ci * product(c->kernel), all = c->groups * m * c->co;                                                    \
        for (int64_t row = begin, n; row < end; row += n) {                                                                           \
            n = WICK_MIN(WICK_MIN(end - row, SIDE), c->co - row % c->co);                                                             \
            for (int64_t i = 0; i < m; i++) {                                                                                         \
                const T *p = partials + (row / c->co * m + i) * c->co + row % c->co;                                                  \
                T sum[SIDE] = {0};                                                                                                    \
                for (int64_t chunk = 0; chunk < c->chunks; chunk++)                                                                   \
                    for (int64_t k = 0; k < n; k++) sum[k] += p[chunk * all + k];                                                     \
                for (int64_t k = 0; k < n; k++) dst[(row + k) * m + i] = sum[k];                                                      \
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
        pack_weights(c, begin, end, b, shared);
    } else if (stage == 1 && c->what == WICK_CONV_WEIGHT) {
        run_weight(c, begin, end, a, b, shared, scratch);
    } else if (stage == 1) {
        run_correlation(c, begin, end, a, b, bias, dst, shared, scratch);
    } else {
        const int64_t rows = c->groups * c->co, per_task = ceil_div(rows, c->tasks[2]);
        begin *= per_task;
        end = WICK_MIN(rows, end * per_task);
        if (c->type == WICK_CF32)
            sum_f32(c, begin, end, shared, dst);
        else
            sum_f64(c, begin, end, shared, dst);
    }
}
