/* wick zoo report: one page of all that was trained: scores beside baselines, sizes, times and curves. */
#include "zoo.h"

#include "../paths.h"
#include "../report/chart.h"
#include "../report/html.h"
#include "../term/log.h"
#include "../train/runlog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SEEDS = 16, POINTS = 400 };

typedef struct row {
    const zoo_model *m;
    zoo_result results[MOST_SEEDS];
    int n;
    zoo_times times;
} row;

/* Its results of seeds from --seed on, as long as there are. */
static int read_row(zoo_job *z, const zoo_model *m, row *r) {
    *r = (row){.m = m};
    int code = zoo_read_times(z->o, m, &r->times);
    for (bool there = true; code == CLI_OK && there && r->n < MOST_SEEDS;) {
        char *folder = zoo_run_folder(z->o, m, z->o->seed + r->n);
        code = folder ? zoo_read_result(folder, &r->results[r->n]) : zoo_out_of_memory();
        there = code == CLI_OK && r->results[r->n].there;
        r->n += there;
        free(folder);
    }
    return code;
}

static void cell(FILE *out, double value, const char *format) {
    char text[64];
    snprintf(text, sizeof text, format, value); /* of this file's own formats */
    fputs("<td class=\"num\">", out);
    html_text(out, isfinite(value) ? text : "-");
    fputs("</td>", out);
}
static void text_cell(FILE *out, const char *text) {
    fputs("<td>", out);
    html_text(out, text);
    fputs("</td>", out);
}

static void table_row(FILE *out, const row *r) {
    const zoo_model *m = r->m;
    double worst = NAN, best = NAN, seconds = 0;
    int met = 0;
    for (int i = 0; i < r->n; i++) {
        best = fmax(best, r->results[i].score), worst = fmin(worst, r->results[i].score);
        seconds += r->results[i].seconds / r->n;
        met += r->results[i].met;
    }
    fputs("<tr>", out);
    text_cell(out, m->id);
    text_cell(out, m->name);
    text_cell(out, m->doc);
    char text[128];
    if (!r->n) {
        fputs("<td colspan=\"11\">not trained</td></tr>\n", out);
        return;
    }
    text_cell(out, zoo_metrics[m->metric]);
    if (zoo_lower_is_better(m->metric))
        cell(out, best, "%.4g"), cell(out, worst, "%.4g");
    else
        cell(out, worst, "%.4g"), cell(out, best, "%.4g");
    cell(out, r->results[0].baseline, "%.4g");
    cell(out, m->demand, "%.4g");
    snprintf(text, sizeof text, "%d of %d", met, r->n);
    text_cell(out, text);
    cell(out, (double)r->results[0].parameters, "%.0f");
    cell(out, seconds, "%.0f");
    cell(out, r->times.there ? r->times.p50 : NAN, "%.3f");
    cell(out, r->times.there ? r->times.p99 : NAN, "%.3f");
    cell(out, r->times.there ? (double)r->times.rss / 1e6 : NAN, "%.1f");
    fputs("</tr>\n", out);
}

/* The loss of each step of a run, thinned to means. */
static int curve(zoo_job *z, FILE *out, const row *r) {
    char *folder = zoo_run_folder(z->o, r->m, z->o->seed), *path = folder ? path_join(folder, "log.jsonl") : NULL;
    runlog log = {0};
    double x[POINTS], y[POINTS];
    int code = path ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK && path_exists(path)) code = runlog_read(&log, path);
    const int64_t n = log.n_steps < POINTS ? (int64_t)log.n_steps : POINTS;
    for (int64_t i = 0; i < n; i++) {
        const size_t from = (size_t)i * log.n_steps / (size_t)n, to = (size_t)(i + 1) * log.n_steps / (size_t)n;
        double sum = 0;
        for (size_t k = from; k < to; k++) sum += log.steps[k].loss;
        x[i] = log.steps[from].step;
        y[i] = sum / (double)(to - from);
    }
    if (code == CLI_OK && n > 1) {
        const chart_line line = {.name = "training loss", .style = "a", .x = x, .y = y, .n = n};
        fputs("<figure class=\"card\"><h3>", out);
        html_print(out, "%s %s", r->m->id, r->m->name);
        fputs("</h3>\n", out);
        chart_draw(out, &(chart){.id = r->m->id,
                                 .title = r->m->name,
                                 .description = "The loss of the training.",
                                 .x_name = "step",
                                 .unit = "",
                                 .width = 520,
                                 .height = 220,
                                 .from_zero = true,
                                 .n = 1,
                                 .lines = &line});
        fputs("</figure>\n", out);
    }
    runlog_free(&log);
    free(folder), free(path);
    return code;
}

