/* Post-training quantisation: what becomes integers, how near it is, and that the same network comes out for other
 * batches, in ONNX, and in any number of threads. */
#include <unistd.h>

#include "base/base.h"
#include "base/counting_alloc.h"
#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static wick_model *model;

/* [n, 3, 12, 12] -> [n, 5]: a stem, a residual block, joined branches, a mean and a linear layer. */
static wick_status network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *x = in[0];
    x = wick_relu(
        wick_nn_batch_norm(model, "bn1", wick_nn_conv(model, "conv1", x, 8, 3, &(wick_nn_conv_options){.pad = 1})));
    wick_tensor *y = wick_relu(
        wick_nn_batch_norm(model, "bn2", wick_nn_conv(model, "conv2", x, 8, 3, &(wick_nn_conv_options){.pad = 1})));
    y = wick_nn_conv(model, "conv3", y, 8, 1, NULL);
    x = wick_relu(wick_add(x, y));
    x = wick_max_pool(x, &(wick_pool_options){.kernel = {2, 2}});
    wick_tensor *a = wick_relu6(wick_nn_conv(model, "a", x, 4, 3, NULL)), *b = wick_nn_conv(model, "b", x, 4, 3, NULL);
    x = wick_concat(2, (wick_tensor *[]){a, b}, 1);
    x = wick_mean(x, WICK_AXES(2, 3), false);
    out[0] = wick_nn_linear(model, "fc", x, 5);
    return WICK_OK;
}

static bool set_up(int threads) {
    if (wick_context_new(&(wick_context_options){.threads = threads, .seed = 7}, &ctx) != WICK_OK ||
        wick_model_new(ctx, &model) != WICK_OK)
        return false;
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *x = wick_random_normal(ctx, WICK_F32, WICK_DIMS(32, 3, 12, 12));
    wick_model_set_training(model, true); /* so that batch norms have statistics */
    bool good = network(ctx, &x, &y, NULL) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK;
    wick_scope_close(&scope);
    wick_model_set_training(model, false);
    return good;
}
static void tear_down(void) {
    wick_model_free(&model);
    wick_context_free(&ctx);
}

enum { MOST = 64 * 3 * 12 * 12 };
static float x[MOST];
static void draw(int64_t n) {
    for (int64_t i = 0; i < n * 3 * 12 * 12; i++) x[i] = (float)(test_rand_real(-2, 2) * test_rand_real(0, 1));
}
static wick_spec spec_of(int64_t n) {
    return (wick_spec){.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {n, 3, 12, 12}};
}

static bool run_plan(wick_plan *plan, const void *in, void *out) {
    wick_workspace *ws = NULL;
    const bool good = plan && wick_workspace_new(plan, &ws) == WICK_OK && wick_run(ws, &in, &out) == WICK_OK;
    wick_workspace_free(&ws);
    return good;
}
static bool run_function(wick_function fn, void *user, int64_t n, const wick_compile_options *o, float *out) {
    wick_plan *plan = NULL;
    const wick_spec spec = spec_of(n);
    const bool good = wick_compile(ctx, fn, user, 1, &spec, 1, o, &plan) == WICK_OK && run_plan(plan, x, out);
    if (!good) printf("  %s\n", wick_context_error(ctx));
    wick_plan_free(&plan);
    return good;
}
static wick_quantizer *quantizer(const wick_quantizer_options *o) {
    wick_quantizer *q = NULL;
    const wick_spec spec = spec_of(16);
    bool good = wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, o, &q) == WICK_OK;
    for (int i = 0; good && i < 8; i++) {
        draw(16);
        good = wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK;
    }
    good = good && wick_quantizer_finish(q) == WICK_OK;
    CHECK_MSG(good, "%s", wick_context_error(ctx));
    return q;
}
/* 10 log10 of the mean square of a over that of a - b. */
static double sqnr(const float *a, const float *b, int n) {
    double signal = 0, noise = 0;
    for (int i = 0; i < n; i++)
        signal += (double)a[i] * (double)a[i], noise += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return 10 * log10(signal / noise);
}

TEST(integers_are_near_the_floats_for_any_batch_and_calibration) {
    REQUIRE(set_up(2));
    static const double least[] = {30, 30, 30, 25, 30};
    for (int how = WICK_CALIBRATE_MINMAX; how <= WICK_CALIBRATE_MSE; how++)
        for (int each = 0; each < 2; each++) {
            wick_quantizer *q =
                quantizer(&(wick_quantizer_options){.calibration = (wick_calibration)how, .per_tensor = each});
            float want[64 * 5], got[64 * 5], plain[64 * 5];
            for (int64_t n = 1; n <= 64 && q; n *= 8) {
                draw(n);
                CHECK(run_function(network, NULL, n, NULL, want) &&
                      run_function(wick_quantizer_apply, q, n, NULL, got));
                CHECK(run_function(wick_quantizer_apply, q, n, &(wick_compile_options){.no_passes = true}, plain));
                const double db = sqnr(want, got, (int)n * 5);
                CHECK_MSG(n == 1 || db > least[how], "calibration %d, %lld images: %g dB", how, (long long)n, db);
                CHECK_MSG(sqnr(plain, got, (int)n * 5) > db, "%g", sqnr(plain, got, (int)n * 5));
            }
            wick_quantizer_free(&q);
        }
    tear_down();
}

