/* ops_signal.c: Fourier transforms, windows, mel weights; random numbers. */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"
#include "wick/shape.h"
#include "wick/signal.h"

/* x [..., 1 or 2]: real numbers, or complex ones. */
static void dft(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host length = {0}, which = {0};
    int axis;
    if (!x || (wick_onnx_has(c, 1) && !wick_onnx_host(c, 1, &length)) ||
        (c->opset >= 20 && wick_onnx_has(c, 2) && !wick_onnx_host(c, 2, &which)))
        return;
    const int rank = wick_tensor_rank(x);
    if (!wick_onnx_axis(c, which.n ? which.ints[0] : c->opset >= 20 ? -2 : wick_onnx_int(c, "axis", 1), rank, &axis))
        return;
    const int64_t parts = wick_tensor_dim(x, rank - 1), n = length.n ? length.ints[0] : wick_tensor_dim(x, axis);
    if (wick_onnx_int(c, "onesided", 0) && !wick_onnx_int(c, "inverse", 0) && parts == 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "onesided is 1, but the input is complex");
        return;
    }
    if (axis == rank - 1 || parts < 1 || parts > 2 || n < 1) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "the last dim must be 1 or 2, axis another one, the length above 0");
        return;
    }
    const wick_dtype dtype = wick_tensor_dtype(x);
    wick_tensor *y;
    x = wick_cast(x, WICK_F64); /* as the standard's own: sums that cancel are 0 */
    const bool inverse = wick_onnx_int(c, "inverse", 0), one_sided = wick_onnx_int(c, "onesided", 0);
    if (inverse && one_sided) {
        if (parts == 1) x = wick_complex(wick_squeeze(x, rank - 1), NULL);
        y = wick_unsqueeze(wick_irfft(x, length.n ? n : 0, axis, WICK_FFT_BACKWARD), rank - 1);
    } else if (one_sided) {
        y = wick_rfft(wick_squeeze(x, rank - 1), n, axis, WICK_FFT_BACKWARD);
    } else {
        if (parts == 1) x = wick_complex(wick_squeeze(x, rank - 1), NULL);
        y = inverse ? wick_ifft(x, n, axis, WICK_FFT_BACKWARD) : wick_fft(x, n, axis, WICK_FFT_BACKWARD);
    }
    wick_onnx_set(c, 0, wick_cast(y, dtype));
}

static void stft(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *window = wick_onnx_optional(c, 2);
    onnx_host hop, length = {0};
    if (!x || !wick_onnx_host(c, 1, &hop) || (wick_onnx_has(c, 3) && !wick_onnx_host(c, 3, &length))) return;
    const int64_t n = length.n ? length.ints[0] : window ? wick_tensor_count(window) : 0;
    const bool complex = wick_tensor_rank(x) == 3 && wick_tensor_dim(x, 2) == 2,
               one_sided = wick_onnx_int(c, "onesided", 1);
    if (n < 1 || !hop.n || hop.ints[0] < 1 || wick_tensor_rank(x) < 2 || wick_tensor_rank(x) > 3) {
        wick_onnx_fail(c, WICK_ERR_SHAPE,
                       "signal must be [batch, samples, 1 or 2], frame_step and the length of frames above 0");
        return;
    }
    if (wick_tensor_rank(x) == 3 && !complex) x = wick_squeeze(x, 2);
    wick_tensor *re = complex ? wick_real(x) : x,
                *frames[2] = {wick_frames(re, n, hop.ints[0]),
                              complex ? wick_frames(wick_imag(x), n, hop.ints[0]) : NULL};
    for (int i = 0; i < 2 && window && frames[i]; i++) frames[i] = wick_mul(frames[i], window);
    if (one_sided && !complex) wick_onnx_set(c, 0, wick_rfft(frames[0], n, -1, WICK_FFT_BACKWARD));
    else {
        wick_tensor *y = wick_fft(wick_complex(frames[0], frames[1]), n, -1, WICK_FFT_BACKWARD);
        wick_onnx_set(c, 0, one_sided ? wick_slice(y, wick_tensor_rank(y) - 2, 0, n / 2 + 1, 1) : y);
    }
}

/* a - b cos(2 pi i / N) + d cos(4 pi i / N) */
static void window(onnx_call *c, double a, double b, double d) {
    onnx_host size;
    wick_dtype dtype;
    if (!wick_onnx_host(c, 0, &size)) return;
    if (size.n != 1 || size.ints[0] < 0 || !wick_onnx_dtype(wick_onnx_int(c, "output_datatype", ONNX_FLOAT), &dtype)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "size must be one number, and the type one that Wick has");
        return;
    }
    const int64_t n = size.ints[0];
    double *w = wick_onnx_alloc(c, (size_t)n, sizeof *w);
    const double turn = 2 * acos(-1) / (double)(wick_onnx_int(c, "periodic", 1) ? n : n - 1);
    for (int64_t i = 0; i < n && w; i++) w[i] = a - b * cos(turn * (double)i) + d * cos(2 * turn * (double)i);
    if (w) wick_onnx_set_static(c, 0, wick_cast(wick_from(c->ctx, WICK_F64, 1, &n, w), dtype));
}
static void hann(onnx_call *c) { window(c, 0.5, 0.5, 0); }
static void hamming(onnx_call *c) { window(c, 25.0 / 46, 21.0 / 46, 0); }
static void blackman(onnx_call *c) { window(c, 0.42, 0.5, 0.08); }

static double mel(double hz) { return 2595 * log10(1 + hz / 700); }

