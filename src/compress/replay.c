/* replay.c: what a function records, recorded again: in floats, in integers, or in floats that are trained. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"

#include <math.h>
#include <stdio.h>

/* Whether its weights are others than those that fn gives it. */
static bool is_changed_layer(const replay *p, const wick_node *node) {
    const int l = p->r->layer[node->position];
    return p->purpose != FLOATS && l >= 0 && (!p->q->layers[l].kept || p->q->trained);
}

wick_status wick_replay_new(replay *p, wick_quantizer *q, reading *r, purpose why) {
    *p = (replay){.q = q, .r = r, .purpose = why};
    const size_t n = (size_t)r->s.n_values + 1;
    p->needed = wick_arena_zalloc(&r->s.arena, r->s.graph->n + 1);
    p->made = wick_arena_zalloc(&r->s.arena, n * sizeof(wick_tensor *));
    p->read = wick_arena_zalloc(&r->s.arena, n * sizeof(wick_tensor *));
    p->steps = wick_arena_zalloc(&r->s.arena, ((size_t)q->n_sites + 1) * sizeof(wick_tensor *));
    p->weights = wick_arena_zalloc(&r->s.arena, ((size_t)q->n_layers + 1) * sizeof(wick_tensor *));
    p->taken = wick_arena_zalloc(&r->s.arena, ((size_t)q->n_layers + 1) * sizeof(wick_tensor *));
    return p->needed && p->made && p->read && p->steps && p->weights && p->taken ? WICK_OK : out_of_memory(q->ctx);
}

wick_status wick_replay_floats(replay *p, wick_quantizer *q, reading *r, wick_context *ctx, wick_tensor *const *in) {
    WICK_TRY(wick_quantizer_read(q, r, ctx, in));
    return wick_replay_new(p, q, r, FLOATS);
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
    const bool trained = p->purpose == TRAINED || p->purpose == LIVE;
    *out = p->r->s.leaf[node->slot[0]];
    for (int i = 0; i < wick_model_count(q->source) && p->purpose != FLOATS; i++) {
        const wick_named state = wick_model_at(q->source, i);
        if (state.tensor->value != (*out)->value) continue;
        wick_tensor **copy = i < q->n_copies ? &q->copies[i] : NULL;
        if (copy && !*copy && trained && state.role == WICK_ROLE_PARAM) WICK_TRY(copy_state(q, state, copy));
        if (copy && *copy) *out = *copy;
        if (trained || wick_model_find(q->model, state.name)) return WICK_OK;
        return wick_model_adopt(q->model, state.name, state.role == WICK_ROLE_OPTIM ? WICK_ROLE_BUFFER : state.role,
                                *out);
    }
    return WICK_OK;
}

/* The scale of a site, the same tensor for all that read it. */
static wick_tensor *scale_of(const replay *p, int at) {
    const site *s = &p->q->sites[at];
    if (p->purpose == QUANTISED) return wick_constant(p->q->ctx, WICK_F32, s->scale);
    if (!p->steps[at]) p->steps[at] = wick_quantizer_live_scale(p->q->ctx, s);
    return p->steps[at];
}
/* Through 8 bits and back. */
static wick_tensor *through_bits(const replay *p, int at, wick_tensor *x) {
    wick_tensor *scale = scale_of(p, at), *zero = wick_constant(p->q->ctx, WICK_U8, p->q->sites[at].zero);
    if (is_wide(p->q)) return wick_dequantize(wick_quantize(x, scale, NULL, 0, WICK_I16), scale, NULL, 0);
    return wick_dequantize(wick_quantize(x, scale, zero, 0, WICK_U8), scale, zero, 0);
}
/* The bits of `value`, and the gradient of x (Bengio et al. 2013, the straight-through estimator): x - x is 0, and so
 * is what it is subtracted from if that is -0. */
static wick_tensor *straight_through(wick_tensor *value, wick_tensor *x) {
    return wick_sub(wick_stop_gradient(value), wick_sub(wick_stop_gradient(x), x));
}
/* The bits of `value`, and the gradients of (held - zero) step, held = round(x / step) + zero within low..high: of x 1
 * inside and 0 outside, of the step round(x / step) - x / step inside and the end outside (Esser et al. 2020, eq. 3 and
 * 5), times 1 / sqrt(n high) for the step of n numbers (section 2.2). */
static wick_tensor *learned(wick_tensor *value, wick_tensor *x, wick_tensor *step, double low, double high, int64_t n) {
    const double part = 1 / sqrt((double)WICK_MAX(n, 1) * fmax(high, 1));
    wick_tensor *slow = wick_mul(step, wick_like(step, part)),
                *s = wick_add(slow, wick_stop_gradient(wick_sub(step, slow)));
    wick_tensor *steps = wick_clip(wick_div(x, s), low, high),
                *held = wick_add(steps, wick_stop_gradient(wick_sub(wick_round(steps), steps)));
    return straight_through(value, wick_mul(held, s));
}
/* Gradients pass within the range. */
static wick_tensor *trained_activation(const wick_quantizer *q, const site *s, wick_tensor *value, wick_tensor *x) {
    if (s->step) {
        const int64_t n = wick_tensor_count(x) / WICK_MAX(wick_tensor_dim(x, 0), 1);
        return learned(value, x, wick_abs(s->step), lowest(q) - s->zero, highest(q) - s->zero, n);
    }
    const double low = (lowest(q) - s->zero) * s->scale, high = (highest(q) - s->zero) * s->scale;
    return straight_through(value, wick_clip(x, low, high));
}
static wick_tensor *trained_weights(const layer *l, wick_tensor *value) {
    if (!l->step) return straight_through(value, l->trained);
    const int64_t channels = l->type.dims[l->axis], each = wick_type_count(&l->type) / WICK_MAX(channels, 1);
    const double most = most_weight(l);
    int64_t dims[WICK_MAX_DIMS];
    for (int d = 0; d < l->type.rank; d++) dims[d] = d == l->axis ? channels : 1;
    return learned(value, l->trained, wick_reshape(wick_abs(l->step), l->type.rank, dims), -most, most, each);
}

