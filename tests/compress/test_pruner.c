/* Structural pruning: what goes together, that zeroed channels can be removed from any network, statistics, sparsity.
 */
#include <math.h>
#include <stdlib.h>

#include "base/counting_alloc.h"
#include "golden/low_rank.h"
#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static wick_model *model;

static bool set_up(void) {
    return wick_context_new(&(wick_context_options){.threads = 1, .seed = 3}, &ctx) == WICK_OK &&
           wick_model_new(ctx, &model) == WICK_OK;
}
static void tear_down(void) {
    wick_model_free(&model);
    wick_context_free(&ctx);
}

/* ---- random networks --------------------------------------------------------------------------------------------- */

/* [n, 3, 8, 8] -> [n, 5], of blocks that the seed draws: plain and residual convolutions with and without batch norm,
 * grouped and depthwise ones, squeeze-excite, branches that are joined, slices, and one of several heads. */
static uint64_t drawn, seed_of_net;
static int draw(int n) {
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (int)(drawn >> 33) % n;
}
static wick_tensor *conv(const char *name, wick_tensor *x, int64_t out, int64_t kernel, int groups) {
    char norm[40];
    x = wick_nn_conv(model, name, x, out, kernel,
                     &(wick_nn_conv_options){.pad = (int)kernel / 2, .groups = groups, .no_bias = draw(2)});
    snprintf(norm, sizeof norm, "%s_bn", name);
    return draw(2) ? wick_nn_batch_norm(model, norm, x) : x;
}
static wick_tensor *activation(wick_tensor *x) {
    switch (draw(4)) {
    case 0:
        return wick_relu(x);
    case 1:
        return wick_relu6(x);
    case 2:
        return wick_mul(x, wick_sigmoid(x));
    default:
        return x;
    }
}
static wick_tensor *block(wick_tensor *x, int number) {
    char a[32], b[32];
    const int64_t c = wick_tensor_dim(x, 1);
    snprintf(a, sizeof a, "a%d", number);
    snprintf(b, sizeof b, "b%d", number);
    switch (draw(8)) {
    case 0:
        return wick_add(x, conv(b, activation(conv(a, x, 4 + 2 * draw(5), 3, 1)), c, 3, 1));
    case 1:
        return conv(b, activation(conv(a, x, c, 3, (int)c)), 4 + 2 * draw(6), 1, 1); /* depthwise, pointwise */
    case 2:
        return c % 2 ? x : conv(a, x, 2 * (2 + draw(4)), 3, 2);
    case 3: { /* squeeze-excite */
        wick_tensor *s = wick_mean(x, WICK_AXES(2, 3), true);
        s = wick_sigmoid(wick_nn_conv(model, b, wick_relu(wick_nn_conv(model, a, s, 4, 1, NULL)), c, 1, NULL));
        return wick_mul(x, s);
    }
    case 4:
        return wick_concat(2, (wick_tensor *[]){conv(a, x, 3 + draw(5), 3, 1), draw(2) ? x : conv(b, x, 4, 1, 1)}, 1);
    case 5: { /* the first half through a convolution, the other as it is */
        wick_tensor *one = wick_slice(x, 1, 0, c / 2, 1), *rest = wick_slice(x, 1, c / 2, c, 1);
        return wick_concat(2, (wick_tensor *[]){conv(a, one, c / 2, 3, 1), rest}, 1);
    }
    case 6:
        return wick_max_pool(activation(conv(a, x, 4 + draw(8), 3, 1)),
                             &(wick_pool_options){.kernel = {2, 2}, .stride = {1, 1}});
    default:
        return activation(conv(a, x, 4 + 4 * draw(4), 3, 1));
    }
}
/* Places as the steps of a recurrent layer, of which the last state counts. */
static wick_tensor *recurrent(wick_tensor *x) {
    const wick_nn_rnn_options options = {.layers = 1 + draw(2), .batch_first = true, .bidirectional = draw(3) == 0};
    const int64_t n = wick_tensor_dim(x, 0), c = wick_tensor_dim(x, 1);
    x = wick_permute(wick_reshape(x, 3, (int64_t[]){n, c, wick_tensor_count(x) / n / c}), 3, (int[]){0, 2, 1});
    switch (draw(3)) {
    case 0:
        x = wick_nn_lstm(model, "lstm", x, 12, &options, NULL, NULL);
        break;
    case 1:
        x = wick_nn_gru(model, "gru", x, 10, &options, NULL);
        break;
    default:
        x = wick_nn_rnn(model, "rnn", x, 9, &options, NULL);
    }
    return wick_squeeze(wick_slice(x, 1, -1, INT64_MAX, 1), 1);
}
static wick_status random_network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    drawn = seed_of_net;
    wick_tensor *x = activation(conv("stem", in[0], 4 + 4 * draw(3), 3, 1));
    const int blocks = 1 + draw(5);
    for (int i = 0; i < blocks; i++) x = block(x, i);
    x = wick_relu(conv("last", x, 8, 1, 1));
    switch (draw(5)) {
    case 0:
        x = wick_mean(x, WICK_AXES(2, 3), false);
        break;
    case 1:
        x = wick_flatten(x, 1);
        break; /* channels first */
    case 2:
        x = wick_flatten(wick_permute(x, 4, (int[]){0, 2, 3, 1}), 1);
        break; /* and last */
    case 3:
        x = recurrent(x);
        break;
    default: { /* places as a sequence, heads */
        const int64_t n = wick_tensor_dim(x, 0), places = wick_tensor_dim(x, 2) * wick_tensor_dim(x, 3);
        x = wick_permute(wick_reshape(x, 3, (int64_t[]){n, 8, places}), 3, (int[]){0, 2, 1});
        wick_tensor *heads[3];
        static const char *const names[] = {"q", "k", "v"};
        for (int i = 0; i < 3; i++)
            heads[i] =
                wick_permute(wick_reshape(wick_nn_linear(model, names[i], x, 12), 4, (int64_t[]){n, places, 4, 3}), 4,
                             (int[]){0, 2, 1, 3});
        wick_tensor *scores = wick_softmax(wick_matmul(heads[0], wick_permute(heads[1], 4, (int[]){0, 1, 3, 2})), -1);
        x = wick_permute(wick_matmul(scores, heads[2]), 4, (int[]){0, 2, 1, 3});
        x = wick_mean(wick_nn_linear(model, "o", wick_reshape(x, 3, (int64_t[]){n, places, 12}), 6), WICK_AXES(1),
                      false);
    }
    }
    x = wick_relu(wick_nn_linear(model, "fc", x, 8 + draw(8)));
    out[0] = wick_nn_linear(model, "out", x, 5);
    return WICK_OK;
}

