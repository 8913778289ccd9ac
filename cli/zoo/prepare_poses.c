/* Figures over photos, each with the places of 17 joints (those of COCO): a body of limbs with lengths, widths, skin
 * and hair of its own, in clothes, in a pose that joints allow, seen from the front and up to 55 degrees from the side.
 * Bodies, clothes and photos of the test are others than the training's. */
#include "drawn.h"
#include "sounds.h"

#include "../paths.h"
#include "../term/log.h"

#include "wick/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 128,
    LEARNED_A_PHOTO = 4, /* pictures */
    HELD_A_PHOTO = 3,
    MOST_HELD = 1000,
    LEARNED_BODIES = 300,
    HELD_BODIES = 60,
    LEARNED_CLOTHES = 600,
    HELD_CLOTHES = 120,
    MOST_PHOTOS = 1500,
    ROOM = 4200
};

enum {
    NOSE,
    LEFT_EYE,
    RIGHT_EYE,
    LEFT_EAR,
    RIGHT_EAR,
    LEFT_SHOULDER,
    RIGHT_SHOULDER,
    LEFT_ELBOW,
    RIGHT_ELBOW,
    LEFT_WRIST,
    RIGHT_WRIST,
    LEFT_HIP,
    RIGHT_HIP,
    LEFT_KNEE,
    RIGHT_KNEE,
    LEFT_ANKLE,
    RIGHT_ANKLE,
    JOINTS,
    HEAD = JOINTS, /* its middle */
    LEFT_HAND,
    RIGHT_HAND,
    LEFT_FOOT,
    RIGHT_FOOT,
    PLACES
};
static const char *const joints[JOINTS] = {"nose",          "left_eye",       "right_eye",  "left_ear",    "right_ear",
                                           "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist",
                                           "right_wrist",   "left_hip",       "right_hip",  "left_knee",   "right_knee",
                                           "left_ankle",    "right_ankle"};

/* To the right of the picture, down, and towards who looks. The figure's left is at the right. */
typedef struct place {
    double x, y, z;
} place;

typedef struct body {
    double arm, forearm, thigh, shin, torso, shoulders, hips, head, thick; /* lengths in parts of the height */
    float skin[3], hair[3];
    double hairline; /* in radii of the head, below its top */
    bool long_hair;
} body;
typedef enum pattern { PLAIN, STRIPES, RINGS, CHECKS, SPECKS, PATTERNS } pattern;
typedef struct cloth {
    float colour[2][3];
    pattern pattern;
    double period;
} cloth;
typedef struct clothes {
    cloth top, bottom;
    float shoes[3];
    double sleeves, legs; /* how far down limbs they reach, 0 to 2 */
    double loose;
} clothes;

typedef struct maker {
    zoo_prep *p;
    zoo_photos photos;
    uint64_t state;
} maker;

/* ---- who and in what --------------------------------------------------------------------------------------------- */

