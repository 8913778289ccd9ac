/* xor.c: the smallest network that needs a hidden layer. Everything is recorded anew each step, define-by-run; the plan
 * behind it is made once and then reused.   Usage: xor [STEPS] */
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 500;
    wick_context *ctx = NULL;
    wick_model *model = NULL;
    wick_optimizer *adam = NULL;
    double value = 1, right = 0;
    wick_status status = wick_context_new(&(wick_context_options){.seed = 1}, &ctx);
    if (status) return fprintf(stderr, "could not start: %s\n", wick_status_name(status)), 1;
    status = wick_model_new(ctx, &model);
    if (!status) status = wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.05}, &adam);

    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(4, 2), (float[]){0, 0, 0, 1, 1, 0, 1, 1});
    wick_tensor *y = wick_from(ctx, WICK_F32, WICK_DIMS(4, 1), (float[]){0, 1, 1, 0});

    for (int step = 0; step < steps && !status; step++) {
        wick_scope *scope = wick_scope_open(ctx); /* frees this step's tensors */
        wick_tensor *hidden = wick_tanh(wick_nn_linear(model, "hidden", x, 8));
        wick_tensor *output = wick_sigmoid(wick_nn_linear(model, "output", hidden, 1));
        wick_tensor *loss = wick_mse(output, y);
        status = wick_optimizer_step(adam, loss);      /* recorded: gradients, new weights */
        if (!status) status = wick_item(loss, &value); /* computed */
        if (!status && (step % 100 == 0 || step == steps - 1)) printf("step %4d  loss %.6f\n", step, value);
        if (!status && step == steps - 1) { /* the first output that is on the right side of 0.5, and the others */
            wick_tensor *same = wick_eq(wick_gt(output, wick_like(output, 0.5)), wick_gt(y, wick_like(y, 0.5)));
            char text[256];
            status = wick_item(wick_sum(wick_cast(same, WICK_F32), WICK_ALL_AXES, false), &right);
            wick_format(output, text, sizeof text);
            printf("outputs for 00 01 10 11:\n%s\n%.0f of 4 right\n", text, right);
        }
        wick_scope_close(&scope);
    }
    if (status) fprintf(stderr, "%s\n", wick_context_error(ctx));
    wick_optimizer_free(&adam);
    wick_model_free(&model);
    wick_context_free(&ctx);
    return status || right < 4;
}
