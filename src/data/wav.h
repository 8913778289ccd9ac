/* wav.h: WAV files without a context, for any thread; audio.c has the format. */
#ifndef WICK_DATA_WAV_H
#define WICK_DATA_WAV_H

#include "base/base.h"

/* How many samples each channel has, and how many of them are a second. */
WICK_MUST_CHECK wick_status wick_wav_length(const void *data, size_t size, int64_t *length, int64_t *rate, const char *name, wick_msg *msg);
/* The mean of the channels, `length` samples, which must be what the file has. */
WICK_MUST_CHECK wick_status wick_wav_mono(const void *data, size_t size, float *out, int64_t length, const char *name, wick_msg *msg);

#endif
