#include "teachers.h"

#include "../term/log.h"
#include "../options.h"

#include "wick/loss.h"

#include <stdlib.h>
#include <string.h>

static bool same_text(const char *a, const char *b) { return (!a || !b) ? a == b : strcmp(a, b) == 0; }

static int check(const classifier *c, const classifier *student, const char *path) {
    if (c->task->kind != TASK_CLASSIFY)
        return log_fail(CLI_USAGE, "--teacher %s tells no classes: it was trained with --task %s", path, c->task->name);
    if (c->classes != student->classes)
        return log_fail(CLI_USAGE, "--teacher %s knows %lld class%s, and the data have %lld", path,
                        (long long)c->classes, c->classes == 1 ? "" : "es", (long long)student->classes);
    if (!same_text(c->transform, student->transform) && c->floats)
        return log_fail(CLI_USAGE, "--teacher %s takes what --transform \"%s\" makes of samples, not \"%s\"", path,
                        c->transform ? c->transform : "", student->transform ? student->transform : "");
    if (!same_text(c->coding, student->coding) && c->coding)
        return log_fail(CLI_USAGE, "--teacher %s learned from a table that is coded otherwise", path);
    return CLI_OK;
}

static int open(teachers *t, const char *path, const classifier *student, const wick_dataset *dataset) {
    if (t->n == MOST_TEACHERS) return log_fail(CLI_USAGE, "--teacher: at most %d", MOST_TEACHERS);
    classifier *c = &t->c[t->n++];
    int code = classifier_load(c, student->ctx, path);
    if (code == CLI_OK) code = classifier_take(c, dataset, path);
    if (code == CLI_OK) code = check(c, student, path);
    if (code == CLI_OK && c->onnx && !c->data[0] && c->mean == 0 && c->deviation == 1)
        log_note("--teacher %s gets pixels of 0 to 1: the file does not say how they are scaled", path);
    if (code == CLI_OK) wick_model_set_training(c->model, false);
    return code;
}

void teachers_free(teachers *t) {
    layer_hints_free(&t->hints);
    for (int i = 0; i < t->n; i++) classifier_free(&t->c[i]);
    t->n = 0;
}

wick_status teachers_prepare(teachers *t, int64_t n) {
    wick_status status = WICK_OK;
    for (int i = 0; i < t->n && status == WICK_OK; i++) status = classifier_prepare(&t->c[i], n);
    return status;
}

void teachers_watch(teachers *t, classifier *student) { layer_hints_watch(&t->hints, student, true); }
void teachers_rest(classifier *student) { layer_hints_rest(student); }

wick_tensor *teachers_loss(teachers *t, classifier *student, wick_tensor *x, wick_tensor *logits, wick_tensor *loss) {
    if (!t->n) return loss;
    wick_tensor *p = NULL, *hints = NULL;
    for (int i = 0; i < t->n; i++) {
        layer_hints_watch(&t->hints, &t->c[i], false);
        wick_tensor *of = classifier_logits(&t->c[i], classifier_samples_of(&t->c[i], student, x));
        layer_hints_rest(&t->c[i]);
        wick_tensor *hint = layer_hints_loss(&t->hints, student);
        if (hint) hints = hints ? wick_add(hints, hint) : hint;
        of = wick_softmax(wick_mul(of, wick_like(of, 1 / t->temperature)), 1);
        p = p ? wick_add(p, of) : of;
    }
    wick_here("distillation");
    if (t->n > 1) p = wick_mul(p, wick_like(p, 1.0 / t->n));
    wick_tensor *log_q = wick_log_softmax(wick_mul(logits, wick_like(logits, 1 / t->temperature)), 1);
    wick_tensor *apart = wick_kl_div(log_q, wick_stop_gradient(p), false, WICK_REDUCE_BATCH_MEAN);
    loss = wick_add(wick_mul(apart, wick_like(apart, t->alpha * t->temperature * t->temperature)),
                    wick_mul(loss, wick_like(loss, 1 - t->alpha)));
    wick_tensor *missing = layer_hints_missing(&t->hints, student);
    return missing ? missing : hints ? wick_add(loss, hints) : loss;
}

/* Records what --hint adds once, so that names and shapes are checked and the student has all of its parameters. */
static int make_hints(teachers *t, classifier *student) {
    wick_context *ctx = student->ctx;
    const bool training = wick_model_training(student->model);
    const char *text;
    int64_t dims[WICK_MAX_DIMS] = {2}; /* batch norm in training needs two */
    memcpy(dims + 1, student->dims, (size_t)student->rank * sizeof *dims);
    wick_scope *scope = wick_scope_open(ctx);
    if (!scope) return log_fail(CLI_FAILED, "out of memory");
    wick_status status = teachers_prepare(t, 2);
    if (status == WICK_OK) status = classifier_prepare(student, 2);
    if (status != WICK_OK) {
        wick_scope_close(&scope);
        return log_fail(log_code(status, CLI_USAGE), "%s", log_why(ctx, status));
    }
    wick_model_set_training(student->model, false);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, student->rank + 1, dims);
    teachers_watch(t, student);
    wick_tensor *logits = classifier_logits(student, x);
    teachers_rest(student);
    wick_tensor *loss = teachers_loss(t, student, x, logits, wick_mean(logits, WICK_ALL_AXES, false));
    status = wick_tensor_error(loss, &text);
    const int code = status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_USAGE), "%s", text);
    wick_scope_close(&scope);
    wick_model_set_training(student->model, training);
    return code;
}

int teachers_open(teachers *t, const cli_options *o, classifier *student, const wick_dataset *dataset) {
    *t = (teachers){.temperature = o->of_train.temperature, .alpha = o->of_train.alpha};
    static const char *const its[] = {"temperature", "alpha"};
    for (int i = 0; i < 2 && !*o->of_train.teacher; i++)
        if (options_given(o, its[i])) return log_fail(CLI_USAGE, "--%s is for --teacher", its[i]);
    char *list = strdup(o->of_train.teacher), *rest = list;
    int code = list ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    for (const char *path; code == CLI_OK && (path = strsep(&rest, ";"));)
        if (*path) code = open(t, path, student, dataset);
    free(list);
    if (code == CLI_OK) code = layer_hints_read(&t->hints, o);
    return code == CLI_OK && t->hints.n ? make_hints(t, student) : code;
}
