/* pool.c: the thread pool.
 *
 * A training step runs some twenty regions of 5 to 200 microseconds, so what counts is the cost of one dispatch. All
 * hand-over goes through one word, the gate:
 *
 *   63        32   31    30     29   28      0
 *   [ serial   | open | wait | quit | active ]
 *
 *   serial  number of the region; workers watch for a change
 *   open    workers may still join this region
 *   wait    the caller sleeps until active is 0
 *   quit    the pool is being freed
 *   active  workers that have joined and not yet left
 *
 * The caller fills in the region, opens the gate with a new serial, and takes tasks like everyone else. A worker joins
 * by a compare-exchange that adds 1 to active while the gate is open, and reads the region only between joining and
 * leaving. When no task is left to take, the caller closes the gate, unless all workers have joined, and waits for
 * active to reach 0: then all tasks are done, and nobody can touch the region. Each thread takes the tasks of its own
 * share first, in order, then those of others: regions that follow each other over the same data find it in the caches
 * of the same cores. Shares are equal, or follow the threads' speeds (balance.h). A worker that comes late, since it
 * slept or was not scheduled, finds the gate closed and costs nothing; no region ever waits for a worker that had no
 * part in it.
 *
 * Cores that share no cache are 0.1 to 0.4 us from each other for every line that one wrote and another touches. So the
 * gate and the region are one line, what the tasks are given is asked for while it is on its way, and shares of others
 * are looked at only where there may be something to take.
 *
 * A worker with nothing to do watches the gate for WORKER_SPIN_NS and then sleeps. With more threads than CPUs watching
 * would take the CPU from those that work: then it sleeps at once, and sleepers are woken one by one, each by the one
 * before, while tasks are left; otherwise all that can be of use are woken by the caller. Where all CPUs have been busy
 * Linux wakes a thread on the CPU where it slept, even if the caller is computing there by now, and the region would be
 * over before it ran: such a sleeper is first sent elsewhere.
 *
 * Fork: the child has none of the workers. A handler makes every pool of the process look unused in the child, so
 * threads start again on the first run there. This holds for a fork outside tasks; after a fork inside a task, the
 * child may only exec or _exit. A library that is to be unloaded frees its pools first (workers run its code). */
#include "runtime/pool.h"

#include "runtime/balance.h"
#include "wick/context.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#if defined(__linux__)
#include <unistd.h>
#endif

enum {
    WORKER_SPIN_NS = 50000, /* longer than the serial gaps between the regions of a step */
    CALLER_SPIN_NS = 50000, /* the tail of a region: others are in their last tasks */
    CROWDED_SPIN_NS = 2000, /* caller's, with more threads than CPUs: the others may need this very CPU */
    SPINS_PER_CLOCK = 16,   /* pauses between looks at the clock */
    CHUNKS_PER_THREAD = 16, /* tasks are taken in chunks that still leave this many to each thread, for balance */
    MAX_CHUNK = 64,         /* unless wick_pool_tune says otherwise */
    ARG_LINES = 3,          /* of what tasks are given, that are asked for at once */
    TAKEN_BITS = 24,        /* of a share's word; the others say of which region */
    OWNER = 1 << 23,        /* of these: its owner has taken some, and will take what others leave */
    CHUNK_BITS = 22,        /* of these, at most, number chunks */
    BALANCE_EVERY = 8       /* regions from one measuring of speeds to the next */
};

#define GATE_SERIAL ((uint64_t)1 << 32) /* adds 1 to the serial */
#define GATE_OPEN   ((uint64_t)1 << 31)
#define GATE_WAIT   ((uint64_t)1 << 30)
#define GATE_QUIT   ((uint64_t)1 << 29)
#define GATE_ACTIVE (GATE_QUIT - 1)

/* What has been taken of a thread's share: region << TAKEN_BITS | OWNER | chunks. Of another region than the one that
 * runs: nothing has. The same number of a region comes back after 2^40. */
typedef struct share {
    _Alignas(WICK_ALIGN) _Atomic uint64_t taken;
} share;

