/* A tag for each word of a text. Spans are what B-, I- and O say (IOB2, as conlleval reads it): one begins at B-X, and
 * at an I-X behind another tag, and goes on through I-X. One is right if its place, its length and its kind are. */
#include "places.h"

#include "../evaluate.h"
#include "../metrics.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../step.h"
#include "../../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- spans ------------------------------------------------------------------------------------------------------- */

static const char *tag_name(const classifier *c, uint8_t tag) { return c->class_names[tag]; }
/* The kind of a tag, "PER" of "B-PER"; NULL: it is outside of all spans. A tag without B- and I- is a kind. */
static const char *kind_of(const char *tag) {
    if (strcmp(tag, "O") == 0) return NULL;
    return (*tag == 'B' || *tag == 'I') && tag[1] == '-' ? tag + 2 : tag;
}
static bool begins(const classifier *c, const uint8_t *tags, int64_t i) {
    const char *tag = tag_name(c, tags[i]), *kind = kind_of(tag);
    if (!kind) return false;
    const char *before = i && tags[i - 1] != PLACES_IGNORED ? kind_of(tag_name(c, tags[i - 1])) : NULL;
    return (*tag == 'B' && tag[1] == '-') || !before || strcmp(before, kind) != 0;
}
/* One past the span that begins at i. */
static int64_t end_of(const classifier *c, const uint8_t *tags, int64_t i, int64_t n) {
    int64_t end = i + 1;
    while (end < n && tags[end] != PLACES_IGNORED && kind_of(tag_name(c, tags[end])) && !begins(c, tags, end)) end++;
    return end;
}

void tag_count_spans(const classifier *c, const uint8_t *labels, const uint8_t *tags, int64_t most,
                     class_counts *spans) {
    int64_t n = 0;
    while (n < most && labels[n] != PLACES_IGNORED) n++;
    for (int64_t i = 0; i < n; i++) {
        const bool is = begins(c, labels, i), taken = begins(c, tags, i);
        spans->support += is;
        spans->predicted += taken;
        spans->correct += is && taken && end_of(c, labels, i, n) == end_of(c, tags, i, n) &&
                          strcmp(kind_of(tag_name(c, labels[i])), kind_of(tag_name(c, tags[i]))) == 0;
    }
}

static int count(evaluator *e, const void *target, int64_t n) {
    const classifier *c = e->c;
    const int64_t words = places_of(c);
    uint8_t *tags = step_buffer(words, sizeof *tags);
    if (!tags) return log_fail(CLI_FAILED, "out of memory");
    if (!e->count) e->spans = (class_counts){0};
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *labels = (const uint8_t *)target + i * words;
        places_take(c, e->logits + i * places_width(c), tags);
        places_count(e, labels, tags);
        tag_count_spans(c, labels, tags, words, &e->spans);
    }
    free(tags);
    return CLI_OK;
}

static int measure(const evaluator *e, evaluation *r) {
    const double right = places_sum(e);
    if (isnan(right)) return log_fail(CLI_BAD_FILE, "no word has a tag: there is nothing to measure by");
    const class_scores spans = scores_of(e->spans), mean = scores_macro(e->classes, e->c->classes);
    evaluation_add(r, "span_f1", "span F1", spans.f1, true);
    evaluation_add(r, "span_precision", "span precision", spans.precision, true);
    evaluation_add(r, "span_recall", "span recall", spans.recall, true);
    evaluation_add(r, "tag_f1", "mean F1 of tags", mean.f1, true);
    evaluation_add(r, "word_accuracy", "words right", right, true);
    return CLI_OK;
}

static void print(const evaluator *e) {
    places_print(e, "words");
    log_note("%lld spans, of which %lld were found; %lld were taken to be some", (long long)e->spans.support,
             (long long)e->spans.correct, (long long)e->spans.predicted);
}
static void print_json(const evaluator *e, json *j) {
    json_open(j, "spans", '{');
    json_integer(j, "there", e->spans.support);
    json_integer(j, "predicted", e->spans.predicted);
    json_integer(j, "correct", e->spans.correct);
    json_close(j, '}');
    places_json(e, j, "words");
}

/* ---- one text ---------------------------------------------------------------------------------------------------- */

/* Word k of the text at hand, whose words have blanks between. */
static bool word(const classifier *c, int64_t k, const char **begin, int *length) {
    const char *at = c->text ? c->text : "";
    for (;; k--) {
        at += strspn(at, " \t\r\n");
        *begin = at, *length = (int)strcspn(at, " \t\r\n");
        if (!*length || !k) return *length > 0;
        at += *length;
    }
}

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)label;
    uint8_t *tags = step_buffer(places_of(c), sizeof *tags);
    const char *begin;
    int length;
    if (!tags) return;
    places_take(c, p, tags);
    fputs(":", stdout);
    for (int64_t k = 0; k < places_of(c) && word(c, k, &begin, &length); k++) {
        log_print(" %.*s", length, begin);
        if (kind_of(tag_name(c, tags[k]))) log_print("/%s", tag_name(c, tags[k]));
        if (target && target[k] != (float)PLACES_IGNORED && target[k] != (float)tags[k])
            log_print(" (is %s)", tag_name(c, (uint8_t)target[k]));
    }
    fputc('\n', stdout);
    free(tags);
}

static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)label;
    uint8_t *tags = step_buffer(places_of(c), sizeof *tags);
    const char *begin;
    int length;
    if (!tags) return;
    places_take(c, p, tags);
    json_open(j, "words", '[');
    for (int64_t k = 0; k < places_of(c) && word(c, k, &begin, &length); k++) {
        char *copy = strndup(begin, (size_t)length);
        json_open(j, NULL, '{');
        json_text(j, "word", copy);
        json_text(j, "tag", tag_name(c, tags[k]));
        json_real(j, "probability", (double)p[tags[k] * places_of(c) + k], 7);
        if (target && target[k] != (float)PLACES_IGNORED) json_text(j, "is", tag_name(c, (uint8_t)target[k]));
        json_close(j, '}');
        free(copy);
    }
    json_close(j, ']');
    free(tags);
}

static bool report(FILE *out, const evaluator *e) {
    const class_scores s = scores_of(e->spans);
    fprintf(out,
            "<p>Of %lld spans %lld were found with their borders and kind, and %lld were taken to be some: precision "
            "%.2f" NBSP "%%, recall %.2f" NBSP "%%.</p>\n",
            (long long)e->spans.support, (long long)e->spans.correct, (long long)e->spans.predicted, 100 * s.precision,
            100 * s.recall);
    places_report(out, e, "words", NULL);
    return true;
}

const task task_tag = {.kind = TASK_TAG,
                       .name = "tag",
                       .learned = "a tagger with %lld tag%s",
                       .output = "probabilities",
                       .doc = "of each tag at each word, [N, tags, words]",
                       .loss = "cross-entropy of words",
                       .score = "span_f1",
                       .score_title = "span F1",
                       .by_score = true,
                       .percent = true,
                       .predictions = places_predictions,
                       .rows = places_rows,
                       .width = places_width,
                       .count = count,
                       .measure = measure,
                       .print = print,
                       .print_json = print_json,
                       .show = show,
                       .show_json = show_json,
                       .report = report};
