/* Numbers: one or several targets of each sample. The network learns them with mean 0 and deviation 1 over the training
 * samples; its predictions are in their own units again. Of windows over a series
 * it learns how much they differ from the last value in the window: levels that the training did not see do no harm. */
#include "task.h"

#include "../evaluate.h"
#include "../metrics.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of windows: what each target was last, for each step ahead, [n, targets x horizon], in its own units. x: the window
 * as the network gets it, [n, columns x window], targets behind features. */
static wick_tensor *last_values(classifier *c, wick_tensor *x) {
    const int64_t n = wick_tensor_dim(x, 0), columns = c->pixels / c->window, targets = c->classes / c->horizon;
    if (c->standard) x = wick_add(wick_mul(x, classifier_state(c, STATE_DEVIATION)), classifier_state(c, STATE_MEAN));
    x = wick_reshape(x, 3, (const int64_t[]){n, columns, c->window});
    x = wick_slice(wick_slice(x, 1, columns - targets, columns, 1), 2, c->window - 1, c->window, 1);
    return wick_reshape(wick_expand(x, 3, (const int64_t[]){n, targets, c->horizon}), 2,
                        (const int64_t[]){n, c->classes});
}

/* Whether the network gives targets in their own units: an ONNX file that wick convert wrote does. */
static bool in_units(const classifier *c) { return c->onnx && !c->data[0]; }

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    if (in_units(c)) return y;
    y = wick_add(wick_mul(y, classifier_state(c, STATE_TARGET_DEVIATION)), classifier_state(c, STATE_TARGET_MEAN));
    return c->window ? wick_add(y, last_values(c, x)) : y;
}

/* How loud the error of a sample is beside its targets, taken together: -SNR in dB. Silence counts as what is 80 dB
 * below a mean square of 1. */
static wick_tensor *noise_rows(wick_tensor *y, wick_tensor *wanted) {
    wick_tensor *noise = wick_mean(wick_square(wick_sub(y, wanted)), 1, (const int[]){1}, false),
                *signal = wick_mean(wick_square(wanted), 1, (const int[]){1}, false), *least = wick_like(noise, 1e-8);
    wick_tensor *ratio = wick_sub(wick_log(wick_add(noise, least)), wick_log(wick_add(signal, least)));
    return wick_mul(ratio, wick_like(ratio, 10 / log(10)));
}

/* The mean over the targets, as they are learned. Huber's is quadratic up to one deviation. */
static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    if (strcmp(c->loss, "snr") == 0) return noise_rows(predictions(c, x, y), target);
    if (c->window) target = wick_sub(target, last_values(c, x));
    wick_tensor *wanted =
        wick_div(wick_sub(target, classifier_state(c, STATE_TARGET_MEAN)), classifier_state(c, STATE_TARGET_DEVIATION));
    if (in_units(c))
        y = wick_div(wick_sub(y, classifier_state(c, STATE_TARGET_MEAN)), classifier_state(c, STATE_TARGET_DEVIATION));
    wick_tensor *loss = strcmp(c->loss, "mae") == 0     ? wick_l1_loss(y, wanted, WICK_REDUCE_NONE)
                        : strcmp(c->loss, "huber") == 0 ? wick_huber_loss(y, wanted, 1, WICK_REDUCE_NONE)
                                                        : wick_mse_loss(y, wanted, WICK_REDUCE_NONE);
    return wick_mean(loss, 1, (const int[]){1}, false);
}

static int64_t width(const classifier *c) { return c->classes; }

static target_scores scores_of_target(const evaluator *e, int64_t k) {
    const int64_t n = e->c->classes;
    target_sums sums = {0};
    for (int64_t i = 0; i < e->count; i++)
        target_sums_add(&sums, (double)e->kept[i * n + k], (double)e->targets[i * n + k]);
    return target_sums_scores(&sums);
}

/* Of waveforms, all targets of a sample together: how much the predictions have of them beside everything else, in dB,
 * whatever their loudness (Le Roux et al. 2019, arXiv 1811.02508), without subtracting means, from -120 to 120; the
 * mean over samples that are not silent. NaN: all are. */
