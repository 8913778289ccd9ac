/* point_table.h: pictures and the points in them: of tables (point_table.c), a column for the picture and two for each
 * point, and of COCO's JSON of keypoints (point_coco.c). */
#ifndef WICK_CLI_POINT_TABLE_H
#define WICK_CLI_POINT_TABLE_H

#include "wick/context.h"

enum { POINT_NAME = 48, POINT_PATH = 4096, POINT_MOST = 512 /* of a picture */, POINT_WIDTH = 3 /* numbers of one */ };

typedef struct point_row {
    char *path;
    int64_t line;
    bool boxed; /* the row is of a part of the picture, what this box holds and a margin */
    double box[4]; /* left, top, right, bottom */
} point_row;
typedef struct point_table {
    point_row *rows;
    int64_t n, room;
    float *at; /* [n, points, 3]: x, y in pixels, and 1, or 0 where the point is not there */
    char (*names)[POINT_NAME];
    int points;
    bool parted;      /* a column split says which rows these are */
    char others[256]; /* columns that are passed over, by name; "": none */
    int64_t missing;  /* points that are not there */
    int64_t bare;     /* annotations without points, around crowds or of other categories, which are no rows */
} point_table;

/* Points are columns xNAME and yNAME (x0, y0, x1, y1 ...), or NAME_x and NAME_y (also with . or -, or a blank), and
 * with vNAME or NAME_v whether the point is there: 0 says no, as do empty cells. split: of a table with a column split,
 * these rows. separator 0: found. WICK_ERR_IO, WICK_ERR_FORMAT (which names the line), WICK_ERR_NOMEM. */
wick_status point_table_read(wick_context *ctx, const char *path, const char *split, char separator, point_table *out);
void point_table_free(point_table *t);
bool point_table_grow(point_table *t); /* room for one more row; false: out of memory */
/* Whether it has such a header, with two points at least, and whether with a column split. */
bool point_table_is(const char *path, char separator, bool *parted);

/* COCO's file of keypoints; pictures are looked for beside it, or in one of these folders, NULL at the end. Errors name
 * file, line and field. */
wick_status point_coco_read(wick_context *ctx, const char *path, const char *const *folders, point_table *out);

#endif
