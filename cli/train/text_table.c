#include "text_table.h"

#include "../paths.h"
#include "source_kinds.h"
#include "../term/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_COLUMNS = 256, HEAD = 4096 };

static const char *const of_texts[] = {"text",   "sentence", "words",   "tokens", "utterance",
                                       "review", "message",  "content", "tweet",  NULL},
                         *const of_files[] = {"path",       "file",    "filename", "file_name", "image",
                                              "image_path", "picture", "audio",    "wav",       NULL},
                         *const of_lines[] = {"text",  "transcription", "transcript", "sentence",
                                              "label", "words",         NULL},
                         *const of_labels[] = {"label", "labels", "class", "target", "y", NULL},
                         *const of_tags[] = {"tags", "ner_tags", "tag", "labels", "label", NULL};

typedef struct cursor {
    char *at;
    char separator; /* '\t': nothing is quoted */
    int64_t line;
} cursor;

/* The cells of a record, ended in place; how many. -1: a quote has no end. 0: no record is left. */
static int take_record(cursor *c, char *cells[MOST_COLUMNS]) {
    int n = 0;
    while (*c->at == '\n' || (*c->at == '\r' && c->at[1] == '\n')) c->line += *c->at++ == '\n';
    if (!*c->at) return 0;
    for (bool more = true; more;) {
        char *from = c->at, *to = c->at;
        bool quoted = c->separator != '\t' && *from == '"';
        if (quoted) from++;
        if (n < MOST_COLUMNS) cells[n++] = to;
        while (*from && (quoted || (*from != c->separator && *from != '\n'))) {
            if (quoted && *from == '"') {
                if (from[1] != '"')
                    quoted = false, from++;
                else
                    *to++ = '"', from += 2;
                continue;
            }
            c->line += *from == '\n';
            *to++ = *from++;
        }
        if (quoted) return -1;
        more = *from == c->separator;
        c->line += *from == '\n';
        c->at = from + (*from != '\0');
        if (!more && to > cells[n - 1] && to[-1] == '\r') to--;
        *to = '\0';
    }
    return n;
}

static int find(char *const *cells, int n, const char *name, const char *const *usual) {
    for (int c = 0; c < n && name && *name; c++)
        if (strcmp(cells[c], name) == 0) return c;
    for (int k = 0; usual && !(name && *name) && usual[k]; k++)
        for (int c = 0; c < n; c++)
            if (strcasecmp(cells[c], usual[k]) == 0) return c;
    return -1;
}

static char separator_of(const char *path, const char *text, char asked) {
    static const char some[] = ",;\t|";
    if (source_is_tabbed(path)) return '\t';
    size_t most = 0;
    char best = ',';
    for (const char *s = some; *s && !asked; s++) {
        size_t n = 0;
        for (const char *at = text; *at && *at != '\n'; at++) n += *at == *s;
        if (n > most) most = n, best = *s;
    }
    return asked ? asked : best;
}

static bool is_table(const char *path) { return source_ends(path, ".csv") || source_ends(path, ".tsv"); }

bool text_table_is(const char *path, const char *name) {
    unsigned char head[HEAD + 1];
    char *cells[MOST_COLUMNS];
    const int n = is_table(path) ? path_head(path, head, HEAD) : -1;
    if (n <= 0) return false;
    head[n] = '\0';
    char *end = memchr(head, '\n', (size_t)n);
    if (end) end[1] = '\0';
    cursor c = {(char *)head, separator_of(path, (char *)head, 0), 1};
    const int columns = take_record(&c, cells);
    return columns > 1 && find(cells, columns, name, of_texts) >= 0;
}

static text_row *add_row(text_table *t, int64_t *room) {
    if (t->n == *room) {
        text_row *more = realloc(t->rows, (size_t)(*room = 2 * *room + 1024) * sizeof *more);
        if (!more) return NULL;
        t->rows = more;
    }
    return &t->rows[t->n++];
}

static bool is_of_split(const char *cell, const char *split) {
    static const char *const held[] = {"validation", "val", "valid", "dev"};
    if (strcmp(split, "all") == 0 || strcasecmp(cell, split) == 0) return true;
    bool asked = false, is = false;
    for (int k = 0; k < 4; k++) asked |= strcmp(split, held[k]) == 0, is |= strcasecmp(cell, held[k]) == 0;
    return asked && is;
}

static wick_status no_column(wick_context *ctx, const char *path, const char *what, const char *name,
                             const char *option, char *const *cells, int n) {
    char names[512] = "";
    for (int c = 0; c < n; c++) {
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s\"%.40s\"", c ? ", " : "", cells[c]);
    }
    if (name && *name)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no column \"%.100s\"; there are %s", path, name, names);
    return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: which column is the %s? There are %s: --%s names it", path,
                             what, names, option);
}

