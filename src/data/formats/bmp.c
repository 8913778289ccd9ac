/* bmp.c: Windows bitmaps, read here: 1, 4, 8, 16, 24 and 32 bits a pixel, with a palette or masks, not run-length
 * encoded. Alpha is left out. */
#include "data/formats/codecs.h"

enum { FILE_HEADER = 14, CORE = 12, INFO = 40, MASKS_IN_HEADER = 52, RGB = 0, BITFIELDS = 3, ALPHA_BITFIELDS = 6 };

typedef struct bmp {
    int64_t width, height, row;          /* row: bytes, a multiple of 4 */
    uint32_t bits, masks[3], colors;     /* colors: of the palette */
    size_t pixels, palette, entry;       /* where they begin; bytes of a color */
    bool down;                           /* the first row is the top one */
} bmp;

static uint32_t get(const uint8_t *at, int bytes) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)at[i] << (8 * i);
    return v;
}

static bool is_bmp(const uint8_t *data, size_t size) {
    return size >= 18 && data[0] == 'B' && data[1] == 'M' && data[15] == 0 && data[16] == 0 && data[17] == 0;
}

static wick_status read_bmp(const uint8_t *data, size_t size, bmp *b, const char *name, wick_msg *msg) {
    *b = (bmp){0};
    const uint32_t header = get(data + FILE_HEADER, 4);
    uint32_t packing = RGB;
    if ((header != CORE && header < INFO) || header > size - FILE_HEADER)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged BMP: a header of %u bytes", name, header);
    const uint8_t *at = data + FILE_HEADER;
    if (header == CORE) {
        b->width = get(at + 4, 2), b->height = get(at + 6, 2), b->bits = get(at + 10, 2), b->entry = 3;
    } else {
        b->width = (int32_t)get(at + 4, 4), b->height = (int32_t)get(at + 8, 4), b->bits = get(at + 14, 2),
        packing = get(at + 16, 4), b->entry = 4;
        b->colors = get(at + 32, 4);
    }
    b->down = b->height < 0;
    if (b->down) b->height = -b->height;
    b->pixels = get(data + 10, 4);
    b->palette = FILE_HEADER + (size_t)header;
    const bool masked = packing == BITFIELDS || packing == ALPHA_BITFIELDS;
    if (packing != RGB && !masked)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a BMP with compression %u, which is not read", name,
                            packing);
    if (b->width < 1 || b->height < 1 || b->width > WICK_PICTURE_PIXELS_MAX || b->height > WICK_PICTURE_PIXELS_MAX)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged BMP: %lld x %lld pixels", name, (long long)b->height,
                            (long long)b->width);
    if (b->bits == 16 || b->bits == 32) {
        static const uint32_t of16[3] = {0x7c00, 0x03e0, 0x001f}, of32[3] = {0xff0000, 0xff00, 0xff};
        for (int c = 0; c < 3; c++) b->masks[c] = b->bits == 16 ? of16[c] : of32[c];
        if (masked && size < FILE_HEADER + MASKS_IN_HEADER)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged BMP: its masks are cut off", name);
        /* in the header, or behind a short one */
        for (int c = 0; c < 3 && masked; c++) b->masks[c] = get(at + INFO + 4 * c, 4);
    } else if (b->bits == 1 || b->bits == 4 || b->bits == 8) {
        if (!b->colors || b->colors > 1u << b->bits) b->colors = 1u << b->bits;
        if (b->palette > size || b->colors * b->entry > size - b->palette)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged BMP: its palette is cut off", name);
    } else if (b->bits != 24)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged BMP: %u bits a pixel", name, b->bits);
    b->row = (b->width * b->bits + 31) / 32 * 4;
    if (b->pixels > size || (uint64_t)(b->row * b->height) > size - b->pixels)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged BMP: its %lld rows of %lld bytes are cut off", name,
                            (long long)b->height, (long long)b->row);
    return WICK_OK;
}

static wick_status open_bmp(void **library, const char *name, wick_msg *msg) {
    (void)library, (void)name, (void)msg;
    return WICK_OK;
}
static void close_bmp(void **library) { *library = NULL; }

static wick_status bmp_header(void *library, const uint8_t *data, size_t size, wick_picture *p, const char *name,
                              wick_msg *msg) {
    bmp b;
    (void)library;
    WICK_TRY(read_bmp(data, size, &b, name, msg));
    *p = (wick_picture){.codec = p->codec, .channels = 3, .height = b.height, .width = b.width, .stride = 3};
    return WICK_OK;
}

/* The bits of a mask, stretched to eight. */
static uint8_t part(uint32_t v, uint32_t mask) {
    if (!mask) return 0;
    const int shift = __builtin_ctz(mask);
    const uint64_t most = mask >> shift;
    return (uint8_t)(((uint64_t)((v & mask) >> shift) * 255 + most / 2) / most);
}

static wick_status decode_bmp(void *library, const uint8_t *data, size_t size, const wick_picture *p, uint8_t *out,
                              const char *name, wick_msg *msg) {
    bmp b;
    (void)library;
    WICK_TRY(read_bmp(data, size, &b, name, msg));
    if (b.height != p->height || b.width != p->width)
        return wick_msg_set(msg, WICK_ERR_INTERNAL, "%s: another picture than its header's", name);
    for (int64_t y = 0; y < b.height; y++) {
        const uint8_t *row = data + b.pixels + (size_t)((b.down ? y : b.height - 1 - y) * b.row);
        for (int64_t x = 0; x < b.width; x++, out += 3) {
            const uint8_t *bgr = row + 3 * x;
            if (b.bits <= 8) {
                const uint32_t code =
                    row[x * b.bits / 8] >> (8 - b.bits - (uint32_t)(x * b.bits % 8)) & ((1u << b.bits) - 1);
                if (code >= b.colors)
                    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged BMP: color %u of %u", name, code, b.colors);
                bgr = data + b.palette + code * b.entry;
            } else if (b.bits != 24) {
                const uint32_t v = get(row + x * (b.bits / 8), (int)b.bits / 8);
                for (int c = 0; c < 3; c++) out[c] = part(v, b.masks[c]);
                continue;
            }
            out[0] = bgr[2], out[1] = bgr[1], out[2] = bgr[0];
        }
    }
    return WICK_OK;
}

const wick_codec wick_codec_bmp = {"BMP", WICK_PICTURE_RATIO_MAX, is_bmp, open_bmp, close_bmp, bmp_header, decode_bmp};
