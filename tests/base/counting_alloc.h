/* counting_alloc.h: an allocator that fails its n-th allocation, checks every release, and counts what is live. */
#ifndef WICK_TESTS_COUNTING_ALLOC_H
#define WICK_TESTS_COUNTING_ALLOC_H

#include "base/base.h"
#include "test.h"

typedef struct counting {
    int64_t calls;   /* allocations asked for */
    int64_t fail_at; /* this one fails and the later ones too; -1: none */
    int64_t live, live_bytes;
} counting;

/* Each block is preceded by its size, so that a release with another size shows. */
static inline void *counting_alloc(void *user, size_t size, size_t align) {
    counting *c = user;
    int64_t call = c->calls++;
    if (c->fail_at >= 0 && call >= c->fail_at) return NULL;
    char *block = NULL;
    if (size > PTRDIFF_MAX - align || posix_memalign((void **)&block, align, size + align) != 0) return NULL;
    memcpy(block + align - sizeof size, &size, sizeof size);
    memset(block + align, 0xA5, size);
    c->live++, c->live_bytes += (int64_t)size;
    return block + align;
}

static inline void counting_release(void *user, void *ptr, size_t size) {
    counting *c = user;
    size_t asked;
    memcpy(&asked, (char *)ptr - sizeof asked, sizeof asked);
    CHECK_INT(size, asked);
    c->live--, c->live_bytes -= (int64_t)asked;
    free((char *)ptr - WICK_ALIGN); /* Wick asks for no other alignment */
}

static inline wick_allocator counting_allocator(counting *c) {
    return (wick_allocator){c, counting_alloc, counting_release};
}

#endif
