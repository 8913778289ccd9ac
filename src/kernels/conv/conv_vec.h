/* conv_vec.h: convolutions of each channel on its own, of one type over the vectors of gemm_vec.h. Included by conv_tier.c. */

/* So many pixels of one vector of channels; n is a constant at every call. width < L: the last channels, which are copied to whole
 * vectors first, since what lies behind them may not be readable. */
GEMM_INLINE CONV_NAME(vec) CONV_NAME(load_part)(const CONV_T *p, int64_t width) {
    CONV_T x[CONV_NAME(L)] = {0};
    for (int64_t i = 0; i < width; i++) x[i] = p[i];
    return CONV_NAME(load)(x);
}
GEMM_INLINE void CONV_NAME(store_part)(CONV_T *p, CONV_NAME(vec) v, int64_t width) {
    CONV_T x[CONV_NAME(L)];
    CONV_NAME(store)(x, v);
    for (int64_t i = 0; i < width; i++) p[i] = x[i];
}
#define CONV_LOAD(p)     (whole ? CONV_NAME(load)(p) : CONV_NAME(load_part)(p, width))
#define CONV_STORE(p, v) (whole ? CONV_NAME(store)(p, v) : CONV_NAME(store_part)(p, v, width))

GEMM_INLINE void CONV_NAME(pixels)(const wick_depthwise_run_of *r, int64_t first, int64_t channel, const int n, const bool whole, int64_t width) {
    CONV_T *dst = (CONV_T *)r->dst + first * r->dst_pixel + channel;
    const int64_t at = first * r->src_pixel + channel;
    CONV_NAME(vec) acc[8];
    GEMM_UNROLL
    for (int i = 0; i < n; i++) acc[i] = (CONV_NAME(vec)){0};
    for (int64_t t = 0; t < r->taps; t++) {
        const CONV_NAME(vec) wv = CONV_LOAD((const CONV_T *)r->w[t] + channel);
        const CONV_T *x = (const CONV_T *)r->src[t] + at;
        GEMM_UNROLL
        for (int i = 0; i < n; i++) acc[i] = CONV_NAME(fma)(wv, CONV_LOAD(x + i * r->src_pixel), acc[i]);
    }
    if (r->bias) {
        const CONV_NAME(vec) b = CONV_LOAD((const CONV_T *)r->bias + channel);
        GEMM_UNROLL
        for (int i = 0; i < n; i++) acc[i] += b;
    }
    GEMM_UNROLL
    for (int i = 0; i < n; i++) CONV_STORE(dst + i * r->dst_pixel, r->relu ? CONV_NAME(relu)(acc[i]) : acc[i]);
}

static void CONV_NAME(values)(const wick_depthwise_run_of *r) {
    enum { L = CONV_NAME(L) };
    for (int64_t channel = 0; channel < r->channels; channel += L) {
        const int64_t width = WICK_MIN(L, r->channels - channel);
        int64_t p = 0;
        if (width == L) {
            for (; p + 8 <= r->pixels; p += 8) CONV_NAME(pixels)(r, p, channel, 8, true, L);
            if (p + 4 <= r->pixels) CONV_NAME(pixels)(r, p, channel, 4, true, L), p += 4;
            if (p + 2 <= r->pixels) CONV_NAME(pixels)(r, p, channel, 2, true, L), p += 2;
            if (p < r->pixels) CONV_NAME(pixels)(r, p, channel, 1, true, L), p++;
        }
        for (; p < r->pixels; p++) CONV_NAME(pixels)(r, p, channel, 1, false, width);
    }
}

/* Taps [first, first + n) of one vector of channels; n is a constant where it matters. */
GEMM_INLINE void CONV_NAME(dots_of)(const wick_depthwise_run_of *r, int64_t first, int64_t channel, const int n, const bool whole, int64_t width) {
    const CONV_T *y = (const CONV_T *)r->y + channel, *x[9];
    CONV_T *line = (CONV_T *)r->line + first * r->line_step + channel;
    CONV_NAME(vec) acc[9];
    GEMM_UNROLL
    for (int t = 0; t < n; t++) {
        x[t] = (const CONV_T *)r->src[first + t] + channel;
        acc[t] = r->first ? (CONV_NAME(vec)){0} : CONV_LOAD(line + t * r->line_step);
    }
    for (int64_t p = 0, at = 0; p < r->pixels; p++, at += r->src_pixel, y += r->y_pixel) {
        const CONV_NAME(vec) yv = CONV_LOAD(y);
        GEMM_UNROLL
        for (int t = 0; t < n; t++) acc[t] = CONV_NAME(fma)(yv, CONV_LOAD(x[t] + at), acc[t]);
    }
    GEMM_UNROLL
    for (int t = 0; t < n; t++) {
        CONV_T *sum = (CONV_T *)r->sum[first + t] + channel;
        if (r->last)
            CONV_STORE(sum, CONV_LOAD(sum) + acc[t]);
        else
            CONV_STORE(line + t * r->line_step, acc[t]);
    }
}

static void CONV_NAME(dots)(const wick_depthwise_run_of *r) {
    enum { L = CONV_NAME(L) };
    for (int64_t channel = 0; channel < r->channels; channel += L) {
        const int64_t width = WICK_MIN(L, r->channels - channel);
        int64_t t = 0;
        if (width == L) {
            for (; t + 9 <= r->taps; t += 9) CONV_NAME(dots_of)(r, t, channel, 9, true, L);
            if (t + 6 <= r->taps) CONV_NAME(dots_of)(r, t, channel, 6, true, L), t += 6;
            if (t + 3 <= r->taps) CONV_NAME(dots_of)(r, t, channel, 3, true, L), t += 3;
            for (; t < r->taps; t++) CONV_NAME(dots_of)(r, t, channel, 1, true, L);
        }
        for (; t < r->taps; t++) CONV_NAME(dots_of)(r, t, channel, 1, false, width);
    }
}
#undef CONV_LOAD
#undef CONV_STORE
