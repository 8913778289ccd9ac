#include "runtime/recycle.h"

static void let_go(wick_recycle *r) {
    for (int i = 0; i < r->n; i++) r->alloc.release(r->alloc.user, r->at[i].ptr, r->at[i].size);
    r->n = 0;
    r->bytes = 0;
}

static void *take(wick_recycle *r, size_t size) {
    for (int i = r->n; i-- > 0;) {
        if (r->at[i].size != size) continue;
        void *ptr = r->at[i].ptr;
        memmove(&r->at[i], &r->at[i + 1], (size_t)(--r->n - i) * sizeof *r->at);
        r->bytes -= size;
        return ptr;
    }
    let_go(r);
    return NULL;
}

static void *recycle_alloc(void *user, size_t size, size_t align) {
    wick_recycle *r = user;
    void *ptr = NULL;
    if (size >= WICK_RECYCLE_FROM) {
        pthread_mutex_lock(&r->lock);
        ptr = take(r, size);
        pthread_mutex_unlock(&r->lock);
    }
    if (!ptr) ptr = r->alloc.alloc(r->alloc.user, size, align);
    if (ptr) return ptr;
    pthread_mutex_lock(&r->lock);
    let_go(r); /* its addresses may be what is short */
    pthread_mutex_unlock(&r->lock);
    return r->alloc.alloc(r->alloc.user, size, align);
}

static void recycle_release(void *user, void *ptr, size_t size) {
    wick_recycle *r = user;
    if (size < WICK_RECYCLE_FROM || size > WICK_RECYCLE_BYTES) {
        r->alloc.release(r->alloc.user, ptr, size);
        return;
    }
    wick_give_up(ptr, size);
    pthread_mutex_lock(&r->lock);
    if (r->n == WICK_RECYCLE_BLOCKS || r->bytes > WICK_RECYCLE_BYTES - size) let_go(r);
    r->at[r->n].ptr = ptr;
    r->at[r->n++].size = size;
    r->bytes += size;
    pthread_mutex_unlock(&r->lock);
}

void wick_recycle_init(wick_recycle *r, const wick_allocator *alloc) {
    *r = (wick_recycle){.alloc = *alloc};
    pthread_mutex_init(&r->lock, NULL);
}
void wick_recycle_free(wick_recycle *r) {
    let_go(r);
    pthread_mutex_destroy(&r->lock);
}
wick_allocator wick_recycle_allocator(wick_recycle *r) { return (wick_allocator){r, recycle_alloc, recycle_release}; }
