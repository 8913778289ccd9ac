/* loader.c: a ring of batches in the making.
 *
 *   order ──► slot 0: handed over   the caller has it until it comes back
 *             slot 1: ready
 *             slot 2: in work       workers make its samples, each in its own place
 *             slot 3: in work
 *
 * All of this file runs in the caller's thread; workers run do_tasks and nothing else. What a batch holds is decided
 * when its slot is given out (which samples, in which places, how long they are padded), so that no worker's speed
 * shows in it. */
#include "data/loader/batch.h"
#include "data/loader/window.h"
#include "data/sets/stream.h"
#include "base/probe.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>

struct wick_loader {
    wick_context *ctx;
    wick_allocator alloc;
    wick_sample_pipeline pipeline;
    wick_order order;
    wick_spec batch_fields[WICK_DATASET_FIELDS]; /* [batch, ...] */
    wick_loader_options options;
    int64_t epoch;
    int64_t next;    /* the first place that no slot was given */
    uint64_t number; /* of the batch there */
    uint64_t skip;   /* bit k: batch k was handed over before the loader came to this place */
    int depth, ahead; /* slots; batches that are made ahead now, below it */
    int hands;        /* workers in use */
    int floor, quiet; /* adaptive: the fewest workers, and looks in a row without waiting */
    bool shrunk;
    wick_slot *slots;
    uint64_t busy; /* bit of each slot that is in work or ready */
    int held;      /* the slot that the caller has; -1: none */
    size_t slot_bytes[WICK_DATASET_FIELDS];
    int64_t longest[WICK_DATASET_FIELDS];
    wick_worker_pool *crew;
    wick_worker_scratch *benches; /* [1 + workers] */
    /* [depth]: the first sample of a slot that failed */
    struct { wick_status status; int64_t i; wick_fault fault; } *faults;
    _Atomic int fault_lock; /* of faults; held for a copy */
    wick_time_histogram *make, *wait;
    uint64_t handed; /* when the caller got its batch */
    uint64_t began;  /* when it asked for the first one; 0: it has not */
    /* full: batches that were ready; given: that were given out before, and could be */
    struct { uint64_t since, waited; int batches, full, given; } look;
    bool over;   /* the stream ended: this epoch has no more batches */
    bool looked; /* at how many blocks the process had read from disks */
    long blocks;
    wick_window window;
    uint64_t samples, batches, skipped;
    size_t memory;
    size_t pixel_bytes; /* of the first field of a sample that is changed, as the data set has it: of the longest */
    size_t scratch;     /* of the transform, for it */
};

/* ---- workers ----------------------------------------------------------------------------------------------------- */

static void note_fault(wick_loader *l, int slot, int64_t i, wick_status status, const wick_fault *fault) {
    while (atomic_exchange_explicit(&l->fault_lock, 1, memory_order_acquire)) continue;
    if (l->faults[slot].status == WICK_OK || i < l->faults[slot].i) {
        l->faults[slot].status = status;
        l->faults[slot].i = i;
        l->faults[slot].fault = *fault;
    }
    atomic_store_explicit(&l->fault_lock, 0, memory_order_release);
}

static uint64_t thread_ns(void) {
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec : 0;
}

/* A batch's number for whoever records; never 0. */
static uint64_t flow_of(const wick_slot *s) { return (uint64_t)s->epoch << 32 | (s->number + 1); }

