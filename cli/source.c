#include "source.h"

#include "paths.h"

#include "wick/datasets.h"
#include "wick/weights.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MOST_SHARDS = 4096 };

/* A data set with all that it is made of; field 1 is the label. */
typedef struct owned {
    wick_dataset *set, *whole, *rest; /* set is asked; the others it is made of */
    wick_csv *csv;
    int label;
} owned;

static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const owned *o = user;
    void *to[WICK_DATASET_FIELDS] = {NULL};
    to[0] = out[0];
    to[o->label] = out[1];
    return wick_dataset_get(o->set, i, to, fault);
}
static const void *at(void *user, int64_t i, int field) { return field ? NULL : wick_dataset_at(((const owned *)user)->set, i, 0); }
static int64_t length(void *user, int64_t i, int field) { return wick_dataset_length(((const owned *)user)->set, i, field); }
static int64_t label_of(void *user, int64_t i) { return wick_dataset_label(((const owned *)user)->set, i); }
static const char *class_name(void *user, int64_t k) { return wick_dataset_class_name(((const owned *)user)->set, k); }
static void drop(owned *o) {
    wick_dataset_free(&o->set);
    wick_dataset_free(&o->rest);
    wick_dataset_free(&o->whole);
    wick_csv_free(&o->csv);
}
static void release(void *user) {
    drop(user);
    free(user);
}

/* Takes *o over where it succeeds. */
static wick_status wrap(wick_context *ctx, const owned *o, const char *path, wick_dataset **out) {
    int label = 0;
    for (int k = wick_dataset_fields(o->set) - 1; k > 0; k--) {
        const wick_spec *f = wick_dataset_field(o->set, k);
        if (f->dtype == WICK_I64 && f->rank == 0) label = k;
    }
    for (int k = 0; k < wick_dataset_fields(o->set) && !label; k++) /* fields of shards have their endings' names */
        if (strchr(wick_dataset_field(o->set, k)->name, '.'))
            return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                     "%s: its samples have no .cls but \"KEY.%s\": a sample's key ends at the first dot of a name, as in WebDataset; name files KEY.png and KEY.cls, without other dots", path,
                                     wick_dataset_field(o->set, k)->name);
    if (!label || !wick_dataset_classes(o->set))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: its samples have no classes: files lie in folders that name them, tables and tensors have a --label", path);
    owned *copy = malloc(sizeof *copy);
    if (!copy) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    *copy = *o;
    copy->label = label;
    const wick_dataset_source source = {.count = wick_dataset_count(o->set), .n_fields = 2, .fields = {*wick_dataset_field(o->set, 0), {"label", WICK_I64, 0, {0}}}, .get = get, .at = at, .length = length,
                                        .label = label_of, .classes = wick_dataset_classes(o->set), .class_name = class_name, .rate = wick_dataset_rate(o->set), .note = wick_dataset_note(o->set), .free = release, .user = copy};
    const wick_status status = wick_dataset_new(ctx, &source, out);
    if (status != WICK_OK) free(copy);
    return status;
}

static bool ends(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcasecmp(name + n - m, end) == 0;
}

static bool is_label(const char *name, const char *label) {
    static const char *const usual[] = {"label", "labels", "class", "target", "y"};
    if (label && *label) return strcmp(name, label) == 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcasecmp(name, usual[i]) == 0) return true;
    return false;
}

/* ---- tables ----------------------------------------------------------------------------------------------------------------------------------- */

