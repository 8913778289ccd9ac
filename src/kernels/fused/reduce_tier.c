/* reduce_tier.c: the reductions over a block, per ctype. Each lane is one accumulator whatever the vector width, so all
 * tiers give the same bits. */
#include "kernels/elementwise/ew.h"
#include "kernels/fused/fused.h"
#if WICK_TIER_ID >= 2
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#pragma GCC diagnostic ignored "-Wtautological-compare" /* a != a finds NaN in floats, nothing in integers */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* the scalar tier vectorises nothing */
#endif

/* Rows up to this long are reduced several at a time. */
#define SIDE_BY_SIDE 48

/* op for scalars, and for vectors v with integer vectors i of the same shape */
#define SUM_S(a, b)              ((a) + (b))
#define SUM_V(v, i, a, b)        ((a) + (b))
#define PROD_S(a, b)             ((a) * (b))
#define PROD_V(v, i, a, b)       ((a) * (b))
#define MAX_S(a, b)              ((((a) > (b)) | ((a) != (a))) ? (a) : (b))
#define MAX_V(v, i, a, b)        EXTREME_V(v, max, a, b, PICK_V(v, i, (i)((a) > (b)) | (i)((a) != (a)), a, b))
#define MIN_S(a, b)              ((((a) < (b)) | ((a) != (a))) ? (a) : (b))
#define MIN_V(v, i, a, b)        EXTREME_V(v, min, a, b, PICK_V(v, i, (i)((a) < (b)) | (i)((a) != (a)), a, b))
#define PICK_V(v, i, mask, a, b) ((v)(((mask) & (i)(a)) | (~(mask) & (i)(b))))
/* Of floats in AVX-512: b where they are equal or b is NaN is what the instruction gives, and where a is NaN nothing is
 * done. */
#if VECTOR_BYTES == 64
#define EXTREME_V(v, which, a, b, other)                                                                               \
    _Generic(((v){0})[0], float                                                                                        \
             : (v)_mm512_mask_##which##_ps((__m512)(a), _mm512_cmp_ps_mask((__m512)(a), (__m512)(a), _CMP_ORD_Q),      \
                                           (__m512)(a), (__m512)(b)),                                                  \
               double                                                                                                  \
             : (v)_mm512_mask_##which##_pd((__m512d)(a), _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(a), _CMP_ORD_Q),   \
                                           (__m512d)(a), (__m512d)(b)),                                                \
               default                                                                                                 \
             : other)
#else
#define EXTREME_V(v, which, a, b, other) other
#endif
#define SUM_NOTHING              0
#define PROD_NOTHING             1
#define MAX_NOTHING              0 /* never asked for */
#define MIN_NOTHING              0

/* How lanes are read: as they are (one), or widened from bf16, the upper half of f32. */
#define SAME_S(T, p)  (*(p))
#define SAME_V(v, p)  (*(const v *)(p))
static inline float upper_half(uint16_t x) {
    const uint32_t bits = (uint32_t)x << 16;
    float r;
    memcpy(&r, &bits, sizeof r);
    return r;
}
#define UPPER_S(T, p) upper_half(*(p))
#define UPPER_V(v, p) ((v)(__builtin_convertvector(*(const halves *)(p), words) << 16))
typedef uint16_t halves __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));
typedef uint32_t words __attribute__((vector_size(VECTOR_BYTES)));

/* From memory one stream does not come as fast as memory allows by the CPU's own prefetching: each line asks for the
 * one so many bytes on. What comes from L3 would be slower by it. */
#if VECTOR_BYTES == 64
#define ASK(p)      __builtin_prefetch((const char *)(p) + 8192, 0, 3)
#define FAR_S(T, p) (*(p))
#define FAR_V(v, p) (__builtin_prefetch((const char *)(p) + 4096, 0, 2), *(const v *)(p))
#else
#define ASK(p) (void)0
#endif

