/* wick/loader.h: batches of a data set, shuffled and normalised, from a place that is never lost. */
#ifndef WICK_LOADER_H
#define WICK_LOADER_H

#include "wick/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_loader_options {
    int64_t batch;          /* samples a batch; the last, smaller one is dropped when drop_last */
    bool shuffle, drop_last;
    uint64_t seed;          /* the order of epoch e is a function of (seed, e) */
    double mean, deviation; /* pixels become (p / 255 - mean) / deviation; deviation 0 means 1 */
    /* Augmentation, of samples [..., height, width]: what happens to a sample is a function of (seed, epoch, its number), whatever the batch. */
    bool flip;    /* mirror left and right with probability 1/2 */
    int64_t crop; /* pad with so many black pixels (0, before normalising) on all sides, then cut the size out at a random place; less than
                   * height and width */
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
