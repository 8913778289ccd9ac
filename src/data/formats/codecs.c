#include "base/kinds.h"
#include "data/formats/codecs.h"

#include <strings.h>

static const wick_codec *const codecs_of[WICK_CODECS] = {&wick_codec_jpeg, &wick_codec_png,     &wick_codec_bmp,
                                                         &wick_codec_webp, &wick_codec_gif,     &wick_codec_pnm,
                                                         &wick_codec_tiff, &wick_codec_jpeg2000};

static int find(const uint8_t *data, size_t size) {
    int i = 0;
    while (i < WICK_CODECS && !codecs_of[i]->is(data, size)) i++;
    return i;
}

bool wick_picture_is(const void *data, size_t size) { return find(data, size) < WICK_CODECS; }
bool wick_picture_named(const char *name) {
    static const char *const ends[] = {".jpg",  ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif",
                                       ".tiff", ".pbm",  ".pgm", ".ppm", ".pnm",  ".jp2", ".j2k"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < WICK_COUNTOF(ends); i++)
        if (strcasecmp(dot, ends[i]) == 0) return true;
    return false;
}

static wick_status check_size(const wick_picture *p, size_t size, const char *name, wick_msg *msg) {
    if (p->height < 1 || p->width < 1)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: a picture of %lld x %lld pixels", name, (long long)p->height,
                            (long long)p->width);
    if (p->height > WICK_PICTURE_PIXELS_MAX / p->width)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %lld x %lld pixels are more than the limit of %lld", name,
                            (long long)p->height, (long long)p->width, (long long)WICK_PICTURE_PIXELS_MAX);
    if (p->codec->ratio && (uint64_t)(p->height * p->width * 4 / p->codec->ratio) > size)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: promises %lld x %lld pixels, which its %zu bytes cannot hold",
                            name, (long long)p->height, (long long)p->width, size);
    return WICK_OK;
}

static void turn_extents(wick_picture *p) {
    const int64_t height = p->height;
    p->height = p->width, p->width = height;
}

wick_status wick_picture_header(wick_codecs *codecs, const void *data, size_t size, wick_picture *p, const char *name,
                                wick_msg *msg) {
    const uint8_t *bytes = data;
    const int i = find(bytes, size);
    *p = (wick_picture){0};
    if (i == WICK_CODECS) {
        uint8_t head[4] = {0};
        const wick_kind *kind = wick_kind_of(data, size);
        if (kind) return wick_kind_refuse(kind, WICK_ERR_FORMAT, name, "a picture that is read", msg);
        if (size) memcpy(head, bytes, WICK_MIN(size, sizeof head));
        return wick_msg_set(msg, WICK_ERR_FORMAT,
                            "%s: no picture that is read (JPEG, PNG, BMP, WebP, GIF, PNM, TIFF, JPEG 2000): %zu "
                            "byte%s, beginning with %02x %02x %02x %02x",
                            name, size, size == 1 ? "" : "s", head[0], head[1], head[2], head[3]);
    }
    p->codec = codecs_of[i];
    if (!codecs->library[i]) WICK_TRY(p->codec->open(&codecs->library[i], name, msg));
    WICK_TRY(p->codec->header(codecs->library[i], data, size, p, name, msg));
    WICK_TRY(check_size(p, size, name, msg));
    p->turn = codecs->how.as_stored ? 1 : wick_picture_orientation(data, size);
    if (p->turn >= 5) turn_extents(p);
    return WICK_OK;
}

void wick_picture_shrink(wick_picture *p, int64_t least) {
    for (int64_t eighths = 1; eighths < 8 && least > 0 && p->codec == &wick_codec_jpeg; eighths *= 2) {
        const int64_t height = (p->height * eighths + 7) / 8, width = (p->width * eighths + 7) / 8;
        if (WICK_MIN(height, width) < least) continue;
        p->height = height, p->width = width;
        return;
    }
}

wick_status wick_picture_decode(const wick_codecs *codecs, const void *data, size_t size, const wick_picture *p,
                                int64_t channels, uint8_t *out, const char *name, wick_msg *msg) {
    const size_t bytes = (size_t)(p->height * p->width) * (size_t)p->stride;
    uint8_t *pixels = wick_alloc(NULL, bytes);
    if (!pixels) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", name, bytes);
    void *library = codecs->library[find(data, size)];
    wick_picture stored = *p;
    if (p->turn >= 5) turn_extents(&stored);
    wick_status status = p->codec->decode(library, data, size, &stored, pixels, name, msg);
    uint8_t *turned = status == WICK_OK && p->turn > 1 ? wick_alloc(NULL, bytes) : NULL;
    if (turned) wick_picture_turn(pixels, stored.height, stored.width, stored.stride, p->turn, turned);
    else if (status == WICK_OK && p->turn > 1)
        status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", name, bytes);
    if (status == WICK_OK)
        wick_picture_planes(turned ? turned : pixels, p->stride, 1, p->channels, out, channels, p->height * p->width);
    wick_release(NULL, turned, bytes);
    wick_release(NULL, pixels, bytes);
    return status;
}

wick_status wick_picture_decode_to(const wick_codecs *codecs, const void *data, size_t size, const wick_picture *p,
                                   int64_t channels, int64_t height, int64_t width, uint8_t *out, const char *name,
                                   wick_msg *msg) {
    if (p->height == height && p->width == width)
        return wick_picture_decode(codecs, data, size, p, channels, out, name, msg);
    const size_t bytes = (size_t)(channels * p->height * p->width);
    uint8_t *whole = wick_alloc(NULL, bytes);
    if (!whole) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", name, bytes);
    wick_status status = wick_picture_decode(codecs, data, size, p, channels, whole, name, msg);
    if (status == WICK_OK)
        status = wick_picture_resize(whole, channels, (int64_t[]){p->height, p->width}, out, (int64_t[]){height, width},
                                     name, msg);
    wick_release(NULL, whole, bytes);
    return status;
}

void wick_picture_flatten(uint8_t *rgba, size_t pixels) {
    for (size_t i = 0; i < pixels; i++, rgba += 4)
        for (int c = 0; c < 3; c++) rgba[c] = (uint8_t)((rgba[c] * rgba[3] + 255 * (255 - rgba[3]) + 127) / 255);
}

void wick_codecs_close(wick_codecs *codecs) {
    for (int i = 0; i < WICK_CODECS; i++)
        if (codecs->library[i]) codecs_of[i]->close(&codecs->library[i]);
}

void wick_picture_planes(const uint8_t *from, int64_t stride, int64_t plane, int64_t channels, uint8_t *to,
                         int64_t to_channels, int64_t pixels) {
    if (channels == 3 && to_channels == 1) {
        for (int64_t k = 0; k < pixels; k++) {
            const uint8_t *p = from + k * stride;
            to[k] = (uint8_t)((299 * p[0] + 587 * p[plane] + 114 * p[2 * plane] + 500) / 1000);
        }
        return;
    }
    for (int64_t c = 0; c < to_channels; c++)
        for (int64_t k = 0; k < pixels; k++) to[c * pixels + k] = from[k * stride + (channels == 1 ? 0 : c * plane)];
}
