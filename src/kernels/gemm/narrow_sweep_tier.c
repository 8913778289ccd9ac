/* narrow_sweep_tier.c: a few rows of f32 times rows of bf16 or f16 where they lie, which become f32 in registers: B is
 * read once, as it lies in memory. */
#include "kernels/gemm/narrow.h"

#if WICK_TIER_ID >= 2
#include <immintrin.h>

#define SWEEP_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define SWEEP_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SWEEP_UNROLL _Pragma("GCC unroll 16")
#endif
#define SWEEP_CAT_(a, b) a##b
#define SWEEP_CAT(a, b)  SWEEP_CAT_(a, b)

enum { L = WICK_TIER_ID == 3 ? 16 : 8 };
typedef float vec __attribute__((vector_size(4 * L)));
typedef float vecu __attribute__((vector_size(4 * L), aligned(4), may_alias));

#if WICK_TIER_ID == 3
SWEEP_INLINE vec fma_of(float a, vec b, vec c) { return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c); }
SWEEP_INLINE vec widened(const uint16_t *p, const bool f16) {
    const __m256i x = _mm256_loadu_si256((const void *)p);
    return f16 ? (vec)_mm512_cvtph_ps(x) : (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16);
}
#else
SWEEP_INLINE vec fma_of(float a, vec b, vec c) { return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c); }
SWEEP_INLINE vec widened(const uint16_t *p, const bool f16) {
    const __m128i x = _mm_loadu_si128((const void *)p);
    return f16 ? (vec)_mm256_cvtph_ps(x) : (vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16);
}
#endif

/* Columns [j, j + L): `steps` rows into the sums. */
SWEEP_INLINE void add_rows(const wick_narrow_sweep *t, const uint16_t *const *b, int64_t j, const float *a,
                           int64_t sum_at, const int rows, const int steps, const bool f16) {
    vec y[WICK_SWEEP_STEPS];
    SWEEP_UNROLL
    for (int p = 0; p < steps; p++) y[p] = widened(b[p] + j, f16);
    SWEEP_UNROLL
    for (int i = 0; i < rows; i++) {
        float *at = t->sums + i * t->sums_row + sum_at;
        vec sum = *(const vecu *)at;
        SWEEP_UNROLL
        for (int p = 0; p < steps; p++) sum = fma_of(a[i * WICK_SWEEP_STEPS + p], y[p], sum);
        *(vecu *)at = sum;
    }
}
SWEEP_INLINE void sweep_steps(const wick_narrow_sweep *t, const uint16_t *const *b, const float *a, const int rows,
                              const int steps, const bool f16) {
    int64_t j = 0;
    for (; j + L <= t->cols; j += L) {
        if (j % 32 == 0) {
            SWEEP_UNROLL
            for (int p = 0; p < steps; p++) __builtin_prefetch(b[p] + t->ahead + j, 0, 2);
        }
        add_rows(t, b, j, a, j, rows, steps, f16);
    }
    if (j == t->cols) return;
    uint16_t rest[WICK_SWEEP_STEPS][L] = {{0}};
    const uint16_t *from[WICK_SWEEP_STEPS];
    for (int p = 0; p < steps; p++) from[p] = memcpy(rest[p], b[p] + j, (size_t)(t->cols - j) * sizeof **b);
    add_rows(t, from, 0, a, j, rows, steps, f16);
}
SWEEP_INLINE void sweep(const wick_narrow_sweep *t, const int rows, const bool f16) {
    if (t->steps == WICK_SWEEP_STEPS) {
        sweep_steps(t, t->b, t->a, rows, WICK_SWEEP_STEPS, f16);
        return;
    }
    for (int p = 0; p < t->steps; p++) sweep_steps(t, t->b + p, t->a + p, rows, 1, f16);
}

#define SWEEP_ALL(X) X(1, 0) X(2, 0) X(3, 0) X(4, 0) X(1, 1) X(2, 1) X(3, 1) X(4, 1)
#define SWEEP_KERNEL(rows, f16) \
    static void sweep_##rows##_##f16(const wick_narrow_sweep *t) { sweep(t, rows, f16); }
SWEEP_ALL(SWEEP_KERNEL)
#undef SWEEP_KERNEL
#define SWEEP_KERNEL(rows, f16) sweep_##rows##_##f16,
wick_narrow_sweep_fn *const SWEEP_CAT(wick_narrow_sweeps_,
                                      WICK_TIER_NAME)[2 * WICK_SWEEP_ROWS] = {SWEEP_ALL(SWEEP_KERNEL)};
#else
extern const int wick_narrow_sweep_tier_has_none;
#endif
