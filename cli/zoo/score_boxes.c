/* Boxes: what needs no network. Of each class, and each of 12 x 12 places of the picture, the mean of the training's
 * boxes whose middles lie there, as likely as they are many; the same ones in every picture. */
#include "zoo.h"

#include "../term/log.h"
#include "../train/tasks/detect.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 12, PLACES = SIDE * SIDE };

typedef struct usual {
    double sum[4];
    int64_t n;
} usual;

static bool gather(const wick_dataset *d, const classifier *c, usual *at) {
    const int64_t most = wick_dataset_field(d, 1)->dims[0], count = wick_dataset_count(d);
    float *boxes = malloc((size_t)(most * BOX_WIDTH) * sizeof *boxes);
    bool read = boxes != NULL;
    for (int64_t i = 0; read && i < count; i++) {
        read = wick_dataset_get(d, i, (void *[WICK_DATASET_FIELDS]){NULL, boxes}, NULL) == WICK_OK;
        for (int64_t k = 0; read && k < most; k++) {
            const float *b = boxes + k * BOX_WIDTH;
            if (b[4] < 0) continue;
            const int64_t x = (int64_t)((double)(b[0] + b[2]) / 2 * SIDE / (double)c->dims[2]),
                          y = (int64_t)((double)(b[1] + b[3]) / 2 * SIDE / (double)c->dims[1]);
            usual *u = &at[(int64_t)b[4] * PLACES + (y < SIDE ? y : SIDE - 1) * SIDE + (x < SIDE ? x : SIDE - 1)];
            for (int side = 0; side < 4; side++) u->sum[side] += (double)b[side];
            u->n++;
        }
    }
    free(boxes);
    return read;
}

static int by_score(const void *a, const void *b) {
    const box_found *x = a, *y = b;
    if (x->class != y->class) return x->class - y->class;
    return (x->score < y->score) - (x->score > y->score);
}

int zoo_box_baseline(const evaluator *e, const wick_dataset *train, double *baseline) {
    const int64_t classes = e->c->classes, pictures = e->count;
    const detect_log *l = e->own;
    usual *at = calloc((size_t)(classes * PLACES), sizeof *at);
    box_found *one = malloc((size_t)(classes * PLACES) * sizeof *one),
              *all = malloc((size_t)(classes * PLACES * pictures + 1) * sizeof *all);
    box_score *each = malloc((size_t)classes * sizeof *each), mean;
    int64_t n = 0;
    int code = at && one && all && each ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK && !gather(train, e->c, at))
        code = log_fail(CLI_BAD_FILE, "%s: its samples cannot be read", e->c->data);
    for (int64_t i = 0; code == CLI_OK && i < classes * PLACES; i++) {
        if (!at[i].n) continue;
        one[n] = (box_found){.class = (int)(i / PLACES),
                             .score = (float)((double)at[i].n / (double)wick_dataset_count(train))};
        for (int side = 0; side < 4; side++) one[n].at[side] = (float)(at[i].sum[side] / (double)at[i].n);
        n++;
    }
    if (code == CLI_OK) qsort(one, (size_t)n, sizeof *one, by_score);
    for (int64_t i = 0; code == CLI_OK && i < pictures; i++)
        for (int64_t k = 0; k < n; k++) all[i * n + k] = one[k], all[i * n + k].picture = i;
    if (code == CLI_OK && !box_scores_of(all, n * pictures, l->truth, l->n_truth, (int)classes, each, &mean))
        code = zoo_out_of_memory();
    if (code == CLI_OK) *baseline = mean.ap50;
    free(at), free(one), free(all), free(each);
    return code;
}
