/* Whether two samples show the same: a person, a voice, a thing that the training never saw. The network gives a
 * vector, which is made as long as 1; alike are those whose cosine is high. It learns from the identities of the
 * training by CosFace (Wang et al. 2018, arXiv 1801.09414, equation 4): the cross-entropy of s (cos - m [k = y]), cos
 * being that between the vector and a learned one for each identity. Scores are of identities that are held out. */
#include "embed.h"

#include "../evaluate.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../step.h"
#include "../../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double scale = 16; /* s: large enough for thousands of identities to be told apart with certainty */

static wick_tensor *unit(wick_tensor *x) {
    const int last = wick_tensor_rank(x) - 1;
    wick_tensor *square = wick_sum(wick_mul(x, x), 1, &last, true);
    return wick_div(x, wick_sqrt(wick_add(square, wick_like(square, 1e-12))));
}

wick_tensor *embed_prototypes(classifier *c) {
    const int64_t dims[2] = {c->identities, c->classes};
    return wick_model_state(c->model, "identities.weight", WICK_ROLE_PARAM, WICK_F32, 2, dims,
                            wick_init_truncated(0, 1 / sqrt((double)c->classes)));
}
wick_tensor *embed_threshold(classifier *c) {
    wick_tensor *x =
        wick_model_state(c->model, "threshold", WICK_ROLE_BUFFER, WICK_F32, 0, NULL, wick_init_constant(NAN));
    if (wick_tensor_error(x, NULL) == WICK_OK && wick_model_freeze(c->model, "threshold", true) != WICK_OK)
        wick_context_clear_error(c->ctx);
    return x;
}

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    (void)c, (void)x;
    return unit(y);
}

/* Of held-out identities there are no learned vectors: their loss is measured by those of each other. */
static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)x;
    const int64_t n = wick_tensor_dim(y, 0);
    if (!wick_model_training(c->model)) return wick_zeros(c->ctx, WICK_F32, 1, &n);
    wick_tensor *cosine = wick_matmul(unit(y), wick_transpose(unit(embed_prototypes(c)), 0, 1));
    wick_tensor *own = wick_one_hot(target, c->identities, WICK_F32);
    cosine = wick_sub(cosine, wick_mul(own, wick_like(own, c->margin)));
    return wick_cross_entropy_rows(wick_mul(cosine, wick_like(cosine, scale)), target);
}

static int64_t width(const classifier *c) { return c->classes; }

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

typedef struct pair {
    float similarity;
    bool same;
} pair;
static int by_similarity(const void *a, const void *b) {
    const pair *x = a, *y = b;
    return (x->similarity < y->similarity) - (x->similarity > y->similarity);
}

static float cosine_of(const float *a, const float *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (double)a[k] * (double)b[k];
    return (float)sum;
}

/* From the most alike on. *count: how many; NULL: out of memory. Of many samples those at even distances make pairs. */
static pair *make_pairs(const evaluator *e, int64_t *count, int64_t *samples) {
    enum { MOST = 2000 };
    const int64_t n = e->count < MOST ? e->count : MOST, wide = e->c->classes;
    pair *list = malloc((size_t)(n * (n - 1) / 2 + 1) * sizeof *list);
    int64_t made = 0;
    for (int64_t i = 0; list && i < n; i++)
        for (int64_t k = 0; k < i; k++) {
            const int64_t a = i * e->count / n, b = k * e->count / n;
            list[made++] =
                (pair){cosine_of(e->kept + a * wide, e->kept + b * wide, wide), e->labels[a] == e->labels[b]};
        }
    if (list) qsort(list, (size_t)made, sizeof *list, by_similarity);
    *count = made, *samples = n;
    return list;
}

/* Pairs that are at least as alike as a threshold are taken for the same. Thresholds are the similarities there are,
 * and one that is above all, as in scikit-learn's roc_curve(drop_intermediate=False). */