static void do_tasks(void *arg, int number, int64_t begin, int64_t end, int worker) {
    wick_loader *l = arg;
    wick_slot *slot = &l->slots[number];
    uint64_t none = 0;
    wick_trace_hook *trace = &l->ctx->trace;
    wick_recorder *recorder = l->benches[worker].recorder = wick_trace_enter(trace);
    const uint64_t opened = recorder ? wick_recorder_open(recorder, WICK_SPAN_MAKE, flow_of(slot)) : 0;
    const uint64_t start = wick_now_ns(), computed = thread_ns();
    if (!atomic_load_explicit(&slot->begun, memory_order_relaxed))
        atomic_compare_exchange_strong(&slot->begun, &none, wick_now_ns());
    const int64_t from = l->options.part_begin, to = l->options.part_end;
    for (int64_t i = begin; i < end && !wick_worker_pool_halted(l->crew); i++) {
        if (i < from || i >= to) continue;
        wick_fault fault = {""};
        const wick_status status = wick_make_sample(&l->pipeline, &l->benches[worker], slot, i, &fault);
        if (WICK_LIKELY(status == WICK_OK)) continue;
        slot->failed[i] = 1;
        note_fault(l, number, i, status, &fault);
    }
    if (l->pipeline.mixes && atomic_fetch_sub(&slot->rest, end - begin) == end - begin &&
        !wick_worker_pool_halted(l->crew))
        wick_mix_batch(&l->pipeline, &l->benches[worker], slot);
    const uint64_t end_ns = wick_now_ns();
    atomic_fetch_add_explicit(&l->benches[worker].real, end_ns - start, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->benches[worker].cpu, thread_ns() - computed, memory_order_relaxed);
    /* the last one's stays: about when the batch was whole */
    atomic_store_explicit(&slot->ended, end_ns, memory_order_relaxed);
    if (!recorder) return;
    wick_recorder_close(recorder, WICK_SPAN_MAKE, opened, flow_of(slot));
    wick_trace_leave(trace);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* The lengths of its samples, and what they are padded to. */
static wick_status measure(wick_loader *l, wick_slot *s) {
    const wick_sample_pipeline *m = &l->pipeline;
    for (int k = 0; k < m->n_fields; k++) {
        if (!m->varies[k]) continue;
        int64_t most = 0;
        for (int64_t i = 0; i < s->n; i++) {
            const int64_t length = s->lengths[k][i] = wick_sample_length(m, s->samples[i], k);
            if (length < 0 || length > l->longest[k])
                return wick_context_fail(
                    l->ctx, WICK_ERR_INVALID, "loader: sample %lld had up to %lld rows of \"%s\" and has %lld now",
                    (long long)s->samples[i], (long long)l->longest[k], m->fields[k].name, (long long)length);
            most = WICK_MAX(most, length);
        }
        for (int b = 0; k == l->options.bucket_field && b < l->order.buckets; b++)
            if (most <= l->options.buckets[b]) {
                most = l->options.buckets[b];
                break;
            }
        s->padded[k] = most;
    }
    return WICK_OK;
}

/* Whether this process read from a disk since the batch before: then what the next one needs may be there, and the
 * system begins to read all of it, many at once, while batches before it are made. Where everything is in memory that
 * would only cost calls. */
static bool reads_disk(wick_loader *l) {
    struct rusage use;
    if (!l->pipeline.dataset->source.ahead || getrusage(RUSAGE_SELF, &use) != 0) return false;
    const bool read = !l->looked || use.ru_inblock != l->blocks;
    l->looked = true;
    l->blocks = use.ru_inblock;
    return read;
}

/* How many of a batch's n samples are made. */
static int64_t part_of(const wick_loader *l, int64_t n) {
    return WICK_MAX(WICK_MIN(n, l->options.part_end) - l->options.part_begin, 0);
}

/* Gives out batches as long as there are free slots. */
static wick_status give_out(wick_loader *l) {
    for (;;) {
        uint64_t free = ~l->busy & (((uint64_t)1 << l->depth) - 1), first = l->number;
        if (l->held >= 0) free &= ~((uint64_t)1 << l->held);
        for (uint64_t rest = l->busy; rest; rest &= rest - 1)
            first = WICK_MIN(first, l->slots[__builtin_ctzll(rest)].number);
        /* wick_loader_place has 64 bits */
        if (!free || __builtin_popcountll(l->busy) >= WICK_MAX(l->ahead, 1) || l->number - first >= 64) return WICK_OK;
        const int64_t end = l->over ? l->next : wick_order_end(&l->order, l->next);
        if (end == l->next) return WICK_OK;
        if (l->number >= 64 || !(l->skip >> l->number & 1)) {
            const int number = __builtin_ctzll(free);
            wick_slot *s = &l->slots[number];
            s->epoch = l->epoch;
            s->place = l->next;
            s->n = end - l->next;
            s->number = l->number;
            for (int64_t i = 0; i < s->n; i++) s->samples[i] = wick_order_at(&l->order, l->next + i);
            WICK_TRY(measure(l, s));
            memset(s->failed, 0, (size_t)s->n);
            l->faults[number].status = WICK_OK;
            atomic_store(&s->begun, 0);
            atomic_store(&s->rest, s->n);
            l->busy |= (uint64_t)1 << number;
            const int64_t from = l->options.part_begin, own = part_of(l, s->n);
            if (own && reads_disk(l)) wick_dataset_ahead(l->pipeline.dataset, s->samples + from, own);
            wick_worker_pool_give(l->crew, number, s->n);
        }
        l->next = end;
        l->number++;
    }
}

static void forget(wick_loader *l) {
    wick_worker_pool_halt(l->crew);
    l->busy = 0;
    l->held = -1;
}

/* Leaves out the samples that failed. */
static int64_t close_gaps(wick_loader *l, wick_slot *s) {
    const wick_sample_pipeline *m = &l->pipeline;
    int64_t to = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->failed[i]) continue;
        for (int k = 0; k < m->n_fields && to != i; k++) {
            const size_t bytes = (m->varies[k] ? (size_t)s->padded[k] : 1) * m->row_bytes[k];
            memmove((char *)s->fields[k] + (size_t)to * bytes, (char *)s->fields[k] + (size_t)i * bytes, bytes);
            if (m->varies[k]) s->lengths[k][to] = s->lengths[k][i];
        }
        s->samples[to++] = s->samples[i];
    }
    return to;
}

/* ---- the caller's side ------------------------------------------------------------------------------------------- */

static wick_slot *oldest_of(wick_loader *l, uint64_t slots) {
    wick_slot *first = NULL;
    for (uint64_t rest = slots; rest; rest &= rest - 1) {
        wick_slot *s = &l->slots[__builtin_ctzll(rest)];
        if (!first || s->number < first->number) first = s;
    }
    return first;
}
static uint64_t bit_of(const wick_loader *l, const wick_slot *s) { return (uint64_t)1 << (s - l->slots); }

/* What is given out next begins at that place of the epoch. */
static void go_on_from(wick_loader *l, int64_t place, uint64_t ahead) {
    wick_stream *stream = l->pipeline.dataset->stream;
    l->next = place;
    l->number = 0;
    l->skip = ahead;
    l->over = false;
    if (stream) wick_stream_begin(stream, l->epoch, place * l->order.ranks + l->order.rank);
}

static void begin_epoch(wick_loader *l, int64_t epoch, int64_t place, uint64_t ahead) {
    wick_order_make(&l->order, epoch);
    l->epoch = epoch;
    go_on_from(l, place, ahead);
}

static wick_status stop_at(wick_loader *l, wick_slot *s) {
    const wick_loader_place place = wick_loader_where(l);
    const int number = (int)(s - l->slots);
    const wick_status status = l->faults[number].status;
    (void)wick_context_fail(l->ctx, status, "loader: sample %lld, in epoch %lld: %s",
                            (long long)s->samples[l->faults[number].i], (long long)s->epoch,
                            *l->faults[number].fault.text ? l->faults[number].fault.text : wick_status_name(status));
    forget(l);
    go_on_from(l, place.sample, place.ahead);
    return status;
}

/* Whether what failed in a slot may be left out: what the policy passes over, and what is behind the end of a stream.
 * Where reading a stream failed nothing comes any more, whatever the policy. */
