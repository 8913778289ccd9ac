/* csv_cells.c: the cells of a table (RFC 4180), what stands for a missing value, and numbers. */
#include "data/formats/csv.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

void wick_csv_rewind(wick_csv_reader *r, const char *begin) {
    r->at = begin;
    r->line = 1 + r->skipped;
}

static bool put(wick_csv_reader *r, char c) {
    if (!wick_grow(r->alloc, (void **)&r->cell, &r->cap, r->n + 2, 1)) return false;
    r->cell[r->n++] = c;
    return true;
}
static wick_status wrong(const wick_csv_reader *r, wick_msg *msg, const char *what) {
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %lld: %s", r->path, (long long)r->line, what);
}
static void skip_blanks(wick_csv_reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t') && *r->at != r->separator) r->at++;
}
/* A line ends with \n, \r\n, or \r alone: where the last byte of it stands. */
static bool ends_line(const wick_csv_reader *r, const char *at) {
    return *at == '\n' || (*at == '\r' && (at + 1 == r->end || at[1] != '\n'));
}

wick_status wick_csv_cell(wick_csv_reader *r, bool *last, wick_msg *msg) {
    r->n = 0;
    skip_blanks(r);
    bool room = true;
    r->quoted = r->at < r->end && *r->at == '"';
    if (r->quoted) {
        const int64_t begins = r->line;
        for (r->at++;; r->at++) {
            if (r->at == r->end) return r->line = begins, wrong(r, msg, "a quote that does not end");
            if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"')) break;
            if (*r->at == '"') r->at++;
            r->line += ends_line(r, r->at);
            room = room && put(r, *r->at);
        }
        r->at++;
        skip_blanks(r);
        if (r->at < r->end && *r->at != r->separator && *r->at != '\r' && *r->at != '\n')
            return wrong(r, msg, "text behind a quoted cell");
    } else {
        for (; r->at < r->end && *r->at != r->separator && *r->at != '\n' && *r->at != '\r'; r->at++)
            room = room && put(r, *r->at);
        while (r->n && (r->cell[r->n - 1] == ' ' || r->cell[r->n - 1] == '\t')) r->n--;
    }
    if (!room || !wick_grow(r->alloc, (void **)&r->cell, &r->cap, r->n + 1, 1))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", r->path);
    r->cell[r->n] = 0;
    if (memchr(r->cell, 0, r->n))
        return wrong(r, msg, "a zero byte: this is no text, or UTF-16 without a byte order mark; save it as UTF-8");
    *last = r->at == r->end || *r->at != r->separator;
    if (!*last) r->at++;
    return WICK_OK;
}

bool wick_csv_row(wick_csv_reader *r) {
    for (; r->at < r->end && (*r->at == '\n' || *r->at == '\r'); r->at++) r->line += ends_line(r, r->at);
    r->row_line = r->line;
    return r->at < r->end;
}

bool wick_csv_is_missing(const char *cell) {
    /* pandas' list (pandas.read_csv, na_values), and ? of the UCI repository. */
    static const char *const texts[] = {"",     "NA",   "N/A",  "n/a", "<NA>",   "#N/A",    "#N/A N/A", "#NA",
                                        "NULL", "null", "None", "?",   "1.#IND", "-1.#IND", "1.#QNAN",  "-1.#QNAN"};
    for (size_t i = 0; i < WICK_COUNTOF(texts); i++)
        if (strcmp(cell, texts[i]) == 0) return true;
    /* What printf writes for NaN, which may have a sign and its bits behind it: nan, -NAN, -nan(ind). */
    const char *nan = cell + (*cell == '-' || *cell == '+');
    const size_t n = strlen(nan);
    return strncasecmp(nan, "nan", 3) == 0 && (n == 3 || (nan[3] == '(' && nan[n - 1] == ')'));
}

/* Digits from s to the text; how many. Past its end it counts and writes nothing. */
static size_t copy_digits(const char *s, char *text, size_t size, size_t *n) {
    const size_t digits = strspn(s, "0123456789");
    if (*n + digits < size) memcpy(text + *n, s, digits);
    *n += digits;
    return digits;
}

bool wick_csv_number(const wick_csv_reader *r, const char *cell, double *value, bool *grouped) {
    char text[512];
    const size_t size = sizeof text - 8; /* room for what is no digit */
    const char group = r->decimal == ',' ? '.' : ',', *s = cell;
    size_t n = 0, fraction = 0;
    *grouped = false;
    if (*s == '+' || *s == '-') text[n++] = *s++;
    if (strcasecmp(s, "inf") == 0 || strcasecmp(s, "infinity") == 0)
        return *value = *cell == '-' ? -(double)INFINITY : (double)INFINITY, true;
    const char *first = s;
    const size_t whole = copy_digits(s, text, size, &n);
    for (s += whole; *s == group; s += 4) { /* by thousands: "1,234,567" */
        if (whole < 1 || whole > 3 || *first == '0' || n >= size || copy_digits(s + 1, text, size, &n) != 3)
            return false;
        *grouped = true;
    }
    if (n >= size) return false;
    if (*s == (r->decimal == ',' ? ',' : '.')) {
        text[n++] = '.';
        fraction = copy_digits(++s, text, size, &n);
        s += fraction;
    }
    if (whole + fraction == 0 || n >= size) return false;
    if (*s == 'e' || *s == 'E') {
        text[n++] = *s++;
        if (*s == '+' || *s == '-') text[n++] = *s++;
        const size_t digits = copy_digits(s, text, size, &n);
        if (!digits || n >= size) return false;
        s += digits;
    }
    if (*s) return false;
    text[n] = 0;
    *value = strtod_l(text, NULL, r->locale);
    return true;
}
