/* Ops of the host's own: what a definition promises. */
#include <stdatomic.h>

#include "test.h"
#include "wick/wick.h"

typedef struct counted {
    atomic_int calls, shapes;
} counted;

/* ---- ops: scale(x) = attr x; halves(x) = (x / 2, sum of x); refuse(x) fails where x < 0 -------------------------- */

static wick_status like_first(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, wick_spec *out,
                              char *error, size_t size) {
    (void)attr, (void)n_in, (void)n_out;
    if (user) atomic_fetch_add(&((counted *)user)->shapes, 1);
    if (in[0].dtype != WICK_F32 && in[0].dtype != WICK_F64)
        return snprintf(error, size, "takes f32 and f64"), WICK_ERR_DTYPE;
    out[0] = in[0];
    return WICK_OK;
}
static int64_t count_of(const wick_spec *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dims[i];
    return n;
}
static void scale_some(const wick_custom_work *w, int64_t begin, int64_t end) {
    const double by = *(const double *)w->attr;
    for (int64_t i = begin; i < end; i++) {
        if (w->in[0].dtype == WICK_F64)
            ((double *)w->out_data[0])[i] = by * ((const double *)w->in_data[0])[i];
        else
            ((float *)w->out_data[0])[i] = (float)by * ((const float *)w->in_data[0])[i];
    }
}
static int64_t scale(const wick_custom_work *w, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    if (w->user) atomic_fetch_add(&((counted *)w->user)->calls, 1);
    scale_some(w, 0, count_of(w->in));
    return -1;
}
static int64_t scale_parts(const wick_custom_work *w, int64_t begin, int64_t end) {
    scale_some(w, begin, end);
    return -1;
}
static int64_t by_element(void *user, const void *attr, int n_in, const wick_spec *in, int n_out,
                          const wick_spec *out) {
    (void)user, (void)attr, (void)n_in, (void)n_out, (void)out;
    return count_of(in);
}
static double many_flops(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, const wick_spec *out) {
    (void)user, (void)attr, (void)n_in, (void)n_out, (void)out;
    return 1000.0 * (double)count_of(in);
}
static void scale_gradient(const wick_custom_gradients *g) {
    g->gin[0] = wick_mul(g->gout[0], wick_like(g->gout[0], *(const double *)g->attr));
}
static wick_custom_def scale_def(counted *c, unsigned version, unsigned effects) {
    return (wick_custom_def){.name = "scale",
                             .version = version,
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .results = 1,
                             .effects = effects,
                             .attr_size = sizeof(double),
                             .user = c,
                             .shape = like_first,
                             .kernel = scale,
                             .gradient = scale_gradient};
}

static wick_status halves_shape(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, wick_spec *out,
                                char *error, size_t size) {
    wick_status status = like_first(user, attr, n_in, in, n_out, out, error, size);
    out[1] = (wick_spec){.dtype = in[0].dtype};
    return status;
}
static int64_t halves(const wick_custom_work *w, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    const double *x = w->in_data[0];
    double *half = w->out_data[0], *sum = w->out_data[1], *scratch = w->scratch;
    if ((uintptr_t)scratch % 64 || !scratch) return -1; /* the sum stays wrong */
    scratch[0] = 0;
    for (int64_t i = 0; i < count_of(w->in); i++) half[i] = x[i] / 2, scratch[0] += x[i];
    sum[0] = scratch[0];
    return -1;
}
static void halves_gradient(const wick_custom_gradients *g) {
    wick_tensor *gx = NULL;
    if (g->gout[0]) gx = wick_mul(g->gout[0], wick_like(g->gout[0], 0.5));
    if (g->gout[1]) {
        wick_tensor *all = wick_expand(g->gout[1], wick_tensor_rank(g->in[0]), wick_tensor_dims(g->in[0]));
        gx = gx ? wick_add(gx, all) : all;
    }
    g->gin[0] = gx;
}
static const wick_custom_def halves_def = {.name = "halves",
                                           .min_inputs = 1,
                                           .max_inputs = 1,
                                           .results = 2,
                                           .scratch_bytes = 8,
                                           .shape = halves_shape,
                                           .kernel = halves,
                                           .gradient = halves_gradient};

static int64_t refuse(const wick_custom_work *w, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    for (int64_t i = 0; i < count_of(w->in); i++)
        if (((const float *)w->in_data[0])[i] < 0) return i;
    memcpy(w->out_data[0], w->in_data[0], (size_t)count_of(w->in) * sizeof(float));
    return -1;
}

