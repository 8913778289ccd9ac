/* trace.h: marks of what a program does, and when. A recorder has a track for each thread; a track is a ring of fixed
 * records that one thread writes, without locks:
 *
 *   thread ──► ring of marks ──► drain, under the recorder's lock ──► whoever looks at them (src/profile)
 *
 * Rings are drained between runs, and by the thread itself where its ring is full: no mark is lost for want of room. A
 * program that isn't recorded pays one look at `on` where work begins, and nothing within it. */
#ifndef WICK_BASE_TRACE_H
#define WICK_BASE_TRACE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

typedef enum wick_mark_kind {
    WICK_MARK_BEGIN, /* a run, or a span that others lie in, begins; `begin` is when */
    WICK_MARK_END,   /* and ends: begin and end are the whole's */
    WICK_MARK_STEP,  /* of a run: the step `name`. busy and tail where threads shared it */
    WICK_MARK_WORK,  /* of a pool's thread: its part of the step `name` */
    WICK_MARK_SPAN   /* anything else; nothing lies within */
} wick_mark_kind;

/* What spans are of, besides plans and their steps, which whoever drains numbers from WICK_SPAN_NAMES on. */
typedef enum wick_span_name {
    WICK_SPAN_RUN,     /* of a plan; `name` of its marks is the plan's number instead */
    WICK_SPAN_COMPILE, /* wick_compile, and plans that wick_eval makes */
    WICK_SPAN_RECORD,  /* wick_eval: what is pending is listed, and its plan looked for */
    WICK_SPAN_WAIT,    /* for a batch of a loader: flow is the batch */
    WICK_SPAN_MAKE,    /* a worker makes samples of a batch: flow is the batch */
    WICK_SPAN_GET,     /* of one sample: the data set's own ... */
    WICK_SPAN_TRANSFORM,
    WICK_SPAN_COLLATE,
    WICK_SPAN_DRAIN, /* marks are looked at: the recorder's own time */
    WICK_SPAN_NAMES
} wick_span_name;
const char *wick_span_text(uint32_t name); /* "compile"; NULL: it is none of these */

/* Times are ticks of the recorder's clock. */
typedef struct wick_mark {
    uint64_t begin, end;
    uint32_t name, kind;
    uint64_t flow; /* links marks of several tracks; 0: none. Of a STEP: ticks that all threads worked on it */
    uint64_t tail; /* of a STEP: ticks that threads had no more work and waited for the last one, all together */
} wick_mark;

enum { WICK_TRACK_OPEN = 16 };
typedef struct wick_track {
    _Alignas(WICK_ALIGN) _Atomic uint64_t head; /* marks written; by the owner */
    _Alignas(WICK_ALIGN) _Atomic uint64_t tail; /* marks drained; under the recorder's lock */
    struct wick_track *next;
    char name[24];           /* of the thread: "wick-1", "main" */
    uint32_t number;         /* from 1 */
    int64_t thread;          /* the system's number of it; 0: marks of a pool's thread, which the caller writes */
    int worker;              /* that pool's number of it; 0: the thread's own track */
    bool calls;              /* the thread ran a plan; by whoever drains */
    uint64_t flow;           /* of the batch that the thread was handed last, for the run that follows */
    struct wick_part *parts; /* by thread of a pool: of the step that runs */
    /* Spans of the program's own that are open; those that lie deeper than there is room are not recorded. */
    struct {
        uint64_t begin;
        uint32_t name;
    } open[WICK_TRACK_OPEN];
    uint32_t n_open;
    int n_parts;
    wick_mark ring[]; /* recorder->marks */
} wick_track;

/* A pool's thread in the step that runs: when it took its first task, and ended its last one. */
typedef struct wick_part {
    _Alignas(WICK_ALIGN) uint64_t first, last;
    wick_track *track; /* once it was marked */
} wick_part;

typedef enum wick_clock { WICK_CLOCK_TSC, WICK_CLOCK_MONOTONIC, WICK_CLOCK_HOST } wick_clock;

