/* wick tune: tries other sizes of tasks, blocks and thresholds than the defaults on the kernels themselves, and keeps
 * what is faster here (docs/kernels.md, "Tuning"); then measures what work takes, for the model by which plans are
 * predicted (calibrate.c).
 *
 * A trial is one number, the values to try, and the work to try them on. All values run in turn, so that what slows the
 * machine slows them alike; a value's score is the geometric mean over the works of the median, over rounds, of its
 * time over that of the value before. Only what wins by MARGIN, twice, is taken. */
#include "ceilings.h"
#include "calibrate.h"
#include "machine.h"
#include "../term/facts.h"
#include "../step.h"
#include "../term/log.h"
#include "../options.h"
#include "../tuned.h"
#include "tune_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wick/wick.h"

enum { VALUES = 6, WORKS = 4, ROUNDS = 64, LEAST_ROUNDS = 5, INPUTS = 3 };
#define SAMPLE 0.0004 /* seconds that a sample takes at least: as many runs as that needs */
#define MARGIN 0.97

typedef enum kind { PRODUCT, BYTES, CHAIN, SUM, LONG_CHAIN } kind;
typedef struct work {
    kind kind;
    int64_t m, n, k; /* of a product; else m x n elements. m is 0 behind the last */
} work;
typedef struct trial {
    const char *name;
    bool threads; /* on all threads; a machine with one has no use for it. Else on one */
    int64_t values[VALUES]; /* besides the one before; 0 behind the last */
    work works[WORKS];
} trial;

static const trial trials[] = {
    {"fused_block_bytes",
     false,
     {8192, 16384, 32768, 49152},
     {{LONG_CHAIN, 256, 1024, 0}, {CHAIN, 1024, 1024, 0}, {LONG_CHAIN, 16, 1024, 0}}},
    {"stream_bytes",
     false,
     {4 << 20, 8 << 20, 16 << 20, 64 << 20, 256 << 20},
     {{CHAIN, 2048, 1024, 0}, {CHAIN, 4096, 1024, 0}, {CHAIN, 8192, 1024, 0}, {CHAIN, 16384, 1024, 0}}},
    {"gemm_block_rows",
     false,
     {84, 126, 504, 1008},
     {{PRODUCT, 512, 512, 512}, {PRODUCT, 1024, 256, 512}, {PRODUCT, 1024, 1024, 512}}},
    {"gemm_share_bytes",
     false,
     {128 << 10, 256 << 10, 1 << 20, 4 << 20},
     {{PRODUCT, 256, 256, 256}, {PRODUCT, 512, 512, 512}, {PRODUCT, 600, 2000, 300}}},
    {"gemm_task_work",
     true,
     {200000, 400000, 1600000, 3200000},
     {{PRODUCT, 128, 128, 128}, {PRODUCT, 64, 128, 784}, {PRODUCT, 256, 256, 256}, {PRODUCT, 256, 512, 512}}},
    {"int8_task_work",
     true,
     {800000, 1600000, 6400000},
     {{BYTES, 128, 128, 128}, {BYTES, 64, 128, 784}, {BYTES, 256, 512, 512}}},
    {"fused_task_work",
     true,
     {16384, 32768, 131072, 262144},
     {{CHAIN, 64, 1024, 0}, {SUM, 256, 1024, 0}, {LONG_CHAIN, 64, 1024, 0}, {CHAIN, 1024, 1024, 0}}},
    {"chunk_tasks",
     true,
     {1, 4, 16},
     {{CHAIN, 4096, 1024, 0}, {LONG_CHAIN, 2048, 1024, 0}, {PRODUCT, 1024, 1024, 512}}},
    {"steal_tasks",
     true,
     {2, 4},
     {{CHAIN, 1024, 1024, 0}, {LONG_CHAIN, 512, 1024, 0}, {PRODUCT, 256, 512, 512}, {PRODUCT, 1024, 1024, 512}}},
    {"parallel_flops",
     true,
     {10000, 20000, 100000, 400000},
     {{PRODUCT, 32, 32, 32}, {PRODUCT, 64, 10, 128}, {LONG_CHAIN, 16, 1024, 0}, {PRODUCT, 64, 64, 64}}},
    {"parallel_bytes",
     true,
     {16000, 32000, 128000, 512000},
     {{CHAIN, 8, 1024, 0}, {CHAIN, 32, 1024, 0}, {SUM, 32, 1024, 0}, {CHAIN, 64, 1024, 0}}},
};
enum { TRIALS = sizeof trials / sizeof trials[0] };

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const work *w = user;
    wick_tensor *x = in[0];
    (void)ctx;
    switch (w->kind) {
    case PRODUCT: out[0] = wick_matmul(x, in[1]); break;
    case BYTES: out[0] = wick_int8_matmul(x, in[1], NULL); break;
    case CHAIN: out[0] = wick_relu(wick_add(wick_mul(x, in[1]), in[2])); break;
    case SUM: out[0] = wick_sum(x, WICK_AXES(1), false); break;
    case LONG_CHAIN:
        out[0] = wick_add(wick_mul(wick_tanh(wick_add(wick_mul(x, in[1]), in[2])), wick_sigmoid(wick_sub(x, in[1]))),
                          wick_mul(wick_exp(wick_neg(wick_square(x))), in[2]));
        break;
    }
    return WICK_OK;
}

