/* Which of several labels a sample has: any number of them, each 0 or 1 by itself. The network gives a logit for each;
 * above 0 the label is taken to be there. */
#include "task.h"

#include "../evaluate.h"
#include "../metrics.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../step.h"
#include "../../term/log.h"

#include "wick/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    (void)c, (void)x;
    return wick_sigmoid(y);
}

static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)c, (void)x;
    return wick_mean(wick_binary_cross_entropy_logits(y, target, NULL, NULL, WICK_REDUCE_NONE), 1, (const int[]){1},
                     false);
}

static int64_t width(const classifier *c) { return c->classes; }

static bool is_there(float p) { return p > 0.5F; }

static class_counts counts_of(const evaluator *e, int64_t k) {
    const int64_t n = e->c->classes;
    class_counts counts = {0};
    for (int64_t i = 0; i < e->count; i++) {
        const bool wanted = e->targets[i * n + k] > 0, got = is_there(e->kept[i * n + k]);
        counts.support += wanted;
        counts.predicted += got;
        counts.correct += wanted && got;
    }
    return counts;
}

/* NaN where no sample has the label. */
static int average_precision(const evaluator *e, int64_t k, double *value) {
    const int64_t n = e->c->classes;
    float *p = step_buffer(e->count, sizeof *p);
    int64_t *y = step_buffer(e->count, sizeof *y), there = 0;
    wick_scope *scope = wick_scope_open(e->c->ctx);
    wick_status status = p && y && scope ? WICK_OK : WICK_ERR_NOMEM;
    for (int64_t i = 0; status == WICK_OK && i < e->count; i++) {
        p[i] = e->kept[i * n + k];
        there += y[i] = e->targets[i * n + k] > 0;
    }
    *value = NAN;
    if (status == WICK_OK && there)
        status = wick_average_precision(wick_from(e->c->ctx, WICK_F32, WICK_DIMS(e->count), p),
                                        wick_from(e->c->ctx, WICK_I64, WICK_DIMS(e->count), y), value);
    if (scope) wick_scope_close(&scope);
    free(p);
    free(y);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(e->c->ctx, status));
}

static int measure(const evaluator *e, evaluation *r) {
    const int64_t n = e->c->classes;
    class_counts all = {0};
    double macro = 0, precision = 0, labels = 0, whole = 0, wrong = 0;
    for (int64_t k = 0; k < n; k++) {
        const class_counts counts = counts_of(e, k);
        double ap;
        const int code = average_precision(e, k, &ap);
        if (code != CLI_OK) return code;
        macro += scores_of(counts).f1 / (double)n;
        all.support += counts.support, all.predicted += counts.predicted, all.correct += counts.correct;
        if (!isnan(ap)) precision += ap, labels++;
    }
    for (int64_t i = 0; i < e->count; i++) {
        double differ = 0;
        for (int64_t k = 0; k < n; k++) differ += (e->targets[i * n + k] > 0) != is_there(e->kept[i * n + k]);
        whole += differ == 0;
        wrong += differ;
    }
    evaluation_add(r, "map", "mAP", labels > 0 ? precision / labels : NAN, true);
    evaluation_add(r, "f1_macro", "F1, mean of labels", macro, true);
    evaluation_add(r, "f1_micro", "F1, of all together", scores_of(all).f1, true);
    evaluation_add(r, "subset_accuracy", "samples with all labels right", whole / (double)e->count, true);
    evaluation_add(r, "hamming_loss", "labels that are wrong", wrong / (double)(e->count * n), true);
    return CLI_OK;
}

static void print(const evaluator *e) {
    const classifier *c = e->c;
    int wide = 5;
    for (int64_t k = 0; k < c->classes; k++)
        if ((int)strlen(c->class_names[k]) > wide) wide = (int)strlen(c->class_names[k]);
    printf("\n%-*s  %9s  %9s  %9s  %9s  %8s\n", wide, "label", "precision", "recall", "F1", "AP", "have it");
    for (int64_t k = 0; k < c->classes; k++) {
        const class_counts counts = counts_of(e, k);
        const class_scores s = scores_of(counts);
        double ap;
        if (average_precision(e, k, &ap) != CLI_OK) return;
        log_print("%-*s  %7.2f %%  %7.2f %%  %7.2f %%  ", wide, c->class_names[k], 100 * s.precision, 100 * s.recall,
                  100 * s.f1);
        if (isnan(ap))
            printf("%9s", "-");
        else
            printf("%7.2f %%", 100 * ap);
        printf("  %8lld\n", (long long)counts.support);
    }
}

