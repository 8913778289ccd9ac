/* wick shrink: tries what prune and quantize do, one with the other, and writes what meets a budget of bytes, time,
 * memory and accuracy, or comes nearest. All of it is judged on the same images as the network that it was made of. */
#include "../options.h"
#include "../paths.h"
#include "../term/log.h"
#include "gate.h"
#include "target.h"

#include "wick/compress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 32, BLOCK = 32, ATTEMPTS = 32 };

/* What is left out of the network. */
typedef struct way {
    const char *name;
    wick_pruning how;
    double sparsity;
} way;
static const way ways[] = {
    {.name = "whole"},
    {.name = "3/4 of multiply-adds", .how = {.macs = 0.75}},
    {.name = "1/2 of multiply-adds", .how = {.macs = 0.5}},
    {.name = "1/4 of multiply-adds", .how = {.macs = 0.25}},
    {.name = "low rank, 1/2", .how = {.budget = 0.5}},
    {.name = "Tucker-2, 1/2", .how = {.budget = 0.5, .filters = WICK_FILTERS_TUCKER}},
    {.name = "90 % zeros", .sparsity = 0.9},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* And what its weights are. */
typedef enum held { HELD_F32, HELD_INT8, HELD_INT4, HELD } held;
static const char *const held_names[HELD] = {"f32", "int8", "int4"};

typedef struct attempt {
    const way *of;
    held held;
    char why[160]; /* it couldn't be made; "": it was, and: */
    int64_t bytes, arena;
    double score; /* more is better */
    double drop, bound, seconds, predicted;
    double work, instructions; /* what predictions go by; of a target, counted: 0: seconds are what was predicted */
    bool front;                /* no other has fewer bytes, less time and more accuracy */
} attempt;

typedef struct shrinking {
    gate g;
    cli_options now; /* the command's, with the name of what is tried, and the limits of a preset */
    char path[4096];
    const cli_options *asked;
    const way *of;
    wick_pruner *p;
    attempt all[ATTEMPTS];
    int n, best; /* best: written, or -1 */
    bool told;   /* what is missing to measure a target */
    double whole; /* seconds of the whole network, when it was first measured */
} shrinking;

static int failed(const shrinking *w, wick_status status) { return gate_failed(&w->g, status, CLI_FAILED); }

/* ---- what is best ------------------------------------------------------------------------------------------------ */

/* By how much it exceeds the limit that it exceeds most: 1, or less: none. */
static double excess(const cli_options *o, const attempt *a) {
    double most = 0;
    if (o->gate.max_kb > 0) most = fmax(most, (double)a->bytes / 1e3 / o->gate.max_kb);
    if (o->of_shrink.max_us > 0) most = fmax(most, 1e6 * a->seconds / o->of_shrink.max_us);
    if (o->of_shrink.max_ram > 0) most = fmax(most, (double)a->arena / 1e3 / o->of_shrink.max_ram);
    if (o->gate.max_drop >= 0) most = fmax(most, a->bound <= o->gate.max_drop ? 0 : 1 + a->bound - o->gate.max_drop);
    return most;
}
/* Within a budget of bytes, time or memory the most accurate one; where there is none but of accuracy, the fastest. */
static bool is_better(const cli_options *o, const attempt *a, const attempt *b) {
    const double x = excess(o, a), y = excess(o, b);
    if (x > 1 || y > 1) return x < y;
    const bool spends = o->gate.max_kb > 0 || o->of_shrink.max_us > 0 || o->of_shrink.max_ram > 0;
    return spends && a->score != b->score ? a->score > b->score : a->seconds < b->seconds;
}
static void find_front(shrinking *w) {
    for (int i = 0; i < w->n; i++) {
        attempt *a = &w->all[i];
        a->front = !a->why[0];
        for (int k = 0; k < w->n && a->front; k++) {
            const attempt *b = &w->all[k];
            const bool no_worse = b->bytes <= a->bytes && b->seconds <= a->seconds && b->score >= a->score,
                       other = b->bytes < a->bytes || b->seconds < a->seconds || b->score > a->score;
            a->front = b->why[0] || !(no_worse && other);
        }
    }
}

/* ---- what it takes ----------------------------------------------------------------------------------------------- */

enum { HOST, CORTEX_M4, AARCH64 };
static const char *const machines[] = {"host", "cortex-m4", "aarch64"};

/* Instructions for an operation, where nothing has been counted: of a Cortex-M4 (docs/codegen.md), and of an aarch64,
 * whose vectors have 4 floats (ResNet-8 in docs/compress.md). */
static const double first_rates[][HELD] = {[CORTEX_M4] = {3.3, 0.9, 9}, [AARCH64] = {0.5, 0.6, 4}};
static double mhz_of(const cli_options *o) {
    return o->of_shrink.mhz > 0 ? o->of_shrink.mhz : o->of_shrink.machine == AARCH64 ? 1000 : 100;
}

/* Time by what was found of others before, whose weights are the same kind of numbers: in proportion to the last one;
 * of instructions, which are counted, by a line through all of them (least squares). Without any, as long as the plan's
 * model says, in proportion to what the whole network took. */
static double predict(const shrinking *w, const attempt *a) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, last = 0;
    for (int i = 0; i < w->n; i++) {
        const attempt *b = &w->all[i];
        if (b == a || b->why[0] || b->held != a->held || (b->of->sparsity > 0) != (a->of->sparsity > 0)) continue;
        n++, x += b->work, y += b->seconds, xx += b->work * b->work, xy += b->work * b->seconds;
        last = b->seconds / b->work;
    }
    const double spread = n * xx - x * x, slope = spread > 0 ? (n * xy - x * y) / spread : 0,
                 on_line = slope > 0 ? y / n + slope * (a->work - x / n) : 0;
    if (w->now.of_shrink.machine != HOST && n > 1 && on_line > 0) return on_line;
    if (n > 0) return a->work * last;
    if (w->now.of_shrink.machine != HOST)
        return a->work * first_rates[w->now.of_shrink.machine][a->held] * 1e-6 / mhz_of(&w->now);
    return a->work * w->whole / w->g.predicted[0];
}

