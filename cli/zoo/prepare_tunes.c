/* Pieces of music of ten traditions, as notes: stretches of them are played, each in a timbre, a tempo and a key that
 * are drawn. Held out are other tunes, in other timbres. */
#include "sounds.h"

#include "../paths.h"
#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

enum {
    QUARTER = 24 /* of a note's onset and length */,
    RATE = 4000,
    SAMPLES = 50800,
    TRAIN_EACH = 250,
    TEST_EACH = 40
};
enum { TRADITIONS = 10, HARMONICS = 16, TABLE = 4096, MOST_NOTES = 4096 };

typedef struct note {
    int32_t at, length, pitch;
} note;
typedef struct piece {
    int tradition, part;
    char tune[ZOO_GROUP];
    note *notes;
    int64_t n, end; /* end: of the last note */
} piece;
typedef struct book {
    piece *pieces;
    int64_t n;
    char traditions[TRADITIONS][16];
    int n_traditions;
} book;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int tradition_of(book *b, const char *name, size_t length) {
    for (int k = 0; k < b->n_traditions; k++)
        if (strlen(b->traditions[k]) == length && memcmp(b->traditions[k], name, length) == 0) return k;
    if (b->n_traditions == TRADITIONS || length >= sizeof b->traditions[0] || !length) return -1;
    memcpy(b->traditions[b->n_traditions], name, length);
    return b->n_traditions++;
}

/* ONSET:LENGTH:PITCH; false: it is not. Of a note all numbers are small, and it sounds. */
static bool read_note(const char **s, note *to) {
    const long most[] = {1 << 20, 1 << 16, 127}, least[] = {0, 1, 0};
    int32_t *const values[] = {&to->at, &to->length, &to->pitch};
    for (int k = 0; k < 3; k++) {
        char *end;
        if (**s < '0' || **s > '9') return false;
        const long v = strtol(*s, &end, 10);
        if (v < least[k] || v > most[k] || (k < 2 && *end != ':')) return false;
        *values[k] = (int32_t)v;
        *s = end + (k < 2);
    }
    return **s == ' ' ? ++*s, true : !**s;
}

static int wrong_line(const zoo_prep *p, int64_t i, const char *why) {
    return log_fail(CLI_BAD_FILE, "%s: line %lld: %s", p->source, (long long)i + 2, why);
}

/* TRADITION tab TUNE tab SPLIT tab NOTES */
static int read_piece(const zoo_prep *p, book *b, const char *line, int64_t i) {
    piece *to = &b->pieces[b->n++];
    const char *tune = strchr(line, '\t'), *split = tune ? strchr(tune + 1, '\t') : NULL,
               *s = split ? strchr(split + 1, '\t') : NULL;
    if (!s) return wrong_line(p, i, "has no four cells");
    to->tradition = tradition_of(b, line, (size_t)(tune - line));
    if (to->tradition < 0) return wrong_line(p, i, "is of an eleventh tradition, or of one whose name is too long");
    snprintf(to->tune, sizeof to->tune, "%.*s", (int)(split - tune - 1), tune + 1);
    const int length = (int)(s - split - 1);
    if (length == 5 && strncmp(split + 1, "train", 5) == 0)
        to->part = ZOO_TRAIN;
    else if (length == 4 && strncmp(split + 1, "test", 4) == 0)
        to->part = ZOO_TEST;
    else
        return wrong_line(p, i, "the split is train or test");
    to->notes = malloc(MOST_NOTES * sizeof *to->notes);
    if (!to->notes) return zoo_out_of_memory();
    for (s++; *s; to->n++) {
        if (to->n == MOST_NOTES) return wrong_line(p, i, "has more than 4096 notes");
        note *v = &to->notes[to->n];
        if (!read_note(&s, v)) return wrong_line(p, i, "a note is ONSET:LENGTH:PITCH, of whole numbers");
        if (v->at + v->length > to->end) to->end = v->at + v->length;
    }
    return to->n ? CLI_OK : wrong_line(p, i, "has no notes");
}

