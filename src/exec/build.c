/* build.c: from what was walked to a plan: copy, passes, lowering, memory. */
#include "exec/exec.h"
#include "exec/rewrite/rewrite.h"
#include "ops/lowering/cost.h"

static wick_status note_types(wick_plan *plan) {
    plan->shown = wick_arena_zalloc(&plan->arena, (plan->n_buffers + 1) * sizeof *plan->shown);
    if (!plan->shown) return wick_msg_set(&plan->ctx->msg, WICK_ERR_NOMEM, "out of memory while planning");
    for (size_t i = 0; i < plan->graph->n; i++)
        for (int k = 0; k < plan->graph->nodes[i]->n_out; k++) {
            const wick_operand *at = &plan->operands[plan->graph->nodes[i]->out[k].id];
            if (at->type && !plan->shown[at->buffer] && wick_type_bytes(at->type) == plan->buffers[at->buffer].size)
                plan->shown[at->buffer] = at->type;
        }
    return WICK_OK;
}

/* ---- what is packed once ----------------------------------------------------------------------------------------- */

enum { KEPT_SMALL = 64 << 10 }; /* bytes of results that are kept in any case */

/* Is what the step gives worth its place? Results no larger than what they are made of, and what packs weights, whose
 * place pays for itself. */
static bool is_worth_keeping(const wick_lower *l, const wick_step *s) {
    size_t in = KEPT_SMALL, out = 0;
    for (int k = 0; k < s->n_refs; k++) *(s->refs[k].write ? &out : &in) += l->buffers[s->refs[k].buffer].size;
    return s->packs || out <= in;
}

/* The one intermediate that step s, and none other, writes; NULL: there is none. */
static const wick_ref *only_result(const wick_lower *l, const wick_step *s, const uint8_t *writers) {
    const wick_ref *one = NULL;
    for (int k = 0; k < s->n_refs; k++) {
        if (!s->refs[k].write) continue;
        if (one || l->buffers[s->refs[k].buffer].kind != WICK_BUFFER_TEMP || writers[s->refs[k].buffer] != 1)
            return NULL;
        one = &s->refs[k];
    }
    return one;
}

/* Whether b makes the same of the same as a, an earlier step; of_a and of_b: their results. written: by buffer, the
 * latest step that did; what was written after a was another thing then. */
static bool are_equal(const wick_lower *l, const wick_step *steps, int32_t at, const wick_step *b, const wick_ref *of_a,
                      const wick_ref *of_b, const int32_t *written) {
    const wick_step *a = &steps[at];
    bool equal = a->run == b->run && a->tasks == b->tasks && a->n_refs == b->n_refs && a->args_size == b->args_size &&
                 of_a - a->refs == of_b - b->refs && of_a->offset == of_b->offset &&
                 l->buffers[of_a->buffer].size == l->buffers[of_b->buffer].size;
    for (int k = 0; k < a->n_refs && equal; k++)
        equal = &a->refs[k] == of_a ||
                (a->refs[k].buffer == b->refs[k].buffer && a->refs[k].offset == b->refs[k].offset &&
                 written[a->refs[k].buffer] < at);
    return equal && (!a->args_size || !memcmp(a->args, b->args, a->args_size));
}

/* Kept steps that make the same of the same become the first of them: weights that many nodes use, as those of a
 * network that was unrolled, are packed once. Nothing jumps. */
