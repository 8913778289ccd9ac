/* slab.h: small objects of one thread (nodes, handles): size classes of 32 bytes with free lists over large chunks. */
#ifndef WICK_RUNTIME_SLAB_H
#define WICK_RUNTIME_SLAB_H

#include "base/base.h"

#define WICK_SLAB_STEP 32
#define WICK_SLAB_MAX 2048

typedef struct wick_slab {
    const wick_allocator *alloc;
    void *free[WICK_SLAB_MAX / WICK_SLAB_STEP];
    struct wick_slab_chunk *chunks;
    char *at, *end;
    size_t bytes; /* of live objects */
} wick_slab;

void wick_slab_init(wick_slab *slab, const wick_allocator *alloc);
/* Uninitialised, 16-byte aligned; NULL when out of memory. Sizes above WICK_SLAB_MAX go to the allocator. */
void *wick_slab_alloc(wick_slab *slab, size_t size);
void wick_slab_release(wick_slab *slab, void *ptr, size_t size);
void wick_slab_free(wick_slab *slab); /* everything at once, except objects above WICK_SLAB_MAX */

#endif