/* A strip of `count` vectors stays in registers down all rows. The scalar tier is one lane at a time. */
#if WICK_TIER_ID == 0
#define RED_VECTORS(op, t, T, I)
#define RED_LANES(op, t, T, I, name, S, LOAD)                                                                          \
    static void op##_##name##_##t(void *accs, const void *xs, size_t rows, size_t lanes, size_t stride, bool cont) {   \
        T *acc = accs;                                                                                                 \
        const S *x = xs;                                                                                               \
        for (size_t l = 0; l < lanes; l++) {                                                                           \
            T s = cont ? op##_S(acc[l], LOAD##_S(T, x + l)) : LOAD##_S(T, x + l);                                      \
            for (size_t r = 1; r < rows; r++) s = op##_S(s, LOAD##_S(T, x + r * stride + l));                          \
            acc[l] = s;                                                                                                \
        }                                                                                                              \
    }
#else
#define RED_VECTORS(op, t, T, I)                                                                                       \
    typedef T op##_v_##t __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));                    \
    typedef I op##_i_##t __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
#define RED_LANES(op, t, T, I, name, S, LOAD)                                                                          \
    static inline __attribute__((always_inline)) void op##_##name##_strip_##t(                                         \
        T *acc, const S *x, size_t rows, size_t stride, bool cont, const int count) {                                  \
        enum { V = VECTOR_BYTES / sizeof(T) };                                                                         \
        op##_v_##t s[8];                                                                                               \
        _Pragma("GCC unroll 8") for (int k = 0; k < count; k++) {                                                      \
            op##_v_##t first = LOAD##_V(op##_v_##t, x + k * V);                                                        \
            s[k] = first;                                                                                              \
            if (cont) {                                                                                                \
                op##_v_##t before = *(const op##_v_##t *)(acc + k * V);                                                \
                s[k] = op##_V(op##_v_##t, op##_i_##t, before, first);                                                  \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t r = 1; r < rows; r++) {                                                                            \
            x += stride;                                                                                               \
            _Pragma("GCC unroll 8") for (int k = 0; k < count; k++) {                                                  \
                op##_v_##t next = LOAD##_V(op##_v_##t, x + k * V);                                                     \
                s[k] = op##_V(op##_v_##t, op##_i_##t, s[k], next);                                                     \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("GCC unroll 8") for (int k = 0; k < count; k++) * (op##_v_##t *)(acc + k * V) = s[k];                  \
    }                                                                                                                  \
    static void op##_##name##_##t(void *accs, const void *xs, size_t rows, size_t lanes, size_t stride, bool cont) {   \
        enum { V = VECTOR_BYTES / sizeof(T) };                                                                         \
        T *acc = accs;                                                                                                 \
        const S *x = xs;                                                                                               \
        size_t l = 0;                                                                                                  \
        for (; l + 8 * V <= lanes; l += 8 * V) op##_##name##_strip_##t(acc + l, x + l, rows, stride, cont, 8);         \
        for (; l + 4 * V <= lanes; l += 4 * V) op##_##name##_strip_##t(acc + l, x + l, rows, stride, cont, 4);         \
        for (; l + V <= lanes; l += V) op##_##name##_strip_##t(acc + l, x + l, rows, stride, cont, 1);                 \
        for (; l < lanes; l++) {                                                                                       \
            T s = cont ? op##_S(acc[l], LOAD##_S(T, x + l)) : LOAD##_S(T, x + l);                                      \
            for (size_t r = 1; r < rows; r++) s = op##_S(s, LOAD##_S(T, x + r * stride + l));                          \
            acc[l] = s;                                                                                                \
        }                                                                                                              \
    }
#endif

#define RED_KERNELS(op, t, T, I)                                                                                       \
    RED_VECTORS(op, t, T, I)                                                                                           \
    RED_LANES(op, t, T, I, lanes, T, SAME)                                                                             \
    static void op##_add_##t(void *accs, const void *xs, size_t n) {                                                   \
        T *acc = accs;                                                                                                 \
        const T *x = xs;                                                                                               \
        WICK_IVDEP for (size_t i = 0; i < n; i++) acc[i] = (T)op##_S(acc[i], x[i]);                                    \
    }                                                                                                                  \
    static inline                                                                                                      \
        __attribute__((always_inline)) void op##_fold_in_##t(T *acc, size_t width, size_t rows, size_t cols) {         \
        for (size_t h = rows / 2; h > 0; h /= 2) {                                                                     \
            const size_t half = h * cols;                                                                              \
            if (width <= half) continue;                                                                               \
            WICK_IVDEP for (size_t j = 0; j < width - half; j++) acc[j] = (T)op##_S(acc[j], acc[half + j]);            \
            width = half;                                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    /* constants make the full fold of one column a few vector operations */                                           \
    static void op##_fold_##t(void *accs, size_t width, size_t rows, size_t cols) {                                    \
        T *acc = accs;                                                                                                 \
        if (width == WICK_RED_LANES && cols == 1) {                                                                    \
            _Pragma("GCC unroll 6") for (size_t h = WICK_RED_LANES / 2; h > 0; h /= 2)                                 \
                WICK_IVDEP for (size_t j = 0; j < h; j++) acc[j] = (T)op##_S(acc[j], acc[h + j]);                      \
        } else                                                                                                         \
            op##_fold_in_##t(acc, width, rows, cols);                                                                  \
    }                                                                                                                  \
    /* Short rows of one column, UNITS of them side by side: lane l of all rows is a vector, so that the fold is the   \
     * plain one. */                                                                                                   \
    static inline void op##_side_by_side_##t(T *d, const T *x, size_t n) {                                             \
        enum { UNITS = 64 / sizeof(T) };                                                                               \
        T lane[WICK_RED_LANES][UNITS];                                                                                 \
        size_t width = n, h = WICK_RED_LANES / 2;                                                                      \
        for (size_t u = 0; u < UNITS; u++)                                                                             \
            for (size_t l = 0; l < n; l++) lane[l][u] = x[u * n + l];                                                  \
        for (; h > 0; h /= 2) {                                                                                        \
            for (size_t l = 0; l + h < width && l < h; l++)                                                            \
                for (size_t u = 0; u < UNITS; u++) lane[l][u] = (T)op##_S(lane[l][u], lane[l + h][u]);                 \
            width = width < h ? width : h;                                                                             \
        }                                                                                                              \
        for (size_t u = 0; u < UNITS; u++) d[u] = lane[0][u];                                                          \
    }                                                                                                                  \
    static void op##_units_##t(void *dst, const void *xs, size_t n, size_t reduced, size_t rows, size_t cols) {        \
        _Alignas(64) T acc[2 * WICK_RED_LINE];                                                                         \
        const size_t lanes = rows * cols, size = reduced * cols, lines = size / lanes, rest = size % lanes;            \
        T *d = dst;                                                                                                    \
        const T *x = xs;                                                                                               \
        for (; cols == 1 && reduced <= SIDE_BY_SIDE && n >= 64 / sizeof(T); n -= 64 / sizeof(T)) {                     \
            op##_side_by_side_##t(d, x, reduced);                                                                      \
            d += 64 / sizeof(T);                                                                                       \
            x += 64 / sizeof(T) * reduced;                                                                             \
        }                                                                                                              \
        for (; n > 0; n--, x += size, d += cols) {                                                                     \
            if (lines) {                                                                                               \
                op##_lanes_##t(acc, x, lines, lanes, lanes, false);                                                    \
                for (size_t j = 0; j < rest; j++) acc[j] = (T)op##_S(acc[j], x[lines * lanes + j]);                    \
            } else                                                                                                     \
                for (size_t j = 0; j < rest; j++) acc[j] = x[j];                                                       \
            op##_fold_##t(acc, lines ? lanes : rest, rows, cols);                                                      \
            for (size_t j = 0; j < cols; j++) d[j] = acc[j];                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void op##_nothing_##t(void *acc, size_t n) {                                                                \
        for (size_t j = 0; j < n; j++) ((T *)acc)[j] = op##_NOTHING;                                                   \
    }
