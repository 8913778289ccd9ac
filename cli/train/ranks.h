/* ranks.h: wick train as one rank of a group (wick/dist.h), of which each runs its own leaves of every batch, and
 * measures its part after an epoch. All do the same and know the same, but rank 0 alone talks and writes into the
 * folder. */
#ifndef WICK_CLI_RANKS_H
#define WICK_CLI_RANKS_H

#include "training.h"

/* Joins the group that the process was started for, a group of one by default. A follower becomes quiet and loses the
 * options that say what to write. Exit codes, as of all that follows; what went wrong has been said. */
int ranks_open(training *t);
static inline bool ranks_follows(const training *t) { return t->group && wick_group_rank(t->group) > 0; }
static inline bool ranks_alone(const training *t) { return !t->group || wick_group_size(t->group) == 1; }

/* That the options allow more than one rank, where there are more. */
int ranks_check(const training *t);
/* That all ranks have the same options, data, plans, place in the data, and states to the bit: else it says which
 * differs. */
int ranks_agree(training *t);

/* The same of the states after an epoch of --mode fast, in which ranks have the same bits only where the transport
 * gives them the same sums. */
int ranks_agree_still(const training *t);

/* The code of rank 0, to all. A follower whose own code is another keeps that, and is gone for the others. */
int ranks_share(const training *t, int code);
/* Whether each updates a part of the weights (--shard-optimizer): where there are several. */
static inline bool ranks_shard(const training *t) { return t->o->shard_optimizer && !ranks_alone(t); }
/* Whether sums travel while leaves are computed (--sums). */
bool ranks_overlap(const training *t);
/* As run_save_last, of rank 0, to which the others give their states. */
int ranks_save(training *t);
/* What is recorded reads averages of the weights in their place, where ranks have parts of them; and no more. All call
 * both. */
int ranks_show_averages(training *t);
int ranks_hide_averages(training *t);
/* Where there are several ranks: all get the weights of `best`, which rank 0 has read with that code, in the place of
 * the model's; and the model's own again. All call both. */
int ranks_show_best(training *t, int code, const classifier *best);
int ranks_hide_best(training *t, int code);
/* What the optimizer's states take of this rank, and which has much more than its share. All call it. */
int ranks_tell_states(const training *t);
/* Where the wire goes ill with the optimizer. */
void ranks_tell_wire(const training *t);

/* Each rank measures its part of what chooses the best epoch, and all know the same figures, with the bits of one. */
void ranks_measure(training *t);

#endif
