/* eval.c: values on demand. What is pending is walked, its plan found in the cache or built, and run. */
#include "exec/exec.h"

#define BUCKETS 256

/* Plans by key, newest first for the byte budget. */
typedef struct wick_cache {
    wick_plan *buckets[BUCKETS];
    wick_plan *newest, *oldest;
    size_t bytes;
    /* lists that evals reuse */
    wick_wanted *wanted;
    wick_tensor **states; /* of wanted: the state it is the new version of, or NULL */
    size_t cap;
    wick_node **effects;
    size_t cap_effects;
    void **pointers;
    size_t cap_pointers;
    uint64_t (*slots)[2];
    size_t cap_slots;
    wick_array **arrays;
    size_t cap_arrays;
    wick_layout *layouts;
    size_t cap_layouts;
    wick_array **shown; /* of tensors that are views of data: that, as they see it */
    size_t cap_shown;
} wick_cache;

static size_t plan_bytes(const wick_plan *p) {
    return p->arena.bytes + p->n_key + (p->memory ? p->memory->arena_bytes + p->memory->scratch_bytes : 0);
}

static void unlink_plan(wick_cache *c, wick_plan *p) {
    *(p->newer ? &p->newer->older : &c->newest) = p->older;
    *(p->older ? &p->older->newer : &c->oldest) = p->newer;
    p->newer = p->older = NULL;
}
static void link_newest(wick_cache *c, wick_plan *p) {
    p->older = c->newest;
    if (c->newest) c->newest->newer = p;
    c->newest = p;
    if (!c->oldest) c->oldest = p;
}
static void drop_plan(wick_cache *c, wick_plan *p) {
    unlink_plan(c, p);
    wick_plan **at = &c->buckets[p->hash % BUCKETS];
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    c->bytes -= plan_bytes(p);
    wick_plan_release(p);
}

void wick_cache_free(wick_context *ctx) {
    wick_cache *c = ctx->cache;
    if (!c) return;
    while (c->newest) drop_plan(c, c->newest);
    wick_release(&ctx->alloc, c->wanted, c->cap * sizeof *c->wanted);
    wick_release(&ctx->alloc, c->effects, c->cap_effects * sizeof *c->effects);
    wick_release(&ctx->alloc, c->pointers, c->cap_pointers * sizeof *c->pointers);
    wick_release(&ctx->alloc, c->slots, c->cap_slots * sizeof *c->slots);
    wick_release(&ctx->alloc, c->arrays, c->cap_arrays * sizeof *c->arrays);
    wick_release(&ctx->alloc, c->layouts, c->cap_layouts * sizeof *c->layouts);
    wick_release(&ctx->alloc, c->shown, c->cap_shown * sizeof *c->shown);
    wick_release(&ctx->alloc, c, sizeof *c);
    ctx->cache = NULL;
}

static wick_status no_memory(wick_context *ctx) {
    return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory evaluating");
}

static wick_plan *find_plan(wick_cache *c, const wick_walk *w, uint64_t hash) {
    for (wick_plan *p = c->buckets[hash % BUCKETS]; p; p = p->next)
        if (p->hash == hash && p->n_key == w->n_key && !memcmp(p->key, w->key, w->n_key)) return p;
    return NULL;
}

static wick_status plan_for(wick_context *ctx, wick_cache *c, const wick_walk *w, size_t n, const wick_wanted *wanted,
                            wick_plan **out, bool *hit) {
    uint64_t hash = wick_hash(w->key, w->n_key, 0);
    wick_plan *p = find_plan(c, w, hash);
    *hit = p != NULL;
    if (p) {
        ctx->plan_hits++;
        if (p != c->newest) {
            unlink_plan(c, p);
            link_newest(c, p);
        }
        *out = p;
        return WICK_OK;
    }
    if (!wick_grow(&ctx->alloc, (void **)&c->layouts, &c->cap_layouts, w->n_leaves + 1, sizeof *c->layouts))
        return no_memory(ctx);
    for (size_t i = 0; i < w->n_leaves; i++) {
        c->layouts[i] = w->leaves[i]->array->layout;
        c->layouts[i].offset = 0; /* pointers are bound at the first element */
    }
    /* Planning walks too: what was walked is copied before that. */
    WICK_TRY(wick_plan_build(ctx, w, n, wanted, c->layouts, &(wick_pass_choice){.required_only = ctx->options.eager},
                             &(wick_planning){0}, NULL, &p));
    p->key = wick_alloc(&ctx->alloc, w->n_key);
    p->n_key = p->key ? w->n_key : 0;
    p->memory = wick_memory_new(p, wick_pool_threads(ctx->pool));
    if (!p->key || !p->memory) {
        wick_plan_release(p);
        return no_memory(ctx);
    }
    memcpy(p->key, w->key, w->n_key);
    p->hash = hash;
    p->next = c->buckets[hash % BUCKETS];
    c->buckets[hash % BUCKETS] = p;
    link_newest(c, p);
    c->bytes += plan_bytes(p);
    while (c->bytes > ctx->options.plan_cache_bytes && c->oldest != p) drop_plan(c, c->oldest);
    *out = p;
    return WICK_OK;
}