#define RED_TYPE(t, T, I)                                                                                              \
    RED_KERNELS(SUM, t, T, I) RED_KERNELS(PROD, t, T, I) RED_KERNELS(MAX, t, T, I) RED_KERNELS(MIN, t, T, I)
RED_TYPE(f32, float, int32_t)
RED_LANES(SUM, f32, float, int32_t, lanes_bf16, uint16_t, UPPER)
RED_LANES(PROD, f32, float, int32_t, lanes_bf16, uint16_t, UPPER)
RED_LANES(MAX, f32, float, int32_t, lanes_bf16, uint16_t, UPPER)
RED_LANES(MIN, f32, float, int32_t, lanes_bf16, uint16_t, UPPER)
RED_TYPE(f64, double, int64_t)
RED_TYPE(i32, int32_t, int32_t)
RED_TYPE(i64, int64_t, int64_t)
RED_TYPE(u64, uint64_t, int64_t)
RED_KERNELS(MAX, b8, uint8_t, int8_t) /* any */
RED_KERNELS(MIN, b8, uint8_t, int8_t) /* all */
#if VECTOR_BYTES == 64
RED_LANES(SUM, f32, float, int32_t, lanes_far, float, FAR)
RED_LANES(SUM, f64, double, int64_t, lanes_far, double, FAR)
RED_LANES(SUM, i64, int64_t, int64_t, lanes_far, int64_t, FAR)
#else
#define SUM_lanes_far_f32  NULL
#define SUM_lanes_far_f64  NULL
#define SUM_lanes_far_i64  NULL
#endif
#define PROD_lanes_far_f32 NULL
#define PROD_lanes_far_f64 NULL
#define PROD_lanes_far_i64 NULL
#define MAX_lanes_far_f32  NULL
#define MAX_lanes_far_f64  NULL
#define MAX_lanes_far_i64  NULL
#define MIN_lanes_far_f32  NULL
#define MIN_lanes_far_f64  NULL
#define MIN_lanes_far_i64  NULL