static double mean_si_sdr(const evaluator *e) {
    const int64_t k = e->c->classes;
    double sum = 0;
    int64_t heard = 0;
    for (int64_t i = 0; i < e->count; i++) {
        const float *p = e->kept + i * k, *y = e->targets + i * k;
        double py = 0, yy = 0, pp = 0;
        for (int64_t t = 0; t < k; t++) {
            py += (double)p[t] * (double)y[t];
            yy += (double)y[t] * (double)y[t];
            pp += (double)p[t] * (double)p[t];
        }
        if (yy == 0) continue;
        const double signal = py * py / yy;
        sum += pp == 0 ? -120 : 10 * log10(fmax(signal, 1e-12 * pp) / fmax(pp - signal, 1e-12 * pp));
        heard++;
    }
    return heard ? sum / (double)heard : NAN;
}

static int measure(const evaluator *e, evaluation *r) {
    const int64_t n = e->c->classes;
    target_scores all = {0};
    for (int64_t k = 0; k < n; k++) {
        const target_scores s = scores_of_target(e, k);
        all.r2 += s.r2 / (double)n;
        all.mae += s.mae / (double)n;
        all.rmse += s.rmse / (double)n;
        all.mape += s.mape / (double)n;
    }
    evaluation_add(r, "r2", "R2", all.r2, false);
    evaluation_add(r, "mae", "MAE", all.mae, false);
    evaluation_add(r, "rmse", "RMSE", all.rmse, false);
    evaluation_add(r, "mape", "MAPE", all.mape, true);
    if (strcmp(e->c->loss, "snr") == 0) evaluation_add(r, "si_sdr", "SI-SDR", mean_si_sdr(e), false);
    return CLI_OK;
}

/* ---- eval -------------------------------------------------------------------------------------------------------- */

enum { ROWS = 64 }; /* of a table on a terminal */

static void print_rest(const classifier *c) {
    if (c->classes > ROWS) printf("and %lld more targets; --json has all\n", (long long)(c->classes - ROWS));
}

static void print(const evaluator *e) {
    const classifier *c = e->c;
    long long zeros = 0;
    int wide = 6;
    for (int64_t k = 0; k < c->classes; k++)
        if ((int)strlen(c->class_names[k]) > wide) wide = (int)strlen(c->class_names[k]);
    printf("\n%-*s  %8s  %12s  %12s  %9s\n", wide, "target", "R2", "MAE", "RMSE", "MAPE");
    for (int64_t k = 0; k < c->classes; k++) {
        const target_scores s = scores_of_target(e, k);
        zeros += s.zeros;
        if (k >= ROWS) continue;
        log_print("%-*s  %8.4f  %12.5g  %12.5g  %7.2f %%\n", wide, c->class_names[k], s.r2, s.mae, s.rmse,
                  100 * s.mape);
    }
    print_rest(c);
    if (zeros) log_note("%lld of the targets are 0 and have no part in MAPE", zeros);
}

static void print_json(const evaluator *e, json *j) {
    json_open(j, "targets", '[');
    for (int64_t k = 0; k < e->c->classes; k++) {
        const target_scores s = scores_of_target(e, k);
        json_open(j, NULL, '{');
        json_text(j, "name", e->c->class_names[k]);
        json_real(j, "r2", s.r2, 9);
        json_real(j, "mae", s.mae, 9);
        json_real(j, "rmse", s.rmse, 9);
        json_real(j, "mape", s.mape, 9);
        json_integer(j, "zeros", s.zeros);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* ---- predict ----------------------------------------------------------------------------------------------------- */

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)label;
    printf("\n");
    for (int64_t k = 0; k < c->classes && k < ROWS; k++) {
        log_print("%16s  %.6g", c->class_names[k], (double)p[k]);
        if (target && !isnan(target[k]))
            printf("  (is %.6g, %+.3g)", (double)target[k], (double)p[k] - (double)target[k]);
        printf("\n");
    }
    print_rest(c);
}

static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)label;
    json_open(j, "predicted", '{');
    for (int64_t k = 0; k < c->classes; k++) json_real(j, c->class_names[k], (double)p[k], 9);
    json_close(j, '}');
    if (!target) return;
    json_open(j, "target", '{');
    for (int64_t k = 0; k < c->classes; k++) json_real(j, c->class_names[k], (double)target[k], 9);
    json_close(j, '}');
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

