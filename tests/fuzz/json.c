/* json.c: the JSON reader; JSON texts made by the grammar, changed in a value, or by their tokens; Python's literals,
 * as headers of .npy have them, have the same ones. */
#include <stdio.h>

#include "fuzz.h"
#include "io/json.h"

/* ---- a text's tokens --------------------------------------------------------------------------------------------- */

typedef struct token {
    size_t at, n;
    int depth;
} token;
enum { TOKENS_MAX = 4096 };
static token tokens[TOKENS_MAX];

static size_t split(const char *s, size_t size) {
    size_t n = 0;
    int depth = 0;
    for (size_t i = 0; i < size && n < TOKENS_MAX;) {
        const size_t at = i;
        const char c = s[i++];
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
        if (c == '"' || c == '\'') {
            while (i < size && s[i] != c) i += s[i] == '\\' ? 2 : 1;
            i = WICK_MIN(i + 1, size);
        } else if (!memchr("{}[]():,", c, 8))
            while (i < size && !memchr("{}[]():,\"' \n\t\r", s[i], 14)) i++;
        if (c == '}' || c == ']' || c == ')') depth--;
        tokens[n++] = (token){at, i - at, depth};
        if (c == '{' || c == '[' || c == '(') depth++;
    }
    return n;
}

static size_t replace(char *text, size_t size, size_t max, size_t at, size_t n, const char *by, size_t by_n) {
    if (size - n + by_n > max) return size;
    memmove(text + at + by_n, text + at + n, size - at - n);
    memcpy(text + at, by, by_n);
    return size - n + by_n;
}

size_t fuzz_json_text(char *text, size_t size, size_t max, fuzz_random *r) {
    static const char *const values[] = {"null",
                                         "true",
                                         "[]",
                                         "{}",
                                         "\"\"",
                                         "-0",
                                         "0.5",
                                         "1e400",
                                         "1e-400",
                                         "00",
                                         "-",
                                         "[[[[[[[[[[[[]]]]]]]]]]]]",
                                         "\"\\u0000\"",
                                         "\"\\ud800\"",
                                         "\"\\ud83d\\ude00\"",
                                         "\"\xff\"",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551616",
                                         "-1",
                                         "1.0",
                                         "4294967296",
                                         "False",
                                         "(3,)",
                                         "()",
                                         "1L",
                                         "'<f4'",
                                         "'>i8'",
                                         "'|b1'",
                                         "'|O'",
                                         "{\"a\":1,\"a\":2}"};
    const size_t n = split(text, size);
    if (!n) return fuzz_bytes((uint8_t *)text, size, max);
    const size_t k = fuzz_below(r, n), j = fuzz_below(r, n);
    char copy[512];
    token t = tokens[k];
    switch (fuzz_below(r, 6)) {
    case 0: { /* a number */
        for (size_t i = 0; i < n; i++) {
            t = tokens[(k + i) % n];
            if (text[t.at] == '-' || (text[t.at] >= '0' && text[t.at] <= '9')) break;
        }
        const int length = snprintf(copy, sizeof copy, "%lld", (long long)fuzz_integer(r));
        return replace(text, size, max, t.at, t.n, copy, (size_t)length);
    }
    case 1: { /* a value of another kind */
        const char *v = values[fuzz_below(r, WICK_COUNTOF(values))];
        return replace(text, size, max, t.at, t.n, v, strlen(v));
    }
    case 2: /* a copy of another token */
        if (tokens[j].n > sizeof copy) break;
        memcpy(copy, text + tokens[j].at, tokens[j].n);
        return replace(text, size, max, t.at, fuzz_chance(r, 50) ? t.n : 0, copy, tokens[j].n);
    case 3: return replace(text, size, max, t.at, t.n, "", 0);
    case 4: { /* a member or element again, or not at all */
        size_t end = k;
        while (end < n && !(tokens[end].depth <= t.depth &&
                            (text[tokens[end].at] == ',' || (end > k && tokens[end].depth < t.depth))))
            end++;
        const size_t stop = end < n ? tokens[end].at : size, length = stop - t.at;
        if (fuzz_chance(r, 30)) return replace(text, size, max, t.at, length, "", 0);
        if (length + 1 >= sizeof copy) break;
        memcpy(copy, text + t.at, length);
        copy[length] = ',';
        return replace(text, size, max, t.at, 0, copy, length + 1);
    }
    default:
        if (t.n > 2 && (text[t.at] == '"' || text[t.at] == '\'')) { /* inside of a text */
            uint8_t inner[512];
            if (t.n > 256) break;
            memcpy(inner, text + t.at + 1, t.n - 2);
            const size_t length = fuzz_bytes(inner, t.n - 2, sizeof inner);
            return replace(text, size, max, t.at + 1, t.n - 2, (const char *)inner, length);
        }
    }
    return size;
}

