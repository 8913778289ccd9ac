/* gemm_tile.h: the register tile and the packing of one type. Included by gemm_tier.c once per type. */

#undef GEMM_SQUARES
#define GEMM_SQUARES (WICK_TIER_ID == 3 && GEMM_BITS == 32 && !GEMM_HALF)
#if GEMM_SQUARES
/* 8 elements of 16 columns, `bytes` apart: y[p] = element p of each. Half a line of a column is one load: quarters of
 * lines that are a power of two apart meet in one bank of L1. */
GEMM_INLINE void GEMM_NAME(transpose_16)(const char *src, int64_t bytes, int64_t three, __m512 y[8]) {
    __m512 u[8];
    GEMM_UNROLL
    for (int g = 0; g < 8; g += 4, src += 8 * bytes) { /* columns 0 to 3 beside 4 to 7, 8 to 11 beside 12 to 15 */
        const char *second = src + 4 * bytes;
        GEMM_HIDE(src);
        GEMM_HIDE(second);
        GEMM_UNROLL
        for (int q = 0; q < 4; q++) {
            const int64_t at = q == 3 ? three : q * bytes;
            u[g + q] =
                _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps((const float *)(const void *)(src + at))),
                                   _mm256_loadu_ps((const float *)(const void *)(second + at)), 1);
        }
    }
    GEMM_NAME(transpose_quads)(u, 8);
    GEMM_UNROLL
    for (int p = 0; p < 4; p++) {
        y[p] = _mm512_shuffle_f32x4(u[p], u[4 + p], 0x88);
        y[4 + p] = _mm512_shuffle_f32x4(u[p], u[4 + p], 0xdd);
    }
}
#endif

#if !GEMM_HALF
/* Packs where columns are contiguous: by blocks of LT columns, a chunk of each. LT is small enough that the columns'
 * cache lines stay in L1 even if all fall into one set; a chunk is long enough for the prefetcher. The last block
 * overlaps the one before it, and so do the halves of a block of less than LT columns. */
static __attribute__((noinline)) void GEMM_NAME(pack_columns)(int64_t k, int64_t cols, const GEMM_T *src, int64_t col,
                                                              GEMM_T *dst, int64_t dst_row) {
    enum { L = GEMM_NAME(L), Q = GEMM_NAME(QUAD), LT = GEMM_NAME(LT), CHUNK = WICK_GEMM_CHUNK / (int)sizeof(GEMM_T) };
    const int64_t padded = (cols + L - 1) / L * L;
    for (int64_t p0 = 0; p0 < k; p0 += CHUNK) {
        const int64_t end = WICK_MIN(k, p0 + CHUNK), whole = cols < Q ? p0 : end - (end - p0) % Q;
        if (padded > cols)
            for (int64_t p = p0; p < end; p++) GEMM_NAME(store)(dst + p * dst_row + padded - L, (GEMM_NAME(vec)){0});
        int64_t j0 = 0;
#if GEMM_SQUARES
        const int64_t bytes = col * (int64_t)sizeof *src, three = 3 * bytes;
        for (; j0 + 16 <= cols && (end - p0) % 8 == 0; j0 += 16) {
            for (int64_t p = p0; p < end; p += 8) {
                __m512 y[8];
                GEMM_NAME(transpose_16)((const char *)(src + j0 * col + p), bytes, three, y);
                GEMM_UNROLL
                for (int q = 0; q < 8; q++) GEMM_NAME(store)(dst + (p + q) * dst_row + j0, y[q]);
            }
        }
#endif
        for (; j0 < cols && cols >= LT; j0 += LT) {
            const int64_t j = WICK_MIN(j0, cols - LT);
            for (int64_t p = p0; p < whole; p += Q) {
                GEMM_NAME(tvec) y[Q];
                GEMM_NAME(transpose)(src + j * col + p, col, Q, y);
                GEMM_UNROLL
                for (int q = 0; q < Q; q++) *(GEMM_NAME(tvecu) *)(dst + (p + q) * dst_row + j) = y[q];
            }
        }
        for (int64_t p = p0; p < whole && cols < LT; p += Q) {
            GEMM_NAME(tvec) y[Q];
            GEMM_NAME(transpose)(src + p, col, cols - Q, y);
            GEMM_UNROLL
            for (int q = 0; q < Q; q++) {
                memcpy(dst + (p + q) * dst_row, &y[q], 16);
                memcpy(dst + (p + q) * dst_row + cols - Q, (const char *)&y[q] + sizeof y[q] - 16, 16);
            }
        }
        for (int64_t p = whole; p < end; p++)
            for (int64_t j = 0; j < cols; j++) dst[p * dst_row + j] = src[j * col + p];
    }
}

