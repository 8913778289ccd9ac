/* Assignment makes a new version: what was read before sees the old one, evaluated or not; memory is reused when nobody
 * can tell. */
#include "tensor/tensors.h"

static const float *data(wick_tensor *x) {
    const void *p = NULL;
    wick_status status = wick_data(x, &p);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(wick_tensor_context(x)));
    return p;
}

TEST(pending_reads_recorded_before_an_assignment_see_the_old_version) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2), *before = wick_mul(s, wick_like(s, 10));
    CHECK_OK(ctx, wick_assign(s, wick_add(s, wick_like(s, 5))));
    wick_tensor *after = wick_mul(s, wick_like(s, 10));
    CHECK_VALUES(after, 60, 70);
    CHECK_VALUES(before, 10, 20);
    CHECK_VALUES(s, 6, 7);
    wick_context_free(&ctx);
}

TEST(the_value_assigned_may_be_asked_for_later) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2), *t = wick_mul(s, wick_like(s, 2)), *u = wick_exp(t);
    CHECK_OK(ctx, wick_assign(s, wick_add(t, wick_like(s, 1))));
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    CHECK_VALUES(t, 2, 4); /* was an intermediate of the run above, and still stands on the old version */
    CHECK(fabs(item(wick_sum(u, WICK_ALL_AXES, false)) - (exp(2) + exp(4))) < 1e-4);
    CHECK_VALUES(s, 3, 5);
    wick_context_free(&ctx);
}

TEST(a_read_between_two_assignments_sees_the_version_between) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2);
    CHECK_OK(ctx, wick_assign(s, wick_mul(s, wick_like(s, 2))));
    wick_tensor *between = wick_add(s, wick_like(s, 10));
    CHECK_OK(ctx, wick_assign(s, wick_mul(s, wick_like(s, 3))));
    wick_eval_info info;
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, &info));
    CHECK_INT(info.effects, 2);
    CHECK_VALUES(s, 6, 12);
    CHECK_VALUES(between, 12, 14);
    wick_context_free(&ctx);
}

TEST(a_copied_handle_of_the_old_version_keeps_it) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2), *old = wick_stop_gradient(s), *flat = wick_reshape(s, WICK_DIMS(2, 1));
    CHECK_OK(ctx, wick_eval(ctx, 1, &old, NULL)); /* evaluated: shares memory with s */
    for (int i = 0; i < 3; i++) {
        CHECK_OK(ctx, wick_assign(s, wick_add(s, wick_like(s, 1))));
        CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    }
    CHECK_VALUES(s, 4, 5);
    CHECK_VALUES(old, 1, 2);
    CHECK_VALUES(flat, 1, 2); /* pending all the while */
    wick_context_free(&ctx);
}

TEST(write_leaves_pending_readers_the_old_data) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2), *direct = wick_neg(s), *view = wick_slice(s, 0, 1, 2, 1);
    CHECK_OK(ctx, wick_write(s, (float[]){8, 9}, 8));
    CHECK_OK(ctx, wick_write(s, (float[]){3, 4}, 8));
    CHECK_VALUES(s, 3, 4);
    CHECK_VALUES(direct, -1, -2);
    CHECK_VALUES(view, 2);
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "8 bytes", wick_write(s, (float[]){1}, 4));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "not a state", wick_write(wick_neg(s), (float[]){1, 1}, 8));
    wick_context_free(&ctx);
}

TEST(write_after_a_pending_assignment_wins) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2);
    CHECK_OK(ctx, wick_assign(s, wick_neg(s)));
    CHECK_OK(ctx, wick_write(s, (float[]){5, 6}, 8));
    CHECK_VALUES(s, 5, 6);
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    CHECK_VALUES(s, 5, 6);
    wick_context_free(&ctx);
}

/* ---- in place ---------------------------------------------------------------------------------------------------- */

static void step(wick_context *ctx, wick_tensor *s) {
    wick_scope *scope = wick_scope_open(ctx);
    CHECK_OK(ctx, wick_assign(s, wick_add(s, wick_like(s, 1))));
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    wick_scope_close(&scope);
}

TEST(a_state_that_nobody_else_reads_is_updated_in_place) {
    wick_context *ctx = context();
    wick_tensor *s = wick_zeros(ctx, WICK_F32, WICK_DIMS(1000));
    const float *at = data(s);
    size_t held = wick_context_get_stats(ctx).tensor_bytes;
    for (int i = 0; i < 5; i++) {
        step(ctx, s);
        CHECK(data(s) == at);
        CHECK_INT(wick_context_get_stats(ctx).tensor_bytes, (long long)held);
    }
    CHECK(at[0] == 5 && at[999] == 5);
    wick_context_free(&ctx);
}

