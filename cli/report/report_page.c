/* The head of the page, the curves and the options of the run. */
#include "report.h"

#include "chart.h"
#include "html.h"
#include "../train/layers.h"
#include "../options.h"
#include "../train/source.h"
#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHART_WIDTH = 520, CHART_HEIGHT = 290 };

const char *report_class(const report *r, int64_t k) {
    static char numbers[4][24];
    static int turn;
    if (k < wick_dataset_classes(r->measured)) return wick_dataset_class_name(r->measured, k);
    char *text = numbers[turn++ & 3];
    snprintf(text, sizeof numbers[0], "%lld", (long long)k);
    return text;
}

const char *report_noun(const report *r) { return source_noun(r->measured); }

/* ---- head -------------------------------------------------------------------------------------------------------- */

static void tile(FILE *out, const char *name, const char *value, const char *unit, const char *remark) {
    fputs("<div><dt>", out);
    html_text(out, name);
    fputs("</dt><dd>", out);
    html_text(out, value);
    fputs("<small>", out);
    html_print(out, " %s", unit);
    fputs("</small></dd><p>", out);
    html_text(out, remark);
    fputs("</p></div>\n", out);
}

static double state_bytes(const wick_model *model) {
    double bytes = 0;
    for (int i = 0; i < wick_model_count(model); i++) {
        wick_named state = wick_model_at(model, i);
        bytes += (double)wick_dtype_bytes(wick_tensor_dtype(state.tensor), wick_tensor_count(state.tensor));
    }
    return bytes;
}

/* "fashion-mnist", or of a path its last part. */
static const char *short_name(const char *data) {
    const char *slash = strrchr(data, '/');
    return slash && slash[1] ? slash + 1 : data;
}

bool report_is_text(const report *r) { return strncmp(r->c.arch, "net:", 4) == 0; }

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Whether the run read the option. The network is one row, which has all that --hidden and --dropout say. */
static bool applied(const report *r, const char *name) {
    const bool net = report_is_text(r);
    if (strcmp(name, "hidden") == 0 || strcmp(name, "dropout") == 0 || strcmp(name, net ? "arch" : "net") == 0)
        return false;
    const option_use *use;
    for (int i = 0; (use = trainer_use(i)); i++)
        if (strcmp(name, use->name) == 0) return trainer_uses(use, &r->kept);
    return true;
}

/* What the option came to, where its text is a number that stands for another, or for none. */
static const char *used_value(const report *r, const char *name, const char *text, chart_text room) {
    const wick_optim_options *optim = &r->optim;
    const bool zero = strtod(text, NULL) == 0;
    if (strcmp(name, "arch") == 0) return r->c.arch;
    if (strcmp(name, "net") == 0) return r->c.network.net;
    if (strcmp(name, "clip") == 0 && zero) return "no limit";
    if (strcmp(name, "ema") == 0 && zero) return "no mean";
    if (strcmp(name, "momentum") == 0 && strtod(text, NULL) < 0)
        return optim->kind == WICK_SGD ? "0.9" : optim->kind == WICK_MUON ? "0.95" : "0";
    if ((strcmp(name, "beta1") == 0 || strcmp(name, "beta2") == 0) && strtod(text, NULL) < 0)
        return "the optimizer's own";
    if (strcmp(name, "patience") == 0 && zero) return "never";
    if (strcmp(name, "save-every") == 0 && zero) return "none between";
    if (strcmp(name, "lr") == 0) {
        snprintf(room, sizeof(chart_text), "%g",
                 wick_optim_lr_at(&(wick_optim_options){.kind = optim->kind, .lr = optim->lr}, 0));
        return room;
    }
    if (strcmp(name, "warmup") == 0 && (r->train || r->kept.of_train.warmup >= 0)) {
        snprintf(room, sizeof(chart_text), "%lld", (long long)optim->schedule.warmup);
        return room;
    }
    return strcmp(name, "warmup") == 0 ? "a twentieth of the updates" : text;
}

