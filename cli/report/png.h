/* png.h: small images inside a page of HTML, and as files. */
#ifndef WICK_CLI_PNG_H
#define WICK_CLI_PNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The bytes of a file, malloc'ed, of [height, width, channels] bytes, 1 channel (grey) or 3 (red, green, blue).
 * palette: the colours [256, 3] that the bytes of one channel are numbers of, or NULL. Pixels are stored, not
 * compressed. NULL: out of memory, or larger than a PNG can be. */
uint8_t *png_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, const uint8_t *palette,
                    size_t *length);
/* What chunks are made of: a number, its highest byte first, and behind it; the checksum of type and data. */
uint8_t *png_put32(uint8_t *at, uint32_t v);
uint32_t png_crc32(const uint8_t *data, size_t size);

/* Writes [height, width, channels] bytes, 1 channel (grey) or 3 (red, green, blue), as "data:image/png;base64,...".
 * Pixels are stored, not compressed: they are few. False: out of memory, or larger than a PNG can be. */
bool png_data_uri(FILE *out, const uint8_t *pixels, int64_t height, int64_t width, int channels);

#endif
