/* Groups of processes on this machine: sums whose bits do not depend on the number of ranks, what moves bytes as they
 * are, and what ranks say that don't do the same. */
#include "base/base.h"
#include "ranks.h"
#include "tree.h"

/* ---- the sum ----------------------------------------------------------------------------------------------------- */

typedef struct sum_case {
    int leaves;
    size_t count;
    bool parts; /* leaves come in pieces */
} sum_case;

static wick_status add_leaf(wick_group *g, const sum_case *c, int leaf, const float *v) {
    if (!c->parts) return wick_group_add(g, leaf, v);
    for (size_t at = 0, n = 1; at < c->count; at += n, n = n * 3 % 301 + 1) {
        if (n > c->count - at) n = c->count - at;
        wick_status status = wick_group_add_part(g, leaf, v + at, n);
        if (status != WICK_OK) return status;
    }
    return c->count ? WICK_OK : wick_group_add(g, leaf, v);
}

/* 0: the sum has the bits of the tree, twice. */
static int sum_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    const sum_case *c = arg;
    int first, end, bad = 0;
    if (!g) return 1;
    float *v = malloc((c->count + 1) * sizeof *v), *sum = malloc((c->count + 1) * sizeof *v),
          *want = malloc((c->count + 1) * sizeof *v);
    for (int step = 0; step < 2 && !bad; step++) {
        bad = wick_group_leaves(g, c->leaves, &first, &end) || wick_group_begin(g, c->leaves, c->count);
        for (int leaf = first; leaf < end && !bad; leaf++) {
            fill_leaf(v, c->count, leaf, step);
            bad = add_leaf(g, c, leaf, v);
        }
        bad = bad || wick_group_finish(g, sum);
        tree_of_leaves(want, c->count, 0, c->leaves, step);
        if (!bad && memcmp(sum, want, c->count * sizeof *sum) != 0) bad = 2, snprintf(text, RANK_TEXT, "other bits");
    }
    if (bad == 1) snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    free(v), free(sum), free(want);
    return bad;
}

TEST(the_sum_has_the_bits_of_one_tree_on_any_number_of_ranks) {
    static const int all_leaves[] = {1, 2, 4, 8, 16, 64}, all_ranks[] = {1, 2, 3, 4, 5, 8};
    static const size_t counts[] = {0, 1, 7, 33, 1000};
    size_t i = 0;
    for (size_t l = 0; l < WICK_COUNTOF(all_leaves); l++)
        for (size_t r = 0; r < WICK_COUNTOF(all_ranks); r++)
            for (size_t n = 0; n < WICK_COUNTOF(counts); n++) {
                const sum_case c = {all_leaves[l], counts[n], (l + r + n) % 2};
                rank_end ends[RANKS_MOST];
                if (c.leaves < all_ranks[r] || !test_sampled(i++)) continue;
                ranks_run(all_ranks[r], 30, sum_rank, &c, ends);
                for (int k = 0; k < all_ranks[r]; k++)
                    CHECK_MSG(ends[k].code == 0, "V %d R %d n %zu: rank %d: %d %s", c.leaves, all_ranks[r], c.count, k,
                              ends[k].code, ends[k].text);
                test_count("sums of ranks", 1);
            }
}

TEST(sums_that_are_longer_than_any_buffer_arrive_whole) {
    for (int ranks = 2; ranks <= 4; ranks++) {
        const sum_case c = {8, 700001, false};
        rank_end ends[RANKS_MOST];
        ranks_run(ranks, 30, sum_rank, &c, ends);
        for (int k = 0; k < ranks; k++)
            CHECK_MSG(ends[k].code == 0, "R %d: rank %d: %d %s", ranks, k, ends[k].code, ends[k].text);
    }
}

/* ---- other calls ------------------------------------------------------------------------------------------------- */

static int move_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    const int n = g ? wick_group_size(g) : 0, me = g ? wick_group_rank(g) : 0;
    const size_t size = *(const size_t *)arg;
    int bad = 0;
    if (!g) return 1;
    unsigned char *mine = malloc(size + 1), *all = malloc(size * (size_t)n + 1);
    for (int root = 0; root < n && !bad; root++) {
        for (size_t i = 0; i < size; i++) mine[i] = (unsigned char)(me == root ? i * 7 + (size_t)root : 0);
        bad = wick_group_broadcast(g, root, mine, size);
        for (size_t i = 0; i < size; i++) bad = bad || mine[i] != (unsigned char)(i * 7 + (size_t)root) ? 3 : 0;
    }
    for (size_t i = 0; i < size; i++) mine[i] = (unsigned char)(i + 31 * (size_t)me);
    bad = bad || wick_group_gather(g, mine, size, all);
    for (int r = 0; r < n && !bad; r++)
        for (size_t i = 0; i < size; i++) bad = bad || all[(size_t)r * size + i] != (unsigned char)(i + 31 * (size_t)r);
    for (int i = 0; i < 20 && !bad; i++) bad = wick_group_barrier(g);
    bad = bad || wick_group_agree(g, "batch", "32", 2) || wick_group_agree(g, "nothing", NULL, 0);
    if (bad) snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    free(mine), free(all);
    return bad;
}