/* As a shell takes it. */
static void shell_text(FILE *out, const char *text) {
    const bool plain =
        *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=+-")];
    if (plain) {
        html_text(out, text);
        return;
    }
    fputs("&#39;", out);
    for (;;) { /* whole pieces: a character may be several bytes */
        const size_t n = strcspn(text, "'");
        html_print(out, "%.*s", (int)n, text);
        text += n;
        if (!*text++) break;
        fputs("&#39;\\&#39;&#39;", out);
    }
    fputs("&#39;", out);
}

static const char *fallback_of(const char *name) {
    static option_view option;
    for (int i = 0; options_at(CMD_TRAIN, i, &option); i++)
        if (strcmp(option.name, name) == 0) return option.fallback;
    return "";
}

/* The command that makes such a run, and in words what was chosen for it. */
static void key_options(FILE *out, const report *r) {
    static const char *const keys[] = {"epochs", "batch", "optimizer", "lr", "schedule", "seed"};
    const char *name, *text;
    chart_text room;
    if (!r->has_options) return;
    fputs("<p class=\"keys\">", out);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (int i = 0; (name = options_kept(&r->kept, i, &text)); i++) {
            if (strcmp(name, keys[k]) != 0) continue;
            html_print(out, "%s%s ", k ? ", " : "", name);
            fputs("<b>", out);
            html_text(out, used_value(r, name, text, room));
            fputs("</b>", out);
        }
    fputs("</p>\n<pre><code>wick train", out);
    for (int i = 0; (name = options_kept(&r->kept, i, &text)); i++) {
        if (!*text || (strcmp(text, fallback_of(name)) == 0 && strcmp(name, "data") != 0)) continue;
        html_print(out, " --%s", name);
        if (strcmp(text, "yes") == 0) continue;
        fputc(' ', out);
        shell_text(out, text);
    }
    fputs("</code></pre>\n", out);
}

