/* V8: rooms that are made, as a camera sees them, and how far each pixel is. A room is a box with boxes in it; what its
 * walls and things are covered with are photographs (of clothes, as the set has them). The rooms of the test have other
 * sizes, things, places of the camera and photographs than those of the training; what is drawn follows from fixed
 * numbers. Depth is along the axis of the camera, in millimetres, u16. */
#include "drawn.h"

#include "../paths.h"
#include "../term/log.h"

#include "wick/files.h"
#include "wick/wick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 128,
    TILE = 128,
    TRAIN = 3000,
    TEST = 300,
    MOST_TILES = 3500,
    A_PHOTO = 4 /* rooms, of few photographs */,
    MOST_BOXES = 7,
    ROOM_PATH = 4200
};

/* How wide a picture is at a distance of 1: 2 tan(65 degrees / 2). */
#define WIDE 1.27414

/* Photographs of a part, [n, 3, TILE, TILE], and whose they are. */
typedef struct tiles {
    int n;
    uint8_t *pixels;
    char (*group)[ZOO_GROUP];
} tiles;

/* A box from low to high, seen from outside; of the room itself, which is the first, from inside. */
typedef struct solid {
    double low[3], high[3], size; /* size: metres that a photograph covers */
    int tile[3];                  /* of the sides across x, y and z */
} solid;
typedef struct room {
    solid boxes[MOST_BOXES + 1];
    int n;
    double eye[3], axes[3][3]; /* of the camera: right, down, forward */
    double lamp[3], gain, noise;
} room;

static int keep_tile(const zoo_prep *p, const wick_file *file, tiles *t, const char *group) {
    snprintf(t->group[t->n], ZOO_GROUP, "photo %.40s", group);
    return zoo_square(p, file->data, file->size, file->name, TILE, t->pixels + (size_t)t->n++ * 3 * TILE * TILE);
}

static int read_tiles(const zoo_prep *p, tiles parts[ZOO_PARTS]) {
    wick_files *files;
    int code = zoo_checked(p, wick_files_open(p->ctx, p->source, &(wick_files_options){.all = true}, &files));
    for (bool more = code == CLI_OK; code == CLI_OK && more;) {
        wick_file file;
        char group[ZOO_GROUP];
        int part;
        code = zoo_checked(p, wick_files_next(files, &file, &more));
        if (code != CLI_OK || !more || !zoo_place(&zoo_set_clothing, &file, &part, group)) continue;
        if (part == ZOO_VALIDATION) part = ZOO_TRAIN; /* nothing is chosen here */
        if (parts[part].n < MOST_TILES) code = keep_tile(p, &file, &parts[part], group);
    }
    wick_files_free(&files);
    return code == CLI_OK && (!parts[ZOO_TRAIN].n || !parts[ZOO_TEST].n)
               ? log_fail(CLI_BAD_FILE, "%s: has no pictures in train and test", p->source)
               : code;
}

static void cover(solid *s, const tiles *t, uint64_t *state) {
    for (int k = 0; k < 3; k++) s->tile[k] = (int)(zoo_random(state) % (uint64_t)t->n);
    s->size = zoo_between(state, 0.6, 2);
}

static bool is_inside(const solid *s, const double at[3], double margin) {
    bool inside = true;
    for (int k = 0; k < 3; k++) inside &= at[k] > s->low[k] - margin && at[k] < s->high[k] + margin;
    return inside;
}

/* Where a ray leaves the room, or enters a box: how far, and across which axis the side is; the slabs of Kay and Kajiya
 * (1986). False: it misses. */
static bool meet(const solid *s, bool inside, const double eye[3], const double ray[3], double *far_, int *axis) {
    double enter = 0, leave = INFINITY;
    int in = 0, out = 0;
    for (int k = 0; k < 3; k++) {
        if (fabs(ray[k]) < 1e-12) {
            if (eye[k] < s->low[k] || eye[k] > s->high[k]) return false;
            continue;
        }
        const double a = (s->low[k] - eye[k]) / ray[k], b = (s->high[k] - eye[k]) / ray[k];
        if (fmin(a, b) > enter) enter = fmin(a, b), in = k;
        if (fmax(a, b) < leave) leave = fmax(a, b), out = k;
    }
    *far_ = inside ? leave : enter, *axis = inside ? out : in;
    return inside || (enter > 0 && enter < leave);
}

/* Of the ray through (u, v), which is 1 long along the axis of the camera. */
static double look(const room *r, double u, double v, double ray[3], int *side, int *which) {
    double nearest = INFINITY, far_;
    int axis;
    for (int k = 0; k < 3; k++) ray[k] = u * r->axes[0][k] + v * r->axes[1][k] + r->axes[2][k];
    for (int i = 0; i < r->n; i++)
        if (meet(&r->boxes[i], i == 0, r->eye, ray, &far_, &axis) && far_ < nearest)
            nearest = far_, *side = axis, *which = i;
    return nearest;
}

/* Where somebody stands who takes a picture of a room: nothing is right before the camera, and the middle is farther
 * than half of the room's longer side. False: not there. */
