/* What sensors measured, from arrays of NumPy: windows [channels, 1, n] with a class each. */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"

#include "wick/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples of a part as they are made. */
typedef struct windows {
    float *x;
    int64_t *y, n, room, width;
} windows;

static float *add_window(windows *w, int64_t label) {
    if (w->n == w->room) {
        const int64_t room = w->room ? 2 * w->room : 256;
        float *x = realloc(w->x, (size_t)(room * w->width) * sizeof *x);
        if (x) w->x = x;
        int64_t *y = realloc(w->y, (size_t)room * sizeof *y);
        if (y) w->y = y;
        if (!x || !y) return zoo_out_of_memory(), NULL;
        w->room = room;
    }
    w->y[w->n] = label;
    return w->x + w->n++ * w->width;
}

static int shuffle_labels(windows *w) {
    int64_t *order = malloc((size_t)(w->n + 1) * sizeof *order), *was = malloc((size_t)(w->n + 1) * sizeof *was);
    const bool ok = order && was;
    if (ok) {
        memcpy(was, w->y, (size_t)w->n * sizeof *was);
        zoo_deal(order, w->n);
        for (int64_t i = 0; i < w->n; i++) w->y[i] = was[order[i]];
    }
    free(order), free(was);
    return ok ? CLI_OK : zoo_out_of_memory();
}

/* TO/train.npz and TO/test.npz, samples [channels, 1, length], or where there are no channels rows [length], each
 * number of which the training standardises by itself. */
static int write_windows(zoo_prep *p, windows parts[ZOO_PARTS], int64_t channels, int64_t length) {
    int code = p->shuffle ? shuffle_labels(&parts[ZOO_TRAIN]) : CLI_OK;
    for (int k = 0; code == CLI_OK && k < ZOO_PARTS; k++) {
        if (!parts[k].n) continue;
        char path[4200];
        snprintf(path, sizeof path, "%s/%s.npz", p->to, p->parts[k].name);
        wick_scope *scope = wick_scope_open(p->ctx);
        if (!scope) return zoo_out_of_memory();
        const int64_t dims[] = {parts[k].n, channels, 1, length}, row[] = {parts[k].n, length};
        wick_tensor *x = wick_from(p->ctx, WICK_F32, channels ? 4 : 2, channels ? dims : row, parts[k].x),
                    *y = wick_from(p->ctx, WICK_I64, WICK_DIMS(parts[k].n), parts[k].y);
        code =
            zoo_checked(p, wick_weights_write(p->ctx, path, 2, (const wick_named_tensor[]){{"x", x}, {"y", y}}, NULL));
        wick_scope_close(&scope);
    }
    return code;
}

static void free_windows(windows parts[ZOO_PARTS]) {
    for (int k = 0; k < ZOO_PARTS; k++) free(parts[k].x), free(parts[k].y);
}

/* An array as f32, while its scope lives; its dims are to be `dims`, 0: any, which is then filled in. */
typedef struct arrays {
    wick_weights *file;
    wick_scope *scope;
} arrays;
static int open_arrays(zoo_prep *p, arrays *a) {
    const int code = zoo_checked(p, wick_weights_open(p->ctx, p->source, &a->file));
    if (code == CLI_OK && !(a->scope = wick_scope_open(p->ctx))) return zoo_out_of_memory();
    return code;
}
static void close_arrays(arrays *a) {
    if (a->scope) wick_scope_close(&a->scope);
    wick_weights_free(&a->file);
}
static int take(zoo_prep *p, const arrays *a, const char *name, int rank, int64_t *dims, const float **out) {
    const int i = wick_weights_find(a->file, name);
    if (i < 0) return log_fail(CLI_BAD_FILE, "%s: has no array \"%s\"", p->source, name);
    const wick_spec spec = wick_weights_at(a->file, i);
    bool fits = spec.rank == rank;
    for (int d = 0; fits && d < rank; d++) fits = dims[d] ? spec.dims[d] == dims[d] : (dims[d] = spec.dims[d], true);
    if (!fits) return log_fail(CLI_BAD_FILE, "%s: \"%s\" has another shape than the set's", p->source, name);
    const void *data;
    const int code = zoo_checked(p, wick_data(wick_cast(wick_weights_tensor(a->file, i), WICK_F32), &data));
    *out = code == CLI_OK ? data : NULL;
    return code;
}
static int take_row(zoo_prep *p, const arrays *a, const char *name, int64_t n, const float **out) {
    return take(p, a, name, 1, (int64_t[]){n}, out);
}