void report_head(FILE *out, const report *r) {
    const char *split = r->measured == r->test ? "test" : "training", *noun = report_noun(r);
    const bool classes = r->c.task->kind == TASK_CLASSIFY;
    chart_text text, other;
    char line[160];
    fputs("<header><h1>", out);
    if (report_is_text(r)) {
        const int count = wick_summary_count(r->layers);
        html_print(out, "A network of %d layer%s on %s", count, plural(count), short_name(r->data));
        fputs("</h1>\n<p><code>", out);
        html_text(out, r->c.network.net);
        fputs("</code></p>\n<p>", out);
    } else {
        html_print(out, "%s on %s", r->c.arch, short_name(r->data));
        fputs("</h1>\n<p>", out);
    }
    if (classes)
        html_print(out, "A classifier of %lld class%s, trained", (long long)r->c.classes,
                   r->c.classes == 1 ? "" : "es");
    else {
        char learned[128];
        snprintf(learned, sizeof learned, r->c.task->learned, (long long)r->c.classes,
                 TASK_PLURAL(r->c.task, r->c.classes));
        html_print(out, "%c%s, trained", learned[0] - 'a' + 'A', learned + 1);
    }
    const int64_t all = r->train ? wick_dataset_count(r->train) : 0,
                  learned = r->kept.of_train.limit > 0 && r->kept.of_train.limit < all ? r->kept.of_train.limit : all;
    if (r->train)
        html_print(out, " on %s%s %s%s", text_count(text, learned), learned < all ? " of its" : "", noun,
                   plural(learned));
    if (r->has_options && r->log.n_epochs)
        html_print(out, " for %.0f of %lld epoch%s", r->log.epochs[r->log.n_epochs - 1].epoch,
                   (long long)r->kept.epochs, plural(r->kept.epochs));
    if (r->epoch) html_print(out, "; the weights are those of epoch %lld, the best", (long long)r->epoch);
    fputs(".</p>\n", out);
    if (r->c.changed)
        fputs("<p><b>The data have changed since the training</b>: what is measured here is not what was held out "
              "then.</p>\n",
              out);
    key_options(out, r);
    fputs("</header>\n<dl class=\"tiles\">\n", out);

    snprintf(line, sizeof line, "%s of %s %s %s%s", text_count(text, r->result.correct),
             text_count(other, r->result.count), split, noun, plural(r->result.count));
    snprintf(text, sizeof text, "%.2f", 100 * (double)r->result.correct / (double)r->result.count);
    if (classes) tile(out, "Accuracy", text, "%", line);
    snprintf(line, sizeof line, "%s %s %s%s", text_count(text, r->result.count), split, noun, plural(r->result.count));
    for (int i = 0; i < r->result.n && i < 2 && !classes; i++) {
        const bool percent = r->result.scores[i].percent;
        snprintf(text, sizeof text, percent ? "%.2f" : "%.4g", r->result.scores[i].value * (percent ? 100 : 1));
        tile(out, r->result.scores[i].title, text, percent ? "%" : "", line);
    }
    snprintf(text, sizeof text, "%.4f", r->result.loss);
    const bool decibel = r->c.loss && strcmp(r->c.loss, "snr") == 0;
    snprintf(line, sizeof line, "%s, %s %ss", decibel ? "in dB" : r->c.task->loss, split, noun);
    tile(out, "Loss", text, "", line);
    double parameters = (double)classifier_parameters(&r->c);
    snprintf(line, sizeof line, "%s in f32", text_bytes(other, 4 * parameters));
    tile(out, "Parameters", text_si(text, parameters), "", line);
    snprintf(line, sizeof line, "one %s, forward; a multiply-add counts 2", noun);
    tile(out, "Arithmetic", text_si(text, wick_summary_total(r->layers).flops), "FLOP", line);
    const runlog *log = &r->log;
    if (log->n_steps && log->steps[log->n_steps - 1].seconds > 0) {
        char rate[32];
        snprintf(rate, sizeof rate, "%ss/s", noun);
        double samples = 0, seconds = log->steps[log->n_steps - 1].seconds;
        for (size_t i = 0; i < log->n_steps; i++)
            samples += isfinite(log->steps[i].samples) ? log->steps[i].samples : 0;
        snprintf(line, sizeof line, "%s step%s in %.1f" NBSP "s", text_count(other, (int64_t)log->n_steps),
                 plural((int64_t)log->n_steps), seconds);
        tile(out, "Training speed", text_si(text, samples / seconds), rate, line);
    }
    if (r->has_trainer) {
        wick_plan_info info = wick_plan_get_info(r->t.steps[1][0].plan);
        snprintf(line, sizeof line, "and %s of weights and optimizer", text_bytes(other, state_bytes(r->c.model)));
        text_bytes(text, (double)(info.arena_bytes + info.scratch_bytes));
        char *unit = strstr(text, NBSP);
        *unit = '\0';
        tile(out, "Memory of a step", text, unit + strlen(NBSP), line);
    }
    fputs("</dl>\n", out);
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static double value_of(const log_row *row, size_t offset) { return *(const double *)((const char *)row + offset); }

/* Rows as points: x in epochs where a whole one is known, else in steps. */
static void points(const log_row *rows, size_t n, size_t offset, double per_epoch, double factor, double *x,
                   double *y) {
    for (size_t i = 0; i < n; i++) {
        x[i] = rows[i].step / per_epoch;
        y[i] = factor * value_of(&rows[i], offset);
    }
}

typedef struct curve {
    const char *id, *title, *description, *unit, *named; /* named: of what is measured after each epoch */
    size_t step, epoch;                                  /* offsets into log_row */
    double factor;
    bool from_zero;
} curve;

/* room: for the points of everything. */
static void draw_curve(FILE *out, const report *r, const curve *v, double per_epoch, double *room) {
    const runlog *log = &r->log;
    size_t n = log->n_steps, m = log->n_epochs;
    double *x = room, *y = x + n, *ex = y + n, *ey = ex + m, *sx = ey + m, *sy = sx + CHART_SMOOTH;
    points(log->steps, n, v->step, per_epoch, v->factor, x, y);
    points(log->epochs, m, v->epoch, per_epoch, v->factor, ex, ey);
    bool measured = false;
    for (size_t i = 0; i < m; i++) measured |= isfinite(ey[i]);
    bool trained = false; /* other tasks have no score of a batch */
    for (size_t i = 0; i < n; i++) trained |= isfinite(y[i]);
    int64_t smoothed = trained ? chart_smooth(x, y, n, sx, sy) : 0;
    const chart_line lines[] = {
        {.style = "a", .x = x, .y = y, .n = (int64_t)n, .faint = true},
        {.name = "training, smoothed", .style = "a", .x = sx, .y = sy, .n = smoothed},
        {.name = v->named, .style = "b", .x = ex, .y = ey, .n = measured ? (int64_t)m : 0, .dots = true},
    };
    fputs("<figure class=\"card\" style=\"margin:14px 0 0\"><h3>", out);
    html_text(out, v->title);
    fputs("</h3>\n", out);
    int64_t cut = chart_draw(out, &(chart){.id = v->id,
                                           .title = v->title,
                                           .description = v->description,
                                           .x_name = per_epoch > 1 || m ? "epoch" : "step",
                                           .unit = v->unit,
                                           .width = CHART_WIDTH,
                                           .height = CHART_HEIGHT,
                                           .from_zero = v->from_zero,
                                           .n = 3,
                                           .lines = lines});
    chart_text text;
    if (cut)
        fprintf(out, "<p class=\"note\">%s batch%s beyond the axis.</p>", text_count(text, cut),
                cut == 1 ? " lies" : "es lie");
    fputs("</figure>\n", out);
}

static void draw_rate(FILE *out, const runlog *log, double per_epoch, double *room) {
    size_t n = log->n_steps;
    points(log->steps, n, offsetof(log_row, lr), per_epoch, 1, room, room + n);
    const chart_line line = {.name = "learning rate", .style = "c", .x = room, .y = room + n, .n = (int64_t)n};
    fputs("<figure class=\"card\" style=\"margin:14px 0 0\"><h3>Learning rate</h3>\n", out);
    chart_draw(out, &(chart){.id = "rate",
                             .title = "Learning rate",
                             .description = "The rate of each step.",
                             .x_name = log->n_epochs ? "epoch" : "step",
                             .unit = "",
                             .width = CHART_WIDTH,
                             .height = 190,
                             .from_zero = true,
                             .n = 1,
                             .lines = &line});
    fputs("</figure>\n", out);
}

void report_curves(FILE *out, const report *r) {
    bool by_test = r->log.n_epochs > 0; /* older runs, and those that chose by the test set */
    for (size_t i = 0; i < r->log.n_epochs; i++) by_test &= isnan(r->log.epochs[i].valid_loss);
    const char *named = by_test ? "test, after each epoch" : "validation, after each epoch";
    const bool classes = r->c.task->kind == TASK_CLASSIFY, percent = r->c.task->percent;
    const curve curves[] = {
        {"loss", "Loss", "Of each training batch, faint, its running mean, and what was measured after each epoch.", "",
         named, offsetof(log_row, loss), by_test ? offsetof(log_row, test_loss) : offsetof(log_row, valid_loss), 1,
         true},
        {"accuracy", classes ? "Accuracy" : r->c.task->score_title,
         classes
             ? "Share that is recognised: of each training batch, faint, its running mean, and what was measured after "
               "each epoch."
             : "What was measured after each epoch.",
         percent ? NBSP "%" : "", named, offsetof(log_row, accuracy),
         by_test ? offsetof(log_row, test_accuracy) : offsetof(log_row, valid_score), percent ? 100 : 1, false},
    };
    const runlog *log = &r->log;
    fputs("<section id=\"curves\"><h2>Training</h2>\n", out);
    double *room = log->n_steps ? calloc(2 * (log->n_steps + log->n_epochs + CHART_SMOOTH), sizeof *room) : NULL;
    if (!room) {
        fputs("<p>The run has no log, or one without a step: there are no curves.</p></section>\n", out);
        return;
    }
    double per_epoch = log->n_epochs && log->epochs[0].epoch >= 1 ? log->epochs[0].step / log->epochs[0].epoch : 1;
    fputs("<p>Faint: each batch; strong: their running mean. Dropout and the like are on while training, so training "
          "may show a higher loss and a lower "
          "accuracy than what is measured.</p>\n<div class=\"two\">\n",
          out);
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++) draw_curve(out, r, &curves[i], per_epoch, room);
    draw_rate(out, log, per_epoch, room);
    fputs("</div>\n</section>\n", out);
    free(room);
}

