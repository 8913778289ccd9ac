/* What two kernels would write and read again is made in one pass: margins along two axes, and reductions of what a
 * gather has made. The values, bits and faults are those of two. */
#include <math.h>

#include "base/base.h"
#include "test.h"
#include "wick/wick.h"

typedef struct use {
    int kind;
    int64_t dims[4], before[4], after[4]; /* of padding; rows, bags, each, d of bags */
    bool apart;                           /* what lies between is a result, too: two kernels */
    int taken;
} use;
enum { CONSTANT = WICK_PAD_WRAP + 1, SUM, MEAN, MAX, SCALED };

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const use *u = user;
    (void)ctx;
    if (u->kind < CONSTANT) out[0] = wick_pad_with(in[0], 4, u->before, u->after, (wick_pad_mode)u->kind);
    else if (u->kind == CONSTANT) out[0] = wick_pad(in[0], 4, u->before, u->after, 0.5);
    else {
        wick_tensor *rows = wick_gather(in[0], 0, in[1]);
        if (u->kind == SCALED) out[0] = wick_sum(wick_mul(rows, wick_unsqueeze(in[2], -1)), WICK_AXES(1), false);
        else
            out[0] = wick_embedding_bag(in[0], in[1], NULL, NULL,
                                        u->kind == SUM    ? WICK_BAG_SUM
                                        : u->kind == MEAN ? WICK_BAG_MEAN
                                                          : WICK_BAG_MAX);
        if (u->apart) out[1] = rows;
    }
    return WICK_OK;
}
static void remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)pass, (void)node, (void)place;
    ((use *)user)->taken +=
        strstr(text, "where they belong in this result") || strstr(text, "some groups of slices at a time");
}
static void run(use *u, int threads, int n_in, const wick_spec *in, const void *const *data, int n_out,
                void *const *out, char *error, size_t room, wick_status expected) {
    wick_context *ctx;
    wick_plan *plan;
    wick_workspace *space;
    REQUIRE(!wick_context_new(&(wick_context_options){.threads = threads}, &ctx));
    u->taken = 0;
    CHECK_MSG(
        !wick_compile(ctx, record, u, n_in, in, n_out, &(wick_compile_options){.on_remark = remark, .user = u}, &plan),
        "%s", wick_context_error(ctx));
    REQUIRE(!wick_workspace_new(plan, &space));
    CHECK(wick_run(space, data, out) == expected);
    if (error) snprintf(error, room, "%s", wick_workspace_error(space));
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* The place that a margin shows; -1: none. */
static int64_t shown(int64_t i, int64_t n, int kind) {
    if (i >= 0 && i < n) return i;
    if (kind == WICK_PAD_REFLECT) return i < 0 ? -i : 2 * n - 2 - i;
    if (kind == WICK_PAD_EDGE) return i < 0 ? 0 : n - 1;
    return kind == WICK_PAD_WRAP ? (i + n) % n : -1;
}
TEST(margins_of_two_axes_are_written_where_they_belong) {
    static const use uses[] = {
        {.dims = {2, 3, 20, 33}, .before = {0, 0, 1, 1}, .after = {0, 0, 1, 1}},
        {.dims = {1, 5, 30, 40}, .before = {0, 0, 4, 0}, .after = {0, 0, 2, 1}},
        {.dims = {3, 1, 64, 64}, .before = {0, 0, 0, 5}, .after = {0, 0, 7, 0}},
        {.dims = {2, 40, 6, 30}, .before = {0, 2, 0, 2}, .after = {0, 1, 0, 3}},
        /* three axes: the first two */
        {.dims = {8, 3, 20, 20}, .before = {1, 0, 0, 2}, .after = {0, 0, 0, 1}},
        {.dims = {2, 8, 40, 41}, .before = {0, 1, 1, 1}, .after = {0, 1, 1, 1}},
    };
    for (size_t i = 0; i < WICK_COUNTOF(uses); i++)
        for (int kind = 0; kind <= CONSTANT; kind++) {
            use u = uses[i];
            u.kind = kind;
            int64_t n = 1, m = 1, to[4];
            for (int d = 0; d < 4; d++) n *= u.dims[d], m *= to[d] = u.before[d] + u.dims[d] + u.after[d];
            float *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)m * sizeof *y);
            for (int64_t k = 0; k < n; k++) x[k] = (float)k + 1;
            wick_spec in = {.dtype = WICK_F32, .rank = 4};
            memcpy(in.dims, u.dims, sizeof u.dims);
            for (int threads = 1; threads <= 3; threads += 2) {
                memset(y, 0, (size_t)m * sizeof *y);
                run(&u, threads, 1, &in, (const void *[]){x}, 1, (void *[]){y}, NULL, 0, WICK_OK);
                /* wider margins of other kinds are no rows as they lie */
                const bool joins = (u.before[3] <= 1 && u.after[3] <= 1) || kind == WICK_PAD_WRAP;
                CHECK_MSG(u.taken == joins, "use %d, kind %d: %d", (int)i, kind, u.taken);
                bool same = true;
                for (int64_t k = 0; k < m; k++) {
                    int64_t rest = k, at = 0, step = 1;
                    for (int d = 3; d >= 0; d--) {
                        const int64_t p = shown(rest % to[d] - u.before[d], u.dims[d], kind);
                        rest /= to[d];
                        at = p < 0 || at < 0 ? -1 : at + p * step;
                        step *= u.dims[d];
                    }
                    same &= y[k] == (at < 0 ? 0.5f : x[at]);
                }
                CHECK_MSG(same, "use %d, kind %d, %d threads", (int)i, kind, threads);
            }
            free(x);
            free(y);
        }
}

