/* Open extents of models that are written again: right at all extents, those far from where they were recorded too, or
 * refused with axis and op. Models are made here, by pb.h. */
#include <unistd.h>

#include "io/onnx/schema.h"
#include "tensor/tensor.h"
#include "onnx_test.h"

static bool set_up(void) { return set_up_with(&(wick_context_options){.threads = 1}); }

/* x: float[dims], "n" and such are open. */
static pb value(const char *name, int rank, const char *const *dims) {
    pb v = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};
    pb_int(&tensor, 1, ONNX_FLOAT);
    for (int d = 0; d < rank; d++) {
        if (dims[d][0] >= '0' && dims[d][0] <= '9') pb_int(&dim, 1, atoi(dims[d]));
        else pb_text(&dim, 2, dims[d]);
        pb_message(&shape, 1, &dim);
    }
    if (rank >= 0) pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&v, 1, name);
    pb_message(&v, 2, &type);
    return v;
}
static pb graph_of(int rank, const char *const *dims) {
    pb g = {0}, x = value("x", rank, dims), y = value("y", -1, NULL);
    pb_message(&g, 11, &x);
    pb_message(&g, 12, &y);
    return g;
}
/* "Slice x zero e : p" */
static void node(pb *g, const char *text) {
    char words[200], *rest = NULL;
    pb n = {0};
    int field = 1;
    snprintf(words, sizeof words, "%s", text);
    char *op = strtok_r(words, " ", &rest);
    for (char *w = strtok_r(NULL, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (*w == ':') field = 2;
        else pb_text(&n, field, *w == '-' ? "" : w);
    }
    pb_text(&n, 4, op);
    pb_message(g, 1, &n);
}
static void ints(pb *g, const char *name, int n, const int64_t *values) {
    pb t = pb_tensor(name, ONNX_INT64, 1, (int64_t[]){n}, values, (size_t)n * 8);
    pb_message(g, 5, &t);
}
#define INTS(g, name, ...) ints(g, name, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})

/* The model of the graph, which is freed, and as it is written again; false: that was refused (error: the context's).
 */
static bool write_again(pb *g, const wick_onnx_save_options *options, wick_onnx **first, wick_onnx **second) {
    char to[300];
    pb m = pb_model(g, 18);
    snprintf(to, sizeof to, "%s", at("again.onnx"));
    *first = open_model(&m, NULL), *second = NULL;
    CHECK_MSG(*first, "%s", wick_context_error(ctx));
    return *first && wick_onnx_resave(*first, NULL, to, options) == WICK_OK &&
           wick_onnx_open(ctx, to, NULL, second) == WICK_OK;
}

/* Both at extents, which all open dims of x have. */
static void same_at(const char *what, wick_onnx *first, wick_onnx *second, int64_t n) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_spec in = wick_onnx_input_spec(first, 0);
    const wick_onnx_port p = wick_onnx_input(first, 0);
    for (int d = 0; d < in.rank; d++) in.dims[d] = p.dims[d] < 0 ? n : p.dims[d];
    wick_tensor *x =
        wick_sin(wick_arange(ctx, WICK_F32, 1, 1, wick_tensor_count(wick_zeros(ctx, WICK_BOOL, in.rank, in.dims))));
    wick_onnx_value given = {.kind = WICK_VALUE_TENSOR, .tensor = wick_reshape(x, in.rank, in.dims)}, want = {0},
                    got = {0};
    wick_status status = wick_onnx_apply(first, &given, &want);
    if (status == WICK_OK) status = wick_onnx_apply(second, &given, &got);
    if (status == WICK_OK) status = wick_onnx_value_compare(ctx, &got, &want, 1e-4, 1e-5);
    CHECK_MSG(status == WICK_OK, "%s at %lld: %s", what, (long long)n, wick_context_error(ctx));
    wick_scope_close(&scope);
}
static void holds(const char *what, pb *g) {
    static const int64_t extents[] = {1,  2,  3,  4,   5,   7,   8,   9,   15,  16,  17,
                                      31, 40, 64, 100, 159, 160, 161, 320, 511, 513, 700};
    wick_onnx *first, *second;
    const bool good = write_again(g, NULL, &first, &second);
    CHECK_MSG(good, "%s: %s", what, wick_context_error(ctx));
    if (good)
        CHECK_MSG(wick_onnx_input(second, 0).dims[0] < 0 ||
                      wick_onnx_input(second, 0).dims[wick_onnx_input(second, 0).rank - 1] < 0,
                  "%s is not open", what);
    for (size_t i = 0; good && i < WICK_COUNTOF(extents); i++) same_at(what, first, second, extents[i]);
    wick_context_clear_error(ctx);
    wick_onnx_free(&second);
    wick_onnx_free(&first);
}
static void refused(pb *g, const wick_onnx_save_options *options, const char *axis, const char *op) {
    wick_onnx *first, *second;
    CHECK(!write_again(g, options, &first, &second));
    CHECK_INT(wick_context_status(ctx), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), axis);
    CHECK_STR_HAS(wick_context_error(ctx), op);
    wick_context_clear_error(ctx);
    wick_onnx_free(&second);
    wick_onnx_free(&first);
}