/* In two groups, of what has another mean in each channel. */
static wick_status grouped(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] =
        wick_conv(in[0], wick_model_find(model, "w"), wick_model_find(model, "b"), &(wick_conv_options){.groups = 2});
    return WICK_OK;
}
static wick_status whole(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_conv(in[0], wick_model_find(model, "w"), wick_model_find(model, "b"), NULL);
    return WICK_OK;
}
static void draw_grouped(void) {
    for (int i = 0; i < 16 * 4 * 36; i++) x[i] = (float)(i / 36 % 4) + (float)test_rand_real(0, 1);
}
/* By the formula of Nagel et al. 2019, section 4.2, from what the quantizer made of the weights. */
TEST(corrected_biases_give_the_mean_that_rounding_of_weights_took) {
    enum { CO = 6, CI = 2, TAPS = 4, IMAGES = 16, OUT = IMAGES * CO * 25 };
    REQUIRE(set_up(1));
    float w[CO * CI * TAPS], b[CO], means[4] = {0}, want[OUT], got[2][OUT];
    for (int i = 0; i < CO * CI * TAPS; i++) w[i] = (float)(test_rand_real(-1, 1) * (i < 8 ? 8 : 0.2));
    for (int i = 0; i < CO; i++) b[i] = (float)test_rand_real(-1, 1);
    wick_tensor *weights = wick_from(ctx, WICK_F32, WICK_DIMS(CO, CI, 2, 2), w);
    CHECK(wick_model_adopt(model, "w", WICK_ROLE_PARAM, weights) == WICK_OK);
    CHECK(wick_model_adopt(model, "b", WICK_ROLE_PARAM, wick_from(ctx, WICK_F32, WICK_DIMS(CO), b)) == WICK_OK);
    const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {IMAGES, 4, 6, 6}};
    for (int corrects = 0; corrects < 2; corrects++) {
        wick_quantizer *q = NULL;
        wick_plan *plan = NULL;
        draw_grouped();
        const wick_quantizer_options options = {.per_tensor = true, .reduce_range = true, .correct_bias = corrects};
        REQUIRE(wick_quantizer_new(ctx, model, grouped, NULL, 1, &spec, 1, &options, &q) == WICK_OK);
        CHECK(wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
        for (int c = 0; c < 4; c++) means[c] = 0;
        for (int i = 0; i < IMAGES * 4 * 36; i++) means[i / 36 % 4] += x[i] / (IMAGES * 36);
        const void *bytes, *scale, *bias, *unit;
        CHECK(wick_data(wick_model_find(wick_quantizer_model(q), "w"), &bytes) == WICK_OK &&
              wick_data(wick_model_find(wick_quantizer_model(q), "w_scale"), &scale) == WICK_OK &&
              wick_data(wick_model_find(wick_quantizer_model(q), "b"), &bias) == WICK_OK &&
              wick_data(wick_model_find(wick_quantizer_model(q), "b_scale"), &unit) == WICK_OK);
        for (int o = 0; o < CO; o++) {
            double expected = (double)b[o];
            for (int j = 0; corrects && j < CI * TAPS; j++)
                expected += ((double)w[o * CI * TAPS + j] -
                             ((const int8_t *)bytes)[o * CI * TAPS + j] * (double)((const float *)scale)[o]) *
                            (double)means[o / 3 * CI + j / TAPS];
            const double of_unit = (double)((const float *)unit)[o];
            CHECK_MSG(fabs(((const int32_t *)bias)[o] * of_unit - expected) <= 0.51 * of_unit + 1e-6, "bias %d", o);
        }
        CHECK(wick_compile(ctx, grouped, NULL, 1, &spec, 1, NULL, &plan) == WICK_OK && run_plan(plan, x, want));
        wick_plan_free(&plan);
        CHECK(wick_compile(ctx, wick_quantizer_apply, q, 1, &spec, 1, NULL, &plan) == WICK_OK &&
              run_plan(plan, x, got[corrects]));
        wick_plan_free(&plan);
        wick_quantizer_free(&q);
    }
    double off[2] = {0};
    for (int k = 0; k < 2; k++)
        for (int o = 0; o < CO; o++) {
            double mean = 0;
            for (int i = 0; i < OUT; i++) /* both were run on other numbers than want's last: of one distribution */
                mean += i / 25 % CO == o ? ((double)got[k][i] - (double)want[i]) / (IMAGES * 25) : 0;
            off[k] += fabs(mean);
        }
    CHECK_MSG(off[1] < off[0] / 2, "%g, %g", off[0], off[1]);
    tear_down();
}

TEST(all_products_are_integers) {
    REQUIRE(set_up(1));
    wick_quantizer *q = quantizer(NULL);
    wick_plan *plan = NULL;
    const wick_spec spec = spec_of(4);
    REQUIRE(wick_compile(ctx, wick_quantizer_apply, q, 1, &spec, 1, NULL, &plan) == WICK_OK);
    static char text[1 << 16];
    wick_plan_format(plan, text, sizeof text);
    int integers = 0;
    for (const char *s = text; (s = strstr(s, "int8")); s++) integers++;
    CHECK_MSG(integers >= 6, "%s", text);
    CHECK_INT(wick_quantizer_layers(q), 6);
    for (int i = 0; i < 6; i++) {
        static const char *const names[] = {"conv1.weight", "conv2.weight", "conv3.weight",
                                            "a.weight",     "b.weight",     "fc.weight"};
        const wick_quantizer_layer l = wick_quantizer_layer_at(q, i);
        CHECK_MSG(strcmp(l.name, names[i]) == 0, "%s", l.name);
        CHECK(!l.kept && l.weight_sqnr > 30 && l.low <= 0 && l.high > 0);
    }
    wick_plan_free(&plan);
    wick_quantizer_free(&q);
    tear_down();
}

