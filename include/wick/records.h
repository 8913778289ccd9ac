/* wick/records.h: Wick's record file: any number of pieces of data in one file, each found by its number, with a
 * checksum and a label, stored plain or compressed. docs/data.md has the format byte for byte. */
#ifndef WICK_RECORDS_H
#define WICK_RECORDS_H

#include "wick/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How records are stored: plain (WICK_STORED), by LZ4 or by Zstandard, whose libraries (liblz4, libzstd) are loaded
 * when they are needed. A record that would not become smaller is stored plain in any file. */
typedef enum wick_compression { WICK_STORED = 0, WICK_LZ4 = 1, WICK_ZSTD = 2 } wick_compression;
WICK_API const char *wick_compression_name(wick_compression compression); /* "none", "lz4", "zstd"; "?" outside */

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct wick_records wick_records;

typedef struct wick_records_options {
    size_t max_record; /* a record of more bytes, unpacked, is refused when it is read; 0: 256 MiB */
    /* read by pread, not through a mapping: slower, but a file that becomes shorter meanwhile is an error, where a
     * mapped one ends the process */
    bool copy;
    bool salvage;      /* open what comes before damage or the file's end, where the default is to refuse the file */
} wick_records_options;

/* Checks the header, and every index by its checksum; the records themselves are checked as they are read. What an
 * append left behind that never finished is passed over (wick_records_tail says how much); anything else that is wrong
 * is an error that names file, part and byte, unless options ask to salvage. options may be NULL. WICK_ERR_IO,
 * WICK_ERR_FORMAT, WICK_ERR_VERSION (of a newer Wick), WICK_ERR_UNSUPPORTED (the library that unpacks is not on this
 * machine), WICK_ERR_NOMEM. The context must outlive the records. */
WICK_API WICK_MUST_CHECK wick_status wick_records_open(wick_context *ctx, const char *path,
                                                       const wick_records_options *options, wick_records **out);
WICK_API void wick_records_free(wick_records **records); /* null-safe, nulls */
WICK_API int64_t wick_records_count(const wick_records *records);
WICK_API wick_compression wick_records_compression(const wick_records *records);
WICK_API const char *wick_records_meta(const wick_records *records); /* the text that its writer gave; "" */
WICK_API size_t wick_records_dictionary(const wick_records *records); /* bytes of its dictionary; 0: none */
/* how often it was written to: 1, and one more for each append */
WICK_API int64_t wick_records_parts(const wick_records *records);
/* Bytes behind the last whole part: of an append that did not finish, or (salvage) of damage. */
WICK_API uint64_t wick_records_tail(const wick_records *records);
/* What was passed over, as a sentence that names the byte; "": nothing. */
WICK_API const char *wick_records_tail_reason(const wick_records *records);

/* What the index says of a record. */
typedef struct wick_record_entry {
    uint64_t offset;       /* of its first stored byte in the file */
    uint32_t stored, size; /* bytes in the file, and unpacked; the same where it is stored plain */
    uint32_t crc;          /* CRC-32C of the stored bytes */
    int32_t label;         /* its writer's; -1: none */
} wick_record_entry;
/* WICK_ERR_INDEX: there is no such record; WICK_ERR_FORMAT: the index lies about it: its bytes are outside of its part,
 * or it promises more than they can hold or than max_record. So `size` bytes may be allocated. */
WICK_API WICK_MUST_CHECK wick_status wick_records_at(const wick_records *records, int64_t i, wick_record_entry *out);
/* Record i into memory of the caller's, verified; *size (may be NULL) is its size, also where `room` is less:
 * WICK_ERR_INVALID. WICK_ERR_FORMAT (damaged: file, record and byte are named), WICK_ERR_IO, WICK_ERR_NOMEM. Errors are
 * the context's: one thread at a time. */
WICK_API WICK_MUST_CHECK wick_status wick_records_get(const wick_records *records, int64_t i, void *to, size_t room,
                                                      size_t *size);
/* The same without a copy, of a record that is stored plain in a mapped file: *data stays until the records are freed.
 * WICK_ERR_UNSUPPORTED: it is not. */
WICK_API WICK_MUST_CHECK wick_status wick_records_view(const wick_records *records, int64_t i, const void **data,
                                                       size_t *size);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct wick_records_writer wick_records_writer;

typedef struct wick_records_write_options {
    wick_compression compression;
    /* of the compression, as its library counts: Zstandard 1 to 22 (0: 3), LZ4 from 2 on its slow kind (0: fast) */
    int level;
    const char *meta;       /* a text to keep with the records, NULL: ""; copied */
    const void *dictionary; /* WICK_ZSTD: what records have in common, which every reader gets with the file; copied */
    size_t dictionary_bytes;
    size_t train_dictionary; /* WICK_ZSTD, without the above: make one of at most so many bytes of the first records,
                              * which are kept in memory until there are a hundred times as many bytes of them. Too few
                              * records make none. 0: don't */
} wick_records_write_options;

/* A new file, atomically: until commit the old one is whole. options may be NULL. WICK_ERR_IO, WICK_ERR_INVALID
 * (options that do not go together), WICK_ERR_UNSUPPORTED, WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_records_create(wick_context *ctx, const char *path,
                                                         const wick_records_write_options *options,
                                                         wick_records_writer **out);
/* More records for a file that is there, in its own compression and with its dictionary; level as above. They are
 * visible once commit has succeeded; should the process or the machine stop before, the file has what it had. What an
 * earlier append left unfinished is removed. Readers that have the file open go on. WICK_ERR_BUSY: another writer
 * appends; WICK_ERR_FORMAT: the file is damaged. */
WICK_API WICK_MUST_CHECK wick_status wick_records_append(wick_context *ctx, const char *path, int level,
                                                         wick_records_writer **out);
/* One record; label -1: none. WICK_ERR_INVALID: 4 GiB or more, for LZ4 2 GiB - 32 MiB; after any other failure only
 * abort is of use. */
WICK_API WICK_MUST_CHECK wick_status wick_records_add(wick_records_writer *writer, const void *data, size_t size,
                                                      int32_t label);
WICK_API int64_t wick_records_added(const wick_records_writer *writer);
/* Bytes written so far. */
WICK_API uint64_t wick_records_written(const wick_records_writer *writer);
/* Index, head, and all of it on the disk. Frees and nulls in every case; on failure the file has what it had. */
WICK_API WICK_MUST_CHECK wick_status wick_records_commit(wick_records_writer **writer);
WICK_API void wick_records_abort(wick_records_writer **writer); /* null-safe, nulls; the file has what it had */

#ifdef __cplusplus
}
#endif
#endif
