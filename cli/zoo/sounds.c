/* Recordings and noises: docs/zoo.md says what is mixed of them. */
#include "sounds.h"

#include "../term/log.h"

#include "wick/data.h"
#include "wick/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

double zoo_power(const float *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return n ? sum / (double)n : 0;
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

/* Frames of 20 ms that are at least a thirtieth of the loudest one's amplitude are heard. */
enum { FRAME = ZOO_RATE / 50 };
static void trim(const float *x, int64_t n, int64_t *first, int64_t *last) {
    double most = 0;
    for (int64_t i = 0; i + FRAME <= n; i += FRAME) most = fmax(most, zoo_power(x + i, FRAME));
    *first = n, *last = 0;
    for (int64_t i = 0; most > 0 && i + FRAME <= n; i += FRAME) {
        if (zoo_power(x + i, FRAME) < most / 900) continue;
        if (i < *first) *first = i;
        *last = i + FRAME;
    }
}

static int add_sound(zoo_prep *p, const wick_file *file, int part, const char *group, zoo_sounds *to) {
    wick_audio *audio;
    int64_t first, last;
    int code = zoo_checked(p, wick_audio_decode(p->ctx, file->data, file->size, file->name, 1, &audio));
    if (code != CLI_OK) return code;
    if (wick_audio_rate(audio) != ZOO_RATE)
        code = log_fail(CLI_BAD_FILE, "%s: has %lld samples a second, and those of the set %d", file->name,
                        (long long)wick_audio_rate(audio), ZOO_RATE);
    if (code == CLI_OK && to->n == to->room) {
        const int64_t room = to->room ? 2 * to->room : 256;
        void *list = realloc(to->list, (size_t)room * sizeof *to->list);
        if (list) to->list = list, to->room = room;
        if (!list) code = zoo_out_of_memory();
    }
    if (code == CLI_OK) trim(wick_audio_samples(audio, 0), wick_audio_length(audio), &first, &last);
    if (code == CLI_OK && first < last) {
        zoo_sound *s = &to->list[to->n];
        *s = (zoo_sound){.n = last - first, .part = part, .x = malloc((size_t)(last - first) * sizeof(float))};
        snprintf(s->group, sizeof s->group, "%.47s", group);
        if (s->x) memcpy(s->x, wick_audio_samples(audio, 0) + first, (size_t)s->n * sizeof *s->x), to->n++;
        if (!s->x) code = zoo_out_of_memory();
    }
    wick_audio_free(&audio);
    return code;
}

int zoo_take_sounds(zoo_prep *p, const zoo_set *set, const char *path, const char *what, zoo_sounds *to) {
    wick_files *files;
    const int64_t before = to->n;
    int code = zoo_checked(p, wick_files_open(p->ctx, path, &(wick_files_options){.all = true}, &files));
    for (bool more = code == CLI_OK; code == CLI_OK && more;) {
        wick_file file;
        char name[ZOO_GROUP], group[ZOO_GROUP];
        int part;
        code = zoo_checked(p, wick_files_next(files, &file, &more));
        if (code != CLI_OK || !more || !zoo_place(set, &file, &part, name)) continue;
        snprintf(group, sizeof group, "%.9s %.37s", what, name);
        code = add_sound(p, &file, part, group, to);
    }
    wick_files_free(&files);
    if (code == CLI_OK && to->n == before)
        code = log_fail(CLI_BAD_FILE, "%s: has no recording that is called as those of the set are", path);
    return code;
}

void zoo_free_sounds(zoo_sounds *s) {
    for (int64_t i = 0; i < s->n; i++) free(s->list[i].x);
    free(s->list);
    *s = (zoo_sounds){0};
}

const zoo_sound *zoo_pick_sound(const zoo_sounds *s, int part, uint64_t *state) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) n += s->list[i].part == part;
    int64_t k = n ? zoo_below(state, n) : 0;
    for (int64_t i = 0; n && i < s->n; i++)
        if (s->list[i].part == part && k-- == 0) return &s->list[i];
    return NULL;
}

/* ---- noises that are made ---------------------------------------------------------------------------------------- */

static double gauss(uint64_t *state) { /* Box and Muller 1958 */
    return sqrt(-2 * log(1 - zoo_uniform(state))) * cos(2 * PI * zoo_uniform(state));
}

