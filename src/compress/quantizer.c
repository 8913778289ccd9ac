/* quantizer.c: post-training quantisation to 8 bits. What a function records is read four times, each time by the same
 * walk over the same subject: to find its layers, to read their weights, to observe its activations, and to record it
 * again with quantize and dequantize nodes in it. */
#define WICK_NO_SITES
#include "compress/calibrate.h"
#include "compress/subject.h"
#include "exec/exec.h"
#include "wick/compress.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"

#include <math.h>
#include <stdio.h>

enum { LEVELS = 256 };

typedef struct layer {
    char *name;
    const wick_op *op;
    wick_type type; /* of the weights, as the product reads them */
    int axis;       /* of output channels */
    float *weights; /* with the scales behind the product */
    float *bias;    /* of a convolution, likewise; or NULL */
    char *bias_name;
    bool kept;
    int site; /* of what it takes */
    double sqnr;
    wick_tensor *q, *scale, *bias_q, *bias_scale; /* states of the quantizer's model; NULL: not made */
    wick_tensor *trained, *bias_trained;          /* states of the model that is trained, in f32; NULL: there is none */
} layer;

/* An activation: result `out` of the node that is the ordinal-th of its op. What only moves its elements, or takes the
 * largest of them, is the same one. */
typedef struct site {
    const wick_op *op;
    int ordinal, out;
    int joined;                  /* the first of those that a concat joins; itself: none */
    wick_calibrator *calibrator; /* NULL: it stays in floats */
    double low, high;
    double scale;
    int zero;
} site;

struct wick_quantizer {
    wick_context *ctx;
    wick_model *source, *model;
    wick_model *trained;  /* NULL: it isn't */
    wick_tensor **copies; /* of the source's states, by their number: those that are trained with the layers */
    int n_copies;
    wick_function fn;
    void *user;
    int n_in, n_out;
    wick_spec *in;
    wick_quantizer_options options;
    wick_arena arena;
    layer *layers;
    int n_layers;
    site *sites;
    int n_sites, n_observed;
    wick_plan *plan; /* of the activations that are observed */
    wick_workspace *workspace;
    void **seen;
    int64_t observations;
    bool finished;
};

static int most_weight(const wick_quantizer *q) { return q->options.reduce_range ? 63 : 127; }

static wick_status out_of_memory(wick_context *ctx) {
    return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory quantising");
}

/* ---- what is quantised ------------------------------------------------------------------------------------------- */

typedef struct reading {
    wick_subject s;
    int *site;       /* by value: its number, or -1 */
    int *layer;      /* by node (position): its number, or -1 */
    bool *quantised; /* by site: each reader gets what its 8 bits say */
    bool *from_conv; /* by value: a convolution's result, or what elementwise ops, pools and moves make of some */
} reading;

