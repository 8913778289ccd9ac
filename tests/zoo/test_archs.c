/* Architectures by name beside PyTorch: what ResNet-18, MobileNetV2, a TCN, a transformer and a network with kernels
 * that are no squares give (golden/archs.txt, made by golden/make_archs.py), and how many parameters the known ones
 * have. */
#include <math.h>

#include "context.h"
#include "golden/golden.h"
#include "test.h"
#include "wick/wick.h"

/* As make_archs.py has it. */
static double number(int64_t k, int64_t i) {
    return (double)((uint64_t)(i * 2654435761 + k * 97531) % 4294967296u) / 4294967296.0 - 0.5;
}
static bool ends(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static bool fill(wick_model *model) {
    bool ok = true;
    int k = 0;
    for (int s = 0; ok && s < wick_model_count(model); s++) {
        const wick_named state = wick_model_at(model, s);
        if (state.role == WICK_ROLE_OPTIM) continue;
        const int64_t n = wick_tensor_count(state.tensor);
        const bool matrix = wick_tensor_rank(state.tensor) > 1;
        const bool one = !matrix && (ends(state.name, "running_var") || ends(state.name, ".weight"));
        const double scale = matrix ? sqrt(12.0 / ((double)n / (double)wick_tensor_dim(state.tensor, 0))) : 0.2;
        double *values = malloc((size_t)n * sizeof *values);
        for (int64_t i = 0; values && i < n; i++) values[i] = (one ? 1 : 0) + scale * number(k, i);
        ok = values && wick_write(state.tensor, values, (size_t)n * sizeof *values) == WICK_OK;
        free(values);
        k++;
    }
    return ok;
}

TEST(they_give_what_pytorch_gives) {
    static const struct {
        const char *name, *text;
        int rank;
        int64_t dims[4], parameters; /* of 1000 classes; 0: no figure is known */
    } cases[] = {
        {"resnet18", "resnet18", 4, {1, 3, 48, 40}, 11689512},
        {"mobilenetv2", "mobilenetv2", 4, {1, 3, 48, 40}, 3504872},
        {"tcn", "tcn", 4, {2, 3, 1, 20}, 0},
        {"tcn", "tcn:3", 2, {2, 60}, 0},
        {"transformer", "transformer", 4, {2, 3, 1, 20}, 0},
        {"transformer", "transformer:3", 2, {2, 60}, 0},
        {"oblong",
         "net:conv 6 2x3 stride 1x2 pad 1x0, relu6, dwconv 3x1 pad 1x0, avgpool 1x2, conv 5 1x3 causal dilation 1x2, "
         "maxpool 2x1 stride 1, globalpool, linear classes",
         4,
         {2, 3, 9, 22},
         0},
    };
    golden *all = golden_load("archs.txt");
    REQUIRE(all != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wick_context *ctx = new_context(.threads = 2);
        wick_model *model = NULL;
        wick_network n;
        const golden *g = golden_find(all, cases[i].name);
        REQUIRE(g != NULL && ctx != NULL && wick_model_new(ctx, &model) == WICK_OK);
        REQUIRE(wick_zoo_find(ctx, cases[i].text, &n) == WICK_OK);
        int64_t count = 1, parameters = 0;
        for (int d = 0; d < cases[i].rank; d++) count *= cases[i].dims[d];
        double *in = malloc((size_t)count * sizeof *in), out[16];
        REQUIRE(in != NULL && g->count <= 16);
        for (int64_t k = 0; k < count; k++) in[k] = number(999, k);
        wick_tensor *x = wick_from(ctx, WICK_F64, cases[i].rank, cases[i].dims, in);
        wick_model_set_training(model, false);
        (void)wick_zoo_build(&n, model, x, 7); /* makes the states */
        for (int s = 0; s < wick_model_count(model); s++)
            if (wick_model_at(model, s).role == WICK_ROLE_PARAM)
                parameters += wick_tensor_count(wick_model_at(model, s).tensor);
        if (cases[i].parameters) {
            const int64_t wide = strcmp(cases[i].name, "resnet18") == 0 ? 513 : 1281;
            CHECK_INT(parameters + (1000 - 7) * wide, cases[i].parameters);
        }
        CHECK(fill(model));
        const wick_status status = wick_read(wick_zoo_build(&n, model, x, 7), out, (size_t)g->count * sizeof *out);
        CHECK_MSG(status == WICK_OK, "%s: %s", cases[i].text, wick_context_error(ctx));
        double worst = golden_distance(g, out);
        CHECK_MSG(worst < 1e-9, "%s: %g from PyTorch's", cases[i].text, worst);
        free(in);
        wick_model_free(&model);
        wick_context_free(&ctx);
    }
    golden_free(all);
}

/* A causal layer's first outputs are the same whatever comes later. */
TEST(causal_layers_see_nothing_later) {
    static const char *const nets[] = {"conv 4 3 causal dilation 2", "dwconv 5 causal", "attention 1 causal",
                                       "encoder 1 causal expand 2"};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        wick_context *ctx = new_context(.threads = 1);
        wick_model *model = NULL;
        REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK);
        double x[2][2 * 6], y[2][4 * 6];
        for (int k = 0; k < 12; k++) x[0][k] = x[1][k] = number(1, k);
        x[1][5] = x[1][11] = x[1][4] = 3;
        int64_t channels = 0;
        for (int k = 0; k < 2; k++) {
            wick_tensor *out = wick_net(model, nets[i], wick_from(ctx, WICK_F64, WICK_DIMS(1, 2, 6), x[k]), 2);
            CHECK_MSG(wick_read(out, y[k], (size_t)wick_tensor_count(out) * sizeof(double)) == WICK_OK, "%s: %s",
                      nets[i], wick_context_error(ctx));
            channels = wick_tensor_dim(out, 1);
            CHECK_INT(wick_tensor_dim(out, 2), 6);
        }
        bool differ = false;
        for (int64_t c = 0; c < channels; c++)
            for (int t = 0; t < 6; t++) {
                if (t < 4) CHECK(y[0][c * 6 + t] == y[1][c * 6 + t]);
                differ |= y[0][c * 6 + t] != y[1][c * 6 + t];
            }
        CHECK_MSG(differ, "%s: the end changes nothing", nets[i]);
        wick_model_free(&model);
        wick_context_free(&ctx);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
