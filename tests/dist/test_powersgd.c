/* Sums of matrices as products of two of few columns (PowerSGD): those of NumPy, the same on all ranks, with no more
 * bytes than factors have, and nothing lost for good. */
#include "base/base.h"
#include "ranks.h"

#include "golden/powersgd.h"

enum { LEAVES = 8, MOST = 5000 };

/* Of a rank, as make_powersgd.py has them. */
static void fill(float *v, size_t n, int rank, int step) {
    for (size_t i = 0; i < n; i++) {
        const uint32_t x = (uint32_t)(i * 2654435761u + (size_t)(rank + 16 * step) * 40503u);
        v[i] = (float)((int32_t)(x >> 11) - (1 << 20)) * 0x1p-20f;
    }
}

/* The rank's first leaf has its vector, the others have zeros. */
static wick_status sum_of(wick_group *g, size_t n, const float *v, float *sum) {
    static const float zeros[MOST];
    int first, end;
    WICK_TRY(wick_group_leaves(g, LEAVES, &first, &end));
    WICK_TRY(wick_group_begin(g, LEAVES, n));
    for (int leaf = first; leaf < end; leaf++) WICK_TRY(wick_group_add(g, leaf, leaf == first ? v : zeros));
    return wick_group_finish(g, sum);
}

static const wick_group_fast golden = {.wire = WICK_WIRE_POWERSGD,
                                       .rank = GOLDEN_RANK,
                                       .n_matrices = (int)WICK_COUNTOF(golden_matrices),
                                       .matrices = golden_matrices};

static int golden_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    float v[GOLDEN_COUNT], sum[GOLDEN_COUNT];
    if (!g || wick_group_set_fast(g, &golden) != WICK_OK) return 1;
    const int ranks = wick_group_size(g);
    for (int step = 0; step < GOLDEN_STEPS; step++) {
        fill(v, GOLDEN_COUNT, wick_group_rank(g), step);
        const wick_status status = sum_of(g, GOLDEN_COUNT, v, sum);
        snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
        if (status != WICK_OK || wick_group_agree(g, "the sum", sum, sizeof sum) != WICK_OK) return 2;
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            const double want = (double)golden_sums[ranks - 2][step][i];
            if (fabs((double)sum[i] - want) < 2e-5) continue;
            snprintf(text, RANK_TEXT, "step %d, float %d: %g, not %g", step, i, (double)sum[i], want);
            return 3;
        }
    }
    return 0;
}

TEST(sums_are_those_of_numpy) {
    for (int ranks = 2; ranks <= 3; ranks++) {
        rank_end ends[RANKS_MOST];
        ranks_run(ranks, 20, golden_rank, NULL, ends);
        for (int i = 0; i < ranks; i++) CHECK_MSG(ends[i].code == 0, "rank %d: %d, %s", i, ends[i].code, ends[i].text);
    }
}

/* A matrix of 60 x 80, summed many times: what factors lack now they have later. */
static int long_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    enum { ROWS = 60, COLS = 80, N = ROWS * COLS + 40, STEPS = 200, RANK = 4 };
    static float v[N], sum[N];
    static double want[N], all[N];
    const wick_group_matrix matrix = {.begin = 20, .rows = ROWS, .cols = COLS};
    const wick_group_fast fast = {.wire = WICK_WIRE_POWERSGD, .rank = RANK, .n_matrices = 1, .matrices = &matrix};
    if (!g || wick_group_set_fast(g, &fast) != WICK_OK) return 1;
    const int ranks = wick_group_size(g);
    double norm = 0, off = 0;
    for (int step = 0; step < STEPS; step++) {
        fill(v, N, wick_group_rank(g), 0);
        const uint64_t before = wick_group_sent(g);
        if (sum_of(g, N, v, sum) != WICK_OK || wick_group_agree(g, "the sum", sum, sizeof sum) != WICK_OK) return 2;
        const double least = 2.0 * (ranks - 1) / ranks * 4 * (RANK * (ROWS + COLS) + 40);
        const double sent = (double)(wick_group_sent(g) - before);
        if (step && fabs(sent - least) > 1200 * ranks) { /* what agreeing sends, too */
            snprintf(text, RANK_TEXT, "%g bytes, %g", sent, least);
            return 3;
        }
        for (int i = 0; i < N; i++) all[i] += (double)sum[i];
    }
    for (int r = 0; r < ranks; r++) {
        fill(v, N, r, 0);
        for (int i = 0; i < N; i++) want[i] += STEPS * (double)v[i];
    }
    for (int i = 0; i < N; i++) norm += want[i] * want[i], off += (all[i] - want[i]) * (all[i] - want[i]);
    snprintf(text, RANK_TEXT, "%g of all is lost", sqrt(off / norm));
    return sqrt(off / norm) < 0.1 ? 0 : 4;
}

