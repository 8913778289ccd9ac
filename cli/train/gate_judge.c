/* gate_judge.c: how much worse what was made is than the whole model, by what its task is judged by, and how sure that
 * is. Both judge the same samples, so that only what differs between them counts. */
#include "gate.h"
#include "paired.h"

#include "../options.h"
#include "../step.h"
#include "../term/log.h"

#include "wick/datasets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- by what ------------------------------------------------------------------------------------------------------
 */

static gate_way way_of(const classifier *c) {
    switch (c->task->kind) {
    case TASK_CLASSIFY:
        return GATE_PAIRS;
    case TASK_REGRESS:
        return GATE_SQUARES;
    case TASK_AUTOENCODE:
        return GATE_MEANS;
    default:
        return GATE_GROUPS;
    }
}

/* Of --anomalies those whose class the training did not have, where any has one that it had. */
static int take_anomalies(gate *g) {
    const int64_t n = wick_dataset_count(g->given), pixels = g->c.pixels;
    int64_t *odd = step_buffer(n, sizeof *odd), label = -1, known = 0, found = 0;
    float *x = step_buffer(pixels, sizeof *x);
    wick_fault fault = {0};
    int code = odd && x ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    for (int64_t i = 0; i < n && code == CLI_OK; i++) {
        if (wick_dataset_get(g->given, i, (void *[WICK_DATASET_FIELDS]){x, &label}, &fault) != WICK_OK)
            code = log_fail(CLI_BAD_FILE, "%s", fault.text);
        if (label < 0)
            odd[found++] = i;
        else
            known++;
    }
    if (code == CLI_OK && !found)
        code = log_fail(CLI_BAD_FILE,
                        "--anomalies %s: all %lld samples have classes that the training had, and count as normal",
                        g->o->gate.anomalies, (long long)known);
    if (code == CLI_OK) {
        log_note("%lld anomalies of %s%s", (long long)found, g->o->gate.anomalies,
                 known ? ": those whose class the training did not have" : "");
        const wick_status status = wick_dataset_subset(g->ctx, g->given, found, odd, &g->odd);
        if (status != WICK_OK) code = gate_failed(g, status, CLI_BAD_FILE);
    }
    free(odd);
    free(x);
    return code;
}

int gate_choose_way(gate *g, const source_options *form) {
    const char *split = "test";
    g->way = way_of(&g->c);
    if (!*g->o->gate.anomalies) {
        if (g->way == GATE_MEANS)
            log_note(
                "judged by RMSE, which says nothing of how well anomalies are told apart: --anomalies DATA judges by "
                "AUC");
        return CLI_OK;
    }
    if (g->way != GATE_MEANS)
        return log_fail(CLI_USAGE, "--anomalies is for --task autoencode; this is %s", g->c.task->name);
    g->way = GATE_RANKS;
    const int code = classifier_open_data(&g->c, g->o->gate.anomalies, &split, false, form, &g->given);
    return code == CLI_OK ? take_anomalies(g) : code;
}

gate_metric gate_metric_of(const gate *g) {
    const task *t = g->c.task;
    if (g->way == GATE_RANKS) return (gate_metric){.key = "roc_auc", .title = "AUC"};
    return (gate_metric){.key = t->score, .title = t->score_title, .percent = t->percent, .lower = t->lower};
}
const char *gate_unit(const gate *g) {
    const gate_metric m = gate_metric_of(g);
    return m.percent ? "points" : m.title;
}
void gate_score_text(const gate *g, double score, char text[32]) {
    const bool percent = gate_metric_of(g).percent;
    snprintf(text, 32, percent ? "%.2f %%" : "%.6g", (percent ? 100 : 1) * score);
}
const char *gate_judged(const gate *g) { return g->says ? g->says : g->judging; }
bool gate_is_worse(const gate *g, double score, double than) {
    return gate_metric_of(g).lower ? score > than : score < than;
}

