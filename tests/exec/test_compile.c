/* Compiled functions: capture by reference, taps, finite checks, what may not be done inside, and what a plan says of
 * itself. */
#include "base/base.h"
#include "exec/mlp.h"
#include "wick/registry.h"

typedef struct run {
    wick_plan *plan;
    wick_workspace *ws;
} run;
static run compiled(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in, int n_out,
                    const wick_compile_options *options) {
    run r = {NULL, NULL};
    wick_status status = wick_compile(ctx, fn, user, n_in, in, n_out, options, &r.plan);
    if (status == WICK_OK) status = wick_workspace_new(r.plan, &r.ws);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    return r;
}
static void done(run *r) {
    wick_workspace_free(&r->ws);
    wick_plan_free(&r->plan);
}

static wick_status scale(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_mul(in[0], user);
    return WICK_OK;
}
static const wick_spec two = {"x", WICK_F32, 1, {2}};

TEST(tensors_of_outside_are_captured_by_reference) {
    wick_context *ctx = context();
    wick_tensor *w = VEC(ctx, 2, 3);
    run r = compiled(ctx, scale, w, 1, &two, 1, NULL);
    REQUIRE(r.ws != NULL);
    float x[2] = {10, 100}, y[2];
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
    CHECK(y[0] == 20 && y[1] == 300);
    CHECK_OK(ctx, wick_assign(w, wick_add(w, w)));
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){y}), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_workspace_error(r.ws), "pending assignment");
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
    CHECK(y[0] == 40 && y[1] == 600);
    CHECK_OK(ctx, wick_write(w, (float[]){7, 8}, 8));
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
    CHECK(y[0] == 70 && y[1] == 800);
    CHECK_INT(wick_plan_get_info(r.plan).states, 1);
    wick_tensor_free(&w); /* the plan holds it */
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
    CHECK(y[0] == 70 && y[1] == 800);
    done(&r);
    wick_context_free(&ctx);
}

TEST(captured_memory_of_any_layout_is_read_right) {
    wick_context *ctx = context();
    float data[6] = {1, 2, 3, 4, 5, 6};
    wick_tensor *strided = wick_wrap(ctx, WICK_F32, WICK_DIMS(2), (int64_t[]){-3}, data + 4, NULL, NULL);
    wick_tensor *view = wick_slice(VEC(ctx, 9, 8, 7, 6), 0, 3, INT64_MIN, -2), *computed = wick_neg(VEC(ctx, 3, 4));
    CHECK_OK(ctx, wick_eval(ctx, 2, (wick_tensor *[]){view, computed}, NULL));
    wick_tensor *all[] = {strided, view, computed}, *pending = wick_exp(VEC(ctx, 0, 0));
    static const float want[4][2] = {{5, 2}, {6, 8}, {-3, -4}, {1, 1}};
    for (int i = 0; i < 4; i++) {
        run r = compiled(ctx, scale, i < 3 ? all[i] : pending, 1, &two, 1, NULL);
        REQUIRE(r.ws != NULL);
        float x[2] = {1, 1}, y[2];
        for (int k = 0; k < 2; k++) {
            CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
            CHECK_MSG(y[0] == want[i][0] && y[1] == want[i][1], "capture %d: %g %g", i, (double)y[0], (double)y[1]);
        }
        done(&r);
    }
    CHECK(data[1] == 2 && data[4] == 5);
    wick_context_free(&ctx);
}

static wick_status accumulate(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_tensor **s = user; /* total, and a wrapped one whose second half is assigned through a view */
    out[0] = wick_add(s[0], wick_like(s[0], 0)); /* what it was before */
    wick_status status = wick_assign(s[0], wick_add(s[0], in[0]));
    out[1] = wick_mul(s[0], wick_constant(ctx, WICK_F32, 10)); /* after */
    wick_tensor *part = wick_slice(s[1], 0, 2, 4, 1);
    return status ? status : wick_assign(part, wick_add(part, in[0]));
}

TEST(assignments_of_a_plan_happen_at_each_run_and_not_when_compiling) {
    wick_context *ctx = context();
    float user_memory[4] = {1, 2, 3, 4};
    wick_tensor *s[] = {VEC(ctx, 1, 2), wick_wrap(ctx, WICK_F32, WICK_DIMS(4), NULL, user_memory, NULL, NULL)},
                *half = wick_slice(s[1], 0, 2, 4, 1);
    wick_tensor *old = wick_neg(s[0]); /* pending */
    run r = compiled(ctx, accumulate, s, 1, &two, 2, NULL);
    REQUIRE(r.ws != NULL);
    CHECK_INT(wick_plan_get_info(r.plan).assigns, 2);
    CHECK_VALUES(s[0], 1, 2);
    float x[2] = {10, 20}, before[2], after[2];
    for (int i = 0; i < 3; i++) {
        CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){before, after}), WICK_OK);
        CHECK(before[0] == 1 + 10 * i && before[1] == 2 + 20 * i);
        CHECK(after[0] == 110 + 100 * i && after[1] == 220 + 200 * i);
    }
    CHECK_VALUES(s[0], 31, 62);
    CHECK_VALUES(s[1], 1, 2, 33, 64);
    CHECK_VALUES(old, -1, -2);
    CHECK_VALUES(half, 3, 4); /* recorded before */
    CHECK(user_memory[2] == 3 && user_memory[3] == 4);
    const void *p = NULL, *q = NULL;
    CHECK_OK(ctx, wick_data(s[0], &p));
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, NULL), WICK_OK);
    CHECK_OK(ctx, wick_data(s[0], &q));
    CHECK(p == q); /* in place */
    done(&r);
    wick_context_free(&ctx);
}

