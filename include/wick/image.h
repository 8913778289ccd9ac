/* wick/image.h: what is done to images and other fields of places: resizing by every rule in use, windows, sampling,
 * boxes. More is in wick/ops.h: flip, pad, resize, pooling. Fields are [N, C, dims] where nothing else is said. */
#ifndef WICK_IMAGE_H
#define WICK_IMAGE_H

#include "wick/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- resizing: ONNX's Resize and PyTorch's interpolate ----------------------------------------------------------- */
typedef enum wick_interpolation {
    WICK_NEAREST,
    WICK_LINEAR, /* between the two neighbours */
    WICK_CUBIC   /* by four of them (Keys 1981) */
} wick_interpolation;
/* Where output o of an axis from `in` to `out` elements lies among the inputs; scale is out / in, or what was asked
 * for. */
typedef enum wick_coordinates {
    WICK_HALF_PIXEL,           /* (o + 0.5) / scale - 0.5 */
    WICK_HALF_PIXEL_SYMMETRIC, /* the same around the middle, when out is not in * scale */
    WICK_PYTORCH_HALF_PIXEL,   /* the same, but 0 for a single output */
    WICK_ALIGN_CORNERS,        /* o (in - 1) / (out - 1); with a scale o (in - 1) / (in * scale - 1), as ONNX has it */
    WICK_ASYMMETRIC,           /* o / scale */
    WICK_CROP_AND_RESIZE, /* o in [0, out - 1] over [start, end] of the axis: start (in - 1) + o (end - start) (in - 1)
                             / (out - 1) */
    WICK_HALF_PIXEL_UP    /* (o + 0.5) / scale: TensorFlow's for the nearest */
} wick_coordinates;
typedef enum wick_rounding {
    WICK_ROUND_PREFER_FLOOR,
    WICK_ROUND_PREFER_CEIL,
    WICK_ROUND_FLOOR,
    WICK_ROUND_CEIL
} wick_rounding;
typedef struct wick_interpolate_options {
    wick_interpolation mode;
    wick_coordinates coordinates;
    wick_rounding rounding;    /* WICK_NEAREST: which of two when half way between, or always */
    double cubic_a;            /* 0: -0.75, as PyTorch and ONNX have it; -0.5 is PIL's and PyTorch's with antialias */
    /* where it shrinks, by all inputs that an output covers; implies exclude_outside, as in PIL and PyTorch, but for */
    bool antialias;
    /* then too inputs that do not exist are as the nearest, as ONNX has it without exclude_outside */
    bool repeat_edge;
    /* weights of inputs that do not exist are shared by the others; otherwise these are as the nearest */
    bool exclude_outside;
    const double *scale;       /* an axis each, or NULL; where one is 0 or absent it is out / in */
    bool single; /* scale, start and end are f32: extents, and places of the nearest and of crops, are computed in f32
                    as PyTorch and ONNX Runtime do */
    const double *start, *end; /* WICK_CROP_AND_RESIZE: an axis each, as parts of it */
    double extrapolation;      /* WICK_CROP_AND_RESIZE: what lies outside of the axis */
} wick_interpolate_options;
/* x with n axes (axes NULL: the last n) of `size` elements, or (size NULL) of floor(in * scale). An axis after the
 * other, each a pass over the result. Any dtype to the nearest, otherwise floats; half types are computed in f32 and
 * rounded once. PyTorch's modes: nearest is ASYMMETRIC with ROUND_FLOOR, nearest-exact HALF_PIXEL with
 * ROUND_PREFER_CEIL, the others HALF_PIXEL or ALIGN_CORNERS. Gradients of any order. */
WICK_API wick_tensor *wick_interpolate(wick_tensor *x, int n, const int *axes, const int64_t *size,
                                       const wick_interpolate_options *options);

/* Three rules of wick_interpolate by name, for images: how output o of an axis is made, from `in` values to `out`. */
typedef enum wick_resize_mode {
    WICK_RESIZE_NEAREST,       /* x[floor(o in / out)]: ASYMMETRIC with ROUND_FLOOR */
    WICK_RESIZE_LINEAR,        /* between the values around (o + 0.5) in / out - 0.5, which stays inside: HALF_PIXEL */
    WICK_RESIZE_LINEAR_CORNERS /* between those around o (in - 1) / (out - 1), so that the ends stay: ALIGN_CORNERS */
} wick_resize_mode;
/* wick_interpolate of the last 1 to 3 dims of x [N, C, dims], all of them, to size. Linear modes need floats. */
WICK_API wick_tensor *wick_resize(wick_tensor *x, const int64_t *size, wick_resize_mode mode);

/* ---- windows as tensors ------------------------------------------------------------------------------------------ */

