/* layer_errors.c: how far the layers of a network are from those of what was made of it. Both are recorded as graphs
 * with batch norms in the weights before them, and their convolutions and products are paired in order. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "wick/pointwise.h"
#include "wick/shape.h"

#include <math.h>
#include <stdio.h>

typedef struct pair {
    char *name;
    const char *op;
    int at; /* its two sums among what a plan gives; -1: its results have other extents */
    double signal, noise;
} pair;

struct wick_layer_errors {
    wick_context *ctx;
    wick_model *model;
    wick_function fn[2];
    void *user[2];
    int n_in;
    wick_arena arena;
    pair *pairs;
    int n, n_sums;
    int64_t observed;
    wick_plan *plan;
    wick_workspace *workspace;
    float *sums;
};

static wick_status no_memory(wick_context *ctx) {
    return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory comparing layers");
}

static bool is_layer(const wick_subject *s, const wick_node *node) {
    return (node->op == &wick_op_conv || node->op == &wick_op_matmul || node->op == &wick_op_int4_linear ||
            node->op == &wick_op_int8_linear) &&
           node->out[0].type.dtype == WICK_F32 && !s->fixed[node->in[0]->id] && s->fixed[node->in[1]->id];
}
static int count_layers(const wick_subject *s) {
    int n = 0;
    for (size_t i = 0; i < s->graph->n; i++) n += is_layer(s, s->graph->nodes[i]);
    return n;
}
/* Records all of it again; results of layers, in order, with the nodes that they are of. */
static wick_status run(wick_subject *s, wick_tensor **results, const wick_node **nodes) {
    wick_tensor **made = wick_arena_zalloc(&s->arena, ((size_t)s->n_values + 1) * sizeof *made);
    if (!made) return no_memory(s->ctx);
    int n = 0;
    for (size_t i = 0; i < s->graph->n; i++) {
        const wick_node *node = s->graph->nodes[i];
        const size_t room = (size_t)node->n_in + node->n_out + 1;
        wick_tensor **in = wick_arena_zalloc(&s->arena, room * sizeof *in), **out = in + node->n_in;
        if (!in) return no_memory(s->ctx);
        for (int k = 0; k < node->n_in; k++) in[k] = made[node->in[k]->id];
        wick_subject_again(s, node, in, out);
        for (int k = 0; k < node->n_out; k++) {
            if (out[k]->error) return wick_fail_poison(s->ctx, out[k]);
            made[node->out[k].id] = out[k];
        }
        if (is_layer(s, node)) nodes[n] = node, results[n++] = out[0];
    }
    return WICK_OK;
}

static wick_tensor *sum_of_squares(wick_tensor *x) {
    return wick_reshape(wick_sum(wick_square(x), WICK_ALL_AXES, false), 1, (const int64_t[]){1});
}
/* What is summed for each pair of one shape, behind each other. */
static wick_status pair_up(wick_layer_errors *e, wick_subject *s, int n, wick_tensor **out) {
    wick_arena *arena = &s[0].arena;
    wick_tensor **results[2], **sums = wick_arena_zalloc(arena, (2 * (size_t)n + 1) * sizeof *sums);
    const wick_node **nodes[2];
    e->pairs = wick_arena_zalloc(&e->arena, ((size_t)n + 1) * sizeof *e->pairs);
    if (!sums || !e->pairs) return no_memory(e->ctx);
    for (int k = 0; k < 2; k++) {
        results[k] = wick_arena_zalloc(arena, ((size_t)n + 1) * sizeof **results);
        nodes[k] = wick_arena_zalloc(arena, ((size_t)n + 1) * sizeof **nodes);
        if (!results[k] || !nodes[k]) return no_memory(e->ctx);
        WICK_TRY(run(&s[k], results[k], nodes[k]));
    }
    e->n = n, e->n_sums = 0;
    for (int i = 0; i < n; i++) {
        const wick_node *node = nodes[0][i];
        pair *p = &e->pairs[i];
        char made[64];
        const char *name = wick_subject_state_name(&s[0], e->model, node->in[1], NULL);
        snprintf(made, sizeof made, "%s_%d", node->op->name, i + 1);
        p->name = wick_arena_strdup(&e->arena, name ? name : made);
        p->op = node->op->name;
        p->at = wick_same_dims(&node->out[0].type, &nodes[1][i]->out[0].type) ? e->n_sums : -1;
        if (!p->name) return no_memory(e->ctx);
        if (p->at < 0) continue;
        sums[e->n_sums++] = sum_of_squares(results[0][i]);
        sums[e->n_sums++] = sum_of_squares(wick_sub(results[0][i], results[1][i]));
    }
    *out = e->n_sums ? wick_concat(e->n_sums, sums, 0) : wick_zeros(e->ctx, WICK_F32, 1, (const int64_t[]){1});
    return WICK_OK;
}
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_layer_errors *e = user;
    wick_subject s[2] = {{0}, {0}};
    wick_status status = WICK_OK;
    int n[2] = {0, 0};
    for (int k = 0; k < 2 && status == WICK_OK; k++) {
        status = wick_subject_record(&s[k], ctx, "layer_errors", e->fn[k], e->user[k], e->n_in, in, 1, true);
        if (status == WICK_OK) n[k] = count_layers(&s[k]);
    }
    if (status == WICK_OK && n[0] != n[1])
        status =
            wick_msg_set(&ctx->msg, WICK_ERR_UNSUPPORTED,
                         "layer_errors: %d convolutions and products are not %d: layers can't be paired", n[0], n[1]);
    if (status == WICK_OK) status = pair_up(e, s, n[0], out);
    for (int k = 0; k < 2; k++) wick_subject_free(&s[k]);
    return status;
}

