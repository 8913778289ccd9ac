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

GEMM_INLINE void CONV_NAME(pixels)(const wick_conv_row *r, int64_t first, int64_t channel, const int n, const bool whole, int64_t width) {
    const CONV_T *src = (const CONV_T *)r->src + first * r->src_pixel + channel, *w = (const CONV_T *)r->w + channel;
    CONV_T *dst = (CONV_T *)r->dst + first * r->dst_pixel + channel;
    CONV_NAME(vec) acc[8];
    GEMM_UNROLL
    for (int i = 0; i < n; i++) acc[i] = (CONV_NAME(vec)){0};
    for (int64_t t = 0; t < r->taps; t++, w += r->channels) {
        const CONV_NAME(vec) wv = CONV_LOAD(w);
        const CONV_T *x = src + r->tap_at[t];
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

static void CONV_NAME(row)(const wick_conv_row *r) {
    enum { L = CONV_NAME(L) };
    for (int64_t channel = 0; channel < r->channels; channel += L) {
        const int64_t width = WICK_MIN(L, r->channels - channel);
        int64_t p = 0;
        if (width == L) {
            for (; p + 8 <= r->pixels; p += 8) CONV_NAME(pixels)(r, p, channel, 8, true, L);
            for (; p + 3 <= r->pixels; p += 3) CONV_NAME(pixels)(r, p, channel, 3, true, L);
            for (; p < r->pixels; p++) CONV_NAME(pixels)(r, p, channel, 1, true, L);
        }
        for (; p < r->pixels; p++) CONV_NAME(pixels)(r, p, channel, 1, false, width);
    }
}

/* Taps [first, first + n) of one vector of channels; n is a constant where it matters. */
GEMM_INLINE void CONV_NAME(dots_of)(const wick_conv_row *r, int64_t first, int64_t channel, const int n, const bool whole, int64_t width) {
    const CONV_T *src = (const CONV_T *)r->src + channel, *y = (const CONV_T *)r->y + channel;
    CONV_T *dst = (CONV_T *)r->dst + first * r->channels + channel;
    CONV_NAME(vec) acc[9];
    GEMM_UNROLL
    for (int t = 0; t < n; t++) acc[t] = (CONV_NAME(vec)){0};
    for (int64_t p = 0; p < r->pixels; p++, src += r->src_pixel, y += r->channels) {
        const CONV_NAME(vec) yv = CONV_LOAD(y);
        GEMM_UNROLL
        for (int t = 0; t < n; t++) acc[t] = CONV_NAME(fma)(yv, CONV_LOAD(src + r->tap_at[first + t]), acc[t]);
    }
    GEMM_UNROLL
    for (int t = 0; t < n; t++) CONV_STORE(dst + t * r->channels, CONV_LOAD(dst + t * r->channels) + acc[t]);
}

static void CONV_NAME(dots)(const wick_conv_row *r) {
    enum { L = CONV_NAME(L) };
    for (int64_t channel = 0; channel < r->channels; channel += L) {
        const int64_t width = WICK_MIN(L, r->channels - channel);
        int64_t t = 0;
        if (width == L) {
            for (; t + 9 <= r->taps; t += 9) CONV_NAME(dots_of)(r, t, channel, 9, true, L);
            for (; t < r->taps; t++) CONV_NAME(dots_of)(r, t, channel, 1, true, L);
        }
        for (; t < r->taps; t++) CONV_NAME(dots_of)(r, t, channel, 1, false, width);
    }
}
#undef CONV_LOAD
#undef CONV_STORE