GEMM_INLINE void GEMM_NAME(pack_rows)(int64_t k, int64_t cols, const GEMM_T *src, int64_t row, GEMM_T *dst,
                                      int64_t dst_row) {
    enum { L = GEMM_NAME(L) };
    const int64_t whole = cols / L * L;
    for (int64_t p = 0; p < k; p++, src += row, dst += dst_row) {
        for (int64_t j = 0; j < whole; j += L) GEMM_NAME(store)(dst + j, GEMM_NAME(load)(src + j));
        if (cols == whole) continue;
        GEMM_NAME(store)(dst + whole, GEMM_NAME(load_part)(src + whole, cols - whole));
    }
}

static void GEMM_NAME(pack)(int64_t k, int64_t cols, const void *src, int64_t row, int64_t col, void *dst,
                            int64_t dst_row) {
    enum { L = GEMM_NAME(L) };
    if (col == 1) {
        GEMM_NAME(pack_rows)(k, cols, src, row, dst, dst_row);
    } else if (row == 1) {
        GEMM_NAME(pack_columns)(k, cols, src, col, dst, dst_row);
    } else {
        const int64_t padded = (cols + L - 1) / L * L;
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < padded; j++)
                ((GEMM_T *)dst)[p * dst_row + j] = j < cols ? ((const GEMM_T *)src)[p * row + j * col] : 0;
    }
}

#endif

/* The end of a tile that is not whole vectors of contiguous C: the same operations, row by row or element by element.
 */
static __attribute__((noinline)) void GEMM_NAME(finish_part)(const wick_gemm_tile *t, const GEMM_T *acc, int rows,
                                                             int64_t width) {
    enum { L = GEMM_NAME(L), W = (WICK_GEMM_MR + L - 1) / L * L, MOST = 32 };
#if !GEMM_HALF
    if (t->c_row == 1 && t->c_col != 1 && rows > 1) { /* of a transpose: by columns, which are contiguous */
        GEMM_T transposed[MOST * W];
        wick_gemm_tile u = *t;
        u.c_row = t->c_col;
        u.c_col = 1;
        u.cols = rows;
        u.bias_mode = t->bias_mode ? 3 - t->bias_mode : 0;
        for (int64_t j = 0, n; j < t->cols; j += n) {
            n = WICK_MIN(t->cols - j, MOST);
            u.c = (GEMM_T *)t->c + j * t->c_col;
            if (u.bias_mode == 2) u.bias = (const GEMM_T *)t->bias + j;
            GEMM_NAME(pack_columns)(n, rows, acc + j, width, transposed, W);
            GEMM_NAME(finish_part)(&u, transposed, (int)n, W);
        }
        return;
    }
#endif
    const GEMM_T *bias = t->bias;
    for (int i = 0; i < rows; i++, acc += width) {
        GEMM_T *c = (GEMM_T *)t->c + i * t->c_row;
        for (int64_t j = 0; t->c_col == 1 && j < t->cols; j += L) {
            const int64_t n = WICK_MIN(t->cols - j, L);
            GEMM_NAME(vec) x = GEMM_NAME(load)(acc + j);
            if (t->add) x = GEMM_NAME(load_part)(c + j, n) + x;
            if (t->bias_mode) x += t->bias_mode == 1 ? GEMM_NAME(load_part)(bias + j, n) : GEMM_NAME(set1)(bias[i]);
            if (t->relu) x = GEMM_NAME(relu)(x);
            GEMM_NAME(store_part)(c + j, n, x);
        }
        for (int64_t j = 0; t->c_col != 1 && j < t->cols; j++) {
            GEMM_T x = acc[j];
            if (t->add) x = c[j * t->c_col] + x;
            if (t->bias_mode) x += bias[t->bias_mode == 1 ? j : i];
            if (t->relu) x = x < 0 ? 0 : x;
            c[j * t->c_col] = x;
        }
    }
}

