/* coco.h: what readers of COCO's JSON (cocodataset.org/#format-data) share: lists by id, pictures, lines for errors. */
#ifndef WICK_CLI_COCO_H
#define WICK_CLI_COCO_H

#include "box_set.h"

#include "../../json_read.h"

typedef struct coco_text {
    wick_context *ctx;
    const char *path, *text;
    const char *const *folders; /* where pictures are looked for, beside the file's own; NULL at the end */
    const char *seen;           /* a place in the text, and its line */
    int64_t line;
} coco_text;
/* The line of a place in the text, that of what follows it. */
int64_t coco_line(coco_text *c, const char *at);
wick_status coco_fail(coco_text *c, const char *at, const char *what); /* WICK_ERR_FORMAT, with file and line */

typedef struct coco_id {
    double id;
    int64_t at;
    char name[BOX_NAME];
} coco_id;
typedef struct coco_ids {
    coco_id *list; /* malloc'ed */
    int64_t n;
} coco_ids;
wick_status coco_ids_add(const coco_text *c, coco_ids *ids, const coco_id *one);
/* By their ids. Two of one id: WICK_ERR_FORMAT, which calls them `what`. */
wick_status coco_ids_sort(const coco_text *c, coco_ids *ids, const char *what);
const coco_id *coco_ids_find(const coco_ids *ids, double id); /* of a sorted list; NULL: there is none */

typedef struct coco_image {
    double id, height, width; /* 0: it doesn't say */
    char name[1024], path[BOX_PATH];
} coco_image;
/* An item of "images", whose file must be there. Where the text is no JSON, j->bad says so and not the status. */
wick_status coco_read_image(coco_text *c, json_in *j, coco_image *image);
/* A list of numbers, of which the first `most` are kept; *n: how many there are. */
bool coco_numbers(json_in *j, double *to, int most, int *n);

#endif
