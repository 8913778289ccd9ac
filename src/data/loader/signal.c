/* signal.c: transforms of recordings, f32 [samples], and of what sensors read, f32 [rows, columns].
 *
 * A sample is copied to one of two buffers and goes through the steps there, from one to the other where its length
 * changes. A spectrogram is made of some frames at a time:
 *
 *   samples ──windowed──► [FRAMES, n] ──rfft──► [FRAMES, n / 2 + 1, 2] ──power, turned──► [n / 2 + 1, LANES]
 *   ──bands──► [mels, LANES] ──log──► rows of the result
 *
 * Sums go in an order that depends on nothing but the sizes. */
#include "data/loader/signal.h"

#include <math.h>

#include "data/sets/dataset.h"
#include "data/formats/resample.h"
#include "kernels/elementwise/math.h"
#include "kernels/kernels.h"
#include "kernels/mel/mel.h"
#include "wick/signal.h"

enum {
    FRAMES = 32,
    LANES = WICK_MEL_LANES,
    MOST_MELS = 512,
    MOST_COLUMNS = 4096,
    MOST_ROWS = 1 << 26,
    MOST_FRAME = 1 << 16,
    MOST_NORMALS = 8
};

typedef enum kind {
    RESAMPLE,
    GAIN,
    NOISE,
    SHIFT,
    FIT,
    WINDOW,
    JITTER,
    SCALE,
    ROTATE,
    LOGMEL,
    MFCC,
    SPECAUGMENT,
    NORMALISE,
    KINDS
} kind;

static const wick_transform_form forms[KINDS] = {
    [RESAMPLE] = {"resample", false, 1, 1},
    [GAIN] = {"gain", false, 1, 2},
    [NOISE] = {"noise", false, 2, 3},
    [SHIFT] = {"shift", false, 1, 1},
    [FIT] = {"fit", false, 1, 1},
    [WINDOW] = {"window", false, 1, 1},
    [JITTER] = {"jitter", false, 1, 1},
    [SCALE] = {"scale", false, 1, 1},
    [ROTATE] = {"rotate", false, 0, 1},
    [LOGMEL] = {"logmel", false, 1, 3},
    [MFCC] = {"mfcc", false, 1, 4},
    [SPECAUGMENT] = {"specaugment", false, 2, 4},
    [NORMALISE] = {"normalise", false, 0, 8},
};

typedef struct band {
    int32_t first, n; /* frequencies that a filter lets pass */
    size_t weights;   /* where its weights begin */
} band;

struct wick_signal {
    wick_allocator alloc;
    int n;
    wick_transform_step steps[WICK_TRANSFORM_STEPS];
    int64_t columns; /* of the input; a recording has 1 */
    bool recording;
    double rate;     /* of the input; Hz */
    double mean, deviation;
    const wick_dataset *noise;
    int64_t longest_noise;
    bool noisy;

    bool resamples;
    wick_resampler resampler;
    float *taps;
    size_t taps_bytes;

    int64_t mels, coefficients, hop; /* coefficients 0: no MFCC; mels 0: no spectrogram */
    wick_fourier fft;
    void *table;
    float *window, *weights, *cosines; /* [n]; of all bands, one behind the other; [mels, coefficients] */
    size_t window_bytes, weights_bytes, cosines_bytes, bands_bytes;
    band *bands;                       /* [mels] */
};

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Rows behind step i of so many before it; -1: too many. */
static int64_t rows_after(const wick_signal *s, int i, int64_t rows) {
    switch ((kind)s->steps[i].kind) {
    case RESAMPLE: rows = wick_resampler_length(&s->resampler, rows); break;
    case FIT: case WINDOW: return (int64_t)s->steps[i].number[0];
    case LOGMEL: case MFCC: return rows / s->hop + 1;
    default: break;
    }
    return rows > MOST_ROWS ? -1 : rows;
}
static int64_t columns_after(const wick_signal *s, int i, int64_t columns) {
    const kind k = (kind)s->steps[i].kind;
    return k == LOGMEL ? s->mels : k == MFCC ? s->coefficients : columns;
}
int64_t wick_signal_rows(const wick_signal *s, int64_t rows) {
    if (rows > MOST_ROWS) return -1;
    for (int i = 0; i < s->n && rows >= 0; i++) rows = rows_after(s, i, rows);
    return rows;
}