/* One step of k: a row of B by what A has `at` elements behind its pointers, of which each is for three rows. */
GEMM_INLINE void GEMM_NAME(step)(GEMM_NAME(vec) * acc, const GEMM_T *const *a, int64_t a_row, const int at,
                                 const GEMM_T *b, const GEMM_NAME(mask) * mask, const int rows, const int vecs) {
    enum { L = GEMM_NAME(L) };
    GEMM_NAME(vec) bv[GEMM_WIDEST];
    GEMM_UNROLL
    for (int v = 0; v < vecs; v++)
        bv[v] = v + 1 < vecs || !mask ? GEMM_NAME(load)(b + v * L) : GEMM_NAME(load_mask)(*mask, b + v * L);
    GEMM_UNROLL
    for (int i = 0; i < rows; i++) {
        const GEMM_NAME(vec) x = GEMM_NAME(set1)(a[i / 3][(i % 3) * a_row + at]);
        GEMM_UNROLL
        for (int v = 0; v < vecs; v++) acc[i * vecs + v] = GEMM_NAME(fma)(x, bv[v], acc[i * vecs + v]);
    }
}

/* Of p steps as many as are whole groups, with fewer instructions beside the arithmetic, by which it counts where
 * hyperthreads share a core. Returns how many are left. */
GEMM_INLINE int64_t GEMM_NAME(steps)(GEMM_NAME(vec) * acc, const GEMM_T **a, int64_t a_row, const int a_col,
                                     const GEMM_T **b_at, int64_t b_row, const char **ahead_at, int64_t ahead_step,
                                     int64_t p, const int rows, const int vecs) {
    const GEMM_T *b = *b_at;
    const char *ahead = *ahead_at;
    for (; p >= GEMM_STEPS; p -= GEMM_STEPS) {
        GEMM_UNROLL
        for (int s = 0; s < GEMM_STEPS; s++, b += b_row) {
            GEMM_HIDE(a_row); /* or the compiler keeps its sums with what is constant, and runs out of registers */
            GEMM_HIDE(b); /* or the compiler loads all steps' rows first, and runs out of registers */
            if (s % 2 == 0) {
                __builtin_prefetch(ahead, 0, 2); /* to L2 */
                ahead += 2 * ahead_step;
            }
            GEMM_NAME(step)(acc, a, a_row, s * a_col, b, NULL, rows, vecs);
        }
        GEMM_UNROLL
        for (int i = 0; i < (rows + 2) / 3; i++) {
            a[i] = i == 0 || a_col == 1 ? a[i] + GEMM_STEPS * a_col : a[0] + 3 * i; /* packed: one address */
            if (i == 0 || a_col == 1) GEMM_HIDE(a[i]);
        }
    }
    *b_at = b;
    *ahead_at = ahead;
    return p;
}

/* What follows the sums of rows [row, row + rows) of C from c on, whose vectors are whole but for the last, and their
 * stores. */
