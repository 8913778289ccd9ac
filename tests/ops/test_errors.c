/* What a mistake in an op says: which op, which shapes, which line of the caller; how poison travels; what faults at
 * run time. */
#include "context.h"
#include "test.h"
#include "wick/wick.h"

#define SETUP                                                                                                          \
    wick_context *ctx = new_context(.threads = 2, .seed = 1);                                                          \
    REQUIRE(ctx != NULL)
#define TEARDOWN wick_context_free(&ctx)

static wick_tensor *f32(wick_context *ctx, int rank, const int64_t *dims) {
    return wick_zeros(ctx, WICK_F32, rank, dims);
}
static wick_tensor *i64(wick_context *ctx, int rank, const int64_t *dims) {
    return wick_zeros(ctx, WICK_I64, rank, dims);
}

/* The error of t must have this status, name this line, and hold every one of the parts. */
static void check_refused(wick_tensor *t, wick_status status, int line, int n, const char *const *parts) {
    const char *text = NULL;
    wick_status got = wick_tensor_error(t, &text);
    test_count("wrong uses refused with the right message", 1);
    CHECK_MSG(got == status, "line %d: status is %s, not %s: %s", line, wick_status_name(got), wick_status_name(status),
              text ? text : "");
    if (!got || !text) return;
    char site[64];
    snprintf(site, sizeof site, "test_errors.c:%d", line);
    CHECK_STR_HAS(text, site);
    for (int i = 0; i < n; i++) CHECK_STR_HAS(text, parts[i]);
}
#define REFUSED(status, expr, ...)                                                                 \
    check_refused(expr, status, __LINE__, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
                  (const char *const[]){__VA_ARGS__})

/* clang-format off: one call a line, whose number is part of what is checked */
TEST(shapes_that_do_not_fit_are_both_named) {
    SETUP;
    wick_tensor *a = f32(ctx, WICK_DIMS(2, 3)), *b = f32(ctx, WICK_DIMS(4, 5)), *v = f32(ctx, WICK_DIMS(4)),
                *c = f32(ctx, WICK_DIMS(3, 4, 5));
    REFUSED(WICK_ERR_SHAPE, wick_add(a, b), "add(f32[2,3], f32[4,5])", "broadcast");
    REFUSED(WICK_ERR_SHAPE, wick_mul(v, a), "mul(f32[4], f32[2,3])");
    REFUSED(WICK_ERR_SHAPE, wick_where(wick_gt(a, a), v, v), "where(bool[2,3], f32[4], f32[4])");
    REFUSED(WICK_ERR_SHAPE, wick_matmul(a, b), "matmul(f32[2,3], f32[4,5])", "inner dims 3 and 4 differ");
    REFUSED(WICK_ERR_SHAPE, wick_matmul(a, v), "matmul(f32[2,3], f32[4,1])", "3 and 4");
    REFUSED(WICK_ERR_SHAPE, wick_matmul(f32(ctx, WICK_DIMS(2, 1, 3)), f32(ctx, WICK_DIMS(4, 3, 1))), "matmul(f32[2,1,3], f32[4,3,1])", "leading dims");
    REFUSED(WICK_ERR_SHAPE, wick_matmul(wick_scalar(ctx, WICK_F32, 1), a), "matmul(f32[], f32[2,3])", "needs matrices");
    REFUSED(WICK_ERR_SHAPE, wick_linear(a, b, NULL), "matmul(f32[2,3], f32[5,4])");
    REFUSED(WICK_ERR_SHAPE, wick_reshape(a, WICK_DIMS(4, 2)), "reshape(f32[2,3])", "6 elements", "8");
    REFUSED(WICK_ERR_SHAPE, wick_reshape(a, WICK_DIMS(4, -1)), "reshape(f32[2,3])", "6 elements do not divide by 4");
    REFUSED(WICK_ERR_SHAPE, wick_reshape(a, WICK_DIMS(-1, -1)), "reshape(f32[2,3])", "only one extent may be -1");
    REFUSED(WICK_ERR_SHAPE, wick_reshape(f32(ctx, WICK_DIMS(0, 3)), WICK_DIMS(0, -1)), "reshape(f32[0,3])");
    REFUSED(WICK_ERR_SHAPE, wick_reshape(a, WICK_DIMS(-2, -3)), "reshape(f32[2,3])", "negative");
    REFUSED(WICK_ERR_SHAPE, wick_expand(a, WICK_DIMS(2, 4)), "expand(f32[2,3])", "does not broadcast");
    REFUSED(WICK_ERR_SHAPE, wick_expand(a, WICK_DIMS(3)), "expand(f32[2,3])");
    REFUSED(WICK_ERR_SHAPE, wick_concat(2, (wick_tensor *[]){a, b}, 0), "concat(f32[2,3], f32[4,5])", "input 1");
    REFUSED(WICK_ERR_SHAPE, wick_concat(2, (wick_tensor *[]){a, v}, 0), "concat(f32[2,3], f32[4])", "input 1");
    REFUSED(WICK_ERR_SHAPE, wick_layer_norm(a, v, NULL, 1e-5), "layer_norm(f32[2,3], f32[4])", "extent 3");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy(a, i64(ctx, WICK_DIMS(3))), "cross_entropy(f32[2,3], i64[3])", "labels must be [N]");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy(c, i64(ctx, WICK_DIMS(3))), "cross_entropy", "take labels [N, ...]");
    REFUSED(WICK_ERR_SHAPE, wick_mse(a, b), "sub(f32[2,3], f32[4,5])");
    REFUSED(WICK_ERR_SHAPE, wick_scatter_add(a, 0, i64(ctx, WICK_DIMS(2)), b), "scatter_add(f32[2,3], i64[2], f32[4,5])", "shape that gather would read");
    REFUSED(WICK_ERR_SHAPE, wick_batch_norm(a, v, v, NULL, NULL, 1e-5), "reshape(f32[4])", "4 elements");
    REFUSED(WICK_ERR_SHAPE, wick_batch_norm(v, v, v, NULL, NULL, 1e-5), "batch_norm", "1 dims");
    TEARDOWN;
}

