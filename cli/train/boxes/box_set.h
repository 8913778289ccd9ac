/* box_set.h: pictures and the boxes that lie in them, as tables (box_csv.c), COCO's JSON (box_coco.c), YOLO's texts
 * (box_yolo.c) and Pascal VOC's XML (box_voc.c) have them. box_find.c finds them, box_write.c writes them. */
#ifndef WICK_CLI_BOX_SET_H
#define WICK_CLI_BOX_SET_H

#include "wick/context.h"

enum { BOX_NAME = 64, BOX_PATH = 4096, BOX_MOST_CLASSES = 1 << 12, BOX_MOST = 1 << 12 /* of a picture */ };

typedef struct box {
    double at[4];    /* left, top, right, bottom in pixels of the picture as its file has it, the first reaching from 0
                        to 1 */
    int64_t picture; /* of the set */
    int64_t line;    /* of the file that says it; 0: by the picture's own number there */
    int class;
} box;

typedef struct box_picture {
    char *path, *name;     /* name: as the file of boxes has it, or the path below its folder */
    char *from;            /* the file that says its boxes; NULL: the set's */
    int64_t first, n;      /* its boxes, once the set is sorted */
    int64_t height, width; /* as the file of boxes says; 0: it doesn't */
} box_picture;

typedef struct box_set {
    box_picture *pictures;
    int64_t n, room;
    box *boxes;
    int64_t n_boxes, room_boxes;
    char (*classes)[BOX_NAME];
    int n_classes;
    bool fixed;       /* other classes than these are errors */
    bool shares;      /* places are shares of the picture's width and height, until box_set_check */
    char *from;       /* the one file that says all boxes; NULL: each picture has its own */
    int64_t crowds;   /* boxes around crowds, which are left out */
    char others[256]; /* columns that are passed over, by name; "": none */
    bool parted;      /* its file says which part each picture is of */
    int64_t bare;     /* pictures without a file of boxes */
} box_set;

void box_set_free(box_set *s);
wick_status box_out_of_memory(wick_context *ctx, const char *path);
/* A picture; *number is its place. Path and name are copied; from may be NULL. */
wick_status box_set_picture(wick_context *ctx, box_set *s, const char *path, const char *name, const char *from,
                            int64_t *number);
wick_status box_set_add(wick_context *ctx, box_set *s, const box *b);
/* The number of a class, a new one unless the set's are fixed. file and line: who asks. */
wick_status box_set_class(wick_context *ctx, box_set *s, const char *name, const char *file, int64_t line, int *class);
/* Classes as these, and no others. */
wick_status box_set_fix(wick_context *ctx, box_set *s, int n, const char *const *names);
/* Classes in the order of their names' bytes, numbers by their size, unless they are fixed; boxes by their pictures. */
wick_status box_set_sort(wick_context *ctx, box_set *s);
/* What a box is refused for, whatever its picture: numbers that are none, no area. file and line: where it stands. */
wick_status box_check(wick_context *ctx, const char *file, int64_t line, const double at[4]);
/* Boxes of picture i, which has so many pixels: shares become pixels, and one that reaches out by at most a pixel is
 * cut off at the edge; *cut counts those. One that lies farther out is WICK_ERR_FORMAT. */
wick_status box_set_place(wick_context *ctx, box_set *s, int64_t i, int64_t height, int64_t width, int64_t *cut);
/* Where the boxes of picture i are said. */
const char *box_set_from(const box_set *s, int64_t i);

/* ---- readers: WICK_ERR_IO, WICK_ERR_FORMAT (which names file and line), WICK_ERR_NOMEM --------------------------- */

/* A table with a header (box_csv.c): a column for the picture, one for the class, four for the box. split: of a table
 * with a column split, these rows. separator: 0: found. */
wick_status box_read_csv(wick_context *ctx, const char *path, const char *split, char separator, box_set *s);
/* Whether its header is that of such a table, and whether it has a column split. */
bool box_is_csv(const char *path, char separator, bool *parted);
/* COCO's file of instances; pictures are looked for beside it, or in one of these folders, NULL at the end. */
wick_status box_read_coco(wick_context *ctx, const char *path, const char *const *folders, box_set *s);
/* Whether it is such a file, and whether it has keypoints. */
bool box_is_coco(const char *path, bool *points);
/* Folders for that, up to BOX_FOLDERS of them, as `folders` points to in `paths`. */
enum { BOX_FOLDERS = 4 };
void box_coco_folders(const char *data, const char *split, const char *file, char (*paths)[BOX_PATH],
                      const char *folders[BOX_FOLDERS + 1]);
/* NAME.txt of a picture, "CLASS X Y WIDTH HEIGHT" a line, the middle and the size as shares of the picture's. names:
 * of the classes, n_names of them; 0: they are numbered. */
wick_status box_read_yolo(wick_context *ctx, const char *path, int64_t picture, const char *const *names, int n_names,
                          box_set *s);
/* classes.txt, obj.names or the "names:" of data.yaml in a folder, into a list of lines; *n 0: there is none. */
wick_status box_yolo_names(wick_context *ctx, const char *folder, char ***names, int *n);
/* NAME.xml of a picture, whose pixels count from 1 on. */
wick_status box_read_voc(wick_context *ctx, const char *path, int64_t picture, box_set *s);

/* ---- finding (box_find.c) ---------------------------------------------------------------------------------------- */

typedef enum box_form { BOX_NONE, BOX_CSV, BOX_COCO, BOX_YOLO, BOX_VOC } box_form;
extern const char *const box_forms[]; /* for people */
typedef struct box_place {
    box_form form;
    char file[BOX_PATH];                       /* of CSV and COCO */
    char pictures[BOX_PATH], labels[BOX_PATH]; /* folders; of YOLO and VOC both */
    char list[BOX_PATH];                       /* of VOC, a file of the names that are of the part; "": all */
    bool whole;                                /* the data have no parts: these are all of them */
    bool points;                               /* of COCO: it has keypoints */
} box_place;
/* Where the boxes of a part of the data are; false: there are none. */
bool box_find(const char *data, const char *split, char separator, box_place *place);
/* COCO's JSON of keypoints likewise, as those of boxes are called, or annotations/person_keypoints_SPLIT*.json. */
bool box_find_points(const char *data, const char *split, box_place *place);
/* fixed: the names of the classes, NULL: they are learned. */
wick_status box_read(wick_context *ctx, const char *data, const char *split, const box_place *place, char separator,
                     int n_fixed, const char *const *fixed, box_set *out);

/* ---- writing (box_write.c) --------------------------------------------------------------------------------------- */

/* The set as a file (CSV, COCO) or a folder of files (YOLO, VOC). sizes: [n][2], height and width of each picture.
 * Pictures keep the names that they have below `folder`. */
wick_status box_write(wick_context *ctx, const box_set *s, const int64_t (*sizes)[2], box_form form, const char *to);

#endif
