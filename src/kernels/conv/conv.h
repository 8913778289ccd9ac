/* conv.h: the seam between the control flow of convolutions (conv.c) and the kernels of a tier (conv_tier.c). Products are those of
 * gemm.h: what is special here is how their operands are gathered. */
#ifndef WICK_KERNELS_CONV_CONV_H
#define WICK_KERNELS_CONV_CONV_H

#include "kernels/kernels.h"

enum { WICK_CONV_LANES = 16 }; /* the most elements of a vector */

/* A vector of neighbouring outputs, in runs: from lane `begin` on, lane i reads at src + at + i. begin[0] is 0. */
typedef struct wick_conv_vec {
    int n;
    int begin[WICK_CONV_LANES];
    int64_t at[WICK_CONV_LANES];
} wick_conv_vec;

typedef struct wick_conv_kernel {
    const char *names[3]; /* by what */
    int elem, lanes;      /* bytes of an element, elements of a vector */
    /* dst[k * dst_k + v * lanes + lane] = src[offset[k] + at + lane], whole vectors: a vector around what a run covers is readable. */
    void (*gather)(int64_t n_vecs, const wick_conv_vec *vecs, int64_t n, const int64_t *offset, const void *src, void *dst, int64_t dst_k);
    /* One channel: dst[r][j] = bias + sum of w[t] src[r * src_row + offset[t] + j], j < width. */
    void (*plane)(int taps, const int64_t *offset, const void *w, const void *src, int64_t src_row, int64_t rows, int64_t width, const void *bias,
                  bool relu, void *dst);
    /* Its weights: sum[t] += sum over r, j of y[r][j] src[r * src_row + offset[t] + j]. */
    void (*dots)(int taps, const int64_t *offset, const void *y, const void *src, int64_t src_row, int64_t rows, int64_t width, void *sum);
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
