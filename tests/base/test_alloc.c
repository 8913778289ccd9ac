/* Allocation, growing arrays and the arena, with every allocation failing in turn. */
#include "base/base.h"
#include "base/counting_alloc.h"
#include "test.h"

TEST(blocks_are_aligned_and_zero_sized_ones_are_valid) {
    static const size_t sizes[] = {0, 1, 3, 63, 64, 65, 4097, 1 << 20};
    for (size_t i = 0; i < WICK_COUNTOF(sizes); i++) {
        unsigned char *p = wick_alloc(NULL, sizes[i]), *z = wick_calloc(NULL, sizes[i]);
        REQUIRE(p && z);
        CHECK_INT((uintptr_t)p % WICK_ALIGN, 0);
        CHECK_INT((uintptr_t)z % WICK_ALIGN, 0);
        memset(p, 1, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++) CHECK(z[k] == 0);
        wick_release(NULL, p, sizes[i]);
        wick_release(NULL, z, sizes[i]);
    }
    wick_release(NULL, NULL, 5);
}

TEST(sizes_beyond_the_address_space_fail) {
    CHECK(wick_alloc(NULL, SIZE_MAX) == NULL);
    CHECK(wick_calloc(NULL, (size_t)PTRDIFF_MAX + 1) == NULL);
}

TEST(host_allocator_gets_the_sizes_it_gave) {
    counting c = {.fail_at = -1};
    wick_allocator a = counting_allocator(&c);
    for (size_t size = 0; size < 70; size += 23) {
        void *p = wick_alloc(&a, size);
        REQUIRE(p != NULL);
        wick_release(&a, p, size);
    }
    CHECK_INT(c.live, 0);
    c.fail_at = 0;
    CHECK(wick_alloc(&a, 8) == NULL && wick_calloc(&a, 8) == NULL);
}

TEST(grow_keeps_content_and_doubles) {
    counting c = {.fail_at = -1};
    wick_allocator a = counting_allocator(&c);
    void *at = NULL;
    size_t cap = 0;
    CHECK(wick_grow(&a, &at, &cap, 0, sizeof(int)) && at == NULL);
    for (int i = 0; i < 1000; i++) {
        REQUIRE(wick_grow(&a, &at, &cap, (size_t)i + 1, sizeof(int)));
        ((int *)at)[i] = i;
    }
    for (int i = 0; i < 1000; i++) CHECK_INT(((int *)at)[i], i);
    CHECK_MSG(c.calls <= 10, "%lld allocations", (long long)c.calls);
    CHECK_INT(c.live, 1);
    wick_release(&a, at, cap * sizeof(int));
    CHECK_INT(c.live_bytes, 0);
}

TEST(grow_that_fails_changes_nothing) {
    counting c = {.fail_at = 1};
    wick_allocator a = counting_allocator(&c);
    void *at = NULL, *was;
    size_t cap = 0;
    REQUIRE(wick_grow(&a, &at, &cap, 4, sizeof(int)));
    const size_t cap_was = cap;
    was = at;
    CHECK(!wick_grow(&a, &at, &cap, cap + 1, sizeof(int)));
    CHECK(!wick_grow(&a, &at, &cap, SIZE_MAX, sizeof(int)));
    CHECK(!wick_grow(&a, &at, &cap, SIZE_MAX / 4 + 1, sizeof(int)));
    CHECK(at == was && cap == cap_was);
    CHECK_INT(c.live, 1);
    wick_release(&a, at, cap * sizeof(int));
}

