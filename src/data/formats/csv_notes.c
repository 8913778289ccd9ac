/* csv_notes.c: what is worth telling of a table: what was found by looking, what was not taken as it stands, and what
 * another table's coding made of it. */
#include "data/formats/csv.h"

#include "base/utf8.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *wick_csv_quote(char to[WICK_CSV_SHOWN], const char *text) {
    size_t n = 0, left = strlen(text);
    to[n++] = '"';
    while (left) {
        const size_t bytes = wick_utf8_next((const unsigned char *)text, left);
        if (n + WICK_MAX(bytes, 1) > WICK_CSV_SHOWN - 6) {
            memcpy(to + n, "...", 3), n += 3;
            break;
        }
        memcpy(to + n, text, WICK_MAX(bytes, 1));
        n += WICK_MAX(bytes, 1), text += WICK_MAX(bytes, 1), left -= WICK_MAX(bytes, 1);
    }
    to[n++] = '"';
    to[n] = 0;
    return to;
}

const char *wick_csv_called(char to[WICK_CSV_SHOWN], const wick_csv *t, int k) {
    if (*t->columns[k].c.name) return wick_csv_quote(to, t->columns[k].c.name);
    snprintf(to, WICK_CSV_SHOWN, "%d, which has no name,", k + 1);
    return to;
}

wick_status wick_csv_tell(wick_csv *t, wick_msg *msg, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *note = wick_arena_strdup(&t->arena, text);
    if (!note || !wick_grow(&t->alloc, (void **)&t->notes, &t->notes_cap, t->n_notes + 1, sizeof *t->notes))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->path);
    t->notes[t->n_notes++] = note;
    return WICK_OK;
}

/* Columns of one kind with their names, in one line: the first of many. */
typedef struct list {
    char text[800];
    wick_str s;
    int n;
} list;
static void list_add(list *l, const wick_csv *t, int k, int64_t number) {
    char name[WICK_CSV_SHOWN];
    enum { NAMED = 8 };
    if (!l->n) l->s = wick_str_on(l->text, sizeof l->text);
    if (l->n++ >= NAMED) return;
    wick_str_add(&l->s, "%s%s", l->n > 1 ? ", " : "", wick_csv_called(name, t, k));
    if (number >= 0) wick_str_add(&l->s, " (%lld)", (long long)number);
    if (l->n == NAMED) wick_str_add(&l->s, " ...");
}

/* Numbers that f32 doesn't hold, where that changes more than their last digits: whole ones, as times in seconds, and
 * those that lie close together. */
static wick_status tell_rounded(wick_csv *t, int k, const char *name, wick_msg *msg) {
    const wick_csv_part *c = &t->columns[k];
    const char *what = c->c.whole ? "whole numbers above 2^24" : "numbers that lie close together";
    if (c->offset != 0 && !t->options.coding)
        WICK_TRY(wick_csv_tell(t, msg,
                               "column %s has %s, up to %.17g: what is learned from is by how much they are above "
                               "%.17g",
                               name, what, c->c.max, c->offset));
    const double low = c->c.min - c->offset, high = c->c.max - c->offset, most = fmax(fabs(low), fabs(high)),
                 apart = high - low;
    if (!c->rounded || !(apart > 0) || c->c.type != WICK_CSV_NUMBER || !(most >= DBL_MIN) || k == t->label)
        return WICK_OK;
    const double step = ldexp(1, ilogb(most) - (FLT_MANT_DIG - 1));
    if (!c->c.whole && step * WICK_CSV_FINE <= apart) return WICK_OK;
    char above[64] = "";
    if (c->offset != 0) snprintf(above, sizeof above, ", as differences from %.17g", c->offset);
    return wick_csv_tell(t, msg,
                         "column %s has %s, up to %.10g%s, which are rounded to 32-bit floats, the largest to "
                         "multiples of %g; its numbers lie within %.6g",
                         name, what, most, above, step, apart);
}

