/* channels_body.h: pooling of images whose channels are the last dim, once per type: every step is one over neighbouring channels, some
 * at a time. What is summed and compared, and in which order, is what planes do. Included by window_tier.c. */
enum { WINDOW_NAME(SIDE) = 64 }; /* channels at a time */

#define WINDOW_EACH_PIXEL                                               \
    for (int64_t oz = 0, o = 0; oz < w->out[0]; oz++) {                 \
        const wick_span z = wick_span_of(w, 0, oz);                     \
        for (int64_t oy = 0; oy < w->out[1]; oy++) {                    \
            const wick_span r = wick_span_of(w, 1, oy);                 \
            for (int64_t ox = 0; ox < w->out[2]; ox++, o++) {           \
                const wick_span s = wick_span_of(w, 2, ox);             \
                for (int64_t c = 0; c < w->channels; c += SIDE) {       \
                    const int64_t n = WICK_MIN(SIDE, w->channels - c);
#define WINDOW_END \
    }              \
    }              \
    }              \
    }

#if WICK_TIER_ID > 0 /* the reference has these two in window_ref.h */
#define WINDOW_JOIN_max(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define WINDOW_JOIN_sum(a, b) ((a) + (b))
/* Rows of the window first, then its columns; `line` and `all` are SIDE elements. False: the window is empty. */
#define WINDOW_GATHER(name)                                                                                                                  \
    static inline __attribute__((always_inline)) bool WINDOW_NAME(joined_##name)(const wick_windows *w, const WINDOW_T *x, wick_span z, wick_span r, wick_span s, int64_t n,         \
                                         WINDOW_T *restrict line, WINDOW_T *restrict all) {                                                  \
        bool any = false;                                                                                                                    \
        for (int64_t ix = s.first; ix < s.end; ix += s.step) {                                                                               \
            bool first = true;                                                                                                               \
            for (int64_t iz = z.first; iz < z.end; iz += z.step)                                                                             \
                for (int64_t iy = r.first; iy < r.end; iy += r.step, first = false) {                                                        \
                    const WINDOW_T *restrict v = x + ((iz * w->in[1] + iy) * w->in[2] + ix) * w->channels;                                   \
                    if (first)                                                                                                               \
                        memcpy(line, v, (size_t)n * sizeof *line);                                                                           \
                    else                                                                                                                     \
                        for (int64_t k = 0; k < n; k++) line[k] = WINDOW_JOIN_##name(line[k], v[k]);                                         \
                }                                                                                                                            \
            if (first) return false;                                                                                                         \
            if (!any)                                                                                                                        \
                memcpy(all, line, (size_t)n * sizeof *all);                                                                                  \
            else                                                                                                                             \
                for (int64_t k = 0; k < n; k++) all[k] = WINDOW_JOIN_##name(all[k], line[k]);                                                \
            any = true;                                                                                                                      \
        }                                                                                                                                    \
        return any;                                                                                                                          \
    }
WINDOW_GATHER(max)
WINDOW_GATHER(sum)
#undef WINDOW_GATHER

static void WINDOW_NAME(channels_max)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, void *yv) {
    enum { SIDE = WINDOW_NAME(SIDE) };
    const int64_t in = w->in[0] * w->in[1] * w->in[2] * w->channels, out = w->out[0] * w->out[1] * w->out[2] * w->channels;
    WINDOW_T line[SIDE], all[SIDE];
    for (int64_t i = begin; i < end; i++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + i * in;
        WINDOW_T *y = (WINDOW_T *)yv + i * out;
        WINDOW_EACH_PIXEL
        /* With a number that is known here, what is joined stays in registers. */
        if (!(n == SIDE ? WINDOW_NAME(joined_max)(w, x + c, z, r, s, SIDE, line, all) : WINDOW_NAME(joined_max)(w, x + c, z, r, s, n, line, all)))
            for (int64_t k = 0; k < n; k++) all[k] = -(WINDOW_T)INFINITY;
        memcpy(y + o * w->channels + c, all, (size_t)n * sizeof *all);
        WINDOW_END
    }
}

