/* V9: pairs of pictures of a thing that moved. Things are stamps (Tux Paint's photographs and drawings), cut out by the
 * white around them; what is behind them is a photograph (of clothes, as the set has them), of which both pictures show
 * a part. The first has the thing in its middle; in the second it is anywhere, larger or smaller, in other light, and
 * beside it is another thing, so that nothing is found without the first. Stamps and photographs of the test are others
 * than those of the training. */
#include "drawn.h"

#include "../paths.h"
#include "../term/log.h"
#include "../train/source_kinds.h"

#include "wick/files.h"
#include "wick/wick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 64,
    STAMP = 96,
    PHOTO = 128,
    TRAIN = 6000,
    TEST = 600,
    MOST = 600,
    A_STAMP = 20 /* pairs, of few stamps */,
    WHITE = 240,
    TRACK_PATH = 4200
};

typedef struct stamp {
    int high, wide; /* at most STAMP */
    char group[ZOO_GROUP];
    uint8_t pixels[3][STAMP * STAMP], there[STAMP * STAMP];
} stamp;
/* Of a part. */
typedef struct things {
    int stamps, photos;
    stamp *stamp;
    uint8_t *photo; /* [photos, 3, PHOTO, PHOTO] */
    char (*group)[ZOO_GROUP];
} things;

/* ---- what there is ----------------------------------------------------------------------------------------------- */

/* White that reaches the edge is not there, and a pixel more, where colours are mixed with it. False: little is left.
 */
