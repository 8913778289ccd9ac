/* bench_reads.c: random reads of a record file's size, from the disk (pages dropped before each turn) and from the page
 * cache: by pread in 1 to 16 threads, and by io_uring with 16 and 64 reads under way, by its system calls alone.
 * Thousands of reads a second, medians of the turns.   Usage: bench_reads FILE (of some 100 MB; it is only read) */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"

enum { READS = 4000, SIZE = 3000, TURNS = 5, DEEPEST = 64, MOST_THREADS = 16 };
static int file;
static off_t places[READS];
static _Atomic int next_read, failed;

static void *read_some(void *arg) {
    char buffer[SIZE];
    (void)arg;
    for (int i; (i = atomic_fetch_add(&next_read, 1)) < READS;)
        if (pread(file, buffer, SIZE, places[i]) != SIZE) failed = 1;
    return NULL;
}
static void by_threads(int n) {
    pthread_t threads[MOST_THREADS];
    next_read = 0;
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, read_some, NULL) != 0) exit(1);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
}

static struct { int fd; char *sq, *cq; struct io_uring_sqe *entries; struct io_uring_params p; } ring;
static bool ring_open(void) {
    ring.fd = (int)syscall(SYS_io_uring_setup, DEEPEST, &ring.p);
    if (ring.fd < 0) return false;
    ring.sq = mmap(NULL, ring.p.sq_off.array + ring.p.sq_entries * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED,
                   ring.fd, IORING_OFF_SQ_RING);
    ring.cq = mmap(NULL, ring.p.cq_off.cqes + ring.p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
                   MAP_SHARED, ring.fd, IORING_OFF_CQ_RING);
    ring.entries = mmap(NULL, ring.p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED,
                        ring.fd, IORING_OFF_SQES);
    return ring.sq != MAP_FAILED && ring.cq != MAP_FAILED && (void *)ring.entries != MAP_FAILED;
}
static _Atomic uint32_t *word(char *base, uint32_t offset) { return (_Atomic uint32_t *)(void *)(base + offset); }
static void by_ring(int depth) {
    static char buffers[DEEPEST][SIZE];
    const uint32_t sq_mask = *word(ring.sq, ring.p.sq_off.ring_mask), cq_mask = *word(ring.cq, ring.p.cq_off.ring_mask);
    uint32_t *array = (uint32_t *)(void *)(ring.sq + ring.p.sq_off.array);
    const struct io_uring_cqe *done = (const struct io_uring_cqe *)(void *)(ring.cq + ring.p.cq_off.cqes);
    int free_slots[DEEPEST], n_free = depth, given = 0, got = 0;
    for (int i = 0; i < depth; i++) free_slots[i] = i;
    while (got < READS) {
        uint32_t tail = *word(ring.sq, ring.p.sq_off.tail), submitted = 0;
        for (; n_free && given < READS; given++, tail++, submitted++) {
            const int slot = free_slots[--n_free];
            ring.entries[tail & sq_mask] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                                                 .fd = file,
                                                                 .addr = (uint64_t)(uintptr_t)buffers[slot],
                                                                 .len = SIZE,
                                                                 .off = (uint64_t)places[given],
                                                                 .user_data = (uint64_t)slot};
            array[tail & sq_mask] = tail & sq_mask;
        }
        atomic_store_explicit(word(ring.sq, ring.p.sq_off.tail), tail, memory_order_release);
        if (syscall(SYS_io_uring_enter, ring.fd, submitted, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) exit(1);
        uint32_t head = *word(ring.cq, ring.p.cq_off.head);
        for (const uint32_t end = atomic_load_explicit(word(ring.cq, ring.p.cq_off.tail), memory_order_acquire);
             head != end; head++, got++) {
            if (done[head & cq_mask].res != SIZE) failed = 1;
            free_slots[n_free++] = (int)done[head & cq_mask].user_data;
        }
        atomic_store_explicit(word(ring.cq, ring.p.cq_off.head), head, memory_order_release);
    }
}

static const struct { const char *name; void (*run)(int); int n;
} ways[] = {
    {"pread, 1 thread", by_threads, 1},      {"pread, 2 threads", by_threads, 2},
    {"pread, 4 threads", by_threads, 4},     {"pread, 16 threads", by_threads, 16},
    {"io_uring, 16 under way", by_ring, 16}, {"io_uring, 64 under way", by_ring, 64},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static int by_value(const void *a, const void *b) {
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

int main(int argc, char **argv) {
    struct stat st;
    static double rates[2][WAYS][TURNS];
    if (argc < 2 || (file = open(argv[1], O_RDONLY)) < 0 || fstat(file, &st) != 0 || st.st_size < 100 * SIZE)
        return fprintf(stderr, "usage: bench_reads FILE\n"), 2;
    const bool has_ring = ring_open();
    for (int turn = 0; turn < TURNS; turn++)
        for (int cached = 0; cached < 2; cached++)
            for (int w = 0; w < WAYS; w++) {
                if (ways[w].run == by_ring && !has_ring) continue;
                for (int i = 0; i < READS; i++)
                    places[i] = (off_t)(wick_hash(&(int[]){i, turn, w * 2 + cached}, 3 * sizeof(int), 1) %
                                        (uint64_t)(st.st_size - SIZE));
                if (!cached) posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
                else by_threads(1); /* the pages that will be asked for */
                const uint64_t start = wick_now_ns();
                ways[w].run(ways[w].n);
                rates[cached][w][turn] = READS / ((double)(wick_now_ns() - start) * 1e-9) / 1000;
            }
    printf("| %d bytes each, thousands a second | from the disk | from the page cache |\n|---|---|---|\n", SIZE);
    for (int w = 0; w < WAYS; w++) {
        for (int cached = 0; cached < 2; cached++) qsort(rates[cached][w], TURNS, sizeof(double), by_value);
        printf("| %s | %.1f | %.0f |\n", ways[w].name, rates[0][w][TURNS / 2], rates[1][w][TURNS / 2]);
    }
    if (!has_ring) printf("io_uring is not permitted here\n");
    return failed ? fprintf(stderr, "a read failed\n"), 1 : 0;
}
