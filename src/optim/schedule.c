/* schedule.c: the learning rate as a function of the step: once as a graph of f64 numbers, once in plain C. */
#include <math.h>

#include "optim/optim.h"

static const double pi = 3.14159265358979323846;

static void by_default(double *value, double fallback) {
    if (*value == 0) *value = fallback;
    if (*value == WICK_ZERO) *value = 0;
}

wick_optim_options wick_optim_defaults(const wick_optim_options *options) {
    wick_optim_options o = options ? *options : (wick_optim_options){0};
    const bool known = (unsigned)o.kind < WICK_OPTIM_KINDS;
    static const struct {
        double lr, beta2, eps, momentum;
        bool decoupled;
    } of[WICK_OPTIM_KINDS] = {
        [WICK_SGD] = {0.01, 0.999, 1e-8, 0, false},       [WICK_ADAM] = {0.001, 0.999, 1e-8, 0, false},
        [WICK_ADAMW] = {0.001, 0.999, 1e-8, 0, true},     [WICK_MUON] = {0.001, 0.999, 1e-8, 0.95, true},
        [WICK_ADAMAX] = {0.002, 0.999, 1e-8, 0, false},   [WICK_NADAM] = {0.002, 0.999, 1e-8, 0, false},
        [WICK_RADAM] = {0.001, 0.999, 1e-8, 0, false},    [WICK_RMSPROP] = {0.01, 0.99, 1e-8, 0, false},
        [WICK_ADAGRAD] = {0.01, 0.999, 1e-10, 0, false},  [WICK_ADADELTA] = {1, 0.9, 1e-6, 0, false},
        [WICK_LAMB] = {0.001, 0.999, 1e-6, 0, true},      [WICK_LION] = {0.0001, 0.99, 1e-8, 0, true},
    };
    const wick_optim_kind kind = known ? o.kind : WICK_SGD;
    by_default(&o.lr, of[kind].lr);
    by_default(&o.momentum, of[kind].momentum);
    by_default(&o.beta1, 0.9);
    by_default(&o.beta2, of[kind].beta2);
    by_default(&o.eps, of[kind].eps);
    by_default(&o.momentum_decay, 0.004);
    o.decoupled |= of[kind].decoupled;
    by_default(&o.average.decay, 0.999);
    if (o.average.every == 0) o.average.every = 1;
    if (o.accumulate == 0) o.accumulate = 1;
    return o;
}

double wick_optim_lr_at(const wick_optim_options *options, int64_t step) {
    const wick_optim_options o = wick_optim_defaults(options);
    const wick_schedule *s = &o.schedule;
    const double t = (double)step;
    double lr = o.lr;
    if (s->kind == WICK_SCHEDULE_STEP) {
        lr *= pow(s->gamma, floor(t / (double)s->every));
    } else if (s->kind == WICK_SCHEDULE_COSINE) {
        double part = (t - (double)s->warmup) / (double)(s->total - s->warmup);
        part = fmin(1, fmax(0, part));
        lr = s->lr_min + (lr - s->lr_min) * (1 + cos(pi * part)) * 0.5;
    }
    return s->warmup > 0 ? lr * fmin(1, (t + 1) / (double)s->warmup) : lr;
}

/* Rates are slots: another one makes no new plan. The rest of a schedule is part of the plan. */
wick_tensor *wick_schedule_record(const wick_optim_options *o, wick_tensor *step) {
    const wick_schedule *s = &o->schedule;
    wick_tensor *t = wick_cast(step, WICK_F64), *one = wick_like(t, 1);
    wick_tensor *lr = wick_scalar(wick_tensor_context(step), WICK_F64, o->lr);
    if (s->kind == WICK_SCHEDULE_STEP) {
        wick_tensor *drops = wick_floor(wick_div(t, wick_like(t, (double)s->every)));
        lr = wick_mul(lr, wick_pow(wick_like(t, s->gamma), drops));
    } else if (s->kind == WICK_SCHEDULE_COSINE) {
        wick_tensor *part =
            wick_div(wick_sub(t, wick_like(t, (double)s->warmup)), wick_like(t, (double)(s->total - s->warmup)));
        part = wick_minimum(one, wick_maximum(wick_like(t, 0), part));
        wick_tensor *wave = wick_mul(wick_add(one, wick_cos(wick_mul(part, wick_like(t, pi)))), wick_like(t, 0.5));
        wick_tensor *least = wick_like(t, s->lr_min);
        lr = wick_add(least, wick_mul(wick_sub(lr, least), wave));
    }
    if (s->warmup <= 0) return lr;
    return wick_mul(lr, wick_minimum(one, wick_div(wick_add(t, one), wick_like(t, (double)s->warmup))));
}
