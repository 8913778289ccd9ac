/* Imported models as models like any other: trained, with other heads, in other batches. */
#include <math.h>
#include <unistd.h>

#include "onnx_test.h"

static bool set_up(void) { return set_up_with(&(wick_context_options){.threads = 1}); }
static wick_onnx *open_graph(pb *g) {
    pb m = pb_model(g, 13);
    wick_onnx *onnx = open_model(&m, NULL);
    CHECK_MSG(onnx, "%s", wick_context_error(ctx));
    return onnx;
}

/* name: float of these dims, 0 ends; 0 is written as a dim without an extent where open. */
static pb port(const char *name, int rank, const int64_t *dims) {
    pb v = {0}, type = {0}, tensor = {0}, shape = {0};
    pb_int(&tensor, 1, 1);
    for (int i = 0; i < rank; i++) {
        pb dim = {0};
        if (dims[i]) pb_int(&dim, 1, dims[i]);
        else pb_text(&dim, 2, "n");
        pb_message(&shape, 1, &dim);
    }
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&v, 1, name);
    pb_message(&v, 2, &type);
    return v;
}
static void add_port(pb *g, int field, const char *name, int rank, const int64_t *dims) {
    pb p = port(name, rank, dims);
    pb_message(g, field, &p);
}
static void add_weight(pb *g, const char *name, int rank, const int64_t *dims, const float *values) {
    size_t n = 1;
    for (int i = 0; i < rank; i++) n *= (size_t)dims[i];
    pb t = pb_tensor(name, 1, rank, dims, values, n * sizeof *values);
    pb_message(g, 5, &t);
}
static void add_shape(pb *g, const char *name, int n, const int64_t *values) {
    pb t = pb_tensor(name, 7, 1, &(int64_t){n}, values, (size_t)n * sizeof *values);
    pb_message(g, 5, &t);
}
static void add_node(pb *g, const char *op, const char *a, const char *b, const char *out) {
    pb n = pb_node(op, a, b, out);
    pb_message(g, 1, &n);
}
#define DIMS(...) (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__}

static const float ramp[64] = {0.1f, -0.2f, 0.3f, 0.4f, -0.5f, 0.6f,  0.7f, -0.8f, 0.9f, 1,     -1.1f, 1.2f,
                               0.5f, -0.4f, 0.2f, 0.1f, 0.3f,  -0.6f, 0.2f, 0.9f,  0.4f, -0.1f, 0.8f,  -0.7f};

/* x [1,2,3] -> Reshape [1,6] -> MatMul of a weight behind a Reshape -> Add of [1,4] -> Softmax: as mnist-8 is made,
 * with a batch of 1. */
static pb classifier(void) {
    pb g = {0};
    add_node(&g, "Reshape", "w", "w_shape", "w2");
    add_node(&g, "Reshape", "x", "x_shape", "flat");
    add_node(&g, "MatMul", "flat", "w2", "product");
    add_node(&g, "Add", "product", "b", "sum");
    add_node(&g, "Softmax", "sum", NULL, "y");
    add_port(&g, 11, "x", DIMS(1, 2, 3));
    add_port(&g, 12, "y", DIMS(1, 4));
    add_weight(&g, "w", DIMS(2, 3, 4), ramp);
    add_weight(&g, "b", DIMS(1, 4), ramp + 3);
    add_shape(&g, "w_shape", 2, (const int64_t[]){6, 4});
    add_shape(&g, "x_shape", 2, (const int64_t[]){1, 6});
    return g;
}

typedef struct loss_of {
    wick_onnx *onnx;
    wick_optimizer *optimizer;
} loss_of;
static wick_status step(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    const loss_of *l = user;
    (void)c;
    out[0] = wick_cross_entropy(wick_onnx_forward(l->onnx, in[0]), in[1]);
    return wick_optimizer_step(l->optimizer, out[0]);
}

