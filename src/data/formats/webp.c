/* webp.c: libwebp 1 (libwebp.so.7), declared by hand. */
#include <dlfcn.h>

#include "data/formats/codecs.h"
#include "base/library.h"

typedef struct webp {
    void *handle;
    int (*info)(const uint8_t *data, size_t size, int *width, int *height);
    uint8_t *(*decode)(const uint8_t *data, size_t size, uint8_t *out, size_t out_size, int stride); /* RGBA */
} webp;

static bool is_webp(const uint8_t *data, size_t size) {
    return size >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0;
}

static void close_webp(void **library) {
    webp *w = *library;
    if (w->handle) dlclose(w->handle);
    wick_release(NULL, w, sizeof *w);
    *library = NULL;
}

static wick_status open_webp(void **library, const char *name, wick_msg *msg) {
    static const wick_library libwebp = {
        "reading WebP", "libwebp (libwebp.so.7; Debian: libwebp7)", {"libwebp.so.7", "libwebp.so", "libwebp.dylib"}};
    webp *w = *library = wick_calloc(NULL, sizeof *w);
    if (!w) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const wick_symbol symbols[] = {{"WebPGetInfo", &w->info}, {"WebPDecodeRGBAInto", &w->decode}};
    const wick_status status = wick_library_open(&w->handle, &libwebp, WICK_COUNTOF(symbols), symbols, name, msg);
    if (status != WICK_OK) close_webp(library);
    return status;
}

static wick_status webp_header(void *library, const uint8_t *data, size_t size, wick_picture *p, const char *name,
                               wick_msg *msg) {
    const webp *w = library;
    int width = 0, height = 0;
    if (!w->info(data, size, &width, &height)) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged WebP", name);
    *p = (wick_picture){.codec = p->codec, .channels = 3, .height = height, .width = width, .stride = 4};
    return WICK_OK;
}

static wick_status decode_webp(void *library, const uint8_t *data, size_t size, const wick_picture *p, uint8_t *out,
                               const char *name, wick_msg *msg) {
    const webp *w = library;
    const size_t pixels = (size_t)(p->height * p->width);
    if (!w->decode(data, size, out, 4 * pixels, (int)(4 * p->width)))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged or animated WebP", name);
    wick_picture_flatten(out, pixels);
    return WICK_OK;
}

const wick_codec wick_codec_webp = {"WebP", 0, is_webp, open_webp, close_webp, webp_header, decode_webp};
