/* Gathers go before elementwise ops: what the pass makes of graphs, and that no bit changes. */
#include "graph/graphs.h"

TEST(rows_are_gathered_before_they_become_floats) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    wick_tensor *table = wick_ones(ctx, WICK_I8, WICK_DIMS(50, 4)), *scale = wick_ones(ctx, WICK_F32, WICK_DIMS(50, 1)),
                *by = VEC(ctx, 1, 2, 3, 4), *ids = wick_arange(ctx, WICK_I64, 3, 1, 3);
    wick_tensor *y = wick_mul(wick_mul(wick_cast(table, WICK_F32), scale), by);
    FIXTURE_COLLECT(&b, wick_gather(y, 0, ids));
    b.graph->compiled = true;
    fixture_pass(&b, wick_pass_gather_first);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 i8[50,4] = data()\n"
                    "%1 f32[50,1] = data()\n"
                    "%2 f32[4] = data()\n"
                    "%3 i64[3] = data()\n"
                    "%4 i8[3,4] = gather(%0, %3) axis=0\n"
                    "%5 f32[3,4] = cast(%4) to=f32\n"
                    "%6 f32[3,1] = gather(%1, %3) axis=0\n"
                    "%7 f32[3,4] = mul(%5, %6)\n"
                    "%8 f32[3,4] = mul(%7, %2)\n"
                    "return %8\n");
    fixture_close(&b);
}

TEST(gathers_of_as_much_as_there_is_stay) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    FIXTURE_COLLECT(
        &b, wick_gather(wick_neg(wick_ones(ctx, WICK_F32, WICK_DIMS(3, 4))), 0, wick_arange(ctx, WICK_I64, 0, 1, 3)));
    b.graph->compiled = true;
    fixture_pass(&b, wick_pass_gather_first);
    CHECK_GRAPH(&b, "%0 f32[3,4] = data()\n"
                    "%1 i64[3] = data()\n"
                    "%2 f32[3,4] = neg(%0)\n"
                    "%3 f32[3,4] = gather(%2, %1) axis=0\n"
                    "return %3\n");
    fixture_close(&b);
}

/* table [6, 4, 5] of numbers, times [4, 1], plus a row of 5: along each axis, with an index of 0, 1 and 2 dims. */
typedef struct way {
    int axis, rank;
} way;
static float number(int64_t i) { return (float)((i * 37) % 251 - 125); }
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const way *w = user;
    const int64_t two[2] = {1, 2};
    wick_tensor *y = wick_add(wick_mul(wick_cast(in[0], WICK_F32), in[1]), in[2]);
    wick_tensor *index = w->rank == 2 ? wick_reshape(in[3], 2, two)
                         : w->rank    ? in[3]
                                      : wick_reshape(wick_slice(in[3], 0, 0, 1, 1), WICK_SCALAR);
    out[0] = wick_gather(y, w->axis, index);
    return WICK_OK;
}

TEST(what_is_gathered_is_the_same) {
    wick_context *ctx = context();
    enum { A = 6, B = 4, C = 5 };
    int8_t table[A * B * C];
    const float by[B] = {.5f, -2, 3, .25f}, plus[C] = {1, 2, 3, 4, 5};
    const int64_t ids[2] = {3, 1};
    for (int i = 0; i < A * B * C; i++) table[i] = (int8_t)number(i);
    const wick_spec specs[4] = {{.name = "table", .dtype = WICK_I8, .rank = 3, .dims = {A, B, C}},
                                {.name = "by", .dtype = WICK_F32, .rank = 2, .dims = {B, 1}},
                                {.name = "plus", .dtype = WICK_F32, .rank = 1, .dims = {C}},
                                {.name = "ids", .dtype = WICK_I64, .rank = 1, .dims = {2}}};
    for (int axis = 0; axis < 3; axis++)
        for (int rank = 0; rank < 3; rank++) {
            way w = {axis, rank};
            wick_plan *plan = NULL;
            wick_workspace *ws = NULL;
            float out[2 * A * B * C];
            CHECK_OK(ctx, wick_compile(ctx, record, &w, 4, specs, 1, NULL, &plan));
            CHECK_INT(wick_workspace_new(plan, &ws), WICK_OK);
            CHECK_INT(wick_run(ws, (const void *[]){table, by, plus, ids}, (void *[]){out}), WICK_OK);
            const int n = rank ? 2 : 1, dims[3] = {axis == 0 ? n : A, axis == 1 ? n : B, axis == 2 ? n : C};
            for (int i = 0; i < dims[0] * dims[1] * dims[2]; i++) {
                int at[3] = {i / dims[2] / dims[1], i / dims[2] % dims[1], i % dims[2]};
                at[axis] = (int)ids[at[axis]];
                const float want = number((at[0] * B + at[1]) * C + at[2]) * by[at[1]] + plus[at[2]];
                CHECK_MSG(out[i] == want, "axis %d, an index of %d dims: %d is %g, not %g", axis, rank, i,
                          (double)out[i], (double)want);
            }
            wick_workspace_free(&ws);
            wick_plan_free(&plan);
        }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
