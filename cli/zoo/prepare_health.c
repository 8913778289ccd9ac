/* Hearts that are made here: five seconds of an ECG and of the pulse as light sees it at a finger, of persons who
 * differ in all that their curves are made of. A beat of the ECG is a sum of bell curves, as in McSharry et al. 2003 (A
 * dynamical model for generating synthetic electrocardiogram signals); that of the pulse is one with its reflection. */
#include "zoo.h"

#include "wick/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ECG = 250, /* 50 a second */
    PULSE = 100,
    BOTH = ECG + PULSE,
    PERSONS = 240,
    HELD_OUT = 40, /* the last of them */
    WINDOWS = 50,  /* of a person */
    MOST_BEATS = 32,
    NUMBERS = 2
};
#define SECONDS 5.0
#define BEFORE  2.5 /* seconds before the window, whose last beats reach into it */

typedef enum rhythm { SINUS, FIBRILLATION, ECTOPIC, RHYTHMS } rhythm;
typedef struct person {
    double rate, breath, p, r, t, width, transit, reflection;
} person;
typedef struct beat {
    double at, before; /* seconds; since the one before */
    bool early;        /* from the ventricle: wide, and without a P wave */
} beat;
typedef struct heart {
    float *x;                  /* [n, BOTH] */
    float *numbers;            /* [n, NUMBERS]: beats a minute, and milliseconds from the R wave to the pulse */
    int64_t *rhythm, *quality; /* quality 0: noisy, 1: good */
    int64_t n;
} heart;

static double uniform(uint64_t *state, double low, double high) {
    return low + (high - low) * (double)(zoo_random(state) >> 11) * 0x1p-53;
}
/* Box and Muller 1958 */
static double normal(uint64_t *state) {
    const double u = uniform(state, 0, 1), v = uniform(state, 0, 1);
    return sqrt(-2 * log(1 - u)) * cos(2 * acos(-1) * v);
}
static double bell(double t, double center, double width) {
    const double d = (t - center) / width;
    return d > -6 && d < 6 ? exp(-d * d / 2) : 0;
}

static person make_person(uint64_t *state) {
    return (person){.rate = uniform(state, 52, 100),
                    .breath = uniform(state, 0.18, 0.33),
                    .p = uniform(state, 0.08, 0.2),
                    .r = uniform(state, 0.8, 1.5),
                    .t = uniform(state, 0.15, 0.4),
                    .width = uniform(state, 0.013, 0.02),
                    .transit = uniform(state, 0.16, 0.32),
                    .reflection = uniform(state, 0.2, 0.5)};
}

/* Beats from before the window to behind it; how many. */
static int make_beats(const person *p, rhythm kind, double rate, uint64_t *state, beat beats[MOST_BEATS]) {
    const double mean = 60 / rate, phase = uniform(state, 0, 6.28), early = uniform(state, 1, SECONDS - 1.6);
    double at = -BEFORE + uniform(state, 0, mean), rest = 0;
    bool done = kind != ECTOPIC;
    int n = 0;
    beats[n++] = (beat){at, mean, false};
    while (at < SECONDS && n < MOST_BEATS) {
        double gap = mean * (1 + 0.03 * sin(6.28 * p->breath * at + phase) + 0.01 * normal(state)) + rest;
        rest = 0;
        if (kind == FIBRILLATION) gap = mean * fmin(1.9, fmax(0.5, exp(0.22 * normal(state))));
        bool now = false;
        if (!done && at + gap > early) { /* a beat that comes early, and a pause behind it */
            rest = gap * uniform(state, 0.25, 0.4);
            gap -= rest;
            done = now = true;
        }
        at += gap;
        beats[n++] = (beat){at, gap, now};
    }
    return n;
}

static double ecg_at(const person *p, rhythm kind, const beat *beats, int n, double t) {
    double v = 0;
    for (int i = 0; i < n; i++) {
        const double d = t - beats[i].at, wide = beats[i].early ? 2.6 : 1;
        if (kind != FIBRILLATION && !beats[i].early) v += p->p * bell(d, -0.16, 0.025);
        v -= 0.12 * p->r * bell(d, -0.03 * wide, p->width * wide);
        v += p->r * bell(d, 0, p->width * wide) * (beats[i].early ? 1.2 : 1);
        v -= 0.2 * p->r * bell(d, 0.03 * wide, p->width * wide);
        v += (beats[i].early ? -1 : 1) * p->t * bell(d, 0.3 * sqrt(60 / p->rate), 0.05);
    }
    return v;
}

/* A beat that comes soon after the one before has less blood to move. */
static double pulse_at(const person *p, const beat *beats, int n, double mean, double transit, double t) {
    double v = 0;
    for (int i = 0; i < n; i++) {
        const double d = t - beats[i].at - transit, full = fmin(1.3, fmax(0.3, 2 * beats[i].before / mean - 1));
        v += full * (bell(d, 0.12, 0.07) + p->reflection * bell(d, 0.36, 0.1));
    }
    return v;
}

/* Beats a minute of those within the window. */
static double rate_of(const beat *beats, int n) {
    int first = -1, last = -1;
    for (int i = 0; i < n; i++)
        if (beats[i].at >= 0 && beats[i].at < SECONDS) last = i, first = first < 0 ? i : first;
    return last > first ? 60 * (last - first) / (beats[last].at - beats[first].at) : NAN;
}

