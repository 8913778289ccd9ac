/* optimizer.c: one step as a graph: gradients, accumulation, clipping, the rule for each parameter, then all
 * assignments.
 *
 * States of parameter NAME of dtype T: "optim.<moment>.NAME" and "optim.grad.NAME" (accumulation) have NAME's shape and
 * T, or f32 for the 16-bit floats. "optim.step" (i64, 0-d) counts the steps done. */
#include <stdio.h>

#include "ops/ops.h"
#include "optim/optim.h"
#include "tensor/tensor.h" /* the context's allocator */

struct wick_optimizer {
    wick_model *model;
    wick_context *ctx;
    wick_allocator alloc;
    wick_optim_options options;
    const wick_rule *rule;
    bool bound;         /* to the model's parameters, at the first step recorded */
    int n;              /* parameters */
    const char **names; /* n each; all in one block */
    wick_tensor **params, **grads; /* grads: NULL where the loss does not depend on the parameter */
    wick_tensor **used;            /* parameters that it depends on */
    bool *reached;
    wick_update *updates; /* 4 n + 1: parameter, two moments, accumulated gradient; the step count */
    int n_updates;
    size_t block;
};

/* ---- making
 * ------------------------------------------------------------------------------------------------------------ */

static const char *bad_schedule(const wick_schedule *s) {
    if ((unsigned)s->kind > WICK_SCHEDULE_COSINE) return "no such schedule";
    if (s->warmup < 0) return "warmup is negative";
    if (s->kind == WICK_SCHEDULE_STEP && s->every < 1) return "the step schedule needs every >= 1";
    if (s->kind == WICK_SCHEDULE_STEP && !(s->gamma > 0)) return "the step schedule needs gamma > 0";
    if (s->kind == WICK_SCHEDULE_COSINE && s->total <= s->warmup) return "the cosine schedule needs total > warmup";
    if (s->kind == WICK_SCHEDULE_COSINE && !(s->lr_min >= 0)) return "lr_min is negative";
    return NULL;
}

static const char *bad_options(const wick_optim_options *o) {
    if ((unsigned)o->kind > WICK_ADAMW) return "no such optimizer";
    if (!(o->lr > 0)) return "lr must be above 0";
    if (!(o->momentum >= 0)) return "momentum is negative";
    if (o->nesterov && o->momentum == 0) return "nesterov needs momentum";
    if (o->kind != WICK_SGD && (o->momentum != 0 || o->nesterov)) return "momentum is SGD's; Adam has beta1";
    if (!(o->beta1 >= 0 && o->beta1 < 1 && o->beta2 >= 0 && o->beta2 < 1)) return "beta1 and beta2 must be in [0, 1)";
    if (!(o->eps >= 0)) return "eps is negative";
    if (!(o->weight_decay >= 0)) return "weight_decay is negative";
    if (!(o->clip_norm >= 0)) return "clip_norm is negative";
    if (o->accumulate < 0) return "accumulate is negative";
    return bad_schedule(&o->schedule);
}

wick_status wick_optimizer_new(wick_model *model, const wick_optim_options *options, wick_optimizer **out) {
    *out = NULL;
    wick_context *ctx = wick_model_context(model);
    const wick_optim_options o = wick_optim_defaults(options);
    const char *bad = bad_options(&o);
    if (bad) return wick_context_fail(ctx, WICK_ERR_INVALID, "optimizer: %s", bad);
    wick_optimizer *opt = wick_calloc(&ctx->alloc, sizeof *opt);
    if (!opt) return wick_context_fail(ctx, WICK_ERR_NOMEM, "optimizer: out of memory");
    opt->model = model;
    opt->ctx = ctx;
    opt->alloc = ctx->alloc;
    opt->options = o;
    opt->rule = wick_rule_of(&o);
    *out = opt;
    return WICK_OK;
}

void wick_optimizer_free(wick_optimizer **optimizer) {
    wick_optimizer *opt = optimizer ? *optimizer : NULL;
    if (!opt) return;
    *optimizer = NULL;
    wick_allocator alloc = opt->alloc;
    wick_release(&alloc, opt->updates, opt->block);
    wick_release(&alloc, opt, sizeof *opt);
}

static bool is_trained(wick_named state) { return state.role == WICK_ROLE_PARAM && !state.frozen; }

/* Takes the model's parameters of now that are not frozen. The model keeps their handles and names as long as it lives. */
static wick_status bind_parameters(wick_optimizer *opt) {
    if (opt->bound) return WICK_OK;
    int n = 0;
    for (int i = 0; i < wick_model_count(opt->model); i++) n += is_trained(wick_model_at(opt->model, i));
    if (!n)
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID,
                                 "optimizer: no parameter to train: the model has none yet (build its loss first), or all are frozen");
    const size_t block = (4 * (size_t)n + 1) * sizeof(wick_update) + 4 * (size_t)n * sizeof(void *) + (size_t)n;
    wick_update *updates = wick_alloc(&opt->alloc, block);
    if (!updates) return wick_context_fail(opt->ctx, WICK_ERR_NOMEM, "optimizer: out of memory");
    opt->block = block;
    opt->updates = updates;
    opt->params = (wick_tensor **)(updates + 4 * n + 1);
    opt->grads = opt->params + n;
    opt->used = opt->grads + n;
    opt->names = (const char **)(opt->used + n);
    opt->reached = (bool *)(opt->names + n);
    for (int i = 0; i < wick_model_count(opt->model); i++) {
        wick_named state = wick_model_at(opt->model, i);
        if (!is_trained(state)) continue;
        opt->params[opt->n] = state.tensor;
        opt->names[opt->n++] = state.name;
    }
    opt->bound = true;
    return WICK_OK;
}