static bool is_elementwise(const wick_node *node) { return node->op->flags & WICK_OP_ELEMENTWISE; }
static bool is_move(const wick_node *node) {
    return node->op == &wick_op_reshape || node->op == &wick_op_permute || node->op == &wick_op_slice ||
           node->op == &wick_op_expand || node->op == &wick_op_max_pool;
}
static bool is_layer(const wick_subject *s, const wick_node *node) {
    const bool conv = node->op == &wick_op_conv, matmul = node->op == &wick_op_matmul;
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
        r->layer[i] = is_layer(&r->s, node) ? n_layers++ : -1;
        int o = 0;
        while (ops[o] && ops[o] != node->op && o < wick_ops_count() + 63) o++;
        ops[o] = node->op;
        for (int k = 0; k < node->n_out; k++) {
            const wick_value *v = &node->out[k];
            r->site[v->id] = -1;
            if (r->s.fixed[v->id] || v->type.dtype != WICK_F32) continue;
            if (is_move(node)) {
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
    for (size_t i = 0; i < graph->n; i++) {
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
        const bool goes_on = all && any && (is_elementwise(node) || is_move(node) || pools);
        for (int k = 0; k < node->n_out; k++)
            r->from_conv[node->out[k].id] = (quantised && node->op == &wick_op_conv) || goes_on;
    }
    return WICK_OK;
}

/* Reads what fn records for inputs like in[]. Whatever it returns, r->s is to be freed. */
static wick_status read(wick_quantizer *q, reading *r, wick_context *ctx, wick_tensor *const *in) {
    *r = (reading){0};
    WICK_TRY(wick_subject_record(&r->s, ctx, "quantizer", q->fn, q->user, q->n_in, in, q->n_out));
    WICK_TRY(find_sites(q, r));
    return choose(q, r);
}

/* ---- recording again --------------------------------------------------------------------------------------------- */

/* What a walk over the subject makes of it. */
typedef enum purpose {
    FLOATS,
    TRAINED, /* in floats that are what 8 bits say, and let gradients through */
    QUANTISED
} purpose;

typedef struct replay {
    wick_quantizer *q;
    reading *r;
    purpose purpose;
    bool *needed;       /* by node */
    wick_tensor **made; /* by value: as its node gives it */
    wick_tensor **read; /* by value: as others read it */
} replay;

/* Whether its weights are others than those that fn gives it. */
static bool is_changed_layer(const replay *p, const wick_node *node) {
    const int l = p->r->layer[node->position];
    return p->purpose != FLOATS && l >= 0 && (!p->q->layers[l].kept || p->q->trained);
}

static wick_status replay_new(replay *p, wick_quantizer *q, reading *r, purpose why) {
    *p = (replay){.q = q, .r = r, .purpose = why};
    const size_t n = (size_t)r->s.n_values + 1;
    p->needed = wick_arena_zalloc(&r->s.arena, r->s.graph->n + 1);
    p->made = wick_arena_zalloc(&r->s.arena, n * sizeof(wick_tensor *));
    p->read = wick_arena_zalloc(&r->s.arena, n * sizeof(wick_tensor *));
    return p->needed && p->made && p->read ? WICK_OK : out_of_memory(q->ctx);
}
static void need(const replay *p, const wick_value *v) { p->needed[v->node->position] = true; }

/* The name of the state that a value is, or is made of: one beside `near`, "conv1.bias" of "conv1.weight", or the
 * largest. NULL: none. */
static const char *state_name(const wick_quantizer *q, const wick_subject *s, const wick_value *v, const char *near) {
    const char *name = NULL, *dot = near ? strrchr(near, '.') : NULL;
    int64_t most = -1;
    const wick_node *stack[64];
    int n = 0;
    stack[n++] = v->node;
    while (n) {
        const wick_node *node = stack[--n];
        for (int k = 0; k < node->n_in && n < (int)WICK_COUNTOF(stack); k++) stack[n++] = node->in[k]->node;
        if (node->op != &wick_op_data) continue;
        const wick_value *leaf = s->leaf[node->slot[0]]->value;
        for (int i = 0; i < wick_model_count(q->source); i++) {
            const wick_named state = wick_model_at(q->source, i);
            const bool beside = dot && strncmp(state.name, near, (size_t)(dot - near) + 1) == 0;
            const int64_t count = beside ? INT64_MAX : wick_tensor_count(state.tensor);
            if (state.tensor->value == leaf && count > most) most = count, name = state.name;
        }
    }
    return name;
}

/* A copy of a state, for the model that is trained. */
static wick_status copy_state(wick_quantizer *q, wick_named state, wick_tensor **out) {
    char name[WICK_MSG_MAX];
    const void *data;
    WICK_TRY(wick_data(state.tensor, &data));
    const wick_type *t = &state.tensor->value->type;
    wick_tensor *copy = wick_from(q->ctx, (wick_dtype)t->dtype, t->rank, t->dims, data);
    if (copy->error) return wick_fail_poison(q->ctx, copy);
    snprintf(name, sizeof name, "%s%s", state.name, wick_model_find(q->trained, state.name) ? "_f32" : "");
    WICK_TRY(wick_model_adopt(q->trained, name, state.role, copy));
    *out = wick_model_find(q->trained, name);
    return WICK_OK;
}

/* What stands for a leaf: a state of the source is one of the quantizer's model too, and parameters are trained. */
static wick_status run_leaf(const replay *p, const wick_node *node, wick_tensor **out) {
    wick_quantizer *q = p->q;
    *out = p->r->s.leaf[node->slot[0]];
    for (int i = 0; i < wick_model_count(q->source) && p->purpose != FLOATS; i++) {
        const wick_named state = wick_model_at(q->source, i);
        if (state.tensor->value != (*out)->value) continue;
        wick_tensor **copy = i < q->n_copies ? &q->copies[i] : NULL;
        if (copy && !*copy && p->purpose == TRAINED && state.role == WICK_ROLE_PARAM)
            WICK_TRY(copy_state(q, state, copy));
        if (copy && *copy) *out = *copy;
        if (p->purpose == TRAINED || wick_model_find(q->model, state.name)) return WICK_OK;
        return wick_model_adopt(q->model, state.name, state.role == WICK_ROLE_OPTIM ? WICK_ROLE_BUFFER : state.role,
                                *out);
    }
    return WICK_OK;
}

/* Through 8 bits and back. */
static wick_tensor *through_bits(wick_context *ctx, const site *s, wick_tensor *x) {
    wick_tensor *scale = wick_constant(ctx, WICK_F32, s->scale), *zero = wick_constant(ctx, WICK_U8, s->zero);
    return wick_dequantize(wick_quantize(x, scale, zero, 0, WICK_U8), scale, zero, 0);
}
/* The value of `bits`, and the gradient of x (Bengio et al. 2013, the straight-through estimator): x - x is 0. */
static wick_tensor *straight_through(wick_tensor *bits, wick_tensor *x) {
    return wick_add(wick_stop_gradient(bits), wick_sub(x, wick_stop_gradient(x)));
}
/* Gradients pass within the range. */
static wick_tensor *trained_activation(wick_context *ctx, const site *s, wick_tensor *x) {
    const double low = -s->zero * s->scale, high = (LEVELS - 1 - s->zero) * s->scale;
    return straight_through(through_bits(ctx, s, x), wick_clip(x, low, high));
}
/* By scales of the weights as they are. */
static wick_tensor *trained_weights(const wick_quantizer *q, const layer *l) {
    wick_tensor *w = wick_stop_gradient(l->trained), *all = wick_abs(w);
    int axes[WICK_MAX_DIMS], n = 0;
    for (int d = 0; d < l->type.rank; d++)
        if (d != l->axis || q->options.per_tensor) axes[n++] = d;
    wick_tensor *largest = n == l->type.rank ? wick_max(all, WICK_ALL_AXES, false) : wick_max(all, n, axes, false);
    wick_tensor *scale = wick_maximum(wick_mul(largest, wick_like(largest, 1.0 / most_weight(q))),
                                      wick_like(largest, 0x1p-100)); /* of zeros alone */
    return straight_through(wick_dequantize(wick_quantize(w, scale, NULL, l->axis, WICK_I8), scale, NULL, l->axis),
                            l->trained);
}

/* A trained parameter is a state of the quantizer's model. */
static wick_status keep_trained(wick_quantizer *q, const char *name, wick_tensor *t, wick_tensor **in) {
    *in = t;
    if (wick_model_find(q->model, name)) return WICK_OK;
    return wick_model_adopt(q->model, name, WICK_ROLE_PARAM, t);
}
/* The layer's weights, and its bias, in place of what fn gives it. */
static wick_status layer_inputs(const replay *p, const layer *l, wick_tensor **in) {
    if (p->purpose == TRAINED) {
        in[1] = l->kept ? l->trained : trained_weights(p->q, l);
        if (l->bias) in[2] = l->bias_trained;
    } else if (l->kept) {
        WICK_TRY(keep_trained(p->q, l->name, l->trained, &in[1]));
        if (l->bias) WICK_TRY(keep_trained(p->q, l->bias_name, l->bias_trained, &in[2]));
    } else {
        in[1] = wick_dequantize(l->q, l->scale, NULL, l->axis);
        if (l->bias) in[2] = wick_dequantize(l->bias_q, l->bias_scale, NULL, 0);
    }
    return WICK_OK;
}

static wick_status run_node(const replay *p, const wick_node *node) {
    wick_context *ctx = p->q->ctx;
    wick_tensor *small[8], **in = small, *out_small[4], **out = out_small;
    if (node->n_in > (int)WICK_COUNTOF(small) || node->n_out > (int)WICK_COUNTOF(out_small)) {
        in = wick_arena_alloc(&p->r->s.arena, ((size_t)node->n_in + node->n_out) * sizeof(wick_tensor *));
        if (!in) return out_of_memory(ctx);
        out = in + node->n_in;
    }
    for (int k = 0; k < node->n_in; k++) in[k] = p->read[node->in[k]->id];
    if (is_changed_layer(p, node)) {
        const layer *l = &p->q->layers[p->r->layer[node->position]];
        wick_here(node->site);
        WICK_TRY(layer_inputs(p, l, in));
        out[0] = wick_record(NULL, node->op, node->n_in, in, node->attr, node->attr_size);
    } else if (node->op == &wick_op_data) {
        WICK_TRY(run_leaf(p, node, out));
    } else {
        wick_subject_again(&p->r->s, node, in, out);
    }
    for (int k = 0; k < node->n_out; k++) {
        const uint32_t id = node->out[k].id;
        const int at = p->r->site[id];
        if (out[k]->error) return wick_fail_poison(ctx, out[k]);
        p->made[id] = p->read[id] = out[k];
        if (p->purpose == FLOATS || at < 0 || !p->r->quantised[at]) continue;
        p->read[id] = p->purpose == TRAINED ? trained_activation(ctx, &p->q->sites[at], out[k])
                                            : through_bits(ctx, &p->q->sites[at], out[k]);
    }
    return WICK_OK;
}

/* Records what is needed. */
static wick_status run(const replay *p) {
    const wick_graph *graph = p->r->s.graph;
    for (size_t i = graph->n; i-- > 0;) {
        const wick_node *node = graph->nodes[i];
        /* other weights, and another bias, are there already */
        for (int k = 0; p->needed[i] && k < (is_changed_layer(p, node) ? 1 : node->n_in); k++) need(p, node->in[k]);
    }
    for (size_t i = 0; i < graph->n; i++)
        if (p->needed[i]) WICK_TRY(run_node(p, graph->nodes[i]));
    return WICK_OK;
}

/* ---- finding layers and weights ---------------------------------------------------------------------------------- */

static wick_status name_layer(wick_quantizer *q, const reading *r, const wick_node *node, int i) {
    layer *l = &q->layers[i];
    char made[WICK_MSG_MAX];
    const char *name = state_name(q, &r->s, node->in[1], NULL);
    if (name)
        snprintf(made, sizeof made, "%s", name);
    else
        snprintf(made, sizeof made, "%s_%d", node->op->name, i + 1);
    for (int k = 0, times = 1; k < i; k++) /* one weight, read by several layers */
        if (strcmp(q->layers[k].name, made) == 0)
            snprintf(made, sizeof made, "%.200s_%d", name ? name : node->op->name, ++times), k = -1;
    l->name = wick_arena_strdup(&q->arena, made);
    const char *bias = node->op == &wick_op_conv && node->n_in > 2 ? state_name(q, &r->s, node->in[2], l->name) : NULL;
    snprintf(made, sizeof made, "%.200s_bias", l->name ? l->name : "");
    for (int k = 0; k < i && bias; k++)
        if (q->layers[k].bias_name && strcmp(q->layers[k].bias_name, bias) == 0) bias = NULL;
    l->bias_name = wick_arena_strdup(&q->arena, bias ? bias : made);
    return l->name && l->bias_name ? WICK_OK : out_of_memory(q->ctx);
}

static wick_status note_layers(wick_quantizer *q, const reading *r) {
    const wick_graph *graph = r->s.graph;
    q->layers = wick_arena_zalloc(&q->arena, ((size_t)q->n_layers + 1) * sizeof *q->layers);
    if (!q->layers) return out_of_memory(q->ctx);
    for (size_t i = 0; i < graph->n; i++) {
        const wick_node *node = graph->nodes[i];
        if (r->layer[i] < 0) continue;
        layer *l = &q->layers[r->layer[i]];
        l->op = node->op;
        l->type = node->in[1]->type;
        l->axis = node->op == &wick_op_conv ? 0 : 1;
        l->site = r->site[node->in[0]->id];
        WICK_TRY(name_layer(q, r, node, r->layer[i]));
        l->weights = wick_arena_alloc(&q->arena, wick_type_bytes(&l->type) + 1);
        if (node->op == &wick_op_conv && node->n_in > 2)
            l->bias = wick_arena_alloc(&q->arena, (size_t)l->type.dims[0] * sizeof *l->bias + 1);
        if (!l->weights || (node->op == &wick_op_conv && node->n_in > 2 && !l->bias)) return out_of_memory(q->ctx);
    }
    return WICK_OK;
}

/* The first reading: layers, and which activations are observed. */
static wick_status discover(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    reading r;
    replay p;
    wick_status status = read(q, &r, ctx, in);
    for (size_t i = 0; status == WICK_OK && i < r.s.graph->n; i++)
        if (r.s.graph->nodes[i]->op == &wick_op_quantize || r.s.graph->nodes[i]->op == &wick_op_dequantize)
            status = wick_msg_set(&ctx->msg, WICK_ERR_UNSUPPORTED, "quantizer: the function is quantised already");
    if (status == WICK_OK) status = note_layers(q, &r);
    for (int i = 0; status == WICK_OK && i < q->n_sites; i++) {
        if (!r.quantised[i]) continue;
        q->n_observed++;
        q->sites[i].calibrator = wick_arena_alloc(&q->arena, sizeof *q->sites[i].calibrator);
        if (q->sites[i].calibrator)
            q->sites[i].calibrator->n = 0;
        else
            status = out_of_memory(ctx);
    }
    if (status == WICK_OK) status = replay_new(&p, q, &r, FLOATS);
    for (int i = 0; status == WICK_OK && i < q->n_out; i++) need(&p, r.s.graph->outputs[i]);
    if (status == WICK_OK) status = run(&p);
    for (int i = 0; status == WICK_OK && i < q->n_out; i++) out[i] = p.made[r.s.graph->outputs[i]->id];
    wick_subject_free(&r.s);
    return status;
}

/* The weights of all layers, and the biases of convolutions. */
static wick_status read_weights(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    reading r;
    replay p;
    wick_status status = read(q, &r, ctx, in);
    if (status == WICK_OK) status = replay_new(&p, q, &r, FLOATS);
    for (size_t i = 0; status == WICK_OK && i < r.s.graph->n; i++)
        for (int k = 1; r.layer[i] >= 0 && k < r.s.graph->nodes[i]->n_in; k++) need(&p, r.s.graph->nodes[i]->in[k]);
    if (status == WICK_OK) status = run(&p);
    int n = 0;
    for (size_t i = 0; status == WICK_OK && i < r.s.graph->n; i++)
        for (int k = 1; r.layer[i] >= 0 && k < r.s.graph->nodes[i]->n_in; k++)
            out[n++] = p.made[r.s.graph->nodes[i]->in[k]->id];
    wick_subject_free(&r.s);
    return status;
}

/* The activations that are observed, in the order of sites. */
static wick_status observed(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    reading r;
    replay p;
    wick_status status = read(q, &r, ctx, in);
    if (status == WICK_OK) status = replay_new(&p, q, &r, FLOATS);
    for (int pass = 0; status == WICK_OK && pass < 2; pass++) {
        const wick_graph *graph = r.s.graph;
        int n = 0;
        for (size_t i = 0; i < graph->n; i++)
            for (int k = 0; k < graph->nodes[i]->n_out && !is_move(graph->nodes[i]); k++) {
                const wick_value *v = &graph->nodes[i]->out[k];
                if (r.site[v->id] < 0 || !q->sites[r.site[v->id]].calibrator) continue;
                if (pass)
                    out[n++] = p.made[v->id];
                else
                    need(&p, v);
            }
        if (!pass) status = run(&p);
    }
    wick_subject_free(&r.s);
    return status;
}

/* Runs the plan of read_weights once. */
static wick_status fetch_weights(wick_quantizer *q) {
    int n = 0;
    for (int i = 0; i < q->n_layers; i++) n += 1 + (q->layers[i].bias != NULL);
    void **out = wick_arena_zalloc(&q->arena, ((size_t)n + 1) * sizeof(void *));
    const void **in = wick_arena_zalloc(&q->arena, ((size_t)q->n_in + 1) * sizeof(void *));
    if (!out || !in) return out_of_memory(q->ctx);
    wick_plan *plan = NULL;
    wick_workspace *workspace = NULL;
    wick_status status = wick_compile(q->ctx, read_weights, q, q->n_in, q->in, n, NULL, &plan);
    if (status == WICK_OK) status = wick_workspace_new(plan, &workspace);
    n = 0;
    for (int i = 0; i < q->n_layers; i++) {
        out[n++] = q->layers[i].weights;
        if (q->layers[i].bias) out[n++] = q->layers[i].bias;
    }
    for (int k = 0; k < q->n_in && status == WICK_OK; k++) { /* nothing reads them */
        const size_t bytes = wick_spec_bytes(&q->in[k]);
        in[k] = wick_arena_zalloc(&q->arena, bytes + 1);
        if (!in[k]) status = out_of_memory(q->ctx);
    }
    if (status == WICK_OK && (status = wick_run(workspace, in, out)) != WICK_OK)
        wick_msg_set(&q->ctx->msg, status, "quantizer: %s", wick_workspace_error(workspace));
    wick_workspace_free(&workspace);
    wick_plan_free(&plan);
    return status;
}

/* ---- making, observing ------------------------------------------------------------------------------------------- */

static wick_status keep_by_name(wick_quantizer *q, const char *pattern) {
    int n = 0;
    for (int i = 0; i < q->n_layers && pattern; i++)
        if (wick_glob(pattern, q->layers[i].name)) q->layers[i].kept = true, n++;
    if (n || !pattern || !*pattern) return WICK_OK;
    return wick_msg_set(&q->ctx->msg, WICK_ERR_INVALID,
                        "quantizer: no layer's name matches \"%.100s\"; the first is %s", pattern, q->layers[0].name);
}

static wick_status prepare(wick_quantizer *q, const wick_spec *in, const wick_quantizer_options *o) {
    wick_context *ctx = q->ctx;
    q->in = wick_arena_zalloc(&q->arena, ((size_t)q->n_in + 1) * sizeof *q->in);
    if (!q->in) return out_of_memory(ctx);
    memcpy(q->in, in, (size_t)q->n_in * sizeof *q->in);
    for (int k = 0; k < q->n_in; k++) q->in[k].name = NULL;
    wick_arena scratch;
    wick_arena_init(&scratch, &ctx->alloc, 0);
    wick_recording recording;
    wick_status status = wick_recording_make(ctx, discover, q, q->n_in, q->in, q->n_out, &scratch, &recording);
    if (status == WICK_OK) wick_recording_drop(&recording);
    wick_arena_free(&scratch);
    WICK_TRY(status);
    if (!q->n_layers)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "quantizer: the function has no convolution and no product of f32 with weights");
    WICK_TRY(keep_by_name(q, o->keep));
    WICK_TRY(fetch_weights(q));
    WICK_TRY(wick_compile(ctx, observed, q, q->n_in, q->in, q->n_observed, NULL, &q->plan));
    WICK_TRY(wick_workspace_new(q->plan, &q->workspace));
    q->seen = wick_arena_zalloc(&q->arena, ((size_t)q->n_observed + 1) * sizeof(void *));
    for (int i = 0; i < q->n_observed && q->seen; i++) {
        const wick_spec spec = wick_plan_output(q->plan, i);
        if (!(q->seen[i] = wick_arena_alloc(&q->arena, wick_spec_bytes(&spec) + 1))) return out_of_memory(ctx);
    }
    return q->seen ? WICK_OK : out_of_memory(ctx);
}

wick_status wick_quantizer_new(wick_context *ctx, wick_model *model, wick_function fn, void *user, int n_in,
                               const wick_spec *in, int n_out, const wick_quantizer_options *options,
                               wick_quantizer **out) {
    if (!ctx) return WICK_ERR_INVALID;
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: out is NULL");
    *out = NULL;
    if (!model || !fn || n_in < 1 || !in || n_out < 1)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: needs a model, a function with inputs and outputs");
    wick_quantizer_options o = options ? *options : (wick_quantizer_options){0};
    if (o.percentile == 0) o.percentile = 99.999;
    if (o.momentum == 0) o.momentum = 0.9;
    if ((unsigned)o.calibration > WICK_CALIBRATE_MSE || !(o.percentile > 50 && o.percentile <= 100) ||
        !(o.momentum > 0 && o.momentum < 1))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "quantizer: no such calibration, or percentile %g is not above 50 and at most 100, or "
                                 "momentum %g not between 0 and 1",
                                 o.percentile, o.momentum);
    wick_quantizer *q = wick_calloc(&ctx->alloc, sizeof *q);
    if (!q) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory quantising");
    *q = (wick_quantizer){
        .ctx = ctx, .source = model, .fn = fn, .user = user, .n_in = n_in, .n_out = n_out, .options = o};
    wick_arena_init(&q->arena, &ctx->alloc, 0);
    const wick_status status = prepare(q, in, &o);
    q->options.keep = NULL; /* the caller's */
    if (status != WICK_OK) wick_quantizer_free(&q);
    *out = q;
    return status;
}

