/* Pictures with points: "image", u8 [C, H, W], "points", f32 [K, 3], x and y in its pixels and 1, or 0 where the point
 * is not there, and "size", i64 [2], the height and width of its file's picture. What was learned is the way pictures
 * are fitted, and the points' names. */
#include "source_kinds.h"

#include "boxes/box_fit.h"
#include "boxes/point_table.h"
#include "../term/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Picture i, of the size of the first, or that which the context asks for; *outside counts points that lie there. */
static wick_status take_picture(wick_context *ctx, const point_table *t, int64_t i, const char *path, bool letterbox,
                                pointed *p, int64_t *outside) {
    const wick_pictures how = wick_context_pictures(ctx);
    wick_image *image;
    wick_status status = wick_image_open(ctx, t->rows[i].path, i ? p->dims[0] : 0, &image);
    if (status != WICK_OK) return status;
    const int64_t *d = wick_image_dims(image);
    if (!i) {
        memcpy(p->dims, d, sizeof p->dims);
        if (how.height) p->dims[1] = how.height, p->dims[2] = how.width;
        status = make_room(ctx, path, p);
    }
    if (status == WICK_OK && !how.height && (d[1] != p->dims[1] || d[2] != p->dims[2]))
        status = wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: %lld x %lld pixels, and the first picture has %lld x %lld",
                                   t->rows[i].path, (long long)d[1], (long long)d[2], (long long)p->dims[1],
                                   (long long)p->dims[2]);
    if (status == WICK_OK) {
        const box_fit fit = box_fit_of(letterbox, d[1], d[2], p->dims[1], p->dims[2]);
        float *to = p->at + i * p->points * POINT_WIDTH;
        memcpy(to, t->at + i * p->points * POINT_WIDTH, (size_t)(p->points * POINT_WIDTH) * sizeof *to);
        for (int64_t k = 0; k < p->points; k++, to += POINT_WIDTH) {
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
    int64_t other = 0;
    for (int64_t i = 0; i < p->n; i++) other += p->sizes[2 * i] != p->dims[1] || p->sizes[2 * i + 1] != p->dims[2];
    talk("%s: %lld picture%s with %d points each%s%s", path, (long long)t->n, plural(t->n), t->points,
         t->others[0] ? "; columns that are passed over: " : "", t->others);
    if (other)
        talk("%lld pictures are %s to %lld x %lld pixels, and their points with them", (long long)other,
             letterbox ? "fitted, with grey bars," : "stretched", (long long)p->dims[1], (long long)p->dims[2]);
    if (t->missing) talk("%lld of the points are not there, and count for nothing", (long long)t->missing);
    if (outside)
        talk("%lld of the points lie outside of their pictures, and count as those that are not there",
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

bool source_has_points(const char *data, const char *split, char separator) {
    char *file = find_table(data, split);
    const bool has = file && point_table_is(file, separator, NULL);
    free(file);
    return has;
}

bool source_points_have_part(wick_context *ctx, const char *data, const char *split) {
    char *file = find_table(data, split);
    point_table t;
    bool parted = false;
    wick_status status = WICK_ERR_IO;
    if (file && strcmp(file, data) == 0 && point_table_is(file, 0, &parted) && parted)
        status = point_table_read(ctx, file, split, 0, &t);
    free(file);
    if (status == WICK_OK)
        point_table_free(&t);
    else
        wick_context_clear_error(ctx);
    return status != WICK_ERR_IO; /* what is wrong with its rows is said where they are read */
}

bool source_points_are_whole(const char *data, char separator) {
    char *file = find_table(data, "test");
    bool parted = false;
    const bool whole = file && strcmp(file, data) == 0 && point_table_is(file, separator, &parted) && !parted;
    free(file);
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

wick_status source_open_points(wick_context *ctx, const char *data, const char *split, const source_options *so,
                               owned *o, bool *whole) {
    char *path = find_table(data, split);
    point_table t;
    bool letterbox;
    if (!path)
        return wick_context_fail(ctx, WICK_ERR_IO,
                                 "%s: has no table of points for %s: %s.csv of path, x0, y0, x1, y1 ...", data, split,
                                 split);
    *whole = strcmp(path, data) == 0;
    wick_status status = point_table_read(ctx, path, split, so->separator, &t);
    if (status == WICK_OK) {
        *whole &= !t.parted;
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
