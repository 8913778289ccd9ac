/* compile.c: functions become plans, and workspaces run them. */
#include "exec/exec.h"

/* Random nodes of compiled functions are numbered from here, apart from those of the context's own expressions. */
#define TRACE_STREAMS ((uint64_t)1 << 32)

/* ---- compiling --------------------------------------------------------------------------------------------------- */

typedef struct tracer {
    wick_context *ctx;
    wick_scope *scope;
    wick_frame frame;
    wick_wanted *wanted;
    wick_node **effects;
    wick_tensor **tensors; /* inputs, then outputs */
    size_t n_wanted, n_effects, bytes;
} tracer;

static wick_status trace(tracer *t, wick_function fn, void *user, int n_in, const wick_spec *in, int n_out) {
    wick_context *ctx = t->ctx;
    for (int i = 0; i < n_in; i++) {
        wick_input_attr attr;
        memset(&attr, 0, sizeof attr);
        if (!wick_type_make(&attr.type, in[i].dtype, in[i].rank, in[i].dims))
            return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "compile: input %d (%s) has an impossible dtype or shape",
                                i, in[i].name ? in[i].name : "");
        attr.index = i;
        t->tensors[i] = wick_record(ctx, &wick_op_input, 0, NULL, &attr, sizeof attr);
        if (t->tensors[i]->error) return wick_fail_poison(ctx, t->tensors[i]);
    }
    wick_tensor **out = t->tensors + n_in;
    wick_context_clear_error(ctx);
    wick_status status = fn(ctx, t->tensors, out, user);
    if (status != WICK_OK)
        return ctx->msg.status
                   ? status
                   : wick_msg_set(&ctx->msg, status, "compile: the function failed (%s)", wick_status_name(status));
    for (int i = 0; i < n_out; i++) {
        if (!out[i]) return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "compile: the function did not set output %d", i);
        if (out[i]->error) return wick_fail_poison(ctx, out[i]);
    }
    return WICK_OK;
}

/* The outputs, then the last version of every state that was assigned. */
static wick_status collect(tracer *t, int n_in, int n_out) {
    wick_context *ctx = t->ctx;
    t->bytes = ((size_t)n_out + t->frame.n_effects + 1) * (sizeof *t->wanted + sizeof *t->effects);
    t->wanted = wick_alloc(&ctx->alloc, t->bytes);
    if (!t->wanted) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory compiling");
    t->effects = (wick_node **)(t->wanted + n_out + t->frame.n_effects + 1);
    for (int i = 0; i < n_out; i++) t->wanted[t->n_wanted++] = (wick_wanted){t->tensors[n_in + i]->value, NULL};
    for (size_t i = 0; i < t->frame.n_effects; i++) {
        wick_effect *e = &t->frame.effects[i];
        if (!e->state) {
            t->effects[t->n_effects++] = e->node;
            continue;
        }
        if (e->state->value != &e->node->out[0]) continue;
        wick_value *old = e->node->in[0]; /* back to the version before the function */
        for (size_t k = i; k-- > 0;)
            if (t->frame.effects[k].state == e->state) old = t->frame.effects[k].node->in[0];
        t->wanted[t->n_wanted++] = (wick_wanted){e->state->value, old};
    }
    return WICK_OK;
}

/* Who holds leaf v now: a state that outlives the trace, or NULL. */
static wick_tensor *state_of_leaf(const tracer *t, const wick_value *v) {
    wick_tensor *cell = v->node->cell;
    for (size_t i = 0; i < t->frame.n_effects && !cell; i++)
        if (t->frame.effects[i].state && t->frame.effects[i].node->in[0] == v) cell = t->frame.effects[i].state;
    bool local = cell && cell->scope == t->scope && cell->refs == 1;
    return local ? NULL : cell;
}

static wick_spec spec_of(const wick_type *type) {
    wick_spec spec = {.dtype = (wick_dtype)type->dtype, .rank = type->rank};
    memcpy(spec.dims, type->dims, sizeof type->dims);
    return spec;
}

