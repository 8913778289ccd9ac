/* gemv.h: a few rows of A times B in place: what is read a few times only is not worth packing. The chain of
 * multiply-adds per element is that of the tiles. Included by gemm_tier.c once per type. */

/* What follows the sums of `rows` rows: columns [at, at + cols) of C; sums of a row are `width` apart, and may be read
 * to a whole number of vectors. */
GEMM_INLINE void GEMM_NAME(finish_rows)(const wick_gemm_tile *whole, const int rows, int64_t at, int64_t cols,
                                        const GEMM_T *sums, int64_t width) {
    wick_gemm_tile t = *whole;
    t.c = (GEMM_T *)t.c + at * t.c_col;
    if (t.bias_mode == 1) t.bias = (const GEMM_T *)t.bias + at;
    t.cols = cols;
    GEMM_NAME(finish_part)(&t, sums, rows, width);
}

/* ---- rows of B are contiguous ------------------------------------------------------------------------------------ */

/* `steps` rows of B into the sums of columns [0, cols). */
GEMM_INLINE void GEMM_NAME(sweep_rows)(const GEMM_T *a, int64_t a_row, int64_t a_col, const GEMM_T *b, int64_t b_row,
                                       int64_t cols, GEMM_T *sums, int64_t width, const int rows, const int steps) {
    enum { L = GEMM_NAME(L) };
    for (int64_t j = 0; j < cols; j += L) {
        GEMM_NAME(vec) y[WICK_GEMM_SWEEP_STEPS];
        GEMM_UNROLL
        for (int p = 0; p < steps; p++) {
            const GEMM_T *from = b + p * b_row + j;
            y[p] = cols - j >= L ? GEMM_NAME(load)(from) : GEMM_NAME(load_part)(from, cols - j);
        }
        GEMM_UNROLL
        for (int i = 0; i < rows; i++) {
            GEMM_NAME(vec) sum = GEMM_NAME(load)(sums + i * width + j);
            GEMM_UNROLL
            for (int p = 0; p < steps; p++) sum = GEMM_NAME(fma)(GEMM_NAME(set1)(a[i * a_row + p * a_col]), y[p], sum);
            GEMM_NAME(store)(sums + i * width + j, sum);
        }
    }
}

/* Goes over B as it lies in memory, a few rows at a time; sums wait in L1. */
GEMM_INLINE void GEMM_NAME(sweep)(const wick_gemm_tile *t, const int rows, int64_t from) {
    enum { L = GEMM_NAME(L), STEPS = WICK_GEMM_SWEEP_STEPS, MOST = WICK_GEMM_SWEEP_BYTES / (int)sizeof(GEMM_T) };
    GEMM_T sums[MOST] __attribute__((aligned(64)));
    const int64_t most = MOST / (rows <= 4 ? 4 : 8);
    for (int64_t at = from; at < t->cols; at += most) {
        const int64_t cols = WICK_MIN(most, t->cols - at), width = (int64_t)WICK_ALIGN_UP(cols, L);
        memset(sums, 0, (size_t)(rows * width) * sizeof *sums);
        const GEMM_T *a = t->a, *b = (const GEMM_T *)t->b + at;
        int64_t p = 0;
        for (; p + STEPS <= t->k; p += STEPS, a += STEPS * t->a_col, b += STEPS * t->b_row)
            GEMM_NAME(sweep_rows)(a, t->a_row, t->a_col, b, t->b_row, cols, sums, width, rows, STEPS);
        for (; p < t->k; p++, a += t->a_col, b += t->b_row)
            GEMM_NAME(sweep_rows)(a, t->a_row, t->a_col, b, t->b_row, cols, sums, width, rows, 1);
        GEMM_NAME(finish_rows)(t, rows, at, cols, sums, width);
    }
}

