/* How persons walk, jog and hop, by a sensor at the waist (UMAFall): windows of ten seconds with what kind of gait it
 * is, and what the whole recording of 15 s says of cadence, strength and regularity. */
#include "zoo.h"

#include "../term/log.h"

#include "wick/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHANNELS = 6, /* acceleration and turning */
    RECORDED = 9,
    SAMPLES = 300,
    RATE = 20,
    WINDOW = 200,
    LEAST_LAG = 6, /* of a step: 200 a minute */
    MOST_LAG = 16, /* 75 a minute */
    COPIES = 40    /* of a recording of the training */
};
#define TURN_UNIT        100  /* degrees a second */
#define LEAST_REGULARITY 0.25 /* of a gait that has a cadence */

typedef struct gait {
    float cadence, strength, regularity; /* steps a minute; log of the deviation in g; autocorrelation at a step */
} gait;
typedef struct part {
    float *x; /* [n, CHANNELS, 1, WINDOW] */
    int64_t *type;
    gait *of;
    int64_t n, room;
} part;
typedef struct recordings {
    const float *x, *scale, *person, *activity, *is_test;
    int64_t n;
} recordings;

/* The first peak of the autocorrelation of |acceleration| that is nearly the highest is a step; a parabola through it
 * and its neighbours says where between the samples. false: there is none. */
static bool measure(const float x[CHANNELS][SAMPLES], gait *to) {
    double m[SAMPLES], mean = 0, at[MOST_LAG + 2], square = 0;
    for (int t = 0; t < SAMPLES; t++) {
        m[t] = sqrt((double)(x[0][t] * x[0][t] + x[1][t] * x[1][t] + x[2][t] * x[2][t]));
        mean += m[t] / SAMPLES;
    }
    for (int t = 0; t < SAMPLES; t++) m[t] -= mean, square += m[t] * m[t] / SAMPLES;
    for (int k = LEAST_LAG - 1; k <= MOST_LAG + 1; k++) {
        at[k] = 0;
        for (int t = 0; t + k < SAMPLES; t++) at[k] += m[t] * m[t + k] / (SAMPLES - k);
        at[k] /= square;
    }
    double highest = 0;
    for (int k = LEAST_LAG; k <= MOST_LAG; k++)
        if (at[k] > at[k - 1] && at[k] >= at[k + 1]) highest = fmax(highest, at[k]);
    for (int k = LEAST_LAG; k <= MOST_LAG; k++) {
        if (!(at[k] > at[k - 1] && at[k] >= at[k + 1] && at[k] >= 0.75 * highest)) continue;
        const double off = 0.5 * (at[k - 1] - at[k + 1]) / (at[k - 1] - 2 * at[k] + at[k + 1]);
        to->cadence = (float)(60.0 * RATE / (k + off));
        to->strength = (float)log(sqrt(square));
        to->regularity = (float)at[k];
        return highest >= LEAST_REGULARITY;
    }
    return false;
}

static double uniform(uint64_t *state) { return (double)(zoo_random(state) >> 11) * 0x1p-53; }
/* Box and Muller 1958 */
static double normal(uint64_t *state) {
    const double u = uniform(state), v = uniform(state);
    return sqrt(-2 * log(1 - u)) * cos(2 * acos(-1) * v);
}

/* q becomes the rotation by an angle about an axis (Rodrigues), after q. */
static void rotate(double q[9], const double axis[3], double angle) {
    const double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]) + 1e-12, x = axis[0] / length,
                 y = axis[1] / length, z = axis[2] / length, c = cos(angle), s = sin(angle), d = 1 - c;
    const double r[9] = {c + x * x * d,     x * y * d - z * s, x * z * d + y * s, y * x * d + z * s, c + y * y * d,
                         y * z * d - x * s, z * x * d - y * s, z * y * d + x * s, c + z * z * d};
    double was[9];
    memcpy(was, q, sizeof was);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            q[3 * i + k] = 0;
            for (int j = 0; j < 3; j++) q[3 * i + k] += r[3 * i + j] * was[3 * j + k];
        }
}

static bool make_room(part *p) {
    if (p->n < p->room) return true;
    const int64_t room = p->room ? 2 * p->room : 256;
    float *x = realloc(p->x, (size_t)room * CHANNELS * WINDOW * sizeof *x);
    if (x) p->x = x;
    int64_t *type = realloc(p->type, (size_t)room * sizeof *type);
    if (type) p->type = type;
    gait *of = realloc(p->of, (size_t)room * sizeof *of);
    if (of) p->of = of;
    if (x && type && of) p->room = room;
    return x && type && of;
}

