/* window.c: windows and mel filters: tables made when they are asked for, in f64, and kept as data. */
#include "kernels/elementwise/math.h"
#include "ops/ops.h"
#include "wick/signal.h"

wick_tensor *wick_from_f64(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, const double *values) {
    wick_type type;
    if (dtype == WICK_F64) return wick_from(ctx, dtype, rank, dims, values);
    /* which says what is wrong */
    if (!wick_type_make(&type, dtype, rank, dims)) return wick_from(ctx, dtype, rank, dims, values);
    const int64_t count = wick_type_count(&type);
    void *narrow = wick_alloc(&ctx->alloc, wick_type_bytes(&type) + 1);
    if (!narrow) return wick_poison(ctx, WICK_ERR_NOMEM, "out of memory for a table of %lld numbers", (long long)count);
    wick_copy copy = {
        .rank = 1, .dims = {count}, .src_strides = {1}, .dst_strides = {1}, .src = WICK_F64, .dst = dtype};
    wick_copy_run(&copy, 0, wick_copy_tasks(&copy), values, narrow);
    wick_tensor *t = wick_from(ctx, dtype, rank, dims, narrow);
    wick_release(&ctx->alloc, narrow, wick_type_bytes(&type) + 1);
    return t;
}

static const double pi = 0x1.921fb54442d18p+1;

/* The modified Bessel function of order 0, by its power series: sum of ((x / 2)^k / k!)^2; all terms are positive. */
static double bessel_i0(double x) {
    double term = 1, sum = 1;
    for (int k = 1; k < 1000 && term > sum * 1e-18; k++) {
        term *= x / 2 / k * (x / 2 / k);
        sum += term;
    }
    return sum;
}

static double window_at(wick_window_kind kind, double at, double beta) { /* at in [0, 1] */
    switch (kind) {
    case WICK_WINDOW_HANN: return 0.5 - 0.5 * wick_cos_f64(2 * pi * at);
    case WICK_WINDOW_HAMMING: return 0.54 - 0.46 * wick_cos_f64(2 * pi * at);
    case WICK_WINDOW_BLACKMAN: return 0.42 - 0.5 * wick_cos_f64(2 * pi * at) + 0.08 * wick_cos_f64(4 * pi * at);
    case WICK_WINDOW_KAISER:
        return bessel_i0(beta * wick_sqrt_f64(WICK_MAX(0.0, 1 - (2 * at - 1) * (2 * at - 1)))) / bessel_i0(beta);
    case WICK_WINDOW_BARTLETT: return 1 - wick_abs_f64(2 * at - 1);
    default: return 1;
    }
}

wick_tensor *wick_window(wick_context *ctx, wick_window_kind kind, wick_dtype dtype, int64_t n, bool symmetric,
                         double beta) {
    if (!ctx) return NULL;
    if (kind < WICK_WINDOW_HANN || kind > WICK_WINDOW_ONES)
        return wick_poison(ctx, WICK_ERR_INVALID, "window: there is no kind %d", (int)kind);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "window: of dtype %s; it needs floats", wick_dtype_name(dtype));
    if (n < 0 || n > 1 << 30) return wick_poison(ctx, WICK_ERR_INVALID, "window: of %lld values", (long long)n);
    if (beta == 0) beta = 12;
    double *values = wick_alloc(&ctx->alloc, (size_t)(n + 1) * sizeof *values);
    if (!values) return wick_poison(ctx, WICK_ERR_NOMEM, "window: out of memory");
    const int64_t whole = symmetric ? n - 1 : n;
    for (int64_t i = 0; i < n; i++) /* the second half is the first one's mirror image, to the bit */
        values[i] = n == 1 ? 1 : window_at(kind, (double)WICK_MIN(i, whole - i) / (double)whole, beta);
    wick_tensor *t = wick_from_f64(ctx, dtype, 1, &n, values);
    wick_release(&ctx->alloc, values, (size_t)(n + 1) * sizeof *values);
    return t;
}

/* ---- mel filters: Slaney's constants are those of his Auditory Toolbox (1998) ------------------------------------ */

static const double slaney_step = 200.0 / 3, slaney_log_from = 1000;
static double slaney_log_step(void) { return wick_log_f64(6.4) / 27; }

static double mel_of(double hz, wick_mel_scale scale) {
    if (scale == WICK_MEL_HTK) return 2595 / wick_log_f64(10) * wick_log_f64(1 + hz / 700);
    if (hz < slaney_log_from) return hz / slaney_step;
    return slaney_log_from / slaney_step + wick_log_f64(hz / slaney_log_from) / slaney_log_step();
}
static double hz_of(double mel, wick_mel_scale scale) {
    if (scale == WICK_MEL_HTK) return 700 * (wick_exp_f64(mel * wick_log_f64(10) / 2595) - 1);
    if (mel < slaney_log_from / slaney_step) return mel * slaney_step;
    return slaney_log_from * wick_exp_f64((mel - slaney_log_from / slaney_step) * slaney_log_step());
}

wick_tensor *wick_mel_filters(wick_context *ctx, wick_dtype dtype, int64_t n_freqs, int64_t n_mels, double sample_rate,
                              double f_min, double f_max, wick_mel_scale scale, bool slaney_norm) {
    if (!ctx) return NULL;
    if (f_max == 0) f_max = sample_rate / 2;
    if (n_freqs < 2 || n_mels < 1 || n_freqs > 1 << 24 || n_mels > 1 << 20)
        return wick_poison(ctx, WICK_ERR_INVALID, "mel_filters: %lld mels over %lld frequencies", (long long)n_mels,
                           (long long)n_freqs);
    if (!(sample_rate > 0 && f_min >= 0 && f_max > f_min))
        return wick_poison(ctx, WICK_ERR_INVALID, "mel_filters: from %g to %g Hz at %g samples a second", f_min, f_max,
                           sample_rate);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "mel_filters: of dtype %s; it needs floats", wick_dtype_name(dtype));
    const size_t bytes = (size_t)(n_freqs * n_mels) * sizeof(double);
    double *values = wick_alloc(&ctx->alloc, bytes);
    if (!values) return wick_poison(ctx, WICK_ERR_NOMEM, "mel_filters: out of memory");
    const double low = mel_of(f_min, scale), high = mel_of(f_max, scale);
    for (int64_t m = 0; m < n_mels; m++) {
        double corner[3]; /* Hz: the triangle's ends and its top */
        for (int i = 0; i < 3; i++)
            corner[i] = hz_of(low + (high - low) * (double)(m + i) / (double)(n_mels + 1), scale);
        const double height = slaney_norm ? 2 / (corner[2] - corner[0]) : 1;
        for (int64_t f = 0; f < n_freqs; f++) {
            const double hz = sample_rate / 2 * (double)f / (double)(n_freqs - 1);
            const double up = (hz - corner[0]) / (corner[1] - corner[0]),
                         down = (corner[2] - hz) / (corner[2] - corner[1]);
            values[f * n_mels + m] = height * WICK_MAX(0.0, WICK_MIN(up, down));
        }
    }
    const int64_t dims[2] = {n_freqs, n_mels};
    wick_tensor *t = wick_from_f64(ctx, dtype, 2, dims, values);
    wick_release(&ctx->alloc, values, bytes);
    return t;
}
