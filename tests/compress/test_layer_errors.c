/* Layers before and after: what is summed is what the layers' results and their differences are in f64. */
#include "test.h"
#include "wick/wick.h"

enum { BATCH = 4, IN = 5, HIDDEN = 6, OUT = 3, BATCHES = 2 };
static wick_context *ctx;
static wick_model *models[2];
static const wick_spec spec = {.dtype = WICK_F32, .rank = 2, .dims = {BATCH, IN}};

typedef struct net {
    int model, hidden;
    bool deep;
} net;
static wick_status network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    const net *n = user;
    wick_model *m = models[n->model];
    (void)c;
    wick_tensor *x = wick_relu(wick_nn_linear(m, "a", in[0], n->hidden));
    if (n->deep) x = wick_relu(wick_nn_linear(m, "more", x, n->hidden));
    out[0] = wick_nn_linear(m, "b", x, OUT);
    return WICK_OK;
}
static bool make(net *n) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *x = wick_zeros(ctx, WICK_F32, 2, spec.dims);
    const bool good = network(ctx, &x, &y, n) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK;
    wick_scope_close(&scope);
    wick_model_set_training(models[n->model], false);
    return good;
}
static bool set_up(void) {
    return wick_context_new(&(wick_context_options){.threads = 1, .seed = 4}, &ctx) == WICK_OK &&
           wick_model_new(ctx, &models[0]) == WICK_OK && wick_model_new(ctx, &models[1]) == WICK_OK;
}
static void tear_down(void) {
    wick_model_free(&models[0]);
    wick_model_free(&models[1]);
    wick_context_free(&ctx);
}
static const float *numbers(int model, const char *name) {
    const void *data;
    return wick_data(wick_model_find(models[model], name), &data) == WICK_OK ? data : NULL;
}

/* x W^T of both layers, without biases, of which only the second layer's input knows. */
static void results(int model, const float *x, double *first, double *second) {
    const float *a = numbers(model, "a.weight"), *a_bias = numbers(model, "a.bias"), *b = numbers(model, "b.weight");
    for (int o = 0; o < HIDDEN; o++) {
        first[o] = 0;
        for (int k = 0; k < IN; k++) first[o] += (double)a[o * IN + k] * (double)x[k];
    }
    for (int o = 0; o < OUT; o++) {
        second[o] = 0;
        for (int k = 0; k < HIDDEN; k++) second[o] += (double)b[o * HIDDEN + k] * fmax(first[k] + (double)a_bias[k], 0);
    }
}
TEST(sqnr_is_that_of_the_results_of_layers) {
    static float x[BATCHES][BATCH * IN];
    net a = {0, HIDDEN, false}, b = {1, HIDDEN, false};
    wick_layer_errors *e = NULL;
    REQUIRE(set_up() && make(&a) && make(&b));
    for (int l = 0; l < 2; l++) { /* names and seed make both the same at first */
        float w[HIDDEN * HIDDEN];
        wick_tensor *t = wick_model_find(models[1], l ? "b.weight" : "a.weight");
        const int64_t n = wick_tensor_count(t);
        for (int64_t i = 0; i < n; i++) w[i] = (float)test_rand_real(-1, 1);
        REQUIRE(wick_write(t, w, (size_t)n * sizeof *w) == WICK_OK);
    }
    const wick_function fns[] = {network, network};
    REQUIRE(wick_layer_errors_new(ctx, models[0], fns, (void *[]){&a, &b}, 1, &spec, &e) == WICK_OK);
    CHECK(wick_layer_errors_count(e) == 2 && strcmp(wick_layer_errors_at(e, 0).name, "a.weight") == 0 &&
          strcmp(wick_layer_errors_at(e, 1).name, "b.weight") == 0 && isnan(wick_layer_errors_at(e, 0).sqnr));
    double signal[2] = {0, 0}, noise[2] = {0, 0};
    for (int i = 0; i < BATCHES; i++) {
        for (int k = 0; k < BATCH * IN; k++) x[i][k] = (float)test_rand_real(-2, 2);
        REQUIRE(wick_layer_errors_observe(e, (const void *[]){x[i]}) == WICK_OK);
        for (int s = 0; s < BATCH; s++) {
            double of[2][2][HIDDEN];
            for (int m = 0; m < 2; m++) results(m, &x[i][s * IN], of[m][0], of[m][1]);
            for (int l = 0; l < 2; l++)
                for (int o = 0; o < (l ? OUT : HIDDEN); o++) {
                    const double d = of[0][l][o] - of[1][l][o];
                    signal[l] += of[0][l][o] * of[0][l][o], noise[l] += d * d;
                }
        }
    }
    for (int l = 0; l < 2; l++) {
        const double want = 10 * log10(signal[l] / noise[l]), got = wick_layer_errors_at(e, l).sqnr;
        CHECK_MSG(fabs(got - want) < 1e-4, "layer %d: %g dB, not %g", l, got, want);
    }
    CHECK(wick_layer_errors_at(e, 2).name == NULL && wick_layer_errors_at(e, -1).name == NULL);
    wick_layer_errors_free(&e);
    /* of one network with itself there is no error */
    REQUIRE(wick_layer_errors_new(ctx, models[0], fns, (void *[]){&a, &a}, 1, &spec, &e) == WICK_OK &&
            wick_layer_errors_observe(e, (const void *[]){x[0]}) == WICK_OK);
    CHECK(isinf(wick_layer_errors_at(e, 0).sqnr) && isinf(wick_layer_errors_at(e, 1).sqnr));
    wick_layer_errors_free(&e);
    tear_down();
}
TEST(layers_of_other_extents_and_numbers_are_told) {
    static const float x[BATCH * IN];
    net a = {0, HIDDEN, false}, thin = {1, HIDDEN - 2, false}, deep = {1, HIDDEN, true};
    const wick_function fns[] = {network, network};
    wick_layer_errors *e = NULL;
    REQUIRE(set_up() && make(&a) && make(&thin));
    REQUIRE(wick_layer_errors_new(ctx, models[0], fns, (void *[]){&a, &thin}, 1, &spec, &e) == WICK_OK);
    CHECK(wick_layer_errors_observe(e, (const void *[]){x}) == WICK_OK && isnan(wick_layer_errors_at(e, 0).sqnr) &&
          !isnan(wick_layer_errors_at(e, 1).sqnr));
    CHECK(wick_layer_errors_observe(e, NULL) == WICK_ERR_INVALID);
    wick_layer_errors_free(&e);
    wick_model_free(&models[1]);
    REQUIRE(wick_model_new(ctx, &models[1]) == WICK_OK && make(&deep));
    CHECK(wick_layer_errors_new(ctx, models[0], fns, (void *[]){&a, &deep}, 1, &spec, &e) == WICK_ERR_UNSUPPORTED &&
          !e);
    CHECK(strstr(wick_context_error(ctx), "2 convolutions and products are not 3"));
    CHECK(wick_layer_errors_new(ctx, NULL, fns, (void *[]){&a, &a}, 1, &spec, &e) == WICK_ERR_INVALID);
    CHECK(wick_layer_errors_new(NULL, models[0], fns, (void *[]){&a, &a}, 1, &spec, &e) == WICK_ERR_INVALID);
    CHECK(wick_layer_errors_count(NULL) == 0 && wick_layer_errors_observe(NULL, NULL) == WICK_ERR_INVALID);
    wick_layer_errors_free(&e);
    wick_layer_errors_free(NULL);
    tear_down();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
