/* spectrum.c: short-time Fourier transforms, mel spectrograms, cosine transforms: expressions of frames, rfft, matmul.
 */
#include "kernels/elementwise/math.h"
#include "ops/ops.h"
#include "wick/ops.h"
#include "wick/signal.h"

/* What x is computed in. */
static wick_dtype computed_in(const wick_tensor *x) { return wick_tensor_dtype(x) == WICK_F64 ? WICK_F64 : WICK_F32; }
static wick_tensor *back_to(wick_tensor *y, wick_dtype d) { return wick_dtype_is_float(d) ? wick_as(y, d) : y; }

/* ---- short-time Fourier transform -------------------------------------------------------------------------------- */

/* Defaults filled in, the window n_fft long and of dtype d, or NULL; the poison of what is wrong. */
static wick_tensor *settle(const char *name, wick_tensor *x, wick_stft_options *o) {
    wick_context *ctx = x->ctx;
    const int64_t n = o->n_fft;
    if (n < 1 || n >= 1 << 30) return wick_poison(ctx, WICK_ERR_INVALID, "%s: n_fft is %lld", name, (long long)n);
    if (!o->hop) o->hop = WICK_MAX(1, n / 4);
    if (!o->win_length) o->win_length = n;
    if (o->hop < 1 || o->win_length < 1 || o->win_length > n)
        return wick_poison(ctx, WICK_ERR_INVALID, "%s: hop %lld and a window of %lld for n_fft %lld", name,
                           (long long)o->hop, (long long)o->win_length, (long long)n);
    if (o->window) {
        if (o->window->error) return o->window;
        if (wick_tensor_rank(o->window) != 1 || wick_tensor_dim(o->window, 0) != o->win_length)
            return wick_poison(ctx, WICK_ERR_SHAPE, "%s: the window must have the %lld values of win_length", name,
                               (long long)o->win_length);
        o->window = wick_as(o->window, computed_in(x));
    } else if (o->win_length < n) {
        o->window = wick_expand(wick_constant(ctx, computed_in(x), 1), 1, &o->win_length);
    }
    if (o->win_length < n) {
        const int64_t before = (n - o->win_length) / 2, after = n - o->win_length - before;
        o->window = wick_pad(o->window, 1, &before, &after, 0);
    }
    return o->window && o->window->error ? o->window : NULL;
}

/* The last axis longer by n on both sides. */
static wick_tensor *padded(wick_tensor *x, int64_t n, wick_stft_pad mode) {
    const int64_t t = wick_tensor_dim(x, -1);
    const int rank = wick_tensor_rank(x);
    if (!n) return x;
    if (mode == WICK_STFT_ZEROS) {
        int64_t by[WICK_MAX_DIMS] = {0};
        by[rank - 1] = n;
        return wick_pad(x, rank, by, NULL, 0);
    }
    if ((mode == WICK_STFT_REFLECT && n >= t) || (mode == WICK_STFT_WRAP && n > t) || t < 1)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "stft: %lld samples are too few to pad by %lld", (long long)t,
                           (long long)n);
    wick_tensor *parts[3] = {NULL, x, NULL};
    if (mode == WICK_STFT_REFLECT) {
        parts[0] = wick_slice(x, -1, n, 0, -1);
        parts[2] = wick_slice(x, -1, t - 2, t - 2 - n < 0 ? INT64_MIN : t - 2 - n, -1);
    } else if (mode == WICK_STFT_WRAP) {
        parts[0] = wick_slice(x, -1, t - n, INT64_MAX, 1);
        parts[2] = wick_slice(x, -1, 0, n, 1);
    } else {
        int64_t dims[WICK_MAX_DIMS];
        memcpy(dims, wick_tensor_dims(x), (size_t)rank * sizeof *dims);
        dims[rank - 1] = n;
        parts[0] = wick_expand(wick_slice(x, -1, 0, 1, 1), rank, dims);
        parts[2] = wick_expand(wick_slice(x, -1, t - 1, t, 1), rank, dims);
    }
    return wick_concat(3, parts, -1);
}

wick_tensor *wick_stft(wick_tensor *x, const wick_stft_options *options) {
    if (wick_is_bad(x)) return x;
    if (!options) return wick_poison(x->ctx, WICK_ERR_INVALID, "stft: options are NULL");
    const wick_dtype d = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x);
    if (rank < 1 || rank > WICK_MAX_DIMS - 2)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "stft: of a %d-d tensor", rank);
    wick_stft_options o = *options;
    wick_tensor *bad = settle("stft", x, &o);
    if (bad) return bad;
    x = wick_as(x, computed_in(x));
    if (wick_is_bad(x)) return x;
    if (!o.no_center) x = padded(x, o.n_fft / 2, o.pad);
    wick_tensor *frames = wick_frames(x, o.n_fft, o.hop);
    if (o.window) frames = wick_mul(frames, o.window);
    const wick_fft_norm norm = o.normalized ? WICK_FFT_ORTHO : WICK_FFT_BACKWARD;
    wick_tensor *y = o.two_sided ? wick_fft(wick_complex(frames, NULL), 0, -1, norm) : wick_rfft(frames, 0, -1, norm);
    return back_to(wick_is_bad(y) ? y : wick_transpose(y, rank - 1, rank), d);
}

