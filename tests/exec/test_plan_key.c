/* The plan key: what makes a new plan, what does not, and that a hit computes the right thing. */
#include "exec/exec.h"
#include "tensor/tensors.h"
#include "wick/ops.h"
#include "wick/plan.h"

static uint64_t plans(wick_context *ctx) { return wick_context_get_stats(ctx).plans_built; }
static bool hit(wick_context *ctx, wick_tensor *x) {
    wick_eval_info info = {0};
    CHECK_OK(ctx, wick_eval(ctx, 1, &x, &info));
    return info.plan_hit;
}

TEST(a_changed_scalar_makes_no_new_plan_a_changed_constant_does) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2);
    for (int i = 0; i < 5; i++) {
        wick_tensor *y = wick_mul(x, wick_scalar(ctx, WICK_F32, i));
        CHECK(hit(ctx, y) == (i > 0));
        CHECK_VALUES(y, i, 2 * i);
    }
    uint64_t before = plans(ctx);
    for (int i = 5; i < 8; i++) {
        wick_tensor *y = wick_mul(x, wick_constant(ctx, WICK_F32, i));
        CHECK(!hit(ctx, y));
        CHECK_VALUES(y, i, 2 * i);
    }
    CHECK(plans(ctx) >= before + 3);
    wick_context_free(&ctx);
}

TEST(types_shapes_and_layouts_are_part_of_the_key) {
    wick_context *ctx = context();
    wick_tensor *one = wick_constant(ctx, WICK_F32, 1);
    wick_tensor *a = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3)), *b = wick_ones(ctx, WICK_F32, WICK_DIMS(3, 2)),
                *c = wick_ones(ctx, WICK_F64, WICK_DIMS(2, 3));
    float data[6] = {1, 2, 3, 4, 5, 6};
    wick_tensor *d = wick_wrap(ctx, WICK_F32, WICK_DIMS(2, 3), (int64_t[]){1, 2}, data, NULL, NULL);
    CHECK(!hit(ctx, wick_add(a, one)));
    CHECK(hit(ctx, wick_add(a, one)));
    CHECK(!hit(ctx, wick_add(b, one)));
    CHECK(!hit(ctx, wick_add(c, one)));
    wick_tensor *strided = wick_add(d, one);
    CHECK(!hit(ctx, strided));
    CHECK_VALUES(strided, 2, 4, 6, 3, 5, 7);
    wick_context_free(&ctx);
}

TEST(the_alias_pattern_of_leaves_is_part_of_the_key) {
    wick_context *ctx = context();
    wick_tensor *a = VEC(ctx, 1, 2), *b = VEC(ctx, 10, 20), *same = wick_sub(a, a), *two = wick_sub(a, b),
                *again = wick_sub(b, a);
    CHECK(!hit(ctx, same));
    CHECK(!hit(ctx, two));
    CHECK(hit(ctx, again));
    CHECK_VALUES(same, 0, 0);
    CHECK_VALUES(two, -9, -18);
    CHECK_VALUES(again, 9, 18);
    /* Assigned and read twice, against assigned and read beside another: */
    CHECK_OK(ctx, wick_assign(a, wick_add(a, a)));
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    CHECK_OK(ctx, wick_assign(a, wick_add(a, b)));
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    CHECK_VALUES(a, 12, 24);
    wick_context_free(&ctx);
}

TEST(the_donation_pattern_is_part_of_the_key) {
    wick_context *ctx = context();
    wick_tensor *s = VEC(ctx, 1, 2), *pending = NULL;
    for (int i = 0; i < 4; i++) {
        if (i == 2) pending = wick_mul(s, wick_like(s, 100)); /* now somebody wants the old version */
        wick_scope *scope = wick_scope_open(ctx);
        CHECK_OK(ctx, wick_assign(s, wick_add(s, wick_like(s, 1))));
        wick_scope_close(&scope);
        CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    }
    CHECK_VALUES(s, 5, 6);
    CHECK_VALUES(pending, 300, 400);
    wick_context_free(&ctx);
}

TEST(views_of_different_places_share_a_plan_when_they_lie_alike) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2, 3, 4, 5, 6);
    wick_tensor *parts[3];
    for (int i = 0; i < 3; i++) parts[i] = wick_slice(x, 0, 2 * i, 2 * i + 2, 1);
    CHECK_OK(ctx, wick_eval(ctx, 3, parts, NULL));
    uint64_t before = plans(ctx);
    for (int i = 0; i < 3; i++) {
        wick_tensor *y = wick_neg(parts[i]);
        CHECK_OK(ctx, wick_eval(ctx, 1, &y, NULL));
        const void *p = NULL;
        CHECK_OK(ctx, wick_data(y, &p));
        CHECK(p && ((const float *)p)[0] == -(2 * i + 1) && ((const float *)p)[1] == -(2 * i + 2));
    }
    CHECK_INT(plans(ctx), (long long)before + 1);
    wick_context_free(&ctx);
}

/* A hit is confirmed by comparing: plans put under a wrong hash are not taken. */
TEST(a_hit_is_confirmed_by_the_whole_key) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 4, 9);
    for (int i = 0; i < 300; i++) { /* more than there are buckets */
        wick_tensor *y = wick_add(x, wick_constant(ctx, WICK_F32, i));
        CHECK(!hit(ctx, y));
        CHECK_VALUES(y, 4 + i, 9 + i);
        y = wick_add(x, wick_constant(ctx, WICK_F32, i));
        CHECK(hit(ctx, y));
        CHECK_VALUES(y, 4 + i, 9 + i);
    }
    wick_context_free(&ctx);
}

