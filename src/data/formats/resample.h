/* resample.h: samples at another rate; audio.c has the formula. */
#ifndef WICK_DATA_RESAMPLE_H
#define WICK_DATA_RESAMPLE_H

#include "base/base.h"

enum { WICK_LOWEST_RATE = 1000, WICK_HIGHEST_RATE = 768000 };

/* Output n lies at n up / down of the input's samples, up and down without a common divisor. */
typedef struct wick_resampler {
    int64_t up, down, reach; /* reach: samples to each side */
    /* a row of taps for each of the `down` fractions of a sample, or one that is made anew for each output, where they
     * are many */
    int64_t rows;
} wick_resampler;
wick_resampler wick_resampler_of(int64_t from, int64_t to); /* rates in range */
size_t wick_resampler_bytes(const wick_resampler *r);       /* of taps */
void wick_resampler_taps(const wick_resampler *r, float *taps);
int64_t wick_resampler_length(const wick_resampler *r, int64_t length); /* -1: too many */
/* taps are written where rows is 1 and down is not. */
void wick_resampler_run(const wick_resampler *r, float *taps, const float *x, int64_t n_x, float *y, int64_t n_y);

#endif