enum { WIDTH = 460, HEIGHT = 380, LEFT = 70, BOTTOM = 46, POINTS = 1500, CHARTS = 6 };

/* Predicted over true. Where there are too many points, every second, third ... is drawn. */
static void scatter(FILE *out, const evaluator *e, int64_t k) {
    const int64_t n = e->c->classes, every = (e->count + POINTS - 1) / POINTS;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < e->count; i++) {
        low = fmin(low, fmin((double)e->kept[i * n + k], (double)e->targets[i * n + k]));
        high = fmax(high, fmax((double)e->kept[i * n + k], (double)e->targets[i * n + k]));
    }
    fputs("<figure class=\"card\" style=\"margin:14px 0 0\"><h3>", out);
    html_text(out, e->c->class_names[k]);
    fputs("</h3>\n", out);
    svg_open(out, WIDTH, HEIGHT, "Predicted over true", "A dot for each sample; on the line the two are the same.");
    const axis y = axis_around(low, high, 6, HEIGHT - BOTTOM, 14), x = axis_around(low, high, 6, LEFT, WIDTH - 14);
    axis_draw_y(out, &y, LEFT, WIDTH - 14, "");
    axis_draw_x(out, &x, HEIGHT - BOTTOM, "true; predicted is upwards");
    fprintf(out, "<line class=\"b\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" style=\"stroke:var(--muted)\"/>\n",
            axis_at(&x, low), axis_at(&y, low), axis_at(&x, high), axis_at(&y, high));
    for (int64_t i = 0; i < e->count; i += every)
        fprintf(out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" style=\"fill:var(--a);opacity:.6\"><title>#%lld: %.6g, is "
                "%.6g</title></circle>\n",
                axis_at(&x, (double)e->targets[i * n + k]), axis_at(&y, (double)e->kept[i * n + k]), (long long)i,
                (double)e->kept[i * n + k], (double)e->targets[i * n + k]);
    svg_close(out);
    if (every > 1) fprintf(out, "<p class=\"note\">One of %lld dots is drawn.</p>", (long long)every);
    fputs("</figure>\n", out);
}

static bool report(FILE *out, const evaluator *e) {
    const int64_t n = e->c->classes;
    fputs("<p>In the units of the targets. R2 is the share of their variance that is predicted; 0 is what their mean "
          "would reach.</p>\n<div class=\"card wide\"><table><thead><tr><th>target</th><th class=\"n\">R2</th><th "
          "class=\"n\">MAE</th><th class=\"n\">RMSE</th><th class=\"n\">MAPE</th></tr></thead><tbody>\n",
          out);
    for (int64_t k = 0; k < n; k++) {
        const target_scores s = scores_of_target(e, k);
        fputs("<tr><td>", out);
        html_text(out, e->c->class_names[k]);
        fprintf(out,
                "</td><td class=\"n\">%.4f</td><td class=\"n\">%.5g</td><td class=\"n\">%.5g</td><td "
                "class=\"n\">%.2f" NBSP "%%</td></tr>\n",
                s.r2, s.mae, s.rmse, 100 * s.mape);
    }
    fputs("</tbody></table></div>\n<div class=\"two\">\n", out);
    for (int64_t k = 0; k < n && k < CHARTS; k++) scatter(out, e, k);
    fputs("</div>\n", out);
    if (n > CHARTS) fprintf(out, "<p class=\"note\">The first %d of %lld targets are drawn.</p>", CHARTS, (long long)n);
    return true;
}

const task task_regress = {.kind = TASK_REGRESS,
                           .name = "regress",
                           .learned = "a regression of %lld target%s",
                           .output = "predictions",
                           .doc = "the targets, in their own units",
                           .loss = "of targets with deviation 1",
                           .score = "r2",
                           .score_title = "R2",
                           .predictions = predictions,
                           .rows = rows,
                           .width = width,
                           .measure = measure,
                           .print = print,
                           .print_json = print_json,
                           .show = show,
                           .show_json = show_json,
                           .report = report};
