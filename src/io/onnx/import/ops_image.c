/* ops_image.c: images and other fields of places: resizing, sampling, boxes. */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"
#include "wick/image.h"
#include "wick/index.h"
#include "wick/reduce.h"
#include "wick/shape.h"

/* ---- resizing ---------------------------------------------------------------------------------------------------- */

static bool choose(onnx_call *c, const char *attribute, const char *otherwise, int n, const char *const *names,
                   int *out) {
    const wick_bytes text = wick_onnx_text(c, attribute, otherwise);
    for (*out = 0; *out < n; ++*out)
        if (wick_bytes_are(text, names[*out])) return true;
    return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "%s \"%.*s\"", attribute, (int)WICK_MIN(text.size, (size_t)40),
                          text.at);
}

/* What Resize is asked for, by axis. */
typedef struct resizing {
    int n, axes[WICK_MAX_DIMS];
    double scale[WICK_MAX_DIMS]; /* 0: the ratio of the sizes */
    double start[WICK_MAX_DIMS], end[WICK_MAX_DIMS];
    int64_t size[WICK_MAX_DIMS];
} resizing;

/* Sizes from one factor for all axes, so that proportions stay: the least that the sizes ask for, or the largest. */
static bool keep_aspect(onnx_call *c, wick_tensor *x, resizing *r, bool larger) {
    int by = 0;
    for (int i = 1; i < r->n; i++) {
        const double one = (double)r->size[i] * (double)wick_tensor_dim(x, r->axes[by]),
                     other = (double)r->size[by] * (double)wick_tensor_dim(x, r->axes[i]);
        if (larger ? one > other : one < other) by = i;
    }
    const double to = (double)r->size[by], from = (double)wick_tensor_dim(x, r->axes[by]);
    for (int i = 0; i < r->n; i++) {
        const double wanted =
            to * (double)wick_tensor_dim(x, r->axes[i]) / from; /* the product first: halves are exact */
        if (!(wanted < 0x1p53))
            return wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %d of %lld would become %g", r->axes[i],
                                  (long long)wick_tensor_dim(x, r->axes[i]), wanted);
        r->size[i] = (int64_t)floor(wanted + 0.5);
        if ((double)r->size[i] != wanted) r->scale[i] = to / from;
    }
    return true;
}

static bool resize_by_sizes(onnx_call *c, wick_tensor *x, resizing *r, int policy) {
    onnx_host sizes;
    if (!wick_onnx_host(c, 3, &sizes)) return false;
    if (sizes.n != r->n) return wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld sizes for %d axes", (long long)sizes.n, r->n);
    for (int i = 0; i < r->n; i++) {
        r->size[i] = sizes.ints[i];
        if (r->size[i] < 0 || r->size[i] > INT32_MAX)
            return wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %d of %lld cannot become %lld", r->axes[i],
                                  (long long)wick_tensor_dim(x, r->axes[i]), (long long)r->size[i]);
    }
    return !policy || keep_aspect(c, x, r, policy == 2);
}

/* Scales are f32, and extents are products in f32: 30 by 0.7 is 21. */
static bool resize_by_scales(onnx_call *c, wick_tensor *x, resizing *r, bool crop) {
    const onnx_attr *given = c->opset < 9 ? wick_onnx_attr(c, "scales") : NULL; /* Upsample 7 */
    onnx_host scales = {0};
    if (!given && !wick_onnx_host(c, c->opset < 11 ? 1 : 2, &scales)) return false;
    const int64_t n = given ? (int64_t)given->floats.n : scales.n;
    if (n != r->n) return wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld scales for %d axes", (long long)n, r->n);
    for (int i = 0; i < r->n; i++) {
        const float scale = given ? given->floats.at[i] : (float)scales.floats[i];
        float length = (float)wick_tensor_dim(x, r->axes[i]);
        if (crop) length *= (float)r->end[i] - (float)r->start[i];
        length *= scale;
        if (!(scale > 0) || !(length >= 0 && length < 0x1p53f))
            return wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %d would be %g times as long", r->axes[i], (double)scale);
        r->scale[i] = (double)scale;
        r->size[i] = (int64_t)length;
    }
    return true;
}

