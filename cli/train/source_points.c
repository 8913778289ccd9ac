/* Pictures with points: "image", u8 [C, H, W], "points", f32 [K, 3], x and y in its pixels and 1, or 0 where the point
 * is not there, and "size", i64 [2], the height and width of its file's picture, or of the part of it that the row is
 * of. What was learned is the way pictures are fitted, and the points' names. */
#include "source_kinds.h"

#include "boxes/box_fit.h"
#include "boxes/box_set.h"
#include "boxes/point_table.h"
#include "../paths.h"
#include "../term/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 8 /* beside a box, an eighth of its width or height, so that a row shows 1.25 times what it holds */ };

typedef struct pointed {
    int64_t n, points, dims[3];
    uint8_t *pixels; /* [n, dims] */
    float *at;       /* [n, points, 3] */
    int64_t *sizes;  /* [n, 2] */
} pointed;

static size_t picture_bytes(const pointed *p) { return (size_t)(p->dims[0] * p->dims[1] * p->dims[2]); }
static const void *at(void *user, int64_t i, int field) {
    const pointed *p = user;
    if (field == 1) return p->at + i * p->points * POINT_WIDTH;
    if (field == 2) return p->sizes + 2 * i;
    return p->pixels + (size_t)i * picture_bytes(p);
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const pointed *p = user;
    (void)fault;
    if (out[0]) memcpy(out[0], at(user, i, 0), picture_bytes(p));
    if (out[1]) memcpy(out[1], at(user, i, 1), (size_t)(p->points * POINT_WIDTH) * sizeof *p->at);
    if (out[2]) memcpy(out[2], at(user, i, 2), 2 * sizeof *p->sizes);
    return WICK_OK;
}
static void drop(void *user) {
    pointed *p = user;
    if (!p) return;
    free(p->pixels);
    free(p->at);
    free(p->sizes);
    free(p);
}

/* ---- the coding: "points" stretch|letterbox, and a tab and a name for each ----------------------------------------
 */

static const char prefix[] = "\"points\" ";

static char *write_coding(const point_table *t, bool letterbox) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "%s%s", prefix, letterbox ? "letterbox" : "stretch");
    for (int k = 0; k < t->points; k++) fprintf(out, "\t%s", t->names[k]);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

bool source_read_point_coding(const char *coding, bool *letterbox) {
    if (!coding || strncmp(coding, prefix, sizeof prefix - 1) != 0) return false;
    const char *text = coding + sizeof prefix - 1;
    *letterbox = strncmp(text, "letterbox\t", 10) == 0;
    return *letterbox || strncmp(text, "stretch\t", 8) == 0;
}

