/* wick/image.h: what is done to images and other fields of places: resizing by every rule in use. More that is older is in wick/ops.h: flip, pad, resize,
 * pooling. Fields are [N, C, dims] where nothing else is said. */
#ifndef WICK_IMAGE_H
#define WICK_IMAGE_H

#include "wick/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- resizing: ONNX's Resize and PyTorch's interpolate ------------------------------------------------------------------- */
typedef enum wick_interpolation {
    WICK_NEAREST,
    WICK_LINEAR, /* between the two neighbours */
    WICK_CUBIC   /* by four of them (Keys 1981) */
} wick_interpolation;
/* Where output o of an axis from `in` to `out` elements lies among the inputs; scale is out / in, or what was asked for. */
typedef enum wick_coordinates {
    WICK_HALF_PIXEL,           /* (o + 0.5) / scale - 0.5 */
    WICK_HALF_PIXEL_SYMMETRIC, /* the same around the middle, when out is not in * scale */
    WICK_PYTORCH_HALF_PIXEL,   /* the same, but 0 for a single output */
    WICK_ALIGN_CORNERS,        /* o (in - 1) / (out - 1) */
    WICK_ASYMMETRIC,           /* o / scale */
    WICK_CROP_AND_RESIZE       /* o in [0, out - 1] over [start, end] of the axis: start (in - 1) + o (end - start) (in - 1) / (out - 1) */
} wick_coordinates;
typedef enum wick_rounding { WICK_ROUND_PREFER_FLOOR, WICK_ROUND_PREFER_CEIL, WICK_ROUND_FLOOR, WICK_ROUND_CEIL } wick_rounding;
typedef struct wick_interpolate_options {
    wick_interpolation mode;
    wick_coordinates coordinates;
    wick_rounding rounding;    /* WICK_NEAREST: which of two when half way between, or always */
    double cubic_a;            /* 0: -0.75, as PyTorch and ONNX have it; -0.5 is PIL's and PyTorch's with antialias */
    bool antialias;            /* where it shrinks, by all inputs that an output covers; of those that exist, as in PIL */
    bool exclude_outside;      /* weights of inputs that do not exist are shared by the others; otherwise these are as the nearest */
    const double *scale;       /* an axis each, or NULL: out / in */
    const double *start, *end; /* WICK_CROP_AND_RESIZE: an axis each, as parts of it */
    double extrapolation;      /* WICK_CROP_AND_RESIZE: what lies outside of the axis */
} wick_interpolate_options;
/* x with n axes (axes NULL: the last n) of `size` elements, or (size NULL) of floor(in * scale). An axis after the other, each a pass over the result.
 * Any dtype to the nearest, otherwise floats; half types are computed in f32 and rounded once. PyTorch's modes: nearest is ASYMMETRIC with
 * ROUND_FLOOR, nearest-exact HALF_PIXEL with ROUND_PREFER_CEIL, the others HALF_PIXEL or ALIGN_CORNERS. Gradients of any order. */
WICK_API wick_tensor *wick_interpolate(wick_tensor *x, int n, const int *axes, const int64_t *size, const wick_interpolate_options *options);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_interpolate(...) WICK_TENSOR_HERE(wick_interpolate(__VA_ARGS__))
/* clang-format on */
#endif
#endif