/* A trained parameter is a state of the quantizer's model. */
static wick_status keep_trained(wick_quantizer *q, const char *name, wick_tensor *t, wick_tensor **in) {
    *in = t;
    if (wick_model_find(q->model, name)) return WICK_OK;
    return wick_model_adopt(q->model, name, WICK_ROLE_PARAM, t);
}
/* The layer's weights, and its bias, in place of what fn gives it. */
static wick_status layer_inputs(const replay *p, int at, wick_tensor **in) {
    const layer *l = &p->q->layers[at];
    if (p->purpose == LIVE && !l->kept) {
        const live_layer made = wick_quantizer_live_layer(p->q, l, scale_of(p, l->site));
        in[1] = p->weights[at] = wick_dequantize(made.q, made.scale, NULL, l->axis);
        if (l->bias) in[2] = wick_dequantize(made.bias_q, made.bias_scale, NULL, 0);
    } else if (p->purpose == TRAINED || p->purpose == LIVE) {
        in[1] = l->kept ? l->trained : trained_weights(l, p->live->weights[at]);
        if (l->bias) in[2] = l->bias_trained;
    } else if (l->kept) {
        WICK_TRY(keep_trained(p->q, l->name, l->trained, &in[1]));
        if (l->bias) WICK_TRY(keep_trained(p->q, l->bias_name, l->bias_trained, &in[2]));
    } else if (p->q->options.weights_only) {
        in[1] = wick_quantizer_weights(p->q, l);
    } else if (!p->q->options.block) {
        wick_tensor *w = l->bits > 4 ? l->q : wick_cast(l->q, WICK_I8);
        in[1] = wick_dequantize(w, l->scale, NULL, l->axis);
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
    WICK_TRY(wick_quantizer_scale_operands(p, node, in));
    const int of = p->r->layer[node->position];
    if (p->purpose == FLOATS && of >= 0) p->taken[of] = in[0], p->weights[of] = in[1];
    if (is_changed_layer(p, node)) {
        const layer *l = &p->q->layers[p->r->layer[node->position]];
        wick_here(node->site);
        WICK_TRY(layer_inputs(p, p->r->layer[node->position], in));
        if (is_int4(p->q) && !l->kept)
            out[0] = wick_int4_linear(in[0], l->q, l->scale, NULL, NULL);
        else
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
        p->read[id] = p->purpose == TRAINED ? trained_activation(p->q, &p->q->sites[at], p->live->read[id], out[k])
                                            : through_bits(p, at, out[k]);
    }
    return WICK_OK;
}

wick_status wick_replay_run(const replay *p) {
    const wick_graph *graph = p->r->s.graph;
    for (size_t i = graph->n; i-- > 0;) {
        const wick_node *node = graph->nodes[i];
        /* other weights, and another bias, are there already */
        for (int k = 0; p->needed[i] && k < node->n_in; k++)
            if (k == 0 || !is_changed_layer(p, node) || (k == 2 && weights_alone(p->q)))
                wick_replay_need(p, node->in[k]);
    }
    for (size_t i = 0; i < graph->n; i++)
        if (p->needed[i]) WICK_TRY(run_node(p, graph->nodes[i]));
    return WICK_OK;
}

static wick_status record(replay *p, wick_quantizer *q, reading *r, purpose why) {
    WICK_TRY(wick_replay_new(p, q, r, why));
    for (int i = 0; i < q->n_out; i++) wick_replay_need(p, r->s.graph->outputs[i]);
    return WICK_OK;
}
wick_status wick_quantizer_record(wick_quantizer *q, purpose why, wick_tensor *const *in, wick_tensor **out) {
    reading r;
    replay p, live;
    wick_status status = wick_quantizer_read(q, &r, q->ctx, in);
    if (status == WICK_OK && why == TRAINED) {
        status = record(&live, q, &r, LIVE);
        if (status == WICK_OK) status = wick_replay_run(&live);
    }
    if (status == WICK_OK) status = record(&p, q, &r, why);
    if (status == WICK_OK && why == TRAINED) p.live = &live;
    if (status == WICK_OK) status = wick_replay_run(&p);
    for (int i = 0; status == WICK_OK && i < q->n_out; i++) {
        const uint32_t id = r.s.graph->outputs[i]->id;
        out[i] = p.made[id];
        if (why != TRAINED) continue;
        out[i] = wick_dtype_is_float(wick_tensor_dtype(out[i])) ? straight_through(live.made[id], out[i])
                                                                : wick_stop_gradient(live.made[id]);
    }
    wick_subject_free(&r.s);
    return status;
}
