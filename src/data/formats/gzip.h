/* gzip.h: reads a gzip file (RFC 1952, of one or more members) that is in memory, through zlib, which is loaded when it
 * is needed. */
#ifndef WICK_DATA_GZIP_H
#define WICK_DATA_GZIP_H

#include "base/base.h"

typedef struct wick_gzip wick_gzip;

bool wick_gzip_is(const void *data, size_t size); /* begins with the gzip magic */
/* data must stay until close. WICK_ERR_UNSUPPORTED when this machine has no zlib; `name` stands in messages. */
WICK_MUST_CHECK wick_status wick_gzip_open(wick_gzip **out, const void *data, size_t size, const char *name,
                                           wick_msg *msg);
/* Exactly `size` bytes, or an error; to NULL: they are skipped. */
WICK_MUST_CHECK wick_status wick_gzip_read(wick_gzip *g, void *to, size_t size, wick_msg *msg);
/* Skips what the stream still has. */
WICK_MUST_CHECK wick_status wick_gzip_drain(wick_gzip *g, wick_msg *msg);
/* Checks that the stream ends here, that its checksum and length are right, and that nothing follows. */
WICK_MUST_CHECK wick_status wick_gzip_finish(wick_gzip *g, wick_msg *msg);
void wick_gzip_close(wick_gzip **g); /* null-safe */

#endif