TEST(wrong_dtypes_are_named) {
    SETUP;
    wick_tensor *a = f32(ctx, WICK_DIMS(2, 3)), *n = i64(ctx, WICK_DIMS(2, 3)),
                *u = wick_zeros(ctx, WICK_U64, WICK_DIMS(2, 3));
    REFUSED(WICK_ERR_DTYPE, wick_add(n, u), "add", "i64", "u64", "cast one of them");
    REFUSED(WICK_ERR_DTYPE, wick_matmul(n, wick_transpose(u, 0, 1)), "matmul", "i64", "u64", "cast");
    REFUSED(WICK_ERR_DTYPE, wick_mean(n, WICK_ALL_AXES, false), "mean", "i64", "cast");
    REFUSED(WICK_ERR_DTYPE, wick_var(n, WICK_AXES(0), 1, false), "mean", "i64");
    REFUSED(WICK_ERR_DTYPE, wick_softmax(n, 0), "softmax(i64[3,2])", "float");
    REFUSED(WICK_ERR_DTYPE, wick_log_softmax(n, 1), "log_softmax(i64[2,3])", "float");
    REFUSED(WICK_ERR_DTYPE, wick_layer_norm(n, NULL, NULL, 1e-5), "layer_norm(i64[2,3])", "float");
    REFUSED(WICK_ERR_DTYPE, wick_gather(a, 0, a), "gather(f32[2,3], f32[2,3])", "integers");
    REFUSED(WICK_ERR_DTYPE, wick_scatter_add(a, 0, i64(ctx, WICK_DIMS(2)), n), "scatter_add(f32[2,3], i64[2], i64[2,3])", "different dtypes");
    REFUSED(WICK_ERR_DTYPE, wick_one_hot(a, 3, WICK_F32), "one_hot(f32[2,3])", "integers");
    REFUSED(WICK_ERR_DTYPE, wick_cross_entropy(n, i64(ctx, WICK_DIMS(2))), "cross_entropy(i64[2,3], i64[2])", "floats");
    REFUSED(WICK_ERR_DTYPE, wick_cross_entropy(a, f32(ctx, WICK_DIMS(2))), "cross_entropy(f32[2,3], f32[2])", "integers");
    REFUSED(WICK_ERR_DTYPE, wick_dropout(n, 0.5), "dropout", "i64");
    REFUSED(WICK_ERR_DTYPE, wick_random_normal(ctx, WICK_I32, WICK_DIMS(2)), "random_normal", "f32 or f64");
    REFUSED(WICK_ERR_INVALID, wick_cast(a, (wick_dtype)99), "cast", "99");
    REFUSED(WICK_ERR_DTYPE, wick_concat(2, (wick_tensor *[]){a, n}, 0), "concat(f32[2,3], i64[2,3])", "input 1");
    TEARDOWN;
}

