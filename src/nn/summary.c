/* summary.c: what each layer makes and costs, read from the recorded graph. Layers say where they begin and end; what
 * lies between is theirs, every other op is a row of its own. So nothing is counted twice or by a formula of its own.
 */
#include "graph/graph.h"
#include "nn/nn.h"

struct wick_summary {
    wick_allocator alloc;
    wick_arena arena; /* rows and names */
    wick_layer_info *rows;
    int n;
    wick_summary_totals totals;
    /* while it is made */
    wick_model *model;
    wick_function fn;
    void *user;
};

/* ---- layers report ----------------------------------------------------------------------------------------------- */

wick_tensor *wick_layer_done(wick_model *model, const char *kind, const char *name, wick_tensor *x, wick_tensor *y) {
    wick_layer_log *log = wick_model_log(model);
    wick_layer_left(model);
    wick_layer_seen(model, name, y);
    if (!log || !y || y->error || x->error || y->value == x->value) return y;
    const char *path = wick_model_path(model);
    const size_t size = strlen(path) + strlen(name) + 1;
    char *full = wick_arena_alloc(log->arena, size);
    if (full && wick_grow(log->alloc, (void **)&log->calls, &log->cap, log->n + 1, sizeof *log->calls)) {
        memcpy(full, path, strlen(path));
        memcpy(full + strlen(path), name, strlen(name) + 1);
        log->calls[log->n++] = (wick_layer_call){kind, full, wick_retain(x), wick_retain(y), 0, 0};
    } else
        log->nomem = true;
    return y;
}

/* ---- reading the graph ------------------------------------------------------------------------------------------- */

/* By value: which layer its node is part of (0: none), and what of the model's states has come to it. */
typedef struct note {
    size_t layer; /* calls[layer - 1] */
    int64_t parameters;
    const char *state;
} note;

/* Node i is a layer's if a layer's result needs it and the layer's input does not come between. */
static void find_layers(const wick_walk *w, const wick_layer_log *log, uint32_t walk, note *notes) {
    for (size_t i = 0; i < log->n; i++) {
        const wick_node *node = log->calls[i].y->value->node;
        if (node->mark == walk) notes[node->out[0].id].layer = i + 1;
    }
    for (size_t i = w->n_nodes; i-- > 0;) {
        const wick_node *node = w->nodes[i];
        const size_t layer = notes[node->out[0].id].layer;
        for (int k = 0; k < node->n_in && layer; k++) {
            const wick_value *v = node->in[k], *first = &v->node->out[0];
            if (v == log->calls[layer - 1].x->value || v->node->mark != walk || first->mark != walk) continue;
            if (!notes[first->id].layer) notes[first->id].layer = layer;
        }
    }
}

/* The layer of a state: "res1.conv1" of "res1.conv1.weight". */
static const char *layer_of(wick_arena *arena, const char *state) {
    const char *dot = state ? strrchr(state, '.') : NULL;
    if (!dot) return state ? state : "";
    char *name = wick_arena_alloc(arena, (size_t)(dot - state) + 1);
    if (!name) return NULL;
    memcpy(name, state, (size_t)(dot - state));
    name[dot - state] = 0;
    return name;
}

static bool add_row(wick_summary *s, const char *kind, const char *name, const wick_type *type, int64_t parameters,
                    double flops) {
    if (!name) return false;
    wick_layer_info row = {.kind = kind,
                           .output = {name, (wick_dtype)type->dtype, type->rank, {0}},
                           .parameters = parameters,
                           .flops = flops};
    memcpy(row.output.dims, type->dims, sizeof type->dims);
    row.bytes = (int64_t)wick_type_bytes(type);
    s->totals.parameters += parameters;
    s->totals.flops += flops;
    s->totals.bytes += (double)row.bytes;
    s->rows[s->n++] = row;
    return true;
}

static bool add_rows(wick_summary *s, const wick_walk *w, wick_layer_log *log, note *notes) {
    for (size_t i = 0; i < w->n_nodes; i++) {
        const wick_node *node = w->nodes[i];
        const wick_value *y = &node->out[0];
        const char *state = NULL;
        int64_t parameters = 0; /* counted where they are first read */
        for (int k = 0; k < node->n_in; k++) {
            note *in = &notes[node->in[k]->id];
            parameters += in->parameters;
            in->parameters = 0;
            if (!state) state = in->state;
        }
        const bool moves_nothing = node->op->flags & (WICK_OP_VIEW | WICK_OP_LEAF);
        const double flops = node->op->flags & WICK_OP_LEAF ? 0 : wick_node_flops(node);
        wick_layer_call *call = notes[y->id].layer ? &log->calls[notes[y->id].layer - 1] : NULL;
        if (call) {
            call->parameters += parameters;
            call->flops += flops;
            if (call->y->value->node == node &&
                !add_row(s, call->kind, call->name, &call->y->value->type, call->parameters, call->flops))
                return false;
        } else if (moves_nothing) {
            notes[y->id].parameters = parameters;
            notes[y->id].state = state;
        } else if (!add_row(s, node->op->name, layer_of(&s->arena, state), &y->type, parameters, flops))
            return false;
    }
    return true;
}