/* The bytes of all states of the quantizer's model, one behind the other. */
static size_t states(wick_quantizer *q, char *to, size_t room) {
    size_t n = 0;
    for (int i = 0; i < wick_model_count(wick_quantizer_model(q)); i++) {
        const wick_named s = wick_model_at(wick_quantizer_model(q), i);
        const void *data;
        const size_t bytes = wick_dtype_bytes(wick_tensor_dtype(s.tensor), wick_tensor_count(s.tensor));
        CHECK(n + bytes <= room && wick_data(s.tensor, &data) == WICK_OK);
        memcpy(to + n, data, bytes);
        n += bytes;
    }
    return n;
}

TEST(the_order_of_batches_and_the_number_of_threads_change_no_bit) {
    static char first[1 << 16], now[1 << 16];
    static float all[8][16 * 3 * 12 * 12], y[2][16 * 5];
    size_t size = 0;
    for (int b = 0; b < 8; b++) {
        draw(16);
        memcpy(all[b], x, sizeof all[b]);
    }
    for (int way = 0; way < 3; way++) {
        REQUIRE(set_up(way == 2 ? 3 : 1));
        for (int how = WICK_CALIBRATE_PERCENTILE; how <= WICK_CALIBRATE_MSE; how++) {
            const wick_spec spec = spec_of(16);
            wick_quantizer *q = NULL;
            REQUIRE(wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1,
                                       &(wick_quantizer_options){.calibration = (wick_calibration)how}, &q) == WICK_OK);
            for (int b = 0; b < 8; b++)
                CHECK(wick_quantizer_observe(q, (const void *[]){all[way == 1 ? 7 - b : b]}) == WICK_OK);
            REQUIRE(wick_quantizer_finish(q) == WICK_OK);
            const size_t n = states(q, now, sizeof now);
            if (how == WICK_CALIBRATE_MSE) {
                memcpy(x, all[0], sizeof all[0]);
                CHECK(run_function(wick_quantizer_apply, q, 16, NULL, y[way > 0]));
                if (!way) memcpy(first, now, size = n);
                CHECK(n == size && memcmp(first, now, n) == 0 && (!way || memcmp(y[0], y[1], sizeof y[0]) == 0));
            }
            wick_quantizer_free(&q);
        }
        tear_down();
    }
}

TEST(layers_can_stay_in_floats) {
    REQUIRE(set_up(1));
    static float want[16 * 5], got[16 * 5], all[16 * 5];
    wick_quantizer *q = quantizer(&(wick_quantizer_options){.keep = "*.weight"});
    draw(16);
    CHECK(run_function(network, NULL, 16, NULL, want) && run_function(wick_quantizer_apply, q, 16, NULL, got));
    CHECK(memcmp(want, got, sizeof want) == 0); /* nothing is left to be quantised */
    CHECK(wick_quantizer_layer_at(q, 0).kept && isnan(wick_quantizer_layer_at(q, 0).weight_sqnr));
    /* one after the other becomes integers, and the weights of the others stay states */
    for (int i = 0; i < wick_quantizer_layers(q); i++) {
        const wick_quantizer_layer l = wick_quantizer_layer_at(q, i);
        wick_quantizer_keep(q, i, false);
        CHECK(wick_quantizer_apply(ctx, NULL, NULL, q) == WICK_ERR_INVALID); /* before it is finished */
        REQUIRE(wick_quantizer_finish(q) == WICK_OK);
        CHECK(run_function(wick_quantizer_apply, q, 16, NULL, got));
        CHECK_MSG(sqnr(want, got, 16 * 5) > 30, "%s: %g dB", l.name, sqnr(want, got, 16 * 5));
        wick_tensor *w = wick_model_find(wick_quantizer_model(q), "fc.weight");
        CHECK(w && wick_tensor_dtype(w) == (i == 5 ? WICK_I8 : WICK_F32));
    }
    wick_quantizer_free(&q);
    q = quantizer(NULL);
    CHECK(run_function(wick_quantizer_apply, q, 16, NULL, all) && memcmp(got, all, 0) == 0);
    wick_quantizer_free(&q);
    const wick_spec spec = spec_of(4);
    CHECK(wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, &(wick_quantizer_options){.keep = "head*"}, &q) ==
          WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "no layer's name matches \"head*\"; the first is conv1.weight");
    tear_down();
}

TEST(onnx_has_the_same_numbers) {
    REQUIRE(set_up(1));
    static float want[4 * 5], got[4 * 5];
    char path[] = "/tmp/wick-quantizer-XXXXXX.onnx";
    const int fd = mkstemps(path, 5);
    REQUIRE(fd >= 0);
    close(fd);
    wick_quantizer *q = quantizer(NULL);
    wick_spec spec = spec_of(4);
    draw(4);
    CHECK(run_function(wick_quantizer_apply, q, 4, NULL, want));
    const wick_onnx_save_options o = {.n_symbols = 1, .symbols = &(wick_onnx_symbol){"N", 0, 0}};
    const wick_status saved = wick_onnx_save(wick_quantizer_model(q), wick_quantizer_apply, q, 1, &spec, 1, path, &o);
    CHECK_MSG(saved == WICK_OK, "%s", wick_context_error(ctx));
    wick_onnx *onnx = NULL;
    wick_plan *plan = NULL;
    CHECK(wick_onnx_open(ctx, path, NULL, &onnx) == WICK_OK);
    CHECK(onnx && wick_onnx_compile(onnx, &spec, NULL, &plan) == WICK_OK && run_plan(plan, x, got));
    CHECK_MSG(memcmp(want, got, sizeof want) == 0, "%g dB", sqnr(want, got, 4 * 5));
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_quantizer_free(&q);
    unlink(path);
    tear_down();
}

