/* media.c: recordings and pictures. Most mutants are made anew as a writer of the format would, of any of its kinds,
 * with at most one fault; the others are an input with a chunk changed, and sums made right. */
#include <stdio.h>

#include "base/inflate.h"
#include "fuzz.h"

static uint64_t read_big(const uint8_t *at, int n) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v = v << 8 | at[i];
    return v;
}
static void set_little(uint8_t *at, uint64_t v, int n) { fuzz_little(&(fuzz_buffer){at, 0, (size_t)n, false}, v, n); }
static void set_big(uint8_t *at, uint64_t v, int n) { fuzz_big(&(fuzz_buffer){at, 0, (size_t)n, false}, v, n); }
static void put_random(fuzz_buffer *b, size_t n, fuzz_random *r) {
    while (n--) fuzz_put(b, &(uint8_t){(uint8_t)fuzz_next(r)}, 1);
}

/* ---- WAV --------------------------------------------------------------------------------------------------------- */

FUZZ_TARGET(wav) {
    wick_context *ctx = fuzz_context();
    wick_audio *audio;
    if (wick_audio_decode(ctx, data, size, "file", (int64_t)(size % 3 ? 0 : 1), &audio) != WICK_OK) {
        FUZZ_PROMISE(strstr(wick_context_error(ctx), "file"));
        return 0;
    }
    const int64_t channels = wick_audio_channels(audio), length = wick_audio_length(audio);
    for (int64_t i = 0; i < channels; i++) fuzz_touch(wick_audio_samples(audio, i), (size_t)length * sizeof(float));
    wick_audio_free(&audio);
    return 1;
}

/* A chunk of RIFF: its size, and a byte more where that is odd. */
static void put_riff(fuzz_buffer *b, const char *id, const void *data, size_t n) {
    fuzz_put(b, id, 4), fuzz_little(b, n, 4);
    fuzz_put(b, data, n);
    fuzz_put(b, "", n % 2);
}
static void put_others(fuzz_buffer *b, fuzz_random *r) {
    static const char *const ids[] = {"LIST", "fact", "JUNK", "bext", "cue ", "EXIF", "ICCP"};
    while (fuzz_chance(r, 30)) put_riff(b, FUZZ_PICK(r, ids), "abcdefghijklmnop", fuzz_below(r, 17));
}
static size_t make_wav(uint8_t *to, size_t max, fuzz_random *r) {
    static const uint8_t guid[14] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71},
                         float_bits[] = {32, 64}, pcm_bits[] = {8, 16, 24, 32};
    static const int strange[] = {0, 2, 6, 7, 0xFFFE, 0xFFFF}, widths[] = {0, 1, 12, 20, 33, 40, 65535};
    uint8_t format[48] = {0};
    const size_t fault = fuzz_fault(r, 12);
    const bool extensible = fuzz_chance(r, 30);
    int kind = fuzz_chance(r, 40) ? 3 : 1, bits = kind == 3 ? FUZZ_PICK(r, float_bits) : FUZZ_PICK(r, pcm_bits);
    const size_t channels = fault == 1 ? 0 : 1 + fuzz_below(r, 5), frame = channels * (size_t)bits / 8,
                 frames = fuzz_below(r, 60);
    if (fault == 2) kind = FUZZ_PICK(r, strange);
    if (fault == 3) bits = FUZZ_PICK(r, widths);
    fuzz_buffer f = {format, 0, sizeof format, false};
    fuzz_little(&f, (uint64_t)(extensible ? 0xFFFE : kind), 2), fuzz_little(&f, channels, 2),
        fuzz_little(&f, fault == 4 ? 0 : 1 + fuzz_next(r) % 96000, 4);
    fuzz_little(&f, fuzz_next(r), 4), fuzz_little(&f, frame + (fault == 5), 2), fuzz_little(&f, (uint64_t)bits, 2);
    if (extensible) {
        fuzz_little(&f, 22, 2), fuzz_little(&f, (uint64_t)(bits + (fault == 6)), 2), fuzz_little(&f, 3, 4),
            fuzz_little(&f, (uint64_t)kind, 2);
        fuzz_put(&f, guid, sizeof guid);
    }
    if (fuzz_chance(r, 20)) fuzz_little(&f, 0, 2);
    if (fault == 7) f.n = fuzz_below(r, f.n), f.n += f.n == 16;
    fuzz_buffer b = {to, 0, max, false};
    fuzz_put(&b, fault == 8 ? "RF64\0\0\0\0WAVE" : "RIFF\0\0\0\0WAVE", 12);
    put_others(&b, r);
    if (fault != 9) put_riff(&b, "fmt ", format, f.n);
    put_others(&b, r);
    const size_t at = b.n, bytes = frames * frame;
    /* all ones: to the end */
    fuzz_put(&b, "data", 4), fuzz_little(&b, fuzz_chance(r, 10) ? UINT32_MAX : bytes + (fault == 10), 4);
    put_random(&b, bytes, r);
    fuzz_put(&b, "", bytes % 2);
    put_others(&b, r);
    if (fault == 11) b.n -= fuzz_below(r, b.n - at);
    if (fault == 12) b.n = at;
    if (b.full || b.n < 12) return 0;
    set_little(to + 4, b.n - 8, 4);
    return b.n;
}

