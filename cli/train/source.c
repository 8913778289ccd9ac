#include "source_kinds.h"

#include "class_folders.h"
#include "../paths.h"
#include "../term/log.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MOST_SHARDS = 4096 };

static int64_t label_of(void *user, int64_t i);
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const owned *o = user;
    void *to[WICK_DATASET_FIELDS] = {NULL};
    to[0] = out[0];
    if (o->label) to[o->label] = out[1];
    if (o->size) to[o->size] = out[2];
    const wick_status status = wick_dataset_get(o->set, i, to, fault);
    for (int64_t k = 0; o->targets && !o->label && out[1] && k < o->known; k++) ((float *)out[1])[k] = NAN;
    if (o->targets || o->masks) return status;
    if (out[1] && (!o->label || o->classes)) *(int64_t *)out[1] = label_of(user, i);
    return status;
}
static const void *at(void *user, int64_t i, int field) {
    return field ? NULL : wick_dataset_at(((const owned *)user)->set, i, 0);
}
static int64_t length(void *user, int64_t i, int field) {
    return wick_dataset_length(((const owned *)user)->set, i, field);
}
static int64_t label_of(void *user, int64_t i) {
    const owned *o = user;
    const int64_t label = wick_dataset_label(o->set, i);
    return o->classes && label >= 0 ? o->classes[label] : label;
}
static const char *class_name(void *user, int64_t k) {
    const owned *o = user;
    return o->class_names ? o->class_names[k] : wick_dataset_class_name(o->set, k);
}
void source_drop(owned *o) {
    wick_dataset_free(&o->set);
    wick_dataset_free(&o->rest);
    wick_dataset_free(&o->whole);
    wick_dataset_free(&o->base);
    wick_csv_free(&o->csv);
    free(o->coding);
    free(o->names);
    free(o->class_names);
    free(o->classes);
    free(o->hashes);
}
static void release(void *user) {
    source_drop(user);
    free(user);
}

wick_status source_wrap(wick_context *ctx, const owned *o, const char *path, bool bare, wick_dataset **out) {
    int label = 0;
    const bool tags = source_is_tagged(o->set), boxes = source_is_boxed(o->set), points = source_is_pointed(o->set),
               lines = source_is_lined(o->set),
               masks = tags || boxes || points || lines || source_is_masked(o->set) || source_is_mapped(o->set) ||
                       source_is_paired(o->set);
    int size = 0;
    for (int k = wick_dataset_fields(o->set) - 1; k > 0; k--) {
        const wick_spec *f = wick_dataset_field(o->set, k);
        if ((boxes || points) && strcmp(f->name, "size") == 0) size = k;
        if (masks || o->targets ? strcmp(f->name, tags                       ? "tags"
                                                  : boxes                    ? "boxes"
                                                  : points                   ? "points"
                                                  : lines                    ? "text"
                                                  : source_is_mapped(o->set) ? "map"
                                                  : source_is_paired(o->set) ? "box"
                                                  : masks                    ? "mask"
                                                  : o->headed                ? "heads"
                                                                             : "target") == 0
                                : f->dtype == WICK_I64 && f->rank == 0)
            label = k;
    }
    for (int k = 0; k < wick_dataset_fields(o->set) && !label && !o->csv && !o->coding;
         k++) /* fields of shards have their endings' names */
        if (strchr(wick_dataset_field(o->set, k)->name, '.'))
            return wick_context_fail(
                ctx, WICK_ERR_FORMAT,
                "%s: its samples have no .cls but \"KEY.%s\": a sample's key ends at the first dot of a name, as in "
                "WebDataset; name files KEY.png and KEY.cls, without other dots",
                path, wick_dataset_field(o->set, k)->name);
    if (!bare && !masks && (!label || (!o->targets && !wick_dataset_classes(o->set))))
        return wick_context_fail(
            ctx, WICK_ERR_FORMAT,
            "%s: its samples have no classes: files lie in folders that name them, tables and tensors have a --label",
            path);
    owned *copy = malloc(sizeof *copy);
    if (!copy) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    *copy = *o;
    copy->label = label;
    copy->masks = masks;
    copy->size = size;
    copy->coding = NULL;
    const int64_t classes = o->class_names || o->targets ? o->known : wick_dataset_classes(o->set);
    const wick_dataset_source source = {.count = wick_dataset_count(o->set),
                                        .n_fields = 2 + (size > 0),
                                        .fields = {*wick_dataset_field(o->set, 0),
                                                   masks        ? *wick_dataset_field(o->set, label)
                                                   : o->headed  ? (wick_spec){"heads", WICK_F32, 1, {o->known}}
                                                   : o->targets ? (wick_spec){"target", WICK_F32, 1, {o->known}}
                                                                : (wick_spec){"label", WICK_I64, 0, {0}},
                                                   size ? *wick_dataset_field(o->set, size) : (wick_spec){0}},
                                        .get = get,
                                        .at = at,
                                        .length = length,
                                        .label = label_of,
                                        .classes = classes,
                                        .class_name = class_name,
                                        .rate = wick_dataset_rate(o->set),
                                        .note = wick_dataset_note(o->set),
                                        .free = release,
                                        .user = copy};
    const wick_status status = wick_dataset_new(ctx, &source, out);
    if (status != WICK_OK) free(copy);
    return status;
}

