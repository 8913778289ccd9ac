/* wick tune batch: which batch a model takes most samples a second with, within a latency and the memory. */
#include "tune_batch.h"

#include "../options.h"
#include "../plan/planned.h"
#include "../term/log.h"
#include "../train/evaluate.h"
#include "../tuned.h"

#include "wick/batch_size.h"
#include "wick/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 40 };

typedef struct tuning {
    const cli_options *o;
    wick_context *ctx;
    planned at; /* of the batch that is looked at */
    int code;   /* CLI_OK, or what opening the model failed with, which has been said */
    wick_plan_info evaluation; /* of --train */
    size_t plans;              /* of it, what one plan of a step takes by itself */
    char dim[300];
    const char *dims[64];
} tuning;

/* Bytes of plans that there are now. */
static size_t plan_bytes(const wick_context *ctx) {
    for (int i = 0; wick_memory_use_at(ctx, i).name; i++)
        if (strcmp(wick_memory_use_at(ctx, i).name, "plans") == 0) return wick_memory_use_at(ctx, i).bytes;
    return 0;
}

/* The model anew, for that batch: of an ONNX file the first dim of its first input, which has to be open. */
static wick_status make(void *user, int64_t batch, wick_plan **plan) {
    tuning *t = user;
    cli_options o = *t->o;
    o.model = o.n_files ? o.files[0] : NULL;
    o.batch = batch;
    if (*t->dim) {
        char *end = strrchr(t->dim, '=');
        snprintf(end, sizeof t->dim - (size_t)(end - t->dim), "=%lld", (long long)batch);
        for (int i = 0; i < o.dims.n; i++) t->dims[i] = o.dims.items[i];
        t->dims[o.dims.n] = t->dim;
        o.dims = (cli_list){t->dims, o.dims.n + 1};
    }
    t->at = (planned){0};
    t->code = planned_open(&t->at, &o, t->ctx);
    *plan = t->at.plan;
    t->plans = plan_bytes(t->ctx);
    if (t->code == CLI_OK && o.train && !t->evaluation.inputs)
        return evaluator_plan(&t->at.c, EVALUATOR_BATCH, &t->evaluation);
    return t->code == CLI_OK ? WICK_OK : wick_context_fail(t->ctx, WICK_ERR_INVALID, "the model could not be planned");
}
static void drop(void *user, wick_plan *plan) {
    (void)plan;
    planned_free(&((tuning *)user)->at);
}

/* What wick train has beside a step, whatever its data: it evaluates after each epoch, in the memory of its steps, and
 * of the best weights at the end, with plans for a smaller last batch of each; and a loader for each. */
static size_t beside(void *user, int64_t batch, const wick_plan_info *run) {
    enum { MORE_PLANS = 3 }; /* as many as a step's: its smaller one, and four of evaluations, each half of one */
    const tuning *t = user;
    const wick_plan_info *e = &t->evaluation;
    const size_t takes = e->arena_bytes + e->scratch_bytes, there = run->arena_bytes + run->scratch_bytes;
    (void)batch;
    return e->input_bytes + e->output_bytes + e->state_bytes + (MORE_PLANS + 1) * t->plans +
           (takes > there ? takes - there : 0);
}

/* "x.0=1" for an ONNX file whose first input x begins with an open dim. */
static int find_dim(tuning *t) {
    const char *model = t->o->n_files ? t->o->files[0] : NULL;
    const size_t n = model ? strlen(model) : 0;
    if (n < 5 || strcmp(model + n - 5, ".onnx") != 0) return CLI_OK;
    wick_onnx *onnx = NULL;
    const wick_status status = wick_onnx_open(t->ctx, model, NULL, &onnx);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(t->ctx, status));
    int code = CLI_OK;
    const wick_onnx_port port = wick_onnx_inputs(onnx) ? wick_onnx_input(onnx, 0) : (wick_onnx_port){.name = ""};
    if (port.rank < 1 || port.dims[0] >= 0)
        code = log_fail(CLI_BAD_FILE, "%s: its batch is fixed: the first dim of its first input is not open", model);
    else if (t->o->dims.n >= 63 || strlen(port.name) > 250)
        code = log_fail(CLI_USAGE, "--dim: too many, or a name that is too long");
    else
        snprintf(t->dim, sizeof t->dim, "%.250s.0=1", port.name);
    wick_onnx_free(&onnx);
    return code;
}

