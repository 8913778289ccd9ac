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

static double overlap(const double *a, const float *b) {
    const double wide = fmin(a[2], (double)b[2]) - fmax(a[0], (double)b[0]),
                 high = fmin(a[3], (double)b[3]) - fmax(a[1], (double)b[1]),
                 inside = wide > 0 && high > 0 ? wide * high : 0;
    return inside / ((a[2] - a[0]) * (a[3] - a[1]) + (double)(b[2] - b[0]) * (double)(b[3] - b[1]) - inside);
}

/* The mean IoU of the training's mean box. */
int zoo_track_baseline(const evaluator *e, const wick_dataset *train, double *baseline) {
    double mean[4] = {0}, sum = 0;
    float box[4];
    const int64_t n = wick_dataset_count(train);
    for (int64_t i = 0; i < n; i++) {
        if (wick_dataset_get(train, i, (void *[WICK_DATASET_FIELDS]){NULL, box}, NULL) != WICK_OK)
            return log_fail(CLI_BAD_FILE, "%s: its samples cannot be read", e->c->data);
        for (int k = 0; k < 4; k++) mean[k] += (double)box[k] / (double)n;
    }
    for (int64_t i = 0; i < e->count; i++) sum += overlap(mean, e->targets + 4 * i);
    *baseline = sum / (double)e->count;
    return CLI_OK;
}