/* Whether a table's points are those of the coding, in their order. */
static bool are_same(const char *coding, const point_table *t) {
    const char *at_ = strchr(coding, '\t');
    for (int k = 0; k < t->points; k++) {
        const size_t n = at_ ? strcspn(at_ + 1, "\t") : 0;
        if (!at_ || n != strlen(t->names[k]) || memcmp(at_ + 1, t->names[k], n) != 0) return false;
        at_ = at_[1 + n] ? at_ + 1 + n : NULL;
    }
    return !at_;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static wick_status make_room(wick_context *ctx, const char *path, pointed *p) {
    const size_t n = (size_t)p->n, bytes = picture_bytes(p), points = (size_t)(p->points * POINT_WIDTH);
    if (bytes < SIZE_MAX / 2 / n && points < SIZE_MAX / 8 / n) {
        p->pixels = malloc(n * bytes);
        p->at = malloc(n * points * sizeof *p->at);
        p->sizes = malloc(n * 2 * sizeof *p->sizes);
    }
    if (p->pixels && p->at && p->sizes) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory: %zu pictures of %zu bytes", path, n, bytes);
}

/* The rectangle, of whole pixels, that a row shows: what its box holds and a margin, as far as the picture goes. */
static void find_part(const point_row *row, const int64_t dims[3], int64_t at[4]) {
    for (int k = 0; k < 4; k++) {
        const double size = row->box[2 + k % 2] - row->box[k % 2], most = (double)dims[k % 2 ? 1 : 2],
                     to = k < 2 ? floor(row->box[k] - size / MARGIN) : ceil(row->box[k] + size / MARGIN);
        at[k] = (int64_t)fmin(fmax(to, 0), most);
    }
}

/* The picture becomes what the row shows of it; from: where that begins. */
static wick_status cut_part(wick_context *ctx, const char *path, const point_row *row, wick_image **image,
                            int64_t from[2]) {
    const int64_t *d = wick_image_dims(*image);
    int64_t at[4];
    wick_image *part;
    from[0] = from[1] = 0;
    if (!row->boxed) return WICK_OK;
    find_part(row, d, at);
    if (at[2] <= at[0] || at[3] <= at[1])
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s, line %lld: an annotation's \"bbox\" lies outside of %s, %lld x %lld pixels", path,
                                 (long long)row->line, row->path, (long long)d[1], (long long)d[2]);
    const wick_status status = wick_image_crop(ctx, *image, at[1], at[0], at[3] - at[1], at[2] - at[0], &part);
    if (status != WICK_OK) return status;
    wick_image_free(image);
    *image = part, from[0] = at[0], from[1] = at[1];
    return WICK_OK;
}

/* Row i, of the size of the first, or that which the context asks for; *outside counts points that lie there. */
static wick_status take_picture(wick_context *ctx, const point_table *t, int64_t i, const char *path, bool letterbox,
                                pointed *p, int64_t *outside) {
    const wick_pictures how = wick_context_pictures(ctx);
    int64_t from[2];
    wick_image *image;
    wick_status status = wick_image_open(ctx, t->rows[i].path, i ? p->dims[0] : 0, &image);
    if (status != WICK_OK) return status;
    status = cut_part(ctx, path, &t->rows[i], &image, from);
    const int64_t *d = wick_image_dims(image);
    if (status == WICK_OK && !i) {
        memcpy(p->dims, d, sizeof p->dims);
        if (how.height) p->dims[1] = how.height, p->dims[2] = how.width;
        status = make_room(ctx, path, p);
    }
    if (status == WICK_OK && !how.height && (d[1] != p->dims[1] || d[2] != p->dims[2]))
        status = wick_context_fail(ctx, WICK_ERR_SHAPE,
                                   "%s: %lld x %lld pixels%s, and the first picture has %lld x %lld", t->rows[i].path,
                                   (long long)d[1], (long long)d[2], t->rows[i].boxed ? " of an annotation" : "",
                                   (long long)p->dims[1], (long long)p->dims[2]);
    if (status == WICK_OK) {
        const box_fit fit = box_fit_of(letterbox, d[1], d[2], p->dims[1], p->dims[2]);
        float *to = p->at + i * p->points * POINT_WIDTH;
        memcpy(to, t->at + i * p->points * POINT_WIDTH, (size_t)(p->points * POINT_WIDTH) * sizeof *to);
        for (int64_t k = 0; k < p->points; k++, to += POINT_WIDTH) {
            to[0] -= (float)from[0], to[1] -= (float)from[1];
            const bool within = to[0] >= 0 && to[1] >= 0 && to[0] <= (float)d[2] && to[1] <= (float)d[1];
            if (to[2] > 0 && !within) to[2] = 0, ++*outside;
            if (to[2] == 0) to[0] = to[1] = 0; /* nowhere */
            box_fit_points(&fit, false, to[2] > 0, POINT_WIDTH, to);
        }
        p->sizes[2 * i] = d[1], p->sizes[2 * i + 1] = d[2];
        status = box_fit_picture(ctx, image, 0, &fit, (uint8_t *)at(p, i, 0));
    }
    wick_image_free(&image);
    return status;
}

