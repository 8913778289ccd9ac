/* COCO's JSON of instances (cocodataset.org/#format-data): "images" with id, file_name, width and height, "categories"
 * with id and name, "annotations" with image_id, category_id and bbox [x, y, width, height] in pixels. Boxes around
 * crowds (iscrowd 1) are left out. */
#include "box_set.h"
#include "coco.h"

#include "../../json_read.h"
#include "../../paths.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct coco {
    coco_text text;
    box_set *s;
    coco_ids categories, images; /* at: of a category its place; of an image that of its picture */
} coco;

/* ---- categories and images --------------------------------------------------------------------------------------- */

static wick_status read_category(coco *c, json_in *j) {
    const char *at = j->at;
    coco_id one = {.id = NAN};
    char key[32];
    for (json_enter(j, '{'); json_key(j, key, sizeof key);) {
        if (strcmp(key, "id") == 0)
            json_number(j, &one.id);
        else if (strcmp(key, "name") == 0)
            json_string(j, one.name, sizeof one.name);
        else
            json_skip(j);
    }
    if (j->bad) return WICK_OK; /* said where all of it is read */
    if (isnan(one.id) || !one.name[0]) return coco_fail(&c->text, at, "a category has no \"id\" or no \"name\"");
    return coco_ids_add(&c->text, &c->categories, &one);
}

static wick_status read_image(coco *c, json_in *j) {
    coco_image image;
    coco_id one;
    wick_status status = coco_read_image(&c->text, j, &image);
    if (status != WICK_OK || j->bad) return status;
    one = (coco_id){.id = image.id};
    status = box_set_picture(c->text.ctx, c->s, image.path, image.name, NULL, &one.at);
    if (status != WICK_OK) return status;
    if (image.height >= 1 && image.width >= 1 && image.height < 1e6 && image.width < 1e6)
        c->s->pictures[one.at].height = (int64_t)image.height, c->s->pictures[one.at].width = (int64_t)image.width;
    return coco_ids_add(&c->text, &c->images, &one);
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

static wick_status read_annotation(coco *c, json_in *j) {
    const char *begin = j->at;
    double image = NAN, category = NAN, crowd = 0;
    box b = {0};
    int n = -1;
    char key[32];
    for (json_enter(j, '{'); json_key(j, key, sizeof key);) {
        if (strcmp(key, "image_id") == 0)
            json_number(j, &image);
        else if (strcmp(key, "category_id") == 0)
            json_number(j, &category);
        else if (strcmp(key, "iscrowd") == 0)
            json_number(j, &crowd);
        else if (strcmp(key, "bbox") == 0)
            coco_numbers(j, b.at, 4, &n);
        else
            json_skip(j);
    }
    if (j->bad) return WICK_OK;
    const coco_id *of = coco_ids_find(&c->images, image), *is = coco_ids_find(&c->categories, category);
    if (n != 4) return coco_fail(&c->text, begin, "an annotation's \"bbox\" has no four numbers");
    if (!of) return coco_fail(&c->text, begin, "an annotation's \"image_id\" is that of no image");
    if (!is) return coco_fail(&c->text, begin, "an annotation's \"category_id\" is that of no category");
    if (crowd == 1) return c->s->crowds++, WICK_OK;
    b.picture = of->at, b.line = coco_line(&c->text, begin);
    b.at[2] += b.at[0], b.at[3] += b.at[1];
    wick_status status = box_check(c->text.ctx, c->text.path, b.line, b.at);
    if (status == WICK_OK) status = box_set_class(c->text.ctx, c->s, is->name, c->text.path, b.line, &b.class);
    return status == WICK_OK ? box_set_add(c->text.ctx, c->s, &b) : status;
}

/* The lists stand in any order, and boxes need the two others: the text is walked twice. */
static wick_status walk(coco *c, bool boxes) {
    json_in j = {.at = c->text.text};
    char key[32];
    wick_status status = WICK_OK;
    bool found = false;
    for (json_enter(&j, '{'); status == WICK_OK && json_key(&j, key, sizeof key);) {
        const bool images = !boxes && strcmp(key, "images") == 0, categories = !boxes && strcmp(key, "categories") == 0,
                   here = boxes && strcmp(key, "annotations") == 0;
        found |= here || images;
        if (!images && !categories && !here) {
            json_skip(&j);
            continue;
        }
        for (json_enter(&j, '['); status == WICK_OK && json_item(&j);)
            status = images ? read_image(c, &j) : categories ? read_category(c, &j) : read_annotation(c, &j);
    }
    if (status != WICK_OK) return status;
    if (j.bad) return coco_fail(&c->text, j.at, "is no JSON here, or not of COCO's shape");
    return found ? WICK_OK
                 : wick_context_fail(c->text.ctx, WICK_ERR_FORMAT, "%s: has no list of \"%s\", as COCO's files have",
                                     c->text.path, boxes ? "annotations" : "images");
}

static wick_status read_all(coco *c) {
    wick_status status = walk(c, false);
    if (status == WICK_OK) status = coco_ids_sort(&c->text, &c->categories, "categories");
    if (status == WICK_OK) status = coco_ids_sort(&c->text, &c->images, "images");
    /* classes are in the order of their ids, also those that no box has */
    for (int64_t k = 0; status == WICK_OK && !c->s->fixed && k < c->categories.n; k++) {
        int class;
        status = box_set_class(c->text.ctx, c->s, c->categories.list[k].name, c->text.path, 1, &class);
        if (status == WICK_OK && class != k)
            status = wick_context_fail(c->text.ctx, WICK_ERR_FORMAT, "%s: two categories are called \"%s\"",
                                       c->text.path, c->categories.list[k].name);
    }
    if (status == WICK_OK) c->s->fixed = true;
    return status == WICK_OK ? walk(c, true) : status;
}

wick_status box_read_coco(wick_context *ctx, const char *path, const char *const *folders, box_set *s) {
    size_t size;
    char *text = path_read(path, &size);
    if (!text) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    coco c = {.text = {.ctx = ctx, .path = path, .text = text, .folders = folders}, .s = s};
    free(s->from);
    s->from = strdup(path);
    wick_status status = s->from ? read_all(&c) : box_out_of_memory(ctx, path);
    if (status == WICK_OK && !s->n) status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no images", path);
    free(c.categories.list);
    free(c.images.list);
    free(text);
    return status;
}

/* Whether one of its categories has "keypoints", and they are not an empty list. */
static bool has_points(json_in *j) {
    char key[32];
    bool has = false;
    for (json_enter(j, '['); json_item(j);)
        for (json_enter(j, '{'); json_key(j, key, sizeof key);)
            if (strcmp(key, "keypoints") == 0)
                for (json_enter(j, '['); json_item(j); json_skip(j)) has = true;
            else
                json_skip(j);
    return has;
}

bool box_is_coco(const char *path, bool *points) {
    size_t size;
    char *text = path_read(path, &size), key[32];
    if (!text) return false;
    json_in j = {.at = text};
    int found = 0;
    *points = false;
    for (json_enter(&j, '{'); json_key(&j, key, sizeof key);) {
        found |= strcmp(key, "images") == 0 ? 1 : strcmp(key, "annotations") == 0 ? 2 : 0;
        if (strcmp(key, "categories") == 0)
            *points = has_points(&j);
        else
            json_skip(&j);
    }
    free(text);
    return found == 3;
}