static wick_status assign_view(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)out;
    return wick_assign(user, in[0]);
}

TEST(a_view_handle_of_outside_still_shows_its_base_after_compiling) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2, 3), *tail = wick_slice(s, 0, 1, 3, 1);
    run r = compiled(ctx, assign_view, tail, 1, &two, 0, NULL);
    REQUIRE(r.ws != NULL);
    CHECK_VALUES(tail, 2, 3);
    CHECK_INT(wick_run(r.ws, (const void *[]){(float[]){8, 9}}, NULL), WICK_OK);
    CHECK_VALUES(s, 1, 8, 9);
    done(&r);
    wick_context_free(&ctx);
}

/* ---- what may not be done inside --------------------------------------------------------------------------------- */

static wick_status asks(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    double v;
    const void *p;
    wick_tensor *outside = user;
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "being compiled", wick_item(wick_sum(in[0], WICK_ALL_AXES, false), &v));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "being compiled", wick_data(wick_neg(in[0]), &p));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "being compiled", wick_eval(ctx, 0, NULL, NULL));
    wick_plan *nested;
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "inside a function",
                wick_compile(ctx, scale, outside, 1, &two, 1, NULL, &nested));
    out[0] = wick_add(in[0], outside);
    return wick_eval(ctx, 1, out, NULL);
}
static wick_status sets_nothing(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    return (void)ctx, (void)in, (void)out, (void)user, WICK_OK;
}
static wick_status refuses(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in, (void)out;
    wick_tensor *s = user;
    return wick_assign(s, wick_neg(s)) == WICK_OK ? WICK_ERR_UNSUPPORTED : WICK_ERR_INTERNAL;
}

static wick_status negate(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    out[0] = wick_neg(user);
    return WICK_OK;
}
TEST(a_captured_view_of_a_state_is_live_looked_at_before_or_not) {
    for (int look = 0; look < 2; look++) {
        wick_context *ctx = context();
        wick_tensor *s = VEC(ctx, 1, 2, 3, 4), *v = wick_slice(s, 0, 0, 2, 1);
        if (look) CHECK_VALUES(v, 1, 2);
        wick_plan *plan = NULL;
        wick_workspace *ws = NULL;
        CHECK_OK(ctx, wick_compile(ctx, negate, v, 0, NULL, 1, NULL, &plan));
        REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
        CHECK_OK(ctx, wick_write(s, (const float[]){9, 8, 7, 6}, 16));
        float y[2];
        CHECK_INT(wick_run(ws, NULL, (void *[]){y}), WICK_OK);
        CHECK(y[0] == -9 && y[1] == -8);
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
        wick_context_free(&ctx);
    }
}

static wick_tensor *escaped;
static wick_status let_escape(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = user ? wick_add(in[0], user) : wick_neg(in[0]);
    if (!user) escaped = wick_retain(out[0]);
    return WICK_OK;
}
TEST(what_depends_on_a_functions_input_is_of_no_use_outside) {
    wick_context *ctx = context();
    wick_plan *plan = NULL, *other = NULL;
    wick_spec x = {"x", WICK_F32, 1, {2}};
    CHECK_OK(ctx, wick_compile(ctx, let_escape, NULL, 1, &x, 1, NULL, &plan));
    float y[2];
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "compiled function", wick_read(escaped, y, sizeof y));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "another compiled function",
                wick_compile(ctx, let_escape, escaped, 1, &x, 1, NULL, &other));
    CHECK(other == NULL);
    wick_tensor_free(&escaped);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

typedef struct asker {
    wick_context *ctx;
    wick_tensor *known, *pending, *state;
    int asked;
} asker;
static void ask(void *user, wick_dtype dtype, int rank, const int64_t *dims, const void *data) {
    (void)dtype, (void)rank, (void)dims, (void)data;
    asker *a = user;
    double v = 0;
    a->asked++;
    CHECK_INT(wick_item(a->known, &v), WICK_OK); /* in memory already */
    CHECK_INT(wick_item(a->pending, &v), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(a->ctx), "while the context is evaluating");
    CHECK_INT(wick_assign(a->state, wick_neg(a->state)), WICK_ERR_INVALID);
}
TEST(a_tap_cannot_evaluate_in_the_context_that_runs_it) {
    wick_context *ctx = context();
    asker a = {.ctx = ctx, .known = VEC(ctx, 5), .state = VEC(ctx, 1)};
    a.pending = wick_exp(VEC(ctx, 1));
    wick_tensor *y = wick_exp(VEC(ctx, 0));
    CHECK_OK(ctx, wick_tap(y, ask, &a));
    CHECK_OK(ctx, wick_assign(a.state, wick_add(a.state, y)));
    CHECK_VALUES(a.state, 2);
    CHECK_INT(a.asked, 1);
    CHECK(item(a.pending) > 2.7);
    wick_context_free(&ctx);
}

