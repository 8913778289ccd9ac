/* The gradient check itself: finds a wrong gradient and says where, restores what it moved. */
#include "base/counting_alloc.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

static wick_tensor *cubes(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)ctx, (void)user;
    return wick_sum(wick_mul(wick_square(x[0]), x[1]), WICK_ALL_AXES, false);
}

/* A part that gradients don't see: the gradient of element 2 of x[1] is too large by 0.25. */
static wick_tensor *wrong(wick_context *ctx, wick_tensor *const *x, void *user) {
    const double hidden[] = {0, 0, -0.25};
    wick_tensor *part = wick_mul(wick_stop_gradient(x[1]), wick_from(ctx, WICK_F64, WICK_DIMS(3), hidden));
    return wick_add(cubes(ctx, x, user), wick_sum(part, WICK_ALL_AXES, false));
}

static wick_tensor *vector_result(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)ctx, (void)user;
    return wick_square(x[0]);
}
static wick_tensor *poisoned(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)user;
    return wick_matmul(x[0], wick_zeros(ctx, WICK_F64, WICK_DIMS(7, 7)));
}
static wick_tensor *not_finite(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)ctx, (void)user;
    return wick_sum(wick_log(wick_sub(x[0], wick_like(x[0], 100))), WICK_ALL_AXES, false);
}
static wick_tensor *noisy(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)user;
    return wick_sum(wick_mul(wick_dropout(x[0], 0.4), wick_random_normal(ctx, WICK_F64, WICK_DIMS(3))), WICK_ALL_AXES,
                    false);
}

#define SETUP                                                                                                          \
    wick_context *ctx = new_context(.threads = 1);                                                                     \
    REQUIRE(ctx != NULL);                                                                                              \
    const double a[3] = {1, -2, 0.5}, b[3] = {3, 0.25, -1};                                                            \
    wick_tensor *x[2] = {wick_from(ctx, WICK_F64, WICK_DIMS(3), a), wick_from(ctx, WICK_F64, WICK_DIMS(3), b)};        \
    wick_gradcheck_report report;                                                                                      \
    (void)report

TEST(right_gradients_pass_and_values_are_restored) {
    SETUP;
    CHECK(wick_gradcheck(ctx, cubes, NULL, 2, x, 0, 0, &report) == WICK_OK);
    CHECK_MSG(report.worst < 1e-8, "%g", report.worst);
    CHECK(wick_gradcheck(ctx, cubes, NULL, 2, x, 1e-5, 1e-8, NULL) == WICK_OK);
    double after[3];
    CHECK(wick_read(x[0], after, sizeof after) == WICK_OK && memcmp(after, a, sizeof a) == 0);
    CHECK(wick_read(x[1], after, sizeof after) == WICK_OK && memcmp(after, b, sizeof b) == 0);
    wick_context_free(&ctx);
}

TEST(a_wrong_gradient_is_found_and_located) {
    SETUP;
    CHECK_INT(wick_gradcheck(ctx, wrong, NULL, 2, x, 0, 0, &report), WICK_ERR_MISMATCH);
    CHECK_INT(report.tensor, 1);
    CHECK_INT(report.element, 2);
    CHECK_MSG(fabs(report.analytic - report.numeric - 0.25) < 1e-6, "%g %g", report.analytic, report.numeric);
    CHECK_STR_HAS(wick_context_error(ctx), "tensor 1, element 2");
    double after[3];
    CHECK(wick_read(x[1], after, sizeof after) == WICK_OK && memcmp(after, b, sizeof b) == 0);
    wick_context_free(&ctx);
}

TEST(nan_is_never_within_tolerance) {
    SETUP;
    CHECK_INT(wick_gradcheck(ctx, not_finite, NULL, 1, x, 0, 1e30, &report), WICK_ERR_MISMATCH);
    CHECK(report.worst == INFINITY);
    wick_context_free(&ctx);
}

TEST(random_ops_are_one_fixed_function) {
    SETUP;
    wick_status status = wick_gradcheck(ctx, noisy, NULL, 1, x, 0, 1e-7, &report);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    wick_context_free(&ctx);
}

TEST(wrong_uses_are_refused) {
    SETUP;
    wick_tensor *single = wick_zeros(ctx, WICK_F32, WICK_DIMS(3)), *pending = wick_exp(x[0]);
    CHECK_INT(wick_gradcheck(ctx, cubes, NULL, 2, (wick_tensor *[]){x[0], single}, 0, 0, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_gradcheck(ctx, cubes, NULL, 2, (wick_tensor *[]){x[0], pending}, 0, 0, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_gradcheck(ctx, cubes, NULL, 2, (wick_tensor *[]){x[0], NULL}, 0, 0, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_gradcheck(ctx, vector_result, NULL, 1, x, 0, 0, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_gradcheck(ctx, poisoned, NULL, 1, x, 0, 0, NULL), WICK_ERR_SHAPE);
    CHECK(wick_gradcheck(ctx, vector_result, NULL, 2, x, 0, 0, NULL) != WICK_OK);
    wick_context_free(&ctx);
}

TEST(running_out_of_memory_restores_the_values) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK);
    const double a[3] = {1, -2, 0.5}, b[3] = {3, 0.25, -1};
    wick_tensor *x[2] = {wick_from(ctx, WICK_F64, WICK_DIMS(3), a), wick_from(ctx, WICK_F64, WICK_DIMS(3), b)};
    int failed = 0;
    for (int limit = 0; limit < 2000; limit++) {
        memory.fail_at = memory.calls + limit;
        wick_status status = wick_gradcheck(ctx, cubes, NULL, 2, x, 0, 0, NULL);
        memory.fail_at = -1;
        double after[3];
        CHECK(wick_read(x[0], after, sizeof after) == WICK_OK && memcmp(after, a, sizeof a) == 0);
        CHECK(wick_read(x[1], after, sizeof after) == WICK_OK && memcmp(after, b, sizeof b) == 0);
        if (status == WICK_OK) break;
        CHECK_MSG(status == WICK_ERR_NOMEM, "limit %d: %s", limit, wick_context_error(ctx));
        failed++;
    }
    CHECK_MSG(failed > 5 && failed < 2000, "%d failed", failed);
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
