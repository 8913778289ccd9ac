#include "core_peak.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Twelve independent chains (more would not fit 16 registers) in the width and with the instructions of a tier. Written per tier with target
 * attributes because this file is compiled for the baseline. */
enum { CHAINS = 12 };
#define PEAK(name, isa, bytes, multiply_add)                                                                           \
    typedef float name##_vec __attribute__((vector_size(bytes)));                                                      \
    isa static void name(int64_t steps, float *sink) {                                                                 \
        name##_vec acc[CHAINS], x = {0}, y = {0};                                                                      \
        for (int i = 0; i < CHAINS; i++) acc[i] = (name##_vec){0} + (float)i;                                          \
        x += sink[0];                                                                                                  \
        y += sink[1];                                                                                                  \
        for (; steps > 0; steps--) {                                                                                   \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) acc[i] = multiply_add;                           \
        }                                                                                                              \
        for (int i = 1; i < CHAINS; i++) acc[0] += acc[i];                                                             \
        for (size_t l = 0; l < bytes / sizeof(float); l++) sink[2] += acc[0][l];                                       \
    }
PEAK(peak_base, , 16, acc[i] * x + y)
#if defined(__x86_64__)
PEAK(peak_avx2, __attribute__((target("avx2,fma"))), 32, (peak_avx2_vec)_mm256_fmadd_ps((__m256)acc[i], (__m256)x, (__m256)y))
PEAK(peak_avx512, __attribute__((target("avx512f"))), 64, (peak_avx512_vec)_mm512_fmadd_ps((__m512)acc[i], (__m512)x, (__m512)y))
#endif

static const struct {
    const char *tier;
    int lanes;
    void (*run)(int64_t steps, float *sink);
} loops[] = {
#if defined(__x86_64__)
    {"avx512", 16, peak_avx512},
    {"avx2", 8, peak_avx2},
#endif
    {"", 4, peak_base}, /* all others */
};

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

double core_peak_gflops(const char *tier) {
    enum { STEPS = 200000, ROUNDS = 8 };
    float sink[3] = {0.5f, 0.25f, 0};
    size_t i = 0;
    while (*loops[i].tier && strcmp(loops[i].tier, tier) != 0) i++;
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        loops[i].run(STEPS, sink);
        double rate = 2.0 * loops[i].lanes * CHAINS * STEPS / (now_ns() - start);
        if (rate > best) best = rate;
    }
    return best;
}