TEST(an_imported_graph_is_trained_in_one_plan) {
    REQUIRE(set_up());
    pb g = classifier();
    wick_onnx *onnx = open_graph(&g);
    REQUIRE(onnx);
    wick_model *model = wick_onnx_model(onnx);
    CHECK(wick_onnx_drop_softmax(onnx) && !wick_onnx_drop_softmax(onnx));
    CHECK_INT(wick_onnx_head_width(onnx, NULL), 4);
    CHECK_MSG(wick_onnx_replace_head(onnx, 3, NULL) == WICK_OK, "%s", wick_context_error(ctx));
    CHECK_INT(wick_onnx_head_width(onnx, NULL), 3);
    CHECK_INT(wick_onnx_output(onnx, 0).dims[1], 3);
    /* The bias keeps its name; the weights lie behind a Reshape, so that the new ones have the node's. */
    CHECK(wick_tensor_dim(wick_model_find(model, "b"), 1) == 3 &&
          wick_tensor_dim(wick_model_find(model, "product.weight"), 0) == 6);
    /* Nothing reads the old weights any more, nor the Reshape before them: they are gone, and Softmax too. */
    CHECK(!wick_model_find(model, "w") && !wick_model_find(model, "w_shape") && wick_model_find(model, "x_shape"));
    CHECK_INT(wick_onnx_get_info(onnx).parameters, 6 * 3 + 3);
    wick_onnx_graph graph;
    REQUIRE(wick_onnx_get_graph(onnx, NULL, &graph) == WICK_OK);
    CHECK_INT(graph.n_nodes, 3);
    CHECK(!strcmp(graph.wires[graph.nodes[1].in[1]].name, "product.weight"));
    CHECK_MSG(wick_onnx_rebatch(onnx, NULL) == WICK_OK, "%s", wick_context_error(ctx));
    CHECK_INT(wick_onnx_input(onnx, 0).dims[0], -1);
    loss_of l = {.onnx = onnx};
    REQUIRE(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.1}, &l.optimizer) == WICK_OK);
    const wick_spec in[] = {{"x", WICK_F32, 3, {5, 2, 3}}, {"y", WICK_I64, 1, {5}}};
    wick_plan *plan;
    wick_workspace *w;
    CHECK(wick_onnx_prepare(onnx, in) == WICK_OK);
    REQUIRE(wick_compile(ctx, step, &l, 2, in, 1, NULL, &plan) == WICK_OK);
    REQUIRE(wick_workspace_new(plan, &w) == WICK_OK);
    float x[30], loss, first = 0;
    for (int i = 0; i < 30; i++) x[i] = sinf((float)(i * i));
    const int64_t y[] = {0, 1, 2, 1, 0};
    for (int i = 0; i < 60; i++) {
        CHECK(wick_run(w, (const void *[]){x, y}, (void *[]){&loss}) == WICK_OK);
        if (!i) first = loss;
    }
    CHECK_MSG(loss < 0.2f * first, "%g from %g", (double)loss, (double)first);
    /* What was trained is what apply reads, and what a checkpoint has. */
    const void *data;
    wick_tensor *logits = wick_onnx_forward(onnx, wick_from(ctx, WICK_F32, 3, (const int64_t[]){5, 2, 3}, x));
    CHECK(wick_data(wick_argmax(logits, 1, false), &data) == WICK_OK && !memcmp(data, y, sizeof y));
    wick_workspace_free(&w);
    wick_plan_free(&plan);
    wick_optimizer_free(&l.optimizer);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* x [1, 3] -> MatMul [3, 1] or [3, 2] -> OP -> FOLLOWER -> y */
