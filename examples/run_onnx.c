/* Runs an ONNX model from C: one plan, compiled once, on buffers of the program's own, which are used in place.
 *
 *     run_onnx MODEL.onnx
 *
 * Inputs are zeros here, and dims without an extent 1. */
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>

int main(int argc, char **argv) {
    enum { MOST = 16 };
    wick_context *ctx = NULL;
    wick_onnx *model = NULL;
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_spec in[MOST], out[MOST];
    void *x[MOST] = {0}, *y[MOST] = {0};
    bool good = argc == 2 && !wick_context_new(NULL, &ctx) && !wick_onnx_open(ctx, argv[1], NULL, &model);
    const int n_in = good ? wick_onnx_inputs(model) : 0, n_out = good ? wick_onnx_outputs(model) : 0;
    good = good && n_in <= MOST && n_out <= MOST;
    for (int i = 0; good && i < n_in; i++)
        x[i] = calloc(1, wick_spec_bytes((in[i] = wick_onnx_input_spec(model, i), &in[i])));
    good = good && !wick_onnx_compile(model, in, NULL, &plan) && !wick_workspace_new(plan, &ws);
    for (int i = 0; good && i < n_out; i++)
        y[i] = calloc(1, wick_spec_bytes((out[i] = wick_plan_output(plan, i), &out[i])));
    if (!good || wick_run(ws, (const void *const *)x, y)) {
        good = false;
        printf("failed: %s\n", ws ? wick_workspace_error(ws) : ctx ? wick_context_error(ctx) : "run_onnx MODEL.onnx");
    }
    for (int i = 0; good && i < n_out; i++) {
        char text[4096];
        wick_format(wick_from(ctx, out[i].dtype, out[i].rank, out[i].dims, y[i]), text, sizeof text);
        printf("%s:\n%s\n", wick_onnx_output(model, i).name, text);
    }
    for (int i = 0; i < MOST; i++) free(x[i]), free(y[i]);
    wick_workspace_free(&ws), wick_plan_free(&plan), wick_onnx_free(&model), wick_context_free(&ctx);
    return !good;
}