/* ---- what judges ---------------------------------------------------------------------------------------------------
 */

static bool make_room(judgement *j, int64_t n, int64_t more) {
    j->each = step_buffer(n + more, sizeof *j->each);
    j->n_each[0] = n, j->n_each[1] = more;
    return j->each != NULL;
}

static void note_right(const evaluator *e, int64_t first, int64_t n, void *user) {
    const judgement *j = user;
    for (int64_t i = 0; i < n; i++) j->each[first + i] = e->predicted[i] == e->y[i];
}

/* ---- AUC -----------------------------------------------------------------------------------------------------------
 */

static int judge_ranks(gate *g, const evaluator *e, judgement *j) {
    const int64_t n = e->count, m = wick_dataset_count(g->odd);
    evaluator other;
    evaluation result;
    float *room = step_buffer(n + m, sizeof *room);
    int code = evaluator_new(&other, &g->c, g->odd);
    other.bare = true;
    if (code == CLI_OK) code = evaluator_run(&other, &result);
    if (code == CLI_OK && (!room || !make_room(j, n, m))) code = log_fail(CLI_FAILED, "out of memory");
    for (int64_t i = 0; i < n + m && code == CLI_OK; i++)
        if (isnan(i < n ? e->kept[i] : other.kept[i - n]))
            code = log_fail(CLI_FAILED, "an anomaly score is NaN: there is no AUC");
    if (code == CLI_OK) j->score = paired_ranks(e->kept, n, other.kept, m, room, j->each);
    evaluator_free(&other);
    free(room);
    return code;
}

/* ---- groups --------------------------------------------------------------------------------------------------------
 */

enum { GROUPS = 20, FEWEST_GROUPS = 5, IN_GROUP = 10 };

static double score_of(const gate *g, const evaluation *r) {
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->scores[i].key, g->c.task->score) == 0) return r->scores[i].value;
    return NAN;
}

/* The score of each group of samples, all of one size; NaN where it has none. */
static int judge_groups(gate *g, judgement *j) {
    int64_t groups = j->n / IN_GROUP;
    groups = groups < FEWEST_GROUPS ? FEWEST_GROUPS : groups > GROUPS ? GROUPS : groups;
    const int64_t size = j->n / groups;
    if (size < 1)
        return log_fail(CLI_BAD_FILE, "%lld samples are too few to judge by: there are %d groups of them",
                        (long long)j->n, FEWEST_GROUPS);
    int64_t *index = step_buffer(size, sizeof *index);
    evaluator e = {0};
    evaluation result;
    int code = index && make_room(j, groups, 0) ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    wick_dataset *all[GROUPS] = {NULL};
    for (int64_t k = 0; k < groups && code == CLI_OK; k++) {
        for (int64_t i = 0; i < size; i++) index[i] = k * size + i;
        const wick_status status = wick_dataset_subset(g->ctx, g->judged, size, index, &all[k]);
        if (status != WICK_OK) code = gate_failed(g, status, CLI_BAD_FILE);
        if (code == CLI_OK) code = k ? evaluator_turn(&e, all[k]) : evaluator_new(&e, &g->c, all[k]);
        if (code == CLI_OK) code = evaluator_run(&e, &result);
        if (code == CLI_OK) j->each[k] = score_of(g, &result);
    }
    evaluator_free(&e);
    for (int k = 0; k < GROUPS; k++) wick_dataset_free(&all[k]);
    free(index);
    return code;
}

/* ---- judging -------------------------------------------------------------------------------------------------------
 */

