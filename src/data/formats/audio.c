/* audio.c: WAV files (RIFF WAVE; Microsoft, IBM 1991, and Microsoft's page on WAVEFORMATEXTENSIBLE). Nothing in them is
 * believed before it is checked against the bytes that are there.
 *
 *   "RIFF" size "WAVE" | chunks: ID size, then size bytes and, where size is odd, one more. All numbers little-endian.
 *   "fmt "  +0 kind  +2 channels  +4 rate  +8 bytes a second  +12 bytes a frame  +14 bits a sample  | extensible: +16
 *           22  +18 valid bits
 *           +20 speakers  +24 kind, as the first two bytes of a GUID
 *   "data"  frames, each a sample of every channel */
#include "base/kinds.h"
#include "data/formats/resample.h"
#include "data/formats/wav.h"
#include "tensor/tensor.h" /* the context's allocator */
#include "wick/data.h"

#include <math.h>

enum { PCM = 1, FLOATS = 3, A_LAW = 6, MU_LAW = 7, EXTENSIBLE = 0xFFFE };

struct wick_audio {
    wick_allocator alloc;
    int64_t channels, length, rate;
    bool unmeasured;
    float *samples;
    size_t bytes;
};

static uint32_t u16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }

/* ---- the header -------------------------------------------------------------------------------------------------- */

typedef struct wav {
    uint32_t kind, channels, rate, width; /* width: bytes of a sample */
    const uint8_t *data;
    size_t frames;
    bool unmeasured; /* the header doesn't say how many: to the end of the file */
} wav;

static wick_status read_format(wav *w, const uint8_t *p, size_t size, const char *name, wick_msg *msg) {
    /* What follows the first two bytes of the GUIDs of all kinds that have a number. */
    static const uint8_t numbered[14] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71};
    if (size < 16)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: a format chunk of %zu bytes; it has at least 16", name, size);
    const uint32_t bits = u16(p + 14), frame = u16(p + 12);
    w->kind = u16(p), w->channels = u16(p + 2), w->rate = u32(p + 4), w->width = bits / 8;
    if (w->kind == EXTENSIBLE) {
        if (size < 40)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: an extensible format chunk of %zu bytes; it has at least 40",
                                name, size);
        if (memcmp(p + 26, numbered, sizeof numbered) != 0)
            return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: an unknown kind of samples", name);
        if (u16(p + 18) > bits)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %u valid bits of %u", name, u16(p + 18), bits);
        w->kind = u16(p + 24);
    }
    if (w->kind != PCM && w->kind != FLOATS)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: samples of kind %u%s; PCM (1) and floats (3) are read",
                            name, w->kind,
                            w->kind == A_LAW    ? " (A-law)"
                            : w->kind == MU_LAW ? " (mu-law)"
                                                : "");
    if (w->kind == PCM ? !bits || bits > 32 || bits % 8 : bits != 32 && bits != 64)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %s of %u bits", name,
                            w->kind == PCM ? "PCM samples" : "floats", bits);
    if (!w->channels || !w->rate)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %u channels at %u Hz", name, w->channels, w->rate);
    if (frame != w->channels * w->width)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: frames of %u bytes, but %u channels of %u", name, frame,
                            w->channels, w->width);
    return WICK_OK;
}

/* What programs that write into a pipe leave for a length that they don't know: ffmpeg 0xffffffff, sox 0x7ffff000,
 * others about as much. */
enum { ENDLESS = 0x7ffff000 };

/* Whether chunks that fit follow each other up to the end, with a byte left over at most. */
static bool are_chunks(const uint8_t *p, size_t size) {
    while (size >= 8) {
        const size_t bytes = u32(p + 4), whole = 8 + bytes + bytes % 2;
        for (int i = 0; i < 4; i++)
            if (p[i] < ' ' || p[i] > '~') return false;
        if (bytes > size - 8) return false;
        p += WICK_MIN(whole, size), size -= WICK_MIN(whole, size);
    }
    return size <= 1;
}

/* Writers that can't go back leave a length of 0, or one that no file of this size can have: then all that is there is
 * samples. */
static bool is_open(size_t said, const uint8_t *chunk, size_t left) {
    return (said >= ENDLESS && said > left) || (!said && left > 1 && !are_chunks(chunk, left));
}