static wick_status merge_kept(wick_plan *plan, wick_lower *l) {
    enum { NONE = -1 };
    uint8_t *writers = wick_arena_zalloc(l->temp, l->n_buffers + 1); /* by buffer, up to 2 */
    uint32_t *alias = wick_arena_alloc(l->arena, (l->n_buffers + 1) * sizeof *alias);
    /* by buffer: the latest kept step that reads it first, and the latest that wrote it; by step: the kept one before
     * that, and its new number */
    int32_t *latest = wick_arena_alloc(l->temp, 2 * (l->n_buffers + l->n_steps + 1) * sizeof *latest);
    if (!writers || !alias || !latest) return wick_msg_set(l->msg, WICK_ERR_NOMEM, "out of memory while planning");
    int32_t *written = latest + l->n_buffers, *before = written + l->n_buffers, *number = before + l->n_steps, n = 0;
    size_t n_refs = 0;
    bool some = false;
    for (uint32_t b = 0; b < l->n_buffers; b++) alias[b] = b, latest[b] = written[b] = NONE;
    for (size_t i = 0; i < l->n_steps; i++) {
        const wick_step *s = &l->steps[i];
        n_refs += (size_t)s->n_refs;
        for (int k = 0; k < s->n_refs; k++) {
            uint8_t *of = &writers[s->refs[k].buffer];
            *of = s->refs[k].write ? WICK_MIN(*of + 1, 2) : *of;
        }
        if (!s->kept || s->n_refs < 2) continue;
        int32_t *first = &latest[s->refs[s->refs[0].write].buffer];
        some |= *first != NONE;
        *first = 0;
    }
    if (!some) return WICK_OK;
    wick_step *steps = wick_arena_alloc(l->arena, l->n_steps * sizeof *steps); /* the others are for printers of code */
    wick_ref *refs = wick_arena_alloc(l->arena, n_refs * sizeof *refs);
    if (!steps || !refs) return wick_msg_set(l->msg, WICK_ERR_NOMEM, "out of memory while planning");
    for (uint32_t b = 0; b < l->n_buffers; b++) latest[b] = NONE;
    for (size_t i = 0; i < l->n_steps; i++) {
        wick_step *s = &steps[n];
        *s = l->steps[i];
        s->refs = memcpy(refs, s->refs, (size_t)s->n_refs * sizeof *refs);
        for (int k = 0; k < s->n_refs; k++) refs[k].buffer = alias[refs[k].buffer];
        number[i] = n;
        const wick_ref *of = s->kept && s->n_refs > 1 && wick_step_says_all(s) ? only_result(l, s, writers) : NULL;
        if (of) {
            int32_t *first = &latest[refs[refs[0].write].buffer], j = *first;
            while (j != NONE && !are_equal(l, steps, j, s, only_result(l, &steps[j], writers), of, written))
                j = before[j];
            if (j != NONE) {
                const uint32_t into = only_result(l, &steps[j], writers)->buffer;
                wick_buffer *gone = &l->buffers[of->buffer];
                l->buffers[into].last = WICK_MAX(l->buffers[into].last, gone->last);
                gone->first = gone->last = -1;
                alias[of->buffer] = into;
                continue;
            }
            before[n] = *first;
            *first = n;
        }
        for (int k = 0; k < s->n_refs; k++)
            if (refs[k].write) written[refs[k].buffer] = n;
        refs += s->n_refs;
        n++;
    }
    for (size_t b = 0; b < l->n_buffers; b++) {
        wick_buffer *at = &l->buffers[b];
        if (at->first < 0) continue;
        at->first = WICK_MIN(number[at->first], n - 1);
        at->last = WICK_MIN(number[at->last], n - 1);
    }
    for (size_t i = 0; i < plan->graph->n; i++)
        for (int k = 0; k < plan->graph->nodes[i]->n_out; k++) {
            wick_operand *at = &l->operands[plan->graph->nodes[i]->out[k].id];
            if (at->type) at->buffer = alias[at->buffer];
        }
    plan->same_as = alias;
    l->steps = steps;
    l->n_steps = (size_t)n;
    return WICK_OK;
}

/* Finds the kept steps: those that depend only on constants and on states that the plan does not assign, and that pack
 * weights (or make what packing needs) or have small results. They run once in a workspace, and again when such a state
 * has changed. Their results keep their place in the arena, or go to packed weights. Results that only kept steps read
 * need not: kept steps run one after the other, unless there are loops or branches. */
