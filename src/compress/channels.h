/* channels.h: which channels of a function's tensors can only be removed together. Every index of every axis of every
 * value is an element; ops join the elements that belong together, from which classes follow (union-find). Fang et al.
 * 2023, "DepGraph: Towards Any Structural Pruning", have the same dependencies between layers; here they are between
 * single indices, so that concat, slices and flattening need no offsets of their own. */
#ifndef WICK_COMPRESS_CHANNELS_H
#define WICK_COMPRESS_CHANNELS_H

#include "compress/subject.h"

#define WICK_FIXED_EXTENT "extent" /* why an axis stays that is none of channels */

typedef struct wick_channels {
    wick_subject s;
    uint32_t *base;    /* by value and axis: number of its first element */
    uint32_t *parent;  /* by element */
    const char **pins; /* by root: why it can't be removed; NULL: it can */
    uint32_t n;
} wick_channels;

/* Joins the channels of what fn records for inputs like in[]. After a failure, too, c->s is to be freed. */
wick_status wick_channels_find(wick_channels *c, wick_context *ctx, wick_function fn, void *user, int n_in,
                               wick_tensor *const *in, int n_out);
/* The class of index i along axis, named by one of its elements. */
uint32_t wick_channels_class(const wick_channels *c, const wick_value *v, int axis, int64_t i);
/* How many indices an axis has; 0: its extent is a symbol. */
static inline int64_t wick_channels_extent(const wick_value *v, int axis) {
    return v->type.dims[axis] > 0 ? v->type.dims[axis] : 0;
}
#endif
