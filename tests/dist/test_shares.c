/* Shares of ranks: any of them give the bits of the tree, and they follow how fast ranks are. */
#include "base/base.h"
#include "ranks.h"
#include "tree.h"

enum { COUNT = 333, STEPS = 12, LEAVES_MOST = 64 };

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *x) { return (*x = *x * 6364136223846793005u + 1442695040888963407u) >> 33; }

static void draw_shares(int leaves, int ranks, uint64_t *x, int *first) {
    first[0] = 0;
    first[ranks] = leaves;
    for (int r = 1; r < ranks; r++) {
        const int low = first[r - 1] + 1, room = leaves - (ranks - r) - low + 1;
        first[r] = low + (int)(draw(x) % (uint64_t)room);
    }
}

static bool same_sum(wick_group *g, int leaves, int step) {
    static float v[COUNT], sum[COUNT], want[COUNT];
    int first, end;
    bool ok = wick_group_leaves(g, leaves, &first, &end) == WICK_OK && wick_group_begin(g, leaves, COUNT) == WICK_OK;
    for (int leaf = first; leaf < end && ok; leaf++) {
        fill_leaf(v, COUNT, leaf, step);
        ok = wick_group_add(g, leaf, v) == WICK_OK;
    }
    ok = ok && wick_group_finish(g, sum) == WICK_OK;
    tree_of_leaves(want, COUNT, 0, leaves, step);
    return ok && memcmp(sum, want, sizeof sum) == 0;
}

static int moving_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    const int leaves = *(const int *)arg, ranks = g ? wick_group_size(g) : 0;
    int first[RANKS_MOST + 1], now[RANKS_MOST + 1], own, end;
    uint64_t x = 7;
    for (int step = 0; g && step < STEPS; step++) {
        draw_shares(leaves, ranks, &x, first);
        const bool even = step % 5 == 4;
        if (wick_group_set_shares(g, leaves, even ? NULL : first) != WICK_OK) break;
        if (wick_group_shares(g, leaves, now) != WICK_OK || wick_group_leaves(g, leaves, &own, &end) != WICK_OK) break;
        const int me = wick_group_rank(g);
        for (int r = 0; r <= ranks; r++)
            if (now[r] != (even ? leaves * r / ranks : first[r])) return 2;
        if (own != now[me] || end != now[me + 1]) return 3;
        if (!same_sum(g, leaves, step)) return snprintf(text, RANK_TEXT, "step %d: other bits", step), 4;
        /* of another number they are even */
        if (!same_sum(g, 2 * leaves, step)) return snprintf(text, RANK_TEXT, "step %d, 2 V: other bits", step), 5;
        if (step == STEPS - 1) return 0;
    }
    snprintf(text, RANK_TEXT, "%s", g ? wick_group_error(g) : "no group");
    return 1;
}

TEST(sums_have_the_bits_of_the_tree_while_leaves_move_in_every_step) {
    static const int all_leaves[] = {1, 4, 8, 64};
    for (size_t l = 0; l < WICK_COUNTOF(all_leaves); l++)
        for (int ranks = 1; ranks <= 5 && ranks <= all_leaves[l]; ranks++) {
            rank_end ends[RANKS_MOST];
            ranks_run(ranks, 30, moving_rank, &all_leaves[l], ends);
            for (int k = 0; k < ranks; k++)
                CHECK_MSG(ends[k].code == 0, "V %d R %d: rank %d: %d %s", all_leaves[l], ranks, k, ends[k].code,
                          ends[k].text);
            test_count("sums of moving leaves", 2 * STEPS);
        }
}

static int refusing_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    static const int good[] = {0, 1, 8}, other[] = {0, 2, 8}, none[] = {0, 0, 8}, back[] = {0, 9, 8},
                     late[] = {1, 2, 8}, short_of[] = {0, 2, 7};
    int now[3];
    if (!g || wick_group_set_shares(g, 8, good) != WICK_OK) return 1;
    const int *const wrong[] = {none, back, late, short_of};
    for (int i = 0; i < 4; i++) {
        if (wick_group_set_shares(g, 8, wrong[i]) != WICK_ERR_INVALID) return 2;
        snprintf(text + strlen(text), RANK_TEXT - strlen(text), "%s|", wick_group_error(g));
    }
    if (wick_group_set_shares(g, 7, good) != WICK_ERR_INVALID || wick_group_shares(g, 8, NULL) != WICK_ERR_INVALID)
        return 3;
    /* what one rank has otherwise changes nothing on any */
    if (wick_group_set_shares(g, 8, wick_group_rank(g) ? other : good) != WICK_ERR_MISMATCH) return 4;
    snprintf(text + strlen(text), RANK_TEXT - strlen(text), "%s|", wick_group_error(g));
    if (wick_group_shares(g, 8, now) != WICK_OK || now[1] != 1) return 5;
    /* a sum that is under way has other leaves then: it is dropped */
    float v[4] = {1};
    if (wick_group_begin(g, 8, 4) != WICK_OK || wick_group_set_shares(g, 8, other) != WICK_OK ||
        wick_group_add(g, now[wick_group_rank(g)], v) != WICK_ERR_INVALID)
        return 6;
    return same_sum(g, 8, 3) ? 0 : 7;
}

