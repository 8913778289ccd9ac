/* wick run --bench: how long a run takes, measured until that is known well enough. */
#include "../bench/stats.h"
#include "../options.h"
#include "runner.h"
#include "../term/log.h"

#include "wick/plan.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_RUNS = 20, MOST_RUNS = 1000000 };
#define WARM_UP 0.3     /* seconds, and at least 2 runs */
#define LONG    0.2     /* seconds at least */
#define TIGHT   0.01    /* half the confidence interval of the median, as a part of it, that ends the measurement */

/* One plan on buffers of its own where the model can be compiled; else its graph is recorded for every run. */
typedef struct subject {
    runner *r;
    wick_plan *plan;
    wick_workspace *workspace;
    const void **in;
    void **out;
} subject;

static wick_status run(subject *s) {
    if (s->workspace) {
        const wick_status status = wick_run(s->workspace, s->in, s->out);
        return status == WICK_OK ? status
                                 : wick_context_fail(s->r->ctx, status, "%s", wick_workspace_error(s->workspace));
    }
    wick_scope *scope = wick_scope_open(s->r->ctx);
    const wick_status status = runner_step(s->r);
    wick_scope_close(&scope);
    return status;
}

/* A plan for the inputs at hand; none, and WICK_OK: it can't be compiled. */
static wick_status compile(subject *s) {
    runner *r = s->r;
    const int n_in = wick_onnx_inputs(r->onnx);
    wick_spec *specs = calloc((size_t)n_in + 1, sizeof *specs);
    wick_status status = specs ? WICK_OK : WICK_ERR_NOMEM;
    for (int i = 0; i < n_in && status == WICK_OK; i++) {
        if (r->in[i].kind != WICK_VALUE_TENSOR) return free(specs), WICK_OK;
        wick_tensor *x = r->in[i].tensor;
        specs[i] = (wick_spec){.dtype = wick_tensor_dtype(x), .rank = wick_tensor_rank(x)};
        memcpy(specs[i].dims, wick_tensor_dims(x), (size_t)specs[i].rank * sizeof *specs[i].dims);
        status = wick_data(x, &s->in[i]);
    }
    if (status == WICK_OK) status = wick_onnx_compile(r->onnx, specs, NULL, &s->plan);
    if (status == WICK_ERR_UNSUPPORTED) status = WICK_OK, wick_context_clear_error(r->ctx);
    free(specs);
    return status;
}

/* Where the model can't be compiled, inputs of one whole number become constants: conditions hang on them. */
static wick_status prepare(subject *s) {
    runner *r = s->r;
    s->in = calloc((size_t)r->n_in + 1, sizeof *s->in);
    s->out = calloc((size_t)r->n_out + 1, sizeof *s->out);
    wick_status status = s->in && s->out ? compile(s) : WICK_ERR_NOMEM;
    for (int i = 0; i < wick_onnx_inputs(r->onnx) && status == WICK_OK && !s->plan; i++) {
        wick_tensor *x = r->in[i].kind == WICK_VALUE_TENSOR ? r->in[i].tensor : NULL;
        if (!x || wick_tensor_count(x) != 1 || (wick_tensor_dtype(x) != WICK_I64 && wick_tensor_dtype(x) != WICK_I32))
            continue;
        log_note("%s is taken as a constant", wick_onnx_input(r->onnx, i).name);
        status = wick_onnx_fix_input(r->onnx, i, x);
        memmove(&r->in[i], &r->in[i + 1], (size_t)(wick_onnx_inputs(r->onnx) - i) * sizeof *r->in);
        i--;
        if (status == WICK_OK) status = compile(s);
    }
    if (status == WICK_OK && s->plan) status = wick_workspace_new(s->plan, &s->workspace);
    for (int i = 0; i < r->n_out && status == WICK_OK && s->plan; i++) {
        const wick_spec spec = wick_plan_output(s->plan, i);
        if (!(s->out[i] = aligned_alloc(64, wick_spec_bytes(&spec) / 64 * 64 + 64))) status = WICK_ERR_NOMEM;
    }
    return status;
}

typedef struct times {
    samples seconds;
    double low, high; /* of the median */
} times;

/* Whether the median is known within TIGHT; sorts what there is. */
static bool tight(times *t) {
    samples_sort(&t->seconds);
    stats_median_interval(&t->seconds, &t->low, &t->high);
    return t->high - t->low < 2 * TIGHT * stats_quantile(&t->seconds, 0.5);
}

