/* labelled.h: labelled images in memory, which the kinds of sets fill in; a data set to everyone else. */
#ifndef WICK_DATA_LABELLED_H
#define WICK_DATA_LABELLED_H

#define WICK_NO_SITES
#include "base/base.h"
#include "tensor/tensor.h" /* the context's allocator and threads */
#include "wick/dataset.h"

#define WICK_CLASSES_MAX 65536 /* labels are u16 */

typedef struct wick_labelled {
    wick_allocator alloc;
    wick_arena names; /* of classes */
    int64_t count, classes, resized; /* resized: pictures that had another size */
    int rank; /* of one sample */
    int64_t dims[WICK_MAX_DIMS];
    int64_t sample_size; /* product of dims */
    uint8_t *pixels;     /* [count, dims] */
    size_t pixel_bytes;
    uint16_t *labels; /* [count] */
    size_t label_bytes;
    const char **class_names;
} wick_labelled;

/* What a set's name says about it. */
typedef struct wick_known_set {
    const char *name;
    int64_t classes;
    const char *const *class_names;
} wick_known_set;

/* A kind of set: how its files are named, and who reads them. */
typedef struct wick_set_kind {
    bool (*is)(const char *folder, const char *split); /* has that split */
    /* known is NULL for a folder. Fills in d, whose alloc and names are set; who calls frees it on failure. */
    wick_status (*read)(wick_context *ctx, wick_labelled *d, const char *folder, const char *split,
                        const wick_known_set *known, wick_msg *msg);
} wick_set_kind;
extern const wick_set_kind wick_idx_set, wick_image_set, wick_records_set;

/* For the kinds: memory for the labels of d->count samples, and for d->classes names, taken from known or to be filled
 * in. */
WICK_MUST_CHECK wick_status wick_labelled_alloc_labels(wick_labelled *d, wick_msg *msg);
WICK_MUST_CHECK wick_status wick_labelled_alloc_names(wick_labelled *d, const wick_known_set *known, wick_msg *msg);

#endif
