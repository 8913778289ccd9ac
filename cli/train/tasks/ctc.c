/* The text in a picture or a recording, without being told where each character is: connectionist temporal
 * classification (Graves et al. 2006). The network gives [n, symbols, steps]; symbol 0 is the blank. The loss of a
 * sample is that of its text by character, so that long ones count no more than short ones. */
#include "task.h"

#include "../classifier.h"
#include "../evaluate.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../report/png.h"
#include "../../step.h"
#include "../../term/log.h"

#include "wick/metrics.h"
#include "wick/sequence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    (void)c, (void)x;
    return wick_log_softmax(y, 1);
}
static int64_t width(const classifier *c) { return c->classes * c->steps; }

/* A text without an alignment (too long for the steps), or with a character that is no symbol, counts 0. */
static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)x;
    wick_context *ctx = wick_tensor_context(y);
    const int64_t n = wick_tensor_dim(y, 0);
    wick_tensor *log_probs = wick_permute(wick_log_softmax(y, 1), 3, (const int[]){2, 0, 1});
    wick_tensor *there = wick_ne(target, wick_like(target, SOURCE_NO_LETTER)),
                *known = wick_gt(target, wick_like(target, 0)),
                *letters = wick_sum(wick_cast(there, WICK_I64), 1, (const int[]){1}, false),
                *symbols = wick_sum(wick_cast(known, WICK_I64), 1, (const int[]){1}, false);
    wick_tensor *labels = wick_where(known, target, wick_like(target, 1)),
                *steps = wick_full(ctx, WICK_I64, 1, &n, (double)c->steps);
    wick_tensor *loss = wick_ctc_loss(log_probs, labels, steps, letters,
                                      &(wick_ctc_options){.zero_infinity = true, .reduction = WICK_REDUCE_NONE});
    loss = wick_div(loss, wick_cast(wick_maximum(letters, wick_like(letters, 1)), wick_tensor_dtype(loss)));
    return wick_where(wick_eq(letters, symbols), loss, wick_like(loss, 0));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* What a network's numbers say. */
typedef struct reading {
    float *log_probs; /* [steps, symbols] */
    int64_t *labels, n;
} reading;

static bool reading_new(const classifier *c, reading *r) {
    r->log_probs = step_buffer(width(c), sizeof *r->log_probs);
    r->labels = step_buffer(c->steps, sizeof *r->labels);
    return r->log_probs && r->labels;
}
static void reading_free(reading *r) {
    free(r->log_probs);
    free(r->labels);
}

static bool is_blank(const classifier *c, int64_t label) {
    return label > 0 && strcmp(c->class_names[label], " ") == 0;
}

/* p: [symbols, steps]. Blanks at the ends are no part of a text. */
static int read_text(const classifier *c, const float *p, reading *r) {
    for (int64_t t = 0; t < c->steps; t++)
        for (int64_t k = 0; k < c->classes; k++) r->log_probs[t * c->classes + k] = p[k * c->steps + t];
    wick_status status = WICK_OK;
    if (c->beams)
        status = wick_ctc_beam(c->ctx, c->steps, c->classes, r->log_probs, 0, c->beams, r->labels, &r->n, NULL);
    else
        r->n = wick_ctc_greedy(c->steps, c->classes, r->log_probs, 0, r->labels);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
    int64_t first = 0;
    while (r->n && is_blank(c, r->labels[r->n - 1])) r->n--;
    while (first < r->n && is_blank(c, r->labels[first])) first++;
    memmove(r->labels, r->labels + first, (size_t)(r->n -= first) * sizeof *r->labels);
    return CLI_OK;
}

static double log_add(double a, double b) {
    const double most = a > b ? a : b;
    return isinf(most) ? most : most + log1p(exp(-fabs(a - b)));
}

/* The log of the probability of what was read, over all alignments: the forward sums of the paper's section 4.1. NaN:
 * out of memory. */
