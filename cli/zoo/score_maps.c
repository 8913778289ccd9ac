/* What a model says of each pixel, and what the training's mean of each place would. */
#include "zoo.h"

#include "../term/log.h"
#include "../train/tasks/dense.h"

#include <math.h>
#include <stdlib.h>

/* delta < 1.25 of geometric means of the training's pixels, place by place. */
int zoo_map_baseline(const evaluator *e, const wick_dataset *train, const wick_dataset *test, double *baseline) {
    const int64_t n = classifier_target_width(e->c);
    float *t = malloc((size_t)n * sizeof *t);
    double *mean = calloc((size_t)n, sizeof *mean), *known = calloc((size_t)n, sizeof *known);
    dense_sums s = {0};
    int code = t && mean && known ? CLI_OK : zoo_out_of_memory();
    for (int which = 0; which < 2; which++) {
        const wick_dataset *d = which ? test : train;
        for (int64_t i = 0; code == CLI_OK && i < wick_dataset_count(d); i++) {
            if (wick_dataset_get(d, i, (void *[WICK_DATASET_FIELDS]){NULL, t}, NULL) != WICK_OK)
                code = log_fail(CLI_BAD_FILE, "%s: its samples cannot be read", e->c->data);
            for (int64_t k = 0; code == CLI_OK && k < n; k++)
                if (which)
                    dense_add(&s, known[k] > 0 ? exp(mean[k] / known[k]) : 0, (double)t[k]);
                else if (t[k] > 0)
                    mean[k] += log((double)t[k]), known[k]++;
        }
    }
    free(t), free(mean), free(known);
    *baseline = s.positive > 0 ? s.close[0] / s.positive : NAN;
    return code;
}