enum { MOST = 4 };
static float x[MOST * 3 * 8 * 8];
static wick_spec spec_of(int64_t n) {
    return (wick_spec){.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {n, 3, 8, 8}};
}
static void draw_input(void) {
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)test_rand_real(-2, 2);
}
static bool run(wick_function fn, void *user, int64_t n, float *out) {
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    const wick_spec spec = spec_of(n);
    const void *in = x;
    void *to = out;
    const bool good = wick_compile(ctx, fn, user, 1, &spec, 1, NULL, &plan) == WICK_OK &&
                      wick_workspace_new(plan, &ws) == WICK_OK && wick_run(ws, &in, &to) == WICK_OK;
    CHECK_MSG(good, "net %llu: %s", (unsigned long long)seed_of_net, wick_context_error(ctx));
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return good;
}
static bool make_network(void) { /* with statistics */
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *in = wick_random_normal(ctx, WICK_F32, WICK_DIMS(4, 3, 8, 8));
    wick_model_set_training(model, true);
    const bool good = random_network(ctx, &in, &y, NULL) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK;
    CHECK_MSG(good, "net %llu: %s", (unsigned long long)seed_of_net, wick_context_error(ctx));
    wick_scope_close(&scope);
    wick_model_set_training(model, false);
    return good;
}
static int64_t numbers(wick_model *m) {
    int64_t n = 0;
    for (int i = 0; i < wick_model_count(m); i++) n += wick_tensor_count(wick_model_at(m, i).tensor);
    return n;
}

