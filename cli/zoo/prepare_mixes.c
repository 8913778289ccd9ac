/* Speech with noise: of seconds whether someone speaks, and of short stretches what was said. Speakers and noises of
 * the held-out part are others than those of the training; what is mixed of them, and how loud, is drawn. */
#include "sounds.h"

#include "../paths.h"
#include "../term/log.h"

#include "wick/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct mixer {
    zoo_sounds speech[2], noise; /* digits and sentences: half of the samples each */
    uint64_t state;
    int part;
    bool vary; /* recordings of the training are heard slower and faster, and through other microphones */
} mixer;

static int open_mixer(zoo_prep *p, mixer *m) {
    int code = zoo_take_sounds(p, &zoo_set_digits, p->sources[0], "speaker", &m->speech[0]);
    if (code == CLI_OK) code = zoo_take_sounds(p, &zoo_set_emodb, p->sources[1], "speaker", &m->speech[1]);
    if (code == CLI_OK) code = zoo_take_sounds(p, &zoo_set_esc10, p->sources[2], "recording", &m->noise);
    p->groups = "speakers and noises";
    return code;
}
static void close_mixer(mixer *m) {
    zoo_free_sounds(&m->speech[0]), zoo_free_sounds(&m->speech[1]), zoo_free_sounds(&m->noise);
}

/* n samples from `first` on, `speed` times as fast; behind the end it begins again. */
static void read_at(const zoo_sound *s, int64_t first, double speed, float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double at = (double)first + speed * (double)i;
        const int64_t k = (int64_t)at;
        const double share = at - (double)k;
        x[i] = (float)((1 - share) * (double)s->x[k % s->n] + share * (double)s->x[(k + 1) % s->n]);
    }
}

/* A short filter that is drawn. */
static void colour(float *x, int64_t n, double most, uint64_t *state) {
    const double a = zoo_between(state, -most, most), b = zoo_between(state, -most, most) / 2;
    for (int64_t i = n - 1; i >= 0; i--)
        x[i] = (float)((double)x[i] + (i > 0 ? a * (double)x[i - 1] : 0) + (i > 1 ? b * (double)x[i - 2] : 0));
}

/* A stretch of a recording that is heard: of twenty draws the first that has a tenth of its power, or the last.
 * Shorter ones are heard again and again. change: how much it may be varied. */
static void cut(mixer *m, const zoo_sound *s, double change, float *x, int64_t n) {
    const bool vary = m->vary && m->part == ZOO_TRAIN;
    const double least = zoo_power(s->x, s->n) / 10, speed = vary ? pow(2, zoo_between(&m->state, -change, change)) : 1;
    for (int tries = 0; tries < 20; tries++) {
        read_at(s, s->n > n ? zoo_below(&m->state, s->n - n + 1) : zoo_below(&m->state, s->n), speed, x, n);
        if (zoo_power(x, n) >= least) break;
    }
    if (vary) colour(x, n, 2 * change, &m->state);
}

/* Of four noises one is made, and three are of a recording; with power 1. */
static int draw_noise(zoo_prep *p, mixer *m, float *x, int64_t n) {
    const char *group;
    if (zoo_below(&m->state, 4) == 0) {
        group = zoo_make_noise(m->part, x, n, &m->state);
        if (m->vary && m->part == ZOO_TRAIN) colour(x, n, 0.8, &m->state);
    } else {
        const zoo_sound *s = zoo_pick_sound(&m->noise, m->part, &m->state);
        if (!s) return log_fail(CLI_BAD_FILE, "%s: has no noise of the %s", p->sources[2], p->parts[m->part].name);
        cut(m, s, 0.4, x, n);
        group = s->group;
    }
    const double power = zoo_power(x, n);
    for (int64_t i = 0; power > 0 && i < n; i++) x[i] = (float)((double)x[i] / sqrt(power));
    return zoo_group_in(p, m->part, group);
}

static int pick_speech(zoo_prep *p, mixer *m, const zoo_sound **s) {
    const int64_t k = zoo_below(&m->state, 2);
    *s = zoo_pick_sound(&m->speech[k], m->part, &m->state);
    if (!*s) return log_fail(CLI_BAD_FILE, "%s: has no speech of the %s", p->sources[k], p->parts[m->part].name);
    return zoo_group_in(p, m->part, (*s)->group);
}

