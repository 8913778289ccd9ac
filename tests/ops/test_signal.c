/* Transforms, spectrograms, windows and mel filters against PyTorch, SciPy and torchaudio (golden/signal.safetensors,
 * made by golden/make_signal.py), on every tier. */
#define GOLDEN_FILE  "signal.safetensors"
#define GOLDEN_FLOOR 16
#include "ops/goldens.h"
#include "wick/signal.h"

/* as in make_signal.py */
enum {
    FFT,
    IFFT,
    RFFT,
    IRFFT,
    FFT2,
    IFFT2,
    RFFT2,
    IRFFT2,
    STFT,
    ISTFT,
    WINDOW,
    FILTERS,
    MEL,
    LOG_MEL,
    MFCC,
    DCT,
    ABS,
    MUL
};

static wick_tensor *build(wick_tensor **in, const int64_t *attr) {
    const int64_t *a = attr + 1;
    const wick_fft_norm norm = (wick_fft_norm)a[2];
    wick_context *ctx = wick_tensor_context(in[0]);
    const wick_dtype dtype = wick_tensor_dtype(in[0]);
    const wick_stft_options stft = {.n_fft = a[0],
                                    .hop = a[1],
                                    .win_length = a[2],
                                    .window = a[3] ? in[1] : NULL,
                                    .no_center = a[4],
                                    .pad = (wick_stft_pad)a[5],
                                    .normalized = a[6],
                                    .two_sided = a[7],
                                    .length = a[8]};
    const wick_mel_options mel = {.stft = {.n_fft = a[0], .hop = a[1], .win_length = a[2]},
                                  .n_mels = a[3],
                                  .power = (double)a[4],
                                  .scale = (wick_mel_scale)a[5],
                                  .slaney_norm = a[6],
                                  .sample_rate = (double)a[7],
                                  .log = (wick_mel_log)a[8],
                                  .top_db = attr[0] == LOG_MEL ? 30 : 0,
                                  .n_mfcc = 13};
    switch (attr[0]) {
    case FFT: return wick_fft(in[0], a[0], (int)a[1], norm);
    case IFFT: return wick_ifft(in[0], a[0], (int)a[1], norm);
    case RFFT: return wick_rfft(in[0], a[0], (int)a[1], norm);
    case IRFFT: return wick_irfft(in[0], a[0], (int)a[1], norm);
    case FFT2: return wick_fft2(in[0], norm);
    case IFFT2: return wick_ifft2(in[0], norm);
    case RFFT2: return wick_rfft2(in[0], norm);
    case IRFFT2: return wick_irfft2(in[0], a[0], norm);
    case STFT: return wick_stft(in[0], &stft);
    case ISTFT: return wick_istft(in[0], &stft);
    case WINDOW: return wick_window(ctx, (wick_window_kind)a[0], dtype, a[1], a[2], 0);
    case FILTERS:
        return wick_mel_filters(ctx, dtype, a[0], a[1], (double)a[2], (double)a[3], (double)a[4], (wick_mel_scale)a[5],
                                a[6]);
    case MEL: return wick_mel_spectrogram(in[0], &mel);
    case LOG_MEL: return wick_log_mel(in[0], &mel);
    case MFCC: return wick_mfcc(in[0], &mel);
    case DCT: return wick_dct(in[0], (int)a[0], (int)a[1], a[2]);
    case ABS: return wick_complex_abs(in[0]);
    default: return wick_complex_mul(in[0], in[1]);
    }
}

TEST(values_and_gradients_agree) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const int cases = check_every_case(&ctx, build);
    CHECK(cases > 200);
    wick_context_free(&ctx);
}

TEST(a_spectrogram_and_back_is_the_signal_whatever_the_frames) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_random_normal(ctx, WICK_F64, WICK_DIMS(2, 1000)),
                *w = wick_window(ctx, WICK_WINDOW_HANN, WICK_F64, 400, false, 0);
    for (int k = 0; k < 4; k++) {
        const wick_stft_options o = {.n_fft = k & 1 ? 400 : 509,
                                     .hop = 100,
                                     .win_length = 400,
                                     .window = w,
                                     .normalized = k & 1,
                                     .two_sided = k & 2,
                                     .length = 1000};
        wick_tensor *y = wick_istft(wick_stft(x, &o), &o);
        double worst = 1;
        CHECK(wick_item(wick_max(wick_abs(wick_sub(x, y)), WICK_ALL_AXES, false), &worst) == WICK_OK);
        CHECK_MSG(worst < 1e-12, "%d: %g, %s", k, worst, wick_context_error(ctx));
    }
    wick_context_free(&ctx);
}

static wick_status mfcc_and_gradient(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_mfcc(in[0], user);
    wick_grad(wick_sum(out[0], WICK_ALL_AXES, false), 1, in, &out[1]);
    return WICK_OK;
}
TEST(tables_made_in_a_compiled_function_are_part_of_it) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_mel_options o = {.stft = {.n_fft = 64, .hop = 32}, .n_mels = 12, .n_mfcc = 5, .sample_rate = 8000};
    const wick_spec spec = {.dtype = WICK_F64, .rank = 2, .dims = {2, 400}};
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    CHECK(wick_compile(ctx, mfcc_and_gradient, &o, 1, &spec, 2, NULL, &plan) == WICK_OK &&
          wick_workspace_new(plan, &space) == WICK_OK);
    REQUIRE(space != NULL);
    const wick_spec out = wick_plan_output(plan, 0);
    static double x[800], y[2000], g[800], expected[2000], expected_g[800];
    const size_t count = (size_t)(out.dims[0] * out.dims[1] * out.dims[2]);
    REQUIRE(count < WICK_COUNTOF(y));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 800; i++) x[i] = test_rand_real(-1, 1);
        CHECK_MSG(wick_run(space, (const void *[]){x}, (void *[]){y, g}) == WICK_OK, "%s", wick_workspace_error(space));
        wick_tensor *in = wick_from(ctx, WICK_F64, WICK_DIMS(2, 400), x), *eager[2];
        mfcc_and_gradient(ctx, &in, eager, &o);
        CHECK(wick_eval(ctx, 2, eager, NULL) == WICK_OK && wick_read(eager[0], expected, count * 8) == WICK_OK &&
              wick_read(eager[1], expected_g, sizeof expected_g) == WICK_OK);
        CHECK(!memcmp(y, expected, count * 8) && !memcmp(g, expected_g, sizeof g));
    }
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

