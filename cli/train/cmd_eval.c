/* wick eval: accuracy, loss and top-k of a model, the scores of each class, and which classes it takes for one another.
 */
#include "evaluate.h"
#include "shared.h"
#include "../options.h"
#include "source.h"
#include "../term/log.h"
#include "../profiling.h"
#include "../context.h"

#include "wick/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SCORES = 1 << 24 }; /* numbers kept for the area under the curve: 64 MiB */
enum { MOST_PAIRS = 10, USUAL_TOP = 5, PAGE_WIDTH = 132 /* of output that goes to no terminal */ };

typedef struct view {
    const cli_options *o;
    const classifier *c;
    const evaluator *e;
    const evaluation *result;
    const char *data;
    double seconds;
    double auc; /* NaN: not known */
} view;

typedef struct class_label {
    char text[128];
    int width; /* in characters */
} class_label;

/* As the data or the model call it; NULL: neither does. */
static const char *name_of(const view *v, int64_t k) {
    const wick_dataset *d = v->e->dataset;
    if (k < wick_dataset_classes(d)) return wick_dataset_class_name(d, k);
    return v->c->class_names ? v->c->class_names[k] : NULL;
}

/* "7 Sneaker", or "7" alone where the data have no other name for it. */
static class_label label_of(const view *v, int64_t k) {
    class_label label;
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)k);
    const char *name = name_of(v, k);
    const bool named = name && strcmp(name, number) != 0;
    snprintf(label.text, sizeof label.text, "%s%s%s", number, named ? " " : "", named ? name : "");
    label.width = 0;
    /* bytes that begin a character of UTF-8 */
    for (const char *s = label.text; *s; s++) label.width += (*s & 0xC0) != 0x80;
    return label;
}

static bool occurs(const view *v, int64_t k) { return v->e->classes[k].support || v->e->classes[k].predicted; }

static void print_padded(const char *text, int width, int wanted) {
    log_print("%s%*s", text, wanted > width ? wanted - width : 0, "");
}

static void print_scores(class_scores s) {
    printf("  %7.2f %%  %7.2f %%  %7.2f %%  %7.2f %%", 100 * s.precision, 100 * s.recall, 100 * s.f1, 100 * s.iou);
}

static void print_classes(const view *v, int width) {
    static const char average[] = "macro average";
    if (width < (int)sizeof average - 1) width = (int)sizeof average - 1;
    char nouns[24];
    snprintf(nouns, sizeof nouns, "%ss", source_noun(v->e->dataset));
    printf("%-*s  %9s  %9s  %9s  %9s  %8s\n", width, "class", "precision", "recall", "F1", "IoU", nouns);
    for (int64_t k = 0; k < v->c->classes; k++) {
        if (!occurs(v, k)) continue;
        class_label label = label_of(v, k);
        print_padded(label.text, label.width, width);
        print_scores(scores_of(v->e->classes[k]));
        printf("  %8lld\n", (long long)v->e->classes[k].support);
    }
    printf("%-*s", width, average);
    print_scores(scores_macro(v->e->classes, v->c->classes));
    fputc('\n', stdout);
}

static void print_matrix(const view *v, int width, int cell) {
    const int64_t n = v->c->classes;
    bool color = log_color(stdout);
    printf("confusion: a line is what the %ss are, a column what they were taken for\n%*s", source_noun(v->e->dataset),
           width, "");
    for (int64_t k = 0; k < n; k++) printf("%*lld", cell, (long long)k);
    for (int64_t row = 0; row < n; row++) {
        class_label label = label_of(v, row);
        fputc('\n', stdout);
        print_padded(label.text, label.width, width);
        for (int64_t k = 0; k < n; k++) {
            int64_t count = v->e->confusion[row * n + k];
            const char *style = !color ? "" : row == k ? "\x1b[32m" : count == 0 ? "\x1b[2m" : "";
            printf("%s%*lld%s", style, cell, (long long)count, *style ? "\x1b[0m" : "");
        }
    }
    fputc('\n', stdout);
}

static void print_pairs(const view *v) {
    const int64_t n = v->c->classes, *count = v->e->confusion;
    int64_t pairs[MOST_PAIRS];
    int found = largest_mistakes(count, n, MOST_PAIRS, pairs);
    printf("the most confused pairs; the matrix of %lld classes is too wide for here, --json has it\n", (long long)n);
    for (int i = 0; i < found; i++)
        log_print("%8lld  %s taken for %s\n", (long long)count[pairs[i]], label_of(v, pairs[i] / n).text,
                  label_of(v, pairs[i] % n).text);
    if (!found) printf("       none\n");
}

