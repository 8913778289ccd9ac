/* Random graphs as C files: what can be printed gives the bits of its plan. Of each graph those steps stay that have a
 * printer; a graph is compiled for one of the tiers in turn. Half of them are made in mixed precision, of bf16 or f16.
 * A few hundred elements say nothing of speed: every loop, edge and sum of the printers is what is looked for.
 *
 * WICK_FUZZ_PRINTED=N in the environment: so many graphs. A failure is shrunk, and prints the seed, which
 * WICK_FUZZ_SEED=... repeats, and the graph. */
#include "base/base.h"
#include "codegen/compiled.h"
#include "graph/random_graph.h"

typedef struct variant {
    wick_tier tier;
    const char *isa, *flags;
} variant;
static const variant variants[] = {
    {WICK_TIER_BASE, NULL, ""},
    {WICK_TIER_AVX2, "avx2", "-mavx2 -mfma"},
    {WICK_TIER_AVX512, "avx512", "-mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma"},
};

typedef struct trial {
    wick_context *ctx;
    char folder[512];
    const variant *v;
    long printed, kernels; /* graphs that became C, and their functions */
    wick_msg msg;          /* what was wrong */
    char *graph;
} trial;

static void on_pass(void *user, const char *pass, const char *graph) {
    trial *t = user;
    (void)pass;
    free(t->graph);
    t->graph = strdup(graph);
}

/* The plan as C in the folder; NULL where there is no printer for something, or no plan; or a gelu, which AVX-512
 * computes by another polynomial (docs/codegen.md). */
static wick_plan *printed(trial *t, design *d, wick_spec in[INPUTS], wick_c_info *info) {
    const wick_c_options as = {.name = "graph", .isa = t->v->isa, .lanes = 1 + (int)(d->seed % 16)};
    const wick_compile_options options = {.precision = d->seed / 1024 % 2
                                                           ? (wick_precision)(WICK_PRECISION_BF16 + d->seed / 2048 % 2)
                                                           : WICK_PRECISION_F32,
                                          .on_pass = on_pass,
                                          .user = t};
    wick_plan *plan = NULL;
    const int n = input_specs(d, in);
    if (wick_compile(t->ctx, record, d, n, in, OUTPUTS, &options, &plan) == WICK_OK &&
        wick_plan_write_c(plan, t->folder, &as, info) != WICK_OK)
        wick_plan_free(&plan);
    if (plan && t->v->tier == WICK_TIER_AVX512 && strstr(t->graph, "gelu(")) wick_plan_free(&plan);
    if (!plan) wick_context_clear_error(t->ctx);
    return plan;
}