static bool passes(wick_loader *l, const wick_slot *s) {
    const int number = (int)(s - l->slots);
    const wick_dataset *d = l->pipeline.dataset;
    const int64_t last = s->samples[s->n - 1];
    switch (d->stream ? wick_stream_at(d->stream, last) : WICK_STREAM_GOES_ON) {
    case WICK_STREAM_GOES_ON: break;
    case WICK_STREAM_ENDED:
        l->over = true;
        for (int64_t i = 0; i < s->n; i++)
            l->skipped += s->failed[i] && wick_stream_at(d->stream, s->samples[i]) == WICK_STREAM_GOES_ON;
        if (wick_stream_at(d->stream, s->samples[l->faults[number].i]) == WICK_STREAM_ENDED) return true;
        break;
    case WICK_STREAM_BROKEN:
        l->faults[number].i = s->n - 1;
        l->faults[number].status =
            wick_dataset_get(d, last, (void *[WICK_DATASET_FIELDS]){NULL}, &l->faults[number].fault);
        return false;
    }
    return l->pipeline.on_fault == WICK_FAULT_SKIP;
}

/* ---- what follows from measuring --------------------------------------------------------------------------------- */

int64_t wick_batch_follow(int64_t batch, double seconds, double target, int64_t most) {
    if (seconds > target) return WICK_MAX(1, batch * 3 / 4);
    if (seconds < target / 2) return WICK_MIN(most, (batch * 5 + 3) / 4);
    return WICK_MIN(batch, most);
}

wick_status wick_loader_set_batch(wick_loader *l, int64_t batch) {
    if (batch < 1 || batch > l->options.batch || l->order.buckets || l->options.as_ready)
        return wick_context_fail(
            l->ctx, WICK_ERR_INVALID,
            "loader: batches of %lld: they may be of 1 to %lld, and have one size with buckets or as_ready",
            (long long)batch, (long long)l->options.batch);
    l->order.batch = batch;
    return WICK_OK;
}

/* The caller comes back with the batch that it was handed. Smaller ones, and those of another size than is given out
 * now, tell nothing. */
static void follow_latency(wick_loader *l, uint64_t now) {
    if (l->options.latency > 0 && l->held >= 0 && l->slots[l->held].n == l->order.batch)
        l->order.batch =
            wick_batch_follow(l->order.batch, (double)(now - l->handed) * 1e-9, l->options.latency, l->options.batch);
}

/* After 8 batches: more of what the caller waits for, or less of what it does not need. */
static void follow_waiting(wick_loader *l, uint64_t now, uint64_t waited, int full, int given) {
    enum { BATCHES = 8 };
    if (!l->options.adaptive || !l->options.workers) return;
    if (!l->look.since) l->look.since = now;
    else l->look.batches++, l->look.waited += waited, l->look.full += full, l->look.given += given;
    if (l->look.batches < BATCHES) return;
    const double waiting = (double)l->look.waited / (double)WICK_MAX(now - l->look.since, 1);
    const bool ready = l->look.full * 4 >= l->look.given * 3;
    l->quiet = waiting < 0.01 && ready ? l->quiet + 1 : 0;
    if (waiting > 0.05 && l->hands < l->options.workers) {
        wick_worker_pool_allow(l->crew, ++l->hands);
        if (l->shrunk) l->floor = l->hands; /* with fewer it waits */
    } else if (waiting > 0.05 && l->ahead < l->depth - 1) {
        l->ahead++;
    } else if (l->quiet >= 2 && l->hands > WICK_MAX(1, l->floor)) {
        l->quiet = 0;
        l->shrunk = true;
        wick_worker_pool_allow(l->crew, --l->hands);
    }
    l->look.since = now;
    l->look.waited = 0;
    l->look.batches = l->look.full = l->look.given = 0;
}

static wick_status take(wick_loader *l, wick_batch *batch) {
    const uint64_t start = wick_now_ns();
    if (!l->began) l->began = start;
    follow_latency(l, start);
    l->held = -1;
    wick_order_make(&l->order, l->epoch);
    for (;;) {
        WICK_TRY(give_out(l));
        if (!l->busy) { /* the end; what comes next may be made meanwhile */
            if (l->epoch < INT64_MAX) begin_epoch(l, l->epoch + 1, 0, 0);
            return l->options.workers ? give_out(l) : WICK_OK;
        }
        wick_slot *s = l->options.as_ready ? NULL : oldest_of(l, l->busy);
        const int full = __builtin_popcountll(wick_worker_pool_done(l->crew, l->busy)),
                  given = __builtin_popcountll(l->busy) - 1;
        const uint64_t done = wick_worker_pool_wait(l->crew, s ? bit_of(l, s) : l->busy);
        if (!s) s = oldest_of(l, done);
        const int number = (int)(s - l->slots);
        const bool failed = l->faults[number].status != WICK_OK;
        if (failed && !passes(l, s)) return stop_at(l, s);
        l->busy &= ~bit_of(l, s);
        wick_time_histogram_add(l->make, atomic_load(&s->ended) - atomic_load(&s->begun), 1);
        const int64_t count = failed ? close_gaps(l, s) : s->n;
        if (l->over) { /* what was given out behind it has no samples */
            forget(l);
            l->next = s->place + count;
            if (l->options.drop_last && count < s->n) continue;
        } else l->skipped += (uint64_t)(s->n - count);
        if (!count) continue; /* nothing is left of it */
        l->held = number;
        batch->count = count;
        batch->samples = s->samples;
        for (int k = 0; k < l->pipeline.n_fields; k++) {
            batch->fields[k] = s->fields[k];
            batch->lengths[k] = s->lengths[k];
            batch->padded[k] = l->pipeline.varies[k] ? s->padded[k] : 0;
        }
        const uint64_t end = wick_now_ns();
        const int64_t made = part_of(l, count);
        l->samples += (uint64_t)made;
        l->batches++;
        wick_time_histogram_add(l->wait, end - start, 1);
        wick_window_add(&l->window, end, end - start, made, full);
        follow_waiting(l, end, end - start, full, given);
        l->handed = end;
        return WICK_OK;
    }
}

static wick_status take_traced(wick_loader *l, wick_batch *batch) {
    wick_recorder *recorder = wick_trace_enter(&l->ctx->trace);
    if (WICK_LIKELY(!recorder)) return take(l, batch);
    wick_track *track = wick_recorder_track(recorder);
    const uint64_t begin = wick_recorder_open(recorder, WICK_SPAN_WAIT, 0);
    const wick_status status = take(l, batch);
    const uint64_t flow = l->held >= 0 ? flow_of(&l->slots[l->held]) : 0;
    wick_recorder_close(recorder, WICK_SPAN_WAIT, begin, 0);
    if (track) track->flow = flow;
    wick_recorder_drain(recorder, track, false);
    wick_trace_leave(&l->ctx->trace);
    return status;
}

