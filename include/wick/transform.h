/* wick/transform.h: what happens to a picture, a recording or what sensors read between its file and the network: cut,
 * resized, changed by chance, made a spectrogram, normalised; written as a list. */
#ifndef WICK_TRANSFORM_H
#define WICK_TRANSFORM_H

#include "wick/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_transform wick_transform;

/* text is a list such as "crop=4,flip,jitter=0.4:0.4:0.4,normalise", for pictures u8 [C, H, W] or [H, W] (in), in this
 * order:
 *
 *   crop=N             pad with N black pixels on all sides, cut the size out at a random place; before a resize there
 *                      is no padding
 *   cut=HxW            cut out at a random place; center=HxW in the middle (places as torchvision's CenterCrop:
 *                      round((H - h) / 2), half to even)
 *   flip[=P] vflip[=P] mirror left and right, or top and bottom, with probability P, 1/2
 *   resize=HxW         bilinear, antialiased where it shrinks: the formula of wick_image_resize, not rounded to bytes
 *   resizedcrop=HxW[:LOW:HIGH]  a part of LOW (0.08) to HIGH (1) of the area and of ratio 3/4 to 4/3, at a random
 *                      place, resized (Szegedy et al. 2015; torchvision's RandomResizedCrop)
 *   affine=DEG[:T[:LOW:HIGH[:SHEAR]]]  about the middle: sheared along x by up to SHEAR (0) degrees either way, turned
 *                      by up to DEG degrees, clockwise above 0, scaled by LOW (1) to HIGH (1), moved by up to T (0) of
 *                      width and height, in whole pixels; bilinear, black outside (torchvision's RandomAffine). Behind
 *                      crops, mirrors and resizes, before colours
 *   jitter=B[:C[:S[:H]]]        of pixels from 0 to 1, kept there, in this order: brightness x b; contrast f x + (1 -
 *                      f) mean of the grey picture; saturation f x + (1 - f) grey; hue + h of a turn. b, f are drawn
 *                      from 1 - B to 1 + B (and so on), at least 0; h from -H to H, H at most 0.5. Grey is 0.2989 R +
 *                      0.587 G + 0.114 B
 *   grey[=P]           with probability P, 0.1, all channels are grey
 *   blur=N[:LOW:HIGH]  over N (odd) x N pixels, with weights exp(-d^2 / 2 s^2), s from LOW (0.1) to HIGH (2) pixels;
 *                      mirrored behind the edges (torchvision's GaussianBlur). Behind colours
 *   normalise[=M:M:M/S:S:S]     (x - M) / S of pixels from 0 to 1, by channel or one for all; without numbers, those of
 *                      the options. Once, and last but erase
 *   erase[=P]          with probability P, 1/2, a rectangle of 0.02 to 0.33 of the area and of ratio 0.3 to 3.3 becomes
 *                      0 (Zhong et al. 2017); last
 *
 * Crops, mirrors, resizing and normalising are one pass over the pixels; colours a second over what was written, a
 * block at a time, and a third with contrast; affine and blur read and write all of it once more. What happens to a
 * sample is a
 * function of (seed, epoch, its number); crop and flip draw what wick_loader_options' do. At most one resize, one
 * random place, one affine, one blur and one of each mirror. Without "normalise" pixels are from 0 to 1.
 *
 * Behind all of that, of pictures and of signals whose length is fixed, a loader mixes each sample of a batch with the
 * one before it (the first with the last; as torchvision's transforms, which roll the batch by one), and their classes:
 * the second field becomes f32 [classes], what wick_cross_entropy_with takes for probabilities.
 *
 *   mixup=ALPHA[:P]    l x + (1 - l) other, with probability P, 1; l is drawn from Beta(ALPHA, ALPHA) for each sample
 *                      (Zhang et al. 2018)
 *   cutmix=ALPHA[:P]   of pictures: a rectangle of 1 - l of the area, its middle anywhere, what lies outside cut off,
 *                      becomes the other's; the class is mixed by the area that is left (Yun et al. 2019)
 *
 * Of both, each sample takes one or the other with probability 1/2. What is drawn is a function of (seed, epoch, number
 * of the sample); which one is before it, of the order and the size of batches.
 *
 * For recordings, f32 [samples], and what sensors read, f32 [rows, columns], the number of rows fixed or not (-1), in
 * the order that is written:
 *
 *   resample=RATE      recordings: wick_audio_resample's formula, from the rate of the options
 *   gain=LOW[:HIGH]    louder by so many decibels: times 10^(g / 20); of two numbers g is drawn between them
 *   noise=LOW:HIGH[:P] with probability P, 1, noise is mixed in, LOW to HIGH decibels below the sample:
 *                      x + n sqrt(sum x^2 / sum n^2) 10^(-snr / 20) (torchaudio's add_noise). n is a recording of the
 *                      options' noise from a random place on, again and again; without such, normal numbers
 *   shift=S            later or earlier by up to S of its length; zeros come in
 *   fit=N window=N     N rows: the first ones, or from a random place on; zeros behind those that have fewer. The
 *                      length is fixed from there on
 *   jitter=S scale=S   each number plus S times a normal one; each column times 1 + S times one (Um et al. 2017)
 *   rotate[=DEG]       columns in threes, x y z: turned about an axis of any direction by up to DEG, 180, degrees
 *                      either way
 *   logmel=M[:W[:HOP]] recordings: [rows, M], row r the spectrum about sample r HOP, W samples (25 ms; also n_fft)
 *                      under a Hann window, mirrored at the ends; power, M triangles on the HTK mel scale from 0 to
 *                      half the rate, log(x + 1e-6): wick_log_mel with WICK_LOG_NATURAL, turned. HOP is 10 ms, or
 *                      half of W where W is given
 *   mfcc=N[:M[:W[:HOP]]]  [rows, N]: the first N numbers of the cosine transform of M (40) mels in decibels, at most 80
 *                      below the loudest: wick_mfcc, turned
 *   specaugment=F:T[:NF:NT]  NF (1) bands of 0 to F mels and NT (1) stretches of 0 to T rows become 0 (Park et al.
 *                      2019): behind normalise 0 is the mean
 *   normalise[=M/S]    (x - M) / S, one of each or one a column; without numbers, those of the options
 *
 * Spectrograms and sums are computed in f32 by steps that depend on the sizes and the tier alone. */
