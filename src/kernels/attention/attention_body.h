/* attention_body.h: the softmax of a tile of scores and its gradient, one query a lane; included once per type with
 * ATT_T, ATT_NAME, ATT_EXP and ATT_LOG defined. Loops over lanes have no order among them, so that compilers make
 * vectors of them. */

/* What a lane of row i sees is from `first` on. */
#define ATT_PREFIX(i) WICK_MAX(0, WICK_MIN(n, t->first + (i)))
/* Whole vectors, which the compiler is told. */
#define ATT_LANES     (t->lanes & ~(int64_t)((8 << WICK_TIER_ID) / sizeof(ATT_T) - 1))

static bool ATT_NAME(weights)(const wick_attention_tile *t) {
    const int64_t n = ATT_LANES, keys = t->keys;
    const ATT_T scale = (ATT_T)t->scale;
    ATT_T *restrict scores = t->scores, *restrict max = t->max, *restrict sum = t->sum, *restrict move = t->move;
    ATT_T shift[BQ], part[BQ];
    for (int64_t q = 0; q < n; q++) shift[q] = move ? max[q] : -(ATT_T)INFINITY;

    /* Where all is seen, the largest of the scaled is the largest, scaled (rounding keeps the order): the scores are
     * scaled on their way to exp. */
    const bool later = !t->mask && t->first + keys - 1 <= 0 && scale > 0;
    const ATT_T by = later ? scale : 1;
    int64_t i = 0;
    for (; i + 4 <= keys && later; i += 4) {
        const ATT_T *restrict a = scores + i * BQ, *restrict b = a + BQ, *restrict c = b + BQ, *restrict d = c + BQ;
        for (int64_t q = 0; q < n; q++) {
            const ATT_T x = a[q] > b[q] ? a[q] : b[q], y = c[q] > d[q] ? c[q] : d[q];
            /* a NaN may hide larger ones: its query becomes NaN whatever the maximum */
            const ATT_T z = (x > y ? x : y) * scale;
            shift[q] = z > shift[q] ? z : shift[q];
        }
    }
    for (; i < keys && later; i++) {
        const ATT_T *restrict a = scores + i * BQ;
        for (int64_t q = 0; q < n; q++) shift[q] = a[q] * scale > shift[q] ? a[q] * scale : shift[q];
    }
    for (; i < keys; i++) {
        ATT_T *restrict a = scores + i * BQ;
        const ATT_T *restrict mask = t->mask ? (const ATT_T *)t->mask + i * BQ : NULL;
        const int64_t hidden = ATT_PREFIX(i);
        if (mask)
            for (int64_t q = 0; q < n; q++) a[q] = a[q] * scale + mask[q];
        else
            for (int64_t q = 0; q < n; q++) a[q] *= scale;
        for (int64_t q = 0; q < hidden; q++) a[q] = -(ATT_T)INFINITY;
        for (int64_t q = 0; q < n; q++) shift[q] = a[q] > shift[q] ? a[q] : shift[q];
    }

    /* Vectors, so without a choice in the loop: before the first tile, `move` is what it was, and the maximum what it
     * becomes. */
    int still = 0;
    for (int64_t q = 0; q < n && move; q++) {
        /* -Inf both: nothing seen */
        const ATT_T top = shift[q], was = max[q], factor = ATT_EXP(was - top), by_one = top == was ? 1 : factor;
        move[q] = by_one;
        still += by_one == 1;
    }
    for (int64_t q = 0; q < n; q++) {
        const ATT_T top = shift[q];
        max[q] = top;
        shift[q] = top == -(ATT_T)INFINITY ? 0 : top; /* nothing is seen yet: weights are 0, not NaN */
        part[q] = 0;
    }
    for (i = 0; i + 4 <= keys; i += 4) {
        ATT_T *restrict a = scores + i * BQ, *restrict b = a + BQ, *restrict c = b + BQ, *restrict d = c + BQ;
        for (int64_t q = 0; q < n; q++) {
            a[q] = ATT_EXP(a[q] * by - shift[q]);
            b[q] = ATT_EXP(b[q] * by - shift[q]);
            c[q] = ATT_EXP(c[q] * by - shift[q]);
            d[q] = ATT_EXP(d[q] * by - shift[q]);
            part[q] += (a[q] + b[q]) + (c[q] + d[q]);
        }
    }
    for (; i < keys; i++) {
        ATT_T *restrict a = scores + i * BQ;
        for (int64_t q = 0; q < n; q++) a[q] = ATT_EXP(a[q] * by - shift[q]), part[q] += a[q];
    }
    for (int64_t q = 0; q < n; q++) sum[q] = move ? sum[q] * move[q] + part[q] : part[q];
    if (t->keep) {
        const float drop = (float)t->dropout;
        const ATT_T more = (ATT_T)(1 / (1 - t->dropout));
        for (i = 0; i < keys; i++)
            for (int64_t q = 0; q < n; q++)
                scores[i * BQ + q] = t->keep[i * BQ + q] >= drop ? scores[i * BQ + q] * more : 0;
    }
    return move && still < n;
}

