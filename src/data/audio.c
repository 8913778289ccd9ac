/* audio.c: WAV files (RIFF WAVE; Microsoft, IBM 1991, and Microsoft's page on WAVEFORMATEXTENSIBLE). Nothing in them is believed before it is checked
 * against the bytes that are there.
 *
 *   "RIFF" size "WAVE" | chunks: ID size, then size bytes and, where size is odd, one more. All numbers little-endian.
 *   "fmt "  +0 kind  +2 channels  +4 rate  +8 bytes a second  +12 bytes a frame  +14 bits a sample  | extensible: +16 22  +18 valid bits
 *           +20 speakers  +24 kind, as the first two bytes of a GUID
 *   "data"  frames, each a sample of every channel */
#include "base/base.h"
#include "tensor/tensor.h" /* the context's allocator */
#include "wick/data.h"

enum { PCM = 1, FLOATS = 3, A_LAW = 6, MU_LAW = 7, EXTENSIBLE = 0xFFFE };

struct wick_audio {
    wick_allocator alloc;
    int64_t channels, length, rate;
    float *samples;
    size_t bytes;
};

static uint32_t u16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }

/* ---- the header --------------------------------------------------------------------------------------------------------------------------- */

typedef struct wav {
    uint32_t kind, channels, rate, width; /* width: bytes of a sample */
    const uint8_t *data;
    size_t frames;
} wav;

static wick_status read_format(wav *w, const uint8_t *p, size_t size, const char *name, wick_msg *msg) {
    /* What follows the first two bytes of the GUIDs of all kinds that have a number. */
    static const uint8_t numbered[14] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71};
    if (size < 16) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: a format chunk of %zu bytes; it has at least 16", name, size);
    const uint32_t bits = u16(p + 14), frame = u16(p + 12);
    w->kind = u16(p), w->channels = u16(p + 2), w->rate = u32(p + 4), w->width = bits / 8;
    if (w->kind == EXTENSIBLE) {
        if (size < 40) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: an extensible format chunk of %zu bytes; it has at least 40", name, size);
        if (memcmp(p + 26, numbered, sizeof numbered) != 0) return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: an unknown kind of samples", name);
        if (u16(p + 18) > bits) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %u valid bits of %u", name, u16(p + 18), bits);
        w->kind = u16(p + 24);
    }
    if (w->kind != PCM && w->kind != FLOATS)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: samples of kind %u%s; PCM (1) and floats (3) are read", name, w->kind,
                            w->kind == A_LAW ? " (A-law)" : w->kind == MU_LAW ? " (mu-law)" : "");
    if (w->kind == PCM ? !bits || bits > 32 || bits % 8 : bits != 32 && bits != 64)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %s of %u bits", name, w->kind == PCM ? "PCM samples" : "floats", bits);
    if (!w->channels || !w->rate) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %u channels at %u Hz", name, w->channels, w->rate);
    if (frame != w->channels * w->width)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: frames of %u bytes, but %u channels of %u", name, frame, w->channels, w->width);
    return WICK_OK;
}

static wick_status read_header(wav *w, const uint8_t *p, size_t size, const char *name, wick_msg *msg) {
    *w = (wav){0};
    if (size < 12 || memcmp(p, "RIFF", 4) != 0 || memcmp(p + 8, "WAVE", 4) != 0) {
        const bool other = size >= 12 && (!memcmp(p, "RF64", 4) || !memcmp(p, "BW64", 4) || !memcmp(p, "RIFX", 4));
        if (other) return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %.4s, a kind of WAV that is not read", name, (const char *)p);
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: not a WAV file of %zu byte%s", name, size, size == 1 ? "" : "s");
    }
    for (size_t at = 12; size - at >= 8;) { /* at <= size */
        const uint8_t *chunk = p + at + 8;
        const size_t left = size - at - 8, said = u32(p + at + 4);
        const bool data = !memcmp(p + at, "data", 4), stream = data && said == UINT32_MAX;
        const size_t bytes = stream ? left : said;
        if (bytes > left)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the chunk at byte %zu promises %zu bytes; %zu are left", name, at, bytes, left);
        if (!memcmp(p + at, "fmt ", 4)) WICK_TRY(read_format(w, chunk, bytes, name, msg));
        if (data) {
            const size_t frame = (size_t)w->channels * w->width;
            if (!frame) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: samples at byte %zu before their format", name, at);
            if (bytes % frame && !stream)
                return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %zu bytes of samples are no number of frames of %zu", name, bytes, frame);
            w->data = chunk;
            w->frames = bytes / frame;
            return WICK_OK;
        }
        at += 8 + WICK_MIN(left, bytes + bytes % 2);
    }
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: ends before its samples", name);
}

/* ---- samples ------------------------------------------------------------------------------------------------------------------------------ */

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

static wick_status from_wav(wick_audio **out, const wav *w, int64_t channels, const wick_allocator *alloc, const char *name, wick_msg *msg) {
    const size_t width = w->width, frame = w->channels * width;
    wick_audio *a = wick_calloc(alloc, sizeof *a);
    if (!a) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const size_t bytes = (size_t)channels * w->frames * sizeof(float); /* at most 4 times the file */
    *a = (wick_audio){.alloc = *alloc, .channels = channels, .length = (int64_t)w->frames, .rate = w->rate, .bytes = bytes};
    a->samples = wick_alloc(alloc, a->bytes);
    if (!a->samples) {
        wick_release(alloc, a, sizeof *a);
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu frames of %lld channels", name, w->frames, (long long)channels);
    }
    for (size_t c = 0; c < (size_t)channels; c++) {
        float *to = a->samples + c * w->frames;
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
    *out = a;
    return WICK_OK;
}

wick_status wick_audio_decode(wick_context *ctx, const void *data, size_t size, const char *name, int64_t channels, wick_audio **out) {
    wick_msg msg = {0};
    wav w;
    *out = NULL;
    if (!name) name = "a recording in memory";
    wick_status status = read_header(&w, data, size, name, &msg);
    if (status == WICK_OK && channels != 0 && channels != 1 && channels != w.channels)
        status = wick_msg_set(&msg, WICK_ERR_INVALID, "%s: %lld channels asked for; it has %u, and can be mixed to 1", name, (long long)channels,
                              w.channels);
    if (status == WICK_OK) status = from_wav(out, &w, channels ? channels : w.channels, &ctx->alloc, name, &msg);
    return status == WICK_OK ? WICK_OK : wick_context_fail(ctx, status, "audio: %s", msg.text);
}

wick_status wick_audio_open(wick_context *ctx, const char *path, int64_t channels, wick_audio **out) {
    wick_map map;
    wick_msg msg;
    *out = NULL;
    wick_status status = wick_map_open(&map, path, &msg);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "audio: %s", msg.text);
    status = wick_audio_decode(ctx, map.data, map.size, path, channels, out);
    wick_map_close(&map);
    return status;
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
const float *wick_audio_samples(const wick_audio *a, int64_t c) { return c >= 0 && c < a->channels ? a->samples + c * a->length : NULL; }