TEST(removing_zeroed_channels_changes_no_output_of_random_networks) {
    const char *more = getenv("WICK_PRUNED_NETWORKS");
    const int nets = more ? atoi(more) : 300;
    int64_t before = 0, after = 0;
    for (int i = 0; i < nets; i++) {
        seed_of_net = (uint64_t)i * 0x9E3779B97F4A7C15u + 11;
        REQUIRE(set_up() && make_network());
        wick_pruner *p = NULL;
        const wick_spec spec = spec_of(2);
        const wick_pruning how = {.ratio = 0.1 + 0.8 * i / nets,
                                  .global = i % 2,
                                  .multiple = 1 + i % 3,
                                  .importance = i % 5 ? WICK_IMPORTANCE_L2 : WICK_IMPORTANCE_L1};
        float want[MOST * 5], got[MOST * 5];
        bool good = wick_pruner_new(ctx, model, random_network, NULL, 1, &spec, 1, &p) == WICK_OK &&
                    wick_pruner_cut(p, &how) == WICK_OK && wick_pruner_zero(p) == WICK_OK;
        CHECK_MSG(good, "net %d: %s", i, wick_context_error(ctx));
        draw_input();
        for (int64_t n = 1; n <= MOST && good; n *= 4) { /* other batches than the specs say, too */
            good = run(random_network, NULL, n, want) && run(wick_pruner_apply, p, n, got);
            for (int k = 0; k < n * 5 && good; k++) {
                const double d = fabs((double)want[k] - (double)got[k]), scale = fmax(1, fabs((double)want[k]));
                CHECK_MSG(d <= 1e-5 * scale, "net %d: %g instead of %g", i, (double)got[k], (double)want[k]);
            }
        }
        if (good) before += numbers(model), after += numbers(wick_pruner_model(p));
        wick_pruner_free(&p);
        tear_down();
    }
    CHECK_MSG(after < before * 3 / 4, "only %lld of %lld numbers are removed", (long long)(before - after),
              (long long)before);
}

/* ---- a network with two layers of hidden units and a residual block ---------------------------------------------- */

static wick_status small_network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    const wick_nn_conv_options pad = {.pad = 1};
    wick_tensor *y = wick_relu(wick_nn_batch_norm(model, "bn1", wick_nn_conv(model, "conv1", in[0], 16, 3, &pad)));
    wick_tensor *z = wick_relu(wick_nn_batch_norm(model, "bn2", wick_nn_conv(model, "conv2", y, 24, 3, &pad)));
    y = wick_add(y, wick_nn_conv(model, "conv3", z, 16, 1, NULL));
    out[0] = wick_nn_linear(model, "fc", wick_mean(y, WICK_AXES(2, 3), false), 5);
    return WICK_OK;
}
static wick_pruner *small_pruner(void) {
    wick_pruner *p = NULL;
    const wick_spec spec = spec_of(4);
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *in = wick_random_normal(ctx, WICK_F32, WICK_DIMS(4, 3, 8, 8));
    wick_model_set_training(model, true);
    bool good = small_network(ctx, &in, &y, NULL) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK;
    wick_scope_close(&scope);
    wick_model_set_training(model, false);
    good = good && wick_pruner_new(ctx, model, small_network, NULL, 1, &spec, 1, &p) == WICK_OK;
    CHECK_MSG(good, "%s", wick_context_error(ctx));
    return p;
}
static void set(const char *name, int64_t i, float value) {
    wick_tensor *t = wick_model_find(model, name);
    const void *data;
    float w[4096];
    const int64_t n = t ? wick_tensor_count(t) : 0;
    if (!t || n > 4096 || wick_data(t, &data) != WICK_OK) {
        CHECK(!"there is such a state");
        return;
    }
    memcpy(w, data, (size_t)n * sizeof *w);
    w[i] = value;
    CHECK(wick_write(t, w, (size_t)n * sizeof *w) == WICK_OK);
}
static int64_t dim_of(wick_pruner *p, const char *name, int axis) {
    wick_tensor *t = wick_model_find(wick_pruner_model(p), name);
    return t ? wick_tensor_dim(t, axis) : -1;
}

TEST(layers_shrink_to_multiples_and_what_a_residual_adds_goes_together) {
    REQUIRE(set_up());
    wick_pruner *p = small_pruner();
    double before, after;
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0.5}), WICK_OK);
    CHECK_INT(dim_of(p, "conv1.weight", 0), 8);
    CHECK_INT(dim_of(p, "bn1.running_var", 0), 8);
    CHECK_INT(dim_of(p, "conv2.weight", 1), 8);
    CHECK_INT(dim_of(p, "conv2.weight", 0), 16); /* 12 is no multiple of 8 */
    CHECK_INT(dim_of(p, "conv3.weight", 0), 8);
    CHECK_INT(dim_of(p, "fc.weight", 1), 8);
    CHECK_INT(dim_of(p, "fc.weight", 0), 5);
    wick_pruner_macs(p, &before, &after);
    CHECK(before == 4.0 * (64 * (16 * 27 + 24 * 144 + 16 * 24) + 16 * 5));
    CHECK(after == 4.0 * (64 * (8 * 27 + 16 * 72 + 8 * 16) + 8 * 5));
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.macs = 0.5, .multiple = 1}), WICK_OK);
    wick_pruner_macs(p, &before, &after);
    CHECK_MSG(after <= 0.5 * before && after > 0.42 * before, "%g of %g", after, before);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0.5, .keep = "conv1*"}), WICK_OK);
    CHECK_INT(dim_of(p, "conv1.weight", 0), 16);
    CHECK_INT(dim_of(p, "conv2.weight", 0), 16);
    wick_pruner_free(&p);
    tear_down();
}