static void print_json(const evaluator *e, json *j) {
    json_open(j, "labels", '[');
    for (int64_t k = 0; k < e->c->classes; k++) {
        const class_counts counts = counts_of(e, k);
        const class_scores s = scores_of(counts);
        double ap;
        if (average_precision(e, k, &ap) != CLI_OK) ap = NAN;
        json_open(j, NULL, '{');
        json_text(j, "name", e->c->class_names[k]);
        json_integer(j, "support", counts.support);
        json_integer(j, "predicted", counts.predicted);
        json_integer(j, "correct", counts.correct);
        json_real(j, "precision", s.precision, 9);
        json_real(j, "recall", s.recall, 9);
        json_real(j, "f1", s.f1, 9);
        json_real(j, "average_precision", ap, 9);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)label;
    bool any = false;
    printf(":");
    for (int64_t k = 0; k < c->classes; k++)
        if (is_there(p[k])) log_print("%s %s", any ? "," : "", c->class_names[k]), any = true;
    printf("%s\n", any ? "" : " none");
    for (int64_t k = 0; k < c->classes; k++) {
        log_print("%16s %6.2f %%", c->class_names[k], 100 * (double)p[k]);
        if (target && !isnan(target[k])) printf("  (is %s)", target[k] > 0 ? "there" : "not there");
        printf("\n");
    }
}

static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)label;
    json_open(j, "predicted", '[');
    for (int64_t k = 0; k < c->classes; k++)
        if (is_there(p[k])) json_text(j, NULL, c->class_names[k]);
    json_close(j, ']');
    json_open(j, "probabilities", '{');
    for (int64_t k = 0; k < c->classes; k++) json_real(j, c->class_names[k], (double)p[k], 7);
    json_close(j, '}');
    if (!target) return;
    json_open(j, "target", '{');
    for (int64_t k = 0; k < c->classes; k++) json_real(j, c->class_names[k], (double)target[k], 9);
    json_close(j, '}');
}

static bool report(FILE *out, const evaluator *e) {
    fputs("<p>A label is taken to be there from a probability of one half. AP is the precision at each threshold, "
          "weighted "
          "by the recall that it adds. In per cent; the bars are F1.</p>\n<div class=\"card wide\"><table><thead><tr>"
          "<th>label</th><th class=\"n\">precision</th><th class=\"n\">recall</th><th class=\"n\">F1</th><th></th>"
          "<th class=\"n\">AP</th><th class=\"n\">have it</th></tr></thead><tbody>\n",
          out);
    for (int64_t k = 0; k < e->c->classes; k++) {
        const class_counts counts = counts_of(e, k);
        const class_scores s = scores_of(counts);
        double ap;
        chart_text text;
        if (average_precision(e, k, &ap) != CLI_OK) return false;
        fputs("<tr><td>", out);
        html_text(out, e->c->class_names[k]);
        fprintf(out,
                "</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td "
                "style=\"width:22%%\">",
                100 * s.precision, 100 * s.recall, 100 * s.f1);
        chart_bar(out, s.f1, "a", "F1");
        if (isnan(ap))
            fputs("</td><td class=\"n\">-", out);
        else
            fprintf(out, "</td><td class=\"n\">%.1f", 100 * ap);
        fprintf(out, "</td><td class=\"n\">%s</td></tr>\n", text_count(text, counts.support));
    }
    fputs("</tbody></table></div>\n", out);
    return true;
}

const task task_multi_label = {.kind = TASK_MULTI_LABEL,
                               .name = "multi-label",
                               .learned = "a classifier of %lld label%s, any of which a sample may have",
                               .output = "probabilities",
                               .doc = "of each label, which is there from one half",
                               .loss = "binary cross-entropy",
                               .score = "map",
                               .score_title = "mAP",
                               .percent = true,
                               .predictions = predictions,
                               .rows = rows,
                               .width = width,
                               .measure = measure,
                               .print = print,
                               .print_json = print_json,
                               .show = show,
                               .show_json = show_json,
                               .report = report};
