/* depthwise.c: control flow of convolutions of each channel on its own. A unit is some rows of the output (of WEIGHT: a
 * part of the batch) of an image: all channels, some at a time so that rows of the source stay in L1 from one row of
 * the output to the next; or, where a side is row-major [N, C, ...], one block of channels, which is transposed into
 * the scratch and back: nothing else of a plan has to copy the image then.
 *
 *   scratch: | block of the source | block of the other image | zeros [channels] | pointers | line [taps][channels] |
 *   columns |
 *
 * Nothing is padded: pixels at the edges go one by one, and read zeros where they reach out of the source. Rows of taps
 * that lie outside are left out, but where weights are not finite. */
#include "kernels/conv/conv.h"
#include "kernels/convert/convert.h"
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/tuning.h"

/* TURNED_BYTES, NARROW_BYTES, BLOCK_BYTES: of a pixel of a block, whole cache lines, where it is transposed, where
 * blocks share out gradients of weights, and elsewhere. UNIT_BYTES: of both images of a unit in the scratch. UNITS: as
 * many are enough. STRIP: columns of a strip. LINES_BYTES: of rows of the source that are read some columns at a time.
 * NEAR_BYTES: of both images as a whole, which L2 keeps. TASK_WORK: multiply-adds of a task, about; each takes as long
 * as eight of a convolution whose outputs share what they read. */
enum {
    TURNED_BYTES = 128,
    NARROW_BYTES = 256,
    BLOCK_BYTES = 512,
    UNIT_BYTES = 512 << 10,
    UNITS = 16,
    STRIP = 8,
    LINES_BYTES = 256 << 10,
    NEAR_BYTES = 1 << 20,
    TASK_WORK = WICK_CONV_TASK_WORK / 8
};

static int64_t product(const int64_t *x) { return x[0] * x[1] * x[2]; }
static int64_t phases_of(const wick_convolution *c) { return c->what == WICK_CONV_DATA ? product(c->stride) : 1; }
static const int64_t *source_dims(const wick_convolution *c) { return c->what == WICK_CONV_DATA ? c->out : c->in; }
static const int64_t *other_dims(const wick_convolution *c) { return c->what == WICK_CONV_DATA ? c->in : c->out; }

/* Rows [first, end) of dim c->cut of the other image (DATA: whole strides), and those of the source that they read. */
typedef struct span {
    int64_t first, end;
} span;

static span other_rows(const wick_convolution *c, int64_t slab) {
    const int64_t every = c->rows * (c->what == WICK_CONV_DATA ? c->stride[c->cut] : 1);
    return (span){slab * every, WICK_MIN((slab + 1) * every, other_dims(c)[c->cut])};
}
static span source_rows(const wick_convolution *c, int64_t slab) {
    const int64_t all = source_dims(c)[c->cut], phases = c->what == WICK_CONV_DATA ? c->stride[c->cut] : 1;
    span s = {all, 0};
    for (int64_t phase = 0; phase < phases; phase++) {
        const wick_conv_axis x = wick_conv_axis_of(c, c->cut, phase);
        const int64_t first = slab * c->rows, n = WICK_MIN(c->rows, x.count - first);
        if (n <= 0 || !x.taps) continue;
        s.first = WICK_MIN(s.first, x.lo + first * x.step);
        s.end = WICK_MAX(s.end, x.lo + (first + n - 1) * x.step + (x.taps - 1) * x.tap_at + 1);
    }
    s.first = WICK_MAX(s.first, 0);
    s.end = WICK_MAX(s.first, WICK_MIN(s.end, all));
    return s;
}

static size_t line_at(const wick_convolution *c) {
    return WICK_ALIGN_UP(c->at_taps + 2 * (size_t)product(c->kernel) * sizeof(void *), WICK_ALIGN);
}

static int64_t bytes_of(const wick_convolution *c) {
    return c->groups * c->code->elem * c->batch * (product(c->in) + product(c->out));
}

