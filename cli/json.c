#include "json.h"

#include "term/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_characters(FILE *out, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (n == 0) {
            fputs("\\ufffd", out);
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (*s == '\t' || utf8_hidden(s, n)) { /* JSON asks for C0 only; a terminal obeys all */
            const uint32_t code = utf8_code(s, n), over = code - 0x10000;
            if (code < 0x10000) fprintf(out, "\\u%04x", (unsigned)code);
            else fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xD800 + (over >> 10)), (unsigned)(0xDC00 + (over & 0x3FF)));
        } else {
            fwrite(s, 1, (size_t)n, out);
        }
        s += n;
    }
}
static void write_string(FILE *out, const char *text) {
    fputc('"', out);
    write_characters(out, text);
    fputc('"', out);
}

static void begin(json *j, const char *key) {
    if (j->comma) fputs(", ", j->out);
    j->comma = true;
    if (key) {
        write_string(j->out, key);
        fputs(": ", j->out);
    }
}

void json_open(json *j, const char *key, char bracket) {
    begin(j, key);
    fputc(bracket, j->out);
    j->comma = false;
}

void json_close(json *j, char bracket) {
    fputc(bracket, j->out);
    j->comma = true;
}

void json_bytes(json *j, const char *key, const char *value, size_t size) {
    begin(j, key);
    fputc('"', j->out);
    for (size_t at = 0; at < size;) { /* texts may have zeros in them */
        const size_t n = strnlen(value + at, size - at);
        char *part = strndup(value + at, n);
        if (part) write_characters(j->out, part);
        free(part);
        at += n;
        if (at < size) fputs("\\u0000", j->out), at++;
    }
    fputc('"', j->out);
}

void json_text(json *j, const char *key, const char *value) {
    begin(j, key);
    if (value)
        write_string(j->out, value);
    else
        fputs("null", j->out);
}

void json_integer(json *j, const char *key, int64_t value) {
    begin(j, key);
    fprintf(j->out, "%lld", (long long)value);
}

void json_real(json *j, const char *key, double value, int digits) {
    begin(j, key);
    if (isfinite(value))
        fprintf(j->out, "%.*g", digits, value);
    else
        fputs("null", j->out);
}

void json_bool(json *j, const char *key, bool value) {
    begin(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_raw(json *j, const char *key, const char *value) {
    begin(j, key);
    fputs(value, j->out);
}
