/* trained.c: quantisation-aware training: the parameters that an optimizer gets, and what becomes of them. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "exec/exec.h"

#include <stdio.h>

/* A layer's weights or bias, as a parameter. */
static wick_status start(wick_quantizer *q, const char *name, int rank, const int64_t *dims, const float *data,
                         wick_tensor **out) {
    wick_tensor *t = wick_from(q->ctx, WICK_F32, rank, dims, data);
    if (t->error) return wick_fail_poison(q->ctx, t);
    WICK_TRY(wick_model_adopt(q->trained, name, WICK_ROLE_PARAM, t));
    *out = wick_model_find(q->trained, name);
    return WICK_OK;
}

/* Steps begin as what was made of weights and ranges. */
static wick_status start_steps(wick_quantizer *q) {
    char name[WICK_MSG_MAX];
    for (int i = 0; i < q->n_layers; i++) {
        layer *l = &q->layers[i];
        site *s = &q->sites[l->site];
        const void *data;
        if (l->kept) continue;
        WICK_TRY(wick_data(l->scale, &data));
        snprintf(name, sizeof name, "%.400s_step", l->name);
        WICK_TRY(start(q, name, 1, &l->type.dims[l->axis], data, &l->step));
        if (s->step) continue; /* another layer takes it too */
        const float scale = (float)s->scale;
        snprintf(name, sizeof name, "%.400s_input_step", l->name);
        WICK_TRY(start(q, name, 0, NULL, &scale, &s->step));
    }
    return WICK_OK;
}

wick_status wick_quantizer_start_training(wick_quantizer *q) {
    if (!q) return WICK_ERR_INVALID;
    wick_context *ctx = q->ctx;
    if (weights_alone(q))
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "quantizer: weights of %s are not trained",
                                 is_int4(q) ? "4 bits" : "8 bits alone");
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
    if (status == WICK_OK && q->options.learn_steps) status = start_steps(q);
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
        for (int i = 0; i < q->n_layers; i++)
            q->layers[i].trained = q->layers[i].bias_trained = q->layers[i].step = NULL;
        for (int i = 0; i < q->n_sites; i++) q->sites[i].step = NULL;
    }
    return status;
}
wick_model *wick_quantizer_trained(wick_quantizer *q) { return q ? q->trained : NULL; }

wick_status wick_quantizer_take_trained(wick_quantizer *q) {
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

wick_status wick_quantizer_apply_trained(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    if (q && ctx == q->ctx && q->trained && in && out) return wick_quantizer_record(q, TRAINED, in, out);
    return wick_context_fail(ctx, WICK_ERR_INVALID, "quantizer: wick_quantizer_start_training comes before it");
}
