/* wick/weights.h: named tensors in files of many kinds, and into a model by name. Read are safetensors, also in shards,
 * and NumPy's .npz and .npy; what a file is, its first bytes say. Pickles (PyTorch's .pt, .pth, .bin; NumPy's arrays of
 * objects) are programs: they are refused, with a line that makes safetensors of them. */
#ifndef WICK_WEIGHTS_H
#define WICK_WEIGHTS_H

#include "wick/io.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_weights wick_weights;
/* path: a file, an index of shards (model.safetensors.index.json), or a folder with model.safetensors or its index. Its
 * structure is checked; nothing of it is trusted: shards are regular files with one name in the index's own folder, and
 * have just the tensors that the index says. Data of tensors are looked at when they are asked for. Files stay mapped,
 * also while a tensor from them lives: they may be replaced, but not changed in place (docs/tensors.md, "Files").
 * WICK_ERR_IO, WICK_ERR_FORMAT, WICK_ERR_UNSUPPORTED (a pickle, a dtype that Wick lacks, no zlib for a deflated .npz),
 * WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_weights_open(wick_context *ctx, const char *path, wick_weights **out);
WICK_API void wick_weights_free(wick_weights **weights); /* null-safe, nulls; tensors made from it stay good */
WICK_API int wick_weights_count(const wick_weights *weights);
/* In the file's order: of an index shard by shard, of a .npz without ".npy", of a .npy alone its name without that.
 * Cleared outside. */
WICK_API wick_spec wick_weights_at(const wick_weights *weights, int i);
WICK_API int wick_weights_find(const wick_weights *weights, const char *name); /* -1: it has none of that name */
/* In the file's pages where it can be read in place, else a copy. Poisoned on error: damaged data, no memory. */
WICK_API wick_tensor *wick_weights_tensor(const wick_weights *weights, int i);
/* Which pages of the files are in memory. One comes when it is first read and stays while the system has room: who
 * reads more weights than there is memory, or leaves memory to others, says how they are used. Values are the same. */
typedef enum wick_weights_use {
    WICK_WEIGHTS_NORMAL,     /* some pages are read ahead */
    WICK_WEIGHTS_SEQUENTIAL, /* from beginning to end: many */
    WICK_WEIGHTS_RANDOM,     /* here and there, as rows of embeddings: none */
    WICK_WEIGHTS_SOON,       /* all of it: reading begins now, in the background */
    WICK_WEIGHTS_DONE        /* not for a while: pages go, and come again when they are read */
} wick_weights_use;
/* Of tensor i, or of all files (-1). Arrays that are inflated have no pages. WICK_ERR_INVALID: no such tensor or use;
 * WICK_ERR_UNSUPPORTED: the system refuses. */
WICK_API WICK_MUST_CHECK wick_status wick_weights_advise(wick_weights *weights, int i, wick_weights_use use);
/* Bytes of tensors whose pages may be in memory at once. All pages go now; then each tensor that is asked for, also by
 * wick_weights_load, counts with its bytes, and where they are more than that together, pages of those asked for
 * longest ago go. The one asked for last stays, however large. Tensors stay good: pages that are read again come again,
 * and count when their tensor is asked for again. 0: no limit, as at the beginning. */
WICK_API void wick_weights_set_limit(wick_weights *weights, size_t bytes);
/* Bytes of the files' pages that are in this process's memory; false, and 0: the system does not tell. */
WICK_API bool wick_weights_resident(const wick_weights *weights, size_t *bytes);
/* An array of texts (<U, |S) of a .npz or .npy, in UTF-8. They are no tensors, and not among those that are counted
 * above. */
typedef struct wick_texts {
    const char *name;
    int rank;
    int64_t dims[WICK_MAX_DIMS];
    int64_t count; /* of all of its texts */
    const char *const *texts; /* in C order; they belong to the weights */
} wick_texts;
WICK_API bool wick_weights_texts_at(const wick_weights *weights, int i, wick_texts *out); /* false past the last */
/* Entry i of the metadata, of safetensors; false past the last. */
WICK_API bool wick_weights_meta_at(const wick_weights *weights, int i, const char **key, const char **value);

