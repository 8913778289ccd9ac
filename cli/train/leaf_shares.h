/* leaf_shares.h: which leaves of a batch are whose, where several ranks share them (--shares): a rank that takes longer
 * for a leaf gets fewer. Leaves move as a whole and between two steps, and no bit of a weight depends on whose they
 * are. */
#ifndef WICK_CLI_LEAF_SHARES_H
#define WICK_CLI_LEAF_SHARES_H

#include "../json.h"

#include "wick/dist.h"

struct trainer;

typedef enum shares_kind {
    SHARES_BY_SPEED, /* by seconds for a leaf */
    SHARES_EVEN,     /* shares stay even */
    SHARES_SHUFFLED  /* other shares in every step, for tests of the bits */
} shares_kind;

typedef struct leaf_shares {
    int kind;   /* of shares_kind */
    int ranks;  /* 0: nobody shares */
    int *first; /* [ranks + 1]: rank r has leaves first[r] to first[r + 1] - 1 */
    wick_share_report now;
    bool moved;     /* after the last step */
    int64_t moves;  /* steps after which some did */
    double load;    /* seconds that the batch of this step took to come, where that is work of this rank's share */
    double seconds; /* and its leaves */
} leaf_shares;

/* Of a trainer whose leaves were cut. Errors as of wick_group_shares, and WICK_ERR_NOMEM. */
wick_status leaf_shares_new(struct trainer *t, int kind);
void leaf_shares_free(leaf_shares *b);
/* After step `number`, from 0, of n samples: leaves may move before the next one. Statuses of the group and the loader.
 */
wick_status leaf_shares_step(struct trainer *t, int64_t number, int64_t n);
/* "5 3": how many leaves each rank has; of many ranks the fewest and the most. */
void leaf_shares_text(const leaf_shares *b, char *text, size_t size);
/* For the line of the step after which leaves moved, and for the report: how many leaves ranks have, and seconds of
 * each for one. */
void leaf_shares_json(const leaf_shares *b, json *j);

#endif
