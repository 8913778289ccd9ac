/* Which rows of a table are held out: by what is in a row, not by where it stands, so that rows keep their side where
 * others are added or all are shuffled, and rows that are alike are on one side. */
#include "source_kinds.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_OUT = 5 }; /* one in so many */

/* A table that was learned from before coding 3 is split by places. */
static bool is_by_place(const char *coding) {
    return coding && (strncmp(coding, "\"table\",\"1\"", 11) == 0 || strncmp(coding, "\"table\",\"2\"", 11) == 0);
}

wick_status source_take_hashes(wick_context *ctx, const char *path, const wick_csv *csv, const char *coding, owned *o) {
    const int64_t n = wick_csv_rows(csv);
    if (is_by_place(coding)) return WICK_OK;
    o->hashes = malloc((size_t)(n + !n) * sizeof *o->hashes);
    if (!o->hashes) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    for (int64_t i = 0; i < n; i++) o->hashes[i] = wick_csv_row_hash(csv, i);
    return WICK_OK;
}

/* What a class has in the parts, and its rows of the lowest and the highest hash. */
typedef struct share {
    int64_t rows, held, low, high;
} share;

static void mark_rows(const uint64_t *hashes, const wick_dataset *set, int64_t classes, bool *held, share *of) {
    const int64_t n = wick_dataset_count(set);
    for (int64_t i = 0; i < n; i++) {
        const int64_t label = classes ? wick_dataset_label(set, i) : 0;
        share *s = &of[label < 0 ? classes : label];
        held[i] = hashes[i] < UINT64_MAX / HELD_OUT;
        if (!s->rows || hashes[i] < hashes[s->low]) s->low = i;
        if (!s->rows || hashes[i] > hashes[s->high]) s->high = i;
        s->rows++;
        s->held += held[i];
    }
}

static void hold(const uint64_t *hashes, int64_t n, uint64_t hash, bool out, bool *held) {
    for (int64_t i = 0; i < n; i++)
        if (hashes[i] == hash) held[i] = out; /* rows that are alike stay together */
}

/* Each class is learned from, and has a row in the test where it has as many as HELD_OUT that aren't all alike. */
static void mend(const uint64_t *hashes, int64_t n, const share *of, int64_t classes, bool *held) {
    for (int64_t k = 0; k <= classes; k++)
        if (of[k].rows && of[k].held == of[k].rows)
            hold(hashes, n, hashes[of[k].high], false, held);
        else if (of[k].rows >= HELD_OUT && !of[k].held && hashes[of[k].low] != hashes[of[k].high])
            hold(hashes, n, hashes[of[k].low], true, held);
}

wick_status source_split_rows(wick_context *ctx, const uint64_t *hashes, const wick_dataset *set, task_kind task,
                              wick_dataset *parts[2]) {
    /* classes are nothing to an autoencoder */
    const int64_t n = wick_dataset_count(set), classes = task == TASK_AUTOENCODE ? 0 : wick_dataset_classes(set);
    bool *held = calloc((size_t)(n + 1), sizeof *held);
    share *of = calloc((size_t)(classes + 1), sizeof *of);
    int64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers);
    wick_status status = held && of && numbers ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory");
    parts[0] = parts[1] = NULL;
    if (status == WICK_OK) {
        mark_rows(hashes, set, classes, held, of);
        mend(hashes, n, of, classes, held);
    }
    for (int k = 0; k < 2 && status == WICK_OK; k++) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++)
            if (held[i] == k) numbers[m++] = i;
        status = wick_dataset_subset(ctx, set, m, numbers, &parts[k]);
    }
    if (status != WICK_OK) wick_dataset_free(&parts[0]);
    free(held);
    free(of);
    free(numbers);
    return status;
}
