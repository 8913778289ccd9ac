/* int8_conv.c: convolutions of bytes without im2col: a task copies the lines of the image that it needs, with their
 * padding, and each output pixel reads its taps from that copy in place. */
#include "kernels/int8/int8.h"
#include "kernels/tuning.h"

/* LINES: bytes of lines that a task copies. PARTS: tasks that a convolution is cut into, if they are large enough.
 * MORE: what a column costs besides its multiply-adds, in multiply-adds; DEPTHWISE: the same of an output where each
 * channel is on its own. SUMS: sums that wait in L1. */
enum {
    CONV_LINES = 64 << 10,
    CONV_PARTS = 8,
    CONV_MORE = 64,
    CONV_DEPTHWISE = 80,
    CONV_SUMS = 2048,
    CONV_SLACK = 64,
    CONV_WOVEN_SLACK = 256
};

static int64_t pixel_of(const wick_int8 *p) { return p->groups * p->ci * p->kernel->elem; } /* bytes, laid out */

/* ---- plan -------------------------------------------------------------------------------------------------------- */

/* Of a task, laid out: pixels of a line, and lines of one of the planes that a kernel meets. Lines of taps that lie
 * apart meet planes of their own, without what lies between. */
static bool is_apart(const wick_int8 *p) { return p->dilation[1] > 1; }
static int64_t planes_of(const wick_int8 *p) { return p->kernel_dims[0] * (is_apart(p) ? p->kernel_dims[1] : 1); }
static int64_t line_pixels(const wick_int8 *p, int64_t outputs) {
    return (outputs - 1) * p->stride[2] + (p->kernel_dims[2] - 1) * p->dilation[2] + 1;
}
static int64_t plane_lines(const wick_int8 *p, int64_t lines) {
    return (lines - 1) * p->stride[1] + (is_apart(p) ? 1 : p->kernel_dims[1]);
}
/* Where the first output line of a block of so many meets line of taps number `taps`, of all. */
static int64_t line_of(const wick_int8 *p, int64_t taps, int64_t lines) {
    const int64_t plane = plane_lines(p, lines);
    return is_apart(p) ? taps * plane : taps / p->kernel_dims[1] * plane + taps % p->kernel_dims[1];
}
static int64_t pitch_of(const wick_int8 *p) { return line_pixels(p, p->task_x) * pixel_of(p); }
static int64_t laid_bytes(const wick_int8 *p) { return planes_of(p) * plane_lines(p, p->task_y) * pitch_of(p); }

/* If each channel is on its own: what is woven. Lines of taps, or, where there is one line, taps that follow each
 * other. */
typedef struct woven {
    bool along_x;
    /* lines: of taps; sets: of `group` lines; taps of a line of steps and the pixels between them */
    int64_t lines, sets, taps_x, step_x;
} woven;
static woven woven_of(const wick_int8 *p) {
    const int64_t lines = p->kernel_dims[0] * p->kernel_dims[1], group = p->kernel->group;
    if (lines > 1) return (woven){false, lines, wick_ceil_div(lines, group), p->kernel_dims[2], p->dilation[2]};
    return (woven){true, group, 1, wick_ceil_div(p->kernel_dims[2], group), group * p->dilation[2]};
}
/* Steps of a line, for so many outputs, and bytes of one set. */
static int64_t woven_pixels(const wick_int8 *p, const woven *w, int64_t outputs) {
    return (outputs - 1) * p->stride[2] + (w->taps_x - 1) * w->step_x + 1;
}
static int64_t woven_bytes(const wick_int8 *p, const woven *w) {
    return (int64_t)WICK_ALIGN_UP(woven_pixels(p, w, p->task_x) * p->groups * 4 + CONV_WOVEN_SLACK, WICK_ALIGN);
}

/* Bytes behind lines that are read too, as the last steps of pieces or taps, and met by zeros: zeros as well, so that
 * nothing depends on what was there. */
