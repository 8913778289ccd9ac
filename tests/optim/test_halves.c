/* Gradients and update recorded apart give the bits of a whole step; sums of gradients are gradients of sums; misuse is
 * refused. */
#include "base/base.h"
#include "context.h"
#include "golden/golden.h"
#include "tensor/tensors.h"
#include "test.h"
#include "wick/wick.h"

enum { ROWS = 8, WIDTH = 5, OUT = 3, STEPS = 6 };

typedef struct net {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    wick_dtype dtype;
    bool halves;
    wick_plan *plan[2]; /* the step; or gradients and update */
    wick_workspace *space[2];
    int64_t numbers; /* in the vector of gradients */
} net;

static wick_tensor *weight(net *n, const char *name, int rank, const int64_t *dims) {
    return wick_model_state(n->model, name, WICK_ROLE_PARAM, n->dtype, rank, dims, wick_init_linear(4));
}

/* Two layers, a parameter that the loss does not depend on, and one without a dim. */
static wick_tensor *loss_of(net *n, wick_tensor *const *in) {
    wick_tensor *w = weight(n, "a.w", WICK_DIMS(7, WIDTH)), *idle = weight(n, "idle", WICK_DIMS(4)),
                *b = weight(n, "a.b", WICK_DIMS(7)), *v = weight(n, "b.w", WICK_DIMS(OUT, 7)),
                *gain = weight(n, "gain", WICK_SCALAR);
    (void)idle;
    wick_tensor *y = wick_linear(wick_tanh(wick_linear(wick_cast(in[0], n->dtype), w, b)), v, NULL);
    return wick_mse(wick_cast(wick_mul(y, gain), WICK_F32), in[1]);
}

static wick_status whole(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    net *n = user;
    out[0] = loss_of(n, in);
    return wick_optimizer_step(n->optimizer, out[0]);
}
static wick_status first_half(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    net *n = user;
    out[0] = loss_of(n, in);
    const wick_status status = wick_optimizer_gradients(n->optimizer, out[0], &out[1]);
    if (status == WICK_OK) n->numbers = wick_tensor_count(out[1]);
    return status;
}
static wick_status second_half(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)out;
    return wick_optimizer_update(((net *)user)->optimizer, wick_mul(in[0], in[1]));
}

static bool open_net(net *n, const wick_optim_options *options, wick_dtype dtype, bool halves, int threads) {
    *n = (net){.ctx = new_context(.threads = threads, .seed = 4), .dtype = dtype, .halves = halves};
    if (!n->ctx || wick_model_new(n->ctx, &n->model) != WICK_OK) return false;
    return wick_optimizer_new(n->model, options, &n->optimizer) == WICK_OK;
}
/* rows: of a batch. */
static bool compile_net(net *n, int64_t rows) {
    const wick_spec batch[2] = {{.dtype = WICK_F32, .rank = 2, .dims = {rows, WIDTH}},
                                {.dtype = WICK_F32, .rank = 2, .dims = {rows, OUT}}};
    wick_status status =
        wick_compile(n->ctx, n->halves ? first_half : whole, n, 2, batch, n->halves ? 2 : 1, NULL, &n->plan[0]);
    const wick_dtype sums = n->dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    const wick_spec vector[2] = {{.dtype = sums, .rank = 1, .dims = {n->numbers}}, {.dtype = sums}};
    if (status == WICK_OK && n->halves) status = wick_compile(n->ctx, second_half, n, 2, vector, 0, NULL, &n->plan[1]);
    for (int i = 0; status == WICK_OK && i < 1 + n->halves; i++) status = wick_workspace_new(n->plan[i], &n->space[i]);
    CHECK_OK(n->ctx, status);
    return status == WICK_OK;
}
static void close_net(net *n) {
    for (int i = 0; i < 2; i++) {
        wick_workspace_free(&n->space[i]);
        wick_plan_free(&n->plan[i]);
    }
    wick_optimizer_free(&n->optimizer);
    wick_model_free(&n->model);
    wick_context_free(&n->ctx);
}

/* Numbers in [-1, 1] that any precision holds; step 3 has one whose gradients are more than f16 holds. */
static double number(int step, int i, bool large) {
    return large && step == 3 && i == 2 ? 60000 : ((i * 37 + step * 101) % 64 - 32) / 32.0;
}
static void fill(float *x, int count, int step, bool large) {
    for (int i = 0; i < count; i++) x[i] = (float)number(step, i, large);
}