void wick_quantizer_free(wick_quantizer **q) {
    if (!q || !*q) return;
    wick_context *ctx = (*q)->ctx;
    wick_workspace_free(&(*q)->workspace);
    wick_plan_free(&(*q)->plan);
    wick_model_free(&(*q)->model);
    wick_model_free(&(*q)->trained);
    wick_arena_free(&(*q)->arena);
    wick_release(&ctx->alloc, *q, sizeof **q);
    *q = NULL;
}

/* "conv1.weight", the layer that takes what site i is. */
static const char *reader(const wick_quantizer *q, int i) {
    for (int k = 0; k < q->n_layers; k++)
        if (q->layers[k].site == i) return q->layers[k].name;
    return q->sites[i].op->name;
}

wick_status wick_quantizer_observe(wick_quantizer *q, const void *const *in) {
    if (!q) return WICK_ERR_INVALID;
    if (!in) return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: in is NULL");
    const wick_status status = wick_run(q->workspace, in, q->seen);
    if (status != WICK_OK)
        return wick_context_fail(q->ctx, status, "quantizer: %s", wick_workspace_error(q->workspace));
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0, n = 0; i < q->n_sites; i++) {
            if (!q->sites[i].calibrator) continue;
            const wick_spec spec = wick_plan_output(q->plan, n);
            const int64_t count = (int64_t)(wick_spec_bytes(&spec) / sizeof(float));
            const float *x = q->seen[n++];
            if (pass)
                wick_calibrator_add(q->sites[i].calibrator, x, count, q->options.momentum);
            else if (!wick_calibrator_fits(x, count))
                return wick_context_fail(q->ctx, WICK_ERR_INVALID,
                                         "quantizer: NaN or Inf in what %s takes: nothing of this batch was counted",
                                         reader(q, i));
        }
    q->observations++;
    return WICK_OK;
}