static void count_pairs(const pair *list, int64_t n, double threshold, pair_scores *s) {
    double best = 2, accepted[2] = {0, 0}, area = 0, at = 0, wrong = 0;
    *s = (pair_scores){.pairs = n, .threshold = threshold};
    for (int64_t i = 0; i < n; i++) s->same += list[i].same;
    const double same = (double)s->same, other = (double)(n - s->same);
    for (int64_t i = 0, end; i <= n; i = end) {
        const double rejected = 1 - accepted[1] / same, taken = accepted[0] / other;
        if (fabs(rejected - taken) < best) {
            best = fabs(rejected - taken);
            s->eer = (rejected + taken) / 2;
            s->equal = i ? (double)list[i - 1].similarity : INFINITY;
        }
        if (i == n) break;
        double now[2] = {0, 0};
        for (end = i; end < n && list[end].similarity == list[i].similarity; end++) now[list[end].same]++;
        area += now[0] * (accepted[1] + now[1] / 2);
        accepted[0] += now[0], accepted[1] += now[1];
        if ((double)list[i].similarity >= threshold) at = accepted[0], wrong = accepted[1];
    }
    s->auc = area / (same * other);
    s->false_accepts = isnan(threshold) ? NAN : at / other;
    s->false_rejects = isnan(threshold) ? NAN : 1 - wrong / same;
}

static double threshold_of(const classifier *c) {
    float value = NAN;
    wick_tensor *x = embed_threshold((classifier *)c);
    return wick_tensor_error(x, NULL) == WICK_OK && wick_read(x, &value, sizeof value) == WICK_OK ? (double)value
                                                                                                  : (double)NAN;
}

/* ---- identities -------------------------------------------------------------------------------------------------- */

/* Sums of the vectors of each identity; false: out of memory. */
static bool add_up(const evaluator *e, int64_t *n, double **sums, int64_t **counts) {
    const int64_t wide = e->c->classes;
    *n = 0;
    for (int64_t i = 0; i < e->count; i++)
        if (e->labels[i] >= *n) *n = e->labels[i] + 1;
    *sums = calloc((size_t)(*n * wide + 1), sizeof **sums);
    *counts = calloc((size_t)*n + 1, sizeof **counts);
    for (int64_t i = 0; *sums && *counts && i < e->count; i++) {
        (*counts)[e->labels[i]]++;
        for (int64_t k = 0; k < wide; k++) (*sums)[e->labels[i] * wide + k] += (double)e->kept[i * wide + k];
    }
    return *sums && *counts;
}

/* The cosine of sample i and the mean of identity k, which i itself is no part of; NaN: it has no other sample. */
static double to_mean(const evaluator *e, int64_t i, int64_t k, const double *sums, const int64_t *counts) {
    const int64_t wide = e->c->classes;
    const float *x = e->kept + i * wide;
    const bool own = e->labels[i] == k;
    double dot = 0, square = 0;
    if (counts[k] - own < 1) return NAN;
    for (int64_t d = 0; d < wide; d++) {
        const double m = sums[k * wide + d] - (own ? (double)x[d] : 0);
        dot += m * (double)x[d], square += m * m;
    }
    return square > 0 ? dot / sqrt(square) : 0;
}

/* How often the nearest identity, each enrolled by the mean of its other samples, is the right one; and the softmax of
 * s cos over them. Samples that are alone of their identity are left out. */
