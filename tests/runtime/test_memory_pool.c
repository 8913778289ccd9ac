/* The pool of memory: it grows as told to its maximum, stays whole under any order of calls, and gives pages back. */
#include <pthread.h>
#include <unistd.h>

#include "context.h"
#include "runtime/memory_pool.h"
#include "test.h"
#include "wick/ops.h"

#define GB ((size_t)1 << 30)
#define MB ((size_t)1 << 20)

static wick_mempool *made(wick_memory_pool_options o) {
    wick_mempool *p = NULL;
    return wick_mempool_new(&p, &o, NULL) == WICK_OK ? p : NULL;
}
static wick_memory_pool_info stats(wick_mempool *p) {
    wick_memory_pool_info s;
    wick_mempool_stats(p, &s);
    return s;
}
/* Resident bytes of this process. */
static size_t resident(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(it_grows_by_half_to_its_maximum_and_says_what_there_is) {
    const size_t before = resident();
    wick_mempool *p = made((wick_memory_pool_options){0});
    REQUIRE(p);
    const wick_allocator a = wick_mempool_allocator(p);
    const double want[] = {2, 3, 4.5, 6.75, 8};
    int step = 0, blocks = 0;
    void *at[16] = {0};
    CHECK(stats(p).capacity == 2 * GB && stats(p).max == 8 * GB);
    for (; blocks < 16 && (at[blocks] = wick_alloc(&a, GB - 4096)); blocks++) { /* never written */
        const double now = (double)stats(p).capacity / (double)GB;
        if (now != want[step]) step++;
        CHECK_MSG(step < 5 && now == want[step], "%g GB", now);
    }
    CHECK_INT(step, 4);
    CHECK_INT(blocks, 8);
    CHECK_INT(stats(p).grown, 4);
    CHECK_INT(stats(p).refused, 1);
    CHECK_STR_HAS(wick_mempool_refusal(p), "the memory pool of 8589.93 MB is full: 8589.9");
    CHECK_STR_HAS(wick_mempool_refusal(p), "1073.74 MB were asked for");
    wick_release(&a, at[3], GB - 4096); /* and there is room again */
    CHECK((at[3] = wick_alloc(&a, GB / 2)) != NULL);
    wick_release(&a, at[3], GB / 2);
    at[3] = NULL;
    for (int i = 0; i < blocks; i++) wick_release(&a, at[i], GB - 4096);
    CHECK(stats(p).used == 0 && stats(p).extent == 0 && stats(p).free_bytes == 0 && stats(p).peak == 8 * (GB - 4096));
    if (!TEST_SANITIZED) CHECK_MSG(resident() < before + MB, "%zu bytes", resident() - before);
    wick_mempool_free(&p);
}

TEST(options_out_of_range_are_refused) {
    const wick_memory_pool_options bad[] = {{.max = (size_t)1 << 48},
                                            {.initial = 2 * MB, .max = MB},
                                            {.growth = 1},
                                            {.growth = -2},
                                            {.growth = NAN},
                                            {.growth = 17},
                                            {.fragmentation = -0.1},
                                            {.fragmentation = 1.5},
                                            {.fragmentation = NAN}};
    for (size_t i = 0; i < WICK_COUNTOF(bad); i++) {
        wick_mempool *p = NULL;
        CHECK_INT(wick_mempool_new(&p, &bad[i], NULL), WICK_ERR_INVALID);
        CHECK(p == NULL);
    }
}

typedef struct held {
    unsigned char *at;
    size_t size;
    unsigned char mark;
} held;

/* Mixed sizes, mostly small, as programs have them. */
static size_t some_size(void) {
    const unsigned power = (unsigned)(test_rand() % 18);
    return 1 + (size_t)(test_rand() % ((uint64_t)64 << power));
}

enum { LIVE = 2000 };

/* Each block keeps what was written at its ends, and no two overlap. */
static void mixed(const wick_allocator *a, held *h, int calls, bool check) {
    for (int i = 0; i < calls; i++) {
        held *x = &h[test_rand() % LIVE];
        if (x->at) {
            if (check) CHECK_MSG(x->at[0] == x->mark && x->at[x->size - 1] == x->mark, "call %d", i);
            a->release(a->user, x->at, x->size);
        }
        const size_t align = i % 50 ? WICK_ALIGN : 4096;
        *x = (held){.size = some_size(), .mark = (unsigned char)i};
        x->at = a->alloc(a->user, x->size, align);
        if (!x->at) {
            CHECK_MSG(false, "no room at call %d", i);
            return;
        }
        CHECK((uintptr_t)x->at % align == 0);
        x->at[0] = x->at[x->size - 1] = x->mark;
    }
}
static void let_go(const wick_allocator *a, held *h) {
    for (int i = 0; i < LIVE; i++)
        if (h[i].at) a->release(a->user, h[i].at, h[i].size);
    memset(h, 0, LIVE * sizeof *h);
}

TEST(after_a_million_mixed_calls_little_lies_free) {
    wick_mempool *p = made((wick_memory_pool_options){0});
    REQUIRE(p);
    const wick_allocator a = wick_mempool_allocator(p);
    held *h = calloc(LIVE, sizeof *h);
    REQUIRE(h);
    mixed(&a, h, TEST_SANITIZED ? 100000 : 1000000, true);
    const wick_memory_pool_info s = stats(p);
    CHECK_MSG(s.fragmentation <= 0.15, "%.3f of %zu bytes", s.fragmentation, s.extent);
    CHECK(s.fragmentation <= (double)s.free_bytes / (double)s.extent && s.used <= s.extent - s.free_bytes);
    let_go(&a, h);
    CHECK(stats(p).used == 0 && stats(p).extent == 0 && stats(p).allocations == stats(p).releases);
    free(h);
    wick_mempool_free(&p);
}

/* With huge pages where the machine keeps some, and with ordinary ones where it does not, or not enough. */
TEST(huge_pages_are_used_as_far_as_there_are_some) {
    wick_mempool *p = made((wick_memory_pool_options){.max = 40 * MB + 1, .initial = 3 * MB, .huge_pages = true});
    REQUIRE(p);
    const wick_allocator a = wick_mempool_allocator(p);
    wick_memory_pool_info s = stats(p);
    CHECK_INT(s.max, 42 * MB);
    CHECK_INT(s.capacity, 4 * MB);
    CHECK((s.huge_bytes == 0) == (wick_mempool_huge_refused(p) != 0));
    CHECK(s.huge_bytes == 0 || s.huge_bytes == s.capacity);
    void *at[40] = {0};
    for (int round = 0; round < 3; round++) { /* written from end to end, freed, and written again */
        int n = 0;
        for (; n < 40 && (at[n] = wick_alloc(&a, MB)); n++) memset(at[n], n + 1, MB);
        CHECK(n >= 39);
        for (int i = 0; i < n; i += 2) wick_release(&a, at[i], MB), at[i] = NULL;
        wick_mempool_trim(p);
        for (int i = 0; i < n; i++)
            if (at[i]) CHECK(((char *)at[i])[0] == i + 1 && ((char *)at[i])[MB - 1] == i + 1);
        for (int i = 1; i < n; i += 2) wick_release(&a, at[i], MB);
    }
    s = stats(p);
    CHECK(s.used == 0 && s.grown > 0 && s.huge_bytes <= s.capacity && s.huge_bytes % (2 * MB) == 0);
    wick_mempool_free(&p);
    /* more than any machine keeps: a note, and the context computes */
    const wick_memory_pool_options most = {
        .max = (size_t)1 << 46, .initial = (size_t)1 << 45, .huge_pages = true};
    wick_context *ctx = NULL;
    if (wick_context_new(&(wick_context_options){.threads = 1, .memory_pool = &most}, &ctx) != WICK_OK)
        SKIP("the system lets nobody have so many addresses");
    CHECK_STR_HAS(wick_context_placement_note(ctx), "huge pages: the system has too few");
    CHECK(wick_memory_pool_get_info(ctx, &s) && s.huge_bytes == 0);
    wick_context_free(&ctx);
}

TEST(pages_go_back_when_too_much_lies_free) {
    if (TEST_SANITIZED) SKIP("sanitizers keep pages of their own");
    wick_mempool *p = made((wick_memory_pool_options){.initial = 256 * MB, .max = 256 * MB, .fragmentation = 0.25});
    REQUIRE(p);
    const wick_allocator a = wick_mempool_allocator(p);
    void *at[200];
    const size_t before = resident();
    for (int i = 0; i < 200; i++) REQUIRE((at[i] = wick_calloc(&a, MB)) != NULL);
    CHECK(resident() > before + 190 * MB);
    for (int i = 0; i < 100; i += 2) wick_release(&a, at[i], MB), at[i] = NULL;
    CHECK(stats(p).trimmed == 0 && stats(p).fragmentation <= 0.25 && resident() > before + 190 * MB); /* a quarter */
    for (int i = 100; i < 200; i += 2) wick_release(&a, at[i], MB), at[i] = NULL;
    CHECK_MSG(resident() < before + 155 * MB, "%zu", resident() - before);
    CHECK(stats(p).trimmed > 0 && stats(p).fragmentation <= 0.25 && stats(p).free_bytes > 90 * MB);
    wick_mempool_trim(p);
    CHECK_MSG(resident() < before + 103 * MB, "%zu", resident() - before);
    unsigned char *again = wick_calloc(&a, MB); /* pages come back, as zeros that are written */
    CHECK(again && again[MB - 1] == 0);
    wick_release(&a, again, MB);
    for (int i = 1; i < 200; i += 2) wick_release(&a, at[i], MB);
    CHECK_MSG(resident() < before + 2 * MB, "%zu", resident() - before);
    wick_mempool_free(&p);
}

static void *many_calls(void *at) {
    held *h = calloc(LIVE, sizeof *h);
    if (!h) return NULL;
    for (int i = 0; i < 20000; i++) {
        const wick_allocator *a = at;
        held *x = &h[(size_t)i * 7 % 50];
        if (x->at) {
            if (x->at[x->size - 1] != x->mark) return NULL;
            a->release(a->user, x->at, x->size);
        }
        *x = (held){.size = 1 + (size_t)i * 37 % 5000, .mark = (unsigned char)i};
        x->at = a->alloc(a->user, x->size, WICK_ALIGN);
        if (!x->at) return NULL;
        memset(x->at, x->mark, x->size);
    }
    let_go(at, h);
    free(h);
    return at;
}
TEST(any_thread_may_ask) {
    wick_mempool *p = made((wick_memory_pool_options){.max = 64 * MB});
    REQUIRE(p);
    wick_allocator a = wick_mempool_allocator(p);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) REQUIRE(pthread_create(&threads[i], NULL, many_calls, &a) == 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        CHECK(result == &a);
    }
    CHECK(stats(p).used == 0 && stats(p).extent == 0);
    wick_mempool_free(&p);
}

