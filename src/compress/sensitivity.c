/* sensitivity.c: what rounding of each layer is expected to add to the loss, and which numbers each layer has under a
 * budget of bytes. Near a minimum of the loss, whose gradient is 0, a change d of the weights adds d^T H d / 2, and the
 * mean over samples of the squared gradients stands for the diagonal of H (LeCun, Denker and Solla 1990; Theis et al.
 * 2018, eq. 4). Gradients are squared sample by sample: that of a batch is a mean, whose square is another thing. */
#define WICK_NO_SITES
#include "compress/knapsack.h"
#include "compress/quantizer.h"
#include "exec/exec.h"
#include "wick/loss.h"
#include "wick/pointwise.h"

#include <math.h>

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* The loss of one sample: its cross-entropy, or all results of floats times normal noise, whose gradient is that of
 * half the square of a normal distribution's residual, drawn from the distribution itself. */
static wick_tensor *loss_of(const wick_quantizer *q, const replay *p, wick_tensor *labels) {
    wick_value *const *results = p->r->s.graph->outputs;
    if (q->by_labels) return wick_cross_entropy(p->made[results[0]->id], labels);
    wick_tensor *sum = NULL;
    for (int i = 0; i < q->n_out; i++) {
        wick_tensor *y = p->made[results[i]->id];
        if (!wick_dtype_is_float(wick_tensor_dtype(y))) continue;
        wick_tensor *noise = wick_random_normal(q->ctx, WICK_F32, wick_tensor_rank(y), wick_tensor_dims(y));
        y = wick_sum(wick_mul(wick_cast(y, WICK_F32), noise), WICK_ALL_AXES, false);
        sum = sum ? wick_add(sum, y) : y;
    }
    return sum;
}

/* By layer: gradients by its weights, then the sum of squares of those by what it takes. */
static wick_status record(wick_quantizer *q, const replay *p, wick_tensor *labels, wick_tensor **out) {
    const int n = 2 * q->n_layers;
    wick_tensor **wrt = wick_arena_zalloc(&p->r->s.arena, (2 * (size_t)n + 1) * sizeof *wrt), **grads = wrt + n;
    if (!wrt) return out_of_memory(q->ctx);
    wick_tensor *loss = loss_of(q, p, labels);
    if (!loss) return wick_msg_set(&q->ctx->msg, WICK_ERR_UNSUPPORTED, "quantizer: no result has floats");
    if (loss->error) return wick_fail_poison(q->ctx, loss);
    for (int i = 0; i < q->n_layers; i++) {
        if (!p->taken[i])
            return wick_msg_set(&q->ctx->msg, WICK_ERR_UNSUPPORTED,
                                "quantizer: the first result doesn't follow from %s: weigh it without labels",
                                q->layers[i].name);
        wrt[2 * i] = p->weights[i], wrt[2 * i + 1] = p->taken[i];
    }
    wick_grad(loss, n, wrt, grads);
    for (int i = 0; i < q->n_layers; i++) {
        out[2 * i] = grads[2 * i];
        out[2 * i + 1] = wick_sum(wick_square(grads[2 * i + 1]), WICK_ALL_AXES, false);
    }
    return WICK_OK;
}
static wick_status record_gradients(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    reading r;
    replay p;
    wick_status status = wick_replay_floats(&p, q, &r, ctx, in);
    for (int i = 0; i < (q->by_labels ? 1 : q->n_out) && status == WICK_OK; i++)
        wick_replay_need(&p, r.s.graph->outputs[i]);
    if (status == WICK_OK) status = wick_replay_run(&p);
    if (status == WICK_OK) status = record(q, &p, in[q->n_in], out);
    wick_subject_free(&r.s);
    return status;
}