static wick_status read_graph(wick_summary *s, wick_context *ctx, wick_layer_log *log, const wick_tensor *y) {
    wick_walk w = {0};
    wick_wanted wanted = {y->value, NULL};
    wick_status status = wick_walk_run(ctx, &w, 1, &wanted, 0, NULL, WICK_WALK_TRACED);
    const size_t size = ((size_t)w.n_values + 1) * sizeof(note);
    note *notes = status == WICK_OK ? wick_calloc(&s->alloc, size) : NULL;
    s->rows = notes ? wick_arena_alloc(&s->arena, (w.n_nodes + 1) * sizeof *s->rows) : NULL;
    bool good = s->rows != NULL;
    for (int i = 0; good && i < wick_model_count(s->model); i++) {
        const wick_named state = wick_model_at(s->model, i);
        const wick_value *v = state.tensor->value;
        if (v->mark != ctx->walk) continue;
        notes[v->id].state = state.name;
        if (state.role == WICK_ROLE_PARAM) notes[v->id].parameters = wick_type_count(&v->type);
    }
    if (good) {
        find_layers(&w, log, ctx->walk, notes);
        good = add_rows(s, &w, log, notes);
    }
    wick_release(&s->alloc, notes, size);
    wick_walk_free(ctx, &w);
    return good || status != WICK_OK ? status : wick_context_fail(ctx, WICK_ERR_NOMEM, "summary: out of memory");
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_summary *s = user;
    wick_layer_log log = {.alloc = &s->alloc, .arena = &s->arena};
    wick_model_set_log(s->model, &log);
    wick_status status = s->fn(ctx, in, out, s->user);
    wick_model_set_log(s->model, NULL);
    if (status == WICK_OK && log.nomem) status = wick_context_fail(ctx, WICK_ERR_NOMEM, "summary: out of memory");
    /* otherwise compiling says what is wrong */
    if (status == WICK_OK && out[0] && !out[0]->error) status = read_graph(s, ctx, &log, out[0]);
    for (size_t i = 0; i < log.n; i++) {
        wick_tensor_free(&log.calls[i].x);
        wick_tensor_free(&log.calls[i].y);
    }
    wick_release(&s->alloc, log.calls, log.cap * sizeof *log.calls);
    return status;
}

wick_status wick_model_summary(wick_model *model, wick_function fn, void *user, int n_in, const wick_spec *in,
                               wick_summary **out) {
    if (!out) return wick_context_fail(wick_model_context(model), WICK_ERR_INVALID, "model_summary: out is NULL");
    wick_context *ctx = wick_model_context(model);
    *out = NULL;
    if (!fn) return wick_context_fail(ctx, WICK_ERR_INVALID, "summary: needs the function that builds the network");
    wick_summary *s = wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) return wick_context_fail(ctx, WICK_ERR_NOMEM, "summary: out of memory");
    s->alloc = ctx->alloc;
    s->model = model;
    s->fn = fn;
    s->user = user;
    wick_arena_init(&s->arena, &s->alloc, 4096);
    const bool training = wick_model_training(model);
    wick_plan *plan = NULL;
    wick_model_set_training(model, false);
    const wick_status status = wick_compile(ctx, body, s, n_in, in, 1, NULL, &plan);
    wick_model_set_training(model, training);
    if (status == WICK_OK) {
        const wick_plan_info info = wick_plan_get_info(plan);
        s->totals.arena_bytes = info.arena_bytes - info.packed_bytes;
    }
    wick_plan_free(&plan);
    if (status != WICK_OK) wick_summary_free(&s);
    *out = s;
    return status;
}

void wick_summary_free(wick_summary **summary) {
    wick_summary *s = summary ? *summary : NULL;
    if (!s) return;
    *summary = NULL;
    wick_arena_free(&s->arena);
    wick_allocator alloc = s->alloc;
    wick_release(&alloc, s, sizeof *s);
}

int wick_summary_count(const wick_summary *s) { return s->n; }
wick_layer_info wick_summary_at(const wick_summary *s, int i) {
    return i >= 0 && i < s->n ? s->rows[i] : (wick_layer_info){0};
}
wick_summary_totals wick_summary_total(const wick_summary *s) { return s->totals; }