/* `leaves` parts of a batch of ROWS, whose gradients are summed in f32 or f64. */
static wick_status run_step(net *n, int step, int leaves, bool large) {
    double vector[64] = {0}, sum[64] = {0}; /* or as many f32 */
    float x[ROWS * WIDTH], t[ROWS * OUT], loss;
    fill(x, ROWS * WIDTH, step, false);
    fill(t, ROWS * OUT, step, large);
    if (!n->halves) return wick_run(n->space[0], (const void *[]){x, t}, (void *[]){&loss});
    const int rows = ROWS / leaves;
    for (int leaf = 0; leaf < leaves; leaf++) {
        const wick_status status =
            wick_run(n->space[0], (const void *[]){x + leaf * rows * WIDTH, t + leaf * rows * OUT},
                     (void *[]){&loss, leaf ? vector : sum});
        if (status != WICK_OK) return status;
        for (int64_t i = 0; leaf && i < n->numbers; i++)
            if (n->dtype == WICK_F64)
                sum[i] += vector[i];
            else
                ((float *)sum)[i] += ((float *)vector)[i];
    }
    const double share = 1.0 / leaves;
    const float share32 = (float)share;
    return wick_run(n->space[1], (const void *[]){sum, n->dtype == WICK_F64 ? (const void *)&share : &share32}, NULL);
}

static double furthest(net *a, net *b) {
    double most = 0;
    CHECK_INT(wick_model_count(a->model), wick_model_count(b->model));
    for (int i = 0; i < wick_model_count(a->model); i++) {
        const wick_named state = wick_model_at(a->model, i);
        double x[64], y[64];
        const int64_t count = wick_tensor_count(state.tensor);
        wick_tensor *other = wick_model_find(b->model, state.name);
        CHECK(other && count <= 64);
        if (!other || count > 64) return INFINITY;
        CHECK_OK(a->ctx, wick_read(wick_cast(state.tensor, WICK_F64), x, (size_t)count * sizeof *x));
        CHECK_OK(b->ctx, wick_read(wick_cast(other, WICK_F64), y, (size_t)count * sizeof *y));
        for (int64_t k = 0; k < count; k++) most = fmax(most, x[k] == y[k] ? 0 : fabs(x[k] - y[k]));
    }
    return most;
}

static const wick_optim_options lion = {.kind = WICK_LION, .lr = 0.01};
static const wick_param_group groups[] = {{.pattern = "a.b", .freeze = true}, {.pattern = "b*", .rule = &lion}};
static const struct {
    const char *name;
    wick_optim_options options;
    wick_dtype dtype;
} cases[] = {
    {"sgd", {.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}, WICK_F32},
    {"adamw", {.kind = WICK_ADAMW, .lr = 0.05, .weight_decay = 0.1}, WICK_F32},
    {"adamw f64", {.kind = WICK_ADAMW, .lr = 0.05, .weight_decay = 0.1}, WICK_F64},
    {"adamw f16", {.kind = WICK_ADAMW, .lr = 0.05, .weight_decay = 0.1}, WICK_F16},
    {"muon", {.kind = WICK_MUON, .lr = 0.02}, WICK_F32},
    {"lamb", {.kind = WICK_LAMB, .lr = 0.02, .weight_decay = 0.1}, WICK_F32},
    {"clip", {.lr = 0.3, .momentum = 0.9, .clip_norm = 0.25}, WICK_F32},
    {"schedule",
     {.kind = WICK_ADAM, .lr = 0.1, .schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 20, .cycle_momentum = true}},
     WICK_F32},
    {"ema", {.lr = 0.1, .average = {WICK_AVERAGE_EMA, .decay = 0.8, .buffers = true}}, WICK_F32},
    {"groups", {.kind = WICK_ADAMW, .lr = 0.05, .n_groups = 2, .groups = groups}, WICK_F32},
    {"loss scale", {.lr = 0.1, .clip_norm = 1, .loss_scale = {.initial = 1024, .interval = 2}}, WICK_F16},
};

