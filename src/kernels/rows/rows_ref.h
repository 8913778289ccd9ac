/* rows_ref.h: the row kernels in plain C, the oracle of the others; included once per type. Sums are in long double. */

static void ROWS_NAME(softmax)(bool log, bool nontemporal, int64_t begin, int64_t end, int64_t cols, const void *from,
                               void *to) {
    (void)nontemporal;
    for (int64_t r = begin; r < end; r++) {
        const ROWS_T *x = (const ROWS_T *)from + r * cols;
        ROWS_T *y = (ROWS_T *)to + r * cols, max = -(ROWS_T)INFINITY;
        for (int64_t c = 0; c < cols; c++) max = x[c] > max ? x[c] : max;
        long double sum = 0;
        for (int64_t c = 0; c < cols; c++) sum += (long double)ROWS_EXP(x[c] - max);
        const ROWS_T log_sum = ROWS_LOG((ROWS_T)sum);
        for (int64_t c = 0; c < cols; c++)
            y[c] = log ? x[c] - max - log_sum : (ROWS_T)((long double)ROWS_EXP(x[c] - max) / sum);
    }
}

static int64_t ROWS_NAME(nll)(int64_t begin, int64_t end, int64_t cols, const void *from, const int64_t *label,
                              void *loss, void *probs) {
    int64_t bad = -1;
    for (int64_t r = begin; r < end; r++) {
        const ROWS_T *x = (const ROWS_T *)from + r * cols;
        ROWS_T *p = probs ? (ROWS_T *)probs + r * cols : NULL, *out = (ROWS_T *)loss + r;
        if (label[r] < 0 || label[r] >= cols) {
            if (bad < 0) bad = r;
            *out = 0;
            for (int64_t c = 0; p && c < cols; c++) p[c] = 0;
            continue;
        }
        ROWS_T max = -(ROWS_T)INFINITY;
        for (int64_t c = 0; c < cols; c++) max = x[c] > max ? x[c] : max;
        long double sum = 0;
        for (int64_t c = 0; c < cols; c++) sum += (long double)ROWS_EXP(x[c] - max);
        *out = ROWS_LOG((ROWS_T)sum) - (x[label[r]] - max);
        for (int64_t c = 0; p && c < cols; c++) p[c] = (ROWS_T)((long double)ROWS_EXP(x[c] - max) / sum);
    }
    return bad;
}

static void ROWS_NAME(layer_norm)(bool nontemporal, int64_t begin, int64_t end, int64_t cols, double eps,
                                  const void *from, const void *weight, const void *bias, void *to, void *means,
                                  void *rstds) {
    (void)nontemporal;
    const ROWS_T *w = weight, *b = bias;
    for (int64_t r = begin; r < end; r++) {
        const ROWS_T *x = (const ROWS_T *)from + r * cols;
        ROWS_T *y = (ROWS_T *)to + r * cols;
        long double sum = 0, squares = 0;
        for (int64_t c = 0; c < cols; c++) sum += (long double)x[c];
        const ROWS_T mean = means ? (ROWS_T)(sum / cols) : 0;
        for (int64_t c = 0; c < cols; c++) squares += (long double)((x[c] - mean) * (x[c] - mean));
        const ROWS_T rstd = (ROWS_T)(1 / sqrt((double)(squares / cols) + eps));
        for (int64_t c = 0; c < cols; c++) y[c] = (x[c] - mean) * rstd * (w ? w[c] : 1) + (b ? b[c] : 0);
        if (means) ((ROWS_T *)means)[r] = mean;
        ((ROWS_T *)rstds)[r] = rstd;
    }
}
