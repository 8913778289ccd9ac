/* csv.h: a table from inside: how its cells are read (csv_cells.c), in which form its text is (csv_text.c, csv_form.c),
 * and what its columns become, also by another table's coding (csv_coding.c). */
#ifndef WICK_DATA_CSV_H
#define WICK_DATA_CSV_H

#include <locale.h>

#include "data/sets/dataset.h"
#include "wick/datasets.h"

enum { WICK_CSV_COLUMNS = 1 << 16, WICK_CSV_CATEGORIES = 1 << 16 };
enum { WICK_CSV_FINE = 1 << 10 /* steps of f32 between the lowest and the highest number that are enough */ };

/* How many cells were of a kind that is told of, and the first of them. */
typedef struct wick_csv_spots {
    int64_t n, line;
    const char *text; /* in the arena */
} wick_csv_spots;

typedef struct wick_csv_part {
    wick_csv_column c;
    const char **names; /* of categories, in order */
    size_t cap;
    bool numeric; /* of a class: its names are numbers, compared by value */
    bool rounded; /* f32 doesn't hold all of its numbers */
    bool empty;   /* no row that is learned from has a value: left out */
    bool texts;   /* by the table's own word: categories, also where they look like numbers or as what is missing */
    double sum;
    double offset; /* what is taken from each of its numbers before they become f32; 0: nothing */
    int64_t numbers,
        others; /* cells that are numbers and that are neither that nor missing, of the rows that are learned from */
    wick_csv_spots odd, unknown, grouped;
    int cell;         /* its place in a row; -1: the table lacks it */
    int first, width; /* among the features */
    int target;       /* its number among the targets; -1: none */
} wick_csv_part;

struct wick_csv {
    wick_allocator alloc;
    wick_arena arena;
    const char *path;
    wick_csv_options options;
    int64_t rows;
    int n, features, label; /* label: a column, -1: none */
    int n_targets;
    bool has_targets; /* the table has one of them */
    size_t cap;
    wick_csv_part *columns;
    int cells, extra; /* of a row, and how many of them no column of the coding takes */
    size_t cells_cap;
    int *column_of; /* [cells]; -1: none */
    float *values;  /* [rows, features] */
    size_t value_bytes, label_bytes, target_bytes;
    int64_t *labels;
    float *targets; /* [rows, n_targets] */
    const char **notes;
    size_t n_notes, notes_cap;
    char decimal; /* of the coding: '.' or ','; 0: its table did not tell */
    bool old;     /* the coding is of version 1 or 2, and is written as version 2 again */
    uint64_t *hashes; /* [rows] */
    size_t hash_bytes;
    char *coding;
    size_t coding_size, coding_cap;
};

/* ---- cells ------------------------------------------------------------------------------------------------------- */

typedef struct wick_csv_reader {
    const wick_allocator *alloc;
    const char *path; /* for messages */
    const char *at, *end;
    int64_t line, row_line; /* of the file, from 1; and where this row began */
    int64_t skipped;        /* lines before the text's first one */
    char separator, decimal;
    bool sure;  /* of decimal: it was given, or some cell is a number by it alone */
    const char *types; /* of the table's cells, 't' (texts) or 'n', as its header says them; NULL: they are found */
    bool quoted;       /* the present cell */
    char *cell; /* the present one, with a zero behind it */
    size_t n, cap;
    locale_t locale; /* "C" */
} wick_csv_reader;

/* To the beginning of the text. */
void wick_csv_rewind(wick_csv_reader *r, const char *begin);
/* The next cell of this row; *last: the row ends behind it. */
wick_status wick_csv_cell(wick_csv_reader *r, bool *last, wick_msg *msg);
/* To the next row that is not empty; false: there is none. */
bool wick_csv_row(wick_csv_reader *r);
bool wick_csv_is_missing(const char *cell);
/* Digits with a fraction and an exponent, or inf: no hexadecimal numbers, which strtod would take. *grouped: it has
 * thousands separators. */
bool wick_csv_number(const wick_csv_reader *r, const char *cell, double *value, bool *grouped);

/* ---- the form of the text ---------------------------------------------------------------------------------------- */

/* *text and *size, as UTF-8 without a byte order mark: within data, or in *own, of *room bytes from alloc, which the
 * caller releases in any case. *note: what the text was; NULL: UTF-8. */
wick_status wick_csv_decode(const wick_allocator *alloc, const char *path, const uint8_t *data, size_t data_size,
                            const char **text, size_t *size, char **own, size_t *room, const char **note,
                            wick_msg *msg);
/* Weka's .arff and sktime's .ts (csv_relation.c), by their names; and as the text of a table, of which *skipped lines
 * of the file come before the first. *out, of *room bytes from alloc, and *types, as a reader has them, of *types_room,
 * are the caller's to release in any case; both are NULL before. */
bool wick_csv_is_relation(const char *path);
wick_status wick_csv_from_relation(const wick_allocator *alloc, const char *path, locale_t locale, const char *text,
                                   size_t size, char **out, size_t *out_size, size_t *room, char **types,
                                   size_t *types_room, int64_t *skipped, wick_msg *msg);
/* Finds r->separator and r->decimal where they are 0. Where every cell is as good a number with a decimal comma as with
 * a point, it is that of the coding, `learned`, if that is not 0. */
wick_status wick_csv_find_form(wick_csv_reader *r, const char *begin, char learned, wick_msg *msg);

/* ---- what is told ------------------------------------------------------------------------------------------------ */

enum { WICK_CSV_SHOWN = 80 };
/* "text", cut between characters where it is longer; of a column its name, or its number where it has none. */
const char *wick_csv_quote(char to[WICK_CSV_SHOWN], const char *text);
const char *wick_csv_called(char to[WICK_CSV_SHOWN], const wick_csv *t, int column);
wick_status wick_csv_tell(wick_csv *t, wick_msg *msg, const char *fmt, ...) WICK_PRINTF(3, 4);
/* What is worth telling of the columns, once all is read. */
wick_status wick_csv_tell_columns(wick_csv *t, wick_msg *msg);

/* ---- the coding -------------------------------------------------------------------------------------------------- */

/* Where a category is, or belongs. */
bool wick_csv_find_category(const wick_csv_reader *r, const wick_csv_part *c, const char *name, size_t *at);
/* A new column, all zero but its name; NULL: out of memory. */
wick_csv_part *wick_csv_add_column(wick_csv *t, const char *name);
wick_status wick_csv_add_category(wick_csv *t, wick_csv_part *c, size_t at, const char *name, wick_msg *msg);
/* Columns, label, target, one_hot, missing and decimal, as options.coding says. */
wick_status wick_csv_read_coding(wick_csv *t, locale_t locale, wick_msg *msg);
wick_status wick_csv_write_coding(wick_csv *t, locale_t locale, wick_msg *msg);

#endif
