/* keypoints.h: what the files of --task keypoints share: keypoints.c (what the network's numbers mean, the loss, and
 * the scores) and keypoints_show.c (text, pictures and pages). */
#ifndef WICK_CLI_KEYPOINTS_H
#define WICK_CLI_KEYPOINTS_H

#include "task.h"

#include "../boxes/point_table.h"

/* Over the points that are there, of one or of all. Distances are in pixels of the pictures as their files have them.
 */
typedef struct point_score {
    int64_t there;
    double pck[3]; /* the share within POINT_SHARES of the larger side of the box around the picture's points (PCK; Yang
                      and Ramanan 2013) */
    double nme;    /* the mean distance, over the square root of that box's area (NME) */
} point_score;
extern const double POINT_SHARES[3];
/* each: [points], or NULL. An exit code; what went wrong has been said. */
int keypoints_score(const struct evaluator *e, point_score *each, point_score *all);

void keypoints_show(const struct classifier *c, const float *p, const float *target, int64_t label);
void keypoints_show_json(const struct classifier *c, const float *p, const float *target, int64_t label, json *j);
void keypoints_csv(const struct classifier *c);
void keypoints_show_csv(const struct classifier *c, const float *p, const char *name);
bool keypoints_paint(const struct classifier *c, const float *p, bool color, uint8_t *rgb);
int keypoints_draw(const struct classifier *c, const float *p, const uint8_t *pixels, int64_t height, int64_t width,
                   const char *stem);
bool keypoints_report(FILE *out, const struct evaluator *e);

#endif
