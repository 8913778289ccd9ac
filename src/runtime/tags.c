#include "runtime/tags.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

static _Thread_local wick_tag tag_now;

wick_tag wick_tag_set(wick_tag tag) {
    const wick_tag was = tag_now;
    tag_now = tag;
    return was;
}

const char *wick_tag_name(wick_tag tag) {
    static const char *const names[WICK_TAGS] = {
        [WICK_TAG_OTHER] = "other",           [WICK_TAG_TENSORS] = "tensors",
        [WICK_TAG_NODES] = "recorded nodes",  [WICK_TAG_PLANS] = "plans",
        [WICK_TAG_WORKSPACES] = "workspaces", [WICK_TAG_PACKS] = "packed weights",
        [WICK_TAG_BUFFERS] = "buffers",       [WICK_TAG_DATA] = "data",
    };
    return (unsigned)tag < WICK_TAGS ? names[tag] : NULL;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static size_t home_of(const wick_tracker *t, const void *at) {
    return (size_t)((uint64_t)(uintptr_t)at * 0x9E3779B97F4A7C15u >> 20) & (t->slots - 1); /* Fibonacci hashing */
}

static void insert(wick_tracker *t, wick_tracked block) {
    size_t i = home_of(t, block.at);
    while (t->table[i].at) i = (i + 1) & (t->slots - 1);
    t->table[i] = block;
    t->used++;
}

static bool make_room(wick_tracker *t) {
    if (2 * (t->used + 1) <= t->slots) return true;
    const size_t slots = t->slots ? 2 * t->slots : 1024, before = t->slots;
    wick_tracked *old = t->table, *table = calloc(slots, sizeof *table);
    if (!table) return false;
    t->table = table;
    t->slots = slots;
    t->used = 0;
    for (size_t i = 0; i < before; i++)
        if (old[i].at) insert(t, old[i]);
    free(old);
    return true;
}

/* Takes the block out; those behind it that would not be found any more move up. */
static bool take_out(wick_tracker *t, const void *at, wick_tracked *out) {
    if (!t->slots) return false;
    const size_t mask = t->slots - 1;
    size_t i = home_of(t, at);
    while (t->table[i].at && t->table[i].at != at) i = (i + 1) & mask;
    if (!t->table[i].at) return false;
    *out = t->table[i];
    for (size_t k = (i + 1) & mask; t->table[k].at; k = (k + 1) & mask) {
        const size_t home = home_of(t, t->table[k].at);
        if (((k - home) & mask) < ((k - i) & mask)) continue; /* its way to its home does not lead over i */
        t->table[i] = t->table[k];
        i = k;
    }
    t->table[i].at = NULL;
    t->used--;
    return true;
}

/* ---- the course -------------------------------------------------------------------------------------------------- */

enum { FIRST_WIDTH_NS = 100000 };

static wick_course_point point_now(const wick_tracker *t) {
    wick_course_point p = {.all = t->all.bytes};
    for (int i = 0; i < WICK_TAGS; i++) p.bytes[i] = t->sums[i].bytes;
    return p;
}

/* Pieces up to now have what there is, before it changes. */
void wick_course_bring(wick_tracker *t) {
    wick_course *c = t->course;
    const uint64_t now = wick_now_ns(), since = now > c->began ? now - c->began : 0;
    while (since / c->width >= WICK_COURSE_POINTS) {
        for (int i = 0; i < c->n; i += 2) {
            const bool second = i + 1 < c->n && c->at[i + 1].all > c->at[i].all;
            c->at[i / 2] = c->at[i + second];
        }
        c->n = (c->n + 1) / 2;
        c->width *= 2;
    }
    const int here = (int)(since / c->width);
    for (const wick_course_point p = point_now(t); c->n <= here; c->n++) c->at[c->n] = p;
}

/* After more came. */
static void raise_course(wick_tracker *t) {
    wick_course *c = t->course;
    if (c && t->all.bytes > c->at[c->n - 1].all) c->at[c->n - 1] = point_now(t);
}

wick_status wick_tracker_record(wick_tracker *t) {
    wick_course *c = wick_calloc(NULL, sizeof *c);
    if (!c) return WICK_ERR_NOMEM;
    c->began = wick_now_ns();
    c->width = FIRST_WIDTH_NS;
    wick_tracker_lock(t);
    wick_course *was = t->course;
    t->course = c;
    wick_course_look(t);
    wick_tracker_unlock(t);
    wick_release(NULL, was, sizeof *was);
    return WICK_OK;
}

/* ---- the lock ---------------------------------------------------------------------------------------------------- */

void wick_tracker_wait(wick_tracker *t) {
    enum { YIELDS = 64, SLEEP_NS = 50000 };
    for (int i = 0; atomic_exchange_explicit(&t->held, true, memory_order_acquire); i++) {
        if (i < YIELDS)
            (void)sched_yield();
        else
            (void)nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    }
}

/* ---- the allocator ----------------------------------------------------------------------------------------------- */

static void add(wick_tag_sum *s, size_t size) {
    s->bytes += size;
    s->blocks++;
    s->peak = WICK_MAX(s->peak, s->bytes);
}
static void subtract(wick_tag_sum *s, size_t size) {
    s->bytes -= size;
    s->blocks--;
}

static void *tracked_alloc(void *user, size_t size, size_t align) {
    wick_tracker *t = user;
    void *at = t->below.alloc(t->below.user, size, align);
    if (!at) return NULL;
    wick_tracker_lock(t);
    const bool room = make_room(t);
    if (room) {
        wick_course_look(t);
        insert(t, (wick_tracked){.at = at, .size = size, .site = t->site(), .tag = tag_now});
        add(&t->sums[tag_now], size);
        add(&t->all, size);
        raise_course(t);
    }
    wick_tracker_unlock(t);
    if (room) return at;
    t->below.release(t->below.user, at, size);
    return NULL;
}

static void tracked_release(void *user, void *at, size_t size) {
    wick_tracker *t = user;
    wick_tracked block;
    wick_tracker_lock(t);
    if (take_out(t, at, &block)) {
        wick_course_look(t);
        subtract(&t->sums[block.tag], block.size);
        subtract(&t->all, block.size);
    }
    wick_tracker_unlock(t);
    t->below.release(t->below.user, at, size);
}

wick_status wick_tracker_init(wick_tracker *t, const wick_allocator *below, const char *(*site)(void)) {
    *t = (wick_tracker){.below = *below, .site = site};
    return WICK_OK;
}

void wick_tracker_free(wick_tracker *t) {
    free(t->table);
    t->table = NULL;
    wick_release(NULL, t->course, sizeof *t->course);
    t->course = NULL;
}

wick_allocator wick_tracker_allocator(wick_tracker *t) {
    return (wick_allocator){.user = t, .alloc = tracked_alloc, .release = tracked_release};
}
