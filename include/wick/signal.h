/* wick/signal.h: Fourier transforms, spectrograms, windows, mel filters, cosine transforms.
 *
 * A complex tensor has a last dim of 2: real part, imaginary part. Where a function takes or gives complex numbers,
 * `axis` and the rank do not count that dim: axis -1 of [8, 400, 2] is the one of 400. f32 and f64; other dtypes are
 * computed in f32 (half types rounded back). */
#ifndef WICK_SIGNAL_H
#define WICK_SIGNAL_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- complex numbers --------------------------------------------------------------------------------------------- */
/* they broadcast; im NULL: zeros. [...] -> [..., 2] */
WICK_API wick_tensor *wick_complex(wick_tensor *re, wick_tensor *im);
WICK_API wick_tensor *wick_real(wick_tensor *x);                      /* [..., 2] -> [...], a view */
WICK_API wick_tensor *wick_imag(wick_tensor *x);
WICK_API wick_tensor *wick_complex_mul(wick_tensor *a, wick_tensor *b);
WICK_API wick_tensor *wick_complex_conj(wick_tensor *x);
/* re^2 + im^2, [...]; and its root, whose gradient at 0 is 0. */
WICK_API wick_tensor *wick_complex_abs2(wick_tensor *x);
WICK_API wick_tensor *wick_complex_abs(wick_tensor *x);

/* ---- Fourier transforms ------------------------------------------------------------------------------------------ */
/* y[k] = s * sum over j of x[j] exp(-2 pi i j k / n); the inverse has exp(+...). norm places the factor 1 / n. */
typedef enum wick_fft_norm {
    WICK_FFT_BACKWARD, /* with the inverse */
    WICK_FFT_ORTHO,    /* 1 / sqrt(n) with both */
    WICK_FFT_FORWARD   /* with the forward one */
} wick_fft_norm;
/* Along one axis; n is the length, 0: what x has; otherwise x is cut or filled with zeros at its end. Any n below 2^30:
 * prime factors up to 13 are fast, others take a convolution of 2 to 4 times the length. */
WICK_API wick_tensor *wick_fft(wick_tensor *x, int64_t n, int axis, wick_fft_norm norm); /* complex -> complex */
WICK_API wick_tensor *wick_ifft(wick_tensor *x, int64_t n, int axis, wick_fft_norm norm);
/* Real x; the n / 2 + 1 numbers that say it all: the rest are their conjugates. [..., n] -> [..., n / 2 + 1, 2] */
WICK_API wick_tensor *wick_rfft(wick_tensor *x, int64_t n, int axis, wick_fft_norm norm);
/* The way back to n real numbers (0: 2 (extent - 1)); imaginary parts of number 0 (and n / 2 for even n) have no say.
 */
WICK_API wick_tensor *wick_irfft(wick_tensor *x, int64_t n, int axis, wick_fft_norm norm);
/* Over the last two axes. */
WICK_API wick_tensor *wick_fft2(wick_tensor *x, wick_fft_norm norm);
WICK_API wick_tensor *wick_ifft2(wick_tensor *x, wick_fft_norm norm);
WICK_API wick_tensor *wick_rfft2(wick_tensor *x, wick_fft_norm norm);
/* n: of the last axis, 0: 2 (extent - 1) */
WICK_API wick_tensor *wick_irfft2(wick_tensor *x, int64_t n, wick_fft_norm norm);

/* ---- windows: [n] values computed in f64 ------------------------------------------------------------------------- */
typedef enum wick_window_kind {
    WICK_WINDOW_HANN,     /* 0.5 - 0.5 cos(2 pi j / N) */
    WICK_WINDOW_HAMMING,  /* 0.54 - 0.46 cos(2 pi j / N) */
    WICK_WINDOW_BLACKMAN, /* 0.42 - 0.5 cos(2 pi j / N) + 0.08 cos(4 pi j / N) */
    WICK_WINDOW_KAISER,   /* I0(beta sqrt(1 - (2 j / N - 1)^2)) / I0(beta) */
    WICK_WINDOW_BARTLETT, /* 1 - |2 j / N - 1| */
    WICK_WINDOW_ONES
} wick_window_kind;
/* Periodic (N = n, for spectra) or symmetric (N = n - 1, for filters). beta: Kaiser's, 0: 12. */
WICK_API wick_tensor *wick_window(wick_context *ctx, wick_window_kind kind, wick_dtype dtype, int64_t n, bool symmetric,
                                  double beta);

