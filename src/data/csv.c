/* csv.c: tables of comma-separated values. The text is gone through three times: for the types of columns, for their categories, and for the values. Numbers are read in the
 * "C" locale, whatever the host's is. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "data/dataset.h"
#include "wick/datasets.h"

enum { COLUMNS = 1 << 16, CATEGORIES = 1 << 16, GROWTH = 64 };

typedef struct column {
    wick_csv_column c;
    const char **names; /* of categories, sorted */
    size_t cap;
    double sum;
    int64_t present;
    int first, width; /* among the features */
} column;

struct wick_csv {
    wick_allocator alloc;
    wick_arena arena;
    const char *path;
    wick_csv_options options;
    int64_t rows;
    int n, features, label, target;
    size_t cap;
    column *columns;
    float *values; /* [rows, features] */
    size_t value_bytes, label_bytes, target_bytes;
    int64_t *labels;
    float *targets;
};

/* ---- cells ------------------------------------------------------------------------------------------------------------------------------------ */

typedef struct reader {
    const wick_csv *csv;
    const char *at, *end;
    int64_t line, row_line; /* of the text, from 1; and where this row began */
    char *cell;             /* the present one, with a zero behind it */
    size_t n, cap;
    locale_t locale;
} reader;

static bool put(reader *r, char c) {
    if (!wick_grow(&r->csv->alloc, (void **)&r->cell, &r->cap, r->n + 2, 1)) return false;
    r->cell[r->n++] = c;
    return true;
}
static wick_status wrong(const reader *r, wick_msg *msg, const char *what) {
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %lld: %s", r->csv->path, (long long)r->line, what);
}

/* The next cell of this row; *last: the row ends behind it. */
static wick_status next_cell(reader *r, bool *last, wick_msg *msg) {
    const char separator = r->csv->options.separator;
    r->n = 0;
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t') && *r->at != separator) r->at++;
    bool room = true;
    if (r->at < r->end && *r->at == '"') {
        for (r->at++;; r->at++) {
            if (r->at == r->end) return wrong(r, msg, "a quote that does not end");
            if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"')) break;
            if (*r->at == '"') r->at++;
            r->line += *r->at == '\n';
            room = room && put(r, *r->at);
        }
        for (r->at++; r->at < r->end && (*r->at == ' ' || *r->at == '\t') && *r->at != separator;) r->at++;
        if (r->at < r->end && *r->at != separator && *r->at != '\r' && *r->at != '\n') return wrong(r, msg, "text behind a quoted cell");
    } else {
        for (; r->at < r->end && *r->at != separator && *r->at != '\n' && !(*r->at == '\r' && (r->at + 1 == r->end || r->at[1] == '\n')); r->at++) room = room && put(r, *r->at);
        while (r->n && (r->cell[r->n - 1] == ' ' || r->cell[r->n - 1] == '\t')) r->n--;
    }
    if (!room || !wick_grow(&r->csv->alloc, (void **)&r->cell, &r->cap, r->n + 1, 1)) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", r->csv->path);
    r->cell[r->n] = 0;
    if (memchr(r->cell, 0, r->n)) return wrong(r, msg, "a zero byte");
    *last = r->at == r->end || *r->at != separator;
    if (!*last) r->at++;
    return WICK_OK;
}
/* To the next row that is not empty; false: there is none. */
static bool next_row(reader *r) {
    for (; r->at < r->end && (*r->at == '\n' || *r->at == '\r'); r->at++) r->line += *r->at == '\n';
    r->row_line = r->line;
    return r->at < r->end;
}

static bool is_missing(const char *cell) {
    static const char *const texts[] = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"};
    for (size_t i = 0; i < WICK_COUNTOF(texts); i++)
        if (strcmp(cell, texts[i]) == 0) return true;
    return false;
}
/* Digits, or inf: no hexadecimal numbers, which strtod would take. */
static bool is_number(const reader *r, const char *cell, double *value) {
    char *end;
    const char *digits = cell + strspn(cell, "+-");
    if (digits - cell > 1 || (cell[strspn(cell, "0123456789+-.eE")] && strcasecmp(digits, "inf") != 0 && strcasecmp(digits, "infinity") != 0)) return false;
    *value = strtod_l(cell, &end, r->locale);
    return end != cell && !*end;
}

/* ---- the three walks ---------------------------------------------------------------------------------------------------------------------------- */

