/* optimizer.c: one step as a graph: gradients, accumulation, clipping, the rule for each parameter, then all
 * assignments. Or its two halves, with a vector of all gradients between them.
 *
 * States of parameter NAME of dtype T: "optim.<moment>.NAME" and "optim.grad.NAME" (accumulation) have NAME's shape and
 * T, or f32 for the 16-bit floats. "optim.step" (i64, 0-d) counts the steps done. "optim.average.NAME" is the mean of a
 * state, "optim.averaged" (i64, 0-d) how often it was taken. */
#include "optim/optimizer.h"

#include <math.h>
#include <stdio.h>

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Copies the schedule's parts and the groups; sets *bad to what is wrong with a group. */
static bool copy_options(wick_optimizer *opt, const char **bad) {
    wick_optim_options *o = &opt->options;
    const size_t parts = (size_t)wick_schedule_parts(&o->schedule);
    wick_schedule *room = parts ? wick_arena_alloc(&opt->arena, parts * sizeof *room) : NULL;
    opt->n_groups = o->n_groups;
    opt->groups = wick_arena_alloc(&opt->arena, ((size_t)o->n_groups + 1) * sizeof *opt->groups);
    if ((parts && !room) || !opt->groups) return false;
    wick_schedule_copy_parts(&o->schedule, room);
    memset(opt->groups, 0, ((size_t)o->n_groups + 1) * sizeof *opt->groups);
    for (int i = 0; i < o->n_groups; i++) {
        const wick_param_group *from = &o->groups[i];
        wick_optim_group *g = &opt->groups[i];
        if (!from->pattern) {
            *bad = "a group has no pattern";
            return true;
        }
        g->pattern = wick_arena_strdup(&opt->arena, from->pattern);
        if (!g->pattern) return false;
        g->freeze = from->freeze;
        g->options = from->rule ? wick_optim_defaults(from->rule) : *o;
        g->options.schedule = o->schedule;
        g->options.groups = NULL;
        g->options.n_groups = 0;
        double scale = from->lr_scale, decay = from->weight_decay;
        wick_by_default(&scale, 1);
        wick_by_default(&decay, g->options.weight_decay);
        if (!(scale >= 0)) *bad = "a group's lr_scale is negative";
        g->options.weight_decay = decay;
        if (!*bad) *bad = wick_optim_bad(&g->options);
        g->options.lr *= scale;
    }
    o->groups = NULL;
    o->n_groups = 0;
    opt->groups[opt->n_groups].options = *o;
    return true;
}

wick_status wick_optimizer_new(wick_model *model, const wick_optim_options *options, wick_optimizer **out) {
    if (!out) return wick_context_fail(wick_model_context(model), WICK_ERR_INVALID, "optimizer_new: out is NULL");
    *out = NULL;
    wick_context *ctx = wick_model_context(model);
    const wick_optim_options o = wick_optim_defaults(options);
    const char *bad = wick_optim_bad(&o);
    if (bad) return wick_context_fail(ctx, WICK_ERR_INVALID, "optimizer: %s", bad);
    wick_optimizer *opt = wick_calloc(&ctx->alloc, sizeof *opt);
    if (!opt) return wick_context_fail(ctx, WICK_ERR_NOMEM, "optimizer: out of memory");
    opt->model = model;
    opt->ctx = ctx;
    opt->alloc = ctx->alloc;
    opt->options = o;
    opt->n_given = -1;
    wick_arena_init(&opt->arena, &opt->alloc, 1024);
    if (copy_options(opt, &bad) && !bad) {
        *out = opt;
        return WICK_OK;
    }
    wick_optimizer_free(&opt);
    return bad ? wick_context_fail(ctx, WICK_ERR_INVALID, "optimizer: %s", bad)
               : wick_context_fail(ctx, WICK_ERR_NOMEM, "optimizer: out of memory");
}

void wick_optimizer_free(wick_optimizer **optimizer) {
    wick_optimizer *opt = optimizer ? *optimizer : NULL;
    if (!opt) return;
    *optimizer = NULL;
    wick_allocator alloc = opt->alloc;
    wick_arena_free(&opt->arena);
    wick_release(&alloc, opt->params, opt->block);
    wick_release(&alloc, opt->begin, opt->shard_block);
    wick_release(&alloc, opt->updates, opt->updates_cap * sizeof *opt->updates);
    wick_release(&alloc, opt, sizeof *opt);
}

