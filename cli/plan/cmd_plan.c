/* wick plan and wick explain: the kernels of a plan in order with their memory, arithmetic and bytes, and the least
 * time that this machine's ceilings allow each; explain also runs it, and says what was decided about each and why. */
#include "../bench/roof.h"
#include "../bench/stats.h"
#include "bound.h"
#include "plan_memory.h"
#include "plan_range.h"
#include "plan_ranks.h"
#include "planned.h"
#include "../term/log.h"
#include "../tuned.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_RUNS = 5, MOST_RUNS = 101, GAINS = 4 };
/* the passes that the cost model decides for */
static const char *const choosers[GAINS] = {"merge", "rematerialise", "fuse", "ride"};

typedef struct gain {
    const char *pass;
    bool decided; /* the plan without it is another */
    double predicted, measured; /* seconds that it saves */
} gain;

typedef struct row {
    wick_plan_kernel kernel;
    floor_time floor;
    double seconds; /* the median; of explain */
} row;

typedef struct view {
    const cli_options *o;
    planned p;
    roof ceilings;
    wick_plan_info info;
    row *rows;
    double floor, seconds; /* of all kernels; of a run */
    int64_t runs;
    gain gains[GAINS]; /* of explain */
    rank_table ranks; /* of --ranks */
    bool *told; /* by remark: it was shown with a kernel */
} view;

/* What arithmetic a kernel does: that of its result's dtype, or of bytes. */
static ceiling_compute arithmetic_of(const wick_plan_kernel *k) {
    if (strncmp(k->name, "int8", 4) == 0) return CEILING_INT8;
    return k->result.dtype == WICK_F64 ? CEILING_F64 : k->result.dtype == WICK_BF16 ? CEILING_BF16 : CEILING_F32;
}