TEST(axes_out_of_range_are_named) {
    SETUP;
    wick_tensor *a = f32(ctx, WICK_DIMS(2, 3)), *i = i64(ctx, WICK_DIMS(2)),
                *deep = f32(ctx, WICK_DIMS(1, 1, 1, 1, 1, 1, 1, 1));
    REFUSED(WICK_ERR_SHAPE, wick_sum(a, WICK_AXES(2), false), "sum", "2-d");
    REFUSED(WICK_ERR_SHAPE, wick_sum(a, WICK_AXES(-3), false), "sum", "2-d");
    REFUSED(WICK_ERR_SHAPE, wick_prod(a, WICK_AXES(0, -2), false), "prod", "distinct");
    REFUSED(WICK_ERR_SHAPE, wick_argmax(a, 2, false), "argmax", "axis 2", "2-d");
    REFUSED(WICK_ERR_SHAPE, wick_argmin(a, -3, false), "argmin", "axis -3", "2-d");
    REFUSED(WICK_ERR_SHAPE, wick_softmax(a, 2), "softmax", "axis 2", "2-d");
    REFUSED(WICK_ERR_SHAPE, wick_softmax(wick_scalar(ctx, WICK_F32, 1), 0), "softmax", "axis 0", "0-d");
    REFUSED(WICK_ERR_SHAPE, wick_gather(a, 2, i), "gather", "axis 2", "2-d");
    REFUSED(WICK_ERR_SHAPE, wick_scatter_add(a, -3, i, a), "scatter_add", "axis -3");
    REFUSED(WICK_ERR_SHAPE, wick_concat(1, &a, 2), "concat", "axis 2");
    REFUSED(WICK_ERR_SHAPE, wick_slice(a, 2, 0, 1, 1), "slice", "axis 2");
    REFUSED(WICK_ERR_SHAPE, wick_squeeze(a, 0), "squeeze", "axis 0", "extent 1");
    REFUSED(WICK_ERR_SHAPE, wick_squeeze(a, 5), "squeeze", "axis 5");
    REFUSED(WICK_ERR_SHAPE, wick_unsqueeze(a, 4), "unsqueeze", "axis 4");
    REFUSED(WICK_ERR_SHAPE, wick_unsqueeze(deep, 0), "unsqueeze", "8-d");
    REFUSED(WICK_ERR_SHAPE, wick_transpose(a, 0, 2), "transpose", "axes 0 and 2");
    REFUSED(WICK_ERR_SHAPE, wick_permute(a, WICK_AXES(0, 0)), "permute", "2 dims once");
    REFUSED(WICK_ERR_SHAPE, wick_permute(a, WICK_AXES(0)), "permute");
    REFUSED(WICK_ERR_SHAPE, wick_flatten(a, 3), "flatten", "axis 3");
    REFUSED(WICK_ERR_SHAPE, wick_diagonal(a, 0, 1, -1), "diagonal", "axes 1 and -1");
    REFUSED(WICK_ERR_SHAPE, wick_diagonal(a, 0, 0, 2), "diagonal", "axes 0 and 2");
    REFUSED(WICK_ERR_SHAPE, wick_max(f32(ctx, WICK_DIMS(2, 0)), WICK_AXES(1), false), "max(f32[2,0])", "axis 1");
    REFUSED(WICK_ERR_SHAPE, wick_argmax(f32(ctx, WICK_DIMS(2, 0)), 1, false), "argmax(f32[2,0])", "axis 1");
    TEARDOWN;
}

TEST(arguments_out_of_range_are_named) {
    SETUP;
    wick_tensor *a = f32(ctx, WICK_DIMS(2, 3));
    REFUSED(WICK_ERR_INVALID, wick_slice(a, 0, 0, 1, 0), "slice", "step 0");
    REFUSED(WICK_ERR_INVALID, wick_dropout(a, 1), "dropout", "1");
    REFUSED(WICK_ERR_INVALID, wick_dropout(a, NAN), "dropout", "nan");
    REFUSED(WICK_ERR_SHAPE, wick_one_hot(i64(ctx, WICK_DIMS(2)), -1, WICK_F32), "one_hot(i64[2])", "-1 classes");
    REFUSED(WICK_ERR_SHAPE, wick_reshape(a, 9, (const int64_t[9]){2, 3, 1, 1, 1, 1, 1, 1, 1}), "reshape", "9 dims; at most 8");
    REFUSED(WICK_ERR_SHAPE, wick_expand(a, -1, NULL), "expand", "-1 dims");
    REFUSED(WICK_ERR_INVALID, wick_random_uniform(ctx, WICK_F32, WICK_DIMS(2, -1)), "random_uniform");
    TEARDOWN;
}

