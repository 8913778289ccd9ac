/* embed.h: what --task embed keeps in a model, and identities that are known to wick predict. */
#ifndef WICK_CLI_EMBED_H
#define WICK_CLI_EMBED_H

#include "../classifier.h"

struct evaluator;

/* Of all pairs of some samples. */
typedef struct pair_scores {
    int64_t samples, pairs, same;        /* same: of one identity */
    double auc, eer, equal;              /* equal: the similarity at which both errors are most alike */
    double threshold;                    /* the model's; NaN: it has none */
    double false_accepts, false_rejects; /* at that */
} pair_scores;

/* The learned vectors of the training's identities, [identities, classes], and the threshold, 0-d: states of the model.
 */
wick_tensor *embed_prototypes(classifier *c);
wick_tensor *embed_threshold(classifier *c);

/* Identities by the means of their vectors. */
typedef struct enrolled {
    float *means; /* [n, classes] */
    char **names;
    int64_t n;
} enrolled;
/* Of a round's samples. An exit code; what went wrong has been said. */
int enrolled_of(const struct evaluator *e, enrolled *to);
void enrolled_free(enrolled *e);

#endif
