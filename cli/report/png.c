/* PNG (ISO/IEC 15948): chunks of length, type, data and CRC-32; the pixels are rows behind a filter byte in a zlib
 * stream (RFC 1950) of stored blocks (RFC 1951, 3.2.4) that ends in their Adler-32. */
#include "png.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 65535, MOST_SIDE = 1 << 20 };

uint8_t *png_put32(uint8_t *at, uint32_t v) {
    for (int shift = 24; shift >= 0; shift -= 8) *at++ = (uint8_t)(v >> shift);
    return at;
}

uint32_t png_crc32(const uint8_t *data, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

static uint32_t adler32_of(const uint8_t *data, size_t size) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < size; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* A chunk whose data stand at `at` + 8 already; returns where the next one begins. */
static uint8_t *close_chunk(uint8_t *at, const char *type, size_t size) {
    png_put32(at, (uint32_t)size);
    memcpy(at + 4, type, 4);
    return png_put32(at + 8 + size, png_crc32(at + 4, 4 + size));
}

static uint8_t *put_zlib(uint8_t *at, const uint8_t *raw, size_t size) {
    *at++ = 0x78; /* deflate, window of 32 KiB */
    *at++ = 0x01; /* makes the two bytes a multiple of 31 */
    for (size_t done = 0; done < size;) {
        size_t n = size - done < BLOCK ? size - done : BLOCK;
        *at++ = done + n == size;
        for (int half = 0; half < 2; half++) { /* the length, then its complement, low byte first */
            uint16_t length = (uint16_t)(half ? ~n : n);
            *at++ = (uint8_t)length;
            *at++ = (uint8_t)(length >> 8);
        }
        memcpy(at, raw + done, n);
        at += n;
        done += n;
    }
    return png_put32(at, adler32_of(raw, size));
}

static void write_base64(FILE *out, const uint8_t *data, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++) v = v << 8 | (i + k < size ? data[i + k] : 0);
        for (size_t k = 0; k < 4; k++) fputc(i + k > size ? '=' : digits[v >> (18 - 6 * k) & 63], out);
    }
}

uint8_t *png_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, const uint8_t *palette,
                    size_t *length) {
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    enum { PALETTE = 3 * 256 };
    *length = 0;
    if (height < 1 || width < 1 || height > MOST_SIDE || width > MOST_SIDE) return NULL;
    size_t row = (size_t)width * (size_t)channels, raw_size = (row + 1) * (size_t)height;
    if (raw_size > INT32_MAX / 2) return NULL;
    size_t zlib_size = 2 + raw_size + (raw_size + BLOCK - 1) / BLOCK * 5 + 4;
    size_t size = sizeof signature + (12 + 13) + (palette ? 12 + PALETTE : 0) + (12 + zlib_size) + 12;
    uint8_t *png = malloc(size), *raw = malloc(raw_size);
    if (png && raw) {
        for (size_t y = 0; y < (size_t)height; y++) {
            raw[y * (row + 1)] = 0; /* no filter */
            memcpy(raw + y * (row + 1) + 1, pixels + y * row, row);
        }
        memcpy(png, signature, sizeof signature);
        uint8_t *at = png + sizeof signature, *header = png_put32(png_put32(at + 8, (uint32_t)width), (uint32_t)height);
        const uint8_t rest[5] = {8, palette ? 3 : channels == 3 ? 2 : 0, 0, 0, 0}; /* bits, colour type, methods */
        memcpy(header, rest, sizeof rest);
        at = close_chunk(at, "IHDR", 13);
        if (palette) {
            memcpy(at + 8, palette, PALETTE);
            at = close_chunk(at, "PLTE", PALETTE);
        }
        put_zlib(at + 8, raw, raw_size);
        at = close_chunk(at, "IDAT", zlib_size);
        close_chunk(at, "IEND", 0);
        *length = size;
    } else {
        free(png);
        png = NULL;
    }
    free(raw);
    return png;
}

bool png_data_uri(FILE *out, const uint8_t *pixels, int64_t height, int64_t width, int channels) {
    size_t size;
    uint8_t *png = png_encode(pixels, height, width, channels, NULL, &size);
    if (!png) return false;
    fputs("data:image/png;base64,", out);
    write_base64(out, png, size);
    free(png);
    return true;
}
