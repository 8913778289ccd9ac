/* window_body.h: pooling of planes, once per type: the rows of a window become one row, which the compiler makes
 * vectors of, then its columns are joined, windows side by side. WINDOW_JOIN(a, b) joins two values, WINDOW_ORDERED(a,
 * b) two of which WINDOW_UNORDERED(a, b) is 0, with the same bits. Included by window_tier.c for max and for mean. */

/* a and b as one; ordered: none of them is NaN. */
static inline __attribute__((always_inline)) WINDOW_T
WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _join))(bool ordered, WINDOW_T a, WINDOW_T b) {
    return ordered ? WINDOW_ORDERED(a, b) : WINDOW_JOIN(a, b);
}

/* line[i] = a[i], b[i] and, unless NULL, c[i] as one. Says whether they are ordered, if that says anything. */
static bool WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _rows))(int64_t n, const WINDOW_T *restrict a, const WINDOW_T *restrict b,
                                                      const WINDOW_T *restrict c, WINDOW_T *restrict line) {
    int unordered = 0;
    if (c)
        for (int64_t i = 0; i < n; i++) {
            unordered |= WINDOW_UNORDERED(a[i], b[i]) | WINDOW_UNORDERED(c[i], c[i]);
            line[i] = WINDOW_ORDERED(WINDOW_ORDERED(a[i], b[i]), c[i]);
        }
    else
        for (int64_t i = 0; i < n; i++) {
            unordered |= WINDOW_UNORDERED(a[i], b[i]);
            line[i] = WINDOW_ORDERED(a[i], b[i]);
        }
    if (!unordered) return true;
    for (int64_t i = 0; i < n; i++) line[i] = WINDOW_JOIN(a[i], b[i]);
    for (int64_t i = 0; c && i < n; i++) line[i] = WINDOW_JOIN(line[i], c[i]);
    return false;
}

/* Joins the columns of n windows that lie inside of their row, `step` apart: y[o] = x[o step], x[o step + dilation],
 * ... A step that is known when this is compiled makes vectors. */
static inline __attribute__((always_inline)) void
WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns_by))(bool ordered, int64_t n, int64_t step, int64_t kernel, int64_t dilation,
                                                const WINDOW_T *restrict x, WINDOW_T *restrict y) {
#define WINDOW_JOINED(a, b) WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _join))(ordered, a, b)
    int64_t j = WICK_MIN(kernel, 3);
    const WINDOW_T *restrict one = x + (j > 1) * dilation, *restrict two = x + (j > 2) * 2 * dilation;
    if (j == 1)
        for (int64_t o = 0; o < n; o++) y[o] = x[o * step];
    else if (j == 2)
        for (int64_t o = 0; o < n; o++) y[o] = WINDOW_JOINED(x[o * step], one[o * step]);
    else
        for (int64_t o = 0; o < n; o++) y[o] = WINDOW_JOINED(WINDOW_JOINED(x[o * step], one[o * step]), two[o * step]);
    for (; j + 1 < kernel; j += 2) {
        one = x + j * dilation, two = one + dilation;
        for (int64_t o = 0; o < n; o++) y[o] = WINDOW_JOINED(WINDOW_JOINED(y[o], one[o * step]), two[o * step]);
    }
    if (j == kernel) return;
    one = x + j * dilation;
    for (int64_t o = 0; o < n; o++) y[o] = WINDOW_JOINED(y[o], one[o * step]);
#undef WINDOW_JOINED
}
static void WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns))(bool ordered, int64_t n, int64_t step, int64_t kernel,
                                                         int64_t dilation, const WINDOW_T *x, WINDOW_T *y) {
#define WINDOW_COLUMNS(ordered, step, dilation)                                                                        \
    WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns_by))(ordered, n, step, kernel, dilation, x, y)
    if (dilation == 1 && step == 2 && ordered)
        WINDOW_COLUMNS(true, 2, 1);
    else if (dilation == 1 && step == 2)
        WINDOW_COLUMNS(false, 2, 1);
    else if (step == 1 && ordered)
        WINDOW_COLUMNS(true, 1, dilation);
    else if (step == 1)
        WINDOW_COLUMNS(false, 1, dilation);
    else
        WINDOW_COLUMNS(false, step, dilation);