static wick_status nothing(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in, (void)out, (void)user;
    return WICK_OK;
}
TEST(a_function_may_do_nothing) {
    wick_context *ctx = context();
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, wick_compile(ctx, nothing, NULL, 0, NULL, 0, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
    CHECK_INT(wick_run(ws, NULL, NULL), WICK_OK);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

TEST(a_function_being_compiled_cannot_ask_for_values) {
    wick_context *ctx = context();
    wick_plan *plan = (wick_plan *)ctx;
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "being compiled",
                wick_compile(ctx, asks, VEC(ctx, 1, 2), 1, &two, 1, NULL, &plan));
    CHECK(plan == NULL);
    CHECK_VALUES(wick_neg(VEC(ctx, 1)), -1);
    wick_context_free(&ctx);
}

TEST(a_failed_compile_changes_nothing_and_says_why) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2);
    wick_plan *plan;
    CHECK_FAILS(ctx, WICK_ERR_UNSUPPORTED, "the function failed",
                wick_compile(ctx, refuses, s, 0, NULL, 0, NULL, &plan));
    CHECK_VALUES(s, 1, 2);
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "did not set output 0",
                wick_compile(ctx, sets_nothing, s, 0, NULL, 1, NULL, &plan));
    CHECK_FAILS(ctx, WICK_ERR_SHAPE, "mul(f32[2], f32[3])",
                wick_compile(ctx, scale, VEC(ctx, 1, 2, 3), 1, &two, 1, NULL, &plan));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "input 0 (x)",
                wick_compile(ctx, scale, s, 1, &(wick_spec){"x", WICK_F32, 1, {-4}}, 1, NULL, &plan));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "no_passes",
                wick_compile(ctx, scale, s, 1, &two, 1, &(wick_compile_options){.check_finite = true}, &plan));
    run r = compiled(ctx, scale, s, 1, &two, 1, NULL);
    CHECK_INT(wick_run(r.ws, NULL, NULL), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_workspace_error(r.ws), "input 0 is NULL");
    done(&r);
    wick_context_free(&ctx);
}

TEST(pending_work_of_the_context_is_done_before_compiling) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2);
    CHECK_OK(ctx, wick_assign(s, wick_mul(s, s)));
    run r = compiled(ctx, scale, s, 1, &two, 1, NULL);
    float x[2] = {1, 1}, y[2];
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
    CHECK(y[0] == 1 && y[1] == 4);
    done(&r);
    wick_context_free(&ctx);
}

/* ---- taps and checks --------------------------------------------------------------------------------------------- */

typedef struct seen {
    int calls;
    double last[4];
    bool contiguous;
} seen;
static void look(void *user, wick_dtype dtype, int rank, const int64_t *dims, const void *data) {
    seen *s = user;
    s->calls++;
    s->contiguous = dtype == WICK_F32 && rank == 2 && dims[0] == 2 && dims[1] == 2;
    for (int i = 0; i < 4; i++) s->last[i] = (double)((const float *)data)[i];
}
typedef struct tapped {
    seen *seen;
    bool on;
} tapped;
static wick_status tapped_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const tapped *t = user;
    wick_tensor *h = wick_tanh(wick_mul(in[0], wick_like(in[0], 3)));
    wick_status status = t->on ? wick_tap(wick_transpose(h, 0, 1), look, t->seen) : WICK_OK;
    out[0] = wick_softmax(wick_matmul(h, h), 1);
    return status;
}

TEST(taps_see_every_run_and_do_not_change_results) {
    wick_context *ctx = context();
    seen s = {0};
    static const wick_spec spec = {"x", WICK_F32, 2, {2, 2}};
    float x[4] = {0.1f, 0.2f, 0.3f, 0.4f}, with[4], without[4];
    run a = compiled(ctx, tapped_body, &(tapped){&s, true}, 1, &spec, 1, NULL),
        b = compiled(ctx, tapped_body, &(tapped){&s, false}, 1, &spec, 1, NULL);
    CHECK_INT(wick_run(b.ws, (const void *[]){x}, (void *[]){without}), WICK_OK);
    CHECK_INT(s.calls, 0);
    for (int i = 1; i <= 3; i++) {
        CHECK_INT(wick_run(a.ws, (const void *[]){x}, (void *[]){with}), WICK_OK);
        CHECK_INT(s.calls, i);
    }
    CHECK(!memcmp(with, without, sizeof with));
    CHECK(s.contiguous);
    for (int i = 0; i < 4; i++) CHECK(fabs(s.last[i] - tanh(3 * (double)x[i % 2 * 2 + i / 2])) < 1e-5);
    done(&a);
    done(&b);
    wick_context_free(&ctx);
}

