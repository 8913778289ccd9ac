/* inflate.h: zlib's inflate and deflate, loaded at run time. Its header is not needed to build Wick: the part of its
 * interface that is used is declared here, and zlib itself compares its version and the size of the stream structure
 * when a stream is opened. */
#ifndef WICK_BASE_INFLATE_H
#define WICK_BASE_INFLATE_H

#include "base/library.h"

/* z_stream of zlib 1.x */
typedef struct wick_zstream {
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
} wick_zstream;

enum {
    WICK_Z_NO_FLUSH = 0,
    WICK_Z_FINISH = 4,
    WICK_Z_OK = 0,
    WICK_Z_STREAM_END = 1,
    WICK_Z_MEM_ERROR = -4,
    WICK_Z_BUF_ERROR = -5
};
enum { WICK_Z_GZIP = 15 + 16, WICK_Z_RAW = -15 }; /* window bits: the largest window, in gzip's wrapping or in none */
/* Deflate's best: a block of matches of 258 bytes in one bit for each of length and distance (zlib's technical notes).
 */
#define WICK_DEFLATE_RATIO_MAX 1032

typedef struct wick_inflate {
    void *library;
    int (*inflate)(wick_zstream *, int flush);
    int (*reset)(wick_zstream *);
    int (*end)(wick_zstream *);
    wick_zstream stream;
    bool started;
} wick_inflate;

/* purpose: "reading gzip". WICK_ERR_UNSUPPORTED: this machine has no zlib. In every case wick_inflate_stop may follow.
 */
WICK_MUST_CHECK wick_status wick_inflate_start(wick_inflate *z, int bits, const char *purpose, const char *name,
                                               wick_msg *msg);
void wick_inflate_stop(wick_inflate *z);

typedef struct wick_bytes {
    const void *at;
    size_t n;
} wick_bytes;
/* What zlib makes of n pieces, one behind the other, at its usual level: *size bytes at *to, for wick_release(NULL,
 * *to, *room). The same bytes from the same zlib. purpose: "writing compressed arrays". WICK_ERR_UNSUPPORTED: this
 * machine has no zlib; WICK_ERR_NOMEM: then nothing is to be released. */
WICK_MUST_CHECK wick_status wick_deflate(int bits, const wick_bytes *pieces, size_t n, uint8_t **to, size_t *size,
                                         size_t *room, const char *purpose, const char *name, wick_msg *msg);

#endif