TEST(a_state_with_other_readers_moves_and_then_stays) {
    wick_context *ctx = context();
    wick_tensor *s = wick_zeros(ctx, WICK_F32, WICK_DIMS(1000));
    const float *first = data(s);
    wick_tensor *pending = wick_exp(s);
    step(ctx, s);
    const float *second = data(s);
    CHECK(second != first);
    CHECK_OK(ctx, wick_eval(ctx, 1, &pending, NULL));
    step(ctx, s);
    CHECK(data(s) == second);
    CHECK(data(pending)[17] == 1);
    CHECK(data(s)[17] == 2);
    wick_context_free(&ctx);
}

TEST(two_states_swap_in_one_step) {
    for (int eager = 0; eager < 2; eager++) {
        wick_context *ctx = context_with(&(wick_context_options){.threads = 2, .eager = eager});
        wick_tensor *a = VEC(ctx, 1, 2), *b = VEC(ctx, 3, 4);
        for (int i = 0; i < 3; i++) {
            wick_scope *scope = wick_scope_open(ctx);
            wick_tensor *old = wick_stop_gradient(a);
            CHECK_OK(ctx, wick_assign(a, b));
            CHECK_OK(ctx, wick_assign(b, old));
            CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
            wick_scope_close(&scope);
        }
        CHECK_VALUES(a, 3, 4);
        CHECK_VALUES(b, 1, 2);
        wick_context_free(&ctx);
    }
}

/* Random programs of states that read and assign each other, against plain doubles. */
TEST(random_mixes_of_states_match_plain_arithmetic) {
    for (int round = 0; round < 60; round++) {
        wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .eager = round % 3 == 0});
        enum { N = 4 };
        wick_tensor *s[N];
        double want[N];
        for (int i = 0; i < N; i++) s[i] = wick_full(ctx, WICK_F64, WICK_DIMS(3), want[i] = i + 1);
        for (int e = 0; e < 4; e++) {
            wick_scope *scope = wick_scope_open(ctx);
            wick_tensor *seen[8];
            double seen_want[8];
            int n_seen = 0;
            for (int k = 0; k < 6; k++) {
                int to = test_rand_int(0, N - 1), from = test_rand_int(0, N - 1), other = test_rand_int(0, N - 1),
                    how = test_rand_int(0, 3);
                if (test_rand_int(0, 2) == 0) {
                    seen_want[n_seen] = want[from] - want[other];
                    seen[n_seen++] = wick_sub(s[from], s[other]);
                }
                double next = how == 0   ? want[from]
                              : how == 1 ? want[from] + want[other]
                              : how == 2 ? want[to] * 0.5 + want[from]
                                         : want[from] - 1;
                wick_tensor *v = how == 0   ? s[from]
                                 : how == 1 ? wick_add(s[from], s[other])
                                 : how == 2 ? wick_add(wick_mul(s[to], wick_like(s[to], 0.5)), s[from])
                                            : wick_sub(s[from], wick_like(s[from], 1));
                CHECK_OK(ctx, wick_assign(s[to], v));
                want[to] = next;
            }
            if (test_rand_int(0, 1)) CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
            for (int i = 0; i < n_seen; i++) CHECK_VALUES(seen[i], seen_want[i], seen_want[i], seen_want[i]);
            for (int i = 0; i < N; i++) CHECK_VALUES(s[i], want[i], want[i], want[i]);
            wick_scope_close(&scope);
        }
        wick_context_free(&ctx);
    }
}

/* ---- effects ----------------------------------------------------------------------------------------------------- */

TEST(closing_a_scope_never_drops_a_pending_effect) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2);
    wick_scope *scope = wick_scope_open(ctx);
    /* what the assignment needs dies with the scope as a handle, not as a value */
    wick_tensor *inner = VEC(ctx, 10, 20);
    CHECK_OK(ctx, wick_assign(s, wick_add(s, inner)));
    wick_scope_close(&scope);
    wick_eval_info info;
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, &info));
    CHECK_INT(info.effects, 1);
    CHECK_VALUES(s, 11, 22);
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, &info));
    CHECK_INT(info.effects, 0);
    wick_context_free(&ctx);
}

TEST(an_effect_on_a_state_of_a_closed_scope_still_runs) {
    wick_context *ctx = context();
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *s = VEC(ctx, 1, 2), *kept = wick_retain(s);
    CHECK_OK(ctx, wick_assign(s, wick_neg(s)));
    wick_tensor *gone = VEC(ctx, 5);
    CHECK_OK(ctx, wick_assign(gone, wick_neg(gone)));
    wick_scope_close(&scope);
    wick_eval_info info;
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, &info));
    CHECK_INT(info.effects, 2);
    CHECK_VALUES(kept, -1, -2);
    wick_tensor_free(&kept);
    wick_context_free(&ctx);
}

TEST(pending_effects_of_a_freed_context_leave_nothing) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2);
    CHECK_OK(ctx, wick_assign(s, wick_neg(s)));
    wick_context_free(&ctx); /* leaks show under ASan */
    CHECK(ctx == NULL);
}

