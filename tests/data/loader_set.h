/* loader_set.h: a set for tests of the loader with threads, and what its batches are. */
#ifndef WICK_TESTS_LOADER_SET_H
#define WICK_TESTS_LOADER_SET_H

#include <stdatomic.h>
#include <unistd.h>

#include "base/base.h"
#include "test.h"
#include "wick/wick.h"

enum { SAMPLES = 203, CLASSES = 5, HEIGHT = 6, WIDTH = 7, MAX_BATCHES = 1024 };

/* Pictures and rows of different lengths, some of which take longer than others, and some of which cannot be read. */
typedef struct source {
    int64_t bad_every; /* samples 3, 3 + bad_every, ... */
    bool slow, broken;
    bool late; /* each takes 0.4 ms and more, but no CPU */
    _Atomic int64_t asked;
} source;

static int64_t length_of(void *user, int64_t index, int field) {
    return (void)user, (void)field, 1 + (index * 7 + index / 3) % 17;
}
static int64_t label_of(void *user, int64_t index) {
    return (void)user, index % 10 < 6 ? 0 : 1 + index % (CLASSES - 1);
}
static bool is_bad(const source *s, int64_t index) { return s->bad_every && index % s->bad_every == 3; }
static wick_status get(void *user, int64_t index, void *const *out, wick_fault *fault) {
    source *s = user;
    atomic_fetch_add(&s->asked, 1);
    if (is_bad(s, index))
        return wick_fault_set(fault, WICK_ERR_FORMAT, "pictures.bin: record %lld is damaged", (long long)index);
    if (s->slow && index % 11 == 0) usleep(100);
    if (s->late) usleep(400);
    for (int k = 0; out[0] && k < HEIGHT * WIDTH; k++) ((uint8_t *)out[0])[k] = (uint8_t)(index * 31 + k * 7 + 1);
    if (out[1]) *(int64_t *)out[1] = label_of(user, index);
    for (int64_t k = 0; out[2] && k < 2 * length_of(user, index, 2); k++)
        ((float *)out[2])[k] = (float)(index * 100 + k);
    if (out[3]) *(int64_t *)out[3] = index;
    return WICK_OK;
}

static wick_dataset *new_set(wick_context *ctx, source *s, int64_t count) {
    const wick_dataset_source d = {.count = count,
                                   .n_fields = 4,
                                   .fields = {{"image", WICK_U8, 3, {1, HEIGHT, WIDTH}},
                                              {"label", WICK_I64, 0, {0}},
                                              {"rows", WICK_F32, 2, {-1, 2}},
                                              {"number", WICK_I64, 0, {0}}},
                                   .get = get,
                                   .length = length_of,
                                   .label = label_of,
                                   .classes = CLASSES,
                                   .user = s};
    wick_dataset *set = NULL;
    return wick_dataset_new(ctx, &d, &set) == WICK_OK ? set : NULL;
}

#define SETUP(...)                                                                                                     \
    source s = {__VA_ARGS__};                                                                                          \
    wick_context *ctx = NULL;                                                                                          \
    wick_loader *loader = NULL;                                                                                        \
    wick_batch b = {0};                                                                                                \
    (void)b;                                                                                                           \
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 2}, &ctx) == WICK_OK);                                 \
    wick_dataset *set = new_set(ctx, &s, SAMPLES);                                                                     \
    REQUIRE(set != NULL)
#define TEARDOWN                                                                                                       \
    wick_loader_free(&loader);                                                                                         \
    wick_dataset_free(&set);                                                                                           \
    wick_context_free(&ctx)

static inline uint64_t hash_batch(const wick_loader *l, const wick_batch *b) {
    uint64_t h = (uint64_t)b->count;
    for (int k = 0; k < 4; k++) {
        const wick_spec *f = wick_loader_field(l, k);
        int64_t n = b->count;
        for (int d = 1; d < f->rank; d++) n *= f->dims[d] < 0 ? b->padded[k] : f->dims[d];
        h = wick_hash(b->fields[k], (size_t)n * wick_dtype_size(f->dtype), h);
        if (b->lengths[k]) h = wick_hash(b->lengths[k], (size_t)b->count * sizeof(int64_t), h);
    }
    return wick_hash(b->samples, (size_t)b->count * sizeof(int64_t), h);
}

/* Hashes of the batches up to the end of so many epochs; an epoch's end is 0. -1: a failure. */
static inline int hash_all(wick_loader *l, int epochs, uint64_t *hashes) {
    int n = 0;
    wick_batch b;
    while (epochs > 0 && n < MAX_BATCHES) {
        if (wick_loader_take(l, &b) != WICK_OK) return -1;
        hashes[n++] = b.count ? hash_batch(l, &b) : 0;
        epochs -= !b.count;
    }
    return n;
}

#endif
