/* shares.c: which leaves are whose, and how that follows the ranks' speed. Leaves move as a whole, and the sum has the
 * same bits whoever adds them up. */
#include "dist/group.h"

#include <math.h>

enum { LOOK_STEPS = 8 };
static const double GAIN = 0.05, KEEP = 0.5;

/* ---- the table --------------------------------------------------------------------------------------------------- */

static size_t table_bytes(const wick_group *g) {
    const size_t ranks = (size_t)g->wire.size;
    return ranks * (2 * sizeof(rank_speed) + sizeof(double)) + 3 * (ranks + 1) * sizeof(int);
}

static bool take_table(wick_group *g) {
    group_shares *s = &g->shares;
    const size_t ranks = (size_t)g->wire.size;
    if (s->speeds) return true;
    s->speeds = wick_calloc(&g->ctx->alloc, table_bytes(g));
    if (!s->speeds) return false;
    s->told = s->speeds + ranks;
    s->leaf = (double *)(s->told + ranks);
    s->first = (int *)(s->leaf + ranks);
    s->next = s->first + ranks + 1;
    s->now = s->next + ranks + 1;
    return true;
}

void wick_group_shares_free(wick_group *g) {
    wick_release(&g->ctx->alloc, g->shares.speeds, g->shares.speeds ? table_bytes(g) : 0);
    g->shares = (group_shares){0};
}

static wick_status check_shares(wick_group *g, int leaves, const int *first) {
    const int ranks = g->wire.size;
    for (int r = 0; r < ranks; r++)
        if (first[r] >= first[r + 1])
            return wick_group_fail(g, WICK_ERR_INVALID,
                                   "group_set_shares: rank %d has leaves %d to %d: each needs one, in order", r,
                                   first[r], first[r + 1] - 1);
    if (first[0] != 0 || first[ranks] != leaves)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_set_shares: leaves %d to %d are shared, of 0 to %d",
                               first[0], first[ranks] - 1, leaves - 1);
    return WICK_OK;
}

wick_status wick_group_set_shares(wick_group *g, int leaves, const int *first) {
    group_shares *s = &g->shares;
    const size_t bytes = ((size_t)g->wire.size + 1) * sizeof *first;
    WICK_TRY(wick_group_usable(g));
    WICK_TRY(wick_group_check_leaves(g, "group_set_shares", leaves));
    if (first) WICK_TRY(check_shares(g, leaves, first));
    if (!take_table(g)) return wick_group_fail(g, WICK_ERR_NOMEM, "group_set_shares: out of memory");
    const uint64_t all[2] = {(uint64_t)leaves, first ? wick_hash(first, bytes, 1) : 0};
    WICK_TRY(wick_group_agree(g, "shares of leaves", all, sizeof all));
    g->sum.begun = false;
    s->leaves = first ? leaves : 0;
    if (first && first != s->first) memcpy(s->first, first, bytes);
    return WICK_OK;
}

wick_status wick_group_shares(wick_group *g, int leaves, int *first) {
    WICK_TRY(wick_group_usable(g));
    WICK_TRY(wick_group_check_leaves(g, "group_shares", leaves));
    if (!first) return wick_group_fail(g, WICK_ERR_INVALID, "group_shares: first is NULL");
    for (int r = 0; r <= g->wire.size; r++) first[r] = wick_group_first(g, leaves, r);
    return WICK_OK;
}

/* ---- following the ranks' speed ---------------------------------------------------------------------------------- */

/* The leaves that a rank computes within so many seconds; one it has to. */
static int within(double seconds, double leaf, int leaves) {
    const double n = seconds / leaf;
    return n >= leaves ? leaves : n < 1 ? 1 : (int)n;
}
static int64_t all_within(const wick_group *g, double seconds, int leaves) {
    int64_t n = 0;
    for (int r = 0; r < g->wire.size; r++) n += within(seconds, g->shares.leaf[r], leaves);
    return n;
}

/* The shares whose longest is shortest, into s->next: the least seconds in which ranks compute all leaves, found to the
 * last bit. Of what they could compute beyond that, the last ones have one less. */
static void propose(wick_group *g, int leaves) {
    group_shares *s = &g->shares;
    double low = 0, high = 0;
    for (int r = 0; r < g->wire.size; r++) high = WICK_MAX(high, s->leaf[r] * leaves);
    for (double mid = high / 2; low < mid && mid < high; mid = low + (high - low) / 2)
        if (all_within(g, mid, leaves) >= leaves)
            high = mid;
        else
            low = mid;
    int64_t over = all_within(g, high, leaves) - leaves;
    s->next[g->wire.size] = leaves;
    for (int r = g->wire.size - 1; r >= 0; r--) {
        const int most = within(high, s->leaf[r], leaves), least = within(low, s->leaf[r], leaves);
        const int less = (int)WICK_MIN(over, (int64_t)(most - least));
        over -= less;
        s->next[r] = s->next[r + 1] - (most - less);
    }
}