static bool stand(room *r, uint64_t *state) {
    const solid *walls = &r->boxes[0];
    for (int k = 0; k < 3; k++)
        r->eye[k] = k == 1 ? zoo_between(state, 1.4, 1.6) : zoo_between(state, 0.3, walls->high[k] - 0.3);
    for (int i = 1; i < r->n; i++)
        if (is_inside(&r->boxes[i], r->eye, 0.3)) return false;
    const double yaw = zoo_between(state, 0, 2 * M_PI), pitch = zoo_between(state, -0.35, -0.05);
    const double forward[] = {cos(pitch) * sin(yaw), sin(pitch), cos(pitch) * cos(yaw)},
                 right[] = {cos(yaw), 0, -sin(yaw)},
                 down[] = {sin(pitch) * sin(yaw), -cos(pitch), sin(pitch) * cos(yaw)};
    memcpy(r->axes[0], right, sizeof right);
    memcpy(r->axes[1], down, sizeof down);
    memcpy(r->axes[2], forward, sizeof forward);
    double ray[3], least = INFINITY;
    int side, which;
    for (int i = 0; i < 25; i++)
        least = fmin(least, look(r, WIDE * (i % 5 - 2) / 4, WIDE * (i / 5 - 2) / 4, ray, &side, &which));
    return least > 0.7 && look(r, 0, 0, ray, &side, &which) > 0.5 * fmax(walls->high[0], walls->high[2]);
}

/* y is up, the floor at 0. */
static void build(room *r, const tiles *t, uint64_t *state) {
    solid *walls = &r->boxes[0];
    r->n = 1;
    *walls = (solid){.high = {zoo_between(state, 3, 7), zoo_between(state, 2.3, 3.1), zoo_between(state, 3, 7)}};
    cover(walls, t, state);
    const int things = 1 + (int)(zoo_random(state) % MOST_BOXES);
    for (int i = 0; i < things; i++) {
        solid *s = &r->boxes[r->n++];
        *s = (solid){0};
        for (int k = 0; k < 3; k++) {
            const double extent = k == 1 ? zoo_between(state, 0.3, 1.9) : zoo_between(state, 0.25, 1.4);
            const double room_for = fmax(0, walls->high[k] - extent);
            s->low[k] = k == 1                     ? 0
                        : zoo_uniform(state) < 0.3 ? (zoo_uniform(state) < 0.5 ? 0 : room_for)
                                                   : room_for * zoo_uniform(state);
            s->high[k] = fmin(walls->high[k], s->low[k] + extent);
        }
        cover(s, t, state);
    }
    for (int tries = 0; !stand(r, state); tries++)
        if (tries % 40 == 39 && r->n > 1) r->n--; /* no place is left beside the things */
    for (int k = 0; k < 3; k++) r->lamp[k] = walls->high[k] * (k == 1 ? 0.95 : zoo_between(state, 0.2, 0.8));
    r->gain = zoo_between(state, 0.7, 1.2);
    r->noise = zoo_between(state, 1, 6);
}

/* Between the four pixels about a place in a photograph, which goes on in its mirror. */
static double sample(const uint8_t *plane, double u, double v) {
    double at[2] = {u - 2 * floor(u / 2), v - 2 * floor(v / 2)};
    int low[2];
    for (int k = 0; k < 2; k++) {
        at[k] = (at[k] > 1 ? 2 - at[k] : at[k]) * (TILE - 1);
        low[k] = at[k] >= TILE - 1 ? TILE - 2 : (int)at[k];
        at[k] -= low[k];
    }
    const uint8_t *p = plane + low[1] * TILE + low[0];
    return (1 - at[1]) * ((1 - at[0]) * p[0] + at[0] * p[1]) + at[1] * ((1 - at[0]) * p[TILE] + at[0] * p[TILE + 1]);
}

static void see(const room *r, const tiles *t, int x, int y, uint64_t *state, uint8_t rgb[3], uint16_t *depth) {
    double ray[3], hit[3], length = 0, light = 0;
    int side = 0, which = 0;
    const double nearest =
        look(r, (x + 0.5 - SIDE / 2) * WIDE / SIDE, (y + 0.5 - SIDE / 2) * WIDE / SIDE, ray, &side, &which);
    const solid *s = &r->boxes[which];
    for (int k = 0; k < 3; k++) {
        hit[k] = r->eye[k] + nearest * ray[k];
        length += (r->lamp[k] - hit[k]) * (r->lamp[k] - hit[k]);
    }
    light = 0.45 + 0.75 * fabs(r->lamp[side] - hit[side]) / (sqrt(length) + 1e-6) / (1 + 0.06 * length);
    const int a = side == 0 ? 2 : 0, b = side == 1 ? 2 : 1;
    const uint8_t *photo = t->pixels + (size_t)s->tile[side] * 3 * TILE * TILE;
    for (int k = 0; k < 3; k++) {
        const double c = sample(photo + (size_t)k * TILE * TILE, hit[a] / s->size, hit[b] / s->size) * light * r->gain +
                         r->noise * (zoo_uniform(state) + zoo_uniform(state) + zoo_uniform(state) - 1.5);
        rgb[k] = (uint8_t)(c < 0 ? 0 : c > 255 ? 255 : c + 0.5);
    }
    *depth = (uint16_t)lrint(nearest * 1000);
}

