#include "map_file.h"

#include "../paths.h"
#include "source_kinds.h"

#include "wick/wick.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is used of libspng 0.7's interface (libspng.org), declared by hand: the library's own reader of pictures gives 8
 * bits. */
typedef struct spng_header {
    uint32_t width, height;
    uint8_t bit_depth, color_type, compression, filter, interlace;
} spng_header;
enum { SPNG_AS_STORED = 256 /* SPNG_FMT_PNG: in the order of this machine's bytes */, GREY = 0 };
enum { MOST_PIXELS = 1 << 26 };

typedef struct spng {
    void *handle;
    void *(*start)(int flags);
    void (*stop)(void *);
    int (*set_buffer)(void *, const void *data, size_t size);
    int (*set_limits)(void *, uint32_t width, uint32_t height);
    int (*get_header)(void *, spng_header *);
    int (*decode)(void *, void *to, size_t size, int format, int flags);
    const char *(*error)(int);
} spng;

static bool open_library(spng *g) {
    static const char *const names[] = {"libspng.so.0", "libspng.so", "libspng.dylib"};
    const struct {
        const char *name;
        void *to;
    } wanted[] = {{"spng_ctx_new", &g->start},
                  {"spng_ctx_free", &g->stop},
                  {"spng_set_png_buffer", &g->set_buffer},
                  {"spng_set_image_limits", &g->set_limits},
                  {"spng_get_ihdr", &g->get_header},
                  {"spng_decode_image", &g->decode},
                  {"spng_strerror", &g->error}};
    for (size_t i = 0; !g->handle && i < sizeof names / sizeof *names; i++)
        g->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    bool ok = g->handle != NULL;
    for (size_t i = 0; ok && i < sizeof wanted / sizeof *wanted; i++) {
        void *at = dlsym(g->handle, wanted[i].name);
        memcpy(wanted[i].to, &at, sizeof at);
        ok = at != NULL;
    }
    return ok;
}

static wick_status out_of_memory(wick_context *ctx, const char *path) {
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
}

static wick_status take_png(wick_context *ctx, const char *path, const spng *g, void *decoder, const uint8_t *data,
                            size_t size, map_file *out) {
    spng_header h;
    int code = g->set_limits(decoder, MOST_PIXELS, MOST_PIXELS);
    if (!code) code = g->set_buffer(decoder, data, size);
    if (!code) code = g->get_header(decoder, &h);
    if (code) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: damaged PNG: %s", path, g->error(code));
    if (h.color_type != GREY || h.bit_depth < 8)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                 "%s: is no grey PNG of 8 or 16 bits, whose pixels are the numbers of a map", path);
    const uint64_t n = (uint64_t)h.height * h.width;
    /* deflate makes at most 1,032 bytes of one */
    if (n > MOST_PIXELS || n > (uint64_t)size * 1032)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: says that it has %u x %u pixels, more than it can have",
                                 path, h.height, h.width);
    const size_t bytes = (size_t)n * (h.bit_depth / 8U);
    uint16_t *raw = malloc(bytes + 1);
    *out = (map_file){(int64_t)h.height, (int64_t)h.width, malloc((size_t)n * sizeof *out->values)};
    wick_status status = raw && out->values ? WICK_OK : out_of_memory(ctx, path);
    code = status == WICK_OK ? g->decode(decoder, raw, bytes, SPNG_AS_STORED, 0) : 0;
    if (code) status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: damaged PNG: %s", path, g->error(code));
    for (uint64_t i = 0; status == WICK_OK && i < n; i++)
        out->values[i] = h.bit_depth == 16 ? (float)raw[i] : (float)((const uint8_t *)raw)[i];
    free(raw);
    return status;
}

static wick_status read_png(wick_context *ctx, const char *path, map_file *out) {
    size_t size;
    spng g = {0};
    uint8_t *data = (uint8_t *)path_read(path, &size);
    if (!data) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    wick_status status = WICK_OK;
    void *decoder = NULL;
    if (!open_library(&g))
        status = wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "%s: reading PNG needs libspng (Debian: libspng0)", path);
    else if (!(decoder = g.start(0)))
        status = out_of_memory(ctx, path);
    if (status == WICK_OK) status = take_png(ctx, path, &g, decoder, data, size, out);
    if (decoder) g.stop(decoder);
    if (g.handle) dlclose(g.handle);
    free(data);
    return status;
}

static wick_status read_array(wick_context *ctx, const char *path, map_file *out) {
    wick_scope *scope = wick_scope_open(ctx);
    if (!scope) return out_of_memory(ctx, path);
    wick_tensor *x = wick_npy_read(ctx, path);
    const char *why;
    wick_status status = wick_tensor_error(x, &why);
    if (status != WICK_OK) status = wick_context_fail(ctx, status, "%s", why);
    const int rank = status == WICK_OK ? wick_tensor_rank(x) : 0;
    if (status == WICK_OK && rank != 2 && !(rank == 3 && wick_tensor_dim(x, 0) == 1))
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: is not [height, width], as a map is", path);
    if (status == WICK_OK) {
        *out = (map_file){wick_tensor_dim(x, rank - 2), wick_tensor_dim(x, rank - 1), NULL};
        const size_t bytes = (size_t)(out->height * out->width) * sizeof *out->values;
        out->values = malloc(bytes + 1);
        status = out->values ? wick_read(wick_cast(x, WICK_F32), out->values, bytes) : out_of_memory(ctx, path);
    }
    wick_scope_close(&scope);
    return status;
}

wick_status map_read(wick_context *ctx, const char *path, map_file *out) {
    *out = (map_file){0};
    const wick_status status = source_ends(path, ".npy") ? read_array(ctx, path, out) : read_png(ctx, path, out);
    if (status != WICK_OK) free(out->values), out->values = NULL;
    return status;
}