/* Extents whose product does not fit are errors, not small allocations. Views make such tensors for free. */
TEST(results_too_large_to_exist_are_refused) {
    SETUP;
    wick_tensor *one = f32(ctx, WICK_DIMS(1));
    wick_tensor *column = wick_expand(one, WICK_DIMS((int64_t)1 << 40, 1)),
                *row = wick_expand(one, WICK_DIMS(1, (int64_t)1 << 40));
    wick_tensor *index = wick_expand(i64(ctx, WICK_DIMS(1)), WICK_DIMS((int64_t)1 << 40)),
                *long_one = wick_expand(one, WICK_DIMS((int64_t)1 << 60));
    REFUSED(WICK_ERR_SHAPE, wick_add(column, row), "add(f32[1099511627776,1], f32[1,1099511627776])", "too large");
    REFUSED(WICK_ERR_SHAPE, wick_matmul(column, row), "matmul(f32[1099511627776,1], f32[1,1099511627776])", "too large");
    REFUSED(WICK_ERR_SHAPE, wick_expand(column, WICK_DIMS((int64_t)1 << 40, (int64_t)1 << 40)), "expand(f32[1099511627776,1])");
    REFUSED(WICK_ERR_SHAPE, wick_one_hot(index, (int64_t)1 << 40, WICK_F32), "one_hot(i64[1099511627776])");
    REFUSED(WICK_ERR_SHAPE, wick_gather(row, 0, index), "gather(f32[1,1099511627776], i64[1099511627776])");
    REFUSED(WICK_ERR_SHAPE, wick_concat(4, (wick_tensor *[]){long_one, long_one, long_one, long_one}, 0), "concat", "too large");
    REFUSED(WICK_ERR_SHAPE, wick_cast(long_one, WICK_F64), "cast(f32[1152921504606846976])", "too large");
    REFUSED(WICK_ERR_SHAPE, wick_reshape(f32(ctx, WICK_DIMS(0)), WICK_DIMS(0, (int64_t)1 << 40, (int64_t)1 << 40)), "reshape(f32[0])", "too large");
    TEARDOWN;
}
/* clang-format on */

TEST(gathering_into_more_dims_than_there_are_is_refused) {
    SETUP;
    wick_tensor *a = f32(ctx, WICK_DIMS(1, 1, 1, 1, 1)), *index = i64(ctx, WICK_DIMS(1, 1, 1, 1, 1));
    REFUSED(WICK_ERR_SHAPE, wick_gather(a, 0, index), "gather(f32[1,1,1,1,1], i64[1,1,1,1,1])", "too many dims");
    TEARDOWN;
}

/* ---- poison ------------------------------------------------------------------------------------------------------ */

TEST(poison_travels_and_keeps_its_first_error) {
    SETUP;
    wick_tensor *good = f32(ctx, WICK_DIMS(2, 3)), *bad = wick_add(good, f32(ctx, WICK_DIMS(7)));
    const char *first, *text;
    REQUIRE(wick_tensor_error(bad, &first) == WICK_ERR_SHAPE);
    wick_tensor *index = i64(ctx, WICK_DIMS(2));
    wick_tensor *through[] = {
        wick_neg(bad),
        wick_mul(good, bad),
        wick_where(bad, good, good),
        wick_where(wick_gt(good, good), good, bad),
        wick_cast(bad, WICK_I32),
        wick_sum(bad, WICK_ALL_AXES, false),
        wick_mean(bad, WICK_AXES(0), true),
        wick_var(bad, WICK_AXES(9), 1, false),
        wick_argmax(bad, 5, false),
        wick_matmul(bad, good),
        wick_matmul(good, bad),
        wick_linear(good, bad, NULL),
        wick_linear(good, good, bad),
        wick_softmax(bad, 3),
        wick_layer_norm(good, bad, NULL, 0),
        wick_layer_norm(good, NULL, bad, 0),
        wick_batch_norm(bad, good, good, NULL, NULL, 0),
        wick_batch_norm(good, bad, good, NULL, NULL, 0),
        wick_gather(bad, 9, index),
        wick_gather(good, 0, bad),
        wick_scatter_add(good, 0, index, bad),
        wick_one_hot(bad, 3, WICK_F32),
        wick_concat(2, (wick_tensor *[]){good, bad}, 0),
        wick_reshape(bad, 99, NULL),
        wick_permute(bad, WICK_AXES(4)),
        wick_transpose(bad, 8, 9),
        wick_slice(bad, 7, 0, 0, 0),
        wick_expand(bad, WICK_DIMS(1)),
        wick_squeeze(bad, 3),
        wick_unsqueeze(bad, 12),
        wick_flatten(bad, 12),
        wick_diagonal(bad, 0, 0, 0),
        wick_dropout(bad, 7),
        wick_cross_entropy(bad, index),
        wick_cross_entropy(good, bad),
        wick_mse(good, bad),
        wick_stop_gradient(bad),
        wick_like(bad, 1),
    };
    for (size_t i = 0; i < sizeof through / sizeof *through; i++) {
        wick_status status = wick_tensor_error(through[i], &text);
        CHECK_MSG(status == WICK_ERR_SHAPE && text && strcmp(text, first) == 0, "number %zu: %s", i,
                  text ? text : "no error");
    }
    /* Of two errors, the one that comes first in the arguments. */
    wick_tensor *other = wick_softmax(good, 9);
    CHECK(wick_tensor_error(wick_add(bad, other), &text) == WICK_ERR_SHAPE && strcmp(text, first) == 0);
    CHECK(wick_tensor_error(wick_add(other, bad), &text) == WICK_ERR_SHAPE);
    CHECK_STR_HAS(text, "softmax");
    TEARDOWN;
}

