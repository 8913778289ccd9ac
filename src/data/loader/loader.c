/* loader.c: a ring of batches in the making.
 *
 *   order ──► slot 0: handed over   the caller has it until it comes back
 *             slot 1: ready
 *             slot 2: in work       workers make its samples, each in its own place
 *             slot 3: in work
 *
 * All of this file runs in the caller's thread; workers run wick_loader_tasks and nothing else. The contents of a batch
 * (which samples, in which places, how far they are padded) are decided when its slot is given out, so that they don't
 * depend on how fast workers are. */
#include "data/loader/loader_state.h"
#include "data/sets/stream.h"
#include "base/probe.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>

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

void wick_loader_tasks(void *arg, int number, int64_t begin, int64_t end, int worker) {
    wick_loader *l = arg;
    wick_slot *slot = &l->slots[number];
    uint64_t none = 0;
    wick_trace_hook *trace = &l->ctx->trace;
    wick_recorder *recorder = l->scratches[worker].recorder = wick_trace_enter(trace);
    const uint64_t opened = recorder ? wick_recorder_open(recorder, WICK_SPAN_MAKE, flow_of(slot)) : 0;
    const uint64_t start = wick_now_ns(), computed = thread_ns();
    if (!atomic_load_explicit(&slot->begun, memory_order_relaxed))
        atomic_compare_exchange_strong(&slot->begun, &none, wick_now_ns());
    for (int64_t i = begin; i < end && !wick_worker_pool_halted(l->pool); i++) {
        if (i < slot->from || i >= slot->to || (i >= slot->made_from && i < slot->made_to)) continue;
        wick_fault fault = {""};
        const wick_status status = wick_make_sample(&l->pipeline, &l->scratches[worker], slot, i, &fault);
        if (WICK_LIKELY(status == WICK_OK)) continue;
        slot->failed[i] = 1;
        note_fault(l, number, i, status, &fault);
    }
    if (l->pipeline.mixes && atomic_fetch_sub(&slot->rest, end - begin) == end - begin &&
        !wick_worker_pool_halted(l->pool))
        wick_mix_batch(&l->pipeline, &l->scratches[worker], slot);
    const uint64_t end_ns = wick_now_ns();
    atomic_fetch_add_explicit(&l->scratches[worker].real, end_ns - start, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->scratches[worker].cpu, thread_ns() - computed, memory_order_relaxed);
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

/* Whether this process has read from a disk since the batch before. If so, files of the next batch may be on disk too,
 * and the system is told to read them ahead, many at once, while earlier batches are made. Where all files are in
 * memory, those calls would be wasted. */
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
        const int most = WICK_MAX(l->pace.ahead, 1);
        if (!free || __builtin_popcountll(l->busy) >= most || l->number - first >= 64) return WICK_OK;
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
            s->from = l->options.part_begin, s->to = l->options.part_end;
            s->made_from = s->made_to = 0;
            const int64_t own = part_of(l, s->n);
            if (own && reads_disk(l)) wick_dataset_ahead(l->pipeline.dataset, s->samples + s->from, own);
            wick_worker_pool_give(l->pool, number, s->n);
        }
        l->next = end;
        l->number++;
    }
}

/* The part is another one since the batch was given out: the caller makes what it lacks, at once. Workers have the
 * batches behind it to do. */
static void complete(wick_loader *l, wick_slot *s) {
    const int64_t from = l->options.part_begin, to = WICK_MIN(l->options.part_end, s->n);
    if (from >= to || (from >= s->from && to <= s->to)) return;
    const uint64_t ended = atomic_load(&s->ended), start = wick_now_ns();
    s->made_from = s->from, s->made_to = s->to;
    s->from = from, s->to = to;
    wick_loader_tasks(l, (int)(s - l->slots), from, to, 0);
    /* while it lay ready nobody made it */
    if (s->made_to > s->made_from) atomic_store(&s->ended, ended + (wick_now_ns() - start));
}