/* States that the run assigns are its own, those it reads are shared. false: one is in use; then none stays locked. */
static bool lock_states(wick_context *ctx, const wick_walk *w, bool lock) {
    const wick_frame *frame = ctx->frame;
    size_t leaves = lock ? 0 : w->n_leaves, effects = lock ? 0 : frame->n_effects;
    for (; lock && leaves < w->n_leaves; leaves++)
        if (w->leaves[leaves]->node->cell && !wick_state_lock(w->leaves[leaves]->node->cell, false)) break;
    for (; lock && leaves == w->n_leaves && effects < frame->n_effects; effects++) {
        const wick_effect *e = &frame->effects[effects];
        if (e->state && e->state->value == &e->node->out[0] && !wick_state_lock(e->state, true)) break;
    }
    if (lock && leaves == w->n_leaves && effects == frame->n_effects) return true;
    while (effects-- > 0) {
        const wick_effect *e = &frame->effects[effects];
        if (e->state && e->state->value == &e->node->out[0]) wick_state_unlock(e->state, true);
    }
    while (leaves-- > 0)
        if (w->leaves[leaves]->node->cell) wick_state_unlock(w->leaves[leaves]->node->cell, false);
    return false;
}

static wick_status run_plan(wick_context *ctx, wick_cache *c, wick_plan *p, const wick_walk *w, size_t n,
                            const wick_wanted *wanted) {
    if (!wick_grow(&ctx->alloc, (void **)&c->pointers, &c->cap_pointers, w->n_leaves + n + 1, sizeof *c->pointers) ||
        !wick_grow(&ctx->alloc, (void **)&c->slots, &c->cap_slots, w->n_slots + 1, sizeof *c->slots) ||
        !wick_grow(&ctx->alloc, (void **)&c->arrays, &c->cap_arrays, n + 1, sizeof *c->arrays))
        return no_memory(ctx);
    void **leaves = c->pointers, **outputs = c->pointers + w->n_leaves;
    for (size_t i = 0; i < w->n_leaves; i++) leaves[i] = wick_array_data(w->leaves[i]->array, &w->leaves[i]->type);
    for (size_t i = 0; i < w->n_slots; i++) memcpy(c->slots[i], w->slots[i]->slot, sizeof *c->slots);
    memset(c->arrays, 0, n * sizeof *c->arrays);
    wick_status status = WICK_OK;
    for (size_t i = 0; i < n && status == WICK_OK; i++) {
        if (p->results[i].leaf >= 0) continue;
        if (ctx->uses) wick_enter(wanted[i].value->node->site); /* memory is its, and not this call's */
        c->arrays[i] = wick_array_contiguous(ctx, &wanted[i].value->type);
        if (ctx->uses) wick_leave();
        if (!c->arrays[i])
            status = wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory for %zu bytes of result",
                                  wick_type_bytes(&wanted[i].value->type));
        else
            outputs[i] = c->arrays[i]->storage->data;
    }
    if (status == WICK_OK) {
        wick_execution e = {.plan = p,
                            .walk = w,
                            .memory = p->memory,
                            .pool = ctx->pool,
                            .leaves = leaves,
                            .outputs = outputs,
                            .slots = c->slots,
                            .msg = &ctx->msg,
                            .deadline = ctx->watch.deadline};
        status = wick_execute(&e);
    }
    if (status != WICK_OK)
        for (size_t i = 0; i < n; i++) wick_array_unref(c->arrays[i]);
    return status;
}

