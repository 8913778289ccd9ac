/* wick data info, head, stats and verify of a table or of tensors: what is in it, as wick train would read it. */
#include "data.h"
#include "../onnx/ports.h"
#include "../train/source.h"
#include "../term/log.h"

#include "wick/datasets.h"
#include "wick/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAMED = 12 /* categories that are shown */ };

char *data_find_table(const char *path, const char *split) {
    const size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".npy") == 0 ? strdup(path) : source_find_file(path, split);
}
static bool is_csv(const char *path) {
    const size_t n = strlen(path);
    return (n > 4 && (strcasecmp(path + n - 4, ".csv") == 0 || strcasecmp(path + n - 4, ".tsv") == 0)) ||
           source_is_relation(path);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* As many as tell the lowest from the highest by some. */
static int digits_of(const wick_csv_column *c) {
    enum { USUAL = 6, MOST = 17 };
    const double most = fmax(fabs(c->min), fabs(c->max)), apart = c->max - c->min;
    return apart > 0 ? (int)fmin(MOST, fmax(USUAL, ceil(log10(most / apart)) + 2)) : USUAL;
}

static void column_text(const wick_csv *csv, int k) {
    const wick_csv_column *c = wick_csv_column_at(csv, k);
    log_print("  %-24s ", c->name);
    if (c->type == WICK_CSV_CATEGORY) {
        log_print("%lld categor%s: ", (long long)c->categories, c->categories == 1 ? "y" : "ies");
        for (int64_t i = 0; i < c->categories && i < NAMED; i++)
            log_print("%s%s", i ? ", " : "", wick_csv_category(csv, k, i));
        if (c->categories > NAMED) log_print(", ...");
    } else if (isnan(c->min)) log_print("no value");
    else
        log_print("%s %.*g to %.*g, mean %.*g", c->whole ? "whole numbers" : "numbers", digits_of(c), c->min,
                  digits_of(c), c->max, digits_of(c), c->mean);
    if (c->missing) log_print("; %lld missing", (long long)c->missing);
    if (c->odd) log_print("; %lld no number", (long long)c->odd);
    log_print("\n");
}

static void column_json(json *j, const wick_csv *csv, int k) {
    const wick_csv_column *c = wick_csv_column_at(csv, k);
    json_open(j, NULL, '{');
    json_text(j, "name", c->name);
    json_text(j, "type", c->type == WICK_CSV_CATEGORY ? "categories" : "numbers");
    json_integer(j, "missing", c->missing);
    json_integer(j, "no_number", c->odd);
    if (c->type == WICK_CSV_CATEGORY) {
        json_open(j, "categories", '[');
        for (int64_t i = 0; i < c->categories; i++) json_text(j, NULL, wick_csv_category(csv, k, i));
        json_close(j, ']');
    } else {
        json_real(j, "min", c->min, 9);
        json_real(j, "max", c->max, 9);
        json_real(j, "mean", c->mean, 9);
        json_bool(j, "whole", c->whole);
    }
    json_close(j, '}');
}

static void table_info(const data_job *d, const wick_csv *csv) {
    const int n = wick_csv_columns(csv);
    if (!d->o->json) {
        log_print("%s\n", d->path);
        log_print("  a table of %lld row%s and %d column%s\n", (long long)wick_csv_rows(csv),
                   plural(wick_csv_rows(csv)), n, plural(n));
        for (int k = 0; k < n; k++) column_text(csv, k);
        return;
    }
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "path", d->path);
    json_text(&j, "form", "table");
    json_integer(&j, "rows", wick_csv_rows(csv));
    json_open(&j, "columns", '[');
    for (int k = 0; k < n; k++) column_json(&j, csv, k);
    json_close(&j, ']');
    json_open(&j, "notes", '[');
    for (int i = 0; wick_csv_note(csv, i); i++) json_text(&j, NULL, wick_csv_note(csv, i));
    json_close(&j, ']');
    log_json_close(&j);
}

/* Value k of a row. A category is its number, -1 where it is missing. */
static void value_text(const wick_csv *csv, int k, float v) {
    const wick_csv_column *c = wick_csv_column_at(csv, k);
    const char *category = c->type == WICK_CSV_CATEGORY && v >= 0 ? wick_csv_category(csv, k, (int64_t)v) : NULL;
    if (category) log_print("%s", category);
    else if (c->type == WICK_CSV_CATEGORY || isnan(v)) log_print("(missing)");
    else log_print("%.7g", (double)v);
}
static void value_json(json *j, const wick_csv *csv, int k, float v) {
    const wick_csv_column *c = wick_csv_column_at(csv, k);
    if (c->type == WICK_CSV_CATEGORY) json_text(j, c->name, v >= 0 ? wick_csv_category(csv, k, (int64_t)v) : NULL);
    else json_real(j, c->name, (double)v, 7);
}

