#include "json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool fail(json_in *j) {
    j->bad = true;
    return false;
}
/* The next character that is no space. */
static char peek(json_in *j) {
    j->at += strspn(j->at, " \t\r\n");
    return j->bad ? '\0' : *j->at;
}
static bool word(json_in *j, const char *text) {
    const size_t n = strlen(text);
    if (peek(j) != *text || strncmp(j->at, text, n) != 0) return false;
    j->at += n;
    return true;
}

bool json_enter(json_in *j, char bracket) {
    const char text[] = {bracket, '\0'};
    j->first = true;
    return word(j, text) || fail(j);
}

/* Whether another one follows, behind a comma unless it is the first; else the closing bracket does. */
static bool next(json_in *j, const char *closing) {
    const bool first = j->first;
    j->first = false;
    if (word(j, closing)) return false;
    return first || word(j, ",") || fail(j);
}

bool json_item(json_in *j) { return !j->bad && next(j, "]"); }
bool json_key(json_in *j, char *key, size_t size) {
    return !j->bad && next(j, "}") && json_string(j, key, size) && (word(j, ":") || fail(j));
}

/* The four digits behind \u at s; -1: they are none. */
static long read_code(const char *s) {
    long code = 0;
    for (int k = 0; k < 4; k++) {
        static const char digits[] = "0123456789abcdef";
        const char *at = s[k] ? strchr(digits, s[k] >= 'A' && s[k] <= 'F' ? s[k] - 'A' + 'a' : s[k]) : NULL;
        if (!at) return -1;
        code = 16 * code + (at - digits);
    }
    return code;
}

/* What an escape stands for, as UTF-8; j->at, at the character behind the backslash, becomes the last one of it. */
static bool read_escape(json_in *j, char out[5]) {
    static const char named[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *is = *j->at ? strchr(named, *j->at) : NULL;
    if (is) return out[0] = means[is - named], out[1] = '\0', true;
    long code = *j->at == 'u' ? read_code(j->at + 1) : -1;
    if (code < 0) return false;
    j->at += 4;
    if (code >= 0xD800 && code < 0xDC00 && j->at[1] == '\\' && j->at[2] == 'u') { /* half of a pair */
        const long low = read_code(j->at + 3);
        if (low >= 0xDC00 && low < 0xE000) code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00)), j->at += 6;
    }
    if (code == 0 || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD; /* no character */
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(first[more] | code >> 6 * more);
    for (int k = 1; k <= more; k++) out[k] = (char)(0x80 | (code >> 6 * (more - k) & 0x3F));
    out[more + 1] = '\0';
    return true;
}

bool json_string(json_in *j, char *text, size_t size) {
    size_t n = 0;
    if (peek(j) != '"') return fail(j);
    for (j->at++; *j->at != '"'; j->at++) {
        char c[5] = {*j->at};
        if ((unsigned char)*c < 0x20) return fail(j); /* also the end of the text */
        if (*c == '\\' && (j->at++, !read_escape(j, c))) return fail(j);
        const size_t length = strlen(c);
        if (n + length < size)
            for (size_t k = 0; k < length; k++) text[n++] = c[k];
        else
            size = n + 1; /* no half of a character, and nothing behind it */
    }
    j->at++;
    text[n] = '\0';
    return true;
}

bool json_number(json_in *j, double *value) {
    *value = NAN;
    if (word(j, "null")) return true;
    char *end;
    if (!strchr("-0123456789", peek(j)) || j->bad) return fail(j);
    *value = strtod(j->at, &end);
    if (end == j->at) return fail(j);
    j->at = end;
    return true;
}

bool json_truth(json_in *j, bool *value) {
    *value = word(j, "true");
    return *value || word(j, "false") || fail(j);
}

/* By its brackets alone: nothing here goes deeper with the text. */
bool json_skip(json_in *j) {
    char text[1];
    double number;
    bool truth;
    long depth = 0;
    do {
        const char c = peek(j);
        if (c == '{' || c == '[') depth++, j->at++;
        else if (c == '}' || c == ']') depth--, j->at++;
        else if (c == '"') json_string(j, text, sizeof text);
        else if (c == 't' || c == 'f') json_truth(j, &truth);
        else if ((c == ',' || c == ':') && depth) j->at++;
        else json_number(j, &number);
        if (depth < 0) return fail(j);
    } while (depth && !j->bad);
    return !j->bad;
}
