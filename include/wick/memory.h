/* wick/memory.h: what a context's memory is for, and which lines of the program it came from. A context that was made
 * with track_memory keeps a list of its blocks; each allocation then takes some tens of
 * nanoseconds more.
 *
 *   wick_memory_mark(ctx);
 *   for (int i = 0; i < 100; i++) step();
 *   if (wick_memory_growth(ctx, 1 << 20) > 0) {           // more than 1 MiB that was not there before
 *       wick_memory_row r = wick_memory_row_at(ctx, 0);   // "model.c:41", 6.4 MB in 100 blocks
 */
#ifndef WICK_MEMORY_H
#define WICK_MEMORY_H

#include "wick/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_memory_use {
    const char *name;   /* NULL: there is no such one */
    size_t bytes, peak; /* now; the most there were at once */
    uint64_t blocks;
} wick_memory_use;
/* Use i of the context's memory, from 0: "tensors" (weights, states, results), "recorded nodes", "plans", "workspaces"
 * (intermediates of runs, scratch, and what a plan keeps between runs), "packed weights" (that the plans of a dynamic
 * function share), "buffers" (wick_buffer_new), "data" (batches of loaders), "other". Together they are all that the
 * context has allocated, to the byte, as max_memory counts it. Zeros without track_memory. */
WICK_API wick_memory_use wick_memory_use_at(const wick_context *context, int i);
/* Their sum; peak is the most there was at once. */
WICK_API wick_memory_use wick_memory_all(const wick_context *context);

typedef struct wick_memory_row {
    const char *place; /* "file:line" that was at work, or that recorded what was computed; "" where none is known */
    const char *use;   /* as above */
    size_t bytes;
    uint64_t blocks;
    int64_t grown; /* bytes more, or less, than at the mark; 0 without one */
} wick_memory_row;
/* Rows by place and use, those of most bytes first; how many, -1 without track_memory or where memory is out, with the
 * context's error. They stay until the next call. Small things are put into blocks of 64 KiB by the line that needed a
 * new one. */
WICK_API int wick_memory_rows(wick_context *context);
WICK_API wick_memory_row wick_memory_row_at(const wick_context *context, int i); /* cleared outside */
/* Remembers what there is now ... */
WICK_API WICK_MUST_CHECK wick_status wick_memory_mark(wick_context *context);
/* ... and makes the rows those that have grown by at least `threshold` bytes since, most first; how many; -1 as above.
 */
WICK_API int wick_memory_growth(wick_context *context, size_t threshold);

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

/* What a context's memory was at a moment: uses, rows, where blocks lie, and, where that was recorded, the course of it
 * until then. Drawn, kept as text, and compared with another:
 *
 *   wick_memory_record(ctx);
 *   ... a training ...
 *   wick_memory_snapshot *now;
 *   wick_memory_snapshot_take(ctx, &now);
 *   wick_memory_snapshot_write(ctx, now, NULL, "memory.svg");
 *   wick_memory_snapshot_free(&now); */
typedef struct wick_memory_snapshot wick_memory_snapshot;

/* Keeps the course of memory by use from now on, in at most 512 pieces of equal length, each with the moment at which
 * most was in use: a peak is never lost. An allocation then takes a reading of the clock more. */
WICK_API WICK_MUST_CHECK wick_status wick_memory_record(wick_context *context);
/* WICK_ERR_INVALID: a context without track_memory. Makes the rows of wick_memory_rows anew. */
WICK_API WICK_MUST_CHECK wick_status wick_memory_snapshot_take(wick_context *context, wick_memory_snapshot **out);
WICK_API void wick_memory_snapshot_free(wick_memory_snapshot **snapshot); /* null-safe, nulls */
/* By the end of the name: .svg a drawing (course, uses, holes between blocks), .html a page with it and the rows, which
 * fetches nothing, .tsv the snapshot itself as text, to be read again. With `before` (or NULL) a drawing also shows
 * its course, and which rows grew and shrank since. A file that is there is replaced, as a whole, if it is one of these
 * or a profile; anything else is WICK_ERR_INVALID. Errors are the context's. */
