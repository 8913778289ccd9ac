/* Weights of few bits that are rounded by what their layers take. */
#include "test.h"
#include "wick/wick.h"

#include <math.h>
#include <stdlib.h>

static wick_context *ctx;
static wick_model *model;
static float x[16 * 4 * 36];

static wick_status grouped(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] =
        wick_conv(in[0], wick_model_find(model, "w"), wick_model_find(model, "b"), &(wick_conv_options){.groups = 2});
    return WICK_OK;
}

/* Weights of 4 bits by what a convolution of two groups takes: the error of its results over all that was seen is less
 * than half of that of rounding to nearest, and one step of any weight, up or down, doesn't lower it but by what
 * damping adds. H and the mean that the bias makes up for are summed here, place by place. */
enum { GR_CO = 6, GR_CI = 2, GR_K = GR_CI * 4, GR_IMAGES = 16, GR_PLACES = GR_IMAGES * 25 };
static void centred_gram(int part, double h[GR_K][GR_K]) {
    static double taken[GR_PLACES][GR_K];
    double mean[GR_K] = {0};
    for (int p = 0; p < GR_PLACES; p++)
        for (int k = 0; k < GR_K; k++) {
            const int channel = part * GR_CI + k / 4, row = p % 25 / 5 + k % 4 / 2, col = p % 5 + k % 2;
            taken[p][k] = (double)x[((p / 25 * 4 + channel) * 6 + row) * 6 + col];
            mean[k] += taken[p][k] / GR_PLACES;
        }
    for (int i = 0; i < GR_K; i++)
        for (int j = 0; j < GR_K; j++) {
            h[i][j] = 0;
            for (int p = 0; p < GR_PLACES; p++) h[i][j] += (taken[p][i] - mean[i]) * (taken[p][j] - mean[j]);
        }
}
static double of_square(double h[GR_K][GR_K], const double d[GR_K]) {
    double sum = 0;
    for (int i = 0; i < GR_K; i++)
        for (int j = 0; j < GR_K; j++) sum += d[i] * h[i][j] * d[j];
    return sum;
}
TEST(few_bits_are_rounded_by_what_a_convolution_takes) {
    REQUIRE(wick_context_new(&(wick_context_options){.seed = 7}, &ctx) == WICK_OK &&
            wick_model_new(ctx, &model) == WICK_OK);
    float w[GR_CO * GR_K], b[GR_CO];
    double total[2] = {0};
    for (int i = 0; i < GR_CO * GR_K; i++) w[i] = (float)test_rand_real(-1, 1);
    for (int i = 0; i < GR_CO; i++) b[i] = (float)test_rand_real(-1, 1);
    wick_tensor *weights = wick_from(ctx, WICK_F32, WICK_DIMS(GR_CO, GR_CI, 2, 2), w);
    CHECK(wick_model_adopt(model, "w", WICK_ROLE_PARAM, weights) == WICK_OK);
    CHECK(wick_model_adopt(model, "b", WICK_ROLE_PARAM, wick_from(ctx, WICK_F32, WICK_DIMS(GR_CO), b)) == WICK_OK);
    const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {GR_IMAGES, 4, 6, 6}};
    for (int i = 0; i < GR_IMAGES * 4 * 36; i++) x[i] = (float)(i / 36 % 4) + (float)test_rand_real(0, 1);
    for (int i = 0; i < GR_IMAGES * 4 * 36; i++) /* what lies beside each other is alike */
        if (i % 6) x[i] = 0.8f * x[i - 1] + 0.2f * x[i];
    for (int way = 0; way < 2; way++) {
        wick_quantizer *q = NULL;
        const wick_quantizer_options options = {
            .weight_bits = 4, .wide = "", .correct_bias = true, .rounding = way ? WICK_ROUND_GPTQ : WICK_ROUND_NEAREST};
        REQUIRE(wick_quantizer_new(ctx, model, grouped, NULL, 1, &spec, 1, &options, &q) == WICK_OK);
        CHECK(wick_quantizer_observe(q, (const void *[]){x}) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
        const void *held, *scale;
        CHECK(wick_data(wick_cast(wick_model_find(wick_quantizer_model(q), "w"), WICK_I8), &held) == WICK_OK &&
              wick_data(wick_model_find(wick_quantizer_model(q), "w_scale"), &scale) == WICK_OK);
        for (int c = 0; c < GR_CO; c++) {
            double h[GR_K][GR_K], d[GR_K], damping = 0;
            const double s = (double)((const float *)scale)[c];
            centred_gram(c / 3, h);
            for (int k = 0; k < GR_K; k++) damping += 0.001 * h[k][k] / GR_K;
            for (int k = 0; k < GR_K; k++) d[k] = (double)w[c * GR_K + k] - s * ((const int8_t *)held)[c * GR_K + k];
            const double error = of_square(h, d);
            total[way] += error;
            for (int k = 0; way && k < 2 * GR_K; k++) {
                const double by = k % 2 ? s : -s, was = d[k / 2];
                if (abs(((const int8_t *)held)[c * GR_K + k / 2] - (k % 2 ? 1 : -1)) > 7) continue;
                d[k / 2] += by;
                const double other = of_square(h, d);
                CHECK_MSG(other >= error - 1.01 * damping * fabs(by * by + 2 * by * was) - 1e-4 * error,
                          "channel %d, weight %d: %g, then %g", c, k / 2, error, other);
                d[k / 2] = was;
            }
        }
        wick_quantizer_free(&q);
    }
    CHECK_MSG(total[1] < total[0] / 2, "%g to nearest, then %g", total[0], total[1]);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
