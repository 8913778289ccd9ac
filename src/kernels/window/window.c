/* window.c: pooling: the tier's kernels for values, and gradients, which are scattered and plain C on every tier. */
#include "kernels/window/window.h"

static const wick_window_kernels *const window_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_window_kernels)};

/* Why windows are not 2 x 2 side by side, in rows of at least a short vector; NULL: they are. */
static const char *halves_refused(const wick_windows *w) {
    if (w->adaptive) return "windows are adaptive";
    if (w->kernel[0] != 1 || w->stride[0] != 1 || w->pad[0] || w->in[0] != w->out[0]) return "there are three dims";
    for (int d = 1; d < 3; d++) {
        if (w->kernel[d] != 2 || w->dilation[d] != 1) return "windows are not 2 x 2";
        if (w->stride[d] != 2) return "windows are not side by side";
        if (w->pad[d] || 2 * w->out[d] > w->in[d]) return "there is padding";
    }
    return w->out[2] >= 4 ? NULL : "rows are short";
}
static bool are_halves(const wick_windows *w) { return !halves_refused(w); }

/* Two rows: one is read while the other is written. */
size_t wick_windows_scratch(const wick_windows *w) {
    return 2 * (size_t)w->in[2] * wick_ctype_size(w->type) + WICK_ALIGN;
}
static const wick_window_kernels *tier_kernels(void) { return window_tiers[wick_tier_current()]; }
/* Why images are not gone over by channels; NULL: they are. */
static const char *channels_refused(const wick_windows *w, bool max) {
    const wick_window_kernels *tier = tier_kernels();
    if (!w->channels) return "channels are not last";
    return (max ? tier->channels_max : tier->channels_mean)[0] ? NULL : "this tier has none";
}
/* Of row-major images: why windows have loops. */
static const char *tier_halves_refused(const wick_windows *w) {
    return tier_kernels()->max_halves[0] ? halves_refused(w) : "this tier has none";
}

int wick_windows_rejected(const wick_windows *w, bool max, wick_rejected *out) {
    int n = 0;
    if (wick_tier_current() == WICK_TIER_REF) return 0;
    const char *channels = channels_refused(w, max);
    if (channels) out[n++] = (wick_rejected){"channels as vectors", channels};
    if (channels && tier_halves_refused(w))
        out[n++] = (wick_rejected){"rows of 2 x 2 without loops over windows", tier_halves_refused(w)};
    return n;
}

void wick_windows_max(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y, void *scratch) {
    const wick_window_kernels *tier = tier_kernels();
    const int f64 = w->type == WICK_CF64;
    if (!channels_refused(w, true))
        tier->channels_max[f64](w, begin, end, x, y);
    else
        (tier_halves_refused(w) ? tier->max : tier->max_halves)[f64](w, begin, end, x, y, scratch);
}
void wick_windows_mean(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y, void *scratch) {
    const wick_window_kernels *tier = tier_kernels();
    if (!channels_refused(w, false))
        tier->channels_mean[w->type == WICK_CF64](w, begin, end, x, y);
    else
        (tier_halves_refused(w) ? tier->mean : tier->mean_halves)[w->type == WICK_CF64](w, begin, end, x, y, scratch);
}
const char *wick_windows_name(const wick_windows *w, bool max) {
    return (void)w, window_tiers[wick_tier_current()]->names[!max];
}

#define WINDOW_T       float
#define WINDOW_NAME(x) x##_f32
#include "kernels/window/gradient_body.h"
#undef WINDOW_T
#undef WINDOW_NAME
#define WINDOW_T       double
#define WINDOW_NAME(x) x##_f64
#include "kernels/window/gradient_body.h"

void wick_windows_pick(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *v, void *y) {
    const int f64 = w->type == WICK_CF64;
    (w->channels ? tier_kernels()->channels_pick[f64] : f64 ? pick_f64 : pick_f32)(w, begin, end, x, v, y);
}
void wick_windows_index(const wick_windows *w, int64_t begin, int64_t end, const void *x, int64_t *y) {
    (w->type == WICK_CF64 ? index_f64 : index_f32)(w, begin, end, x, y);
}
bool wick_windows_put_copies(const wick_windows *w) {
    return !w->channels && tier_kernels()->put_halves[0] && are_halves(w);
}
void wick_windows_put(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *y, void *v) {
    const wick_window_kernels *tier = tier_kernels();
    const int f64 = w->type == WICK_CF64;
    (w->channels                  ? tier->channels_put[f64]
     : wick_windows_put_copies(w) ? tier->put_halves[f64]
     : f64                        ? put_f64
                                  : put_f32)(w, begin, end, x, y, v);
}
void wick_windows_share(const wick_windows *w, int64_t begin, int64_t end, const void *y, void *v) {
    const int f64 = w->type == WICK_CF64;
    (w->channels ? tier_kernels()->channels_share[f64] : f64 ? share_f64 : share_f32)(w, begin, end, y, v);
}
