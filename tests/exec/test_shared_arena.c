/* Workspaces that take turns in one arena. */
#include "base/counting_alloc.h"
#include "exec/exec.h"
#include "tensor/tensors.h"
#include "wick/ops.h"
#include "wick/plan.h"

enum { WIDTH = 256, WIDTHS = WIDTH * WIDTH, SMALL = 8, LARGE = 40, TURNS = 8 };

/* Layers whose weights are a state, by their norm. Packed for kernels they are kept between runs while they are what
 * they were. */
static wick_status layers(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    wick_tensor *w = user;
    wick_tensor *norm = wick_sqrt(wick_sum(wick_square(w), WICK_ALL_AXES, false));
    wick_tensor *h = wick_relu(wick_div(wick_matmul(in[0], w), norm));
    out[0] = wick_matmul(h, wick_transpose(w, 0, 1));
    out[1] = wick_sum(wick_square(h), WICK_ALL_AXES, false);
    return WICK_OK;
}

typedef struct two {
    wick_context *ctx;
    wick_tensor *w;
    wick_plan *plan[2];
} two;

static wick_status two_open(two *t, wick_context *ctx) {
    const int64_t rows[] = {SMALL, LARGE}, dims[] = {WIDTH, WIDTH};
    static float numbers[WIDTHS];
    for (int i = 0; i < WIDTHS; i++) numbers[i] = (float)(i % 23 - 11) * 0.01f;
    *t = (two){.ctx = ctx, .w = wick_from(ctx, WICK_F32, 2, dims, numbers)};
    wick_status status = wick_context_status(ctx);
    for (int k = 0; k < 2 && status == WICK_OK; k++) {
        const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {rows[k], WIDTH}};
        status = wick_compile(ctx, layers, t->w, 1, &in, 2, NULL, &t->plan[k]);
    }
    return status;
}
static void two_close(two *t) {
    for (int k = 0; k < 2; k++) wick_plan_free(&t->plan[k]);
}

static float x[LARGE * WIDTH];
typedef struct results {
    float y[LARGE * WIDTH], sum;
} results;
static wick_status run(wick_workspace *ws, results *r) {
    for (int i = 0; i < LARGE * WIDTH; i++) x[i] = (float)(i % 31 - 15) * 0.1f;
    return wick_run(ws, (const void *[]){x}, (void *[]){r->y, &r->sum});
}

TEST(runs_in_turn_have_the_bits_of_runs_by_themselves_also_when_states_change) {
    wick_context *ctx = context();
    two t;
    CHECK_OK(ctx, two_open(&t, ctx));
    wick_shared_arena *arena = NULL;
    wick_workspace *own[2], *shared[2];
    CHECK_OK(ctx, wick_shared_arena_new(ctx, &arena));
    CHECK_INT(wick_shared_arena_bytes(arena), 0);
    for (int k = 0; k < 2; k++) {
        CHECK_OK(ctx, wick_workspace_new(t.plan[k], &own[k]));
        CHECK_OK(ctx, wick_workspace_new_in(arena, t.plan[k], &shared[k]));
    }
    CHECK_INT(wick_shared_arena_bytes(arena), wick_workspace_room(t.plan[1]));
    CHECK(wick_workspace_room(t.plan[0]) < wick_workspace_room(t.plan[1]));
    CHECK(t.plan[1]->kept_bytes && !t.plan[1]->packs); /* packed weights, in the arena */
    static results a, b;
    for (int i = 0; i < TURNS; i++) {
        static const int order[TURNS] = {1, 0, 1, 1, 0, 1, 0, 1};
        memset(&a, 0, sizeof a), memset(&b, 1, sizeof b);
        const size_t n = (size_t)(order[i] ? LARGE : SMALL) * WIDTH * sizeof(float);
        CHECK_INT(run(own[order[i]], &a), WICK_OK);
        CHECK_INT(run(shared[order[i]], &b), WICK_OK);
        CHECK_MSG(memcmp(a.y, b.y, n) == 0 && a.sum == b.sum, "turn %d has other bits", i);
        if (i % 4 != 2) continue;
        CHECK_OK(ctx, wick_assign(t.w, wick_mul(t.w, wick_like(t.w, 1.5))));
        CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    }
    wick_shared_arena_free(&arena); /* stays until the last of them goes */
    wick_workspace_free(&shared[1]);
    CHECK_INT(run(shared[0], &b), WICK_OK);
    wick_workspace_free(&shared[0]);
    for (int k = 0; k < 2; k++) wick_workspace_free(&own[k]);
    two_close(&t);
    wick_context_free(&ctx);
}

typedef struct within {
    wick_shared_arena *arena;
    wick_plan *large;
    wick_workspace *other, *made;
    wick_status ran, grew;
} within;
static void try_within(void *user, int output) {
    (void)output;
    within *w = user;
    static results r;
    w->ran = run(w->other, &r);
    w->grew = wick_workspace_new_in(w->arena, w->large, &w->made);
}

TEST(one_of_them_runs_at_a_time) {
    wick_context *ctx = context();
    two t;
    CHECK_OK(ctx, two_open(&t, ctx));
    within w = {.large = t.plan[1]};
    wick_workspace *ws = NULL;
    static results r;
    CHECK_OK(ctx, wick_shared_arena_new(ctx, &w.arena));
    CHECK_OK(ctx, wick_workspace_new_in(w.arena, t.plan[0], &ws));
    CHECK_OK(ctx, wick_workspace_new_in(w.arena, t.plan[0], &w.other));
    wick_workspace_on_output(ws, try_within, &w);
    CHECK_INT(run(ws, &r), WICK_OK);
    CHECK_INT(w.ran, WICK_ERR_BUSY);
    CHECK(strstr(wick_workspace_error(w.other), "another workspace of its shared arena runs"));
    CHECK_INT(w.grew, WICK_ERR_BUSY);
    CHECK(!w.made && strstr(wick_context_error(ctx), "another workspace of the arena runs"));
    CHECK_INT(run(w.other, &r), WICK_OK); /* and the next one is let in */
    CHECK_INT(wick_workspace_new_in(w.arena, t.plan[1], &w.made), WICK_OK);
    CHECK_INT(run(w.made, &r), WICK_OK);
    wick_workspace_free(&w.made), wick_workspace_free(&w.other), wick_workspace_free(&ws);
    wick_shared_arena_free(&w.arena);
    two_close(&t);
    wick_context_free(&ctx);
}