/* Axes that stay as they are need no pass. which: 1 those that grow, -1 those that shrink, 0 both. */
static wick_tensor *resize_axes(wick_tensor *x, const resizing *r, wick_interpolate_options o, int which) {
    resizing some = {0};
    for (int i = 0; i < r->n; i++) {
        const bool same = r->size[i] == wick_tensor_dim(x, r->axes[i]) && (r->scale[i] == 0 || r->scale[i] == 1) &&
                          o.coordinates != WICK_CROP_AND_RESIZE;
        if (same || (which && (which < 0) != (r->scale[i] < 1))) continue;
        some.axes[some.n] = r->axes[i], some.size[some.n] = r->size[i], some.scale[some.n] = r->scale[i];
        some.start[some.n] = r->start[i], some.end[some.n] = r->end[i];
        some.n++;
    }
    o.scale = some.scale, o.start = some.start, o.end = some.end;
    return some.n ? wick_interpolate(x, some.n, some.axes, some.size, &o) : x;
}

static void resize(onnx_call *c) {
    static const char *const modes[] = {"nearest", "linear", "cubic"},
                             *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                             *const coordinates[] = {"half_pixel",          "half_pixel_symmetric",
                                                     "pytorch_half_pixel",  "align_corners",
                                                     "asymmetric",          "tf_crop_and_resize",
                                                     "tf_half_pixel_for_nn"},
                             *const policies[] = {"stretch", "not_larger", "not_smaller"};
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const bool old = c->opset < 11;
    int mode, coordinate = WICK_ASYMMETRIC, rounding = WICK_ROUND_FLOOR, policy = 0;
    resizing r = {0};
    if (old) { /* Resize 10 and Upsample */
        if (wick_onnx_text_is(c, "mode", "nearest", "bilinear")) mode = 1;
        else if (!choose(c, "mode", "nearest", 2, modes, &mode)) return;
    } else if (!choose(c, "mode", "nearest", 3, modes, &mode) ||
               !choose(c, "coordinate_transformation_mode", "half_pixel", 7, coordinates, &coordinate) ||
               !choose(c, "nearest_mode", "round_prefer_floor", 4, roundings, &rounding) ||
               !choose(c, "keep_aspect_ratio_policy", "stretch", 3, policies, &policy))
        return;
    const int rank = wick_tensor_rank(x);
    if (!wick_onnx_axes(c, -1, "axes", rank, &r.n, r.axes)) return;
    if (r.n < 0)
        for (r.n = 0; r.n < rank; r.n++) r.axes[r.n] = r.n;
    const bool crop = coordinate == WICK_CROP_AND_RESIZE;
    onnx_host roi = {0}, sizes = {0};
    if (crop && !wick_onnx_host(c, 1, &roi)) return;
    if (crop && roi.n != 2 * r.n) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "roi has %lld values for %d axes", (long long)roi.n, r.n);
        return;
    }
    for (int i = 0; i < r.n && crop; i++) r.start[i] = roi.floats[i], r.end[i] = roi.floats[r.n + i];
    if (!old && wick_onnx_has(c, 3) && !wick_onnx_host(c, 3, &sizes)) return;
    if (!(sizes.n ? resize_by_sizes(c, x, &r, policy) : resize_by_scales(c, x, &r, crop))) return;
    const wick_dtype dtype = wick_tensor_dtype(x);
    bool nothing = false;
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, wick_tensor_dims(x), sizeof dims);
    for (int i = 0; i < r.n; i++) nothing |= (dims[r.axes[i]] = r.size[i]) == 0;
    if (nothing) {
        wick_onnx_set(c, 0, wick_zeros(c->ctx, dtype, rank, dims));
        return;
    }
    const double cubic_a = wick_onnx_float(c, "cubic_coeff_a", -0.75);
    wick_interpolate_options o = {.mode = (wick_interpolation)mode,
                                  .coordinates = (wick_coordinates)coordinate,
                                  .rounding = (wick_rounding)rounding,
                                  .cubic_a = cubic_a ? cubic_a : -0x1p-1000, /* Wick's 0 is the default */
                                  .antialias = wick_onnx_int(c, "antialias", 0),
                                  .repeat_edge = true,
                                  .exclude_outside = wick_onnx_int(c, "exclude_outside", 0),
                                  .extrapolation = wick_onnx_float(c, "extrapolation_value", 0),
                                  .single = true};
    const bool whole = !wick_onnx_is_float(x) && mode;
    wick_tensor *y = whole ? wick_cast(x, wick_dtype_size(dtype) > 2 ? WICK_F64 : WICK_F32) : x;
    y = resize_axes(y, &r, o, old ? 1 : 0);
    if (old) { /* the nearest where it shrinks is the next, as ONNX's own example and ONNX Runtime have it */
        o.rounding = WICK_ROUND_CEIL;
        y = resize_axes(y, &r, o, -1);
    }
    wick_onnx_set(c, 0, whole ? wick_cast_saturate(wick_round(y), dtype) : y);
}