static wick_optim_group *group_of(wick_optimizer *opt, const char *name) {
    int i = 0;
    while (i < opt->n_groups && !wick_glob(opt->groups[i].pattern, name)) i++;
    return &opt->groups[i];
}
/* Whether this optimizer trains the state; notes which groups have one. */
static bool is_trained(wick_optimizer *opt, wick_named state) {
    if (state.role != WICK_ROLE_PARAM) return false;
    wick_optim_group *g = group_of(opt, state.name);
    g->matched = true;
    return !state.frozen && !g->freeze;
}

/* Takes the model's parameters of now that are not frozen. The model keeps their handles and names as long as it lives.
 */
static wick_status bind_parameters(wick_optimizer *opt) {
    if (opt->bound) return WICK_OK;
    int n = 0;
    for (int i = 0; i < wick_model_count(opt->model); i++) n += is_trained(opt, wick_model_at(opt->model, i));
    for (int i = 0; i < opt->n_groups; i++)
        if (!opt->groups[i].matched)
            return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: no parameter is in the group \"%s\"",
                                     opt->groups[i].pattern);
    if (!n)
        return wick_context_fail(
            opt->ctx, WICK_ERR_INVALID,
            "optimizer: no parameter to train: the model has none yet (build its loss first), or all are frozen");
    const size_t block = 6 * (size_t)n * sizeof(void *) + 2 * (size_t)n;
    wick_tensor **params = wick_alloc(&opt->alloc, block);
    if (!params) return wick_context_fail(opt->ctx, WICK_ERR_NOMEM, "optimizer: out of memory");
    opt->block = block;
    opt->params = params;
    opt->grads = opt->params + n;
    opt->used = opt->grads + n;
    opt->values = opt->used + n;
    opt->names = (const char **)(opt->values + n);
    opt->of = (wick_optim_group **)(void *)(opt->names + n);
    opt->reached = (bool *)(opt->of + n);
    opt->given = opt->reached + n;
    for (int i = 0; i < wick_model_count(opt->model); i++) {
        wick_named state = wick_model_at(opt->model, i);
        if (!is_trained(opt, state)) continue;
        opt->params[opt->n] = state.tensor;
        opt->of[opt->n] = group_of(opt, state.name);
        opt->names[opt->n++] = state.name;
    }
    opt->bound = true;
    return WICK_OK;
}

/* ---- pieces of a step -------------------------------------------------------------------------------------------- */

wick_dtype wick_optim_dtype(const wick_tensor *param) {
    wick_dtype dtype = wick_tensor_dtype(param);
    return dtype == WICK_F16 || dtype == WICK_BF16 ? WICK_F32 : dtype;
}

static wick_tensor *counter(wick_optimizer *opt, const char *name) {
    return wick_model_state(opt->model, name, WICK_ROLE_OPTIM, WICK_I64, WICK_SCALAR, wick_init_constant(0));
}
static wick_tensor *step_count(wick_optimizer *opt) { return counter(opt, "optim.step"); }

/* "PREFIX.NAME", of the shape of p, or, as a vector, part of that (NULL: all). */
static wick_tensor *state_like(wick_optimizer *opt, const char *prefix, const char *of, const wick_tensor *p,
                               const wick_optim_cut *cut, double start) {
    char name[512];
    if (snprintf(name, sizeof name, "%s%s", prefix, of) >= (int)sizeof name) name[0] = 0; /* refused by its model */
    if (cut)
        return wick_model_state_part(opt->model, name, wick_optim_dtype(p), wick_tensor_rank(p), wick_tensor_dims(p),
                                     cut->begin, cut->end, wick_init_constant(start));
    return wick_model_state(opt->model, name, WICK_ROLE_OPTIM, wick_optim_dtype(p), wick_tensor_rank(p),
                            wick_tensor_dims(p), wick_init_constant(start));
}
/* "optim.WHAT.NAME" of parameter i. */
static wick_tensor *state_of(wick_optimizer *opt, const char *what, int i, double start) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "optim.%s.", what);
    const wick_optim_cut *cut = wick_optim_is_cut(opt, i) ? &opt->cut[i] : NULL;
    return state_like(opt, prefix, opt->names[i], opt->params[i], cut, start);
}

wick_status wick_optim_fail_with(wick_optimizer *opt, const char *what, const wick_tensor *x) {
    const char *text;
    wick_status status = wick_tensor_error(x, &text);
    return wick_context_fail(opt->ctx, status, "optimizer: %s: %s", what, text);
}

/* ---- loss scaling ------------------------------------------------------------------------------------------------ */

static wick_tensor *loss_scale(wick_optimizer *opt) {
    return wick_model_state(opt->model, "optim.scale", WICK_ROLE_OPTIM, WICK_F32, WICK_SCALAR,
                            wick_init_constant(opt->options.loss_scale.initial));
}

