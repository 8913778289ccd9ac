/* softmax_body.h: softmax, log softmax and negative log likelihood over the vectors of rows_vec.h; included once per
 * type.
 *
 * Long rows: the maximum, then exp(x - max) and its sum, then the quotient. Rows of up to SHORT columns, such as the
 * logits of ten classes, go WIDE rows at a time, one row in each lane: no vector is partly empty and nothing is folded.
 * Lanes do not touch each other, so that a row has the same bits in any company. x and y may be the same memory. */

enum { ROWS_NAME(SHORT) = 32, ROWS_NAME(WIDE) = 16, ROWS_NAME(PER) = ROWS_NAME(WIDE) / ROWS_NAME(L) };

/* t[c] = exp(t[c]); n is a multiple of L. */
ROWS_INLINE void ROWS_NAME(exp_all)(ROWS_NAME(vec) *t, int64_t n) {
#ifdef ROWS_EXP_VEC
    for (int64_t i = 0; i < n / ROWS_NAME(L); i++) t[i] = ROWS_EXP_VEC(t[i]);
#else
    ROWS_T *e = (ROWS_T *)t;
    n &= ~(int64_t)(ROWS_NAME(L) - 1);
    for (int64_t i = 0; i < n; i++) e[i] = ROWS_EXP(e[i]);
#endif
}

static ROWS_T ROWS_NAME(row_max)(const ROWS_T *x, int64_t n) {
    enum { L = ROWS_NAME(L), ACC = ROWS_NAME(ACC) };
    const ROWS_NAME(vec) lowest = ROWS_NAME(set1)(-(ROWS_T)INFINITY);
    ROWS_NAME(vec) acc[ACC];
    for (int v = 0; v < ACC; v++) acc[v] = lowest;
    int64_t i = 0;
    for (; i + L * ACC <= n; i += L * ACC)
        for (int v = 0; v < ACC; v++) acc[v] = ROWS_NAME(max)(ROWS_NAME(load)(x + i + v * L), acc[v]);
    for (; i + L <= n; i += L) acc[0] = ROWS_NAME(max)(ROWS_NAME(load)(x + i), acc[0]);
    if (i < n) acc[1] = ROWS_NAME(max)(ROWS_NAME(load_part)(x + i, n - i, lowest), acc[1]);
    return ROWS_NAME(fold_max)(acc);
}

/* y = exp(x - max) for n <= CHUNK elements, nothing when y is NULL; returns their sum, in the order of sum().
 * from_dram: what is `ahead` elements further is asked for; a constant at every call. */
ROWS_INLINE ROWS_T ROWS_NAME(exp_chunk)(const ROWS_T *x, int64_t n, ROWS_T max, ROWS_T *y, const bool from_dram,
                                        int64_t ahead) {
    enum { L = ROWS_NAME(L), ACC = ROWS_NAME(ACC) };
    const ROWS_NAME(vec) shift = ROWS_NAME(set1)(max), lowest = ROWS_NAME(set1)(-(ROWS_T)INFINITY);
    ROWS_NAME(vec) acc[ACC] = {0}, e[ACC];
    int64_t i = 0;
    for (; i + L * ACC <= n; i += L * ACC) {
        for (int v = 0; from_dram && v < ACC; v++) __builtin_prefetch(x + i + v * L + ahead);
#ifdef ROWS_EXP_VEC /* one after the other: an exponential takes half of AVX2's registers */
        for (int v = 0; v < ACC; v++) {
            e[0] = ROWS_EXP_VEC(ROWS_NAME(load)(x + i + v * L) - shift);
            if (y) ROWS_NAME(store)(y + i + v * L, e[0]);
            acc[v] += e[0];
        }
#else
        for (int v = 0; v < ACC; v++) e[v] = ROWS_NAME(load)(x + i + v * L) - shift;
        ROWS_NAME(exp_all)(e, L * ACC);
        for (int v = 0; v < ACC; v++) acc[v] += e[v];
        for (int v = 0; y && v < ACC; v++) ROWS_NAME(store)(y + i + v * L, e[v]);
#endif
    }
    for (int v = 0; v < ACC; v++, i += L) { /* constant bounds keep acc in registers */
        if (i >= n) break;
        const bool whole = i + L <= n;
        e[v] = (whole ? ROWS_NAME(load)(x + i) : ROWS_NAME(load_part)(x + i, n - i, lowest)) - shift;
        ROWS_NAME(exp_all)(e + v, L);
        acc[v] += e[v];
        if (y && whole) ROWS_NAME(store)(y + i, e[v]);
        if (y && !whole) ROWS_NAME(store_part)(y + i, n - i, e[v]);
    }
    return ROWS_NAME(fold_add)(acc);
}