/* Numbers that a buffer must have room for; 0: too many. */
static size_t most_numbers(const wick_signal *s, int64_t rows) {
    int64_t columns = s->columns;
    size_t most = (size_t)rows * (size_t)columns;
    for (int i = 0; i < s->n; i++) {
        if ((rows = rows_after(s, i, rows)) < 0) return 0;
        columns = columns_after(s, i, columns);
        most = WICK_MAX(most, (size_t)rows * (size_t)columns);
    }
    return most + LANES;
}
static size_t up(size_t numbers) { return WICK_ALIGN_UP(numbers * sizeof(float), WICK_ALIGN); }

/* Two buffers, noise, the taps of one output, and what a spectrogram needs: frames, spectra, turned powers, mels, the
 * transform's own. */
typedef struct room {
    size_t buffer[2], noise, taps, frames, spectra, power, mel, fft, bytes;
} room;
static room room_for(const wick_signal *s, int64_t rows) {
    room r = {0};
    const size_t most = rows > MOST_ROWS ? 0 : most_numbers(s, rows), n = (size_t)s->fft.n;
    if (!most) return r;
    r.buffer[1] = up(most);
    r.noise = r.taps = r.buffer[1] + up(most);
    if (s->noisy) r.taps += up(WICK_MAX(most, (size_t)s->longest_noise));
    r.frames = r.taps + (s->resamples ? up((size_t)(2 * s->resampler.reach)) : 0);
    r.bytes = r.frames;
    if (!s->mels) return r;
    r.spectra = r.frames + up(FRAMES * n);
    r.power = r.spectra + up(FRAMES * (n / 2 + 1) * 2);
    r.mel = r.power + up(LANES * (n / 2 + 1));
    r.fft = r.mel + up(LANES * (size_t)s->mels);
    r.bytes = r.fft + s->fft.scratch + WICK_ALIGN;
    return r;
}
size_t wick_signal_scratch(const wick_signal *s, int64_t rows) { return room_for(s, rows).bytes; }

/* ---- making ------------------------------------------------------------------------------------------------------ */

static bool whole(double x, double least, double most) { return x >= least && x <= most && x == floor(x); }

static const char *check_numbers(const wick_signal *s, const wick_transform_step *t, int64_t columns, bool spectral) {
    const double *x = t->number;
    switch ((kind)t->kind) {
    case RESAMPLE:
        return !s->recording ? "resample is for recordings"
               : whole(x[0], WICK_LOWEST_RATE, WICK_HIGHEST_RATE)
                   ? NULL
                   : "resample makes a rate of 1000 to 768000 samples a second";
    case GAIN: return t->n == 1 || x[0] <= x[1] ? NULL : "gain takes LOW:HIGH in decibels";
    case NOISE:
        return x[0] <= x[1] && (t->n < 3 || (x[2] >= 0 && x[2] <= 1))
                   ? NULL
                   : "noise takes LOW:HIGH in decibels, and a probability";
    case SHIFT: return x[0] >= 0 && x[0] <= 1 ? NULL : "shift is by up to a part of the length, 0 to 1";
    case FIT:
    case WINDOW:
        return whole(x[0], 1, MOST_ROWS) ? NULL : "fit and window make so many rows: a whole number, from 1";
    case JITTER: case SCALE: return x[0] >= 0 ? NULL : "jitter and scale take a deviation, from 0";
    case ROTATE:
        return columns % 3                           ? "rotate is for columns in threes: x, y, z"
               : !t->n || (x[0] >= 0 && x[0] <= 180) ? NULL
                                                     : "rotate turns by up to 180 degrees";
    case LOGMEL: case MFCC: {
        const double *at = x + (t->kind == MFCC);
        const int n = t->n - (t->kind == MFCC);
        if (!s->recording) return "logmel and mfcc are for recordings";
        if ((n > 0 && !whole(at[0], 1, MOST_MELS)) || (n > 1 && !whole(at[1], 2, MOST_FRAME)) ||
            (n > 2 && !whole(at[2], 1, MOST_ROWS)))
            return "takes up to 512 mels, a window of 2 to 65536 samples, and a hop from 1";
        return t->kind == LOGMEL || whole(x[0], 1, n > 0 ? at[0] : 40) ? NULL
                                                                       : "mfcc takes no more coefficients than mels";
    }
    case SPECAUGMENT:
        if (!spectral) return "specaugment comes behind logmel or mfcc";
        if (!whole(x[0], 0, (double)columns) || !whole(x[1], 0, MOST_ROWS))
            return "specaugment takes widths of masks, F:T, F not above the number of mels";
        return (t->n < 3 || whole(x[2], 0, 15)) && (t->n < 4 || whole(x[3], 0, 15))
                   ? NULL
                   : "specaugment makes up to 15 masks of each kind";
    case NORMALISE:
        if (t->n && (t->n != 2 * t->height || (t->height != 1 && t->height != columns)))
            return "normalise takes means/deviations, one of each or one a column: 0.5:0.5:0.5/0.2:0.2:0.2";
        for (int i = (int)t->height; i < t->n; i++)
            if (!(x[i] > 0)) return "a deviation is above 0";
        return NULL;
    default: return NULL;
    }
}