wick_tensor *wick_istft(wick_tensor *x, const wick_stft_options *options) {
    if (wick_is_bad(x)) return x;
    if (!options) return wick_poison(x->ctx, WICK_ERR_INVALID, "istft: options are NULL");
    const wick_dtype d = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x) - 1; /* of complex numbers */
    wick_stft_options o = *options;
    wick_tensor *bad = settle("istft", x, &o);
    if (bad) return bad;
    const int64_t frequencies = o.two_sided ? o.n_fft : o.n_fft / 2 + 1;
    if (rank < 2 || wick_tensor_dim(x, -1) != 2 || wick_tensor_dim(x, -3) != frequencies || wick_tensor_dim(x, -2) < 1)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "istft: needs [..., %lld frequencies, frames, 2]",
                           (long long)frequencies);
    if (o.length < 0 || o.length > INT64_MAX / 2)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "istft: a length of %lld", (long long)o.length);
    const wick_fft_norm norm = o.normalized ? WICK_FFT_ORTHO : WICK_FFT_BACKWARD;
    const int64_t n_frames = wick_tensor_dim(x, -2);
    x = wick_transpose(wick_as(x, computed_in(x)), rank - 2, rank - 1);
    wick_tensor *frames = wick_irfft(x, o.n_fft, -1, norm); /* of two sides, PyTorch too takes the first */
    wick_tensor *one = wick_constant(x->ctx, computed_in(x), 1),
                *square = o.window ? wick_square(o.window) : wick_expand(one, 1, &o.n_fft);
    wick_tensor *y = wick_overlap_add(o.window ? wick_mul(frames, o.window) : frames, o.hop);
    wick_tensor *sum = wick_overlap_add(wick_expand(square, WICK_DIMS(n_frames, o.n_fft)), o.hop);
    if (wick_is_bad(y) || wick_is_bad(sum)) return wick_is_bad(y) ? y : sum;
    y = wick_div(y, wick_where(wick_gt(sum, wick_like(sum, 1e-11)), sum, one));
    const int64_t start = o.no_center ? 0 : o.n_fft / 2, end = wick_tensor_dim(y, -1) - start;
    if (!o.length && end <= start)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "istft: %lld frames leave no samples between the padding",
                           (long long)n_frames);
    const int64_t stop = o.length ? start + o.length : end, have = WICK_MIN(stop, wick_tensor_dim(y, -1));
    y = wick_slice(y, -1, start, have, 1);
    if (stop > have) {
        int64_t before[WICK_MAX_DIMS] = {0}, after[WICK_MAX_DIMS] = {0};
        after[wick_tensor_rank(y) - 1] = stop - have;
        y = wick_pad(y, wick_tensor_rank(y), before, after, 0);
    }
    return back_to(y, d);
}

/* ---- mel spectrograms -------------------------------------------------------------------------------------------- */

wick_tensor *wick_mel_spectrogram(wick_tensor *x, const wick_mel_options *options) {
    if (wick_is_bad(x)) return x;
    wick_mel_options o = options ? *options : (wick_mel_options){0};
    if (!o.stft.n_fft) o.stft.n_fft = 400;
    if (!o.stft.win_length) o.stft.win_length = o.stft.n_fft;
    if (!o.stft.hop) o.stft.hop = WICK_MAX(1, o.stft.win_length / 2);
    if (o.stft.two_sided) return wick_poison(x->ctx, WICK_ERR_INVALID, "mel_spectrogram: of two-sided spectra");
    if (o.sample_rate == 0) o.sample_rate = 16000;
    if (!o.n_mels) o.n_mels = 128;
    if (o.power == 0) o.power = 2;
    const wick_dtype d = wick_tensor_dtype(x), computed = computed_in(x);
    if (!o.stft.window) o.stft.window = wick_window(x->ctx, WICK_WINDOW_HANN, computed, o.stft.win_length, false, 0);
    wick_tensor *spectrum = wick_stft(wick_as(x, computed), &o.stft);
    if (wick_is_bad(spectrum)) return spectrum;
    wick_tensor *power = o.power == 1 ? wick_complex_abs(spectrum) : wick_complex_abs2(spectrum);
    if (o.power != 1 && o.power != 2) power = wick_pow(power, wick_like(power, o.power / 2));
    wick_tensor *filters = wick_mel_filters(x->ctx, computed, o.stft.n_fft / 2 + 1, o.n_mels, o.sample_rate, o.f_min,
                                            o.f_max, o.scale, o.slaney_norm);
    /* [frames, frequencies] lie in memory: the product takes them so. */
    wick_tensor *mel = wick_matmul(wick_transpose(power, -1, -2), filters);
    return back_to(wick_transpose(mel, -1, -2), d);
}