TEST(shares_that_are_none_or_differ_are_refused) {
    rank_end ends[RANKS_MOST];
    ranks_run(2, 30, refusing_rank, NULL, ends);
    for (int r = 0; r < 2; r++) {
        CHECK_INT(ends[r].code, 0);
        CHECK_STR_HAS(ends[r].text, "group_set_shares: rank 0 has leaves 0 to -1: each needs one, in order|");
        CHECK_STR_HAS(ends[r].text, "rank 1 has leaves 9 to 7");
        CHECK_STR_HAS(ends[r].text, "leaves 1 to 7 are shared, of 0 to 7|");
        CHECK_STR_HAS(ends[r].text, "leaves 0 to 6 are shared, of 0 to 7|");
        CHECK_STR_HAS(ends[r].text, "group: shares of leaves differs: one value on rank 0, another on rank 1|");
    }
}

/* ---- following the ranks' speed ---------------------------------------------------------------------------------- */

/* The least that the slowest of the ranks r to ranks - 1 takes for n leaves, by trying all shares. */
static double least_longest(const double *leaf, int r, int ranks, int n) {
    double best = HUGE_VAL;
    if (r == ranks - 1) return n * leaf[r];
    for (int own = 1; own <= n - (ranks - r - 1); own++) {
        const double rest = least_longest(leaf, r + 1, ranks, n - own), mine = own * leaf[r];
        best = fmin(best, fmax(rest, mine));
    }
    return best;
}

static double longest(const double *leaf, const int *first, int ranks) {
    double most = 0;
    for (int r = 0; r < ranks; r++) most = fmax(most, (first[r + 1] - first[r]) * leaf[r]);
    return most;
}

typedef struct pace {
    int leaves;
    double leaf[RANKS_MOST]; /* seconds for one, of each rank */
} pace;

/* 0: shares became the best ones, and moved once. */
static int paced_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    const pace *p = arg;
    const int ranks = g ? wick_group_size(g) : 0, me = g ? wick_group_rank(g) : 0;
    const wick_share_options how = {.steps = 4, .gain = 1e-9};
    int first[RANKS_MOST + 1], moves = 0, slowest = 0;
    for (int r = 1; r < ranks; r++) slowest = p->leaf[r] > p->leaf[slowest] ? r : slowest;
    wick_share_report b = {0};
    for (int step = 0; g && step < 40; step++) {
        if (wick_group_shares(g, p->leaves, first) != WICK_OK) return 1;
        /* the first step is slower than any */
        const double seconds = (first[me + 1] - first[me]) * p->leaf[me] * (step ? 1 : 1000 * (me + 1));
        if (wick_group_balance(g, p->leaves, seconds, &how, &b) != WICK_OK) return 1;
        if (b.moved && step % 4) return 2; /* a look is every 4 steps, behind the first */
        if (b.moved && (b.slowest != slowest || fabs(b.seconds[slowest] / p->leaf[slowest] - 1) > 1e-9)) return 3;
        moves += b.moved > 0;
    }
    if (p->leaf[b.slowest] < p->leaf[slowest]) return 7; /* also between looks */
    const double got = longest(p->leaf, first, ranks), best = least_longest(p->leaf, 0, ranks, p->leaves);
    snprintf(text, RANK_TEXT, "%d moves, the slowest takes %g s, %g s were possible", moves, got, best);
    for (int r = 0; r < ranks; r++)
        if (first[r] >= first[r + 1]) return 4;
    return got > best * (1 + 1e-9) ? 5 : moves > 1 ? 6 : 0;
}

/* Looks at sums of other leaves, after which nothing moves, leave the shares that were set. */
static int other_leaves_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg, (void)text;
    static const int set[] = {0, 10, 16};
    int first[3];
    wick_share_report b;
    if (!g || wick_group_set_shares(g, 16, set) != WICK_OK) return 1;
    for (int step = 0; step < 20; step++)
        if (wick_group_balance(g, 8, 4, NULL, &b) != WICK_OK || b.moved) return 2;
    if (wick_group_shares(g, 16, first) != WICK_OK || memcmp(first, set, sizeof set) != 0) return 3;
    return same_sum(g, 16, 3) ? 0 : 4;
}