int gate_judge(gate *g, bool made, judgement *j) {
    evaluator e;
    free(j->each);
    *j = (judgement){.n = wick_dataset_count(g->judged)};
    if (g->way != GATE_RANKS && g->way != GATE_GROUPS && !make_room(j, j->n, 0))
        return log_fail(CLI_FAILED, "out of memory");
    if (made) g->c.instead = g->made, g->c.instead_user = g->made_user;
    int code = evaluator_new(&e, &g->c, g->judged);
    if (g->way == GATE_PAIRS) e.look = note_right, e.user = j;
    if (code == CLI_OK) code = evaluator_run(&e, &j->all);
    if (code == CLI_OK) j->score = score_of(g, &j->all), j->correct = j->all.correct;
    if (code == CLI_OK && g->way == GATE_SQUARES) paired_squares(e.kept, e.targets, e.count, e.c->classes, j->each);
    if (code == CLI_OK && g->way == GATE_MEANS) j->score = paired_root(e.kept, e.count, j->each);
    if (code == CLI_OK && g->way == GATE_RANKS) code = judge_ranks(g, &e, j);
    evaluator_free(&e);
    if (code == CLI_OK && g->way == GATE_GROUPS) code = judge_groups(g, j);
    g->c.instead = NULL;
    if (code == CLI_OK && isnan(j->score))
        code = log_fail(CLI_BAD_FILE, "%s of the %lld samples that judge is not known: there is nothing to judge by",
                        gate_metric_of(g).title, (long long)j->n);
    return code;
}

int gate_judge_whole(gate *g, double share) {
    const int code = gate_judge(g, false, &g->before);
    const gate_metric m = gate_metric_of(g);
    g->max_drop = g->o->gate.max_drop;
    if (g->o->gate.keep_score > 0) share = g->o->gate.keep_score;
    if (code != CLI_OK || !(share > 0) || g->max_drop >= 0) return code;
    /* of what is better if it is less, that much more */
    g->max_drop = (m.percent ? 100 : 1) * (1 - share) * fabs(g->before.score);
    log_note("%g %% of the %s: at most %.3g %s may be lost", 100 * (m.lower ? 2 - share : share), m.title, g->max_drop,
             gate_unit(g));
    return CLI_OK;
}

void gate_flips(const gate *g, int64_t *lost, int64_t *won) {
    *lost = *won = 0;
    for (int64_t i = 0; i < g->before.n && g->way == GATE_PAIRS; i++) {
        *lost += g->before.each[i] > g->after.each[i];
        *won += g->before.each[i] < g->after.each[i];
    }
}

double gate_drop(const gate *g, double *bound) {
    const judgement *a = &g->before, *b = &g->after;
    const gate_metric m = gate_metric_of(g);
    const double unit = m.percent ? 100 : 1;
    double drop = m.lower ? b->score - a->score : a->score - b->score;
    if (g->way == GATE_PAIRS) { /* (lost + won - (lost - won)^2 / n) / n^2, by the normal distribution */
        int64_t lost, won;
        gate_flips(g, &lost, &won);
        const double n = (double)a->n, difference = (double)(lost - won);
        *bound = 100 * (difference + 1.645 * sqrt((double)(lost + won) - difference * difference / n)) / n;
        return 100 * difference / n;
    }
    int64_t known, others = 0;
    double variance = paired_variance(a->each, b->each, a->n_each[0], &known);
    if (a->n_each[1])
        variance += paired_variance(a->each + a->n_each[0], b->each + a->n_each[0], a->n_each[1], &others);
    const int64_t fewest = others && others < known ? others : known;
    /* of one number nobody knows how much it varies */
    *bound = fewest > 1 ? unit * (drop + paired_student((double)fewest - 1) * sqrt(variance)) : (double)INFINITY;
    return unit * drop;
}
bool gate_is_good(const gate *g) {
    double bound;
    (void)gate_drop(g, &bound);
    return g->max_drop < 0 || bound <= g->max_drop;
}

void gate_say_missed(const gate *g) {
    if (g->o->gate.keep_score > 0)
        log_note("%s is written, and --keep-score %g allows to lose no more than %.3g %s", g->o->out,
                 g->o->gate.keep_score, g->max_drop, gate_unit(g));
    else
        log_note("%s is written, and loses more than --max-drop %g allows", g->o->out, g->max_drop);
}