static int enrol(const evaluator *e, double *nearest, double *loss) {
    double *sums, right = 0, lost = 0, seen = 0;
    int64_t *counts, n;
    const bool ok = add_up(e, &n, &sums, &counts);
    for (int64_t i = 0; ok && i < e->count; i++) {
        double sum = 0;
        const double own = to_mean(e, i, e->labels[i], sums, counts);
        bool first = true;
        if (isnan(own)) continue;
        for (int64_t k = 0; k < n; k++) {
            const double other = k == e->labels[i] ? own : to_mean(e, i, k, sums, counts);
            if (isnan(other)) continue;
            first &= k == e->labels[i] || other < own;
            sum += exp(scale * (other - own));
        }
        right += first, lost += log(sum), seen++;
    }
    free(sums);
    free(counts);
    *nearest = right / seen, *loss = lost / seen;
    return ok ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static int score(const evaluator *e, pair_scores *s) {
    int64_t n;
    pair *list = make_pairs(e, &n, &s->samples);
    const int64_t samples = s->samples;
    if (!list) return log_fail(CLI_FAILED, "out of memory");
    count_pairs(list, n, threshold_of(e->c), s);
    s->samples = samples;
    free(list);
    if (s->same && s->same < n) return CLI_OK;
    return log_fail(CLI_BAD_FILE,
                    "there is no pair of samples of %s: at least two identities with two samples are "
                    "needed to measure by",
                    s->same ? "two identities" : "one identity");
}

static int measure(const evaluator *e, evaluation *r) {
    pair_scores s;
    double nearest = NAN;
    int code = score(e, &s);
    if (code == CLI_OK) code = enrol(e, &nearest, &r->loss);
    if (code != CLI_OK) return code;
    evaluation_add(r, "auc", "AUC of pairs", s.auc, true);
    evaluation_add(r, "eer", "EER of pairs", s.eer, true);
    evaluation_add(r, "nearest_accuracy", "nearest is right", nearest, true);
    if (isnan(s.threshold)) return CLI_OK;
    evaluation_add(r, "false_accepts", "false accepts", s.false_accepts, true);
    evaluation_add(r, "false_rejects", "false rejects", s.false_rejects, true);
    return CLI_OK;
}

static int settle(const evaluator *e) {
    pair_scores s;
    const int code = score(e, &s);
    if (code != CLI_OK) return code;
    const float value = (float)s.equal;
    const wick_status status = wick_write(embed_threshold(e->c), &value, sizeof value);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(e->c->ctx, status));
}

static void print(const evaluator *e) {
    pair_scores s;
    if (score(e, &s) != CLI_OK) return;
    log_note("%lld pairs of %lld samples, %lld of them of one identity; equal errors at a similarity of %.4f",
             (long long)s.pairs, (long long)s.samples, (long long)s.same, s.equal);
    if (isnan(s.threshold))
        log_note("the training held out no identities for validation: the model has no threshold");
    else
        log_note(
            "accepts and rejects go by the model's threshold, %.4f, which was chosen on the validation's identities",
            s.threshold);
}
static void print_json(const evaluator *e, json *j) {
    pair_scores s;
    if (score(e, &s) != CLI_OK) return;
    json_integer(j, "pairs", s.pairs);
    json_integer(j, "pairs_of_one", s.same);
    json_integer(j, "paired_samples", s.samples);
    json_real(j, "equal_error_threshold", s.equal, 9);
    json_real(j, "threshold", s.threshold, 9);
}

/* ---- one sample -------------------------------------------------------------------------------------------------- */

/* The enrolled identity that is nearest. */
static int64_t nearest_of(const classifier *c, const float *p, double *similarity) {
    int64_t best = 0;
    *similarity = -2;
    for (int64_t k = 0; k < c->enrolled->n; k++) {
        const double s = (double)cosine_of(p, c->enrolled->means + k * c->classes, c->classes);
        if (s > *similarity) best = k, *similarity = s;
    }
    return best;
}

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    double similarity;
    (void)target, (void)label;
    if (!c->enrolled) {
        fputs(":", stdout);
        for (int64_t k = 0; k < c->classes; k++) printf(" %.6g", (double)p[k]);
        fputc('\n', stdout);
        return;
    }
    const double threshold = threshold_of(c);
    log_print(": nearest is %s", c->enrolled->names[nearest_of(c, p, &similarity)]);
    printf(", similarity %.4f", similarity);
    if (!isnan(threshold))
        printf(": %s (the threshold is %.4f)", similarity >= threshold ? "the same" : "another", threshold);
    fputc('\n', stdout);
}

static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    double similarity;
    (void)target, (void)label;
    json_open(j, "embedding", '[');
    for (int64_t k = 0; k < c->classes; k++) json_real(j, NULL, (double)p[k], 7);
    json_close(j, ']');
    if (!c->enrolled) return;
    const double threshold = threshold_of(c);
    json_text(j, "nearest", c->enrolled->names[nearest_of(c, p, &similarity)]);
    json_real(j, "similarity", similarity, 9);
    json_real(j, "threshold", threshold, 9);
    if (!isnan(threshold)) json_bool(j, "same", similarity >= threshold);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