/* Whether both images together take at least `eighths` / 8 of stream_bytes, the size from which on no cache keeps a
 * result. At 7 the images alone fill the cache, given that something else is in it too. At 2 the data of other steps
 * may have evicted them. */
static bool from_memory(const wick_convolution *c, const wick_tuning *tuning, int64_t eighths) {
    return bytes_of(c) >= tuning->stream_bytes / 8 * eighths;
}

/* Why stores of results are not nontemporal; NULL: they are, where results are aligned. */
static const char *nontemporal_refused(const wick_convolution *c, const wick_tuning *tuning) {
    if (c->what == WICK_CONV_WEIGHT) return "it is not for gradients of weights";
    if (c->planes[1]) return "results are row-major";
    return from_memory(c, tuning, 7) ? NULL : "the images are not large enough";
}

/* Why rows of a phase with axes x don't read each column once for three taps; NULL: they do. */
static const char *three_refused(const wick_convolution *c, const wick_conv_axis *x) {
    if (!c->code->threes) return "this tier has none for the dtype";
    if (x[2].taps != 3) return "a row has not three taps";
    if (x[2].tap_at != 1) return "there is a dilation";
    if (x[2].step > 2) return "the stride is above 2";
    if (x[2].count <= 0) return "there are no outputs";
    const int64_t last = x[2].lo + (x[2].count - 1) * x[2].step + (x[2].taps - 1) * x[2].tap_at;
    if (x[2].lo < -1 || last > source_dims(c)[2]) return "there is more than one column of padding";
    return x[0].taps * x[1].taps <= WICK_DEPTHWISE_ROWS ? NULL : "there are too many rows of taps";
}

/* Why gradients of x with a stride go phase by phase of a row; NULL: a row's two phases go at once, each column read
 * once for both. */
static const char *both_refused(const wick_convolution *c) {
    if (!c->code->threes) return "this tier has none for the dtype";
    if (c->stride[2] != 2) return "the stride is not 2";
    if (c->kernel[2] != 3) return "a row has not three taps";
    if (c->dilation[2] != 1) return "there is a dilation";
    if (c->pad[2] != 1) return "the padding is not 1";
    if (c->out[2] < wick_ceil_div(c->in[2], 2)) return "there is no output for the last inputs";
    return c->cut == 2 ? "there is one row only" : NULL;
}

static void axes_of(const wick_convolution *c, int64_t phase, wick_conv_axis *x) {
    for (int d = 2; d >= 0; phase /= c->what == WICK_CONV_DATA ? c->stride[d] : 1, d--)
        x[d] = wick_conv_axis_of(c, d, c->what == WICK_CONV_DATA ? phase % c->stride[d] : 0);
}

int wick_depthwise_rejected(const wick_convolution *c, const wick_tuning *tuning, wick_rejected *out) {
    const char *const in_cache = nontemporal_refused(c, tuning);
    int n = 0;
    if (c->what == WICK_CONV_DATA && c->stride[2] > 1) {
        if (both_refused(c)) out[n++] = (wick_rejected){"both phases of a row at once", both_refused(c)};
        if (in_cache) out[n++] = (wick_rejected){"nontemporal results", in_cache};
        return n;
    }
    const char *three = NULL; /* of the first phase that has a reason */
    for (int64_t phase = 0; phase < phases_of(c) && !three; phase++) {
        wick_conv_axis x[3];
        axes_of(c, phase, x);
        three = three_refused(c, x);
    }
    if (three) out[n++] = (wick_rejected){"three taps of a row at once", three};
    if (in_cache) out[n++] = (wick_rejected){"nontemporal results", in_cache};
    return n;
}

/* Whether units are strips of columns: of images that L2 doesn't keep, a strip's rows are read once, and stay in L1
 * from line to line. From memory whole rows are faster. */
