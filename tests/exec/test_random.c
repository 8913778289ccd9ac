/* A random node is a stream fixed when recorded plus an offset bound at run time. */
#include "tensor/tensors.h"

enum { N = 64 };

static bool same(const double *a, const double *b) { return !memcmp(a, b, N * sizeof *a); }
static void draw(wick_context *ctx, double *out) { values(wick_random_uniform(ctx, WICK_F32, WICK_DIMS(N)), out, N); }

TEST(two_random_nodes_are_never_merged) {
    wick_context *ctx = context();
    wick_tensor *a = wick_random_normal(ctx, WICK_F32, WICK_DIMS(N)),
                *b = wick_random_normal(ctx, WICK_F32, WICK_DIMS(N));
    CHECK(item(wick_max(wick_abs(wick_sub(a, b)), WICK_ALL_AXES, false)) > 0.1);
    CHECK(item(wick_max(wick_abs(wick_sub(a, a)), WICK_ALL_AXES, false)) == 0);
    wick_context_free(&ctx);
}

TEST(a_random_node_is_never_folded_and_each_step_draws_anew) {
    wick_context *ctx = context();
    double x[3][N];
    for (int i = 0; i < 3; i++) draw(ctx, x[i]);
    CHECK(!same(x[0], x[1]) && !same(x[1], x[2]));
    CHECK_INT(wick_context_get_stats(ctx).plans_built, 1);
    wick_context_free(&ctx);
}

TEST(seed_and_stream_say_which_numbers) {
    double a[N], b[N], c[N];
    wick_context *ctx = context();
    uint64_t seed, stream;
    wick_context_random(ctx, &seed, &stream);
    CHECK_INT(seed, 7);
    draw(ctx, a);
    draw(ctx, b);
    wick_context_set_random(ctx, seed, stream);
    draw(ctx, c);
    CHECK(same(a, c));
    wick_context_set_random(ctx, seed + 1, stream);
    draw(ctx, c);
    CHECK(!same(a, c));
    wick_context_free(&ctx);
    ctx = context();
    draw(ctx, c);
    CHECK(same(a, c));
    wick_context_free(&ctx);
}

TEST(the_numbers_of_a_node_do_not_depend_on_when_it_is_evaluated) {
    double a[2][N], b[2][N];
    wick_context *ctx = context();
    wick_tensor *x = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(N)),
                *y = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(N));
    values(y, a[1], N);
    values(x, a[0], N);
    wick_context_free(&ctx);
    ctx = context_with(&(wick_context_options){.threads = 1, .seed = 7, .eager = true});
    draw(ctx, b[0]);
    draw(ctx, b[1]);
    CHECK(same(a[0], b[0]) && same(a[1], b[1]));
    wick_context_free(&ctx);
}

/* Read twice by different plans, it is computed twice, and is the same both times. */
TEST(rematerialising_a_random_node_gives_the_same_numbers) {
    wick_context *ctx = context();
    wick_tensor *u = wick_random_uniform(ctx, WICK_F64, WICK_DIMS(N)), *p = wick_add(u, wick_like(u, 1)),
                *q = wick_sub(u, wick_like(u, 1));
    CHECK_OK(ctx, wick_eval(ctx, 1, &p, NULL));
    CHECK(!wick_tensor_ready(u));
    CHECK_OK(ctx, wick_eval(ctx, 1, &q, NULL));
    wick_tensor *back = wick_sub(wick_sub(p, wick_like(p, 1)), wick_add(q, wick_like(q, 1)));
    CHECK(item(wick_max(wick_abs(back), WICK_ALL_AXES, false)) < 1e-12);
    CHECK(item(wick_max(wick_abs(wick_sub(wick_sub(p, wick_like(p, 1)), u)), WICK_ALL_AXES, false)) < 1e-12);
    wick_context_free(&ctx);
}

static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)in, (void)user;
    out[0] = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(N));
    out[1] = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(N));
    return WICK_OK;
}

TEST(compiled_plans_advance_by_offset_and_replay) {
    wick_context *ctx = context();
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL, *other = NULL;
    CHECK_OK(ctx, wick_compile(ctx, body, NULL, 0, NULL, 2, NULL, &plan));
    REQUIRE(plan != NULL);
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK && wick_workspace_new(plan, &other) == WICK_OK);
    float a[4][2][N];
    CHECK_INT(wick_workspace_offset(ws), 0);
    for (int i = 0; i < 3; i++) CHECK_INT(wick_run(ws, NULL, (void *[]){a[i][0], a[i][1]}), WICK_OK);
    CHECK_INT(wick_workspace_offset(ws), 3);
    CHECK(memcmp(a[0], a[1], sizeof a[0]) && memcmp(a[1], a[2], sizeof a[0]) &&
          memcmp(a[0][0], a[0][1], sizeof a[0][0]));
    wick_workspace_set_offset(ws, 1);
    CHECK_INT(wick_run(ws, NULL, (void *[]){a[3][0], a[3][1]}), WICK_OK);
    CHECK(!memcmp(a[1], a[3], sizeof a[0]));
    CHECK_INT(wick_workspace_offset(ws), 2);
    CHECK_INT(wick_run(other, NULL, (void *[]){a[3][0], a[3][1]}), WICK_OK); /* each workspace counts for itself */
    CHECK(!memcmp(a[0], a[3], sizeof a[0]));
    wick_workspace_cancel(ws);
    CHECK_INT(wick_run(ws, NULL, (void *[]){a[3][0], a[3][1]}), WICK_ERR_CANCELLED);
    CHECK_INT(wick_workspace_offset(ws), 2); /* a failed run draws nothing */
    wick_workspace_free(&ws);
    wick_workspace_free(&other);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

TEST(compiling_leaves_the_contexts_own_stream_alone) {
    wick_context *ctx = context();
    uint64_t before, after;
    wick_context_random(ctx, NULL, &before);
    wick_plan *plan = NULL;
    CHECK_OK(ctx, wick_compile(ctx, body, NULL, 0, NULL, 2, NULL, &plan));
    wick_context_random(ctx, NULL, &after);
    CHECK_INT(before, (long long)after);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
