/* wick prune: a trained model with fewer channels, or with most weights 0, as ONNX, and what that costs in
 * accuracy on images that it was not made by. */
#include "../options.h"
#include "../term/log.h"
#include "gate.h"

#include "wick/compress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

typedef struct pruning {
    gate g;
    wick_pruner *p;
    int64_t batch;      /* of the pruner's specs */
    int n, m;           /* of --pattern; 0: none */
    double macs[2];     /* of one image */
    int64_t numbers[2]; /* parameters */
} pruning;

static int failed(const pruning *w, wick_status status, int blame) { return gate_failed(&w->g, status, blame); }

/* "2:4" */
static int read_pattern(const cli_options *o, int *n, int *m) {
    char rest;
    if (!o->of_prune.pattern[0]) return CLI_OK;
    if (sscanf(o->of_prune.pattern, "%d:%d%c", n, m, &rest) == 2 && *n > 0 && *m > *n && *m <= 64) return CLI_OK;
    return log_fail(CLI_USAGE, "--pattern %s: N:M leaves N of M neighbours, N below M and M at most 64",
                    o->of_prune.pattern);
}
static int check_options(const pruning *w) {
    const cli_options *o = w->g.o;
    const bool channels = o->of_prune.ratio > 0 || o->of_prune.macs > 0, weights = o->of_prune.sparsity > 0 || w->m > 0,
               ranks = o->of_prune.energy > 0 || o->of_prune.low_rank > 0;
    if (o->of_prune.ratio > 0 && o->of_prune.macs > 0)
        return log_fail(CLI_USAGE, "--ratio and --macs both say how many channels go");
    if (o->of_prune.sparsity > 0 && w->m)
        return log_fail(CLI_USAGE, "--sparsity and --pattern both say which weights become 0");
    if (o->of_prune.energy > 0 && o->of_prune.low_rank > 0)
        return log_fail(CLI_USAGE, "--energy and --low-rank both say which rank weights get");
    if (o->of_prune.filters && !ranks)
        return log_fail(CLI_USAGE, "--filters needs a rank: --energy 0.9 or --low-rank 0.5");
    if (weights && ranks)
        return log_fail(CLI_USAGE, "--sparsity and --pattern are for whole weights, not for those of low rank");
    if (!channels && !weights && !ranks)
        return log_fail(CLI_USAGE, "say what is to go: --macs 0.5 or --ratio 0.3 for channels, --energy 0.95 or "
                                   "--low-rank 0.5 for the rank of weights, --sparsity 0.9 or --pattern 2:4 for "
                                   "single ones");
    const char *of_channels[] = {"importance", "global", "keep", "multiple"};
    for (int i = 0; i < 4; i++)
        if (!channels && (i < 3 || !ranks) && options_given(o, of_channels[i]))
            return log_fail(CLI_USAGE, "--%s is about channels: give --macs or --ratio", of_channels[i]);
    return CLI_OK;
}

static wick_status weigh(void *user, const void *const *in, const int64_t *labels) {
    return wick_pruner_weigh(user, in, labels);
}
static wick_status observe(void *user, const void *const *in, const int64_t *labels) {
    (void)labels;
    return wick_pruner_observe(user, in);
}
static wick_status sparsify(const pruning *w, double share) {
    return w->m || share > 0 ? wick_pruner_sparsify(w->p, w->m ? 0 : share, w->n, w->m) : WICK_OK;
}

/* Of what a model trains. */
static int64_t parameters(wick_model *model) {
    int64_t n = 0;
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        if (state.role == WICK_ROLE_PARAM) n += wick_tensor_count(state.tensor);
    }
    return n;
}

static int cut(pruning *w) {
    static const wick_importance by[] = {WICK_IMPORTANCE_L2, WICK_IMPORTANCE_L1, WICK_IMPORTANCE_GAMMA,
                                         WICK_IMPORTANCE_TAYLOR};
    gate *g = &w->g;
    const cli_options *o = g->o;
    const int64_t count = wick_dataset_count(g->observed);
    w->batch = count < BATCH ? count : BATCH;
    const wick_spec spec = classifier_network_spec(&g->c, w->batch);
    const wick_pruning how = {.ratio = o->of_prune.ratio,
                              .macs = o->of_prune.macs,
                              .global = o->of_prune.global,
                              .energy = o->of_prune.energy,
                              .budget = o->of_prune.low_rank,
                              .filters = (wick_filters)o->of_prune.filters,
                              .multiple = o->of_prune.multiple,
                              .importance = by[o->of_prune.importance],
                              .keep = o->gate.keep[0] ? o->gate.keep : NULL};
    wick_status status = classifier_prepare(&g->c, w->batch);
    if (status == WICK_OK) status = wick_pruner_new(g->ctx, g->c.model, gate_record_network, &g->c, 1, &spec, 1, &w->p);
    if (status != WICK_OK) return failed(w, status, CLI_USAGE);
    int code = how.importance == WICK_IMPORTANCE_TAYLOR ? gate_show(g, w->batch, weigh, w->p) : CLI_OK;
    if (code != CLI_OK) return code;
    if ((status = wick_pruner_cut(w->p, &how)) != WICK_OK) return failed(w, status, CLI_USAGE);
    if (!o->epochs && (status = sparsify(w, o->of_prune.sparsity)) != WICK_OK) return failed(w, status, CLI_FAILED);
    code = gate_show(g, w->batch, observe, w->p);
    if (code == CLI_OK && (status = wick_pruner_settle(w->p)) != WICK_OK) code = failed(w, status, CLI_FAILED);
    wick_pruner_macs(w->p, &w->macs[0], &w->macs[1]);
    for (int i = 0; i < 2; i++) w->macs[i] /= (double)w->batch;
    g->made = wick_pruner_apply;
    g->made_user = w->p;
    g->model = wick_pruner_model(w->p);
    w->numbers[0] = parameters(g->c.model);
    w->numbers[1] = parameters(g->model);
    return code;
}