static wick_status keep_what_stays(wick_plan *plan, wick_lower *l, const wick_walk *w) {
    if (!w->traced) return WICK_OK;
    bool *keeps = wick_arena_zalloc(&plan->arena, plan->n_leaves + 1); /* by leaf: kept steps depend on it */
    bool *fixed = wick_arena_zalloc(l->temp, plan->n_leaves + 1);      /* by leaf: it is the same in each run */
    bool *same = wick_arena_zalloc(l->temp, l->n_steps + 1);           /* by step: it gives the same */
    /* by buffer: its value is the same; kept steps write it; steps read it that run each time; it keeps its place */
    bool *known = wick_arena_zalloc(l->temp, l->n_buffers + 1), *needed = wick_arena_zalloc(l->temp, l->n_buffers + 1),
         *run = wick_arena_zalloc(l->temp, l->n_buffers + 1), *stays = wick_arena_zalloc(l->temp, l->n_buffers + 1);
    bool jumps = false, more = true;
    if (!keeps || !fixed || !same || !known || !needed || !run || !stays)
        return wick_msg_set(&plan->ctx->msg, WICK_ERR_NOMEM, "out of memory while planning");
    for (size_t i = 0; i < plan->n_leaves; i++) {
        const wick_value *leaf = w->leaves[i];
        /* that may change at any time is nothing to share */
        fixed[i] = leaf->node->op != &wick_op_input && !(plan->packs && leaf->array && !leaf->array->storage->version);
    }
    for (int r = 0; r < l->n_results; r++)
        if (l->results[r].leaf >= 0) fixed[l->results[r].leaf] = false;
    for (size_t i = 0; i < l->n_buffers; i++) {
        const wick_buffer *b = &l->buffers[i];
        known[i] = b->kind == WICK_BUFFER_TEMP || b->kind == WICK_BUFFER_CONST ||
                   (b->kind == WICK_BUFFER_LEAF && fixed[b->index]);
    }
    for (size_t i = 0; i < l->n_steps; i++) {
        const wick_step *s = &l->steps[i];
        jumps |= s->jump != 0;
        for (int k = 0; s->tasks && k < s->n_refs; k++) same[i] |= s->refs[k].write;
    }
    if (!wick_constant_steps(l->temp, l->steps, l->n_steps, l->n_buffers, known, same))
        return wick_msg_set(&plan->ctx->msg, WICK_ERR_NOMEM, "out of memory while planning");
    while (more) {
        more = false;
        for (size_t i = l->n_steps; i-- > 0;) {
            wick_step *s = &l->steps[i];
            if (!same[i] || s->kept) continue;
            bool keep = is_worth_keeping(l, s);
            for (int k = 0; k < s->n_refs; k++) keep |= s->refs[k].write && needed[s->refs[k].buffer];
            if (!keep) continue;
            s->kept = more = true;
            for (int k = 0; k < s->n_refs; k++) {
                const wick_buffer *b = &l->buffers[s->refs[k].buffer];
                needed[s->refs[k].buffer] |= b->kind == WICK_BUFFER_TEMP;
                if (b->kind == WICK_BUFFER_LEAF) keeps[b->index] = true, plan->keeps = keeps;
            }
        }
    }
    if (!jumps) WICK_TRY(merge_kept(plan, l));
    for (size_t i = 0; i < l->n_steps; i++)
        for (int k = 0; !l->steps[i].kept && k < l->steps[i].n_refs; k++) run[l->steps[i].refs[k].buffer] = true;
    for (size_t i = 0; i < l->n_buffers; i++) {
        wick_buffer *b = &l->buffers[i];
        if (!needed[i] || !(run[i] || jumps)) continue;
        stays[i] = true;
        plan->kept_bytes += WICK_ALIGN_UP(b->size, WICK_ALIGN);
        b->first = 0;
        b->last = (int32_t)l->n_steps - 1;
    }
    return plan->packs ? wick_packed_weights_find(plan, l, stays) : WICK_OK;
}

/* How long each step will take. Those that are kept ran before; those that ride are in the time of the step that they
 * ride on. */
static wick_status predict(wick_plan *plan) {
    const wick_context *ctx = plan->ctx;
    double footprint = (double)plan->arena_bytes;
    plan->predicted_ns = wick_arena_zalloc(&plan->arena, (plan->n_steps + 1) * sizeof(double));
    if (!plan->predicted_ns) return wick_msg_set(&plan->ctx->msg, WICK_ERR_NOMEM, "out of memory while planning");
    for (size_t i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].kind != WICK_BUFFER_TEMP) footprint += (double)plan->buffers[i].size;
    for (size_t i = 0; i < plan->n_steps; i++) {
        const wick_step *s = &plan->steps[i];
        if (s->kept || s->rides) continue;
        const wick_work work = wick_step_work(&ctx->tuning, s, plan->buffers);
        plan->predicted_ns[i] =
            wick_work_ns(&ctx->tuning, &work, footprint, plan->parallel[i] ? wick_context_threads(ctx) : 1);
        plan->predicted += plan->predicted_ns[i] * (s->repeat ? s->repeat : 1);
    }
    return WICK_OK;
}

