/* bench_conv_error.c: how far convolution kernels are from exact, for the layers of small networks. How fast they are:
 * wick bench conv.
 *
 *   bench_conv_error [TIER]
 *
 * Each row is one layer and batch; forward, gradient of the input, gradient of the weights. Errors: the largest
 * difference from the same in f64, in units of 2^-24 times the sum of the absolute products; numbers are uniform in
 * [-1, 1). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

static const struct {
    const char *name;
    int batch, groups, ci, co, in, kernel, stride, pad;
} layers[] = {
    {"mnist cnn conv1", 64, 1, 1, 32, 28, 3, 1, 0},   {"mnist cnn conv2", 64, 1, 32, 64, 26, 3, 1, 0},
    {"resnet8 stem", 64, 1, 3, 16, 32, 3, 1, 1},      {"resnet8 stage1", 64, 1, 16, 16, 32, 3, 1, 1},
    {"resnet8 down2", 64, 1, 16, 32, 32, 3, 2, 1},    {"resnet8 stage2", 64, 1, 32, 32, 16, 3, 1, 1},
    {"resnet8 down3", 64, 1, 32, 64, 16, 3, 2, 1},    {"resnet8 stage3", 64, 1, 64, 64, 8, 3, 1, 1},
    {"shortcut 1x1 /2", 64, 1, 16, 32, 32, 1, 2, 0},  {"pointwise 64-64", 64, 1, 64, 64, 14, 1, 1, 0},
    {"depthwise 64", 64, 64, 1, 1, 14, 3, 1, 1},      {"depthwise 64 /2", 64, 64, 1, 1, 28, 3, 2, 1},
    {"depthwise 128 7x7", 64, 128, 1, 1, 7, 3, 1, 1}, {"resnet50 3x3 64", 1, 1, 64, 64, 56, 3, 1, 1},
    {"resnet50 3x3 512", 1, 1, 512, 512, 7, 3, 1, 1}, {"resnet50 stem", 1, 1, 3, 64, 224, 7, 2, 3},
};

static void run_once(wick_convolution *c, void *const *at) {
    wick_conv_prepare(c, NULL);
    void *shared = aligned_alloc(64, WICK_ALIGN_UP(c->shared + 64, 64)),
         *scratch = aligned_alloc(64, WICK_ALIGN_UP(c->scratch + 64, 64));
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
        if (sums[made][i] > 0)
            worst = fmax(worst, fabs((double)((float *)at[made])[i] - exact[made][i]) / sums[made][i] * 0x1p24);
    for (int k = 0; k < 3; k++) free(exact[k]), free(sums[k]);
    return worst;
}

int main(int argc, char **argv) {
    for (int t = 0; argc > 1 && t < WICK_TIER_COUNT; t++)
        if (!strcmp(argv[1], wick_tier_name((wick_tier)t)) && !wick_tier_force((wick_tier)t))
            return fprintf(stderr, "no %s here\n", argv[1]), 1;
    printf("tier %s\n%-20s %12s %12s %12s\n", wick_tier_name(wick_tier_current()), "layer", "forward", "data",
           "weight");
    for (size_t i = 0; i < WICK_COUNTOF(layers); i++) {
        printf("%-20s", layers[i].name);
        for (int what = 0; what < 3; what++) {
            wick_convolution c = {.type = WICK_CF32,
                                  .what = (wick_conv_what)what,
                                  .batch = layers[i].batch,
                                  .groups = layers[i].groups,
                                  .ci = layers[i].ci,
                                  .co = layers[i].co,
                                  .in = {1, layers[i].in, layers[i].in},
                                  .kernel = {1, layers[i].kernel, layers[i].kernel},
                                  .stride = {1, layers[i].stride, layers[i].stride},
                                  .dilation = {1, 1, 1},
                                  .pad = {0, layers[i].pad, layers[i].pad}};
            const int64_t out = (layers[i].in + 2 * layers[i].pad - layers[i].kernel) / layers[i].stride + 1;
            c.out[0] = 1, c.out[1] = c.out[2] = out;
            const int64_t taps = layers[i].kernel * layers[i].kernel;
            const size_t size[3] = {(size_t)(c.batch * c.groups * c.ci) * (size_t)(layers[i].in * layers[i].in),
                                    (size_t)(c.groups * c.co * c.ci * taps),
                                    (size_t)(c.batch * c.groups * c.co * out * out)};
            void *at[3];
            for (int k = 0; k < 3; k++) {
                at[k] = aligned_alloc(64, WICK_ALIGN_UP(size[k] * 4, 64));
                if (!at[k]) return 1;
                wick_fill_uniform(WICK_CF32, &(wick_random_key){1, (uint64_t)k, 0}, 0, (int64_t)size[k], at[k]);
                for (size_t n = 0; n < size[k]; n++) ((float *)at[k])[n] = 2 * ((float *)at[k])[n] - 1;
            }
            run_once(&c, at);
            printf(" %12.1f", error_of(&c, at, size));
            fflush(stdout);
            for (int k = 0; k < 3; k++) free(at[k]);
        }
        printf("\n");
    }
    return 0;
}
