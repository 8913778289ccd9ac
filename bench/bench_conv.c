/* bench_conv.c: convolution kernels on one thread: GFLOP/s and share of the multiply-add peak, for the layers of small networks, and the error.
 *
 *   bench_conv [TIER]
 *
 * Each row is one layer and batch; forward, gradient of the input, gradient of the weights. Median of 7 rounds of about 30 ms. FLOPs are those
 * of the definition: Winograd's algorithm does fewer, so that it may exceed the peak. Errors: the largest difference from the same in f64, in
 * units of 2^-24 times the sum of the absolute products; numbers are uniform in [-1, 1). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

static const struct {
    const char *name;
    int batch, groups, ci, co, in, kernel, stride, pad;
} layers[] = {
    {"mnist cnn conv1", 64, 1, 1, 32, 28, 3, 1, 0},    {"mnist cnn conv2", 64, 1, 32, 64, 26, 3, 1, 0},  {"resnet8 stem", 64, 1, 3, 16, 32, 3, 1, 1},
    {"resnet8 stage1", 64, 1, 16, 16, 32, 3, 1, 1},    {"resnet8 down2", 64, 1, 16, 32, 32, 3, 2, 1},    {"resnet8 stage2", 64, 1, 32, 32, 16, 3, 1, 1},
    {"resnet8 down3", 64, 1, 32, 64, 16, 3, 2, 1},     {"resnet8 stage3", 64, 1, 64, 64, 8, 3, 1, 1},    {"shortcut 1x1 /2", 64, 1, 16, 32, 32, 1, 2, 0},
    {"pointwise 64-64", 64, 1, 64, 64, 14, 1, 1, 0},   {"depthwise 64", 64, 64, 1, 1, 14, 3, 1, 1},      {"depthwise 64 /2", 64, 64, 1, 1, 28, 3, 2, 1},
    {"depthwise 128 7x7", 64, 128, 1, 1, 7, 3, 1, 1},  {"resnet50 3x3 64", 1, 1, 64, 64, 56, 3, 1, 1},   {"resnet50 3x3 512", 1, 1, 512, 512, 7, 3, 1, 1},
    {"resnet50 stem", 1, 1, 3, 64, 224, 7, 2, 3},
};

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double gflops(wick_convolution *c, double flops, void *const *at, void *shared, void *scratch) {
    double rates[7];
    void *a = c->what == WICK_CONV_DATA ? at[2] : at[0], *b = c->what == WICK_CONV_WEIGHT ? at[2] : at[1];
    void *dst = at[c->what == WICK_CONV_FORWARD ? 2 : c->what == WICK_CONV_DATA ? 0 : 1];
    for (int round = 0; round < 7; round++) {
        const uint64_t start = wick_now_ns();
        uint64_t now = start;
        int n = 0;
        for (; now - start < 30000000; now = wick_now_ns(), n++)
            for (int stage = 0; stage < 3; stage++)
                if (c->tasks[stage]) wick_conv_run(c, stage, 0, c->tasks[stage], a, b, NULL, dst, shared, scratch);
        rates[round] = flops * n / (double)(now - start);
    }
    qsort(rates, 7, sizeof *rates, by_value);
    return rates[3];
}

/* Multiply-adds of independent chains in registers: what a core can do. */
static double peak(void) {
    wick_gemm g = {.type = WICK_CF32, .m = 240, .n = 480, .k = 512, .a_row = 512, .a_col = 1, .b_row = 480, .b_col = 1, .c_row = 480};
    wick_gemm_prepare(&g);
    float *a = aligned_alloc(64, 240 * 512 * 4), *b = aligned_alloc(64, 512 * 480 * 4), *c = aligned_alloc(64, 240 * 480 * 4);
    void *scratch = aligned_alloc(64, WICK_ALIGN_UP(g.scratch + g.packed + 64, 64));
    if (!a || !b || !c || !scratch) exit(1);
    memset(a, 0, 240 * 512 * 4), memset(b, 0, 512 * 480 * 4);
    double best = 0;
    for (int i = 0; i < 200; i++) {
        const uint64_t start = wick_now_ns();
        if (g.tasks_pack) wick_gemm_pack(&g, 0, g.tasks_pack, b, scratch);
        wick_gemm_run(&g, 0, g.tasks, a, b, NULL, c, scratch, (char *)scratch + WICK_ALIGN_UP(g.packed, 64));
        best = WICK_MAX(best, 2.0 * 240 * 480 * 512 / (double)(wick_now_ns() - start));
    }
    free(a), free(b), free(c), free(scratch);
    return best;
}

