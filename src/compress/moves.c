/* moves.c: moves scales between layers, channel by channel, so that quantised tensors have easier ranges while the
 * function stays the same. An activation v that only layers read becomes v / s, and their weights are multiplied by s.
 * v / s is made by what made v, through ops that commute with a positive scale of a channel:
 *
 *   layer -> (+ bias) -> relu, pooling, flattening -> v -> layers     the first layer's weights and bias over s
 *   layer norm, or a product with constants -> (+ constants) -> v     these over s
 *
 * ReLU6 and all other functions end the walk: such an activation stays as it is. Ways to choose s:
 *   equalisation  s = sqrt(r1 / r2), r1 and r2 the largest magnitudes of the channel's weights before and behind it
 *                 (Nagel et al. 2019, "Data-free quantization through weight equalization and bias correction", eq. 11)
 *   SmoothQuant   s = max|v|^a / r2^(1 - a) (Xiao et al. 2022, eq. 4)
 *   AWQ           s = (rms v)^a, a in 0, 0.05 .. 0.95 with the least error of the results (Lin et al. 2023, eq. 4 and
 * 5, who have the mean magnitude for the root of the mean square, which H has) */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "ops/lowering/lower.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"
#include "wick/shape.h"

#include <math.h>

enum { SWEEPS = 50, STEPS = 20 };

/* ---- finding them ------------------------------------------------------------------------------------------------ */

/* The walk: the value that is to be scaled, the axis of its channels, and how many places of it each channel has. */
typedef struct walk {
    const reading *r;
    const int *uses;
    const wick_value *v;
    int axis, first_axis; /* now, and of the value it began at */
    int64_t channels, repeat;
    int n, made_by; /* operands that take 1 / s; the layer that ends it, -1: other constants */
    scaled_operand *list;
} walk;

static bool is_elementwise_of(const wick_node *node, int ew) {
    return node->op->flags & WICK_OP_ELEMENTWISE && node->op->ew == ew;
}
static void take(walk *w, const wick_node *node, int k) {
    w->list[w->n++] = (scaled_operand){.node = node, .operand = k, .axis = w->axis, .repeat = w->repeat};
}
/* Through a reshape: the axis of its operand whose channels lie at the head of this one. */
static bool through_reshape(walk *w, const wick_type *in, const wick_type *out) {
    int64_t before = 1, place = 1;
    for (int d = 0; d < w->axis; d++) before *= out->dims[d];
    int d = 0;
    while (d < in->rank && place < before) place *= in->dims[d++];
    while (d < in->rank && in->dims[d] == 1 && out->dims[w->axis] != 1) d++;
    if (place != before || d >= in->rank || in->dims[d] < 1) return false;
    int64_t rest = 1;
    int end = d;
    while (end < in->rank && in->dims[d] * rest < out->dims[w->axis]) rest *= ++end < in->rank ? in->dims[end] : 1;
    if (in->dims[d] * rest != out->dims[w->axis] || w->channels % rest || w->repeat != 1 || w->n) return false;
    w->channels /= rest, w->repeat = rest, w->axis = d;
    return true;
}
/* The axis of a mean's operand; false: the mean goes over it. */
static bool through_mean(walk *w, const wick_node *node) {
    const wick_reduce_attr *attr = node->attr;
    int at = 0;
    for (int d = 0; d < node->in[0]->type.rank; d++) {
        const bool gone = attr->axes >> d & 1;
        if (gone && !attr->keepdims) continue;
        if (at++ != w->axis) continue;
        w->axis = d;
        return !gone;
    }
    return false;
}

