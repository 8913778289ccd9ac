#include "coco.h"

#include "../../paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t coco_line(coco_text *c, const char *at) {
    at += strspn(at, ", \t\r\n");
    /* places come mostly in order */
    if (!c->seen || at < c->seen) c->seen = c->text, c->line = 1;
    for (; c->seen < at; c->seen++) c->line += *c->seen == '\n';
    return c->line;
}

wick_status coco_fail(coco_text *c, const char *at, const char *what) {
    return wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s, line %lld: %s", c->path, (long long)coco_line(c, at), what);
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    const double x = ((const coco_id *)a)->id, y = ((const coco_id *)b)->id;
    return (x > y) - (x < y);
}
const coco_id *coco_ids_find(const coco_ids *ids, double id) {
    const coco_id key = {.id = id};
    return ids->n && !isnan(id) ? bsearch(&key, ids->list, (size_t)ids->n, sizeof key, by_id) : NULL;
}

wick_status coco_ids_add(const coco_text *c, coco_ids *ids, const coco_id *one) {
    if ((ids->n & (ids->n - 1)) == 0) {
        void *more = realloc(ids->list, (size_t)(ids->n ? 2 * ids->n : 1) * sizeof *one);
        if (!more) return box_out_of_memory(c->ctx, c->path);
        ids->list = more;
    }
    ids->list[ids->n++] = *one;
    return WICK_OK;
}

wick_status coco_ids_sort(const coco_text *c, coco_ids *ids, const char *what) {
    if (ids->n) qsort(ids->list, (size_t)ids->n, sizeof *ids->list, by_id);
    for (int64_t i = 1; i < ids->n; i++)
        if (ids->list[i].id == ids->list[i - 1].id)
            return wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s: two %s have the id %.0f", c->path, what,
                                     ids->list[i].id);
    return WICK_OK;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* The picture beside the file, or in one of the folders; false: it is nowhere. */
static bool find_file(const coco_text *c, const char *name, char path[BOX_PATH]) {
    const char *slash = strrchr(c->path, '/');
    const int beside = slash ? (int)(slash - c->path + 1) : 0;
    if (snprintf(path, BOX_PATH, "%.*s%s", beside, c->path, name) < BOX_PATH && path_exists(path)) return true;
    for (const char *const *f = c->folders; f && *f; f++)
        if (snprintf(path, BOX_PATH, "%s/%s", *f, name) < BOX_PATH && path_exists(path)) return true;
    return false;
}

wick_status coco_read_image(coco_text *c, json_in *j, coco_image *image) {
    const char *at = j->at;
    char key[32], why[1200];
    image->id = NAN, image->height = image->width = 0;
    image->name[0] = image->path[0] = '\0';
    for (json_enter(j, '{'); json_key(j, key, sizeof key);) {
        if (strcmp(key, "id") == 0)
            json_number(j, &image->id);
        else if (strcmp(key, "file_name") == 0)
            json_string(j, image->name, sizeof image->name);
        else if (strcmp(key, "height") == 0)
            json_number(j, &image->height);
        else if (strcmp(key, "width") == 0)
            json_number(j, &image->width);
        else
            json_skip(j);
    }
    if (j->bad) return WICK_OK; /* said where all of it is read */
    const char *name = image->name;
    if (isnan(image->id) || !*name) return coco_fail(c, at, "an image has no \"id\" or no \"file_name\"");
    if (*name == '/' || strncmp(name, "../", 3) == 0 || strstr(name, "/../")) {
        snprintf(why, sizeof why, "\"file_name\" is \"%.200s\", which is no file below the folder", name);
        return coco_fail(c, at, why);
    }
    if (find_file(c, name, image->path)) return WICK_OK;
    snprintf(why, sizeof why, "the picture %s is not there", name);
    return coco_fail(c, at, why);
}

bool coco_numbers(json_in *j, double *to, int most, int *n) {
    double value;
    *n = 0;
    for (json_enter(j, '['); json_item(j); ++*n) {
        if (!json_number(j, &value)) return false;
        if (*n < most) to[*n] = value;
    }
    return !j->bad;
}