TEST(calls_that_do_work_return_the_error_of_poison) {
    SETUP;
    wick_tensor *good = wick_ones(ctx, WICK_F32, WICK_DIMS(2)), *bad = wick_add(good, f32(ctx, WICK_DIMS(7)));
    double value;
    float values[2];
    const void *data;
    char text[256];
    CHECK(wick_eval(ctx, 1, &bad, NULL) == WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(ctx), "add(f32[2], f32[7])");
    CHECK(wick_item(wick_sum(bad, WICK_ALL_AXES, false), &value) == WICK_ERR_SHAPE);
    CHECK(wick_read(bad, values, sizeof values) == WICK_ERR_SHAPE);
    CHECK(wick_data(bad, &data) == WICK_ERR_SHAPE);
    CHECK(wick_assign(good, bad) == WICK_ERR_SHAPE); /* poison is never assigned */
    CHECK(wick_assign(bad, good) == WICK_ERR_SHAPE);
    CHECK(wick_check_finite(bad) == WICK_ERR_SHAPE);
    CHECK(wick_format(bad, text, sizeof text) > 0);
    CHECK_STR_HAS(text, "<poisoned: ");
    CHECK_INT(wick_tensor_rank(bad), 0);
    CHECK_INT(wick_tensor_count(bad), 0);
    CHECK_INT(wick_tensor_dim(bad, 0), 0);
    wick_tensor *grad[2];
    wick_grad(wick_sum(bad, WICK_ALL_AXES, false), 1, &good, grad);
    CHECK(wick_tensor_error(grad[0], NULL) == WICK_ERR_SHAPE);
    wick_grad(wick_sum(good, WICK_ALL_AXES, false), 2, (wick_tensor *[]){good, bad}, grad);
    CHECK(wick_tensor_error(grad[0], NULL) == WICK_ERR_SHAPE && wick_tensor_error(grad[1], NULL) == WICK_ERR_SHAPE);
    /* Nothing of this harms what is sound. */
    CHECK(wick_read(wick_add(good, good), values, sizeof values) == WICK_OK && values[0] == 2 && values[1] == 2);
    TEARDOWN;
}

TEST(a_null_tensor_is_named_by_its_place) {
    SETUP;
    wick_tensor *good = f32(ctx, WICK_DIMS(2, 2));
    CHECK(wick_tensor_error(wick_add(good, NULL), NULL) == WICK_ERR_INVALID);
    CHECK(wick_tensor_error(wick_matmul(NULL, good), NULL) == WICK_ERR_INVALID);
    CHECK(wick_tensor_error(wick_gather(good, 0, NULL), NULL) == WICK_ERR_INVALID);
    CHECK(wick_tensor_error(wick_batch_norm(good, NULL, good, NULL, NULL, 0), NULL) == WICK_ERR_INVALID);
    CHECK(wick_tensor_error(wick_relu(wick_softmax(NULL, 0)), NULL) == WICK_ERR_INVALID);
    TEARDOWN;
}

TEST(an_unsigned_index_beyond_i64_is_out_of_range) {
    SETUP;
    wick_tensor *x = f32(ctx, WICK_DIMS(2)), *i = wick_from(ctx, WICK_U64, WICK_DIMS(1), (uint64_t[]){UINT64_MAX});
    double v;
    CHECK_INT(wick_item(wick_gather(x, 0, i), &v), WICK_ERR_INDEX);
    TEARDOWN;
}