/* How many pairs of each kind there are by similarity, as shares of their kind. */
static void histogram(FILE *out, const pair *list, int64_t n, int64_t same) {
    enum { BINS = 40 };
    double x[BINS], share[2][BINS] = {{0}};
    for (int k = 0; k < BINS; k++) x[k] = -1 + (2.0 * k + 1) / BINS;
    for (int64_t i = 0; i < n; i++) {
        const double at = ((double)list[i].similarity + 1) / 2 * BINS;
        share[list[i].same][at < 0       ? 0
                            : at >= BINS ? BINS - 1
                                         : (int)at] += 100 / (double)(list[i].same ? same : n - same);
    }
    const chart_line lines[] = {{.name = "one identity", .style = "a", .x = x, .y = share[1], .n = BINS},
                                {.name = "two identities", .style = "b", .x = x, .y = share[0], .n = BINS}};
    const chart c = {.id = "pairs",
                     .title = "Pairs by similarity",
                     .description = "shares of the pairs of one identity, and of two, at each cosine",
                     .x_name = "similarity",
                     .unit = NBSP "%",
                     .width = 720,
                     .height = 260,
                     .from_zero = true,
                     .n = 2,
                     .lines = lines};
    chart_draw(out, &c);
}

static bool report(FILE *out, const evaluator *e) {
    pair_scores s;
    chart_text text[2];
    int64_t n;
    if (score(e, &s) != CLI_OK) return false;
    pair *list = make_pairs(e, &n, &s.samples);
    if (!list) return false;
    fprintf(
        out,
        "<p>The similarity of two samples is the cosine of their vectors. Of %s pairs %s are of one identity, none of "
        "which the training had. ",
        text_count(text[0], s.pairs), text_count(text[1], s.same));
    fprintf(out, "Equal errors, %.2f" NBSP "%%, are at a similarity of %.3f", 100 * s.eer, s.equal);
    if (!isnan(s.threshold))
        fprintf(out,
                "; at the model's threshold, %.3f, %.2f" NBSP
                "%% of the pairs of two identities are taken for one, and %.2f" NBSP "%% of those of one for two",
                s.threshold, 100 * s.false_accepts, 100 * s.false_rejects);
    fputs(".</p>\n<div class=\"card wide\">", out);
    histogram(out, list, n, s.same);
    fputs("</div>\n", out);
    free(list);
    return true;
}

int enrolled_of(const evaluator *e, enrolled *to) {
    double *sums;
    int64_t *counts, n;
    const int64_t wide = e->c->classes;
    bool ok = add_up(e, &n, &sums, &counts);
    to->means = ok ? malloc((size_t)(n * wide + 1) * sizeof *to->means) : NULL;
    to->names = ok ? calloc((size_t)n + 1, sizeof *to->names) : NULL;
    ok = to->means && to->names;
    for (int64_t k = 0; ok && k < n; k++) {
        double square = 0;
        if (!counts[k]) continue;
        for (int64_t d = 0; d < wide; d++) square += sums[k * wide + d] * sums[k * wide + d];
        for (int64_t d = 0; d < wide; d++)
            to->means[to->n * wide + d] = (float)(square > 0 ? sums[k * wide + d] / sqrt(square) : 0);
        to->names[to->n] = strdup(wick_dataset_class_name(e->dataset, k));
        ok = to->names[to->n] != NULL;
        to->n += ok;
    }
    free(sums);
    free(counts);
    return ok ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
}

void enrolled_free(enrolled *e) {
    for (int64_t k = 0; k < e->n; k++) free(e->names[k]);
    free(e->names);
    free(e->means);
    *e = (enrolled){0};
}

const task task_embed = {.kind = TASK_EMBED,
                         .name = "embed",
                         .learned = "an embedding in %lld number%s",
                         .output = "embedding",
                         .doc = "a vector of length 1; the cosine of two is how alike their samples are",
                         .loss = "cosine softmax",
                         .score = "auc",
                         .score_title = "AUC of pairs",
                         .by_score = true,
                         .percent = true,
                         .predictions = predictions,
                         .rows = rows,
                         .width = width,
                         .measure = measure,
                         .settle = settle,
                         .print = print,
                         .print_json = print_json,
                         .show = show,
                         .show_json = show_json,
                         .report = report};
