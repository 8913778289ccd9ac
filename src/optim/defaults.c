/* defaults.c: what 0 in the options means. */
#include <math.h>

#include "optim/optim.h"

void wick_by_default(double *value, double fallback) {
    if (*value == 0) *value = signbit(*value) ? 0 : fallback;
}

wick_optim_options wick_optim_defaults(const wick_optim_options *options) {
    wick_optim_options o = options ? *options : (wick_optim_options){0};
    const bool known = (unsigned)o.kind < WICK_OPTIM_KINDS;
    static const struct {
        double lr, beta2, eps, momentum;
        bool decoupled;
    } of[WICK_OPTIM_KINDS] = {
        [WICK_SGD] = {0.01, 0.999, 1e-8, 0, false},       [WICK_ADAM] = {0.001, 0.999, 1e-8, 0, false},
        [WICK_ADAMW] = {0.001, 0.999, 1e-8, 0, true},     [WICK_MUON] = {0.01, 0.999, 1e-8, 0.95, true},
        [WICK_ADAMAX] = {0.002, 0.999, 1e-8, 0, false},   [WICK_NADAM] = {0.002, 0.999, 1e-8, 0, false},
        [WICK_RADAM] = {0.001, 0.999, 1e-8, 0, false},    [WICK_RMSPROP] = {0.01, 0.99, 1e-8, 0, false},
        [WICK_ADAGRAD] = {0.01, 0.999, 1e-10, 0, false},  [WICK_ADADELTA] = {1, 0.9, 1e-6, 0, false},
        [WICK_LAMB] = {0.001, 0.999, 1e-6, 0, true},      [WICK_LION] = {0.0001, 0.99, 1e-8, 0, true},
    };
    const wick_optim_kind kind = known ? o.kind : WICK_SGD;
    wick_by_default(&o.lr, of[kind].lr);
    wick_by_default(&o.momentum, of[kind].momentum);
    wick_by_default(&o.beta1, 0.9);
    wick_by_default(&o.beta2, of[kind].beta2);
    wick_by_default(&o.eps, of[kind].eps);
    wick_by_default(&o.momentum_decay, 0.004);
    o.decoupled |= of[kind].decoupled;
    wick_by_default(&o.average.decay, 0.999);
    wick_by_default(&o.plateau.threshold, 1e-4);
    if (o.plateau.patience == 0) o.plateau.patience = 10;
    if (o.plateau.patience < 0) o.plateau.patience = 0;
    wick_by_default(&o.loss_scale.growth, 2);
    wick_by_default(&o.loss_scale.backoff, 0.5);
    if (o.loss_scale.interval == 0) o.loss_scale.interval = 2000;
    wick_schedule_defaults(&o.schedule);
    if (o.average.every == 0) o.average.every = 1;
    if (o.accumulate == 0) o.accumulate = 1;
    return o;
}

static const char *bad_average(const wick_average *a) {
    if ((unsigned)a->kind > WICK_AVERAGE_SWA) return "no such average";
    if (a->kind == WICK_AVERAGE_NONE) return NULL;
    if (!(a->decay >= 0 && a->decay < 1)) return "the average's decay must be in [0, 1)";
    if (a->start < 0) return "the average's start is negative";
    return a->every < 1 ? "the average's every is negative" : NULL;
}

const char *wick_optim_bad(const wick_optim_options *o) {
    if ((unsigned)o->kind >= WICK_OPTIM_KINDS) return "no such optimizer";
    if (!(o->lr > 0)) return "lr must be above 0";
    if (!(o->momentum >= 0)) return "momentum is negative";
    const bool adam = o->kind == WICK_ADAM || o->kind == WICK_ADAMW;
    if (o->kind == WICK_MUON && (o->nesterov || o->momentum >= 1))
        return "Muon's momentum must be below 1, and is Nesterov's without being asked";
    if ((unsigned)o->muon_rate > WICK_MUON_ORIGINAL) return "no such muon_rate";
    if (o->nesterov && (o->kind != WICK_SGD || o->momentum == 0)) return "nesterov is for SGD with momentum";
    if (o->kind != WICK_SGD && o->kind != WICK_MUON && o->kind != WICK_RMSPROP && o->momentum != 0)
        return "momentum is of SGD, Muon and RMSProp; the others have beta1";
    if (o->amsgrad && !adam) return "amsgrad is for Adam and AdamW";
    if (o->centered && o->kind != WICK_RMSPROP) return "centered is for RMSProp";
    if (!(o->lr_decay >= 0 && o->accumulator >= 0)) return "lr_decay and accumulator must not be negative";
    if ((o->lr_decay != 0 || o->accumulator != 0) && o->kind != WICK_ADAGRAD)
        return "lr_decay and accumulator are Adagrad's";
    if (!(o->momentum_decay >= 0)) return "momentum_decay is negative";
    if (!(o->beta1 >= 0 && o->beta1 < 1 && o->beta2 >= 0 && o->beta2 < 1)) return "beta1 and beta2 must be in [0, 1)";
    if (!(o->eps >= 0)) return "eps is negative";
    if (!(o->weight_decay >= 0)) return "weight_decay is negative";
    if (!(o->clip_norm >= 0)) return "clip_norm is negative";
    if (o->accumulate < 0) return "accumulate is negative";
    if (o->shard.ranks < 0 || o->shard.rank < 0 || o->shard.rank >= (o->shard.ranks > 0 ? o->shard.ranks : 1))
        return "shard.rank must be below shard.ranks";
    if (o->schedule.cycle_momentum && (o->kind == WICK_ADAGRAD || o->kind == WICK_ADADELTA ||
                                       ((o->kind == WICK_SGD || o->kind == WICK_RMSPROP) && o->momentum == 0)))
        return "cycle_momentum needs an optimizer with momentum";
    const wick_loss_scale *s = &o->loss_scale;
    if (s->initial != 0 && !(s->initial > 0 && s->growth >= 1 && s->backoff > 0 && s->backoff < 1 && s->interval > 0))
        return "loss_scale wants initial above 0, growth of 1 and more, backoff in (0, 1) and an interval above 0";
    const wick_plateau *p = &o->plateau;
    if (!(p->factor >= 0 && p->factor < 1)) return "the plateau's factor must be in (0, 1)";
    if (p->cooldown < 0 || !(p->threshold >= 0) || !(p->lr_min >= 0))
        return "the plateau's cooldown, threshold and lr_min must not be negative";
    if (o->n_groups < 0 || (o->n_groups && !o->groups)) return "there are no groups where n_groups says so";
    const char *bad = bad_average(&o->average);
    return bad ? bad : wick_schedule_bad(&o->schedule, 0);
}