TEST(shares_of_other_sums_stay_as_they_are) {
    rank_end ends[RANKS_MOST];
    ranks_run(2, 30, other_leaves_rank, NULL, ends);
    for (int r = 0; r < 2; r++) CHECK_INT(ends[r].code, 0);
}

TEST(leaves_move_once_to_the_shares_whose_longest_is_shortest) {
    uint64_t x = 3;
    for (int trial = 0; trial < 40; trial++) {
        const int ranks = 1 + trial % 4;
        pace p = {.leaves = ranks == 4 ? 4 << trial % 3 : 4 << trial % 4};
        for (int r = 0; r < ranks; r++) p.leaf[r] = ldexp(1 + (double)(draw(&x) % 1000) / 250, -(int)(draw(&x) % 3));
        if (trial % 7 == 3)
            for (int r = 0; r < ranks; r++) p.leaf[r] = 1;
        rank_end ends[RANKS_MOST];
        ranks_run(ranks, 30, paced_rank, &p, ends);
        for (int k = 0; k < ranks; k++)
            CHECK_MSG(ends[k].code == 0, "trial %d: V %d R %d: rank %d: %d %s", trial, p.leaves, ranks, k, ends[k].code,
                      ends[k].text);
        test_count("paces of ranks", 1);
    }
}

/* How often leaves move where rank 1 takes `slower` times as long as rank 0, give or take noise; from step 60 on as
 * long as it. */
typedef struct noisy {
    double slower, noise;
    int leaves, moves, end; /* the fewest moves; leaves of rank 0 before step 60 */
} noisy;
static int noisy_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    const noisy *n = arg;
    int first[3], moves = 0, before = 0;
    uint64_t x = g ? 5 + (uint64_t)wick_group_rank(g) : 0;
    for (int step = 0; g && step < 200; step++) {
        wick_share_report b;
        if (wick_group_shares(g, n->leaves, first) != WICK_OK) return 1;
        if (step == 60) before = first[1];
        const int me = wick_group_rank(g);
        const double leaf = (me && step < 60 ? n->slower : 1) * (1 + n->noise * ((double)(draw(&x) % 2001) / 1000 - 1));
        if (wick_group_balance(g, n->leaves, (first[me + 1] - first[me]) * leaf, NULL, &b) != WICK_OK) return 1;
        moves += b.moved > 0;
    }
    snprintf(text, RANK_TEXT, "%d moves, rank 0 had %d leaves, and has %d", moves, before, first[1]);
    return moves < n->moves || moves > 3 * n->moves         ? 2
           : before != n->end                               ? 3
           : abs(first[1] - n->leaves / 2) > n->leaves / 32 ? 4
                                                            : 0;
}

TEST(noise_moves_no_leaf_and_a_change_of_speed_moves_them_back) {
    static const noisy cases[] = {
        {1, 0.04, 64, 0, 32}, {1.03, 0, 64, 0, 32}, {1.2, 0, 8, 0, 4}, {2, 0, 8, 2, 6}, {2, 0.001, 64, 2, 43}};
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        rank_end ends[RANKS_MOST];
        ranks_run(2, 30, noisy_rank, &cases[i], ends);
        for (int k = 0; k < 2; k++)
            CHECK_MSG(ends[k].code == 0, "case %zu: rank %d: %d %s", i, k, ends[k].code, ends[k].text);
    }
}

TEST(seconds_and_options_that_are_none_are_refused) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group *g = NULL;
    wick_share_report b;
    REQUIRE(ctx && wick_group_open(ctx, NULL, &g) == WICK_OK);
    CHECK(wick_group_balance(g, 4, -1, NULL, &b) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_group_error(g), "group_balance: leaves that took -1 s");
    CHECK(wick_group_balance(g, 4, NAN, NULL, &b) == WICK_ERR_INVALID);
    CHECK(wick_group_balance(g, 4, HUGE_VAL, NULL, &b) == WICK_ERR_INVALID);
    CHECK(wick_group_balance(g, 3, 1, NULL, &b) == WICK_ERR_INVALID);
    CHECK(wick_group_balance(g, 4, 1, NULL, NULL) == WICK_ERR_INVALID);
    static const wick_share_options wrong[] = {{.steps = -1}, {.gain = 1}, {.gain = -0.1}, {.keep = 1}, {.keep = NAN}};
    for (size_t i = 0; i < WICK_COUNTOF(wrong); i++)
        CHECK(wick_group_balance(g, 4, 1, &wrong[i], &b) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_group_error(g), "keep nan: none is below 0, the last two are below 1");
    for (int step = 0; step < 20; step++) CHECK(wick_group_balance(g, 4, 0, NULL, &b) == WICK_OK && !b.moved);
    wick_group_close(&g);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
