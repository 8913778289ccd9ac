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

#ifdef __cplusplus
}
#endif
#endif
