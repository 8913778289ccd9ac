/* Sums that give the promise of the tree up: near the exact one, the same on all ranks, and what is said of them. */
#include <pthread.h>

#include "../base/counting_alloc.h"
#include "base/base.h"
#include "ranks.h"
#include "tree.h"

enum { LEAVES = 8, STEPS = 24 };

typedef struct fast_case {
    wick_wire_type wire;
    size_t count, exact;
} fast_case;

/* Multiples of 2^-20 below 1, of which bf16 has the first 8 bits. */
static void fill(float *v, size_t n, int leaf) {
    for (size_t i = 0; i < n; i++) {
        const uint32_t x = (uint32_t)(i * 2654435761u + (size_t)leaf * 40503u);
        v[i] = (float)((int32_t)(x >> 11) - (1 << 20)) * 0x1p-20f;
    }
}

static wick_status sum_of(wick_group *g, size_t n, float *v, float *sum) {
    int first, end;
    WICK_TRY(wick_group_leaves(g, LEAVES, &first, &end));
    WICK_TRY(wick_group_begin(g, LEAVES, n));
    for (int leaf = first; leaf < end; leaf++) {
        fill(v, n, leaf);
        WICK_TRY(wick_group_add_part(g, leaf, v, n / 3));
        if (n) WICK_TRY(wick_group_add_part(g, leaf, v + n / 3, n - n / 3));
    }
    return wick_group_finish(g, sum);
}

/* How far float i of a sum may be off: roundings of f32; or to bf16, of each rank's vector and of their sum. */
static double limit_of(const fast_case *c, size_t i, int ranks) {
    const double f32 = LEAVES * LEAVES * 0x1p-24;
    if (c->wire == WICK_WIRE_F32 || ranks == 1 || i >= c->count - WICK_MIN(c->exact, c->count)) return f32;
    return 2.1 * LEAVES * 0x1p-8; /* half of which is lost in one sum, and as much was before */
}

/* 0: sums are near, and all ranks have the same bits; those of bf16 make up for what was lost. The vectors are the same
 * in all steps, so that it would pile up. */
static int near_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    const fast_case *c = arg;
    const wick_group_fast fast = {.wire = c->wire, .exact = c->exact};
    const size_t n = c->count;
    if (!g || wick_group_set_fast(g, &fast) != WICK_OK) return 1;
    const int ranks = wick_group_size(g);
    float *v = calloc(n + 1, sizeof *v), *sum = calloc(n + 1, sizeof *v);
    double *want = calloc(n + 1, sizeof *want), *all = calloc(n + 1, sizeof *all);
    int bad = 0;
    for (int step = 0; step < STEPS && !bad; step++) {
        memset(want, 0, n * sizeof *want);
        for (int leaf = 0; leaf < LEAVES; leaf++) {
            fill(v, n, leaf);
            for (size_t i = 0; i < n; i++) want[i] += (double)v[i];
        }
        const uint64_t before = wick_group_sent(g);
        const wick_status status = sum_of(g, n, v, sum);
        if (n > 1000 && !bad) { /* 2 (R - 1) / R of the vector, but for lines */
            const double size = c->wire == WICK_WIRE_BF16 ? 2 : 4, least = 2.0 * (ranks - 1) / ranks * size * (double)n;
            const double more = (double)(wick_group_sent(g) - before) - least;
            if (fabs(more) > 500) bad = 3, snprintf(text, RANK_TEXT, "%g bytes more than %g", more, least);
        }
        if (status != WICK_OK || wick_group_agree(g, "the sum", sum, n * sizeof *sum) != WICK_OK)
            bad = 1, snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
        for (size_t i = 0; i < n && !bad; i++) {
            all[i] += (double)sum[i] - want[i];
            const double limit = limit_of(c, i, ranks), off = fabs((double)sum[i] - want[i]);
            const double f32 = step * LEAVES * LEAVES * 0x1p-24;
            if (off > limit || fabs(all[i]) > limit / 2 + f32) /* of all sums together no more is lost than of one */
                bad = 2, snprintf(text, RANK_TEXT, "step %d, %zu: %g off, of all %g", step, i, off, fabs(all[i]));
        }
    }
    free(v), free(sum), free(want), free(all);
    return bad;
}

TEST(fast_sums_are_near_and_the_same_on_all_ranks) {
    static const int all_ranks[] = {1, 2, 3, 5, 8};
    static const size_t counts[] = {0, 1, 15, 33, 1000, 70001};
    size_t k = 0;
    for (int wire = WICK_WIRE_F32; wire <= WICK_WIRE_BF16; wire++)
        for (size_t r = 0; r < WICK_COUNTOF(all_ranks); r++)
            for (size_t n = 0; n < WICK_COUNTOF(counts); n++) {
                const fast_case c = {(wick_wire_type)wire, counts[n], n % 2 ? 5 : 0};
                rank_end ends[RANKS_MOST];
                if (!test_sampled(k++)) continue;
                ranks_run(all_ranks[r], 30, near_rank, &c, ends);
                for (int i = 0; i < all_ranks[r]; i++)
                    CHECK_MSG(ends[i].code == 0, "wire %d R %d n %zu: rank %d: %d %s", wire, all_ranks[r], counts[n], i,
                              ends[i].code, ends[i].text);
            }
}