/* ---- other tasks than classes ------------------------------------------------------------------------------------ */

bool report_task(FILE *out, const report *r) {
    fputs("<section id=\"mistakes\"><h2>Predictions</h2>\n", out);
    if (r->measured != r->test) {
        fputs("<p>", out);
        html_print(out, "The data have no test %ss: this is measured on those it was trained on.", report_noun(r));
        fputs("</p>\n", out);
    }
    const bool ok = r->c.task->report(out, &r->e);
    fputs("</section>\n", out);
    return ok;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

void report_layers(FILE *out, const report *r) {
    fputs("<section id=\"layers\"><h2>The network</h2>\n<p>", out);
    html_print(out, "One %s, forward; a multiply-add counts 2 FLOP. Bytes are of outputs.", report_noun(r));
    fputs("</p><div class=\"card wide\"><table><thead><tr><th>layer</th><th>kind</th><th>output</th><th "
          "class=\"n\">parameters</th><th class=\"n\">FLOP</th>"
          "<th class=\"n\">bytes</th></tr></thead><tbody>\n",
          out);
    chart_text parameters, flops, bytes;
    for (int i = 0; i < wick_summary_count(r->layers); i++) {
        const wick_layer_info row = wick_summary_at(r->layers, i);
        char shape[LAYER_SHAPE];
        layer_shape(&row.output, shape, sizeof shape);
        fputs("<tr><td><code>", out);
        html_text(out, row.output.name);
        fputs("</code></td><td>", out);
        html_text(out, row.kind);
        fputs("</td><td>", out);
        fprintf(out, "%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n", shape,
                row.parameters ? text_count(parameters, row.parameters) : "", text_si(flops, row.flops),
                text_bytes(bytes, (double)row.bytes));
    }
    const wick_summary_totals t = wick_summary_total(r->layers);
    fprintf(out,
            "<tr class=\"total\"><td>total</td><td></td><td></td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
            "class=\"n\">%s</td></tr>\n",
            text_count(parameters, t.parameters), text_si(flops, t.flops), text_bytes(bytes, t.bytes));
    fputs("</tbody></table></div></section>\n", out);
}

/* ---- recipe ------------------------------------------------------------------------------------------------------ */

void report_recipe(FILE *out, const report *r) {
    if (!r->has_options) return;
    chart_text room;
    fputs("<section id=\"options\"><details class=\"card\" style=\"margin-top:44px\"><summary>All options of the "
          "run</summary><table><tbody>\n",
          out);
    const char *name, *text;
    for (int i = 0; (name = options_kept(&r->kept, i, &text)); i++) {
        if (!text[0] || !applied(r, name)) continue;
        fputs("<tr><td><code>", out);
        html_print(out, "--%s", name);
        fputs("</code></td><td>", out);
        html_text(out, used_value(r, name, text, room));
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></details></section>\n<footer>", out);
    html_print(out, "wick %s, %d thread%s, %s", wick_version(), wick_context_threads(r->ctx),
               plural(wick_context_threads(r->ctx)), wick_context_numerics(r->ctx));
    fputs("</footer>\n", out);
}
