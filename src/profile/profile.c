/* profile.c: profiles from start to stop; marks become counts and spans. */
#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "profile/otlp.h"

enum { MARKS = 4096, KERNELS = 4096 };
#define TIMELINE_BYTES ((size_t)1 << 30)

/* ---- marks ------------------------------------------------------------------------------------------------------- */

static profile_kernel *kernel_of(wick_profile *p, uint32_t name) {
    const uint32_t i = name - WICK_SPAN_NAMES;
    return i < p->n_kernels ? p->kernels[i] : p->others;
}

static void count_span(wick_profile *p, uint32_t name, uint64_t ns) {
    profile_span *s = &p->spans[name];
    /* what a loader makes while the caller waits is within that; what is made by its workers is no caller's */
    const bool caller =
        name == WICK_SPAN_COMPILE || name == WICK_SPAN_RECORD || name == WICK_SPAN_WAIT || name == WICK_SPAN_DRAIN;
    s->count++;
    s->total += ns;
    s->callers += caller ? ns : 0;
    wick_time_histogram_add(&s->times, ns, 1);
}

static void count_step(wick_profile *p, profile_kernel *k, const wick_mark *m, uint64_t ns) {
    k->count++;
    k->total += ns;
    wick_time_histogram_add(k->times, ns, 1);
    if (!m->flow) return;
    const double tick = p->recorder.tick_ns;
    k->shared++;
    k->shared_total += ns;
    k->busy += (uint64_t)((double)m->flow * tick);
    k->tail += (uint64_t)((double)m->tail * tick);
}

/* Under the recorder's lock. Times become whole ns before differences are taken, so that sums of parts are exact. */
static void drain(void *user, wick_track *track, const wick_mark *marks, size_t n) {
    wick_profile *p = user;
    if (getpid() != p->process) return; /* a fork's child: the file is its parent's */
    for (size_t i = 0; i < n; i++) {
        const wick_mark *m = &marks[i];
        const uint64_t begin = wick_recorder_ns(&p->recorder, m->begin),
                       end = WICK_MAX(begin, wick_recorder_ns(&p->recorder, m->end)), ns = end - begin;
        const bool span = m->name < WICK_SPAN_NAMES;
        profile_kernel *k = span ? NULL : kernel_of(p, m->name);
        if (!span && m->kind == WICK_MARK_BEGIN && !p->first_run && k->step != PROFILE_OWN) {
            p->first_run = WICK_MAX(begin, 1);
            p->ready = p->spans[WICK_SPAN_COMPILE].total;
            p->own_before = p->spans[WICK_SPAN_DRAIN].total;
        }
        if (span && m->kind != WICK_MARK_BEGIN) count_span(p, m->name, ns);
        if (!span && m->kind == WICK_MARK_STEP) count_step(p, k, m, ns);
        if (!span && m->kind == WICK_MARK_END && k->step == PROFILE_OWN) {
            k->count++;
            k->total += ns;
            wick_time_histogram_add(k->times, ns, 1);
        } else if (!span && m->kind == WICK_MARK_END) {
            profile_span *s = &p->spans[WICK_SPAN_RUN];
            s->count++;
            s->total += ns;
            s->callers += ns;
            wick_time_histogram_add(&s->times, ns, 1);
            if (k->step == PROFILE_RUN) k->count++, k->total += ns;
            track->calls = true;
        }
        timeline_put(&p->timeline, track, m, begin, end, span ? wick_span_text(m->name) : k->text);
    }
}

static void drain_end(void *user) {
    wick_profile *p = user;
    if (getpid() != p->process) return;
    if (p->timeline.otlp) (void)otlp_end_line(&p->timeline);
    timeline_flush(&p->timeline);
}

void profile_look(wick_profile *p) {
    if (!p->stopped) wick_recorder_drain(&p->recorder, NULL, true);
}

/* ---- start and stop ---------------------------------------------------------------------------------------------- */

