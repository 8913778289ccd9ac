/* COCO's JSON of instances (cocodataset.org/#format-data): "images" with id, file_name, width and height, "categories"
 * with id and name, "annotations" with image_id, category_id and bbox [x, y, width, height] in pixels. Boxes around
 * crowds (iscrowd 1) are left out. */
#include "box_set.h"

#include "../../json_read.h"
#include "../../paths.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct numbered {
    double id;
    int64_t at; /* of a category its place; of an image that of its picture */
    char name[BOX_NAME];
} numbered;
typedef struct coco {
    wick_context *ctx;
    const char *path, *text;
    const char *const *folders;
    box_set *s;
    const char *seen; /* a place in the text, and its line */
    int64_t line;
    numbered *categories, *images;
    int64_t n_categories, n_images;
} coco;

/* The line of a place in the text, that of what follows it. Places come mostly in order. */
static int64_t line_of(coco *c, const char *at) {
    at += strspn(at, ", \t\r\n");
    if (!c->seen || at < c->seen) c->seen = c->text, c->line = 1;
    for (; c->seen < at; c->seen++) c->line += *c->seen == '\n';
    return c->line;
}

static wick_status fail(coco *c, const char *at, const char *what) {
    return wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s, line %lld: %s", c->path, (long long)line_of(c, at), what);
}

static int by_id(const void *a, const void *b) {
    const double x = ((const numbered *)a)->id, y = ((const numbered *)b)->id;
    return (x > y) - (x < y);
}
static const numbered *find_id(const numbered *list, int64_t n, double id) {
    const numbered key = {.id = id};
    return n ? bsearch(&key, list, (size_t)n, sizeof *list, by_id) : NULL;
}

static wick_status add_numbered(const coco *c, numbered **list, int64_t *n, const numbered *one) {
    if ((*n & (*n - 1)) == 0) {
        void *more = realloc(*list, (size_t)(*n ? 2 * *n : 1) * sizeof **list);
        if (!more) return box_out_of_memory(c->ctx, c->path);
        *list = more;
    }
    (*list)[(*n)++] = *one;
    return WICK_OK;
}

static wick_status sort_numbered(const coco *c, numbered *list, int64_t n, const char *what) {
    if (n) qsort(list, (size_t)n, sizeof *list, by_id);
    for (int64_t i = 1; i < n; i++)
        if (list[i].id == list[i - 1].id)
            return wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s: two %s have the id %.0f", c->path, what, list[i].id);
    return WICK_OK;
}

/* ---- categories and images --------------------------------------------------------------------------------------- */

static wick_status read_category(coco *c, json_in *j) {
    const char *at = j->at;
    numbered one = {.id = NAN};
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
    if (isnan(one.id) || !one.name[0]) return fail(c, at, "a category has no \"id\" or no \"name\"");
    return add_numbered(c, &c->categories, &c->n_categories, &one);
}

/* The picture beside the file, or in one of the folders; false: it is nowhere. */
static bool find_file(const coco *c, const char *name, char path[BOX_PATH]) {
    const char *slash = strrchr(c->path, '/');
    const int beside = slash ? (int)(slash - c->path + 1) : 0;
    if (snprintf(path, BOX_PATH, "%.*s%s", beside, c->path, name) < BOX_PATH && path_exists(path)) return true;
    for (const char *const *f = c->folders; f && *f; f++)
        if (snprintf(path, BOX_PATH, "%s/%s", *f, name) < BOX_PATH && path_exists(path)) return true;
    return false;
}

