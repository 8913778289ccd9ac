#include "compare_runs.h"

#include "chart.h"
#include "html.h"
#include "../paths.h"
#include "../term/log.h"
#include "../train/runlog.h"

#include "wick/io.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 3 /* colours of charts */, CHART_WIDTH = 520, CHART_HEIGHT = 290 };

typedef struct compared {
    const char *folder;
    const char *name; /* its last part, or all of it where two have the same */
    runlog log;
} compared;

static double value_of(const log_row *row, size_t offset) { return *(const double *)((const char *)row + offset); }

/* ---- curves ------------------------------------------------------------------------------------------------------ */

typedef struct curve {
    const char *id, *title, *description, *x_name;
    bool of_epochs;
    size_t x, y, other; /* offsets into log_row; other: of runs that have no y, as those that chose by the test set */
    bool from_zero;
} curve;

static double y_of(const curve *v, const log_row *row) {
    const double y = value_of(row, v->y);
    return isfinite(y) ? y : value_of(row, v->other);
}

/* false: out of memory. A chart that no run has a point of is left out. */
static bool draw_curve(FILE *out, const compared *runs, int n, const curve *v) {
    static const char *const styles[MOST_RUNS] = {"a", "b", "c"};
    double *room[MOST_RUNS] = {NULL};
    chart_line lines[MOST_RUNS] = {{0}};
    bool ok = true, any = false;
    for (int i = 0; i < n; i++) {
        const runlog *log = &runs[i].log;
        const log_row *rows = v->of_epochs ? log->epochs : log->steps;
        const size_t m = v->of_epochs ? log->n_epochs : log->n_steps;
        room[i] = calloc(2 * (m + CHART_SMOOTH), sizeof *room[i]);
        if (!room[i]) {
            ok = false;
            break;
        }
        double *x = room[i], *y = x + m, *sx = y + m, *sy = sx + CHART_SMOOTH;
        bool has = false;
        for (size_t k = 0; k < m; k++) {
            x[k] = value_of(&rows[k], v->x);
            y[k] = y_of(v, &rows[k]);
            has |= isfinite(y[k]);
        }
        any |= has;
        lines[i] = (chart_line){.name = runs[i].name, .style = styles[i], .dots = v->of_epochs};
        if (v->of_epochs)
            lines[i].x = x, lines[i].y = y, lines[i].n = has ? (int64_t)m : 0;
        else
            lines[i].x = sx, lines[i].y = sy, lines[i].n = has ? chart_smooth(x, y, m, sx, sy) : 0;
    }
    if (ok && any) {
        fputs("<figure class=\"card\" style=\"margin:14px 0 0\"><h3>", out);
        html_text(out, v->title);
        fputs("</h3>\n", out);
        chart_draw(out, &(chart){.id = v->id,
                                 .title = v->title,
                                 .description = v->description,
                                 .x_name = v->x_name,
                                 .unit = "",
                                 .width = CHART_WIDTH,
                                 .height = CHART_HEIGHT,
                                 .from_zero = v->from_zero,
                                 .n = n,
                                 .lines = lines});
        fputs("</figure>\n", out);
    }
    for (int i = 0; i < n; i++) free(room[i]);
    return ok;
}

