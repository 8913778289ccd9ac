/* attrs.h: the parameters of recorded ops, for the families that define them and for what reads graphs (export). Parts
 * of plan keys: no padding that is not zeroed. Reductions have theirs in lower.h, products, convolutions and hooks in
 * ops.h, solvers in factor.h. */
#ifndef WICK_OPS_ATTRS_H
#define WICK_OPS_ATTRS_H

#include "tensor/op.h"

/* views.c */
typedef struct shape_attr {
    wick_type type; /* of the result; dtype and device unused */
} shape_attr;
typedef struct permute_attr {
    int64_t axes[WICK_MAX_DIMS]; /* result axis i is input axis axes[i] */
} permute_attr;
typedef struct slice_attr { /* along one axis, clamped */
    int64_t axis, start, step, count;
} slice_attr;
typedef struct diagonal_attr {
    int64_t a, b, offset;
} diagonal_attr;
/* view_scatter: which view of the base is written */
typedef struct scatter_attr {
    const wick_op *op; /* slice or diagonal: lives as long as the program */
    union {
        slice_attr slice;
        diagonal_attr diagonal;
    } view;
} scatter_attr;

/* reduce.c */
typedef struct arg_attr {
    int64_t axis, keepdims;
} arg_attr;

/* scan.c */
typedef struct scan_attr {
    int64_t axis, exclusive, reverse;
} scan_attr;

/* pool.c */
typedef struct pool_attr {
    int64_t kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
    int64_t extent[3]; /* adaptive: outputs; otherwise of the shape that is not an input's */
    int64_t rank, adaptive, inside, ceil;
} pool_attr;

/* fold.c */
typedef struct window_attr {
    int64_t axis, extent, count, size, step, dilation;
} window_attr;
typedef struct plane_attr {
    int64_t rank, extent[3]; /* of the plane: the last dims */
} plane_attr;

/* resample.c */
typedef struct resample_attr {
    int64_t axis, in, out;
    int64_t mode, coordinates, rounding, antialias, exclude, repeat;
    double scale, cubic_a, start, end, fill;
    int64_t scaled; /* scale is the caller's; otherwise out / in, by division of whole numbers */
    int64_t single; /* places of the nearest and of crops are computed in f32 */
} resample_attr;

/* boxes.c */
typedef struct roi_attr {
    int64_t out[2], samples, aligned;
    double scale;
    int64_t images, height, width; /* put: of the result */
} roi_attr;
typedef struct nms_attr {
    int64_t most, by_score, center;
    double overlap, least;
} nms_attr;

/* index.c */
typedef struct axis_attr {
    int64_t axis;
} axis_attr;
typedef struct one_hot_attr {
    int64_t classes, dtype;
} one_hot_attr;

/* along.c */
typedef struct along_attr {
    int64_t axis, how;
} along_attr;
typedef struct ravel_attr {
    int64_t n, dims[WICK_MAX_DIMS];
} ravel_attr;

/* select.c */
typedef struct nonzero_attr {
    int64_t size, fill;
} nonzero_attr;

/* update.c */
/* Inputs: x, values, start (i64, one number). */
typedef struct update_attr {
    int64_t axis;
    /* x is a state whose slices from start on count as empty: they may be written before the run can no longer fail */
    int64_t grows;
} update_attr;

/* sort.c */
typedef struct sort_attr {
    int64_t descending, k; /* k < 0: all */
} sort_attr;
typedef struct kth_attr {
    int64_t how, k;
} kth_attr;

/* triangle.c */
/* Of row i what is left (upper: right) of the edge at i + k is kept, the edge times `diagonal`, the rest is 0. */
typedef struct triangle_attr {
    int64_t upper, k;
    double diagonal;
} triangle_attr;

/* fft.c */
typedef struct fft_attr {
    int64_t n, inverse;   /* n: of the real side */
    double scale, inner;  /* inner: real ones only; see wick_fourier */
    int64_t columns;      /* fft: the axis is the one before the last (before pairs) */
} fft_attr;

/* frames.c */
typedef struct frames_attr {
    int64_t n, hop;
} frames_attr;

/* recurrent.c */
typedef struct recurrent_attr {
    uint32_t present; /* bit s: input slot s is there; those that are come in order */
    uint8_t cell;     /* wick_cell */
    uint8_t batch_first, coupled, unused;
    uint8_t reverse[2], zero[6];
    uint8_t act[2][4]; /* WICK_CELL_SIGMOID ... */
    double clip;
} recurrent_attr;

/* attention.c */
/* So few queries go in plain ops, whose weights take no more memory than the keys: a query is a lane, and most would
 * idle. Measured with 8 heads, 1024 keys and D = 64: 1.45 times as fast for five queries, 1.29 for six, 0.99 for eight,
 * 0.76 for fifteen. */
enum { WICK_ATTENTION_FEW_QUERIES = 6 };
typedef struct attention_attr {
    double scale, dropout;
    int64_t causal, shift;
    /* whether a mask [B or 1, H or 1, Lq or 1, Lk or 1] and a seed i64 [1] are among the inputs */
    int64_t masked, seeded;
} attention_attr;

/* cross_entropy.c */
typedef struct target_attr {
    double smoothing;
    int64_t ignores, ignored; /* whether one label is ignored, and which */
} target_attr;

/* ctc.c */
typedef struct ctc_attr {
    int64_t blank, zero_infinity;
} ctc_attr;

/* draws.c */
typedef struct draw_attr {
    wick_type type; /* truncated, integers: of the result; dims are those of the bits */
    double mean, deviation, low, high;
    int64_t from; /* integers: from, and so many */
    uint64_t range;
    int64_t count, distinct; /* permutation: length; multinomial: draws a row */
} draw_attr;

#endif
