/* fft.h: the seam between the plan of a transform (fft.c) and the kernels of a tier (fft_tier.c). Tables and scratch
 * are of the transform's type; complex numbers in them are split: all real parts, then all imaginary ones. */
#ifndef WICK_KERNELS_FFT_FFT_H
#define WICK_KERNELS_FFT_FFT_H

#include "kernels/fft/fft_api.h"

enum {
    WICK_FFT_PRIME = 13,           /* the largest radix */
    WICK_FFT_BATCH = 4096,         /* the longest transforms that go a row each lane */
    /* of one split buffer that passes go through: two of them and the twiddles stay in L2 */
    WICK_FFT_BLOCK_BYTES = 131072,
};

typedef struct wick_fft_kernel {
    const char *names[2]; /* mixed radix, Bluestein */
    int lanes;            /* elements of a vector; the reference: 0 */
    /* Places [begin, end). */
    void (*run)(const wick_fourier *f, int64_t begin, int64_t end, const void *x, void *y, const void *table,
                void *scratch);
} wick_fft_kernel;

/* f32, f64. */
typedef struct wick_fft_kernels {
    wick_fft_kernel type[2];
} wick_fft_kernels;

extern const wick_fft_kernels wick_fft_kernels_ref, wick_fft_kernels_base, wick_fft_kernels_avx2,
    wick_fft_kernels_avx512;

#endif
