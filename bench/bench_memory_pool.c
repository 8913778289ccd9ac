/* bench_memory_pool.c: the pool of memory beside malloc. Usage: bench_memory_pool [calls]
 *
 *   2,000 blocks are live; each call replaces a random one by another of 1 byte to 8 MiB, mostly small
 *
 *   ends      two bytes of each are written: what allocating takes, and what the system takes for pages
 *   whole     all of it is written, as by programs that compute; a sixteenth of the calls
 *
 * Medians of three, seconds of CPU. free: what lies free between blocks, as part of the pool's extent or of malloc's
 * heap, and of it what holds pages. idle: how much less is in use at the end than was at most, as part of that: an
 * allocator whose extent does not come down has at least so much free. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/base.h"
#include "runtime/memory_pool.h"

enum { LIVE = 2000, ROUNDS = 3 };
typedef struct held {
    unsigned char *at;
    size_t size;
} held;
static held blocks[LIVE];

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return *state >> 20;
}
static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static long faults(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_minflt;
}

/* Seconds; a NULL: malloc. */
static double mixed(const wick_allocator *a, long calls, bool whole) {
    uint64_t state = 1;
    const double from = cpu_seconds();
    for (long i = 0; i < calls; i++) {
        held *h = &blocks[next(&state) % LIVE];
        if (h->at && a)
            a->release(a->user, h->at, h->size);
        else
            free(h->at);
        h->size = 1 + next(&state) % ((uint64_t)64 << next(&state) % 18);
        h->at = a ? a->alloc(a->user, h->size, WICK_ALIGN) : malloc(h->size);
        if (!h->at) exit(1);
        if (whole)
            memset(h->at, 1, h->size);
        else
            h->at[0] = h->at[h->size - 1] = 1;
    }
    return cpu_seconds() - from;
}
static void let_go(const wick_allocator *a) {
    for (int i = 0; i < LIVE; i++) {
        if (blocks[i].at && a)
            a->release(a->user, blocks[i].at, blocks[i].size);
        else
            free(blocks[i].at);
        blocks[i] = (held){0};
    }
}

/* Of malloc's heap; NaN: this one does not tell. */
static double free_in_heap(void) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    const struct mallinfo2 m = mallinfo2();
    return (double)m.fordblks / (double)(m.arena + m.hblkhd);
#else
    return NAN;
#endif
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const long calls = argc > 1 ? atol(argv[1]) : 1000000;
    for (int whole = 0; whole < 2; whole++) {
        const long n = whole ? calls / 16 : calls;
        double pool[ROUNDS], heap[ROUNDS], in_extent = 0, in_pages = 0, in_heap = 0, idle = 0;
        long pool_faults = 0, heap_faults = 0;
        for (int r = 0; r < ROUNDS; r++) {
            wick_mempool *p = NULL;
            wick_memory_pool_info s;
            if (wick_mempool_new(&p, &(wick_memory_pool_options){0}, NULL) != WICK_OK) return 1;
            const wick_allocator a = wick_mempool_allocator(p);
            long before = faults();
            pool[r] = mixed(&a, n, whole);
            pool_faults = faults() - before;
            wick_mempool_stats(p, &s);
            in_extent = (double)s.free_bytes / (double)s.extent, in_pages = s.fragmentation;
            idle = 1 - (double)s.used / (double)s.peak;
            let_go(&a);
            wick_mempool_free(&p);
            before = faults();
            heap[r] = mixed(NULL, n, whole);
            heap_faults = faults() - before;
            in_heap = free_in_heap();
            let_go(NULL);
#if defined(__GLIBC__)
            malloc_trim(0);
#endif
        }
        qsort(pool, ROUNDS, sizeof *pool, by_size);
        qsort(heap, ROUNDS, sizeof *heap, by_size);
        printf("%s %8ld calls: pool %.3f s, %ld faults, free %.3f (pages %.3f); malloc %.3f s, %ld faults, free %.3f; "
               "%.2f times malloc's time; idle %.3f\n",
               whole ? "whole" : "ends ", n, pool[ROUNDS / 2], pool_faults, in_extent, in_pages, heap[ROUNDS / 2],
               heap_faults, in_heap, pool[ROUNDS / 2] / heap[ROUNDS / 2], idle);
    }
    return 0;
}