static body make_body(int number) {
    uint64_t s = 1000 + (uint64_t)number;
    body b = {.arm = zoo_between(&s, 0.16, 0.20),
              .forearm = zoo_between(&s, 0.14, 0.175),
              .thigh = zoo_between(&s, 0.22, 0.27),
              .shin = zoo_between(&s, 0.21, 0.26),
              .torso = zoo_between(&s, 0.26, 0.31),
              .shoulders = zoo_between(&s, 0.09, 0.125),
              .hips = zoo_between(&s, 0.05, 0.075),
              .head = zoo_between(&s, 0.058, 0.075),
              .thick = zoo_between(&s, 0.8, 1.35),
              .hairline = zoo_between(&s, 0.2, 0.7)};
    zoo_colour(zoo_between(&s, 0.04, 0.09), zoo_between(&s, 0.25, 0.6), zoo_between(&s, 0.3, 1), b.skin);
    zoo_colour(zoo_between(&s, 0.02, 0.13), zoo_between(&s, 0.1, 0.8), zoo_between(&s, 0.05, 0.8), b.hair);
    b.long_hair = zoo_uniform(&s) < 0.35;
    return b;
}
static cloth make_cloth(uint64_t *s) {
    cloth c = {.pattern = (pattern)zoo_below(s, 2 * PATTERNS), .period = zoo_between(s, 3, 9)};
    if (c.pattern >= PATTERNS) c.pattern = PLAIN;
    for (int k = 0; k < 2; k++)
        zoo_colour(zoo_uniform(s), zoo_between(s, 0, 0.9), zoo_between(s, 0.12, 1), c.colour[k]);
    return c;
}
static clothes make_clothes(int number) {
    uint64_t s = 500000 + (uint64_t)number;
    clothes c = {.top = make_cloth(&s), .bottom = make_cloth(&s)};
    zoo_colour(zoo_uniform(&s), zoo_between(&s, 0, 0.6), zoo_between(&s, 0.05, 0.9), c.shoes);
    c.sleeves = zoo_uniform(&s) < 0.5 ? 2 : zoo_between(&s, 0.3, 1.2);
    c.legs = zoo_uniform(&s) < 0.7 ? 2 : zoo_between(&s, 0.5, 1.2);
    c.loose = zoo_between(&s, 1, 1.35);
    return c;
}

/* ---- a pose ------------------------------------------------------------------------------------------------------ */

static place along(place from, double length, place direction) {
    return (place){from.x + length * direction.x, from.y + length * direction.y, from.z + length * direction.z};
}
/* From straight down: up by an angle sideways (side -1 or 1) and forwards. */
static place direction(double up, double forwards, int side) {
    return (place){side * sin(up) * cos(forwards), cos(up), sin(up) * sin(forwards)};
}
/* The second bone of a limb: `bent` from the first, towards the side of `hinge` that is square to the first. */
static place bend(place d, place hinge, double bent) {
    const double dot = d.x * hinge.x + d.y * hinge.y + d.z * hinge.z;
    place h = {hinge.x - dot * d.x, hinge.y - dot * d.y, hinge.z - dot * d.z};
    const double n = sqrt(h.x * h.x + h.y * h.y + h.z * h.z) + 1e-9, c = cos(bent), s = sin(bent) / n;
    return (place){c * d.x + s * h.x, c * d.y + s * h.y, c * d.z + s * h.z};
}
static place turn(place p, double yaw, double roll) {
    const place q = {cos(yaw) * p.x + sin(yaw) * p.z, p.y, cos(yaw) * p.z - sin(yaw) * p.x};
    return (place){cos(roll) * q.x - sin(roll) * q.y, sin(roll) * q.x + cos(roll) * q.y, q.z};
}

static void pose_arm(const body *b, place at[PLACES], int side, uint64_t *s) {
    const int right = side < 0;
    const double kind = zoo_uniform(s);
    const double up = kind < 0.4   ? zoo_between(s, 0.05, 0.5)
                      : kind < 0.8 ? zoo_between(s, 0.3, 1.7)
                                   : zoo_between(s, 1.5, 2.9);
    const place d = direction(up, zoo_between(s, -0.4, 1.5), side);
    const place hinge = {side * zoo_between(s, -1, 0.6), zoo_between(s, -1, 0.3), zoo_between(s, 0.3, 1)};
    const place f = bend(d, hinge, zoo_uniform(s) < 0.4 ? zoo_between(s, 0, 0.4) : zoo_between(s, 0.2, 2.3));
    at[LEFT_ELBOW + right] = along(at[LEFT_SHOULDER + right], b->arm, d);
    at[LEFT_WRIST + right] = along(at[LEFT_ELBOW + right], b->forearm, f);
    at[LEFT_HAND + right] = along(at[LEFT_WRIST + right], 0.045, f);
}
static void pose_leg(const body *b, place at[PLACES], int side, bool sits, uint64_t *s) {
    const int right = side < 0;
    const double out = zoo_between(s, 0, 0.4), forth = sits ? zoo_between(s, 1, 1.6) : zoo_between(s, -0.4, 0.7);
    const place d = {side * sin(out) * cos(forth), cos(out) * cos(forth), sin(forth)};
    const double bent = sits                   ? zoo_between(s, 0.9, 1.7)
                        : zoo_uniform(s) < 0.5 ? zoo_between(s, 0, 0.2)
                                               : zoo_between(s, 0, 1.3);
    const place f = bend(d, (place){0, sits ? 1 : 0.2, -1}, bent);
    at[LEFT_KNEE + right] = along(at[LEFT_HIP + right], b->thigh, d);
    at[LEFT_ANKLE + right] = along(at[LEFT_KNEE + right], b->shin, f);
    at[LEFT_FOOT + right] = along(at[LEFT_ANKLE + right], 0.06, (place){side * 0.4, 0.6, 0.7});
}

