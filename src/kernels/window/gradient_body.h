/* gradient_body.h: gradients of pooling, once per type. Included by window.c. */

/* The place of the largest in the window of output (oz, oy, ox). */
static inline int64_t WINDOW_NAME(largest)(const wick_windows *w, const WINDOW_T *x, const wick_span *z,
                                           const wick_span *y, const wick_span *s) {
    int64_t at = -1;
    WINDOW_T most = 0;
    for (int64_t iz = z->first; iz < z->end; iz += z->step)
        for (int64_t iy = y->first; iy < y->end; iy += y->step) {
            const int64_t row = (iz * w->in[1] + iy) * w->in[2];
            for (int64_t ix = s->first; ix < s->end; ix += s->step)
                if (at < 0 || x[row + ix] > most || x[row + ix] != x[row + ix]) at = row + ix, most = x[at];
        }
    return at;
}

#define WINDOW_EACH_OUTPUT                                                                                      \
    for (int64_t oz = 0, o = 0; oz < w->out[0]; oz++) {                                                         \
        const wick_span z = wick_span_of(w, 0, oz);                                                             \
        for (int64_t oy = 0; oy < w->out[1]; oy++) {                                                            \
            const wick_span r = wick_span_of(w, 1, oy);                                                         \
            for (int64_t ox = 0; ox < w->out[2]; ox++, o++) {                                                   \
                const wick_span s = wick_span_of(w, 2, ox);
#define WINDOW_END \
    }              \
    }              \
    }

static void WINDOW_NAME(pick)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, const void *vv,
                              void *yv) {
    const int64_t in = w->in[0] * w->in[1] * w->in[2], out = w->out[0] * w->out[1] * w->out[2];
    for (int64_t p = begin; p < end; p++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + p * in, *v = (const WINDOW_T *)vv + p * in;
        WINDOW_T *y = (WINDOW_T *)yv + p * out;
        WINDOW_EACH_OUTPUT
        const int64_t at = WINDOW_NAME(largest)(w, x, &z, &r, &s);
        y[o] = at < 0 ? 0 : v[at];
        WINDOW_END
    }
}

static void WINDOW_NAME(index)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, int64_t *y) {
    const int64_t in = w->in[0] * w->in[1] * w->in[2], out = w->out[0] * w->out[1] * w->out[2];
    for (int64_t p = begin; p < end; p++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + p * in;
        WINDOW_EACH_OUTPUT
        y[p * out + o] = WINDOW_NAME(largest)(w, x, &z, &r, &s);
        WINDOW_END
    }
}

static void WINDOW_NAME(put)(const wick_windows *w, int64_t begin, int64_t end, const void *xv, const void *yv,
                             void *vv) {
    const int64_t in = w->in[0] * w->in[1] * w->in[2], out = w->out[0] * w->out[1] * w->out[2];
    for (int64_t p = begin; p < end; p++) {
        const WINDOW_T *x = (const WINDOW_T *)xv + p * in, *y = (const WINDOW_T *)yv + p * out;
        WINDOW_T *v = (WINDOW_T *)vv + p * in;
        memset(v, 0, (size_t)in * sizeof *v);
        WINDOW_EACH_OUTPUT
        const int64_t at = WINDOW_NAME(largest)(w, x, &z, &r, &s);
        if (at >= 0) v[at] += y[o];
        WINDOW_END
    }
}

static void WINDOW_NAME(share)(const wick_windows *w, int64_t begin, int64_t end, const void *yv, void *vv) {
    const int64_t in = w->in[0] * w->in[1] * w->in[2], out = w->out[0] * w->out[1] * w->out[2];
    for (int64_t p = begin; p < end; p++) {
        const WINDOW_T *y = (const WINDOW_T *)yv + p * out;
        WINDOW_T *v = (WINDOW_T *)vv + p * in;
        memset(v, 0, (size_t)in * sizeof *v);
        WINDOW_EACH_OUTPUT
        const int64_t count = wick_span_count(w, 0, oz) * wick_span_count(w, 1, oy) * wick_span_count(w, 2, ox);
        const WINDOW_T part = count ? y[o] / (WINDOW_T)count : 0;
        for (int64_t iz = z.first; iz < z.end; iz += z.step)
            for (int64_t iy = r.first; iy < r.end; iy += r.step)
                for (int64_t ix = s.first; ix < s.end; ix += s.step) v[(iz * w->in[1] + iy) * w->in[2] + ix] += part;
        WINDOW_END
    }
}
#undef WINDOW_EACH_OUTPUT
#undef WINDOW_END
