/* wick/data.h: labelled images in memory, and a loader that shuffles, normalises and never loses its place; pictures and recordings from files. */
#ifndef WICK_DATA_H
#define WICK_DATA_H

#include "wick/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_dataset wick_dataset;

/* "mnist", "fashion-mnist", "cifar10" or a folder, of one of three kinds; split "train" or "test":
 *
 *   IDX       train-images-idx3-ubyte and train-labels-idx1-ubyte, t10k-... for "test", plain or .gz; samples have the file's dims
 *   archives  SPLIT.tar.gz or SPLIT.tar of JPEG and PNG files .../CLASS/NAME; samples are [3, height, width], in the archive's order
 *   folders   SPLIT/CLASS/NAME.jpg (.jpeg, .png); samples are [3, height, width], in the order of their paths' bytes
 *
 * The classes of archives and folders are those of both splits, numbered in the order of their names' bytes. All pictures of a split have one
 * size, or the error names the first that differs. Named sets are searched in $WICK_DATA/NAME, then /usr/share/datasets/NAME (Debian's place);
 * the error lists where. WICK_ERR_IO: nothing of that split there; WICK_ERR_FORMAT; WICK_ERR_UNSUPPORTED: a library that reads the format is
 * not on this machine; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_open(wick_context *ctx, const char *name, const char *split,
                                                       wick_dataset **out);
/* The sets known by name; NULL outside. */
WICK_API const char *wick_dataset_known(int i);
/* Where a set known by name is: the folder that wick_dataset_open reads its training images from. False, and "": nowhere. */
WICK_API bool wick_dataset_find(const char *name, char *folder, size_t size);
WICK_API void wick_dataset_free(wick_dataset **dataset);
WICK_API int64_t wick_dataset_count(const wick_dataset *dataset);
WICK_API int wick_dataset_rank(const wick_dataset *dataset); /* of one sample: 2 for [28, 28] */
WICK_API const int64_t *wick_dataset_dims(const wick_dataset *dataset);
WICK_API int64_t wick_dataset_classes(const wick_dataset *dataset);
WICK_API const char *wick_dataset_class_name(const wick_dataset *dataset, int64_t label); /* "7", "Ankle boot" */
WICK_API const uint8_t *wick_dataset_sample(const wick_dataset *dataset, int64_t i); /* raw pixels; NULL outside */
WICK_API int64_t wick_dataset_label(const wick_dataset *dataset, int64_t i);         /* -1 outside */
/* Keeps `most` samples where there are more, in their order: one drawn from each of `most` equal stretches, the same ones every time. What
 * loaders of the dataset would hand out changes, so call it before making any. */
WICK_API void wick_dataset_limit(wick_dataset *dataset, int64_t most);
/* Mean and standard deviation of all pixels / 255, for normalisation. */
WICK_API void wick_dataset_moments(const wick_dataset *dataset, double *mean, double *deviation);

typedef struct wick_loader_options {
    int64_t batch;          /* samples a batch; the last, smaller one is dropped when drop_last */
    bool shuffle, drop_last;
    uint64_t seed;          /* the order of epoch e is a function of (seed, e) */
    double mean, deviation; /* pixels become (p / 255 - mean) / deviation; deviation 0 means 1 */
    /* Augmentation, of samples [..., height, width]: what happens to a sample is a function of (seed, epoch, its number), whatever the batch. */
    bool flip;    /* mirror left and right with probability 1/2 */
    int64_t crop; /* pad with so many black pixels (0, before normalising) on all sides, then cut the size out at a random place; less than
                   * height and width */
} wick_loader_options;
typedef struct wick_loader wick_loader;
/* The dataset must outlive the loader. */
WICK_API WICK_MUST_CHECK wick_status wick_loader_new(wick_context *ctx, const wick_dataset *dataset,
                                                     const wick_loader_options *options, wick_loader **out);
WICK_API void wick_loader_free(wick_loader **loader);
/* Fills x (batch x sample, f32) and y (batch, i64); returns how many samples, 0 at the end of the epoch: the next call starts
 * the next epoch. */
WICK_API int64_t wick_loader_next(wick_loader *loader, float *x, int64_t *y);
WICK_API int64_t wick_loader_batches(const wick_loader *loader); /* per epoch */
/* The place, for checkpoints: the epoch and how many of its samples were handed out. */
WICK_API void wick_loader_position(const wick_loader *loader, int64_t *epoch, int64_t *sample);
WICK_API WICK_MUST_CHECK wick_status wick_loader_seek(wick_loader *loader, int64_t epoch, int64_t sample);

