/* Random graphs: whatever passes and machine code made at run time do to them, results stay. Each graph is compiled
 * without passes, with all, with each one left out, with each one alone, without every other kernel that was fused, and
 * with three threads that share even little work; some have wide values, and are compiled with loops by the system's
 * compiler too (docs/jit.md).
 *
 * Where only passes ran that keep bits, results are equal to the bit. fold_scale, attention, quantize and
 * int8_weights don't (docs/numerics.md): with what they change, results of graphs of smooth ops are compared within a
 * bound, others without these passes.
 *
 * WICK_FUZZ_GRAPHS=N in the environment: so many graphs. A failure is shrunk, and prints the seed, which
 * WICK_FUZZ_SEED=... repeats, and the graph. */
#include "codegen/compiled.h"
#include "graph/random_graph.h"

/* Passes that may change bits. */
#define CHANGES_BITS "quantize,fold_scale,attention,int8_weights"

enum { WAYS = 64, PLAIN_CONTEXT = 0, THREADED_CONTEXT, COMPILING_CONTEXT, CONTEXTS };

/* ---- ways -------------------------------------------------------------------------------------------------------- */

typedef struct outcome {
    wick_status status;
    char text[256];
    wick_spec spec[OUTPUTS];
    char *data[OUTPUTS];
    bool inexact; /* a pass that may change bits has changed the graph */
} outcome;
static void outcome_free(outcome *o) {
    for (int i = 0; i < OUTPUTS; i++) free(o->data[i]), o->data[i] = NULL;
}

static long changed[WAYS]; /* by pass: how many graphs it has changed, in all ways */
typedef struct watching {
    char *last;
    bool inexact;
    char **recorded; /* the graph as it was recorded is wanted */
    char fused[400]; /* every other decision of fuse */
    int n_fused;
} watching;
static void watch(void *user, const char *pass, const char *graph) {
    watching *w = user;
    if (!strcmp(pass, "") && w->recorded) *w->recorded = strdup(graph);
    if (*pass && strstr("," CHANGES_BITS ",", pass) && w->last && strcmp(w->last, graph)) w->inexact = true;
    for (int i = 0; *pass && i < WICK_MIN(wick_pass_count(), (int)WAYS) && w->last && strcmp(w->last, graph); i++)
        if (!strcmp(wick_pass_at(i).name, pass)) {
            changed[i]++; /* the first of that name */
            break;
        }
    free(w->last);
    w->last = strdup(graph);
}

static long compiled_programs, compiled_reductions;
static void on_remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)node, (void)place;
    watching *w = user;
    const size_t length = strlen(w->fused);
    if (!strcmp(pass, "fuse") && !strncmp(text, "taken as ", 9) && w->n_fused++ % 2 == 0 && length < 380)
        snprintf(w->fused + length, 20, "%s%.*s", length ? "," : "", (int)strcspn(text + 14, ":") + 5, text + 9);
    compiled_programs += !strcmp(pass, "jit") && !strncmp(text, "one loop of machine code", 24);
    compiled_reductions += !strcmp(pass, "jit") && strstr(text, "with the reduction");
}

/* tight: in seven eighths of the arena that it takes otherwise, where that can be. halved: every other fused kernel is
 * taken apart. */
