/* Gradients as users take them: through what is pending, refused through what is not, of any order, stopped or custom.
 */
#include "tensor/tensors.h"

static wick_tensor *grad1(wick_tensor *loss, wick_tensor *x) {
    wick_tensor *g;
    wick_grad(loss, 1, &x, &g);
    return g;
}
static wick_tensor *total(wick_tensor *x) { return wick_sum(x, WICK_ALL_AXES, false); }

TEST(the_gradient_of_a_sum_of_squares) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, -2, 3), *loss = total(wick_square(x));
    CHECK_VALUES(grad1(loss, x), 2, -4, 6);
    CHECK_VALUES(loss, 14);
    wick_context_free(&ctx);
}

TEST(gradients_flow_to_any_tensor_not_only_leaves) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *h = wick_mul(x, x), *loss = total(wick_mul(h, x)), *g[3];
    wick_grad(loss, 3, (wick_tensor *[]){x, h, loss}, g);
    CHECK_VALUES(g[0], 3, 12);
    CHECK_VALUES(g[1], 1, 2);
    CHECK_VALUES(g[2], 1);
    wick_context_free(&ctx);
}

/* Where gradients meet they are added in an order: the loss's, not that of what else is asked for. */
TEST(a_gradient_has_the_same_bits_whatever_is_computed_with_it) {
    enum { N = 64, READERS = 6 };
    float in[N], got[2][N];
    fill_random(in, N, -1, 1);
    for (int others = 0; others < 2; others++) {
        wick_context *ctx = context();
        wick_tensor *x = vec(ctx, N, in), *loss = wick_constant(ctx, WICK_F32, 0), *out[READERS + 1];
        for (int i = 0; i < READERS; i++) {
            wick_tensor *h = wick_tanh(wick_mul(x, wick_like(x, 0.3 + 0.7 * i)));
            loss = wick_add(loss, total(h));
            out[READERS - 1 - i] = h;
        }
        out[READERS] = grad1(loss, x);
        CHECK_OK(ctx, others ? wick_eval(ctx, READERS + 1, out, NULL) : wick_eval(ctx, 1, &out[READERS], NULL));
        CHECK_OK(ctx, wick_read(out[READERS], got[others], sizeof got[others]));
        wick_context_free(&ctx);
    }
    CHECK(!memcmp(got[0], got[1], sizeof got[0]));
}

TEST(the_same_tensor_twice_gets_its_gradient_twice) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *g[2];
    wick_grad(total(wick_square(x)), 2, (wick_tensor *[]){x, x}, g);
    CHECK_VALUES(g[0], 2, 4);
    CHECK_VALUES(g[1], 2, 4);
    wick_context_free(&ctx);
}

TEST(higher_orders_of_x_to_the_fourth) {
    wick_context *ctx = context();
    wick_tensor *x = wick_full(ctx, WICK_F64, WICK_SCALAR, 3), *y = wick_square(wick_square(x));
    wick_tensor *d1 = grad1(y, x), *d2 = grad1(d1, x), *d3 = grad1(d2, x), *d4 = grad1(d3, x);
    CHECK_VALUES(d4, 24);
    CHECK_VALUES(d1, 108);
    x = wick_full(ctx, WICK_F64, WICK_SCALAR, 3), y = wick_square(wick_square(x));
    d1 = grad1(y, x), d2 = grad1(d1, x), d3 = grad1(d2, x);
    wick_tensor *all[] = {y, d1, d2, d3};
    CHECK_OK(ctx, wick_eval(ctx, 4, all, NULL));
    CHECK_VALUES(y, 81);
    CHECK_VALUES(d1, 108);
    CHECK_VALUES(d2, 108);
    CHECK_VALUES(d3, 72);
    wick_context_free(&ctx);
}

TEST(a_gradient_inside_a_loss) { /* a gradient penalty: d/dx sum((d sum(x^3)/dx)^2) = d/dx 9 x^4 = 36 x^3 */
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *g = grad1(total(wick_mul(wick_square(x), x)), x);
    CHECK_VALUES(grad1(total(wick_square(g)), x), 36, 288);
    wick_context_free(&ctx);
}