/* ---- sampling ---------------------------------------------------------------------------------------------------- */

static void grid_sample(onnx_call *c) {
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", "bicubic"}, *const pads[] = {
                                                                                                  "zeros", "border",
                                                                                                  "reflection"};
    wick_tensor *x = wick_onnx_tensor(c, 0), *grid = x ? wick_onnx_tensor(c, 1) : NULL;
    int mode, pad;
    if (!grid || !choose(c, "mode", c->opset < 20 ? "bilinear" : "linear", 5, modes, &mode) ||
        !choose(c, "padding_mode", "zeros", 3, pads, &pad))
        return;
    const wick_grid_options o = {.mode = (wick_interpolation)(mode > 2 ? mode - 2 : mode),
                                 .padding = (wick_grid_padding)pad,
                                 .align_corners = wick_onnx_int(c, "align_corners", 0)};
    wick_onnx_set(c, 0, wick_grid_sample(x, grid, &o));
}

static void affine_grid(onnx_call *c) {
    wick_tensor *theta = wick_onnx_tensor(c, 0);
    onnx_host size;
    if (!theta || !wick_onnx_host(c, 1, &size)) return;
    if (size.n != 4 && size.n != 5) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "size has %lld values, not N, C and 2 or 3 more", (long long)size.n);
        return;
    }
    wick_onnx_set(c, 0, wick_affine_grid(theta, (int)size.n - 2, size.ints + 2, wick_onnx_int(c, "align_corners", 0)));
}

static void roi_align(onnx_call *c) {
    static const char *const modes[] = {"avg", "max"}, *const coordinates[] = {"half_pixel", "output_half_pixel"};
    wick_tensor *x = wick_onnx_tensor(c, 0), *boxes = x ? wick_onnx_tensor(c, 1) : NULL,
                *image = boxes ? wick_onnx_tensor(c, 2) : NULL;
    int mode, coordinate;
    if (!image || !choose(c, "mode", "avg", 2, modes, &mode) ||
        !choose(c, "coordinate_transformation_mode", c->opset < 16 ? "output_half_pixel" : "half_pixel", 2, coordinates,
                &coordinate))
        return;
    const wick_roi_options o = {.out = {wick_onnx_int(c, "output_height", 1), wick_onnx_int(c, "output_width", 1)},
                                .samples = wick_onnx_int(c, "sampling_ratio", 0),
                                .scale = wick_onnx_float(c, "spatial_scale", 1),
                                .aligned = coordinate == 0,
                                .max = mode == 1};
    wick_onnx_set(c, 0, wick_roi_align(x, boxes, image, &o));
}

static void non_max_suppression(onnx_call *c) {
    wick_tensor *boxes = wick_onnx_tensor(c, 0), *scores = boxes ? wick_onnx_tensor(c, 1) : NULL;
    onnx_host most = {0}, overlap = {0}, score = {0}, found;
    if (!scores || (wick_onnx_has(c, 2) && !wick_onnx_host(c, 2, &most)) ||
        (wick_onnx_has(c, 3) && !wick_onnx_host(c, 3, &overlap)) ||
        (wick_onnx_has(c, 4) && !wick_onnx_host(c, 4, &score)))
        return;
    if (!most.n || most.ints[0] <= 0) { /* the default takes none */
        wick_onnx_set_static(c, 0, wick_zeros(c->ctx, WICK_I64, WICK_DIMS(0, 3)));
        return;
    }
    const wick_nms_options o = {.most = most.ints[0],
                                .overlap = overlap.n ? overlap.floats[0] : 0,
                                .by_score = score.n > 0,
                                .score = score.n ? score.floats[0] : 0,
                                .center = wick_onnx_int(c, "center_point_box", 0)};
    /* The padded form is an op; how many rows of it count is asked for. */
    wick_tensor *padded = wick_nms_padded(boxes, scores, &o, NULL);
    if (!wick_onnx_host_of(c, padded, c->in[0]->dynamic || c->in[1]->dynamic, &found)) return;
    int64_t *rows = wick_onnx_alloc(c, (size_t)found.n * 3, sizeof *rows), n = 0;
    for (int64_t i = 0; i < found.n && rows; i++) {
        if (found.ints[i] < 0) continue;
        const int64_t each = found.dims[2], classes = found.dims[1];
        rows[3 * n] = i / each / classes, rows[3 * n + 1] = i / each % classes, rows[3 * n + 2] = found.ints[i];
        n++;
    }
    if (rows) wick_onnx_set(c, 0, wick_from(c->ctx, WICK_I64, 2, (int64_t[]){n, 3}, rows));
}

