/* trace.c: recorders, their tracks, and the clock. */
#include "base/trace.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define DRAIN_NS  250000000.0 /* so that a process that is killed loses less than a second of its trace */
#define MARK_NS   60.0        /* that a mark costs, looking at it included: what the governor begins with */
#define SETTLE_NS 5000000     /* that the clocks are compared for: 1e-5 of it is what reading them takes */

const char *wick_span_text(uint32_t name) {
    static const char *const texts[WICK_SPAN_NAMES] = {
        [WICK_SPAN_RUN] = "run",
        [WICK_SPAN_COMPILE] = "compile",
        [WICK_SPAN_RECORD] = "record",
        [WICK_SPAN_WAIT] = "wait for a batch",
        [WICK_SPAN_MAKE] = "make samples",
        [WICK_SPAN_GET] = "get",
        [WICK_SPAN_TRANSFORM] = "transform",
        [WICK_SPAN_COLLATE] = "collate",
        [WICK_SPAN_DRAIN] = "profile",
    };
    return name < WICK_SPAN_NAMES ? texts[name] : NULL;
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static uint64_t tsc(void) { return __rdtsc(); }
/* It counts at one rate whatever the CPU does, and is the clock that the system itself trusts on all CPUs. */
static bool tsc_is_steady(void) {
    unsigned a, b, c, d;
    char source[16] = "";
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & 1u << 8)) return false;
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (!f) return false;
    const bool read = fgets(source, sizeof source, f) != NULL;
    fclose(f);
    return read && (strncmp(source, "tsc", 3) == 0 || strncmp(source, "kvm-clock", 9) == 0);
}
/* Both clocks at one moment: of several tries the one that took least. */
static void pair(uint64_t *ticks, uint64_t *ns) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 7; i++) {
        const uint64_t before = tsc(), now = wick_now_ns(), took = tsc() - before;
        if (took >= least) continue;
        least = took;
        *ticks = before + took / 2;
        *ns = now;
    }
}
static double tsc_tick_ns;
static pthread_once_t tsc_once = PTHREAD_ONCE_INIT;
static void measure_tsc(void) {
    const char *asked = getenv("WICK_CLOCK");
    if ((asked && strcmp(asked, "monotonic") == 0) || !tsc_is_steady()) return;
    uint64_t ticks[2] = {0}, ns[2] = {0};
    pair(&ticks[0], &ns[0]);
    while (wick_now_ns() - ns[0] < SETTLE_NS) continue;
    pair(&ticks[1], &ns[1]);
    if (ticks[1] > ticks[0]) tsc_tick_ns = (double)(ns[1] - ns[0]) / (double)(ticks[1] - ticks[0]);
}
#endif

uint64_t wick_recorder_ticks(const wick_recorder *r) {
    if (WICK_UNLIKELY(r->clock == WICK_CLOCK_HOST)) return r->now(r->now_user);
#if defined(__x86_64__)
    if (WICK_LIKELY(r->clock == WICK_CLOCK_TSC)) return tsc();
#endif
    return wick_now_ns();
}

static void choose_clock(wick_recorder *r, uint64_t (*now)(void *user), void *user) {
    r->clock = now ? WICK_CLOCK_HOST : WICK_CLOCK_MONOTONIC;
    r->now = now;
    r->now_user = user;
    r->tick_ns = 1;
#if defined(__x86_64__)
    if (!now) {
        pthread_once(&tsc_once, measure_tsc);
        if (tsc_tick_ns > 0) r->clock = WICK_CLOCK_TSC, r->tick_ns = tsc_tick_ns;
    }
#endif
}

/* ---- recorders --------------------------------------------------------------------------------------------------- */

wick_status wick_recorder_init(wick_recorder *r, size_t marks, uint64_t (*now)(void *user), void *now_user,
                               const wick_allocator *alloc) {
    static _Atomic uint64_t recorders;
    *r = (wick_recorder){.alloc = alloc, .marks = 64};
    if (marks > (size_t)1 << 24) return WICK_ERR_INVALID;
    while (r->marks < marks) r->marks *= 2;
    if (pthread_mutex_init(&r->lock, NULL) != 0) return WICK_ERR_NOMEM;
    r->number = atomic_fetch_add(&recorders, 1) + 1;
    choose_clock(r, now, now_user);
    r->began = wick_recorder_ticks(r);
    atomic_init(&r->drained, r->began);
    r->mark_ticks = MARK_NS / r->tick_ns;
    return WICK_OK;
}

static size_t track_size(const wick_recorder *r) { return sizeof(wick_track) + r->marks * sizeof(wick_mark); }

