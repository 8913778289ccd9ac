/* heads_scores.h: how good one of several heads is, of the samples that say what it should be. */
#ifndef WICK_CLI_HEADS_SCORES_H
#define WICK_CLI_HEADS_SCORES_H

#include "../evaluate.h"
#include "../heads.h"

enum { MOST_SCORES_OF_HEAD = 4 };
typedef struct head_scores {
    int64_t samples;
    double loss;  /* the mean over them, as it is learned, without the weight */
    double score; /* accuracy, R2 or mAP, which the mean over the heads is of; NaN: there is none */
    int n;
    struct {
        const char *key, *title;
        double value;
        bool percent;
    } scores[MOST_SCORES_OF_HEAD];
} head_scores;

/* Of the last round. An exit code; what went wrong has been said. */
int head_scores_of(const evaluator *e, const head *h, head_scores *s);
class_counts head_counts(const evaluator *e, const head *h, int64_t k); /* of class or label k */
target_scores head_number(const evaluator *e, const head *h, int64_t k);
/* The largest of the head's numbers, the first of equal ones. */
int64_t head_class(const head *h, const float *p);

#endif