/* The share of zeros grows over the first three quarters of the steps, s (1 - (1 - t / T)^3), and stays then (Zhu and
 * Gupta 2017). */
static wick_status stepped(void *owner, int64_t number, int64_t steps) {
    const pruning *w = owner;
    const double end = 0.75 * (double)steps, left = number < end ? 1 - (double)number / end : 0;
    return sparsify(w, w->g.o->of_prune.sparsity * (1 - left * left * left));
}
static wick_status finish(void *owner) {
    const pruning *w = owner;
    return sparsify(w, w->g.o->of_prune.sparsity);
}
static int train(pruning *w) {
    const bool weights = w->g.o->of_prune.sparsity > 0 || w->m;
    return gate_train(&w->g, &(gate_training){.model = w->g.model,
                                              .fn = wick_pruner_apply,
                                              .user = w->p,
                                              .stepped = weights ? stepped : NULL,
                                              .finish = finish,
                                              .owner = w,
                                              .lr = 1e-3,
                                              .kind = "pruned",
                                              .last_only = w->g.o->of_prune.sparsity > 0});
}

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

static void report_text(const pruning *w) {
    const gate *g = &w->g;
    printf("%-32s %4s  %9s  %9s\n", "layer", "axis", "channels", "left");
    for (int i = 0; i < wick_pruner_layers(w->p); i++) {
        const wick_pruner_layer l = wick_pruner_layer_at(w->p, i);
        log_print("%-32s %4d  %9lld  %9lld", l.name, l.axis, (long long)l.channels, (long long)l.left);
        if (l.stays) log_print("  stays: %s", l.stays);
        printf("\n");
    }
    gate_print(g, "before", "pruned");
    printf("weights   %lld, %lld, %.1f %% of those of products are 0\n", (long long)w->numbers[0],
           (long long)w->numbers[1], 100 * wick_pruner_sparsity(w->p));
    printf("products  %.4g, %.4g million multiply-adds an image: %.3f of them\n", w->macs[0] / 1e6, w->macs[1] / 1e6,
           w->macs[1] / w->macs[0]);
    printf("size      %.1f KB of weights before, %.1f KB of file\n", (double)g->bytes[0] / 1e3,
           (double)g->bytes[1] / 1e3);
    printf("time      %.4g ms, %.4g ms an image: %.2f times as fast\n", 1e3 * g->seconds[0], 1e3 * g->seconds[1],
           g->seconds[0] / g->seconds[1]);
}

static void report_json(const pruning *w) {
    const gate *g = &w->g;
    json j = log_json_open();
    json_bool(&j, "ok", true);
    gate_json(g, &j, gate_is_good(g), "before", "pruned");
    json_integer(&j, "weights_before", w->numbers[0]);
    json_integer(&j, "weights_pruned", w->numbers[1]);
    json_real(&j, "sparsity", wick_pruner_sparsity(w->p), 9);
    json_real(&j, "macs_before", w->macs[0], 17);
    json_real(&j, "macs_pruned", w->macs[1], 17);
    json_integer(&j, "weight_bytes_before", g->bytes[0]);
    json_integer(&j, "file_bytes", g->bytes[1]);
    json_real(&j, "seconds_before", g->seconds[0], 6);
    json_real(&j, "seconds_pruned", g->seconds[1], 6);
    json_open(&j, "layers", '[');
    for (int i = 0; i < wick_pruner_layers(w->p); i++) {
        const wick_pruner_layer l = wick_pruner_layer_at(w->p, i);
        json_open(&j, NULL, '{');
        json_text(&j, "name", l.name);
        json_integer(&j, "axis", l.axis);
        json_integer(&j, "channels", l.channels);
        json_integer(&j, "left", l.left);
        if (l.stays) json_text(&j, "stays", l.stays);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    log_json_close(&j);
}

int cmd_prune(cli_options *o) {
    pruning w = {.g = {.o = o}};
    gate *g = &w.g;
    int code = read_pattern(o, &w.n, &w.m);
    if (code == CLI_OK) code = check_options(&w);
    if (code != CLI_OK) return code;
    enum { TAYLOR = 3 }; /* of --importance */
    g->needs_logits = o->epochs > 0 || o->of_prune.importance == TAYLOR;
    code = gate_open(g, "wick prune", "pruned");
    if (code == CLI_OK && o->of_prune.importance == TAYLOR) code = task_check_classes(&g->c, "--importance taylor");
    if (code == CLI_OK) code = cut(&w);
    if (code == CLI_OK) log_note("judged on %lld %s", (long long)wick_dataset_count(g->judged), gate_judged(g));
    if (code == CLI_OK) code = gate_judge_whole(g, 0);
    if (code == CLI_OK) code = gate_judge(g, true, &g->after);
    if (code == CLI_OK && o->epochs) code = train(&w);
    if (code == CLI_OK) code = gate_write(g);
    if (code == CLI_OK) code = gate_time(g);
    if (code == CLI_OK) (o->json ? report_json : report_text)(&w);
    if (code == CLI_OK && !gate_is_good(g)) {
        gate_say_missed(g);
        code = CLI_MISSED;
    }
    wick_pruner_free(&w.p);
    gate_free(g);
    return code;
}