WICK_API WICK_MUST_CHECK wick_status wick_memory_snapshot_write(wick_context *context,
                                                                const wick_memory_snapshot *snapshot,
                                                                const wick_memory_snapshot *before, const char *path);
/* Reads a .tsv. WICK_ERR_FORMAT: it is none, or is damaged; the context's error names the line. */
WICK_API WICK_MUST_CHECK wick_status wick_memory_snapshot_read(wick_context *context, const char *path,
                                                               wick_memory_snapshot **out);

typedef struct wick_memory_snapshot_info {
    size_t bytes, peak; /* as of wick_memory_all */
    uint64_t blocks;
    double seconds;       /* of the course; 0: none was recorded */
    int points;           /* of it */
    size_t course_peak;   /* the most in it */
    int regions;          /* ranges of addresses with less than 4 MiB between their blocks */
    size_t extent, holes; /* bytes of them all; of these, between blocks */
} wick_memory_snapshot_info;
WICK_API wick_memory_snapshot_info wick_memory_snapshot_get_info(const wick_memory_snapshot *snapshot);
/* Rows by place and use of `now` less those of `before` (NULL: nothing), those that changed most first: `grown` is the
 * difference, of rows that are gone bytes is 0. false: there is no i-th. */
WICK_API bool wick_memory_snapshot_change(const wick_memory_snapshot *now, const wick_memory_snapshot *before, int i,
                                          wick_memory_row *out);

/* ---- a pool ------------------------------------------------------------------------------------------------------ */

/* A context's memory from one range of addresses, with a maximum: contexts of one process then don't take from each
 * other, nothing is left to malloc, and there are figures. Not the default: malloc is as fast, and gives to all.
 *
 *   const wick_memory_pool_options pool = {.max = (size_t)4 << 30};
 *   wick_context_new(&(wick_context_options){.memory_pool = &pool}, &ctx);
 *
 * Addresses for all of `max` are reserved at once, which takes no memory; pages come when they are first written. */
typedef struct wick_memory_pool_options {
    size_t initial; /* bytes that it may take at first; 0: 2 GiB, or max where that is less */
    double growth;  /* where they are too few, this many times as many, up to max; 0: 1.5. From 1.01 to 16 */
    size_t max;     /* bytes; beyond it memory is out, and wick_context_error has the figures. 0: 8 GiB; at most 2^47 */
    /* Pages that lie free go back to the system where they are more than this part of what it may take, or where those
     * between blocks are more than this part of `extent`; 0: 0.15. All but 1 MiB of them do when nothing is in use
     */
    double fragmentation;
    /* Pages of 2 MiB that the machine keeps for who asks (hugetlbfs, sysctl vm.nr_hugepages). Capacity comes of them,
     * `initial` (0 then: 64 MiB) and each growth, as long as there are enough; what follows is of ordinary pages, which
     * wick_context_placement_note tells of where it is all of it. They are taken at once and never given back, so that
     * no later write can fail for want of one; a child of fork that writes what they hold may be ended by the system */
    bool huge_pages;
} wick_memory_pool_options;

typedef struct wick_memory_pool_info {
    size_t capacity, max;  /* bytes that it may take now; at most */
    size_t used, peak;     /* bytes that were asked for and not released; the most there were at once */
    size_t extent;         /* bytes from its beginning to the end of its last block */
    size_t free_bytes;     /* of them, in free blocks */
    double fragmentation;  /* of them those that hold pages, as part of extent */
    uint64_t allocations, releases, refused;
    uint64_t grown, trimmed; /* how often it became larger, and gave pages back */
    size_t huge_bytes;       /* of capacity: in huge pages that were kept for it */
} wick_memory_pool_info;
/* false, and zeros: the context has no pool. */
WICK_API bool wick_memory_pool_get_info(const wick_context *context, wick_memory_pool_info *stats);
/* Gives the pages of all free blocks of 64 KiB and more back to the system. Nothing happens without a pool. */
WICK_API void wick_memory_pool_trim(wick_context *context);
/* Options of contexts that are made from now on, by any thread, without an allocator or a pool of their own: each gets
 * a pool to itself. NULL: none, as at the beginning. Copied. */
WICK_API void wick_memory_pool_set_default(const wick_memory_pool_options *options);

#ifdef __cplusplus
}
#endif
#endif