/* ---- into a model ------------------------------------------------------------------------------------------------ */

/* A rule for names: each * in `from` is any text, and stands in its place in `to` for what it was, in order:
 * {"backbone.*", "*"}, {"*.gamma", "*.weight"}. Without a *, `from` is a whole name, or, if it ends with a dot, what
 * names begin with: {"module.", ""}. `to` has as many * as `from`, or fewer. */
typedef struct wick_rename {
    const char *from, *to;
} wick_rename;

typedef enum wick_weights_trouble {
    WICK_WEIGHTS_MISSING,
    WICK_WEIGHTS_UNEXPECTED,
    WICK_WEIGHTS_MISFIT
} wick_weights_trouble;
typedef struct wick_weights_options {
    int n_rename;
    const wick_rename *rename; /* the first rule that fits a name of the file changes it, once */
    /* only names of the file that begin so are looked at, and it is taken off before any rule; NULL: all */
    const char *prefix;
    /* states that match and don't match these (patterns as wick_model_freeze's); NULL: all */
    const char *only, *skip;
    /* states that match are stored with their two dims the other way round, as Keras and Flax keep dense layers: [in,
     * out] */
    const char *transpose;
    /* what is missing, unexpected or does not fit is left as it is; otherwise those are WICK_ERR_MISMATCH, and nothing
     * is loaded */
    bool fitting;
    bool exact;                /* floats of another width are a misfit; otherwise they are converted as by wick_cast */
    /* each of them, with a line about it; NULL: only the error lists them */
    void (*trouble)(void *user, wick_weights_trouble what, const char *name, const char *text);
    void *user;
} wick_weights_options;
/* Makes PARAM and BUFFER states those of the file, by name, or by an alias of it. The network must have been recorded
 * once, so that the model has its states. PyTorch's
 * "*.num_batches_tracked" without a state is no trouble. WICK_ERR_MISMATCH lists all that is missing, unexpected and of
 * another shape or dtype, at once; also when nothing would be loaded. report may be NULL; its text is that list, cut
 * where it is longer. */
WICK_API WICK_MUST_CHECK wick_status wick_weights_load(const wick_weights *weights, wick_model *model,
                                                       const wick_weights_options *options, wick_load_report *report);
/* The same of a file. */
WICK_API WICK_MUST_CHECK wick_status wick_model_load_weights(wick_model *model, const char *path,
                                                             const wick_weights_options *options,
                                                             wick_load_report *report);

/* ---- to files ---------------------------------------------------------------------------------------------------- */

typedef struct wick_named_tensor {
    const char *name;
    wick_tensor *tensor;
} wick_named_tensor;
typedef struct wick_weights_write_options {
    size_t max_shard; /* bytes of tensors in a shard, unless one tensor has more; 0: 5e9 */
    int n_meta;       /* of safetensors: in the file, or in each shard */
    const wick_meta *meta;
    bool compress; /* .npz: arrays are deflated where that makes them shorter, as by numpy.savez_compressed; needs zlib,
                      and memory for one of them. Such arrays are read by being inflated, not in place */
} wick_weights_write_options;
/* What the file becomes, the end of its name says: .safetensors, .safetensors.index.json (with shards
 * NAME-00001-of-00003.safetensors beside it, written before it), .npz (stored, tensors at multiples of 64 bytes, or
 * deflated) or .npy (one tensor). Each file is written atomically. WICK_ERR_INVALID: another end, a name twice;
 * WICK_ERR_UNSUPPORTED: a dtype that the kind lacks, as NumPy bf16. options may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_weights_write(wick_context *ctx, const char *path, int n,
                                                        const wick_named_tensor *tensors,
                                                        const wick_weights_write_options *options);

#ifdef __cplusplus
}
#endif
#endif