/* From a near cache in tiles as wide as the registers allow. */
GEMM_INLINE void GEMM_NAME(rows)(const wick_gemm_tile *whole, const int rows, const int vecs) {
    enum { L = GEMM_NAME(L) };
    if (whole->from_dram || rows > WICK_GEMM_FEW_NEAR) {
        GEMM_NAME(sweep)(whole, rows, 0);
        return;
    }
    wick_gemm_tile t = *whole;
    int64_t at = 0;
    for (; at < whole->cols; at += t.cols) {
        const int64_t rest = whole->cols - at;
        t.b = (const GEMM_T *)whole->b + at;
        t.c = (GEMM_T *)whole->c + at * t.c_col;
        t.bias = whole->bias_mode == 1 ? (const GEMM_T *)whole->bias + at : whole->bias;
        t.cols = WICK_MIN(rest, vecs * L);
        if (!GEMM_MASKED && t.cols % L) t.cols -= t.cols % L;
        if (t.cols == 0) break;
        if (t.cols > (vecs - 1) * L) {
            GEMM_NAME(tile)(&t, rows, vecs, false);
        } else if (vecs > 8 && t.cols > 7 * L) {
            t.cols = WICK_MIN(t.cols, 8 * L);
            GEMM_NAME(tile)(&t, rows, 8, false);
        } else {
            t.cols = WICK_MIN(t.cols, WICK_GEMM_NV * L);
            GEMM_NAME(tiles)[((t.cols + L - 1) / L - 1) * WICK_GEMM_MR + rows - 1](&t);
        }
    }
    if (at < whole->cols) GEMM_NAME(sweep)(whole, rows, at);
}

/* ---- B is packed in panels --------------------------------------------------------------------------------------- */

/* Columns of `panels` neighbouring panels, each a stream of its own. */
GEMM_INLINE void GEMM_NAME(sum_panels)(const wick_gemm_tile *t, const GEMM_T *b, GEMM_T *sums, const int rows,
                                       const int panels) {
    enum { L = GEMM_NAME(L), NV = WICK_GEMM_NV, WIDTH = WICK_GEMM_PANELS * NV };
    GEMM_NAME(vec) acc[WICK_GEMM_PANEL_ROWS * WIDTH];
    const int width = panels * NV;
    GEMM_UNROLL
    for (int i = 0; i < rows * width; i++) acc[i] = (GEMM_NAME(vec)){0};
    const GEMM_T *a = t->a;
    for (int64_t p = 0; p < t->k; p++, a += t->a_col, b += NV * L) {
        GEMM_NAME(vec) y[WIDTH];
        GEMM_UNROLL
        for (int v = 0; v < width; v++) y[v] = GEMM_NAME(load)(b + v / NV * t->b_row + v % NV * L);
        GEMM_UNROLL
        for (int i = 0; i < rows; i++) {
            const GEMM_NAME(vec) x = GEMM_NAME(set1)(a[i * t->a_row]);
            GEMM_UNROLL
            for (int v = 0; v < width; v++) acc[i * width + v] = GEMM_NAME(fma)(x, y[v], acc[i * width + v]);
        }
    }
    GEMM_UNROLL
    for (int i = 0; i < rows; i++) {
        GEMM_UNROLL
        for (int v = 0; v < width; v++) GEMM_NAME(store)(sums + (i * WIDTH + v) * L, acc[i * width + v]);
    }
}

/* t->b_row: the distance of panels. So many at once as keep a CPU's multiply-adds and streams busy. More rows than
 * registers hold go in two halves, the second of which finds the panel in L1. */
GEMM_INLINE void GEMM_NAME(panels)(const wick_gemm_tile *t, const int rows) {
    enum { NR = WICK_GEMM_NV * GEMM_NAME(L), WIDTH = WICK_GEMM_PANELS * NR };
    const int half = rows > WICK_GEMM_PANEL_ROWS ? (rows + 1) / 2 : rows, wide = WICK_GEMM_PANELS_OF(half);
    GEMM_T sums[WICK_GEMM_FEW_FAR * WIDTH] __attribute__((aligned(64)));
    for (int64_t at = 0, n; at < t->cols; at += n) {
        const GEMM_T *b = (const GEMM_T *)t->b + at / NR * t->b_row;
        n = WICK_MIN(t->cols - at, wide * NR);
        wick_gemm_tile rest = *t;
        rest.a = (const GEMM_T *)t->a + half * t->a_row;
        if (n > (wide - 1) * NR) {
            GEMM_NAME(sum_panels)(t, b, sums, half, wide);
            if (rows > half) GEMM_NAME(sum_panels)(&rest, b, sums + half * WIDTH, rows - half, wide);
        } else {
            n = WICK_MIN(n, NR);
            GEMM_NAME(sum_panels)(t, b, sums, half, 1);
            if (rows > half) GEMM_NAME(sum_panels)(&rest, b, sums + half * WIDTH, rows - half, 1);
        }
        GEMM_NAME(finish_rows)(t, rows, at, n, sums, WIDTH);
    }
}

