/* execute.c: runs the steps of a plan. No allocation, no decision: the plan has made them all. */
#include "exec/exec.h"
#include "base/probe.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* What a memory has for its buffers, steps and leaves, in one block. */
static size_t tables_size(const wick_plan *plan) {
    return plan->n_buffers * sizeof(char *) + (2 * plan->n_steps + plan->n_leaves) * sizeof(uint64_t) +
           plan->n_steps * sizeof(bool);
}

wick_memory *wick_memory_bare(const wick_plan *plan, int threads) {
    const wick_allocator *alloc = &plan->alloc;
    const wick_tag was = wick_tag_set(WICK_TAG_WORKSPACES);
    wick_memory *m = wick_calloc(alloc, sizeof *m);
    if (m) m->base = wick_calloc(alloc, tables_size(plan));
    wick_tag_set(was);
    if (!m) return NULL;
    m->lent = true;
    m->arena_bytes = plan->arena_bytes;
    m->scratch_bytes = plan->scratch * (size_t)threads;
    if (!m->base || !wick_packed_weights_place(plan, m->base)) {
        wick_memory_free(plan, &m);
        return NULL;
    }
    m->step_ns = (uint64_t *)(m->base + plan->n_buffers);
    m->step_calls = m->step_ns + plan->n_steps;
    m->versions = m->step_calls + plan->n_steps;
    m->done = (bool *)(m->versions + plan->n_leaves);
    for (size_t i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].kind == WICK_BUFFER_CONST) m->base[i] = (char *)(uintptr_t)plan->buffers[i].data;
    return m;
}

size_t wick_memory_bytes(const wick_plan *plan) { return sizeof(wick_memory) + tables_size(plan); }

static void place(const wick_plan *plan, wick_memory *m, char *arena, char *scratch) {
    m->arena = arena;
    m->scratch = scratch;
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const wick_buffer *b = &plan->buffers[i];
        if (b->kind == WICK_BUFFER_TEMP && b->first >= 0) m->base[i] = arena + b->offset;
    }
}
size_t wick_memory_room(const wick_plan *plan, int threads) {
    return WICK_ALIGN_UP(plan->arena_bytes, WICK_ALIGN) + plan->scratch * (size_t)threads;
}
void wick_memory_place(const wick_plan *plan, wick_memory *m, char *room) {
    place(plan, m, room, room + WICK_ALIGN_UP(m->arena_bytes, WICK_ALIGN));
}

void wick_memory_forget(const wick_plan *plan, wick_memory *m) {
    if (plan->n_steps) memset(m->done, 0, plan->n_steps * sizeof *m->done);
}

wick_memory *wick_memory_new(const wick_plan *plan, int threads) {
    wick_memory *m = wick_memory_bare(plan, threads);
    if (!m) return NULL;
    m->lent = false;
    const wick_tag was = wick_tag_set(WICK_TAG_WORKSPACES);
    char *arena = m->arena = wick_alloc(&plan->alloc, m->arena_bytes),
         *scratch = m->scratch = wick_alloc(&plan->alloc, m->scratch_bytes);
    wick_tag_set(was);
    if (arena && scratch)
        place(plan, m, arena, scratch);
    else
        wick_memory_free(plan, &m);
    return m;
}

void wick_memory_free(const wick_plan *plan, wick_memory **memory) {
    wick_memory *m = *memory;
    if (!m) return;
    *memory = NULL;
    const wick_allocator *alloc = &plan->alloc;
    if (!m->lent) {
        wick_release(alloc, m->arena, m->arena_bytes);
        wick_release(alloc, m->scratch, m->scratch_bytes);
    }
    wick_release(alloc, m->base, tables_size(plan));
    wick_release(alloc, m, sizeof *m);
}

/* What threads read of a step, in lines that nothing else is written to. */
typedef struct region {
    _Alignas(WICK_ALIGN) const wick_step *step;
    char *scratch;
    size_t scratch_size;
    _Atomic int64_t fault;     /* the earliest place, or INT64_MAX: the same for any number of threads */
    uint64_t deadline;         /* its tasks begin before; 0: none */
    const atomic_bool *cancel; /* or NULL */
    atomic_bool late;          /* some task did not run */
    void *ptr[WICK_STEP_BUFFERS];
} region;