static void ATT_NAME(scale)(void *to, int64_t rows, int64_t cols, int64_t row, const void *by) {
    for (int64_t i = 0; i < rows; i++) {
        ATT_T *restrict y = (ATT_T *)to + i * row;
        const ATT_T x = ((const ATT_T *)by)[i];
        for (int64_t c = 0; c < cols; c++) y[c] *= x;
    }
}

static void ATT_NAME(finish)(const wick_attention_tile *t, const void *from, int64_t rows, int64_t cols,
                             int64_t from_row, void *to, int64_t to_row, void *lse) {
    for (int64_t i = 0; i < rows; i++) {
        const ATT_T sum = from ? ((const ATT_T *)t->sum)[i] : 0, by = 1 / sum;
        const ATT_T *restrict x = (const ATT_T *)from + (from ? i * from_row : 0);
        ATT_T *restrict y = (ATT_T *)to + i * to_row;
        if (sum == 0)
            for (int64_t c = 0; c < cols; c++) y[c] = 0;
        else
            for (int64_t c = 0; c < cols; c++) y[c] = x[c] * by;
        ((ATT_T *)lse)[i] = sum == 0 ? (ATT_T)INFINITY : ((const ATT_T *)t->max)[i] + ATT_LOG(sum);
    }
}

static void ATT_NAME(gradients)(const wick_attention_tile *t) {
    const int64_t n = ATT_LANES;
    const ATT_T scale = (ATT_T)t->scale, *restrict lse = t->lse, *restrict delta = t->delta;
    for (int64_t i = 0; i < t->keys; i++) {
        ATT_T *restrict s = (ATT_T *)t->scores + i * BQ, *restrict g = (ATT_T *)t->grads + i * BQ;
        const ATT_T *restrict mask = t->mask ? (const ATT_T *)t->mask + i * BQ : NULL;
        const float *restrict keep = t->keep ? t->keep + i * BQ : NULL;
        const int64_t hidden = ATT_PREFIX(i);
        if (!mask && !keep) {
            for (int64_t q = 0; q < n; q++) {
                s[q] = ATT_EXP(s[q] * scale - lse[q]);
                g[q] = s[q] * (g[q] - delta[q]) * scale;
            }
        } else {
            const float drop = (float)t->dropout;
            const ATT_T by = (ATT_T)(1 / (1 - t->dropout));
            for (int64_t q = 0; q < n; q++) s[q] = ATT_EXP(s[q] * scale + (mask ? mask[q] : 0) - lse[q]);
            for (int64_t q = 0; q < n && keep; q++) g[q] = keep[q] >= drop ? g[q] * by : 0;
            for (int64_t q = 0; q < n; q++) g[q] = s[q] * (g[q] - delta[q]) * scale;
            for (int64_t q = 0; q < n && keep; q++) s[q] = keep[q] >= drop ? s[q] * by : 0;
        }
        for (int64_t q = 0; q < hidden; q++) s[q] = g[q] = 0;
    }
}

static void ATT_NAME(add)(int64_t n, int64_t parts, const void *const *from, void *to) {
    ATT_T *restrict y = to;
    for (int64_t i = 0; i < n; i++) y[i] = ((const ATT_T *)from[0])[i];
    for (int64_t p = 1; p < parts; p++) {
        const ATT_T *restrict x = from[p];
        for (int64_t i = 0; i < n; i++) y[i] += x[i];
    }
}
#undef ATT_PREFIX
#undef ATT_LANES
