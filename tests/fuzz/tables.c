/* tables.c: tables of comma-separated values. The first byte says how they are read; the rest is the file. */
#include <math.h>
#include <stdio.h>

#include "fuzz.h"
#include "wick/datasets.h"

enum { SEMICOLON = 1, NO_HEADER = 2, ONE_HOT = 4, MEAN = 8, REFUSE = 16, LABEL = 32, TARGET = 64, SKIP = 128 };

FUZZ_TARGET(csv) {
    if (!size) return 0;
    const unsigned how = data[0];
    wick_context *ctx = fuzz_context();
    const char *path = fuzz_file("a.csv", data + 1, size - 1);
    const wick_csv_options o = {.separator = how & SEMICOLON ? ';' : 0,
                                .no_header = how & NO_HEADER,
                                .one_hot = how & ONE_HOT,
                                .missing = how & REFUSE ? WICK_CSV_REFUSE : how & MEAN ? WICK_CSV_MEAN : WICK_CSV_NAN,
                                .label = how & LABEL ? how & NO_HEADER ? "1" : "b" : NULL,
                                .target = how & TARGET ? how & NO_HEADER ? "0" : "a" : NULL,
                                .skip = how & SKIP ? "c*" : NULL};
    wick_csv *csv;
    wick_dataset *d;
    if (wick_csv_read(ctx, path, &o, &csv) != WICK_OK) {
        FUZZ_PROMISE(!csv && strstr(wick_context_error(ctx), path));
        return 0;
    }
    const int64_t rows = wick_csv_rows(csv);
    for (int c = 0; c < wick_csv_columns(csv); c++) {
        const wick_csv_column *column = wick_csv_column_at(csv, c);
        FUZZ_PROMISE(column->missing >= 0 && column->missing <= rows && column->categories <= rows);
        fuzz_touch(column->name, strlen(column->name));
        for (int64_t k = 0; k < column->categories; k++) {
            const char *name = wick_csv_category(csv, c, k);
            FUZZ_PROMISE(name &&
                         (!k || column->type != WICK_CSV_CATEGORY || (o.label && !strcmp(column->name, o.label)) ||
                          strcmp(wick_csv_category(csv, c, k - 1), name) < 0));
        }
        FUZZ_PROMISE(!wick_csv_category(csv, c, column->categories));
        if (column->type == WICK_CSV_NUMBER && column->missing < rows)
            FUZZ_PROMISE(!isnan(column->min) && column->min <= column->max);
    }
    FUZZ_PROMISE(!wick_csv_column_at(csv, wick_csv_columns(csv)));
    if (wick_dataset_of_csv(ctx, csv, &d) == WICK_OK) {
        FUZZ_PROMISE(wick_dataset_count(d) == rows);
        for (int64_t i = 0; i < rows && i < 300; i++) {
            void *out[WICK_DATASET_FIELDS] = {NULL};
            wick_fault fault;
            /* a byte beyond shows */
            for (int k = 0; k < wick_dataset_fields(d); k++)
                out[k] = malloc(wick_dataset_bytes(d, i, k) + !wick_dataset_bytes(d, i, k));
            FUZZ_PROMISE(wick_dataset_get(d, i, out, &fault) == WICK_OK);
            const int64_t n = wick_dataset_field(d, 0)->dims[0];
            for (int64_t k = 0; k < n; k++)
                FUZZ_PROMISE(o.missing == WICK_CSV_NAN || !isnan(((const float *)out[0])[k]) || rows == 1 ||
                             (how & MEAN));
            if (o.label)
                FUZZ_PROMISE(wick_dataset_label(d, i) >= 0 && wick_dataset_label(d, i) < wick_dataset_classes(d));
            for (int k = 0; k < wick_dataset_fields(d); k++) free(out[k]);
        }
        wick_dataset_free(&d);
    }
    /* By its own coding a table is what it was; by a damaged one it is refused, or something else. */
    char *coding = strdup(wick_csv_coding(csv));
    wick_csv *again;
    FUZZ_PROMISE(coding && (wick_csv_read(ctx, path,
                                          &(wick_csv_options){
                                              .separator = o.separator, .no_header = o.no_header, .coding = coding},
                                          &again) != WICK_OK ||
                            strcmp(wick_csv_coding(again), coding) == 0));
    wick_csv_free(&again);
    if (*coding) coding[size % strlen(coding)] = (char)(data[size - 1] | 1);
    if (coding &&
        wick_csv_read(ctx, path, &(wick_csv_options){.no_header = o.no_header, .coding = coding, .unlabelled = true},
                      &again) != WICK_OK)
        FUZZ_PROMISE(!again);
    wick_csv_free(&again);
    free(coding);
    wick_csv_free(&csv);
    return 1;
}

