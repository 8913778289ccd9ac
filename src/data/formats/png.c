/* png.c: libspng 0.7 (libspng.so.0), declared by hand. */
#include <dlfcn.h>

#include "data/formats/codecs.h"
#include "base/library.h"

enum { FORMAT_RGBA8 = 1, DECODE_TRNS = 1, OUT_OF_MEMORY = 2 }; /* SPNG_FMT_RGBA8, SPNG_DECODE_TRNS, SPNG_EMEM */
enum { COLOR_GREY = 0, COLOR_GREY_ALPHA = 4 };
enum { CHUNK_MAX = 8 << 20, CACHE_MAX = 16 << 20 }; /* of what is no pixels: text, profiles */

typedef struct spng spng;
typedef struct header { /* struct spng_ihdr */
    uint32_t width, height;
    uint8_t bit_depth, color_type, compression, filter, interlace;
} header;

typedef struct png {
    void *handle;
    spng *(*start)(int flags);
    void (*stop)(spng *);
    int (*set_buffer)(spng *, const void *data, size_t size);
    int (*set_limits)(spng *, uint32_t width, uint32_t height);
    int (*set_chunk_limits)(spng *, size_t chunk, size_t cache);
    int (*get_header)(spng *, header *);
    int (*decode)(spng *, void *to, size_t size, int format, int flags);
    int (*decode_chunks)(spng *);
    const char *(*error)(int);
} png;

static bool is_png(const uint8_t *data, size_t size) { return size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0; }

static void close_png(void **library) {
    png *g = *library;
    if (g->handle) dlclose(g->handle);
    wick_release(NULL, g, sizeof *g);
    *library = NULL;
}

static wick_status open_png(void **library, const char *name, wick_msg *msg) {
    static const wick_library libspng = {
        "reading PNG", "libspng (libspng.so.0; Debian: libspng0)", {"libspng.so.0", "libspng.so", "libspng.dylib"}};
    png *g = *library = wick_calloc(NULL, sizeof *g);
    if (!g) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const wick_symbol symbols[] = {{"spng_ctx_new", &g->start},
                                   {"spng_ctx_free", &g->stop},
                                   {"spng_set_png_buffer", &g->set_buffer},
                                   {"spng_set_image_limits", &g->set_limits},
                                   {"spng_set_chunk_limits", &g->set_chunk_limits},
                                   {"spng_get_ihdr", &g->get_header},
                                   {"spng_decode_image", &g->decode},
                                   {"spng_decode_chunks", &g->decode_chunks},
                                   {"spng_strerror", &g->error}};
    const wick_status status = wick_library_open(&g->handle, &libspng, WICK_COUNTOF(symbols), symbols, name, msg);
    if (status != WICK_OK) close_png(library);
    return status;
}

static wick_status explain(const png *g, int code, const char *name, wick_msg *msg) {
    if (code == OUT_OF_MEMORY) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in libspng", name);
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged PNG: %s", name, g->error(code));
}

static int begin(const png *g, spng *decoder, const uint8_t *data, size_t size, header *h) {
    int code = g->set_limits(decoder, INT32_MAX, INT32_MAX); /* ours is the number of pixels */
    if (!code) code = g->set_chunk_limits(decoder, CHUNK_MAX, CACHE_MAX);
    if (!code) code = g->set_buffer(decoder, data, size);
    return code ? code : g->get_header(decoder, h);
}

static wick_status read_header(void *library, const uint8_t *data, size_t size, wick_picture *p, const char *name,
                               wick_msg *msg) {
    const png *g = library;
    header h;
    spng *decoder = g->start(0);
    if (!decoder) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in libspng", name);
    const int code = begin(g, decoder, data, size, &h);
    g->stop(decoder);
    if (code) return explain(g, code, name, msg);
    const bool grey = h.color_type == COLOR_GREY || h.color_type == COLOR_GREY_ALPHA;
    *p = (wick_picture){.codec = p->codec, .channels = grey ? 1 : 3, .height = h.height, .width = h.width, .stride = 4};
    return WICK_OK;
}

/* The chunks after the pixels are read too: a file without its end is cut off. */
static wick_status decode_png(void *library, const uint8_t *data, size_t size, const wick_picture *p, uint8_t *out,
                              const char *name, wick_msg *msg) {
    const png *g = library;
    const size_t pixels = (size_t)(p->height * p->width);
    header h;
    spng *decoder = g->start(0);
    if (!decoder) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in libspng", name);
    int code = begin(g, decoder, data, size, &h);
    if (!code) code = g->decode(decoder, out, 4 * pixels, FORMAT_RGBA8, DECODE_TRNS);
    if (!code) code = g->decode_chunks(decoder);
    g->stop(decoder);
    if (code) return explain(g, code, name, msg);
    wick_picture_flatten(out, pixels);
    return WICK_OK;
}

const wick_codec wick_codec_png = {"PNG", WICK_PICTURE_RATIO_MAX, is_png, open_png, close_png, read_header, decode_png};
