/* shards.h: leaves whose update is dealt out (--shard-optimizer): each rank has a part of the optimizer's states and
 * updates a part of the weights (wick/optim.h). The sum over the leaves (leaves.h) is not gathered: of its vector
 *
 *   gradients   each rank gets those of its part
 *   the rest    buffers, loss, flags: cut evenly, and gathered, since all ranks look at them
 *
 * The bits of all states are those of a run without it. */
#ifndef WICK_CLI_SHARDS_H
#define WICK_CLI_SHARDS_H

#include "../step.h"

#include "wick/dist.h"
#include "wick/optim.h"

struct trainer;

typedef struct shards {
    bool on;
    wick_optim_part own;
    size_t rest;                     /* numbers of this rank's part of the rest */
    wick_range *ranges;              /* [ranks][2]: what each rank gets of a sum */
    size_t *rests, *norms, *weights; /* [ranks + 1]: bytes at which ranks' parts begin */
    int64_t n_norms;                 /* of all ranks */
    step finding, setting;           /* plans: of the norms, and of all ranks' weights */
    float *tail;                     /* the rest of the sum */
    double *norm;                    /* [n_norms] */
    void *kept;                      /* the parameters, while their averages are in their place; NULL: they are not */
    /* while a checkpoint is saved */
    int64_t *begins; /* where each rank's part of each state begins */
    size_t *begin;   /* [ranks + 1]: those of one state, in bytes */
    int n_states;
    void *whole; /* room for the largest state; of rank 0 */
} shards;

/* After the plans of gradients were compiled. As leaves_new. */
wick_status shards_new(struct trainer *t);
void shards_free(shards *s);
/* The sum, in place of wick_group_finish: into leaves.sum and s->tail. */
wick_status shards_finish(struct trainer *t);
/* The update by them. *error: of a plan that failed, or "". */
wick_status shards_update(struct trainer *t, float share, const char **error);

/* Before a checkpoint and after it, of all ranks. Texts are those of the group or of the context. */
wick_status shards_begin_save(struct trainer *t);
void shards_end_save(shards *s);
/* Of rank 0, as wick_save_options.whole with the trainer: asks all ranks for their parts of a state. The others serve
 * until rank 0 says that it has all. */
const void *shards_give(void *user, int k);
wick_status shards_serve(struct trainer *t);
wick_status shards_have_all(struct trainer *t);
/* Puts the averages of parameters in their place, which all ranks call, and takes them out again. */
wick_status shards_show_averages(struct trainer *t);
wick_status shards_hide_averages(struct trainer *t);
/* Bytes of the optimizer's states: that this rank has, and of all ranks together without those that all have twice. */
void shards_bytes(const wick_model *model, double *own, double *all);

#endif