typedef struct wick_recorder {
    const wick_allocator *alloc;
    wick_clock clock;
    double tick_ns;              /* ns a tick */
    uint64_t began;              /* in ticks */
    uint64_t (*now)(void *user); /* WICK_CLOCK_HOST: ns */
    void *now_user;
    size_t marks;         /* of a ring: a power of two */
    uint64_t number;      /* of this recorder among all of the process */
    pthread_mutex_t lock; /* of the tracks' list, of drains, and of what `plan` makes */
    wick_track *tracks;
    uint32_t n_tracks;
    _Atomic uint64_t lost;    /* marks of threads for which there was no memory */
    _Atomic uint64_t drained; /* when that last was, in ticks */
    /* Less overhead: one run of some is recorded. 0: all are */
    double overhead;
    _Atomic uint64_t runs, skipped; /* runs that were recorded, and that were not */
    _Atomic uint64_t due;           /* the next run is recorded from then on, in ticks */
    _Atomic uint64_t looked;        /* when a run last asked, in ticks */
    double mark_ticks;              /* that a mark costs, about */
    /* Of whoever drains, under the lock: the number of a plan's first step, whose run has the number before it; and n
     * marks of a track in order. */
    uint32_t (*plan)(void *user, const void *plan);
    void (*drain)(void *user, wick_track *track, const wick_mark *marks, size_t n);
    void (*drain_end)(void *user); /* all tracks were */
    void *user;
} wick_recorder;

/* Where a context has its recorder. Threads that mark are counted, so that a recorder goes when they are out. */
typedef struct wick_trace_hook {
    _Atomic bool on;
    _Atomic int users;
    _Atomic int passes; /* runs that aren't recorded and needn't ask; below 0 never */
    wick_recorder *recorder;
} wick_trace_hook;

/* The recorder to mark with, until wick_trace_leave; NULL: nothing is recorded, and there is nothing to leave. */
wick_recorder *wick_trace_enter_on(wick_trace_hook *t);
static inline wick_recorder *wick_trace_enter(wick_trace_hook *t) {
    return WICK_LIKELY(!atomic_load_explicit(&t->on, memory_order_relaxed)) ? NULL : wick_trace_enter_on(t);
}
static inline void wick_trace_leave(wick_trace_hook *t) { atomic_fetch_sub(&t->users, 1); }
/* Whether this run is one that needn't ask: it isn't recorded, and is counted. */
static inline bool wick_trace_pass(wick_trace_hook *t) {
    int left = atomic_load_explicit(&t->passes, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak_explicit(&t->passes, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}
void wick_trace_begin(wick_trace_hook *t, wick_recorder *r);
/* Waits until nobody marks; then what is left is drained. The recorder stays. */
void wick_trace_end(wick_trace_hook *t);

/* marks: of a thread's ring, rounded up to a power of two. now: another clock, in ns, or NULL. */
wick_status wick_recorder_init(wick_recorder *r, size_t marks, uint64_t (*now)(void *user), void *now_user,
                               const wick_allocator *alloc);
void wick_recorder_free(wick_recorder *r);
uint64_t wick_recorder_ticks(const wick_recorder *r);
/* ns since the recorder was made, of ticks. */
static inline uint64_t wick_recorder_ns(const wick_recorder *r, uint64_t ticks) {
    return ticks <= r->began ? 0 : (uint64_t)((double)(ticks - r->began) * r->tick_ns);
}
/* The calling thread's track, and that of a thread of its pool; NULL: out of memory, which is counted. */
wick_track *wick_recorder_track(wick_recorder *r);
wick_track *wick_recorder_worker(wick_recorder *r, wick_track *of, int worker);
/* Of n threads of a pool, cleared; NULL: out of memory. */
wick_part *wick_track_parts(wick_recorder *r, wick_track *t, int n);
/* The track is the calling thread's, or NULL: then the mark is counted as lost. true: rings were drained first, which
 * took time that is the next mark's of none. */
bool wick_track_put(wick_recorder *r, wick_track *t, const wick_mark *mark);
/* Drains all tracks: if it is time to (when a ring of the caller's is half full, or a quarter of a second after the
 * last time), or at once. */
void wick_recorder_drain(wick_recorder *r, const wick_track *own, bool at_once);
/* Whether the run that begins now is recorded; and after it, how many marks it took. Where it is not, and runs are
 * quick, the next ones needn't ask. */
bool wick_recorder_wants(wick_recorder *r, wick_trace_hook *t);
/* Runs that weren't recorded so far. */
uint64_t wick_recorder_skipped(const wick_recorder *r, const wick_trace_hook *t);
void wick_recorder_spent(wick_recorder *r, uint64_t begin, uint64_t end, size_t marks);

/* A span of the calling thread from `begin` to now, for code that isn't busy enough to hold its track. */
void wick_recorder_span(wick_recorder *r, wick_span_name name, uint64_t begin, uint64_t flow);
/* The same of one that others lie in: it begins now, and ends. */
uint64_t wick_recorder_open(wick_recorder *r, wick_span_name name, uint64_t flow);
void wick_recorder_close(wick_recorder *r, wick_span_name name, uint64_t begin, uint64_t flow);

#endif
