/* cached.c: a data set's samples, of which the last ones asked for are kept (LRU). Copies are made outside the lock: an
 * entry that is being copied is pinned, and stays. */
#include <pthread.h>

#include "data/sets/dataset.h"
#include "base/time_histogram.h"
#include "wick/datasets.h"

typedef struct entry {
    struct entry *newer, *older;
    int64_t number;
    int pins;
    size_t bytes;                    /* of this block */
    size_t at[WICK_DATASET_FIELDS];  /* of each field in it ... */
    size_t size[WICK_DATASET_FIELDS]; /* ... and its bytes */
} entry;

typedef struct cache {
    wick_allocator alloc;
    const wick_dataset *set;
    size_t most, bytes;
    uint64_t hits, misses;
    wick_time_histogram times[2]; /* of hits and of misses; written under the lock */
    int64_t count;
    entry **kept; /* [count] */
    entry *newest, *oldest;
    pthread_mutex_t lock;
} cache;

static void unlink_entry(cache *c, entry *e) {
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
    e->newer = e->older = NULL;
}
static void link_newest(cache *c, entry *e) {
    e->older = c->newest;
    e->newer = NULL;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}
static void drop(cache *c, entry *e) {
    unlink_entry(c, e);
    c->kept[e->number] = NULL;
    c->bytes -= e->bytes;
    wick_release(&c->alloc, e, e->bytes);
}

static void copy_out(const cache *c, const entry *e, void *const *out) {
    for (int k = 0; k < wick_dataset_fields(c->set); k++)
        if (out[k] && e->size[k]) memcpy(out[k], (const uint8_t *)e + e->at[k], e->size[k]);
}

/* Memory for sample i with a place for each field; NULL: it is too large to be kept, or memory is out, and the caller
 * does without. */
static entry *new_entry(cache *c, int64_t i) {
    entry e = {.number = i};
    size_t all = WICK_ALIGN_UP(sizeof e, WICK_ALIGN);
    for (int k = 0; k < wick_dataset_fields(c->set); k++) {
        e.size[k] = wick_dataset_bytes(c->set, i, k);
        e.at[k] = all;
        if (e.size[k] > c->most || wick_add_overflows(all, WICK_ALIGN_UP(e.size[k], WICK_ALIGN), &all)) return NULL;
    }
    e.bytes = all;
    entry *own = all <= c->most ? wick_alloc(&c->alloc, all) : NULL;
    if (own) *own = e;
    return own;
}

/* Kept from now on, if those that nobody reads leave room for it and no other thread was faster. */
static void keep(cache *c, entry *e, uint64_t start) {
    pthread_mutex_lock(&c->lock);
    wick_time_histogram_add(&c->times[1], wick_now_ns() - start, 1);
    for (entry *old = c->oldest, *next; old && !c->kept[e->number] && c->bytes > c->most - e->bytes; old = next) {
        next = old->newer;
        if (!old->pins) drop(c, old);
    }
    const bool fits = !c->kept[e->number] && c->bytes <= c->most - e->bytes;
    if (fits) {
        c->kept[e->number] = e;
        c->bytes += e->bytes;
        link_newest(c, e);
    }
    pthread_mutex_unlock(&c->lock);
    if (!fits) wick_release(&c->alloc, e, e->bytes);
}

static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    cache *c = user;
    const uint64_t start = wick_now_ns();
    pthread_mutex_lock(&c->lock);
    entry *e = c->kept[i];
    if (e) {
        c->hits++;
        e->pins++;
        unlink_entry(c, e);
        link_newest(c, e);
    } else c->misses++;
    pthread_mutex_unlock(&c->lock);
    if (e) {
        copy_out(c, e, out);
        pthread_mutex_lock(&c->lock);
        e->pins--;
        wick_time_histogram_add(&c->times[0], wick_now_ns() - start, 1);
        pthread_mutex_unlock(&c->lock);
        return WICK_OK;
    }
    if (!(e = new_entry(c, i))) return wick_dataset_get(c->set, i, out, fault);
    void *fields[WICK_DATASET_FIELDS] = {NULL};
    for (int k = 0; k < wick_dataset_fields(c->set); k++) fields[k] = (uint8_t *)e + e->at[k];
    const wick_status status = wick_dataset_get(c->set, i, fields, fault);
    if (status != WICK_OK) return wick_release(&c->alloc, e, e->bytes), status;
    copy_out(c, e, out);
    keep(c, e, start);
    return WICK_OK;
}

static int64_t length(void *user, int64_t i, int field) { return wick_dataset_length(((cache *)user)->set, i, field); }
static int64_t label(void *user, int64_t i) { return wick_dataset_label(((cache *)user)->set, i); }
static const char *class_name(void *user, int64_t k) { return wick_dataset_class_name(((cache *)user)->set, k); }
static void counts(void *user, uint64_t *hits, uint64_t *misses, size_t *bytes) {
    cache *c = user;
    pthread_mutex_lock(&c->lock);
    *hits = c->hits, *misses = c->misses, *bytes = c->bytes;
    pthread_mutex_unlock(&c->lock);
}
static void release(void *user) {
    cache *c = user;
    const wick_allocator alloc = c->alloc;
    while (c->oldest) drop(c, c->oldest);
    pthread_mutex_destroy(&c->lock);
    wick_release(&alloc, c->kept, (size_t)c->count * sizeof *c->kept);
    wick_release(&alloc, c, sizeof *c);
}

wick_status wick_dataset_cached(wick_context *ctx, const wick_dataset *d, size_t bytes, wick_dataset **out) {
    if (!d) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_cached: dataset is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_cached: out is NULL");
    *out = NULL;
    WICK_TRY(wick_dataset_by_number(ctx, 1, &d));
    cache *c = wick_calloc(&ctx->alloc, sizeof *c);
    if (c) {
        *c = (cache){.alloc = ctx->alloc, .set = d, .most = bytes, .count = wick_dataset_count(d)};
        pthread_mutex_init(&c->lock, NULL);
        c->kept = wick_calloc(&c->alloc, (size_t)c->count * sizeof *c->kept);
    }
    if (!c || !c->kept) {
        if (c) release(c);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory for a cache of %lld samples",
                                 (long long)wick_dataset_count(d));
    }
    wick_dataset_source s = {.count = c->count,
                             .rate = wick_dataset_rate(d),
                             .n_fields = wick_dataset_fields(d),
                             .get = get,
                             .length = length,
                             .classes = wick_dataset_classes(d),
                             .class_name = class_name,
                             .cache = counts,
                             .free = release,
                             .user = c};
    for (int k = 0; k < s.n_fields; k++) s.fields[k] = *wick_dataset_field(d, k);
    if (d->source.label) s.label = label;
    const wick_status status = wick_dataset_new(ctx, &s, out);
    if (status != WICK_OK) return release(c), status;
    for (int k = 0; k < 2; k++) (*out)->cached[k] = &c->times[k];
    return WICK_OK;
}