#undef WINDOW_COLUMNS
}

/* y[o] of one window, of which some columns may lie outside; `above`: how many rows its mean counts. */
static WINDOW_T WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _window))(const wick_windows *w, int64_t o, int64_t above,
                                                            const WINDOW_T *line) {
    const wick_span s = wick_span_of(w, 2, o);
    const int64_t count = above * wick_span_count(w, 2, o);
    if (!count) return WINDOW_EMPTY;
    WINDOW_T v = WINDOW_EMPTY;
    if (line && s.first < s.end) {
        v = line[s.first];
        for (int64_t i = s.first + s.step; i < s.end; i += s.step) v = WINDOW_JOIN(v, line[i]);
    }
    return WINDOW_DONE(v, count);
}

static void WINDOW_NAME(WINDOW_OP)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, void *yv,
                                   void *scratch) {
    const int64_t width = w->in[2], in = w->in[0] * w->in[1] * width, out = w->out[0] * w->out[1] * w->out[2];
    const int64_t reach = (w->kernel[2] - 1) * w->dilation[2]; /* from a window's first column to its last */
    int64_t low = w->out[2], high = w->out[2]; /* windows [low, high) lie inside of their row */
    if (!w->adaptive && width > reach) {
        low = WICK_MIN((w->pad[2] + w->stride[2] - 1) / w->stride[2], w->out[2]);
        high = WICK_MAX(low, WICK_MIN((width - 1 - reach + w->pad[2]) / w->stride[2] + 1, w->out[2]));
    }
    WINDOW_T *restrict line = scratch;
    for (int64_t p = begin; p < end; p++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + p * in;
        WINDOW_T *restrict y = (WINDOW_T *)yv + p * out;
        for (int64_t oz = 0; oz < w->out[0]; oz++)
            for (int64_t oy = 0; oy < w->out[1]; oy++, y += w->out[2]) {
                const wick_span z = wick_span_of(w, 0, oz), r = wick_span_of(w, 1, oy);
                /* the rows of the window as one, and one that is not yet in it; NULL: there are none */
                const WINDOW_T *joined = NULL, *row = NULL;
                bool ordered = false;
                for (int64_t iz = z.first; iz < z.end; iz += z.step)
                    for (int64_t iy = r.first; iy < r.end; iy += r.step) {
                        const WINDOW_T *next = x + (iz * w->in[1] + iy) * width;
                        if (!joined)
                            joined = next;
                        else if (!row)
                            row = next;
                        else {
                            WINDOW_T *to = joined == line ? line + width : line;
                            ordered = WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _rows))(width, joined, row, next, to);
                            joined = to, row = NULL;
                        }
                    }
                if (row) {
                    WINDOW_T *to = joined == line ? line + width : line;
                    ordered = WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _rows))(width, joined, row, NULL, to);
                    joined = to;
                }
                const int64_t above = wick_span_count(w, 0, oz) * wick_span_count(w, 1, oy),
                              count = above * w->kernel[2];
                const int64_t from = joined && above ? low : w->out[2], to = joined && above ? high : w->out[2];
                for (int64_t ox = 0; ox < from; ox++)
                    y[ox] = WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _window))(w, ox, above, joined);
                if (from < to)
                    WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns))
                (ordered, to - from, w->stride[2], w->kernel[2], w->dilation[2],
                 joined + from * w->stride[2] - w->pad[2], y + from);
                for (int64_t ox = from; ox < to; ox++) y[ox] = WINDOW_DONE(y[ox], count);
                for (int64_t ox = to; ox < w->out[2]; ox++)
                    y[ox] = WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _window))(w, ox, above, joined);
            }
    }
}