/* What a thread has done; it alone writes. The caller looks at `last` once the thread has left the region. */
typedef struct tally {
    _Alignas(WICK_ALIGN) _Atomic uint64_t regions, tasks, steals, ns;
    uint64_t last, last_tasks, last_ns; /* the last region that was timed, by its number */
} tally;

typedef struct worker {
    wick_pool *pool;
    pthread_t thread;
    int number;
    share share;
    tally tally;
#if defined(__linux__)
    pid_t id; /* under the pool's lock, as all of these */
    int cpu;  /* where it sleeps */
    bool asleep;
    bool moved; /* by wake_elsewhere; `cpus` is where it may run otherwise */
    cpu_set_t cpus;
#endif
} worker;

/* What runs: constant while the gate is open. */
typedef struct region {
    wick_task_fn fn;
    void *arg;
    uint64_t tasks, chunk, number;
    const uint32_t *until; /* sums of the shares' weights; NULL: they are equal */
    uint16_t shares, steal;
    bool timed;
} region;

struct wick_pool {
    const wick_allocator *alloc;
    size_t size; /* of this block */
    int threads;
    bool crowded; /* more threads than CPUs */
    bool tried;   /* workers have been started, as many as the system gave */
    _Atomic int started;
    bool hosted;
    int *pins, n_pins;        /* CPUs of threads, in turn; NULL: they are not pinned */
    _Atomic int pin_refused; /* errno */
    int steal, max_chunk;
    wick_balance balance;   /* n is 0: shares are equal */
    uint64_t (*now)(void);  /* of the balance */
    _Atomic int watchers;   /* who wants to know how long threads work */
    wick_executor host;
    wick_pool *prev, *next_pool; /* all pools, for fork */

    /* One cache line for each thing that changes at its own pace. */
    _Alignas(WICK_ALIGN) _Atomic bool busy; /* a region runs, or a caller prepares one */

    _Alignas(WICK_ALIGN) _Atomic uint64_t gate; /* with the region in one line: who joins has it */
    region region;

    _Alignas(WICK_ALIGN) _Atomic int sleepers; /* changed under lock */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* a new serial, or quit */
    pthread_cond_t done; /* active is 0 */

    _Alignas(
        WICK_ALIGN) _Atomic uint64_t taken[WICK_THREADS_MAX / 64]; /* hosted: bit n is set while worker number n runs */

    share callers;
    tally callers_tally;
    worker workers[]; /* numbers 1 to threads - 1 */
};

/* ---- small parts ------------------------------------------------------------------------------------------------- */

static inline void cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield is a no-op on most cores */
#endif
}

/* Watches the gate until (gate & mask) differs from value, for at most ns; returns the gate as last seen. */
static uint64_t watch(wick_pool *p, uint64_t mask, uint64_t value, uint64_t ns) {
    uint64_t gate = atomic_load_explicit(&p->gate, memory_order_acquire), start = 0;
    for (int i = 1; (gate & mask) == value && ns; i++) {
        cpu_pause();
        if (i % SPINS_PER_CLOCK == 0) {
            uint64_t now = wick_now_ns();
            if (!start) start = now;
            if (now - start > ns) break;
        }
        gate = atomic_load_explicit(&p->gate, memory_order_acquire);
    }
    return gate;
}

static _Atomic uint64_t *share_of(wick_pool *p, uint64_t i) {
    return i ? &p->workers[i - 1].share.taken : &p->callers.taken;
}

static tally *tally_of(const wick_pool *p, int i) {
    return (tally *)(uintptr_t)(i ? &p->workers[i - 1].tally : &p->callers_tally);
}

/* The first task of share i and of those after it. */
static uint64_t share_begin(const region *r, uint64_t i) {
    if (r->until) return wick_balance_begin(r->until, r->shares, r->tasks, i);
    return r->tasks / r->shares * i + WICK_MIN(i, r->tasks % r->shares);
}

