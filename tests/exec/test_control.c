/* scan, loop and if: values and gradients as of the same steps written out, in every way to run; and what is refused.
 */
#include "tensor/tensors.h"

enum { T = 5, B = 2, H = 3 };

static wick_context *context_of(int threads, bool eager) {
    wick_context *ctx = NULL;
    setenv("WICK_VERIFY", "1", 1);
    return wick_context_new(&(wick_context_options){.threads = threads, .eager = eager, .seed = 3}, &ctx) == WICK_OK
               ? ctx
               : NULL;
}
static wick_tensor *random_of(wick_context *ctx, int rank, const int64_t *dims) {
    double v[64] = {0};
    wick_tensor *t = wick_random_normal(ctx, WICK_F64, rank, dims);
    CHECK_OK(ctx, wick_read(t, v, (size_t)wick_tensor_count(t) * sizeof *v));
    return wick_from(ctx, WICK_F64, rank, dims, v);
}
static double worst_distance(wick_tensor *a, wick_tensor *b) {
    double d = -1;
    wick_context *ctx = wick_tensor_context(a);
    CHECK_OK(ctx, wick_item(wick_max(wick_abs(wick_sub(a, b)), WICK_ALL_AXES, false), &d));
    return d;
}

/* h = tanh(x + h W), y = h * h; W is captured. */
typedef struct cell {
    wick_tensor *w;
} cell;
static wick_status rnn_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const cell *c = user;
    out[0] = wick_tanh(wick_add(in[1], wick_matmul(in[0], c->w)));
    out[1] = wick_mul(out[0], out[0]);
    return WICK_OK;
}
static void rnn(wick_tensor *h, wick_tensor *x, cell *c, bool scan, bool reverse, wick_tensor **out) {
    wick_context *ctx = wick_tensor_context(x);
    if (scan) {
        wick_scan_loop(ctx, rnn_body, c,
                       &(wick_scan_options){.n_state = 1, .state = &h, .n_x = 1, .x = &x, .n_y = 1, .reverse = reverse},
                       out);
        return;
    }
    wick_tensor *rows[T];
    for (int s = 0; s < T; s++) {
        const int t = reverse ? T - 1 - s : s;
        wick_tensor *made[2];
        (void)!rnn_body(ctx, (wick_tensor *[]){h, wick_squeeze(wick_slice(x, 0, t, t + 1, 1), 0)}, made, c);
        h = made[0];
        rows[t] = wick_unsqueeze(made[1], 0);
    }
    out[0] = h;
    out[1] = wick_concat(T, rows, 0);
}
static wick_tensor *loss_of(wick_tensor *const *out) {
    wick_tensor *a = wick_sum(wick_sin(out[0]), WICK_ALL_AXES, false);
    wick_tensor *w = wick_arange(wick_tensor_context(a), WICK_F64, 0.3, 0.1, wick_tensor_count(out[1]));
    return wick_add(a, wick_sum(wick_mul(out[1], wick_reshape(w, wick_tensor_rank(out[1]), wick_tensor_dims(out[1]))),
                                WICK_ALL_AXES, false));
}

TEST(a_scan_is_its_rounds_written_out) {
    uint8_t first[4][8];
    for (int way = 0; way < 3; way++)
        for (int reverse = 0; reverse < 2; reverse++) {
            wick_context *ctx = context_of(way == 1 ? 3 : 1, way == 2);
            REQUIRE(ctx != NULL);
            cell c = {random_of(ctx, 2, (int64_t[]){H, H})};
            wick_tensor *h = random_of(ctx, 2, (int64_t[]){B, H}), *x = random_of(ctx, 3, (int64_t[]){T, B, H}),
                        *grads[2][3], *out[2][2], *losses[2];
            for (int k = 0; k < 2; k++) {
                rnn(h, x, &c, k, reverse, out[k]);
                losses[k] = loss_of(out[k]);
                wick_grad(losses[k], 3, (wick_tensor *[]){h, x, c.w}, grads[k]);
            }
            wick_tensor *all[] = {losses[0],   losses[1],   out[0][0],   out[1][0],   out[0][1],   out[1][1],
                                  grads[0][0], grads[1][0], grads[0][1], grads[1][1], grads[0][2], grads[1][2]};
            CHECK_OK(ctx, wick_eval(ctx, sizeof all / sizeof *all, all, NULL));
            for (int k = 0; k < 12; k += 2)
                CHECK_MSG(worst_distance(all[k], all[k + 1]) < 1e-13, "way %d, reverse %d, value %d: %g", way, reverse,
                          k / 2, worst_distance(all[k], all[k + 1]));
            double value = 0;
            CHECK_OK(ctx, wick_item(losses[1], &value));
            if (way == 0) memcpy(first[reverse], &value, 8);
            CHECK(memcmp(first[reverse], &value, 8) == 0); /* the same bits on 3 threads, and without passes */
            wick_context_free(&ctx);
        }
}