TEST(a_view_recorded_before_an_assignment_shows_the_old_version) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2, 3), *v = wick_slice(s, 0, 0, 2, 1);
    CHECK_OK(ctx, wick_assign(s, wick_neg(s)));
    CHECK_VALUES(v, 1, 2); /* and runs the assignment */
    CHECK_VALUES(s, -1, -2, -3);
    CHECK_VALUES(v, 1, 2);
    wick_context_free(&ctx);
}

TEST(poison_is_never_assigned) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2);
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "add(f32[2], f32[3])", wick_assign(s, wick_add(s, VEC(ctx, 1, 2, 3))));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "NULL", wick_assign(s, NULL));
    wick_eval_info info;
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, &info));
    CHECK_INT(info.effects, 0);
    CHECK_VALUES(s, 1, 2);
    wick_context_free(&ctx);
}

/* ---- failed runs ------------------------------------------------------------------------------------------------- */

TEST(a_failed_finite_check_commits_no_assignment_and_says_so) {
    for (int eager = 0; eager < 2; eager++) {
        wick_context *ctx = context_with(&(wick_context_options){.threads = 2, .eager = eager});
        wick_tensor *a = VEC(ctx, 1, 2), *b = VEC(ctx, 3, 4), *row = wick_slice(b, 0, 0, 1, 1);
        CHECK_OK(ctx, wick_assign(a, wick_add(a, a)));
        CHECK_OK(ctx, wick_assign(row, wick_neg(row)));
        wick_tensor *bad = wick_log(wick_neg(a));
        CHECK_OK(ctx, wick_check_finite(bad));
        CHECK_OK(ctx, wick_assign(b, bad));
        CHECK_FAILS(ctx, WICK_ERR_NOT_FINITE, "4 pending effects dropped", wick_eval(ctx, 0, NULL, NULL));
        CHECK_STR_HAS(wick_context_error(ctx), "check_finite (recorded at ");
        CHECK_STR_HAS(wick_context_error(ctx), "test_versions.c:");
        wick_eval_info info;
        CHECK_OK(ctx, wick_eval(ctx, 0, NULL, &info));
        CHECK_INT(info.effects, 0);
        CHECK_VALUES(a, 1, 2);
        CHECK_VALUES(b, 3, 4);
        CHECK_VALUES(row, 3); /* a view that was assigned through goes back as well */
        CHECK_OK(ctx, wick_assign(a, wick_mul(a, a)));
        CHECK_VALUES(a, 1, 4);
        wick_context_free(&ctx);
    }
}

TEST(a_bad_index_commits_no_assignment_and_names_the_op) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2), *index = wick_from(ctx, WICK_I64, WICK_DIMS(2), (int64_t[]){0, 5});
    CHECK_OK(ctx, wick_assign(s, wick_neg(s)));
    wick_tensor *picked = wick_gather(s, 0, index);
    CHECK_FAILS(ctx, WICK_ERR_INDEX, "1 pending effects dropped", wick_eval(ctx, 1, &picked, NULL));
    CHECK_STR_HAS(wick_context_error(ctx), "gather (recorded at ");
    CHECK_VALUES(s, 1, 2);
    wick_context_free(&ctx);
}

/* Two places that record the same graph share a plan; the place named is still the one that failed. */
TEST(a_fault_names_the_line_that_recorded_it_also_on_a_plan_hit) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2), *good = wick_from(ctx, WICK_I64, WICK_DIMS(1), (int64_t[]){1}),
                *bad = wick_from(ctx, WICK_I64, WICK_DIMS(1), (int64_t[]){2});
    wick_tensor *x = wick_gather(s, 0, good);
    CHECK_OK(ctx, wick_eval(ctx, 1, &x, NULL));
    char line[32];
    wick_tensor *y = wick_gather(s, 0, bad); snprintf(line, sizeof line, "test_versions.c:%d", __LINE__);
    CHECK_FAILS(ctx, WICK_ERR_INDEX, line, wick_eval(ctx, 1, &y, NULL));
    wick_context_free(&ctx);
}

static bool stop(void *user) { return *(bool *)user; }

TEST(effects_of_a_cancelled_run_stay_pending) {
    bool cancelled = true;
    wick_context *ctx = context_with(&(wick_context_options){.threads = 2, .cancel = stop, .cancel_user = &cancelled});
    wick_tensor *s = VEC(ctx, 1, 2);
    CHECK_OK(ctx, wick_assign(s, wick_matmul(s, wick_expand(wick_reshape(s, WICK_DIMS(2, 1)), WICK_DIMS(2, 2)))));
    CHECK_FAILS(ctx, WICK_ERR_CANCELLED, "cancelled by the host", wick_eval(ctx, 0, NULL, NULL));
    cancelled = false;
    wick_eval_info info;
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, &info));
    CHECK_INT(info.effects, 1);
    CHECK_VALUES(s, 5, 5);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