static wick_status begin(wick_profile *p, const wick_profile_options *o) {
    wick_context *ctx = p->ctx;
    const size_t marks = o->marks ? o->marks : MARKS;
    if (marks > (size_t)1 << 24 || !(o->overhead >= 0 && o->overhead <= 1) || o->kernels < 0)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "profile: %zu marks, an overhead of %g, %d kernels: at most 2^24; 0 to 1; not below 0",
                            o->marks, o->overhead, o->kernels);
    p->timeline.fd = -1;
    if (o->ranks < 0 || o->ranks > 4096 || o->rank < 0 || (o->ranks ? o->rank >= o->ranks : o->rank > 0))
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "profile: rank %d of %d: of at most 4096", o->rank, o->ranks);
    p->timeline.rank = o->rank, p->timeline.ranks = o->ranks;
    if (o->zero)
        p->timeline.shift = (int64_t)(wick_now_ns() - o->zero) -
                            (int64_t)wick_recorder_ns(&p->recorder, wick_recorder_ticks(&p->recorder));
    WICK_TRY(timeline_open(&p->timeline, o->timeline, o->timeline_bytes ? o->timeline_bytes : TIMELINE_BYTES,
                           otlp_now() - wick_recorder_ns(&p->recorder, wick_recorder_ticks(&p->recorder)), &p->alloc,
                           &ctx->msg));
    p->most = o->kernels ? o->kernels : KERNELS;
    p->process = getpid();
    p->others = wick_arena_zalloc(&p->arena, sizeof *p->others);
    wick_time_histogram *times = wick_arena_zalloc(&p->arena, sizeof *times);
    profile_part *part = wick_arena_zalloc(&p->arena, sizeof *part);
    p->workers = wick_arena_zalloc(&p->arena, (size_t)wick_context_threads(ctx) * sizeof *p->workers);
    if (!p->others || !times || !part || !p->workers)
        return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "profile: out of memory");
    *part = (profile_part){.op = "others", .layer = "", .line = "", .share = 1};
    *p->others = (profile_kernel){.name = "others",
                                  .text = "others",
                                  .ops = "others",
                                  .layer = "",
                                  .line = "",
                                  .bound = "",
                                  .step = 0,
                                  .times = times,
                                  .parts = part,
                                  .n_parts = 1};
    p->recorder.overhead = o->overhead;
    p->recorder.user = p;
    p->recorder.plan = profile_add_plan;
    p->recorder.drain = drain;
    p->recorder.drain_end = drain_end;
    for (int i = 0; i < wick_context_threads(ctx); i++) (void)wick_context_worker(ctx, i, &p->workers[i]);
    wick_pool_watch(ctx->pool, true);
    wick_trace_begin(&ctx->trace, &p->recorder);
    return WICK_OK;
}

wick_status wick_profile_start(wick_context *ctx, const wick_profile_options *options, wick_profile **out) {
    static const wick_profile_options defaults;
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "profile_start: out is NULL");
    *out = NULL;
    const wick_profile_options *o = options ? options : &defaults;
    if (ctx->trace.recorder)
        return wick_context_fail(ctx, WICK_ERR_BUSY, "profile: this context is being profiled already");
    /* not the context's memory: other threads take some, and it is none of the program's */
    wick_profile *p = wick_calloc(NULL, sizeof *p);
    if (!p) return wick_context_fail(ctx, WICK_ERR_NOMEM, "profile: out of memory");
    p->ctx = ctx;
    p->alloc = *wick_allocator_default();
    wick_arena_init(&p->arena, &p->alloc, 0);
    wick_status status =
        wick_recorder_init(&p->recorder, o->marks ? o->marks : MARKS, o->clock, o->clock_user, &p->alloc);
    if (status != WICK_OK) {
        wick_arena_free(&p->arena);
        wick_release(NULL, p, sizeof *p);
        return wick_context_fail(ctx, status, "profile: more than 2^24 marks, or out of memory");
    }
    status = begin(p, o);
    if (status == WICK_OK) {
        *out = p;
        return WICK_OK;
    }
    p->stopped = true;
    wick_profile_free(&p);
    return status;
}

/* ---- spans of the program's own ---------------------------------------------------------------------------------- */

void wick_profile_begin(wick_context *ctx, const char *name) {
    wick_recorder *r = name ? wick_trace_enter(&ctx->trace) : NULL;
    if (!r) return;
    wick_track *t = wick_recorder_track(r);
    const uint32_t at = t ? t->n_open++ : WICK_TRACK_OPEN;
    if (at < WICK_TRACK_OPEN) {
        pthread_mutex_lock(&r->lock);
        t->open[at].name = profile_name(r->user, name); /* 0: there are too many names */
        pthread_mutex_unlock(&r->lock);
        const uint64_t now = t->open[at].begin = wick_recorder_ticks(r);
        const wick_mark mark = {.begin = now, .end = now, .name = t->open[at].name, .kind = WICK_MARK_BEGIN};
        if (mark.name) (void)wick_track_put(r, t, &mark);
    }
    wick_trace_leave(&ctx->trace);
}

/* The innermost one that is open, as a mark. */
static bool close_span(const wick_recorder *r, wick_track *t, wick_mark *mark) {
    if (!t || !t->n_open || --t->n_open >= WICK_TRACK_OPEN || !t->open[t->n_open].name) return false;
    *mark = (wick_mark){.begin = t->open[t->n_open].begin,
                        .end = wick_recorder_ticks(r),
                        .name = t->open[t->n_open].name,
                        .kind = WICK_MARK_END};
    return true;
}

void wick_profile_end(wick_context *ctx) {
    wick_recorder *r = wick_trace_enter(&ctx->trace);
    wick_mark mark;
    if (!r) return;
    wick_track *t = wick_recorder_track(r);
    if (close_span(r, t, &mark)) (void)wick_track_put(r, t, &mark);
    wick_trace_leave(&ctx->trace);
}

/* What the program left open ends with the profile. */
static void close_all(wick_profile *p) {
    wick_mark mark;
    for (wick_track *t = p->recorder.tracks; t; t = t->next)
        while (t->n_open)
            if (close_span(&p->recorder, t, &mark)) drain(p, t, &mark, 1);
}