static wick_tensor *scan_loss(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)ctx, (void)user;
    cell c = {x[2]};
    wick_tensor *out[2];
    rnn(x[0], x[1], &c, true, false, out);
    return loss_of(out);
}
static wick_tensor *scan_gradient_loss(wick_context *ctx, wick_tensor *const *x, void *user) {
    wick_tensor *g[3], *loss = scan_loss(ctx, x, user);
    wick_grad(loss, 3, x, g);
    wick_tensor *sum = NULL;
    for (int i = 0; i < 3; i++) {
        wick_tensor *part = wick_sum(wick_mul(g[i], wick_sin(g[i])), WICK_ALL_AXES, false);
        sum = sum ? wick_add(sum, part) : part;
    }
    return sum;
}
TEST(gradients_of_any_order_agree_with_differences) {
    wick_context *ctx = context_of(1, false);
    REQUIRE(ctx != NULL);
    wick_tensor *x[3] = {random_of(ctx, 2, (int64_t[]){B, H}), random_of(ctx, 3, (int64_t[]){T, B, H}),
                         random_of(ctx, 2, (int64_t[]){H, H})};
    CHECK_OK(ctx, wick_gradcheck(ctx, scan_loss, NULL, 3, x, 0, 0, NULL));
    CHECK_OK(ctx, wick_gradcheck(ctx, scan_gradient_loss, NULL, 3, x, 1e-5, 1e-5, NULL));
    wick_context_free(&ctx);
}

/* ---- if ---------------------------------------------------------------------------------------------------------- */

static wick_status double_it(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    wick_tensor **x = user;
    out[0] = wick_mul(x[0], wick_like(x[0], 2));
    return WICK_OK;
}
static wick_status square_it(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    wick_tensor **x = user;
    out[0] = wick_mul(wick_mul(x[0], x[0]), x[1]);
    return WICK_OK;
}
static wick_tensor *branch_loss(wick_context *ctx, wick_tensor *const *x, void *user) {
    wick_tensor *out;
    wick_if(ctx, user, double_it, square_it, (void *)(uintptr_t)x, 1, &out);
    return wick_sum(wick_sin(out), WICK_ALL_AXES, false);
}
TEST(an_if_is_one_of_its_bodies) {
    for (int eager = 0; eager < 2; eager++) {
        wick_context *ctx = context_of(2, eager);
        REQUIRE(ctx != NULL);
        wick_tensor *x[2] = {random_of(ctx, 2, (int64_t[]){B, H}), random_of(ctx, 1, (int64_t[]){H})};
        for (int yes = 0; yes < 2; yes++) {
            wick_tensor *condition = wick_from(ctx, WICK_BOOL, 0, NULL, &(uint8_t){(uint8_t)yes}), *out, *expected;
            wick_if(ctx, condition, double_it, square_it, x, 1, &out);
            (void)!(yes ? double_it : square_it)(ctx, NULL, &expected, x);
            CHECK(worst_distance(out, expected) == 0);
            CHECK_OK(ctx, wick_gradcheck(ctx, branch_loss, condition, 2, x, 0, 0, NULL));
        }
        wick_context_free(&ctx);
    }
}
static wick_status look_up(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    wick_tensor **x = user;
    out[0] = wick_gather(x[0], 0, x[1]);
    return WICK_OK;
}
static wick_status give_nothing(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)in, (void)user;
    out[0] = wick_full(ctx, WICK_F64, 1, (int64_t[]){1}, -1);
    return WICK_OK;
}
TEST(the_other_body_does_not_run) {
    wick_context *ctx = context_of(1, false);
    REQUIRE(ctx != NULL);
    wick_tensor *x[2] = {wick_ones(ctx, WICK_F64, 1, (int64_t[]){3}),
                         wick_from(ctx, WICK_I64, 1, (int64_t[]){1}, &(int64_t){7})},
                *out;
    for (int yes = 0; yes < 2; yes++) {
        wick_if(ctx, wick_from(ctx, WICK_BOOL, 0, NULL, &(uint8_t){(uint8_t)yes}), look_up, give_nothing, x, 1, &out);
        CHECK_INT(wick_eval(ctx, 1, &out, NULL), yes ? WICK_ERR_INDEX : WICK_OK); /* 7 is no row of 3 */
    }
    wick_context_free(&ctx);
}

