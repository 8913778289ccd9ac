/* fft_ref.h: the oracle: the sum itself, by prime factors (Cooley, Tukey 1965), each sum in f64. Included by fft_tier.c
 * for tier ref, once per type. The table holds all n roots of 1. */

/* out[k] = sum of in[j * stride] w^(j k) over j < n, where w is roots[step]. */
static void FFT_NAME(sums)(int64_t n, int64_t stride, int64_t step, int64_t all, const double *in_re,
                           const double *in_im, const FFT_T *roots, double *re, double *im, double *room) {
    int64_t p = 2;
    while (p * p <= n && n % p) p++;
    if (p * p > n) p = n;
    const int64_t m = n / p;
    if (n == 1) {
        re[0] = in_re[0], im[0] = in_im[0];
        return;
    }
    for (int64_t r = 0; r < p && m > 1; r++)
        FFT_NAME(sums)
        (m, stride * p, step * p, all, in_re + r * stride, in_im + r * stride, roots, re + r * m, im + r * m, room);
    for (int64_t r = 0; r < p && m == 1; r++) re[r] = in_re[r * stride], im[r] = in_im[r * stride];
    for (int64_t k = 0; k < m; k++) {
        for (int64_t q = 0; q < p; q++) {
            double sum_re = 0, sum_im = 0;
            for (int64_t r = 0; r < p; r++) {
                const int64_t at = r * (k + q * m) % n * step;
                const double wr = (double)roots[at], wi = (double)roots[all + at], a = re[r * m + k], b = im[r * m + k];
                sum_re += a * wr - b * wi;
                sum_im += a * wi + b * wr;
            }
            room[2 * q] = sum_re, room[2 * q + 1] = sum_im;
        }
        for (int64_t q = 0; q < p; q++) re[q * m + k] = room[2 * q], im[q * m + k] = room[2 * q + 1];
    }
}

static void FFT_NAME(run)(const wick_fourier *f, int64_t begin, int64_t end, const void *xv, void *yv,
                          const void *table, void *scratch) {
    const int64_t n = f->n, half = n / 2 + 1, columns = f->columns ? f->columns : 1, step = 2 * columns;
    double *in_re = scratch, *in_im = in_re + n, *re = in_im + n, *im = re + n, *room = im + n;
    for (int64_t row = begin; row < end; row++) {
        const int64_t at = (row / columns * n * columns + row % columns) * 2; /* of COMPLEX */
        const FFT_T *x = (const FFT_T *)xv + (f->what == WICK_FFT_COMPLEX ? at
                                              : f->what == WICK_FFT_REAL  ? row * n
                                                                          : row * 2 * half);
        for (int64_t j = 0; j < n; j++) {
            if (f->what == WICK_FFT_COMPLEX) {
                in_re[j] = (double)x[step * j], in_im[j] = (double)x[step * j + 1];
            } else if (f->what == WICK_FFT_REAL) {
                in_re[j] = (double)x[j], in_im[j] = 0;
            } else {
                const int64_t k = j < half ? j : n - j;
                const bool edge = k == 0 || 2 * k == n;
                in_re[j] = (double)x[2 * k] * (edge ? 1 : f->inner);
                in_im[j] = edge ? 0 : (double)x[2 * k + 1] * f->inner * (j < half ? 1 : -1);
            }
        }
        const bool inverse = f->what == WICK_FFT_COMPLEX ? f->inverse : f->what == WICK_FFT_HERMITIAN;
        /* The inverse with real and imaginary parts exchanged is the forward one. */
        if (inverse)
            FFT_NAME(sums)(n, 1, 1, n, in_im, in_re, table, im, re, room);
        else
            FFT_NAME(sums)(n, 1, 1, n, in_re, in_im, table, re, im, room);
        FFT_T *y = (FFT_T *)yv + (f->what == WICK_FFT_COMPLEX ? at
                                  : f->what == WICK_FFT_REAL  ? row * 2 * half
                                                              : row * n);
        for (int64_t k = 0; k < (f->what == WICK_FFT_REAL ? half : n); k++) {
            const double scale = f->what == WICK_FFT_REAL && k && 2 * k != n ? f->scale * f->inner : f->scale;
            if (f->what == WICK_FFT_HERMITIAN) {
                y[k] = (FFT_T)(re[k] * scale);
            } else {
                y[step * k] = (FFT_T)(re[k] * scale), y[step * k + 1] = (FFT_T)(im[k] * scale);
            }
        }
    }
}