static bool draw_curves(FILE *out, const compared *runs, int n) {
#define OF(field) offsetof(log_row, field)
    static const curve curves[] = {
        {"loss", "Training loss", "Running mean over a fiftieth of the run, by step.", "step", false, OF(step),
         OF(loss), OF(loss), true},
        {"time", "Training loss by time", "The same by seconds that training took.", "s", false, OF(seconds), OF(loss),
         OF(loss), true},
        {"judged", "Loss after each epoch", "Of what the best epoch is chosen by: validation, or the test set.",
         "epoch", true, OF(epoch), OF(valid_loss), OF(test_loss), true},
        {"score", "Score after each epoch", "Accuracy or the task's own score, of the same.", "epoch", true, OF(epoch),
         OF(valid_score), OF(test_accuracy), false},
        {"accuracy", "Training accuracy", "Running mean over a fiftieth of the run, by step.", "step", false, OF(step),
         OF(accuracy), OF(accuracy), false},
        {"rate", "Learning rate", "Of each step.", "step", false, OF(step), OF(lr), OF(lr), true},
    };
    fputs("<section id=\"curves\"><h2>Curves</h2>\n<div class=\"two\">\n", out);
    bool ok = true;
    for (size_t i = 0; i < sizeof curves / sizeof *curves && ok; i++) ok = draw_curve(out, runs, n, &curves[i]);
    fputs("</div>\n</section>\n", out);
    return ok;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

typedef struct figures {
    double steps, epochs, seconds, samples_per_second;
    double least_loss, loss_epoch, best_score, score_epoch;
} figures;

static figures figures_of(const runlog *log) {
    figures f = {.least_loss = NAN, .loss_epoch = NAN, .best_score = NAN, .score_epoch = NAN};
    double samples = 0;
    for (size_t i = 0; i < log->n_steps; i++)
        if (isfinite(log->steps[i].samples)) samples += log->steps[i].samples;
    if (log->n_steps) f.steps = log->steps[log->n_steps - 1].step, f.seconds = log->steps[log->n_steps - 1].seconds;
    f.samples_per_second = f.seconds > 0 ? samples / f.seconds : NAN;
    for (size_t i = 0; i < log->n_epochs; i++) {
        const log_row *e = &log->epochs[i];
        const double loss = isfinite(e->valid_loss)  ? e->valid_loss
                            : isfinite(e->test_loss) ? e->test_loss
                                                     : e->train_loss;
        const double score = isfinite(e->valid_score) ? e->valid_score : e->test_accuracy;
        f.epochs = fmax(f.epochs, e->epoch);
        if (isfinite(loss) && !(loss >= f.least_loss)) f.least_loss = loss, f.loss_epoch = e->epoch;
        if (isfinite(score) && !(score <= f.best_score)) f.best_score = score, f.score_epoch = e->epoch;
    }
    return f;
}

static void cell(FILE *out, const char *format, double value) {
    fputs("<td class=\"n\">", out);
    if (isfinite(value)) html_print(out, format, value);
    fputs("</td>", out);
}

static void draw_table(FILE *out, const compared *runs, int n) {
    fputs("<section id=\"figures\"><h2>Figures</h2>\n<div class=\"card wide\"><table><thead><tr><th>run</th>", out);
    static const char *const heads[] = {"epochs",     "steps",    "seconds",    "samples/s",
                                        "least loss", "in epoch", "best score", "in epoch"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) fprintf(out, "<th class=\"n\">%s</th>", heads[i]);
    fputs("</tr></thead><tbody>\n", out);
    for (int i = 0; i < n; i++) {
        const figures f = figures_of(&runs[i].log);
        fputs("<tr><td><code>", out);
        html_text(out, runs[i].folder);
        fputs("</code></td>", out);
        cell(out, "%.0f", f.epochs), cell(out, "%.0f", f.steps), cell(out, "%.1f", f.seconds);
        cell(out, "%.0f", f.samples_per_second), cell(out, "%.5g", f.least_loss), cell(out, "%.0f", f.loss_epoch);
        cell(out, "%.5g", f.best_score), cell(out, "%.0f", f.score_epoch);
        fputs("</tr>\n", out);
    }
    fputs(
        "</tbody></table></div>\n<p class=\"note\">Losses and scores are of what chose the best epoch: validation, or "
        "the test set; without either the training.</p></section>\n",
        out);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static int read_run(compared *r, const char *folder) {
    r->folder = r->name = folder;
    for (const char *at = folder; *at; at++)
        if (*at == '/' && at[1] && at[1] != '/') r->name = at + 1;
    if (!path_is_folder(folder)) return log_fail(CLI_USAGE, "--html takes folders of runs, which %s is not", folder);
    char *path = path_join(folder, "log.jsonl");
    if (!path) return log_fail(CLI_FAILED, "out of memory");
    int code = path_exists(path)
                   ? runlog_read(&r->log, path)
                   : log_fail(CLI_BAD_FILE, "%s is not there: --html draws what a run has in its log", path);
    if (code == CLI_OK && !r->log.n_steps) code = log_fail(CLI_BAD_FILE, "%s has no step", path);
    free(path);
    return code;
}

static int write_page(const cli_options *o, const compared *runs, int n) {
    char *text = NULL;
    size_t size = 0;
    wick_context *ctx = NULL;
    FILE *out = open_memstream(&text, &size);
    bool ok = out && wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK;
    if (ok) {
        html_begin(out, "Runs beside each other");
        fputs("<h1>Runs beside each other</h1>\n", out);
        draw_table(out, runs, n);
        ok = draw_curves(out, runs, n);
        html_end(out);
    }
    if (out && fclose(out) != 0) ok = false;
    int code = ok ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (ok) {
        const wick_status status = wick_file_write(ctx, o->html, text, size);
        if (status != WICK_OK) code = log_fail(CLI_FAILED, "%s", log_why(ctx, status));
    }
    free(text);
    wick_context_free(&ctx);
    return code;
}

int compare_runs(const cli_options *o) {
    compared runs[MOST_RUNS] = {{0}};
    const int n = o->n_files + 1;
    if (n < 2 || n > MOST_RUNS) return log_fail(CLI_USAGE, "--html draws two or three runs, not %d", n);
    int code = CLI_OK;
    for (int i = 0; i < n && code == CLI_OK; i++) code = read_run(&runs[i], i ? o->files[i - 1] : o->model);
    for (int i = 0; i < n && code == CLI_OK; i++)
        for (int k = 0; k < n; k++)
            if (k != i && strcmp(runs[i].name, runs[k].name) == 0)
                runs[i].name = runs[i].folder, runs[k].name = runs[k].folder;
    if (code == CLI_OK) code = write_page(o, runs, n);
    if (code == CLI_OK && o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "path", o->html);
        json_open(&j, "runs", '[');
        for (int i = 0; i < n; i++) {
            const figures f = figures_of(&runs[i].log);
            json_open(&j, NULL, '{');
            json_text(&j, "run", runs[i].folder);
            json_real(&j, "epochs", f.epochs, 17), json_real(&j, "steps", f.steps, 17),
                json_real(&j, "seconds", f.seconds, 9);
            json_real(&j, "samples_per_second", f.samples_per_second, 6);
            json_real(&j, "least_loss", f.least_loss, 9), json_real(&j, "best_score", f.best_score, 9);
            json_close(&j, '}');
        }
        json_close(&j, ']');
        log_json_close(&j);
    } else if (code == CLI_OK) {
        printf("%s\n", o->html);
    }
    for (int i = 0; i < n; i++) runlog_free(&runs[i].log);
    return code;
}