static int64_t slack_of(const wick_int8 *p) {
    return CONV_SLACK + (p->depthwise && woven_of(p).along_x ? p->kernel->group * p->dilation[2] * pixel_of(p) : 0);
}

/* Outputs of a task: about `want`, lines of them if possible. */
static void cut(wick_int8 *p, int64_t want) {
    p->task_x = p->out[2];
    p->task_y = WICK_MAX(want / p->out[2], 1);
    if (want < p->out[2]) p->task_x = wick_ceil_div(p->out[2], wick_ceil_div(p->out[2], want));
    while (p->task_y > 1 && !p->in_place && laid_bytes(p) > CONV_LINES) p->task_y--;
    while (p->task_x > 64 && !p->in_place && laid_bytes(p) > 4 * CONV_LINES) p->task_x = wick_ceil_div(p->task_x, 2);
    p->task_y = wick_ceil_div(p->out[1], wick_ceil_div(p->out[1], p->task_y));
}
static int64_t blocks_of(const wick_int8 *p) {
    return p->out[0] * wick_ceil_div(p->out[1], p->task_y) * wick_ceil_div(p->out[2], p->task_x);
}

static size_t reserve(size_t *at, size_t bytes) {
    const size_t was = *at;
    *at = WICK_ALIGN_UP(was + bytes, WICK_ALIGN);
    return was;
}

void wick_int8_conv_prepare(wick_int8 *p, const wick_tuning *tuning) {
    const wick_int8_kernel *q = p->kernel;
    const int64_t taps = p->kernel_dims[0] * p->kernel_dims[1] * p->kernel_dims[2], panels = wick_ceil_div(p->n, q->nr);
    bool every_pixel = true, padded = false;
    for (int d = 0; d < 3; d++) {
        every_pixel &= p->kernel_dims[d] == 1 && p->stride[d] == 1 && !p->pad[d] && p->in[d] == p->out[d];
        padded |=
            p->pad[d] != 0 || (p->out[d] - 1) * p->stride[d] + (p->kernel_dims[d] - 1) * p->dilation[d] >= p->in[d];
    }
    if (every_pixel) { /* one line */
        p->in[2] = p->out[2] = p->m;
        for (int d = 0; d < 2; d++) p->in[d] = p->out[d] = 1;
    }
    const bool joined = p->groups == 1 && p->dilation[2] == 1;
    const int64_t run = p->ci * (joined ? p->kernel_dims[2] : 1);
    p->pieces = taps / (joined ? p->kernel_dims[2] : 1);
    p->piece = (int64_t)WICK_ALIGN_UP(run, q->group);
    p->padded = p->pieces * p->piece;
    p->in_place = !p->depthwise && q->elem == 1 && !(p->a_signed && !q->any_sign) && !padded && p->piece == run;

    const double work = (double)tuning->int8_task_work;
    const double row_work =
        (double)p->groups * (p->depthwise ? (double)(CONV_DEPTHWISE + 4 * taps)
                                          : (double)WICK_ALIGN_UP(p->n, 16) * (double)(p->k + CONV_MORE));
    const double task_work = WICK_MIN(WICK_MAX(row_work * (double)p->m / CONV_PARTS, work / 4), work);
    cut(p, WICK_MAX((int64_t)WICK_MIN((double)p->m, task_work / row_work), p->depthwise ? 1 : 2 * q->mr));
    p->rows = p->task_y * p->task_x;
    const int64_t across =
        p->depthwise ? 1 : (int64_t)WICK_MIN((double)panels, 1 + row_work * (double)p->rows / task_work);
    p->cols = wick_ceil_div(panels, across) * q->nr;
    p->tasks = blocks_of(p) * (p->depthwise ? 1 : wick_ceil_div(p->n, p->cols) * p->groups);

    const woven w = woven_of(p);
    p->fold = p->depthwise && p->stride[2] == 1 && q->lanes % p->groups == 0 ? q->lanes / p->groups : 1;
    size_t at = 0;
    p->packed_width = p->depthwise ? (int64_t)WICK_ALIGN_UP(p->groups * p->fold, q->lanes) : panels * q->nr;
    if (p->depthwise)
        reserve(&at, (size_t)(w.sets * w.taps_x * p->packed_width * 4));
    else
        reserve(&at, (size_t)((p->packed_width + (p->row_sums ? q->nr : 0)) * p->padded * q->elem));
    p->at_columns = at;
    p->packed = WICK_ALIGN_UP(at + wick_int8_columns_bytes(p->packed_width), WICK_ALIGN);
    wick_int8_reserve_splits(p, &p->packed, panels + p->row_sums);
    p->tasks_pack = p->depthwise ? 1 : panels;
    p->scratch_pack = taps > 1 && !p->depthwise ? WICK_ALIGN_UP((size_t)(q->nr * p->k), WICK_ALIGN) : 0;

    at = 0;
    if (!p->in_place) reserve(&at, (size_t)(laid_bytes(p) + slack_of(p)));
    if (p->depthwise) {
        p->at_raw = reserve(&at, (size_t)(w.sets * woven_bytes(p, &w)));
        p->at_tile = reserve(&at, (size_t)WICK_MAX(CONV_SUMS, 4 * p->packed_width) * sizeof(int32_t));
        p->at_taps = reserve(&at, (size_t)(w.sets * w.taps_x) * sizeof(int64_t));
        wick_int8_reserve_late(p, &at, p->packed_width);
    } else {
        p->at_sums = reserve(&at, p->row_sums ? (size_t)p->rows * sizeof(int32_t) : 0);
        p->at_tile = reserve(&at, (size_t)(q->mr * q->nr) * sizeof(int32_t));
        p->at_taps = reserve(&at, (size_t)p->pieces * sizeof(int64_t));
        wick_int8_reserve_late(p, &at, p->packed_width);
    }
    p->scratch = at;
}

