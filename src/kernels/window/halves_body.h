/* halves_body.h: windows of 2 x 2 side by side, once per type. Rows are short, so vectors are too, and the last of a
 * row overlaps the one before it. Included by window_tier.c, with WINDOW_I the integer of WINDOW_T's size. */

#define HALVES_SELECT(m, a, b) (((V)(((M)(a) & (m)) | ((M)(b) & ~(m)))))
/* Vectors are loaded where they lie: copied into an array, 16 bytes at a time, they would wait for the copy. */
#define HALVES_LOAD(at)        (*(const U *)(at))
#define HALVES_LATER(b, a)     (((b) > (a)) | ((b) != (b))) /* b takes over: it is larger, or NaN */

/* y[i] = the largest of columns 2 i and 2 i + 1 of both rows; n >= L. */
#define HALVES_MAX(L)                                                                                                  \
    static void WINDOW_NAME(max_row##L)(int64_t n, const WINDOW_T *x0, const WINDOW_T *x1, WINDOW_T *y) {              \
        typedef WINDOW_T V __attribute__((vector_size(L * sizeof(WINDOW_T))));                                         \
        typedef WINDOW_I M __attribute__((vector_size(L * sizeof(WINDOW_T))));                                         \
        typedef WINDOW_T U __attribute__((vector_size(L * sizeof(WINDOW_T)), aligned(sizeof(WINDOW_T)), may_alias));   \
        for (int64_t i = 0; i < n; i += L) {                                                                           \
            const int64_t at = WICK_MIN(i, n - L);                                                                     \
            const V a0 = HALVES_LOAD(x0 + 2 * at), a1 = HALVES_LOAD(x0 + 2 * at + L);                                  \
            const V b0 = HALVES_LOAD(x1 + 2 * at), b1 = HALVES_LOAD(x1 + 2 * at + L);                                  \
            const V j0 = HALVES_SELECT((M)HALVES_LATER(b0, a0), b0, a0),                                               \
                    j1 = HALVES_SELECT((M)HALVES_LATER(b1, a1), b1, a1);                                               \
            const V even = __builtin_shufflevector(j0, j1, HALVES_EVEN##L),                                            \
                    odd = __builtin_shufflevector(j0, j1, HALVES_ODD##L);                                              \
            *(U *)(y + at) = HALVES_SELECT((M)HALVES_LATER(odd, even), odd, even);                                     \
        }                                                                                                              \
    }
/* y[i] = the mean of the same four: rows first, then columns, as window_body.h sums them. */
#define HALVES_MEAN(L)                                                                                                 \
    static void WINDOW_NAME(mean_row##L)(int64_t n, const WINDOW_T *x0, const WINDOW_T *x1, WINDOW_T *y) {             \
        typedef WINDOW_T V __attribute__((vector_size(L * sizeof(WINDOW_T))));                                         \
        typedef WINDOW_T U __attribute__((vector_size(L * sizeof(WINDOW_T)), aligned(sizeof(WINDOW_T)), may_alias));   \
        for (int64_t i = 0; i < n; i += L) {                                                                           \
            const int64_t at = WICK_MIN(i, n - L);                                                                     \
            const V j0 = HALVES_LOAD(x0 + 2 * at) + HALVES_LOAD(x1 + 2 * at),                                          \
                    j1 = HALVES_LOAD(x0 + 2 * at + L) + HALVES_LOAD(x1 + 2 * at + L);                                  \
            const V even = __builtin_shufflevector(j0, j1, HALVES_EVEN##L),                                            \
                    odd = __builtin_shufflevector(j0, j1, HALVES_ODD##L);                                              \
            *(U *)(y + at) = (even + odd) * (WINDOW_T)0.25;                                                            \
        }                                                                                                              \
    }
#define HALVES_EVEN8 0, 2, 4, 6, 8, 10, 12, 14
#define HALVES_ODD8  1, 3, 5, 7, 9, 11, 13, 15
#define HALVES_LOW8  0, 8, 1, 9, 2, 10, 3, 11
#define HALVES_HIGH8 4, 12, 5, 13, 6, 14, 7, 15
#define HALVES_EVEN4 0, 2, 4, 6
#define HALVES_ODD4  1, 3, 5, 7
#define HALVES_LOW4  0, 4, 1, 5
#define HALVES_HIGH4 2, 6, 3, 7

/* v gets y[i] where the largest is (the first, or the last NaN), else 0: in order a b of the upper row, c d of the
 * lower. */
#define HALVES_PUT(L)                                                                                                  \
    static void WINDOW_NAME(put_row##L)(int64_t n, const WINDOW_T *x0, const WINDOW_T *x1, const WINDOW_T *y,          \
                                        WINDOW_T *v0, WINDOW_T *v1) {                                                  \
        typedef WINDOW_T V __attribute__((vector_size(L * sizeof(WINDOW_T))));                                         \
        typedef WINDOW_I M __attribute__((vector_size(L * sizeof(WINDOW_T))));                                         \
        typedef WINDOW_T U __attribute__((vector_size(L * sizeof(WINDOW_T)), aligned(sizeof(WINDOW_T)), may_alias));   \
        for (int64_t i = 0; i < n; i += L) {                                                                           \
            const int64_t at = WICK_MIN(i, n - L);                                                                     \
            const V up[2] = {HALVES_LOAD(x0 + 2 * at), HALVES_LOAD(x0 + 2 * at + L)}, g = HALVES_LOAD(y + at);         \
            const V low[2] = {HALVES_LOAD(x1 + 2 * at), HALVES_LOAD(x1 + 2 * at + L)};                                 \
            const V a = __builtin_shufflevector(up[0], up[1], HALVES_EVEN##L),                                         \
                    b = __builtin_shufflevector(up[0], up[1], HALVES_ODD##L);                                          \
            const V c = __builtin_shufflevector(low[0], low[1], HALVES_EVEN##L),                                       \
                    d = __builtin_shufflevector(low[0], low[1], HALVES_ODD##L);                                        \
            const M to_b = (M)HALVES_LATER(b, a);                                                                      \
            const V ab = HALVES_SELECT(to_b, b, a);                                                                    \
            const M to_c = (M)HALVES_LATER(c, ab);                                                                     \
            const V abc = HALVES_SELECT(to_c, c, ab);                                                                  \
            const M to_d = (M)HALVES_LATER(d, abc), gd = (M)g & to_d, gc = (M)g & ~to_d & to_c,                        \
                    gab = (M)g & ~to_d & ~to_c;                                                                        \
            const M ga = gab & ~to_b, gb = gab & to_b;                                                                 \
            *(U *)(v0 + 2 * at) = (V)__builtin_shufflevector(ga, gb, HALVES_LOW##L);                                   \
            *(U *)(v0 + 2 * at + L) = (V)__builtin_shufflevector(ga, gb, HALVES_HIGH##L);                              \
            *(U *)(v1 + 2 * at) = (V)__builtin_shufflevector(gc, gd, HALVES_LOW##L);                                   \
            *(U *)(v1 + 2 * at + L) = (V)__builtin_shufflevector(gc, gd, HALVES_HIGH##L);                              \
        }                                                                                                              \
    }
HALVES_MAX(8)
HALVES_MAX(4)
HALVES_MEAN(8)
HALVES_MEAN(4)
HALVES_PUT(8)
HALVES_PUT(4)

/* For n elements that are some rows further: from memory, rows as short as an image's are not found by the CPU in time.
 */
static __attribute__((noinline)) void WINDOW_NAME(ask)(const WINDOW_T *x, int64_t n) {
    enum { LINE = 64 / sizeof(WINDOW_T), AHEAD = 8192 / sizeof(WINDOW_T) };
    for (int64_t k = 0; k < n; k += LINE) __builtin_prefetch(x + AHEAD + k);
}

/* Rows of windows of all planes, by one of the functions above. */
static inline __attribute__((always_inline)) void
WINDOW_NAME(rows_of_halves)(const wick_windows *w, int64_t begin, int64_t end, const WINDOW_T *from, WINDOW_T *to,
                            void (*row)(int64_t n, const WINDOW_T *x0, const WINDOW_T *x1, WINDOW_T *y)) {
    const int64_t width = w->in[2], rows = w->out[1], n = w->out[2];
    for (int64_t p = begin * w->in[0]; p < end * w->in[0]; p++) { /* kernel and stride of the first dim are 1 */
        const WINDOW_T *x = from + p * w->in[1] * width;
        WINDOW_T *y = to + p * rows * n;
        for (int64_t r = 0; r < rows; r++, x += 2 * width, y += n) {
            if (w->from_dram) WINDOW_NAME(ask)(x, 2 * width);
            row(n, x, x + width, y);
        }
    }
}
static void WINDOW_NAME(max_halves)(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y,
                                    void *scratch) {
    (void)scratch;
    if (w->out[2] >= 8)
        WINDOW_NAME(rows_of_halves)(w, begin, end, x, y, WINDOW_NAME(max_row8));
    else
        WINDOW_NAME(rows_of_halves)(w, begin, end, x, y, WINDOW_NAME(max_row4));
}
static void WINDOW_NAME(mean_halves)(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y,
                                     void *scratch) {
    (void)scratch;
    if (w->out[2] >= 8)
        WINDOW_NAME(rows_of_halves)(w, begin, end, x, y, WINDOW_NAME(mean_row8));
    else
        WINDOW_NAME(rows_of_halves)(w, begin, end, x, y, WINDOW_NAME(mean_row4));
}

static void WINDOW_NAME(put_halves)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, const void *yv,
                                    void *vv) {
    const int64_t width = w->in[2], rows = w->out[1], n = w->out[2];
    for (int64_t p = begin * w->in[0]; p < end * w->in[0]; p++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + p * w->in[1] * width, *y = (const WINDOW_T *)yv + p * rows * n;
        WINDOW_T *v = (WINDOW_T *)vv + p * w->in[1] * width;
        for (int64_t r = 0; r < rows; r++, x += 2 * width, v += 2 * width, y += n) {
            if (w->from_dram) WINDOW_NAME(ask)(x, 2 * width), WINDOW_NAME(ask)(v, 2 * width);
            (n >= 8 ? WINDOW_NAME(put_row8) : WINDOW_NAME(put_row4))(n, x, x + width, y, v, v + width);
            for (int64_t i = 2 * n; i < width; i++) v[i] = v[width + i] = 0; /* beyond the last window */
        }
        if (2 * rows < w->in[1]) memset(v, 0, (size_t)((w->in[1] - 2 * rows) * width) * sizeof *v);
    }
}
#undef HALVES_SELECT
#undef HALVES_LOAD
#undef HALVES_LATER
#undef HALVES_MAX
#undef HALVES_MEAN
#undef HALVES_PUT
#undef HALVES_EVEN8
#undef HALVES_ODD8
#undef HALVES_LOW8
#undef HALVES_HIGH8
#undef HALVES_EVEN4
#undef HALVES_ODD4
#undef HALVES_LOW4
#undef HALVES_HIGH4