static void settle_node(wick_context *ctx, wick_node *node) {
    for (int k = 0; k < node->n_out; k++)
        if (!node->out[k].array && (node->out[k].handles || node->out[k].readers)) return;
    wick_node_evaluated(ctx, node);
}

static void commit(wick_cache *c, const wick_plan *p, const wick_walk *w, size_t n, const wick_wanted *wanted) {
    for (size_t i = 0; i < n; i++) {
        wick_value *v = wanted[i].value;
        /* the leaf's memory holds the new value now; nobody is left who wants the old one */
        if (p->results[i].leaf >= 0) {
            wick_value *leaf = w->leaves[p->results[i].leaf];
            c->arrays[i] = leaf->array;
            leaf->array = NULL;
        }
        if (v->array) /* the same value twice */
            wick_array_unref(c->arrays[i]);
        else
            v->array = c->arrays[i];
        /* What was assigned is the state's value: whoever holds it shares the memory, until the state moves on. */
        wick_value *assigned = v->node->op == &wick_op_assign ? v->node->in[1] : v;
        if (!assigned->array && (assigned->handles || assigned->readers > 1))
            assigned->array = wick_array_ref(v->array);
    }
}

/* What was computed needs its inputs no more. Nodes may go here: nothing of the walk is looked at after this. */
static void settle(wick_context *ctx, size_t n, const wick_wanted *wanted) {
    for (size_t i = 0; i < n; i++) {
        settle_node(ctx, wanted[i].value->node);
        if (wanted[i].value->node->op == &wick_op_assign && wanted[i].value->node->in[1]->array)
            settle_node(ctx, wanted[i].value->node->in[1]->node);
    }
    for (size_t i = 0; i < n; i++)
        if (wanted[i].value->node->op == &wick_op_assign && wanted[i].value->node->flags & WICK_NODE_EVALUATED)
            wick_node_forget(ctx, wanted[i].value->node); /* a state has no history */
}

static bool want(wick_context *ctx, wick_cache *c, size_t *n, wick_value *v, wick_value *leaf) {
    if (!wick_grow(&ctx->alloc, (void **)&c->wanted, &c->cap, *n + 1, sizeof *c->wanted)) return false;
    c->wanted[(*n)++] = (wick_wanted){v, leaf};
    return true;
}

/* What an effect's state held before the first of its pending assignments; NULL when that cannot be taken over. */
static wick_value *reusable(const wick_frame *frame, const wick_tensor *state) {
    for (size_t i = 0; i < frame->n_effects; i++) {
        if (frame->effects[i].state != state) continue;
        wick_value *old = frame->effects[i].node->in[0];
        bool sole = old->array && !old->handles && wick_array_is_unique(old->array) && !old->array->layout.offset &&
                    wick_layout_is_contiguous(&old->array->layout, &old->type);
        return sole ? old : NULL;
    }
    return NULL;
}

/* A view of a value in memory is that memory: no plan, no copy. *out stays NULL when strides cannot say it, or the base
 * is pending. */
static wick_status show(wick_context *ctx, const wick_value *v, wick_array **out) {
    enum { DEPTH = 64 };
    wick_node *chain[DEPTH];
    int depth = 0;
    const wick_value *base = v;
    while (!base->array && base->node->op->flags & WICK_OP_VIEW && depth < DEPTH) {
        chain[depth++] = base->node;
        base = base->node->in[0];
    }
    if (!base->array) return WICK_OK;
    wick_layout layout = base->array->layout;
    for (int i = depth; i-- > 0;) {
        wick_layout in = layout;
        if (!chain[i]->op->view(chain[i], &in, &layout)) return WICK_OK;
    }
    atomic_fetch_add_explicit(&base->array->storage->refs, 1, memory_order_relaxed);
    *out = wick_array_new(ctx, base->array->storage, &layout);
    return *out ? WICK_OK : no_memory(ctx);
}

/* Have values that gradients go through been evaluated since those were recorded? *walked: the walk has to be made
 * again. */
