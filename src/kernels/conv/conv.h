/* conv.h: the seam between the control flow of convolutions (conv.c) and the kernels of a tier (conv_tier.c). Products are those of
 * gemm.h; here are convolutions of each channel on its own (depthwise), which have none. */
#ifndef WICK_KERNELS_CONV_CONV_H
#define WICK_KERNELS_CONV_CONV_H

#include "kernels/conv/winograd.h"

/* A row of pixels of all channels: pixel p of src is at p * src_pixel, channels are neighbours. */
typedef struct wick_conv_row {
    int64_t pixels, channels;
    const void *src;
    int64_t src_pixel;
    int64_t taps;
    const int64_t *tap_at; /* elements behind a pixel of src */
    const void *w;         /* dots: unused. [taps][channels] */
    const void *bias;      /* [channels], or NULL */
    bool relu;
    void *dst; /* rows: the outputs, dst_pixel apart. dots: [taps][channels] sums to add to */
    int64_t dst_pixel;
    const void *y; /* dots: [pixels][channels] */
} wick_conv_row;

typedef struct wick_conv_kernel {
    const char *names[5]; /* by what; forward and data by Winograd's algorithm */
    int elem;             /* bytes of an element */
    /* dst[p][c] = act(bias[c] + sum over t of w[t][c] src[p][tap_at[t] + c]) */
    void (*row)(const wick_conv_row *r);
    /* dst[t][c] += sum over p of y[p][c] src[p][tap_at[t] + c] */
    void (*dots)(const wick_conv_row *r);
    const wick_winograd_kernels *winograd; /* f32 only; NULL: there are none */
    /* The reference: output channels (for DATA input channels) [begin, end) of all images, or of the weights. Then the rest is unused. */
    void (*direct)(const wick_convolution *c, int64_t begin, int64_t end, const void *a, const void *b, const void *bias, void *dst);
} wick_conv_kernel;

typedef struct wick_conv_kernels {
    wick_conv_kernel type[2]; /* f32, f64 */
} wick_conv_kernels;

extern const wick_conv_kernels wick_conv_kernels_ref, wick_conv_kernels_base;
#if defined(__x86_64__)
extern const wick_conv_kernels wick_conv_kernels_avx2, wick_conv_kernels_avx512;
#endif

#endif