static wick_status goes_bad(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    wick_tensor *s = user, *h = wick_exp(in[0]);
    wick_tensor *l = wick_log(wick_sub(h, wick_like(h, 2)));
    out[0] = wick_sum(wick_sqrt(wick_tanh(wick_neg(l))), WICK_ALL_AXES, false);
    return wick_assign(s, wick_add(s, wick_expand(out[0], WICK_DIMS(2))));
}

TEST(check_finite_names_the_first_op_that_made_a_nan) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2);
    run r = compiled(ctx, goes_bad, s, 1, &two, 1, &(wick_compile_options){.no_passes = true, .check_finite = true});
    float x[2] = {0.8f, 0.1f}, y; /* exp(0.1) - 2 < 0: the log is NaN */
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){&y}), WICK_ERR_NOT_FINITE);
    CHECK_STR_HAS(wick_workspace_error(r.ws), "log made NaN or Inf");
    CHECK_STR_HAS(wick_workspace_error(r.ws), "test_compile.c:");
    CHECK_VALUES(s, 1, 2);
    x[1] = 0.8f;
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){&y}), WICK_OK);
    CHECK(isfinite(y));
    x[0] = NAN; /* given, so not an op's doing */
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){&y}), WICK_OK);
    x[0] = INFINITY; /* the same, until tanh makes -1 of it */
    CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){&y}), WICK_ERR_NOT_FINITE);
    CHECK_STR_HAS(wick_workspace_error(r.ws), "sqrt made NaN or Inf");
    done(&r);
    wick_context_free(&ctx);
}

static wick_status checked(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    wick_tensor **s = user;
    out[0] = wick_log(in[0]);
    wick_status status = wick_assign(s[0], wick_add(s[0], in[0]));
    if (status == WICK_OK) status = wick_assign(s[1], wick_matmul(wick_expand(in[0], WICK_DIMS(2, 2)), s[1]));
    return status ? status : wick_check_finite(out[0]);
}

TEST(a_failed_check_in_a_plan_commits_no_assignment) {
    for (int passes = 0; passes < 2; passes++) {
        wick_context *ctx = context();
        wick_tensor *s[2] = {VEC(ctx, 1, 2), VEC(ctx, 3, 4)};
        run r = compiled(ctx, checked, s, 1, &two, 1, &(wick_compile_options){.no_passes = !passes});
        float y[2];
        CHECK_INT(wick_run(r.ws, (const void *[]){(float[]){1, -1}}, (void *[]){y}), WICK_ERR_NOT_FINITE);
        CHECK_STR_HAS(wick_workspace_error(r.ws), "element 1");
        CHECK_VALUES(s[0], 1, 2);
        CHECK_VALUES(s[1], 3, 4);
        CHECK_INT(wick_workspace_offset(r.ws), 0);
        CHECK_INT(wick_run(r.ws, (const void *[]){(float[]){1, 1}}, (void *[]){y}), WICK_OK);
        CHECK_VALUES(s[0], 2, 3);
        CHECK_VALUES(s[1], 7, 7);
        done(&r);
        wick_context_free(&ctx);
    }
}

/* ---- what a plan says of itself ---------------------------------------------------------------------------------- */

static wick_status product(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_relu(wick_matmul(in[0], in[1]));
    out[1] = wick_sum(in[0], WICK_AXES(0), false);
    return WICK_OK;
}

TEST(costs_and_outputs_are_known_before_the_first_run) {
    wick_context *ctx = context();
    wick_spec in[2] = {{"a", WICK_F32, 2, {8, 16}}, {"b", WICK_F32, 2, {16, 4}}};
    run r = compiled(ctx, product, NULL, 2, in, 2, NULL);
    wick_plan_info info = wick_plan_get_info(r.plan);
    CHECK_INT(info.inputs, 2);
    CHECK_INT(info.outputs, 2);
    CHECK_INT(info.states, 0);
    CHECK(info.kernels >= 2 && info.kernels <= 4);
    CHECK(info.flops >= 2 * 8 * 16 * 4 && info.flops <= 2 * 8 * 16 * 4 + 2 * 8 * 16 + 8 * 4);
    CHECK(info.bytes >= 4 * (8 * 16 + 16 * 4 + 8 * 4));
    CHECK(info.arena_bytes >= info.live_bytes);
    wick_spec out = wick_plan_output(r.plan, 0);
    CHECK(out.dtype == WICK_F32 && out.rank == 2 && out.dims[0] == 8 && out.dims[1] == 4);
    CHECK_INT(wick_plan_output(r.plan, 1).dims[0], 16);
    CHECK_INT(wick_plan_output(r.plan, 2).rank, 0);
    char text[4096], small[10];
    size_t n = wick_plan_format(r.plan, text, sizeof text);
    CHECK_INT(strlen(text), n);
    CHECK_STR_HAS(text, "gemm");
    CHECK_INT(wick_plan_format(r.plan, small, sizeof small), n);
    CHECK_INT(strlen(small), sizeof small - 1);
    CHECK_INT(wick_plan_format(r.plan, NULL, 0), n);
    wick_workspace_profile(r.ws, true);
    float a[128] = {0}, b[64] = {0};
    for (int i = 0; i < 3; i++) CHECK_INT(wick_run(r.ws, (const void *[]){a, b}, NULL), WICK_OK);
    n = wick_workspace_profile_format(r.ws, text, sizeof text);
    CHECK_INT(strlen(text), n);
    CHECK_STR_HAS(text, " 3 ");
    done(&r);
    wick_context_free(&ctx);
}

