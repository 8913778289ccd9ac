/* int8_split.c: vpmaddubsw adds two products of an unsigned and a signed byte in 16 bits and saturates. It is exact for
 * a pair of weights with |b0| + |b1| <= 128. Larger pairs are split, b = b / 2 + (b - b / 2): the first halves stay in
 * place, the second ones, with zeros beside them, are further steps of the panel. Of each panel there is
 *
 *     [count][room][2]    int32_t: of each split step the piece, and bytes of A behind its beginning
 *     [room][nr][4]       weights
 *
 * Weights may be others than those by which room was reserved. A panel that has more such steps stays as it is, and its
 * tiles split the bytes of A instead, all of them (`wide`): as exact, slower. */
#include "kernels/int8/int8.h"

enum { SPLIT_GROUP = 4, SPLIT_MOST = 128 };

static bool is_large(int x, int y) { return (x < 0 ? -x : x) + (y < 0 ? -y : y) > SPLIT_MOST; }

static int64_t table_of(const wick_int8 *p) { return 1 + 2 * p->split_room; }

bool wick_int8_count_splits(const wick_int8 *p, int64_t *most) {
    const int64_t run = p->k / p->pieces, nr = p->kernel->nr, panels = wick_ceil_div(p->n, nr),
                  taps = p->conv ? p->kernel_dims[0] * p->kernel_dims[1] * p->kernel_dims[2] : 1,
                  col = p->conv ? p->k : p->b_col, steps = p->padded / SPLIT_GROUP;
    const int flip = p->b_signed ? 0 : 0x80;
    int64_t all = 0, left = p->b_count * panels * steps * 3 / 10; /* a step takes 0.7 to 0.85 of what pairs take */
    for (int64_t g = 0; g < p->b_count; g++)
        for (int64_t first = 0; first < p->n; first += nr, all = 0) {
            const int64_t cols = WICK_MIN(nr, p->n - first);
            const uint8_t *b = (const uint8_t *)p->known + (p->conv ? g * p->n * p->k : 0) + first * col;
            for (int64_t i = 0; i < p->pieces; i++)
                for (int64_t r = 0; r < run; r += SPLIT_GROUP) {
                    int64_t at[SPLIT_GROUP];
                    bool large = false;
                    for (int q = 0; q < SPLIT_GROUP; q++) {
                        const int64_t k = i * run + r + q;
                        at[q] = r + q >= run ? -1 : p->conv ? k % p->ci * taps + k / p->ci : k * p->b_row;
                    }
                    for (int q = 0; q < SPLIT_GROUP && at[q] >= 0; q += 2)
                        for (int64_t j = 0; j < cols; j++)
                            large |= is_large((int8_t)(b[at[q] + j * col] ^ flip),
                                              at[q + 1] < 0 ? 0 : (int8_t)(b[at[q + 1] + j * col] ^ flip));
                    if (!large) continue;
                    *most = WICK_MAX(*most, ++all);
                    if (--left < 0) return false;
                }
        }
    return true;
}

void wick_int8_reserve_splits(wick_int8 *p, size_t *at, int64_t panels) {
    if (!p->kernel->wide) return;
    p->at_splits = WICK_ALIGN_UP(*at, WICK_ALIGN);
    p->at_split_weights = WICK_ALIGN_UP(p->at_splits + (size_t)(panels * table_of(p)) * sizeof(int32_t), WICK_ALIGN);
    *at =
        WICK_ALIGN_UP(p->at_split_weights + (size_t)(panels * p->split_room * p->kernel->nr * SPLIT_GROUP), WICK_ALIGN);
}

static bool has_large(const int8_t *w, int64_t n) {
    bool large = false;
    for (int64_t j = 0; j < n; j += 2) large |= is_large(w[j], w[j + 1]);
    return large;
}

void wick_int8_split_panel(const wick_int8 *p, char *packed, int64_t panel) {
    const int64_t n = p->kernel->nr * SPLIT_GROUP, per_piece = p->piece / SPLIT_GROUP, steps = p->pieces * per_piece;
    int32_t *const table = (int32_t *)(void *)(packed + p->at_splits) + panel * table_of(p);
    int8_t *const w = (int8_t *)packed + panel * n * steps,
                  *rest = (int8_t *)packed + p->at_split_weights + panel * p->split_room * n;
    int64_t count = 0;
    for (int64_t s = 0; s < steps; s++) count += has_large(w + s * n, n);
    table[0] = count > p->split_room ? WICK_INT8_UNSPLIT : (int32_t)count;
    if (count > p->split_room) return;
    int32_t *to = table + 1;
    for (int64_t s = 0; s < steps; s++) {
        int8_t *const x = w + s * n;
        if (!has_large(x, n)) continue;
        *to++ = (int32_t)(s / per_piece);
        *to++ = (int32_t)(s % per_piece * SPLIT_GROUP);
        for (int64_t j = 0; j < n; j++) {
            const int8_t half = is_large(x[j & ~(int64_t)1], x[j | 1]) ? (int8_t)(x[j] / 2) : x[j];
            rest[j] = (int8_t)(x[j] - half);
        }
        for (int64_t j = 0; j < n; j++) x[j] = (int8_t)(x[j] - rest[j]);
        rest += n;
    }
}

wick_int8_tile_fn *const *wick_int8_tiles_of(const wick_int8 *p, const char *packed, int64_t panel,
                                             wick_int8_tile *tile) {
    const wick_int8_kernel *q = p->kernel;
    tile->splits = 0;
    if (!q->wide) return q->tiles;
    const int32_t *table = (const int32_t *)(const void *)(packed + p->at_splits) + panel * table_of(p);
    if (*table == WICK_INT8_UNSPLIT) return q->wide;
    tile->splits = *table;
    tile->split = table + 1;
    tile->split_b = packed + p->at_split_weights + panel * p->split_room * q->nr * SPLIT_GROUP;
    return q->tiles;
}
