/* conv_pack.c: weights of convolutions, packed in the order they are read. */
#include "kernels/conv/conv_parts.h"
#include "kernels/convert/convert.h"
#include "kernels/packing.h"

/* Taps of all phases before this one. */
static int64_t taps_before(const wick_convolution *c, int64_t phase) {
    int64_t n = 0;
    for (int64_t f = 0; f < phase; f++) n += wick_conv_box_of(c, f, 0).taps;
    return n;
}

/* Where panel 0 of a group and phase starts, in elements: [group][phase][panel][tap][source channel][output channel].
 * Depthwise: [phase][tap][channel]. */
int64_t wick_conv_panels_at(const wick_convolution *c, int64_t group, int64_t phase) {
    if (c->depthwise) return taps_before(c, phase) * c->groups;
    return (group * conv_product(c->kernel) + taps_before(c, phase)) * (conv_source_channels(c) / c->groups) *
           conv_panels_width(c);
}

/* Returns whether all are finite. Panels are transposed some source channels at a time, with all their taps; element by
 * element what that does not suit. */
#define CONV_PACK(name, T)                                                                                             \
    static bool name(const wick_convolution *c, const conv_box *b, int64_t group, int64_t panel, const T *w, T *to) {  \
        typedef T vec __attribute__((vector_size(16)));                                                                \
        typedef T vecu __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));                                \
        enum { L = 16 / sizeof(T) };                                                                                   \
        const bool data = c->what == WICK_CONV_DATA;                                                                   \
        const wick_conv_axis *x = b->axis;                                                                             \
        const int64_t taps = conv_product(c->kernel), source = data ? c->co : c->ci,                                   \
                      width = c->depthwise ? c->groups : conv_panel_width(c, panel);                                   \
        const int64_t all = c->depthwise ? c->groups : data ? c->ci : c->co;                                           \
        const int64_t first = c->depthwise ? 0 : panel * c->gemm->nr, outputs = all - first;                           \
        const int64_t of_out = data && !c->depthwise ? taps : c->ci * taps, of_source = data ? c->ci * taps : taps;    \
        const int64_t at_once = c->depthwise ? 0 : data ? taps * width <= CONV_TURN : CONV_TURN / (taps * width);      \
        w += group * c->co * c->ci * taps + first * of_out;                                                            \
        vec zeros = {0}; /* NaN once there was NaN or Inf */                                                           \
        T zero = 0, transposed[CONV_TURN];                                                                             \
        if (at_once && outputs < width) memset(transposed, 0, sizeof transposed);                                      \
        for (int64_t s = 0, n; at_once && s < source; s += n) {                                                        \
            n = WICK_MIN(at_once, source - s);                                                                         \
            wick_convert_kernels(wick_tier_current())                                                                  \
                ->transpose((int)sizeof(T), w + s * of_source, of_out, transposed, width, n * taps,                    \
                            WICK_MIN(outputs, width), false);                                                          \
            T *out = to + s * width;                                                                                   \
            for (int64_t z = 0; z < x[0].taps; z++)                                                                    \
                for (int64_t y = 0; y < x[1].taps; y++)                                                                \
                    for (int64_t k = 0; k < x[2].taps; k++, out += source * width) {                                   \
                        const int64_t at[3] = {x[0].tap0 + z * x[0].tap_step, x[1].tap0 + y * x[1].tap_step,           \
                                               x[2].tap0 + k * x[2].tap_step};                                         \
                        const T *from = transposed + ((at[0] * c->kernel[1] + at[1]) * c->kernel[2] + at[2]) * width;  \
                        for (int64_t i = 0; i < n; i++)                                                                \
                            for (int64_t o = 0; o < width; o += L) {                                                   \
                                const vec v = *(const vecu *)(from + i * taps * width + o);                            \
                                *(vecu *)(out + i * width + o) = v;                                                    \
                                zeros += v * (vec){0};                                                                 \
                            }                                                                                          \
                    }                                                                                                  \
        }                                                                                                              \
        for (int64_t z = 0; !at_once && z < x[0].taps; z++)                                                            \
            for (int64_t y = 0; y < x[1].taps; y++)                                                                    \
                for (int64_t k = 0; k < x[2].taps; k++) {                                                              \
                    const int64_t at[3] = {x[0].tap0 + z * x[0].tap_step, x[1].tap0 + y * x[1].tap_step,               \
                                           x[2].tap0 + k * x[2].tap_step};                                             \
                    const T *from = w + (at[0] * c->kernel[1] + at[1]) * c->kernel[2] + at[2];                         \
                    for (int64_t s = 0; s < source; s++, from += of_source, to += width)                               \
                        for (int64_t o = 0; o < width; o++) {                                                          \
                            to[o] = o < outputs ? from[o * of_out] : 0;                                                \
                            zero += to[o] * 0;                                                                         \
                        }                                                                                              \
                }                                                                                                      \
        for (int i = 0; i < L; i++) zero += zeros[i];                                                                  \
        return zero == 0;                                                                                              \
    }
