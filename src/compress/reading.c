/* reading.c: what of a function is quantised: its layers, and which activations. */
#include "compress/quantizer.h"

static bool is_elementwise(const wick_node *node) { return node->op->flags & WICK_OP_ELEMENTWISE; }
bool wick_quantizer_is_move(const wick_node *node) {
    return node->op == &wick_op_reshape || node->op == &wick_op_permute || node->op == &wick_op_slice ||
           node->op == &wick_op_expand || node->op == &wick_op_max_pool;
}
static bool is_layer(const wick_quantizer *q, const wick_subject *s, const wick_node *node) {
    const bool conv = node->op == &wick_op_conv && !is_int4(q), matmul = node->op == &wick_op_matmul;
    if ((!conv && !matmul) || node->out[0].type.dtype != WICK_F32) return false;
    if (s->fixed[node->in[0]->id] || !s->fixed[node->in[1]->id]) return false;
    if (conv) return node->n_in < 3 || s->fixed[node->in[2]->id];
    return node->n_in == 2 && node->in[1]->type.rank == 2 && node->in[0]->type.rank >= 2;
}

/* One number for all that a concat joins, if all of it has a site. */
static void join(wick_quantizer *q, const reading *r, const wick_node *node) {
    const int to = q->sites[r->site[node->out[0].id]].joined;
    for (int k = 0; k < node->n_in; k++)
        if (r->site[node->in[k]->id] < 0) return;
    for (int k = 0; k < node->n_in; k++) {
        const int from = q->sites[r->site[node->in[k]->id]].joined;
        for (int i = 0; i < q->n_sites; i++)
            if (q->sites[i].joined == from) q->sites[i].joined = to;
    }
}

/* The site of each value, in the order of the nodes. q's list is made by the first reading, which has it empty. */
static wick_status find_sites(wick_quantizer *q, reading *r) {
    const wick_graph *graph = r->s.graph;
    const bool first = !q->sites;
    int n = 0, n_layers = 0;
    int *met = wick_arena_zalloc(&r->s.arena, ((size_t)wick_ops_count() + 64) * sizeof *met);
    const wick_op **ops = wick_arena_zalloc(&r->s.arena, ((size_t)wick_ops_count() + 64) * sizeof *ops);
    r->site = wick_arena_alloc(&r->s.arena, ((size_t)r->s.n_values + 1) * sizeof *r->site);
    r->layer = wick_arena_alloc(&r->s.arena, (graph->n + 1) * sizeof *r->layer);
    if (first) q->sites = wick_arena_zalloc(&q->arena, ((size_t)r->s.n_values + 1) * sizeof *q->sites);
    if (!met || !ops || !r->site || !r->layer || !q->sites) return out_of_memory(q->ctx);
    for (size_t i = 0; i < graph->n; i++) {
        const wick_node *node = graph->nodes[i];
        r->layer[i] = is_layer(q, &r->s, node) ? n_layers++ : -1;
        int o = 0;
        while (ops[o] && ops[o] != node->op && o < wick_ops_count() + 63) o++;
        ops[o] = node->op;
        for (int k = 0; k < node->n_out; k++) {
            const wick_value *v = &node->out[k];
            r->site[v->id] = -1;
            if (r->s.fixed[v->id] || v->type.dtype != WICK_F32) continue;
            if (wick_quantizer_is_move(node)) {
                r->site[v->id] = r->site[node->in[0]->id];
                continue;
            }
            const site is = {.op = node->op, .ordinal = met[o], .out = k, .joined = n};
            if (first)
                q->sites[q->n_sites++] = is;
            else if (n >= q->n_sites || q->sites[n].op != is.op || q->sites[n].ordinal != is.ordinal)
                goto other;
            r->site[v->id] = n++;
            if (first && node->op == &wick_op_concat) join(q, r, node);
        }
        met[o]++;
    }
    if (first) q->n_layers = n_layers;
    if (n == q->n_sites && n_layers == q->n_layers) return WICK_OK;
other:
    return wick_msg_set(&q->ctx->msg, WICK_ERR_UNSUPPORTED,
                        "quantizer: for inputs of these extents the function records other ops than it was made for");
}

static void want(reading *r, const wick_value *v) {
    if (r->site[v->id] >= 0) r->quantised[r->site[v->id]] = true;
}
/* What layers that aren't kept take, and what of convolutions is added, averaged or joined. */
static wick_status choose(const wick_quantizer *q, reading *r) {
    const wick_graph *graph = r->s.graph;
    r->quantised = wick_arena_zalloc(&r->s.arena, (size_t)q->n_sites + 1);
    r->from_conv = wick_arena_zalloc(&r->s.arena, (size_t)r->s.n_values + 1);
    if (!r->quantised || !r->from_conv) return out_of_memory(q->ctx);
    for (size_t i = 0; i < graph->n && !weights_alone(q); i++) {
        const wick_node *node = graph->nodes[i];
        const int l = r->layer[i];
        const bool quantised = l >= 0 && (!q->layers || !q->layers[l].kept);
        bool all = node->n_in > 0, any = false; /* of what varies: is it from convolutions? */
        for (int k = 0; k < node->n_in; k++) {
            const wick_value *v = node->in[k];
            if (r->s.fixed[v->id]) continue;
            all = all && r->from_conv[v->id], any = any || r->from_conv[v->id];
        }
        if (quantised) want(r, node->in[0]);
        const bool adds = is_elementwise(node) && node->op->ew == WICK_EW_add && node->in[0] != node->in[1] &&
                          !r->s.fixed[node->in[0]->id] && !r->s.fixed[node->in[1]->id],
                   pools = node->op == &wick_op_avg_pool || node->op == &wick_op_mean || node->op == &wick_op_concat;
        for (int k = 0; all && any && (adds || pools) && k < node->n_in; k++) want(r, node->in[k]);
        const bool goes_on = all && any && (is_elementwise(node) || wick_quantizer_is_move(node) || pools);
        for (int k = 0; k < node->n_out; k++)
            r->from_conv[node->out[k].id] = (quantised && node->op == &wick_op_conv) || goes_on;
    }
    return WICK_OK;
}

wick_status wick_quantizer_read(wick_quantizer *q, reading *r, wick_context *ctx, wick_tensor *const *in) {
    *r = (reading){0};
    WICK_TRY(wick_subject_record(&r->s, ctx, "quantizer", q->fn, q->user, q->n_in, in, q->n_out, true));
    WICK_TRY(find_sites(q, r));
    WICK_TRY(wick_quantizer_find_groups(q, r));
    return choose(q, r);
}
