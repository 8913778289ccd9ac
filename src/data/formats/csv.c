/* csv.c: tables of comma-separated values. The text is gone through three times: for the types of columns, for their
 * categories, and for the values. Numbers are read in the "C" locale, whatever the host's is. */
#include "data/formats/csv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROWTH = 64, FEW = 20 /* categories that numbers and texts together may well be: 0, 1, 2, 3+ */ };

/* ---- columns ----------------------------------------------------------------------------------------------------- */

wick_csv_part *wick_csv_add_column(wick_csv *t, const char *name) {
    const char *kept = wick_arena_strdup(&t->arena, name);
    if (!kept || !wick_grow(&t->alloc, (void **)&t->columns, &t->cap, (size_t)t->n + 1, sizeof *t->columns))
        return NULL;
    wick_csv_part *c = &t->columns[t->n++];
    *c = (wick_csv_part){
        .c = {.name = kept, .type = WICK_CSV_NUMBER, .min = NAN, .max = NAN, .mean = NAN, .whole = true},
        .cell = -1,
        .target = -1};
    return c;
}

/* Of classes that are numbers 1 and 1.0 are one. */
static int compare(const wick_csv_reader *r, const wick_csv_part *c, const char *a, const char *b) {
    double x, y;
    bool grouped;
    if (c->numeric && wick_csv_number(r, a, &x, &grouped) && wick_csv_number(r, b, &y, &grouped))
        return x < y ? -1 : x > y;
    return strcmp(a, b);
}

bool wick_csv_find_category(const wick_csv_reader *r, const wick_csv_part *c, const char *name, size_t *at) {
    size_t low = 0, high = (size_t)c->c.categories;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = compare(r, c, c->names[middle], name);
        if (!order) return *at = middle, true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return false;
}

wick_status wick_csv_add_category(wick_csv *t, wick_csv_part *c, size_t at, const char *name, wick_msg *msg) {
    const char *kept = wick_arena_strdup(&t->arena, name);
    if (!kept || !wick_grow(&t->alloc, (void **)&c->names, &c->cap, (size_t)c->c.categories + 1, sizeof *c->names))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
    memmove(c->names + at + 1, c->names + at, ((size_t)c->c.categories - at) * sizeof *c->names);
    c->names[at] = kept;
    c->c.categories++;
    return WICK_OK;
}

/* What is wrong with the present cell. */
static wick_status refuse(wick_csv *t, const wick_csv_reader *r, int k, wick_status status, const char *what,
                          wick_msg *msg) {
    char name[WICK_CSV_SHOWN], text[WICK_CSV_SHOWN];
    return wick_msg_set(msg, status, "%s: line %lld: column %s: %s %s", t->path, (long long)r->row_line,
                        wick_csv_called(name, t, k), wick_csv_quote(text, r->cell), what);
}

static wick_status note_spot(wick_csv *t, const wick_csv_reader *r, wick_csv_spots *spots, wick_msg *msg) {
    if (spots->n++) return WICK_OK;
    spots->line = r->row_line;
    return (spots->text = wick_arena_strdup(&t->arena, r->cell))
               ? WICK_OK
               : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
}

/* ---- the three walks --------------------------------------------------------------------------------------------- */

/* Whether the present cell has no value. */
static bool is_missing(const wick_csv_reader *r, const wick_csv_part *c) {
    return c->texts ? !r->quoted && !*r->cell : wick_csv_is_missing(r->cell);
}

typedef wick_status (*cell_fn)(wick_csv *t, wick_csv_reader *r, int column, int64_t row, wick_msg *msg);

/* FNV-1a (Fowler, Noll, Vo) of a text and the zero behind it. */
static uint64_t hash_text(uint64_t h, const char *text) {
    do h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    while (*text++);
    return h;
}
/* The finalizer of MurmurHash3. */
static uint64_t spread(uint64_t h) {
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static wick_status walk(wick_csv *t, wick_csv_reader *r, const char *begin, cell_fn fn, wick_msg *msg) {
    wick_csv_rewind(r, begin);
    if (!t->options.no_header) { /* passed over: it was read */
        bool last = !wick_csv_row(r);
        while (!last) WICK_TRY(wick_csv_cell(r, &last, msg));
    }
    for (t->rows = 0; wick_csv_row(r); t->rows++) {
        int i = 0;
        for (bool last = false; !last; i++) {
            WICK_TRY(wick_csv_cell(r, &last, msg));
            const int k = i < t->cells ? t->column_of[i] : -1;
            if (k >= 0 && t->hashes) /* a sum: the order of the columns is nothing */
                t->hashes[t->rows] += spread(hash_text(hash_text(0xcbf29ce484222325u, t->columns[k].c.name), r->cell));
            if (fn && k >= 0 && t->columns[k].c.type != WICK_CSV_LEFT_OUT) WICK_TRY(fn(t, r, k, t->rows, msg));
        }
        if (i != t->cells)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %lld: %d cell%s where the first line has %d", t->path,
                                (long long)r->row_line, i, i == 1 ? "" : "s", t->cells);
    }
    return WICK_OK;
}