/* 0: an Inf is in the sum of its step, and in no other; the floats at the end are counts to the last one. */
static int whole_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    enum { N = 100 };
    (void)arg;
    const wick_group_fast fast = {.wire = WICK_WIRE_BF16, .exact = 2};
    float v[N], sum[N];
    int first, end, bad = 0;
    if (!g || wick_group_set_fast(g, &fast) != WICK_OK || wick_group_leaves(g, LEAVES, &first, &end)) return 1;
    for (int step = 0; step < 3 && !bad; step++) {
        bad = wick_group_begin(g, LEAVES, N) != WICK_OK;
        for (int leaf = first; leaf < end && !bad; leaf++) {
            for (int i = 0; i < N; i++) v[i] = 1;
            if (step == 1) v[leaf] = INFINITY, v[leaf + 50] = 3.4e38f; /* which rounds to Inf */
            v[N - 2] = 1025, v[N - 1] = 0x1p-20f;
            bad = wick_group_add(g, leaf, v) != WICK_OK;
        }
        bad = bad || wick_group_finish(g, sum) != WICK_OK;
        for (int i = 0; i < N - 2 && !bad; i++)
            if (isfinite(sum[i]) == (step == 1 && i % 50 < LEAVES)) bad = 2;
        if (step != 1 && sum[7] != LEAVES) bad = 3;
        if (sum[N - 2] != LEAVES * 1025 || sum[N - 1] != LEAVES * 0x1p-20f) bad = 4;
        if (bad) snprintf(text, RANK_TEXT, "step %d: %g %g %g", step, (double)sum[7], (double)sum[57], (double)sum[98]);
    }
    return bad;
}

TEST(infinity_is_in_one_sum_and_counts_are_whole) {
    rank_end ends[RANKS_MOST];
    ranks_run(4, 30, whole_rank, NULL, ends);
    for (int i = 0; i < 4; i++) CHECK_MSG(ends[i].code == 0, "rank %d: %d %s", i, ends[i].code, ends[i].text);
}

/* 0: exact sums before and behind a fast one have the tree's bits, and the text is the key in between. */
static int back_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    enum { N = 333 };
    (void)arg;
    float v[N], sum[N], want[N];
    int first, end, bad = 0;
    if (!g || wick_group_leaves(g, LEAVES, &first, &end)) return 1;
    const wick_group_fast fast = {.wire = WICK_WIRE_F32};
    for (int k = 0; k < 3 && !bad; k++) {
        bad = wick_group_set_fast(g, k == 1 ? &fast : NULL) != WICK_OK || wick_group_begin(g, LEAVES, N) != WICK_OK;
        for (int leaf = first; leaf < end && !bad; leaf++) {
            fill_leaf(v, N, leaf, k);
            bad = wick_group_add(g, leaf, v) != WICK_OK;
        }
        bad = bad || wick_group_finish(g, sum) != WICK_OK;
        tree_of_leaves(want, N, 0, LEAVES, k);
        if (k != 1 && memcmp(sum, want, sizeof sum) != 0) bad = 2;
        if (k == 1 && memcmp(sum, want, sizeof sum) == 0) bad = 3; /* numbers of which the order tells */
    }
    if (wick_group_set_fast(g, &(wick_group_fast){.wire = (wick_wire_type)7}) != WICK_ERR_INVALID) bad = 4;
    snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    return bad;
}

TEST(exact_sums_are_exact_again_behind_fast_ones) {
    rank_end ends[RANKS_MOST];
    ranks_run(3, 30, back_rank, NULL, ends);
    for (int i = 0; i < 3; i++) {
        CHECK_MSG(ends[i].code == 0, "rank %d: %d %s", i, ends[i].code, ends[i].text);
        CHECK_STR_HAS(ends[i].text, "wire 7: WICK_WIRE_F32, WICK_WIRE_BF16 or WICK_WIRE_POWERSGD");
    }
}

static int differing_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    if (!g) return 1;
    const wick_group_fast fast = {.wire = WICK_WIRE_BF16};
    const wick_status status = wick_group_set_fast(g, wick_group_rank(g) == 1 ? &fast : NULL);
    snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    return status == WICK_ERR_MISMATCH ? 0 : 2;
}