/* ---- loop -------------------------------------------------------------------------------------------------------- */

/* Heron's square root of a: until x^2 is near. */
static wick_status heron(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    wick_tensor *a = user, *x = in[0];
    out[1] = wick_mul(wick_like(x, 0.5), wick_add(x, wick_div(a, x)));
    out[0] = wick_gt(wick_abs(wick_sub(wick_mul(out[1], out[1]), a)), wick_like(x, 1e-3));
    out[2] = out[1];
    return WICK_OK;
}
static wick_tensor *heron_loss(wick_context *ctx, wick_tensor *const *x, void *user) {
    wick_tensor *out[2], *first = x[1];
    (void)user;
    wick_while_loop(ctx, NULL, heron, x[0], &(wick_scan_options){.n_state = 1, .state = &first, .n_y = 1, .rounds = 20},
                    out, NULL);
    return wick_add(wick_sin(out[0]), wick_sum(wick_cos(out[1]), WICK_ALL_AXES, false));
}
TEST(a_loop_ends_when_its_condition_does) {
    for (int eager = 0; eager < 2; eager++) {
        wick_context *ctx = context_of(1, eager);
        REQUIRE(ctx != NULL);
        for (int most = 0; most < 9; most++) {
            wick_tensor *a = wick_scalar(ctx, WICK_F64, 7), *x = wick_scalar(ctx, WICK_F64, 1), *out[2], *count;
            wick_while_loop(ctx, NULL, heron, a,
                            &(wick_scan_options){.n_state = 1, .state = &x, .n_y = 1, .rounds = most}, out, &count);
            double expected = 1, got = 0, ran = -1, rows[9] = {0};
            int n = 0;
            for (bool more = true; more && n < most;) {
                expected = 0.5 * (expected + 7 / expected);
                rows[n++] = expected;
                more = fabs(expected * expected - 7) > 1e-3;
            }
            CHECK_OK(ctx, wick_eval(ctx, 3, (wick_tensor *[]){out[0], out[1], count}, NULL));
            CHECK_OK(ctx, wick_item(out[0], &got));
            CHECK_OK(ctx, wick_item(count, &ran));
            CHECK_INT((int)ran, n);
            CHECK_MSG(fabs(got - expected) < 1e-15, "%d rounds: %.17g, not %.17g", most, got, expected);
            double y[9] = {0};
            CHECK_OK(ctx, wick_read(out[1], y, (size_t)most * sizeof *y));
            for (int i = 0; i < most; i++) CHECK(fabs(y[i] - rows[i]) < 1e-15);
        }
        wick_tensor *no = wick_from(ctx, WICK_BOOL, 0, NULL, &(uint8_t){0}), *x = wick_scalar(ctx, WICK_F64, 3),
                    *out[2], *count;
        wick_while_loop(ctx, no, heron, x, &(wick_scan_options){.n_state = 1, .state = &x, .n_y = 1, .rounds = 4}, out,
                        &count);
        double got = 0, ran = -1;
        CHECK_OK(ctx, wick_item(out[0], &got));
        CHECK_OK(ctx, wick_item(count, &ran));
        CHECK(got == 3 && ran == 0);
        wick_tensor *leaves[2] = {wick_from(ctx, WICK_F64, 0, NULL, &(double){7}),
                                  wick_from(ctx, WICK_F64, 0, NULL, &(double){1.3})};
        CHECK_OK(ctx, wick_gradcheck(ctx, heron_loss, NULL, 2, leaves, 0, 0, NULL));
        wick_context_free(&ctx);
    }
}

