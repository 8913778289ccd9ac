/* optimizer.h: an optimizer, for optimizer.c (a step of it) and shard.c (a step of which each rank does a part). */
#ifndef WICK_OPTIM_OPTIMIZER_H
#define WICK_OPTIM_OPTIMIZER_H

#include "ops/ops.h"
#include "optim/optim.h"
#include "tensor/tensor.h" /* the context's allocator */

/* Parameters with options of their own; the last one is of all that no pattern matches. */
typedef struct wick_optim_group {
    const char *pattern;
    bool freeze, matched;
    wick_optim_options options;
    const wick_rule *rule[2]; /* while a step is recorded, the rules in use (Muon has two) and their numbers */
    wick_tensor *number[2][WICK_RULE_NUMBERS];
} wick_optim_group;

/* Numbers begin to end - 1 of a parameter, row-major. */
typedef struct wick_optim_cut {
    int64_t begin, end;
} wick_optim_cut;

struct wick_optimizer {
    wick_model *model;
    wick_context *ctx;
    wick_allocator alloc;
    wick_optim_options options; /* what it points to is in the arena */
    wick_arena arena;
    int n_groups;
    wick_optim_group *groups;      /* n_groups + 1 */
    bool bound;                    /* to the model's parameters, at the first step recorded */
    int n;                         /* parameters */
    const char **names;            /* n each; all in one block */
    wick_tensor **params, **grads; /* grads: NULL where the loss does not depend on the parameter */
    wick_tensor **used;            /* parameters that it depends on */
    wick_optim_group **of;         /* parameter i is in */
    bool *reached;
    bool *given; /* parameters whose gradients are in the vector of wick_optimizer_gradients; n_given < 0: none yet */
    int64_t n_given;      /* numbers in that */
    wick_tensor **values; /* what the parameters become */
    size_t block;
    wick_update *updates; /* what all states become */
    size_t n_updates, updates_cap;
    bool short_of_memory; /* for updates */
    /* Of a shard (shard.c); NULL and 0 without one, and before the first gradients. */
    int64_t *begin;      /* [ranks + 1]: rank r has numbers begin[r] to begin[r + 1] - 1 of the vector */
    int64_t *at;         /* [n]: where parameter i begins in it; those that it lacks have no place */
    wick_optim_cut *cut; /* [n]: which of parameter i's numbers are this rank's */
    size_t shard_block;
    wick_tensor *norms; /* while its update is recorded: those of all parameters */
};

/* ---- optimizer.c ------------------------------------------------------------------------------------------------- */

/* What moments and gradients of a parameter are in. */
wick_dtype wick_optim_dtype(const wick_tensor *param);
/* Of the vector of gradients. */
wick_dtype wick_optim_vector_dtype(const wick_optimizer *opt);
/* That a vector for an update is such a one, of so many numbers. */
wick_status wick_optim_check_vector(wick_optimizer *opt, const wick_tensor *vector, int64_t count);
/* All that is done with opt->grads. */
wick_status wick_optim_record_update(wick_optimizer *opt);
wick_status wick_optim_fail_with(wick_optimizer *opt, const char *what, const wick_tensor *x);
/* Whether gradients are looked through for NaN and Inf. */
static inline bool wick_optim_scales(const wick_optimizer *opt) { return opt->options.loss_scale.initial > 0; }

/* ---- shard.c ----------------------------------------------------------------------------------------------------- */

static inline bool wick_optim_sharded(const wick_optimizer *opt) { return opt->options.shard.ranks > 1; }
/* Whether this optimizer has a part of the parameter's states, rather than all of them. */
static inline bool wick_optim_is_cut(const wick_optimizer *opt, int i) { return opt->cut && opt->given[i]; }
/* Deals the vector out to ranks, by bytes of states, as soon as it is known which parameters are in it. */
wick_status wick_optim_deal(wick_optimizer *opt);
/* This rank's numbers of x, which is as parameter i: a vector, or of a rule that takes it as a whole x itself. */
wick_tensor *wick_optim_own(const wick_optimizer *opt, int i, wick_tensor *x);
/* What own parts are stored as, vectors; and a state of parameter i as its rule reads it. */
wick_tensor *wick_optim_flat(const wick_optimizer *opt, int i, wick_tensor *own);
wick_tensor *wick_optim_shaped(const wick_optimizer *opt, int i, wick_tensor *flat);
/* Number k of the norms of parameter i, 0-d f64: its sum of squares, or its largest magnitude. */
typedef enum wick_optim_norm { WICK_OPTIM_SQUARES, WICK_OPTIM_LARGEST } wick_optim_norm;
wick_tensor *wick_optim_norm_of(const wick_optimizer *opt, int i, wick_optim_norm kind);

#endif
