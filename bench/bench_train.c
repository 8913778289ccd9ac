/* bench_train.c: training steps of an MLP, on command, for bench/train.py to interleave with PyTorch's.
 *
 *   bench_train MODEL BATCH THREADS     MODEL: small (784-128-10, SGD) or large (784-512-512-10, Adam)
 *
 * Prints "ready <ns from main to the end of the first step, data apart> <FLOPs a step>"; then for every line "N" on stdin runs N steps
 * and prints "<ns> <loss>"; "m" prints the process's RssAnon in bytes, without the data set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "kernels/kernels.h"
#include "wick/wick.h"

#define SAMPLES 8192
#define IN 784

static wick_model *model;
static wick_optimizer *optimizer;
static bool large;

static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *h = wick_relu(wick_nn_linear(model, "fc1", in[0], large ? 512 : 128));
    if (large) h = wick_relu(wick_nn_linear(model, "fc2", h, 512));
    out[0] = wick_cross_entropy(wick_nn_linear(model, "fc3", h, 10), in[1]);
    return wick_optimizer_step(optimizer, out[0]);
}

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
    uint64_t t0 = wick_now_ns();
    if (argc != 4) return fprintf(stderr, "usage: bench_train small|large BATCH THREADS\n"), 2;
    large = !strcmp(argv[1], "large");
    int64_t batch = atoi(argv[2]);
    size_t data_bytes = (size_t)SAMPLES * IN * sizeof(float);

    wick_context *ctx;
    wick_plan *plan;
    wick_workspace *ws;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = atoi(argv[3]), .seed = 1})) return 1;
    wick_optim_options options = large ? (wick_optim_options){.kind = WICK_ADAM, .lr = 1e-3} : (wick_optim_options){.kind = WICK_SGD, .lr = 0.01};
    if (wick_model_new(ctx, &model) || wick_optimizer_new(model, &options, &optimizer)) return 1;
    wick_spec in[2] = {{"x", WICK_F32, 2, {batch, IN}}, {"labels", WICK_I64, 1, {batch}}};
    if (wick_compile(ctx, step, NULL, 2, in, 1, NULL, &plan) || wick_workspace_new(plan, &ws)) return fprintf(stderr, "%s\n", wick_context_error(ctx)), 1;
    uint64_t built = wick_now_ns() - t0;

    float *x = malloc(data_bytes);
    int64_t *labels = malloc(SAMPLES * sizeof *labels);
    if (!x || !labels) return 1;
    wick_fill_uniform(WICK_CF32, &(wick_random_key){7, 0, 0}, 0, (int64_t)SAMPLES * IN, x);
    for (int i = 0; i < SAMPLES; i++) labels[i] = i * 7 % 10;

    float loss = 0;
    void *out[1] = {&loss};
    int64_t at = 0;
    uint64_t t1 = wick_now_ns();
    if (wick_run(ws, (const void *[]){x, labels}, out)) return fprintf(stderr, "%s\n", wick_workspace_error(ws)), 1;
    printf("ready %llu %.0f\n", (unsigned long long)(built + wick_now_ns() - t1), wick_plan_get_info(plan).flops);
    fflush(stdout);

    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == 'm') {
            printf("%zu\n", rss_anon() - data_bytes - SAMPLES * sizeof *labels);
        } else {
            long n = atol(line);
            uint64_t start = wick_now_ns();
            for (long i = 0; i < n; i++) {
                if (wick_run(ws, (const void *[]){x + at * IN, labels + at}, out)) return fprintf(stderr, "%s\n", wick_workspace_error(ws)), 1;
                at = at + 2 * batch <= SAMPLES ? at + batch : 0;
            }
            printf("%llu %g\n", (unsigned long long)(wick_now_ns() - start), loss);
        }
        fflush(stdout);
    }
    return 0;
}
