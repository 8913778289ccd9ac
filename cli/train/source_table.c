/* Tables: what a network learns from, and by what other tables are coded as that was. */
#include "source_kinds.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

wick_status source_check_classes(wick_context *ctx, const char *path, const char *column, int64_t samples,
                                 int64_t classes, bool numbers, bool whole, double low, double high) {
    static const char way[] = "wick train tells classes apart, and has no regression yet: put the numbers into ranges, "
                              "a class for each, or name the column that is the class by --label";
    enum { FEW = 20 };
    const bool close =
        numbers && high - low + 1 <= (double)classes && (low == 0 || low == 1); /* 0, 1, 2 ...: numbers of classes */
    if (numbers && !whole)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: \"%.100s\" is to be the class, and its numbers are not whole (%lld different "
                                 "ones, from %.6g to %.6g), as targets of a regression are; %s",
                                 path, column, (long long)classes, low, high, way);
    if (classes <= FEW || classes * (numbers && !close ? 4 : 2) <= samples) return WICK_OK;
    if (numbers)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: \"%.100s\" is to be the class, and has %lld different numbers in %lld rows, from "
                                 "%.6g to %.6g, as targets of a regression have; %s",
                                 path, column, (long long)classes, (long long)samples, low, high, way);
    return wick_context_fail(ctx, WICK_ERR_FORMAT,
                             "%s: \"%.100s\" is to be the class, and has %lld different texts in %lld rows, as names "
                             "have: --label names the column that is the class",
                             path, column, (long long)classes, (long long)samples);
}

/* The name of the column that is the class. */
static wick_status find_label(wick_context *ctx, const char *path, wick_csv_options form, const char *label,
                              char **name) {
    wick_csv *csv;
    form.skip = "*"; /* its first line alone counts */
    const wick_status status = wick_csv_read(ctx, path, &form, &csv);
    if (status != WICK_OK) return status;
    int found = -1;
    for (int c = wick_csv_columns(csv) - 1; c >= 0; c--) {
        const char *column = wick_csv_column_at(csv, c)->name;
        if (source_is_label(column, label) || (found < 0 && *column))
            found = c; /* the last one has a name: lines may end with a separator */
    }
    *name = strdup(label && *label ? label : found >= 0 ? wick_csv_column_at(csv, found)->name : "");
    const int columns = wick_csv_columns(csv);
    wick_csv_free(&csv);
    if (!*name) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (columns > 1 || (label && *label)) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_FORMAT,
                             "%s: has one column, \"%.100s\": if its cells are separated by something else than a "
                             "comma, a semicolon, a tab or |, --separator says it",
                             path, *name);
}

static const wick_csv_column *column_of(const wick_csv *csv, const char *name) {
    for (int c = 0; c < wick_csv_columns(csv); c++)
        if (strcmp(wick_csv_column_at(csv, c)->name, name) == 0) return wick_csv_column_at(csv, c);
    return NULL;
}

/* Which rows of a table that is split are for training, as take_part will have it. */
static wick_status training_rows(wick_context *ctx, const wick_dataset *set, bool *learned) {
    const int64_t n = wick_dataset_count(set);
    int64_t *rows = malloc((size_t)n * sizeof *rows), *labels = malloc((size_t)n * sizeof *labels);
    const wick_spec fields[] = {{"row", WICK_I64, 0, {0}}, {"label", WICK_I64, 0, {0}}};
    wick_dataset *numbered = NULL, *parts[2] = {NULL, NULL};
    wick_status status =
        rows && labels ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory: %lld rows", (long long)n);
    for (int64_t i = 0; status == WICK_OK && i < n; i++) rows[i] = i, labels[i] = wick_dataset_label(set, i);
    if (status == WICK_OK)
        status = wick_dataset_of_arrays(ctx, n, 2, fields, (const void *const[]){rows, labels}, 1,
                                        wick_dataset_classes(set), &numbered);
    if (status == WICK_OK) status = source_split(ctx, numbered, parts);
    for (int64_t i = 0; status == WICK_OK && i < wick_dataset_count(parts[0]); i++) {
        int64_t row;
        status = wick_dataset_get(parts[0], i, (void *[WICK_DATASET_FIELDS]){&row}, NULL);
        if (status == WICK_OK) learned[row] = true;
    }
    for (int k = 0; k < 2; k++) wick_dataset_free(&parts[k]);
    wick_dataset_free(&numbered);
    free(rows);
    free(labels);
    return status;
}

/* A table that is learned from. What it is coded by follows from the rows for training alone. */
static wick_status learn_table(wick_context *ctx, const char *path, const source_options *so, wick_csv_options form,
                               bool parted, owned *o) {
    char *name = NULL;
    wick_status status = find_label(ctx, path, form, so->label, &name);
    form.label = name;
    form.skip = so->skip && *so->skip ? so->skip : NULL;
    form.one_hot = true;
    form.missing = WICK_CSV_MEAN;
    if (status == WICK_OK) status = wick_csv_read(ctx, path, &form, &o->csv);
    const wick_csv_column *label = status == WICK_OK ? column_of(o->csv, name) : NULL;
    if (label)
        status = source_check_classes(ctx, path, name, wick_csv_rows(o->csv), label->categories,
                                      label->type == WICK_CSV_NUMBER, label->whole, label->min, label->max);
    if (status == WICK_OK && parted && wick_csv_rows(o->csv)) {
        bool *learned = calloc((size_t)wick_csv_rows(o->csv), sizeof *learned);
        if (!learned) status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
        if (status == WICK_OK) status = wick_dataset_of_csv(ctx, o->csv, &o->set);
        if (status == WICK_OK) status = training_rows(ctx, o->set, learned);
        form.learned = learned;
        form.n_learned = wick_csv_rows(o->csv);
        wick_dataset_free(&o->set);
        wick_csv_free(&o->csv);
        if (status == WICK_OK) status = wick_csv_read(ctx, path, &form, &o->csv);
        free(learned);
    }
    free(name);
    return status;
}

wick_status source_open_table(wick_context *ctx, const char *path, const source_options *so, bool parted, owned *o) {
    wick_csv_options form = {.separator = so->separator            ? so->separator
                                          : source_is_tabbed(path) ? '\t'
                                                                   : 0,
                             .decimal = so->decimal,
                             .no_header = so->no_header};
    wick_status status = WICK_OK;
    if (so->coding && strncmp(so->coding, "tensors", 7) == 0)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH,
                                 "%s: is a table, and the model learned from tensors, whose columns have no names",
                                 path);
    if (so->coding) {
        form.coding = so->coding;
        form.unlabelled = so->unlabelled;
        status = wick_csv_read(ctx, path, &form, &o->csv);
    } else status = learn_table(ctx, path, so, form, parted, o);
    if (status != WICK_OK) return status;
    const char *note;
    for (int i = 0; !(parted && so->told) && (note = wick_csv_note(o->csv, i)); i++) talk("%s: %s", path, note);
    if (!(o->coding = strdup(wick_csv_coding(o->csv))))
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    return wick_dataset_of_csv(ctx, o->csv, &o->set);
}

