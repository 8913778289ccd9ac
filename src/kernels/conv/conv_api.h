/* conv_api.h: convolutions of f32 and f64, contiguous, channels last; dims are always three, leading ones 1.
 *
 * x is [batch, in, groups * ci], w is [groups * co, ci, kernel], y is [batch, out, groups * co]; channels of one group:
 *
 *     y[n, p, o] = sum over c < ci and k of x[n, p * stride - pad + k * dilation, c] w[o, c, k]    (x is 0 outside)
 *
 * what: which of the three is made from the other two. DATA and WEIGHT are the gradients, and DATA the transposed
 * convolution. Stage 0 packs weights, stage 1 computes, stage 2 adds up parts (WEIGHT); tasks[] of a stage may be 0. */
#ifndef WICK_KERNELS_CONV_API_H
#define WICK_KERNELS_CONV_API_H

#include "kernels/tuning.h"
#include "kernels/types.h"

typedef enum wick_conv_what { WICK_CONV_FORWARD, WICK_CONV_DATA, WICK_CONV_WEIGHT } wick_conv_what;
typedef struct wick_convolution {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    wick_conv_what what;
    int64_t batch, groups, ci, co;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
    bool bias, relu; /* FORWARD: y = act(y + bias[o]) */
    /* Row-major instead of channels last, where wick_conv_takes_planes: x (of DATA y), and the other one of x and y */
    bool planes[2];

    /* filled by wick_conv_prepare */
    int64_t tasks[3];
    size_t shared;  /* bytes between the stages */
    size_t scratch; /* bytes that each worker needs */
    /* conv.c's own: slabs of rows outputs along dim cut; units of work; parts of the batch that a unit of WEIGHT takes,
     * and of the taps, else of the output channels; where things are in the scratch. Prepared once, dims may have been
     * merged. */
    int64_t cut, rows, slabs, units, per_task, chunks, splits, block, blocks;
    size_t at_taps, at_rows, at_panel, at_finite, at_more;
    bool depthwise, winograd;
    bool few;   /* FORWARD: few channels to few outputs, from planes */
    bool whole; /* DATA with a stride: all phases at once */
    bool runs;  /* depthwise: units make pixels that lie one after the other */
    bool nontemporal; /* depthwise: results are written by nontemporal stores, since nothing of them would stay there */
    bool ahead; /* depthwise: what is read next is asked for, since it may come from memory */
    const struct wick_conv_kernel *code;
    const struct wick_gemm_kernel *gemm;
} wick_convolution;
/* Of the shapes and the tier: whether images may be row-major: planes[which]. */
bool wick_conv_takes_planes(const wick_convolution *c, int which);
void wick_conv_prepare(wick_convolution *c, const wick_tuning *tuning); /* kernels/tuning.h */
/* a, b: the two given ones, x before w, y before w, x before y. dst: the third. */
void wick_conv_run(const wick_convolution *c, int stage, int64_t begin, int64_t end, const void *a, const void *b,
                   const void *bias, void *dst, void *shared, void *scratch);
/* Of a prepared convolution: whether each task of stage 1 can make contiguous pixels with all their channels.
 * wick_conv_make_pixels has it so, and may cut it into other tasks. Then task t has the units from t * per_task on, at
 * most per_task of them, below `units`; and unit u makes pixels [*first, *first + *count) of all images. */
bool wick_conv_makes_pixels(const wick_convolution *c);
void wick_conv_make_pixels(wick_convolution *c, const wick_tuning *tuning);
void wick_conv_unit_pixels(const wick_convolution *c, int64_t unit, int64_t *first, int64_t *count);
const char *wick_conv_name(const wick_convolution *c); /* "conv_f32_14x32_avx512" */
/* as wick_gemm_rejected */
int wick_conv_rejected(const wick_convolution *c, const wick_tuning *tuning, wick_rejected *out);

#endif
