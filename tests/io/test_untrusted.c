/* Files from strangers, one of each known kind of attack: refused with the file, the field and the byte, or read within
 * the limits. Models are written here, by pb.h. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/onnx/schema.h"
#include "tensor/tensor.h"
#include "base/counting_alloc.h"
#include "onnx_test.h"

static bool set_up(void) { return set_up_with(&(wick_context_options){.threads = 1, .max_memory = 64 << 20}); }

static const wick_onnx_limits small = {
    .memory = 16 << 20, .tensor_bytes = 1 << 20, .nodes = 5000, .depth = 16, .output_bytes = 2 << 20, .seconds = 60};

/* A model of the graph, opened within limits; the graph is freed. */
static wick_onnx *open_graph(pb *g, int opset, const wick_onnx_limits *limits) {
    pb m = pb_model(g, opset);
    return open_model(&m, limits);
}
static void refused(pb *g, wick_status want, const char *part) {
    wick_onnx *onnx = open_graph(g, 21, &small);
    CHECK_MSG(!onnx, "%s", part);
    if (!onnx) CHECK_INT(wick_context_status(ctx), want);
    CHECK_STR_HAS(wick_context_error(ctx), "model.onnx");
    CHECK_STR_HAS(wick_context_error(ctx), part);
    wick_onnx_free(&onnx);
}
/* It opens; run on x = [1, 1], evaluated, it ends with this status and text (NULL: with a result). */
static void run_ends(pb *g, int opset, wick_status want, const char *part) {
    wick_onnx *onnx = open_graph(g, opset, &small);
    CHECK_MSG(onnx, "%s", wick_context_error(ctx));
    if (!onnx) return;
    wick_scope *scope = wick_scope_open(ctx);
    wick_onnx_value in = {.kind = WICK_VALUE_TENSOR, .tensor = wick_ones(ctx, WICK_F32, WICK_DIMS(2))}, out[4];
    wick_status status = wick_onnx_apply(onnx, &in, out);
    for (int i = 0; i < wick_onnx_outputs(onnx) && status == WICK_OK; i++)
        if (out[i].kind == WICK_VALUE_TENSOR) status = wick_eval(ctx, 1, &out[i].tensor, NULL);
    CHECK_MSG(status == want, "%s: %s", wick_status_name(status), status ? wick_context_error(ctx) : "");
    if (part) CHECK_STR_HAS(wick_context_error(ctx), part);
    wick_scope_close(&scope);
    wick_onnx_free(&onnx);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* With the input x [2] and the output y; nodes and weights are added. */
static pb start(void) {
    pb g = {0}, x = pb_value("x", 2), y = pb_value("y", -1);
    pb_message(&g, 11, &x);
    pb_message(&g, 12, &y);
    return g;
}
static void add(pb *g, pb n) { pb_message(g, 1, &n); }
static void weight(pb *g, pb t) { pb_message(g, 5, &t); }
static void ints(pb *g, const char *name, int n, const int64_t *values) {
    weight(g, pb_tensor(name, ONNX_INT64, 1, (int64_t[]){n}, values, (size_t)n * 8));
}
static void number(pb *g, const char *name, int64_t value) {
    weight(g, pb_tensor(name, ONNX_INT64, 0, NULL, &value, 8));
}
static void input(pb *n, const char *name) { pb_text(n, 1, name); }
static void graph_attr(pb *n, const char *name, pb *g) {
    pb a = {0};
    pb_text(&a, 1, name);
    pb_message(&a, 6, g);
    pb_int(&a, 20, ONNX_ATTR_GRAPH);
    pb_message(n, 5, &a);
}
static void ints_attr(pb *n, const char *name, int count, const int64_t *values) {
    pb a = {0};
    pb_text(&a, 1, name);
    for (int i = 0; i < count; i++) pb_int(&a, 8, values[i]);
    pb_int(&a, 20, ONNX_ATTR_INTS);
    pb_message(n, 5, &a);
}

/* ---- bombs: small files that ask for much ------------------------------------------------------------------------ */

static const int64_t huge = INT64_C(1) << 40;

TEST(a_shape_that_makes_a_huge_tensor_is_refused_where_it_is_made) {
    REQUIRE(set_up());
    pb g = start(), n;
    ints(&g, "s", 2, (int64_t[]){huge, 2});
    add(&g, pb_node("ConstantOfShape", "s", NULL, "y"));
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "model.onnx: ConstantOfShape \"y\"");
    g = start();
    ints(&g, "s", 2, (int64_t[]){INT64_MAX, 4});
    add(&g, pb_node("ConstantOfShape", "s", NULL, "y"));
    run_ends(&g, 21, WICK_ERR_SHAPE, "ConstantOfShape \"y\"");
    g = start();
    ints(&g, "s", 2, (int64_t[]){huge, 2});
    add(&g, pb_node("Expand", "x", "s", "y"));
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "more than the limit of 1048576");
    g = start();
    ints(&g, "s", 1, &huge);
    add(&g, pb_node("Tile", "x", "s", "y"));
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "Tile \"y\"");
    g = start(), n = pb_node("Range", "a", "b", "y");
    number(&g, "a", 0), number(&g, "b", huge), number(&g, "c", 1);
    input(&n, "c");
    add(&g, n);
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "Range \"y\"");
    g = start();
    ints(&g, "s", 2, (int64_t[]){0, huge});
    add(&g, pb_node("Pad", "x", "s", "y"));
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "Pad \"y\"");
    g = start(), n = pb_node("Resize", "x4", NULL, "y");
    ints(&g, "s", 4, (int64_t[]){1, 1, 30000, 30000});
    weight(&g, pb_tensor("x4", ONNX_FLOAT, 4, (int64_t[]){1, 1, 1, 1}, "\0\0\0\0", 4));
    input(&n, ""), input(&n, ""), input(&n, "s");
    add(&g, n);
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "Resize \"y\"");
    g = start(), n = pb_node("OneHot", "i", "d", "y");
    ints(&g, "i", 1, (int64_t[]){0}), number(&g, "d", huge);
    weight(&g, pb_tensor("v", ONNX_FLOAT, 1, (int64_t[]){2}, "\0\0\0\0\0\0\0\0", 8));
    input(&n, "v");
    add(&g, n);
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "OneHot \"y\"");
    g = start();
    number(&g, "n", huge);
    n = pb_node("HannWindow", "n", NULL, "y");
    add(&g, n);
    run_ends(&g, 21, WICK_ERR_NOMEM, "HannWindow \"y\": host values need more memory");
    wick_context_free(&ctx);
}