/* One step back; 1: go on, 0: it has been taken, -1: it can't be. */
static int step_back(walk *w) {
    const wick_node *node = w->v->node;
    const bool *fixed = w->r->s.fixed;
    const int rank = w->v->type.rank;
    if (node->n_in < 1 || w->v != &node->out[0]) return -1;
    if (node->op == &wick_op_matmul || node->op == &wick_op_conv) {
        const bool conv = node->op == &wick_op_conv;
        if (!fixed[node->in[1]->id] || w->axis != (conv ? 1 : rank - 1) || (!conv && node->in[1]->type.rank != 2))
            return -1;
        if (!conv && node->n_in > 2) return -1;
        w->axis = conv ? 0 : 1;
        take(w, node, 1);
        if (conv && node->n_in > 2) take(w, node, 2);
        w->made_by = w->r->layer[node->position];
        return 0;
    }
    if (node->op == &wick_op_layer_norm && node->n_in == 3 && w->axis == rank - 1) {
        w->axis = 0;
        for (int k = 1; k < 3; k++) {
            if (!fixed[node->in[k]->id]) return -1;
            take(w, node, k);
        }
        return 0;
    }
    const bool adds = is_elementwise_of(node, WICK_EW_add), multiplies = is_elementwise_of(node, WICK_EW_mul);
    if ((adds || multiplies) && node->n_in == 2 && fixed[node->in[0]->id] != fixed[node->in[1]->id]) {
        const int k = fixed[node->in[0]->id] ? 0 : 1;
        const wick_type *other = &node->in[1 - k]->type;
        if (other->rank != rank || other->dims[w->axis] != w->v->type.dims[w->axis]) return -1;
        const int axis = w->axis;
        w->axis -= rank; /* from the end: constants broadcast */
        take(w, node, k);
        w->axis = axis;
        w->v = node->in[1 - k];
        return multiplies ? 0 : 1;
    }
    if (node->op == &wick_op_reshape) {
        if (!through_reshape(w, &node->in[0]->type, &w->v->type)) return -1;
    } else if (node->op == &wick_op_mean) {
        if (!through_mean(w, node)) return -1;
    } else if (node->op == &wick_op_max_pool || node->op == &wick_op_avg_pool) {
        if (w->axis != 1) return -1;
    } else if (!is_elementwise_of(node, WICK_EW_relu)) {
        return -1;
    }
    w->v = node->in[0];
    return 1;
}

static int64_t channels_taken(const wick_node *node) {
    return node->op == &wick_op_conv ? node->in[0]->type.dims[1] : node->in[1]->type.dims[0];
}

/* The group of what only layers read; false: v is none. */
static bool find_group(walk *w, const wick_value *v) {
    const wick_graph *graph = w->r->s.graph;
    int readers = 0;
    *w = (walk){.r = w->r, .uses = w->uses, .list = w->list, .v = v, .repeat = 1, .made_by = -1};
    for (size_t i = 0; i < graph->n; i++) {
        const wick_node *node = graph->nodes[i];
        if (w->r->layer[i] < 0 || node->in[0] != v) continue;
        readers++;
        w->axis = node->op == &wick_op_conv ? 1 : v->type.rank - 1;
        w->first_axis = w->axis;
        w->channels = channels_taken(node);
    }
    if (!readers || readers != w->uses[v->id] || w->r->s.fixed[v->id] || v->type.dims[w->axis] != w->channels)
        return false;
    int more = 1;
    for (int steps = 0; more == 1 && steps < 16; steps++) {
        if (w->v != v && w->uses[w->v->id] != 1) return false;
        more = step_back(w);
    }
    return more == 0 && w->channels > 0;
}

wick_status wick_quantizer_find_groups(wick_quantizer *q, reading *r) {
    const wick_graph *graph = r->s.graph;
    const bool first = !q->groups;
    int *uses = wick_arena_zalloc(&r->s.arena, ((size_t)r->s.n_values + 1) * sizeof *uses), n = 0;
    r->scaled = wick_arena_zalloc(&r->s.arena, (4 * graph->n + 64) * sizeof *r->scaled);
    if (first) q->groups = wick_arena_zalloc(&q->arena, ((size_t)q->n_layers + 1) * sizeof *q->groups);
    bool *taken = wick_arena_zalloc(&r->s.arena, (size_t)r->s.n_values + 1);
    if (!uses || !taken || !r->scaled || !q->groups) return out_of_memory(q->ctx);
    r->group = wick_arena_alloc(&r->s.arena, ((size_t)r->s.n_values + 1) * sizeof *r->group);
    if (!r->group) return out_of_memory(q->ctx);
    for (uint32_t i = 0; i < r->s.n_values; i++) r->group[i] = -1;
    for (size_t i = 0; i < graph->n; i++)
        for (int k = 0; k < graph->nodes[i]->n_in; k++) uses[graph->nodes[i]->in[k]->id]++;
    for (int i = 0; i < q->n_out; i++) uses[graph->outputs[i]->id]++;
    for (size_t i = 0; i < graph->n; i++)
        if (r->layer[i] >= 0) taken[graph->nodes[i]->in[0]->id] = true;
    for (size_t i = 0; i < graph->n; i++)
        for (int k = 0; k < graph->nodes[i]->n_out; k++) {
            scaled_operand list[24];
            walk w = {.r = r, .uses = uses, .list = list};
            const wick_value *v = &graph->nodes[i]->out[k];
            if (!taken[v->id] || !find_group(&w, v)) continue;
            if (first) {
                group *g = &q->groups[q->n_groups++];
                *g = (group){.channels = w.channels, .repeat = w.repeat, .made_by = w.made_by, .axis = w.first_axis};
                g->s = wick_arena_alloc(&q->arena, (size_t)w.channels * 2 * sizeof *g->s);
                if (!g->s) return out_of_memory(q->ctx);
                g->most = g->s + w.channels;
                for (int64_t c = 0; c < w.channels; c++) g->s[c] = 1, g->most[c] = 0;
            } else if (n >= q->n_groups || q->groups[n].channels != w.channels) {
                return wick_msg_set(&q->ctx->msg, WICK_ERR_UNSUPPORTED,
                                    "quantizer: for inputs of these extents the function records other ops");
            }
            for (int j = 0; j < w.n; j++) list[j].group = n, list[j].repeat = 1, r->scaled[r->n_scaled++] = list[j];
            for (size_t j = 0; j < graph->n; j++)
                if (r->layer[j] >= 0 && graph->nodes[j]->in[0] == v)
                    r->scaled[r->n_scaled++] = (scaled_operand){
                        .node = graph->nodes[j], .operand = 1, .group = n, .repeat = w.repeat, .takes = true};
            r->group[v->id] = n++;
        }
    return WICK_OK;
}