/* Without chance nothing happens. */
static bool is_chance(const wick_transform_step *t) {
    switch ((kind)t->kind) {
    case GAIN: return t->n > 1;
    case NOISE: case SHIFT: case JITTER: case SCALE: case ROTATE: case SPECAUGMENT: return true;
    default: return false;
    }
}

static bool get(wick_signal *s, size_t numbers, float **out, size_t *bytes) {
    *bytes = numbers * sizeof(float);
    return (*out = wick_alloc(&s->alloc, *bytes)) != NULL;
}

/* The filters and the window are those of wick_log_mel. */
static bool copy_numbers(wick_signal *s, wick_tensor *x, float **out, size_t *bytes) {
    const void *data;
    if (wick_data(x, &data) != WICK_OK || !get(s, (size_t)wick_tensor_count(x), out, bytes)) return false;
    memcpy(*out, data, *bytes);
    return true;
}

static bool make_bands(wick_signal *s, const float *filters) {
    const int64_t bins = s->fft.n / 2 + 1;
    size_t count = 0;
    s->bands_bytes = (size_t)s->mels * sizeof *s->bands;
    if (!(s->bands = wick_alloc(&s->alloc, s->bands_bytes))) return false;
    for (int64_t m = 0; m < s->mels; m++) {
        int64_t first = 0, end = bins;
        while (first < bins && filters[first * s->mels + m] == 0) first++;
        while (end > first && filters[(end - 1) * s->mels + m] == 0) end--;
        s->bands[m] = (band){(int32_t)first, (int32_t)(end - first), count};
        count += (size_t)(end - first);
    }
    if (!get(s, WICK_MAX(count, 1), &s->weights, &s->weights_bytes)) return false;
    for (int64_t m = 0; m < s->mels; m++)
        for (int32_t k = 0; k < s->bands[m].n; k++)
            s->weights[s->bands[m].weights + (size_t)k] = filters[(s->bands[m].first + k) * s->mels + m];
    return true;
}

/* The orthonormal cosine transform of type 2. */
static bool make_cosines(wick_signal *s) {
    if (!s->coefficients) return true;
    if (!get(s, (size_t)(s->mels * s->coefficients), &s->cosines, &s->cosines_bytes)) return false;
    for (int64_t m = 0; m < s->mels; m++)
        for (int64_t k = 0; k < s->coefficients; k++)
            s->cosines[m * s->coefficients + k] =
                (float)(wick_cos_f64(3.14159265358979323846 * (double)((2 * m + 1) * k % (4 * s->mels)) /
                                     (double)(2 * s->mels)) *
                        sqrt((k ? 2.0 : 1.0) / (double)s->mels));
    return true;
}