/* ---- nesting, states that exchange places, odd uses -------------------------------------------------------------- */

/* For each row of x: a scan over its elements with the outer state captured, and a branch. */
typedef struct nest {
    wick_tensor *w, *state;
} nest;
static wick_status inner_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const nest *n = user;
    (void)ctx;
    out[0] = wick_sin(wick_add(wick_mul(in[0], n->state), wick_mul(in[1], n->w)));
    return WICK_OK;
}
static wick_status outer_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const nest *n = user;
    nest here = {n->w, in[0]};
    wick_tensor *first = wick_mul(in[0], wick_like(in[0], 0.5)), *end, *pair[2], *x = in[1];
    wick_scan_loop(ctx, inner_body, &here, &(wick_scan_options){.n_state = 1, .state = &first, .n_x = 1, .x = &x},
                   &end);
    pair[0] = end, pair[1] = n->w;
    wick_if(ctx, wick_gt(end, wick_like(end, 0)), double_it, square_it, pair, 1, &out[0]);
    return WICK_OK;
}
static wick_tensor *nested_loss(wick_context *ctx, wick_tensor *const *x, void *user) {
    nest n = {x[1], NULL};
    wick_tensor *out, *first = x[2], *rows = x[0];
    (void)user;
    wick_scan_loop(ctx, outer_body, &n, &(wick_scan_options){.n_state = 1, .state = &first, .n_x = 1, .x = &rows},
                   &out);
    return out;
}
TEST(bodies_nest) {
    wick_context *ctx = context_of(1, false);
    REQUIRE(ctx != NULL);
    for (int round = 0; round < 4; round++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x[3] = {random_of(ctx, 2, (int64_t[]){4, 3}), random_of(ctx, 0, NULL), random_of(ctx, 0, NULL)};
        double rows[12], w, h, got;
        CHECK_OK(ctx, wick_read(x[0], rows, sizeof rows));
        CHECK_OK(ctx, wick_item(x[1], &w));
        CHECK_OK(ctx, wick_item(x[2], &h));
        for (int i = 0; i < 4; i++) {
            double s = h * 0.5;
            for (int k = 0; k < 3; k++) s = sin(s * h + rows[i * 3 + k] * w);
            h = s > 0 ? 2 * s : s * s * w;
        }
        CHECK_OK(ctx, wick_item(nested_loss(ctx, x, NULL), &got));
        CHECK_MSG(fabs(got - h) < 1e-13, "%.17g, not %.17g", got, h);
        CHECK_OK(ctx, wick_gradcheck(ctx, nested_loss, NULL, 3, x, 0, 1e-5, NULL));
        wick_scope_close(&scope);
    }
    wick_context_free(&ctx);
}

