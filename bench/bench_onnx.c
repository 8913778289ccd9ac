/* bench_onnx.c: an ONNX model on command, for bench/onnx.py to interleave with ONNX Runtime.
 *
 *   bench_onnx MODEL THREADS INPUT.npy...
 *
 * Prints "ready <ns from main to the first result> <compiled|recorded>"; then for every line "N" on stdin runs N times
 * and prints the ns of each, "o DIR" writes DIR/output_i.npy, and "m" prints the process's RssAnon in bytes. Inputs of
 * one whole number are constants where the model can't be compiled else: conditions hang on them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wick/wick.h"

enum { PORTS = 64 };

static wick_context *ctx;
static wick_onnx *onnx;
static wick_plan *plan;
static wick_workspace *ws;
static wick_onnx_value in[PORTS], out[PORTS];
static const void *from[PORTS];
static void *to[PORTS];

static wick_status compile(void) {
    wick_spec specs[PORTS] = {{0}};
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        specs[i].dtype = wick_tensor_dtype(in[i].tensor);
        specs[i].rank = wick_tensor_rank(in[i].tensor);
        memcpy(specs[i].dims, wick_tensor_dims(in[i].tensor), (size_t)specs[i].rank * sizeof(int64_t));
    }
    return wick_onnx_compile(onnx, specs, NULL, &plan);
}

static wick_status prepare(void) {
    wick_status status = compile();
    for (int i = 0; status == WICK_ERR_UNSUPPORTED && i < wick_onnx_inputs(onnx); i++) {
        if (wick_tensor_count(in[i].tensor) != 1 || wick_tensor_dtype(in[i].tensor) != WICK_I64) continue;
        status = wick_onnx_fix_input(onnx, i, in[i].tensor);
        memmove(&in[i], &in[i + 1], (PORTS - 1 - (size_t)i) * sizeof in[0]);
        if (status == WICK_OK) status = compile();
        i--;
    }
    if (status == WICK_ERR_UNSUPPORTED) return WICK_OK; /* recorded for each run */
    if (status == WICK_OK) status = wick_workspace_new(plan, &ws);
    for (int i = 0; status == WICK_OK && i < wick_onnx_inputs(onnx); i++) status = wick_data(in[i].tensor, &from[i]);
    for (int i = 0; status == WICK_OK && i < wick_onnx_outputs(onnx); i++) {
        const wick_spec s = wick_plan_output(plan, i);
        to[i] = calloc(1, wick_spec_bytes(&s) + 1);
    }
    return status;
}

static wick_status run(void) {
    if (ws) return wick_run(ws, from, to);
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *tensors[PORTS];
    wick_status status = wick_onnx_apply(onnx, in, out);
    for (int i = 0; i < wick_onnx_outputs(onnx); i++) tensors[i] = out[i].tensor;
    if (status == WICK_OK) status = wick_eval(ctx, wick_onnx_outputs(onnx), tensors, NULL);
    for (int i = 0; status == WICK_OK && i < wick_onnx_outputs(onnx); i++) wick_keep(tensors[i]);
    wick_scope_close(&scope);
    return status;
}

static wick_status write_outputs(const char *folder) {
    wick_status status = run();
    for (int i = 0; status == WICK_OK && i < wick_onnx_outputs(onnx); i++) {
        char path[1024];
        snprintf(path, sizeof path, "%.900s/output_%d.npy", folder, i);
        const wick_spec s = ws ? wick_plan_output(plan, i) : (wick_spec){0};
        status = wick_npy_write(ctx, path, ws ? wick_from(ctx, s.dtype, s.rank, s.dims, to[i]) : out[i].tensor);
    }
    return status;
}

/* Bytes of the process that no file stands behind. */
static size_t rss_anon(void) {
    char line[256];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %zu kB", &kib) == 1) break;
    if (f) fclose(f);
    return kib * 1024;
}

int main(int argc, char **argv) {
    const uint64_t began = wick_now_ns();
    if (argc < 3 || argc - 3 > PORTS) return fprintf(stderr, "bench_onnx MODEL THREADS INPUT.npy...\n"), 2;
    wick_status status = wick_context_new(&(wick_context_options){.threads = atoi(argv[2])}, &ctx);
    if (status == WICK_OK) status = wick_onnx_open(ctx, argv[1], NULL, &onnx);
    if (status == WICK_OK && wick_onnx_inputs(onnx) != argc - 3)
        return fprintf(stderr, "%s has %d inputs\n", argv[1], wick_onnx_inputs(onnx)), 2;
    if (status == WICK_OK && wick_onnx_outputs(onnx) > PORTS)
        return fprintf(stderr, "%s has %d outputs, more than %d\n", argv[1], wick_onnx_outputs(onnx), PORTS), 2;
    for (int i = 0; status == WICK_OK && i < argc - 3; i++) {
        in[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_npy_read(ctx, argv[3 + i])};
        status = wick_eval(ctx, 1, &in[i].tensor, NULL);
    }
    if (status == WICK_OK) status = prepare();
    if (status == WICK_OK) status = run();
    if (status != WICK_OK)
        return fprintf(stderr, "%s\n", ws ? wick_workspace_error(ws) : ctx ? wick_context_error(ctx) : "no context"), 1;
    printf("ready %llu %s\n", (unsigned long long)(wick_now_ns() - began), ws ? "compiled" : "recorded");
    fflush(stdout);
    for (char line[1024]; fgets(line, sizeof line, stdin); fflush(stdout)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == 'm') printf("%zu\n", rss_anon());
        else if (line[0] == 'o') printf("%d\n", status = write_outputs(line + 2));
        else {
            for (long n = atol(line); n-- > 0 && status == WICK_OK;) {
                const uint64_t t = wick_now_ns();
                status = run();
                printf("%llu ", (unsigned long long)(wick_now_ns() - t));
            }
            putchar('\n');
        }
        if (status != WICK_OK)
            return fprintf(stderr, "%s\n", ws ? wick_workspace_error(ws) : wick_context_error(ctx)), 1;
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
    return 0;
}