/* Few bits: the integers and their scales, by hand and by what is left of weights; states of 4 bits; the same numbers
 * in ONNX. */
TEST(weights_of_few_bits) {
    REQUIRE(set_up(1));
    static float want[4 * 5], got[4 * 5];
    double last = 0;
    for (int bits = 2; bits <= 8; bits++) {
        wick_quantizer *q = quantizer(&(wick_quantizer_options){.weight_bits = bits, .wide = "fc*"});
        wick_model *m = wick_quantizer_model(q);
        wick_tensor *w = wick_model_find(m, "conv2.weight"), *fc = wick_model_find(m, "fc.weight");
        REQUIRE(w && fc && wick_tensor_dtype(fc) == WICK_I8);
        CHECK_INT(wick_tensor_dtype(w), bits > 4 ? WICK_I8 : WICK_I4);
        const void *data;
        int64_t far = 0;
        const int64_t most = (1 << (bits - 1)) - 1;
        CHECK(wick_data(bits > 4 ? w : wick_cast(w, WICK_I8), &data) == WICK_OK);
        for (int64_t i = 0; i < wick_tensor_count(w); i++)
            far = WICK_MAX(far, llabs((int64_t)((const int8_t *)data)[i]));
        CHECK_INT(far, most);
        const double db = wick_quantizer_layer_at(q, 1).weight_sqnr;
        CHECK_MSG(db > last + 4, "%d bits: %g dB after %g", bits, db, last);
        last = db;
        char path[] = "/tmp/wick-quantizer-XXXXXX.onnx";
        const int fd = mkstemps(path, 5);
        REQUIRE(fd >= 0);
        close(fd);
        const wick_spec spec = spec_of(4);
        const wick_onnx_save_options o = {.opset = 21};
        wick_onnx *onnx = NULL;
        wick_plan *plan = NULL;
        draw(4);
        CHECK(run_function(wick_quantizer_apply, q, 4, NULL, want));
        CHECK_MSG(wick_onnx_save(m, wick_quantizer_apply, q, 1, &spec, 1, path, &o) == WICK_OK &&
                      wick_onnx_open(ctx, path, NULL, &onnx) == WICK_OK,
                  "%s", wick_context_error(ctx));
        CHECK(onnx && wick_onnx_compile(onnx, &spec, NULL, &plan) == WICK_OK && run_plan(plan, x, got));
        CHECK_MSG(memcmp(want, got, sizeof want) == 0, "%d bits: %g dB", bits, sqnr(want, got, 4 * 5));
        wick_plan_free(&plan);
        wick_onnx_free(&onnx);
        unlink(path);
        wick_quantizer_free(&q);
    }
    const wick_spec spec = spec_of(4);
    static const wick_quantizer_options wrong[] = {{.weight_bits = 1},
                                                   {.weight_bits = 9},
                                                   {.weight_bits = 4, .per_tensor = true},
                                                   {.weight_bits = 4, .block = 32}};
    for (size_t i = 0; i < WICK_COUNTOF(wrong); i++) {
        wick_quantizer *q;
        CHECK(wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, &wrong[i], &q) == WICK_ERR_INVALID);
        CHECK_STR_HAS(wick_context_error(ctx), "is from 2 to 8");
        wick_context_clear_error(ctx);
    }
    tear_down();
}