static void tell(const char *path, const point_table *t, const pointed *p, bool letterbox, int64_t outside) {
    int64_t other = 0, parts = 0;
    for (int64_t i = 0; i < p->n; i++) {
        other += p->sizes[2 * i] != p->dims[1] || p->sizes[2 * i + 1] != p->dims[2];
        parts += t->rows[i].boxed;
    }
    log_note("%s: %lld %s%s with %d points each%s%s", path, (long long)t->n, parts ? "annotation" : "picture",
             plural(t->n), t->points, t->others[0] ? "; columns that are passed over: " : "", t->others);
    if (t->bare)
        log_note("%lld annotation%s without a point, of a crowd or of things without points, %s left out",
                 (long long)t->bare, plural(t->bare), t->bare == 1 ? "is" : "are");
    if (parts)
        log_note("%lld of them %s the part of a picture that is in the box, and an eighth of it on each side",
                 (long long)parts, parts == 1 ? "is" : "are");
    if (other)
        log_note("%lld pictures are %s to %lld x %lld pixels, and their points with them", (long long)other,
                 letterbox ? "fitted, with grey bars," : "stretched", (long long)p->dims[1], (long long)p->dims[2]);
    if (t->missing) log_note("%lld of the points are not there, and count for nothing", (long long)t->missing);
    if (outside)
        log_note("%lld of the points lie outside of their pictures, and count as those that are not there",
                 (long long)outside);
}

bool source_is_pointed(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 1);
    return f && f->dtype == WICK_F32 && f->rank == 2 && strcmp(f->name, "points") == 0;
}

static char *find_table(const char *data, const char *split) {
    char *file = source_find_file(data, split);
    if (file && (source_ends(file, ".csv") || source_ends(file, ".tsv"))) return file;
    free(file);
    return NULL;
}

bool source_has_coco_points(const char *data, const char *split) {
    box_place *place = malloc(sizeof *place);
    const bool has = place && box_find_points(data, split, place);
    free(place);
    return has;
}

bool source_boxes_have_points(const char *data, const char *split, char separator) {
    box_place *place = malloc(sizeof *place);
    const bool have = place && box_find(data, split, separator, place) && place->form == BOX_COCO && place->points;
    free(place);
    return have;
}

bool source_has_points(const char *data, const char *split, char separator) {
    char *file = find_table(data, split);
    const bool has = file && point_table_is(file, separator, NULL);
    free(file);
    return has || source_has_coco_points(data, split);
}

bool source_points_have_part(wick_context *ctx, const char *data, const char *split) {
    char *file = find_table(data, split);
    point_table t;
    box_place *place = malloc(sizeof *place);
    bool parted = false;
    const bool coco = !file && place && box_find_points(data, split, place) && !place->whole;
    wick_status status = WICK_ERR_IO;
    free(place);
    if (file && strcmp(file, data) == 0 && point_table_is(file, 0, &parted) && parted)
        status = point_table_read(ctx, file, split, 0, &t);
    free(file);
    if (status == WICK_OK)
        point_table_free(&t);
    else
        wick_context_clear_error(ctx);
    return coco || status != WICK_ERR_IO; /* what is wrong with its rows is said where they are read */
}

bool source_points_are_whole(const char *data, char separator) {
    char *file = find_table(data, "test");
    box_place *place = malloc(sizeof *place);
    bool parted = false;
    const bool whole = file ? strcmp(file, data) == 0 && point_table_is(file, separator, &parted) && !parted
                            : place && box_find_points(data, "test", place) && place->whole;
    free(file);
    free(place);
    return whole;
}

