/* pixels_tier.c: bytes to numbers. A look into the table is a load for every pixel; with 256 bits and more the same number is quicker computed, in f64, whose rounding to
 * f32 gives the table's bits (wick_pixel_map_make has compared all 256). */
#include "kernels/pixels/pixels.h"

#if WICK_TIER_ID >= 2
#include <immintrin.h>
#endif

static void look_up(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst) {
    if (mirrored)
        for (int64_t i = 0; i < n; i++) dst[i] = m->table[src[n - 1 - i]];
    else
        for (int64_t i = 0; i < n; i++) dst[i] = m->table[src[i]];
}

#if WICK_TIER_ID >= 3
static inline __m256 eight(__m128i bytes, __m512d scale, __m512d shift) {
    return _mm512_cvtpd_ps(_mm512_add_pd(_mm512_mul_pd(_mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(bytes)), scale), shift));
}
#elif WICK_TIER_ID == 2
static inline __m128 four(__m128i words, __m256d scale, __m256d shift) { return _mm256_cvtpd_ps(_mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(words), scale), shift)); }
static inline __m256 eight(__m128i bytes, __m256d scale, __m256d shift) {
    const __m256i words = _mm256_cvtepu8_epi32(bytes);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(four(_mm256_castsi256_si128(words), scale, shift)), four(_mm256_extracti128_si256(words, 1), scale, shift), 1);
}
#endif

#if WICK_TIER_ID >= 2
static void map(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst) {
    if (!m->affine) {
        look_up(m, n, src, mirrored, dst);
        return;
    }
#if WICK_TIER_ID >= 3
    const __m512d scale = _mm512_set1_pd(m->scale), shift = _mm512_set1_pd(m->shift);
#else
    const __m256d scale = _mm256_set1_pd(m->scale), shift = _mm256_set1_pd(m->shift);
#endif
    int64_t i = 0;
    if (mirrored) {
        const __m256i turned = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(dst + i, _mm256_permutevar8x32_ps(eight(_mm_loadl_epi64((const __m128i *)(const void *)(src + n - 8 - i)), scale, shift), turned));
    } else {
        for (; i + 8 <= n; i += 8) _mm256_storeu_ps(dst + i, eight(_mm_loadl_epi64((const __m128i *)(const void *)(src + i)), scale, shift));
    }
    look_up(m, n - i, mirrored ? src : src + i, mirrored, dst + i);
}
#else
static void map(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst) { look_up(m, n, src, mirrored, dst); }
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
const wick_pixels_table PASTE(wick_pixels_table_, WICK_TIER_NAME) = {map};