/* Bytes, memory and time of what was written to w->path. */
static int weigh(shrinking *w, attempt *a) {
    const gate *g = &w->g;
    target_costs costs;
    a->bytes = g->bytes[1];
    /* Both ran in turn: what else the machine does has slowed down the whole network alike. */
    if (!w->whole) w->whole = g->seconds[0];
    a->seconds = g->seconds[1] / g->seconds[0] * w->whole;
    a->arena = g->arena[1];
    a->work = w->now.of_shrink.machine == HOST ? g->predicted[1] : g->flops[1];
    a->predicted = predict(w, a);
    if (w->now.of_shrink.machine == HOST) return CLI_OK;
    if (!(w->now.of_shrink.machine == AARCH64 ? target_aarch64 : target_cortex_m4)(w->path, &costs))
        return log_fail(CLI_FAILED, "no folder for the C could be made");
    snprintf(a->why, sizeof a->why, "%s", costs.why);
    if (costs.lacks && !w->told && !a->why[0])
        log_note("time is predicted%s: %s", costs.code ? "" : ", and code isn't counted", costs.lacks);
    w->told |= costs.lacks != NULL;
    a->bytes = costs.flash;
    a->arena = costs.ram;
    a->instructions = costs.instructions;
    a->seconds = costs.instructions > 0 ? costs.instructions * 1e-6 / mhz_of(&w->now) : a->predicted;
    return CLI_OK;
}

/* The median of how far predictions were from what was measured, as a share of it; NaN: none was. */
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double prediction_error(const shrinking *w) {
    double off[ATTEMPTS];
    int n = 0;
    for (int i = 0; i < w->n; i++) {
        const attempt *a = &w->all[i];
        if (!a->why[0] && (w->now.of_shrink.machine == HOST || a->instructions > 0))
            off[n++] = fabs(a->predicted / a->seconds - 1);
    }
    qsort(off, (size_t)n, sizeof *off, by_value);
    return n ? off[n / 2] : (double)NAN;
}

/* ---- trying ------------------------------------------------------------------------------------------------------ */

static attempt *begin(shrinking *w, held how) {
    attempt *a = &w->all[w->n++];
    *a = (attempt){.of = w->of, .held = how};
    return a;
}
/* It can't be made of this network, or something went wrong. */
static int refused(shrinking *w, held how, wick_status status) {
    if (status != WICK_ERR_INVALID && status != WICK_ERR_UNSUPPORTED) return failed(w, status);
    attempt *a = begin(w, how);
    snprintf(a->why, sizeof a->why, "%s", wick_context_error(w->g.ctx));
    return CLI_OK;
}