static wick_status check_gradients(wick_context *ctx, const wick_walk *w, bool *walked) {
    for (size_t i = 0; i < w->n_nodes; i++)
        if (w->nodes[i]->op == &wick_op_grad) WICK_TRY(wick_grad_recheck(ctx, w->nodes[i], walked));
    return WICK_OK;
}

/* They would fail again: states go back to what they were, and the message says so. */
static void drop_effects(wick_context *ctx, wick_frame *frame) {
    wick_msg_prefix(&ctx->msg, "%zu pending effects dropped: ", frame->n_effects);
    wick_frame_revert(ctx, frame);
}

/* Effects, and tensors that are no views of data. */
static wick_status compute(wick_context *ctx, wick_cache *c, int n_tensors, wick_tensor *const *tensors,
                           wick_eval_info *info) {
    wick_frame *frame = ctx->frame;
    size_t n = 0, n_effects = 0;
    if (!wick_grow(&ctx->alloc, (void **)&c->effects, &c->cap_effects, frame->n_effects + 1, sizeof *c->effects))
        return no_memory(ctx);
    for (size_t i = 0; i < frame->n_effects; i++) {
        wick_effect *e = &frame->effects[i];
        if (!e->state)
            c->effects[n_effects++] = e->node;
        else if (e->state->value == &e->node->out[0] && !e->state->value->array &&
                 !want(ctx, c, &n, e->state->value, reusable(frame, e->state))) /* the last version */
            return no_memory(ctx);
    }
    size_t n_states = n;
    for (int i = 0; i < n_tensors; i++) {
        wick_value *v = tensors[i]->value;
        if (v->array || c->shown[i]) continue;
        bool known = false;
        wick_node *node = v->node;
        for (size_t k = 0; node->op == &wick_op_assign && k < n_states; k++) known |= c->wanted[k].value == v;
        if (known) continue;
        if (node->n_out == 1) {
            if (!want(ctx, c, &n, v, NULL)) return no_memory(ctx);
            continue;
        }
        for (int k = 0; k < node->n_out; k++) { /* results of one node are computed together, once */
            wick_value *other = &node->out[k];
            if (other->array || (other != v && !other->handles)) continue;
            bool listed = false;
            for (size_t j = n > 256 ? n - 256 : 0; j < n; j++) listed |= c->wanted[j].value == other;
            if (!listed && !want(ctx, c, &n, other, NULL)) return no_memory(ctx);
        }
    }
    if (info) info->effects = (int)frame->n_effects;
    if (!n && !n_effects) return WICK_OK;

    wick_walk *w = ctx->reached;
    wick_plan *p = NULL;
    bool hit = false, walked = false;
    wick_recorder *recorder = wick_trace_enter(&ctx->trace);
    const uint64_t begin = recorder ? wick_recorder_ticks(recorder) : 0;
    if (recorder) wick_trace_leave(&ctx->trace); /* this thread alone ends it */
    WICK_TRY(wick_walk_run(ctx, w, n, c->wanted, n_effects, c->effects, ctx->options.eager));
    wick_status status = check_gradients(ctx, w, &walked);
    if (status == WICK_ERR_INVALID && frame->n_effects) { /* of an effect, or only of a tensor? */
        WICK_TRY(wick_walk_run(ctx, w, n_states, c->wanted, n_effects, c->effects, ctx->options.eager));
        if (check_gradients(ctx, w, &walked) == WICK_ERR_INVALID) drop_effects(ctx, frame);
    }
    if (status != WICK_OK) return status;
    if (walked) WICK_TRY(wick_walk_run(ctx, w, n, c->wanted, n_effects, c->effects, ctx->options.eager));
    for (size_t i = 0; i < w->n_leaves; i++)
        if (!w->leaves[i]->array)
            return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                                "a tensor that depends on the input of a compiled function was used outside of it");
    WICK_TRY(plan_for(ctx, c, w, n, c->wanted, &p, &hit));
    if (recorder) wick_recorder_span(recorder, hit ? WICK_SPAN_RECORD : WICK_SPAN_COMPILE, begin, 0);
    if (info) info->plan_hit = hit;
    ctx->evals++;
    if (!lock_states(ctx, w, true)) return wick_msg_set(&ctx->msg, WICK_ERR_BUSY, "a state is in use by another run");
    status = run_plan(ctx, c, p, w, n, c->wanted);
    if (status == WICK_OK) commit(c, p, w, n, c->wanted); /* before another run may look at the states */
    lock_states(ctx, w, false);
    if (status == WICK_OK) {
        settle(ctx, n, c->wanted);
        wick_frame_clear(ctx, frame);
    } else if (frame->n_effects && (status == WICK_ERR_INDEX || status == WICK_ERR_NOT_FINITE)) {
        drop_effects(ctx, frame);
    }
    return status;
}

