#include "heads_scores.h"

#include "../../step.h"
#include "../../term/log.h"

#include "wick/metrics.h"

#include <math.h>
#include <stdlib.h>

int64_t head_class(const head *h, const float *p) {
    int64_t best = 0;
    for (int64_t k = 1; k < h->n; k++)
        if (p[k] > p[best]) best = k;
    return best;
}

static const float *predicted(const evaluator *e, const head *h, int64_t i) {
    return e->kept + i * e->c->classes + h->first;
}
static const float *wanted(const evaluator *e, const head *h, int64_t i) {
    return e->targets + i * e->c->classes + h->first;
}

class_counts head_counts(const evaluator *e, const head *h, int64_t k) {
    class_counts counts = {0};
    for (int64_t i = 0; i < e->count; i++) {
        const float *p = predicted(e, h, i), *y = wanted(e, h, i);
        if (isnan(y[k])) continue;
        const bool is = y[k] > 0, got = h->kind == HEAD_CLASSES ? head_class(h, p) == k : p[k] > 0.5F;
        counts.support += is;
        counts.predicted += got;
        counts.correct += is && got;
    }
    return counts;
}

target_scores head_number(const evaluator *e, const head *h, int64_t k) {
    target_sums sums = {0};
    for (int64_t i = 0; i < e->count; i++) {
        const float y = wanted(e, h, i)[k];
        if (!isnan(y)) target_sums_add(&sums, (double)predicted(e, h, i)[k], (double)y);
    }
    return target_sums_scores(&sums);
}

static void add(head_scores *s, const char *key, const char *title, double value, bool percent) {
    s->scores[s->n].key = key, s->scores[s->n].title = title;
    s->scores[s->n].value = value, s->scores[s->n++].percent = percent;
}

/* ---- classes and numbers ----------------------------------------------------------------------------------------- */

static int score_classes(const evaluator *e, const head *h, head_scores *s) {
    class_counts *of = step_buffer(h->n, sizeof *of);
    if (!of) return log_fail(CLI_FAILED, "out of memory");
    int64_t right = 0;
    for (int64_t k = 0; k < h->n; k++) {
        of[k] = head_counts(e, h, k);
        right += of[k].correct;
    }
    s->score = s->samples ? (double)right / (double)s->samples : NAN;
    add(s, "accuracy", "accuracy", s->score, true);
    add(s, "f1_macro", "mean F1", scores_macro(of, h->n).f1, true);
    free(of);
    return CLI_OK;
}

static int score_numbers(const evaluator *e, const head *h, head_scores *s) {
    target_scores all = {0};
    for (int64_t k = 0; k < h->n; k++) {
        const target_scores one = head_number(e, h, k);
        all.r2 += one.r2 / (double)h->n, all.mae += one.mae / (double)h->n;
        all.rmse += one.rmse / (double)h->n, all.mape += one.mape / (double)h->n;
    }
    s->score = all.r2;
    add(s, "r2", "R2", all.r2, false);
    add(s, "mae", "MAE", all.mae, false);
    add(s, "rmse", "RMSE", all.rmse, false);
    add(s, "mape", "MAPE", all.mape, true);
    return CLI_OK;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* NaN where no sample has the label. */
static int average_precision(const evaluator *e, const head *h, int64_t k, double *value) {
    float *p = step_buffer(e->count, sizeof *p);
    int64_t *y = step_buffer(e->count, sizeof *y), n = 0, there = 0;
    wick_scope *scope = wick_scope_open(e->c->ctx);
    wick_status status = p && y && scope ? WICK_OK : WICK_ERR_NOMEM;
    for (int64_t i = 0; status == WICK_OK && i < e->count; i++) {
        const float is = wanted(e, h, i)[k];
        if (isnan(is)) continue;
        p[n] = predicted(e, h, i)[k];
        there += y[n++] = is > 0;
    }
    *value = NAN;
    if (status == WICK_OK && there)
        status = wick_average_precision(wick_from(e->c->ctx, WICK_F32, WICK_DIMS(n), p),
                                        wick_from(e->c->ctx, WICK_I64, WICK_DIMS(n), y), value);
    if (scope) wick_scope_close(&scope);
    free(p);
    free(y);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(e->c->ctx, status));
}

static int score_labels(const evaluator *e, const head *h, head_scores *s) {
    class_counts all = {0};
    double macro = 0, precision = 0, labels = 0;
    for (int64_t k = 0; k < h->n; k++) {
        const class_counts counts = head_counts(e, h, k);
        double ap;
        const int code = average_precision(e, h, k, &ap);
        if (code != CLI_OK) return code;
        macro += scores_of(counts).f1 / (double)h->n;
        all.support += counts.support, all.predicted += counts.predicted, all.correct += counts.correct;
        if (!isnan(ap)) precision += ap, labels++;
    }
    s->score = labels > 0 ? precision / labels : NAN;
    add(s, "map", "mAP", s->score, true);
    add(s, "f1_macro", "mean F1", macro, true);
    add(s, "f1_micro", "micro F1", scores_of(all).f1, true);
    return CLI_OK;
}

/* ---- loss -------------------------------------------------------------------------------------------------------- */

static double log_of(double p) { return log(fmax(p, 1e-38)); }

/* Of output k, by what was predicted of it. deviation: of the targets in the training, 1 of classes and labels */
static double loss_of(const head *h, int64_t k, const float *p, const float *y, const float *deviation) {
    const double q = (double)p[k], is = (double)y[k];
    if (h->kind == HEAD_CLASSES) return -is * log_of(q);
    if (h->kind == HEAD_LABELS) return -is * log_of(q) - (1 - is) * log_of(1 - q);
    const double d = (q - is) / (double)deviation[h->first + k];
    return d * d;
}

static int measure_loss(const evaluator *e, const head *h, head_scores *s) {
    const void *deviation;
    const wick_status status = wick_data(classifier_state(e->c, STATE_TARGET_DEVIATION), &deviation);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "%s", log_why(e->c->ctx, status));
    double all = 0;
    for (int64_t i = 0; i < e->count; i++) {
        const float *p = predicted(e, h, i), *y = wanted(e, h, i);
        double sum = 0;
        int64_t there = 0;
        for (int64_t k = 0; k < h->n; k++)
            if (!isnan(y[k])) sum += loss_of(h, k, p, y, deviation), there++;
        if (!there) continue;
        s->samples++;
        all += h->kind == HEAD_CLASSES ? sum : sum / (double)there;
    }
    s->loss = s->samples ? all / (double)s->samples : NAN;
    return CLI_OK;
}

int head_scores_of(const evaluator *e, const head *h, head_scores *s) {
    *s = (head_scores){.score = NAN};
    const int code = measure_loss(e, h, s);
    if (code != CLI_OK) return code;
    return h->kind == HEAD_CLASSES   ? score_classes(e, h, s)
           : h->kind == HEAD_NUMBERS ? score_numbers(e, h, s)
                                     : score_labels(e, h, s);
}
