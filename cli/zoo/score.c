/* How good a model is on the held-out part, and what the trivial way reaches there. */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"
#include "../train/boxes/point_table.h"

#include "wick/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DAY = 48 /* half hours */, LEFT_EYE = 36, RIGHT_EYE = 45 /* outer corners, of the 68 points of iBUG */ };

bool zoo_meets(const zoo_model *m, double score) {
    return zoo_lower_is_better(m->metric) ? score <= m->demand : score >= m->demand;
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static void score_classes(const zoo_model *m, const evaluator *e, const evaluation *got, const wick_dataset *train,
                          zoo_result *r) {
    const int64_t classes = e->c->classes;
    if (m->metric == ZOO_RECALL) {
        double sum = 0;
        for (int64_t k = 0; k < classes; k++) sum += scores_of(e->classes[k]).recall;
        r->score = sum / (double)classes;
        r->baseline = 1 / (double)classes;
    } else if (m->metric == ZOO_F1) {
        const double share = (double)e->classes[1].support / (double)got->count;
        r->score = scores_of(e->classes[1]).f1;
        r->baseline = 2 * share / (1 + share);
    } else {
        int64_t *counts = calloc((size_t)classes, sizeof *counts), most = 0;
        for (int64_t i = 0; counts && i < wick_dataset_count(train); i++) {
            const int64_t label = wick_dataset_label(train, i);
            if (label >= 0 && label < classes) counts[label]++;
        }
        for (int64_t k = 0; counts && k < classes; k++)
            if (counts[k] > counts[most]) most = k;
        r->score = (double)got->correct / (double)got->count;
        r->baseline = counts ? (double)e->classes[most].support / (double)got->count : NAN;
        free(counts);
    }
}

/* What is kept of each sample: how much class 1 is ahead, and its label. */
typedef struct margins {
    float *x;
    int64_t *labels;
} margins;
static void keep_margins(const evaluator *e, int64_t first, int64_t n, void *user) {
    const margins *kept = user;
    for (int64_t i = 0; i < n; i++) {
        kept->x[first + i] = e->logits[2 * i + 1] - e->logits[2 * i];
        kept->labels[first + i] = e->y[i];
    }
}

static int run_margins(const zoo_model *m, evaluator *e, evaluation *got, margins *kept) {
    if (e->c->task->kind != TASK_CLASSIFY || e->c->classes != 2)
        return log_fail(CLI_BAD_FILE, "%s: its model does not tell two classes apart", m->name);
    const size_t n = (size_t)wick_dataset_count(e->dataset) + 1;
    *kept = (margins){malloc(n * sizeof *kept->x), malloc(n * sizeof *kept->labels)};
    e->look = keep_margins, e->user = kept;
    return kept->x && kept->labels ? evaluator_run(e, got) : zoo_out_of_memory();
}

static int score_auc(const zoo_model *m, evaluator *e, evaluation *got, zoo_result *r) {
    margins kept = {0};
    int code = run_margins(m, e, got, &kept);
    wick_scope *scope = code == CLI_OK ? wick_scope_open(e->c->ctx) : NULL;
    if (code == CLI_OK && !scope) code = zoo_out_of_memory();
    if (scope) {
        const wick_status status =
            wick_roc_auc(wick_from(e->c->ctx, WICK_F32, WICK_DIMS(got->count), kept.x),
                         wick_from(e->c->ctx, WICK_I64, WICK_DIMS(got->count), kept.labels), &r->score);
        if (status != WICK_OK) code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(e->c->ctx, status));
        wick_scope_close(&scope);
    }
    r->baseline = 0.5;
    free(kept.x), free(kept.labels);
    return code;
}

/* A line "LABEL tab TEXT tab PACKAGE tab ROUGE"; false: it is not, or of another label. */
static bool read_sentence(const char *line, int64_t label, int64_t *package, double *rouge) {
    const char *text = strchr(line, '\t'), *s = text ? strchr(text + 1, '\t') : NULL;
    char *end;
    if (!s || (line[0] == 'y') != (label == 1)) return false;
    *package = strtoll(s + 1, &end, 10);
    if (*end != '\t') return false;
    *rouge = strtod(end + 1, &end);
    return !*end;
}

/* Of each package the sentence with the highest margin, the first of equal ones; r: beside its first sentence. */
static bool pick_sentences(const zoo_table *t, const margins *kept, zoo_result *r) {
    int64_t package, before = -1, packages = 0;
    double rouge, best = 0, sum = 0, first = 0;
    float most = 0;
    for (int64_t i = 0; i < t->n; i++, before = package) {
        if (!read_sentence(t->lines[i], kept->labels[i], &package, &rouge)) return false;
        const bool starts = package != before;
        if (starts) sum += best, first += rouge, packages++;
        if (starts || kept->x[i] > most) most = kept->x[i], best = rouge;
    }
    r->score = (sum + best) / (double)packages;
    r->baseline = first / (double)packages;
    return packages > 0;
}

