/* quantizer.c: post-training quantisation to 8 bits: a quantizer is made, shown batches, and records. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "exec/exec.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"

#include <math.h>
#include <stdio.h>

/* ---- finding layers and weights ---------------------------------------------------------------------------------- */

static wick_status name_layer(wick_quantizer *q, const reading *r, const wick_node *node, int i) {
    layer *l = &q->layers[i];
    char made[WICK_MSG_MAX];
    const char *name = wick_subject_state_name(&r->s, q->source, node->in[1], NULL);
    if (name)
        snprintf(made, sizeof made, "%s", name);
    else
        snprintf(made, sizeof made, "%s_%d", node->op->name, i + 1);
    for (int k = 0, times = 1; k < i; k++) /* one weight, read by several layers */
        if (strcmp(q->layers[k].name, made) == 0)
            snprintf(made, sizeof made, "%.200s_%d", name ? name : node->op->name, ++times), k = -1;
    l->name = wick_arena_strdup(&q->arena, made);
    const char *bias = node->op == &wick_op_conv && node->n_in > 2
                           ? wick_subject_state_name(&r->s, q->source, node->in[2], l->name)
                           : NULL;
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
        if (node->op == &wick_op_conv) l->parts = ((const wick_conv_attr *)node->attr)->groups;
        l->site = r->site[node->in[0]->id];
        l->group = r->group[node->in[0]->id];
        WICK_TRY(name_layer(q, r, node, r->layer[i]));
        l->weights = wick_arena_alloc(&q->arena, wick_type_bytes(&l->type) + 1);
        if (q->options.correct_bias && !weights_alone(q) && node->op == &wick_op_conv && node->n_in > 2) {
            l->channels = node->in[0]->type.dims[1];
            l->mean = wick_arena_zalloc(&q->arena, (size_t)l->channels * sizeof *l->mean + 1);
            if (!l->mean) return out_of_memory(q->ctx);
            q->n_observed++;
        }
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
    wick_status status = wick_quantizer_read(q, &r, ctx, in);
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
    if (status == WICK_OK) status = wick_replay_new(&p, q, &r, FLOATS);
    for (int i = 0; status == WICK_OK && i < q->n_out; i++) wick_replay_need(&p, r.s.graph->outputs[i]);
    if (status == WICK_OK) status = wick_replay_run(&p);
    for (int i = 0; status == WICK_OK && i < q->n_out; i++) out[i] = p.made[r.s.graph->outputs[i]->id];
    wick_subject_free(&r.s);
    return status;
}

/* The weights of all layers, and the biases of convolutions. */
static wick_status read_weights(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    reading r;
    replay p;
    wick_status status = wick_replay_floats(&p, q, &r, ctx, in);
    for (size_t i = 0; status == WICK_OK && i < r.s.graph->n; i++)
        for (int k = 1; r.layer[i] >= 0 && k < r.s.graph->nodes[i]->n_in; k++)
            wick_replay_need(&p, r.s.graph->nodes[i]->in[k]);
    if (status == WICK_OK) status = wick_replay_run(&p);
    int n = 0;
    for (size_t i = 0; status == WICK_OK && i < r.s.graph->n; i++) {
        const wick_node *node = r.s.graph->nodes[i];
        wick_tensor *read[3] = {0};
        if (r.layer[i] < 0) continue;
        for (int k = 1; k < node->n_in && k < 3; k++) read[k] = p.made[node->in[k]->id];
        status = wick_quantizer_scale_operands(&p, node, read);
        for (int k = 1; k < node->n_in && k < 3; k++) out[n++] = read[k];
    }
    wick_subject_free(&r.s);
    return status;
}

