/* wav.h: WAV files without a context, for any thread; audio.c has the format. */
#ifndef WICK_DATA_WAV_H
#define WICK_DATA_WAV_H

#include "base/base.h"

/* How many samples each channel has, and how many of them are a second. */
WICK_MUST_CHECK wick_status wick_wav_length(const void *data, size_t size, int64_t *length, int64_t *rate,
                                            const char *name, wick_msg *msg);
#define WICK_UNMEASURED                                                                                                \
    "%lld of its %lld recordings don't say how long they are, as what was written into a pipe: all samples that are "  \
    "there are taken"
/* Whether its header doesn't say how many: wick_audio_unmeasured. */
bool wick_wav_unmeasured(const void *data, size_t size);
/* The mean of the channels, `length` samples, which must be what the file has. */
WICK_MUST_CHECK wick_status wick_wav_mono(const void *data, size_t size, float *out, int64_t length, const char *name,
                                          wick_msg *msg);

#endif