static const char *const cells[] = {"1",
                                    "-2.5",
                                    "1e3",
                                    "1e999",
                                    "-0",
                                    "0x1p3",
                                    "",
                                    "NA",
                                    "nan",
                                    "None",
                                    "?",
                                    "red",
                                    "green",
                                    "\"a, b\"",
                                    "\"say \"\"x\"\"\"",
                                    "\"two\nlines\"",
                                    " 7 ",
                                    "\"\"",
                                    "1,5",
                                    "inf",
                                    "\xc3\xa9",
                                    "+3",
                                    ".5",
                                    "5.",
                                    "1e",
                                    "--1"};

/* A table of some kind for each column, mostly whole. */
static size_t make_table(uint8_t *to, size_t max, fuzz_random *r) {
    fuzz_buffer b = {to, 0, max, false};
    const size_t columns = 1 + fuzz_below(r, 4), rows = fuzz_below(r, 8), fault = fuzz_fault(r, 4);
    const bool semicolon = fuzz_chance(r, 20);
    fuzz_little(&b, (fuzz_next(r) & ~(uint64_t)SEMICOLON) | semicolon, 1);
    if (fuzz_chance(r, 10)) fuzz_put(&b, "\xef\xbb\xbf", 3);
    for (size_t row = 0; row <= rows; row++) {
        const size_t now = columns + (fault == 1 && row == rows) - (fault == 2 && row == rows);
        for (size_t c = 0; c < now; c++) {
            if (c) fuzz_put(&b, semicolon ? ";" : ",", 1);
            if (!row) fuzz_print(&b, "%c", (char)('a' + c));
            else if (c % 2 && fuzz_chance(r, 80)) fuzz_print(&b, "%c", (char)('p' + fuzz_below(r, 3)));
            else if (fuzz_chance(r, 60)) fuzz_print(&b, "%g", fuzz_real(r));
            else fuzz_print(&b, "%s", FUZZ_PICK(r, cells));
        }
        if (row < rows || fuzz_chance(r, 80)) fuzz_print(&b, "%s", fuzz_chance(r, 80) ? "\n" : "\r\n");
    }
    if (fault == 3) fuzz_put(&b, "\"", 1);
    if (fault == 4 && b.n > 1) b.n -= fuzz_below(r, b.n);
    return b.full ? 0 : b.n;
}

FUZZ_MUTATOR(csv) {
    const size_t made = fuzz_chance(r, 40) ? make_table(data, max, r) : 0;
    if (made) return made;
    if (!size || fuzz_chance(r, 25)) return fuzz_bytes(data, size, max);
    if (fuzz_chance(r, 15)) return data[0] = (uint8_t)fuzz_next(r), size;
    /* A cell more, or a stretch less. */
    const char *cell = FUZZ_PICK(r, cells);
    const size_t at = 1 + fuzz_below(r, size), n = strlen(cell), less = fuzz_below(r, size - at + 1);
    if (fuzz_chance(r, 40)) return memmove(data + at, data + at + less, size - at - less), size - less;
    if (size + n > max) return size;
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, cell, n);
    return size + n;
}