static wick_status recurrent_network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *y = wick_reshape(in[0], 3, (int64_t[]){wick_tensor_dim(in[0], 0), 8, 24});
    y = wick_nn_lstm(model, "lstm", y, 16, &(wick_nn_rnn_options){.batch_first = true}, NULL, NULL);
    out[0] = wick_nn_linear(model, "fc", wick_mean(y, WICK_AXES(1), false), 5);
    return WICK_OK;
}
TEST(units_of_recurrent_layers_go_with_all_of_their_gates) {
    REQUIRE(set_up());
    wick_pruner *p = NULL;
    const wick_spec spec = spec_of(2);
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *in = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3, 8, 8));
    REQUIRE(recurrent_network(ctx, &in, &y, NULL) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK);
    wick_scope_close(&scope);
    CHECK_INT(wick_pruner_new(ctx, model, recurrent_network, NULL, 1, &spec, 1, &p), WICK_OK);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0.5}), WICK_OK);
    CHECK_INT(dim_of(p, "lstm.weight_hh_l0", 0), 4 * 8);
    CHECK_INT(dim_of(p, "lstm.weight_hh_l0", 1), 8);
    CHECK_INT(dim_of(p, "lstm.weight_ih_l0", 0), 4 * 8);
    CHECK_INT(dim_of(p, "fc.weight", 1), 8);
    float want[10], got[10];
    draw_input();
    CHECK_INT(wick_pruner_zero(p), WICK_OK);
    CHECK(run(recurrent_network, NULL, 2, want) && run(wick_pruner_apply, p, 2, got));
    for (int i = 0; i < 10; i++) CHECK(fabsf(want[i] - got[i]) < 1e-6f);
    wick_pruner_free(&p);
    tear_down();
}

TEST(importance_says_which_channels_go) {
    REQUIRE(set_up());
    wick_pruner *p = small_pruner();
    const void *left;
    const wick_pruning one = {.ratio = 1.0 / 16 + 1e-6, .multiple = 1, .importance = WICK_IMPORTANCE_GAMMA};
    for (int i = 0; i < 16; i++) set("bn1.weight", i, i == 11 ? -0.01f : (float)(i + 1));
    CHECK_INT(wick_pruner_cut(p, &one), WICK_OK);
    REQUIRE(wick_data(wick_model_find(wick_pruner_model(p), "bn1.weight"), &left) == WICK_OK);
    for (int i = 0; i < 15; i++) CHECK(((const float *)left)[i] == (float)(i + 1 + (i >= 11)));
    /* gradients: of a unit whose weight in the last layer is 0, nothing depends on it */
    for (int k = 0; k < 24 * 9 * 16; k++)
        if (k / 9 % 16 == 4 && k < 3456) set("conv2.weight", k, 0);
    for (int k = 0; k < 5; k++) set("fc.weight", k * 16 + 4, 0);
    static const int64_t labels[4] = {0, 1, 2, 3};
    draw_input();
    const wick_pruning taylor = {.ratio = 1.0 / 16 + 1e-6, .multiple = 1, .importance = WICK_IMPORTANCE_TAYLOR};
    CHECK_INT(wick_pruner_cut(p, &taylor), WICK_ERR_INVALID); /* nothing was weighed */
    for (int i = 0; i < 3; i++) CHECK_INT(wick_pruner_weigh(p, (const void *[]){x}, labels), WICK_OK);
    CHECK_INT(wick_pruner_cut(p, &taylor), WICK_OK);
    REQUIRE(wick_data(wick_model_find(wick_pruner_model(p), "bn1.weight"), &left) == WICK_OK);
    for (int i = 0; i < 15; i++) CHECK(((const float *)left)[i] != 5);
    wick_pruner_free(&p);
    tear_down();
}

TEST(statistics_are_those_of_what_was_observed) {
    REQUIRE(set_up());
    wick_pruner *p = small_pruner();
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0}), WICK_OK); /* nothing goes */
    draw_input();
    float want[4 * 5], got[4 * 5];
    for (int i = 0; i < 2; i++) CHECK_INT(wick_pruner_observe(p, (const void *[]){x}), WICK_OK);
    CHECK_INT(wick_pruner_settle(p), WICK_OK);
    CHECK(run(wick_pruner_apply, p, 4, got));
    wick_scope *scope = wick_scope_open(ctx); /* in training, batch norms are of the batch itself */
    wick_tensor *y, *in = wick_from(ctx, WICK_F32, WICK_DIMS(4, 3, 8, 8), x);
    wick_model_set_training(model, true);
    const void *data = NULL;
    REQUIRE(small_network(ctx, &in, &y, NULL) == WICK_OK && wick_data(y, &data) == WICK_OK);
    memcpy(want, data, sizeof want);
    wick_scope_close(&scope);
    wick_model_set_training(model, false);
    for (int i = 0; i < 20; i++) CHECK(fabsf(want[i] - got[i]) < 1e-5f);
    x[7] = NAN;
    CHECK_INT(wick_pruner_observe(p, (const void *[]){x}), WICK_ERR_INVALID);
    wick_pruner_free(&p);
    tear_down();
}