/* ---- pictures ------------------------------------------------------------------------------------------------------------------------ */

/* The pictures of one file, all of one size: u8 [count, channels, height, width]; channels 1 (grey) or 3 (red, green, blue). */
typedef struct wick_image wick_image;

/* Reads JPEG (grey or colour, also progressive; not CMYK), PNG (all types; 16 bits become the upper 8, transparent pixels are put on white), or
 * IDX of u8 [H, W], [N, H, W], [N, 1, H, W] or [N, 3, H, W] (plain or gzip). channels 1 or 3 asks for grey or RGB, 0 for what the file has:
 * RGB becomes grey as 0.299 R + 0.587 G + 0.114 B, rounded. At most 2^26 pixels a picture; the size is checked before it is believed. Errors
 * name the file and what is wrong: WICK_ERR_IO, WICK_ERR_FORMAT (damaged, cut off, none of these), WICK_ERR_UNSUPPORTED (CMYK, too large, or
 * libjpeg-turbo, libspng or zlib is not on this machine), WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_image_open(wick_context *ctx, const char *path, int64_t channels, wick_image **out);
/* The same from memory; `name` stands in messages, and may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_image_decode(wick_context *ctx, const void *data, size_t size, const char *name, int64_t channels,
                                                       wick_image **out);
WICK_API void wick_image_free(wick_image **image); /* null-safe, nulls */
WICK_API int64_t wick_image_count(const wick_image *image);
WICK_API const int64_t *wick_image_dims(const wick_image *image);              /* channels, height, width */
WICK_API const uint8_t *wick_image_pixels(const wick_image *image, int64_t i); /* of picture i; NULL outside */
/* A copy of another size. Bilinear, antialiased where it shrinks: with s = max(1, from / to), output o is the mean of inputs i weighted by
 * max(0, 1 - |i + 0.5 - (o + 0.5) from / to| / s), along both dims, rounded once; as PyTorch's interpolate(mode="bilinear", antialias=True).
 * The time is linear in the pixels of both. WICK_ERR_INVALID: a side below 1, or more than 2^26 pixels a picture; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_image_resize(wick_context *ctx, const wick_image *image, int64_t height, int64_t width, wick_image **out);

/* ---- recordings ---------------------------------------------------------------------------------------------------------------------- */

/* One recording: f32 [channels, length], full scale from -1 to 1. */
typedef struct wick_audio wick_audio;

/* Reads WAV: PCM of 8, 16, 24 or 32 bits (an n-bit integer becomes v / 2^(n-1); 8 bits are v / 128 - 1), f32 and f64 as they are, also as
 * WAVE_FORMAT_EXTENSIBLE; other chunks are passed over. channels 0 asks for what the file has, 1 for the mean of its channels, the file's own number for that. The size
 * of the file as a whole is not used, those of its chunks are checked before they are believed; samples of 2^32 - 1 bytes (a stream) go to the
 * end of the file. Errors name the file and what is wrong: WICK_ERR_IO, WICK_ERR_FORMAT (damaged, cut off, no WAV), WICK_ERR_UNSUPPORTED (A-law and
 * other codecs, RF64, RIFX), WICK_ERR_INVALID (other channels), WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_audio_open(wick_context *ctx, const char *path, int64_t channels, wick_audio **out);
/* The same from memory; `name` stands in messages, and may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_audio_decode(wick_context *ctx, const void *data, size_t size, const char *name, int64_t channels,
                                                       wick_audio **out);
/* The same recording at another rate, ceil(length rate / its own) samples: each is the sum over the samples around its place of sinc times a Hann window of
 * 32 zero crossings to each side, which lets pass up to 0.95 of the lower of the two Nyquist frequencies (Smith, Digital Audio Resampling, CCRMA 2002;
 * torchaudio.functional.resample with lowpass_filter_width 32 and rolloff 0.95). Outside of the recording is silence; at its own rate it is a copy. *out is a new one.
 * WICK_ERR_INVALID: a rate, or the recording's own, outside of [1000, 768000]; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_audio_resample(wick_context *ctx, const wick_audio *audio, int64_t rate, wick_audio **out);
WICK_API void wick_audio_free(wick_audio **audio); /* null-safe, nulls */
WICK_API int64_t wick_audio_channels(const wick_audio *audio);
WICK_API int64_t wick_audio_length(const wick_audio *audio); /* samples of a channel */
WICK_API int64_t wick_audio_rate(const wick_audio *audio);   /* samples a second */
WICK_API const float *wick_audio_samples(const wick_audio *audio, int64_t channel); /* NULL outside */

#ifdef __cplusplus
}
#endif
#endif
