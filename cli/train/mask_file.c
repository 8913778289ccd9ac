#include "mask_file.h"

#include "../paths.h"
#include "../report/png.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE = 8, DEPTH_AT = 24, COLOUR_AT = 25, GREY = 0, RGB = 2, PALETTE = 3 };

static uint32_t get32(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Colour k of the palette becomes the grey k, and nothing is transparent: a decoder then gives the numbers. */
static void make_palette_grey(uint8_t *png, size_t size) {
    for (size_t at = SIGNATURE; at + 12 <= size;) {
        const size_t length = get32(png + at);
        uint8_t *type = png + at + 4, *data = type + 4;
        if (length > size - at - 12) return; /* cut off, as the decoder will say */
        const bool colours = memcmp(type, "PLTE", 4) == 0, alpha = memcmp(type, "tRNS", 4) == 0;
        for (size_t i = 0; i < length && (colours || alpha); i++) data[i] = alpha ? 255 : (uint8_t)(i / 3);
        if (colours || alpha) png_put32(data + length, png_crc32(type, length + 4));
        at += length + 12;
    }
}

static wick_status check_png(wick_context *ctx, const char *path, const uint8_t *data) {
    const int depth = data[DEPTH_AT], colour = data[COLOUR_AT];
    if (depth == 16)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "%s: has 16 bits a pixel; a mask has classes of 8", path);
    if (colour != GREY && colour != RGB && colour != PALETTE)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                 "%s: has transparency (an alpha channel), which would change its numbers: save masks "
                                 "without",
                                 path);
    return WICK_OK;
}

static wick_status take(wick_context *ctx, const char *path, const wick_image *image, mask_file *out) {
    const int64_t *dims = wick_image_dims(image), area = dims[1] * dims[2];
    const uint8_t *pixels = wick_image_pixels(image, 0);
    *out = (mask_file){dims[1], dims[2], dims[0] == 3, malloc((size_t)(area * dims[0]))};
    if (!out->values) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    for (int64_t i = 0; i < area; i++)
        for (int64_t k = 0; k < dims[0]; k++) out->values[i * dims[0] + k] = pixels[k * area + i];
    return WICK_OK;
}

wick_status mask_read(wick_context *ctx, const char *path, mask_file *out) {
    static const uint8_t png[SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    size_t size;
    wick_image *image = NULL;
    *out = (mask_file){0};
    uint8_t *data = (uint8_t *)path_read(path, &size);
    if (!data) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    const bool is_png = size > COLOUR_AT && memcmp(data, png, SIGNATURE) == 0;
    const bool indexed = is_png && data[COLOUR_AT] == PALETTE;
    wick_status status = is_png ? check_png(ctx, path, data) : WICK_OK;
    if (size > 2 && data[0] == 0xFF && data[1] == 0xD8)
        status = wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                   "%s: is a JPEG, which doesn't keep numbers as they are: masks are PNG", path);
    if (status == WICK_OK && indexed) make_palette_grey(data, size);
    if (status == WICK_OK) status = wick_image_decode(ctx, data, size, path, indexed ? 1 : 0, &image);
    if (status == WICK_OK) status = take(ctx, path, image, out);
    if (status == WICK_OK && is_png && data[COLOUR_AT] == GREY && data[DEPTH_AT] < 8) {
        const int step = 255 / ((1 << data[DEPTH_AT]) - 1); /* the decoder spreads them from 0 to 255 */
        for (int64_t i = 0; i < out->height * out->width; i++) out->values[i] = (uint8_t)(out->values[i] / step);
    }
    wick_image_free(&image);
    free(data);
    return status;
}