TEST(the_smallest_weights_become_zero) {
    REQUIRE(set_up());
    wick_pruner *p = small_pruner();
    CHECK_INT(wick_pruner_sparsify(p, 0.5, 0, 0), WICK_ERR_INVALID); /* cut comes before */
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0}), WICK_OK);
    CHECK_INT(wick_pruner_sparsify(p, 0.8, 0, 0), WICK_OK);
    CHECK(fabs(wick_pruner_sparsity(p) - 0.8) < 0.005);
    const void *whole, *sparse;
    REQUIRE(wick_data(wick_model_find(model, "conv2.weight"), &whole) == WICK_OK &&
            wick_data(wick_model_find(wick_pruner_model(p), "conv2.weight"), &sparse) == WICK_OK);
    const float *w = whole, *s = sparse;
    float least = INFINITY, most = 0;
    int zeros = 0;
    for (int i = 0; i < 24 * 16 * 9; i++) {
        CHECK(s[i] == 0 || s[i] == w[i]);
        zeros += s[i] == 0;
        if (s[i] == 0) most = fmaxf(most, fabsf(w[i]));
        if (s[i] != 0) least = fminf(least, fabsf(w[i]));
    }
    CHECK_INT(zeros, (int)(0.8 * 24 * 16 * 9));
    CHECK(most <= least);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0}), WICK_OK);
    CHECK_INT(wick_pruner_sparsify(p, 0, 2, 4), WICK_OK);
    REQUIRE(wick_data(wick_model_find(wick_pruner_model(p), "conv2.weight"), &sparse) == WICK_OK);
    s = sparse;
    for (int o = 0; o < 24; o++)
        for (int c = 0; c < 16; c += 4)
            for (int k = 0; k < 9; k++) {
                int left = 0;
                for (int i = 0; i < 4; i++) left += s[(o * 16 + c + i) * 9 + k] != 0;
                CHECK_INT(left, 2);
            }
    CHECK_INT(wick_pruner_sparsify(p, 1, 0, 0), WICK_ERR_INVALID);
    CHECK_INT(wick_pruner_sparsify(p, 0, 4, 2), WICK_ERR_INVALID);
    wick_pruner_free(&p);
    tear_down();
}

TEST(a_weight_of_low_rank_is_two_products_of_the_same_result) {
    REQUIRE(set_up());
    wick_pruner *p = small_pruner();
    float w[16 * 24], want[4 * 5], got[4 * 5];
    double before, after;
    for (int i = 0; i < 16 * 24; i++) /* of rank 2 */
        w[i] = 0.1f * (float)((i / 24) % 5 - 2) * (float)((i % 24) % 7 - 3) +
               0.02f * (float)(i / 24) * (float)(i % 24 % 3);
    CHECK(wick_write(wick_model_find(model, "conv3.weight"), w, sizeof w) == WICK_OK);
    draw_input();
    CHECK(run(small_network, NULL, 4, want));
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.energy = 0.99999999, .multiple = 1}), WICK_OK);
    CHECK_INT(dim_of(p, "conv3.weight_u", 1), 2);
    CHECK_INT(dim_of(p, "conv3.weight_v", 0), 2);
    CHECK(!wick_model_find(wick_pruner_model(p), "conv3.weight"));
    CHECK(run(wick_pruner_apply, p, 4, got));
    for (int i = 0; i < 20; i++) CHECK(fabsf(want[i] - got[i]) < 1e-4f * fmaxf(1, fabsf(want[i])));
    wick_pruner_macs(p, &before, &after);
    CHECK_MSG(before - after >= 4.0 * 64 * (16 * 24 - 2 * (16 + 24)) - 1, "%g", before - after);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.budget = 0.5, .multiple = 4}), WICK_OK);
    CHECK_INT(dim_of(p, "conv3.weight_u", 1), 4); /* of 0.5 16 24 / (16 + 24) */
    CHECK(run(wick_pruner_apply, p, 1, got));
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.budget = 0.5, .energy = 0.5}), WICK_ERR_INVALID);
    wick_pruner_free(&p);
    tear_down();
}

