/* records.h: the record file as its reader and its writer see it. docs/data.md, "The record file", is the same in
 * words.
 *
 *   header | meta | dictionary | 0.. | part | part | ...     all numbers little-endian, all of these at multiples of 64
 *                                                            bytes but meta and dictionary
 *   part:   head | data: records side by side | 0.. | index: an entry each | 0..
 *
 * A part's head is written last, when the rest of it is on the disk: zeros where a head should be are an append that
 * never finished. */
#ifndef WICK_DATA_RECORDS_H
#define WICK_DATA_RECORDS_H

#include "base/base.h"
#include "wick/records.h"

#define WICK_RECORDS_MAGIC "WICKREC\n"
#define WICK_RECORDS_PART "RECPART\n"
enum { WICK_RECORDS_VERSION = 1, WICK_RECORDS_BLOCK = 64, WICK_RECORDS_ENTRY = 24 };

/* The first 64 bytes: magic, then these, zeros, and at byte 60 the CRC-32C of the 60 before. */
typedef struct wick_records_header {
    uint32_t version, compression; /* bytes 8, 12 */
    uint32_t meta_size, meta_crc;  /* 16, 20 */
    uint32_t dictionary_size, dictionary_crc; /* 24, 28 */
    uint64_t flags; /* 32: 0 */
} wick_records_header;
/* The first 64 bytes of a part, in the same way. */
typedef struct wick_records_head {
    /* 8: of these bytes in the file; 16: number of its first record; 24: of its records; 32: bytes of its data */
    uint64_t offset, first, count, data;
    uint32_t index_crc; /* 40 */
} wick_records_head;

void wick_records_header_write(const wick_records_header *h, uint8_t to[WICK_RECORDS_BLOCK]);
void wick_records_head_write(const wick_records_head *h, uint8_t to[WICK_RECORDS_BLOCK]);
void wick_records_entry_write(const wick_record_entry *e, uint8_t to[WICK_RECORDS_ENTRY]);

/* wick_records_open without a context's error, of bytes that are there: path is for messages, and copied. The map is
 * taken over, also on failure. */
WICK_MUST_CHECK wick_status wick_records_parse(wick_context *ctx, wick_map *map, const char *path,
                                               const wick_records_options *options, wick_records **out, wick_msg *msg);
/* wick_records_at and wick_records_get for any number of threads: errors go to msg. */
WICK_MUST_CHECK wick_status wick_records_find(const wick_records *r, int64_t i, wick_record_entry *out, wick_msg *msg);
WICK_MUST_CHECK wick_status wick_records_read(const wick_records *r, int64_t i, void *to, size_t room, size_t *size,
                                              wick_msg *msg);
/* Tells the system that these records will be read soon; of numbers that are none, or an index that lies, nothing. */
void wick_records_ahead(const wick_records *r, const int64_t *records, int64_t n);
uint64_t wick_records_end(const wick_records *r); /* of the last whole part */
const void *wick_records_dictionary_bytes(const wick_records *r);

#endif
