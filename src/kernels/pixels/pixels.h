/* pixels.h: bytes of pictures to numbers. */
#ifndef WICK_KERNELS_PIXELS_H
#define WICK_KERNELS_PIXELS_H

#include "base/base.h"

/* What a byte becomes: table[p], which is (float)(p * scale + shift) in f64 for every p where `affine`; then tiers compute it, to the same bits. */
typedef struct wick_pixel_map {
    float table[256];
    double scale, shift;
    bool affine;
} wick_pixel_map;
/* table[p] = (float)((p / 255 - mean) / deviation), in f64. */
void wick_pixel_map_make(wick_pixel_map *m, double mean, double deviation);

/* dst[x] = table[src[x]] of n bytes; mirrored: the last byte comes first. */
void wick_pixels_map(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst);
/* The same of `planes` planes of height x width: output (y, x) is input (y + top, x + left), 0 outside; mirrored afterwards. */
void wick_pixels_window(const wick_pixel_map *m, int64_t planes, int64_t height, int64_t width, int64_t top, int64_t left, bool mirrored, const uint8_t *src, float *dst);

typedef struct wick_pixels_table {
    void (*map)(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst);
} wick_pixels_table;
extern const wick_pixels_table wick_pixels_table_ref, wick_pixels_table_base, wick_pixels_table_avx2, wick_pixels_table_avx512;

#endif
