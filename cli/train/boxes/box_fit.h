/* box_fit.h: how a picture becomes one of the size that a network takes, and what places in it become. */
#ifndef WICK_CLI_BOX_FIT_H
#define WICK_CLI_BOX_FIT_H

#include "wick/data.h"

enum { BOX_FIT_GREY = 114 }; /* of the bars beside a letterboxed picture */

typedef struct box_fit {
    int64_t from[2], to[2];      /* height and width */
    int64_t inner[2], before[2]; /* what the picture has of them, and the bars above it and to its left */
} box_fit;

/* Stretched, or with its shape kept and bars on two sides. */
box_fit box_fit_of(bool letterbox, int64_t height, int64_t width, int64_t to_height, int64_t to_width);
/* Points x, y, n of them, `stride` numbers apart, of the picture as it is, become those of the other, or (back) the
 * other way round. */
void box_fit_points(const box_fit *fit, bool back, int64_t n, int64_t stride, float *points);
/* Picture i of the file, [channels, to...], into pixels. */
wick_status box_fit_picture(wick_context *ctx, const wick_image *image, int64_t i, const box_fit *fit, uint8_t *pixels);

#endif
