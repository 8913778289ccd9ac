/* conv_correlate.c: convolutions and the gradients of their inputs: products of pieces of the source and packed
 * weights. */
#include "kernels/conv/conv_parts.h"
#include "kernels/packing.h"

enum { CONV_NEAR = 128 << 10 }; /* bytes of weights that stay in L2 beside what goes by */

/* Of two dims: the pieces of taps that a row of outputs finds inside the source. Rows of padding need no products, with
 * finite weights. */
static void clip_taps(const wick_convolution *c, const conv_state *s, int64_t row, int64_t *begin, int64_t *end) {
    const wick_conv_axis *x = &s->box.axis[1];
    const int64_t rows = (c->what == WICK_CONV_DATA ? c->out : c->in)[1], lo = s->box.lo[1] + row * x->step,
                  pieces = s->n_taps / x->taps;
    const int64_t first = WICK_MIN(x->taps, lo < 0 ? wick_ceil_div(-lo, x->tap_at) : 0);
    *begin = first * pieces;
    *end = WICK_MAX(first, lo < rows ? WICK_MIN(x->taps, (rows - 1 - lo) / x->tap_at + 1) : 0) * pieces;
}

/* Of a block that is of one column of taps: the outputs of a row that find it inside the source. */
static void clip_columns(const wick_convolution *c, const conv_state *s, const conv_block *k, int64_t *begin,
                         int64_t *end) {
    const wick_conv_axis *x = &s->box.axis[2];
    const int64_t tap = k->from / s->pixel, columns = (c->what == WICK_CONV_DATA ? c->out : c->in)[2],
                  lo = s->box.lo[2] + tap * x->tap_at;
    if (k->n != 1 || s->run < s->pixel || (k->from + k->k - 1) / s->pixel != tap) return;
    if (lo < 0) *begin = WICK_MIN(wick_ceil_div(-lo, x->step), *end);
    *end = WICK_MAX(*begin, lo < columns ? WICK_MIN(*end, (columns - 1 - lo) / x->step + 1) : 0);
}

/* Of all images that FORWARD or DATA make. */
static int64_t result_bytes(const wick_convolution *c) {
    return c->batch * c->groups *
           (c->what == WICK_CONV_DATA ? c->ci * conv_product(c->in) : c->co * conv_product(c->out)) * c->code->elem;
}

/* Outputs of the box in one panel of columns, width of them. t: columns, and where they go: pixels that are c_row
 * apart, to where they are in the image from dst on; `whole`: side by side; and what to ask for meanwhile, ahead_step
 * bytes in all, or else the weights that follow. */
