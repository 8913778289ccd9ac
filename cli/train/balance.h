/* balance.h: which leaves of a batch are whose, where several ranks share them (--balance): a rank that takes longer
 * for a leaf gets fewer. Leaves move as a whole and between two steps, and no bit of a weight depends on whose they
 * are. */
#ifndef WICK_CLI_BALANCE_H
#define WICK_CLI_BALANCE_H

#include "../json.h"

#include "wick/dist.h"

struct trainer;

typedef enum balance_kind {
    BALANCE_ON,     /* by seconds for a leaf */
    BALANCE_OFF,    /* shares stay even */
    BALANCE_SHUFFLE /* other shares in every step, for tests of the bits */
} balance_kind;

typedef struct balance {
    int kind;   /* of balance_kind */
    int ranks;  /* 0: nobody shares */
    int *first; /* [ranks + 1]: rank r has leaves first[r] to first[r + 1] - 1 */
    wick_balance now;
    bool moved;     /* after the last step */
    int64_t moves;  /* steps after which some did */
    double load;    /* seconds that the batch of this step took to come, where that is work of this rank's share */
    double seconds; /* and its leaves */
} balance;

/* Of a trainer whose leaves were cut. Errors as of wick_group_shares, and WICK_ERR_NOMEM. */
wick_status balance_new(struct trainer *t, int kind);
void balance_free(balance *b);
/* After step `number`, from 0, of n samples: leaves may move before the next one. Statuses of the group and the loader.
 */
wick_status balance_step(struct trainer *t, int64_t number, int64_t n);
/* "5 3": how many leaves each rank has; of many ranks the fewest and the most. */
void balance_text(const balance *b, char *text, size_t size);
/* For the line of the step after which leaves moved, and for the report: how many leaves ranks have, and seconds of
 * each for one. */
void balance_json(const balance *b, json *j);

#endif