static int predict(view *v) {
    v->info = wick_plan_get_info(v->p.plan);
    v->rows = calloc((size_t)v->info.kernels + 1, sizeof *v->rows);
    if (!v->rows) return log_fail(CLI_FAILED, "out of memory");
    log_note("measuring what this machine can do, on %d thread%s", wick_context_threads(v->p.ctx),
             plural(wick_context_threads(v->p.ctx)));
    roof_measure(&v->ceilings, wick_context_threads(v->p.ctx), ROOF_BRIEF);
    for (int i = 0; i < v->info.kernels; i++) {
        row *r = &v->rows[i];
        r->kernel = wick_plan_kernel_at(v->p.plan, i);
        const double result = (double)wick_spec_bytes(&r->kernel.result),
                     written = result < r->kernel.bytes ? result : r->kernel.bytes;
        r->floor =
            roof_floor(&v->ceilings, arithmetic_of(&r->kernel), r->kernel.flops, 0, r->kernel.bytes - written, written);
        v->floor += r->floor.seconds;
    }
    return CLI_OK;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* Is name in a list with commas? */
static bool names(const char *list, const char *name) {
    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        if (strlen(name) == length && memcmp(list, name, length) == 0) return true;
    }
    return false;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static int run_plan(view *v, const bound *b, samples *kernels, samples *whole) {
    const int n = v->info.kernels;
    const double start = now_seconds();
    /* two to warm up */
    for (v->runs = -2; v->runs < MOST_RUNS && (v->runs < LEAST_RUNS || now_seconds() - start < v->o->time); v->runs++) {
        wick_workspace_profile(b->space, true);
        const double took = bound_run(b);
        if (took < 0) return CLI_FAILED;
        bool good = v->runs < 0 || samples_add(whole, took);
        for (int i = 0; i < n && v->runs >= 0 && good; i++)
            good = samples_add(&kernels[i], (double)wick_workspace_kernel_ns(b->space, i, NULL) * 1e-9);
        if (!good) return log_fail(CLI_FAILED, "out of memory");
    }
    samples_sort(whole);
    v->seconds = stats_quantile(whole, 0.5);
    for (int i = 0; i < n; i++) {
        samples_sort(&kernels[i]);
        v->rows[i].seconds = stats_quantile(&kernels[i], 0.5);
    }
    return CLI_OK;
}

static bool same_kernel(const wick_plan_kernel *a, const wick_plan_kernel *b) {
    return strcmp(a->name, b->name) == 0 && strcmp(a->ops, b->ops) == 0 && same_text(a->place, b->place) &&
           a->bytes == b->bytes && a->predicted_seconds == b->predicted_seconds;
}

/* Which kernels of either plan are not in the other one: of a's, then of b's. NULL: out of memory. */
static bool *differing(const bound *a, const bound *b) {
    const int n = b->info.kernels;
    bool *differ = malloc((size_t)a->info.kernels + (size_t)n + 1);
    if (!differ) return NULL;
    bool *of_b = differ + a->info.kernels;
    memset(differ, true, (size_t)a->info.kernels + (size_t)n);
    for (int i = 0, at = 0; i < a->info.kernels; i++) {
        const wick_plan_kernel k = wick_plan_kernel_at(a->p->plan, i);
        for (int tried = 0; tried < n; tried++, at = (at + 1) % n) { /* from where the last one was */
            const wick_plan_kernel other = wick_plan_kernel_at(b->p->plan, at);
            if (!of_b[at] || !same_kernel(&k, &other)) continue;
            differ[i] = of_b[at] = false;
            break;
        }
    }
    return differ;
}

/* Seconds of the kernels that differ in the last run. */
static double within(const bound *b, const bool *differ) {
    int64_t ns = 0;
    for (int i = 0; i < b->info.kernels; i++)
        if (differ[i]) ns += wick_workspace_kernel_ns(b->space, i, NULL);
    return (double)ns * 1e-9;
}

/* What the plan without a pass, or without one decision (fuse:3), takes more, by the model and as measured in runs of
 * both in turn: of a decision in the kernels that it changes. */
static int race_without(view *v, const bound *with, gain *g, bool decision, double seconds) {
    char without[512];
    cli_options o = *v->o;
    planned p = {0};
    bound b = {.p = &p};
    samples more = {0};
    snprintf(without, sizeof without, "%.400s%s%s", o.without, *o.without ? "," : "", g->pass);
    o.without = without;
    int code = planned_open(&p, &o, v->p.ctx);
    if (code == CLI_OK) code = bound_open(&b, &p);
    bool *differ = code == CLI_OK ? differing(with, &b) : NULL;
    if (code == CLI_OK && !differ) code = log_fail(CLI_FAILED, "out of memory");
    const double start = now_seconds();
    g->decided =
        code == CLI_OK && (b.info.kernels != v->info.kernels || b.info.predicted_seconds != v->info.predicted_seconds);
    for (int i = -2;
         code == CLI_OK && g->decided && i < MOST_RUNS && (i < LEAST_RUNS || now_seconds() - start < seconds); i++) {
        wick_workspace_profile(with->space, decision);
        wick_workspace_profile(b.space, decision);
        double first = bound_run(with), second = first < 0 ? -1 : bound_run(&b);
        if (second < 0) code = CLI_FAILED;
        if (decision) first = within(with, differ), second = within(&b, differ + v->info.kernels);
        if (i >= 0 && code == CLI_OK && !samples_add(&more, second - first))
            code = log_fail(CLI_FAILED, "out of memory");
    }
    if (code == CLI_OK && g->decided) {
        samples_sort(&more);
        g->predicted = b.info.predicted_seconds - v->info.predicted_seconds;
        g->measured = stats_quantile(&more, 0.5);
    }
    free(differ);
    samples_free(&more);
    bound_close(&b);
    planned_free(&p);
    return code;
}

#define TAKEN "taken as "
/* What a remark says that its decision saves, in us; below 0: it is of none that was taken. */
static double said_to_save(const planned_remark *r) {
    static const char saves[] = "predicted to save ";
    const char *save = strncmp(r->text, TAKEN, strlen(TAKEN)) == 0 ? strstr(r->text, saves) : NULL;
    return save ? strtod(save + strlen(saves), NULL) : -1;
}

/* What single decisions save: those of most by the model first, until the time is over. */
static int race_decisions(view *v, const bound *with) {
    const double start = now_seconds();
    for (int code; now_seconds() - start < v->o->time;) {
        planned_remark *best = NULL;
        for (size_t i = 0; i < v->p.n_remarks; i++) {
            planned_remark *r = &v->p.remarks[i];
            if (!r->measured && said_to_save(r) > (best ? said_to_save(best) : 0)) best = r;
        }
        if (!best) break;
        char name[32];
        const char *from = best->text + strlen(TAKEN); /* fuse:3: */
        const size_t pass = strcspn(from, ":") + 1;
        snprintf(name, sizeof name, "%.*s", (int)(pass + strcspn(from + pass, ":")), from);
        gain g = {.pass = name};
        if ((code = race_without(v, with, &g, true, v->o->time / GAINS)) != CLI_OK) return code;
        best->measured = true;
        best->saved_seconds = g.measured;
        best->saved_by_model = g.predicted;
    }
    return CLI_OK;
}

static int measure(view *v) {
    const int n = v->info.kernels;
    samples *kernels = calloc((size_t)n + 1, sizeof *kernels), whole = {0};
    bound b;
    int code = kernels ? bound_open(&b, &v->p) : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) code = run_plan(v, &b, kernels, &whole);
    const bool races = !v->o->max_batch && !v->o->memory_budget && !v->p.dynamic;
    if (code == CLI_OK && races) code = race_decisions(v, &b);
    for (int i = 0; i < GAINS && code == CLI_OK && races; i++) {
        v->gains[i].pass = choosers[i];
        if (!names(v->o->without, choosers[i])) code = race_without(v, &b, &v->gains[i], false, v->o->time / GAINS);
    }
    if (kernels) bound_close(&b);
    for (int i = 0; kernels && i < n; i++) samples_free(&kernels[i]);
    samples_free(&whole);
    free(kernels);
    return code;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* What wick tune chose otherwise than the defaults. */
static void print_tuning(void) {
    if (!tuned()) return;
    wick_tuning t = *tuned();
    log_print("tuned by %s:", tuned_from());
    for (int i = 0; i < wick_tuning_count(); i++) {
        const wick_tuning_field f = wick_tuning_at(i);
        if (!f.is_cost && *f.of(&t) != f.fallback) printf(" %s=%lld", f.name, (long long)*f.of(&t));
    }
    printf("\n");
}

static void print_totals(const view *v) {
    const wick_plan_info *p = &v->info;
    log_print("%s\n", v->p.title);
    printf("%d kernel%s, %.4g MFLOP, %.4g MB read and written, %.3g FLOP a byte\n", p->kernels, plural(p->kernels),
           p->flops * 1e-6, p->bytes * 1e-6, p->bytes > 0 ? p->flops / p->bytes : 0);
    printf("memory: %.4g MB of intermediates in use at most, in an arena of %.4g MB", (double)p->live_bytes * 1e-6,
           (double)p->arena_bytes * 1e-6);
    if (p->packed_bytes)
        printf(" that also keeps %.4g MB of weights as kernels read them", (double)p->packed_bytes * 1e-6);
    printf("; %.4g MB of scratch for %d thread%s\n", (double)p->scratch_bytes * 1e-6, wick_context_threads(v->p.ctx),
           plural(wick_context_threads(v->p.ctx)));
    if (p->conversions)
        printf("layout: %d conversion%s of images between planes and channels last, %.4g MB of the above\n",
               p->conversions, plural(p->conversions), p->conversion_bytes * 1e-6);
    if (p->integer_products || p->float_quantise || p->float_dequantise)
        printf("integers: %d product%s; in floats %d quantise and %d dequantise node%s, of which %d pair%s only "
               "round\n",
               p->integer_products, plural(p->integer_products), p->float_quantise, p->float_dequantise,
               plural(p->float_dequantise), p->orphan_pairs, plural(p->orphan_pairs));
    if (p->recomputed)
        printf("made again for gradients instead of kept: results of %d op%s, %.4g MFLOP of the above\n", p->recomputed,
               plural(p->recomputed), p->recomputed_flops * 1e-6);
    if (v->p.fit.batch) {
        printf(
            "largest batch for %.4g MB: %lld, which takes %.4g MB with weights, states, inputs and results; one more ",
            (double)v->o->max_batch * 1e-6, (long long)v->p.fit.batch, (double)v->p.fit.bytes * 1e-6);
        if (v->p.fit.next_bytes) printf("would take %.4g MB\n", (double)v->p.fit.next_bytes * 1e-6);
        else printf(v->o->memory_budget ? "can't keep to --memory-budget\n" : "is more than is looked for\n");
    }
    printf("at best: %.4g us, as the sum of what %s allows each kernel", v->floor * 1e6, v->ceilings.tier);
    if (v->seconds > 0)
        printf("; measured: %.4g us, the median of %lld runs, %.0f %% of that speed", v->seconds * 1e6,
               (long long)v->runs, 100 * v->floor / v->seconds);
    printf("\npredicted: %.4g us", p->predicted_seconds * 1e6);
    if (v->seconds > 0) printf(", %+.0f %%", 100 * (p->predicted_seconds / v->seconds - 1));
    printf(", by costs that %s\n", tuned() ? "wick tune measured" : "are defaults: wick tune measures this machine's");
    for (int i = 0; i < GAINS; i++) {
        const gain *g = &v->gains[i];
        if (g->decided) printf("%s saves %.3g us; predicted: %.3g\n", g->pass, g->measured * 1e6, g->predicted * 1e6);
    }
    print_tuning();
    printf("\n");
    if (v->ranks.n) plan_ranks_print(&v->ranks);
    if (v->p.dynamic) plan_range_print(&v->p);
}

/* What passes said of nodes that were recorded where kernel i was, or (-1) elsewhere; each remark once. */
static void print_remarks(view *v, int i) {
    const char *place = i < 0 ? NULL : v->rows[i].kernel.place;
    for (size_t k = 0; k < v->p.n_remarks; k++) {
        const planned_remark *r = &v->p.remarks[k];
        if (v->told[k] || (i >= 0 && (!place || !same_text(place, r->place)))) continue;
        int times = 0;
        for (size_t l = k; l < v->p.n_remarks; l++) {
            const planned_remark *q = &v->p.remarks[l];
            if (v->told[l] || strcmp(q->pass, r->pass) != 0 || strcmp(q->node, r->node) != 0 ||
                !same_text(q->place, r->place) || strcmp(q->text, r->text) != 0)
                continue;
            v->told[l] = true;
            times++;
        }
        log_print("       %s: %s%s%s: %s", r->pass, r->node, i < 0 && r->place ? " at " : "",
                  i < 0 && r->place ? r->place : "", r->text);
        if (r->measured)
            printf("; measured: %.3g, where the plans' predictions differ by %.3g", r->saved_seconds * 1e6,
                   r->saved_by_model * 1e6);
        if (times > 1) printf(" (%d times)", times);
        printf("\n");
    }
}

static void print_text(view *v) {
    const bool measured = v->seconds > 0;
    print_totals(v);
    printf("%4s %-34s %-22s %10s %10s %8s %10s %10s  %-16s", "", "ops", "result", "MFLOP", "KB", "FLOP/B", "live KB",
           "at best us", "bound by");
    printf(" %12s", "predicted us");
    if (measured) printf(" %10s %7s %8s", "us", "share", "of best");
    printf("  recorded at\n");
    for (int i = 0; i < v->info.kernels; i++) {
        const row *r = &v->rows[i];
        const wick_plan_kernel *k = &r->kernel;
        char ops[96], type[128];
        plan_type_text(type, sizeof type, k->result);
        if (strcmp(k->ops, k->name) == 0) snprintf(ops, sizeof ops, "%s", k->ops);
        else snprintf(ops, sizeof ops, "%.60s (%.30s)", k->ops, k->name);
        log_print("%4d %-34.34s %-22.40s %10.4g %10.4g %8.3g %10.4g %10.4g  %-16s", i, ops, type, k->flops * 1e-6,
                  k->bytes * 1e-3, k->bytes > 0 ? k->flops / k->bytes : 0, (double)k->live_bytes * 1e-3,
                  r->floor.seconds * 1e6, r->floor.bound);
        printf(" %12.4g", k->predicted_seconds * 1e6);
        if (measured)
            printf(" %10.4g %6.1f%% %7.0f%%", r->seconds * 1e6, 100 * r->seconds / v->seconds,
                   r->seconds > 0 ? 100 * r->floor.seconds / r->seconds : 0);
        log_print("  %s\n", k->place ? k->place : "");
        if (measured) print_remarks(v, i);
    }
    if (!measured) return;
    bool left = false;
    for (size_t k = 0; k < v->p.n_remarks; k++) left |= !v->told[k];
    if (left) printf("\nof nodes that are no kernel of their own\n");
    print_remarks(v, -1);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void type_json(json *j, const char *name, const wick_spec *s) {
    char type[128];
    plan_type_text(type, sizeof type, *s);
    json_text(j, name, type);
}

static void gains_json(const view *v, json *j) {
    json_open(j, "passes", '[');
    for (int i = 0; i < GAINS; i++) {
        if (!v->gains[i].decided) continue;
        json_open(j, NULL, '{');
        json_text(j, "pass", v->gains[i].pass);
        json_real(j, "saved_seconds", v->gains[i].measured, 4);
        json_real(j, "predicted_saved_seconds", v->gains[i].predicted, 4);
        json_close(j, '}');
    }
    json_close(j, ']');
}
static void kernels_json(const view *v, json *j) {
    json_open(j, "kernels", '[');
    for (int i = 0; i < v->info.kernels; i++) {
        const row *r = &v->rows[i];
        const wick_plan_kernel *k = &r->kernel;
        json_open(j, NULL, '{');
        json_text(j, "kernel", k->name);
        json_text(j, "ops", k->ops);
        type_json(j, "result", &k->result);
        json_text(j, "place", k->place);
        json_real(j, "flops", k->flops, 12);
        json_real(j, "bytes", k->bytes, 12);
        json_integer(j, "live_bytes", (int64_t)k->live_bytes);
        json_real(j, "floor_seconds", r->floor.seconds, 6);
        json_text(j, "bound", r->floor.bound);
        json_real(j, "predicted_seconds", k->predicted_seconds, 6);
        if (v->seconds > 0) json_real(j, "seconds", r->seconds, 6);
        json_close(j, '}');
    }
    json_close(j, ']');
}
static void buffers_json(const view *v, json *j) {
    json_open(j, "buffers", '[');
    for (int i = 0; i < v->info.buffers; i++) {
        const wick_plan_buffer b = wick_plan_buffer_at(v->p.plan, i);
        if (!b.bytes) continue;
        json_open(j, NULL, '{');
        json_integer(j, "offset", (int64_t)b.offset);
        json_integer(j, "bytes", (int64_t)b.bytes);
        json_integer(j, "first", b.first);
        json_integer(j, "last", b.last);
        type_json(j, "holds", &b.value);
        json_close(j, '}');
    }
    json_close(j, ']');
}
static void remarks_json(const view *v, json *j) {
    json_open(j, "remarks", '[');
    for (size_t i = 0; i < v->p.n_remarks; i++) {
        const planned_remark *r = &v->p.remarks[i];
        json_open(j, NULL, '{');
        json_text(j, "pass", r->pass);
        json_text(j, "node", r->node);
        json_text(j, "place", r->place);
        json_text(j, "text", r->text);
        if (r->measured) {
            json_real(j, "saved_seconds", r->saved_seconds, 4);
            json_real(j, "predicted_saved_seconds", r->saved_by_model, 4);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}
static void print_json(const view *v) {
    const wick_plan_info *p = &v->info;
    const bool measured = v->seconds > 0;
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "model", v->p.title);
    json_integer(&j, "threads", wick_context_threads(v->p.ctx));
    json_text(&j, "tier", v->ceilings.tier);
    json_text(&j, "tuning", tuned_from()); /* NULL: the defaults */
    json_real(&j, "flops", p->flops, 12);
    json_real(&j, "bytes", p->bytes, 12);
    json_integer(&j, "arena_bytes", (int64_t)p->arena_bytes);
    json_integer(&j, "live_bytes", (int64_t)p->live_bytes);
    json_integer(&j, "packed_bytes", (int64_t)p->packed_bytes);
    json_integer(&j, "scratch_bytes", (int64_t)p->scratch_bytes);
    json_integer(&j, "state_bytes", (int64_t)p->state_bytes);
    json_integer(&j, "input_bytes", (int64_t)p->input_bytes);
    json_integer(&j, "output_bytes", (int64_t)p->output_bytes);
    json_integer(&j, "again", p->recomputed);
    json_integer(&j, "integer_products", p->integer_products);
    json_integer(&j, "float_quantise", p->float_quantise);
    json_integer(&j, "float_dequantise", p->float_dequantise);
    json_integer(&j, "orphan_pairs", p->orphan_pairs);
    json_real(&j, "again_flops", p->recomputed_flops, 12);
    json_integer(&j, "conversions", p->conversions);
    json_real(&j, "conversion_bytes", p->conversion_bytes, 12);
    if (v->p.fit.batch) {
        json_integer(&j, "max_batch", v->p.fit.batch);
        json_integer(&j, "max_batch_bytes", (int64_t)v->p.fit.bytes);
        if (v->p.fit.next_bytes) json_integer(&j, "next_batch_bytes", (int64_t)v->p.fit.next_bytes);
    }
    if (v->p.dynamic) plan_range_json(&j, &v->p);
    if (v->ranks.n) plan_ranks_json(&v->ranks, &j);
    json_real(&j, "floor_seconds", v->floor, 6);
    json_real(&j, "predicted_seconds", p->predicted_seconds, 6);
    if (measured) json_real(&j, "seconds", v->seconds, 6), json_integer(&j, "runs", v->runs);
    if (measured) json_real(&j, "prediction_error", p->predicted_seconds / v->seconds - 1, 4);
    json_bool(&j, "calibrated", tuned() != NULL);
    if (measured) gains_json(v, &j);
    kernels_json(v, &j);
    buffers_json(v, &j);
    if (measured) remarks_json(v, &j);
    log_json_close(&j);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int draw(const view *v) {
    if (!v->info.arena_bytes)
        return log_fail(CLI_FAILED, "--svg: the plan needs no memory of its own, so there is nothing to draw");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) plan_memory_draw(out, v->p.plan, v->p.title, true);
    const wick_status status =
        out && fclose(out) == 0 ? wick_file_write(v->p.ctx, v->o->svg, text, size) : WICK_ERR_NOMEM;
    free(text);
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_FAILED), "%s", log_why(v->p.ctx, status));
}

static int look(cli_options *o, bool explain) {
    wick_context *ctx;
    if (wick_context_new(&(wick_context_options){.tuning = tuned(),
                                                 .threads = (int)o->threads,
                                                 .jit = explain ? WICK_JIT_WAIT : WICK_JIT_OFF},
                         &ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    cli_options leaf = *o;
    view v = {.o = &leaf, .p = {.keeps_remarks = explain}};
    int code = explain ? CLI_OK : plan_ranks_read(&v.ranks, &leaf);
    if (code == CLI_OK) code = planned_open(&v.p, &leaf, ctx);
    if (code == CLI_OK) code = predict(&v);
    if (code == CLI_OK && v.ranks.n) plan_ranks_predict(&v.ranks, &v.p, &v.ceilings);
    if (code == CLI_OK && explain && !(v.told = calloc(v.p.n_remarks + 1, sizeof *v.told)))
        code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && explain) code = measure(&v);
    if (code == CLI_OK && !explain && *o->svg) code = draw(&v);
    if (code == CLI_OK && o->json) print_json(&v);
    else if (code == CLI_OK) print_text(&v);
    free(v.rows);
    free(v.told);
    planned_free(&v.p);
    wick_context_free(&ctx);
    return code;
}

int cmd_plan(cli_options *o) { return look(o, false); }
int cmd_explain(cli_options *o) { return look(o, true); }
