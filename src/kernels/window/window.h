/* window.h: the seam between pooling (window.c) and its kernels of a tier (window_tier.c). */
#ifndef WICK_KERNELS_WINDOW_WINDOW_H
#define WICK_KERNELS_WINDOW_WINDOW_H

#include "kernels/window/window_api.h"

/* What output o of dim d looks at: inputs first, first + step, ... below end. */
typedef struct wick_span {
    int64_t first, end, step;
} wick_span;
static inline wick_span wick_span_of(const wick_windows *w, int d, int64_t o) {
    if (w->adaptive) return (wick_span){o * w->in[d] / w->out[d], ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d], 1};
    wick_span s = {o * w->stride[d] - w->pad[d], 0, w->dilation[d]};
    s.end = WICK_MIN(s.first + (w->kernel[d] - 1) * s.step + 1, w->in[d]);
    if (s.first < 0) s.first += (-s.first + s.step - 1) / s.step * s.step;
    return s;
}
/* How many inputs the average of output o is over, in dim d. */
static inline int64_t wick_span_count(const wick_windows *w, int d, int64_t o) {
    if (!w->adaptive && !w->inside) { /* padding counts, what lies beyond it does not */
        const int64_t first = o * w->stride[d] - w->pad[d],
                      end = WICK_MIN(first + w->kernel[d], w->in[d] + w->pad_end[d]);
        return end - first;
    }
    const wick_span s = wick_span_of(w, d, o);
    return s.first < s.end ? (s.end - s.first + s.step - 1) / s.step : 0;
}

/* Windows of 2 x 2 neighbours, all of them inside. */
static inline bool wick_windows_are_two(const wick_windows *w) {
    bool all = !w->adaptive;
    for (int d = 0; d < 3; d++) {
        const int64_t extent = d ? 2 : 1;
        all &= w->kernel[d] == extent && w->dilation[d] == 1 && w->pad[d] == 0 &&
               (w->out[d] - 1) * w->stride[d] + extent <= w->in[d];
    }
    return all;
}

/* Planes, or images with their channels last, [begin, end). */
typedef void wick_window_fn(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y, void *scratch);
typedef struct wick_window_kernels {
    const char *names[2]; /* max, mean */
    wick_window_fn *max[2], *mean[2]; /* f32, f64 */
    /* max, mean and wick_windows_put for windows of 2 x 2 side by side, the usual case; NULL: there is none. */
    wick_window_fn *max_halves[2], *mean_halves[2];
    void (*put_halves[2])(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *y, void *v);
    /* Channels last; NULL: max and mean do that too. */
    void (*channels_max[2])(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y);
    void (*channels_mean[2])(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y);
    void (*channels_pick[2])(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *v, void *y);
    void (*channels_put[2])(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *y, void *v);
    void (*channels_share[2])(const wick_windows *w, int64_t begin, int64_t end, const void *y, void *v);
} wick_window_kernels;
extern const wick_window_kernels wick_window_kernels_ref, wick_window_kernels_base, wick_window_kernels_avx2,
    wick_window_kernels_avx512;

#endif
