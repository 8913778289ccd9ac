/* Ensembles of trees: against a walk over the same tables written plainly, at any number of threads; tables that lead
 * nowhere. */
#include <math.h>

#include "ops/refusals.h"
#include "wick/wick.h"

enum {
    TREES = 7,
    DEPTH = 4,
    EACH = (1 << (DEPTH + 1)) - 1,
    NODES = TREES * EACH,
    FEATURES = 5,
    TARGETS = 3,
    MOST_ROWS = 200
};
static int32_t nodes[NODES][4], roots[TREES], targets[NODES];
static double splits[NODES], weights[NODES], x[MOST_ROWS * FEATURES];

static uint64_t seed = 1;
static double draw(void) {
    return (double)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40) / (1 << 24);
}

/* Full trees with every kind of test; places of a few grid points, so that equal ones occur; some NaN. */
static void make(void) {
    for (int t = 0; t < TREES; t++) {
        roots[t] = t * EACH;
        for (int i = 0; i < EACH; i++) {
            const int at = t * EACH + i, depth_left = i < EACH / 2;
            targets[at] = (int32_t)(draw() * TARGETS), weights[at] = draw() - 0.5, splits[at] = floor(draw() * 5);
            nodes[at][0] = depth_left ? 1 + (int)(draw() * 6) + (draw() < 0.4 ? WICK_TREE_MISSING : 0) : WICK_TREE_LEAF;
            nodes[at][1] = depth_left ? (int)(draw() * FEATURES) : 1;
            nodes[at][2] = depth_left ? t * EACH + 2 * i + 1 : at;
            nodes[at][3] = depth_left ? t * EACH + 2 * i + 2 : 0;
        }
    }
    for (int i = 0; i < MOST_ROWS * FEATURES; i++)
        x[i] = draw() < 0.05 ? (double)NAN : floor(draw() * 6) - 0.5 * (draw() < 0.3);
}

static int leaf_of(const double *row, int at) {
    while (nodes[at][0]) {
        const double v = row[nodes[at][1]], s = splits[at];
        const bool tests[] = {false, v <= s, v < s, v >= s, v > s, v == s, v != s};
        at = nodes[at][(isnan(v) && nodes[at][0] & WICK_TREE_MISSING) || tests[nodes[at][0] & 7] ? 2 : 3];
    }
    return at;
}
static double want(int row, int target, wick_tree_sum sum) {
    double y = 0;
    bool any = false;
    for (int t = 0; t < TREES; t++) {
        const int leaf = leaf_of(x + row * FEATURES, roots[t]);
        if (targets[leaf] != target) continue;
        const double w = weights[leaf];
        y = !any || sum <= WICK_TREES_MEAN ? y + w : sum == WICK_TREES_MIN ? fmin(y, w) : fmax(y, w);
        any = true;
    }
    return sum == WICK_TREES_MEAN ? y / TREES : y;
}

static wick_tree_tables tables(wick_context *ctx, wick_dtype dtype, wick_tree_sum sum) {
    return (wick_tree_tables){.nodes = wick_from(ctx, WICK_I32, WICK_DIMS(NODES, 4), nodes),
                              .splits = wick_cast(wick_from(ctx, WICK_F64, WICK_DIMS(NODES), splits), dtype),
                              .roots = wick_from(ctx, WICK_I32, WICK_DIMS(TREES), roots),
                              .targets = wick_from(ctx, WICK_I32, WICK_DIMS(NODES), targets),
                              .weights = wick_cast(wick_from(ctx, WICK_F64, WICK_DIMS(NODES), weights), dtype),
                              .n_targets = TARGETS,
                              .sum = sum};
}