static wick_status bind(tracer *t, wick_plan *p, const wick_walk *w) {
    p->bindings = wick_arena_zalloc(&p->arena, (w->n_leaves + 1) * sizeof *p->bindings);
    p->slots = wick_arena_zalloc(&p->arena, (w->n_slots + 1) * sizeof *p->slots);
    p->slot_is_random = wick_arena_zalloc(&p->arena, w->n_slots + 1);
    p->out_specs = wick_arena_zalloc(&p->arena, ((size_t)p->n_out + 1) * sizeof *p->out_specs);
    if (!p->bindings || !p->slots || !p->slot_is_random || !p->out_specs)
        return wick_msg_set(&t->ctx->msg, WICK_ERR_NOMEM, "out of memory compiling");
    for (size_t i = 0; i < w->n_leaves; i++) {
        wick_value *v = w->leaves[i];
        wick_binding *b = &p->bindings[i];
        b->input = -1;
        b->type = v->type;
        if (v->node->op == &wick_op_input) {
            b->input = (int32_t)((const wick_input_attr *)v->node->attr)->index;
            if (b->input >= p->n_in || t->tensors[b->input]->value != v)
                return wick_msg_set(
                    &t->ctx->msg, WICK_ERR_INVALID,
                    "compile: a tensor that depends on the input of another compiled function was used");
        } else if ((b->state = wick_retain(state_of_leaf(t, v))) == NULL)
            b->array = wick_array_ref(v->array);
    }
    for (int r = p->n_out; r < p->n_results; r++)
        if (p->results[r].leaf >= 0) p->bindings[p->results[r].leaf].assigned = true;
    for (size_t i = 0; i < w->n_slots; i++) {
        memcpy(p->slots[i], w->slots[i]->slot, sizeof *p->slots);
        p->slot_is_random[i] = w->slots[i]->op->flags & WICK_OP_RANDOM;
    }
    for (int i = 0; i < p->n_out; i++) p->out_specs[i] = spec_of(&p->graph->outputs[i]->type);
    return WICK_OK;
}

static wick_status compile(tracer *t, int n_in, int n_out, const wick_compile_options *options,
                           const wick_pass_choice *passes, wick_packed_weights *packs, wick_plan **out) {
    wick_context *ctx = t->ctx;
    WICK_TRY(collect(t, n_in, n_out));
    wick_walk *w = ctx->reached;
    WICK_TRY(wick_walk_run(ctx, w, t->n_wanted, t->wanted, t->n_effects, t->effects, WICK_WALK_TRACED));
    size_t bytes = (w->n_leaves + t->n_wanted + 1) * sizeof(wick_layout);
    wick_layout *layouts = wick_calloc(&ctx->alloc, bytes);
    if (!layouts) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory compiling");
    for (size_t i = 0; i < w->n_leaves; i++) {
        wick_value *v = w->leaves[i];
        wick_layout_contiguous(&layouts[i], &v->type);
        if (v->array && !state_of_leaf(t, v)) layouts[i] = v->array->layout;
        layouts[i].offset = 0;
    }
    wick_planning planning = {.options = options};
    if (options && options->precision != WICK_PRECISION_F32)
        planning.precision = options->precision == WICK_PRECISION_F16 ? WICK_F16 : WICK_BF16;
    wick_status status = wick_precision_wide(options ? options->wide : NULL, &planning.precision_wide, &ctx->msg);
    if (status == WICK_OK && planning.precision_wide && !planning.precision)
        status = wick_msg_set(
            &ctx->msg, WICK_ERR_INVALID,
            "mixed precision narrows no op here: ops that stay wide need a precision of bf16 or f16 beside them");
    if (status == WICK_OK)
        status = wick_plan_build(ctx, w, t->n_wanted, t->wanted, layouts, passes, &planning, packs, out);
    if (status == WICK_OK && (status = wick_check_left_out(&planning, &ctx->msg)) != WICK_OK) {
        wick_plan_release(*out);
        *out = NULL;
    }
    wick_release(&ctx->alloc, layouts, bytes);
    WICK_TRY(status);
    wick_plan *p = *out;
    p->n_in = n_in;
    p->n_out = n_out;
    p->check_finite = options && options->check_finite;
    status = bind(t, p, w);
    if (status == WICK_OK) status = wick_plan_note_outputs(p);
    if (status == WICK_OK && (status = wick_packed_weights_join(p)) != WICK_OK)
        wick_msg_set(&ctx->msg, status, "out of memory compiling");
    if (status != WICK_OK) {
        wick_plan_release(p);
        *out = NULL;
    }
    return status;
}

