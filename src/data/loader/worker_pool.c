/* worker_pool.c: a deque per thread, under a lock of its own that is held for a few instructions; one lock and two
 * conditions to sleep on.
 *
 *   deque:  [slot 3: 4..16) [slot 4: 0..16)      oldest first
 *                    ^ the owner takes here,
 *                      some tasks at a time       ^ a thief takes the rear half of the oldest range
 *
 * The oldest range goes first on both sides, since its batch is the one that is wanted next. `active` counts those who
 * may be working or carrying a range from one deque to another: it grows under the lock of the deque that tasks are
 * taken from, so that, once all deques have been emptied, active at 0 means that nobody touches a slot. */
#include "data/loader/worker_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct range {
    int slot;
    int64_t begin, end;
} range;

typedef struct hand {
    _Alignas(WICK_ALIGN) pthread_mutex_t lock;
    range *ranges; /* a ring of `cap` */
    int first, count;
    wick_worker_pool *pool;
    pthread_t thread;
    int number;
} hand;

struct wick_worker_pool {
    const wick_allocator *alloc;
    wick_worker_pool_fn fn;
    void *arg;
    size_t bytes;
    int threads, slots, cap, started;
    bool tried;
    pthread_mutex_t lock;
    pthread_cond_t work; /* tasks are there, or quit */
    pthread_cond_t done; /* a slot is done, or halted and nobody is active */
    bool quit;           /* under lock */
    _Atomic bool halt;
    _Atomic int64_t queued; /* tasks in all deques */
    _Atomic int active;
    _Atomic int64_t left[WICK_WORKER_POOL_SLOTS]; /* tasks of a slot that are not done */
    _Atomic uint64_t stolen;
    _Atomic int allowed; /* threads 1 to this one take tasks */
    _Atomic int64_t at_once; /* tasks that an owner takes, at least */
    hand workers[]; /* of the caller, then of the threads */
};

bool wick_worker_pool_halted(const wick_worker_pool *c) { return atomic_load_explicit(&c->halt, memory_order_relaxed); }
uint64_t wick_worker_pool_stolen(const wick_worker_pool *c) {
    return atomic_load_explicit(&c->stolen, memory_order_relaxed);
}
size_t wick_worker_pool_bytes(const wick_worker_pool *c) { return c->bytes; }

static range *oldest(hand *h) { return &h->ranges[h->first]; }

/* The range goes to the end of the deque, unless all is to be forgotten. */
static void push(hand *h, range r) {
    wick_worker_pool *c = h->pool;
    pthread_mutex_lock(&h->lock);
    if (!atomic_load(&c->halt)) {
        h->ranges[(h->first + h->count++) % c->cap] = r;
        atomic_fetch_add(&c->queued, r.end - r.begin);
    }
    pthread_mutex_unlock(&h->lock);
}

/* Removes tasks from the front (some of them, for the owner) or the rear half of the oldest range; *out is then the
 * caller's, who is active. */
static bool remove_tasks(hand *h, bool half, range *out) {
    wick_worker_pool *c = h->pool;
    pthread_mutex_lock(&h->lock);
    const bool any = h->count > 0;
    if (any) {
        range *r = oldest(h);
        const int64_t n = r->end - r->begin, least = atomic_load_explicit(&c->at_once, memory_order_relaxed),
                      some = half ? (n + 1) / 2 : WICK_MIN(WICK_MAX(least, n / 8), n);
        *out = half ? (range){r->slot, r->end - some, r->end} : (range){r->slot, r->begin, r->begin + some};
        if (half) r->end -= some;
        else r->begin += some;
        if (r->begin == r->end) h->first = (h->first + 1) % c->cap, h->count--;
        atomic_fetch_sub(&c->queued, some);
        atomic_fetch_add(&c->active, 1);
    }
    pthread_mutex_unlock(&h->lock);
    return any;
}

static void inactive(wick_worker_pool *c) {
    if (atomic_fetch_sub(&c->active, 1) != 1 || !atomic_load(&c->halt)) return;
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->done);
    pthread_mutex_unlock(&c->lock);
}

static bool steal(hand *h) {
    wick_worker_pool *c = h->pool;
    const int n = c->started + 1;
    for (int i = 1; i < n; i++) {
        range r;
        if (!remove_tasks(&c->workers[(h->number + i) % n], true, &r)) continue;
        push(h, r);
        atomic_fetch_add_explicit(&c->stolen, 1, memory_order_relaxed);
        inactive(c);
        return true;
    }
    return false;
}

/* Some tasks of its own, or of others; false: there were none. */
static bool work(hand *h) {
    wick_worker_pool *c = h->pool;
    range r;
    if (!remove_tasks(h, false, &r)) return steal(h);
    c->fn(c->arg, r.slot, r.begin, r.end, h->number);
    if (atomic_fetch_sub(&c->left[r.slot], r.end - r.begin) == r.end - r.begin) {
        pthread_mutex_lock(&c->lock);
        pthread_cond_broadcast(&c->done);
        pthread_mutex_unlock(&c->lock);
    }
    inactive(c);
    return true;
}