static wick_status open_table(wick_context *ctx, const char *path, const char *label, owned *o) {
    const char separator = ends(path, ".tsv") ? '\t' : 0;
    wick_csv *csv;
    wick_status status = wick_csv_read(ctx, path, &(wick_csv_options){.separator = separator}, &csv);
    if (status != WICK_OK) return status;
    int found = wick_csv_columns(csv) - 1;
    for (int c = wick_csv_columns(csv) - 1; c >= 0; c--)
        if (is_label(wick_csv_column_at(csv, c)->name, label)) found = c;
    char *name = found >= 0 ? strdup(label && *label ? label : wick_csv_column_at(csv, found)->name) : NULL;
    wick_csv_free(&csv);
    if (!name) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no column", path);
    status = wick_csv_read(ctx, path, &(wick_csv_options){.separator = separator, .label = name, .one_hot = true, .missing = WICK_CSV_MEAN}, &o->csv);
    free(name);
    return status == WICK_OK ? wick_dataset_of_csv(ctx, o->csv, &o->set) : status;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------------------------------- */

static wick_status take_columns(wick_context *ctx, const wick_weights *file, const char *path, const char *label, owned *o) {
    static const char *const usual[] = {"x", "data", "images", "features", "audio"};
    int y = -1, x = -1, others = 0;
    const int n = wick_weights_count(file);
    for (int i = 0; i < n; i++)
        if (is_label(wick_weights_at(file, i).name, label)) y = i;
    for (int i = 0; i < n; i++) {
        bool named = false;
        for (size_t k = 0; k < sizeof usual / sizeof *usual; k++) named |= strcasecmp(wick_weights_at(file, i).name, usual[k]) == 0;
        if (i == y) continue;
        others++;
        if (x < 0 || named) x = i;
    }
    if (y < 0) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no tensor \"%s\": --label names the one that is the class", path, label && *label ? label : "label");
    if (x < 0) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no tensor beside \"%s\"", path, wick_weights_at(file, y).name);
    bool named = others == 1;
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++) named |= strcasecmp(wick_weights_at(file, x).name, usual[k]) == 0;
    if (!named) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has %d tensors beside \"%s\", none of them called x, data, images, features or audio", path, others, wick_weights_at(file, y).name);
    wick_tensor *tensors[2] = {wick_weights_tensor(file, x), wick_cast(wick_weights_tensor(file, y), WICK_I64)};
    if (wick_weights_at(file, x).dtype != WICK_U8) tensors[0] = wick_cast(tensors[0], WICK_F32);
    const void *data;
    const wick_status status = wick_data(tensors[1], &data);
    if (status != WICK_OK) return status;
    int64_t classes = 1;
    for (int64_t i = 0; i < wick_tensor_count(tensors[1]); i++) classes = ((const int64_t *)data)[i] >= classes ? ((const int64_t *)data)[i] + 1 : classes;
    return wick_dataset_of_tensors(ctx, 2, (const char *const[]){wick_weights_at(file, x).name, "label"}, tensors, 1, classes, &o->set);
}

static wick_status open_tensors(wick_context *ctx, const char *path, const char *label, owned *o) {
    wick_weights *file;
    wick_status status = wick_weights_open(ctx, path, &file);
    if (status != WICK_OK) return status;
    wick_scope *scope = wick_scope_open(ctx);
    status = scope ? take_columns(ctx, file, path, label, o) : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (scope) wick_scope_close(&scope);
    wick_weights_free(&file);
    return status;
}

/* ---- shards ----------------------------------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* SPLIT-*.tar and so on of a folder, in the order of their names; how many, -1: out of memory. */
static int list_shards(const char *folder, const char *split, char **paths) {
    static const char *const kinds[] = {".tar", ".tar.gz", ".tgz", ".tar.zst"};
    const size_t n = strlen(split);
    int count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && count < MOST_SHARDS; e = readdir(dir)) {
        bool is = strncmp(e->d_name, split, n) == 0 && e->d_name[n] == '-', packed = false;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) packed |= ends(e->d_name, kinds[k]);
        if (!is || !packed) continue;
        if (!(paths[count] = path_join(folder, e->d_name))) {
            while (count) free(paths[--count]);
            closedir(dir);
            return -1;
        }
        count++;
    }
    if (dir) closedir(dir);
    if (count) qsort(paths, (size_t)count, sizeof *paths, by_name);
    return count;
}

