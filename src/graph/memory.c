/* memory.c: one arena for all intermediates. A buffer lives from its first step to its last; buffers that live at
 * different times share bytes. Each is put at the lowest place that is free during its whole life, the largest first
 * (greedy by size: Pisarchyk, Lee 2020, "Efficient Memory Management for Deep Neural Net Inference"), and also in order
 * of first use. Where neither fits well, whatever ends up on top is placed earlier in the next try ("squeaky wheel":
 * Joslin, Clements 1999), first or, to get out of cycles, anywhere before; the smallest arena wins. */
#include <stdlib.h>

#include "graph/graph.h"

typedef struct item {
    uint32_t buffer;
    int32_t first, last;
    size_t size, offset;
} item;

static int by_size(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : (x->buffer < y->buffer ? -1 : x->buffer > y->buffer);
}
static int by_start(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return by_size(a, b);
}

/* Places items in their order; returns the bytes used. placed has room for all: it lists them by offset. With in_time
 * the order is that of by_start, and what ended before an item begins is forgotten. Where the watch is over it ends,
 * with places of some. */
static size_t place(wick_watch *watch, item *items, size_t n, item **placed, bool in_time) {
    size_t total = 0, n_placed = 0;
    for (size_t i = 0; i < n && wick_watch_spend(watch, n_placed); i++) {
        if (in_time) {
            size_t alive = 0;
            for (size_t m = 0; m < n_placed; m++)
                if (placed[m]->last >= items[i].first) placed[alive++] = placed[m];
            n_placed = alive;
        }
        size_t at = 0, k = n_placed++;
        for (size_t m = 0; m < k; m++) {
            const item *other = placed[m];
            if (other->first > items[i].last || items[i].first > other->last) continue; /* never at the same time */
            if (other->offset >= at + items[i].size) break;
            at = WICK_MAX(at, other->offset + other->size);
        }
        items[i].offset = at;
        total = WICK_MAX(total, at + items[i].size);
        for (; k > 0 && placed[k - 1]->offset > at; k--) placed[k] = placed[k - 1];
        placed[k] = &items[i];
    }
    return total;
}

/* The order that did best, kept as the offsets it gave. */
static void keep(wick_lower *l, const item *items, size_t n) {
    for (size_t i = 0; i < n; i++) l->buffers[items[i].buffer].offset = items[i].offset;
}

#define TRIES 256       /* orders tried where no perfect fit is found, ... */
#define PAIRS 100000000 /* ... and pairs of buffers looked at */

wick_status wick_plan_memory(wick_lower *l, size_t *arena, size_t *live) {
    size_t n = 0;
    const wick_allocator *alloc = &l->ctx->alloc;
    size_t bytes = (l->n_buffers + 1) * (sizeof(item) + sizeof(item *)) + (l->n_steps + 2) * sizeof(int64_t);
    item *items = wick_calloc(alloc, bytes);
    if (!items) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory laying out the arena");
    item **placed = (item **)(items + l->n_buffers + 1);
    int64_t *change = (int64_t *)(placed + l->n_buffers + 1);
    for (size_t i = 0; i < l->n_buffers; i++) {
        const wick_buffer *b = &l->buffers[i];
        if (b->kind != WICK_BUFFER_TEMP || b->first < 0) continue;
        size_t size = WICK_ALIGN_UP(WICK_MAX(b->size, 1), WICK_ALIGN);
        items[n++] = (item){(uint32_t)i, b->first, b->last, size, 0};
        change[b->first] += (int64_t)size;
        change[b->last + 1] -= (int64_t)size;
    }
    int64_t now = 0, peak = 0;
    for (size_t i = 0; i <= l->n_steps; i++) {
        now += change[i];
        peak = WICK_MAX(peak, now);
        if (i < l->n_steps) l->steps[i].live = (size_t)now;
    }
    *live = (size_t)peak;
    qsort(items, n, sizeof *items, by_start);
    *arena = place(&l->ctx->watch, items, n, placed, true);
    keep(l, items, n);
    if (*arena > *live) qsort(items, n, sizeof *items, by_size);
    uint64_t random = 1; /* Knuth's MMIX generator, of which the upper half is good */
    for (size_t tries = 1; *arena > *live && tries <= TRIES && tries * n * n <= PAIRS; tries++) {
        size_t total = place(&l->ctx->watch, items, n, placed, false), top = 0;
        if (l->ctx->watch.over != WICK_OK) break;
        if (total < *arena) {
            *arena = total;
            keep(l, items, n);
        }
        while (items[top].offset + items[top].size < total) top++;
        if (top == 0) break; /* placed first and still at the top: it alone is the arena */
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t to = random >> 63 ? 0 : (size_t)(random >> 33) % top;
        const item moved = items[top];
        memmove(items + to + 1, items + to, (top - to) * sizeof *items);
        items[to] = moved;
    }
    wick_release(alloc, items, bytes);
    return wick_context_spend(l->ctx, 0, l->msg);
}