static void show_json(const tuning *t, const wick_batch_sizes *s) {
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_integer(&j, "threads", wick_context_threads(t->ctx));
    json_integer(&j, "memory", (int64_t)s->memory);
    json_real(&j, "latency", t->o->of_tune.latency * 1e-3, 6);
    json_open(&j, "sizes", '[');
    for (int i = 0; i < s->n; i++) {
        const wick_batch_result *r = &s->at[i];
        json_open(&j, NULL, '{');
        json_integer(&j, "batch", r->batch);
        json_integer(&j, "bytes", (int64_t)r->bytes);
        json_bool(&j, "fits", r->fits);
        json_real(&j, "predicted_seconds", r->predicted, 6);
        json_integer(&j, "runs", r->runs);
        if (r->runs) {
            json_real(&j, "p50", r->median, 6);
            json_real(&j, "p95", r->p95, 6);
            json_real(&j, "samples_per_second", r->samples_per_second, 6);
            json_real(&j, "efficiency", r->efficiency, 4);
            json_bool(&j, "in_time", r->in_time);
        }
        json_close(&j, '}');
    }
    json_close(&j, ']');
    if (s->chosen >= 0) json_integer(&j, "chosen", s->at[s->chosen].batch);
    if (s->knee >= 0) json_integer(&j, "knee", s->at[s->knee].batch);
    json_integer(&j, "by_formula", s->by_formula);
    log_json_close(&j);
}

static void show_text(const tuning *t, const wick_batch_sizes *s) {
    printf("%6s %10s %10s %10s %12s %6s\n", "batch", "MB", "p50 ms", "p95 ms", "samples/s", "of best");
    for (int i = 0; i < s->n; i++) {
        const wick_batch_result *r = &s->at[i];
        printf("%6lld %10.4g", (long long)r->batch, (double)r->bytes * 1e-6);
        if (!r->fits)
            printf("   takes more memory than there is\n");
        else if (!r->runs)
            printf("   not run: predicted to take %.4g ms\n", r->predicted * 1e3);
        else {
            char bar[BAR + 1];
            const int length = (int)(r->efficiency * BAR + 0.5);
            memset(bar, '#', sizeof bar);
            bar[length < BAR ? length : BAR] = 0;
            printf(" %10.4g %10.4g %12.5g %5.0f%%  %s%s%s\n", r->median * 1e3, r->p95 * 1e3, r->samples_per_second,
                   100 * r->efficiency, bar, i == s->knee ? "  knee" : "", i == s->chosen ? "  chosen" : "");
        }
    }
    if (s->chosen < 0)
        printf("no size keeps 95 of 100 runs within %g ms and %.4g MB: --latency allows more\n", t->o->of_tune.latency,
               (double)s->memory * 1e-6);
    else
        printf("batch %lld: most samples a second of those whose p95 is at most %g ms and that take at most %.4g MB\n",
               (long long)s->at[s->chosen].batch, t->o->of_tune.latency, (double)s->memory * 1e-6);
    printf("by the usual formula, the lesser of memory and 2 x threads: %lld\n", (long long)s->by_formula);
}

int tune_batch(cli_options *o) {
    tuning t = {.o = o};
    if (strcmp(o->model, "batch") != 0 || o->n_files > 1)
        return log_fail(CLI_USAGE, "wick tune takes nothing, or batch and a MODEL, not '%s'",
                        o->n_files > 1 ? o->files[1] : o->model);
    const wick_context_options options = {
        .tuning = tuned(), .threads = (int)o->threads, .jit = WICK_JIT_WAIT, .track_memory = o->train};
    if (wick_context_new(&options, &t.ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    wick_batch_sizes sizes;
    const wick_batch_search search = {.most = o->of_tune.most,
                                      .memory_part = o->of_tune.memory_part,
                                      .latency = o->of_tune.latency * 1e-3,
                                      .seconds = options_given(o, "time") ? o->time / 9 : 0.2,
                                      .beside = o->train ? beside : NULL};
    int code = find_dim(&t);
    if (code == CLI_OK && !(search.seconds > 0)) code = log_fail(CLI_USAGE, "--time 0 measures no batch");
    const wick_status status = code == CLI_OK ? wick_find_batch(t.ctx, make, drop, &t, &search, &sizes) : WICK_OK;
    if (t.code != CLI_OK)
        code = t.code;
    else if (status != WICK_OK)
        code = log_fail(log_code(status, CLI_FAILED), "%s", log_why(t.ctx, status));
    if (code == CLI_OK) (o->json ? show_json : show_text)(&t, &sizes);
    planned_free(&t.at);
    wick_context_free(&t.ctx);
    return code;
}
