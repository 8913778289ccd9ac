/* Tables: what a network learns from, and by what other tables are coded as that was. */
#include "source_kinds.h"
#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 20 };

/* Too many for classes, of so many samples: more than a half of them, or a fourth where they are numbers that leave
 * gaps. */
static bool are_many(const class_look *l, bool gaps) {
    return l->classes > FEW && l->classes * (gaps ? 4 : 2) > l->samples;
}

bool source_are_targets(const class_look *l) {
    const bool close = l->high - l->low + 1 <= (double)l->classes &&
                       (l->low == 0 || l->low == 1); /* 0, 1, 2 ...: numbers of classes */
    return l->numbers && (!l->whole || are_many(l, !close));
}

void source_tell_targets(const char *path, const char *column, const class_look *l) {
    log_note(
        "%s: \"%.100s\" has %s (%lld different ones in %lld rows, from %.6g to %.6g): it is learned as a number, by "
        "regression; --task classify makes a class of each",
        path, column, l->whole ? "almost as many numbers as a measurement has" : "numbers that are not whole",
        (long long)l->classes, (long long)l->samples, l->low, l->high);
}

wick_status source_check_names(wick_context *ctx, const char *path, const char *column, const class_look *l) {
    if (l->numbers || !are_many(l, false)) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_FORMAT,
                             "%s: \"%.100s\" is to be the class, and has %lld different texts in %lld rows, as names "
                             "have: --label names the column that is the class",
                             path, column, (long long)l->classes, (long long)l->samples);
}

wick_status source_check_targets(wick_context *ctx, const char *path, const char *const *names, const float *targets,
                                 int64_t first, int64_t n, int64_t k, bool labels) {
    for (int64_t i = 0; i < n * k; i++) {
        const float v = targets[i];
        if (!isfinite(v))
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%.100s\": row %lld is %s, and it is to be learned",
                                     path, names[i % k], (long long)(first + i / k),
                                     isnan(v) ? "NaN" : "more than 32 bits can hold");
        if (labels && v != 0 && v != 1)
            return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                     "%s: \"%.100s\": row %lld is %.9g, and a label is 0 or 1: there, or not", path,
                                     names[i % k], (long long)(first + i / k), (double)v);
    }
    return WICK_OK;
}

/* The name of the column that is the class; "": none is, which may be where it is not needed. files: the column that
 * has names of pictures, which is none; "": there is none. */
