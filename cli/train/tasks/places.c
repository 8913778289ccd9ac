#include "places.h"

#include "../evaluate.h"
#include "../metrics.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../term/log.h"

#include <math.h>
#include <string.h>

int64_t places_of(const classifier *c) {
    int64_t n = c->dims[c->rank - 1];
    return c->task->kind == TASK_SEGMENT ? n * c->dims[c->rank - 2] : n;
}

wick_tensor *places_rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)x;
    wick_cross_entropy_options each = {.reduction = WICK_REDUCE_NONE, .ignore = true, .ignore_index = PLACES_IGNORED};
    const int n = wick_tensor_rank(y) - 2;
    static const int places[] = {1, 2, 3};
    wick_tensor *labels = wick_cast(target, WICK_I64), *there = wick_ne(labels, wick_like(labels, PLACES_IGNORED)),
                *counted = wick_cast(there, WICK_F32);
    if (c->weights) {
        each.weight = wick_from(wick_tensor_context(y), WICK_F32, 1, &c->classes, c->weights);
        counted = wick_mul(counted, wick_gather(each.weight, 0, wick_where(there, labels, wick_like(labels, 0))));
    }
    wick_tensor *loss = wick_cross_entropy_with(y, labels, &each), *sum = wick_sum(counted, n, places, false);
    /* a sample without such places has the loss 0 */
    return wick_div(wick_sum(loss, n, places, false),
                    wick_where(wick_gt(sum, wick_like(sum, 0)), sum, wick_like(sum, 1)));
}

wick_tensor *places_predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    (void)c, (void)x;
    return wick_softmax(y, 1);
}

int64_t places_width(const classifier *c) { return c->classes * places_of(c); }

void places_take(const classifier *c, const float *p, uint8_t *to) {
    const int64_t n = places_of(c);
    for (int64_t i = 0; i < n; i++) {
        int64_t best = 0;
        for (int64_t k = 1; k < c->classes; k++)
            if (p[k * n + i] > p[best * n + i]) best = k;
        to[i] = (uint8_t)best;
    }
}

void places_count(evaluator *e, const uint8_t *labels, const uint8_t *predicted) {
    const int64_t n = places_of(e->c);
    for (int64_t k = 0; k < n; k++)
        if (labels[k] != PLACES_IGNORED) e->confusion[labels[k] * e->c->classes + predicted[k]]++;
}

double places_sum(const evaluator *e) {
    const int64_t n = e->c->classes;
    int64_t right = 0, all = 0;
    memset(e->classes, 0, (size_t)n * sizeof *e->classes);
    for (int64_t row = 0; row < n; row++)
        for (int64_t k = 0; k < n; k++) {
            const int64_t places = e->confusion[row * n + k];
            e->classes[row].support += places;
            e->classes[k].predicted += places;
            if (row == k) e->classes[k].correct = places, right += places;
            all += places;
        }
    return all ? (double)right / (double)all : NAN;
}

void places_print(const evaluator *e, const char *noun) {
    int wide = 5;
    for (int64_t k = 0; k < e->c->classes; k++)
        if ((int)strlen(e->c->class_names[k]) > wide) wide = (int)strlen(e->c->class_names[k]);
    printf("\n%-*s  %9s  %9s  %9s  %9s  %12s\n", wide, "class", "IoU", "F1", "precision", "recall", noun);
    for (int64_t k = 0; k < e->c->classes; k++) {
        const class_scores s = scores_of(e->classes[k]);
        if (!e->classes[k].support && !e->classes[k].predicted) continue;
        log_print("%-*s  %7.2f %%  %7.2f %%  %7.2f %%  %7.2f %%  %12lld\n", wide, e->c->class_names[k], 100 * s.iou,
                  100 * s.f1, 100 * s.precision, 100 * s.recall, (long long)e->classes[k].support);
    }
}

void places_json(const evaluator *e, json *j, const char *noun) {
    const int64_t n = e->c->classes;
    json_open(j, "classes", '[');
    for (int64_t k = 0; k < n; k++) {
        const class_scores s = scores_of(e->classes[k]);
        json_open(j, NULL, '{');
        json_text(j, "name", e->c->class_names[k]);
        json_integer(j, noun, e->classes[k].support);
        json_integer(j, "predicted", e->classes[k].predicted);
        json_integer(j, "correct", e->classes[k].correct);
        json_real(j, "iou", s.iou, 9);
        json_real(j, "f1", s.f1, 9);
        json_real(j, "precision", s.precision, 9);
        json_real(j, "recall", s.recall, 9);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "confusion", '[');
    for (int64_t row = 0; row < n; row++) {
        json_open(j, NULL, '[');
        for (int64_t k = 0; k < n; k++) json_integer(j, NULL, e->confusion[row * n + k]);
        json_close(j, ']');
    }
    json_close(j, ']');
}

void places_report(FILE *out, const evaluator *e, const char *noun,
                   void (*colour)(const classifier *c, int64_t k, uint8_t rgb[3])) {
    const int64_t n = e->c->classes;
    fprintf(
        out,
        "<div class=\"card wide\"><table><thead><tr><th>class</th><th class=\"n\">IoU</th><th class=\"n\">F1</th><th "
        "class=\"n\">precision</th><th class=\"n\">recall</th><th class=\"n\">%s</th><th>most often taken "
        "for</th></tr></thead><tbody>\n",
        noun);
    for (int64_t k = 0; k < n; k++) {
        const class_scores s = scores_of(e->classes[k]);
        uint8_t rgb[3];
        int64_t other = -1;
        chart_text text;
        if (!e->classes[k].support && !e->classes[k].predicted) continue;
        for (int64_t i = 0; i < n; i++)
            if (i != k && e->confusion[k * n + i] > (other < 0 ? 0 : e->confusion[k * n + other])) other = i;
        fputs("<tr><td>", out);
        if (colour) {
            colour(e->c, k, rgb);
            fprintf(out,
                    "<span style=\"display:inline-block;width:.8em;height:.8em;background:#%02x%02x%02x\"></span> ",
                    rgb[0], rgb[1], rgb[2]);
        }
        html_text(out, e->c->class_names[k]);
        fprintf(out,
                "</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%.2f" NBSP
                "%%</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%s</td><td>",
                100 * s.iou, 100 * s.f1, 100 * s.precision, 100 * s.recall, text_count(text, e->classes[k].support));
        if (other >= 0) {
            html_text(out, e->c->class_names[other]);
            fprintf(out, ", %.1f" NBSP "%%", 100 * (double)e->confusion[k * n + other] / (double)e->classes[k].support);
        }
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}
