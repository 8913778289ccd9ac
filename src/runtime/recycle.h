/* recycle.h: large blocks that were freed stay at hand for the next one of their size. A fresh block of the system's is
 * cleared as it is first written, which takes twice as long as to write it; a loop that makes the same large results
 * again and again has that in every turn.
 *
 * The system may take what lies there whenever it is short of memory (MADV_FREE): nothing is read of it. A block of
 * another size, or more than WICK_RECYCLE_BYTES of them, let go of all that waits, so that a process holds no more than
 * it has already held at once. The address sanitizer goes without, since it looks for uses of what was freed. */
#ifndef WICK_RUNTIME_RECYCLE_H
#define WICK_RUNTIME_RECYCLE_H

#include <pthread.h>

#include "base/base.h"

#define WICK_RECYCLE_FROM   ((size_t)4 << 20) /* bytes of a block: smaller ones malloc keeps itself */
#define WICK_RECYCLE_BYTES  ((size_t)256 << 20)
#define WICK_RECYCLE_BLOCKS 8

typedef struct wick_recycle {
    wick_allocator alloc; /* where blocks come from and go to */
    pthread_mutex_t lock;
    size_t bytes; /* of what waits */
    int n;
    struct {
        void *ptr;
        size_t size;
    } at[WICK_RECYCLE_BLOCKS]; /* the one freed last at the end */
} wick_recycle;

void wick_recycle_init(wick_recycle *r, const wick_allocator *alloc);
void wick_recycle_free(wick_recycle *r); /* lets go of all that waits; every block must have come back */
/* An allocator that stands on r; from any thread. */
wick_allocator wick_recycle_allocator(wick_recycle *r);

#endif