static wick_status find_missing(wick_csv *t, wick_csv_reader *r, int k, wick_msg *msg) {
    t->columns[k].c.missing++;
    if (k == t->label || t->columns[k].target >= 0)
        return t->options.unlabelled ? WICK_OK
                                     : refuse(t, r, k, WICK_ERR_INVALID,
                                              k == t->label ? "is a missing value, and it is the class"
                                                            : "is a missing value, and it is to be learned",
                                              msg);
    return t->options.missing != WICK_CSV_REFUSE ? WICK_OK
                                                 : refuse(t, r, k, WICK_ERR_INVALID, "is a missing value", msg);
}

static wick_status find_type(wick_csv *t, wick_csv_reader *r, int k, int64_t row, wick_msg *msg) {
    wick_csv_part *c = &t->columns[k];
    double v = 0;
    bool grouped;
    if (is_missing(r, c)) return find_missing(t, r, k, msg);
    const bool is = wick_csv_number(r, r->cell, &v, &grouped) && (!c->texts || c->target >= 0 || t->options.coding);
    if (!is && c->target >= 0) return refuse(t, r, k, WICK_ERR_INVALID, "is no number, which it is to be", msg);
    if (!t->options.coding && t->options.learned && k != t->label &&
        (row >= t->options.n_learned || !t->options.learned[row]))
        return WICK_OK;
    if (!is) return c->others++, WICK_OK;
    c->c.min = c->numbers ? fmin(c->c.min, v) : v;
    c->c.max = c->numbers ? fmax(c->c.max, v) : v;
    c->c.whole &= v == floor(v);
    c->sum += v;
    c->numbers++;
    return WICK_OK;
}

static void be_categories(wick_csv_part *c) {
    c->c.type = WICK_CSV_CATEGORY;
    c->c.min = c->c.max = NAN;
    c->c.whole = false;
}
/* Numbers with some texts between them: they are categories only where those are few. */
static bool is_mixed(const wick_csv_part *c) { return c->numbers && c->others && c->numbers >= c->others; }

static void settle_types(wick_csv *t) {
    for (int k = 0; k < t->n; k++) {
        wick_csv_part *c = &t->columns[k];
        c->c.whole &= c->numbers > 0;
        if (k == t->label) c->numeric = !c->others;
        if (c->c.type == WICK_CSV_NUMBER && c->others && (k == t->label || !is_mixed(c))) be_categories(c);
        /* Rows and no value: there is nothing to learn from, and no mean. */
        c->empty = c->c.type == WICK_CSV_NUMBER && t->rows && !c->numbers && !c->others && k != t->label &&
                   c->target < 0 && t->options.missing == WICK_CSV_MEAN;
        if (c->empty) c->c.type = WICK_CSV_LEFT_OUT;
    }
}

static wick_status find_categories(wick_csv *t, wick_csv_reader *r, int k, int64_t row, wick_msg *msg) {
    wick_csv_part *c = &t->columns[k];
    size_t at;
    if (c->c.type != WICK_CSV_CATEGORY && k != t->label && (!is_mixed(c) || c->c.categories > FEW)) return WICK_OK;
    if (t->options.learned && k != t->label && (row >= t->options.n_learned || !t->options.learned[row]))
        return WICK_OK;
    if (is_missing(r, c) || wick_csv_find_category(r, c, r->cell, &at)) return WICK_OK;
    if (c->c.categories == WICK_CSV_CATEGORIES)
        return refuse(t, r, k, WICK_ERR_INVALID, "is one category more than 65,536: leave the column out", msg);
    return wick_csv_add_category(t, c, at, r->cell, msg);
}

/* Where numbers of f32 are farther apart than those of the column, as times in seconds are, differences from a number
 * in it are learned from: from the lowest one. */
static void settle_offset(wick_csv_part *c) {
    if (!(c->c.max > c->c.min) || !isfinite(c->c.min) || !isfinite(c->c.max)) return;
    const double most = fmax(fabs(c->c.min), fabs(c->c.max)), apart = c->c.max - c->c.min;
    const double step = ldexp(1, ilogb(most) - (FLT_MANT_DIG - 1)); /* of f32, at the largest */
    if (c->c.whole ? step <= 1 || apart > most / 2 : step * WICK_CSV_FINE <= apart) return;
    c->offset = floor(c->c.min);
}