/* ---- scales and integers ----------------------------------------------------------------------------------------- */

/* The element of channel c that is number j of it: weights lie [c, ...] or [..., c]. */
static size_t place(const layer *l, int64_t c, int64_t j) {
    const int64_t channels = l->type.dims[l->axis], each = wick_type_count(&l->type) / WICK_MAX(channels, 1);
    return (size_t)(l->axis == 0 ? c * each + j : j * channels + c);
}

/* The largest magnitude of each channel over that of the integers; one that is nothing but zeros has the largest scale
 * of all. */
static wick_status weight_scales(const wick_quantizer *q, const layer *l, double input_scale, float *scale) {
    const int64_t channels = l->type.dims[l->axis], each = wick_type_count(&l->type) / WICK_MAX(channels, 1);
    float most = 0;
    for (int64_t c = 0; c < channels; c++) {
        float largest = 0;
        for (int64_t j = 0; j < each; j++) {
            const float w = l->weights[place(l, c, j)];
            if (!isfinite(w) || (l->bias && !isfinite(l->bias[c])))
                return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: weights %s have NaN or Inf", l->name);
            largest = fmaxf(largest, fabsf(w));
        }
        scale[c] = largest / (float)most_weight(q);
        most = fmaxf(most, scale[c]);
    }
    if (!(most > 0)) most = 1;
    for (int64_t c = 0; c < channels; c++) {
        if (!(scale[c] > 0) || q->options.per_tensor) scale[c] = most;
        /* a bias of more than 2^30 units has wider ones, and weights of fewer bits */
        const double bias = l->bias ? fabs((double)l->bias[c]) : 0, least = bias / (input_scale * 0x1p30);
        if ((double)scale[c] < least) scale[c] = (float)least;
    }
    return WICK_OK;
}