wick_status wick_loader_take(wick_loader *l, wick_batch *batch) {
    if (!batch) return wick_context_fail(l->ctx, WICK_ERR_INVALID, "loader_take: batch is NULL");
    memset(batch, 0, sizeof *batch);
    const wick_status status = take_traced(l, batch);
    WICK_PROBE2("batch", batch->count, status);
    return status;
}

int64_t wick_loader_next(wick_loader *l, void *x, void *y) {
    wick_batch b;
    if (l->pipeline.varies[0] || (y && (l->pipeline.n_fields < 2 || l->pipeline.varies[1]))) {
        (void)wick_context_fail(
            l->ctx, WICK_ERR_INVALID,
            "loader: wick_loader_next is for fields of fixed dims; take batches by wick_loader_take");
        return -1;
    }
    if (wick_loader_take(l, &b) != WICK_OK) return -1;
    if (x) memcpy(x, b.fields[0] ? b.fields[0] : l->slots[0].fields[0], (size_t)b.count * l->pipeline.row_bytes[0]);
    if (y) memcpy(y, b.fields[1] ? b.fields[1] : l->slots[0].fields[1], (size_t)b.count * l->pipeline.row_bytes[1]);
    return b.count;
}

const wick_spec *wick_loader_field(const wick_loader *l, int field) {
    return field >= 0 && field < l->pipeline.n_fields ? &l->batch_fields[field] : NULL;
}
int64_t wick_loader_batches(const wick_loader *l) {
    return wick_dataset_count(l->pipeline.dataset) < 0 ? -1 : wick_order_batches(&l->order);
}

/* ---- the place --------------------------------------------------------------------------------------------------- */

wick_loader_place wick_loader_where(const wick_loader *l) {
    wick_loader_place p = {l->epoch, l->next, 0};
    const wick_slot *first = l->busy ? oldest_of((wick_loader *)l, l->busy) : NULL;
    if (!first) return p;
    p.sample = first->place;
    /* What was given out behind it and is in no slot has been handed over. */
    uint64_t waiting = 0;
    for (uint64_t rest = l->busy; rest; rest &= rest - 1)
        waiting |= (uint64_t)1 << (l->slots[__builtin_ctzll(rest)].number - first->number);
    const uint64_t given = l->number - first->number;
    p.ahead = (given < 64 ? ((uint64_t)1 << given) - 1 : ~(uint64_t)0) & ~waiting;
    return p;
}

wick_status wick_loader_return(wick_loader *l, wick_loader_place place) {
    const bool same = place.epoch == l->epoch && place.epoch >= 0;
    if (place.epoch < 0 || place.sample < 0 || place.sample > l->order.most)
        return wick_context_fail(l->ctx, WICK_ERR_INVALID,
                                 "loader: epoch %lld, sample %lld is no place among %lld samples",
                                 (long long)place.epoch, (long long)place.sample, (long long)l->order.most);
    const wick_loader_place here = wick_loader_where(l);
    /* what is being made is what is wanted */
    if (same && here.sample == place.sample && here.ahead == place.ahead) return WICK_OK;
    forget(l);
    begin_epoch(l, place.epoch, place.sample, place.ahead);
    if (place.sample <= l->order.count) return WICK_OK;
    l->next = l->order.count;
    return wick_context_fail(l->ctx, WICK_ERR_INVALID, "loader: epoch %lld has %lld samples, not %lld",
                             (long long)place.epoch, (long long)l->order.count, (long long)place.sample);
}

void wick_loader_position(const wick_loader *l, int64_t *epoch, int64_t *sample) {
    int64_t unwanted;
    if (!epoch) epoch = &unwanted;
    if (!sample) sample = &unwanted;
    const wick_loader_place p = wick_loader_where(l);
    *epoch = p.epoch;
    *sample = p.sample;
}
wick_status wick_loader_seek(wick_loader *l, int64_t epoch, int64_t sample) {
    return wick_loader_return(l, (wick_loader_place){epoch, sample, 0});
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Of a stream no sample has a number that it could be asked for by, or drawn by. */
static wick_status check_stream(wick_context *ctx, const wick_dataset *d, const wick_loader_options *o, int slots) {
    if (!d->stream) return WICK_OK;
    const char *what = o->shuffle           ? "shuffle, which wick_stream_options has"
                       : o->weights         ? "weights"
                       : o->balanced        ? "balanced"
                       : o->buckets[0]      ? "buckets"
                       : o->on_fault == WICK_FAULT_SUBSTITUTE ? "WICK_FAULT_SUBSTITUTE"
                       : o->as_ready && wick_stream_ends(d->stream) ? "as_ready, unless its count is known"
                                            : NULL;
    if (what)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                 "loader: the samples of a stream come one after the other: there is no %s", what);
    const int64_t window = wick_stream_window(d->stream), ranks = WICK_MAX(o->ranks, 1);
    if (o->batch > window / slots / ranks)
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "loader: %d batches of %lld samples at once, times %lld ranks, are more than the stream's window, %lld",
            slots, (long long)o->batch, (long long)ranks, (long long)window);
    return WICK_OK;
}