/* Records fn, as its own frame, and hands what it set to `then`. */
static wick_status with_trace(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in, int n_out,
                              wick_status (*then)(tracer *t, int n_in, int n_out, void *arg), void *arg) {
    if (!fn || n_in < 0 || n_out < 0 || (n_in && !in))
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "compile: needs a function and specs of its inputs");
    if (ctx->frame->trace)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "compile: called inside a function that is being compiled");
    WICK_TRY(wick_eval(ctx, 0, NULL, NULL)); /* states have their newest values */
    const wick_watch was = wick_context_watch(ctx, 0);
    tracer t = {.ctx = ctx, .frame = {.trace = true, .next_stream = TRACE_STREAMS}};
    size_t bytes = ((size_t)n_in + (size_t)n_out + 1) * sizeof *t.tensors;
    t.tensors = wick_calloc(&ctx->alloc, bytes);
    t.scope = t.tensors ? wick_scope_open(ctx) : NULL;
    wick_status status = t.scope ? WICK_OK : wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory compiling");
    if (status == WICK_OK) {
        t.frame.parent = ctx->frame;
        ctx->frame = &t.frame;
        status = trace(&t, fn, user, n_in, in, n_out);
        if (status == WICK_OK) status = then(&t, n_in, n_out, arg);
        ctx->frame = t.frame.parent;
        wick_frame_revert(ctx, &t.frame);
        wick_scope_close(&t.scope);
    }
    wick_release(&ctx->alloc, t.wanted, t.bytes);
    wick_release(&ctx->alloc, t.frame.effects, t.frame.cap_effects * sizeof *t.frame.effects);
    wick_release(&ctx->alloc, t.tensors, bytes);
    wick_context_unwatch(ctx, &was);
    return status;
}

typedef struct compilation {
    const wick_compile_options *options;
    const wick_pass_choice *passes;
    wick_packed_weights *packs;
    wick_plan **out;
} compilation;
static wick_status then_compile(tracer *t, int n_in, int n_out, void *arg) {
    const compilation *c = arg;
    return compile(t, n_in, n_out, c->options, c->passes, c->packs, c->out);
}

wick_status wick_compile(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in, int n_out,
                         const wick_compile_options *options, wick_plan **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "compile: out is NULL");
    return wick_compile_among(ctx, fn, user, n_in, in, n_out, options, NULL, out);
}

wick_status wick_compile_among(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in,
                               int n_out, const wick_compile_options *options, wick_packed_weights *packs,
                               wick_plan **out) {
    *out = NULL;
    if (options && options->check_finite && !options->no_passes)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "compile: check_finite needs no_passes, since fused ops cannot be told apart");
    wick_pass_choice passes = {.required_only = (options && options->no_passes) || ctx->options.eager,
                               .memory_budget = options ? options->memory_budget : 0};
    if (passes.memory_budget && passes.required_only)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "compile: memory_budget needs the passes that no_passes (or an eager context) leaves out");
    if (options && (unsigned)options->precision > WICK_PRECISION_F16)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "compile: no such precision");
    if (options) WICK_TRY(wick_passes_without(options->without, &passes.without, &ctx->msg));
    wick_recorder *recorder = wick_trace_enter(&ctx->trace);
    const uint64_t begin = recorder ? wick_recorder_open(recorder, WICK_SPAN_COMPILE, 0) : 0;
    const wick_status status =
        with_trace(ctx, fn, user, n_in, in, n_out, then_compile, &(compilation){options, &passes, packs, out});
    if (recorder) {
        wick_recorder_close(recorder, WICK_SPAN_COMPILE, begin, 0);
        wick_trace_leave(&ctx->trace);
    }
    return status;
}

wick_status wick_recompute(wick_context *ctx, wick_function fn, void *user, int n_in, wick_tensor *const *in, int n_out,
                           wick_tensor **out) {
    if (!fn || n_in < 0 || n_out < 0 || (n_in && !in) || (n_out && !out))
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "recompute: needs a function, its inputs and room for its results");
    const uint32_t outer = wick_segment_enter(ctx);
    const wick_status status = fn(ctx, in, out, user);
    wick_segment_leave(ctx, outer);
    return status;
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

static wick_status then_keep(tracer *t, int n_in, int n_out, void *arg) {
    wick_context *ctx = t->ctx;
    wick_recording *r = arg;
    wick_walk *w = ctx->reached;
    WICK_TRY(collect(t, n_in, n_out));
    r->assigns = t->n_wanted > (size_t)n_out;
    WICK_TRY(wick_walk_run(ctx, w, (size_t)n_out, t->wanted, 0, NULL, WICK_WALK_TRACED));
    r->graph = wick_graph_from_walk(ctx, r->arena, w, (size_t)n_out, t->wanted);
    r->leaves = wick_arena_zalloc(r->arena, (w->n_leaves + 1) * sizeof *r->leaves);
    r->slots = wick_arena_zalloc(r->arena, (w->n_slots + 1) * sizeof *r->slots);
    if (!r->graph || !r->leaves || !r->slots) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory recording");
    for (size_t i = 0; i < w->n_slots; i++) r->slots[i] = w->slots[i]->slot[0];
    for (r->n_leaves = 0; r->n_leaves < w->n_leaves; r->n_leaves++) {
        const wick_value *v = w->leaves[r->n_leaves];
        if (v->array)
            r->leaves[r->n_leaves] = (wick_recorded_leaf){wick_array_ref(v->array), wick_retain(state_of_leaf(t, v))};
    }
    return WICK_OK;
}