/* ---- places and channels exchanged ------------------------------------------------------------------------------- */

static void depth_to_space(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    const int64_t block = wick_onnx_int(c, "blocksize", 0);
    if (x)
        wick_onnx_set(c, 0,
                      wick_onnx_text_is(c, "mode", "DCR", "CRD") ? wick_pixel_shuffle(x, block)
                                                                 : wick_depth_to_space(x, block));
}
static void space_to_depth(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    const int64_t block = wick_onnx_int(c, "blocksize", 0);
    if (x)
        wick_onnx_set(c, 0,
                      wick_onnx_text_is(c, "mode", "DCR", "CRD") ? wick_pixel_unshuffle(x, block)
                                                                 : wick_space_to_depth(x, block));
}

static void col2im(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host size, kernel;
    if (!x || !wick_onnx_host(c, 1, &size) || !wick_onnx_host(c, 2, &kernel)) return;
    const int n = (int)WICK_MIN(size.n, 4);
    int n_stride, n_dilation, n_pads;
    const int64_t *stride = wick_onnx_ints(c, "strides", &n_stride),
                  *dilation = wick_onnx_ints(c, "dilations", &n_dilation), *pads = wick_onnx_ints(c, "pads", &n_pads);
    if (n < 1 || n > 3 || kernel.n != n || (stride && n_stride != n) || (dilation && n_dilation != n) ||
        (pads && n_pads != 2 * n)) {
        wick_onnx_fail(
            c, WICK_ERR_SHAPE,
            "image_shape, block_shape, strides, dilations and pads do not fit each other, or have more than 3 dims");
        return;
    }
    wick_unfold_options o = {0};
    int64_t whole[3], before[WICK_MAX_DIMS] = {0}, after[WICK_MAX_DIMS] = {0};
    for (int i = 0; i < n; i++) {
        o.kernel[i] = kernel.ints[i];
        o.stride[i] = stride ? stride[i] : 1;
        o.dilation[i] = dilation ? dilation[i] : 1;
        before[i + 2] = pads ? -pads[i] : 0, after[i + 2] = pads ? -pads[n + i] : 0;
        whole[i] = size.ints[i] - before[i + 2] - after[i + 2];
    }
    /* the padding is folded to and cut off */
    wick_onnx_set(c, 0, wick_pad(wick_fold(x, n, whole, &o), n + 2, before, after, 0));
}

/* ---- deformable convolution (Zhu et al. 2018): every tap of the kernel reads where an offset says, times a mask ----
 */

