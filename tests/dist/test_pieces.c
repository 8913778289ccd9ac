/* Sums that travel piece by piece while they are computed: the bits of the tree, whatever the pieces are. */
#include "base/base.h"
#include "ranks.h"
#include "tree.h"

enum { LEAVES = 8, STEPS = 3 };

typedef struct cut {
    size_t count;
    int n;         /* pieces */
    bool up;       /* from the first on; else from the last on, as gradients come */
    bool shuffled; /* leaves move in every step */
} cut;

/* n pieces of many sizes, which depend on the numbers alone. */
static void cut_up(const cut *c, wick_range *pieces) {
    for (int k = 0; k < c->n; k++) {
        const size_t a = c->count * (size_t)k * (size_t)(k + 1) / (size_t)(c->n * (c->n + 1)),
                     b = c->count * (size_t)(k + 1) * (size_t)(k + 2) / (size_t)(c->n * (c->n + 1));
        pieces[c->up ? k : c->n - 1 - k] = (wick_range){a, b};
    }
}

/* Its leaves, the last one by pieces, or in the second step as a whole. */
static wick_status add_leaves(wick_group *g, const cut *c, float *v, int step) {
    int first, end;
    WICK_TRY(wick_group_leaves(g, LEAVES, &first, &end));
    WICK_TRY(wick_group_begin(g, LEAVES, c->count));
    for (int leaf = first; leaf < end; leaf++) {
        fill_leaf(v, c->count, leaf, step);
        if (leaf < end - 1 && leaf % 2) {
            WICK_TRY(wick_group_add_part(g, leaf, v, c->count / 3));
            WICK_TRY(wick_group_add_part(g, leaf, v + c->count / 3, c->count - c->count / 3));
        } else if (leaf < end - 1 || step == 1) {
            WICK_TRY(wick_group_add(g, leaf, v));
        } else {
            for (int k = 0; k < c->n; k++) WICK_TRY(wick_group_add_piece(g, leaf, v));
        }
    }
    memset(v, 0xff, c->count * sizeof *v); /* what was added isn't read again */
    return WICK_OK;
}

static wick_status shuffle(wick_group *g, int step) {
    const int ranks = wick_group_size(g);
    int first[RANKS_MOST + 1];
    for (int r = 0; r < ranks; r++) first[r] = r;
    if (step % 2)
        for (int r = 1; r < ranks; r++) first[r] = LEAVES - ranks + r;
    first[ranks] = LEAVES;
    return wick_group_set_shares(g, LEAVES, first);
}

static int sum_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    const cut *c = arg;
    wick_range pieces[32];
    float *v = malloc((c->count + 1) * sizeof *v), *sum = malloc((c->count + 1) * sizeof *v),
          *want = malloc((c->count + 1) * sizeof *v);
    if (!g) return 1;
    cut_up(c, pieces);
    wick_status status = wick_group_set_pieces(g, c->n, pieces);
    int bad = 0;
    uint64_t sent = 0;
    for (int step = 0; step < STEPS && status == WICK_OK && !bad; step++) {
        if (c->shuffled) status = shuffle(g, step);
        const uint64_t before = wick_group_sent(g);
        if (status == WICK_OK) status = add_leaves(g, c, v, step);
        if (status == WICK_OK) status = wick_group_finish(g, sum);
        sent = wick_group_sent(g) - before;
        tree_of_leaves(want, c->count, 0, LEAVES, step);
        if (status == WICK_OK && memcmp(sum, want, c->count * sizeof *sum) != 0) bad = 2;
    }
    const int ranks = wick_group_size(g);
    const double least = 2.0 * (ranks - 1) / ranks * 4 * (double)c->count;
    if (!bad && !c->shuffled && LEAVES % ranks == 0 && fabs((double)sent - least) > 64.0 * 2 * c->n * ranks) bad = 3;
    if (status != WICK_OK) bad = 4;
    snprintf(text, RANK_TEXT, "%s; %g bytes, %g", wick_group_error(g), (double)sent, least);
    free(v), free(sum), free(want);
    return bad;
}

TEST(any_pieces_give_the_bits_of_the_tree_on_any_number_of_ranks) {
    static const cut cuts[] = {
        {10007, 1, true, false}, {10007, 7, false, false}, {31, 5, true, true}, {50000, 16, false, true}};
    static const int ranks[] = {1, 2, 3, 5, 8};
    for (size_t k = 0; k < WICK_COUNTOF(cuts); k++)
        for (size_t r = 0; r < WICK_COUNTOF(ranks); r++) {
            rank_end ends[RANKS_MOST];
            ranks_run(ranks[r], 20, sum_rank, &cuts[k], ends);
            for (int i = 0; i < ranks[r]; i++)
                CHECK_MSG(ends[i].code == 0, "rank %d of %d: %d, %s", i, ranks[r], ends[i].code, ends[i].text);
        }
}

/* Calls in between wait for what is under way; a sum that is dropped leaves nothing behind. */
static int between_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    enum { N = 3000 };
    const cut c = {N, 4, true, false};
    static float v[N], sum[N], want[N];
    wick_range pieces[4];
    int first, end, bad = 0;
    if (!g) return 1;
    cut_up(&c, pieces);
    if (wick_group_set_pieces(g, 4, pieces) != WICK_OK || wick_group_leaves(g, LEAVES, &first, &end) != WICK_OK)
        return 2;
    for (int step = 0; step < 2 && !bad; step++) {
        bad = wick_group_begin(g, LEAVES, N) != WICK_OK;
        for (int leaf = first; leaf < end && !bad; leaf++) {
            fill_leaf(v, N, leaf, step);
            for (int k = 0; k < 4 && !bad; k++) {
                if (step == 0 && leaf == end - 1 && k == 2) break;
                bad = wick_group_add_piece(g, leaf, v) != WICK_OK;
            }
        }
        bad = bad || wick_group_barrier(g) != WICK_OK; /* in the first step half of a leaf is missing, and dropped */
    }
    if (bad || wick_group_finish(g, sum) != WICK_OK) {
        snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
        return 3;
    }
    tree_of_leaves(want, N, 0, LEAVES, 1);
    return memcmp(sum, want, sizeof sum) == 0 ? 0 : 4;
}