static void settle_mixed(wick_csv *t) {
    for (int k = 0; k < t->n; k++) {
        wick_csv_part *c = &t->columns[k];
        if (c->c.type != WICK_CSV_NUMBER || k == t->label || !c->others) continue;
        if (c->c.categories <= FEW)
            be_categories(c);
        else
            c->c.categories = 0;
    }
}

static wick_status take_label(wick_csv *t, wick_csv_reader *r, int k, int64_t row, wick_msg *msg) {
    size_t number = 0;
    const bool known = !is_missing(r, &t->columns[k]) && wick_csv_find_category(r, &t->columns[k], r->cell, &number);
    t->labels[row] = known ? (int64_t)number : -1;
    if (known || t->options.unlabelled) return WICK_OK;
    return refuse(t, r, k, WICK_ERR_MISMATCH, "is not among the classes that were learned", msg);
}

/* A number of features or target; false: the cell has none. */
static wick_status take_number(wick_csv *t, wick_csv_reader *r, int k, bool *is, double *v, wick_msg *msg) {
    wick_csv_part *c = &t->columns[k];
    bool grouped = false;
    *is = !is_missing(r, c);
    if (!*is) return WICK_OK;
    *is = wick_csv_number(r, r->cell, v, &grouped);
    if (!*is && t->options.missing == WICK_CSV_REFUSE)
        return refuse(t, r, k, WICK_ERR_INVALID, "is no number, as the others of the column are", msg);
    if (!*is) return note_spot(t, r, &c->odd, msg);
    const bool written =
        isinf(*v) && strchr("iI", r->cell[strspn(r->cell, "+-")]); /* as inf, which NaN is no worse than */
    if (written ? t->options.missing != WICK_CSV_NAN : fabs(*v) > FLT_MAX)
        return refuse(t, r, k, WICK_ERR_INVALID,
                      written ? "is no finite number" : "is more than a number of 32 bits can hold", msg);
    return grouped ? note_spot(t, r, &c->grouped, msg) : WICK_OK;
}

static void put_category(const wick_csv *t, const wick_csv_part *c, float *to, bool known, size_t number) {
    if (!t->options.one_hot)
        *to = known ? (float)number : -1;
    else
        for (int i = 0; i < c->width; i++) to[i] = known && (size_t)i == number;
}

/* Where the numbers of a column are in a row, among features or targets. */
static float *place_of(const wick_csv *t, const wick_csv_part *c, int64_t row) {
    return c->target >= 0 ? t->targets + row * t->n_targets + c->target
                          : t->values + (size_t)row * (size_t)t->features + c->first;
}

/* For a number that is missing. */
static float stand_in(const wick_csv *t, const wick_csv_part *c) {
    return (float)(c->target < 0 && t->options.missing == WICK_CSV_MEAN ? c->c.mean - c->offset : (double)NAN);
}

static wick_status take_value(wick_csv *t, wick_csv_reader *r, int k, int64_t row, wick_msg *msg) {
    wick_csv_part *c = &t->columns[k];
    if (k == t->label) return take_label(t, r, k, row, msg);
    float *to = place_of(t, c, row);
    if (c->c.type == WICK_CSV_CATEGORY) {
        size_t number = 0;
        const bool missing = is_missing(r, c), known = !missing && wick_csv_find_category(r, c, r->cell, &number);
        put_category(t, c, to, known, number);
        return missing || known ? WICK_OK : note_spot(t, r, &c->unknown, msg);
    }
    bool is;
    double v = NAN;
    WICK_TRY(take_number(t, r, k, &is, &v, msg));
    v -= c->offset;
    if (is && isfinite(v) && fabs(v) > FLT_MAX)
        return refuse(t, r, k, WICK_ERR_INVALID, "is, less the column's offset, more than 32 bits can hold", msg);
    c->rounded |= is && v != (double)(float)v;
    *to = is ? (float)v : stand_in(t, c);
    return WICK_OK;
}