wick_status source_hold_out(wick_context *ctx, const char *data, double share, int64_t gap, bool held,
                            wick_dataset **set) {
    wick_dataset *parts[2], *part;
    wick_status status = source_cut(ctx, *set, share, gap, parts);
    if (status != WICK_OK) return status;
    const wick_spec *second = wick_dataset_field(*set, 1);
    owned o = {
        .set = parts[held], .rest = parts[!held], .targets = second && second->dtype == WICK_F32 && second->rank == 1};
    o.headed = source_is_headed(*set);
    if (o.targets) o.known = wick_dataset_classes(*set);
    o.whole = *set;
    status = source_wrap(ctx, &o, data, true, &part);
    if (status == WICK_OK) return *set = part, WICK_OK;
    o.whole = NULL; /* stays the caller's */
    source_drop(&o);
    return status;
}

/* Whether all targets are 0 or 1, and there are several of each sample. */
static bool are_labels(const wick_dataset *d) {
    const int64_t k = wick_dataset_field(d, 1)->dims[0];
    float *y = k > 1 ? malloc((size_t)k * sizeof *y) : NULL;
    bool are = y != NULL;
    for (int64_t i = 0; are && i < wick_dataset_count(d); i++) {
        are = wick_dataset_get(d, i, (void *[WICK_DATASET_FIELDS]){NULL, y}, NULL) == WICK_OK;
        for (int64_t c = 0; are && c < k; c++) are = y[c] == 0 || y[c] == 1;
    }
    free(y);
    return are;
}

task_kind source_task(const wick_dataset *d, task_kind asked) {
    const wick_spec *second = wick_dataset_field(d, 1);
    if (asked != TASK_AUTO) return asked;
    if (source_is_masked(d)) return TASK_SEGMENT;
    if (source_is_mapped(d)) return TASK_DENSE;
    if (source_is_paired(d)) return TASK_TRACK;
    if (source_is_tagged(d)) return TASK_TAG;
    if (source_is_lined(d)) return TASK_CTC;
    if (source_is_boxed(d)) return TASK_DETECT;
    if (source_is_pointed(d)) return TASK_KEYPOINTS;
    if (!second || second->dtype != WICK_F32) return TASK_CLASSIFY;
    if (source_is_headed(d)) return TASK_HEADS;
    return are_labels(d) ? TASK_MULTI_LABEL : TASK_REGRESS;
}

wick_status source_keep_names(wick_context *ctx, const char *path, const char *const *names, int64_t n, owned *o) {
    size_t bytes = 1, at = 0;
    for (int64_t k = 0; k < n; k++) bytes += strlen(names[k]) + 1;
    o->names = malloc(bytes);
    o->class_names = malloc((size_t)(n + !n) * sizeof *o->class_names);
    if (!o->names || !o->class_names) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    for (int64_t k = 0; k < n; at += strlen(names[k]) + 1, k++) o->class_names[k] = strcpy(o->names + at, names[k]);
    o->known = n;
    return WICK_OK;
}

