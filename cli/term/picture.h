/* picture.h: an image and a table of bars, as text for a terminal. */
#ifndef WICK_CLI_PICTURE_H
#define WICK_CLI_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Whether samples of these dims can be drawn: [H, W], [1, H, W] or [3, H, W]; then shape is channels, height, width. */
bool picture_shape(int rank, const int64_t *dims, int64_t shape[3]);
/* pixels [channels, height, width], 1: grey, 3: RGB, 255 is white. Two rows of pixels a line: half blocks with color,
 * in 24 greys or 2^24 colours; ASCII shades of the luma without. */
void picture_print(FILE *out, const uint8_t *pixels, const int64_t shape[3], bool color);
/* value in [0, 1], as a bar of up to `width` characters: eighths of a block with color, '#' without. */
void picture_bar(FILE *out, double value, int width, bool color);

#endif
