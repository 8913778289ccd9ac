/* conv_weight.c: gradients of the weights of convolutions: products of the source and of what comes to the outputs, and
 * their sums over chunks of images. */
#include "kernels/conv/conv_parts.h"
#include "kernels/convert/convert.h"

/* Some tiles of one slab of one image: partial[(k, c)][o] (+)= sum over p of x[p, (k, c)] y[p, o]. y: the slab's first
 * pixel. next: where x and y go on after it, or NULL; tiles in turn ask for a part, since a slab may come from memory,
 * and is copied, or read by tiles that go on by pixels, faster than it comes. */
static void add_products(const wick_convolution *c, const conv_state *s, int64_t begin, int64_t end, const char *x,
                         const char *y, const char *const next[2], const int64_t next_bytes[2], bool add,
                         char *partial) {
    const wick_gemm_kernel *q = c->gemm;
    const conv_box *b = &s->box;
    const int64_t elem = q->elem, y_pixel = c->groups * c->co, a_col = b->axis[2].step * s->pixel;
    const int64_t tiles = wick_ceil_div(s->run, q->mr), height = s->run / tiles,
                  taller = s->run % tiles; /* of a run of taps */
    const int64_t turns = wick_ceil_div(
        (end - begin) * wick_ceil_div(c->co, q->nr) * wick_ceil_div(s->n_rows, conv_pieces_of_block(b->n[2])), 2);
    int64_t turn = 0;
    for (conv_block p = {0}; conv_next_block(&p, s->n_rows, b->n[2], conv_pieces_of_block(b->n[2])); add = true)
        for (int64_t o = 0; o < c->co; o += q->nr) {
            const int64_t cols = WICK_MIN(q->nr, c->co - o), vecs = wick_ceil_div(cols, q->lanes);
            wick_gemm_tile t = {.k = p.k,
                                .pieces = p.n,
                                .piece_at = s->rows + p.first,
                                .a_row = 1,
                                .a_col = a_col,
                                .b = y + ((p.first * b->n[2] + p.from) * y_pixel + o) * elem,
                                .b_row = y_pixel,
                                .c_row = c->co,
                                .c_col = 1,
                                .cols = cols,
                                .add = add,
                                .from_dram = wick_gemm_c_is_far(conv_product(c->kernel) * c->ci * c->co * elem)};
            if (cols % q->lanes) { /* whole vectors of it may not be readable */
                q->pack(p.n * p.k, cols, t.b, y_pixel, 1, s->panel, q->nr);
                t.b = s->panel;
                t.b_row = q->nr;
            }
            for (int64_t tile = begin; tile < end; tile++) {
                const int64_t i = tile % tiles, row = i * height + WICK_MIN(i, taller), n = height + (i < taller);
                const int64_t part = next_bytes[turn % 2] / turns;
                t.ahead = next[turn % 2] ? next[turn % 2] + turn / 2 * part : NULL;
                t.ahead_step = wick_ceil_div(part, WICK_MAX(p.k * p.n, 1));
                turn++;
                t.a = x + (s->taps[tile / tiles] + row + p.from * a_col) * elem;
                t.c = partial + ((tile / tiles * s->run + row) * c->co + o) * elem;
                q->tiles[(vecs - 1) * q->mr + n - 1](&t);
            }
        }
}

void wick_conv_run_weight(const wick_convolution *c, int64_t begin, int64_t end, const char *x, const char *y,
                          char *partials, char *scratch) {
    const int64_t elem = c->code->elem, taps = conv_product(c->kernel), part = taps * c->ci * c->co * elem;
    const int64_t x_image = c->groups * c->ci * conv_product(c->in) * elem, y_pixel = c->groups * c->co * elem,
                  images = wick_ceil_div(c->batch, c->chunks);
    const int64_t of_slab[2] = {x_image / c->slabs, conv_product(c->out) * y_pixel / c->slabs};
    conv_state s = wick_conv_state_in(c, scratch);
    for (int64_t u = begin * c->per_task; u < WICK_MIN(c->units, end * c->per_task); u++) {
        const int64_t split = u % c->splits, g = u / c->splits % c->groups, chunk = u / c->splits / c->groups;
        char *partial = partials + (chunk * c->groups + g) * part;
        for (int64_t n = chunk * images; n < WICK_MIN(c->batch, (chunk + 1) * images); n++)
            for (int64_t slab = 0; slab < c->slabs; slab++) {
                wick_conv_state_move(c, &s, 0, slab);
                const char *from = wick_conv_state_source(c, &s, x + n * x_image),
                           *to = y + (n * conv_product(c->out) + conv_row_pixel(c, &s.box, 0)) * y_pixel;
                const int64_t tiles = s.n_taps * wick_ceil_div(s.run, c->gemm->mr);
                const bool more = n + 1 < c->batch || slab + 1 < c->slabs;
                const char *const next[2] = {more ? x + n * x_image + (slab + 1) * of_slab[0] : NULL,
                                             more ? y + n * conv_product(c->out) * y_pixel + (slab + 1) * of_slab[1]
                                                  : NULL};
                add_products(c, &s, split * tiles / c->splits, (split + 1) * tiles / c->splits, from + g * c->ci * elem,
                             to + g * c->co * elem, next, of_slab, n > chunk * images || slab > 0, partial);
            }
    }
}

