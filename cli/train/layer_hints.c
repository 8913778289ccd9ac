#include "layer_hints.h"

#include "../options.h"
#include "../term/log.h"

#include "wick/compare.h"
#include "wick/compress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int layer_hints_read(layer_hints *h, const cli_options *o) {
    static const char *const its[] = {"hint-kind", "hint-weight"};
    *h = (layer_hints){.kind = (hint_kind)o->of_train.hint_kind, .weight = o->of_train.hint_weight};
    for (int i = 0; i < 2 && !*o->of_train.hint; i++)
        if (options_given(o, its[i])) return log_fail(CLI_USAGE, "--%s is for --hint", its[i]);
    if (!*o->of_train.hint) return CLI_OK;
    if (!*o->of_train.teacher) return log_fail(CLI_USAGE, "--hint is for --teacher");
    /* the authors' own */
    if (h->weight == 0) h->weight = h->kind == HINT_ATTENTION ? 1000 : 1;
    char *rest = h->text = strdup(o->of_train.hint);
    if (!rest) return log_fail(CLI_FAILED, "out of memory");
    for (char *one; (one = strsep(&rest, ";"));) {
        char *equals = strchr(one, '=');
        if (!equals || equals == one || !equals[1] || strchr(equals + 1, '='))
            return log_fail(CLI_USAGE, "--hint %s: TEACHER=STUDENT names a layer of each", one);
        if (h->n == MOST_HINTS) return log_fail(CLI_USAGE, "--hint: at most %d", MOST_HINTS);
        *equals = 0;
        h->all[h->n++] = (layer_hint){.teacher = one, .student = equals + 1};
    }
    return CLI_OK;
}
void layer_hints_free(layer_hints *h) {
    free(h->text);
    *h = (layer_hints){0};
}

static void note_student(void *user, const char *name, wick_tensor *y) {
    layer_hints *h = user;
    for (int i = 0; i < h->n; i++)
        if (strcmp(name, h->all[i].student) == 0) h->all[i].of_student = y;
}
static void note_teacher(void *user, const char *name, wick_tensor *y) {
    layer_hints *h = user;
    for (int i = 0; i < h->n; i++)
        if (strcmp(name, h->all[i].teacher) == 0) h->all[i].of_teacher = y, h->all[i].met = true;
}
void layer_hints_watch(layer_hints *h, classifier *c, bool student) {
    for (int i = 0; i < h->n; i++) {
        h->all[i].of_teacher = NULL;
        if (student) h->all[i].of_student = NULL, h->all[i].met = false;
    }
    if (h->n) wick_model_watch(c->model, student ? note_student : note_teacher, h);
}
void layer_hints_rest(classifier *c) { wick_model_watch(c->model, NULL, NULL); }

/* 0-d, poisoned. */
static wick_tensor *lacks(const classifier *student, const char *whose, const char *name) {
    return wick_poison(student->ctx, WICK_ERR_INVALID,
                       "--hint: %s layer %s; layers are those that wick info lists tensors of, \"res1.conv2\", "
                       "blocks, \"res1\", and what --net saves",
                       whose, name);
}

wick_tensor *layer_hints_loss(layer_hints *h, classifier *student) {
    wick_tensor *sum = NULL;
    for (int i = 0; i < h->n; i++) {
        const layer_hint *hint = &h->all[i];
        char name[32];
        if (!hint->of_student) return lacks(student, "the network has no", hint->student);
        if (!hint->of_teacher) continue;
        snprintf(name, sizeof name, "hint.%d", i + 1);
        wick_here("hint");
        wick_tensor *term = h->kind == HINT_ATTENTION
                                ? wick_hint_attention(hint->of_student, hint->of_teacher)
                                : wick_hint_features(student->model, name, hint->of_student, hint->of_teacher);
        sum = sum ? wick_add(sum, term) : term;
    }
    return sum ? wick_mul(sum, wick_like(sum, h->weight)) : NULL;
}
wick_tensor *layer_hints_missing(const layer_hints *h, const classifier *student) {
    for (int i = 0; i < h->n; i++)
        if (!h->all[i].met) return lacks(student, "no teacher has a", h->all[i].teacher);
    return NULL;
}
