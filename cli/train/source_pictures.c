/* Tables of pictures: a column names files beside the table, which are what is learned from; the other columns say
 * their class, numbers or labels. */
#include "source_kinds.h"

#include "text_table.h"
#include "../paths.h"
#include "../term/log.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_BYTES_OF_PATH = 4096 };

typedef struct pictures {
    const wick_dataset *rows; /* of the table */
    uint8_t *pixels;          /* [rows, channels, height, width] */
    size_t bytes;             /* of one */
    int second;               /* the field of rows that is the class or the targets; 0: there is none */
} pictures;

static const void *at(void *user, int64_t i, int field) {
    const pictures *p = user;
    return field ? wick_dataset_at(p->rows, i, p->second) : p->pixels + (size_t)i * p->bytes;
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const pictures *p = user;
    void *to[WICK_DATASET_FIELDS] = {NULL};
    if (out[0]) memcpy(out[0], at(user, i, 0), p->bytes);
    if (!p->second) return WICK_OK;
    to[p->second] = out[1];
    return wick_dataset_get(p->rows, i, to, fault);
}
static int64_t label(void *user, int64_t i) { return wick_dataset_label(((const pictures *)user)->rows, i); }
static const char *class_name(void *user, int64_t k) {
    return wick_dataset_class_name(((const pictures *)user)->rows, k);
}
static void drop(void *user) {
    free(((pictures *)user)->pixels);
    free(user);
}

wick_status source_read_sized(wick_context *ctx, const char *file, int64_t channels, int64_t size[2],
                              wick_image **out) {
    const wick_pictures how = wick_context_pictures(ctx);
    wick_image *resized;
    wick_status status = wick_image_open(ctx, file, channels, out);
    if (status != WICK_OK) return status;
    const int64_t *d = wick_image_dims(*out);
    size[0] = d[1], size[1] = d[2];
    if (!how.height || (d[1] == how.height && d[2] == how.width)) return WICK_OK;
    status = wick_image_resize(ctx, *out, how.height, how.width, &resized);
    wick_image_free(out);
    if (status == WICK_OK) *out = resized;
    return status;
}

wick_status source_read_alike(wick_context *ctx, const char *file, int64_t i, int64_t dims[3], int64_t size[2],
                              wick_image **out) {
    const wick_status status = source_read_sized(ctx, file, i ? dims[0] : 0, size, out);
    if (status != WICK_OK) return status;
    const int64_t *d = wick_image_dims(*out);
    if (!i) memcpy(dims, d, 3 * sizeof *dims);
    if (memcmp(dims, d, 3 * sizeof *dims) == 0) return WICK_OK;
    const int64_t high = d[1], wide = d[2];
    wick_image_free(out);
    return wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: %lld x %lld pixels, and the first picture has %lld x %lld", file,
                             (long long)high, (long long)wide, (long long)dims[1], (long long)dims[2]);
}

static int column_named(const wick_csv *csv, const char *name) {
    for (int c = 0; c < wick_csv_columns(csv); c++)
        if (strcasecmp(wick_csv_column_at(csv, c)->name, name) == 0) return c;
    return -1;
}

/* Reads one column as if it were the class: its texts are the names of files. */
static wick_status read_names(wick_context *ctx, const char *path, wick_csv_options form, const char *column,
                              wick_csv **out) {
    form.label = column;
    form.target = NULL;
    form.coding = NULL;
    form.learned = NULL;
    form.skip = "*";
    return wick_csv_read(ctx, path, &form, out);
}

bool source_has_pictures(wick_context *ctx, const char *path, wick_csv_options form, char column[64]) {
    static const char *const usual[] = {"file", "filename", "file_name", "image", "image_path", "path", "picture"};
    wick_csv *head, *names;
    char first[MOST_BYTES_OF_PATH];
    bool has = false;
    form.label = form.target = form.coding = NULL;
    form.skip = "*";
    if (form.no_header || wick_csv_read(ctx, path, &form, &head) != WICK_OK) return false;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && !has; i++) {
        const int c = column_named(head, usual[i]);
        if (c < 0 || strlen(wick_csv_column_at(head, c)->name) >= 64) continue;
        snprintf(column, 64, "%s", wick_csv_column_at(head, c)->name);
        if (read_names(ctx, path, form, column, &names) != WICK_OK) continue;
        wick_dataset *rows = NULL;
        if (wick_dataset_of_csv(ctx, names, &rows) != WICK_OK) wick_context_clear_error(ctx);
        const char *name =
            rows ? wick_csv_category(names, c, wick_dataset_label(rows, 0)) : NULL; /* of the first row */
        wick_dataset_free(&rows);
        has = name && text_table_place(path, name, first, sizeof first) && path_exists(first);
        wick_csv_free(&names);
    }
    wick_csv_free(&head);
    if (!has) wick_context_clear_error(ctx);
    return has;
}

