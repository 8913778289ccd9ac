/* COCO's JSON of keypoints (cocodataset.org/#format-data): "images" as for boxes, a category with "keypoints", the
 * points' names, and "annotations" with image_id, category_id, "keypoints", [x, y, v] of each point, v being 0 (not
 * labelled), 1 (labelled, hidden) or 2 (seen), and bbox. An annotation with a point is a row: what its box holds, and a
 * margin. Those without one, around crowds, or of categories without points are left out. */
#include "point_table.h"

#include "coco.h"

#include "../../paths.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct coco {
    coco_text text;
    coco_ids categories, images; /* at: of a category how many points it has; of an image its place in paths */
    char **paths;
    point_table *t;
} coco;

/* ---- categories and images --------------------------------------------------------------------------------------- */

/* The names of a category's points: those of the table, or, of a further category, the same ones, or none. */
static wick_status read_names(coco *c, json_in *j, const char *begin, bool first, int64_t *points) {
    char name[2 * POINT_NAME];
    for (json_enter(j, '['); json_item(j); ++*points) {
        if (!json_string(j, name, sizeof name)) break;
        if (*points == POINT_MOST || strlen(name) >= POINT_NAME || !*name || strpbrk(name, "\t\n"))
            return coco_fail(&c->text, begin,
                             "a category's \"keypoints\" are too many, or one has no name, a tab in it "
                             "or 48 bytes or more");
        if (!first) {
            if (*points < c->t->points && strcmp(c->t->names[*points], name) == 0) continue;
            return coco_fail(&c->text, begin, "two categories have other \"keypoints\": one kind of things is learned");
        }
        for (int64_t k = 0; k < *points; k++)
            if (strcmp(c->t->names[k], name) == 0)
                return coco_fail(&c->text, begin, "two of a category's \"keypoints\" have one name");
        snprintf(c->t->names[*points], POINT_NAME, "%s", name);
    }
    if (first) c->t->points = (int)*points;
    return j->bad || !*points || *points == c->t->points
               ? WICK_OK
               : coco_fail(&c->text, begin, "two categories have other \"keypoints\": one kind of things is learned");
}

static wick_status read_category(coco *c, json_in *j) {
    const char *at = j->at;
    coco_id one = {.id = NAN};
    char key[32];
    wick_status status = WICK_OK;
    for (json_enter(j, '{'); status == WICK_OK && json_key(j, key, sizeof key);) {
        if (strcmp(key, "id") == 0)
            json_number(j, &one.id);
        else if (strcmp(key, "keypoints") == 0)
            status = read_names(c, j, at, !c->t->points, &one.at);
        else
            json_skip(j);
    }
    if (status != WICK_OK || j->bad) return status;
    if (isnan(one.id)) return coco_fail(&c->text, at, "a category has no \"id\"");
    return coco_ids_add(&c->text, &c->categories, &one);
}

