/* csv_relation.c: Weka's .arff and sktime's .ts, written down as a table whose lines have the numbers that they have in
 * the file, so that whatever reads tables reads them. */
#include "data/formats/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { WORD = 256 };

typedef struct attribute {
    bool numeric;
    char *values; /* of a nominal one, each with a zero behind it, n bytes of cap */
    size_t n, cap;
    bool nominal; /* no other value is one */
} attribute;

typedef struct relation {
    const wick_allocator *alloc;
    const char *path;
    const char *at, *end; /* of the line */
    int64_t line, header; /* header: the line that the columns' names are put on; 0: there is none yet */
    char **out;           /* what is written, n bytes of *cap */
    size_t n, *cap;
    char *names, *cell; /* of all columns, as the table's first line has them; what was read last */
    size_t n_names, names_cap, n_cell, cell_cap;
    attribute *attributes;
    size_t n_attributes, attributes_cap;
    int64_t dims, length; /* of .ts, what the first row has */
    bool labelled, target, data, quoted;
    locale_t locale;
    wick_msg *msg;
} relation;

static wick_status out_of_memory(const relation *r) {
    return wick_msg_set(r->msg, WICK_ERR_NOMEM, "%s: out of memory", r->path);
}
#define wrong(r, ...) wrong_at((r), __VA_ARGS__)
static wick_status wrong_at(const relation *r, const char *fmt, ...) WICK_PRINTF(2, 3);
static wick_status wrong_at(const relation *r, const char *fmt, ...) {
    char what[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return wick_msg_set(r->msg, WICK_ERR_FORMAT, "%s: line %lld: %s", r->path, (long long)r->line, what);
}

static bool put(const relation *r, char **to, size_t *cap, size_t *n, const char *text, size_t size) {
    if (!wick_grow(r->alloc, (void **)to, cap, *n + size + 1, 1)) return false;
    if (size) memcpy(*to + *n, text, size);
    *n += size;
    (*to)[*n] = '\0';
    return true;
}
static bool write_text(relation *r, const char *text, size_t size) { return put(r, r->out, r->cap, &r->n, text, size); }
/* A cell of a table, between quotes. */
static bool put_quoted(const relation *r, char **to, size_t *cap, size_t *n, const char *text, size_t size) {
    bool ok = put(r, to, cap, n, "\"", 1);
    for (size_t i = 0; i < size && ok; i++)
        ok = put(r, to, cap, n, text[i] == '"' ? "\"\"" : text + i, 1 + (text[i] == '"'));
    return ok && put(r, to, cap, n, "\"", 1);
}
static bool add_name(relation *r, const char *name, size_t size) {
    return (!r->n_names || put(r, &r->names, &r->names_cap, &r->n_names, ",", 1)) &&
           put_quoted(r, &r->names, &r->names_cap, &r->n_names, name, size);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static void skip_blanks(relation *r) {
    while (r->at < r->end && is_blank(*r->at)) r->at++;
}

/* The next word, up to a blank or one of `ends`, or what is between quotes, into r->cell. */
static wick_status read_word(relation *r, const char *ends) {
    bool ok = true;
    r->n_cell = 0, r->quoted = false;
    skip_blanks(r);
    if (r->at < r->end && !*r->at) return wrong(r, "a zero byte: this is no text");
    if (r->at < r->end && (*r->at == '\'' || *r->at == '"')) {
        const char quote = *r->at++;
        r->quoted = true;
        for (; r->at < r->end && *r->at != quote; r->at++) {
            if (*r->at == '\\' && r->at + 1 < r->end) r->at++;
            ok = ok && put(r, &r->cell, &r->cell_cap, &r->n_cell, r->at, 1);
        }
        if (r->at == r->end) return wrong(r, "a quote that does not end");
        r->at++;
    } else
        for (; r->at < r->end && !is_blank(*r->at) && (!*r->at || !strchr(ends, *r->at)); r->at++)
            ok = ok && put(r, &r->cell, &r->cell_cap, &r->n_cell, r->at, 1);
    if (!ok || !put(r, &r->cell, &r->cell_cap, &r->n_cell, "", 0)) return out_of_memory(r);
    if (memchr(r->cell, 0, r->n_cell)) return wrong(r, "a zero byte: this is no text");
    skip_blanks(r);
    return WICK_OK;
}

static bool is_number(const relation *r, const char *text) {
    char *end;
    if (!*text || strpbrk(text, "xX")) return false;
    strtod_l(text, &end, r->locale);
    return !*end;
}
static bool is_unknown(const relation *r) { return !r->quoted && strcmp(r->cell, "?") == 0; }

/* The names go on the line before the first row, which is behind the header's lines. */
static wick_status begin_rows(relation *r) {
    if (r->header) return WICK_OK;
    r->header = r->line - 1;
    return write_text(r, r->names, r->n_names) && write_text(r, "\n", 1) ? WICK_OK : out_of_memory(r);
}

/* ---- .arff (waikato.github.io/weka-wiki/formats_and_processing/arff_stable) ---------------------------------------
 */

static wick_status read_values(relation *r, attribute *a) {
    r->at++; /* the brace */
    a->nominal = true;
    for (skip_blanks(r); r->at < r->end && *r->at != '}'; skip_blanks(r)) {
        WICK_TRY(read_word(r, ",}"));
        if (!put(r, &a->values, &a->cap, &a->n, r->cell, r->n_cell + 1)) return out_of_memory(r);
        if (r->at < r->end && *r->at == ',') r->at++;
    }
    if (r->at == r->end) return wrong(r, "the values of an attribute have no } behind them");
    return WICK_OK;
}

static wick_status read_attribute(relation *r) {
    static const char *const numbers[] = {"numeric", "real", "integer"};
    WICK_TRY(read_word(r, ""));
    if (!r->n_cell) return wrong(r, "an attribute without a name");
    if (!add_name(r, r->cell, r->n_cell) ||
        !wick_grow(r->alloc, (void **)&r->attributes, &r->attributes_cap, r->n_attributes + 1, sizeof *r->attributes))
        return out_of_memory(r);
    attribute *a = &r->attributes[r->n_attributes++];
    *a = (attribute){0};
    if (r->at < r->end && *r->at == '{') return read_values(r, a);
    WICK_TRY(read_word(r, ""));
    for (size_t k = 0; k < WICK_COUNTOF(numbers); k++) a->numeric |= strcasecmp(r->cell, numbers[k]) == 0;
    if (a->numeric || strcasecmp(r->cell, "string") == 0 || strcasecmp(r->cell, "date") == 0) return WICK_OK;
    return wrong(r, "\"%.60s\" is no type of an attribute: numeric, real, integer, string, date or {a, b}", r->cell);
}

static wick_status check_value(const relation *r, const attribute *a, size_t number) {
    if (a->numeric && !is_number(r, r->cell)) return wrong(r, "value %zu is no number: \"%.60s\"", number + 1, r->cell);
    size_t k = 0;
    while (k < a->n && strcmp(a->values + k, r->cell) != 0) k += strlen(a->values + k) + 1;
    return !a->nominal || k < a->n ? WICK_OK
                                   : wrong(r, "value %zu is none of its attribute's: \"%.60s\"", number + 1, r->cell);
}

static wick_status read_instance(relation *r) {
    size_t n = 0;
    if (*r->at == '{') return wrong(r, "rows between braces, of values that are not 0 alone, are not read");
    WICK_TRY(begin_rows(r));
    for (; r->at < r->end && *r->at != '%'; n++) {
        WICK_TRY(read_word(r, ","));
        if (n < r->n_attributes && !is_unknown(r)) WICK_TRY(check_value(r, &r->attributes[n], n));
        if ((n && !write_text(r, ",", 1)) ||
            (!is_unknown(r) && !put_quoted(r, r->out, r->cap, &r->n, r->cell, r->n_cell)))
            return out_of_memory(r);
        if (r->at < r->end && *r->at == ',' && ++r->at == r->end) return wrong(r, "a comma at its end");
    }
    return n == r->n_attributes ? WICK_OK
                                : wrong(r, "has %zu values, and there are %zu attributes", n, r->n_attributes);
}

/* ---- .ts (sktime's and the UEA archive's: dimensions with colons between, and the class behind them) ----------------
 */

static bool is_true(const relation *r) { return strcasecmp(r->cell, "true") == 0; }

static wick_status read_tag(relation *r, const char *tag) {
    WICK_TRY(read_word(r, ""));
    if (strcasecmp(tag, "timestamps") == 0 && is_true(r)) return wrong(r, "series with time stamps are not read");
    if (strcasecmp(tag, "equallength") == 0 && !is_true(r))
        return wrong(r, "series of several lengths are not read: make them alike");
    if (strcasecmp(tag, "classlabel") == 0 && is_true(r)) r->labelled = true;
    if (strcasecmp(tag, "targetlabel") == 0 && is_true(r)) r->labelled = r->target = true;
    return WICK_OK;
}

/* How many dimensions the first row has, how long they are, and what the columns are called then. */
static wick_status measure_row(relation *r) {
    char name[64];
    int64_t colons = 0, commas = 0;
    const char *first = memchr(r->at, ':', (size_t)(r->end - r->at));
    for (const char *s = r->at; s < r->end; s++) colons += *s == ':', commas += *s == ',' && (!first || s < first);
    r->dims = colons + !r->labelled, r->length = commas + 1;
    if (r->dims < 1) return wrong(r, "a row is values with commas, dimensions with colons between, and its class");
    if (r->dims > WICK_CSV_COLUMNS / r->length) return wrong(r, "has too many values");
    for (int64_t d = 0; d < r->dims; d++)
        for (int64_t t = 0; t < r->length; t++) {
            if (r->dims > 1)
                snprintf(name, sizeof name, "d%lld_t%lld", (long long)d, (long long)t);
            else
                snprintf(name, sizeof name, "t%lld", (long long)t);
            if (!add_name(r, name, strlen(name))) return out_of_memory(r);
        }
    const char *last = r->target ? "target" : "class";
    return !r->labelled || add_name(r, last, strlen(last)) ? WICK_OK : out_of_memory(r);
}

static wick_status read_series(relation *r) {
    if (!r->dims) WICK_TRY(measure_row(r));
    WICK_TRY(begin_rows(r));
    for (int64_t d = 0; d < r->dims; d++) {
        int64_t n = 0;
        for (bool more = true; more; n++) {
            WICK_TRY(read_word(r, ",:"));
            if (!is_unknown(r) && !is_number(r, r->cell))
                return wrong(r, "value %lld of dimension %lld is no number: \"%.60s\"", (long long)n + 1,
                             (long long)d + 1, r->cell);
            const bool known = !is_unknown(r) && strcasecmp(r->cell, "nan") != 0;
            if (((d || n) && !write_text(r, ",", 1)) || (known && !write_text(r, r->cell, r->n_cell)))
                return out_of_memory(r);
            more = r->at < r->end && *r->at == ',';
            r->at += more;
        }
        if (n != r->length)
            return wrong(r, "dimension %lld has %lld values, and those of the first row have %lld", (long long)d + 1,
                         (long long)n, (long long)r->length);
        const bool behind = r->at < r->end;
        if (behind != (d + 1 < r->dims || r->labelled) || (behind && *r->at++ != ':'))
            return wrong(r, "has not the %lld dimension%s of the first row%s", (long long)r->dims,
                         r->dims == 1 ? "" : "s", r->labelled ? ", and its class" : "");
    }
    if (!r->labelled) return WICK_OK;
    WICK_TRY(read_word(r, ",:"));
    if (r->at < r->end || !r->n_cell) return wrong(r, "has no class at its end, or more behind it");
    return write_text(r, ",", 1) && put_quoted(r, r->out, r->cap, &r->n, r->cell, r->n_cell) ? WICK_OK
                                                                                             : out_of_memory(r);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *ending) {
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && strcasecmp(path + n - m, ending) == 0;
}
bool wick_csv_is_relation(const char *path) { return ends_with(path, ".arff") || ends_with(path, ".ts"); }

static wick_status read_line(relation *r, bool series) {
    char tag[WORD];
    skip_blanks(r);
    while (r->end > r->at && is_blank(r->end[-1])) r->end--;
    if (r->at == r->end || *r->at == (series ? '#' : '%'))
        return !r->header || write_text(r, "\n", 1) ? WICK_OK : out_of_memory(r);
    if (r->data) {
        WICK_TRY(series ? read_series(r) : read_instance(r));
        return write_text(r, "\n", 1) ? WICK_OK : out_of_memory(r);
    }
    if (*r->at != '@') return wrong(r, "is no line of a header, which begins with @: @data is missing");
    r->at++;
    WICK_TRY(read_word(r, ""));
    snprintf(tag, sizeof tag, "%s", r->cell);
    if (strcasecmp(tag, "data") == 0) return r->data = true, WICK_OK;
    if (series) return read_tag(r, tag);
    if (strcasecmp(tag, "attribute") == 0) return read_attribute(r);
    return strcasecmp(tag, "relation") == 0 ? WICK_OK : wrong(r, "@%.40s is none of relation, attribute and data", tag);
}

static wick_status read_lines(relation *r, const char *text, size_t size) {
    const bool series = ends_with(r->path, ".ts");
    const char *at = text, *const end = text + size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        r->line++;
        r->at = at, r->end = stop ? stop : end;
        WICK_TRY(read_line(r, series));
        at = stop ? stop + 1 : end;
    }
    if (r->header) return WICK_OK;
    return wick_msg_set(r->msg, WICK_ERR_FORMAT, "%s: has no %s", r->path, r->data ? "row behind @data" : "line @data");
}

wick_status wick_csv_from_relation(const wick_allocator *alloc, const char *path, locale_t locale, const char *text,
                                   size_t size, char **out, size_t *out_size, size_t *room, char **types,
                                   size_t *types_room, int64_t *skipped, wick_msg *msg) {
    relation r = {.alloc = alloc, .path = path, .out = out, .cap = room, .locale = locale, .msg = msg};
    wick_status status = read_lines(&r, text, size);
    size_t n = 0;
    for (size_t k = 0; k < r.n_attributes && status == WICK_OK; k++)
        if (!put(&r, types, types_room, &n, r.attributes[k].numeric ? "n" : "t", 1)) status = out_of_memory(&r);
    *out_size = r.n, *skipped = r.header - 1;
    wick_release(alloc, r.names, r.names_cap);
    wick_release(alloc, r.cell, r.cell_cap);
    for (size_t k = 0; k < r.n_attributes; k++) wick_release(alloc, r.attributes[k].values, r.attributes[k].cap);
    wick_release(alloc, r.attributes, r.attributes_cap * sizeof *r.attributes);
    return status;
}
