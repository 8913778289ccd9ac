#include "metrics.h"

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