/* FNV-1a (Fowler, Noll, Vo), and the finalizer of MurmurHash3, which spreads it. */
uint64_t source_hash(const char *name) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

bool source_ends(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcasecmp(name + n - m, end) == 0;
}

bool source_is_label(const char *name, const char *label) {
    static const char *const usual[] = {"label", "labels", "class", "target", "y"};
    if (label && *label) return strcmp(name, label) == 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcasecmp(name, usual[i]) == 0) return true;
    return false;
}

/* As wick_dataset_split into two, as if there were no classes. */
static wick_status split_mixed(wick_context *ctx, const wick_dataset *set, const double shares[2], uint64_t seed,
                               wick_dataset *parts[2]) {
    const int64_t n = wick_dataset_count(set);
    const wick_spec field = {"row", WICK_I64, 0, {0}};
    wick_dataset *rows = NULL, *of[2] = {NULL, NULL};
    int64_t *list = malloc((size_t)(n + !n) * sizeof *list);
    wick_status status = list ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory: %lld", (long long)n);
    for (int64_t i = 0; i < n && list; i++) list[i] = i;
    if (status == WICK_OK)
        status = wick_dataset_of_arrays(ctx, n, 1, &field, (const void *const[]){list}, -1, 0, &rows);
    if (status == WICK_OK) status = wick_dataset_split(ctx, rows, 2, shares, seed, of);
    parts[0] = parts[1] = NULL;
    for (int k = 0; k < 2 && status == WICK_OK; k++) {
        const int64_t m = wick_dataset_count(of[k]);
        int64_t *numbers = malloc((size_t)(m + !m) * sizeof *numbers);
        if (!numbers) status = wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory: %lld", (long long)m);
        for (int64_t i = 0; i < m && status == WICK_OK; i++)
            status = wick_dataset_get(of[k], i, (void *[WICK_DATASET_FIELDS]){&numbers[i]}, NULL);
        if (status == WICK_OK) status = wick_dataset_subset(ctx, set, m, numbers, &parts[k]);
        free(numbers);
    }
    if (status != WICK_OK) wick_dataset_free(&parts[0]);
    for (int k = 0; k < 2; k++) wick_dataset_free(&of[k]);
    wick_dataset_free(&rows);
    free(list);
    return status;
}

/* Classes that have a sample or two each leave nothing to hold out: where they don't matter they are mixed. */
static wick_status split_some(wick_context *ctx, const wick_dataset *set, double share, uint64_t seed, bool mixed,
                              wick_dataset *parts[2]) {
    const double shares[2] = {1 - share, share};
    const wick_status status = wick_dataset_split(ctx, set, 2, shares, seed, parts);
    if (status != WICK_OK || !mixed || wick_dataset_count(parts[1])) return status;
    for (int k = 0; k < 2; k++) wick_dataset_free(&parts[k]);
    return split_mixed(ctx, set, shares, seed, parts);
}

wick_status source_split(wick_context *ctx, const wick_dataset *set, task_kind task, wick_dataset *parts[2]) {
    return split_some(ctx, set, 0.2, 1, task == TASK_AUTOENCODE, parts);
}