/* OWNER and chunks of a share's word. */
static uint64_t taken_of(const region *r, uint64_t word) {
    return word >> TAKEN_BITS == r->number ? word & (((uint64_t)1 << TAKEN_BITS) - 1) : 0;
}
static uint64_t chunks_taken(const region *r, uint64_t word) { return taken_of(r, word) & (OWNER - 1); }

/* The first task of the next chunk of share i; *end where there is none, or too few to take them from their owner, who
 * is there. Order comes from the gate. */
static uint64_t take(wick_pool *p, const region *r, uint64_t i, bool own, uint64_t *end) {
    _Atomic uint64_t *at = share_of(p, i);
    const uint64_t begin = share_begin(r, i), chunk = r->chunk;
    uint64_t word = atomic_load_explicit(at, memory_order_relaxed), taken, owner;
    *end = share_begin(r, i + 1);
    do {
        taken = chunks_taken(r, word);
        owner = taken_of(r, word) & OWNER;
        if (taken * chunk >= *end - begin) return *end;
        if (!own && owner && *end - begin - taken * chunk < r->steal) return *end;
        if (own) owner = OWNER;
    } while (!atomic_compare_exchange_weak_explicit(at, &word, (r->number << TAKEN_BITS) + owner + taken + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    *end = WICK_MIN(begin + (taken + 1) * chunk, *end);
    return begin + taken * chunk;
}

/* Whether every share is one chunk and its owner has taken it: then nothing is left to steal, and cache lines that
 * others write need not be read. */
static bool each_has_one(wick_pool *p, const region *r) {
    return r->tasks == r->shares &&
           (atomic_load_explicit(&p->gate, memory_order_relaxed) & GATE_ACTIVE) == (uint64_t)p->threads - 1;
}

static void add(_Atomic uint64_t *to, uint64_t n) { /* of one writer */
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, memory_order_relaxed);
}

static void tell(wick_pool *p, const region *r, int number, uint64_t tasks, uint64_t steals, uint64_t ns) {
    tally *t = tally_of(p, number);
    add(&t->regions, 1);
    add(&t->tasks, tasks);
    if (steals) add(&t->steals, steals);
    if (!r->timed) return;
    add(&t->ns, ns);
    t->last = r->number;
    t->last_tasks = tasks;
    t->last_ns = ns;
}

static void work(wick_pool *p, region r, int number) {
    const uint64_t from = r.timed ? p->now() : 0;
    uint64_t tasks = 0, steals = 0;
    for (uint64_t k = 0; k < r.shares; k++) {
        if (k == 1 && each_has_one(p, &r)) break;
        const uint64_t of = ((uint64_t)number + k) % r.shares;
        for (uint64_t end, task; (task = take(p, &r, of, of == (uint64_t)number, &end)) < end;) {
            tasks += end - task;
            if (of != (uint64_t)number) steals += end - task;
            for (; task < end; task++) r.fn(r.arg, (int64_t)task, number);
        }
    }
    if (tasks) tell(p, &r, number, tasks, steals, r.timed ? p->now() - from : 0);
}

static bool tasks_are_left(wick_pool *p, const region *r) {
    for (uint64_t i = 0; i < r->shares; i++)
        if (chunks_taken(r, atomic_load_explicit(share_of(p, i), memory_order_relaxed)) * r->chunk <
            share_begin(r, i + 1) - share_begin(r, i))
            return true;
    return false;
}

#if defined(__linux__)
/* Under the lock. With more CPUs than a cpu_set_t has, or where the kernel refuses, they wake where they slept. */
static void wake_elsewhere(wick_pool *p) {
    const int here = sched_getcpu(), started = atomic_load_explicit(&p->started, memory_order_relaxed);
    for (int i = 0; i < started; i++) {
        worker *w = &p->workers[i];
        if (!w->asleep || w->moved || w->cpu != here || sched_getaffinity(w->id, sizeof w->cpus, &w->cpus) != 0)
            continue;
        cpu_set_t others = w->cpus;
        CPU_CLR((size_t)here, &others);
        w->moved = CPU_COUNT(&others) && sched_setaffinity(w->id, sizeof others, &others) == 0;
    }
}
static void falls_asleep(worker *w) {
    w->id = gettid();
    w->cpu = sched_getcpu();
    w->asleep = true;
}
static void pin(wick_pool *p, const worker *w) {
    const int cpu = p->pins[w->number % p->n_pins];
    const size_t size = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    if (!set) return; /* where the system puts it */
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    const int refused = pthread_setaffinity_np(w->thread, size, set);
    if (refused) atomic_store_explicit(&p->pin_refused, refused, memory_order_relaxed);
    CPU_FREE(set);
}
static void wakes(worker *w) {
    if (w->moved) (void)sched_setaffinity(w->id, sizeof w->cpus, &w->cpus);
    w->asleep = w->moved = false;
}
#else
static void wake_elsewhere(wick_pool *p) { (void)p; }
static void falls_asleep(worker *w) { (void)w; }
static void wakes(worker *w) { (void)w; }
#endif

static void wake_workers(wick_pool *p, uint64_t wanted) {
    /* Pairs with worker_sleep: it counts itself and then reads the gate, we have written the gate and now read the
     * count, all in one total order, so at least one of the two sees the other. */
    int sleepers = atomic_load(&p->sleepers);
    if (!sleepers) return;
    pthread_mutex_lock(&p->lock); /* a sleeper between its look at the gate and its wait holds this */
    wake_elsewhere(p);
    pthread_mutex_unlock(&p->lock);
    if (wanted >= (uint64_t)sleepers)
        pthread_cond_broadcast(&p->wake);
    else
        for (; wanted; wanted--) pthread_cond_signal(&p->wake);
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

#define GATE_NEWS (~(GATE_OPEN | GATE_WAIT | GATE_ACTIVE)) /* serial and quit: what a worker waits for */

static uint64_t worker_sleep(worker *self, uint64_t seen) {
    wick_pool *p = self->pool;
    uint64_t gate;
    pthread_mutex_lock(&p->lock);
    falls_asleep(self);
    atomic_fetch_add(&p->sleepers, 1);
    while (((gate = atomic_load(&p->gate)) & GATE_NEWS) == seen) pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    wakes(self);
    pthread_mutex_unlock(&p->lock);
    return gate;
}

static bool join_region(wick_pool *p, uint64_t gate) {
    const uint64_t serial = gate & GATE_NEWS;
    while ((gate & GATE_OPEN) && (gate & GATE_NEWS) == serial)
        if (atomic_compare_exchange_weak_explicit(&p->gate, &gate, gate + 1, memory_order_acquire,
                                                  memory_order_acquire))
            return true;
    return false;
}

static void leave_region(wick_pool *p) {
    uint64_t gate = atomic_fetch_sub_explicit(&p->gate, 1, memory_order_acq_rel);
    if ((gate & GATE_ACTIVE) != 1 || !(gate & GATE_WAIT)) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *at) {
    worker *self = at;
    wick_pool *p = self->pool;
    uint64_t seen = 0;
    wick_fp_enter();
    for (;;) {
        bool slept = false;
        uint64_t gate = watch(p, GATE_NEWS, seen, p->crowded ? 0 : WORKER_SPIN_NS);
        if ((gate & GATE_NEWS) == seen) gate = worker_sleep(self, seen), slept = true;
        if (gate & GATE_QUIT) return NULL;
        seen = gate & GATE_NEWS;
        if (!join_region(p, gate)) continue;
        const region r = p->region;
        for (int i = 0; i < ARG_LINES; i++) __builtin_prefetch((const char *)r.arg + i * WICK_ALIGN);
        if (slept && p->crowded && tasks_are_left(p, &r)) wake_workers(p, 1);
        work(p, r, self->number);
        leave_region(p);
    }
}

/* Signals go to the host's threads: a handler that it installs must not run on ours. */
static void start_workers(wick_pool *p) {
    sigset_t all, before;
    p->tried = true;
    p->crowded = p->threads > wick_cpu_count();
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
    int started = 0;
    for (; started < p->threads - 1; started++) {
        worker *w = &p->workers[started];
        *w = (worker){.pool = p, .number = started + 1}; /* in the child of a fork it was another thread's */
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) break; /* fewer threads: the same results, later */
#if defined(__linux__)
        char name[16];
        snprintf(name, sizeof name, "wick-%d", w->number);
        pthread_setname_np(w->thread, name);
        if (p->pins) pin(p, w);
#endif
    }
    atomic_store_explicit(&p->started, started, memory_order_relaxed);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- running a region -------------------------------------------------------------------------------------------- */

static void wait_for_workers(wick_pool *p) {
    uint64_t gate = atomic_load_explicit(&p->gate, memory_order_acquire);
    if ((gate & GATE_ACTIVE) != (uint64_t)p->threads - 1)
        gate = atomic_fetch_and_explicit(&p->gate, ~GATE_OPEN, memory_order_acq_rel) & ~GATE_OPEN;
    for (uint64_t before = 0; (gate & GATE_ACTIVE) && gate != before;) { /* each one that leaves renews the patience */
        before = gate;
        gate = watch(p, GATE_ACTIVE, gate & GATE_ACTIVE, p->crowded ? CROWDED_SPIN_NS : CALLER_SPIN_NS);
    }
    if (!(gate & GATE_ACTIVE)) return;
    pthread_mutex_lock(&p->lock);
    gate = atomic_fetch_or_explicit(&p->gate, GATE_WAIT, memory_order_acq_rel);
    while (gate & GATE_ACTIVE) {
        pthread_cond_wait(&p->done, &p->lock);
        gate = atomic_load_explicit(&p->gate, memory_order_acquire);
    }
    pthread_mutex_unlock(&p->lock);
}

/* After a region that was timed, with nobody in it. */
static void measure_speeds(wick_pool *p, const region *r) {
    for (int i = 0; i < p->threads; i++) {
        const tally *t = tally_of(p, i);
        const bool took_part = t->last == r->number;
        p->balance.pace[i].tasks = took_part ? t->last_tasks : 0;
        p->balance.pace[i].ns = took_part ? t->last_ns : 0;
    }
    (void)wick_balance_add(&p->balance);
}

static void run_workers(wick_pool *p, wick_task_fn fn, void *arg, uint64_t tasks) {
    const uint64_t threads = (uint64_t)p->threads, per_thread = tasks / (threads * CHUNKS_PER_THREAD),
                   shares = WICK_MIN(tasks, threads);
    const bool enough = p->balance.n && tasks >= 2 * threads, unequal = enough && p->balance.changes;
    const uint64_t largest = unequal ? tasks : tasks / shares + 1,
                   chunk = WICK_MAX(WICK_MIN(per_thread, (uint64_t)p->max_chunk), 1);
    const region r = {.fn = fn,
                      .arg = arg,
                      .tasks = tasks,
                      .chunk = WICK_MAX(chunk, (largest >> CHUNK_BITS) + 1),
                      .number = (p->region.number + 1) & (UINT64_MAX >> TAKEN_BITS),
                      .until = unequal ? p->balance.until : NULL,
                      .shares = (uint16_t)shares,
                      .steal = (uint16_t)p->steal,
                      .timed = p->balance.n || atomic_load_explicit(&p->watchers, memory_order_relaxed)};
    p->region = r;
    /* The gate is closed, or all have been in, with nobody inside: no one else writes it now. */
    uint64_t gate = atomic_load_explicit(&p->gate, memory_order_relaxed);
    atomic_store(&p->gate, ((gate & ~(GATE_SERIAL - 1)) + GATE_SERIAL) | GATE_OPEN);
    wake_workers(p, p->crowded ? 1 : tasks - 1);
    work(p, r, 0);
    wait_for_workers(p);
    if (enough && r.number % BALANCE_EVERY == 0) measure_speeds(p, &r);
}

/* ---- on the host's threads --------------------------------------------------------------------------------------- */

static int take_number(wick_pool *p) {
    for (;;) {
        for (int i = 0; i * 64 < p->threads; i++) {
            const int here = WICK_MIN(p->threads - i * 64, 64);
            const uint64_t all = here == 64 ? ~(uint64_t)0 : ((uint64_t)1 << here) - 1;
            uint64_t bits = atomic_load_explicit(&p->taken[i], memory_order_relaxed);
            while (bits != all) {
                int n = __builtin_ctzll(~bits);
                /* acquire: what the last holder of this number left in its scratch is ours to overwrite */
                if (atomic_compare_exchange_weak_explicit(&p->taken[i], &bits, bits | (uint64_t)1 << n,
                                                          memory_order_acquire, memory_order_relaxed))
                    return i * 64 + n;
            }
        }
        sched_yield(); /* the host runs more at once than it said; one of them will finish */
    }
}

static void hosted_task(void *at, int64_t task) {
    wick_pool *p = at;
    const int number = take_number(p);
    const uint64_t word = wick_fp_enter();
    p->region.fn(p->region.arg, task, number);
    wick_fp_restore(word);
    atomic_fetch_and_explicit(&p->taken[number / 64], ~((uint64_t)1 << number % 64), memory_order_release);
}

static void run_hosted(wick_pool *p, wick_task_fn fn, void *arg, int64_t tasks) {
    p->region.fn = fn;
    p->region.arg = arg;
    p->host.parallel(p->host.user, hosted_task, p, tasks);
}

void wick_pool_run(wick_pool *p, wick_task_fn fn, void *arg, int64_t tasks) {
    bool busy = false;
    if (tasks > 1 && p->threads > 1 &&
        atomic_compare_exchange_strong_explicit(&p->busy, &busy, true, memory_order_acquire, memory_order_relaxed)) {
        if (!p->hosted && !p->tried) start_workers(p);
        if (p->hosted)
            run_hosted(p, fn, arg, tasks);
        else
            run_workers(p, fn, arg, (uint64_t)tasks);
        atomic_store_explicit(&p->busy, false, memory_order_release);
        return;
    }
    for (int64_t i = 0; i < tasks; i++) fn(arg, i, 0);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static wick_pool *pools;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool fork_handled;

static void init_sync(wick_pool *p) {
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
}

static void before_fork(void) { pthread_mutex_lock(&pools_lock); }
static void after_fork_parent(void) { pthread_mutex_unlock(&pools_lock); }
static void after_fork_child(void) {
    for (wick_pool *p = pools; p; p = p->next_pool) {
        p->tried = false;
        atomic_store(&p->started, 0);
        atomic_store(&p->sleepers, 0);
        atomic_store(&p->gate, 0);
        atomic_store(&p->busy, false);
        for (size_t i = 0; i < WICK_COUNTOF(p->taken); i++) atomic_store(&p->taken[i], 0);
        init_sync(p); /* a thread that is no more may have held or waited for them */
    }
    pthread_mutex_unlock(&pools_lock);
}
static void handle_fork(void) { fork_handled = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0; }

/* ---- making and freeing ------------------------------------------------------------------------------------------ */

wick_status wick_pool_new(wick_pool **out, int threads, const wick_executor *host, const wick_allocator *alloc) {
    *out = NULL;
    if (host) {
        if (!host->parallel) return WICK_ERR_INVALID;
        threads = host->threads; /* numbers must last for all that the host may run at once */
        if (threads < 1) return WICK_ERR_INVALID;
    }
    if (threads == 0) threads = WICK_MIN(wick_cpu_count(), WICK_THREADS_MAX);
    if (threads == -1) threads = WICK_MIN(WICK_MAX(wick_cpu_count() - 1, 1), WICK_THREADS_MAX);
    if (threads < 0 || threads > WICK_THREADS_MAX) return WICK_ERR_INVALID;
    pthread_once(&fork_once, handle_fork);
    if (!fork_handled) return WICK_ERR_NOMEM;

    const size_t size = sizeof(wick_pool) + (host ? 0 : (size_t)(threads - 1)) * sizeof(worker);
    wick_pool *p = wick_calloc(alloc, size);
    if (!p) return WICK_ERR_NOMEM;
    p->alloc = alloc;
    p->size = size;
    p->threads = threads;
    p->hosted = host != NULL;
    p->steal = 1;
    p->max_chunk = MAX_CHUNK;
    p->now = wick_now_ns;
    if (host) p->host = *host;
    init_sync(p);

    pthread_mutex_lock(&pools_lock);
    p->next_pool = pools;
    if (pools) pools->prev = p;
    pools = p;
    pthread_mutex_unlock(&pools_lock);
    *out = p;
    return WICK_OK;
}

void wick_pool_free(wick_pool **slot) {
    wick_pool *p = *slot;
    if (!p) return;
    *slot = NULL;
    pthread_mutex_lock(&pools_lock);
    if (p->next_pool) p->next_pool->prev = p->prev;
    if (p->prev)
        p->prev->next_pool = p->next_pool;
    else
        pools = p->next_pool;
    pthread_mutex_unlock(&pools_lock);

    atomic_fetch_or(&p->gate, GATE_QUIT);
    wake_workers(p, WICK_THREADS_MAX);
    const int started = atomic_load_explicit(&p->started, memory_order_relaxed);
    for (int i = 0; i < started; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    wick_balance_free(&p->balance);
    wick_release(p->alloc, p->pins, (size_t)p->n_pins * sizeof *p->pins);
    wick_release(p->alloc, p, p->size);
}

bool wick_pool_pin(wick_pool *p, const int *cpus, int n) {
    if (p->hosted || n < 1) return true;
    p->pins = wick_alloc(p->alloc, (size_t)n * sizeof *p->pins);
    if (!p->pins) return false;
    memcpy(p->pins, cpus, (size_t)n * sizeof *cpus);
    p->n_pins = n;
    return true;
}
int wick_pool_pin_refused(const wick_pool *p) { return atomic_load_explicit(&p->pin_refused, memory_order_relaxed); }

void wick_pool_tune(wick_pool *p, int steal, int chunk) {
    p->steal = WICK_MIN(WICK_MAX(steal, 1), UINT16_MAX);
    p->max_chunk = WICK_MAX(chunk, 1);
}
bool wick_pool_balance(wick_pool *p, uint64_t (*now)(void)) {
    if (p->hosted || p->threads < 2) return true;
    if (now) p->now = now;
    return wick_balance_init(&p->balance, p->threads, p->alloc);
}
void wick_pool_watch(wick_pool *p, bool on) {
    atomic_fetch_add_explicit(&p->watchers, on ? 1 : -1, memory_order_relaxed);
}

bool wick_pool_worker(const wick_pool *p, int i, wick_worker_stats *out) {
    *out = (wick_worker_stats){0};
    if (p->hosted || i < 0 || i >= p->threads) return false;
    const tally *t = tally_of(p, i);
    out->regions = atomic_load_explicit(&t->regions, memory_order_relaxed);
    out->tasks = atomic_load_explicit(&t->tasks, memory_order_relaxed);
    out->steals = atomic_load_explicit(&t->steals, memory_order_relaxed);
    out->seconds = (double)atomic_load_explicit(&t->ns, memory_order_relaxed) * 1e-9;
    out->speed = 1;
    out->share = 1.0 / p->threads;
    if (!p->balance.n) return true;
    double all = 0;
    for (int k = 0; k < p->threads; k++)
        all += atomic_load_explicit(&p->balance.pace[k].weight, memory_order_relaxed);
    wick_pace *pace = &p->balance.pace[i];
    out->speed = (double)atomic_load_explicit(&pace->shown, memory_order_relaxed) / WICK_BALANCE_ONE;
    out->share = (double)atomic_load_explicit(&pace->weight, memory_order_relaxed) / all;
    return true;
}

int wick_pool_threads(const wick_pool *pool) { return pool->threads; }

int wick_pool_started(const wick_pool *pool) { return atomic_load_explicit(&pool->started, memory_order_relaxed); }