TEST(broadcast_gather_barrier_and_agree_work) {
    static const size_t sizes[] = {0, 1, 1001, 3 << 20};
    for (int ranks = 1; ranks <= 5; ranks++)
        for (size_t s = 0; s < WICK_COUNTOF(sizes); s++) {
            rank_end ends[RANKS_MOST];
            ranks_run(ranks, 30, move_rank, &sizes[s], ends);
            for (int k = 0; k < ranks; k++)
                CHECK_MSG(ends[k].code == 0, "R %d size %zu: rank %d: %d %s", ranks, sizes[s], k, ends[k].code,
                          ends[k].text);
        }
}

/* One machine has one clock. */
static int clock_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    int64_t ahead = 1, error = -1;
    if (!g || wick_group_clock(g, &ahead, &error) != WICK_OK || wick_group_clock(g, &ahead, NULL) != WICK_OK) return 1;
    snprintf(text, RANK_TEXT, "%lld ns ahead, by %lld at most", (long long)ahead, (long long)error);
    if (ahead != 0 || error < 0) return 2;
    return wick_group_clock(g, NULL, NULL) == WICK_ERR_INVALID ? 0 : 3;
}

TEST(clocks_of_one_machine_are_told_to_be_one) {
    for (int ranks = 1; ranks <= 4; ranks++) {
        rank_end ends[RANKS_MOST];
        ranks_run(ranks, 30, clock_rank, NULL, ends);
        for (int k = 0; k < ranks; k++)
            CHECK_MSG(ends[k].code == 0, "R %d: rank %d: %d %s", ranks, k, ends[k].code, ends[k].text);
    }
}

static int differ_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    if (!g) return 1;
    const char *batch = wick_group_rank(g) == 1 ? "64" : "32";
    const unsigned char seed[8] = {(unsigned char)(wick_group_rank(g) >= 2)};
    if (wick_group_agree(g, "batch", batch, 2) != WICK_ERR_MISMATCH) return 2;
    snprintf(text, RANK_TEXT, "%s|", wick_group_error(g));
    if (wick_group_agree(g, "seed", seed, sizeof seed) != WICK_ERR_MISMATCH) return 3;
    snprintf(text + strlen(text), RANK_TEXT - strlen(text), "%s", wick_group_error(g));
    return wick_group_barrier(g) == WICK_OK ? 0 : 4; /* the group is whole */
}

TEST(ranks_that_differ_are_told_the_field_and_the_ranks) {
    rank_end ends[RANKS_MOST];
    ranks_run(4, 30, differ_rank, NULL, ends);
    for (int r = 0; r < 4; r++) {
        CHECK_INT(ends[r].code, 0);
        CHECK_STR_HAS(ends[r].text, "group: batch differs: 32 on ranks 0, 2 and 3, 64 on rank 1|");
        CHECK_STR_HAS(ends[r].text, "group: seed differs: one value on ranks 0 and 1, another on ranks 2 and 3");
    }
}

static int astray_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    char byte = 0, all[8];
    if (!g) return 1;
    const wick_status status = wick_group_rank(g) == 1 ? wick_group_gather(g, &byte, 1, all) : wick_group_barrier(g);
    snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    const wick_status again = wick_group_barrier(g); /* broken: the same text, at once */
    if (again == WICK_OK || strcmp(text, wick_group_error(g)) != 0) return 2;
    return status == WICK_OK ? 3 : 0;
}

TEST(a_rank_at_another_call_is_an_error) {
    rank_end ends[RANKS_MOST];
    ranks_run(2, 30, astray_rank, NULL, ends);
    for (int r = 0; r < 2; r++) CHECK_INT(ends[r].code, 0);
    CHECK_MSG(strstr(ends[0].text, "barrier: rank 1 is at gather instead") ||
                  strstr(ends[0].text, "barrier: rank 1 gave up"),
              "%s", ends[0].text);
    CHECK_MSG(strstr(ends[1].text, "gather: rank 0 is at barrier instead") ||
                  strstr(ends[1].text, "gather: rank 0 gave up"),
              "%s", ends[1].text);
}

/* ---- wrong arguments --------------------------------------------------------------------------------------------- */

