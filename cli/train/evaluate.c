#include "evaluate.h"

#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

enum { PIXELS = 1 << 19 }; /* whose classes are counted at a time */
enum { BATCH = EVALUATOR_BATCH, INPUTS = 2, OUTPUTS = 3 };
#define MOST_KEPT ((int64_t)1 << 28) /* numbers of predictions and targets: 1 GiB */

/* The sum of the losses, the class that each image is taken for, and what it was compared by. */
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    wick_tensor *logits = classifier_logits(user, in[0]);
    wick_here("loss");
    out[0] = wick_sum(wick_cross_entropy_rows(logits, in[1]), WICK_ALL_AXES, false);
    out[1] = wick_argmax(logits, 1, false);
    out[2] = logits;
    return WICK_OK;
}

/* The sum of the losses and the predictions. */
static wick_status record_task(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    classifier *c = user;
    wick_tensor *x = classifier_prepared(c, in[0]), *y = classifier_outputs(c, x);
    wick_here("loss");
    out[0] = wick_sum(c->task->rows(c, x, y, in[1]), WICK_ALL_AXES, false);
    out[1] = c->task->predictions(c, x, y);
    return WICK_OK;
}

static bool of_classes(const evaluator *e) { return e->c->task->kind == TASK_CLASSIFY; }

void evaluation_add(evaluation *r, const char *key, const char *title, double value, bool percent) {
    if (r->n == MOST_SCORES_OF_TASK) return;
    r->scores[r->n].key = key, r->scores[r->n].title = title;
    r->scores[r->n].value = value, r->scores[r->n++].percent = percent;
}

static wick_status compile(evaluator *e, step *s, int64_t n) {
    bool training = wick_model_training(e->c->model);
    wick_model_set_training(e->c->model, false);
    wick_model_set_averaged(e->c->model, !e->plain); /* where the training keeps means */
    const bool classes = of_classes(e);
    wick_status status = step_compile(s, e->c, classes ? record : record_task, e->c, n, INPUTS,
                                      classes ? OUTPUTS : OUTPUTS - 1, false, 0, 0, NULL);
    wick_model_set_training(e->c->model, training);
    wick_model_set_averaged(e->c->model, false);
    return status;
}

wick_status evaluator_plan(classifier *c, int64_t n, wick_plan_info *info) {
    evaluator e = {.c = c, .plain = true};
    const wick_status status = compile(&e, &e.full, n);
    if (status == WICK_OK) *info = wick_plan_get_info(e.full.plan);
    step_free(&e.full);
    return status;
}

/* Room for all predictions, and what they should be. */
static int make_room(evaluator *e, int64_t count) {
    const classifier *c = e->c;
    const bool targets = c->task->kind != TASK_AUTOENCODE && c->task->kind != TASK_EMBED;
    const int64_t width = c->task->width(c) + (targets ? classifier_target_width(c) : 0);
    if (count > MOST_KEPT / width)
        return log_fail(CLI_BAD_FILE, "%lld samples of %lld numbers are more than can be measured at once",
                        (long long)count, (long long)width);
    e->kept = step_buffer(count * c->task->width(c), sizeof *e->kept);
    if (targets)
        e->targets = step_buffer(count * classifier_target_width(c), sizeof *e->targets);
    else
        e->labels = step_buffer(count, sizeof *e->labels);
    return e->kept && (e->targets || e->labels) ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
}

static int make_counts(evaluator *e) {
    const classifier *c = e->c;
    const bool pixels = c->task->count != NULL;
    if (c->task->begin) {
        e->logits = step_buffer(e->batch * c->task->width(c), sizeof *e->logits);
        return e->logits ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    }
    if (pixels) {
        e->shown = step_buffer(EVALUATOR_SHOWN * (c->task->width(c) / c->classes), sizeof *e->shown);
        if (!e->shown) return log_fail(CLI_FAILED, "out of memory");
    }
    e->predicted = step_buffer(e->batch, sizeof *e->predicted);
    e->logits = step_buffer(e->batch * (pixels ? c->task->width(c) : c->classes), sizeof *e->logits);
    e->classes = step_buffer(c->classes, sizeof *e->classes);
    bool ok = e->predicted && e->logits && e->classes;
    if (c->classes <= MOST_CONFUSION) {
        e->confusion = step_buffer(c->classes * c->classes, sizeof *e->confusion);
        ok = ok && e->confusion;
    }
    return ok ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
}

