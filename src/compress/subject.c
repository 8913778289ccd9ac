/* subject.c: recording a function to rewrite it. */
#include "compress/subject.h"

/* fn reads inputs of its own instead of the caller's tensors, so that what these are computed from is no part of the
 * graph. They are numbered from here, above the inputs of any compiled function. */
#define FIRST_INPUT ((int64_t)1 << 32)

static wick_status record(wick_context *ctx, const char *who, wick_function fn, void *user, int n_in,
                          wick_tensor *const *in, int n_out, wick_tensor **own, wick_tensor **out) {
    for (int k = 0; k < n_in; k++) {
        if (in[k]->error) return wick_fail_poison(ctx, in[k]);
        wick_input_attr attr;
        memset(&attr, 0, sizeof attr);
        attr.type = in[k]->value->type;
        attr.index = FIRST_INPUT + k;
        own[k] = wick_record(ctx, &wick_op_input, 0, NULL, &attr, sizeof attr);
        if (own[k]->error) return wick_fail_poison(ctx, own[k]);
    }
    const size_t effects = ctx->frame->n_effects;
    const wick_status status = fn(ctx, own, out, user);
    if (status != WICK_OK)
        return ctx->msg.status ? status : wick_msg_set(&ctx->msg, status, "%s: the function failed", who);
    for (int i = 0; i < n_out; i++) {
        if (!out[i]) return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "%s: the function did not set output %d", who, i);
        if (out[i]->error) return wick_fail_poison(ctx, out[i]);
    }
    if (ctx->frame->n_effects == effects) return WICK_OK;
    return wick_msg_set(&ctx->msg, WICK_ERR_UNSUPPORTED,
                        "%s: the function assigns states or has checks: record it in evaluation "
                        "(wick_model_set_training)",
                        who);
}

static wick_status refuse(wick_context *ctx, const char *who, const wick_node *node, const char *why) {
    return wick_msg_set(&ctx->msg, WICK_ERR_UNSUPPORTED, "%s: %s %s%s%s%s", who, node->op->name, why,
                        node->site ? " (at " : "", node->site ? node->site : "", node->site ? ")" : "");
}
static wick_status check(wick_context *ctx, const char *who, const wick_graph *graph) {
    for (size_t i = 0; i < graph->n; i++) {
        const wick_node *node = graph->nodes[i];
        if (node->n_regions) return refuse(ctx, who, node, "has a body of its own");
        if (node->op->flags & WICK_OP_RANDOM) return refuse(ctx, who, node, "draws random numbers");
        if (node->op->flags & WICK_OP_EFFECT) return refuse(ctx, who, node, "has an effect");
        if (node->op->flags & WICK_OP_POINTERS) return refuse(ctx, who, node, "has functions of its own");
        if (node->op == &wick_op_grad) return refuse(ctx, who, node, "takes gradients");
    }
    return WICK_OK;
}

/* The leaves of the walk as handles. */
static wick_status take_leaves(wick_subject *s, const char *who, const wick_walk *w, int n_in, wick_tensor *const *in,
                               wick_tensor *const *own) {
    wick_context *ctx = s->ctx;
    uint64_t *slots = wick_arena_alloc(&s->arena, (w->n_slots + 1) * sizeof *slots);
    s->slots = slots;
    s->leaf = wick_arena_zalloc(&s->arena, (w->n_leaves + 1) * sizeof(wick_tensor *));
    if (!s->leaf || !s->slots) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < w->n_slots; i++) slots[i] = w->slots[i]->slot[0];
    for (size_t i = 0; i < w->n_leaves; i++) {
        wick_value *v = w->leaves[i];
        for (int k = 0; k < n_in && !s->leaf[i]; k++)
            if (own[k]->value == v) s->leaf[i] = in[k];
        if (s->leaf[i]) continue;
        if (v->node->op == &wick_op_input)
            return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                                "%s: the function uses the input of another compiled function", who);
        wick_node_ref(v->node);
        s->leaf[i] = wick_tensor_new(ctx, v);
        if (s->leaf[i]->error) return wick_fail_poison(ctx, s->leaf[i]);
    }
    return WICK_OK;
}