/* y = (x - a - b) or x * a, as `log` says. */
ROWS_INLINE void ROWS_NAME(finish)(bool log, const ROWS_T *x, int64_t n, ROWS_T a, ROWS_T b, ROWS_T *y) {
    enum { L = ROWS_NAME(L) };
    const ROWS_NAME(vec) va = ROWS_NAME(set1)(a), vb = ROWS_NAME(set1)(b);
    int64_t i = 0;
    for (; i + L <= n; i += L) {
        const ROWS_NAME(vec) v = ROWS_NAME(load)(x + i);
        ROWS_NAME(store)(y + i, log ? v - va - vb : v * va);
    }
    if (i < n) {
        const ROWS_NAME(vec) v = ROWS_NAME(load_part)(x + i, n - i, va);
        ROWS_NAME(store_part)(y + i, n - i, log ? v - va - vb : v * va);
    }
}

/* Rows of any length, at most TOGETHER: exp(x - max) into y, or nothing when y is NULL. Step by step for all of them:
 * what a step of one row ends with (a fold, a quotient) overlaps with the next row's. */
enum { ROWS_NAME(TOGETHER) = 8 };
static void ROWS_NAME(exp_rows)(const ROWS_T *x, int64_t rows, int64_t cols, ROWS_T *max, double *sum, ROWS_T *y) {
    enum { CHUNK = ROWS_NAME(CHUNK) };
    for (int64_t r = 0; r < rows; r++) max[r] = ROWS_NAME(row_max)(x + r * cols, cols);
    for (int64_t r = 0; r < rows; r++) {
        sum[r] = 0;
        if (!y)
            for (int64_t i = 0; i < cols; i += CHUNK)
                sum[r] +=
                    (double)ROWS_NAME(exp_chunk)(x + r * cols + i, WICK_MIN(cols - i, CHUNK), max[r], NULL, false, 0);
        else
            for (int64_t i = 0; i < cols; i += CHUNK)
                sum[r] += (double)ROWS_NAME(exp_chunk)(x + r * cols + i, WICK_MIN(cols - i, CHUNK), max[r],
                                                       y + r * cols + i, false, 0);
    }
}
static int64_t ROWS_NAME(together)(int64_t cols) {
    return WICK_MIN(ROWS_NAME(TOGETHER), WICK_MAX(ROWS_NAME(IN_L1) / cols, 1));
}

/* `rows` <= WIDE rows of cols <= SHORT, transposed: t[c][lane]. Lanes without a row hold zeros. */
typedef struct ROWS_NAME(group) {
    ROWS_NAME(vec) t[ROWS_NAME(SHORT)][ROWS_NAME(PER)];
    ROWS_NAME(vec) sum[ROWS_NAME(PER)];
} ROWS_NAME(group);

static void ROWS_NAME(group_load)(ROWS_NAME(group) *g, const ROWS_T *x, int64_t rows, int64_t cols) {
    enum { WIDE = ROWS_NAME(WIDE), PER = ROWS_NAME(PER) };
    ROWS_T *t = (ROWS_T *)g->t;
    if (rows < WIDE) memset(t, 0, (size_t)(cols * WIDE) * sizeof *t);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) t[c * WIDE + r] = x[r * cols + c];
    for (int v = 0; v < PER; v++) {
        ROWS_NAME(vec) max = ROWS_NAME(set1)(-(ROWS_T)INFINITY);
        for (int64_t c = 0; c < cols; c++) max = ROWS_NAME(max)(g->t[c][v], max);
        for (int64_t c = 0; c < cols; c++) g->t[c][v] -= max;
    }
}

