/* bench_pool.c: what one dispatch of the thread pool costs. Usage: bench_pool [threads]
 *
 *   empty     back to back, one empty task per thread: the caller mostly takes them all before a worker can join, and
 *             waits for none that did not
 *   2 us      one task of 2 us per thread: time beyond 2 us is the hand-over to warm workers
 *   20 us     one task of 20 us per thread: time beyond 20 us is what a small region of a training step loses
 *   50 tasks  50 empty tasks: the cost of taking tasks
 *   cold      the workers sleep before each dispatch
 *
 * Medians over batches; ns per dispatch. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/pool.h"

static void empty_task(void *arg, int64_t task, int worker) { (void)arg, (void)task, (void)worker; }

static void busy_task(void *arg, int64_t task, int worker) {
    (void)task, (void)worker;
    const uint64_t start = wick_now_ns();
    while (wick_now_ns() - start < *(const uint64_t *)arg) {
    }
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median ns of one dispatch. idle_ns is waited before each batch. */
static double measure(wick_pool *pool, wick_task_fn fn, uint64_t arg, int64_t tasks, int per_batch, long idle_ns) {
    enum { BATCHES = 41 };
    double ns[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        if (idle_ns) nanosleep(&(struct timespec){.tv_nsec = idle_ns}, NULL);
        const uint64_t start = wick_now_ns();
        for (int i = 0; i < per_batch; i++) wick_pool_run(pool, fn, &arg, tasks);
        ns[b] = (double)(wick_now_ns() - start) / per_batch;
    }
    qsort(ns, BATCHES, sizeof *ns, by_value);
    return ns[BATCHES / 2];
}

int main(int argc, char **argv) {
    const int threads = argc > 1 ? atoi(argv[1]) : 2;
    wick_pool *pool;
    if (wick_pool_new(&pool, threads, NULL, NULL) != WICK_OK) {
        fprintf(stderr, "bench_pool: cannot make a pool of %d threads\n", threads);
        return 1;
    }
    const int n = wick_pool_threads(pool);
    measure(pool, empty_task, 0, n, 1000, 0); /* starts the threads */
    printf("threads %d, CPUs %d; ns per dispatch\n", n, wick_cpu_count());
    printf("empty     %9.0f\n", measure(pool, empty_task, 0, n, 2000, 0));
    printf("2 us      %9.0f\n", measure(pool, busy_task, 2000, n, 500, 0));
    printf("20 us     %9.0f\n", measure(pool, busy_task, 20000, n, 50, 0));
    printf("50 tasks  %9.0f\n", measure(pool, empty_task, 0, 50, 1000, 0));
    printf("cold      %9.0f\n", measure(pool, empty_task, 0, n, 1, 2000000));
    wick_pool_free(&pool);
    return 0;
}
