/* wick/metrics.h: how good predictions are. Definitions are scikit-learn's; a share of nothing (0/0) is 0. */
#ifndef WICK_METRICS_H
#define WICK_METRICS_H

#include "wick/loss.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- expressions: part of a plan like any other ------------------------------------------------------------------ */

/* The share of rows whose label has fewer than k classes above it, of logits [N, C] and labels [N]: 0-d, of the logits'
 * dtype. Of equal logits the first class is above, as argmax has it; a NaN is above. No gradient. */
WICK_API wick_tensor *wick_top_k_accuracy(wick_tensor *logits, wick_tensor *labels, int64_t k);
/* exp of wick_cross_entropy_with's mean. */
WICK_API wick_tensor *wick_perplexity(wick_tensor *logits, wick_tensor *labels,
                                      const wick_cross_entropy_options *options);
/* How often each label (rows) was taken for each class (columns): i64 [classes, classes]. Integers of one shape; one
 * outside [0, classes) is a run-time error (WICK_ERR_INDEX). Of masks, the counts that IoU is made of. */
WICK_API wick_tensor *wick_confusion_matrix(wick_tensor *labels, wick_tensor *predictions, int64_t classes);

/* ---- from such counts, row-major --------------------------------------------------------------------------------- */

typedef struct wick_class_score {
    int64_t support, predicted, correct; /* labelled so, taken for it, both */
    double precision;                    /* correct / predicted */
    double recall;                       /* correct / support */
    double f1;                           /* 2 correct / (support + predicted) */
    /* correct / (support + predicted - correct): intersection over union, Jaccard's index */
    double iou;
} wick_class_score;
WICK_API wick_class_score wick_score_class(int64_t classes, const int64_t *confusion, int64_t c);

typedef enum wick_score_mean {
    WICK_SCORE_MACRO,    /* over the classes that occur as label or prediction */
    WICK_SCORE_WEIGHTED, /* by support */
    WICK_SCORE_MICRO     /* of all counts together; precision, recall and F1 are then the accuracy */
} wick_score_mean;
/* The mean of the scores, with the counts of all classes added up. */
WICK_API wick_class_score wick_score_all(int64_t classes, const int64_t *confusion, wick_score_mean mean);

/* ---- from scores: these evaluate their arguments ----------------------------------------------------------------- */

/* Area under the ROC curve. scores [N] floats with labels [N], 0 or 1 (integers or bool): the chance that one of class
 * 1 has a higher score than one of class 0, a tie counting half. scores [N, C]: the plain mean of that of each class
 * against the rest, as of probabilities. WICK_ERR_INVALID: a class without both sorts, or a NaN; the text is the
 * context's. */
WICK_API WICK_MUST_CHECK wick_status wick_roc_auc(wick_tensor *scores, wick_tensor *labels, double *auc);
/* Of scores [N] and labels [N], 0 or 1: the precision at each threshold, weighted by the recall that it adds. */
WICK_API WICK_MUST_CHECK wick_status wick_average_precision(wick_tensor *scores, wick_tensor *labels,
                                                            double *precision);

/* ---- of sequences ------------------------------------------------------------------------------------------------ */

/* The fewest labels to put in, take out or change that make b of a (Levenshtein 1966). Summed over samples, over the
 * labels of the references: the label error rate, of words the word error rate. Time n_a n_b, memory by the shorter
 * one. WICK_ERR_INVALID: a length below 0; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_edit_distance(wick_context *ctx, int64_t n_a, const int64_t *a, int64_t n_b,
                                                        const int64_t *b, int64_t *distance);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
#define wick_top_k_accuracy(...) WICK_TENSOR_HERE(wick_top_k_accuracy(__VA_ARGS__))
#define wick_perplexity(...) WICK_TENSOR_HERE(wick_perplexity(__VA_ARGS__))
#define wick_confusion_matrix(...) WICK_TENSOR_HERE(wick_confusion_matrix(__VA_ARGS__))
#endif
#endif