static void white(float *x, int64_t n, uint64_t *state) {
    for (int64_t i = 0; i < n; i++) x[i] = (float)gauss(state);
}
static void brown(float *x, int64_t n, uint64_t *state) {
    double v = 0;
    for (int64_t i = 0; i < n; i++) x[i] = (float)(v = 0.98 * v + gauss(state));
}
/* Harmonics of the mains, the higher the fainter. */
static void hum(float *x, int64_t n, uint64_t *state) {
    const double f = zoo_uniform(state) < 0.5 ? 50 : 60, tilt = 0.5 + zoo_uniform(state);
    double phase[40];
    for (int k = 0; k < 40; k++) phase[k] = 2 * PI * zoo_uniform(state);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.02 * gauss(state);
        for (int k = 0; k < 40; k++)
            sum += sin(2 * PI * f * (k + 1) * (double)i / ZOO_RATE + phase[k]) / pow(k + 1, tilt);
        x[i] = (float)sum;
    }
}
static void clicks(float *x, int64_t n, uint64_t *state) {
    const double rate = 5 + 60 * zoo_uniform(state), fade = 0.9 + 0.09 * zoo_uniform(state);
    double level = 0;
    for (int64_t i = 0; i < n; i++) {
        level *= fade;
        if (zoo_uniform(state) < rate / ZOO_RATE) level += 0.2 + zoo_uniform(state);
        x[i] = (float)((level + 0.01) * gauss(state));
    }
}
/* Low noise that swells and falls. */
static void gusts(float *x, int64_t n, uint64_t *state) {
    const double f = 0.5 + 2 * zoo_uniform(state), phase = 2 * PI * zoo_uniform(state);
    double a = 0, b = 0;
    for (int64_t i = 0; i < n; i++) {
        a = 0.9 * a + gauss(state), b = 0.9 * b + a;
        x[i] = (float)(b * (1.2 + sin(2 * PI * f * (double)i / ZOO_RATE + phase)));
    }
}
static void pink(float *x, int64_t n, uint64_t *state) { /* the sum of leaky integrators, a decade apart */
    double a = 0, b = 0, c = 0;
    for (int64_t i = 0; i < n; i++) {
        const double w = gauss(state);
        a = 0.997 * a + 0.03 * w, b = 0.963 * b + 0.1 * w, c = 0.57 * c + 0.35 * w;
        x[i] = (float)(a + b + c + 0.1 * w);
    }
}
/* Harmonics of a speed that wanders. */
static void motor(float *x, int64_t n, uint64_t *state) {
    double f = 25 + 60 * zoo_uniform(state), turn = zoo_uniform(state), level[30];
    for (int k = 0; k < 30; k++) level[k] = zoo_uniform(state) / sqrt(k + 1);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.1 * gauss(state);
        f += 0.02 * gauss(state);
        turn += f / ZOO_RATE;
        for (int k = 0; k < 30; k++) sum += level[k] * sin(2 * PI * (k + 1) * turn + k * k);
        x[i] = (float)sum;
    }
}
static void hiss(float *x, int64_t n, uint64_t *state) {
    double before = gauss(state);
    for (int64_t i = 0; i < n; i++) {
        const double w = gauss(state);
        x[i] = (float)(w - 0.9 * before);
        before = w;
    }
}

static const struct {
    const char *name;
    int part;
    void (*make)(float *x, int64_t n, uint64_t *state);
} noises[] = {{"made white", ZOO_TRAIN, white},   {"made brown", ZOO_TRAIN, brown}, {"made hum", ZOO_TRAIN, hum},
              {"made clicks", ZOO_TRAIN, clicks}, {"made gusts", ZOO_TRAIN, gusts}, {"made pink", ZOO_TEST, pink},
              {"made motor", ZOO_TEST, motor},    {"made hiss", ZOO_TEST, hiss}};

const char *zoo_make_noise(int part, float *x, int64_t n, uint64_t *state) {
    enum { KINDS = (int)(sizeof noises / sizeof *noises) };
    int k;
    do k = (int)zoo_below(state, KINDS);
    while (noises[k].part != part);
    noises[k].make(x, n, state);
    return noises[k].name;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void put_little(uint8_t *to, uint32_t v, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(v >> 8 * i);
}

int zoo_put_wav(const char *path, const float *x, int64_t n, int rate) {
    const uint32_t size = (uint32_t)(2 * n);
    uint8_t *bytes = malloc(44 + (size_t)size);
    if (!bytes) return zoo_out_of_memory();
    memcpy(bytes, "RIFF....WAVEfmt ", 16);
    put_little(bytes + 4, 36 + size, 4);
    put_little(bytes + 16, 16, 4);
    put_little(bytes + 20, 1, 2), put_little(bytes + 22, 1, 2); /* PCM, one channel */
    put_little(bytes + 24, (uint32_t)rate, 4), put_little(bytes + 28, 2 * (uint32_t)rate, 4);
    put_little(bytes + 32, 2, 2), put_little(bytes + 34, 16, 2);
    memcpy(bytes + 36, "data", 4);
    put_little(bytes + 40, size, 4);
    for (int64_t i = 0; i < n; i++) {
        const double v = fmax(-32768, fmin(32767, floor(32768 * (double)x[i] + 0.5)));
        put_little(bytes + 44 + 2 * i, (uint32_t)(int32_t)v, 2);
    }
    const int code = zoo_put(path, bytes, 44 + (size_t)size);
    free(bytes);
    return code;
}