static bool make_spectrogram(wick_context *ctx, wick_signal *s, double rate) {
    s->fft.type = WICK_CF32, s->fft.what = WICK_FFT_REAL, s->fft.rows = FRAMES, s->fft.scale = s->fft.inner = 1;
    wick_fft_prepare(&s->fft);
    s->table = wick_alloc(&s->alloc, s->fft.table);
    wick_scope *scope = wick_scope_open(ctx);
    float *filters = NULL;
    size_t bytes = 0;
    bool good =
        s->table && scope &&
        copy_numbers(s, wick_mel_filters(ctx, WICK_F32, s->fft.n / 2 + 1, s->mels, rate, 0, 0, WICK_MEL_HTK, false),
                     &filters, &bytes) &&
        copy_numbers(s, wick_window(ctx, WICK_WINDOW_HANN, WICK_F32, s->fft.n, false, 0), &s->window,
                     &s->window_bytes) &&
        make_bands(s, filters) && make_cosines(s);
    wick_release(&s->alloc, filters, bytes);
    if (scope) wick_scope_close(&scope);
    if (good) wick_fft_tables(&s->fft, s->table);
    return good;
}

void wick_signal_free(wick_signal **signal) {
    wick_signal *s = *signal;
    if (!s) return;
    *signal = NULL;
    const wick_allocator alloc = s->alloc;
    wick_release(&alloc, s->taps, s->taps_bytes);
    wick_release(&alloc, s->table, s->fft.table);
    wick_release(&alloc, s->window, s->window_bytes);
    wick_release(&alloc, s->weights, s->weights_bytes);
    wick_release(&alloc, s->cosines, s->cosines_bytes);
    wick_release(&alloc, s->bands, s->bands_bytes);
    wick_release(&alloc, s, sizeof *s);
}

static wick_status check_noise(wick_context *ctx, wick_signal *s) {
    if (!s->noise) return WICK_OK;
    WICK_TRY(wick_dataset_by_number(ctx, 1, &s->noise));
    const wick_spec *f = wick_dataset_field(s->noise, 0);
    const int64_t count = wick_dataset_count(s->noise);
    bool good = f && f->dtype == WICK_F32 && f->rank == 1 && count > 0 && s->recording;
    for (int64_t i = 0; good && i < count; i++) {
        const int64_t length = wick_dataset_length(s->noise, i, 0);
        good = length > 0 && length <= MOST_ROWS;
        s->longest_noise = WICK_MAX(s->longest_noise, length);
    }
    return good ? WICK_OK
                : wick_context_fail(ctx, WICK_ERR_INVALID,
                                    "transform: noise is recordings, f32 [samples], of one sample at least, to be "
                                    "mixed to recordings");
}