/* The mean of each channel, of images. */
static wick_tensor *channel_means(wick_tensor *x) {
    static const int axes[] = {0, 2, 3, 4};
    return wick_mean(x, wick_tensor_rank(x) - 1, axes, false);
}
/* The largest magnitude of each place of an axis. */
static wick_tensor *channel_most(wick_tensor *x, int axis) {
    int axes[WICK_MAX_DIMS], n = 0;
    for (int d = 0; d < wick_tensor_rank(x); d++)
        if (d != axis) axes[n++] = d;
    return wick_max(wick_abs(x), n, axes, false);
}
static bool few_by_gram(const wick_quantizer *q) {
    return !weights_alone(q) && q->options.weight_bits <= FEW_BITS && q->options.rounding == WICK_ROUND_GPTQ;
}
static bool sees_most(const wick_quantizer *q) { return q->options.smooth > 0 && !q->smoothed; }
/* The activations that are observed, in the order of sites; then, of layers in order, means of the channels they take;
 * then, of groups, the largest magnitude of each channel; then the grams of layers. */
static wick_status observed(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    reading r;
    replay p;
    wick_status status = wick_replay_floats(&p, q, &r, ctx, in);
    for (int pass = 0; status == WICK_OK && pass < 2; pass++) {
        const wick_graph *graph = r.s.graph;
        int n = 0;
        for (size_t i = 0; i < graph->n; i++)
            for (int k = 0; k < graph->nodes[i]->n_out && !wick_quantizer_is_move(graph->nodes[i]); k++) {
                const wick_value *v = &graph->nodes[i]->out[k];
                if (r.site[v->id] < 0 || !q->sites[r.site[v->id]].calibrator) continue;
                if (pass)
                    out[n++] = p.made[v->id];
                else
                    wick_replay_need(&p, v);
            }
        for (size_t i = 0; i < graph->n; i++) {
            if (r.layer[i] < 0 || !q->layers[r.layer[i]].mean) continue;
            if (pass)
                out[n++] = channel_means(p.made[graph->nodes[i]->in[0]->id]);
            else
                wick_replay_need(&p, graph->nodes[i]->in[0]);
        }
        for (size_t i = 0; i < graph->n && sees_most(q); i++)
            for (int k = 0; k < graph->nodes[i]->n_out; k++) {
                const wick_value *v = &graph->nodes[i]->out[k];
                if (r.group[v->id] < 0) continue;
                if (pass)
                    out[n++] = channel_most(p.made[v->id], q->groups[r.group[v->id]].axis);
                else
                    wick_replay_need(&p, v);
            }
        for (size_t i = 0; i < graph->n; i++) {
            const layer *l = r.layer[i] < 0 ? NULL : &q->layers[r.layer[i]];
            if (!l || !l->gram) continue;
            if (pass)
                out[n++] = wick_quantizer_channel_gram(graph->nodes[i], l, p.made[graph->nodes[i]->in[0]->id]);
            else
                wick_replay_need(&p, graph->nodes[i]->in[0]);
        }
        if (!pass) status = wick_replay_run(&p);
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
        if (wick_glob(pattern, q->layers[i].name)) q->layers[i].kept = q->layers[i].fixed = true, n++;
    if (n || !pattern || !*pattern) return WICK_OK;
    return wick_msg_set(&q->ctx->msg, WICK_ERR_INVALID,
                        "quantizer: no layer's name matches \"%.100s\"; the first is %s", pattern, q->layers[0].name);
}

/* How many bits the weights of each layer have. */
static wick_status set_bits(wick_quantizer *q, const wick_quantizer_options *o) {
    const int bits = o->reduce_range && o->weight_bits > 7 ? 7 : o->weight_bits;
    int n = 0;
    for (int i = 0; i < q->n_layers; i++) {
        const bool wide = o->wide ? wick_glob(o->wide, q->layers[i].name) : i == 0 || i == q->n_layers - 1;
        n += wide;
        q->layers[i].bits = wide && o->weight_bits < 8 ? o->reduce_range ? 7 : 8 : bits;
        q->layers[i].least_bits = wide && o->wide ? q->layers[i].bits : bits;
    }
    if (n || !o->wide || !*o->wide) return WICK_OK;
    return wick_msg_set(&q->ctx->msg, WICK_ERR_INVALID,
                        "quantizer: no layer's name matches \"%.100s\", whose weights have 8 bits; the first is %s",
                        o->wide, q->layers[0].name);
}

static wick_status make_grams(wick_quantizer *q) {
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        const gram_extents e = wick_quantizer_gram_extents(l);
        if (e.k < 1 || e.k > MOST_GRAM || (!is_int4(q) && l->least_bits > FEW_BITS)) continue;
        if (!(l->gram = wick_arena_zalloc(&q->arena, wick_quantizer_gram_count(q, l) * sizeof *l->gram)))
            return out_of_memory(q->ctx);
        q->n_observed++;
    }
    return WICK_OK;
}

