/* zip.h: reader and writer of zip archives (PKWARE, APPNOTE 6.3), stored and deflated entries, with the 64-bit
 * extensions. The reader trusts nothing: the central directory must describe entries that lie in the file before it and
 * do not overlap, and none may claim to be more than deflate can make of its bytes. */
#ifndef WICK_IO_ZIP_H
#define WICK_IO_ZIP_H

#include "base/base.h"

typedef struct wick_zip_entry {
    const char *name;
    bool deflated;
    uint32_t crc;
    size_t place; /* of its header, in the file */
    const uint8_t *data;
    size_t packed, size; /* bytes in the file, and of what they stand for */
} wick_zip_entry;

/* The entries in the order of the directory, in the arena; data stay in the file's bytes. */
WICK_MUST_CHECK wick_status wick_zip_parse(wick_arena *arena, const uint8_t *bytes, size_t size, const char *file,
                                           wick_zip_entry **entries, size_t *count, wick_msg *msg);
/* The first n bytes of an entry. All of them: its checksum is checked too. */
WICK_MUST_CHECK wick_status wick_zip_read(const wick_zip_entry *e, const char *file, uint8_t *to, size_t n,
                                          wick_msg *msg);
/* Whether the bytes of an entry that is stored have its checksum. */
WICK_MUST_CHECK wick_status wick_zip_check(const wick_zip_entry *e, const char *file, wick_msg *msg);

/* An entry to write: two pieces, one behind the other. */
typedef struct wick_zip_piece {
    const char *name;
    const void *head, *data;
    size_t head_bytes, bytes;
} wick_zip_piece;
/* Each begins at a multiple of 64 bytes; the same input gives the same file, where deflated with the same zlib. Atomic.
 * deflate: what becomes shorter by it; packed bytes of an entry are held in memory. WICK_ERR_UNSUPPORTED: no zlib to
 * deflate with. */
WICK_MUST_CHECK wick_status wick_zip_write(const char *path, const wick_zip_piece *pieces, size_t count, bool deflate,
                                           wick_msg *msg);

#endif