static void note_fault(region *r, int64_t at) {
    int64_t seen = atomic_load(&r->fault);
    while (at >= 0 && at < seen && !atomic_compare_exchange_weak(&r->fault, &seen, at)) {
    }
}

static void run_task(void *arg, int64_t task, int worker) {
    region *r = arg;
    if ((r->deadline && wick_now_ns() > r->deadline) ||
        (r->cancel && atomic_load_explicit(r->cancel, memory_order_relaxed))) {
        atomic_store_explicit(&r->late, true, memory_order_relaxed);
        return;
    }
    note_fault(r, r->step->run(r->step->args, r->ptr, task, task + 1, r->scratch + (size_t)worker * r->scratch_size));
}

/* Element by element, whatever the strides: this is for debugging. */
static bool all_finite(const wick_operand *at, const char *data) {
    const wick_type *t = at->type;
    wick_copy to_f64 = {.src = (wick_dtype)t->dtype, .dst = WICK_F64};
    int64_t index[WICK_MAX_DIMS] = {0}, n = wick_type_count(t), where = at->layout.offset;
    for (int64_t i = 0; i < n; i++) {
        double v;
        wick_copy_run(&to_f64, 0, 1, data + where * (int64_t)wick_dtype_size((wick_dtype)t->dtype), &v);
        if (!(v - v == 0)) return false;
        for (int k = t->rank - 1; k >= 0; k--) {
            where += at->layout.strides[k];
            if (++index[k] < t->dims[k]) break;
            where -= index[k] * at->layout.strides[k];
            index[k] = 0;
        }
    }
    return true;
}

static bool operand_is_finite(const wick_execution *e, const wick_value *v) {
    const wick_operand *at = &e->plan->operands[v->id];
    return !at->type || !wick_dtype_is_float(v->type.dtype) || all_finite(at, e->memory->base[at->buffer]);
}

/* Where the caller recorded node: plans are shared by places that record the same. */
static const char *site_of(const wick_execution *e, const wick_node *node) {
    const char *site = e->walk && node->slot[1] ? e->walk->nodes[node->slot[1] - 1]->site : node->site;
    return site ? site : "an unknown place";
}

/* Debugging: before the first step of a node, since its result may be written over an input. */
static bool inputs_are_finite(const wick_execution *e, const wick_node *node) {
    for (int k = 0; k < node->n_in; k++)
        if (!operand_is_finite(e, node->in[k])) return false;
    return !(node->op->flags & WICK_OP_LEAF); /* what is given is nobody's doing */
}

/* After the last step of a node with finite inputs: did it make something else of them? */
static wick_status check_results(const wick_execution *e, const wick_node *node) {
    for (int k = 0; k < node->n_out; k++)
        if (!operand_is_finite(e, &node->out[k]))
            return wick_msg_set(e->msg, WICK_ERR_NOT_FINITE, "%s made NaN or Inf from finite inputs (recorded at %s)",
                                node->op->name, site_of(e, node));
    return WICK_OK;
}

