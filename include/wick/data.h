/* wick/data.h: labelled images in memory, and a loader that shuffles, normalises and never loses its place. */
#ifndef WICK_DATA_H
#define WICK_DATA_H

#include "wick/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_dataset wick_dataset;

/* "mnist", "fashion-mnist" or a folder of IDX files (plain or .gz) named as theirs; split "train" or "test". Named sets are
 * searched in $WICK_DATA/NAME, then /usr/share/datasets/NAME (Debian's place); the error lists where. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_open(wick_context *ctx, const char *name, const char *split,
                                                       wick_dataset **out);
/* The sets known by name; NULL outside. */
WICK_API const char *wick_dataset_known(int i);
/* Where a set known by name is: the folder that wick_dataset_open reads its training images from. False, and "": nowhere. */
WICK_API bool wick_dataset_find(const char *name, char *folder, size_t size);
WICK_API void wick_dataset_free(wick_dataset **dataset);
WICK_API int64_t wick_dataset_count(const wick_dataset *dataset);
WICK_API int wick_dataset_rank(const wick_dataset *dataset); /* of one sample: 2 for [28, 28] */
WICK_API const int64_t *wick_dataset_dims(const wick_dataset *dataset);
WICK_API int64_t wick_dataset_classes(const wick_dataset *dataset);
WICK_API const char *wick_dataset_class_name(const wick_dataset *dataset, int64_t label); /* "7", "Ankle boot" */
WICK_API const uint8_t *wick_dataset_sample(const wick_dataset *dataset, int64_t i); /* raw pixels; NULL outside */
WICK_API int64_t wick_dataset_label(const wick_dataset *dataset, int64_t i);         /* -1 outside */
/* Mean and standard deviation of all pixels / 255, for normalisation. */
WICK_API void wick_dataset_moments(const wick_dataset *dataset, double *mean, double *deviation);

typedef struct wick_loader_options {
    int64_t batch;          /* samples a batch; the last, smaller one is dropped when drop_last */
    bool shuffle, drop_last;
    uint64_t seed;          /* the order of epoch e is a function of (seed, e) */
    double mean, deviation; /* pixels become (p / 255 - mean) / deviation; deviation 0 means 1 */
} wick_loader_options;
typedef struct wick_loader wick_loader;
/* The dataset must outlive the loader. */
WICK_API WICK_MUST_CHECK wick_status wick_loader_new(wick_context *ctx, const wick_dataset *dataset,
                                                     const wick_loader_options *options, wick_loader **out);
WICK_API void wick_loader_free(wick_loader **loader);
/* Fills x (batch x sample, f32) and y (batch, i64); returns how many samples, 0 at the end of the epoch: the next call starts
 * the next epoch. */
WICK_API int64_t wick_loader_next(wick_loader *loader, float *x, int64_t *y);
WICK_API int64_t wick_loader_batches(const wick_loader *loader); /* per epoch */
/* The place, for checkpoints: the epoch and how many of its samples were handed out. */
WICK_API void wick_loader_position(const wick_loader *loader, int64_t *epoch, int64_t *sample);
WICK_API WICK_MUST_CHECK wick_status wick_loader_seek(wick_loader *loader, int64_t epoch, int64_t sample);

#ifdef __cplusplus
}
#endif
#endif