void wick_recorder_free(wick_recorder *r) {
    for (wick_track *t = r->tracks, *next; t; t = next) {
        next = t->next;
        wick_release(r->alloc, t->parts, (size_t)t->n_parts * sizeof *t->parts);
        wick_release(r->alloc, t, track_size(r));
    }
    pthread_mutex_destroy(&r->lock);
    r->tracks = NULL;
}

static wick_track *find(wick_recorder *r, int64_t thread, int worker) {
    for (wick_track *t = r->tracks; t; t = t->next)
        if (t->thread == thread && t->worker == worker) return t;
    return NULL;
}

/* Of the thread, or of a thread of its pool. */
static wick_track *track_of(wick_recorder *r, int64_t thread, int worker) {
    pthread_mutex_lock(&r->lock);
    wick_track *t = find(r, thread, worker);
    if (!t && (t = wick_calloc(r->alloc, track_size(r)))) {
        t->thread = thread;
        t->worker = worker;
        t->number = ++r->n_tracks;
        if (worker)
            snprintf(t->name, sizeof t->name, "wick-%d", worker);
        else if (pthread_getname_np(pthread_self(), t->name, sizeof t->name) != 0 || !*t->name)
            snprintf(t->name, sizeof t->name, "thread %lld", (long long)thread);
        t->next = r->tracks;
        r->tracks = t;
    }
    pthread_mutex_unlock(&r->lock);
    return t;
}

/* Which track the thread marked last. */
static _Thread_local struct {
    uint64_t recorder;
    wick_track *track;
} last;

wick_track *wick_recorder_track(wick_recorder *r) {
    if (WICK_LIKELY(last.recorder == r->number)) return last.track;
    wick_track *t = track_of(r, gettid(), 0);
    if (t) last.recorder = r->number, last.track = t;
    return t;
}

wick_track *wick_recorder_worker(wick_recorder *r, wick_track *of, int worker) {
    return of ? track_of(r, of->thread, worker) : NULL;
}

wick_part *wick_track_parts(wick_recorder *r, wick_track *t, int n) {
    if (t->n_parts < n) {
        wick_part *parts = wick_calloc(r->alloc, (size_t)n * sizeof *parts);
        if (!parts) return NULL;
        wick_release(r->alloc, t->parts, (size_t)t->n_parts * sizeof *parts);
        t->parts = parts;
        t->n_parts = n;
    }
    for (int i = 0; i < n; i++) t->parts[i].first = t->parts[i].last = 0;
    return t->parts;
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

/* Under the lock. What was written when it begins is drained, in at most two pieces. */
static void drain_track(wick_recorder *r, wick_track *t) {
    const uint64_t head = atomic_load_explicit(&t->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&t->tail, memory_order_relaxed);
    while (tail < head) {
        const uint64_t at = tail & (r->marks - 1), n = WICK_MIN(head - tail, r->marks - at);
        r->drain(r->user, t, t->ring + at, (size_t)n);
        tail += n;
    }
    atomic_store_explicit(&t->tail, tail, memory_order_release);
}

static void drain_all(wick_recorder *r) {
    for (wick_track *t = r->tracks; t; t = t->next) drain_track(r, t);
    if (r->drain_end) r->drain_end(r->user);
    atomic_store_explicit(&r->drained, wick_recorder_ticks(r), memory_order_relaxed);
}

static void put(wick_recorder *r, wick_track *t, const wick_mark *mark) {
    const uint64_t head = atomic_load_explicit(&t->head, memory_order_relaxed);
    t->ring[head & (r->marks - 1)] = *mark;
    atomic_store_explicit(&t->head, head + 1, memory_order_release);
}
static size_t held(const wick_track *t) {
    return (size_t)(atomic_load_explicit(&t->head, memory_order_relaxed) -
                    atomic_load_explicit(&t->tail, memory_order_acquire));
}

bool wick_track_put(wick_recorder *r, wick_track *t, const wick_mark *mark) {
    if (WICK_UNLIKELY(!t)) {
        atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed);
        return false;
    }
    bool full = held(t) + 2 > r->marks;
    /* one place stays free for the mark of the drain itself */
    if (WICK_UNLIKELY(full)) {
        const uint64_t begin = wick_recorder_ticks(r);
        pthread_mutex_lock(&r->lock);
        drain_all(r);
        pthread_mutex_unlock(&r->lock);
        put(r, t,
            &(wick_mark){
                .begin = begin, .end = wick_recorder_ticks(r), .name = WICK_SPAN_DRAIN, .kind = WICK_MARK_SPAN});
    }
    put(r, t, mark);
    return full;
}