static int score_rouge(const zoo_model *m, evaluator *e, evaluation *got, zoo_result *r) {
    margins kept = {0};
    zoo_table t = {0};
    char *path = path_join(e->c->data, "test.tsv");
    int code = path ? run_margins(m, e, got, &kept) : zoo_out_of_memory();
    if (code == CLI_OK) code = zoo_read_table(path, &t);
    if (code == CLI_OK && (t.n != got->count || !pick_sentences(&t, &kept, r)))
        code = log_fail(CLI_BAD_FILE, "%s: is not what was prepared", path);
    zoo_free_table(&t);
    free(path), free(kept.x), free(kept.labels);
    return code;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

typedef struct truth {
    const evaluator *e;
    const wick_dataset *test, *train;
    int64_t n, k;          /* test samples, numbers of each */
    float *x, *y;          /* a sample */
    double *mean, *square; /* of the training's targets, [k] */
} truth;

static bool get_sample(const wick_dataset *d, int64_t i, float *x, float *y) {
    return wick_dataset_get(d, i, (void *[WICK_DATASET_FIELDS]){x, y}, NULL) == WICK_OK;
}

/* Means and variances of the targets over the training. */
static bool measure_training(truth *t) {
    const int64_t n = wick_dataset_count(t->train);
    for (int64_t i = 0; i < n; i++) {
        if (!get_sample(t->train, i, NULL, t->y)) return false;
        for (int64_t c = 0; c < t->k; c++) {
            const double d = (double)t->y[c] - t->mean[c]; /* Welford 1962 */
            t->mean[c] += d / (double)(i + 1);
            t->square[c] += d * ((double)t->y[c] - t->mean[c]);
        }
    }
    for (int64_t c = 0; c < t->k; c++) t->square[c] /= (double)n;
    return true;
}

/* A value of the target's column in the window, `back` rows before its end. */
static double past(const truth *t, int64_t target, int64_t back) {
    const classifier *c = t->e->c;
    const int64_t columns = c->pixels / c->window, targets = t->k / c->horizon;
    return (double)t->x[(columns - targets + target / c->horizon) * c->window + c->window - back];
}

static bool score_mse(truth *t, zoo_result *r) {
    double sum = 0, trivial = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (!get_sample(t->test, i, t->x, NULL)) return false;
        for (int64_t c = 0; c < t->k; c++) {
            const double y = (double)t->e->targets[i * t->k + c], q = (double)t->e->kept[i * t->k + c] - y,
                         last = past(t, c, 1) - y;
            sum += q * q / t->square[c];
            trivial += last * last / t->square[c];
        }
    }
    r->score = sum / (double)(t->n * t->k);
    r->baseline = trivial / (double)(t->n * t->k);
    return true;
}

static bool score_mape(truth *t, zoo_result *r) {
    double sum = 0, trivial = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (!get_sample(t->test, i, t->x, NULL)) return false;
        for (int64_t c = 0; c < t->k; c++) {
            const double y = (double)t->e->targets[i * t->k + c];
            sum += fabs((double)t->e->kept[i * t->k + c] / y - 1);
            trivial += fabs(past(t, c, DAY - c % t->e->c->horizon) / y - 1);
        }
    }
    r->score = 100 * sum / (double)(t->n * t->k);
    r->baseline = 100 * trivial / (double)(t->n * t->k);
    return true;
}

/* Whether points are called by their numbers, 0, 1 ... in order, and the corners of eyes are among them. */
static bool are_numbered(const classifier *c) {
    char number[24];
    for (int64_t i = 0; i < c->classes; i++) {
        snprintf(number, sizeof number, "%lld", (long long)i);
        if (strcmp(c->class_names[i], number) != 0) return false;
    }
    return c->task->kind == TASK_KEYPOINTS && c->classes > RIGHT_EYE;
}