/* ---- applying them ----------------------------------------------------------------------------------------------- */

/* What the operand is multiplied by. */
static wick_tensor *factors(const replay *p, const scaled_operand *o, const group *g) {
    wick_context *ctx = p->q->ctx;
    const wick_node *node = o->node;
    const wick_type *t = &node->in[o->operand]->type;
    int64_t dims[WICK_MAX_DIMS];
    int rank = t->rank;
    for (int d = 0; d < WICK_MAX_DIMS; d++) dims[d] = 1;
    int64_t n = g->channels, inner = 1;
    const bool conv = node->op == &wick_op_conv;
    if (o->takes) { /* weights [K, N] by rows, or [out, in / groups, ...] by what each takes */
        n = conv ? t->dims[0] * t->dims[1] : t->dims[0];
        inner = conv ? t->dims[1] : 1;
        dims[0] = t->dims[0];
        if (conv) dims[1] = t->dims[1];
    } else if (o->axis < 0) {
        rank = -o->axis;
        dims[0] = n;
    } else {
        dims[o->operand == 2 ? 0 : o->axis] = n;
    }
    float *data = wick_arena_alloc(&p->r->s.arena, (size_t)n * sizeof *data + 1);
    if (!data) return NULL;
    for (int64_t i = 0; i < n; i++) {
        if (!o->takes) {
            data[i] = (float)(1 / g->s[i]);
        } else if (conv) {
            const int64_t each = t->dims[0] / WICK_MAX(g->channels * g->repeat / inner, 1),
                          part = i / inner / WICK_MAX(each, 1);
            data[i] = (float)g->s[(part * inner + i % inner) / g->repeat];
        } else {
            data[i] = (float)g->s[i / g->repeat];
        }
    }
    return wick_from(ctx, WICK_F32, rank, dims, data);
}
wick_status wick_quantizer_scale_operands(const replay *p, const wick_node *node, wick_tensor **in) {
    for (int i = 0; i < p->r->n_scaled; i++) {
        const scaled_operand *o = &p->r->scaled[i];
        const group *g = &p->q->groups[o->group];
        if (o->node != node || !g->moved || !in[o->operand]) continue;
        wick_tensor *by = factors(p, o, g);
        if (!by) return out_of_memory(p->q->ctx);
        /* a constant with fewer numbers than the channel axis has is spread over it */
        in[o->operand] = wick_mul(in[o->operand], by);
    }
    return WICK_OK;
}

/* ---- choosing them ----------------------------------------------------------------------------------------------- */