static double probability_of(const classifier *c, const reading *r) {
    const int64_t states = 2 * r->n + 1;
    double *at = malloc((size_t)states * sizeof *at);
    if (!at) return NAN;
    for (int64_t t = 0; t < c->steps; t++) {
        const float *p = r->log_probs + t * c->classes;
        for (int64_t s = states - 1; s >= 0; s--) {
            const int64_t label = s % 2 ? r->labels[s / 2] : 0;
            double sum = t ? at[s] : s < 2 ? 0 : -INFINITY;
            if (t && s >= 1) sum = log_add(sum, at[s - 1]);
            if (t && s >= 3 && s % 2 && label != r->labels[s / 2 - 1]) sum = log_add(sum, at[s - 2]);
            at[s] = sum + (double)p[label];
        }
    }
    const double last = states > 1 ? log_add(at[states - 1], at[states - 2]) : at[0];
    free(at);
    return last;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static int64_t letters_in(const int64_t *labels, int64_t most) {
    int64_t n = 0;
    while (n < most && labels[n] != SOURCE_NO_LETTER) n++;
    return n;
}

/* Numbers of the words of both texts, the same for the same word: those of a into to, those of b behind them. */
static void number_words(const classifier *c, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, int64_t *to,
                         int64_t words[2]) {
    const int64_t *text[2] = {a, b}, length[2] = {n_a, n_b};
    int64_t n = 0, *begin = to + n_a + n_b + 2; /* where each word begins, of the texts one behind the other */
    for (int which = 0; which < 2; which++) {
        words[which] = -n;
        for (int64_t i = 0, end; i < length[which]; i = end + 1) {
            for (end = i; end < length[which] && !is_blank(c, text[which][end]); end++) continue;
            if (end == i) continue;
            begin[n] = which * n_a + i;
            int64_t k = 0;
            for (; k < n; k++) {
                const bool second = begin[k] >= n_a;
                const int64_t *other = text[second] + begin[k] - second * n_a,
                              left = length[second] - (begin[k] - second * n_a);
                int64_t same = 0;
                while (same < end - i && same < left && other[same] == text[which][i + same]) same++;
                if (same == end - i && (same == left || is_blank(c, other[same]))) break;
            }
            to[n] = k < n ? to[k] : n;
            n++;
        }
        words[which] += n;
    }
}

static int count_text(evaluator *e, const int64_t *is, int64_t n, const reading *r, int64_t *room) {
    const classifier *c = e->c;
    line_counts *all = &e->lines;
    int64_t edits, word_edits = 0, words[2], repeats = 0;
    for (int64_t i = 1; i < n; i++) repeats += is[i] == is[i - 1];
    number_words(c, is, n, r->labels, r->n, room, words);
    wick_status status = wick_edit_distance(c->ctx, n, is, r->n, r->labels, &edits);
    if (status == WICK_OK) status = wick_edit_distance(c->ctx, words[0], room, words[1], room + words[0], &word_edits);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
    all->texts++;
    all->right += edits == 0;
    all->letters += n, all->letter_edits += edits;
    all->words += words[0], all->word_edits += word_edits;
    all->impossible += n + repeats > c->steps;
    return CLI_OK;
}

/* The texts of the first samples, and those of the first that are read wrong. */
static bool keep_texts(evaluator *e, int64_t i, const int64_t *is, int64_t n, const reading *r, bool right) {
    line_counts *all = &e->lines;
    const char *const *names = e->c->class_names;
    if (i < EVALUATOR_SHOWN && !(all->read[i] = source_line_text(r->labels, r->n, names))) return false;
    if (right || all->n_wrong == EVALUATOR_SHOWN) return true;
    line_error *wrong = &all->wrong[all->n_wrong++];
    *wrong = (line_error){i, source_line_text(is, n, names), source_line_text(r->labels, r->n, names)};
    return wrong->is && wrong->read;
}

static int count(evaluator *e, const void *target, int64_t n) {
    const classifier *c = e->c;
    reading r;
    int64_t *room = step_buffer(2 * (c->longest + c->steps + 2), sizeof *room);
    int code = reading_new(c, &r) && room ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    for (int64_t i = 0; i < n && code == CLI_OK; i++) {
        const int64_t *is = (const int64_t *)target + i * c->longest, letters = letters_in(is, c->longest),
                      right = e->lines.right;
        code = read_text(c, e->logits + i * width(c), &r);
        if (code == CLI_OK) code = count_text(e, is, letters, &r, room);
        if (code == CLI_OK && !keep_texts(e, e->count + i, is, letters, &r, e->lines.right > right))
            code = log_fail(CLI_FAILED, "out of memory");
    }
    reading_free(&r);
    free(room);
    return code;
}

static int begin(evaluator *e) {
    evaluator_drop_lines(e);
    return CLI_OK;
}

static int measure(const evaluator *e, evaluation *r) {
    const line_counts *n = &e->lines;
    if (!n->letters) return log_fail(CLI_BAD_FILE, "no text has a character: there is nothing to measure by");
    const double cer = (double)n->letter_edits / (double)n->letters;
    evaluation_add(r, "character_accuracy", "1 - CER", 1 - cer, true);
    evaluation_add(r, "cer", "CER", cer, true);
    evaluation_add(r, "wer", "WER", n->words ? (double)n->word_edits / (double)n->words : NAN, true);
    evaluation_add(r, "text_accuracy", "texts wholly right", (double)n->right / (double)n->texts, true);
    return CLI_OK;
}

static void print(const evaluator *e) {
    const line_counts *n = &e->lines;
    if (n->n_wrong) printf("\nread wrong, the first:\n");
    for (int i = 0; i < n->n_wrong; i++)
        log_print("  #%lld \"%s\" is read \"%s\"\n", (long long)n->wrong[i].index, n->wrong[i].is, n->wrong[i].read);
    log_note(
        "%lld characters in %lld words and %lld texts; %lld edits of characters, %lld of words make one of the other",
        (long long)n->letters, (long long)n->words, (long long)n->texts, (long long)n->letter_edits,
        (long long)n->word_edits);
    if (n->impossible)
        log_note("%lld texts need more steps than the %lld that the network gives: they can't be read, and count for "
                 "nothing in the loss",
                 (long long)n->impossible, (long long)e->c->steps);
}

static void print_json(const evaluator *e, json *j) {
    const line_counts *n = &e->lines;
    json_integer(j, "characters", n->letters);
    json_integer(j, "character_edits", n->letter_edits);
    json_integer(j, "words", n->words);
    json_integer(j, "word_edits", n->word_edits);
    json_integer(j, "texts_too_long", n->impossible);
}

int ctc_check_texts(const classifier *c, const wick_dataset *dataset) {
    const int64_t most = wick_dataset_field(dataset, 1)->dims[0];
    int64_t *labels = step_buffer(most, sizeof *labels);
    int code = labels ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    for (int64_t i = 0; i < wick_dataset_count(dataset) && code == CLI_OK; i++) {
        wick_fault fault = {0};
        if (wick_dataset_get(dataset, i, (void *[WICK_DATASET_FIELDS]){NULL, labels}, &fault) != WICK_OK)
            code = log_fail(CLI_BAD_FILE, "%s", fault.text);
        const int64_t n = code == CLI_OK ? letters_in(labels, most) : 0;
        int64_t repeats = 0;
        for (int64_t k = 1; k < n; k++) repeats += labels[k] == labels[k - 1];
        if (n + repeats <= c->steps) continue;
        char *text = source_line_text(labels, n, c->class_names);
        code = log_fail(CLI_USAGE,
                        "the text \"%.100s\" needs %lld steps, one for each character and one between two that are the "
                        "same, and the network gives %lld: let it shrink the width less, or the samples be wider",
                        text ? text : "", (long long)(n + repeats), (long long)c->steps);
        free(text);
    }
    free(labels);
    return code;
}

/* ---- one sample -------------------------------------------------------------------------------------------------- */

/* What is read, malloc'ed; NULL: it can't be. */
static char *text_of(const classifier *c, const float *p, double *log_probability) {
    reading r;
    char *text = NULL;
    if (!reading_new(c, &r))
        log_fail(CLI_FAILED, "out of memory");
    else if (read_text(c, p, &r) == CLI_OK) {
        *log_probability = probability_of(c, &r);
        text = source_line_text(r.labels, r.n, c->class_names);
    }
    reading_free(&r);
    return text;
}

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)target, (void)label;
    double log_probability = NAN;
    char *text = text_of(c, p, &log_probability);
    if (!text) return;
    log_print(": \"%s\"", text);
    printf("  %.2f %%", 100 * exp(log_probability));
    if (c->text && strcmp(c->text, text) != 0) log_print("  (is \"%s\")", c->text);
    fputc('\n', stdout);
    free(text);
}