void wick_recorder_drain(wick_recorder *r, const wick_track *own, bool at_once) {
    if (!at_once && (!own || held(own) * 2 < r->marks)) {
        const uint64_t now = wick_recorder_ticks(r), was = atomic_load_explicit(&r->drained, memory_order_relaxed);
        if (now < was || (double)(now - was) * r->tick_ns < DRAIN_NS) return;
    }
    if (at_once)
        pthread_mutex_lock(&r->lock);
    else if (pthread_mutex_trylock(&r->lock) != 0)
        return; /* somebody does it */
    drain_all(r);
    pthread_mutex_unlock(&r->lock);
}

void wick_recorder_span(wick_recorder *r, wick_span_name name, uint64_t begin, uint64_t flow) {
    (void)wick_track_put(
        r, wick_recorder_track(r),
        &(wick_mark){
            .begin = begin, .end = wick_recorder_ticks(r), .name = name, .kind = WICK_MARK_SPAN, .flow = flow});
}

uint64_t wick_recorder_open(wick_recorder *r, wick_span_name name, uint64_t flow) {
    const uint64_t now = wick_recorder_ticks(r);
    const wick_mark mark = {.begin = now, .end = now, .name = name, .kind = WICK_MARK_BEGIN, .flow = flow};
    (void)wick_track_put(r, wick_recorder_track(r), &mark);
    return now;
}

void wick_recorder_close(wick_recorder *r, wick_span_name name, uint64_t begin, uint64_t flow) {
    const uint64_t now = wick_recorder_ticks(r);
    const wick_mark mark = {.begin = begin, .end = now, .name = name, .kind = WICK_MARK_END, .flow = flow};
    (void)wick_track_put(r, wick_recorder_track(r), &mark);
}

/* ---- which runs -------------------------------------------------------------------------------------------------- */

/* The next runs pass without asking if so many, each as long as the last time, take less than there is until one is
 * wanted: a look at the clock and at who else is here costs 20 ns, which runs of a microsecond feel. */
static void let_pass(wick_recorder *r, wick_trace_hook *t, uint64_t now, uint64_t due) {
    enum { PASSES = 64 };
    const uint64_t asked = atomic_exchange_explicit(&r->looked, now, memory_order_relaxed);
    if (!asked || now - asked >= (due - now) / PASSES) return; /* one run, or as many */
    const int before = atomic_exchange_explicit(&t->passes, PASSES, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->skipped, (uint64_t)(PASSES - before), memory_order_relaxed);
}

bool wick_recorder_wants(wick_recorder *r, wick_trace_hook *t) {
    const uint64_t now = r->overhead <= 0 ? 0 : wick_recorder_ticks(r),
                   due = atomic_load_explicit(&r->due, memory_order_relaxed);
    const bool wanted = r->overhead <= 0 || now >= due;
    atomic_fetch_add_explicit(wanted ? &r->runs : &r->skipped, 1, memory_order_relaxed);
    if (!wanted) let_pass(r, t, now, due);
    return wanted;
}

uint64_t wick_recorder_skipped(const wick_recorder *r, const wick_trace_hook *t) {
    const uint64_t all = atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&r->skipped, memory_order_relaxed),
                   left = (uint64_t)atomic_load_explicit((_Atomic int *)(uintptr_t)&t->passes, memory_order_relaxed);
    return all > left ? all - left : 0; /* those to come are counted a moment after they are let pass */
}

void wick_recorder_spent(wick_recorder *r, uint64_t begin, uint64_t end, size_t marks) {
    if (r->overhead <= 0 || end < begin) return;
    /* so long after its beginning that what its marks cost is that part of the time */
    const double cost = (double)marks * r->mark_ticks, apart = cost / r->overhead;
    atomic_store_explicit(&r->due, begin + (uint64_t)WICK_MIN(apart, 1e18), memory_order_relaxed);
}

/* ---- on and off -------------------------------------------------------------------------------------------------- */

/* Counts itself and then looks; who ends the recording says so and then looks at the count: one sees the other. */
wick_recorder *wick_trace_enter_on(wick_trace_hook *t) {
    atomic_fetch_add(&t->users, 1);
    if (atomic_load(&t->on)) return t->recorder;
    atomic_fetch_sub(&t->users, 1);
    return NULL;
}

void wick_trace_begin(wick_trace_hook *t, wick_recorder *r) {
    t->recorder = r;
    atomic_store(&t->on, true);
}

void wick_trace_end(wick_trace_hook *t) {
    atomic_store(&t->on, false);
    while (atomic_load(&t->users)) sched_yield();
    atomic_fetch_sub(&t->recorder->skipped, (uint64_t)atomic_exchange(&t->passes, 0));
    wick_recorder_drain(t->recorder, NULL, true);
    t->recorder = NULL;
}