/* Whether all gradients are finite, 0-d bool: the largest magnitude of each is, since NaN is the largest of all. */
static wick_tensor *all_finite(wick_optimizer *opt) {
    wick_tensor *good = NULL;
    for (int i = 0; i < opt->n; i++) {
        if (opt->norms ? !opt->given[i] : !opt->grads[i]) continue;
        wick_tensor *most = opt->norms ? wick_optim_norm_of(opt, i, WICK_OPTIM_LARGEST)
                                       : wick_max(wick_abs(opt->grads[i]), WICK_ALL_AXES, false);
        wick_tensor *finite = wick_isfinite(most);
        good = good ? wick_logical_and(good, finite) : finite;
    }
    return good;
}

/* Makes the updates from `from` on conditional: a step whose gradients are not finite changes no state. Accumulated
 * gradients, which come before `from`, are cleared either way. */
static void skip_bad(wick_optimizer *opt, wick_tensor *good, size_t from) {
    for (size_t i = from; i < opt->n_updates; i++) {
        wick_update *u = &opt->updates[i];
        u->value = wick_where(good, u->value, u->state);
    }
    for (int i = 0; i < opt->n; i++)
        if (wick_optim_is_cut(opt, i) && opt->cut[i].begin < opt->cut[i].end)
            opt->values[i] =
                wick_where(good, opt->values[i], wick_optim_flat(opt, i, wick_optim_own(opt, i, opt->params[i])));
}

static void update_push(wick_optimizer *opt, wick_tensor *state, wick_tensor *value);
static wick_tensor *counter(wick_optimizer *opt, const char *name);