TEST(bags_reduced_as_they_are_gathered_have_the_bits_of_two_kernels) {
    static const int64_t sizes[][4] = {
        {500, 128, 8, 64}, {70, 999, 3, 33}, {2000, 77, 41, 16}, {9, 4000, 1, 11}, {300, 10, 700, 5}};
    for (size_t i = 0; i < WICK_COUNTOF(sizes); i++)
        for (int kind = SUM; kind <= SCALED; kind++) {
            const int64_t rows = sizes[i][0], bags = sizes[i][1], each = sizes[i][2], d = sizes[i][3];
            use u = {.kind = kind};
            float *table = malloc((size_t)(rows * d) * sizeof *table),
                  *scale = malloc((size_t)(bags * each) * sizeof *scale),
                  *all = malloc((size_t)(bags * each * d) * sizeof *all), *y[3];
            int64_t *index = malloc((size_t)(bags * each) * sizeof *index);
            for (int64_t k = 0; k < rows * d; k++)
                table[k] = test_rand() % 500 ? (float)test_rand_real(-2, 2) : test_rand() % 2 ? NAN : INFINITY;
            for (int64_t k = 0; k < bags * each; k++)
                index[k] = (int64_t)(test_rand() % (uint64_t)(2 * rows)) - rows,
                scale[k] = (float)test_rand_real(-1, 1);
            const wick_spec in[3] = {{.dtype = WICK_F32, .rank = 2, .dims = {rows, d}},
                                     {.dtype = WICK_I64, .rank = 2, .dims = {bags, each}},
                                     {.dtype = WICK_F32, .rank = 2, .dims = {bags, each}}};
            for (int way = 0; way < 3; way++) {
                y[way] = malloc((size_t)(bags * d) * sizeof(float));
                u.apart = way == 0;
                run(&u, way == 2 ? 3 : 1, 3, in, (const void *[]){table, index, scale}, 1 + u.apart,
                    (void *[]){y[way], all}, NULL, 0, WICK_OK);
                CHECK_MSG(u.taken == (way > 0), "sizes %d, kind %d, way %d: %d", (int)i, kind, way, u.taken);
                CHECK_MSG(!memcmp(y[0], y[way], (size_t)(bags * d) * sizeof(float)), "sizes %d, kind %d, way %d",
                          (int)i, kind, way);
            }
            /* of a block that the last task goes over twice, maybe */
            index[bags * each - 2 < 0 ? 0 : bags * each - 2] = rows;
            char error[300], expected[100];
            snprintf(expected, sizeof expected, "index number %lld is %lld, outside the axis of %lld",
                     (long long)(bags * each - 2), (long long)rows, (long long)rows);
            run(&u, 3, 3, in, (const void *[]){table, index, scale}, 1, (void *[]){y[1]}, error, sizeof error,
                WICK_ERR_INDEX);
            CHECK_MSG(strstr(error, expected), "%s: not %s", error, expected);
            for (int way = 0; way < 3; way++) free(y[way]);
            free(table);
            free(scale);
            free(all);
            free(index);
        }
}