static bool strips_of_columns(const wick_convolution *c, const wick_tuning *tuning) {
    wick_conv_axis x[3];
    if (c->runs || c->what == WICK_CONV_WEIGHT || phases_of(c) > 1 || c->planes[0] || c->planes[1] ||
        bytes_of(c) <= NEAR_BYTES || from_memory(c, tuning, 2))
        return false;
    axes_of(c, 0, x);
    return !three_refused(c, x);
}

void wick_depthwise_prepare(wick_convolution *c, const wick_tuning *tuning) {
    const bool data = c->what == WICK_CONV_DATA, weight = c->what == WICK_CONV_WEIGHT, *scratch = c->planes;
    const int64_t elem = c->code->elem, taps = product(c->kernel), image = c->groups * elem;
    const double work = (double)taps * (double)product(c->out) * (double)c->groups * (double)c->batch,
                 elements = (double)(c->groups * c->batch * (product(c->in) + product(c->out)));
    const double of_task =
        WICK_MIN(TASK_WORK, work / (double)wick_conv_parts(work * (WICK_CONV_TASK_WORK / TASK_WORK), elements));
    int64_t most = scratch[0] || scratch[1] ? TURNED_BYTES : BLOCK_BYTES;
    /* few parts of the batch: blocks of channels make tasks too, no narrower than that takes */
    if (weight && c->chunks < WICK_CONV_TASKS)
        most = WICK_MIN(most, WICK_MAX((int64_t)((double)(image * c->chunks) * of_task / WICK_MAX(work, 1.0)) / 64 * 64,
                                       NARROW_BYTES));
    most /= elem;
    c->cut = 2;
    for (int d = 1; d >= 0; d--)
        if (c->in[d] > 1 || c->out[d] > 1) c->cut = d;
    if (c->cut == 1 && strips_of_columns(c, tuning)) c->cut = 2;
    c->block = WICK_MIN(most, c->groups);
    /* that are units of their own */
    c->blocks = scratch[0] || scratch[1] || weight ? wick_ceil_div(c->groups, c->block) : 1;
    /* rows of all phases together */
    const int64_t count = data ? wick_ceil_div(c->in[c->cut], c->stride[c->cut]) : c->out[c->cut];
    const double of_row =
        (double)taps * (double)product(c->out) * (double)c->groups / (double)count / (double)c->blocks;
    double rows = (double)count;
    int64_t bytes = 0;
    for (int side = 0; side < 2; side++)
        if (scratch[side]) bytes += c->block * elem * product(side ? other_dims(c) : source_dims(c));
    if (bytes) rows = WICK_MIN(rows, (double)UNIT_BYTES / ((double)bytes / (double)count));
    if (!weight)
        rows = WICK_MIN(rows, WICK_MAX(0.999 + of_task / WICK_MAX(of_row, 1.0),
                                       (double)count * (double)(c->batch * c->blocks) / UNITS));
    /* an even number of strips: two threads have as much to do */
    if (c->cut == 2 && c->in[1] > 1) rows = (double)wick_ceil_div(count, WICK_ALIGN_UP(wick_ceil_div(count, STRIP), 2));
    c->slabs = wick_ceil_div(count, (int64_t)WICK_MAX(rows, 1.0));
    c->rows = wick_ceil_div(count, c->slabs);
    c->slabs = wick_ceil_div(count, c->rows);
    c->units = weight ? c->chunks * c->blocks : c->slabs * c->batch * c->blocks;
    const double of_unit =
        of_row * (weight ? (double)count * (double)wick_ceil_div(c->batch, c->chunks) : (double)c->rows);
    c->per_task = (int64_t)WICK_MAX(1.0, (weight ? TASK_WORK : of_task) / WICK_MAX(of_unit, 1.0));
    c->nontemporal = !nontemporal_refused(c, tuning);
    c->ahead = !c->planes[0] && from_memory(c, tuning, 2);
    size_t most_bytes[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        const int64_t *dims = side ? other_dims(c) : source_dims(c);
        for (int64_t slab = 0; scratch[side] && slab < c->slabs; slab++) {
            const span s = side ? other_rows(c, slab) : source_rows(c, slab);
            most_bytes[side] = WICK_MAX(most_bytes[side],
                                        (size_t)((s.end - s.first) * product(dims) / dims[c->cut] * c->block * elem));
        }
    }
    c->at_panel = WICK_ALIGN_UP(most_bytes[0], WICK_ALIGN);
    c->at_rows = c->at_panel + WICK_ALIGN_UP(most_bytes[1], WICK_ALIGN); /* zeros */
    c->at_taps = c->at_rows + WICK_ALIGN_UP((size_t)(c->block * elem), WICK_ALIGN);
    c->scratch = line_at(c) + WICK_ALIGN_UP((size_t)(taps * c->block * elem), WICK_ALIGN);
    const int64_t reach = (c->kernel[2] - 1) * c->dilation[2],
                  columns = data ? c->in[2] + reach + 1 : (c->out[2] - 1) * c->stride[2] + reach + 1;
    if (!weight) c->scratch += (size_t)(c->kernel[0] * c->kernel[1] * columns) * sizeof(void *);
}