static bool cut_out(stamp *s) {
    const int n = s->high * s->wide;
    int stack[STAMP * STAMP], at = 0, left = 0;
    uint8_t gone[STAMP * STAMP] = {0};
    for (int i = 0; i < n; i++) {
        const int x = i % s->wide, y = i / s->wide;
        const bool white = s->pixels[0][i] >= WHITE && s->pixels[1][i] >= WHITE && s->pixels[2][i] >= WHITE,
                   edge = !x || !y || x == s->wide - 1 || y == s->high - 1;
        s->there[i] = !white;
        if (white && edge) gone[i] = 1, stack[at++] = i;
    }
    static const int ways[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    while (at) {
        const int i = stack[--at];
        for (int k = 0; k < 4; k++) {
            const int x = i % s->wide + ways[k][0], y = i / s->wide + ways[k][1], j = y * s->wide + x;
            if (x < 0 || y < 0 || x >= s->wide || y >= s->high || gone[j] || s->there[j]) continue;
            gone[j] = 1, stack[at++] = j;
        }
    }
    for (int i = 0; i < n; i++) {
        bool beside = gone[i];
        for (int k = 0; k < 4; k++) {
            const int x = i % s->wide + ways[k][0], y = i / s->wide + ways[k][1];
            beside |= x >= 0 && y >= 0 && x < s->wide && y < s->high && gone[y * s->wide + x];
        }
        s->there[i] = !beside;
        left += !beside;
    }
    return left > n / 5;
}

/* Stamps that are variants of one, as iris.png, iris_mirror.png and iris2.png, are one group: folder/iris. */
static void group_of(const char *name, char group[ZOO_GROUP]) {
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const size_t n = (size_t)(base - name) + strcspn(base, "_-.0123456789");
    const char *from = n > 40 ? name + n - 40 : name;
    snprintf(group, ZOO_GROUP, "stamp %.*s", (int)(name + n - from), from);
}

static int keep_stamp(const zoo_prep *p, const wick_file *file, things parts[ZOO_PARTS]) {
    wick_image *image, *small = NULL;
    if (!source_ends(file->name, ".png") || strncmp(file->name, "symbols/", 8) == 0) return CLI_OK;
    char group[ZOO_GROUP];
    group_of(file->name, group);
    things *t = &parts[source_hash(group) % 5 == 0 ? ZOO_TEST : ZOO_TRAIN];
    if (t->stamps == MOST) return CLI_OK;
    int code = zoo_checked(p, wick_image_decode(p->ctx, file->data, file->size, file->name, 3, &image));
    if (code != CLI_OK) return code;
    const int64_t *d = wick_image_dims(image), longest = d[1] > d[2] ? d[1] : d[2];
    stamp *s = &t->stamp[t->stamps];
    s->high = (int)fmax(1, round((double)(d[1] * STAMP) / (double)longest));
    s->wide = (int)fmax(1, round((double)(d[2] * STAMP) / (double)longest));
    code = zoo_checked(p, wick_image_resize(p->ctx, image, s->high, s->wide, &small));
    if (code == CLI_OK) {
        const size_t n = (size_t)(s->high * s->wide);
        for (size_t k = 0; k < 3; k++) memcpy(s->pixels[k], wick_image_pixels(small, 0) + k * n, n);
        memcpy(s->group, group, sizeof group);
        t->stamps += cut_out(s);
    }
    wick_image_free(&small);
    wick_image_free(&image);
    return code;
}

static int keep_photo(const zoo_prep *p, const wick_file *file, things parts[ZOO_PARTS]) {
    char group[ZOO_GROUP];
    int part;
    if (!zoo_place(&zoo_set_clothing, file, &part, group)) return CLI_OK;
    things *t = &parts[part == ZOO_TEST ? ZOO_TEST : ZOO_TRAIN]; /* nothing is chosen here */
    if (t->photos == MOST) return CLI_OK;
    snprintf(t->group[t->photos], ZOO_GROUP, "photo %.40s", group);
    return zoo_square(p, file->data, file->size, file->name, PHOTO,
                      t->photo + (size_t)t->photos++ * 3 * PHOTO * PHOTO);
}

static int read_source(const zoo_prep *p, int which, things parts[ZOO_PARTS]) {
    wick_files *files;
    int code =
        zoo_checked(p, wick_files_open(p->ctx, p->sources[which], &(wick_files_options){.all = which > 0}, &files));
    for (bool more = code == CLI_OK; code == CLI_OK && more;) {
        wick_file file;
        code = zoo_checked(p, wick_files_next(files, &file, &more));
        if (code == CLI_OK && more) code = which ? keep_photo(p, &file, parts) : keep_stamp(p, &file, parts);
    }
    wick_files_free(&files);
    return code;
}

/* ---- a pair ------------------------------------------------------------------------------------------------------ */

typedef struct place {
    double x, y, scale; /* of the upper left corner; pixels for one of the stamp's */
    bool mirrored;
} place;

static void lay(const uint8_t *photo, double x, double y, double scale, double gain, uint8_t *page) {
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < SIDE * SIDE; i++) {
            const int u = (int)(x + scale * (i % SIDE)), v = (int)(y + scale * (i / SIDE));
            const double c = gain * photo[(k * PHOTO + (v < 0        ? 0
                                                        : v >= PHOTO ? PHOTO - 1
                                                                     : v)) *
                                              PHOTO +
                                          (u < 0        ? 0
                                           : u >= PHOTO ? PHOTO - 1
                                                        : u)];
            page[3 * i + k] = (uint8_t)(c > 255 ? 255 : c + 0.5);
        }
}

/* The mean of 3 x 3 places in each pixel; box: around what is there of it, x0, y0, x1, y1. False: it is not all in the
 * picture. */
