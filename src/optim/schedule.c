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
    by_default(&o.lr, o.kind == WICK_SGD ? 0.01 : 0.001);
    by_default(&o.momentum, o.kind == WICK_MUON ? 0.95 : 0);
    by_default(&o.beta1, 0.9);
    by_default(&o.beta2, 0.999);
    by_default(&o.eps, 1e-8);
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
