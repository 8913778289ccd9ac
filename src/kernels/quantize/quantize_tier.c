/* quantize_tier.c: ranges and bytes for one tier; every tier gives the same bits.
 *
 * Dividing is slow: x / scale is first taken as x * (1 / scale), which for quotients below 256 in magnitude differs
 * from it, rounded, by less than 3 2^-16. Both round to the same whole number but within that distance of the middle
 * between two: where a step has such an element, or NaN, it is divided. */
#include <math.h>

#include "kernels/quantize/quantize.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#define QUANTIZE_INLINE static inline __attribute__((always_inline))

/* LEAST and MOST give y where x is NaN. UNSURE: are these, without signs, not below y? put: the bytes of WIDE vectors
 * of whole numbers from 0 to 255. */
enum { WIDE = 4 };
#if WICK_TIER_ID == 3
enum { LANES = 16 };
typedef __m512 reals;
typedef __mmask16 marks;
#define ALL          _mm512_set1_ps
#define LOAD         _mm512_loadu_ps
#define STORE        _mm512_storeu_ps
#define LEAST        _mm512_min_ps
#define MOST         _mm512_max_ps
#define UNSURE(x, y) _mm512_cmp_ps_mask(_mm512_abs_ps(x), y, _CMP_NLT_UQ)
#define EITHER(m, l) ((marks)((m) | (l)))
#define ANY(m)       ((m) != 0)
QUANTIZE_INLINE void put(uint8_t *q, const reals *v) {
    _Pragma("GCC unroll 4") for (int k = 0; k < WIDE; k++)
        _mm_storeu_si128((__m128i *)(void *)(q + k * LANES), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v[k])));
}
#elif WICK_TIER_ID == 2
enum { LANES = 8 };
typedef __m256 reals, marks;
#define ALL          _mm256_set1_ps
#define LOAD         _mm256_loadu_ps
#define STORE        _mm256_storeu_ps
#define LEAST        _mm256_min_ps
#define MOST         _mm256_max_ps
#define UNSURE(x, y) _mm256_cmp_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x), y, _CMP_NLT_UQ)
#define EITHER       _mm256_or_ps
#define ANY(m)       (_mm256_movemask_ps(m) != 0)
QUANTIZE_INLINE void put(uint8_t *q, const reals *v) {
    const __m256i twos = _mm256_packs_epi32(_mm256_cvtps_epi32(v[0]), _mm256_cvtps_epi32(v[1])),
                  more = _mm256_packs_epi32(_mm256_cvtps_epi32(v[2]), _mm256_cvtps_epi32(v[3]));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* packing goes within 16 bytes */
    _mm256_storeu_si256((__m256i *)(void *)q, _mm256_permutevar8x32_epi32(_mm256_packus_epi16(twos, more), order));
}
#elif WICK_TIER_ID == 1 && defined(__SSE2__)
enum { LANES = 4 };
typedef __m128 reals, marks;
#define ALL          _mm_set1_ps
#define LOAD         _mm_loadu_ps
#define STORE        _mm_storeu_ps
#define LEAST        _mm_min_ps
#define MOST         _mm_max_ps
#define UNSURE(x, y) _mm_cmpnlt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), x), y)
#define EITHER       _mm_or_ps
#define ANY(m)       (_mm_movemask_ps(m) != 0)
QUANTIZE_INLINE void put(uint8_t *q, const reals *v) {
    const __m128i twos = _mm_packs_epi32(_mm_cvtps_epi32(v[0]), _mm_cvtps_epi32(v[1])),
                  more = _mm_packs_epi32(_mm_cvtps_epi32(v[2]), _mm_cvtps_epi32(v[3]));
    _mm_storeu_si128((__m128i *)(void *)q, _mm_packus_epi16(twos, more));
}
#else
enum { LANES = 1 };
typedef float reals;
typedef int marks;
#define ALL(x)       (x)
#define LOAD(p)      (*(p))
#define STORE(p, x)  (*(p) = (x))
#define LEAST(x, y)  ((x) < (y) ? (x) : (y))
#define MOST(x, y)   ((x) > (y) ? (x) : (y))
#define UNSURE(x, y) (!(fabsf(x) < (y)))
#define EITHER(m, l) ((m) | (l))
#define ANY(m)       ((m) != 0)
QUANTIZE_INLINE void put(uint8_t *q, const reals *v) {
    for (int k = 0; k < WIDE; k++) q[k] = (uint8_t)v[k];
}
#endif
enum { STEP = WIDE * LANES };
#define MAGIC 12582912.0f /* 1.5 2^23: what is added to it is rounded to a whole number, half to even */