TEST(trees_are_walked_as_written_at_any_number_of_threads) {
    static const int rows[] = {0, 1, 63, 64, 65, MOST_ROWS};
    make();
    for (int threads = 1; threads <= 3; threads++) {
        wick_context *ctx;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = threads}, &ctx) == WICK_OK);
        for (int sum = 0; sum < 4; sum++)
            for (int k = 0; k < 12; k++) {
                const wick_dtype dtype = k % 2 ? WICK_F32 : WICK_F64;
                const int n = rows[k / 2];
                const wick_tree_tables t = tables(ctx, dtype, (wick_tree_sum)sum);
                /* a view with strides */
                wick_tensor *in =
                    wick_transpose(wick_cast(wick_from(ctx, WICK_F64, WICK_DIMS(n, FEATURES), x), dtype), 0, 1);
                wick_tensor *y =
                    wick_cast(wick_tree_ensemble(wick_transpose(wick_mul(in, wick_like(in, 1)), 0, 1), &t), WICK_F64);
                const void *data;
                REQUIRE(wick_data(y, &data) == WICK_OK);
                int bad = 0;
                for (int i = 0; i < n * TARGETS; i++) {
                    const double w = want(i / TARGETS, i % TARGETS, (wick_tree_sum)sum);
                    bad += fabs(((const double *)data)[i] - w) > (dtype == WICK_F64 ? 1e-15 : 2e-7);
                }
                CHECK_MSG(!bad, "%d rows, sum %d, %s: %d differ", n, sum, wick_dtype_name(dtype), bad);
            }
        wick_context_free(&ctx);
    }
}

TEST(tables_that_lead_nowhere_are_errors_when_they_run) {
    static const struct {
        int row, column, value;
    } bad[] = {{0, 1, FEATURES},         {0, 1, -1},        {0, 2, 0},        {1, 2, 0}, {1, 3, NODES},
               {EACH - 1, 1, NODES + 1}, {EACH - 1, 2, -1}, {EACH - 1, 1, -1}};
    wick_context *ctx;
    make();
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t was[2][4];
        memcpy(was[0], nodes[bad[i].row], sizeof was[0]);
        nodes[bad[i].row][bad[i].column] = bad[i].value;
        if (!nodes[bad[i].row][0])
            for (int k = 0; k < EACH; k++) /* every walk ends at a spoilt leaf */
                if (!nodes[k][0]) nodes[k][bad[i].column] = bad[i].value;
        if (bad[i].row == 1) nodes[0][2] = nodes[0][3] = 1;
        if (bad[i].row == 1) nodes[1][2] = nodes[1][3] = bad[i].value;
        const wick_tree_tables t = tables(ctx, WICK_F64, WICK_TREES_SUM);
        wick_tensor *y = wick_tree_ensemble(wick_from(ctx, WICK_F64, WICK_DIMS(i % 2 ? 3 : 20, FEATURES), x), &t);
        CHECK_INT(wick_eval(ctx, 1, &y, NULL), WICK_ERR_INDEX);
        CHECK_STR_HAS(wick_context_error(ctx), "tree 0 has a node, feature, entry or target");
        wick_context_clear_error(ctx);
        make();
    }
    wick_context_free(&ctx);
}

TEST(mistakes_are_named) {
    wick_context *ctx;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    wick_tree_tables t = tables(ctx, WICK_F32, WICK_TREES_SUM), narrow = t, none = t;
    narrow.nodes = wick_reshape(t.nodes, 1, (int64_t[]){-1});
    none.n_targets = -1;
    wick_tensor *in = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, FEATURES));
    const refusal cases[] = {
        {wick_tree_ensemble(in, &t), ""},
        {wick_tree_ensemble(in, NULL), "tables are NULL"},
        {wick_tree_ensemble(wick_cast(in, WICK_F64), &t), "splits and weights must have the dtype of x"},
        {wick_tree_ensemble(wick_cast(in, WICK_I32), &t), "needs f32 or f64"},
        {wick_tree_ensemble(wick_flatten(in, 0), &t), "needs x [N, features]"},
        {wick_tree_ensemble(in, &narrow), "needs nodes [n, 4]"},
        {wick_tree_ensemble(in, &none), "-1 targets"},
    };
    check_refusals(cases, sizeof cases / sizeof *cases);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
