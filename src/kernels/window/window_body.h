/* window_body.h: pooling of planes, once per type: the rows of a window become one row, which the compiler makes
 * vectors of, then its columns are joined, windows side by side. WINDOW_JOIN(a, b) joins two values. Included by
 * window_tier.c for max and for mean. */

/* Joins the columns of n windows that lie inside of their row, `step` apart: y[o] = x[o step], x[o step + dilation],
 * ... A step that is known when this is compiled makes vectors. */
static inline __attribute__((always_inline)) void
WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns_by))(int64_t n, int64_t step, int64_t kernel, int64_t dilation,
                                                const WINDOW_T *restrict x, WINDOW_T *restrict y) {
    for (int64_t o = 0; o < n; o++) y[o] = x[o * step];
    for (int64_t j = 1; j < kernel; j++) {
        const WINDOW_T *restrict at = x + j * dilation;
        for (int64_t o = 0; o < n; o++) y[o] = WINDOW_JOIN(y[o], at[o * step]);
    }
}
static void WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns))(int64_t n, int64_t step, int64_t kernel, int64_t dilation,
                                                         const WINDOW_T *x, WINDOW_T *y) {
    if (step == 2 && kernel == 2 && dilation == 1) { /* halving */
        const WINDOW_T *restrict from = x;
        WINDOW_T *restrict to = y;
        for (int64_t o = 0; o < n; o++) to[o] = WINDOW_JOIN(from[2 * o], from[2 * o + 1]);
    } else if (step == 2 && kernel == 3 && dilation == 1) {
        const WINDOW_T *restrict from = x;
        WINDOW_T *restrict to = y;
        for (int64_t o = 0; o < n; o++) to[o] = WINDOW_JOIN(WINDOW_JOIN(from[2 * o], from[2 * o + 1]), from[2 * o + 2]);
    } else if (step == 1)
        WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns_by))(n, 1, kernel, dilation, x, y);
    else if (step == 2)
        WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns_by))(n, 2, kernel, dilation, x, y);
    else
        WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns_by))(n, step, kernel, dilation, x, y);
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
                const WINDOW_T *joined = NULL; /* the rows of the window as one; NULL: there are none */
                for (int64_t iz = z.first; iz < z.end; iz += z.step)
                    for (int64_t iy = r.first; iy < r.end; iy += r.step) {
                        const WINDOW_T *restrict row = x + (iz * w->in[1] + iy) * width;
                        if (!joined)
                            joined = row;
                        else if (joined != line) {
                            const WINDOW_T *restrict before = joined;
                            for (int64_t i = 0; i < width; i++) line[i] = WINDOW_JOIN(before[i], row[i]);
                            joined = line;
                        } else
                            for (int64_t i = 0; i < width; i++) line[i] = WINDOW_JOIN(line[i], row[i]);
                    }
                const int64_t above = wick_span_count(w, 0, oz) * wick_span_count(w, 1, oy),
                              count = above * w->kernel[2];
                const int64_t from = joined && above ? low : w->out[2], to = joined && above ? high : w->out[2];
                for (int64_t ox = 0; ox < from; ox++)
                    y[ox] = WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _window))(w, ox, above, joined);
                if (from < to)
                    WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _columns))
                    (to - from, w->stride[2], w->kernel[2], w->dilation[2], joined + from * w->stride[2] - w->pad[2],
                     y + from);
                for (int64_t ox = from; ox < to; ox++) y[ox] = WINDOW_DONE(y[ox], count);
                for (int64_t ox = to; ox < w->out[2]; ox++)
                    y[ox] = WINDOW_NAME(WINDOW_CAT(WINDOW_OP, _window))(w, ox, above, joined);
            }
    }
}