/* ---- stage 0 ----------------------------------------------------------------------------------------------------- */

/* The weight of channel c for line of taps `line` and tap x, less its zero point. */
static int32_t weight(const wick_int8 *p, const wick_int8_data *d, int64_t c, int64_t line, int64_t x) {
    const int64_t kx = p->kernel_dims[2], taps = p->kernel_dims[0] * p->kernel_dims[1] * kx;
    if (line >= p->kernel_dims[0] * p->kernel_dims[1] || x >= kx) return 0;
    return wick_int8_byte(d->b, p->b_signed, c * taps + line * kx + x) -
           wick_int8_byte(d->b_zero, p->b_signed, p->b_zero_each ? c : 0);
}
void wick_int8_pack_depthwise(const wick_int8 *p, const wick_int8_data *d) {
    const int8_columns to = wick_int8_columns_at(p, d->packed, p->packed_width);
    const woven w = woven_of(p);
    const int group = p->kernel->group;
    memset(d->packed, 0, p->packed);
    for (int64_t c = 0; c < p->groups; c++) {
        int32_t sum = 0;
        for (int64_t s = 0; s < w.sets; s++)
            for (int64_t x = 0; x < w.taps_x; x++)
                for (int q = 0; q < group; q++) {
                    const int32_t by =
                        w.along_x ? weight(p, d, c, 0, x * group + q) : weight(p, d, c, s * group + q, x);
                    sum += by;
                    for (int64_t f = 0; f < p->fold; f++) {
                        const int64_t at = ((s * w.taps_x + x) * p->packed_width + f * p->groups + c) * group + q;
                        if (group == 4)
                            ((int8_t *)d->packed)[at] = (int8_t)by;
                        else
                            ((int16_t *)d->packed)[at] = (int16_t)by;
                    }
                }
        for (int64_t f = 0; f < p->fold; f++) wick_int8_set_columns(p, d, &to, f * p->groups + c, c, 1, &sum);
    }
    wick_int8_set_bounds(p, d, &to);
}

