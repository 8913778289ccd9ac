/* depthwise.h: convolutions of each channel on its own: no products of matrices, vectors are neighbouring channels. */
#ifndef WICK_KERNELS_CONV_DEPTHWISE_H
#define WICK_KERNELS_CONV_DEPTHWISE_H

#include "kernels/conv/conv_api.h"

/* Cuts the work and lays out the scratch; what plan_weight chose (chunks) stays. */
void wick_depthwise_prepare(wick_convolution *c, const wick_tuning *tuning);
int wick_depthwise_rejected(const wick_convolution *c, const wick_tuning *tuning, wick_rejected *out);
/* Units [begin, end). a: x, or y for DATA. b: packed weights, [phase][tap][channel], or y for WEIGHT, whose parts go to
 * dst [chunk][tap][channel]. */
void wick_depthwise_run(const wick_convolution *c, int64_t begin, int64_t end, const char *a, const char *b,
                        const char *bias, char *dst, char *scratch);

enum { WICK_DEPTHWISE_HELD = 14, WICK_DEPTHWISE_HELD_BYTES = WICK_DEPTHWISE_HELD * 64 };
enum { WICK_DEPTHWISE_ROWS = 9 }; /* rows of a kernel whose rows are three taps: at most so many */

/* ---- of a tier: a run of pixels of some channels ----------------------------------------------------------------- */

typedef struct wick_depthwise_run_of {
    int64_t pixels, channels;
    int64_t taps;
    const void *const *src; /* by tap: what the first pixel reads; pixels are src_pixel elements apart */
    int64_t src_pixel;
    /* values: dst[p][c] = act(bias[c] + sum over t of w[t][c] src[t][p][c]) */
    const void *const *w;
    const void *bias; /* or NULL */
    bool relu;
    void *dst;
    int64_t dst_pixel;
    /* dots: line[t][c] (is 0 at the first run of a row, and) += sum over p of y[p][c] src[t][p][c]; at the last,
     * sum[t][c] += line[t][c] */
    bool first, last;
    const void *y;
    int64_t y_pixel;
    void *line; /* [taps][line_step] */
    int64_t line_step;
    void *const *sum;
} wick_depthwise_run_of;

/* A whole row of outputs of some channels, with weights that are all finite: rows of padding are left out. Output p
 * reads, of each row of the source, pixels lo + p step + t tap_at for t < taps. */
typedef struct wick_depthwise_row_of {
    int64_t channels, count, begin, end; /* outputs [begin, end) read nothing outside */
    int64_t rows;                        /* of the source that are there, with their taps */
    const void *const *src;              /* by row: pixel 0 */
    /* [rows][n_columns]: pixel lo + column, or zeros: those that outputs outside of [begin, end) read, and if there are
     * 8 outputs or less all */
    const void *const *columns;
    int64_t n_columns;
    const void *const *w; /* by row: its first tap; taps are w_tap elements apart */
    int64_t src_pixel, lo, step, taps, tap_at, w_tap;
    /* three taps side by side, step 1 or 2: no columns then, only the first and the last one may lie outside */
    bool three;
    bool left, right;     /* they do */
    /* whole vectors are stored nontemporally, at multiples of a line; only where `three`. held: room for a vector of
     * each of WICK_DEPTHWISE_HELD pixels */
    bool nontemporal;
    void *held;
    const void *const *even; /* NULL, or both outputs of a stride of 2, `count` in all: an even one reads its column by
                                these weights of a row, an odd one it and the next by w. Of columns only the last may
                                lie outside, right: it does. No columns, bias or relu. */
    const void *zeros;       /* of all channels */
    const void *bias; /* or NULL */
    bool relu;
    void *dst;
    int64_t dst_pixel;
    /* so many such rows of outputs, elements apart in the source and in dst; more than one only where `three`, with
     * nothing `ahead` and not nontemporally */
    int64_t lines, src_line, dst_line;
    /* elements from a row of the source to that of the next row of outputs, which is asked for meanwhile where it may
     * come from memory; else 0 */
    int64_t ahead;
    /* row_dots, of three taps: dst is y, and w [row] + [tap] += the sums over the row of y times what the tap reads. */
    void *line; /* of as many taps and channels */
    bool from_dram; /* L2 does not keep the images */
} wick_depthwise_row_of;

#endif
