/* png.h: small images inside a page of HTML. */
#ifndef WICK_CLI_PNG_H
#define WICK_CLI_PNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes [height, width, channels] bytes, 1 channel (grey) or 3 (red, green, blue), as "data:image/png;base64,...".
 * Pixels are stored, not compressed: they are few. False: out of memory, or larger than a PNG can be. */
bool png_data_uri(FILE *out, const uint8_t *pixels, int64_t height, int64_t width, int channels);

#endif