wick_status wick_layer_errors_new(wick_context *ctx, wick_model *model, const wick_function fn[2], void *const user[2],
                                  int n_in, const wick_spec *in, wick_layer_errors **out) {
    if (!ctx) return WICK_ERR_INVALID;
    if (out) *out = NULL;
    if (!out || !model || !fn || !fn[0] || !fn[1] || !user || n_in < 1 || !in)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "layer_errors: needs a model and two functions with inputs");
    wick_layer_errors *e = wick_calloc(&ctx->alloc, sizeof *e);
    if (!e) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory comparing layers");
    *e =
        (wick_layer_errors){.ctx = ctx, .model = model, .fn = {fn[0], fn[1]}, .user = {user[0], user[1]}, .n_in = n_in};
    wick_arena_init(&e->arena, &ctx->alloc, 0);
    wick_status status = wick_compile(ctx, record, e, n_in, in, 1, NULL, &e->plan);
    if (status == WICK_OK) status = wick_workspace_new(e->plan, &e->workspace);
    if (status == WICK_OK && !(e->sums = wick_arena_zalloc(&e->arena, ((size_t)e->n_sums + 1) * sizeof(float))))
        status = no_memory(ctx);
    if (status != WICK_OK) wick_layer_errors_free(&e);
    *out = e;
    return status;
}
void wick_layer_errors_free(wick_layer_errors **errors) {
    if (!errors || !*errors) return;
    wick_context *ctx = (*errors)->ctx;
    wick_workspace_free(&(*errors)->workspace);
    wick_plan_free(&(*errors)->plan);
    wick_arena_free(&(*errors)->arena);
    wick_release(&ctx->alloc, *errors, sizeof **errors);
    *errors = NULL;
}
wick_status wick_layer_errors_observe(wick_layer_errors *e, const void *const *in) {
    if (!e) return WICK_ERR_INVALID;
    if (!in) return wick_context_fail(e->ctx, WICK_ERR_INVALID, "layer_errors: in is NULL");
    const wick_status status = wick_run(e->workspace, in, (void *[]){e->sums});
    if (status != WICK_OK)
        return wick_context_fail(e->ctx, status, "layer_errors: %s", wick_workspace_error(e->workspace));
    for (int i = 0; i < e->n; i++) {
        pair *p = &e->pairs[i];
        if (p->at < 0) continue;
        p->signal += (double)e->sums[p->at], p->noise += (double)e->sums[p->at + 1];
    }
    e->observed++;
    return WICK_OK;
}
int wick_layer_errors_count(const wick_layer_errors *e) { return e ? e->n : 0; }
wick_layer_error wick_layer_errors_at(const wick_layer_errors *e, int i) {
    if (!e || i < 0 || i >= e->n) return (wick_layer_error){0};
    const pair *p = &e->pairs[i];
    const double db = p->at < 0 || !e->observed ? (double)NAN
                      : p->noise == 0           ? (double)INFINITY
                                                : 10 * log10(p->signal / p->noise);
    return (wick_layer_error){.name = p->name, .op = p->op, .sqnr = db};
}
