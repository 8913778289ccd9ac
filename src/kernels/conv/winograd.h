/* winograd.h: convolutions of 3 x 3, stride 1, by Winograd's minimal filtering F(2 x 2, 3 x 3): 16 products where the definition has 36 (Lavin,
 * Gray 2015, "Fast algorithms for convolutional neural networks"). Of a tile of 4 x 4 inputs d, 2 x 2 outputs:
 *
 *   y = A' [ sum over channels of (G w G') * (B' d B) ] A        * by element: one matrix product for each of the 16
 *
 * Rounding: its sums are shorter, so that errors are not larger than those of the definition for numbers of one magnitude
 * (bench/bench_conv_error prints both). But what is rounded is sums over a tile: beside a number 10^8 times as large, one loses all its digits, which the
 * definition keeps where their products never meet. */
#ifndef WICK_KERNELS_CONV_WINOGRAD_H
#define WICK_KERNELS_CONV_WINOGRAD_H

#include "kernels/kernels.h"

/* Whether a convolution is done this way; it must not depend on more than shapes and the tier. */
const char *wick_winograd_refused(const wick_convolution *c); /* why it is not; NULL: it is */
static inline bool wick_winograd_fits(const wick_convolution *c) { return !wick_winograd_refused(c); }
size_t wick_winograd_packed(const wick_convolution *c); /* bytes of all G w G' */
/* A panel of outputs, from the same one as [tap][channel in][width], turned around for DATA. */
void wick_winograd_pack(const wick_convolution *c, int64_t panel, const float *w, float *packed);
size_t wick_winograd_scratch(const wick_convolution *c, int64_t width);

/* height x width outputs. src: the first pixel that they read; pixels are `channels` apart, lines src_line; 2 more lines and pixels than outputs, and
 * one more where these are odd, are readable. false: NaN, Inf or an overflow was met, which would spread: dst is not to be used. */
bool wick_winograd_run(const wick_convolution *c, int64_t height, int64_t width, const float *src, int64_t src_line, const float *packed, const float *bias,
                       float *dst, int64_t dst_line, void *scratch);

/* ---- of a tier ---- */

/* V[k][tile][channel] of n tiles side by side, and from M; false: something is not finite. */
typedef struct wick_winograd_kernels {
    int lanes;
    bool (*in)(int64_t n, int64_t channels, const float *src, int64_t line, float *v, int64_t v_k);
    /* From M[k][tile][channel] of n tiles: one or two lines of `width` outputs. */
    bool (*out)(int64_t n, int64_t channels, const float *m, int64_t m_k, const float *bias, bool relu, int64_t width, int64_t lines, float *dst, int64_t dst_line);
} wick_winograd_kernels;

#endif