/* ---- the first line ---------------------------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    int column;
} named;
static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

/* Which column of the coding is called so, of several the first that no cell has; -1: none. */
static int find_named(const wick_csv *t, const named *sorted, const char *name) {
    int low = 0, high = t->n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (strcmp(sorted[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < t->n && strcmp(sorted[low].name, name) == 0; low++)
        if (t->columns[sorted[low].column].cell < 0) return sorted[low].column;
    return -1;
}

static wick_status read_name(wick_csv *t, wick_csv_reader *r, const named *sorted, wick_str *extra, wick_msg *msg) {
    char number[24], shown[WICK_CSV_SHOWN];
    if (t->cells == WICK_CSV_COLUMNS)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: more than %d columns", t->path, WICK_CSV_COLUMNS);
    snprintf(number, sizeof number, "%d", t->cells);
    const char *name = t->options.no_header ? number : r->cell;
    bool room = wick_grow(&t->alloc, (void **)&t->column_of, &t->cells_cap, (size_t)t->cells + 1, sizeof *t->column_of);
    int k = sorted ? find_named(t, sorted, name) : t->n;
    if (!sorted) room = room && wick_csv_add_column(t, name);
    if (!room) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
    t->column_of[t->cells] = k;
    if (k >= 0) {
        t->columns[k].cell = t->cells, t->columns[k].c.present = true;
        t->columns[k].texts = r->types && r->types[t->cells] == 't';
    } else {
        enum { NAMED = 8 };
        if (t->extra++ < NAMED) wick_str_add(extra, "%s%s", extra->len ? ", " : "", wick_csv_quote(shown, name));
        if (t->extra == NAMED + 1) wick_str_add(extra, " ...");
    }
    t->cells++;
    return WICK_OK;
}

/* The first column of that name that is no target yet; -1: none. */
static int find_target(const wick_csv *t, const char *name, size_t n) {
    for (int k = 0; k < t->n; k++)
        if (strlen(t->columns[k].c.name) == n && memcmp(t->columns[k].c.name, name, n) == 0 && t->columns[k].target < 0)
            return k;
    return -1;
}

/* All columns whose names match the n bytes at `pattern` become targets; false: none does. */
static bool match_targets(wick_csv *t, const char *pattern, size_t n) {
    char text[256];
    bool any = false;
    if (n >= sizeof text) return false;
    memcpy(text, pattern, n);
    text[n] = 0;
    for (int k = 0; k < t->n; k++)
        if (t->columns[k].target < 0 && wick_glob(text, t->columns[k].c.name)) t->columns[k].target = 0, any = true;
    return any;
}

/* Targets are numbered in the order of the columns, however they were asked for. */
static wick_status choose_targets(wick_csv *t, wick_msg *msg) {
    const char *at = t->options.target;
    if (!at) return WICK_OK;
    int whole = find_target(t, at, strlen(at));
    if (whole >= 0) t->columns[whole].target = 0;
    for (size_t n; whole < 0; at += n + 1) {
        n = strcspn(at, ",");
        const int k = find_target(t, at, n);
        if (k >= 0)
            t->columns[k].target = 0;
        else if (!match_targets(t, at, n))
            return wick_msg_set(msg, WICK_ERR_INVALID, "%s: has no%s column \"%.*s\"", t->path,
                                at == t->options.target && !at[n] ? "" : " (other)", (int)n, at);
        if (!at[n]) break;
    }
    for (int k = 0; k < t->n; k++)
        if (t->columns[k].target >= 0) t->columns[k].target = t->n_targets++, t->columns[k].c.target = true;
    return WICK_OK;
}

static void choose_columns(wick_csv *t) {
    const wick_csv_options *o = &t->options;
    for (int k = 0; k < t->n; k++) {
        const char *name = t->columns[k].c.name;
        if (t->columns[k].target >= 0) continue;
        if (o->label && t->label < 0 && strcmp(o->label, name) == 0)
            t->label = k;
        else if (o->skip && wick_glob(o->skip, name))
            t->columns[k].c.type = WICK_CSV_LEFT_OUT;
    }
}

/* What the table lacks of the coding, or the other way round. */
static wick_status check_columns(wick_csv *t, const char *extra, wick_msg *msg) {
    int found = 0, wanted = 0;
    char name[WICK_CSV_SHOWN];
    for (int k = t->n; k-- > 0;) {
        const wick_csv_part *c = &t->columns[k];
        if (k == t->label || c->target >= 0 || c->c.type == WICK_CSV_LEFT_OUT) continue;
        wanted++;
        wick_csv_called(name, t, k); /* in the end the first */
        found += c->cell >= 0;
    }
    if (wanted && !found)
        return wick_msg_set(msg, WICK_ERR_MISMATCH,
                            "%s: none of its columns is one of the %d that were learned from, as %s: it has %.400s",
                            t->path, wanted, name, extra);
    for (int k = 0; k < t->n; k++)
        if ((k == t->label || t->columns[k].target >= 0) && t->columns[k].cell < 0 && !t->options.unlabelled)
            return wick_msg_set(msg, WICK_ERR_MISMATCH, "%s: has no column %s, which is %s", t->path,
                                wick_csv_called(name, t, k), k == t->label ? "the class" : "to be learned");
    if (t->options.missing == WICK_CSV_REFUSE && found < wanted)
        return wick_msg_set(msg, WICK_ERR_MISMATCH, "%s: has %d of the %d columns that were learned from", t->path,
                            found, wanted);
    return t->extra ? wick_csv_tell(t, msg, "%d column%s not learned from and %s passed over: %s", t->extra,
                                    t->extra == 1 ? " was" : "s were", t->extra == 1 ? "is" : "are", extra)
                    : WICK_OK;
}

/* Names that are numbers may be values; but 0, 1, 2 ... are what columns without names are called. */
static wick_status check_names(wick_csv *t, const wick_csv_reader *r, wick_msg *msg) {
    int numbers = 0, counted = 0;
    for (int k = 0; k < t->n; k++) {
        double v;
        bool grouped;
        const bool is = wick_csv_number(r, t->columns[k].c.name, &v, &grouped);
        numbers += is;
        counted += is && v == k;
    }
    if (t->options.no_header || 2 * numbers <= t->n || counted + 1 >= t->n) return WICK_OK;
    return wick_csv_tell(
        t, msg,
        "%d of the %d names of columns in the first line are numbers: if they are values, say that there is no header",
        numbers, t->n);
}

/* Columns of one name: which of them is meant as the class, or to be learned, nobody can tell. */
static wick_status check_repeated(wick_csv *t, named *sorted, wick_msg *msg) {
    char name[WICK_CSV_SHOWN], list[400];
    wick_str s = wick_str_on(list, sizeof list);
    int names = 0;
    for (int k = 0; k < t->n; k++) sorted[k] = (named){t->columns[k].c.name, k};
    if (t->n) qsort(sorted, (size_t)t->n, sizeof *sorted, by_name);
    for (int i = 0, end; i < t->n; i = end) {
        int learned = 0, meant = 0;
        for (end = i; end < t->n && strcmp(sorted[end].name, sorted[i].name) == 0; end++) {
            const int k = sorted[end].column;
            meant += k == t->label || t->columns[k].target >= 0;
            learned += k != t->label && t->columns[k].target < 0 && t->columns[k].c.type != WICK_CSV_LEFT_OUT;
        }
        if (!*sorted[i].name || end - i == 1) continue;
        if (meant && meant < end - i)
            return wick_msg_set(msg, WICK_ERR_INVALID,
                                "%s: %d columns are called %s, and one is to be learned: it needs a name of its own",
                                t->path, end - i, wick_csv_quote(name, sorted[i].name));
        enum { NAMED = 4 };
        if (learned + meant < 2 || ++names > NAMED) continue;
        wick_str_add(&s, "%s%s (%d)", names > 1 ? ", " : "", wick_csv_quote(name, sorted[i].name), end - i);
    }
    if (!names) return WICK_OK;
    return wick_csv_tell(t, msg, "columns share a name, and each counts as one of its own: %s%s", list,
                         names > 4 ? " ..." : "");
}

static wick_status read_header(wick_csv *t, wick_csv_reader *r, wick_msg *msg) {
    char extra[800];
    wick_str s = wick_str_on(extra, sizeof extra);
    const size_t bytes = (size_t)(t->n + 1) * sizeof(named);
    named *sorted = NULL;
    if (!wick_csv_row(r)) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: has no line", t->path);
    if (t->options.coding) {
        if (!(sorted = wick_alloc(&t->alloc, bytes)))
            return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
        for (int k = 0; k < t->n; k++) sorted[k] = (named){t->columns[k].c.name, k};
        qsort(sorted, (size_t)t->n, sizeof *sorted, by_name);
    }
    wick_status status = WICK_OK;
    for (bool last = false; !last && status == WICK_OK;) {
        status = wick_csv_cell(r, &last, msg);
        if (status == WICK_OK) status = read_name(t, r, sorted, &s, msg);
    }
    if (sorted) wick_release(&t->alloc, sorted, bytes);
    if (status != WICK_OK) return status;
    if (t->options.coding) return check_columns(t, extra, msg);
    WICK_TRY(check_names(t, r, msg));
    WICK_TRY(choose_targets(t, msg));
    choose_columns(t);
    if (t->options.label && t->label < 0)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: has no column \"%s\"", t->path, t->options.label);
    const size_t all = (size_t)(t->n + 1) * sizeof *sorted;
    if (!(sorted = wick_alloc(&t->alloc, all))) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
    status = check_repeated(t, sorted, msg);
    wick_release(&t->alloc, sorted, all);
    return status;
}

static bool has_column(const wick_csv *t, int k) { return k >= 0 && t->columns[k].cell >= 0; }
/* Whether a target is there. */
static bool has_targets(const wick_csv *t) {
    bool has = false;
    for (int k = 0; k < t->n; k++) has |= t->columns[k].target >= 0 && has_column(t, k);
    return has;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* What the table itself says of a coding's columns of numbers. */
static wick_status check_types(wick_csv *t, wick_msg *msg) {
    char name[WICK_CSV_SHOWN];
    for (int k = 0; k < t->n; k++) {
        wick_csv_part *c = &t->columns[k];
        c->c.whole &= c->numbers > 0;
        if (c->c.type == WICK_CSV_NUMBER && k != t->label && c->others > c->numbers)
            return wick_msg_set(msg, WICK_ERR_MISMATCH,
                                "%s: column %s was one of numbers, and here %lld of %lld values are none", t->path,
                                wick_csv_called(name, t, k), (long long)c->others, (long long)(c->others + c->numbers));
    }
    return WICK_OK;
}

static wick_status too_wide(wick_csv *t, wick_msg *msg) {
    char name[WICK_CSV_SHOWN];
    int most = 0;
    for (int k = 1; k < t->n; k++)
        if (t->columns[k].width > t->columns[most].width) most = k;
    return wick_msg_set(msg, WICK_ERR_INVALID,
                        "%s: its categories would be %d columns, the most of %s (%d), and take more than %d times the "
                        "file: leave it out (skip), or take categories as numbers (without one_hot)",
                        t->path, t->features, wick_csv_called(name, t, most), t->columns[most].width, GROWTH);
}

/* From here on walks make them. */
static bool make_hashes(wick_csv *t) {
    return (t->hashes = wick_calloc(&t->alloc, t->hash_bytes = (size_t)t->rows * sizeof *t->hashes)) != NULL;
}

static wick_status take_memory(wick_csv *t, size_t file, wick_msg *msg) {
    for (int k = 0; k < t->n; k++) {
        wick_csv_part *c = &t->columns[k];
        if (c->c.type == WICK_CSV_NUMBER && c->numbers && !t->options.coding) c->c.mean = c->sum / (double)c->numbers;
        if (k == t->label || c->target >= 0 || c->c.type == WICK_CSV_LEFT_OUT) continue;
        if (c->c.type == WICK_CSV_NUMBER && !t->options.coding) settle_offset(c);
        c->c.offset = c->offset;
        c->first = t->features;
        c->width = c->c.type == WICK_CSV_CATEGORY && t->options.one_hot ? (int)c->c.categories : 1;
        if (wick_add_overflows(t->features, c->width, &t->features))
            return wick_msg_set(msg, WICK_ERR_INVALID, "%s: too many categories", t->path);
    }
    /* A cell is a byte at least, and a number of 4; categories apart by one_hot, and columns that only the coding has,
     * may be many more. */
    if (wick_add_overflows(file, t->options.coding ? strlen(t->options.coding) : 0, &file)) file = SIZE_MAX;
    if (wick_mul_overflows((size_t)t->rows * sizeof(float), (size_t)t->features, &t->value_bytes) ||
        t->value_bytes / GROWTH > file)
        return too_wide(t, msg);
    t->values = wick_alloc(&t->alloc, t->value_bytes);
    t->labels = wick_alloc(&t->alloc, t->label_bytes = (size_t)t->rows * sizeof *t->labels);
    /* a target is a cell of the row, or one of the coding's, so that this is bounded as features are */
    if (wick_mul_overflows((size_t)t->rows * sizeof(float), (size_t)t->n_targets, &t->target_bytes) ||
        t->target_bytes / GROWTH > file)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: too many targets", t->path);
    t->targets = wick_alloc(&t->alloc, t->target_bytes);
    return t->values && t->labels && t->targets && make_hashes(t)
               ? WICK_OK
               : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", t->path, t->value_bytes);
}

/* Columns that only the coding has are missing in each row. */
static void fill_absent(wick_csv *t) {
    for (int k = 0; k < t->n; k++) {
        const wick_csv_part *c = &t->columns[k];
        if (c->cell >= 0 || c->c.type == WICK_CSV_LEFT_OUT || k == t->label) continue;
        for (int64_t row = 0; row < t->rows; row++) {
            float *to = place_of(t, c, row);
            if (c->c.type == WICK_CSV_CATEGORY)
                put_category(t, c, to, false, 0);
            else
                *to = stand_in(t, c);
        }
    }
}

/* A first line "sep=;", as spreadsheets write and read it. */
static const char *take_separator_line(wick_csv_reader *r, const char *text) {
    if (r->end - text < 6 || memcmp(text, "sep=", 4) != 0 || (text[5] != '\n' && text[5] != '\r')) return text;
    if (!r->separator) r->separator = text[4];
    r->skipped = 1;
    return text + 6 + (text[5] == '\r' && r->end - text > 6 && text[6] == '\n');
}

static wick_status tell_form(wick_csv *t, const wick_csv_reader *r, const char *text, const char *note, wick_msg *msg) {
    const bool comma = r->decimal == ',', other = r->separator != ',' && !t->options.separator;
    const size_t size = (size_t)(r->end - text);
    if (note) WICK_TRY(wick_csv_tell(t, msg, "%s", note));
    if (!memchr(text, '\n', size) && memchr(text, '\r', size))
        WICK_TRY(wick_csv_tell(t, msg, "lines end with a carriage return alone"));
    const char *name = r->separator == '\t'  ? "a tab"
                       : r->separator == ';' ? "a semicolon"
                       : r->separator == '|' ? "|"
                       : r->separator == ',' ? "a comma"
                                             : "another one";
    if (other || (comma && !t->options.decimal))
        return wick_csv_tell(t, msg, "cells are separated by %s, and numbers have a decimal %s", name,
                             comma ? "comma" : "point");
    return WICK_OK;
}

static wick_status read_text(wick_csv *t, wick_csv_reader *r, const char *text, const char *note, size_t file,
                             wick_msg *msg) {
    text = take_separator_line(r, text);
    if (t->options.coding) WICK_TRY(wick_csv_read_coding(t, r->locale, msg));
    WICK_TRY(wick_csv_find_form(r, text, t->decimal, msg));
    if (!t->options.coding && r->sure) t->decimal = r->decimal;
    WICK_TRY(tell_form(t, r, text, note, msg));
    wick_csv_rewind(r, text);
    WICK_TRY(read_header(t, r, msg));
    WICK_TRY(walk(t, r, text, find_type, msg));
    if (t->options.learned && t->options.n_learned != t->rows && !t->options.coding)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: has %lld rows, and `learned` speaks of %lld", t->path,
                            (long long)t->rows, (long long)t->options.n_learned);
    bool any = false;
    for (int k = 0; k < t->n; k++) any |= t->columns[k].c.type != WICK_CSV_LEFT_OUT;
    if (!any) { /* no column has a value to take */
        if (!make_hashes(t)) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
        WICK_TRY(walk(t, r, text, NULL, msg));
        return wick_csv_write_coding(t, r->locale, msg);
    }
    if (t->options.coding)
        WICK_TRY(check_types(t, msg));
    else {
        settle_types(t);
        WICK_TRY(walk(t, r, text, find_categories, msg));
        settle_mixed(t);
    }
    t->has_targets = has_targets(t);
    WICK_TRY(take_memory(t, file, msg));
    fill_absent(t);
    WICK_TRY(walk(t, r, text, take_value, msg));
    for (int k = 0; k < t->n; k++)
        t->columns[k].c.odd = t->columns[k].odd.n, t->columns[k].c.unknown = t->columns[k].unknown.n;
    WICK_TRY(wick_csv_tell_columns(t, msg));
    return wick_csv_write_coding(t, r->locale, msg);
}

static wick_status read_all(wick_csv *t, wick_csv_reader *r, const wick_map *map, wick_msg *msg) {
    const char *text, *note;
    char *own = NULL;
    size_t size, room = 0;
    if (!(r->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0)))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
    wick_status status =
        wick_csv_decode(&t->alloc, t->path, map->data, map->size, &text, &size, &own, &room, &note, msg);
    char *table = NULL, *types = NULL;
    size_t table_room = 0, types_room = 0;
    if (status == WICK_OK && wick_csv_is_relation(t->path)) {
        status = wick_csv_from_relation(&t->alloc, t->path, r->locale, text, size, &table, &size, &table_room, &types,
                                        &types_room, &r->skipped, msg);
        text = table, r->types = types;
        r->separator = ',', r->decimal = '.', t->options.no_header = false; /* it says them itself */
    }
    r->end = status == WICK_OK ? text + size : NULL;
    if (status == WICK_OK) status = read_text(t, r, text, note, map->size, msg);
    wick_release(&t->alloc, table, table_room);
    wick_release(&t->alloc, types, types_room);
    r->types = NULL;
    wick_release(&t->alloc, own, room);
    return status;
}