/* ---- what is said of it --------------------------------------------------------------------------------------------
 */

void gate_print(const gate *g, const char *before, const char *after) {
    const gate_metric m = gate_metric_of(g);
    double bound;
    char a[32], b[32];
    const double drop = gate_drop(g, &bound);
    gate_score_text(g, g->before.score, a);
    gate_score_text(g, g->after.score, b);
    printf("\n%-9s %s %s, %s %s, of %lld %s\n", m.title, a, before, b, after, (long long)g->before.n, gate_judged(g));
    if (g->way == GATE_RANKS) printf("          and %lld anomalies\n", (long long)g->before.n_each[1]);
    if (g->way == GATE_PAIRS) {
        int64_t lost, won;
        gate_flips(g, &lost, &won);
        printf("drop      %.2f points, below %.2f with 95 %%: %lld %ss lost, %lld won\n", drop, bound,
               (long long)lost, source_noun(g->judged), (long long)won);
    } else if (m.percent) {
        printf("drop      %.2f points, below %.2f with 95 %%: of %lld groups in pairs\n", drop, bound,
               (long long)g->before.n_each[0]);
    } else {
        printf("drop      %.4g %s, below %.4g with 95 %%: of %s in pairs\n", drop, m.title, bound,
               g->way == GATE_SQUARES ? "squared errors"
               : g->way == GATE_RANKS ? "ranks"
               : g->way == GATE_MEANS ? "squares"
                                      : "groups");
    }
    for (int i = 0; i < g->before.all.n && g->way != GATE_PAIRS; i++) {
        const double scale = g->before.all.scores[i].percent ? 100 : 1;
        if (strcmp(g->before.all.scores[i].key, m.key) == 0) continue;
        printf("%-9s %.6g, %.6g%s\n", g->before.all.scores[i].title, scale * g->before.all.scores[i].value,
               scale * g->after.all.scores[i].value, scale > 1 ? " %" : "");
    }
    printf("loss      %.4f, %.4f\n", g->before.all.loss, g->after.all.loss);
}

static void json_pair(json *j, const char *key, const char *which, double value) {
    char name[80];
    snprintf(name, sizeof name, "%s_%s", key, which);
    json_real(j, name, value, 9);
}
void gate_json(const gate *g, json *j, bool within, const char *before, const char *after) {
    const gate_metric m = gate_metric_of(g);
    double bound;
    const double drop = gate_drop(g, &bound);
    json_bool(j, "within", within);
    json_text(j, "model", g->o->model);
    json_text(j, "out", g->o->out);
    json_integer(j, "observed", wick_dataset_count(g->observed));
    json_integer(j, "judged", g->before.n);
    if (g->odd) json_integer(j, "anomalies", wick_dataset_count(g->odd));
    json_text(j, "metric", m.key);
    json_pair(j, m.key, before, g->before.score);
    json_pair(j, m.key, after, g->after.score);
    json_pair(j, "loss", before, g->before.all.loss);
    json_pair(j, "loss", after, g->after.all.loss);
    json_real(j, m.percent ? "drop_points" : "drop", drop, 9);
    json_real(j, m.percent ? "drop_bound_points" : "drop_bound", bound, 9);
    if (g->way != GATE_PAIRS) {
        for (int i = 0; i < g->before.all.n; i++) {
            if (strcmp(g->before.all.scores[i].key, m.key) == 0) continue;
            json_pair(j, g->before.all.scores[i].key, before, g->before.all.scores[i].value);
            json_pair(j, g->before.all.scores[i].key, after, g->after.all.scores[i].value);
        }
        return;
    }
    int64_t lost, won;
    gate_flips(g, &lost, &won);
    json_integer(j, "lost", lost);
    json_integer(j, "won", won);
}