wick_status wick_recording_make(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in,
                                int n_out, wick_arena *arena, wick_recording *out) {
    *out = (wick_recording){.arena = arena};
    const wick_status status = with_trace(ctx, fn, user, n_in, in, n_out, then_keep, out);
    if (status != WICK_OK) wick_recording_drop(out);
    return status;
}

void wick_recording_drop(wick_recording *r) {
    for (size_t i = 0; i < r->n_leaves; i++) {
        wick_array_unref(r->leaves[i].array);
        wick_tensor_free(&r->leaves[i].state);
    }
    r->n_leaves = 0;
}

void wick_plan_free(wick_plan **plan) {
    if (!plan || !*plan) return;
    wick_plan_release(*plan);
    *plan = NULL;
}

wick_plan_info wick_plan_get_info(const wick_plan *p) {
    wick_plan_info info = {.inputs = p->n_in,
                           .outputs = p->n_out,
                           .kernels = (int)p->n_steps,
                           .arena_bytes = p->arena_bytes,
                           .buffers = (int)p->n_buffers,
                           .live_bytes = p->live_bytes,
                           .scratch_bytes = p->scratch * (size_t)wick_pool_threads(p->ctx->pool),
                           .packed_bytes = p->kept_bytes,
                           .flops = p->flops,
                           .bytes = p->bytes,
                           .recomputed = (int)p->recomputed,
                           .integer_products = (int)p->quantised.products,
                           .float_quantise = (int)p->quantised.quantise,
                           .float_dequantise = (int)p->quantised.dequantise,
                           .orphan_pairs = (int)p->quantised.orphans,
                           .recomputed_flops = p->recomputed_flops,
                           .predicted_seconds = p->predicted * 1e-9};
    for (size_t i = 0; i < p->n_steps; i++) {
        if (!p->steps[i].converts || p->steps[i].kept) continue;
        info.conversions++;
        info.conversion_bytes += p->steps[i].bytes;
    }
    for (size_t i = 0; i < p->n_leaves; i++) {
        info.states += p->bindings[i].state != NULL;
        info.assigns += p->bindings[i].assigned;
        *(p->bindings[i].input >= 0 ? &info.input_bytes : &info.state_bytes) += wick_type_bytes(&p->bindings[i].type);
    }
    for (int i = 0; i < p->n_out; i++) info.output_bytes += wick_spec_bytes(&p->out_specs[i]);
    return info;
}

size_t wick_spec_bytes(const wick_spec *spec) {
    if (!spec) return 0;
    int64_t n = 1;
    if (spec->rank < 0) return 0;
    for (int i = 0; i < spec->rank; i++)
        if (__builtin_mul_overflow(n, spec->dims[i], &n)) return SIZE_MAX;
    return n < 0 || n > INT64_MAX / 8 ? SIZE_MAX : wick_dtype_bytes(spec->dtype, n);
}

wick_spec wick_plan_output(const wick_plan *p, int i) {
    return i >= 0 && i < p->n_out ? p->out_specs[i] : (wick_spec){0};
}

static void name_ops(wick_str *s, const wick_graph *body) {
    for (size_t i = 0; i < body->n; i++) {
        const wick_op *op = body->nodes[i]->op;
        bool named = op->flags & WICK_OP_LEAF;
        for (size_t k = 0; k < i && !named; k++) named = body->nodes[k]->op == op;
        if (!named) wick_str_add(s, "%s%s", s->len ? " " : "", op->name);
    }
}