TEST(a_tensor_that_the_loss_does_not_reach_is_an_error) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *other = VEC(ctx, 1, 2), *g[2];
    wick_grad(total(x), 2, (wick_tensor *[]){x, other}, g);
    CHECK_POISON(g[0], WICK_ERR_INVALID, "does not depend on tensor 1");
    CHECK_POISON(g[1], WICK_ERR_INVALID, "test_gradients.c:");
    /* made again: another value */
    CHECK_POISON(grad1(total(wick_neg(x)), wick_neg(x)), WICK_ERR_INVALID, "does not depend on tensor 0");
    wick_context_free(&ctx);
}

TEST(gradients_through_evaluated_values_are_refused_by_name) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *h = wick_exp(x), *loss = total(wick_mul(h, x));
    CHECK_OK(ctx, wick_eval(ctx, 1, &h, NULL));
    CHECK_POISON(grad1(loss, x), WICK_ERR_INVALID, "leads through exp (recorded at ");
    CHECK_POISON(grad1(loss, x), WICK_ERR_INVALID, "evaluated already");
    CHECK(wick_tensor_error(grad1(loss, h), NULL) == WICK_OK); /* up to there it may go */
    wick_tensor *whole = total(wick_square(x));
    CHECK_VALUES(whole, 5);
    CHECK_OK(ctx, wick_eval(ctx, 1, &whole, NULL));
    CHECK_POISON(grad1(whole, x), WICK_ERR_INVALID, "the loss has been evaluated already");
    CHECK_VALUES(grad1(total(wick_mul(wick_stop_gradient(h), x)), x), item(wick_slice(h, 0, 0, 1, 1)),
                 item(wick_slice(h, 0, 1, 2, 1)));
    wick_context_free(&ctx);
}

/* What is evaluated after wick_grad and before its results is a leaf by then: refused as well, not left out. */
TEST(a_gradient_whose_path_was_evaluated_meanwhile_is_refused) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2, 3), *h = wick_exp(x), *back = wick_flip(x, 0, NULL);
    wick_tensor *loss = total(wick_add(wick_mul(h, x), back)), *g = grad1(loss, x), *of_h = grad1(loss, h);
    CHECK_OK(ctx, wick_eval(ctx, 1, &h, NULL));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "leads through exp (recorded at ", wick_eval(ctx, 1, &g, NULL));
    CHECK_VALUES(of_h, 1, 2, 3); /* as far as there */
    CHECK(isfinite(item(loss)));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "the loss has been evaluated since", wick_eval(ctx, 1, &g, NULL));

    loss = total(wick_mul(back, x)), g = grad1(loss, x); /* a view of data: no computation, but a path */
    CHECK_OK(ctx, wick_eval(ctx, 1, &back, NULL));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "leads through slice", wick_eval(ctx, 1, &g, NULL));
    back = wick_flip(x, 0, NULL), loss = total(wick_mul(back, x)), g = grad1(loss, x);
    CHECK_OK(ctx, wick_eval(ctx, 3, (wick_tensor *[]){back, loss, g}, NULL));
    CHECK_VALUES(g, 6, 4, 2);
    CHECK_VALUES(back, 3, 2, 1);
    wick_context_free(&ctx);
}

TEST(an_update_by_a_gradient_that_is_refused_is_dropped) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *other = VEC(ctx, 5), *loss = total(wick_square(x)), *g = grad1(loss, x);
    CHECK_OK(ctx, wick_eval(ctx, 1, &loss, NULL));
    CHECK_OK(ctx, wick_assign(other, wick_neg(other)));
    /* no effect needs it: they stay */
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "grad (recorded at ", wick_eval(ctx, 1, &g, NULL));
    CHECK_VALUES(other, -5);
    CHECK_OK(ctx, wick_assign(x, wick_sub(x, g)));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "1 pending effects dropped: grad (recorded at ", wick_eval(ctx, 0, NULL, NULL));
    CHECK_VALUES(x, 1, 2);
    wick_context_free(&ctx);
}