static wick_tensor *log_mel(wick_tensor *x, const wick_mel_options *options, double top_db) {
    if (wick_is_bad(x)) return x;
    const wick_dtype d = wick_tensor_dtype(x);
    wick_tensor *mel = wick_mel_spectrogram(wick_as(x, computed_in(x)), options);
    if (wick_is_bad(mel)) return mel;
    if (options && options->log == WICK_LOG_NATURAL) return back_to(wick_log(wick_add(mel, wick_like(mel, 1e-6))), d);
    wick_tensor *db =
        wick_mul(wick_log(wick_maximum(mel, wick_like(mel, 1e-10))), wick_like(mel, 10 / wick_log_f64(10)));
    if (options && options->top_db > 0) top_db = options->top_db;
    if (top_db > 0) {
        const int rank = wick_tensor_rank(db), axes[3] = {-1, -2, -3};
        wick_tensor *top = wick_max(db, WICK_MIN(rank, 3), axes, true);
        db = wick_maximum(db, wick_sub(top, wick_like(top, top_db)));
    }
    return back_to(db, d);
}
wick_tensor *wick_log_mel(wick_tensor *x, const wick_mel_options *options) { return log_mel(x, options, 0); }

static const double pi = 0x1.921fb54442d18p+1;

wick_tensor *wick_mfcc(wick_tensor *x, const wick_mel_options *options) {
    if (wick_is_bad(x)) return x;
    const int64_t n_mels = options && options->n_mels ? options->n_mels : 128,
                  n = options && options->n_mfcc ? options->n_mfcc : 40;
    if (n < 1 || n > n_mels || n_mels > 1 << 16)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "mfcc: %lld coefficients of %lld mels", (long long)n,
                           (long long)n_mels);
    const wick_dtype d = wick_tensor_dtype(x), computed = computed_in(x);
    const size_t bytes = (size_t)(n * n_mels) * sizeof(double);
    double *values = wick_alloc(&x->ctx->alloc, bytes);
    if (!values) return wick_poison(x->ctx, WICK_ERR_NOMEM, "mfcc: out of memory");
    for (int64_t m = 0; m < n_mels; m++)
        for (int64_t k = 0; k < n; k++)
            values[m * n + k] = wick_cos_f64(pi * (double)((2 * m + 1) * k % (4 * n_mels)) / (double)(2 * n_mels)) *
                                wick_sqrt_f64((k ? 2.0 : 1.0) / (double)n_mels);
    wick_tensor *matrix = wick_from_f64(x->ctx, computed, WICK_DIMS(n_mels, n), values);
    wick_release(&x->ctx->alloc, values, bytes);
    wick_tensor *mel = log_mel(wick_as(x, computed), options, 80);
    if (wick_is_bad(mel)) return mel;
    return back_to(wick_transpose(wick_matmul(wick_transpose(mel, -1, -2), matrix), -1, -2), d);
}

/* ---- cosine transforms: by a Fourier transform of another arrangement -------------------------------------------- */

/* exp(-i pi (step j + shift) / 4n) for j < count, as a table of pairs, times scale (of element 0: first). */
static wick_tensor *turns(wick_tensor *x, int64_t count, int64_t n, int64_t step, int64_t shift, double first,
                          double scale) {
    const size_t bytes = (size_t)(2 * count + 1) * sizeof(double);
    double *values = wick_alloc(&x->ctx->alloc, bytes);
    if (!values) return wick_poison(x->ctx, WICK_ERR_NOMEM, "dct: out of memory");
    for (int64_t j = 0; j < count; j++) {
        const double angle = pi * (double)((step * j + shift) % (8 * n)) / (double)(4 * n), by = j ? scale : first;
        values[2 * j] = by * wick_cos_f64(angle);
        values[2 * j + 1] = -by * wick_sin_f64(angle);
    }
    wick_tensor *t = wick_from_f64(x->ctx, wick_tensor_dtype(x), WICK_DIMS(count, 2), values);
    wick_release(&x->ctx->alloc, values, bytes);
    return t;
}
/* Weights of a list: ends (or the first only), and the rest. */
static wick_tensor *weights(wick_tensor *x, int64_t n, double end, double rest, bool both_ends) {
    wick_tensor *w = wick_expand(wick_like(x, rest), 1, &n), *e = wick_expand(wick_like(x, end), WICK_DIMS(1));
    const bool last = both_ends && n > 1;
    wick_tensor *parts[3] = {e, wick_slice(w, 0, 0, n - 1 - last, 1), e};
    return wick_concat(2 + last, parts, 0);
}