static wick_status make_weigher(wick_quantizer *q) {
    wick_context *ctx = q->ctx;
    wick_spec *specs = wick_arena_zalloc(&q->arena, ((size_t)q->n_in + 1) * sizeof *specs);
    if (!specs) return out_of_memory(ctx);
    memcpy(specs, q->in, (size_t)q->n_in * sizeof *specs);
    for (int k = 0; k < q->n_in; k++) {
        if (specs[k].rank < 1 || specs[k].dims[0] != q->in[0].dims[0])
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "quantizer: input %d doesn't have the samples of a batch first", k);
        specs[k].dims[0] = 1;
    }
    specs[q->n_in] = (wick_spec){.dtype = WICK_I64, .rank = 1, .dims = {1}};
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        if (!l->fisher)
            l->fisher = wick_arena_zalloc(&q->arena, (size_t)wick_type_count(&l->type) * sizeof(double) + 1);
        if (!l->fisher) return out_of_memory(ctx);
    }
    WICK_TRY(wick_compile(ctx, record_gradients, q, q->n_in + 1, specs, 2 * q->n_layers, NULL, &q->weighing));
    return wick_workspace_new(q->weighing, &q->weigher);
}

/* One sample, whose gradients are in out[]. */
static wick_status add_sample(wick_quantizer *q, void *const *out) {
    for (int i = 0; i < 2 * q->n_layers; i++)
        if (!wick_calibrator_fits(out[i], i % 2 ? 1 : wick_type_count(&q->layers[i / 2].type)))
            return wick_context_fail(q->ctx, WICK_ERR_INVALID,
                                     "quantizer: the gradient of %s is NaN or Inf: this sample counts for nothing",
                                     q->layers[i / 2].name);
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        const float *g = out[2 * i];
        for (int64_t k = 0; k < wick_type_count(&l->type); k++) l->fisher[k] += (double)g[k] * (double)g[k];
        l->input_fisher += (double)*(const float *)out[2 * i + 1];
    }
    q->weighed++;
    return WICK_OK;
}

wick_status wick_quantizer_weigh(wick_quantizer *q, const void *const *in, const int64_t *labels) {
    if (!q) return WICK_ERR_INVALID;
    wick_context *ctx = q->ctx;
    if (!in) return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: in is NULL");
    if ((q->options.awq && !q->awq_done) || (q->options.smooth > 0 && !q->smoothed))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: %s comes before it: it moves scales",
                                 q->options.awq && !q->awq_done ? "wick_quantizer_finish (awq)"
                                                                : "wick_quantizer_smooth");
    if (q->weigher && q->by_labels != (labels != NULL))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: batches were weighed %s labels before",
                                 labels ? "without" : "with");
    q->by_labels = labels != NULL;
    if (!q->weigher) {
        const wick_status status = make_weigher(q);
        if (status != WICK_OK) wick_plan_free(&q->weighing);
        WICK_TRY(status);
    }
    wick_arena scratch;
    wick_arena_init(&scratch, &ctx->alloc, 0);
    const void **sample = wick_arena_zalloc(&scratch, ((size_t)q->n_in + 1) * sizeof *sample);
    void **out = wick_arena_zalloc(&scratch, (2 * (size_t)q->n_layers + 1) * sizeof *out);
    wick_status status = sample && out ? WICK_OK : out_of_memory(ctx);
    for (int i = 0; i < 2 * q->n_layers && status == WICK_OK; i++) {
        const wick_spec spec = wick_plan_output(q->weighing, i);
        if (!(out[i] = wick_arena_alloc(&scratch, wick_spec_bytes(&spec) + 1))) status = out_of_memory(ctx);
    }
    const int64_t none = 0;
    for (int64_t s = 0; s < q->in[0].dims[0] && status == WICK_OK; s++) {
        for (int k = 0; k < q->n_in; k++) {
            wick_spec one = q->in[k];
            one.dims[0] = 1;
            sample[k] = (const char *)in[k] + (size_t)s * wick_spec_bytes(&one);
        }
        sample[q->n_in] = labels ? &labels[s] : &none;
        wick_workspace_set_offset(q->weigher, (uint64_t)q->weighed);
        status = wick_run(q->weigher, sample, out);
        if (status != WICK_OK)
            wick_context_fail(ctx, status, "quantizer: %s", wick_workspace_error(q->weigher));
        else
            status = add_sample(q, out);
    }
    wick_arena_free(&scratch);
    return status;
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

