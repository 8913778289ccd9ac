/* layer_norm_body.h: (x - mean) / sqrt(variance + eps) * weight + bias over the vectors of rows_vec.h; included once
 * per type. Ba, Kiros, Hinton: Layer normalization, 2016. Mean first, then the squares of distances from it: with one
 * pass over x and x^2 the variance of a row far from 0 would cancel away. Without means: Zhang, Sennrich: Root mean
 * square layer normalization, 2019. */
static void ROWS_NAME(layer_norm)(bool nontemporal, int64_t begin, int64_t end, int64_t cols, double eps,
                                  const void *from, const void *weight, const void *bias, void *to, void *means,
                                  void *rstds) {
    enum { L = ROWS_NAME(L) };
    const ROWS_T *w = weight, *b = bias;
    const ROWS_NAME(vec) zero = {0}, one = ROWS_NAME(set1)(1);
    /* Step by step for some rows that stay in L1: the folds and roots that a row's step ends with overlap with the next
     * row's. */
    enum { TOGETHER = 8 };
    const int64_t step = WICK_MIN(TOGETHER, WICK_MAX(ROWS_NAME(IN_L1) / WICK_MAX(cols, 1), 1));
    nontemporal = nontemporal && ROWS_NAME(may_pass)(to, cols);
    for (int64_t first = begin; first < end; first += step) {
        const int64_t rows = WICK_MIN(end - first, step);
        ROWS_T mean[TOGETHER] = {0}, rstd[TOGETHER];
        const ROWS_T *x = (const ROWS_T *)from + first * cols;
        ROWS_T *y = (ROWS_T *)to + first * cols;
        for (int64_t r = 0; means && r < rows; r++)
            mean[r] = (ROWS_T)(ROWS_NAME(sum)(x + r * cols, cols, false, 0) / (double)cols);
        for (int64_t r = 0; r < rows; r++)
            rstd[r] = (ROWS_T)(1 / sqrt(ROWS_NAME(sum)(x + r * cols, cols, true, mean[r]) / (double)cols + eps));
        for (int64_t r = 0; r < rows; r++, x += cols, y += cols) {
            const ROWS_NAME(vec) shift = ROWS_NAME(set1)(mean[r]), scale = ROWS_NAME(set1)(rstd[r]);
            int64_t i = 0;
            for (; i + L <= cols; i += L) {
                if (nontemporal) __builtin_prefetch(x + i + step * cols);
                ROWS_NAME(vec) v = (ROWS_NAME(load)(x + i) - shift) * scale;
                if (w) v *= ROWS_NAME(load)(w + i);
                if (b) v += ROWS_NAME(load)(b + i);
                if (nontemporal)
                    ROWS_NAME(store_nontemporal)(y + i, v);
                else
                    ROWS_NAME(store)(y + i, v);
            }
            if (i < cols) {
                ROWS_NAME(vec) v = (ROWS_NAME(load_part)(x + i, cols - i, shift) - shift) * scale;
                if (w) v *= ROWS_NAME(load_part)(w + i, cols - i, one);
                if (b) v += ROWS_NAME(load_part)(b + i, cols - i, zero);
                ROWS_NAME(store_part)(y + i, cols - i, v);
            }
        }
        if (means) memcpy((ROWS_T *)means + first, mean, (size_t)rows * sizeof *mean);
        memcpy((ROWS_T *)rstds + first, rstd, (size_t)rows * sizeof *rstd);
    }
    if (nontemporal) wick_stream_end();
}