wick_status wick_profile_stop(wick_profile *p) {
    if (p->stopped) return p->status;
    p->stopped_at = wick_recorder_ticks(&p->recorder);
    wick_trace_end(&p->ctx->trace);
    wick_pool_watch(p->ctx->pool, false);
    for (int i = 0; i < wick_context_threads(p->ctx); i++) {
        wick_worker_stats did;
        if (wick_profile_worker(p, i, &did)) p->workers[i] = did;
    }
    close_all(p);
    p->stopped = true;
    const int error = getpid() == p->process ? timeline_close(&p->timeline) : 0;
    if (error)
        p->status = wick_msg_set(&p->msg, WICK_ERR_IO,
                                 "the timeline could not be written whole: %s; %llu spans were "
                                 "dropped",
                                 strerror(error), (unsigned long long)p->timeline.dropped);
    return p->status;
}

void wick_profile_free(wick_profile **profile) {
    wick_profile *p = profile ? *profile : NULL;
    if (!p) return;
    *profile = NULL;
    (void)wick_profile_stop(p);
    if (getpid() != p->process) p->timeline.error = ECANCELED; /* in a fork's child: the file is the parent's */
    (void)timeline_close(&p->timeline);
    for (size_t i = 0; i < WICK_COUNTOF(p->rows); i++) wick_release(&p->alloc, p->rows[i], 1);
    wick_release(&p->alloc, p->kernels, p->cap_kernels * sizeof(profile_kernel *));
    wick_release(&p->alloc, p->texts, p->text_slots * sizeof *p->texts);
    wick_recorder_free(&p->recorder);
    wick_arena_free(&p->arena);
    wick_release(NULL, p, sizeof *p);
}

const char *wick_profile_error(const wick_profile *p) { return p->msg.text; }

/* ---- what was found ---------------------------------------------------------------------------------------------- */

double profile_wall(const wick_profile *p) {
    const uint64_t end = p->stopped ? p->stopped_at : wick_recorder_ticks(&p->recorder);
    return (double)wick_recorder_ns(&p->recorder, end) * 1e-9;
}

int profile_callers(const wick_profile *p) {
    int n = 0;
    for (const wick_track *t = p->recorder.tracks; t; t = t->next) n += t->calls;
    return WICK_MAX(n, 1);
}

bool wick_profile_worker(const wick_profile *p, int worker, wick_worker_stats *out) {
    if (!out || !wick_context_worker(p->ctx, worker, out)) return false;
    const wick_worker_stats *was = &p->workers[worker];
    if (p->stopped) {
        *out = *was;
        return true;
    }
    /* less than before: in the child of a fork, whose workers began anew */
    const bool anew = out->regions < was->regions || out->tasks < was->tasks;
    out->regions -= anew ? 0 : was->regions;
    out->tasks -= anew ? 0 : was->tasks;
    out->steals -= anew ? 0 : was->steals;
    out->seconds -= anew ? 0 : was->seconds;
    return true;
}

wick_profile_info wick_profile_get_info(const wick_profile *p) {
    static const char *const clocks[] = {"tsc", "clock_gettime", "host"};
    wick_profile *own = (wick_profile *)(uintptr_t)p;
    const wick_recorder *r = &p->recorder;
    profile_look(own);
    wick_profile_info info = {.wall = profile_wall(p),
                              .runs = atomic_load(&own->recorder.runs),
                              .skipped = wick_recorder_skipped(r, &p->ctx->trace),
                              .spans = p->timeline.spans,
                              .dropped = p->timeline.dropped,
                              .lost = atomic_load(&own->recorder.lost),
                              .threads = wick_context_threads(p->ctx),
                              .tracks = (int)r->n_tracks,
                              .run = (double)p->spans[WICK_SPAN_RUN].total * 1e-9,
                              .startup = (double)(p->first_run - WICK_MIN(p->own_before, p->first_run) +
                                                  p->spans[WICK_SPAN_COMPILE].total - p->ready) *
                                         1e-9,
                              .compile = (double)p->spans[WICK_SPAN_COMPILE].total * 1e-9,
                              .record = (double)p->spans[WICK_SPAN_RECORD].total * 1e-9,
                              .wait = (double)p->spans[WICK_SPAN_WAIT].total * 1e-9,
                              .make = (double)p->spans[WICK_SPAN_MAKE].total * 1e-9,
                              .self = (double)p->spans[WICK_SPAN_DRAIN].total * 1e-9,
                              .clock = clocks[r->clock],
                              .mark_seconds = r->mark_ticks * r->tick_ns * 1e-9};
    uint64_t ns = p->others->total;
    info.steps = p->others->count;
    for (size_t i = 0; i < p->n_kernels; i++) {
        const profile_kernel *k = p->kernels[i];
        if (k->step < 0 || k == p->others) continue;
        info.steps += k->count;
        ns += k->total;
    }
    info.step = (double)ns * 1e-9;
    info.run_times = wick_time_histogram_timing((wick_time_histogram *[]){&own->spans[WICK_SPAN_RUN].times}, 1);
    return info;
}