static wick_status read_header(wav *w, const uint8_t *p, size_t size, const char *name, wick_msg *msg) {
    *w = (wav){0};
    if (size < 12 || memcmp(p, "RIFF", 4) != 0 || memcmp(p + 8, "WAVE", 4) != 0) {
        const wick_kind *kind = wick_kind_of(p, size);
        const bool other = kind && (!strcmp(kind->format, "rf64") || !strcmp(kind->format, "rifx"));
        if (kind && kind->use != WICK_KIND_RECORDING)
            return wick_kind_refuse(kind, other ? WICK_ERR_UNSUPPORTED : WICK_ERR_FORMAT, name,
                                    "a WAV file that is read", msg);
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: not a WAV file of %zu byte%s", name, size, size == 1 ? "" : "s");
    }
    for (size_t at = 12; size - at >= 8;) { /* at <= size */
        const uint8_t *chunk = p + at + 8;
        const size_t left = size - at - 8, said = u32(p + at + 4);
        const bool data = !memcmp(p + at, "data", 4), stream = data && is_open(said, chunk, left);
        const size_t bytes = stream ? left : said;
        if (bytes > left)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the chunk at byte %zu promises %zu bytes; %zu are left",
                                name, at, bytes, left);
        if (!memcmp(p + at, "fmt ", 4)) WICK_TRY(read_format(w, chunk, bytes, name, msg));
        if (data) {
            const size_t frame = (size_t)w->channels * w->width;
            if (!frame)
                return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: samples at byte %zu before their format", name, at);
            if (bytes % frame && !stream)
                return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %zu bytes of samples are no number of frames of %zu",
                                    name, bytes, frame);
            w->data = chunk;
            w->frames = bytes / frame;
            w->unmeasured = stream;
            return WICK_OK;
        }
        at += 8 + WICK_MIN(left, bytes + bytes % 2);
    }
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: ends before its samples", name);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static double real(const wav *w, const uint8_t *p) {
    if (w->kind == FLOATS && w->width == 8) {
        const uint64_t bits = (uint64_t)u32(p + 4) << 32 | u32(p);
        double v;
        return memcpy(&v, &bits, sizeof v), v;
    }
    uint32_t bits = 0;
    for (uint32_t i = 0; i < w->width; i++) bits |= (uint32_t)p[i] << (8 * (4 - w->width + i)); /* at the upper end */
    if (w->kind == FLOATS) {
        float v;
        return memcpy(&v, &bits, sizeof v), v;
    }
    if (w->width == 1) bits ^= 0x80000000u; /* 8 bits have no sign: 128 is 0 */
    int32_t v;
    return memcpy(&v, &bits, sizeof v), v * 0x1p-31;
}

/* [channels, frames]; channels as the file has, or 1: their mean. */
static void fill(const wav *w, int64_t channels, float *samples) {
    const size_t width = w->width, frame = w->channels * width;
    /* what most recordings are, without a question for each sample */
    if (w->kind == PCM && width == 2 && w->channels == 1) {
        for (size_t i = 0; i < w->frames; i++) samples[i] = (float)(int16_t)u16(w->data + 2 * i) * 0x1p-15f;
        return;
    }
    for (size_t c = 0; c < (size_t)channels; c++) {
        float *to = samples + c * w->frames;
        for (size_t i = 0; i < w->frames; i++) {
            const uint8_t *from = w->data + i * frame;
            double sum = 0;
            if (channels == w->channels) {
                sum = real(w, from + c * width);
            } else {
                for (uint32_t k = 0; k < w->channels; k++) sum += real(w, from + k * width);
                sum /= w->channels;
            }
            to[i] = (float)sum;
        }
    }
}

static wick_status from_wav(wick_audio **out, const wav *w, int64_t channels, const wick_allocator *alloc,
                            const char *name, wick_msg *msg) {
    wick_audio *a = wick_calloc(alloc, sizeof *a);
    if (!a) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const size_t bytes = (size_t)channels * w->frames * sizeof(float); /* at most 4 times the file */
    *a = (wick_audio){.alloc = *alloc,
                      .channels = channels,
                      .length = (int64_t)w->frames,
                      .rate = w->rate,
                      .unmeasured = w->unmeasured,
                      .bytes = bytes};
    a->samples = wick_alloc(alloc, a->bytes);
    if (!a->samples) {
        wick_release(alloc, a, sizeof *a);
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu frames of %lld channels", name, w->frames,
                            (long long)channels);
    }
    fill(w, channels, a->samples);
    *out = a;
    return WICK_OK;
}

