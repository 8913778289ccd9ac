#include "utf8.h"

int utf8_length(const unsigned char *s) {
    if (s[0] < 0x80) return 1;
    int n = s[0] >= 0xC2 && s[0] <= 0xDF ? 2 : s[0] >= 0xE0 && s[0] <= 0xEF ? 3 : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xED && s[1] > 0x9F, beyond = s[0] == 0xF4 && s[1] > 0x8F;
    return n == 0 || overlong || surrogate || beyond ? 0 : n;
}

uint32_t utf8_code(const unsigned char *s, int length) {
    uint32_t code = length == 1 ? s[0] : s[0] & (0xFFu >> (length + 1));
    for (int i = 1; i < length; i++) code = code << 6 | (s[i] & 0x3F);
    return code;
}

bool utf8_hidden(const unsigned char *s, int length) {
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0, 8},           {0xA, 0x1F},      {0x7F, 0x9F},      {0x61C, 0x61C},
                  {0x200B, 0x200B}, {0x200E, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F},
                  {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
    if (length == 0) return true;
    const uint32_t code = utf8_code(s, length);
    for (unsigned i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (code >= hidden[i].first && code <= hidden[i].last) return true;
    return false;
}