static void make_pose(const body *b, place at[PLACES], uint64_t *s) {
    const bool sits = zoo_uniform(s) < 0.2;
    const double lean = zoo_between(s, -0.25, 0.25), nod = zoo_between(s, -0.25, 0.25),
                 look = zoo_between(s, -0.4, 0.4), r = b->head, roll = zoo_between(s, -0.15, 0.15),
                 yaw = zoo_between(s, -0.95, 0.95);
    const place up = {sin(lean), -cos(lean), zoo_between(s, -0.1, 0.35)}, across = {cos(lean), sin(lean), 0};
    const place neck = along((place){0, 0, 0}, b->torso, up), head = along(neck, 1.75 * r, up);
    at[HEAD] = head;
    for (int side = -1; side < 2; side += 2) {
        const int right = side < 0;
        at[LEFT_SHOULDER + right] = along(neck, side * b->shoulders, across);
        at[LEFT_SHOULDER + right].y += 0.015;
        at[LEFT_HIP + right] = (place){side * b->hips, 0, 0};
        pose_arm(b, at, side, s);
        pose_leg(b, at, side, sits, s);
        const place eye = turn((place){side * 0.38 * r, -0.15 * r, 0.85 * r}, look, nod);
        const place ear = turn((place){side * 0.95 * r, 0, 0}, look, nod);
        at[LEFT_EYE + right] = along(head, 1, eye);
        at[LEFT_EAR + right] = along(head, 1, ear);
    }
    at[NOSE] = along(head, 1, turn((place){0, 0.15 * r, 1.05 * r}, look, nod));
    for (int k = 0; k < PLACES; k++) at[k] = turn(at[k], yaw, roll);
}

