/* few_channels.h: convolutions of few channels to few outputs, such as the first of a network: lanes are neighbouring
 * outputs of a line, not channels, so that a vector is full, and the source is read plane by plane, as pictures lie.
 * Lines are laid out in L1 with zeros around, one phase of the stride after the other. An output's chain is that of
 * other convolutions. */
#ifndef WICK_KERNELS_CONV_FEW_H
#define WICK_KERNELS_CONV_FEW_H

#include "kernels/conv/conv_api.h"

enum { WICK_FEW_OUTPUTS = 8 };

/* Whether it could be done this way, if the source lies in planes; it depends on shapes and the tier alone. */
const char *wick_few_channels_refused(const wick_convolution *c);
size_t wick_few_channels_scratch(const wick_convolution *c, int64_t width); /* of outputs */
/* height x width outputs, the first of which reads from (lo[1], lo[2]) on. packed: [tap][channel][OUTPUTS]; finite: it
 * is. */
void wick_few_channels_run(const wick_convolution *c, int64_t height, int64_t width, const int64_t *lo,
                           const float *image, const float *packed, bool finite, const float *bias, float *dst,
                           void *scratch);

/* ---- of a tier --------------------------------------------------------------------------------------------------- */

/* A line of `count` outputs: of step i, x[at[i] + output] by w[i][OUTPUTS]. x may be read to a whole number of vectors.
 */
typedef struct wick_few_channels_line {
    int64_t steps, count, outputs;
    const int64_t *at;
    const float *x, *w, *bias; /* bias or NULL */
    bool relu;
    float *dst; /* [output][outputs] */
} wick_few_channels_line;

typedef struct wick_few_channels_kernels {
    int lanes;
    /* Pixel i of a source line, n in all, to [(first + i) % stride][(first + i) / stride] of [stride][pitch], stride 1
     * or 2, with zeros before and after. May write a vector more. */
    void (*lay)(int64_t n, int64_t first, int64_t stride, int64_t pitch, const float *src, float *dst);
    void (*line)(const wick_few_channels_line *f);
} wick_few_channels_kernels;

#endif