/* ---- columns of B are contiguous --------------------------------------------------------------------------------- */

#undef GEMM_GROUP
#undef GEMM_FEW_COLUMNS
#if !GEMM_SQUARES
#define GEMM_GROUP       GEMM_NAME(LT)
#define GEMM_FEW_COLUMNS WICK_GEMM_FEW_BY_COLUMNS
typedef GEMM_NAME(tvec) GEMM_NAME(group);
typedef GEMM_NAME(tvecu) GEMM_NAME(groupu);
/* k steps of `groups` times LT columns, transposed in registers by the elements of a cache line at a time, two groups
 * after the other: so many lines stay in L1 where columns share its sets, and the chains of those before still run. */
GEMM_INLINE void GEMM_NAME(column_steps)(const wick_gemm_tile *t, const GEMM_T *a, const GEMM_T *b, int64_t k,
                                         const int rows, const int groups, GEMM_NAME(group) * acc) {
    enum { Q = GEMM_NAME(QUAD), LT = GEMM_NAME(LT), LINE = 64 / (int)sizeof(GEMM_T) };
    const int64_t a_row = t->a_row, a_col = t->a_col, col = t->b_row;
    int64_t bytes = col * (int64_t)sizeof *b, three = 3 * bytes;
    GEMM_HIDE(bytes);
    GEMM_HIDE(three);
    for (; k >= LINE; k -= LINE, b += LINE) {
        GEMM_UNROLL
        for (int h = 0; h < groups; h += 2) {
            const int n = groups - h < 2 ? 1 : 2;
            const char *from[2];
            const GEMM_T *x_at = a;
            GEMM_UNROLL
            for (int g = 0; g < n; g++) {
                from[g] = (const char *)(b + (h + g) * LT * col);
                GEMM_HIDE(from[g]);
                if (t->from_dram) {
                    const char *to = from[g] + WICK_GEMM_AHEAD;
                    GEMM_UNROLL
                    for (int j = 0; j < LT; j++, to += bytes) {
                        GEMM_HIDE(to);
                        __builtin_prefetch(to);
                    }
                }
            }
            for (int s = 0; s < LINE; s += Q, x_at += Q * a_col) {
                GEMM_NAME(tvec) y[2][Q];
                GEMM_UNROLL
                for (int g = 0; g < n; g++, from[g - 1] += 16) GEMM_NAME(transpose_few)(from[g], bytes, three, y[g]);
                GEMM_UNROLL
                for (int q = 0; q < Q; q++) {
                    GEMM_UNROLL
                    for (int i = 0; i < rows; i++) {
                        const GEMM_NAME(tvec) x = GEMM_NAME(short_set1)(x_at[i * a_row + q * a_col]);
                        GEMM_UNROLL
                        for (int g = 0; g < n; g++)
                            acc[i * groups + h + g] = GEMM_NAME(short_fma)(x, y[g][q], acc[i * groups + h + g]);
                    }
                }
            }
        }
        a += LINE * a_col;
    }
    for (; k > 0; k--, a += a_col, b++) {
        GEMM_UNROLL
        for (int g = 0; g < groups; g++) {
            GEMM_NAME(tvec) y = {0}; /* gcc -O1 sees the lanes set one by one, and the vector uninitialised */
            GEMM_UNROLL
            for (int j = 0; j < LT; j++) y[j] = b[(g * LT + j) * col];
            GEMM_UNROLL
            for (int i = 0; i < rows; i++)
                acc[i * groups + g] = GEMM_NAME(short_fma)(GEMM_NAME(short_set1)(a[i * a_row]), y, acc[i * groups + g]);
        }
    }
}
#else
#define GEMM_GROUP       16
#define GEMM_FEW_COLUMNS WICK_GEMM_FEW_BY_SQUARES
typedef GEMM_NAME(vec) GEMM_NAME(group);
typedef GEMM_NAME(vecu) GEMM_NAME(groupu);
/* y[i] = element i of 16 columns, `bytes` apart, of which `mask` are read: a line of each at once. */
GEMM_INLINE void GEMM_NAME(square)(const char *from, int64_t bytes, int64_t three, __mmask16 mask, __m512 y[16]) {
    __m512 u[16];
    GEMM_UNROLL
    for (int g = 0; g < 16; g += 4, from += 4 * bytes) {
        GEMM_HIDE(from);
        GEMM_UNROLL
        for (int q = 0; q < 4; q++)
            u[g + q] = mask == 0xffff ? _mm512_loadu_ps(from + (q == 3 ? three : q * bytes))
                                      : _mm512_maskz_loadu_ps(mask, from + (q == 3 ? three : q * bytes));
    }
    GEMM_NAME(transpose_quads)(u, 16);
    GEMM_UNROLL
    for (int r = 0; r < 4; r++) {
        const __m512 a = _mm512_shuffle_f32x4(u[r], u[4 + r], 0x44), b = _mm512_shuffle_f32x4(u[r], u[4 + r], 0xee);
        const __m512 c = _mm512_shuffle_f32x4(u[8 + r], u[12 + r], 0x44),
                     d = _mm512_shuffle_f32x4(u[8 + r], u[12 + r], 0xee);
        y[r] = _mm512_shuffle_f32x4(a, c, 0x88);
        y[4 + r] = _mm512_shuffle_f32x4(a, c, 0xdd);
        y[8 + r] = _mm512_shuffle_f32x4(b, d, 0x88);
        y[12 + r] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}
static __attribute__((noinline)) void GEMM_NAME(last_square)(const float *b, int64_t bytes, int64_t k,
                                                             float to[16][16]) {
    __m512 y[16];
    GEMM_NAME(square)((const char *)b, bytes, 3 * bytes, GEMM_NAME(mask_of)(k), y);
    GEMM_UNROLL
    for (int p = 0; p < 16; p++) _mm512_store_ps(to[p], y[p]);
}
/* A row of y into the sums, `groups` apart; a: a pointer for each three rows of A. */
GEMM_INLINE void GEMM_NAME(square_step)(__m512 *acc, const float **a, int64_t a_row, int64_t a_col, const __m512 y,
                                        const int rows, const int groups) {
    GEMM_UNROLL
    for (int i = 0; i < rows; i++)
        acc[i * groups] = _mm512_fmadd_ps(_mm512_set1_ps(a[i / 3][i % 3 * a_row]), y, acc[i * groups]);
    GEMM_UNROLL
    for (int i = 0; i < rows; i += 3) {
        a[i / 3] += a_col;
        GEMM_HIDE(a[i / 3]);
    }
}
/* As above, 16 columns by a line of each: no line is read twice, so that none has to stay in L1. Of many rows
 * multiply-adds still run while the next square is transposed; of one or two the chains are what takes time, so that
 * two groups of columns go side by side. */
GEMM_INLINE void GEMM_NAME(column_steps)(const wick_gemm_tile *t, const float *from, const float *b, int64_t k,
                                         const int rows, const int groups, __m512 *acc) {
    const int64_t a_row = t->a_row, a_col = t->a_col;
    int64_t bytes = t->b_row * (int64_t)sizeof *b, three = 3 * bytes;
    GEMM_HIDE(bytes);
    GEMM_HIDE(three);
    const float *a[(GEMM_FEW_COLUMNS + 2) / 3];
    GEMM_UNROLL
    for (int i = 0; i < rows; i += 3) a[i / 3] = from + i * a_row;
    for (; k >= 16; k -= 16, b += 16) {
        const float *line[(GEMM_FEW_COLUMNS + 2) / 3];
        GEMM_UNROLL
        for (int g = 0; g < groups; g++) {
            const char *columns = (const char *)b + g * 16 * bytes;
            __m512 y[16];
            if (t->from_dram) {
                const char *ahead = columns + WICK_GEMM_SQUARES_AHEAD;
                GEMM_UNROLL
                for (int j = 0; j < 16; j++, ahead += bytes) {
                    GEMM_HIDE(ahead);
                    __builtin_prefetch(ahead, 0, 2);
                }
            }
            memcpy(line, a, sizeof a);
            GEMM_NAME(square)(columns, bytes, three, 0xffff, y);
            GEMM_UNROLL
            for (int p = 0; p < 16; p++) GEMM_NAME(square_step)(acc + g, line, a_row, a_col, y[p], rows, groups);
        }
        memcpy(a, line, sizeof a);
    }
    if (k > 0) {
        float last[16][16] __attribute__((aligned(64)));
        GEMM_UNROLL
        for (int g = 0; g < groups; g++) {
            const float *line[(GEMM_FEW_COLUMNS + 2) / 3];
            memcpy(line, a, sizeof a);
            GEMM_NAME(last_square)(b + g * 16 * t->b_row, bytes, k, last);
            for (int64_t p = 0; p < k; p++)
                GEMM_NAME(square_step)(acc + g, line, a_row, a_col, _mm512_load_ps(last[p]), rows, groups);
        }
    }
}
#endif

/* All of k. The sums of blocks are added to `sums`, or the first is put there. */
GEMM_INLINE void GEMM_NAME(column_block)(const wick_gemm_tile *t, const GEMM_T *b, const int rows, const int groups,
                                         GEMM_T *sums, int64_t width) {
    const GEMM_T *a = t->a;
    bool add = t->add;
    int64_t rest = t->k;
    do {
        const int64_t k = WICK_MIN(rest, t->k_block);
        GEMM_NAME(group) acc[GEMM_SQUARES ? GEMM_FEW_COLUMNS : GEMM_FEW_COLUMNS * WICK_GEMM_COLUMN_GROUPS];
        GEMM_UNROLL
        for (int i = 0; i < rows * groups; i++) acc[i] = (GEMM_NAME(group)){0};
        GEMM_NAME(column_steps)(t, a, b, k, rows, groups, acc);
        GEMM_UNROLL
        for (int i = 0; i < rows * groups; i++) {
            GEMM_NAME(groupu) *const to = (GEMM_NAME(groupu) *)(sums + i / groups * width + i % groups * GEMM_GROUP);
            if (add) acc[i] = *to + acc[i];
            *to = acc[i];
        }
        add = true;
        a += k * t->a_col;
        b += k;
        rest -= k;
    } while (rest > 0);
}

enum { GEMM_NAME(columns_least) = GEMM_GROUP };
/* t->cols >= GROUP. From memory fewer columns at a time are faster: that many streams the CPU follows. */
GEMM_INLINE void GEMM_NAME(columns)(const wick_gemm_tile *whole, const int rows) {
    enum { LT = GEMM_NAME(LT), GROUP = GEMM_GROUP, GROUPS = WICK_GEMM_COLUMN_GROUPS, WIDTH = 8 * GROUPS * LT };
    GEMM_T sums[GEMM_FEW_COLUMNS * WIDTH], last[GEMM_FEW_COLUMNS * GROUP];
    wick_gemm_tile t = *whole;
    t.add = false; /* sums begin with what C holds */
    for (int64_t at = 0, cols; at < t.cols; at += cols) {
        cols = WICK_MIN(t.cols - at, WIDTH);
        for (int64_t i = 0; i < rows && whole->add; i++)
            for (int64_t j = 0; j < cols; j++)
                sums[i * WIDTH + j] = ((const GEMM_T *)t.c)[i * t.c_row + (at + j) * t.c_col];
        int64_t j = 0;
#if !GEMM_SQUARES
        const int groups = rows == 1 ? GROUPS : 2; /* two of each row are chains enough */
        for (; !t.from_dram && j + groups * LT <= cols; j += groups * LT) GEMM_NAME(column_block)
        (whole, (const GEMM_T *)t.b + (at + j) * t.b_row, rows, groups, sums + j, WIDTH);
        for (; !t.from_dram && groups > 2 && j + 2 * LT <= cols; j += 2 * LT)
            GEMM_NAME(column_block)(whole, (const GEMM_T *)t.b + (at + j) * t.b_row, rows, 2, sums + j, WIDTH);
#else
        for (; rows <= 2 && !t.from_dram && j + 2 * GROUP <= cols; j += 2 * GROUP)
            GEMM_NAME(column_block)(whole, (const GEMM_T *)t.b + (at + j) * t.b_row, rows, 2, sums + j, WIDTH);
#endif
        for (; j + GROUP <= cols; j += GROUP)
            GEMM_NAME(column_block)(whole, (const GEMM_T *)t.b + (at + j) * t.b_row, rows, 1, sums + j, WIDTH);
        const int64_t few = cols - j;
        if (few > 0) { /* with columns before them, whose sums are dropped */
            for (int64_t i = 0; i < rows && whole->add; i++)
                memcpy(last + (i + 1) * GROUP - few, sums + i * WIDTH + j, (size_t)few * sizeof *last);
            for (int64_t i = 0; i < rows * GROUP && whole->add; i++)
                if (i % GROUP < GROUP - few) last[i] = 0;
            GEMM_NAME(column_block)
            (whole, (const GEMM_T *)t.b + (at + cols - GROUP) * t.b_row, rows, 1, last, GROUP);
            for (int64_t i = 0; i < rows; i++)
                memcpy(sums + i * WIDTH + j, last + (i + 1) * GROUP - few, (size_t)few * sizeof *last);
        }
        GEMM_NAME(finish_rows)(&t, rows, at, cols, sums, WIDTH);
    }
}

#define GEMM_FEW(X)  X(1) X(2) X(3) X(4)
#define GEMM_MORE(X) X(5) X(6) X(7) X(8)
#define GEMM_MOST(X) X(9) X(10) X(11) X(12)
#if GEMM_SQUARES
#define GEMM_BY_COLUMNS(X) GEMM_FEW(X) GEMM_MORE(X) GEMM_MOST(X)
#else
#define GEMM_BY_COLUMNS(X) GEMM_FEW(X)
#endif
#define GEMM_KERNEL(n)                                                                                                 \
    static void GEMM_NAME(columns_##n)(const wick_gemm_tile *t) { GEMM_NAME(columns)(t, n); }
GEMM_BY_COLUMNS(GEMM_KERNEL)
#undef GEMM_KERNEL
#define GEMM_KERNEL(n) GEMM_NAME(columns_##n),
static wick_gemm_tile_fn *const GEMM_NAME(gemv_columns)[] = {GEMM_BY_COLUMNS(GEMM_KERNEL)};
#undef GEMM_KERNEL
#define GEMM_KERNEL(n)                                                                                                 \
    static void GEMM_NAME(rows_##n)(const wick_gemm_tile *t) { GEMM_NAME(rows)(t, n, WICK_GEMM_WIDE(n)); }
GEMM_FEW(GEMM_KERNEL)
GEMM_MORE(GEMM_KERNEL)
#undef GEMM_KERNEL
#define GEMM_KERNEL(n) GEMM_NAME(rows_##n),
static wick_gemm_tile_fn *const GEMM_NAME(gemv_rows)[WICK_GEMM_FEW_FAR] = {GEMM_FEW(GEMM_KERNEL)
                                                                               GEMM_MORE(GEMM_KERNEL)};
#undef GEMM_KERNEL
#define GEMM_KERNEL(n)                                                                                                 \
    static void GEMM_NAME(panels_##n)(const wick_gemm_tile *t) { GEMM_NAME(panels)(t, n); }
GEMM_FEW(GEMM_KERNEL)
GEMM_MORE(GEMM_KERNEL)
#undef GEMM_KERNEL
#define GEMM_KERNEL(n) GEMM_NAME(panels_##n),
static wick_gemm_tile_fn *const GEMM_NAME(gemv_panels)[WICK_GEMM_FEW_FAR] = {GEMM_FEW(GEMM_KERNEL)
                                                                                 GEMM_MORE(GEMM_KERNEL)};
#undef GEMM_KERNEL
#undef GEMM_FEW
#undef GEMM_MORE
#undef GEMM_MOST
#undef GEMM_BY_COLUMNS

/* k = 1, rows [0, rows) of C: a row at a time, as memory likes it; the arithmetic of a chain of one. */
static void GEMM_NAME(outer)(int64_t rows, int64_t cols, const void *av, int64_t a_row, const void *bv, void *cv,
                             int64_t c_row) {
    enum { L = GEMM_NAME(L) };
    const GEMM_T *a = av, *b = bv;
    GEMM_T *c = cv;
    for (int64_t i = 0; i < rows; i++, a += a_row, c += c_row) {
        const GEMM_NAME(vec) x = GEMM_NAME(set1)(*a);
        int64_t j = 0;
        for (; j + L <= cols; j += L) GEMM_NAME(store)(c + j, x * GEMM_NAME(load)(b + j) + (GEMM_NAME(vec)){0});
        for (; j < cols; j++) c[j] = *a * b[j] + 0;
    }
}