static wick_status interrupted(const wick_execution *e) {
    const wick_context_options *o = &e->plan->ctx->options;
    if (e->cancel && atomic_load_explicit(e->cancel, memory_order_relaxed)) {
        atomic_store(e->cancel, false);
        return wick_msg_set(e->msg, WICK_ERR_CANCELLED, "the run was cancelled");
    }
    if (o->cancel && o->cancel(o->cancel_user))
        return wick_msg_set(e->msg, WICK_ERR_CANCELLED, "the run was cancelled by the host");
    if (e->deadline && wick_now_ns() > e->deadline)
        return wick_msg_set(e->msg, WICK_ERR_DEADLINE, "the run passed its deadline");
    return WICK_OK;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

/* A run that is watched: the time between two steps is taken once, and is the end of one and the beginning of the next.
 */
typedef struct watched_run {
    wick_recorder *recorder; /* NULL: only the workspace's own counts are kept (wick_workspace_profile) */
    wick_track *track;
    uint32_t rows; /* the recorder's number of the plan's first step */
    uint64_t at;   /* when the last step ended */
    size_t marks;
    int handed; /* outputs that were handed out (wick_workspace_on_output) */
} watched_run;

static uint64_t ticks_of(const watched_run *rec) {
    return rec->recorder ? wick_recorder_ticks(rec->recorder) : wick_now_ns();
}

typedef struct watched_region {
    region *region;
    const wick_recorder *recorder;
    wick_part *parts;
} watched_region;

static void run_watched_task(void *arg, int64_t task, int worker) {
    watched_region *w = arg;
    wick_part *part = &w->parts[worker];
    if (!part->first) part->first = wick_recorder_ticks(w->recorder);
    run_task(w->region, task, worker);
    part->last = wick_recorder_ticks(w->recorder);
}

/* What threads did of a step goes to their tracks; the sums to the step's mark. */
static void gather_parts(watched_run *rec, wick_part *parts, int threads, wick_mark *step) {
    for (int i = 0; i < threads; i++) {
        wick_part *p = &parts[i];
        if (!p->first) continue;
        step->flow += p->last - WICK_MIN(p->first, p->last); /* a clock may be set back */
        step->tail += step->end - WICK_MIN(p->last, step->end);
        if (!i) continue;
        if (!p->track) p->track = wick_recorder_worker(rec->recorder, rec->track, i);
        const wick_mark mark = {.begin = p->first, .end = p->last, .name = step->name, .kind = WICK_MARK_WORK};
        (void)wick_track_put(rec->recorder, p->track, &mark);
        rec->marks++;
    }
}

static void mark_step(const wick_execution *e, size_t i, watched_run *rec, wick_part *parts) {
    wick_recorder *r = rec->recorder;
    wick_memory *m = e->memory;
    if (!r && !e->profile) return; /* for outputs alone */
    const uint64_t end = ticks_of(rec), took = end - WICK_MIN(rec->at, end);
    if (e->profile) {
        m->step_ns[i] += r ? (uint64_t)((double)took * r->tick_ns) : took;
        m->step_calls[i]++;
    }
    if (!r) {
        rec->at = end;
        return;
    }
    wick_mark mark = {.begin = end - took, .end = end, .name = rec->rows + (uint32_t)i, .kind = WICK_MARK_STEP};
    if (parts) gather_parts(rec, parts, wick_pool_threads(e->pool), &mark);
    rec->at = wick_track_put(r, rec->track, &mark) ? wick_recorder_ticks(r) : end;
    rec->marks++;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* One step by all threads; returns the earliest fault or -1. */
static inline int64_t run_parallel(const wick_execution *e, region *r, bool committing, const wick_recorder *recorder,
                                   wick_part *parts) {
    r->scratch = e->memory->scratch;
    r->scratch_size = e->plan->scratch;
    atomic_init(&r->fault, INT64_MAX);
    r->deadline = committing ? 0 : e->deadline;
    r->cancel = committing ? NULL : e->cancel;
    if (parts)
        wick_pool_run(e->pool, run_watched_task, &(watched_region){r, recorder, parts}, r->step->tasks);
    else
        wick_pool_run(e->pool, run_task, r, r->step->tasks);
    return r->fault == INT64_MAX ? -1 : r->fault;
}

static wick_status faulted(const wick_execution *e, const wick_step *s, void *const *ptr, int64_t at) {
    int64_t extent = 0;
    const int64_t number = s->fault_at ? s->fault_at(s->args, ptr, at, &extent) : 0;
    wick_msg_set(e->msg, s->fault, s->fault_text, (long long)at, (long long)number, (long long)extent);
    return wick_msg_prefix(e->msg, "%s (recorded at %s): ", s->node->op->name, site_of(e, s->node));
}

/* Step i, by as many threads as it is for; returns the earliest fault or -1. r->late: it did not run to its end. */
static ALWAYS_INLINE int64_t run_step(const wick_execution *e, size_t i, region *r, bool committing,
                                      watched_run *rec) {
    const wick_step *s = &e->plan->steps[i];
    wick_memory *m = e->memory;
    r->step = s;
    atomic_init(&r->late, false);
    for (int k = 0; k < s->n_refs; k++) r->ptr[k] = m->base[s->refs[k].buffer] + s->refs[k].offset;
    wick_part *parts = NULL;
    if (rec && rec->track && e->plan->parallel[i])
        parts = wick_track_parts(rec->recorder, rec->track, wick_pool_threads(e->pool));
    const int64_t fault = e->plan->parallel[i] ? run_parallel(e, r, committing, rec ? rec->recorder : NULL, parts)
                          : s->tasks > 0       ? s->run(s->args, r->ptr, 0, s->tasks, m->scratch)
                                               : -1;
    if (rec) mark_step(e, i, rec, parts);
    return fault;
}

/* The outputs that nothing touches after step i. */
static void hand_out(const wick_execution *e, watched_run *rec, size_t i) {
    const wick_plan *plan = e->plan;
    const size_t before = (size_t)rec->handed;
    for (; e->on_output && rec->handed < plan->n_out && plan->done[rec->handed].step <= i; rec->handed++)
        e->on_output(e->on_output_user, plan->done[rec->handed].output);
    /* what the caller does then is no kernel's time */
    if ((size_t)rec->handed != before && (rec->recorder || e->profile)) rec->at = ticks_of(rec);
}

/* One body, made twice: rec is NULL where nothing is recorded, and leaves nothing in the loop. */
static ALWAYS_INLINE wick_status run_steps(wick_execution *e, watched_run *rec) {
    const wick_plan *plan = e->plan;
    wick_memory *m = e->memory;
    const wick_step *const steps = plan->steps;
    const bool watched = e->deadline || plan->ctx->options.cancel;
    bool committing = false; /* from here on nothing may stop the run */
    bool finite = false;     /* check_finite: the node that runs started from finite inputs */
    for (size_t i = 0; i < plan->n_steps; i++) {
        const wick_step *s = &steps[i];
        if (s->kept && (plan->packs || m->done[i])) continue;
        if (s->rides) { /* done: its time is that of the step that it rides on */
            if (rec) m->step_calls[i]++;
            continue;
        }
        committing |= s->commits;
        if (!committing && (watched || (e->cancel && atomic_load_explicit(e->cancel, memory_order_relaxed))))
            WICK_TRY(interrupted(e));
        if (plan->check_finite && (i == 0 || steps[i - 1].node != s->node))
            finite = !committing && inputs_are_finite(e, s->node);
        region r;
        const int64_t fault = run_step(e, i, &r, committing, rec);
        if (r.late) return interrupted(e);
        if (fault >= 0 && s->fault) return faulted(e, s, r.ptr, fault);
        if (s->kept) m->done[i] = true;
        if (finite && (i + 1 == plan->n_steps || steps[i + 1].node != s->node)) WICK_TRY(check_results(e, s->node));
        /* loops and branches (control.c) */
        if (s->jump && *(const int64_t *)r.ptr[0])
            i = (size_t)((int64_t)i + s->jump - 1);
        else if (rec)
            hand_out(e, rec, i);
    }
    if (rec) hand_out(e, rec, plan->n_steps);
    return WICK_OK;
}

/* A step that makes a pack, before all others. */
static wick_status run_packing(wick_execution *e, size_t i) {
    if (e->plan->steps[i].rides) return WICK_OK;
    WICK_TRY(interrupted(e));
    region r;
    if (e->watched)
        run_step(e, i, &r, false, e->watched);
    else
        run_step(e, i, &r, false, NULL);
    return r.late ? interrupted(e) : WICK_OK;
}

/* Kept steps run again if any state that they depend on has changed, or may have. */
static void forget_old_versions(wick_execution *e) {
    const wick_plan *plan = e->plan;
    wick_memory *m = e->memory;
    bool same = true;
    for (size_t i = 0; plan->keeps && i < plan->n_leaves; i++) {
        if (!plan->keeps[i]) continue;
        same &= e->versions[i] && m->versions[i] == e->versions[i];
        m->versions[i] = e->versions[i];
    }
    if (!same) memset(m->done, 0, plan->n_steps * sizeof *m->done);
}

static ALWAYS_INLINE wick_status execute(wick_execution *e, watched_run *rec) {
    const wick_plan *plan = e->plan;
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const wick_buffer *b = &plan->buffers[i];
        if (b->kind == WICK_BUFFER_LEAF) e->memory->base[i] = e->leaves[b->index];
        if (b->kind == WICK_BUFFER_OUTPUT) e->memory->base[i] = e->outputs[b->index];
        if (b->kind == WICK_BUFFER_SLOT) e->memory->base[i] = (char *)e->slots[b->index];
    }
    bool locked = false;
    uint64_t word = wick_fp_enter();
    if (!plan->packs) forget_old_versions(e);
    wick_status status = plan->packs ? wick_packed_weights_make(e, run_packing, &locked) : WICK_OK;
    if (status == WICK_OK) status = run_steps(e, rec);
    if (locked) wick_packed_weights_done(plan);
    wick_fp_restore(word);
    /* what kept steps hand on may not have been read */
    if (status != WICK_OK) memset(e->memory->done, 0, plan->n_steps * sizeof *e->memory->done);
    return status;
}

/* The recorder's number of the plan's first step: its run has the one before it. */
static uint32_t rows_of(wick_recorder *r, wick_plan *plan) {
    if (atomic_load_explicit(&plan->traced_by, memory_order_acquire) != r->number) {
        const uint64_t begin = wick_recorder_ticks(r);
        pthread_mutex_lock(&r->lock);
        if (atomic_load_explicit(&plan->traced_by, memory_order_relaxed) != r->number) {
            plan->traced_rows = r->plan(r->user, plan);
            atomic_store_explicit(&plan->traced_by, r->number, memory_order_release);
        }
        pthread_mutex_unlock(&r->lock);
        wick_recorder_span(r, WICK_SPAN_DRAIN, begin, 0);
    }
    return plan->traced_rows;
}

static __attribute__((noinline)) wick_status execute_recorded(wick_execution *e, wick_recorder *r) {
    watched_run rec = {.recorder = r};
    wick_mark whole = {.kind = WICK_MARK_BEGIN};
    e->watched = &rec;
    if (r) {
        rec.track = wick_recorder_track(r);
        rec.rows = rows_of(r, (wick_plan *)(uintptr_t)e->plan);
        whole.name = rec.rows - 1;
        whole.flow = rec.track ? rec.track->flow : 0;
        if (rec.track) rec.track->flow = 0;
        rec.at = whole.begin = whole.end = wick_recorder_ticks(r);
        if (wick_track_put(r, rec.track, &whole)) rec.at = wick_recorder_ticks(r);
    } else {
        rec.at = wick_now_ns();
    }
    const wick_status status = execute(e, &rec);
    if (!r) return status;
    whole.kind = WICK_MARK_END;
    whole.end = wick_recorder_ticks(r);
    (void)wick_track_put(r, rec.track, &whole);
    wick_recorder_spent(r, whole.begin, whole.end, rec.marks + 2);
    wick_recorder_drain(r, rec.track, false);
    return status;
}

static wick_status execute_traced(wick_execution *e) {
    wick_trace_hook *trace = &e->plan->ctx->trace;
    wick_recorder *r = NULL;
    if (WICK_UNLIKELY(atomic_load_explicit(&trace->on, memory_order_relaxed))) {
        if (!e->profile && !e->on_output && wick_trace_pass(trace)) return execute(e, NULL);
        r = wick_trace_enter_on(trace);
    }
    if (WICK_UNLIKELY(r || e->profile || e->on_output)) {
        const bool recorded = r && wick_recorder_wants(r, trace), watched = recorded || e->profile || e->on_output;
        const wick_status status = watched ? execute_recorded(e, recorded ? r : NULL) : WICK_OK;
        if (r) wick_trace_leave(trace);
        if (watched) return status;
    }
    return execute(e, NULL);
}

wick_status wick_execute(wick_execution *e) {
    WICK_PROBE1("run__begin", (uintptr_t)e->plan);
    const wick_status status = execute_traced(e);
    WICK_PROBE2("run__end", (uintptr_t)e->plan, status);
    return status;
}
