/* json_text.c: names, for reader, writer and messages. */
#include "io/json.h"

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
