/* Several things at once, each a head: a class, numbers or labels (heads.h). The network's numbers are the heads' one
 * behind the other, and so are targets and predictions: probabilities of classes and labels, numbers in their own
 * units. The loss of a sample is the sum over the heads of weight times loss; a head whose target is missing has none.
 */
#include "task.h"

#include "../evaluate.h"
#include "../heads.h"
#include "../metrics.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../step.h"
#include "../../term/log.h"
#include "heads_scores.h"
#include "task_draw.h"

#include "wick/pointwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static wick_tensor *part(wick_tensor *x, int along, const head *h) {
    return wick_slice(x, along, h->first, h->first + h->n, 1);
}

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    wick_tensor *parts[MOST_HEADS];
    (void)x;
    for (int i = 0; i < c->heads->n; i++) {
        const head *h = &c->heads->list[i];
        wick_tensor *own = part(y, 1, h);
        parts[i] = h->kind == HEAD_CLASSES ? wick_softmax(own, 1)
                   : h->kind == HEAD_LABELS
                       ? wick_sigmoid(own)
                       : wick_add(wick_mul(own, part(classifier_state(c, STATE_TARGET_DEVIATION), 0, h)),
                                  part(classifier_state(c, STATE_TARGET_MEAN), 0, h));
    }
    return wick_concat(c->heads->n, parts, 1);
}

/* The mean of a row over what is there, [n]: 0 where nothing is. there: [n, k], 1 or 0 */
static wick_tensor *mean_of_known(wick_tensor *loss, wick_tensor *there) {
    wick_tensor *count = wick_sum(there, 1, (const int[]){1}, false);
    return wick_div(wick_sum(wick_mul(loss, there), 1, (const int[]){1}, false),
                    wick_maximum(count, wick_like(count, 1)));
}

static wick_tensor *rows_of_head(classifier *c, const head *h, wick_tensor *y, wick_tensor *target) {
    wick_tensor *own = part(y, 1, h), *wanted = part(target, 1, h);
    wick_tensor *missing = wick_cast(wick_isnan(wanted), WICK_F32), *there = wick_sub(wick_like(missing, 1), missing);
    wanted = wick_nan_to_num(wanted, 0, 0, 0); /* targets are finite, but where they are missing */
    if (h->kind == HEAD_CLASSES) return wick_cross_entropy_rows(own, wanted); /* of no class it is 0 */
    if (h->kind == HEAD_LABELS)
        return mean_of_known(wick_binary_cross_entropy_logits(own, wanted, NULL, NULL, WICK_REDUCE_NONE), there);
    wanted = wick_div(wick_sub(wanted, part(classifier_state(c, STATE_TARGET_MEAN), 0, h)),
                      part(classifier_state(c, STATE_TARGET_DEVIATION), 0, h));
    return mean_of_known(wick_mse_loss(own, wanted, WICK_REDUCE_NONE), there);
}

static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    wick_tensor *sum = NULL;
    (void)x;
    for (int i = 0; i < c->heads->n; i++) {
        const head *h = &c->heads->list[i];
        wick_tensor *loss = rows_of_head(c, h, y, target);
        if (h->weight != 1) loss = wick_mul(loss, wick_like(loss, h->weight));
        sum = sum ? wick_add(sum, loss) : loss;
    }
    return sum;
}

static int64_t width(const classifier *c) { return c->classes; }

static int measure(const evaluator *e, evaluation *r) {
    const heads *h = e->c->heads;
    double sum = 0;
    int n = 0;
    for (int i = 0; i < h->n; i++) {
        head_scores s;
        const int code = head_scores_of(e, &h->list[i], &s);
        if (code != CLI_OK) return code;
        if (!isnan(s.score)) sum += s.score, n++;
    }
    evaluation_add(r, "score", "mean score of heads", n ? sum / n : NAN, false);
    return CLI_OK;
}

/* ---- eval -------------------------------------------------------------------------------------------------------- */

static void print(const evaluator *e) {
    const heads *h = e->c->heads;
    int wide = 4;
    for (int i = 0; i < h->n; i++)
        if ((int)strlen(h->list[i].name) > wide) wide = (int)strlen(h->list[i].name);
    printf("\n%-*s  %-8s  %6s  %8s  %8s  scores\n", wide, "head", "kind", "weight", "samples", "loss");
    for (int i = 0; i < h->n; i++) {
        head_scores s;
        if (head_scores_of(e, &h->list[i], &s) != CLI_OK) return;
        log_print("%-*s  %-8s  %6g  %8lld  ", wide, h->list[i].name, head_kinds[h->list[i].kind], h->list[i].weight,
                  (long long)s.samples);
        printf("%8.4f ", s.loss);
        for (int k = 0; k < s.n; k++)
            printf(s.scores[k].percent ? "%s %s %.2f %%" : "%s %s %.5g", k ? "," : "", s.scores[k].title,
                   s.scores[k].percent ? 100 * s.scores[k].value : s.scores[k].value);
        printf("\n");
    }
}

