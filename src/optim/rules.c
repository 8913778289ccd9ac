/* rules.c: the update rules, as torch.optim states them in the docs of its classes; LAMB and Lion as their papers do.
 * Elementwise, but for LAMB's two norms; Muon is in muon.c. */
#include "optim/optim.h"

static wick_tensor *times(wick_tensor *x, double factor) { return wick_mul(x, wick_like(x, factor)); }
static wick_tensor *lerp(wick_tensor *a, wick_tensor *b, double part) {
    return wick_add(a, times(wick_sub(b, a), part));
}
/* rate old + (1 - rate) g^2 */
static wick_tensor *squares(wick_tensor *old, wick_tensor *g, double rate) {
    return wick_add(times(old, rate), times(wick_square(g), 1 - rate));
}
static wick_tensor *plus_eps(const wick_rule_input *in, wick_tensor *x) {
    return wick_add(x, wick_like(x, in->options->eps));
}

/* The gradient with L2 regularisation: g + weight_decay p. */
static wick_tensor *gradient(const wick_rule_input *in) {
    const wick_optim_options *o = in->options;
    return o->weight_decay != 0 && !o->decoupled ? wick_add(in->g, times(in->p, o->weight_decay)) : in->g;
}
/* p, or with decoupled decay p (1 - lr weight_decay). */
static wick_tensor *parameter(const wick_rule_input *in) {
    const wick_optim_options *o = in->options;
    if (o->weight_decay == 0 || !o->decoupled) return in->p;
    return wick_mul(in->p, wick_sub(wick_like(in->p, 1), times(in->lr, o->weight_decay)));
}

static wick_tensor *sgd(const wick_rule_input *in, wick_tensor **moment) {
    (void)moment;
    return wick_sub(parameter(in), wick_mul(gradient(in), in->lr));
}

/* Sutskever et al. 2013, with the rate outside the buffer. The buffer starts at 0, so its first value is the gradient.
 */
static wick_tensor *sgd_momentum(const wick_rule_input *in, wick_tensor **moment) {
    wick_tensor *g = gradient(in), *buffer = wick_add(wick_mul(in->moment[0], in->momentum), g);
    wick_tensor *direction = in->options->nesterov ? wick_add(g, wick_mul(buffer, in->momentum)) : buffer;
    moment[0] = buffer;
    return wick_sub(parameter(in), wick_mul(direction, in->lr));
}

/* ---- moments ----------------------------------------------------------------------------------------------------- */

/* The mean of gradients: moment 0, and 1 - beta1 of g. */
static wick_tensor *mean(const wick_rule_input *in, wick_tensor *g) {
    return wick_add(in->moment[0], wick_mul(wick_sub(g, in->moment[0]), in->rest));
}

/* 1 - beta^t */
static wick_tensor *correction(wick_tensor *t, double beta) {
    return wick_sub(wick_like(t, 1), wick_pow(wick_like(t, beta), t));
}
static wick_tensor *correction_of_mean(const wick_rule_step *s) {
    return wick_sub(wick_like(s->t, 1), wick_pow(s->momentum, s->t));
}

/* lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t). */
static void adam_numbers(wick_rule_step *s, wick_tensor **number) {
    number[0] = wick_div(s->lr, correction_of_mean(s));
    number[1] = wick_rsqrt(correction(s->t, s->options->beta2));
}

/* Kingma, Ba 2015: p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps). */
static wick_tensor *adam(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *g = gradient(in), *m = mean(in, g), *v = squares(in->moment[1], g, o->beta2);
    moment[0] = m;
    moment[1] = v;
    if (o->amsgrad) moment[2] = v = wick_maximum(in->moment[2], v);
    wick_tensor *root = wick_mul(wick_sqrt(v), in->number[1]);
    wick_tensor *step = wick_div(m, plus_eps(in, root));
    return wick_sub(parameter(in), wick_mul(step, in->number[0]));
}

/* Adamax, in the same paper: the largest gradient, fading, in place of the root of v. */
static wick_tensor *adamax(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *g = gradient(in), *m = mean(in, g);
    wick_tensor *most = wick_maximum(times(in->moment[1], o->beta2), plus_eps(in, wick_abs(g)));
    moment[0] = m;
    moment[1] = most;
    return wick_sub(parameter(in), wick_mul(wick_div(m, most), in->number[0]));
}

/* Dozat 2016: mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2); the rates of the gradient and of m, both over 1 less
 * products of mu. */