/* What the integers give is the exact sum, by i64 here: of the largest activations there are too. */
TEST(activations_of_16_bits_have_exact_sums) {
    enum { CO = 6, CI = 4, TAPS = 9, SIDE_ = 6, IN = CI * 36, OUT = CO * 16, N = 3 };
    REQUIRE(set_up(1));
    static float w[CO * CI * TAPS], b[CO], got[N * OUT];
    for (int i = 0; i < CO * CI * TAPS; i++) w[i] = (float)test_rand_real(-1, 1);
    for (int i = 0; i < CO; i++) b[i] = (float)test_rand_real(-1, 1);
    wick_tensor *weights = wick_from(ctx, WICK_F32, WICK_DIMS(CO, CI, 3, 3), w);
    CHECK(wick_model_adopt(model, "w", WICK_ROLE_PARAM, weights) == WICK_OK);
    CHECK(wick_model_adopt(model, "b", WICK_ROLE_PARAM, wick_from(ctx, WICK_F32, WICK_DIMS(CO), b)) == WICK_OK);
    const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {N, CI, SIDE_, SIDE_}};
    wick_quantizer *q = NULL;
    wick_plan *plan = NULL;
    for (int i = 0; i < N * IN; i++) x[i] = (float)(i % 7 ? test_rand_real(-3, 3) : i % 2 ? 3 : -3);
    REQUIRE(wick_quantizer_new(ctx, model, whole, NULL, 1, &spec, 1, &(wick_quantizer_options){.activation_bits = 16},
                               &q) == WICK_OK);
    CHECK(wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
    const void *bytes, *scale, *bias;
    wick_model *m = wick_quantizer_model(q);
    CHECK(wick_data(wick_model_find(m, "w"), &bytes) == WICK_OK &&
          wick_data(wick_model_find(m, "w_scale"), &scale) == WICK_OK &&
          wick_data(wick_model_find(m, "b"), &bias) == WICK_OK);
    CHECK(wick_compile(ctx, wick_quantizer_apply, q, 1, &spec, 1, NULL, &plan) == WICK_OK && run_plan(plan, x, got));
    const wick_quantizer_layer l = wick_quantizer_layer_at(q, 0);
    const float step = l.high / 32767;
    CHECK(l.low == -l.high && fabsf(l.high - 3) < 0.01F);
    int wrong = 0;
    for (int n = 0; n < N; n++)
        for (int o = 0; o < OUT; o++) {
            int64_t sum = 0;
            for (int j = 0; j < CI * TAPS; j++) {
                const int at = n * IN + j / TAPS * 36 + (o % 16 / 4 + j % TAPS / 3) * 6 + o % 4 + j % 3;
                sum += (int64_t)fmaxf(-32768, fminf(32767, rintf(x[at] / step))) *
                       ((const int8_t *)bytes)[o / 16 * CI * TAPS + j];
            }
            const float each = ((const float *)scale)[o / 16];
            const double want = (double)sum * ((double)step * (double)each) +
                                (double)((float)((const int32_t *)bias)[o / 16] * (step * each));
            wrong += got[n * OUT + o] != (float)want;
        }
    CHECK_INT(wrong, 0);
    static char text[1 << 16];
    wick_plan_format(plan, text, sizeof text);
    CHECK(strstr(text, "int8"));
    wick_plan_free(&plan);
    wick_quantizer_free(&q);
    CHECK(wick_quantizer_new(ctx, model, whole, NULL, 1, &spec, 1, &(wick_quantizer_options){.activation_bits = 12},
                             &q) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "is 8, or 16 with weights of 8");
    tear_down();
}
TEST(activations_of_16_bits_are_nearer_and_the_same_in_onnx) {
    REQUIRE(set_up(2));
    static float want[16 * 5], got[16 * 5], again[16 * 5];
    char path[] = "/tmp/wick-quantizer-XXXXXX.onnx";
    const int fd = mkstemps(path, 5);
    REQUIRE(fd >= 0);
    close(fd);
    wick_quantizer *eight = quantizer(NULL), *q = quantizer(&(wick_quantizer_options){.activation_bits = 16});
    draw(16);
    CHECK(run_function(network, NULL, 16, NULL, want) && run_function(wick_quantizer_apply, eight, 16, NULL, got) &&
          run_function(wick_quantizer_apply, q, 16, NULL, again));
    CHECK_MSG(sqnr(want, again, 80) > sqnr(want, got, 80) + 1, "%g dB, %g", sqnr(want, again, 80), sqnr(want, got, 80));
    const wick_spec spec = spec_of(16);
    wick_onnx_save_options o = {.opset = 20};
    CHECK(wick_onnx_save(wick_quantizer_model(q), wick_quantizer_apply, q, 1, &spec, 1, path, &o) ==
          WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "16 bits");
    o.opset = 21;
    wick_onnx *onnx = NULL;
    wick_plan *plan = NULL;
    CHECK_MSG(wick_onnx_save(wick_quantizer_model(q), wick_quantizer_apply, q, 1, &spec, 1, path, &o) == WICK_OK &&
                  wick_onnx_open(ctx, path, NULL, &onnx) == WICK_OK,
              "%s", wick_context_error(ctx));
    CHECK(onnx && wick_onnx_compile(onnx, &spec, NULL, &plan) == WICK_OK && run_plan(plan, x, got));
    CHECK_MSG(memcmp(again, got, sizeof got) == 0, "%g dB", sqnr(again, got, 80));
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    unlink(path);
    wick_quantizer_free(&eight);
    wick_quantizer_free(&q);
    tear_down();
}

static wick_status linear(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_nn_linear(model, "l", in[0], 5);
    return WICK_OK;
}
/* Weights of 4 bits alone: results are those of the weights that the blocks stand for, whatever K is. */
TEST(weights_of_4_bits_in_blocks) {
    for (int64_t k = 7; k < 200; k += 64) {
        REQUIRE(wick_context_new(&(wick_context_options){.seed = 3}, &ctx) == WICK_OK &&
                wick_model_new(ctx, &model) == WICK_OK);
        const wick_spec spec = {.dtype = WICK_F32, .rank = 2, .dims = {3, k}};
        wick_quantizer *q = NULL;
        wick_plan *plan = NULL;
        CHECK(wick_quantizer_new(ctx, model, linear, NULL, 1, &spec, 1, &(wick_quantizer_options){.block = 24}, &q) ==
              WICK_ERR_INVALID);
        REQUIRE(wick_quantizer_new(ctx, model, linear, NULL, 1, &spec, 1, &(wick_quantizer_options){.block = 32}, &q) ==
                WICK_OK);
        REQUIRE(wick_quantizer_finish(q) == WICK_OK); /* nothing is observed */
        CHECK(wick_quantizer_start_training(q) == WICK_ERR_UNSUPPORTED);
        CHECK_MSG(wick_quantizer_layer_at(q, 0).weight_sqnr > 18, "%g dB", wick_quantizer_layer_at(q, 0).weight_sqnr);
        wick_scope *scope = wick_scope_open(ctx);
        draw(3);
        wick_model *m = wick_quantizer_model(q);
        wick_tensor *w =
            wick_dequantize_blocks(wick_model_find(m, "l.weight"), wick_model_find(m, "l.weight_scale"), NULL, k);
        wick_tensor *want =
            wick_linear(wick_from(ctx, WICK_F32, WICK_DIMS(3, k), x), w, wick_model_find(model, "l.bias"));
        const void *data;
        float got[15];
        REQUIRE(wick_data(want, &data) == WICK_OK);
        CHECK(wick_compile(ctx, wick_quantizer_apply, q, 1, &spec, 1, NULL, &plan) == WICK_OK &&
              run_plan(plan, x, got));
        CHECK_MSG(sqnr(data, got, 15) > 100, "%g dB", sqnr(data, got, 15));
        wick_scope_close(&scope);
        wick_plan_free(&plan);
        wick_quantizer_free(&q);
        tear_down();
    }
}

