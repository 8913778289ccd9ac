/* squeeze.h: compressors of single records: LZ4's blocks and Zstandard's frames, by liblz4 and libzstd, which are
 * loaded when they are needed. */
#ifndef WICK_DATA_SQUEEZE_H
#define WICK_DATA_SQUEEZE_H

#include "base/base.h"
#include "wick/records.h"

typedef struct wick_squeezer wick_squeezer;
typedef struct wick_squeezer_options {
    wick_compression compression; /* not WICK_STORED */
    bool write;
    int level; /* of writing; 0: the library's own */
    const void *dictionary;
    size_t dictionary_bytes; /* 0: none */
} wick_squeezer_options;

/* The dictionary must stay. WICK_ERR_UNSUPPORTED: the library is not on this machine; `name` stands in messages. */
WICK_MUST_CHECK wick_status wick_squeezer_open(wick_squeezer **out, const wick_squeezer_options *options,
                                               const char *name, wick_msg *msg);
void wick_squeezer_close(wick_squeezer **s); /* null-safe */
/* The most that `size` bytes become; 0: they are too many. */
size_t wick_squeezer_bound(const wick_squeezer *s, size_t size);
/* One thread at a time. `room` is at least the bound. */
WICK_MUST_CHECK wick_status wick_squeezer_pack(wick_squeezer *s, const void *from, size_t size, void *to, size_t room,
                                               size_t *packed, const char *name, wick_msg *msg);
/* Exactly `size` bytes at `to`, or WICK_ERR_FORMAT; nothing is written beyond them, whatever is in `from`. Any number
 * of threads at once. */
WICK_MUST_CHECK wick_status wick_squeezer_unpack(wick_squeezer *s, const void *from, size_t packed, void *to,
                                                 size_t size, const char *name, wick_msg *msg);
/* The most that so many packed bytes can stand for.
 * LZ4: a byte of a length adds 255 (LZ4 Block Format, "Sequences"), and the block begins with a token of up to 15 + 4.
 * Zstandard: a block yields at most 2^17 bytes and takes at least 4, of which 3 are its header (RFC 8878, 3.1.1.2). */
uint64_t wick_squeezer_most(wick_compression compression, uint64_t packed);

/* A dictionary of at most *size bytes from n samples side by side; *size becomes what it has. WICK_ERR_INVALID: too few
 * samples to learn from, which libzstd says. */
WICK_MUST_CHECK wick_status wick_zstd_train(void *to, size_t *size, const void *samples, const size_t *sizes, size_t n,
                                            const char *name, wick_msg *msg);

/* ---- a stream, as in .tar.zst: the same functions as gzip.h's, over one or more frames --------------------------- */

typedef struct wick_zstd wick_zstd;
/* Bytes that one of a file can stand for, by the above. */
#define WICK_ZSTD_RATIO_MAX (1 << 15)
bool wick_zstd_is(const void *data, size_t size); /* begins with a frame's magic number */
WICK_MUST_CHECK wick_status wick_zstd_open(wick_zstd **out, const void *data, size_t size, const char *name,
                                           wick_msg *msg);
WICK_MUST_CHECK wick_status wick_zstd_read(wick_zstd *z, void *to, size_t size, wick_msg *msg);
WICK_MUST_CHECK wick_status wick_zstd_drain(wick_zstd *z, wick_msg *msg);
WICK_MUST_CHECK wick_status wick_zstd_finish(wick_zstd *z, wick_msg *msg);
void wick_zstd_close(wick_zstd **z); /* null-safe */

#endif