/* Input channels [begin, end) of all groups of the weights, from [chunk][group][tap][ci][co]: sums for some of them,
 * all taps and some outputs, transposed: whole lines of 16 channels or more. */
#define CONV_SUM(name, T)                                                                                              \
    static void name(const wick_convolution *c, int64_t begin, int64_t end, const T *partials, T *dst) {               \
        typedef T vec __attribute__((vector_size(16)));                                                                \
        typedef T vecu __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));                                \
        enum { SIDE = 16, WIDE = 128, LINE = 16, L = 16 / sizeof(T) };                                                 \
        const int64_t taps = conv_product(c->kernel), m = c->ci * taps, co = c->depthwise ? c->groups : c->co,         \
                      all = c->groups * c->ci * taps * c->co;                                                          \
        const int64_t side = WICK_MAX(1, WICK_MIN(c->chunks > 1 || c->ci == 1 ? WIDE : SIDE, CONV_TURN / taps)),       \
                      fit = WICK_MAX(1, CONV_TURN / (taps * side)), at_once = fit > LINE ? fit / LINE * LINE : fit;    \
        T transposed[CONV_TURN];                                                                                       \
        for (int64_t channel = begin, count; channel < end; channel += count) {                                        \
            const int64_t group = channel / c->ci, first = channel % c->ci;                                            \
            count = WICK_MIN(WICK_MIN(end - channel, c->ci - first), at_once);                                         \
            for (int64_t row = 0, n; row < co; row += n) {                                                             \
                n = WICK_MIN(co - row, side);                                                                          \
                T *to = dst + (group * co + row) * m + first * taps;                                                   \
                for (int64_t t = 0; t < taps; t++)                                                                     \
                    for (int64_t i = 0; i < count; i++) {                                                              \
                        const T *p = partials + (group * m + t * c->ci + first + i) * co + row;                        \
                        T *restrict sum = taps > CONV_TURN ? to + t : transposed + (i * taps + t) * n;                 \
                        int64_t k = 0;                                                                                 \
                        for (; k + 4 * L <= n; k += 4 * L) {                                                           \
                            vec v[4] = {{0}};                                                                          \
                            const T *from = p + k;                                                                     \
                            for (int64_t chunk = 0; chunk < c->chunks; chunk++, from += all)                           \
                                for (int x = 0; x < 4; x++) v[x] += *(const vecu *)(from + x * L);                     \
                            for (int x = 0; x < 4; x++) *(vecu *)(sum + k + x * L) = v[x];                             \
                            __builtin_prefetch(p + k + side);                                                          \
                        }                                                                                              \
                        for (; k < n; k++) {                                                                           \
                            T v = 0;                                                                                   \
                            for (int64_t chunk = 0; chunk < c->chunks; chunk++) v += p[chunk * all + k];               \
                            sum[k] = v;                                                                                \
                        }                                                                                              \
                    }                                                                                                  \
                if (taps <= CONV_TURN)                                                                                 \
                    wick_convert_kernels(wick_tier_current())                                                          \
                        ->transpose((int)sizeof(T), transposed, n, to, m, n, count *taps, false);                      \
            }                                                                                                          \
        }                                                                                                              \
    }
CONV_SUM(sum_f32, float)
CONV_SUM(sum_f64, double)

void wick_conv_run_sums(const wick_convolution *c, int64_t begin, int64_t end, const void *partials, void *dst) {
    const int64_t channels = c->depthwise ? 1 : c->groups * c->ci, per_task = wick_ceil_div(channels, c->tasks[2]);
    begin *= per_task;
    end = WICK_MIN(channels, end * per_task);
    if (c->type == WICK_CF32)
        sum_f32(c, begin, end, partials, dst);
    else
        sum_f64(c, begin, end, partials, dst);
}
