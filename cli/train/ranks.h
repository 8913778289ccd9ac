/* ranks.h: wick train as one rank of a group (wick/dist.h), of which each runs its own leaves of every batch. All do
 * the same, but rank 0 alone talks, writes into the folder and measures; the others follow it: what it found out after
 * an epoch is told to them. */
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

/* The code of rank 0, to all; where it is CLI_OK also `size` bytes of rank 0, put in data. A follower whose own code is
 * another keeps that, and is gone for the others. */
int ranks_share(training *t, int code, void *data, size_t size);
/* Rank 0, while the others wait in ranks_share: it is still at work. Often; bytes are sent now and then. */
void ranks_working(void *training);

#endif