static wick_tensor *nadam_mu(const wick_rule_step *s, double ahead) {
    wick_tensor *t = wick_add(s->t, wick_like(s->t, ahead));
    wick_tensor *power = wick_pow(wick_like(t, 0.96), times(t, s->options->momentum_decay));
    return wick_mul(wick_sub(wick_like(t, 1), times(power, 0.5)), s->momentum);
}
static void nadam_numbers(wick_rule_step *s, wick_tensor **number) {
    wick_tensor *mu = nadam_mu(s, 0), *next = nadam_mu(s, 1), *one = wick_like(s->t, 1);
    s->next_product = wick_mul(s->product, mu);
    number[0] = wick_div(wick_mul(s->lr, wick_sub(one, mu)), wick_sub(one, s->next_product));
    number[1] = wick_div(wick_mul(s->lr, next), wick_sub(one, wick_mul(s->next_product, next)));
    number[2] = wick_rsqrt(correction(s->t, s->options->beta2));
}
static wick_tensor *nadam(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *g = gradient(in), *m = mean(in, g), *v = squares(in->moment[1], g, o->beta2);
    moment[0] = m;
    moment[1] = v;
    wick_tensor *root = plus_eps(in, wick_mul(wick_sqrt(v), in->number[2]));
    return wick_sub(parameter(in), wick_div(wick_add(wick_mul(g, in->number[0]), wick_mul(m, in->number[1])), root));
}

/* Liu et al. 2020: while the variance of v is intractable (rho <= 5), momentum alone. */
static void radam_numbers(wick_rule_step *s, wick_tensor **number) {
    const double beta = s->options->beta2, most = 2 / (1 - beta) - 1;
    wick_tensor *t = s->t, *corrected = correction(t, beta), *power = wick_pow(wick_like(t, beta), t);
    wick_tensor *rho = wick_sub(wick_like(t, most), wick_div(times(wick_mul(t, power), 2), corrected));
    wick_tensor *above = wick_mul(wick_sub(rho, wick_like(t, 4)), wick_sub(rho, wick_like(t, 2)));
    wick_tensor *rectified = wick_div(times(above, most), times(rho, (most - 4) * (most - 2)));
    number[0] = wick_div(s->lr, correction_of_mean(s));
    number[1] = wick_gt(rho, wick_like(t, 5));
    number[2] = wick_where(number[1], wick_sqrt(wick_mul(rectified, corrected)), wick_like(t, 0));
}
static wick_tensor *radam(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *g = gradient(in), *m = mean(in, g), *v = squares(in->moment[1], g, o->beta2);
    moment[0] = m;
    moment[1] = v;
    wick_tensor *adaptive = wick_div(in->number[2], plus_eps(in, wick_sqrt(v)));
    return wick_sub(parameter(in),
                    wick_mul(wick_mul(m, in->number[0]), wick_where(in->number[1], adaptive, wick_like(v, 1))));
}

/* You et al. 2020, with phi the identity: Adam's step plus decay, made as long as p. */
static wick_tensor *norm(wick_tensor *x) { return wick_sqrt(wick_sum(wick_square(x), WICK_ALL_AXES, false)); }
static void lamb_numbers(wick_rule_step *s, wick_tensor **number) {
    number[0] = wick_reciprocal(correction_of_mean(s));
    number[1] = wick_rsqrt(correction(s->t, s->options->beta2));
}
static wick_tensor *lamb(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *m = mean(in, in->g), *v = squares(in->moment[1], in->g, o->beta2);
    moment[0] = m;
    moment[1] = v;
    wick_tensor *step = wick_div(wick_mul(m, in->number[0]), plus_eps(in, wick_mul(wick_sqrt(v), in->number[1])));
    if (o->weight_decay != 0) step = wick_add(step, times(in->p, o->weight_decay));
    wick_tensor *of_p = norm(in->p), *of_step = norm(step), *zero = wick_like(of_p, 0);
    wick_tensor *both = wick_logical_and(wick_gt(of_p, zero), wick_gt(of_step, zero));
    wick_tensor *trust = wick_where(both, wick_div(of_p, of_step), wick_like(of_p, 1));
    return wick_sub(in->p, wick_mul(step, wick_mul(in->lr, trust)));
}

/* Chen et al. 2023: the sign of a mean of gradients; the mean kept fades more slowly. */
static wick_tensor *lion(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *m = in->moment[0];
    moment[0] = lerp(m, in->g, 1 - o->beta2);
    return wick_sub(parameter(in), wick_mul(wick_sign(mean(in, in->g)), in->lr));
}

/* ---- squares alone ----------------------------------------------------------------------------------------------- */

