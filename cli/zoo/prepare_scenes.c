/* Places with things in them: each of ten is what stands behind and what it stands on, of textures that were
 * photographed or painted for a game (UFO: Alien Invasion), and up to three things are put there, of twenty kinds:
 * clothes and numerals written by hand. Textures, clothes and numerals of the test are others than the training's. */
#include "drawn.h"
#include "sounds.h"

#include "../paths.h"
#include "../term/log.h"

#include "wick/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 96,
    TEXTURE = 128,
    STAMP = 28,
    MOST_THINGS = 3,
    LEARNED_OF_KIND = 600, /* things of a kind that are taken */
    HELD_OF_KIND = 120,
    KINDS_OF_THINGS = 20,
    ROOM = 4200
};

/* Below textures/tex_ of the game, without their endings; those of one hand that look alike are on one side. */
static const struct {
    const char *name, *learned, *held;
} textures[] = {
    {"grass",
     "mattn/grass001 mattn/grass002 nature/grass nature/grass001 nature/grass003 nature/grass_mowed_dry_a "
     "nature/grass_mowed_dry_b nature/grass_mowed_dry_c nature/grass_mowed_green_a "
     "nature/grass_mowed_green_b nature/grass_mowed_green_c terrain/grass",
     "nature/grass_tall_dry_a nature/grass_tall_dry_b nature/grass_tall_green_a nature/grass_tall_green_b "
     "nature/grass_lush nature/grass004"},
    {"sand",
     "nature/desert001 nature/desert002 nature/desert003 nature/desert004 nature/desert005 "
     "nature/desert008 nature/sand terrain/desert",
     "mattn/sand001 nature/desert006 nature/desert007 nature/desert009"},
    {"snow",
     "nature/ice002 nature/ice003 nature/icefloor nature/snow001 nature/snow003 terrain/arctic "
     "terrain/cold",
     "nature/snow002 nature/snowey"},
    {"rocks",
     "mattn/rock001 mattn/rock002 mattn/rock003 mattn/rock004 mattn/rock005 nature/pjrock1 nature/pjrock17 "
     "nature/pjrock21 nature/rock008 nature/rock009 nature/rock010 nature/rock011 nature/rock012 "
     "nature/rock004 nature/rock005 nature/rock006 nature/rock007",
     "nature/rock013 nature/rock014 nature/rock015 nature/rock016 nature/rock017 nature/rock018 "
     "nature/stone001 mattn/stone002"},
    {"leaves",
     "nature/hedge001 nature/jungle001 nature/leaves1 nature/leaves2 nature/leaves3 nature/leaves4 "
     "nature/tree001",
     "mattn/hedge001 nature/jungle002"},
    {"soil", "nature/dirt001 nature/dirt002 nature/dirt003 nature/dirt mattn/dirt003 nature/soil001",
     "nature/soil002 mattn/dirt002"},
    {"brick",
     "mattn/brick03 mattn/brick03a mattn/brick03g mattn/wall_bricks001 mattn/wall_bricks002 "
     "mattn/wall_bricks003 mattn/wall003 mattn/wall006 mattn/wall054 mattn/wall079",
     "mattn/wall_bricks004 mattn/wall_bricks005 mattn/wall_bricks006 buildings/wall_brick01 mattn/wall044 "
     "mattn/wall069"},
    {"street",
     "mattn/street001 mattn/street002 mattn/street011 streets/street001 streets/street002 "
     "streets/street003 streets/street004 streets/pavement001",
     "mattn/street010 mattn/street012 streets/base"},
    {"carpet",
     "buildings/carpet001 buildings/carpet002 buildings/carpet003 buildings/carpet004 buildings/carpet005 "
     "buildings/carpet006 buildings/carpet007 buildings/carpet008 buildings/carpet014 buildings/carpet015 "
     "buildings/carpet017 buildings/carpet018 buildings/carpet019 buildings/carpet020 buildings/carpet021 "
     "buildings/carpet023 buildings/carpet024 buildings/carpet025 buildings/carpet027 buildings/carpet028 "
     "buildings/carpet029 buildings/carpet030",
     "buildings/carpet009 buildings/carpet010 buildings/carpet011 buildings/carpet012 buildings/carpet013 "
     "buildings/carpet022 buildings/carpet026 buildings/carpet031"},
    {"paper",
     "buildings/wallpaper001 buildings/wallpaper002 buildings/wallpaper003 buildings/wallpaper004 "
     "buildings/wallpaper005 buildings/wallpaper006 buildings/wallpaper007 buildings/wallpaper008 "
     "buildings/wallpaper009 buildings/wallpaper010 mattn/wall035 mattn/wall036 mattn/wall037 "
     "mattn/wall042",
     "buildings/wallpaper011 buildings/wallpaper012 buildings/wallpaper013 buildings/wallpaper014 "
     "buildings/wallpaper015 mattn/wall032 mattn/wall038 mattn/wall039"},
    {"wood",
     "material/wood001 material/wood002 material/wood003 material/wood004 material/wood005 "
     "material/wood006 material/wood007 material/wood008 material/wood009 material/wood010 "
     "material/wood011 material/wood012 material/wood013 material/wood014 material/wood015 "
     "material/wood016 material/wood017 material/wood018 buildings/floor_wood01",
     "mattn/wood008 mattn/wood010 mattn/wood012 mattn/wood014 mattn/wood015 mattn/wood016 mattn/wood017 "
     "mattn/wood022 mattn/wood025"},
    {"metal",
     "material/metall001 material/metall002 material/metall003 material/metall005 material/metall006 "
     "material/metall007 material/metall008 material/metall009 material/metall010 material/metall011 "
     "material/metall012 material/metall013 material/metall014 material/metall015 material/metall016 "
     "material/metall017 material/metall018 material/metall019 material/metall020 material/metall021 "
     "material/metall022 material/metall023",
     "material/metal001 material/metal002 material/metal012 mattn/metal mattn/metal2 mattn/metal3 "
     "mattn/metal4 mattn/metal5 mattn/metal_rust"},
    {"concrete",
     "buildings/concrete001 buildings/concrete002 buildings/concrete003 buildings/concrete004 "
     "buildings/concrete005 buildings/concrete006 buildings/concrete007 buildings/concrete008 "
     "buildings/concrete009",
     "buildings/concrete012 buildings/concrete013 buildings/concrete014 buildings/concrete015 "
     "buildings/concrete016 buildings/concrete017 buildings/concrete018 buildings/concrete020 "
     "buildings/concrete022"},
    {"roof",
     "mattn/roof001 mattn/roof002 mattn/roof003 mattn/roof004 mattn/roof005 mattn/roof006 mattn/roof007 "
     "mattn/roof008 buildings/roof006 buildings/roof11",
     "mattn/roof009 mattn/roof010 mattn/roof012 buildings/roof004 buildings/roof008"},
};