static bool put(const stamp *s, place at, double gain, uint8_t *page, int box[4]) {
    enum { FINE = 3 };
    box[0] = box[1] = SIDE, box[2] = box[3] = 0;
    const double high = s->high * at.scale, wide = s->wide * at.scale;
    for (int y = (int)floor(at.y); y <= (int)ceil(at.y + high); y++)
        for (int x = (int)floor(at.x); x <= (int)ceil(at.x + wide); x++) {
            double sum[3] = {0}, cover = 0;
            for (int k = 0; k < FINE * FINE; k++) {
                int u = (int)floor((x + (k % FINE + 0.5) / FINE - at.x) / at.scale);
                const int v = (int)floor((y + (k / FINE + 0.5) / FINE - at.y) / at.scale);
                if (at.mirrored) u = s->wide - 1 - u;
                if (u < 0 || v < 0 || u >= s->wide || v >= s->high || !s->there[v * s->wide + u]) continue;
                for (int c = 0; c < 3; c++) sum[c] += s->pixels[c][v * s->wide + u];
                cover++;
            }
            if (cover == 0) continue;
            if (x < 0 || y < 0 || x >= SIDE || y >= SIDE) {
                if (cover > FINE) box[0] = -1; /* cut off */
                continue;
            }
            uint8_t *to = page + 3 * (y * SIDE + x);
            const double share = cover / (FINE * FINE);
            for (int c = 0; c < 3; c++) {
                const double v = fmin(255, gain * sum[c] / cover);
                to[c] = (uint8_t)(to[c] + share * (v - to[c]) + 0.5);
            }
            if (share < 0.5 || box[0] < 0) continue;
            box[0] = x < box[0] ? x : box[0], box[1] = y < box[1] ? y : box[1];
            box[2] = x + 1 > box[2] ? x + 1 : box[2], box[3] = y + 1 > box[3] ? y + 1 : box[3];
        }
    return box[0] >= 0 && box[0] < box[2] && box[1] < box[3];
}

static bool touch(const int a[4], const int b[4]) { return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]; }

/* Somewhere within the picture, its longer side of that many pixels. */
static place anywhere(const stamp *s, double size, uint64_t *state) {
    place at = {.scale = size / (s->high > s->wide ? s->high : s->wide)};
    at.x = zoo_between(state, 0, SIDE - s->wide * at.scale);
    at.y = zoo_between(state, 0, SIDE - s->high * at.scale);
    return at;
}

/* Both pictures, [SIDE, SIDE, 3], and the box in the second; *s and *other: the stamps, *photo: what is behind. */
static bool make_pair(const things *t, uint64_t *state, uint8_t *first, uint8_t *second, int box[4], int *s, int *other,
                      int *photo) {
    *s = (int)(zoo_random(state) % (uint64_t)t->stamps);
    *other = (int)((uint64_t)(*s + 1) + zoo_random(state) % (uint64_t)(t->stamps - 1)) % t->stamps;
    *photo = (int)(zoo_random(state) % (uint64_t)t->photos);
    const stamp *is = &t->stamp[*s], *beside = &t->stamp[*other];
    const uint8_t *behind = t->photo + (size_t)*photo * 3 * PHOTO * PHOTO;
    const double size = zoo_between(state, 16, 30), zoom = zoo_between(state, 0.7, 1.3), x = zoo_between(state, 0, 40),
                 y = zoo_between(state, 0, 40), gain = zoo_between(state, 0.8, 1.2);
    int around[4];
    lay(behind, x, y, zoom, 1, first);
    lay(behind, x + zoo_between(state, -8, 8), y + zoo_between(state, -8, 8), zoom, gain, second);
    place middle = {.scale = size / (is->high > is->wide ? is->high : is->wide), .mirrored = zoo_uniform(state) < 0.5};
    middle.x = (SIDE - is->wide * middle.scale) / 2 + zoo_between(state, -2, 2);
    middle.y = (SIDE - is->high * middle.scale) / 2 + zoo_between(state, -2, 2);
    if (!put(is, middle, 1, first, around)) return false;
    place at = anywhere(is, fmin(34, fmax(14, size * zoo_between(state, 0.75, 1.33))), state);
    at.mirrored = middle.mirrored;
    for (int tries = 0; tries < 20; tries++) { /* the other one is not in its way */
        const place that = anywhere(beside, zoo_between(state, 16, 30), state);
        const int its[] = {(int)that.x - 1, (int)that.y - 1, (int)(that.x + beside->wide * that.scale) + 1,
                           (int)(that.y + beside->high * that.scale) + 1},
                  mine[] = {(int)at.x, (int)at.y, (int)(at.x + is->wide * at.scale), (int)(at.y + is->high * at.scale)};
        if (touch(its, mine)) continue;
        put(beside, that, gain, second, around);
        break;
    }
    return put(is, at, gain, second, box);
}