/* The plan of what is observed. */
static wick_status make_plan(wick_quantizer *q) {
    wick_workspace_free(&q->workspace);
    wick_plan_free(&q->plan);
    WICK_TRY(wick_compile(q->ctx, is_int4(q) ? wick_quantizer_record_grams : observed, q, q->n_in, q->in, q->n_observed,
                          NULL, &q->plan));
    WICK_TRY(wick_workspace_new(q->plan, &q->workspace));
    q->seen = wick_arena_zalloc(&q->arena, ((size_t)q->n_observed + 1) * sizeof(void *));
    for (int i = 0; i < q->n_observed && q->seen; i++) {
        const wick_spec spec = wick_plan_output(q->plan, i);
        if (!(q->seen[i] = wick_arena_alloc(&q->arena, wick_spec_bytes(&spec) + 1))) return out_of_memory(q->ctx);
    }
    return q->seen ? WICK_OK : out_of_memory(q->ctx);
}
wick_status wick_quantizer_moved(wick_quantizer *q) {
    WICK_TRY(fetch_weights(q));
    return q->plan ? make_plan(q) : WICK_OK;
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
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "quantizer: the function has no %sproduct of f32 with weights",
                            is_int4(q) ? "" : "convolution and no ");
    WICK_TRY(keep_by_name(q, o->keep));
    WICK_TRY(set_bits(q, o));
    WICK_TRY(fetch_weights(q));
    if (is_int4(q) || few_by_gram(q)) WICK_TRY(make_grams(q));
    if (o->equalise) WICK_TRY(wick_quantizer_equalise(q));
    if (sees_most(q)) q->n_observed += q->n_groups;
    return q->n_observed ? make_plan(q) : WICK_OK;
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
    if (o.weight_bits == 0) o.weight_bits = 8;
    if (o.weight_bits < 2 || o.weight_bits > 8 ||
        (o.weight_bits < 8 && (o.block || o.weights_only || (o.per_tensor && o.weight_bits <= FEW_BITS))))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "quantizer: weight_bits %d is from 2 to 8, of few with a scale for each channel, and "
                                 "not with block or weights_only",
                                 o.weight_bits);
    if (o.activation_bits == 0) o.activation_bits = 8;
    if (o.activation_bits != 8 &&
        (o.activation_bits != 16 || o.weight_bits < 8 || o.reduce_range || o.block || o.weights_only))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: activation_bits %d is 8, or 16 with weights of 8",
                                 o.activation_bits);
    if (o.weight_bits <= FEW_BITS) o.learn_steps = true;
    if (o.learn_steps && o.per_tensor)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "quantizer: steps are learned for each channel, not per_tensor");
    if (!(o.smooth >= 0 && o.smooth <= 1) || (o.smooth > 0 && (o.block || o.weights_only)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "quantizer: smooth %g is from 0 to 1, and for 8 bits of activations", o.smooth);
    const bool blocks = o.block && !o.weights_only, few = !o.weights_only && o.weight_bits <= FEW_BITS;
    if ((unsigned)o.rounding > WICK_ROUND_HQQ || (o.awq && !blocks) ||
        (o.rounding && !blocks && !(few && o.rounding == WICK_ROUND_NEAREST)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "quantizer: no such rounding, or it, or awq, without blocks of 4 bits; weights of up "
                                 "to %d bits for activations of 8 have gptq and nearest",
                                 FEW_BITS);
    if ((unsigned)o.weights_only > WICK_WEIGHTS_F8 || (o.weights_only && (o.block < 0 || o.block == 1)))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: no such weights_only, or blocks of %lld: from 2 on",
                                 (long long)o.block);
    if (!o.weights_only && o.block && (o.block < 16 || o.block & (o.block - 1)))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: blocks of %lld are none of a power of 2 from 16 on",
                                 (long long)o.block);
    wick_quantizer *q = wick_calloc(&ctx->alloc, sizeof *q);
    if (!q) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory quantising");
    *q = (wick_quantizer){
        .ctx = ctx, .source = model, .fn = fn, .user = user, .n_in = n_in, .n_out = n_out, .options = o};
    wick_arena_init(&q->arena, &ctx->alloc, 0);
    const wick_status status = prepare(q, in, &o);
    q->options.keep = q->options.wide = NULL; /* the caller's */
    if (status != WICK_OK) wick_quantizer_free(&q);
    *out = q;
    return status;
}