static void print_confusion(const view *v, int width) {
    const int64_t n = v->c->classes;
    if (!v->e->confusion) {
        printf("no confusion matrix: %lld classes are more than %d\n", (long long)n, MOST_CONFUSION);
        return;
    }
    int64_t most = n - 1;
    for (int64_t i = 0; i < n * n; i++)
        if (v->e->confusion[i] > most) most = v->e->confusion[i];
    int cell = 2 + snprintf(NULL, 0, "%lld", (long long)most), columns = log_columns(stdout);
    if (width + n * cell <= (columns ? columns : PAGE_WIDTH))
        print_matrix(v, width, cell);
    else
        print_pairs(v);
}

static void report_text(const view *v) {
    const evaluation *r = v->result;
    const double count = (double)r->count;
    printf("accuracy  %.2f %%\n", 100 * (double)r->correct / count);
    if (v->e->top) {
        char name[32];
        snprintf(name, sizeof name, "top-%lld", (long long)v->e->top);
        printf("%-8s  %.2f %%\n", name, 100 * (double)r->top_correct / count);
    }
    if (!isnan(v->auc)) printf("ROC AUC   %.4f\n", v->auc);
    char nouns[24];
    snprintf(nouns, sizeof nouns, "%ss", source_noun(v->e->dataset));
    printf("loss      %.4f\n%-9s %lld\n\n", r->loss, nouns, (long long)r->count);
    int width = 0;
    for (int64_t k = 0; k < v->c->classes; k++) {
        int w = occurs(v, k) ? label_of(v, k).width : 0;
        if (w > width) width = w;
    }
    print_classes(v, width);
    fputc('\n', stdout);
    print_confusion(v, width);
    log_note("%s %s: %lld %s%s in %.2f s, %.0f a second", v->data, v->o->split, (long long)r->count,
             source_noun(v->e->dataset), plural(r->count), v->seconds, count / v->seconds);
}

static void json_scores(json *j, class_scores s) {
    json_real(j, "precision", s.precision, 9);
    json_real(j, "recall", s.recall, 9);
    json_real(j, "f1", s.f1, 9);
    json_real(j, "iou", s.iou, 9);
}

static void json_confusion(json *j, const view *v) {
    const int64_t n = v->c->classes;
    if (!v->e->confusion) {
        json_raw(j, "confusion", "null");
        return;
    }
    json_open(j, "confusion", '[');
    for (int64_t row = 0; row < n; row++) {
        json_open(j, NULL, '[');
        for (int64_t k = 0; k < n; k++) json_integer(j, NULL, v->e->confusion[row * n + k]);
        json_close(j, ']');
    }
    json_close(j, ']');
}

static void report_json(const view *v) {
    const evaluation *r = v->result;
    const double count = (double)r->count;
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "model", v->o->model);
    json_text(&j, "data", v->data);
    json_text(&j, "split", v->o->split);
    if (v->c->changed) json_bool(&j, "data_changed", true);
    json_integer(&j, "images", r->count);
    json_integer(&j, "correct", r->correct);
    json_real(&j, "accuracy", (double)r->correct / count, 9);
    json_real(&j, "loss", r->loss, 9);
    json_real(&j, "perplexity", exp(r->loss), 9);
    json_real(&j, "roc_auc", v->auc, 9);
    json_real(&j, "seconds", v->seconds, 6);
    json_real(&j, "samples_per_second", count / v->seconds, 6);
    json_open(&j, "classes", '[');
    for (int64_t k = 0; k < v->c->classes; k++) {
        const class_counts *counts = &v->e->classes[k];
        json_open(&j, NULL, '{');
        json_text(&j, "name", name_of(v, k));
        json_integer(&j, "images", counts->support);
        json_integer(&j, "predicted", counts->predicted);
        json_integer(&j, "correct", counts->correct);
        json_scores(&j, scores_of(*counts));
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_open(&j, "macro", '{');
    json_scores(&j, scores_macro(v->e->classes, v->c->classes));
    json_close(&j, '}');
    if (v->e->top) {
        json_open(&j, "top", '{');
        json_integer(&j, "k", v->e->top);
        json_integer(&j, "correct", r->top_correct);
        json_real(&j, "share", (double)r->top_correct / count, 9);
        json_close(&j, '}');
    }
    json_confusion(&j, v);
    log_json_close(&j);
}

