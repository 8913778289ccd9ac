/* Functions of many shapes: their dims and guards, the cache of plans, threads, bounds of memory, shapes as
 * expressions. */
#include <pthread.h>

#include "base/counting_alloc.h"
#include "tensor/tensors.h"

/* A convolution network on pictures of any size, then attention over what it gives: [batch, 3, height, width] ->
 * [batch, 5]. */
typedef struct net {
    wick_tensor *w, *v, *q;
    int recorded;
} net;

static void net_init(net *n, wick_context *ctx) {
    uint64_t seed = test_seed;
    test_seed = 99;
    float data[8 * 3 * 9];
    fill_random(data, 8 * 3 * 9, -0.4, 0.4);
    n->w = wick_from(ctx, WICK_F32, 4, (int64_t[]){8, 3, 3, 3}, data);
    fill_random(data, 40, -0.4, 0.4);
    n->v = wick_from(ctx, WICK_F32, 2, (int64_t[]){5, 8}, data);
    fill_random(data, 64, -0.4, 0.4);
    n->q = wick_from(ctx, WICK_F32, 2, (int64_t[]){8, 8}, data);
    n->recorded = 0;
    test_seed = seed;
}

static wick_status net_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    net *n = user;
    n->recorded++;
    wick_tensor *x = wick_relu(wick_conv(in[0], n->w, NULL, &(wick_conv_options){.stride = {2, 2}, .pad = {1, 1}}));
    x = wick_max_pool(x, &(wick_pool_options){.kernel = {2, 2}});
    const int64_t batch = wick_tensor_dim(x, 0), pixels = wick_tensor_dim(x, 2) * wick_tensor_dim(x, 3);
    x = wick_transpose(wick_reshape(x, 3, (int64_t[]){batch, 8, pixels}), 1, 2);
    wick_tensor *scores = wick_softmax(wick_matmul(wick_matmul(x, n->q), wick_transpose(x, 1, 2)), -1);
    x = wick_mean(wick_matmul(scores, x), WICK_AXES(1), false);
    out[0] = wick_linear(x, n->v, NULL);
    return wick_tensor_error(out[0], NULL);
}
static const wick_dim net_dims[] = {{"batch", 1, 6, 0}, {"height", 8, 40, 0}, {"width", 8, 40, 4}};
static const wick_dynamic_input net_in[] = {{"images", WICK_F32, 4, {"batch", "3", "height", "width"}}};

static wick_dynamic *net_dynamic(wick_context *ctx, net *n, const wick_dynamic_options *options) {
    wick_dynamic *d = NULL;
    CHECK_OK(ctx, wick_dynamic_new(ctx, net_body, n, 3, net_dims, 1, net_in, 1, options, &d));
    return d;
}
static void random_dims(int64_t *extents) {
    extents[0] = test_rand_int(1, 6), extents[1] = test_rand_int(8, 40), extents[2] = 4 * test_rand_int(2, 10);
}
enum { PIXELS = 6 * 3 * 40 * 40 };