static wick_status load(evaluator *e) {
    wick_loader_options loading = {.batch = e->batch, .transform = e->transform};
    if (!e->c->floats) loading.mean = e->c->mean, loading.deviation = e->c->deviation;
    return wick_loader_new(e->c->ctx, e->dataset, &loading, &e->loader);
}

static int make(evaluator *e, classifier *c, const wick_dataset *dataset, bool plain) {
    int64_t count = wick_dataset_count(dataset);
    classifier_size_boxes(c, dataset);
    *e = (evaluator){.c = c, .dataset = dataset, .plain = plain, .batch = count < BATCH ? count : BATCH};
    if (c->task->kind == TASK_CTC) c->longest = wick_dataset_field(dataset, 1)->dims[0];
    if (c->task->count) {
        const int64_t fit = PIXELS / (c->task->width(c) / c->classes);
        e->batch = fit < 1 ? 1 : fit < e->batch ? fit : e->batch;
    }
    e->tail = count % e->batch;
    e->losses = step_buffer((count + e->batch - 1) / e->batch, sizeof *e->losses);
    if (!e->losses) return log_fail(CLI_FAILED, "out of memory");
    int code = of_classes(e) || c->task->count ? make_counts(e) : make_room(e, count);
    if (code == CLI_OK) code = classifier_transform(c, dataset, &e->transform);
    if (code != CLI_OK) return code;
    wick_status status = load(e);
    if (status == WICK_OK) status = compile(e, &e->full, e->batch);
    if (status == WICK_OK && e->tail) status = compile(e, &e->rest, e->tail);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
}

int evaluator_new(evaluator *e, classifier *c, const wick_dataset *dataset) { return make(e, c, dataset, false); }
int evaluator_new_plain(evaluator *e, classifier *c, const wick_dataset *dataset) { return make(e, c, dataset, true); }

int evaluator_turn(evaluator *e, const wick_dataset *dataset) {
    wick_loader_free(&e->loader);
    e->dataset = dataset;
    const wick_status status = load(e);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(e->c->ctx, status));
}

/* Of the batch whose predictions were put at e->count. */
static void keep(evaluator *e, const wick_batch *b) {
    const int64_t k = classifier_target_width(e->c);
    if (e->targets)
        memcpy(e->targets + e->count * k, b->fields[1], (size_t)(b->count * k) * sizeof *e->targets);
    else
        memcpy(e->labels + e->count, b->fields[1], (size_t)b->count * sizeof *e->labels);
    e->count += b->count;
}

/* From the first batch that is measured here on. */
static int begin(evaluator *e) {
    e->spans = (class_counts){0};
    e->count = e->join ? e->first * e->batch : 0;
    if (!e->join || wick_loader_seek(e->loader, 0, e->count) == WICK_OK) return CLI_OK;
    return log_fail(CLI_FAILED, "evaluation: %s", wick_context_error(e->c->ctx));
}

/* Batch number `batch`; count 0 where there is none, or it is another process's. */
static int take(evaluator *e, int64_t batch, wick_batch *b) {
    *b = (wick_batch){0};
    if (e->join && batch >= e->end) return CLI_OK;
    const wick_status status = wick_loader_take(e->loader, b);
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(e->c->ctx, status));
}

/* What is measured is here, or at all processes together: the mean of the losses, added up in the order of batches. */
static int finish(evaluator *e, evaluation *result) {
    const int code = e->join ? e->join(e, result, e->join_user) : CLI_OK;
    double loss = 0;
    for (int64_t i = 0; i * e->batch < result->count; i++) loss += (double)e->losses[i];
    result->loss = loss / (double)result->count;
    e->count = result->count;
    return code;
}