static wick_status make_set(wick_context *ctx, const char *path, const source_options *so, const point_table *t,
                            owned *o) {
    bool letterbox = so->letterbox;
    int64_t outside = 0;
    const char *names[POINT_MOST];
    pointed *p = calloc(1, sizeof *p);
    if (!p) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (so->coding) (void)source_read_point_coding(so->coding, &letterbox);
    p->n = t->n, p->points = t->points;
    wick_status status = WICK_OK;
    for (int64_t i = 0; i < t->n && status == WICK_OK; i++)
        status = take_picture(ctx, t, i, path, letterbox, p, &outside);
    if (status == WICK_OK && !so->coding && !so->told) tell(path, t, p, letterbox, outside);
    for (int k = 0; k < t->points; k++) names[k] = t->names[k];
    if (status == WICK_OK) status = source_keep_names(ctx, path, names, t->points, o);
    if (status == WICK_OK && !(o->coding = write_coding(t, letterbox)))
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    const wick_dataset_source source = {.count = p->n,
                                        .n_fields = 3,
                                        .fields = {{"image", WICK_U8, 3, {p->dims[0], p->dims[1], p->dims[2]}},
                                                   {"points", WICK_F32, 2, {p->points, POINT_WIDTH}},
                                                   {"size", WICK_I64, 1, {2}}},
                                        .get = get,
                                        .at = at,
                                        .free = drop,
                                        .user = p};
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, &o->set);
    if (status != WICK_OK) drop(p);
    return status;
}

/* The data, or SPLIT.json of its folder, malloc'ed; NULL: neither is a JSON file. */
static char *find_json(const char *data, const char *split) {
    char name[80];
    snprintf(name, sizeof name, "%s.json", split);
    char *path = source_ends(data, ".json") ? strdup(data) : path_join(data, name);
    if (path && path_exists(path)) return path;
    free(path);
    return NULL;
}

/* The table's rows or the JSON's, and the file that has them, *path malloc'ed. */
static wick_status read_points(wick_context *ctx, const char *data, const char *split, char separator, point_table *t,
                               char **path, bool *whole) {
    box_place *place = malloc(sizeof *place);
    char(*paths)[BOX_PATH] = malloc(BOX_FOLDERS * sizeof *paths);
    const char *folders[BOX_FOLDERS + 1];
    wick_status status;
    *path = find_table(data, split);
    *whole = *path && strcmp(*path, data) == 0;
    if (!place || !paths)
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    else if (*path) {
        status = point_table_read(ctx, *path, split, separator, t);
        *whole &= status == WICK_OK && !t->parted;
    } else if (box_find_points(data, split, place)) {
        box_coco_folders(data, split, place->file, paths, folders);
        *whole = place->whole;
        *path = strdup(place->file);
        status = *path ? point_coco_read(ctx, *path, folders, t)
                       : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    } else if ((*path = find_json(data, split)) != NULL)
        status = point_coco_read(ctx, *path, (const char *const[]){NULL}, t); /* says what is wrong with it */
    else
        status = wick_context_fail(ctx, WICK_ERR_IO,
                                   "%s: has no points for %s: a table %s.csv of path, x0, y0, x1, y1 ..., or COCO's "
                                   "JSON of keypoints, %s.json or annotations/person_keypoints_%s.json",
                                   data, split, split, split, split);
    free(place), free(paths);
    return status;
}

wick_status source_open_points(wick_context *ctx, const char *data, const char *split, const source_options *so,
                               owned *o, bool *whole) {
    char *path;
    point_table t;
    bool letterbox;
    wick_status status = read_points(ctx, data, split, so->separator, &t, &path, whole);
    if (status == WICK_OK) {
        if (so->coding && !source_read_point_coding(so->coding, &letterbox))
            status = wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: has points, and the model learned from other data",
                                       path);
        else if (so->coding && !are_same(so->coding, &t))
            status = wick_context_fail(ctx, WICK_ERR_MISMATCH,
                                       "%s: its %d points (%s, %s ...) are not those that the model knows, in their "
                                       "order",
                                       path, t.points, t.names[0], t.names[1]);
        else
            status = make_set(ctx, path, so, &t, o);
        point_table_free(&t);
    }
    free(path);
    return status;
}