static bool takes_of(const wick_quantizer *q, const layer *l, int g) { return l->group == g && g >= 0 && q->groups; }
/* The largest magnitude of each channel's weights of a layer, as it makes them or takes them. */
static void largest_made(const layer *l, double *r) {
    const int64_t channels = l->type.dims[l->axis], each = wick_type_count(&l->type) / WICK_MAX(channels, 1);
    for (int64_t c = 0; c < channels; c++)
        for (int64_t j = 0; j < each; j++)
            r[c] = fmax(r[c], fabs((double)l->weights[l->axis == 0 ? c * each + j : j * channels + c]));
}
/* The channel that element i of the weights takes. */
static int64_t channel_taken(const layer *l, const group *g, int64_t i) {
    if (l->axis == 1) return i / l->type.dims[1] / g->repeat;
    const int64_t in = l->type.dims[1], taps = wick_type_count(&l->type) / WICK_MAX(l->type.dims[0] * in, 1),
                  o = i / (taps * in), j = i / taps % in, parts = g->channels * g->repeat / in;
    return (o / WICK_MAX(l->type.dims[0] / WICK_MAX(parts, 1), 1) * in + j) / g->repeat;
}
static void largest_taken(const wick_quantizer *q, int g, double *r) {
    for (int i = 0; i < q->n_layers; i++) {
        const layer *l = &q->layers[i];
        if (!takes_of(q, l, g)) continue;
        for (int64_t k = 0; k < wick_type_count(&l->type); k++) {
            double *most = &r[channel_taken(l, &q->groups[g], k)];
            *most = fmax(*most, fabs((double)l->weights[k]));
        }
    }
}
/* Weights of the layers around group g, as they are when its channels are divided by s. */
static void move(wick_quantizer *q, int at, const double *s) {
    group *g = &q->groups[at];
    for (int64_t c = 0; c < g->channels; c++) g->s[c] *= s[c];
    g->moved = true;
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        const int64_t channels = l->type.dims[l->axis], n = wick_type_count(&l->type), each = n / WICK_MAX(channels, 1);
        for (int64_t k = 0; k < n && takes_of(q, l, at); k++) l->weights[k] *= (float)s[channel_taken(l, g, k)];
        for (int64_t k = 0; k < n && i == g->made_by; k++)
            l->weights[k] /= (float)s[l->axis == 0 ? k / each : k % channels];
    }
}

wick_status wick_quantizer_equalise(wick_quantizer *q) {
    for (int i = 0; i < q->n_layers; i++)
        if (!wick_calibrator_fits(q->layers[i].weights, wick_type_count(&q->layers[i].type)))
            return WICK_OK; /* wick_quantizer_finish names them */
    double most = 1;
    for (int sweep = 0; sweep < SWEEPS && most > 1e-3; sweep++) {
        most = 0;
        for (int i = 0; i < q->n_groups; i++) {
            const group *g = &q->groups[i];
            if (g->made_by < 0) continue;
            double *r = wick_calloc(&q->ctx->alloc, (size_t)g->channels * 2 * sizeof *r);
            if (!r) return out_of_memory(q->ctx);
            largest_made(&q->layers[g->made_by], r);
            largest_taken(q, i, r + g->channels);
            for (int64_t c = 0; c < g->channels; c++) {
                const double before = r[c], behind = r[g->channels + c];
                r[c] = before > 0 && behind > 0 ? sqrt(before / behind) : 1; /* a dead channel stays */
                most = fmax(most, fabs(log(r[c])));
            }
            move(q, i, r);
            wick_release(&q->ctx->alloc, r, (size_t)g->channels * 2 * sizeof *r);
        }
    }
    return wick_quantizer_moved(q);
}

wick_status wick_quantizer_smooth(wick_quantizer *q) {
    if (!q) return WICK_ERR_INVALID;
    const double a = q->options.smooth;
    if (!(a > 0) || q->smoothed || !q->observations)
        return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: %s",
                                 !(a > 0)      ? "options.smooth is 0"
                                 : q->smoothed ? "wick_quantizer_smooth is called once"
                                               : "nothing was observed");
    for (int i = 0; i < q->n_groups; i++) {
        const group *g = &q->groups[i];
        double *r = wick_calloc(&q->ctx->alloc, (size_t)g->channels * sizeof *r);
        if (!r) return out_of_memory(q->ctx);
        largest_taken(q, i, r);
        for (int64_t c = 0; c < g->channels; c++)
            r[c] = r[c] > 0 && g->most[c] > 0 ? pow(g->most[c], a) / pow(r[c], 1 - a) : 1;
        move(q, i, r);
        wick_release(&q->ctx->alloc, r, (size_t)g->channels * sizeof *r);
    }
    /* what was observed is of another function now */
    for (int i = 0; i < q->n_sites; i++)
        if (q->sites[i].calibrator) q->sites[i].calibrator->n = 0;
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        for (int64_t c = 0; c < l->channels; c++) l->mean[c] = 0;
        if (l->gram) memset(l->gram, 0, wick_quantizer_gram_count(q, l) * sizeof *l->gram);
    }
    q->observations = 0;
    q->n_observed -= q->n_groups;
    q->smoothed = true;
    q->finished = false;
    return wick_quantizer_moved(q);
}

/* ---- AWQ --------------------------------------------------------------------------------------------------------- */

