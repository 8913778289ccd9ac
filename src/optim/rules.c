/* rules.c: the update rules, as torch.optim states them (docs of SGD, Adam and AdamW). */
#include "optim/optim.h"

static wick_tensor *times(wick_tensor *x, double factor) { return wick_mul(x, wick_like(x, factor)); }

/* The gradient with L2 regularisation: g + weight_decay p. */
static wick_tensor *decayed(const wick_rule_input *in) {
    const double decay = in->options->weight_decay;
    return decay != 0 ? wick_add(in->g, times(in->p, decay)) : in->g;
}

static wick_tensor *sgd(const wick_rule_input *in, wick_tensor **moment) {
    (void)moment;
    return wick_sub(in->p, wick_mul(decayed(in), in->lr));
}

/* Sutskever et al. 2013, with the rate outside the buffer. The buffer starts at 0, so its first value is the gradient.
 */
static wick_tensor *sgd_momentum(const wick_rule_input *in, wick_tensor **moment) {
    const double mu = in->options->momentum;
    wick_tensor *g = decayed(in), *buffer = wick_add(times(in->moment[0], mu), g);
    wick_tensor *direction = in->options->nesterov ? wick_add(g, times(buffer, mu)) : buffer;
    moment[0] = buffer;
    return wick_sub(in->p, wick_mul(direction, in->lr));
}

/* lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t). */
static void adam_numbers(const wick_optim_options *o, wick_tensor *lr, wick_tensor *t, wick_tensor **number) {
    wick_tensor *one = wick_like(t, 1);
    number[0] = wick_div(lr, wick_sub(one, wick_pow(wick_like(t, o->beta1), t)));
    number[1] = wick_rsqrt(wick_sub(one, wick_pow(wick_like(t, o->beta2), t)));
}

/* Kingma, Ba 2015: p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps). */
static wick_tensor *adam_from(const wick_rule_input *in, wick_tensor *p, wick_tensor *g, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    wick_tensor *m = in->moment[0], *v = in->moment[1];
    m = wick_add(m, times(wick_sub(g, m), 1 - o->beta1));
    v = wick_add(times(v, o->beta2), times(wick_square(g), 1 - o->beta2));
    wick_tensor *root = wick_mul(wick_sqrt(v), in->number[1]);
    wick_tensor *step = wick_div(m, wick_add(root, wick_like(root, o->eps)));
    moment[0] = m;
    moment[1] = v;
    return wick_sub(p, wick_mul(step, in->number[0]));
}

static wick_tensor *adam(const wick_rule_input *in, wick_tensor **moment) {
    return adam_from(in, in->p, decayed(in), moment);
}

/* Loshchilov, Hutter 2019: the decay acts on p, not through the moments. */
static wick_tensor *adamw(const wick_rule_input *in, wick_tensor **moment) {
    wick_tensor *p = in->p;
    const double decay = in->options->weight_decay;
    if (decay != 0) p = wick_mul(p, wick_sub(wick_like(p, 1), times(in->lr, decay)));
    return adam_from(in, p, in->g, moment);
}

const wick_rule *wick_rule_of(const wick_optim_options *o, int rank) {
    static const wick_rule plain = {{NULL}, sgd, NULL};
    static const wick_rule with_momentum = {{"momentum"}, sgd_momentum, NULL};
    static const wick_rule muon = {{"momentum"}, wick_muon_update, NULL};
    static const wick_rule rules[] = {[WICK_ADAM] = {{"m", "v"}, adam, adam_numbers},
                                      [WICK_ADAMW] = {{"m", "v"}, adamw, adam_numbers},
                                      [WICK_MUON] = {{"m", "v"}, adamw, adam_numbers}};
    if (o->kind == WICK_SGD) return o->momentum != 0 ? &with_momentum : &plain;
    if (o->kind == WICK_MUON && rank >= 2) return &muon;
    return &rules[o->kind];
}