TEST(padding_inside_an_op_counts_too) {
    REQUIRE(set_up());
    pb g = start(), n = pb_node("AveragePool", "x3", NULL, "y");
    weight(&g, pb_tensor("x3", ONNX_FLOAT, 3, (int64_t[]){1, 1, 2}, "\0\0\0\0\0\0\0\0", 8));
    ints_attr(&n, "kernel_shape", 1, (int64_t[]){1 << 30});
    ints_attr(&n, "pads", 2, (int64_t[]){(1 << 30) - 1, 1 << 29});
    add(&g, n);
    run_ends(&g, 21, WICK_ERR_NOMEM, "AveragePool \"y\": host values need more memory");
    wick_context_free(&ctx);
}

/* y = [x, x], thirty times over: 8 GiB out of 1 KiB. */
TEST(concat_that_doubles_ends_at_the_limit) {
    REQUIRE(set_up());
    pb g = start(), a;
    char from[16] = "x", to[16];
    for (int i = 0; i < 30; i++) {
        snprintf(to, sizeof to, i == 29 ? "y" : "t%d", i);
        pb n = pb_node("Concat", from, from, to);
        a = (pb){0};
        pb_text(&a, 1, "axis");
        pb_int(&a, 3, 0);
        pb_int(&a, 20, ONNX_ATTR_INT);
        pb_message(&n, 5, &a);
        add(&g, n);
        memcpy(from, to, sizeof to);
    }
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "more than the limit of 1048576");
    wick_context_free(&ctx);
}

TEST(all_tensors_together_stay_within_the_contexts_memory) {
    REQUIRE(set_up());
    wick_tensor *last = NULL;
    wick_scope *scope = wick_scope_open(ctx);
    int made = 0;
    while (made < 100 && wick_tensor_error(last = wick_zeros(ctx, WICK_F32, WICK_DIMS(1 << 18)), NULL) == WICK_OK)
        made++;
    CHECK_MSG(made > 50 && made < 64, "%d MiB", made);
    CHECK(wick_tensor_error(last, NULL) == WICK_ERR_NOMEM);
    wick_scope_close(&scope);
    /* what was freed can be had again */
    CHECK(wick_tensor_error(wick_zeros(ctx, WICK_F32, WICK_DIMS(1 << 20)), NULL) == WICK_OK);
    wick_context_free(&ctx);
}

TEST(outputs_together_have_a_limit) {
    REQUIRE(set_up());
    pb g = start();
    ints(&g, "s", 1, (int64_t[]){1 << 18});
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "o%d", i);
        add(&g, pb_node("ConstantOfShape", "s", NULL, name));
        pb out = pb_value(name, -1);
        pb_message(&g, 12, &out);
    }
    add(&g, pb_node("Relu", "x", NULL, "y"));
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "output \"o1\": the outputs have more bytes than the limit of 2097152");
    wick_context_free(&ctx);
}

/* in: round, condition, s; out: condition, t = Relu(s). */
static pb loop_body(const char *op) {
    pb b = {0}, i = pb_value("i", -1), c = pb_value("c", -1), s = pb_value("s", -1), d = pb_value("d", -1),
       t = pb_value("t", -1);
    add(&b, pb_node("Identity", "c", NULL, "d"));
    add(&b, pb_node(op, "s", !strcmp(op, "Add") ? "s" : NULL, "t"));
    pb_message(&b, 11, &i);
    pb_message(&b, 11, &c);
    pb_message(&b, 11, &s);
    pb_message(&b, 12, &d);
    pb_message(&b, 12, &t);
    return b;
}
static pb loop_graph(int64_t rounds, pb body) {
    pb g = start(), n = pb_node("Loop", "m", "", "y");
    number(&g, "m", rounds);
    input(&n, "x");
    graph_attr(&n, "body", &body);
    add(&g, n);
    return g;
}
TEST(loops_without_end_run_out_of_nodes_or_time) {
    REQUIRE(set_up());
    pb g = loop_graph(100, loop_body("Relu"));
    run_ends(&g, 21, WICK_OK, NULL);
    g = loop_graph(INT64_MAX, loop_body("Relu"));
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "runs more nodes than the limit of 5000");
    pb inner = loop_body("Relu"), n = pb_node("Loop", "m", "", "z"); /* a loop in a loop: rounds multiply */
    input(&n, "s");
    pb body = loop_body("Relu");
    graph_attr(&n, "body", &inner);
    add(&body, n);
    g = loop_graph(1000, body);
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "runs more nodes than the limit");

    g = loop_graph(INT64_MAX, loop_body("Relu"));
    wick_onnx *onnx = open_graph(&g, 21, &(wick_onnx_limits){.nodes = INT64_MAX, .seconds = 0.05});
    REQUIRE(onnx);
    wick_onnx_value in = {.kind = WICK_VALUE_TENSOR, .tensor = wick_ones(ctx, WICK_F32, WICK_DIMS(2))}, out;
    const wick_status status = wick_onnx_apply(onnx, &in, &out);
    CHECK_MSG(status == WICK_ERR_DEADLINE || status == WICK_ERR_NOMEM, "%s", wick_context_error(ctx));
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}
TEST(a_scan_that_ends_before_its_rows_frees_what_it_collected) {
    enum { ROWS = 30, WIDTH = 10000, TIMES = 4 }; /* of 16 bytes each: together more than the limit */
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    REQUIRE(set_up_with(&(wick_context_options){.threads = 1, .max_memory = 64 << 20, .allocator = &allocator}));
    pb g = start(), body = {0}, same = pb_value("row0", -1), text = {0}, n = {0}, a = {0};
    pb_int(&text, 1, ROWS), pb_int(&text, 1, WIDTH), pb_int(&text, 2, ONNX_STRING), pb_text(&text, 8, "texts");
    for (int i = 0; i < ROWS * WIDTH; i++) pb_text(&text, 6, "a");
    weight(&g, text);
    for (int i = 0; i < TIMES; i++) {
        char name[8];
        snprintf(name, sizeof name, "row%d", i);
        pb row = pb_value(name, -1);
        pb_message(&body, 11, &row);
        input(&n, "texts");
    }
    pb_message(&body, 12, &same);
    pb_text(&n, 2, "y"), pb_text(&n, 4, "Scan");
    graph_attr(&n, "body", &body);
    pb_text(&a, 1, "num_scan_inputs"), pb_int(&a, 3, TIMES), pb_int(&a, 20, ONNX_ATTR_INT);
    pb_message(&n, 5, &a);
    add(&g, n);
    run_ends(&g, 21, WICK_ERR_NOMEM, "Scan \"y\": host values need more memory");
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}
TEST(a_loop_that_doubles_its_state_ends) {
    REQUIRE(set_up());
    pb body = {0}, i = pb_value("i", -1), c = pb_value("c", -1), s = pb_value("s", -1), d = pb_value("d", -1),
       t = pb_value("t", -1);
    add(&body, pb_node("Identity", "c", NULL, "d"));
    pb n = pb_node("Concat", "s", "s", "t"), a = {0};
    pb_text(&a, 1, "axis");
    pb_int(&a, 3, 0);
    pb_int(&a, 20, ONNX_ATTR_INT);
    pb_message(&n, 5, &a);
    add(&body, n);
    pb_message(&body, 11, &i), pb_message(&body, 11, &c), pb_message(&body, 11, &s), pb_message(&body, 12, &d),
        pb_message(&body, 12, &t);
    pb g = loop_graph(64, body);
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "Concat \"t\"");
    wick_context_free(&ctx);
}

