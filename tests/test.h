/* test.h: the whole test framework. A test program is a table of named promises:
 *
 *   TEST(arena_survives_large_blocks) { ...CHECK(x == y)... }
 *   int main(int argc, char **argv) { return test_main(argc, argv); }
 *
 * Prints "ok NAME" or the failed checks, how many cases of each kind were counted ("cases N KIND"; scripts/cases adds
 * them up over all programs), and ends with "N passed, N failed, N skipped". An argument runs only the tests
 * whose name contains it. The exit code is 0 only if none failed. */
#ifndef WICK_TESTS_TEST_H
#define WICK_TESTS_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
} test_case;
static test_case *test_first, **test_last = &test_first;
static int test_fails; /* checks failed in the running test */
static const char *test_skipped;

#define TEST(id)                                                    \
    static void id(void);                                           \
    __attribute__((constructor)) static void test_register_##id(void) { \
        static test_case self = {#id, id, NULL};                    \
        *test_last = &self;                                         \
        test_last = &self.next;                                     \
    }                                                               \
    static void id(void)

/* Prints at most a few failures per test, so that a broken loop stays readable. */
#define CHECK_MSG(cond, ...)                                               \
    do {                                                                   \
        if (!(cond) && ++test_fails <= 8) {                                \
            printf("  %s:%d: %s", __FILE__, __LINE__, #cond);              \
            printf(": " __VA_ARGS__);                                      \
            printf("\n");                                                  \
        }                                                                  \
    } while (0)
#define CHECK(cond) CHECK_MSG(cond, "%s", "failed")
#define CHECK_INT(a, b)                                                              \
    do {                                                                             \
        long long check_a_ = (long long)(a), check_b_ = (long long)(b);              \
        CHECK_MSG(check_a_ == check_b_, "%s = %lld, %s = %lld", #a, check_a_, #b, check_b_); \
    } while (0)
#define CHECK_STR_HAS(text, part) CHECK_MSG(strstr((text), (part)) != NULL, "\"%s\" lacks \"%s\"", (text), (part))
/* Ends the running test when what follows makes no sense without cond. */
#define REQUIRE(cond)                                  \
    do {                                               \
        bool required_ = (cond); /* evaluated once */  \
        CHECK_MSG(required_, "%s", #cond);             \
        if (!required_) return;                        \
    } while (0)
#define SKIP(why)              \
    do {                       \
        test_skipped = (why);  \
        return;                \
    } while (0)

/* 1 where a sanitizer replaces malloc: it keeps freed memory for a while, so the size of the process says nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TEST_EMULATED)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

/* Are there hours for it? scripts/campaign sets WICK_LONG: every compiler at every level, every tier. Else a test takes
 * some of them in turn, so that each is seen by something. */
static inline bool test_long(void) {
    const char *set = getenv("WICK_LONG");
    return set && *set && strcmp(set, "0") != 0;
}

/* Does case i of a list run? Under a sanitizer every third one, all in a long run: of sizes, which it sees alike. */
static inline bool test_sampled(size_t i) { return !TEST_SANITIZED || test_long() || i % 3 == 0; }

/* A small generator for inputs of tests; the same numbers on every machine. */
static uint64_t test_seed = 0x9E3779B97F4A7C15u;
static inline uint64_t test_rand(void) {
    test_seed ^= test_seed << 13;
    test_seed ^= test_seed >> 7;
    test_seed ^= test_seed << 17;
    return test_seed;
}
static inline int test_rand_int(int lo, int hi) { return lo + (int)(test_rand() % (uint64_t)(hi - lo + 1)); }
static inline double test_rand_real(double lo, double hi) {
    return lo + (hi - lo) * ((double)(test_rand() >> 11) * 0x1p-53);
}

/* n more cases of a kind ran. */
static struct {
    const char *kind;
    long n;
} test_kinds[24];
static inline void test_count(const char *kind, long n) {
    size_t k = 0, most = sizeof test_kinds / sizeof test_kinds[0];
    while (k + 1 < most && test_kinds[k].kind && strcmp(test_kinds[k].kind, kind) != 0) k++;
    test_kinds[k].kind = kind;
    test_kinds[k].n += n;
}

static inline int test_main(int argc, char **argv) {
    int passed = 0, failed = 0, skipped = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (test_case *t = test_first; t; t = t->next) {
        if (argc > 1 && !strstr(t->name, argv[1])) continue;
        test_fails = 0;
        test_skipped = NULL;
        test_seed = 0x9E3779B97F4A7C15u;
        t->run();
        if (test_fails)
            printf("FAILED %s (%d checks)\n", t->name, test_fails), failed++;
        else if (test_skipped)
            printf("skipped %s: %s\n", t->name, test_skipped), skipped++;
        else
            printf("ok %s\n", t->name), passed++;
    }
    for (size_t k = 0; k < sizeof test_kinds / sizeof test_kinds[0] && test_kinds[k].kind; k++)
        if (test_kinds[k].n) printf("cases %ld %s\n", test_kinds[k].n, test_kinds[k].kind);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}

#endif