TEST(a_group_of_one_needs_nobody_and_refuses_what_is_wrong) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group *g = NULL;
    float v[4] = {1, 2, 3, 4}, sum[4];
    int first, end;
    unsetenv("WICK_RANK"), unsetenv("WICK_RANKS");
    REQUIRE(ctx && wick_group_open(ctx, NULL, &g) == WICK_OK);
    CHECK(wick_group_rank(g) == 0 && wick_group_size(g) == 1 && !strcmp(wick_group_transport(g), "none"));
    CHECK(!*wick_group_error(g));
    CHECK(wick_group_leaves(g, 3, &first, &end) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_group_error(g), "3 leaves: a power of two");
    CHECK(wick_group_leaves(g, 0, &first, &end) == WICK_ERR_INVALID);
    CHECK(wick_group_leaves(g, 1 << 17, &first, &end) == WICK_ERR_INVALID);
    CHECK(wick_group_add(g, 0, v) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_group_error(g), "no sum was begun");
    CHECK(wick_group_finish(g, sum) == WICK_ERR_INVALID);
    REQUIRE(wick_group_begin(g, 4, 4) == WICK_OK);
    CHECK(wick_group_add(g, 1, v) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_group_error(g), "leaf 1, where leaf 0 of rank 0's 0 to 3 is next");
    CHECK(wick_group_add(g, 0, NULL) == WICK_ERR_INVALID);
    CHECK(wick_group_add_part(g, 0, v, 3) == WICK_OK);
    CHECK(wick_group_add_part(g, 0, v, 2) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_group_error(g), "2 floats are too many: 1 of 4 are left");
    CHECK(wick_group_add(g, 0, v) == WICK_ERR_INVALID);
    CHECK(wick_group_add_part(g, 0, v + 3, 1) == WICK_OK);
    CHECK(wick_group_finish(g, sum) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_group_error(g), "leaf 1 of rank 0's 0 to 3 was not added");
    for (int leaf = 1; leaf < 4; leaf++) CHECK(wick_group_add(g, leaf, v) == WICK_OK);
    CHECK(wick_group_add(g, 4, v) == WICK_ERR_INVALID);
    CHECK(wick_group_finish(g, NULL) == WICK_ERR_INVALID);
    CHECK(wick_group_finish(g, sum) == WICK_OK);
    for (int i = 0; i < 4; i++) CHECK(sum[i] == 4 * v[i]);
    CHECK(wick_group_finish(g, sum) == WICK_ERR_INVALID);
    CHECK(wick_group_broadcast(g, 1, v, sizeof v) == WICK_ERR_INVALID);
    CHECK(wick_group_begin(g, 2, SIZE_MAX / 2) == WICK_ERR_NOMEM);
    CHECK_STR_HAS(wick_group_error(g), "out of memory");
    wick_group_close(&g);
    wick_group_close(&g);
    wick_context_free(&ctx);
}

static int few_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    if (!g || wick_group_begin(g, 2, 10) != WICK_ERR_INVALID) return 1;
    snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    return 0;
}
TEST(more_ranks_than_leaves_is_an_error) {
    rank_end ends[RANKS_MOST];
    ranks_run(3, 30, few_rank, NULL, ends);
    for (int r = 0; r < 3; r++) CHECK_STR_HAS(ends[r].text, "2 leaves are too few for 3 ranks");
}

TEST(subnormal_numbers_are_flushed_whatever_the_caller_has) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group *g = NULL;
    const float tiny = 0x1p-140f;
    float sum = 1;
    REQUIRE(ctx && wick_group_open(ctx, NULL, &g) == WICK_OK && wick_group_begin(g, 2, 1) == WICK_OK);
    CHECK(wick_group_add(g, 0, &tiny) == WICK_OK && wick_group_add(g, 1, &tiny) == WICK_OK);
    CHECK(wick_group_finish(g, &sum) == WICK_OK && sum == 0);
    wick_group_close(&g);
    wick_context_free(&ctx);
}

static void refused(const char *rank, const char *ranks, const char *fds, const char *why) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group *g = NULL;
    const char *const names[] = {"WICK_RANK", "WICK_RANKS", "WICK_GROUP_FDS"}, *const values[] = {rank, ranks, fds};
    for (int i = 0; i < 3; i++)
        if (values[i]) setenv(names[i], values[i], 1);
    CHECK(wick_group_open(ctx, NULL, &g) == WICK_ERR_INVALID && !g);
    CHECK_STR_HAS(wick_context_error(ctx), why);
    for (int i = 0; i < 3; i++) unsetenv(names[i]);
    wick_context_free(&ctx);
}
TEST(a_wrong_environment_is_named) {
    refused("0", NULL, NULL, "WICK_RANK is set without WICK_RANKS");
    refused("2", "2", "3,4,5", "WICK_RANK=2: 0 to 1, with WICK_RANKS=2");
    refused("x", "2", NULL, "WICK_RANK=x");
    refused("0", "0", NULL, "WICK_RANKS=0: 1 to 4096");
    refused("0", "2", NULL, "without WICK_GROUP_FDS: ranks are started by wick launch");
    refused("0", "2", "3", "WICK_GROUP_FDS=3: not what wick launch gave");
    refused("0", "2", "0,1,2,", "WICK_GROUP_FDS=0,1,2,");
    refused("0", "1000", "1", "WICK_RANKS=1000: at most 128 on one machine");
    setenv("WICK_GROUP_TIMEOUT", "soon", 1);
    refused(NULL, NULL, NULL, "WICK_GROUP_TIMEOUT=soon: seconds above 0");
    unsetenv("WICK_GROUP_TIMEOUT");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