static void WINDOW_NAME(channels_mean)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, void *yv) {
    enum { SIDE = WINDOW_NAME(SIDE) };
    const int64_t in = w->in[0] * w->in[1] * w->in[2] * w->channels, out = w->out[0] * w->out[1] * w->out[2] * w->channels;
    WINDOW_T line[SIDE], all[SIDE];
    for (int64_t i = begin; i < end; i++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + i * in;
        WINDOW_T *y = (WINDOW_T *)yv + i * out;
        WINDOW_EACH_PIXEL
        const int64_t count = wick_span_count(w, 0, oz) * wick_span_count(w, 1, oy) * wick_span_count(w, 2, ox);
        if (!(n == SIDE ? WINDOW_NAME(joined_sum)(w, x + c, z, r, s, SIDE, line, all) : WINDOW_NAME(joined_sum)(w, x + c, z, r, s, n, line, all)))
            memset(all, 0, sizeof all);
        for (int64_t k = 0; k < n; k++) y[o * w->channels + c + k] = count ? all[k] / (WINDOW_T)count : 0;
        WINDOW_END
    }
}

#undef WINDOW_JOIN_max
#undef WINDOW_JOIN_sum
#endif

/* Which of the window's inputs, counted from 1 in order, is the largest of each channel; 0: there is none. */
static inline __attribute__((always_inline)) void WINDOW_NAME(largest_of)(const wick_windows *w, const WINDOW_T *x, wick_span z, wick_span r, wick_span s, int64_t n, WINDOW_T *restrict most,
                                           WINDOW_I *restrict which) {
    WINDOW_I number = 0;
    for (int64_t k = 0; k < n; k++) which[k] = 0, most[k] = -(WINDOW_T)INFINITY;
    for (int64_t iz = z.first; iz < z.end; iz += z.step)
        for (int64_t iy = r.first; iy < r.end; iy += r.step)
            for (int64_t ix = s.first; ix < s.end; ix += s.step) {
                const WINDOW_T *restrict v = x + ((iz * w->in[1] + iy) * w->in[2] + ix) * w->channels;
                number++;
                for (int64_t k = 0; k < n; k++) {
                    const bool larger = (v[k] > most[k]) | (v[k] != v[k]) | (number == 1);
                    which[k] = larger ? number : which[k];
                    most[k] = larger ? v[k] : most[k];
                }
            }
}

static void WINDOW_NAME(channels_pick)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, const void *vv, void *yv) {
    enum { SIDE = WINDOW_NAME(SIDE) };
    const int64_t in = w->in[0] * w->in[1] * w->in[2] * w->channels, out = w->out[0] * w->out[1] * w->out[2] * w->channels;
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
static inline __attribute__((always_inline)) void WINDOW_NAME(put_of)(const wick_windows *w, const WINDOW_T *x, wick_span z, wick_span r, wick_span s, int64_t n,
                                                                      bool disjoint, const WINDOW_T *restrict y, WINDOW_T *restrict v) {
    WINDOW_T most[WINDOW_NAME(SIDE)];
    WINDOW_I which[WINDOW_NAME(SIDE)], number = 0;
    WINDOW_NAME(largest_of)(w, x, z, r, s, n, most, which);
    for (int64_t iz = z.first; iz < z.end; iz += z.step)
        for (int64_t iy = r.first; iy < r.end; iy += r.step)
            for (int64_t ix = s.first; ix < s.end; ix += s.step) {
                WINDOW_T *restrict to = v + ((iz * w->in[1] + iy) * w->in[2] + ix) * w->channels;
                number++;
                if (disjoint) /* -0 becomes 0, as in a sum */
                    for (int64_t k = 0; k < n; k++) to[k] = (which[k] == number ? y[k] : 0) + (WINDOW_T)0;
                else
                    for (int64_t k = 0; k < n; k++) to[k] += which[k] == number ? y[k] : 0;
            }
}

static void WINDOW_NAME(channels_put)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, const void *yv, void *vv) {
    enum { SIDE = WINDOW_NAME(SIDE) };
    const int64_t in = w->in[0] * w->in[1] * w->in[2] * w->channels, out = w->out[0] * w->out[1] * w->out[2] * w->channels;
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
    const int64_t in = w->in[0] * w->in[1] * w->in[2] * w->channels, out = w->out[0] * w->out[1] * w->out[2] * w->channels;
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
#undef WINDOW_EACH_PIXEL
#undef WINDOW_END
