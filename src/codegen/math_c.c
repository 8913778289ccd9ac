/* math_c.c: reads the headers of math functions as a list of definitions, and prints those that are needed. It knows no
 * more C than these headers use: a definition starts in the first column and ends with the brace or line that closes
 * it. */
#include "codegen/math_c.h"

#include <ctype.h>

#pragma GCC diagnostic ignored "-Woverlength-strings" /* C11 5.2.4.1 promises 4095 bytes; gcc and clang take more */
static const char math_lines[] =
#include "codegen/math_lines.h"
    ;

typedef struct definition {
    char *text; /* with lines */
    char *name;
    bool needed;
} definition;

typedef struct reading {
    wick_arena *arena;
    definition *all;
    size_t n, cap;
    bool failed;
} reading;

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }
static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static char *copied(reading *r, const char *text, size_t n) {
    char *copy = wick_arena_alloc(r->arena, n + 1);
    if (!copy) {
        r->failed = true;
        return NULL;
    }
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

static void add(reading *r, const char *text, size_t size, const char *name, size_t length) {
    void *all = r->all;
    if (!wick_grow(NULL, &all, &r->cap, r->n + 1, sizeof *r->all)) {
        r->failed = true;
        return;
    }
    r->all = all;
    r->all[r->n++] = (definition){copied(r, text, size), copied(r, name, length), false};
}

/* Of a definition that opens braces: the bytes to the one that closes them, and what stands behind it on the line. 0:
 * none is closed here. */
static size_t closed(const char *text) {
    int depth = 0;
    bool comment = false, any = false;
    for (size_t i = 0; text[i]; i++) {
        if (comment) {
            comment = !(text[i] == '*' && text[i + 1] == '/');
        } else if (text[i] == '/' && text[i + 1] == '*') {
            comment = true;
        } else if (text[i] == '{') {
            depth++, any = true;
        } else if (text[i] == '}') {
            depth--;
        } else if (text[i] == '\n' && any && depth == 0) {
            return i;
        }
    }
    return any && depth == 0 && !comment ? strlen(text) : 0;
}

/* The name that a function, table or struct is defined by: the word before the first bracket. */
static void add_object(reading *r, const char *text, size_t size) {
    const size_t skip = starts(text, "static inline __attribute__((always_inline)) ")
                            ? strlen("static inline __attribute__((always_inline)) ")
                            : 0;
    const size_t end = starts(text, "typedef") ? strcspn(text, "{") - 1 : skip + strcspn(text + skip, "([");
    size_t first = end;
    while (first > 0 && is_name(text[first - 1])) first--;
    add(r, text, size, text + first, end - first);
}

/* Bytes of a macro's argument, which may have brackets of its own. */
static size_t argument(const char *text) {
    int depth = 0;
    size_t n = 0;
    for (; text[n] && (depth > 0 || (text[n] != ',' && text[n] != ')')); n++)
        depth += text[n] == '(' ? 1 : text[n] == ')' ? -1 : 0;
    return n;
}

/* WICK_CLAMP(float, f32, WICK_IS_NAN): the macro's functions, its parameters replaced and its pastes done. */
static void add_instance(reading *r, const char *line) {
    const size_t length = strcspn(line, "(");
    const definition *macro = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (strlen(r->all[i].name) == length && memcmp(r->all[i].name, line, length) == 0) macro = &r->all[i];
    const char *params = macro && macro->text ? strchr(macro->text, '(') : NULL,
               *body = params ? strchr(params, ')') : NULL, *args = strchr(line, '(');
    if (!body || !args) return;
    params++, body++, args++;
    wick_text out = {0};
    for (const char *p = body; *p;) {
        if (p[0] == '#' && p[1] == '#') {
            p += 2;
        } else if (p[0] == '\\' && p[1] == '\n') {
            while (out.len && out.at[out.len - 1] == ' ') out.len--;
            wick_text_bytes(&out, "\n", 1);
            p += 2 + (starts(p + 2, "    ") ? 4 : 0);
        } else if (!is_name(*p)) {
            wick_text_bytes(&out, p++, 1);
        } else {
            size_t word = 0, n_param = 0, n_arg;
            while (is_name(p[word])) word++;
            const char *a = args, *q = params;
            for (; *q != ')'; q += n_param + strspn(q + n_param, ", "), a += n_arg + strspn(a + n_arg, ", ")) {
                n_param = strcspn(q, ",)");
                n_arg = argument(a);
                if (n_param == word && memcmp(q, p, word) == 0) break;
            }
            if (*q != ')')
                wick_text_bytes(&out, a, n_arg);
            else
                wick_text_bytes(&out, p, word);
            p += word;
        }
    }
    r->failed = r->failed || out.failed;
    for (const char *p = out.at; p && !r->failed && (p = strstr(p, "WICK_MATH"));) {
        const size_t size = closed(p);
        if (!size) break;
        add_object(r, p, size);
        p += size;
    }
    wick_text_free(&out);
}

/* All lines but what other tiers have in #if ... #else, with the guards of the headers gone. */
static void read_lines(reading *r) {
    bool skipped = false;
    wick_text item = {0};
    char kind = 0; /* of what is gathered: 'd' a #define, 'o' a function, table or struct */
    size_t length;
    for (const char *line = math_lines; line < math_lines + sizeof math_lines - 1 && !r->failed; line += length + 1) {
        length = strlen(line);
        if (starts(line, "#if")) skipped = !starts(line, "#ifndef WICK_KERNELS") && !starts(line, "#ifndef WICK_BASE");
        if (starts(line, "#else") || starts(line, "#endif")) skipped = false;
        if (skipped || (starts(line, "#") && !starts(line, "#define"))) continue;
        if (!kind) {
            if (starts(line, "#define WICK_KERNELS") || starts(line, "#define WICK_BASE") ||
                starts(line, "#define WICK_MATH") || starts(line, "#define WICK_FMA"))
                continue;
            kind = starts(line, "#define")                                                          ? 'd'
                   : starts(line, "WICK_MATH") || starts(line, "static") || starts(line, "typedef") ? 'o'
                                                                                                    : 0;
            if (!kind && starts(line, "WICK_")) add_instance(r, line);
            if (!kind) continue;
        }
        if (item.len) wick_text_bytes(&item, "\n", 1);
        wick_text_bytes(&item, line, length);
        if (item.failed) {
            r->failed = true;
        } else if (kind == 'd' && (!length || line[length - 1] != '\\')) {
            const char *name = item.at + strlen("#define ");
            size_t n = 0;
            while (is_name(name[n])) n++;
            add(r, item.at, item.len, name, n);
            kind = 0;
        } else if (kind == 'o' && closed(item.at)) {
            add_object(r, item.at, item.len);
            kind = 0;
        }
        if (!kind) item.len = 0;
    }
    wick_text_free(&item);
}

/* Marks what `code` names, and all that needs; comments name things too, and need none. Definitions name only those
 * before them. */
static void mark(reading *r, const char *code) {
    for (const char *p = code; *p;) {
        const char *end = starts(p, "/*") ? strstr(p + 2, "*/") : NULL;
        size_t word = 0;
        if (end) {
            p = end + 2;
            continue;
        }
        while (is_name(p[word])) word++;
        for (size_t i = 0; word > 4 && i < r->n; i++) {
            definition *d = &r->all[i];
            if (d->needed || strlen(d->name) != word || memcmp(d->name, p, word) != 0) continue;
            d->needed = true;
            mark(r, d->text);
        }
        p += word ? word : 1;
    }
}

static bool print_math(wick_text *out, const char *code, const char *const (*replaced)[2], int n_replaced) {
    wick_arena arena;
    wick_arena_init(&arena, NULL, 64 * 1024);
    reading r = {.arena = &arena};
    read_lines(&r);
    if (!r.failed) mark(&r, code);
    for (size_t i = 0; i < r.n && !r.failed; i++) {
        if (!r.all[i].needed) continue;
        wick_text_replaced(out, r.all[i].text, strlen(r.all[i].text), replaced, n_replaced);
        wick_text_add(out, "\n");
    }
    wick_release(NULL, r.all, r.cap * sizeof *r.all);
    wick_arena_free(&arena);
    return !r.failed && !out->failed;
}

bool wick_c_math(wick_text *out, const char *code) {
    static const char *const plain[][2] = {{"static inline __attribute__((always_inline)) ", "static inline "},
                                           {"WICK_MATH ", "static inline "},
                                           {"__builtin_", ""},
                                           {"_Pragma(\"GCC unroll 32\") ", ""}};
    return print_math(out, code, plain, WICK_COUNTOF(plain));
}
bool wick_c_math_gnu(wick_text *out, const char *code) {
    static const char *const gnu[][2] = {{"WICK_MATH ", "static inline __attribute__((always_inline)) "}};
    return print_math(out, code, gnu, WICK_COUNTOF(gnu));
}