/* ---- pieces of a step
 * ------------------------------------------------------------------------------------------------------ */

static wick_tensor *to_dtype(wick_tensor *x, wick_dtype dtype) {
    return wick_tensor_dtype(x) == dtype ? x : wick_cast(x, dtype);
}

static wick_dtype working_dtype(const wick_tensor *param) {
    wick_dtype dtype = wick_tensor_dtype(param);
    return dtype == WICK_F16 || dtype == WICK_BF16 ? WICK_F32 : dtype;
}

static wick_tensor *step_count(wick_optimizer *opt) {
    return wick_model_state(opt->model, "optim.step", WICK_ROLE_OPTIM, WICK_I64, WICK_SCALAR, wick_init_constant(0));
}

/* "optim.WHAT.NAME", zero at first. */
static wick_tensor *state_of(wick_optimizer *opt, const char *what, int i) {
    char name[512];
    const wick_tensor *p = opt->params[i];
    if (snprintf(name, sizeof name, "optim.%s.%s", what, opt->names[i]) >= (int)sizeof name)
        name[0] = 0; /* refused by its model */
    return wick_model_state(opt->model, name, WICK_ROLE_OPTIM, working_dtype(p), wick_tensor_rank(p),
                            wick_tensor_dims(p), wick_init_constant(0));
}

static wick_status fail_with(wick_optimizer *opt, const char *what, const wick_tensor *x) {
    const char *text;
    wick_status status = wick_tensor_error(x, &text);
    return wick_context_fail(opt->ctx, status, "optimizer: %s: %s", what, text);
}

/* Sets grads[i] to the gradient of loss / accumulate in the working dtype. */
static wick_status gradients(wick_optimizer *opt, wick_tensor *loss) {
    if (wick_tensor_error(loss, NULL) != WICK_OK) return fail_with(opt, "loss", loss);
    WICK_TRY(bind_parameters(opt));
    WICK_TRY(wick_check_finite(loss));
    wick_tensor *part = loss;
    if (opt->options.accumulate > 1) part = wick_div(loss, wick_like(loss, opt->options.accumulate));
    WICK_TRY(wick_reached(loss, opt->n, opt->params, opt->reached));
    int n = 0;
    for (int i = 0; i < opt->n; i++)
        if (opt->reached[i]) opt->used[n++] = opt->params[i];
    if (!n) { /* says why */
        wick_grad(part, 1, opt->params, opt->grads);
        return fail_with(opt, opt->names[0], opt->grads[0]);
    }
    wick_grad(part, n, opt->used, opt->grads);
    for (int i = opt->n; i-- > 0;) { /* from the end: they spread out in place */
        wick_tensor *p = opt->params[i];
        opt->grads[i] = opt->reached[i] ? opt->grads[--n] : NULL;
        if (!opt->grads[i] && opt->options.accumulate > 1) /* earlier parts may have one */
            opt->grads[i] = wick_expand(wick_constant(opt->ctx, working_dtype(p), 0), wick_tensor_rank(p), wick_tensor_dims(p));
        if (!opt->grads[i]) continue;
        if (wick_tensor_error(opt->grads[i], NULL) == WICK_OK) {
            opt->grads[i] = to_dtype(opt->grads[i], working_dtype(p));
            continue;
        }
        /* One bad parameter poisons all gradients: find it, so that the error can name it. */
        for (int k = 0; k < opt->n; k++) {
            wick_tensor *alone;
            if (!opt->reached[k]) continue;
            wick_grad(part, 1, &opt->params[k], &alone);
            if (wick_tensor_error(alone, NULL) != WICK_OK) return fail_with(opt, opt->names[k], alone);
        }
        return fail_with(opt, "gradients", opt->grads[i]);
    }
    return WICK_OK;
}

static void update_push(wick_optimizer *opt, wick_tensor *state, wick_tensor *value) {
    opt->updates[opt->n_updates++] = (wick_update){state, value};
}

/* Expressions first, assignments last: an error leaves no half of a step behind. */
static wick_status updates_assign(wick_optimizer *opt) {
    for (int i = 0; i < opt->n_updates; i++) {
        if (wick_tensor_error(opt->updates[i].state, NULL) != WICK_OK)
            return fail_with(opt, "state", opt->updates[i].state);
        if (wick_tensor_error(opt->updates[i].value, NULL) != WICK_OK)
            return fail_with(opt, "update", opt->updates[i].value);
    }
    for (int i = 0; i < opt->n_updates; i++) WICK_TRY(wick_assign(opt->updates[i].state, opt->updates[i].value));
    return WICK_OK;
}

