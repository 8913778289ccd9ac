/* json_read.c: the JSON reader: recursive descent over bytes, bounded in depth, size and number of values. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "io/json.h"

enum { NUMBER_MAX = 400 }; /* characters: f64's exact decimal forms that matter have fewer */

typedef struct reader {
    wick_arena *arena;
    const unsigned char *at, *begin, *end;
    size_t values_left;
    int depth_left, depth;
    wick_msg *msg;
} reader;

static wick_status fail_at(reader *r, const unsigned char *where, const char *what) {
    return wick_msg_set(r->msg, WICK_ERR_FORMAT, "byte %zu: %s", (size_t)(where - r->begin), what);
}
static wick_status no_memory(reader *r) { return wick_msg_set(r->msg, WICK_ERR_NOMEM, "out of memory reading JSON"); }

static void skip_space(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}
static bool take(reader *r, char c) {
    if (r->at == r->end || *r->at != (unsigned char)c) return false;
    r->at++;
    return true;
}
static bool is_digit(const unsigned char *p, const unsigned char *end) { return p < end && *p >= '0' && *p <= '9'; }

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* Four hexadecimal digits, or -1. */
static int32_t hex4(reader *r) {
    int32_t v = 0;
    if (r->end - r->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const unsigned c = r->at[i], lower = c | 0x20;
        if (c >= '0' && c <= '9')
            v = v * 16 + (int32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v * 16 + (int32_t)(lower - 'a') + 10;
        else
            return -1;
    }
    r->at += 4;
    return v;
}

static char *put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xC0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *out++ = (char)(0xE0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3F));
        *out++ = (char)(0x80 | (c & 0x3F));
    } else {
        *out++ = (char)(0xF0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3F));
        *out++ = (char)(0x80 | (c >> 6 & 0x3F));
        *out++ = (char)(0x80 | (c & 0x3F));
    }
    return out;
}

/* After a backslash. An escape is never shorter than what it stands for. */
static wick_status read_escape(reader *r, char **out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const unsigned char *start = r->at - 1;
    if (r->at == r->end) return fail_at(r, start, "the string does not end");
    const char c = (char)*r->at++;
    if (c != 'u') {
        const char *hit = c ? strchr(from, c) : NULL;
        if (!hit) return fail_at(r, start, "unknown escape");
        *(*out)++ = to[hit - from];
        return WICK_OK;
    }
    int32_t code = hex4(r);
    if (code < 0) return fail_at(r, start, "\\u needs four hexadecimal digits");
    if (code == 0) return fail_at(r, start, "U+0000 inside a string is not supported");
    if (code >= 0xDC00 && code <= 0xDFFF) return fail_at(r, start, "second half of a surrogate pair without the first");
    if (code >= 0xD800 && code <= 0xDBFF) {
        int32_t low = take(r, '\\') && take(r, 'u') ? hex4(r) : -1;
        if (low < 0xDC00 || low > 0xDFFF) return fail_at(r, start, "first half of a surrogate pair without the second");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    *out = put_utf8(*out, (uint32_t)code);
    return WICK_OK;
}

/* After the opening quote. */
static wick_status read_string(reader *r, const char **text) {
    const unsigned char *start = r->at - 1, *close = r->at;
    while (close < r->end && *close != '"') close += *close == '\\' && r->end - close > 1 ? 2 : 1;
    if (close >= r->end) return fail_at(r, start, "the string does not end");
    char *out = wick_arena_alloc(r->arena, (size_t)(close - r->at) + 1);
    if (!out) return no_memory(r);
    *text = out;
    while (r->at < close) {
        const unsigned char c = *r->at;
        if (c == '\\') {
            r->at++;
            WICK_TRY(read_escape(r, &out));
            continue;
        }
        if (c < 0x20) return fail_at(r, r->at, "control character inside a string");
        const size_t n = wick_utf8_next(r->at, (size_t)(close - r->at));
        if (!n) return fail_at(r, r->at, "not UTF-8");
        memcpy(out, r->at, n);
        out += n, r->at += n;
    }
    *out = 0;
    r->at = close + 1;
    return WICK_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* strtod in the C locale, whatever the host has set. false: out of memory. */
static bool c_strtod(const char *text, double *value) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return false;
    locale_t old = uselocale(c);
    *value = strtod(text, NULL);
    uselocale(old);
    freelocale(c);
    return true;
}

static wick_status read_number(reader *r, wick_json *v) {
    const unsigned char *start = r->at, *p = r->at;
    const bool negative = *p == '-';
    if (negative) p++;
    if (!is_digit(p, r->end)) return fail_at(r, start, "expected a value");
    uint64_t digits = 0;
    bool fits = true, whole = true;
    if (*p == '0') {
        p++;
        if (is_digit(p, r->end)) return fail_at(r, start, "a number must not begin with 0");
    } else {
        for (; is_digit(p, r->end); p++)
            fits = fits && !wick_mul_overflows(digits, 10, &digits) &&
                   !wick_add_overflows(digits, (uint64_t)(*p - '0'), &digits);
    }
    if (p < r->end && *p == '.') {
        whole = false;
        if (!is_digit(++p, r->end)) return fail_at(r, start, "a digit must follow the decimal point");
        while (is_digit(p, r->end)) p++;
    }
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        whole = false;
        p++;
        if (p < r->end && (*p == '+' || *p == '-')) p++;
        if (!is_digit(p, r->end)) return fail_at(r, start, "a digit must follow the exponent's sign");
        while (is_digit(p, r->end)) p++;
    }
    r->at = p;
    v->type = WICK_JSON_NUMBER;
    if (whole && fits && digits <= (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        v->is_integer = true;
        v->integer = (int64_t)(negative ? 0 - digits : digits);
        v->number = negative && !digits ? -0.0 : (double)v->integer;
        return WICK_OK;
    }
    char text[NUMBER_MAX + 1];
    const size_t len = (size_t)(p - start);
    if (len > NUMBER_MAX) return fail_at(r, start, "the number is too long");
    memcpy(text, start, len);
    text[len] = 0;
    if (!c_strtod(text, &v->number)) return no_memory(r);
    if (!isfinite(v->number)) return fail_at(r, start, "the number is beyond the range of f64");
    return WICK_OK;
}

/* ---- arrays and objects ------------------------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b) {
    return strcmp((*(wick_json *const *)a)->key, (*(wick_json *const *)b)->key);
}

/* Sorts the members for wick_json_get, and refuses equal keys. */
static wick_status index_object(reader *r, wick_json *object) {
    wick_json **list = wick_arena_alloc(r->arena, object->count * sizeof *list);
    if (!list) return no_memory(r);
    size_t n = 0;
    for (wick_json *c = object->child; c; c = c->next) list[n++] = c;
    qsort(list, n, sizeof *list, by_key);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(list[i - 1]->key, list[i]->key) != 0) continue;
        char shown[WICK_JSON_SHOWN];
        return wick_msg_set(r->msg, WICK_ERR_FORMAT, "byte %zu: the key \"%s\" appears twice",
                            WICK_MAX(list[i - 1]->offset, list[i]->offset), wick_json_show(shown, list[i]->key));
    }
    object->by_key = list;
    return WICK_OK;
}

