/* wick/io.h: state on disk. A checkpoint is one safetensors file: every state of the model under its name, and string
 * metadata; weights open in any reader of that format. */
#ifndef WICK_IO_H
#define WICK_IO_H

#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_meta {
    const char *key, *value;
} wick_meta;

/* Writes all states (role PARAM and BUFFER only when weights_only; then means where wick_model_set_averaged asks) and
 * metadata, atomically: until the call succeeds the old file is whole. Adds "wick.format" (2), "wick.crc32c" (of the
 * whole file), "wick.numerics", "wick.seed", "wick.stream". The former file is kept as PATH.prev when keep_previous.
 * Temporaries that savers to PATH left behind when they were killed are removed. */
typedef struct wick_save_options {
    bool weights_only, keep_previous;
    int n_meta;
    const wick_meta *meta;
    /* Gives the values of a state of which the model has a part (wick_model_state_part) as a whole, row-major, until
     * the next call: of number k of such states, in the order of wick_model_at. Called twice for each, in any order.
     * NULL where there are none, and with weights_only, else WICK_ERR_INVALID. Where it gives NULL nothing is written:
     * WICK_ERR_CANCELLED. */
    const void *(*whole)(void *user, int k);
    void *whole_user;
} wick_save_options;
WICK_API WICK_MUST_CHECK wick_status wick_save(wick_model *model, const char *path, const wick_save_options *options);

typedef struct wick_checkpoint wick_checkpoint;
/* Opens and verifies (structure, version, and the checksum where there is one). Format versions: an older one is read,
 * a newer one refused. */
WICK_API WICK_MUST_CHECK wick_status wick_checkpoint_open(wick_context *ctx, const char *path, wick_checkpoint **out);
WICK_API void wick_checkpoint_free(wick_checkpoint **checkpoint);
WICK_API const char *wick_checkpoint_meta(const wick_checkpoint *checkpoint, const char *key); /* NULL: absent */
/* Entry i of the metadata, in the file's order; false past the last. */
WICK_API bool wick_checkpoint_meta_at(const wick_checkpoint *checkpoint, int i, const char **key, const char **value);
WICK_API int wick_checkpoint_count(const wick_checkpoint *checkpoint);
WICK_API wick_spec wick_checkpoint_tensor(const wick_checkpoint *checkpoint, int i); /* name, dtype, shape */
/* Makes the model's PARAM and BUFFER states those of the file: every one must be there with its shape, and nothing else
 * but "optim." names. The network must have been recorded once, so that the model has its states. WICK_ERR_MISMATCH
 * lists the names that differ; then nothing was changed.
 * with_optimizer goes on where the checkpoint was made: dtypes must be equal, OPTIM states that the file has are made
 * or overwritten, and the context's random state is restored. Without it, weights are taken from any program's file:
 * floats are converted to the state's dtype as by wick_cast, and "*.num_batches_tracked" (PyTorch's) is ignored. */
WICK_API WICK_MUST_CHECK wick_status wick_checkpoint_load(const wick_checkpoint *checkpoint, wick_model *model,
                                                          bool with_optimizer);

/* Parts of the weights, as for fine-tuning: a file's backbone, but not its head. */
typedef struct wick_load_options {
    /* names that match and don't match these (patterns as wick_model_freeze's), in the model and the file; NULL: all */
    const char *only, *skip;
    bool fitting; /* a state that the file lacks, or has in another dtype or shape, keeps its value, and what only the
                     file has is left there; otherwise those are WICK_ERR_MISMATCH */
} wick_load_options;
typedef struct wick_load_report {
    int loaded, kept;  /* PARAM and BUFFER states: taken from the file, left as they were */
    int unused;        /* tensors of the file without a state that took them, those of the optimizer apart */
    /* fitting: what was selected and did not fit, cut where it is longer: "fc2.weight is f32[5,9] there and ..." */
    char differs[512];
} wick_load_report;
/* As wick_checkpoint_load without the optimizer, for the states that the options select. WICK_ERR_MISMATCH also when
 * that would load none; then nothing was changed. report may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_checkpoint_load_some(const wick_checkpoint *checkpoint, wick_model *model,
                                                               const wick_load_options *options,
                                                               wick_load_report *report);

/* ---- NumPy's files of one array ---------------------------------------------------------------------------------- */

/* A .npy file as a tensor: its pages where they can be read in place, else a copy. Floats of 16 to 64 bits, integers,
 * bools; either byte order, rows or columns first. Poisoned on error: WICK_ERR_IO, WICK_ERR_FORMAT (with the byte),
 * WICK_ERR_VERSION, WICK_ERR_NOMEM. */
WICK_API wick_tensor *wick_npy_read(wick_context *ctx, const char *path);
/* Writes x, evaluated, atomically. WICK_ERR_UNSUPPORTED: a dtype that NumPy lacks (bf16, f8, packed). */
WICK_API WICK_MUST_CHECK wick_status wick_npy_write(wick_context *ctx, const char *path, wick_tensor *x);

/* Replaces the file at path by these bytes, atomically: until the call succeeds the old file is whole. */
WICK_API WICK_MUST_CHECK wick_status wick_file_write(wick_context *ctx, const char *path, const void *data,
                                                     size_t size);

#ifdef __cplusplus
}
#endif
#endif