/* Seconds of the rank that takes longest. */
static double longest(const wick_group *g, const int *first) {
    double most = 0;
    for (int r = 0; r < g->wire.size; r++) most = WICK_MAX(most, g->shares.leaf[r] * (first[r + 1] - first[r]));
    return most;
}

static int moved_leaves(const int *before, const int *after, int ranks) {
    int moved = 0;
    for (int r = 0; r < ranks; r++) {
        const int kept = WICK_MIN(before[r + 1], after[r + 1]) - WICK_MAX(before[r], after[r]);
        moved += after[r + 1] - after[r] - WICK_MAX(kept, 0);
    }
    return moved;
}

/* What all ranks took since the last look; false: of one nothing is known. */
static wick_status look(wick_group *g, double keep, bool *known) {
    group_shares *s = &g->shares;
    WICK_TRY(wick_group_gather(g, &s->own, sizeof s->own, s->told));
    s->own = (rank_speed){0};
    s->steps = 0;
    *known = true;
    for (int r = 0; r < g->wire.size; r++) {
        rank_speed *v = &s->speeds[r];
        v->seconds = keep * v->seconds + s->told[r].seconds;
        v->leaves = keep * v->leaves + s->told[r].leaves;
        s->leaf[r] = v->seconds / v->leaves;
        *known = *known && s->leaf[r] > 0 && isfinite(s->leaf[r]);
    }
    return WICK_OK;
}

static wick_status check_balance(wick_group *g, double seconds, const wick_share_options *o) {
    if (!(seconds >= 0) || isinf(seconds))
        return wick_group_fail(g, WICK_ERR_INVALID, "group_balance: leaves that took %g s", seconds);
    if (o->steps < 0 || !(o->gain >= 0 && o->gain < 1) || !(o->keep >= 0 && o->keep < 1))
        return wick_group_fail(g, WICK_ERR_INVALID,
                               "group_balance: steps %d, gain %g, keep %g: none is below 0, the last two are below 1",
                               o->steps, o->gain, o->keep);
    return WICK_OK;
}

static wick_share_report report_of(const wick_group *g) {
    const double *leaf = g->shares.leaf;
    wick_share_report b = {.seconds = leaf};
    for (int r = 1; r < g->wire.size; r++) {
        if (leaf[r] > leaf[b.slowest]) b.slowest = r;
        if (leaf[r] < leaf[b.fastest]) b.fastest = r;
    }
    return b;
}

/* What a look found: leaves move, where that is worth it. */
static wick_status follow(wick_group *g, int leaves, double gain, wick_share_report *b) {
    group_shares *s = &g->shares;
    const int ranks = g->wire.size;
    propose(g, leaves);
    for (int r = 0; r <= ranks; r++) s->now[r] = wick_group_first(g, leaves, r);
    if (longest(g, s->next) > longest(g, s->now) * (1 - gain)) return WICK_OK;
    const int moved = moved_leaves(s->now, s->next, ranks);
    if (moved) WICK_TRY(wick_group_set_shares(g, leaves, s->next));
    b->moved = moved;
    return WICK_OK;
}

wick_status wick_group_balance(wick_group *g, int leaves, double seconds, const wick_share_options *options,
                               wick_share_report *report) {
    static const wick_share_options defaults;
    const wick_share_options *o = options ? options : &defaults;
    group_shares *s = &g->shares;
    const int me = g->wire.rank;
    bool known;
    WICK_TRY(wick_group_usable(g));
    WICK_TRY(wick_group_check_leaves(g, "group_balance", leaves));
    WICK_TRY(check_balance(g, seconds, o));
    if (!report) return wick_group_fail(g, WICK_ERR_INVALID, "group_balance: report is NULL");
    if (!take_table(g)) return wick_group_fail(g, WICK_ERR_NOMEM, "group_balance: out of memory");
    *report = report_of(g);
    if (!s->begun) {
        s->begun = true;
        return WICK_OK;
    }
    s->own.seconds += seconds;
    s->own.leaves += wick_group_first(g, leaves, me + 1) - wick_group_first(g, leaves, me);
    if (++s->steps < (o->steps ? o->steps : LOOK_STEPS)) return WICK_OK;
    WICK_TRY(look(g, o->keep > 0 ? o->keep : KEEP, &known));
    *report = report_of(g);
    return known && g->wire.size > 1 ? follow(g, leaves, o->gain > 0 ? o->gain : GAIN, report) : WICK_OK;
}