/* What a plan for these extents alone gives. */
static void compiled(wick_context *ctx, net *n, const wick_spec *spec, const float *x, float *y) {
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, wick_compile(ctx, net_body, n, 1, spec, 1, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
    CHECK_INT(wick_run(ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
}

TEST(results_are_those_of_plans_compiled_for_the_extents_to_the_bit) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    wick_dynamic *d = net_dynamic(ctx, &n, NULL);
    REQUIRE(d != NULL);
    wick_runner *r = NULL;
    REQUIRE(wick_runner_new(d, &r) == WICK_OK);
    CHECK(wick_runner_plan(r) == NULL);
    static float x[PIXELS];
    fill_random(x, PIXELS, -1, 1);
    for (int k = 0; k < 40; k++) {
        int64_t e[3];
        random_dims(e);
        const wick_spec spec = {"", WICK_F32, 4, {e[0], 3, e[1], e[2]}};
        CHECK_MSG(wick_runner_bind(r, &spec) == WICK_OK, "%s", wick_runner_error(r));
        float got[6 * 5] = {0}, want[6 * 5] = {0};
        const wick_spec out = wick_plan_output(wick_runner_plan(r), 0);
        CHECK(out.rank == 2 && out.dims[0] == e[0] && out.dims[1] == 5);
        CHECK_MSG(wick_runner_run(r, (const void *[]){x}, (void *[]){got}) == WICK_OK, "%s", wick_runner_error(r));
        compiled(ctx, &n, &spec, x, want);
        CHECK(!memcmp(got, want, sizeof got));
    }
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

TEST(known_extents_are_found_and_the_cache_stays_within_its_limits) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    wick_dynamic *d = net_dynamic(ctx, &n, &(wick_dynamic_options){.plans = 3});
    wick_runner *r = NULL;
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    for (int64_t b = 1; b <= 3; b++) CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){b, 8, 8}), WICK_OK);
    CHECK_INT(n.recorded, 3);
    for (int64_t b = 1; b <= 3; b++) CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){b, 8, 8}), WICK_OK);
    CHECK_INT(n.recorded, 3);
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){1, 8, 8}), WICK_OK); /* of three the least lately used is 2 */
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){4, 8, 8}), WICK_OK);
    wick_dynamic_info info = wick_dynamic_get_info(d);
    CHECK_INT(info.plans, 3);
    CHECK_INT(info.evicted, 1);
    CHECK_INT(info.misses, 4);
    CHECK_INT(info.hits, 4);
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){1, 8, 8}), WICK_OK);
    CHECK_INT(n.recorded, 4);
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){2, 8, 8}), WICK_OK);
    CHECK_INT(n.recorded, 5);
    wick_runner_free(&r);
    wick_dynamic_free(&d);

    d = net_dynamic(ctx, &n, &(wick_dynamic_options){.cache_bytes = 200000});
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    for (int k = 0; k < 60; k++) {
        int64_t e[3];
        random_dims(e);
        CHECK_INT(wick_runner_bind_dims(r, e), WICK_OK);
        wick_runner *other = NULL; /* a second workspace of it */
        REQUIRE(wick_runner_new(d, &other) == WICK_OK);
        CHECK_INT(wick_runner_bind_dims(other, e), WICK_OK);
        CHECK(wick_runner_plan(other) == wick_runner_plan(r));
        wick_runner_free(&other);
        info = wick_dynamic_get_info(d);
        CHECK_MSG(info.cached_bytes <= 200000 || info.plans == 1, "%zu bytes in %d plans", info.cached_bytes,
                  info.plans);
    }
    CHECK(info.evicted > 10);
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

#define REFUSED(r, status, text, call)                                                  \
    do {                                                                                \
        const wick_status got_ = (call);                                                \
        CHECK_MSG(got_ == (status), "%s: %s", #call, wick_status_name(got_));           \
        CHECK_STR_HAS(wick_runner_error(r), text);                                      \
        CHECK(wick_runner_plan(r) == NULL);                                             \
        CHECK_INT(wick_runner_run(r, NULL, NULL), WICK_ERR_INVALID);                    \
    } while (0)

TEST(guards_name_the_input_the_dim_its_range_and_the_value) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    wick_dynamic *d = net_dynamic(ctx, &n, NULL);
    wick_runner *r = NULL;
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){1, 8, 8}), WICK_OK);
    REFUSED(r, WICK_ERR_SHAPE, "input images: dim 0 (batch) is 300, the range is 1..6",
            wick_runner_bind(r, &(wick_spec){"", WICK_F32, 4, {300, 3, 8, 8}}));
    REFUSED(r, WICK_ERR_SHAPE, "input images: dim 3 (width) is 10, the range is 8..40, multiples of 4",
            wick_runner_bind(r, &(wick_spec){"", WICK_F32, 4, {1, 3, 8, 10}}));
    REFUSED(r, WICK_ERR_SHAPE, "input images: dim 1 (3) is 4, but batch=1, height=8, width=8 makes it 3",
            wick_runner_bind(r, &(wick_spec){"", WICK_F32, 4, {1, 4, 8, 8}}));
    REFUSED(r, WICK_ERR_SHAPE, "input images: it has 3 dims, not 4",
            wick_runner_bind(r, &(wick_spec){"", WICK_F32, 3, {1, 3, 8}}));
    REFUSED(r, WICK_ERR_DTYPE, "input images: it is f64, not f32",
            wick_runner_bind(r, &(wick_spec){"", WICK_F64, 4, {1, 3, 8, 8}}));
    REFUSED(r, WICK_ERR_SHAPE, "dim height is 7, the range is 8..40", wick_runner_bind_dims(r, (int64_t[]){1, 7, 8}));
    CHECK_INT(n.recorded, 1);
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