static void move_scale(wick_optimizer *opt, wick_tensor *good) {
    const wick_loss_scale *o = &opt->options.loss_scale;
    wick_tensor *scale = loss_scale(opt), *run = counter(opt, "optim.scale.good"),
                *skipped = counter(opt, "optim.skipped");
    wick_tensor *longer = wick_add(run, wick_like(run, 1)), *due = wick_ge(longer, wick_like(run, (double)o->interval)),
                *none = wick_like(run, 0);
    wick_tensor *grown = wick_where(due, wick_mul(scale, wick_like(scale, o->growth)), scale);
    grown = wick_where(wick_isfinite(grown), grown, scale);
    update_push(opt, scale, wick_where(good, grown, wick_mul(scale, wick_like(scale, o->backoff))));
    update_push(opt, run, wick_where(wick_logical_and(good, wick_logical_not(due)), longer, none));
    update_push(opt, skipped, wick_add(skipped, wick_where(good, none, wick_like(skipped, 1))));
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* Sets grads[i] to the gradient of loss / accumulate in the working dtype. */
static wick_status gradients(wick_optimizer *opt, wick_tensor *loss) {
    const char *text; /* what made it failed: that names itself */
    const wick_status status = wick_tensor_error(loss, &text);
    if (status != WICK_OK) return wick_context_fail(opt->ctx, status, "%s", text);
    WICK_TRY(bind_parameters(opt));
    WICK_TRY(wick_check_finite(loss));
    wick_tensor *part = loss;
    if (opt->options.accumulate > 1) part = wick_div(loss, wick_like(loss, opt->options.accumulate));
    wick_tensor *scale = wick_optim_scales(opt) ? loss_scale(opt) : NULL, *back = scale ? wick_reciprocal(scale) : NULL;
    if (scale) part = wick_mul(part, wick_as(scale, wick_tensor_dtype(part)));
    WICK_TRY(wick_reached(loss, opt->n, opt->params, opt->reached));
    int n = 0;
    for (int i = 0; i < opt->n; i++)
        if (opt->reached[i]) opt->used[n++] = opt->params[i];
    if (!n) { /* says why */
        wick_grad(part, 1, opt->params, opt->grads);
        return wick_optim_fail_with(opt, opt->names[0], opt->grads[0]);
    }
    wick_grad(part, n, opt->used, opt->grads);
    for (int i = opt->n; i-- > 0;) { /* from the end: they spread out in place */
        wick_tensor *p = opt->params[i];
        opt->grads[i] = opt->reached[i] ? opt->grads[--n] : NULL;
        if (!opt->grads[i] && opt->options.accumulate > 1) /* earlier parts may have one */
            opt->grads[i] =
                wick_expand(wick_constant(opt->ctx, wick_optim_dtype(p), 0), wick_tensor_rank(p), wick_tensor_dims(p));
        if (!opt->grads[i]) continue;
        if (wick_tensor_error(opt->grads[i], NULL) == WICK_OK) {
            opt->grads[i] = wick_as(opt->grads[i], wick_optim_dtype(p));
            if (back && opt->reached[i]) opt->grads[i] = wick_mul(opt->grads[i], wick_as(back, wick_optim_dtype(p)));
            continue;
        }
        /* One bad parameter poisons all gradients: find it, so that the error can name it. */
        for (int k = 0; k < opt->n; k++) {
            wick_tensor *alone;
            if (!opt->reached[k]) continue;
            wick_grad(part, 1, &opt->params[k], &alone);
            if (wick_tensor_error(alone, NULL) != WICK_OK) return wick_optim_fail_with(opt, opt->names[k], alone);
        }
        return wick_optim_fail_with(opt, "gradients", opt->grads[i]);
    }
    return WICK_OK;
}

static void update_push(wick_optimizer *opt, wick_tensor *state, wick_tensor *value) {
    if (!wick_grow(&opt->alloc, (void **)&opt->updates, &opt->updates_cap, opt->n_updates + 1, sizeof *opt->updates)) {
        opt->short_of_memory = true;
        return;
    }
    opt->updates[opt->n_updates++] = (wick_update){state, value};
}

/* Expressions first, assignments last: an error leaves no half of a step behind. */
static wick_status updates_assign(wick_optimizer *opt) {
    if (opt->short_of_memory) return wick_context_fail(opt->ctx, WICK_ERR_NOMEM, "optimizer: out of memory");
    for (size_t i = 0; i < opt->n_updates; i++) {
        if (wick_tensor_error(opt->updates[i].state, NULL) != WICK_OK)
            return wick_optim_fail_with(opt, "state", opt->updates[i].state);
        if (wick_tensor_error(opt->updates[i].value, NULL) != WICK_OK)
            return wick_optim_fail_with(opt, "update", opt->updates[i].value);
    }
    for (size_t i = 0; i < opt->n_updates; i++) WICK_TRY(wick_assign(opt->updates[i].state, opt->updates[i].value));
    return WICK_OK;
}

/* grads[i] += what earlier micro-batches left, and that is cleared. */
static void take_accumulated(wick_optimizer *opt) {
    for (int i = 0; i < opt->n; i++) {
        wick_tensor *sum = state_of(opt, "grad", i, 0);
        opt->grads[i] = wick_add(sum, opt->grads[i]);
        update_push(opt, sum, wick_expand(wick_like(sum, 0), wick_tensor_rank(sum), wick_tensor_dims(sum)));
    }
}

/* clip_norm / (norm + 1e-6), at most 1: torch.nn.utils.clip_grad_norm_ (Pascanu et al. 2013). */
static void clip(wick_optimizer *opt) {
    wick_tensor *squares = NULL;
    for (int i = 0; i < opt->n; i++) {
        if (opt->norms ? !opt->given[i] : !opt->grads[i]) continue;
        wick_tensor *s = opt->norms ? wick_optim_norm_of(opt, i, WICK_OPTIM_SQUARES)
                                    : wick_as(wick_sum(wick_square(opt->grads[i]), WICK_ALL_AXES, false), WICK_F64);
        squares = squares ? wick_add(squares, s) : s;
    }
    wick_tensor *norm = wick_sqrt(squares);
    wick_tensor *scale = wick_div(wick_like(norm, opt->options.clip_norm), wick_add(norm, wick_like(norm, 1e-6)));
    scale = wick_minimum(wick_like(norm, 1), scale);
    for (int i = 0; i < opt->n; i++)
        if (opt->grads[i]) opt->grads[i] = wick_mul(opt->grads[i], wick_as(scale, wick_tensor_dtype(opt->grads[i])));
}

/* By what the schedule's rates are multiplied, 0-d f64. */
static wick_tensor *plateau_scale(wick_optimizer *opt) {
    return wick_model_state(opt->model, "optim.plateau.scale", WICK_ROLE_OPTIM, WICK_F64, WICK_SCALAR,
                            wick_init_constant(1));
}
static wick_tensor *rate_of(wick_optimizer *opt, const wick_optim_options *o, wick_tensor *step) {
    wick_tensor *lr = wick_schedule_record(o, step);
    return opt->options.plateau.factor > 0 ? wick_mul(lr, plateau_scale(opt)) : lr;
}

/* What the parameters of a group share; lr NULL: to be made. */
static wick_tensor *const *numbers_of(wick_optimizer *opt, wick_optim_group *g, const wick_rule *rule,
                                      wick_rule_step step) {
    const int k = g->rule[0] && g->rule[0] != rule;
    if (g->rule[k]) return g->number[k];
    g->rule[k] = rule;
    memset(g->number[k], 0, sizeof g->number[k]);
    if (rule->product) {
        char name[64];
        const int at = (int)(g - opt->groups);
        if (at == opt->n_groups)
            snprintf(name, sizeof name, "optim.%s", rule->product);
        else
            snprintf(name, sizeof name, "optim.%s.%d", rule->product, at);
        step.product =
            wick_model_state(opt->model, name, WICK_ROLE_OPTIM, WICK_F64, WICK_SCALAR, wick_init_constant(1));
    }
    if (rule->numbers) rule->numbers(&step, g->number[k]);
    if (rule->product) update_push(opt, step.product, step.next_product);
    return g->number[k];
}

static void apply_rules(wick_optimizer *opt, wick_tensor *step) {
    wick_tensor *t = wick_cast(wick_add(step, wick_like(step, 1)), WICK_F64), *lr = NULL,
                *cycled = wick_schedule_momentum(&opt->options, step);
    const wick_optim_group *last = NULL; /* that lr is of */
    const char *site = wick_site();
    for (int i = 0; i <= opt->n_groups; i++) opt->groups[i].rule[0] = opt->groups[i].rule[1] = NULL;
    for (int i = 0; i < opt->n; i++) {
        wick_tensor *p = opt->params[i], *moment[WICK_RULE_MOMENTS] = {NULL}, *new_moment[WICK_RULE_MOMENTS] = {NULL};
        opt->values[i] = p;
        const bool cut = wick_optim_is_cut(opt, i), empty = cut && opt->cut[i].begin == opt->cut[i].end;
        if (!opt->grads[i] && !empty) continue;
        wick_optim_group *g = opt->of[i];
        const wick_optim_options *o = &g->options;
        if (g != last) lr = rate_of(opt, o, step);
        last = g;
        wick_here(wick_site_of(opt->ctx, site, opt->names[i]));
        const wick_dtype dtype = wick_optim_dtype(p);
        const wick_rule *rule = wick_rule_of(o, wick_tensor_rank(p));
        wick_rule_input in = {.options = o, .g = opt->grads[i], .lr = wick_as(lr, dtype)};
        in.p = wick_as(cut && !empty ? wick_optim_own(opt, i, p) : p, dtype);
        const double fixed = wick_rule_momentum(o, wick_tensor_rank(p));
        wick_tensor *momentum = cycled ? cycled : wick_like(t, fixed);
        in.momentum = cycled ? wick_as(cycled, dtype) : wick_like(in.p, fixed);
        in.rest = cycled ? wick_as(wick_sub(wick_like(t, 1), cycled), dtype) : wick_like(in.p, 1 - fixed);
        wick_tensor *const *number =
            numbers_of(opt, g, rule, (wick_rule_step){.options = o, .lr = lr, .t = t, .momentum = momentum});
        for (int k = 0; k < WICK_RULE_NUMBERS && number[k]; k++)
            in.number[k] = wick_tensor_dtype(number[k]) == WICK_BOOL ? number[k] : wick_as(number[k], dtype);
        for (int k = 0; k < WICK_RULE_MOMENTS; k++)
            if (rule->moments[k]) moment[k] = state_of(opt, rule->moments[k], i, wick_rule_start(o));
        if (empty) { /* other ranks' */
            wick_here(site);
            continue;
        }
        for (int k = 0; k < WICK_RULE_MOMENTS; k++)
            in.moment[k] = cut ? wick_optim_shaped(opt, i, moment[k]) : moment[k];
        wick_tensor *new_p = rule->update(&in, new_moment);
        for (int k = 0; k < WICK_RULE_MOMENTS; k++)
            if (moment[k]) update_push(opt, moment[k], cut ? wick_optim_flat(opt, i, new_moment[k]) : new_moment[k]);
        opt->values[i] = wick_as(new_p, wick_tensor_dtype(p));
        if (cut)
            opt->values[i] = wick_optim_flat(opt, i, opt->values[i]);
        else
            update_push(opt, p, opt->values[i]);
        wick_here(site);
    }
    update_push(opt, step, wick_add(step, wick_like(step, 1)));
}

/* mean + (value - mean) weight. */
static void move_mean(wick_optimizer *opt, const char *name, wick_tensor *of, const wick_optim_cut *cut,
                      wick_tensor *value, wick_tensor *weight) {
    wick_tensor *mean = state_like(opt, WICK_AVERAGE_OF, name, of, cut, 0);
    if (cut && cut->begin == cut->end) return; /* other ranks' */
    const wick_dtype dtype = wick_optim_dtype(of);
    wick_tensor *difference = wick_sub(wick_as(value, dtype), mean);
    update_push(opt, mean, wick_add(mean, wick_mul(difference, wick_as(weight, dtype))));
}

/* Frozen states are no part of it: their mean is what they are. */
static void average(wick_optimizer *opt, wick_tensor *step) {
    const wick_average *a = &opt->options.average;
    if (a->kind == WICK_AVERAGE_NONE) return;
    wick_tensor *count = counter(opt, "optim.averaged"), *n = wick_cast(count, WICK_F64), *one = wick_like(n, 1);
    wick_tensor *weight = a->kind == WICK_AVERAGE_SWA
                              ? wick_reciprocal(wick_add(n, one))
                              : wick_where(wick_eq(count, wick_like(count, 0)), one, wick_like(n, 1 - a->decay));
    wick_tensor *taken = wick_like(count, 1);
    if (a->start > 0 || a->every > 1) {
        wick_tensor *after = wick_div(wick_sub(wick_cast(step, WICK_F64), wick_like(n, (double)a->start)),
                                      wick_like(n, (double)a->every));
        wick_tensor *due = wick_logical_and(wick_ge(after, wick_like(n, 0)), wick_eq(wick_floor(after), after));
        weight = wick_where(due, weight, wick_like(n, 0));
        taken = wick_cast(due, WICK_I64);
    }
    for (int i = 0; i < opt->n; i++)
        move_mean(opt, opt->names[i], opt->params[i], wick_optim_is_cut(opt, i) ? &opt->cut[i] : NULL, opt->values[i],
                  weight);
    for (int i = 0; i < wick_model_count(opt->model) && a->buffers; i++) {
        const wick_named state = wick_model_at(opt->model, i);
        if (state.role == WICK_ROLE_BUFFER && !state.frozen && wick_dtype_is_float(wick_tensor_dtype(state.tensor)))
            move_mean(opt, state.name, state.tensor, NULL, state.tensor, weight);
    }
    update_push(opt, count, wick_add(count, taken));
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

/* From opt->grads on. */
wick_status wick_optim_record_update(wick_optimizer *opt) {
    opt->n_updates = 0;
    opt->short_of_memory = false;
    if (opt->options.accumulate > 1) take_accumulated(opt);
    const size_t cleared = opt->n_updates;
    wick_tensor *good = wick_optim_scales(opt) ? all_finite(opt) : NULL;
    if (opt->options.clip_norm > 0) clip(opt);
    wick_tensor *step = step_count(opt);
    apply_rules(opt, step);
    average(opt, step);
    if (good && !opt->short_of_memory) skip_bad(opt, good, cleared), move_scale(opt, good);
    return updates_assign(opt);
}

static wick_status record_step(wick_optimizer *opt, wick_tensor *loss) {
    WICK_TRY(gradients(opt, loss));
    return wick_optim_record_update(opt);
}

static wick_status record_accumulate(wick_optimizer *opt, wick_tensor *loss) {
    WICK_TRY(gradients(opt, loss));
    opt->n_updates = 0;
    opt->short_of_memory = false;
    for (int i = 0; i < opt->n; i++) {
        wick_tensor *sum = state_of(opt, "grad", i, 0);
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

wick_status wick_optimizer_step(wick_optimizer *opt, wick_tensor *loss) {
    if (wick_optim_sharded(opt))
        return wick_context_fail(
            opt->ctx, WICK_ERR_INVALID,
            "optimizer: options.shard is for gradients and updates apart, which ranks sum between");
    return in_scope(opt, loss, record_step);
}

wick_status wick_optimizer_accumulate(wick_optimizer *opt, wick_tensor *loss) {
    if (opt->options.accumulate <= 1)
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: accumulating needs options.accumulate > 1");
    return in_scope(opt, loss, record_accumulate);
}

/* ---- the two halves of a step ------------------------------------------------------------------------------------ */

/* The vector has the parameters of the first loss: one that depends on others would not fit the update. */
static wick_status note_given(wick_optimizer *opt) {
    if (opt->n_given >= 0) {
        for (int i = 0; i < opt->n; i++)
            if (opt->given[i] != opt->reached[i])
                return wick_context_fail(
                    opt->ctx, WICK_ERR_INVALID,
                    "optimizer: gradients: the loss %s \"%s\", that of the gradients recorded before %s",
                    opt->reached[i] ? "depends on" : "does not depend on", opt->names[i],
                    opt->reached[i] ? "did not" : "did");
        return WICK_OK;
    }
    opt->n_given = 0;
    for (int i = 0; i < opt->n; i++) {
        opt->given[i] = opt->reached[i];
        if (opt->given[i]) opt->n_given += wick_tensor_count(opt->params[i]);
    }
    return wick_optim_sharded(opt) ? wick_optim_deal(opt) : WICK_OK;
}

wick_dtype wick_optim_vector_dtype(const wick_optimizer *opt) {
    for (int i = 0; i < opt->n; i++)
        if (opt->given[i] && wick_tensor_dtype(opt->params[i]) == WICK_F64) return WICK_F64;
    return WICK_F32;
}

static wick_status refuse_accumulation(wick_optimizer *opt) {
    if (opt->options.accumulate <= 1) return WICK_OK;
    return wick_context_fail(opt->ctx, WICK_ERR_INVALID,
                             "optimizer: who records gradients and update apart sums the gradients: accumulate is %d",
                             opt->options.accumulate);
}

wick_status wick_optimizer_parameters(wick_optimizer *opt, int *n) {
    if (!n) return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: parameters: n is NULL");
    WICK_TRY(bind_parameters(opt));
    *n = opt->n;
    return WICK_OK;
}

const wick_tensor *wick_optimizer_parameter(const wick_optimizer *opt, int i) {
    for (int k = 0; k < opt->n && opt->n_given >= 0 && i >= 0; k++)
        if (opt->given[k] && !i--) return opt->params[k];
    return NULL;
}

static wick_status record_gradients(wick_optimizer *opt, wick_tensor *loss) {
    WICK_TRY(refuse_accumulation(opt));
    WICK_TRY(gradients(opt, loss));
    return note_given(opt);
}

/* That of a parameter, as a part of the vector. */
static wick_tensor *part_of_vector(const wick_optimizer *opt, int i) {
    wick_tensor *row = wick_reshape(opt->grads[i], 1, (int64_t[]){wick_tensor_count(opt->params[i])});
    return wick_as(row, wick_optim_vector_dtype(opt));
}

wick_status wick_optimizer_gradients_apart(wick_optimizer *opt, wick_tensor *loss, wick_tensor **out) {
    if (!out) return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: gradients_apart: out is NULL");
    WICK_TRY(bind_parameters(opt));
    memset(out, 0, (size_t)opt->n * sizeof *out);
    WICK_TRY(record_gradients(opt, loss));
    wick_status status = WICK_OK;
    for (int i = 0; i < opt->n && status == WICK_OK; i++) {
        out[i] = opt->given[i] ? part_of_vector(opt, i)
                               : wick_zeros(opt->ctx, wick_optim_vector_dtype(opt), 1, (int64_t[]){0});
        if (wick_tensor_error(out[i], NULL) != WICK_OK) status = wick_optim_fail_with(opt, "gradients_apart", out[i]);
    }
    if (status != WICK_OK) memset(out, 0, (size_t)opt->n * sizeof *out);
    return status;
}

wick_status wick_optimizer_gradients(wick_optimizer *opt, wick_tensor *loss, wick_tensor **out) {
    if (!out) return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: gradients: out is NULL");
    *out = NULL;
    WICK_TRY(record_gradients(opt, loss));
    int n = 0;
    for (int i = 0; i < opt->n; i++)
        if (opt->given[i]) opt->used[n++] = part_of_vector(opt, i);
    wick_tensor *vector = wick_concat(n, opt->used, 0);
    if (wick_tensor_error(vector, NULL) != WICK_OK) return wick_optim_fail_with(opt, "gradients", vector);
    *out = vector;
    return WICK_OK;
}

wick_status wick_optim_check_vector(wick_optimizer *opt, const wick_tensor *vector, int64_t count) {
    const char *text;
    const wick_status status = wick_tensor_error(vector, &text);
    if (status != WICK_OK) return wick_context_fail(opt->ctx, status, "%s", text);
    WICK_TRY(refuse_accumulation(opt));
    if (opt->n_given < 0)
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID,
                                 "optimizer: update: its gradients have to be recorded before "
                                 "(wick_optimizer_gradients), which say what the vector holds");
    if (wick_tensor_dtype(vector) != wick_optim_vector_dtype(opt))
        return wick_context_fail(opt->ctx, WICK_ERR_DTYPE, "optimizer: update: the gradients are %s, not %s",
                                 wick_dtype_name(wick_tensor_dtype(vector)),
                                 wick_dtype_name(wick_optim_vector_dtype(opt)));
    if (wick_tensor_rank(vector) != 1 || wick_tensor_dim(vector, 0) != count)
        return wick_context_fail(opt->ctx, WICK_ERR_SHAPE,
                                 "optimizer: update: the gradients are a vector of %lld numbers, not %lld of %d dim%s",
                                 (long long)count, (long long)wick_tensor_count(vector), wick_tensor_rank(vector),
                                 wick_tensor_rank(vector) == 1 ? "" : "s");
    return WICK_OK;
}

static wick_status record_given(wick_optimizer *opt, wick_tensor *vector) {
    int64_t at = 0;
    for (int i = 0; i < opt->n; i++) {
        const wick_tensor *p = opt->params[i];
        opt->grads[i] = NULL;
        if (!opt->given[i]) continue;
        wick_tensor *part = wick_slice(vector, 0, at, at + wick_tensor_count(p), 1);
        at += wick_tensor_count(p);
        opt->grads[i] = wick_as(wick_reshape(part, wick_tensor_rank(p), wick_tensor_dims(p)), wick_optim_dtype(p));
    }
    return wick_optim_record_update(opt);
}

wick_status wick_optimizer_update(wick_optimizer *opt, wick_tensor *gradients_of_all) {
    if (wick_optim_sharded(opt))
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID,
                                 "optimizer: update: each rank updates its part of the parameters "
                                 "(wick_optimizer_update_part), by options.shard");
    WICK_TRY(wick_optim_check_vector(opt, gradients_of_all, opt->n_given));
    return in_scope(opt, gradients_of_all, record_given);
}

wick_tensor *wick_optimizer_lr(wick_optimizer *opt) { return rate_of(opt, &opt->options, step_count(opt)); }

wick_status wick_optimizer_scale(wick_optimizer *opt, double *scale, int64_t *skipped) {
    double unwanted;
    int64_t unwanted_count;
    if (!scale) scale = &unwanted;
    if (!skipped) skipped = &unwanted_count;
    double count;
    *scale = 1;
    *skipped = 0;
    if (!wick_optim_scales(opt)) return WICK_OK;
    WICK_TRY(wick_item(loss_scale(opt), scale));
    WICK_TRY(wick_item(counter(opt, "optim.skipped"), &count));
    *skipped = (int64_t)count;
    return WICK_OK;
}

/* ---- plateau ----------------------------------------------------------------------------------------------------- */

double wick_optimizer_plateau(wick_optimizer *opt) {
    double scale = 1;
    if (opt->options.plateau.factor > 0 && wick_item(plateau_scale(opt), &scale) != WICK_OK) return NAN;
    return scale;
}

static bool is_better(const wick_plateau *p, double metric, double best) {
    if (p->absolute) return p->largest ? metric > best + p->threshold : metric < best - p->threshold;
    return p->largest ? metric > best * (1 + p->threshold) : metric < best * (1 - p->threshold);
}

wick_status wick_optimizer_metric(wick_optimizer *opt, double metric) {
    static const double least_drop = 1e-8; /* of lr: PyTorch's eps */
    enum { METRICS, BEST, BAD, COOLDOWN, NUMBERS };
    const wick_plateau *p = &opt->options.plateau;
    double number[NUMBERS], scale;
    if (!(p->factor > 0))
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: a metric needs options.plateau");
    wick_tensor *state = wick_model_state(opt->model, "optim.plateau", WICK_ROLE_OPTIM, WICK_F64, WICK_DIMS(NUMBERS),
                                          wick_init_constant(0));
    if (wick_tensor_error(state, NULL) != WICK_OK) return wick_optim_fail_with(opt, "plateau", state);
    WICK_TRY(wick_read(state, number, sizeof number));
    WICK_TRY(wick_item(plateau_scale(opt), &scale));
    const bool better = number[METRICS] == 0 ? !isnan(metric) : is_better(p, metric, number[BEST]);
    if (better) number[METRICS]++, number[BEST] = metric;
    number[BAD] = better ? 0 : number[BAD] + 1;
    if (number[COOLDOWN] > 0) number[COOLDOWN]--, number[BAD] = 0;
    if (number[BAD] > (double)p->patience) {
        const double lr = opt->options.lr, dropped = fmax(scale * p->factor, p->lr_min / lr);
        if ((scale - dropped) * lr > least_drop) scale = dropped;
        number[COOLDOWN] = (double)p->cooldown;
        number[BAD] = 0;
    }
    WICK_TRY(wick_write(state, number, sizeof number));
    return wick_write(plateau_scale(opt), &scale, sizeof scale);
}
