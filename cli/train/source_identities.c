/* Persons, things: what is told apart by --task embed is held out by class, not by sample, since what the network has
 * learned is to hold for those that it has never met. */
#include "source_kinds.h"

#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

typedef struct identity {
    uint64_t hash;
    int64_t label;
} identity;

static int by_hash(const void *a, const void *b) {
    const identity *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->label > y->label) - (x->label < y->label);
}

int64_t source_identities(const wick_dataset *set) {
    const int64_t classes = wick_dataset_classes(set);
    bool *there = calloc((size_t)classes + 1, sizeof *there);
    int64_t n = 0;
    for (int64_t i = 0; there && i < wick_dataset_count(set); i++) {
        const int64_t label = wick_dataset_label(set, i);
        if (label >= 0 && label < classes && !there[label]) there[label] = true, n++;
    }
    free(there);
    return n;
}

/* The samples of the classes that have a new number in map, which is freed with *out; or the error. */
static wick_status take(wick_context *ctx, const wick_dataset *set, const int64_t *map, int64_t identities,
                        wick_dataset **out) {
    const int64_t n = wick_dataset_count(set), classes = wick_dataset_classes(set);
    int64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers), kept = 0;
    const char **names = malloc((size_t)(identities + 1) * sizeof *names);
    owned o = {.classes = malloc((size_t)classes * sizeof *map)};
    wick_status status =
        numbers && names && o.classes ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory");
    for (int64_t k = 0; status == WICK_OK && k < classes; k++) {
        o.classes[k] = map[k] < 0 ? 0 : map[k];
        if (map[k] >= 0) names[map[k]] = wick_dataset_class_name(set, k);
    }
    for (int64_t i = 0; status == WICK_OK && i < n; i++) {
        const int64_t label = wick_dataset_label(set, i);
        if (label >= 0 && map[label] >= 0) numbers[kept++] = i;
    }
    if (status == WICK_OK) status = wick_dataset_subset(ctx, set, kept, numbers, &o.set);
    if (status == WICK_OK) status = source_keep_names(ctx, "identities", names, identities, &o);
    if (status == WICK_OK) status = source_wrap(ctx, &o, "identities", false, out);
    if (status != WICK_OK) source_drop(&o);
    free(numbers);
    free(names);
    return status;
}

wick_status source_cut_identities(wick_context *ctx, const wick_dataset *set, double share, wick_dataset *parts[2]) {
    enum { FEWEST = 2 }; /* on each side */
    const int64_t classes = wick_dataset_classes(set), n = source_identities(set);
    int64_t held = (int64_t)(share * (double)n + 0.5), found = 0, count[2] = {0, 0};
    held = held < FEWEST ? FEWEST : held > n - FEWEST ? n - FEWEST : held;
    parts[0] = parts[1] = NULL;
    if (n < 2 * FEWEST)
        return wick_context_fail(
            ctx, WICK_ERR_FORMAT,
            "there are %lld identities, and %d at least are needed to learn from and %d to hold out", (long long)n,
            FEWEST, FEWEST);
    identity *list = malloc((size_t)classes * sizeof *list);
    int64_t *maps = malloc((size_t)classes * 2 * sizeof *maps);
    bool *there = calloc((size_t)classes, sizeof *there);
    wick_status status = list && maps && there ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory");
    for (int64_t i = 0; status == WICK_OK && i < wick_dataset_count(set); i++) {
        const int64_t label = wick_dataset_label(set, i);
        if (label >= 0) there[label] = true;
    }
    for (int64_t k = 0; status == WICK_OK && k < classes; k++) {
        maps[k] = maps[classes + k] = -1;
        if (there[k]) list[found++] = (identity){source_hash(wick_dataset_class_name(set, k)), k};
    }
    if (status == WICK_OK) qsort(list, (size_t)found, sizeof *list, by_hash);
    for (int64_t i = 0; status == WICK_OK && i < found; i++) maps[(i < held) * classes + list[i].label] = 0;
    for (int64_t k = 0; status == WICK_OK && k < 2 * classes; k++)
        if (maps[k] == 0) maps[k] = count[k / classes]++; /* in their old order */
    for (int which = 0; which < 2 && status == WICK_OK; which++)
        status = take(ctx, set, maps + which * classes, count[which], &parts[which]);
    for (int which = 0; which < 2 && status != WICK_OK; which++) wick_dataset_free(&parts[which]);
    free(list);
    free(maps);
    free(there);
    return status;
}
