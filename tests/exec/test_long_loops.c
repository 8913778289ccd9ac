/* Long loops stay bounded: in memory, in pending nodes, in plans. */
#include <sys/resource.h>

#include "tensor/tensors.h"

static long resident(void) { /* kB; of this process, now */
    long pages = 0, total = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &total, &pages) != 2) pages = 0;
    fclose(f);
    return pages * 4;
}

TEST(two_hundred_thousand_small_evals_keep_memory_flat) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1});
    wick_tensor *s = wick_zeros(ctx, WICK_F32, WICK_DIMS(4));
    long early = 0;
    size_t held = 0;
    for (int i = 0; i < 200000; i++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *y = wick_add(s, wick_scalar(ctx, WICK_F32, 1));
        if (wick_assign(s, y) != WICK_OK || wick_eval(ctx, 0, NULL, NULL) != WICK_OK)
            CHECK_OK(ctx, wick_context_status(ctx));
        wick_scope_close(&scope);
        if (i == 20000) early = resident(), held = wick_context_get_stats(ctx).tensor_bytes;
    }
    CHECK_VALUES(s, 200000, 200000, 200000, 200000);
    wick_context_stats stats = wick_context_get_stats(ctx);
    CHECK_INT(stats.tensor_bytes, (long long)held);
    CHECK_INT(stats.pending_nodes, 0);
    CHECK(stats.plans_built <= 2);
    if (!TEST_SANITIZED) CHECK_MSG(resident() <= early + 512, "%ld kB, was %ld", resident(), early);
    wick_context_free(&ctx);
}

TEST(a_loop_that_frees_its_old_values_needs_no_scope) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1});
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(256));
    long early = 0;
    for (int i = 0; i < 20000; i++) {
        wick_tensor *one = wick_scalar(ctx, WICK_F32, 1), *y = wick_add(x, one);
        if (wick_eval(ctx, 1, &y, NULL) != WICK_OK) CHECK_OK(ctx, wick_context_status(ctx));
        wick_tensor_free(&x);
        wick_tensor_free(&one);
        x = y;
        if (i == 2000) early = resident();
    }
    CHECK_MSG(wick_context_get_stats(ctx).tensor_bytes <= 2 * 256 * 4, "%zu bytes",
              wick_context_get_stats(ctx).tensor_bytes);
    if (!TEST_SANITIZED) CHECK_MSG(resident() <= early + 512, "%ld kB, was %ld", resident(), early);
    CHECK(item(wick_max(x, WICK_ALL_AXES, false)) == 20000);
    wick_context_free(&ctx);
}

TEST(kept_values_of_inner_scopes_do_not_hold_their_history) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1});
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(256));
    for (int i = 0; i < 2000; i++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *y = wick_retain(wick_add(x, wick_constant(ctx, WICK_F32, 1)));
        CHECK_OK(ctx, wick_eval(ctx, 1, &y, NULL));
        wick_scope_close(&scope);
        wick_tensor_free(&x);
        x = y;
    }
    CHECK_MSG(wick_context_get_stats(ctx).tensor_bytes <= 2 * 256 * 4, "%zu bytes",
              wick_context_get_stats(ctx).tensor_bytes);
    wick_tensor_free(&x);
    wick_context_free(&ctx);
}

TEST(past_max_pending_nodes_the_context_evaluates_by_itself) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .max_pending = 100});
    wick_tensor *s = VEC(ctx, 0), *x = VEC(ctx, 0), *one = VEC(ctx, 1);
    for (int i = 0; i < 1000; i++) {
        wick_tensor *y = wick_add(x, one);
        CHECK(wick_context_get_stats(ctx).pending_nodes <= 101);
        if (i % 10 == 0) CHECK_OK(ctx, wick_assign(s, wick_add(s, y)));
        wick_tensor_free(&x);
        x = y;
    }
    CHECK(wick_context_get_stats(ctx).evals >= 9);
    CHECK_VALUES(x, 1000);
    double sum = 0;
    for (int i = 0; i < 1000; i += 10) sum += i + 1;
    CHECK_VALUES(s, sum);
    wick_context_free(&ctx);
}

/* What a loop leaves behind must not interrupt it between a loss and its gradient. */
TEST(a_training_loop_without_scopes_is_never_interrupted) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .max_pending = 60});
    wick_tensor *w = VEC(ctx, 1), *g;
    for (int i = 0; i < 500; i++) {
        wick_tensor *loss = wick_sum(wick_square(w), WICK_ALL_AXES, false);
        wick_grad(loss, 1, &w, &g);
        CHECK_OK(ctx, wick_assign(w, wick_sub(w, wick_mul(g, wick_like(g, 0.01)))));
        CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    }
    CHECK(item(w) < 1e-4);
    CHECK(wick_context_get_stats(ctx).plans_built == 1);
    wick_context_free(&ctx);
}

TEST(an_evaluated_node_is_never_computed_again) {
    wick_context *ctx = context();
    wick_tensor *u = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(1000)), *a = wick_add(u, wick_like(u, 1));
    CHECK_OK(ctx, wick_eval(ctx, 1, &a, NULL));
    CHECK(wick_tensor_ready(a));
    uint64_t evals = wick_context_get_stats(ctx).evals;
    const void *p = NULL, *q = NULL;
    CHECK_OK(ctx, wick_data(a, &p));
    CHECK_OK(ctx, wick_eval(ctx, 1, &a, NULL));
    CHECK_OK(ctx, wick_data(a, &q));
    CHECK(p == q);
    CHECK_INT(wick_context_get_stats(ctx).evals, (long long)evals);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