TEST(a_loss_that_is_not_one_float_is_refused) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *i = wick_from(ctx, WICK_I64, WICK_SCALAR, (int64_t[]){3});
    CHECK_POISON(grad1(wick_neg(x), x), WICK_ERR_SHAPE, "one number");
    CHECK_POISON(grad1(wick_neg(i), i), WICK_ERR_SHAPE, "float type");
    CHECK_POISON(grad1(wick_cast(wick_neg(i), WICK_F32), i), WICK_ERR_DTYPE, "integers");
    wick_context_free(&ctx);
}

TEST(stop_gradient_is_a_constant_to_gradients) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2);
    CHECK_VALUES(grad1(total(wick_mul(x, wick_stop_gradient(wick_square(x)))), x), 1, 4);
    CHECK_VALUES(grad1(total(wick_stop_gradient(x)), x), 0, 0);
    wick_context_free(&ctx);
}

TEST(gradients_of_views_and_broadcasts_have_the_inputs_shape) {
    wick_context *ctx = context();
    wick_tensor *x = wick_reshape(VEC(ctx, 1, 2, 3, 4, 5, 6), WICK_DIMS(2, 3)), *b = VEC(ctx, 1, 1, 1), *g[2];
    wick_tensor *y = wick_add(wick_slice(wick_transpose(x, 0, 1), 0, 2, INT64_MIN, -2), wick_slice(b, 0, 0, 1, 1));
    wick_grad(total(wick_square(y)), 2, (wick_tensor *[]){x, b}, g);
    CHECK_VALUES(g[0], 4, 0, 8, 10, 0, 14);
    CHECK_VALUES(g[1], 36, 0, 0);
    wick_tensor *d = wick_reshape(VEC(ctx, 1, 2, 3, 4), WICK_DIMS(2, 2));
    CHECK_VALUES(grad1(total(wick_mul(wick_diagonal(d, 0, 0, 1), VEC(ctx, 5, 7))), d), 5, 0, 0, 7);
    wick_context_free(&ctx);
}

TEST(a_gradient_passes_through_an_assignment) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *s = VEC(ctx, 0, 0);
    CHECK_OK(ctx, wick_assign(s, wick_mul(x, x)));
    CHECK_VALUES(grad1(total(wick_mul(s, x)), x), 3, 12);
    CHECK_VALUES(s, 1, 4);
    wick_context_free(&ctx);
}

/* ---- custom gradients -------------------------------------------------------------------------------------------- */

static int rule_calls;
static void straight_through(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs,
                             wick_tensor **gx) {
    rule_calls++;
    if (n == 1 && wick_tensor_count(xs[0]) == wick_tensor_count(y)) gx[0] = wick_mul(g, wick_like(g, *(double *)user));
}
static void wrong_shape(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)user, (void)y, (void)n, (void)xs;
    gx[0] = wick_sum(g, WICK_ALL_AXES, false);
}
static void none(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)user, (void)g, (void)y, (void)n, (void)xs, (void)gx;
}

TEST(a_custom_gradient_replaces_the_ops_own) {
    wick_context *ctx = context();
    static double factor = 3;
    wick_tensor *x = VEC(ctx, 0.4f, 1.6f), *y = wick_custom_gradient(wick_round(x), 1, &x, straight_through, &factor);
    wick_tensor *loss = total(wick_mul(y, y)), *g = grad1(loss, x);
    rule_calls = 0;
    CHECK_VALUES(g, 0, 12); /* 2 y, which is 0 and 2, times 3 */
    CHECK_INT(rule_calls, 1);
    CHECK_VALUES(y, 0, 2);
    y = wick_custom_gradient(wick_round(x), 1, &x, none, NULL); /* NULL is zero */
    CHECK_VALUES(grad1(total(y), x), 0, 0);
    wick_context_free(&ctx);
}

TEST(a_custom_gradient_of_the_wrong_shape_is_an_error) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *y = wick_custom_gradient(wick_exp(x), 1, &x, wrong_shape, NULL),
                *g = grad1(total(y), x);
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "not of its tensor's shape", wick_eval(ctx, 1, &g, NULL));
    CHECK_POISON(wick_custom_gradient(x, 1, &x, NULL, NULL), WICK_ERR_INVALID, "needs a rule");
    CHECK_VALUES(y, (double)(float)item(wick_slice(wick_exp(x), 0, 0, 1, 1)),
                 (double)(float)item(wick_slice(wick_exp(x), 0, 1, 2, 1)));
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