static wick_status check(wick_context *ctx, const wick_dataset *d, const wick_loader_options *o) {
    const int64_t count = d->source.count, ranks = WICK_MAX(o->ranks, 1);
    if (o->batch < 1) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: batch is %lld", (long long)o->batch);
    if (o->ranks < 0 || o->rank < 0 || o->rank >= ranks)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: rank %d of %d", o->rank, o->ranks);
    if (o->draws < 0 || (o->draws && !o->weights && !o->balanced))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: %lld draws an epoch; they are for weights or balanced",
                                 (long long)o->draws);
    const int64_t total = o->draws ? o->draws : count, own = (total - o->rank + ranks - 1) / ranks;
    if (count < 1 || own < 1 || (o->drop_last && own < o->batch))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: %lld samples make no batch of %lld",
                                 (long long)WICK_MAX(own, 0), (long long)o->batch);
    if (count > UINT32_MAX || total > UINT32_MAX)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "loader: %lld samples; at most 2^32 - 1",
                                 (long long)WICK_MAX(count, total));
    if (!(o->deviation >= 0 && o->mean - o->mean == 0 && o->deviation - o->deviation == 0))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: mean %g and deviation %g cannot normalise", o->mean,
                                 o->deviation);
    if (o->shuffle_buffer < 0 || (o->shuffle_buffer && (!o->shuffle || o->weights || o->balanced)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: a shuffle_buffer of %lld: it is for shuffle, without weights or balanced",
                                 (long long)o->shuffle_buffer);
    if (o->workers < 0 || o->workers > WICK_WORKERS_MAX || o->prefetch < 0 || o->prefetch > WICK_PREFETCH_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: %d workers and %d batches ahead; at most %d and %d",
                                 o->workers, o->prefetch, WICK_WORKERS_MAX, WICK_PREFETCH_MAX);
    if (!(o->latency >= 0) || isinf(o->latency) || (o->latency > 0 && (o->buckets[0] || o->as_ready)))
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "loader: a latency of %g s: batches that follow one have no buckets, and come in order", o->latency);
    if ((unsigned)o->on_fault > WICK_FAULT_SUBSTITUTE)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: on_fault is %d", (int)o->on_fault);
    for (int b = 1; b < WICK_BUCKETS && o->buckets[b]; b++)
        if (o->buckets[b] <= o->buckets[b - 1])
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: bucket %d ends at %lld, the one before at %lld", b,
                                     (long long)o->buckets[b], (long long)o->buckets[b - 1]);
    const wick_spec *f = wick_dataset_field(d, o->bucket_field);
    if (o->buckets[0] < 0 || !f || (o->buckets[0] && !wick_field_varies(f)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: buckets need a field whose first dim varies; field %d is none",
                                 o->bucket_field);
    return WICK_OK;
}

static wick_status check_part(wick_context *ctx, const wick_dataset *d, const wick_loader_options *o) {
    const bool given = o->part_begin || o->part_end;
    if (!given) return WICK_OK;
    if (o->part_begin < 0 || o->part_end <= o->part_begin)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: samples %lld to %lld of each batch are no part of it",
                                 (long long)o->part_begin, (long long)o->part_end - 1);
    const char *what = d->stream                                            ? "a stream"
                       : o->transform && wick_transform_mixes(o->transform) ? "a transform that mixes samples"
                       : o->on_fault == WICK_FAULT_SKIP                     ? "WICK_FAULT_SKIP"
                                                                            : NULL;
    if (!what) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "loader: parts of batches are not for %s", what);
}

static bool takes_pad(wick_dtype dtype, double value) {
    if (value == 0 || dtype == WICK_F32 || dtype == WICK_F64) return true;
    const bool is_signed = dtype >= WICK_I8 && dtype <= WICK_I64;
    if (!is_signed && !(dtype >= WICK_U8 && dtype <= WICK_U64)) return false;
    const double end = ldexp(1, wick_dtype_bits(dtype) - is_signed);
    return value == floor(value) && value < end && value >= (is_signed ? -end : 0);
}

/* What becomes of the first field. */
static wick_status set_pixels(wick_context *ctx, wick_sample_pipeline *m, const wick_loader_options *o) {
    const wick_spec *f = &m->fields[0];
    const bool asked = o->flip || o->crop || o->mean != 0 || o->deviation != 0 || o->transform;
    m->pixels = !o->raw && f->dtype == WICK_U8 && !m->varies[0];
    m->signal = !o->raw && f->dtype == WICK_F32 && o->transform;
    if (m->signal) {
        const wick_spec *in = wick_transform_input(o->transform);
        if (o->flip || o->crop || o->mean != 0 || o->deviation != 0)
            return wick_context_fail(
                ctx, WICK_ERR_INVALID,
                "loader: a transform says all; mean, deviation, flip and crop are not given beside it");
        if (in->dtype != WICK_F32 || in->rank != f->rank ||
            memcmp(in->dims, f->dims, (size_t)f->rank * sizeof *f->dims) != 0)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: the transform is for other signals than \"%s\"",
                                     f->name);
        const char *name = f->name;
        m->transform = o->transform;
        m->fields[0] = *wick_transform_output(o->transform);
        m->fields[0].name = name;
        return WICK_OK;
    }
    if (asked && !m->pixels)
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "loader: mean, deviation, flip, crop and transform are for pixels, u8 of fixed dims; \"%s\" is %s%s",
            f->name, wick_dtype_name(f->dtype), o->raw ? ", and to be left raw" : "");
    if (!m->pixels) return WICK_OK;
    const int rank = f->rank;
    if (o->transform) {
        const wick_spec *in = wick_transform_input(o->transform);
        if (o->flip || o->crop || o->mean != 0 || o->deviation != 0)
            return wick_context_fail(
                ctx, WICK_ERR_INVALID,
                "loader: a transform says all; mean, deviation, flip and crop are not given beside it");
        if (in->rank != rank || memcmp(in->dims, f->dims, (size_t)rank * sizeof *f->dims) != 0)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: the transform is for other pictures than \"%s\"",
                                     f->name);
        const char *name = f->name;
        m->transform = o->transform;
        m->fields[0] = *wick_transform_output(o->transform);
        m->fields[0].name = name;
        return WICK_OK;
    }
    m->height = rank < 2 ? 1 : f->dims[rank - 2];
    m->width = rank < 1 ? 1 : f->dims[rank - 1];
    if ((o->flip || o->crop) && (rank < 2 || m->height < 1 || m->width < 1))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: flip and crop are for samples of height and width; these have %d dim%s", rank,
                                 rank == 1 ? "" : "s");
    if (o->crop < 0 || (o->crop && o->crop >= WICK_MIN(m->height, m->width)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: crop is %lld; for samples of %lld x %lld it is at least 0 and less than both",
                                 (long long)o->crop, (long long)m->height, (long long)m->width);
    m->planes = m->height && m->width ? (int64_t)m->row_bytes[0] / (m->height * m->width) : 0;
    m->flip = o->flip;
    m->crop = o->crop;
    wick_pixel_map_make(&m->map, o->mean, o->deviation > 0 ? o->deviation : 1);
    m->fields[0].dtype = WICK_F32;
    return WICK_OK;
}

