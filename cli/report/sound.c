/* sound.c: a recording as SVG: its samples over time, above its spectrogram. */
#include "sound.h"

#include "chart.h"
#include "html.h"
#include "png.h"

#include "wick/signal.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDTH = 900,
    LEFT = 60,
    RIGHT = 16,
    TOP = 30,
    WAVE = 120,
    GAP = 34,
    SPECTRUM = 220,
    FFT = 512,
    FRAMES = 800,
    RANGE_DB = 80
};

/* Grey, from what is RANGE_DB below the loudest to that; frequencies upward. [bins, frames], malloc'ed. */
static wick_status spectrogram(wick_context *ctx, const float *samples, int64_t n, uint8_t **pixels, int64_t *bins,
                               int64_t *frames) {
    int64_t hop = n / FRAMES;
    if (hop < FFT / 4) hop = FFT / 4;
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *x = wick_from(ctx, WICK_F32, 1, &n, samples);
    wick_tensor *power = wick_complex_abs2(
        wick_stft(x, &(wick_stft_options){.n_fft = FFT,
                                          .hop = hop,
                                          .window = wick_window(ctx, WICK_WINDOW_HANN, WICK_F32, FFT, false, 0),
                                          .pad = WICK_STFT_ZEROS}));
    const void *data;
    wick_status status = wick_data(power, &data);
    *pixels = NULL;
    if (status == WICK_OK) {
        const float *p = data;
        *bins = wick_tensor_dim(power, 0);
        *frames = wick_tensor_dim(power, 1);
        float most = 1e-20f;
        for (int64_t i = 0; i < *bins * *frames; i++)
            if (isfinite(p[i])) most = fmaxf(most, p[i]);
        *pixels = malloc((size_t)(*bins * *frames) + 1);
        if (!*pixels) status = wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory");
        for (int64_t k = 0; k < *bins && *pixels; k++)
            for (int64_t t = 0; t < *frames; t++) {
                const double db = 10 * log10(fmax((double)p[k * *frames + t], 1e-30) / (double)most);
                (*pixels)[(*bins - 1 - k) * *frames + t] = (uint8_t)(255 * fmin(1, fmax(0, 1 + db / RANGE_DB)));
            }
    }
    wick_scope_close(&scope);
    return status;
}

static void draw_wave(FILE *out, const float *x, int64_t n, const axis *time, const axis *y) {
    const int columns = WIDTH - LEFT - RIGHT;
    fprintf(out, "<path fill=\"none\" stroke=\"var(--a)\" stroke-width=\"1\" d=\"");
    for (int c = 0; c < columns && n; c++) { /* the range of each column */
        const int64_t first = n * c / columns, end = n * (c + 1) / columns > first ? n * (c + 1) / columns : first + 1;
        float low = x[first], high = x[first];
        for (int64_t i = first; i < end; i++) low = fminf(low, x[i]), high = fmaxf(high, x[i]);
        fprintf(out, "M%.1f %.1fV%.1f", time->from + c + 0.5, axis_at(y, (double)low) + 0.5,
                axis_at(y, (double)high) - 0.5);
    }
    fputs("\"/>\n", out);
}

wick_status sound_draw(FILE *out, wick_context *ctx, const float *samples, int64_t n, int64_t rate, const char *title,
                       bool alone) {
    uint8_t *pixels;
    int64_t bins, frames;
    wick_status status = spectrogram(ctx, samples, n, &pixels, &bins, &frames);
    if (status != WICK_OK) return status;
    const double seconds = (double)n / (double)rate, top = TOP + WAVE + GAP,
                 bottom = top + SPECTRUM;
    const axis time = {0, seconds > 0 ? seconds : 1, 0, LEFT, WIDTH - RIGHT}, level = {-1, 1, 1, TOP + WAVE, TOP},
               pitch = {0, (double)rate / 2000, 1, bottom, top};
    svg_open(out, WIDTH, bottom + 44, title,
             "Above, the samples over time; below, the spectrogram: how loud each frequency is, in grey, 80 dB below "
             "the loudest to that.");
    if (alone) {
        fputs("<style>\n", out);
        html_style(out);
        fputs("svg{background:var(--card);font-family:system-ui,sans-serif}\n</style>\n", out);
    }
    fprintf(out, "<text class=\"strong\" x=\"%d\" y=\"18\">", LEFT);
    html_print(out, "%s: %.2f s at %lld Hz", title, seconds, (long long)rate);
    fputs("</text>\n", out);
    axis_draw_y(out, &level, LEFT, WIDTH - RIGHT, "");
    draw_wave(out, samples, n, &time, &level);
    fprintf(out, "<image x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" preserveAspectRatio=\"none\" href=\"", LEFT,
            top, WIDTH - LEFT - RIGHT, SPECTRUM);
    if (!png_data_uri(out, pixels, bins, frames, 1)) status = wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory");
    fputs("\"/>\n", out);
    axis kilohertz = axis_around(0, pitch.high, 5, bottom, top),
         ticks = axis_around(0, time.high, 10, LEFT, WIDTH - RIGHT);
    kilohertz.high = kilohertz.step * floor(pitch.high / kilohertz.step + 1e-9),
    kilohertz.to = axis_at(&pitch, kilohertz.high);
    ticks.high = ticks.step * floor(time.high / ticks.step + 1e-9), ticks.to = axis_at(&time, ticks.high);
    axis_draw_y(out, &kilohertz, LEFT, LEFT, NBSP "kHz");
    axis_draw_x(out, &ticks, bottom, "seconds");
    svg_close(out);
    free(pixels);
    return status;
}