static void deform_conv(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL,
                *offset = w ? wick_onnx_tensor(c, 2) : NULL, *b = wick_onnx_optional(c, 3),
                *mask = wick_onnx_optional(c, 4);
    wick_conv_options o;
    int64_t size[3];
    if (!offset || !wick_onnx_conv_options(c, x, w, &o, size)) return;
    if (wick_tensor_rank(x) != 4 || wick_tensor_rank(offset) != 4) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "other than 4 dims");
        return;
    }
    const int64_t n = wick_tensor_dim(x, 0), channels = wick_tensor_dim(x, 1), h = wick_tensor_dim(x, 2),
                  wide = wick_tensor_dim(x, 3), kh = wick_tensor_dim(w, 2), kw = wick_tensor_dim(w, 3);
    const int64_t oh = wick_tensor_dim(offset, 2), ow = wick_tensor_dim(offset, 3),
                  groups = wick_onnx_int(c, "offset_group", 1), taps = kh * kw;
    if (groups < 1 || channels % groups || wick_tensor_dim(offset, 1) != groups * taps * 2 || !taps || !h || !wide ||
        !oh || !ow) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "offset must have 2 x %lld channels for each of %lld groups", (long long)taps,
                       (long long)groups);
        return;
    }
    if (wick_tensor_dim(offset, 0) != n || oh != size[0] || ow != size[1]) {
        wick_onnx_fail(c, WICK_ERR_SHAPE,
                       "offset is [%lld, .., %lld, %lld], but its windows make [%lld, .., %lld, %lld]",
                       (long long)wick_tensor_dim(offset, 0), (long long)oh, (long long)ow, (long long)n,
                       (long long)size[0], (long long)size[1]);
        return;
    }
    /* Places [taps, oh, ow] without offsets, y and x. */
    double *base = wick_onnx_alloc2(c, taps * 2, oh * ow, sizeof *base);
    if (!base) return;
    for (int64_t t = 0; t < taps; t++)
        for (int64_t i = 0; i < oh; i++)
            for (int64_t j = 0; j < ow; j++) {
                base[((t * 2) * oh + i) * ow + j] = (double)(i * o.stride[0] - o.pad[0] + t / kw * o.dilation[0]);
                base[((t * 2 + 1) * oh + i) * ow + j] = (double)(j * o.stride[1] - o.pad[1] + t % kw * o.dilation[1]);
            }
    const wick_dtype dtype = wick_tensor_dtype(x);
    wick_tensor *places = wick_cast(wick_from(c->ctx, WICK_F64, WICK_DIMS(1, 1, taps, 2, oh, ow), base), dtype);
    places = wick_add(wick_reshape(offset, WICK_DIMS(n, groups, taps, 2, oh, ow)), places);
    /* To [-1, 1] with aligned corners, x before y: [n groups, taps, oh, ow, 2]. */
    wick_tensor *py = wick_slice(places, 3, 0, 1, 1), *px = wick_slice(places, 3, 1, 2, 1);
    py = wick_sub(wick_mul(py, wick_like(py, 2.0 / (double)h)), wick_like(py, 1.0 - 1.0 / (double)h));
    px = wick_sub(wick_mul(px, wick_like(px, 2.0 / (double)wide)), wick_like(px, 1.0 - 1.0 / (double)wide));
    wick_tensor *pair[2] = {px, py};
    wick_tensor *grid = wick_move_axis(wick_concat(2, pair, 3), 3, 5);
    grid = wick_reshape(grid, WICK_DIMS(n * groups, taps * oh, ow, 2));
    const wick_grid_options g = {.mode = WICK_LINEAR};
    wick_tensor *taken = wick_grid_sample(wick_reshape(x, WICK_DIMS(n * groups, channels / groups, h, wide)), grid, &g);
    taken = wick_reshape(taken, WICK_DIMS(n, groups, channels / groups, taps, oh, ow));
    if (mask) taken = wick_mul(taken, wick_reshape(mask, WICK_DIMS(n, groups, 1, taps, oh, ow)));
    /* Then a convolution whose windows are beside each other: [n, channels, kh oh, kw ow]. */
    taken = wick_permute(wick_reshape(taken, WICK_DIMS(n, channels, kh, kw, oh, ow)), WICK_AXES(0, 1, 4, 2, 5, 3));
    taken = wick_reshape(taken, WICK_DIMS(n, channels, oh * kh, ow * kw));
    const wick_conv_options beside = {.stride = {kh, kw}, .groups = o.groups};
    wick_onnx_set(c, 0, wick_conv(taken, w, b, &beside));
}

static const onnx_op ops[] = {
    {"Resize", 10, 0, resize, {0}},
    {"Upsample", 7, 9, resize, {0}},
    {"GridSample", 16, 0, grid_sample, {0}},
    {"AffineGrid", 20, 0, affine_grid, {0}},
    {"RoiAlign", 10, 0, roi_align, {0}},
    {"NonMaxSuppression", 10, 0, non_max_suppression, {0}},
    {"DepthToSpace", 1, 0, depth_to_space, {0}},
    {"SpaceToDepth", 1, 0, space_to_depth, {0}},
    {"Col2Im", 18, 0, col2im, {0}},
    {"DeformConv", 19, 0, deform_conv, {0}},
};
const onnx_family wick_onnx_image = {"", ops, WICK_COUNTOF(ops)};
