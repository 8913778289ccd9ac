/* pixels_tier.c: bytes to numbers. A look into the table is a load for every pixel; with 256 bits and more the same
 * number is quicker computed, in f64, whose rounding to f32 gives the table's bits (wick_pixel_map_make has compared
 * all 256). */
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
static inline __m128 four(__m128i words, __m256d scale, __m256d shift) {
    return _mm256_cvtpd_ps(_mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(words), scale), shift));
}
static inline __m256 eight(__m128i bytes, __m256d scale, __m256d shift) {
    const __m256i words = _mm256_cvtepu8_epi32(bytes);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(four(_mm256_castsi256_si128(words), scale, shift)),
                                four(_mm256_extracti128_si256(words, 1), scale, shift), 1);
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
        const __m256i transposed = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(dst + i,
                             _mm256_permutevar8x32_ps(
                                 eight(_mm_loadl_epi64((const __m128i *)(const void *)(src + n - 8 - i)), scale, shift),
                                 transposed));
    } else {
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(dst + i, eight(_mm_loadl_epi64((const __m128i *)(const void *)(src + i)), scale, shift));
    }
    look_up(m, n - i, mirrored ? src : src + i, mirrored, dst + i);
}
#else
static void map(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst) {
    look_up(m, n, src, mirrored, dst);
}
#endif

/* ---- plain loops, which the compiler makes vectors of ------------------------------------------------------------ */

static void mix(int64_t n, int64_t taps, const float *restrict weights, const uint8_t *restrict src, int64_t stride,
                float *restrict dst) {
    for (int64_t x = 0; x < n; x++) dst[x] = weights[0] * (float)src[x];
    for (int64_t t = 1; t < taps; t++) {
        const float w = weights[t];
        const uint8_t *row = src + t * stride;
        for (int64_t x = 0; x < n; x++) dst[x] += w * (float)row[x];
    }
}

static void pick(int64_t n, int64_t taps, const int32_t *restrict first, const float *restrict weights,
                 const float *restrict src, float scale, float shift, float *restrict dst) {
    for (int64_t x = 0; x < n; x++) dst[x] = weights[x] * src[first[x]];
    for (int64_t t = 1; t < taps; t++)
        for (int64_t x = 0; x < n; x++) dst[x] += weights[t * n + x] * src[first[x] + t];
    for (int64_t x = 0; x < n; x++) dst[x] = dst[x] * scale + shift;
}

static inline float kept(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static inline float grey_of(float r, float g, float b) { return 0.2989f * r + 0.587f * g + 0.114f * b; }

static void brighten(int64_t n, float f, float *restrict x) {
    for (int64_t i = 0; i < n; i++) x[i] = kept(x[i] * f);
}
static void blend(int64_t n, float f, float with, float *restrict x) {
    const float rest = (1 - f) * with;
    for (int64_t i = 0; i < n; i++) x[i] = kept(x[i] * f + rest);
}
static void saturate(int64_t n, float f, float *restrict r, float *restrict g, float *restrict b) {
    for (int64_t i = 0; i < n; i++) {
        const float rest = (1 - f) * grey_of(r[i], g[i], b[i]);
        r[i] = kept(r[i] * f + rest);
        g[i] = kept(g[i] * f + rest);
        b[i] = kept(b[i] * f + rest);
    }
}
static void affine(int64_t n, float scale, float shift, float *restrict x) {
    for (int64_t i = 0; i < n; i++) x[i] = x[i] * scale + shift;
}

static void share(int64_t n, float own, float rest, const float *restrict other, float *restrict x) {
    for (int64_t i = 0; i < n; i++) x[i] = own * x[i] + rest * other[i];
}

/* From sixths of a turn, hue h, saturation s and value v: channel c of 5, 3, 1 is v - v s min(k, 4 - k, 1), at least v
 * - 0, where k = (c + h) mod 6 (Smith, "Color gamut transform pairs", 1978, in its closed form). */
static inline float channel(float c, float h, float s, float v) {
    float k = c + h;
    k = k >= 6 ? k - 6 : k;
    const float rise = k < 4 - k ? k : 4 - k;
    return v - v * s * kept(rise);
}
static void turn(int64_t n, float by, float *restrict red, float *restrict green, float *restrict blue) {
    for (int64_t i = 0; i < n; i++) {
        const float r = red[i], g = green[i], b = blue[i];
        const float v0 = r > g ? r : g, v = v0 > b ? v0 : b, l0 = r < g ? r : g, l = l0 < b ? l0 : b;
        const float range = v - l, one = range > 0 ? range : 1, s = range / (v > 0 ? v : 1);
        float h = v == r ? (g - b) / one : v == g ? 2 + (b - r) / one : 4 + (r - g) / one;
        h = h < 0 ? h + 6 : h;
        h += 6 * by;
        h = h >= 6 ? h - 6 : h;
        red[i] = channel(5, h, s, v);
        green[i] = channel(3, h, s, v);
        blue[i] = channel(1, h, s, v);
    }
}

static double sum(int64_t n, const float *restrict r, const float *restrict g, const float *restrict b) {
    double part[8] = {0}, all = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) part[k] += (double)(g ? grey_of(r[i + k], g[i + k], b[i + k]) : r[i + k]);
    for (int k = 0; i < n; i++, k++) part[k] += (double)(g ? grey_of(r[i], g[i], b[i]) : r[i]);
    for (int k = 0; k < 8; k++) all += part[k];
    return all;
}

