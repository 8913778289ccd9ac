/* exif.c: which way up a picture is: tag 0x0112 (Orientation) of EXIF 2.32 and TIFF 6.0, where the file has it: in
 * JPEG's APP1 segment, PNG's eXIf, WebP's EXIF, or as a TIFF's own. What is damaged says nothing: the picture stays as
 * it is stored. */
#include "data/formats/codecs.h"

enum { ORIENTATION = 0x0112, SHORT = 3, ENTRY = 12, MOST_ENTRIES = 4096 };

static uint32_t number(const uint8_t *p, int bytes, bool big) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)p[i] << 8 * (big ? bytes - 1 - i : i);
    return v;
}

/* "II" or "MM", 42, where the first directory is: a count, and entries of tag, type, count and value. 1 where nothing
 * is said. */
static int of_tiff(const uint8_t *p, size_t size) {
    if (size < 14 || (memcmp(p, "II*\0", 4) != 0 && memcmp(p, "MM\0*", 4) != 0)) return 1;
    const bool big = *p == 'M';
    const uint32_t at = number(p + 4, 4, big);
    if (at > size - 2) return 1;
    const uint32_t n = number(p + at, 2, big);
    const uint8_t *entry = p + at + 2;
    for (size_t left = size - at - 2, i = 0; i < WICK_MIN(n, (uint32_t)MOST_ENTRIES) && left >= ENTRY;
         i++, left -= ENTRY, entry += ENTRY) {
        if (number(entry, 2, big) != ORIENTATION || number(entry + 2, 2, big) != SHORT) continue;
        const uint32_t turn = number(entry + 8, 2, big);
        return turn >= 1 && turn <= 8 ? (int)turn : 1;
    }
    return 1;
}

/* As APP1 has it: "Exif", two zeros, TIFF. Some writers put these six bytes into other files too. */
static int of_exif(const uint8_t *p, size_t size) {
    const size_t head = size >= 6 && memcmp(p, "Exif\0\0", 6) == 0 ? 6 : 0;
    return of_tiff(p + head, size - head);
}

/* Segments: 0xff, a marker, two bytes of length with themselves; up to the pixels. */
static int of_jpeg(const uint8_t *p, size_t size) {
    for (size_t at = 2; at + 4 <= size && p[at] == 0xff;) {
        const uint8_t marker = p[at + 1];
        if (marker == 0xff) {
            at++; /* a byte that fills up */
            continue;
        }
        const size_t length = number(p + at + 2, 2, true);
        if (marker == 0xda || marker == 0xd9 || length < 2 || length > size - at - 2) return 1;
        if (marker == 0xe1 && length >= 8 && memcmp(p + at + 4, "Exif\0\0", 6) == 0)
            return of_exif(p + at + 4, length - 2);
        at += 2 + length;
    }
    return 1;
}

/* Chunks: a length and a name (PNG: in that order, big-endian, with 4 bytes of sum behind; RIFF: the other way,
 * little-endian, of even length). */
static int of_chunks(const uint8_t *p, size_t size, bool png) {
    for (size_t at = png ? 8 : 12; at <= size && size - at >= 8;) {
        const size_t length = number(p + at + (png ? 0 : 4), 4, png), left = size - at - 8;
        if (length > left) return 1;
        if (memcmp(p + at + (png ? 4 : 0), png ? "eXIf" : "EXIF", 4) == 0) return of_exif(p + at + 8, length);
        const size_t more = png ? 4 : length % 2;
        if (left - length < more) return 1;
        at += 8 + length + more;
    }
    return 1;
}

int wick_picture_orientation(const uint8_t *data, size_t size) {
    if (wick_codec_jpeg.is(data, size)) return of_jpeg(data, size);
    if (wick_codec_png.is(data, size)) return of_chunks(data, size, true);
    if (wick_codec_webp.is(data, size)) return of_chunks(data, size, false);
    return wick_codec_tiff.is(data, size) ? of_tiff(data, size) : 1;
}

void wick_picture_turn(const uint8_t *from, int64_t height, int64_t width, int64_t stride, int turn, uint8_t *to) {
    const bool across = turn >= 5, down = turn == 3 || turn == 4 || turn == 6 || turn == 7,
               left = turn == 2 || turn == 3 || turn == 7 || turn == 8;
    const int64_t rows = across ? width : height, cols = across ? height : width;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < cols; x++) {
            const int64_t r = across ? x : y, c = across ? y : x;
            const uint8_t *pixel = from + ((down ? height - 1 - r : r) * width + (left ? width - 1 - c : c)) * stride;
            for (int64_t k = 0; k < stride; k++) *to++ = pixel[k];
        }
}
