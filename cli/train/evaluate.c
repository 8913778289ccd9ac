#include "evaluate.h"

#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 500, INPUTS = 2, OUTPUTS = 3 };

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

static wick_status compile(evaluator *e, step *s, int64_t n) {
    bool training = wick_model_training(e->c->model);
    wick_model_set_training(e->c->model, false);
    wick_model_set_averaged(e->c->model, true); /* where the training keeps means */
    wick_status status = step_compile(s, e->c, record, e->c, n, INPUTS, OUTPUTS, false, 0, 0, NULL);
    wick_model_set_training(e->c->model, training);
    wick_model_set_averaged(e->c->model, false);
    return status;
}

int evaluator_new(evaluator *e, classifier *c, const wick_dataset *dataset) {
    int64_t count = wick_dataset_count(dataset);
    *e = (evaluator){.c = c, .dataset = dataset, .batch = count < BATCH ? count : BATCH};
    e->tail = count % e->batch;
    e->predicted = step_buffer(e->batch, sizeof *e->predicted);
    e->logits = step_buffer(e->batch * c->classes, sizeof *e->logits);
    e->classes = step_buffer(c->classes, sizeof *e->classes);
    bool ok = e->predicted && e->logits && e->classes;
    if (c->classes <= MOST_CONFUSION) {
        e->confusion = step_buffer(c->classes * c->classes, sizeof *e->confusion);
        ok = ok && e->confusion;
    }
    if (!ok) return log_fail(CLI_FAILED, "out of memory");
    const int code = classifier_transform(c, dataset, &e->transform);
    if (code != CLI_OK) return code;
    wick_loader_options loading = {.batch = e->batch, .transform = e->transform};
    if (!c->floats) loading.mean = c->mean, loading.deviation = c->deviation;
    wick_status status = wick_loader_new(c->ctx, dataset, &loading, &e->loader);
    if (status == WICK_OK) status = compile(e, &e->full, e->batch);
    if (status == WICK_OK && e->tail) status = compile(e, &e->rest, e->tail);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
}

int evaluator_run(evaluator *e, evaluation *result) {
    double loss = 0;
    *result = (evaluation){0};
    const int64_t classes = e->c->classes;
    memset(e->classes, 0, (size_t)classes * sizeof *e->classes);
    if (e->confusion) memset(e->confusion, 0, (size_t)(classes * classes) * sizeof *e->confusion);
    for (;;) {
        wick_batch b;
        const wick_status loaded = wick_loader_take(e->loader, &b);
        if (loaded != WICK_OK) return log_fail(log_code(loaded, CLI_BAD_FILE), "%s", log_why(e->c->ctx, loaded));
        const int64_t n = b.count;
        if (!n) break;
        const int fits = classifier_check_samples(e->c, b.fields[0], n);
        if (fits != CLI_OK) return fits;
        e->y = b.fields[1];
        step *s = n == e->batch ? &e->full : &e->rest;
        float batch_loss;
        wick_status status = wick_run(s->workspace, (const void *[INPUTS]){b.fields[0], e->y},
                                      (void *[OUTPUTS]){&batch_loss, e->predicted, e->logits});
        if (status != WICK_OK) return log_fail(CLI_FAILED, "evaluation: %s", wick_workspace_error(s->workspace));
        loss += (double)batch_loss;
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
        if (e->look) e->look(e, result->count, n, e->user);
        result->count += n;
    }
    result->loss = loss / (double)result->count;
    return CLI_OK;
}

void evaluator_free(evaluator *e) {
    step_free(&e->full);
    step_free(&e->rest);
    wick_loader_free(&e->loader);
    wick_transform_free(&e->transform);
    free(e->predicted);
    free(e->logits);
    free(e->classes);
    free(e->confusion);
    *e = (evaluator){0};
}