typedef wick_status (*cell_fn)(wick_csv *t, reader *r, int column, int64_t row, wick_msg *msg);

static wick_status walk(wick_csv *t, reader *r, const char *begin, cell_fn fn, wick_msg *msg) {
    r->at = begin;
    r->line = 1;
    if (!t->options.no_header) { /* passed over: it was read */
        bool last = !next_row(r);
        while (!last) WICK_TRY(next_cell(r, &last, msg));
    }
    for (t->rows = 0; next_row(r); t->rows++) {
        int k = 0;
        for (bool last = false; !last; k++) {
            WICK_TRY(next_cell(r, &last, msg));
            if (k < t->n && t->columns[k].c.type != WICK_CSV_LEFT_OUT) WICK_TRY(fn(t, r, k, t->rows, msg));
        }
        if (k != t->n)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %lld: %d cell%s where the first line has %d", t->path, (long long)r->row_line, k, k == 1 ? "" : "s", t->n);
    }
    return WICK_OK;
}

static wick_status find_type(wick_csv *t, reader *r, int k, int64_t row, wick_msg *msg) {
    column *c = &t->columns[k];
    double v = 0;
    if (is_missing(r->cell)) {
        c->c.missing++;
        if (k != t->label && k != t->target && t->options.missing != WICK_CSV_REFUSE) return WICK_OK;
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: line %lld: column \"%s\" is missing in row %lld", t->path, (long long)r->row_line, c->c.name, (long long)row);
    }
    c->present++;
    if (c->c.type == WICK_CSV_NUMBER && !is_number(r, r->cell, &v)) c->c.type = WICK_CSV_CATEGORY;
    if (c->c.type == WICK_CSV_NUMBER) {
        c->sum += v;
        c->c.min = c->present == 1 ? v : fmin(c->c.min, v);
        c->c.max = c->present == 1 ? v : fmax(c->c.max, v);
    } else if (k == t->target)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: line %lld: column \"%s\" is to be a number, not \"%.100s\"", t->path, (long long)r->row_line, c->c.name, r->cell);
    return WICK_OK;
}

static int compare(const reader *r, const column *c, const char *a, const char *b) {
    double x, y;
    if (c->c.type == WICK_CSV_NUMBER && is_number(r, a, &x) && is_number(r, b, &y) && x != y) return x < y ? -1 : 1; /* a class of numbers */
    return strcmp(a, b);
}
static bool find_category(const reader *r, const column *c, const char *name, size_t *at) {
    size_t low = 0, high = (size_t)c->c.categories;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = compare(r, c, c->names[middle], name);
        if (!order) return *at = middle, true;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    *at = low;
    return false;
}

static wick_status find_categories(wick_csv *t, reader *r, int k, int64_t row, wick_msg *msg) {
    column *c = &t->columns[k];
    size_t at;
    (void)row;
    if ((c->c.type != WICK_CSV_CATEGORY && k != t->label) || is_missing(r->cell) || find_category(r, c, r->cell, &at)) return WICK_OK;
    if (c->c.categories == CATEGORIES)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: line %lld: column \"%s\" has more than %d categories: leave it out", t->path, (long long)r->row_line, c->c.name, CATEGORIES);
    const char *name = wick_arena_strdup(&t->arena, r->cell);
    if (!name || !wick_grow(&t->alloc, (void **)&c->names, &c->cap, (size_t)c->c.categories + 1, sizeof *c->names)) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
    memmove(c->names + at + 1, c->names + at, ((size_t)c->c.categories - at) * sizeof *c->names);
    c->names[at] = name;
    c->c.categories++;
    return WICK_OK;
}