static wick_status open_shards(wick_context *ctx, const char *folder, const char *split, owned *o, bool *found) {
    char **paths = calloc(MOST_SHARDS, sizeof *paths);
    int n = paths ? list_shards(folder, split, paths) : -1;
    *found = n != 0;
    wick_status status = n < 0 ? wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", folder) : WICK_OK;
    if (n > 0) status = wick_dataset_of_shards(ctx, n, (const char *const *)paths, &o->set);
    while (n > 0) free(paths[--n]);
    free(paths);
    return status;
}

/* ---- any of them ------------------------------------------------------------------------------------------------------------------------------ */

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* data itself, or SPLIT.csv and so on of the folder; malloc'ed, NULL: none. */
static char *find_file(const char *data, const char *split) {
    static const char *const kinds[] = {".csv", ".tsv", ".npz", ".safetensors"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (ends(data, kinds[k]) && is_file(data)) return strdup(data);
        char name[64];
        snprintf(name, sizeof name, "%s%s", split, kinds[k]);
        char *path = path_join(data, name);
        if (path && is_file(path)) return path;
        free(path);
    }
    return NULL;
}

/* "test" is a fifth, "train" the rest. */
static wick_status take_part(wick_context *ctx, const char *split, owned *o) {
    wick_dataset *parts[2];
    const wick_status status = wick_dataset_split(ctx, o->set, 2, (const double[]){0.8, 0.2}, 1, parts);
    if (status != WICK_OK) return status;
    const int which = strcmp(split, "test") == 0;
    o->whole = o->set;
    o->set = parts[which];
    o->rest = parts[!which];
    return WICK_OK;
}

bool source_is_audio(const wick_dataset *dataset) {
    const wick_spec *f = wick_dataset_field(dataset, 0);
    return f->dtype == WICK_F32 && f->rank == 1 && f->dims[0] < 0;
}

wick_status source_open(wick_context *ctx, const char *data, const char *split, const char *label, int64_t rate, wick_dataset **out) {
    owned o = {0};
    bool found = false;
    *out = NULL;
    char *file = find_file(data, split);
    wick_status status = WICK_OK;
    if (file) {
        status = ends(file, ".csv") || ends(file, ".tsv") ? open_table(ctx, file, label, &o) : open_tensors(ctx, file, label, &o);
        if (status == WICK_OK && strcmp(file, data) == 0) status = take_part(ctx, split, &o);
    } else {
        status = path_is_folder(data) ? open_shards(ctx, data, split, &o, &found) : WICK_OK;
    }
    free(file);
    if (status == WICK_OK && !o.set) {
        status = wick_dataset_open(ctx, data, split, out);
        if (status == WICK_OK) return WICK_OK;
        char why[1024];
        snprintf(why, sizeof why, "%s", wick_context_error(ctx));
        const wick_status first = status;
        const wick_files_options options = {.split = split, .rate = rate};
        char *own = path_join(data, split), packed[32];
        snprintf(packed, sizeof packed, "%s.wrec", split);
        char *records = path_join(data, packed);
        /* A folder without splits would be taken as a whole, for each of them. */
        const bool there = (own && path_is_folder(own)) || (records && is_file(records));
        free(own), free(records);
        status = there ? wick_dataset_of_files(ctx, data, &options, &o.set) : first;
        /* What is wrong with pictures in memory is wrong. */
        if (first != WICK_ERR_IO && (status != WICK_OK || wick_dataset_field(o.set, 0)->dtype == WICK_U8)) drop(&o), status = first;
        if (status != WICK_OK && status == first) return wick_context_fail(ctx, first, "%s", why);
    }
    if (status == WICK_OK && rate && source_is_audio(o.set) && wick_dataset_rate(o.set) != rate)
        status = wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "%s: its recordings are not of %lld samples a second, and in shards they are not resampled", data, (long long)rate);
    if (status == WICK_OK) status = wrap(ctx, &o, data, out);
    if (status != WICK_OK) drop(&o);
    return status;
}
