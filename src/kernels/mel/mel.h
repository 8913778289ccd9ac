/* mel.h: spectra to bands of a mel spectrogram, WICK_MEL_LANES of them beside each other. */
#ifndef WICK_KERNELS_MEL_H
#define WICK_KERNELS_MEL_H

#include "base/base.h"

enum { WICK_MEL_LANES = 8 };

typedef struct wick_mel_table {
    /* out[i] = a[i] b[i] */
    void (*multiply)(int64_t n, const float *a, const float *b, float *out);
    /* power[k LANES + l] = re^2 + im^2 of number k of spectrum l; spectra [lanes, n, 2], lanes at most LANES. Other
     * lanes stay. */
    void (*power)(int64_t n, int64_t lanes, const float *spectra, float *power);
    /* out[l] = sum over k < n, in order, of weights[k] power[k LANES + l] */
    void (*band)(int64_t n, const float *weights, const float *power, float *out);
    /* x = log(x + plus); x = log(max(x, least)) times `by` */
    void (*log)(int64_t n, float plus, float *x);
    void (*log_of_at_least)(int64_t n, float least, float by, float *x);
} wick_mel_table;
const wick_mel_table *wick_mel_kernels(void); /* of the current tier */
extern const wick_mel_table wick_mel_table_ref, wick_mel_table_base, wick_mel_table_avx2, wick_mel_table_avx512;

#endif