static wick_status evaluate(wick_context *ctx, wick_cache *c, int n, wick_tensor *const *tensors,
                            wick_eval_info *info) {
    ctx->recorded_at_eval = ctx->nodes_recorded;
    ctx->segments = 0; /* a loop marks the same again: its plan is found */
    if (!wick_grow(&ctx->alloc, (void **)&c->shown, &c->cap_shown, (size_t)n + 1, sizeof *c->shown))
        return no_memory(ctx);
    memset(c->shown, 0, (size_t)n * sizeof *c->shown);
    /* Views of data first: the memory that they share from now on is nobody's to overwrite. But gradients may go
     * through them. */
    wick_status status = WICK_OK;
    for (int i = 0; i < n && status == WICK_OK; i++)
        if (!tensors[i]->value->array) status = show(ctx, tensors[i]->value, &c->shown[i]);
    if (status == WICK_OK) status = compute(ctx, c, n, tensors, info);
    for (int i = 0; i < n; i++) {
        wick_value *v = tensors[i]->value;
        if (!c->shown[i]) continue;
        if (v->array) { /* twice among the tensors */
            wick_array_unref(c->shown[i]);
            continue;
        }
        v->array = c->shown[i];
        wick_node_evaluated(ctx, v->node);
    }
    return status;
}

wick_status wick_eval(wick_context *ctx, int n, wick_tensor *const *tensors, wick_eval_info *info) {
    if (n > 0 && !tensors) return wick_context_fail(ctx, WICK_ERR_INVALID, "eval: tensors is NULL");
    if (info) *info = (wick_eval_info){0};
    for (int i = 0; i < n; i++)
        if (!tensors[i] || tensors[i]->error) return wick_fail_poison(ctx, tensors[i]);
    if (ctx->frame->trace || ctx->target)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "a value was asked for inside a function that is being compiled");
    if (ctx->evaluating)
        return wick_msg_set(
            &ctx->msg, WICK_ERR_INVALID,
            "a value was asked for while the context is evaluating: in a tap, or in its cancel function");
    if (!ctx->cache && !(ctx->cache = wick_calloc(&ctx->alloc, sizeof *ctx->cache))) return no_memory(ctx);
    const wick_watch was = wick_context_watch(ctx, 0);
    ctx->evaluating = true;
    wick_status status = evaluate(ctx, ctx->cache, n, tensors, info);
    ctx->evaluating = false;
    wick_context_unwatch(ctx, &was);
    return status;
}

/* Every value that has a name. What is pending after that is only their history, which is forgotten. */
wick_status wick_eval_pending(wick_context *ctx) {
    size_t n = 0, cap = 0;
    wick_tensor **named = NULL;
    for (const wick_scope *s = ctx->scope; s; s = s->parent)
        for (wick_tensor *t = s->first; t; t = t->next) {
            if (!t->value || t->value->array) continue;
            if (n < (size_t)INT32_MAX && wick_grow(&ctx->alloc, (void **)&named, &cap, n + 1, sizeof *named))
                named[n++] = t;
        }
    wick_status status = wick_eval(ctx, (int)n, named, NULL);
    for (size_t i = 0; i < n && status == WICK_OK; i++)
        if (named[i]->value->node->flags & WICK_NODE_EVALUATED) wick_node_forget(ctx, named[i]->value->node);
    wick_release(&ctx->alloc, named, cap * sizeof *named);
    return status;
}