wick_status wick_signal_new(wick_context *ctx, const char *text, const wick_transform_options *options,
                            const wick_spec *in, wick_spec *out_spec, wick_signal **out) {
    *out = NULL;
    if (in->rank < 1 || in->rank > 2 || (in->dims[0] != -1 && in->dims[0] < 1) || in->dims[0] > MOST_ROWS ||
        (in->rank == 2 && (in->dims[1] < 1 || in->dims[1] > MOST_COLUMNS)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "transform: of f32 it is for recordings, [samples], and for what sensors read, [rows, "
                                 "columns], up to %d columns; this has %d dims",
                                 MOST_COLUMNS, in->rank);
    wick_signal *s = wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) return wick_context_fail(ctx, WICK_ERR_NOMEM, "transform: out of memory");
    *s = (wick_signal){.alloc = ctx->alloc,
                       .columns = in->rank == 2 ? in->dims[1] : 1,
                       .recording = in->rank == 1,
                       .rate = options && options->rate ? options->rate : 16000,
                       .deviation = 1};
    if (options)
        s->mean = options->mean, s->noise = options->noise,
        s->deviation = options->deviation != 0 ? options->deviation : 1;
    const char *at = text, *why = NULL, *start = text;
    int64_t columns = s->columns;
    double rate = s->rate;
    bool spectral = false, resampled = false;
    if (!whole(s->rate, WICK_LOWEST_RATE, WICK_HIGHEST_RATE))
        why = "recordings have a rate of 1000 to 768000 samples a second";
    while (!why) {
        start = at;
        wick_transform_step *t = &s->steps[s->n];
        if (s->n == WICK_TRANSFORM_STEPS) why = "has more than 16 steps";
        else if (!wick_transform_read(&at, forms, KINDS, NORMALISE, t))
            why = "none of resample=RATE, gain=LOW:HIGH, noise=LOW:HIGH, shift=PART, fit=N, window=N, jitter=S, "
                  "scale=S, rotate, logmel=N, mfcc=N, specaugment=F:T, normalise=M/S";
        else why = check_numbers(s, t, columns, spectral);
        if (why) break;
        if (spectral && (t->kind <= NOISE || t->kind == LOGMEL || t->kind == MFCC))
            why = "comes before the one logmel or mfcc";
        if (t->kind == RESAMPLE && resampled) why = "resamples twice";
        if (why) break;
        if (t->kind == RESAMPLE)
            s->resampler = wick_resampler_of((int64_t)rate, (int64_t)t->number[0]), rate = t->number[0],
            resampled = s->resamples = true;
        if (t->kind == LOGMEL || t->kind == MFCC) {
            const double *x = t->number + (t->kind == MFCC);
            const int n = t->n - (t->kind == MFCC);
            s->mels = n > 0 ? (int64_t)x[0] : 40;
            s->fft.n = n > 1 ? (int64_t)x[1] : WICK_MAX(2, (int64_t)rint(rate * 0.025));
            s->hop = n > 2   ? (int64_t)x[2]
                     : n > 1 ? WICK_MAX(1, s->fft.n / 2)
                             : WICK_MAX(1, (int64_t)rint(rate * 0.010));
            s->coefficients = t->kind == MFCC ? (int64_t)t->number[0] : 0;
            columns = s->coefficients ? s->coefficients : s->mels;
            spectral = true;
        }
        if (options && options->still && is_chance(t)) memset(t, 0, sizeof *t), s->n--;
        else if (t->kind == NOISE || t->kind == JITTER) s->noisy = true;
        if (options && options->still && t->kind == WINDOW) t->width = 1;
        s->n++;
        if (!*at) break;
        at++;
    }
    wick_status status = why ? wick_transform_wrong(ctx, text, start, why) : check_noise(ctx, s);
    if (status == WICK_OK && s->resamples) {
        s->taps_bytes = wick_resampler_bytes(&s->resampler);
        if (!(s->taps = wick_alloc(&s->alloc, s->taps_bytes)))
            status = wick_context_fail(ctx, WICK_ERR_NOMEM, "transform: out of memory");
        else if (s->resampler.rows == s->resampler.down) wick_resampler_taps(&s->resampler, s->taps);
    }
    if (status == WICK_OK && s->mels && !make_spectrogram(ctx, s, rate))
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "transform: out of memory");
    const int64_t rows = in->dims[0] < 0 ? -1 : wick_signal_rows(s, in->dims[0]);
    if (status == WICK_OK && in->dims[0] > 0 && rows < 0)
        status = wick_context_fail(ctx, WICK_ERR_INVALID, "transform: \"%.200s\" makes more rows of %lld than %d", text,
                                   (long long)in->dims[0], MOST_ROWS);
    if (status != WICK_OK) {
        wick_signal_free(&s);
        return status;
    }
    /* A length that varies no longer does behind fit or window. */
    int64_t fixed = in->dims[0];
    for (int i = 0; i < s->n; i++)
        if (fixed >= 0 || s->steps[i].kind == FIT || s->steps[i].kind == WINDOW) fixed = rows_after(s, i, fixed);
    *out_spec = (wick_spec){
        .name = in->name, .dtype = WICK_F32, .rank = in->rank == 2 || s->mels ? 2 : 1, .dims = {fixed, columns}};
    if (out_spec->rank == 1) out_spec->dims[1] = 0;
    *out = s;
    return WICK_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

typedef struct work {
    const wick_signal *s;
    const wick_draws *draws;
    room room;
    char *scratch;
    float *x, *other; /* the sample, and the buffer that it is not in */
    int64_t rows, columns;
    uint32_t block, word[4]; /* of the step */
} work;

static void swap(work *w) {
    float *x = w->x;
    w->x = w->other, w->other = x;
}

static double energy(const float *x, int64_t n) {
    double part[LANES] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++) part[i % LANES] += (double)x[i] * (double)x[i];
    for (int k = 0; k < LANES; k++) sum += part[k];
    return sum;
}

/* Normal numbers of a stream that the step's own words begin. */
static void normals(const work *w, int64_t n, float *out) {
    wick_fill_normal(WICK_CF32,
                     &(wick_random_key){.seed = w->word[0] | (uint64_t)w->word[1] << 32, .stream = w->word[2]}, 0, n,
                     out);
}