/* Hinton 2012; centered: Graves 2013. Moments: squares, mean if centered, momentum if any. */
static wick_tensor *rmsprop(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *g = gradient(in), *v = squares(in->moment[0], g, o->beta2), *spread = v;
    moment[0] = v;
    if (o->centered) {
        moment[1] = lerp(in->moment[1], g, 1 - o->beta2);
        spread = wick_sub(v, wick_square(moment[1]));
    }
    wick_tensor *step = wick_div(g, plus_eps(in, wick_sqrt(spread)));
    if (o->momentum != 0) moment[2] = step = wick_add(wick_mul(in->moment[2], in->momentum), step);
    return wick_sub(parameter(in), wick_mul(step, in->lr));
}

/* Duchi et al. 2011. */
static void adagrad_numbers(wick_rule_step *s, wick_tensor **number) {
    wick_tensor *one = wick_like(s->t, 1);
    number[0] = wick_div(s->lr, wick_add(one, times(wick_sub(s->t, one), s->options->lr_decay)));
}
static wick_tensor *adagrad(const wick_rule_input *in, wick_tensor **moment) {
    wick_tensor *g = gradient(in), *sum = wick_add(in->moment[0], wick_square(g));
    moment[0] = sum;
    return wick_sub(parameter(in), wick_mul(wick_div(g, plus_eps(in, wick_sqrt(sum))), in->number[0]));
}

/* Zeiler 2012: steps in the units of earlier steps. */
static wick_tensor *adadelta(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *g = gradient(in), *v = squares(in->moment[0], g, o->beta2);
    wick_tensor *root = wick_div(wick_sqrt(plus_eps(in, in->moment[1])), wick_sqrt(plus_eps(in, v))),
                *step = wick_mul(root, g);
    moment[0] = v;
    moment[1] = squares(in->moment[1], step, o->beta2);
    return wick_sub(parameter(in), wick_mul(step, in->lr));
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

const wick_rule *wick_rule_of(const wick_optim_options *o, int rank) {
    static const wick_rule rules[] = {
        [WICK_SGD] = {{NULL}, sgd, NULL, NULL},
        [WICK_ADAM] = {{"m", "v"}, adam, adam_numbers, NULL},
        [WICK_ADAMW] = {{"m", "v"}, adam, adam_numbers, NULL},
        [WICK_MUON] = {{"m", "v"}, adam, adam_numbers, NULL},
        [WICK_ADAMAX] = {{"m", "most"}, adamax, adam_numbers, NULL},
        [WICK_NADAM] = {{"m", "v"}, nadam, nadam_numbers, "mu_product"},
        [WICK_RADAM] = {{"m", "v"}, radam, radam_numbers, NULL},
        [WICK_RMSPROP] = {{"v"}, rmsprop, NULL, NULL},
        [WICK_ADAGRAD] = {{"sum"}, adagrad, adagrad_numbers, NULL},
        [WICK_ADADELTA] = {{"v", "steps"}, adadelta, NULL, NULL},
        [WICK_LAMB] = {{"m", "v"}, lamb, lamb_numbers, NULL},
        [WICK_LION] = {{"m"}, lion, NULL, NULL},
    };
    static const wick_rule with_momentum = {{"momentum"}, sgd_momentum, NULL, NULL},
                           muon = {{"momentum"}, wick_muon_update, NULL, NULL};
    static const wick_rule amsgrad = {{"m", "v", "v_max"}, adam, adam_numbers, NULL};
    static const wick_rule rms[2][2] = {
        {{{"v"}, rmsprop, NULL, NULL}, {{"v", NULL, "momentum"}, rmsprop, NULL, NULL}},
        {{{"v", "mean"}, rmsprop, NULL, NULL}, {{"v", "mean", "momentum"}, rmsprop, NULL, NULL}}};
    if (o->kind == WICK_SGD && o->momentum != 0) return &with_momentum;
    if (o->kind == WICK_MUON && rank >= 2) return &muon;
    if (o->kind == WICK_RMSPROP) return &rms[o->centered][o->momentum != 0];
    return o->amsgrad ? &amsgrad : &rules[o->kind];
}

bool wick_rule_is_whole(const wick_rule *rule) { return rule->update == lamb || rule->update == wick_muon_update; }

double wick_rule_momentum(const wick_optim_options *o, int rank) {
    return o->kind == WICK_SGD || o->kind == WICK_RMSPROP || (o->kind == WICK_MUON && rank >= 2) ? o->momentum
                                                                                                 : o->beta1;
}
double wick_rule_start(const wick_optim_options *o) { return o->kind == WICK_ADAGRAD ? o->accumulator : 0; }