static wick_status double_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_concat(2, (wick_tensor *[]){in[0], in[1]}, 0);
    return wick_tensor_error(out[0], NULL);
}
/* Records another op for one list of extents. */
static wick_status moody_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const int64_t n = wick_tensor_dim(in[0], 0);
    if (n == 13) return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "not for 13");
    out[0] = n == 1 ? wick_neg(in[0]) : wick_exp(in[0]);
    (void)user;
    return WICK_OK;
}

TEST(inputs_are_expressions_of_dims_and_mistakes_are_named) {
    wick_context *ctx = context();
    wick_dynamic *d = NULL;
    const wick_dim dims[] = {{"n", 1, 9, 0}, {"a name, of a file", 0, 4, 0}};
    wick_dynamic_input in[] = {{"a", WICK_F32, 2, {"n", "a name, of a file"}},
                               {"b", WICK_F32, 2, {"2*(n + 1) - n/3", "a name, of a file"}}};
    CHECK_OK(ctx, wick_dynamic_new(ctx, double_body, NULL, 2, dims, 2, in, 1, NULL, &d));
    wick_runner *r = NULL;
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    CHECK_INT(wick_runner_bind(r, (wick_spec[]){{"", WICK_F32, 2, {7, 3}}, {"", WICK_F32, 2, {14, 3}}}), WICK_OK);
    CHECK_INT(wick_plan_output(wick_runner_plan(r), 0).dims[0], 21);
    REFUSED(r, WICK_ERR_SHAPE, "input b: dim 0 (2*(n + 1) - n/3) is 13, but n=7, a name, of a file=3 makes it 14",
            wick_runner_bind(r, (wick_spec[]){{"", WICK_F32, 2, {7, 3}}, {"", WICK_F32, 2, {13, 3}}}));
    wick_runner_free(&r);
    wick_dynamic_free(&d);

    static const char *const bad[] = {"",      "m", "2*", "(n", "n)", "n n", "n/0", "n/n", "2n", "99999999999999999999",
                                      "n % 2", "-n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        in[1].dims[0] = bad[i];
        CHECK_FAILS(ctx, WICK_ERR_INVALID, "input b: dim 0",
                    wick_dynamic_new(ctx, double_body, NULL, 2, dims, 2, in, 1, NULL, &d));
        CHECK(d == NULL);
    }
    in[0].dims[0] = in[1].dims[0] = "n + 1";
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "dim n is no extent of an input by itself",
                wick_dynamic_new(ctx, double_body, NULL, 2, dims, 2, in, 1, NULL, &d));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "dim n: there is nothing in 5..7",
                wick_dynamic_new(ctx, double_body, NULL, 1, &(wick_dim){"n", 5, 7, 4 + 4}, 2, in, 1, NULL, &d));

    const wick_dynamic_input one = {"x", WICK_F32, 1, {"n"}};
    CHECK_OK(ctx, wick_dynamic_new(ctx, moody_body, NULL, 1, &(wick_dim){"n", 1, 20, 0}, 1, &one, 1, NULL, &d));
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    for (int k = 0; k < 2; k++)
        REFUSED(r, WICK_ERR_UNSUPPORTED, "with n=13: not for 13", wick_runner_bind_dims(r, (int64_t[]){13}));
    CHECK_INT(wick_dynamic_get_info(d).plans, 0);
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){12}), WICK_OK);
    wick_dynamic_bound bound;
    CHECK_FAILS(ctx, WICK_ERR_UNSUPPORTED, "with n=13: not for 13", wick_dynamic_prove(d, 100, &bound));
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