bool text_table_place(const char *table, const char *name, char *path, size_t size) {
    const char *slash = strrchr(table, '/');
    if (!*name || *name == '/' || strncmp(name, "../", 3) == 0 || strstr(name, "/../")) return false;
    const int n = snprintf(path, size, "%.*s%s", slash ? (int)(slash - table + 1) : 0, table, name);
    return n > 0 && (size_t)n < size;
}

static bool is_file_beside(const char *table, const char *name) {
    char path[4096];
    return text_table_place(table, name, path, sizeof path) && path_exists(path);
}

/* A table without names of columns: a file, and its text. */
static bool is_headless(const char *path, const text_columns *how, char *const *cells, int n) {
    return how->files && n == 2 && !(how->text && *how->text) && find(cells, n, NULL, of_files) < 0 &&
           is_file_beside(path, cells[0]);
}

static wick_status read_table(wick_context *ctx, const char *path, const char *split, const text_columns *how,
                              text_table *t) {
    char *cells[MOST_COLUMNS];
    cursor c = {t->data, separator_of(path, t->data, how->separator), 1};
    int64_t room = 0;
    const int columns = take_record(&c, cells);
    if (columns < 1) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no line with names of columns", path);
    const bool headless = is_headless(path, how, cells, columns);
    const int text = headless ? 0 : find(cells, columns, how->text, how->files ? of_files : of_texts),
              part = headless ? -1 : find(cells, columns, "split", NULL),
              label = headless ? 1
                               : find(cells, columns, how->label,
                                      how->files  ? of_lines
                                      : how->tags ? of_tags
                                                  : of_labels);
    if (text < 0 && how->files)
        return no_column(ctx, path, "name of a picture or recording", how->text, "label", cells, columns);
    if (text < 0) return no_column(ctx, path, "text", how->text, "text", cells, columns);
    if (label < 0 && !how->no_label && how->files)
        return no_column(ctx, path, "text", how->label, "text", cells, columns);
    if (label < 0 && !how->no_label)
        return no_column(ctx, path, how->tags ? "tags" : "class", how->label, "label", cells, columns);
    const int taken[] = {text, label, part};
    for (int k = 0; k < 3 && !headless; k++)
        for (int i = 0; i < columns && taken[k] >= 0; i++)
            if (i != taken[k] && strcmp(cells[i], cells[taken[k]]) == 0)
                return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                         "%s: more than one column is called \"%.60s\", and which of them is meant "
                                         "nobody can tell",
                                         path, cells[i]);
    if (headless) {
        text_row *row = add_row(t, &room);
        if (!row) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
        *row = (text_row){cells[0], cells[1], 1};
    }
    t->parted = part >= 0;
    for (int i = 0; i < columns && !headless; i++) {
        const size_t at = strlen(t->others);
        if (i != text && i != label && i != part)
            snprintf(t->others + at, sizeof t->others - at, "%s\"%.60s\"", at ? ", " : "", cells[i]);
    }
    for (;;) {
        const int64_t line = c.line;
        const int n = take_record(&c, cells);
        if (!n) break;
        if (n < 0)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: a quote has no end", path, (long long)line);
        if (n != columns)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: has %d cells, and the header %d", path,
                                     (long long)line, n, columns);
        if (part >= 0 && !is_of_split(cells[part], split)) continue;
        if (label >= 0 && !*cells[label] && !how->no_label && !how->files)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: its label is empty", path, (long long)line);
        text_row *row = add_row(t, &room);
        if (!row) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
        *row = (text_row){cells[text], label >= 0 ? cells[label] : NULL, line};
    }
    return WICK_OK;
}

/* "# text = ..." in front of a sentence; "# O" is a word and its tag. */
static bool is_comment(const char *line) {
    const char *at = line + 1 + strspn(line + 1, " \t");
    return line[0] == '#' && at > line + 1 && strpbrk(at, " \t");
}

