/* few_channels.c: control flow of few_channels.h. Outputs go some lines at a time:
 *
 *   scratch: | at [tap][channel] | lines that they read [line][channel][phase][pitch] |
 */
#include "kernels/conv/conv.h"
#include "kernels/conv/few_channels.h"
#include "kernels/gemm/gemm_tuning.h"

/* The most channels; bytes of lines that are in L1 at once. */
enum { FEW_CHANNELS = 4, FEW_LINES = 24 << 10 };

const char *wick_few_channels_refused(const wick_convolution *c) {
    const wick_few_channels_kernels *q = c->code->few;
    const int64_t taps = c->kernel[1] * c->kernel[2];
    if (!q) return "this tier has none for the dtype";
    if (c->what != WICK_CONV_FORWARD) return "it is not for gradients";
    if (c->groups != 1) return "there are groups";
    if (c->kernel[0] != 1 || c->in[0] != 1 || c->pad[0] || c->stride[0] != 1) return "there are three dims";
    if (c->ci > FEW_CHANNELS || c->co > WICK_FEW_OUTPUTS) return "there are too many channels";
    if (c->stride[2] > 2) return "the stride is more than 2";
    if (taps == 1 || taps * c->ci > WICK_GEMM_KC) return "the kernel has one tap, or too many";
    return 4 * c->out[2] >= 3 * q->lanes ? NULL : "lines are shorter than vectors";
}

/* A line of outputs reads what a kernel of one tap would, and `reach` more, of each phase. */
static int64_t reach(const wick_convolution *c) { return (c->kernel[2] - 1) * c->dilation[2] / c->stride[2]; }
static int64_t pitch_of(const wick_convolution *c, int64_t width) {
    const size_t lanes = (size_t)c->code->few->lanes;
    return (int64_t)WICK_ALIGN_UP(WICK_ALIGN_UP((size_t)width, lanes) + (size_t)reach(c), lanes);
}
static int64_t line_of(const wick_convolution *c, int64_t width) { return c->stride[2] * pitch_of(c, width); }
/* Lines of outputs at once, and those of the source that they read. */
static int64_t at_once(const wick_convolution *c, int64_t width) {
    const int64_t lines = FEW_LINES / (line_of(c, width) * c->ci * (int64_t)sizeof(float));
    return WICK_MAX(1, (lines - (c->kernel[1] - 1) * c->dilation[1] - 1) / c->stride[1] + 1);
}
static int64_t lines_of(const wick_convolution *c, int64_t outputs) {
    return (outputs - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1;
}

static size_t at_lines(const wick_convolution *c) {
    return WICK_ALIGN_UP((size_t)(c->kernel[1] * c->kernel[2] * c->ci) * sizeof(int64_t), WICK_ALIGN);
}
size_t wick_few_channels_scratch(const wick_convolution *c, int64_t width) {
    return at_lines(c) +
           (size_t)(lines_of(c, at_once(c, width)) * c->ci * line_of(c, width) + c->code->few->lanes) * sizeof(float);
}

void wick_few_channels_run(const wick_convolution *c, int64_t height, int64_t width, const int64_t *lo,
                           const float *image, const float *packed, bool finite, const float *bias, float *dst,
                           void *scratch) {
    const wick_few_channels_kernels *q = c->code->few;
    const int64_t line = line_of(c, width), pitch = pitch_of(c, width), s = c->stride[2], *in = c->in,
                  *kernel = c->kernel, row_steps = kernel[2] * c->ci;
    const int64_t first = WICK_MAX(0, -lo[2]),
                  n = WICK_MAX(0, WICK_MIN((width - 1) * s + (kernel[2] - 1) * c->dilation[2] + 1 - first,
                                           in[2] - lo[2] - first));
    int64_t *at = scratch, step = 0;
    float *lines = (float *)(void *)((char *)scratch + at_lines(c));
    for (int64_t y = 0; y < kernel[1]; y++)
        for (int64_t x = 0; x < kernel[2]; x++)
            for (int64_t k = 0; k < c->ci; k++)
                at[step++] =
                    (y * c->dilation[1] * c->ci + k) * line + x * c->dilation[2] % s * pitch + x * c->dilation[2] / s;
    wick_few_channels_line f = {.outputs = c->co, .count = width, .bias = bias, .relu = c->relu, .dst = dst};
    for (int64_t begin = 0, rows; begin < height; begin += rows) {
        rows = WICK_MIN(at_once(c, width), height - begin);
        for (int64_t l = 0, y = lo[1] + begin * c->stride[1]; l < lines_of(c, rows); l++, y++)
            for (int64_t k = 0; k < c->ci; k++) {
                const bool there = y >= 0 && y < in[1] && n > 0;
                q->lay(there ? n : 0, there ? first : 0, s, pitch,
                       there ? image + (k * in[1] + y) * in[2] + lo[2] + first : image, lines + (l * c->ci + k) * line);
            }
        for (int64_t row = 0, y = lo[1] + begin * c->stride[1]; row < rows;
             row++, y += c->stride[1], f.dst += width * c->co) {
            int64_t from = 0, to = kernel[1]; /* as clip_taps of conv_correlate.c */
            for (; finite && from < to && y + from * c->dilation[1] < 0; from++) {}
            for (; finite && from < to && y + (to - 1) * c->dilation[1] >= in[1]; to--) {}
            f.steps = (to - from) * row_steps;
            f.at = at + from * row_steps;
            f.x = lines + row * c->stride[1] * c->ci * line;
            f.w = packed + from * row_steps * WICK_FEW_OUTPUTS;
            q->line(&f);
        }
    }
}