TEST(custom_ops_are_keyed_by_identity) {
    wick_context *ctx = context();
    float seen[2] = {0, 0};
    wick_tensor *x = VEC(ctx, 1, 2);
    for (int i = 0; i < 4; i++) {
        extern void tests_note(void *user, wick_dtype dtype, int rank, const int64_t *dims, const void *data);
        CHECK_OK(ctx, wick_tap(wick_mul(x, wick_scalar(ctx, WICK_F32, i + 1)), tests_note, &seen[i % 2]));
        wick_eval_info info;
        CHECK_OK(ctx, wick_eval(ctx, 0, NULL, &info));
        CHECK(info.plan_hit == (i >= 2));
        CHECK_INT(info.effects, 1);
    }
    CHECK(seen[0] == 3 && seen[1] == 4);
    wick_context_free(&ctx);
}
void tests_note(void *user, wick_dtype dtype, int rank, const int64_t *dims, const void *data);
void tests_note(void *user, wick_dtype dtype, int rank, const int64_t *dims, const void *data) {
    CHECK(dtype == WICK_F32 && rank == 1 && dims[0] == 2);
    *(float *)user = *(const float *)data;
}

TEST(the_cache_keeps_to_its_byte_budget) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .plan_cache_bytes = 256 * 1024});
    wick_tensor *x = VEC(ctx, 4, 9);
    for (int i = 0; i < 200; i++) {
        CHECK(!hit(ctx, wick_add(x, wick_constant(ctx, WICK_F32, i))));
        CHECK_MSG(wick_context_get_stats(ctx).plan_cache_bytes <= 256 * 1024, "%zu bytes",
                  wick_context_get_stats(ctx).plan_cache_bytes);
    }
    CHECK(hit(ctx, wick_add(x, wick_constant(ctx, WICK_F32, 199))));
    CHECK(!hit(ctx, wick_add(x, wick_constant(ctx, WICK_F32, 0)))); /* the oldest went */
    wick_context_free(&ctx);
    /* still holds the plan that runs */
    ctx = context_with(&(wick_context_options){.threads = 1, .plan_cache_bytes = 1});
    x = VEC(ctx, 4, 9);
    CHECK_VALUES(wick_add(x, x), 8, 18);
    CHECK_VALUES(wick_mul(x, x), 16, 81);
    wick_context_free(&ctx);
}

TEST(eager_and_compiled_plans_are_told_apart) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2);
    CHECK(!hit(ctx, wick_neg(wick_neg(x))));
    ctx->options.eager = true;
    CHECK(!hit(ctx, wick_neg(wick_neg(x))));
    ctx->options.eager = false;
    CHECK(hit(ctx, wick_neg(wick_neg(x))));
    wick_context_free(&ctx);
}

static wick_status negate_twice(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_neg(wick_neg(in[0]));
    return WICK_OK;
}

/* Kernels of a plan that a context made under this value of WICK_EAGER (NULL: none) has; -1 without a plan. */
static int kernels_under(const char *eager) {
    if (eager)
        setenv("WICK_EAGER", eager, 1);
    else
        unsetenv("WICK_EAGER");
    wick_context *ctx = context();
    const wick_spec spec = {.dtype = WICK_F32, .rank = 1, .dims = {2}};
    wick_plan *plan = NULL;
    CHECK_OK(ctx, wick_compile(ctx, negate_twice, NULL, 1, &spec, 1, NULL, &plan));
    int kernels = plan ? wick_plan_get_info(plan).kernels : -1;
    wick_plan_free(&plan);
    CHECK_VALUES(wick_neg(wick_neg(VEC(ctx, 1, 2))), 1, 2);
    wick_context_free(&ctx);
    return kernels;
}

TEST(the_environment_makes_contexts_eager) {
    const char *set = getenv("WICK_EAGER");
    char before[16] = "";
    if (set) snprintf(before, sizeof before, "%s", set);
    CHECK_INT(kernels_under("1"), 2);
    CHECK(kernels_under(NULL) < 2);
    CHECK(kernels_under("0") < 2);
    if (set)
        setenv("WICK_EAGER", before, 1);
    else
        unsetenv("WICK_EAGER");
}

TEST(mixing_devices_is_an_error) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *y = VEC(ctx, 3, 4);
    y->value->type.device = 1; /* as if it lived elsewhere */
    CHECK_POISON(wick_add(x, y), WICK_ERR_INVALID, "different devices");
    CHECK_POISON(wick_concat(2, (wick_tensor *[]){x, y}, 0), WICK_ERR_INVALID, "different devices");
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "different devices", wick_assign(x, y));
    CHECK_INT(wick_neg(y)->value->type.device, 1);
    CHECK_INT(wick_sum(y, WICK_ALL_AXES, false)->value->type.device, 1);
    CHECK_INT(wick_reshape(y, WICK_DIMS(2, 1))->value->type.device, 1);
    CHECK_INT(wick_cast(y, WICK_F64)->value->type.device, 1);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
