/* int8_api.h: products of 8-bit integers: matrices, and convolutions of channels-last images.
 *
 *     s[i, j] = sum over p < k of (a[i, p] - a_zero) (b[p, j] - b_zero[j])     in 32 bits, which wrap: the same bits
 *         however it is computed
 *
 * I32: c = s. With scale[j] = a_scale b_scale[j]:
 * F32: c = s scale[j] + bias[j], each rounded; without a bias c = s scale[j], also where that is -0
 * U8, I8: c = zero + round(clamp((s + bias[j]) (scale[j] / c_scale))), to nearest even, all in f32 but for the sum; the
 * bias is i32, or f32 and then rounded to whole scale[j]. The bounds are those of the dtype, and of real numbers low
 * and high.
 *
 * A matrix A [m, k] and B [k, n] have any strides; batches of products follow each other in tasks. Of a convolution, A
 * is x, whose rows are the pixels that an output reads (a_zero outside of the image), and B is w [groups * co, ci,
 * kernel]. Stage 0 packs B (and what stands beside it), stage 1 makes C. */
#ifndef WICK_KERNELS_INT8_API_H
#define WICK_KERNELS_INT8_API_H

#include "kernels/tuning.h"
#include "kernels/types.h"

typedef enum wick_int8_result { WICK_INT8_I32, WICK_INT8_F32, WICK_INT8_U8, WICK_INT8_I8 } wick_int8_result;
typedef struct wick_int8 {
    bool a_signed, b_signed, has_b_zero;
    wick_int8_result result;
    bool b_zero_each, b_scale_each, bias_is_f32, has_bias; /* each: by column (output channel), else one for all */
    double low, high;
    /* of one product: convolutions: pixels of an image, outputs of a group, inputs of a group times taps */
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col; /* matrices */
    int64_t b_count;                    /* B's that are packed: of a batch, or groups */
    bool conv;
    bool keep;  /* B is packed once, for many products */
    bool small; /* B, whatever it is when packed, is i8 in -64..64 */
    /* a_zero is another one in each of them, and only wick_int8_run reads it; I32 and F32, and zero points of B stay */
    bool late_zero;
    bool late_scale; /* a_scale likewise; F32, and scales of B and a bias, f32 or none, stay */
    /* B as it is while the product is prepared, or NULL: by it the way to multiply is chosen. It may be another B that
     * is packed later. NULL again afterwards. */
    const void *known;
    int64_t batch, groups, ci, in[3], out[3], kernel_dims[3], stride[3], dilation[3], pad[3];

    /* filled by wick_int8_prepare */
    int64_t tasks_pack, tasks;            /* of one B; of one product, all groups of an image */
    size_t packed, scratch_pack, scratch; /* packed: bytes of one B */
    int64_t rows, cols, padded;           /* of a task; of k */
    bool in_place, row_sums, depthwise;
    int64_t pieces, piece; /* of a row of A, and elements of one, as tiles read it */
    /* convolutions but AMX's: outputs of a task; depthwise: pixels that a vector of channels holds; columns that are
     * packed */
    int64_t task_y, task_x, fold, packed_width;
    bool few;           /* rows, for which nothing is packed: wick_int8_run reads d->b and what stands by columns */
    bool own;           /* there is no stage 0: a task of wick_int8_run packs the panels of d->b that it takes */
    int64_t split_room; /* of a panel: steps whose weights are split */
    size_t at_columns, at_sums, at_tile, at_taps, at_raw, at_panel, at_splits, at_split_weights, at_late;
    const struct wick_int8_kernel *kernel;
    const struct wick_amx_kernel *amx; /* NULL: tiles of the kernel */
} wick_int8;
typedef struct wick_int8_data {          /* NULL: not there */
    const void *a, *b, *a_zero, *b_zero; /* zero points are of the dtypes of a and b */
    const float *a_scale, *b_scale, *c_scale;
    const void *c_zero, *bias;
    void *c, *packed;
} wick_int8_data;
/* Uses the current tier and the CPU's extensions. tuning: kernels/tuning.h. */
void wick_int8_prepare(wick_int8 *p, const wick_tuning *tuning);
/* Tasks [begin, end) of B number `which`, of b_count; d->b is at that B for matrices, at all weights for convolutions;
 * packed at the first. */
void wick_int8_pack(const wick_int8 *p, int64_t which, int64_t begin, int64_t end, const wick_int8_data *d,
                    void *scratch);
/* Tasks of one product: a, c and packed are its own (convolutions: an image's, and the first group's B). */
void wick_int8_run(const wick_int8 *p, int64_t begin, int64_t end, const wick_int8_data *d, void *scratch);
const char *wick_int8_name(const wick_int8 *p);
int wick_int8_rejected(const wick_int8 *p, wick_rejected *out);

#endif
