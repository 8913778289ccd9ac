/* write_c.c: trains a network that knows exclusive or, and writes it as C that needs no library: DIR/xor.c and
 * DIR/xor.h, with int xor_run(const float *bits, float *answer).   Usage: write_c DIR */
#include <stdio.h>
#include <wick/wick.h>

static wick_tensor *network(wick_model *model, wick_tensor *x) {
    wick_tensor *hidden = wick_tanh(wick_nn_linear(model, "hidden", x, 8));
    return wick_sigmoid(wick_nn_linear(model, "output", hidden, 1));
}

/* What is compiled: the network for one pair of bits. Its weights are captured. */
static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = network(user, in[0]);
    return WICK_OK;
}

static wick_status train(wick_context *ctx, wick_model *model, wick_optimizer *adam) {
    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(4, 2), (float[]){0, 0, 0, 1, 1, 0, 1, 1});
    wick_tensor *y = wick_from(ctx, WICK_F32, WICK_DIMS(4, 1), (float[]){0, 1, 1, 0});
    wick_status status = WICK_OK;
    for (int step = 0; step < 500 && !status; step++) {
        wick_scope *scope = wick_scope_open(ctx);
        double loss_value;
        wick_tensor *loss = wick_mse(network(model, x), y);
        status = wick_optimizer_step(adam, loss);
        if (!status) status = wick_item(loss, &loss_value);
        wick_scope_close(&scope);
    }
    return status;
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: write_c DIR\n"), 2;
    wick_context *ctx = NULL;
    wick_model *model = NULL;
    wick_optimizer *adam = NULL;
    wick_plan *plan = NULL;
    wick_c_info info = {0};
    wick_status status = wick_context_new(&(wick_context_options){.seed = 1}, &ctx);
    if (status) return fprintf(stderr, "could not start: %s\n", wick_status_name(status)), 1;
    status = wick_model_new(ctx, &model);
    if (!status) status = wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.05}, &adam);
    if (!status) status = train(ctx, model, adam);
    wick_model_set_training(model, false);
    if (!status)
        status = wick_compile(ctx, body, model, 1, &(wick_spec){.dtype = WICK_F32, .rank = 2, .dims = {1, 2}}, 1, NULL,
                              &plan);
    const wick_c_options options = {
        .name = "xor", .inputs = (const char *[]){"bits"}, .outputs = (const char *[]){"answer"}};
    if (!status) status = wick_plan_write_c(plan, argv[1], &options, &info);
    if (!status)
        printf("%s/xor.c: %d kernels, %zu bytes of constants, %zu of RAM\n", argv[1], info.kernels, info.const_bytes,
               info.arena_bytes);
    if (status) fprintf(stderr, "%s\n", wick_context_error(ctx));
    wick_plan_free(&plan);
    wick_optimizer_free(&adam);
    wick_model_free(&model);
    wick_context_free(&ctx);
    return status != WICK_OK;
}
