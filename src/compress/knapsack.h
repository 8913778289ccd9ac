/* knapsack.h: one of several choices for each item, so that all of them together keep to a budget of bytes and cost
 * least (the multiple-choice knapsack). */
#ifndef WICK_COMPRESS_KNAPSACK_H
#define WICK_COMPRESS_KNAPSACK_H

#include "base/base.h"

enum { WICK_KNAPSACK_CHOICES = 3 };
typedef struct wick_knapsack_item {
    int n;                                /* of its choices, from 1 on */
    int64_t bytes[WICK_KNAPSACK_CHOICES]; /* from 0 on */
    double cost[WICK_KNAPSACK_CHOICES];   /* finite */
} wick_knapsack_item;

/* chosen[i]: a choice of each item. Of equal costs the fewest bytes. Where even the smallest choices take more than the
 * budget they are chosen. It is exact as long as at most 16,384 combinations of the items so far are worth keeping; of
 * more, those within a 16,384th of the budget of each other count as one, so that the cost may not be the least, while
 * the budget is always kept. WICK_ERR_NOMEM leaves chosen undefined. */
wick_status wick_knapsack(const wick_allocator *alloc, int n, const wick_knapsack_item *items, int64_t budget,
                          int *chosen);
#endif