TEST(a_proven_bound_is_the_largest_plan_of_the_range_and_a_limit_is_kept) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    wick_dynamic *d = net_dynamic(ctx, &n, NULL);
    REQUIRE(d != NULL);
    wick_dynamic_bound bound, part;
    CHECK_OK(ctx, wick_dynamic_prove(d, 6 * 33 * 9, &bound));
    CHECK(bound.proven);
    CHECK_INT(bound.points, 6 * 33 * 9);
    CHECK_INT(bound.planned, bound.points);
    wick_runner *r = NULL;
    REQUIRE(wick_runner_new(d, &r) == WICK_OK);
    CHECK_INT(wick_runner_bind_dims(r, bound.at), WICK_OK);
    wick_plan_info info = wick_plan_get_info(wick_runner_plan(r));
    CHECK_INT(info.arena_bytes + info.scratch_bytes, bound.bytes);
    for (int k = 0; k < 200; k++) {
        int64_t e[3];
        random_dims(e);
        CHECK_MSG(wick_runner_bind_dims(r, e) == WICK_OK, "%s", wick_runner_error(r));
        info = wick_plan_get_info(wick_runner_plan(r));
        CHECK(info.arena_bytes + info.scratch_bytes <= bound.bytes);
    }
    wick_runner_free(&r);
    wick_dynamic_free(&d);

    /* Not for all: nothing beyond it runs. */
    d = net_dynamic(ctx, &n, NULL);
    REQUIRE(d != NULL);
    CHECK_OK(ctx, wick_dynamic_prove(d, 20, &part));
    CHECK(!part.proven && part.planned == 20 && part.points == bound.points && part.bytes <= bound.bytes);
    wick_dynamic_free(&d);

    d = net_dynamic(ctx, &n, &(wick_dynamic_options){.memory_limit = bound.bytes / 2});
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    CHECK_INT(wick_runner_bind_dims(r, bound.at), WICK_ERR_NOMEM);
    CHECK_STR_HAS(wick_runner_error(r), "with batch=6, height=40, width=40: a run takes ");
    CHECK_STR_HAS(wick_runner_error(r), "more than the limit of");
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){1, 8, 8}), WICK_OK);
    CHECK_OK(ctx, wick_dynamic_prove(d, 6 * 33 * 9, &part));
    CHECK(part.proven && part.bytes <= bound.bytes / 2 && part.bytes > bound.bytes / 4);
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

TEST(shapes_are_expressions_of_the_dims) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    wick_dynamic *d = net_dynamic(ctx, &n, NULL);
    wick_shapes *s = NULL;
    REQUIRE(d != NULL);
    CHECK_OK(ctx, wick_dynamic_find_shapes(d, &s));
    REQUIRE(s != NULL);
    CHECK_INT(wick_shapes_exceptions(s), 0);
    CHECK(wick_shapes_recordings(s) < 100);
    const char *conv = "", *scores = "";
    for (int i = 0; i < wick_shapes_count(s); i++) {
        const wick_shape_row row = wick_shapes_at(s, i);
        CHECK_MSG(row.known, "%s: %s", row.op, row.text);
        if (strcmp(row.op, "conv") == 0) conv = row.text;
        if (strcmp(row.op, "softmax") == 0) scores = row.text;
    }
    CHECK_STR_HAS(conv, "[batch, 8, floor((height + 1) / 2), floor(width / 2)]");
    CHECK_STR_HAS(scores, "[batch, ");
    CHECK_STR_HAS(wick_shapes_at(s, wick_shapes_output(s, 0)).text, "[batch, 5]");
    static wick_spec specs[64];
    REQUIRE(wick_shapes_count(s) <= 64);
    for (int k = 0; k < 100; k++) { /* against the graph recorded there */
        int64_t e[3];
        random_dims(e);
        CHECK_INT(wick_shapes_eval(s, e, specs), WICK_OK);
        const int64_t h = ((e[1] + 1) / 2) / 2, w = ((e[2] + 1) / 2) / 2;
        for (int i = 0; i < wick_shapes_count(s); i++)
            if (strcmp(wick_shapes_at(s, i).op, "softmax") == 0)
                CHECK(specs[i].rank == 3 && specs[i].dims[0] == e[0] && specs[i].dims[1] == h * w &&
                      specs[i].dims[2] == h * w);
    }
    CHECK_INT(wick_shapes_eval(s, (int64_t[]){7, 8, 8}, specs), WICK_ERR_SHAPE);
    CHECK_INT(wick_shapes_eval(s, (int64_t[]){1, 8, 9}, specs), WICK_ERR_SHAPE);
    wick_shapes_free(&s);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