/* x [.., extent, ..] -> [.., count, .., size]: window c of the axis holds elements c step + k dilation. PyTorch's
 * Tensor.unfold, NumPy's sliding_window_view. A view: no data moves. */
WICK_API wick_tensor *wick_sliding_window(wick_tensor *x, int axis, int64_t size, int64_t step, int64_t dilation);
typedef struct wick_unfold_options {
    int64_t kernel[3], stride[3], dilation[3]; /* by dim, outermost first; 0: 1, but for the kernel */
    int64_t pad[3];                            /* zeros on both sides */
} wick_unfold_options;
/* im2col: x [N, C, 1 to 3 dims] -> [N, C * kernel, places], channels outermost. PyTorch's nn.functional.unfold, for any
 * number of dims. */
WICK_API wick_tensor *wick_unfold(wick_tensor *x, const wick_unfold_options *options);
/* col2im: [N, C * kernel, places] -> [N, C, size of `rank` dims], each element the sum of those that unfold made of it.
 * Floats. */
WICK_API wick_tensor *wick_fold(wick_tensor *x, int rank, const int64_t *size, const wick_unfold_options *options);

/* ---- more of pooling --------------------------------------------------------------------------------------------- */

/* Where wick_max_pool found each value: i64, places of the flat [dims] of x, as PyTorch's return_indices. */
WICK_API wick_tensor *wick_max_pool_indices(wick_tensor *x, const wick_pool_options *options);
WICK_API wick_tensor *wick_adaptive_max_pool_indices(wick_tensor *x, const int64_t *out);
/* x [N, C, dims] at those places of zeros [N, C, size]. Of several with one place the last is there, and gets the
 * gradient. A place outside of [0, elements of size) is a run-time error (WICK_ERR_INDEX). */
WICK_API wick_tensor *wick_max_unpool(wick_tensor *x, wick_tensor *indices, const int64_t *size);
/* (sum over each window of |x|^p)^(1/p), p > 0 or INFINITY; the gradient of a norm of 0 is 0. For odd p PyTorch leaves
 * out the magnitude. */
WICK_API wick_tensor *wick_lp_pool(wick_tensor *x, double p, const wick_pool_options *options);

/* ---- places and channels exchanged ------------------------------------------------------------------------------- */

/* [N, C b b, H, W] -> [N, C, H b, W b] and back; a channel's b x b neighbours are neighbours in the channels. ONNX's
 * DepthToSpace in mode CRD. */
WICK_API wick_tensor *wick_pixel_shuffle(wick_tensor *x, int64_t block);
WICK_API wick_tensor *wick_pixel_unshuffle(wick_tensor *x, int64_t block);
/* The same with whole sets of channels beside each other: ONNX's DepthToSpace in mode DCR, and SpaceToDepth. */
WICK_API wick_tensor *wick_depth_to_space(wick_tensor *x, int64_t block);
WICK_API wick_tensor *wick_space_to_depth(wick_tensor *x, int64_t block);
/* Channels [groups, C / groups] of [N, C, ...] become [C / groups, groups] (Zhang et al. 2018). */
WICK_API wick_tensor *wick_channel_shuffle(wick_tensor *x, int64_t groups);

/* ---- sampling anywhere ------------------------------------------------------------------------------------------- */
typedef enum wick_grid_padding {
    WICK_GRID_ZEROS,     /* outside there are zeros */
    WICK_GRID_BORDER,    /* outside it is as at the edge */
    WICK_GRID_REFLECTION /* outside it is mirrored, at the outer elements' middles (align_corners) or edges */
} wick_grid_padding;
typedef struct wick_grid_options {
    wick_interpolation mode; /* cubic for [N, C, H, W] only */
    wick_grid_padding padding;
    bool align_corners; /* -1 and 1 are the middles of the outer elements, otherwise their edges */
} wick_grid_options;
/* x [N, C, H, W] at grid [N, h, w, 2] -> [N, C, h, w], or x [N, C, D, H, W] at [N, d, h, w, 3]; a place is x, y (, z)
 * in [-1, 1]. PyTorch's grid_sample, ONNX's GridSample; options NULL: linear, zeros. Gradients of any order to both;
 * none to the grid if nearest. Floats. */
WICK_API wick_tensor *wick_grid_sample(wick_tensor *x, wick_tensor *grid, const wick_grid_options *options);
/* theta [N, 2, 3] or [N, 3, 4] -> the grid [N, size, rank] of an affine transformation. */
WICK_API wick_tensor *wick_affine_grid(wick_tensor *theta, int rank, const int64_t *size, bool align_corners);

