/* Handles, scopes and poison: who frees what, what an error remembers, and that neither depth nor length matters. */
#include "tensor/tensors.h"

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

static void count_release(void *user) { ++*(int *)user; }
static wick_tensor *watched(wick_context *ctx, int *released) {
    static const float data[2] = {1, 2};
    return wick_wrap(ctx, WICK_F32, WICK_DIMS(2), NULL, data, count_release, released);
}

TEST(tensors_die_with_the_scope_they_were_made_in) {
    wick_context *ctx = context();
    int outer = 0, inner = 0;
    wick_scope *a = wick_scope_open(ctx);
    watched(ctx, &outer);
    wick_scope *b = wick_scope_open(ctx);
    watched(ctx, &inner);
    wick_scope_close(&b);
    CHECK(b == NULL);
    CHECK_INT(inner, 1);
    CHECK_INT(outer, 0);
    wick_scope_close(&a);
    CHECK_INT(outer, 1);
    wick_scope_close(&a);
    wick_context_free(&ctx);
}

TEST(closing_a_scope_closes_those_opened_after_it) {
    wick_context *ctx = context();
    int released = 0;
    wick_scope *a = wick_scope_open(ctx);
    wick_scope_open(ctx);
    watched(ctx, &released);
    wick_scope_open(ctx);
    watched(ctx, &released);
    wick_scope_close(&a);
    CHECK_INT(released, 2);
    watched(ctx, &released); /* belongs to the context's own scope again */
    wick_context_free(&ctx);
    CHECK_INT(released, 3);
}

TEST(keep_moves_a_tensor_one_scope_out) {
    wick_context *ctx = context();
    int released = 0;
    wick_scope *a = wick_scope_open(ctx), *b = wick_scope_open(ctx);
    wick_tensor *x = watched(ctx, &released);
    CHECK(wick_keep(x) == x);
    wick_scope_close(&b);
    CHECK_INT(released, 0);
    CHECK_VALUES(x, 1, 2);
    wick_scope_close(&a);
    CHECK_INT(released, 1);
    wick_tensor *last = watched(ctx, &released);
    CHECK(wick_keep(last) == last); /* nowhere to go */
    wick_context_free(&ctx);
    CHECK_INT(released, 2);
}

TEST(retain_lives_until_freed_and_free_is_null_safe) {
    wick_context *ctx = context();
    int released = 0;
    wick_scope *a = wick_scope_open(ctx);
    wick_tensor *x = wick_retain(watched(ctx, &released)), *again = wick_retain(x);
    CHECK(again == x);
    wick_scope_close(&a);
    CHECK_VALUES(x, 1, 2);
    wick_tensor_free(&again);
    CHECK(again == NULL);
    CHECK_INT(released, 0);
    wick_tensor_free(&x);
    CHECK_INT(released, 1);
    wick_tensor_free(&x);
    wick_tensor_free(NULL);
    CHECK(wick_retain(NULL) == NULL);
    CHECK(wick_keep(NULL) == NULL);
    wick_context_free(&ctx);
    wick_context_free(&ctx);
    wick_context_free(NULL);
    wick_scope_close(NULL);
}

TEST(free_takes_a_tensor_out_of_its_scope_early) {
    wick_context *ctx = context();
    int released = 0;
    wick_scope *a = wick_scope_open(ctx);
    wick_tensor *x = watched(ctx, &released), *y = watched(ctx, &released), *z = watched(ctx, &released);
    wick_tensor_free(&y);
    CHECK_INT(released, 1);
    wick_tensor_free(&x);
    wick_tensor_free(&z);
    CHECK_INT(released, 3);
    wick_scope_close(&a);
    CHECK_INT(released, 3);
    wick_context_free(&ctx);
}

TEST(a_retained_pending_value_outlives_its_scope_and_its_inputs) {
    wick_context *ctx = context();
    wick_scope *a = wick_scope_open(ctx);
    wick_tensor *y = wick_retain(wick_mul(VEC(ctx, 1, 2, 3), VEC(ctx, 4, 5, 6)));
    wick_scope_close(&a);
    CHECK_VALUES(y, 4, 10, 18);
    wick_tensor_free(&y);
    wick_context_free(&ctx);
}

/* ---- poison ------------------------------------------------------------------------------------------------------ */

TEST(a_mistake_names_op_shapes_and_the_callers_line) {
    wick_context *ctx = context();
    wick_tensor *a = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3)), *b = wick_ones(ctx, WICK_F32, WICK_DIMS(4, 5));
    char line[64];
    snprintf(line, sizeof line, "test_lifetime.c:%d)", __LINE__ + 1);
    wick_tensor *y = wick_matmul(a, b);
    CHECK_POISON(y, WICK_ERR_SHAPE, "matmul(f32[2,3], f32[4,5])");
    CHECK_POISON(y, WICK_ERR_SHAPE, line);
    snprintf(line, sizeof line, "test_lifetime.c:%d", __LINE__ + 1);
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, line, wick_assign(a, b));
    wick_context_free(&ctx);
}