static void range_of(int64_t n, const float *x, float range[2]) {
    reals low[WIDE], high[WIDE];
    float lanes[2][STEP];
    const int64_t whole = n - n % STEP;
    _Pragma("GCC unroll 4") for (int k = 0; k < WIDE; k++) low[k] = high[k] = ALL(0.0f);
    for (int64_t i = 0; i < whole; i += STEP) {
        _Pragma("GCC unroll 4") for (int k = 0; k < WIDE; k++) {
            const reals v = LOAD(x + i + k * LANES);
            low[k] = LEAST(v, low[k]);
            high[k] = MOST(v, high[k]);
        }
    }
    _Pragma("GCC unroll 4") for (int k = 0; k < WIDE; k++) {
        STORE(lanes[0] + k * LANES, low[k]);
        STORE(lanes[1] + k * LANES, high[k]);
    }
    for (int k = 0; k < STEP; k++) {
        range[0] = lanes[0][k] < range[0] ? lanes[0][k] : range[0];
        range[1] = lanes[1][k] > range[1] ? lanes[1][k] : range[1];
    }
    for (int64_t i = whole; i < n; i++) {
        range[0] = x[i] < range[0] ? x[i] : range[0];
        range[1] = x[i] > range[1] ? x[i] : range[1];
    }
}

/* STEP elements by `by`. False: some may be others. */
QUANTIZE_INLINE bool step_of(const float *x, reals by, reals point, const bool divide, uint8_t *q) {
    const reals magic = ALL(MAGIC), sure = ALL(0.5f - 0x1p-13f);
    reals v[WIDE];
    marks unsure = UNSURE(ALL(0.0f), sure);
    _Pragma("GCC unroll 4") for (int k = 0; k < WIDE; k++) {
        const reals at = LOAD(x + k * LANES), quotient = divide ? at / by : at * by,
                    whole = (quotient + magic) - magic;
        if (!divide) unsure = EITHER(unsure, UNSURE(quotient - whole, sure));
        v[k] = LEAST(MOST(whole + point, ALL(0.0f)), ALL(255.0f));
    }
    put(q, v);
    return !ANY(unsure);
}

static void bytes_of(int64_t n, const float *x, float scale, float point, uint8_t *q) {
    const float inverse = 1 / scale;
    const bool near = isnormal(inverse) && isnormal(scale);
    const int64_t steps = n - n % STEP;
    for (int64_t i = 0; i < steps; i += STEP)
        if (!near || !step_of(x + i, ALL(inverse), ALL(point), false, q + i))
            step_of(x + i, ALL(scale), ALL(point), true, q + i);
    for (int64_t i = steps; i < n; i++) {
        float v = ((x[i] / scale + MAGIC) - MAGIC) + point;
        v = v > 0 ? v : 0; /* also NaN */
        q[i] = (uint8_t)(v < 255 ? v : 255);
    }
}

#define QUANTIZE_CAT_(a, b) a##b
#define QUANTIZE_CAT(a, b)  QUANTIZE_CAT_(a, b)
const wick_quantize_table QUANTIZE_CAT(wick_quantize_table_, WICK_TIER_NAME) = {.range = range_of, .bytes = bytes_of};
