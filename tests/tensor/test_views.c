/* Views: what they show, that they move no data, and that assigning through one updates its base. */
#include "tensor/tensors.h"

static wick_tensor *grid(wick_context *ctx) {
    return wick_reshape(wick_arange(ctx, WICK_F32, 0, 1, 12), WICK_DIMS(3, 4));
}
static wick_tensor *grid_data(wick_context *ctx) {
    float v[12];
    for (int i = 0; i < 12; i++) v[i] = (float)i;
    return wick_from(ctx, WICK_F32, WICK_DIMS(3, 4), v);
}

TEST(views_show_the_right_elements) {
    wick_context *ctx = context();
    wick_tensor *x = grid(ctx);
    CHECK_VALUES(wick_transpose(x, 0, 1), 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
    CHECK_VALUES(wick_slice(x, 1, 3, INT64_MIN, -2), 3, 1, 7, 5, 11, 9);
    CHECK_VALUES(wick_slice(x, 0, -2, INT64_MAX, 1), 4, 5, 6, 7, 8, 9, 10, 11);
    CHECK_VALUES(wick_diagonal(x, 0, 0, 1), 0, 5, 10);
    CHECK_VALUES(wick_diagonal(x, 1, 0, 1), 1, 6, 11);
    CHECK_VALUES(wick_diagonal(x, -1, 0, 1), 4, 9);
    CHECK_VALUES(wick_expand(wick_slice(x, 1, 0, 1, 1), WICK_DIMS(2, 3, 2)), 0, 0, 4, 4, 8, 8, 0, 0, 4, 4, 8, 8);
    CHECK_VALUES(wick_reshape(wick_transpose(x, 0, 1), WICK_DIMS(2, -1)), 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
    CHECK_INT(wick_tensor_rank(wick_squeeze(wick_unsqueeze(x, 0), 0)), 2);
    CHECK_INT(wick_tensor_dim(wick_flatten(x, 0), 0), 12);
    CHECK_VALUES(wick_slice(wick_slice(x, 1, 1, 4, 2), 0, 2, 0, -1), 9, 11, 5, 7);
    wick_context_free(&ctx);
}

/* A view of memory is that memory: as many bytes are held as before. */
TEST(views_of_data_share_its_memory_after_eval) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx);
    const void *base = NULL, *p = NULL;
    CHECK_OK(ctx, wick_data(x, &base));
    size_t held = wick_context_get_stats(ctx).tensor_bytes;
    wick_tensor *flat = wick_flatten(x, 0), *row = wick_slice(x, 0, 1, 2, 1), *part = wick_slice(flat, 0, 6, 9, 1),
                *same = wick_transpose(wick_transpose(x, 0, 1), 0, 1), *stopped = wick_stop_gradient(x);
    wick_tensor *views[] = {flat, row, part, same, stopped};
    CHECK_OK(ctx, wick_eval(ctx, 5, views, NULL));
    CHECK_OK(ctx, wick_data(flat, &p));
    CHECK(p == base);
    CHECK_OK(ctx, wick_data(row, &p));
    CHECK(p == (const float *)base + 4);
    CHECK_OK(ctx, wick_data(part, &p));
    CHECK(p == (const float *)base + 6);
    CHECK_OK(ctx, wick_data(same, &p));
    CHECK(p == base);
    CHECK_OK(ctx, wick_data(stopped, &p));
    CHECK(p == base);
    wick_tensor *strided[] = {wick_transpose(x, 0, 1), wick_slice(x, 1, 3, INT64_MIN, -2), wick_diagonal(x, 1, 0, 1),
                              wick_expand(x, WICK_DIMS(1000, 3, 4))};
    CHECK_OK(ctx, wick_eval(ctx, 4, strided, NULL));
    CHECK_INT(wick_context_get_stats(ctx).tensor_bytes, (long long)held);
    CHECK_VALUES(strided[0], 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
    CHECK_VALUES(strided[1], 3, 1, 7, 5, 11, 9);
    CHECK_VALUES(strided[2], 1, 6, 11);
    wick_context_free(&ctx);
}

TEST(an_evaluated_view_keeps_its_values_when_the_base_is_assigned) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx), *row = wick_slice(x, 0, 1, 2, 1);
    CHECK_OK(ctx, wick_eval(ctx, 1, &row, NULL));
    CHECK_OK(ctx, wick_assign(x, wick_mul(x, wick_like(x, 2))));
    CHECK_VALUES(row, 4, 5, 6, 7);
    CHECK_VALUES(x, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22);
    CHECK_OK(ctx, wick_write(x, (float[12]){0}, 48));
    CHECK_VALUES(row, 4, 5, 6, 7);
    wick_context_free(&ctx);
}

TEST(a_view_of_wrapped_memory_is_that_memory) {
    wick_context *ctx = context();
    float data[6] = {1, 2, 3, 4, 5, 6};
    wick_tensor *x = wick_wrap(ctx, WICK_F32, WICK_DIMS(6), NULL, data, NULL, NULL), *v = wick_slice(x, 0, 2, 5, 1);
    const void *p = NULL;
    CHECK_OK(ctx, wick_data(v, &p));
    CHECK(p == data + 2);
    wick_context_free(&ctx);
}

