/* Shares that follow the threads' speeds, what threads say that they did, and from where on tasks are taken from
 * others: every task still runs once. Clocks are the test's own: each thread's is moved by what it runs. */
#include <sched.h>
#include <stdatomic.h>

#include "base/counting_alloc.h"
#include "runtime/balance.h"
#include "runtime/pool.h"
#include "test.h"

/* ---- speeds ------------------------------------------------------------------------------------------------------ */

/* n regions in which thread i does share[i] tasks at speed[i] (0: it has no part); how often shares changed. */
static int add(wick_balance *b, int n, const double *speed, const uint64_t *tasks) {
    int changes = 0;
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < b->n; i++) {
            b->pace[i].tasks = speed[i] > 0 ? tasks[i] : 0;
            b->pace[i].ns = speed[i] > 0 ? (uint64_t)((double)tasks[i] * 1000 / speed[i]) : 0;
        }
        changes += wick_balance_add(b);
    }
    return changes;
}

static double share_of(const wick_balance *b, int i) {
    return (double)(b->until[i + 1] - b->until[i]) / (double)b->until[b->n];
}

TEST(shares_go_to_the_speeds) {
    wick_balance b;
    REQUIRE(wick_balance_init(&b, 3, NULL));
    CHECK(add(&b, 200, (double[]){3, 2, 1}, (uint64_t[]){100, 100, 100}) > 0);
    CHECK_MSG(fabs(b.pace[0].speed - 1.5) < 0.01 && fabs(b.pace[2].speed - 0.5) < 0.01, "%g %g", b.pace[0].speed,
              b.pace[2].speed);
    for (int i = 0; i < 3; i++) /* a tenth of a share is not followed */
        CHECK_MSG(fabs(share_of(&b, i) - (3 - i) / 6.0) < 0.1 * (3 - i) / 6.0, "%d has %g", i, share_of(&b, i));
    /* and back, when all are equally fast again */
    CHECK(add(&b, 200, (double[]){1, 1, 1}, (uint64_t[]){30, 100, 100}) > 0);
    for (int i = 0; i < 3; i++) CHECK(fabs(share_of(&b, i) - 1 / 3.0) < 0.1 / 3);
    wick_balance_free(&b);
}

TEST(what_is_within_a_tenth_changes_no_share) {
    wick_balance b;
    REQUIRE(wick_balance_init(&b, 2, NULL));
    CHECK_INT(add(&b, 1000, (double[]){1.05, 0.95}, (uint64_t[]){50, 50}), 0);
    CHECK_INT(b.changes, 0);
    /* noise around equal speeds: each region says something else */
    for (int r = 0; r < 1000; r++) {
        const double faster = 1 + 0.3 * (test_rand_int(0, 1000) / 500.0 - 1);
        CHECK_INT(add(&b, 1, (double[]){faster, 1}, (uint64_t[]){500, 500}), 0);
    }
    /* once they have followed, they stay where they are while nothing changes */
    const int changes = add(&b, 300, (double[]){2, 1}, (uint64_t[]){50, 50});
    CHECK(changes > 0 && changes < 10);
    CHECK_INT(add(&b, 1000, (double[]){2, 1}, (uint64_t[]){50, 50}), 0);
    wick_balance_free(&b);
}

TEST(a_region_without_the_fast_ones_says_nothing_against_them) {
    wick_balance b;
    REQUIRE(wick_balance_init(&b, 3, NULL));
    add(&b, 200, (double[]){3, 2, 1}, (uint64_t[]){100, 100, 100});
    CHECK_INT(add(&b, 500, (double[]){0, 2, 1}, (uint64_t[]){0, 60, 60}), 0);
    CHECK(fabs(b.pace[0].speed - 1.5) < 0.02);
    CHECK_INT(add(&b, 500, (double[]){0, 0, 9}, (uint64_t[]){0, 0, 60}), 0); /* alone: no speed follows from that */
    CHECK(fabs(b.pace[2].speed - 0.5) < 0.01);
    wick_balance_free(&b);
}

TEST(one_region_that_was_interrupted_moves_little) {
    wick_balance b;
    REQUIRE(wick_balance_init(&b, 2, NULL));
    CHECK_INT(add(&b, 1, (double[]){1, 0.0001}, (uint64_t[]){50, 50}), 0);
    CHECK(b.pace[1].speed > 0.9);
    wick_balance_free(&b);
}

TEST(who_is_very_slow_keeps_a_little) {
    wick_balance b;
    REQUIRE(wick_balance_init(&b, 2, NULL));
    add(&b, 1000, (double[]){1, 0.001}, (uint64_t[]){50, 50});
    CHECK(share_of(&b, 1) > 0.02 && share_of(&b, 1) < 0.05);
    wick_balance_free(&b);
}

