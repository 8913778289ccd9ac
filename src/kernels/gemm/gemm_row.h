/* gemm_row.h: one row of A times row_unit columns of B, B in place: where B is read once, packing a whole panel first
 * would double the work. The chain of multiply-adds per element is that of the tiles. Included by gemm_tier.c once per
 * type. */
enum { GEMM_NAME(ROW_UNIT) = WICK_GEMM_ROW_BYTES / (int)sizeof(GEMM_T) };

static void GEMM_NAME(row_by_rows)(const wick_gemm_tile *t) {
    enum { L = GEMM_NAME(L), UNIT = GEMM_NAME(ROW_UNIT) };
    GEMM_NAME(vec) acc[UNIT / L];
    GEMM_UNROLL
    for (int v = 0; v < UNIT / L; v++) acc[v] = (GEMM_NAME(vec)){0};
    const GEMM_T *a = t->a, *b = t->b;
    for (int64_t p = t->k; p > 0; p--, a += t->a_col, b += t->b_row) {
        const GEMM_NAME(vec) x = GEMM_NAME(set1)(*a);
        GEMM_UNROLL
        for (int v = 0; v < UNIT / L; v++) acc[v] = GEMM_NAME(fma)(x, GEMM_NAME(load)(b + v * L), acc[v]);
    }
    GEMM_T whole[UNIT];
    GEMM_UNROLL
    for (int v = 0; v < UNIT / L; v++) GEMM_NAME(store)(whole + v * L, acc[v]);
    GEMM_NAME(finish_part)(t, whole, 1, UNIT);
}

/* Transposes a chunk of `side` vectors of columns at a time into a block that stays in L1, then goes down the block's rows. */
GEMM_INLINE void GEMM_NAME(down_columns)(const wick_gemm_tile *t, const int side) {
    enum { L = GEMM_NAME(L), UNIT = GEMM_NAME(ROW_UNIT), BLOCK = WICK_GEMM_CHUNK / (int)sizeof(GEMM_T) * UNIT };
    GEMM_T block[BLOCK], whole[UNIT];
    const int cols = side * L, chunk = BLOCK / cols;
    for (int c = 0; c < UNIT; c += cols) {
        GEMM_NAME(vec) acc[UNIT / L];
        GEMM_UNROLL
        for (int v = 0; v < side; v++) acc[v] = (GEMM_NAME(vec)){0};
        const GEMM_T *a = t->a, *b = (const GEMM_T *)t->b + c * t->b_row;
        for (int64_t p0 = 0; p0 < t->k; p0 += chunk, b += chunk) {
            const int64_t k = WICK_MIN(t->k - p0, chunk);
            GEMM_NAME(pack_columns)(k, cols, b, t->b_row, block, cols);
            for (int64_t p = 0; p < k; p++, a += t->a_col) {
                const GEMM_NAME(vec) x = GEMM_NAME(set1)(*a);
                GEMM_UNROLL
                for (int v = 0; v < side; v++) acc[v] = GEMM_NAME(fma)(x, GEMM_NAME(load)(block + p * cols + v * L), acc[v]);
            }
        }
        GEMM_UNROLL
        for (int v = 0; v < side; v++) GEMM_NAME(store)(whole + c + v * L, acc[v]);
    }
    GEMM_NAME(finish_part)(t, whole, 1, UNIT);
}
/* In cache all columns at once are fastest: the chains of several vectors overlap. From memory few in long pieces are: that many short pieces are
 * more than the CPU sees coming. */
static void GEMM_NAME(row_by_columns)(const wick_gemm_tile *t) {
    if (t->far)
        GEMM_NAME(down_columns)(t, 1);
    else
        GEMM_NAME(down_columns)(t, GEMM_NAME(ROW_UNIT) / GEMM_NAME(L));
}

/* k = 1, rows [0, rows) of C: a row at a time, as memory likes it; the arithmetic of a chain of one. */
static void GEMM_NAME(outer)(int64_t rows, int64_t cols, const void *av, int64_t a_row, const void *bv, void *cv, int64_t c_row) {
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