static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)target, (void)label;
    double log_probability = NAN;
    char *text = text_of(c, p, &log_probability);
    if (!text) return;
    json_text(j, "read", text);
    json_real(j, "log_probability", log_probability, 9);
    if (c->text) json_text(j, "is", c->text);
    free(text);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static bool line_picture(FILE *out, const classifier *c, const uint8_t *pixels) {
    const int64_t high = c->dims[c->rank - 2], wide = c->dims[c->rank - 1], n = high * wide;
    const bool colours = c->rank == 3 && c->dims[0] == 3;
    uint8_t *rgb = step_buffer(n, 3);
    if (!rgb) return false;
    for (int64_t k = 0; k < n; k++)
        for (int ch = 0; ch < 3; ch++) rgb[3 * k + ch] = pixels[(colours ? ch : 0) * n + k];
    fputs("<img style=\"max-width:100%\" alt=\"a line of text\" src=\"", out);
    const bool ok = png_data_uri(out, rgb, high, wide, 3);
    fputs("\">", out);
    free(rgb);
    return ok;
}

static bool report(FILE *out, const evaluator *e) {
    const line_counts *n = &e->lines;
    const classifier *c = e->c;
    chart_text text[2];
    fprintf(out,
            "<p>CER is how many characters have to be put in, taken out or changed, over those of the texts: %s of %s; "
            "WER the same of words. Of %s",
            text_count(text[0], n->letter_edits), text_count(text[1], n->letters), text_count(text[0], n->texts));
    fprintf(out, " texts %s are wholly right.</p>\n<h3>The first samples</h3>\n<div class=\"card wide\"><table><thead>",
            text_count(text[1], n->right));
    fputs("<tr><th></th><th>is</th><th>is read</th></tr></thead><tbody>\n", out);
    int64_t *labels = step_buffer(c->longest, sizeof *labels);
    bool ok = labels != NULL;
    for (int64_t i = 0; ok && i < e->count && i < EVALUATOR_SHOWN; i++) {
        const uint8_t *pixels = c->floats ? NULL : wick_dataset_sample(e->dataset, i);
        ok = wick_dataset_get(e->dataset, i, (void *[WICK_DATASET_FIELDS]){NULL, labels}, NULL) == WICK_OK;
        char *is = ok ? source_line_text(labels, c->longest, c->class_names) : NULL;
        fputs("<tr><td>", out);
        if (pixels && ok) ok = line_picture(out, c, pixels);
        fputs("</td><td>", out);
        html_text(out, is ? is : "");
        fputs("</td><td>", out);
        html_text(out, e->lines.read[i]);
        fputs("</td></tr>\n", out);
        free(is);
    }
    fputs("</tbody></table></div>\n", out);
    free(labels);
    return ok;
}

const task task_ctc = {.kind = TASK_CTC,
                       .name = "ctc",
                       .learned = "a reader of texts, with %lld symbol%s (the blank is one)",
                       .output = "log_probabilities",
                       .doc = "of each symbol at each step, [N, symbols, steps]; symbol 0 is the blank",
                       .loss = "CTC loss of a character",
                       .score = "character_accuracy",
                       .score_title = "1 - CER",
                       .by_score = true,
                       .percent = true,
                       .predictions = predictions,
                       .rows = rows,
                       .width = width,
                       .begin = begin,
                       .count = count,
                       .measure = measure,
                       .print = print,
                       .print_json = print_json,
                       .show = show,
                       .show_json = show_json,
                       .report = report};