static wick_status find_fixed(wick_subject *s) {
    wick_graph *graph = s->graph;
    s->n_values = wick_graph_number(graph);
    s->fixed = wick_arena_zalloc(&s->arena, (size_t)s->n_values + 1);
    if (!s->fixed) return wick_msg_set(&s->ctx->msg, WICK_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < graph->n; i++) {
        const wick_node *node = graph->nodes[i];
        bool fixed = node->op != &wick_op_input;
        for (int k = 0; k < node->n_in; k++) fixed = fixed && s->fixed[node->in[k]->id];
        for (int k = 0; k < node->n_out; k++) s->fixed[node->out[k].id] = fixed;
    }
    return WICK_OK;
}

wick_status wick_subject_record(wick_subject *s, wick_context *ctx, const char *who, wick_function fn, void *user,
                                int n_in, wick_tensor *const *in, int n_out, bool fold_scales) {
    static wick_status (*const passes[])(wick_graph *, wick_msg *) = {
        wick_pass_dce, wick_pass_simplify, wick_pass_fold,       wick_pass_simplify,
        wick_pass_cse, wick_pass_dce,      wick_pass_fold_scale, wick_pass_dce};
    *s = (wick_subject){.ctx = ctx};
    wick_arena_init(&s->arena, &ctx->alloc, 0);
    wick_tensor **own = wick_arena_zalloc(&s->arena, ((size_t)n_in + (size_t)n_out + 1) * sizeof(wick_tensor *));
    wick_wanted *wanted = wick_arena_zalloc(&s->arena, ((size_t)n_out + 1) * sizeof *wanted);
    if (!own || !wanted) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory");
    wick_tensor **out = own + n_in;
    WICK_TRY(record(ctx, who, fn, user, n_in, in, n_out, own, out));
    for (int i = 0; i < n_out; i++) wanted[i].value = out[i]->value;
    wick_walk w = {0};
    wick_status status = wick_walk_run(ctx, &w, (size_t)n_out, wanted, 0, NULL, WICK_WALK_TRACED);
    if (status == WICK_OK && !(s->graph = wick_graph_from_walk(ctx, &s->arena, &w, (size_t)n_out, wanted)))
        status = wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory");
    if (status == WICK_OK) status = take_leaves(s, who, &w, n_in, in, own);
    wick_walk_free(ctx, &w);
    WICK_TRY(status);
    WICK_TRY(check(ctx, who, s->graph));
    for (size_t i = 0; i < WICK_COUNTOF(passes); i++) {
        if (passes[i] == wick_pass_fold_scale && !fold_scales) continue;
        WICK_TRY(passes[i](s->graph, &ctx->msg));
        if (s->graph->failed) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory");
    }
    return find_fixed(s);
}

void wick_subject_free(wick_subject *s) {
    if (s->ctx) wick_arena_free(&s->arena);
    *s = (wick_subject){0};
}

void wick_subject_again(const wick_subject *s, const wick_node *node, wick_tensor *const *in, wick_tensor **out) {
    wick_here(node->site);
    if (node->op == &wick_op_input || node->op == &wick_op_data) {
        out[0] = s->leaf[node->slot[0]];
    } else if (node->op == &wick_op_slot) {
        wick_constant_attr attr;
        memset(&attr, 0, sizeof attr);
        attr.type = node->out[0].type;
        attr.bits = s->slots[node->slot[0]];
        out[0] = wick_record(s->ctx, &wick_op_constant, 0, NULL, &attr, sizeof attr);
    } else {
        wick_record_n(s->ctx, node->op, node->n_in, in, node->attr, node->attr_size, node->n_out, out);
    }
}

const char *wick_subject_state_name(const wick_subject *s, const wick_model *model, const wick_value *v,
                                    const char *near) {
    const char *name = NULL, *dot = near ? strrchr(near, '.') : NULL;
    int64_t most = -1;
    const wick_node *stack[64];
    int n = 0;
    stack[n++] = v->node;
    /* parts that are shared are met as often as they are read: a name is not worth more than this */
    for (int visits = 0; n && visits < 4096; visits++) {
        const wick_node *node = stack[--n];
        for (int k = 0; k < node->n_in && n < (int)WICK_COUNTOF(stack); k++) stack[n++] = node->in[k]->node;
        if (node->op != &wick_op_data) continue;
        const wick_value *leaf = s->leaf[node->slot[0]]->value;
        for (int i = 0; i < wick_model_count(model); i++) {
            const wick_named state = wick_model_at(model, i);
            const bool beside = dot && strncmp(state.name, near, (size_t)(dot - near) + 1) == 0;
            const int64_t count = beside ? INT64_MAX : wick_tensor_count(state.tensor);
            if (state.tensor->value == leaf && count > most) most = count, name = state.name;
        }
    }
    return name;
}