#define SETUP                                                                                                          \
    wick_context *ctx;                                                                                                 \
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 2}, &ctx) == WICK_OK);                                 \
    counted c = {0, 0};                                                                                                \
    const wick_custom_op *op = NULL;                                                                                   \
    const double three = 3;                                                                                            \
    (void)three, (void)op, (void)c
#define REGISTER(...) REQUIRE(wick_custom_register(ctx, (__VA_ARGS__), &op) == WICK_OK)

TEST(values_come_from_the_kernel_and_attributes) {
    SETUP;
    wick_custom_def def = scale_def(&c, 1, 0);
    REGISTER(&def);
    CHECK(wick_custom_find(ctx, "scale", 1) == op && !wick_custom_find(ctx, "scale", 2) &&
          !wick_custom_find(ctx, "scal", 1));
    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(2, 2), (float[]){1, 2, 3, 4}), *t = wick_transpose(x, 0, 1);
    float y[4];
    /* a view: the kernel gets it row-major */
    REQUIRE(wick_read(wick_custom_call(op, &three, 1, &t), y, sizeof y) == WICK_OK);
    CHECK(y[0] == 3 && y[1] == 9 && y[2] == 6 && y[3] == 12);
    REQUIRE(wick_read(wick_custom_call(op, NULL, 1, &x), y, sizeof y) == WICK_OK); /* zeros */
    CHECK(y[0] == 0 && y[3] == 0);
    wick_tensor *none = wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 3)), *nothing = wick_custom_call(op, &three, 1, &none);
    CHECK(wick_eval(ctx, 1, &nothing, NULL) == WICK_OK && wick_tensor_count(nothing) == 0);
    wick_context_free(&ctx);
}

TEST(mistakes_name_the_op_its_inputs_and_the_line) {
    SETUP;
    wick_custom_def def = scale_def(NULL, 1, 0);
    REGISTER(&def);
    const char *text;
    wick_tensor *x = wick_zeros(ctx, WICK_I32, WICK_DIMS(3));
    CHECK_INT(wick_tensor_error(wick_custom_call(op, &three, 1, &x), &text), WICK_ERR_DTYPE);
    CHECK_STR_HAS(text, "scale(i32[3]): takes f32 and f64");
    CHECK_STR_HAS(text, "test_custom.c:");
    CHECK_INT(wick_tensor_error(wick_custom_call(op, &three, 2, (wick_tensor *[]){x, x}), &text), WICK_ERR_INVALID);
    CHECK_STR_HAS(text, "scale");
    CHECK_INT(wick_tensor_error(wick_custom_call(op, &three, -1, &x), &text), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_custom_call(op, &three, 1, NULL), &text), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_custom_call(op, &three, 1, (wick_tensor *[]){NULL}), &text), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_custom_call(NULL, NULL, 1, &x), &text), WICK_ERR_INVALID);
    CHECK(wick_custom_call(NULL, NULL, 0, NULL) == NULL);
    wick_context_free(&ctx);
}

