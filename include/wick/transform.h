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
 *   jitter=B[:C[:S[:H]]]        of pixels from 0 to 1, kept there, in this order: brightness x b; contrast f x + (1 - f) mean of the grey picture; saturation f x + (1 - f) grey; hue + h of a
 *                      turn. b, f are drawn from 1 - B to 1 + B (and so on), at least 0; h from -H to H, H at most 0.5. Grey is 0.2989 R + 0.587 G + 0.114 B
 *   grey[=P]           with probability P, 0.1, all channels are grey
 *   normalise[=M:M:M/S:S:S]     (x - M) / S of pixels from 0 to 1, by channel or one for all; without numbers, those of the options. Once, and last but erase
 *   erase[=P]          with probability P, 1/2, a rectangle of 0.02 to 0.33 of the area and of ratio 0.3 to 3.3 becomes 0 (Zhong et al. 2017); last
 *
 * Crops, mirrors, resizing and normalising are one pass over the pixels; colours a second over what was written, a block at a time, and a third with contrast. What happens to a sample is a
 * function of (seed, epoch, its number); crop and flip draw what wick_loader_options' do. At most one resize, one random place and one of each mirror. Without "normalise" pixels are from 0 to 1. */
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

#ifdef __cplusplus
}
#endif
#endif