static void correlate_panel(const wick_convolution *c, const conv_state *s, wick_gemm_tile t, int64_t width, bool whole,
                            bool finite, bool relu, const char *src, const char *packed, char *dst) {
    const wick_gemm_kernel *q = c->gemm;
    const conv_box *b = &s->box;
    const bool clip = finite && b->n[0] == 1 && b->axis[0].taps == 1 && b->taps && !b->inside, bias = t.bias_mode;
    const int64_t elem = q->elem, to_pixel = c->groups * (c->what == WICK_CONV_DATA ? c->ci : c->co);
    const char *next = t.ahead;
    const int64_t next_bytes = t.ahead_step;
    t.a_row = b->axis[2].step * s->pixel;
    t.a_col = t.c_col = 1;
    t.from_dram = wick_gemm_c_is_far(result_bytes(c));
    t.b_row = width;
    wick_gemm_tile_fn *const *code = q->tiles + (width / q->lanes - 1) * q->mr;
    const int64_t most = whole ? wick_conv_whole_block(c) : conv_pieces_of_block(s->run);
    conv_block k = {0};
    conv_next_block(&k, s->n_taps, s->run, most);
    do { /* once without taps too */
        const bool last = k.first + k.n >= s->n_taps && k.from + k.k >= s->run * (k.n > 0);
        t.k = k.k;
        t.add = k.first + k.from > 0;
        t.bias_mode = last && bias;
        t.relu = last && relu;
        int64_t from_x = 0,
                to_x = b->n[2]; /* columns of padding need no products either, but where sums begin or end */
        if (clip && t.add && !last) clip_columns(c, s, &k, &from_x, &to_x);
        if (from_x == to_x) continue;
        const int64_t tiles = wick_ceil_div(to_x - from_x, wick_gemm_tile_rows(q, t.a_row)),
                      height = (to_x - from_x) / tiles, taller = (to_x - from_x) % tiles;
        const int64_t block = (k.n > 1 ? k.n * s->run : k.k) * width * elem,
                      part = (next ? next_bytes * k.n / WICK_MAX(s->n_taps, 1) : block) /
                             (s->n_rows * tiles); /* with each tile */
        t.ahead = next ? next : packed + (k.first * s->run + k.from) * width * elem + block;
        t.ahead_step = wick_ceil_div(part, WICK_MAX(t.k * k.n, 1));
        if (next) next += part * s->n_rows * tiles;
        for (int64_t row = 0; row < s->n_rows; row++) {
            const char *from = src + (s->rows[row] + k.from + from_x * t.a_row) * elem;
            char *to =
                dst +
                ((whole ? row * b->n[2] * t.c_row : conv_row_pixel(c, b, row) * to_pixel) + from_x * t.c_row) * elem;
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
    } while (conv_next_block(&k, s->n_taps, s->run, most));
}

/* One tap, and weights that stay in L2. Each tile of pixels goes through all panels of weights before the next tile
 * begins, so that pixels are read once and results written once, both in memory order. */
static void correlate_pixels(const wick_convolution *c, const conv_state *s, int64_t group, int64_t first_panel,
                             int64_t end_panel, const char *src, const char *packed, const char *bias, char *dst) {
    const wick_gemm_kernel *q = c->gemm;
    const conv_box *b = &s->box;
    const int64_t elem = q->elem, outputs = c->what == WICK_CONV_DATA ? c->ci : c->co, panels = end_panel - first_panel;
    wick_gemm_tile t = {.k = s->run,
                        .a_row = b->axis[2].step * s->pixel,
                        .a_col = 1,
                        .c_row = b->axis[2].dst_step * c->groups * outputs,
                        .c_col = 1,
                        .bias_mode = bias ? 1 : 0,
                        .relu = c->relu,
                        .from_dram = wick_gemm_c_is_far(result_bytes(c))};
    const int64_t tiles = wick_ceil_div(b->n[2], wick_gemm_tile_rows(q, t.a_row)), height = b->n[2] / tiles,
                  taller = b->n[2] % tiles;
    for (int64_t row = 0; row < s->n_rows; row++) {
        char *to = dst + conv_row_pixel(c, b, row) * c->groups * outputs * elem;
        t.a = src + (s->rows[row] + s->taps[0]) * elem;
        for (int64_t i = 0, n; i < tiles; i++) {
            n = height + (i < taller);
            const int64_t bytes =
                n * t.a_row * elem; /* to what the next tile reads: a part of it is asked for with each panel */
            const char *next = i + 1 < tiles         ? (const char *)t.a + bytes
                               : row + 1 < s->n_rows ? src + (s->rows[row + 1] + s->taps[0]) * elem
                                                     : NULL;
            t.ahead_step = next ? wick_ceil_div(bytes, panels * t.k) : 0;
            t.b = packed;
            for (int64_t panel = first_panel; panel < end_panel; panel++) {
                const int64_t first = group * outputs + panel * q->nr, width = conv_panel_width(c, panel);
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
static void correlate(const wick_convolution *c, const conv_state *s, int64_t group, int64_t first_panel,
                      int64_t end_panel, const char *src, const char *packed, const char *bias, char *dst) {
    const wick_gemm_kernel *q = c->gemm;
    const int64_t elem = q->elem, outputs = c->what == WICK_CONV_DATA ? c->ci : c->co;
    const bool *finite =
        (const bool *)packed + c->at_finite + conv_panels_of(c) * (group * conv_phases_of(c) + s->phase);
    packed += (wick_conv_panels_at(c, group, s->phase) + first_panel * s->n_taps * s->run * q->nr) * elem;
    src += group * (s->pixel / c->groups) * elem;
    if (s->n_taps == 1 && s->run <= WICK_GEMM_KC && end_panel - first_panel > 1 &&
        (end_panel - first_panel) * s->run * q->nr * elem <= CONV_NEAR) {
        correlate_pixels(c, s, group, first_panel, end_panel, src, packed, bias, dst);
        return;
    }
    for (int64_t panel = first_panel; panel < end_panel; panel++) {
        const int64_t first = group * outputs + panel * q->nr;
        const int64_t asked = s->next_bytes / (end_panel - first_panel);
        const wick_gemm_tile t = {.c_row = s->box.axis[2].dst_step * c->groups * outputs,
                                  .cols = WICK_MIN(q->nr, outputs - panel * q->nr),
                                  .bias_mode = bias ? 1 : 0,
                                  .bias = bias ? bias + first * elem : NULL,
                                  .ahead = s->next ? s->next + (panel - first_panel) * asked : NULL,
                                  .ahead_step = asked};
        correlate_panel(c, s, t, conv_panel_width(c, panel), false, finite[panel], c->relu, src, packed,
                        dst + first * elem);
        packed += s->n_taps * s->run * q->nr * elem;
    }
}

/* Are all numbers that the box reads? Of an image, or of the copy of it. */
#define CONV_FINITE(name, T)                                                                                           \
    static bool name(const conv_state *s, const T *src) {                                                              \
        typedef T vec __attribute__((vector_size(16)));                                                                \
        typedef T vecu __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));                                \
        enum { L = 16 / sizeof(T) };                                                                                   \
        const int64_t n = s->box.extent[2] * s->pixel;                                                                 \
        vec zeros[4] = {{0}};                                                                                          \
        T zero = 0;                                                                                                    \
        for (int64_t z = 0; z < s->box.extent[0]; z++)                                                                 \
            for (int64_t y = 0; y < s->box.extent[1]; y++) {                                                           \
                const T *p = src + z * s->plane + y * s->line;                                                         \
                int64_t i = 0;                                                                                         \
                for (; i + 4 * L <= n; i += 4 * L)                                                                     \
                    for (int k = 0; k < 4; k++) zeros[k] += *(const vecu *)(p + i + k * L) * (vec){0};                 \
                for (; i < n; i++) zero += p[i] * 0;                                                                   \
            }                                                                                                          \
        zeros[0] += zeros[1] + zeros[2] + zeros[3];                                                                    \
        for (int i = 0; i < L; i++) zero += zeros[0][i];                                                               \
        return zero == 0;                                                                                              \
    }
CONV_FINITE(finite_f32, float)
CONV_FINITE(finite_f64, double)

/* All phases of a slab at once, into the scratch, and from there to their places; false: not all of src is finite. */
static bool correlate_whole(const wick_convolution *c, const conv_state *s, const char *src, const char *packed,
                            char *dst) {
    if (!(c->type == WICK_CF32 ? finite_f32(s, (const float *)(const void *)src)
                               : finite_f64(s, (const double *)(const void *)src)))
        return false;
    const conv_box *b = &s->box;
    const int64_t width = wick_conv_whole_width(c), elem = c->code->elem, columns = conv_product(c->stride) * c->ci,
                  run = c->stride[2] * c->ci, *to = c->in;
    correlate_panel(c, s,
                    (wick_gemm_tile){.c_row = width, .cols = columns, .ahead = s->next, .ahead_step = s->next_bytes},
                    width, true, ((const bool *)packed)[c->at_finite + (size_t)c->tasks[0] - 1], false, src,
                    packed + c->at_more, s->panel);
    for (int64_t row = 0; row < s->n_rows; row++)
        for (int64_t q = 0; q < c->stride[0] * c->stride[1]; q++) {
            const int64_t z = (b->first[0] + row / b->n[1]) * c->stride[0] + q / c->stride[1],
                          y = (b->first[1] + row % b->n[1]) * c->stride[1] + q % c->stride[1];
            if (z >= to[0] || y >= to[1]) continue;
            const int64_t first = b->first[2] * run, left = to[2] * c->ci - first;
            char *line = dst + ((z * to[1] + y) * to[2] * c->ci + first) * elem;
            const char *from = s->panel + (row * b->n[2] * width + q * run) * elem;
            for (int64_t j = 0; j < b->n[2]; j++, from += width * elem, line += run * elem)
                memcpy(line, from, (size_t)(WICK_MIN(run, left - j * run) * elem));
        }
    return true;
}

/* By Winograd's algorithm, from an image; false: it can't. */
static bool correlate_tiles(const wick_convolution *c, const conv_state *s, const char *image, const char *packed,
                            const char *bias, char *dst) {
    const conv_box *b = &s->box;
    const bool data = c->what == WICK_CONV_DATA;
    const int64_t to_pixel = data ? c->ci : c->co, to_line = (data ? c->in : c->out)[2] * to_pixel;
    return wick_winograd_run(c, b->n[1], b->n[2], (const float *)(const void *)image, data ? c->out : c->in, b->lo,
                             (const float *)(const void *)(packed + c->at_more), (const float *)(const void *)bias,
                             (float *)(void *)dst + conv_row_pixel(c, b, 0) * to_pixel, to_line, s->copy);
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

void wick_conv_run_correlation(const wick_convolution *c, int64_t begin, int64_t end, const char *src,
                               const char *packed, const char *bias, char *dst, char *scratch) {
    const bool data = c->what == WICK_CONV_DATA;
    const int64_t elem = c->code->elem,
                  from_image = conv_source_channels(c) * conv_product(data ? c->out : c->in) * elem;
    const int64_t to_image = c->groups * (data ? c->ci * conv_product(c->in) : c->co * conv_product(c->out)) * elem;
    conv_state s = wick_conv_state_in(c, scratch);
    bool all_finite = c->winograd;
    for (int64_t t = 0; t < c->tasks[0] && all_finite; t++)
        all_finite &= ((const bool *)packed)[c->at_finite + (size_t)t];
    const int64_t panels = conv_panels_of(c), last = WICK_MIN(c->units, end * c->per_task);
    for (int64_t u = begin * c->per_task, parts; u < last;
         u += parts) { /* all parts of a box that are this task's, at once */
        const int64_t box = u / c->splits, part = u % c->splits, n = box % c->batch;
        const char *const next = n + 1 < c->batch ? src + (n + 1) * from_image : NULL;
        parts = WICK_MIN(c->splits - part, last - u);
        if (c->whole) {
            wick_conv_state_move(c, &s, conv_phases_of(c), box / c->batch);
            state_ask(c, &s, next);
            if (correlate_whole(c, &s, wick_conv_state_source(c, &s, src + n * from_image), packed, dst + n * to_image))
                continue;
            for (int64_t phase = 0; phase < conv_phases_of(c); phase++) {
                wick_conv_state_move(c, &s, phase, box / c->batch);
                if (s.box.pixels)
                    correlate(c, &s, 0, 0, conv_panels_of(c), wick_conv_state_source(c, &s, src + n * from_image),
                              packed, bias, dst + n * to_image);
            }
            continue;
        }
        wick_conv_state_move(c, &s, box / c->batch / c->slabs, box / c->batch % c->slabs);
        if (!s.box.pixels) continue;
        if (c->winograd && all_finite && correlate_tiles(c, &s, src + n * from_image, packed, bias, dst + n * to_image))
            continue;
        if (c->few) {
            const conv_box *b = &s.box;
            wick_few_channels_run(c, b->n[1], b->n[2], b->lo, (const float *)(const void *)(src + n * from_image),
                         (const float *)(const void *)packed, ((const bool *)packed)[c->at_finite],
                         (const float *)(const void *)bias,
                         (float *)(void *)(dst + n * to_image) + conv_row_pixel(c, b, 0) * c->co, s.copy);
            continue;
        }
        const char *from = wick_conv_state_source(c, &s, src + n * from_image);
        state_ask(c, &s, next);
        for (int64_t g = 0; g < c->groups; g++)
            correlate(c, &s, g, part * panels / c->splits, (part + parts) * panels / c->splits, from, packed, bias,
                      dst + n * to_image);
    }
}