wick_status source_cut(wick_context *ctx, wick_dataset *set, double share, int64_t gap, wick_dataset *parts[2]) {
    enum { SEED = 2 }; /* a run's own seed changes no part */
    if (gap >= 0) return source_cut_in_time(ctx, set, share, gap, parts);
    if (gap == SOURCE_BY_CLASS) return source_cut_identities(ctx, set, share, parts);
    return split_some(ctx, set, share, SEED, gap == SOURCE_MIXED, parts);
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* SPLIT-*.tar and so on of a folder, in the order of their names; how many, -1: out of memory. */
static int list_shards(const char *folder, const char *split, char **paths) {
    static const char *const kinds[] = {".tar", ".tar.gz", ".tgz", ".tar.zst"};
    const size_t n = strlen(split);
    int count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && count < MOST_SHARDS; e = readdir(dir)) {
        bool is = strncmp(e->d_name, split, n) == 0 && e->d_name[n] == '-', packed = false;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) packed |= source_ends(e->d_name, kinds[k]);
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

int source_read_options(const cli_options *o, source_options *so) {
    const char *separator = o->table.separator ? o->table.separator : "",
               *decimal = o->table.decimal ? o->table.decimal : "";
    *so = (source_options){.label = o->of_train.label,
                           .target = o->of_train.target,
                           .heads = o->of_train.heads,
                           .rate = o->rate,
                           .skip = o->of_train.skip_columns,
                           .separator = *separator,
                           .no_header = o->table.no_header,
                           .text = o->of_train.text_column,
                           .tokens = o->of_train.tokens,
                           .vocabulary = o->of_train.vocabulary,
                           .length = o->of_train.length,
                           .letterbox = o->of_train.letterbox,
                           .inputs = o->of_train.arrays,
                           .layout = o->layout};
    if (strcmp(separator, "tab") == 0 || strcmp(separator, "\\t") == 0)
        so->separator = '\t';
    else if (*separator && (separator[1] || strchr("\"\r\n", *separator)))
        return log_fail(CLI_USAGE, "--separator '%s' is neither a character nor tab", separator);
    if (strcmp(decimal, "auto") != 0) so->decimal = strcmp(decimal, "comma") == 0 ? ',' : *decimal ? '.' : 0;
    return CLI_OK;
}

/* ---- any of them ------------------------------------------------------------------------------------------------- */

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The one file NAME_TRAIN.ts of a folder, or else .arff, as archives have them, malloc'ed; NULL: none, or several. */
static char *find_relation(const char *data, const char *split) {
    static const char *const kinds[] = {".ts", ".arff"};
    char ending[64], *found = NULL;
    for (int k = 0; k < 2; k++) {
        DIR *dir = opendir(data);
        int n = 0;
        snprintf(ending, sizeof ending, "_%s%s", split, kinds[k]);
        for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
            if (!source_ends(e->d_name, ending)) continue;
            free(found);
            found = path_join(data, e->d_name);
            n++;
        }
        if (dir) closedir(dir);
        if (found && n == 1 && is_file(found)) return found;
        free(found);
        found = NULL;
        if (n > 1) return NULL;
    }
    return NULL;
}

char *source_find_file(const char *data, const char *split) {
    static const char *const kinds[] = {".csv", ".tsv", ".npz", ".safetensors", ".arff", ".ts"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (source_ends(data, kinds[k]) && is_file(data)) return strdup(data);
        char name[64];
        snprintf(name, sizeof name, "%s%s", split, kinds[k]);
        char *path = path_join(data, name);
        if (path && is_file(path)) return path;
        free(path);
    }
    return find_relation(data, split);
}

const char *source_validation_part(wick_context *ctx, const char *data) {
    static const char *const names[] = {"validation", "valid", "val"};
    for (int i = 0; i < 3; i++)
        if (source_boxes_have_part(ctx, data, names[i]) || source_points_have_part(ctx, data, names[i]))
            return names[i];
    if (source_is_file(data)) return source_has_val(ctx, data) || source_text_has_val(ctx, data) ? "val" : NULL;
    for (int i = 0; i < 3; i++) {
        char *folder = path_join(data, names[i]), *file = source_find_file(data, names[i]);
        const bool there = (folder && path_is_folder(folder)) || file;
        free(folder);
        free(file);
        if (there) return names[i];
    }
    return NULL;
}

/* "test" is a fifth, "train" the rest, "all" both. */
static wick_status take_part(wick_context *ctx, const char *split, task_kind task, owned *o) {
    if (strcmp(split, "all") == 0) return WICK_OK;
    if (strcmp(split, "test") != 0 && strcmp(split, "train") != 0)
        return wick_context_fail(ctx, WICK_ERR_IO, "there is no part called %s", split);
    wick_dataset *parts[2];
    const wick_status status = o->hashes ? source_split_rows(ctx, o->hashes, o->set, task, parts)
                                         : source_split(ctx, o->set, task, parts);
    if (status != WICK_OK) return status;
    const int which = strcmp(split, "test") == 0;
    o->whole = o->set;
    o->set = parts[which];
    o->rest = parts[!which];
    return WICK_OK;
}