/* A side of a unit: the block's channel 0 at pixel `first` of the image, channels are neighbours. */
typedef struct side {
    char *at;
    int64_t first, pixel;
} side;
static char *side_at(const side *s, int64_t pixel, int64_t elem) {
    return s->at + (pixel - s->first) * s->pixel * elem;
}

typedef struct unit {
    const wick_convolution *c;
    side source, other;
    int64_t channel, channels;
    const char *weights, *bias;
    char *sums; /* of WEIGHT: [tap][groups] */
    char *zeros, *line;
    const void **src, **second; /* by tap: what is read; weights, or where sums go */
    const void **columns;       /* of a row: wick_depthwise_row_of */
} unit;

/* Outputs [begin, end) of a row read inside of the rows of the source. */
typedef struct reads_inside {
    int64_t begin, end;
} reads_inside;

static reads_inside inside_of(const wick_conv_axis *x, int64_t width) {
    const int64_t reach = (x->taps - 1) * x->tap_at, room = width - 1 - reach - x->lo,
                  begin = WICK_MIN(x->count, x->lo < 0 ? wick_ceil_div(-x->lo, x->step) : 0);
    return (reads_inside){begin, room < 0 ? begin : WICK_MAX(begin, WICK_MIN(x->count, room / x->step + 1))};
}

static int64_t other_at(const wick_convolution *c, const wick_conv_axis *x, int64_t z, int64_t y) {
    const int64_t *to = other_dims(c);
    return ((x[0].dst0 + z * x[0].dst_step) * to[1] + x[1].dst0 + y * x[1].dst_step) * to[2] + x[2].dst0;
}

/* What all rows of outputs of a phase with axes x have in common, where weights are finite. */
static wick_depthwise_row_of rows_of(const unit *u, const wick_conv_axis *x) {
    const wick_convolution *c = u->c;
    const int64_t reach = (x[2].taps - 1) * x[2].tap_at, last = x[2].lo + (x[2].count - 1) * x[2].step + reach,
                  width = source_dims(c)[2], pixel = u->other.pixel * c->code->elem;
    const reads_inside inside = inside_of(&x[2], width);
    return (wick_depthwise_row_of){.channels = u->channels,
                                   .count = x[2].count,
                                   .begin = inside.begin,
                                   .end = inside.end,
                                   .src = u->src,
                                   .columns = u->columns,
                                   .w = u->second,
                                   .n_columns = last - x[2].lo + 1,
                                   .src_pixel = u->source.pixel,
                                   .lo = x[2].lo,
                                   .step = x[2].step,
                                   .taps = x[2].taps,
                                   .tap_at = x[2].tap_at,
                                   .w_tap = c->groups,
                                   .zeros = u->zeros,
                                   .bias = u->bias,
                                   .relu = c->relu,
                                   .dst_pixel = u->other.pixel * x[2].dst_step,
                                   .left = x[2].lo < 0,
                                   .right = last >= width,
                                   .from_dram = c->ahead || (!c->planes[0] && bytes_of(c) > NEAR_BYTES),
                                   .nontemporal =
                                       c->nontemporal && ((uintptr_t)u->other.at | (uintptr_t)pixel) % 64 == 0,
                                   .three = !three_refused(c, x),
                                   .ahead = c->ahead ? x[1].step * width * u->source.pixel : 0,
                                   .line = u->line,
                                   .src_line = x[1].step * width * u->source.pixel,
                                   .dst_line = x[1].dst_step * other_dims(c)[2] * u->other.pixel};
}