wick_status wick_csv_read(wick_context *ctx, const char *path, const wick_csv_options *options, wick_csv **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "csv_read: out is NULL");
    wick_msg msg = {0};
    wick_map map;
    wick_csv *t = *out = wick_calloc(&ctx->alloc, sizeof *t);
    if (!t) return wick_context_fail(ctx, WICK_ERR_NOMEM, "csv: out of memory");
    t->alloc = ctx->alloc;
    wick_arena_init(&t->arena, &t->alloc, 0);
    t->path = path ? path : "";
    if (options) t->options = *options;
    t->label = -1;
    wick_csv_reader r = {
        .alloc = &t->alloc, .path = t->path, .separator = t->options.separator, .decimal = t->options.decimal};
    wick_status status = wick_map_read(&map, path, &msg); /* a copy: it may not change between the walks */
    if (status == WICK_OK) {
        status = read_all(t, &r, &map, &msg);
        wick_map_close(&map);
    }
    wick_release(&t->alloc, r.cell, r.cap);
    if (r.locale) freelocale(r.locale);
    t->path = NULL; /* the caller's */
    t->options.label = t->options.target = t->options.skip = t->options.coding = NULL;
    t->options.learned = NULL;
    if (status == WICK_OK) return WICK_OK;
    wick_csv_free(out);
    return wick_context_fail(ctx, status, "csv: %s", msg.text);
}