static wick_status take_value(wick_csv *t, reader *r, int k, int64_t row, wick_msg *msg) {
    const column *c = &t->columns[k];
    const bool missing = is_missing(r->cell);
    size_t number = 0;
    double v = t->options.missing == WICK_CSV_MEAN ? c->c.mean : NAN;
    if ((c->c.type == WICK_CSV_CATEGORY || k == t->label) && !missing && !find_category(r, c, r->cell, &number))
        return wick_msg_set(msg, WICK_ERR_IO, "%s: line %lld: the file was changed while it was read", t->path, (long long)r->row_line);
    if (c->c.type == WICK_CSV_NUMBER && !missing && !is_number(r, r->cell, &v))
        return wick_msg_set(msg, WICK_ERR_IO, "%s: line %lld: the file was changed while it was read", t->path, (long long)r->row_line);
    if (k == t->label) t->labels[row] = (int64_t)number;
    else if (k == t->target) t->targets[row] = (float)v;
    else {
        float *to = t->values + (size_t)row * (size_t)t->features + c->first;
        if (c->c.type == WICK_CSV_NUMBER) *to = (float)v;
        else if (!t->options.one_hot) *to = missing ? -1 : (float)number;
        else
            for (int i = 0; i < c->width; i++) to[i] = !missing && (size_t)i == number;
    }
    return WICK_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------------------------------------------- */

static wick_status read_header(wick_csv *t, reader *r, wick_msg *msg) {
    if (!next_row(r)) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: has no line", t->path);
    for (bool last = false; !last; t->n++) {
        WICK_TRY(next_cell(r, &last, msg));
        if (t->n == COLUMNS) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: more than %d columns", t->path, COLUMNS);
        if (!wick_grow(&t->alloc, (void **)&t->columns, &t->cap, (size_t)t->n + 1, sizeof *t->columns)) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
        column *c = &t->columns[t->n];
        *c = (column){.c = {.type = WICK_CSV_NUMBER, .min = NAN, .max = NAN, .mean = NAN}};
        char number[24];
        snprintf(number, sizeof number, "%d", t->n);
        if (!(c->c.name = wick_arena_strdup(&t->arena, t->options.no_header ? number : r->cell))) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
        if (t->options.label && strcmp(t->options.label, c->c.name) == 0) t->label = t->n;
        else if (t->options.target && strcmp(t->options.target, c->c.name) == 0) t->target = t->n;
        else if (t->options.skip && wick_glob(t->options.skip, c->c.name)) c->c.type = WICK_CSV_LEFT_OUT;
    }
    if (t->options.label && t->label < 0) return wick_msg_set(msg, WICK_ERR_INVALID, "%s: has no column \"%s\"", t->path, t->options.label);
    if (t->options.target && t->target < 0) return wick_msg_set(msg, WICK_ERR_INVALID, "%s: has no column \"%s\"", t->path, t->options.target);
    return WICK_OK;
}

static wick_status take_memory(wick_csv *t, size_t file, wick_msg *msg) {
    for (int k = 0; k < t->n; k++) {
        column *c = &t->columns[k];
        if (c->c.type == WICK_CSV_NUMBER && c->present) c->c.mean = c->sum / (double)c->present;
        if (k == t->label || k == t->target || c->c.type == WICK_CSV_LEFT_OUT) continue;
        c->first = t->features;
        c->width = c->c.type == WICK_CSV_CATEGORY && t->options.one_hot ? (int)c->c.categories : 1;
        if (wick_add_overflows(t->features, c->width, &t->features)) return wick_msg_set(msg, WICK_ERR_INVALID, "%s: too many categories", t->path);
    }
    /* A cell is a byte at least, and a number of 4; categories apart by one_hot may be many more. */
    if (wick_mul_overflows((size_t)t->rows * sizeof(float), (size_t)t->features, &t->value_bytes) || t->value_bytes / GROWTH > file)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: its categories would be %d columns, more than %d times the file: without one_hot they are numbers", t->path, t->features, GROWTH);
    t->values = wick_alloc(&t->alloc, t->value_bytes);
    t->labels = wick_alloc(&t->alloc, t->label_bytes = (size_t)t->rows * sizeof *t->labels);
    t->targets = wick_alloc(&t->alloc, t->target_bytes = (size_t)t->rows * sizeof *t->targets);
    return t->values && t->labels && t->targets ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", t->path, t->value_bytes);
}

static wick_status read_all(wick_csv *t, reader *r, const char *text, size_t size, wick_msg *msg) {
    if (!(r->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0))) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, size -= 3;
    r->at = text;
    r->end = text + size;
    r->line = 1;
    WICK_TRY(read_header(t, r, msg));
    WICK_TRY(walk(t, r, text, find_type, msg));
    WICK_TRY(walk(t, r, text, find_categories, msg));
    WICK_TRY(take_memory(t, size, msg));
    return walk(t, r, text, take_value, msg);
}

