/* picture.h: a grey image and a table of bars, as text for a terminal. */
#ifndef WICK_CLI_PICTURE_H
#define WICK_CLI_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Two rows of pixels a line: half blocks in 24 greys with color, ASCII shades without. White is 255. */
void picture_print(FILE *out, const uint8_t *pixels, int64_t height, int64_t width, bool color);
/* value in [0, 1], as a bar of up to `width` characters: eighths of a block with color, '#' without. */
void picture_bar(FILE *out, double value, int width, bool color);

#endif