static void smooth(int64_t n, int64_t taps, const float *restrict weights, const float *restrict src, int64_t stride,
                   float scale, float shift, float *restrict dst) {
    for (int64_t x = 0; x < n; x++) dst[x] = weights[0] * src[x];
    for (int64_t t = 1; t < taps; t++) {
        const float w = weights[t], *row = src + t * stride;
        for (int64_t x = 0; x < n; x++) dst[x] += w * row[x];
    }
    for (int64_t x = 0; x < n; x++) dst[x] = dst[x] * scale + shift;
}

/* Places and weights of some outputs at a time, which all planes share. */
static void warp(int64_t n, double x, double y, double dx, double dy, int64_t planes, int64_t height, int64_t width,
                 const float *restrict src, float *restrict dst) {
    enum { SOME = 128 };
    int32_t at[4][SOME];
    float weight[4][SOME];
    for (int64_t begin = 0; begin < n; begin += SOME) {
        const int64_t m = WICK_MIN(SOME, n - begin);
        for (int64_t i = 0; i < m; i++) {
            double u = x + (double)(begin + i) * dx, v = y + (double)(begin + i) * dy;
            u = u < -2 ? -2 : u > (double)width + 1 ? (double)width + 1 : u;
            v = v < -2 ? -2 : v > (double)height + 1 ? (double)height + 1 : v;
            const int32_t left = (int32_t)(u + 4) - 4, top = (int32_t)(v + 4) - 4; /* rounded down */
            const float right = (float)(u - left), down = (float)(v - top);
            const int32_t c0 = left >= 0 && left < width ? left : 0,
                          c1 = left + 1 >= 0 && left + 1 < width ? left + 1 : 0;
            const int32_t r0 = top >= 0 && top < height ? top : 0, r1 = top + 1 >= 0 && top + 1 < height ? top + 1 : 0;
            const float x0 = left >= 0 && left < width ? 1 - right : 0,
                        x1 = left + 1 >= 0 && left + 1 < width ? right : 0;
            const float y0 = top >= 0 && top < height ? 1 - down : 0, y1 = top + 1 >= 0 && top + 1 < height ? down : 0;
            at[0][i] = r0 * (int32_t)width + c0, at[1][i] = r0 * (int32_t)width + c1;
            at[2][i] = r1 * (int32_t)width + c0, at[3][i] = r1 * (int32_t)width + c1;
            weight[0][i] = y0 * x0, weight[1][i] = y0 * x1, weight[2][i] = y1 * x0, weight[3][i] = y1 * x1;
        }
        for (int64_t p = 0; p < planes; p++) {
            const float *from = src + p * height * width;
            float *to = dst + p * height * width + begin;
            for (int64_t i = 0; i < m; i++)
                to[i] = weight[0][i] * from[at[0][i]] + weight[1][i] * from[at[1][i]] + weight[2][i] * from[at[2][i]] +
                        weight[3][i] * from[at[3][i]];
        }
    }
}

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
const wick_pixels_table PASTE(wick_pixels_table_, WICK_TIER_NAME) = {map,  mix,    pick,   brighten, blend, saturate,
                                                                     turn, affine, smooth, warp,     share, sum};
