/* pixels.h: bytes of pictures to numbers. */
#ifndef WICK_KERNELS_PIXELS_H
#define WICK_KERNELS_PIXELS_H

#include "base/base.h"

/* What a byte becomes: table[p], which is (float)(p * scale + shift) in f64 for every p where `affine`; then tiers
 * compute it, to the same bits. */
typedef struct wick_pixel_map {
    float table[256];
    double scale, shift;
    bool affine;
} wick_pixel_map;
/* table[p] = (float)((p / 255 - mean) / deviation), in f64. */
void wick_pixel_map_make(wick_pixel_map *m, double mean, double deviation);

/* dst[x] = table[src[x]] of n bytes; mirrored: the last byte comes first. */
void wick_pixels_map(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst);
/* A part of a plane: output (y, x), of height x width, is input (y + top, x + left), 0 outside; afterwards mirrored
 * left and right, upturned top and bottom. */
typedef struct wick_pixel_window {
    int64_t from_height, from_width, top, left, height, width;
    bool mirrored, upturned;
} wick_pixel_window;
void wick_pixels_window(const wick_pixel_map *m, const wick_pixel_window *w, const uint8_t *src, float *dst);

/* The rest is elementwise in f32, without fused multiply-adds: the same bits on every tier. Colours are from 0 to 1 and
 * stay there. r, g, b are planes of n. */
typedef struct wick_pixels_table {
    void (*map)(const wick_pixel_map *m, int64_t n, const uint8_t *src, bool mirrored, float *dst);
    /* dst[x] = sum over t of weights[t] * src[t * stride + x] */
    void (*mix)(int64_t n, int64_t taps, const float *weights, const uint8_t *src, int64_t stride, float *dst);
    /* dst[x] = sum over t of weights[t * n + x] * src[first[x] + t], times scale plus shift */
    void (*pick)(int64_t n, int64_t taps, const int32_t *first, const float *weights, const float *src, float scale,
                 float shift, float *dst);
    void (*brighten)(int64_t n, float f, float *x);
    void (*blend)(int64_t n, float f, float with, float *x); /* f x + (1 - f) with */
    void (*saturate)(int64_t n, float f, float *r, float *g, float *b); /* f x + (1 - f) grey; f 0: all grey */
    void (*turn)(int64_t n, float h, float *r, float *g, float *b);     /* the hue by h of a turn, 0 <= h < 1 */
    void (*affine)(int64_t n, float scale, float shift, float *x);
    /* dst[x] = sum over t of weights[t] * src[t * stride + x], times scale plus shift */
    void (*smooth)(int64_t n, int64_t taps, const float *weights, const float *src, int64_t stride, float scale,
                   float shift, float *dst);
    /* Output i is what lies at (x + i dx, y + i dy), where the middle of a pixel is a whole number: bilinear, 0
     * outside. Planes of height x width lie behind each other in src, and in dst, which points to a row of the first.
     */
    void (*warp)(int64_t n, double x, double y, double dx, double dy, int64_t planes, int64_t height, int64_t width,
                 const float *src, float *dst);
    void (*share)(int64_t n, float own, float rest, const float *other, float *x); /* own x + rest other */
    /* of grey, or of r where g is NULL: eight sums, folded in order */
    double (*sum)(int64_t n, const float *r, const float *g, const float *b);
} wick_pixels_table;
const wick_pixels_table *wick_pixels_kernels(void); /* of the current tier */
extern const wick_pixels_table wick_pixels_table_ref, wick_pixels_table_base, wick_pixels_table_avx2,
    wick_pixels_table_avx512;

#endif
