/* csv_form.c: finds the separator of a table, and whether its numbers have a decimal comma. */
#include "data/formats/csv.h"

enum { LOOKED_AT = 100 }; /* rows */

typedef struct fit {
    int cells; /* of the first row */
    bool even; /* all rows have as many */
} fit;

/* What a separator would make of the first rows. */
static fit try_separator(wick_csv_reader *r, const char *begin, char separator) {
    fit f = {0, true};
    wick_msg ignored;
    r->separator = separator;
    wick_csv_rewind(r, begin);
    for (int row = 0; row < LOOKED_AT && wick_csv_row(r); row++) {
        int cells = 0;
        for (bool last = false; !last; cells++)
            if (wick_csv_cell(r, &last, &ignored) != WICK_OK) return (fit){f.cells, false};
        if (row == 0) f.cells = cells;
        f.even &= cells == f.cells;
    }
    return f;
}

/* The one that makes the most cells of each row, as many of all rows; where none does, the most of the first. */
static void find_separator(wick_csv_reader *r, const char *begin) {
    static const char candidates[] = {',', ';', '\t', '|'};
    char best = ',';
    fit most = {1, false};
    for (size_t i = 0; i < sizeof candidates; i++) {
        const fit f = try_separator(r, begin, candidates[i]);
        const bool good = f.even && f.cells > 1;
        if (good > most.even || (good == most.even && f.cells > most.cells))
            best = candidates[i], most = (fit){f.cells, good};
    }
    r->separator = best;
}

/* "0,5" is a number with a decimal comma alone, "0.5" with a point alone; "1,234" and "1.234" may be thousands or
 * thousandths. */
static wick_status find_decimal(wick_csv_reader *r, const char *begin, char learned, wick_msg *msg) {
    int64_t comma = 0, point = 0, either[2] = {0, 0};
    wick_csv_rewind(r, begin);
    while (wick_csv_row(r))
        for (bool last = false; !last;) {
            double v;
            bool grouped;
            WICK_TRY(wick_csv_cell(r, &last, msg));
            r->decimal = '.';
            const bool with_point = wick_csv_number(r, r->cell, &v, &grouped);
            r->decimal = ',';
            const bool with_comma = wick_csv_number(r, r->cell, &v, &grouped);
            comma += with_comma && !with_point;
            point += with_point && !with_comma;
            if (with_point && with_comma)
                either[0] += strchr(r->cell, ',') != NULL, either[1] += strchr(r->cell, '.') != NULL;
        }
    r->sure = comma != point;
    /* Where ; is the separator, the comma was needed for something else. */
    const bool by_separator = r->separator == ';' && either[0] && !either[1];
    r->decimal = r->sure              ? (comma > point ? ',' : '.')
                 : comma || !learned  ? (by_separator && !comma ? ',' : '.')
                                      : learned;
    return WICK_OK;
}

wick_status wick_csv_find_form(wick_csv_reader *r, const char *begin, char learned, wick_msg *msg) {
    if (!r->separator) find_separator(r, begin);
    r->sure = r->decimal != 0;
    if (r->sure) return WICK_OK;
    r->decimal = '.';
    /* Between commas only a quoted cell has one. */
    if (r->separator == ',' && !memchr(begin, '"', (size_t)(r->end - begin))) return WICK_OK;
    return find_decimal(r, begin, learned, msg);
}