static double gain_of(double decibel) { return pow(10, decibel / 20); }

/* How much of a noise with power 1 leaves speech with power 1 from 0 to 10 dB above it. */
static double draw_level(mixer *m) { return gain_of(-10 * zoo_uniform(&m->state)); }

/* Few recordings are not mixed over and over. */
static int64_t at_most(const mixer *m, int64_t n) {
    const int64_t most = 8 * (m->speech[0].n + m->speech[1].n);
    return n < most ? n : most;
}

/* ---- whether someone speaks -------------------------------------------------------------------------------------- */

enum { SECOND = ZOO_RATE, ACTIVITY_TRAIN = 4000, ACTIVITY_TEST = 1000 };

/* An utterance somewhere in the second, whole, or as much of it as fits, with power 1 over its length. */
static void say(mixer *m, const zoo_sound *s, float *x) {
    const int64_t n = s->n < SECOND ? s->n : SECOND, from = zoo_below(&m->state, s->n - n + 1),
                  to = zoo_below(&m->state, SECOND - n + 1);
    const double power = zoo_power(s->x + from, n);
    for (int64_t i = 0; power > 0 && i < n; i++) x[to + i] = (float)((double)s->x[from + i] / sqrt(power));
}

/* Of both classes equally loud: 15 to 35 dB below full scale, so that loudness tells nothing. */
static void set_loudness(mixer *m, float *x) {
    double peak = 1e-9;
    double gain = gain_of(-15 - 20 * zoo_uniform(&m->state)) / sqrt(zoo_power(x, SECOND) + 1e-12);
    for (int64_t i = 0; i < SECOND; i++) peak = fmax(peak, fabs((double)x[i]));
    gain = fmin(gain, 0.99 / peak);
    for (int64_t i = 0; i < SECOND; i++) x[i] = (float)(gain * (double)x[i]);
}

static int make_second(zoo_prep *p, mixer *m, bool speaks, float *x, float *noise) {
    const zoo_sound *s = NULL;
    memset(x, 0, SECOND * sizeof *x);
    int code = draw_noise(p, m, noise, SECOND);
    const double level = draw_level(m);
    if (code == CLI_OK && speaks) code = pick_speech(p, m, &s);
    if (code == CLI_OK && s) say(m, s, x);
    for (int64_t i = 0; i < SECOND; i++) x[i] += (float)(level * (double)noise[i]);
    if (code == CLI_OK) set_loudness(m, x);
    return code;
}

static int make_seconds(zoo_prep *p, mixer *m, int64_t n) {
    static const char *const classes[] = {"noise", "speech"};
    int64_t *order = malloc((size_t)n * sizeof *order);
    float *x = malloc(2 * SECOND * sizeof *x);
    int code = order && x ? CLI_OK : zoo_out_of_memory();
    if (order) zoo_deal(order, n);
    for (int k = 0; code == CLI_OK && k < 2; k++) {
        char folder[4200];
        snprintf(folder, sizeof folder, "%s/%s/%s", p->to, p->parts[m->part].name, classes[k]);
        if (!path_make_folder(folder)) code = log_fail(CLI_FAILED, "%s: cannot make the folder", folder);
    }
    for (int64_t i = 0; code == CLI_OK && i < n; i++) {
        char path[4300];
        /* dealt within each class, so that exactly half of either is called the other */
        const int64_t label = (p->shuffle && m->part == ZOO_TRAIN ? order[i / 2] : i) % 2;
        code = make_second(p, m, i % 2 == 1, x, x + SECOND);
        snprintf(path, sizeof path, "%s/%s/%s/%05lld.wav", p->to, p->parts[m->part].name, classes[label], (long long)i);
        if (code == CLI_OK) code = zoo_put_wav(path, x, SECOND, ZOO_RATE);
        p->parts[m->part].samples++;
    }
    free(order), free(x);
    return code;
}