GEMM_INLINE void GEMM_NAME(finish)(const wick_gemm_tile *t, GEMM_NAME(vec) * acc, GEMM_T *c, const GEMM_T *bias,
                                   int64_t c_row, GEMM_NAME(mask) mask, int row, const int rows, const int vecs) {
    enum { L = GEMM_NAME(L) };
    if (t->add) {
        GEMM_T *from = c;
        GEMM_UNROLL
        for (int i = 0; i < rows; i++, from += c_row) {
            GEMM_HIDE(from); /* one address */
            GEMM_UNROLL
            for (int v = 0; v < vecs; v++)
                acc[i * vecs + v] =
                    (v + 1 < vecs ? GEMM_NAME(load)(from + v * L) : GEMM_NAME(load_mask)(mask, from + v * L)) +
                    acc[i * vecs + v];
        }
    }
    if (t->bias_mode == 1) {
        GEMM_NAME(vec) bv[GEMM_WIDEST];
        if (rows == 1) GEMM_HIDE(bias); /* or loads of one row become registers of all */
        GEMM_UNROLL
        for (int v = 0; v < vecs - 1; v++) bv[v] = GEMM_NAME(load)(bias + v * L);
        bv[vecs - 1] = GEMM_NAME(load_mask)(mask, bias + (vecs - 1) * L);
        GEMM_UNROLL
        for (int i = 0; i < rows * vecs; i++) acc[i] += bv[i % vecs];
    } else if (t->bias_mode == 2) {
        GEMM_UNROLL
        for (int i = 0; i < rows * vecs; i++) acc[i] += GEMM_NAME(set1)(bias[row + i / vecs]);
    }
    if (t->relu) {
        GEMM_UNROLL
        for (int i = 0; i < rows * vecs; i++) acc[i] = GEMM_NAME(relu)(acc[i]);
    }
    GEMM_UNROLL
    for (int i = 0; i < rows; i++, c += c_row) {
        GEMM_HIDE(c);
        GEMM_UNROLL
        for (int v = 0; v < vecs - 1; v++) GEMM_NAME(store)(c + v * L, acc[i * vecs + v]);
        GEMM_NAME(store_mask)(c + (vecs - 1) * L, mask, acc[i * vecs + vecs - 1]);
    }
}

/* rows, vecs and pieces are constants at every call, so that the loops unroll and acc lives in registers. pieces: A may
 * come in pieces. With masks, the last vector of B and of C ends where the columns do. */
