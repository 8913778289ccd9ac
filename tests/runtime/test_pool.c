/* The thread pool: every task once, distinct workers, sleeping, nesting, sharing, fork, hosts, failures. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/counting_alloc.h"
#include "runtime/pool.h"
#include "test.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

static const int thread_counts[] = {1, 2, 3, 7};
enum { MAX_WORKERS = 64 };

/* Counts how often each task ran, and checks that no two running tasks share a worker number. */
typedef struct tally {
    int threads;
    int64_t tasks;
    uint8_t *ran; /* plain memory: two threads running one task would be a race that TSan sees */
    _Atomic int running[MAX_WORKERS];
    _Atomic int wrong_worker, wrong_task, shared;
    _Atomic int64_t done;
} tally;

static void tally_task(void *at, int64_t task, int worker) {
    tally *t = at;
    if (worker < 0 || worker >= t->threads) {
        atomic_fetch_add(&t->wrong_worker, 1);
        return;
    }
    if (atomic_fetch_add(&t->running[worker], 1) != 0) atomic_fetch_add(&t->shared, 1);
    if (task < 0 || task >= t->tasks)
        atomic_fetch_add(&t->wrong_task, 1);
    else
        t->ran[task]++;
    atomic_fetch_sub(&t->running[worker], 1);
    atomic_fetch_add_explicit(&t->done, 1, memory_order_relaxed);
}

static void tally_run(wick_pool *pool, int64_t tasks) {
    tally *t = calloc(1, sizeof *t);
    t->threads = wick_pool_threads(pool);
    t->tasks = tasks;
    t->ran = calloc((size_t)tasks + 1, 1);
    wick_pool_run(pool, tally_task, t, tasks);
    CHECK_INT(atomic_load(&t->done), tasks);
    CHECK_INT(atomic_load(&t->wrong_worker) + atomic_load(&t->wrong_task), 0);
    CHECK_INT(atomic_load(&t->shared), 0);
    int64_t once = 0;
    for (int64_t i = 0; i < tasks; i++) once += t->ran[i] == 1;
    CHECK_INT(once, tasks);
    free(t->ran);
    free(t);
}

TEST(every_task_runs_once_at_any_thread_count) {
    static const int64_t tasks[] = {0, 1, 2, 3, 7, 64, 1000, 100003};
    for (size_t i = 0; i < WICK_COUNTOF(thread_counts); i++) {
        wick_pool *pool;
        REQUIRE(wick_pool_new(&pool, thread_counts[i], NULL, NULL) == WICK_OK);
        CHECK_INT(wick_pool_threads(pool), thread_counts[i]);
        CHECK_INT(wick_pool_started(pool), 0); /* not before the first use */
        for (size_t k = 0; k < WICK_COUNTOF(tasks); k++) tally_run(pool, tasks[k]);
        CHECK_INT(wick_pool_started(pool), thread_counts[i] - 1);
        wick_pool_free(&pool);
        CHECK(pool == NULL);
        wick_pool_free(&pool);
    }
}

static void add_task(void *at, int64_t task, int worker) {
    (void)worker;
    atomic_fetch_add_explicit((_Atomic int64_t *)at, task + 1, memory_order_relaxed);
}

TEST(ten_thousand_tiny_regions) {
    for (size_t i = 0; i < WICK_COUNTOF(thread_counts); i++) {
        wick_pool *pool;
        REQUIRE(wick_pool_new(&pool, thread_counts[i], NULL, NULL) == WICK_OK);
        for (int r = 0; r < 10000; r++) {
            _Atomic int64_t sum = 0; /* on the stack: a late worker that touched the last region would hit this one */
            const int64_t n = r % 9;
            wick_pool_run(pool, add_task, &sum, n);
            CHECK_INT(atomic_load(&sum), n * (n + 1) / 2);
        }
        wick_pool_free(&pool);
    }
}

TEST(regions_with_random_pauses_between_them) {
    wick_pool *pool;
    REQUIRE(wick_pool_new(&pool, 2, NULL, NULL) == WICK_OK);
    for (int r = 0; r < 1500; r++) { /* pauses around the time after which a worker goes to sleep */
        _Atomic int64_t sum = 0;
        wick_pool_run(pool, add_task, &sum, 4);
        CHECK_INT(atomic_load(&sum), 10);
        const uint64_t start = wick_now_ns(), pause = (uint64_t)test_rand_int(0, 120000);
        while (wick_now_ns() - start < pause) {
        }
    }
    wick_pool_free(&pool);
}

