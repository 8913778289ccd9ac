/* box_scores.h: how good boxes that were found are, as COCO measures it (Lin et al. 2014, arXiv 1405.0312; the
 * evaluation of pycocotools, of boxes of any size). */
#ifndef WICK_CLI_BOX_SCORES_H
#define WICK_CLI_BOX_SCORES_H

#include <stdbool.h>
#include <stdint.h>

enum { BOX_OVERLAPS = 10, BOX_RECALLS = 101, BOX_MOST_FOUND = 100 /* of a class in a picture */ };

typedef struct box_truth {
    int64_t picture;
    int class;
    float at[4];
} box_truth;
/* In the order of pictures; those of one class in a picture by falling score. */
typedef struct box_found {
    int64_t picture;
    int class;
    float score, at[4];
} box_found;

/* Of a class, or the means over the classes that have boxes. A box is found where the likeliest one that is left
 * overlaps it by more than a share of their union (IoU): 0.5, 0.55 ... 0.95. */
typedef struct box_score {
    int64_t there, found;
    double ap; /* mean of the average precisions at the ten shares */
    double ap50, ap75;
    double recall; /* of all that was found, at 0.5 */
    /* precision at 0.5 where recall is 0, 0.01 ... 1: the highest there or beyond */
    double precision[BOX_RECALLS];
} box_score;

double box_overlap(const float a[4], const float b[4]); /* of their union; 0 of boxes without area */
/* each: [classes]; NaN where no box of the class is there. False: out of memory. */
bool box_scores_of(const box_found *found, int64_t n_found, const box_truth *truth, int64_t n_truth, int classes,
                   box_score *each, box_score *mean);

#endif
