/* bench_pixels.c: how near the kernels of pictures (src/kernels/pixels) come to the memory, on each tier: bytes that
 * they read and write, a second of one core's time, beside those of memcpy over as much, in turn. Pictures of 3 x 224 x
 * 224 (0.75 MB with their numbers: the second or third cache), and a pile of 64 MB that no cache holds.   Usage:
 * bench_pixels */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/pixels/pixels.h"

enum { SIDE = 224, PLANE = SIDE * SIDE, LARGE = 1 << 24, TURNS = 7, TAPS = 5 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint8_t *bytes;
static float *x, *y;
static int32_t first[SIDE];
static float weights[TAPS * SIDE];
static wick_pixel_map map;

/* Each over n pixels of bytes or numbers, a multiple of three planes; returns the bytes that it reads and writes. */
static double run_copy(int64_t n) { return memcpy(y, x, (size_t)n * sizeof *x), 8.0 * (double)n; }
static double run_map(int64_t n) { return wick_pixels_map(&map, n, bytes, false, y), 5.0 * (double)n; }
static double run_mirrored(int64_t n) { return wick_pixels_map(&map, n, bytes, true, y), 5.0 * (double)n; }
static double run_affine(int64_t n) { return wick_pixels_kernels()->affine(n, 0.5f, 0.1f, y), 8.0 * (double)n; }
static double run_share(int64_t n) { return wick_pixels_kernels()->share(n, 0.7f, 0.3f, x, y), 12.0 * (double)n; }
static double run_brighten(int64_t n) { return wick_pixels_kernels()->brighten(n, 0.9f, y), 8.0 * (double)n; }
static double run_saturate(int64_t n) {
    return wick_pixels_kernels()->saturate(n / 3, 0.9f, y, y + n / 3, y + n / 3 * 2), 8.0 * (double)n;
}
static double run_turn(int64_t n) {
    return wick_pixels_kernels()->turn(n / 3, 0.1f, y, y + n / 3, y + n / 3 * 2), 8.0 * (double)n;
}
static double run_mix(int64_t n) { /* rows of a resize */
    for (int64_t at = 0; at + SIDE * TAPS <= n; at += SIDE)
        wick_pixels_kernels()->mix(SIDE, TAPS, weights, bytes + at, SIDE, y + at);
    return 5.0 * (double)n;
}
static double run_pick(int64_t n) { /* columns of a resize */
    for (int64_t at = 0; at + SIDE + TAPS <= n; at += SIDE)
        wick_pixels_kernels()->pick(SIDE, TAPS, first, weights, x + at, 1, 0, y + at);
    return 8.0 * (double)n;
}
static double run_smooth(int64_t n) { /* a blur's columns */
    for (int64_t at = 0; at + SIDE * TAPS <= n; at += SIDE)
        wick_pixels_kernels()->smooth(SIDE, TAPS, weights, x + at, SIDE, 1, 0, y + at);
    return 8.0 * (double)n;
}
static double run_warp(int64_t n) {
    for (int64_t at = 0; at + 3 * PLANE <= n; at += 3 * PLANE)
        for (int64_t row = 0; row < SIDE; row++)
            wick_pixels_kernels()->warp(SIDE, 3 - 0.1 * (double)row, 0.1 + (double)row, 0.99, 0.1, 3, SIDE, SIDE,
                                        x + at, y + at + row * SIDE);
    return 8.0 * (double)n;
}

static const struct { const char *name; double (*run)(int64_t n);
} kernels[] = {
    {"bytes to numbers, normalised", run_map},
    {"the same, mirrored", run_mirrored},
    {"normalise numbers", run_affine},
    {"brightness", run_brighten},
    {"saturation", run_saturate},
    {"hue", run_turn},
    {"resize, rows (5 taps)", run_mix},
    {"resize, columns (5 taps)", run_pick},
    {"blur (5 taps)", run_smooth},
    {"affine map", run_warp},
    {"mixup", run_share},
};

static double rate(double (*run)(int64_t n), int64_t n) {
    double moved = 0;
    int64_t times = 0;
    const double start = now();
    do moved += run(n), times++;
    while (now() - start < 0.01);
    return moved / (now() - start) * 1e-9;
}

static int by_value(const void *a, const void *b) {
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

int main(void) {
    const int64_t most = LARGE / (3 * PLANE) * 3 * PLANE;
    bytes = malloc((size_t)most), x = malloc((size_t)most * sizeof *x), y = malloc((size_t)most * sizeof *y);
    if (!bytes || !x || !y) return 1;
    for (int64_t i = 0; i < most; i++) bytes[i] = (uint8_t)(i * 37), x[i] = y[i] = (float)(i % 256) / 256;
    for (int i = 0; i < TAPS * SIDE; i++) weights[i] = 1.0f / TAPS;
    for (int i = 0; i < SIDE; i++) first[i] = i;
    wick_pixel_map_make(&map, 0.45, 0.25);
    for (int large = 0; large < 2; large++) {
        const int64_t n = large ? most : 3 * PLANE;
        printf("| %s | memcpy, GB/s |", large ? "64 MB of numbers" : "3 x 224 x 224");
        for (int t = 0; t < WICK_TIER_COUNT; t++)
            if (wick_tier_force((wick_tier)t)) printf(" %s, GB/s | of memcpy |", wick_tier_name((wick_tier)t));
        printf("\n|---|---|");
        for (int t = 0; t < WICK_TIER_COUNT; t++)
            if (wick_tier_force((wick_tier)t)) printf("---|---|");
        printf("\n");
        for (size_t k = 0; k < WICK_COUNTOF(kernels); k++) {
            double copy[TURNS], got[WICK_TIER_COUNT][TURNS];
            for (int turn = 0; turn < TURNS; turn++) {
                copy[turn] = rate(run_copy, n);
                for (int t = 0; t < WICK_TIER_COUNT; t++)
                    if (wick_tier_force((wick_tier)t)) got[t][turn] = rate(kernels[k].run, n);
            }
            qsort(copy, TURNS, sizeof *copy, by_value);
            printf("| %s | %.1f |", kernels[k].name, copy[TURNS / 2]);
            for (int t = 0; t < WICK_TIER_COUNT; t++) {
                if (!wick_tier_force((wick_tier)t)) continue;
                qsort(got[t], TURNS, sizeof **got, by_value);
                printf(" %.1f | %.0f %% |", got[t][TURNS / 2], 100 * got[t][TURNS / 2] / copy[TURNS / 2]);
            }
            printf("\n");
        }
        printf("\n");
    }
    return 0;
}
