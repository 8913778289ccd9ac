/* csv_coding.c: what the columns of a table became, as a text that another table is read by. It is a table itself,
 * whose rows are as long as they need, every cell quoted:
 *
 *   "table","3",CATEGORIES,MISSING,DECIMAL
 *                                      the version; "numbers" or "one_hot"; "nan", "mean" or "refuse"; ".", "," or "",
 *                                      where each cell is as good a number by both. Version 1 has no DECIMAL
 *   "number",NAME,MEAN,OFFSET          columns in their order. MEAN: "" where no row has a value. OFFSET is taken from
 *                                      each number; where it is 0, and in versions 1 and 2, it isn't there
 *   "category",NAME,CATEGORY...        in the order of their bytes
 *   "class",NAME,ORDER,CATEGORY...     in the order of "numbers", or of "texts"
 *   "target",NAME                      any number of them
 *   "left out",NAME */
#include "data/formats/csv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kinds[] = {"number", "category", "class", "target", "left out"};
enum { NUMBER, CATEGORY, CLASS, TARGET, LEFT_OUT, KINDS };
static const char *const missing[] = {[WICK_CSV_NAN] = "nan", [WICK_CSV_MEAN] = "mean", [WICK_CSV_REFUSE] = "refuse"};

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool put_bytes(wick_csv *t, const char *text, size_t n) {
    if (!wick_grow(&t->alloc, (void **)&t->coding, &t->coding_cap, t->coding_size + n + 1, 1)) return false;
    memcpy(t->coding + t->coding_size, text, n);
    t->coding[t->coding_size += n] = 0;
    return true;
}
static bool put_cell(wick_csv *t, const char *text, bool first) {
    bool ok = put_bytes(t, first ? "\"" : ",\"", first ? 1 : 2);
    for (const char *s = text; ok && *s;) {
        const size_t n = strcspn(s, "\"");
        ok = put_bytes(t, s, n) && (!s[n] || put_bytes(t, "\"\"", 2));
        s += n + (s[n] == '"');
    }
    return ok && put_bytes(t, "\"", 1);
}

static bool put_column(wick_csv *t, int k) {
    const wick_csv_part *c = &t->columns[k];
    const int kind = k == t->label                    ? CLASS
                     : c->target >= 0                 ? TARGET
                     : c->c.type == WICK_CSV_LEFT_OUT ? LEFT_OUT
                     : c->c.type == WICK_CSV_CATEGORY ? CATEGORY
                                                      : NUMBER;
    char mean[40] = "", offset[40];
    if (kind == NUMBER && !isnan(c->c.mean)) snprintf(mean, sizeof mean, "%.17g", c->c.mean);
    snprintf(offset, sizeof offset, "%.17g", c->offset);
    bool ok = put_cell(t, kinds[kind], true) && put_cell(t, c->c.name, false);
    if (kind == NUMBER) ok = ok && put_cell(t, mean, false) && (c->offset == 0 || put_cell(t, offset, false));
    if (kind == CLASS) ok = ok && put_cell(t, c->numeric ? "numbers" : "texts", false);
    for (int64_t i = 0; (kind == CATEGORY || kind == CLASS) && i < c->c.categories; i++)
        ok = ok && put_cell(t, c->names[i], false);
    return ok && put_bytes(t, "\n", 1);
}