static wick_status build(wick_plan *plan, wick_arena *temp, const wick_walk *w, size_t n, const wick_wanted *wanted,
                         const wick_layout *leaf_layouts, const wick_pass_choice *passes, wick_planning *planning) {
    wick_context *ctx = plan->ctx;
    wick_msg *msg = &ctx->msg;
    plan->graph = wick_graph_from_walk(ctx, &plan->arena, w, n, wanted);
    if (!plan->graph) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory while planning");
    plan->graph->planning = planning;
    WICK_TRY(wick_run_passes(plan->graph, passes, msg));
    /* Op by op, states are written by copies at the very end: a check after any op can still stop the run. */
    for (size_t i = 0; passes->required_only && i < plan->graph->n; i++) plan->graph->nodes[i]->phase = 0;
    wick_lower l = {.ctx = ctx,
                    .planning = planning,
                    .graph = plan->graph,
                    .arena = &plan->arena,
                    .temp = temp,
                    .msg = msg,
                    .leaves = w->leaves,
                    .keeps = !passes->required_only && w->traced};
    WICK_TRY(wick_lower_graph(&l, leaf_layouts));
    /* compiled functions may be printed as code, too */
    WICK_TRY(wick_rewrite_steps(&l, !passes->required_only, w->traced ? &plan->lowered : NULL));
    plan->n_lowered = l.n_steps;
    l.node = NULL;
    if (!passes->required_only) WICK_TRY(keep_what_stays(plan, &l, w));
    WICK_TRY(wick_plan_memory(&l, &plan->arena_bytes, &plan->live_bytes));
    plan->buffers = l.buffers;
    plan->n_buffers = l.n_buffers;
    plan->steps = l.steps;
    plan->n_steps = l.n_steps;
    plan->operands = l.operands;
    plan->results = l.results;
    plan->n_results = l.n_results;
    plan->recomputed = plan->graph->recomputed;
    plan->quantised = plan->graph->quantised;
    plan->recomputed_flops = plan->graph->recomputed_flops;
    plan->parallel = wick_arena_zalloc(&plan->arena, plan->n_steps + 1);
    if (!plan->parallel) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory while planning");
    for (size_t i = 0; i < plan->n_steps; i++) {
        const wick_step *s = &plan->steps[i];
        /* Little work runs on the calling thread: waking others costs about as much. It changes who computes, never
         * what. */
        plan->parallel[i] = s->tasks > 1 && (s->flops > (double)ctx->tuning.parallel_flops ||
                                             s->bytes > (double)ctx->tuning.parallel_bytes);
        plan->scratch = WICK_MAX(plan->scratch, WICK_ALIGN_UP(plan->steps[i].scratch, WICK_ALIGN));
        const double times = plan->steps[i].repeat ? plan->steps[i].repeat : 1;
        plan->flops += times * plan->steps[i].flops;
        plan->bytes += times * plan->steps[i].bytes;
    }
    WICK_TRY(predict(plan));
    return note_types(plan);
}

static wick_status build_once(wick_context *ctx, const wick_walk *w, size_t n, const wick_wanted *wanted,
                              const wick_layout *leaf_layouts, const wick_pass_choice *passes, wick_planning *planning,
                              wick_packed_weights *packs, wick_plan **out) {
    *out = NULL;
    wick_plan *plan = wick_calloc(&ctx->alloc, sizeof *plan);
    if (!plan) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory while planning");
    plan->ctx = ctx;
    plan->alloc = ctx->alloc;
    plan->packs = packs;
    plan->n_leaves = w->n_leaves;
    plan->n_slots = w->n_slots;
    wick_arena_init(&plan->arena, &plan->alloc, 16 * 1024);
    memset(planning->decisions, 0, sizeof planning->decisions);
    wick_arena temp;
    wick_arena_init(&temp, &plan->alloc, 16 * 1024);
    wick_status status = build(plan, &temp, w, n, wanted, leaf_layouts, passes, planning);
    wick_arena_free(&temp);
    ctx->target = NULL; /* also after a failure in the middle of a pass */
    if (status != WICK_OK) {
        wick_plan_release(plan);
        return status;
    }
    plan->graph->planning = NULL;
    ctx->plans_built++;
    *out = plan;
    return WICK_OK;
}