/* Windows of 160 every 80, and others that divide in other ways: numbers that few recordings tell. */
static wick_status frames_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    const int64_t n = wick_tensor_dim(in[0], 1), m = wick_tensor_dim(in[0], 0);
    out[0] = wick_frames(in[0], 160, 80);
    out[1] = wick_slice(in[0], 1, 3, n, 97);
    out[2] = wick_reshape(wick_pad(in[0], 2, (int64_t[]){1, 0}, (int64_t[]){2, n}, 0), 1, (int64_t[]){(m + 3) * 2 * n});
    out[3] = wick_concat(
        3, (wick_tensor *[]){in[0], wick_expand(wick_sum(in[0], WICK_AXES(1), true), 2, (int64_t[]){m, n / 3}), in[0]},
        1);
    out[4] = wick_reshape(in[0], 3, (int64_t[]){m, n / 160, 160});
    for (int i = 0; i < 5; i++)
        if (wick_tensor_error(out[i], NULL)) return wick_context_fail(ctx, WICK_ERR_SHAPE, "output %d", i);
    return WICK_OK;
}

TEST(quotients_are_told_apart_by_recording_where_they_differ) {
    wick_context *ctx = context();
    wick_dynamic *d = NULL;
    wick_shapes *s = NULL;
    CHECK_OK(ctx, wick_dynamic_new(ctx, frames_body, NULL, 2, (wick_dim[]){{"m", 2, 9, 0}, {"n", 480, 16000, 160}}, 1,
                                   &(wick_dynamic_input){"x", WICK_F32, 2, {"m", "n"}}, 5, NULL, &d));
    REQUIRE(d != NULL);
    CHECK_OK(ctx, wick_dynamic_find_shapes(d, &s));
    REQUIRE(s != NULL);
    static wick_spec specs[64];
    for (int64_t m = 2; m <= 9; m++)
        for (int64_t n = 480; n <= 16000; n += 160) {
            CHECK_INT(wick_shapes_eval(s, (int64_t[]){m, n}, specs), WICK_OK);
            const int64_t want[5] = {n / 80 - 1, (n - 3 + 96) / 97, (m + 3) * 2 * n, 2 * n + n / 3, n / 160};
            for (int i = 0; i < 5; i++) {
                const int row = wick_shapes_output(s, i);
                REQUIRE(row >= 0);
                CHECK_MSG(specs[row].dims[i == 2 ? 0 : 1] == want[i], "output %d, m=%d n=%d: %s is %lld, not %lld", i,
                          (int)m, (int)n, wick_shapes_at(s, row).text, (long long)specs[row].dims[i == 2 ? 0 : 1],
                          (long long)want[i]);
            }
        }
    wick_shapes_free(&s);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

static wick_status windows_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_frames(in[0], 400, 160);
    out[1] = wick_slice(in[0], 1, 5, INT64_MAX, 113);
    return wick_tensor_error(out[0], NULL) ? wick_tensor_error(out[0], NULL) : wick_tensor_error(out[1], NULL);
}
TEST(hops_of_hundreds_are_found_exactly) {
    wick_context *ctx = context();
    wick_dynamic *d = NULL;
    wick_shapes *s = NULL;
    CHECK_OK(ctx, wick_dynamic_new(ctx, windows_body, NULL, 2, (wick_dim[]){{"m", 1, 9, 0}, {"n", 400, 16000, 0}}, 1,
                                   &(wick_dynamic_input){"x", WICK_F32, 2, {"m", "n"}}, 2, NULL, &d));
    REQUIRE(d != NULL);
    CHECK_OK(ctx, wick_dynamic_find_shapes(d, &s));
    REQUIRE(s != NULL);
    CHECK_STR_HAS(wick_shapes_at(s, wick_shapes_output(s, 0)).text, "[m, floor((n - 240) / 160), 400]");
    CHECK_STR_HAS(wick_shapes_at(s, wick_shapes_output(s, 1)).text, "[m, floor((n + 107) / 113)]");
    CHECK(wick_shapes_recordings(s) < 160);
    wick_shapes_free(&s);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

static wick_status odd_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    const int64_t n = wick_tensor_dim(in[0], 0);
    out[0] = wick_add(wick_zeros(ctx, WICK_F32, 1, (int64_t[]){n * 2654435761u % 1000003 + 1}),
                      wick_constant(ctx, WICK_F32, 1));
    return WICK_OK;
}
TEST(what_follows_in_no_simple_way_is_said_and_other_graphs_are_told) {
    wick_context *ctx = context();
    wick_dynamic *d = NULL;
    wick_shapes *s = NULL;
    const wick_dynamic_input one = {"x", WICK_F32, 1, {"n"}};
    CHECK_OK(ctx, wick_dynamic_new(ctx, odd_body, NULL, 1, &(wick_dim){"n", 1, 5000, 0}, 1, &one, 1, NULL, &d));
    REQUIRE(d != NULL);
    CHECK_OK(ctx, wick_dynamic_find_shapes(d, &s));
    REQUIRE(s != NULL);
    const wick_shape_row row = wick_shapes_at(s, wick_shapes_output(s, 0));
    CHECK(!row.known);
    CHECK_STR_HAS(row.text, "[?]");
    CHECK_STR_HAS(row.op, "add");
    wick_spec specs[8];
    CHECK_INT(wick_shapes_eval(s, (int64_t[]){3}, specs), WICK_OK);
    CHECK_INT(specs[wick_shapes_output(s, 0)].dims[0], -1);
    wick_shapes_free(&s);
    wick_dynamic_free(&d);

    CHECK_OK(ctx, wick_dynamic_new(ctx, moody_body, NULL, 1, &(wick_dim){"n", 1, 12, 0}, 1, &one, 1, NULL, &d));
    REQUIRE(d != NULL);
    CHECK_OK(ctx, wick_dynamic_find_shapes(d, &s));
    REQUIRE(s != NULL);
    CHECK(wick_shapes_exceptions(s) >= 1);
    CHECK_STR_HAS(wick_shapes_exception(s), "n=1: neg at ");
    CHECK_STR_HAS(wick_shapes_exception(s), "elsewhere exp at ");
    CHECK_STR_HAS(wick_shapes_at(s, wick_shapes_output(s, 0)).text, "[n]");
    wick_shapes_free(&s);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, RUNS = 60, KINDS = 12 };
