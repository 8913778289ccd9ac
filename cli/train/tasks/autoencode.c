/* The sample itself, through a narrower place in the network. What it can't make again is unlike what it learned from:
 * the mean square of the difference is the anomaly score. With --noise the network gets samples with noise, and is to
 * make those without. Samples are compared as the network takes them: columns with mean 0 and deviation 1, pixels by
 * mean and deviation of the set. */
#include "task.h"

#include "../evaluate.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../step.h"
#include "../../term/log.h"

#include "wick/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)target;
    x = wick_reshape(x, 2, (const int64_t[]){wick_tensor_dim(x, 0), c->classes});
    return wick_mean(wick_mse_loss(y, x, WICK_REDUCE_NONE), 1, (const int[]){1}, false);
}

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    return wick_reshape(rows(c, x, y, NULL), 2, (const int64_t[]){wick_tensor_dim(x, 0), 1});
}

static int64_t width(const classifier *c) {
    (void)c;
    return 1;
}

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Scores in order; NULL: out of memory. */
static float *sorted(const evaluator *e) {
    float *s = step_buffer(e->count, sizeof *s);
    if (!s) return NULL;
    memcpy(s, e->kept, (size_t)e->count * sizeof *s);
    qsort(s, (size_t)e->count, sizeof *s, by_value);
    return s;
}
/* Between the two nearest, as NumPy's percentile. */
static double percentile(const float *s, int64_t n, double share) {
    const double at = share * (double)(n - 1);
    const int64_t low = (int64_t)at, high = low + 1 < n ? low + 1 : low;
    return (double)s[low] + (at - (double)low) * ((double)s[high] - (double)s[low]);
}

static int measure(const evaluator *e, evaluation *r) {
    float *s = sorted(e);
    if (!s) return log_fail(CLI_FAILED, "out of memory");
    evaluation_add(r, "rmse", "RMSE", sqrt(r->loss), false);
    evaluation_add(r, "median", "median score", percentile(s, e->count, 0.5), false);
    evaluation_add(r, "p95", "95 % of scores below", percentile(s, e->count, 0.95), false);
    evaluation_add(r, "p99", "99 % of scores below", percentile(s, e->count, 0.99), false);
    free(s);
    return CLI_OK;
}

/* ---- by class, where the data have classes; -1: samples of none that the training had
 * ----------------------------------------------------------------------- */

typedef struct of_class {
    int64_t n;
    double mean, auc; /* of the scores; whether this class has higher ones than the others. NaN: not known */
} of_class;

static of_class class_scores_of(const evaluator *e, int64_t k) {
    of_class s = {.mean = 0, .auc = NAN};
    int64_t *y = step_buffer(e->count, sizeof *y);
    for (int64_t i = 0; y && i < e->count; i++) {
        y[i] = e->labels[i] == k;
        s.n += y[i];
        if (y[i]) s.mean += (double)e->kept[i];
    }
    s.mean = s.n ? s.mean / (double)s.n : NAN;
    wick_scope *scope = wick_scope_open(e->c->ctx);
    if (y && scope && s.n && s.n < e->count &&
        wick_roc_auc(wick_from(e->c->ctx, WICK_F32, WICK_DIMS(e->count), e->kept),
                     wick_from(e->c->ctx, WICK_I64, WICK_DIMS(e->count), y), &s.auc) != WICK_OK) {
        wick_context_clear_error(e->c->ctx);
        s.auc = NAN;
    }
    if (scope) wick_scope_close(&scope);
    free(y);
    return s;
}

/* NULL: of none that the training had. */
static const char *name_of(const evaluator *e, int64_t k) {
    return k < 0 ? NULL : wick_dataset_class_name(e->dataset, k);
}
static const char *shown_name(const evaluator *e, int64_t k) { return k < 0 ? "(others)" : name_of(e, k); }

static void print(const evaluator *e) {
    const int64_t n = wick_dataset_classes(e->dataset);
    int wide = 8;
    for (int64_t k = 0; k < n; k++)
        if ((int)strlen(wick_dataset_class_name(e->dataset, k)) > wide)
            wide = (int)strlen(wick_dataset_class_name(e->dataset, k));
    if (n) printf("\n%-*s  %10s  %10s  %8s\n", wide, "class", "mean score", "AUC", "samples");
    for (int64_t k = -1; n && k < n; k++) {
        const of_class s = class_scores_of(e, k);
        if (!s.n) continue;
        log_print("%-*s  %10.5g  ", wide, shown_name(e, k), s.mean);
        if (isnan(s.auc))
            printf("%10s", "-");
        else
            printf("%10.4f", s.auc);
        printf("  %8lld\n", (long long)s.n);
    }
    if (n) log_note("AUC: the chance that a sample of the class has a higher anomaly score than one of the others");
}