void wick_csv_free(wick_csv **slot) {
    wick_csv *t = slot ? *slot : NULL;
    if (!t) return;
    *slot = NULL;
    const wick_allocator alloc = t->alloc;
    for (int k = 0; k < t->n && t->columns; k++)
        wick_release(&alloc, t->columns[k].names, t->columns[k].cap * sizeof *t->columns[k].names);
    wick_release(&alloc, t->columns, t->cap * sizeof *t->columns);
    wick_release(&alloc, t->column_of, t->cells_cap * sizeof *t->column_of);
    if (t->values) wick_release(&alloc, t->values, t->value_bytes);
    wick_release(&alloc, t->labels, t->label_bytes);
    wick_release(&alloc, t->targets, t->target_bytes);
    wick_release(&alloc, t->hashes, t->hash_bytes);
    wick_release(&alloc, t->notes, t->notes_cap * sizeof *t->notes);
    wick_release(&alloc, t->coding, t->coding_cap);
    wick_arena_free(&t->arena);
    wick_release(&alloc, t, sizeof *t);
}

int64_t wick_csv_rows(const wick_csv *t) { return t->rows; }
int wick_csv_columns(const wick_csv *t) { return t->n; }
uint64_t wick_csv_row_hash(const wick_csv *t, int64_t row) {
    return t->hashes && row >= 0 && row < t->rows ? spread(t->hashes[row]) : 0;
}
const wick_csv_column *wick_csv_column_at(const wick_csv *t, int k) {
    return k >= 0 && k < t->n ? &t->columns[k].c : NULL;
}
const char *wick_csv_category(const wick_csv *t, int k, int64_t number) {
    return k >= 0 && k < t->n && number >= 0 && number < t->columns[k].c.categories ? t->columns[k].names[number]
                                                                                    : NULL;
}