/* "word ... tag" lines become words and tags with blanks between, which are no longer than the lines. */
static wick_status read_conll(wick_context *ctx, const char *path, text_table *t) {
    const size_t size = strlen(t->data);
    char *words = malloc(2 * size + 2), *tags, *rest = t->data;
    int64_t room = 0, line = 0;
    if (!words) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    char *w = words, *g = tags = words + size + 1;
    text_row *row = NULL;
    for (char *at; (at = strsep(&rest, "\n"));) {
        line++;
        at += strspn(at, " \t\r");
        size_t end = strlen(at), first = strcspn(at, " \t\r");
        while (end && strchr(" \t\r", at[end - 1])) at[--end] = '\0';
        if (!*at || strncmp(at, "-DOCSTART-", 10) == 0 || (!row && is_comment(at))) {
            row = NULL;
            continue;
        }
        const char *tag = at + end;
        while (tag > at && !strchr(" \t", tag[-1])) tag--;
        if (tag == at) {
            free(words);
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: has a word and no tag: \"%.40s\"", path,
                                     (long long)line, at);
        }
        if (row)
            w[-1] = g[-1] = ' ';
        else if (!(row = add_row(t, &room))) {
            free(words);
            return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
        } else
            *row = (text_row){w, g, line};
        const size_t length = strlen(tag);
        memcpy(w, at, first), w += first, *w++ = '\0';
        memcpy(g, tag, length + 1), g += length + 1;
    }
    free(t->data);
    t->data = words;
    return WICK_OK;
}

static wick_status read_lines(wick_context *ctx, const char *path, text_table *t) {
    int64_t room = 0, line = 0;
    char *rest = t->data;
    for (char *at; (at = strsep(&rest, "\n"));) {
        line++;
        const size_t end = strlen(at);
        if (end && at[end - 1] == '\r') at[end - 1] = '\0';
        if (!at[strspn(at, " \t")]) continue;
        text_row *row = add_row(t, &room);
        if (!row) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
        *row = (text_row){at, NULL, line};
    }
    return WICK_OK;
}

wick_status text_table_read(wick_context *ctx, const char *path, const char *split, const text_columns *columns,
                            text_table *out) {
    size_t size;
    *out = (text_table){0};
    out->data = path_read(path, &size);
    if (!out->data)
        return errno == ENOMEM ? wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path)
                               : wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    if (strlen(out->data) != size) {
        const size_t at = strlen(out->data);
        text_table_free(out);
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: is no text: byte %zu is 0", path, at);
    }
    int64_t line = 1;
    for (const char *s = out->data; *s;) {
        const int length = utf8_length((const unsigned char *)s);
        if (!length) {
            text_table_free(out);
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: is no UTF-8", path, (long long)line);
        }
        line += *s == '\n';
        s += length;
    }
    if (strncmp(out->data, "\xEF\xBB\xBF", 3) == 0) memmove(out->data, out->data + 3, size - 2);
    /* of a .txt that is asked about, and not learned from, each line is a text */
    const bool lines = columns->no_label && source_ends(path, ".txt");
    wick_status status = is_table(path)            ? read_table(ctx, path, split, columns, out)
                         : columns->tags && !lines ? read_conll(ctx, path, out)
                                                   : read_lines(ctx, path, out);
    if (status == WICK_OK && !out->n)
        status = wick_context_fail(ctx, out->parted ? WICK_ERR_IO : WICK_ERR_FORMAT, "%s: has no rows%s%s", path,
                                   out->parted ? " whose split is " : "", out->parted ? split : "");
    if (status != WICK_OK) text_table_free(out);
    return status;
}

void text_table_free(text_table *table) {
    free(table->rows);
    free(table->data);
    *table = (text_table){0};
}

void text_table_take_fifth(text_table *t, const text_columns *columns, bool test) {
    enum { HELD_OUT = 5 };
    int64_t kept = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const char *text = columns->files && t->rows[i].label ? t->rows[i].label : t->rows[i].text;
        if ((source_hash(text) % HELD_OUT == 0) == test) t->rows[kept++] = t->rows[i];
    }
    t->n = kept;
}

bool text_table_has_files(wick_context *ctx, const char *path) {
    unsigned char head[HEAD + 1];
    char *cells[MOST_COLUMNS];
    const text_columns columns = {.files = true};
    text_table t;
    const int n = is_table(path) ? path_head(path, head, HEAD) : -1;
    if (n <= 0) return false;
    head[n] = '\0';
    char *end = memchr(head, '\n', (size_t)n);
    if (end) end[1] = '\0';
    cursor c = {(char *)head, separator_of(path, (char *)head, 0), 1};
    const int count = take_record(&c, cells);
    static const char *const of_these[] = {"text", "transcription", "transcript", NULL};
    const bool named = count > 1 && find(cells, count, NULL, of_files) >= 0 &&
                       find(cells, count, NULL, of_these) >= 0 && find(cells, count, NULL, of_labels) < 0;
    if (!named && !(count == 2 && is_headless(path, &columns, cells, count))) return false;
    if (text_table_read(ctx, path, "all", &columns, &t) != WICK_OK) return wick_context_clear_error(ctx), false;
    const bool has = is_file_beside(path, t.rows[0].text);
    text_table_free(&t);
    return has;
}
