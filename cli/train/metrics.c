#include "metrics.h"

#include <math.h>

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

class_scores scores_of(class_counts c) {
    double correct = (double)c.correct, support = (double)c.support, predicted = (double)c.predicted;
    return (class_scores){share(correct, predicted), share(correct, support), share(2 * correct, support + predicted),
                          share(correct, support + predicted - correct)};
}

class_scores scores_macro(const class_counts *classes, int64_t n) {
    class_scores sum = {0};
    double occur = 0;
    for (int64_t k = 0; k < n; k++) {
        if (!classes[k].support && !classes[k].predicted) continue;
        class_scores s = scores_of(classes[k]);
        sum.precision += s.precision;
        sum.recall += s.recall;
        sum.f1 += s.f1;
        sum.iou += s.iou;
        occur++;
    }
    return (class_scores){share(sum.precision, occur), share(sum.recall, occur), share(sum.f1, occur),
                          share(sum.iou, occur)};
}

int64_t rank_of_label(const float *logits, int64_t n, int64_t label) {
    int64_t above = 0;
    float own = logits[label];
    for (int64_t k = 0; k < label; k++) above += !(logits[k] < own);
    for (int64_t k = label + 1; k < n; k++) above += !(logits[k] <= own);
    return above;
}

void target_sums_add(target_sums *s, double predicted, double target) {
    const double d = predicted - target, from = target - s->mean;
    s->n++;
    s->mean += from / (double)s->n;
    s->spread += from * (target - s->mean);
    s->square += d * d;
    s->absolute += fabs(d);
    s->zeros += target == 0;
    if (target != 0) s->relative += fabs(d / target);
}

target_scores target_sums_scores(const target_sums *s) {
    const double n = (double)s->n;
    double r2 = s->spread > 0 ? 1 - s->square / s->spread : s->square > 0 ? 0 : 1;
    if (s->n < 2) r2 = NAN;
    return (target_scores){.mae = s->absolute / n,
                           .rmse = sqrt(s->square / n),
                           .r2 = r2,
                           .mape = s->relative / (double)(s->n - s->zeros),
                           .zeros = s->zeros};
}

int largest_mistakes(const int64_t *confusion, int64_t n, int most, int64_t *cells) {
    int found = 0;
    for (int64_t i = 0; i < n * n; i++) {
        if (i / n == i % n || confusion[i] == 0 || (found == most && confusion[cells[found - 1]] >= confusion[i]))
            continue;
        int at = found < most ? found++ : most - 1;
        for (; at > 0 && confusion[cells[at - 1]] < confusion[i]; at--) cells[at] = cells[at - 1];
        cells[at] = i;
    }
    return found;
}