static wick_status read_image(coco *c, json_in *j) {
    coco_image image;
    wick_status status = coco_read_image(&c->text, j, &image);
    if (status != WICK_OK || j->bad) return status;
    const int64_t n = c->images.n;
    if ((n & (n - 1)) == 0) {
        char **more = realloc(c->paths, (size_t)(n ? 2 * n : 1) * sizeof *more);
        if (!more) return box_out_of_memory(c->text.ctx, c->text.path);
        c->paths = more;
    }
    if (!(c->paths[n] = strdup(image.path))) return box_out_of_memory(c->text.ctx, c->text.path);
    status = coco_ids_add(&c->text, &c->images, &(coco_id){.id = image.id, .at = n});
    if (status != WICK_OK) free(c->paths[n]);
    return status;
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

/* The triples of one, into the table's next row; *there: how many points it has. */
static wick_status take_points(coco *c, const char *begin, const double *at, int64_t *there) {
    point_table *t = c->t;
    float *to = t->at + t->n * t->points * POINT_WIDTH;
    char why[POINT_NAME + 96];
    for (int k = 0; k < t->points; k++, at += 3, to += POINT_WIDTH) {
        const bool seen = at[2] == 1 || at[2] == 2;
        if ((!seen && at[2] != 0) || !isfinite(at[0]) || !isfinite(at[1])) {
            snprintf(why, sizeof why, "\"keypoints\" of an annotation: of %s x or y is no number, or v not 0, 1 or 2",
                     t->names[k]);
            return coco_fail(&c->text, begin, why);
        }
        to[0] = seen ? (float)at[0] : 0, to[1] = seen ? (float)at[1] : 0, to[2] = seen;
        *there += seen;
    }
    return WICK_OK;
}

static wick_status read_annotation(coco *c, json_in *j, double *points) {
    const char *begin = j->at;
    double image = NAN, category = NAN, crowd = 0, around[4];
    int n = -1, sides = -1;
    char key[32], why[160];
    point_table *t = c->t;
    for (json_enter(j, '{'); json_key(j, key, sizeof key);) {
        if (strcmp(key, "image_id") == 0)
            json_number(j, &image);
        else if (strcmp(key, "category_id") == 0)
            json_number(j, &category);
        else if (strcmp(key, "iscrowd") == 0)
            json_number(j, &crowd);
        else if (strcmp(key, "bbox") == 0)
            coco_numbers(j, around, 4, &sides);
        else if (strcmp(key, "keypoints") == 0)
            coco_numbers(j, points, 3 * t->points, &n);
        else
            json_skip(j);
    }
    if (j->bad) return WICK_OK;
    const coco_id *of = coco_ids_find(&c->images, image), *is = coco_ids_find(&c->categories, category);
    if (!of) return coco_fail(&c->text, begin, "an annotation's \"image_id\" is that of no image");
    if (!is) return coco_fail(&c->text, begin, "an annotation's \"category_id\" is that of no category");
    if (!is->at || crowd == 1 || n < 0) return t->bare++, WICK_OK;
    if (n != 3 * t->points) {
        snprintf(why, sizeof why, "an annotation's \"keypoints\" are %d numbers, and %d points have three each", n,
                 t->points);
        return coco_fail(&c->text, begin, why);
    }
    if (sides >= 0 && (sides != 4 || !(around[2] > 0 && around[3] > 0) || !isfinite(around[0] + around[2]) ||
                       !isfinite(around[1] + around[3])))
        return coco_fail(&c->text, begin, "an annotation's \"bbox\" is not x, y, width and height above 0");
    int64_t there = 0;
    if (!point_table_grow(t)) return box_out_of_memory(c->text.ctx, c->text.path);
    const wick_status status = take_points(c, begin, points, &there);
    if (status != WICK_OK || !there) return t->bare += !there, status;
    point_row *row = &t->rows[t->n];
    *row = (point_row){.path = strdup(c->paths[of->at]), .line = coco_line(&c->text, begin), .boxed = sides == 4};
    if (!row->path) return box_out_of_memory(c->text.ctx, c->text.path);
    for (int k = 0; k < 4 && row->boxed; k++) row->box[k] = around[k] + (k > 1 ? around[k - 2] : 0);
    t->n++;
    t->missing += t->points - there;
    return WICK_OK;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The lists stand in any order, and annotations need the two others: the text is walked twice. */
static wick_status walk(coco *c, double *points) {
    json_in j = {.at = c->text.text};
    char key[32];
    wick_status status = WICK_OK;
    bool found = false;
    for (json_enter(&j, '{'); status == WICK_OK && json_key(&j, key, sizeof key);) {
        const bool images = !points && strcmp(key, "images") == 0,
                   categories = !points && strcmp(key, "categories") == 0,
                   here = points && strcmp(key, "annotations") == 0;
        found |= here || images;
        if (!images && !categories && !here) {
            json_skip(&j);
            continue;
        }
        for (json_enter(&j, '['); status == WICK_OK && json_item(&j);)
            status = images ? read_image(c, &j) : categories ? read_category(c, &j) : read_annotation(c, &j, points);
    }
    if (status != WICK_OK) return status;
    if (j.bad) return coco_fail(&c->text, j.at, "is no JSON here, or not of COCO's shape");
    return found ? WICK_OK
                 : wick_context_fail(c->text.ctx, WICK_ERR_FORMAT, "%s: has no list of \"%s\", as COCO's files have",
                                     c->text.path, points ? "annotations" : "images");
}

static wick_status read_all(coco *c) {
    point_table *t = c->t;
    wick_status status = walk(c, NULL);
    if (status == WICK_OK) status = coco_ids_sort(&c->text, &c->categories, "categories");
    if (status == WICK_OK) status = coco_ids_sort(&c->text, &c->images, "images");
    if (status == WICK_OK && t->points < 2)
        status =
            wick_context_fail(c->text.ctx, WICK_ERR_FORMAT,
                              "%s: has no category with \"keypoints\", the names of two points or more", c->text.path);
    double *points = status == WICK_OK ? malloc((size_t)(3 * t->points) * sizeof *points) : NULL;
    if (status == WICK_OK && !points) status = box_out_of_memory(c->text.ctx, c->text.path);
    if (status == WICK_OK) status = walk(c, points);
    if (status == WICK_OK && !t->n)
        status = wick_context_fail(c->text.ctx, WICK_ERR_FORMAT, "%s: no annotation has a point that is labelled",
                                   c->text.path);
    free(points);
    return status;
}

wick_status point_coco_read(wick_context *ctx, const char *path, const char *const *folders, point_table *t) {
    size_t size;
    *t = (point_table){.names = calloc(POINT_MOST, sizeof *t->names)};
    char *text = path_read(path, &size);
    coco c = {.text = {.ctx = ctx, .path = path, .text = text, .folders = folders}, .t = t};
    wick_status status = WICK_OK;
    if (!text)
        status = wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    else if (!t->names)
        status = box_out_of_memory(ctx, path);
    else
        status = read_all(&c);
    for (int64_t i = 0; i < c.images.n; i++) free(c.paths[i]);
    free(c.paths);
    free(c.categories.list);
    free(c.images.list);
    free(text);
    if (status != WICK_OK) point_table_free(t);
    return status;
}