/* What g->made is: written beside the result, measured, and put in its place where it is better. */
static int measure(shrinking *w, held how) {
    gate *g = &w->g;
    attempt *a = begin(w, how);
    int code = gate_write(g);
    if (code == CLI_OK) code = gate_time(g);
    if (code != CLI_OK) return code;
    a->score = gate_metric_of(g).lower ? -g->after.score : g->after.score;
    a->drop = gate_drop(g, &a->bound);
    code = weigh(w, a);
    if (code != CLI_OK || a->why[0]) return code;
    log_note("%s, %s: %.1f KB, %.4g us, %.3g %s lost, below %.3g", a->of->name, held_names[how], (double)a->bytes / 1e3,
             1e6 * a->seconds, a->drop, gate_unit(g), a->bound);
    if (w->best >= 0 && !is_better(&w->now, a, &w->all[w->best])) return CLI_OK;
    w->best = w->n - 1;
    if (rename(w->path, w->asked->out) == 0) return CLI_OK;
    return log_fail(CLI_FAILED, "%s: %s", w->asked->out, strerror(errno));
}

static wick_status look(void *p, const void *const *in, const int64_t *labels) {
    (void)labels;
    return wick_pruner_observe(p, in);
}
static wick_status calibrate(void *q, const void *const *in, const int64_t *labels) {
    (void)labels;
    return wick_quantizer_observe(q, in);
}
static int64_t batch_of(const shrinking *w) {
    const int64_t count = wick_dataset_count(w->g.observed);
    return count < BATCH ? count : BATCH;
}

/* The share of zeros grows as wick prune lets it grow. */
static wick_status sparsify(const shrinking *w, double share) {
    return share > 0 ? wick_pruner_sparsify(w->p, share, 0, 0) : WICK_OK;
}
static wick_status stepped(void *owner, int64_t number, int64_t steps) {
    const shrinking *w = owner;
    const double end = 0.75 * (double)steps, left = number < end ? 1 - (double)number / end : 0;
    return sparsify(w, w->of->sparsity * (1 - left * left * left));
}
static wick_status finish(void *owner) {
    const shrinking *w = owner;
    return sparsify(w, w->of->sparsity);
}

/* Tucker-2 of a network that has no convolution of several taps is what low rank makes of it. */
static bool has_core(wick_model *model) {
    for (int i = 0; i < wick_model_count(model); i++) {
        const char *name = wick_model_at(model, i).name;
        const size_t length = strlen(name);
        if (length > 5 && strcmp(name + length - 5, "_core") == 0) return true;
    }
    return false;
}

/* The network in f32 with what w->of leaves of it. *there: it could be made. */
static int make_floats(shrinking *w, bool *there) {
    gate *g = &w->g;
    const int64_t batch = batch_of(w);
    const wick_spec spec = classifier_network_spec(&g->c, batch);
    wick_status status = classifier_prepare(&g->c, batch);
    *there = false;
    if (status != WICK_OK) return failed(w, status);
    status = wick_pruner_new(g->ctx, g->c.model, gate_record_network, &g->c, 1, &spec, 1, &w->p);
    if (status == WICK_OK) status = wick_pruner_cut(w->p, &w->of->how);
    if (status == WICK_OK && !g->o->epochs) status = sparsify(w, w->of->sparsity);
    if (status != WICK_OK) return refused(w, HELD_F32, status);
    if (w->of->how.filters == WICK_FILTERS_TUCKER && !has_core(wick_pruner_model(w->p))) {
        attempt *a = begin(w, HELD_F32);
        snprintf(a->why, sizeof a->why, "it is what low rank makes: no convolution of several taps gains by it");
        return CLI_OK;
    }
    const bool whole = w->of == &ways[0];
    int code = whole ? CLI_OK : gate_show(g, batch, look, w->p);
    if (code == CLI_OK && (status = wick_pruner_settle(w->p)) != WICK_OK) code = failed(w, status);
    g->made = wick_pruner_apply;
    g->made_user = w->p;
    g->model = wick_pruner_model(w->p);
    if (code == CLI_OK) code = gate_judge(g, true, &g->after);
    if (code == CLI_OK && g->o->epochs && !whole)
        code = gate_train(g, &(gate_training){.model = g->model,
                                              .fn = wick_pruner_apply,
                                              .user = w->p,
                                              .stepped = w->of->sparsity > 0 ? stepped : NULL,
                                              .finish = finish,
                                              .owner = w,
                                              .lr = 1e-3,
                                              .kind = w->of->name,
                                              .last_only = w->of->sparsity > 0});
    *there = code == CLI_OK;
    return code;
}