TEST(kernels_and_buffers_add_up_to_the_plan) {
    wick_context *ctx = context();
    mlp net;
    mlp_init(&net, ctx, 0.2);
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, mlp_compile(&net, ctx, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
    const wick_plan_info info = wick_plan_get_info(plan);
    double flops = 0, bytes = 0;
    size_t most = 0;
    bool product_seen = false, hidden_seen = false;
    for (int i = 0; i < info.kernels; i++) {
        wick_plan_kernel k = wick_plan_kernel_at(plan, i);
        REQUIRE(k.name != NULL);
        CHECK_MSG(k.ops[0] && !strstr(k.ops, "fused"), "kernel %d has the ops '%s'", i, k.ops);
        flops += k.flops;
        bytes += k.bytes;
        if (k.live_bytes > most) most = k.live_bytes;
        size_t live = 0;
        for (int b = 0; b < info.buffers; b++) {
            wick_plan_buffer buffer = wick_plan_buffer_at(plan, b);
            if (buffer.bytes && buffer.first <= i && i <= buffer.last) live += buffer.bytes;
        }
        CHECK_INT(k.live_bytes, live);
        if (strstr(k.name, "gemm") && k.flops == (2.0 * MLP_IN + 1) * MLP_BATCH * MLP_HIDDEN /* the bias too */ &&
            k.result.rank == 2 && k.result.dims[0] == MLP_BATCH) {
            product_seen = true;
            CHECK_STR_HAS(k.ops, "matmul");
            CHECK(k.place && strstr(k.place, "mlp.h:"));
            CHECK_INT(k.result.dtype, WICK_F32);
            CHECK_INT(k.result.dims[1], MLP_HIDDEN);
        }
    }
    CHECK(product_seen);
    CHECK(flops == info.flops && bytes == info.bytes && flops > 0);
    CHECK_INT(most, info.live_bytes);
    for (int a = 0; a < info.buffers; a++) {
        wick_plan_buffer x = wick_plan_buffer_at(plan, a);
        CHECK(x.offset + x.bytes <= info.arena_bytes && x.first <= x.last && x.last < info.kernels);
        size_t held = wick_dtype_size(x.value.dtype);
        for (int d = 0; d < x.value.rank; d++) held *= (size_t)x.value.dims[d];
        CHECK_MSG(!x.bytes || (held <= x.bytes && x.bytes - held < 64), "buffer %d of %zu bytes holds %zu", a, x.bytes,
                  held);
        hidden_seen |= x.value.dtype == WICK_F32 && x.value.rank == 2 && x.value.dims[0] == MLP_BATCH &&
                       x.value.dims[1] == MLP_HIDDEN;
        for (int b = 0; b < a && x.bytes; b++) {
            wick_plan_buffer y = wick_plan_buffer_at(plan, b);
            bool apart = !y.bytes || y.last < x.first || x.last < y.first || y.offset + y.bytes <= x.offset ||
                         x.offset + x.bytes <= y.offset;
            CHECK_MSG(apart, "buffers %d and %d are alive in the same bytes", a, b);
        }
    }
    const int outside[] = {-1, info.kernels, INT32_MAX};
    for (int i = 0; i < 3; i++) {
        uint64_t runs = 1;
        CHECK(!wick_plan_kernel_at(plan, outside[i]).name);
        CHECK(wick_workspace_kernel_ns(ws, outside[i], &runs) == 0 && runs == 0);
    }
    CHECK(hidden_seen);
    CHECK_INT(wick_plan_buffer_at(plan, -1).bytes, 0);
    CHECK_INT(wick_plan_buffer_at(plan, info.buffers).bytes, 0);

    static float x[MLP_BATCH * MLP_IN];
    static int64_t labels[MLP_BATCH];
    mlp_batch(0, x, labels);
    CHECK_INT(wick_run(ws, (const void *[]){x, labels}, NULL), WICK_OK);
    CHECK_INT(wick_workspace_kernel_ns(ws, 0, NULL), 0); /* no clock is read unless asked */
    wick_workspace_profile(ws, true);
    for (int i = 0; i < 3; i++) CHECK_INT(wick_run(ws, (const void *[]){x, labels}, NULL), WICK_OK);
    uint64_t total = 0, runs;
    for (int i = 0; i < info.kernels; i++) {
        total += wick_workspace_kernel_ns(ws, i, &runs);
        CHECK_INT(runs, 3);
    }
    CHECK(total > 0);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* ---- what is packed is kept until a state changes ---------------------------------------------------------------- */

typedef struct packed_net {
    wick_tensor *conv, *wrapped;
} packed_net;
static wick_status packed_forward(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const packed_net *n = user;
    (void)ctx;
    out[0] = wick_conv(wick_conv(in[0], n->conv, NULL, NULL), n->wrapped, NULL, NULL);
    return WICK_OK;
}
static wick_status assign_conv(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)in, (void)ctx;
    packed_net *n = user;
    out[0] = wick_sum(n->conv, WICK_ALL_AXES, false);
    return wick_assign(n->conv, wick_mul(n->conv, wick_like(n->conv, 2)));
}
enum { PACKED_X = 3 * 6 * 6, PACKED_Y = 4 * 2 * 2 };

/* The plan's outputs are those of ops recorded afresh. */
static void check_packed(wick_context *ctx, packed_net *n, wick_workspace *ws, const float *x, int line) {
    float got[PACKED_Y], want[PACKED_Y];
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *in = wick_from(ctx, WICK_F32, WICK_DIMS(1, 3, 6, 6), x), *out = NULL;
    CHECK_OK(ctx, packed_forward(ctx, &in, &out, n));
    CHECK_OK(ctx, wick_read(out, want, sizeof want));
    CHECK_MSG(wick_run(ws, (const void *[]){x}, (void *[]){got}) == WICK_OK, "%s", wick_workspace_error(ws));
    for (int i = 0; i < PACKED_Y; i++)
        CHECK_MSG(fabsf(got[i] - want[i]) <= 1e-4f * fabsf(want[i]) + 1e-5f, "line %d: %g, not %g", line,
                  (double)got[i], (double)want[i]);
    wick_scope_close(&scope);
}
static uint64_t packs_of(const wick_plan *p, const wick_workspace *ws) {
    uint64_t sum = 0, runs;
    for (int i = 0; i < wick_plan_get_info(p).kernels; i++) {
        wick_workspace_kernel_ns(ws, i, &runs);
        if (!strcmp(wick_plan_kernel_at(p, i).name, "conv_pack")) sum += runs;
    }
    return sum;
}

static wick_status linear_of(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_linear(in[0], user, NULL);
    return WICK_OK;
}

TEST(weights_of_few_rows_are_turned_once_and_again_when_they_change) {
    enum { ROWS = 2, FROM = 70, TO = 50 };
    wick_context *ctx = context();
    float x[ROWS * FROM], w[TO * FROM], got[ROWS * TO], want[ROWS * TO];
    for (int i = 0; i < ROWS * FROM; i++) x[i] = (float)test_rand_real(-1, 1);
    for (int i = 0; i < TO * FROM; i++) w[i] = (float)test_rand_real(-1, 1);
    wick_tensor *weights = wick_from(ctx, WICK_F32, WICK_DIMS(TO, FROM), w);
    const wick_spec in = {.dtype = WICK_F32, .rank = 2, .dims = {ROWS, FROM}};
    run r = compiled(ctx, linear_of, weights, 1, &in, 1, NULL);
    REQUIRE(r.ws != NULL);
    wick_workspace_profile(r.ws, true);
    for (int k = 0; k < 4; k++) {
        if (k == 2) {
            w[3] = 9;
            CHECK_OK(ctx, wick_write(weights, w, sizeof w));
        }
        wick_scope *scope = wick_scope_open(ctx);
        CHECK_OK(ctx, wick_read(wick_linear(wick_from(ctx, WICK_F32, WICK_DIMS(ROWS, FROM), x), weights, NULL), want,
                                sizeof want));
        wick_scope_close(&scope);
        CHECK_INT(wick_run(r.ws, (const void *[]){x}, (void *[]){got}), WICK_OK);
        CHECK(!memcmp(got, want, sizeof got));
        uint64_t copies = 0, n;
        for (int i = 0; i < wick_plan_get_info(r.plan).kernels; i++) {
            wick_workspace_kernel_ns(r.ws, i, &n);
            if (!strcmp(wick_plan_kernel_at(r.plan, i).name, "copy")) copies += n;
        }
        CHECK_INT(copies, wick_tier_current() == WICK_TIER_REF ? 0 : k < 2 ? 1 : 2);
    }
    done(&r);
    wick_context_free(&ctx);
}

TEST(weights_are_packed_once_and_again_when_they_change) {
    wick_context *ctx = context();
    float x[PACKED_X], w[5 * 3 * 3 * 3], mine[4 * 5 * 3 * 3];
    for (int i = 0; i < PACKED_X; i++) x[i] = (float)test_rand_real(-1, 1);
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = (float)test_rand_real(-1, 1);
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) mine[i] = (float)test_rand_real(-1, 1);
    packed_net n = {wick_from(ctx, WICK_F32, WICK_DIMS(5, 3, 3, 3), w),
                    wick_from(ctx, WICK_F32, WICK_DIMS(4, 5, 3, 3), mine)};
    const wick_spec in = {.dtype = WICK_F32, .rank = 4, .dims = {1, 3, 6, 6}};
    wick_plan *plan = NULL, *doubles = NULL;
    wick_workspace *ws = NULL, *other = NULL, *step = NULL;
    CHECK_OK(ctx, wick_compile(ctx, packed_forward, &n, 1, &in, 1, NULL, &plan));
    CHECK_OK(ctx, wick_compile(ctx, assign_conv, &n, 0, NULL, 1, NULL, &doubles));
    REQUIRE(plan && doubles);
    CHECK_OK(ctx, wick_workspace_new(plan, &ws));
    CHECK_OK(ctx, wick_workspace_new(plan, &other));
    CHECK_OK(ctx, wick_workspace_new(doubles, &step));
    wick_workspace_profile(ws, true);
    wick_workspace_profile(other, true);
    for (int k = 0; k < 3; k++) {
        x[k] = 7;
        check_packed(ctx, &n, ws, x, __LINE__);
        CHECK_INT(packs_of(plan, ws), 2);
    }
    check_packed(ctx, &n, other, x, __LINE__);
    CHECK_INT(packs_of(plan, other), 2);
    w[0] = 5; /* written from outside */
    CHECK_OK(ctx, wick_write(n.conv, w, sizeof w));
    check_packed(ctx, &n, ws, x, __LINE__);
    CHECK_INT(packs_of(plan, ws), 4);
    float sum; /* by another plan, in place */
    CHECK_MSG(wick_run(step, NULL, (void *[]){&sum}) == WICK_OK, "%s", wick_workspace_error(step));
    check_packed(ctx, &n, ws, x, __LINE__);
    CHECK_INT(packs_of(plan, ws), 6);
    check_packed(ctx, &n, ws, x, __LINE__);
    CHECK_INT(packs_of(plan, ws), 6);
    CHECK_OK(ctx, wick_assign(n.conv, wick_mul(n.conv, wick_like(n.conv, -1)))); /* by the lazy way */
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    check_packed(ctx, &n, ws, x, __LINE__);
    CHECK_INT(packs_of(plan, ws), 8);
    check_packed(ctx, &n, other, x, __LINE__);
    CHECK_INT(packs_of(plan, other), 4);
    wick_workspace_free(&ws);
    wick_workspace_free(&other);
    wick_workspace_free(&step);
    wick_plan_free(&plan);
    wick_plan_free(&doubles);
    wick_context_free(&ctx);
}