/* ---- budgets of small files that ask for much to be recorded ----------------------------------------------------- */

static void opset(pb *to, int field, const char *domain, int version) {
    pb set = {0};
    pb_text(&set, 1, domain), pb_int(&set, 2, version);
    pb_message(to, field, &set);
}
/* y = f(f(x)) of f = g(g(x)) of g ..., as deep as that: 2^depth of op. */
static pb doubling(int depth, const char *op) {
    pb g = start(), m;
    char name[16], inner[16];
    for (int i = 0; i <= depth; i++) {
        snprintf(name, sizeof name, "f%d", i);
        if (i < depth) continue;
        pb n = pb_node(name, "x", NULL, "y");
        pb_text(&n, 7, "own");
        add(&g, n);
    }
    m = pb_model(&g, 21);
    opset(&m, 8, "own", 1);
    for (int i = 0; i <= depth; i++) {
        pb f = {0}, a, b;
        snprintf(name, sizeof name, "f%d", i), snprintf(inner, sizeof inner, "f%d", i - 1);
        pb_text(&f, 1, name), pb_text(&f, 4, "k"), pb_text(&f, 5, "l"), pb_text(&f, 10, "own");
        opset(&f, 9, "", 21), opset(&f, 9, "own", 1);
        a = pb_node(i ? inner : op, "k", NULL, i ? "t" : "l");
        if (i) pb_text(&a, 7, "own");
        pb_message(&f, 7, &a);
        if (i) {
            b = pb_node(inner, "t", NULL, "l");
            pb_text(&b, 7, "own");
            pb_message(&f, 7, &b);
        }
        pb_message(&m, 25, &f);
    }
    return m;
}
static void apply_ends(pb m, const wick_onnx_limits *limits, wick_status want, const char *part) {
    wick_onnx *onnx = open_model(&m, limits);
    CHECK_MSG(onnx, "%s", wick_context_error(ctx));
    if (!onnx) return;
    wick_scope *scope = wick_scope_open(ctx);
    wick_onnx_value in = {.kind = WICK_VALUE_TENSOR, .tensor = wick_ones(ctx, WICK_F32, WICK_DIMS(2))}, out[4];
    CHECK_INT(wick_onnx_apply(onnx, &in, out), want);
    CHECK_STR_HAS(wick_context_error(ctx), part);
    wick_scope_close(&scope);
    wick_onnx_free(&onnx);
}
TEST(functions_that_call_each_other_twice_end_at_the_defaults) {
    REQUIRE(set_up());
    wick_context_free(&ctx);
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    /* 200,000 and the file's bytes */
    apply_ends(doubling(40, "Relu"), NULL, WICK_ERR_UNSUPPORTED, "runs more nodes than the limit of 20");
    apply_ends(doubling(30, "Identity"), NULL, WICK_ERR_UNSUPPORTED, "runs more nodes than the limit of 20");
    CHECK(!wick_site()); /* calls deeper than the ring of places left theirs there, which went with the model */
    /* What is recorded counts as memory: 2^16 nodes would take some 20 MB. */
    apply_ends(doubling(16, "Relu"), &(wick_onnx_limits){.memory = 4 << 20}, WICK_ERR_NOMEM,
               "what is recorded takes more memory than the limit of 4194304 bytes");
    apply_ends(doubling(10, "Relu"), &(wick_onnx_limits){.memory = 4 << 20}, WICK_OK, "");
    wick_context_free(&ctx);
}
/* in: round, condition, s; out: condition, s. */
TEST(rounds_count_where_a_body_has_no_nodes) {
    REQUIRE(set_up());
    pb body = {0}, i = pb_value("i", -1), c = pb_value("c", -1), s = pb_value("s", -1), d = pb_value("c", -1),
       t = pb_value("s", -1);
    pb_message(&body, 11, &i), pb_message(&body, 11, &c), pb_message(&body, 11, &s), pb_message(&body, 12, &d),
        pb_message(&body, 12, &t);
    pb g = loop_graph(INT64_MAX, body);
    run_ends(&g, 21, WICK_ERR_UNSUPPORTED, "runs more nodes than the limit of 5000");
    wick_context_free(&ctx);
}
TEST(limits_below_nothing_are_refused) {
    REQUIRE(set_up());
    static const wick_onnx_limits rows[] = {{.nodes = -1}, {.depth = -1}, {.seconds = -1}, {.seconds = NAN}};
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        pb g = start();
        add(&g, pb_node("Relu", "x", NULL, "y"));
        CHECK(!open_graph(&g, 21, &rows[i]));
        CHECK_INT(wick_context_status(ctx), WICK_ERR_INVALID);
        CHECK_STR_HAS(wick_context_error(ctx), "at least 0");
    }
    wick_context_free(&ctx);
}

/* If in If in If ... */
static pb nested_ifs(int depth) {
    pb g = {0}, y = pb_value("b", -1);
    if (!depth) add(&g, pb_node("Relu", "x", NULL, "b"));
    else {
        pb n = pb_node("If", "c", NULL, "b"), then = nested_ifs(depth - 1), other = nested_ifs(0);
        graph_attr(&n, "then_branch", &then);
        graph_attr(&n, "else_branch", &other);
        add(&g, n);
    }
    pb_message(&g, 12, &y);
    return g;
}
TEST(graphs_within_graphs_end_at_the_depth) {
    REQUIRE(set_up());
    for (int deep = 0; deep < 2; deep++) {
        pb g = start(), n = pb_node("If", "c", NULL, "y"), then = nested_ifs(deep ? 20 : 5), other = nested_ifs(0);
        weight(&g, pb_tensor("c", ONNX_BOOL, 0, NULL, "\1", 1));
        graph_attr(&n, "then_branch", &then);
        graph_attr(&n, "else_branch", &other);
        add(&g, n);
        if (deep) refused(&g, WICK_ERR_UNSUPPORTED, "graphs lie within each other deeper than the limit");
        else run_ends(&g, 21, WICK_OK, NULL);
    }
    wick_context_free(&ctx);
}