enum { GRASS, SAND, SNOW, ROCKS, LEAVES, SOIL, BRICK, STREET, CARPET, PAPER, WOOD, METAL, CONCRETE, ROOF, SKY };
enum { KINDS = (int)(sizeof textures / sizeof *textures) };
_Static_assert(KINDS == (int)SKY, "a texture for each kind, and none for the sky");
static const struct {
    const char *name;
    int behind, ground;
} scenes[] = {{"meadow", SKY, GRASS},  {"desert", SKY, SAND},       {"snow", SKY, SNOW},       {"roofs", SKY, ROOF},
              {"rocks", ROCKS, ROCKS}, {"wood", LEAVES, SOIL},      {"street", BRICK, STREET}, {"room", PAPER, CARPET},
              {"cabin", WOOD, WOOD},   {"factory", METAL, CONCRETE}};
enum { SCENES = (int)(sizeof scenes / sizeof *scenes) };
enum {
    DESERT_SCENE = 1,
    SNOW_SCENE,
    ROOFS_SCENE,
    ROCKS_SCENE,
    STREET_SCENE = 6,
    ROOM_SCENE,
    CABIN_SCENE,
    FACTORY_SCENE
}; /* those that have more to them */
static const char *const things[KINDS_OF_THINGS] = {
    "t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",   "boot",
    "zero",    "one",      "two",      "three", "four", "five",   "six",   "seven",   "eight", "nine"};

