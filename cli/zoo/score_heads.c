/* Models of several heads: each head that has a demand is measured against it, and the worst one counts. */
#include "zoo.h"

#include "../term/log.h"
#include "../train/heads.h"
#include "../train/tasks/heads_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 32 };
typedef struct want {
    char head[WORD], score[WORD];
    double value;
} want;

/* What is wanted of a model's heads, scores as wick eval --json calls them. */
static const struct {
    const char *id, *text;
} wants[] = {{"V10", "scene accuracy 0.90, things map 0.75"},
             {"S4", "pulse mae 3, rhythm f1_macro 0.90"},
             {"S8", "type accuracy 0.85, cadence mape 0.05"}};

/* Reads "type accuracy 0.85, cadence mape 0.05" on; false: it is over. */
static bool next_want(const char **at, want *w) {
    int n = 0;
    if (sscanf(*at, " %31s %31s %lf%n", w->head, w->score, &w->value, &n) != 3) return false;
    *at += n + ((*at)[n] == ',');
    return true;
}

static bool lower(const want *w) {
    return strcmp(w->score, "mae") == 0 || strcmp(w->score, "rmse") == 0 || strcmp(w->score, "mape") == 0;
}

/* How much of what is wanted a value is: 1 and above meets it. */
static double share_of(const want *w, double value) { return lower(w) ? w->value / value : value / w->value; }

static int value_of(const evaluator *e, const want *w, double *value) {
    const heads *all = e->c->heads;
    int i = 0;
    while (i < all->n && strcmp(all->list[i].name, w->head) != 0) i++;
    if (i == all->n) return log_fail(CLI_BAD_FILE, "the model has no head \"%s\"", w->head);
    head_scores s;
    const int code = head_scores_of(e, &all->list[i], &s);
    *value = NAN;
    for (int k = 0; code == CLI_OK && k < s.n; k++)
        if (strcmp(s.scores[k].key, w->score) == 0) *value = s.scores[k].value;
    return code;
}

/* The same of every sample: the mean of the training's targets, which of classes is how often each is, and of labels
 * how often they are there. */
static int constant_of(const evaluator *e, const wick_dataset *train, float *kept) {
    const int64_t n = e->c->classes;
    double *sum = calloc((size_t)n, sizeof *sum);
    int64_t *there = calloc((size_t)n, sizeof *there);
    float *y = malloc((size_t)n * sizeof *y);
    int code = sum && there && y ? CLI_OK : zoo_out_of_memory();
    for (int64_t i = 0; i < wick_dataset_count(train) && code == CLI_OK; i++) {
        if (wick_dataset_get(train, i, (void *[WICK_DATASET_FIELDS]){NULL, y}, NULL) != WICK_OK)
            code = log_fail(CLI_BAD_FILE, "sample %lld of the training can't be read", (long long)i);
        for (int64_t k = 0; k < n && code == CLI_OK; k++)
            if (!isnan(y[k])) sum[k] += (double)y[k], there[k]++;
    }
    for (int64_t i = 0; i < e->count * n && code == CLI_OK; i++)
        kept[i] = there[i % n] ? (float)(sum[i % n] / (double)there[i % n]) : 0;
    free(sum), free(there), free(y);
    return code;
}

int zoo_score_heads(const zoo_model *m, const evaluator *e, const wick_dataset *train, zoo_result *r) {
    if (!e->c->heads) return log_fail(CLI_BAD_FILE, "%s: its model has no heads", m->name);
    evaluator trivial = *e;
    want w;
    trivial.kept = malloc((size_t)(e->count * e->c->classes + 1) * sizeof *trivial.kept);
    int code = trivial.kept ? constant_of(e, train, trivial.kept) : zoo_out_of_memory();
    r->score = r->baseline = INFINITY;
    const char *text = NULL;
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        if (strcmp(wants[i].id, m->id) == 0) text = wants[i].text;
    if (!text && code == CLI_OK) code = log_fail(CLI_FAILED, "%s: nothing is wanted of its heads", m->name);
    for (const char *at = text; code == CLI_OK && next_want(&at, &w);) {
        double got = NAN, baseline = NAN;
        code = value_of(e, &w, &got);
        if (code == CLI_OK) code = value_of(&trivial, &w, &baseline);
        if (code != CLI_OK) break;
        log_note("  %s: %s %.4g, wanted at %s %.4g, without a network %.4g", w.head, w.score, got,
                 lower(&w) ? "most" : "least", w.value, baseline);
        r->score = isnan(got) ? 0 : fmin(r->score, share_of(&w, got));
        r->baseline = isnan(baseline) ? 0 : fmin(r->baseline, share_of(&w, baseline));
    }
    free(trivial.kept);
    return code;
}
