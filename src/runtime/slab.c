#include "runtime/slab.h"

#include "runtime/tags.h"

#define CHUNK_SIZE (64 * 1024)

struct wick_slab_chunk {
    struct wick_slab_chunk *next;
    char pad[8]; /* objects start 16-byte aligned */
};

void wick_slab_init(wick_slab *slab, const wick_allocator *alloc) {
    memset(slab, 0, sizeof *slab);
    slab->alloc = alloc;
}

static void *slab_from_chunk(wick_slab *slab, size_t size) {
    if ((size_t)(slab->end - slab->at) < size) { /* what is left of the old chunk (under 2 KiB) is given up */
        const wick_tag was = wick_tag_set(WICK_TAG_NODES);
        struct wick_slab_chunk *chunk = wick_alloc(slab->alloc, CHUNK_SIZE);
        wick_tag_set(was);
        if (!chunk) return NULL;
        chunk->next = slab->chunks;
        slab->chunks = chunk;
        slab->at = (char *)(chunk + 1);
        slab->end = (char *)chunk + CHUNK_SIZE;
    }
    void *ptr = slab->at;
    slab->at += size;
    return ptr;
}

void *wick_slab_alloc(wick_slab *slab, size_t size) {
    if (WICK_UNLIKELY(size > WICK_SLAB_MAX)) {
        const wick_tag was = wick_tag_set(WICK_TAG_NODES);
        void *large = wick_alloc(slab->alloc, size);
        wick_tag_set(was);
        if (large) slab->bytes += size;
        return large;
    }
    size_t class = size ? (size - 1) / WICK_SLAB_STEP : 0;
    void *ptr = slab->free[class];
    if (WICK_LIKELY(ptr != NULL)) memcpy(&slab->free[class], ptr, sizeof(void *));
    else if (!(ptr = slab_from_chunk(slab, (class + 1) * WICK_SLAB_STEP))) return NULL;
    slab->bytes += size;
    return ptr;
}

void wick_slab_release(wick_slab *slab, void *ptr, size_t size) {
    if (!ptr) return;
    slab->bytes -= size;
    if (size > WICK_SLAB_MAX) {
        wick_release(slab->alloc, ptr, size);
        return;
    }
    size_t class = size ? (size - 1) / WICK_SLAB_STEP : 0;
    memcpy(ptr, &slab->free[class], sizeof(void *));
    slab->free[class] = ptr;
}

void wick_slab_free(wick_slab *slab) {
    while (slab->chunks) {
        struct wick_slab_chunk *next = slab->chunks->next;
        wick_release(slab->alloc, slab->chunks, CHUNK_SIZE);
        slab->chunks = next;
    }
    wick_slab_init(slab, slab->alloc);
}