static wick_status state(wick_quantizer *q, const char *name, const char *end, wick_dtype dtype, int rank,
                         const int64_t *dims, const void *data, wick_tensor **out) {
    char full[WICK_MSG_MAX];
    snprintf(full, sizeof full, "%s%s", name, end);
    wick_tensor *t = wick_from(q->ctx, dtype, rank, dims, data);
    *out = NULL;
    if (t->error) return wick_fail_poison(q->ctx, t);
    WICK_TRY(wick_model_adopt(q->model, full, WICK_ROLE_BUFFER, t));
    *out = wick_model_find(q->model, full);
    return WICK_OK;
}

static wick_status make_layer(wick_quantizer *q, layer *l, float *scale, int8_t *bytes, int32_t *bias) {
    const int64_t channels = l->type.dims[l->axis], each = wick_type_count(&l->type) / WICK_MAX(channels, 1);
    const double input_scale = q->sites[l->site].scale;
    WICK_TRY(weight_scales(q, l, input_scale, scale));
    double signal = 0, noise = 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t j = 0; j < each; j++) {
            const size_t at = place(l, c, j);
            const float w = l->weights[at],
                        held = fminf(fmaxf(rintf(w / scale[c]), -(float)most_weight(q)), (float)most_weight(q));
            const double error = (double)w - (double)held * (double)scale[c];
            bytes[at] = (int8_t)held;
            signal += (double)w * (double)w, noise += error * error;
        }
    l->sqnr = noise > 0 ? 10 * log10(signal / noise) : INFINITY;
    WICK_TRY(state(q, l->name, "", WICK_I8, l->type.rank, l->type.dims, bytes, &l->q));
    WICK_TRY(state(q, l->name, "_scale", WICK_F32, 1, &channels, scale, &l->scale));
    if (!l->bias) return WICK_OK;
    for (int64_t c = 0; c < channels; c++) {
        const float unit = (float)input_scale * scale[c];
        bias[c] = (int32_t)rint((double)l->bias[c] / (double)unit);
        scale[c] = unit;
    }
    WICK_TRY(state(q, l->bias_name, "", WICK_I32, 1, &channels, bias, &l->bias_q));
    return state(q, l->bias_name, "_scale", WICK_F32, 1, &channels, scale, &l->bias_scale);
}