static void forget(wick_loader *l) {
    wick_worker_pool_halt(l->pool);
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

void wick_loader_begin(wick_loader *l, int64_t epoch, int64_t place, uint64_t ahead) {
    wick_order_make(&l->order, epoch);
    l->epoch = epoch;
    go_on_from(l, place, ahead);
}

static wick_status stop_at(wick_loader *l, wick_slot *s) {
    const wick_loader_place place = wick_loader_position(l);
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

wick_status wick_loader_set_batch(wick_loader *l, int64_t batch) {
    if (batch < 1 || batch > l->options.batch || l->order.buckets || l->options.as_ready)
        return wick_context_fail(
            l->ctx, WICK_ERR_INVALID,
            "loader: batches of %lld: they may be of 1 to %lld, and have one size with buckets or as_ready",
            (long long)batch, (long long)l->options.batch);
    l->order.batch = batch;
    return WICK_OK;
}

wick_status wick_loader_set_part(wick_loader *l, int64_t begin, int64_t end) {
    wick_loader_options o = l->options;
    o.part_begin = begin, o.part_end = end;
    WICK_TRY(wick_loader_check_part(l->ctx, l->pipeline.dataset, &o));
    l->options.part_begin = begin;
    l->options.part_end = end ? end : INT64_MAX;
    return WICK_OK;
}

/* The caller comes back with the batch that it was handed. Smaller ones, and those of another size than is given out
 * now, tell nothing. */
static void follow_latency(wick_loader *l, uint64_t now) {
    if (l->options.latency > 0 && l->held >= 0 && l->slots[l->held].n == l->order.batch)
        l->order.batch =
            wick_batch_follow(l->order.batch, (double)(now - l->handed) * 1e-9, l->options.latency, l->options.batch);
}

void wick_loader_waited(wick_loader *l, uint64_t now, uint64_t waited, int full, int given) {
    if (l->options.adaptive && l->options.workers && wick_pace_follow(&l->pace, now, waited, full, given))
        wick_worker_pool_allow(l->pool, l->pace.workers);
}

/* Which worker makes a sample is nobody's concern but time's. */
static void follow_samples(wick_loader *l) {
    enum { BATCHES = 8 };
    if (l->batches % BATCHES != 1) return;
    uint64_t real = 0;
    for (int i = 0; i <= l->options.workers; i++)
        real += atomic_load_explicit(&l->scratches[i].real, memory_order_relaxed);
    l->at_once = wick_pace_at_once(l->samples - l->seen.samples, real - l->seen.real);
    l->seen.real = real;
    l->seen.samples = l->samples;
    wick_worker_pool_at_once(l->pool, l->at_once);
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
            if (l->epoch < INT64_MAX) wick_loader_begin(l, l->epoch + 1, 0, 0);
            return l->options.workers ? give_out(l) : WICK_OK;
        }
        wick_slot *s = l->options.as_ready ? NULL : oldest_of(l, l->busy);
        const int full = __builtin_popcountll(wick_worker_pool_done(l->pool, l->busy)),
                  given = __builtin_popcountll(l->busy) - 1;
        const uint64_t done = wick_worker_pool_wait(l->pool, s ? bit_of(l, s) : l->busy);
        if (!s) s = oldest_of(l, done);
        const int number = (int)(s - l->slots);
        complete(l, s);
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
        wick_loader_waited(l, end, end - start, full, given);
        follow_samples(l);
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

wick_status wick_loader_next(wick_loader *l, void *x, void *y, int64_t *count) {
    wick_batch b;
    if (count) *count = 0;
    if (l->pipeline.varies[0] || (y && (l->pipeline.n_fields < 2 || l->pipeline.varies[1])))
        return wick_context_fail(
            l->ctx, WICK_ERR_INVALID,
            "loader: wick_loader_next is for fields of fixed dims; take batches by wick_loader_take");
    WICK_TRY(wick_loader_take(l, &b));
    if (x) memcpy(x, b.fields[0] ? b.fields[0] : l->slots[0].fields[0], (size_t)b.count * l->pipeline.row_bytes[0]);
    if (y) memcpy(y, b.fields[1] ? b.fields[1] : l->slots[0].fields[1], (size_t)b.count * l->pipeline.row_bytes[1]);
    if (count) *count = b.count;
    return WICK_OK;
}

const wick_spec *wick_loader_field(const wick_loader *l, int field) {
    return field >= 0 && field < l->pipeline.n_fields ? &l->batch_fields[field] : NULL;
}
int64_t wick_loader_batches(const wick_loader *l) {
    return wick_dataset_count(l->pipeline.dataset) < 0 ? -1 : wick_order_batches(&l->order);
}

/* ---- the place --------------------------------------------------------------------------------------------------- */

wick_loader_place wick_loader_position(const wick_loader *l) {
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
    const wick_loader_place here = wick_loader_position(l);
    /* what is being made is what is wanted */
    if (same && here.sample == place.sample && here.ahead == place.ahead) return WICK_OK;
    forget(l);
    wick_loader_begin(l, place.epoch, place.sample, place.ahead);
    if (place.sample <= l->order.count) return WICK_OK;
    l->next = l->order.count;
    return wick_context_fail(l->ctx, WICK_ERR_INVALID, "loader: epoch %lld has %lld samples, not %lld",
                             (long long)place.epoch, (long long)l->order.count, (long long)place.sample);
}

wick_status wick_loader_seek(wick_loader *l, int64_t epoch, int64_t sample) {
    return wick_loader_return(l, (wick_loader_place){epoch, sample, 0});
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
    const int threads = l->options.workers + 1;
    wick_time_histogram *meters[3][WICK_WORKERS_MAX + 1];
    uint64_t real = 0, cpu = 0;
    for (int i = 0; i < threads; i++) {
        meters[0][i] = &l->scratches[i].get;
        meters[1][i] = &l->scratches[i].transform;
        meters[2][i] = &l->scratches[i].collate;
        s->substituted += atomic_load(&l->scratches[i].substituted);
        real += atomic_load(&l->scratches[i].real);
        cpu += atomic_load(&l->scratches[i].cpu);
    }
    if (l->began) s->cpu = (double)cpu / (double)WICK_MAX(wick_now_ns() - l->began, 1);
    if (real) s->io_wait = WICK_MAX(0, 1 - (double)cpu / (double)real);
    s->get = wick_time_histogram_timing(meters[0], threads);
    s->transform = wick_time_histogram_timing(meters[1], threads);
    s->collate = wick_time_histogram_timing(meters[2], threads);
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
    s->stolen = wick_worker_pool_stolen(l->pool);
    s->memory = s->memory_peak = l->memory; /* all of it is allocated at once */
    s->workers = l->pace.workers;
    s->prefetch = l->options.workers ? l->pace.ahead : 0;
    s->batch = l->order.batch;
    s->at_once = WICK_MAX(l->at_once, 1);
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