static wick_status product_network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_nn_linear(model, "fc", wick_reshape(in[0], 2, (int64_t[]){12, LOW_N}), LOW_M);
    return WICK_OK;
}
TEST(low_rank_is_the_best_that_numpy_finds) {
    REQUIRE(set_up());
    wick_pruner *p = NULL;
    const wick_spec spec = spec_of(1);
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *in = wick_zeros(ctx, WICK_F32, WICK_DIMS(1, 3, 8, 8));
    REQUIRE(product_network(ctx, &in, &y, NULL) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK);
    wick_scope_close(&scope);
    CHECK(wick_write(wick_model_find(model, "fc.weight"), low_weight, sizeof low_weight) == WICK_OK);
    CHECK_INT(wick_pruner_new(ctx, model, product_network, NULL, 1, &spec, 1, &p), WICK_OK);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0.5}), WICK_ERR_INVALID); /* no channel can go */
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.energy = (low_energy + low_less) / 2, .multiple = 1}), WICK_OK);
    const void *u, *v;
    CHECK_INT(dim_of(p, "fc.weight_u", 1), LOW_R);
    REQUIRE(wick_data(wick_model_find(wick_pruner_model(p), "fc.weight_u"), &u) == WICK_OK &&
            wick_data(wick_model_find(wick_pruner_model(p), "fc.weight_v"), &v) == WICK_OK);
    for (int i = 0; i < LOW_M; i++)
        for (int k = 0; k < LOW_N; k++) {
            double sum = 0;
            for (int r = 0; r < LOW_R; r++)
                sum += (double)((const float *)u)[i * LOW_R + r] * (double)((const float *)v)[r * LOW_N + k];
            CHECK_MSG(fabs(sum - (double)low_best[i * LOW_N + k]) < 2e-6, "%d, %d: %g", i, k, sum);
        }
    wick_pruner_free(&p);
    tear_down();
}

/* ---- convolutions of low rank ------------------------------------------------------------------------------------ */