static wick_status add_noise(work *w, const wick_transform_step *t, wick_fault *fault) {
    const wick_signal *s = w->s;
    float *noise = (float *)(void *)(w->scratch + w->room.noise);
    const int64_t n = w->rows * w->columns;
    uint32_t more[4];
    wick_draw(w->draws, w->block + 1, more);
    if (t->n > 2 && more[0] >= t->number[2] * 0x1p32) return WICK_OK;
    const double snr = wick_draw_between(more[1], t->number[0], t->number[1]);
    int64_t length = n, from = 0;
    if (s->noise) {
        const int64_t which = wick_draw_below(more[2], wick_dataset_count(s->noise));
        void *out[WICK_DATASET_FIELDS] = {noise};
        length = wick_dataset_length(s->noise, which, 0);
        WICK_TRY(wick_dataset_get(s->noise, which, out, fault));
        from = wick_draw_below(more[3], length);
    } else normals(w, n, noise);
    double loud = 0;
    /* of what is mixed in */
    for (int64_t i = 0, k = from; i < n; i++, k = k + 1 == length ? 0 : k + 1)
        loud += (double)noise[k] * (double)noise[k];
    const double signal = energy(w->x, n);
    if (!(loud > 0) || !(signal > 0)) return WICK_OK;
    const float by = (float)(sqrt(signal / loud) * pow(10, -snr / 20));
    for (int64_t i = 0, k = from; i < n; i++, k = k + 1 == length ? 0 : k + 1) w->x[i] += by * noise[k];
    return WICK_OK;
}

static void shift(work *w, const wick_transform_step *t) {
    const int64_t by = (int64_t)rint(wick_draw_between(w->word[0], -t->number[0], t->number[0]) * (double)w->rows),
                  kept = w->rows - (by < 0 ? -by : by), c = w->columns;
    if (by >= 0)
        memmove(w->x + by * c, w->x, (size_t)(kept * c) * sizeof *w->x),
            memset(w->x, 0, (size_t)(by * c) * sizeof *w->x);
    else
        memmove(w->x, w->x - by * c, (size_t)(kept * c) * sizeof *w->x),
            memset(w->x + kept * c, 0, (size_t)(-by * c) * sizeof *w->x);
}

static void window(work *w, const wick_transform_step *t) {
    const int64_t n = (int64_t)t->number[0], c = w->columns, more = w->rows - n;
    const int64_t start = more <= 0 || t->kind == FIT ? 0 : t->width ? more / 2 : wick_draw_below(w->word[0], more + 1);
    if (more >= 0) memmove(w->x, w->x + start * c, (size_t)(n * c) * sizeof *w->x);
    else memset(w->x + w->rows * c, 0, (size_t)(-more * c) * sizeof *w->x);
    w->rows = n;
}

static void scale(work *w, const wick_transform_step *t) {
    float some[MOST_NORMALS];
    for (int64_t c = 0; c < w->columns; c += MOST_NORMALS) {
        wick_fill_normal(WICK_CF32,
                         &(wick_random_key){.seed = w->word[0] | (uint64_t)w->word[1] << 32,
                                            .stream = w->word[2],
                                            .offset = (uint64_t)c},
                         0, MOST_NORMALS, some);
        for (int64_t k = 0; k < WICK_MIN(MOST_NORMALS, w->columns - c); k++) {
            const float by = 1 + (float)t->number[0] * some[k];
            for (int64_t r = 0; r < w->rows; r++) w->x[r * w->columns + c + k] *= by;
        }
    }
}

/* Rodrigues: about an axis whose directions are all as likely. */
static void rotate(work *w, const wick_transform_step *t) {
    const double pi = 3.14159265358979323846, most = (t->n ? t->number[0] : 180) / 180 * pi;
    const double z = wick_draw_between(w->word[0], -1, 1), turn = wick_draw_between(w->word[1], 0, 2 * pi),
                 angle = wick_draw_between(w->word[2], -most, most), flat = sqrt(1 - z * z);
    const double a[3] = {flat * cos(turn), flat * sin(turn), z}, co = cos(angle), si = sin(angle);
    float m[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int other = 3 - i - j;
            const double cross = i == j ? 0 : (j == (i + 1) % 3 ? -1 : 1) * a[other];
            m[i][j] = (float)((i == j ? co : 0) + (1 - co) * a[i] * a[j] + si * cross);
        }
    for (int64_t k = 0; k < w->rows * w->columns; k += 3) {
        const float x = w->x[k], y = w->x[k + 1], u = w->x[k + 2];
        for (int i = 0; i < 3; i++) w->x[k + i] = m[i][0] * x + m[i][1] * y + m[i][2] * u;
    }
}