/* Inputs that follow from fewer numbers, as those of real layers do: of what plain rounding loses of the results, most
 * is won back. */
static void draw_related(float *to, int64_t rows, int64_t k) {
    for (int64_t i = 0; i < rows; i++) {
        double z[12];
        for (int j = 0; j < 12; j++) z[j] = test_rand_real(-1, 1);
        for (int64_t j = 0; j < k; j++)
            to[i * k + j] = (float)(sin((double)(j + 1)) * z[j % 12] + cos((double)j) * z[j / 7 % 12] +
                                    0.05 * test_rand_real(-1, 1));
    }
}
TEST(what_is_observed_makes_up_for_rounding) {
    enum { R = 64, K = 150 };
    static float want[R * 5], got[2][R * 5], seen[8][R * K];
    REQUIRE(wick_context_new(&(wick_context_options){.seed = 3}, &ctx) == WICK_OK &&
            wick_model_new(ctx, &model) == WICK_OK);
    const wick_spec spec = {.dtype = WICK_F32, .rank = 2, .dims = {R, K}};
    for (int b = 0; b < 8; b++) draw_related(seen[b], R, K);
    draw_related(x, R, K);
    for (int way = 0; way < 3; way++) { /* floats, rounded, with observations */
        wick_quantizer *q = NULL;
        wick_plan *plan = NULL;
        REQUIRE(wick_quantizer_new(ctx, model, linear, NULL, 1, &spec, 1, &(wick_quantizer_options){.block = 32}, &q) ==
                WICK_OK);
        for (int b = 0; b < 8 && way == 2; b++) CHECK(wick_quantizer_observe(q, (const void *[]){seen[b]}) == WICK_OK);
        REQUIRE(wick_quantizer_finish(q) == WICK_OK);
        CHECK(wick_compile(ctx, way ? wick_quantizer_apply : linear, way ? q : NULL, 1, &spec, 1, NULL, &plan) ==
                  WICK_OK &&
              run_plan(plan, x, way ? got[way - 1] : want));
        wick_plan_free(&plan);
        wick_quantizer_free(&q);
    }
    CHECK_MSG(sqnr(want, got[1], R * 5) > sqnr(want, got[0], R * 5) + 5, "%g dB, then %g", sqnr(want, got[0], R * 5),
              sqnr(want, got[1], R * 5));
    /* NaN is refused, and inputs that are always 0 are none to go by */
    wick_quantizer *q = NULL;
    REQUIRE(wick_quantizer_new(ctx, model, linear, NULL, 1, &spec, 1, &(wick_quantizer_options){.block = 16}, &q) ==
            WICK_OK);
    memset(seen[0], 0, sizeof seen[0]);
    CHECK(wick_quantizer_observe(q, (const void *[]){seen[0]}) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
    CHECK(wick_quantizer_layer_at(q, 0).weight_sqnr > 18);
    seen[0][5] = NAN;
    CHECK(wick_quantizer_observe(q, (const void *[]){seen[0]}) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "NaN or Inf in what l.weight takes");
    wick_quantizer_free(&q);
    tear_down();
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static float w1[4] = {0.5f, -1, 0, 0}, b1[2] = {100000, 3};
static wick_status two_channels(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *w = wick_model_find(model, "w"), *b = wick_model_find(model, "b");
    (void)c;
    out[0] = wick_conv(in[0], w, b, NULL);
    return WICK_OK;
}
static wick_quantizer *small(const float *weights, const float *bias, const float *shown, int64_t n) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_quantizer *q = NULL;
    const wick_spec spec = {.dtype = WICK_F32, .rank = 3, .dims = {1, 2, n}};
    bool good = wick_model_adopt(model, "w", WICK_ROLE_PARAM, wick_from(ctx, WICK_F32, WICK_DIMS(2, 2, 1), weights)) ==
                    WICK_OK &&
                wick_model_adopt(model, "b", WICK_ROLE_PARAM, wick_from(ctx, WICK_F32, WICK_DIMS(2), bias)) == WICK_OK;
    wick_scope_close(&scope);
    good = good && wick_quantizer_new(ctx, model, two_channels, NULL, 1, &spec, 1, NULL, &q) == WICK_OK;
    if (good && shown &&
        (wick_quantizer_observe(q, (const void *[]){shown}) != WICK_OK || wick_quantizer_finish(q) != WICK_OK))
        printf("  %s\n", wick_context_error(ctx));
    return q;
}

/* By hand: input from -1 to 1.55, scale 0.01, zero 100; weights 0.5 and -1 are 64 and -127 of 1/127; a channel of zeros
 * has the other's scale; a bias of more than 2^30 units widens it. */
TEST(scales_and_integers_are_what_they_should_be) {
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK && wick_model_new(ctx, &model) == WICK_OK);
    const float shown[4] = {-1, 1.55f, 0.5f, 0};
    wick_quantizer *q = small(w1, (float[]){0.25f, 3}, shown, 2);
    REQUIRE(q != NULL);
    const void *data;
    wick_model *m = wick_quantizer_model(q);
    REQUIRE(m && wick_data(wick_model_find(m, "w"), &data) == WICK_OK);
    CHECK(memcmp(data, (int8_t[]){64, -127, 0, 0}, 4) == 0);
    REQUIRE(wick_data(wick_model_find(m, "w_scale"), &data) == WICK_OK);
    CHECK(((const float *)data)[0] == 1.0f / 127 && ((const float *)data)[1] == 1.0f / 127);
    const wick_quantizer_layer l = wick_quantizer_layer_at(q, 0);
    CHECK(l.low == -1 && l.high == 1.55f && strcmp(l.op, "conv") == 0 && l.weights == 4);
    const double unit = (double)((float)((1.55f - -1.0) / 255) * (1.0f / 127));
    REQUIRE(wick_data(wick_model_find(m, "b"), &data) == WICK_OK);
    CHECK_INT(((const int32_t *)data)[0], (int32_t)rint(0.25 / unit));
    CHECK_INT(((const int32_t *)data)[1], (int32_t)rint(3 / unit));
    wick_quantizer_free(&q);
    wick_model_free(&model);
    /* the largest bias there is still has 30 bits */
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK);
    q = small(w1, b1, shown, 2);
    REQUIRE(q && (m = wick_quantizer_model(q)) && wick_data(wick_model_find(m, "b"), &data) == WICK_OK);
    CHECK_MSG(((const int32_t *)data)[0] > 1 << 29 && ((const int32_t *)data)[0] <= (1 << 30) + 256, "%d",
              ((const int32_t *)data)[0]);
    wick_quantizer_free(&q);
    wick_model_free(&model);
    /* an activation that is always 0, and weights that are */
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK);
    const float zeros[4] = {0};
    q = small(zeros, (float[]){0.25f, 3}, zeros, 2);
    REQUIRE(q && (m = wick_quantizer_model(q)) && wick_data(wick_model_find(m, "w_scale"), &data) == WICK_OK);
    CHECK(((const float *)data)[0] > 0 && isfinite(((const float *)data)[0]));
    wick_quantizer_free(&q);
    tear_down();
}

