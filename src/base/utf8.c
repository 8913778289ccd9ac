/* utf8.c: where a character of UTF-8 ends. */
#include "base/utf8.h"

#include "base/base.h"

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
