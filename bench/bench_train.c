/* bench_train.c: training steps of a network, on command, for bench/train.py to interleave with PyTorch's.
 *
 *   bench_train MODEL BATCH THREADS     MODEL: one of the table below
 *
 * Prints "ready <ns from main to the end of the first step, data apart> <FLOPs a step>"; then for every line "N" on stdin runs N steps
 * and prints "<ns> <loss>"; "m" prints the process's RssAnon in bytes, without the data set; "p" runs 20 steps and prints
 * "<kernel> <dims of the result> <GFLOP/s>;" for each convolution and product, fastest of the 20. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "bench.h"
#include "kernels/kernels.h"
#include "wick/wick.h"

enum { SAMPLES = 8192, CLASSES = 10 };

static const struct {
    const char *name, *network; /* as wick_zoo_find reads it */
    int rank;
    int64_t dims[3]; /* of one sample */
    wick_optim_options optimizer;
} models[] = {
    {"small", "mlp:128", 1, {784}, {.kind = WICK_SGD, .lr = 0.01}},
    {"large", "mlp:512,512", 1, {784}, {.kind = WICK_ADAM, .lr = 1e-3}},
    {"cnn", "net:conv 32 3, relu, conv 64 3, relu, maxpool 2, flatten, linear 128, relu, linear classes", 3, {1, 28, 28}, {.kind = WICK_ADAM, .lr = 1e-3}},
    {"resnet8", "resnet8", 3, {3, 32, 32}, {.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9}},
};

static wick_model *model;
static wick_network network;
static wick_optimizer *optimizer;

static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_cross_entropy(wick_zoo_build(&network, model, in[0], CLASSES), in[1]);
    return wick_optimizer_step(optimizer, out[0]);
}

static bool print_products(const wick_plan *plan, wick_workspace *ws, const float *x, const int64_t *labels, void *const *out) {
    enum { ROUNDS = 20 };
    const int n = wick_plan_get_info(plan).kernels;
    uint64_t *best = calloc((size_t)n, sizeof *best);
    for (int round = 0; best && round < ROUNDS; round++) {
        wick_workspace_profile(ws, true); /* from zero */
        if (wick_run(ws, (const void *[]){x, labels}, out)) return fprintf(stderr, "%s\n", wick_workspace_error(ws)), false;
        for (int i = 0; i < n; i++) {
            const uint64_t ns = wick_workspace_kernel_ns(ws, i, NULL);
            if (!round || ns < best[i]) best[i] = ns;
        }
    }
    wick_workspace_profile(ws, false);
    for (int i = 0; best && i < n; i++) {
        const wick_plan_kernel k = wick_plan_kernel_at(plan, i);
        if ((strncmp(k.name, "conv", 4) != 0 && strncmp(k.name, "gemm", 4) != 0) || k.flops == 0) continue;
        printf("%s ", k.name);
        for (int d = 0; d < k.result.rank; d++) printf("%s%lld", d ? "x" : "", (long long)k.result.dims[d]);
        printf(" %.1f;", k.flops / (double)best[i]);
    }
    putchar('\n');
    free(best);
    return true;
}

int main(int argc, char **argv) {
    uint64_t t0 = wick_now_ns();
    size_t m = 0;
    while (argc == 4 && m < sizeof models / sizeof models[0] && strcmp(argv[1], models[m].name) != 0) m++;
    if (argc != 4 || m == sizeof models / sizeof models[0]) return fprintf(stderr, "usage: bench_train small|large|cnn|resnet8 BATCH THREADS\n"), 2;
    int64_t batch = atoi(argv[2]), pixels = 1;
    wick_spec in[2] = {{"x", WICK_F32, models[m].rank + 1, {batch}}, {"labels", WICK_I64, 1, {batch}}};
    for (int d = 0; d < models[m].rank; d++) pixels *= in[0].dims[d + 1] = models[m].dims[d];
    size_t data_bytes = (size_t)SAMPLES * (size_t)pixels * sizeof(float);

    wick_context *ctx;
    wick_plan *plan;
    wick_workspace *ws;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = atoi(argv[3]), .seed = 1})) return 1;
    if (wick_model_new(ctx, &model) || wick_optimizer_new(model, &models[m].optimizer, &optimizer) || wick_zoo_find(ctx, models[m].network, &network) ||
        wick_compile(ctx, step, NULL, 2, in, 1, NULL, &plan) || wick_workspace_new(plan, &ws))
        return fprintf(stderr, "%s\n", wick_context_error(ctx)), 1;
    uint64_t built = wick_now_ns() - t0;

    float *x = malloc(data_bytes);
    int64_t *labels = malloc(SAMPLES * sizeof *labels);
    if (!x || !labels) return 1;
    wick_fill_uniform(WICK_CF32, &(wick_random_key){7, 0, 0}, 0, SAMPLES * pixels, x);
    for (int i = 0; i < SAMPLES; i++) labels[i] = i * 7 % CLASSES;

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
            printf("%zu\n", bench_rss_anon() - data_bytes - SAMPLES * sizeof *labels);
        } else if (line[0] == 'p') {
            if (!print_products(plan, ws, x, labels, out)) return 1;
        } else {
            long n = atol(line);
            uint64_t start = wick_now_ns();
            for (long i = 0; i < n; i++) {
                if (wick_run(ws, (const void *[]){x + at * pixels, labels + at}, out)) return fprintf(stderr, "%s\n", wick_workspace_error(ws)), 1;
                at = at + 2 * batch <= SAMPLES ? at + batch : 0;
            }
            printf("%llu %g\n", (unsigned long long)(wick_now_ns() - start), loss);
        }
        fflush(stdout);
    }
    return 0;
}