static int run_task(evaluator *e, evaluation *result) {
    const bool counts = e->c->task->count != NULL;
    int code = begin(e);
    if (code == CLI_OK && e->c->task->begin) code = e->c->task->begin(e);
    else if (counts) memset(e->confusion, 0, (size_t)(e->c->classes * e->c->classes) * sizeof *e->confusion);
    for (int64_t batch = e->join ? e->first : 0; code == CLI_OK; batch++) {
        wick_batch b;
        code = take(e, batch, &b);
        if (code != CLI_OK || !b.count) break;
        step *s = b.count == e->batch ? &e->full : &e->rest;
        float *to = counts ? e->logits : e->kept + e->count * e->c->task->width(e->c);
        wick_status status =
            wick_run(s->workspace, (const void *[INPUTS]){b.fields[0], b.fields[1]}, (void *[]){&e->losses[batch], to});
        if (status != WICK_OK) return log_fail(CLI_FAILED, "evaluation: %s", wick_workspace_error(s->workspace));
        result->count += b.count;
        if (counts) {
            const int counted = e->c->task->count(e, b.fields[1], b.count);
            if (counted != CLI_OK) return counted;
            e->count += b.count;
        } else
            keep(e, &b);
    }
    if (code == CLI_OK) code = finish(e, result);
    return code == CLI_OK && !e->bare ? e->c->task->measure(e, result) : code;
}

int evaluator_run(evaluator *e, evaluation *result) {
    *result = (evaluation){0};
    if (!of_classes(e)) return run_task(e, result);
    int code = begin(e);
    const int64_t classes = e->c->classes;
    memset(e->classes, 0, (size_t)classes * sizeof *e->classes);
    if (e->confusion) memset(e->confusion, 0, (size_t)(classes * classes) * sizeof *e->confusion);
    for (int64_t batch = e->join ? e->first : 0; code == CLI_OK; batch++) {
        wick_batch b;
        code = take(e, batch, &b);
        const int64_t n = b.count;
        if (code != CLI_OK || !n) break;
        const int fits = classifier_check_samples(e->c, b.fields[0], n);
        if (fits != CLI_OK) return fits;
        e->y = b.fields[1];
        step *s = n == e->batch ? &e->full : &e->rest;
        wick_status status = wick_run(s->workspace, (const void *[INPUTS]){b.fields[0], e->y},
                                      (void *[OUTPUTS]){&e->losses[batch], e->predicted, e->logits});
        if (status != WICK_OK) return log_fail(CLI_FAILED, "evaluation: %s", wick_workspace_error(s->workspace));
        for (int64_t i = 0; i < n; i++) {
            const int64_t label = e->y[i], predicted = e->predicted[i];
            bool right = predicted == label;
            result->correct += right;
            e->classes[label].support++;
            e->classes[predicted].predicted++;
            e->classes[label].correct += right;
            if (e->confusion) e->confusion[label * classes + predicted]++;
            if (e->top) result->top_correct += rank_of_label(e->logits + i * classes, classes, label) < e->top;
        }
        if (e->look) e->look(e, (e->join ? e->first * e->batch : 0) + result->count, n, e->user);
        result->count += n;
    }
    if (code == CLI_OK) code = finish(e, result);
    if (code != CLI_OK) return code;
    evaluation_add(result, "accuracy", "accuracy", (double)result->correct / (double)result->count, true);
    return CLI_OK;
}

void evaluator_drop_lines(evaluator *e) {
    for (int i = 0; i < EVALUATOR_SHOWN; i++) {
        free(e->lines.read[i]);
        free(e->lines.wrong[i].is);
        free(e->lines.wrong[i].read);
    }
    e->lines = (line_counts){0};
}

void evaluator_free(evaluator *e) {
    evaluator_drop_lines(e);
    step_free(&e->full);
    step_free(&e->rest);
    wick_loader_free(&e->loader);
    wick_transform_free(&e->transform);
    free(e->predicted);
    free(e->logits);
    free(e->classes);
    free(e->confusion);
    free(e->kept);
    free(e->losses);
    free(e->shown);
    free(e->targets);
    free(e->labels);
    if (e->own) e->c->task->drop(e);
    *e = (evaluator){0};
}