TEST(other_dtypes_are_computed_in_f32) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_arange(ctx, WICK_F32, -1, 0.125, 20);
    CHECK(wick_tensor_dtype(wick_rfft(wick_cast(x, WICK_F16), 0, -1, WICK_FFT_BACKWARD)) == WICK_F16);
    CHECK(wick_tensor_dtype(wick_rfft(wick_cast(x, WICK_I16), 0, -1, WICK_FFT_BACKWARD)) == WICK_F32);
    wick_tensor *half = wick_dct(wick_cast(x, WICK_BF16), 2, -1, true),
                *wide = wick_cast(wick_dct(wick_cast(wick_cast(x, WICK_BF16), WICK_F32), 2, -1, true), WICK_BF16);
    double differ = 1;
    CHECK(wick_item(wick_sum(wick_cast(wick_ne(half, wide), WICK_I64), WICK_ALL_AXES, false), &differ) == WICK_OK &&
          differ == 0);
    /* PCM samples */
    CHECK(wick_tensor_dtype(wick_log_mel(wick_cast(wick_zeros(ctx, WICK_F32, WICK_DIMS(500)), WICK_I16), NULL)) ==
          WICK_F32);
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_is_refused_by_name) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 10)), *c = wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 10, 2)),
                *w = wick_zeros(ctx, WICK_F32, WICK_DIMS(5));
    const wick_stft_options plain = {.n_fft = 8};
    const refusal cases[] = {
        {wick_fft(x, 0, -1, WICK_FFT_BACKWARD), "fft: complex numbers need a last dim of 2; the 2-d tensor has 10"},
        {wick_fft(c, 0, 2, WICK_FFT_BACKWARD), "fft: axis 2 of a 2-d tensor"},
        {wick_ifft(c, -3, 0, WICK_FFT_BACKWARD), "ifft: a length of -3"},
        {wick_rfft(x, (int64_t)1 << 30, 0, WICK_FFT_BACKWARD), "1 to 2^30 - 1"},
        {wick_irfft(wick_zeros(ctx, WICK_F32, WICK_DIMS(1, 2)), 0, -1, WICK_FFT_BACKWARD),
         "irfft: axis -1 has 1 elements, which makes a length of 0"},
        {wick_rfft(wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 0)), 0, -1, WICK_FFT_BACKWARD),
         "rfft: axis -1 has 0 elements"},
        {wick_real(x), "real: complex numbers need a last dim of 2"},
        {wick_complex(x, w), "do not broadcast"},
        {wick_frames(x, 11, 1), "frames(f32[3,10]): frames of 11 do not fit into 10"},
        {wick_frames(x, 4, 0), "frames of 4, 0 apart"},
        {wick_overlap_add(w, 1), "needs [..., frames, n]"},
        {wick_overlap_add(wick_ones(ctx, WICK_F32, WICK_DIMS(4, 4)), INT64_MAX), "do not fit"},
        {wick_stft(x, NULL), "options are NULL"},
        {wick_stft(x, &(wick_stft_options){0}), "n_fft is 0"},
        {wick_stft(x, &(wick_stft_options){.n_fft = 8, .window = w}), "the window must have the 8 values"},
        {wick_stft(x, &(wick_stft_options){.n_fft = 8, .win_length = 9}), "a window of 9 for n_fft 8"},
        {wick_stft(x, &(wick_stft_options){.n_fft = 20}), "10 samples are too few to pad by 10"},
        {wick_stft(x, &(wick_stft_options){.n_fft = 12, .no_center = true}), "frames of 12 do not fit into 10"},
        {wick_istft(c, &plain), "needs [..., 5 frequencies, frames, 2]"},
        {wick_istft(wick_zeros(ctx, WICK_F32, WICK_DIMS(5, 1, 2)), &plain), "1 frames leave no samples"},
        {wick_window(ctx, (wick_window_kind)77, WICK_F32, 4, false, 0), "window: there is no kind 77"},
        {wick_window(ctx, WICK_WINDOW_HANN, WICK_I32, 4, false, 0), "of dtype i32"},
        {wick_mel_filters(ctx, WICK_F32, 129, 40, 8000, 4000, 100, WICK_MEL_HTK, false), "from 4000 to 100 Hz"},
        {wick_mfcc(x, &(wick_mel_options){.n_mels = 20}), "mfcc: 40 coefficients of 20 mels"},
        {wick_dct(x, 5, 0, false), "dct: there is no type 5"},
        {wick_dct(x, 2, 2, false), "dct: axis 2 of a 2-d tensor"},
        {wick_dct(wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 1)), 1, 1, false), "type 1 of 1 numbers"},
    };
    check_refusals(cases, WICK_COUNTOF(cases));
    wick_context_free(&ctx);
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
