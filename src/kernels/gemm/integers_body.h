/* integers_body.h: the product for one width; included by integers_tier.c with INT_T and INT_NAME. Four rows of C take
 * each row of B together; a block of columns stays in L1. */
static void INT_NAME(int64_t begin, int64_t end, int64_t n, int64_t k, int64_t a_row, int64_t a_col, const void *av,
                     const void *bv, void *cv) {
    enum { COLS = 2048 / (int)sizeof(INT_T) };
    const INT_T *a = av, *b = bv;
    for (int64_t j0 = 0; j0 < n; j0 += COLS) {
        const int64_t cols = WICK_MIN(n - j0, COLS);
        int64_t i = begin;
        for (; i + 4 <= end; i += 4) {
            INT_T *restrict c0 = (INT_T *)cv + i * n + j0, *restrict c1 = c0 + n, *restrict c2 = c1 + n,
                            *restrict c3 = c2 + n;
            for (int r = 0; r < 4; r++) memset(c0 + r * n, 0, (size_t)cols * sizeof(INT_T));
            for (int64_t p = 0; p < k; p++) {
                const INT_T *x = a + i * a_row + p * a_col, *restrict row = b + p * n + j0;
                const INT_T x0 = x[0], x1 = x[a_row], x2 = x[2 * a_row], x3 = x[3 * a_row];
                for (int64_t j = 0; j < cols; j++) {
                    c0[j] += x0 * row[j];
                    c1[j] += x1 * row[j];
                    c2[j] += x2 * row[j];
                    c3[j] += x3 * row[j];
                }
            }
        }
        for (; i < end; i++) {
            INT_T *restrict c = (INT_T *)cv + i * n + j0;
            memset(c, 0, (size_t)cols * sizeof(INT_T));
            for (int64_t p = 0; p < k; p++) {
                const INT_T x = a[i * a_row + p * a_col], *restrict row = b + p * n + j0;
                for (int64_t j = 0; j < cols; j++) c[j] += x * row[j];
            }
        }
    }
}
#undef INT_T
#undef INT_NAME
