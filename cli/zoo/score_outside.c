/* Texts that are of none of the classes, which prepare puts aside: how well the probability of the likeliest class
 * tells them from the test's (Hendrycks and Gimpel 2017, arXiv 1610.02136). */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"

#include "wick/metrics.h"

#include <math.h>
#include <stdlib.h>

/* Samples of no class: an evaluator is told that they are of the first one. */
static wick_status get_classless(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const wick_dataset *texts = user;
    void *fields[WICK_DATASET_FIELDS] = {out[0]};
    if (out[1]) *(int64_t *)out[1] = 0;
    return wick_dataset_get(texts, i, fields, fault);
}

static wick_status wrap(wick_context *ctx, const wick_dataset *texts, wick_dataset **out) {
    const wick_dataset_source source = {.count = wick_dataset_count(texts),
                                        .n_fields = 2,
                                        .fields = {*wick_dataset_field(texts, 0), *wick_dataset_field(texts, 1)},
                                        .get = get_classless,
                                        .user = (void *)(uintptr_t)texts};
    return wick_dataset_new(ctx, &source, out);
}

typedef struct sureness {
    float *x; /* of each sample, the largest probability */
    int64_t *inside, first;
    bool is_inside;
} sureness;
static void keep_surest(const evaluator *e, int64_t first, int64_t n, void *user) {
    const sureness *s = user;
    const int64_t classes = e->c->classes;
    for (int64_t i = 0; i < n; i++) {
        const float *y = e->logits + i * classes;
        float most = y[0];
        double sum = 0;
        for (int64_t k = 1; k < classes; k++) most = fmaxf(most, y[k]);
        for (int64_t k = 0; k < classes; k++) sum += exp((double)(y[k] - most));
        s->x[s->first + first + i] = (float)(1 / sum);
        s->inside[s->first + first + i] = s->is_inside;
    }
}

static int look(evaluator *e, sureness *s) {
    evaluation got;
    e->look = keep_surest, e->user = s;
    return evaluator_run(e, &got);
}

static int measure(evaluator *test, evaluator *texts, int64_t n, zoo_result *r) {
    wick_context *ctx = test->c->ctx;
    const int64_t all = n + r->outside;
    sureness s = {.x = malloc((size_t)all * sizeof *s.x), .inside = malloc((size_t)all * sizeof *s.inside)};
    int code = s.x && s.inside ? CLI_OK : zoo_out_of_memory();
    s.is_inside = true;
    if (code == CLI_OK) code = look(test, &s);
    s.is_inside = false, s.first = n;
    if (code == CLI_OK) code = look(texts, &s);
    wick_scope *scope = code == CLI_OK ? wick_scope_open(ctx) : NULL;
    if (code == CLI_OK && !scope) code = zoo_out_of_memory();
    if (scope) {
        const wick_status status = wick_roc_auc(wick_from(ctx, WICK_F32, WICK_DIMS(all), s.x),
                                                wick_from(ctx, WICK_I64, WICK_DIMS(all), s.inside), &r->outside_auc);
        if (status != WICK_OK) code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
        wick_scope_close(&scope);
    }
    free(s.x), free(s.inside);
    return code;
}

int zoo_score_outside(evaluator *test, int64_t n, zoo_result *r) {
    classifier *c = test->c;
    const source_options form = {.told = true, .unlabelled = true};
    char *path = path_join(c->data, "aside.tsv");
    wick_dataset *texts = NULL, *classless = NULL;
    evaluator e = {0};
    if (!path) return zoo_out_of_memory();
    if (!path_exists(path)) return free(path), CLI_OK;
    wick_status status = classifier_open_split(c, path, "all", &form, &texts);
    if (status == WICK_OK) status = wrap(c->ctx, texts, &classless);
    int code = status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(c->ctx, status));
    if (code == CLI_OK) code = evaluator_new(&e, c, classless);
    r->outside = code == CLI_OK ? wick_dataset_count(texts) : 0;
    if (code == CLI_OK) code = measure(test, &e, n, r);
    evaluator_free(&e);
    wick_dataset_free(&classless);
    wick_dataset_free(&texts);
    free(path);
    return code;
}