/* What belongs to the first field. */
static wick_status set_joint(wick_context *ctx, wick_sample_pipeline *m, const wick_dataset *d,
                             const wick_loader_options *o) {
    for (int k = 0; k < WICK_DATASET_FIELDS; k++) {
        const wick_joint joint = o->joint[k];
        if (!joint) continue;
        if ((unsigned)joint > WICK_JOINT_MASK || !k || k >= m->n_fields || !o->transform || m->signal)
            return wick_context_fail(
                ctx, WICK_ERR_INVALID,
                "loader: joint is for fields beside the picture, and needs a transform; field %d is none", k);
        wick_spec *f = &m->fields[k];
        const wick_spec *picture = wick_dataset_field(d, 0);
        m->joint[k] = joint;
        if (joint != WICK_JOINT_MASK) {
            const int64_t want = joint == WICK_JOINT_POINTS ? 2 : 4;
            if (f->dtype == WICK_F32 && f->rank > 0 && f->dims[f->rank - 1] >= want) continue;
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "loader: %s are f32 [..., %lld or more]; \"%s\" is %s of %d dim%s",
                                     want == 2 ? "points" : "boxes", (long long)want, f->name,
                                     wick_dtype_name(f->dtype), f->rank, f->rank == 1 ? "" : "s");
        }
        const wick_spec *made = wick_transform_output(o->transform);
        if (f->dtype != WICK_U8 || f->rank != 2 ||
            memcmp(f->dims, picture->dims + picture->rank - 2, 2 * sizeof *f->dims) != 0)
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "loader: a mask is u8 of the picture's height and width; \"%s\" is not", f->name);
        m->mask_bytes = m->row_bytes[k];
        m->n_masks++;
        memcpy(f->dims, made->dims + made->rank - 2, 2 * sizeof *f->dims);
        m->row_bytes[k] = wick_spec_bytes(f);
    }
    return WICK_OK;
}

/* Classes become numbers that can be mixed. */
static wick_status set_mixing(wick_context *ctx, wick_sample_pipeline *m, const wick_dataset *d) {
    wick_spec *f = &m->fields[1];
    m->mixes = m->transform && wick_transform_mixes(m->transform);
    if (!m->mixes) return WICK_OK;
    m->classes = wick_dataset_classes(d);
    if (m->n_fields < 2 || f->dtype != WICK_I64 || f->rank != 0 || m->classes < 1)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: mixup and cutmix mix classes too: they need a data set with classes, whose "
                                 "second field is i64 and says which a sample is of");
    for (int k = 0; k < m->n_fields; k++)
        if (m->joint[k])
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "loader: mixup and cutmix mix classes, not points, boxes or masks: \"%s\"",
                                     m->fields[k].name);
    f->dtype = WICK_F32;
    f->rank = 1;
    f->dims[0] = m->classes;
    m->row_bytes[1] = wick_spec_bytes(f);
    return WICK_OK;
}

/* Room for the longest sample as it is, and as it becomes. */
static wick_status set_signal(wick_loader *l, wick_context *ctx, const wick_dataset *d) {
    wick_sample_pipeline *m = &l->pipeline;
    int64_t rows = m->varies[0] ? 1 : wick_dataset_field(d, 0)->dims[0];
    if (m->varies[0] && d->stream) rows = wick_stream_longest(d->stream, 0);
    for (int64_t i = 0; m->varies[0] && !d->stream && i < d->source.count; i++)
        rows = WICK_MAX(rows, wick_dataset_length(d, i, 0));
    l->scratch = wick_transform_scratch(m->transform, rows);
    const bool varied = m->varies[0];
    m->varies[0] = wick_field_varies(&m->fields[0]);
    const int64_t row = wick_field_elements(&m->fields[0], m->varies[0] ? 1 : 0);
    if (!l->scratch || row < 1 || (varied && wick_mul_overflows(l->pixel_bytes, (size_t)rows, &l->pixel_bytes)) ||
        wick_mul_overflows((size_t)row, sizeof(float), &m->row_bytes[0]))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: samples of \"%s\" of up to %lld rows are too long for the transform",
                                 m->fields[0].name, (long long)rows);
    return WICK_OK;
}