/* ---- the target: read, written, read again: the same tree -------------------------------------------------------- */

static void write_value(wick_json_writer *w, const wick_json *v) {
    switch ((wick_json_type)v->type) {
    case WICK_JSON_NULL: wick_json_null(w); break;
    case WICK_JSON_BOOL: wick_json_boolean(w, v->boolean); break;
    case WICK_JSON_NUMBER: v->is_integer ? wick_json_integer(w, v->integer) : wick_json_number(w, v->number); break;
    case WICK_JSON_STRING: wick_json_string(w, v->text); break;
    default:
        wick_json_open(w, v->type == WICK_JSON_OBJECT ? '{' : '[');
        for (const wick_json *c = v->child; c; c = c->next) {
            if (v->type == WICK_JSON_OBJECT) {
                FUZZ_PROMISE(wick_json_get(v, c->key) == c);
                wick_json_key(w, c->key);
            }
            write_value(w, c);
        }
        wick_json_close(w);
    }
}
static bool same(const wick_json *a, const wick_json *b) {
    if (a->type != b->type) return false;
    if (a->type == WICK_JSON_BOOL) return a->boolean == b->boolean;
    /* 2e3 is written 2000 */
    if (a->type == WICK_JSON_NUMBER)
        return a->is_integer ? b->is_integer && a->integer == b->integer : a->number == b->number;
    if (a->type == WICK_JSON_STRING) return !strcmp(a->text, b->text);
    if (a->type < WICK_JSON_ARRAY) return true;
    const wick_json *x = a->child, *y = b->child;
    for (; x && y; x = x->next, y = y->next)
        if (!same(x, y) || (a->type == WICK_JSON_OBJECT && strcmp(x->key, y->key))) return false;
    return !x && !y;
}

FUZZ_TARGET(json) {
    wick_arena arena;
    wick_arena_init(&arena, NULL, 4096);
    const wick_json *root, *again;
    wick_msg msg = {0};
    const wick_json_limits limits = {.values = 1 << 16};
    const bool good = wick_json_parse(&arena, data, size, &limits, &root, &msg) == WICK_OK;
    if (good) {
        wick_json_writer w;
        wick_json_writer_init(&w, NULL);
        write_value(&w, root);
        FUZZ_PROMISE(wick_json_finish(&w) == WICK_OK);
        FUZZ_PROMISE(wick_json_parse(&arena, w.at, w.len, &limits, &again, &msg) == WICK_OK && same(root, again));
        wick_json_writer_free(&w);
    } else FUZZ_PROMISE(*msg.text);
    wick_arena_free(&arena);
    return good;
}

/* ---- texts by the grammar (RFC 8259) ----------------------------------------------------------------------------- */