static wick_status tell_column(wick_csv *t, int k, wick_msg *msg) {
    const wick_csv_part *c = &t->columns[k];
    char name[WICK_CSV_SHOWN], text[WICK_CSV_SHOWN];
    wick_csv_called(name, t, k);
    if (c->odd.n)
        WICK_TRY(wick_csv_tell(t, msg,
                               "column %s is of numbers, and %lld of %lld cells are none, the first %s in line %lld: "
                               "they count as missing",
                               name, (long long)c->odd.n, (long long)t->rows, wick_csv_quote(text, c->odd.text),
                               (long long)c->odd.line));
    if (c->grouped.n)
        WICK_TRY(wick_csv_tell(t, msg,
                               "column %s has %lld number%s with thousands separators, the first %s in line %lld", name,
                               (long long)c->grouped.n, c->grouped.n == 1 ? "" : "s",
                               wick_csv_quote(text, c->grouped.text), (long long)c->grouped.line));
    WICK_TRY(tell_rounded(t, k, name, msg));
    enum { FEW = 20 };
    if (c->c.type == WICK_CSV_CATEGORY && k != t->label && !t->options.coding && c->c.categories > FEW &&
        2 * c->c.categories > t->rows)
        WICK_TRY(wick_csv_tell(t, msg,
                               "column %s has %lld categories in %lld rows, as names and texts have: there is little "
                               "to learn from one that hardly comes again, and it may be left out (skip)",
                               name, (long long)c->c.categories, (long long)t->rows));
    if (c->unknown.n && !t->options.coding)
        WICK_TRY(wick_csv_tell(
            t, msg,
            "column %s: %lld cell%s of categories that no row that is learned from has, the first %s in line %lld: %s",
            name, (long long)c->unknown.n, c->unknown.n == 1 ? " is" : "s are", wick_csv_quote(text, c->unknown.text),
            (long long)c->unknown.line, t->options.one_hot ? "all zeros" : "-1"));
    else if (c->unknown.n)
        WICK_TRY(wick_csv_tell(
            t, msg,
            "column %s: %lld cell%s of categories that are not among the coding's %lld, the first %s in line %lld: %s",
            name, (long long)c->unknown.n, c->unknown.n == 1 ? " is" : "s are", (long long)c->c.categories,
            wick_csv_quote(text, c->unknown.text), (long long)c->unknown.line,
            t->options.one_hot ? "all zeros" : "-1"));
    return WICK_OK;
}

wick_status wick_csv_tell_columns(wick_csv *t, wick_msg *msg) {
    list categories = {.n = 0}, unfilled = {.n = 0}, empty = {.n = 0}, absent = {.n = 0};
    for (int k = 0; k < t->n; k++) {
        const wick_csv_part *c = &t->columns[k];
        WICK_TRY(tell_column(t, k, msg));
        if (k == t->label || t->columns[k].target >= 0) continue;
        if (c->c.type == WICK_CSV_CATEGORY) list_add(&categories, t, k, c->c.categories);
        if (t->options.coding && c->cell >= 0 && c->c.type != WICK_CSV_LEFT_OUT && t->rows && c->c.missing == t->rows)
            list_add(&unfilled, t, k, -1);
        if (c->empty) list_add(&empty, t, k, -1);
        if (c->c.type != WICK_CSV_LEFT_OUT && c->cell < 0) list_add(&absent, t, k, -1);
    }
    if (categories.n && !t->options.coding)
        WICK_TRY(wick_csv_tell(t, msg, "%d column%s of categories: %s", categories.n,
                               categories.n == 1 ? " is" : "s are", categories.text));
    if (empty.n)
        WICK_TRY(wick_csv_tell(t, msg, "%d column%s no value in any row and %s left out: %s", empty.n,
                               empty.n == 1 ? " has" : "s have", empty.n == 1 ? "is" : "are", empty.text));
    if (unfilled.n)
        WICK_TRY(wick_csv_tell(t, msg, "%d column%s no value in any row: %s", unfilled.n,
                               unfilled.n == 1 ? " has" : "s have", unfilled.text));
    if (absent.n)
        WICK_TRY(wick_csv_tell(t, msg, "%d column%s of the coding %s not in the table and count%s as missing: %s",
                               absent.n, absent.n == 1 ? "" : "s", absent.n == 1 ? "is" : "are",
                               absent.n == 1 ? "s" : "", absent.text));
    return WICK_OK;
}

const char *wick_csv_note(const wick_csv *t, int i) { return i >= 0 && (size_t)i < t->n_notes ? t->notes[i] : NULL; }
const char *wick_csv_coding(const wick_csv *t) { return t->coding; }