/* ---- a budget of memory ------------------------------------------------------------------------------------------ */

/* plans made for a budget; of these, after the first that fits; one after the other no better than the best */
enum { TRIES = 24, REFINED = 3, STUCK = 8 };

/* The checkpoint pass aims at bytes of a model; what comes of it is known when the plan is made. Tries targets until
 * the arena fits, then larger ones for less to be made again. On success *target is the best; 0: nothing has to be. */
static wick_status find_target(wick_context *ctx, const wick_walk *w, size_t n, const wick_wanted *wanted,
                               const wick_layout *leaf_layouts, const wick_pass_choice *passes,
                               const wick_planning *planning, wick_packed_weights *packs, size_t *target) {
    wick_planning tried = *planning;
    tried.options = NULL; /* who listens hears of the plan that it becomes, not of tries */
    const size_t budget = passes->memory_budget;
    size_t least = SIZE_MAX, fails = 0, now = 0, fits = 0;
    /* by which the graph is copied from what was walked; passes count on, on the copies */
    const uint32_t walk = ctx->walk;
    double flops = 0;
    int refined = 0, stuck = 0;
    for (int i = 0; i < TRIES && refined < REFINED && stuck < STUCK; i++) {
        wick_plan *plan;
        tried.live_target = now;
        const wick_status status = build_once(ctx, w, n, wanted, leaf_layouts, passes, &tried, packs, &plan);
        ctx->walk = walk;
        WICK_TRY(status);
        const size_t arena = plan->arena_bytes;
        const double more = plan->recomputed_flops;
        wick_plan_release(plan);
        if (arena <= budget && !now) return *target = 0, WICK_OK;
        stuck = arena < least ? 0 : stuck + 1;
        least = WICK_MIN(least, arena);
        if (arena <= budget) {
            if (!fits || more < flops) fits = now, flops = more;
        } else {
            fails = now ? now : (size_t)((double)budget * 2);
        }
        if (fits) {
            refined++, stuck = 0;
            now = fits + (fails > fits ? (fails - fits) / 2 : 0);
        } else {
            const double ratio = (double)budget / (double)arena;
            now = now ? (size_t)((double)now * (ratio < 0.93 ? ratio : 0.93)) : budget;
        }
        if (!now) now = 1;
        if (fits && now == fits) break;
    }
    *target = fits;
    return fits ? WICK_OK
                : wick_msg_set(&ctx->msg, WICK_ERR_NOMEM,
                               "compile: the intermediates need %zu bytes at least, with what can be made again made "
                               "again: more than the memory_budget of %zu",
                               least, budget);
}

wick_status wick_plan_build(wick_context *ctx, const wick_walk *w, size_t n, const wick_wanted *wanted,
                            const wick_layout *leaf_layouts, const wick_pass_choice *passes, wick_planning *planning,
                            wick_packed_weights *packs, wick_plan **out) {
    *out = NULL;
    planning->live_target = 0;
    const wick_tag was = wick_tag_set(WICK_TAG_PLANS);
    wick_status status = WICK_OK;
    if (passes->memory_budget)
        status = find_target(ctx, w, n, wanted, leaf_layouts, passes, planning, packs, &planning->live_target);
    if (status == WICK_OK) status = build_once(ctx, w, n, wanted, leaf_layouts, passes, planning, packs, out);
    wick_tag_set(was);
    return status;
}

void wick_plan_release(wick_plan *plan) {
    if (!plan) return;
    wick_memory_free(plan, &plan->memory);
    wick_packed_weights_leave(plan);
    for (size_t i = 0; plan->bindings && i < plan->n_leaves; i++) {
        wick_tensor_free(&plan->bindings[i].state);
        wick_array_unref(plan->bindings[i].array);
    }
    wick_release(&plan->alloc, plan->key, plan->n_key);
    wick_arena_free(&plan->arena);
    wick_allocator alloc = plan->alloc;
    wick_release(&alloc, plan, sizeof *plan);
}