static int page(zoo_job *z, FILE *out, const row *rows) {
    int code = CLI_OK;
    html_begin(out, "The zoo");
    fputs(
        "<h1>The zoo</h1>\n<p>Small networks, trained on public data. Scores are of samples of persons, files or times "
        "that the training did not have, by the weights of the last epoch; the baseline is what a trivial way reaches "
        "there. Times are of one sample on one core.</p>\n<div style=\"overflow-x:auto\"><table><thead><tr>",
        out);
    static const char *const heads[] = {"",           "model",    "what it does", "metric", "worst seed",
                                        "best seed",  "baseline", "demand",       "met",    "parameters",
                                        "training s", "p50 ms",   "p99 ms",       "RSS MB"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) fprintf(out, "<th>%s</th>", heads[i]);
    fputs("</tr></thead><tbody>\n", out);
    for (int i = 0; i < z->n; i++) table_row(out, &rows[i]);
    fputs("</tbody></table></div>\n<h2>Training</h2>\n<div class=\"two\">\n", out);
    for (int i = 0; code == CLI_OK && i < z->n; i++)
        if (rows[i].n) code = curve(z, out, &rows[i]);
    fputs("</div>\n<h2>Data</h2>\n<ul>\n", out);
    for (int i = 0; i < z->n; i++) {
        const zoo_model *m = rows[i].m;
        fputs("<li>", out);
        html_print(out, "%s: ", m->id);
        for (int k = 0; zoo_set_of(m->set, k); k++)
            html_print(out, "%s, from %s; licence: %s; ", zoo_set_of(m->set, k)->file, zoo_set_of(m->set, k)->home,
                       zoo_set_of(m->set, k)->licence);
        html_print(out, "held out: %s", m->split);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
    html_end(out);
    return code;
}

int zoo_report(zoo_job *z) {
    row *rows = calloc((size_t)z->n + 1, sizeof *rows);
    char *text = NULL, *path = path_join(z->o->out, "report.html");
    size_t size = 0;
    int code = rows && path ? CLI_OK : zoo_out_of_memory(), trained = 0;
    for (int i = 0; code == CLI_OK && i < z->n; i++) {
        code = read_row(z, z->models[i], &rows[i]);
        trained += rows[i].n;
    }
    if (code == CLI_OK && !trained)
        code = log_fail(CLI_BAD_FILE, "%s: nothing is trained there; wick zoo train does", z->o->out);
    FILE *out = code == CLI_OK ? open_memstream(&text, &size) : NULL;
    if (code == CLI_OK && !out) code = zoo_out_of_memory();
    if (code == CLI_OK) code = page(z, out, rows);
    if (out && fclose(out) != 0 && code == CLI_OK) code = zoo_out_of_memory();
    if (code == CLI_OK && wick_file_write(z->ctx, path, text, size) != WICK_OK)
        code = log_fail(CLI_FAILED, "%s", wick_context_error(z->ctx));
    if (code == CLI_OK && z->o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "wrote", path);
        log_json_close(&j);
    } else if (code == CLI_OK) {
        log_print("%s\n", path);
    }
    free(rows), free(text), free(path);
    return code;
}
