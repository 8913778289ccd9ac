/* channels_body.h: pooling of images whose channels are the last dim, once per type: every step is one over
 * neighbouring channels, some at a time. What is summed and compared, and in which order, is what planes do. Included
 * by window_tier.c. */
enum { WINDOW_NAME(SIDE) = 64 }; /* channels at a time */

#define WINDOW_EACH_PIXEL WINDOW_EACH(WICK_MIN(SIDE, rest))
#define WINDOW_EACH(some)                                               \
    for (int64_t oz = 0, o = 0; oz < w->out[0]; oz++) {                 \
        const wick_span z = wick_span_of(w, 0, oz);                     \
        for (int64_t oy = 0; oy < w->out[1]; oy++) {                    \
            const wick_span r = wick_span_of(w, 1, oy);                 \
            for (int64_t ox = 0; ox < w->out[2]; ox++, o++) {           \
                const wick_span s = wick_span_of(w, 2, ox);             \
                for (int64_t c = 0, n; c < w->channels; c += n) {       \
                    const int64_t rest = w->channels - c;               \
                    n = (some);
#define WINDOW_END \
    }              \
    }              \
    }              \
    }

#if WICK_TIER_ID > 0 /* the reference has these two in window_ref.h */
/* L channels at a time, the last of them again with those before. Rows of the window are joined first, then its
 * columns. FINISH: of `all`, where `any` input was there. */
#define WINDOW_VECTORS(name, L, JOIN, FINISH)                                                                          \
    static void WINDOW_NAME(name##L)(const wick_windows *w, int64_t begin, int64_t end, const WINDOW_T *xv,            \
                                     WINDOW_T *yv) {                                                                   \
        typedef WINDOW_T V __attribute__((vector_size(L * sizeof(WINDOW_T))));                                         \
        typedef WINDOW_I I __attribute__((vector_size(L * sizeof(WINDOW_T))));                                         \
        typedef WINDOW_T U __attribute__((vector_size(L * sizeof(WINDOW_T)), aligned(sizeof(WINDOW_T)), may_alias));   \
        const int64_t channels = w->channels, line = w->in[2] * channels;                                              \
        const int64_t in = w->in[0] * w->in[1] * line, out = w->out[0] * w->out[1] * w->out[2] * channels;             \
        const int64_t rows = begin * w->out[0] * w->out[1],                                                            \
                      all_rows = wick_windows_are_two(w) ? end * w->out[0] * w->out[1] : rows;                         \
        for (int64_t row = rows; row < all_rows; row++) { /* the usual windows, without loops over them */             \
            const int64_t oy = row % w->out[1], oz = row / w->out[1] % w->out[0], step = w->stride[2] * channels;      \
            const WINDOW_T *x =                                                                                        \
                xv + row / w->out[1] / w->out[0] * in + (oz * w->stride[0] * w->in[1] + oy * w->stride[1]) * line;     \
            WINDOW_T *y = yv + row * w->out[2] * channels;                                                             \
            for (int64_t ox = 0; ox < w->out[2]; ox++, x += step, y += channels)                                       \
                for (int64_t c = 0; c < channels; c += L) {                                                            \
                    const int64_t from = WICK_MIN(c, channels - L);                                                    \
                    const V first = JOIN(*(const U *)(x + from), *(const U *)(x + line + from));                       \
                    const V second =                                                                                   \
                        JOIN(*(const U *)(x + channels + from), *(const U *)(x + line + channels + from));             \
                    const bool any = true;                                                                             \
                    V all = JOIN(first, second);                                                                       \
                    FINISH                                                                                             \
                    *(U *)(y + from) = all;                                                                            \
                }                                                                                                      \
        }                                                                                                              \
        if (all_rows > rows) return;                                                                                   \
        for (int64_t i = begin; i < end; i++) {                                                                        \
            WINDOW_EACH(WICK_MIN(L, rest))                                                                             \
            const int64_t from = WICK_MIN(c, channels - L);                                                            \
            const WINDOW_T *x = xv + i * in + from;                                                                    \
            V all = {0}, side = {0};                                                                                   \
            bool any = false;                                                                                          \
            for (int64_t ix = s.first; ix < s.end; ix += s.step) {                                                     \
                bool first = true;                                                                                     \
                for (int64_t iz = z.first; iz < z.end; iz += z.step)                                                   \
                    for (int64_t iy = r.first; iy < r.end; iy += r.step, first = false) {                              \
                        const V v = *(const U *)(x + (iz * w->in[1] + iy) * line + ix * channels);                     \
                        side = first ? v : JOIN(side, v);                                                              \
                    }                                                                                                  \
                if (first) break;                                                                                      \
                all = any ? JOIN(all, side) : side;                                                                    \
                any = true;                                                                                            \
            }                                                                                                          \
            (void)sizeof(I);                                                                                           \
            FINISH                                                                                                     \
            *(U *)(yv + i * out + o * channels + from) = all;                                                          \
            WINDOW_END                                                                                                 \
        }                                                                                                              \
    }
