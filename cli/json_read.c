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

bool json_string(json_in *j, char *text, size_t size) {
    size_t n = 0;
    if (peek(j) != '"') return fail(j);
    for (j->at++; *j->at != '"'; j->at++) {
        char c = *j->at;
        if ((unsigned char)c < 0x20) return fail(j); /* also the end of the text */
        if (c == '\\') {
            c = *++j->at;
            if (!c) return fail(j);
            if (c != '"' && c != '\\' && c != '/') c = '?';
        }
        if (n + 1 < size) text[n++] = c;
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