typedef struct thing {
    uint8_t pixels[STAMP * STAMP];
} thing;
typedef struct shelf {
    thing *list[KINDS_OF_THINGS];
    int64_t n[KINDS_OF_THINGS];
} shelf;
typedef struct maker {
    zoo_prep *p;
    zoo_photos textures;
    shelf things[ZOO_PARTS];
    uint64_t state;
} maker;

/* ---- what is taken ----------------------------------------------------------------------------------------------- */

static int take_texture(maker *m, const char *name, int kind, int part) {
    static const char *const endings[] = {".png", ".jpg"};
    char path[ROOM], *data = NULL;
    size_t size = 0;
    for (int k = 0; k < 2 && !data; k++) {
        snprintf(path, sizeof path, "%s/tex_%s%s", m->p->source, name, endings[k]);
        if (path_exists(path)) data = path_read(path, &size);
    }
    if (!data)
        return log_fail(CLI_BAD_FILE, "%s/tex_%s: is not there, as .png or .jpg; docs/zoo.md says where it is from",
                        m->p->source, name);
    zoo_photo as = {.size = TEXTURE, .part = part, .kind = kind};
    snprintf(as.group, sizeof as.group, "%s", name);
    const int code = zoo_add_photo(m->p, data, size, path, &as, &m->textures);
    free(data);
    return code;
}

static int take_textures(maker *m) {
    int code = CLI_OK;
    for (int k = 0; k < KINDS; k++)
        for (int held = 0; held < 2; held++) {
            const char *at = held ? textures[k].held : textures[k].learned;
            char name[40];
            for (int n; code == CLI_OK && sscanf(at, " %39s%n", name, &n) == 1; at += n)
                code = take_texture(m, name, k, held ? ZOO_TEST : ZOO_TRAIN);
        }
    return code;
}

