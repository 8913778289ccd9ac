/* Series: windows over the rows of a table, which lie in order of time. A sample is W rows in a row, each column by
 * itself; what is learned are the targets of the H rows behind them. */
#include "source_kinds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct windows {
    const wick_dataset *rows;
    int64_t n, window, horizon, features, targets;
} windows;

/* Columns one after the other, targets behind features: [features + targets, window]. Targets behind the last row are
 * NaN. */
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const windows *w = user;
    (void)fault;
    float *x = out[0], *y = out[1];
    for (int64_t r = 0; x && r < w->window; r++) {
        const float *features = wick_dataset_at(w->rows, i + r, 0), *targets = wick_dataset_at(w->rows, i + r, 1);
        for (int64_t k = 0; k < w->features; k++) x[k * w->window + r] = features[k];
        for (int64_t k = 0; k < w->targets; k++) x[(w->features + k) * w->window + r] = targets[k];
    }
    for (int64_t h = 0; y && h < w->horizon; h++) {
        const int64_t row = i + w->window + h;
        const float *targets = row < w->n ? wick_dataset_at(w->rows, row, 1) : NULL;
        for (int64_t k = 0; k < w->targets; k++) y[k * w->horizon + h] = targets ? targets[k] : NAN;
    }
    return WICK_OK;
}
static int64_t no_label(void *user, int64_t i) {
    (void)user, (void)i;
    return -1;
}

/* "load+1", "load+2" ... of each target. */
static wick_status name_targets(wick_context *ctx, const char *path, int64_t horizon, owned *o) {
    const int64_t n = o->known * horizon;
    size_t room = 24;
    for (int64_t k = 0; k < o->known; k++)
        if (strlen(o->class_names[k]) + 24 > room) room = strlen(o->class_names[k]) + 24;
    char *texts = malloc((size_t)n * room), *before = o->names;
    const char **names = malloc((size_t)n * sizeof *names), **list = o->class_names;
    wick_status status = texts && names ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    for (int64_t i = 0; status == WICK_OK && i < n; i++) {
        names[i] = texts + (size_t)i * room;
        snprintf(texts + (size_t)i * room, room, "%s+%lld", list[i / horizon], (long long)(i % horizon) + 1);
    }
    if (status == WICK_OK) {
        o->names = NULL, o->class_names = NULL;
        status = source_keep_names(ctx, path, names, n, o);
        free(before);
        free(list);
    }
    free(texts);
    free(names);
    return status;
}

/* Windows first to last of `all`, in order. */
static wick_status take(wick_context *ctx, wick_dataset *all, int64_t first, int64_t n, wick_dataset **out) {
    int64_t *numbers = malloc((size_t)(n + !n) * sizeof *numbers);
    if (!numbers) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory: %lld windows", (long long)n);
    for (int64_t i = 0; i < n; i++) numbers[i] = first + i;
    const wick_status status = wick_dataset_subset(ctx, all, n, numbers, out);
    free(numbers);
    return status;
}

wick_status source_cut_in_time(wick_context *ctx, wick_dataset *all, double share, int64_t gap,
                               wick_dataset *parts[2]) {
    const int64_t n = wick_dataset_count(all), held = (int64_t)(share * (double)n + 0.5),
                  left = n - held - gap > 0 ? n - held - gap : 0;
    parts[0] = parts[1] = NULL;
    wick_status status = take(ctx, all, 0, left, &parts[0]);
    if (status == WICK_OK) status = take(ctx, all, n - held, held, &parts[1]);
    if (status != WICK_OK) wick_dataset_free(&parts[0]);
    return status;
}

int64_t source_test_rows(int64_t rows) { return rows / 5; }

/* Of one file the last fifth of the rows are what is forecast in the test, and none of them is in the training. */
static wick_status take_part(wick_context *ctx, const char *split, const windows *w, owned *o) {
    const int64_t all = wick_dataset_count(o->set), test = source_test_rows(w->n), begin = w->n - test - w->window;
    if (strcmp(split, "all") == 0) return WICK_OK;
    const bool is_test = strcmp(split, "test") == 0;
    const int64_t first = is_test ? (begin > 0 ? begin : 0) : 0, last = is_test ? all : begin - w->horizon + 1;
    wick_dataset *part;
    const wick_status status = take(ctx, o->set, first, last > first ? last - first : 0, &part);
    if (status != WICK_OK) return status;
    o->rest = o->set;
    o->set = part;
    return WICK_OK;
}

static void drop(void *user) { free(user); }

wick_status source_make_windows(wick_context *ctx, const char *path, const char *split, const source_options *so,
                                bool parted, owned *o) {
    const wick_spec *f = wick_dataset_field(o->set, 0), *y = wick_dataset_field(o->set, 1);
    if (!y || y->dtype != WICK_F32 || !o->targets)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: lacks the columns that are forecast, whose past is looked at", path);
    windows *w = malloc(sizeof *w);
    if (!w) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    *w = (windows){.rows = o->set,
                   .n = wick_dataset_count(o->set),
                   .window = so->window,
                   .horizon = so->horizon,
                   .features = f->dims[0],
                   .targets = y->rank ? y->dims[0] : 1};
    const int64_t count = w->n - w->window - (so->unlabelled ? 0 : w->horizon) + 1;
    wick_status status = name_targets(ctx, path, w->horizon, o);
    if (status == WICK_OK && count < 1)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT,
                                   "%s: has %lld rows, too few for a window of %lld and %lld behind it", path,
                                   (long long)w->n, (long long)w->window, (long long)w->horizon);
    for (int64_t r = 0; status == WICK_OK && r < w->n; r++) { /* they are looked at, also where none is wanted */
        const float *targets = wick_dataset_at(o->set, r, 1);
        for (int64_t k = 0; status == WICK_OK && k < w->targets; k++)
            if (isnan(targets[k]))
                status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: row %lld has no value of what is forecast", path,
                                           (long long)r);
    }
    const wick_dataset_source source = {.count = count,
                                        .n_fields = 2,
                                        .fields = {{"window", WICK_F32, 1, {(w->features + w->targets) * w->window}},
                                                   {"target", WICK_F32, 1, {w->targets * w->horizon}}},
                                        .get = get,
                                        .label = no_label,
                                        .classes = 0,
                                        .free = drop,
                                        .user = w};
    wick_dataset *made = NULL;
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, &made);
    if (status != WICK_OK) return free(w), status;
    o->whole = o->set; /* lives as long as its windows */
    o->set = made;
    return parted ? take_part(ctx, split, w, o) : WICK_OK;
}