/* ---- other tasks than classes ------------------------------------------------------------------------------------ */

static void task_text(const view *v) {
    const evaluation *r = v->result;
    const double count = (double)r->count;
    int wide = 4;
    for (int i = 0; i < r->n; i++)
        if ((int)strlen(r->scores[i].title) > wide) wide = (int)strlen(r->scores[i].title);
    for (int i = 0; i < r->n; i++) {
        if (r->scores[i].percent)
            printf("%-*s  %.2f %%\n", wide, r->scores[i].title, 100 * r->scores[i].value);
        else
            printf("%-*s  %.6g\n", wide, r->scores[i].title, r->scores[i].value);
    }
    printf("%-*s  %.4f\n%-*s  %lld\n", wide, "loss", r->loss, wide, "samples", (long long)r->count);
    v->c->task->print(v->e);
    log_note("%s %s: %lld %s%s in %.2f s, %.0f a second", v->data, v->o->split, (long long)r->count,
             source_noun(v->e->dataset), plural(r->count), v->seconds, count / v->seconds);
}

static void task_json(const view *v) {
    const evaluation *r = v->result;
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "model", v->o->model);
    json_text(&j, "task", v->c->task->name);
    json_text(&j, "data", v->data);
    json_text(&j, "split", v->o->split);
    if (v->c->changed) json_bool(&j, "data_changed", true);
    json_integer(&j, "samples", r->count);
    json_real(&j, "loss", r->loss, 9);
    for (int i = 0; i < r->n; i++) json_real(&j, r->scores[i].key, r->scores[i].value, 9);
    json_real(&j, "seconds", v->seconds, 6);
    json_real(&j, "samples_per_second", (double)r->count / v->seconds, 6);
    v->c->task->print_json(v->e, &j);
    log_json_close(&j);
}

static int measure_task(const cli_options *o, classifier *c, const wick_dataset *dataset, wick_group *g) {
    evaluator e = {0};
    evaluation result;
    int code = options_given(o, "top") ? task_check_classes(c, "--top") : CLI_OK;
    if (code == CLI_OK) code = evaluator_new(&e, c, dataset);
    if (code == CLI_OK) shared_measure(&e, g);
    const double start = now_seconds();
    if (code == CLI_OK) code = evaluator_run(&e, &result);
    if (code == CLI_OK && !shared_follows(g)) {
        const view v = {.o = o,
                        .c = c,
                        .e = &e,
                        .result = &result,
                        .data = o->data[0] ? o->data : c->data,
                        .seconds = now_seconds() - start};
        (o->json ? task_json : task_text)(&v);
    }
    evaluator_free(&e);
    return code;
}

/* --top, which must leave some class out to mean anything. */
static int choose_top(const cli_options *o, const classifier *c, int64_t *top) {
    if (options_given(o, "top") && o->top >= c->classes)
        return log_fail(CLI_USAGE, "--top %lld: the model knows %lld class%s, so any answer would do",
                        (long long)o->top, (long long)c->classes, c->classes == 1 ? "" : "es");
    *top = o->top ? o->top : c->classes > USUAL_TOP ? USUAL_TOP : 0;
    return CLI_OK;
}

/* The probabilities of all images, for what needs them together. */
typedef struct kept_scores {
    float *p; /* [images, classes]; NULL: too many */
    int64_t *labels;
} kept_scores;

static void keep_scores(const evaluator *e, int64_t first, int64_t n, void *user) {
    const kept_scores *kept = user;
    const int64_t classes = e->c->classes;
    for (int64_t i = 0; i < n; i++) {
        const float *x = e->logits + i * classes;
        float *p = kept->p + (first + i) * classes;
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < classes; k++) most = fmax(most, (double)x[k]);
        for (int64_t k = 0; k < classes; k++) sum += exp((double)x[k] - most);
        for (int64_t k = 0; k < classes; k++) p[k] = (float)(exp((double)x[k] - most) / sum);
        kept->labels[first + i] = e->y[i];
    }
}

/* Of several ranks each has those of its part. */
static int share_scores(const evaluator *e, const kept_scores *kept, wick_group *g) {
    wick_status status = shared_rows(g, e, kept->p, (size_t)e->c->classes * sizeof *kept->p);
    if (status == WICK_OK) status = shared_rows(g, e, kept->labels, sizeof *kept->labels);
    return status == WICK_OK ? CLI_OK : shared_failed(g, status);
}

