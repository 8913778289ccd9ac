/* metrics.h: how good a classifier is, from counts. A share of nothing (0/0) is 0, as zero_division=0 of scikit-learn
 * has it. */
#ifndef WICK_CLI_METRICS_H
#define WICK_CLI_METRICS_H

#include <stdint.h>

/* Images of one class. */
typedef struct class_counts {
    int64_t support;   /* labelled so */
    int64_t predicted; /* taken for it */
    int64_t correct;   /* both */
} class_counts;

typedef struct class_scores {
    double precision; /* correct / predicted */
    double recall;    /* correct / support: the accuracy of the class */
    double f1;        /* their harmonic mean, 2 correct / (support + predicted) */
    double iou;       /* correct / (support + predicted - correct): intersection over union, Jaccard's index */
} class_scores;

class_scores scores_of(class_counts counts);
/* The means over the classes that occur, as labels or as predictions: those that do neither say nothing about the
 * model. */
class_scores scores_macro(const class_counts *classes, int64_t n);

/* How many classes stand above `label`, which is from 0 to n - 1: those of a larger logit, and of an equal one those
 * before it, as argmax takes the first. A NaN is taken to be above, so that it never helps. */
int64_t rank_of_label(const float *logits, int64_t n, int64_t label);

/* Predictions of one target, beside what it is, one after another. */
typedef struct target_sums {
    int64_t n, zeros;                  /* zeros: targets that are 0 */
    double mean, spread;               /* of the targets; sum of squares around the mean (Welford 1962) */
    double square, absolute, relative; /* sums of the differences: squares, magnitudes, magnitudes over the target's */
} target_sums;
typedef struct target_scores {
    double mae, rmse;
    double r2;   /* 1 - sum of squared differences / sum of squares around the mean; where all targets are one number, 1
                    or 0, as scikit-learn has it; NaN of fewer than 2 */
    double mape; /* mean of |difference / target|, of targets that are not 0; NaN: all are */
    int64_t zeros;
} target_scores;
void target_sums_add(target_sums *s, double predicted, double target);
target_scores target_sums_scores(const target_sums *s);

/* The cells of confusion[n * n] with the most mistakes, at most `most` of them, the largest first, of equal ones the
 * first. Returns how many there are. */
int largest_mistakes(const int64_t *confusion, int64_t n, int most, int64_t *cells);

#endif
