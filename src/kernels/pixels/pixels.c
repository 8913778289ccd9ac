/* pixels.c: the tier's kernels, and windows of pictures. */
#include "kernels/pixels/pixels.h"

static const wick_pixels_table *const tiers[WICK_TIER_COUNT] = {
    [WICK_TIER_REF] = &wick_pixels_table_ref,
    [WICK_TIER_BASE] = &wick_pixels_table_base,
#if defined(__x86_64__)
    [WICK_TIER_AVX2] = &wick_pixels_table_avx2,
    [WICK_TIER_AVX512] = &wick_pixels_table_avx512,
#endif
};

void wick_pixel_map_make(wick_pixel_map *m, double mean, double deviation) {
    m->scale = 1 / (255 * deviation);
    m->shift = -mean / deviation;
    m->affine = true;
    for (int p = 0; p < 256; p++) {
        const double product = p * m->scale;
        const float value = (float)(product + m->shift);
        m->table[p] = (float)((p / 255.0 - mean) / deviation);
        m->affine = m->affine && memcmp(&value, &m->table[p], sizeof value) == 0;
    }
}

void wick_pixels_map(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst) { tiers[wick_tier_current()]->map(m, n, src, mirrored, dst); }

static void fill(float *dst, int64_t n, float value) {
    for (int64_t i = 0; i < n; i++) dst[i] = value;
}

void wick_pixels_window(const wick_pixel_map *m, int64_t planes, int64_t height, int64_t width, int64_t top, int64_t left, bool mirrored, const uint8_t *src, float *dst) {
    void (*const map)(const wick_pixel_map *, int64_t, const uint8_t *, bool, float *) = tiers[wick_tier_current()]->map;
    if (!top && !left && !mirrored) {
        map(m, planes * height * width, src, false, dst);
        return;
    }
    const float zero = m->table[0];
    const int64_t begin = WICK_MIN(width, WICK_MAX(0, -left)), end = WICK_MAX(begin, WICK_MIN(width, width - left)); /* outputs that have an input */
    const int64_t first = mirrored ? width - end : begin;                                                           /* where they are */
    for (int64_t p = 0; p < planes; p++)
        for (int64_t y = 0; y < height; y++, dst += width) {
            const int64_t from = y + top;
            if (from < 0 || from >= height || begin == end) {
                fill(dst, width, zero);
                continue;
            }
            fill(dst, first, zero);
            map(m, end - begin, src + (p * height + from) * width + begin + left, mirrored, dst + first);
            fill(dst + first + end - begin, width - first - (end - begin), zero);
        }
}