TEST(a_context_computes_in_its_pool_and_names_its_figures_when_it_is_full) {
    const int64_t dims[] = {1024, 1024};
    float want = 0, got = 1;
    for (int pooled = 0; pooled < 2; pooled++) {
        const wick_memory_pool_options o = {.max = 64 * MB};
        wick_context *ctx = new_context(.threads = 2, .memory_pool = pooled ? &o : NULL);
        wick_memory_pool_info s;
        REQUIRE(ctx);
        CHECK(wick_memory_pool_get_info(ctx, &s) == (pooled == 1));
        wick_tensor *x = wick_random_normal(ctx, WICK_F32, 2, dims);
        double value = 0;
        CHECK_INT(wick_item(wick_sum(wick_tanh(x), 2, (const int[]){0, 1}, false), &value), WICK_OK);
        *(pooled ? &got : &want) = (float)value;
        wick_memory_pool_get_info(ctx, &s);
        CHECK(pooled ? s.peak >= 4 * MB && s.capacity == 64 * MB : s.peak == 0);
        if (pooled) {
            const int64_t large[] = {5000, 5000};
            wick_tensor *y = wick_random_normal(ctx, WICK_F32, 2, large);
            CHECK_INT(wick_eval(ctx, 1, &y, NULL), WICK_ERR_NOMEM);
            CHECK_STR_HAS(wick_context_error(ctx), "the memory pool of 67.1089 MB is full");
            wick_memory_pool_trim(ctx);
        }
        wick_context_free(&ctx);
    }
    CHECK(want == got);
}

TEST(the_default_is_for_contexts_made_after_it_without_memory_of_their_own) {
    wick_memory_pool_info s;
    wick_memory_pool_set_default(&(wick_memory_pool_options){.max = 32 * MB});
    wick_context *a = new_context(.threads = 1), *b = new_context(.threads = 1, .allocator = wick_allocator_default());
    wick_memory_pool_set_default(NULL);
    wick_context *c = new_context(.threads = 1), *none = NULL;
    REQUIRE(a && b && c);
    CHECK(wick_memory_pool_get_info(a, &s) && s.max == 32 * MB && s.used > 0);
    CHECK(!wick_memory_pool_get_info(b, &s) && !wick_memory_pool_get_info(c, &s) && s.max == 0);
    CHECK_INT(wick_context_new(&(wick_context_options){.allocator = wick_allocator_default(),
                                                       .memory_pool = &(wick_memory_pool_options){0}},
                               &none),
              WICK_ERR_INVALID);
    CHECK_INT(
        wick_context_new(&(wick_context_options){.memory_pool = &(wick_memory_pool_options){.growth = 0.5}}, &none),
        WICK_ERR_INVALID);
    wick_context_free(&a), wick_context_free(&b), wick_context_free(&c);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
