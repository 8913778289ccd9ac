/* Classes of a data set as those of a model, by their names. */
#include "source_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t find_name(const char *const *names, int64_t n, const char *name) {
    for (int64_t k = 0; k < n; k++)
        if (strcmp(names[k], name) == 0) return k;
    return -1;
}

/* Whether class k is the same on both sides as it is: by its name, or since one of them only numbers it. */
static bool is_same(const char *theirs, const char *ours, int64_t k) {
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)k);
    return strcmp(theirs, ours) == 0 || strcmp(theirs, number) == 0 || strcmp(ours, number) == 0;
}

static wick_status check_known(wick_context *ctx, const char *data, const wick_dataset *d, const int64_t *to,
                               int64_t known) {
    for (int64_t i = 0; i < wick_dataset_count(d); i++) {
        const int64_t k = wick_dataset_label(d, i);
        if (k >= 0 && to[k] < 0)
            return wick_context_fail(
                ctx, WICK_ERR_MISMATCH,
                "%s: sample %lld is of class \"%.100s\", which is not among the %lld classes that the model knows",
                data, (long long)i, wick_dataset_class_name(d, k), (long long)known);
    }
    return WICK_OK;
}

wick_status source_match_classes(wick_context *ctx, const char *data, const char *const *names, int64_t classes,
                                 wick_dataset **dataset) {
    const int64_t theirs = wick_dataset_classes(*dataset);
    const wick_spec *second = wick_dataset_field(*dataset, 1);
    if (source_is_boxed(*dataset) || source_is_pointed(*dataset) || source_is_paired(*dataset))
        return WICK_OK;                      /* which were read by the model's names */
    if (second && second->dtype == WICK_F32) /* numbers to learn, which go by their places */
        return theirs == classes
                   ? WICK_OK
                   : wick_context_fail(ctx, WICK_ERR_MISMATCH,
                                       "%s: has %lld number%s to learn of each sample, and the model knows %lld", data,
                                       (long long)theirs, theirs == 1 ? "" : "s", (long long)classes);
    if (source_is_masked(*dataset) || source_is_tagged(*dataset))
        return theirs == classes
                   ? WICK_OK
                   : wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: it has %lld classes, and the model knows %lld",
                                       data, (long long)theirs, (long long)classes);
    bool same = theirs <= classes;
    for (int64_t k = 0; k < theirs && same; k++) same = is_same(wick_dataset_class_name(*dataset, k), names[k], k);
    if (same || !theirs) return WICK_OK;
    owned o = {.classes = malloc((size_t)theirs * sizeof *o.classes),
               .class_names = calloc((size_t)classes, sizeof *o.class_names),
               .known = classes};
    size_t bytes = 0, at = 0;
    for (int64_t k = 0; k < classes; k++) bytes += strlen(names[k]) + 1;
    o.names = malloc(bytes);
    wick_status status = o.classes && o.class_names && o.names
                             ? WICK_OK
                             : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    for (int64_t k = 0; status == WICK_OK && k < classes; at += strlen(names[k]) + 1, k++)
        o.class_names[k] = strcpy(o.names + at, names[k]);
    for (int64_t k = 0; status == WICK_OK && k < theirs; k++)
        o.classes[k] = find_name(names, classes, wick_dataset_class_name(*dataset, k));
    if (status == WICK_OK) status = check_known(ctx, data, *dataset, o.classes, classes);
    wick_dataset *matched = NULL;
    o.set = *dataset;
    if (status == WICK_OK) status = source_wrap(ctx, &o, data, false, &matched);
    o.set = NULL; /* the caller's, or that of what was made */
    if (status == WICK_OK)
        *dataset = matched;
    else
        source_drop(&o);
    return status;
}