static int table_head(const data_job *d, const wick_csv *csv) {
    const int64_t rows = wick_csv_rows(csv), from = d->o->of_data.from,
                  last = d->o->of_data.count < rows - from ? from + d->o->of_data.count : rows;
    wick_dataset *set;
    if (from >= rows && rows)
        return log_fail(CLI_USAGE, "--from %lld: %s has %lld rows, counted from 0", (long long)from, d->path,
                         (long long)rows);
    const wick_status status = wick_dataset_of_csv(d->ctx, csv, &set);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(d->ctx, status));
    json j = {0};
    if (d->o->json) {
        j = log_json_open();
        json_bool(&j, "ok", true);
        json_open(&j, "items", '[');
    }
    for (int64_t i = from; i < last; i++) {
        const float *v = wick_dataset_at(set, i, 0);
        if (d->o->json) json_open(&j, NULL, '{');
        else printf("#%lld", (long long)i);
        for (int k = 0; k < wick_csv_columns(csv); k++) {
            if (d->o->json) value_json(&j, csv, k, v[k]);
            else log_print("%s %s ", k ? "," : "", wick_csv_column_at(csv, k)->name), value_text(csv, k, v[k]);
        }
        if (d->o->json) json_close(&j, '}');
        else printf("\n");
    }
    if (d->o->json) json_close(&j, ']'), log_json_close(&j);
    wick_dataset_free(&set);
    return CLI_OK;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static int tensors_info(const data_job *d, const wick_weights *w) {
    char text[256];
    wick_texts t;
    json j = {0};
    if (d->o->json) {
        j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "path", d->path);
        json_text(&j, "form", "tensors");
        json_open(&j, "tensors", '[');
    } else {
        log_print("%s\n", d->path);
        printf("  tensors, of which wick train takes one for samples and one for their classes\n");
    }
    for (int i = 0; i < wick_weights_count(w); i++) {
        const wick_spec s = wick_weights_at(w, i);
        spec_text(s.dtype, s.rank, s.dims, text, sizeof text);
        if (!d->o->json) log_print("  %-24s %s\n", s.name, text);
        else json_open(&j, NULL, '{'), json_text(&j, "name", s.name), json_text(&j, "type", text), json_close(&j, '}');
    }
    if (d->o->json) json_close(&j, ']'), json_open(&j, "texts", '[');
    for (int i = 0; wick_weights_texts_at(w, i, &t); i++) {
        if (!d->o->json) log_print("  %-24s %lld text%s\n", t.name, (long long)t.count, plural(t.count));
        else
            json_open(&j, NULL, '{'), json_text(&j, "name", t.name), json_integer(&j, "count", t.count),
                json_close(&j, '}');
    }
    if (d->o->json) json_close(&j, ']'), log_json_close(&j);
    return CLI_OK;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static int sound(const data_job *d) {
    if (d->o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "path", d->path);
        log_json_close(&j);
    } else log_print("%s: is sound\n", d->path);
    return CLI_OK;
}

static int look_at_table(data_job *d, const char *action) {
    wick_csv *csv;
    source_options so;
    int code = source_read_options(d->o, &so);
    if (code != CLI_OK) return code;
    const wick_csv_options form = {.separator = so.separator                ? so.separator
                                                : source_is_tabbed(d->path) ? '\t'
                                                                            : 0,
                                   .decimal = so.decimal,
                                   .no_header = so.no_header};
    const wick_status status = wick_csv_read(d->ctx, d->path, &form, &csv);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(d->ctx, status));
    for (int i = 0; wick_csv_note(csv, i); i++) log_note("%s: %s", d->path, wick_csv_note(csv, i));
    if (strcmp(action, "head") == 0) code = table_head(d, csv);
    else if (strcmp(action, "verify") == 0) code = sound(d);
    else table_info(d, csv);
    wick_csv_free(&csv);
    return code;
}

static int look_at_tensors(data_job *d, const char *action) {
    wick_weights *w;
    wick_status status = wick_weights_open(d->ctx, d->path, &w);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(d->ctx, status));
    int code = CLI_OK;
    if (strcmp(action, "verify") == 0) {
        for (int i = 0; i < wick_weights_count(w) && status == WICK_OK; i++) {
            const char *why;
            wick_scope *scope = wick_scope_open(d->ctx);
            status = scope ? wick_tensor_error(wick_weights_tensor(w, i), &why) : WICK_ERR_NOMEM;
            if (status != WICK_OK)
                code = log_fail(log_code(status, CLI_BAD_FILE), "%s", scope ? why : "out of memory");
            if (scope) wick_scope_close(&scope);
        }
        if (code == CLI_OK) code = sound(d);
    } else code = tensors_info(d, w);
    wick_weights_free(&w);
    return code;
}

int data_table(data_job *d, const char *action) {
    const bool csv = is_csv(d->path), head = strcmp(action, "head") == 0;
    const bool known =
        strcmp(action, "info") == 0 || strcmp(action, "stats") == 0 || strcmp(action, "verify") == 0 || (head && csv);
    if (!known)
        return log_fail(CLI_USAGE,
                         "%s is %s, and wick data %s is for files and arrays of a set: info, %sstats and verify look "
                         "into it, and wick train --data learns from it",
                         d->path, csv ? "a table" : "a file of tensors", action, csv ? "head, " : "");
    return csv ? look_at_table(d, action) : look_at_tensors(d, action);
}
