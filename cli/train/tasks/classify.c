/* Which class a sample is of: as many numbers as there are classes, of which the largest counts. Its scores need counts
 * by class, which evaluate.h has. */
#include "task.h"

#include "../classifier.h"

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    (void)c, (void)x;
    return y;
}

static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)c, (void)x;
    return wick_cross_entropy_rows(y, target);
}

static int64_t width(const classifier *c) { return c->classes; }

const task task_classify = {.kind = TASK_CLASSIFY,
                            .name = "classify",
                            .classes = true,
                            .learned = "a classifier of %lld class%s",
                            .output = "logits",
                            .doc = "a score for each class",
                            .loss = "cross-entropy",
                            .score = "accuracy",
                            .score_title = "accuracy",
                            .percent = true,
                            .predictions = predictions,
                            .rows = rows,
                            .width = width};
