/* tags.h: what memory is for: a tracker between a context and its allocator keeps a list of all blocks, each with a tag
 * and the place that was at work. Code says what it allocates for by the tag of its thread. */
#ifndef WICK_RUNTIME_TAGS_H
#define WICK_RUNTIME_TAGS_H

#include <stdatomic.h>

#include "base/base.h"

typedef enum wick_tag {
    WICK_TAG_OTHER,
    WICK_TAG_TENSORS,    /* values in memory: weights, states, results */
    WICK_TAG_NODES,      /* recorded, and handles */
    WICK_TAG_PLANS,      /* graphs, steps, constants */
    WICK_TAG_WORKSPACES, /* intermediates of runs, scratch of threads */
    WICK_TAG_PACKS,      /* weights as kernels read them */
    WICK_TAG_BUFFERS,    /* wick_buffer_new */
    WICK_TAG_DATA,       /* batches of loaders */
    WICK_TAGS
} wick_tag;
const char *wick_tag_name(wick_tag tag); /* "tensors" */
/* The tag of what this thread allocates from now on; returns what it was, to be set again. */
wick_tag wick_tag_set(wick_tag tag);

typedef struct wick_tracked {
    void *at; /* NULL: a free place of the table */
    size_t size;
    const char *site; /* or NULL */
    uint32_t tag;
} wick_tracked;
typedef struct wick_tag_sum {
    size_t bytes, peak;
    uint64_t blocks;
} wick_tag_sum;

/* What there was over time, in equal pieces of it: of each, the moment with most in use. When all are taken two
 * neighbours become one, and each piece is twice as long. */
enum { WICK_COURSE_POINTS = 512 };
typedef struct wick_course_point {
    size_t all, bytes[WICK_TAGS];
} wick_course_point;
typedef struct wick_course {
    uint64_t began, width; /* ns */
    int n;                 /* pieces so far */
    wick_course_point at[WICK_COURSE_POINTS];
} wick_course;

/* Any thread may allocate. Counts are exact: a block that can't be listed is not given. */
typedef struct wick_tracker {
    wick_allocator below;
    const char *(*site)(void); /* the place that is at work, static */
    atomic_bool held;    /* by wick_tracker_lock */
    wick_tracked *table; /* open addressing, at most half full; from malloc, and not counted */
    size_t slots, used;  /* a power of two, or 0 */
    wick_tag_sum sums[WICK_TAGS], all;
    wick_course *course; /* NULL: it isn't kept; from malloc, and not counted */
} wick_tracker;
/* A lock that is held for some ten instructions, but where the table grows or is read as a whole. A mutex would take as
 * many instructions as the list itself. Who has to wait lets others run, and sleeps where that goes on. */
void wick_tracker_wait(wick_tracker *t);
static inline void wick_tracker_lock(wick_tracker *t) {
    if (WICK_UNLIKELY(atomic_exchange_explicit(&t->held, true, memory_order_acquire))) wick_tracker_wait(t);
}
static inline void wick_tracker_unlock(wick_tracker *t) {
    atomic_store_explicit(&t->held, false, memory_order_release);
}
wick_status wick_tracker_init(wick_tracker *t, const wick_allocator *below, const char *(*site)(void));
void wick_tracker_free(wick_tracker *t); /* all blocks have been released */
wick_allocator wick_tracker_allocator(wick_tracker *t);
/* Keeps the course from now on, from its beginning again where it was kept already. */
wick_status wick_tracker_record(wick_tracker *t);
/* Brings it to now, if there is one. Under the lock. */
void wick_course_bring(wick_tracker *t);
static inline void wick_course_look(wick_tracker *t) {
    if (WICK_UNLIKELY(t->course)) wick_course_bring(t);
}

#endif