static void mel_weights(onnx_call *c) {
    onnx_host h[5];
    wick_dtype dtype;
    for (int i = 0; i < 5; i++) {
        if (!wick_onnx_host(c, i, &h[i])) return;
        if (h[i].n != 1) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "input %d must be one number", i);
            return;
        }
    }
    const int64_t bins = h[0].ints[0], length = h[1].ints[0], rows = length / 2 + 1;
    const double rate = h[2].floats[0], low = mel(h[3].floats[0]),
                 step = (mel(h[4].floats[0]) - low) / (double)(bins + 2);
    if (bins < 1 || bins > 1 << 20 || length < 1 || length > 1 << 28 || !(rate > 0) ||
        !wick_onnx_dtype(wick_onnx_int(c, "output_datatype", ONNX_FLOAT), &dtype)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE,
                       "numbers of bins, length and rate must be above 0, and the type one that Wick has");
        return;
    }
    double *w = wick_onnx_alloc2(c, rows, bins, sizeof *w);
    int64_t *at = w ? wick_onnx_alloc(c, (size_t)bins + 2, sizeof *at) : NULL;
    if (!at) return;
    for (int64_t i = 0; i < bins + 2; i++) {
        const double hz = 700 * (pow(10, ((double)i * step + low) / 2595) - 1);
        at[i] = (int64_t)WICK_MAX(0, WICK_MIN(floor((double)(length + 1) * hz / rate), (double)rows));
    }
    for (int64_t i = 0; i < bins; i++) {
        const int64_t a = at[i], b = at[i + 1], d = at[i + 2];
        if (b == a && b < rows) w[b * bins + i] = 1;
        for (int64_t j = a; b > a && j <= b && j < rows; j++) w[j * bins + i] = (double)(j - a) / (double)(b - a);
        for (int64_t j = b; d > b && j < d && j < rows; j++) w[j * bins + i] = (double)(d - j) / (double)(d - b);
    }
    wick_onnx_set_static(c, 0, wick_cast(wick_from(c->ctx, WICK_F64, WICK_DIMS(rows, bins), w), dtype));
}

/* ---- random numbers: of Wick's own streams; a node's seed is not those of other programs ------------------------- */

static bool random_type(onnx_call *c, wick_tensor *like, wick_dtype *dtype) {
    const int64_t type = wick_onnx_int(c, "dtype", like ? wick_onnx_type(wick_tensor_dtype(like)) : ONNX_FLOAT);
    return wick_onnx_dtype(type, dtype) ||
           wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "dtype %s", wick_onnx_type_name(type));
}

static void random_numbers(onnx_call *c, bool normal, bool like) {
    wick_tensor *x = like ? wick_onnx_tensor(c, 0) : NULL;
    wick_dtype dtype;
    int n = 0;
    const int64_t *dims = like ? NULL : wick_onnx_ints(c, "shape", &n);
    if ((like && !x) || !random_type(c, x, &dtype)) return;
    if (like) dims = wick_tensor_dims(x), n = wick_tensor_rank(x);
    if (!dims || n > WICK_MAX_DIMS) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "has no shape, or more than %d dims", WICK_MAX_DIMS);
        return;
    }
    const double a = normal ? wick_onnx_float(c, "mean", 0) : wick_onnx_float(c, "low", 0),
                 b = normal ? wick_onnx_float(c, "scale", 1) : wick_onnx_float(c, "high", 1) - a;
    wick_tensor *y = normal ? wick_random_normal(c->ctx, dtype, n, dims) : wick_random_uniform(c->ctx, dtype, n, dims);
    wick_onnx_set_value(
        c, 0,
        (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_add(wick_mul(y, wick_like(y, b)), wick_like(y, a))},
        true);
}
static void random_normal(onnx_call *c) { random_numbers(c, true, false); }
static void random_normal_like(onnx_call *c) { random_numbers(c, true, true); }
static void random_uniform(onnx_call *c) { random_numbers(c, false, false); }
static void random_uniform_like(onnx_call *c) { random_numbers(c, false, true); }
static void bernoulli(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    wick_dtype dtype;
    if (x && random_type(c, x, &dtype))
        wick_onnx_set_value(
            c, 0, (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_cast(wick_random_bernoulli(x), dtype)},
            true);
}
static void multinomial(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    wick_dtype dtype = WICK_I32;
    if (!x) return;
    if (wick_onnx_attr(c, "dtype") && !random_type(c, x, &dtype)) return;
    wick_onnx_set_value(
        c, 0,
        (wick_onnx_value){
            .kind = WICK_VALUE_TENSOR,
            .tensor = wick_cast(wick_multinomial(wick_softmax(x, 1), wick_onnx_int(c, "sample_size", 1), true), dtype)},
        true);
}

static const onnx_op ops[] = {
    {"DFT", 17, 0, dft, {0}},
    {"STFT", 17, 0, stft, {0}},
    {"HannWindow", 17, 0, hann, {0}},
    {"HammingWindow", 17, 0, hamming, {0}},
    {"BlackmanWindow", 17, 0, blackman, {0}},
    {"MelWeightMatrix", 17, 0, mel_weights, {0}},
    {"RandomNormal", 1, 0, random_normal, {0}},
    {"RandomNormalLike", 1, 0, random_normal_like, {0}},
    {"RandomUniform", 1, 0, random_uniform, {0}},
    {"RandomUniformLike", 1, 0, random_uniform_like, {0}},
    {"Bernoulli", 15, 0, bernoulli, {0}},
    {"Multinomial", 7, 0, multinomial, {0}},
};
const onnx_family wick_onnx_signal = {"", ops, WICK_COUNTOF(ops)};
