#include "class_folders.h"

#include "../paths.h"
#include "../term/log.h"
#include "source_kinds.h"

#include "wick/datasets.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_OUT = 5 }; /* one in so many */

typedef struct item {
    int64_t number, label;
    uint64_t hash;
} item;

static int by_class_and_hash(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->label != y->label) return (x->label > y->label) - (x->label < y->label);
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->number > y->number) - (x->number < y->number);
}
static int by_number(const void *a, const void *b) {
    return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}

/* The numbers of the split's samples, in order; how many. */
static int64_t choose(item *items, int64_t n, const char *split, int64_t *numbers) {
    const bool all = strcmp(split, "all") == 0, test = strcmp(split, "test") == 0;
    int64_t chosen = 0;
    qsort(items, (size_t)n, sizeof *items, by_class_and_hash);
    for (int64_t i = 0; i < n;) {
        int64_t end = i;
        while (end < n && items[end].label == items[i].label) end++;
        const int64_t held = (end - i + HELD_OUT / 2) / HELD_OUT;
        for (int64_t k = i; k < end; k++)
            if (all || (k - i < held) == test) numbers[chosen++] = items[k].number;
        i = end;
    }
    qsort(numbers, (size_t)chosen, sizeof *numbers, by_number);
    return chosen;
}

/* Names and classes, in the order in which a data set of the files has them. */
static wick_status list(wick_context *ctx, wick_files *files, item *items) {
    wick_file file;
    bool more = true;
    for (int64_t i = 0; i < wick_files_count(files); i++) {
        const wick_status status = wick_files_next(files, &file, &more);
        if (status != WICK_OK || !more)
            return status != WICK_OK ? status
                                     : wick_context_fail(ctx, WICK_ERR_IO, "%s was changed while it was read",
                                                         wick_files_path(files));
        items[i] = (item){i, file.label, source_hash(file.name)};
    }
    return WICK_OK;
}

static wick_status take(wick_context *ctx, wick_files *files, const wick_files_options *options, wick_dataset **whole,
                        wick_dataset **part) {
    const int64_t n = wick_files_count(files);
    item *items = calloc((size_t)n, sizeof *items);
    int64_t *numbers = calloc((size_t)n, sizeof *numbers), chosen = 0;
    wick_status status = items && numbers
                             ? list(ctx, files, items)
                             : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", wick_files_path(files));
    if (status == WICK_OK) chosen = choose(items, n, options->split, numbers);
    if (status == WICK_OK && !chosen)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: its classes have too few files to hold some out",
                                   wick_files_path(files));
    if (status == WICK_OK) status = wick_dataset_of_files(ctx, wick_files_path(files), options, whole);
    if (status == WICK_OK) status = wick_dataset_subset(ctx, *whole, chosen, numbers, part);
    if (status != WICK_OK) wick_dataset_free(whole);
    free(items);
    free(numbers);
    return status;
}

/* The files of a folder of classes; NULL: it is none. */
static wick_files *open_folder(wick_context *ctx, const char *data, const wick_files_options *options) {
    static const char *const parts[] = {"train", "test", "val", "valid", "validation", "dev"};
    wick_files *files;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *path = path_join(data, parts[i]);
        const bool there = path && path_is_folder(path);
        free(path);
        if (there) return NULL;
    }
    if (!path_is_folder(data) || wick_files_open(ctx, data, options, &files) != WICK_OK) return NULL;
    if (strcmp(wick_files_form(files), "folder") != 0 || wick_files_classes(files) < 2) wick_files_free(&files);
    return files;
}

bool class_folders_are(wick_context *ctx, const char *data) {
    wick_files *files = open_folder(ctx, data, NULL);
    const bool are = files != NULL;
    wick_files_free(&files);
    return are;
}

wick_status class_folders_open(wick_context *ctx, const char *data, const char *split, int64_t rate,
                               wick_dataset **whole, wick_dataset **part) {
    const wick_files_options options = {.split = split, .rate = rate};
    wick_files *files = open_folder(ctx, data, &options);
    *whole = *part = NULL;
    if (!files) return WICK_ERR_IO;
    const wick_status status = take(ctx, files, &options, whole, part);
    if (status == WICK_OK && strcmp(split, "all") != 0)
        log_note(
            "%s has class folders, but no train/ and test/: a fifth of each class, by a hash of the names, is held "
            "out as test; these are the %lld of %s (wick data split makes folders of them)",
            data, (long long)wick_dataset_count(*part), split);
    wick_files_free(&files);
    return status;
}
