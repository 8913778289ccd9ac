/* optim.h: what the files of src/optim share. */
#ifndef WICK_OPTIM_INTERNAL_H
#define WICK_OPTIM_INTERNAL_H

#define WICK_NO_SITES
#include "base/base.h"
#include "wick/optim.h"

/* options with every documented default put in. */
wick_optim_options wick_optim_defaults(const wick_optim_options *options);
/* What is wrong with options that have their defaults, groups apart, or NULL. */
const char *wick_optim_bad(const wick_optim_options *options);

/* 0 becomes fallback, WICK_ZERO 0. */
void wick_by_default(double *value, double fallback);
void wick_schedule_defaults(wick_schedule *schedule); /* not of its parts */
/* What is wrong with a schedule that has its defaults, or NULL. depth: of schedules around it. */
const char *wick_schedule_bad(const wick_schedule *schedule, int depth);
/* How many parts a sound schedule has, with theirs; copies them all to room, with their defaults, and returns what is
 * left of it. */
int wick_schedule_parts(const wick_schedule *schedule);
wick_schedule *wick_schedule_copy_parts(wick_schedule *schedule, wick_schedule *room);

/* The learning rate at `step` (0-d i64), a 0-d f64; options are defaulted and sound, parts of the schedule too. */
wick_tensor *wick_schedule_record(const wick_optim_options *options, wick_tensor *step);
/* The momentum that one cycle sets then, or NULL. */
wick_tensor *wick_schedule_momentum(const wick_optim_options *options, wick_tensor *step);

/* A state and the expression it is to become. */
typedef struct wick_update {
    wick_tensor *state, *value;
} wick_update;

enum { WICK_RULE_MOMENTS = 3, WICK_RULE_NUMBERS = 4 };

/* What a rule reads: all tensors are of one float dtype, p, g and the moments of one shape, the others 0-d. */
typedef struct wick_rule_input {
    const wick_optim_options *options;
    wick_tensor *p, *g;
    wick_tensor *moment[WICK_RULE_MOMENTS]; /* as many as the rule has */
    wick_tensor *lr;
    wick_tensor *momentum, *rest; /* momentum of the rules that have one, else beta1, and 1 less it */
    wick_tensor *number[WICK_RULE_NUMBERS]; /* as many as the rule's numbers() set */
} wick_rule_input;

typedef struct wick_rule_step {
    const wick_optim_options *options;
    wick_tensor *lr, *t;                 /* 0-d f64: the rate, and the step, which counts from 1 */
    wick_tensor *momentum;               /* as above, 0-d f64 */
    wick_tensor *product, *next_product; /* of rules that have one */
} wick_rule_step;

/* An update rule: sets the new value of each moment and returns that of p. Those that are elementwise are one kernel.
 */
typedef struct wick_rule {
    const char *moments[WICK_RULE_MOMENTS]; /* names of states, "momentum"; NULL: none */
    wick_tensor *(*update)(const wick_rule_input *in, wick_tensor **moment);
    void (*numbers)(wick_rule_step *step, wick_tensor **number); /* what all parameters share, 0-d f64. NULL: nothing */
    const char *product; /* a 0-d state, 1 at first, that numbers() reads and moves on; or NULL */
} wick_rule;
/* The rule of a parameter of so many dims. */
const wick_rule *wick_rule_of(const wick_optim_options *options, int rank);
/* Whether it takes parameters as a whole: it is not elementwise. */
bool wick_rule_is_whole(const wick_rule *rule);
/* The momentum of a parameter of so many dims: momentum where its rule has one, else beta1. */
double wick_rule_momentum(const wick_optim_options *options, int rank);
/* What the moments start from. */
double wick_rule_start(const wick_optim_options *options);

/* muon.c: momentum orthogonalised by Newton-Schulz steps, for 2 and more dims. */
wick_tensor *wick_muon_update(const wick_rule_input *in, wick_tensor **moment);

#endif