static wick_nn_conv_options filter_options;
static wick_status filter_network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *y = wick_nn_conv(model, "first", in[0], FILTER_I, 1, NULL);
    y = wick_nn_conv(model, "wide", y, FILTER_O, FILTER_K, &filter_options);
    out[0] = wick_flatten(wick_slice(y, 2, 0, 2, 1), 1);
    return WICK_OK;
}
static wick_pruner *filter_pruner(const float *weight) {
    wick_pruner *p = NULL;
    const wick_spec spec = spec_of(2);
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *in = wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 3, 8, 8));
    bool good = filter_network(ctx, &in, &y, NULL) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK;
    wick_scope_close(&scope);
    good = good && wick_write(wick_model_find(model, "wide.weight"), weight, sizeof filter_weight) == WICK_OK &&
           wick_pruner_new(ctx, model, filter_network, NULL, 1, &spec, 1, &p) == WICK_OK;
    CHECK_MSG(good, "%s", wick_context_error(ctx));
    return p;
}
static const float *state_data(wick_pruner *p, const char *name) {
    const void *data = NULL;
    wick_tensor *t = wick_model_find(wick_pruner_model(p), name);
    CHECK_MSG(t && wick_data(t, &data) == WICK_OK, "%s", name);
    return data;
}
TEST(tucker_is_the_hosvd_of_numpy) {
    REQUIRE(set_up());
    filter_options = (wick_nn_conv_options){.pad = 1};
    wick_pruner *p = filter_pruner(filter_weight);
    REQUIRE(p);
    CHECK_INT(
        wick_pruner_cut(p, &(wick_pruning){.energy = filter_energy, .filters = WICK_FILTERS_TUCKER, .multiple = 1}),
        WICK_OK);
    CHECK_INT(dim_of(p, "wide.weight_u", 1), TUCKER_O);
    CHECK_INT(dim_of(p, "wide.weight_v", 0), TUCKER_I);
    const float *u = state_data(p, "wide.weight_u"), *v = state_data(p, "wide.weight_v"),
                *core = state_data(p, "wide.weight_core");
    enum { TAPS = FILTER_K * FILTER_K };
    for (int o = 0; o < FILTER_O; o++)
        for (int i = 0; i < FILTER_I; i++)
            for (int t = 0; t < TAPS; t++) {
                double sum = 0;
                for (int a = 0; a < TUCKER_O; a++)
                    for (int b = 0; b < TUCKER_I; b++)
                        sum += (double)u[o * TUCKER_O + a] * (double)core[(a * TUCKER_I + b) * TAPS + t] *
                               (double)v[b * FILTER_I + i];
                const double want = (double)filter_tucker[(o * FILTER_I + i) * TAPS + t];
                CHECK_MSG(fabs(sum - want) < 1e-5, "%d, %d, %d: %g, not %g", o, i, t, sum, want);
            }
    wick_pruner_free(&p);
    tear_down();
}
TEST(a_column_and_a_row_of_taps_are_the_best_that_numpy_finds) {
    REQUIRE(set_up());
    filter_options = (wick_nn_conv_options){.pad = 1};
    wick_pruner *p = filter_pruner(filter_weight);
    REQUIRE(p);
    CHECK_INT(
        wick_pruner_cut(p, &(wick_pruning){.energy = filter_energy, .filters = WICK_FILTERS_SPATIAL, .multiple = 1}),
        WICK_OK);
    CHECK_INT(dim_of(p, "wide.weight_u", 1), SPATIAL_R);
    const float *u = state_data(p, "wide.weight_u"), *v = state_data(p, "wide.weight_v");
    for (int n = 0; n < FILTER_O * FILTER_I * FILTER_K * FILTER_K; n++) {
        const int w = n % FILTER_K, h = n / FILTER_K % FILTER_K, i = n / (FILTER_K * FILTER_K) % FILTER_I,
                  o = n / (FILTER_K * FILTER_K * FILTER_I);
        double sum = 0;
        for (int r = 0; r < SPATIAL_R; r++)
            sum += (double)v[(r * FILTER_I + i) * FILTER_K + h] * (double)u[(o * SPATIAL_R + r) * FILTER_K + w];
        CHECK_MSG(fabs(sum - (double)filter_spatial[n]) < 1e-5, "%d: %g, not %g", n, sum, (double)filter_spatial[n]);
    }
    wick_pruner_free(&p);
    tear_down();
}
/* Of weights that are of low rank nothing is lost, whatever the strides, the padding and the dilation. */
TEST(filters_of_low_rank_give_what_the_whole_ones_gave) {
    static const wick_nn_conv_options options[] = {
        {.pad = 1}, {.stride = 2, .pad = 1}, {.dilation = 2, .pad = 2}, {.stride = 3, .no_bias = true}};
    static float want[2 * FILTER_O * 2 * 8], got[2 * FILTER_O * 2 * 8];
    for (size_t c = 0; c < WICK_COUNTOF(options); c++)
        for (int kind = WICK_FILTERS_TUCKER; kind <= WICK_FILTERS_SPATIAL; kind++) {
            REQUIRE(set_up());
            float weight[FILTER_O * FILTER_I * FILTER_K * FILTER_K];
            for (size_t n = 0; n < WICK_COUNTOF(weight); n++) { /* of rank 1 in each way */
                const size_t w = n % 3, h = n / 3 % 3, i = n / 9 % FILTER_I, o = n / (9 * FILTER_I);
                weight[n] = (float)(o + 1) * (float)(3 - (double)i) * (float)(1 + w * w) * (float)(2 - (double)h) / 40;
            }
            filter_options = options[c];
            wick_pruner *p = filter_pruner(weight);
            REQUIRE(p);
            draw_input();
            memset(want, 0, sizeof want), memset(got, 0, sizeof got);
            CHECK(run(filter_network, NULL, 2, want));
            CHECK_INT(
                wick_pruner_cut(p, &(wick_pruning){.energy = 0.9999999, .filters = (wick_filters)kind, .multiple = 1}),
                WICK_OK);
            CHECK(!wick_model_find(wick_pruner_model(p), "wide.weight"));
            CHECK_INT(dim_of(p, "wide.weight_u", 1), 1);
            CHECK(run(wick_pruner_apply, p, 2, got));
            for (size_t n = 0; n < WICK_COUNTOF(got); n++)
                CHECK_MSG(fabsf(want[n] - got[n]) < 1e-4f * fmaxf(1, fabsf(want[n])), "%zu, %d, %zu: %g, not %g", c,
                          kind, n, (double)got[n], (double)want[n]);
            wick_pruner_free(&p);
            tear_down();
        }
}
TEST(filters_keep_to_a_budget_and_what_gains_nothing_stays) {
    REQUIRE(set_up());
    filter_options = (wick_nn_conv_options){.pad = 1};
    wick_pruner *p = filter_pruner(filter_weight);
    REQUIRE(p);
    const double pixels = 64, points = pixels * 3 * FILTER_I, all = pixels * FILTER_O * FILTER_I * 9,
                 fewer = pixels * (3 + FILTER_I); /* of rank 1 */
    for (int kind = WICK_FILTERS_TUCKER; kind <= WICK_FILTERS_SPATIAL; kind++) {
        double before, after;
        CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.budget = 0.5, .filters = (wick_filters)kind, .multiple = 1}),
                  WICK_OK);
        wick_pruner_macs(p, &before, &after);
        CHECK_MSG(before == 2 * (points + all), "%g", before);
        const int64_t r = dim_of(p, "wide.weight_u", 1), b = dim_of(p, "wide.weight_v", 0);
        const double each = kind == WICK_FILTERS_TUCKER ? pixels * (double)(b * FILTER_I + 9 * r * b + FILTER_O * r)
                                                        : pixels * (double)(r * FILTER_I * 3 + r * FILTER_O * 3);
        CHECK_MSG(fabs(after - 2 * (fewer + each)) < 1e-6 * after && each <= 0.5 * all && each > 0.3 * all, "%g, %g",
                  after, each);
        CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.energy = 0.999999, .filters = (wick_filters)kind, .multiple = 1}),
                  WICK_OK);
        CHECK(wick_model_find(wick_pruner_model(p), "wide.weight") != NULL);
    }
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.filters = WICK_FILTERS_TUCKER}), WICK_ERR_INVALID);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.energy = 0.5, .filters = (wick_filters)7}), WICK_ERR_INVALID);
    wick_pruner_free(&p);
    tear_down();
}

