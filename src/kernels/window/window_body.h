/* window_body.h: pooling once per type: the rows of a window become one row, which the compiler makes vectors of, then its columns are
 * joined. WINDOW_JOIN(a, b) joins two values. Included by window_tier.c for max and for mean. */
static void WINDOW_NAME(WINDOW_OP)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, void *yv, void *scratch) {
    const int64_t width = w->in[2], in = w->in[0] * w->in[1] * width, out = w->out[0] * w->out[1] * w->out[2];
    WINDOW_T *restrict line = scratch;
    for (int64_t p = begin; p < end; p++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + p * in;
        WINDOW_T *restrict y = (WINDOW_T *)yv + p * out;
        for (int64_t oz = 0; oz < w->out[0]; oz++)
            for (int64_t oy = 0; oy < w->out[1]; oy++, y += w->out[2]) {
                const wick_span z = wick_span_of(w, 0, oz), r = wick_span_of(w, 1, oy);
                bool first = true;
                for (int64_t iz = z.first; iz < z.end; iz += z.step)
                    for (int64_t iy = r.first; iy < r.end; iy += r.step) {
                        const WINDOW_T *restrict row = x + (iz * w->in[1] + iy) * width;
                        if (first)
                            memcpy(line, row, (size_t)width * sizeof *line);
                        else
                            for (int64_t i = 0; i < width; i++) line[i] = WINDOW_JOIN(line[i], row[i]);
                        first = false;
                    }
                const int64_t above = wick_span_count(w, 0, oz) * wick_span_count(w, 1, oy);
                /* Halving, the usual case, in vectors. */
                if (!first && !w->adaptive && w->kernel[2] == 2 && w->stride[2] == 2 && !w->pad[2] && w->dilation[2] == 1 && 2 * w->out[2] <= width) {
                    for (int64_t i = 0; i < w->out[2]; i++) y[i] = WINDOW_DONE(WINDOW_JOIN(line[2 * i], line[2 * i + 1]), 2 * above);
                    continue;
                }
                for (int64_t ox = 0; ox < w->out[2]; ox++) {
                    const wick_span s = wick_span_of(w, 2, ox);
                    WINDOW_T v = WINDOW_EMPTY;
                    if (!first && s.first < s.end) {
                        v = line[s.first];
                        for (int64_t i = s.first + s.step; i < s.end; i += s.step) v = WINDOW_JOIN(v, line[i]);
                    }
                    const int64_t count = above * wick_span_count(w, 2, ox);
                    y[ox] = count ? WINDOW_DONE(v, count) : WINDOW_EMPTY;
                }
            }
    }
}