static wick_status set_fields(wick_loader *l, wick_context *ctx, const wick_dataset *d, const wick_loader_options *o) {
    wick_sample_pipeline *m = &l->pipeline;
    *m = (wick_sample_pipeline){
        .dataset = d, .seed = o->seed, .n_fields = wick_dataset_fields(d), .batch = o->batch, .on_fault = o->on_fault};
    for (int k = 0; k < m->n_fields; k++) {
        m->fields[k] = *wick_dataset_field(d, k);
        m->varies[k] = wick_field_varies(&m->fields[k]);
        m->row_bytes[k] = d->field_bytes[k];
        m->pad[k] = o->pad[k];
        if (!takes_pad(m->fields[k].dtype, o->pad[k]))
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: field \"%s\", %s, cannot be padded with %g",
                                     m->fields[k].name, wick_dtype_name(m->fields[k].dtype), o->pad[k]);
    }
    WICK_TRY(set_pixels(ctx, m, o));
    l->pixel_bytes = m->row_bytes[0];
    if (m->pixels && m->transform) l->scratch = wick_transform_scratch(m->transform, 0);
    if (m->signal) WICK_TRY(set_signal(l, ctx, d));
    if (m->pixels) {
        size_t bytes;
        if (wick_mul_overflows((size_t)wick_field_elements(&m->fields[0], 0), sizeof(float), &bytes))
            return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for a sample of \"%s\"",
                                     m->fields[0].name);
        m->row_bytes[0] = bytes;
    }
    WICK_TRY(set_joint(ctx, m, d, o));
    WICK_TRY(set_mixing(ctx, m, d));
    for (int k = 0; k < m->n_fields; k++) {
        int64_t rows = 1;
        if (m->varies[k] && d->stream)
            rows = k == 0 && m->signal ? wick_transform_rows(m->transform, wick_stream_longest(d->stream, 0))
                                       : wick_stream_longest(d->stream, k);
        for (int64_t i = 0; m->varies[k] && !d->stream && i < d->source.count; i++) {
            const int64_t length = wick_sample_length(m, i, k);
            if (length < 0)
                return wick_context_fail(ctx, WICK_ERR_INVALID,
                                         "loader: the length of sample %lld in \"%s\" cannot be told", (long long)i,
                                         m->fields[k].name);
            rows = WICK_MAX(rows, length);
        }
        if (o->buckets[0] && k == o->bucket_field)
            for (int b = 0; b < WICK_BUCKETS && o->buckets[b]; b++) rows = WICK_MAX(rows, o->buckets[b]);
        l->longest[k] = rows;
        size_t bytes;
        if (wick_mul_overflows(m->row_bytes[k], (size_t)(m->varies[k] ? rows : 1), &bytes) ||
            wick_mul_overflows(bytes, (size_t)o->batch, &l->slot_bytes[k]) || l->slot_bytes[k] > PTRDIFF_MAX)
            return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for %lld samples of \"%s\"",
                                     (long long)o->batch, m->fields[k].name);
        wick_spec *f = &l->batch_fields[k];
        *f = m->fields[k];
        f->rank = m->fields[k].rank + 1;
        f->dims[0] = o->batch;
        memcpy(f->dims + 1, m->fields[k].dims, sizeof *f->dims * (size_t)m->fields[k].rank);
    }
    return WICK_OK;
}

/* Counts what the loader holds. */
static void *get_memory(wick_loader *l, size_t bytes) {
    const wick_tag was = wick_tag_set(WICK_TAG_DATA);
    void *p = wick_calloc(&l->alloc, bytes);
    wick_tag_set(was);
    if (p) l->memory += bytes;
    return p;
}

static bool make_slots(wick_loader *l) {
    const wick_sample_pipeline *m = &l->pipeline;
    const int hands = l->options.workers + 1;
    l->slots = get_memory(l, (size_t)l->depth * sizeof *l->slots);
    l->faults = get_memory(l, (size_t)l->depth * sizeof *l->faults);
    l->benches = get_memory(l, (size_t)hands * sizeof *l->benches);
    l->make = get_memory(l, sizeof *l->make);
    l->wait = get_memory(l, sizeof *l->wait);
    if (!l->slots || !l->faults || !l->benches || !l->make || !l->wait) return false;
    for (int i = 0; i < hands; i++) {
        l->benches[i].every = 1;
        if ((m->pixels || m->signal) && !(l->benches[i].pixels = get_memory(l, l->pixel_bytes))) return false;
        if (l->scratch && !(l->benches[i].scratch = get_memory(l, l->scratch))) return false;
        if (m->mixes && !(l->benches[i].kept = get_memory(l, m->row_bytes[0] + m->row_bytes[1]))) return false;
        if (m->n_masks && !(l->benches[i].masks = get_memory(l, (size_t)m->n_masks * m->mask_bytes))) return false;
    }
    for (int i = 0; i < l->depth; i++) {
        wick_slot *s = &l->slots[i];
        s->samples = get_memory(l, (size_t)m->batch * sizeof *s->samples);
        s->failed = get_memory(l, (size_t)m->batch);
        if (!s->samples || !s->failed) return false;
        for (int k = 0; k < m->n_fields; k++) {
            if (!(s->fields[k] = get_memory(l, l->slot_bytes[k]))) return false;
            if (m->varies[k] && !(s->lengths[k] = get_memory(l, (size_t)m->batch * sizeof *s->lengths[k])))
                return false;
        }
    }
    return true;
}

wick_status wick_loader_new(wick_context *ctx, const wick_dataset *dataset, const wick_loader_options *options,
                            wick_loader **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader_new: out is NULL");
    *out = NULL;
    if (!dataset || !options) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: needs a dataset and options");
    WICK_TRY(check(ctx, dataset, options));
    WICK_TRY(check_part(ctx, dataset, options));
    wick_loader *l = wick_calloc(&ctx->alloc, sizeof *l);
    if (!l) return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory");
    l->ctx = ctx;
    l->alloc = ctx->alloc;
    l->options = *options;
    /* no slot needs room for more */
    l->options.batch = WICK_MIN(options->batch, options->draws ? options->draws : dataset->source.count);
    l->options.weights = NULL; /* the order has them */
    if (!options->part_end) l->options.part_end = INT64_MAX;
    l->held = -1;
    const int ahead = options->prefetch   ? options->prefetch
                      : options->adaptive ? 8
                                          : WICK_MIN(WICK_PREFETCH_MAX, WICK_MAX(2, options->workers + 1));
    l->depth = options->workers ? ahead + 1 : 1; /* and the one that the caller has */
    l->hands = options->adaptive ? WICK_MIN(options->workers, 1) : options->workers;
    l->ahead = options->adaptive ? WICK_MIN(ahead, 2) : ahead;
    wick_loader_options o = l->options;
    o.weights = options->weights;
    wick_status status = check_stream(ctx, dataset, &o, l->depth);
    if (status == WICK_OK) status = set_fields(l, ctx, dataset, &o);
    if (status == WICK_OK) status = wick_order_new(&l->order, ctx, dataset, &o);
    if (status == WICK_OK && !make_slots(l))
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for %d batches of %lld samples",
                                   l->depth, (long long)l->options.batch);
    if (status == WICK_OK &&
        wick_worker_pool_new(&l->crew, options->workers, l->depth, do_tasks, l, &l->alloc) != WICK_OK)
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for %d workers", options->workers);
    if (status != WICK_OK) {
        wick_loader_free(&l);
        return status;
    }
    l->memory += sizeof *l + wick_order_bytes(&l->order) + wick_worker_pool_bytes(l->crew);
    if (options->adaptive && options->workers) wick_worker_pool_allow(l->crew, l->hands);
    begin_epoch(l, 0, 0, 0);
    *out = l;
    return WICK_OK;
}