wick_status wick_wav_length(const void *data, size_t size, int64_t *length, int64_t *rate, const char *name,
                            wick_msg *msg) {
    wav w;
    WICK_TRY(read_header(&w, data, size, name, msg));
    *length = (int64_t)w.frames;
    *rate = w.rate;
    return WICK_OK;
}
bool wick_wav_unmeasured(const void *data, size_t size) {
    wav w;
    return read_header(&w, data, size, "", NULL) == WICK_OK && w.unmeasured;
}
wick_status wick_wav_mono(const void *data, size_t size, float *out, int64_t length, const char *name, wick_msg *msg) {
    wav w;
    WICK_TRY(read_header(&w, data, size, name, msg));
    if ((int64_t)w.frames != length)
        return wick_msg_set(msg, WICK_ERR_IO, "%s: has %zu samples, and had %lld: it was changed", name, w.frames,
                            (long long)length);
    fill(&w, 1, out);
    return WICK_OK;
}

wick_status wick_audio_decode(wick_context *ctx, const void *data, size_t size, const char *name, int64_t channels,
                              wick_audio **out) {
    if (!data) return wick_context_fail(ctx, WICK_ERR_INVALID, "audio_decode: data is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "audio_decode: out is NULL");
    wick_msg msg = {0};
    wav w;
    *out = NULL;
    if (!name) name = "a recording in memory";
    wick_status status = read_header(&w, data, size, name, &msg);
    if (status == WICK_OK && channels != 0 && channels != 1 && channels != w.channels)
        status = wick_msg_set(&msg, WICK_ERR_INVALID, "%s: %lld channels asked for; it has %u, and can be mixed to 1",
                              name, (long long)channels, w.channels);
    if (status == WICK_OK) status = from_wav(out, &w, channels ? channels : w.channels, &ctx->alloc, name, &msg);
    return status == WICK_OK ? WICK_OK : wick_context_fail(ctx, status, "audio: %s", msg.text);
}

wick_status wick_audio_open(wick_context *ctx, const char *path, int64_t channels, wick_audio **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "audio_open: out is NULL");
    wick_map map;
    wick_msg msg;
    *out = NULL;
    wick_status status = wick_map_read(&map, path, &msg);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "audio: %s", msg.text);
    status = wick_audio_decode(ctx, map.data, map.size, path, channels, out);
    wick_map_close(&map);
    return status;
}

/* ---- another rate ------------------------------------------------------------------------------------------------ */

enum { CROSSINGS = 32, MOST_ROWS = 4096 };
#define ROLLOFF 0.95

wick_resampler wick_resampler_of(int64_t from, int64_t to) {
    const int64_t divisor = wick_common_divisor(from, to);
    wick_resampler r = {.up = from / divisor, .down = to / divisor};
    r.reach = CROSSINGS * WICK_MAX(r.up, r.down) / r.down * 20 / 19 + 2; /* 20 / 19: 1 / ROLLOFF */
    r.rows = r.down <= MOST_ROWS ? r.down : 1;
    return r;
}
size_t wick_resampler_bytes(const wick_resampler *r) { return (size_t)(2 * r->reach * r->rows) * sizeof(float); }

/* Tap k is for the sample k - reach + 1 behind the one at or before a place that lies phase / down of a sample behind
 * it. */
static void make_taps(const wick_resampler *r, float *taps, int64_t phase) {
    /* of the input's Nyquist frequency */
    const double pi = 3.14159265358979323846,
                 cutoff = ROLLOFF * (r->up > r->down ? (double)r->down / (double)r->up : 1);
    for (int64_t k = 0; k < 2 * r->reach; k++) {
        const double t = ((double)(k - r->reach + 1) - (double)phase / (double)r->down) * cutoff, x = pi * t,
                     window = fabs(t) < CROSSINGS ? cos(x / CROSSINGS / 2) : 0;
        taps[k] = (float)((x == 0 ? 1 : sin(x) / x) * window * window * cutoff);
    }
}
void wick_resampler_taps(const wick_resampler *r, float *taps) {
    for (int64_t phase = 0; phase < r->rows; phase++) make_taps(r, taps + phase * 2 * r->reach, phase);
}
int64_t wick_resampler_length(const wick_resampler *r, int64_t length) {
    return __builtin_mul_overflow(length, r->down, &length) || __builtin_add_overflow(length, r->up - 1, &length)
               ? -1
               : length / r->up;
}