GEMM_INLINE void GEMM_NAME(tile)(const wick_gemm_tile *t, const int rows, const int vecs, const bool pieces) {
    enum { L = GEMM_NAME(L) };
    typedef GEMM_NAME(vec) vec;
    const bool whole = t->cols == vecs * L;
    const GEMM_NAME(mask) mask = GEMM_NAME(mask_of)(t->cols - (vecs - 1) * L);
    vec acc[GEMM_ACCUMULATORS];
    GEMM_UNROLL
    for (int i = 0; i < rows * vecs; i++) acc[i] = (vec){0};

    /* A pointer per three rows: one address register and the row stride reach all three, so that 14 rows take 6. */
    const int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row;
    const GEMM_T *b = t->b, *a[(WICK_GEMM_MR + 2) / 3];
    const char *ahead = t->ahead ? t->ahead : t->b; /* or what is near */
    const int64_t ahead_step = t->ahead_step;
    if (t->from_dram && t->c_col == 1) { /* it is wanted after all steps */
        const GEMM_T *c = t->c;
        GEMM_UNROLL
        for (int i = 0; i < rows; i++, c += t->c_row) {
            GEMM_HIDE(c); /* one address */
            __builtin_prefetch(c);
            if (vecs > 1) __builtin_prefetch(c + (vecs - 1) * L);
        }
    }
    const int64_t *piece_at = pieces ? t->piece_at : NULL, n_pieces = piece_at ? t->pieces : 1;
    /* Whole vectors of contiguous C. In large tiles the last step of k is done row by row together with the epilogue,
     * so that the stores of one row overlap the arithmetic of others. */
    const bool by_rows = GEMM_STEPS > 1 && vecs == WICK_GEMM_NV && rows >= WICK_GEMM_MR / 2;
    const bool in_place =
        t->c_col == 1 && (GEMM_MASKED ? t->cols > (vecs - 1) * L : whole) && (!by_rows || (n_pieces > 0 && t->k > 0));
    for (int64_t piece = 0; piece < n_pieces; piece++) {
        const GEMM_T *from = (const GEMM_T *)t->a + (piece_at ? piece_at[piece] : 0);
        GEMM_UNROLL
        for (int i = 0; i < (rows + 2) / 3; i++) a[i] = from + 3 * i * a_row;
        int64_t p = t->k - (by_rows && in_place && piece + 1 == n_pieces);
        if (GEMM_STEPS > 1 && rows >= WICK_GEMM_MR / 2 && whole) {
            if (a_col == 1)
                p = GEMM_NAME(steps)(acc, a, a_row, 1, &b, b_row, &ahead, ahead_step, p, rows, vecs);
            else if (vecs == WICK_GEMM_NV && a_row == 1 && a_col == GEMM_PACKED_A)
                p = GEMM_NAME(steps)(acc, a, 1, GEMM_PACKED_A, &b, b_row, &ahead, ahead_step, p, rows, vecs);
        }
        for (; p > 0; p--) {
            __builtin_prefetch(ahead, 0, 2);
            ahead += ahead_step;
            GEMM_NAME(step)(acc, a, a_row, 0, b, &mask, rows, vecs);
            b += b_row;
            GEMM_UNROLL
            for (int i = 0; i < (rows + 2) / 3; i++) {
                a[i] += a_col;
                GEMM_HIDE(a[i]); /* keeps the compiler from turning these few pointers into one per row */
            }
        }
    }

    if (__builtin_expect(!in_place, 0)) {
        GEMM_T sums[GEMM_ACCUMULATORS * L];
        GEMM_UNROLL
        for (int i = 0; i < rows * vecs; i++) GEMM_NAME(store)(sums + i * L, acc[i]);
        GEMM_NAME(finish_part)(t, sums, rows, vecs * L);
        return;
    }
    GEMM_T *c = t->c;
    const GEMM_T *bias = t->bias;
    const int64_t c_row = t->c_row;
    if (by_rows) {
        vec bv[WICK_GEMM_NV];
        GEMM_UNROLL
        for (int v = 0; v < vecs - 1; v++) bv[v] = GEMM_NAME(load)(b + v * L);
        bv[vecs - 1] = GEMM_NAME(load_mask)(mask, b + (vecs - 1) * L);
        GEMM_UNROLL
        for (int i = 0; i < rows; i++, c += c_row) {
            const vec x = GEMM_NAME(set1)(a[i / 3][(i % 3) * a_row]);
            vec *sum = acc + i * vecs;
            GEMM_UNROLL
            for (int v = 0; v < vecs; v++) sum[v] = GEMM_NAME(fma)(x, bv[v], sum[v]);
            GEMM_NAME(finish)(t, sum, c, bias, c_row, mask, i, 1, vecs);
        }
    } else {
        GEMM_NAME(finish)(t, acc, c, bias, c_row, mask, 0, rows, vecs);
    }
}

/* The least, which the smallest products take, have a way without pieces. */
#define GEMM_TILE(rows, vecs)                                                                                          \
    static void GEMM_NAME(tile_##rows##x##vecs)(const wick_gemm_tile *t) {                                             \
        if (rows > 2 || t->piece_at) GEMM_NAME(tile)(t, rows, vecs, true);                                             \
        else GEMM_NAME(tile)(t, rows, vecs, false);                                                                    \
    }
#if GEMM_HALF
#define GEMM_ALL_TILES GEMM_TILES(GEMM_TILE, 1)
#else
#define GEMM_ALL_TILES GEMM_TILES(GEMM_TILE, 1) GEMM_TILES(GEMM_TILE, 2)
#endif
GEMM_ALL_TILES
#undef GEMM_TILE
#define GEMM_TILE(rows, vecs) GEMM_NAME(tile_##rows##x##vecs),
static wick_gemm_tile_fn *const GEMM_NAME(tiles)[] = {GEMM_ALL_TILES};
#undef GEMM_ALL_TILES
#undef GEMM_TILE
