#include "heads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const head_kinds[] = {"auto", "classes", "numbers", "labels"};

void heads_free(heads **h) {
    for (int i = 0; *h && i < (*h)->n; i++) {
        head *one = &(*h)->list[i];
        for (int64_t k = 0; one->outputs && k < one->n; k++) free(one->outputs[k]);
        free(one->outputs);
        free(one->name);
    }
    free(*h);
    *h = NULL;
}

bool heads_match(const char *pattern, const char *name) {
    const char *after = NULL, *from = name; /* behind the last *, and where the text that it stands for ends */
    while (*name) {
        if (*pattern == '*')
            after = ++pattern, from = name;
        else if (*pattern == *name)
            pattern++, name++;
        else if (after)
            pattern = after, name = ++from;
        else
            return false;
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

/* ---- as the command line has them -------------------------------------------------------------------------------- */

static heads *wrong(heads *h, char *error, size_t size, const char *what, const char *of, int length) {
    snprintf(error, size, "'%.*s' %s", length, of, what);
    heads_free(&h);
    return NULL;
}

static int find_kind(const char *text, size_t n) {
    static const char *const others[] = {"", "class", "number", "label"};
    for (int k = HEAD_AUTO; k <= HEAD_LABELS; k++)
        if ((strlen(head_kinds[k]) == n && memcmp(head_kinds[k], text, n) == 0) ||
            (strlen(others[k]) == n && n && memcmp(others[k], text, n) == 0))
            return k;
    return -1;
}

/* "classes*0.5" in the n bytes at text; NULL, or what is wrong. */
static const char *read_kind(const char *text, size_t n, head *to) {
    const char *star = memchr(text, '*', n);
    const size_t length = star ? (size_t)(star - text) : n;
    const int kind = find_kind(text, length);
    if (kind < 0) return "is no kind of head: classes, number, labels or auto, and a weight behind it as in number*0.5";
    to->kind = (head_kind)kind;
    if (!star) return NULL;
    char number[32], *end;
    const size_t rest = n - length - 1;
    if (!rest || rest >= sizeof number) return "has a weight that is no number";
    memcpy(number, star + 1, rest);
    number[rest] = 0;
    to->weight = strtod(number, &end);
    return *end || !isfinite(to->weight) || to->weight < 0 ? "has a weight that is no number from 0 on" : NULL;
}

heads *heads_read(const char *text, bool kinds, char *error, size_t size) {
    heads *h = calloc(1, sizeof *h);
    snprintf(error, size, "out of memory");
    for (const char *at = text; h;) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ",");
        const char *next = at + n;
        while (n && at[n - 1] == ' ') n--;
        const char *equal = NULL;
        for (size_t k = 0; kinds && k < n; k++)
            if (at[k] == '=') equal = at + k; /* the last one */
        const size_t name = equal ? (size_t)(equal - at) : n;
        if (!name) return wrong(h, error, size, "names no column", text, (int)strlen(text));
        if (h->n == MOST_HEADS) return wrong(h, error, size, "is one head more than 64", at, (int)n);
        head *to = &h->list[h->n++];
        *to = (head){.name = strndup(at, name), .weight = 1};
        if (!to->name) return heads_free(&h), NULL;
        for (int k = 0; k < h->n - 1; k++)
            if (strcmp(h->list[k].name, to->name) == 0) return wrong(h, error, size, "is named twice", at, (int)name);
        const char *why = equal ? read_kind(equal + 1, n - name - 1, to) : NULL;
        if (why) return wrong(h, error, size, why, at, (int)n);
        if (!*next) break;
        at = next + 1;
    }
    return h;
}

/* ---- as the coding has them -------------------------------------------------------------------------------------- */

static const char open[] = "\f\"heads\"\n";

const char *heads_in(const char *coding) {
    const char *found = coding ? strrchr(coding, '\f') : NULL;
    return found && strncmp(found, open, sizeof open - 1) == 0 ? found : NULL;
}

static void write_cell(FILE *out, const char *text, char before) {
    if (before) fputc(before, out);
    fputc('"', out);
    for (const char *s = text; *s; s++) {
        if (*s == '"') fputc('"', out);
        fputc(*s, out);
    }
    fputc('"', out);
}

void heads_write(FILE *out, const heads *h) {
    fputs(open, out);
    for (int i = 0; i < h->n; i++) {
        const head *one = &h->list[i];
        char weight[40];
        snprintf(weight, sizeof weight, "%.17g", one->weight);
        write_cell(out, head_kinds[one->kind], 0);
        write_cell(out, one->name, ',');
        write_cell(out, weight, ',');
        for (int64_t k = 0; k < one->n; k++) write_cell(out, one->outputs[k], ',');
        fputc('\n', out);
    }
}

/* The cell at *at, malloc'ed, which then is behind it, at a comma or the end of a line. NULL: there is none. */
static char *read_cell(const char **at) {
    if (**at != '"') return NULL;
    const char *s = *at + 1;
    char *text = malloc(strlen(s) + 1);
    size_t n = 0;
    for (; text && *s; s++) {
        if (*s == '"' && s[1] != '"') break;
        s += *s == '"';
        text[n++] = *s;
    }
    if (!text || *s != '"') return free(text), NULL;
    text[n] = 0;
    *at = s + 1;
    return text;
}

/* The next cell of the line; NULL: it has no more, or is wrong. */
static char *next_cell(const char **at) { return **at == ',' ? (++*at, read_cell(at)) : NULL; }

static bool read_line(const char **at, heads *h) {
    head *to = &h->list[h->n++];
    char *kind = read_cell(at), *end = NULL;
    const int is = kind ? find_kind(kind, strlen(kind)) : -1;
    free(kind);
    to->name = is > HEAD_AUTO ? next_cell(at) : NULL;
    char *weight = to->name ? next_cell(at) : NULL;
    to->kind = (head_kind)is;
    to->weight = weight ? strtod(weight, &end) : 0;
    const bool ok = weight && !*end && isfinite(to->weight) && to->weight >= 0;
    free(weight);
    to->first = h->outputs;
    for (int64_t room = 0; ok && **at == ',';) {
        if (to->n == room) {
            room = room ? 2 * room : 8;
            char **more = realloc(to->outputs, (size_t)room * sizeof *more);
            if (!more) return false;
            to->outputs = more;
        }
        if (!(to->outputs[to->n] = next_cell(at))) return false;
        to->n++, h->outputs++;
    }
    return ok && *(*at)++ == '\n' && to->n > (to->kind == HEAD_CLASSES);
}

heads *heads_read_coding(const char *at) {
    heads *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    for (at += sizeof open - 1; *at;)
        if (h->n == MOST_HEADS || !read_line(&at, h)) return heads_free(&h), NULL;
    if (!h->n) heads_free(&h);
    return h;
}