TEST(poison_remembers_the_first_error_through_a_chain) {
    wick_context *ctx = context();
    wick_tensor *bad = wick_add(VEC(ctx, 1, 2), VEC(ctx, 1, 2, 3));
    wick_tensor *y = wick_exp(wick_matmul(bad, wick_add(VEC(ctx, 1), wick_ones(ctx, WICK_F32, WICK_DIMS(7, 7)))));
    wick_tensor *z = wick_reshape(wick_concat(2, (wick_tensor *[]){VEC(ctx, 1), wick_softmax(y, 0)}, 0), WICK_DIMS(3));
    CHECK_POISON(z, WICK_ERR_SHAPE, "add(f32[2], f32[3])");
    double v;
    const void *p;
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "add(f32[2], f32[3])", wick_item(z, &v));
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "add(f32[2], f32[3])", wick_data(z, &p));
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "add(f32[2], f32[3])", wick_eval(ctx, 1, &z, NULL));
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "add(f32[2], f32[3])", wick_check_finite(z));
    CHECK(!wick_tensor_ready(z));
    CHECK_INT(wick_tensor_rank(z), 0);
    CHECK_INT(wick_tensor_count(z), 0);
    wick_tensor *g[2];
    wick_grad(z, 2, (wick_tensor *[]){z, VEC(ctx, 1)}, g);
    CHECK_POISON(g[0], WICK_ERR_SHAPE, "add(f32[2], f32[3])");
    CHECK_POISON(g[1], WICK_ERR_SHAPE, "add(f32[2], f32[3])");
    wick_context_free(&ctx);
}

TEST(a_null_argument_is_named_by_its_place) {
    wick_context *ctx = context();
    CHECK_POISON(wick_add(VEC(ctx, 1), NULL), WICK_ERR_INVALID, "add: argument 2 is NULL (at ");
    CHECK_POISON(wick_matmul(NULL, VEC(ctx, 1)), WICK_ERR_INVALID, "matmul: argument 1 is NULL");
    CHECK_POISON(wick_concat(3, (wick_tensor *[]){VEC(ctx, 1), VEC(ctx, 1), NULL}, 0), WICK_ERR_INVALID,
                 "concat: argument 3 is NULL");
    CHECK_POISON(wick_neg(NULL), WICK_ERR_INVALID, "NULL");
    CHECK_POISON(wick_linear(NULL, NULL, NULL), WICK_ERR_INVALID, "NULL");
    double v;
    CHECK_INT(wick_item(NULL, &v), WICK_ERR_INVALID);
    CHECK_INT(wick_eval(ctx, 1, &(wick_tensor *){NULL}, NULL), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "NULL");
    wick_context_free(&ctx);
}

TEST(an_error_dies_with_the_last_tensor_that_has_it) {
    wick_context *ctx = context();
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y = wick_retain(wick_neg(wick_add(VEC(ctx, 1, 2), VEC(ctx, 1, 2, 3))));
    wick_scope_close(&scope);
    CHECK_POISON(y, WICK_ERR_SHAPE, "add");
    wick_tensor_free(&y);
    wick_context_free(&ctx);
}

TEST(mixing_contexts_is_an_error) {
    wick_context *a = context(), *b = context();
    CHECK_POISON(wick_add(VEC(a, 1), VEC(b, 1)), WICK_ERR_INVALID, "different contexts");
    wick_context_free(&a);
    wick_context_free(&b);
}

/* ---- depth and length -------------------------------------------------------------------------------------------- */

TEST(a_chain_of_100000_nodes_evaluates_and_dies_without_recursion) {
    enum { NODES = TEST_SANITIZED ? 20000 : 100000 };
    for (int eager = 0; eager < 2; eager++) {
        wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .eager = eager});
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x = wick_zeros(ctx, WICK_F64, WICK_DIMS(2)), *one = VEC(ctx, 1);
        for (int i = 0; i < NODES; i++) x = wick_add(x, one);
        CHECK_VALUES(x, NODES, NODES);
        wick_tensor *y = x;
        for (int i = 0; i < NODES; i++) y = wick_sub(y, one);
        y = wick_retain(y);
        wick_scope_close(&scope); /* the chain is held by y alone */
        wick_tensor_free(&y);     /* and dies at once, unevaluated */
        CHECK_INT(wick_context_get_stats(ctx).pending_nodes, 0);
        wick_context_free(&ctx);
    }
}

TEST(a_5000_step_unrolled_rnn_has_gradients) {
    wick_context *ctx = context();
    enum { STEPS = 5000, B = 2, H = 3 };
    float wv[H * H], xv[B * H];
    fill_random(wv, H * H, -0.4, 0.4);
    fill_random(xv, B * H, -1, 1);
    wick_tensor *w = wick_from(ctx, WICK_F32, WICK_DIMS(H, H), wv), *x = wick_from(ctx, WICK_F32, WICK_DIMS(B, H), xv),
                *h = x;
    for (int i = 0; i < STEPS; i++) h = wick_tanh(wick_add(wick_matmul(h, w), x));
    wick_tensor *loss = wick_sum(wick_square(h), WICK_ALL_AXES, false), *g[2];
    wick_grad(loss, 2, (wick_tensor *[]){w, x}, g);
    wick_tensor *all[] = {loss, g[0], g[1]};
    CHECK_OK(ctx, wick_eval(ctx, 3, all, NULL));
    double total = item(loss), before[B][H], ref = 0;
    for (int b = 0; b < B; b++)
        for (int k = 0; k < H; k++) before[b][k] = xv[b * H + k];
    for (int i = 0; i < STEPS; i++)
        for (int b = 0; b < B; b++) {
            double next[H];
            for (int k = 0; k < H; k++) {
                next[k] = xv[b * H + k];
                for (int j = 0; j < H; j++) next[k] += before[b][j] * wv[j * H + k];
                next[k] = tanh(next[k]);
            }
            memcpy(before[b], next, sizeof next);
        }
    for (int b = 0; b < B; b++)
        for (int k = 0; k < H; k++) ref += before[b][k] * before[b][k];
    CHECK_MSG(fabs(total - ref) < 1e-4 * ref, "%g, not %g", total, ref);
    double gw[H * H];
    CHECK(values(g[0], gw, H * H));
    for (int i = 0; i < H * H; i++) CHECK(isfinite(gw[i]) && gw[i] != 0);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