TEST(what_is_lost_comes_later_and_bytes_are_those_of_factors) {
    for (int ranks = 2; ranks <= 4; ranks++) {
        rank_end ends[RANKS_MOST];
        ranks_run(ranks, 30, long_rank, NULL, ends);
        for (int i = 0; i < ranks; i++) CHECK_MSG(ends[i].code == 0, "rank %d: %d, %s", i, ends[i].code, ends[i].text);
    }
}

/* Zeros, a matrix of rank 1, then a NaN: columns that depend begin anew, and a NaN leaves nothing behind. */
static int odd_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    float v[GOLDEN_COUNT], sum[GOLDEN_COUNT];
    if (!g || wick_group_set_fast(g, &golden) != WICK_OK) return 1;
    const int ranks = wick_group_size(g);
    for (int step = 0; step < 12; step++) {
        memset(v, 0, sizeof v);
        for (int i = 0; i < 30 && step > 1; i++) v[2 + i] = (float)(i / 5 + 1) * (float)(i % 5 - 2); /* 6 x 5 */
        if (step == 6 && wick_group_rank(g) == ranks - 1) v[7] = NAN;
        if (sum_of(g, GOLDEN_COUNT, v, sum) != WICK_OK) return 2;
        for (int i = 0; i < 30; i++) {
            const float want = step > 1 ? (float)ranks * (float)(i / 5 + 1) * (float)(i % 5 - 2) : 0;
            const bool fine = step == 6 ? sum[2 + i] != sum[2 + i] : fabsf(sum[2 + i] - want) < 1e-3f;
            if (fine) continue;
            snprintf(text, RANK_TEXT, "step %d, %d: %g, not %g", step, i, (double)sum[2 + i], (double)want);
            return 3;
        }
        if (sum[0] != 0 || sum[GOLDEN_COUNT - 1] != 0) return 4;
    }
    return 0;
}

TEST(zeros_low_ranks_and_nan_leave_nothing_behind) {
    rank_end ends[RANKS_MOST];
    ranks_run(3, 20, odd_rank, NULL, ends);
    for (int i = 0; i < 3; i++) CHECK_MSG(ends[i].code == 0, "rank %d: %d, %s", i, ends[i].code, ends[i].text);
}

static int refused_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg, (void)text;
    const wick_group_matrix over[] = {{0, 4, 4}, {15, 2, 2}}, empty = {0, 0, 4}, good = {0, 4, 4};
    wick_group_fast o = {.wire = WICK_WIRE_POWERSGD, .rank = 2, .n_matrices = 2, .matrices = over};
    if (!g || wick_group_set_fast(g, &o) != WICK_ERR_INVALID) return 1;
    o.n_matrices = 1, o.matrices = &empty;
    if (wick_group_set_fast(g, &o) != WICK_ERR_INVALID) return 2;
    o.matrices = NULL;
    if (wick_group_set_fast(g, &o) != WICK_ERR_INVALID) return 3;
    o.matrices = &good;
    for (int rank = -1; rank <= WICK_POWERSGD_RANK_MAX + 1; rank += WICK_POWERSGD_RANK_MAX / 2 + 1) {
        o.rank = rank;
        if (wick_group_set_fast(g, &o) != (rank < 1 || rank > WICK_POWERSGD_RANK_MAX ? WICK_ERR_INVALID : WICK_OK))
            return 4;
    }
    o.rank = wick_group_rank(g) + 1;
    if (wick_group_set_fast(g, &o) != WICK_ERR_MISMATCH) return 5;
    o.rank = 2;
    if (wick_group_set_fast(g, &o) != WICK_OK || wick_group_begin(g, LEAVES, 15) != WICK_ERR_INVALID) return 6;
    return wick_group_begin(g, LEAVES, 16) == WICK_OK && wick_group_begin(g, LEAVES, 17) == WICK_OK ? 0 : 7;
}

TEST(matrices_that_are_none_are_refused) {
    rank_end ends[RANKS_MOST];
    ranks_run(2, 20, refused_rank, NULL, ends);
    for (int i = 0; i < 2; i++) CHECK_MSG(ends[i].code == 0, "rank %d: %d, %s", i, ends[i].code, ends[i].text);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