TEST(shares_are_all_of_the_tasks_in_order) {
    static const uint64_t tasks[] = {0, 1, 7, 64, 1000003, (uint64_t)1 << 40, (uint64_t)1 << 62, UINT64_MAX};
    wick_balance b;
    REQUIRE(wick_balance_init(&b, WICK_THREADS_MAX, NULL));
    double speed[WICK_THREADS_MAX];
    uint64_t ones[WICK_THREADS_MAX];
    for (int i = 0; i < WICK_THREADS_MAX; i++) speed[i] = i ? 0.001 : 1, ones[i] = 1000;
    add(&b, 300, speed, ones);
    CHECK(b.changes > 0);
    CHECK(b.until[b.n] < (uint32_t)1 << 27);
    for (size_t k = 0; k < WICK_COUNTOF(tasks); k++) {
        uint64_t last = 0;
        for (int i = 0; i <= b.n; i++) {
            const uint64_t begin = wick_balance_begin(b.until, (uint64_t)b.n, tasks[k], (uint64_t)i);
            CHECK(begin >= last && begin <= tasks[k]);
            last = begin;
        }
        CHECK(last == tasks[k]);
    }
    wick_balance_free(&b);
}

/* ---- a pool's ---------------------------------------------------------------------------------------------------- */

/* A thread's own clock, which its tasks move: worker i takes cost[i] ns for each. */
static _Thread_local uint64_t clock_ns;
static uint64_t own_clock(void) { return clock_ns; }

typedef struct uneven {
    const uint64_t *cost;
    int threads;
    _Atomic int came; /* workers; the first task of each waits for all, so that each has a part */
    _Atomic bool here[8];
    _Atomic int64_t ran;
    uint8_t *count; /* plain memory: two threads running one task would be a race that TSan sees */
} uneven;

static void uneven_task(void *at, int64_t task, int worker) {
    uneven *u = at;
    clock_ns += u->cost[worker];
    if (!atomic_exchange(&u->here[worker], true)) atomic_fetch_add(&u->came, 1);
    const uint64_t start = wick_now_ns();
    while (atomic_load(&u->came) < u->threads && wick_now_ns() - start < 10000000000u) sched_yield();
    u->count[task]++;
    atomic_fetch_add(&u->ran, 1);
}

/* Whether each of the tasks ran once. */
static bool run_uneven(wick_pool *pool, int threads, const uint64_t *cost, int64_t tasks) {
    uneven u = {.cost = cost, .threads = threads, .count = calloc((size_t)tasks, 1)};
    wick_pool_run(pool, uneven_task, &u, tasks);
    bool once = atomic_load(&u.ran) == tasks;
    for (int64_t i = 0; i < tasks; i++) once = once && u.count[i] == 1;
    free(u.count);
    return once;
}

TEST(a_pool_gives_slow_threads_less) {
    static const uint64_t cost[] = {1000, 1000, 4000};
    wick_pool *pool;
    wick_worker_stats w[3];
    uint64_t tasks = 0, steals = 0;
    REQUIRE(wick_pool_new(&pool, 3, NULL, NULL) == WICK_OK);
    REQUIRE(wick_pool_balance(pool, own_clock));
    for (int r = 0; r < 400; r++) CHECK(run_uneven(pool, 3, cost, 96 + r % 5));
    double share = 0;
    for (int i = 0; i < 3; i++) {
        CHECK(wick_pool_worker(pool, i, &w[i]));
        CHECK_INT(w[i].regions, 400);
        CHECK_MSG(fabs(w[i].seconds - (double)(w[i].tasks * cost[i]) * 1e-9) < 1e-9, "%g s", w[i].seconds);
        tasks += w[i].tasks;
        steals += w[i].steals;
        share += w[i].share;
    }
    CHECK_INT(tasks, 400 * 98);
    CHECK(steals < tasks);
    CHECK(fabs(share - 1) < 1e-9);
    CHECK_MSG(fabs(w[0].speed - 4 / 3.0) < 0.02 && fabs(w[2].speed - 1 / 3.0) < 0.02, "speeds %g %g", w[0].speed,
              w[2].speed);
    CHECK_MSG(fabs(w[0].share - 4 / 9.0) < 0.05 && fabs(w[2].share - 1 / 9.0) < 0.012, "shares %g %g", w[0].share,
              w[2].share);
    /* fewer tasks than two for each: equal shares again, and all of them run */
    for (int64_t n = 3; n < 9; n++) CHECK(run_uneven(pool, 3, cost, n));
    wick_pool_free(&pool);
}