static wick_status read_value(reader *r, wick_json **out);

/* After the opening bracket. */
static wick_status read_children(reader *r, wick_json *parent) {
    const bool object = parent->type == WICK_JSON_OBJECT;
    wick_json **link = &parent->child;
    skip_space(r);
    if (take(r, object ? '}' : ']')) return WICK_OK;
    do {
        const char *key = NULL;
        skip_space(r);
        if (object) {
            if (!take(r, '"')) return fail_at(r, r->at, "expected a key in quotes");
            WICK_TRY(read_string(r, &key));
            skip_space(r);
            if (!take(r, ':')) return fail_at(r, r->at, "expected ':'");
            skip_space(r);
        }
        WICK_TRY(read_value(r, link));
        (*link)->key = key;
        link = &(*link)->next;
        parent->count++;
        skip_space(r);
    } while (take(r, ','));
    if (!take(r, object ? '}' : ']')) return fail_at(r, r->at, object ? "expected ',' or '}'" : "expected ',' or ']'");
    return object ? index_object(r, parent) : WICK_OK;
}

static bool take_word(reader *r, const char *word) {
    const size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

/* *out is set before the children are read, so that a list is always terminated. */
static wick_status read_value(reader *r, wick_json **out) {
    if (r->at == r->end) return fail_at(r, r->at, "the text ends where a value should be");
    if (!r->values_left--)
        return wick_msg_set(r->msg, WICK_ERR_UNSUPPORTED, "byte %zu: too many values", (size_t)(r->at - r->begin));
    wick_json *v = *out = wick_arena_zalloc(r->arena, sizeof *v);
    if (!v) return no_memory(r);
    v->offset = (size_t)(r->at - r->begin);
    switch (*r->at) {
    case '{':
    case '[':
        if (!r->depth_left)
            return wick_msg_set(r->msg, WICK_ERR_UNSUPPORTED,
                                "byte %zu: more than %d arrays and objects within each other", v->offset, r->depth);
        v->type = *r->at++ == '{' ? WICK_JSON_OBJECT : WICK_JSON_ARRAY;
        r->depth_left--;
        WICK_TRY(read_children(r, v));
        r->depth_left++;
        return WICK_OK;
    case '"':
        r->at++;
        v->type = WICK_JSON_STRING;
        return read_string(r, &v->text);
    case 't':
    case 'f':
        v->type = WICK_JSON_BOOL;
        v->boolean = *r->at == 't';
        return take_word(r, v->boolean ? "true" : "false") ? WICK_OK : fail_at(r, r->at, "expected a value");
    case 'n':
        return take_word(r, "null") ? WICK_OK : fail_at(r, r->at, "expected a value");
    default:
        return read_number(r, v);
    }
}

wick_status wick_json_parse(wick_arena *arena, const void *input, size_t size, const wick_json_limits *limits,
                            const wick_json **out, wick_msg *msg) {
    const size_t bytes = limits && limits->bytes ? limits->bytes : (size_t)128 << 20;
    const int depth = limits && limits->depth ? limits->depth : 64;
    *out = NULL;
    if (size > bytes)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "JSON of %zu bytes; the limit is %zu", size, bytes);
    reader r = {
        .arena = arena,
        .at = input,
        .begin = input,
        .end = (const unsigned char *)input + size,
        .values_left = limits && limits->values ? limits->values : (size_t)4 << 20,
        .depth_left = depth,
        .depth = depth,
        .msg = msg,
    };
    wick_json *root = NULL;
    skip_space(&r);
    WICK_TRY(read_value(&r, &root));
    skip_space(&r);
    if (r.at != r.end) return fail_at(&r, r.at, "text after the value");
    *out = root;
    return WICK_OK;
}

const wick_json *wick_json_get(const wick_json *object, const char *key) {
    if (!object || object->type != WICK_JSON_OBJECT) return NULL;
    size_t lo = 0, hi = object->count;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const int order = strcmp(object->by_key[mid]->key, key);
        if (order == 0) return object->by_key[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}