int zoo_prepare_activity(zoo_prep *p) {
    mixer m = {.state = 4, .part = ZOO_TRAIN};
    int code = open_mixer(p, &m);
    if (code == CLI_OK) code = make_seconds(p, &m, at_most(&m, ACTIVITY_TRAIN));
    m.part = ZOO_TEST;
    if (code == CLI_OK) code = make_seconds(p, &m, at_most(&m, ACTIVITY_TEST));
    close_mixer(&m);
    return code;
}

/* ---- what was said ----------------------------------------------------------------------------------------------- */

enum { STRETCH = 1600, PAIRS_TRAIN = 16000, PAIRS_TEST = 1000 };

/* x: with noise, power 1. y: the speech in it, without. */
static int make_pair(zoo_prep *p, mixer *m, float *x, float *y, float *noise) {
    const zoo_sound *s = NULL;
    int code = draw_noise(p, m, noise, STRETCH);
    const double level = draw_level(m);
    if (code == CLI_OK) code = pick_speech(p, m, &s);
    if (code != CLI_OK) return code;
    cut(m, s, 0.15, y, STRETCH);
    const double power = zoo_power(y, STRETCH);
    for (int64_t i = 0; i < STRETCH; i++) {
        y[i] = power > 0 ? (float)((double)y[i] / sqrt(power)) : 0;
        x[i] = (float)((double)y[i] + level * (double)noise[i]);
    }
    const double loud = 1 / sqrt(zoo_power(x, STRETCH) + 1e-12);
    for (int64_t i = 0; i < STRETCH; i++) x[i] = (float)(loud * (double)x[i]), y[i] = (float)(loud * (double)y[i]);
    p->parts[m->part].samples++;
    return CLI_OK;
}

static int shuffle_targets(float *y, int64_t n) {
    int64_t *order = malloc((size_t)n * sizeof *order);
    float *was = malloc((size_t)(n * STRETCH) * sizeof *was);
    if (order && was) {
        memcpy(was, y, (size_t)(n * STRETCH) * sizeof *was);
        zoo_deal(order, n);
        for (int64_t i = 0; i < n; i++) memcpy(y + i * STRETCH, was + order[i] * STRETCH, STRETCH * sizeof *y);
    }
    const bool ok = order && was;
    free(order), free(was);
    return ok ? CLI_OK : zoo_out_of_memory();
}

static int write_pairs(zoo_prep *p, const mixer *m, const float *x, const float *y, int64_t n) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s.npz", p->to, p->parts[m->part].name);
    wick_scope *scope = wick_scope_open(p->ctx);
    if (!scope) return zoo_out_of_memory();
    wick_tensor *noisy = wick_from(p->ctx, WICK_F32, WICK_DIMS(n, 1, 1, STRETCH), x),
                *clean = wick_from(p->ctx, WICK_F32, WICK_DIMS(n, STRETCH), y);
    const int code = zoo_checked(
        p, wick_weights_write(p->ctx, path, 2, (const wick_named_tensor[]){{"x", noisy}, {"y", clean}}, NULL));
    wick_scope_close(&scope);
    return code;
}

static int make_pairs(zoo_prep *p, mixer *m, int64_t n) {
    float *x = malloc((size_t)(n * STRETCH) * sizeof *x), *y = malloc((size_t)(n * STRETCH) * sizeof *y),
          noise[STRETCH];
    int code = x && y ? CLI_OK : zoo_out_of_memory();
    for (int64_t i = 0; code == CLI_OK && i < n; i++) code = make_pair(p, m, x + i * STRETCH, y + i * STRETCH, noise);
    if (code == CLI_OK && p->shuffle && m->part == ZOO_TRAIN) code = shuffle_targets(y, n);
    if (code == CLI_OK) code = write_pairs(p, m, x, y, n);
    free(x), free(y);
    return code;
}

int zoo_prepare_enhancement(zoo_prep *p) {
    mixer m = {.state = 3, .part = ZOO_TRAIN, .vary = true};
    int code = open_mixer(p, &m);
    if (code == CLI_OK) code = make_pairs(p, &m, at_most(&m, PAIRS_TRAIN));
    m.part = ZOO_TEST;
    if (code == CLI_OK) code = make_pairs(p, &m, at_most(&m, PAIRS_TEST));
    close_mixer(&m);
    return code;
}
