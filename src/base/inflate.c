#include "base/inflate.h"

#include <dlfcn.h>

static wick_library zlib_for(const char *purpose) {
    return (wick_library){purpose, "zlib (libz.so.1; Debian: zlib1g)", {"libz.so.1", "libz.so", "libz.1.dylib"}};
}

wick_status wick_inflate_start(wick_inflate *z, int bits, const char *purpose, const char *name, wick_msg *msg) {
    const wick_library zlib = zlib_for(purpose);
    int (*init)(wick_zstream *, int bits, const char *version, int size);
    const wick_symbol symbols[] = {
        {"inflateInit2_", &init}, {"inflate", &z->inflate}, {"inflateReset", &z->reset}, {"inflateEnd", &z->end}};
    *z = (wick_inflate){0};
    WICK_TRY(wick_library_open(&z->library, &zlib, WICK_COUNTOF(symbols), symbols, name, msg));
    const int code = init(&z->stream, bits, "1.2.0", (int)sizeof z->stream);
    z->started = code == WICK_Z_OK;
    if (z->started) return WICK_OK;
    return code == WICK_Z_MEM_ERROR
               ? wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in zlib", name)
               : wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: the zlib of this machine is not version 1", name);
}

void wick_inflate_stop(wick_inflate *z) {
    if (z->started) z->end(&z->stream);
    if (z->library) dlclose(z->library);
    *z = (wick_inflate){0};
}

/* ---- deflate ----------------------------------------------------------------------------------------------------- */

enum { LEVEL = -1, METHOD = 8, MEMORY = 8, STRATEGY = 0 }; /* zlib's defaults */

typedef struct deflater {
    int (*init)(wick_zstream *, int level, int method, int bits, int memory, int strategy, const char *version,
                int size);
    unsigned long (*bound)(wick_zstream *, unsigned long size);
    int (*deflate)(wick_zstream *, int flush);
    int (*end)(wick_zstream *);
} deflater;

/* All of the pieces into a room that zlib says is enough; counters of the stream are 32-bit. */
static bool run(const deflater *d, wick_zstream *s, const wick_bytes *pieces, size_t n, uint8_t *to, size_t room,
                size_t *size) {
    enum { MOST = 1 << 30 };
    *size = 0;
    for (size_t i = 0, at = 0; i <= n;) {
        if (i < n) {
            s->next_in = (const uint8_t *)pieces[i].at + at;
            s->avail_in = (unsigned)WICK_MIN(pieces[i].n - at, (size_t)MOST);
            at += s->avail_in;
        }
        const int flush = i == n ? WICK_Z_FINISH : WICK_Z_NO_FLUSH;
        int code;
        do {
            const unsigned now = (unsigned)WICK_MIN(room - *size, (size_t)MOST);
            s->next_out = to + *size;
            s->avail_out = now;
            code = d->deflate(s, flush);
            *size += now - s->avail_out;
            if (code != WICK_Z_OK && code != WICK_Z_STREAM_END && code != WICK_Z_BUF_ERROR) return false;
            if (*size == room && code != WICK_Z_STREAM_END) return false;
        } while (i < n ? s->avail_in : code != WICK_Z_STREAM_END);
        if (i == n) return true;
        if (at == pieces[i].n) i++, at = 0;
    }
    return false;
}

wick_status wick_deflate(int bits, const wick_bytes *pieces, size_t n, uint8_t **to, size_t *size, size_t *room,
                         const char *purpose, const char *name, wick_msg *msg) {
    const wick_library zlib = zlib_for(purpose);
    deflater d;
    void *library;
    wick_zstream s = {0};
    const wick_symbol symbols[] = {
        {"deflateInit2_", &d.init}, {"deflateBound", &d.bound}, {"deflate", &d.deflate}, {"deflateEnd", &d.end}};
    *to = NULL, *size = *room = 0;
    WICK_TRY(wick_library_open(&library, &zlib, WICK_COUNTOF(symbols), symbols, name, msg));
    size_t all = 0;
    for (size_t i = 0; i < n; i++) all += pieces[i].n;
    bool good = d.init(&s, LEVEL, METHOD, bits, MEMORY, STRATEGY, "1.2.0", (int)sizeof s) == WICK_Z_OK;
    if (good) {
        *room = d.bound(&s, all) + 64;
        *to = wick_alloc(NULL, *room);
        good = *to && run(&d, &s, pieces, n, *to, *room, size);
        d.end(&s);
    }
    dlclose(library);
    if (good) return WICK_OK;
    wick_release(NULL, *to, *room);
    *to = NULL;
    return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in zlib", name);
}
