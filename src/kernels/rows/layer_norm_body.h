/* layer_norm_body.h: (x - mean) / sqrt(variance + eps) * weight + bias over the vectors of rows_vec.h; included once
 * per type. Ba, Kiros, Hinton: Layer normalization, 2016. Mean first, then the squares of distances from it: with one
 * pass over x and x^2 the variance of a row far from 0 would cancel away. Without means: Zhang, Sennrich: Root mean square
 * layer normalization, 2019. */
static void ROWS_NAME(layer_norm)(int64_t begin, int64_t end, int64_t cols, double eps, const void *from,
                                  const void *weight, const void *bias, void *to, void *means, void *rstds) {
    enum { L = ROWS_NAME(L) };
    const ROWS_T *w = weight, *b = bias;
    const ROWS_NAME(vec) zero = {0}, one = ROWS_NAME(set1)(1);
    for (int64_t r = begin; r < end; r++) {
        const ROWS_T *x = (const ROWS_T *)from + r * cols;
        ROWS_T *y = (ROWS_T *)to + r * cols;
        const ROWS_T mean = means ? (ROWS_T)(ROWS_NAME(sum)(x, cols, false, 0) / (double)cols) : 0;
        const double variance = ROWS_NAME(sum)(x, cols, true, mean) / (double)cols;
        const ROWS_T rstd = (ROWS_T)(1 / sqrt(variance + eps));
        const ROWS_NAME(vec) shift = ROWS_NAME(set1)(mean), scale = ROWS_NAME(set1)(rstd);
        int64_t i = 0;
        for (; i + L <= cols; i += L) {
            ROWS_NAME(vec) v = (ROWS_NAME(load)(x + i) - shift) * scale;
            if (w) v *= ROWS_NAME(load)(w + i);
            if (b) v += ROWS_NAME(load)(b + i);
            ROWS_NAME(store)(y + i, v);
        }
        if (i < cols) {
            ROWS_NAME(vec) v = (ROWS_NAME(load_part)(x + i, cols - i, shift) - shift) * scale;
            if (w) v *= ROWS_NAME(load_part)(w + i, cols - i, one);
            if (b) v += ROWS_NAME(load_part)(b + i, cols - i, zero);
            ROWS_NAME(store_part)(y + i, cols - i, v);
        }
        if (means) ((ROWS_T *)means)[r] = mean;
        ((ROWS_T *)rstds)[r] = rstd;
    }
}
