/* csv_text.c: the text of a table as UTF-8, whatever a spreadsheet saved it as. */
#include "data/formats/csv.h"

#include "base/utf8.h"

static bool put_character(const wick_allocator *alloc, char **to, size_t *room, size_t *n, uint32_t c) {
    if (!wick_grow(alloc, (void **)to, room, *n + 4, 1)) return false;
    char *p = *to + *n;
    const size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = bytes; i-- > 1; c >>= 6) p[i] = (char)(0x80 | (c & 0x3F));
    p[0] = (char)(lead[bytes] | c);
    *n += bytes;
    return true;
}

static wick_status from_utf16(const wick_allocator *alloc, const char *path, const uint8_t *data, size_t size, bool big,
                              char **own, size_t *room, size_t *n, wick_msg *msg) {
    if (size % 2)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: is UTF-16, and cut off within a character: it has %zu bytes",
                            path, size);
    uint32_t high = 0;
    for (size_t i = 2; i < size; i += 2) {
        uint32_t c = (uint32_t)(big ? data[i] << 8 | data[i + 1] : data[i + 1] << 8 | data[i]);
        const bool low = c >= 0xDC00 && c < 0xE000;
        if (low != (high != 0))
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: byte %zu: half a character of UTF-16", path, i);
        if (c >= 0xD800 && c < 0xDC00) {
            high = c;
            continue;
        }
        if (low) c = 0x10000 + ((high - 0xD800) << 10) + (c - 0xDC00);
        high = 0;
        if (!put_character(alloc, own, room, n, c)) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    }
    return high ? wick_msg_set(msg, WICK_ERR_FORMAT, "%s: byte %zu: half a character of UTF-16", path, size - 2)
                : WICK_OK;
}

/* Windows-1252, whose characters from 0xA0 on are those of Latin-1 (unicode.org, CP1252.TXT); bytes that it leaves open
 * are Latin-1's. */
static const uint16_t windows[32] = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                     0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                     0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                     0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

static wick_status from_latin(const wick_allocator *alloc, const char *path, const uint8_t *data, size_t size,
                              char **own, size_t *room, size_t *n, wick_msg *msg) {
    for (size_t i = 0; i < size; i++)
        if (!put_character(alloc, own, room, n, data[i] >= 0x80 && data[i] < 0xA0 ? windows[data[i] - 0x80] : data[i]))
            return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    return WICK_OK;
}

/* How many characters of several bytes there are, and the first byte that is none; `size`: all is UTF-8. */
static size_t check(const uint8_t *data, size_t size, size_t *wide) {
    size_t bad = size;
    *wide = 0;
    for (size_t i = 0; i < size;) {
        const size_t n = wick_utf8_next(data + i, size - i);
        if (!n && bad == size) bad = i;
        *wide += n > 1;
        i += n ? n : 1;
    }
    return bad;
}

wick_status wick_csv_decode(const wick_allocator *alloc, const char *path, const uint8_t *data, size_t data_size,
                            const char **text, size_t *size, char **own, size_t *room, const char **note,
                            wick_msg *msg) {
    *note = NULL;
    if (data_size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) data += 3, data_size -= 3;
    *text = (const char *)data;
    *size = data_size;
    if (data_size >= 4 && (memcmp(data, "\xff\xfe\0\0", 4) == 0 || memcmp(data, "\0\0\xfe\xff", 4) == 0))
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: is UTF-32: save it as UTF-8", path);
    size_t n = 0, wide;
    if (data_size >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0)) {
        *note = "the text is UTF-16";
        WICK_TRY(from_utf16(alloc, path, data, data_size, data[0] == 0xFE, own, room, &n, msg));
    } else {
        const size_t bad = check(data, data_size, &wide);
        if (bad == data_size) return WICK_OK;
        int64_t line = 1;
        for (size_t i = 0; i < bad; i++) line += data[i] == '\n';
        if (wide)
            return wick_msg_set(msg, WICK_ERR_FORMAT,
                                "%s: line %lld: byte %zu is not UTF-8, while other characters are: the file is "
                                "damaged, or of two encodings",
                                path, (long long)line, bad);
        *note = "the text is not UTF-8: it is read as Windows-1252 (Latin-1)";
        WICK_TRY(from_latin(alloc, path, data, data_size, own, room, &n, msg));
    }
    *text = *own ? *own : "";
    *size = n;
    return WICK_OK;
}
