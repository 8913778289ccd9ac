/* Writes a network as ONNX: trained on XOR, exported for any number of samples with its weights in a file of their own,
 * read back, and compared.
 *
 *     export_onnx NET.onnx            # and NET.safetensors beside it */
#include <stdio.h>
#include <string.h>
#include <wick/wick.h>

static wick_model *model;
static wick_optimizer *adam;

static wick_status network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_sigmoid(wick_nn_linear(model, "fc2", wick_tanh(wick_nn_linear(model, "fc1", in[0], 8)), 1));
    return WICK_OK;
}

int main(int argc, char **argv) {
    static const float inputs[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, targets[4][1] = {{0}, {1}, {1}, {0}};
    wick_context *ctx = NULL;
    wick_onnx *onnx = NULL;
    bool good = argc == 2 && !wick_context_new(NULL, &ctx) && !wick_model_new(ctx, &model) &&
                !wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.05}, &adam);

    for (int step = 0; good && step < 300; step++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(4, 2), inputs),
                    *t = wick_from(ctx, WICK_F32, WICK_DIMS(4, 1), targets), *y;
        good = !network(ctx, &x, &y, NULL);
        wick_tensor *loss = wick_mse(y, t);
        good = good && !wick_optimizer_step(adam, loss) && !wick_eval(ctx, 1, &loss, NULL);
        wick_scope_close(&scope);
    }

    /* The extent of axis 0 stays open, under the name N. */
    const wick_spec x = {"x", WICK_F32, 2, {4, 2}};
    const wick_onnx_symbol samples = {"N", 0, 0};
    char weights[256];
    const char *slash = argc == 2 ? strrchr(argv[1], '/') : NULL, *name = argc == 2 ? slash ? slash + 1 : argv[1] : "";
    snprintf(weights, sizeof weights, "%.*s.safetensors", (int)strcspn(name, "."), name);
    good = good && !wick_onnx_save(model, network, NULL, 1, &x, 1, argv[1],
                                   &(wick_onnx_save_options){.outputs = (const char *[]){"y"},
                                                             .n_symbols = 1,
                                                             .symbols = &samples,
                                                             .weights = weights,
                                                             .doc = "x1 xor x2"});

    wick_onnx_value in = {.kind = WICK_VALUE_TENSOR}, out;
    good = good && !wick_onnx_open(ctx, argv[1], NULL, &onnx);
    wick_scope *scope = good ? wick_scope_open(ctx) : NULL;
    if (good) {
        in.tensor = wick_from(ctx, WICK_F32, WICK_DIMS(4, 2), inputs);
        wick_tensor *want = NULL;
        good = !wick_onnx_apply(onnx, &in, &out) && !network(ctx, &in.tensor, &want, NULL);
        const wick_onnx_value here = {.kind = WICK_VALUE_TENSOR, .tensor = want};
        good = good && !wick_onnx_value_compare(ctx, &out, &here, 1e-5, 1e-6);
        char text[512];
        if (good) wick_format(out.tensor, text, sizeof text), printf("%s, read back:\n%s\n", argv[1], text);
    }
    if (!good)
        printf("failed: %s\n", ctx && wick_context_status(ctx) ? wick_context_error(ctx) : "export_onnx NET.onnx");
    wick_scope_close(&scope);
    wick_onnx_free(&onnx), wick_optimizer_free(&adam), wick_model_free(&model), wick_context_free(&ctx);
    return !good;
}
