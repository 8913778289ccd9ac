/* safetensors.h: reader and writer of the safetensors format (github.com/huggingface/safetensors, README "Format").
 *
 *   u64 little-endian N | N bytes of JSON, spaces behind | the tensors, one after another, without holes
 *
 * The reader trusts nothing: every length is checked against the file's size before it is used. */
#ifndef WICK_IO_SAFETENSORS_H
#define WICK_IO_SAFETENSORS_H

#include "base/base.h"

typedef struct wick_safetensors_tensor {
    const char *name; /* UTF-8 */
    wick_dtype dtype;
    int rank;
    int64_t dims[WICK_MAX_DIMS];
    const void *data; /* little-endian, row-major; may be unaligned in files made elsewhere */
    size_t bytes;
    /* Of one that is written, in place of data: gives it until the next call of it. NULL: it can't, and the file isn't
     * written; `user` knows why. */
    const void *(*give)(void *user, int number);
    void *user;
    int number;
} wick_safetensors_tensor;
static inline const void *wick_safetensors_data(const wick_safetensors_tensor *t) {
    return t->give ? t->give(t->user, t->number) : t->data;
}

typedef struct wick_safetensors_meta {
    const char *key, *value; /* UTF-8 */
} wick_safetensors_meta;

typedef struct wick_safetensors {
    wick_safetensors_tensor *tensors; /* in the order of their data */
    size_t count;
    wick_safetensors_meta *meta; /* in the file's order */
    size_t meta_count;
    const uint8_t *header, *data; /* the JSON with the blanks behind it; all tensor bytes */
    size_t header_bytes, data_bytes;

    wick_map map;
    wick_arena arena;
    const wick_safetensors_tensor **by_name;
} wick_safetensors;

/* Maps the file, checks all of its structure, and its checksum where it has one (io/seal.h). Names and data stay valid
 * until close. On failure *f is closed already. WICK_ERR_IO, WICK_ERR_FORMAT, WICK_ERR_UNSUPPORTED (a dtype or rank
 * that Wick lacks), WICK_ERR_VERSION, WICK_ERR_NOMEM. */
WICK_MUST_CHECK wick_status wick_safetensors_open(wick_safetensors *f, const char *path, wick_msg *msg);
/* The structure alone, over memory that the caller keeps; `name` stands in messages. */
WICK_MUST_CHECK wick_status wick_safetensors_parse(wick_safetensors *f, const void *bytes, size_t size,
                                                   const char *name, wick_msg *msg);
void wick_safetensors_close(wick_safetensors *f); /* a zeroed or closed *f is fine */

const wick_safetensors_tensor *wick_safetensors_find(const wick_safetensors *f, const char *name); /* NULL: absent */
const char *wick_safetensors_get_meta(const wick_safetensors *f, const char *key);                 /* NULL: absent */
int wick_safetensors_by_name(const void *a, const void *b); /* for qsort: pointers to tensors in byte order of names */

/* Writes the tensors in the order given (bytes is computed, the field is not read), atomically. The data begins at a
 * multiple of 64 bytes; the same input gives the same file. WICK_ERR_INVALID: a name twice, "__metadata__" as a name,
 * text that is not UTF-8, a bad shape or dtype; WICK_ERR_IO; WICK_ERR_NOMEM. */
WICK_MUST_CHECK wick_status wick_safetensors_write(const char *path, const wick_safetensors_tensor *tensors,
                                                   size_t count, const wick_safetensors_meta *meta, size_t meta_count,
                                                   wick_msg *msg);

/* "F32", ...; NULL for a value outside the enum. */
const char *wick_safetensors_dtype_name(wick_dtype dtype);
/* Elements of the shape times bytes of the dtype. false: a negative dim, or the product does not fit. A 0 anywhere
 * makes 0. */
bool wick_safetensors_bytes(wick_dtype dtype, int rank, const int64_t *dims, size_t *bytes);

#endif