/* --repeat N: as many; else until the median is tight, looked at whenever there are a tenth more, or --time is over. */
static wick_status measure(subject *s, times *t) {
    const cli_options *o = s->r->o;
    const int64_t most = o->repeat > 0 ? o->repeat : MOST_RUNS;
    int64_t look = LEAST_RUNS;
    wick_status status = WICK_OK;
    const double warm_up = now_seconds();
    for (int i = 0; status == WICK_OK && (i < 2 || now_seconds() - warm_up < (o->repeat ? 0 : WARM_UP)); i++)
        status = run(s);
    const double began = now_seconds();
    while (status == WICK_OK && t->seconds.n < most) {
        const double from = now_seconds();
        status = run(s);
        const double to = now_seconds();
        if (status == WICK_OK && !samples_add(&t->seconds, to - from)) status = WICK_ERR_NOMEM;
        runner_progress(s->r, "runs", t->seconds.n, o->repeat);
        if (o->repeat || status != WICK_OK) continue;
        if (t->seconds.n >= look && to - began > LONG) {
            if (tight(t)) break;
            look += look / 10;
        }
        if (to - began > o->time && t->seconds.n >= 3) break;
    }
    return status;
}

static void show(const subject *s, const times *t) {
    const runner *r = s->r;
    const samples *v = &t->seconds;
    const double median = stats_quantile(v, 0.5),
                 p[] = {stats_quantile(v, 0), median, stats_quantile(v, 0.95), stats_quantile(v, 0.99)};
    const int64_t nodes = wick_onnx_get_info(r->onnx).nodes;
    const int threads = wick_context_threads(r->ctx);
    double mean = 0;
    for (int64_t i = 0; i < v->n; i++) mean += v->at[i] / (double)v->n;
    wick_plan_info info = {0};
    if (s->plan) info = wick_plan_get_info(s->plan);
    if (r->o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_integer(&j, "runs", v->n);
        json_integer(&j, "threads", threads);
        json_bool(&j, "compiled", s->plan != NULL);
        json_real(&j, "min_ms", p[0] * 1e3, 6);
        json_real(&j, "mean_ms", mean * 1e3, 6);
        json_real(&j, "p50_ms", p[1] * 1e3, 6);
        json_real(&j, "p95_ms", p[2] * 1e3, 6);
        json_real(&j, "p99_ms", p[3] * 1e3, 6);
        json_open(&j, "p50_interval_ms", '[');
        json_real(&j, NULL, t->low * 1e3, 6);
        json_real(&j, NULL, t->high * 1e3, 6);
        json_close(&j, ']');
        json_real(&j, "runs_per_second", 1 / mean, 6);
        json_real(&j, "nodes_per_second", (double)nodes / median, 6);
        if (s->plan) {
            json_integer(&j, "kernels", info.kernels);
            json_real(&j, "flops", info.flops, 6);
            json_real(&j, "gflops_per_second", info.flops / median * 1e-9, 6);
        }
        log_json_close(&j);
        return;
    }
    printf(
        "%lld runs on %d thread%s: median %.4g ms (%.4g to %.4g with 95 %%), min %.4g, mean %.4g, p95 %.4g, p99 %.4g\n",
        (long long)v->n, threads, plural(threads), median * 1e3, t->low * 1e3, t->high * 1e3, p[0] * 1e3, mean * 1e3,
        p[2] * 1e3, p[3] * 1e3);
    printf("%.4g runs a second, %.4g nodes a second", 1 / mean, (double)nodes / median);
    if (s->plan) printf(", %.4g GFLOP/s in %d kernels\n", info.flops / median * 1e-9, info.kernels);
    else printf("; its sizes depend on values, so that the graph is recorded for every run\n");
}

int runner_bench(runner *r) {
    subject s = {.r = r};
    times t = {0};
    wick_status status = prepare(&s);
    if (status == WICK_OK) status = measure(&s, &t);
    if (status == WICK_OK) {
        (void)tight(&t);
        show(&s, &t);
    }
    wick_workspace_free(&s.workspace);
    wick_plan_free(&s.plan);
    for (int i = 0; s.out && i < r->n_out; i++) free(s.out[i]);
    free(s.out);
    free(s.in);
    samples_free(&t.seconds);
    return status == WICK_OK ? CLI_OK : runner_failed(r, status);
}