const char *source_noun(const wick_dataset *dataset) {
    const wick_spec *sample = wick_dataset_field(dataset, 0);
    if (source_is_audio(dataset)) return "recording";
    if (strcmp(sample->name, "window") == 0) return "window";
    return sample->dtype == WICK_U8 ? "image" : sample->rank <= 1 ? "row" : "sample";
}
bool source_is_audio(const wick_dataset *dataset) {
    const wick_spec *f = wick_dataset_field(dataset, 0);
    return f->dtype == WICK_F32 && f->rank == 1 && f->dims[0] < 0;
}

bool source_is_masked(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 1);
    return f && f->dtype == WICK_U8 && f->rank == 2 && strcmp(f->name, "mask") == 0;
}

bool source_is_mapped(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 1);
    return f && f->dtype == WICK_F32 && f->rank == 2 && strcmp(f->name, "map") == 0;
}

bool source_is_tagged(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 1);
    return f && f->dtype == WICK_U8 && f->rank == 1 && strcmp(f->name, "tags") == 0;
}

static bool is_table(const char *path) { return source_ends(path, ".csv") || source_ends(path, ".tsv"); }
bool source_is_relation(const char *path) { return source_ends(path, ".arff") || source_ends(path, ".ts"); }
bool source_is_headed(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 1);
    return f && f->dtype == WICK_F32 && strcmp(f->name, "heads") == 0;
}

bool source_is_tabbed(const char *path) { return source_ends(path, ".tsv"); }
bool source_is_file(const char *data) {
    static const char *const kinds[] = {".csv",   ".tsv", ".npz",  ".safetensors", ".txt",
                                        ".conll", ".iob", ".iob2", ".bio", ".arff", ".ts"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (source_ends(data, kinds[k]) && is_file(data)) return true;
    return false;
}

/* A file of texts that is no table, as it is named or as SPLIT.conll and so on of the folder; malloc'ed, NULL: none. */
static char *find_text(const char *data, const char *split) {
    static const char *const endings[] = {".conll", ".txt", ".iob", ".iob2", ".bio"};
    if (is_file(data)) return strdup(data);
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", split, endings[k]);
        char *path = path_join(data, name);
        if (path && is_file(path)) return path;
        free(path);
    }
    return NULL;
}

/* Of class folders without parts: a fifth of the identities is "test". */
static wick_status take_identities(wick_context *ctx, const char *data, const char *split, const source_options *so,
                                   owned *o) {
    wick_dataset *parts[2];
    const int test = strcmp(split, "test") == 0;
    const wick_status status = source_cut_identities(ctx, o->set, 0.2, parts);
    if (status != WICK_OK) {
        char why[512];
        snprintf(why, sizeof why, "%s", wick_context_error(ctx));
        return wick_context_fail(ctx, status, "%s: %s", data, why);
    }
    if (!test && !so->told)
        log_note("%s: %lld of its %lld identities, by a hash of their names, are held out as test", data,
                 (long long)wick_dataset_classes(parts[1]), (long long)source_identities(o->set));
    o->base = o->whole, o->whole = o->set; /* freed in this order */
    o->set = parts[test], o->rest = parts[!test];
    return WICK_OK;
}

