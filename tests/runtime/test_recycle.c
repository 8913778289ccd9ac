/* Large blocks that were freed are given again for the same size; what waits is bounded, and goes when something else
 * is asked for. */
#include "runtime/recycle.h"
#include "test.h"

typedef struct books {
    size_t held, most;
    int allocs;
    size_t limit; /* 0: none */
} books;

static void *book_alloc(void *user, size_t size, size_t align) {
    books *b = user;
    if (b->limit && b->held + size > b->limit) return NULL;
    b->held += size;
    b->most = b->held > b->most ? b->held : b->most;
    b->allocs++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}
static void book_release(void *user, void *ptr, size_t size) {
    ((books *)user)->held -= size;
    free(ptr);
}

enum { MB = 1 << 20 };

static books b;
static wick_recycle r;
static wick_allocator a;
static void open_books(size_t limit) {
    b = (books){.limit = limit};
    wick_recycle_init(&r, &(wick_allocator){&b, book_alloc, book_release});
    a = wick_recycle_allocator(&r);
}

TEST(a_freed_block_is_given_again_for_the_same_size) {
    open_books(0);
    char *x = wick_alloc(&a, 8 * MB), *y = wick_alloc(&a, 8 * MB);
    memset(x, 1, 8 * MB);
    wick_release(&a, x, 8 * MB);
    CHECK(b.held == 16 * MB);
    char *again = wick_alloc(&a, 8 * MB);
    CHECK(again == x);
    memset(again, 2, 8 * MB);
    for (int i = 0; i < 8 * MB; i += 4093) CHECK(again[i] == 2);
    wick_release(&a, y, 8 * MB);
    wick_release(&a, again, 8 * MB);
    CHECK_INT(b.allocs, 2);
    wick_recycle_free(&r);
    CHECK(b.held == 0);
}

TEST(no_more_is_held_than_was_held_at_once) {
    open_books(0);
    for (int i = 0; i < 50; i++) { /* sizes that never come again */
        const size_t size = (size_t)(4 + i % 7) * MB + (size_t)i * 4096;
        wick_release(&a, wick_alloc(&a, size), size);
    }
    CHECK_MSG(b.most <= 11 * MB, "%zu", b.most);
    void *small = wick_alloc(&a, MB);
    wick_release(&a, small, MB);
    CHECK(b.held <= 11 * MB);
    void *many[12];
    for (int i = 0; i < 12; i++) many[i] = wick_alloc(&a, 64 * MB);
    for (int i = 0; i < 12; i++) wick_release(&a, many[i], 64 * MB);
    CHECK_MSG(b.held <= WICK_RECYCLE_BYTES, "%zu", b.held);
    void *large = wick_alloc(&a, 2 * WICK_RECYCLE_BYTES);
    CHECK(b.held == 2 * WICK_RECYCLE_BYTES);
    wick_release(&a, large, 2 * WICK_RECYCLE_BYTES);
    CHECK(b.held == 0);
    wick_recycle_free(&r);
}

TEST(what_waits_is_no_reason_to_be_out_of_memory) {
    open_books(20 * MB);
    void *x = wick_alloc(&a, 16 * MB);
    wick_release(&a, x, 16 * MB);
    void *y = wick_alloc(&a, 12 * MB), *z = wick_alloc(&a, 3 * MB);
    CHECK(y && z);
    wick_release(&a, y, 12 * MB);
    void *w = wick_alloc(&a, 3 * MB), *v = wick_alloc(&a, 3 * MB), *u = wick_alloc(&a, 3 * MB); /* small ones too */
    CHECK(w && v && u);
    CHECK(!wick_alloc(&a, 10 * MB));
    wick_release(&a, z, 3 * MB);
    wick_release(&a, w, 3 * MB);
    wick_release(&a, v, 3 * MB);
    wick_release(&a, u, 3 * MB);
    wick_recycle_free(&r);
    CHECK(b.held == 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
