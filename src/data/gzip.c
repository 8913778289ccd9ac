/* gzip.c: zlib, loaded at run time. Its header is not needed to build Wick: the part of its interface that is used here
 * is declared below, and zlib itself compares its version and the size of the stream structure when a stream is opened.
 */
#include <dlfcn.h>

#include "data/gzip.h"
#include "data/library.h"

/* z_stream of zlib 1.x */
typedef struct stream {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *opaque, unsigned items, unsigned size);
    void (*zfree)(void *opaque, void *address);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
} stream;

enum { Z_NO_FLUSH = 0, Z_OK = 0, Z_STREAM_END = 1, Z_MEM_ERROR = -4, Z_BUF_ERROR = -5 };
enum { GZIP_ONLY = 15 + 16 }; /* window bits: the largest window, gzip wrapping */

struct wick_gzip {
    void *library;
    int (*inflate)(stream *, int flush);
    int (*reset)(stream *);
    int (*inflate_end)(stream *);
    stream stream;
    bool started, ended;
    const uint8_t *rest; /* input not yet given to zlib, whose counters are 32-bit */
    size_t rest_size;
    size_t past_in, past_out; /* bytes of the members before this one */
    const char *name;
};

static const wick_library zlib = {"reading gzip", "zlib (libz.so.1; Debian: zlib1g)", {"libz.so.1", "libz.so", "libz.1.dylib"}};

bool wick_gzip_is(const void *data, size_t size) { return size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0; }

void wick_gzip_close(wick_gzip **g) {
    if (!*g) return;
    if ((*g)->started) (*g)->inflate_end(&(*g)->stream);
    if ((*g)->library) dlclose((*g)->library);
    wick_release(NULL, *g, sizeof **g);
    *g = NULL;
}

static wick_status start(wick_gzip *g, wick_msg *msg) {
    int (*init)(stream *, int bits, const char *version, int size);
    const wick_symbol symbols[] = {{"inflateInit2_", &init}, {"inflate", &g->inflate}, {"inflateReset", &g->reset}, {"inflateEnd", &g->inflate_end}};
    WICK_TRY(wick_library_open(&g->library, &zlib, WICK_COUNTOF(symbols), symbols, g->name, msg));
    const int code = init(&g->stream, GZIP_ONLY, "1.2.0", (int)sizeof g->stream);
    if (code == Z_MEM_ERROR) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in zlib", g->name);
    if (code != Z_OK)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: the zlib of this machine is not version 1", g->name);
    g->started = true;
    return WICK_OK;
}

wick_status wick_gzip_open(wick_gzip **out, const void *data, size_t size, const char *name, wick_msg *msg) {
    wick_gzip *g = *out = wick_calloc(NULL, sizeof *g);
    if (!g) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    g->rest = data;
    g->rest_size = size;
    g->name = name;
    const wick_status status = start(g, msg);
    if (status != WICK_OK) wick_gzip_close(out);
    return status;
}

static size_t total_out(const wick_gzip *g) { return g->past_out + (size_t)g->stream.total_out; }

/* A file is one member after another (RFC 1952, section 2.2), whose contents are one. What zlib was given lies before the rest. */
static void end_member(wick_gzip *g) {
    stream *s = &g->stream;
    g->ended = !wick_gzip_is(s->next_in, s->avail_in + g->rest_size);
    if (g->ended) return;
    g->past_in += (size_t)s->total_in;
    g->past_out += (size_t)s->total_out;
    g->reset(s);
}

/* As many bytes as the stream still has, up to size; to NULL: they are skipped. */
static wick_status read_some(wick_gzip *g, uint8_t *to, size_t size, size_t *got, wick_msg *msg) {
    stream *s = &g->stream;
    *got = 0;
    while (*got < size && !g->ended) {
        if (!s->avail_in) {
            s->next_in = g->rest;
            s->avail_in = (unsigned)WICK_MIN(g->rest_size, (size_t)1 << 30);
            g->rest += s->avail_in;
            g->rest_size -= s->avail_in;
        }
        uint8_t skipped[4096];
        const unsigned room = (unsigned)WICK_MIN(size - *got, to ? (size_t)1 << 30 : sizeof skipped);
        s->next_out = to ? to + *got : skipped;
        s->avail_out = room;
        const int code = g->inflate(s, Z_NO_FLUSH);
        *got += room - s->avail_out;
        if (code == Z_STREAM_END)
            end_member(g);
        else if (code == Z_BUF_ERROR) /* neither input nor output moved */
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the gzip data is cut off after %zu bytes of output", g->name,
                                total_out(g));
        else if (code == Z_MEM_ERROR)
            return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in zlib", g->name);
        else if (code != Z_OK)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged gzip data near byte %zu: %s", g->name,
                                g->past_in + (size_t)s->total_in, s->msg ? s->msg : "?");
    }
    return WICK_OK;
}

wick_status wick_gzip_read(wick_gzip *g, void *to, size_t size, wick_msg *msg) {
    size_t got;
    WICK_TRY(read_some(g, to, size, &got, msg));
    if (got == size) return WICK_OK;
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the gzip data ends after %zu bytes of output", g->name,
                        total_out(g));
}

wick_status wick_gzip_drain(wick_gzip *g, wick_msg *msg) {
    size_t got;
    return read_some(g, NULL, SIZE_MAX, &got, msg);
}

wick_status wick_gzip_finish(wick_gzip *g, wick_msg *msg) {
    uint8_t extra;
    size_t got;
    WICK_TRY(read_some(g, &extra, 1, &got, msg));
    if (got) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the gzip data is longer than what it holds says", g->name);
    const size_t left = g->rest_size + g->stream.avail_in;
    if (left)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %zu byte%s too many after the gzip data", g->name, left,
                            left == 1 ? "" : "s");
    return WICK_OK;
}
