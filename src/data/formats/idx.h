/* idx.h: reader of IDX files, the format of MNIST (yann.lecun.com/exdb/mnist, "the IDX file format"), plain or gzip.
 *
 *   0 0 TYPE RANK | RANK sizes, u32 big-endian | the elements, big-endian, last dim fastest */
#ifndef WICK_DATA_IDX_H
#define WICK_DATA_IDX_H

#include "base/base.h"

typedef struct wick_idx {
    wick_dtype dtype; /* u8 i8 i16 i32 f32 f64 */
    int rank;         /* 1..8 */
    int64_t dims[WICK_MAX_DIMS];
    void *data; /* owned, in the machine's byte order, aligned to WICK_ALIGN */
    size_t bytes;
    const wick_allocator *alloc;
} wick_idx;

/* The elements must fill the file to its last byte. Allocates only what the length of the file justifies: a gzip file
 * that promises more than it can hold is refused before. On failure *out is empty. WICK_ERR_IO, WICK_ERR_FORMAT,
 * WICK_ERR_NOMEM, WICK_ERR_UNSUPPORTED (more than 8 dims, or gzip without zlib on this machine). */
WICK_MUST_CHECK wick_status wick_idx_read(wick_idx *out, const char *path, const wick_allocator *alloc, wick_msg *msg);
/* The same from memory; `name` stands in messages. */
WICK_MUST_CHECK wick_status wick_idx_parse(wick_idx *out, const void *file, size_t size, const char *name,
                                           const wick_allocator *alloc, wick_msg *msg);
void wick_idx_free(wick_idx *idx); /* an empty one is fine */

#endif
