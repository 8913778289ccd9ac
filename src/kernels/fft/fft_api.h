/* fft_api.h: Fourier transforms of rows of f32 and f64, any length.
 *
 * COMPLEX     y[k] = scale * sum over j < n of x[j] exp(-+2 pi i j k / n)      x, y: n pairs (re, im); + when inverse
 * REAL        the same of n real numbers, for k <= n / 2; times `inner` for all k but 0 and n / 2
 * HERMITIAN   n real numbers y[j] = scale * sum over all k of x[k] exp(+2 pi i j k / n), where x has k <= n / 2, as
 *             written by REAL, and is taken times `inner` for all k but 0 and n / 2, whose imaginary parts are passed
 *             over; x[n - k] is conj(x[k])
 *
 * Rows are contiguous, n is below 2^30; with `columns`, of COMPLEX ones that wick_fft_takes_columns, x and y are [., n,
 * columns] pairs of which columns are transformed as they lie, a column each lane. Lengths with prime factors up to 13
 * go by mixed radix in two steps of about sqrt(n) (Bailey 1990), or, if short, several rows at once; others by
 * Bluestein's convolution (1970) with a power of two. */
#ifndef WICK_KERNELS_FFT_API_H
#define WICK_KERNELS_FFT_API_H

#include "kernels/types.h"

typedef enum wick_fourier_what { WICK_FFT_COMPLEX, WICK_FFT_REAL, WICK_FFT_HERMITIAN } wick_fourier_what;
typedef struct wick_fft_passes { /* a transform of n along columns: what fft.c and the tiers share */
    int64_t n, block;            /* columns taken together */
    int n_radix;
    int radix[64];
    size_t twiddles; /* in the table, as all places: elements */
} wick_fft_passes;
typedef struct wick_fourier {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    wick_fourier_what what;
    bool inverse; /* COMPLEX */
    int64_t n, rows, columns; /* rows: how many transforms; columns: 0, or how many of them lie side by side */
    double scale, inner;

    /* filled by wick_fft_prepare */
    int64_t places; /* of rows: with columns, those of one x are filled up to whole vectors */
    int64_t unit; /* places that are computed together: ranges of places start at multiples */
    size_t table; /* bytes of constants, filled by wick_fft_tables */
    size_t scratch;
    double flops; /* of a row: 5 n log2 n by convention, half for real ones */
    int64_t core, size;              /* complex numbers transformed; size: core, or Bluestein's power of two */
    bool batch;                      /* `unit` rows at once, one each lane; else size is passes[0].n * passes[1].n */
    wick_fft_passes passes[2];
    size_t at_middle, at_untangle, at_chirp, at_filter, cap, cap_block; /* in elements */
    const struct wick_fft_kernel *kernel;
} wick_fourier;
/* May columns of n be transformed as they lie? Of other lengths they are to be made rows. */
bool wick_fft_takes_columns(int64_t n);
/* Uses the current tier. n > 0. */
void wick_fft_prepare(wick_fourier *f);
void wick_fft_tables(const wick_fourier *f, void *table);
void wick_fft_run(const wick_fourier *f, int64_t begin, int64_t end, const void *x, void *y, const void *table,
                  void *scratch);
const char *wick_fft_name(const wick_fourier *f);
/* Row `row` of y [rows, t] becomes the sum of frames x[row] [frames, n], each `hop` behind the one before; f32 and f64.
 */
void wick_overlap_add_row(wick_ctype type, int64_t frames, int64_t n, int64_t hop, int64_t t, int64_t row,
                          const void *x, void *y);

#endif