/* What is joined has one scale, so that bytes are joined; but not where one part would lose more than half of its
 * levels by that. */
static void join_ranges(wick_quantizer *q, int joined) {
    double low = 0, high = 0, least = INFINITY;
    for (int i = 0; i < q->n_sites; i++) {
        const site *s = &q->sites[i];
        if (s->joined != joined || !s->calibrator) continue;
        low = fmin(low, s->low), high = fmax(high, s->high);
        least = fmin(least, s->high - s->low);
    }
    for (int i = 0; i < q->n_sites && least >= (high - low) / 2; i++)
        if (q->sites[i].joined == joined) q->sites[i].low = low, q->sites[i].high = high;
}
static void make_scales(wick_quantizer *q) {
    for (int i = 0; i < q->n_sites; i++) {
        site *s = &q->sites[i];
        if (s->calibrator && s->calibrator->n)
            wick_calibrator_range(s->calibrator, q->options.calibration, q->options.percentile, &s->low, &s->high);
    }
    for (int i = 0; i < q->n_sites; i++) join_ranges(q, i);
    for (int i = 0; i < q->n_sites; i++) {
        site *s = &q->sites[i];
        s->scale = (double)(float)((s->high - s->low) / (LEVELS - 1));
        if (!(s->scale >= 0x1p-120)) s->scale = 1; /* nothing but zeros, or next to it */
        s->zero = (int)rint(-s->low / s->scale);
    }
}