/* Of the points that are there, in pictures with both corners. */
static bool score_nme(truth *t, zoo_result *r) {
    const int64_t wide = POINT_WIDTH, points = t->e->c->classes;
    double sum = 0, trivial = 0, n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const float *y = t->e->targets + i * t->k, *q = t->e->kept + i * t->k, *left = y + wide * LEFT_EYE,
                    *right = y + wide * RIGHT_EYE;
        const double eyes = hypot((double)(left[0] - right[0]), (double)(left[1] - right[1]));
        if (left[2] == 0 || right[2] == 0 || eyes == 0) continue;
        for (int64_t p = 0; p < points; p++) {
            const int64_t a = wide * p, b = a + 1;
            if (y[a + 2] == 0) continue;
            sum += hypot((double)(q[a] - y[a]), (double)(q[b] - y[b])) / eyes;
            trivial += hypot(t->mean[a] - (double)y[a], t->mean[b] - (double)y[b]) / eyes;
            n++;
        }
    }
    r->score = 100 * sum / n;
    r->baseline = 100 * trivial / n;
    return are_numbered(t->e->c) && n > 0;
}

/* Of the points that are there: the share that is at most a fifth of the larger side away of the box around them (Yang
 * and Ramanan 2013), and that of the training's means. */
static bool score_pck(truth *t, zoo_result *r) {
    const int64_t wide = POINT_WIDTH, points = t->e->c->classes;
    int64_t near = 0, trivial = 0, n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const float *y = t->e->targets + i * t->k, *q = t->e->kept + i * t->k;
        double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
        for (int64_t p = 0; p < points; p++)
            for (int d = 0; d < 2 && y[wide * p + 2] != 0; d++) {
                low[d] = fmin(low[d], (double)y[wide * p + d]);
                high[d] = fmax(high[d], (double)y[wide * p + d]);
            }
        const double fifth = fmax(high[0] - low[0], high[1] - low[1]) / 5;
        for (int64_t p = 0; p < points; p++) {
            const int64_t a = wide * p, b = a + 1;
            if (y[a + 2] == 0) continue;
            near += hypot((double)(q[a] - y[a]), (double)(q[b] - y[b])) <= fifth;
            trivial += hypot(t->mean[a] - (double)y[a], t->mean[b] - (double)y[b]) <= fifth;
            n++;
        }
    }
    r->score = (double)near / (double)n;
    r->baseline = (double)trivial / (double)n;
    return t->e->c->task->kind == TASK_KEYPOINTS && n > 0;
}

/* Scale-invariant ratio of signal to distortion, in dB (Le Roux et al. 2019), without means. */
static double si_sdr(const float *estimate, const float *clean, int64_t n) {
    double ec = 0, cc = 0, ee = 0;
    for (int64_t i = 0; i < n; i++) {
        ec += (double)estimate[i] * (double)clean[i];
        cc += (double)clean[i] * (double)clean[i];
        ee += (double)estimate[i] * (double)estimate[i];
    }
    const double signal = ec * ec / cc;
    return 10 * log10(signal / (ee - signal));
}

static bool score_si_sdr(truth *t, zoo_result *r) {
    double sum = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (!get_sample(t->test, i, t->x, NULL)) return false;
        const float *clean = t->e->targets + i * t->k;
        sum += si_sdr(t->e->kept + i * t->k, clean, t->k) - si_sdr(t->x, clean, t->k);
    }
    r->score = sum / (double)t->n;
    r->baseline = 0;
    return true;
}

static int score_numbers(const zoo_model *m, const evaluator *e, const wick_dataset *train, const wick_dataset *test,
                         zoo_result *r) {
    truth t = {.e = e, .test = test, .train = train, .n = e->count, .k = classifier_target_width(e->c)};
    const bool windows = m->metric == ZOO_MSE || m->metric == ZOO_MAPE;
    const bool waves = m->metric == ZOO_SI_SDR;
    if (windows && (!e->c->window || (m->metric == ZOO_MAPE && e->c->window < DAY)))
        return log_fail(CLI_BAD_FILE, "%s: its samples are no windows", m->name);
    if (waves && e->c->pixels != t.k)
        return log_fail(CLI_BAD_FILE, "%s: its samples are not as long as what it gives", m->name);
    t.x = windows || waves ? malloc((size_t)e->c->pixels * sizeof *t.x) : NULL;
    t.y = malloc((size_t)t.k * sizeof *t.y);
    t.mean = calloc((size_t)t.k, sizeof *t.mean);
    t.square = calloc((size_t)t.k, sizeof *t.square);
    int code = (t.x || !(windows || waves)) && t.y && t.mean && t.square ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK && !(measure_training(&t) && (m->metric == ZOO_MSE    ? score_mse(&t, r)
                                                     : m->metric == ZOO_MAPE ? score_mape(&t, r)
                                                     : m->metric == ZOO_PCK  ? score_pck(&t, r)
                                                     : waves                 ? score_si_sdr(&t, r)
                                                                             : score_nme(&t, r))))
        code = log_fail(CLI_BAD_FILE, "%s: its samples cannot be read, or are not what it learns", m->name);
    free(t.x), free(t.y), free(t.mean), free(t.square);
    return code;
}