TEST(without_a_balance_shares_are_equal_and_time_is_not_taken) {
    wick_pool *pool;
    wick_worker_stats w;
    REQUIRE(wick_pool_new(&pool, 2, NULL, NULL) == WICK_OK);
    for (int r = 0; r < 50; r++) CHECK(run_uneven(pool, 2, (uint64_t[]){1, 9}, 40));
    CHECK(wick_pool_worker(pool, 1, &w));
    CHECK(w.regions == 50 && w.tasks > 0 && w.seconds == 0 && w.speed == 1 && w.share == 0.5);
    wick_pool_watch(pool, true);
    for (int r = 0; r < 50; r++) CHECK(run_uneven(pool, 2, (uint64_t[]){1, 9}, 40));
    wick_pool_watch(pool, false);
    CHECK(wick_pool_worker(pool, 1, &w));
    CHECK(w.regions == 100 && w.seconds > 0 && w.share == 0.5);
    const double seconds = w.seconds;
    CHECK(run_uneven(pool, 2, (uint64_t[]){1, 9}, 40));
    CHECK(wick_pool_worker(pool, 1, &w) && w.seconds == seconds);
    CHECK(!wick_pool_worker(pool, 2, &w) && !w.regions && !wick_pool_worker(pool, -1, &w));
    wick_pool_free(&pool);
}

/* Two threads with 20 tasks each: the second one's first task lasts until all have run that the first may take. */
typedef struct held {
    int64_t others;
    _Atomic int64_t ran;
    _Atomic bool came;
    bool late;
} held;

static void held_task(void *at, int64_t task, int worker) {
    held *h = at;
    (void)task;
    const uint64_t start = wick_now_ns();
    if (worker == 1) atomic_store(&h->came, true);
    while (worker == 1 ? atomic_load(&h->ran) < h->others : !atomic_load(&h->came)) {
        if (wick_now_ns() - start > 20000000000u) {
            h->late = true;
            break;
        }
        sched_yield();
    }
    atomic_fetch_add(&h->ran, 1);
}

TEST(little_that_an_owner_has_left_is_not_taken) {
    static const int steal[] = {1, 2, 10, 19, 20, 4096, 1 << 20};
    for (size_t s = 0; s < WICK_COUNTOF(steal); s++) {
        wick_pool *pool;
        wick_worker_stats w[2];
        const int64_t taken = WICK_MAX(20 - steal[s], 0); /* of the 19 behind the first, while that many are left */
        held h = {.others = 20 + taken};
        REQUIRE(wick_pool_new(&pool, 2, NULL, NULL) == WICK_OK);
        wick_pool_tune(pool, steal[s], 64);
        wick_pool_run(pool, held_task, &h, 40);
        CHECK(!h.late);
        for (int i = 0; i < 2; i++) CHECK(wick_pool_worker(pool, i, &w[i]));
        CHECK_INT(w[0].steals, taken);
        CHECK_INT(w[1].steals, 0);
        CHECK_INT(w[0].tasks + w[1].tasks, 40);
        wick_pool_free(&pool);
    }
}

TEST(every_task_runs_once_however_they_are_taken) {
    static const int steal[] = {1, 3, 4096}, chunk[] = {1, 5, 4096};
    for (size_t s = 0; s < WICK_COUNTOF(steal); s++)
        for (size_t c = 0; c < WICK_COUNTOF(chunk); c++) {
            wick_pool *pool;
            REQUIRE(wick_pool_new(&pool, 3, NULL, NULL) == WICK_OK);
            wick_pool_tune(pool, steal[s], chunk[c]);
            if (c == 1) REQUIRE(wick_pool_balance(pool, own_clock));
            for (int64_t n = 2; n < 100; n++) CHECK(run_uneven(pool, 1, (uint64_t[]){1, 3, 9}, n));
            CHECK(run_uneven(pool, 3, (uint64_t[]){1, 3, 9}, 20011));
            wick_pool_free(&pool);
        }
}

static void host_parallel(void *user, void (*fn)(void *arg, int64_t task), void *arg, int64_t tasks) {
    (void)user;
    for (int64_t i = 0; i < tasks; i++) fn(arg, i);
}

TEST(the_hosts_threads_have_no_numbers_and_no_shares) {
    wick_pool *pool;
    wick_worker_stats w;
    REQUIRE(wick_pool_new(&pool, 0, &(wick_executor){NULL, 2, host_parallel}, NULL) == WICK_OK);
    CHECK(wick_pool_balance(pool, NULL));
    CHECK(run_uneven(pool, 1, (uint64_t[]){1, 1}, 10));
    CHECK(!wick_pool_worker(pool, 0, &w) && w.tasks == 0);
    wick_pool_free(&pool);
}

TEST(out_of_memory) {
    for (int64_t n = 0; n < 2; n++) {
        counting c = {.fail_at = -1};
        const wick_allocator a = counting_allocator(&c);
        wick_pool *pool;
        REQUIRE(wick_pool_new(&pool, 2, NULL, &a) == WICK_OK);
        c.fail_at = c.calls + n;
        CHECK(!wick_pool_balance(pool, NULL));
        CHECK(run_uneven(pool, 1, (uint64_t[]){1, 1}, 10));
        wick_pool_free(&pool);
        CHECK_INT(c.live, 0);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