TEST(both_halves_give_the_bits_of_a_whole_step) {
    for (size_t c = 0; c < WICK_COUNTOF(cases); c++) {
        net a, b;
        const bool large = cases[c].options.loss_scale.initial > 0;
        REQUIRE(open_net(&a, &cases[c].options, cases[c].dtype, false, 1) && compile_net(&a, ROWS));
        REQUIRE(open_net(&b, &cases[c].options, cases[c].dtype, true, 2) && compile_net(&b, ROWS));
        for (int step = 0; step < STEPS; step++) {
            const wick_status status = run_step(&a, step, 1, large);
            CHECK_INT(status, run_step(&b, step, 1, large));
            if (!large) CHECK_INT(status, WICK_OK);
        }
        CHECK_MSG(furthest(&a, &b) == 0, "%s: off by %g", cases[c].name, furthest(&a, &b));
        double skipped = 0;
        if (large) CHECK(wick_item(wick_model_find(b.model, "optim.skipped"), &skipped) == WICK_OK && skipped == 1);
        close_net(&a);
        close_net(&b);
    }
}

TEST(gradients_summed_over_parts_are_those_of_the_batch) {
    for (int leaves = 2; leaves <= 8; leaves *= 2) {
        net a, b;
        const wick_optim_options options = {.kind = WICK_ADAMW, .lr = 0.05, .clip_norm = 0.1};
        REQUIRE(open_net(&a, &options, WICK_F64, false, 1) && compile_net(&a, ROWS));
        REQUIRE(open_net(&b, &options, WICK_F64, true, 1) && compile_net(&b, ROWS / leaves));
        for (int step = 0; step < STEPS; step++) {
            CHECK_OK(a.ctx, run_step(&a, step, 1, false));
            CHECK_OK(b.ctx, run_step(&b, step, leaves, false));
        }
        CHECK_MSG(furthest(&a, &b) < 1e-6, "%d parts: off by %g", leaves, furthest(&a, &b)); /* the loss is f32 */
        close_net(&a);
        close_net(&b);
    }
}

static wick_status other_loss(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    net *n = user;
    out[0] = wick_add(loss_of(n, in), wick_sum(weight(n, "idle", WICK_DIMS(4)), WICK_ALL_AXES, false));
    return wick_optimizer_gradients(n->optimizer, out[0], &out[1]);
}

TEST(misuse_is_refused_by_name) {
    net n;
    REQUIRE(open_net(&n, &(wick_optim_options){.lr = 0.1}, WICK_F32, true, 1));
    wick_tensor *x = wick_ones(n.ctx, WICK_F32, WICK_DIMS(ROWS, WIDTH)),
                *t = wick_ones(n.ctx, WICK_F32, WICK_DIMS(ROWS, OUT)), *in[2] = {x, t}, *out[2];
    CHECK_INT(wick_optimizer_update(n.optimizer, wick_ones(n.ctx, WICK_F32, WICK_DIMS(64))), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "wick_optimizer_gradients");
    CHECK_OK(n.ctx, first_half(n.ctx, in, out, &n));
    CHECK_INT(n.numbers, 7 * WIDTH + 7 + OUT * 7 + 1);
    CHECK_INT(wick_optimizer_update(n.optimizer, wick_ones(n.ctx, WICK_F32, WICK_DIMS(65))), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(n.ctx), "a vector of 64 numbers, not 65 of 1 dim");
    CHECK_INT(wick_optimizer_update(n.optimizer, wick_ones(n.ctx, WICK_F32, WICK_DIMS(8, 8))), WICK_ERR_SHAPE);
    CHECK_INT(wick_optimizer_update(n.optimizer, wick_ones(n.ctx, WICK_F64, WICK_DIMS(64))), WICK_ERR_DTYPE);
    CHECK_STR_HAS(wick_context_error(n.ctx), "the gradients are f64, not f32");
    CHECK_INT(wick_optimizer_update(n.optimizer, wick_add(x, t)), WICK_ERR_SHAPE);
    CHECK_INT(other_loss(n.ctx, in, out, &n), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "the loss depends on \"idle\"");
    CHECK(out[1] == NULL);
    CHECK_INT(wick_optimizer_gradients(n.optimizer, wick_add(x, t), &out[1]), WICK_ERR_SHAPE);
    close_net(&n);

    REQUIRE(open_net(&n, &(wick_optim_options){.lr = 0.1, .accumulate = 2}, WICK_F32, true, 1));
    CHECK_INT(wick_optimizer_gradients(n.optimizer, wick_ones(n.ctx, WICK_F32, WICK_SCALAR), &out[1]),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "accumulate is 2");
    close_net(&n);
}

/* ---- leaves with batch norm -------------------------------------------------------------------------------------- */

enum { LEAVES = 4, LEAF = 4, HIDDEN = 6 };