static void run_once(wick_convolution *c, void *const *at) {
    wick_conv_prepare(c);
    void *shared = aligned_alloc(64, WICK_ALIGN_UP(c->shared + 64, 64)), *scratch = aligned_alloc(64, WICK_ALIGN_UP(c->scratch + 64, 64));
    if (!shared || !scratch) exit(1);
    void *a = c->what == WICK_CONV_DATA ? at[2] : at[0], *b = c->what == WICK_CONV_WEIGHT ? at[2] : at[1];
    void *dst = at[c->what == WICK_CONV_FORWARD ? 2 : c->what == WICK_CONV_DATA ? 0 : 1];
    for (int stage = 0; stage < 3; stage++)
        if (c->tasks[stage]) wick_conv_run(c, stage, 0, c->tasks[stage], a, b, NULL, dst, shared, scratch);
    free(shared), free(scratch);
}

static double error_of(const wick_convolution *f32, void *const *at, const size_t size[3]) {
    const int made = f32->what == WICK_CONV_FORWARD ? 2 : f32->what == WICK_CONV_DATA ? 0 : 1;
    wick_convolution c = *f32;
    c.type = WICK_CF64;
    double *exact[3], *sums[3], worst = 0; /* of the numbers, and of their magnitudes */
    for (int k = 0; k < 3; k++) {
        exact[k] = malloc(size[k] * sizeof(double));
        sums[k] = malloc(size[k] * sizeof(double));
        if (!exact[k] || !sums[k]) exit(1);
        for (size_t i = 0; i < size[k]; i++) exact[k][i] = (double)((float *)at[k])[i], sums[k][i] = fabs(exact[k][i]);
    }
    run_once(&c, (void *[]){exact[0], exact[1], exact[2]});
    run_once(&c, (void *[]){sums[0], sums[1], sums[2]});
    for (size_t i = 0; i < size[made]; i++)
        if (sums[made][i] > 0) worst = fmax(worst, fabs((double)((float *)at[made])[i] - exact[made][i]) / sums[made][i] * 0x1p24);
    for (int k = 0; k < 3; k++) free(exact[k]), free(sums[k]);
    return worst;
}

int main(int argc, char **argv) {
    for (int t = 0; argc > 1 && t < WICK_TIER_COUNT; t++)
        if (!strcmp(argv[1], wick_tier_name((wick_tier)t)) && !wick_tier_force((wick_tier)t)) return fprintf(stderr, "no %s here\n", argv[1]), 1;
    const double most = peak();
    printf("tier %s; matrix product in cache: %.1f GFLOP/s\n%-20s %26s %26s %26s\n", wick_tier_name(wick_tier_current()), most, "layer", "forward", "data", "weight");
    for (size_t i = 0; i < WICK_COUNTOF(layers); i++) {
        printf("%-20s", layers[i].name);
        for (int what = 0; what < 3; what++) {
            wick_convolution c = {.type = WICK_CF32, .what = (wick_conv_what)what, .batch = layers[i].batch, .groups = layers[i].groups, .ci = layers[i].ci,
                                  .co = layers[i].co, .in = {1, layers[i].in, layers[i].in}, .kernel = {1, layers[i].kernel, layers[i].kernel},
                                  .stride = {1, layers[i].stride, layers[i].stride}, .dilation = {1, 1, 1}, .pad = {0, layers[i].pad, layers[i].pad}};
            const int64_t out = (layers[i].in + 2 * layers[i].pad - layers[i].kernel) / layers[i].stride + 1;
            c.out[0] = 1, c.out[1] = c.out[2] = out;
            wick_conv_prepare(&c);
            const int64_t taps = layers[i].kernel * layers[i].kernel;
            const size_t size[3] = {(size_t)(c.batch * c.groups * c.ci) * (size_t)(layers[i].in * layers[i].in), (size_t)(c.groups * c.co * c.ci * taps),
                                    (size_t)(c.batch * c.groups * c.co * out * out)};
            void *at[3], *shared = aligned_alloc(64, WICK_ALIGN_UP(c.shared + 64, 64)), *scratch = aligned_alloc(64, WICK_ALIGN_UP(c.scratch + 64, 64));
            for (int k = 0; k < 3; k++) {
                at[k] = aligned_alloc(64, WICK_ALIGN_UP(size[k] * 4, 64));
                if (!at[k] || !shared || !scratch) return 1;
                wick_fill_uniform(WICK_CF32, &(wick_random_key){1, (uint64_t)k, 0}, 0, (int64_t)size[k], at[k]);
                for (size_t n = 0; n < size[k]; n++) ((float *)at[k])[n] = 2 * ((float *)at[k])[n] - 1;
            }
            const double rate = gflops(&c, 2.0 * (double)size[2] * (double)(c.ci * taps), at, shared, scratch);
            printf(" %9.1f %5.0f%% err %5.1f", rate, 100 * rate / most, error_of(&c, at, size));
            fflush(stdout);
            for (int k = 0; k < 3; k++) free(at[k]);
            free(shared), free(scratch);
        }
        printf("\n");
    }
    return 0;
}
