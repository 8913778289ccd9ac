/* int8_tile.h: the register tile of one way to multiply. Included by int8_tier.c with INT8_NAME(x), INT8_TARGET (of
 * functions), INT8_GROUP_BYTES (of A and of B, in a step, each 4), INT8_VEC (of i32), INT8_DOT(sum, a, b),
 * INT8_TILES(X, vecs), INT8_SPLITS where steps may be split, INT8_NO_DOTS where channels on their own are no matter. */
typedef INT8_VEC INT8_NAME(vec);
typedef INT8_VEC INT8_NAME(vecu) __attribute__((aligned(4), may_alias));

INT8_TARGET INT8_INLINE void INT8_NAME(tile)(const wick_int8_tile *t, const int rows, const int vecs) {
    enum { L = (int)(sizeof(INT8_NAME(vec)) / 4) };
    INT8_NAME(vec) acc[INT8_MR * 2];
    INT8_UNROLL
    for (int i = 0; i < rows * vecs; i++) acc[i] = *(const INT8_NAME(vecu) *)(t->start + i % vecs * L);
    const int32_t *b = t->b;
    const char *a[(INT8_MR + 2) / 3]; /* one pointer for three rows */
    const int64_t a_row = t->a_row;
    for (int64_t piece = 0; piece < t->pieces; piece++) {
        INT8_UNROLL
        for (int i = 0; i < (rows + 2) / 3; i++) a[i] = (const char *)t->a + t->piece[piece] + 3 * i * a_row;
        for (int64_t s = t->steps; s > 0; s--, b += 2 * L) {
            INT8_NAME(vec) bv[2];
            INT8_UNROLL
            for (int v = 0; v < vecs; v++) bv[v] = *(const INT8_NAME(vecu) *)(b + v * L);
            INT8_UNROLL
            for (int i = 0; i < rows; i++) {
                int32_t four;
                memcpy(&four, a[i / 3] + (i % 3) * a_row, 4);
                const INT8_NAME(vec) x = (INT8_NAME(vec)){0} + four;
                INT8_UNROLL
                for (int v = 0; v < vecs; v++) acc[i * vecs + v] = INT8_DOT(acc[i * vecs + v], x, bv[v]);
            }
            INT8_UNROLL
            for (int i = 0; i < (rows + 2) / 3; i++) {
                a[i] += 4;
                __asm__("" : "+r"(a[i])); /* keeps the compiler from turning these few pointers into one per row */
            }
        }
    }
#ifdef INT8_SPLITS
    b = t->split_b;
    for (int64_t s = 0; s < t->splits; s++, b += 2 * L) {
        const char *const at = (const char *)t->a + t->piece[t->split[2 * s]] + t->split[2 * s + 1];
        INT8_UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t four;
            memcpy(&four, at + i * a_row, 4);
            INT8_UNROLL
            for (int v = 0; v < vecs; v++)
                acc[i * vecs + v] =
                    INT8_DOT(acc[i * vecs + v], (INT8_NAME(vec)){0} + four, *(const INT8_NAME(vecu) *)(b + v * L));
        }
    }
#endif
    INT8_UNROLL
    for (int i = 0; i < rows * vecs; i++)
        *(INT8_NAME(vecu) *)(t->sums + i / vecs * t->sums_row + i % vecs * L) = acc[i];
}

#define INT8_TILE(rows, vecs)                                                                                          \
    INT8_TARGET static void INT8_NAME(tile_##rows##x##vecs)(const wick_int8_tile *t) { INT8_NAME(tile)(t, rows, vecs); }
INT8_TILES(INT8_TILE, 1)
INT8_TILES(INT8_TILE, 2)
#undef INT8_TILE
#define INT8_TILE(rows, vecs) INT8_NAME(tile_##rows##x##vecs),
static wick_int8_tile_fn *const INT8_NAME(tiles)[] = {INT8_TILES(INT8_TILE, 1) INT8_TILES(INT8_TILE, 2)};
#undef INT8_TILE

#ifndef INT8_NO_DOTS
/* Each channel on its own: a vector of them, for a few outputs side by side. */
INT8_TARGET INT8_INLINE void INT8_NAME(some_dots)(const wick_int8_dots *t, int64_t x, int64_t c, const int outputs) {
    INT8_NAME(vec) acc[INT8_OUTPUTS];
    const int64_t step = t->step, channels = t->channels;
    const char *const v = (const char *)t->v + x * step + 4 * c, *w = (const char *)t->w + 4 * c;
    INT8_UNROLL
    for (int i = 0; i < outputs; i++) acc[i] = (INT8_NAME(vec)){0};
    for (int64_t k = 0; k < t->taps; k++, w += 4 * channels) {
        const INT8_NAME(vec) by = *(const INT8_NAME(vecu) *)(const void *)w;
        const char *const at = v + t->tap[k];
        INT8_UNROLL
        for (int i = 0; i < outputs; i++)
            acc[i] = INT8_DOT(acc[i], *(const INT8_NAME(vecu) *)(const void *)(at + i * step), by);
    }
    INT8_UNROLL
    for (int i = 0; i < outputs; i++) *(INT8_NAME(vecu) *)(t->sums + (x + i) * channels + c) = acc[i];
}
INT8_TARGET static void INT8_NAME(dots)(const wick_int8_dots *t) {
    enum { L = (int)(sizeof(INT8_NAME(vec)) / 4) };
    for (int64_t c = 0; c < t->channels; c += L) {
        int64_t x = 0;
        for (; x + INT8_OUTPUTS <= t->outputs; x += INT8_OUTPUTS) INT8_NAME(some_dots)(t, x, c, INT8_OUTPUTS);
        for (; x + 4 <= t->outputs; x += 4) INT8_NAME(some_dots)(t, x, c, 4);
        for (; x < t->outputs; x++) INT8_NAME(some_dots)(t, x, c, 1);
    }
}
#endif
#undef INT8_NO_DOTS
#undef INT8_SPLITS
#undef INT8_NAME
#undef INT8_TARGET
#undef INT8_VEC
#undef INT8_DOT
