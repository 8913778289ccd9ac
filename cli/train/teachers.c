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
        talk("--teacher %s gets pixels of 0 to 1: the file does not say how they are scaled", path);
    if (code == CLI_OK) wick_model_set_training(c->model, false);
    return code;
}

int teachers_open(teachers *t, const cli_options *o, const classifier *student, const wick_dataset *dataset) {
    *t = (teachers){.temperature = o->of_train.temperature, .alpha = o->of_train.alpha};
    static const char *const its[] = {"temperature", "alpha"};
    for (int i = 0; i < 2 && !*o->of_train.teacher; i++)
        if (options_given(o, its[i])) return log_fail(CLI_USAGE, "--%s is for --teacher", its[i]);
    char *list = strdup(o->of_train.teacher), *rest = list;
    int code = list ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    for (const char *path; code == CLI_OK && (path = strsep(&rest, ";"));)
        if (*path) code = open(t, path, student, dataset);
    free(list);
    return code;
}

void teachers_free(teachers *t) {
    for (int i = 0; i < t->n; i++) classifier_free(&t->c[i]);
    t->n = 0;
}

wick_status teachers_prepare(teachers *t, int64_t n) {
    wick_status status = WICK_OK;
    for (int i = 0; i < t->n && status == WICK_OK; i++) status = classifier_prepare(&t->c[i], n);
    return status;
}

/* The student's samples, normalised as the teacher's were. */
static wick_tensor *samples_of(const classifier *c, const classifier *student, wick_tensor *x) {
    if (c->floats || (c->mean == student->mean && c->deviation == student->deviation)) return x;
    wick_tensor *pixels = wick_add(wick_mul(x, wick_like(x, student->deviation)), wick_like(x, student->mean));
    return wick_div(wick_sub(pixels, wick_like(x, c->mean)), wick_like(x, c->deviation));
}

wick_tensor *teachers_loss(teachers *t, const classifier *student, wick_tensor *x, wick_tensor *logits,
                           wick_tensor *loss) {
    if (!t->n) return loss;
    wick_tensor *p = NULL;
    for (int i = 0; i < t->n; i++) {
        wick_tensor *of = classifier_logits(&t->c[i], samples_of(&t->c[i], student, x));
        of = wick_softmax(wick_mul(of, wick_like(of, 1 / t->temperature)), 1);
        p = p ? wick_add(p, of) : of;
    }
    wick_here("distillation");
    if (t->n > 1) p = wick_mul(p, wick_like(p, 1.0 / t->n));
    wick_tensor *log_q = wick_log_softmax(wick_mul(logits, wick_like(logits, 1 / t->temperature)), 1);
    wick_tensor *apart = wick_kl_div(log_q, wick_stop_gradient(p), false, WICK_REDUCE_BATCH_MEAN);
    return wick_add(wick_mul(apart, wick_like(apart, t->alpha * t->temperature * t->temperature)),
                    wick_mul(loss, wick_like(loss, 1 - t->alpha)));
}