void wick_resampler_run(const wick_resampler *r, float *taps, const float *x, int64_t n_x, float *y, int64_t n_y) {
    if (r->up == r->down && n_y) memcpy(y, x, (size_t)n_y * sizeof *y);
    for (int64_t n = 0; n < n_y && r->up != r->down; n++) {
        /* n up alone might overflow */
        const int64_t part = n % r->down * r->up, phase = part % r->down,
                      first = n / r->down * r->up + part / r->down - r->reach + 1;
        float *h = taps + (r->rows == r->down ? phase * 2 * r->reach : 0);
        if (r->rows != r->down) make_taps(r, h, phase);
        const int64_t from = first < 0 ? -first : 0, to = WICK_MIN(2 * r->reach, n_x - first);
        double sum = 0;
        for (int64_t k = from; k < to; k++) sum += (double)h[k] * (double)x[first + k];
        y[n] = (float)sum;
    }
}

wick_status wick_audio_resample(wick_context *ctx, const wick_audio *audio, int64_t rate, wick_audio **out) {
    if (!audio) return wick_context_fail(ctx, WICK_ERR_INVALID, "audio_resample: audio is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "audio_resample: out is NULL");
    *out = NULL;
    if (rate < WICK_LOWEST_RATE || rate > WICK_HIGHEST_RATE || audio->rate < WICK_LOWEST_RATE ||
        audio->rate > WICK_HIGHEST_RATE)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "audio: %lld samples a second to %lld: rates are from %d to %d",
                                 (long long)audio->rate, (long long)rate, WICK_LOWEST_RATE, WICK_HIGHEST_RATE);
    const wick_resampler r = wick_resampler_of(audio->rate, rate);
    const int64_t length = wick_resampler_length(&r, audio->length);
    size_t bytes = 0;
    const size_t table = wick_resampler_bytes(&r);
    const bool fits =
        length >= 0 && !__builtin_mul_overflow((size_t)length, (size_t)audio->channels * sizeof(float), &bytes);
    wick_audio *a = fits ? wick_calloc(&ctx->alloc, sizeof *a) : NULL;
    float *taps = a ? wick_alloc(&ctx->alloc, table) : NULL, *samples = taps ? wick_alloc(&ctx->alloc, bytes) : NULL;
    if (samples) {
        wick_resampler_taps(&r, taps);
        for (int64_t c = 0; c < audio->channels; c++)
            wick_resampler_run(&r, taps, audio->samples + c * audio->length, audio->length, samples + c * length,
                               length);
        *a = (wick_audio){.alloc = ctx->alloc,
                          .channels = audio->channels,
                          .length = length,
                          .rate = rate,
                          .unmeasured = audio->unmeasured,
                          .samples = samples,
                          .bytes = bytes};
        *out = a;
    } else if (a) wick_release(&ctx->alloc, a, sizeof *a);
    if (taps) wick_release(&ctx->alloc, taps, table);
    return samples ? WICK_OK
                   : wick_context_fail(ctx, WICK_ERR_NOMEM, "audio: out of memory: %lld samples at another rate",
                                       (long long)audio->length);
}

void wick_audio_free(wick_audio **audio) {
    wick_audio *a = audio ? *audio : NULL;
    if (!a) return;
    *audio = NULL;
    const wick_allocator alloc = a->alloc;
    wick_release(&alloc, a->samples, a->bytes);
    wick_release(&alloc, a, sizeof *a);
}

int64_t wick_audio_channels(const wick_audio *a) { return a->channels; }
int64_t wick_audio_length(const wick_audio *a) { return a->length; }
int64_t wick_audio_rate(const wick_audio *a) { return a->rate; }
bool wick_audio_unmeasured(const wick_audio *a) { return a->unmeasured; }
const float *wick_audio_samples(const wick_audio *a, int64_t c) {
    return c >= 0 && c < a->channels ? a->samples + c * a->length : NULL;
}