/* Sample i of n where there are others on both sides: mirrored at the ends, without them, as often as it takes. */
static float mirrored(const float *x, int64_t n, int64_t i) {
    if (n < 2) return n ? x[0] : 0;
    i = (i < 0 ? -i : i) % (2 * (n - 1));
    return x[i < n ? i : 2 * (n - 1) - i];
}

static void take_frame(const wick_signal *s, const float *x, int64_t n, int64_t frame, float *to) {
    const int64_t size = s->fft.n, start = frame * s->hop - size / 2;
    if (start >= 0 && start + size <= n)
        wick_mel_kernels()->multiply(size, x + start, s->window, to);
    else
        for (int64_t i = 0; i < size; i++) to[i] = mirrored(x, n, start + i) * s->window[i];
}

static void spectrogram(work *w) {
    const wick_signal *s = w->s;
    const int64_t n = w->rows, frames = n / s->hop + 1, bins = s->fft.n / 2 + 1, mels = s->mels,
                  width = s->coefficients ? s->coefficients : mels;
    float *framed = (float *)(void *)(w->scratch + w->room.frames),
          *spectra = (float *)(void *)(w->scratch + w->room.spectra);
    float *power = (float *)(void *)(w->scratch + w->room.power), *mel = (float *)(void *)(w->scratch + w->room.mel);
    const wick_mel_table *table = wick_mel_kernels();
    memset(power, 0, up(LANES * (size_t)bins)); /* lanes without a frame are computed too */
    for (int64_t begin = 0; begin < frames; begin += FRAMES) {
        const int64_t some = WICK_MIN(FRAMES, frames - begin);
        for (int64_t f = 0; f < FRAMES; f++) {
            if (f < some) take_frame(s, w->x, n, begin + f, framed + f * s->fft.n);
            else memset(framed + f * s->fft.n, 0, (size_t)s->fft.n * sizeof *framed);
        }
        wick_fft_run(&s->fft, 0, FRAMES, framed, spectra, s->table, w->scratch + w->room.fft);
        for (int64_t f = 0; f < some; f += LANES) {
            const int64_t lanes = WICK_MIN(LANES, some - f);
            table->power(bins, lanes, spectra + f * bins * 2, power);
            for (int64_t m = 0; m < mels; m++)
                table->band(s->bands[m].n, s->weights + s->bands[m].weights, power + (int64_t)s->bands[m].first * LANES,
                            mel + m * LANES);
            if (s->coefficients) table->log_of_at_least(mels * LANES, 1e-10f, (float)(10 / wick_log_f64(10)), mel);
            else table->log(mels * LANES, 1e-6f, mel);
            for (int64_t l = 0; l < lanes; l++)
                for (int64_t m = 0; m < mels; m++) w->other[(begin + f + l) * mels + m] = mel[m * LANES + l];
        }
    }
    swap(w);
    w->rows = frames;
    w->columns = width;
    if (!s->coefficients) return;
    float loudest = -INFINITY;
    for (int64_t i = 0; i < frames * mels; i++) loudest = w->x[i] > loudest ? w->x[i] : loudest;
    for (int64_t f = 0; f < frames; f++) {
        float *to = w->other + f * width;
        memset(to, 0, (size_t)width * sizeof *to);
        for (int64_t m = 0; m < mels; m++) {
            const float value = w->x[f * mels + m], kept = value > loudest - 80 ? value : loudest - 80;
            for (int64_t k = 0; k < width; k++) to[k] += kept * s->cosines[m * width + k];
        }
    }
    swap(w);
}