void wick_quantizer_note_cost(const wick_quantizer *q, layer *l, double weighed) {
    if (!q->weighed) return;
    const double step = weights_alone(q) ? 0 : q->sites[l->site].scale;
    l->cost = (weighed + l->input_fisher * step * step / 12) / (2 * (double)q->weighed);
}

int wick_quantizer_layer_bits(const wick_quantizer *q, const layer *l) {
    return l->kept ? 32 : is_int4(q) ? 4 : weights_alone(q) ? 8 : l->bits;
}
int64_t wick_quantizer_layer_bytes(const wick_quantizer *q, const layer *l) {
    const int64_t n = wick_type_count(&l->type), channels = l->type.dims[l->axis], each = n / WICK_MAX(channels, 1),
                  bias = l->bias ? channels * (int64_t)sizeof(float) : 0, float_bytes = (int64_t)sizeof(float);
    if (l->kept) return n * float_bytes + bias;
    const int64_t block = q->options.block, blocks = block ? (each + block - 1) / block : 1;
    if (is_int4(q)) return channels * blocks * (block / 2 + float_bytes) + bias;
    if (weights_alone(q)) return (block ? channels * blocks * block : n) + channels * blocks * float_bytes + bias;
    /* integers, a scale for each channel, and of a bias another */
    return (l->bits > 4 ? n : (n + 1) / 2) + channels * float_bytes + 2 * bias;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* Costs and bytes of all layers with these bits, as one more choice of each that can have them. */
static wick_status add_choice(wick_quantizer *q, bool eight, wick_knapsack_item *items) {
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        l->kept = l->fixed;
        l->bits = eight ? q->options.reduce_range ? 7 : 8 : l->least_bits;
    }
    WICK_TRY(wick_quantizer_finish(q));
    for (int i = 0; i < q->n_layers; i++) {
        const layer *l = &q->layers[i];
        wick_knapsack_item *item = &items[i];
        if (l->fixed || (eight && l->least_bits == l->bits)) continue;
        item->bytes[item->n] = wick_quantizer_layer_bytes(q, l);
        item->cost[item->n++] = l->cost;
    }
    return WICK_OK;
}
static void add_floats(wick_quantizer *q, wick_knapsack_item *items) {
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        wick_knapsack_item *item = &items[i];
        l->kept = true;
        item->bytes[item->n] = wick_quantizer_layer_bytes(q, l);
        item->cost[item->n++] = 0;
    }
}
/* What was chosen, of what add_choice and add_floats have in turn. */
static void take(const wick_quantizer *q, layer *l, const wick_knapsack_item *item, int choice) {
    l->kept = choice == item->n - 1;
    l->bits = choice == 0 ? l->least_bits : q->options.reduce_range ? 7 : 8;
}

wick_status wick_quantizer_choose(wick_quantizer *q, int64_t bytes, double *cost) {
    if (!q) return WICK_ERR_INVALID;
    wick_context *ctx = q->ctx;
    if (cost) *cost = 0;
    if (!q->weighed || q->trained)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: %s",
                                 q->trained ? "layers are chosen before training" : "nothing was weighed");
    wick_arena scratch;
    wick_arena_init(&scratch, &ctx->alloc, 0);
    wick_knapsack_item *items = wick_arena_zalloc(&scratch, ((size_t)q->n_layers + 1) * sizeof *items);
    int *chosen = wick_arena_zalloc(&scratch, ((size_t)q->n_layers + 1) * sizeof *chosen);
    wick_status status = items && chosen ? add_choice(q, false, items) : out_of_memory(ctx);
    if (status == WICK_OK && !weights_alone(q) && q->options.weight_bits < 8) status = add_choice(q, true, items);
    if (status == WICK_OK) {
        add_floats(q, items);
        status = wick_knapsack(&ctx->alloc, q->n_layers, items, bytes, chosen);
        if (status != WICK_OK) out_of_memory(ctx);
    }
    for (int i = 0; i < q->n_layers && status == WICK_OK; i++) {
        take(q, &q->layers[i], &items[i], chosen[i]);
        if (cost) *cost += items[i].cost[chosen[i]];
    }
    q->finished = false;
    wick_arena_free(&scratch);
    return status;
}