/* FNV-1a (Fowler, Noll, Vo): the same thing has the same number. */
static uint64_t hash_of(const uint8_t *at, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

/* The first things of each class of a set's part. */
static int take_things(maker *m, const char *path, int part, int first) {
    wick_dataset *set = NULL;
    int code = zoo_checked(m->p, wick_dataset_open(m->p->ctx, path, part == ZOO_TEST ? "test" : "train", &set));
    if (code == CLI_OK &&
        (wick_dataset_rank(set) != 2 || wick_dataset_dims(set)[0] != STAMP || wick_dataset_dims(set)[1] != STAMP))
        code = log_fail(CLI_BAD_FILE, "%s: its pictures are not 28 x 28", path);
    const int64_t most = part == ZOO_TEST ? HELD_OF_KIND : LEARNED_OF_KIND;
    shelf *to = &m->things[part];
    for (int64_t i = 0; code == CLI_OK && i < wick_dataset_count(set); i++) {
        const int64_t label = wick_dataset_label(set, i);
        const uint8_t *pixels = wick_dataset_sample(set, i);
        if (label < 0 || label >= KINDS_OF_THINGS / 2 || !pixels) {
            code = log_fail(CLI_BAD_FILE, "%s: sample %lld is of no class from 0 to 9", path, (long long)i);
            break;
        }
        const int kind = first + (int)label;
        if (to->n[kind] == most) continue;
        if (!to->list[kind] && !(to->list[kind] = malloc((size_t)most * sizeof **to->list))) code = zoo_out_of_memory();
        if (code != CLI_OK) break;
        memcpy(to->list[kind][to->n[kind]++].pixels, pixels, STAMP * STAMP);
        char group[ZOO_GROUP];
        snprintf(group, sizeof group, "%s %016llx", things[kind], (unsigned long long)hash_of(pixels, STAMP * STAMP));
        code = zoo_group_in(m->p, part, group);
    }
    for (int k = 0; code == CLI_OK && k < KINDS_OF_THINGS / 2; k++)
        if (!to->n[first + k]) code = log_fail(CLI_BAD_FILE, "%s: class %d has no sample", path, k);
    wick_dataset_free(&set);
    return code;
}

static int64_t count_things(const maker *m, int part) {
    int64_t n = 0;
    for (int k = 0; k < KINDS_OF_THINGS; k++) n += m->things[part].n[k];
    return n;
}

/* ---- what is drawn ----------------------------------------------------------------------------------------------- */

typedef struct sky {
    float high[3], low[3];
    double clouds, phase[3];
} sky;
static void sky_at(const sky *s, double x, double y, float rgb[3]) {
    double cloud = 0;
    for (int k = 0; k < 3; k++)
        cloud += sin(s->phase[k] + (3 + 4 * k) * x + (1 + k) * sin(s->phase[2 - k] + (4 + 5 * k) * y)) / (1 + k);
    cloud = s->clouds * fmax(0, cloud);
    for (int k = 0; k < 3; k++) rgb[k] = (float)fmin(1, (double)s->high[k] * (1 - y) + (double)s->low[k] * y + cloud);
}
/* Over a desert there is dust in the lower part, over snow no blue. */
static void draw_sky(sky *s, int scene, uint64_t *state) {
    const double hue = zoo_between(state, 0.54, 0.64), blue = scene == SNOW_SCENE ? 0.1 : zoo_between(state, 0.1, 1);
    zoo_colour(hue, 0.6 * blue, zoo_between(state, 0.55, 0.95), s->high);
    if (scene == DESERT_SCENE)
        zoo_colour(zoo_between(state, 0.07, 0.13), zoo_between(state, 0.2, 0.45), zoo_between(state, 0.75, 1), s->low);
    else
        zoo_colour(hue, 0.3 * blue, zoo_between(state, 0.75, 1), s->low);
    s->clouds = zoo_between(state, 0, 0.25);
    for (int k = 0; k < 3; k++) s->phase[k] = zoo_between(state, 0, 6.28);
}

/* Where the sky ends, of what stands before it: roofs of a street, mountains. */
static double skyline_of(int scene, double horizon, double x, const double phase[3]) {
    if (scene == STREET_SCENE) return horizon * (0.25 + 0.2 * sin(phase[0]));
    if (scene != ROCKS_SCENE) return 0;
    double y = 0.35 + 0.1 * sin(phase[0]);
    for (int k = 1; k < 4; k++) y += 0.18 / k * fabs(sin(phase[k - 1] + 3 * k * x / SIDE)) - 0.1 / k;
    return horizon * y;
}

/* An upright rectangle; its edges are sharp. */
static void fill(zoo_canvas *c, double x, double y, double wide, double high, const float rgb[3]) {
    for (int j = (int)fmax(y, 0); j < y + high; j++)
        for (int i = (int)fmax(x, 0); i < x + wide; i++) zoo_blend(c, i, j, rgb, 1);
}

/* Windows of a street's houses, and a line along the road. */
static void furnish_street(uint64_t *state, double horizon, double top, zoo_canvas *c) {
    float frame[3], glass[3], line[3];
    const double wide = zoo_between(state, 7, 11), between = wide + zoo_between(state, 6, 12),
                 high = fmin(zoo_between(state, 8, 13), horizon - top - 6), y = top + (horizon - top - high) / 2;
    zoo_colour(zoo_uniform(state), 0.1, zoo_between(state, 0.6, 1), frame);
    zoo_colour(zoo_between(state, 0.5, 0.65), 0.3, zoo_between(state, 0.05, 0.35), glass);
    zoo_colour(0.15, zoo_between(state, 0, 0.5), zoo_between(state, 0.8, 1), line);
    for (double x = zoo_between(state, -wide, 4); x < SIDE && high > 2; x += between) {
        fill(c, x - 1, y - 1, wide + 2, high + 2, frame);
        fill(c, x, y, wide, high, glass);
    }
    const double at = zoo_between(state, (horizon + SIDE) / 2, SIDE - 6);
    for (double x = zoo_between(state, -12, 0); x < SIDE; x += 24) fill(c, x, at, 13, 3, line);
}

/* A room has a window and a skirting board, a cabin posts and a beam, a factory pipes along the wall, roofs chimneys.
 */
static void furnish(maker *m, int scene, double horizon, const sky *s, zoo_canvas *c) {
    uint64_t *state = &m->state;
    float colour[3], rgb[3];
    if (scene == ROOM_SCENE) {
        const double wide = zoo_between(state, 18, 30), high = fmin(zoo_between(state, 16, 28), horizon - 8),
                     x = zoo_between(state, 4, SIDE - wide - 4), y = zoo_between(state, 2, horizon - high - 5);
        zoo_colour(zoo_between(state, 0.05, 0.15), zoo_between(state, 0, 0.2), zoo_between(state, 0.8, 1), colour);
        fill(c, 0, horizon - 3, SIDE, 3, colour);
        fill(c, x - 2, y - 2, wide + 4, high + 4, colour);
        for (int j = 0; j < (int)high; j++)
            for (int i = 0; i < (int)wide; i++) {
                sky_at(s, (x + i) / SIDE, (y + j) / horizon, rgb);
                zoo_blend(c, (int)x + i, (int)y + j, rgb, 1);
            }
        fill(c, x + wide / 2 - 1, y, 2, high, colour);
        fill(c, x, y + high / 2 - 1, wide, 2, colour);
    } else if (scene == STREET_SCENE) {
        furnish_street(state, horizon, skyline_of(scene, horizon, 0, s->phase), c);
    } else if (scene == ROOFS_SCENE) {
        for (int n = 1 + (int)zoo_below(state, 3); n > 0; n--) {
            const double wide = zoo_between(state, 6, 11), high = zoo_between(state, 8, 16),
                         x = zoo_between(state, 0, SIDE - wide), y = horizon - high + 4;
            zoo_colour(zoo_between(state, 0.01, 0.06), zoo_between(state, 0.2, 0.6), zoo_between(state, 0.3, 0.7),
                       colour);
            fill(c, x, y, wide, high, colour);
            for (int k = 0; k < 3; k++) rgb[k] = 0.6f * colour[k];
            fill(c, x - 1, y - 2, wide + 2, 2, rgb);
        }
    } else if (scene == CABIN_SCENE) {
        zoo_colour(zoo_between(state, 0.05, 0.09), 0.6, zoo_between(state, 0.15, 0.35), colour);
        const double between = zoo_between(state, 22, 34);
        for (double x = zoo_between(state, 0, between); x < SIDE; x += between) fill(c, x, 0, 4, horizon, colour);
        fill(c, 0, zoo_between(state, 0, 4), SIDE, 5, colour);
    } else if (scene == FACTORY_SCENE) {
        for (int n = 1 + (int)zoo_below(state, 2); n > 0; n--) {
            const double y = zoo_between(state, 4, horizon - 4), r = zoo_between(state, 2.5, 4.5);
            zoo_colour(zoo_uniform(state), zoo_between(state, 0, 0.7), zoo_between(state, 0.5, 0.9), colour);
            for (int j = (int)(y - r); j <= (int)(y + r); j++) {
                const double off = (j - y) / r;
                for (int k = 0; k < 3; k++) rgb[k] = colour[k] * (float)fmax(0.2, 1 - 0.7 * fabs(off + 0.3));
                fill(c, 0, j, SIDE, 1, rgb);
            }
        }
    }
}

/* Pixels are means of 2 x 2 places. What is behind is seen from the front; of the ground what is nearer is larger. */
static int draw_scene(maker *m, int part, int scene, zoo_canvas *c) {
    enum { FINE = 2 };
    const int kind[2] = {scenes[scene].behind, scenes[scene].ground};
    const zoo_photo *photo[2] = {NULL, NULL};
    sky above;
    double scale[2], shift[4];
    draw_sky(&above, scene, &m->state);
    for (int k = 0; k < 2; k++) {
        if (kind[k] != SKY && !(photo[k] = zoo_pick_photo(&m->textures, part, kind[k], &m->state)))
            return log_fail(CLI_BAD_FILE, "%s: has no texture of %s", m->p->source, textures[kind[k]].name);
        if (photo[k] && zoo_group_in(m->p, part, photo[k]->group) != CLI_OK) return CLI_FAILED;
        scale[k] = TEXTURE / (double)SIDE * zoo_between(&m->state, 0.6, 1.4);
        shift[k] = zoo_between(&m->state, 0, TEXTURE), shift[2 + k] = zoo_between(&m->state, 0, TEXTURE);
    }
    const double horizon = SIDE * zoo_between(&m->state, 0.25, 0.6), eye = zoo_between(&m->state, 15, 35),
                 mirror = zoo_uniform(&m->state) < 0.5 ? -1 : 1,
                 light[2] = {zoo_between(&m->state, 0.7, 1.4), zoo_between(&m->state, 0.7, 1.4)};
    double skyline[SIDE];
    for (int x = 0; x < SIDE; x++) skyline[x] = skyline_of(scene, horizon, x, above.phase);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float *to = c->at + 3 * (y * SIDE + x), blue[3] = {0};
            const double top = photo[0] ? skyline[x] : horizon; /* of what is no sky */
            for (int k = 0; k < 3; k++) to[k] = 0;
            if (y < top) sky_at(&above, (double)x / SIDE, y / horizon, blue);
            for (int i = 0; i < FINE * FINE; i++) {
                const double u = x + (i % FINE + 0.5) / FINE, v = y + (i / FINE + 0.5) / FINE;
                const bool low = v >= horizon, open = v < top;
                const double far = low ? (SIDE - horizon + eye) / (v - horizon + eye) : 1; /* 1 at the lower edge */
                float rgb[3];
                if (!open && photo[low])
                    zoo_photo_at(photo[low], mirror * (u - SIDE / 2.0) * far * scale[low] + shift[low],
                                 (low ? far * eye * 2 : v) * scale[low] + shift[2 + low], rgb);
                else
                    memcpy(rgb, blue, sizeof rgb);
                for (int k = 0; k < 3; k++) to[k] += rgb[k] * (float)(open ? 1 : light[low]) / (FINE * FINE);
            }
        }
    furnish(m, scene, horizon, &above, c);
    return CLI_OK;
}