TEST(ranks_of_different_modes_are_told) {
    rank_end ends[RANKS_MOST];
    ranks_run(3, 30, differing_rank, NULL, ends);
    for (int i = 0; i < 3; i++) {
        CHECK_MSG(ends[i].code == 0, "rank %d: %d", i, ends[i].code);
        CHECK_STR_HAS(ends[i].text, "the mode of sums differs: exact on ranks 0 and 2, fast, bf16, 0 exact on rank 1");
    }
}

TEST(the_numerics_key_says_it_until_the_group_is_closed) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group *g = NULL;
    char before[128];
    snprintf(before, sizeof before, "%s", wick_context_numerics(ctx));
    REQUIRE(wick_group_open(ctx, NULL, &g) == WICK_OK);
    CHECK(wick_group_set_fast(g, &(wick_group_fast){.wire = WICK_WIRE_BF16}) == WICK_OK);
    CHECK_STR_HAS(wick_context_numerics(ctx), ";sum=fast;wire=bf16;ranks=1;over=none");
    CHECK(strncmp(wick_context_numerics(ctx), before, strlen(before)) == 0);
    CHECK(wick_group_set_fast(g, &(wick_group_fast){.wire = WICK_WIRE_F32}) == WICK_OK);
    CHECK_STR_HAS(wick_context_numerics(ctx), ";sum=fast;wire=f32;ranks=1;over=none");
    CHECK(wick_group_set_fast(g, NULL) == WICK_OK);
    CHECK(strcmp(wick_context_numerics(ctx), before) == 0);
    CHECK(wick_group_set_fast(g, &(wick_group_fast){0}) == WICK_OK);
    wick_group_close(&g);
    CHECK(strcmp(wick_context_numerics(ctx), before) == 0);
    wick_context_free(&ctx);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

enum { SHORT_COUNT = 100 };

typedef struct short_seat {
    const wick_group_host *host;
    int rank, bad; /* the line that failed */
    int64_t fail;  /* which allocation of begin fails the first time */
    bool failed;   /* one did */
} short_seat;

#define MUST(cond)                                                                                                     \
    if (!s->bad && !(cond)) s->bad = __LINE__

static void *short_of_memory(void *arg) {
    short_seat *s = arg;
    counting c = {.fail_at = -1};
    const wick_allocator alloc = counting_allocator(&c);
    wick_context *ctx = new_context(.threads = 1, .allocator = &alloc);
    wick_group *g = NULL;
    const wick_group_options options = {.host = s->host, .rank = s->rank, .timeout = 60};
    const wick_group_fast fast = {.wire = WICK_WIRE_BF16, .exact = 1};
    float v[SHORT_COUNT], sum[SHORT_COUNT] = {0};
    for (int i = 0; i < SHORT_COUNT; i++) v[i] = 1;
    MUST(ctx && wick_group_open(ctx, &options, &g) == WICK_OK);
    if (s->bad) return NULL;
    MUST(wick_group_set_fast(g, &fast) == WICK_OK);
    c.fail_at = s->fail < 0 ? -1 : c.calls + s->fail;
    wick_status status = wick_group_begin(g, 2, SHORT_COUNT);
    s->failed = status == WICK_ERR_NOMEM;
    MUST(status == WICK_OK || (s->failed && strstr(wick_group_error(g), "out of memory")));
    c.fail_at = -1;
    MUST(!s->failed || wick_group_begin(g, 2, SHORT_COUNT) == WICK_OK);
    MUST(wick_group_add(g, s->rank, v) == WICK_OK && wick_group_finish(g, sum) == WICK_OK);
    for (int i = 0; i < SHORT_COUNT; i++) MUST(sum[i] == 2);
    wick_group_close(&g);
    wick_context_free(&ctx);
    MUST(c.live == 0);
    return NULL;
}

TEST(a_rank_that_had_no_memory_can_begin_again) {
    bool failed = true;
    for (int64_t n = 0; failed && n < 20; n++) {
        wick_context *ctx = new_context(.threads = 1);
        wick_group_host *host = NULL;
        pthread_t other;
        REQUIRE(wick_group_host_new(ctx, 2, &host) == WICK_OK);
        short_seat seats[2] = {{.host = host, .rank = 0, .fail = n}, {.host = host, .rank = 1, .fail = -1}};
        REQUIRE(pthread_create(&other, NULL, short_of_memory, &seats[1]) == 0);
        short_of_memory(&seats[0]);
        pthread_join(other, NULL);
        for (int r = 0; r < 2; r++)
            CHECK_MSG(!seats[r].bad, "allocation %d: rank %d, line %d", (int)n, r, seats[r].bad);
        failed = seats[0].failed;
        CHECK(n >= 4 || failed); /* a vector, what was lost, words, parts, parcels */
        wick_group_host_free(&host);
        wick_context_free(&ctx);
    }
    CHECK(!failed);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