/* The same in integers. */
static int try_integers(shrinking *w, held how) {
    gate *g = &w->g;
    const int64_t batch = batch_of(w);
    const wick_spec spec = classifier_network_spec(&g->c, batch);
    const wick_quantizer_options options = {.calibration = WICK_CALIBRATE_MSE, .block = how == HELD_INT4 ? BLOCK : 0};
    wick_quantizer *q = NULL;
    wick_status status =
        wick_quantizer_new(g->ctx, wick_pruner_model(w->p), wick_pruner_apply, w->p, 1, &spec, 1, &options, &q);
    int code = status == WICK_OK ? gate_show(g, batch, calibrate, q) : refused(w, how, status);
    if (q && code == CLI_OK && (status = wick_quantizer_finish(q)) != WICK_OK) code = failed(w, status);
    if (q && code == CLI_OK) {
        g->made = wick_quantizer_apply;
        g->made_user = q;
        g->model = wick_quantizer_model(q);
        code = gate_judge(g, true, &g->after);
        if (code == CLI_OK) code = measure(w, how);
    }
    g->made = NULL;
    wick_quantizer_free(&q);
    return code;
}

static int try_way(shrinking *w) {
    bool there;
    int code = make_floats(w, &there);
    if (code == CLI_OK && there) code = measure(w, HELD_F32);
    /* zeros are of no use to integers */
    for (held how = HELD_INT8; how < HELD && code == CLI_OK && there && !w->of->sparsity; how++)
        code = try_integers(w, how);
    w->g.made = NULL;
    wick_pruner_free(&w->p);
    return code;
}

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

static void report_text(const shrinking *w) {
    const gate_metric m = gate_metric_of(&w->g);
    char score[32], lost[48];
    snprintf(lost, sizeof lost, "%s lost", gate_unit(&w->g));
    printf("%-22s %-5s %9s %10s %9s %9s  %8s  %16s\n", "network", "in", "KB", "predicted", "us", "RAM KB", m.title,
           lost);
    for (int i = 0; i < w->n; i++) {
        const attempt *a = &w->all[i];
        if (a->why[0]) {
            log_print("%-22s %-5s no: %s", a->of->name, held_names[a->held], a->why);
            printf("\n");
            continue;
        }
        gate_score_text(&w->g, m.lower ? -a->score : a->score, score);
        snprintf(lost, sizeof lost, m.percent ? "%6.2f, below %5.2f" : "%6.3g, below %5.3g", a->drop, a->bound);
        printf("%-22s %-5s %9.1f %10.4g %9.4g %9.1f  %8s  %s%s%s\n", a->of->name, held_names[a->held],
               (double)a->bytes / 1e3, 1e6 * a->predicted, 1e6 * a->seconds, (double)a->arena / 1e3, score, lost,
               a->front ? "  front" : "", i == w->best ? ", written" : "");
    }
    const double off = prediction_error(w);
    if (off == off) printf("\ntime: what was predicted is %.0f %% off in the median\n", 100 * off);
    if (w->now.of_shrink.machine != HOST)
        printf("%stime: not measured: instructions of one run, %g million a second\n", off == off ? "" : "\n",
               mhz_of(&w->now));
    gate_score_text(&w->g, w->g.before.score, score);
    printf("\nbefore: %s of %lld %s\n", score, (long long)w->g.before.n, gate_judged(&w->g));
}
static void report_json(const shrinking *w, bool within) {
    const gate_metric m = gate_metric_of(&w->g);
    char before[64];
    snprintf(before, sizeof before, "%s_before", m.key);
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_bool(&j, "within", within);
    json_text(&j, "model", w->asked->model);
    json_text(&j, "out", w->asked->out);
    json_integer(&j, "judged", w->g.before.n);
    json_text(&j, "metric", m.key);
    json_real(&j, before, w->g.before.score, 9);
    json_text(&j, "target", machines[w->now.of_shrink.machine]);
    json_bool(&j, "time_measured", w->now.of_shrink.machine == HOST);
    json_real(&j, "prediction_error", prediction_error(w), 6);
    json_open(&j, "attempts", '[');
    for (int i = 0; i < w->n; i++) {
        const attempt *a = &w->all[i];
        json_open(&j, NULL, '{');
        json_text(&j, "network", a->of->name);
        json_text(&j, "weights", held_names[a->held]);
        if (a->why[0]) {
            json_text(&j, "refused", a->why);
        } else {
            json_integer(&j, "file_bytes", a->bytes);
            json_integer(&j, "arena_bytes", a->arena);
            json_real(&j, "predicted_seconds", a->predicted, 6);
            json_real(&j, "seconds", a->seconds, 6);
            if (w->now.of_shrink.machine != HOST) json_real(&j, "instructions", a->instructions, 12);
            json_real(&j, m.key, m.lower ? -a->score : a->score, 9);
            json_real(&j, m.percent ? "drop_points" : "drop", a->drop, 9);
            json_real(&j, m.percent ? "drop_bound_points" : "drop_bound", a->bound, 9);
            json_bool(&j, "front", a->front);
            json_bool(&j, "written", i == w->best);
        }
        json_close(&j, '}');
    }
    json_close(&j, ']');
    log_json_close(&j);
}

