/* json.c: the JSON reader, and changes of JSON texts by their tokens; Python's literals, as headers of .npy have them, have the same ones. */
#include <stdio.h>

#include "fuzz.h"
#include "io/json.h"

/* ---- a text's tokens ---------------------------------------------------------------------------------------------------------------------- */

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
    static const char *const values[] = {"null", "true", "[]", "{}", "\"\"", "-0", "0.5", "1e400", "1e-400", "00", "-", "[[[[[[[[[[[[]]]]]]]]]]]]", "\"\\u0000\"",
        "\"\\ud800\"", "\"\\ud83d\\ude00\"", "\"\xff\"", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-1", "1.0", "4294967296", "False",
        "(3,)", "()", "1L", "'<f4'", "'>i8'", "'|b1'", "'|O'", "{\"a\":1,\"a\":2}"};
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
        while (end < n && !(tokens[end].depth <= t.depth && (text[tokens[end].at] == ',' || (end > k && tokens[end].depth < t.depth)))) end++;
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

/* ---- the target: read, written, read again: the same tree ------------------------------------------------------------------------------------- */

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
    if (a->type == WICK_JSON_NUMBER) return a->is_integer ? b->is_integer && a->integer == b->integer : a->number == b->number; /* 2e3 is written 2000 */
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
FUZZ_MUTATOR(json) {
    for (size_t n = 1 + fuzz_below(r, 3); n--;) size = fuzz_json_text((char *)data, size, max, r);
    return size;
}