/* Chunks of lines of few lanes: the runs of one side by side, so that their chains overlap. What is summed is made in
 * registers. */
#if WICK_TIER_ID == 0
static void SUM_chunks_f32(void *dst, int of, const void *xs, const void *gs, float m, size_t n, size_t rows) {
    const float *x = xs, *g = gs;
    for (size_t k = 0; k < n; k++) {
        float run[WICK_RED_CHUNK / WICK_RED_RUN][WICK_RED_LANES] = {{0}}, v[WICK_RED_RUN * WICK_RED_LANES];
        for (size_t r = 0; r < WICK_COUNTOF(run); r++) {
            for (size_t i = 0; i < WICK_RED_RUN * rows; i++)
                v[i] = of == WICK_RED_OF_X         ? x[i]
                       : of == WICK_RED_OF_SQUARES ? (x[i] - m) * (x[i] - m)
                                                   : g[i] * (x[i] - m);
            SUM_lanes_f32(run[r], v, WICK_RED_RUN, rows, rows, false);
            x += WICK_RED_RUN * rows;
            g = of == WICK_RED_OF_PRODUCTS ? g + WICK_RED_RUN * rows : NULL;
        }
        for (size_t step = 1; step < WICK_COUNTOF(run); step *= 2)
            for (size_t r = 0; r < WICK_COUNTOF(run); r += 2 * step) SUM_add_f32(run[r], run[r + step], rows);
        SUM_fold_f32(run[0], rows, rows, 1);
        ((float *)dst)[k] = run[0][0];
    }
}
#else
#define CHUNKS_OF static inline __attribute__((always_inline)) void
/* Sets s to what is summed, from places of x and g, as vectors T, or adds that; `of` and `more` are constants. */
#define ADD_SUMMED(T, name)                                                                                            \
    static inline __attribute__((always_inline)) void name(int of, bool more, T *s, const float *x, const float *g,    \
                                                           float m) {                                                  \
        T v = *(const T *)x;                                                                                           \
        if (of == WICK_RED_OF_SQUARES) v = (v - m) * (v - m);                                                          \
        if (of == WICK_RED_OF_PRODUCTS) v = *(const T *)g * (v - m);                                                   \
        if (more) v = *s + v;                                                                                          \
        *s = v;                                                                                                        \
    }