static wick_status read_image(coco *c, json_in *j) {
    const char *at = j->at;
    numbered one = {.id = NAN};
    double height = 0, width = 0;
    char key[32], name[1024] = "", path[BOX_PATH], why[1200];
    for (json_enter(j, '{'); json_key(j, key, sizeof key);) {
        if (strcmp(key, "id") == 0)
            json_number(j, &one.id);
        else if (strcmp(key, "file_name") == 0)
            json_string(j, name, sizeof name);
        else if (strcmp(key, "height") == 0)
            json_number(j, &height);
        else if (strcmp(key, "width") == 0)
            json_number(j, &width);
        else
            json_skip(j);
    }
    if (j->bad) return WICK_OK;
    if (isnan(one.id) || !*name) return fail(c, at, "an image has no \"id\" or no \"file_name\"");
    if (*name == '/' || strncmp(name, "../", 3) == 0 || strstr(name, "/../")) {
        snprintf(why, sizeof why, "\"file_name\" is \"%.200s\", which is no file below the folder", name);
        return fail(c, at, why);
    }
    if (!find_file(c, name, path)) {
        snprintf(why, sizeof why, "the picture %s is not there", name);
        return fail(c, at, why);
    }
    wick_status status = box_set_picture(c->ctx, c->s, path, name, NULL, &one.at);
    if (status != WICK_OK) return status;
    if (height >= 1 && width >= 1 && height < 1e6 && width < 1e6)
        c->s->pictures[one.at].height = (int64_t)height, c->s->pictures[one.at].width = (int64_t)width;
    return add_numbered(c, &c->images, &c->n_images, &one);
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

static bool read_place(json_in *j, double at[4], int *n) {
    double value;
    *n = 0;
    for (json_enter(j, '['); json_item(j); ++*n) {
        if (!json_number(j, &value)) return false;
        if (*n < 4) at[*n] = value;
    }
    return !j->bad;
}

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
            read_place(j, b.at, &n);
        else
            json_skip(j);
    }
    if (j->bad) return WICK_OK;
    const numbered *of = find_id(c->images, c->n_images, image),
                   *is = find_id(c->categories, c->n_categories, category);
    if (n != 4) return fail(c, begin, "an annotation's \"bbox\" has no four numbers");
    if (!of) return fail(c, begin, "an annotation's \"image_id\" is that of no image");
    if (!is) return fail(c, begin, "an annotation's \"category_id\" is that of no category");
    if (crowd == 1) return c->s->crowds++, WICK_OK;
    b.picture = of->at, b.line = line_of(c, begin);
    b.at[2] += b.at[0], b.at[3] += b.at[1];
    wick_status status = box_check(c->ctx, c->path, b.line, b.at);
    if (status == WICK_OK) status = box_set_class(c->ctx, c->s, is->name, c->path, b.line, &b.class);
    return status == WICK_OK ? box_set_add(c->ctx, c->s, &b) : status;
}

/* The lists stand in any order, and boxes need the two others: the text is walked twice. */
static wick_status walk(coco *c, bool boxes) {
    json_in j = {.at = c->text};
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
    if (j.bad) return fail(c, j.at, "is no JSON here, or not of COCO's shape");
    return found ? WICK_OK
                 : wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s: has no list of \"%s\", as COCO's files have",
                                     c->path, boxes ? "annotations" : "images");
}

static wick_status read_all(coco *c) {
    wick_status status = walk(c, false);
    if (status == WICK_OK) status = sort_numbered(c, c->categories, c->n_categories, "categories");
    if (status == WICK_OK) status = sort_numbered(c, c->images, c->n_images, "images");
    /* classes are in the order of their ids, also those that no box has */
    for (int64_t k = 0; status == WICK_OK && !c->s->fixed && k < c->n_categories; k++) {
        int class;
        status = box_set_class(c->ctx, c->s, c->categories[k].name, c->path, 1, &class);
        if (status == WICK_OK && class != k)
            status = wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s: two categories are called \"%s\"", c->path,
                                       c->categories[k].name);
    }
    if (status == WICK_OK) c->s->fixed = true;
    return status == WICK_OK ? walk(c, true) : status;
}

wick_status box_read_coco(wick_context *ctx, const char *path, const char *const *folders, box_set *s) {
    size_t size;
    char *text = path_read(path, &size);
    if (!text) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    coco c = {.ctx = ctx, .path = path, .text = text, .folders = folders, .s = s};
    free(s->from);
    s->from = strdup(path);
    wick_status status = s->from ? read_all(&c) : box_out_of_memory(ctx, path);
    if (status == WICK_OK && !s->n) status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no images", path);
    free(c.categories);
    free(c.images);
    free(text);
    return status;
}

bool box_is_coco(const char *path) {
    size_t size;
    char *text = path_read(path, &size), key[32];
    if (!text) return false;
    json_in j = {.at = text};
    int found = 0;
    for (json_enter(&j, '{'); json_key(&j, key, sizeof key);) {
        found |= strcmp(key, "images") == 0 ? 1 : strcmp(key, "annotations") == 0 ? 2 : 0;
        json_skip(&j);
    }
    free(text);
    return found == 3;
}