/* Sum of squares of what rounding to 4 bits changes in the results of a layer whose inputs are divided by s. */
static wick_status error_of(const wick_quantizer *q, const layer *l, const group *g, const double *s, double *error) {
    wick_context *ctx = q->ctx;
    const int64_t K = l->type.dims[0];
    const size_t size = (size_t)(K * K + K) * sizeof(float);
    float *h = wick_alloc(&ctx->alloc, size), *by = h ? h + K * K : NULL;
    if (!h) return out_of_memory(ctx);
    for (int64_t i = 0; i < K * K; i++) h[i] = (float)l->gram[i];
    for (int64_t k = 0; k < K; k++) by[k] = (float)s[k / g->repeat];
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *w = wick_from(ctx, WICK_F32, 2, l->type.dims, l->weights), *scales,
                *row = wick_from(ctx, WICK_F32, 2, (const int64_t[]){K, 1}, by);
    wick_tensor *held = wick_quantize_blocks(wick_transpose(wick_mul(w, row), 0, 1), q->options.block, &scales, NULL);
    wick_tensor *back = wick_transpose(wick_dequantize_blocks(held, scales, NULL, K), 0, 1);
    wick_tensor *d = wick_sub(wick_div(back, row), w);
    wick_tensor *hd = wick_matmul(wick_from(ctx, WICK_F32, 2, (const int64_t[]){K, K}, h), d);
    const void *data;
    const wick_status status = wick_data(wick_sum(wick_mul(d, hd), WICK_ALL_AXES, false), &data);
    if (status == WICK_OK) *error += (double)*(const float *)data;
    wick_scope_close(&scope);
    wick_release(&ctx->alloc, h, size);
    return status;
}

/* (rms v)^a of each channel, around 1; those that are always 0 stay. */
static void powers(const wick_quantizer *q, int at, double a, double *s) {
    const group *g = &q->groups[at];
    double low = INFINITY, high = 0;
    for (int64_t c = 0; c < g->channels; c++) s[c] = 0;
    for (int i = 0; i < q->n_layers; i++) {
        const layer *l = &q->layers[i];
        if (!takes_of(q, l, at)) continue;
        for (int64_t k = 0; k < l->type.dims[0]; k++) s[k / g->repeat] += l->gram[k * l->type.dims[0] + k];
    }
    for (int64_t c = 0; c < g->channels; c++) {
        s[c] = s[c] > 0 ? pow(s[c], a / 2) : 0;
        if (s[c] > 0) low = fmin(low, s[c]), high = fmax(high, s[c]);
    }
    for (int64_t c = 0; c < g->channels; c++) s[c] = s[c] > 0 ? s[c] / sqrt(low * high) : 1;
}

static wick_status choose_awq(wick_quantizer *q, int at, double *s, bool *gains) {
    double best = INFINITY, least = 0;
    for (int step = 0; step < STEPS; step++) {
        double error = 0;
        powers(q, at, (double)step / STEPS, s);
        for (int i = 0; i < q->n_layers; i++)
            if (takes_of(q, &q->layers[i], at) && !q->layers[i].kept)
                WICK_TRY(error_of(q, &q->layers[i], &q->groups[at], s, &error));
        if (error < least || !step) least = error, best = (double)step / STEPS;
    }
    *gains = best > 0 && best < 1;
    powers(q, at, best, s);
    return WICK_OK;
}

wick_status wick_quantizer_awq(wick_quantizer *q) {
    for (int i = 0; i < q->n_groups; i++) {
        const group *g = &q->groups[i];
        bool has = false, all = true, gains;
        for (int k = 0; k < q->n_layers; k++)
            if (takes_of(q, &q->layers[k], i)) has = true, all = all && q->layers[k].gram;
        if (!has || !all) continue;
        double *s = wick_alloc(&q->ctx->alloc, (size_t)g->channels * sizeof *s);
        if (!s) return out_of_memory(q->ctx);
        const wick_status status = choose_awq(q, i, s, &gains);
        if (status == WICK_OK && gains) {
            for (int k = 0; k < q->n_layers; k++) {
                const layer *l = &q->layers[k];
                const int64_t K = l->type.dims[0];
                for (int64_t j = 0; j < K * K && takes_of(q, l, i); j++)
                    l->gram[j] /= s[j / K / g->repeat] * s[j % K / g->repeat];
            }
            move(q, i, s);
        }
        wick_release(&q->ctx->alloc, s, (size_t)g->channels * sizeof *s);
        WICK_TRY(status);
    }
    return wick_quantizer_moved(q);
}