typedef struct twist {
    bool tight, halved;
} twist;
static outcome run(wick_context *ctx, design *d, const char *without, bool plain, twist how, char **recorded) {
    outcome o = {0};
    wick_spec in[INPUTS];
    const int n_in = input_specs(d, in);
    char *data[INPUTS];
    draw_inputs(n_in, in, data);
    watching w = {.recorded = recorded};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    char both[1024];
    wick_compile_options options = {
        .no_passes = plain, .without = without, .on_pass = watch, .on_remark = on_remark, .user = &w};
    o.status = wick_compile(ctx, record, d, n_in, in, OUTPUTS, &options, &plan);
    if (how.halved && o.status == WICK_OK && *w.fused) {
        snprintf(both, sizeof both, "%s%s%s", without ? without : "", without && *without ? "," : "", w.fused);
        options.without = both;
        wick_plan_free(&plan);
        o.status = wick_compile(ctx, record, d, n_in, in, OUTPUTS, &options, &plan);
    }
    if (how.tight && o.status == WICK_OK) {
        wick_plan *less = NULL;
        options.memory_budget = wick_plan_get_info(plan).arena_bytes * 7 / 8 + 1;
        const wick_status status = wick_compile(ctx, record, d, n_in, in, OUTPUTS, &options, &less);
        if (status != WICK_OK && status != WICK_ERR_NOMEM) o.status = status;
        if (less) {
            wick_plan_free(&plan);
            plan = less;
        } else {
            wick_context_clear_error(ctx);
        }
    }
    if (o.status == WICK_OK) o.status = wick_workspace_new(plan, &ws);
    else snprintf(o.text, sizeof o.text, "%s", wick_context_error(ctx));
    for (int i = 0; i < OUTPUTS && ws; i++) {
        o.spec[i] = wick_plan_output(plan, i);
        o.data[i] = calloc(wick_spec_bytes(&o.spec[i]) + 1, 1);
    }
    for (int round = 0; round < 2 && o.status == WICK_OK; round++) { /* the second has kept steps */
        wick_workspace_set_offset(ws, 3);
        o.status = wick_run(ws, (const void *const *)data, (void *const *)o.data);
        if (o.status) snprintf(o.text, sizeof o.text, "%s", wick_workspace_error(ws));
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    for (int i = 0; i < n_in; i++) free(data[i]);
    o.inexact = w.inexact;
    free(w.last);
    return o;
}

/* Do they differ in a bit? NaN is NaN. close: by more than what passes that change bits may do to smooth ops. */
static bool differs(const outcome *a, const outcome *b, bool close, int *output, int64_t *at) {
    for (int i = 0; i < OUTPUTS; i++) {
        wick_type t;
        if (!wick_type_make(&t, a->spec[i].dtype, a->spec[i].rank, a->spec[i].dims)) return true;
        *output = i;
        *at = -1;
        if (close) {
            if (distance(&t, b->data[i], a->data[i]) > (t.dtype == WICK_F64 ? 1e-3 : 1e-2)) return true;
            continue;
        }
        if ((*at = first_other(&a->spec[i], a->data[i], b->data[i])) >= 0) return true;
    }
    return false;
}

typedef struct way {
    char name[64], without[512];
    int context;
    twist how;
} way;

/* All passes; with three threads; in less memory; without every other fused kernel; all but one; one alone; all that
 * keep bits. */
static int make_ways(way ways[WAYS]) {
    int n = 0, names = 0;
    const char *optional[WAYS];
    for (int i = 0; i < wick_pass_count(); i++) {
        const wick_pass_info info = wick_pass_at(i);
        bool known = false;
        for (int k = 0; k < wick_pass_count(); k++)
            known |= wick_pass_at(k).required && !strcmp(wick_pass_at(k).name, info.name);
        for (int k = 0; k < names; k++) known |= !strcmp(optional[k], info.name);
        if (!known) optional[names++] = info.name;
    }
    snprintf(ways[n++].name, 64, "all passes");
    snprintf(ways[n].name, 64, "all passes, 3 threads");
    ways[n++].context = THREADED_CONTEXT;
    snprintf(ways[n].name, 64, "in less memory");
    ways[n++].how.tight = true;
    snprintf(ways[n].name, 64, "every other fused kernel apart");
    ways[n++].how.halved = true;
    snprintf(ways[n].name, 64, "all that keep bits");
    snprintf(ways[n++].without, 512, CHANGES_BITS);
    for (int i = 0; i < names && n + 2 <= WAYS; i++) {
        snprintf(ways[n].name, 64, "without %s", optional[i]);
        snprintf(ways[n++].without, 512, "%s", optional[i]);
        snprintf(ways[n].name, 64, "%s alone", optional[i]);
        ways[n].context = i % 2 ? THREADED_CONTEXT : PLAIN_CONTEXT;
        wick_str s = wick_str_on(ways[n++].without, 512);
        for (int k = 0; k < names; k++)
            if (k != i) wick_str_add(&s, "%s%s", s.len ? "," : "", optional[k]);
    }
    return n;
}

typedef struct verdict {
    const way *way; /* the first that goes wrong, or NULL */
    char text[640];
    bool failed, inexact; /* without passes too; results were compared within a bound */
    int compared;
} verdict;

static verdict judge(wick_context *const *ctx, design *d, const way *ways, int n_ways) {
    verdict v = {0};
    outcome plain = run(ctx[PLAIN_CONTEXT], d, NULL, true, (twist){0}, NULL);
    if (plain.status && d->gradient) { /* some have no gradient of a gradient */
        d->gradient = false;
        outcome_free(&plain);
        plain = run(ctx[PLAIN_CONTEXT], d, NULL, true, (twist){0}, NULL);
    }
    v.failed = plain.status != WICK_OK;
    for (int i = 0; i < n_ways && !v.way; i++) {
        outcome o = run(ctx[ways[i].context], d, ways[i].without, false, ways[i].how, NULL);
        int output = 0;
        int64_t at = 0;
        v.inexact |= o.inexact;
        if (o.inexact && !d->smooth && !o.status && !plain.status) { /* the others keep bits */
            char without[600];
            snprintf(without, sizeof without, "%s%s" CHANGES_BITS, ways[i].without, ways[i].without[0] ? "," : "");
            outcome_free(&o);
            o = run(ctx[ways[i].context], d, without, false, ways[i].how, NULL);
        }
        if (o.status != plain.status) {
            v.way = &ways[i];
            snprintf(v.text, sizeof v.text, "%s (%s), but without passes %s (%s)", wick_status_name(o.status), o.text,
                     wick_status_name(plain.status), plain.text);
        } else if (!o.status && differs(&plain, &o, o.inexact, &output, &at)) {
            v.way = &ways[i];
            wick_type t;
            (void)wick_type_make(&t, o.spec[output].dtype, o.spec[output].rank, o.spec[output].dims);
            if (at >= 0)
                snprintf(v.text, sizeof v.text, "result %d, %s, element %lld is %.17g, not %.17g", output,
                         wick_dtype_name(o.spec[output].dtype), (long long)at, get(&t, o.data[output], at),
                         get(&t, plain.data[output], at));
            else
                snprintf(v.text, sizeof v.text, "result %d, %s, is another", output,
                         wick_dtype_name(o.spec[output].dtype));
        }
        v.compared += !o.status;
        outcome_free(&o);
    }
    outcome_free(&plain);
    return v;
}

typedef struct guilt {
    wick_context *const *ctx;
    const way *way;
} guilt;
static bool goes_wrong(void *user, design *d) {
    return judge(((guilt *)user)->ctx, d, ((guilt *)user)->way, 1).way != NULL;
}

typedef struct tally {
    long graphs, nodes, compared, failed, inexact;
} tally;

static void check_graph(wick_context *const *ctx, uint64_t seed, bool wide, const way *ways, int n_ways, tally *sums) {
    design d = {.seed = seed, .wide = wide};
    d.smooth = d.seed % 4 == 0;
    d.gradient = d.seed % 3 == 0;
    verdict v = judge(ctx, &d, ways, n_ways);
    sums->graphs++;
    sums->nodes += d.nodes;
    sums->compared += v.compared;
    sums->failed += v.failed;
    sums->inexact += v.inexact;
    if (!v.way) return;
    const way *guilty = v.way;
    shrink(&d, goes_wrong, &(guilt){ctx, guilty});
    v = judge(ctx, &d, guilty, 1);
    char *text = NULL;
    outcome o = run(ctx[PLAIN_CONTEXT], &d, guilty->without, false, guilty->how, &text);
    outcome_free(&o);
    CHECK_MSG(false, "WICK_FUZZ_SEED=%llu, %s: %s\n%s", (unsigned long long)d.seed, guilty->name, v.text,
              text ? text : "");
    free(text);
}

/* One, of that seed, or as many as the environment says. */
static void check_graphs(wick_context *const *ctx, bool wide, const way *ways, int n_ways, long graphs, tally *sums) {
    const char *many = getenv("WICK_FUZZ_GRAPHS"), *one = getenv("WICK_FUZZ_SEED");
    if (many) graphs = wide ? (atol(many) + 7) / 8 : atol(many); /* each of those takes as long */
    for (long g = 0; g < (one ? 1 : graphs); g++)
        check_graph(ctx, one ? strtoull(one, NULL, 0) : wick_hash(&g, sizeof g, 11), wide, ways, n_ways, sums);
    test_count("nodes of random graphs", sums->nodes);
    test_count("results of random graphs with passes against those without", sums->compared * OUTPUTS);
    CHECK_MSG(one || sums->failed * 4 < sums->graphs, "%ld of %ld graphs can't run at all", sums->failed, sums->graphs);
    CHECK_MSG(one || sums->nodes > 30 * sums->graphs, "%ld nodes in %ld graphs", sums->nodes, sums->graphs);
}

TEST(random_graphs_keep_their_results_through_passes) {
    static way ways[WAYS];
    const int n_ways = make_ways(ways);
    const wick_tuning shared = {.parallel_flops = 1, .parallel_bytes = 1, .gemm_task_work = 1, .fused_task_work = 1};
    wick_context *ctx[CONTEXTS] = {NULL};
    tally sums = {0};
    setenv("WICK_VERIFY", "1", 1);
    CHECK_INT(wick_context_new(&(wick_context_options){.threads = 1, .seed = 5}, &ctx[PLAIN_CONTEXT]), WICK_OK);
    CHECK_INT(
        wick_context_new(&(wick_context_options){.threads = 3, .seed = 5, .tuning = &shared}, &ctx[THREADED_CONTEXT]),
        WICK_OK);
    REQUIRE(ctx[PLAIN_CONTEXT] && ctx[THREADED_CONTEXT]);
    check_graphs(ctx, false, ways, n_ways, TEST_SANITIZED ? 10 : 100, &sums);
    test_count("random graphs through passes", sums.graphs);
    CHECK_MSG(sums.graphs < 100 || sums.inexact > sums.graphs / 50,
              "only %ld of %ld graphs met a pass that changes bits", sums.inexact, sums.graphs);
    for (int i = 0; i < wick_pass_count() && sums.graphs >= 100; i++) {
        bool again = false;
        for (int k = 0; k < i; k++) again |= !strcmp(wick_pass_at(k).name, wick_pass_at(i).name);
        /* an option asks for it, and other bits: tests/optim/test_precision.c */
        again |= !strcmp(wick_pass_at(i).name, "precision");
        /* graphs here gather too seldom, of small tables: test_gather_first.c */
        again |= !strcmp(wick_pass_at(i).name, "gather_first");
        /* products here have no dequantised weights: tests/ops/test_int8_linear.c */
        again |= !strcmp(wick_pass_at(i).name, "int8_weights");
        /* nor are sums of theirs scaled (tests/ops/test_int8.c), or strides of 3 by 3 and more (test_spread.c) */
        again |= !strcmp(wick_pass_at(i).name, "int8_result") || !strcmp(wick_pass_at(i).name, "spread");
        CHECK_MSG(again || changed[i] > 0, "no graph has anything for the pass %s", wick_pass_at(i).name);
    }
    for (int i = 0; i < CONTEXTS; i++) wick_context_free(&ctx[i]);
}

TEST(random_graphs_keep_their_results_as_machine_code) {
    static const way ways[] = {{.name = "machine code", .context = COMPILING_CONTEXT}};
    wick_context *ctx[CONTEXTS] = {NULL};
    tally sums = {0};
    char folder[512];
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(folder, sizeof folder));
    CHECK_INT(wick_context_new(&(wick_context_options){.threads = 1, .seed = 5}, &ctx[PLAIN_CONTEXT]), WICK_OK);
    CHECK_INT(
        wick_context_new(&(wick_context_options){.threads = 1, .seed = 5, .jit = WICK_JIT_WAIT, .jit_folder = folder},
                         &ctx[COMPILING_CONTEXT]),
        WICK_OK);
    REQUIRE(ctx[PLAIN_CONTEXT] && ctx[COMPILING_CONTEXT]);
    check_graphs(ctx, true, ways, 1, TEST_SANITIZED ? 2 : 12, &sums);
    test_count("random graphs as machine code", sums.graphs);
    test_count("programs of random graphs that became machine code", compiled_programs);
    test_count("of those, with a reduction", compiled_reductions);
    CHECK_MSG(sums.graphs < 12 || (compiled_programs > sums.graphs && compiled_reductions > 0),
              "only %ld programs of %ld graphs became machine code", compiled_programs, sums.graphs);
    for (int i = 0; i < CONTEXTS; i++) wick_context_free(&ctx[i]);
    compiled_remove(folder);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
