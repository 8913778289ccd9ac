/* shards.h: what samples of archives in WebDataset's layout are made of, for those that are asked for by number and
 * those that are read from front to back. */
#ifndef WICK_DATA_SHARDS_H
#define WICK_DATA_SHARDS_H

#include <pthread.h>

#include "data/formats/codecs.h"
#include "data/sets/dataset.h"
#include "data/formats/tar.h"

enum { WICK_SHARDS_MAX = 1 << 16, WICK_SHARD_END = 32, WICK_SHARD_CLASSES = 1 << 20 };
typedef enum wick_shard_kind {
    WICK_SHARD_PICTURE,
    WICK_SHARD_RECORDING,
    WICK_SHARD_BYTES,
    WICK_SHARD_LABEL,
    WICK_SHARD_KINDS
} wick_shard_kind;

/* One file of a sample. */
typedef struct wick_shard_cell {
    const uint8_t *data; /* NULL: to be read from */
    int shard;
    uint64_t offset;
    size_t size;
    int64_t length; /* of a recording: samples; of a label: its number; else bytes */
} wick_shard_cell;

/* The sample that is being put together. */
typedef struct wick_shard_sample {
    char key[WICK_TAR_NAME_MAX];
    bool begun;
    int have; /* files */
    struct { char end[WICK_SHARD_END]; wick_shard_cell cell; } files[4 * WICK_DATASET_FIELDS];
} wick_shard_sample;

typedef struct wick_shard_fields {
    int n;
    struct { char end[WICK_SHARD_END]; wick_shard_kind kind; int64_t dims[3]; } field[WICK_DATASET_FIELDS];
    wick_codecs codecs;
    pthread_mutex_t loading;
} wick_shard_fields;

void wick_shard_fields_init(wick_shard_fields *f);
void wick_shard_fields_free(wick_shard_fields *f);
/* Where a path's key ends and its ending begins, "a/b/key.ending". False: it is passed over, as hidden files are. */
bool wick_shard_split(const char *path, size_t *key, const char **end);
/* Whether a file of that key belongs to the sample. */
bool wick_shard_same(const wick_shard_sample *o, const char *path, size_t key);
void wick_shard_begin(wick_shard_sample *o, const char *path, size_t key);
/* The next file's place in the sample. WICK_ERR_FORMAT: it has one of that ending; WICK_ERR_UNSUPPORTED: too many. */
wick_status wick_shard_add(wick_shard_sample *o, const char *end, const wick_shard_cell *cell, const char *archive,
                           wick_msg *msg);
/* The first sample's files become the fields: by kind, and in their order. look: reads what a cell without data begins
 * with; NULL: all have data. */
typedef wick_status (*wick_shard_look)(void *user, const wick_shard_cell *cell, wick_shard_cell *out,
                                       const char *archive, wick_msg *msg);
wick_status wick_shard_choose(wick_shard_fields *f, const wick_shard_sample *o, wick_shard_look look, void *user,
                              const char *archive, wick_msg *msg);
/* The file that is field k, NULL: *msg says that it is missing. */
const wick_shard_cell *wick_shard_find(const wick_shard_fields *f, const wick_shard_sample *o, int k, const char *name,
                                       wick_msg *msg);
/* Sets cell->length of field k, and *rate where it is a recording; data must be there unless it is bytes or a picture.
 */
wick_status wick_shard_measure(const wick_shard_fields *f, int k, wick_shard_cell *cell, int64_t *rate,
                               const char *name, wick_msg *msg);
wick_status wick_shard_decode(wick_shard_fields *f, int k, const wick_shard_cell *cell, void *out, const char *name,
                              wick_msg *msg);
void wick_shard_specs(const wick_shard_fields *f, wick_spec specs[WICK_DATASET_FIELDS]);

#endif