/* The mean over the classes of each against the rest; of two classes both are the same. NaN where a class has no image,
 * or all. */
static double area_under_curves(const classifier *c, const kept_scores *kept, int64_t n) {
    double auc = NAN;
    if (!kept->p || c->classes < 2) return auc;
    wick_scope *scope = wick_scope_open(c->ctx);
    if (!scope) return auc;
    wick_tensor *p = wick_from(c->ctx, WICK_F32, WICK_DIMS(n, c->classes), kept->p),
                *labels = wick_from(c->ctx, WICK_I64, WICK_DIMS(n), kept->labels);
    if (wick_roc_auc(p, labels, &auc) != WICK_OK) auc = NAN;
    wick_scope_close(&scope);
    return auc;
}

static int measure(const cli_options *o, classifier *c, const wick_dataset *dataset, wick_group *g) {
    evaluator e = {0};
    evaluation result;
    int64_t top = 0;
    int code = choose_top(o, c, &top);
    if (code == CLI_OK) code = evaluator_new(&e, c, dataset);
    e.top = top;
    if (code == CLI_OK) shared_measure(&e, g);
    kept_scores kept = {0};
    const int64_t images = wick_dataset_count(dataset);
    if (code == CLI_OK && images <= MOST_SCORES / c->classes) {
        kept.p = step_buffer(images * c->classes, sizeof *kept.p);
        kept.labels = step_buffer(images, sizeof *kept.labels);
        if (!kept.p || !kept.labels) code = log_fail(CLI_FAILED, "out of memory");
        e.look = keep_scores;
        e.user = &kept;
    }
    double start = now_seconds();
    if (code == CLI_OK) code = evaluator_run(&e, &result);
    if (code == CLI_OK) code = share_scores(&e, &kept, g);
    if (code == CLI_OK && !shared_follows(g)) {
        const view v = {o,
                        c,
                        &e,
                        &result,
                        o->data[0] ? o->data : c->data,
                        now_seconds() - start,
                        area_under_curves(c, &kept, images)};
        (o->json ? report_json : report_text)(&v);
    }
    free(kept.p);
    free(kept.labels);
    evaluator_free(&e);
    return code;
}

int cmd_eval(cli_options *o) {
    wick_context *ctx;
    classifier c = {0};
    source_options form;
    wick_dataset *dataset = NULL;
    wick_group *group = NULL;
    int code = cli_context(&ctx, o, (wick_context_options){.jit = WICK_JIT_ON});
    if (code != CLI_OK) return code;
    code = shared_open(ctx, o, &group);
    if (code == CLI_OK) code = classifier_load(&c, ctx, o->model);
    if (code == CLI_OK) code = classifier_pictures_of(&c, o);
    if (code == CLI_OK && options_given(o, "input-range") && c.data[0])
        code = log_fail(CLI_USAGE, "--input-range is for an ONNX file: %s says itself how pixels are scaled", o->model);
    if (code == CLI_OK) code = classifier_set_range(&c, o->input_range, "", CLI_USAGE);
    if (code == CLI_OK && options_given(o, "beams") && c.task->kind != TASK_CTC)
        code = log_fail(CLI_USAGE, "--beams is for --task ctc; this is %s", c.task->name);
    c.beams = o->beams;
    if (code == CLI_OK) code = source_read_options(o, &form);
    if (code == CLI_OK) code = classifier_open_data(&c, o->data, &o->split, options_given(o, "split"), &form, &dataset);
    if (code == CLI_OK && c.limit > 0 && c.limit < wick_dataset_count(dataset))
        log_note("measured on all %lld of %s; the training took --limit %lld of each split, so its own accuracy was of "
                 "fewer",
                 (long long)wick_dataset_count(dataset), o->data[0] ? o->data : c.data, (long long)c.limit);
    profiling profile = {0};
    if (shared_follows(group)) profiling_follow(o);
    if (code == CLI_OK) code = shared_agree(group, o, &c, dataset);
    if (code == CLI_OK) code = profiling_begin_shared(&profile, o, ctx, group);
    if (code == CLI_OK) code = (c.task->kind == TASK_CLASSIFY ? measure : measure_task)(o, &c, dataset, group);
    if (code != CLI_OK) wick_group_close(&group); /* the others hear it now, and not when the profile is written */
    code = profiling_end(&profile, code);
    classifier_free(&c);
    wick_dataset_free(&dataset);
    wick_group_close(&group);
    wick_context_free(&ctx);
    return code;
}