static wick_status fibonacci(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = in[1];
    out[1] = wick_add(in[0], in[1]);
    out[2] = in[0];
    return WICK_OK;
}
static wick_status turn(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_transpose(in[0], 0, 1);
    return WICK_OK;
}
TEST(states_may_exchange_places) {
    wick_context *ctx = context_of(1, false);
    REQUIRE(ctx != NULL);
    const int64_t one = 1, zero = 0;
    wick_tensor *state[2] = {wick_from(ctx, WICK_I64, 0, NULL, &zero), wick_from(ctx, WICK_I64, 0, NULL, &one)},
                *out[3];
    wick_scan_loop(ctx, fibonacci, NULL, &(wick_scan_options){.n_state = 2, .state = state, .n_y = 1, .rounds = 20},
                   out);
    double last = 0;
    int64_t rows[20];
    CHECK_OK(ctx, wick_eval(ctx, 3, out, NULL));
    CHECK_OK(ctx, wick_item(out[0], &last));
    CHECK_OK(ctx, wick_read(out[2], rows, sizeof rows));
    CHECK_INT((int)last, 6765);
    CHECK_INT(rows[19], 4181);
    wick_tensor *x = random_of(ctx, 2, (int64_t[]){3, 3}), *y;
    wick_scan_loop(ctx, turn, NULL, &(wick_scan_options){.n_state = 1, .state = &x, .rounds = 3}, &y);
    CHECK(worst_distance(y, wick_transpose(x, 0, 1)) == 0);
    wick_tensor *none[3];
    wick_scan_loop(ctx, fibonacci, NULL, &(wick_scan_options){.n_state = 2, .state = state, .n_y = 1, .rounds = 0},
                   none);
    CHECK_OK(ctx, wick_item(none[1], &last));
    CHECK_INT((int)last, 1);
    CHECK_INT(wick_tensor_count(none[2]), 0);
    wick_context_free(&ctx);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static wick_status long_scan(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_tensor *h = wick_zeros(ctx, WICK_F64, 2, (int64_t[]){64, H}), *x = in[0], *made[2];
    wick_scan_loop(ctx, rnn_body, user, &(wick_scan_options){.n_state = 1, .state = &h, .n_x = 1, .x = &x, .n_y = 1},
                   made);
    out[0] = made[0];
    return WICK_OK;
}
TEST(a_plan_holds_the_body_once_and_sees_captured_states_as_they_are) {
    wick_context *ctx = context_of(1, false);
    REQUIRE(ctx != NULL);
    cell c = {wick_ones(ctx, WICK_F64, 2, (int64_t[]){H, H})};
    CHECK_OK(ctx, wick_eval(ctx, 1, &c.w, NULL));
    wick_plan_info info[2];
    for (int i = 0; i < 2; i++) {
        wick_plan *plan = NULL;
        const wick_spec spec = {"x", WICK_F64, 3, {i ? 1000 : 10, 64, H}};
        CHECK_OK(ctx, wick_compile(ctx, long_scan, &c, 1, &spec, 1, NULL, &plan));
        if (!plan) break;
        info[i] = wick_plan_get_info(plan);
        wick_plan_free(&plan);
    }
    CHECK_INT(info[0].kernels, info[1].kernels);
    CHECK(info[1].flops > 90 * info[0].flops);

    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    const wick_spec spec = {"x", WICK_F64, 3, {3, 64, H}};
    CHECK_OK(ctx, wick_compile(ctx, long_scan, &c, 1, &spec, 1, NULL, &plan));
    CHECK_OK(ctx, wick_workspace_new(plan, &ws));
    static double x[3 * 64 * H], y[64 * H];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = 0.1;
    for (int i = 0; i < 2; i++) {
        double h = 0;
        for (int t = 0; t < 3; t++) h = tanh(0.1 + H * h * (i ? 0.5 : 1));
        CHECK_INT(wick_run(ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
        CHECK_MSG(fabs(y[5] - h) < 1e-14, "%g, not %g", y[5], h);
        CHECK_OK(ctx,
                 wick_write(c.w, (double[H * H]){0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, H * H * sizeof(double)));
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

static wick_status give_twice(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    out[0] = wick_sin(wick_mul(user, wick_like(user, 2)));
    return WICK_OK;
}
static wick_status give_thrice(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    out[0] = wick_sin(wick_mul(user, wick_like(user, 3)));
    return WICK_OK;
}
static wick_status choose(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_tensor *x;
    wick_if(ctx, in[0], give_twice, give_thrice, user, 1, &x);
    out[0] = wick_add(x, in[1]);
    return WICK_OK;
}
/* What each of them gives is the same in each run, and kept; what the branch gives is not. */
TEST(bodies_of_an_if_that_give_what_stays_take_turns) {
    wick_context *ctx = context_of(1, false);
    REQUIRE(ctx != NULL);
    wick_tensor *w = wick_full(ctx, WICK_F64, 1, (int64_t[]){3}, 0.5);
    CHECK_OK(ctx, wick_eval(ctx, 1, &w, NULL));
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    const wick_spec spec[2] = {{"yes", WICK_BOOL, 0, {0}}, {"x", WICK_F64, 1, {3}}};
    CHECK_OK(ctx, wick_compile(ctx, choose, w, 2, spec, 1, NULL, &plan));
    CHECK_OK(ctx, wick_workspace_new(plan, &ws));
    for (int i = 0; i < 6; i++) {
        const uint8_t yes = i % 3 != 1;
        double y[3];
        CHECK_INT(wick_run(ws, (const void *[]){&yes, (double[3]){1, 2, 3}}, (void *[]){y}), WICK_OK);
        const double expected = sin(yes ? 1 : 1.5) + 3;
        CHECK_MSG(fabs(y[2] - expected) < 1e-14, "run %d: %g, not %g", i, y[2], expected);
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

static wick_status add_number(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_add(in[0], wick_like(in[0], *(double *)user));
    return WICK_OK;
}
TEST(the_same_body_takes_the_same_plan_and_another_another) {
    wick_context *ctx = context_of(1, false);
    REQUIRE(ctx != NULL);
    double results[3];
    uint64_t built[3];
    for (int i = 0; i < 3; i++) {
        wick_tensor *x = wick_scalar(ctx, WICK_F64, 1), *y;
        double number = i < 2 ? 2 : 3;
        wick_scan_loop(ctx, add_number, &number, &(wick_scan_options){.n_state = 1, .state = &x, .rounds = 10}, &y);
        CHECK_OK(ctx, wick_item(y, &results[i]));
        built[i] = wick_context_get_stats(ctx).plans_built;
    }
    CHECK(results[0] == 21 && results[1] == 21 && results[2] == 31);
    CHECK_INT(built[1], built[0]);
    CHECK_INT(built[2], built[0] + 1);
    wick_context_free(&ctx);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static wick_status grows(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_concat(2, (wick_tensor *[]){in[0], in[0]}, 0);
    return WICK_OK;
}
static wick_status draws(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    out[0] = wick_add(in[0], wick_random_uniform(ctx, WICK_F64, 1, (int64_t[]){2}));
    return WICK_OK;
}
static wick_status assigns(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = in[0];
    return wick_assign(user, in[0]);
}
static wick_status asks(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    double value;
    (void)ctx, (void)user;
    out[0] = in[0];
    return wick_item(wick_sum(in[0], WICK_ALL_AXES, false), &value);
}
static wick_status forgets(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in, (void)out, (void)user;
    return WICK_OK;
}
static wick_status quarrels(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_add(in[0], wick_ones(ctx, WICK_F64, 1, (int64_t[]){3}));
    return WICK_OK;
}
TEST(wrong_bodies_are_refused_with_the_callers_line) {
    wick_context *ctx = context_of(1, false);
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_ones(ctx, WICK_F64, 1, (int64_t[]){2}), *state = wick_ones(ctx, WICK_F64, 1, (int64_t[]){2}),
                *y;
    const struct {
        wick_function body;
        const char *says;
    } cases[] = {{grows, "state 0 is f64[2] and becomes f64[4]"},
                 {draws, "draws random numbers"},
                 {assigns, "the body assigns"},
                 {asks, "asked for inside"},
                 {forgets, "did not set result 0"},
                 {quarrels, "add(f64[2], f64[3])"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = "";
        wick_scan_loop(ctx, cases[i].body, state, &(wick_scan_options){.n_state = 1, .state = &x, .rounds = 3}, &y);
        CHECK_MSG(wick_tensor_error(y, &text) != WICK_OK, "case %zu was accepted", i);
        CHECK_STR_HAS(text, cases[i].says);
        CHECK_STR_HAS(text, "test_control.c:");
    }
    double sum = 0; /* what was assigned in a body that is refused never happened */
    CHECK_OK(ctx, wick_item(wick_sum(state, WICK_ALL_AXES, false), &sum));
    CHECK(sum == 2);
    const char *text = "";
    wick_if(ctx, x, double_it, square_it, &x, 1, &y);
    CHECK_INT(wick_tensor_error(y, &text), WICK_ERR_DTYPE);
    CHECK_STR_HAS(text, "one bool");
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
