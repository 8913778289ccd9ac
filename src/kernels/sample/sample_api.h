/* sample_api.h: weighted sums of rows by index, boxes of fields, and boxes without those that overlap. */
#ifndef WICK_KERNELS_SAMPLE_API_H
#define WICK_KERNELS_SAMPLE_API_H

#include "kernels/types.h"

/* Weighted sums of rows by index: x is [images, places, channels], index and weight [images, taps, rows], y
 * [images, rows, channels]. An index outside [0, places) counts for nothing. The three are the derivatives of sum
 * over everything of weight x[index] y, by each. */
typedef struct wick_taps {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    int64_t images, places, channels, rows, taps;
    int64_t parts; /* put: an image's places are cut into so many units */
} wick_taps;
/* rows of images * rows */
void wick_taps_sum(const wick_taps *t, int64_t begin, int64_t end, const void *x, const int64_t *index,
                   const void *weight, void *y);
/* units of images * parts */
void wick_taps_put(const wick_taps *t, int64_t begin, int64_t end, const void *y, const int64_t *index,
                   const void *weight, void *x);
/* rows */
void wick_taps_dot(const wick_taps *t, int64_t begin, int64_t end, const void *x, const int64_t *index, const void *y,
                   void *weight);

/* Boxes of fields: x is [images, channels, height, width], y [boxes, channels, out], boxes are x1, y1, x2, y2. */
typedef struct wick_roi {
    wick_ctype type, box_type; /* WICK_CF32 or WICK_CF64 */
    /* samples of a bin, each way; 0: as many as elements, rounded up */
    int64_t images, channels, height, width, boxes, out[2], samples;
    double scale;                                                   /* elements per unit of the boxes */
    /* half an element back; boxes may be smaller than one */
    bool aligned;
} wick_roi;
/* The mean (or the largest part of a sample) of each bin, boxes [begin, end); and the gradient of the mean, channels
 * [begin, end). They return -1, or the first box that is of no image. */
int64_t wick_roi_bins(const wick_roi *r, bool max, int64_t begin, int64_t end, const void *x, const void *boxes,
                      const int64_t *image, void *y);
int64_t wick_roi_put(const wick_roi *r, int64_t begin, int64_t end, const void *y, const void *boxes,
                     const int64_t *image, void *x);
/* Boxes [images, boxes, 4] by falling scores [images, classes, boxes], without those that overlap a kept one by more
 * than `overlap` of their union: at most `most` for each class of an image, -1 after the last. scratch: boxes int64.
 * Runs rows [begin, end) of images * classes. */
typedef struct wick_suppression {
    wick_ctype type;
    int64_t classes, boxes, most;
    double overlap, least; /* by_score: only scores above `least` */
    bool by_score, center; /* center: boxes are x, y of their middle, and sizes; otherwise two opposite corners */
} wick_suppression;
void wick_suppress(const wick_suppression *s, int64_t begin, int64_t end, const void *boxes, const void *scores,
                   int64_t *kept, int64_t *count, int64_t *scratch);

#endif