/* Each task waits until all the others have begun, so the region ends only if that many threads run at once. */
typedef struct meeting {
    int n;
    _Atomic int here;
    _Atomic int late;
    _Atomic int64_t workers; /* bit set of worker numbers */
} meeting;

static void meet(void *at, int64_t task, int worker) {
    (void)task;
    meeting *m = at;
    atomic_fetch_or(&m->workers, (int64_t)1 << worker);
    atomic_fetch_add(&m->here, 1);
    const uint64_t start = wick_now_ns();
    while (atomic_load(&m->here) < m->n) {
        if (wick_now_ns() - start > 20000000000u) {
            atomic_fetch_add(&m->late, 1);
            return;
        }
        sched_yield();
    }
}

TEST(all_threads_take_part_even_with_fewer_cpus) {
    for (size_t i = 0; i < WICK_COUNTOF(thread_counts); i++) {
        wick_pool *pool;
        const int n = thread_counts[i];
        REQUIRE(wick_pool_new(&pool, n, NULL, NULL) == WICK_OK);
        for (int r = 0; r < 20; r++) {
            meeting m = {.n = n};
            if (r % 5 == 4) usleep(2000); /* from sleep, too */
            wick_pool_run(pool, meet, &m, n);
            CHECK_INT(atomic_load(&m.late), 0);
            CHECK_INT(atomic_load(&m.workers), ((int64_t)1 << n) - 1);
        }
        wick_pool_free(&pool);
    }
}

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

TEST(an_idle_pool_uses_no_cpu) {
    for (size_t i = 1; i < WICK_COUNTOF(thread_counts); i++) {
        wick_pool *pool;
        REQUIRE(wick_pool_new(&pool, thread_counts[i], NULL, NULL) == WICK_OK);
        tally_run(pool, 1000);
        uint64_t used = UINT64_MAX;
        /* whatever watches goes to sleep, once the machine has let it run: who never slept would use 200 ms of each try
         */
        for (int tries = 0; tries < 5 && used >= 4000000; tries++) {
            usleep(20000);
            const uint64_t before = cpu_ns();
            usleep(200000);
            used = cpu_ns() - before;
        }
        CHECK_MSG(used < 4000000, "%d threads: %llu ns of CPU in 200 ms", thread_counts[i], (unsigned long long)used);
        tally_run(pool, 1000);
        wick_pool_free(&pool);
    }
}

static void sleepy_task(void *at, int64_t task, int worker) {
    (void)worker;
    meeting *m = at;
    if (atomic_fetch_add(&m->here, 1) + 1 == m->n) usleep(200000);
    (void)task;
}

TEST(waiting_for_a_long_tail_uses_no_cpu) {
    wick_pool *pool;
    REQUIRE(wick_pool_new(&pool, 2, NULL, NULL) == WICK_OK);
    for (int r = 0; r < 4; r++) {
        meeting m = {.n = 2};
        const uint64_t before = cpu_ns();
        wick_pool_run(pool, sleepy_task, &m, 2);
        const uint64_t used = cpu_ns() - before;
        CHECK_MSG(used < 10000000, "%llu ns of CPU in 200 ms", (unsigned long long)used);
    }
    wick_pool_free(&pool);
}

/* ---- nesting and sharing ----------------------------------------------------------------------------------------- */

typedef struct nest {
    wick_pool *pool;
    pthread_t self[MAX_WORKERS];
    _Atomic int64_t inner;
    _Atomic int moved, nonzero;
} nest;

typedef struct nest_inner {
    nest *n;
    pthread_t thread;
} nest_inner;

static void inner_task(void *at, int64_t task, int worker) {
    (void)task;
    nest_inner *in = at;
    if (!pthread_equal(in->thread, pthread_self())) atomic_fetch_add(&in->n->moved, 1);
    if (worker != 0) atomic_fetch_add(&in->n->nonzero, 1);
    atomic_fetch_add(&in->n->inner, 1);
}

static void outer_task(void *at, int64_t task, int worker) {
    (void)task, (void)worker;
    nest *n = at;
    nest_inner in = {n, pthread_self()};
    wick_pool_run(n->pool, inner_task, &in, 10);
}

#if defined(__linux__)
/* Where each of two threads ran: a task ends when both have come. */
typedef struct pair {
    _Atomic int came;
    int cpu[2];
    pid_t id[2];
} pair;

static void be_two(void *at, int64_t task, int worker) {
    pair *m = at;
    (void)task;
    m->cpu[worker] = sched_getcpu();
    m->id[worker] = gettid();
    atomic_fetch_add(&m->came, 1);
    while (atomic_load(&m->came) < 2) sched_yield();
}