TEST(arena_blocks_are_aligned_and_apart) {
    wick_arena arena;
    wick_arena_init(&arena, NULL, 256);
    enum { N = 2000 };
    static unsigned char *at[N];
    static size_t size[N];
    for (int i = 0; i < N; i++) {
        size[i] = (size_t)test_rand_int(0, i % 50 ? 100 : 3000);
        at[i] = wick_arena_alloc(&arena, size[i]);
        REQUIRE(at[i] != NULL);
        CHECK_INT((uintptr_t)at[i] % 16, 0);
        memset(at[i], i & 255, size[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < size[i]; k++) CHECK(at[i][k] == (i & 255));
    wick_arena_free(&arena);
    CHECK_INT(arena.bytes, 0);
}

TEST(arena_survives_large_blocks) {
    counting c = {.fail_at = -1};
    wick_allocator a = counting_allocator(&c);
    wick_arena arena;
    wick_arena_init(&arena, &a, 1024);
    char *small = wick_arena_alloc(&arena, 16), *large = wick_arena_zalloc(&arena, 1 << 22);
    char *next = wick_arena_alloc(&arena, 16);
    REQUIRE(small && large && next);
    CHECK_MSG(next == small + 16, "a large block closed the chunk in use");
    for (int i = 0; i < 1 << 22; i++) CHECK(large[i] == 0);
    CHECK(wick_arena_alloc(&arena, SIZE_MAX) == NULL);
    CHECK(wick_arena_alloc(&arena, SIZE_MAX - 15) == NULL);
    CHECK(wick_arena_alloc(&arena, PTRDIFF_MAX) == NULL);
    CHECK(wick_arena_zalloc(&arena, PTRDIFF_MAX) == NULL);
    CHECK(wick_arena_alloc(&arena, 8) != NULL);
    CHECK_INT(arena.bytes, c.live_bytes);
    wick_arena_free(&arena);
    CHECK_INT(c.live, 0);
}

TEST(arena_counts_bytes_and_reset_keeps_one_chunk) {
    counting c = {.fail_at = -1};
    wick_allocator a = counting_allocator(&c);
    wick_arena arena;
    wick_arena_init(&arena, &a, 0);
    wick_arena_reset(&arena);
    CHECK_INT(arena.bytes, 0);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 3000; i++) REQUIRE(wick_arena_alloc(&arena, 40) != NULL);
        CHECK_INT(arena.bytes, c.live_bytes);
        wick_arena_reset(&arena);
        CHECK_INT(c.live, 1);
        CHECK_INT(arena.bytes, c.live_bytes);
    }
    const int64_t calls = c.calls;
    for (int i = 0; i < 100; i++) {
        REQUIRE(wick_arena_alloc(&arena, 40) != NULL);
        wick_arena_reset(&arena);
    }
    CHECK_INT(c.calls, calls);
    wick_arena_free(&arena);
    wick_arena_free(&arena);
    CHECK_INT(c.live, 0);
    CHECK(wick_arena_alloc(&arena, 8) != NULL); /* usable again after free */
    wick_arena_free(&arena);
    CHECK_INT(c.live, 0);
}

TEST(arena_strdup_copies) {
    wick_arena arena;
    wick_arena_init(&arena, NULL, 64);
    char text[] = "weights/0";
    char *copy = wick_arena_strdup(&arena, text), *empty = wick_arena_strdup(&arena, "");
    REQUIRE(copy && empty);
    text[0] = 'X';
    CHECK(strcmp(copy, "weights/0") == 0 && *empty == 0);
    wick_arena_free(&arena);
}

/* The same work with the n-th allocation failing, until it goes through. */
TEST(arena_stays_whole_when_any_allocation_fails) {
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        REQUIRE(n < 100);
        counting c = {.fail_at = n};
        wick_allocator a = counting_allocator(&c);
        wick_arena arena;
        wick_arena_init(&arena, &a, 128);
        done = true;
        for (int i = 0; i < 200 && done; i++) {
            char *p = i % 7 ? wick_arena_zalloc(&arena, (size_t)i * 13) : wick_arena_strdup(&arena, "name");
            if (!p) done = false;
        }
        CHECK_INT(arena.bytes, c.live_bytes);
        c.fail_at = -1;
        CHECK(wick_arena_alloc(&arena, 10000) != NULL);
        wick_arena_free(&arena);
        CHECK_INT(c.live, 0);
    }
}

TEST(checked_arithmetic_sees_overflow) {
    size_t z;
    int64_t i;
    CHECK(wick_add_overflows(SIZE_MAX, (size_t)1, &z));
    CHECK(!wick_add_overflows(SIZE_MAX, (size_t)0, &z));
    CHECK(wick_mul_overflows(INT64_MAX, (int64_t)2, &i));
    CHECK(wick_mul_overflows((size_t)1 << 33, (size_t)1 << 31, &z));
    CHECK(!wick_mul_overflows((size_t)1 << 32, (size_t)1 << 31, &z));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