void wick_quantizer_free(wick_quantizer **q) {
    if (!q || !*q) return;
    wick_context *ctx = (*q)->ctx;
    wick_workspace_free(&(*q)->workspace);
    wick_plan_free(&(*q)->plan);
    wick_workspace_free(&(*q)->weigher);
    wick_plan_free(&(*q)->weighing);
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

static wick_status observe_grams(wick_quantizer *q) {
    for (int i = 0, n = 0; i < q->n_layers; i++) {
        const layer *l = &q->layers[i];
        if (l->gram && !wick_calibrator_fits(q->seen[n++], l->type.dims[0] * l->type.dims[0]))
            return wick_context_fail(q->ctx, WICK_ERR_INVALID,
                                     "quantizer: NaN or Inf in what %s takes: nothing of this batch was counted",
                                     l->name);
    }
    wick_quantizer_add_grams(q, 0);
    q->observations++;
    return WICK_OK;
}

wick_status wick_quantizer_observe(wick_quantizer *q, const void *const *in) {
    if (!q) return WICK_ERR_INVALID;
    if (!in) return wick_context_fail(q->ctx, WICK_ERR_INVALID, "quantizer: in is NULL");
    if (!q->n_observed) return q->observations++, WICK_OK;
    const wick_status status = wick_run(q->workspace, in, q->seen);
    if (status != WICK_OK)
        return wick_context_fail(q->ctx, status, "quantizer: %s", wick_workspace_error(q->workspace));
    if (is_int4(q)) return observe_grams(q);
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = n = 0; i < q->n_sites; i++) {
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
    for (int i = 0; i < q->n_layers; i++) {
        const layer *l = &q->layers[i];
        const float *mean = l->mean ? q->seen[n++] : NULL;
        for (int64_t c = 0; c < l->channels; c++) l->mean[c] += (double)mean[c];
    }
    for (int i = 0; i < q->n_groups && sees_most(q); i++) {
        const group *g = &q->groups[i];
        const float *most = q->seen[n++];
        for (int64_t c = 0; c < g->channels * g->repeat; c++)
            g->most[c / g->repeat] = fmax(g->most[c / g->repeat], (double)most[c]);
    }
    wick_quantizer_add_grams(q, n);
    q->observations++;
    return WICK_OK;
}

/* ---- what it gives ------------------------------------------------------------------------------------------- */

wick_status wick_quantizer_apply(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    if (q && ctx == q->ctx && q->finished && in && out) return wick_quantizer_record(q, QUANTISED, in, out);
    return wick_context_fail(ctx, WICK_ERR_INVALID,
                             "quantizer: wick_quantizer_finish comes before it, and after wick_quantizer_keep");
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
                                  .bits = wick_quantizer_layer_bits(q, l),
                                  .bytes = wick_quantizer_layer_bytes(q, l),
                                  .cost = made ? l->cost : (double)NAN,
                                  .weight_sqnr = made ? l->sqnr : (double)NAN,
                                  .low = made && !weights_alone(q) ? (float)q->sites[l->site].low : NAN,
                                  .high = made && !weights_alone(q) ? (float)q->sites[l->site].high : NAN};
}
void wick_quantizer_keep(wick_quantizer *q, int i, bool kept) {
    if (!q || i < 0 || i >= q->n_layers || q->layers[i].kept == kept) return;
    q->layers[i].kept = kept;
    q->finished = false;
}