TEST(view_errors_name_the_shapes) {
    wick_context *ctx = context();
    wick_tensor *x = grid(ctx);
    CHECK_POISON(wick_reshape(x, WICK_DIMS(5, 2)), WICK_ERR_SHAPE, "12 elements do not fill");
    CHECK_POISON(wick_reshape(x, WICK_DIMS(-1, -1)), WICK_ERR_SHAPE, "only one extent");
    CHECK_POISON(wick_reshape(x, WICK_DIMS(-1, 5)), WICK_ERR_SHAPE, "do not divide");
    CHECK_POISON(wick_permute(x, 2, (int[]){0, 0}), WICK_ERR_SHAPE, "once");
    CHECK_POISON(wick_transpose(x, 0, 2), WICK_ERR_SHAPE, "axes 0 and 2");
    CHECK_POISON(wick_slice(x, 2, 0, 1, 1), WICK_ERR_SHAPE, "slice");
    CHECK_POISON(wick_slice(x, 0, 0, 1, 0), WICK_ERR_INVALID, "step");
    CHECK_POISON(wick_expand(x, WICK_DIMS(3, 5)), WICK_ERR_SHAPE, "broadcast");
    CHECK_POISON(wick_squeeze(x, 0), WICK_ERR_SHAPE, "extent 1");
    CHECK_POISON(wick_diagonal(x, 0, 1, 1), WICK_ERR_SHAPE, "axes 1 and 1");
    wick_context_free(&ctx);
}

/* ---- assignment through views ------------------------------------------------------------------------------------ */

TEST(assigning_through_a_slice_updates_its_base) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx), *v = wick_slice(x, 1, 3, 0, -2);
    CHECK_OK(ctx, wick_assign(v, wick_neg(v)));
    CHECK_VALUES(x, 0, -1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11);
    CHECK_VALUES(v, -3, -1, -7, -5, -11, -9);
    wick_context_free(&ctx);
}
TEST(assigning_through_a_reshape_updates_its_base) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx), *v = wick_reshape(x, WICK_DIMS(2, 6));
    CHECK_OK(ctx, wick_assign(v, wick_add(v, wick_like(v, 100))));
    CHECK_VALUES(x, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111);
    CHECK_INT(wick_tensor_rank(x), 2);
    CHECK_INT(wick_tensor_dim(v, 1), 6);
    wick_context_free(&ctx);
}
TEST(assigning_through_a_permutation_updates_its_base) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx), *v = wick_transpose(x, 0, 1);
    CHECK_OK(ctx, wick_assign(v, wick_reshape(wick_arange(ctx, WICK_F32, 0, 1, 12), WICK_DIMS(4, 3))));
    CHECK_VALUES(x, 0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11);
    wick_context_free(&ctx);
}
TEST(assigning_through_a_diagonal_updates_its_base) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx), *v = wick_diagonal(x, 1, 0, 1);
    CHECK_OK(ctx, wick_assign(v, VEC(ctx, -1, -2, -3)));
    CHECK_VALUES(x, 0, -1, 2, 3, 4, 5, -2, 7, 8, 9, 10, -3);
    wick_context_free(&ctx);
}
TEST(assigning_through_a_chain_of_views_updates_the_base) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx);
    wick_tensor *v = wick_slice(wick_flatten(wick_transpose(wick_slice(x, 0, 0, 2, 1), 0, 1), 0), 0, 1, 8, 3);
    CHECK_VALUES(v, 4, 2, 7);
    CHECK_OK(ctx, wick_assign(v, VEC(ctx, -4, -2, -7)));
    CHECK_VALUES(x, 0, 1, -2, 3, -4, 5, 6, -7, 8, 9, 10, 11);
    CHECK_VALUES(v, -4, -2, -7);
    wick_context_free(&ctx);
}
TEST(assigning_through_an_evaluated_view_updates_its_base) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx), *v = wick_slice(x, 0, 1, 2, 1);
    CHECK_VALUES(v, 4, 5, 6, 7);
    CHECK_OK(ctx, wick_eval(ctx, 1, &v, NULL)); /* somebody looked at it */
    CHECK_OK(ctx, wick_assign(v, wick_neg(v)));
    CHECK_VALUES(x, 0, 1, 2, 3, -4, -5, -6, -7, 8, 9, 10, 11);
    CHECK_VALUES(v, -4, -5, -6, -7);
    CHECK_OK(ctx, wick_assign(v, wick_neg(v)));
    CHECK_VALUES(x, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    wick_context_free(&ctx);
}
TEST(two_views_of_one_base_are_assigned_one_after_the_other) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx), *before = wick_add(x, wick_like(x, 0.5));
    wick_tensor *top = wick_slice(x, 0, 0, 1, 1);
    CHECK_OK(ctx, wick_assign(top, wick_mul(top, wick_like(top, 10))));
    wick_tensor *left = wick_slice(x, 1, 0, 1, 1);
    CHECK_OK(ctx, wick_assign(left, wick_reshape(VEC(ctx, -1, -2, -3), WICK_DIMS(3, 1))));
    CHECK_VALUES(x, -1, 10, 20, 30, -2, 5, 6, 7, -3, 9, 10, 11);
    CHECK_VALUES(before, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5);
    wick_context_free(&ctx);
}
TEST(assignments_that_cannot_be_are_refused) {
    wick_context *ctx = context();
    wick_tensor *x = grid_data(ctx);
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "different shapes", wick_assign(x, VEC(ctx, 1)));
    CHECK_FAILS(ctx, WICK_ERR_DTYPE, "different dtypes", wick_assign(x, wick_cast(x, WICK_F64)));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "not a state", wick_assign(wick_neg(x), x));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "expanded",
                wick_assign(wick_expand(x, WICK_DIMS(2, 3, 4)), wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3, 4))));
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "different shapes", wick_assign(wick_slice(x, 0, 0, 1, 1), x));
    wick_tensor *old = wick_slice(x, 0, 0, 1, 1);
    CHECK_OK(ctx, wick_assign(x, wick_neg(x)));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "current version", wick_assign(old, old)); /* shows the version before */
    CHECK_VALUES(x, 0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