/* The preset's limits of memory and time, where none are given; that of accuracy follows when it is known. */
enum { PRESET_NONE, PRESET_MOBILE };
static void take_preset(shrinking *w) {
    if (w->now.of_shrink.preset != PRESET_MOBILE) return;
    if (!options_given(w->asked, "max-ram")) w->now.of_shrink.max_ram = 512e3;
    if (!options_given(w->asked, "max-us")) w->now.of_shrink.max_us = 50e3;
}
int cmd_shrink(cli_options *o) {
    shrinking w = {.asked = o, .now = *o, .best = -1};
    gate *g = &w.g;
    take_preset(&w);
    if (options_given(o, "mhz") && o->of_shrink.machine == HOST)
        return log_fail(CLI_USAGE, "--mhz is for --target cortex-m4 and aarch64");
    if (!o->of_shrink.preset && !(o->gate.max_kb > 0 || o->of_shrink.max_us > 0 || o->of_shrink.max_ram > 0 ||
                                  o->gate.max_drop >= 0 || o->gate.keep_score > 0))
        return log_fail(CLI_USAGE,
                        "say what it has to keep to: --max-kb, --max-us, --max-ram, --max-drop, --keep-score "
                        "or --preset");
    /* Whoever has a file of that name keeps it. */
    const int length = snprintf(w.path, sizeof w.path, "%s.try-%ld.onnx", o->out, (long)getpid());
    if (path_exists(w.path)) return log_fail(CLI_BAD_FILE, "%s is in the way", w.path);
    if (length < 0 || (size_t)length >= sizeof w.path) return log_fail(CLI_USAGE, "--out %s: too long", o->out);
    g->o = o;
    g->needs_logits = o->epochs > 0;
    int code = gate_open(g, "wick shrink", "made smaller");
    w.now.out = w.path;
    g->o = &w.now;
    if (code == CLI_OK) log_note("judged on %lld %s", (long long)wick_dataset_count(g->judged), gate_judged(g));
    const bool share = o->of_shrink.preset == PRESET_MOBILE && !options_given(o, "max-drop");
    if (code == CLI_OK) code = gate_judge_whole(g, share ? 0.95 : 0);
    w.now.gate.max_drop = g->max_drop;
    for (int i = 0; i < WAYS && code == CLI_OK; i++) {
        w.of = &ways[i];
        code = try_way(&w);
    }
    if (length > 0) (void)unlink(w.path); /* what was tried last and is no better */
    find_front(&w);
    const bool within = w.best >= 0 && excess(&w.now, &w.all[w.best]) <= 1;
    if (code == CLI_OK) {
        if (o->json)
            report_json(&w, within);
        else
            report_text(&w);
    }
    if (code == CLI_OK && !within) {
        log_note("nothing keeps to all of it; %s is what comes nearest", o->out);
        code = CLI_MISSED;
    }
    gate_free(g);
    return code;
}
