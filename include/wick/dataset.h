/* wick/dataset.h: samples by number, from files or from the host. A data set is a number of samples, a description of
 * what each is made of, and a function that writes one into the caller's buffers. wick/loader.h makes batches of them.
 */
#ifndef WICK_DATASET_H
#define WICK_DATASET_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_dataset wick_dataset;

enum { WICK_DATASET_FIELDS = 8 };

/* What went wrong with a sample: whoever reads one writes a text that names the file and the place in it. */
typedef struct wick_fault {
    char text[512];
} wick_fault;
/* Stores the text and returns `status`. fault may be NULL. */
WICK_API wick_status wick_fault_set(wick_fault *fault, wick_status status, const char *fmt, ...) WICK_PRINTF(3, 4);

/* A data set as its maker supplies it. What must be there: count, fields, get; the rest may be NULL or 0. All functions
 * but `free` are called by several threads at once, with numbers that have been checked. */
typedef struct wick_dataset_source {
    int64_t count;
    /* What a sample is made of, in order, each field by name: its dtype and dims, row-major without gaps. dims[0] is -1
     * where it is another one from sample to sample; then `length` is there. Names are copied. By custom what a model
     * learns from comes first, and a label is an i64 of rank 0. */
    int n_fields;
    wick_spec fields[WICK_DATASET_FIELDS];
    /* Writes field k of the sample to out[k], wick_dataset_bytes bytes of it, unless out[k] is NULL. A failure has a
     * text in *fault, never NULL. */
    wick_status (*get)(void *user, int64_t index, void *const *out, wick_fault *fault);
    /* where a field lies in memory, for as long as the data set lives; NULL: it does not */
    const void *(*at)(void *user, int64_t index, int field);
    /* these will be asked for soon: reading them may begin, which nobody waits for. NULL: there is nothing to begin */
    void (*ahead)(void *user, const int64_t *indices, int64_t n);
    /* dims[0] of a field where it varies; quick, without decoding. -1: it cannot be told */
    int64_t (*length)(void *user, int64_t index, int field);
    int64_t (*label)(void *user, int64_t index);               /* the class, quick, without decoding; -1: none */
    int64_t classes;                                           /* labels are below it; 0: samples have none */
    const char *(*class_name)(void *user, int64_t label);      /* NULL: numbers */
    /* of recordings, samples a second; 0: not known, or not the same */
    int64_t rate;
    const char *note; /* what a person should know of how it was read; copied. NULL: nothing */
    /* of decoded samples that are kept, so far */
    void (*cache)(void *user, uint64_t *hits, uint64_t *misses, size_t *bytes);
    void (*free)(void *user); /* the data set's end */
    void *user;
} wick_dataset_source;
/* A data set of the host's. Where this fails source->free has not been called. WICK_ERR_INVALID, WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_new(wick_context *ctx, const wick_dataset_source *source,
                                                      wick_dataset **out);
/* Arrays in memory, which must outlive the set: fields[k] is that of one sample, data[k] has count of them one after
 * another, without a copy. label names the field, i64 or u8 of rank 0, that is the class, of `classes`; -1: none.
 * WICK_ERR_INVALID, also where a label is not below classes; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_arrays(wick_context *ctx, int64_t count, int n_fields,
                                                            const wick_spec *fields, const void *const *data, int label,
                                                            int64_t classes, wick_dataset **out);

/* "mnist", "fashion-mnist", "cifar10" or a folder, of one of four kinds; split "train" or "test":
 *
 *   IDX       train-images-idx3-ubyte and train-labels-idx1-ubyte, t10k-... for "test", plain or .gz; samples have the
 *             file's dims
 *   archives  SPLIT.tar.gz or SPLIT.tar of pictures .../CLASS/NAME; samples are [3, height, width], in the archive's
 *             order
 *   folders   SPLIT/CLASS/NAME.jpg (any ending of a picture in wick/files.h); samples are [3, height, width], in the
 *             order of their paths' bytes
 *   records   SPLIT.wrec, of pictures or u8 arrays with labels, as wick_files_pack and wick data make them; this one
 *             first
 *
 * Fields: "image", u8 of those dims, in memory; "label", i64. The classes of archives and folders are those of both
 * splits, numbered in the order of their names' bytes. All pictures of a split have one size, or WICK_ERR_SHAPE names
 * the first that differs, unless wick_context_set_pictures asks for one. Named sets are searched in $WICK_DATA/NAME,
 * then /usr/share/datasets/NAME (Debian's place); the error lists where. WICK_ERR_IO: nothing of that split there;
 * WICK_ERR_FORMAT; WICK_ERR_UNSUPPORTED: a library that reads the format is not on this machine; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_open(wick_context *ctx, const char *name, const char *split,
                                                       wick_dataset **out);
/* The sets known by name; NULL outside. */
WICK_API const char *wick_dataset_known(int i);
/* Where a set known by name is: the folder that wick_dataset_open reads its training images from. False, and "":
 * nowhere. */