/* A body that is only the default of a function's attribute, while the node has none at that place (a read outside of
 * an array once). */
TEST(a_graph_as_a_functions_default_is_no_body) {
    REQUIRE(set_up());
    pb g = start(), call = pb_node("f", "x", NULL, "y"), f = {0}, n = pb_node("If", "k", NULL, "b"), m, set = {0},
       a = {0}, body = nested_ifs(0);
    pb_text(&call, 7, "own");
    graph_attr(&call, "other", &body); /* so that the call has bodies: one */
    add(&g, call);
    m = pb_model(&g, 21);
    pb_text(&f, 1, "f"), pb_text(&f, 4, "k"), pb_text(&f, 5, "b");
    for (int i = 0; i < 3; i++) {
        pb filler = {0};
        pb_text(&filler, 1, "filler"), pb_int(&filler, 20, ONNX_ATTR_INT);
        pb_message(&n, 5, &filler);
    }
    for (int i = 0; i < 2; i++) {
        pb refers = {0};
        pb_text(&refers, 1, i ? "else_branch" : "then_branch"), pb_int(&refers, 20, ONNX_ATTR_GRAPH),
            pb_text(&refers, 21, "branch");
        pb_message(&n, 5, &refers);
    }
    pb_message(&f, 7, &n);
    body = (pb){0};
    pb_text(&a, 1, "branch"), pb_message(&a, 6, &body), pb_int(&a, 20, ONNX_ATTR_GRAPH);
    pb_message(&f, 11, &a);
    pb_text(&set, 1, ""), pb_int(&set, 2, 21), pb_message(&f, 9, &set);
    pb_text(&f, 10, "own");
    pb_message(&m, 25, &f);
    pb_text(&set, 1, "own"), pb_int(&set, 2, 1), pb_message(&m, 8, &set);
    write_file("model.onnx", m.at, m.n);
    free(m.at);
    wick_onnx *onnx;
    CHECK(wick_onnx_open(ctx, path, &small, &onnx) == WICK_OK);
    REQUIRE(onnx);
    wick_onnx_value in = {.kind = WICK_VALUE_TENSOR, .tensor = wick_ones(ctx, WICK_BOOL, 0, NULL)}, out;
    CHECK(wick_onnx_apply(onnx, &in, &out) == WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "no graph");
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* ---- indices that a run checks ----------------------------------------------------------------------------------- */

TEST(indices_from_a_file_are_checked_when_they_are_used) {
    REQUIRE(set_up());
    static const int64_t bad[] = {2, -3, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        pb g = start();
        ints(&g, "i", 1, &bad[i]);
        add(&g, pb_node("Gather", "x", "i", "y"));
        run_ends(&g, 21, WICK_ERR_INDEX, "Gather \"y\"");
        g = start();
        ints(&g, "i", 1, &bad[i]);
        add(&g, pb_node("GatherElements", "x", "i", "y"));
        run_ends(&g, 21, WICK_ERR_INDEX, "GatherElements \"y\"");
        g = start();
        weight(&g, pb_tensor("i", ONNX_INT64, 2, (int64_t[]){1, 1}, &bad[i], 8));
        add(&g, pb_node("GatherND", "x", "i", "y"));
        run_ends(&g, 21, WICK_ERR_INDEX, "model.onnx: ");
        for (int k = 0; k < 2; k++) {
            g = start();
            pb n = {0};
            weight(&g, pb_tensor("i", ONNX_INT64, 1 + k, (int64_t[]){1, 1}, &bad[i], 8));
            weight(&g, pb_tensor("u", ONNX_FLOAT, 1, (int64_t[]){1}, "\0\0\0\0", 4));
            pb_text(&n, 1, "x"), pb_text(&n, 1, "i"), pb_text(&n, 1, "u"), pb_text(&n, 2, "y"),
                pb_text(&n, 4, k ? "ScatterND" : "ScatterElements");
            add(&g, n);
            run_ends(&g, 21, WICK_ERR_INDEX, "model.onnx: ");
        }
    }
    for (int i = 0; i < 4; i++) { /* a slice is cut to what is there */
        pb g = start(), n = pb_node("Slice", "x", "a", "y");
        ints(&g, "a", 1, &bad[i]), ints(&g, "b", 1, &bad[(i + 1) % 4]),
            ints(&g, "s", 1, (int64_t[]){i % 2 ? -INT64_MAX : INT64_MAX});
        ints(&g, "axes", 1, (int64_t[]){0});
        input(&n, "b"), input(&n, "axes"), input(&n, "s");
        add(&g, n);
        run_ends(&g, 21, WICK_OK, NULL);
    }
    wick_context_free(&ctx);
}

/* Places in texts of which there are none: the dims [3, 0] have rows, and no text. */
TEST(texts_fill_their_dims) {
    REQUIRE(set_up());
    static const char *const readers[] = {NULL, "OneHotEncoder", "LabelEncoder"};
    for (size_t i = 0; i < WICK_COUNTOF(readers); i++) {
        pb g = start(), n = pb_node("ArrayFeatureExtractor", "t", "i", readers[i] ? "u" : "y");
        weight(&g, pb_tensor("t", ONNX_STRING, 2, (int64_t[]){3, 0}, NULL, 0));
        ints(&g, "i", 1, (int64_t[]){0});
        pb_text(&n, 7, "ai.onnx.ml");
        add(&g, n);
        if (readers[i]) {
            n = pb_node(readers[i], "u", NULL, "y");
            pb_text(&n, 7, "ai.onnx.ml");
            add(&g, n);
        }
        run_ends(&g, 21, WICK_ERR_INDEX, "feature 0 of 0");
    }
    wick_context_free(&ctx);
}
/* Rows times n-grams are 2^64. */
TEST(numbers_of_ngrams_are_counted_with_care) {
    REQUIRE(set_up());
    pb g = start(), n = pb_node("TfIdfVectorizer", "t", NULL, "y");
    weight(&g, pb_tensor("t", ONNX_STRING, 2, (int64_t[]){(int64_t)1 << 36, 0}, NULL, 0));
    static const struct {
        const char *name, *text;
        int64_t number[2];
        int count, type;
    } attrs[] = {{"mode", "IDF", {0}, 0, 3},           {"min_gram_length", NULL, {1}, 1, 2},
                 {"max_gram_length", NULL, {1}, 1, 2}, {"max_skip_count", NULL, {0}, 1, 2},
                 {"ngram_counts", NULL, {0}, 1, 7},    {"ngram_indexes", NULL, {(1 << 28) - 1}, 1, 7},
                 {"pool_strings", "a", {0}, 0, 8}};
    for (size_t i = 0; i < WICK_COUNTOF(attrs); i++) {
        pb a = {0};
        pb_text(&a, 1, attrs[i].name);
        if (attrs[i].text) pb_text(&a, attrs[i].type == 8 ? 9 : 4, attrs[i].text);
        for (int k = 0; k < attrs[i].count; k++) pb_int(&a, attrs[i].type == 7 ? 8 : 3, attrs[i].number[k]);
        pb_int(&a, 20, attrs[i].type);
        pb_message(&n, 5, &a);
    }
    add(&g, n);
    run_ends(&g, 21, WICK_ERR_NOMEM, "host values need more memory");
    wick_context_free(&ctx);
}

/* ---- weights that lie -------------------------------------------------------------------------------------------- */

static pb sparse(const int64_t *dims, int rank, const void *indices, int n_indices, int per) {
    pb g = start(), s = {0}, v = pb_tensor("w", ONNX_FLOAT, 1, (int64_t[]){2}, "\0\0\200?\0\0\0@", 8),
       i = pb_tensor("", ONNX_INT64, per > 1 ? 2 : 1, (int64_t[]){n_indices, per}, indices,
                     (size_t)n_indices * (size_t)per * 8);
    pb_message(&s, 1, &v);
    pb_message(&s, 2, &i);
    for (int k = 0; k < rank; k++) pb_int(&s, 3, dims[k]);
    pb_message(&g, 15, &s);
    add(&g, pb_node("Add", "x", "w", "y"));
    return g;
}
TEST(sparse_weights_fit_their_dims) {
    REQUIRE(set_up());
    pb g = sparse((int64_t[]){2}, 1, (int64_t[]){0, 1}, 2, 1);
    run_ends(&g, 21, WICK_OK, NULL);
    g = sparse((int64_t[]){2}, 1, (int64_t[]){0, 2}, 2, 1), refused(&g, WICK_ERR_FORMAT, "index 1 is outside of dims");
    g = sparse((int64_t[]){2}, 1, (int64_t[]){0, -1}, 2, 1), refused(&g, WICK_ERR_FORMAT, "index 1 is outside of dims");
    g = sparse((int64_t[]){2}, 1, (int64_t[]){0, 1, 1}, 3, 1),
    refused(&g, WICK_ERR_FORMAT, "neither [values] nor [values, dims]");
    g = sparse((int64_t[]){2, 2}, 2, (int64_t[]){0, 0, 1, 2}, 2, 2),
    refused(&g, WICK_ERR_FORMAT, "index 1 is outside of dims");
    g = sparse((int64_t[]){2, -2}, 2, (int64_t[]){0, 0, 1, 1}, 2, 2),
    refused(&g, WICK_ERR_FORMAT, "negative, or their product");
    g = sparse((int64_t[]){huge, huge}, 2, (int64_t[]){0, 0, 1, 1}, 2, 2),
    refused(&g, WICK_ERR_FORMAT, "negative, or their product");
    g = sparse((int64_t[]){huge, 2}, 2, (int64_t[]){0, 0, 1, 1}, 2, 2),
    refused(&g, WICK_ERR_UNSUPPORTED, "more bytes than the limit");
    g = sparse((int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, (int64_t[]){0, 0}, 2, 1),
    refused(&g, WICK_ERR_UNSUPPORTED, "more than 8 dims");
    wick_context_free(&ctx);
}

/* Products of dims that wrap round to what is there: 2^32 * 2^32 * 2 + 2, and with a zero that hides them. */
TEST(products_of_dims_that_overflow_are_refused) {
    REQUIRE(set_up());
    static const struct {
        int rank;
        int64_t dims[4];
        const char *part;
    } rows[] = {{3, {INT64_C(1) << 32, INT64_C(1) << 32, 1}, "63 bits"},
                {2, {INT64_MAX, 2}, "63 bits"},
                {2, {INT64_C(1) << 62, 4}, "63 bits"},
                {1, {INT64_C(1) << 62}, "dims"},
                {3, {INT64_MAX, 3, 0}, "63 bits"},
                {1, {-1}, "dims[0]: -1 is negative"},
                {2, {2, INT64_MIN}, "dims[1]"},
                {1, {3}, "raw_data: 8 bytes, dims and type make 12"},
                {1, {1}, "raw_data: 8 bytes, dims and type make 4"},
                {0, {0}, "raw_data: 8 bytes, dims and type make 4"},
                {1, {0}, "raw_data: 8 bytes, dims and type make 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pb g = start();
        weight(&g, pb_tensor("w", ONNX_FLOAT, rows[i].rank, rows[i].dims, "\0\0\0\0\0\0\0\0", 8));
        add(&g, pb_node("Add", "x", "w", "y"));
        refused(&g, WICK_ERR_FORMAT, rows[i].part);
        CHECK_STR_HAS(wick_context_error(ctx), "tensor \"w\" (byte ");
    }
    wick_context_free(&ctx);
}

/* ---- external data: what test_onnx.c does not have --------------------------------------------------------------- */

static pb external(const char *location, const char *offset, const char *length) {
    pb g = start(), t = pb_tensor("w", ONNX_FLOAT, 1, (int64_t[]){2}, NULL, 0), e = {0};
    const char *pairs[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    for (int i = 0; i < 3; i++) {
        if (!pairs[i][1]) continue;
        pb_text(&e, 1, pairs[i][0]), pb_text(&e, 2, pairs[i][1]);
        pb_message(&t, 13, &e);
    }
    pb_int(&t, 14, 1);
    weight(&g, t);
    add(&g, pb_node("Add", "x", "w", "y"));
    return g;
}
/* As models and their data lie in the cache of the Hugging Face hub: snapshots/m.onnx and a.bin are links to blobs. */
TEST(links_are_followed_where_they_end_beside_the_model) {
    REQUIRE(set_up());
    wick_onnx *onnx = NULL;
    write_file("w.bin", "\0\0\200?\0\0\0@", 8);
    REQUIRE(symlink("w.bin", at("a.bin")) == 0);
    pb g = external("a.bin", NULL, NULL);
    onnx = open_graph(&g, 21, NULL);
    CHECK_MSG(onnx != NULL, "%s", wick_context_error(ctx));
    wick_onnx_free(&onnx);
    REQUIRE(mkdir(at("blobs"), 0700) == 0 && mkdir(at("snapshots"), 0700) == 0 && unlink(at("a.bin")) == 0);
    REQUIRE(rename(at("model.onnx"), at("blobs/aaa")) == 0 && rename(at("w.bin"), at("blobs/bbb")) == 0);
    REQUIRE(symlink("../blobs/aaa", at("snapshots/m.onnx")) == 0 &&
            symlink("../blobs/bbb", at("snapshots/a.bin")) == 0);
    CHECK_MSG(wick_onnx_open(ctx, at("snapshots/m.onnx"), NULL, &onnx) == WICK_OK, "%s", wick_context_error(ctx));
    wick_onnx_free(&onnx);
    static const char *const elsewhere[] = {
        "../other.bin", "../../../../etc/passwd", "/etc/passwd", "../blobs/none", "a.bin", "../blobs"};
    write_file("other.bin", "\0\0\200?\0\0\0@", 8);
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        REQUIRE(unlink(at("snapshots/a.bin")) == 0 && symlink(elsewhere[i], at("snapshots/a.bin")) == 0);
        CHECK_MSG(wick_onnx_open(ctx, at("snapshots/m.onnx"), NULL, &onnx) != WICK_OK, "%s", elsewhere[i]);
        CHECK_STR_HAS(wick_context_error(ctx),
                      "is a symbolic link that leads out of the folder, or nowhere: put a copy");
    }
    wick_context_free(&ctx);
}

/* CVE-2022-25882 (".." in a location), CVE-2024-27318 (its fix got round by other spellings), CVE-2026-27489 and
 * CVE-2026-34446 (links, also of folders, and hard links). */
TEST(no_spelling_of_a_location_leads_out) {
    REQUIRE(set_up());
    static const char *const out[] = {"../etc/passwd",
                                      "..",
                                      "sub/..",
                                      "sub/../../x",
                                      "./../x",
                                      ".//../x",
                                      "/etc/passwd",
                                      "//etc/passwd",
                                      "sub/../w.bin",
                                      "..\\x",
                                      "sub\\..\\..\\x",
                                      "sub/../../untrusted/w.bin",
                                      "",
                                      "/",
                                      "sub//../../x"};
    char at[256], to[256];
    snprintf(at, sizeof at, "%s/sub", folder);
    mkdir(at, 0700);
    write_file("w.bin", "\0\0\200?\0\0\0@", 8);
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++) {
        pb g = external(out[i], NULL, NULL);
        refused(&g, WICK_ERR_IO, "external_data: \"");
    }
    snprintf(at, sizeof at, "%s/up", folder);
    REQUIRE(symlink("..", at) == 0);
    pb g = external("up/untrusted.bin", NULL, NULL);
    refused(&g, WICK_ERR_IO, "external_data: \"up/untrusted.bin\"");
    unlink(at);
    REQUIRE(symlink("sub", at) == 0); /* it stays inside, but there is no such file */
    g = external("up/w.bin", NULL, NULL), refused(&g, WICK_ERR_IO, "external_data: \"up/w.bin\"");
    unlink(at);
    REQUIRE(symlink("/etc/passwd", at) == 0);
    g = external("up", NULL, NULL), refused(&g, WICK_ERR_IO, "is a symbolic link that leads out of the folder");
    unlink(at);
    snprintf(to, sizeof to, "%s/w.bin", folder);
    REQUIRE(link(to, at) == 0);
    g = external("up", NULL, NULL), refused(&g, WICK_ERR_FORMAT, "is no regular file with one name");
    unlink(at);
    REQUIRE(mkfifo(at, 0600) == 0);
    g = external("up", NULL, NULL), refused(&g, WICK_ERR_FORMAT, "is no regular file"); /* and does not wait */
    unlink(at);
    g = external("sub", NULL, NULL), refused(&g, WICK_ERR_FORMAT, "is no regular file");
    g = external("w.bin\n", NULL, NULL), refused(&g, WICK_ERR_IO, "No such file");
    char name[2000];
    memset(name, 'a', sizeof name - 1), name[sizeof name - 1] = 0;
    g = external(name, NULL, NULL), refused(&g, WICK_ERR_FORMAT, "location is too long");
    name[300] = 0;
    g = external(name, NULL, NULL), refused(&g, WICK_ERR_IO, "no path below");
    g = external("w.bin", NULL, NULL);
    run_ends(&g, 21, WICK_OK, NULL);
    wick_context_free(&ctx);
}
TEST(external_data_lie_inside_their_file) {
    REQUIRE(set_up());
    write_file("w.bin", "\0\0\200?\0\0\0@", 8);
    static const struct {
        const char *offset, *length, *part;
    } rows[] = {{"1", NULL, "bytes 1 to 9 of a file of 8"},
                {"8", "8", "of a file of 8"},
                {"9223372036854775807", "8", "of a file of 8"},
                {"18446744073709551615", "8", "of a file of 8"},
                {"18446744073709551616", "8", "no whole number"},
                {"0", "7", "length is 7, dims and type make 8 bytes"},
                {"0", "18446744073709551615", "length is 18446744"},
                {"0", "-8", "length is no whole number"},
                {" 0", "8", "offset is no whole number"},
                {"0x0", "8", "offset is no whole number"},
                {"1e0", "8", "offset is no whole number"},
                {"", "8", "offset is no whole number"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pb g = external("w.bin", rows[i].offset, rows[i].length);
        refused(&g, WICK_ERR_FORMAT, rows[i].part);
    }
    pb g = external("w.bin", "0", "8"), empty = external("none", NULL, NULL);
    run_ends(&g, 21, WICK_OK, NULL);
    write_file("none", "", 0);
    refused(&empty, WICK_ERR_FORMAT, "bytes 0 to 8 of a file of 0");
    wick_context_free(&ctx);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static bool stop(void *user) { return ++*(int *)user > 3; }
TEST(the_hosts_cancel_ends_opening_and_recording) {
    REQUIRE(set_up());
    wick_context_free(&ctx);
    int asked = 0;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .cancel = stop, .cancel_user = &asked}, &ctx) ==
            WICK_OK);
    pb g = loop_graph(1000, loop_body("Relu"));
    wick_onnx *onnx = open_graph(&g, 21, NULL);
    if (onnx) {
        wick_onnx_value in = {.kind = WICK_VALUE_TENSOR, .tensor = wick_ones(ctx, WICK_F32, WICK_DIMS(2))}, out;
        CHECK(wick_onnx_apply(onnx, &in, &out) == WICK_ERR_CANCELLED);
    }
    CHECK_STR_HAS(wick_context_error(ctx), "cancelled");
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* A host that has enough as soon as it is asked, which it is wherever a file makes something long: these have no
 * kernels, and too few nodes to ask for those. */
static bool enough;
static bool has_enough(void *user) { return (void)user, enough; }
static void texts_attr(pb *n, const char *name, int count, const char *const *values) {
    pb a = {0};
    pb_text(&a, 1, name);
    for (int i = 0; i < count; i++) pb_text(&a, 9, values[i]);
    pb_int(&a, 20, ONNX_ATTR_STRINGS);
    pb_message(n, 5, &a);
}
static void text_attr(pb *n, const char *name, const char *value) {
    pb a = {0};
    pb_text(&a, 1, name), pb_text(&a, 4, value), pb_int(&a, 20, ONNX_ATTR_STRING);
    pb_message(n, 5, &a);
}
static pb texts(const char *name, int n, const char *each) {
    pb t = {0};
    pb_int(&t, 1, n), pb_int(&t, 2, ONNX_STRING), pb_text(&t, 8, name);
    for (int i = 0; i < n; i++) pb_text(&t, 6, each);
    return t;
}
static void is_cancelled(pb *g, const char *what) {
    enough = false;
    wick_onnx *onnx = open_graph(g, 21, NULL);
    CHECK_MSG(onnx, "%s: %s", what, wick_context_error(ctx));
    if (!onnx) return;
    wick_scope *scope = wick_scope_open(ctx);
    wick_onnx_value in = {.kind = WICK_VALUE_TENSOR, .tensor = wick_ones(ctx, WICK_F32, WICK_DIMS(2))}, out[4];
    CHECK_INT(wick_onnx_apply(onnx, &in, out), WICK_OK);
    enough = true;
    CHECK_MSG(wick_onnx_apply(onnx, &in, out) == WICK_ERR_CANCELLED, "%s is not cancelled", what);
    wick_scope_close(&scope);
    wick_onnx_free(&onnx);
}
static bool asked(void *user) { return ++*(int *)user, false; }
TEST(what_a_file_makes_long_can_be_cancelled) {
    enum { LONG = 1 << 14, MANY = 64 };
    REQUIRE(set_up());
    wick_context_free(&ctx);
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .cancel = has_enough}, &ctx) == WICK_OK);
    char *text = calloc(1, LONG + 1);
    memset(text, 'a', LONG);
    const char *same[MANY];
    int64_t numbers[MANY];
    for (int i = 0; i < MANY; i++) same[i] = text, numbers[i] = i;

    pb g = start(), n = pb_node("RegexFullMatch", "t", NULL, "y"); /* one text */
    weight(&g, texts("t", 1, text + LONG - 256));
    text_attr(&n, "pattern", "(a?){900}b");
    add(&g, n);
    is_cancelled(&g, "an expression against a text");

    g = start(), n = pb_node("StringNormalizer", "t", NULL, "y");
    weight(&g, texts("t", MANY, text));
    texts_attr(&n, "stopwords", MANY, same);
    add(&g, n);
    is_cancelled(&g, "looking for stop words");

    g = start(), n = pb_node("LabelEncoder", "t", NULL, "y"); /* keys are sorted */
    weight(&g, texts("t", 1, "b"));
    pb_text(&n, 7, "ai.onnx.ml");
    texts_attr(&n, "keys_strings", MANY, same), ints_attr(&n, "values_int64s", MANY, numbers);
    add(&g, n);
    is_cancelled(&g, "sorting texts");

    g = start(), n = pb_node("TfIdfVectorizer", "t", NULL, "y"); /* every word against every word of the pool */
    weight(&g, texts("t", 4 * MANY, text + LONG - 8));
    text_attr(&n, "mode", "TF");
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"min_gram_length", "max_gram_length", "max_skip_count"};
        pb a = {0};
        pb_text(&a, 1, names[i]), pb_int(&a, 3, i < 2), pb_int(&a, 20, ONNX_ATTR_INT);
        pb_message(&n, 5, &a);
    }
    for (int i = 0; i < MANY; i++) same[i] = "b";
    ints_attr(&n, "ngram_counts", 1, (int64_t[]){0}), ints_attr(&n, "ngram_indexes", MANY, numbers),
        texts_attr(&n, "pool_strings", MANY, same);
    add(&g, n);
    is_cancelled(&g, "looking for n-grams");

    g = start(), n = pb_node("Unique", "w", NULL, "y"); /* columns that differ at their end only */
    int64_t *zeros = calloc(1 << 15, sizeof *zeros);
    weight(&g, pb_tensor("w", ONNX_INT64, 2, (int64_t[]){1 << 11, 16}, zeros, (1 << 15) * sizeof *zeros));
    free(zeros);
    pb a = {0};
    pb_text(&a, 1, "axis"), pb_int(&a, 3, 1), pb_int(&a, 20, ONNX_ATTR_INT);
    pb_message(&n, 5, &a);
    add(&g, n);
    is_cancelled(&g, "sorting columns");
    free(text);

    /* Functions that are looked up by name, one after the other. */
    g = start();
    for (int i = 0; i < 600; i++) {
        char out[16];
        snprintf(out, sizeof out, "o%d", i);
        add(&g, pb_node("Relu", "x", NULL, out));
    }
    add(&g, pb_node("Relu", "x", NULL, "y"));
    pb m = pb_model(&g, 21);
    for (int i = 0; i < 600; i++) {
        pb f = {0};
        pb_text(&f, 1, "f"), pb_text(&f, 10, "own");
        pb_message(&m, 25, &f);
    }
    CHECK(!open_model(&m, NULL));
    CHECK_INT(wick_context_status(ctx), WICK_ERR_CANCELLED);
    CHECK_STR_HAS(wick_context_error(ctx), "cancelled by the host");
    wick_context_free(&ctx);
}