/* ---- stage 1 ----------------------------------------------------------------------------------------------------- */

typedef struct block {
    int64_t z, y0, y1, x0, x1; /* outputs */
} block;
static block block_at(const wick_int8 *p, int64_t i) {
    const int64_t across = wick_ceil_div(p->out[2], p->task_x), down = wick_ceil_div(p->out[1], p->task_y),
                  x = i % across * p->task_x, y = i / across % down * p->task_y;
    return (block){i / across / down, y, WICK_MIN(p->out[1], y + p->task_y), x, WICK_MIN(p->out[2], x + p->task_x)};
}

static void fill(const wick_int8 *p, char *to, int64_t pixels, int value) {
    const int64_t n = pixels * p->groups * p->ci;
    if (p->kernel->elem == 1)
        memset(to, value, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++) ((int16_t *)(void *)to)[i] = (int16_t)value;
}

/* The lines that a block meets, [plane][line][pixel], as the tiles read them. */
static void lay_out(const wick_int8 *p, const uint8_t *image, const block *b, const wick_int8_data *d, char *laid) {
    const wick_int8_kernel *q = p->kernel;
    const int64_t lines = plane_lines(p, b->y1 - b->y0), pixels = line_pixels(p, b->x1 - b->x0),
                  x = b->x0 * p->stride[2] - p->pad[2], y = b->y0 * p->stride[1] - p->pad[1];
    const int64_t left = WICK_MIN(WICK_MAX(-x, 0), pixels), right = WICK_MIN(WICK_MAX(p->in[2] - x, left), pixels),
                  pixel = p->groups * p->ci, pitch = pitch_of(p);
    const int64_t bytes = pixels * pixel_of(p), slack = slack_of(p);
    const bool moved = q->group == 4 && p->a_signed;
    const int value = wick_int8_byte(d->a_zero, p->a_signed, 0) + (moved ? 128 : 0);
    for (int64_t plane = 0; plane < planes_of(p); plane++)
        for (int64_t k = 0; k < lines; k++, laid += pitch) {
            const int64_t tz = is_apart(p) ? plane / p->kernel_dims[1] : plane,
                          i = k + (is_apart(p) ? plane % p->kernel_dims[1] * p->dilation[1] : 0);
            const int64_t z = b->z * p->stride[0] - p->pad[0] + tz * p->dilation[0];
            memset(laid + bytes, 0, (size_t)slack); /* the next line is written over it */
            if (z < 0 || z >= p->in[0] || y + i < 0 || y + i >= p->in[1]) {
                fill(p, laid, pixels, value);
                continue;
            }
            const uint8_t *from = image + (((z * p->in[1] + y + i) * p->in[2]) + x + left) * pixel;
            char *const to = laid + left * pixel_of(p);
            fill(p, laid, left, value);
            if (q->group == 4 && !moved)
                memcpy(to, from, (size_t)((right - left) * pixel));
            else
                q->row((right - left) * pixel, (right - left) * pixel, p->a_signed, from, to);
            fill(p, laid + right * pixel_of(p), pixels - right, value);
        }
}