/* Rows that are whole runs, of one chunk and of several, that lie apart: each row's sum, and that of its products with
 * a row which all share. */
static wick_status record_sums(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const int64_t n = *(const int64_t *)user;
    wick_tensor *x = wick_slice(in[0], 1, 16, 16 + n, 1);
    (void)ctx;
    out[0] = wick_mean(x, WICK_AXES(1), false);
    out[1] = wick_sum(wick_mul(x, in[1]), WICK_AXES(1), false);
    out[2] = wick_nansum(x, WICK_AXES(1), false);
    return WICK_OK;
}
TEST(sums_of_rows_have_the_bits_of_the_reference) {
    enum { ROWS = 37 };
    static const int64_t lengths[] = {1024, 7168, 8192, 25600, 65536};
    for (size_t i = 0; i < WICK_COUNTOF(lengths); i++) {
        int64_t n = lengths[i];
        const int64_t step = n + 48;
        float *x = malloc((size_t)(ROWS * step) * sizeof *x), *y = malloc((size_t)n * sizeof *y), sums[2][3][ROWS];
        for (int64_t k = 0; k < ROWS * step; k++)
            x[k] = k / step == 5 && k % 71 == 0 ? NAN : (float)test_rand_real(-1, 1);
        for (int64_t k = 0; k < n; k++) y[k] = (float)test_rand_real(-1, 1);
        const wick_tier best = wick_tier_current();
        for (int tier = 0; tier <= (int)best; tier++) {
            if (!wick_tier_force((wick_tier)tier)) continue;
            wick_context *ctx;
            wick_plan *plan;
            wick_workspace *space;
            float(*to)[ROWS] = sums[tier > 0];
            REQUIRE(!wick_context_new(&(wick_context_options){.threads = 2}, &ctx));
            const wick_spec in[2] = {{.dtype = WICK_F32, .rank = 2, .dims = {ROWS, step}},
                                     {.dtype = WICK_F32, .rank = 1, .dims = {n}}};
            CHECK_MSG(!wick_compile(ctx, record_sums, &n, 2, in, 3, NULL, &plan), "%s", wick_context_error(ctx));
            REQUIRE(!wick_workspace_new(plan, &space));
            CHECK(!wick_run(space, (const void *[]){x, y}, (void *[]){to[0], to[1], to[2]}));
            wick_workspace_free(&space);
            wick_plan_free(&plan);
            wick_context_free(&ctx);
            for (int k = 0; k < 3 && tier; k++)
                for (int r = 0; r < ROWS; r++)
                    CHECK_MSG(!memcmp(&sums[0][k][r], &sums[1][k][r], sizeof(float)) ||
                                  (isnan(sums[0][k][r]) && isnan(sums[1][k][r])),
                              "%lld, tier %d, sum %d of row %d: %g %g", (long long)n, tier, k, r, (double)sums[0][k][r],
                              (double)sums[1][k][r]);
        }
        wick_tier_force(best);
        free(x);
        free(y);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