static wick_onnx *ends_in(const char *op, const char *follower, int64_t width) {
    pb g = {0};
    add_node(&g, "MatMul", "x", "w", "h");
    add_node(&g, op, "h", NULL, "p");
    add_node(&g, follower, "p", NULL, "y");
    add_port(&g, 11, "x", DIMS(1, 3));
    add_port(&g, 12, "y", DIMS(1, 0));
    add_weight(&g, "w", DIMS(3, width), ramp);
    return open_graph(&g);
}
TEST(what_bounds_the_last_numbers_is_left_out) {
    REQUIRE(set_up());
    static const char *const ops[] = {"Softmax", "LogSoftmax", "Sigmoid", "HardSigmoid", "Tanh", "Softsign"},
                             *const followers[] = {"Identity", "Flatten", "Dropout", "Sigmoid"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (size_t k = 0; k < sizeof followers / sizeof *followers; k++) {
            float y[2];
            wick_onnx *onnx = ends_in(ops[i], followers[k], 2);
            REQUIRE(onnx);
            CHECK_MSG(wick_onnx_drop_softmax(onnx) && !wick_onnx_drop_softmax(onnx), "%s, %s", ops[i], followers[k]);
            wick_tensor *out =
                wick_onnx_forward(onnx, wick_from(ctx, WICK_F32, 2, (const int64_t[]){1, 3}, (float[]){10, 20, 30}));
            CHECK_MSG(wick_read(out, y, sizeof y) == WICK_OK, "%s", wick_context_error(ctx));
            CHECK_MSG(fabsf(y[0] + 8) < 1e-4f && fabsf(y[1] - 24) < 1e-4f, "%s, %s: %g %g", ops[i], followers[k],
                      (double)y[0], (double)y[1]);
            wick_onnx_free(&onnx);
        }
    /* A binary classifier of one number gets a head of two, and its Sigmoid goes also where a Relu or a pool keeps it
     * from the end. */
    wick_onnx *onnx = ends_in("Sigmoid", "Relu", 1);
    float y[2];
    REQUIRE(onnx);
    CHECK(!wick_onnx_drop_softmax(onnx));
    CHECK_MSG(wick_onnx_replace_head(onnx, 2, NULL) == WICK_OK, "%s", wick_context_error(ctx));
    wick_tensor *out =
        wick_onnx_forward(onnx, wick_from(ctx, WICK_F32, 2, (const int64_t[]){1, 3}, (float[]){1000, -2000, 3000}));
    CHECK(wick_read(out, y, sizeof y) == WICK_OK && fmaxf(y[0], y[1]) != 1);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

static void check_roles(wick_onnx *onnx, const char *params, const char *buffers) {
    for (int i = 0; i < wick_model_count(wick_onnx_model(onnx)); i++) {
        const wick_named s = wick_model_at(wick_onnx_model(onnx), i);
        char name[64];
        snprintf(name, sizeof name, " %s ", s.name);
        CHECK_MSG(strstr(s.role == WICK_ROLE_PARAM ? params : buffers, name) != NULL, "%s", s.name);
    }
}
TEST(numbers_of_formulas_are_no_parameters) {
    REQUIRE(set_up());
    pb g = {0}, n = pb_node("BatchNormalization", "x", "scale", "h");
    pb_text(&n, 1, "shift"), pb_text(&n, 1, "mean"), pb_text(&n, 1, "var");
    pb_message(&g, 1, &n);
    add_node(&g, "Pow", "h", "two", "i");
    add_node(&g, "Mul", "i", "half", "j");
    add_node(&g, "Add", "j", "w", "y");
    add_port(&g, 11, "x", DIMS(0, 2));
    add_port(&g, 12, "y", DIMS(0, 2));
    static const char *const names[] = {"scale", "shift", "mean", "w"};
    for (int i = 0; i < 4; i++) add_weight(&g, names[i], DIMS(2), ramp + 2);
    add_weight(&g, "var", DIMS(2), ramp + 2);
    add_weight(&g, "two", DIMS(2), ramp + 8);
    add_weight(&g, "half", 0, NULL, ramp);
    wick_onnx *onnx = open_graph(&g);
    REQUIRE(onnx);
    check_roles(onnx, " scale shift w ", " mean var two half ");
    /* The statistics are those of the file, in training too. */
    wick_model_set_training(wick_onnx_model(onnx), true);
    const float x[] = {1, 2, 3, 5};
    float y[4];
    wick_tensor *out = wick_onnx_forward(onnx, wick_from(ctx, WICK_F32, 2, (const int64_t[]){2, 2}, x));
    CHECK(wick_read(out, y, sizeof y) == WICK_OK);
    const double h = (1 - 0.3) / sqrt(0.3 + 1e-5) * 0.3 + 0.3;
    CHECK_MSG(fabs((double)y[0] - (pow(h, 0.9) * 0.1 + 0.3)) < 1e-5, "%g", (double)y[0]);
    CHECK_MSG(wick_onnx_rebatch(onnx, NULL) == WICK_OK, "%s", wick_context_error(ctx));
    CHECK_INT(wick_onnx_head_width(onnx, NULL), 0);
    CHECK_STR_HAS(wick_context_error(ctx), "Mul \"j\" stands between");
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

TEST(a_batch_that_the_graph_fixes_is_refused) {
    REQUIRE(set_up());
    static const struct {
        const char *op, *second, *says;
    } cases[] = {
        {"Reshape", "turn", "can't take a larger one: model.onnx: Reshape \"y\""}, /* [3,2] of [1,6] */
        {"Expand", "wide", "does not grow with the batch"},                       /* [2,6] */
        {"CumSum", "axis", "depends on the others"},
        {"Add", "row", "can't take a larger one"}, /* of [3,6]: made three rows of the one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pb g = {0};
        add_node(&g, cases[i].op, "x", cases[i].second, "y");
        add_port(&g, 11, "x", DIMS(1, 6));
        add_port(&g, 12, "y", DIMS(1, 6));
        add_shape(&g, "turn", 2, (const int64_t[]){3, 2});
        add_shape(&g, "wide", 2, (const int64_t[]){2, 6});
        pb axis = pb_tensor("axis", 7, 0, NULL, &(int64_t){0}, sizeof(int64_t));
        pb_message(&g, 5, &axis);
        add_weight(&g, "row", DIMS(3, 6), ramp);
        wick_onnx *onnx = open_graph(&g);
        REQUIRE(onnx);
        CHECK_INT(wick_onnx_rebatch(onnx, NULL), WICK_ERR_UNSUPPORTED);
        CHECK_STR_HAS(wick_context_error(ctx), cases[i].says);
        CHECK_STR_HAS(wick_context_error(ctx), "made for a batch of 1");
        CHECK_INT(wick_onnx_input(onnx, 0).dims[0], 1);
        wick_onnx_free(&onnx);
    }
    wick_context_free(&ctx);
}

TEST(heads_that_are_none_are_refused) {
    REQUIRE(set_up());
    pb g = {0}; /* the product of two inputs */
    add_node(&g, "MatMul", "x", "x", "y");
    add_port(&g, 11, "x", DIMS(2, 2));
    add_port(&g, 12, "y", DIMS(2, 2));
    wick_onnx *onnx = open_graph(&g);
    CHECK_INT(wick_onnx_replace_head(onnx, 3, NULL), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "MatMul \"y\" stands between");
    CHECK_INT(wick_onnx_replace_head(onnx, 0, NULL), WICK_ERR_INVALID);
    wick_onnx_free(&onnx);
    g = (pb){0}; /* a bias that is none, and a graph made for the width behind it */
    add_node(&g, "MatMul", "x", "w", "p");
    add_node(&g, "Reshape", "p", "s", "y");
    add_port(&g, 11, "x", DIMS(1, 2));
    add_port(&g, 12, "y", DIMS(1, 2, 2));
    add_weight(&g, "w", DIMS(2, 4), ramp);
    add_shape(&g, "s", 3, (const int64_t[]){1, 2, 2});
    onnx = open_graph(&g);
    CHECK_INT(wick_onnx_replace_head(onnx, 3, NULL), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "made for 4 classes behind its last linear layer");
    wick_onnx_free(&onnx);
    g = (pb){0};
    add_node(&g, "Relu", "x", NULL, "y");
    add_port(&g, 11, "x", DIMS(0, 0));
    add_port(&g, 12, "y", DIMS(0, 0));
    onnx = open_graph(&g);
    CHECK_INT(wick_onnx_replace_head(onnx, 3, NULL), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "no linear layer leads to its first output");
    CHECK_INT(wick_onnx_rebatch(onnx, NULL), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "give specs");
    CHECK_INT(wick_onnx_rebatch(onnx, &(wick_spec){"x", WICK_F32, 2, {1, 3}}), WICK_OK);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

static wick_status apply_once(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    return wick_tensor_error(out[0] = wick_onnx_forward(user, in[0]), NULL);
}
static void read_all(wick_onnx *onnx, int rank, const int64_t *dims, float *y, size_t bytes) {
    CHECK_MSG(wick_read(wick_onnx_forward(onnx, wick_from(ctx, WICK_F32, rank, dims, ramp + 1)), y, bytes) == WICK_OK,
              "%s", wick_context_error(ctx));
}
TEST(a_head_that_cannot_be_replaced_leaves_the_model_as_it_was) {
    REQUIRE(set_up());
    static const struct {
        const char *says, *other;
        /* the name that the new bias would get, once the weights have been put in; else the graph behind is made for 4
         */
        bool taken;
    } cases[] = {{"made for 4 classes", "q", false}, {"state \"p.bias\" is there already", "p.bias", true}};
    for (size_t i = 0; i < 2; i++) {
        pb g = {0};
        add_node(&g, "MatMul", "x", "w", "p");
        add_node(&g, "Add", "p", "b", cases[i].taken ? "y" : "sum");
        if (!cases[i].taken) add_node(&g, "Reshape", "sum", "s", "y");
        add_node(&g, "Mul", cases[i].other, "b", "z");
        add_port(&g, 11, "x", DIMS(1, 2));
        add_port(&g, 12, "y", 2 + !cases[i].taken,
                 cases[i].taken ? (const int64_t[]){1, 4} : (const int64_t[]){1, 2, 2});
        add_port(&g, 12, "z", DIMS(4));
        add_weight(&g, "w", DIMS(2, 4), ramp);
        add_weight(&g, "b", DIMS(4), ramp + 5);
        add_weight(&g, cases[i].other, DIMS(4), ramp + 7);
        add_shape(&g, "s", 3, (const int64_t[]){1, 2, 2});
        wick_onnx *onnx = open_graph(&g);
        REQUIRE(onnx);
        const wick_onnx_info info = wick_onnx_get_info(onnx);
        const int states = wick_model_count(wick_onnx_model(onnx));
        float before[4], after[4];
        read_all(onnx, DIMS(1, 2), before, sizeof before);
        CHECK(wick_onnx_replace_head(onnx, 3, NULL) != WICK_OK);
        CHECK_STR_HAS(wick_context_error(ctx), cases[i].says);
        CHECK_INT(wick_onnx_head_width(onnx, NULL), 4);
        CHECK_INT(wick_onnx_output(onnx, 0).dims[1], cases[i].taken ? 4 : 2);
        CHECK_INT(wick_onnx_get_info(onnx).parameters, info.parameters);
        CHECK_INT(wick_model_count(wick_onnx_model(onnx)), states);
        CHECK_INT(wick_tensor_dim(wick_model_find(wick_onnx_model(onnx), "w"), 1), 4);
        read_all(onnx, DIMS(1, 2), after, sizeof after);
        CHECK(!memcmp(before, after, sizeof before));
        /* of the same width it can be */
        CHECK_INT(wick_onnx_replace_head(onnx, 4, NULL), cases[i].taken ? WICK_ERR_INVALID : WICK_OK);
        wick_onnx_free(&onnx);
    }
    wick_context_free(&ctx);
}

/* Plans for the graph before are none for the one after. */
TEST(what_was_prepared_is_forgotten_with_another_head) {
    REQUIRE(set_up());
    pb g = classifier();
    wick_onnx *onnx = open_graph(&g);
    REQUIRE(onnx);
    const wick_spec in = {"x", WICK_F32, 3, {1, 2, 3}};
    wick_plan *plan;
    CHECK(wick_onnx_prepare(onnx, &in) == WICK_OK && wick_onnx_drop_softmax(onnx) &&
          wick_onnx_replace_head(onnx, 3, NULL) == WICK_OK);
    REQUIRE(wick_compile(ctx, apply_once, onnx, 1, &in, 1, NULL, &plan) == WICK_OK);
    CHECK_INT(wick_plan_output(plan, 0).dims[1], 3);
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* Every parameter of every model that is a function of one tensor gets a gradient that is finite, and of the right size
 * by a difference along it. */
static void check_gradients(const char *name) {
    char file[512];
    wick_onnx *onnx;
    snprintf(file, sizeof file, "%s/%s/model.onnx", getenv("WICK_MODELS"), name);
    CHECK_MSG(wick_onnx_open(ctx, file, NULL, &onnx) == WICK_OK, "%s", wick_context_error(ctx));
    if (!onnx) return;
    wick_model *m = wick_onnx_model(onnx);
    wick_onnx_drop_softmax(onnx); /* behind it, all is nearly flat */
    wick_scope *scope = wick_scope_open(ctx);
    const wick_onnx_port in = wick_onnx_input(onnx, 0);
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < in.rank; i++) dims[i] = in.dims[i] > 0 ? in.dims[i] : i ? 48 : 1;
    wick_tensor *x = wick_random_uniform(ctx, WICK_F32, in.rank, dims), *params[512], *grads[513];
    CHECK(wick_eval(ctx, 1, &x, NULL) == WICK_OK);
    int n = 0;
    for (int i = 0; i < wick_model_count(m); i++)
        if (wick_model_at(m, i).role == WICK_ROLE_PARAM && n < 512) params[n++] = wick_model_at(m, i).tensor;
    wick_tensor *y = wick_onnx_forward(onnx, x), *loss = wick_mean(wick_square(y), WICK_ALL_AXES, false);
    CHECK_MSG(n > 0 && wick_tensor_error(loss, NULL) == WICK_OK, "%s: %s", name, wick_context_error(ctx));
    wick_grad(loss, n, params, grads);
    double squares = 0, before, after;
    int none = 0;
    grads[n] = loss;
    CHECK_MSG(wick_eval(ctx, n + 1, grads, NULL) == WICK_OK && wick_item(loss, &before) == WICK_OK, "%s: %s", name,
              wick_context_error(ctx));
    for (int i = 0; i < n; i++) {
        double sum;
        CHECK_MSG(wick_item(wick_sum(wick_square(wick_cast(grads[i], WICK_F64)), WICK_ALL_AXES, false), &sum) ==
                          WICK_OK &&
                      isfinite(sum),
                  "%s: gradient %d: %s", name, i, wick_context_error(ctx));
        none += sum == 0;
        squares += sum;
    }
    CHECK_MSG(squares > 0, "%s", name);
    /* One step down the gradient lowers the loss by its square, to first order. */
    const double h = 1e-4 * before / squares;
    for (int i = 0; i < n; i++)
        CHECK(wick_assign(params[i], wick_sub(params[i], wick_mul(grads[i], wick_like(grads[i], h)))) == WICK_OK);
    CHECK(wick_eval(ctx, 0, NULL, NULL) == WICK_OK);
    CHECK(wick_item(wick_mean(wick_square(wick_onnx_forward(onnx, x)), WICK_ALL_AXES, false), &after) == WICK_OK);
    const double ratio = (before - after) / (h * squares);
    CHECK_MSG(ratio > 0.7 && ratio < 1.3, "%s: %g of what the gradient says (%d of %d gradients are 0)", name, ratio,
              none, n);
    wick_scope_close(&scope);
    wick_onnx_free(&onnx);
}
TEST(gradients_of_real_models_are_right) {
    REQUIRE(set_up());
    if (!getenv("WICK_MODELS")) SKIP("WICK_MODELS names no folder of models");
    static const char *const names[] = {"bench/lenet",  "bench/mnist_cnn",       "bench/resnet8",
                                        "bench/dscnn",  "bench/mobilenetv1_025", "bench/autoencoder",
                                        "onnx/mnist-8", "onnx/mnist-opt",        "onnx/espcn_x3"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) check_gradients(names[i]);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    const int failed = test_main(argc, argv);
    unlink(path);
    rmdir(folder);
    return failed;
}