/* Whatever is no table and no tensors. */
static wick_status open_others(wick_context *ctx, const char *data, const char *split, const source_options *so,
                               owned *o, wick_dataset **out) {
    bool found = false;
    wick_status status = path_is_folder(data) ? open_shards(ctx, data, split, o, &found) : WICK_OK;
    if (status != WICK_OK || o->set) return status;
    const bool usual = strcmp(split, "train") == 0 || strcmp(split, "test") == 0;
    status = usual ? wick_dataset_open(ctx, data, split, out)
                   : wick_context_fail(ctx, WICK_ERR_IO, "%s: there is no part called %s", data, split);
    if (status == WICK_OK) return WICK_OK;
    char why[1024];
    snprintf(why, sizeof why, "%s", wick_context_error(ctx));
    const wick_status first = status;
    const wick_files_options options = {.split = split, .rate = so->rate};
    char *own = path_join(data, split), packed[32];
    snprintf(packed, sizeof packed, "%s.wrec", split);
    char *records = path_join(data, packed);
    /* A folder without splits would be taken as a whole, for each of them. */
    const bool there = (own && path_is_folder(own)) || (records && is_file(records));
    free(own), free(records);
    status = there ? wick_dataset_of_files(ctx, data, &options, &o->set)
             : first == WICK_ERR_IO || strcmp(split, "all") == 0
                 ? class_folders_open(ctx, data, so->task == TASK_EMBED ? "all" : split, so->rate, &o->whole, &o->set)
                 : first;
    if (status == WICK_OK && !there && so->task == TASK_EMBED && strcmp(split, "all") != 0)
        status = take_identities(ctx, data, split, so, o);
    /* What is wrong with pictures in memory is wrong. */
    if (first != WICK_ERR_IO && strcmp(split, "all") != 0 &&
        (status != WICK_OK || wick_dataset_field(o->set, 0)->dtype == WICK_U8))
        source_drop(o), *o = (owned){0}, status = first;
    return status != WICK_OK && status == first ? wick_context_fail(ctx, first, "%s", why) : status;
}

/* Refuses tasks that learn from folders alone. */
static wick_status check_file_task(wick_context *ctx, const char *data, int task) {
    if (task == TASK_SEGMENT || task == TASK_DENSE)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                 "%s: --task %s learns from a folder of pictures and %s, not from a table or tensors",
                                 data, task == TASK_DENSE ? "dense" : "segment",
                                 task == TASK_DENSE ? "maps" : "masks");
    if (task == TASK_EMBED)
        return wick_context_fail(
            ctx, WICK_ERR_UNSUPPORTED,
            "%s: --task embed learns from folders of pictures or recordings, one for each identity, "
            "not from a table or tensors",
            data);
    return WICK_OK;
}

/* What a file holds: rows, texts, tensors. */
static wick_status open_file(wick_context *ctx, const char *file, const char *split, const source_options *so,
                             bool parted, bool lines, owned *o) {
    const bool table = is_table(file) || source_is_relation(file),
               heads = so->task == TASK_HEADS || (!lines && so->task == TASK_AUTO && !so->coding && !so->window &&
                                                  table && source_targets_differ(ctx, file, so)),
               text = !heads && (lines || source_is_text(file, so));
    if (heads && so->task == TASK_AUTO)
        log_note("%s: --target names texts and numbers: each is learned as a head of its own (--task heads)", file);
    wick_status status = heads && table ? source_open_headed_table(ctx, file, so, parted, o)
                         : heads        ? source_open_headed_tensors(ctx, file, split, so, parted, o)
                         : lines        ? source_open_lines(ctx, file, split, so, parted, o)
                         : text         ? source_open_text(ctx, file, split, so, parted, o)
                         : table        ? source_open_table(ctx, file, so, parted, o)
                                     : source_open_tensors(ctx, file, split, so, parted, o);
    if (status == WICK_ERR_SHAPE && !table && !lines) { /* of rows, not of pictures */
        char why[512];
        snprintf(why, sizeof why, "%s", wick_context_error(ctx));
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: %s", file, why);
    }
    if (status == WICK_OK && so->window)
        status = source_make_windows(ctx, file, split, so, parted, o);
    else if (status == WICK_OK && parted && !o->divided && !text)
        status = take_part(ctx, split, so->task, o);
    return status;
}