/* Park et al. 2019, without warping in time. */
static void specaugment(work *w, const wick_transform_step *t) {
    const int64_t f_masks = t->n > 2 ? (int64_t)t->number[2] : 1, t_masks = t->n > 3 ? (int64_t)t->number[3] : 1;
    for (int64_t i = 0; i < WICK_MAX(f_masks, t_masks); i++) {
        uint32_t word[4];
        wick_draw(w->draws, w->block + (uint32_t)i, word);
        const int64_t wide = i < f_masks ? wick_draw_below(word[0], (int64_t)t->number[0] + 1) : 0,
                      first = wick_draw_below(word[1], w->columns - wide + 1);
        for (int64_t r = 0; r < w->rows && wide; r++)
            memset(w->x + r * w->columns + first, 0, (size_t)wide * sizeof *w->x);
        const int64_t drawn = i < t_masks ? wick_draw_below(word[2], (int64_t)t->number[1] + 1) : 0,
                      high = WICK_MIN(drawn, w->rows), top = wick_draw_below(word[3], w->rows - high + 1);
        if (high) memset(w->x + top * w->columns, 0, (size_t)(high * w->columns) * sizeof *w->x);
    }
}

static void normalise(work *w, const wick_transform_step *t) {
    const bool listed = t->n > 0, each = listed && t->height > 1;
    const int64_t columns = each ? w->columns : 1, n = w->rows * w->columns;
    for (int64_t c = 0; c < columns; c++) {
        const double mean = listed ? t->number[c] : w->s->mean,
                     deviation = listed ? t->number[t->height + c] : w->s->deviation;
        const float by = (float)(1 / deviation), plus = (float)(-mean / deviation);
        for (int64_t i = c; i < n; i += columns) w->x[i] = w->x[i] * by + plus;
    }
}

static wick_status run_step(work *w, const wick_transform_step *t, wick_fault *fault) {
    const wick_signal *s = w->s;
    const int64_t n = w->rows * w->columns;
    switch ((kind)t->kind) {
    case RESAMPLE: {
        const int64_t rows = wick_resampler_length(&s->resampler, w->rows);
        float *taps = s->resampler.rows == s->resampler.down ? s->taps : (float *)(void *)(w->scratch + w->room.taps);
        wick_resampler_run(&s->resampler, taps, w->x, w->rows, w->other, rows);
        w->rows = rows;
        swap(w);
        break;
    }
    case GAIN: {
        const float by =
            (float)pow(10, (t->n > 1 ? wick_draw_between(w->word[0], t->number[0], t->number[1]) : t->number[0]) / 20);
        for (int64_t i = 0; i < n; i++) w->x[i] *= by;
        break;
    }
    case NOISE: return add_noise(w, t, fault);
    case SHIFT: shift(w, t); break;
    case FIT: case WINDOW: window(w, t); break;
    case JITTER: {
        float *noise = (float *)(void *)(w->scratch + w->room.noise);
        normals(w, n, noise);
        for (int64_t i = 0; i < n; i++) w->x[i] += (float)t->number[0] * noise[i];
        break;
    }
    case SCALE: scale(w, t); break;
    case ROTATE: rotate(w, t); break;
    case LOGMEL: case MFCC: spectrogram(w); break;
    case SPECAUGMENT: specaugment(w, t); break;
    case NORMALISE: normalise(w, t); break;
    case KINDS: break;
    }
    return WICK_OK;
}

wick_status wick_signal_run(const wick_signal *s, const wick_draws *draws, const float *in, int64_t rows, float *out,
                            void *scratch, wick_fault *fault) {
    work w = {
        .s = s, .draws = draws, .room = room_for(s, rows), .scratch = scratch, .rows = rows, .columns = s->columns};
    if (!w.room.bytes)
        return wick_fault_set(fault, WICK_ERR_INVALID, "transform: %lld rows are too many", (long long)rows);
    w.x = scratch;
    w.other = (float *)(void *)(w.scratch + w.room.buffer[1]);
    if (rows) memcpy(w.x, in, (size_t)(rows * s->columns) * sizeof *in);
    for (int i = 0; i < s->n; i++) {
        w.block = wick_draw_block(i);
        wick_draw(draws, w.block, w.word);
        WICK_TRY(run_step(&w, &s->steps[i], fault));
    }
    if (w.rows) memcpy(out, w.x, (size_t)(w.rows * w.columns) * sizeof *out);
    return WICK_OK;
}