static wick_status chain(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user, (void)c;
    out[0] = in[0];
    for (int i = 0; i < 2000; i++) out[0] = wick_relu(wick_transpose(out[0], 0, 1));
    return WICK_OK;
}
TEST(making_a_plan_can_be_cancelled) {
    REQUIRE(set_up());
    wick_context_free(&ctx);
    int times = 0;
    wick_plan *plan = NULL;
    const wick_spec in = {"x", WICK_F32, 2, {3, 2}};
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .cancel = asked, .cancel_user = &times}, &ctx) ==
            WICK_OK);
    CHECK(wick_compile(ctx, chain, NULL, 1, &in, 1, NULL, &plan) == WICK_OK);
    CHECK_MSG(times > 4, "asked %d times", times);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    enough = true;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .cancel = has_enough}, &ctx) == WICK_OK);
    CHECK_INT(wick_compile(ctx, chain, NULL, 1, &in, 1, NULL, &plan), WICK_ERR_CANCELLED);
    CHECK(!plan);
    CHECK_STR_HAS(wick_context_error(ctx), "cancelled by the host");
    wick_context_free(&ctx);
}


/* ---- memory that is out ------------------------------------------------------------------------------------------ */

static counting memory;
static bool none_or_no_memory(wick_status status, int64_t n) {
    CHECK_MSG(status == WICK_OK || status == WICK_ERR_NOMEM, "allocation %lld: %s: %s", (long long)n,
              wick_status_name(status), ctx ? wick_context_error(ctx) : "");
    return status == WICK_OK;
}
/* Opened, recorded, evaluated, compiled and run: each failure is one of memory. */
static bool use_file(int64_t n) {
    wick_onnx *onnx;
    wick_scope *scope = wick_scope_open(ctx);
    if (!scope) return none_or_no_memory(wick_context_status(ctx), n);
    bool good = none_or_no_memory(wick_onnx_open(ctx, path, &small, &onnx), n);
    CHECK(good == (onnx != NULL));
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    if (onnx) {
        wick_onnx_value in = {.kind = WICK_VALUE_TENSOR, .tensor = wick_ones(ctx, WICK_F32, WICK_DIMS(2))},
                        out[4] = {{0}};
        const bool ones = none_or_no_memory(wick_tensor_error(in.tensor, NULL), n);
        good &= ones;
        if (ones) good &= none_or_no_memory(wick_onnx_apply(onnx, &in, out), n);
        for (int i = 0; i < wick_onnx_outputs(onnx) && good; i++)
            if (out[i].kind == WICK_VALUE_TENSOR) good &= none_or_no_memory(wick_eval(ctx, 1, &out[i].tensor, NULL), n);
        const wick_spec spec = {"x", WICK_F32, 1, {2}};
        wick_onnx_graph graph;
        const int64_t before = memory.calls;
        good &= none_or_no_memory(wick_onnx_get_graph(onnx, &spec, &graph), n);
        /* it may go on without: what it can't find out is unknown */
        if (memory.fail_at >= before && memory.fail_at < memory.calls) good = false;
        if (good && out[0].kind == WICK_VALUE_TENSOR)
            good &= none_or_no_memory(wick_onnx_compile(onnx, &spec, NULL, &plan), n);
        if (plan) good &= none_or_no_memory(wick_workspace_new(plan, &ws), n);
        float x[2] = {1, -1};
        void *results[4] = {0}; /* what is not wanted */
        if (ws) good &= none_or_no_memory(wick_run(ws, (const void *[]){x}, results), n);
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    CHECK(!onnx);
    wick_scope_close(&scope);
    return good;
}
static void fail_in_turn(const char *what) {
    int64_t n = 0;
    for (bool done = false; !done && test_fails < 8; n++) {
        memory = (counting){.fail_at = n};
        const wick_allocator alloc = counting_allocator(&memory);
        ctx = NULL;
        if (none_or_no_memory(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &alloc}, &ctx), n)) {
            const bool good = use_file(n);
            done = memory.calls <= n;
            CHECK_MSG(good == done, "%s: allocation %lld %s, and all %s", what, (long long)n,
                      done ? "was not reached" : "failed", good ? "worked" : "did not work");
            memory.fail_at = -1;
            CHECK_MSG(use_file(n), "%s: after allocation %lld the context is of no use: %s", what, (long long)n,
                      wick_context_error(ctx));
        }
        wick_context_free(&ctx);
        CHECK_MSG(!memory.live && !memory.live_bytes, "%s: allocation %lld: %lld blocks leaked", what, (long long)n,
                  (long long)memory.live);
    }
    CHECK_MSG(n > 50, "%s: %lld allocations", what, (long long)n);
}
TEST(any_allocation_may_fail_while_a_model_is_read_and_run) {
    REQUIRE(set_up());
    wick_context_free(&ctx);
    pb m = doubling(2, "Sigmoid");
    write_file("model.onnx", m.at, m.n), free(m.at);
    fail_in_turn("functions");

    /* a loop, a product, values that are asked for */
    pb g = loop_graph(3, loop_body("Add")), n = pb_node("Gemm", "r", "w", "z");
    weight(&g, pb_tensor("w", ONNX_FLOAT, 2, (int64_t[]){2, 2}, "\0\0\200?\0\0\0@\0\0\200?\0\0\0@", 16));
    ints(&g, "s", 2, (int64_t[]){1, 2});
    add(&g, pb_node("Reshape", "y", "s", "r"));
    add(&g, n);
    add(&g, pb_node("Shape", "z", NULL, "u"));
    add(&g, pb_node("Reshape", "x", "u", "v"));
    for (int i = 0; i < 2; i++) {
        pb out = pb_value(i ? "v" : "z", -1);
        pb_message(&g, 12, &out);
    }
    m = pb_model(&g, 21);
    write_file("model.onnx", m.at, m.n), free(m.at);
    fail_in_turn("a loop and a product");

    g = start(), n = pb_node("StringSplit", "t", NULL, "y"); /* texts, an expression, a dense tensor of a sparse one */
    weight(&g, texts("t", 3, "a b"));
    pb_text(&n, 2, "counts");
    add(&g, n);
    add(&g, pb_node("Unique", "counts", NULL, "z"));
    n = pb_node("RegexFullMatch", "t", NULL, "match");
    text_attr(&n, "pattern", "(a| b)*");
    add(&g, n);
    pb s = {0}, v = pb_tensor("p", ONNX_FLOAT, 1, (int64_t[]){1}, "\0\0\200?", 4),
       i = pb_tensor("", ONNX_INT64, 1, (int64_t[]){1}, "\1\0\0\0\0\0\0\0", 8);
    pb_message(&s, 1, &v), pb_message(&s, 2, &i), pb_int(&s, 3, 2), pb_message(&g, 15, &s);
    add(&g, pb_node("Add", "x", "p", "q"));
    static const char *const outs[] = {"z", "match", "q"};
    for (int k = 0; k < 3; k++) {
        pb out = pb_value(outs[k], -1);
        pb_message(&g, 12, &out);
    }
    m = pb_model(&g, 21);
    write_file("model.onnx", m.at, m.n), free(m.at);
    fail_in_turn("texts");
}

int main(int argc, char **argv) {
    const int failed = test_main(argc, argv);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (strchr(folder, 'X') == NULL && system(command)) return 1;
    return failed;
}