/* NumPy's format, version 1: 10 bytes, and a text that makes the head a multiple of 64. */
static size_t npy_head(char head[128]) {
    char text[118];
    memset(text, ' ', sizeof text);
    const int n =
        snprintf(text, sizeof text, "{'descr': '<u2', 'fortran_order': False, 'shape': (%d, %d), }", SIDE, SIDE);
    text[n] = ' ';
    text[sizeof text - 1] = '\n';
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(head + 10, text, sizeof text);
    return 128;
}

static int draw_one(zoo_prep *p, int part, int i, const tiles *t, uint64_t *state, const uint16_t *instead,
                    uint16_t *depth) {
    static const char head[] = "P6\n128 128\n255\n";
    enum { BEGIN = sizeof head - 1, PIXELS = SIDE * SIDE };
    char path[ROOM_PATH], group[ZOO_GROUP];
    room r;
    build(&r, t, state);
    uint8_t *picture = malloc(BEGIN + 3 * PIXELS), *array = malloc(128 + 2 * PIXELS);
    int code = picture && array ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK) {
        memcpy(picture, head, BEGIN);
        for (int k = 0; k < PIXELS; k++) see(&r, t, k % SIDE, k / SIDE, state, picture + BEGIN + 3 * k, &depth[k]);
        const size_t begin = npy_head((char *)array);
        const uint16_t *d = instead ? instead : depth;
        for (int k = 0; k < PIXELS; k++)
            array[begin + 2 * (size_t)k] = (uint8_t)d[k], array[begin + 2 * (size_t)k + 1] = (uint8_t)(d[k] >> 8);
        snprintf(path, sizeof path, "%s/%s/images/%05d.ppm", p->to, p->parts[part].name, i);
        code = zoo_put(path, picture, BEGIN + 3 * PIXELS);
    }
    snprintf(path, sizeof path, "%s/%s/depth/%05d.npy", p->to, p->parts[part].name, i);
    if (code == CLI_OK) code = zoo_put(path, array, 128 + 2 * PIXELS);
    snprintf(group, sizeof group, "room %s %d", part == ZOO_TEST ? "b" : "a", i);
    if (code == CLI_OK) code = zoo_count_in(p, part, group);
    for (int k = 0; k < r.n && code == CLI_OK; k++)
        for (int side = 0; side < 3 && code == CLI_OK; side++)
            code = zoo_group_in(p, part, t->group[r.boxes[k].tile[side]]);
    free(picture), free(array);
    return code;
}

/* Shuffled, a room has the depths of the one before. */
static int draw_part(zoo_prep *p, int part, int n, const tiles *t) {
    char path[ROOM_PATH];
    uint64_t state = part == ZOO_TEST ? 82 : 81;
    uint16_t *depth = malloc(2 * sizeof *depth * SIDE * SIDE);
    const bool shuffle = p->shuffle && part == ZOO_TRAIN;
    int code = depth ? CLI_OK : zoo_out_of_memory();
    static const char *const folders[] = {"images", "depth"};
    for (int k = 0; k < 2 && code == CLI_OK; k++) {
        snprintf(path, sizeof path, "%s/%s/%s", p->to, p->parts[part].name, folders[k]);
        if (!path_make_folder(path)) code = log_fail(CLI_FAILED, "%s: cannot be a folder", path);
    }
    for (int i = 0; i < n && code == CLI_OK; i++) {
        uint16_t *mine = depth + (size_t)(i & 1) * SIDE * SIDE, *before = depth + (size_t)(~i & 1) * SIDE * SIDE;
        code = draw_one(p, part, i, t, &state, shuffle && i ? before : NULL, mine);
    }
    free(depth);
    return code;
}

int zoo_prepare_rooms(zoo_prep *p) {
    static const char form[] = "name depth\nunit m\nscale 0.001\n";
    char path[ROOM_PATH];
    tiles parts[ZOO_PARTS] = {0};
    p->groups = "rooms, and photographs on their walls";
    int code = CLI_OK;
    for (int k = 0; k < ZOO_PARTS; k++) {
        parts[k].pixels = malloc((size_t)MOST_TILES * 3 * TILE * TILE);
        parts[k].group = malloc((size_t)MOST_TILES * sizeof *parts[k].group);
        if (!parts[k].pixels || !parts[k].group) code = zoo_out_of_memory();
    }
    if (code == CLI_OK) code = read_tiles(p, parts);
    for (int k = 0; k < ZOO_PARTS && code == CLI_OK; k++) {
        const int most = A_PHOTO * parts[k].n, n = k == ZOO_TRAIN ? TRAIN : TEST;
        if (k != ZOO_VALIDATION) code = draw_part(p, k, most < n ? most : n, &parts[k]);
    }
    snprintf(path, sizeof path, "%s/maps.txt", p->to);
    if (code == CLI_OK) code = zoo_put(path, form, sizeof form - 1);
    for (int k = 0; k < ZOO_PARTS; k++) free(parts[k].pixels), free(parts[k].group);
    return code;
}
