/* detect.h: what the files of --task detect share: detect.c (what the network's numbers mean, and the loss),
 * detect_scores.c (measuring) and detect_show.c (pictures and pages). */
#ifndef WICK_CLI_DETECT_H
#define WICK_CLI_DETECT_H

#include "task.h"

#include "../boxes/box_scores.h"

/* The grid's cells. */
int64_t detect_cells(const struct classifier *c);
/* [n, 4 + classes, cells]: corners in pixels of the network's picture, and the score of each class */
wick_tensor *detect_predictions(struct classifier *c, wick_tensor *x, wick_tensor *y);
/* The loss of each sample; target: f32 [n, M, 5], corners and class, -1 where there is no box. */
wick_tensor *detect_rows(struct classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target);
int64_t detect_width(const struct classifier *c);

/* Of n samples' predictions those with a score of at least `least`, at most BOX_MOST_FOUND of a class in a sample, of
 * which none overlaps a likelier one of its class by more than `overlap` of their union. *found, malloc'ed, is in the
 * order of samples, numbered from `first`, classes and falling scores. An exit code; what went wrong has been said. */
int detect_select(const struct classifier *c, const float *p, int64_t n, int64_t first, double least, double overlap,
                  box_found **found, int64_t *n_found);
#define DETECT_LEAST   0.01 /* scores that are measured */
#define DETECT_SHOWN   0.25 /* and those that are shown, unless --score says otherwise */
#define DETECT_OVERLAP 0.6

/* What a round of measuring gathers, e->own. */
typedef struct detect_log {
    box_found *found;
    box_truth *truth;
    int64_t n_found, room_found, n_truth, room_truth;
    box_score *each, mean; /* each: [classes] */
} detect_log;
int detect_begin(struct evaluator *e);
void detect_drop(struct evaluator *e);
int detect_count(struct evaluator *e, const void *target, int64_t n);
int detect_measure(const struct evaluator *e, struct evaluation *r);
void detect_print(const struct evaluator *e);
void detect_print_json(const struct evaluator *e, json *j);

void detect_csv(const struct classifier *c);
void detect_show(const struct classifier *c, const float *p, const float *target, int64_t label);
void detect_show_json(const struct classifier *c, const float *p, const float *target, int64_t label, json *j);
void detect_show_csv(const struct classifier *c, const float *p, const char *name);
/* Frames of the likeliest on top, in the colours of their classes, or white. */
bool detect_paint(const struct classifier *c, const float *p, bool color, uint8_t *rgb);
int detect_draw(const struct classifier *c, const float *p, const uint8_t *pixels, int64_t height, int64_t width,
                const char *stem);
bool detect_report(FILE *out, const struct evaluator *e);

#endif
