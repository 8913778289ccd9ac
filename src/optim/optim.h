/* optim.h: what the files of src/optim share. */
#ifndef WICK_OPTIM_INTERNAL_H
#define WICK_OPTIM_INTERNAL_H

#define WICK_NO_SITES
#include "base/base.h"
#include "wick/optim.h"

/* options with every documented default put in. */
wick_optim_options wick_optim_defaults(const wick_optim_options *options);

/* The learning rate at `step` (0-d i64), a 0-d f64. */
wick_tensor *wick_schedule_record(const wick_optim_options *options, wick_tensor *step);

/* A state and the expression it is to become. */
typedef struct wick_update {
    wick_tensor *state, *value;
} wick_update;

/* What a rule reads: all tensors are of one float dtype, p, g and the moments of one shape, the others 0-d. */
typedef struct wick_rule_input {
    const wick_optim_options *options;
    wick_tensor *p, *g;
    wick_tensor *moment[2];          /* as many as the rule has */
    wick_tensor *lr;                 /* learning rate */
    wick_tensor *lr_corrected;       /* lr / (1 - beta1^t), where t counts steps from 1 */
    wick_tensor *inv_sqrt_corrected; /* 1 / sqrt(1 - beta2^t) */
} wick_rule_input;

/* An update rule: sets the new value of each moment and returns that of p. Purely elementwise, so that it is one
 * kernel. */
typedef struct wick_rule {
    const char *moments[2]; /* names of states, "momentum"; NULL: none */
    wick_tensor *(*update)(const wick_rule_input *in, wick_tensor **moment);
} wick_rule;
const wick_rule *wick_rule_of(const wick_optim_options *options);

#endif