CONV_PACK(pack_f32, float)
CONV_PACK(pack_f64, double)

/* The same of all phases at once: [tap][source channel][phase, channel], where a phase is called by the place of its
 * first output. */
#define CONV_PACK_WHOLE(name, T)                                                                                       \
    static bool name(const wick_convolution *c, const conv_box *b, const T *w, T *to) {                                \
        const int64_t width = wick_conv_whole_width(c), taps = conv_product(c->kernel), *kernel = c->kernel,           \
                      *s = c->stride;                                                                                  \
        T zero = 0;                                                                                                    \
        memset(to, 0, (size_t)(b->taps * c->co * width) * sizeof(T));                                                  \
        for (int64_t k = 0; k < taps; k++) {                                                                           \
            const int64_t at[3] = {k / kernel[2] / kernel[1], k / kernel[2] % kernel[1], k % kernel[2]};               \
            int64_t tap = 0, phase = 0;                                                                                \
            for (int d = 0; d < 3; d++) {                                                                              \
                const int64_t reach = at[d] - c->pad[d],                                                               \
                              first = ((reach % s[d]) + s[d]) % s[d]; /* output o meets input o stride + reach */      \
                tap = tap * b->axis[d].taps + (first - reach) / s[d] - b->axis[d].lo;                                  \
                phase = phase * s[d] + first;                                                                          \
            }                                                                                                          \
            for (int64_t o = 0; o < c->co; o++)                                                                        \
                for (int64_t i = 0; i < c->ci; i++) {                                                                  \
                    const T v = w[(o * c->ci + i) * taps + k];                                                         \
                    to[(tap * c->co + o) * width + phase * c->ci + i] = v;                                             \
                    zero += v * 0;                                                                                     \
                }                                                                                                      \
        }                                                                                                              \
        return zero == 0;                                                                                              \
    }
CONV_PACK_WHOLE(pack_whole_f32, float)
CONV_PACK_WHOLE(pack_whole_f64, double)

void wick_conv_keep_packing(wick_convolution *c) {
    const wick_convolution was = *c;
    memset(c, 0, sizeof *c);
    c->type = was.type, c->what = was.what, c->groups = was.groups, c->ci = was.ci, c->co = was.co;
    memcpy(c->kernel, was.kernel, sizeof c->kernel);
    memcpy(c->stride, was.stride, sizeof c->stride);
    memcpy(c->dilation, was.dilation, sizeof c->dilation);
    memcpy(c->pad, was.pad, sizeof c->pad);
    c->at_finite = was.at_finite, c->at_more = was.at_more;
    c->depthwise = was.depthwise, c->winograd = was.winograd, c->whole = was.whole;
    c->code = was.code, c->gemm = was.gemm;
}

void wick_conv_run_pack(const wick_convolution *c, int64_t begin, int64_t end, const char *w, char *packed) {
    const int64_t phases = conv_phases_of(c), panels = c->depthwise ? 1 : conv_panels_of(c);
    for (int64_t t = begin; t < end; t++) {
        const bool whole = c->whole && t == phases * panels;
        const int64_t panel = t % panels, phase = whole ? phases : t / panels % phases, group = t / panels / phases;
        const conv_box b = wick_conv_box_of(c, phase, 0);
        if (whole) {
            ((bool *)packed)[c->at_finite + (size_t)t] =
                c->type == WICK_CF32
                    ? pack_whole_f32(c, &b, (const float *)(const void *)w, (float *)(void *)(packed + c->at_more))
                    : pack_whole_f64(c, &b, (const double *)(const void *)w, (double *)(void *)(packed + c->at_more));
            continue;
        }
        const int64_t at =
            wick_conv_panels_at(c, group, phase) + panel * c->gemm->nr * b.taps * conv_source_channels(c) / c->groups;
        const bool finite =
            c->type == WICK_CF32
                ? pack_f32(c, &b, group, panel, (const float *)(const void *)w, (float *)(void *)packed + at)
                : pack_f64(c, &b, group, panel, (const double *)(const void *)w, (double *)(void *)packed + at);
        ((bool *)packed)[c->at_finite + (size_t)t] = finite;
        if (c->winograd)
            wick_winograd_pack(c, t, (const float *)(const void *)packed + at, (float *)(void *)(packed + c->at_more));
    }
}