typedef struct wick_transform_options {
    double mean, deviation; /* of "normalise" without numbers; deviation 0 means 1 */
    /* Without chance, as for testing and for use: what is drawn is left out (flip=1 is not drawn), nothing is mixed,
     * random places are the middle; resizedcrop takes as much of the middle as its ratio lets. */
    bool still;
    double rate;               /* of recordings, samples a second; 0: 16000 */
    const wick_dataset *noise; /* recordings, "audio" f32 [-1] first; outlive the transform */
} wick_transform_options;
/* options may be NULL. WICK_ERR_INVALID: the text, whose place is named, or samples that it is not for. */
WICK_API WICK_MUST_CHECK wick_status wick_transform_new(wick_context *ctx, const char *text,
                                                        const wick_transform_options *options, const wick_spec *in,
                                                        wick_transform **out);
WICK_API void wick_transform_free(wick_transform **transform); /* null-safe, nulls */
/* f32 [C, h, w], [h, w], [rows] or [rows, columns]; rows -1: they vary */
WICK_API const wick_spec *wick_transform_output(const wick_transform *transform);
/* dims[0] of what comes of a sample with so many rows; -1: too many. */
WICK_API int64_t wick_transform_rows(const wick_transform *transform, int64_t rows);
/* Bytes of scratch that a call needs for up to so many rows (of pictures: any number); each thread has its own. 0:
 * none, or too many rows. */
WICK_API size_t wick_transform_scratch(const wick_transform *transform, int64_t rows);
/* One picture. Any number of threads may. scratch: aligned to 64 bytes. */
WICK_API void wick_transform_apply(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample,
                                   const uint8_t *in, float *out, void *scratch);
/* One sample of any kind, of so many rows (pictures: any number). WICK_ERR_INVALID: more than 2^26 rows; else what the
 * set of noise says, with a text in *fault. */
WICK_API WICK_MUST_CHECK wick_status wick_transform_run(const wick_transform *transform, uint64_t seed, uint64_t epoch,
                                                        int64_t sample, const void *in, int64_t rows, float *out,
                                                        void *scratch, wick_fault *fault);

/* What belongs to a picture and goes where its pixels go, by the same draws. Places are x, y in pixels, of which number
 * i reaches from i to i + 1: its middle is at i + 1/2. In place. With a transform of signals nothing happens. */
/* [n, 2]; they may come to lie outside */
WICK_API void wick_transform_points(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample,
                                    int64_t n, float *points);
/* Whether a sample's pixels are mirrored by what is drawn for it, so that what was left is right: by one of flip and
 * vflip, not by both, which turn it. */
WICK_API bool wick_transform_mirrors(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample);
/* [n, 4]: x0, y0, x1, y1. A box that is turned becomes the one around it, and what lies outside is cut off: one that
 * lies there wholly has no area left. */
WICK_API void wick_transform_boxes(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample,
                                   int64_t n, float *boxes);
/* in: u8 [H, W] as the picture; out: [h, w] as what is made of it, each the class of the pixel that its middle comes
 * from, `outside` where it comes from none. Not in place. */
WICK_API void wick_transform_mask(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample,
                                  const uint8_t *in, uint8_t outside, uint8_t *out);

/* ---- mixup and cutmix -------------------------------------------------------------------------------------------- */

/* What is drawn for a sample. */
typedef struct wick_mix {
    double own; /* how much of it, and of its class, is its own, 0 to 1. 1: nothing is mixed */
    bool cut;   /* this rectangle is the other's; else each number is own x + (1 - own) other */
    int64_t top, left, height, width;
} wick_mix;
WICK_API bool wick_transform_mixes(const wick_transform *transform); /* whether the list says mixup or cutmix */
WICK_API wick_mix wick_transform_mix(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample);
/* For hosts without a loader. x, [dims of spec], becomes itself mixed with other; and n numbers that go with it, as
 * probabilities of classes. */
WICK_API void wick_mix_samples(const wick_mix *mix, const wick_spec *spec, const float *other, float *x);
WICK_API void wick_mix_numbers(const wick_mix *mix, int64_t n, const float *other, float *x);

#ifdef __cplusplus
}
#endif
#endif
