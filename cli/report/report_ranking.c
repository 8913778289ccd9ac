/* How well a classifier ranks: of classes against the rest, ROC curves (true over false positives) and curves of
 * precision over recall, as its probabilities tell them. */
#include "report.h"

#include "chart.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWN = 3 /* classes */, WIDTH = 460, HEIGHT = 340 };
enum { DOTS = 402 /* of a curve, at most: one for each 200th of either axis, and both ends */ };

typedef struct ranked {
    float score;
    bool is; /* of the class */
} ranked;
typedef struct curve {
    int64_t k; /* the class */
    double auc, ap;
    int64_t n;                     /* dots */
    double x[2][DOTS], y[2][DOTS]; /* ROC, and precision over recall */
} curve;

static int by_score(const void *a, const void *b) {
    const float x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;
    return (x < y) - (x > y);
}
static int by_auc(const void *a, const void *b) {
    const curve *x = a, *y = b;
    return x->auc != y->auc ? (x->auc > y->auc) - (x->auc < y->auc) : (x->k > y->k) - (x->k < y->k);
}

/* A dot where the curves have moved by a 200th of an axis since the last one, and one at the end. */
static void put_dot(curve *c, double fall, double recall, double precision, bool end) {
    const int64_t last = c->n - 1;
    if (c->n && !end && fall - c->x[0][last] < 0.005 && recall - c->y[0][last] < 0.005) return;
    const int64_t i = c->n < DOTS ? c->n++ : last;
    c->x[0][i] = fall, c->y[0][i] = recall, c->x[1][i] = recall, c->y[1][i] = precision;
}

/* Class k against the rest. Equal scores are one step. false: it has no sample, or all of them, or a score is NaN. */
static bool measure(const report *r, int64_t k, ranked *all, curve *c) {
    const int64_t n = wick_dataset_count(r->measured), classes = r->c.classes;
    int64_t there = 0, right = 0, wrong = 0;
    bool ranks = true;
    for (int64_t i = 0; i < n; i++) {
        all[i] = (ranked){r->scores[i * classes + k], wick_dataset_label(r->measured, i) == k};
        there += all[i].is;
        ranks &= !isnan(all[i].score);
    }
    if (!there || there == n || !ranks) return false;
    qsort(all, (size_t)n, sizeof *all, by_score);
    *c = (curve){.k = k};
    put_dot(c, 0, 0, 1, false);
    for (int64_t i = 0; i < n;) {
        const int64_t before_right = right, before_wrong = wrong;
        const float score = all[i].score;
        for (; i < n && all[i].score == score; i++) right += all[i].is, wrong += !all[i].is;
        const double recall = (double)right / (double)there, fall = (double)wrong / (double)(n - there),
                     precision = (double)right / (double)(right + wrong);
        c->auc +=
            (double)(wrong - before_wrong) / (double)(n - there) * (double)(right + before_right) / 2 / (double)there;
        c->ap += (double)(right - before_right) / (double)there * precision;
        put_dot(c, fall, recall, precision, i == n);
    }
    return true;
}

static void draw(FILE *out, const report *r, const curve *curves, int n, int which) {
    static const char *const styles[DRAWN] = {"a", "b", "c"};
    char names[DRAWN][160];
    chart_line lines[DRAWN];
    for (int i = 0; i < n; i++) {
        const curve *c = &curves[i];
        snprintf(names[i], sizeof names[i], "%.100s, %s %.4f", report_class(r, c->k), which ? "AP" : "AUC",
                 which ? c->ap : c->auc);
        lines[i] = (chart_line){.name = names[i], .style = styles[i], .x = c->x[which], .y = c->y[which], .n = c->n};
    }
    const chart drawn = {.id = which ? "precision" : "roc",
                         .title = which ? "Precision over recall" : "ROC curves",
                         .description = which ? "Of the samples that are taken for the class, how many are of it; over "
                                                "how many of its samples are found."
                                              : "How many samples of the class are found, over how many of the others "
                                                "are taken for it.",
                         .x_name = which ? "recall; precision is upwards" : "false positives; true ones are upwards",
                         .unit = "",
                         .width = WIDTH,
                         .height = HEIGHT,
                         .from_zero = true,
                         .n = n,
                         .lines = lines};
    fprintf(out, "<figure class=\"card\" style=\"margin:14px 0 0\"><h3>%s</h3>\n", drawn.title);
    chart_draw(out, &drawn);
    fputs("</figure>\n", out);
}

bool report_ranking(FILE *out, const report *r) {
    const int64_t classes = r->c.classes, n = wick_dataset_count(r->measured);
    if (!r->scores) return true;
    ranked *all = malloc((size_t)n * sizeof *all);
    curve *curves = calloc((size_t)classes, sizeof *curves);
    int64_t m = 0;
    double auc = 0, ap = 0;
    /* of two classes one says it all */
    for (int64_t k = classes == 2; all && curves && k < classes; k++) m += measure(r, k, all, &curves[m]);
    for (int64_t i = 0; i < m; i++) auc += curves[i].auc / (double)m, ap += curves[i].ap / (double)m;
    if (m) {
        const int drawn = (int)(m < DRAWN ? m : DRAWN);
        qsort(curves, (size_t)m, sizeof *curves, by_auc);
        fputs("<section id=\"ranking\"><h2>How well it ranks</h2>\n", out);
        fprintf(out,
                "<p>By the probability of %s: AUC %.4f, average precision %.4f%s. A curve in "
                "the upper left corner, or the upper right one of the second chart, makes no mistake.</p>\n<div "
                "class=\"two\">\n",
                classes == 2 ? "the second class" : "each class against the rest", auc, ap,
                m > DRAWN ? ", means over the classes. Drawn are the three that are told worst" : "");
        for (int which = 0; which < 2; which++) draw(out, r, curves, drawn, which);
        fputs("</div></section>\n", out);
    }
    const bool ok = all && curves;
    free(all), free(curves);
    return ok;
}