wick_status wick_csv_read(wick_context *ctx, const char *path, const wick_csv_options *options, wick_csv **out) {
    wick_msg msg = {0};
    wick_map map;
    wick_csv *t = *out = wick_calloc(&ctx->alloc, sizeof *t);
    if (!t) return wick_context_fail(ctx, WICK_ERR_NOMEM, "csv: out of memory");
    t->alloc = ctx->alloc;
    wick_arena_init(&t->arena, &t->alloc, 0);
    t->path = path ? path : "";
    if (options) t->options = *options;
    if (!t->options.separator) t->options.separator = ',';
    t->label = t->target = -1;
    reader r = {.csv = t};
    wick_status status = wick_map_read(&map, path, &msg); /* a copy: it may not change between the walks */
    if (status == WICK_OK) {
        status = read_all(t, &r, (const char *)map.data, map.size, &msg);
        wick_map_close(&map);
    }
    wick_release(&t->alloc, r.cell, r.cap);
    if (r.locale) freelocale(r.locale);
    t->path = NULL; /* the caller's */
    t->options.label = t->options.target = t->options.skip = NULL;
    if (status == WICK_OK) return WICK_OK;
    wick_csv_free(out);
    return wick_context_fail(ctx, status, "csv: %s", msg.text);
}

void wick_csv_free(wick_csv **slot) {
    wick_csv *t = slot ? *slot : NULL;
    if (!t) return;
    *slot = NULL;
    const wick_allocator alloc = t->alloc;
    for (int k = 0; k < t->n && t->columns; k++) wick_release(&alloc, t->columns[k].names, t->columns[k].cap * sizeof *t->columns[k].names);
    wick_release(&alloc, t->columns, t->cap * sizeof *t->columns);
    if (t->values) wick_release(&alloc, t->values, t->value_bytes);
    wick_release(&alloc, t->labels, t->label_bytes);
    wick_release(&alloc, t->targets, t->target_bytes);
    wick_arena_free(&t->arena);
    wick_release(&alloc, t, sizeof *t);
}

int64_t wick_csv_rows(const wick_csv *t) { return t->rows; }
int wick_csv_columns(const wick_csv *t) { return t->n; }
const wick_csv_column *wick_csv_column_at(const wick_csv *t, int k) { return k >= 0 && k < t->n ? &t->columns[k].c : NULL; }
const char *wick_csv_category(const wick_csv *t, int k, int64_t number) {
    return k >= 0 && k < t->n && number >= 0 && number < t->columns[k].c.categories ? t->columns[k].names[number] : NULL;
}

/* ---- as a data set --------------------------------------------------------------------------------------------------------------------------------- */

static const void *row_field(const wick_csv *t, int64_t i, int field) {
    if (field == 0) return t->values + (size_t)i * (size_t)t->features;
    return field == 1 && t->label >= 0 ? (const void *)&t->labels[i] : &t->targets[i];
}
static const void *at(void *user, int64_t i, int field) { return row_field(user, i, field); }
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const wick_csv *t = user;
    (void)fault;
    if (out[0] && t->features) memcpy(out[0], row_field(t, i, 0), (size_t)t->features * sizeof *t->values);
    int k = 1;
    if (t->label >= 0 && out[k++]) *(int64_t *)out[k - 1] = t->labels[i];
    if (t->target >= 0 && out[k]) *(float *)out[k] = t->targets[i];
    return WICK_OK;
}
static int64_t label(void *user, int64_t i) { return ((const wick_csv *)user)->labels[i]; }
static const char *class_name(void *user, int64_t k) { return wick_csv_category(user, ((const wick_csv *)user)->label, k); }

wick_status wick_dataset_of_csv(wick_context *ctx, const wick_csv *t, wick_dataset **out) {
    *out = NULL;
    if (!t->features) return wick_context_fail(ctx, WICK_ERR_INVALID, "csv: the table has no columns besides label and target");
    wick_dataset_source s = {.count = t->rows, .n_fields = 1, .fields = {{"features", WICK_F32, 1, {t->features}}}, .get = get, .at = at, .user = (void *)(uintptr_t)t};
    if (t->label >= 0) {
        s.fields[s.n_fields++] = (wick_spec){"label", WICK_I64, 0, {0}};
        s.label = label;
        s.classes = t->columns[t->label].c.categories;
        s.class_name = class_name;
        if (!s.classes) s.label = NULL; /* no rows */
    }
    if (t->target >= 0) s.fields[s.n_fields++] = (wick_spec){"target", WICK_F32, 0, {0}};
    return wick_dataset_new(ctx, &s, out);
}
