/* arena.c: bump allocation.
 *
 *   arena.chunk ─► newest ─► older ─► ... ─► oldest
 *                  [next|size|used| used bytes ........ | free ...... ]
 *                                 ^ data: 16-byte aligned
 *
 * Only the newest chunk is filled. A block that would waste most of a fresh chunk gets a chunk of its own, linked
 * behind the newest, so the newest keeps its free space. Chunk sizes double up to a bound, so n bytes take O(log n)
 * chunks at first, and a small arena stays small. */
#include "base/base.h"

enum {
    DATA_ALIGN = 16,
    DEFAULT_CHUNK = 4096,
    GROWTH_BOUND = 1 << 17 /* chunks larger than this are only made when asked for */
};

typedef struct wick_arena_chunk {
    struct wick_arena_chunk *next;
    size_t size; /* bytes of data */
    size_t used;
    size_t pad;
} chunk;
_Static_assert(sizeof(chunk) % DATA_ALIGN == 0, "data starts right behind the header");

static chunk *chunk_new(wick_arena *arena, size_t size) {
    size_t total;
    if (wick_add_overflows(size, sizeof(chunk), &total)) return NULL;
    chunk *c = wick_alloc(arena->alloc, total);
    if (!c) return NULL;
    *c = (chunk){.size = size};
    arena->bytes += total;
    return c;
}

static void chunk_free(wick_arena *arena, chunk *c) {
    size_t total = sizeof(chunk) + c->size;
    arena->bytes -= total;
    wick_release(arena->alloc, c, total);
}

void wick_arena_init(wick_arena *arena, const wick_allocator *alloc, size_t chunk_size) {
    *arena = (wick_arena){.alloc = alloc, .chunk_size = chunk_size ? chunk_size : DEFAULT_CHUNK};
}

static void *bump(chunk *c, size_t size) {
    void *at = (char *)(c + 1) + c->used;
    c->used += size;
    return at;
}

static void *alloc_slow(wick_arena *arena, size_t size) {
    chunk *top = arena->chunk;
    if (top && size > arena->chunk_size / 2) {
        chunk *own = chunk_new(arena, size);
        if (!own) return NULL;
        own->next = top->next;
        top->next = own;
        return bump(own, size);
    }
    chunk *c = chunk_new(arena, WICK_MAX(size, arena->chunk_size));
    if (!c) return NULL;
    if (arena->chunk_size <= GROWTH_BOUND / 2) arena->chunk_size *= 2;
    c->next = top;
    arena->chunk = c;
    return bump(c, size);
}

void *wick_arena_alloc(wick_arena *arena, size_t size) {
    if (size > PTRDIFF_MAX) return NULL; /* also keeps the rounding from wrapping */
    size = WICK_ALIGN_UP(size ? size : 1, DATA_ALIGN);
    chunk *c = arena->chunk;
    if (WICK_LIKELY(c && c->size - c->used >= size)) return bump(c, size);
    return alloc_slow(arena, size);
}

void *wick_arena_zalloc(wick_arena *arena, size_t size) {
    void *at = wick_arena_alloc(arena, size);
    return at ? memset(at, 0, size) : NULL;
}

char *wick_arena_strdup(wick_arena *arena, const char *s) {
    size_t size = strlen(s) + 1;
    char *at = wick_arena_alloc(arena, size);
    return at ? memcpy(at, s, size) : NULL;
}

void wick_arena_reset(wick_arena *arena) {
    chunk *keep = arena->chunk;
    for (chunk *c = keep; c; c = c->next)
        if (c->size > keep->size) keep = c;
    for (chunk *c = arena->chunk, *next; c; c = next) {
        next = c->next;
        if (c != keep) chunk_free(arena, c);
    }
    if (keep) keep->next = NULL, keep->used = 0;
    arena->chunk = keep;
}

void wick_arena_free(wick_arena *arena) {
    for (chunk *c = arena->chunk, *next; c; c = next) {
        next = c->next;
        chunk_free(arena, c);
    }
    arena->chunk = NULL;
}
