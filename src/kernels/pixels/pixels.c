/* pixels.c: the tier's kernels, and windows of pictures. */
#include "kernels/pixels/pixels.h"

static const wick_pixels_table *const tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_pixels_table)};

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

void wick_pixels_map(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst) {
    tiers[wick_tier_current()]->map(m, n, src, mirrored, dst);
}

static void fill(float *dst, int64_t n, float value) {
    for (int64_t i = 0; i < n; i++) dst[i] = value;
}

const wick_pixels_table *wick_pixels_kernels(void) { return tiers[wick_tier_current()]; }

void wick_pixels_window(const wick_pixel_map *m, const wick_pixel_window *w, const uint8_t *src, float *dst) {
    void (*const map)(const wick_pixel_map *, int64_t, const uint8_t *, bool, float *) =
        tiers[wick_tier_current()]->map;
    const int64_t width = w->width;
    /* rows in one piece */
    if (!w->left && !w->mirrored && !w->upturned && width == w->from_width && w->top >= 0 &&
        w->top + w->height <= w->from_height) {
        map(m, w->height * width, src + w->top * width, false, dst);
        return;
    }
    const float zero = m->table[0];
    /* outputs that have an input */
    const int64_t begin = WICK_MIN(width, WICK_MAX(0, -w->left)),
                  end = WICK_MAX(begin, WICK_MIN(width, w->from_width - w->left));
    /* where they are */
    const int64_t first = w->mirrored ? width - end : begin;
    for (int64_t y = 0; y < w->height; y++, dst += width) {
        const int64_t from = (w->upturned ? w->height - 1 - y : y) + w->top;
        if (from < 0 || from >= w->from_height || begin == end) {
            fill(dst, width, zero);
            continue;
        }
        fill(dst, first, zero);
        map(m, end - begin, src + from * w->from_width + begin + w->left, w->mirrored, dst + first);
        fill(dst + first + end - begin, width - first - (end - begin), zero);
    }
}