/* y = sum(x[:(n + a) / b]) */
static pb part(int64_t a, int64_t b) {
    pb g = graph_of(1, (const char *[]){"n"});
    INTS(&g, "a", a), INTS(&g, "b", b), INTS(&g, "zero", 0);
    node(&g, "Shape x : s"), node(&g, "Add s a : t"), node(&g, "Div t b : e"), node(&g, "Slice x zero e : p"),
        node(&g, "ReduceSum p : y");
    return g;
}
TEST(quotients_of_extents_hold_far_from_where_they_were_recorded) {
    static const int64_t of[][2] = {{7, 8}, {0, 2}, {1, 3}, {5, 7}, {99, 100}, {159, 160}, {0, 600}, {30, 31}};
    REQUIRE(set_up());
    for (size_t i = 0; i < WICK_COUNTOF(of); i++) {
        char what[64];
        pb g = part(of[i][0], of[i][1]);
        snprintf(what, sizeof what, "(n + %d) / %d", (int)of[i][0], (int)of[i][1]);
        holds(what, &g);
    }
    wick_context_free(&ctx);
}
TEST(extents_that_are_cut_at_a_number_hold_on_both_sides_of_it) {
    static const int64_t at_most[] = {1, 2, 6, 40, 512};
    REQUIRE(set_up());
    for (size_t i = 0; i < WICK_COUNTOF(at_most); i++) {
        pb g = graph_of(1, (const char *[]){"n"});
        INTS(&g, "k", at_most[i]), INTS(&g, "zero", 0);
        node(&g, "Slice x zero k : y");
        holds("min(n, k)", &g);
        g = graph_of(1, (const char *[]){"n"});
        INTS(&g, "k", -at_most[i]), INTS(&g, "end", INT64_MAX);
        node(&g, "Slice x k end : y");
        holds("the last k", &g);
        g = graph_of(1, (const char *[]){"n"});
        INTS(&g, "k", at_most[i]), INTS(&g, "end", INT64_MAX), INTS(&g, "zero", 0);
        node(&g, "Slice x zero end zero k : y");
        holds("each k-th", &g);
    }
    wick_context_free(&ctx);
}
TEST(what_an_op_gives_is_read_from_its_result) {
    REQUIRE(set_up());
    pb g = graph_of(2, (const char *[]){"2", "n"});
    INTS(&g, "zero", 0), INTS(&g, "end", INT64_MAX), INTS(&g, "axis", 1), INTS(&g, "two", 2);
    node(&g, "Slice x zero end axis two : a"), node(&g, "Slice a zero end axis two : b"), node(&g, "Shape b : s"),
        node(&g, "Expand b s : c"), node(&g, "Transpose c : d");
    node(&g, "Shape d : r"), node(&g, "Reshape d r : y");
    holds("halves of halves", &g);
    wick_context_free(&ctx);
}
TEST(extents_that_become_numbers_of_tensors_are_followed) {
    REQUIRE(set_up());
    pb g = graph_of(1, (const char *[]){"n"}); /* x[n / 2], and x times 0 ... n - 1 */
    INTS(&g, "two", 2), INTS(&g, "axes", 0);
    node(&g, "Shape x : s"), node(&g, "Div s two : h"), node(&g, "Gather x h : y");
    holds("the middle", &g);
    g = graph_of(1, (const char *[]){"n"});
    INTS(&g, "axes", 0);
    pb zero = pb_tensor("zero", ONNX_INT64, 0, NULL, "\0\0\0\0\0\0\0\0", 8),
       one = pb_tensor("one", ONNX_INT64, 0, NULL, "\1\0\0\0\0\0\0\0", 8);
    pb_message(&g, 5, &zero), pb_message(&g, 5, &one);
    node(&g, "Shape x : s"), node(&g, "Squeeze s axes : n"), node(&g, "Range zero n one : r"),
        node(&g, "CastLike r x : f"), node(&g, "Mul f x : y");
    holds("a range", &g);
    wick_context_free(&ctx);
}
TEST(numbers_worked_out_from_extents_are_refused_where_nothing_says_them) {
    REQUIRE(set_up());
    pb g = graph_of(1, (const char *[]){"n"});
    INTS(&g, "limit", 600), INTS(&g, "two", 2), INTS(&g, "zero", 0);
    node(&g, "Shape x : s"), node(&g, "Greater s limit : c"), node(&g, "Where c two s : e"),
        node(&g, "Slice x zero e : y"); /* falls back to 2 beyond 600 */
    refused(&g, NULL, "n (axis 0 of x)", "slice at");
    wick_context_free(&ctx);
}
TEST(a_squeeze_of_all_axes_is_refused_unless_the_range_leaves_1_out) {
    const wick_dim range = {"t", 2, 300, 0};
    wick_onnx *first, *second;
    REQUIRE(set_up());
    pb g = graph_of(2, (const char *[]){"t", "1"});
    node(&g, "Neg x : n"), node(&g, "Squeeze n : y");
    refused(&g, NULL, "t = 1 (axis 0 of x)", "Squeeze");
    g = graph_of(2, (const char *[]){"t", "1"});
    node(&g, "Neg x : n"), node(&g, "Squeeze n : y");
    const bool good = write_again(&g, &(wick_onnx_save_options){.n_ranges = 1, .ranges = &range}, &first, &second);
    CHECK_MSG(good, "%s", wick_context_error(ctx));
    for (int64_t t = 2; good && t < 300; t += 33) same_at("Squeeze", first, second, t);
    wick_onnx_free(&second);
    wick_onnx_free(&first);
    wick_context_free(&ctx);
}
TEST(a_dim_of_one_number_keeps_its_name_and_lends_it_to_nobody) {
    const wick_dim one = {"n", 1, 1, 0};
    wick_dynamic *d = NULL;
    wick_shapes *shapes = NULL;
    REQUIRE(set_up());
    pb g = graph_of(2, (const char *[]){"n", "4"});
    INTS(&g, "axis", 1);
    node(&g, "ReduceMean x axis : y");
    pb m = pb_model(&g, 18);
    wick_onnx *onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    CHECK(wick_onnx_dynamic(onnx, 1, &one, NULL, &d) == WICK_OK);
    CHECK(d && wick_dynamic_find_shapes(d, &shapes) == WICK_OK);
    if (shapes) CHECK_STR_HAS(wick_shapes_at(shapes, wick_shapes_output(shapes, 0)).text, "[n, 1]");
    wick_shapes_free(&shapes);
    wick_dynamic_free(&d);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    const int failed = test_main(argc, argv);
    unlink(at("again.onnx"));
    unlink(path);
    rmdir(folder);
    return failed;
}