static wick_tensor *dct_1(wick_tensor *x, int64_t n, bool ortho) {
    const double root2 = 0x1.6a09e667f3bcdp+0, scale = 1 / wick_sqrt_f64(2 * (double)(n - 1));
    if (ortho) x = wick_mul(x, weights(x, n, root2, 1, true));
    wick_tensor *even = n > 2 ? wick_concat(2, (wick_tensor *[]){x, wick_slice(x, -1, n - 2, 0, -1)}, -1) : x;
    wick_tensor *y = wick_real(wick_rfft(even, 0, -1, WICK_FFT_BACKWARD));
    return ortho ? wick_mul(y, weights(y, n, scale / root2, scale, true)) : y;
}
/* Makhoul 1980: even elements, then odd ones backwards, make it one real transform of n. */
static wick_tensor *dct_2(wick_tensor *x, int64_t n, bool ortho) {
    wick_tensor *v = x;
    if (n > 1)
        v = wick_concat(
            2, (wick_tensor *[]){wick_slice(x, -1, 0, INT64_MAX, 2), wick_slice(x, -1, n - 1 - n % 2, INT64_MIN, -2)},
            -1);
    wick_tensor *f = wick_rfft(v, 0, -1, WICK_FFT_BACKWARD);
    const double first = ortho ? 1 / wick_sqrt_f64((double)n) : 2, rest = ortho ? wick_sqrt_f64(2 / (double)n) : 2;
    f = wick_complex_mul(f, turns(x, n / 2 + 1, n, 2, 0, first, rest));
    if (n == 1) return wick_real(f);
    /* Number n - k is minus the imaginary part of number k. */
    wick_tensor *rest_of = wick_neg(wick_slice(wick_imag(f), -1, (n - 1) / 2, 0, -1));
    return wick_concat(2, (wick_tensor *[]){wick_real(f), rest_of}, -1);
}
static wick_tensor *dct_3(wick_tensor *x, int64_t n, bool ortho) {
    const double first = ortho ? 1 / wick_sqrt_f64((double)n) : 1, rest = ortho ? wick_sqrt_f64(2 / (double)n) : 2;
    wick_tensor *z = wick_complex_mul(wick_complex(x, NULL), turns(x, n, n, 2, 0, first, rest));
    return wick_slice(wick_real(wick_fft(z, 2 * n, -1, WICK_FFT_BACKWARD)), -1, 0, n, 1);
}
static wick_tensor *dct_4(wick_tensor *x, int64_t n, bool ortho) {
    const double scale = ortho ? wick_sqrt_f64(2 / (double)n) : 2;
    wick_tensor *z = wick_complex_mul(wick_complex(x, NULL), turns(x, n, n, 2, 0, 1, 1));
    z = wick_slice(wick_fft(z, 2 * n, -1, WICK_FFT_BACKWARD), -2, 0, n, 1);
    return wick_real(wick_complex_mul(z, turns(x, n, n, 2, 1, scale, scale)));
}

wick_tensor *wick_dct(wick_tensor *x, int type, int axis, bool ortho) {
    if (wick_is_bad(x)) return x;
    const int rank = wick_tensor_rank(x), a = wick_axis(axis, rank);
    if (a < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "dct: axis %d of a %d-d tensor", axis, rank);
    if (rank == WICK_MAX_DIMS) return wick_poison(x->ctx, WICK_ERR_SHAPE, "dct: of more than 7 dims");
    if (type < 1 || type > 4) return wick_poison(x->ctx, WICK_ERR_INVALID, "dct: there is no type %d", type);
    const int64_t n = wick_tensor_dim(x, a);
    if (n < (type == 1 ? 2 : 1) || n >= 1 << 28)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "dct: type %d of %lld numbers", type, (long long)n);
    const wick_dtype d = wick_tensor_dtype(x);
    x = wick_as(x, computed_in(x));
    if (a != rank - 1) x = wick_transpose(x, a, -1);
    x = type == 1   ? dct_1(x, n, ortho)
        : type == 2 ? dct_2(x, n, ortho)
        : type == 3 ? dct_3(x, n, ortho)
                    : dct_4(x, n, ortho);
    if (a != rank - 1 && !wick_is_bad(x)) x = wick_transpose(x, a, -1);
    return back_to(x, d);
}