/* How many of the rows from (z, y) to (z, end) the kernel of three taps makes together, as lines of one strip: those
 * whose rows of taps are all inside the image, as long as what they read stays in L2. For images in memory, row by row
 * is faster if the step is 1. */
static int64_t lines_of(const unit *u, const wick_conv_axis *x, const wick_depthwise_row_of *row, int64_t y,
                        int64_t end) {
    const wick_convolution *c = u->c;
    const int64_t *from = source_dims(c), lo = x[1].lo + y * x[1].step,
                  last = from[1] - 1 - (x[1].taps - 1) * x[1].tap_at;
    if (!row->three || (row->step == 1 && (row->nontemporal || row->ahead)) || x[0].taps != 1 || lo < 0 || lo > last)
        return 1;
    const int64_t fit = c->cut == 2 ? end : LINES_BYTES / (x[1].step * from[2] * u->channels * c->code->elem);
    return WICK_MIN(WICK_MIN(end - y, (last - lo) / x[1].step + 1), WICK_MAX(fit, 1));
}

/* Some of them, from (z, y) on; returns how many. */
static int64_t run_values(const unit *u, const wick_conv_axis *x, wick_depthwise_row_of *row, int64_t z, int64_t y,
                          int64_t last, const char *weights) {
    const wick_convolution *c = u->c;
    const int64_t elem = c->code->elem, *from = source_dims(c), end = row->end * row->step;
    const int64_t skip = row->count <= 8 || row->begin == row->end ? INT64_MAX
                         : row->begin ? (row->begin - 1) * row->step + (row->taps - 1) * row->tap_at + 1
                                      /* columns from there on that only [begin, end) reads */
                                      : 0;
    const int64_t rows = x[0].taps * x[1].taps;
    row->rows = 0;
    for (int64_t tz = 0, t = 0; tz < x[0].taps; tz++)
        for (int64_t ty = 0; ty < x[1].taps; ty++, t += x[2].taps) {
            const int64_t sz = x[0].lo + z * x[0].step + tz * x[0].tap_at,
                          sy = x[1].lo + y * x[1].step + ty * x[1].tap_at;
            if (sz < 0 || sz >= from[0] || sy < 0 || sy >= from[1]) continue;
            const char *pixels = side_at(&u->source, (sz * from[1] + sy) * from[2], elem);
            const void **columns = u->columns + row->rows * row->n_columns;
            for (int64_t k = 0; k < row->n_columns && !row->three && !row->even; k++) {
                if (k == skip && skip < end) k = end;
                if (k >= row->n_columns) break;
                columns[k] = row->lo + k >= 0 && row->lo + k < from[2] ? pixels + (row->lo + k) * row->src_pixel * elem
                                                                       : u->zeros;
            }
            u->src[row->rows] = pixels;
            /* those of the next phase */
            if (row->even) u->second[rows + row->rows] = weights + ((rows * 2 + t / 2) * c->groups + u->channel) * elem;
            u->second[row->rows++] = weights + (t * c->groups + u->channel) * elem;
        }
    row->dst = side_at(&u->other, other_at(c, x, z, y), elem);
    row->lines = lines_of(u, x, row, y, last);
    c->code->row(row);
    return row->lines;
}