/* ---- as a data set ----------------------------------------------------------------------------------------------- */

static const void *row_field(const wick_csv *t, int64_t i, int field) {
    if (field == 0) return t->values + (size_t)i * (size_t)t->features;
    return field == 1 && has_column(t, t->label) ? (const void *)&t->labels[i] : &t->targets[i * t->n_targets];
}
static const void *at(void *user, int64_t i, int field) { return row_field(user, i, field); }
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const wick_csv *t = user;
    (void)fault;
    if (out[0] && t->features) memcpy(out[0], row_field(t, i, 0), (size_t)t->features * sizeof *t->values);
    int k = 1;
    if (has_column(t, t->label) && out[k++]) *(int64_t *)out[k - 1] = t->labels[i];
    if (t->has_targets && out[k]) memcpy(out[k], &t->targets[i * t->n_targets], (size_t)t->n_targets * sizeof(float));
    return WICK_OK;
}
static int64_t label(void *user, int64_t i) { return ((const wick_csv *)user)->labels[i]; }
static const char *class_name(void *user, int64_t k) {
    return wick_csv_category(user, ((const wick_csv *)user)->label, k);
}

wick_status wick_dataset_of_csv(wick_context *ctx, const wick_csv *t, wick_dataset **out) {
    if (!t) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_csv: csv is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_csv: out is NULL");
    *out = NULL;
    if (!t->features && !t->has_targets && !has_column(t, t->label)) /* those may be all that is wanted of it */
        return wick_context_fail(ctx, WICK_ERR_INVALID, "csv: the table has no column that is not left out");
    wick_dataset_source s = {.count = t->rows,
                             .n_fields = 1,
                             .fields = {{"features", WICK_F32, 1, {t->features}}},
                             .get = get,
                             .at = at,
                             .user = (void *)(uintptr_t)t};
    if (has_column(t, t->label)) {
        s.fields[s.n_fields++] = (wick_spec){"label", WICK_I64, 0, {0}};
        s.label = label;
        s.classes = t->columns[t->label].c.categories;
        s.class_name = class_name;
        if (!s.classes) s.label = NULL; /* no rows */
    }
    if (t->has_targets)
        s.fields[s.n_fields++] =
            (wick_spec){"target", WICK_F32, t->n_targets > 1, {t->n_targets > 1 ? t->n_targets : 0}};
    return wick_dataset_new(ctx, &s, out);
}