TEST(a_worker_wakes_where_the_caller_is_not) {
    cpu_set_t all, one, now;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) < 2) SKIP("one CPU");
    const int here = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET((size_t)here, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    wick_pool *p = NULL;
    REQUIRE(wick_pool_new(&p, 2, NULL, NULL) == WICK_OK);
    pair first = {0}, second = {0};
    wick_pool_run(p, be_two, &first, 2); /* it may run here only, and so goes to sleep here */
    CHECK(first.cpu[1] == here);
    usleep(100000);
    CHECK(sched_setaffinity(first.id[1], sizeof all, &all) == 0);
    wick_pool_run(p, be_two, &second, 2);
    CHECK(second.cpu[0] == here);
    CHECK(second.cpu[1] != here);
    CHECK(sched_getaffinity(second.id[1], sizeof now, &now) == 0 && CPU_EQUAL(&now, &all));
    wick_pool_free(&p);
    sched_setaffinity(0, sizeof all, &all);
}
#endif

TEST(a_run_inside_a_task_stays_on_its_thread) {
    for (size_t i = 1; i < WICK_COUNTOF(thread_counts); i++) {
        nest n = {0};
        REQUIRE(wick_pool_new(&n.pool, thread_counts[i], NULL, NULL) == WICK_OK);
        for (int r = 0; r < 50; r++) wick_pool_run(n.pool, outer_task, &n, 20);
        CHECK_INT(atomic_load(&n.inner), 50 * 20 * 10);
        CHECK_INT(atomic_load(&n.moved), 0);
        CHECK_INT(atomic_load(&n.nonzero), 0);
        wick_pool_free(&n.pool);
    }
}

typedef struct shared_caller {
    wick_pool *pool;
    int regions;
    int64_t wrong;
} shared_caller;

static void *call_often(void *at) {
    shared_caller *c = at;
    for (int r = 0; r < c->regions; r++) {
        _Atomic int64_t sum = 0;
        wick_pool_run(c->pool, add_task, &sum, 1 + r % 40);
        const int64_t n = 1 + r % 40;
        c->wrong += atomic_load(&sum) != n * (n + 1) / 2;
    }
    return NULL;
}

TEST(several_threads_may_use_one_pool_at_once) {
    for (size_t i = 0; i < WICK_COUNTOF(thread_counts); i++) {
        wick_pool *pool;
        REQUIRE(wick_pool_new(&pool, thread_counts[i], NULL, NULL) == WICK_OK);
        enum { CALLERS = 4 };
        shared_caller c[CALLERS];
        pthread_t t[CALLERS];
        for (int k = 0; k < CALLERS; k++) {
            c[k] = (shared_caller){pool, 2000, 0};
            REQUIRE(pthread_create(&t[k], NULL, call_often, &c[k]) == 0);
        }
        for (int k = 0; k < CALLERS; k++) {
            pthread_join(t[k], NULL);
            CHECK_INT(c[k].wrong, 0);
        }
        wick_pool_free(&pool);
    }
}

TEST(pools_do_not_disturb_each_other) {
    wick_pool *a, *b, *c;
    REQUIRE(wick_pool_new(&a, 2, NULL, NULL) == WICK_OK);
    REQUIRE(wick_pool_new(&b, 3, NULL, NULL) == WICK_OK);
    REQUIRE(wick_pool_new(&c, 2, NULL, NULL) == WICK_OK);
    tally_run(a, 100), tally_run(b, 100), tally_run(c, 100);
    wick_pool_free(&b);
    tally_run(a, 100), tally_run(c, 100);
    wick_pool_free(&c);
    wick_pool_free(&a);
}

TEST(pools_come_and_go) {
    for (int i = 0; i < 100; i++) {
        wick_pool *pool;
        REQUIRE(wick_pool_new(&pool, 1 + i % 4, NULL, NULL) == WICK_OK);
        if (i % 3) tally_run(pool, 5); /* workers may not yet have reached their loop when the pool is freed */
        wick_pool_free(&pool);
    }
}

/* ---- floating point ---------------------------------------------------------------------------------------------- */

typedef struct flush_check {
    meeting m;
    _Atomic int kept[2]; /* denormals kept: by the caller, by a worker */
} flush_check;

static void flush_task(void *at, int64_t task, int worker) {
    flush_check *c = at;
    meet(&c->m, task, worker);
    volatile float tiny = 1e-38f, quarter = 0.25f, result = tiny * quarter;
    if (result != 0) atomic_fetch_add(&c->kept[worker != 0], 1);
}