/* Does it give other bits than its plan, or no code that compiles? */
static bool wrong(void *user, design *d) {
    trial *t = user;
    wick_spec in[INPUTS];
    wick_c_info info;
    wick_plan *plan = printed(t, d, in, &info);
    wick_workspace *ws = NULL;
    char *data[INPUTS], *want[OUTPUTS] = {NULL}, *got[OUTPUTS] = {NULL};
    bool bad = false;
    if (!plan) return false;
    draw_inputs(INPUTS, in, data);
    for (int i = 0; i < OUTPUTS; i++) {
        const wick_spec out = wick_plan_output(plan, i);
        want[i] = calloc(wick_spec_bytes(&out) + 1, 1);
        got[i] = calloc(wick_spec_bytes(&out) + 1, 1);
    }
    void *library = compiled_load(t->folder, "graph", t->v->flags);
    if (!library) bad = wick_msg_set(&t->msg, WICK_ERR_INVALID, "the C doesn't compile");
    if (wick_workspace_new(plan, &ws) != WICK_OK ||
        wick_run(ws, (const void *const *)data, (void *const *)want) != WICK_OK) {
        if (library) dlclose(library); /* such as indices out of range: nothing to compare */
        library = NULL;
    }
    if (library) {
        int (*run)(const void *, const void *, const void *, void *, void *, void *, void *, void *) =
            (int (*)(const void *, const void *, const void *, void *, void *, void *, void *, void *))(uintptr_t)dlsym(
                library, "graph_run");
        const uint64_t word = wick_fp_enter(); /* plans flush denormals */
        const int code = run ? run(data[0], data[1], data[2], got[0], got[1], got[2], got[3], got[4]) : -1;
        wick_fp_restore(word);
        if (code) bad = wick_msg_set(&t->msg, WICK_ERR_INVALID, "it returned %d", code);
        for (int i = 0; i < OUTPUTS && !bad; i++) {
            const wick_spec out = wick_plan_output(plan, i);
            const int64_t at = first_other(&out, want[i], got[i]);
            wick_type type;
            (void)wick_type_make(&type, out.dtype, out.rank, out.dims);
            if (at >= 0)
                bad = wick_msg_set(&t->msg, WICK_ERR_INVALID, "result %d, %s, element %lld is %a, not %a", i,
                                   wick_dtype_name(out.dtype), (long long)at, get(&type, got[i], at),
                                   get(&type, want[i], at));
        }
        t->printed++;
        t->kernels += info.kernels;
        dlclose(library);
    }
    for (int i = 0; i < INPUTS; i++) free(data[i]);
    for (int i = 0; i < OUTPUTS; i++) free(want[i]), free(got[i]);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return bad;
}

/* The graph of that seed with the steps that can be printed; false: not even its inputs can. */
static bool printable(trial *t, design *d) {
    wick_spec in[INPUTS];
    for (int i = 0; i < STEPS; i++) d->skip[i] = true;
    for (int i = -1; i < STEPS; i++) {
        if (i >= 0) d->skip[i] = false;
        wick_plan *plan = printed(t, d, in, NULL);
        if (!plan && i < 0) return false;
        if (!plan) d->skip[i] = true;
        wick_plan_free(&plan);
    }
    return true;
}

TEST(random_graphs_keep_their_results_as_c) {
    const char *many = getenv("WICK_FUZZ_PRINTED"), *one = getenv("WICK_FUZZ_SEED");
    const long graphs = one ? 1 : many ? atol(many) : TEST_SANITIZED ? 3 : 16;
    const wick_tier before = wick_tier_current();
    trial t = {0};
    long steps = 0;
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(t.folder, sizeof t.folder));
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .seed = 5}, &t.ctx) == WICK_OK);
    for (long g = 0, tried = 0; g < graphs && tried < 20 * graphs; tried++) {
        design d = {.seed = one ? strtoull(one, NULL, 0) : wick_hash(&tried, sizeof tried, 17)};
        d.gradient = d.seed % 3 == 0;
        d.smooth = d.seed % 4 == 0;
        d.places = d.seed / 64 % 4 != 0;
        t.v = &variants[d.seed / 16 % WICK_COUNTOF(variants)];
        compiled_with((int)(d.seed / 1024 % COMPILED_WAYS));
        if (!wick_tier_force(t.v->tier) || !printable(&t, &d)) continue;
        g++;
        for (int i = 0; i < STEPS; i++) steps += !d.skip[i];
        if (!wrong(&t, &d)) continue;
        shrink(&d, wrong, &t);
        CHECK(wrong(&t, &d));
        CHECK_MSG(false, "WICK_FUZZ_SEED=%llu for %s by %s %s: %s\n%s", (unsigned long long)d.seed,
                  wick_tier_name(t.v->tier), compiled_by.cc, compiled_by.level, t.msg.text, t.graph);
    }
    test_count("random graphs as C", t.printed);
    test_count("functions of C of random graphs", t.kernels);
    CHECK_MSG(one || (t.printed >= graphs * 3 / 4 && steps > 8 * graphs), "%ld graphs of %ld steps became C, of %ld",
              t.printed, steps, graphs);
    free(t.graph);
    wick_context_free(&t.ctx);
    wick_tier_force(before);
    compiled_remove(t.folder);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