static void *worker(void *arg) {
    hand *h = arg;
    wick_worker_pool *c = h->pool;
    (void)wick_fp_enter(); /* as in every thread that computes */
    for (;;) {
        pthread_mutex_lock(&c->lock);
        while (!c->quit && (atomic_load(&c->queued) == 0 || h->number > atomic_load(&c->allowed)))
            pthread_cond_wait(&c->work, &c->lock);
        const bool quit = c->quit;
        pthread_mutex_unlock(&c->lock);
        if (quit) return NULL;
        while (h->number <= atomic_load(&c->allowed) && work(h)) continue;
    }
}

/* Signals go to the host's own threads. */
static void start(wick_worker_pool *c) {
    if (c->tried) return;
    c->tried = true;
    sigset_t all, kept;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    for (int i = 1; i <= c->threads; i++) {
        if (pthread_create(&c->workers[i].thread, NULL, worker, &c->workers[i]) != 0) break;
        c->started = i; /* which threads read once there are tasks */
#if defined(__linux__)
        char name[16];
        snprintf(name, sizeof name, "wick-load-%d", i);
        pthread_setname_np(c->workers[i].thread, name);
#endif
    }
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
}

wick_status wick_worker_pool_new(wick_worker_pool **out, int threads, int slots, wick_worker_pool_fn fn, void *arg,
                                 const wick_allocator *alloc) {
    const int cap = slots + 2; /* one range of each slot, and one that was stolen when there was none */
    const size_t workers = sizeof(hand) * (size_t)(threads + 1),
                 bytes = sizeof(wick_worker_pool) + workers + sizeof(range) * (size_t)cap * (size_t)(threads + 1);
    wick_worker_pool *c = wick_calloc(alloc, bytes);
    *out = c;
    if (!c) return WICK_ERR_NOMEM;
    c->alloc = alloc;
    c->fn = fn;
    c->arg = arg;
    c->bytes = bytes;
    c->threads = threads;
    c->allowed = threads;
    c->at_once = 1;
    c->slots = slots;
    c->cap = cap;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->done, NULL);
    range *ranges = (range *)(void *)((char *)c + sizeof *c + workers);
    for (int i = 0; i <= threads; i++) {
        c->workers[i].pool = c;
        c->workers[i].number = i;
        c->workers[i].ranges = ranges + (ptrdiff_t)i * cap;
        pthread_mutex_init(&c->workers[i].lock, NULL);
    }
    return WICK_OK;
}

void wick_worker_pool_halt(wick_worker_pool *c) {
    atomic_store(&c->halt, true);
    for (int i = 0; i <= c->threads; i++) {
        hand *h = &c->workers[i];
        pthread_mutex_lock(&h->lock);
        for (; h->count; h->count--, h->first = (h->first + 1) % c->cap)
            atomic_fetch_sub(&c->queued, oldest(h)->end - oldest(h)->begin);
        pthread_mutex_unlock(&h->lock);
    }
    pthread_mutex_lock(&c->lock);
    while (atomic_load(&c->active)) pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->slots; i++) atomic_store(&c->left[i], 0);
    atomic_store(&c->halt, false);
}

void wick_worker_pool_free(wick_worker_pool **pool) {
    wick_worker_pool *c = pool ? *pool : NULL;
    if (!c) return;
    wick_worker_pool_halt(c); /* tasks look at *pool until then */
    *pool = NULL;
    pthread_mutex_lock(&c->lock);
    c->quit = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (int i = 1; i <= c->started; i++) pthread_join(c->workers[i].thread, NULL);
    for (int i = 0; i <= c->threads; i++) pthread_mutex_destroy(&c->workers[i].lock);
    pthread_cond_destroy(&c->work);
    pthread_cond_destroy(&c->done);
    pthread_mutex_destroy(&c->lock);
    wick_release(c->alloc, c, c->bytes);
}

void wick_worker_pool_allow(wick_worker_pool *c, int threads) {
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->allowed, threads);
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
}

void wick_worker_pool_at_once(wick_worker_pool *c, int64_t tasks) {
    atomic_store_explicit(&c->at_once, WICK_MAX(tasks, 1), memory_order_relaxed);
}

void wick_worker_pool_give(wick_worker_pool *c, int slot, int64_t n) {
    start(c);
    atomic_store(&c->left[slot], n);
    const int workers = WICK_MAX(WICK_MIN(c->started, atomic_load(&c->allowed)), 1);
    for (int i = 0; i < workers; i++) {
        const range r = {slot, n * i / workers, n * (i + 1) / workers};
        if (r.begin < r.end) push(&c->workers[c->started ? i + 1 : 0], r);
    }
    if (!c->started) return;
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
}

uint64_t wick_worker_pool_done(const wick_worker_pool *c, uint64_t slots) {
    uint64_t done = 0;
    for (uint64_t rest = slots; rest; rest &= rest - 1)
        if (atomic_load(&c->left[__builtin_ctzll(rest)]) == 0) done |= rest & -rest;
    return done;
}

uint64_t wick_worker_pool_wait(wick_worker_pool *c, uint64_t slots) {
    uint64_t done = wick_worker_pool_done(c, slots);
    if (done) return done;
    const uint64_t word = wick_fp_enter();
    while (!(done = wick_worker_pool_done(c, slots))) {
        if (work(&c->workers[0])) continue;
        pthread_mutex_lock(&c->lock);
        while (!wick_worker_pool_done(c, slots) && atomic_load(&c->queued) == 0) pthread_cond_wait(&c->done, &c->lock);
        pthread_mutex_unlock(&c->lock);
    }
    wick_fp_restore(word);
    return done;
}
