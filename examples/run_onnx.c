/* Runs an ONNX model from C: one plan, compiled once, on buffers of the program's own.
 *
 *     run_onnx MODEL.onnx
 *
 * Inputs are zeros here, and dims without an extent 1. */
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>

enum { MOST = 16 };

static size_t bytes_of(const wick_spec *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dims[i];
    return wick_dtype_bytes(s->dtype, n);
}

int main(int argc, char **argv) {
    wick_context *ctx = NULL;
    wick_onnx *model = NULL;
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_spec in[MOST] = {{0}}, out;
    void *x[MOST] = {0}, *y[MOST] = {0};
    bool good = argc == 2 && !wick_context_new(&ctx, NULL) && !wick_onnx_open(ctx, argv[1], NULL, &model);
    const int n_in = good ? wick_onnx_inputs(model) : 0, n_out = good ? wick_onnx_outputs(model) : 0;
    good = good && n_in <= MOST && n_out <= MOST;
    for (int i = 0; i < n_in && good; i++) {
        const wick_onnx_port port = wick_onnx_input(model, i);
        in[i].rank = port.rank;
        good = wick_onnx_elem_dtype(port.elem, &in[i].dtype) && port.rank >= 0;
        for (int d = 0; d < port.rank; d++) in[i].dims[d] = port.dims[d] < 0 ? 1 : port.dims[d];
        good = good && (x[i] = calloc(1, bytes_of(&in[i]) + 1)) != NULL;
    }
    good = good && !wick_onnx_compile(model, in, NULL, &plan) && !wick_workspace_new(plan, &ws);
    for (int i = 0; i < n_out && good; i++) {
        out = wick_plan_output(plan, i);
        good = (y[i] = calloc(1, bytes_of(&out) + 1)) != NULL;
    }
    if (good && wick_run(ws, (const void *const *)x, y)) printf("failed: %s\n", wick_workspace_error(ws));
    else if (!good) printf("failed: %s\n", ctx ? wick_context_error(ctx) : "run_onnx MODEL.onnx");
    else
        for (int i = 0; i < n_out; i++) {
            out = wick_plan_output(plan, i);
            char text[4096];
            wick_format(wick_from(ctx, out.dtype, out.rank, out.dims, y[i]), text, sizeof text);
            printf("%s:\n%s\n", wick_onnx_output(model, i).name, text);
        }
    for (int i = 0; i < MOST; i++) free(x[i]), free(y[i]);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_onnx_free(&model);
    wick_context_free(&ctx);
    return !good;
}