TEST(impossible_shapes_say_what_is_wrong) {
    SETUP;
    REFUSED(WICK_ERR_INVALID, wick_zeros(ctx, WICK_F32, WICK_DIMS(2, -3)), "dim 1 is -3");
    REFUSED(WICK_ERR_INVALID, wick_zeros(ctx, WICK_F32, WICK_DIMS(INT64_MAX, 2)), "cannot be counted");
    REFUSED(WICK_ERR_INVALID, wick_zeros(ctx, (wick_dtype)99, WICK_DIMS(2)), "no dtype 99");
    TEARDOWN;
}

TEST(inputs_of_different_contexts_are_refused) {
    SETUP;
    wick_context *other = new_context(.threads = 1, .seed = 1);
    REQUIRE(other != NULL);
    wick_tensor *a = f32(ctx, WICK_DIMS(2)), *b = f32(other, WICK_DIMS(2));
    REFUSED(WICK_ERR_INVALID, wick_add(a, b), "add", "different contexts");
    wick_context_free(&other);
    TEARDOWN;
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static wick_tensor *first_gradient(wick_tensor *loss, wick_tensor *x, const char *where) {
    wick_tensor *g = NULL;
    wick_here(where);
    (wick_grad)(loss, 1, &x, &g);
    return g;
}
#define GRADIENT(loss, x) first_gradient(loss, x, __FILE__ ":" WICK_STR(__LINE__))
static void wrong_rule(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)user, (void)y, (void)n, (void)xs;
    gx[0] = wick_sum(g, WICK_ALL_AXES, false);
}

/* clang-format off: as above */
TEST(gradients_that_do_not_exist_are_refused) {
    SETUP;
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(3)), *n = i64(ctx, WICK_DIMS(3)),
                *y = wick_ones(ctx, WICK_F32, WICK_DIMS(3));
    wick_tensor *loss = wick_sum(wick_square(x), WICK_ALL_AXES, false);
    REFUSED(WICK_ERR_SHAPE, GRADIENT(wick_square(x), x), "grad(", "one number");
    REFUSED(WICK_ERR_SHAPE, GRADIENT(wick_sum(n, WICK_ALL_AXES, false), n), "grad(", "float");
    REFUSED(WICK_ERR_DTYPE, GRADIENT(wick_sum(wick_mul(x, n), WICK_ALL_AXES, false), n), "grad(", "integers");
    REFUSED(WICK_ERR_INVALID, GRADIENT(loss, y), "grad", "does not depend on tensor 0");
    wick_tensor *hidden = wick_square(x);
    CHECK(wick_eval(ctx, 1, &hidden, NULL) == WICK_OK);
    REFUSED(WICK_ERR_INVALID, GRADIENT(wick_add(wick_sum(hidden, WICK_ALL_AXES, false), loss), x), "square", "evaluated already");
    double value;
    CHECK(wick_item(loss, &value) == WICK_OK && value == 3);
    REFUSED(WICK_ERR_INVALID, GRADIENT(loss, x), "the loss has been evaluated already");

    wick_tensor *custom = wick_custom_gradient(wick_square(x), 1, &x, wrong_rule, NULL);
    wick_tensor *g = GRADIENT(wick_sum(custom, WICK_ALL_AXES, false), x);
    CHECK(wick_eval(ctx, 1, &g, NULL) == WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(ctx), "custom_gradient");
    CHECK_STR_HAS(wick_context_error(ctx), "not of its tensor's shape");
    TEARDOWN;
}
/* clang-format on */

/* ---- promotion --------------------------------------------------------------------------------------------------- */