static wick_status take_trained(wick_quantizer *q);

wick_status wick_quantizer_finish(wick_quantizer *q) {
    if (!q) return WICK_ERR_INVALID;
    wick_context *ctx = q->ctx;
    if (!q->observations) return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: nothing was observed");
    q->finished = false;
    wick_model_free(&q->model);
    WICK_TRY(take_trained(q));
    make_scales(q);
    size_t largest = 0, channels = 0;
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        l->q = l->scale = l->bias_q = l->bias_scale = NULL;
        l->sqnr = NAN;
        largest = WICK_MAX(largest, (size_t)wick_type_count(&l->type));
        channels = WICK_MAX(channels, (size_t)l->type.dims[l->axis]);
    }
    const size_t size = channels * 8 + largest + 1;
    float *scale = wick_alloc(&ctx->alloc, size);
    wick_scope *scope = scale ? wick_scope_open(ctx) : NULL;
    wick_status status = scope ? wick_model_new(ctx, &q->model) : out_of_memory(ctx);
    for (int i = 0; i < q->n_layers && status == WICK_OK; i++)
        if (!q->layers[i].kept)
            status =
                make_layer(q, &q->layers[i], scale, (int8_t *)(scale + 2 * channels), (int32_t *)(scale + channels));
    wick_scope_close(&scope);
    wick_release(&ctx->alloc, scale, size);
    q->finished = status == WICK_OK;
    if (status != WICK_OK) wick_model_free(&q->model);
    return status;
}

