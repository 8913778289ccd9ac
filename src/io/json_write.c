/* json_write.c: the JSON writer. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/json.h"

void wick_json_writer_init(wick_json_writer *w, const wick_allocator *alloc) {
    *w = (wick_json_writer){.alloc = alloc};
}

void wick_json_writer_free(wick_json_writer *w) {
    wick_release(w->alloc, w->at, w->cap);
    *w = (wick_json_writer){.alloc = w->alloc};
}

static void fail(wick_json_writer *w, wick_status status) {
    if (w->status == WICK_OK) w->status = status;
}

static void put(wick_json_writer *w, const char *text, size_t n) {
    size_t need;
    if (w->status != WICK_OK) return;
    if (wick_add_overflows(w->len, n, &need) || !wick_grow(w->alloc, (void **)&w->at, &w->cap, need, 1)) {
        fail(w, WICK_ERR_NOMEM);
        return;
    }
    memcpy(w->at + w->len, text, n);
    w->len = need;
}

/* Before a value: what separates it from the last one. A value stands alone, in an array, or after a key. */
static bool begin_value(wick_json_writer *w) {
    const bool in_object = w->depth && w->open[w->depth - 1] == '{';
    if (in_object != w->after_key || (!w->depth && w->len)) fail(w, WICK_ERR_INVALID);
    if (w->comma) put(w, ",", 1);
    w->comma = true;
    w->after_key = false;
    return w->status == WICK_OK;
}

static void put_quoted(wick_json_writer *w, const char *text) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strlen(text);
    put(w, "\"", 1);
    while (left && w->status == WICK_OK) {
        const size_t n = wick_utf8_next(p, left);
        const char *short_form = strchr(from, *p);
        char escape[8];
        if (!n) {
            fail(w, WICK_ERR_INVALID);
        } else if (short_form) {
            escape[0] = '\\', escape[1] = to[short_form - from];
            put(w, escape, 2);
        } else if (*p < 0x20 || *p == 0x7F) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*p);
            put(w, escape, 6);
        } else {
            put(w, (const char *)p, n);
        }
        p += n, left -= n;
    }
    put(w, "\"", 1);
}

void wick_json_open(wick_json_writer *w, char bracket) {
    if (!begin_value(w)) return;
    if (w->depth == WICK_JSON_WRITER_DEPTH || (bracket != '{' && bracket != '[')) {
        fail(w, WICK_ERR_INVALID);
        return;
    }
    w->open[w->depth++] = bracket;
    w->comma = false;
    put(w, &bracket, 1);
}

void wick_json_close(wick_json_writer *w) {
    if (!w->depth || w->after_key) fail(w, WICK_ERR_INVALID);
    if (w->status != WICK_OK) return;
    put(w, w->open[--w->depth] == '{' ? "}" : "]", 1);
    w->comma = true;
}

void wick_json_key(wick_json_writer *w, const char *key) {
    if (!w->depth || w->open[w->depth - 1] != '{' || w->after_key) fail(w, WICK_ERR_INVALID);
    if (w->status != WICK_OK) return;
    if (w->comma) put(w, ",", 1);
    put_quoted(w, key);
    put(w, ":", 1);
    w->comma = false;
    w->after_key = true;
}

void wick_json_string(wick_json_writer *w, const char *text) {
    if (begin_value(w)) put_quoted(w, text);
}

void wick_json_integer(wick_json_writer *w, int64_t value) {
    char text[24];
    if (begin_value(w)) put(w, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

void wick_json_number(wick_json_writer *w, double value) {
    if (!begin_value(w)) return;
    if (!isfinite(value)) {
        fail(w, WICK_ERR_INVALID);
        return;
    }
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* the host's may have a decimal comma */
    if (!c) {
        fail(w, WICK_ERR_NOMEM);
        return;
    }
    locale_t old = uselocale(c);
    char text[40];
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    uselocale(old);
    freelocale(c);
    put(w, text, (size_t)n);
}

void wick_json_boolean(wick_json_writer *w, bool value) {
    if (begin_value(w)) put(w, value ? "true" : "false", value ? 4 : 5);
}

void wick_json_null(wick_json_writer *w) {
    if (begin_value(w)) put(w, "null", 4);
}

wick_status wick_json_finish(const wick_json_writer *w) {
    if (w->status != WICK_OK) return w->status;
    return w->depth || !w->len ? WICK_ERR_INVALID : WICK_OK;
}