WICK_API bool wick_dataset_find(const char *name, char *folder, size_t size);
WICK_API void wick_dataset_free(wick_dataset **dataset); /* null-safe, nulls */

/* What a person should know of how it was read, such as recordings that don't say how long they are; "": nothing. */
WICK_API const char *wick_dataset_note(const wick_dataset *dataset);
/* -1: of a stream (wick/datasets.h), whose end is not known */
WICK_API int64_t wick_dataset_count(const wick_dataset *dataset);
WICK_API int wick_dataset_fields(const wick_dataset *dataset);
WICK_API const wick_spec *wick_dataset_field(const wick_dataset *dataset, int field); /* NULL outside */
/* dims[0] of a field of a sample: where it varies, what that sample has (-1: it cannot be told), else what all have. -1
 * outside, and for fields of rank 0. */
WICK_API int64_t wick_dataset_length(const wick_dataset *dataset, int64_t i, int field);
/* Bytes of a field of a sample; SIZE_MAX outside, and where its length cannot be told. */
WICK_API size_t wick_dataset_bytes(const wick_dataset *dataset, int64_t i, int field);
/* Writes each field k of sample i to out[k], unless that is NULL. Any number of threads may. WICK_ERR_INDEX: i is not
 * below the count; else what the set's maker says. *fault (or NULL) has the text; no context does, since a thread of
 * the host's may ask. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_get(const wick_dataset *dataset, int64_t i, void *const *out,
                                                      wick_fault *fault);
/* Says that these samples will be asked for soon, for sets that can begin to read; numbers outside are passed over. A
 * loader says so itself, for as long as anything is read from a disk. */
WICK_API void wick_dataset_ahead(const wick_dataset *dataset, const int64_t *indices, int64_t n);
/* Where a field lies in memory, without a copy; NULL outside, and where it does not lie there. */
WICK_API const void *wick_dataset_at(const wick_dataset *dataset, int64_t i, int field);
/* the class; -1 outside, and where there is none */
WICK_API int64_t wick_dataset_label(const wick_dataset *dataset, int64_t i);
WICK_API int64_t wick_dataset_classes(const wick_dataset *dataset);          /* 0: samples have none */
/* "7", "Ankle boot"; valid until the next call with another label */
WICK_API const char *wick_dataset_class_name(const wick_dataset *dataset, int64_t label);
/* samples a second of its recordings; 0: not known, or not the same */
WICK_API int64_t wick_dataset_rate(const wick_dataset *dataset);
/* Of a cache of decoded samples; false, and zeros: there is none. */
WICK_API bool wick_dataset_cache(const wick_dataset *dataset, uint64_t *hits, uint64_t *misses, size_t *bytes);

/* Of the first field. */
WICK_API int wick_dataset_rank(const wick_dataset *dataset);                               /* 2 for [28, 28] */
WICK_API const int64_t *wick_dataset_dims(const wick_dataset *dataset);
/* raw pixels; NULL outside, and where it is no u8 in memory */
WICK_API const uint8_t *wick_dataset_sample(const wick_dataset *dataset, int64_t i);

/* Keeps `most` samples where there are more, in their order: one drawn from each of `most` equal stretches, the same
 * ones every time. What loaders of the dataset would hand out changes, so call it before making any. WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_limit(wick_context *ctx, wick_dataset *dataset, int64_t most);
/* Mean and standard deviation of all of the first field, u8, / 255, for normalisation. WICK_ERR_DTYPE: it has another
 * dtype; else what wick_dataset_get says; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_moments(wick_context *ctx, const wick_dataset *dataset, double *mean,
                                                          double *deviation);

#ifdef __cplusplus
}
#endif
#endif