static int read_book(const zoo_prep *p, book *b) {
    zoo_table t = {0};
    int code = zoo_read_table(p->source, &t);
    if (code == CLI_OK && strcmp(t.head, "tradition\ttune\tsplit\tnotes") != 0)
        code = log_fail(CLI_BAD_FILE, "%s: its columns are not tradition, tune, split and notes", p->source);
    if (code == CLI_OK && !(b->pieces = calloc((size_t)t.n + 1, sizeof *b->pieces))) code = zoo_out_of_memory();
    for (int64_t i = 0; code == CLI_OK && i < t.n; i++) code = read_piece(p, b, t.lines[i], i);
    if (code == CLI_OK && b->n_traditions != TRADITIONS)
        code = log_fail(CLI_BAD_FILE, "%s: has %d traditions, not %d", p->source, b->n_traditions, TRADITIONS);
    zoo_free_table(&t);
    return code;
}
static void free_book(book *b) {
    for (int64_t i = 0; i < b->n; i++) free(b->pieces[i].notes);
    free(b->pieces);
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

typedef struct timbre {
    const char *name;
    int part;
    double tilt, even;      /* harmonic k has amplitude k^-tilt, even ones times `even` */
    double attack, decay;   /* seconds; decay 0: it is held */
    double vibrato, breath; /* depth in semitones, and noise beside it */
} timbre;
static const timbre timbres[] = {
    {"flute", ZOO_TRAIN, 2.4, 1, 0.05, 0, 0.1, 0.03},      {"reed organ", ZOO_TRAIN, 0.9, 1, 0.03, 0, 0, 0.005},
    {"pipe organ", ZOO_TRAIN, 1.6, 0.7, 0.04, 0, 0, 0.01}, {"strings", ZOO_TRAIN, 1.2, 1, 0.09, 0, 0.2, 0.01},
    {"piano", ZOO_TRAIN, 1.7, 0.9, 0.004, 0.7, 0, 0.002},  {"harp", ZOO_TRAIN, 1.5, 0.5, 0.003, 0.35, 0, 0.002},
    {"brass", ZOO_TRAIN, 0.8, 0.9, 0.06, 0, 0.05, 0.01},   {"clarinet", ZOO_TEST, 1.1, 0.1, 0.04, 0, 0.05, 0.01},
    {"guitar", ZOO_TEST, 1.2, 0.8, 0.003, 0.5, 0, 0.003},  {"fiddle", ZOO_TEST, 1.0, 0.8, 0.05, 0, 0.3, 0.02}};

typedef struct player {
    float sine[TABLE];
    uint64_t state;
} player;

/* Adds a note that sounds from sample `at`, which may be before the beginning. */
static void play_note(player *b, const timbre *t, double pitch, double at, double length, float *x) {
    const double f = 440 * pow(2, (pitch - 69) / 12), loud = 0.7 + 0.3 * zoo_uniform(&b->state);
    const int64_t n = (int64_t)(length * 0.95), fade = RATE / 30, first = (int64_t)at;
    double amplitude[HARMONICS];
    int harmonics = 0;
    for (; harmonics < HARMONICS && f * (harmonics + 1) < 0.48 * RATE; harmonics++)
        amplitude[harmonics] = pow(harmonics + 1, -t->tilt) * (harmonics % 2 ? t->even : 1);
    double phase = zoo_uniform(&b->state);
    for (int64_t i = 0; i < n + fade; i++) {
        const double s = (double)i / RATE, trill = t->vibrato * sin(2 * PI * 5.5 * s) * fmin(1, 3 * s);
        phase += f / RATE * (1 + 0.0578 * trill);
        phase -= floor(phase);
        if (first + i < 0 || first + i >= SAMPLES) continue;
        double level = loud * fmin(1, s / t->attack) * (t->decay > 0 ? exp(-s / t->decay) : 1);
        if (i > n) level *= 1 - (double)(i - n) / (double)fade;
        double sum = t->breath * (2 * zoo_uniform(&b->state) - 1);
        for (int k = 0; k < harmonics; k++)
            sum += amplitude[k] * (double)b->sine[(int)(phase * (k + 1) * TABLE) & (TABLE - 1)];
        x[first + i] += (float)(level * sum);
    }
}

/* A stretch of the piece from anywhere on, and again from its beginning where it ends. */
static void play(player *b, const piece *from, const timbre *t, float *x) {
    const double quarters = 80 + 50 * zoo_uniform(&b->state); /* a minute */
    const double tick = 60.0 * RATE / quarters / QUARTER;
    const int64_t start = zoo_below(&b->state, from->end), key = zoo_below(&b->state, 9) - 4;
    memset(x, 0, SAMPLES * sizeof *x);
    for (double turn = -(double)start * tick; turn < SAMPLES; turn += (double)from->end * tick)
        for (int64_t i = 0; i < from->n; i++) {
            const note *v = &from->notes[i];
            const double at = turn + v->at * tick, length = v->length * tick;
            if (at < SAMPLES && at + length > 0) play_note(b, t, (double)(v->pitch + key), at, length, x);
        }
    double peak = 1e-9;
    for (int64_t i = 0; i < SAMPLES; i++) peak = fmax(peak, fabs((double)x[i]));
    for (int64_t i = 0; i < SAMPLES; i++) x[i] = (float)(0.5 * (double)x[i] / peak);
}

/* Instruments of one kind differ: those of the training, by the amplitudes of harmonics, attack and decay. */
static timbre draw_timbre(int part, uint64_t *state) {
    enum { TIMBRES = (int)(sizeof timbres / sizeof *timbres) };
    int k;
    do k = (int)zoo_below(state, TIMBRES);
    while (timbres[k].part != part);
    timbre t = timbres[k];
    if (part != ZOO_TRAIN) return t;
    t.tilt += 0.8 * (zoo_uniform(state) - 0.5);
    t.even *= 0.5 + 0.7 * zoo_uniform(state);
    t.attack *= pow(4, zoo_uniform(state) - 0.5);
    t.decay *= pow(4, zoo_uniform(state) - 0.5);
    t.vibrato *= 2 * zoo_uniform(state);
    return t;
}

static int64_t count_pieces(const book *b, int tradition, int part) {
    int64_t n = 0;
    for (int64_t i = 0; i < b->n; i++) n += b->pieces[i].tradition == tradition && b->pieces[i].part == part;
    return n;
}

/* There is one. */
static const piece *pick_piece(const book *b, int tradition, int part, uint64_t *state) {
    const int64_t n = count_pieces(b, tradition, part);
    int64_t k = zoo_below(state, n);
    int64_t i = 0;
    while (b->pieces[i].tradition != tradition || b->pieces[i].part != part || k-- > 0) i++;
    return &b->pieces[i];
}

static int play_one(zoo_prep *p, const book *b, player *by, int tradition, int part, const char *path, float *x) {
    const piece *from = pick_piece(b, tradition, part, &by->state);
    const timbre t = draw_timbre(part, &by->state);
    play(by, from, &t, x);
    int code = zoo_put_wav(path, x, SAMPLES, RATE);
    if (code == CLI_OK) code = zoo_count_in(p, part, from->tune);
    return code == CLI_OK ? zoo_group_in(p, part, t.name) : code;
}

/* Traditions are those of the stretches in order; where labels are shuffled, a tenth of each is called by each. */
static int play_part(zoo_prep *p, const book *b, player *by, int part) {
    int64_t each = part == ZOO_TRAIN ? TRAIN_EACH : TEST_EACH;
    for (int k = 0; k < TRADITIONS; k++) /* few pieces are not played over and over */
        each = each < 10 * count_pieces(b, k, part) ? each : 10 * count_pieces(b, k, part);
    if (!each)
        return log_fail(CLI_BAD_FILE, "%s: a tradition has nothing to %s", p->source,
                        part == ZOO_TRAIN ? "learn from" : "be tested with");
    float *x = malloc(SAMPLES * sizeof *x);
    int64_t *order = malloc((size_t)each * sizeof *order);
    int code = x && order ? CLI_OK : zoo_out_of_memory();
    if (order) zoo_deal(order, each);
    for (int64_t i = 0; code == CLI_OK && i < TRADITIONS * each; i++) {
        const int64_t is = i % TRADITIONS, k = i / TRADITIONS;
        const int64_t called = p->shuffle && part == ZOO_TRAIN ? (is + order[k]) % TRADITIONS : is;
        char folder[4200], path[4300];
        snprintf(folder, sizeof folder, "%s/%s/%s", p->to, p->parts[part].name, b->traditions[called]);
        snprintf(path, sizeof path, "%s/%05lld.wav", folder, (long long)i);
        if (!path_make_folder(folder)) code = log_fail(CLI_FAILED, "%s: cannot make the folder", folder);
        if (code == CLI_OK) code = play_one(p, b, by, (int)is, part, path, x);
    }
    free(x), free(order);
    return code;
}

int zoo_prepare_tunes(zoo_prep *p) {
    player *by = malloc(sizeof *by);
    book b = {0};
    p->groups = "tunes and timbres";
    int code = by ? read_book(p, &b) : zoo_out_of_memory();
    if (by) by->state = 6;
    for (int i = 0; by && i < TABLE; i++) by->sine[i] = (float)sin(2 * PI * i / TABLE);
    if (code == CLI_OK) code = play_part(p, &b, by, ZOO_TRAIN);
    if (code == CLI_OK) code = play_part(p, &b, by, ZOO_TEST);
    free_book(&b);
    free(by);
    return code;
}