#define SUM_CHUNKS(rows)                                                                                               \
    typedef float few_##rows __attribute__((vector_size(4 * rows), aligned(4), may_alias));                            \
    ADD_SUMMED(few_##rows, add_summed_##rows)                                                                          \
    CHUNKS_OF chunks_of_##rows(int of, float *dst, const float *x, const float *g, float m, size_t n) {                \
        enum { RUN = WICK_RED_RUN * rows };                                                                            \
        for (size_t k = 0; k < n; k++, x += WICK_RED_CHUNK * rows, g += WICK_RED_CHUNK * rows) {                       \
            few_##rows s[8];                                                                                           \
            _Pragma("GCC unroll 8") for (int r = 0; r < 8; r++)                                                        \
                add_summed_##rows(of, false, &s[r], x + r * RUN, g + r * RUN, m);                                      \
            for (int i = rows; i < RUN; i += rows)                                                                     \
                _Pragma("GCC unroll 8") for (int r = 0; r < 8; r++)                                                    \
                    add_summed_##rows(of, true, &s[r], x + r * RUN + i, g + r * RUN + i, m);                           \
            few_##rows sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));                        \
            float lane[rows];                                                                                          \
            memcpy(lane, &sum, sizeof lane);                                                                           \
            for (int h = rows / 2; h > 0; h /= 2)                                                                      \
                for (int j = 0; j < h; j++) lane[j] += lane[h + j];                                                    \
            dst[k] = lane[0];                                                                                          \
        }                                                                                                              \
    }
#if WICK_TIER_ID >= 2
/* Four elements of a run and of the one four runs on are a vector. Of lines of one or two lanes four (two) such vectors
 * turned are a line of all eight runs each. */
static inline __m256 halves_of(const float *low, const float *high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
static inline __attribute__((always_inline)) __m256 quads(int of, const float *x, const float *g, __m256 m, int high) {
    const __m256 v = halves_of(x, x + high);
    if (of == WICK_RED_OF_X) return v;
    const __m256 d = _mm256_sub_ps(v, m);
    return _mm256_mul_ps(of == WICK_RED_OF_SQUARES ? d : halves_of(g, g + high), d);
}
static inline __m256 low_pairs(__m256 a, __m256 b) {
    return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}
static inline __m256 high_pairs(__m256 a, __m256 b) {
    return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}
static inline float sum_of_eight(const float *s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}
CHUNKS_OF chunks_of_1(int of, float *dst, const float *x, const float *g, float mean, size_t n) {
    enum { RUN = WICK_RED_RUN };
    const __m256 m = _mm256_set1_ps(mean);
    for (size_t k = 0; k < n; k++, x += WICK_RED_CHUNK, g += WICK_RED_CHUNK) {
        __m256 s = _mm256_setzero_ps();
        float run[8];
        _Pragma("GCC unroll 4") for (int i = 0; i < RUN; i += 4) {
            const __m256 a = quads(of, x + i, g + i, m, 4 * RUN), b = quads(of, x + i + RUN, g + i + RUN, m, 4 * RUN);
            const __m256 c = quads(of, x + i + 2 * RUN, g + i + 2 * RUN, m, 4 * RUN),
                         d = quads(of, x + i + 3 * RUN, g + i + 3 * RUN, m, 4 * RUN);
            const __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d), ab2 = _mm256_unpackhi_ps(a, b),
                         cd2 = _mm256_unpackhi_ps(c, d);
            s = i ? _mm256_add_ps(s, low_pairs(ab, cd)) : low_pairs(ab, cd);
            s = _mm256_add_ps(s, high_pairs(ab, cd));
            s = _mm256_add_ps(s, low_pairs(ab2, cd2));
            s = _mm256_add_ps(s, high_pairs(ab2, cd2));
        }
        _mm256_storeu_ps(run, s);
        dst[k] = sum_of_eight(run);
    }
}
CHUNKS_OF chunks_of_2(int of, float *dst, const float *x, const float *g, float mean, size_t n) {
    enum { RUN = 2 * WICK_RED_RUN };
    const __m256 m = _mm256_set1_ps(mean);
    for (size_t k = 0; k < n; k++, x += 2 * WICK_RED_CHUNK, g += 2 * WICK_RED_CHUNK) {
        __m256 s[2];
        float lane[2][8];
        _Pragma("GCC unroll 8") for (int i = 0; i < RUN; i += 4) {
            _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++) {
                const int at = 2 * h * RUN + i;
                const __m256 a = quads(of, x + at, g + at, m, 4 * RUN),
                             b = quads(of, x + at + RUN, g + at + RUN, m, 4 * RUN);
                s[h] = i ? _mm256_add_ps(s[h], low_pairs(a, b)) : low_pairs(a, b);
                s[h] = _mm256_add_ps(s[h], high_pairs(a, b));
            }
        }
        _mm256_storeu_ps(lane[0], _mm256_shuffle_ps(s[0], s[1], 0x88)); /* runs 0, 1, 2, 3, and 4, 5, 6, 7 */
        _mm256_storeu_ps(lane[1], _mm256_shuffle_ps(s[0], s[1], 0xdd));
        dst[k] = sum_of_eight(lane[0]) + sum_of_eight(lane[1]);
    }
}
CHUNKS_OF chunks_of_4(int of, float *dst, const float *x, const float *g, float mean, size_t n) {
    enum { RUN = 4 * WICK_RED_RUN };
    const __m256 m = _mm256_set1_ps(mean);
    for (size_t k = 0; k < n; k++, x += 4 * WICK_RED_CHUNK, g += 4 * WICK_RED_CHUNK) {
        __m256 s[4];
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) s[r] = quads(of, x + r * RUN, g + r * RUN, m, 4 * RUN);
        for (int i = 4; i < RUN; i += 4)
            _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) s[r] =
                _mm256_add_ps(s[r], quads(of, x + r * RUN + i, g + r * RUN + i, m, 4 * RUN));
        const __m256 half = _mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3]));
        float lane[4];
        _mm_storeu_ps(lane, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
        dst[k] = (lane[0] + lane[2]) + (lane[1] + lane[3]);
    }
}
#else
SUM_CHUNKS(1)
SUM_CHUNKS(2)
SUM_CHUNKS(4)
#endif
SUM_CHUNKS(8)
#define CHUNKS_BY_ROWS(of)                                                                                             \
    rows == 1   ? chunks_of_1(of, dst, x, g, m, n)                                                                     \
    : rows == 2 ? chunks_of_2(of, dst, x, g, m, n)                                                                     \
    : rows == 4 ? chunks_of_4(of, dst, x, g, m, n)                                                                     \
                : chunks_of_8(of, dst, x, g, m, n)