TEST(workers_flush_denormals_and_the_caller_keeps_its_mode) {
#if defined(__x86_64__) || defined(__aarch64__)
    wick_pool *pool;
    REQUIRE(wick_pool_new(&pool, 3, NULL, NULL) == WICK_OK);
    flush_check c = {.m = {.n = 3}};
    wick_pool_run(pool, flush_task, &c, 3);
    CHECK_INT(atomic_load(&c.kept[0]), 1);
    CHECK_INT(atomic_load(&c.kept[1]), 0);
    wick_pool_free(&pool);
#else
    SKIP("no denormal mode on this machine");
#endif
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* In a child: 0 if its pool works in parallel. */
static int child_uses(wick_pool *pool) {
    alarm(60); /* a hang ends as a failure */
    if (wick_pool_started(pool) != 0) return 1;
    for (int r = 0; r < 200; r++) {
        _Atomic int64_t sum = 0;
        wick_pool_run(pool, add_task, &sum, 30);
        if (atomic_load(&sum) != 465) return 2;
    }
    meeting m = {.n = 3};
    wick_pool_run(pool, meet, &m, 3);
    if (atomic_load(&m.late)) return 3;
    if (wick_pool_started(pool) != 2) return 4;
    wick_pool_free(&pool);
    return 0;
}

static void fork_and_use(wick_pool *pool) {
    fflush(stdout);
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) _exit(child_uses(pool));
    REQUIRE(pid > 0);
    waitpid(pid, &status, 0);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child ended with %x", (unsigned)status);
}

TEST(a_pool_works_in_the_child_of_fork) {
    if (UNDER_TSAN) SKIP("ThreadSanitizer starts no threads after fork");
    wick_pool *pool, *idle;
    REQUIRE(wick_pool_new(&pool, 3, NULL, NULL) == WICK_OK);
    REQUIRE(wick_pool_new(&idle, 3, NULL, NULL) == WICK_OK);
    fork_and_use(pool); /* before the first use */
    tally_run(pool, 100);
    fork_and_use(pool); /* workers watching */
    usleep(5000);
    fork_and_use(pool);   /* workers asleep */
    tally_run(pool, 100); /* the parent's goes on */
    CHECK_INT(wick_pool_started(pool), 2);
    wick_pool_free(&idle);
    wick_pool_free(&pool);
}

TEST(fork_while_another_thread_runs_a_region) {
    if (UNDER_TSAN) SKIP("ThreadSanitizer starts no threads after fork");
    wick_pool *pool;
    REQUIRE(wick_pool_new(&pool, 3, NULL, NULL) == WICK_OK);
    shared_caller c = {pool, 40000, 0};
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, call_often, &c) == 0);
    for (int i = 0; i < 10; i++) fork_and_use(pool);
    pthread_join(t, NULL);
    CHECK_INT(c.wrong, 0);
    wick_pool_free(&pool);
}

/* ---- hosts ------------------------------------------------------------------------------------------------------- */

/* An executor as a host might have it: fresh threads take tasks from a counter. */
typedef struct host {
    int spawn; /* threads that it really runs */
    void (*fn)(void *arg, int64_t task);
    void *arg;
    int64_t tasks;
    _Atomic int64_t next;
    _Atomic int calls;
} host;

static void *host_thread(void *at) {
    host *h = at;
    for (int64_t i; (i = atomic_fetch_add(&h->next, 1)) < h->tasks;) h->fn(h->arg, i);
    return NULL;
}

static void host_parallel(void *user, void (*fn)(void *arg, int64_t task), void *arg, int64_t tasks) {
    host *h = user;
    pthread_t t[MAX_WORKERS];
    h->fn = fn, h->arg = arg, h->tasks = tasks;
    atomic_store(&h->next, 0);
    atomic_fetch_add(&h->calls, 1);
    int n = 0;
    while (n < h->spawn && pthread_create(&t[n], NULL, host_thread, h) == 0) n++;
    if (n == 0) host_thread(h);
    while (n) pthread_join(t[--n], NULL);
}

TEST(host_threads_get_distinct_worker_numbers) {
    for (int threads = 1; threads <= 7; threads += 2) {
        host h = {.spawn = threads};
        wick_executor ex = {&h, threads, host_parallel};
        wick_pool *pool;
        REQUIRE(wick_pool_new(&pool, 2, &ex, NULL) == WICK_OK);
        memset(&ex, 0, sizeof ex); /* copied */
        CHECK_INT(wick_pool_threads(pool), threads);
        for (int r = 0; r < 20; r++) tally_run(pool, 500);
        if (threads > 1) CHECK_INT(atomic_load(&h.calls), 20);
        meeting m = {.n = threads};
        wick_pool_run(pool, meet, &m, threads);
        CHECK_INT(atomic_load(&m.late), 0);
        CHECK_INT(atomic_load(&m.workers), ((int64_t)1 << threads) - 1);
        CHECK_INT(wick_pool_started(pool), 0);
        wick_pool_free(&pool);
    }
}