TEST(memory_of_the_caller_is_packed_for_each_run) {
    wick_context *ctx = context();
    float x[PACKED_X], mine[4 * 5 * 3 * 3];
    for (int i = 0; i < PACKED_X; i++) x[i] = (float)i;
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) mine[i] = (float)test_rand_real(-1, 1);
    packed_net n = {wick_ones(ctx, WICK_F32, WICK_DIMS(5, 3, 3, 3)),
                    wick_wrap(ctx, WICK_F32, WICK_DIMS(4, 5, 3, 3), NULL, mine, NULL, NULL)};
    CHECK_OK(ctx, wick_eval(ctx, 1, &n.conv, NULL));
    const wick_spec in = {.dtype = WICK_F32, .rank = 4, .dims = {1, 3, 6, 6}};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, wick_compile(ctx, packed_forward, &n, 1, &in, 1, NULL, &plan));
    REQUIRE(plan != NULL);
    CHECK_OK(ctx, wick_workspace_new(plan, &ws));
    for (int k = 0; k < 3; k++) {
        mine[k] = 11 + (float)k; /* behind Wick's back */
        check_packed(ctx, &n, ws, x, __LINE__);
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* relu(x w + b) * 2, and its sum. */
static wick_status two_uses(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *h = wick_relu(wick_add(wick_matmul(in[0], in[1]), in[2]));
    out[0] = wick_mul(h, wick_constant(ctx, WICK_F32, 2));
    out[1] = wick_sum(wick_exp(wick_sub(in[2], wick_constant(ctx, WICK_F32, 1))), WICK_ALL_AXES, false);
    return WICK_OK;
}
static const wick_spec biased[] = {{"x", WICK_F32, 2, {4, 3}}, {"w", WICK_F32, 2, {3, 2}}, {"b", WICK_F32, 1, {2}}};

typedef struct told {
    char passes[512], first[2048], last[2048], remarks[2048];
} told;
static void hear_pass(void *user, const char *pass, const char *graph) {
    told *t = user;
    snprintf(*t->passes ? t->last : t->first, sizeof t->last, "%s", graph);
    const size_t n = strlen(t->passes);
    snprintf(t->passes + n, sizeof t->passes - n, "%s,", pass);
}
static void hear_remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    told *t = user;
    const size_t n = strlen(t->remarks);
    CHECK(place && strstr(place, "test_compile.c:"));
    snprintf(t->remarks + n, sizeof t->remarks - n, "%s: %s: %s\n", pass, node, text);
}