/* ---- boxes: x1, y1, x2, y2 --------------------------------------------------------------------------------------- */
typedef struct wick_roi_options {
    int64_t out[2];  /* bins: rows, columns */
    int64_t samples; /* of a bin, each way; 0: as many as there are elements, rounded up */
    double scale;    /* elements of x per unit of the boxes; 0: 1 */
    bool aligned;    /* half an element back (ONNX: half_pixel); otherwise a box is at least one element large */
    /* the largest instead of the mean: of the weighted neighbours of all samples, as onnxruntime has it; no gradient */
    bool max;
} wick_roi_options;
/* x [N, C, H, W], boxes [R, 4], image [R] (integers, which of N) -> [R, C, bins]: He et al. 2017. torchvision's
 * roi_align, ONNX's RoiAlign. Gradients to x. A box of an image that does not exist is a run-time error
 * (WICK_ERR_INDEX). */
WICK_API wick_tensor *wick_roi_align(wick_tensor *x, wick_tensor *boxes, wick_tensor *image,
                                     const wick_roi_options *options);
/* Intersection over union of each of [..., n, 4] with each of [..., m, 4]: [..., n, m]. */
WICK_API wick_tensor *wick_box_iou(wick_tensor *a, wick_tensor *b);
typedef struct wick_nms_options {
    int64_t most;   /* for each class of an image; 0: all */
    double overlap; /* one that overlaps a kept box by more of their union is left out */
    bool by_score;  /* only scores above `score` */
    double score;
    bool center; /* boxes are x, y of their middle, width and height */
} wick_nms_options;
/* Non-maximum suppression: boxes [N, B, 4], scores [N, C, B] -> i64 [N, C, most], by falling score, -1 after the last;
 * count (or NULL) [N, C] says how many. */
WICK_API wick_tensor *wick_nms_padded(wick_tensor *boxes, wick_tensor *scores, const wick_nms_options *options,
                                      wick_tensor **count);
/* The same as i64 [K, 3] of image, class and box: ONNX's NonMaxSuppression. K is known only when it has run: the
 * arguments are evaluated at once, and in a function being compiled it is an error. */
WICK_API wick_tensor *wick_non_max_suppression(wick_tensor *boxes, wick_tensor *scores,
                                               const wick_nms_options *options);
/* boxes [B, 4], scores [B] -> i64 [K], as torchvision's; evaluated at once as well. */
WICK_API wick_tensor *wick_nms(wick_tensor *boxes, wick_tensor *scores, double overlap);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_sliding_window(...) WICK_TENSOR_HERE(wick_sliding_window(__VA_ARGS__))
#define wick_unfold(...) WICK_TENSOR_HERE(wick_unfold(__VA_ARGS__))
#define wick_fold(...) WICK_TENSOR_HERE(wick_fold(__VA_ARGS__))
#define wick_max_pool_indices(...) WICK_TENSOR_HERE(wick_max_pool_indices(__VA_ARGS__))
#define wick_adaptive_max_pool_indices(...) WICK_TENSOR_HERE(wick_adaptive_max_pool_indices(__VA_ARGS__))
#define wick_max_unpool(...) WICK_TENSOR_HERE(wick_max_unpool(__VA_ARGS__))
#define wick_lp_pool(...) WICK_TENSOR_HERE(wick_lp_pool(__VA_ARGS__))
#define wick_pixel_shuffle(...) WICK_TENSOR_HERE(wick_pixel_shuffle(__VA_ARGS__))
#define wick_pixel_unshuffle(...) WICK_TENSOR_HERE(wick_pixel_unshuffle(__VA_ARGS__))
#define wick_depth_to_space(...) WICK_TENSOR_HERE(wick_depth_to_space(__VA_ARGS__))
#define wick_space_to_depth(...) WICK_TENSOR_HERE(wick_space_to_depth(__VA_ARGS__))
#define wick_channel_shuffle(...) WICK_TENSOR_HERE(wick_channel_shuffle(__VA_ARGS__))
#define wick_grid_sample(...) WICK_TENSOR_HERE(wick_grid_sample(__VA_ARGS__))
#define wick_affine_grid(...) WICK_TENSOR_HERE(wick_affine_grid(__VA_ARGS__))
#define wick_roi_align(...) WICK_TENSOR_HERE(wick_roi_align(__VA_ARGS__))
#define wick_box_iou(...) WICK_TENSOR_HERE(wick_box_iou(__VA_ARGS__))
#define wick_nms_padded(...) WICK_TENSOR_HERE(wick_nms_padded(__VA_ARGS__))
#define wick_non_max_suppression(...) WICK_TENSOR_HERE(wick_non_max_suppression(__VA_ARGS__))
#define wick_nms(...) WICK_TENSOR_HERE(wick_nms(__VA_ARGS__))
#define wick_resize(...) WICK_TENSOR_HERE(wick_resize(__VA_ARGS__))
#define wick_interpolate(...) WICK_TENSOR_HERE(wick_interpolate(__VA_ARGS__))
/* clang-format on */
#endif
#endif