TEST(bad_input_is_an_error) {
    REQUIRE(set_up());
    wick_pruner *p = small_pruner();
    CHECK_INT(wick_pruner_cut(p, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 1}), WICK_ERR_INVALID);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = NAN}), WICK_ERR_INVALID);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.macs = 1e-4}), WICK_ERR_INVALID);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0.5, .keep = "none"}), WICK_ERR_INVALID);
    CHECK(wick_pruner_model(p) == NULL);
    set("conv2.weight", 3, INFINITY);
    CHECK_INT(wick_pruner_cut(p, &(wick_pruning){.ratio = 0.5}), WICK_ERR_INVALID);
    wick_pruner_free(&p);
    tear_down();
}

static wick_status use_all(void) {
    static const int64_t labels[4] = {0, 1, 2, 3};
    static const wick_pruning how = {.ratio = 0.5, .energy = 0.9, .importance = WICK_IMPORTANCE_TAYLOR};
    const wick_spec spec = spec_of(4);
    const void *in[] = {x};
    wick_pruner *p = NULL;
    wick_plan *plan = NULL;
    wick_status status = wick_pruner_new(ctx, model, small_network, NULL, 1, &spec, 1, &p);
    if (status == WICK_OK) status = wick_pruner_weigh(p, in, labels);
    if (status == WICK_OK) status = wick_pruner_cut(p, &how);
    if (status == WICK_OK) status = wick_pruner_observe(p, in);
    if (status == WICK_OK) status = wick_pruner_settle(p);
    if (status == WICK_OK) status = wick_pruner_sparsify(p, 0.5, 0, 0);
    if (status == WICK_OK) status = wick_compile(ctx, wick_pruner_apply, p, 1, &spec, 1, NULL, &plan);
    wick_plan_free(&plan);
    wick_pruner_free(&p);
    return status;
}
TEST(running_out_of_memory_is_an_error_wherever_it_happens) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK &&
            wick_model_new(ctx, &model) == WICK_OK);
    wick_pruner *p = small_pruner(); /* makes the states */
    wick_pruner_free(&p);
    draw_input();
    CHECK_MSG(use_all() == WICK_OK, "%s", wick_context_error(ctx)); /* what the context itself keeps is made now */
    const int64_t before = c.calls;
    CHECK(use_all() == WICK_OK);
    const int64_t calls = c.calls - before, live = c.live;
    int failed = 0;
    for (int64_t k = 0; k < calls; k += 1 + calls / 300) {
        c.fail_at = c.calls + k;
        const wick_status status = use_all();
        failed += status == WICK_ERR_NOMEM;
        CHECK_MSG(status == WICK_ERR_NOMEM || status == WICK_OK, "call %lld: %s: %s", (long long)k,
                  wick_status_name(status), wick_context_error(ctx));
        c.fail_at = -1;
        wick_context_clear_error(ctx);
        CHECK_MSG(c.live <= live + 8, "call %lld: %lld blocks more", (long long)k, (long long)(c.live - live));
    }
    CHECK(calls > 100 && failed > 50);
    CHECK(use_all() == WICK_OK);
    tear_down();
    CHECK_INT(c.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