static double ink_at(const thing *t, double x, double y) {
    const int x0 = (int)floor(x), y0 = (int)floor(y);
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const int i = x0 + k % 2, j = y0 + k / 2;
        if (i < 0 || j < 0 || i >= STAMP || j >= STAMP) continue;
        sum += (k % 2 ? x - x0 : x0 + 1 - x) * (k / 2 ? y - y0 : y0 + 1 - y) * t->pixels[j * STAMP + i];
    }
    return sum / 255;
}

/* Clothes are cloth of a colour, lighter where they are light; numerals are painted. */
static void draw_thing(maker *m, const thing *t, bool painted, double middle[2], zoo_canvas *c) {
    const double size = zoo_between(&m->state, 1.0, 1.5), turn = zoo_between(&m->state, -0.2, 0.2),
                 co = cos(turn) / size, si = sin(turn) / size;
    const int reach = (int)(size * STAMP * 0.75);
    float colour[3], rgb[3];
    zoo_colour(zoo_uniform(&m->state), zoo_between(&m->state, 0, painted ? 1 : 0.6), 1, colour);
    const double light = painted && zoo_uniform(&m->state) < 0.4 ? 0.1 : 1;
    for (int y = (int)middle[1] - reach; y <= (int)middle[1] + reach; y++)
        for (int x = (int)middle[0] - reach; x <= (int)middle[0] + reach; x++) {
            const double dx = x - middle[0], dy = y - middle[1];
            const double ink = ink_at(t, co * dx + si * dy + STAMP / 2.0, co * dy - si * dx + STAMP / 2.0);
            for (int k = 0; k < 3; k++) rgb[k] = colour[k] * (float)(painted ? light : 0.15 + 0.85 * ink);
            zoo_blend(c, x, y, rgb, painted ? 1.3 * ink : 8 * (ink - 0.04));
        }
}

