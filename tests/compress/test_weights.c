/* Weights alone in 8 bits, scales that move between layers, and other roundings to 4 bits. */
#include "golden/compress.h"
#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static wick_model *model;

static bool set_up(void) {
    return wick_context_new(&(wick_context_options){.threads = 2, .seed = 7}, &ctx) == WICK_OK &&
           wick_model_new(ctx, &model) == WICK_OK;
}
static void tear_down(void) {
    wick_model_free(&model);
    wick_context_free(&ctx);
}
static bool adopt(const char *name, int64_t rows, int64_t cols, const float *data) {
    const int64_t dims[] = {rows, cols};
    wick_tensor *t = wick_from(ctx, WICK_F32, rows ? 2 : 1, rows ? dims : dims + 1, data);
    return wick_model_adopt(model, name, WICK_ROLE_PARAM, t) == WICK_OK;
}
static wick_spec rows_of(int64_t n, int64_t k) {
    return (wick_spec){.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {n, k}};
}
static bool run_function(wick_function fn, void *user, const wick_spec *spec, const float *x, float *y) {
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    const bool good = wick_compile(ctx, fn, user, 1, spec, 1, NULL, &plan) == WICK_OK &&
                      wick_workspace_new(plan, &ws) == WICK_OK &&
                      wick_run(ws, (const void *[]){x}, (void *[]){y}) == WICK_OK;
    if (!good) printf("  %s\n", wick_context_error(ctx));
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return good;
}
static double most_apart(const float *a, const float *b, int n) {
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]) / fmax(1, fabs((double)a[i])));
    return most;
}

/* x [n, k] W^T, W [n, k] or a convolution of one place. */
static wick_status product(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    wick_tensor *w = wick_model_find(model, "w");
    if (*(const int *)user)
        out[0] = wick_reshape(wick_conv(wick_reshape(in[0], WICK_DIMS(HELD_K, HELD_K, 1)),
                                        wick_reshape(w, WICK_DIMS(HELD_N, HELD_K, 1)), NULL, NULL),
                              WICK_DIMS(HELD_K, HELD_N));
    else
        out[0] = wick_matmul(in[0], wick_transpose(w, 0, 1));
    return WICK_OK;
}
/* Of the unit matrix the result is the weights. */
TEST(weights_alone_are_what_pytorch_makes_of_them) {
    static const float *const want[2][2] = {{held_i8, held_i8_blocks}, {held_f8, held_f8_blocks}};
    float unit[HELD_K * HELD_K] = {0}, got[HELD_K * HELD_N], turned[HELD_K * HELD_N];
    const wick_spec spec = rows_of(HELD_K, HELD_K);
    for (int i = 0; i < HELD_K; i++) unit[i * HELD_K + i] = 1;
    for (int conv = 0; conv < 2; conv++)
        for (int f8 = 0; f8 < 2; f8++)
            for (int blocks = 0; blocks < 2; blocks++) {
                wick_quantizer *q = NULL;
                REQUIRE(set_up() && adopt("w", HELD_N, HELD_K, held_weight));
                const wick_quantizer_options o = {.weights_only = f8 ? WICK_WEIGHTS_F8 : WICK_WEIGHTS_I8,
                                                  .block = blocks ? HELD_BLOCK : 0};
                REQUIRE(wick_quantizer_new(ctx, model, product, &conv, 1, &spec, 1, &o, &q) == WICK_OK);
                REQUIRE(wick_quantizer_finish(q) == WICK_OK && run_function(wick_quantizer_apply, q, &spec, unit, got));
                for (int i = 0; i < HELD_K * HELD_N; i++) turned[i % HELD_N * HELD_K + i / HELD_N] = got[i];
                CHECK_MSG(most_apart(want[f8][blocks], turned, HELD_K * HELD_N) < 1e-6, "conv %d, f8 %d, blocks %d: %g",
                          conv, f8, blocks, most_apart(want[f8][blocks], turned, HELD_K * HELD_N));
                wick_tensor *held = wick_model_find(wick_quantizer_model(q), "w");
                CHECK(held && wick_tensor_dtype(held) == (f8 ? WICK_F8_E4M3FN : WICK_I8));
                CHECK(wick_quantizer_layer_at(q, 0).weight_sqnr > 25);
                wick_quantizer_free(&q);
                tear_down();
            }
}

