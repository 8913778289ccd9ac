/* weights.h: what the files of src/io/weights*.c share. */
#ifndef WICK_IO_WEIGHTS_H
#define WICK_IO_WEIGHTS_H

#include <stdatomic.h>

#include "io/npy.h"
#include "io/seal.h"
#include "io/zip.h"
#include "wick/weights.h"

/* A mapped file, and what is known of it: held by the weights and by each tensor that reads its pages. */
typedef struct weights_file {
    _Atomic int refs;
    wick_map map;
    wick_safetensors tensors; /* of safetensors: its own map stays empty */
    const char *path;         /* for messages; in the weights' arena */
} weights_file;

typedef struct weights_entry {
    wick_spec spec;
    weights_file *file;
    const uint8_t *data; /* NULL: `zip` is deflated */
    size_t bytes;
    const wick_zip_entry *zip; /* of a .npz */
    wick_npy_header npy;       /* of a .npz or .npy */
    bool is_npy;
    uint64_t asked; /* when, of what a limit is for; 0: its pages have gone, or it was never asked for */
} weights_entry;

/* An array of texts of a .npy or .npz. */
typedef struct weights_texts {
    const char *name;
    int rank;
    int64_t dims[WICK_MAX_DIMS];
    const char **texts; /* in the arena */
    size_t n;
} weights_texts;

/* What changes of weights that are asked for tensors. */
typedef struct weights_pages {
    size_t limit; /* bytes of tensors; 0: none */
    uint64_t asked;
} weights_pages;

struct wick_weights {
    wick_context *ctx;
    wick_arena arena;
    const char *path;
    weights_file **files;
    size_t n_files, cap_files;
    weights_entry *entries;
    size_t n, cap;
    const weights_entry **by_name;
    weights_texts *texts;
    size_t n_texts, cap_texts;
    const wick_safetensors_meta *meta; /* of the first file of safetensors */
    size_t n_meta;
    weights_pages *pages; /* in the arena */
};

/* Takes the map, also when it fails. */
wick_status wick_weights_add_file(wick_weights *w, wick_map *map, const char *path, weights_file **out, wick_msg *msg);
wick_status wick_weights_add_safetensors(wick_weights *w, weights_file *f, wick_msg *msg);
/* weights_pages.c: tensor i is asked for; pages of others may go. */
void wick_weights_ask(const wick_weights *w, size_t i);
/* shards.c: an index and its shards. */
wick_status wick_weights_add_shards(wick_weights *w, const wick_map *index, wick_msg *msg);
weights_entry *wick_weights_new_entry(wick_weights *w, const char *name, weights_file *f, wick_msg *msg);
wick_status wick_shards_write(const char *path, const wick_safetensors_tensor *tensors, size_t n,
                              const wick_safetensors_meta *meta, size_t n_meta, size_t max_shard, wick_msg *msg);

#endif
