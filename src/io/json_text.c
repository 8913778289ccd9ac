/* json_text.c: UTF-8 and names, for reader, writer and messages. */
#include "io/json.h"

size_t wick_utf8_next(const unsigned char *p, size_t left) {
    /* Unicode 15, table 3-7: the second byte's range depends on the first */
    static const struct {
        uint8_t lo, hi, more, second_lo, second_hi;
    } rows[] = {
        {0x00, 0x7F, 0, 0, 0},       {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
        {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F}, {0xEE, 0xEF, 2, 0x80, 0xBF},
        {0xF0, 0xF0, 3, 0x90, 0xBF}, {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F},
    };
    if (!left) return 0;
    for (size_t r = 0; r < WICK_COUNTOF(rows); r++) {
        if (p[0] < rows[r].lo || p[0] > rows[r].hi) continue;
        const size_t len = (size_t)rows[r].more + 1;
        if (left < len) return 0;
        if (len > 1 && (p[1] < rows[r].second_lo || p[1] > rows[r].second_hi)) return 0;
        for (size_t i = 2; i < len; i++)
            if ((p[i] & 0xC0) != 0x80) return 0;
        return len;
    }
    return 0;
}

const char *wick_json_type_name(wick_json_type type) {
    static const char *const names[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
    return (size_t)type < WICK_COUNTOF(names) ? names[type] : "?";
}

const char *wick_json_show(char buf[WICK_JSON_SHOWN], const char *text) {
    size_t out = 0, left = strlen(text);
    const unsigned char *p = (const unsigned char *)text;
    while (left) {
        size_t n = wick_utf8_next(p, left);
        const bool plain = n && !(n == 1 && (*p < 0x20 || *p == 0x7F)) && !(n == 2 && p[0] == 0xC2 && p[1] < 0xA0);
        if (!n) n = 1;
        if (out + n + sizeof "..." > WICK_JSON_SHOWN) {
            memcpy(buf + out, "...", sizeof "...");
            return buf;
        }
        if (plain)
            memcpy(buf + out, p, n), out += n;
        else
            buf[out++] = '?';
        p += n, left -= n;
    }
    buf[out] = 0;
    return buf;
}