static wick_status normed_leaf(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    net *n = user;
    wick_tensor *y = wick_nn_batch_norm(n->model, "bn", wick_nn_linear(n->model, "in", in[0], HIDDEN));
    out[0] = wick_mse(wick_nn_linear(n->model, "out", wick_tanh(y), 2), in[1]);
    const wick_status status = wick_optimizer_gradients(n->optimizer, out[0], &out[1]);
    if (status == WICK_OK) n->numbers = wick_tensor_count(out[1]);
    return status;
}

static void check_states(net *n, const golden *goldens, int step, bool set) {
    static const char *const names[] = {"in.weight",       "in.bias",        "bn.weight",  "bn.bias",
                                        "bn.running_mean", "bn.running_var", "out.weight", "out.bias"};
    for (int i = 0; i < 8; i++) {
        char at[64];
        double values[64];
        snprintf(at, sizeof at, "%s.%d", names[i], step);
        const golden *g = golden_find(goldens, at);
        wick_tensor *state = wick_model_find(n->model, names[i]);
        REQUIRE(g && state && g->count <= 64);
        const size_t bytes = (size_t)g->count * sizeof *values;
        if (set) CHECK_OK(n->ctx, wick_write(state, g->values, bytes));
        CHECK_OK(n->ctx, wick_read(state, values, bytes));
        CHECK_MSG(golden_distance(g, values) < 1e-9, "%s: off by %g", at, golden_distance(g, values));
    }
}

/* Every leaf starts from the statistics before the step; their mean is what is left. */
static void step_in_leaves(net *n, const golden *x, const golden *t) {
    static const char *const names[] = {"bn.running_mean", "bn.running_var"};
    double before[2][HIDDEN], mean[2][HIDDEN] = {{0}}, sum[80] = {0}, vector[80], loss;
    REQUIRE(n->numbers <= 80);
    for (int k = 0; k < 2; k++)
        CHECK_OK(n->ctx, wick_read(wick_model_find(n->model, names[k]), before[k], sizeof *before));
    for (int leaf = 0; leaf < LEAVES; leaf++) {
        CHECK_OK(n->ctx,
                 wick_run(n->space[0], (const void *[]){x->values + leaf * LEAF * WIDTH, t->values + leaf * LEAF * 2},
                          (void *[]){&loss, vector}));
        for (int64_t i = 0; i < n->numbers; i++) sum[i] += vector[i];
        for (int k = 0; k < 2; k++) {
            double now[HIDDEN];
            CHECK_OK(n->ctx, wick_read(wick_model_find(n->model, names[k]), now, sizeof now));
            for (int i = 0; i < HIDDEN; i++) mean[k][i] += now[i] / LEAVES;
            CHECK_OK(n->ctx, wick_write(wick_model_find(n->model, names[k]), before[k], sizeof *before));
        }
    }
    for (int k = 0; k < 2; k++)
        CHECK_OK(n->ctx, wick_write(wick_model_find(n->model, names[k]), mean[k], sizeof *mean));
    const double share = 1.0 / LEAVES;
    CHECK_OK(n->ctx, wick_run(n->space[1], (const void *[]){sum, &share}, NULL));
}

TEST(leaves_with_batch_norm_follow_pytorch) {
    golden *goldens = golden_load("leaves.txt");
    REQUIRE(goldens != NULL);
    const golden *x = golden_find(goldens, "x"), *t = golden_find(goldens, "t");
    net n;
    const wick_optim_options options = {.lr = 0.2, .momentum = 0.9, .weight_decay = 0.01};
    REQUIRE(x && t && open_net(&n, &options, WICK_F64, true, 1));
    const wick_spec batch[2] = {{.dtype = WICK_F64, .rank = 2, .dims = {LEAF, WIDTH}},
                                {.dtype = WICK_F64, .rank = 2, .dims = {LEAF, 2}}};
    CHECK_OK(n.ctx, wick_compile(n.ctx, normed_leaf, &n, 2, batch, 2, NULL, &n.plan[0]));
    const wick_spec sum[2] = {{.dtype = WICK_F64, .rank = 1, .dims = {n.numbers}}, {.dtype = WICK_F64}};
    CHECK_OK(n.ctx, wick_compile(n.ctx, second_half, &n, 2, sum, 0, NULL, &n.plan[1]));
    for (int i = 0; i < 2; i++) REQUIRE(n.plan[i] && wick_workspace_new(n.plan[i], &n.space[i]) == WICK_OK);
    check_states(&n, goldens, 0, true);
    for (int step = 1; step <= 5; step++) {
        step_in_leaves(&n, x, t);
        check_states(&n, goldens, step, false);
    }
    close_net(&n);
    golden_free(goldens);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
