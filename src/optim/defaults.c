/* defaults.c: what 0 in the options means. */
#include "optim/optim.h"

void wick_by_default(double *value, double fallback) {
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