/* A chunk of a file: its size, its name, or a byte. */
static size_t change_riff(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    size_t at[16], n = 0;
    for (size_t i = 12; i + 8 <= size && n < 16;) {
        at[n++] = i;
        const size_t length =
            data[i + 4] | (size_t)data[i + 5] << 8 | (size_t)data[i + 6] << 16 | (size_t)data[i + 7] << 24;
        if (length > size - i - 8) break;
        i += 8 + length + (length & 1);
    }
    if (!n || fuzz_chance(r, 15)) return fuzz_bytes(data, size, max);
    uint8_t *c = data + at[fuzz_below(r, n)];
    const size_t left = size - (size_t)(c - data);
    switch (fuzz_below(r, 6)) {
    case 0: set_little(c + 4, (uint64_t)fuzz_integer(r), 4); break;
    case 1: /* a chunk more in front */
        if (size + 12 > max) break;
        memmove(c + 12, c, left);
        memcpy(c, "LIST\4\0\0\0abcd", 12);
        size += 12;
        break;
    case 2: memcpy(c, fuzz_chance(r, 50) ? "data" : "fmt ", 4); break;
    case 3: size -= fuzz_below(r, left); break;
    default:
        if (left > 8) c[8 + fuzz_below(r, left - 8)] ^= (uint8_t)(1u << fuzz_below(r, 8));
    }
    set_little(data + 4, size - 8, 4);
    return size;
}
FUZZ_MUTATOR(wav) {
    const size_t made = fuzz_chance(r, 65) ? make_wav(data, max, r) : 0;
    return made ? made : change_riff(data, size, max, r);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

FUZZ_TARGET(image) {
    wick_context *ctx = fuzz_context();
    wick_image *image, *small;
    if (wick_image_decode(ctx, data, size, "file", size % 4 == 0 ? 1 : size % 4 == 1 ? 3 : 0, &image) != WICK_OK) {
        FUZZ_PROMISE(strstr(wick_context_error(ctx), "file"));
        return 0;
    }
    const int64_t *dims = wick_image_dims(image);
    for (int64_t i = 0; i < wick_image_count(image); i++)
        fuzz_touch(wick_image_pixels(image, i), (size_t)(dims[0] * dims[1] * dims[2]));
    if (dims[1] * dims[2] < 1 << 16 && wick_image_resize(ctx, image, 3, 5, &small) == WICK_OK) wick_image_free(&small);
    wick_image_free(&image);
    return 1;
}

static size_t make_bmp(uint8_t *to, size_t max, fuzz_random *r) {
    static const uint8_t headers[] = {12, 40, 52, 56, 64, 108, 124}, depths[] = {1, 4, 8, 16, 24, 32};
    static const uint32_t masks[] = {0xff,   0xff00, 0xff0000, 0xff000000, 0x7c00,     0x3e0,     0x1f,
                                     0xf800, 0,      1,        0x80000000, 0xffffffff, 0x3ff00000};
    fuzz_buffer b = {to, 0, max, false};
    const size_t fault = fuzz_fault(r, 11), header = FUZZ_PICK(r, headers),
                 bits = fault == 1 ? fuzz_below(r, 40) : FUZZ_PICK(r, depths);
    const bool core = header == 12, masked = !core && (bits == 16 || bits == 32) && fuzz_chance(r, 60),
               behind = masked && header == 40;
    const size_t full = bits <= 8 ? (size_t)1 << bits : 0,
                 few = !core && fuzz_chance(r, 40) ? fuzz_below(r, full + 2) : 0;
    const size_t colors = few && few < full ? few : full, palette = bits <= 8 ? colors * (core ? 3 : 4) : 0,
                 gap = fuzz_chance(r, 20) ? fuzz_below(r, 9) : 0;
    const int64_t width = 1 + (int64_t)fuzz_below(r, 20), height = 1 + (int64_t)fuzz_below(r, 12),
                  down = !core && fuzz_chance(r, 30) ? -height : height;
    const size_t first = 14 + header + (behind ? 12 : 0) + palette + gap, row = ((size_t)width * bits + 31) / 32 * 4;
    fuzz_put(&b, "BM", 2), fuzz_little(&b, first + row * (size_t)height, 4), fuzz_little(&b, 0, 4);
    fuzz_little(&b, fault == 2 ? (uint64_t)fuzz_integer(r) : first, 4),
        fuzz_little(&b, fault == 3 ? fuzz_below(r, 200) : header, 4);
    const uint64_t w = fault == 4 ? (uint64_t)fuzz_integer(r) : (uint64_t)width,
                   h = fault == 5 ? (uint64_t)fuzz_integer(r) : (uint64_t)down;
    fuzz_little(&b, w, core ? 2 : 4), fuzz_little(&b, h, core ? 2 : 4), fuzz_little(&b, 1, 2), fuzz_little(&b, bits, 2);
    if (!core) {
        fuzz_little(&b,
                    fault == 6 ? fuzz_below(r, 8)
                    : masked   ? fuzz_chance(r, 80) ? 3 : 6
                               : 0,
                    4),
            fuzz_little(&b, row * (size_t)height, 4), fuzz_little(&b, 0, 8);
        fuzz_little(&b, fault == 7 ? (uint64_t)fuzz_integer(r) : few, 4), fuzz_little(&b, 0, 4);
        for (size_t i = 40; i < header || (behind && i < 52); i += 4)
            fuzz_little(&b, masked && i < 56 ? FUZZ_PICK(r, masks) : 0, 4);
    }
    put_random(&b, palette + gap, r);
    for (size_t y = 0; y < (size_t)height; y++)
        for (size_t i = 0; i < row; i++) { /* colours that the palette has, mostly */
            const uint8_t byte = (uint8_t)fuzz_next(r), one = bits == 8 ? byte % (uint8_t)(colors < 256 ? colors : 255)
                                                              : bits == 4               ? (uint8_t)(byte % colors * 17)
                                                              : bits == 1 && colors < 2 ? 0
                                                                                        : byte;
            fuzz_put(&b, bits == 8 || bits == 4 || bits == 1 ? fault == 8 ? &byte : &one : &byte, 1);
        }
    if (fault == 9) b.n -= 1 + fuzz_below(r, row);
    if (fault == 10) b.n = 14 + fuzz_below(r, WICK_MIN(b.n - 14, header + 60));
    if (fault == 11) put_random(&b, 3, r);
    return b.full ? 0 : b.n;
}

static void put_chunk(fuzz_buffer *b, const char *kind, const void *data, size_t n) {
    fuzz_big(b, n, 4);
    const size_t at = b->n;
    fuzz_put(b, kind, 4), fuzz_put(b, data, n);
    if (!b->full) fuzz_big(b, wick_crc32(0, b->at + at, n + 4), 4);
}
static void put_rows(fuzz_buffer *b, size_t width, size_t height, size_t bits, bool wrong, fuzz_random *r) {
    for (size_t y = 0; y < height && width; y++) {
        fuzz_little(b, wrong ? 5 : fuzz_below(r, 5), 1); /* the filter */
        put_random(b, (width * bits + 7) / 8, r);
    }
}
size_t fuzz_make_png(uint8_t *to, size_t max, fuzz_random *r) {
    static const struct {
        uint8_t color, depth, channels;
    } kinds[] = {{0, 1, 1}, {0, 2, 1}, {0, 4, 1}, {0, 8, 1}, {0, 16, 1}, {2, 8, 3}, {2, 16, 3}, {3, 1, 1},
                 {3, 2, 1}, {3, 4, 1}, {3, 8, 1}, {4, 8, 2}, {4, 16, 2}, {6, 8, 4}, {6, 16, 4}};
    static const struct {
        uint8_t x, y, dx, dy;
    } passes[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                  {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}; /* Adam7 */
    static const char *const others[] = {"tEXtkey\0value", "gAMA\0\0\xb1\x8f", "tIME\7\xe9\1\2\3\4\5", "zzZzabc",
                                         "pHYs\0\0\0\1\0\0\0\1\1"};
    static const uint8_t sizes[] = {9, 4, 7, 3, 9};
    static uint8_t room[1 << 14], packed[1 << 14];
    fuzz_buffer b = {to, 0, max, false}, rows = {room, 0, sizeof room, false}, z = {packed, 0, sizeof packed, false};
    const size_t fault = fuzz_fault(r, 12), k = fuzz_below(r, WICK_COUNTOF(kinds)),
                 bits = (size_t)kinds[k].depth * kinds[k].channels;
    const size_t width = 1 + fuzz_below(r, 20), height = 1 + fuzz_below(r, 12);
    const bool interlaced = fuzz_chance(r, 30);
    if (!interlaced) put_rows(&rows, width, height, bits, fault == 1, r);
    for (size_t i = 0; interlaced && i < 7; i++)
        put_rows(&rows, (width - passes[i].x + passes[i].dx - 1) / passes[i].dx * (width > passes[i].x),
                 (height - passes[i].y + passes[i].dy - 1) / passes[i].dy * (height > passes[i].y), bits, fault == 1,
                 r);
    if (fault == 2) rows.n -= 1 + fuzz_below(r, rows.n);
    if (fault == 3) put_random(&rows, 9, r);
    fuzz_deflate(&z, 15, room, rows.n);
    if (fault == 4) packed[fuzz_below(r, z.n)] ^= (uint8_t)(1u << fuzz_below(r, 8));
    uint8_t head[13] = {0};
    set_big(head, fault == 5 ? (uint64_t)fuzz_integer(r) : width, 4),
        set_big(head + 4, fault == 6 ? (uint64_t)fuzz_integer(r) : height, 4);
    head[8] = fault == 7 ? (uint8_t)fuzz_below(r, 18) : kinds[k].depth,
    head[9] = fault == 8 ? (uint8_t)fuzz_below(r, 8) : kinds[k].color, head[12] = interlaced;
    fuzz_put(&b, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(&b, "IHDR", head, 13);
    const size_t o = fuzz_below(r, 5), colors = kinds[k].color == 3                        ? (size_t)1 << kinds[k].depth
                                                : fuzz_chance(r, 10) && kinds[k].color & 2 ? 3
                                                                                           : 0;
    if (fuzz_chance(r, 30)) put_chunk(&b, others[o], others[o] + 4, sizes[o]);
    if (colors && fault != 9) put_chunk(&b, "PLTE", room, 3 * colors - (fault == 10));
    if (fuzz_chance(r, 30) && kinds[k].color < 4)
        put_chunk(&b, "tRNS", "\0\1\0\2\0\3",
                  kinds[k].color == 0   ? 2
                  : kinds[k].color == 2 ? 6
                                        : 1 + fuzz_below(r, WICK_MIN(colors, 6)));
    for (size_t at = 0, n; at < z.n; at += n) put_chunk(&b, "IDAT", packed + at, n = 1 + fuzz_below(r, z.n - at));
    if (fuzz_chance(r, 30)) put_chunk(&b, others[o], others[o] + 4, sizes[o]);
    if (fault == 11 && b.n > 8) to[8 + fuzz_below(r, b.n - 8)]++;
    if (fault != 12) put_chunk(&b, "IEND", "", 0);
    return b.full || rows.full || z.full ? 0 : b.n;
}

typedef struct bits {
    fuzz_buffer *b;
    unsigned left, n;
} bits;
static void put_bits(bits *s, unsigned v, unsigned n) { /* the highest bit first; a zero behind each 0xff */
    for (; n--; s->n = (s->n + 1) % 8) {
        s->left = s->left << 1 | (v >> n & 1);
        if (s->n == 7)
            fuzz_put(s->b, s->left % 256 == 255 ? "\xff" : &(char){(char)s->left}, s->left % 256 == 255 ? 2 : 1);
    }
}
/* Tables of three codes: 0 is "no change" or the end of a block, 10 has two or one bits behind it. Blocks of a few
 * coefficients. */
static size_t make_jpeg(uint8_t *to, size_t max, fuzz_random *r) {
    fuzz_buffer b = {to, 0, max, false};
    const size_t fault = fuzz_fault(r, 9), parts = fuzz_chance(r, 40) ? 1 : 3, across = 1 + fuzz_below(r, 2),
                 down = 1 + fuzz_below(r, 2);
    const size_t width = 1 + fuzz_below(r, 40), height = 1 + fuzz_below(r, 30),
                 interval = fuzz_chance(r, 30) ? 1 + fuzz_below(r, 3) : 0;
    const bool progressive = fuzz_chance(r, 30); /* its first scan alone, which is a picture already */
    fuzz_put(&b, "\xff\xd8", 2);
    if (fuzz_chance(r, 70)) fuzz_put(&b, "\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0", 18);
    if (fuzz_chance(r, 20)) fuzz_put(&b, "\xff\xfe\0\4hi", 6);
    if (fuzz_chance(r, 10)) fuzz_put(&b, "\xff\xee\0\x0e" "Adobe\0\x64\0\0\0\0\1", 16);
    fuzz_put(&b, "\xff\xdb\0\x43\0", 5);
    for (int i = 0; i < 64; i++) fuzz_little(&b, fault == 1 ? 0 : 1 + fuzz_below(r, 255), 1);
    fuzz_put(&b, progressive ? "\xff\xc2\0" : "\xff\xc0\0", 3), fuzz_little(&b, 8 + 3 * parts, 1),
        fuzz_little(&b, fault == 2 ? 12 : 8, 1);
    fuzz_big(&b, fault == 3 ? 0 : height, 2), fuzz_big(&b, width, 2), fuzz_little(&b, parts, 1);
    for (size_t i = 0; i < parts; i++)
        fuzz_little(&b, i + 1, 1), fuzz_little(&b, i ? 0x11 : across << 4 | down, 1),
            fuzz_little(&b, fault == 4 ? 3 : 0, 1);
    for (int i = 0; i < 2 - (fault == 5); i++) { /* of the first coefficients, and of the others */
        fuzz_put(&b, "\xff\xc4\0\x15", 4), fuzz_little(&b, i ? 0x10 : 0, 1), fuzz_little(&b, 0x0101, 8),
            fuzz_little(&b, 0, 8);
        fuzz_little(&b, 0, 1), fuzz_little(&b, i ? 0x11 : 2, 1);
    }
    if (interval) fuzz_put(&b, "\xff\xdd\0\4\0", 5), fuzz_little(&b, interval, 1);
    fuzz_put(&b, "\xff\xda\0", 3), fuzz_little(&b, 6 + 2 * parts, 1), fuzz_little(&b, parts, 1);
    for (size_t i = 0; i < parts; i++) fuzz_little(&b, i + 1, 1), fuzz_little(&b, 0, 1);
    fuzz_put(&b, progressive ? "\0\0\0" : "\0\x3f\0", 3);
    const size_t mx = 8 * (parts > 1 ? across : 1), my = 8 * (parts > 1 ? down : 1),
                 units = ((width + mx - 1) / mx) * ((height + my - 1) / my);
    const size_t blocks = parts > 1 ? across * down + 2 : 1;
    bits s = {&b, 0, 0};
    for (size_t i = 0; i < units - (fault == 6); i++) {
        if (interval && i && i % interval == 0) {
            while (s.n) put_bits(&s, 1, 1);
            fuzz_put(&b, "\xff", 1), fuzz_little(&b, 0xd0 + (i / interval - 1 + (fault == 7)) % 8, 1);
        }
        for (size_t k = 0; k < blocks; k++) {
            if (fuzz_chance(r, 50)) put_bits(&s, 0, 1);
            else put_bits(&s, 2, 2), put_bits(&s, (unsigned)fuzz_below(r, 4), 2);
            for (size_t c = progressive ? 0 : fuzz_below(r, 6); c--;)
                put_bits(&s, 2, 2), put_bits(&s, (unsigned)fuzz_below(r, 2), 1);
            if (!progressive) put_bits(&s, 0, 1);
        }
    }
    while (s.n) put_bits(&s, 1, 1);
    if (fault != 8) fuzz_put(&b, "\xff\xd9", 2);
    if (fault == 9 && b.n > 2) to[fuzz_below(r, b.n)] ^= (uint8_t)(1u << fuzz_below(r, 8));
    return b.full ? 0 : b.n;
}

/* A chunk of a PNG file, with its sum made right. */
static size_t change_png(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    size_t at[32], n = 0;
    for (size_t i = 8; i + 12 <= size && n < 32;) {
        const size_t length = (size_t)read_big(data + i, 4);
        if (length > size - i - 12) break;
        at[n++] = i;
        i += 12 + length;
    }
    if (!n) return fuzz_bytes(data, size, max);
    const size_t k = fuzz_below(r, n);
    uint8_t *c = data + at[k];
    const size_t length = (size_t)read_big(c, 4);
    switch (fuzz_below(r, 4)) {
    case 0: /* again */
        if (size + 12 + length > max) break;
        memmove(c + 12 + length, c, size - at[k]);
        return size + 12 + length;
    case 1: /* not at all */
        memmove(c, c + 12 + length, size - at[k] - 12 - length);
        return size - 12 - length;
    case 2:
        memcpy(c + 4,
               FUZZ_PICK(r, ((const char *const[]){"tRNS", "PLTE", "IDAT", "IEND", "gAMA", "sPLT", "iCCP", "zTXt"})),
               4);
        break;
    default:
        if (length) c[8 + fuzz_below(r, length)] = (uint8_t)fuzz_next(r);
    }
    set_big(c + 8 + length, wick_crc32(0, c + 4, length + 4), 4);
    return size;
}
/* A marker of a JPEG file. */
static size_t change_jpeg(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    size_t at = 2;
    for (size_t steps = fuzz_below(r, 12); steps-- && at + 4 < size && data[at] == 0xff && data[at + 1] != 0xda;)
        at += 2 + (size_t)read_big(data + at + 2, 2);
    if (at + 12 >= size || fuzz_chance(r, 30)) return fuzz_bytes(data, size, max);
    uint8_t *m = data + at;
    switch (fuzz_below(r, 3)) {
    case 0: m[1] = (uint8_t)(0xc0 + fuzz_below(r, 32)); break;
    case 1: set_big(m + 2, (uint64_t)fuzz_below(r, 300), 2); break;
    default: m[4 + fuzz_below(r, 8)] = (uint8_t)fuzz_below(r, fuzz_chance(r, 50) ? 4 : 256);
    }
    return size;
}
FUZZ_MUTATOR(image) {
    static size_t (*const make[])(uint8_t *, size_t, fuzz_random *) = {make_bmp, make_bmp, fuzz_make_png, make_jpeg};
    const size_t made = fuzz_chance(r, 75) ? FUZZ_PICK(r, make)(data, max, r) : 0;
    if (made) return made;
    if (size > 12 && data[0] == 0x89) return change_png(data, size, max, r);
    if (size > 12 && data[0] == 0xff) return change_jpeg(data, size, max, r);
    if (size > 12 && data[0] == 'R') return change_riff(data, size, max, r);
    return size > 12 && data[0] == 'B' ? fuzz_bytes(data, size, max) : fuzz_mutate_idx(data, size, max, r);
}