/* In pixels, so that all of it is within the picture; the pixels that the figure's height has. */
static double fit(place at[PLACES], uint64_t *s) {
    double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
    for (int k = 0; k < PLACES; k++) {
        low[0] = fmin(low[0], at[k].x), high[0] = fmax(high[0], at[k].x);
        low[1] = fmin(low[1], at[k].y), high[1] = fmax(high[1], at[k].y);
    }
    const double margin = 0.07, wide = high[0] - low[0] + 2 * margin, tall = high[1] - low[1] + 2 * margin;
    const double scale = SIDE / fmax(wide, tall) * zoo_between(s, 0.6, 0.98);
    const double x = zoo_between(s, 0, SIDE - scale * wide) + scale * (margin - low[0]),
                 y = zoo_between(s, 0, SIDE - scale * tall) + scale * (margin - low[1]);
    for (int k = 0; k < PLACES; k++) at[k] = (place){scale * at[k].x + x, scale * at[k].y + y, scale * at[k].z};
    return scale;
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* The colour of cloth at a place in pixels along and across a limb. */
static void cloth_at(const cloth *c, double t, double s, float rgb[3]) {
    const bool a = fmod(t + 1000 * c->period, c->period) < c->period / 2,
               b = fmod(s + 1000 * c->period, c->period) < c->period / 2;
    const int k = c->pattern == PLAIN     ? 0
                  : c->pattern == STRIPES ? b
                  : c->pattern == RINGS   ? a
                  : c->pattern == CHECKS  ? a != b
                                          : a && b;
    memcpy(rgb, c->colour[k], sizeof c->colour[k]);
}

/* What a limb is of: cloth down to a share of it, skin behind that. */
typedef struct limb {
    int from, to;
    double thick[2];
    const cloth *cloth;
    double covered; /* 0 to 1 */
    const float *skin;
} limb;

/* Round in section: darker at its edges, lighter on the side that the light comes from. */
static double shade_of(double across, double light) { return 1 - 0.35 * across * across + 0.2 * light * across; }

static void draw_limb(zoo_canvas *c, const limb *l, const place at[PLACES], double light) {
    const place a = at[l->from], b = at[l->to];
    const double dx = b.x - a.x, dy = b.y - a.y, n = sqrt(dx * dx + dy * dy) + 1e-9,
                 most = fmax(l->thick[0], l->thick[1]) + 1;
    for (int y = (int)(fmin(a.y, b.y) - most); y <= (int)(fmax(a.y, b.y) + most); y++)
        for (int x = (int)(fmin(a.x, b.x) - most); x <= (int)(fmax(a.x, b.x) + most); x++) {
            const double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
            const double t = fmin(fmax((px * dx + py * dy) / (n * n), 0), 1), qx = px - t * dx, qy = py - t * dy;
            const double r = l->thick[0] * (1 - t) + l->thick[1] * t, across = (px * dy - py * dx) / n;
            const double inside = r + 0.5 - sqrt(qx * qx + qy * qy);
            if (inside <= 0) continue;
            float rgb[3];
            if (l->cloth && t <= l->covered)
                cloth_at(l->cloth, t * n, across, rgb);
            else
                memcpy(rgb, l->skin, sizeof rgb);
            for (int k = 0; k < 3; k++) rgb[k] *= (float)shade_of(fmin(1, fmax(-1, across / r)), light);
            zoo_blend(c, x, y, rgb, inside);
        }
}

/* Between the line of the shoulders and that of the hips. */
static void draw_torso(zoo_canvas *c, const body *b, const clothes *w, const place at[PLACES], double scale,
                       double light) {
    const place *s = at + LEFT_SHOULDER, *h = at + LEFT_HIP;
    const double ax = (s[0].x + s[1].x) / 2, ay = (s[0].y + s[1].y) / 2, bx = (h[0].x + h[1].x) / 2,
                 by = (h[0].y + h[1].y) / 2, dx = bx - ax, dy = by - ay, n = sqrt(dx * dx + dy * dy) + 1e-9;
    const double depth = 0.055 * b->thick * scale;
    const double top = fmax(hypot(s[0].x - s[1].x, s[0].y - s[1].y) / 2 + 0.02 * scale, depth),
                 low = fmax(hypot(h[0].x - h[1].x, h[0].y - h[1].y) / 2 + 0.035 * b->thick * scale, depth) * w->loose;
    const double reach = n + top + low;
    for (int y = (int)(ay - reach); y <= (int)(ay + reach); y++)
        for (int x = (int)(ax - reach); x <= (int)(ax + reach); x++) {
            const double px = x + 0.5 - ax, py = y + 0.5 - ay, t = (px * dx + py * dy) / (n * n),
                         across = (px * dy - py * dx) / n, share = fmin(fmax(t, 0), 1);
            const double half = (top * (1 - share) + low * share) * (t < 0.1 ? 1 - 3 * (0.1 - t) : 1);
            const double inside = fmin(half - fabs(across), fmin((t + 0.06) * n, (1.08 - t) * n)) + 0.5;
            if (inside <= 0) continue;
            float rgb[3];
            cloth_at(t > 0.95 ? &w->bottom : &w->top, t * n, across, rgb);
            for (int k = 0; k < 3; k++) rgb[k] *= (float)shade_of(fmin(1, fmax(-1, across / half)), light);
            zoo_blend(c, x, y, rgb, inside);
        }
}

static void draw_dot(zoo_canvas *c, place at, double r, const float rgb[3], double opacity) {
    for (int y = (int)(at.y - r - 1); y <= (int)(at.y + r + 1); y++)
        for (int x = (int)(at.x - r - 1); x <= (int)(at.x + r + 1); x++)
            zoo_blend(c, x, y, rgb, opacity * fmin(1, r + 0.5 - hypot(x + 0.5 - at.x, y + 0.5 - at.y)));
}

static void draw_head(zoo_canvas *c, const body *b, const place at[PLACES], double scale, double light) {
    static const float white[3] = {0.95f, 0.95f, 0.95f}, dark[3] = {0.08f, 0.05f, 0.05f};
    const double r = b->head * scale;
    const place m = at[HEAD];
    float lips[3], ear[3];
    for (int k = 0; k < 3; k++) lips[k] = b->skin[k] * (k ? 0.5f : 0.85f), ear[k] = b->skin[k] * 0.85f;
    if (b->long_hair)
        for (int k = 0; k < 4; k++) draw_dot(c, (place){m.x, m.y + 0.35 * k * r, 0}, 1.12 * r, b->hair, 1);
    for (int k = LEFT_EAR; k <= RIGHT_EAR; k++) draw_dot(c, at[k], 0.25 * r, ear, 1);
    for (int y = (int)(m.y - 1.3 * r - 1); y <= (int)(m.y + 1.3 * r + 1); y++)
        for (int x = (int)(m.x - r - 1); x <= (int)(m.x + r + 1); x++) {
            const double u = (x + 0.5 - m.x) / r, v = (y + 0.5 - m.y) / (1.25 * r);
            /* hair is where the side that looks away is, and above */
            const double face = (at[NOSE].x - m.x) / r, back = u * (face > 0 ? -1 : 1) - (1 - fabs(face));
            float rgb[3];
            memcpy(rgb, v < -1 + b->hairline || back > 0.15 ? b->hair : b->skin, sizeof rgb);
            for (int k = 0; k < 3; k++) rgb[k] *= (float)shade_of(fmin(1, fmax(-1, u)), light);
            zoo_blend(c, x, y, rgb, (1 - sqrt(u * u + v * v)) * r + 0.5);
        }
    for (int k = LEFT_EYE; k <= RIGHT_EYE; k++) {
        if (at[k].z < m.z + 0.25 * r) continue; /* it looks away */
        draw_dot(c, at[k], 0.22 * r, white, 1);
        draw_dot(c, at[k], 0.14 * r, dark, 1);
    }
    draw_dot(c, at[NOSE], 0.17 * r, ear, 1);
    draw_dot(c, (place){(at[NOSE].x + m.x) / 2 + (at[NOSE].x - m.x) / 3, at[NOSE].y + 0.4 * r, 0}, 0.2 * r, lips, 1);
}

enum { LIMBS = 12 };
typedef struct piece {
    double z;
    int limb; /* -1: the torso, -2: the head */
} piece;
static int by_depth(const void *a, const void *b) {
    const piece *p = a, *q = b;
    return p->z != q->z ? (p->z > q->z) - (p->z < q->z) : p->limb - q->limb;
}
static double share_of(double covered, int bone) { return fmin(1, fmax(0, covered - bone)); }

static void draw_figure(zoo_canvas *c, const body *b, const clothes *w, place at[PLACES], double scale,
                        uint64_t *state) {
    const double q = scale * b->thick, light = zoo_between(state, -1, 1);
    limb limbs[LIMBS];
    piece order[LIMBS + 2];
    int n = 0;
    for (int right = 0; right < 2; right++) {
        const double sleeve = w->sleeves >= 1 ? w->loose : 1, leg = w->legs >= 1 ? w->loose : 1;
        limbs[n++] = (limb){LEFT_SHOULDER + right,
                            LEFT_ELBOW + right,
                            {0.03 * q * w->loose, 0.024 * q * sleeve},
                            &w->top,
                            share_of(w->sleeves, 0),
                            b->skin};
        limbs[n++] = (limb){LEFT_ELBOW + right,
                            LEFT_WRIST + right,
                            {0.024 * q * sleeve, 0.017 * q},
                            &w->top,
                            share_of(w->sleeves, 1),
                            b->skin};
        limbs[n++] = (limb){LEFT_WRIST + right, LEFT_HAND + right, {0.019 * q, 0.017 * q}, NULL, 0, b->skin};
        limbs[n++] = (limb){LEFT_HIP + right, LEFT_KNEE + right,    {0.043 * q * w->loose, 0.032 * q * leg},
                            &w->bottom,       share_of(w->legs, 0), b->skin};
        limbs[n++] = (limb){LEFT_KNEE + right, LEFT_ANKLE + right,   {0.032 * q * leg, 0.02 * q * leg},
                            &w->bottom,        share_of(w->legs, 1), b->skin};
        limbs[n++] = (limb){LEFT_ANKLE + right, LEFT_FOOT + right, {0.022 * q, 0.019 * q}, NULL, 0, w->shoes};
    }
    place neck = at[LEFT_SHOULDER];
    neck.x = (neck.x + at[RIGHT_SHOULDER].x) / 2, neck.y = (neck.y + at[RIGHT_SHOULDER].y) / 2;
    for (int k = 0; k < n; k++) order[k] = (piece){(at[limbs[k].from].z + at[limbs[k].to].z) / 2, k};
    order[n] = (piece){(at[LEFT_SHOULDER].z + at[RIGHT_SHOULDER].z + at[LEFT_HIP].z + at[RIGHT_HIP].z) / 4, -1};
    order[n + 1] = (piece){at[HEAD].z, -2};
    qsort(order, (size_t)n + 2, sizeof *order, by_depth);
    for (int k = 0; k < n + 2; k++) {
        if (order[k].limb >= 0) {
            draw_limb(c, &limbs[order[k].limb], at, light);
        } else if (order[k].limb == -1) {
            place ends[PLACES];
            memcpy(ends, at, sizeof ends);
            ends[NOSE] = neck;
            draw_limb(c, &(limb){NOSE, HEAD, {0.024 * q, 0.022 * q}, NULL, 0, b->skin}, ends, light);
            draw_torso(c, b, w, at, scale, light);
        } else {
            draw_head(c, b, at, scale, light);
        }
    }
}

/* ---- the set ----------------------------------------------------------------------------------------------------- */

static int take_photos(maker *m) {
    wick_files *files;
    int64_t learned = 0;
    int code = zoo_checked(m->p, wick_files_open(m->p->ctx, m->p->source, &(wick_files_options){.all = true}, &files));
    for (bool more = code == CLI_OK; code == CLI_OK && more;) {
        wick_file file;
        zoo_photo as = {.size = SIDE};
        code = zoo_checked(m->p, wick_files_next(files, &file, &more));
        if (code != CLI_OK || !more || !zoo_place(&zoo_set_clothing, &file, &as.part, as.group)) continue;
        if (as.part == ZOO_TRAIN && learned++ % 2) continue; /* half of them are enough */
        if (as.part == ZOO_TRAIN && learned > 2 * MOST_PHOTOS) continue;
        code = zoo_add_photo(m->p, file.data, file.size, file.name, &as, &m->photos);
    }
    wick_files_free(&files);
    return code;
}

static int64_t count_photos(const maker *m, int part) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->photos.n; i++) n += m->photos.list[i].part == part;
    return n;
}