TEST(dtypes_promote_by_the_table) {
    SETUP;
    /* Rows and columns in the order of wick_dtype; - is an error, as is a dtype for storage beside any other. */
    static const char *const table[WICK_BOOL + 1][WICK_BOOL + 1] = {
        /*           f32    f64    f16    bf16    i8     i16    i32    i64    u8     u16    u32    u64    bool */
        /* f32  */ {"f32", "f64", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32"},
        /* f64  */ {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
        /* f16  */ {"f32", "f64", "f16", "f32", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16"},
        /* bf16 */
        {"f32", "f64", "f32", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16"},
        /* i8   */ {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "i16", "i32", "i64", "-", "i8"},
        /* i16  */ {"f32", "f64", "f16", "bf16", "i16", "i16", "i32", "i64", "i16", "i32", "i64", "-", "i16"},
        /* i32  */ {"f32", "f64", "f16", "bf16", "i32", "i32", "i32", "i64", "i32", "i32", "i64", "-", "i32"},
        /* i64  */ {"f32", "f64", "f16", "bf16", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "-", "i64"},
        /* u8   */ {"f32", "f64", "f16", "bf16", "i16", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u8"},
        /* u16  */ {"f32", "f64", "f16", "bf16", "i32", "i32", "i32", "i64", "u16", "u16", "u32", "u64", "u16"},
        /* u32  */ {"f32", "f64", "f16", "bf16", "i64", "i64", "i64", "i64", "u32", "u32", "u32", "u64", "u32"},
        /* u64  */ {"f32", "f64", "f16", "bf16", "-", "-", "-", "-", "u64", "u64", "u64", "u64", "u64"},
        /* bool */ {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"},
    };
    wick_tensor *yes = wick_ones(ctx, WICK_BOOL, WICK_SCALAR);
    for (int a = 0; a < WICK_DTYPE_COUNT; a++)
        for (int b = 0; b < WICK_DTYPE_COUNT; b++) {
            wick_tensor *x = wick_ones(ctx, (wick_dtype)a, WICK_SCALAR),
                        *y = wick_where(yes, x, wick_zeros(ctx, (wick_dtype)b, WICK_SCALAR));
            const char *text = "";
            wick_status status = wick_tensor_error(y, &text);
            const char *expected = a <= WICK_BOOL && b <= WICK_BOOL ? table[a][b]
                                   : a == b && a < WICK_I4          ? wick_dtype_name((wick_dtype)a)
                                                                    : "-";
            if (expected[0] == '-') {
                CHECK_INT(status, WICK_ERR_DTYPE);
                CHECK_STR_HAS(text, "where");
                CHECK_STR_HAS(text, wick_dtype_name((wick_dtype)a));
                CHECK_STR_HAS(text, wick_dtype_name((wick_dtype)b));
                continue;
            }
            double value = 0;
            CHECK_MSG(status == WICK_OK && strcmp(wick_dtype_name(wick_tensor_dtype(y)), expected) == 0,
                      "%s with %s gives %s, not %s: %s", wick_dtype_name((wick_dtype)a), wick_dtype_name((wick_dtype)b),
                      wick_dtype_name(wick_tensor_dtype(y)), expected, text);
            CHECK(wick_item(y, &value) == WICK_OK && value == 1);
        }
    /* Arithmetic of bools is of integers, division of integers is of floats. */
    CHECK(wick_tensor_dtype(wick_add(yes, yes)) == WICK_I32);
    CHECK(wick_tensor_dtype(wick_div(i64(ctx, WICK_DIMS(1)), i64(ctx, WICK_DIMS(1)))) == WICK_F32);
    CHECK(wick_tensor_dtype(wick_sum(yes, WICK_ALL_AXES, false)) == WICK_I64);
    CHECK(wick_tensor_dtype(wick_eq(yes, yes)) == WICK_BOOL);
    TEARDOWN;
}

/* ---- faults at run time ------------------------------------------------------------------------------------------ */

static wick_tensor *indices(wick_context *ctx, int bad, int64_t value) {
    int64_t values[6] = {0, 1, 2, 0, 1, 2};
    values[bad] = value;
    return wick_from(ctx, WICK_I64, WICK_DIMS(6), values);
}
static void check_fault(wick_context *ctx, wick_tensor *t, const char *op, int line, const char *position) {
    char site[64];
    snprintf(site, sizeof site, "test_errors.c:%d", line);
    CHECK(wick_tensor_error(t, NULL) == WICK_OK); /* known only when it runs */
    CHECK_INT(wick_eval(ctx, 1, &t, NULL), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), op);
    CHECK_STR_HAS(wick_context_error(ctx), site);
    CHECK_STR_HAS(wick_context_error(ctx), position);
}

TEST(an_index_out_of_range_names_op_line_and_position) {
    static const int threads[] = {1, 2, 7};
    for (int k = 0; k < 3; k++) {
        wick_context *ctx = new_context(.threads = threads[k], .seed = 1);
        REQUIRE(ctx != NULL);
        wick_tensor *x = f32(ctx, WICK_DIMS(3, 4)), *wide = f32(ctx, WICK_DIMS(4, 3)),
                    *rows = f32(ctx, WICK_DIMS(6, 3)), *src = f32(ctx, WICK_DIMS(6, 4));
        check_fault(ctx, wick_gather(x, 0, indices(ctx, 4, 3)), "gather", __LINE__, "index number 4");
        check_fault(ctx, wick_gather(wide, 1, indices(ctx, 2, -4)), "gather", __LINE__, "index number 2");
        check_fault(ctx, wick_scatter_add(x, 0, indices(ctx, 5, INT64_MAX), src), "scatter_add", __LINE__,
                    "index number 5");
        check_fault(ctx, wick_cross_entropy(rows, indices(ctx, 3, 3)), "cross_entropy", __LINE__, "row 3");
        check_fault(ctx, wick_cross_entropy(rows, indices(ctx, 0, -1)), "cross_entropy", __LINE__, "row 0");
        /* The extremes that are in range, and what one_hot does instead. */
        wick_tensor *fine = wick_gather(x, 0, indices(ctx, 1, -3)),
                    *hot = wick_one_hot(indices(ctx, 0, 3), 3, WICK_F32);
        double value;
        CHECK(wick_eval(ctx, 1, &fine, NULL) == WICK_OK);
        CHECK(wick_item(wick_sum(hot, WICK_ALL_AXES, false), &value) == WICK_OK && value == 5);
        wick_context_free(&ctx);
    }
}

TEST(a_fault_commits_no_assignment_and_a_sound_run_follows) {
    SETUP;
    wick_tensor *state = wick_ones(ctx, WICK_F32, WICK_DIMS(4)), *other = wick_ones(ctx, WICK_F32, WICK_DIMS(4));
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(3, 4));
    float values[4] = {0};
    for (int sound = 0; sound < 2; sound++) {
        wick_tensor *picked = wick_sum(wick_gather(x, 0, indices(ctx, 4, sound ? 2 : 3)), WICK_AXES(0), false);
        REQUIRE(wick_assign(other, wick_add(other, wick_like(other, 1))) == WICK_OK);
        REQUIRE(wick_assign(state, wick_add(state, picked)) == WICK_OK);
        CHECK_INT(wick_eval(ctx, 0, NULL, NULL), sound ? WICK_OK : WICK_ERR_INDEX);
        if (!sound) CHECK_STR_HAS(wick_context_error(ctx), "gather");
        CHECK(wick_read(state, values, sizeof values) == WICK_OK && values[0] == (sound ? 7 : 1) &&
              values[3] == values[0]);
        CHECK(wick_read(other, values, sizeof values) == WICK_OK && values[0] == (sound ? 2 : 1));
    }
    TEARDOWN;
}

TEST(a_finite_check_names_op_line_and_element) {
    SETUP;
    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(3), (const float[]){1, 0, 2});
    CHECK(wick_check_finite(wick_log(x)) == WICK_OK); const int line = __LINE__;
    CHECK_INT(wick_eval(ctx, 0, NULL, NULL), WICK_ERR_NOT_FINITE);
    char site[64];
    snprintf(site, sizeof site, "test_errors.c:%d", line);
    CHECK_STR_HAS(wick_context_error(ctx), "check_finite");
    CHECK_STR_HAS(wick_context_error(ctx), site);
    CHECK_STR_HAS(wick_context_error(ctx), "element 1");
    CHECK(wick_check_finite(i64(ctx, WICK_DIMS(2))) == WICK_ERR_DTYPE);
    CHECK(wick_tap(x, NULL, NULL) == WICK_ERR_INVALID);
    TEARDOWN;
}

static wick_status pick(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_gather(in[0], 0, in[1]);
    return WICK_OK;
}
TEST(a_compiled_plan_faults_in_its_workspace) {
    SETUP;
    wick_plan *plan = NULL;
    wick_workspace *work = NULL;
    const wick_spec specs[2] = {{"x", WICK_F32, 1, {3}}, {"index", WICK_I64, 1, {2}}};
    REQUIRE(wick_compile(ctx, pick, NULL, 2, specs, 1, NULL, &plan) == WICK_OK);
    REQUIRE(wick_workspace_new(plan, &work) == WICK_OK);
    float x[3] = {5, 6, 7}, y[2];
    int64_t index[2] = {2, 3};
    CHECK_INT(wick_run(work, (const void *[]){x, index}, (void *[]){y}), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_workspace_error(work), "gather");
    CHECK_STR_HAS(wick_workspace_error(work), "test_errors.c:");
    CHECK_STR_HAS(wick_workspace_error(work), "index number 1");
    index[1] = -1;
    CHECK(wick_run(work, (const void *[]){x, index}, (void *[]){y}) == WICK_OK && y[0] == 7 && y[1] == 7);
    wick_workspace_free(&work);
    wick_plan_free(&plan);
    TEARDOWN;
}

int main(int argc, char **argv) { return test_main(argc, argv); }