TEST(a_host_that_runs_more_than_it_said_stays_within_the_numbers) {
    host h = {.spawn = 6};
    const wick_executor ex = {&h, 2, host_parallel};
    wick_pool *pool;
    REQUIRE(wick_pool_new(&pool, 0, &ex, NULL) == WICK_OK);
    for (int r = 0; r < 50; r++) tally_run(pool, 300);
    wick_pool_free(&pool);
}

TEST(nested_runs_and_denormals_on_host_threads) {
    host h = {.spawn = 3};
    const wick_executor ex = {&h, 3, host_parallel};
    nest n = {0};
    REQUIRE(wick_pool_new(&n.pool, 0, &ex, NULL) == WICK_OK);
    wick_pool_run(n.pool, outer_task, &n, 20);
    CHECK_INT(atomic_load(&n.inner), 200);
    CHECK_INT(atomic_load(&n.moved), 0);
    flush_check c = {.m = {.n = 3}};
    wick_pool_run(n.pool, flush_task, &c, 3);
#if defined(__x86_64__) || defined(__aarch64__)
    CHECK_INT(atomic_load(&c.kept[0]) + atomic_load(&c.kept[1]), 0);
#endif
    wick_pool_free(&n.pool);
}

/* ---- arguments and failures -------------------------------------------------------------------------------------- */

TEST(arguments_out_of_range_are_refused) {
    wick_pool *pool = (wick_pool *)&pool;
    host h = {.spawn = 1};
    CHECK_INT(wick_pool_new(&pool, -2, NULL, NULL), WICK_ERR_INVALID);
    CHECK(pool == NULL);
    CHECK_INT(wick_pool_new(&pool, 1 << 20, NULL, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_pool_new(&pool, 1, &(wick_executor){&h, 0, host_parallel}, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_pool_new(&pool, 1, &(wick_executor){&h, 2, NULL}, NULL), WICK_ERR_INVALID);
    REQUIRE(wick_pool_new(&pool, 0, NULL, NULL) == WICK_OK);
    CHECK_INT(wick_pool_threads(pool), wick_cpu_count());
    wick_pool *fewer = NULL;
    REQUIRE(wick_pool_new(&fewer, -1, NULL, NULL) == WICK_OK);
    CHECK_INT(wick_pool_threads(fewer), WICK_MAX(wick_cpu_count() - 1, 1));
    wick_pool_free(&fewer);
    wick_pool_run(pool, add_task, NULL, 0);
    wick_pool_run(pool, add_task, NULL, -3);
    wick_pool_free(&pool);
}

TEST(every_allocation_may_fail) {
    for (int64_t n = 0;; n++) {
        REQUIRE(n < 10);
        counting c = {.fail_at = n};
        const wick_allocator a = counting_allocator(&c);
        wick_pool *pool;
        const wick_status status = wick_pool_new(&pool, 3, NULL, &a);
        if (status == WICK_OK) {
            tally_run(pool, 50); /* running allocates nothing */
            CHECK_INT(c.calls, n);
            wick_pool_free(&pool);
            CHECK_INT(c.live, 0);
            break;
        }
        CHECK_INT(status, WICK_ERR_NOMEM);
        CHECK(pool == NULL);
        CHECK_INT(c.live, 0);
    }
}

/* In a fresh process, which has no stacks of former threads to reuse: 0 if regions complete without a thread. */
static int run_without_threads(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) return 77;
    fclose(f);
    wick_pool *pool;
    if (wick_pool_new(&pool, 4, NULL, NULL) != WICK_OK) return 1;
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 20); /* no room for a stack */
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) != 0) return 77;
    for (int r = 0; r < 3; r++) {
        _Atomic int64_t sum = 0;
        wick_pool_run(pool, add_task, &sum, 100);
        if (atomic_load(&sum) != 5050) return 2;
    }
    if (wick_pool_started(pool) != 0) return 3;
    wick_pool_free(&pool);
    return 0;
}

TEST(without_threads_the_caller_does_all_the_work) {
    if (UNDER_TSAN || UNDER_ASAN) SKIP("sanitizers need more address space than the limit leaves");
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_pool", "--without-threads", (char *)NULL);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("the address space cannot be limited here");
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child ended with %x", (unsigned)status);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--without-threads") == 0) return run_without_threads();
    return test_main(argc, argv);
}