static void make_window(const person *p, uint64_t *state, heart *h) {
    const int64_t i = h->n++;
    beat beats[MOST_BEATS];
    const rhythm kind = (rhythm)(zoo_random(state) % RHYTHMS);
    const bool good = zoo_random(state) % 2;
    const double rate = p->rate * uniform(state, 0.9, 1.3), transit = p->transit * uniform(state, 0.9, 1.1),
                 noise = good ? uniform(state, 0.01, 0.04) : uniform(state, 0.1, 0.2), phase = uniform(state, 0, 6.28),
                 trembling = kind == FIBRILLATION ? uniform(state, 0.03, 0.07) : 0, fast = uniform(state, 5, 8);
    const int n = make_beats(p, kind, rate, state, beats);
    float *to = h->x + i * BOTH;
    for (int k = 0; k < ECG; k++) {
        const double t = k * SECONDS / ECG;
        to[k] = (float)(ecg_at(p, kind, beats, n, t) + 0.1 * sin(6.28 * p->breath * t + phase) +
                        trembling * sin(6.28 * fast * t + phase + sin(3 * t)) + noise * normal(state));
    }
    for (int k = 0; k < PULSE; k++) {
        const double t = k * SECONDS / PULSE;
        to[ECG + k] = (float)(pulse_at(p, beats, n, 60 / rate, transit, t) + 0.1 * sin(6.28 * p->breath * t + phase) +
                              noise * normal(state));
    }
    h->numbers[i * NUMBERS] = (float)rate_of(beats, n);
    h->numbers[i * NUMBERS + 1] = (float)(1000 * transit);
    h->rhythm[i] = kind;
    h->quality[i] = good;
}

static int shuffle(heart *h) {
    int64_t *order = malloc((size_t)h->n * sizeof *order), *was = malloc(2 * (size_t)h->n * sizeof *was);
    float *numbers = malloc((size_t)h->n * NUMBERS * sizeof *numbers);
    const bool ok = order && was && numbers;
    if (ok) {
        zoo_deal(order, h->n);
        memcpy(was, h->rhythm, (size_t)h->n * sizeof *was);
        memcpy(was + h->n, h->quality, (size_t)h->n * sizeof *was);
        memcpy(numbers, h->numbers, (size_t)h->n * NUMBERS * sizeof *numbers);
        for (int64_t i = 0; i < h->n; i++) {
            h->rhythm[i] = was[order[i]], h->quality[i] = was[h->n + order[i]];
            memcpy(h->numbers + i * NUMBERS, numbers + order[i] * NUMBERS, NUMBERS * sizeof *numbers);
        }
    }
    free(order), free(was), free(numbers);
    return ok ? CLI_OK : zoo_out_of_memory();
}

static int write_part(zoo_prep *p, int which, heart *h) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s.npz", p->to, p->parts[which].name);
    int code = p->shuffle && which == ZOO_TRAIN ? shuffle(h) : CLI_OK;
    wick_scope *scope = code == CLI_OK ? wick_scope_open(p->ctx) : NULL;
    if (!scope) return code != CLI_OK ? code : zoo_out_of_memory();
    wick_tensor *numbers = wick_from(p->ctx, WICK_F32, WICK_DIMS(h->n, NUMBERS), h->numbers);
    const wick_named_tensor all[] = {{"x", wick_from(p->ctx, WICK_F32, WICK_DIMS(h->n, 1, 1, BOTH), h->x)},
                                     {"pulse", wick_slice(numbers, 1, 0, 1, 1)},
                                     {"transit", wick_slice(numbers, 1, 1, 2, 1)},
                                     {"rhythm", wick_from(p->ctx, WICK_I64, WICK_DIMS(h->n), h->rhythm)},
                                     {"quality", wick_from(p->ctx, WICK_I64, WICK_DIMS(h->n), h->quality)}};
    code = zoo_checked(p, wick_weights_write(p->ctx, path, sizeof all / sizeof *all, all, NULL));
    wick_scope_close(&scope);
    return code;
}

int zoo_prepare_health(zoo_prep *p) {
    int code = CLI_OK;
    p->groups = "persons";
    for (int which = ZOO_TRAIN; which <= ZOO_TEST && code == CLI_OK; which += ZOO_TEST - ZOO_TRAIN) {
        const int first = which == ZOO_TRAIN ? 0 : PERSONS - HELD_OUT,
                  end = which == ZOO_TRAIN ? PERSONS - HELD_OUT : PERSONS;
        const size_t most = (size_t)(end - first) * WINDOWS;
        heart h = {.x = malloc(most * BOTH * sizeof *h.x),
                   .numbers = malloc(most * NUMBERS * sizeof *h.numbers),
                   .rhythm = malloc(most * sizeof *h.rhythm),
                   .quality = malloc(most * sizeof *h.quality)};
        if (!h.x || !h.numbers || !h.rhythm || !h.quality) code = zoo_out_of_memory();
        for (int k = first; k < end && code == CLI_OK; k++) {
            uint64_t state = 4000 + (uint64_t)k;
            char group[ZOO_GROUP];
            const person who = make_person(&state);
            snprintf(group, sizeof group, "made %d", k);
            for (int i = 0; i < WINDOWS && code == CLI_OK; i++) {
                make_window(&who, &state, &h);
                code = zoo_count_in(p, which, group);
            }
        }
        if (code == CLI_OK) code = write_part(p, which, &h);
        free(h.x), free(h.numbers), free(h.rhythm), free(h.quality);
    }
    return code;
}