/* grads[i] += what earlier micro-batches left, and that is cleared. */
static void take_accumulated(wick_optimizer *opt) {
    for (int i = 0; i < opt->n; i++) {
        wick_tensor *sum = state_of(opt, "grad", i);
        opt->grads[i] = wick_add(sum, opt->grads[i]);
        update_push(opt, sum, wick_expand(wick_like(sum, 0), wick_tensor_rank(sum), wick_tensor_dims(sum)));
    }
}

/* clip_norm / (norm + 1e-6), at most 1: torch.nn.utils.clip_grad_norm_ (Pascanu et al. 2013). */
static void clip(wick_optimizer *opt) {
    wick_tensor *squares = NULL;
    for (int i = 0; i < opt->n; i++) {
        if (!opt->grads[i]) continue;
        wick_tensor *s = to_dtype(wick_sum(wick_square(opt->grads[i]), WICK_ALL_AXES, false), WICK_F64);
        squares = squares ? wick_add(squares, s) : s;
    }
    wick_tensor *norm = wick_sqrt(squares);
    wick_tensor *scale = wick_div(wick_like(norm, opt->options.clip_norm), wick_add(norm, wick_like(norm, 1e-6)));
    scale = wick_minimum(wick_like(norm, 1), scale);
    for (int i = 0; i < opt->n; i++)
        if (opt->grads[i]) opt->grads[i] = wick_mul(opt->grads[i], to_dtype(scale, wick_tensor_dtype(opt->grads[i])));
}

static void apply_rule(wick_optimizer *opt, wick_tensor *step) {
    const wick_optim_options *o = &opt->options;
    wick_tensor *lr = wick_schedule_record(o, step);
    wick_tensor *t = wick_cast(wick_add(step, wick_like(step, 1)), WICK_F64), *one = wick_like(t, 1);
    wick_tensor *lr_corrected = wick_div(lr, wick_sub(one, wick_pow(wick_like(t, o->beta1), t)));
    wick_tensor *inv_sqrt_corrected = wick_rsqrt(wick_sub(one, wick_pow(wick_like(t, o->beta2), t)));
    for (int i = 0; i < opt->n; i++) {
        if (!opt->grads[i]) continue;
        wick_tensor *p = opt->params[i], *new_moment[2] = {NULL, NULL};
        const wick_dtype dtype = working_dtype(p);
        wick_rule_input in = {.options = o,
                              .p = to_dtype(p, dtype),
                              .g = opt->grads[i],
                              .lr = to_dtype(lr, dtype),
                              .lr_corrected = to_dtype(lr_corrected, dtype),
                              .inv_sqrt_corrected = to_dtype(inv_sqrt_corrected, dtype)};
        for (int k = 0; k < 2; k++)
            if (opt->rule->moments[k]) in.moment[k] = state_of(opt, opt->rule->moments[k], i);
        wick_tensor *new_p = opt->rule->update(&in, new_moment);
        for (int k = 0; k < 2; k++)
            if (in.moment[k]) update_push(opt, in.moment[k], new_moment[k]);
        update_push(opt, p, to_dtype(new_p, wick_tensor_dtype(p)));
    }
    update_push(opt, step, wick_add(step, wick_like(step, 1)));
}

/* ---- recording
 * ----------------------------------------------------------------------------------------------------------------- */

static wick_status record_step(wick_optimizer *opt, wick_tensor *loss) {
    WICK_TRY(gradients(opt, loss));
    opt->n_updates = 0;
    if (opt->options.accumulate > 1) take_accumulated(opt);
    if (opt->options.clip_norm > 0) clip(opt);
    apply_rule(opt, step_count(opt));
    return updates_assign(opt);
}

static wick_status record_accumulate(wick_optimizer *opt, wick_tensor *loss) {
    WICK_TRY(gradients(opt, loss));
    opt->n_updates = 0;
    for (int i = 0; i < opt->n; i++) {
        wick_tensor *sum = state_of(opt, "grad", i);
        update_push(opt, sum, wick_add(sum, opt->grads[i]));
    }
    return updates_assign(opt);
}

/* What a step records is of no use to the caller: its handles die here, the assignments stay pending. */
static wick_status in_scope(wick_optimizer *opt, wick_tensor *loss,
                            wick_status (*record)(wick_optimizer *, wick_tensor *)) {
    wick_scope *scope = wick_scope_open(opt->ctx);
    if (!scope) return wick_context_fail(opt->ctx, WICK_ERR_NOMEM, "optimizer: out of memory");
    wick_status status = record(opt, loss);
    wick_scope_close(&scope);
    return status;
}

wick_status wick_optimizer_step(wick_optimizer *opt, wick_tensor *loss) { return in_scope(opt, loss, record_step); }

wick_status wick_optimizer_accumulate(wick_optimizer *opt, wick_tensor *loss) {
    if (opt->options.accumulate <= 1)
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: accumulating needs options.accumulate > 1");
    return in_scope(opt, loss, record_accumulate);
}

wick_tensor *wick_optimizer_lr(wick_optimizer *opt) { return wick_schedule_record(&opt->options, step_count(opt)); }