static void SUM_chunks_f32(void *dst, int of, const void *x, const void *g, float m, size_t n, size_t rows) {
    switch (of) {
    case WICK_RED_OF_X: CHUNKS_BY_ROWS(WICK_RED_OF_X); break;
    case WICK_RED_OF_SQUARES: CHUNKS_BY_ROWS(WICK_RED_OF_SQUARES); break;
    default: CHUNKS_BY_ROWS(WICK_RED_OF_PRODUCTS); break;
    }
}
#endif

/* ---- sums of arrays that lie together, or of what one instruction makes of them: no block of that is written and read
 * again ---- */

#if WICK_TIER_ID == 0
#define SUM_MAPPED(name, scalar, vector)                                                                               \
    static void name##_lines(float *acc, const float *x, const float *y, size_t rows, bool cont) {                     \
        for (size_t r = 0; r < rows; r++, x += WICK_RED_LANES, y += WICK_RED_LANES)                                    \
            for (int l = 0; l < WICK_RED_LANES; l++) {                                                                 \
                const float a = x[l], b = y[l];                                                                        \
                (void)b;                                                                                               \
                acc[l] = r || cont ? acc[l] + (scalar) : (scalar);                                                     \
            }                                                                                                          \
    }
#define MAPPED(name) {name##_lines, NULL}
#define SUMS_ALONE
#else
enum {
    LINE_VECTORS = WICK_RED_LANES * sizeof(float) / VECTOR_BYTES,
    STRIP = WICK_MIN(LINE_VECTORS, 8),
    V_F32 = VECTOR_BYTES / sizeof(float)
};
/* By halves, as fold. */
static inline float fold_line(SUM_v_f32 *s) {
    for (int h = LINE_VECTORS / 2; h > 0; h /= 2)
        for (int k = 0; k < h; k++) s[k] += s[k + h];
#if WICK_TIER_ID >= 2
#if VECTOR_BYTES == 64
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256((__m512)s[0]), _mm512_extractf32x8_ps((__m512)s[0], 1));
#else
    const __m256 eight = (__m256)s[0];