TEST(calls_between_pieces_wait_for_them) {
    rank_end ends[RANKS_MOST];
    ranks_run(3, 20, between_rank, NULL, ends);
    for (int i = 0; i < 3; i++) CHECK_MSG(ends[i].code == 0, "rank %d: %d, %s", i, ends[i].code, ends[i].text);
}

static int refused_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    float v[100] = {0}, sum[100];
    int first, end;
    if (!g) return 1;
    const wick_range gap[] = {{0, 10}, {11, 20}}, overlap[] = {{0, 10}, {9, 20}}, empty[] = {{0, 10}, {10, 10}},
                     good[] = {{50, 100}, {0, 50}};
    wick_range other[] = {{0, 40}, {40, 100}};
    other[0].end = other[1].begin = wick_group_rank(g) ? 40 : 41;
    if (wick_group_set_pieces(g, 2, gap) != WICK_ERR_INVALID ||
        wick_group_set_pieces(g, 2, overlap) != WICK_ERR_INVALID ||
        wick_group_set_pieces(g, 2, empty) != WICK_ERR_INVALID ||
        wick_group_set_pieces(g, 2, NULL) != WICK_ERR_INVALID ||
        wick_group_set_pieces(g, WICK_PIECES_MAX + 1, good) != WICK_ERR_INVALID)
        return 2;
    if (wick_group_set_pieces(g, 2, other) != WICK_ERR_MISMATCH) return 3;
    if (wick_group_set_pieces(g, 2, good) != WICK_OK || wick_group_leaves(g, LEAVES, &first, &end) != WICK_OK) return 4;
    if (wick_group_begin(g, LEAVES, 99) != WICK_OK || wick_group_add_piece(g, first, v) != WICK_ERR_INVALID) return 5;
    if (wick_group_begin(g, LEAVES, 100) != WICK_OK || wick_group_add_piece(g, end, v) != WICK_ERR_INVALID) return 6;
    if (wick_group_add_piece(g, first, NULL) != WICK_ERR_INVALID) return 7;
    for (int leaf = first; leaf < end - 1; leaf++)
        if (wick_group_add(g, leaf, v) != WICK_OK) return 8;
    if (wick_group_add_part(g, end - 1, v, 10) != WICK_ERR_INVALID) return 9;
    if (wick_group_add_piece(g, end - 1, v) != WICK_OK || wick_group_finish(g, sum) != WICK_ERR_INVALID) return 10;
    snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    if (wick_group_add_piece(g, end - 1, v) != WICK_OK) return 11;
    const wick_range all = {0, 100};
    if (wick_group_finish_parts(g, 1, (const wick_range[]){all, all}, sum) != WICK_ERR_UNSUPPORTED) return 12;
    return wick_group_finish(g, sum) == WICK_OK && wick_group_set_pieces(g, 0, NULL) == WICK_OK ? 0 : 13;
}

TEST(pieces_that_are_no_cut_are_refused) {
    rank_end ends[RANKS_MOST];
    ranks_run(2, 20, refused_rank, NULL, ends);
    for (int i = 0; i < 2; i++) CHECK_MSG(ends[i].code == 0, "rank %d: %d, %s", i, ends[i].code, ends[i].text);
    CHECK(strstr(ends[1].text, "leaf 7 of rank 1's 4 to 7 was not added as a whole"));
}

/* Rank 1 dies with a piece under way. */
static int dying_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    enum { N = 200000 };
    static float v[N], sum[N];
    const cut c = {N, 4, false, false};
    wick_range pieces[4];
    int first, end;
    if (!g) return 1;
    cut_up(&c, pieces);
    if (wick_group_set_pieces(g, 4, pieces) != WICK_OK || wick_group_leaves(g, LEAVES, &first, &end) != WICK_OK ||
        wick_group_begin(g, LEAVES, N) != WICK_OK)
        return 2;
    wick_status status = WICK_OK;
    for (int leaf = first; leaf < end; leaf++)
        for (int k = 0; k < 4; k++) {
            if (wick_group_rank(g) == 1 && leaf == end - 1 && k == 2) raise(SIGKILL);
            if (status == WICK_OK) status = wick_group_add_piece(g, leaf, v);
        }
    if (status == WICK_OK) status = wick_group_finish(g, sum);
    snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    return status == WICK_ERR_IO && wick_group_barrier(g) == WICK_ERR_IO ? 0 : 4;
}

TEST(a_rank_that_dies_between_pieces_is_named) {
    rank_end ends[RANKS_MOST];
    ranks_run(3, 20, dying_rank, NULL, ends);
    CHECK(ends[1].code == -1);
    for (int i = 0; i < 3; i += 2)
        CHECK_MSG(ends[i].code == 0 && strstr(ends[i].text, "rank 1"), "rank %d: %d, %s", i, ends[i].code,
                  ends[i].text);
}
int main(int argc, char **argv) { return test_main(argc, argv); }