/* The middle part of a photo, larger and mirrored as it comes. */
static void draw_photo(zoo_canvas *c, const zoo_photo *photo, uint64_t *s) {
    const double scale = zoo_between(s, 0.6, 1), mirror = zoo_uniform(s) < 0.5 ? -1 : 1,
                 x0 = zoo_between(s, 0, SIDE * (1 - scale)), y0 = zoo_between(s, 0, SIDE * (1 - scale));
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            zoo_photo_at(photo, mirror * (x0 + scale * x) + (mirror < 0 ? SIDE - 1 : 0), y0 + scale * y,
                         c->at + 3 * (y * SIDE + x));
}

static int draw_one(maker *m, int part, int64_t i, float *pixels, place at[PLACES]) {
    const bool held = part == ZOO_TEST;
    zoo_canvas c = {pixels, SIDE};
    char group[ZOO_GROUP], path[ROOM];
    const zoo_photo *photo = zoo_pick_photo(&m->photos, part, 0, &m->state);
    if (!photo)
        return log_fail(CLI_BAD_FILE, "%s: has no photo to %s", m->p->source, held ? "test with" : "learn from");
    const int who =
        held ? LEARNED_BODIES + (int)zoo_below(&m->state, HELD_BODIES) : (int)zoo_below(&m->state, LEARNED_BODIES);
    const int what =
        held ? LEARNED_CLOTHES + (int)zoo_below(&m->state, HELD_CLOTHES) : (int)zoo_below(&m->state, LEARNED_CLOTHES);
    const body b = make_body(who);
    const clothes w = make_clothes(what);
    draw_photo(&c, photo, &m->state);
    make_pose(&b, at, &m->state);
    const double scale = fit(at, &m->state);
    draw_figure(&c, &b, &w, at, scale, &m->state);
    zoo_expose(&c, &m->state);
    snprintf(path, sizeof path, "%s/%s/%05lld.ppm", m->p->to, m->p->parts[part].name, (long long)i);
    int code = zoo_put_canvas(&c, path);
    snprintf(group, sizeof group, "photo %.40s", photo->group);
    if (code == CLI_OK) code = zoo_count_in(m->p, part, group);
    snprintf(group, sizeof group, "body %d", who);
    if (code == CLI_OK) code = zoo_group_in(m->p, part, group);
    snprintf(group, sizeof group, "clothes %d", what);
    return code == CLI_OK ? zoo_group_in(m->p, part, group) : code;
}