TEST(nan_and_infinity_are_refused) {
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK && wick_model_new(ctx, &model) == WICK_OK);
    wick_quantizer *q = small(w1, b1, NULL, 2);
    REQUIRE(q != NULL);
    CHECK(wick_quantizer_finish(q) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "nothing was observed");
    for (int i = 0; i < 2; i++) {
        CHECK(wick_quantizer_observe(q, (const void *[]){(float[]){1, i ? NAN : INFINITY, 2, 3}}) == WICK_ERR_INVALID);
        CHECK_STR_HAS(wick_context_error(ctx), "NaN or Inf in what w takes");
    }
    CHECK(wick_quantizer_finish(q) == WICK_ERR_INVALID);
    wick_quantizer_free(&q);
    wick_model_free(&model);
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK);
    q = small((float[]){1, NAN, 0, 0}, b1, NULL, 2);
    REQUIRE(q && wick_quantizer_observe(q, (const void *[]){(float[]){1, 2, 3, 4}}) == WICK_OK);
    CHECK(wick_quantizer_finish(q) == WICK_ERR_INVALID && !wick_quantizer_model(q));
    CHECK_STR_HAS(wick_context_error(ctx), "weights w have NaN or Inf");
    wick_quantizer_free(&q);
    tear_down();
}

static wick_status with_dropout(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_nn_linear(model, "l", wick_dropout(in[0], 0.5), 3);
    return WICK_OK;
}
static wick_status without_layers(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_matmul(in[0], wick_transpose(in[0], 0, 1));
    return WICK_OK;
}
static wick_status already(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *s = wick_constant(c, WICK_F32, 0.5);
    out[0] = wick_nn_linear(model, "l", wick_dequantize(wick_quantize(in[0], s, NULL, 0, WICK_U8), s, NULL, 0), 3);
    return WICK_OK;
}
TEST(what_cannot_be_quantised_is_refused) {
    REQUIRE(set_up(1));
    const wick_spec image = spec_of(4), rows = {.dtype = WICK_F32, .rank = 2, .dims = {4, 6}};
    const struct {
        wick_function fn;
        const wick_spec *spec;
        wick_status status;
        const char *says;
    } wrong[] = {{network, &image, WICK_ERR_UNSUPPORTED, "record it in evaluation"},
                 {with_dropout, &rows, WICK_ERR_UNSUPPORTED, "draws random numbers (at "},
                 {without_layers, &rows, WICK_ERR_INVALID, "no convolution and no product of f32 with weights"},
                 {already, &rows, WICK_ERR_UNSUPPORTED, "quantised already"},
                 {NULL, &rows, WICK_ERR_INVALID, "needs a model, a function"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wick_quantizer *q = (wick_quantizer *)&q;
        wick_model_set_training(model, i == 0);
        CHECK_INT(wick_quantizer_new(ctx, model, wrong[i].fn, NULL, 1, wrong[i].spec, 1, NULL, &q), wrong[i].status);
        CHECK_STR_HAS(wick_context_error(ctx), wrong[i].says);
        CHECK(q == NULL);
        wick_context_clear_error(ctx);
    }
    wick_quantizer *q;
    CHECK(wick_quantizer_new(ctx, model, network, NULL, 1, &image, 1, &(wick_quantizer_options){.percentile = 20},
                             &q) == WICK_ERR_INVALID);
    CHECK(wick_quantizer_new(ctx, model, network, NULL, 1, &image, 1, &(wick_quantizer_options){.momentum = 1}, &q) ==
          WICK_ERR_INVALID);
    wick_quantizer_free(NULL);
    CHECK(wick_quantizer_layers(NULL) == 0 && !wick_quantizer_model(NULL) && !wick_quantizer_layer_at(NULL, 0).name);
    tear_down();
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct lesson {
    wick_quantizer *q;
    wick_optimizer *optimizer;
} lesson;
static wick_status learn(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    const lesson *l = user;
    wick_tensor *y;
    const wick_status status = wick_quantizer_apply_trained(ctx, in, &y, l->q);
    if (status != WICK_OK) return status;
    out[0] = wick_mse(y, in[1]);
    return wick_optimizer_step(l->optimizer, out[0]);
}
/* Of what 8 bits lose, training towards the floats' results wins back; what is trained is what integers then give. */
TEST(training_wins_back_what_rounding_loses) {
    REQUIRE(set_up(1));
    enum { B = 16 };
    static float want[B * 5], before[B * 5], trained[B * 5], after[B * 5], seen[B * 3 * 12 * 12];
    wick_quantizer *q = quantizer(&(wick_quantizer_options){.reduce_range = true, .per_tensor = true});
    const wick_spec in[2] = {spec_of(B), {.dtype = WICK_F32, .rank = 2, .dims = {B, 5}}};
    lesson l = {.q = q};
    CHECK(!wick_quantizer_trained(q) && wick_quantizer_apply_trained(ctx, NULL, NULL, q) == WICK_ERR_INVALID);
    draw(B);
    memcpy(seen, x, sizeof seen);
    CHECK(run_function(network, NULL, B, NULL, want) && run_function(wick_quantizer_apply, q, B, NULL, before));
    REQUIRE(wick_quantizer_start_training(q) == WICK_OK);
    CHECK(wick_quantizer_start_training(q) == WICK_ERR_INVALID);
    wick_model *m = wick_quantizer_trained(q);
    REQUIRE(m && wick_model_find(m, "conv1.weight") && wick_model_find(m, "conv1.bias") &&
            wick_model_find(m, "fc.bias"));
    CHECK(!wick_model_find(m, "bn1.weight")); /* is in the weights */
    /* as yet it gives what the integers give, but for rounding */
    CHECK(run_function(wick_quantizer_apply_trained, q, B, NULL, trained));
    CHECK_MSG(sqnr(before, trained, B * 5) > 45, "%g dB", sqnr(before, trained, B * 5));
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    REQUIRE(wick_optimizer_new(m, &(wick_optim_options){.kind = WICK_ADAM, .lr = 1e-4}, &l.optimizer) == WICK_OK);
    REQUIRE(wick_compile(ctx, learn, &l, 2, in, 1, NULL, &plan) == WICK_OK && wick_workspace_new(plan, &ws) == WICK_OK);
    float loss, first = 0;
    for (int step = 0; step < 400; step++) {
        CHECK(wick_run(ws, (const void *[]){seen, want}, (void *[]){&loss}) == WICK_OK);
        if (!step) first = loss;
    }
    CHECK_MSG(loss < first / 2, "%g, %g", (double)first, (double)loss);
    REQUIRE(wick_quantizer_finish(q) == WICK_OK);
    memcpy(x, seen, sizeof seen);
    CHECK(run_function(wick_quantizer_apply_trained, q, B, NULL, trained) &&
          run_function(wick_quantizer_apply, q, B, NULL, after));
    CHECK_MSG(sqnr(trained, after, B * 5) > 40, "%g dB", sqnr(trained, after, B * 5));
    CHECK_MSG(sqnr(want, after, B * 5) > sqnr(want, before, B * 5) + 2, "%g dB, then %g", sqnr(want, before, B * 5),
              sqnr(want, after, B * 5));
    /* what the source has is untouched */
    CHECK(run_function(network, NULL, B, NULL, trained) && memcmp(want, trained, sizeof want) == 0);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_optimizer_free(&l.optimizer);
    wick_quantizer_free(&q);
    tear_down();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static wick_status use_all(void) {
    wick_quantizer *q = NULL;
    wick_plan *plan = NULL;
    const wick_spec spec = spec_of(2);
    wick_status status = wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, NULL, &q);
    if (status == WICK_OK) status = wick_quantizer_observe(q, (const void *[]){x});
    if (status == WICK_OK) status = wick_quantizer_finish(q);
    if (status == WICK_OK) status = wick_quantizer_start_training(q);
    if (status == WICK_OK) status = wick_quantizer_finish(q);
    if (status == WICK_OK) status = wick_compile(ctx, wick_quantizer_apply, q, 1, &spec, 1, NULL, &plan);
    wick_plan_free(&plan);
    wick_quantizer_free(&q);
    return status;
}
TEST(running_out_of_memory_is_an_error_wherever_it_happens) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK &&
            wick_model_new(ctx, &model) == WICK_OK);
    wick_model_set_training(model, false);
    draw(2);
    CHECK(use_all() == WICK_OK); /* what the context itself keeps is made now */
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