static void ROWS_NAME(group_sum)(ROWS_NAME(group) *g, const ROWS_NAME(group) *from, int64_t cols) {
    enum { WIDE = ROWS_NAME(WIDE), PER = ROWS_NAME(PER) };
    if (g != from) memcpy(g->t, from->t, (size_t)cols * sizeof g->t[0]);
    ROWS_NAME(exp_all)(g->t[0], cols * WIDE);
    for (int v = 0; v < PER; v++) {
        g->sum[v] = (ROWS_NAME(vec)){0};
        for (int64_t c = 0; c < cols; c++) g->sum[v] += g->t[c][v];
    }
}

static void ROWS_NAME(group_store)(const ROWS_NAME(group) *g, int64_t rows, int64_t cols, ROWS_T *y) {
    enum { WIDE = ROWS_NAME(WIDE) };
    const ROWS_T *t = (const ROWS_T *)g->t;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) y[r * cols + c] = t[c * WIDE + r];
}

ROWS_INLINE void ROWS_NAME(group_softmax)(ROWS_NAME(group) *g, int64_t cols) {
    enum { PER = ROWS_NAME(PER) };
    for (int v = 0; v < PER; v++) {
        const ROWS_NAME(vec) scale = ROWS_NAME(set1)(1) / g->sum[v];
        for (int64_t c = 0; c < cols; c++) g->t[c][v] *= scale;
    }
}

/* Rows from memory and to memory, one by one: exponentials stay in L1, only quotients leave it, and of the next row a
 * part is asked for with each vector. */
static void ROWS_NAME(softmax_nontemporal)(bool log, int64_t rows, int64_t cols, const ROWS_T *x, ROWS_T *y) {
    enum { L = ROWS_NAME(L), CHUNK = ROWS_NAME(CHUNK) };
    ROWS_T exps[ROWS_NAME(IN_L1)];
    for (int64_t r = 0; r < rows; r++, x += cols, y += cols) {
        const ROWS_T max = ROWS_NAME(row_max)(x, cols);
        double sum = 0;
        for (int64_t i = 0; i < cols; i += CHUNK)
            sum += (double)ROWS_NAME(exp_chunk)(x + i, WICK_MIN(cols - i, CHUNK), max, exps + i, true, cols);
        const ROWS_NAME(vec) a = ROWS_NAME(set1)(log ? max : (ROWS_T)(1 / sum)),
                             b = ROWS_NAME(set1)(log ? ROWS_LOG((ROWS_T)sum) : 0);
        for (int64_t i = 0; i < cols; i += L)
            ROWS_NAME(store_nontemporal)(y + i, log ? ROWS_NAME(load)(x + i) - a - b : ROWS_NAME(load)(exps + i) * a);
    }
    wick_stream_end();
}

static void ROWS_NAME(softmax)(bool log, bool nontemporal, int64_t begin, int64_t end, int64_t cols, const void *from,
                               void *to) {
    enum { WIDE = ROWS_NAME(WIDE), PER = ROWS_NAME(PER) };
    if (nontemporal && cols > ROWS_NAME(SHORT) && ROWS_NAME(may_pass)(to, cols)) {
        ROWS_NAME(softmax_nontemporal)
        (log, end - begin, cols, (const ROWS_T *)from + begin * cols, (ROWS_T *)to + begin * cols);
        return;
    }
    const ROWS_T *x = (const ROWS_T *)from;
    ROWS_T *y = (ROWS_T *)to;
    if (cols > ROWS_NAME(SHORT)) {
        const int64_t step = ROWS_NAME(together)(cols);
        ROWS_T max[ROWS_NAME(TOGETHER)];
        double sum[ROWS_NAME(TOGETHER)];
        for (int64_t r = begin; r < end; r += step) {
            const int64_t rows = WICK_MIN(end - r, step);
            ROWS_NAME(exp_rows)(x + r * cols, rows, cols, max, sum, log ? NULL : y + r * cols);
            for (int64_t l = 0; l < rows; l++) {
                ROWS_T *at = y + (r + l) * cols;
                if (log)
                    ROWS_NAME(finish)(true, x + (r + l) * cols, cols, max[l], ROWS_LOG((ROWS_T)sum[l]), at);
                else
                    ROWS_NAME(finish)(false, at, cols, (ROWS_T)(1 / sum[l]), 0, at);
            }
        }
        return;
    }
    ROWS_NAME(group) g, e;
    for (int64_t r = begin; r < end; r += WIDE) {
        const int64_t rows = WICK_MIN(end - r, WIDE);
        ROWS_NAME(group_load)(&g, x + r * cols, rows, cols);
        ROWS_NAME(group_sum)(log ? &e : &g, &g, cols);
        if (log) {
            ROWS_T *sum = (ROWS_T *)e.sum;
            for (int l = 0; l < WIDE; l++) sum[l] = ROWS_LOG(sum[l]);
            for (int v = 0; v < PER; v++)
                for (int64_t c = 0; c < cols; c++) g.t[c][v] -= e.sum[v];
        } else {
            ROWS_NAME(group_softmax)(&g, cols);
        }
        ROWS_NAME(group_store)(&g, rows, cols, y + r * cols);
    }
}

