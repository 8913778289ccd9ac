/* bench_compiled.c: one graph on command, op by op or compiled, for bench/compiled.py to interleave with PyTorch.
 *
 *   bench_compiled ROW plain|compiled|jit THREADS
 *
 * ROW: chain_N (10 elementwise ops over N f32), FILE.onnx, block or block_train (an encoder layer over [4, 64, 256], 8
 * heads, feed-forward 1024; with its gradients and Adam), adam (an update of 1M numbers). plain: a plan without passes,
 * a kernel for each op; jit: with loops by the system's compiler. Prints "ready"; then for every line "N" on stdin runs
 * N times and prints the ns of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wick/wick.h"

enum { MOST = 4, ADAM = 1000000, BATCH = 4, LENGTH = 64, WIDTH = 256 };

static wick_context *ctx;
static wick_model *model;
static wick_optimizer *adam;
static wick_onnx *onnx;

/* The 10 ops that compiled.py has too. */
static wick_status chain(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *x = in[0], *y = in[1];
    wick_tensor *a = wick_mul(wick_add(x, y), wick_like(x, 0.5));
    wick_tensor *b = wick_relu(wick_add(wick_mul(wick_sub(a, x), y), x));
    out[0] = wick_sub(wick_mul(b, wick_sub(x, y)), wick_abs(wick_mul(y, wick_like(y, 2))));
    return WICK_OK;
}

static wick_tensor *layer(wick_tensor *x) {
    return wick_nn_encoder_layer(
        model, "layer", x,
        &(wick_nn_transformer_options){.feedforward = 4 * WIDTH, .gelu = true, .attention = {.heads = 8}});
}
static wick_status block(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = layer(in[0]);
    return WICK_OK;
}
static wick_status block_train(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_mean(wick_square(layer(in[0])), WICK_ALL_AXES, false);
    return wick_optimizer_step(adam, out[0]);
}
/* The gradient of sum(w g) is g. */
static wick_status update(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *w =
        wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(ADAM), (wick_init){WICK_INIT_NORMAL, 0, 1});
    wick_tensor *loss = wick_sum(wick_mul(w, in[0]), WICK_ALL_AXES, false);
    out[0] = wick_zeros(c, WICK_F32, WICK_SCALAR);
    return wick_optimizer_step(adam, loss);
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: bench_compiled ROW plain|compiled|jit THREADS\n"), 2;
    const char *row = argv[1];
    const wick_compile_options options = {.no_passes = !strcmp(argv[2], "plain")};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_spec in[2] = {{"x", WICK_F32, 1, {0}}, {"y", WICK_F32, 1, {0}}};
    if (wick_context_new(&(wick_context_options){.threads = atoi(argv[3]),
                                                 .seed = 1,
                                                 .jit = !strcmp(argv[2], "jit") ? WICK_JIT_WAIT : WICK_JIT_OFF},
                         &ctx))
        return 1;
    wick_status status = wick_model_new(ctx, &model);
    if (status == WICK_OK)
        status = wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 1e-4}, &adam);
    int n_in = 1;
    if (status != WICK_OK) {
    } else if (!strncmp(row, "chain_", 6)) {
        n_in = 2;
        in[0].dims[0] = in[1].dims[0] = atoll(row + 6);
        status = wick_compile(ctx, chain, NULL, 2, in, 1, &options, &plan);
    } else if (!strcmp(row, "adam")) {
        in[0].dims[0] = ADAM;
        status = wick_compile(ctx, update, NULL, 1, in, 1, &options, &plan);
    } else if (!strncmp(row, "block", 5)) {
        in[0] = (wick_spec){"x", WICK_F32, 3, {BATCH, LENGTH, WIDTH}};
        wick_model_set_training(model, row[5] != 0);
        status = wick_compile(ctx, row[5] ? block_train : block, NULL, 1, in, 1, &options, &plan);
    } else {
        status = wick_onnx_open(ctx, row, NULL, &onnx);
        if (status == WICK_OK) in[0] = wick_onnx_input_spec(onnx, 0);
        if (status == WICK_OK) status = wick_onnx_compile(onnx, in, &options, &plan);
    }
    if (status == WICK_OK) status = wick_workspace_new(plan, &ws);
    if (status != WICK_OK) return fprintf(stderr, "%s\n", wick_context_error(ctx)), 1;
    void *from[2] = {NULL}, *to[MOST] = {NULL};
    for (int i = 0; i < n_in; i++) {
        const size_t n = wick_spec_bytes(&in[i]) / sizeof(float);
        float *x = from[i] = malloc(n * sizeof *x + 1);
        for (size_t k = 0; x && k < n; k++) x[k] = (float)((k * 2654435761u + (size_t)i * 40503u) % 4001) / 2000 - 1;
    }
    for (int i = 0; i < wick_plan_get_info(plan).outputs && i < MOST; i++) {
        const wick_spec s = wick_plan_output(plan, i);
        to[i] = calloc(1, wick_spec_bytes(&s) + 1);
    }
    puts("ready");
    fflush(stdout);
    for (char line[64]; fgets(line, sizeof line, stdin);) {
        for (long n = atol(line); n > 0; n--) {
            const uint64_t start = wick_now_ns();
            if (wick_run(ws, (const void *const *)from, to) != WICK_OK)
                return fprintf(stderr, "%s\n", wick_workspace_error(ws)), 1;
            printf("%llu%c", (unsigned long long)(wick_now_ns() - start), n == 1 ? '\n' : ' ');
        }
        fflush(stdout);
    }
    return 0;
}