void wick_int8_run_depthwise(const wick_int8 *p, int64_t begin, int64_t end, const wick_int8_data *d, char *scratch) {
    const wick_int8_kernel *q = p->kernel;
    const int8_columns columns = wick_int8_late_columns(p, d, wick_int8_columns_at(p, d->packed, p->packed_width),
                                                        p->packed_width, 0, p->packed_width, scratch);
    const woven w = woven_of(p);
    const int64_t n = p->groups, size = p->result < WICK_INT8_U8 ? 4 : 1, pitch = pitch_of(p), set = woven_bytes(p, &w),
                  most = WICK_MAX(CONV_SUMS / p->packed_width, 4) * p->fold;
    int64_t *const taps = (int64_t *)(void *)(scratch + p->at_taps);
    for (int64_t s = 0; s < w.sets; s++)
        for (int64_t x = 0; x < w.taps_x; x++) taps[s * w.taps_x + x] = s * set + x * w.step_x * n * 4;
    wick_int8_dots dots = {.channels = p->packed_width,
                           .taps = w.sets * w.taps_x,
                           .w = d->packed,
                           .tap = taps,
                           .step = p->stride[2] * p->fold * n * 4,
                           .sums = (int32_t *)(void *)(scratch + p->at_tile)};
    wick_int8_finish f = {.sums = dots.sums,
                          .sums_row = p->packed_width,
                          .offset = columns.offset,
                          .zero = columns.zero,
                          .scale = columns.scale,
                          .bias = columns.bias,
                          .result = p->result,
                          .low = columns.bounds[0],
                          .high = columns.bounds[1],
                          .point = *columns.point,
                          .c_row = n * p->fold};
    for (int64_t t = begin; t < end; t++) {
        const block b = block_at(p, t);
        lay_out(p, d->a, &b, d, scratch);
        for (int64_t y = b.y0; y < b.y1; y++) {
            for (int64_t s = 0; s < w.sets; s++) {
                const void *lines[4];
                for (int i = 0; i < q->group; i++) {
                    const int64_t line = s * q->group + i < w.lines ? s * q->group + i : 0; /* beyond: times 0 */
                    lines[i] = scratch +
                               ((y - b.y0) * p->stride[1] + (w.along_x ? 0 : line_of(p, line, b.y1 - b.y0))) * pitch +
                               (w.along_x ? line * p->dilation[2] * pixel_of(p) : 0);
                }
                q->weave(woven_pixels(p, &w, b.x1 - b.x0) * n, lines, scratch + p->at_raw + s * set);
            }
            for (int64_t x = b.x0, outputs; x < b.x1; x += outputs) {
                outputs = WICK_MIN(most, b.x1 - x);
                dots.v = scratch + p->at_raw + (x - b.x0) * p->stride[2] * n * 4;
                dots.outputs = wick_ceil_div(outputs, p->fold);
                q->dots(&dots);
                f.sums = dots.sums;
                f.c = (char *)d->c + ((b.z * p->out[1] + y) * p->out[2] + x) * n * size;
                f.cols = n * p->fold;
                f.rows = outputs / p->fold;
                q->finish(&f);
                if (outputs % p->fold == 0) continue;
                f.c = (char *)f.c + f.rows * f.cols * size;
                f.sums += f.rows * p->packed_width;
                f.cols = outputs % p->fold * n;
                f.rows = 1;
                q->finish(&f);
            }
        }
    }
}