static void put_space(fuzz_buffer *b, fuzz_random *r) {
    while (fuzz_chance(r, 10)) fuzz_put(b, &" \n\t\r"[fuzz_below(r, 4)], 1);
}
static void make_text(fuzz_buffer *b, const char *end, fuzz_random *r) {
    static const char *const parts[] = {"a",
                                        "key",
                                        " ",
                                        "/",
                                        "'",
                                        "{}[],:",
                                        "\\n",
                                        "\\\"",
                                        "\\\\",
                                        "\\/",
                                        "\\b\\f\\r\\t",
                                        "\\u0041",
                                        "\\u00e9",
                                        "\\u20AC",
                                        "\\ud83d\\ude00",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "\x7f"};
    fuzz_put(b, "\"", 1);
    while (fuzz_chance(r, 60)) fuzz_print(b, "%s", FUZZ_PICK(r, parts));
    fuzz_print(b, "%s\"", end);
}
static void make_number(fuzz_buffer *b, fuzz_random *r) {
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "0.0",
                                          "-0.5",
                                          "1e5",
                                          "1E+5",
                                          "1.5e-7",
                                          "1e308",
                                          "-1e308",
                                          "1e-400",
                                          "123456789012345678901234567890",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "-9223372036854775808",
                                          "-9223372036854775809",
                                          "18446744073709551615",
                                          "9007199254740993",
                                          "0.1",
                                          "1e0000000001",
                                          "4.9e-324",
                                          "2.2250738585072011e-308",
                                          "1.7976931348623157e308"};
    switch (fuzz_below(r, 4)) {
    case 0: fuzz_print(b, "%s", FUZZ_PICK(r, numbers)); break;
    case 1: fuzz_print(b, "%.*g", 1 + (int)fuzz_below(r, 17), (double)fuzz_integer(r) * 1e-3); break;
    default: fuzz_print(b, "%lld", (long long)fuzz_integer(r));
    }
}
static void make_value(fuzz_buffer *b, int depth, fuzz_random *r) {
    static const char *const words[] = {"null", "true", "false"},
                             *const wrong[] = {
                                 "nul",          "+1",       "01",          "1.",          ".5",
                                 "1e",           "'a'",      "\"\\x\"",     "\"\\ud800\"", "\"\\udc00\\ud800\"",
                                 "\"\t\"",       "\"\xff\"", "\"\\u0000\"", "[1,]",        "{\"a\":1,\"a\":2}",
                                 "{1:2}",        "[",        "}",           "NaN",         "\"\xed\xa0\x80\"",
                                 "\"\xc0\xaf\"", "1e999",    "{\"a\"}",     "\"",          ""};
    put_space(b, r);
    const size_t kind = fuzz_below(r, depth > 0 ? 10 : 5), n = fuzz_below(r, 5);
    char end[16] = "";
    if (fuzz_below(r, 200) == 0) fuzz_print(b, "%s", FUZZ_PICK(r, wrong));
    else if (kind == 0) fuzz_print(b, "%s", FUZZ_PICK(r, words));
    else if (kind < 3) make_number(b, r);
    else if (kind < 5) make_text(b, "", r);
    else {
        fuzz_put(b, kind < 7 ? "[" : "{", 1);
        for (size_t i = 0; i < n; i++) {
            if (i) fuzz_put(b, ",", 1);
            put_space(b, r);
            snprintf(end, sizeof end, "%zu", i); /* no key twice */
            if (kind >= 7) make_text(b, end, r), put_space(b, r), fuzz_put(b, ":", 1);
            make_value(b, depth - 1 - (int)fuzz_below(r, 2), r);
        }
        fuzz_put(b, kind < 7 ? "]" : "}", 1);
    }
    put_space(b, r);
}
static void print_text(fuzz_buffer *b, const char *text, fuzz_random *r) {
    fuzz_put(b, "\"", 1);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == '"' || c == '\\' || (c < 127 && fuzz_below(r, 50) == 0)) fuzz_print(b, "\\u%04x", c);
        else fuzz_put(b, text, 1);
    }
    fuzz_put(b, "\"", 1);
}
/* The tree again, with a new value in the place of one of its values. */
static void print_value(fuzz_buffer *b, const wick_json *v, size_t *until_new, fuzz_random *r) {
    if (!(*until_new)--) {
        make_value(b, 3, r);
        return;
    }
    switch ((wick_json_type)v->type) {
    case WICK_JSON_NULL: fuzz_print(b, "null"); break;
    case WICK_JSON_BOOL: fuzz_print(b, v->boolean ? "true" : "false"); break;
    case WICK_JSON_NUMBER:
        v->is_integer ? fuzz_print(b, "%lld", (long long)v->integer) : fuzz_print(b, "%.17g", v->number);
        break;
    case WICK_JSON_STRING: print_text(b, v->text, r); break;
    default:
        fuzz_put(b, v->type == WICK_JSON_OBJECT ? "{" : "[", 1);
        for (const wick_json *c = v->child; c; c = c->next) {
            if (c != v->child) fuzz_put(b, ",", 1);
            if (v->type == WICK_JSON_OBJECT) print_text(b, c->key, r), fuzz_put(b, ":", 1);
            print_value(b, c, until_new, r);
        }
        fuzz_put(b, v->type == WICK_JSON_OBJECT ? "}" : "]", 1);
    }
}
static size_t count_values(const wick_json *v) {
    size_t n = 1;
    for (const wick_json *c = v->type >= WICK_JSON_ARRAY ? v->child : NULL; c; c = c->next) n += count_values(c);
    return n;
}

FUZZ_MUTATOR(json) {
    if (fuzz_chance(r, 25)) {
        for (size_t n = 1 + fuzz_below(r, 3); n--;) size = fuzz_json_text((char *)data, size, max, r);
        return size;
    }
    wick_arena arena;
    wick_msg msg;
    const wick_json *root;
    fuzz_buffer b = {malloc(max), 0, max, false};
    if (!b.at) abort();
    wick_arena_init(&arena, NULL, 4096);
    if (fuzz_chance(r, 60) && wick_json_parse(&arena, data, size, NULL, &root, &msg) == WICK_OK) {
        size_t place = fuzz_below(r, count_values(root));
        print_value(&b, root, &place, r);
    } else make_value(&b, 6, r);
    if (!b.full) memcpy(data, b.at, size = b.n);
    wick_arena_free(&arena);
    free(b.at);
    return size;
}