static void print_json(const evaluator *e, json *j) {
    json_open(j, "classes", '[');
    for (int64_t k = -1; k < wick_dataset_classes(e->dataset); k++) {
        const of_class s = class_scores_of(e, k);
        if (!s.n) continue;
        json_open(j, NULL, '{');
        json_text(j, "name", name_of(e, k));
        json_integer(j, "samples", s.n);
        json_real(j, "mean_score", s.mean, 9);
        json_real(j, "roc_auc", s.auc, 9);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)c, (void)target, (void)label;
    printf(": anomaly score %.6g\n", (double)p[0]);
}
static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)c, (void)target, (void)label;
    json_real(j, "score", (double)p[0], 9);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

enum { BINS = 40, WIDTH = 520, HEIGHT = 260, LEFT = 60, BOTTOM = 46 };

static bool report(FILE *out, const evaluator *e) {
    float *s = sorted(e);
    if (!s) return false;
    const double most = percentile(s, e->count, 0.995), least = (double)s[0];
    int64_t counts[BINS] = {0}, highest = 1, beyond = 0;
    for (int64_t i = 0; i < e->count; i++) {
        const double at = most > least ? ((double)s[i] - least) / (most - least) * BINS : 0;
        if (at > BINS)
            beyond++;
        else
            counts[at < BINS ? (int)at : BINS - 1]++;
    }
    for (int k = 0; k < BINS; k++) highest = counts[k] > highest ? counts[k] : highest;
    fputs("<p>The anomaly score is the mean square of what is not made again.</p>\n<figure class=\"card\" "
          "style=\"margin:14px 0 0\"><h3>Anomaly scores</h3>\n",
          out);
    svg_open(out, WIDTH, HEIGHT, "Anomaly scores", "How many samples have a score.");
    const axis x = axis_around(least, most, 6, LEFT, WIDTH - 14),
               y = axis_around(0, (double)highest, 5, HEIGHT - BOTTOM, 14);
    axis_draw_y(out, &y, LEFT, WIDTH - 14, "");
    axis_draw_x(out, &x, HEIGHT - BOTTOM, "score");
    for (int k = 0; k < BINS; k++) {
        const double wide = (most - least) / BINS, from = axis_at(&x, least + k * wide),
                     to = axis_at(&x, least + (k + 1) * wide), top = axis_at(&y, (double)counts[k]);
        fprintf(
            out,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" style=\"fill:var(--a)\"><title>%lld from %.4g "
            "to %.4g</title></rect>\n",
            from, top, fmax(0.5, to - from - 1), HEIGHT - BOTTOM - top, (long long)counts[k], least + k * wide,
            least + (k + 1) * wide);
    }
    svg_close(out);
    if (beyond)
        fprintf(out, "<p class=\"note\">%lld scores lie beyond, up to %.4g.</p>", (long long)beyond,
                (double)s[e->count - 1]);
    fputs("</figure>\n", out);
    free(s);
    const int64_t n = wick_dataset_classes(e->dataset);
    if (!n) return true;
    fputs(
        "<div class=\"card wide\"><h3>By class</h3><table><thead><tr><th>class</th><th class=\"n\">mean score</th><th "
        "class=\"n\">AUC</th><th class=\"n\">samples</th></tr></thead><tbody>\n",
        out);
    for (int64_t k = -1; k < n; k++) {
        const of_class c = class_scores_of(e, k);
        if (!c.n) continue;
        fputs("<tr><td>", out);
        html_text(out, shown_name(e, k));
        fprintf(out, "</td><td class=\"n\">%.5g</td><td class=\"n\">", c.mean);
        if (isnan(c.auc))
            fputs("-", out);
        else
            fprintf(out, "%.4f", c.auc);
        fprintf(out, "</td><td class=\"n\">%lld</td></tr>\n", (long long)c.n);
    }
    fputs("</tbody></table><p>AUC: the chance that a sample of the class has a higher score than one of the "
          "others.</p></div>\n",
          out);
    return true;
}

const task task_autoencode = {.kind = TASK_AUTOENCODE,
                              .name = "autoencode",
                              .learned = "an autoencoder of %lld number%s",
                              .output = "score",
                              .doc = "how unlike what it learned from: the mean square of what is not made again",
                              .loss = "mean square of what is not made again",
                              .score = "rmse",
                              .score_title = "RMSE",
                              .lower = true,
                              .predictions = predictions,
                              .rows = rows,
                              .width = width,
                              .measure = measure,
                              .print = print,
                              .print_json = print_json,
                              .show = show,
                              .show_json = show_json,
                              .report = report};
