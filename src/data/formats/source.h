/* source.h: the bytes of a file that is in memory, plain or behind gzip or Zstandard, or of a plain one that is read,
 * handed out from front to back. */
#ifndef WICK_DATA_SOURCE_H
#define WICK_DATA_SOURCE_H

#include "data/formats/gzip.h"
#include "data/formats/squeeze.h"

typedef struct wick_source {
    const uint8_t *at; /* NULL: they are read from */
    int fd;
    uint64_t offset;   /* of it, which is where `left` begins */
    size_t left;
    wick_gzip *gzip; /* both NULL: plain */
    wick_zstd *zstd;
    size_t most;     /* bytes that this input can yield, from its beginning to its end */
    const char *name;
} wick_source;

/* data and name must stay until close. */
WICK_MUST_CHECK wick_status wick_source_open(wick_source *s, const void *data, size_t size, const char *name,
                                             wick_msg *msg);
/* The bytes of an open file, as they are; it stays open. */
void wick_source_open_file(wick_source *s, int fd, size_t size, const char *name);
/* Exactly `size` bytes, or an error; to NULL: they are skipped. */
WICK_MUST_CHECK wick_status wick_source_read(wick_source *s, void *to, size_t size, wick_msg *msg);
/* Checks that the data end here; packed ones also their checksums. */
WICK_MUST_CHECK wick_status wick_source_finish(wick_source *s, wick_msg *msg);
/* The same where anything may follow: it is skipped. */
WICK_MUST_CHECK wick_status wick_source_drain(wick_source *s, wick_msg *msg);
void wick_source_close(wick_source *s);
/* The system may begin to read n bytes from byte `at` on, of a mapping (data) or else of fd: what is in memory already
 * costs a call, the rest nobody waits for. */
void wick_read_ahead(int fd, const uint8_t *data, uint64_t at, size_t n);

#endif