TEST(wrong_arguments_are_refused) {
    wick_context *ctx = context(), *another = context();
    two t;
    CHECK_OK(ctx, two_open(&t, ctx));
    wick_shared_arena *arena = NULL;
    wick_workspace *ws = NULL;
    CHECK_INT(wick_shared_arena_new(ctx, NULL), WICK_ERR_INVALID);
    CHECK_OK(another, wick_shared_arena_new(another, &arena));
    CHECK_INT(wick_workspace_new_in(arena, t.plan[0], &ws), WICK_ERR_INVALID);
    CHECK(!ws && strstr(wick_context_error(ctx), "another context's"));
    CHECK_INT(wick_workspace_new_in(NULL, t.plan[0], &ws), WICK_ERR_INVALID);
    CHECK_INT(wick_workspace_new_in(arena, t.plan[0], NULL), WICK_ERR_INVALID);
    wick_shared_arena_free(&arena);
    wick_shared_arena_free(&arena);
    wick_shared_arena_free(NULL);
    two_close(&t);
    wick_context_free(&another);
    wick_context_free(&ctx);
}

/* Each allocation of it fails, alone or with all behind it. What was there before runs, or says why not. */
TEST(every_allocation_may_fail) {
    for (int64_t n = 0, failed = 1; failed; n++) {
        counting c = {.fail_at = -1};
        wick_allocator alloc = counting_allocator(&c);
        wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .seed = 1, .allocator = &alloc});
        two t;
        wick_shared_arena *arena = NULL;
        wick_workspace *first = NULL, *second = NULL;
        static results r;
        CHECK_OK(ctx, two_open(&t, ctx));
        c.fail_at = c.calls + n;
        wick_status status = wick_shared_arena_new(ctx, &arena);
        if (status == WICK_OK) status = wick_workspace_new_in(arena, t.plan[0], &first);
        if (status == WICK_OK) status = wick_workspace_new_in(arena, t.plan[1], &second);
        failed = status != WICK_OK;
        CHECK_INT(status, failed ? WICK_ERR_NOMEM : WICK_OK);
        if (failed) CHECK(strstr(wick_context_error(ctx), "out of memory"));
        CHECK(!failed == (c.calls <= c.fail_at));
        if (first) {
            const bool lost = wick_shared_arena_bytes(arena) == 0;
            CHECK_INT(run(first, &r), lost ? WICK_ERR_NOMEM : WICK_OK);
            if (lost) CHECK(strstr(wick_workspace_error(first), "lost when it could not grow"));
        }
        c.fail_at = -1;
        if (first && !second) { /* with memory again all is as it should be */
            CHECK_OK(ctx, wick_workspace_new_in(arena, t.plan[1], &second));
            CHECK_INT(run(first, &r), WICK_OK);
        }
        if (second) CHECK_INT(run(second, &r), WICK_OK);
        wick_workspace_free(&second), wick_workspace_free(&first);
        wick_shared_arena_free(&arena);
        two_close(&t);
        wick_context_free(&ctx);
        CHECK_MSG(c.live == 0, "allocation %lld: %lld blocks leaked", (long long)n, (long long)c.live);
        if (test_fails > 8) return;
    }
}

/* An arena that was lost comes back as large as its workspaces need, not only the one that is made then. */
TEST(a_lost_arena_comes_back_for_all) {
    counting c = {.fail_at = -1};
    wick_allocator alloc = counting_allocator(&c);
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .seed = 1, .allocator = &alloc});
    two t;
    CHECK_OK(ctx, two_open(&t, ctx));
    wick_shared_arena *arena = NULL;
    wick_workspace *large = NULL, *small = NULL, *larger = NULL;
    wick_plan *plan = NULL;
    const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {2 * LARGE, WIDTH}};
    CHECK_OK(ctx, wick_compile(ctx, layers, t.w, 1, &in, 2, NULL, &plan));
    CHECK_OK(ctx, wick_shared_arena_new(ctx, &arena));
    CHECK_OK(ctx, wick_workspace_new_in(arena, t.plan[1], &large));
    const size_t had = wick_shared_arena_bytes(arena);
    c.fail_at = c.calls;
    CHECK_INT(wick_workspace_new_in(arena, plan, &larger), WICK_ERR_NOMEM);
    CHECK_INT(wick_shared_arena_bytes(arena), 0);
    c.fail_at = -1;
    CHECK_OK(ctx, wick_workspace_new_in(arena, t.plan[0], &small));
    CHECK_INT(wick_shared_arena_bytes(arena), had);
    static results a, b;
    CHECK_INT(run(large, &a), WICK_OK);
    CHECK_INT(run(small, &b), WICK_OK);
    CHECK_INT(memcmp(a.y, b.y, (size_t)SMALL * WIDTH * sizeof *a.y), 0);
    wick_workspace_free(&small), wick_workspace_free(&large);
    wick_shared_arena_free(&arena);
    wick_plan_free(&plan);
    two_close(&t);
    wick_context_free(&ctx);
    CHECK_INT(c.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