/* 0: through ReLU; 1: through ReLU6, which scales don't pass. */
static wick_status three_layers(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    wick_tensor *x = in[0];
    char name[8];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "w%d", i);
        x = wick_matmul(x, wick_model_find(model, name));
        snprintf(name, sizeof name, "b%d", i);
        x = wick_add(x, wick_model_find(model, name));
        if (i < 2) x = *(const int *)user ? wick_relu6(x) : wick_relu(x);
    }
    out[0] = x;
    return WICK_OK;
}
static bool adopt_three(void) {
    return adopt("w0", EQ_0, EQ_1, eq_w0) && adopt("w1", EQ_1, EQ_2, eq_w1) && adopt("w2", EQ_2, EQ_3, eq_w2) &&
           adopt("b0", 0, EQ_1, eq_b0) && adopt("b1", 0, EQ_2, eq_b1) && adopt("b2", 0, EQ_3, eq_b2);
}
/* Each channel's largest weight of 127 steps: the scales say what the weights were scaled to. */
TEST(equalised_scales_are_those_of_numpy_and_relu6_stops_them) {
    static const float *const want[2][3] = {{eq_w0_equal, eq_w1_equal, eq_w2_equal}, {eq_w0, eq_w1, eq_w2}};
    static const int sizes[] = {EQ_0, EQ_1, EQ_2, EQ_3};
    enum { B = 32 };
    float x[B * EQ_0], y[B * EQ_3], as[B * EQ_3];
    const wick_spec spec = rows_of(B, EQ_0);
    for (int six = 0; six < 2; six++) {
        wick_quantizer *q = NULL;
        REQUIRE(set_up() && adopt_three());
        for (int i = 0; i < B * EQ_0; i++) x[i] = (float)test_rand_real(-1, 1);
        REQUIRE(wick_quantizer_new(ctx, model, three_layers, &six, 1, &spec, 1,
                                   &(wick_quantizer_options){.equalise = true}, &q) == WICK_OK);
        CHECK(wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
        for (int i = 0; i < 3; i++) {
            char name[16];
            snprintf(name, sizeof name, "w%d_scale", i);
            const void *data;
            REQUIRE(wick_data(wick_model_find(wick_quantizer_model(q), name), &data) == WICK_OK);
            for (int c = 0; c < sizes[i + 1]; c++) {
                float most = 0;
                for (int k = 0; k < sizes[i]; k++) most = fmaxf(most, fabsf(want[six][i][k * sizes[i + 1] + c]));
                CHECK_MSG(fabsf(((const float *)data)[c] * 127 / most - 1) < 5e-3f, "%s, channel %d: %g for %g", name,
                          c, (double)((const float *)data)[c] * 127, (double)most);
            }
        }
        CHECK(run_function(three_layers, &six, &spec, x, y));
        for (int i = 0; i < 3; i++) wick_quantizer_keep(q, i, true); /* in floats the function is what it was */
        CHECK(wick_quantizer_finish(q) == WICK_OK && run_function(wick_quantizer_apply, q, &spec, x, as));
        CHECK_MSG(most_apart(y, as, B * EQ_3) < 1e-5, "%g", most_apart(y, as, B * EQ_3));
        wick_quantizer_free(&q);
        tear_down();
    }
}

/* A convolution network: scales pass a batch norm, pooling and flattening, grouped and depthwise convolutions. */
static wick_status images(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *x = wick_relu(
        wick_nn_batch_norm(model, "n", wick_nn_conv(model, "a", in[0], 8, 3, &(wick_nn_conv_options){.pad = 1})));
    x = wick_relu(wick_nn_conv(model, "depth", x, 8, 3, &(wick_nn_conv_options){.pad = 1, .groups = 8}));
    x = wick_relu(wick_nn_conv(model, "two", x, 8, 1, &(wick_nn_conv_options){.groups = 2}));
    x = wick_max_pool(x, &(wick_pool_options){.kernel = {2, 2}});
    x = wick_relu(wick_nn_linear(model, "l", wick_reshape(x, WICK_DIMS(-1, 8 * 9)), 12));
    x = wick_layer_norm(x, wick_model_find(model, "g"), wick_model_find(model, "s"), 1e-5);
    out[0] = wick_nn_linear(model, "last", x, 5);
    return WICK_OK;
}
TEST(scales_that_move_leave_the_function_as_it_was) {
    enum { B = 16, IN = 3 * 36 };
    float x[B * IN], y[B * 5], as[B * 5], ones[12];
    const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {B, 3, 6, 6}};
    for (int i = 0; i < 12; i++) ones[i] = (float)i / 4 - 1;
    for (int way = 0; way < 3; way++) {
        wick_quantizer *q = NULL;
        REQUIRE(set_up() && adopt("g", 0, 12, ones) && adopt("s", 0, 12, ones));
        for (int i = 0; i < B * IN; i++) x[i] = (float)test_rand_real(-1, 1) * (i / 36 % 3 ? 1 : 20);
        wick_model_set_training(model, true); /* so that batch norms have statistics */
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *out, *first = wick_from(ctx, WICK_F32, 4, spec.dims, x);
        CHECK(images(ctx, &first, &out, NULL) == WICK_OK && wick_eval(ctx, 1, &out, NULL) == WICK_OK);
        wick_scope_close(&scope);
        wick_model_set_training(model, false);
        const wick_quantizer_options o = {.equalise = way != 1, .smooth = way ? 0.5 : 0};
        REQUIRE(wick_quantizer_new(ctx, model, images, NULL, 1, &spec, 1, &o, &q) == WICK_OK);
        CHECK(wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK);
        if (way) {
            CHECK(wick_quantizer_finish(q) == WICK_ERR_INVALID);
            CHECK(wick_quantizer_smooth(q) == WICK_OK && wick_quantizer_finish(q) == WICK_ERR_INVALID);
            CHECK(wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK);
        }
        CHECK(wick_quantizer_smooth(q) == WICK_ERR_INVALID && wick_quantizer_finish(q) == WICK_OK);
        CHECK(run_function(images, NULL, &spec, x, y) && run_function(wick_quantizer_apply, q, &spec, x, as));
        CHECK_MSG(most_apart(y, as, B * 5) < 0.15 && most_apart(y, as, B * 5) > 1e-5, "%g", most_apart(y, as, B * 5));
        for (int i = 0; i < wick_quantizer_layers(q); i++) wick_quantizer_keep(q, i, true);
        CHECK(wick_quantizer_finish(q) == WICK_OK && run_function(wick_quantizer_apply, q, &spec, x, as));
        CHECK_MSG(most_apart(y, as, B * 5) < 2e-5, "way %d: %g", way, most_apart(y, as, B * 5));
        CHECK_MSG(memcmp(y, as, sizeof y) != 0, "way %d: no scale has moved", way);
        wick_quantizer_free(&q);
        tear_down();
    }
}