/* ---- frames ------------------------------------------------------------------------------------------------------ */
/* y[..., f, j] = x[..., f hop + j]: [..., t] -> [..., (t - n) / hop + 1, n] */
WICK_API wick_tensor *wick_frames(wick_tensor *x, int64_t n, int64_t hop);
/* Its transpose: frames added up where they were. [..., frames, n] -> [..., (frames - 1) hop + n] */
WICK_API wick_tensor *wick_overlap_add(wick_tensor *x, int64_t hop);

typedef enum wick_stft_pad { WICK_STFT_REFLECT, WICK_STFT_ZEROS, WICK_STFT_EDGE, WICK_STFT_WRAP } wick_stft_pad;
typedef struct wick_stft_options {
    int64_t n_fft;
    int64_t hop;         /* 0: n_fft / 4 */
    int64_t win_length;  /* 0: n_fft; a shorter window stands in the middle of zeros */
    wick_tensor *window; /* [win_length] or NULL: ones */
    /* frame f starts at f hop; otherwise its middle is there: x is padded by n_fft / 2 on both sides */
    bool no_center;
    wick_stft_pad pad;
    bool normalized;     /* times 1 / sqrt(n_fft) */
    bool two_sided;      /* all n_fft frequencies, not only n_fft / 2 + 1 */
    int64_t length;      /* of the result of wick_istft; 0: what the frames give */
} wick_stft_options;
/* As torch.stft: [..., t] -> [..., frequencies, frames, 2]. */
WICK_API wick_tensor *wick_stft(wick_tensor *x, const wick_stft_options *options);
/* As torch.istft: frames are added up and divided by the sum of the squared windows there, where that is above 1e-11
 * (PyTorch refuses where it is not). */
WICK_API wick_tensor *wick_istft(wick_tensor *x, const wick_stft_options *options);

/* ---- mel scale --------------------------------------------------------------------------------------------------- */
typedef enum wick_mel_scale {
    WICK_MEL_HTK,   /* 2595 log10(1 + f / 700) */
    WICK_MEL_SLANEY /* f / (200/3) below 1 kHz, then 27 steps for a factor of 6.4 */
} wick_mel_scale;
typedef enum wick_mel_log {
    WICK_LOG_DB,     /* 10 log10(max(x, 1e-10)), at most top_db below the largest of a recording */
    WICK_LOG_NATURAL /* log(x + 1e-6) */
} wick_mel_log;
typedef struct wick_mel_options {
    wick_stft_options stft; /* n_fft 0: 400; hop 0: half the window; window NULL: periodic Hann */
    double sample_rate;     /* Hz, 0: 16000 */
    int64_t n_mels;         /* 0: 128 */
    double f_min, f_max;    /* Hz; f_max 0: half the sample rate */
    wick_mel_scale scale;
    bool slaney_norm;       /* filters of equal area, not height */
    double power;           /* of the magnitude, 0: 2 */
    wick_mel_log log;
    double top_db;          /* 0: 80 for wick_mfcc, no limit for wick_log_mel */
    int64_t n_mfcc;         /* 0: 40 */
} wick_mel_options;
/* Triangles over n_freqs frequencies from 0 to sample_rate / 2: [n_freqs, n_mels], torchaudio's melscale_fbanks. f_max
 * 0: sample_rate / 2. */
WICK_API wick_tensor *wick_mel_filters(wick_context *ctx, wick_dtype dtype, int64_t n_freqs, int64_t n_mels,
                                       double sample_rate, double f_min, double f_max, wick_mel_scale scale,
                                       bool slaney_norm);
