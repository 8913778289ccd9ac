/* dataset.h: a data set from inside: what its maker supplied, and which of its samples are kept. */
#ifndef WICK_DATA_DATASET_H
#define WICK_DATA_DATASET_H

#define WICK_NO_SITES
#include "base/base.h"
#include "tensor/tensor.h" /* the context's allocator */
#include "wick/dataset.h"

struct wick_stream;
struct wick_time_histogram;
struct wick_dataset {
    wick_allocator alloc;
    wick_arena names; /* of fields, and of classes that are numbers */
    wick_dataset_source source;
    int64_t *picked; /* count numbers in the source; NULL: all of them */
    int64_t picked_cap;
    const char **class_names; /* NULL: the source has them */
    size_t field_bytes[WICK_DATASET_FIELDS]; /* of a sample; where the length varies, of one row */
    const wick_dataset *const *parts;        /* what it asks, n_parts of them: their caches are counted too */
    int n_parts;
    struct wick_time_histogram *cached[2]; /* of a cache: times of hits and of misses; else NULL */
    struct wick_stream *stream;              /* where samples come one after the other; NULL: each by its number */
};

/* WICK_ERR_UNSUPPORTED where one of the sets has no samples by number. */
wick_status wick_dataset_by_number(wick_context *ctx, int n, const wick_dataset *const *sets);
/* Appends the times of all caches that it asks, behind the n that are there, to at most `most`: hits to meters[0],
 * misses to meters[1]; returns how many there are then. */
int wick_dataset_cache_times(const wick_dataset *d, int n, int most, struct wick_time_histogram **meters[2]);
/* Elements of the dims from `first` on; -1: they do not fit 63 bits. */
int64_t wick_field_elements(const wick_spec *field, int first);
static inline bool wick_field_varies(const wick_spec *field) { return field->rank > 0 && field->dims[0] < 0; }

#endif