static int specs_of(const work *w, wick_spec spec[INPUTS]) {
    const wick_dtype dtype = w->kind == BYTES ? WICK_I8 : WICK_F32;
    const bool product = w->kind == PRODUCT || w->kind == BYTES;
    spec[0] = (wick_spec){.name = "a", .dtype = dtype, .rank = 2, .dims = {w->m, product ? w->k : w->n}};
    spec[1] = spec[2] = spec[0];
    if (product) spec[1] = (wick_spec){.name = "b", .dtype = dtype, .rank = 2, .dims = {w->k, w->n}};
    return product ? 2 : w->kind == SUM ? 1 : 3;
}

/* One value of a trial on one work. */
typedef struct runner {
    wick_context *ctx;
    wick_plan *plan;
    wick_workspace *workspace;
    int64_t runs; /* of a sample */
    double ratio[ROUNDS];
} runner;

static double sample(runner *r, const void *const *in, void *const *out) {
    const double start = now_seconds();
    for (int64_t i = 0; i < r->runs; i++)
        if (wick_run(r->workspace, in, out) != WICK_OK) return NAN;
    return now_seconds() - start;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median ratios of the values' times to that of values[0], within `seconds`. false: out of memory, or a run failed. */
static bool race(const work *w, const wick_tuning *base, const wick_tuning_field *field, const int64_t *values, int n,
                 int threads, double seconds, double *ratio) {
    wick_spec spec[INPUTS];
    const int n_in = specs_of(w, spec);
    runner *r = calloc((size_t)n, sizeof *r);
    void *in[INPUTS] = {0}, *out = NULL;
    bool good = r != NULL;
    for (int i = 0; good && i < n_in; i++) {
        const int64_t count = spec[i].dims[0] * spec[i].dims[1];
        const bool bytes = spec[i].dtype == WICK_I8;
        uint32_t state = 12345u + (uint32_t)i;
        good = (in[i] = step_buffer(count, bytes ? 1 : 4)) != NULL;
        for (int64_t k = 0; good && k < count; k++) { /* never zeros, which some machines are faster on */
            state = state * 1664525u + 1013904223u;
            if (bytes)
                ((int8_t *)in[i])[k] = (int8_t)(state >> 24);
            else
                ((float *)in[i])[k] = (float)(state >> 8) * 0x1p-23f - 1;
        }
    }
    good = good && (out = step_buffer(w->m * w->n, 4)) != NULL;
    for (int v = 0; good && v < n; v++) {
        wick_tuning t = *base;
        work copy = *w;
        *field->of(&t) = values[v];
        wick_status status = wick_context_new(&(wick_context_options){.threads = threads, .tuning = &t}, &r[v].ctx);
        if (status == WICK_OK) status = wick_compile(r[v].ctx, record, &copy, n_in, spec, 1, NULL, &r[v].plan);
        if (status == WICK_OK) status = wick_workspace_new(r[v].plan, &r[v].workspace);
        r[v].runs = 1;
        /* the first touches memory and wakes threads */
        good = status == WICK_OK && sample(&r[v], (const void *const *)in, &out) >= 0;
        for (double once;
             good && (once = sample(&r[v], (const void *const *)in, &out)) < SAMPLE && r[v].runs < 1 << 16;)
            r[v].runs *= 2;
        if (v) r[v].runs = r[0].runs;
    }
    int rounds = 0;
    for (const double began = now_seconds();
         good && rounds < ROUNDS && (rounds < (seconds > 0 ? LEAST_ROUNDS : 1) || now_seconds() - began < seconds);
         rounds++) {
        double first = 0, turned = 0;
        /* each round begins with another value, so that none is always the one after a slow one */
        for (int i = 0; i < n; i++) {
            const int v = (i + rounds) % n;
            turned = sample(&r[v], (const void *const *)in, &out);
            r[v].ratio[rounds] = turned;
            if (v == 0) first = turned;
            good = good && turned >= 0;
        }
        for (int v = 0; v < n; v++) r[v].ratio[rounds] /= first > 0 ? first : 1;
    }
    for (int v = 0; r && v < n; v++) {
        if (good) qsort(r[v].ratio, (size_t)rounds, sizeof(double), by_size), ratio[v] = r[v].ratio[rounds / 2];
        wick_workspace_free(&r[v].workspace);
        wick_plan_free(&r[v].plan);
        wick_context_free(&r[v].ctx);
    }
    for (int i = 0; i < INPUTS; i++) free(in[i]);
    free(out);
    free(r);
    return good;
}

/* Scores over all works of a trial. */
static bool score(const trial *t, const wick_tuning *base, const wick_tuning_field *field, const int64_t *values, int n,
                  int threads, double seconds, double *scores) {
    int works = 0;
    /* --time 0 says nothing about the machine: one round of one work */
    while (works < (seconds > 0 ? WORKS : 1) && t->works[works].m) works++;
    for (int v = 0; v < n; v++) scores[v] = 0;
    for (int w = 0; w < works; w++) {
        double ratio[VALUES + 1];
        if (!race(&t->works[w], base, field, values, n, threads, seconds / works, ratio)) return false;
        for (int v = 0; v < n; v++) scores[v] += log(ratio[v]) / works;
    }
    for (int v = 0; v < n; v++) scores[v] = exp(scores[v]);
    return true;
}

/* The best value of a trial, and its time over that of the one before: 1 where that stays. */
static bool decide(const trial *t, wick_tuning *tuning, const wick_tuning_field *field, int threads, double seconds,
                   double *gain) {
    int64_t values[VALUES + 1] = {*field->of(tuning)}, pair[2];
    double scores[VALUES + 1], again[2];
    int n = 1, best = 0;
    *gain = 1;
    for (int i = 0; i < VALUES && t->values[i]; i++)
        if (t->values[i] != values[0]) values[n++] = t->values[i];
    if (!score(t, tuning, field, values, n, threads, seconds * 0.7, scores)) return false;
    for (int v = 1; v < n; v++)
        if (scores[v] < scores[best]) best = v;
    if (scores[best] > MARGIN) return true;
    pair[0] = values[0], pair[1] = values[best];
    if (!score(t, tuning, field, pair, 2, threads, seconds * 0.3, again)) return false;
    if (again[1] > MARGIN) return true;
    *field->of(tuning) = values[best];
    *gain = again[1];
    return true;
}

static bool find_field(const char *name, wick_tuning_field *field) {
    for (int i = 0; (*field = wick_tuning_at(i)).name; i++)
        if (strcmp(field->name, name) == 0) return true;
    return false;
}

static void machine_section(facts *s, int threads) {
    machine m;
    char label[32], text[64];
    machine_read(&m, "");
    facts_section(s, "machine", "Machine");
    facts_text(s, "valid_for", "valid for", wick_tuning_machine());
    snprintf(text, sizeof text, "%d", threads);
    facts_integer(s, "threads", NULL, threads, text);
    const char *tier = "base";
    for (int i = 0; i < wick_isa_count(); i++)
        if (wick_isa_at(i).chosen) tier = wick_isa_at(i).name;
    for (int i = 0; i < m.n_caches; i++) {
        if (strcmp(m.caches[i].type, "Instruction") == 0) continue;
        const double rate = ceiling_memory_rate(CEILING_READ, tier, 1, (size_t)m.caches[i].bytes / 2);
        char key[32], bytes[32];
        snprintf(label, sizeof label, "L%d", m.caches[i].level);
        snprintf(key, sizeof key, "l%d_read_gbps", m.caches[i].level);
        snprintf(text, sizeof text, "%s, read at %.0f GB/s", format_bytes(bytes, m.caches[i].bytes), rate / 1e9);
        facts_real(s, key, label, rate / 1e9, text);
    }
    facts_section_end(s);
}

/* Each number; how: what is said beside it, or NULL. */
static void numbers_section(facts *s, const wick_tuning *tuning, const double *gain) {
    wick_tuning t = *tuning;
    facts_section(s, "tuning", "Tuning");
    for (int i = 0; i < wick_tuning_count(); i++) {
        const wick_tuning_field f = wick_tuning_at(i);
        const int64_t value = *f.of(&t) ? *f.of(&t) : f.fallback;
        char text[256], was[64] = "", won[64] = "";
        if (value != f.fallback && !(gain && f.is_cost))
            snprintf(was, sizeof was, " instead of %lld", (long long)f.fallback);
        if (gain && gain[i] < 1) snprintf(won, sizeof won, ", %.0f %% less time", 100 * (1 - gain[i]));
        snprintf(text, sizeof text, "%lld%s%s: %s", (long long)value, was, won, f.doc);
        facts_integer(s, f.name, NULL, value, text);
    }
    facts_section_end(s);
}

static int show(const cli_options *o, const char *path) {
    const wick_tuning none = {0}, *now = tuned();
    facts s;
    facts_open(&s, o->json);
    facts_section(&s, "file", "File");
    facts_text(&s, "valid_for", "valid for", wick_tuning_machine());
    if (path[0])
        facts_text(&s, "path", NULL, path);
    else
        facts_none(&s, "path", NULL, "neither XDG_CACHE_HOME nor HOME says where");
    if (tuned_from())
        facts_text(&s, "used", NULL, tuned_from());
    else
        facts_none(&s, "used", NULL, "none: the defaults hold");
    facts_section_end(&s);
    numbers_section(&s, now ? now : &none, NULL);
    facts_close(&s);
    return CLI_OK;
}

int cmd_tune(cli_options *o) {
    static const char *const of_batch[] = {"arch",          "net",         "input",     "classes",    "train",
                                           "dim",           "memory-budget", "precision", "wide",   "without",
                                           "latency",       "memory-part", "most",      "max-memory", "max-tensor",
                                           "max-output",    "max-nodes",   "max-depth", "max-seconds"};
    char path[1024], why[512];
    if (o->model) return tune_batch(o);
    for (size_t i = 0; i < sizeof of_batch / sizeof *of_batch; i++)
        if (options_given(o, of_batch[i]))
            return log_fail(CLI_USAGE, "--%s is for wick tune batch MODEL", of_batch[i]);
    const char *named = getenv("WICK_TUNING");
    const bool placed = named && *named && strcmp(named, "off") != 0
                            ? snprintf(path, sizeof path, "%s", named) < (int)sizeof path
                            : wick_tuning_path(path, sizeof path);
    if (o->of_tune.show && o->of_tune.reset) return log_fail(CLI_USAGE, "--show and --reset are two things");
    if (o->of_tune.show) return show(o, placed ? path : "");
    if (!placed)
        return log_fail(CLI_FAILED, "neither XDG_CACHE_HOME nor HOME says where to keep it; WICK_TUNING=FILE does");
    if (o->of_tune.reset) {
        if (unlink(path) != 0 && access(path, F_OK) == 0) return log_fail(CLI_FAILED, "%s cannot be removed", path);
        if (o->json) {
            json j = log_json_open();
            json_bool(&j, "ok", true);
            json_text(&j, "path", path);
            log_json_close(&j);
        } else
            log_print("the defaults hold: there is no %s\n", path);
        return CLI_OK;
    }
    wick_tuning tuning = {0};
    double gain[64];
    for (int i = 0; i < wick_tuning_count(); i++)
        *wick_tuning_at(i).of(&tuning) = wick_tuning_at(i).fallback, gain[i] = 1;
    /* Before half a minute is spent: whether the result can be kept. What was there stays until then. */
    wick_tuning before;
    const bool had = wick_tuning_load(path, &before, NULL, 0) == WICK_OK;
    if (wick_tuning_save(path, had ? &before : &tuning, why, sizeof why) != WICK_OK)
        return log_fail(CLI_FAILED, "%s", why);
    if (!had) unlink(path); /* defaults are no measurements, should this be interrupted */
    wick_context *ctx;
    if (wick_context_new(&(wick_context_options){.threads = (int)o->threads}, &ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    const int threads = wick_context_threads(ctx);
    wick_context_free(&ctx);
    for (int i = 0; i < TRIALS; i++) {
        wick_tuning_field field;
        if ((trials[i].threads && threads < 2) || !find_field(trials[i].name, &field)) continue;
        log_note("%d/%d %s: %s", i + 1, (int)TRIALS, field.name, field.doc);
        int at = 0;
        while (strcmp(wick_tuning_at(at).name, field.name) != 0) at++;
        if (!decide(&trials[i], &tuning, &field, trials[i].threads ? threads : 1, o->time / TRIALS, &gain[at]))
            return log_fail(CLI_FAILED, "out of memory while measuring %s", field.name);
    }
    log_note("calibrating the cost model");
    double before_error, error;
    if (!calibrate(&tuning, threads, o->time / 5, &before_error, &error))
        return log_fail(CLI_FAILED, "out of memory while calibrating");
    if (wick_tuning_save(path, &tuning, why, sizeof why) != WICK_OK) return log_fail(CLI_FAILED, "%s", why);
    facts s;
    facts_open(&s, o->json);
    machine_section(&s, threads);
    numbers_section(&s, &tuning, gain);
    facts_section(&s, "model", "Cost model");
    char text[64];
    snprintf(text, sizeof text, "%.0f %% median, of the works that it was measured on", 100 * error);
    facts_real(&s, "error", NULL, error, text);
    snprintf(text, sizeof text, "%.0f %%", 100 * before_error);
    facts_real(&s, "error_before", "before", before_error, text);
    facts_section_end(&s);
    facts_section(&s, "file", "File");
    facts_text(&s, "path", NULL, path);
    facts_section_end(&s);
    facts_close(&s);
    return CLI_OK;
}