/* One row of outputs, (z, y) of a phase with axes x: of WEIGHT, or with weights that are not all finite. */
static void run_row(const unit *u, const wick_conv_axis *x, int64_t z, int64_t y, const char *weights, bool finite) {
    const wick_convolution *c = u->c;
    const int64_t elem = c->code->elem, *from = source_dims(c), lo = x[2].lo, step = x[2].step;
    const bool weight = c->what == WICK_CONV_WEIGHT;
    const reads_inside inside_row = inside_of(&x[2], from[2]);
    const int64_t begin = inside_row.begin, end = inside_row.end;
    wick_depthwise_run_of r = {.channels = u->channels,
                               .src = u->src,
                               .w = u->second,
                               .bias = u->bias,
                               .relu = c->relu,
                               .line = u->line,
                               .line_step = c->block,
                               .sum = (void *const *)(uintptr_t)u->second};
    char *other = side_at(&u->other, other_at(c, x, z, y), elem);
    const int64_t other_pixel = u->other.pixel * x[2].dst_step;
    r.dst_pixel = r.y_pixel = other_pixel;
    /* rows of taps within the source, then those that are zeros: dots go apart */
    for (int outside = 0; outside < 2; outside++) {
        if (outside && !weight) break;
        int64_t b = begin, e = end;
        /* Runs: pixels before b one by one, [b, e), the rest one by one. */
        bool zero_rows = false;
        for (int64_t tz = 0; tz < x[0].taps; tz++)
            for (int64_t ty = 0; ty < x[1].taps; ty++) {
                const int64_t sz = x[0].lo + z * x[0].step + tz * x[0].tap_at,
                              sy = x[1].lo + y * x[1].step + ty * x[1].tap_at;
                const bool inside = sz >= 0 && sz < from[0] && sy >= 0 && sy < from[1];
                zero_rows |= !inside;
            }
        if (outside && !zero_rows) break;
        if (!weight && zero_rows && !finite) b = e = x[2].count; /* zeros are no rows of pixels */
        if (outside) b = 0, e = x[2].count;
        for (int64_t j = 0; j < x[2].count;) {
            const int64_t n = j == b && e > b ? e - b : 1;
            r.taps = 0;
            for (int64_t tz = 0, t = 0; tz < x[0].taps; tz++)
                for (int64_t ty = 0; ty < x[1].taps; ty++) {
                    const int64_t sz = x[0].lo + z * x[0].step + tz * x[0].tap_at,
                                  sy = x[1].lo + y * x[1].step + ty * x[1].tap_at;
                    const bool inside = sz >= 0 && sz < from[0] && sy >= 0 && sy < from[1];
                    if (weight ? inside == (outside > 0) : !inside && finite) {
                        t += x[2].taps;
                        continue;
                    }
                    for (int64_t tx = 0; tx < x[2].taps; tx++, t++, r.taps++) {
                        const int64_t sx = lo + j * step + tx * x[2].tap_at;
                        u->src[r.taps] = inside && sx >= 0 && sx < from[2]
                                             ? side_at(&u->source, (sz * from[1] + sy) * from[2] + sx, elem)
                                             : u->zeros;
                        u->second[r.taps] = (weight ? u->sums : weights) + (t * c->groups + u->channel) * elem;
                    }
                }
            r.pixels = n;
            r.src_pixel = outside ? 0 : step * u->source.pixel;
            r.dst = other + j * other_pixel * elem;
            r.y = r.dst;
            r.first = j == 0;
            j += n;
            r.last = j == x[2].count;
            (weight ? c->code->dots : c->code->values)(&r);
        }
    }
}

/* Of WEIGHT, one row of outputs (z, y) for rows of three taps. Those outside of the source are zeros, which count where
 * y is not finite; then rows of taps go one by one. */
