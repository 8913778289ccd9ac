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
/* Each rank measures its part of what chooses the best epoch, and all know the same figures, with the bits of one. */
void ranks_measure(training *t);

#endif