wick_plan_kernel wick_plan_kernel_at(const wick_plan *p, int i) {
    if (i < 0 || (size_t)i >= p->n_steps) return (wick_plan_kernel){0};
    const wick_step *s = &p->steps[i];
    const wick_node *node = s->node;
    wick_plan_kernel k = {.name = s->name,
                          .place = node->site,
                          .result = node->n_out ? spec_of(&node->out[0].type) : (wick_spec){0},
                          .flops = s->flops,
                          .bytes = s->bytes,
                          .live_bytes = s->live,
                          .predicted_seconds = p->predicted_ns[i] * 1e-9};
    wick_str ops = wick_str_on(k.ops, sizeof k.ops);
    if (!node->n_regions) wick_str_add(&ops, "%s", node->op->name);
    for (int r = 0; r < node->n_regions; r++) name_ops(&ops, node->regions[r]);
    if (ops.cut) memcpy(k.ops + sizeof k.ops - 4, "...", 4);
    return k;
}

wick_plan_buffer wick_plan_buffer_at(const wick_plan *p, int i) {
    if (i < 0 || (size_t)i >= p->n_buffers) return (wick_plan_buffer){0};
    const wick_buffer *b = &p->buffers[i];
    if (b->kind != WICK_BUFFER_TEMP || b->first < 0) return (wick_plan_buffer){0};
    const wick_type *type = p->shown[i];
    return (wick_plan_buffer){.first = b->first,
                              .last = b->last,
                              .offset = b->offset,
                              .bytes = WICK_ALIGN_UP(WICK_MAX(b->size, 1), WICK_ALIGN),
                              .value = type ? spec_of(type)
                                            : (wick_spec){.dtype = WICK_U8, .rank = 1, .dims = {(int64_t)b->size}}};
}