/* ---- pixels and words -------------------------------------------------------------------------------------------- */

static int score_places(const zoo_model *m, const evaluator *e, const evaluation *got, const wick_dataset *train,
                        const wick_dataset *test, zoo_result *r) {
    const bool pixels = m->metric == ZOO_MIOU;
    if (e->c->task->kind != (pixels ? TASK_SEGMENT : m->metric == ZOO_CER ? TASK_CTC : TASK_TAG))
        return log_fail(CLI_BAD_FILE, "%s: its model learns something else", m->name);
    if (m->metric == ZOO_CER) {
        r->score = 100 * (double)e->lines.letter_edits / (double)e->lines.letters;
        r->baseline = 100; /* of an empty text */
        return CLI_OK;
    }
    r->score = got->scores[0].value; /* the one that its task is followed by */
    return pixels ? zoo_place_baseline(e, train, test, &r->baseline) : zoo_tag_baseline(e, &r->baseline);
}

static int open_part(classifier *c, const char *split, wick_dataset **out) {
    const source_options form = {.told = true};
    classifier_note_changed(c, c->data, split);
    const wick_status status = classifier_open_split(c, c->data, split, &form, out);
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(c->ctx, status));
}

static double score_named(const evaluation *got, const char *key) {
    for (int i = 0; i < got->n; i++)
        if (strcmp(got->scores[i].key, key) == 0) return got->scores[i].value;
    return NAN;
}

/* The score and the baseline, of what the metric is of. */
static int judge(const zoo_model *m, evaluator *e, const wick_dataset *train, const wick_dataset *test, zoo_result *r) {
    evaluation got;
    int code = m->metric == ZOO_AUC     ? score_auc(m, e, &got, r)
               : m->metric == ZOO_ROUGE ? score_rouge(m, e, &got, r)
                                        : evaluator_run(e, &got);
    if (code != CLI_OK) return code;
    r->samples = got.count;
    r->parameters = classifier_parameters(e->c);
    if (m->metric == ZOO_MIOU || m->metric == ZOO_SPAN_F1 || m->metric == ZOO_CER)
        code = score_places(m, e, &got, train, test, r);
    else if (m->metric == ZOO_HEADS)
        code = zoo_score_heads(m, e, train, r);
    else if (m->metric == ZOO_MAP50)
        code = e->c->task->kind != TASK_DETECT
                   ? log_fail(CLI_BAD_FILE, "%s: its model learns something else", m->name)
                   : (r->score = got.scores[0].value, zoo_box_baseline(e, train, &r->baseline));
    else if (m->metric == ZOO_IOU)
        code = e->c->task->kind != TASK_TRACK
                   ? log_fail(CLI_BAD_FILE, "%s: its model learns something else", m->name)
                   : (r->score = score_named(&got, "iou"), zoo_track_baseline(e, train, &r->baseline));
    else if (m->metric == ZOO_DELTA)
        code = e->c->task->kind != TASK_DENSE
                   ? log_fail(CLI_BAD_FILE, "%s: its model learns something else", m->name)
                   : (r->score = score_named(&got, "delta1"), zoo_map_baseline(e, train, test, &r->baseline));
    else if (e->c->task->kind != TASK_CLASSIFY)
        code = score_numbers(m, e, train, test, r);
    else if (m->metric != ZOO_AUC && m->metric != ZOO_ROUGE) {
        score_classes(m, e, &got, train, r);
        code = zoo_score_outside(e, got.count, r);
    }
    r->met = zoo_meets(m, r->score);
    return code;
}

int zoo_score(wick_context *ctx, const zoo_model *m, const char *path, zoo_result *r) {
    classifier c = {0};
    wick_dataset *train = NULL, *test = NULL;
    evaluator e = {0};
    int code = classifier_load(&c, ctx, path);
    if (code == CLI_OK) classifier_set_pictures(&c);
    if (code == CLI_OK) code = open_part(&c, "train", &train);
    if (code == CLI_OK) code = open_part(&c, "test", &test);
    if (code == CLI_OK && c.classes != m->outputs)
        code = log_fail(CLI_BAD_FILE, "%s: gives %lld numbers, and %s %lld", path, (long long)c.classes, m->name,
                        (long long)m->outputs);
    if (code == CLI_OK) code = evaluator_new(&e, &c, test);
    if (code == CLI_OK) code = judge(m, &e, train, test, r);
    evaluator_free(&e);
    wick_dataset_free(&train);
    wick_dataset_free(&test);
    classifier_free(&c);
    return code;
}