#endif
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
#else
    return (s[0][0] + s[0][2]) + (s[0][1] + s[0][3]);
#endif
}
/* Runs are combined as by the stack of reduce.c. Rows are a loop, whose loads go on by a line: in code that is unrolled
 * each would go on by a whole run, which the CPU's prefetching takes for another pattern (sums of 64 MB took 1.5 to 3
 * times as long). */
#define SUM_MAPPED(name, scalar, vector)                                                                               \
    static inline SUM_v_f32 name##_of(const float *x, const float *y) {                                                \
        const SUM_v_f32 a = *(const SUM_v_f32 *)x, b = *(const SUM_v_f32 *)y;                                          \
        (void)b;                                                                                                       \
        return vector;                                                                                                 \
    }                                                                                                                  \
    static inline                                                                                                      \
        __attribute__((always_inline)) void name##_strip(SUM_v_f32 *s, const float *x, const float *y, size_t rows) {  \
        _Pragma("GCC unroll 8") for (int k = 0; k < STRIP; k++) s[k] = name##_of(x + k * V_F32, y + k * V_F32);        \
        _Pragma("GCC unroll 1") for (size_t r = 1; r < rows; r++) {                                                    \
            x += WICK_RED_LANES;                                                                                       \
            y += WICK_RED_LANES;                                                                                       \
            _Pragma("GCC unroll 8") for (int k = 0; k < STRIP; k++) s[k] += name##_of(x + k * V_F32, y + k * V_F32);   \
        }                                                                                                              \
    }                                                                                                                  \
    static float name##_chunk(const float *x, const float *y, size_t runs) {                                           \
        SUM_v_f32 stack[WICK_RED_CHUNK_DEPTH][LINE_VECTORS], s[LINE_VECTORS];                                          \
        int depth = 0;                                                                                                 \
        for (size_t r = 1; r <= runs; r++, x += WICK_RED_RUN * WICK_RED_LANES, y += WICK_RED_RUN * WICK_RED_LANES) {   \
            for (int k = 0; k < LINE_VECTORS; k += STRIP)                                                              \
                name##_strip(s + k, x + k * V_F32, y + k * V_F32, WICK_RED_RUN);                                       \
            for (size_t n = r; n % 2 == 0; n /= 2) {                                                                   \
                depth--;                                                                                               \
                for (int k = 0; k < LINE_VECTORS; k++) s[k] = stack[depth][k] + s[k];                                  \
            }                                                                                                          \
            for (int k = 0; k < LINE_VECTORS; k++) stack[depth][k] = s[k];                                             \
            depth++;                                                                                                   \
        }                                                                                                              \
        while (--depth > 0)                                                                                            \
            for (int k = 0; k < LINE_VECTORS; k++) stack[depth - 1][k] += stack[depth][k];                             \
        return fold_line(stack[0]);                                                                                    \
    }                                                                                                                  \
    SUM_MAPPED_LINES_##name(name)
/* Those that are an instruction's. */
#define MAPPED_LINES(name)                                                                                             \
    static void name##_lines(float *acc, const float *x, const float *y, size_t rows, bool cont) {                     \
        SUM_v_f32 s[STRIP];                                                                                            \
        for (int at = 0; at < WICK_RED_LANES; at += STRIP * V_F32) {                                                   \
            if (cont) { /* the first line is added to what there is, the others to that */                             \
                for (int k = 0; k < STRIP; k++) s[k] = *(const SUM_v_f32 *)(acc + at + k * V_F32);                     \
                for (size_t r = 0; r < rows; r++)                                                                      \
                    for (int k = 0; k < STRIP; k++)                                                                    \
                        s[k] += name##_of(x + r * WICK_RED_LANES + at + k * V_F32,                                     \
                                          y + r * WICK_RED_LANES + at + k * V_F32);                                    \
            } else                                                                                                     \
                name##_strip(s, x + at, y + at, rows);                                                                 \
            for (int k = 0; k < STRIP; k++) *(SUM_v_f32 *)(acc + at + k * V_F32) = s[k];                               \
        }                                                                                                              \
    }