static wick_status find_label(wick_context *ctx, const char *path, wick_csv_options form, const char *label,
                              bool needed, const char *files, char **name) {
    wick_csv *csv;
    form.skip = "*"; /* its first line alone counts */
    const wick_status status = wick_csv_read(ctx, path, &form, &csv);
    if (status != WICK_OK) return status;
    int found = -1;
    for (int c = wick_csv_columns(csv) - 1; c >= 0; c--) {
        const char *column = wick_csv_column_at(csv, c)->name;
        if (source_is_label(column, label) || (needed && found < 0 && *column && strcmp(column, files) != 0))
            found = c; /* the last one has a name: lines may end with a separator */
    }
    *name = strdup(label && *label ? label : found >= 0 ? wick_csv_column_at(csv, found)->name : "");
    const int columns = wick_csv_columns(csv);
    wick_csv_free(&csv);
    if (!*name) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (!needed || columns > 1 || (label && *label)) return WICK_OK;
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
static wick_status training_rows(wick_context *ctx, const wick_dataset *set, const uint64_t *hashes, task_kind task,
                                 bool *learned) {
    const int64_t n = wick_dataset_count(set);
    int64_t *rows = malloc((size_t)n * sizeof *rows), *labels = malloc((size_t)n * sizeof *labels);
    const wick_spec fields[] = {{"row", WICK_I64, 0, {0}}, {"label", WICK_I64, 0, {0}}};
    wick_dataset *numbered = NULL, *parts[2] = {NULL, NULL};
    wick_status status =
        rows && labels ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory: %lld rows", (long long)n);
    for (int64_t i = 0; status == WICK_OK && i < n; i++) rows[i] = i, labels[i] = wick_dataset_label(set, i);
    if (status == WICK_OK)
        status = wick_dataset_of_arrays(ctx, n, 2, fields, (const void *const[]){rows, labels},
                                        wick_dataset_classes(set) ? 1 : -1, wick_dataset_classes(set), &numbered);
    if (status == WICK_OK) status = source_split_rows(ctx, hashes, numbered, task, parts);
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

/* Reads it with `name` as the class, or as what is to be learned where that is a number. */
static wick_status read_table(wick_context *ctx, const char *path, const source_options *so, wick_csv_options *form,
                              const char *name, owned *o) {
    const bool numbers =
        so->window || so->task == TASK_REGRESS || so->task == TASK_MULTI_LABEL || (so->target && *so->target);
    form->target = !numbers ? NULL : so->target && *so->target ? so->target : name;
    form->label = numbers || !*name ? NULL : name;
    wick_status status = wick_csv_read(ctx, path, form, &o->csv);
    const wick_csv_column *label = status == WICK_OK && form->label ? column_of(o->csv, name) : NULL;
    if (!label || so->task == TASK_AUTOENCODE || !wick_csv_rows(o->csv)) return status;
    const class_look look = {wick_csv_rows(o->csv), label->categories, label->type == WICK_CSV_NUMBER,
                             label->whole,          label->min,        label->max};
    status = source_check_names(ctx, path, name, &look);
    if (status != WICK_OK || so->task != TASK_AUTO || !source_are_targets(&look)) return status;
    source_tell_targets(path, name, &look);
    wick_csv_free(&o->csv);
    form->target = name;
    form->label = NULL;
    return wick_csv_read(ctx, path, form, &o->csv);
}

/* A table that is learned from. What it is coded by follows from the rows for training alone. */
static wick_status learn_table(wick_context *ctx, const char *path, const source_options *so, wick_csv_options form,
                               const char *files, bool parted, owned *o) {
    char *name = NULL;
    wick_status status =
        so->task == TASK_HEADS /* which are read by themselves */
            ? (name = strdup("")) ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path)
            : find_label(ctx, path, form, so->label, so->task != TASK_AUTOENCODE, files, &name);
    form.skip = *files ? "*" : so->skip && *so->skip ? so->skip : NULL; /* pictures are all that is looked at */
    form.one_hot = true;
    form.missing = WICK_CSV_MEAN;
    if (status == WICK_OK) status = read_table(ctx, path, so, &form, name, o);
    if (status == WICK_OK && parted && wick_csv_rows(o->csv)) {
        bool *learned = calloc((size_t)wick_csv_rows(o->csv), sizeof *learned);
        if (!learned) status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
        if (status == WICK_OK) status = wick_dataset_of_csv(ctx, o->csv, &o->set);
        if (status == WICK_OK) status = source_take_hashes(ctx, path, o->csv, NULL, o);
        if (status == WICK_OK && !so->window) status = training_rows(ctx, o->set, o->hashes, so->task, learned);
        for (int64_t i = 0; so->window && i < wick_csv_rows(o->csv) - source_test_rows(wick_csv_rows(o->csv)); i++)
            learned[i] = true;
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

/* Names of the targets, and what they are. */
static wick_status take_targets(wick_context *ctx, const char *path, const source_options *so, owned *o) {
    const char **names = malloc((size_t)wick_csv_columns(o->csv) * sizeof *names);
    int64_t k = 0;
    if (!names) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    for (int c = 0; c < wick_csv_columns(o->csv); c++) {
        const wick_csv_column *column = wick_csv_column_at(o->csv, c);
        if (column->target) names[k++] = column->name;
    }
    o->targets = k > 0;
    wick_status status = k ? source_keep_names(ctx, path, names, k, o) : WICK_OK;
    float *y = malloc((size_t)(k + 1) * sizeof *y);
    const int fields = wick_dataset_fields(o->set);
    for (int64_t i = 0; status == WICK_OK && k && fields > 1 && i < wick_dataset_count(o->set); i++) {
        if (!y)
            status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
        else
            status = wick_dataset_get(o->set, i, (void *[WICK_DATASET_FIELDS]){NULL, y}, NULL);
        if (status == WICK_OK && so->task == TASK_MULTI_LABEL && !so->unlabelled)
            status = source_check_targets(ctx, path, names, y, i, 1, k, true);
    }
    free(y);
    free(names);
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
    char files[64] = "";
    const bool has = !so->window && (so->coding ? so->pictures : true) && source_has_pictures(ctx, path, form, files);
    if (!has) files[0] = '\0';
    if (so->coding && so->pictures && !has)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: has no column with names of pictures beside it", path);
    const wick_csv_options plain = form;
    if (so->coding) {
        form.coding = so->coding;
        form.unlabelled = so->unlabelled;
        status = wick_csv_read(ctx, path, &form, &o->csv);
    } else
        status = learn_table(ctx, path, so, form, files, parted, o);
    if (status != WICK_OK) return status;
    if (!wick_csv_rows(o->csv))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has a line of names, and no row below it", path);
    const char *note;
    for (int i = 0; !(parted && so->told) && (note = wick_csv_note(o->csv, i)); i++) log_note("%s: %s", path, note);
    if (!(o->coding = strdup(wick_csv_coding(o->csv))))
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    status = wick_dataset_of_csv(ctx, o->csv, &o->set);
    if (status == WICK_OK) status = take_targets(ctx, path, so, o);
    if (status == WICK_OK && !o->hashes) status = source_take_hashes(ctx, path, o->csv, so->coding, o);
    if (status != WICK_OK || !has) return status;
    if (!so->coding)
        log_note("%s: \"%s\" names pictures, which are what is learned from; of the other columns only what is learned "
                 "counts",
                 path, files);
    return source_make_pictures(ctx, path, plain, files, o);
}