/* ---- SKAB: a pump ------------------------------------------------------------------------------------------------ */

enum { PUMP_SENSORS = 8, PUMP_USED = 5, PUMP_WINDOW = 32, REFERENCE = 400, TRAIN_STEP = 2 };
static const int pump_used[PUMP_USED] = {0, 1, 2, 3, 7}; /* accelerations, current, pressure, flow */

/* Readings as deviations from the file's first 400 rows, when the pump ran as it should; 1 % of the value keeps a
 * sensor that stood still from growing without bound. */
static int add_pump(zoo_prep *p, const float *x, const float *anomaly, int64_t rows, int part, const char *group,
                    windows *w) {
    double mean[PUMP_USED], deviation[PUMP_USED];
    for (int c = 0; c < PUMP_USED; c++) {
        double sum = 0, square = 0;
        for (int64_t r = 0; r < REFERENCE; r++) sum += (double)x[r * PUMP_SENSORS + pump_used[c]];
        mean[c] = sum / REFERENCE;
        for (int64_t r = 0; r < REFERENCE; r++) {
            const double d = (double)x[r * PUMP_SENSORS + pump_used[c]] - mean[c];
            square += d * d;
        }
        deviation[c] = sqrt(square / REFERENCE) + 0.01 * fabs(mean[c]) + 1e-6;
    }
    for (int64_t last = REFERENCE; last < rows; last += part == ZOO_TEST ? 1 : TRAIN_STEP) {
        float *to = add_window(w, anomaly[last] > 0);
        if (!to) return CLI_FAILED;
        for (int c = 0; c < PUMP_USED; c++)
            for (int64_t t = 0; t < PUMP_WINDOW; t++) {
                const int64_t r = last - PUMP_WINDOW + 1 + t;
                const double v = ((double)x[r * PUMP_SENSORS + pump_used[c]] - mean[c]) / deviation[c];
                to[c * PUMP_WINDOW + t] = (float)fmax(-10, fmin(10, v)) / 2;
            }
        const int code = zoo_count_in(p, part, group);
        if (code != CLI_OK) return code;
    }
    return CLI_OK;
}

int zoo_prepare_skab(zoo_prep *p) {
    const float *x = NULL, *anomaly = NULL, *offset = NULL, *is_test = NULL, *family = NULL, *number = NULL;
    int64_t dims[2] = {0, PUMP_SENSORS}, ends[1] = {0};
    windows parts[ZOO_PARTS] = {0};
    arrays a = {0};
    p->groups = "files";
    for (int k = 0; k < ZOO_PARTS; k++) parts[k].width = PUMP_USED * PUMP_WINDOW;
    int code = open_arrays(p, &a);
    if (code == CLI_OK) code = take(p, &a, "x", 2, dims, &x);
    if (code == CLI_OK) code = take_row(p, &a, "anomaly", dims[0], &anomaly);
    if (code == CLI_OK) code = take(p, &a, "offset", 1, ends, &offset);
    const int64_t files = ends[0] - 1;
    if (code == CLI_OK) code = take_row(p, &a, "is_test", files, &is_test);
    if (code == CLI_OK) code = take_row(p, &a, "family", files, &family);
    if (code == CLI_OK) code = take_row(p, &a, "number", files, &number);
    for (int64_t f = 0; code == CLI_OK && f < files; f++) {
        const int64_t first = (int64_t)offset[f], last = (int64_t)offset[f + 1];
        char group[ZOO_GROUP];
        snprintf(group, sizeof group, "family %d file %d", (int)family[f], (int)number[f]);
        const int part = is_test[f] > 0 ? ZOO_TEST : ZOO_TRAIN;
        if (first < 0 || last > dims[0] || last < first)
            code = log_fail(CLI_BAD_FILE, "%s: \"offset\" leads outside", p->source);
        else if (last - first > REFERENCE)
            code = add_pump(p, x + first * PUMP_SENSORS, anomaly + first, last - first, part, group, &parts[part]);
    }
    if (code == CLI_OK) code = write_windows(p, parts, PUMP_USED, PUMP_WINDOW);
    free_windows(parts);
    close_arrays(&a);
    return code;
}