TEST(passes_show_the_graph_and_say_what_they_decide) {
    wick_context *ctx = context();
    told t = {.passes = ""};
    run r = compiled(ctx, two_uses, NULL, 3, biased, 2,
                     &(wick_compile_options){.on_pass = hear_pass, .on_remark = hear_remark, .user = &t});
    CHECK(t.passes[0] == ','); /* as recorded */
    const char *at = t.passes + 1;
    for (int i = 0; i < wick_pass_count(); i++) {
        const wick_pass_info p = wick_pass_at(i);
        CHECK_MSG(strncmp(at, p.name, strlen(p.name)) == 0 && at[strlen(p.name)] == ',' && *p.doc, "%s where %s runs",
                  at, p.name);
        at += strlen(p.name) + 1;
    }
    CHECK_INT(*at, 0);
    CHECK_INT(wick_pass_at(-1).name == NULL && wick_pass_at(wick_pass_count()).name == NULL, true);
    CHECK_STR_HAS(t.first, "relu(");
    CHECK(!strstr(t.last, "relu("));
    CHECK_STR_HAS(t.last, "fused(");
    CHECK_STR_HAS(t.remarks, "epilogue: matmul f32[4,2]: add taken along\n");
    CHECK_STR_HAS(t.remarks, "epilogue: matmul f32[4,2]: relu taken along\n");
    CHECK_STR_HAS(t.remarks, "fuse: sub f32[2]: taken as fuse:1: one kernel for it and 2 more; predicted to save ");
    done(&r);
    wick_context_free(&ctx);
}

