/* knapsack.c: lists of combinations that no other beats in both bytes and cost, item by item (Nemhauser and Ullmann
 * 1969, "Discrete dynamic programming and capital allocation"). */
#include "compress/knapsack.h"

#include <math.h>
#include <string.h>

enum { MOST = 16384 };

/* A choice for the items so far. Lists are in the order of bytes, and each costs less than those before it. */
typedef struct combination {
    int64_t bytes;
    double cost;
    int32_t before; /* in the list of the items but the last */
    int32_t choice; /* of the last */
} combination;

static bool is_before(const combination *a, const combination *b) {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->cost < b->cost;
}

/* Those that no other beats, of `n` combinations each with every choice of the item: `n` times its choices at most. */
static int extend(const combination *list, int n, const wick_knapsack_item *item, int64_t budget, combination *out) {
    int at[WICK_KNAPSACK_CHOICES] = {0}, made = 0;
    for (;;) {
        combination best;
        int from = -1;
        for (int k = 0; k < item->n; k++) {
            if (at[k] == n) continue;
            const combination c = {list[at[k]].bytes + item->bytes[k], list[at[k]].cost + item->cost[k], at[k], k};
            if (from < 0 || is_before(&c, &best)) best = c, from = k;
        }
        if (from < 0) return made;
        at[from]++;
        /* the smallest of all stays, whatever the budget: the items to come need one */
        if (made && (best.bytes > budget || best.cost >= out[made - 1].cost)) continue;
        out[made++] = best;
    }
}

/* Of those within one part of the budget the last, which costs least, and always the first of all. */
static int thin(combination *list, int n) {
    if (n <= MOST) return n;
    const double part = (double)(list[n - 1].bytes - list[0].bytes + 1) / (MOST - 1);
    int kept = 1;
    for (int i = 1; i < n; i++) {
        const double here = floor((double)(list[i].bytes - list[0].bytes) / part),
                     next = i + 1 < n ? floor((double)(list[i + 1].bytes - list[0].bytes) / part) : INFINITY;
        if (here < next) list[kept++] = list[i];
    }
    return kept;
}

wick_status wick_knapsack(const wick_allocator *alloc, int n, const wick_knapsack_item *items, int64_t budget,
                          int *chosen) {
    const size_t room = (size_t)MOST * WICK_KNAPSACK_CHOICES, each = sizeof(combination *) + sizeof(int);
    combination **lists = wick_calloc(alloc, (size_t)(n + 1) * each + 1),
                *wide = wick_alloc(alloc, room * sizeof *wide);
    int *counts = lists ? (int *)(lists + n + 1) : NULL, last = 0;
    const combination none = {0};
    wick_status status = lists && wide ? WICK_OK : WICK_ERR_NOMEM;
    for (int i = 0; i < n && status == WICK_OK; i++) {
        counts[i] = thin(wide, extend(i ? lists[i - 1] : &none, i ? counts[i - 1] : 1, &items[i], budget, wide));
        const size_t bytes = (size_t)counts[i] * sizeof *wide;
        if ((lists[i] = wick_alloc(alloc, bytes)) != NULL)
            memcpy(lists[i], wide, bytes);
        else
            status = WICK_ERR_NOMEM;
    }
    if (n && status == WICK_OK) last = counts[n - 1] - 1;
    for (int i = n; i-- > 0 && status == WICK_OK;) {
        chosen[i] = lists[i][last].choice;
        last = lists[i][last].before;
    }
    for (int i = 0; i < n && lists; i++) wick_release(alloc, lists[i], (size_t)counts[i] * sizeof *wide);
    wick_release(alloc, wide, room * sizeof *wide);
    wick_release(alloc, lists, (size_t)(n + 1) * each + 1);
    return status;
}