static wick_status one_column(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_matmul(in[0], wick_model_find(model, "v"));
    return WICK_OK;
}
static double squares_of(const wick_quantizer_options *o, bool observes) {
    float y[ROUND_ROWS], as[ROUND_ROWS];
    double sum = 0;
    wick_quantizer *q = NULL;
    const wick_spec spec = rows_of(ROUND_ROWS, ROUND_K);
    bool good = wick_quantizer_new(ctx, model, one_column, NULL, 1, &spec, 1, o, &q) == WICK_OK;
    if (observes) good = good && wick_quantizer_observe(q, (const void *[]){round_x}) == WICK_OK;
    good = good && wick_quantizer_finish(q) == WICK_OK && run_function(one_column, NULL, &spec, round_x, y) &&
           run_function(wick_quantizer_apply, q, &spec, round_x, as);
    CHECK_MSG(good, "%s", wick_context_error(ctx));
    for (int i = 0; i < ROUND_ROWS; i++) sum += ((double)y[i] - (double)as[i]) * ((double)y[i] - (double)as[i]);
    wick_quantizer_free(&q);
    return sum;
}
TEST(adaround_is_near_the_best_of_all_roundings) {
    REQUIRE(set_up() && adopt("v", ROUND_K, 1, round_w));
    const wick_quantizer_options o = {.block = 16, .rounding = WICK_ROUND_ADAROUND};
    const double nearest = squares_of(&(wick_quantizer_options){.block = 16, .rounding = WICK_ROUND_NEAREST}, true),
                 blind = squares_of(&o, false), best = squares_of(&o, true);
    CHECK_MSG(fabs(nearest / round_nearest - 1) < 1e-3, "%g for %g", nearest, round_nearest);
    CHECK_MSG(nearest == blind, "%g without observations", blind);
    CHECK_MSG(best >= round_least * 0.999 && nearest - best > 0.7 * (nearest - round_least),
              "%g; %g of nearest, %g at least", best, nearest, round_least);
    tear_down();
}
/* The sum that it makes least, of |what rounding changes|^0.7. */
TEST(hqq_fits_most_weights_better_and_awq_never_loses) {
    enum { K = 64, B = 32 };
    float w[K], err[2] = {0};
    REQUIRE(set_up());
    for (int i = 0; i < K; i++) w[i] = (float)(test_rand_real(-1, 1) * test_rand_real(0, 1));
    for (int i = 0; i < 2; i++) {
        wick_quantizer *q = NULL;
        const wick_spec spec = rows_of(K, K);
        float unit[K * K] = {0}, got[K];
        for (int k = 0; k < K; k++) unit[k * K + k] = 1;
        if (!i) REQUIRE(adopt("v", K, 1, w));
        const wick_quantizer_options o = {.block = 16, .rounding = i ? WICK_ROUND_HQQ : WICK_ROUND_NEAREST};
        REQUIRE(wick_quantizer_new(ctx, model, one_column, NULL, 1, &spec, 1, &o, &q) == WICK_OK);
        CHECK(wick_quantizer_finish(q) == WICK_OK && run_function(wick_quantizer_apply, q, &spec, unit, got));
        for (int k = 0; k < K; k++) err[i] += powf(fabsf(w[k] - got[k]), 0.7f);
        wick_quantizer_free(&q);
    }
    CHECK_MSG(err[1] < err[0] * 0.99f, "%g, %g", (double)err[0], (double)err[1]);
    tear_down();
    /* what one channel takes is a hundred times as large */
    double error[2] = {0};
    REQUIRE(set_up());
    wick_model *m = model;
    float x[B * 16];
    static float a[16 * 32], b[32 * 8];
    for (int i = 0; i < 16 * 32; i++) a[i] = (float)test_rand_real(-1, 1) * (i % 32 == 5 ? 50 : 1);
    for (int i = 0; i < 32 * 8; i++) b[i] = (float)test_rand_real(-1, 1) * (i / 8 % 16 == 9 ? 4 : 1);
    for (int i = 0; i < B * 16; i++) x[i] = (float)test_rand_real(-1, 1);
    const float zeros[32] = {0};
    CHECK(m && adopt("w0", 16, 32, a) && adopt("b0", 0, 32, zeros) && adopt("w1", 32, 8, b) &&
          adopt("b1", 0, 8, zeros) && adopt("w2", 8, 8, b) && adopt("b2", 0, 8, zeros));
    for (int awq = 0; awq < 2; awq++) {
        wick_quantizer *q = NULL;
        float y[B * 8], as[B * 8];
        const int relu = 0;
        const wick_spec spec = rows_of(B, 16);
        const wick_quantizer_options o = {.block = 32, .rounding = WICK_ROUND_NEAREST, .awq = awq, .keep = "w0|w2"};
        REQUIRE(wick_quantizer_new(ctx, model, three_layers, (void *)&relu, 1, &spec, 1, &o, &q) == WICK_OK);
        CHECK(wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
        CHECK(run_function(three_layers, (void *)&relu, &spec, x, y) &&
              run_function(wick_quantizer_apply, q, &spec, x, as));
        for (int i = 0; i < B * 8; i++) error[awq] += ((double)y[i] - (double)as[i]) * ((double)y[i] - (double)as[i]);
        wick_quantizer_free(&q);
    }
    CHECK_MSG(error[1] < error[0] * 0.7, "%g, with awq %g", error[0], error[1]);
    tear_down();
}

/* ---- learned steps ----------------------------------------------------------------------------------------------- */

enum { LB = 8, LK = 12, LN = 3 };
static float pull[LB * LN]; /* the loss is the sum of results times these */
typedef struct lesson {
    wick_quantizer *q;
    wick_optimizer *optimizer;
} lesson;
static wick_status learn(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    const lesson *l = user;
    wick_tensor *y;
    const wick_status status = wick_quantizer_apply_trained(c, in, &y, l->q);
    if (status != WICK_OK) return status;
    out[0] = wick_sum(wick_mul(y, in[1]), WICK_ALL_AXES, false);
    return wick_optimizer_step(l->optimizer, out[0]);
}
static void state_of(wick_model *m, const char *name, float *to, size_t n) {
    const void *data = NULL;
    CHECK_MSG(wick_data(wick_model_find(m, name), &data) == WICK_OK && data, "%s", name);
    if (data) memcpy(to, data, n * sizeof *to);
}
/* One step of gradient descent at rate 1 against Esser et al. 2020, eq. 3 and section 2.2, in doubles. Some of what is
 * learned from lies outside of the range that was observed. */
TEST(gradients_of_learned_steps_are_those_of_the_paper_and_integers_have_them) {
    float x[LB * LK], w[LK * LN], step[LN], after[LN], in_step, in_after, y[LB * LN], as[LB * LN], loss;
    const wick_spec specs[2] = {rows_of(LB, LK), rows_of(LB, LN)};
    wick_quantizer *q = NULL;
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    for (int i = 0; i < LK * LN; i++) w[i] = (float)test_rand_real(-1, 1);
    for (int i = 0; i < LB * LN; i++) pull[i] = (float)test_rand_real(-0.0005, 0.0005);
    for (int i = 0; i < LB * LK; i++) x[i] = (float)test_rand_real(-1, 2);
    REQUIRE(set_up() && adopt("v", LK, LN, w));
    REQUIRE(wick_quantizer_new(ctx, model, one_column, NULL, 1, specs, 1,
                               &(wick_quantizer_options){.learn_steps = true, .calibration = WICK_CALIBRATE_MINMAX},
                               &q) == WICK_OK);
    CHECK(wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
    REQUIRE(wick_quantizer_start_training(q) == WICK_OK);
    for (int i = 0; i < LB * LK; i++) x[i] *= 1.2f;
    lesson l = {.q = q};
    wick_model *m = wick_quantizer_trained(q);
    state_of(m, "v_step", step, LN), state_of(m, "v_input_step", &in_step, 1);
    for (int n = 0; n < LN; n++) step[n] *= 0.8f; /* so that some weights are clearly outside of their range */
    CHECK(wick_write(wick_model_find(m, "v_step"), step, sizeof step) == WICK_OK);
    REQUIRE(wick_optimizer_new(m, &(wick_optim_options){.kind = WICK_SGD, .lr = 1}, &l.optimizer) == WICK_OK);
    REQUIRE(wick_compile(ctx, learn, &l, 2, specs, 1, NULL, &plan) == WICK_OK &&
            wick_workspace_new(plan, &ws) == WICK_OK);
    const float low = wick_quantizer_layer_at(q, 0).low;
    const double sx = (double)in_step, zero = rint(-(double)low / sx);
    CHECK(wick_run(ws, (const void *[]){x, pull}, (void *[]){&loss}) == WICK_OK);
    state_of(m, "v_step", after, LN), state_of(m, "v_input_step", &in_after, 1);
    double want_in = 0, want[LN] = {0};
    int outside = 0;
    for (int b = 0; b < LB; b++)
        for (int k = 0; k < LK; k++) {
            const double r = (double)x[b * LK + k] / sx, held = fmin(fmax(rint(r), -zero), 255 - zero);
            const bool inside = r > -zero && r < 255 - zero;
            outside += !inside;
            for (int n = 0; n < LN; n++) {
                const double s = (double)step[n], t = (double)w[k * LN + n] / s, p = (double)pull[b * LN + n];
                want_in += p * s * fmin(fmax(rint(t), -127), 127) * (inside ? held - r : held);
                want[n] += p * sx * held * (fmin(fmax(rint(t), -127), 127) - (fabs(t) < 127 ? t : 0));
            }
        }
    CHECK(outside > 3 && outside < LB * LK / 2);
    want_in /= sqrt(LK * (255 - zero));
    CHECK_MSG(fabs((double)in_step - (double)in_after - want_in) < 1e-4 * fabs(want_in) + 1e-7, "%g, not %g",
              (double)in_step - (double)in_after, want_in);
    for (int n = 0; n < LN; n++) {
        const double got = (double)step[n] - (double)after[n];
        want[n] /= sqrt(LK * 127.0);
        CHECK_MSG(fabs(got - want[n]) < 1e-3 * fabs(want[n]) + 1e-7, "channel %d: %g, not %g", n, got, want[n]);
    }
    REQUIRE(wick_quantizer_finish(q) == WICK_OK);
    state_of(wick_quantizer_model(q), "v_scale", step, LN);
    CHECK(memcmp(step, after, sizeof step) == 0);
    CHECK(run_function(wick_quantizer_apply_trained, q, specs, x, y) &&
          run_function(wick_quantizer_apply, q, specs, x, as));
    CHECK_MSG(most_apart(y, as, LB * LN) < 1e-5, "%g", most_apart(y, as, LB * LN));
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_optimizer_free(&l.optimizer);
    wick_quantizer_free(&q);
    tear_down();
}

TEST(options_that_do_not_go_together_are_refused) {
    REQUIRE(set_up() && adopt("v", ROUND_K, 1, round_w));
    const wick_spec spec = rows_of(ROUND_ROWS, ROUND_K);
    static const wick_quantizer_options bad[] = {{.weights_only = (wick_weights_only)3},
                                                 {.weights_only = WICK_WEIGHTS_I8, .block = 1},
                                                 {.weights_only = WICK_WEIGHTS_F8, .block = -8},
                                                 {.smooth = 1.5},
                                                 {.smooth = 0.5, .block = 32},
                                                 {.awq = true},
                                                 {.learn_steps = true, .per_tensor = true},
                                                 {.rounding = WICK_ROUND_HQQ},
                                                 {.rounding = WICK_ROUND_HQQ, .weight_bits = 4},
                                                 {.rounding = WICK_ROUND_NEAREST, .weight_bits = 7},
                                                 {.rounding = (wick_weight_rounding)9, .block = 32}};
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        wick_quantizer *q = NULL;
        CHECK_MSG(wick_quantizer_new(ctx, model, one_column, NULL, 1, &spec, 1, &bad[i], &q) == WICK_ERR_INVALID && !q,
                  "options %d", i);
    }
    CHECK(wick_quantizer_smooth(NULL) == WICK_ERR_INVALID);
    tear_down();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