#define SUM_MAPPED_LINES_same(name)
#define SUM_MAPPED_LINES_far(name)
#define SUM_MAPPED_LINES_square(name) MAPPED_LINES(name)
#define SUM_MAPPED_LINES_mul(name)    MAPPED_LINES(name)
#define SUM_MAPPED_LINES_known(name)  MAPPED_LINES(name)
SUM_MAPPED(same, a, a)
#if VECTOR_BYTES == 64
SUM_MAPPED(far, a, (ASK(x), a))
#else
#define far_chunk same_chunk
#endif
#define MAPPED(name) {name##_lines, name##_chunk}
#define SUMS_ALONE [WICK_MAP_SAME] = {NULL, same_chunk}, [WICK_MAP_FAR] = {NULL, far_chunk},
#endif
/* Those of one array ask wherever it lies: from near caches that is hardly slower. */
SUM_MAPPED(square, a * a, (ASK(x), a * a))
SUM_MAPPED(mul, a * b, a * b)
SUM_MAPPED(known, a == a ? a : 0, (ASK(x), (SUM_v_f32)((SUM_i_f32)a & (SUM_i_f32)(a == a))))
static const wick_red_mapped sums_mapped[WICK_MAP_COUNT] = {
    SUMS_ALONE[WICK_MAP_SQUARE] = MAPPED(square), [WICK_MAP_MUL] = MAPPED(mul), [WICK_MAP_KNOWN] = MAPPED(known)};

static void scale_f32(void *acc, double scale, size_t n) {
    for (size_t j = 0; j < n; j++) ((float *)acc)[j] *= (float)scale;
}
static void scale_f64(void *acc, double scale, size_t n) {
    for (size_t j = 0; j < n; j++) ((double *)acc)[j] *= scale;
}

#define RED_ENTRY(op, t, scale_, lanes_bf16_, lanes_far_, chunks_, mapped_)                                            \
    {                                                                                                                  \
        op##_lanes_##t, lanes_bf16_, lanes_far_, chunks_, op##_add_##t, op##_fold_##t, op##_units_##t, scale_,         \
            op##_nothing_##t, mapped_                                                                                  \
    }
#define RED_ENTRIES(op, chunks_f32, mapped_)                                                                           \
    [WICK_CF32] = RED_ENTRY(op, f32, scale_f32, op##_lanes_bf16_f32, op##_lanes_far_f32, chunks_f32, mapped_),         \
    [WICK_CF64] = RED_ENTRY(op, f64, scale_f64, NULL, op##_lanes_far_f64, NULL, NULL),                                 \
    [WICK_CI32] = RED_ENTRY(op, i32, NULL, NULL, NULL, NULL, NULL),                                                    \
    [WICK_CI64] = RED_ENTRY(op, i64, NULL, NULL, op##_lanes_far_i64, NULL, NULL),                                      \
    [WICK_CU64] = RED_ENTRY(op, u64, NULL, NULL, NULL, NULL, NULL)
const wick_red_rows WICK_TIER_SYMBOL(wick_red_table_) = {
    [WICK_RED_SUM] = {RED_ENTRIES(SUM, SUM_chunks_f32, sums_mapped)},
    [WICK_RED_PROD] = {RED_ENTRIES(PROD, NULL, NULL)},
    [WICK_RED_MAX] = {RED_ENTRIES(MAX, NULL, NULL), [WICK_CBOOL] = RED_ENTRY(MAX, b8, NULL, NULL, NULL, NULL, NULL)},
    [WICK_RED_MIN] = {RED_ENTRIES(MIN, NULL, NULL), [WICK_CBOOL] = RED_ENTRY(MIN, b8, NULL, NULL, NULL, NULL, NULL)},
};
