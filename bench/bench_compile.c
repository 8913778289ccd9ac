/* bench_compile.c: what making a plan costs, for bench/compile.py to take in turn with other compilers.
 *
 *   bench_compile [MODEL.onnx]
 *
 * Answers every line on stdin with milliseconds of processor time, one thread: "chain": a compiled function of 1,000
 * nodes (products, tanh and sums of 16 x 16); "open": the model read, compiled and given a workspace, as a session of
 * ONNX Runtime; "plan": that without reading the file. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "wick/wick.h"

static double processor_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static wick_status chain(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = in[0];
    for (int i = 0; i < 1000; i++)
        x = i % 3 == 0 ? wick_matmul(x, in[0]) : i % 3 == 1 ? wick_tanh(x) : wick_add(x, in[0]);
    out[0] = x;
    return WICK_OK;
}

static wick_status compile_model(wick_onnx *onnx, wick_plan **plan) {
    enum { INPUTS = 16 };
    wick_spec in[INPUTS] = {{0}};
    for (int i = 0; i < wick_onnx_inputs(onnx) && i < INPUTS; i++) in[i] = wick_onnx_input_spec(onnx, i);
    return wick_onnx_compile(onnx, in, NULL, plan);
}

int main(int argc, char **argv) {
    wick_context *ctx = NULL;
    wick_onnx *onnx = NULL;
    wick_status status = wick_context_new(&(wick_context_options){.threads = 1}, &ctx);
    if (status == WICK_OK && argc > 1) status = wick_onnx_open(ctx, argv[1], NULL, &onnx);
    for (char line[64]; status == WICK_OK && fgets(line, sizeof line, stdin); fflush(stdout)) {
        wick_plan *plan = NULL;
        wick_workspace *ws = NULL;
        wick_onnx *read = NULL;
        const double start = processor_ms();
        if (!strncmp(line, "chain", 5)) {
            status = wick_compile(ctx, chain, NULL, 1, &(wick_spec){"x", WICK_F32, 2, {16, 16}}, 1, NULL, &plan);
        } else {
            if (!strncmp(line, "open", 4)) status = wick_onnx_open(ctx, argv[1], NULL, &read);
            if (status == WICK_OK) status = compile_model(read ? read : onnx, &plan);
        }
        if (status == WICK_OK) status = wick_workspace_new(plan, &ws);
        printf("%.4f\n", processor_ms() - start);
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
        wick_onnx_free(&read);
    }
    if (status != WICK_OK) fprintf(stderr, "bench_compile: %s\n", ctx ? wick_context_error(ctx) : "no context");
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
    return status != WICK_OK;
}
