/* plan_ranks.h: how long a step of training would take on several ranks, from the plan of one leaf and what the network
 * between them does. docs/cluster.md has the formulas. */
#ifndef WICK_CLI_PLAN_RANKS_H
#define WICK_CLI_PLAN_RANKS_H

#include "../bench/roof.h"
#include "planned.h"

/* Between any two ranks, all at the same time. */
typedef struct rank_link {
    double latency;   /* seconds from one to another */
    double bandwidth; /* bytes a second, in each direction of each rank */
    double overhead;  /* seconds of its sender, for each message */
    bool tcp;         /* bandwidth and latency are the wire's, of which messages by TCP get less */
} rank_link;

typedef struct rank_row {
    int ranks, leaves;                                        /* of a rank: the most */
    double compute, idle, adding, update, bandwidth, latency; /* seconds of a step */
    double step, speedup, efficiency;                         /* against one rank */
    double states;                                            /* bytes of the optimizer's that a rank has */
    const char *bound;                                        /* the largest part; static */
} rank_row;

enum { RANK_ROWS = 14 }; /* 1, 2, 4 ... 4096, and the number that was asked for */
typedef struct rank_table {
    rank_link link;
    int64_t leaves, batch, summed; /* numbers in the sum: gradients and buffers */
    double leaf;                   /* seconds of one, without the update */
    bool sharded;                  /* each rank updates a part of the weights, as --shard-optimizer */
    double states, shared;         /* bytes of the optimizer's: of parameters, and those that all ranks have */
    double weights;                /* bytes of the parameters */
    rank_row rows[RANK_ROWS];
    int n; /* 0: nothing was asked for */
} rank_table;

/* What the options ask for: --ranks, --leaves, --link. Then *o, a copy of them, is of one leaf. An exit code. */
int plan_ranks_read(rank_table *t, cli_options *o);
/* From the plan of a leaf. */
void plan_ranks_predict(rank_table *t, const planned *p, const roof *ceilings);
void plan_ranks_print(const rank_table *t);
void plan_ranks_json(const rank_table *t, json *j);

#endif