/* [..., t] -> [..., n_mels, frames]; as torchaudio.transforms.MelSpectrogram. options NULL: all defaults. */
WICK_API wick_tensor *wick_mel_spectrogram(wick_tensor *x, const wick_mel_options *options);
WICK_API wick_tensor *wick_log_mel(wick_tensor *x, const wick_mel_options *options);
/* The first n_mfcc numbers of the orthonormal cosine transform over the mels of wick_log_mel: [..., n_mfcc, frames];
 * torchaudio.transforms.MFCC. */
WICK_API wick_tensor *wick_mfcc(wick_tensor *x, const wick_mel_options *options);

/* ---- cosine transforms, types 1 to 4, scipy.fft.dct's: of real x along an axis ----------------------------------- */
/* 1: x[0] + (-1)^k x[n-1] + 2 sum over 0 < j < n-1 of x[j] cos(pi j k / (n-1))     2: 2 sum of x[j] cos(pi (2 j + 1) k
 * / 2n) 3: x[0] + 2 sum over j > 0 of x[j] cos(pi j (2 k + 1) / 2n)                     4: 2 sum of x[j] cos(pi (2 j +
 * 1) (2 k + 1) / 4n) ortho: scaled to be orthonormal; 3 is then the inverse of 2, 1 and 4 are their own. */
WICK_API wick_tensor *wick_dct(wick_tensor *x, int type, int axis, bool ortho);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_complex(...) WICK_TENSOR_HERE(wick_complex(__VA_ARGS__))
#define wick_real(...) WICK_TENSOR_HERE(wick_real(__VA_ARGS__))
#define wick_imag(...) WICK_TENSOR_HERE(wick_imag(__VA_ARGS__))
#define wick_complex_mul(...) WICK_TENSOR_HERE(wick_complex_mul(__VA_ARGS__))
#define wick_complex_conj(...) WICK_TENSOR_HERE(wick_complex_conj(__VA_ARGS__))
#define wick_complex_abs2(...) WICK_TENSOR_HERE(wick_complex_abs2(__VA_ARGS__))
#define wick_complex_abs(...) WICK_TENSOR_HERE(wick_complex_abs(__VA_ARGS__))
#define wick_fft(...) WICK_TENSOR_HERE(wick_fft(__VA_ARGS__))
#define wick_ifft(...) WICK_TENSOR_HERE(wick_ifft(__VA_ARGS__))
#define wick_rfft(...) WICK_TENSOR_HERE(wick_rfft(__VA_ARGS__))
#define wick_irfft(...) WICK_TENSOR_HERE(wick_irfft(__VA_ARGS__))
#define wick_fft2(...) WICK_TENSOR_HERE(wick_fft2(__VA_ARGS__))
#define wick_ifft2(...) WICK_TENSOR_HERE(wick_ifft2(__VA_ARGS__))
#define wick_rfft2(...) WICK_TENSOR_HERE(wick_rfft2(__VA_ARGS__))
#define wick_irfft2(...) WICK_TENSOR_HERE(wick_irfft2(__VA_ARGS__))
#define wick_window(...) WICK_TENSOR_HERE(wick_window(__VA_ARGS__))
#define wick_frames(...) WICK_TENSOR_HERE(wick_frames(__VA_ARGS__))
#define wick_overlap_add(...) WICK_TENSOR_HERE(wick_overlap_add(__VA_ARGS__))
#define wick_stft(...) WICK_TENSOR_HERE(wick_stft(__VA_ARGS__))
#define wick_istft(...) WICK_TENSOR_HERE(wick_istft(__VA_ARGS__))
#define wick_mel_filters(...) WICK_TENSOR_HERE(wick_mel_filters(__VA_ARGS__))
#define wick_mel_spectrogram(...) WICK_TENSOR_HERE(wick_mel_spectrogram(__VA_ARGS__))
#define wick_log_mel(...) WICK_TENSOR_HERE(wick_log_mel(__VA_ARGS__))
#define wick_mfcc(...) WICK_TENSOR_HERE(wick_mfcc(__VA_ARGS__))
#define wick_dct(...) WICK_TENSOR_HERE(wick_dct(__VA_ARGS__))
/* clang-format on */
#endif
#endif