wick_status source_open(wick_context *ctx, const char *data, const char *split, const source_options *so, char **coding,
                        wick_dataset **out) {
    owned o = {0};
    *out = NULL;
    if (coding) *coding = NULL;
    if (source_ends(data, ".npy") && is_file(data))
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: is one array, samples without classes: numpy.savez(\"set.npz\", x=samples, "
                                 "y=classes) makes a file of both",
                                 data);
    /* what --label or --target asks for is no box */
    const bool plain = !(so->label && *so->label) && !(so->target && *so->target) && !so->window;
    const bool boxes = so->task == TASK_DETECT ||
                       (so->task == TASK_AUTO && plain && !so->coding && source_has_boxes(data, split, so->separator) &&
                        !source_boxes_have_points(data, split, so->separator) && !source_has_masks(ctx, data, split) &&
                        !source_has_maps(ctx, data, split));
    const bool points = so->task == TASK_KEYPOINTS || (so->task == TASK_AUTO && plain && !so->coding && !boxes &&
                                                       source_has_points(data, split, so->separator));
    const bool paired = so->task == TASK_TRACK || (so->task == TASK_AUTO && plain && !so->coding && !boxes && !points &&
                                                   source_has_pairs(data, split, so->separator));
    char *file = boxes || points || paired ? NULL : source_find_file(data, split);
    if (!file && (so->task == TASK_TAG || source_is_text_coding(so->coding))) file = find_text(data, split);
    if (so->window && (!file || source_ends(file, ".npz") || source_ends(file, ".safetensors"))) {
        free(file);
        return wick_context_fail(ctx, file ? WICK_ERR_UNSUPPORTED : WICK_ERR_IO,
                                 "%s: --window is for a table (.csv, .tsv) whose rows lie in order of time", data);
    }
    wick_status status = file ? check_file_task(ctx, data, so->task) : WICK_OK;
    if (status != WICK_OK) {
        free(file);
        return status;
    }
    const bool parted = file && strcmp(file, data) == 0,
               lines = file && is_table(file) && source_has_lines(ctx, file, so);
    if (!lines && so->task == TASK_CTC) {
        const bool other = file || !path_is_folder(data);
        free(file);
        return wick_context_fail(
            ctx, other ? WICK_ERR_UNSUPPORTED : WICK_ERR_IO,
            "%s: --task ctc learns from a table of pictures or recordings and their texts, FILE.tsv "
            "or %s.tsv of a folder (path, tab, text)",
            data, split);
    }
    bool whole = false; /* what was opened has all parts */
    if (file)
        status = open_file(ctx, file, split, so, parted, lines, &o);
    else if (paired)
        status = source_open_pairs(ctx, data, split, so, &o, &whole);
    else if (boxes)
        status = source_open_boxes(ctx, data, split, so, &o, &whole);
    else if (points)
        status = source_open_points(ctx, data, split, so, &o, &whole);
    else if (so->task == TASK_SEGMENT || (so->task == TASK_AUTO && source_has_masks(ctx, data, split)))
        status = source_open_masks(ctx, data, split, so, &o, &whole);
    else if (so->task == TASK_DENSE || (so->task == TASK_AUTO && source_has_maps(ctx, data, split)))
        status = source_open_maps(ctx, data, split, so, &o, &whole);
    else
        status = open_others(ctx, data, split, so, &o, out);
    if (status == WICK_OK && whole) status = take_part(ctx, split, so->task, &o);
    if (!file && status == WICK_OK &&
        (so->task == TASK_REGRESS || so->task == TASK_MULTI_LABEL || so->task == TASK_HEADS)) {
        wick_dataset_free(out);
        status = wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                   "%s: has classes, by its folders or files, and no numbers or labels beside each "
                                   "sample; those are learned from a table (.csv) or tensors (.npz, .safetensors)",
                                   data);
    }
    free(file);
    if (*out) return WICK_OK;
    if (status == WICK_OK && so->rate && source_is_audio(o.set) && wick_dataset_rate(o.set) != so->rate)
        status = wick_context_fail(
            ctx, WICK_ERR_UNSUPPORTED,
            "%s: its recordings are not of %lld samples a second, and in shards they are not resampled", data,
            (long long)so->rate);
    if (status == WICK_OK) status = source_wrap(ctx, &o, data, so->unlabelled || so->task == TASK_AUTOENCODE, out);
    if (status != WICK_OK)
        source_drop(&o);
    else if (coding)
        *coding = o.coding;
    else
        free(o.coding);
    return status;
}