static void run_dots(const unit *u, const wick_conv_axis *x, const wick_depthwise_row_of *all, int64_t z, int64_t y) {
    const wick_convolution *c = u->c;
    const int64_t elem = c->code->elem, *from = source_dims(c), rows = x[0].taps * x[1].taps;
    wick_depthwise_row_of row = *all;
    bool all_inside = true;
    for (int64_t k = 0; k < rows; k++) {
        const int64_t sz = x[0].lo + z * x[0].step + k / x[1].taps * x[0].tap_at,
                      sy = x[1].lo + y * x[1].step + k % x[1].taps * x[1].tap_at;
        const bool inside = sz >= 0 && sz < from[0] && sy >= 0 && sy < from[1];
        all_inside &= inside;
        u->src[k] = inside ? side_at(&u->source, (sz * from[1] + sy) * from[2], elem) : u->zeros;
        u->second[k] = u->sums + (k * x[2].taps * c->groups + u->channel) * elem;
    }
    row.dst = side_at(&u->other, other_at(c, x, z, y), elem);
    row.rows = all_inside ? rows : 1;
    for (int64_t k = 0; k < rows; k += row.rows) {
        row.src = u->src + k;
        row.w = u->second + k;
        if (u->src[k] == u->zeros) row.src_pixel = row.ahead = 0;
        c->code->row_dots(&row);
        row.src_pixel = all->src_pixel;
    }
}

/* A block of channels of the rows [s.first, s.end) of dim cut, from or to planes. */
static void move_planes(const wick_convolution *c, const int64_t *dims, span s, int64_t channels, bool back,
                        char *planes, char *block) {
    const int64_t inner = product(dims) / dims[c->cut], plane = product(dims), elem = c->code->elem,
                  n = (s.end - s.first) * inner;
    const wick_convert_table *code = wick_convert_kernels(wick_tier_current());
    planes += s.first * inner * elem;
    if (back)
        code->transpose((int)elem, block, c->block, planes, plane, channels, n, false);
    else
        code->transpose((int)elem, planes, plane, block, c->block, n, channels, false);
}

/* Channels [channel, + block) of a slab of an image. */
static void run_block(unit *u, int64_t slab, int64_t channel, char *source, char *other, char *scratch) {
    const wick_convolution *c = u->c;
    const int64_t elem = c->code->elem, *from = source_dims(c), *to = other_dims(c);
    const bool weight = c->what == WICK_CONV_WEIGHT;
    const span in = source_rows(c, slab), out = other_rows(c, slab);
    u->channel = channel;
    u->channels = WICK_MIN(c->block, c->groups - channel);
    if (c->planes[0]) {
        source += channel * product(from) * elem;
        move_planes(c, from, in, u->channels, false, source, scratch);
        u->source = (side){scratch, in.first * (product(from) / from[c->cut]), c->block};
    } else {
        u->source = (side){source + channel * elem, 0, c->groups};
    }
    if (c->planes[1]) {
        other += channel * product(to) * elem;
        u->other = (side){scratch + c->at_panel, out.first * (product(to) / to[c->cut]), c->block};
        if (weight) move_planes(c, to, out, u->channels, false, other, u->other.at);
    } else {
        u->other = (side){other + channel * elem, 0, c->groups};
    }
    const char *weights = u->weights, *all_bias = u->bias;
    if (all_bias) u->bias = all_bias + channel * elem;
    const bool *all_finite = weight ? NULL : (const bool *)u->weights + c->at_finite;
    int64_t both = 0;
    for (int64_t phase = 0; phase < phases_of(c); phase += 1 + both) {
        wick_conv_axis x[3];
        axes_of(c, phase, x);
        const bool finite = weight || all_finite[phase];
        both = c->what == WICK_CONV_DATA && !both_refused(c) && phase % 2 == 0 && finite && all_finite[phase + 1];
        int64_t first[2] = {0, 0}, end[2] = {x[0].count, x[1].count};
        if (c->cut == 2) { /* a row is cut: its outputs move to where the slab starts */
            const int64_t n = WICK_MIN(c->rows, x[2].count - slab * c->rows);
            x[2].lo += slab * c->rows * x[2].step;
            x[2].dst0 += slab * c->rows * x[2].dst_step;
            x[2].count = WICK_MAX(n, 0);
        } else {
            first[c->cut] = slab * c->rows;
            end[c->cut] = WICK_MIN(end[c->cut], (slab + 1) * c->rows);
        }
        wick_depthwise_row_of row;
        _Alignas(64) char held[WICK_DEPTHWISE_HELD_BYTES];
        const bool three = weight && !three_refused(c, x);
        if (three || (!weight && finite)) row = rows_of(u, x), row.held = held;
        if (both) { /* odd outputs have two taps, and even ones, of the next phase, one */
            x[2].dst0 = 0;
            row.count = c->in[2], row.dst_pixel = u->other.pixel, row.right = 2 * c->out[2] <= c->in[2] + 1;
            row.even = u->second + x[0].taps * x[1].taps;
        }
        for (int64_t z = first[0]; z < end[0]; z++)
            for (int64_t y = first[1], n; y < end[1]; y += n) {
                n = 1;
                if (three)
                    run_dots(u, x, &row, z, y);
                else if (weight || !finite)
                    run_row(u, x, z, y, weights, finite);
                else
                    n = run_values(u, x, &row, z, y, end[1], weights);
            }
        weights += product((const int64_t[3]){x[0].taps, x[1].taps, both ? 3 : x[2].taps}) * c->groups * elem;
    }
    u->bias = all_bias;
    if (c->planes[1] && !weight) move_planes(c, to, out, u->channels, true, other, u->other.at);
}