static int write_picture(const char *path, const uint8_t *page, double noise, uint64_t *state) {
    static const char head[] = "P6\n64 64\n255\n";
    enum { BEGIN = sizeof head - 1 };
    uint8_t file[BEGIN + 3 * SIDE * SIDE];
    memcpy(file, head, BEGIN);
    for (int i = 0; i < 3 * SIDE * SIDE; i++) {
        const double v = page[i] + noise * (zoo_uniform(state) + zoo_uniform(state) - 1);
        file[BEGIN + i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
    }
    return zoo_put(path, file, sizeof file);
}

/* Shuffled, a pair has the box of the one before. */
static int draw_part(zoo_prep *p, int part, int n, const things *t) {
    char path[TRACK_PATH], *text = NULL;
    const char *name = p->parts[part].name;
    size_t size = 0;
    uint64_t state = part == ZOO_TEST ? 92 : 91;
    uint8_t *pages = malloc((size_t)2 * 3 * SIDE * SIDE);
    int box[4], before[4] = {16, 16, 48, 48}, s, other, photo;
    FILE *table = open_memstream(&text, &size);
    int code = pages && table ? CLI_OK : zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s", p->to, name);
    if (code == CLI_OK && !path_make_folder(path)) code = log_fail(CLI_FAILED, "%s: cannot be a folder", path);
    if (table) fputs("template,search,xmin,ymin,xmax,ymax\n", table);
    for (int i = 0; i < n && code == CLI_OK; i++) {
        uint8_t *first = pages, *second = pages + 3 * SIDE * SIDE;
        while (!make_pair(t, &state, first, second, box, &s, &other, &photo)) continue;
        const int *said = p->shuffle && part == ZOO_TRAIN ? before : box;
        fprintf(table, "%s/%05da.ppm,%s/%05db.ppm,%d,%d,%d,%d\n", name, i, name, i, said[0], said[1], said[2], said[3]);
        memcpy(before, box, sizeof before);
        for (int k = 0; k < 2 && code == CLI_OK; k++) {
            snprintf(path, sizeof path, "%s/%s/%05d%c.ppm", p->to, name, i, "ab"[k]);
            code = write_picture(path, k ? second : first, zoo_between(&state, 1, 8), &state);
        }
        if (code == CLI_OK) code = zoo_count_in(p, part, t->stamp[s].group);
        if (code == CLI_OK) code = zoo_group_in(p, part, t->stamp[other].group);
        if (code == CLI_OK) code = zoo_group_in(p, part, t->group[photo]);
    }
    if (table && fclose(table) != 0 && code == CLI_OK) code = zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s.csv", p->to, name);
    if (code == CLI_OK) code = zoo_put(path, text, size);
    free(text), free(pages);
    return code;
}

int zoo_prepare_tracks(zoo_prep *p) {
    things parts[ZOO_PARTS] = {0};
    int code = CLI_OK;
    p->groups = "stamps and photographs";
    for (int k = 0; k < ZOO_PARTS; k++) {
        parts[k].stamp = malloc(MOST * sizeof *parts[k].stamp);
        parts[k].photo = malloc((size_t)MOST * 3 * PHOTO * PHOTO);
        parts[k].group = malloc(MOST * sizeof *parts[k].group);
        if (!parts[k].stamp || !parts[k].photo || !parts[k].group) code = zoo_out_of_memory();
    }
    for (int which = 0; which < 2 && code == CLI_OK; which++) code = read_source(p, which, parts);
    for (int part = 0; part < ZOO_PARTS && code == CLI_OK; part++)
        if (part != ZOO_VALIDATION && (parts[part].stamps < 2 || !parts[part].photos))
            code = log_fail(CLI_BAD_FILE, "%s: has no two stamps, or %s no photograph, for %s", p->source,
                            p->sources[1], p->parts[part].name);
    for (int k = 0; k < ZOO_PARTS && code == CLI_OK; k++) {
        const int most = A_STAMP * parts[k].stamps, n = k == ZOO_TRAIN ? TRAIN : TEST;
        if (k != ZOO_VALIDATION) code = draw_part(p, k, most < n ? most : n, &parts[k]);
    }
    for (int k = 0; k < ZOO_PARTS; k++) free(parts[k].stamp), free(parts[k].photo), free(parts[k].group);
    return code;
}