/* ---- CWRU: bearings ---------------------------------------------------------------------------------------------- */

enum { BEARING_CHANNELS = 3, BEARING_WINDOW = 1024 };

int zoo_prepare_cwru(zoo_prep *p) {
    const float *x = NULL, *y = NULL, *load = NULL, *scale = NULL;
    int64_t dims[3] = {0, BEARING_CHANNELS, BEARING_WINDOW};
    windows parts[ZOO_PARTS] = {0};
    arrays a = {0};
    p->groups = "loads";
    for (int k = 0; k < ZOO_PARTS; k++) parts[k].width = BEARING_CHANNELS * BEARING_WINDOW;
    int code = open_arrays(p, &a);
    if (code == CLI_OK) code = take(p, &a, "x", 3, dims, &x);
    if (code == CLI_OK) code = take_row(p, &a, "y", dims[0], &y);
    if (code == CLI_OK) code = take_row(p, &a, "load", dims[0], &load);
    if (code == CLI_OK) code = take_row(p, &a, "scale", 1, &scale);
    for (int64_t i = 0; code == CLI_OK && i < dims[0]; i++) {
        const int part = load[i] == 3 ? ZOO_TEST : ZOO_TRAIN;
        const int64_t width = parts[part].width;
        char group[ZOO_GROUP];
        float *to = add_window(&parts[part], (int64_t)y[i]);
        if (!to) code = CLI_FAILED;
        for (int64_t k = 0; to && k < width; k++) to[k] = x[i * width + k] * scale[0];
        snprintf(group, sizeof group, "%d hp", (int)load[i]);
        if (code == CLI_OK) code = zoo_count_in(p, part, group);
    }
    if (code == CLI_OK) code = write_windows(p, parts, BEARING_CHANNELS, BEARING_WINDOW);
    free_windows(parts);
    close_arrays(&a);
    return code;
}

/* ---- UMAFall: a sensor at the waist ------------------------------------------------------------------------------ */

enum { WAIST_CHANNELS = 9, WAIST_SAMPLES = 300, FALL_WINDOW = 64, FALL_CHANNELS = 6, STEPS = 32 };
typedef struct waist {
    arrays a;
    const float *x, *scale, *person, *fall, *activity, *impact, *is_test;
    int64_t n;
} waist;

static int open_waist(zoo_prep *p, waist *w) {
    int64_t dims[3] = {0, WAIST_CHANNELS, WAIST_SAMPLES};
    p->groups = "persons";
    int code = open_arrays(p, &w->a);
    if (code == CLI_OK) code = take(p, &w->a, "x", 3, dims, &w->x);
    w->n = dims[0];
    if (code == CLI_OK) code = take_row(p, &w->a, "scale", WAIST_CHANNELS, &w->scale);
    if (code == CLI_OK) code = take_row(p, &w->a, "person", w->n, &w->person);
    if (code == CLI_OK) code = take_row(p, &w->a, "fall", w->n, &w->fall);
    if (code == CLI_OK) code = take_row(p, &w->a, "activity", w->n, &w->activity);
    if (code == CLI_OK) code = take_row(p, &w->a, "impact", w->n, &w->impact);
    if (code == CLI_OK) code = take_row(p, &w->a, "is_test", w->n, &w->is_test);
    return code;
}

static int count_person(zoo_prep *p, const waist *w, int64_t i, int part) {
    char group[ZOO_GROUP];
    snprintf(group, sizeof group, "%d", (int)w->person[i]);
    return zoo_count_in(p, part, group);
}