/* Things of different kinds, whose middles are not near each other. */
static int draw_things(maker *m, int part, zoo_canvas *c, bool there[KINDS_OF_THINGS]) {
    const int n = 1 + (int)zoo_below(&m->state, MOST_THINGS);
    double middles[MOST_THINGS][2];
    memset(there, 0, KINDS_OF_THINGS * sizeof *there);
    for (int i = 0; i < n; i++) {
        int kind;
        bool near = true;
        do kind = (int)zoo_below(&m->state, KINDS_OF_THINGS);
        while (there[kind]);
        for (int tries = 0; near && tries < 100; tries++) {
            near = false;
            for (int k = 0; k < 2; k++) middles[i][k] = zoo_between(&m->state, 16, SIDE - 16);
            for (int k = 0; k < i; k++)
                near |= hypot(middles[i][0] - middles[k][0], middles[i][1] - middles[k][1]) < 36;
        }
        if (near) break;
        const shelf *s = &m->things[part];
        there[kind] = true;
        draw_thing(m, &s->list[kind][zoo_below(&m->state, s->n[kind])], kind >= KINDS_OF_THINGS / 2, middles[i], c);
    }
    return CLI_OK;
}

static int draw_one(maker *m, int part, int64_t i, float *pixels, int *scene, bool there[KINDS_OF_THINGS]) {
    zoo_canvas c = {pixels, SIDE};
    char path[ROOM];
    *scene = (int)zoo_below(&m->state, SCENES);
    int code = draw_scene(m, part, *scene, &c);
    if (code == CLI_OK) code = draw_things(m, part, &c, there);
    zoo_expose(&c, &m->state);
    snprintf(path, sizeof path, "%s/%s/%05lld.ppm", m->p->to, m->p->parts[part].name, (long long)i);
    m->p->parts[part].samples += code == CLI_OK;
    return code == CLI_OK ? zoo_put_canvas(&c, path) : code;
}