TEST(definitions_are_checked) {
    SETUP;
    const wick_custom_def good = scale_def(NULL, 1, 0);
    wick_custom_def def;
#define REFUSED(change, part)                                                            \
    def = good;                                                                          \
    change;                                                                              \
    CHECK_INT(wick_custom_register(ctx, &def, &op), WICK_ERR_INVALID);                   \
    CHECK(op == NULL);                                                                   \
    CHECK_STR_HAS(wick_context_error(ctx), part)
    REFUSED(def.name = NULL, "name");
    REFUSED(def.name = "", "name");
    REFUSED(def.name = "Scale", "name");
    REFUSED(def.name = "9lives", "name");
    REFUSED(def.name = "a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on", "64 bytes");
    REFUSED(def.name = "matmul", "built-in");
    REFUSED(def.kernel = NULL, "kernel");
    REFUSED(def.shape = NULL, "shape rule");
    REFUSED(def.max_inputs = 17, "inputs");
    REFUSED(def.min_inputs = 2, "inputs");
    REFUSED(def.results = 0, "results");
    REFUSED(def.results = 9, "results");
    REFUSED(def.effects = 8, "effect");
    REFUSED(def.attr_size = 4097, "attributes");
    CHECK_INT(wick_custom_register(ctx, NULL, &op), WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

TEST(an_op_is_its_name_and_version) {
    SETUP;
    wick_custom_def def = scale_def(&c, 1, 0);
    const wick_custom_op *again, *newer;
    REGISTER(&def);
    CHECK(wick_custom_register(ctx, &def, &again) == WICK_OK && again == op);
    def.results = 2;
    CHECK_INT(wick_custom_register(ctx, &def, &again), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "version 1 is registered with another definition");
    def = scale_def(&c, 2, 0);
    CHECK(wick_custom_register(ctx, &def, &newer) == WICK_OK && newer != op);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(3)), *y;
    CHECK(wick_eval(ctx, 1, &x, NULL) == WICK_OK);
    const uint64_t before = wick_context_get_stats(ctx).plans_built;
    for (int i = 0; i < 3; i++) { /* one plan for each version, reused */
        y = wick_custom_call(op, &three, 1, &x);
        CHECK(wick_eval(ctx, 1, &y, NULL) == WICK_OK);
        y = wick_custom_call(newer, &three, 1, &x);
        CHECK(wick_eval(ctx, 1, &y, NULL) == WICK_OK);
    }
    CHECK_INT(wick_context_get_stats(ctx).plans_built - before, 2);
    const double four = 4; /* attributes are part of the key */
    y = wick_custom_call(op, &four, 1, &x);
    CHECK(wick_eval(ctx, 1, &y, NULL) == WICK_OK);
    CHECK_INT(wick_context_get_stats(ctx).plans_built - before, 3);
    wick_context_free(&ctx);
}

static int calls_of_two_equal_nodes(unsigned effects) {
    wick_context *ctx;
    if (wick_context_new(&(wick_context_options){.threads = 1}, &ctx)) return -1;
    counted c = {0, 0};
    const wick_custom_op *op;
    const wick_custom_def def = scale_def(&c, 1, effects);
    const double three = 3;
    int calls = -1;
    if (!wick_custom_register(ctx, &def, &op)) {
        wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(3));
        wick_tensor *y = wick_add(wick_custom_call(op, &three, 1, &x), wick_custom_call(op, &three, 1, &x));
        (void)wick_custom_call(op, &three, 1, &x); /* nobody reads it */
        if (!wick_eval(ctx, 1, &y, NULL)) calls = atomic_load(&c.calls);
    }
    wick_context_free(&ctx);
    return calls;
}
TEST(effects_decide_what_is_merged_and_what_must_run) {
    CHECK_INT(calls_of_two_equal_nodes(0), 1);
    CHECK_INT(calls_of_two_equal_nodes(WICK_CUSTOM_VARIES), 2);
    CHECK_INT(calls_of_two_equal_nodes(WICK_CUSTOM_ACTS), 3);
}

TEST(a_kernel_that_refuses_stops_the_run_and_no_state_changes) {
    SETUP;
    wick_custom_def def = {.name = "refuse",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .results = 1,
                           .effects = WICK_CUSTOM_FAILS,
                           .shape = like_first,
                           .kernel = refuse};
    REGISTER(&def);
    wick_tensor *state = wick_ones(ctx, WICK_F32, WICK_DIMS(2)),
                *x = wick_from(ctx, WICK_F32, WICK_DIMS(2), (float[]){5, -1});
    REQUIRE(wick_assign(state, wick_custom_call(op, NULL, 1, &x)) == WICK_OK);
    CHECK_INT(wick_eval(ctx, 0, NULL, NULL), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "refuse");
    CHECK_STR_HAS(wick_context_error(ctx), "its kernel refused (1)");
    CHECK_STR_HAS(wick_context_error(ctx), "test_custom.c:");
    wick_context_free(&ctx);
}

static wick_tensor *both_results(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)ctx;
    wick_tensor *out[2];
    wick_custom_record(user, NULL, 1, x, out);
    return wick_add(wick_sum(wick_square(wick_sin(out[0])), WICK_ALL_AXES, false), wick_square(out[1]));
}
static wick_tensor *second_result(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)ctx;
    wick_tensor *out[2];
    wick_custom_record(user, NULL, 1, x, out);
    return wick_square(out[1]);
}
static wick_tensor *of_a_gradient(wick_context *ctx, wick_tensor *const *x, void *user) {
    wick_tensor *loss = both_results(ctx, x, user), *g;
    wick_grad(loss, 1, x, &g);
    return wick_sum(wick_square(g), WICK_ALL_AXES, false);
}
TEST(gradients_agree_with_central_differences) {
    SETUP;
    REGISTER(&halves_def);
    wick_tensor *x = wick_from(ctx, WICK_F64, WICK_DIMS(2, 3), (double[]){1, -2, 0.5, 3, 0.25, -1});
    CHECK_MSG(wick_gradcheck(ctx, both_results, (void *)(uintptr_t)op, 1, &x, 0, 0, NULL) == WICK_OK, "%s",
              wick_context_error(ctx));
    CHECK_MSG(wick_gradcheck(ctx, second_result, (void *)(uintptr_t)op, 1, &x, 0, 0, NULL) == WICK_OK, "%s",
              wick_context_error(ctx));
    CHECK_MSG(wick_gradcheck(ctx, of_a_gradient, (void *)(uintptr_t)op, 1, &x, 0, 0, NULL) == WICK_OK, "%s",
              wick_context_error(ctx));
    wick_context_free(&ctx);
}