wick_status wick_csv_write_coding(wick_csv *t, locale_t locale, wick_msg *msg) {
    const locale_t before = uselocale(locale); /* means have a point */
    t->coding_size = 0;
    const char decimal[2] = {t->decimal, 0};
    bool ok = put_cell(t, "table", true) && put_cell(t, t->old ? "2" : "3", false) &&
              put_cell(t, t->options.one_hot ? "one_hot" : "numbers", false) &&
              put_cell(t, missing[t->options.missing], false) && put_cell(t, decimal, false) && put_bytes(t, "\n", 1);
    for (int k = 0; k < t->n; k++) ok = ok && put_column(t, k);
    uselocale(before);
    return ok ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static wick_status wrong(const wick_csv_reader *r, wick_msg *msg, const char *what) {
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %lld of the coding: %s", r->path, (long long)r->row_line, what);
}
/* The next cell, which has to be there. */
static wick_status cell(wick_csv_reader *r, bool *last, wick_msg *msg) {
    return *last ? wrong(r, msg, "is cut off") : wick_csv_cell(r, last, msg);
}

static wick_status read_first(wick_csv *t, wick_csv_reader *r, wick_msg *msg) {
    bool last = !wick_csv_row(r);
    if (last) return wrong(r, msg, "is empty");
    WICK_TRY(cell(r, &last, msg));
    if (strcmp(r->cell, "table") != 0) return wrong(r, msg, "is not that of a table");
    WICK_TRY(cell(r, &last, msg));
    const bool first = strcmp(r->cell, "1") == 0;
    t->old = first || strcmp(r->cell, "2") == 0;
    if (!t->old && strcmp(r->cell, "3") != 0)
        return wick_msg_set(msg, WICK_ERR_VERSION, "%s: the coding is of version %.20s, which is not read", r->path,
                            r->cell);
    WICK_TRY(cell(r, &last, msg));
    t->options.one_hot = strcmp(r->cell, "one_hot") == 0;
    if (!t->options.one_hot && strcmp(r->cell, "numbers") != 0)
        return wrong(r, msg, "categories are neither \"numbers\" nor \"one_hot\"");
    WICK_TRY(cell(r, &last, msg));
    size_t i = 0;
    while (i < WICK_COUNTOF(missing) && strcmp(r->cell, missing[i]) != 0) i++;
    if (i == WICK_COUNTOF(missing)) return wrong(r, msg, "what is missing is neither \"nan\", \"mean\" nor \"refuse\"");
    t->options.missing = (wick_csv_missing)i;
    if (!first) {
        WICK_TRY(cell(r, &last, msg));
        if (strcmp(r->cell, "") != 0 && strcmp(r->cell, ".") != 0 && strcmp(r->cell, ",") != 0)
            return wrong(r, msg, "decimals are behind neither \".\" nor \",\"");
        t->decimal = *r->cell;
    }
    return last ? WICK_OK : wrong(r, msg, "goes on");
}

static wick_status read_categories(wick_csv *t, wick_csv_reader *r, wick_csv_part *c, bool *last, wick_msg *msg) {
    size_t at;
    while (!*last) {
        WICK_TRY(cell(r, last, msg));
        if (wick_csv_find_category(r, c, r->cell, &at) || at != (size_t)c->c.categories)
            return wrong(r, msg, "categories are not in their order");
        WICK_TRY(wick_csv_add_category(t, c, at, r->cell, msg));
    }
    return WICK_OK;
}

static wick_status read_column(wick_csv *t, wick_csv_reader *r, wick_msg *msg) {
    bool last = false, grouped;
    WICK_TRY(cell(r, &last, msg));
    int kind = 0;
    while (kind < KINDS && strcmp(r->cell, kinds[kind]) != 0) kind++;
    if (kind == KINDS) return wrong(r, msg, "is no kind of column");
    if (t->n == WICK_CSV_COLUMNS) return wrong(r, msg, "there are too many");
    WICK_TRY(cell(r, &last, msg));
    wick_csv_part *c = wick_csv_add_column(t, r->cell);
    if (!c) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", r->path);
    c->c.type = kind == LEFT_OUT ? WICK_CSV_LEFT_OUT : kind == CATEGORY ? WICK_CSV_CATEGORY : WICK_CSV_NUMBER;
    if (kind == CLASS && t->label >= 0) return wrong(r, msg, "there is one already");
    if (kind == CLASS) t->label = t->n - 1;
    if (kind == TARGET) c->target = t->n_targets++, c->c.target = true;
    if (kind == NUMBER) {
        WICK_TRY(cell(r, &last, msg));
        if (*r->cell &&
            (!wick_csv_number(r, r->cell, &c->c.mean, &grouped) || fabs(c->c.mean) > FLT_MAX || isnan(c->c.mean)))
            return wrong(r, msg, "its mean is no number");
        if (!last && !t->old) {
            WICK_TRY(cell(r, &last, msg));
            if (!wick_csv_number(r, r->cell, &c->offset, &grouped) || isnan(c->offset) ||
                fabs(c->c.mean - c->offset) > FLT_MAX)
                return wrong(r, msg, "its offset is no number of 32 bits");
        }
    }
    if (kind == CLASS) {
        WICK_TRY(cell(r, &last, msg));
        c->numeric = strcmp(r->cell, "numbers") == 0;
        if (!c->numeric && strcmp(r->cell, "texts") != 0)
            return wrong(r, msg, "classes are neither \"numbers\" nor \"texts\"");
        if (!c->numeric) c->c.type = WICK_CSV_CATEGORY;
    }
    if (kind == CLASS || kind == CATEGORY) WICK_TRY(read_categories(t, r, c, &last, msg));
    return last ? WICK_OK : wrong(r, msg, "goes on");
}

wick_status wick_csv_read_coding(wick_csv *t, locale_t locale, wick_msg *msg) {
    const char *text = t->options.coding;
    wick_csv_reader r = {.alloc = &t->alloc,
                         .path = t->path,
                         .end = text + strlen(text),
                         .separator = ',',
                         .decimal = '.',
                         .locale = locale};
    wick_csv_rewind(&r, text);
    wick_status status = read_first(t, &r, msg);
    while (status == WICK_OK && wick_csv_row(&r)) status = read_column(t, &r, msg);
    wick_release(&t->alloc, r.cell, r.cap);
    return status;
}