static int draw_part(maker *m, int part, int64_t n) {
    char path[ROOM], *text = NULL;
    size_t size = 0;
    bool(*there)[KINDS_OF_THINGS] = malloc((size_t)n * sizeof *there);
    int *scene = malloc((size_t)n * sizeof *scene);
    int64_t *order = malloc((size_t)n * sizeof *order);
    float *pixels = malloc(3 * SIDE * SIDE * sizeof *pixels);
    FILE *table = there && scene && order && pixels ? open_memstream(&text, &size) : NULL;
    int code = table ? CLI_OK : zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s", m->p->to, m->p->parts[part].name);
    if (code == CLI_OK && !path_make_folder(path)) code = log_fail(CLI_FAILED, "%s: cannot be a folder", path);
    m->state = (uint64_t)part + 10;
    for (int64_t i = 0; code == CLI_OK && i < n; i++) code = draw_one(m, part, i, pixels, &scene[i], there[i]);
    if (order) zoo_deal(order, n);
    if (table) fputs("file,scene,things\n", table);
    for (int64_t i = 0; code == CLI_OK && i < n; i++) {
        const int64_t k = m->p->shuffle && part == ZOO_TRAIN ? order[i] : i;
        const char *between = "";
        fprintf(table, "%s/%05lld.ppm,%s,", m->p->parts[part].name, (long long)i, scenes[scene[k]].name);
        for (int t = 0; t < KINDS_OF_THINGS; t++)
            if (there[k][t]) fprintf(table, "%s%s", between, things[t]), between = ";";
        fputs("\n", table);
    }
    if (table && fclose(table) != 0 && code == CLI_OK) code = zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s.csv", m->p->to, m->p->parts[part].name);
    if (code == CLI_OK) code = zoo_put(path, text, size);
    free(text), free(there), free(scene), free(order), free(pixels);
    return code;
}

int zoo_prepare_scenes(zoo_prep *p) {
    maker m = {.p = p};
    p->groups = "textures and things";
    int code = take_textures(&m);
    for (int held = 0; held < 2; held++)
        for (int k = 0; k < 2 && code == CLI_OK; k++)
            code = take_things(&m, p->sources[1 + k], held ? ZOO_TEST : ZOO_TRAIN, k * KINDS_OF_THINGS / 2);
    /* pictures: three of four things of the training, five of eight of the test */
    if (code == CLI_OK) code = draw_part(&m, ZOO_TRAIN, count_things(&m, ZOO_TRAIN) * 3 / 4);
    if (code == CLI_OK) code = draw_part(&m, ZOO_TEST, count_things(&m, ZOO_TEST) * 5 / 8);
    for (int k = 0; k < ZOO_PARTS; k++)
        for (int t = 0; t < KINDS_OF_THINGS; t++) free(m.things[k].list[t]);
    zoo_free_photos(&m.textures);
    return code;
}
