/* gzip.c: gzip's members, one after another, through zlib. */
#include "base/inflate.h"
#include "data/formats/gzip.h"

struct wick_gzip {
    wick_inflate z;
    bool ended;
    const uint8_t *rest; /* input not yet given to zlib, whose counters are 32-bit */
    size_t rest_size;
    size_t past_in, past_out; /* bytes of the members before this one */
    const char *name;
};

bool wick_gzip_is(const void *data, size_t size) { return size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0; }

void wick_gzip_close(wick_gzip **g) {
    if (!*g) return;
    wick_inflate_stop(&(*g)->z);
    wick_release(NULL, *g, sizeof **g);
    *g = NULL;
}

wick_status wick_gzip_open(wick_gzip **out, const void *data, size_t size, const char *name, wick_msg *msg) {
    wick_gzip *g = *out = wick_calloc(NULL, sizeof *g);
    if (!g) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    g->rest = data;
    g->rest_size = size;
    g->name = name;
    const wick_status status = wick_inflate_start(&g->z, WICK_Z_GZIP, "reading gzip", name, msg);
    if (status != WICK_OK) wick_gzip_close(out);
    return status;
}

static size_t total_out(const wick_gzip *g) { return g->past_out + (size_t)g->z.stream.total_out; }

/* A file is one member after another (RFC 1952, section 2.2), whose contents are one. What zlib was given lies before
 * the rest. */
static void end_member(wick_gzip *g) {
    wick_zstream *s = &g->z.stream;
    g->ended = !wick_gzip_is(s->next_in, s->avail_in + g->rest_size);
    if (g->ended) return;
    g->past_in += (size_t)s->total_in;
    g->past_out += (size_t)s->total_out;
    g->z.reset(s);
}

/* As many bytes as the stream still has, up to size; to NULL: they are skipped. */
static wick_status read_some(wick_gzip *g, uint8_t *to, size_t size, size_t *got, wick_msg *msg) {
    wick_zstream *s = &g->z.stream;
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
        const int code = g->z.inflate(s, WICK_Z_NO_FLUSH);
        *got += room - s->avail_out;
        if (code == WICK_Z_STREAM_END)
            end_member(g);
        else if (code == WICK_Z_BUF_ERROR) /* neither input nor output moved */
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the gzip data is cut off after %zu bytes of output", g->name,
                                total_out(g));
        else if (code == WICK_Z_MEM_ERROR)
            return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in zlib", g->name);
        else if (code != WICK_Z_OK)
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
    const size_t left = g->rest_size + g->z.stream.avail_in;
    if (left)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %zu byte%s too many after the gzip data", g->name, left,
                            left == 1 ? "" : "s");
    return WICK_OK;
}