#define WINDOW_MORE(a, b)                                                                                              \
    ((V)(((I)(b) & (I)(((b) > (a)) | ((b) != (b)))) | ((I)(a) & ~(I)(((b) > (a)) | ((b) != (b))))))
#define WINDOW_PLUS(a, b) ((a) + (b))
#define WINDOW_LEAST      if (!any) all = (V){0} - (WINDOW_T)INFINITY;
#define WINDOW_MEAN                                                                                                    \
    const int64_t count = wick_span_count(w, 0, oz) * wick_span_count(w, 1, oy) * wick_span_count(w, 2, ox);           \
    all = any && count ? all / (WINDOW_T)count : (V){0};
#define WINDOW_CHANNELS_OF(L)                                     \
    WINDOW_VECTORS(max_of, L, WINDOW_MORE, WINDOW_LEAST)          \
    WINDOW_VECTORS(mean_of, L, WINDOW_PLUS, WINDOW_MEAN)
/* Vectors are no longer than registers: longer ones are taken apart, and kept in memory in between. */
#define WINDOW_LONGEST (WINDOW_LINE / (WICK_TIER_ID == 3 ? 1 : WICK_TIER_ID == 2 ? 2 : 4))
#if WINDOW_LONGEST == 16
#define WINDOW_SOME(of) of(16) of(8) of(4)
#elif WINDOW_LONGEST == 8
#define WINDOW_SOME(of) of(8) of(4)
#elif WINDOW_LONGEST == 4
#define WINDOW_SOME(of) of(4)
#else
#define WINDOW_SOME(of) of(2)
#endif
#define WINDOW_MAX_OF(L)                                                                                               \
    if (w->channels >= (L)) {                                                                                          \
        WINDOW_NAME(max_of##L)(w, begin, end, x, y);                                                                   \
        return;                                                                                                        \
    }
#define WINDOW_MEAN_OF(L)                                                                                              \
    if (w->channels >= (L)) {                                                                                          \
        WINDOW_NAME(mean_of##L)(w, begin, end, x, y);                                                                  \
        return;                                                                                                        \
    }
WINDOW_SOME(WINDOW_CHANNELS_OF)
WINDOW_CHANNELS_OF(1)
static void WINDOW_NAME(channels_max)(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y) {
    WINDOW_SOME(WINDOW_MAX_OF)
    WINDOW_MAX_OF(1)
}
static void WINDOW_NAME(channels_mean)(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y) {
    WINDOW_SOME(WINDOW_MEAN_OF)
    WINDOW_MEAN_OF(1)
}
#undef WINDOW_VECTORS
#undef WINDOW_MORE
#undef WINDOW_PLUS
#undef WINDOW_LEAST
#undef WINDOW_MEAN
#undef WINDOW_CHANNELS_OF
#undef WINDOW_LONGEST
#undef WINDOW_SOME
#undef WINDOW_MAX_OF
#undef WINDOW_MEAN_OF
#endif

/* Images of a training step come from memory: channels of the row of windows below are asked for. */
#define WINDOW_ASK(at, write)                                                                                          \
    for (int64_t k = 0; k < n; k += 64 / (int64_t)sizeof(WINDOW_T))                                                    \
    __builtin_prefetch((at) + w->stride[1] * w->in[2] * w->channels + k, write)
/* Which of the window's inputs, counted from 1 in order, is the largest of each channel; 0: there is none. */
static inline __attribute__((always_inline)) void WINDOW_NAME(largest_of)(const wick_windows *w, const WINDOW_T *x,
                                                                          wick_span z, wick_span r, wick_span s,
                                                                          int64_t n, WINDOW_T *restrict most,
                                                                          WINDOW_I *restrict which) {
    WINDOW_I number = 0;
    for (int64_t k = 0; k < n; k++) which[k] = 0, most[k] = -(WINDOW_T)INFINITY;
    for (int64_t iz = z.first; iz < z.end; iz += z.step)
        for (int64_t iy = r.first; iy < r.end; iy += r.step)
            for (int64_t ix = s.first; ix < s.end; ix += s.step) {
                const WINDOW_T *restrict v = x + ((iz * w->in[1] + iy) * w->in[2] + ix) * w->channels;
                WINDOW_ASK(v, 0);
                number++;
                for (int64_t k = 0; k < n; k++) {
                    const bool larger = (v[k] > most[k]) | (v[k] != v[k]) | (number == 1);
                    which[k] = larger ? number : which[k];
                    most[k] = larger ? v[k] : most[k];
                }
            }
}

static void WINDOW_NAME(channels_pick)(const wick_windows *w, int64_t begin, int64_t end, const void *xv,
                                       const void *vv, void *yv) {
    enum { SIDE = WINDOW_NAME(SIDE) };
    const int64_t in = w->in[0] * w->in[1] * w->in[2] * w->channels,
                  out = w->out[0] * w->out[1] * w->out[2] * w->channels;
    WINDOW_T most[SIDE];
    WINDOW_I which[SIDE];
    for (int64_t i = begin; i < end; i++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + i * in, *v = (const WINDOW_T *)vv + i * in;
        WINDOW_EACH_PIXEL
        WINDOW_T *restrict y = (WINDOW_T *)yv + i * out + o * w->channels + c;
        WINDOW_NAME(largest_of)(w, x + c, z, r, s, n, most, which);
        for (int64_t k = 0; k < n; k++) y[k] = 0;
        WINDOW_I number = 0;
        for (int64_t iz = z.first; iz < z.end; iz += z.step)
            for (int64_t iy = r.first; iy < r.end; iy += r.step)
                for (int64_t ix = s.first; ix < s.end; ix += s.step) {
                    const WINDOW_T *restrict from = v + ((iz * w->in[1] + iy) * w->in[2] + ix) * w->channels + c;
                    number++;
                    for (int64_t k = 0; k < n; k++) y[k] = which[k] == number ? from[k] : y[k];
                }
        WINDOW_END
    }
}

/* disjoint: no input is in two windows, so that each is written once. */
static inline __attribute__((always_inline)) void WINDOW_NAME(put_of)(const wick_windows *w, const WINDOW_T *x,
                                                                      wick_span z, wick_span r, wick_span s, int64_t n,
                                                                      bool disjoint, const WINDOW_T *restrict y,
                                                                      WINDOW_T *restrict v) {
    WINDOW_T most[WINDOW_NAME(SIDE)];
    WINDOW_I which[WINDOW_NAME(SIDE)], number = 0;
    WINDOW_NAME(largest_of)(w, x, z, r, s, n, most, which);
    for (int64_t iz = z.first; iz < z.end; iz += z.step)
        for (int64_t iy = r.first; iy < r.end; iy += r.step)
            for (int64_t ix = s.first; ix < s.end; ix += s.step) {
                WINDOW_T *restrict to = v + ((iz * w->in[1] + iy) * w->in[2] + ix) * w->channels;
                WINDOW_ASK(to, 1);
                number++;
                if (disjoint) /* -0 becomes 0, as in a sum */
                    for (int64_t k = 0; k < n; k++) to[k] = (which[k] == number ? y[k] : 0) + (WINDOW_T)0;
                else
                    for (int64_t k = 0; k < n; k++) to[k] += which[k] == number ? y[k] : 0;
            }
}

static void WINDOW_NAME(channels_put)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, const void *yv,
                                      void *vv) {
    enum { SIDE = WINDOW_NAME(SIDE) };
    const int64_t in = w->in[0] * w->in[1] * w->in[2] * w->channels,
                  out = w->out[0] * w->out[1] * w->out[2] * w->channels;
    bool disjoint = !w->adaptive, covered = !w->adaptive;
    for (int d = 0; d < 3; d++) {
        disjoint &= w->stride[d] > (w->kernel[d] - 1) * w->dilation[d];
        covered &= w->kernel[d] == w->stride[d] && !w->pad[d] && w->in[d] == w->out[d] * w->stride[d];
    }
    for (int64_t i = begin; i < end; i++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + i * in;
        WINDOW_T *v = (WINDOW_T *)vv + i * in;
        if (!disjoint || !covered) memset(v, 0, (size_t)in * sizeof *v);
        WINDOW_EACH_PIXEL
        const WINDOW_T *y = (const WINDOW_T *)yv + i * out + o * w->channels + c;
        if (n == SIDE && disjoint)
            WINDOW_NAME(put_of)(w, x + c, z, r, s, SIDE, true, y, v + c);
        else
            WINDOW_NAME(put_of)(w, x + c, z, r, s, n, disjoint, y, v + c);
        WINDOW_END
    }
}

static void WINDOW_NAME(channels_share)(const wick_windows *w, int64_t begin, int64_t end, const void *yv, void *vv) {
    enum { SIDE = WINDOW_NAME(SIDE) };
    const int64_t in = w->in[0] * w->in[1] * w->in[2] * w->channels,
                  out = w->out[0] * w->out[1] * w->out[2] * w->channels;
    WINDOW_T part[SIDE];
    for (int64_t i = begin; i < end; i++) {
        const WINDOW_T *y = (const WINDOW_T *)yv + i * out;
        WINDOW_T *v = (WINDOW_T *)vv + i * in;
        memset(v, 0, (size_t)in * sizeof *v);
        WINDOW_EACH_PIXEL
        const int64_t count = wick_span_count(w, 0, oz) * wick_span_count(w, 1, oy) * wick_span_count(w, 2, ox);
        for (int64_t k = 0; k < n; k++) part[k] = count ? y[o * w->channels + c + k] / (WINDOW_T)count : 0;
        for (int64_t iz = z.first; iz < z.end; iz += z.step)
            for (int64_t iy = r.first; iy < r.end; iy += r.step)
                for (int64_t ix = s.first; ix < s.end; ix += s.step) {
                    WINDOW_T *restrict to = v + ((iz * w->in[1] + iy) * w->in[2] + ix) * w->channels + c;
                    for (int64_t k = 0; k < n; k++) to[k] += part[k];
                }
        WINDOW_END
    }
}
#undef WINDOW_ASK
#undef WINDOW_EACH_PIXEL
#undef WINDOW_EACH
#undef WINDOW_END