/* -log softmax(x)[label] = log(sum of exp(x - max)) - (x[label] - max). */
static int64_t ROWS_NAME(nll)(int64_t begin, int64_t end, int64_t cols, const void *from, const int64_t *label,
                              void *losses, void *probs) {
    enum { WIDE = ROWS_NAME(WIDE), SHORT = ROWS_NAME(SHORT) };
    const ROWS_T *x = (const ROWS_T *)from;
    ROWS_T *loss = (ROWS_T *)losses, *p = (ROWS_T *)probs;
    ROWS_NAME(group) g;
    for (int64_t r = begin; r < end; r += WIDE) {
        const int64_t rows = WICK_MIN(end - r, WIDE);
        ROWS_T sums[WIDE], at[WIDE]; /* at: x[label] - max */
        for (int l = 0; l < WIDE; l++) sums[l] = 1, at[l] = 0;
        if (cols <= SHORT) {
            ROWS_NAME(group_load)(&g, x + r * cols, rows, cols);
            for (int64_t l = 0; l < rows; l++)
                if ((uint64_t)label[r + l] < (uint64_t)cols) at[l] = ((ROWS_T *)g.t)[label[r + l] * WIDE + l];
            ROWS_NAME(group_sum)(&g, &g, cols);
            memcpy(sums, g.sum, sizeof sums);
            if (p) {
                ROWS_NAME(group_softmax)(&g, cols);
                ROWS_NAME(group_store)(&g, rows, cols, p + r * cols);
            }
        } else {
            const int64_t step = ROWS_NAME(together)(cols);
            ROWS_T max[ROWS_NAME(TOGETHER)];
            double sum[ROWS_NAME(TOGETHER)];
            for (int64_t first = 0; first < rows; first += step) {
                const int64_t n = WICK_MIN(rows - first, step), q = r + first;
                ROWS_NAME(exp_rows)(x + q * cols, n, cols, max, sum, p ? p + q * cols : NULL);
                for (int64_t l = 0; l < n; l++) {
                    if ((uint64_t)label[q + l] < (uint64_t)cols)
                        at[first + l] = x[(q + l) * cols + label[q + l]] - max[l];
                    sums[first + l] = (ROWS_T)sum[l];
                    if (p)
                        ROWS_NAME(finish)(false, p + (q + l) * cols, cols, (ROWS_T)(1 / sum[l]), 0, p + (q + l) * cols);
                }
            }
        }
        for (int l = 0; l < WIDE; l++) sums[l] = ROWS_LOG(sums[l]) - at[l];
        memcpy(loss + r, sums, (size_t)rows * sizeof *sums);
    }
    int64_t bad = -1;
    for (int64_t r = end - 1; r >= begin; r--) {
        if ((uint64_t)label[r] < (uint64_t)cols) continue;
        bad = r;
        loss[r] = 0;
        if (p) memset(p + r * cols, 0, (size_t)cols * sizeof *p);
    }
    return bad;
}
