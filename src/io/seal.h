/* seal.h: the checksum that covers a whole safetensors file of Wick's, and its check.
 *
 * CRC-32C over the tensors in byte order of their names, wherever they lie in the file, each as
 *
 *   name, 00 | dtype as in the header ("F32"), 00 | dims, 8 bytes each, little-endian | data as in the file
 *
 * and then over 4 bytes, little-endian: the sum, modulo 2^32, of the CRC-32C of each entry of the metadata but this
 * one, as key, 00, value, 00. So another program may write the same tensors and metadata in another order. What of the
 * bytes says neither can only be blanks in the header, and those are checked to be blanks. Format 1 had no checksum of
 * the metadata. */
#ifndef WICK_IO_SEAL_H
#define WICK_IO_SEAL_H

#include "io/safetensors.h"

/* Version of the layout of names and metadata. 1: the checksum is of the tensors alone, and may be missing. */
#define WICK_CHECKPOINT_FORMAT 2

#define WICK_META_FORMAT "wick.format"
#define WICK_META_CRC    "wick.crc32c" /* 8 hex digits */

/* The tensors come sorted by name. meta NULL: as format 1 has it. */
uint32_t wick_seal_crc(const wick_safetensors_tensor *const *by_name, size_t count, const wick_safetensors_meta *meta,
                       size_t meta_count);

/* WICK_OK also for a file without a checksum: another program's, or one of format 1. WICK_ERR_VERSION: of a newer
 * format. `path` stands in messages. */
WICK_MUST_CHECK wick_status wick_seal_check(const wick_safetensors *f, const char *path, wick_msg *msg);

/* wick_safetensors_write with the checksum added to the metadata. One that is there is left out, and "wick.format"
 * becomes today's. */
WICK_MUST_CHECK wick_status wick_seal_write(const char *path, const wick_safetensors_tensor *tensors, size_t count,
                                            const wick_safetensors_meta *meta, size_t meta_count, wick_msg *msg);

/* A whole number in `base` (at most 16, digits in lower case) and nothing else. */
bool wick_seal_number(const char *text, unsigned base, uint64_t *value);

#endif
