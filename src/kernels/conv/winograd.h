/* winograd.h: convolutions of 3 x 3, stride 1, by Winograd's minimal filtering F(2 x 2, 3 x 3): 16 products where the
 * definition has 36 (Lavin, Gray 2015, "Fast algorithms for convolutional neural networks"). Of a tile of 4 x 4 inputs
 * d, 2 x 2 outputs:
 *
 *   y = A' [ sum over channels of (G w G') * (B' d B) ] A        * by element: one matrix product for each of the 16
 *
 * Rounding: its sums are shorter, so that errors are not larger than those of the definition for numbers of one
 * magnitude (bench/bench_conv_error prints both). But what is rounded is sums over a tile: beside a number 10^8 times
 * as large, one loses all its digits, which the definition keeps where their products never meet. */
#ifndef WICK_KERNELS_CONV_WINOGRAD_H
#define WICK_KERNELS_CONV_WINOGRAD_H

#include "kernels/conv/conv_api.h"

/* Whether a convolution is done this way; it must not depend on more than shapes and the tier. */
const char *wick_winograd_refused(const wick_convolution *c); /* why it is not; NULL: it is */
static inline bool wick_winograd_fits(const wick_convolution *c) { return !wick_winograd_refused(c); }
size_t wick_winograd_packed(const wick_convolution *c); /* bytes of all G w G' */
/* A panel of outputs, from the same one as [tap][channel in][width], turned around for DATA. */
void wick_winograd_pack(const wick_convolution *c, int64_t panel, const float *w, float *packed);
size_t wick_winograd_scratch(const wick_convolution *c);

/* height x width outputs of an image [dims[1]][dims[2]][channels], the first of which reads from pixel (lo[1], lo[2])
 * on; outside of it are zeros. false: NaN, Inf or an overflow was met, which would spread: dst is not to be used. */
bool wick_winograd_run(const wick_convolution *c, int64_t height, int64_t width, const float *image,
                       const int64_t *dims, const int64_t *lo, const float *packed, const float *bias, float *dst,
                       int64_t dst_line, void *scratch);

/* ---- of a tier --------------------------------------------------------------------------------------------------- */

enum { WICK_WINOGRAD_TILES = 8 }; /* of products() */

/* Where outputs of tiles side by side go: one or two lines of `width` pixels, which are `pixel` apart. */
typedef struct wick_winograd_to {
    const float *bias; /* or NULL */
    bool relu;
    int64_t width, lines, pixel, line;
    float *dst;
} wick_winograd_to;

typedef struct wick_winograd_kernels {
    int lanes;
    /* bytes of U up to which products() is the faster way: a share of L2 that goes by the width of vectors */
    size_t near;
    /* V[k][tile][channel] of n tiles side by side, the first of which reads from pixel `first` on; lines of `width`
     * pixels. */
    void (*in)(int64_t n, int64_t channels, const float *const line[4], int64_t first, int64_t width, float *v,
               int64_t v_k);
    /* M[k][TILES][lanes] of n tiles, and what else is in V[k][TILES][from], and lanes of U[k][from], lines of which are
     * u_row long. */
    void (*products)(int64_t n, int64_t from, const float *v, const float *u, int64_t u_row, float *m);
    /* From M[k][tile][channel] of n tiles; false: something is not finite, V and M included: what is not comes through
     * to an output. */
    bool (*out)(int64_t n, int64_t channels, const float *m, int64_t m_k, const wick_winograd_to *to);
} wick_winograd_kernels;

#endif
