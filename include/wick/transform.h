/* wick/transform.h: what happens to a picture between its file and the network: cut, resized, its colours changed, normalised; written as a list. */
#ifndef WICK_TRANSFORM_H
#define WICK_TRANSFORM_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_transform wick_transform;

/* text is a list such as "crop=4,flip,jitter=0.4:0.4:0.4,normalise", for pictures u8 [C, H, W] or [H, W] (in), in this order:
 *
 *   crop=N             pad with N black pixels on all sides, cut the size out at a random place; before a resize there is no padding
 *   cut=HxW            cut out at a random place; center=HxW in the middle (places as torchvision's CenterCrop: round((H - h) / 2), half to even)
 *   flip[=P] vflip[=P] mirror left and right, or top and bottom, with probability P, 1/2
 *   resize=HxW         bilinear, antialiased where it shrinks: the formula of wick_image_resize, not rounded to bytes
 *   resizedcrop=HxW[:LOW:HIGH]  a part of LOW (0.08) to HIGH (1) of the area and of ratio 3/4 to 4/3, at a random place, resized (Szegedy et al. 2015; torchvision's RandomResizedCrop)
 *   affine=DEG[:T[:LOW:HIGH[:SHEAR]]]  about the middle: sheared along x by up to SHEAR (0) degrees either way, turned by up to DEG degrees, clockwise above 0, scaled by LOW (1) to HIGH (1),
 *                      moved by up to T (0) of width and height, in whole pixels; bilinear, black outside (torchvision's RandomAffine). Behind crops, mirrors and resizes, before colours
 *   jitter=B[:C[:S[:H]]]        of pixels from 0 to 1, kept there, in this order: brightness x b; contrast f x + (1 - f) mean of the grey picture; saturation f x + (1 - f) grey; hue + h of a
 *                      turn. b, f are drawn from 1 - B to 1 + B (and so on), at least 0; h from -H to H, H at most 0.5. Grey is 0.2989 R + 0.587 G + 0.114 B
 *   grey[=P]           with probability P, 0.1, all channels are grey
 *   blur=N[:LOW:HIGH]  over N (odd) x N pixels, with weights exp(-d^2 / 2 s^2), s from LOW (0.1) to HIGH (2) pixels; mirrored behind the edges (torchvision's GaussianBlur). Behind colours
 *   normalise[=M:M:M/S:S:S]     (x - M) / S of pixels from 0 to 1, by channel or one for all; without numbers, those of the options. Once, and last but erase
 *   erase[=P]          with probability P, 1/2, a rectangle of 0.02 to 0.33 of the area and of ratio 0.3 to 3.3 becomes 0 (Zhong et al. 2017); last
 *
 * Crops, mirrors, resizing and normalising are one pass over the pixels; colours a second over what was written, a block at a time, and a third with contrast; affine and blur read and write
 * all of it once more. What happens to a sample is a
 * function of (seed, epoch, its number); crop and flip draw what wick_loader_options' do. At most one resize, one random place, one affine, one blur and one of each mirror. Without "normalise" pixels are from 0 to 1. */
typedef struct wick_transform_options {
    double mean, deviation; /* of "normalise" without numbers; deviation 0 means 1 */
} wick_transform_options;
/* options may be NULL. WICK_ERR_INVALID: the text, whose place is named, or pictures that it is not for. */
WICK_API WICK_MUST_CHECK wick_status wick_transform_new(wick_context *ctx, const char *text, const wick_transform_options *options, const wick_spec *in, wick_transform **out);
WICK_API void wick_transform_free(wick_transform **transform); /* null-safe, nulls */
WICK_API const wick_spec *wick_transform_output(const wick_transform *transform); /* f32 [C, h, w] or [h, w] */
/* Bytes of scratch that a call needs; each thread has its own. */
WICK_API size_t wick_transform_scratch(const wick_transform *transform);
/* One picture. Any number of threads may. scratch: aligned to 64 bytes. */
WICK_API void wick_transform_apply(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample, const uint8_t *in, float *out, void *scratch);

/* What belongs to a picture and goes where its pixels go, by the same draws. Places are x, y in pixels, of which number i reaches from i to i + 1: its middle is at i + 1/2. In place. */
WICK_API void wick_transform_points(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample, int64_t n, float *points); /* [n, 2]; they may come to lie outside */
/* [n, 4]: x0, y0, x1, y1. A box that is turned becomes the one around it, and what lies outside is cut off: one that lies there wholly has no area left. */
WICK_API void wick_transform_boxes(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample, int64_t n, float *boxes);
/* in: u8 [H, W] as the picture; out: [h, w] as what is made of it, each the class of the pixel that its middle comes from, `outside` where it comes from none. Not in place. */
WICK_API void wick_transform_mask(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample, const uint8_t *in, uint8_t outside, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