TEST(decisions_can_be_left_out_by_number) {
    wick_context *ctx = context();
    float x[12], w[6] = {1, 2, -3, 4, 5, -6}, b[2] = {0.5f, -1}, y[2][8], sum[2];
    for (int i = 0; i < 12; i++) x[i] = (float)(i % 5) - 2;
    int kernels[2] = {0};
    for (int k = 0; k < 2; k++) {
        told t = {.passes = ""};
        run r = compiled(ctx, two_uses, NULL, 3, biased, 2,
                         &(wick_compile_options){.without = k ? "fuse:1" : NULL, .on_remark = hear_remark, .user = &t});
        REQUIRE(r.ws != NULL);
        CHECK_STR_HAS(t.remarks, k ? "fuse: sub f32[2]: left out, as asked for: fuse:1: one kernel for it and 2 more"
                                   : "fuse: sub f32[2]: taken as fuse:1: one kernel for it and 2 more");
        kernels[k] = wick_plan_get_info(r.plan).kernels;
        CHECK_INT(wick_run(r.ws, (const void *[]){x, w, b}, (void *[]){y[k], &sum[k]}), WICK_OK);
        done(&r);
    }
    CHECK_INT(kernels[1], kernels[0] + 2);
    CHECK(!memcmp(y[0], y[1], sizeof y[0]) && !memcmp(&sum[0], &sum[1], sizeof sum[0]));
    wick_plan *plan;
    CHECK_FAILS(
        ctx, WICK_ERR_INVALID, "there is no decision 'fuse:2' to leave out: fuse took 1 here",
        wick_compile(ctx, two_uses, NULL, 3, biased, 2, &(wick_compile_options){.without = "fuse:1,fuse:2"}, &plan));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "there is no decision 'merge:0' to leave out",
                wick_compile(ctx, two_uses, NULL, 3, biased, 2, &(wick_compile_options){.without = "merge:0"}, &plan));
    CHECK(plan == NULL);
    wick_context_free(&ctx);
}

TEST(passes_can_be_left_out_by_name) {
    wick_context *ctx = context();
    float x[12], w[6] = {1, 2, -3, 4, 5, -6}, b[2] = {0.5f, -1}, y[2][8], sum[2];
    for (int i = 0; i < 12; i++) x[i] = (float)(i % 5) - 2;
    for (int k = 0; k < 2; k++) {
        told t = {.passes = ""};
        const char *without = k ? "fuse,epilogue,simplify" : NULL;
        run r = compiled(ctx, two_uses, NULL, 3, biased, 2,
                         &(wick_compile_options){.without = without, .on_pass = hear_pass, .user = &t});
        REQUIRE(r.ws != NULL);
        CHECK_INT(strstr(t.passes, ",fuse,") != NULL, !k);
        CHECK_INT(strstr(t.passes, ",simplify,") != NULL, !k);
        CHECK_INT(strstr(t.last, "relu(") != NULL, k);
        CHECK_INT(wick_run(r.ws, (const void *[]){x, w, b}, (void *[]){y[k], &sum[k]}), WICK_OK);
        done(&r);
    }
    CHECK(!memcmp(y[0], y[1], sizeof y[0]) && !memcmp(&sum[0], &sum[1], sizeof sum[0]));
    wick_plan *plan;
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "no pass 'fus'; those that can be left out: attention quantize",
                wick_compile(ctx, two_uses, NULL, 3, biased, 2, &(wick_compile_options){.without = "cse,fus"}, &plan));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "no pass 'fold:1'",
                wick_compile(ctx, two_uses, NULL, 3, biased, 2, &(wick_compile_options){.without = "fold:1"}, &plan));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "no pass 'fuse:x'",
                wick_compile(ctx, two_uses, NULL, 3, biased, 2, &(wick_compile_options){.without = "fuse:x"}, &plan));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "without the pass 'dce'",
                wick_compile(ctx, two_uses, NULL, 3, biased, 2, &(wick_compile_options){.without = "dce"}, &plan));
    CHECK(plan == NULL);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