size_t wick_plan_format(const wick_plan *p, char *buffer, size_t size) {
    if (!buffer) size = 0;
    char line[512];
    size_t total = 0;
    for (size_t i = 0; i < p->n_steps; i++) {
        const wick_step *s = &p->steps[i];
        wick_str t = wick_str_on(line, sizeof line);
        wick_str_add(&t, "%3zu %-24s %10.0f FLOP %10.0f B", i, s->name, s->flops, s->bytes);
        for (int k = 0; k < s->n_refs; k++) {
            static const char kinds[] = "tlosc";
            const wick_buffer *b = &p->buffers[s->refs[k].buffer];
            wick_str_add(&t, " %s%c%u", s->refs[k].write ? ">" : "", kinds[b->kind],
                         b->kind == WICK_BUFFER_TEMP ? s->refs[k].buffer : b->index);
        }
        wick_str_add(&t, "%s%s\n", s->commits ? " commit " : " ", s->node->site ? s->node->site : "");
        for (size_t k = 0; k < t.len; k++, total++)
            if (total + 1 < size) buffer[total] = line[k];
    }
    if (size) buffer[total < size ? total : size - 1] = 0;
    return total;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

struct wick_workspace {
    wick_plan *plan;
    wick_memory *memory;
    wick_shared_arena *shared; /* that the memory is in; NULL: its own, or a runner's */
    void **leaves, **outputs;
    uint64_t *versions; /* by leaf */
    uint64_t (*slots)[2];
    char **sinks; /* memory for outputs that the caller does not want */
    size_t bytes;
    uint64_t offset, deadline;
    atomic_bool cancel;
    bool profile;
    wick_output_fn on_output;
    void *on_output_user;
    wick_msg msg;
};

/* Room for results that the caller doesn't want. */
static size_t sinks_size(const wick_plan *p) {
    size_t sinks = 0;
    for (int i = 0; i < p->n_out; i++)
        sinks += WICK_ALIGN_UP(wick_type_bytes(&p->graph->outputs[i]->type) + 1, WICK_ALIGN);
    return sinks;
}
static void place_sinks(wick_workspace *ws, char *at) {
    for (int i = 0; i < ws->plan->n_out; i++) {
        ws->sinks[i] = at;
        at += WICK_ALIGN_UP(wick_type_bytes(&ws->plan->graph->outputs[i]->type) + 1, WICK_ALIGN);
    }
}

static size_t head_size(const wick_plan *p) {
    const size_t pointers = p->n_leaves + 2 * (size_t)p->n_results;
    return WICK_ALIGN_UP(pointers * sizeof(void *) + p->n_slots * sizeof(uint64_t[2]) + p->n_leaves * sizeof(uint64_t),
                         WICK_ALIGN);
}

static wick_status workspace_new(wick_plan *p, bool bare, wick_workspace **out) {
    *out = NULL;
    const wick_allocator *alloc = &p->alloc;
    const size_t head = head_size(p);
    const wick_tag was = wick_tag_set(WICK_TAG_WORKSPACES);
    wick_workspace *ws = wick_calloc(alloc, sizeof *ws);
    if (ws) ws->bytes = head + (bare ? 0 : sinks_size(p));
    if (ws) ws->leaves = wick_calloc(alloc, ws->bytes);
    wick_tag_set(was);
    if (!ws) return WICK_ERR_NOMEM;
    ws->plan = p;
    ws->memory = ws->leaves ? (bare ? wick_memory_bare : wick_memory_new)(p, wick_pool_threads(p->ctx->pool)) : NULL;
    if (!ws->memory) {
        wick_release(alloc, ws->leaves, ws->bytes);
        wick_release(alloc, ws, sizeof *ws);
        return WICK_ERR_NOMEM;
    }
    ws->outputs = ws->leaves + p->n_leaves;
    ws->sinks = (char **)(ws->outputs + p->n_results);
    ws->slots = (uint64_t(*)[2])(ws->sinks + p->n_results);
    ws->versions = (uint64_t *)(ws->slots + p->n_slots);
    if (!bare) place_sinks(ws, (char *)ws->leaves + head);
    for (size_t i = 0; i < p->n_slots; i++) memcpy(ws->slots[i], p->slots[i], sizeof *ws->slots);
    atomic_fetch_add(&p->workspaces, 1);
    *out = ws;
    return WICK_OK;
}
wick_status wick_workspace_new(wick_plan *p, wick_workspace **out) {
    if (!out) return wick_context_fail(p->ctx, WICK_ERR_INVALID, "workspace_new: out is NULL");
    return workspace_new(p, false, out);
}
wick_status wick_workspace_bare(wick_plan *p, wick_workspace **out) { return workspace_new(p, true, out); }

static size_t memory_size(const wick_plan *p) {
    return WICK_ALIGN_UP(wick_memory_room(p, wick_pool_threads(p->ctx->pool)), WICK_ALIGN);
}
size_t wick_workspace_room(const wick_plan *p) { return memory_size(p) + sinks_size(p); }
void wick_workspace_place(wick_workspace *ws, char *room) {
    if (ws->memory->arena == room) return;
    wick_memory_place(ws->plan, ws->memory, room);
    place_sinks(ws, room + memory_size(ws->plan));
}
/* ---- workspaces that take turns ---------------------------------------------------------------------------------- */

struct wick_shared_arena {
    wick_context *ctx;
    char *at; /* NULL: there is none yet, or no more */
    size_t bytes, most;             /* that there are; that its workspaces need, also when it was lost */
    _Atomic(wick_workspace *) last; /* that ran in it, and what that keeps is there; NULL: nobody's */
    atomic_int held;                /* by its workspaces and by who made it */
    atomic_bool busy;
};

wick_status wick_shared_arena_new(wick_context *ctx, wick_shared_arena **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "shared_arena_new: out is NULL");
    const wick_tag was = wick_tag_set(WICK_TAG_WORKSPACES);
    *out = wick_calloc(&ctx->alloc, sizeof **out);
    wick_tag_set(was);
    if (!*out) return wick_context_fail(ctx, WICK_ERR_NOMEM, "shared_arena_new: out of memory");
    (*out)->ctx = ctx;
    atomic_store(&(*out)->held, 1);
    return WICK_OK;
}

void wick_shared_arena_free(wick_shared_arena **arena) {
    wick_shared_arena *a = arena ? *arena : NULL;
    if (!a) return;
    *arena = NULL;
    if (atomic_fetch_sub(&a->held, 1) > 1) return;
    wick_release(&a->ctx->alloc, a->at, a->bytes);
    wick_release(&a->ctx->alloc, a, sizeof *a);
}

size_t wick_shared_arena_bytes(const wick_shared_arena *arena) { return arena ? arena->bytes : 0; }

/* Nothing in it is anybody's while nothing runs: the old memory goes first, so that both are never there. Where there
 * is none for more, it has what it had, or, if even that is gone, nothing. */
static wick_status grow(wick_shared_arena *a, size_t bytes) {
    bytes = WICK_MAX(bytes, a->most);
    if (bytes <= a->bytes) return WICK_OK;
    const size_t had = a->bytes;
    const wick_tag was = wick_tag_set(WICK_TAG_WORKSPACES);
    wick_release(&a->ctx->alloc, a->at, had);
    atomic_store(&a->last, NULL);
    a->at = wick_alloc(&a->ctx->alloc, bytes);
    const bool good = a->at != NULL;
    if (!good && had) a->at = wick_alloc(&a->ctx->alloc, had);
    wick_tag_set(was);
    a->bytes = good ? bytes : a->at ? had : 0;
    a->most = WICK_MAX(a->most, a->bytes);
    return good ? WICK_OK
                : wick_context_fail(a->ctx, WICK_ERR_NOMEM, "workspace_new_in: out of memory for %zu bytes", bytes);
}