static int64_t kinds[KINDS][3];
static float expected[KINDS][30], picture[PIXELS];

typedef struct job {
    wick_dynamic *d;
    uint64_t seed;
    int good, wrong;
} job;

static void *run_many(void *arg) {
    job *j = arg;
    wick_runner *r = NULL;
    if (wick_runner_new(j->d, &r) != WICK_OK) return NULL;
    for (int i = 0; i < RUNS; i++) {
        j->seed = j->seed * 6364136223846793005u + 1442695040888963407u;
        const int k = (int)((j->seed >> 33) % KINDS);
        const wick_spec spec = {"", WICK_F32, 4, {kinds[k][0], 3, kinds[k][1], kinds[k][2]}};
        float got[30] = {0};
        const bool good = wick_runner_bind(r, &spec) == WICK_OK &&
                          wick_runner_run(r, (const void *[]){picture}, (void *[]){got}) == WICK_OK;
        j->good += good;
        j->wrong += !good || memcmp(got, expected[k], sizeof got) != 0;
    }
    wick_runner_free(&r);
    return NULL;
}

TEST(many_threads_share_one_dynamic_function) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    fill_random(picture, PIXELS, -1, 1);
    for (int k = 0; k < KINDS; k++) {
        random_dims(kinds[k]);
        memset(expected[k], 0, sizeof expected[k]);
        compiled(ctx, &n, &(wick_spec){"", WICK_F32, 4, {kinds[k][0], 3, kinds[k][1], kinds[k][2]}}, picture,
                 expected[k]);
    }
    for (int limit = 0; limit < 2; limit++) { /* plans are made anew all the time in the second */
        wick_dynamic *d =
            net_dynamic(ctx, &n, &(wick_dynamic_options){.plans = limit ? 2 : 64, .cache_bytes = limit ? 50000 : 0});
        REQUIRE(d != NULL);
        pthread_t threads[THREADS];
        job jobs[THREADS];
        for (int t = 0; t < THREADS; t++) {
            jobs[t] = (job){.d = d, .seed = (uint64_t)t + 1};
            REQUIRE(pthread_create(&threads[t], NULL, run_many, &jobs[t]) == 0);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(threads[t], NULL);
            CHECK_INT(jobs[t].good, RUNS);
            CHECK_INT(jobs[t].wrong, 0);
        }
        const wick_dynamic_info info = wick_dynamic_get_info(d);
        if (!limit) CHECK(info.misses <= KINDS && info.evicted == 0);
        else CHECK(info.evicted > 0);
        wick_dynamic_free(&d);
    }
    wick_context_free(&ctx);
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static wick_status noise_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    out[0] = wick_add(in[0], wick_random_uniform(ctx, WICK_F32, 1, wick_tensor_dims(in[0])));
    return WICK_OK;
}
TEST(a_runner_draws_on_whatever_plans_it_uses) {
    wick_context *ctx = context();
    wick_dynamic *d = NULL;
    wick_runner *r = NULL;
    CHECK_OK(ctx, wick_dynamic_new(ctx, noise_body, NULL, 1, &(wick_dim){"n", 1, 9, 0}, 1,
                                   &(wick_dynamic_input){"x", WICK_F32, 1, {"n"}}, 1, NULL, &d));
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    float zeros[9] = {0}, y[4][9] = {{0}};
    for (int k = 0; k < 4; k++) {
        CHECK_INT(wick_runner_offset(r), k);
        if (k == 3) wick_runner_set_offset(r, 1);
        CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){k % 2 ? 5 : 9}), WICK_OK);
        CHECK_INT(wick_runner_run(r, (const void *[]){zeros}, (void *[]){y[k]}), WICK_OK);
    }
    CHECK(y[0][0] != y[1][0] && y[0][0] != y[2][0]);
    CHECK(!memcmp(y[1], y[3], sizeof y[1]));
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