static void outputs_json(const evaluator *e, const head *h, json *j) {
    json_open(j, h->kind == HEAD_NUMBERS ? "numbers" : head_kinds[h->kind], '[');
    for (int64_t k = 0; k < h->n; k++) {
        json_open(j, NULL, '{');
        json_text(j, "name", h->outputs[k]);
        if (h->kind == HEAD_NUMBERS) {
            const target_scores s = head_number(e, h, k);
            json_real(j, "r2", s.r2, 9), json_real(j, "mae", s.mae, 9);
            json_real(j, "rmse", s.rmse, 9), json_real(j, "mape", s.mape, 9);
        } else {
            const class_counts counts = head_counts(e, h, k);
            const class_scores s = scores_of(counts);
            json_integer(j, "support", counts.support), json_integer(j, "predicted", counts.predicted);
            json_integer(j, "correct", counts.correct);
            json_real(j, "precision", s.precision, 9), json_real(j, "recall", s.recall, 9);
            json_real(j, "f1", s.f1, 9);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void print_json(const evaluator *e, json *j) {
    json_open(j, "heads", '[');
    for (int i = 0; i < e->c->heads->n; i++) {
        const head *h = &e->c->heads->list[i];
        head_scores s;
        if (head_scores_of(e, h, &s) != CLI_OK) break;
        json_open(j, NULL, '{');
        json_text(j, "name", h->name);
        json_text(j, "kind", head_kinds[h->kind]);
        json_real(j, "weight", h->weight, 9);
        json_integer(j, "samples", s.samples);
        json_real(j, "loss", s.loss, 9);
        for (int k = 0; k < s.n; k++) json_real(j, s.scores[k].key, s.scores[k].value, 9);
        outputs_json(e, h, j);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* ---- predict ----------------------------------------------------------------------------------------------------- */

static bool is_there(float p) { return p > 0.5F; }

/* The names of the labels that `has` says, with commas between. */
static void show_labels(const head *h, const float *p) {
    bool any = false;
    for (int64_t k = 0; k < h->n; k++)
        if (is_there(p[k])) log_print("%s%s", any ? ", " : "", h->outputs[k]), any = true;
    if (!any) printf("none");
}

static void show_numbers(const head *h, const float *p, const float *target) {
    for (int64_t k = 0; k < h->n; k++) {
        if (h->n > 1) log_print("%s%s ", k ? ", " : "", h->outputs[k]);
        printf("%.6g", (double)p[k]);
        if (target && !isnan(target[k]))
            printf("  (is %.6g, %+.3g)", (double)target[k], (double)p[k] - (double)target[k]);
    }
}

static void show(const classifier *c, const float *predicted, const float *targets, int64_t label) {
    (void)label;
    printf("\n");
    for (int i = 0; i < c->heads->n; i++) {
        const head *h = &c->heads->list[i];
        const float *p = predicted + h->first, *y = targets ? targets + h->first : NULL;
        const bool known = y && !isnan(y[0]);
        log_print("%16s  ", h->name);
        if (h->kind == HEAD_NUMBERS) {
            show_numbers(h, p, y);
        } else if (h->kind == HEAD_LABELS) {
            show_labels(h, p);
            if (known) printf("  (is "), show_labels(h, y), printf(")");
        } else {
            const int64_t best = head_class(h, p);
            log_print("%s %.2f %%", h->outputs[best], 100 * (double)p[best]);
            if (known) log_print("  (is %s)", h->outputs[head_class(h, y)]);
        }
        printf("\n");
    }
}

static void labels_json(const head *h, const float *p, const char *key, json *j) {
    json_open(j, key, '[');
    for (int64_t k = 0; k < h->n; k++)
        if (is_there(p[k])) json_text(j, NULL, h->outputs[k]);
    json_close(j, ']');
}

static void all_json(const head *h, const float *p, const char *key, int digits, json *j) {
    json_open(j, key, '{');
    for (int64_t k = 0; k < h->n; k++) json_real(j, h->outputs[k], (double)p[k], digits);
    json_close(j, '}');
}

/* What one head says, or what is true of it. */
static void head_json(const head *h, const float *p, const char *key, json *j) {
    if (h->kind == HEAD_LABELS)
        labels_json(h, p, key, j);
    else if (h->kind == HEAD_CLASSES)
        json_text(j, key, h->outputs[head_class(h, p)]);
    else if (h->n == 1)
        json_real(j, key, (double)*p, 9);
    else
        all_json(h, p, key, 9, j);
}

static void show_json(const classifier *c, const float *predicted, const float *targets, int64_t label, json *j) {
    (void)label;
    json_open(j, "heads", '{');
    for (int i = 0; i < c->heads->n; i++) {
        const head *h = &c->heads->list[i];
        const float *p = predicted + h->first, *y = targets ? targets + h->first : NULL;
        json_open(j, h->name, '{');
        head_json(h, p, "predicted", j);
        if (h->kind != HEAD_NUMBERS) all_json(h, p, "probabilities", 7, j);
        if (y && (h->kind == HEAD_NUMBERS || !isnan(y[0]))) head_json(h, y, "target", j);
        json_close(j, '}');
    }
    json_close(j, '}');
}

/* A column for each head, of several numbers one for each: what wick train --heads reads again. */
static void csv(const classifier *c) {
    printf("sample");
    for (int i = 0; i < c->heads->n; i++) {
        const head *h = &c->heads->list[i];
        const bool numbers = h->kind == HEAD_NUMBERS;
        for (int64_t k = 0; k < (numbers ? h->n : 1); k++) {
            fputc(',', stdout);
            task_cell(numbers ? h->outputs[k] : h->name);
        }
    }
    printf("\n");
}

/* "cat;dog"; "-": none */
static void labels_cell(const head *h, const float *p) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    bool any = false;
    for (int64_t k = 0; out && k < h->n; k++)
        if (is_there(p[k])) fprintf(out, "%s%s", any ? ";" : "", h->outputs[k]), any = true;
    if (out && fclose(out) == 0 && text) task_cell(any ? text : "-");
    free(text);
}

static void show_csv(const classifier *c, const float *predicted, const char *name) {
    task_cell(name);
    for (int i = 0; i < c->heads->n; i++) {
        const head *h = &c->heads->list[i];
        const float *p = predicted + h->first;
        if (h->kind != HEAD_NUMBERS) fputc(',', stdout);
        if (h->kind == HEAD_CLASSES) task_cell(h->outputs[head_class(h, p)]);
        if (h->kind == HEAD_LABELS) labels_cell(h, p);
        for (int64_t k = 0; h->kind == HEAD_NUMBERS && k < h->n; k++) printf(",%.9g", (double)p[k]);
    }
    printf("\n");
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void report_outputs(FILE *out, const evaluator *e, const head *h) {
    const bool numbers = h->kind == HEAD_NUMBERS;
    fprintf(out,
            "<div class=\"card wide\"><table><thead><tr><th>%s</th><th class=\"n\">%s</th><th class=\"n\">%s</th><th "
            "class=\"n\">%s</th><th class=\"n\">%s</th></tr></thead><tbody>\n",
            numbers                   ? "number"
            : h->kind == HEAD_CLASSES ? "class"
                                      : "label",
            numbers ? "R2" : "precision, %", numbers ? "MAE" : "recall, %", numbers ? "RMSE" : "F1, %",
            numbers ? "MAPE" : "samples");
    for (int64_t k = 0; k < h->n; k++) {
        chart_text text;
        fputs("<tr><td>", out);
        html_text(out, h->outputs[k]);
        if (numbers) {
            const target_scores s = head_number(e, h, k);
            fprintf(out,
                    "</td><td class=\"n\">%.4f</td><td class=\"n\">%.5g</td><td class=\"n\">%.5g</td><td "
                    "class=\"n\">%.2f" NBSP "%%</td></tr>\n",
                    s.r2, s.mae, s.rmse, 100 * s.mape);
        } else {
            const class_counts counts = head_counts(e, h, k);
            const class_scores s = scores_of(counts);
            fprintf(out,
                    "</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td "
                    "class=\"n\">%s</td></tr>\n",
                    100 * s.precision, 100 * s.recall, 100 * s.f1, text_count(text, counts.support));
        }
    }
    fputs("</tbody></table></div>\n", out);
}

static bool report(FILE *out, const evaluator *e) {
    fputs("<p>What is learned at once. Samples of which nobody says what a head is have no part in its scores; a label "
          "is taken to be there from a probability of one half.</p>\n",
          out);
    for (int i = 0; i < e->c->heads->n; i++) {
        const head *h = &e->c->heads->list[i];
        head_scores s;
        chart_text text;
        if (head_scores_of(e, h, &s) != CLI_OK) return false;
        fputs("<h3>", out);
        html_text(out, h->name);
        fprintf(out, "</h3>\n<p>%s, weight %g, %s samples, loss %.4f", head_kinds[h->kind], h->weight,
                text_count(text, s.samples), s.loss);
        for (int k = 0; k < s.n; k++)
            fprintf(out, s.scores[k].percent ? ", %s %.2f" NBSP "%%" : ", %s %.5g", s.scores[k].title,
                    s.scores[k].percent ? 100 * s.scores[k].value : s.scores[k].value);
        fputs(".</p>\n", out);
        report_outputs(out, e, h);
    }
    return true;
}

const task task_heads = {.kind = TASK_HEADS,
                         .name = "heads",
                         .learned = "several heads at once, of %lld number%s",
                         .output = "predictions",
                         .doc = "an output for each head, as named: probabilities of classes and of labels, numbers in "
                                "their own units",
                         .loss = "of heads, by weight",
                         .score = "score",
                         .score_title = "mean score of heads",
                         .predictions = predictions,
                         .rows = rows,
                         .width = width,
                         .measure = measure,
                         .print = print,
                         .print_json = print_json,
                         .show = show,
                         .show_json = show_json,
                         .csv = csv,
                         .show_csv = show_csv,
                         .report = report};