static void wrong_gradient(const wick_custom_gradients *g) { g->gin[0] = wick_sum(g->gout[0], WICK_ALL_AXES, false); }
TEST(a_gradient_of_another_shape_is_an_error_that_names_the_op) {
    SETUP;
    wick_custom_def def = scale_def(NULL, 1, 0);
    def.gradient = wrong_gradient;
    REGISTER(&def);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(3)), *g;
    wick_grad(wick_sum(wick_custom_call(op, &three, 1, &x), WICK_ALL_AXES, false), 1, &x, &g);
    CHECK_INT(wick_eval(ctx, 1, &g, NULL), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(ctx), "scale: gradient 0 is f32[], which is not its input's shape and dtype");
    wick_context_free(&ctx);
}

static wick_status odd_shape(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, wick_spec *out,
                             char *error, size_t size) {
    (void)attr, (void)n_in, (void)n_out, (void)error, (void)size;
    out[0] = in[0];
    memcpy(out, user, sizeof *out);
    return WICK_OK;
}
TEST(a_shape_rule_cannot_make_what_is_no_tensor) {
    SETUP;
    wick_spec bad = {0};
    wick_custom_def def = {.name = "odd",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .results = 1,
                           .user = &bad,
                           .shape = odd_shape,
                           .kernel = scale};
    REGISTER(&def);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_SCALAR);
    const wick_spec specs[] = {{.dtype = (wick_dtype)99},
                               {.dtype = WICK_F32, .rank = -1},
                               {.dtype = WICK_F32, .rank = 9},
                               {.dtype = WICK_F32, .rank = 1, .dims = {-1}},
                               {.dtype = WICK_F32, .rank = 2, .dims = {INT64_MAX, 2}},
                               {.dtype = WICK_I4, .rank = 1, .dims = {2}}};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        bad = specs[i];
        CHECK_MSG(wick_tensor_error(wick_custom_call(op, NULL, 1, &x), NULL) != WICK_OK, "%zu", i);
    }
    wick_context_free(&ctx);
}

TEST(parts_give_the_same_bits_on_any_number_of_threads) {
    float first[1000];
    for (int threads = 1; threads <= 4; threads++) {
        wick_context *ctx;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = threads}, &ctx) == WICK_OK);
        wick_custom_def def = scale_def(NULL, 1, 0);
        def.kernel = scale_parts;
        def.parts = by_element;
        def.flops = many_flops;
        const wick_custom_op *op;
        const double third = 1 / 3.0;
        REGISTER(&def);
        wick_tensor *x = wick_arange(ctx, WICK_F32, 1, 0.37, 1000);
        float y[1000];
        REQUIRE(wick_read(wick_custom_call(op, &third, 1, &x), y, sizeof y) == WICK_OK);
        if (threads == 1) memcpy(first, y, sizeof y);
        CHECK(memcmp(first, y, sizeof y) == 0);
        CHECK(y[999] == (float)third * (float)(1 + 999 * 0.37));
        wick_context_free(&ctx);
    }
}

static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const double three = 3;
    out[0] = wick_relu(wick_custom_call(user, &three, 1, in));
    return WICK_OK;
}
TEST(plans_show_the_op) {
    SETUP;
    wick_custom_def def = scale_def(&c, 7, 0);
    REGISTER(&def);
    wick_plan *plan;
    wick_workspace *ws;
    const wick_spec in = {.dtype = WICK_F32, .rank = 1, .dims = {4}};
    REQUIRE(wick_compile(ctx, body, (void *)(uintptr_t)op, 1, &in, 1, NULL, &plan) == WICK_OK);
    CHECK(wick_plan_get_info(plan).flops == 8);
    char text[2000];
    wick_plan_format(plan, text, sizeof text);
    CHECK_STR_HAS(text, "scale");
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
    float y[4];
    CHECK(wick_run(ws, (const void *[]){(float[]){1, -1, 2, 0}}, (void *[]){y}) == WICK_OK && y[0] == 3 && y[1] == 0 &&
          y[2] == 6);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