/* Picture of row i, of the size of the first, or that which the context asks for. */
static wick_status read_picture(wick_context *ctx, const char *path, int64_t row, int64_t rows, const char *file,
                                pictures *p, int64_t dims[3]) {
    const wick_pictures how = wick_context_pictures(ctx);
    wick_image *image, *other;
    wick_status status = wick_image_open(ctx, file, row ? dims[0] : 0, &image);
    if (status != WICK_OK) return status;
    const int64_t *d = wick_image_dims(image);
    if (how.height && (d[1] != how.height || d[2] != how.width)) {
        status = wick_image_resize(ctx, image, how.height, how.width, &other);
        wick_image_free(&image);
        if (status != WICK_OK) return status;
        image = other;
        d = wick_image_dims(image);
    }
    if (!row) {
        memcpy(dims, d, 3 * sizeof *dims);
        p->bytes = (size_t)(d[0] * d[1] * d[2]);
        if (p->bytes > SIZE_MAX / 2 / (size_t)rows || !(p->pixels = malloc(p->bytes * (size_t)rows)))
            status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory: %lld pictures of %zu bytes", path,
                                       (long long)rows, p->bytes);
    } else if (memcmp(dims, d, 3 * sizeof *dims) != 0)
        status = wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: %lld x %lld pixels, and the first picture has %lld x %lld",
                                   file, (long long)d[1], (long long)d[2], (long long)dims[1], (long long)dims[2]);
    if (status == WICK_OK) memcpy(p->pixels + (size_t)row * p->bytes, wick_image_pixels(image, 0), p->bytes);
    wick_image_free(&image);
    return status;
}

wick_status source_make_pictures(wick_context *ctx, const char *path, wick_csv_options form, const char *column,
                                 owned *o) {
    const int64_t n = wick_dataset_count(o->set);
    char file[MOST_BYTES_OF_PATH];
    int64_t dims[3] = {0};
    wick_csv *names;
    wick_dataset *of_names = NULL, *made = NULL;
    pictures *p = calloc(1, sizeof *p);
    if (!p) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    p->rows = o->set;
    p->second = wick_dataset_fields(o->set) > 1;
    wick_status status = read_names(ctx, path, form, column, &names);
    if (status != WICK_OK) return drop(p), status;
    const int c = column_named(names, column);
    status = wick_dataset_of_csv(ctx, names, &of_names);
    for (int64_t i = 0; status == WICK_OK && i < n; i++) {
        const char *name = wick_csv_category(names, c, wick_dataset_label(of_names, i));
        if (!name || !text_table_place(path, name, file, sizeof file))
            status = wick_context_fail(ctx, WICK_ERR_FORMAT,
                                       "%s: row %lld: \"%s\" is \"%.200s\", which is no file beside the table", path,
                                       (long long)i, column, name ? name : "");
        else
            status = read_picture(ctx, path, i, n, file, p, dims);
    }
    wick_dataset_free(&of_names);
    wick_csv_free(&names);
    if (status == WICK_OK && !n) status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no rows", path);
    wick_dataset_source source = {.count = n,
                                  .n_fields = 1 + (p->second > 0),
                                  .fields = {{"image", WICK_U8, 3, {dims[0], dims[1], dims[2]}}},
                                  .get = get,
                                  .at = at,
                                  .free = drop,
                                  .user = p};
    if (p->second) source.fields[1] = *wick_dataset_field(o->set, 1);
    source.classes = wick_dataset_classes(o->set);
    if (source.classes) source.label = label, source.class_name = class_name;
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, &made);
    if (status != WICK_OK) return drop(p), status;
    o->base = o->set; /* lives as long as its pictures */
    o->set = made;
    return WICK_OK;
}