/* A window from `first` on, `faster` than it was, with the sensor turned by q. */
static int add(part *p, const float x[CHANNELS][SAMPLES], int64_t type, const gait *of, double first, double faster,
               const double q[9]) {
    if (!make_room(p)) return zoo_out_of_memory();
    float *to = p->x + p->n * CHANNELS * WINDOW;
    for (int t = 0; t < WINDOW; t++) {
        const double at = fmin(first + t * faster, SAMPLES - 1.001);
        const int k = (int)at;
        double v[CHANNELS];
        for (int c = 0; c < CHANNELS; c++) v[c] = (double)x[c][k] + (at - k) * (double)(x[c][k + 1] - x[c][k]);
        for (int c = 0; c < CHANNELS; c++)
            to[c * WINDOW + t] = (float)(q[3 * (c % 3)] * v[c / 3 * 3] + q[3 * (c % 3) + 1] * v[c / 3 * 3 + 1] +
                                         q[3 * (c % 3) + 2] * v[c / 3 * 3 + 2]);
    }
    p->type[p->n] = type;
    p->of[p->n] = *of;
    p->of[p->n++].cadence *= (float)faster;
    return CLI_OK;
}

/* Of the test three windows as they are; of the training copies, slower or faster by up to a quarter, with the sensor
 * worn elsewhere around the waist and a little tilted. */
static int add_recording(zoo_prep *p, const float x[CHANNELS][SAMPLES], int64_t type, const gait *of, int which,
                         const char *group, uint64_t *state, part *to) {
    int code = CLI_OK;
    for (int k = 0; k < (which == ZOO_TEST ? 3 : COPIES) && code == CLI_OK; k++) {
        double q[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, first = k * 50, faster = 1;
        if (which == ZOO_TRAIN) {
            double down[3] = {0};
            for (int c = 0; c < 3; c++)
                for (int t = 0; t < SAMPLES; t++) down[c] += (double)x[c][t];
            rotate(q, down, 0.5 * normal(state));
            const double tilt[3] = {normal(state), normal(state), normal(state)};
            rotate(q, tilt, 0.15 * normal(state));
            faster = 0.75 + 0.5 * uniform(state);
            first = uniform(state) * (SAMPLES - 1 - WINDOW * faster);
        }
        code = add(to, x, type, of, first, faster, q);
        if (code == CLI_OK) code = zoo_count_in(p, which, group);
    }
    return code;
}

static int shuffle(part *p) {
    int64_t *order = malloc((size_t)(p->n + 1) * sizeof *order), *type = malloc((size_t)(p->n + 1) * sizeof *type);
    gait *of = malloc((size_t)(p->n + 1) * sizeof *of);
    const bool ok = order && type && of;
    if (ok) {
        memcpy(type, p->type, (size_t)p->n * sizeof *type);
        memcpy(of, p->of, (size_t)p->n * sizeof *of);
        zoo_deal(order, p->n);
        for (int64_t i = 0; i < p->n; i++) p->type[i] = type[order[i]], p->of[i] = of[order[i]];
    }
    free(order), free(type), free(of);
    return ok ? CLI_OK : zoo_out_of_memory();
}

static int write_part(zoo_prep *p, int which, part *of) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s.npz", p->to, p->parts[which].name);
    int code = p->shuffle && which == ZOO_TRAIN ? shuffle(of) : CLI_OK;
    wick_scope *scope = code == CLI_OK ? wick_scope_open(p->ctx) : NULL;
    if (!scope) return code != CLI_OK ? code : zoo_out_of_memory();
    wick_tensor *numbers = wick_from(p->ctx, WICK_F32, WICK_DIMS(of->n, 3), of->of);
    const wick_named_tensor all[] = {{"x", wick_from(p->ctx, WICK_F32, WICK_DIMS(of->n, CHANNELS, 1, WINDOW), of->x)},
                                     {"type", wick_from(p->ctx, WICK_I64, WICK_DIMS(of->n), of->type)},
                                     {"cadence", wick_slice(numbers, 1, 0, 1, 1)},
                                     {"strength", wick_slice(numbers, 1, 1, 2, 1)},
                                     {"regularity", wick_slice(numbers, 1, 2, 3, 1)}};
    code = zoo_checked(p, wick_weights_write(p->ctx, path, sizeof all / sizeof *all, all, NULL));
    wick_scope_close(&scope);
    return code;
}

