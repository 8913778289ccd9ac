/* alloc.c: memory from the host's allocator, or from malloc. */
#include <stdlib.h>

#include "base/base.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

/* Blocks of some huge pages are aligned to them and ask for them: plans go over all of an arena in every run, and small
 * pages cost misses of the address cache and a fault each. */
enum { HUGE_PAGE = 2 << 20, HUGE_FROM = 2 * HUGE_PAGE };

static void *default_alloc(void *user, size_t size, size_t align) {
    (void)user;
    void *ptr = NULL;
    if (size > PTRDIFF_MAX) return NULL; /* pointer differences inside the block must fit */
    const bool huge = size >= HUGE_FROM;
    if (posix_memalign(&ptr, WICK_MAX(huge ? HUGE_PAGE : align, sizeof(void *)), size) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    /* a wish: without it all works as well */
    if (huge) (void)madvise(ptr, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return ptr;
}

static void default_release(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}

const wick_allocator *wick_allocator_default(void) {
    static const wick_allocator a = {NULL, default_alloc, default_release};
    return &a;
}

/* A host's alloc(0) may well return NULL, so nothing smaller than one byte is ever asked for. */
static size_t asked(size_t size) { return size ? size : 1; }

void *wick_alloc(const wick_allocator *a, size_t size) {
    if (!a) a = wick_allocator_default();
    return a->alloc(a->user, asked(size), WICK_ALIGN);
}

void *wick_calloc(const wick_allocator *a, size_t size) {
    void *ptr = wick_alloc(a, size);
    if (ptr) memset(ptr, 0, asked(size));
    return ptr;
}

void wick_release(const wick_allocator *a, void *ptr, size_t size) {
    if (!ptr) return;
    if (!a) a = wick_allocator_default();
    a->release(a->user, ptr, asked(size));
}

void wick_use_sparsely(void *ptr, size_t size) {
#ifdef MADV_NOHUGEPAGE
    /* no other block lies in these */
    const uintptr_t from = WICK_ALIGN_UP((uintptr_t)ptr, HUGE_PAGE),
                    to = ((uintptr_t)ptr + size) / HUGE_PAGE * HUGE_PAGE;
    if (to > from) (void)madvise((void *)from, to - from, MADV_NOHUGEPAGE);
#else
    (void)ptr, (void)size;
#endif
}

void wick_give_up(void *ptr, size_t size) {
#ifdef MADV_FREE
    /* where pages are larger the call refuses, and nothing changes */
    const uintptr_t page = 4096, from = WICK_ALIGN_UP((uintptr_t)ptr, page), to = ((uintptr_t)ptr + size) / page * page;
    if (to > from) (void)madvise((void *)from, to - from, MADV_FREE);
#else
    (void)ptr, (void)size;
#endif
}

bool wick_grow(const wick_allocator *a, void **ptr, size_t *cap, size_t need, size_t elem) {
    if (need <= *cap) return true;
    size_t twice, bytes, more;
    if (wick_mul_overflows(*cap, 2, &twice)) twice = need;
    more = WICK_MAX(WICK_MAX(need, twice), 8);
    if (wick_mul_overflows(more, elem, &bytes)) {
        more = need; /* doubling went too far; what is needed may still fit */
        if (wick_mul_overflows(more, elem, &bytes)) return false;
    }
    void *grown = wick_alloc(a, bytes);
    if (!grown) return false;
    if (*ptr) memcpy(grown, *ptr, *cap * elem);
    wick_release(a, *ptr, *cap * elem);
    *ptr = grown;
    *cap = more;
    return true;
}
