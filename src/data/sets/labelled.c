/* labelled.c: labelled images in memory: finding a set by its name or folder. Who reads it: idx_set.c, image_set.c. */
#include "data/sets/labelled.h"

#include "data/formats/codecs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 1024 };

static const wick_set_kind *const kinds[] = {&wick_records_set, &wick_idx_set, &wick_image_set};
static const char *const splits[] = {"train", "test"};

/* ---- the sets that are known by name ----------------------------------------------------------------------------- */

static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
/* Xiao, Rasul, Vollgraf 2017, "Labels". */
static const char *const garments[] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                       "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
/* Krizhevsky 2009. */
static const char *const things[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                     "dog",      "frog",       "horse", "ship", "truck"};
static const wick_known_set known_sets[] = {
    {"mnist", 10, digits}, {"fashion-mnist", 10, garments}, {"cifar10", 10, things}};

static const wick_known_set *find_known(const char *name) {
    for (size_t i = 0; i < WICK_COUNTOF(known_sets); i++)
        if (strcmp(known_sets[i].name, name) == 0) return &known_sets[i];
    return NULL;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* NULL: the folder has nothing of that split. */
static const wick_set_kind *find_kind(const char *folder, const char *split) {
    for (size_t i = 0; i < WICK_COUNTOF(kinds); i++)
        if (kinds[i]->is(folder, split)) return kinds[i];
    return NULL;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder of a named set: the first candidate that has the split; NULL when none has: then the first that is there,
 * or "". searched lists them all. */
static const wick_set_kind *find_folder(char folder[PATH_BYTES], const char *name, const char *split,
                                        wick_str *searched) {
    const char *home = getenv("WICK_DATA");
    const char *const bases[] = {home && *home ? home : NULL, "/usr/share/datasets"};
    char path[PATH_BYTES];
    folder[0] = 0;
    for (size_t i = 0; i < WICK_COUNTOF(bases); i++) {
        if (!bases[i]) continue;
        const int n = snprintf(path, PATH_BYTES, "%s/%s", bases[i], name);
        if (n < 0 || n >= PATH_BYTES) continue;
        wick_str_add(searched, "%s%s", searched->len ? ", " : "", path);
        const wick_set_kind *kind = find_kind(path, split);
        if (kind || (!folder[0] && is_folder(path))) memcpy(folder, path, (size_t)n + 1);
        if (kind) return kind;
    }
    return NULL;
}

const char *wick_dataset_known(int i) { return (unsigned)i < WICK_COUNTOF(known_sets) ? known_sets[i].name : NULL; }

bool wick_dataset_find(const char *name, char *folder, size_t size) {
    if (!folder) size = 0;
    char found[PATH_BYTES] = "", list[WICK_MSG_MAX / 2];
    wick_str searched = wick_str_on(list, sizeof list);
    const bool known = name && find_known(name) && find_folder(found, name, "train", &searched);
    const int n = snprintf(folder, size, "%s", known ? found : "");
    if (known && n >= 0 && (size_t)n < size) return true;
    if (size > 0) *folder = 0;
    return false;
}

static wick_status not_found(wick_context *ctx, const char *folder, const char *split) {
    char names[128];
    wick_str s = wick_str_on(names, sizeof names);
    for (size_t i = 0; i < WICK_COUNTOF(known_sets); i++) wick_str_add(&s, "%s%s", i ? ", " : "", known_sets[i].name);
    if (!is_folder(folder))
        return wick_context_fail(ctx, WICK_ERR_IO, "dataset: there is no folder \"%s\"; sets known by name: %s", folder,
                                 names);
    return wick_context_fail(ctx, WICK_ERR_IO,
                             "dataset: the folder \"%s\" is there, but has no %s-images-idx3-ubyte (any number after "
                             "idx, plain or .gz), %s.tar.gz, "
                             "%s.tar, %s.wrec or %s/CLASS; sets known by name: %s",
                             folder, strcmp(split, "test") == 0 ? "t10k" : split, split, split, split, split, names);
}

/* ---- as a data set ----------------------------------------------------------------------------------------------- */

enum { IMAGE, LABEL };

static const void *at(void *user, int64_t index, int field) {
    const wick_labelled *d = user;
    return field == IMAGE ? d->pixels + index * d->sample_size : NULL;
}

static int64_t label(void *user, int64_t index) { return ((const wick_labelled *)user)->labels[index]; }
static const char *class_name(void *user, int64_t k) { return ((const wick_labelled *)user)->class_names[k]; }

static wick_status get(void *user, int64_t index, void *const *out, wick_fault *fault) {
    (void)fault;
    const wick_labelled *d = user;
    if (out[IMAGE]) memcpy(out[IMAGE], at(user, index, IMAGE), (size_t)d->sample_size);
    if (out[LABEL]) *(int64_t *)out[LABEL] = d->labels[index];
    return WICK_OK;
}

static void release(void *user) {
    wick_labelled *d = user;
    wick_allocator alloc = d->alloc;
    wick_release(&alloc, d->pixels, d->pixel_bytes);
    wick_release(&alloc, d->labels, d->label_bytes);
    wick_arena_free(&d->names); /* whose allocator is d's */
    wick_release(&alloc, d, sizeof *d);
}

static wick_status as_dataset(wick_context *ctx, wick_labelled *d, wick_dataset **out) {
    wick_dataset_source s = {
        .count = d->count,
        .n_fields = 2,
        .fields = {[IMAGE] = {"image", WICK_U8, d->rank, {0}}, [LABEL] = {"label", WICK_I64, 0, {0}}},
        .get = get,
        .at = at,
        .label = label,
        .classes = d->classes,
        .class_name = class_name,
        .free = release,
        .user = d};
    char note[128];
    if (d->resized) {
        snprintf(note, sizeof note, WICK_RESIZED, (long long)d->resized, (long long)d->count, (long long)d->dims[1],
                 (long long)d->dims[2]);
        s.note = note;
    }
    memcpy(s.fields[IMAGE].dims, d->dims, sizeof d->dims);
    return wick_dataset_new(ctx, &s, out);
}

wick_status wick_dataset_open(wick_context *ctx, const char *name, const char *split, wick_dataset **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_open: out is NULL");
    *out = NULL;
    if (!name || !*name) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: no name");
    if (!split || (strcmp(split, splits[0]) != 0 && strcmp(split, splits[1]) != 0))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: split \"%s\" is neither \"train\" nor \"test\"",
                                 split ? split : "");

    char folder[PATH_BYTES], list[WICK_MSG_MAX / 2];
    const wick_known_set *known = find_known(name);
    wick_str searched = wick_str_on(list, sizeof list);
    const wick_set_kind *kind = known ? find_folder(folder, name, split, &searched) : find_kind(name, split);
    if (!kind && known && !folder[0])
        return wick_context_fail(ctx, WICK_ERR_IO,
                                 "dataset: %s is in none of: %s; set WICK_DATA to the folder that has it", name, list);
    if (!kind) return not_found(ctx, known ? folder : name, split);

    wick_labelled *d = wick_calloc(&ctx->alloc, sizeof *d);
    if (!d) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    d->alloc = ctx->alloc;
    wick_arena_init(&d->names, &d->alloc, 0);
    wick_msg msg = {0};
    wick_status status = kind->read(ctx, d, known ? folder : name, split, known, &msg);
    if (status == WICK_OK) status = as_dataset(ctx, d, out);
    else status = wick_context_fail(ctx, status, "dataset: %s", msg.text);
    if (status != WICK_OK) release(d);
    return status;
}

wick_status wick_labelled_alloc_labels(wick_labelled *d, wick_msg *msg) {
    d->label_bytes = (size_t)d->count * sizeof *d->labels;
    d->labels = wick_alloc(&d->alloc, d->label_bytes);
    if (d->labels) return WICK_OK;
    return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory for %lld labels", (long long)d->count);
}

wick_status wick_labelled_alloc_names(wick_labelled *d, const wick_known_set *known, wick_msg *msg) {
    if (known) d->classes = known->classes;
    d->class_names = wick_arena_zalloc(&d->names, (size_t)d->classes * sizeof *d->class_names);
    if (!d->class_names)
        return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory for %lld classes", (long long)d->classes);
    if (known) memcpy(d->class_names, known->class_names, (size_t)known->classes * sizeof *d->class_names);
    return WICK_OK;
}
