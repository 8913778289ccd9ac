/* window_ref.h: the oracle, of planes and of channels: every window on its own, sums in double. Compiled into
 * window_tier.c for tier ref, once per type. */
static void WINDOW_NAME(each)(const wick_windows *w, bool max, int64_t begin, int64_t end, const WINDOW_T *x,
                              WINDOW_T *y) {
    const int64_t channels = WICK_MAX(w->channels, 1);
    for (int64_t p = begin * channels, c = 0; p < end * channels; p++, c = p % channels)
        for (int64_t oz = 0; oz < w->out[0]; oz++)
            for (int64_t oy = 0; oy < w->out[1]; oy++)
                for (int64_t ox = 0; ox < w->out[2]; ox++) {
                    const wick_span z = wick_span_of(w, 0, oz), r = wick_span_of(w, 1, oy), s = wick_span_of(w, 2, ox);
                    double sum = 0, most = -INFINITY;
                    for (int64_t iz = z.first; iz < z.end; iz += z.step)
                        for (int64_t iy = r.first; iy < r.end; iy += r.step)
                            for (int64_t ix = s.first; ix < s.end; ix += s.step) {
                                const double v = (double)
                                    x[(((p / channels * w->in[0] + iz) * w->in[1] + iy) * w->in[2] + ix) * channels +
                                      c];
                                sum += v;
                                if (v > most || v != v) most = v;
                            }
                    const int64_t count =
                        wick_span_count(w, 0, oz) * wick_span_count(w, 1, oy) * wick_span_count(w, 2, ox);
                    y[(((p / channels * w->out[0] + oz) * w->out[1] + oy) * w->out[2] + ox) * channels + c] =
                        (WINDOW_T)(max     ? most
                                   : count ? sum / (double)count
                                           : 0);
                }
}
static void WINDOW_NAME(max)(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y, void *scratch) {
    (void)scratch;
    WINDOW_NAME(each)(w, true, begin, end, x, y);
}
static void WINDOW_NAME(mean)(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y,
                              void *scratch) {
    (void)scratch;
    WINDOW_NAME(each)(w, false, begin, end, x, y);
}