/* An array as f32, while the scope lives; dims of 0 are filled in. */
static int take(zoo_prep *p, const wick_weights *file, const char *name, int rank, int64_t *dims, const float **out) {
    const int i = wick_weights_find(file, name);
    if (i < 0) return log_fail(CLI_BAD_FILE, "%s: has no array \"%s\"", p->source, name);
    const wick_spec spec = wick_weights_at(file, i);
    bool fits = spec.rank == rank;
    for (int d = 0; fits && d < rank; d++) fits = dims[d] ? spec.dims[d] == dims[d] : (dims[d] = spec.dims[d], true);
    if (!fits) return log_fail(CLI_BAD_FILE, "%s: \"%s\" has another shape than the set's", p->source, name);
    const void *data;
    const int code = zoo_checked(p, wick_data(wick_cast(wick_weights_tensor(file, i), WICK_F32), &data));
    *out = code == CLI_OK ? data : NULL;
    return code;
}

static int take_all(zoo_prep *p, const wick_weights *file, recordings *r) {
    int64_t dims[3] = {0, RECORDED, SAMPLES}, channels = RECORDED;
    int code = take(p, file, "x", 3, dims, &r->x);
    r->n = dims[0];
    if (code == CLI_OK) code = take(p, file, "scale", 1, &channels, &r->scale);
    if (code == CLI_OK) code = take(p, file, "person", 1, dims, &r->person);
    if (code == CLI_OK) code = take(p, file, "activity", 1, dims, &r->activity);
    if (code == CLI_OK) code = take(p, file, "is_test", 1, dims, &r->is_test);
    return code;
}

/* 0 walking, 1 jogging, 2 hopping; -1: something else */
static int64_t type_of(float activity) { return activity == 11 ? 0 : activity == 6 ? 1 : activity == 5 ? 2 : -1; }

static int add_all(zoo_prep *p, const recordings *r, part parts[ZOO_PARTS]) {
    uint64_t state = 8;
    int code = CLI_OK;
    long long unmeasured = 0;
    for (int64_t i = 0; i < r->n && code == CLI_OK; i++) {
        float x[CHANNELS][SAMPLES];
        gait of;
        char group[ZOO_GROUP];
        const int64_t type = type_of(r->activity[i]);
        if (type < 0) continue;
        for (int c = 0; c < CHANNELS; c++)
            for (int t = 0; t < SAMPLES; t++)
                x[c][t] = r->x[(i * RECORDED + c) * SAMPLES + t] * r->scale[c] / (c < 3 ? 1 : TURN_UNIT);
        if (!measure((const float(*)[SAMPLES])x, &of)) {
            unmeasured++;
            continue;
        }
        const int which = r->is_test[i] > 0 ? ZOO_TEST : ZOO_TRAIN;
        snprintf(group, sizeof group, "%d", (int)r->person[i]);
        code = add_recording(p, (const float(*)[SAMPLES])x, type, &of, which, group, &state, &parts[which]);
    }
    if (unmeasured) log_note("  %lld recordings without a step that comes again are left out", unmeasured);
    return code;
}

int zoo_prepare_gait(zoo_prep *p) {
    part parts[ZOO_PARTS] = {0};
    recordings r;
    wick_weights *file = NULL;
    p->groups = "persons";
    int code = zoo_checked(p, wick_weights_open(p->ctx, p->source, &file));
    wick_scope *scope = code == CLI_OK ? wick_scope_open(p->ctx) : NULL;
    if (code == CLI_OK && !scope) code = zoo_out_of_memory();
    if (code == CLI_OK) code = take_all(p, file, &r);
    if (code == CLI_OK) code = add_all(p, &r, parts);
    for (int k = 0; k < ZOO_PARTS && code == CLI_OK; k++)
        if (parts[k].n) code = write_part(p, k, &parts[k]);
    for (int k = 0; k < ZOO_PARTS; k++) free(parts[k].x), free(parts[k].type), free(parts[k].of);
    if (scope) wick_scope_close(&scope);
    wick_weights_free(&file);
    return code;
}