wick_status wick_workspace_new_in(wick_shared_arena *a, wick_plan *p, wick_workspace **out) {
    if (!a && !p) return WICK_ERR_INVALID;
    if (!a || !p || !out || a->ctx != p->ctx)
        return wick_context_fail(
            p ? p->ctx : a->ctx, WICK_ERR_INVALID,
            "workspace_new_in: the arena, the plan or out is NULL, or the arena is another context's");
    *out = NULL;
    if (atomic_exchange(&a->busy, true))
        return wick_context_fail(p->ctx, WICK_ERR_BUSY,
                                 "workspace_new_in: another workspace of the arena runs, or is made");
    wick_status status = grow(a, WICK_MAX(wick_workspace_room(p), WICK_ALIGN));
    if (status == WICK_OK && (status = workspace_new(p, true, out)) != WICK_OK)
        (void)wick_context_fail(p->ctx, status, "workspace_new_in: out of memory");
    if (status == WICK_OK) {
        atomic_fetch_add(&a->held, 1);
        (*out)->shared = a;
    }
    atomic_store(&a->busy, false);
    return status;
}

/* The arena is this workspace's until leave_arena. */
static wick_status enter_arena(wick_workspace *ws) {
    wick_shared_arena *a = ws->shared;
    if (atomic_exchange(&a->busy, true))
        return wick_msg_set(&ws->msg, WICK_ERR_BUSY, "run: another workspace of its shared arena runs");
    if (!a->at) {
        atomic_store(&a->busy, false);
        return wick_msg_set(&ws->msg, WICK_ERR_NOMEM, "run: its shared arena was lost when it could not grow");
    }
    if (atomic_load(&a->last) == ws) return WICK_OK;
    wick_workspace_place(ws, a->at);
    wick_memory_forget(ws->plan, ws->memory);
    atomic_store(&a->last, ws);
    return WICK_OK;
}
static void leave_arena(wick_workspace *ws) { atomic_store(&ws->shared->busy, false); }

size_t wick_workspace_bytes(const wick_plan *p) { return sizeof(wick_workspace) + head_size(p) + wick_memory_bytes(p); }

void wick_workspace_free(wick_workspace **workspace) {
    wick_workspace *ws = workspace ? *workspace : NULL;
    if (!ws) return;
    *workspace = NULL;
    wick_plan *p = ws->plan;
    if (ws->shared) { /* while another runs, maybe */
        wick_workspace *self = ws;
        atomic_compare_exchange_strong(&ws->shared->last, &self, NULL);
        wick_shared_arena_free(&ws->shared);
    }
    wick_memory_free(p, &ws->memory);
    wick_release(&p->alloc, ws->leaves, ws->bytes);
    wick_release(&p->alloc, ws, sizeof *ws);
    atomic_fetch_sub(&p->workspaces, 1);
}

static wick_status bind_leaf(wick_workspace *ws, size_t i, const void *const *in) {
    const wick_binding *b = &ws->plan->bindings[i];
    if (b->input >= 0) {
        if (!in || (!in[b->input] && wick_type_count(&b->type)))
            return wick_msg_set(&ws->msg, WICK_ERR_INVALID, "run: input %d is NULL", b->input);
        ws->leaves[i] = (void *)(uintptr_t)in[b->input];
        return WICK_OK;
    }
    if (b->array) {
        ws->leaves[i] = wick_array_data(b->array, &b->type);
        ws->versions[i] = b->array->storage->version;
        return WICK_OK;
    }
    wick_value *v = b->state->value;
    if (!v || !v->array)
        return wick_msg_set(&ws->msg, WICK_ERR_INVALID,
                            "run: a captured tensor has no value: it has a pending assignment, or was freed");
    if (!wick_type_equal(&v->type, &b->type))
        return wick_msg_set(&ws->msg, WICK_ERR_SHAPE, "run: a captured tensor has changed its type");
    /* Contiguous memory was planned for; anything else (wrapped views) moves to memory of its own once. */
    if (b->assigned || !wick_layout_is_contiguous(&v->array->layout, &v->type))
        WICK_TRY(wick_state_own(b->state, &ws->msg));
    ws->leaves[i] = wick_array_data(b->state->value->array, &b->type);
    ws->versions[i] = b->state->value->array->storage->version;
    return WICK_OK;
}