wick_context_stats wick_context_get_stats(const wick_context *ctx) {
    return (wick_context_stats){.nodes_recorded = ctx->nodes_recorded,
                                .plans_built = ctx->plans_built,
                                .plan_hits = ctx->plan_hits,
                                .evals = ctx->evals,
                                .pending_nodes = ctx->pending,
                                .plan_cache_bytes = ctx->cache ? ctx->cache->bytes : 0,
                                .tensor_bytes = atomic_load(&((wick_context *)(uintptr_t)ctx)->tensor_bytes)};
}

/* ---- one tensor's value ------------------------------------------------------------------------------------------ */

static wick_status ready(wick_tensor *x, wick_context **ctx) {
    if (!x) return WICK_ERR_INVALID;
    *ctx = x->ctx;
    if (x->error) return wick_fail_poison(x->ctx, x);
    return x->value->array ? WICK_OK : wick_eval(x->ctx, 1, &x, NULL);
}

static void copy_out(const wick_value *v, wick_dtype dtype, void *dst) {
    wick_copy c;
    memset(&c, 0, sizeof c);
    wick_layout dense;
    wick_layout_contiguous(&dense, &v->type);
    c.rank = v->type.rank;
    c.src = (wick_dtype)v->type.dtype;
    c.dst = dtype;
    memcpy(c.dims, v->type.dims, sizeof c.dims);
    memcpy(c.src_strides, v->array->layout.strides, sizeof c.src_strides);
    memcpy(c.dst_strides, dense.strides, sizeof c.dst_strides);
    wick_copy_run(&c, 0, wick_copy_tasks(&c), wick_array_data(v->array, &v->type), dst);
}

wick_status wick_item(wick_tensor *x, double *value) {
    wick_context *ctx = NULL;
    WICK_TRY(ready(x, &ctx));
    if (wick_tensor_count(x) != 1)
        return wick_msg_set(&ctx->msg, WICK_ERR_SHAPE, "item: the tensor has %lld elements",
                            (long long)wick_tensor_count(x));
    copy_out(x->value, WICK_F64, value);
    return WICK_OK;
}

wick_status wick_read(wick_tensor *x, void *dst, size_t size) {
    if (x && size && !dst) return wick_context_fail(x->ctx, WICK_ERR_INVALID, "read: dst is NULL");
    wick_context *ctx = NULL;
    WICK_TRY(ready(x, &ctx));
    size_t have = wick_type_bytes(&x->value->type);
    if (size != have)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "read: the tensor has %zu bytes, the buffer %zu", have, size);
    copy_out(x->value, wick_tensor_dtype(x), dst);
    return WICK_OK;
}

wick_status wick_data(wick_tensor *x, const void **data) {
    if (!data) return x ? wick_context_fail(x->ctx, WICK_ERR_INVALID, "data: data is NULL") : WICK_ERR_INVALID;
    wick_context *ctx = NULL;
    *data = NULL;
    WICK_TRY(ready(x, &ctx));
    wick_value *v = x->value;
    if (!wick_layout_is_contiguous(&v->array->layout, &v->type)) {
        wick_array *dense = wick_array_contiguous(ctx, &v->type);
        if (!dense) return no_memory(ctx);
        copy_out(v, wick_tensor_dtype(x), dense->storage->data);
        wick_array_unref(v->array);
        v->array = dense;
    }
    *data = wick_array_data(v->array, &v->type);
    return WICK_OK;
}

wick_status wick_write(wick_tensor *x, const void *data, size_t size) {
    if (x && size && !data) return wick_context_fail(x->ctx, WICK_ERR_INVALID, "write: data is NULL");
    wick_context *ctx = NULL;
    WICK_TRY(ready(x, &ctx));
    size_t have = wick_type_bytes(&x->value->type);
    if (size != have)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "write: the tensor has %zu bytes, the data %zu", have, size);
    if (x->value->node->cell != x)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "write: the tensor is not a state: it does not hold data of its own");
    if (!wick_state_lock(x, true)) return wick_msg_set(&ctx->msg, WICK_ERR_BUSY, "write: the state is in use by a run");
    wick_status status = wick_state_own(x, &ctx->msg);
    if (status == WICK_OK) {
        memcpy(x->value->array->storage->data, data, size);
        wick_elements_end(wick_tensor_dtype(x), x->value->array->storage->data, wick_tensor_count(x));
    }
    wick_state_unlock(x, true);
    return status;
}