static wick_status apply(wick_quantizer *q, purpose why, wick_tensor *const *in, wick_tensor **out) {
    reading r;
    replay p;
    wick_status status = read(q, &r, q->ctx, in);
    if (status == WICK_OK) status = replay_new(&p, q, &r, why);
    for (int i = 0; status == WICK_OK && i < q->n_out; i++) need(&p, r.s.graph->outputs[i]);
    if (status == WICK_OK) status = run(&p);
    for (int i = 0; status == WICK_OK && i < q->n_out; i++) out[i] = p.made[r.s.graph->outputs[i]->id];
    wick_subject_free(&r.s);
    return status;
}
wick_status wick_quantizer_apply(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    if (q && ctx == q->ctx && q->finished && in && out) return apply(q, QUANTISED, in, out);
    return wick_context_fail(ctx, WICK_ERR_INVALID,
                             "quantizer: wick_quantizer_finish comes before it, and after wick_quantizer_keep");
}
wick_status wick_quantizer_apply_trained(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    if (q && ctx == q->ctx && q->trained && in && out) return apply(q, TRAINED, in, out);
    return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: wick_quantizer_start_training comes before it");
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* A layer's weights or bias, as a parameter. */
static wick_status start(wick_quantizer *q, const char *name, int rank, const int64_t *dims, const float *data,
                         wick_tensor **out) {
    wick_tensor *t = wick_from(q->ctx, WICK_F32, rank, dims, data);
    if (t->error) return wick_fail_poison(q->ctx, t);
    WICK_TRY(wick_model_adopt(q->trained, name, WICK_ROLE_PARAM, t));
    *out = wick_model_find(q->trained, name);
    return WICK_OK;
}

wick_status wick_quantizer_start_training(wick_quantizer *q) {
    if (!q) return WICK_ERR_INVALID;
    wick_context *ctx = q->ctx;
    if (!q->finished || q->trained)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 q->trained ? "quantizer: it is trained already"
                                            : "quantizer: wick_quantizer_finish comes before");
    q->n_copies = wick_model_count(q->source);
    q->copies = wick_arena_zalloc(&q->arena, ((size_t)q->n_copies + 1) * sizeof(wick_tensor *));
    wick_scope *scope = q->copies ? wick_scope_open(ctx) : NULL;
    wick_status status = scope ? wick_model_new(ctx, &q->trained) : out_of_memory(ctx);
    for (int i = 0; i < q->n_layers && status == WICK_OK; i++) {
        layer *l = &q->layers[i];
        status = start(q, l->name, l->type.rank, l->type.dims, l->weights, &l->trained);
        if (status == WICK_OK && l->bias)
            status = start(q, l->bias_name, 1, &l->type.dims[0], l->bias, &l->bias_trained);
    }
    wick_arena scratch;
    wick_arena_init(&scratch, &ctx->alloc, 0);
    wick_recording recording;
    if (status == WICK_OK) { /* makes all other states */
        wick_model_set_training(q->trained, true);
        status =
            wick_recording_make(ctx, wick_quantizer_apply_trained, q, q->n_in, q->in, q->n_out, &scratch, &recording);
        if (status == WICK_OK) wick_recording_drop(&recording);
    }
    wick_arena_free(&scratch);
    wick_scope_close(&scope);
    if (status != WICK_OK) {
        wick_model_free(&q->trained);
        q->n_copies = 0;
        for (int i = 0; i < q->n_layers; i++) q->layers[i].trained = q->layers[i].bias_trained = NULL;
    }
    return status;
}
wick_model *wick_quantizer_trained(wick_quantizer *q) { return q ? q->trained : NULL; }

/* The layers' weights are what training made of them. */
static wick_status take_trained(wick_quantizer *q) {
    for (int i = 0; i < q->n_layers && q->trained; i++) {
        layer *l = &q->layers[i];
        const void *data;
        WICK_TRY(wick_data(l->trained, &data));
        memcpy(l->weights, data, wick_type_bytes(&l->type));
        if (!l->bias) continue;
        WICK_TRY(wick_data(l->bias_trained, &data));
        memcpy(l->bias, data, (size_t)l->type.dims[0] * sizeof *l->bias);
    }
    return WICK_OK;
}

wick_model *wick_quantizer_model(wick_quantizer *q) { return q ? q->model : NULL; }
int wick_quantizer_layers(const wick_quantizer *q) { return q ? q->n_layers : 0; }

wick_quantizer_layer wick_quantizer_layer_at(const wick_quantizer *q, int i) {
    if (!q || i < 0 || i >= q->n_layers) return (wick_quantizer_layer){0};
    const layer *l = &q->layers[i];
    const bool made = q->finished && !l->kept;
    return (wick_quantizer_layer){.name = l->name,
                                  .op = l->op->name,
                                  .kept = l->kept,
                                  .weights = wick_type_count(&l->type),
                                  .weight_sqnr = made ? l->sqnr : (double)NAN,
                                  .low = made ? (float)q->sites[l->site].low : NAN,
                                  .high = made ? (float)q->sites[l->site].high : NAN};
}
void wick_quantizer_keep(wick_quantizer *q, int i, bool kept) {
    if (!q || i < 0 || i >= q->n_layers || q->layers[i].kept == kept) return;
    q->layers[i].kept = kept;
    q->finished = false;
}