wick_status wick_run(wick_workspace *ws, const void *const *in, void *const *out) {
    wick_plan *p = ws->plan;
    ws->msg.status = WICK_OK;
    ws->msg.text[0] = 0;
    if (ws->shared) WICK_TRY(enter_arena(ws));
    size_t locked = 0;
    wick_status status = WICK_OK;
    for (; locked < p->n_leaves; locked++)
        if (p->bindings[locked].state && !wick_state_lock(p->bindings[locked].state, p->bindings[locked].assigned)) {
            status = wick_msg_set(&ws->msg, WICK_ERR_BUSY, "run: a state is in use by another run");
            break;
        }
    for (size_t i = 0; i < p->n_leaves && status == WICK_OK; i++) status = bind_leaf(ws, i, in);
    if (status == WICK_OK) {
        for (int i = 0; i < p->n_out; i++) ws->outputs[i] = out && out[i] ? out[i] : ws->sinks[i];
        for (size_t i = 0; i < p->n_slots; i++)
            if (p->slot_is_random[i]) ws->slots[i][1] = ws->offset;
        wick_execution e = {.plan = p,
                            .memory = ws->memory,
                            .pool = p->ctx->pool,
                            .leaves = ws->leaves,
                            .versions = ws->versions,
                            .outputs = ws->outputs,
                            .slots = ws->slots,
                            .msg = &ws->msg,
                            .profile = ws->profile,
                            .on_output = ws->on_output,
                            .on_output_user = ws->on_output_user,
                            .cancel = &ws->cancel,
                            .deadline = ws->deadline ? wick_now_ns() + ws->deadline : 0};
        status = wick_execute(&e);
        ws->offset += status == WICK_OK;
    }
    while (locked-- > 0)
        if (p->bindings[locked].state) wick_state_unlock(p->bindings[locked].state, p->bindings[locked].assigned);
    if (ws->shared) leave_arena(ws);
    return status;
}

const char *wick_workspace_error(const wick_workspace *ws) { return ws->msg.text; }

void *wick_buffer_new(wick_context *ctx, size_t bytes) {
    const wick_tag was = wick_tag_set(WICK_TAG_BUFFERS);
    void *at = wick_alloc(&ctx->alloc, bytes);
    wick_tag_set(was);
    return at;
}
void wick_buffer_free(wick_context *ctx, void *buffer, size_t bytes) { wick_release(&ctx->alloc, buffer, bytes); }
void wick_workspace_cancel(wick_workspace *ws) { atomic_store(&ws->cancel, true); }
void wick_workspace_deadline(wick_workspace *ws, uint64_t nanoseconds) { ws->deadline = nanoseconds; }
uint64_t wick_workspace_offset(const wick_workspace *ws) { return ws->offset; }
void wick_workspace_set_offset(wick_workspace *ws, uint64_t offset) { ws->offset = offset; }

void wick_workspace_on_output(wick_workspace *ws, wick_output_fn fn, void *user) {
    ws->on_output = fn;
    ws->on_output_user = user;
}

void wick_workspace_profile(wick_workspace *ws, bool enable) {
    ws->profile = enable;
    memset(ws->memory->step_ns, 0, 2 * ws->plan->n_steps * sizeof(uint64_t));
}

size_t wick_workspace_profile_format(const wick_workspace *ws, char *buffer, size_t size) {
    if (!buffer) size = 0;
    size_t total = 0;
    for (size_t i = 0; i < ws->plan->n_steps; i++) {
        char line[256];
        const wick_step *s = &ws->plan->steps[i];
        wick_str t = wick_str_on(line, sizeof line);
        wick_str_add(&t, "%12llu %8llu %-24s %s\n", (unsigned long long)ws->memory->step_ns[i],
                     (unsigned long long)ws->memory->step_calls[i], s->name, s->node->site ? s->node->site : "");
        for (size_t k = 0; k < t.len; k++, total++)
            if (total + 1 < size) buffer[total] = line[k];
    }
    if (size) buffer[total < size ? total : size - 1] = 0;
    return total;
}

uint64_t wick_workspace_kernel_ns(const wick_workspace *ws, int i, uint64_t *runs) {
    bool known = i >= 0 && (size_t)i < ws->plan->n_steps;
    if (runs) *runs = known ? ws->memory->step_calls[i] : 0;
    return known ? ws->memory->step_ns[i] : 0;
}