void wick_int8_run_lines(const wick_int8 *p, int64_t begin, int64_t end, const wick_int8_data *d, char *scratch) {
    const wick_int8_kernel *q = p->kernel;
    const int64_t across = wick_ceil_div(p->n, p->cols), c_row = p->groups * p->n,
                  size = p->result < WICK_INT8_U8 ? 4 : 1, elem = q->elem, *kernel = p->kernel_dims;
    const int64_t pixel = pixel_of(p), pitch = p->in_place ? p->in[2] * pixel : pitch_of(p),
                  panel = q->nr * p->padded * elem;
    const bool plain = p->result == WICK_INT8_I32 && !p->row_sums;
    int64_t *const pieces = (int64_t *)(void *)(scratch + p->at_taps),
                   joined = p->pieces == kernel[0] * kernel[1] ? 1 : kernel[2], had = -1;
    int32_t *const row_sums = (int32_t *)(void *)(scratch + p->at_sums), *const sums =
                                                                             (int32_t *)(void *)(scratch + p->at_tile);
    static const int32_t none[64];
    wick_int8_tile tile = {
        .pieces = p->pieces, .steps = p->piece / q->group, .piece = pieces, .a_row = p->stride[2] * pixel};
    for (int64_t t = begin; t < end; t++) {
        const int64_t column = t % across, group = t / across % p->groups, at = t / across / p->groups,
                      j1 = WICK_MIN(p->n, (column + 1) * p->cols);
        const block b = block_at(p, at);
        const int64_t tiles = wick_ceil_div(b.x1 - b.x0, q->mr), height = (b.x1 - b.x0) / tiles,
                      taller = (b.x1 - b.x0) % tiles;
        const int64_t line = p->stride[1] * pitch;
        const char *const packed = (const char *)d->packed + (size_t)group * p->packed;
        const int8_columns columns = wick_int8_late_columns(
            p, d, wick_int8_columns_at(p, (char *)d->packed + (size_t)group * p->packed, p->packed_width),
            p->packed_width, column * p->cols, j1 - column * p->cols, scratch);
        const char *const a =
            (p->in_place ? (const char *)d->a + (b.z * p->stride[0] * p->in[1] + b.y0 * p->stride[1]) * pitch +
                               b.x0 * tile.a_row
                         : scratch) +
            group * p->ci * elem;
        if (!p->in_place && had != at) lay_out(p, d->a, &b, d, scratch);
        for (int64_t i = 0; i < p->pieces; i++) {
            const int64_t taps = i / joined, where = p->in_place ? taps / kernel[1] * p->dilation[0] * p->in[1] +
                                                                       taps % kernel[1] * p->dilation[1]
                                                                 : line_of(p, taps, b.y1 - b.y0);
            pieces[i] = where * pitch + i % joined * p->dilation[2] * pixel;
        }
        had = at;
        /* sums of rows: products with ones, first */
        for (int64_t j = p->row_sums ? -q->nr : column * p->cols; j < j1; j = j < 0 ? column * p->cols : j + q->nr) {
            const int64_t cols = j < 0 ? 1 : WICK_MIN(q->nr, p->n - j);
            const int64_t number = j < 0 ? p->packed_width / q->nr : j / q->nr;
            wick_int8_tile_fn *const *by_rows =
                wick_int8_tiles_of(p, packed, number, &tile) + (cols > q->nr / 2 ? q->mr : 0) - 1;
            wick_int8_finish f = {.cols = cols,
                                  .sums = sums,
                                  .sums_row = q->nr,
                                  .offset = columns.offset + j,
                                  .zero = columns.zero + j,
                                  .scale = columns.scale + j,
                                  .bias = columns.bias + j,
                                  .result = p->result,
                                  .low = columns.bounds[0],
                                  .high = columns.bounds[1],
                                  .point = *columns.point,
                                  .c_row = c_row};
            /* to C: tiles begin with what is added */
            const bool straight = plain && (cols == q->nr || 2 * cols == q->nr);
            tile.b = packed + number * panel;
            tile.start = straight ? f.offset : none;
            tile.sums_row = straight ? c_row : q->nr;
            for (int64_t y = b.y0; y < b.y1; y++)
                for (int64_t i = 0, x = b.x0; i < tiles; i++, x += f.rows) {
                    int32_t *const row = row_sums + (y - b.y0) * p->task_x + x - b.x0;
                    f.rows = height + (i < taller);
                    f.c = (char *)d->c + (((b.z * p->out[1] + y) * p->out[2] + x) * c_row + group * p->n + j) * size;
                    f.row_sums = p->row_sums ? row : NULL;
                    tile.a = a + (y - b.y0) * line + (x - b.x0) * tile.a_row;
                    tile.sums = straight ? f.c : sums;
                    by_rows[f.rows](&tile);
                    if (j < 0)
                        for (int64_t r = 0; r < f.rows; r++) row[r] = sums[r * q->nr];
                    else if (!straight)
                        q->finish(&f);
                }
        }
    }
}