void wick_loader_free(wick_loader **loader) {
    wick_loader *l = loader ? *loader : NULL;
    if (!l) return;
    *loader = NULL;
    wick_allocator alloc = l->alloc;
    wick_worker_pool_free(&l->crew);
    for (int i = 0; l->slots && i < l->depth; i++) {
        wick_slot *s = &l->slots[i];
        wick_release(&alloc, s->samples, (size_t)l->pipeline.batch * sizeof *s->samples);
        wick_release(&alloc, s->failed, (size_t)l->pipeline.batch);
        for (int k = 0; k < l->pipeline.n_fields; k++) {
            wick_release(&alloc, s->fields[k], l->slot_bytes[k]);
            wick_release(&alloc, s->lengths[k], (size_t)l->pipeline.batch * sizeof *s->lengths[k]);
        }
    }
    for (int i = 0; l->benches && i <= l->options.workers; i++) {
        wick_release(&alloc, l->benches[i].pixels, l->pixel_bytes);
        wick_release(&alloc, l->benches[i].scratch, l->scratch);
        wick_release(&alloc, l->benches[i].kept, l->pipeline.row_bytes[0] + l->pipeline.row_bytes[1]);
        wick_release(&alloc, l->benches[i].masks, (size_t)l->pipeline.n_masks * l->pipeline.mask_bytes);
    }
    wick_release(&alloc, l->benches, (size_t)(l->options.workers + 1) * sizeof *l->benches);
    wick_release(&alloc, l->slots, (size_t)l->depth * sizeof *l->slots);
    wick_release(&alloc, l->faults, (size_t)l->depth * sizeof *l->faults);
    wick_release(&alloc, l->make, sizeof *l->make);
    wick_release(&alloc, l->wait, sizeof *l->wait);
    wick_order_free(&l->order);
    wick_release(&alloc, l, sizeof *l);
}

/* ---- what it costs ----------------------------------------------------------------------------------------------- */

static void advise(wick_loader_stats *s, bool in_memory, bool signal) {
    wick_str text = wick_str_on(s->advice, sizeof s->advice);
    const double get = s->get.total, transform = s->transform.total + s->collate.total;
    const bool reads = get >= transform;
    if (s->batches < 2) {
        wick_str_add(&text, "Too few batches to tell who waits for whom.");
    } else if (s->waiting < 0.02) {
        wick_str_add(&text,
                     "Batches wait for whoever takes them: %.1f of %d are ready, and %.1f %% of the time goes into "
                     "waiting for one.",
                     s->full, s->prefetch, s->waiting * 100);
    } else {
        wick_str_add(&text,
                     "The caller waits %.0f %% of the time for %s (%.1f us a sample, %.0f %% of what a sample takes)",
                     s->waiting * 100,
                     reads    ? "samples to be read"
                     : signal ? "samples to be transformed"
                              : "pixels to be made numbers",
                     (reads ? s->get.mean : s->transform.mean + s->collate.mean) * 1e6,
                     100 * (reads ? get : transform) / WICK_MAX(get + transform, 1e-30));
        wick_str_add(&text, s->workers == 0       ? ": add workers."
                            : reads && !in_memory ? ": add workers, or keep samples decoded."
                                                  : ": add workers, if there are CPUs.");
    }
}

void wick_loader_get_stats(const wick_loader *l, wick_loader_stats *s) {
    if (!s) return;
    memset(s, 0, sizeof *s);
    const int hands = l->options.workers + 1;
    wick_time_histogram *meters[3][WICK_WORKERS_MAX + 1];
    uint64_t real = 0, cpu = 0;
    for (int i = 0; i < hands; i++) {
        meters[0][i] = &l->benches[i].get;
        meters[1][i] = &l->benches[i].transform;
        meters[2][i] = &l->benches[i].collate;
        s->substituted += atomic_load(&l->benches[i].substituted);
        real += atomic_load(&l->benches[i].real);
        cpu += atomic_load(&l->benches[i].cpu);
    }
    if (l->began) s->cpu = (double)cpu / (double)WICK_MAX(wick_now_ns() - l->began, 1);
    if (real) s->io_wait = WICK_MAX(0, 1 - (double)cpu / (double)real);
    s->get = wick_time_histogram_timing(meters[0], hands);
    s->transform = wick_time_histogram_timing(meters[1], hands);
    s->collate = wick_time_histogram_timing(meters[2], hands);
    s->make = wick_time_histogram_timing((wick_time_histogram *[]){l->make}, 1);
    s->wait = wick_time_histogram_timing((wick_time_histogram *[]){l->wait}, 1);
    const wick_rates r = wick_window_rates(&l->window);
    s->samples_per_second = r.samples;
    s->batches_per_second = r.batches;
    s->waiting = r.waiting;
    s->full = r.full;
    s->samples = l->samples;
    s->batches = l->batches;
    s->skipped = l->skipped;
    s->stolen = wick_worker_pool_stolen(l->crew);
    s->memory = s->memory_peak = l->memory; /* all of it is allocated at once */
    s->workers = l->hands;
    s->prefetch = l->options.workers ? l->ahead : 0;
    s->batch = l->order.batch;
    (void)wick_dataset_cache(l->pipeline.dataset, &s->cache_hits, &s->cache_misses, &s->cache_bytes);
    /* which have been read */
    const int caches = wick_dataset_cache_times(l->pipeline.dataset, 0, WICK_WORKERS_MAX + 1,
                                                (wick_time_histogram * *[]){meters[0], meters[1]});
    s->cache_hit = wick_time_histogram_timing(meters[0], caches);
    s->cache_miss = wick_time_histogram_timing(meters[1], caches);
    s->efficiency =
        s->samples_per_second * (1 - WICK_MIN(s->make.p95, 0.5)) * (1 - WICK_MIN((double)s->memory_peak / 2e9, 0.5));
    advise(s, wick_dataset_at(l->pipeline.dataset, 0, 0) != NULL, l->pipeline.signal);
}