void wick_depthwise_run(const wick_convolution *c, int64_t begin, int64_t end, const char *a, const char *b,
                        const char *bias, char *dst, char *scratch) {
    const bool weight = c->what == WICK_CONV_WEIGHT;
    const int64_t elem = c->code->elem, taps = product(c->kernel), image = c->groups * elem,
                  images = weight ? wick_ceil_div(c->batch, c->chunks) : 1;
    const void **pointers = (const void **)(void *)(scratch + c->at_taps);
    unit u = {
        .c = c, .weights = b, .bias = bias, .zeros = scratch + c->at_rows, .src = pointers, .second = pointers + taps};
    u.line = scratch + line_at(c);
    u.columns = (const void **)(void *)(u.line + WICK_ALIGN_UP((size_t)(taps * c->block * elem), WICK_ALIGN));
    memset(u.zeros, 0, (size_t)(c->block * elem));
    for (int64_t i = begin * c->per_task; i < WICK_MIN(c->units, end * c->per_task); i++) {
        const int64_t block = i % c->blocks, rest = i / c->blocks, slabs = weight ? 1 : c->slabs,
                      from = block * c->block;
        const int64_t to = c->blocks > 1 ? WICK_MIN(from + c->block, c->groups) : c->groups;
        if (weight) {
            u.sums = dst + rest * taps * c->groups * elem;
            for (int64_t t = 0; t < taps; t++)
                memset(u.sums + (t * c->groups + from) * elem, 0, (size_t)((to - from) * elem));
        }
        for (int64_t n = rest / slabs * images; n < WICK_MIN(c->batch, (rest / slabs + 1) * images); n++)
            for (int64_t channel = from; channel < to; channel += c->block) {
                char *source = (char *)(uintptr_t)a + n * product(source_dims(c)) * image;
                char *other = (weight ? (char *)(uintptr_t)b : dst) + n * product(other_dims(c)) * image;
                for (int64_t slab = weight ? 0 : rest % slabs; slab < (weight ? c->slabs : rest % slabs + 1); slab++)
                    run_block(&u, slab, channel, source, other, scratch);
            }
    }
    if (c->nontemporal) wick_stream_end();
}