static int draw_part(maker *m, int part, int64_t n) {
    char path[ROOM], *text = NULL;
    size_t size = 0;
    place(*at)[PLACES] = malloc((size_t)n * sizeof *at);
    int64_t *order = malloc((size_t)n * sizeof *order);
    float *pixels = malloc(3 * SIDE * SIDE * sizeof *pixels);
    FILE *table = at && order && pixels ? open_memstream(&text, &size) : NULL;
    int code = table ? CLI_OK : zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s", m->p->to, m->p->parts[part].name);
    if (code == CLI_OK && !path_make_folder(path)) code = log_fail(CLI_FAILED, "%s: cannot be a folder", path);
    m->state = (uint64_t)part + 20;
    for (int64_t i = 0; code == CLI_OK && i < n; i++) code = draw_one(m, part, i, pixels, at[i]);
    if (order) zoo_deal(order, n);
    if (table) fputs("file", table);
    for (int j = 0; table && j < JOINTS; j++) fprintf(table, ",%s_x,%s_y", joints[j], joints[j]);
    for (int64_t i = 0; code == CLI_OK && i < n; i++) {
        const place *of = at[m->p->shuffle && part == ZOO_TRAIN ? order[i] : i];
        fprintf(table, "\n%s/%05lld.ppm", m->p->parts[part].name, (long long)i);
        for (int j = 0; j < JOINTS; j++) fprintf(table, ",%.2f,%.2f", of[j].x, of[j].y);
    }
    if (table) fputs("\n", table);
    if (table && fclose(table) != 0 && code == CLI_OK) code = zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s.csv", m->p->to, m->p->parts[part].name);
    if (code == CLI_OK) code = zoo_put(path, text, size);
    free(text), free(at), free(order), free(pixels);
    return code;
}

int zoo_prepare_poses(zoo_prep *p) {
    maker m = {.p = p};
    p->groups = "bodies, clothes and photos";
    int code = take_photos(&m);
    if (code == CLI_OK) code = draw_part(&m, ZOO_TRAIN, LEARNED_A_PHOTO * count_photos(&m, ZOO_TRAIN));
    const int64_t held = HELD_A_PHOTO * count_photos(&m, ZOO_TEST);
    if (code == CLI_OK) code = draw_part(&m, ZOO_TEST, held < MOST_HELD ? held : MOST_HELD);
    zoo_free_photos(&m.photos);
    return code;
}
