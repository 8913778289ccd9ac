/* kernel_expr.c: a kernel from a formula: read, shown, compiled for given shapes, run; and recorded, with a gradient.
 * Usage: kernel_expr [EXPRESSION of x and y] */
#include <math.h>
#include <stdio.h>
#include <wick/wick.h>

int main(int argc, char **argv) {
    const char *expression = argc > 1 ? argv[1] : "tanh(x) + y * 2.0";
    wick_context *ctx;
    wick_kernel *kernel = NULL;
    wick_plan *plan = NULL;
    wick_workspace *workspace = NULL;
    char text[1024];
    if (wick_context_new(NULL, &ctx)) return 1;
    wick_status status = wick_kernel_from_expr(ctx, expression, &kernel);
    if (!status) {
        wick_kernel_format(kernel, text, sizeof text);
        printf("%s of", text);
        for (int i = 0; i < wick_kernel_inputs(kernel); i++) printf(" %s", wick_kernel_input(kernel, i));
        printf("\n");
    }

    /* inputs in the order of their names: a matrix, and a row that is broadcast */
    const wick_spec specs[2] = {{.dtype = WICK_F32, .rank = 2, .dims = {2, 3}},
                                {.dtype = WICK_F32, .rank = 1, .dims = {3}}};
    const float x[6] = {-1, 0, 1, 2, 3, 4}, y[3] = {10, 20, 30};
    float out[6] = {0};
    if (!status) status = wick_kernel_compile(kernel, 2, specs, NULL, &plan);
    if (!status) status = wick_workspace_new(plan, &workspace);
    if (!status) status = wick_run(workspace, (const void *[]){x, y}, (void *[]){out});
    for (int i = 0; i < 6 && !status; i++) printf("%g%c", (double)out[i], i % 3 == 2 ? '\n' : ' ');

    wick_tensor *in[2] = {wick_from(ctx, WICK_F32, WICK_DIMS(2, 3), x), wick_from(ctx, WICK_F32, WICK_DIMS(3), y)},
                *gradient;
    if (!status) {
        wick_grad(wick_sum(wick_kernel_call(kernel, 2, in), WICK_ALL_AXES, false), 1, &in[0], &gradient);
        wick_format(gradient, text, sizeof text);
        printf("gradient of the sum by %s:\n%s\n", wick_kernel_input(kernel, 0), text);
    }
    if (status) fprintf(stderr, "%s\n", wick_context_error(ctx));
    const int right = argc > 1 || fabs((double)out[5] - (tanh(4) + 60)) < 1e-4;
    wick_workspace_free(&workspace);
    wick_plan_free(&plan);
    wick_kernel_free(&kernel);
    wick_context_free(&ctx);
    return status || !right;
}
