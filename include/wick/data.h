/* wick/data.h: data: sets of samples (wick/dataset.h), batches of them (wick/loader.h), and here pictures and
 * recordings from files. */
#ifndef WICK_DATA_H
#define WICK_DATA_H

#include "wick/loader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* The pictures of one file, all of one size: u8 [count, channels, height, width]; channels 1 (grey) or 3 (red, green,
 * blue). */
typedef struct wick_image wick_image;

/* Reads (besides TIFF, JPEG 2000, WebP, BMP, PNM and GIF, the first picture of each) JPEG (grey or colour, also
 * progressive; not CMYK), PNG (all types; 16 bits become the upper 8, transparent pixels are put on white), or IDX of
 * u8 [H, W], [N, H, W], [N, 1, H, W] or [N, 3, H, W] (plain or gzip). channels 1 or 3 asks for grey or RGB, 0 for what
 * the file has: RGB becomes grey as 0.299 R + 0.587 G + 0.114 B, rounded. At most 2^26 pixels a picture; the size is
 * checked before it is believed. Errors name the file and what is wrong: WICK_ERR_IO, WICK_ERR_FORMAT (damaged, cut
 * off, none of these), WICK_ERR_UNSUPPORTED (CMYK, too large, or libjpeg-turbo, libspng or zlib is not on this
 * machine), WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_image_open(wick_context *ctx, const char *path, int64_t channels,
                                                     wick_image **out);
/* The same from memory; `name` stands in messages, and may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_image_decode(wick_context *ctx, const void *data, size_t size,
                                                       const char *name, int64_t channels, wick_image **out);
WICK_API void wick_image_free(wick_image **image); /* null-safe, nulls */
WICK_API int64_t wick_image_count(const wick_image *image);
WICK_API const int64_t *wick_image_dims(const wick_image *image);              /* channels, height, width */
WICK_API const uint8_t *wick_image_pixels(const wick_image *image, int64_t i); /* of picture i; NULL outside */
/* A copy of another size. Bilinear, antialiased where it shrinks: with s = max(1, from / to), output o is the mean of
 * inputs i weighted by max(0, 1 - |i + 0.5 - (o + 0.5) from / to| / s), along both dims, rounded once; as PyTorch's
 * interpolate(mode="bilinear", antialias=True). The time is linear in the pixels of both. WICK_ERR_INVALID: a side
 * below 1, or more than 2^26 pixels a picture; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_image_resize(wick_context *ctx, const wick_image *image, int64_t height,
                                                       int64_t width, wick_image **out);
/* A copy of a rectangle of each picture. WICK_ERR_INVALID: a side below 1, or it reaches out; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_image_crop(wick_context *ctx, const wick_image *image, int64_t top,
                                                     int64_t left, int64_t height, int64_t width, wick_image **out);

/* ---- recordings -------------------------------------------------------------------------------------------------- */

/* One recording: f32 [channels, length], full scale from -1 to 1. */
typedef struct wick_audio wick_audio;

/* Reads WAV: PCM of 8, 16, 24 or 32 bits (an n-bit integer becomes v / 2^(n-1); 8 bits are v / 128 - 1), f32 and f64 as
 * they are, also as WAVE_FORMAT_EXTENSIBLE; other chunks are passed over. channels 0 asks for what the file has, 1 for
 * the mean of its channels, the file's own number for that. The size of the file as a whole is not used, those of its
 * chunks are checked before they are believed; samples of 2^32 - 1 bytes (a stream) go to the end of the file. Errors
 * name the file and what is wrong: WICK_ERR_IO, WICK_ERR_FORMAT (damaged, cut off, no WAV), WICK_ERR_UNSUPPORTED (A-law
 * and other codecs, RF64, RIFX), WICK_ERR_INVALID (other channels), WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_audio_open(wick_context *ctx, const char *path, int64_t channels,
                                                     wick_audio **out);
/* The same from memory; `name` stands in messages, and may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_audio_decode(wick_context *ctx, const void *data, size_t size,
                                                       const char *name, int64_t channels, wick_audio **out);
/* The same recording at another rate, ceil(length rate / its own) samples: each is the sum over the samples around its
 * place of sinc times a Hann window of 32 zero crossings to each side, which lets pass up to 0.95 of the lower of the
 * two Nyquist frequencies (Smith, Digital Audio Resampling, CCRMA 2002; torchaudio.functional.resample with
 * lowpass_filter_width 32 and rolloff 0.95). Outside of the recording is silence; at its own rate it is a copy. *out is
 * a new one. WICK_ERR_INVALID: a rate, or the recording's own, outside of [1000, 768000]; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_audio_resample(wick_context *ctx, const wick_audio *audio, int64_t rate,
                                                         wick_audio **out);
WICK_API void wick_audio_free(wick_audio **audio); /* null-safe, nulls */
WICK_API int64_t wick_audio_channels(const wick_audio *audio);
WICK_API int64_t wick_audio_length(const wick_audio *audio); /* samples of a channel */
WICK_API int64_t wick_audio_rate(const wick_audio *audio);   /* samples a second */
/* Whether the file doesn't say how long it is, as where it was written into a pipe (a length of 0 with samples behind
 * it, or one of 0x7ffff000 bytes or more that are not there): then the samples are all that is there. A length below
 * that, of which a part is missing, is an error. */
WICK_API bool wick_audio_unmeasured(const wick_audio *audio);
WICK_API const float *wick_audio_samples(const wick_audio *audio, int64_t channel); /* NULL outside */

#ifdef __cplusplus
}
#endif
#endif