/* 3.2 s about the largest acceleration; of the training also a little earlier and later. */
static int add_fall(zoo_prep *p, const waist *w, int64_t i, int part, windows *to) {
    for (int move = part == ZOO_TEST ? 0 : -6; move <= (part == ZOO_TEST ? 0 : 6); move += 3) {
        int64_t first = (int64_t)w->impact[i] - FALL_WINDOW / 2 + move;
        first = first < 0 ? 0 : first > WAIST_SAMPLES - FALL_WINDOW ? WAIST_SAMPLES - FALL_WINDOW : first;
        float *out = add_window(to, w->fall[i] > 0);
        if (!out) return CLI_FAILED;
        for (int c = 0; c < FALL_CHANNELS; c++)
            for (int64_t t = 0; t < FALL_WINDOW; t++)
                out[c * FALL_WINDOW + t] = w->x[(i * WAIST_CHANNELS + c) * WAIST_SAMPLES + first + t] * w->scale[c];
        const int code = count_person(p, w, i, part);
        if (code != CLI_OK) return code;
    }
    return CLI_OK;
}

int zoo_prepare_falls(zoo_prep *p) {
    windows parts[ZOO_PARTS] = {0};
    waist w = {0};
    for (int k = 0; k < ZOO_PARTS; k++) parts[k].width = FALL_CHANNELS * FALL_WINDOW;
    int code = open_waist(p, &w);
    for (int64_t i = 0; code == CLI_OK && i < w.n; i++) {
        const int part = w.is_test[i] > 0 ? ZOO_TEST : ZOO_TRAIN;
        code = add_fall(p, &w, i, part, &parts[part]);
    }
    if (code == CLI_OK) code = write_windows(p, parts, FALL_CHANNELS, FALL_WINDOW);
    free_windows(parts);
    close_arrays(&w.a);
    return code;
}

/* Mean and deviation of stretch k of 32 of a channel. */
static void moments(const float *x, int64_t k, double *mean, double *deviation) {
    const int64_t first = k * WAIST_SAMPLES / STEPS, n = (k + 1) * WAIST_SAMPLES / STEPS - first;
    double sum = 0, square = 0;
    for (int64_t t = 0; t < n; t++) sum += (double)x[first + t];
    *mean = sum / (double)n;
    for (int64_t t = 0; t < n; t++) square += ((double)x[first + t] - *mean) * ((double)x[first + t] - *mean);
    *deviation = sqrt(square / (double)n);
}

/* Classes of the 15 activities: clapping and raising the hands are one, which a waist can't tell apart, and the stairs
 * are left out, of which there are five recordings, none of them in the test. */
static const int classes[15] = {0, 1, -1, -1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* Of 15 s in 32 steps the means of the acceleration, the logarithms of its deviations and of those of the turning. */
int zoo_prepare_activities(zoo_prep *p) {
    windows parts[ZOO_PARTS] = {0};
    waist w = {0};
    for (int k = 0; k < ZOO_PARTS; k++) parts[k].width = (int64_t)WAIST_CHANNELS * STEPS;
    int code = open_waist(p, &w);
    for (int64_t i = 0; code == CLI_OK && i < w.n; i++) {
        const int activity = (int)w.activity[i];
        if (activity < 0 || activity > 14 || classes[activity] < 0) continue;
        const int part = w.is_test[i] > 0 ? ZOO_TEST : ZOO_TRAIN;
        float *to = add_window(&parts[part], classes[activity]);
        if (!to) code = CLI_FAILED;
        for (int c = 0; to && c < 6; c++)
            for (int64_t k = 0; k < STEPS; k++) {
                double mean, deviation;
                moments(w.x + (i * WAIST_CHANNELS + c) * WAIST_SAMPLES, k, &mean, &deviation);
                if (c < 3) to[c * STEPS + k] = (float)mean * w.scale[c];
                to[(3 + c) * STEPS + k] = (float)log(1e-3 + deviation * (double)w.scale[c]);
            }
        if (code == CLI_OK) code = count_person(p, &w, i, part);
    }
    if (code == CLI_OK) code = write_windows(p, parts, 0, (int64_t)WAIST_CHANNELS * STEPS);
    free_windows(parts);
    close_arrays(&w.a);
    return code;
}