/* ---- out of memory ----------------------------------------------------------------------------------------------- */

/* All of it with an allocator that fails from some call on: errors, no leaks, and what is left works. */
static wick_status use_all(wick_context *ctx, net *n) {
    static float x[PIXELS], y[30];
    wick_dynamic *d = NULL;
    wick_runner *r = NULL;
    wick_shapes *s = NULL;
    wick_dynamic_bound bound;
    wick_status status =
        wick_dynamic_new(ctx, net_body, n, 3, net_dims, 1, net_in, 1, &(wick_dynamic_options){.plans = 1}, &d);
    if (status == WICK_OK) status = wick_runner_new(d, &r);
    for (int64_t b = 1; b <= 2 && status == WICK_OK; b++)
        if ((status = wick_runner_bind_dims(r, (int64_t[]){b, 8, 8})) == WICK_OK)
            status = wick_runner_run(r, (const void *[]){x}, (void *[]){y});
    if (status == WICK_OK) status = wick_dynamic_find_shapes(d, &s);
    if (status == WICK_OK) status = wick_dynamic_prove(d, 3, &bound);
    wick_shapes_free(&s);
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    return status;
}
TEST(running_out_of_memory_is_an_error_wherever_it_happens) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .allocator = &allocator});
    net n;
    net_init(&n, ctx);
    CHECK_OK(ctx, use_all(ctx, &n)); /* what the context itself keeps is made now */
    const int64_t before = c.calls;
    CHECK_OK(ctx, use_all(ctx, &n));
    const int64_t calls = c.calls - before, live = c.live;
    CHECK(calls > 100);
    int failed = 0;
    for (int64_t k = 0; k < calls; k += k < 60 ? 1 : 1 + calls / 150) {
        c.fail_at = c.calls + k;
        const wick_status status = use_all(ctx, &n);
        failed += status == WICK_ERR_NOMEM;
        CHECK_MSG(status == WICK_ERR_NOMEM || status == WICK_OK, "call %lld: %s: %s", (long long)k,
                  wick_status_name(status), wick_context_error(ctx));
        c.fail_at = -1;
        wick_context_clear_error(ctx);
        CHECK_MSG(c.live <= live + 8, "call %lld: %lld blocks more", (long long)k, (long long)(c.live - live));
    }
    CHECK(failed > 50);
    CHECK_OK(ctx, use_all(ctx, &n));
    wick_context_free(&ctx);
    CHECK_INT(c.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
